//! Sending one request: the single place where bytes leave the machine.

use std::sync::OnceLock;
use std::time::Duration;

use analects_core::Request;
use analects_providers::{Auth, HttpRequest, Method, error_from_response};
use reqwest::header::{HeaderMap, HeaderName, HeaderValue, LOCATION};
use tokio::time::Instant;

use crate::address::shown;
use crate::bytes::Limits;
use crate::error::{Wait, reason};
use crate::{BaseUrl, ByteStream, ClientError, EventStream, Key, Model, Proxies, Transport};

/// How long to wait for what, and which way to go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// For a connection.
    pub connect: Duration,
    /// From sending to the first byte of the answer, the connection included.
    pub first_byte: Duration,
    /// From one piece of the answer to the next.
    pub idle: Duration,
    /// The proxies on the way.
    pub proxies: Proxies,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(90),
            proxies: Proxies::default(),
        }
    }
}

/// Sends requests. Its calls need a tokio runtime with time and I/O switched on.
#[derive(Debug, Default)]
pub struct Client {
    options: Options,
    /// Plain HTTP needs no certificates, so a machine without any can still reach a local server.
    http: OnceLock<reqwest::Client>,
    https: OnceLock<reqwest::Client>,
}

impl Client {
    /// A client. Nothing is opened or read before it is needed.
    pub fn new(options: Options) -> Client {
        Client { options, ..Client::default() }
    }

    /// Asks a model and gives its answer, event by event.
    pub async fn stream(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<EventStream, ClientError> {
        let request = analects_providers::encode(model.api, request);
        let bytes = self.send(model, request).await?;
        Ok(EventStream::new(bytes, model))
    }

    /// Sends bytes to a model and gives the bytes that come back, once it accepted the request.
    pub async fn send(
        &self,
        model: &Model,
        request: HttpRequest,
    ) -> Result<ByteStream, ClientError> {
        match &model.transport {
            Transport::Replay(path) => ByteStream::replay(path),
            Transport::Http { base_url, key } => {
                let call = Call { model, base_url, key: key.as_ref(), options: &self.options };
                call.send(self.http_client(base_url)?, request).await
            }
        }
    }

    fn http_client(&self, base_url: &BaseUrl) -> Result<&reqwest::Client, ClientError> {
        let https = base_url.is_https();
        let cell = if https { &self.https } else { &self.http };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // Fails where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let proxy = self.options.proxies.of_scheme(https)?;
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("analects/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.options.connect)
            .redirect(reqwest::redirect::Policy::none());
        // Without this, the environment would be asked.
        builder = builder.no_proxy();
        let needs_certificates = https || proxy.as_ref().is_some_and(|way| way.is_https);
        if let Some(way) = proxy {
            builder = builder.proxy(way.proxy);
        }
        if !needs_certificates {
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build().map_err(|error| ClientError::Setup(reason(&error)))?;
        Ok(cell.get_or_init(|| client))
    }
}

/// One request on its way.
struct Call<'a> {
    model: &'a Model,
    base_url: &'a BaseUrl,
    key: Option<&'a Key>,
    options: &'a Options,
}

impl Call<'_> {
    async fn send(
        &self,
        client: &reqwest::Client,
        request: HttpRequest,
    ) -> Result<ByteStream, ClientError> {
        let limits = Limits {
            url: self.base_url.to_string(),
            first_byte: self.options.first_byte,
            idle: self.options.idle,
            deadline: Some(Instant::now() + self.options.first_byte),
        };
        let url = self.base_url.join(&request.path);
        let builder = match request.method {
            Method::Get => client.get(url),
            Method::Post => client.post(url),
        };
        let builder = builder.headers(self.headers(&request)?).body(request.body);
        let sent = limits.watch(builder.send()).await?;
        let response = sent.map_err(|error| self.not_sent(&error))?;
        if response.status().is_success() {
            return Ok(ByteStream::http(response, limits));
        }
        Err(self.refused(response, limits).await)
    }

    fn headers(&self, request: &HttpRequest) -> Result<HeaderMap, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let bad = || ClientError::BadHeader(name.clone());
            let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
            headers.insert(key, HeaderValue::from_str(value).map_err(|_| bad())?);
        }
        if let Some(key) = self.key {
            let (name, value) = match request.auth {
                Auth::Bearer => ("authorization", format!("Bearer {}", key.reveal())),
                Auth::GoogleKey => ("x-goog-api-key", key.reveal().to_string()),
                Auth::XApiKey => ("x-api-key", key.reveal().to_string()),
            };
            let value = HeaderValue::from_str(&value);
            let mut value = value.map_err(|_| ClientError::BadHeader(name.to_string()))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    fn not_sent(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base_url.to_string();
        if error.is_timeout() {
            return ClientError::TimedOut { url, wait: Wait::Connect, limit: self.options.connect };
        }
        let reason = reason(error);
        if error.is_connect() {
            ClientError::Unreachable { url, reason }
        } else {
            ClientError::Broken { url, reason }
        }
    }

    /// The error that a status other than 2xx stands for.
    async fn refused(&self, response: reqwest::Response, limits: Limits) -> ClientError {
        let url = limits.url.clone();
        let (status, headers) = (response.status(), response.headers().clone());
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_string());
        if let Some(to) = header(LOCATION.as_str()).filter(|_| status.is_redirection()) {
            let to = response.url().join(&to).map(|url| shown(&url)).unwrap_or_default();
            return ClientError::Redirected { url, to };
        }
        let body = ByteStream::http(response, limits).read_some().await;
        let mut error = error_from_response(self.model.api, status.as_u16(), header, &body);
        if let Some(key) = self.key {
            key.hide_in(&mut error);
        }
        ClientError::Api { url, error }
    }
}
