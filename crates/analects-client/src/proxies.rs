//! The proxies between this machine and the providers. They are passed as data, and never looked
//! up.

use std::fmt;

use reqwest::{NoProxy, Proxy, Url};

use crate::ClientError;
use crate::address::without_secrets;
use crate::error::reason;

/// The addresses of this machine, which no proxy can reach.
const LOOPBACK: &str = "localhost,127.0.0.0/8,::1/128,::ffff:127.0.0.0/104";

/// The proxies to use, as the usual environment variables name them. Addresses of this machine are
/// always reached without one.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Proxies {
    /// For `http` addresses, such as `http://proxy.example:3128` (`http_proxy`).
    pub http: Option<String>,
    /// For `https` addresses (`HTTPS_PROXY`).
    pub https: Option<String>,
    /// Hosts that are reached without a proxy, separated by commas (`NO_PROXY`).
    pub no_proxy: Option<String>,
}

/// A proxy in the form that the HTTP library uses.
pub(crate) struct ProxyRoute {
    pub proxy: Proxy,
    /// Whether the proxy itself has to show a certificate.
    pub is_https: bool,
}

impl Proxies {
    /// Whether there is a proxy for addresses with this scheme.
    pub(crate) fn is_set(&self, https: bool) -> bool {
        self.address(https).is_some()
    }

    /// The address of the proxy for a scheme; `None` if it is blank.
    fn address(&self, https: bool) -> Option<&str> {
        let address = if https { &self.https } else { &self.http };
        let address = address.as_deref().map(str::trim);
        address.filter(|address| !address.is_empty())
    }

    /// The proxy for addresses with this scheme; `None` if there is none.
    pub(crate) fn route(&self, https: bool) -> Result<Option<ProxyRoute>, ClientError> {
        let Some(url) = self.address(https) else {
            return Ok(None);
        };
        let url = parse_address(url);
        let url = url.map_err(|why| ClientError::Setup(format!("the proxy {why}")))?;
        let is_https = url.scheme() == "https";
        let proxy = if https {
            Proxy::https(url)
        } else {
            Proxy::http(url)
        };
        let proxy = proxy.map_err(|error| ClientError::Setup(reason(&error)))?;
        Ok(Some(ProxyRoute {
            proxy: proxy.no_proxy(self.direct_hosts()),
            is_https,
        }))
    }

    /// The hosts that are reached without a proxy.
    fn direct_hosts(&self) -> Option<NoProxy> {
        let hosts = self.no_proxy.as_deref().unwrap_or_default();
        // In the list of the library, `*` stands for all names, but for no numeric address.
        let is_all = hosts.split(',').any(|host| host.trim() == "*");
        let addresses = if is_all { ",0.0.0.0/0,::/0" } else { "" };
        NoProxy::from_string(&format!("{LOOPBACK},{hosts}{addresses}"))
    }
}

/// Parses the address of a proxy, whose scheme may be missing. The error does not quote the
/// address, which may contain a password.
fn parse_address(text: &str) -> Result<Url, String> {
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
    /// Prints the addresses of proxies without the passwords that they may contain.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Proxies")
            .field("http", &self.http.as_deref().map(shown_address))
            .field("https", &self.https.as_deref().map(shown_address))
            .field("no_proxy", &self.no_proxy)
            .finish()
    }
}

fn shown_address(text: &str) -> Result<String, String> {
    parse_address(text).map(|url| without_secrets(&url))
}
