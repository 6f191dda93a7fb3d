//! Tools that a model may call, run in one folder of this machine.
//!
//! A [`FileTool`] reads, lists, searches, writes or edits files. It touches nothing outside of its [`Workspace`], follows
//! no link, and never changes the conversation itself or what `.git` holds. Whether a call may run at all is the
//! caller's decision: nothing here asks a person.
//!
//! ```
//! use analects_core::Raw;
//! use analects_tools::{FileTool, Folder, Workspace};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("notes.txt"), "Learn, and practise it in time.\n")?;
//! let mut workspace = Workspace::new(Folder::open(folder.path())?);
//!
//! let arguments = Raw::parse(r#"{"path": "notes.txt", "old_text": "Learn", "new_text": "Study"}"#)?;
//! let edited = FileTool::EditFile.call(&mut workspace, &arguments)?;
//! assert_eq!(edited.summary, "1 line changed");
//!
//! let arguments = Raw::parse(r#"{"path": "../secrets.txt"}"#)?;
//! let refused = FileTool::ReadFile.call(&mut workspace, &arguments).unwrap_err();
//! assert_eq!(refused.to_string(), "../secrets.txt: leads out of the folder");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # Types, in reading order
//!
//! 1. A [`FileTool`] has a name, a description for the model, and an [`Access`].
//! 2. A [`Folder`] is opened once; all paths of calls start there and cannot leave it.
//! 3. A [`Workspace`] is a folder together with what the model has seen of its files.
//! 4. A [`Rule`] says in advance which calls may run.
//! 5. A call gives a [`ToolOutput`] or a [`ToolError`]. The text of both is for the model.
//!
//! # Limitations
//!
//! - Only for Unix: elsewhere, paths cannot be opened one name at a time.
//! - Links are never followed, even if they stay in the folder: name the file that a link leads to.
//! - A name that is not UTF-8 cannot be given or listed.
//! - Files over 10 MiB are not read; a search skips them and says how many.
//! - A result has at most 50 KB. The rest of a longer line cannot be read, only searched.
//! - A file that is changed gets a new inode, so other hard links keep the old content.

#![cfg(unix)]

mod arguments;
mod error;
mod file_tool;
mod folder;
mod grep;
mod list_files;
mod output;
mod path;
mod read_file;
mod rule;
mod walk;
mod workspace;
mod write_file;

pub use error::ToolError;
pub use file_tool::{Access, FileTool, ToolOutput};
pub use folder::Folder;
pub use path::FolderPath;
pub use rule::Rule;
pub use workspace::Workspace;
