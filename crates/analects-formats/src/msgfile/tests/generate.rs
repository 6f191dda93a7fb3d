//! Arbitrary files and texts, made of the pieces that matter to this format.

use proptest::collection::vec;
use proptest::sample::select;

use super::*;

const PIECES: [&str; 47] = [
    "\n```\n",
    "\n```python\n# %%\nx = 1\n",
    "\n~~~~\n",
    "\n   ```\n",
    "\n- ```\n",
    "\n  ```\n",
    "\n1. ~~~ x\n",
    "\n````\n",
    "\n# Discussion\n",
    "---\nmessage_section: Discussion\n---\n",
    "\n# %% [^1]\n\n[^1]: [x] stored=\"lines=3\"\n\n",
    "# %%",
    "# %%%",
    "## %% title",
    "##### %%%",
    "###### %%",
    "#%%",
    "# %%%%",
    "\\# %%",
    "\\\\# %%%",
    "[^1]",
    "[^2]",
    "[^1.k3]",
    "[^1]:",
    "[^2]: [markdown]",
    "[^1]: [coder] time=\"x\"",
    " key=\"v\"",
    " stored=\"lines=2\"",
    "---",
    "```",
    "~~~",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\u{feff}",
    "\0",
    "\u{2028}",
    "text",
    "é",
    "%%",
    "#",
    "\\",
    "\n\n[^1]: [markdown] history=none\n\n",
];

/// Text that is likely to look like parts of a message file.
pub fn text() -> BoxedStrategy<String> {
    text_of(&PIECES)
}

/// Text of these pieces, or any other.
pub fn text_of(pieces: &'static [&'static str]) -> BoxedStrategy<String> {
    prop_oneof![
        4 => vec(select(pieces.to_vec()), 0..12).prop_map(|pieces| pieces.concat()),
        1 => any::<String>(),
    ]
    .boxed()
}

/// Any bytes at all, often such that look like a message file.
pub fn file() -> BoxedStrategy<Vec<u8>> {
    file_of(text)
}

/// Bytes that are texts like these, broken or whole, or anything else.
pub fn file_of(text: fn() -> BoxedStrategy<String>) -> BoxedStrategy<Vec<u8>> {
    let broken = (text(), vec(any::<u8>(), 0..4), text())
        .prop_map(|(left, bytes, right)| [left.as_bytes(), &bytes, right.as_bytes()].concat());
    prop_oneof![
        4 => vec(text(), 0..4).prop_map(|texts| texts.join("\n").into_bytes()),
        1 => broken,
        1 => vec(any::<u8>(), 0..64),
    ]
    .boxed()
}

/// A new cell with any text in every place where text can be.
pub fn new_cell(id: String) -> BoxedStrategy<NewCell> {
    let kind = prop_oneof![Just(CellKind::Message), Just(CellKind::Output)];
    let word = select(vec!["markdown", "coder", "gpt-5", "a]b=c\n"]);
    (kind, 1..=5_usize, text(), word, text(), text())
        .prop_map(move |(kind, level, title, word, value, content)| NewCell {
            kind,
            level: Some(level),
            title,
            id: id.clone(),
            type_word: word.to_string(),
            attributes: vec![("note".to_string(), value)],
            content,
        })
        .boxed()
}
