//! `cargo xtask tidy --report`: how large and how dense the shipped code is, in numbers. Nothing here fails a
//! build: it shows a trend, and where to look.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::{File, code};

const LEAST_DOCS: f64 = 0.20;
const MOST_FUNCTION_TOKENS: usize = 40;
const MOST_DENSITY: f64 = 8.5;
const MOST_REPEATED_NAMES: usize = 15;

/// Numbers about a crate, or about all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Numbers {
    /// Files of shipped source.
    pub files: usize,
    /// Lines of code: neither blank, nor comment, nor test.
    pub code: usize,
    /// Lines of documentation comments.
    pub docs: usize,
    /// Lines of tests, blank lines and comments included.
    pub tests: usize,
    /// Names, literals and signs in the lines of code.
    pub tokens: usize,
    /// For each function, how many tokens stand between its braces.
    pub functions: Vec<usize>,
    /// For each function, how many lines it has.
    pub lengths: Vec<usize>,
    /// Arms of a `match` that take whatever is left.
    pub wildcards: usize,
    /// Arms of a `match` on `true` and `false`.
    pub bool_arms: usize,
    /// Closures with a name.
    pub closures: usize,
    /// Bindings of several names at once.
    pub tuples: usize,
}

impl Numbers {
    /// Lines of documentation for each line of code.
    pub fn docs_per_code(&self) -> f64 {
        self.docs as f64 / self.code.max(1) as f64
    }

    /// Tokens for each line of code.
    pub fn density(&self) -> f64 {
        self.tokens as f64 / self.code.max(1) as f64
    }

    /// The number that this share of the functions does not exceed, in tokens.
    pub fn function_tokens(&self, share: f64) -> usize {
        quantile(&self.functions, share)
    }

    /// The same in lines.
    pub fn function_lines(&self, share: f64) -> usize {
        quantile(&self.lengths, share)
    }

    fn add(&mut self, other: &Numbers) {
        self.files += other.files;
        self.code += other.code;
        self.docs += other.docs;
        self.tests += other.tests;
        self.tokens += other.tokens;
        self.functions.extend(&other.functions);
        self.lengths.extend(&other.lengths);
        self.wildcards += other.wildcards;
        self.bool_arms += other.bool_arms;
        self.closures += other.closures;
        self.tuples += other.tuples;
    }

    fn row(&self, name: &str) -> String {
        let docs = self.docs_per_code();
        let density = self.density();
        let function = format!(
            "{}/{}",
            self.function_tokens(0.5),
            self.function_tokens(0.9)
        );
        let length = format!("{}/{}", self.function_lines(0.5), self.function_lines(0.9));
        format!(
            "{name:<20} {:>5} {:>6} {:>6} {docs:>5.2} {density:>6.1} {function:>9} {length:>7} {:>5} {:>5} {:>5} {:>5}\n",
            self.files,
            self.code,
            self.tests,
            self.wildcards,
            self.bool_arms,
            self.closures,
            self.tuples,
        )
    }
}

fn quantile(values: &[usize], share: f64) -> usize {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    let at = (sorted.len() as f64 * share) as usize;
    sorted
        .get(at.min(sorted.len().saturating_sub(1)))
        .copied()
        .unwrap_or_default()
}

/// How often a name of a type is used for a type of its own, with the files that define it.
pub type TypeNames = BTreeMap<String, Vec<String>>;

/// The numbers of each crate that ships, by name.
pub fn numbers(files: &[File]) -> BTreeMap<String, Numbers> {
    let mut crates: BTreeMap<String, Numbers> = BTreeMap::new();
    let tests = TestFiles::of(files);
    for file in files {
        let Some(name) = crate_of(file) else { continue };
        let numbers = crates.entry(name.to_string()).or_default();
        if tests.contains(file) {
            numbers.tests += file.text.lines().count();
        } else {
            numbers.add(&of_file(&file.text));
        }
    }
    crates
}

/// The types that shipped code defines under one name more than `often` times.
pub fn names_defined_more_than(files: &[File], often: usize) -> TypeNames {
    let mut names = TypeNames::new();
    let tests = TestFiles::of(files);
    for file in files {
        if crate_of(file).is_none() || tests.contains(file) {
            continue;
        }
        for name in types(&code::shipped(&file.text)) {
            names.entry(name).or_default().push(file.path.clone());
        }
    }
    names.retain(|_, places| places.len() > often);
    names
}

/// The whole report.
pub fn report(files: &[File]) -> String {
    let mut out = format!(
        "{:<20} {:>5} {:>6} {:>6} {:>5} {:>6} {:>9} {:>7} {:>5} {:>5} {:>5} {:>5}\n",
        "crate",
        "files",
        "code",
        "tests",
        "docs",
        "tok/ln",
        "fn tokens",
        "lines",
        "_ =>",
        "bool",
        "|..|",
        "(,)=",
    );
    let mut all = Numbers::default();
    let crates = numbers(files);
    for (name, numbers) in &crates {
        out += &numbers.row(name);
        all.add(numbers);
    }
    out += &all.row("all");
    let repeated = names_defined_more_than(files, 2);
    out += &goals(&crates, &all, repeated.len());
    let _ = writeln!(
        out,
        "\ntype names defined more than twice: {}",
        repeated.len()
    );
    for (name, paths) in repeated {
        let _ = writeln!(out, "  {name} {}: {}", paths.len(), paths.join(" "));
    }
    out
}

/// Whether each goal is met, with the number that decides it.
fn goals(crates: &BTreeMap<String, Numbers>, all: &Numbers, repeated_names: usize) -> String {
    let poor: Vec<String> = crates
        .iter()
        .filter(|(_, numbers)| numbers.docs_per_code() < LEAST_DOCS)
        .map(|(name, numbers)| format!(" {name} {:.3}", numbers.docs_per_code()))
        .collect();
    let median = all.function_tokens(0.5);
    let density = all.density();
    let below = if poor.is_empty() { "" } else { ", below it:" };
    let docs = format!(
        "docs/code >= {LEAST_DOCS:.2} in every crate: {:.3} in all{below}{}",
        all.docs_per_code(),
        poor.join(","),
    );
    let function = format!("median function <= {MOST_FUNCTION_TOKENS} tokens: {median}");
    let line = format!("tokens a line <= {MOST_DENSITY}: {density:.2}");
    let names = format!("names defined more than twice <= {MOST_REPEATED_NAMES}: {repeated_names}");
    [
        "\ngoals:\n".to_string(),
        goal(poor.is_empty(), &docs),
        goal(median <= MOST_FUNCTION_TOKENS, &function),
        goal(density <= MOST_DENSITY, &line),
        goal(repeated_names <= MOST_REPEATED_NAMES, &names),
    ]
    .concat()
}

fn goal(is_met: bool, text: &str) -> String {
    let answer = if is_met { "met    " } else { "not met" };
    format!("  {answer}  {text}\n")
}

/// The crate of a file, if it ships or tests one that does.
fn crate_of(file: &File) -> Option<&str> {
    let name = file.path.strip_prefix("crates/")?.split('/').next()?;
    let ships = file.is_rust() && name != "analects-testkit";
    ships.then_some(name)
}

/// The files that are there for tests alone.
struct TestFiles {
    /// The path, without `.rs`, of each module that its parent declares below `#[cfg(test)]`.
    modules: BTreeSet<String>,
}

impl TestFiles {
    fn of(files: &[File]) -> TestFiles {
        let mut modules = BTreeSet::new();
        for file in files.iter().filter(|file| file.is_rust()) {
            let names = code::test_modules(&code::blank(&file.text));
            modules.extend(names.iter().map(|name| format!("{}/{name}", folder(file))));
        }
        TestFiles { modules }
    }

    fn contains(&self, file: &File) -> bool {
        let is_source = file.path.split('/').nth(2) == Some("src");
        if !is_source || file.path.contains("/tests/") || file.name() == "tests.rs" {
            return true;
        }
        let module = file.path.trim_end_matches(".rs");
        self.modules.contains(module)
            || self.modules.iter().any(|parent| {
                module
                    .strip_prefix(parent.as_str())
                    .is_some_and(|rest| rest.starts_with('/'))
            })
    }
}

/// The folder of a file's submodules.
fn folder(file: &File) -> &str {
    let is_root = ["lib.rs", "main.rs"].contains(&file.name());
    let end = if is_root {
        file.name().len() + 1
    } else {
        ".rs".len()
    };
    &file.path[..file.path.len().saturating_sub(end)]
}

fn of_file(text: &str) -> Numbers {
    let shipped = code::shipped(text);
    let tokens = code::tokens(&shipped);
    let pairs = || tokens.windows(2);
    let mut numbers = Numbers {
        files: 1,
        code: shipped
            .lines()
            .filter(|line| !line.trim().is_empty())
            .count(),
        docs: code::doc_line_count(text),
        tests: code::test_line_count(text),
        tokens: tokens.len(),
        ..Numbers::default()
    };
    for window in tokens.windows(3) {
        let is_arm = window[1..] == ["=", ">"];
        numbers.wildcards += usize::from(is_arm && window[0] == "_");
        numbers.bool_arms += usize::from(is_arm && ["true", "false"].contains(&window[0]));
    }
    numbers.tuples = pairs().filter(|pair| *pair == ["let", "("]).count();
    numbers.closures = tokens
        .windows(4)
        .filter(|window| is_named_closure(window))
        .count();
    for function in code::functions(&shipped) {
        let lines = shipped.lines().skip(function.line - 1).take(function.lines);
        let whole = lines.collect::<Vec<_>>().join("\n");
        let body = whole.find('{').map_or("", |at| &whole[at..]);
        numbers
            .functions
            .push(code::tokens(body).len().saturating_sub(2));
        numbers.lengths.push(function.lines);
    }
    numbers
}

/// `let name = |…` and `let name = move |…`; of `let mut name = |…`, all but the `let`.
fn is_named_closure(window: &[&str]) -> bool {
    let is_binding = ["let", "mut"].contains(&window[0]) && window[2] == "=";
    is_binding && ["|", "move"].contains(&window[3])
}

/// The names of the types that shipped code defines. A `type` in a trait or an `impl` does not count, since the trait
/// chose its name, and a name that a macro puts together does not either.
fn types(shipped: &str) -> Vec<String> {
    let tokens = code::tokens(shipped);
    let mut names = Vec::new();
    // For each open brace, whether a trait or an `impl` opened it.
    let mut blocks = Vec::new();
    let mut header = 0;
    for (at, pair) in tokens.windows(2).enumerate() {
        match pair[0] {
            "{" => blocks.push(opens_a_trait(&tokens[header..at])),
            "}" => _ = blocks.pop(),
            _ => {}
        }
        if ["{", "}", ";"].contains(&pair[0]) {
            header = at + 1;
        }
        let is_definition = match pair[0] {
            "struct" | "enum" | "trait" | "union" => true,
            "type" => blocks.last() != Some(&true),
            _ => false,
        };
        if is_definition && pair[1].starts_with(|c: char| c.is_ascii_uppercase()) {
            names.push(pair[1].to_string());
        }
    }
    names
}

/// Whether the tokens before an open brace are those of a trait or an `impl`.
fn opens_a_trait(header: &[&str]) -> bool {
    let has = |word: &str| header.contains(&word);
    (has("trait") || has("impl")) && !has("fn")
}

#[cfg(test)]
mod tests {
    //! Numbers of small files, counted by hand.

    use super::*;

    const SOURCE: &str = r##"//! A file.

/// Says hello. // not code
pub fn hello(to: Option<&str>) -> usize {
    let is_open = |text: &str| text.len() > 2; // a closure with a name
    let (a, b) = ("one", 'x');
    match to {
        Some("{ _ => }") => 1,
        _ => 2,
    }
}

/* nothing
   here */
struct Kind;

#[cfg(test)]
use std::fmt;

#[cfg(test)]
mod tests {
    /// Not a line of documentation.
    enum Kind {}
    fn of_tests() {}
}
"##;

    fn file(path: &str) -> File {
        File::new(path, SOURCE)
    }

    #[test]
    fn comments_and_tests_are_no_code() {
        let numbers = &numbers(&[file("crates/a/src/lib.rs")])["a"];
        assert_eq!(
            (numbers.files, numbers.code, numbers.docs, numbers.tests),
            (1, 9, 2, 8)
        );
        assert_eq!(
            (numbers.wildcards, numbers.closures, numbers.tuples),
            (1, 1, 1)
        );
        assert_eq!((numbers.functions.len(), numbers.lengths[0]), (1, 8));
        assert_eq!(numbers.functions[0], 47);
    }

    #[test]
    fn a_file_of_tests_counts_as_tests_alone() {
        let paths = [
            "crates/a/src/b/tests.rs",
            "crates/a/tests/c.rs",
            "crates/a/src/tests/d.rs",
        ];
        let numbers = &numbers(&paths.map(file))["a"];
        assert_eq!((numbers.files, numbers.code, numbers.tests), (0, 0, 75));
        assert_eq!(
            super::numbers(&[file("crates/analects-testkit/src/lib.rs")]).len(),
            0
        );
    }

    #[test]
    fn names_of_types_are_counted_across_crates() {
        let files = [
            "crates/a/src/a.rs",
            "crates/b/src/b.rs",
            "crates/b/tests/c.rs",
        ]
        .map(file);
        let twice = names_defined_more_than(&files, 1);
        assert_eq!(
            twice.into_iter().collect::<Vec<_>>(),
            [(
                "Kind".to_string(),
                vec![
                    "crates/a/src/a.rs".to_string(),
                    "crates/b/src/b.rs".to_string()
                ]
            )]
        );
        assert!(names_defined_more_than(&files, 2).is_empty());
    }

    #[test]
    fn a_type_that_a_trait_asks_for_is_no_name_of_ours() {
        let source =
            "type Own = u8;\nimpl Iterator for Own {\n    type Item = u8;\n}\nstruct Last;\n";
        assert_eq!(types(source), ["Own", "Last"]);
        let nested =
            "mod a { type Inner = u8; fn f(x: impl T) { struct Local; type Alias = u8; } }";
        assert_eq!(types(nested), ["Inner", "Local", "Alias"]);
        assert!(types("macro_rules! id { ($name:ident) => { pub struct $name(u8); } }").is_empty());
    }

    #[test]
    fn a_module_that_only_tests_have_is_no_code() {
        let files = [
            File::new(
                "crates/a/src/lib.rs",
                "#[cfg(test)]\nmod samples;\nmod b;\n#[cfg(all(test, unix))]\nuse b::{C,\nD};\n",
            ),
            file("crates/a/src/samples.rs"),
            file("crates/a/src/samples/deep.rs"),
            File::new(
                "crates/a/src/b.rs",
                "#[cfg(test)]\nmod samples;\nlet mut c = |d| d;\n",
            ),
        ];
        let numbers = &numbers(&files)["a"];
        assert_eq!((numbers.files, numbers.code, numbers.tests), (2, 2, 57));
        assert_eq!(numbers.closures, 1);
    }

    #[test]
    fn the_goals_are_compared_with_the_numbers() {
        let report = report(&[file("crates/a/src/lib.rs"), file("crates/b/src/lib.rs")]);
        let goals = report.split("goals:\n").nth(1).unwrap_or_default();
        assert_eq!(
            goals,
            "  met      docs/code >= 0.20 in every crate: 0.222 in all
  not met  median function <= 40 tokens: 47
  met      tokens a line <= 8.5: 7.44
  met      names defined more than twice <= 15: 0

type names defined more than twice: 0
"
        );
    }
}
