//! Sending requests: the single place where bytes leave the machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use analects_core::{ApiError, ApiErrorKind, Request};
use analects_providers::{
    Auth, HttpRequest, Method, RetryHeaders, RetryPolicy, error_from_response,
};
use jiff::Timestamp;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION};
use tokio::time::Instant;

use crate::address::shown;
use crate::bytes::Limits;
use crate::error::{Wait, reason};
use crate::recorder::{OnLost, Recorder};
use crate::tries::Tries;
use crate::{BaseUrl, ByteStream, ClientError, EventStream, Key, Model, Proxies, Transport};

/// How long to wait for what, how often to try, and which way to go.
#[derive(Clone)]
pub struct Options {
    /// For a connection.
    pub connect: Duration,
    /// From sending to the first byte of the answer, the connection included.
    pub first_byte: Duration,
    /// From one piece of the answer to the next.
    pub idle: Duration,
    /// How many bytes an answer may have as it comes. What is longer is a server that does not stop.
    pub longest: usize,
    /// How many bytes of text, thoughts, calls and pictures an answer may hold. They are kept in memory and in a
    /// record of a session, which has a limit too.
    pub most_content: usize,
    /// How often and how patiently a request that failed is sent again.
    pub retries: RetryPolicy,
    /// The proxies on the way.
    pub proxies: Proxies,
    /// Where the bytes of the last answer are recorded, as `replay:FILE` plays them.
    pub record: Option<PathBuf>,
    /// Who is told when an answer could not be recorded.
    pub on_lost: Option<OnLost>,
    /// Who is told before a request is sent again.
    pub on_wait: Option<OnWait>,
}

/// Is told before a request is sent again.
pub type OnWait = Arc<dyn Fn(&Waiting) + Send + Sync>;

/// A request that failed and will be sent again.
#[derive(Debug, Clone)]
pub struct Waiting {
    /// Why it failed.
    pub error: ClientError,
    /// How long until it is sent again.
    pub wait: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect: Duration::from_secs(10),
            first_byte: Duration::from_secs(120),
            idle: Duration::from_secs(90),
            longest: 256 * 1024 * 1024,
            most_content: 32 * 1024 * 1024,
            retries: RetryPolicy::default(),
            proxies: Proxies::default(),
            record: None,
            on_lost: None,
            on_wait: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connect", &self.connect)
            .field("first_byte", &self.first_byte)
            .field("idle", &self.idle)
            .field("longest", &self.longest)
            .field("most_content", &self.most_content)
            .field("retries", &self.retries)
            .field("proxies", &self.proxies)
            .field("record", &self.record)
            .finish_non_exhaustive()
    }
}

/// Sends requests. Its calls need a tokio runtime with time and I/O switched on.
#[derive(Debug, Default)]
pub struct Client {
    options: Options,
    /// Plain HTTP needs no certificates, so a machine without any can still reach a local server.
    http: Ways,
    https: Ways,
}

/// The ways to this machine, where no proxy counts, and to others.
#[derive(Debug, Default)]
struct Ways {
    here: OnceLock<reqwest::Client>,
    away: OnceLock<reqwest::Client>,
}

impl Client {
    /// A client. Nothing is opened or read before it is needed.
    pub fn new(options: Options) -> Client {
        Client {
            options,
            ..Client::default()
        }
    }

    /// Asks a model and gives its answer, event by event. A request that fails before anything of the
    /// answer came is sent again, as the options say.
    pub async fn stream(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<EventStream, ClientError> {
        self.events(model, model.encode(request)).await
    }

    /// The same, but the answer is asked for in one piece.
    pub(crate) async fn ask_at_once(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<EventStream, ClientError> {
        let request = analects_providers::without_streaming(model.api, model.encode(request));
        self.events(model, request).await
    }

    async fn events(
        &self,
        model: &Model,
        mut request: HttpRequest,
    ) -> Result<EventStream, ClientError> {
        let left_out = std::mem::take(&mut request.left_out);
        let mut tries = Tries::new(&self.options);
        let ready = self.ready(model, request)?;
        loop {
            let bytes = match ready.send().await {
                Ok(bytes) => bytes,
                Err(error) if tries.again(&error).await => continue,
                Err(error) => return Err(error),
            };
            let most = self.options.most_content;
            let mut stream = EventStream::new(bytes, model, left_out.clone(), most);
            match stream.prime().await {
                Some(error) if tries.again(&error).await => {}
                _ => return Ok(stream),
            }
        }
    }

    /// Sends bytes to a model and gives the whole of what comes back.
    pub(crate) async fn fetch(
        &self,
        model: &Model,
        request: HttpRequest,
    ) -> Result<Vec<u8>, ClientError> {
        let mut tries = Tries::new(&self.options);
        let ready = self.ready(model, request)?;
        loop {
            let fetched = match ready.send().await {
                Ok(mut bytes) => bytes.read_all().await,
                Err(error) => Err(error),
            };
            match fetched {
                Err(error) if tries.again(&error).await => {}
                fetched => return fetched,
            }
        }
    }

    /// Sends bytes to a model and gives the bytes that come back, once it accepted the request.
    /// Nothing is sent twice.
    pub async fn send(
        &self,
        model: &Model,
        request: HttpRequest,
    ) -> Result<ByteStream, ClientError> {
        self.ready(model, request)?.send().await
    }

    /// Makes a request ready to be sent. What fails here would fail every time.
    fn ready<'a>(
        &'a self,
        model: &'a Model,
        request: HttpRequest,
    ) -> Result<Ready<'a>, ClientError> {
        match &model.transport {
            Transport::Replay(path) => Ok(Ready::Replay {
                path,
                longest: self.options.longest,
            }),
            Transport::Local => Err(ClientError::Unsupported(
                "the server of a local model was not started",
            )),
            Transport::Http {
                base_url,
                key,
                as_bearer,
            } => {
                let (key, as_bearer, options) = (key.as_ref(), *as_bearer, &self.options);
                let call = Call {
                    model,
                    base_url,
                    key,
                    as_bearer,
                    options,
                };
                let client = self.http_client(base_url)?;
                let request = Box::new(call.request(client, request)?);
                Ok(Ready::Http {
                    call,
                    client,
                    request,
                })
            }
        }
    }

    fn http_client(&self, base_url: &BaseUrl) -> Result<&reqwest::Client, ClientError> {
        let (https, is_here) = (base_url.is_https(), base_url.is_here());
        let ways = if https { &self.https } else { &self.http };
        let cell = if is_here { &ways.here } else { &ways.away };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        // Fails where a provider is installed already, which is as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        // One that cannot be used must not keep anybody from a server of their own.
        let proxies = Some(&self.options.proxies).filter(|_| !is_here);
        let proxy = proxies
            .map(|proxies| proxies.of_scheme(https))
            .transpose()?
            .flatten();
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
        let client = builder
            .build()
            .map_err(|error| ClientError::Setup(reason(&error)))?;
        Ok(cell.get_or_init(|| client))
    }
}

/// A request that can be sent again. Its body is as long as its conversation, and is there once.
enum Ready<'a> {
    Replay {
        path: &'a Path,
        longest: usize,
    },
    Http {
        call: Call<'a>,
        client: &'a reqwest::Client,
        request: Box<reqwest::Request>,
    },
}

impl Ready<'_> {
    async fn send(&self) -> Result<ByteStream, ClientError> {
        match self {
            Ready::Replay { path, longest } => ByteStream::replay(path, *longest),
            Ready::Http {
                call,
                client,
                request,
            } => {
                let copy = request.try_clone();
                let copy = copy.ok_or(ClientError::Unsupported("a body that is not at hand"))?;
                call.send(client, copy).await
            }
        }
    }
}

/// One request on its way.
struct Call<'a> {
    model: &'a Model,
    base_url: &'a BaseUrl,
    key: Option<&'a Key>,
    as_bearer: bool,
    options: &'a Options,
}

impl Call<'_> {
    fn request(
        &self,
        client: &reqwest::Client,
        request: HttpRequest,
    ) -> Result<reqwest::Request, ClientError> {
        let url = self.base_url.join(&request.path);
        let builder = match request.method {
            Method::Get => client.get(url),
            Method::Post => client.post(url),
        };
        let builder = builder.headers(self.headers(&request)?).body(request.body);
        builder.build().map_err(|error| self.not_sent(&error))
    }

    async fn send(
        &self,
        client: &reqwest::Client,
        request: reqwest::Request,
    ) -> Result<ByteStream, ClientError> {
        let limits = Limits {
            url: self.base_url.to_string(),
            first_byte: self.options.first_byte,
            idle: self.options.idle,
            deadline: Some(Instant::now() + self.options.first_byte),
            longest: self.options.longest,
            left: self.options.longest,
        };
        let sent = limits.watch(client.execute(request)).await?;
        let response = sent.map_err(|error| self.not_sent(&error))?;
        if response.status().is_success() {
            if let Some(encoding) = response.headers().get(CONTENT_ENCODING) {
                // Nobody asked for that, and what comes could not be read.
                let encoding = self.without_key(encoding.to_str().unwrap_or("in an unknown way"));
                let text = format!("the answer is compressed ({encoding}), which nobody asked for");
                let error = ApiError::new(ApiErrorKind::Malformed, text);
                return Err(ClientError::BrokeOff(error));
            }
            let on_lost = &self.options.on_lost;
            let recorder = self.options.record.as_deref();
            let recorder = recorder.map(|path| Recorder::new(path, on_lost.clone()));
            return Ok(ByteStream::http(response, limits, self.key).recorded(recorder));
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
            let auth = if self.as_bearer {
                Auth::Bearer
            } else {
                request.auth
            };
            let (name, value) = match auth {
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

    /// What the server said, should it have quoted the key.
    fn without_key(&self, text: &str) -> String {
        self.key.map_or(text.to_string(), |key| key.hide(text))
    }

    fn not_sent(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base_url.to_string();
        if error.is_timeout() {
            return ClientError::TimedOut {
                url,
                wait: Wait::Connect,
                limit: self.options.connect,
            };
        }
        let reason = reason(error);
        if error.is_connect() {
            // It may be the proxy that is not there.
            let is_set = self.options.proxies.is_set(self.base_url.is_https());
            let through = if is_set && !self.base_url.is_here() {
                "; a proxy is set"
            } else {
                ""
            };
            ClientError::Unreachable {
                url,
                reason: reason + through,
            }
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
            let to = response
                .url()
                .join(&to)
                .map(|url| shown(&url))
                .unwrap_or_default();
            return ClientError::Redirected {
                url,
                to: self.without_key(&to),
            };
        }
        let body = ByteStream::http(response, limits, self.key)
            .read_some()
            .await;
        let mut error = error_from_response(self.model.api, status.as_u16(), header, &body);
        if let Some(key) = self.key {
            // The body holds it no more, but may have spelled it in the escapes of JSON.
            key.hide_in(&mut error);
        }
        let retry = RetryHeaders::read(header, Timestamp::now());
        error.retry_after_ms = retry.after_ms.or(error.retry_after_ms);
        ClientError::Api {
            url,
            error,
            should_retry: retry.should_retry,
        }
    }
}
