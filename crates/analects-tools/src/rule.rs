//! Rules that a person gives in advance: which calls may run without a question, and which may not run at all.

use globset::{GlobBuilder, GlobMatcher};

use crate::{FileTool, FolderPath};

/// A rule such as `write_file`, `write_file(src/**)` or `*`. It fits calls of one tool, or of all tools; with a pattern,
/// only those whose path fits. The path is the one that the call really uses, never what a model made it look like.
///
/// ```
/// use std::path::Path;
/// use analects_tools::{FileTool, FolderPath, Rule};
///
/// let rule: Rule = "write_file(src/**)".parse()?;
/// let root = Path::new("/srv/talk");
/// let inside = FolderPath::parse("./src/../src/a.rs", root);
/// assert!(inside.is_err());
/// let inside = FolderPath::parse("./src/deep/a.rs", root)?;
/// assert!(rule.fits(FileTool::WriteFile, Some(&inside)));
/// assert!(!rule.fits(FileTool::EditFile, Some(&inside)));
/// assert!(!rule.fits(FileTool::WriteFile, Some(&FolderPath::parse("a.rs", root)?)));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug, Clone)]
pub struct Rule {
    /// `None` for all tools.
    tool: Option<FileTool>,
    /// `None` for all paths.
    paths: Option<Paths>,
}

/// A pattern in which only `**` goes through folders.
#[derive(Debug, Clone)]
struct Paths {
    exact: GlobMatcher,
    /// The same for a file system that does not tell `a` from `A`.
    any_case: GlobMatcher,
}

impl Paths {
    fn parse(pattern: &str) -> Result<Paths, String> {
        let matcher = |any_case: bool| {
            let mut glob = GlobBuilder::new(pattern);
            let glob = glob.literal_separator(true).case_insensitive(any_case);
            let glob = glob.build().map_err(|error| error.to_string())?;
            Ok::<_, String>(glob.compile_matcher())
        };
        Ok(Paths {
            exact: matcher(false)?,
            any_case: matcher(true)?,
        })
    }
}

impl Rule {
    /// Whether the rule fits a call. A rule with a pattern never fits a call without a path.
    pub fn fits(&self, tool: FileTool, path: Option<&FolderPath>) -> bool {
        let fits_tool = self.tool.is_none_or(|of| of == tool);
        let fits_path = match (&self.paths, path) {
            (None, _) => true,
            (Some(paths), Some(path)) => paths.exact.is_match(path.as_str()),
            (Some(_), None) => false,
        };
        fits_tool && fits_path
    }

    /// Whether the rule, as one that denies, covers a call. It covers more than it would allow: what is below a folder
    /// that it names, names in other case, and, if `read_file` is denied, every tool that shows what is in files.
    pub fn denies(&self, tool: FileTool, path: Option<&FolderPath>) -> bool {
        let fits_tool = match self.tool {
            None => true,
            Some(FileTool::ReadFile) => tool != FileTool::WriteFile,
            Some(denied) => denied == tool,
        };
        let fits_path = match (&self.paths, path) {
            (None, _) => true,
            (Some(paths), Some(path)) => path.prefixes().any(|it| paths.any_case.is_match(it)),
            (Some(_), None) => false,
        };
        fits_tool && fits_path
    }
}

impl std::str::FromStr for Rule {
    type Err = String;

    fn from_str(text: &str) -> Result<Rule, String> {
        let (name, pattern) = match text.split_once('(') {
            Some((name, rest)) => {
                let pattern = rest.strip_suffix(')');
                let pattern = pattern.ok_or("expected a closing parenthesis at the end")?;
                (name, Some(pattern))
            }
            None => (text, None),
        };
        let tool = match name {
            "*" => None,
            name => Some(FileTool::by_name(name).ok_or_else(|| no_such_tool(name))?),
        };
        let paths = pattern.map(Paths::parse).transpose()?;
        Ok(Rule { tool, paths })
    }
}

/// The words for a name that is no tool's.
pub(crate) fn no_such_tool(name: &str) -> String {
    let names = FileTool::ALL.map(FileTool::name);
    match analects_core::nearest(name, names) {
        Some(near) => format!("there is no tool {name}; did you mean {near}?"),
        None => format!(
            "there is no tool {name}; the tools are {}",
            names.join(", ")
        ),
    }
}
