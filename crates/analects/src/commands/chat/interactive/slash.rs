//! Reads a line of an interactive session: a prompt, or a command that starts with a slash. Also
//! holds the text of `/help`.

use analects_core::nearest;

use crate::failure::Failure;
use crate::ui;
use crate::ui::prompt::split_command;

/// A slash command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SlashCommand {
    /// Switch to an agent; without a name, show the current one.
    Agent(Option<String>),
    /// Switch to a model; without a name, show the current one.
    Model(Option<String>),
    Context,
    Compact,
    Undo,
    Fork,
    /// Go back to a cell or message.
    Rewind(String),
    Retry,
    /// Write the next prompt in an editor, starting from this text.
    Edit(String),
    Help,
    Quit,
}

/// A line that you typed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedLine {
    Nothing,
    Prompt(String),
    Command(SlashCommand),
}

/// The commands: name, argument, help.
pub const COMMANDS: [(&str, &str, &str); 11] = [
    (
        "agent",
        "NAME",
        "switch to this agent; without NAME, show the current agent and the others",
    ),
    (
        "model",
        "NAME",
        "switch to this model; without NAME, show the current model",
    ),
    (
        "context",
        "",
        "show what would be sent with the next prompt",
    ),
    ("compact", "", "summarise the conversation so far"),
    (
        "undo",
        "",
        "take back the last prompt and its answer; nothing is deleted",
    ),
    (
        "fork",
        "",
        "continue in a copy; the original stays as it is",
    ),
    (
        "retry",
        "",
        "ask the last question again; an answer that it has is kept on another branch",
    ),
    (
        "rewind",
        "CELL",
        "go back to this cell or message; what follows it is kept on another branch",
    ),
    (
        "edit",
        "TEXT",
        "write the next prompt in your editor ($VISUAL or $EDITOR); to send nothing, leave the text empty or unchanged, or make the editor exit with an error, as :cq does in vi",
    ),
    ("help", "", "show these commands and keys"),
    ("quit", "", "end the session; Ctrl-D does the same"),
];

/// Parses a line. A path such as /usr/bin is a prompt, and so is anything after a space.
pub fn parse(text: &str) -> Result<TypedLine, Failure> {
    if text.trim().is_empty() {
        return Ok(TypedLine::Nothing);
    }
    let Some((name, rest)) = split_command(text) else {
        return Ok(TypedLine::Prompt(text.trim().to_string()));
    };
    let word = Some(rest.to_string()).filter(|rest| !rest.is_empty());
    let command = match name {
        "agent" => SlashCommand::Agent(word),
        "model" => SlashCommand::Model(word),
        "edit" => SlashCommand::Edit(rest.to_string()),
        "context" => alone(name, rest, SlashCommand::Context)?,
        "compact" => alone(name, rest, SlashCommand::Compact)?,
        "undo" => alone(name, rest, SlashCommand::Undo)?,
        "fork" => alone(name, rest, SlashCommand::Fork)?,
        "rewind" if rest.is_empty() => {
            return Err(Failure::usage(
                "/rewind goes back to a cell or message, and you named none",
                "name it, such as /rewind 3; /undo goes back by one question",
            ));
        }
        "rewind" => SlashCommand::Rewind(rest.to_string()),
        "retry" => alone(name, rest, SlashCommand::Retry)?,
        "help" | "h" => alone(name, rest, SlashCommand::Help)?,
        "quit" | "exit" | "q" => alone(name, rest, SlashCommand::Quit)?,
        other => return Err(unknown(other)),
    };
    Ok(TypedLine::Command(command))
}

/// A command that takes no argument.
fn alone(name: &str, rest: &str, command: SlashCommand) -> Result<SlashCommand, Failure> {
    if rest.is_empty() {
        Ok(command)
    } else {
        Err(Failure::usage(
            format!("/{name} takes no argument"),
            SEND_IT,
        ))
    }
}

/// How to send a line to the model that looks like a command.
const SEND_IT: &str = "to send it to the model, put a space before it (Up brings the line back)";

/// The error for an unknown command, with the nearest known one and all others.
fn unknown(name: &str) -> Failure {
    let near = nearest(name, COMMANDS.iter().map(|(name, ..)| *name));
    let near = near.map_or(String::new(), |near| format!("did you mean /{near}? "));
    let known = COMMANDS.map(|(name, ..)| format!("/{name}")).join(", ");
    Failure::usage(
        format!("there is no command /{name}"),
        format!("{near}the commands are {known}; {SEND_IT}"),
    )
}

/// The lines of `/help`, wrapped to `width` columns.
pub fn help(width: usize) -> Vec<String> {
    let commands = COMMANDS
        .iter()
        .map(|(name, follows, about)| (format!("/{name} {follows}"), (*about).to_string()));
    let keys = KEYS
        .iter()
        .map(|(key, about)| ((*key).to_string(), (*about).to_string()));
    let mut lines: Vec<String> = commands
        .flat_map(|(name, about)| entry(&name, &about, width))
        .collect();
    lines.push(String::new());
    lines.extend(keys.flat_map(|(key, about)| entry(&key, &about, width)));
    lines
}

const KEYS: [(&str, &str); 8] = [
    (
        "Enter",
        "send; after \\ at the end of the line, or in an open ``` block, start a new line",
    ),
    ("Alt-Enter", "start a new line"),
    (
        "Up, Ctrl-R",
        "find what you typed before; Tab completes commands, agents and models",
    ),
    (
        "Ctrl-C",
        "clear the line; while an answer arrives, stop it and keep what has arrived",
    ),
    ("Ctrl-D", "end the session"),
    (
        "Ctrl-Z",
        "return to the shell; fg brings you back; Ctrl-_ undoes your last change to the line",
    ),
    (
        "",
        "Text that you type while an answer arrives appears in the input line after the answer.",
    ),
    (
        "",
        "Pasted text of many lines is shown as [pasted: N lines] and sent in full.",
    ),
];

/// The column where explanations begin, and the smallest width they get beside the names.
const MARGIN: usize = 17;
const NARROWEST: usize = 30;

/// The lines of one entry: the name with the explanation beside it, or below it on a narrow
/// terminal.
fn entry(name: &str, about: &str, width: usize) -> Vec<String> {
    let is_wide = width >= MARGIN + NARROWEST;
    let margin = if name.is_empty() {
        2
    } else if is_wide {
        MARGIN
    } else {
        6
    };
    let mut lines = ui::wrap_words(about, width.saturating_sub(margin + 1));
    for line in &mut lines {
        line.insert_str(0, &" ".repeat(margin));
    }
    let first = lines.first_mut().filter(|_| is_wide && !name.is_empty());
    match first {
        Some(first) => first.replace_range(..MARGIN, &format!("  {name:<15}")),
        None if !name.is_empty() => lines.insert(0, format!("  {name}")),
        None => {}
    }
    lines
}

#[cfg(test)]
mod tests {
    //! What is a command, and what goes to the model.

    use super::*;

    fn typed(text: &str) -> TypedLine {
        parse(text).unwrap()
    }

    #[test]
    fn commands_are_told_from_prompts() {
        for (text, command) in [
            ("/agent", SlashCommand::Agent(None)),
            ("/agent coder ", SlashCommand::Agent(Some("coder".into()))),
            (
                "/model openai/gpt-5-mini",
                SlashCommand::Model(Some("openai/gpt-5-mini".into())),
            ),
            ("/edit two\nlines", SlashCommand::Edit("two\nlines".into())),
            ("/undo ", SlashCommand::Undo),
            ("/exit", SlashCommand::Quit),
        ] {
            assert_eq!(typed(text), TypedLine::Command(command), "{text}");
        }
        for text in ["/usr/bin is what?", "/", "//", "/ x", "1/2", "/a.b", "/学"] {
            assert_eq!(typed(text), TypedLine::Prompt(text.into()));
        }
        assert_eq!(typed(" /help "), TypedLine::Prompt("/help".into()));
        assert_eq!(typed(" \n\t"), TypedLine::Nothing);
    }

    /// The argument that a command needs.
    fn argument_of(name: &str) -> &'static str {
        if name == "rewind" { "3" } else { "" }
    }

    #[test]
    fn every_command_that_is_listed_is_known() {
        for (name, ..) in COMMANDS {
            assert!(
                matches!(
                    typed(&format!("/{name} {}", argument_of(name))),
                    TypedLine::Command(_)
                ),
                "{name}"
            );
        }
    }

    #[test]
    fn help_fits_the_terminal() {
        for width in [30, 40, 60, 80, 200] {
            let lines = help(width);
            assert!(
                lines.iter().all(|line| line.len() < width),
                "{width}: {lines:#?}"
            );
            let words = |text: String| text.split_whitespace().count();
            assert_eq!(words(lines.join(" ")), words(help(200).join(" ")));
        }
        assert_eq!(
            help(80)[3],
            "  /context       show what would be sent with the next prompt"
        );
        let narrow = help(40);
        assert_eq!(
            narrow[0..3],
            [
                "  /agent NAME",
                "      switch to this agent; without",
                "      NAME, show the current agent and"
            ]
        );
    }

    #[test]
    fn what_is_no_command_is_explained() {
        let failure = parse("/contxt").unwrap_err();
        assert_eq!(failure.message, "there is no command /contxt");
        assert!(
            failure
                .hint(crate::hints::Interface::Session)
                .unwrap()
                .starts_with("did you mean /context? the commands are /agent, /model, /context,")
        );
        assert_eq!(
            parse("/undo it").unwrap_err().message,
            "/undo takes no argument"
        );
    }
}
