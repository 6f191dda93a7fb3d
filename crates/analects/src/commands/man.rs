//! `man` and `completions`: manual pages and shell completion scripts.
//!
//! Both are made from the same description of the arguments as `--help`, so they cannot be out of date.

use std::path::{Path, PathBuf};

use clap::Command;
use clap_complete::Shell;
use clap_mangen::Man;

use crate::failure::{Failure, io_error_text};
use crate::{help, ui};

/// Print a manual page
///
/// Without a VERB, man prints the page of analects itself. To read the page, pass the output to the program
/// man.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects man | man -l -
  analects man set default | man -l -
  analects man --dir ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The verb, such as chat or set default
    verb: Vec<String>,

    /// Write all pages into this folder instead of printing one
    #[arg(long, value_name = "DIR", conflicts_with = "verb")]
    dir: Option<PathBuf>,
}

/// The page is roff, which only `man` makes readable.
pub fn run(args: &ManArgs) -> Result<(), Failure> {
    let mut command = help::command().disable_help_subcommand(true);
    command.build();
    if let Some(folder) = &args.dir {
        return write_all(&command, folder);
    }
    let page = render(find(&command, &args.verb)?)?;
    ui::print_lines(String::from_utf8_lossy(&page).lines().map(str::to_string))
}

/// The command for the words after `man`, such as `set default`.
/// Without words it is the program itself. Fails with the verbs that there are.
fn find<'a>(command: &'a Command, verb: &[String]) -> Result<&'a Command, Failure> {
    verb.iter().try_fold(command, |command, word| {
        command.find_subcommand(word).ok_or_else(|| {
            let verbs: Vec<&str> = help::visible_verbs(command)
                .map(Command::get_name)
                .collect();
            let failure = Failure::not_found(format!("there is no verb {}", verb.join(" ")));
            failure.or_hint(if verbs.is_empty() {
                format!("{} has no verbs", command.get_name())
            } else {
                format!("expected one of {}", verbs.join(", "))
            })
        })
    })
}

/// The manual page of a command, in roff.
fn render(command: &Command) -> Result<Vec<u8>, Failure> {
    let mut page = Vec::new();
    let man = Man::new(command.clone()).source(concat!("analects ", env!("CARGO_PKG_VERSION")));
    man.render(&mut page).map_err(|error| {
        Failure::internal(format!("cannot write the page: {}", io_error_text(&error)))
    })?;
    Ok(page)
}

/// Writes the pages of all visible verbs into a folder.
/// Existing files of these names are replaced. Verbs within verbs get pages of their own.
fn write_all(command: &Command, folder: &Path) -> Result<(), Failure> {
    std::fs::create_dir_all(folder)
        .map_err(|error| cannot("create this folder", folder, &error))?;
    let mut open = vec![command];
    while let Some(command) = open.pop() {
        let path = folder.join(Man::new(command.clone()).get_filename());
        let page = render(command)?;
        std::fs::write(&path, page).map_err(|error| cannot("write", &path, &error))?;
        open.extend(help::visible_verbs(command));
    }
    Ok(())
}

/// The failure for a page or a folder that cannot be written.
fn cannot(action: &str, path: &Path, error: &std::io::Error) -> Failure {
    let name = path.display();
    Failure::input(format!("{name}: cannot {action}: {}", io_error_text(error)))
}

/// Print a completion script for your shell
///
/// Save the script where your shell looks for completions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects completions bash > ~/.local/share/bash-completion/completions/analects
  analects completions zsh > ~/.zfunc/_analects
  analects completions fish > ~/.config/fish/completions/analects.fish")]
pub struct CompletionsArgs {
    /// The shell
    shell: Shell,
}

/// Hidden verbs are left out, as in the help.
pub fn completions(args: &CompletionsArgs) -> Result<(), Failure> {
    let mut command = help::command();
    command.build();
    let mut command = help::without_hidden(&command);
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "analects", &mut script);
    let script = String::from_utf8_lossy(&script);
    ui::print_lines(script.lines().map(str::to_string))
}
