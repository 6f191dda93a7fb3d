//! The bytes of an answer, as they come.

use std::fmt;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;

use tokio::time::{Instant, timeout, timeout_at};

use analects_core::{ApiError, ApiErrorKind};

use crate::error::{Wait, reason};
use crate::key::KeyRemover;
use crate::recorder::Recorder;
use crate::{ClientError, Key};

/// The bytes of an answer, without the key, should the server have quoted it. Dropping it cancels
/// the request.
pub struct ByteStream {
    source: Source,
    remover: Option<KeyRemover>,
    /// What ended the bytes, while what was held back before it is given.
    failure: Option<ClientError>,
    recorder: Option<Recorder>,
}

impl fmt::Debug for ByteStream {
    /// The response would print its address, query and all.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ByteStream")
    }
}

enum Source {
    Http(Box<reqwest::Response>, Limits),
    Replay(Recording),
    Ended,
}

/// A recorded answer that is being read.
struct Recording {
    file: File,
    path: PathBuf,
    /// How many bytes may come, and how many still.
    longest: usize,
    left: usize,
}

/// How much of a recording is read at once.
const PIECE: usize = 64 * 1024;

/// How long to wait, and for whom.
#[derive(Debug, Clone)]
pub(crate) struct Limits {
    pub url: String,
    pub first_byte: Duration,
    pub idle: Duration,
    /// When the first byte has to be there; `None` once it is.
    pub deadline: Option<Instant>,
    /// How many bytes may come, and how many still.
    pub longest: usize,
    pub left: usize,
}

/// A clock that rings so late was not heard: the process was stopped, as by Ctrl-Z, or the machine slept.
const LATE: Duration = Duration::from_millis(500);

/// How long it takes until what has come is looked at.
const ONCE_MORE: Duration = Duration::from_millis(100);

impl Limits {
    /// Runs out at the first byte's deadline or, after that byte, when nothing came for too long.
    pub async fn watch<T>(&self, work: impl Future<Output = T>) -> Result<T, ClientError> {
        let (wait, limit) = match self.deadline {
            Some(_) => (Wait::FirstByte, self.first_byte),
            None => (Wait::Idle, self.idle),
        };
        let mut end = self.deadline.unwrap_or_else(|| Instant::now() + self.idle);
        let mut work = pin!(work);
        loop {
            if let Ok(done) = timeout_at(end, &mut work).await {
                return Ok(done);
            }
            // Whoever was stopped meanwhile has heard nothing, and what came has yet to be looked at.
            if end.elapsed() < LATE {
                break;
            }
            end = Instant::now() + limit;
        }
        let in_time = timeout(ONCE_MORE, work).await;
        in_time.map_err(|_| ClientError::TimedOut {
            url: self.url.clone(),
            wait,
            limit,
        })
    }
}

impl ByteStream {
    pub(crate) fn http(
        response: reqwest::Response,
        limits: Limits,
        key: Option<&Key>,
    ) -> ByteStream {
        let source = Source::Http(Box::new(response), limits);
        let remover = key.and_then(KeyRemover::new);
        ByteStream {
            source,
            remover,
            failure: None,
            recorder: None,
        }
    }

    /// The same bytes, which are recorded as they come.
    pub(crate) fn recorded(self, recorder: Option<Recorder>) -> ByteStream {
        ByteStream { recorder, ..self }
    }

    /// A recorded answer of at most so many bytes. It is read piece by piece, as one that comes from afar.
    pub(crate) fn replay(path: &Path, longest: usize) -> Result<ByteStream, ClientError> {
        let file = open_recording(path).map_err(|error| ClientError::replay(path, &error))?;
        let source = Source::Replay(Recording {
            file,
            path: path.to_path_buf(),
            longest,
            left: longest,
        });
        Ok(ByteStream {
            source,
            remover: None,
            failure: None,
            recorder: None,
        })
    }

    /// The next bytes; `None` at the end, and after an error. A call that is dropped while it waits
    /// loses nothing.
    pub async fn next(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        let next = self.read().await;
        let next = self.without_key(next);
        if let (Some(recorder), Some(Ok(bytes))) = (&mut self.recorder, &next) {
            recorder.take(bytes);
        }
        next
    }

    async fn read(&mut self) -> Option<Result<Vec<u8>, ClientError>> {
        let next = match &mut self.source {
            Source::Ended => self.failure.take().map(Err),
            Source::Replay(recording) => recording.read().transpose(),
            Source::Http(response, limits) => read(response, limits).await.transpose(),
        };
        let goes_on = !matches!(self.source, Source::Ended) && matches!(next, Some(Ok(_)));
        if !goes_on {
            self.source = Source::Ended;
        }
        next
    }

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

    /// All bytes, if all of them come.
    pub(crate) async fn read_all(&mut self) -> Result<Vec<u8>, ClientError> {
        let mut all = Vec::new();
        while let Some(bytes) = self.next().await {
            all.extend_from_slice(&bytes?);
        }
        Ok(all)
    }

    /// As much as matters of the body of an error, and as much as came in time.
    pub(crate) async fn read_some(&mut self) -> Vec<u8> {
        const ENOUGH: usize = 1024 * 1024;
        const PATIENCE: Duration = Duration::from_secs(10);
        let idle = match &self.source {
            Source::Http(_, limits) => limits.idle,
            _ => PATIENCE,
        };
        let mut body = Vec::new();
        let read = async {
            while let Some(Ok(bytes)) = self.next().await {
                body.extend_from_slice(&bytes);
                if body.len() >= ENOUGH {
                    body.truncate(ENOUGH);
                    break;
                }
            }
        };
        // A server that drips its error, one byte now and then, is not listened to for ever.
        let _ = tokio::time::timeout(idle.min(PATIENCE), read).await;
        body
    }
}

/// Opens a recorded answer. A pipe might keep us waiting for ever, and a device never end.
pub(crate) fn open_recording(path: &Path) -> io::Result<File> {
    let facts = std::fs::metadata(path)?;
    if facts.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !facts.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "not a regular file",
        ));
    }
    File::open(path)
}

impl Recording {
    /// The next bytes; `None` at the end.
    fn read(&mut self) -> Result<Option<Vec<u8>>, ClientError> {
        let mut piece = vec![0; PIECE];
        let count = loop {
            match self.file.read(&mut piece) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(ClientError::replay(&self.path, &error)),
                Ok(count) => break count,
            }
        };
        piece.truncate(count);
        self.left = self
            .left
            .checked_sub(count)
            .ok_or_else(|| too_long(self.longest))?;
        Ok((count > 0).then_some(piece))
    }
}

async fn read(
    response: &mut reqwest::Response,
    limits: &mut Limits,
) -> Result<Option<Vec<u8>>, ClientError> {
    let chunk = limits.watch(response.chunk()).await?;
    limits.deadline = None;
    let bytes = chunk.map_err(|error| ClientError::Broken {
        url: limits.url.clone(),
        reason: reason(&error),
    })?;
    let came = bytes.as_ref().map_or(0, |bytes| bytes.len());
    limits.left = limits
        .left
        .checked_sub(came)
        .ok_or_else(|| too_long(limits.longest))?;
    Ok(bytes.map(|bytes| bytes.to_vec()))
}

fn too_long(longest: usize) -> ClientError {
    let text = format!("it has more than {longest} bytes, the most that is taken");
    ClientError::BrokeOff(ApiError::new(ApiErrorKind::Malformed, text))
}
