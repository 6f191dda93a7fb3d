//! The guards of the pure crates really bite: a small workspace with a planted fault, checked by the
//! real clippy and the real `cargo tree`.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Output;

use xtask::steps::cargo;
use xtask::tidy::{cargo_tree, purity};

/// A workspace of its own in a temporary folder, gone when dropped.
struct Workspace(PathBuf);

impl Workspace {
    fn new(name: &str) -> Workspace {
        let dir = std::env::temp_dir().join(format!("analects-{name}-{}", std::process::id()));
        let workspace = Workspace(dir);
        workspace.write(
            "Cargo.toml",
            "[workspace]\nresolver = \"3\"\nmembers = [\"crates/*\"]\n",
        );
        let rules = fs::read_to_string(xtask::root().join("clippy.toml")).expect("clippy.toml");
        workspace.write("clippy.toml", &rules);
        workspace
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.0.join(path);
        fs::create_dir_all(path.parent().expect("a parent")).expect("a folder");
        fs::write(path, text).expect("a file");
    }

    fn add_crate(&self, name: &str, dependencies: &str, code: &str) {
        let manifest = format!(
            "[package]\nname = \"{name}\"\nversion = \"0.1.0\"\nedition = \"2024\"\n\n\
             [lints.clippy]\ndisallowed_methods = \"allow\"\ndisallowed_types = \"allow\"\n\n\
             [dependencies]\n{dependencies}\n"
        );
        self.write(&format!("crates/{name}/Cargo.toml"), &manifest);
        self.write(
            &format!("crates/{name}/src/lib.rs"),
            &format!("//! Planted.\n{code}\n"),
        );
    }

    fn clippy(&self) -> Output {
        let args = ["clippy", "--offline", "--quiet", "--", "-D", "warnings"];
        let mut command = cargo(&self.0, &args);
        command
            .env("CARGO_TARGET_DIR", self.0.join("target"))
            .output()
            .expect("cargo clippy")
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn said(output: &Output) -> String {
    String::from_utf8_lossy(&output.stderr).into_owned()
}

fn pure(body: &str) -> String {
    format!("{}\n\n/// Planted.\n{body}", purity::DENY_LINE)
}

/// Code of a pure crate, and what clippy must name in it.
const PLANTED: &[(&str, &str)] = &[
    (
        "pub fn f() -> bool { std::fs::read(\"x\").is_ok() }",
        "std::fs::read",
    ),
    (
        "pub fn f(path: &std::path::Path) -> bool { path.exists() }",
        "std::path::Path::exists",
    ),
    (
        "pub fn f(file: std::fs::File) { drop(file) }",
        "std::fs::File",
    ),
    (
        "pub fn f() -> bool { std::env::var(\"X\").is_ok() }",
        "std::env::var",
    ),
    (
        "pub fn f() { let _ = std::time::SystemTime::now(); }",
        "std::time::SystemTime::now",
    ),
    (
        "pub fn f() -> bool { std::net::TcpStream::connect(\"x\").is_ok() }",
        "std::net::TcpStream",
    ),
    ("pub fn f() { std::process::exit(1) }", "std::process::exit"),
    (
        "pub fn f() { std::thread::spawn(|| ()); }",
        "std::thread::spawn",
    ),
    (
        "pub fn f() -> std::io::Stdout { std::io::stdout() }",
        "std::io::stdout",
    ),
];

#[test]
fn clippy_finds_a_planted_call_in_a_pure_crate() {
    let workspace = Workspace::new("clippy");
    workspace.add_crate("analects-core", "", &pure("pub fn f() -> usize { 1 }"));
    let good = workspace.clippy();
    assert!(good.status.success(), "{}", said(&good));
    for (code, name) in PLANTED {
        workspace.add_crate("analects-core", "", &pure(code));
        let bad = workspace.clippy();
        assert!(!bad.status.success(), "clippy let {name} pass");
        assert!(said(&bad).contains(&format!("`{name}`")), "{}", said(&bad));
    }
}

#[test]
fn clippy_lets_the_same_call_pass_elsewhere() {
    let workspace = Workspace::new("elsewhere");
    workspace.add_crate("analects-store", "", &format!("/// X.\n{}", PLANTED[0].0));
    let good = workspace.clippy();
    assert!(good.status.success(), "{}", said(&good));
}

fn below(root: &Path) -> Vec<String> {
    let package = ["--offline", "--package", "analects-core", "--no-dedupe"];
    let tree = cargo_tree(root, &[purity::DEPTHS, &package].concat());
    let found = purity::check_below(&tree.expect("cargo tree"));
    found.into_iter().map(|finding| finding.message).collect()
}

#[test]
fn a_planted_dependency_of_a_pure_crate_is_found() {
    let workspace = Workspace::new("tree");
    workspace.add_crate("tokio", "", "");
    workspace.add_crate("between", "", "");
    workspace.add_crate("analects-core", "between = { path = \"../between\" }", "");
    assert!(below(&workspace.0).is_empty());

    workspace.add_crate("between", "tokio = { path = \"../tokio\" }", "");
    let expected = "a pure crate depends on tokio: analects-core → between → tokio";
    assert_eq!(below(&workspace.0), [expected]);
}
