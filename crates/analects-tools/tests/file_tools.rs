//! What each tool does, and what it tells the model when it cannot.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::path::Path;

use analects_core::Raw;
use analects_tools::{FileTool, Folder, ToolError, ToolOutput, Workspace};

/// A workspace in a temporary folder.
struct Place {
    folder: tempfile::TempDir,
    workspace: Workspace,
}

impl Place {
    fn new() -> Place {
        let folder = tempfile::tempdir().unwrap();
        let workspace = Workspace::new(Folder::open(folder.path()).unwrap());
        Place { folder, workspace }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn content(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn call(
        &mut self,
        tool: FileTool,
        arguments: serde_json::Value,
    ) -> Result<ToolOutput, ToolError> {
        let arguments = Raw::parse(&arguments.to_string()).unwrap();
        tool.call(&mut self.workspace, &arguments)
    }

    #[track_caller]
    fn text(&mut self, tool: FileTool, arguments: serde_json::Value) -> String {
        self.call(tool, arguments).unwrap().text
    }

    #[track_caller]
    fn error(&mut self, tool: FileTool, arguments: serde_json::Value) -> String {
        self.call(tool, arguments).unwrap_err().to_string()
    }
}

use FileTool::{EditFile, Grep, ListFiles, ReadFile, WriteFile};
use serde_json::json;

#[test]
fn a_file_is_read_in_parts() {
    let mut place = Place::new();
    let lines: String = (1..=5_000).map(|n| format!("line {n}\n")).collect();
    place.write("long.txt", &lines);
    let first = place.text(ReadFile, json!({"path": "long.txt"}));
    assert!(first.starts_with("line 1\nline 2\n"), "{first}");
    assert!(first.ends_with("line 2000\n[lines 1 to 2000 of 5000; go on with from_line=2001]"));
    let some = place.text(
        ReadFile,
        json!({"path": "long.txt", "from_line": 4999, "lines": 9}),
    );
    assert_eq!(some, "line 4999\nline 5000\n");
    let past = place.error(ReadFile, json!({"path": "long.txt", "from_line": 5001}));
    assert_eq!(past, "long.txt: has only 5000 lines");
    // The beginning of a line over the limit still comes, and the next call goes on behind it.
    place.write("wide.txt", &format!("{}\nend", "x".repeat(60_000)));
    let wide = place.text(ReadFile, json!({"path": "wide.txt"}));
    assert!(
        wide.starts_with("xxx") && wide.ends_with("[lines 1 to 1 of 2; go on with from_line=2]")
    );
    place.write("empty.txt", "");
    assert_eq!(place.text(ReadFile, json!({"path": "empty.txt"})), "");
}

#[test]
fn what_is_no_text_is_not_read() {
    let mut place = Place::new();
    fs::write(place.path("a.png"), b"\x89PNG\r\n\x1a\n").unwrap();
    assert_eq!(
        place.error(ReadFile, json!({"path": "a.png"})),
        "a.png: is not text (8 bytes)"
    );
    fs::create_dir(place.path("sub")).unwrap();
    assert_eq!(
        place.error(ReadFile, json!({"path": "sub"})),
        "sub: is a folder"
    );
    assert_eq!(
        place.error(ReadFile, json!({"path": "."})),
        ".: is a folder"
    );
    assert_eq!(
        place.error(ReadFile, json!({"path": "no.txt"})),
        "no.txt: no such file"
    );
    let large = fs::File::create(place.path("large.txt")).unwrap();
    large.set_len(11 << 20).unwrap();
    assert_eq!(
        place.error(ReadFile, json!({"path": "large.txt"})),
        "large.txt: has more than 10 MB"
    );
}

#[test]
fn arguments_are_checked_by_name_and_type() {
    let mut place = Place::new();
    for (arguments, expected) in [
        (json!(3), "the arguments have to be an object"),
        (json!({}), "path is missing; expected a string"),
        (json!({"path": 3}), "path: expected a string, found 3"),
        (
            json!({"path": "a", "from_lin": 2}),
            "there is no argument \"from_lin\"; did you mean from_line?",
        ),
        (
            json!({"path": "a", "whatever": 2}),
            "there is no argument \"whatever\"; the arguments are path, from_line, lines",
        ),
        (
            json!({"path": "a", "lines": 0}),
            "lines: expected a whole number from 1, found 0",
        ),
        (
            json!({"path": "a", "lines": -1}),
            "lines: expected a whole number from 1, found -1",
        ),
    ] {
        assert_eq!(place.error(ReadFile, arguments), expected);
    }
}

#[test]
fn files_are_listed_and_searched_without_what_git_ignores() {
    let mut place = Place::new();
    place.write("src/main.rs", "fn main() {\n    LEARN();\n}\n");
    place.write("src/lib.rs", "// learn\n");
    place.write("target/out.rs", "LEARN");
    place.write(".gitignore", "target\n");
    place.write(".env", "LEARN=1");
    place.write("notes.md", "practise\n");
    fs::write(place.path("binary"), b"\xff\xfeLEARN").unwrap();
    assert_eq!(
        place.text(ListFiles, json!({})),
        "binary\nnotes.md\nsrc/lib.rs\nsrc/main.rs"
    );
    assert_eq!(
        place.text(ListFiles, json!({"pattern": "*.rs"})),
        "src/lib.rs\nsrc/main.rs"
    );
    assert_eq!(
        place.text(ListFiles, json!({"path": "src"})),
        "src/lib.rs\nsrc/main.rs"
    );
    assert_eq!(
        place.text(ListFiles, json!({"pattern": "*.py"})),
        "[no files]"
    );
    assert_eq!(
        place.text(Grep, json!({"pattern": "LEARN"})),
        "src/main.rs:2:     LEARN();"
    );
    let both = place
        .call(Grep, json!({"pattern": "learn", "ignore_case": true}))
        .unwrap();
    assert_eq!(both.summary, "2 lines in 2 files");
    let one = place.text(Grep, json!({"pattern": "l..rn", "path": "src/lib.rs"}));
    assert_eq!(one, "src/lib.rs:1: // learn");
    assert_eq!(
        place.text(Grep, json!({"pattern": "learn", "files": "*.md"})),
        "[no matches]"
    );
    let bad = place.error(Grep, json!({"pattern": "("}));
    assert!(bad.starts_with("pattern: regex parse error"), "{bad}");
    let bad = place.error(ListFiles, json!({"pattern": "[a"}));
    assert!(
        bad.starts_with("\"[a\" is no pattern for file names"),
        "{bad}"
    );
}

#[test]
fn long_results_are_cut_and_say_so() {
    let mut place = Place::new();
    place.write("many.txt", &"match\n".repeat(500));
    let found = place.text(Grep, json!({"pattern": "match"}));
    assert_eq!(found.lines().count(), 201);
    assert!(found.ends_with("[only the first 200 matches; search a smaller part]"));
    place.write("wide.txt", &format!("needle {}", "x".repeat(10_000)));
    let wide = place.text(Grep, json!({"pattern": "needle"}));
    assert!(wide.len() < 400 && wide.ends_with('…'), "{wide}");
    for n in 0..1_001 {
        place.write(&format!("files/{n:04}"), "");
    }
    let listed = place.text(ListFiles, json!({"path": "files"}));
    assert_eq!(listed.lines().count(), 1_001);
    assert!(listed.ends_with("[only the first 1000 files; use a pattern]"));
}

#[test]
fn a_text_is_replaced_where_it_stands_once() {
    let mut place = Place::new();
    place.write("a.txt", "one\r\ntwo\r\ntwo\r\n");
    let arguments =
        |old: &str, new: &str| json!({"path": "a.txt", "old_text": old, "new_text": new});
    assert_eq!(
        place.error(EditFile, arguments("two", "2")),
        "a.txt: the old text stands there 2 times; include more of the lines around it"
    );
    assert_eq!(
        place.error(EditFile, arguments("one\ntwo", "2")),
        "a.txt: the old text is not there, but a text with other blanks or line ends is; read the file again"
    );
    assert_eq!(
        place.error(EditFile, arguments("three", "3")),
        "a.txt: the old text is not there; read the file again"
    );
    assert!(
        place
            .error(EditFile, arguments("", "3"))
            .contains("old_text is empty")
    );
    assert!(
        place
            .error(EditFile, arguments("one", "one"))
            .contains("are the same")
    );
    assert_eq!(place.content("a.txt"), "one\r\ntwo\r\ntwo\r\n");
    assert_eq!(
        place.text(EditFile, arguments("one\r\ntwo", "1\r\n2")),
        "edited a.txt at line 1"
    );
    assert_eq!(place.content("a.txt"), "1\r\n2\r\ntwo\r\n");
    // The first of two edits does not make the second one stale.
    assert_eq!(
        place.text(EditFile, arguments("two", "")),
        "edited a.txt at line 3"
    );
    assert_eq!(place.content("a.txt"), "1\r\n2\r\n\r\n");
}

#[test]
fn a_file_is_written_whole_and_keeps_its_permissions() {
    use std::os::unix::fs::PermissionsExt;
    let mut place = Place::new();
    let written = place.call(
        WriteFile,
        json!({"path": "new/deep/run.sh", "content": "a\nb\n"}),
    );
    assert_eq!(written.unwrap().summary, "created, 2 lines");
    let path = place.path("new/deep/run.sh");
    fs::set_permissions(&path, fs::Permissions::from_mode(0o750)).unwrap();
    let written = place.call(
        WriteFile,
        json!({"path": "new/deep/run.sh", "content": "c"}),
    );
    assert_eq!(written.unwrap().summary, "replaced, 1 line");
    assert_eq!(place.content("new/deep/run.sh"), "c");
    assert_eq!(
        fs::metadata(&path).unwrap().permissions().mode() & 0o777,
        0o750
    );
    assert_eq!(
        fs::read_dir(path.parent().unwrap()).unwrap().count(),
        1,
        "nothing else is left"
    );
}

#[test]
fn what_somebody_else_changed_is_not_overwritten() {
    let mut place = Place::new();
    place.write("a.txt", "one\n");
    place.text(ReadFile, json!({"path": "a.txt"}));
    place.write("a.txt", "two\n");
    let changed = "a.txt: somebody else changed this file since you read it; read it again first";
    let edit = json!({"path": "a.txt", "old_text": "two", "new_text": "2"});
    assert_eq!(place.error(EditFile, edit.clone()), changed);
    assert_eq!(
        place.error(WriteFile, json!({"path": "./a.txt", "content": "3"})),
        changed
    );
    assert_eq!(place.content("a.txt"), "two\n");
    place.text(ReadFile, json!({"path": "a.txt"}));
    assert_eq!(place.text(EditFile, edit), "edited a.txt at line 1");
}

#[test]
fn the_schema_and_the_check_agree() {
    for tool in FileTool::ALL {
        let spec = tool.spec();
        assert_eq!(FileTool::by_name(&spec.name), Some(tool));
        let schema: serde_json::Value = serde_json::from_str(spec.input_schema.as_str()).unwrap();
        let known = schema["properties"].as_object().unwrap();
        // Some providers refuse an empty list.
        assert_ne!(schema["required"], json!([]));
        for name in schema["required"].as_array().into_iter().flatten() {
            assert!(known.contains_key(name.as_str().unwrap()), "{schema}");
        }
        assert!(
            spec.description.ends_with('.') && !spec.description.contains("  "),
            "{spec:?}"
        );
    }
}

/// Every way out of the folder that a hostile model may try, for every tool.
mod hostile {
    use std::os::unix::fs::symlink;

    use super::*;

    const SECRET: &str = "the secret of somebody else";

    /// A folder with a secret beside it, and links that lead there.
    fn place_with_links() -> (Place, tempfile::TempDir) {
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret.txt"), SECRET).unwrap();
        let place = Place::new();
        symlink(outside.path(), place.path("folder-link")).unwrap();
        symlink(outside.path().join("secret.txt"), place.path("file-link")).unwrap();
        symlink(outside.path().join("new.txt"), place.path("dangling-link")).unwrap();
        place.write("sub/a.txt", "a");
        symlink("a.txt", place.path("sub/inside-link")).unwrap();
        (place, outside)
    }

    fn content_of(folder: &Path) -> Vec<(String, String)> {
        let mut files = Vec::new();
        for entry in fs::read_dir(folder).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            files.push((name, fs::read_to_string(&path).unwrap_or_default()));
        }
        files
    }

    #[test]
    fn no_call_leaves_the_folder() {
        let (mut place, outside) = place_with_links();
        let secret = outside.path().join("secret.txt");
        let name = outside
            .path()
            .file_name()
            .unwrap()
            .to_str()
            .unwrap()
            .to_string();
        let before = content_of(outside.path());
        let paths = [
            format!("../{name}/secret.txt"),
            format!("sub/../../{name}/secret.txt"),
            secret.to_str().unwrap().to_string(),
            "folder-link/secret.txt".to_string(),
            "file-link".to_string(),
            "dangling-link".to_string(),
            "sub/inside-link".to_string(),
            format!("{}/../{name}/secret.txt", place.folder.path().display()),
            "/proc/self/root/etc/passwd".to_string(),
            "a\0b".to_string(),
            "..".to_string(),
        ];
        for path in &paths {
            for tool in FileTool::ALL {
                let arguments = match tool {
                    ReadFile => json!({"path": path}),
                    ListFiles => json!({"path": path}),
                    Grep => json!({"pattern": "secret", "path": path}),
                    WriteFile => json!({"path": path, "content": "owned"}),
                    EditFile => json!({"path": path, "old_text": "secret", "new_text": "owned"}),
                };
                let result = place.call(tool, arguments);
                let refused = result.expect_err(&format!("{} {path}", tool.name()));
                assert!(!refused.to_string().contains(SECRET), "{refused}");
            }
        }
        assert_eq!(content_of(outside.path()), before);
        assert_eq!(place.content("sub/a.txt"), "a");
    }

    #[test]
    fn a_walk_follows_no_link() {
        let (mut place, _outside) = place_with_links();
        assert_eq!(place.text(ListFiles, json!({})), "sub/a.txt");
        assert_eq!(
            place.text(Grep, json!({"pattern": "secret"})),
            "[no matches]"
        );
        // A pattern chooses files below the folder and nothing else.
        for pattern in ["/etc/*", "../*", "**/../**"] {
            let listed = place.call(ListFiles, json!({"pattern": pattern}));
            assert!(
                listed.is_err() || listed.unwrap().text == "[no files]",
                "{pattern}"
            );
        }
        assert!(place.call(ListFiles, json!({"pattern": "!*.rs"})).is_err());
    }

    #[test]
    fn the_conversation_and_git_are_never_changed() {
        let mut place = Place::new();
        place.write("talk.msg.md", "# %%\n");
        place.write("state/journal", "kept");
        place.write("sub/.git/hooks/x", "x");
        fs::hard_link(place.path("talk.msg.md"), place.path("same.md")).unwrap();
        let mut folder = Folder::open(place.folder.path()).unwrap();
        folder.protect(&place.path("talk.msg.md"), "is this conversation");
        folder.protect(
            &place.path("talk.msg.md.files"),
            "belongs to this conversation",
        );
        folder.hide(&place.path("state"), "belongs to Analects");
        folder.protect(Path::new("/etc"), "is elsewhere");
        place.workspace = Workspace::new(folder);
        for path in [
            "talk.msg.md",
            "./talk.msg.md",
            "same.md",
            "talk.msg.md.files/1.txt",
            "state/journal",
            "state/new",
            ".git/config",
            ".GIT/config",
            "sub/.git/hooks/x",
        ] {
            let refused = place.error(WriteFile, json!({"path": path, "content": "# %% forged"}));
            assert!(
                refused.ends_with("so tools never change it"),
                "{path}: {refused}"
            );
        }
        assert_eq!(place.content("talk.msg.md"), "# %%\n");
        assert_eq!(place.content("sub/.git/hooks/x"), "x");
        assert!(!place.path("talk.msg.md.files").exists() && !place.path(".git").exists());
        let hidden = place.error(ReadFile, json!({"path": "state/journal"}));
        assert_eq!(
            hidden,
            "state/journal: belongs to Analects, so tools never read it"
        );
        assert_eq!(place.text(Grep, json!({"pattern": "kept"})), "[no matches]");
        assert!(!place.text(ListFiles, json!({})).contains("state"));
        // Reading the others is no harm, and other files with similar names can be written.
        assert_eq!(
            place.text(ReadFile, json!({"path": "talk.msg.md"})),
            "# %%\n"
        );
        place.text(WriteFile, json!({"path": "talk.msg", "content": ""}));
        place.text(WriteFile, json!({"path": "states", "content": ""}));
    }

    #[test]
    fn pipes_and_devices_are_no_files() {
        let mut place = Place::new();
        let status = std::process::Command::new("mkfifo")
            .arg(place.path("pipe"))
            .status();
        assert!(status.unwrap().success());
        for (tool, arguments) in [
            (ReadFile, json!({"path": "pipe"})),
            (WriteFile, json!({"path": "pipe", "content": ""})),
            (
                EditFile,
                json!({"path": "pipe", "old_text": "a", "new_text": "b"}),
            ),
        ] {
            assert_eq!(place.error(tool, arguments), "pipe: is no regular file");
        }
        assert_eq!(place.text(Grep, json!({"pattern": "x"})), "[no matches]");
    }

    #[test]
    fn an_expression_takes_linear_time_and_little_memory() {
        let mut place = Place::new();
        place.write("a.txt", &"a".repeat(100_000));
        assert_eq!(
            place.text(Grep, json!({"pattern": "(a*)*b"})),
            "[no matches]"
        );
        let huge = place.error(Grep, json!({"pattern": "((a{1000}){1000}){1000}"}));
        assert!(huge.starts_with("pattern: "), "{huge}");
    }

    #[test]
    fn an_edit_that_fails_leaves_the_file_and_nothing_else() {
        let mut place = Place::new();
        place.write("sub/a.txt", "one");
        let file = place.path("sub");
        let status = std::process::Command::new("chmod")
            .arg("500")
            .arg(&file)
            .status();
        assert!(status.unwrap().success());
        let result = place.call(WriteFile, json!({"path": "sub/a.txt", "content": "two"}));
        std::process::Command::new("chmod")
            .arg("700")
            .arg(&file)
            .status()
            .unwrap();
        // The administrator may write anywhere.
        match result {
            Ok(_) => assert_eq!(place.content("sub/a.txt"), "two"),
            Err(error) => {
                assert_eq!(error.to_string(), "sub/a.txt: permission denied");
                assert_eq!(place.content("sub/a.txt"), "one");
            }
        }
        assert_eq!(fs::read_dir(file).unwrap().count(), 1);
    }
}
