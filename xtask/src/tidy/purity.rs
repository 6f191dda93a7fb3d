//! Who may depend on whom: nothing that does I/O below a pure crate, and no edge between crates that
//! the plan of the house does not have. Reads the output of `cargo tree --prefix depth`. What the
//! code of a pure crate may call is clippy's to check; here we only see that it is asked to.

use super::{File, Finding};

/// The crates that touch nothing outside themselves.
pub const PURE: &[&str] = &[
    "analects-core",
    "analects-formats",
    "analects-context",
    "analects-providers",
];

/// What tests share. Dev-dependencies alone may name it.
pub const TESTKIT: &str = "analects-testkit";

/// The line that makes clippy deny, in a pure crate, what clippy.toml lists.
pub const DENY_LINE: &str =
    "#![cfg_attr(not(test), deny(clippy::disallowed_methods, clippy::disallowed_types))]";

/// Each crate of the workspace, with those of them that it may depend on.
const EDGES: &[(&str, &[&str])] = &[
    ("analects-core", &[]),
    ("analects-formats", &["analects-core"]),
    ("analects-context", &["analects-core"]),
    ("analects-providers", &["analects-core"]),
    ("analects-lease", &[]),
    (
        "analects-store",
        &["analects-core", "analects-formats", "analects-lease"],
    ),
    ("analects-client", &["analects-core", "analects-providers"]),
    ("analects-local", &[]),
    (
        "analects-tools",
        &["analects-core", "analects-context", "analects-store"],
    ),
    (
        "analects-runtime",
        &[
            "analects-core",
            "analects-formats",
            "analects-context",
            "analects-providers",
            "analects-store",
            "analects-client",
        ],
    ),
    (
        "analects",
        &[
            "analects-core",
            "analects-formats",
            "analects-context",
            "analects-providers",
            "analects-store",
            "analects-client",
            "analects-local",
            "analects-runtime",
            "analects-tools",
        ],
    ),
    // For tests: it stands below no crate that ships, so no other line may name it.
    (
        TESTKIT,
        &["analects-core", "analects-formats", "analects-store"],
    ),
    ("analects-fuzz", PURE),
    ("xtask", &[]),
];

/// Crates that bring async, network, files, a clock or randomness.
const IMPURE: &[&str] = &[
    "async-io",
    "async-std",
    "curl",
    "fastrand",
    "getrandom",
    "h2",
    "hyper",
    "mio",
    "native-tls",
    "notify",
    "openssl",
    "openssl-sys",
    "polling",
    "quinn",
    "rand",
    "rand_core",
    "reqwest",
    "ring",
    "rustls",
    "smol",
    "socket2",
    "tempfile",
    "time",
    "tokio",
    "tracing",
    "ureq",
    "walkdir",
];

const MANIFEST: &str = "Cargo.toml";

/// `cargo tree` puts each line's depth in front of it, and lists what ships.
pub const DEPTHS: &[&str] = &["--prefix", "depth", "--edges", "normal"];

/// What to ask of `cargo tree` for [`check_edges`].
pub fn edges_args() -> Vec<&'static str> {
    [DEPTHS, &["--workspace", "--depth", "1"]].concat()
}

/// What to ask of `cargo tree` for [`check_below`].
pub fn below_args() -> Vec<&'static str> {
    let packages = PURE.iter().flat_map(|name| ["--package", name]);
    let depths = DEPTHS.iter().copied();
    depths.chain(packages).chain(["--no-dedupe"]).collect()
}

/// The depth and the name of a line such as `1serde v1.0.0 (*)`.
fn parse(line: &str) -> Option<(usize, &str)> {
    let name = line.trim_start_matches(|c: char| c.is_ascii_digit());
    let depth = line[..line.len() - name.len()].parse().ok()?;
    Some((depth, name.split(' ').next()?))
}

/// Every dependency of a pure crate that is not pure, with the way to it.
pub fn check_below(tree: &str) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut way: Vec<&str> = Vec::new();
    for (depth, name) in tree.lines().filter_map(parse) {
        way.truncate(depth);
        way.push(name);
        if depth > 0 && IMPURE.contains(&name) {
            let path = manifest(way[0]);
            let message = format!("a pure crate depends on {name}: {}", way.join(" → "));
            let hint = "move what needs it to store, client or runtime, or switch the feature off";
            found.push(Finding::failure(&path, 1, message, hint));
        }
    }
    found
}

/// Every edge inside the workspace that the plan of the house does not have.
pub fn check_edges(tree: &str) -> Vec<Finding> {
    let lines: Vec<(usize, &str)> = tree.lines().filter_map(parse).collect();
    let members: Vec<&str> = lines
        .iter()
        .filter(|line| line.0 == 0)
        .map(|line| line.1)
        .collect();
    let mut found = Vec::new();
    let mut from = "";
    for (depth, name) in lines {
        if depth == 0 {
            from = name;
            found.extend(unplaced(name));
        } else if members.contains(&name) && !may_depend(from, name) {
            let message = format!("{from} depends on {name}, which the plan does not have");
            let hint = match name {
                TESTKIT => "name it among the dev-dependencies",
                _ => "let the crate above both bring them together",
            };
            found.push(Finding::failure(&manifest(from), 1, message, hint));
        }
    }
    found
}

fn may_depend(from: &str, to: &str) -> bool {
    EDGES
        .iter()
        .any(|(name, below)| *name == from && below.contains(&to))
}

fn unplaced(name: &str) -> Option<Finding> {
    let is_placed = EDGES.iter().any(|(placed, _)| *placed == name);
    let message = format!("the crate {name} has no place in the plan");
    let hint = "give it one in EDGES of xtask/src/tidy/purity.rs";
    (!is_placed).then(|| Finding::failure(MANIFEST, 1, message, hint))
}

fn manifest(name: &str) -> String {
    match name {
        "xtask" => format!("xtask/{MANIFEST}"),
        "analects-fuzz" => format!("fuzz/{MANIFEST}"),
        name => format!("crates/{name}/{MANIFEST}"),
    }
}

/// Every pure crate that does not ask clippy to deny what clippy.toml lists.
pub fn check_deny_lines(files: &[File]) -> Vec<Finding> {
    let denies = |path: &str| {
        files
            .iter()
            .any(|file| file.path == path && file.text.lines().any(|line| line == DENY_LINE))
    };
    let paths = PURE.iter().map(|name| format!("crates/{name}/src/lib.rs"));
    let finding = |path: String| {
        let hint = format!("add {DENY_LINE}");
        Finding::failure(
            &path,
            1,
            "a pure crate does not deny the calls that clippy.toml lists",
            &hint,
        )
    };
    paths.filter(|path| !denies(path)).map(finding).collect()
}
