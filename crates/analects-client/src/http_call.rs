//! One request over HTTP: its headers, its key, and the errors of its answer.

use analects_core::{ApiError, ApiErrorKind};
use analects_providers::{Auth, HttpRequest, Method, RetryHeaders, error_from_response};
use jiff::Timestamp;
use reqwest::header::{CONTENT_ENCODING, HeaderMap, HeaderName, HeaderValue, LOCATION};
use tokio::time::Instant;

use crate::address::without_secrets;
use crate::byte_stream::ReadLimits;
use crate::error::{NearModels, TimeoutPhase, reason};
use crate::recorder::Recorder;
use crate::{BaseUrl, ByteStream, ClientError, Key, Model, Options, near_models};

/// Everything that sending a request to a model needs.
pub(crate) struct HttpCall<'a> {
    pub client: &'a reqwest::Client,
    pub model: &'a Model,
    pub base_url: &'a BaseUrl,
    pub key: Option<&'a Key>,
    /// Whether the key is a bearer token, whatever the API says.
    pub as_bearer: bool,
    pub options: &'a Options,
}

impl HttpCall<'_> {
    /// Builds the request, with the key.
    pub fn request(&self, request: HttpRequest) -> Result<reqwest::Request, ClientError> {
        let url = self.base_url.join(&request.path);
        let headers = self.headers(&request)?;
        let builder = match request.method {
            Method::Get => self.client.get(url),
            Method::Post => self.client.post(url),
        };
        let request = builder.headers(headers).body(request.body).build();
        request.map_err(|error| self.send_error(&error))
    }

    /// Sends the request and waits until the server accepts it.
    pub async fn send(&self, request: reqwest::Request) -> Result<ByteStream, ClientError> {
        let limits = self.read_limits();
        let sent = limits.watch(self.client.execute(request)).await?;
        let response = sent.map_err(|error| self.send_error(&error))?;
        if !response.status().is_success() {
            return Err(self.error_of(response, limits).await);
        }
        self.check_encoding(&response)?;
        let recorder = self.options.record_to.as_deref();
        let on_error = &self.options.on_recording_error;
        let recorder = recorder.map(|path| Recorder::new(path, on_error.clone()));
        Ok(ByteStream::http(response, limits, self.key).recorded(recorder))
    }

    fn read_limits(&self) -> ReadLimits {
        ReadLimits {
            url: self.base_url.to_string(),
            first_byte_timeout: self.options.first_byte_timeout,
            idle_timeout: self.options.idle_timeout,
            deadline: Some(Instant::now() + self.options.first_byte_timeout),
            max_bytes: self.options.max_bytes,
            bytes_left: self.options.max_bytes,
        }
    }

    /// Fails for a compressed answer. We never ask for one, and could not read it.
    fn check_encoding(&self, response: &reqwest::Response) -> Result<(), ClientError> {
        let Some(encoding) = response.headers().get(CONTENT_ENCODING) else {
            return Ok(());
        };
        let encoding = self.without_key(encoding.to_str().unwrap_or("in an unknown way"));
        let text = format!("the answer is compressed ({encoding}), which nobody asked for");
        let error = ApiError::new(ApiErrorKind::Malformed, text);
        Err(ClientError::Interrupted(error))
    }

    fn headers(&self, request: &HttpRequest) -> Result<HeaderMap, ClientError> {
        let mut headers = HeaderMap::new();
        for (name, value) in &request.headers {
            let key = HeaderName::from_bytes(name.as_bytes());
            let key = key.map_err(|_| ClientError::BadHeader(name.clone()))?;
            headers.insert(key, header_value(name, value)?);
        }
        if let Some(key) = self.key {
            let auth = if self.as_bearer {
                Auth::Bearer
            } else {
                request.auth
            };
            let name = auth_header(auth);
            let mut value = header_value(name, &auth_value(auth, key))?;
            value.set_sensitive(true);
            headers.insert(HeaderName::from_static(name), value);
        }
        Ok(headers)
    }

    /// Removes the key from what the server said, in case it quotes it.
    fn without_key(&self, text: &str) -> String {
        match self.key {
            Some(key) => key.hide(text),
            None => text.to_string(),
        }
    }

    /// The error for a request that could not be sent, or was not answered.
    fn send_error(&self, error: &reqwest::Error) -> ClientError {
        let url = self.base_url.to_string();
        if error.is_timeout() {
            return ClientError::TimedOut {
                url,
                wait: TimeoutPhase::Connect,
                limit: self.options.connect_timeout,
            };
        }
        let mut reason = reason(error);
        if !error.is_connect() {
            return ClientError::Broken { url, reason };
        }
        let has_proxy = self.options.proxies.is_set(self.base_url.is_https());
        if has_proxy && !self.base_url.is_local() {
            // The proxy may be what is missing.
            reason.push_str("; a proxy is set");
        }
        ClientError::Unreachable { url, reason }
    }

    /// The error for an answer whose status is not a success.
    async fn error_of(&self, response: reqwest::Response, limits: ReadLimits) -> ClientError {
        let url = limits.url.clone();
        let status = response.status();
        let headers = response.headers().clone();
        let header = |name: &str| Some(headers.get(name)?.to_str().ok()?.to_string());
        if status.is_redirection()
            && let Some(to) = header(LOCATION.as_str())
        {
            return self.redirection(&response, url, &to);
        }
        let mut bytes = ByteStream::http(response, limits, self.key);
        let body = bytes.read_error_body().await;
        let mut error = error_from_response(self.model.api, status.as_u16(), header, &body);
        if let Some(key) = self.key {
            // The body does not contain the key any more, but may have spelled it in JSON escapes.
            key.hide_in(&mut error);
        }
        let retry = RetryHeaders::read(header, Timestamp::now());
        error.retry_after_ms = retry.after_ms.or(error.retry_after_ms);
        let near = self.near_models(&error);
        ClientError::Api {
            url: url.into(),
            error,
            should_retry: retry.should_retry,
            near,
        }
    }

    /// The known models that were probably meant, if the provider knows none of this name.
    fn near_models(&self, error: &ApiError) -> Option<Box<NearModels>> {
        if error.kind != ApiErrorKind::NotFound || self.model.facts.is_some() {
            return None;
        }
        let names = near_models::misspelt_models(&self.model.provider, &self.model.name);
        (!names.is_empty()).then(|| Box::new(NearModels { names }))
    }

    /// The error for a redirection to another address, which may be relative.
    fn redirection(&self, response: &reqwest::Response, url: String, to: &str) -> ClientError {
        let to = match response.url().join(to) {
            Ok(to) => without_secrets(&to),
            Err(_) => String::new(),
        };
        ClientError::Redirected {
            url,
            to: self.without_key(&to),
        }
    }
}

/// The name of the header that carries the key.
fn auth_header(auth: Auth) -> &'static str {
    match auth {
        Auth::Bearer => "authorization",
        Auth::GoogleKey => "x-goog-api-key",
        Auth::XApiKey => "x-api-key",
    }
}

fn auth_value(auth: Auth, key: &Key) -> String {
    match auth {
        Auth::Bearer => format!("Bearer {}", key.reveal()),
        Auth::GoogleKey | Auth::XApiKey => key.reveal().to_string(),
    }
}

fn header_value(name: &str, value: &str) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(value).map_err(|_| ClientError::BadHeader(name.to_string()))
}
