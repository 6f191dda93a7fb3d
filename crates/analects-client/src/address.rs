//! Where a provider is reached. Addresses may hold secrets (`user:password@`, `?key=`), so what is
//! printed of them is less than what is used.

use std::fmt;
use std::net::IpAddr;

use reqwest::Url;

use crate::ClientError;

/// The address below which a provider's API lies, such as `https://api.openai.com/v1`.
#[derive(Clone, PartialEq, Eq)]
pub struct BaseUrl(Url);

impl BaseUrl {
    /// Reads an address of `http` or `https`.
    pub fn parse(text: &str) -> Result<BaseUrl, ClientError> {
        match Url::parse(text.trim()) {
            Ok(url) if matches!(url.scheme(), "http" | "https") => Ok(BaseUrl(url)),
            Ok(url) => Err(ClientError::BadAddress(format!(
                "its scheme is {}",
                url.scheme()
            ))),
            Err(error) => Err(ClientError::BadAddress(error.to_string())),
        }
    }

    /// The address of `path`, which may hold a query, below this one. A query of the base stays:
    /// some gateways want one.
    pub(crate) fn join(&self, path: &str) -> Url {
        let mut url = self.0.clone();
        let (path, query) = path
            .split_once('?')
            .map_or((path, None), |(p, q)| (p, Some(q)));
        url.set_path(&format!("{}{path}", url.path().trim_end_matches('/')));
        if let Some(query) = query {
            let before = url
                .query()
                .map(|before| format!("{before}&"))
                .unwrap_or_default();
            url.set_query(Some(&format!("{before}{query}")));
        }
        url
    }

    /// Whether nobody on the way can read along: it is `https`, or on this machine.
    pub(crate) fn is_safe(&self) -> bool {
        self.is_https() || self.is_here()
    }

    /// Whether it is on this machine.
    pub(crate) fn is_here(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let address = host
            .trim_start_matches('[')
            .trim_end_matches(']')
            .parse::<IpAddr>();
        host == "localhost"
            || host.ends_with(".localhost")
            || address.is_ok_and(|address| address.is_loopback())
    }

    pub(crate) fn is_https(&self) -> bool {
        self.0.scheme() == "https"
    }
}

/// An address without user, password, query and fragment.
pub(crate) fn shown(url: &Url) -> String {
    let mut url = url.clone();
    // These fail only for addresses without a host, which have neither.
    let _ = url.set_username("");
    let _ = url.set_password(None);
    url.set_query(None);
    url.set_fragment(None);
    url.as_str().trim_end_matches('/').to_string()
}

impl fmt::Display for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&shown(&self.0))
    }
}

impl fmt::Debug for BaseUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
