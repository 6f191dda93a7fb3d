//! Completion scripts and manual pages, through the programs that read them.

use std::process::{Command, Stdio};

use crate::sandbox::{Sandbox, skip};

#[test]
fn bash_completes_commands_and_options() {
    let sandbox = Sandbox::new();
    let run = sandbox.run(&["completions", "bash"]);
    assert_eq!((run.code, &*run.stderr), (Some(0), ""));
    sandbox.write("script", &run.stdout);
    let program = "source ./script; complete -p analects
        words() { COMP_WORDS=(\"$@\"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
                  _analects analects \"${@: -1}\" \"${@: -2:1}\"; echo \"${COMPREPLY[*]}\"; }
        words analects fm; words analects set d; words analects add a.msg.md --out; words analects completions f";
    let mut bash = Command::new("bash");
    bash.args(["--norc", "-c", program])
        .current_dir(sandbox.path(""));
    let Ok(output) = bash.output() else {
        return skip("bash_completes_commands_and_options", "there is no bash");
    };
    let stdout = String::from_utf8(output.stdout).unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert!(
        lines[0].ends_with("-F _analects analects"),
        "{stdout} {stderr}"
    );
    assert_eq!(
        lines[1..],
        ["fmt", "default", "--output", "fish"],
        "{stderr}"
    );
}

#[test]
fn every_shell_gets_a_completion_script() {
    let sandbox = Sandbox::new();
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let run = sandbox.run(&["completions", shell]);
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{shell}");
        assert!(run.stdout.contains("completions"), "{shell}");
        assert!(run.stdout.contains("append"), "{shell}");
        let hidden = [
            "session,fork",
            "session;fork",
            "session__subcmd__fork",
            "prune fork",
        ];
        for hidden in hidden {
            assert!(!run.stdout.contains(hidden), "{shell}: {hidden}");
        }
    }
    let run = sandbox.run(&["completions", "tcsh"]);
    assert_eq!((run.code, &*run.stdout), (Some(2), ""));
    assert!(run.stderr.contains("bash, elvish, fish"), "{}", run.stderr);
}

/// A manual page as a reader sees it, shown by the first program that can.
fn rendered(page: &str, sandbox: &Sandbox) -> Option<String> {
    sandbox.write("page.1", page);
    let readers: [&[&str]; 3] = [
        &["mandoc", "-T", "utf8", "-W", "error", "page.1"],
        &["groff", "-man", "-ww", "-T", "utf8", "page.1"],
        &["man", "-l", "page.1"],
    ];
    readers.into_iter().find_map(|reader| {
        let mut command = Command::new(reader[0]);
        command
            .args(&reader[1..])
            .current_dir(sandbox.path(""))
            .stdin(Stdio::null());
        command
            .env("MANPAGER", "cat")
            .env("MANWIDTH", "100")
            .env("GROFF_NO_SGR", "1");
        let output = command.output().ok()?;
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        // Bold is a letter, a step back, and the letter again.
        let mut chars = Vec::new();
        for c in text.chars() {
            if c == '\u{8}' {
                chars.pop();
            } else {
                chars.push(c);
            }
        }
        let text: String = chars.into_iter().collect();
        Some(text.split_whitespace().collect::<Vec<_>>().join(" "))
    })
}

#[test]
fn man_pages_render() {
    let sandbox = Sandbox::new();
    for (verb, parts) in [
        (
            &[][..],
            [
                "NAME",
                "analects - Keep AI conversations",
                "analects-chat(1)",
            ],
        ),
        (&["chat"], ["SYNOPSIS", "analects chat", "--model"]),
        (
            &["set", "default"],
            ["analects-set-default", "analects set default", "AGENT"],
        ),
    ] {
        let run = sandbox.run(&[&["man"], verb].concat());
        assert_eq!((run.code, &*run.stderr), (Some(0), ""), "{verb:?}");
        let Some(page) = rendered(&run.stdout, &sandbox) else {
            return skip("man_pages_render", "there is no mandoc, groff or man");
        };
        for part in parts {
            assert!(page.contains(part), "{part} is not in {page}");
        }
    }
}

#[test]
fn all_man_pages_go_into_a_folder() {
    let sandbox = Sandbox::new();
    sandbox
        .run(&["man", "--dir", "share/man1"])
        .assert_prints("");
    for page in [
        "analects.1",
        "analects-add.1",
        "analects-set-default.1",
        "analects-man.1",
    ] {
        assert!(
            sandbox.read(&format!("share/man1/{page}")).contains(".TH"),
            "{page}"
        );
    }
    for hidden in ["analects-get.1", "analects-session-fork.1"] {
        assert!(
            !sandbox.path("share/man1").join(hidden).exists(),
            "{hidden}"
        );
    }
    let one = sandbox.run(&["man", "set", "default"]).stdout;
    assert_eq!(sandbox.read("share/man1/analects-set-default.1"), one);
    sandbox.write("file", "");
    let run = sandbox.run(&["man", "--dir", "file"]);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    let run = sandbox.run(&["man", "nothing"]);
    assert_eq!(run.code, Some(3), "{}", run.stderr);
    assert!(
        run.stderr.contains("hint: expected one of "),
        "{}",
        run.stderr
    );
    assert_eq!(sandbox.run(&["man", "chat", "more"]).code, Some(3));
    assert_eq!(sandbox.run(&["man", "--dir", "x", "chat"]).code, Some(2));
}
