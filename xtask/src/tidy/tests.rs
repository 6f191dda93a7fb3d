//! Tests of the checks: each passes on a good tree and fails on a bad one.

use super::{
    File, Finding, Level, code, docs, files, licences, modules, paths, purity, sizes, wording,
};

/// The findings in the form `path:line: message`, without hints.
fn shown(found: &[Finding]) -> Vec<String> {
    found
        .iter()
        .map(|it| format!("{}:{}: {}", it.path, it.line, it.message))
        .collect()
}

fn check(found: Vec<Finding>, expected: &[&str]) {
    assert_eq!(shown(&found), expected);
}

fn tree(list: &[(&str, &str)]) -> Vec<File> {
    list.iter()
        .map(|(path, text)| File::new(path, text))
        .collect()
}

/// The least that the checks of whole trees ask for.
fn tree_with(list: &[(&str, &str)]) -> Vec<File> {
    let mut files = tree(&[
        ("ARCHITECTURE.md", "# Map\n"),
        ("README.md", "#\n"),
        ("README.zh.md", "#\n"),
    ]);
    files.extend(tree(list));
    files
}

#[test]
fn a_file_begins_by_saying_what_it_is() {
    check(
        files::check(&tree_with(&[
            ("build.rs", "//! Builds.\n"),
            ("a/tests/t.rs", "//! T.\n"),
        ])),
        &[],
    );
    let bad = [
        ("build.rs", "fn main() {}\n"),
        ("a/tests/t.rs", "//!\n"),
        ("a/src/e.rs", ""),
    ];
    check(
        files::check(&tree_with(&bad)),
        &[
            "build.rs:1: the first line does not start with `//!`",
            "a/tests/t.rs:1: the first line does not start with `//!`",
            "a/src/e.rs:1: the first line does not start with `//!`",
        ],
    );
}

#[test]
fn a_folder_is_opened_by_a_file_of_its_name() {
    let found = files::check(&tree_with(&[("a/src/b/mod.rs", "//! B.\n")]));
    check(found, &["a/src/b/mod.rs:1: a file is called mod.rs"]);
}

#[test]
fn the_map_is_there_and_short() {
    check(
        files::check(&[]),
        &["ARCHITECTURE.md:1: the map of the house is missing"],
    );
    check(
        files::check(&tree(&[("ARCHITECTURE.md", &"line\n".repeat(300))])),
        &[],
    );
    let found = files::check(&tree(&[("ARCHITECTURE.md", &"line\n".repeat(301))]));
    check(
        found,
        &["ARCHITECTURE.md:301: 301 lines; expected at most 300"],
    );
}

#[test]
fn long_files_are_noted_and_longer_ones_fail() {
    let lines = |count| tree(&[("a/src/b.rs", &"// x\n".repeat(count))]);
    check(sizes::check(&lines(500), &[]), &[]);
    let noted = sizes::check(&lines(501), &[]);
    assert_eq!(noted[0].level, Level::Note);
    check(
        noted,
        &["a/src/b.rs:1: the file has 501 lines; past 500, look twice"],
    );
    let failed = sizes::check(&lines(801), &[]);
    assert_eq!(failed[0].level, Level::Failure);
    check(
        failed,
        &["a/src/b.rs:1: the file has 801 lines; expected at most 800"],
    );
}

fn function(lines: usize) -> Vec<File> {
    // Braces in strings, comments and characters must not end it.
    let body = "    let a = (\"}\", '}', r#\"}\"#); // }\n".repeat(lines - 2);
    tree(&[(
        "a/src/b.rs",
        &format!("//! B.\n\npub fn long(x: [u8; 2]) {{\n{body}}}\nfn next() {{}}\n"),
    )])
}

#[test]
fn long_functions_are_noted_and_longer_ones_fail() {
    check(sizes::check(&function(40), &[]), &[]);
    let noted = sizes::check(&function(41), &[]);
    check(
        noted,
        &["a/src/b.rs:3: the function long has 41 lines; past 40, look twice"],
    );
    let failed = sizes::check(&function(81), &[]);
    assert!(failed[0].is_failure());
    check(
        failed,
        &["a/src/b.rs:3: the function long has 81 lines; expected at most 80"],
    );
}

#[test]
fn an_exception_lets_a_failure_pass_until_it_is_not_needed() {
    let exceptions = &[("a/src/b.rs::long", "a table")];
    check(sizes::check(&function(81), exceptions), &[]);
    let unused =
        "xtask/src/tidy/sizes.rs:1: the exception \"a/src/b.rs::long\" is not needed any more";
    check(sizes::check(&function(12), exceptions), &[unused]);
    // A note needs no exception, so it does not keep one alive.
    let noted = "a/src/b.rs:3: the function long has 50 lines; past 40, look twice";
    check(sizes::check(&function(50), exceptions), &[unused, noted]);
}

#[test]
fn literals_and_comments_are_blanked_in_place() {
    let text =
        "a /* { /* } */ */ b \"\\\"{\" 'x' '\\'' 'é' <'a> r##\"\"#{\"## br\"{\" for\n// {\nc";
    let blanked = code::blank(text);
    let words: Vec<&str> = blanked.split_whitespace().collect();
    assert_eq!(words, ["a", "b", "<'a>", "for", "c"]);
    assert_eq!(blanked.matches('\n').count(), text.matches('\n').count());
}

#[test]
fn functions_without_a_body_are_not_measured() {
    let found =
        code::functions("trait T { fn a(&self) -> [u8; 3]; fn b() {\n}\n} type F = fn (u8);");
    let names: Vec<(&str, usize)> = found
        .iter()
        .map(|it| (it.name.as_str(), it.lines))
        .collect();
    assert_eq!(names, [("b", 2)]);
}

#[test]
fn every_source_file_is_reached_by_a_mod() {
    check(
        modules::check(&tree(&[
            (
                "a/src/lib.rs",
                "//! A.\npub mod b;\n#[cfg(test)]\nmod tests;\nmod inner { mod deep; }\n",
            ),
            ("a/src/b.rs", "//! B.\npub(crate) mod c;\n"),
            ("a/src/b/c.rs", "//! C."),
            ("a/src/inner/deep.rs", "//! Deep."),
            ("a/src/tests.rs", "//! T.\nmod more;"),
            ("a/src/tests/more.rs", "//! More."),
            ("a/src/bin/tool.rs", "//! Tool."),
            ("a/tests/whole.rs", "//! Whole.\nmod common;"),
            ("a/tests/common.rs", "//! Common."),
            ("a/build.rs", "//! Build."),
        ])),
        &[],
    );
}

#[test]
fn a_forgotten_file_is_found() {
    let forgotten = |path: &str| {
        format!("{path}:1: no `mod` declaration reaches this file, so it is never compiled")
    };
    let found = modules::check(&tree(&[
        (
            "a/src/lib.rs",
            "//! A.\n// mod tests;\nconst X: &str = \"mod b;\";\n",
        ),
        ("a/src/tests.rs", "//! T."),
        ("a/src/b.rs", "//! B."),
        ("a/src/b/tests/deep.rs", "//! Deep."),
        ("a/tests/shared/part.rs", "//! Part."),
    ]));
    let paths = [
        "a/src/tests.rs",
        "a/src/b.rs",
        "a/src/b/tests/deep.rs",
        "a/tests/shared/part.rs",
    ];
    assert_eq!(shown(&found), paths.map(forgotten));
}

#[test]
fn a_corpus_has_its_target() {
    let source = [
        ("fuzz/src/lib.rs", "//! F.\nmod json;"),
        ("fuzz/src/json.rs", "//! J.\nname: \"json\","),
    ];
    let mut files = tree(&source);
    files.push(File::new("fuzz/corpus/json/1", "{}"));
    check(modules::check(&files), &[]);
    files.push(File::new("fuzz/corpus/jsom/1", "{}"));
    check(
        modules::check(&files),
        &["fuzz/corpus/jsom:1: no fuzz target is called jsom, so nothing reads this corpus"],
    );
}

const PAGE: &str = "# One\n\n```sh\n# not a heading\nrun\n```\n\n## Two\n\n```text\nwords\n```\n";

#[test]
fn translated_docs_may_differ_in_words_only() {
    let zh = PAGE
        .replace("One", "一")
        .replace("Two", "二")
        .replace("words", "话");
    check(
        docs::check(&tree(&[
            ("README.md", PAGE),
            ("README.zh.md", &zh),
            ("docs/guide/a/b.md", PAGE),
            ("docs/zh/guide/a/b.md", &zh),
            ("docs/reference/only-english.md", PAGE),
        ])),
        &[],
    );
}

#[test]
fn docs_without_their_other_half_are_found() {
    check(docs::check(&[]), &["README.md:1: there is no README"]);
    let alone = [
        ("README.md", PAGE),
        ("docs/guide/a.md", PAGE),
        ("docs/zh/guide/b.md", PAGE),
    ];
    check(
        docs::check(&tree(&alone)),
        &[
            "README.md:1: has no other half; expected README.zh.md",
            "docs/guide/a.md:1: has no other half; expected docs/zh/guide/a.md",
            "docs/zh/guide/b.md:1: has no other half; expected docs/guide/b.md",
        ],
    );
}

#[test]
fn docs_out_of_step_are_found() {
    let with = |zh: &str| docs::check(&tree(&[("README.md", PAGE), ("README.zh.md", zh)]));
    check(
        with(&PAGE.replace("## Two", "### Two")),
        &["README.zh.md:8: heading 2 is level 3; expected level 2, as in README.md"],
    );
    check(
        with(&PAGE.replace("## Two\n", "")),
        &["README.zh.md:1: heading 2 is none; expected level 2, as in README.md"],
    );
    check(
        with(&PAGE.replace("run", "walk")),
        &["README.zh.md:3: a code block differs from README.md:3"],
    );
    check(
        with(&PAGE.replace("```text\nwords\n```\n", "")),
        &["README.zh.md:1: has 1 code blocks; expected 2, as in README.md"],
    );
}

#[test]
fn paths_of_one_machine_are_found() {
    let at = |start: &str| {
        let path = format!("{start}someone/notes");
        paths::check(&tree(&[("a.md", &format!("ok\nsee `{path}`\n"))]), &[])
    };
    for home in ["work", "root", "home", "Users"] {
        let home = format!("/{home}/");
        check(
            at(&home),
            &[&format!(
                "a.md:2: names a path of one machine, below {home}"
            )],
        );
        check(at(&format!("~{home}")), &[]);
        check(at(&format!("a{home}")), &[]);
    }
}

#[test]
fn an_example_of_a_path_can_be_excepted() {
    let line = format!("/{}/ana/talk.msg.md", "home");
    let exceptions = &[("a.md", "an example")];
    check(paths::check(&tree(&[("a.md", &line)]), exceptions), &[]);
    check(
        paths::check(&tree(&[("a.md", "")]), exceptions),
        &["xtask/src/tidy/paths.rs:1: the exception \"a.md\" is not needed any more"],
    );
}

/// A library with this line in its source, and a command with the verb `show`.
fn library(line: &str) -> Vec<File> {
    let source = format!("//! Names `analects show` and `--full`.\n{line}\n");
    tree(&[
        ("crates/analects/src/commands/show.rs", ""),
        ("crates/core/src/a.rs", &source),
    ])
}

#[test]
fn a_library_that_names_a_verb_or_an_option_is_found() {
    let named = |line: &str| wording::check(&library(line), &[]);
    for (line, name) in [
        (
            "const A: &str = \"see analects show FILE\";",
            "analects show",
        ),
        (
            "const A: &str = r#\"use `analects show`\"#;",
            "analects show",
        ),
        ("const A: &str = \"use --full to keep them\";", "--full"),
        (
            "const A: &str = \"é: allow it (--allow-http)\";",
            "--allow-http",
        ),
    ] {
        check(
            named(line),
            &[&format!("crates/core/src/a.rs:2: a library names `{name}`")],
        );
    }
    for line in [
        "const A: &str = \"another analects is writing\"; // analects show --full",
        "const A: &str = \"analects-show shows\";",
        "const A: &str = \"---\\na: b\\n--- x -- y\";",
        "#[cfg(test)]\nmod tests {\n    const A: &str = \"é --full\";\n}",
    ] {
        check(named(line), &[]);
    }
    let after_tests = "#[cfg(test)]\nmod tests;\nconst A: &str = \"--full\";";
    check(
        named(after_tests),
        &["crates/core/src/a.rs:4: a library names `--full`"],
    );
}

#[test]
fn the_command_and_tests_name_verbs_and_options() {
    let line = "const A: &str = \"analects show --full\";";
    for path in [
        "crates/analects/src/a.rs",
        "crates/core/src/tests.rs",
        "crates/core/tests/a.rs",
    ] {
        check(wording::check(&tree(&[(path, line)]), &[]), &[]);
    }
}

#[test]
fn arguments_of_other_programs_are_excepted() {
    let exceptions = &[("crates/core/src/a.rs", "arguments of pip")];
    check(
        wording::check(&library("const A: &str = \"--quiet\";"), exceptions),
        &[],
    );
    let both = "const A: &str = \"--quiet\";\nconst B: &str = \"analects show\";";
    check(
        wording::check(&library(both), exceptions),
        &["crates/core/src/a.rs:3: a library names `analects show`"],
    );
    check(
        wording::check(&library(""), exceptions),
        &[
            "xtask/src/tidy/wording.rs:1: the exception \"crates/core/src/a.rs\" is not needed any more",
        ],
    );
}

#[test]
fn nothing_impure_is_below_a_pure_crate() {
    let good = "0analects-core v0.1.0 (/x/crates/analects-core)\n1jiff v0.2.39\n2jiff-core v0.1.2\n\n\
        0analects-formats v0.1.0 (/x)\n1analects-core v0.1.0 (/x)\n2serde v1.0.229\n";
    check(purity::check_below(good), &[]);
    let planted =
        format!("{good}2http v1.0.0\n3tokio v1.53.0\n1serde v1.0.229 (*)\n1getrandom v0.4.3\n");
    check(
        purity::check_below(&planted),
        &[
            "crates/analects-formats/Cargo.toml:1: a pure crate depends on tokio: analects-formats → analects-core → http → tokio",
            "crates/analects-formats/Cargo.toml:1: a pure crate depends on getrandom: analects-formats → getrandom",
        ],
    );
}

#[test]
fn siblings_do_not_know_each_other() {
    let good = "0analects-core v0.1.0 (/x)\n1serde v1.0.0\n\n\
        0analects-formats v0.1.0 (/x)\n1analects-core v0.1.0 (/x)\n\n0analects-context v0.1.0 (/x)\n";
    check(purity::check_edges(good), &[]);
    let bad = format!("{good}1analects-formats v0.1.0 (/x)\n\n0newcomer v0.1.0 (/x)\n");
    check(
        purity::check_edges(&bad),
        &[
            "crates/analects-context/Cargo.toml:1: analects-context depends on analects-formats, which the plan does not have",
            "Cargo.toml:1: the crate newcomer has no place in the plan",
        ],
    );
}

#[test]
fn no_crate_that_ships_depends_on_the_testkit() {
    let testkit = "0analects-testkit v0.1.0 (/x)\n1analects-core v0.1.0 (/x)\n";
    check(purity::check_edges(testkit), &[]);
    let bad = format!("{testkit}\n0analects v0.1.0 (/x)\n1analects-testkit v0.1.0 (/x)\n");
    check(
        purity::check_edges(&bad),
        &[
            "crates/analects/Cargo.toml:1: analects depends on analects-testkit, which the plan does not have",
        ],
    );
}

#[test]
fn every_pure_crate_asks_clippy_to_deny() {
    let good: Vec<File> = purity::PURE
        .iter()
        .map(|name| {
            File::new(
                &format!("crates/{name}/src/lib.rs"),
                &format!("//! X.\n{}\n", purity::DENY_LINE),
            )
        })
        .collect();
    check(purity::check_deny_lines(&good), &[]);
    let mut bad = good;
    bad[1].text = format!("//! X.\n// {}\n", purity::DENY_LINE);
    check(
        purity::check_deny_lines(&bad),
        &[
            "crates/analects-formats/src/lib.rs:1: a pure crate does not deny the calls that clippy.toml lists",
        ],
    );
}

#[test]
fn a_finding_says_where_what_and_what_to_do() {
    let failure = Finding::failure("a.rs", 3, "is wrong", "mend it");
    assert_eq!(failure.to_string(), "a.rs:3: is wrong\nhint: mend it");
    let note = Finding::note("a.rs", 3, "is long", "look");
    assert_eq!(note.to_string(), "a.rs:3: note: is long\nhint: look");
}

const RULES: &str = r#"[bans]
deny = [
    { crate = "openssl", reason = "rustls is the one TLS" },
]

[licenses]
confidence-threshold = 0.9
allow = [
    "Apache-2.0",
    # Given away: "notify".
    "MIT",
    "Apache-2.0 WITH LLVM-exception",
]

[sources]
unknown-git = "deny"
"#;

#[test]
fn licences_that_are_not_allowed_and_crates_that_are_banned_are_found() {
    let files = tree(&[("deny.toml", RULES)]);
    let good = "a v1.0.0|MIT OR Apache-2.0\na v1.0.0|MIT OR Apache-2.0 (*)\nb v1.0.0 (proc-macro)|MIT/GPL-3.0\n\
                c v1.0.0|(GPL-3.0 OR MIT) AND Apache-2.0\nd v1.0.0|Apache-2.0 WITH LLVM-exception\n\n";
    check(licences::check_crates(&files, good), &[]);
    let bad = "a v1.0.0|MIT AND GPL-3.0\nb v1.0.0|\nc v1.0.0|notify\nd v1.0.0|(MIT OR\ne v1.0.0|MIT WITH a-twist\n\
               f v1.0.0|MIT MIT\nopenssl v1.0.0|Apache-2.0\n";
    check(
        licences::check_crates(&files, bad),
        &[
            "deny.toml:1: a has the licence \"MIT AND GPL-3.0\", which is not allowed",
            "deny.toml:1: b has the licence \"\", which is not allowed",
            "deny.toml:1: c has the licence \"notify\", which is not allowed",
            "deny.toml:1: d has the licence \"(MIT OR\", which is not allowed",
            "deny.toml:1: e has the licence \"MIT WITH a-twist\", which is not allowed",
            "deny.toml:1: f has the licence \"MIT MIT\", which is not allowed",
            "deny.toml:1: openssl is banned, and something depends on it",
        ],
    );
    check(
        licences::check_crates(&[], ""),
        &["deny.toml:1: it is missing"],
    );
}

#[test]
fn crates_from_elsewhere_are_found() {
    let lock = |second: &str| {
        let text =
            format!("source = \"registry+https://a.example\"\nname = \"b\"\nsource = {second}\n");
        licences::check_sources(&[File::new("Cargo.lock", &text)])
    };
    check(lock("\"registry+https://a.example\""), &[]);
    for elsewhere in [
        "\"registry+https://b.example\"",
        "\"git+https://a.example\"",
    ] {
        let expected = format!("Cargo.lock:3: a crate comes from {elsewhere}");
        check(lock(elsewhere), &[&expected]);
    }
}
