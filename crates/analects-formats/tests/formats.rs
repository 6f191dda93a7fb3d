//! The page of formats lists all formats, and what is lost between them. `ANALECTS_BLESS=1` rewrites its tables. Read the
//! difference before you commit it.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::{Path, PathBuf};

use analects_formats::convert::{Conversion, FORMATS, Format, ReadOptions, WriteOptions, detect};

/// A file of each format that uses most of what it has.
const SAMPLES: [(&str, &str, &str); 7] = [
    (
        "msgfile",
        "talk.msg.md",
        "---\nid: s1\ntitle: Weather\nagents:\n  coder: { models: [gpt-5] }\n---\n\nNotes.\n\n\
         # %% A question[^1]\n\n[^1]: [markdown] time=\"2026-11-15T20:00:00Z\"\n\nWhat is it like?\n\n\
         # %%% [^2]\n\n[^2]: [coder] reasoning=1 time=\"2026-11-15T20:00:01Z\" model=\"gpt-5\" \
         input_tokens=12 output_tokens=3 cost=0.01 duration=0.8s\n\nLet me see.\n\n\
         # %%% [^3]\n\n[^3]: [coder] part=\"2\"\n\nI look.\n\n\
         # %% [^4]\n\n[^4]: [code]\n\n```python\nprint(1)\n```\n\n\
         # %%% [^5]\n\n[^5]: [summary] from=\"1\" to=\"2\"\n\nIt was about the weather.\n",
    ),
    (
        "chatmd",
        "talk.md",
        "---\nchat: s1\ntitle: Weather\ntags: [a, b]\n---\n\nNotes.\n\n> ---\n> <SYSTEM />\n\nBe brief.\n\n\
         > ---\n> <USER author=\"me\" timestamp=\"2025-05-07T14:01:32Z\" mood=\"good\" />\n\nLook:\n\n\
         <img src=\"a.png\">\n\n> ---\n> <ASSISTANT author=\"m\" prompt=\"12\" completion=\"3\" />\n\nNice.\n\n\
         > ---\n> <TOOL tool_call_id=\"t1\" />\n\nRain\n\n> ---\n> <SEPERATOR />\n",
    ),
    (
        "transcript",
        "talk.jsonl",
        "{\"v\":1,\"type\":\"user\",\"id\":\"m1\",\"session_id\":\"s1\",\"created_at\":\"2026-11-15T18:17:00Z\",\
         \"content\":\"Hello\",\"extra\":{\"cwd\":\"/work\"}}\n\
         {\"v\":1,\"type\":\"assistant\",\"id\":\"m2\",\"parent_id\":\"m1\",\"session_id\":\"s1\",\"content\":[\
         {\"type\":\"thinking\",\"thinking\":\"Hm\",\"signature\":\"x\"},{\"type\":\"text\",\"text\":\"Hi\"},\
         {\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{}}],\"stop_reason\":\"tool_use\",\
         \"model\":\"m\",\"usage\":{\"input_tokens\":1}}\n\
         {\"v\":1,\"type\":\"user\",\"id\":\"m3\",\"parent_id\":\"m2\",\"session_id\":\"s1\",\"content\":[\
         {\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"Rain\",\"is_error\":false}]}\n\
         {\"v\":1,\"type\":\"user\",\"id\":\"m4\",\"parent_id\":\"m1\",\"session_id\":\"s1\",\"content\":\"A branch\"}\n",
    ),
    (
        "claude-code",
        "talk.jsonl",
        "{\"parentUuid\":null,\"sessionId\":\"s1\",\"type\":\"user\",\"uuid\":\"m1\",\"cwd\":\"/work\",\
         \"timestamp\":\"2026-11-15T18:17:00.000Z\",\"message\":{\"role\":\"user\",\"content\":\"Hello\"}}\n\
         {\"parentUuid\":\"m1\",\"sessionId\":\"s1\",\"type\":\"assistant\",\"uuid\":\"m2\",\"message\":{\
         \"id\":\"msg_1\",\"role\":\"assistant\",\"model\":\"m\",\"content\":[{\"type\":\"tool_use\",\"id\":\"t1\",\
         \"name\":\"f\",\"input\":{}}],\"usage\":{\"input_tokens\":1,\"output_tokens\":2}}}\n\
         {\"parentUuid\":\"m2\",\"sessionId\":\"s1\",\"type\":\"user\",\"uuid\":\"m3\",\"message\":{\"role\":\"user\",\
         \"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"Rain\"}]}}\n\
         {\"type\":\"custom-title\",\"customTitle\":\"Weather\",\"sessionId\":\"s1\"}\n",
    ),
    (
        "chat-session",
        "talk.json",
        "{\"id\":\"s1\",\"title\":\"Weather\",\"sysPrompt\":\"Be brief.\",\"tags\":[\"a\"],\"items\":[\
         {\"type\":\"message\",\"id\":\"m1\",\"author\":\"me\",\"timestamp\":1746626492000,\"token\":3,\
         \"message\":{\"role\":\"user\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"},\
         {\"type\":\"image_url\",\"image_url\":{\"url\":\"https://x/y.png\"}}]}},\
         {\"type\":\"seperator\",\"id\":\"m2\"},\
         {\"type\":\"message\",\"id\":\"m3\",\"hidden\":true,\"usage\":{\"prompt_tokens\":1},\
         \"message\":{\"role\":\"assistant\",\"content\":\"Nice.\"}}]}",
    ),
    (
        "anthropic",
        "talk.json",
        "{\"model\":\"claude\",\"system\":\"Be brief.\",\"max_tokens\":9,\"messages\":[\
         {\"role\":\"user\",\"content\":\"Hello\"},\
         {\"role\":\"assistant\",\"content\":[{\"type\":\"thinking\",\"thinking\":\"Hm\",\"signature\":\"x\"},\
         {\"type\":\"text\",\"text\":\"Hi\"},{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"f\",\"input\":{}}]},\
         {\"role\":\"user\",\"content\":[{\"type\":\"tool_result\",\"tool_use_id\":\"t1\",\"content\":\"Rain\"},\
         {\"type\":\"image\",\"source\":{\"type\":\"base64\",\"media_type\":\"image/png\",\"data\":\"AAAA\"}}]}]}",
    ),
    (
        "openai",
        "talk.json",
        "{\"model\":\"m\",\"tools\":[],\"messages\":[{\"role\":\"system\",\"content\":\"Be brief.\"},\
         {\"role\":\"user\",\"name\":\"me\",\"content\":[{\"type\":\"text\",\"text\":\"Look\"},\
         {\"type\":\"image_url\",\"image_url\":{\"url\":\"data:image/png;base64,AAAA\"}}]},\
         {\"role\":\"assistant\",\"content\":\"I look.\",\"tool_calls\":[{\"id\":\"t1\",\"type\":\"function\",\
         \"function\":{\"name\":\"f\",\"arguments\":\"{}\"}}],\"refusal\":null},\
         {\"role\":\"tool\",\"tool_call_id\":\"t1\",\"content\":\"Rain\"}]}",
    ),
];

fn page() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/reference/formats.md")
}

fn can(format: &dyn Format) -> (bool, bool) {
    let reads = format.reader(&ReadOptions::named("x")).is_some();
    (reads, format.writer(&WriteOptions::default()).is_some())
}

fn list() -> String {
    let mut text = "| format | what | read | write |\n|---|---|---|---|\n".to_string();
    for format in FORMATS {
        let word = |can: bool| if can { "yes" } else { "—" };
        let (reads, writes) = can(*format);
        let (reads, writes) = (word(reads), word(writes));
        text.push_str(&format!(
            "| `{}` | {} | {reads} | {writes} |\n",
            format.id(),
            format.about()
        ));
    }
    text
}

/// What a format cannot say of a sample, each thing once.
fn lost(from: &dyn Format, to: &dyn Format, name: &str, text: &str) -> Vec<String> {
    let read = ReadOptions {
        full: true,
        ..ReadOptions::named(name)
    };
    let (reader, writer) = (from.reader(&read), to.writer(&WriteOptions::default()));
    let mut conversion = Conversion::new(reader.unwrap(), writer.unwrap());
    conversion.feed(text.as_bytes());
    conversion.finish();
    assert!(conversion.messages > 0);
    let mut lost: Vec<String> = conversion
        .losses
        .into_iter()
        .map(|loss| loss.what)
        .collect();
    lost.sort();
    lost.dedup();
    lost
}

fn losses() -> String {
    let mut text = String::new();
    for (id, name, sample) in SAMPLES {
        let from = detect(sample.as_bytes(), name).unwrap();
        assert_eq!(from.id(), id, "a sample is of its format");
        text.push_str(&format!("### From {id}\n\n| to | lost |\n|---|---|\n"));
        for to in FORMATS.iter().filter(|to| can(**to).1 && to.id() != id) {
            let lost: Vec<String> = lost(from, *to, name, sample)
                .iter()
                .map(|what| format!("`{what}`"))
                .collect();
            let lost = if lost.is_empty() {
                "nothing".to_string()
            } else {
                lost.join(", ")
            };
            text.push_str(&format!("| `{}` | {lost} |\n", to.id()));
        }
        text.push('\n');
    }
    text
}

/// The page with a part between two marks made anew.
fn with_part(page: &str, mark: &str, part: &str) -> String {
    let (open, close) = (format!("<!-- {mark} -->\n"), format!("<!-- /{mark} -->"));
    let (before, rest) = page
        .split_once(&open)
        .unwrap_or_else(|| panic!("no {open}"));
    let (_, after) = rest
        .split_once(&close)
        .unwrap_or_else(|| panic!("no {close}"));
    format!("{before}{open}\n{}\n\n{close}{after}", part.trim_end())
}

#[test]
fn the_page_says_what_there_is_and_what_is_lost() {
    let known = fs::read_to_string(page()).unwrap();
    let wanted = with_part(&with_part(&known, "list", &list()), "losses", &losses());
    if std::env::var_os("ANALECTS_BLESS").is_some() {
        fs::write(page(), &wanted).unwrap();
    }
    let now = fs::read_to_string(page()).unwrap();
    assert_eq!(now, wanted, "ANALECTS_BLESS=1 writes the page anew");
}

/// A format that can be read and written has a sample, and so a table.
#[test]
fn every_format_that_goes_both_ways_has_a_sample() {
    for format in FORMATS
        .iter()
        .filter(|format| can(**format) == (true, true))
    {
        assert!(
            SAMPLES.iter().any(|(id, ..)| *id == format.id()),
            "{} has no sample",
            format.id()
        );
    }
}
