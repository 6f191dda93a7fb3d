//! Nothing is lost silently. Each case is a small file with a single feature. Whatever the file says is found in the
//! output, in its right place, or a loss names it; and no loss names anything else. The readers here look at bytes and
//! JSON only.
#![allow(clippy::unwrap_used, clippy::panic)]

mod check;
mod found;
mod gaps;
mod json_targets;
mod laws;
mod marks;
mod message_file;
mod message_file_calls;
mod message_file_cells;
mod message_file_texts;
mod pages;
mod requests;
mod samples;
mod sessions;
mod transcripts;

use marks::Case;

/// Checks all cases of a format with all targets.
fn check_all(format: &str, cases: &[Case]) {
    let mut wrong = Vec::new();
    for case in cases {
        let source = check::source_format(case);
        assert_eq!(
            source.id(),
            format,
            "{} is read as another format",
            case.name
        );
        for target in check::TARGETS.iter().filter(|target| target.name != format) {
            let lines = check::check(case, target);
            if !lines.is_empty() {
                let text = check::describe(case, target, &lines);
                wrong.push((format!("{format}: {} → {}", case.name, target.name), text));
            }
        }
    }
    gaps::compare(format, &wrong);
}

#[test]
fn nothing_is_lost_silently_from_message_files() {
    let mut cases = message_file_cells::cases();
    cases.extend(message_file_calls::cases());
    cases.extend(message_file_texts::cases());
    assert!(cases.len() >= 150, "only {} cases", cases.len());
    check_all("msgfile", &cases);
}

#[test]
fn nothing_is_lost_silently_from_transcripts() {
    check_all("transcript", &transcripts::cases());
}

#[test]
fn nothing_is_lost_silently_from_sessions_of_claude_code() {
    check_all("claude-code", &sessions::claude_code());
}

#[test]
fn nothing_is_lost_silently_from_chat_markdown() {
    check_all("chatmd", &sessions::chat_markdown());
}

#[test]
fn nothing_is_lost_silently_from_chat_sessions() {
    check_all("chat-session", &sessions::chat_session());
}

#[test]
fn nothing_is_lost_silently_from_openai_requests() {
    check_all("openai", &requests::openai());
}

#[test]
fn nothing_is_lost_silently_from_anthropic_requests() {
    check_all("anthropic", &requests::anthropic());
}
