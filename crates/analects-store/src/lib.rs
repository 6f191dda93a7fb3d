//! Conversations on disk. No other crate touches a person's files.
//!
//! # Types, in reading order
//!
//! 1. [`MessageFile`] is a message file for programs: load it, change items and agents in memory, save it in one step.
//! 2. [`LockedFile`] is a message file that only this process may write to. It adds cells and puts answers below their
//!    questions. Its [`Journal`] keeps answers while they arrive ([`AnswerEntry`]), and what the file itself cannot
//!    hold.
//! 3. [`TranscriptStore`] holds sessions, record by record: [`JsonlStore`] on disk, in the [`StoreFolders`] that you
//!    pass, and [`MemoryStore`] in memory. A [`Session`] is open for appending. [`load`] returns the messages that the
//!    model sees, [`tail`] the last ones, and [`find`] resolves a name to a session. A [`NewSession`] becomes visible
//!    as a whole. [`Transcript`] is a single session with a minimal interface.
//! 4. [`check_transcript`] and [`repair_transcript`] find and repair damage in a transcript.
//! 5. [`FileGrants`] records the files that a person shared with a model. A [`FileGrant`] is the right to read one, and
//!    a [`FileState`] describes it at a moment.
//! 6. [`OsIds`] creates identifiers; [`StoreError`] is the error of this crate.
//! 7. [`vfs::Vfs`] is the interface to the disk. All reads and writes go through it.
//!
//! A write returns only after it would survive a power cut. A message file is replaced: the new version is written
//! beside it, synced, and swapped in. A file over 1 MB changes at its end in place instead, with a record in the state
//! folder that completes an interrupted write. A transcript grows by one write and one sync. A lock in the state folder
//! keeps a second writer out. While another program has a message file open for writing, a change waits for it, and
//! fails after a while; a save by an editor at the same moment is detected and kept.
//!
//! # Reading a session
//!
//! [`tail`] returns the last messages of a session, and [`load`] those that the model sees:
//!
//! ```
//! use analects_store::{JsonlStore, SessionMatch, StoreFolders, find, load};
//!
//! # let folder = tempfile::tempdir()?;
//! # let name = analects_store::ChainName::new("notes", "talk");
//! # let messages = [analects_core::Message::user("1", "Hello"), analects_core::Message::assistant("2", "Hi")];
//! # let earlier = JsonlStore::new(&StoreFolders::in_folder(&folder));
//! # analects_store::Session::open(&earlier, name)?.append(messages.into(), &mut analects_store::OsIds, jiff::Timestamp::now())?;
//! let store = JsonlStore::new(&StoreFolders::in_folder(&folder));
//! // Without a name, `find` returns the session that changed last.
//! let SessionMatch::One(name) = find(&store, None, None)? else {
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
//! In a session, a verb of [`analects_core::verbs`] appends records and removes none:
//!
//! ```
//! use analects_core::{Message, verbs, verbs::Target};
//! use analects_store::{ChainName, MemoryStore, OsIds, Session};
//! use jiff::Timestamp;
//!
//! let store = MemoryStore::default();
//! let mut session = Session::open(&store, ChainName::new("notes", "talk"))?;
//! let messages = vec![Message::user("1", "Hello"), Message::assistant("2", "Hi"), Message::user("3", "Bye")];
//! session.append(messages, &mut OsIds, Timestamp::now())?;
//! let greeting = Target::message("1");
//! session.apply(|messages| verbs::edit(messages, &greeting, "Ahoy"), &mut OsIds, Timestamp::now())?;
//! session.apply(|messages| verbs::rewind(messages, Some("2")), &mut OsIds, Timestamp::now())?;
//! let texts: Vec<String> = session.load()?.messages.iter().map(Message::text).collect();
//! assert_eq!(texts, ["Ahoy", "Hi"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! In a message file, a verb changes only the bytes that it must:
//!
//! ```
//! use analects_core::{SessionId, verbs};
//! use analects_formats::msgfile::{self, CellMessages};
//! use analects_store::{LockedFile, OsIds, StoreFolders};
//!
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("talk.msg.md");
//! # std::fs::write(&path, "# %%\n\none\n\n# %%% [^2]\n\n[^2]: [coder]\n\ntwo\n")?;
//! let mut file = LockedFile::open(&path, &StoreFolders::in_folder(&folder))?;
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
//! - The guarantees hold on local file systems that sync honestly. On a network file system or in a synchronised
//!   folder, only one machine may write at a time.
//! - The lock works between processes that share a state folder. Two users or two containers may answer the same
//!   question at once; locks on the file itself then serialise their changes, and none is lost.
//! - Writers in other programs are detected on Linux, by the owner of the file, on file systems with leases: see
//!   `analects-lease`. Elsewhere, a program that keeps the file open writes into the old version after we replace it.
//! - A file with several hard links is refused, because replacing it would separate them.
//! - While another program reads a file over 1 MB, the file is replaced and not changed in place.
//! - A program that is suspended between looking up a file and becoming one of its writers, for as long as our swap and
//!   its sync take, writes into the old version.
//! - A kill while a session is imported or forked may leave hidden files, whose names begin with a dot, and side chains
//!   beside them. They are never listed or read, and the next new session of the project removes them.
//! - Where the system has no unnamed files, a kill may leave a file `.analects-….draft`, which you can delete. Where it
//!   has neither hard links, as on FAT, nor a rename that fails if the target exists, a new file may replace one that
//!   another program creates within the same microseconds.
//! - If the state folder is on a network disk, only one machine at a time may use the journal.
//! - [`load`] holds the loaded messages in memory; [`LoadedChain::load_end`] limits them. A transcript with a broken
//!   link, and every verb, needs the ids of all records in memory. Lines over 64 MB are not read.
//! - On systems other than Linux, two files cannot be swapped in one step: a save by an editor in the microseconds
//!   between our last check and the rename is lost. Extended attributes are kept on Linux only.

mod answers;
mod error;
mod folders;
mod grants;
mod ids;
mod journal;
mod jsonl;
mod locked_file;
mod message_file;
mod output_files;
mod picture;
mod redo;
mod repair;
mod replace;
mod sessions;
mod transcript;
pub mod vfs;

pub use answers::AnswerDestination;
pub use error::StoreError;
pub use folders::StoreFolders;
pub use grants::{FileGrant, FileGrants, FileState, content_hash};
pub use ids::OsIds;
pub use journal::{
    AllJournalMessages, AnswerDelta, AnswerEntry, Journal, JournalRecord, LostRewind,
    MissingAnswer, QuestionCell, RecordKind, RecoveredAnswer, TextHash,
};
pub use jsonl::{JsonlStore, LINE_LIMIT, SyncPolicy};
pub use locked_file::{LockedFile, create_file, read_message_file, real_path, replace_file};
pub use message_file::MessageFile;
pub use output_files::{
    attach_outputs, outputs_to_allow, unreadable_outputs, with_sendable_outputs,
};
pub use picture::{
    AllowedPictures, Picture, PictureConsent, media_type, read_picture, unreadable_pictures,
};
pub use redo::find_interrupted_change;
pub use repair::{LineChange, RepairReport, check_transcript, repair_file, repair_transcript};
pub use sessions::{
    ChainName, ChainRow, ListedSession, LoadLimit, LoadedChain, MemoryStore, NewSession, Overview,
    RowVisitor, Session, SessionMatch, SessionSummary, Tail, TranscriptStore, find, load, tail,
    visit_links,
};
pub use transcript::Transcript;
