//! The tools that every conversation can use: their names, what the model is told of them, and how they are called.

use analects_core::{Raw, ToolSpec};

use crate::arguments::{Arguments, Parameter, schema};
use crate::rule::no_such_tool;
use crate::{FolderPath, ToolError, Workspace, grep, list_files, read_file, write_file};

/// A tool that works on the files of a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileTool {
    /// Reads a part of a text file.
    ReadFile,
    /// Lists files by a pattern.
    ListFiles,
    /// Searches files for a regular expression.
    Grep,
    /// Creates a file or replaces it.
    WriteFile,
    /// Replaces one piece of text in a file.
    EditFile,
}

/// What a tool does to files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Access {
    /// It only reads, so several calls may run at once.
    Reads,
    /// It changes files, so it runs alone.
    Writes,
}

impl Access {
    /// The name of the access: `read` or `write`.
    pub fn as_str(self) -> &'static str {
        match self {
            Access::Reads => "read",
            Access::Writes => "write",
        }
    }
}

/// What a call gives back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ToolOutput {
    /// The text for the model.
    pub text: String,
    /// What happened, in a few words for a person, such as `3 lines`.
    pub summary: String,
}

impl FileTool {
    /// All of them, those that only read first.
    pub const ALL: [FileTool; 5] = [
        FileTool::ReadFile,
        FileTool::ListFiles,
        FileTool::Grep,
        FileTool::WriteFile,
        FileTool::EditFile,
    ];

    /// The tool of this name.
    ///
    /// ```
    /// use analects_tools::FileTool;
    ///
    /// assert_eq!(FileTool::by_name("grep"), Some(FileTool::Grep));
    /// assert_eq!(FileTool::by_name("rm"), None);
    /// ```
    pub fn by_name(name: &str) -> Option<FileTool> {
        FileTool::ALL.into_iter().find(|tool| tool.name() == name)
    }

    /// The name by which a model calls it.
    pub fn name(self) -> &'static str {
        match self {
            FileTool::ReadFile => "read_file",
            FileTool::ListFiles => "list_files",
            FileTool::Grep => "grep",
            FileTool::WriteFile => "write_file",
            FileTool::EditFile => "edit_file",
        }
    }

    /// What it does, for the model and for people.
    pub fn description(self) -> &'static str {
        match self {
            FileTool::ReadFile => read_file::DESCRIPTION,
            FileTool::ListFiles => list_files::DESCRIPTION,
            FileTool::Grep => grep::DESCRIPTION,
            FileTool::WriteFile => write_file::WRITE_DESCRIPTION,
            FileTool::EditFile => write_file::EDIT_DESCRIPTION,
        }
    }

    /// What it does to files.
    pub fn access(self) -> Access {
        match self {
            FileTool::ReadFile | FileTool::ListFiles | FileTool::Grep => Access::Reads,
            FileTool::WriteFile | FileTool::EditFile => Access::Writes,
        }
    }

    /// The words for a name that no tool has.
    pub fn unknown(name: &str) -> String {
        no_such_tool(name)
    }

    /// The file that a call changes or reads; `None` if it names none, or none in this folder.
    pub fn path_of(self, workspace: &Workspace, arguments: &Raw) -> Option<FolderPath> {
        let path = arguments.as_object()?.string("path")?;
        workspace.path(&path).ok()
    }

    /// The tool as a request offers it to a model.
    pub fn spec(self) -> ToolSpec {
        ToolSpec {
            name: self.name().to_string(),
            description: self.description().to_string(),
            input_schema: schema(self.parameters()),
        }
    }

    /// Fails if a call cannot run whatever the files are: its arguments are wrong, its path leads out of the folder, it
    /// would change a file that no tool changes, or the person does not allow it.
    pub fn check(self, workspace: &Workspace, arguments: &Raw) -> Result<(), ToolError> {
        let arguments = Arguments::parse(arguments, self.parameters())?;
        let path = arguments.text("path");
        let path = path.map(|path| workspace.path(&path)).transpose()?;
        if workspace.is_denied(self, path.as_ref()) {
            return Err(ToolError::Denied);
        }
        match path {
            Some(path) if self.access() == Access::Writes => {
                workspace.folder.check_protected(&path)
            }
            _ => Ok(()),
        }
    }

    /// Runs a call.
    pub fn call(self, workspace: &mut Workspace, arguments: &Raw) -> Result<ToolOutput, ToolError> {
        self.check(workspace, arguments)?;
        let arguments = Arguments::parse(arguments, self.parameters())?;
        match self {
            FileTool::ReadFile => read_file::call(workspace, &arguments),
            FileTool::ListFiles => list_files::call(workspace, &arguments),
            FileTool::Grep => grep::call(workspace, &arguments),
            FileTool::WriteFile => write_file::write(workspace, &arguments),
            FileTool::EditFile => write_file::edit(workspace, &arguments),
        }
    }

    fn parameters(self) -> &'static [Parameter] {
        match self {
            FileTool::ReadFile => read_file::PARAMETERS,
            FileTool::ListFiles => list_files::PARAMETERS,
            FileTool::Grep => grep::PARAMETERS,
            FileTool::WriteFile => write_file::WRITE_PARAMETERS,
            FileTool::EditFile => write_file::EDIT_PARAMETERS,
        }
    }
}
