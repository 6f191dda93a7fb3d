//! What a hostile model or a hostile folder may try, beyond plain paths out of the folder.

#![cfg(unix)]
#![allow(clippy::unwrap_used, clippy::expect_used)]

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::PathBuf;
use std::process::Command;

use FileTool::{EditFile, Grep, ListFiles, ReadFile, WriteFile};
use analects_core::Raw;
use analects_tools::{FileTool, Folder, ToolError, ToolOutput, Workspace};
use serde_json::json;

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

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn write(&self, name: &str, content: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, content).unwrap();
    }

    fn call_json(&mut self, tool: FileTool, arguments: &str) -> Result<ToolOutput, ToolError> {
        tool.call(&mut self.workspace, &Raw::parse(arguments).unwrap())
    }

    #[track_caller]
    fn text(&mut self, tool: FileTool, arguments: serde_json::Value) -> String {
        self.call_json(tool, &arguments.to_string()).unwrap().text
    }

    #[track_caller]
    fn error(&mut self, tool: FileTool, arguments: serde_json::Value) -> String {
        let result = self.call_json(tool, &arguments.to_string());
        result.unwrap_err().to_string()
    }

    fn deny(&mut self, rules: &[&str]) {
        self.workspace.denied = rules.iter().map(|rule| rule.parse().unwrap()).collect();
    }
}

#[test]
fn a_pattern_shows_nothing_that_is_hidden_or_ignored() {
    let mut place = Place::new();
    place.write(".gitignore", "*.key\nbuild\n");
    place.write(".env", "token");
    place.write("my.key", "token");
    place.write("build/out.txt", "token");
    place.write(".git/config", "token");
    place.write("sub/.gitignore", "!own.key\n");
    place.write("sub/own.key", "token");
    place.write("sub/other.key", "token");
    place.write("a.txt", "token");
    place.write(".git/info/exclude", "mine.txt\n");
    place.write("mine.txt", "token");
    for pattern in ["*", "**", ".*", "*.key", "**/*.txt", ".git/*"] {
        let listed = place.text(ListFiles, json!({"pattern": pattern}));
        let found = place.text(Grep, json!({"pattern": "token", "files": pattern}));
        for secret in [".env", "my.key", "build", "config", "other.key", "mine"] {
            assert!(!listed.contains(secret), "{pattern}: {listed}");
            assert!(!found.contains(secret), "{pattern}: {found}");
        }
    }
    assert_eq!(place.text(ListFiles, json!({})), "a.txt\nsub/own.key");
    // What is ignored from above stays so when a search starts further down.
    assert_eq!(place.text(ListFiles, json!({"path": "sub"})), "sub/own.key");
    // A folder that is named is searched even if it is ignored, as git tools do.
    assert_eq!(
        place.text(ListFiles, json!({"path": "build"})),
        "build/out.txt"
    );
    assert!(
        place
            .error(ListFiles, json!({"pattern": "#x"}))
            .contains("cannot start with")
    );
}

#[test]
fn a_gitignore_that_is_a_link_or_a_pipe_does_no_harm() {
    let mut place = Place::new();
    place.write("a.txt", "token");
    place.write("zero/b.txt", "token");
    place.write("pipe/c.txt", "token");
    // Reading the first one would never end, and opening the second one would wait for a writer.
    symlink("/dev/zero", place.path("zero/.gitignore")).unwrap();
    let status = Command::new("mkfifo")
        .arg(place.path("pipe/.gitignore"))
        .status();
    assert!(status.unwrap().success());
    assert_eq!(
        place.text(ListFiles, json!({})),
        "a.txt\npipe/c.txt\nzero/b.txt"
    );
}

#[test]
fn folders_inside_each_other_without_end_are_left_out_and_counted() {
    let mut place = Place::new();
    let mut deep = place.folder.path().to_path_buf();
    for _ in 0..300 {
        deep.push("d");
    }
    fs::create_dir_all(&deep).unwrap();
    fs::write(deep.join("far.txt"), "").unwrap();
    place.write("z.txt", "");
    assert_eq!(
        place.text(ListFiles, json!({})),
        "z.txt\n[1 folders left out: too deep, or not readable]"
    );
}

#[test]
fn what_is_denied_shows_in_no_tool() {
    let mut place = Place::new();
    place.write("secret/key.txt", "token 1");
    place.write("Secret2/key.txt", "token 2");
    place.write("a.txt", "token 3");
    for rule in ["read_file(secret/**)", "read_file(secret)", "*(SECRET/*)"] {
        place.deny(&[rule]);
        assert_eq!(
            place.text(ListFiles, json!({})),
            "Secret2/key.txt\na.txt\n[files that the person does not allow are left out]",
            "{rule}"
        );
        let found = place.text(Grep, json!({"pattern": "token"}));
        assert!(!found.contains("token 1"), "{rule}: {found}");
        for (tool, arguments) in [
            (ReadFile, json!({"path": "secret/key.txt"})),
            (ReadFile, json!({"path": "./secret//key.txt"})),
            (Grep, json!({"pattern": "t", "path": "secret/key.txt"})),
            (
                EditFile,
                json!({"path": "secret/key.txt", "old_text": "t", "new_text": "T"}),
            ),
        ] {
            let refused = place.error(tool, arguments);
            assert_eq!(refused, "the person does not allow this call", "{rule}");
        }
    }
    // A rule for one tool that writes leaves the others alone.
    place.deny(&["write_file(secret/**)"]);
    assert_eq!(
        place.text(ReadFile, json!({"path": "secret/key.txt"})),
        "token 1"
    );
    assert!(place.text(ListFiles, json!({})).contains("secret/key.txt"));
}

#[test]
fn arguments_that_can_be_read_in_two_ways_are_refused() {
    let mut place = Place::new();
    for (tool, arguments) in [
        (
            WriteFile,
            r#"{"path":"a.txt","content":"x","path":"b.txt"}"#,
        ),
        (
            WriteFile,
            r#"{"path":"a.txt","p\u0061th":"b.txt","content":"x"}"#,
        ),
    ] {
        let refused = place.call_json(tool, arguments).unwrap_err();
        assert_eq!(refused.to_string(), "path is given twice");
    }
    let half = r#"{"path":"a.txt","content":"\ud800"}"#;
    let refused = place.call_json(WriteFile, half).unwrap_err();
    assert_eq!(
        refused.to_string(),
        r#"content: expected a string, found "\ud800""#
    );
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 0);
}

#[test]
fn an_error_never_repeats_a_huge_argument() {
    let mut place = Place::new();
    let huge = "x".repeat(1_000_000);
    let mut unknown = serde_json::Map::new();
    unknown.insert(huge.clone(), json!(1));
    for (tool, arguments) in [
        (ReadFile, json!({"path": format!("/{huge}")})),
        (ReadFile, json!({"path": huge})),
        (ReadFile, json!({"path": "a", "from_line": huge})),
        (ReadFile, unknown.into()),
        (Grep, json!({"pattern": format!("({huge}")})),
        (ListFiles, json!({"pattern": format!("[{huge}")})),
        (
            WriteFile,
            json!({"path": format!("{huge}/a"), "content": ""}),
        ),
    ] {
        let refused = place.error(tool, arguments);
        assert!(refused.len() < 1_000, "{} {}", tool.name(), refused.len());
    }
}

#[test]
fn no_result_is_larger_than_a_model_can_take() {
    let mut place = Place::new();
    place.write("one-line.js", &"é".repeat(4_000_000));
    let read = place.text(ReadFile, json!({"path": "one-line.js"}));
    assert!(read.len() < 50_200, "{}", read.len());
    assert!(
        read.ends_with(
            "[only the first 50000 of the 8000000 bytes of line 1; use grep for the rest]"
        )
    );
    // A match far inside a long line is shown.
    place.write(
        "wide.txt",
        &format!("{}needle{}", "x".repeat(9_000_000), "y".repeat(9_000)),
    );
    let found = place.text(Grep, json!({"pattern": "needle", "path": "wide.txt"}));
    assert!(found.len() < 400 && found.contains("xneedley"), "{found}");
    let long = "学".repeat(80);
    let folder = format!("{long}/{long}/{long}");
    let lines = format!("{}\n", "学".repeat(400)).repeat(300);
    for n in 0..90 {
        place.write(&format!("{folder}/{n}.txt"), &lines);
    }
    for (tool, arguments) in [
        (ListFiles, json!({})),
        (Grep, json!({"pattern": "学", "files": "*.txt"})),
    ] {
        let text = place.text(tool, arguments);
        assert!(text.len() < 50_200, "{} {}", tool.name(), text.len());
        assert!(text.contains("[only the first "), "{}", tool.name());
    }
}

#[test]
fn a_file_name_cannot_pass_for_two_lines() {
    let mut place = Place::new();
    place.write("a\nb.txt", "token\n");
    place.write("c\u{1b}[31m.txt", "token\n");
    assert_eq!(
        place.text(ListFiles, json!({})),
        "\"a\\nb.txt\"\n\"c\\u{1b}[31m.txt\""
    );
    let found = place.text(Grep, json!({"pattern": "token"}));
    assert!(found.starts_with("\"a\\nb.txt\":1: token\n"), "{found}");
    assert_eq!(place.text(ReadFile, json!({"path": "a\nb.txt"})), "token\n");
}

#[test]
fn names_that_some_file_systems_take_for_git_are_protected() {
    let mut place = Place::new();
    for path in [
        ".git",
        ".GiT/config",
        ".g\u{200c}it/config",
        "sub/.git\u{feff}/x",
    ] {
        let refused = place.error(WriteFile, json!({"path": path, "content": "x"}));
        assert!(
            refused.ends_with("belongs to git, so tools never change it"),
            "{refused}"
        );
    }
    place.text(WriteFile, json!({"path": ".gitignore", "content": "x"}));
    assert_eq!(fs::read_dir(place.folder.path()).unwrap().count(), 1);
}

#[test]
fn a_conversation_stays_protected_however_it_is_named_and_saved() {
    let mut place = Place::new();
    place.write("real/talk.msg.md", "# %%\n");
    symlink("real/talk.msg.md", place.path("link.msg.md")).unwrap();
    let root = place.folder.path().to_path_buf();
    let mut folder = Folder::open(&root).unwrap();
    folder.protect(&place.path("link.msg.md"), "is this conversation");
    // Folders that do not exist yet.
    folder.hide(&place.path("home/share/state"), "belongs to Analects");
    place.workspace = Workspace::new(folder);
    // Saving replaces the file, so it has another inode than at the start.
    place.write("real/new", "# %%\n\nsaved\n");
    fs::rename(place.path("real/new"), place.path("real/talk.msg.md")).unwrap();
    fs::hard_link(place.path("real/talk.msg.md"), place.path("same.md")).unwrap();
    for path in ["real/talk.msg.md", "same.md", "home/share/state/journal"] {
        let refused = place.error(WriteFile, json!({"path": path, "content": "forged"}));
        assert!(
            refused.ends_with("so tools never change it"),
            "{path}: {refused}"
        );
    }
    assert!(!place.path("home").exists());
    // Once they exist, another name for the same folder is closed, too. A file system that ignores case has such names;
    // here, a folder is moved.
    place.write("home/share/state/journal", "kept");
    let mut folder = Folder::open(&place.path("home/share/state")).unwrap();
    folder.hide(&place.path("home/share/state"), "belongs to Analects");
    place.workspace = Workspace::new(folder);
    let refused = place.error(ReadFile, json!({"path": "journal"}));
    assert_eq!(
        refused,
        "journal: belongs to Analects, so tools never read it"
    );
}

#[test]
fn a_replaced_file_gains_no_rights_and_keeps_its_protection() {
    let mut place = Place::new();
    place.write("run", "old");
    let set = |mode| fs::set_permissions(place.path("run"), fs::Permissions::from_mode(mode));
    set(0o6755).unwrap();
    tool_ok(&mut place, json!({"path": "run", "content": "new"}));
    let mode = fs::metadata(place.path("run"))
        .unwrap()
        .permissions()
        .mode();
    assert_eq!(mode & 0o7777, 0o755);
    fs::set_permissions(place.path("run"), fs::Permissions::from_mode(0o444)).unwrap();
    let refused = place.error(WriteFile, json!({"path": "run", "content": "x"}));
    assert_eq!(refused, "run: is read-only");
    assert_eq!(fs::read_to_string(place.path("run")).unwrap(), "new");
}

#[track_caller]
fn tool_ok(place: &mut Place, arguments: serde_json::Value) {
    place.text(WriteFile, arguments);
}

#[test]
fn a_folder_that_becomes_a_link_while_calls_run_leads_nowhere() {
    use std::sync::atomic::{AtomicBool, Ordering};
    let mut place = Place::new();
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("a.txt"), "token outside").unwrap();
    place.write("real/a.txt", "token inside");
    let is_over = AtomicBool::new(false);
    let (swapped, kept) = (place.path("sub"), place.path("real"));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                _ = symlink(outside.path(), &swapped);
                _ = fs::remove_file(&swapped);
                _ = fs::rename(&kept, &swapped);
                _ = fs::rename(&swapped, &kept);
            }
        });
        for round in 0..500 {
            for (tool, arguments) in [
                (ReadFile, json!({"path": "sub/a.txt"})),
                (Grep, json!({"pattern": "token"})),
                (Grep, json!({"pattern": "token", "path": "sub"})),
                (
                    WriteFile,
                    json!({"path": "sub/b.txt", "content": format!("{round}")}),
                ),
            ] {
                if let Ok(output) = place.call_json(tool, &arguments.to_string()) {
                    assert!(!output.text.contains("outside"), "{}", output.text);
                }
            }
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(fs::read_dir(outside.path()).unwrap().count(), 1);
}

#[test]
fn a_search_ends_when_the_person_stops_it() {
    let mut place = Place::new();
    place.write("a.txt", "token");
    place.workspace.is_stopped = || true;
    for (tool, arguments) in [(Grep, json!({"pattern": "token"})), (ListFiles, json!({}))] {
        assert_eq!(place.error(tool, arguments), "the person stopped this call");
    }
}
