//! Waiting for other programs that have a message file open for writing. Whatever they are about to
//! write would go into a file that we have replaced by then.

use std::path::Path;
use std::time::{Duration, Instant};

use crate::StoreError;
use crate::error::to;
use crate::vfs::{Lease, Open, Vfs};

/// How long a change waits for others to close the file.
pub(crate) const PATIENCE: Duration = Duration::from_secs(10);

/// How long we wait before we look again.
pub(crate) const PAUSE: Duration = Duration::from_millis(1);

/// Waits until no other program has the file open for writing, as long as `patience` lasts. The answer
/// is [`Lease::Granted`] if nobody has, and [`Lease::Unknown`] if the system cannot tell. The file
/// need not exist. `name` is what the person calls it.
pub(crate) fn wait_for_writers(
    vfs: &dyn Vfs,
    path: &Path,
    name: &Path,
    patience: Duration,
) -> Result<Lease, StoreError> {
    let start = Instant::now();
    loop {
        // A pipe would keep us waiting as soon as it is opened; whoever reads it next refuses it.
        if !vfs.facts(path).is_ok_and(|facts| facts.is_file) {
            return Ok(Lease::Granted);
        }
        let mut file = match vfs.open(path, Open::Read) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                return Ok(Lease::Granted);
            }
            Err(error) => return Err(to("read", name)(error)),
        };
        let lease = file.lease().map_err(to("read", name))?;
        if lease != Lease::Refused {
            return Ok(lease);
        }
        if start.elapsed() >= patience {
            return Err(StoreError::InUse { path: name.into(), writers: file.writers() });
        }
        drop(file);
        std::thread::sleep(PAUSE);
    }
}
