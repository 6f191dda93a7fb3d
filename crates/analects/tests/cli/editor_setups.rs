//! Real editors with the settings of the guide: they show an answer once it is in the file, and a saved question is
//! answered. A save at any moment of a turn loses nothing.

use std::process::{Command, Output, Stdio};

use crate::file_watcher::{AGENT, WatchProcess};
use crate::sandbox::{Sandbox, skip, wait_until};
use crate::saves_during_turn::{Conversation, FILE, MOMENTS, PendingSave};
use crate::server::{Server, answer};

const GUIDE: &str = include_str!(concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../../docs/guide/editors.md"
));

/// The first code block in this language in the guide.
fn guide_block(language: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```\n").unwrap().0
}

fn is_installed(editor: &str) -> bool {
    Command::new(editor)
        .arg("--version")
        .output()
        .is_ok_and(|output| output.status.success())
}

/// The editor with these arguments, in its own folder. It saves even if the file has changed on disk.
fn editor_command(sandbox: &Sandbox, program: &str, args: &[&str]) -> Command {
    let mut command = Command::new(program);
    command
        .args(args)
        .current_dir(sandbox.path(""))
        .env("HOME", sandbox.path("home"));
    sandbox.write("yes", "y\n");
    let yes = std::fs::File::open(sandbox.path("yes")).unwrap();
    command
        .stdin(yes)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}

/// Watches a file. The editor saves a question, waits for the answer to appear, and types the next question into the
/// empty cell.
fn assert_watch_answers(start: impl Fn(&Sandbox) -> Output) {
    let server = Server::new(vec![answer(&["The whole answer."]), answer(&["No more."])]);
    let sandbox = Sandbox::new().with_server(&server.base_url);
    sandbox.write(FILE, AGENT);
    let watching = WatchProcess::start(&sandbox, &[]);
    let editor = start(&sandbox);
    let said = String::from_utf8_lossy(&editor.stderr).into_owned();
    assert!(editor.status.success(), "{said}\n{}", sandbox.read(FILE));
    assert_eq!(watching.stop().stderr, "");
    assert_eq!(
        sandbox.message_texts(FILE),
        ["Why?", "The whole answer.", "And then?", "No more."]
    );
}

#[test]
fn neovim_shows_the_answer() {
    if !is_installed("nvim") {
        return skip("neovim_shows_the_answer", "no nvim");
    }
    let drive = r##"
vim.cmd("edit a.msg.md")
local last = vim.api.nvim_buf_line_count(0)
vim.api.nvim_buf_set_lines(0, last, last, false, { "", "# %%", "", "Why?" })
vim.cmd("silent write")
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end
local function wait_for(what)
  if not vim.wait(60000, function() return text():find(what, 1, true) ~= nil end, 50) then
    io.stderr:write(what .. " never came: " .. text())
    vim.cmd("cquit")
  end
end
wait_for("The whole answer.\n\n# %%")
local keys = vim.api.nvim_replace_termcodes("\\qAnd then?<Esc>", true, false, true)
vim.api.nvim_feedkeys(keys, "mx", false)
vim.cmd("silent write")
wait_for("No more.\n\n# %%")
vim.cmd("qall!")
"##;
    assert_watch_answers(|sandbox| {
        sandbox.write("init.lua", format!("{}\n{drive}", guide_block("lua")));
        let args = ["--headless", "-n", "-u", "NONE", "-c", "luafile init.lua"];
        editor_command(sandbox, "nvim", &args).output().unwrap()
    });
}

#[test]
fn emacs_shows_the_answer() {
    if !is_installed("emacs") {
        return skip("emacs_shows_the_answer", "no emacs");
    }
    let drive = r##"
(setq make-backup-files nil auto-save-default nil create-lockfiles nil)
(find-file "a.msg.md")
(goto-char (point-max))
(insert "\n# %%\n\nWhy?\n")
(save-buffer)
(defun wait-for (what)
  (let ((tries 1200))
    (while (and (> tries 0) (not (string-search what (buffer-string))))
      (setq tries (1- tries))
      (sleep-for 0.05))
    (unless (string-search what (buffer-string))
      (error "%s never came: %s" what (buffer-string)))))
(wait-for "The whole answer.\n\n# %%\n")
(goto-char (point-max))
(insert "\nAnd then?\n")
(save-buffer)
(wait-for "No more.\n\n# %%\n")
"##;
    assert_watch_answers(|sandbox| {
        sandbox.write("init.el", format!("{}\n{drive}", guide_block("elisp")));
        let args = ["--batch", "--quick", "--load", "init.el"];
        editor_command(sandbox, "emacs", &args).output().unwrap()
    });
}

/// What Vim and Neovim do: they open the file and wait for a file `save`, then save with a line below the notes,
/// either the old text or after reading it again.
fn vim_script(line: &str, is_older: bool) -> String {
    let read_again = if is_older { "" } else { "edit!" };
    format!(
        "call writefile([], 'open')\nwhile !filereadable('save') | sleep 5m | endwhile\n{read_again}\n\
         call append(match(getline(1, '$'), '^notes:$') + 1, '{line}')\nwrite!\nqall!\n"
    )
}

/// The same for Emacs, which is told to save even if the file has changed.
fn emacs_script(line: &str, is_older: bool) -> String {
    let read_again = if is_older {
        "(set-visited-file-modtime)"
    } else {
        "(revert-buffer t t t)"
    };
    format!(
        "(setq create-lockfiles nil)\n(find-file \"{FILE}\")\n(write-region \"\" nil \"open\")\n\
         (while (not (file-exists-p \"save\")) (sleep-for 0.005))\n{read_again}\n\
         (goto-char (point-min))\n(search-forward \"notes:\\n\")\n(insert \"{line}\\n\")\n(save-buffer)\n"
    )
}

/// Opens the file in an editor whose script saves it later.
fn open_in_editor(sandbox: &Sandbox, program: &str, args: &[&str], script: String) -> PendingSave {
    sandbox.write("script", script);
    let child = editor_command(sandbox, program, args).spawn().unwrap();
    wait_until(&format!("the file, open in {program}"), || {
        sandbox.path("open").exists()
    });
    Box::new(move |sandbox| {
        sandbox.write("save", "");
        let output = child.wait_with_output().unwrap();
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        for name in ["open", "save"] {
            std::fs::remove_file(sandbox.path(name)).unwrap();
        }
    })
}

/// Saves an older text and the current one at every moment of a turn; 300 times under torture.
fn save_at_every_moment(program: &str, args: &[&str], script: fn(&str, bool) -> String) {
    if !is_installed(program) {
        return skip(&format!("editors::saves: {program}"), "it is not there");
    }
    let rounds = if analects_testkit::is_torture() {
        17
    } else {
        1
    };
    for _ in 0..rounds {
        let mut talk = Conversation::new(2 * MOMENTS.len());
        for moment in MOMENTS {
            for is_older in [true, false] {
                let open = |sandbox: &Sandbox, line: &str| {
                    open_in_editor(sandbox, program, args, script(line, is_older))
                };
                talk.turn(moment, &open);
            }
        }
        assert_eq!(talk.recovered, 1);
    }
}

#[test]
fn vim_saving_in_place_loses_nothing() {
    let set = "set backupcopy=yes writebackup";
    let args = [
        "-N", "-u", "NONE", "-i", "NONE", "-n", "-es", "-c", set, "-S", "script", FILE,
    ];
    save_at_every_moment("vim", &args, vim_script);
}

#[test]
fn neovim_saving_by_rename_loses_nothing() {
    let set = "set backupcopy=no writebackup";
    let args = [
        "-u", "NONE", "-i", "NONE", "-n", "-es", "-c", set, "-S", "script", FILE,
    ];
    save_at_every_moment("nvim", &args, vim_script);
}

#[test]
fn emacs_saving_loses_nothing() {
    save_at_every_moment(
        "emacs",
        &["--batch", "--quick", "--load", "script"],
        emacs_script,
    );
}

#[test]
fn the_editor_task_in_the_guide_is_valid() {
    let task: serde_json::Value = serde_json::from_str(guide_block("json")).unwrap();
    let task = &task["tasks"][0];
    assert_eq!(task["command"], "analects");
    let args: Vec<&str> = task["args"]
        .as_array()
        .unwrap()
        .iter()
        .map(|arg| arg.as_str().unwrap())
        .collect();
    let sandbox = Sandbox::new();
    let args: Vec<&str> = args
        .into_iter()
        .map(|arg| if arg == "${file}" { "gone.msg.md" } else { arg })
        .collect();
    // The file does not exist, but the arguments were understood.
    assert_eq!(sandbox.run(&args).code, Some(3));
}
