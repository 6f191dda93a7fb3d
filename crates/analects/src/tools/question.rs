//! The question before tools change files: all calls of an answer in one list, each with all that it would write.

use std::io::{self, IsTerminal};

use analects_tools::{FileTool, Workspace};

use super::consent::OpenCall;
use crate::{interrupt, ui};

/// How many lines of a call are shown at first.
const FIRST_LINES: usize = 12;

/// What you answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reply {
    /// Run all of them.
    Yes,
    /// Run all of them, and these tools without asking for as long as this process runs.
    Always,
    /// Run those with these numbers, counted from 1.
    Only(Vec<usize>),
    /// Run none, for this reason, which may be empty.
    No(String),
    /// You pressed Ctrl-C.
    Interrupted,
    /// There is no terminal.
    NobodyToAsk,
}

/// Asks at the terminal. Whatever you typed before the question appeared does not count.
pub fn ask(calls: &[OpenCall<'_>], workspace: &Workspace) -> Reply {
    if !io::stderr().is_terminal() {
        return Reply::NobodyToAsk;
    }
    let folder = workspace.folder.path().display();
    let mut limit = FIRST_LINES;
    let mut is_unclear = false;
    ui::remark(&format!("the model wants to change files in {folder}:"));
    loop {
        let ask = || {
            if is_unclear {
                ui::remark("please answer with one of the letters");
            }
            show(calls, limit, workspace);
        };
        let line = match ui::keys::read_answer_to(ask, interrupt::is_interrupted) {
            Ok(Some(line)) => line,
            Ok(None) if interrupt::is_interrupted() => return Reply::Interrupted,
            Ok(None) | Err(_) => return Reply::NobodyToAsk,
        };
        let answer = Answer::of(&line, calls.len());
        is_unclear = answer == Answer::Unclear;
        match answer {
            Answer::Reply(reply) => return reply,
            Answer::ShowAll => limit = usize::MAX,
            Answer::Unclear => {}
        }
    }
}

/// The line with the possible answers.
fn question_for(calls: &[OpenCall<'_>], is_cut: bool) -> String {
    let mut answers = vec!["y yes".to_string()];
    if calls.len() > 1 {
        answers.push("1,2 only these".to_string());
    }
    answers.push(format!("a always {}", names_of(calls)));
    if is_cut {
        answers.push("v view all".to_string());
    }
    answers.push("n [why] no".to_string());
    format!("allow? {} [n] ", answers.join(" · "))
}

/// The names of the tools, each once.
fn names_of(calls: &[OpenCall<'_>]) -> String {
    let tools = FileTool::ALL.into_iter();
    let asked = tools.filter(|tool| calls.iter().any(|call| call.tool == *tool));
    let names: Vec<&str> = asked.map(FileTool::name).collect();
    names.join(" and ")
}

/// Shows the calls with up to this many lines each, and the question.
fn show(calls: &[OpenCall<'_>], limit: usize, workspace: &Workspace) {
    let mut is_cut = false;
    for (number, call) in (1..).zip(calls) {
        let lines = lines_of(call);
        ui::remark(&format!("  {number}  {}", title_of(call, workspace)));
        for line in lines.iter().take(limit) {
            ui::show_text("     ", &with_end_shown(line));
        }
        if lines.len() > limit {
            is_cut = true;
            let more = lines.len() - limit;
            ui::remark(&format!("     … {more} more lines"));
        }
    }
    ui::prompt(&question_for(calls, is_cut));
}

/// The tool and the file, and whether there is one already.
fn title_of(call: &OpenCall<'_>, workspace: &Workspace) -> String {
    let Some(path) = call.tool.path_of(workspace, call.call.arguments) else {
        return call.call.in_one_line();
    };
    let title = format!("{} {path}", call.tool.name());
    let is_replaced = call.tool == FileTool::WriteFile && workspace.folder.is_file(&path);
    if is_replaced {
        format!("{title} (replaces the whole file)")
    } else {
        title
    }
}

/// The line with marks for the blanks at its end, which nobody would see.
fn with_end_shown(line: &str) -> String {
    // The mark of the line is no blank of the text.
    let (mark, text) = line.split_at(line.len().min(2));
    let shown = text.trim_end_matches([' ', '\t']);
    let blanks = text[shown.len()..].chars();
    let marks: String = blanks.map(|c| if c == ' ' { '␠' } else { '␉' }).collect();
    format!("{mark}{shown}{marks}")
}

/// What the call would write: the new text with `+`, and the text that it takes away with `-`.
fn lines_of(call: &OpenCall<'_>) -> Vec<String> {
    let Some(arguments) = call.call.arguments.as_object() else {
        return Vec::new();
    };
    let marked = |mark: char, key: &str| {
        let text = arguments.string(key).unwrap_or_default();
        let lines = text.split_inclusive('\n');
        lines
            .map(|line| format!("{mark} {}", line.trim_end_matches('\n')))
            .collect::<Vec<_>>()
    };
    match call.tool {
        FileTool::WriteFile => marked('+', "content"),
        FileTool::EditFile => [marked('-', "old_text"), marked('+', "new_text")].concat(),
        FileTool::ReadFile | FileTool::ListFiles | FileTool::Grep => Vec::new(),
    }
}

/// What a line means as an answer.
#[derive(Debug, PartialEq, Eq)]
enum Answer {
    Reply(Reply),
    ShowAll,
    Unclear,
}

impl Answer {
    /// Reads an answer to a question about `count` calls. An empty line is a no.
    fn of(line: &str, count: usize) -> Answer {
        let line = line.trim();
        let (word, rest) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
        // A yes that goes on, as in `y but not 2`, is no clear one.
        let is_whole = rest.trim().is_empty();
        match word.to_lowercase().as_str() {
            "y" | "yes" if is_whole => Answer::Reply(Reply::Yes),
            "a" | "always" if is_whole => Answer::Reply(Reply::Always),
            "v" | "view" => Answer::ShowAll,
            "" | "n" | "no" => Answer::Reply(Reply::No(rest.trim().to_string())),
            _ => match numbers_in(line, count) {
                Some(numbers) => Answer::Reply(Reply::Only(numbers)),
                None => Answer::Unclear,
            },
        }
    }
}

/// The numbers in a list such as `1,3`; `None` if a part of it is no number from 1 to `count`.
fn numbers_in(line: &str, count: usize) -> Option<Vec<usize>> {
    let parts = line.split([',', ' ']).filter(|part| !part.is_empty());
    let numbers: Option<Vec<usize>> = parts
        .map(|part| {
            part.parse()
                .ok()
                .filter(|number| (1..=count).contains(number))
        })
        .collect();
    numbers.filter(|numbers| !numbers.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_clear_yes_is_one() {
        let reply = |line: &str| match Answer::of(line, 3) {
            Answer::Reply(reply) => reply,
            other => panic!("{line}: {other:?}"),
        };
        for yes in ["y", "Y", " yes "] {
            assert_eq!(reply(yes), Reply::Yes);
        }
        assert_eq!(reply("always"), Reply::Always);
        assert_eq!(reply("1, 3"), Reply::Only(vec![1, 3]));
        assert_eq!(reply("2"), Reply::Only(vec![2]));
        for no in ["", "n", "NO", "  "] {
            assert_eq!(reply(no), Reply::No(String::new()));
        }
        assert_eq!(reply("n use a list"), Reply::No("use a list".into()));
        for unclear in [
            "yy",
            "sure",
            "y but not 2",
            "a 1",
            ",",
            "0",
            "4",
            "1,x",
            "1-3",
            "<U+001B>",
        ] {
            assert_eq!(Answer::of(unclear, 3), Answer::Unclear, "{unclear}");
        }
        assert_eq!(Answer::of("v", 3), Answer::ShowAll);
    }
}
