//! The set-ups of the guide in real editors: while an answer grows in the file, the editor shows it, and what is
//! saved in the editor is answered.
#![cfg(unix)]

use std::process::{Child, Command, Stdio};

use crate::sandbox::{Sandbox, skip};
use crate::server::{Server, answer, in_halves};

const GUIDE: &str =
    include_str!(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/guide/editors.md"));

/// The first block of that language in the guide.
fn block(language: &str) -> &'static str {
    let (_, rest) = GUIDE.split_once(&format!("```{language}\n")).unwrap();
    rest.split_once("```\n").unwrap().0
}

/// A watched file that nobody has typed into, and an answer whose second half comes when the editor, which has seen the
/// first one, writes a file `go`.
fn begin() -> (Sandbox, Server, Child) {
    let sandbox = Sandbox::new();
    let script = in_halves("The first half\n", sandbox.path("go"), "and the second half.");
    let server = Server::new(vec![script, answer(&["No more."])]);
    let sandbox = sandbox.with_server(&server.base_url);
    sandbox.write("a.msg.md", "---\nagents:\n  tiny:\n    models: [openai/tiny]\n---\n");
    let watching = sandbox.spawn(&["chat", "--watch", "a.msg.md"]);
    (sandbox, server, watching)
}

/// What the editor saw: it typed and saved a question, looked until both halves had come, and typed the next
/// question into the empty cell that was ready then.
fn check(sandbox: &Sandbox, mut watching: Child, editor: std::process::Output) {
    watching.kill().unwrap();
    watching.wait().unwrap();
    let said = String::from_utf8_lossy(&editor.stderr).into_owned();
    assert!(editor.status.success(), "{said}\n{}", sandbox.read("a.msg.md"));
    let said = ["Why?", "The first half\nand the second half.", "And then?", "No more."];
    assert_eq!(sandbox.texts("a.msg.md"), said);
    // The first cell was typed; the second one is the one that was ready, and now another one is.
    let file = sandbox.read("a.msg.md");
    assert!(file.ends_with("No more.\n\n# %%\n") && file.matches("# %%\n").count() == 3, "{file}");
    let seen = sandbox.read("seen");
    let (first, second) = seen.split_once("-----\n").unwrap();
    assert!(first.contains("The first half") && !first.contains("second half"), "{first}");
    assert!(second.contains("and the second half."), "{second}");
}

#[test]
fn neovim_shows_the_answer_while_it_grows() {
    let test = "neovim_shows_the_answer_while_it_grows";
    if Command::new("nvim").arg("--version").output().is_err() {
        return skip(test, "no nvim");
    }
    let (sandbox, _server, watching) = begin();
    let drive = r##"
vim.cmd("edit a.msg.md")
local last = vim.api.nvim_buf_line_count(0)
vim.api.nvim_buf_set_lines(0, last, last, false, { "", "# %%", "", "Why?" })
vim.cmd("silent write")
local function text() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false), "\n") end
local function wait_for(what)
  if not vim.wait(20000, function() return text():find(what, 1, true) ~= nil end, 50) then
    io.stderr:write(what .. " never came: " .. text())
    vim.cmd("cquit")
  end
  return text()
end
local first = wait_for("The first half")
io.open("go", "w"):close()
local second = wait_for("and the second half.\n\n# %%")
local keys = vim.api.nvim_replace_termcodes("\\qAnd then?<Esc>", true, false, true)
vim.api.nvim_feedkeys(keys, "mx", false)
vim.cmd("silent write")
wait_for("No more.\n\n# %%")
local out = io.open("seen", "w")
out:write(first .. "\n-----\n" .. second)
out:close()
vim.cmd("qall!")
"##;
    sandbox.write("init.lua", format!("{}\n{drive}", block("lua")));
    let editor = Command::new("nvim")
        .args(["--headless", "-n", "-u", "NONE", "-c", "luafile init.lua"])
        .current_dir(sandbox.path(""))
        .env("HOME", sandbox.path("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    check(&sandbox, watching, editor);
}

#[test]
fn emacs_shows_the_answer_while_it_grows() {
    let test = "emacs_shows_the_answer_while_it_grows";
    if Command::new("emacs").arg("--version").output().is_err() {
        return skip(test, "no emacs");
    }
    let (sandbox, _server, watching) = begin();
    let drive = r##"
(setq make-backup-files nil auto-save-default nil create-lockfiles nil)
(find-file "a.msg.md")
(goto-char (point-max))
(insert "\n# %%\n\nWhy?\n")
(save-buffer)
(defun wait-for (what)
  (let ((tries 400))
    (while (and (> tries 0) (not (string-search what (buffer-string))))
      (setq tries (1- tries))
      (sleep-for 0.05))
    (unless (string-search what (buffer-string))
      (error "%s never came: %s" what (buffer-string)))
    (buffer-string)))
(let* ((first (prog1 (wait-for "The first half") (write-region "" nil "go")))
       (second (wait-for "and the second half.\n\n# %%\n")))
  (goto-char (point-max))
  (insert "\nAnd then?\n")
  (save-buffer)
  (wait-for "No more.\n\n# %%\n")
  (with-temp-file "seen" (insert first "\n-----\n" second)))
"##;
    sandbox.write("init.el", format!("{}\n{drive}", block("elisp")));
    let editor = Command::new("emacs")
        .args(["--batch", "--quick", "--load", "init.el"])
        .current_dir(sandbox.path(""))
        .env("HOME", sandbox.path("home"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    check(&sandbox, watching, editor);
}

#[test]
fn the_task_of_the_guide_is_json_and_its_arguments_are_known() {
    let task: serde_json::Value = serde_json::from_str(block("json")).unwrap();
    let task = &task["tasks"][0];
    assert_eq!(task["command"], "analects");
    let args: Vec<&str> =
        task["args"].as_array().unwrap().iter().map(|arg| arg.as_str().unwrap()).collect();
    let sandbox = Sandbox::new();
    let args: Vec<&str> =
        args.into_iter().map(|arg| if arg == "${file}" { "gone.msg.md" } else { arg }).collect();
    // The file is not there, but the command understood what it was told.
    assert_eq!(sandbox.run(&args).code, Some(3));
}
