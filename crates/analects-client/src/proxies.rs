//! Proxies on the way to a provider: given as data, never looked up.

use std::fmt;

use reqwest::{NoProxy, Proxy, Url};

use crate::ClientError;
use crate::address::shown;
use crate::error::reason;

/// Addresses of this machine, which no proxy can reach.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1/128,::ffff:127.0.0.0/104";

/// The proxies to go through, as the usual environment variables have them. Addresses of this machine
/// never go through one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` addresses, such as `http://proxy.example:3128` (`http_proxy`).
    pub http: Option<String>,
    /// For `https` addresses (`HTTPS_PROXY`).
    pub https: Option<String>,
    /// Hosts to reach without a proxy, with commas between them (`NO_PROXY`).
    pub no_proxy: Option<String>,
}

/// A proxy that is to be used.
pub(crate) struct Way {
    pub proxy: Proxy,
    /// Whether the proxy itself has to show a certificate.
    pub is_https: bool,
}

impl Proxies {
    /// Whether there is one for addresses of that scheme.
    pub(crate) fn is_set(&self, https: bool) -> bool {
        self.given(https).is_some()
    }

    fn given(&self, https: bool) -> Option<&str> {
        let given = if https { &self.https } else { &self.http };
        given
            .as_deref()
            .map(str::trim)
            .filter(|given| !given.is_empty())
    }

    pub(crate) fn of_scheme(&self, https: bool) -> Result<Option<Way>, ClientError> {
        let Some(url) = self.given(https) else {
            return Ok(None);
        };
        let url = address(url).map_err(|why| ClientError::Setup(format!("the proxy {why}")))?;
        let is_https = url.scheme() == "https";
        let proxy = if https {
            Proxy::https(url)
        } else {
            Proxy::http(url)
        };
        let proxy = proxy.map_err(|error| ClientError::Setup(reason(&error)))?;
        let others = self.no_proxy.as_deref().unwrap_or_default();
        // In this list `*` stands for all names but for no numeric address.
        let all = others.split(',').any(|host| host.trim() == "*");
        let all = if all { ",0.0.0.0/0,::/0" } else { "" };
        let direct = NoProxy::from_string(&format!("{LOOPBACK},{others}{all}"));
        Ok(Some(Way {
            proxy: proxy.no_proxy(direct),
            is_https,
        }))
    }
}

/// Reads the address of a proxy, whose scheme may be left out. The error does not quote it, since it
/// may hold a password.
fn address(text: &str) -> Result<Url, String> {
    let whole = if text.contains("://") {
        text.into()
    } else {
        format!("http://{text}")
    };
    match Url::parse(&whole) {
        Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(url),
        Ok(url) => Err(format!(
            "cannot be used: its scheme is {}; expected http or https",
            url.scheme()
        )),
        Err(error) => Err(format!("has no usable address: {error}")),
    }
}

impl fmt::Debug for Proxies {
    /// Without the passwords that addresses of proxies may hold.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |text: &Option<String>| {
            text.as_deref()
                .map(|text| address(text).map(|url| shown(&url)))
        };
        f.debug_struct("Proxies")
            .field("http", &shown(&self.http))
            .field("https", &shown(&self.https))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}
