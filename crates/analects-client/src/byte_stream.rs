//! The bytes of an answer, as they arrive.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use analects_core::{ApiError, ApiErrorKind};

use crate::error::{TimeoutPhase, reason};
use crate::key::KeyRemover;
use crate::recorder::Recorder;
use crate::{ClientError, Key};

/// The bytes of an answer, without the key, in case the server quotes it. Dropping it cancels the
/// request.
pub struct ByteStream {
    source: ByteSource,
    remover: Option<KeyRemover>,
    /// The error that ended the bytes, while bytes that were held back before it are returned.
    failure: Option<ClientError>,
    recorder: Option<Recorder>,
}

impl fmt::Debug for ByteStream {
    /// Prints only the name: the response would print its address with the query.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

/// Where the bytes come from.
enum ByteSource {
    Http(Box<reqwest::Response>, ReadLimits),
    Replay(Recording),
    Ended,
}

/// A recorded answer that is being read.
struct Recording {
    file: File,
    path: PathBuf,
    max_bytes: usize,
    /// How many bytes may still come.
    bytes_left: usize,
}

/// How much of a recording is read at once.
const CHUNK_SIZE: usize = 64 * 1024;

/// How long to wait for an answer, and how long it may be.
#[derive(Debug, Clone)]
pub(crate) struct ReadLimits {
    /// The address, for error messages.
    pub url: String,
    pub first_byte_timeout: Duration,
    pub idle_timeout: Duration,
    /// When the first byte must have come; `None` once it has.
    pub deadline: Option<Instant>,
    pub max_bytes: usize,
    /// How many bytes may still come.
    pub bytes_left: usize,
}

/// A timer that fires this late tells nothing: the process was stopped, as by Ctrl-Z, or the
/// machine slept.
const STOPPED_AFTER: Duration = Duration::from_millis(500);

/// How long to look once more for bytes that have come already.
const LAST_LOOK: Duration = Duration::from_millis(100);

impl ReadLimits {
    /// Runs `work` until the deadline of the first byte or, after that byte, until the idle
    /// timeout.
    pub async fn watch<T>(&self, work: impl Future<Output = T>) -> Result<T, ClientError> {
        let limit = self.timeout();
        let mut end = self.deadline.unwrap_or_else(|| Instant::now() + limit);
        let mut work = pin!(work);
        loop {
            if let Ok(done) = timeout_at(end, &mut work).await {
                return Ok(done);
            }
            if end.elapsed() < STOPPED_AFTER {
                break;
            }
            // The process was stopped meanwhile, and bytes that came in that time have yet to be read.
            end = Instant::now() + limit;
        }
        let in_time = timeout(LAST_LOOK, work).await;
        in_time.map_err(|_| self.timeout_error())
    }

    /// The timeout that counts at the moment.
    fn timeout(&self) -> Duration {
        if self.deadline.is_some() {
            self.first_byte_timeout
        } else {
            self.idle_timeout
        }
    }

    fn timeout_error(&self) -> ClientError {
        let wait = if self.deadline.is_some() {
            TimeoutPhase::FirstByte
        } else {
            TimeoutPhase::Idle
        };
        ClientError::TimedOut {
            url: self.url.clone(),
            wait,
            limit: self.timeout(),
        }
    }
}

impl ByteStream {
    /// The bytes of a response.
    pub(crate) fn http(
        response: reqwest::Response,
        limits: ReadLimits,
        key: Option<&Key>,
    ) -> ByteStream {
        ByteStream {
            source: ByteSource::Http(Box::new(response), limits),
            remover: key.and_then(KeyRemover::new),
            failure: None,
            recorder: None,
        }
    }

    /// The same bytes, but recorded as they arrive.
    pub(crate) fn recorded(self, recorder: Option<Recorder>) -> ByteStream {
        ByteStream { recorder, ..self }
    }

    /// A recorded answer of at most this many bytes. It is read in chunks, like one from the
    /// network.
    pub(crate) fn replay(path: &Path, max_bytes: usize) -> Result<ByteStream, ClientError> {
        let file = open_recording(path).map_err(|error| ClientError::replay(path, &error))?;
        let recording = Recording {
            file,
            path: path.to_path_buf(),
            max_bytes,
            bytes_left: max_bytes,
        };
        Ok(ByteStream {
            source: ByteSource::Replay(recording),
            remover: None,
            failure: None,
            recorder: None,
        })
    }

    /// Returns the next bytes; `None` at the end, and after an error. Dropping the call while it
    /// waits loses nothing.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        let next = self.read().await;
        let next = self.without_key(next);
        if let (Some(recorder), Some(Ok(bytes))) = (&mut self.recorder, &next) {
            recorder.write(bytes);
        }
        next
    }

    /// Reads the next bytes from the source, which has ended after an error.
    async fn read(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        let next = match &mut self.source {
            ByteSource::Ended => return self.failure.take().map(Err),
            ByteSource::Replay(recording) => recording.read().transpose(),
            ByteSource::Http(response, limits) => read_chunk(response, limits).await.transpose(),
        };
        if !matches!(next, Some(Ok(_))) {
            self.source = ByteSource::Ended;
        }
        next
    }

    /// Removes the key. At the end, the bytes that were held back come first, and the error after
    /// them.
    fn without_key(
        &mut self,
        next: Option<Result<Vec<u8>, ClientError>>,
    ) -> Option<Result<Vec<u8>, ClientError>> {
        let Some(remover) = &mut self.remover else {
            return next;
        };
        let end = match next {
            Some(Ok(bytes)) => return Some(Ok(remover.push(bytes))),
            end => end,
        };
        let rest = remover.finish();
        if rest.is_empty() {
            return end;
        }
        self.failure = end.and_then(Result::err);
        Some(Ok(rest))
    }

    /// Returns all bytes, or the error that ended them.
    pub(crate) async fn read_all(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next().await {
            all.extend_from_slice(&bytes?);
        }
        Ok(all)
    }

    /// Returns the start of the body of an error, as far as it comes in time. A server that sends
    /// its error byte by byte is not read for ever.
    pub(crate) async fn read_error_body(&mut self) -> Vec<u8> {
        const MAX_TIME: Duration = Duration::from_secs(10);
        let limit = match &self.source {
            ByteSource::Http(_, limits) => limits.idle_timeout.min(MAX_TIME),
            _ => MAX_TIME,
        };
        let mut body = Vec::new();
        let _ = timeout(limit, self.read_start(&mut body)).await;
        body
    }

    /// Appends bytes to `body` until there are enough of them, or no more.
    async fn read_start(&mut self, body: &mut Vec<u8>) {
        const ENOUGH: usize = 1024 * 1024;
        while let Some(Ok(bytes)) = self.next().await {
            body.extend_from_slice(&bytes);
            if body.len() >= ENOUGH {
                body.truncate(ENOUGH);
                return;
            }
        }
    }
}

/// Opens a recorded answer. It must be a regular file: a pipe might wait for ever, and a device
/// never end.
pub(crate) fn open_recording(path: &Path) -> io::Result<File> {
    let metadata = std::fs::metadata(path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        let kind = io::ErrorKind::InvalidInput;
        return Err(io::Error::new(kind, "not a regular file"));
    }
    File::open(path)
}

impl Recording {
    /// Returns the next bytes; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let mut chunk = vec![0; CHUNK_SIZE];
        let count = self.read_into(&mut chunk);
        let count = count.map_err(|error| ClientError::replay(&self.path, &error))?;
        chunk.truncate(count);
        let left = self.bytes_left.checked_sub(count);
        self.bytes_left = left.ok_or_else(|| too_long(self.max_bytes))?;
        Ok((count > 0).then_some(chunk))
    }

    fn read_into(&mut self, chunk: &mut [u8]) -> io::Result<usize> {
        loop {
            match self.file.read(chunk) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                result => return result,
            }
        }
    }
}

/// Returns the next bytes of a response; `None` at the end.
async fn read_chunk(
    response: &mut reqwest::Response,
    limits: &mut ReadLimits,
) -> Result<Option<Vec<u8>>, ClientError> {
    let chunk = limits.watch(response.chunk()).await?;
    limits.deadline = None;
    let chunk = chunk.map_err(|error| ClientError::Broken {
        url: limits.url.clone(),
        reason: reason(&error),
    })?;
    let count = chunk.as_ref().map_or(0, |chunk| chunk.len());
    let left = limits.bytes_left.checked_sub(count);
    limits.bytes_left = left.ok_or_else(|| too_long(limits.max_bytes))?;
    Ok(chunk.map(|chunk| chunk.to_vec()))
}

fn too_long(max_bytes: usize) -> ClientError {
    let text = format!("it has more than {max_bytes} bytes, the most that is taken");
    ClientError::Interrupted(ApiError::new(ApiErrorKind::Malformed, text))
}
