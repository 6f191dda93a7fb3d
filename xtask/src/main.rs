//! The command `cargo xtask`: reads its arguments and hands over to a verb.

use std::process::ExitCode;

use xtask::{bench, dist, fuzz, root, setup, test, tidy, torture};

const USAGE: &str = "\
usage: cargo xtask <verb>

  setup    get what the tests need; the first time takes some minutes
  test     run every check; the one test command
  bench    measure, and compare with the bars; `bench WORD` only what is called so;
           `bench --peers` runs other tools beside the command
  torture  run the tests with far more cases, and each fuzz target for 5 minutes;
           `torture SECONDS` for so long
  fuzz     search for inputs that break a parser: `fuzz [TARGET] [SECONDS]`;
           `fuzz TARGET FILE` runs one input, `fuzz keep` keeps what was found for later runs
  dist     package the command in target/dist, as an archive and as a Python wheel
  tidy     check the tree's own rules; `tidy --report` shows how large and dense it is
";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    let ok = match args.as_slice() {
        ["setup"] => setup::run(&root()),
        ["test"] => test::run(&root()),
        ["bench", "--peers"] => bench::run_peers(&root()),
        ["bench", wanted @ ..] => bench::run(&root(), wanted),
        ["torture"] => torture::run(&root(), torture::FUZZ_SECONDS),
        ["torture", seconds] if seconds.parse::<u32>().is_ok() => torture::run(&root(), seconds),
        ["fuzz", wanted @ ..] => fuzz::run(&root(), wanted),
        ["dist"] => dist::run(&root()),
        ["tidy"] => tidy::run(&root()),
        ["tidy", "--report"] => tidy::report(&root()),
        ["--help" | "-h" | "help"] => {
            print!("{USAGE}");
            true
        }
        other => return wrong_use(other),
    };
    if ok {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

fn wrong_use(args: &[&str]) -> ExitCode {
    match args {
        [] => eprintln!("error: no verb given"),
        args => eprintln!("error: unknown arguments \"{}\"", args.join(" ")),
    }
    eprint!("\n{USAGE}");
    ExitCode::from(2)
}
