//! `show FILE CELL`: the content of a cell comes out as it was stored. `get` is its former name.

use std::process::Stdio;

use analects_formats::msgfile::{NewCell, append, decode};

use crate::sandbox::Sandbox;
use crate::snapshots::{TALK, assert_snapshot};

fn bytes(sandbox: &Sandbox, args: &[&str]) -> Vec<u8> {
    let output = sandbox
        .command(args)
        .stderr(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!((output.status.code(), &*said), (Some(0), ""), "{args:?}");
    output.stdout
}

#[test]
fn show_cell_prints_text_byte_for_byte() {
    let sandbox = Sandbox::new();
    let texts = [
        "plain",
        "",
        "\n",
        "  blanks  ",
        "ends\n",
        "\n\nstarts",
        "crlf\r\nmid\r\n",
        "lone\rcr\r",
        "# %% head[^1]\n\n[^1]: [x]",
        "\\# %%",
        "```\nopen",
        "nul \0 esc \u{1b}[31m \u{202e}",
        "学而时习之",
    ];
    let mut file = decode(*b"# %% not mine\r\n\r\nx\r\n");
    let mut ids = Vec::new();
    for text in texts {
        let cell = NewCell::message(file.next_id(), text);
        ids.push(cell.id.clone());
        file = file.with_source(append(&file, &cell).apply(file.source()));
    }
    sandbox.write("a.msg.md", file.source());
    for (id, text) in ids.iter().zip(texts) {
        assert_eq!(
            bytes(&sandbox, &["show", "a.msg.md", id]),
            text.as_bytes(),
            "{text:?}"
        );
    }
    assert_eq!(sandbox.read("a.msg.md").as_bytes(), file.source());
}

#[test]
fn show_cell_prints_bytes_that_are_not_utf8() {
    let sandbox = Sandbox::new();
    sandbox.write("a.msg.md", b"# %%\n\na\xff\xfe\n\\# %% \xfd\n");
    let output = sandbox
        .command(&["show", "a.msg.md", "1"])
        .output()
        .unwrap();
    assert_eq!(
        (output.status.code(), &*output.stdout),
        (Some(0), &b"a\xff\xfe\n# %% \xfd"[..])
    );
    assert!(
        String::from_utf8(output.stderr)
            .unwrap()
            .contains("[not-utf8]")
    );
}

#[test]
fn show_cell_prints_outputs_and_binary_content() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    let content = |name: &str| bytes(&sandbox, &["show", "talk.msg.md", name]);
    assert_eq!(content("2.k3f9qx7a.1"), b"Rain");
    assert_eq!(content("code.1"), b"stdout> 3");
    assert_eq!(content("6"), b"\x89PNG\r\n\x1a\n");
    assert_eq!(content("code.1-2"), b"\x89PNG\r\n\x1a\n");
    // The last cell has no id, so it goes by the first number that is no id.
    assert_eq!(content("3"), "typed by hand".as_bytes());
}

#[test]
fn show_cell_prints_invalid_base64_unchanged() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        "# %% [^1]\n\n[^1]: [raw] mime_type=\"image/png\"\n\nno base64!\n",
    );
    let run = sandbox.run(&["show", "a.msg.md", "1"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), "no base64!"));
    assert!(run.stderr.contains("[bad-base64]"), "{}", run.stderr);
}

#[test]
fn show_cell_json_matches_show_json() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    let run = sandbox.run(&["show", "talk.msg.md", "--json"]);
    let show: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
    for cell in show["cells"].as_array().unwrap() {
        let run = sandbox.run(&[
            "show",
            "talk.msg.md",
            cell["name"].as_str().unwrap(),
            "--json",
        ]);
        let found: serde_json::Value = serde_json::from_str(&run.stdout).unwrap();
        assert_eq!((run.code, &found), (Some(0), cell));
    }
    let run = sandbox.run(&["show", "talk.msg.md", "6", "--json"]);
    assert_snapshot("get.json", &run.stdout);
}

#[test]
fn show_cell_suggests_the_nearest_cell() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    sandbox.run(&["show", "talk.msg.md", "2.k3"]).assert_fails(
        3,
        "analects: talk.msg.md: there is no cell 2.k3\n\
         hint: did you mean 2.k3f9qx7a or 2.k3f9qx7a.1? see analects show talk.msg.md\n",
    );
    sandbox.run(&["show", "talk.msg.md", "coed"]).assert_fails(
        3,
        "analects: talk.msg.md: there is no cell coed\n\
         hint: did you mean code? see analects show talk.msg.md\n",
    );
    sandbox
        .run(&["show", "talk.msg.md", "nothing like it"])
        .assert_fails(
            3,
            "analects: talk.msg.md: there is no cell nothing like it\n\
         hint: see analects show talk.msg.md\n",
        );
    for name in ["0", "", "12", "-1x"] {
        assert_eq!(
            sandbox.run(&["show", "talk.msg.md", "--", name]).code,
            Some(3),
            "{name}"
        );
    }
    let run = sandbox.run(&["show", "talk.msg.md", "99", "--json"]);
    let error: serde_json::Value = serde_json::from_str(&run.stderr).unwrap();
    assert_eq!(
        (run.code, &error["error"]["kind"]),
        (Some(3), &"not_found".into())
    );
    assert_eq!(sandbox.run(&["show", "gone.msg.md", "1"]).code, Some(3));
}

#[test]
fn show_cell_takes_the_first_of_two_equal_ids_and_says_so() {
    let sandbox = Sandbox::new();
    sandbox.write(
        "a.msg.md",
        "# %% [^1]\n\n[^1]: [markdown]\n\none\n\n# %% [^1]\n\n[^1]: [markdown]\n\ntwo\n\n\
         # %% [^3]\n\n[^3]: [markdown] history=sumary\n\nthree\n",
    );
    let run = sandbox.run(&["show", "a.msg.md", "1"]);
    assert_eq!((run.code, &*run.stdout), (Some(0), "one"));
    assert!(
        run.stderr.starts_with("a.msg.md:7:1: error: the id 1"),
        "{}",
        run.stderr
    );
    // Problems of other cells are not reported here.
    assert!(!run.stderr.contains("sumary"), "{}", run.stderr);
}

#[test]
fn get_is_another_name_for_show() {
    let sandbox = Sandbox::new();
    sandbox.write("talk.msg.md", TALK);
    for rest in [&["code"][..], &["6", "--json"], &["coed"]] {
        let show = sandbox.run(&[&["show", "talk.msg.md"], rest].concat());
        let get = sandbox.run(&[&["get", "talk.msg.md"], rest].concat());
        assert_eq!(get.code, show.code, "{rest:?}");
        assert_eq!((get.stdout, get.stderr), (show.stdout, show.stderr));
    }
    assert!(!sandbox.run(&["--help"]).stdout.contains(" get "));
}
