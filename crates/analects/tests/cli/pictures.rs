//! Pictures beside a message file: sent with your permission, for which you are asked once.
#![cfg(unix)]

use crate::pseudo_terminal::{press, run_steps};
use crate::sandbox::{CommandOutput, Sandbox, skip};
use crate::server::{Server, answer};

const PNG: &[u8] = b"\x89PNG\r\n\x1a\nsea";
/// The picture as it is sent.
const SENT: &str = "data:image/png;base64,iVBORw0KGgpzZWE=";
const TALK: &str = "# %%\n\nWhat is this?\n\n![sea](sea.png)\n";

fn sandbox_with_picture(answers: usize) -> (Sandbox, Server) {
    let server = Server::new(vec![answer(&["The sea."]); answers]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write("sea.png", PNG);
    sandbox.write("talk.msg.md", TALK);
    (sandbox, server)
}

fn chat(sandbox: &Sandbox, args: &[&str]) -> CommandOutput {
    let run = sandbox.run(&[&["chat", "talk.msg.md", "-m", "openai/tiny"][..], args].concat());
    assert_eq!(run.code, Some(0), "{args:?}: {}", run.stderr);
    run
}

#[test]
fn scripts_send_no_picture_without_permission() {
    let (sandbox, server) = sandbox_with_picture(3);
    let run = chat(&sandbox, &[]);
    assert!(
        run.stderr.contains("the picture sea.png is not sent"),
        "{}",
        run.stderr
    );
    assert!(run.stderr.contains("--pictures"), "{}", run.stderr);
    let sent = server.request();
    assert!(
        !sent.contains(SENT) && sent.contains("![sea](sea.png)"),
        "{sent}"
    );
    let run = chat(&sandbox, &["--pictures", "Again?"]);
    assert_eq!(run.stderr, "");
    assert!(server.request().contains(SENT));
    // The flag is for one call.
    chat(&sandbox, &["Once more?"]);
    assert!(!server.request().contains(SENT));
}

#[test]
fn a_picture_named_in_a_prompt_stays_allowed() {
    let (sandbox, server) = sandbox_with_picture(3);
    sandbox.write("other.png", PNG);
    sandbox.write("talk.msg.md", "");
    chat(&sandbox, &["What is this?\n\n![sea](sea.png)"]);
    assert!(server.request().contains(SENT));
    chat(&sandbox, &["And now?"]);
    assert!(server.request().contains(SENT), "it is in the conversation");
    let run = sandbox.run_with_stdin(&["chat", "talk.msg.md"], "![x](other.png)\n\nAnd this?");
    assert!(
        run.stderr.contains("the picture other.png is not sent"),
        "{}",
        run.stderr
    );
}

#[test]
fn an_attached_picture_is_sent_with_the_question() {
    let (sandbox, server) = sandbox_with_picture(3);
    sandbox.write("notes.txt", "about waves\n");
    let args = ["-f", "sea.png", "-f", "notes.txt", "What is this?"];
    std::fs::remove_file(sandbox.path("talk.msg.md")).unwrap();
    assert_eq!(chat(&sandbox, &args).stderr, "");
    let sent = server.request();
    assert!(
        sent.contains(SENT) && sent.contains("about waves"),
        "{sent}"
    );
    let file = sandbox.read("talk.msg.md");
    assert!(
        file.contains("What is this?\n\n![sea](sea.png)\n"),
        "{file}"
    );
    chat(&sandbox, &["And now?"]);
    assert!(server.request().contains(SENT), "it is in the conversation");
    // In a session, the picture itself is in the record.
    let run = sandbox.run(&[&["chat", "-m", "openai/tiny"][..], &args].concat());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    assert!(server.request().contains(SENT));
}

#[test]
fn a_picture_for_a_model_that_takes_none_is_refused_at_once() {
    let (sandbox, _server) = sandbox_with_picture(0);
    std::fs::remove_file(sandbox.path("talk.msg.md")).unwrap();
    for place in [&["chat", "talk.msg.md"][..], &["chat"]] {
        let args = ["-m", "local/smollm2", "-f", "sea.png", "What is this?"];
        let run = sandbox.run(&[place, &args].concat());
        assert_eq!(run.code, Some(2), "{}", run.stderr);
        assert_eq!(
            run.stderr,
            "analects: local/smollm2 takes no pictures\n\
             hint: name one that does with -m; nothing was sent or written\n"
        );
        assert!(!sandbox.path("talk.msg.md").exists());
        let list = sandbox.run(&["session", "list"]).stdout;
        assert!(!list.contains("What is this?"), "{list}");
    }
}

#[test]
fn an_attached_picture_of_another_folder_is_refused() {
    let (sandbox, _server) = sandbox_with_picture(0);
    std::fs::create_dir(sandbox.path("notes")).unwrap();
    let args = [
        "chat",
        "notes/a.msg.md",
        "-m",
        "openai/tiny",
        "-f",
        "sea.png",
        "Hm?",
    ];
    let run = sandbox.run(&args);
    assert_eq!(run.code, Some(1), "{}", run.stderr);
    assert!(
        run.stderr
            .contains("sea.png: the picture is outside the folder of notes/a.msg.md"),
        "{}",
        run.stderr
    );
    assert!(!sandbox.path("notes/a.msg.md").exists());
}

#[test]
fn only_the_users_config_can_allow_pictures() {
    let (sandbox, server) = sandbox_with_picture(2);
    sandbox.write_config("config.toml", "[context]\npictures = true\n");
    chat(&sandbox, &[]);
    assert!(server.request().contains(SENT));
    let (sandbox, _) = sandbox_with_picture(0);
    sandbox.write(".analects.toml", "[context]\npictures = true\n");
    let run = sandbox.run(&["chat", "talk.msg.md"]);
    assert!(
        run.stderr.contains("a project may not set pictures"),
        "{}",
        run.stderr
    );
}

#[test]
fn context_and_dry_run_show_the_pictures_that_are_sent() {
    let (sandbox, _server) = sandbox_with_picture(0);
    let context = |args: &[&str]| {
        let args = [&["context", "talk.msg.md", "-m", "openai/tiny"][..], args].concat();
        sandbox.run(&args)
    };
    let run = context(&["--pictures"]);
    assert!(
        run.stdout.contains("picture sea.png: image/png, 11 bytes"),
        "{}",
        run.stdout
    );
    let run = context(&[]);
    assert!(!run.stdout.contains("picture sea.png:"), "{}", run.stdout);
    assert!(
        run.stderr.contains("the picture sea.png is not sent"),
        "{}",
        run.stderr
    );
    let json: serde_json::Value = serde_json::from_str(&context(&["--json"]).stdout).unwrap();
    assert_eq!(json["pictures"][0]["path"], "sea.png");
    assert_eq!(json["pictures"][0]["bytes"], serde_json::Value::Null);
    let dry = chat(&sandbox, &["--dry-run"]);
    assert!(
        !dry.stdout.contains(SENT) && dry.stderr.contains("is not sent"),
        "{}",
        dry.stderr
    );
    let dry = chat(&sandbox, &["--dry-run", "--pictures"]);
    assert!(dry.stdout.contains(SENT), "{}", dry.stdout);
    let named = chat(&sandbox, &["--dry-run", "![sea](sea.png)"]);
    assert!(named.stdout.contains(SENT), "{}", named.stdout);
    // A dry run gives no permission.
    assert!(!chat(&sandbox, &["--dry-run"]).stdout.contains(SENT));
}

#[test]
fn links_and_text_files_are_not_sent_as_pictures() {
    let (sandbox, server) = sandbox_with_picture(2);
    sandbox.write(".env", "KEY=canary");
    std::fs::remove_file(sandbox.path("sea.png")).unwrap();
    std::os::unix::fs::symlink(".env", sandbox.path("sea.png")).unwrap();
    let run = chat(&sandbox, &["--pictures"]);
    assert!(
        run.stderr.contains("a symbolic link leads to it"),
        "{}",
        run.stderr
    );
    assert!(!server.request().contains("base64"));
    std::fs::remove_file(sandbox.path("sea.png")).unwrap();
    std::fs::copy(sandbox.path(".env"), sandbox.path("sea.png")).unwrap();
    let run = chat(&sandbox, &["--pictures", "Again?"]);
    assert!(
        run.stderr.contains("not a png, jpeg, gif or webp picture"),
        "{}",
        run.stderr
    );
    assert!(!server.request().contains("base64"));
}

#[test]
fn a_terminal_asks_once_for_permission() {
    let test = "a_terminal_asks_once_for_permission";
    let (sandbox, server) = sandbox_with_picture(4);
    let ask = |keys: &str, args: &[&str]| {
        let command =
            sandbox.command(&[&["chat", "talk.msg.md", "-m", "openai/tiny"][..], args].concat());
        let steps = match keys {
            "" => Vec::new(),
            keys => vec![press("send them to the model? [y/N]", format!("{keys}\r"))],
        };
        run_steps(&sandbox, &command, steps)
    };
    let Some((screen, code)) = ask("n", &[]) else {
        return skip(test, "there is no pseudo terminal");
    };
    assert_eq!(code, 0, "{screen}");
    assert!(
        screen.contains("talk.msg.md shows pictures: sea.png"),
        "{screen}"
    );
    assert!(!server.request().contains(SENT));
    let (screen, _) = ask("y", &["Again?"]).unwrap();
    assert!(server.request().contains(SENT), "{screen}");
    // Permission is remembered, even for commands without a terminal.
    let (screen, _) = ask("", &["And now?"]).unwrap();
    assert!(!screen.contains("[y/N]"), "{screen}");
    assert!(server.request().contains(SENT), "{screen}");
    chat(&sandbox, &["At last?"]);
    assert!(server.request().contains(SENT));
}

#[test]
fn pictures_are_found_beside_the_file_not_beside_a_link() {
    let (sandbox, server) = sandbox_with_picture(2);
    std::fs::create_dir(sandbox.path("other")).unwrap();
    sandbox.write("other/sea.png", b"\x89PNG\r\n\x1a\nsky");
    std::os::unix::fs::symlink("../talk.msg.md", sandbox.path("other/talk.msg.md")).unwrap();
    let args = ["other/talk.msg.md", "-m", "openai/tiny", "--pictures"];
    let dry = sandbox.run(&[&["chat", "--dry-run"][..], &args].concat());
    assert!(dry.stdout.contains(SENT), "{}", dry.stdout);
    let context = sandbox.run(&[&["context"][..], &args].concat());
    assert!(
        context.stdout.contains("picture sea.png"),
        "{}",
        context.stdout
    );
    assert_eq!(sandbox.run(&[&["chat"][..], &args].concat()).code, Some(0));
    assert!(server.request().contains(SENT));
    // Permission for a file does not cover a copy in another folder.
    chat(&sandbox, &["![sea](sea.png)"]);
    let run = sandbox.run(&["fork", "other/talk.msg.md", "-o", "other/copy.msg.md"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let dry = sandbox.run(&[
        "chat",
        "--dry-run",
        "other/copy.msg.md",
        "-m",
        "openai/tiny",
        "x",
    ]);
    assert!(!dry.stdout.contains("base64"), "{}", dry.stdout);
}

#[test]
fn a_picture_name_cannot_rewrite_the_permission_prompt() {
    let test = "a_picture_name_cannot_rewrite_the_permission_prompt";
    let (sandbox, _server) = sandbox_with_picture(1);
    let name = "\u{1b}[2K\u{1b}[1Ax.png";
    sandbox.write(name, PNG);
    sandbox.write("talk.msg.md", format!("{TALK}\n![x]({name})\n"));
    let command = sandbox.command(&["chat", "talk.msg.md", "-m", "openai/tiny"]);
    let steps = vec![press("send them to the model? [y/N]", "n\r")];
    let Some((screen, _)) = run_steps(&sandbox, &command, steps) else {
        return skip(test, "there is no pseudo terminal");
    };
    assert!(
        screen.contains("sea.png, <U+001B>[2K<U+001B>[1Ax.png"),
        "{screen:?}"
    );
}
