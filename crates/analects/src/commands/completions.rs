//! `completions`: what a shell needs to complete the command.

use clap_complete::Shell;

use crate::failure::Failure;
use crate::{help, ui};

/// Print the completion script of a shell
///
/// Load it where your shell looks for completions.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects completions bash > ~/.local/share/bash-completion/completions/analects
  analects completions zsh > ~/.zfunc/_analects
  analects completions fish > ~/.config/fish/completions/analects.fish")]
pub struct Args {
    /// The shell
    shell: Shell,
}

pub fn run(args: &Args) -> Result<(), Failure> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut help::command(), "analects", &mut script);
    let script = String::from_utf8_lossy(&script);
    ui::print_lines(script.lines().map(str::to_string))
}
