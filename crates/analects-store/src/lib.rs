//! Conversations on disk. Of all the crates, this one alone touches a person's files.
//!
//! # Types, in reading order
//!
//! 1. [`MessageFile`] is a message file for programs: items, agents, changes in memory, one save.
//! 2. [`LockedFile`] is a message file that this process alone may write to: it adds cells, and puts answers below
//!    their questions. A [`Journal`] keeps answers while they come ([`AnswerEntry`]), and how they travelled.
//! 3. [`TranscriptStore`] is where conversations are kept record by record: [`JsonlStore`] on disk, in
//!    the [`Places`] that it is given, [`MemoryStore`] in memory. A [`Session`] is one that is gone on
//!    with; [`load`] gives what the model is to see of it, [`tail`] its end, [`find`] the one that is
//!    meant. A [`NewSession`] appears as a whole. [`Transcript`] is a single one with the least around it.
//! 4. [`check_transcript`] and [`repair_transcript`] find and mend what happened to a file.
//! 5. [`FileGrants`] record which files a person let a model see, and a [`FileGrant`] is the right to read one;
//!    [`FileState`] is what a file is like.
//! 6. [`OsIds`] gives out real identifiers; [`StoreError`] is what can go wrong.
//! 7. [`vfs::Vfs`] is the one door to the disk.
//!
//! A write is reported as done only when it would survive a power cut. Message files are replaced by
//! a new file, synced and swapped in; those over 1 MB change at their end in place, with a record in the state folder
//! from which a write that was cut off is completed. Transcripts grow by one write and a sync. While
//! a file is being written, a lock in the state folder keeps a second writer out. While another program
//! has a message file open for writing, changes wait for it, and refuse after a while; what an editor
//! saves at the same time is noticed and kept.
//!
//! # Reading a session
//!
//! [`tail`] gives the last messages of a session, and [`load`] those that the model sees:
//!
//! ```
//! use analects_store::{Found, JsonlStore, Places, find, load};
//!
//! # let folder = tempfile::tempdir()?;
//! # let name = analects_store::ChainName::new("notes", "talk");
//! # let messages = [analects_core::Message::user("1", "Hello"), analects_core::Message::assistant("2", "Hi")];
//! # let earlier = JsonlStore::new(&Places::in_folder(&folder));
//! # analects_store::Session::open(&earlier, name)?.append(messages.into(), &mut analects_store::OsIds, jiff::Timestamp::now())?;
//! let store = JsonlStore::new(&Places::in_folder(&folder));
//! // Without a name, the session that was written to last.
//! let Found::One(name) = find(&store, None, None)? else {
//!     return Err("there is no session".into());
//! };
//! let mut lines = Vec::new();
//! for message in load(&store, &name)?.messages {
//!     lines.push(format!("{}: {}", message.body.type_name(), message.text()));
//! }
//! assert_eq!(lines, ["user: Hello", "assistant: Hi"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Changing a conversation
//!
//! In a session, a verb of [`analects_core::verbs`] appends records; what was there stays:
//!
//! ```
//! use analects_core::{Message, verbs, verbs::Target};
//! use analects_store::{ChainName, MemoryStore, OsIds, Session};
//! use jiff::Timestamp;
//!
//! let store = MemoryStore::default();
//! let mut session = Session::open(&store, ChainName::new("notes", "talk"))?;
//! let said = vec![Message::user("1", "Hello"), Message::assistant("2", "Hi"), Message::user("3", "Bye")];
//! session.append(said, &mut OsIds, Timestamp::now())?;
//! let greeting = Target::message("1");
//! session.apply(|messages| verbs::edit(messages, &greeting, "Ahoy"), &mut OsIds, Timestamp::now())?;
//! session.apply(|messages| verbs::rewind(messages, Some("2")), &mut OsIds, Timestamp::now())?;
//! let texts: Vec<String> = session.load()?.messages.iter().map(Message::text).collect();
//! assert_eq!(texts, ["Ahoy", "Hi"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a message file, a verb changes the bytes that it must and no others:
//!
//! ```
//! use analects_core::{SessionId, verbs};
//! use analects_formats::msgfile::{self, CellMessages};
//! use analects_store::{LockedFile, OsIds, Places};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("talk.msg.md");
//! # std::fs::write(&path, "# %%\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n")?;
//! let mut file = LockedFile::open(&path, &Places::in_folder(&folder))?;
//! file.try_replace(|document| {
//!     let read = CellMessages::of(document, &SessionId::default());
//!     let answer = read.target_named(document, "2")?;
//!     let changes = verbs::drop(&read.messages, answer)?;
//!     Ok::<_, Box<dyn std::error::Error>>(msgfile::apply(document, &read, &changes, &mut OsIds)?)
//! })?;
//! assert!(std::fs::read_to_string(&path)?.contains("[^2]: [coder] history=\"none\""));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Limitations
//!
//! - What is promised holds for local file systems that sync honestly. On network file systems and
//!   in synchronised folders, only one machine may write at a time.
//! - The lock holds among processes that share a state folder. Two users, or two containers, may answer
//!   the same question at once; their changes take turns by locks on the file itself, and none is lost.
//! - Whether another program has a file open for writing is known on Linux, to the owner of the file and
//!   on file systems with leases: see `analects-lease`. Elsewhere, a program that keeps the file open writes
//!   into the old version after a change of ours.
//! - A file with several hard links is refused, since a change would separate them.
//! - While another program reads a file over 1 MB, the file does not change in place, but is replaced.
//! - A program that the system stops between finding a file and counting as one of its writers, for as
//!   long as our swap and its sync take, writes into the old version.
//! - A kill while a session is imported or forked may leave files whose names begin with a dot, and side chains
//!   beside them. Nobody lists or reads these, and the next new session of the project removes them.
//! - Where files without a name are not to be had, a kill may leave a file `.analects-….draft`, which can be
//!   removed. Where there are no hard links either, as on FAT, and no rename that refuses a name that is
//!   taken, a file that somebody else makes in the microseconds before ours is replaced.
//! - The journal works for one machine at a time where the state folder is on a network disk.
//! - What is loaded of a transcript with [`load`] fits into memory; [`Loaded::within`] has a limit. The names of all its
//!   records are held where a link is broken, and for a verb. A line of more than 64 MB is not read.
//! - On systems other than Linux, two files cannot be swapped in one step: an editor that saves in the
//!   microseconds between our last look and the rename loses that save. Extended attributes are kept
//!   on Linux only.

mod answers;
mod error;
mod grants;
mod ids;
mod journal;
mod jsonl;
mod locked_file;
mod mend;
mod message_file;
mod picture;
mod places;
mod redo;
mod replace;
mod sessions;
mod transcript;
pub mod vfs;

pub use answers::AnswerPlace;
pub use error::StoreError;
pub use grants::{FileGrant, FileGrants, FileState};
pub use ids::OsIds;
pub use journal::{
    AllDetails, AnswerEntry, AnswerPiece, AskedCell, Journal, JournalRecord, LostRewind,
    MissingAnswer, RecordKind, RecoveredAnswer, TextHash,
};
pub use jsonl::{JsonlStore, LINE_LIMIT, SyncPolicy};
pub use locked_file::{LockedFile, create_file, read_message_file, real_path};
pub use mend::{Repaired, check_transcript, repair_transcript};
pub use message_file::MessageFile;
pub use picture::{AllowedPictures, Picture, PictureConsent, media_type, read_picture};
pub use places::Places;
pub use redo::cut_off;
pub use sessions::{
    ChainName, Digest, Each, Found, Listed, Loaded, MemoryStore, NewSession, Overview, Reach, Row,
    Session, Tail, TranscriptStore, find, load, message_names, tail,
};
pub use transcript::Transcript;
