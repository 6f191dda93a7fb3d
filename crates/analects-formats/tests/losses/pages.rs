//! Small readers of chat Markdown and of pages for people.

use crate::found::Found;

pub fn chat_markdown(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let raw = found.raw.clone();
    let lines: Vec<&str> = raw.split('\n').collect();
    let is_item = |at: usize| {
        lines[at].starts_with("> ---")
            && lines.get(at + 1).is_some_and(|tag| tag.starts_with("> <"))
    };
    let starts: Vec<usize> = (0..lines.len()).filter(|at| is_item(*at)).collect();
    let first = starts.first().copied().unwrap_or(lines.len());
    add_head(&mut found, &lines[..first]);
    let ends = starts.iter().skip(1).copied().chain([lines.len()]);
    for (start, end) in starts.iter().zip(ends) {
        found.next_message();
        add_item(&mut found, lines[start + 1], &lines[start + 2..end]);
    }
    found
}

/// Reads the frontmatter and the preamble.
fn add_head(found: &mut Found, lines: &[&str]) {
    let mut in_front = false;
    for (at, line) in lines.iter().enumerate() {
        if *line == "---" && (at == 0 || in_front) {
            in_front = at == 0;
            continue;
        }
        let field = line.split_once(": ").filter(|_| in_front);
        match field {
            Some((key, value)) => {
                let value = value.trim_matches('"');
                found.field(key, value);
                if key == "title" {
                    found.text("title", value);
                }
            }
            None => found.text("preamble", *line),
        }
        if in_front {
            found.text("frontmatter", *line);
        }
    }
}

fn add_item(found: &mut Found, tag: &str, lines: &[&str]) {
    let tag = tag.trim_start_matches("> <").trim_end_matches("/>");
    let (name, attributes) = tag.split_once(' ').unwrap_or((tag, ""));
    let place = match name {
        "SYSTEM" => "system",
        "USER" => "user",
        "ASSISTANT" => "assistant",
        "TOOL" => "result",
        "SEPERATOR" => "separator",
        _ => "item",
    };
    add_attributes(found, attributes);
    found.text(place, name);
    let mut text = Vec::new();
    for line in lines {
        match line.strip_prefix("<img ") {
            Some(image) => {
                let source = image.split_once("src=\"").map(|(_, source)| source);
                let source = source.and_then(|source| source.split_once('"'));
                found.text(place, text.join("\n"));
                text.clear();
                found.text("picture", source.map_or("", |(source, _)| source));
                add_attributes(found, image.trim_end_matches("/>"));
            }
            None if line.starts_with("{:") => add_attributes(found, line),
            None => text.push(unescape(line)),
        }
    }
    found.text(place, text.join("\n"));
}

fn unescape(line: &str) -> &str {
    let rest = line.trim_start_matches('\\');
    let is_escaped = rest.starts_with("> ---") || rest.starts_with("<img ");
    match line.strip_prefix('\\') {
        Some(unescaped) if is_escaped => unescaped,
        _ => line,
    }
}

fn add_attributes(found: &mut Found, text: &str) {
    let mut rest = text;
    while let Some((key, after)) = rest.split_once("=\"") {
        let (value, after) = after.split_once('"').unwrap_or((after, ""));
        let value = value
            .replace("&quot;", "\"")
            .replace("&lt;", "<")
            .replace("&gt;", ">")
            .replace("&#10;", "\n")
            .replace("&amp;", "&");
        let key = key.rsplit([' ', '{', ':']).next().unwrap_or(key);
        found.field(key, value);
        rest = after;
    }
}

/// The first words of the headings of a page, and where the text below them belongs.
const HEADINGS: [(&str, &str); 11] = [
    ("System", "system"),
    ("User", "user"),
    ("Assistant", "assistant"),
    ("Tool call", "call"),
    ("Tool result", "result"),
    ("Attachment", "attachment"),
    ("Notification", "notification"),
    ("Summary", "summary"),
    ("Separator", "separator"),
    ("Code output", "attachment"),
    ("Other", "item"),
];

pub fn page(output: &[u8]) -> Found {
    let mut found = Found::of(output);
    let raw = found.raw.clone();
    let mut place = "preamble";
    let mut fence: Option<&str> = None;
    let mut inner: Option<&'static str> = None;
    for line in raw.split('\n') {
        if let Some(open) = fence {
            if line.trim_end() == open {
                fence = None;
                inner = None;
            }
            found.line(inner.unwrap_or(place), line);
            if (place == "item" || inner == Some("block"))
                && let Ok(record) = serde_json::from_str::<serde_json::Value>(line)
            {
                found.values("", &record);
            }
            continue;
        }
        if line.starts_with("```") || line.starts_with("~~~") {
            let mark = line.trim_start_matches(['`', '~']);
            fence = Some(&line[..line.len() - mark.len()]);
            found.line(inner.unwrap_or(place), line);
            continue;
        }
        let heading = line.strip_prefix("## ").and_then(|heading| {
            let known = HEADINGS.iter().find(|(words, _)| {
                let rest = heading.strip_prefix(words);
                rest.is_some_and(|rest| {
                    rest.is_empty() || rest.starts_with(" (") || rest.starts_with(": ")
                })
            });
            known.map(|(_, place)| (*place, heading))
        });
        if let Some((known, heading)) = heading {
            place = known;
            found.next_message();
            found.line(place, heading);
            found.field("heading", heading);
            inner = None;
        } else if line.starts_with("Calls **") {
            inner = Some("call");
            found.line("call", line);
        } else if line.starts_with("Result") && line.ends_with(':') {
            inner = Some("result");
            found.field("heading", line);
        } else if line.starts_with("*Document: ") {
            inner = Some("document");
            found.line("document", line);
        } else if line.starts_with('*') && line.ends_with(":*") {
            inner = Some(if place == "item" { "item" } else { "block" });
            found.line(inner.unwrap_or(place), line);
        } else if line.starts_with("> *Thinking:*") {
            inner = Some("thinking");
            found.line("thinking", line);
        } else if let Some(title) = line.strip_prefix("# ") {
            found.field("title", title);
            found.text("title", title);
            found.text(inner.unwrap_or(place), line);
        } else if let Some((_, address)) = line.split_once("](<") {
            found.text("picture", address.trim_end_matches(">)"));
        } else {
            if !line.starts_with("> ") && !line.is_empty() && inner == Some("thinking") {
                inner = None;
            }
            // What results and documents say is in fences or lists.
            let is_fenced = matches!(inner, Some("result" | "document" | "block"));
            if is_fenced && !line.is_empty() && !line.starts_with("- ") {
                inner = None;
            }
            found.line(inner.unwrap_or(place), line);
        }
    }
    found
}
