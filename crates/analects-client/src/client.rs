//! Sends requests. This is the only place where bytes leave the machine.

use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use analects_core::Request;
use analects_providers::{HttpRequest, RetryPolicy, without_streaming};

use crate::error::reason;
use crate::http_call::HttpCall;
use crate::recorder::RecordingErrorCallback;
use crate::retry_loop::RetryLoop;
use crate::{BaseUrl, ByteStream, ClientError, EventStream, Model, Proxies, Transport};

/// Timeouts, limits, retries and proxies.
#[derive(Clone)]
pub struct Options {
    /// How long to wait for a connection.
    pub connect_timeout: Duration,
    /// How long to wait for the first byte of the answer, the connection included.
    pub first_byte_timeout: Duration,
    /// How long to wait from one piece of the answer to the next.
    pub idle_timeout: Duration,
    /// How many bytes an answer may have as it arrives. A longer one is of a server that does not
    /// stop.
    pub max_bytes: usize,
    /// How many bytes of text, thinking, calls and images an answer may contain. They are kept in
    /// memory, and in a record of a session, which has a limit too.
    pub max_content_bytes: usize,
    /// How often, and after which waits, a request that failed is sent again.
    pub retries: RetryPolicy,
    /// The proxies to use.
    pub proxies: Proxies,
    /// The file in which the bytes of the last answer are recorded. `replay:FILE` plays them.
    pub record_to: Option<PathBuf>,
    /// Called when an answer could not be recorded.
    pub on_recording_error: Option<RecordingErrorCallback>,
    /// Called before a request is sent again.
    pub on_retry: Option<RetryCallback>,
}

/// Called before a request is sent again.
pub type RetryCallback = Arc<dyn Fn(&RetryNotice) + Send + Sync>;

/// A request that failed and will be sent again.
#[derive(Debug, Clone)]
pub struct RetryNotice {
    /// Why it failed.
    pub error: ClientError,
    /// How long the client waits before it sends the request again.
    pub wait: Duration,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            connect_timeout: Duration::from_secs(10),
            first_byte_timeout: Duration::from_secs(120),
            idle_timeout: Duration::from_secs(90),
            max_bytes: 256 * 1024 * 1024,
            max_content_bytes: 32 * 1024 * 1024,
            retries: RetryPolicy::default(),
            proxies: Proxies::default(),
            record_to: None,
            on_recording_error: None,
            on_retry: None,
        }
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("connect_timeout", &self.connect_timeout)
            .field("first_byte_timeout", &self.first_byte_timeout)
            .field("idle_timeout", &self.idle_timeout)
            .field("max_bytes", &self.max_bytes)
            .field("max_content_bytes", &self.max_content_bytes)
            .field("retries", &self.retries)
            .field("proxies", &self.proxies)
            .field("record_to", &self.record_to)
            .finish_non_exhaustive()
    }
}

/// Sends requests. Its calls need a tokio runtime with time and I/O.
#[derive(Debug, Default)]
pub struct Client {
    options: Options,
    /// Plain HTTP needs no certificates, so a machine without any can still reach a local server.
    http: HttpClients,
    https: HttpClients,
}

/// The connections to this machine, for which no proxy is used, and to others.
#[derive(Debug, Default)]
struct HttpClients {
    local: OnceLock<reqwest::Client>,
    remote: OnceLock<reqwest::Client>,
}

impl Client {
    /// Makes a client. Nothing is opened or read before it is needed.
    pub fn new(options: Options) -> Client {
        Client {
            options,
            ..Client::default()
        }
    }

    /// Asks a model and returns its answer, event by event. A request that fails before any content
    /// came is sent again, as the options say.
    pub async fn stream(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<EventStream, ClientError> {
        self.events(model, model.encode(request)).await
    }

    /// Does the same as [`Client::stream`], but asks for the answer in one piece.
    pub(crate) async fn ask_without_streaming(
        &self,
        model: &Model,
        request: &Request,
    ) -> Result<EventStream, ClientError> {
        let request = without_streaming(model.api, model.encode(request));
        self.events(model, request).await
    }

    async fn events(
        &self,
        model: &Model,
        mut request: HttpRequest,
    ) -> Result<EventStream, ClientError> {
        let left_out = std::mem::take(&mut request.left_out);
        let max_content = self.options.max_content_bytes;
        let mut retries = RetryLoop::new(&self.options);
        let prepared = self.prepare(model, request)?;
        loop {
            let bytes = match prepared.send().await {
                Ok(bytes) => bytes,
                Err(error) if retries.wait_for_retry(&error).await => continue,
                Err(error) => return Err(error),
            };
            let mut stream = EventStream::new(bytes, model, left_out.clone(), max_content);
            match stream.wait_for_content().await {
                Some(error) if retries.wait_for_retry(&error).await => {}
                _ => return Ok(stream),
            }
        }
    }

    /// Sends bytes to a model and returns the whole answer.
    pub(crate) async fn fetch(
        &self,
        model: &Model,
        request: HttpRequest,
    ) -> Result<Vec<u8>, ClientError> {
        let mut retries = RetryLoop::new(&self.options);
        let prepared = self.prepare(model, request)?;
        loop {
            let fetched = match prepared.send().await {
                Ok(mut bytes) => bytes.read_all().await,
                Err(error) => Err(error),
            };
            match fetched {
                Err(error) if retries.wait_for_retry(&error).await => {}
                fetched => return fetched,
            }
        }
    }

    /// Sends bytes to a model and returns the bytes of the answer, once the server accepts the
    /// request. Nothing is sent again.
    pub async fn send(
        &self,
        model: &Model,
        request: HttpRequest,
    ) -> Result<ByteStream, ClientError> {
        self.prepare(model, request)?.send().await
    }

    /// Prepares a request. What fails here would fail every time.
    fn prepare<'a>(
        &'a self,
        model: &'a Model,
        request: HttpRequest,
    ) -> Result<PreparedRequest<'a>, ClientError> {
        let (base_url, key, as_bearer) = match &model.transport {
            Transport::Http {
                base_url,
                key,
                as_bearer,
            } => (base_url, key.as_ref(), *as_bearer),
            Transport::Replay(path) => {
                let max_bytes = self.options.max_bytes;
                return Ok(PreparedRequest::Replay { path, max_bytes });
            }
            Transport::Local => {
                let text = "the server of a local model was not started";
                return Err(ClientError::Unsupported(text));
            }
        };
        let call = HttpCall {
            client: self.http_client(base_url)?,
            model,
            base_url,
            key,
            as_bearer,
            options: &self.options,
        };
        let request = Box::new(call.request(request)?);
        Ok(PreparedRequest::Http { call, request })
    }

    /// The connections for an address. They are set up at first use.
    fn http_client(&self, base_url: &BaseUrl) -> Result<&reqwest::Client, ClientError> {
        let clients = if base_url.is_https() {
            &self.https
        } else {
            &self.http
        };
        let cell = if base_url.is_local() {
            &clients.local
        } else {
            &clients.remote
        };
        if let Some(client) = cell.get() {
            return Ok(client);
        }
        let client = self.build_http_client(base_url)?;
        Ok(cell.get_or_init(|| client))
    }

    fn build_http_client(&self, base_url: &BaseUrl) -> Result<reqwest::Client, ClientError> {
        // Fails if a provider is installed already, which is just as good.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let is_https = base_url.is_https();
        // A proxy that cannot be used must not keep anybody from a local server.
        let route = if base_url.is_local() {
            None
        } else {
            self.options.proxies.route(is_https)?
        };
        let mut builder = reqwest::Client::builder()
            .user_agent(concat!("analects/", env!("CARGO_PKG_VERSION")))
            .connect_timeout(self.options.connect_timeout)
            .redirect(reqwest::redirect::Policy::none());
        // Without this, reqwest would read the environment.
        builder = builder.no_proxy();
        let mut needs_certificates = is_https;
        if let Some(route) = route {
            needs_certificates |= route.is_https;
            builder = builder.proxy(route.proxy);
        }
        if !needs_certificates {
            builder = builder.tls_certs_only([]);
        }
        let client = builder.build();
        client.map_err(|error| ClientError::Setup(reason(&error)))
    }
}

/// A request that can be sent several times. Its body is as long as its conversation, and is kept
/// once.
enum PreparedRequest<'a> {
    Replay {
        path: &'a Path,
        max_bytes: usize,
    },
    Http {
        call: HttpCall<'a>,
        request: Box<reqwest::Request>,
    },
}

impl PreparedRequest<'_> {
    async fn send(&self) -> Result<ByteStream, ClientError> {
        match self {
            PreparedRequest::Replay { path, max_bytes } => ByteStream::replay(path, *max_bytes),
            PreparedRequest::Http { call, request } => {
                let copy = request.try_clone();
                let copy = copy.ok_or(ClientError::Unsupported("a body that is not at hand"))?;
                call.send(copy).await
            }
        }
    }
}
