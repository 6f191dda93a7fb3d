//! Arbitrary files and texts, made of the pieces that matter to this format.

use proptest::collection::vec;
use proptest::sample::select;

use super::*;
use crate::msgfile::tests::generate::{file_of, text_of};

const PIECES: [&str; 66] = [
    "> ---\n> <USER />\n\n",
    "\n> ---\n>\n> <ASSISTANT author=\"m\" timestamp=\"2025-05-07 14:01:32\"/>\n\n",
    "\n> ---\n> <SEPERATOR />\n",
    "\n> ---\r\n> <tool tool_call_id='t' name=\"n\" >\r\n\r\n",
    "\n> ---\n> <NOTE a=\"b\">\n",
    "\n> ---\n> <USER stored=\"lines=2\" />\n\n",
    "\n> ---\n> <USER stored=\"closed\" />\n\n",
    "\n> ---\n> <USER stored=\"apart\" />\n\n",
    "\n> ---\n> <USER stored=\"lines=3 closed apart\" />\n\n",
    "\n> ---\n> <USER a=\"b\" x/>\n\n",
    "\n> ---\n> <USER a=\"b\" stored=\"lines=2\" x !/>\n\n",
    "\n> ---\n> <USER author=\"open />\n\n",
    "\n> ---\n> <USER ?? x='y\" stored=closed>\n\n",
    "> ---",
    "> -------  ",
    ">---",
    ">  ---",
    "> --",
    "\\> ---\n> <USER />\n",
    "\\\\> ---\n>\n> <USER />\n",
    "> <USER />",
    "> <USER author=\"a\"b\" />",
    "> <USER author=\"a",
    "> <b>bold</b>",
    "<SYSTEM />",
    ">",
    "> ",
    ">\n",
    "\n```\n",
    "\n```js\n",
    "\n~~~~\n",
    "\n   ```\n",
    "\n- ```\n",
    "\n  ```\n",
    "\n1. ~~~ x\n",
    "\n````\n",
    "```",
    "~~~",
    "\n{: id=\"20250507140132-abc\" updated=\"x\" }\n",
    "{: a='b'}",
    "> {: a=\"b\" }\n",
    "\n<div style=\"display: flex; flex-direction: column; gap: 10px;\">\n",
    "\n<img style=\"max-width: 100%; display: inline-block;\" src=\"data:image/png;base64,AAAA\" />\n",
    "\n</div>\n",
    "<img src=\"a.png\">",
    "\n<img src='https://x/y?a=1&amp;b=2' alt=\"x\" />\n",
    "\\<img src=\"a.png\">",
    "<IMG SRC=\"a\">",
    "---\nchat: x\n---\n",
    "---\n",
    "chat:\n",
    "&quot;",
    "&amp;#10;",
    "\"",
    "'",
    "=",
    "\n",
    "\n",
    "\n\n",
    "\r\n",
    "\r",
    "\t",
    " ",
    "\u{feff}",
    "\0",
    "text é 论语",
];

/// Text that is likely to look like parts of chat Markdown.
pub fn text() -> BoxedStrategy<String> {
    text_of(&PIECES)
}

/// Any bytes at all, often such that look like chat Markdown.
pub fn file() -> BoxedStrategy<Vec<u8>> {
    file_of(text)
}

/// An item with any text in every place where text can be.
pub fn new_item() -> BoxedStrategy<NewChatItem> {
    let name = select(vec!["USER", "assistant", "TOOL", "SEPERATOR", "Note"]);
    let key = select(vec!["author", "timestamp", "x-y", "_a.b", ":c"]);
    let attributes = vec((key, text()), 0..3);
    let note = vec((select(vec!["id", "custom-b"]), text()), 0..2);
    (name, attributes, note, text())
        .prop_map(|(name, attributes, note, text)| {
            let own = |list: Vec<(&str, String)>| {
                list.into_iter()
                    .map(|(key, value)| (key.to_string(), value))
                    .collect()
            };
            NewChatItem {
                attributes: own(attributes),
                note_attributes: own(note),
                ..NewChatItem::new(name, text)
            }
        })
        .boxed()
}
