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
    paths: Option<GlobMatcher>,
}

impl Rule {
    /// Whether the rule fits a call. A rule with a pattern never fits a call without a path.
    pub fn fits(&self, tool: FileTool, path: Option<&FolderPath>) -> bool {
        let fits_tool = self.tool.is_none_or(|of| of == tool);
        let fits_path = match (&self.paths, path) {
            (None, _) => true,
            (Some(paths), Some(path)) => paths.is_match(path.as_str()),
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
        let paths = pattern.map(glob).transpose()?;
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

/// A pattern in which only `**` goes through folders.
fn glob(pattern: &str) -> Result<GlobMatcher, String> {
    let glob = GlobBuilder::new(pattern).literal_separator(true).build();
    Ok(glob.map_err(|error| error.to_string())?.compile_matcher())
}
