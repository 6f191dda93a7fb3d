//! Tools that a file defines: code cells that say `tool="name"`.

use std::collections::HashMap;

use crate::msgfile::code::code;
use crate::msgfile::{CellRole, Document, MetaKey};

/// A tool that a file defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tool {
    /// Its name.
    pub name: String,
    /// The name of the first code cell that defines it.
    pub cell: String,
    /// The names of all its code cells, in order; they belong together.
    pub cells: Vec<String>,
    /// The language of the first.
    pub language: Option<String>,
}

/// The tools that a document defines, in the order of their first cells.
///
/// ````
/// use analects_formats::msgfile::{decode, item::tools};
///
/// let document = decode("# %% [^1]\n\n[^1]: [code] tool=\"double\"\n\n```python\ndef double(x): return 2 * x\n```\n");
/// let found = tools(&document);
/// assert_eq!((found[0].name.as_str(), found[0].cell.as_str()), ("double", "1"));
/// assert_eq!(found[0].language.as_deref(), Some("python"));
/// ````
pub fn tools(document: &Document) -> Vec<Tool> {
    let mut tools: Vec<Tool> = Vec::new();
    let mut by_name: HashMap<String, usize> = HashMap::new();
    for cell in document.cells().filter(|cell| cell.role() == CellRole::Code) {
        let Some(name) = cell.get(MetaKey::Tool).filter(|name| !name.is_empty()) else {
            continue;
        };
        let cell_name = cell.name().into_owned();
        if let Some(at) = by_name.get(name) {
            tools[*at].cells.push(cell_name);
            continue;
        }
        by_name.insert(name.to_string(), tools.len());
        let content = cell.content();
        let language = code(&content).ok().and_then(|code| code.language.map(str::to_string));
        let cells = vec![cell_name.clone()];
        tools.push(Tool { name: name.to_string(), cell: cell_name, cells, language });
    }
    tools
}
