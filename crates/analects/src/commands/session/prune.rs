//! `session prune`: puts conversations aside.

use analects_store::TranscriptStore;

use crate::failure::Failure;
use crate::sessions::Sessions;
use crate::surroundings::Surroundings;
use crate::ui;

/// Put sessions into the trash folder of the store
///
/// They are no longer listed or found, but nothing is deleted: what is printed is where each of them is now. To get one
/// back, move its file to where it was.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Example:
  analects session prune 0197a3c2")]
pub struct Args {
    /// The sessions
    #[arg(required = true)]
    sessions: Vec<String>,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let sessions = Sessions::of(&Surroundings::of_process()?);
    // All of them are looked up before anything is moved.
    let names: Result<Vec<_>, Failure> =
        args.sessions.iter().map(|word| sessions.find(Some(word))).collect();
    for name in names? {
        ui::print_line(&sessions.store.prune(&name)?)?;
    }
    Ok(())
}
