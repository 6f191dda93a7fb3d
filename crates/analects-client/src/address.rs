//! The addresses of providers. They may contain secrets (`user:password@`, `?key=`), so they print
//! without some of their parts.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::ClientError;

/// The base address of a provider's API, such as `https://api.openai.com/v1`.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Parses an address with the scheme `http` or `https`.
    pub fn parse(text: &str) -> Result<BaseUrl, ClientError> {
        let url = Url::parse(text.trim());
        let url = url.map_err(|error| ClientError::BadAddress(error.to_string()))?;
        if !matches!(url.scheme(), "http" | "https") {
            let text = format!("its scheme is {}", url.scheme());
            return Err(ClientError::BadAddress(text));
        }
        Ok(BaseUrl(url))
    }

    /// Appends a path, which may contain a query. A query of the base address stays, because some
    /// gateways require one.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let (path, query) = match path.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path, None),
        };
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        let joined = match (url.query(), query) {
            (_, None) => return url,
            (None, Some(query)) => query.to_string(),
            (Some(before), Some(query)) => format!("{before}&{query}"),
        };
        url.set_query(Some(&joined));
        url
    }

    /// Whether nobody can read what is sent: the address is `https`, or on this machine.
    pub(crate) fn is_private(&self) -> bool {
        self.is_https() || self.is_local()
    }

    /// Whether the address is on this machine.
    pub(crate) fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        host == "localhost"
            || host.ends_with(".localhost")
            || address.is_ok_and(|address| address.is_loopback())
    }

    /// Whether the scheme is `https`.
    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

/// An address without user, password, query and fragment, to be shown.
pub(crate) fn without_secrets(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only for addresses without a host, which have neither a user nor a password.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_string()
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&without_secrets(&self.0))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
