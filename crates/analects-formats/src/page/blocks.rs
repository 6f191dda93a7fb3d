//! Blocks that only some APIs have, in words: tools that a provider runs, audio, files, documents, citations. What is not
//! known at all is shown as JSON, so that nothing stays out of sight.

use analects_core::{Document, Raw, RawMap, Source, TextBlock};

use super::{code_block, one_line, text_block};

/// How much JSON of an unknown block is shown. Longer JSON is data that nobody reads.
const MOST_JSON: usize = 4_000;

/// A block on a page.
pub(super) struct ShownBlock {
    /// What is shown of it, as Markdown.
    pub markdown: String,
    /// What is not shown of it; `None` if nothing is missing.
    pub missing: Option<String>,
}

impl ShownBlock {
    /// A block of which everything is shown.
    fn whole(markdown: String) -> ShownBlock {
        ShownBlock {
            markdown,
            missing: None,
        }
    }

    /// A block of which only these words are shown.
    fn part(markdown: String, kind: &str) -> ShownBlock {
        ShownBlock {
            markdown,
            missing: Some(kind.to_string()),
        }
    }
}

/// Shows a block of a type that the model does not have.
pub(super) fn other(raw: &Raw) -> ShownBlock {
    let fields = raw.as_object().unwrap_or_default();
    let kind = fields.string("type").unwrap_or_default();
    let word = |key: &str| one_line(&fields.string(key).unwrap_or_default());
    match kind.as_str() {
        "server_tool_use" | "mcp_tool_use" => {
            let input = fields.get("input").map_or("", Raw::as_str);
            let call = format!("Calls **{}**, which the provider runs:", word("name"));
            ShownBlock::whole(format!("{call}\n\n{}", code_block(input, "json")))
        }
        kind if kind.ends_with("_tool_result") => server_result(kind, &fields),
        "audio" | "input_audio" => audio(&kind, &fields),
        "file" => {
            let file = object(&fields, "file");
            let name = file.string("filename").or(file.string("file_id"));
            let name = one_line(&name.unwrap_or_default());
            ShownBlock::part(format!("*File: {name}*\n"), "block file")
        }
        kind => unknown(kind, raw),
    }
}

/// Shows JSON of any kind.
pub(super) fn unknown(kind: &str, raw: &Raw) -> ShownBlock {
    let kind = one_line(kind);
    let name = if kind.is_empty() { "block" } else { &kind };
    if raw.as_str().len() > MOST_JSON {
        return ShownBlock::part(format!("*({name})*\n"), &format!("block {kind}"));
    }
    let json = code_block(raw.as_str(), "json");
    ShownBlock::whole(format!("*{name}:*\n\n{json}"))
}

/// Shows the result of a tool that the provider runs. What it found is often encrypted; titles and addresses are not.
fn server_result(kind: &str, fields: &RawMap) -> ShownBlock {
    let content = fields.get("content").cloned();
    let content = content.unwrap_or_else(Raw::empty_object);
    let Some(found) = content.as_array() else {
        let shown = unknown("Result", &content);
        let missing = shown.missing.map(|_| format!("block {kind}"));
        return ShownBlock { missing, ..shown };
    };
    let mut markdown = "Result:\n\n".to_string();
    let mut is_whole = true;
    for one in &found {
        let one = one.as_object().unwrap_or_default();
        if let Some(text) = one.string("text") {
            markdown.push_str(&code_block(&text, ""));
            continue;
        }
        is_whole = false;
        let kind = one.string("type").unwrap_or_default();
        let line = link(&one).unwrap_or_else(|| format!("({})", one_line(&kind)));
        markdown.push_str(&format!("- {line}\n"));
    }
    if is_whole {
        ShownBlock::whole(markdown)
    } else {
        ShownBlock::part(markdown, &format!("block {kind}"))
    }
}

/// Shows audio by its format and its transcript.
fn audio(kind: &str, fields: &RawMap) -> ShownBlock {
    let audio = object(fields, kind);
    let mut markdown = match audio.string("format") {
        Some(format) => format!("*Audio ({})*\n", one_line(&format)),
        None => "*Audio*\n".to_string(),
    };
    if let Some(transcript) = audio.string("transcript") {
        markdown.push('\n');
        markdown.push_str(&text_block(&transcript));
    }
    ShownBlock::part(markdown, &format!("block {kind}"))
}

/// Shows a document: its text if it is text, else its title and its type.
pub(super) fn document(document: &Document) -> ShownBlock {
    let Document { source, extra } = document;
    let source_fields = source.as_object().unwrap_or_default();
    let title = extra.string("title").or(extra.string("filename"));
    let media_type = source_fields.string("media_type");
    let name = match (title, media_type) {
        (Some(title), _) => one_line(&title),
        (None, Some(media_type)) => one_line(&media_type),
        (None, None) => String::new(),
    };
    let head = format!("*Document: {name}*\n");
    match source_fields.string("type").as_deref() {
        Some("text") => {
            let text = source_fields.string("data").unwrap_or_default();
            ShownBlock::whole(format!("{head}\n{}", code_block(&text, "")))
        }
        _ => match Source::of(source) {
            Some(Source::Url(address) | Source::File(address)) if is_safe(&address) => {
                ShownBlock::whole(format!("*Document:* [{name}](<{address}>)\n"))
            }
            _ => ShownBlock::part(head, "document"),
        },
    }
}

/// Shows where a text took its words from; empty if it does not say.
pub(super) fn sources(text: &TextBlock) -> String {
    let citations = text.extra.get("citations").and_then(Raw::as_array);
    let mut lines: Vec<String> = Vec::new();
    for citation in citations.unwrap_or_default() {
        let citation = citation.as_object().unwrap_or_default();
        let line = link(&citation);
        // A text cites the same place many times.
        if let Some(line) = line.filter(|line| !lines.contains(line)) {
            lines.push(line);
        }
    }
    if lines.is_empty() {
        return String::new();
    }
    format!("*Sources:* {}\n", lines.join(", "))
}

/// Returns the title and the address of something as a link; `None` if it has neither.
fn link(fields: &RawMap) -> Option<String> {
    let title = fields
        .string("title")
        .or(fields.string("document_title"))
        .or(fields.string("source"));
    let title = title.map(|title| one_line(&title).replace(['[', ']'], ""));
    let address = fields.string("url").filter(|address| is_safe(address));
    match (title, address) {
        (Some(title), Some(address)) => Some(format!("[{title}](<{address}>)")),
        (None, Some(address)) => Some(format!("<{address}>")),
        (Some(title), None) => Some(title),
        (None, None) => None,
    }
}

/// Returns whether an address cannot break out of a link.
pub(super) fn is_safe(address: &str) -> bool {
    !address.contains(['<', '>']) && !address.contains(char::is_control)
}

/// Returns an object in a field; empty if there is none.
fn object(fields: &RawMap, key: &str) -> RawMap {
    let object = fields.get(key).and_then(Raw::as_object);
    object.unwrap_or_default()
}
