//! The crate declares every name of the original interface, directly or as an alias.

const SOURCES: [&str; 6] = [
    include_str!("../src/normalize.rs"),
    include_str!("../src/tokens.rs"),
    include_str!("../src/plan.rs"),
    include_str!("../src/compact.rs"),
    include_str!("../src/prompt.rs"),
    include_str!("../src/freshness.rs"),
];

const NAMES: &str = "MessageContextManager normalize_messages_for_api count_tokens_from_usage \
    format_system_prompt_with_context FileFreshnessService record_file_read record_file_edit \
    check_file_freshness get_important_files session_files edit_conflicts";

#[test]
fn every_name_is_there() {
    let source = SOURCES.concat();
    let is_there = |name: &str| {
        let ends = |after: &str| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_declared = |word: &&str| source.split(&format!("{word} {name}")).skip(1).any(ends);
        source.contains(&format!("#[doc(alias = \"{name}\")]"))
            || ["pub fn", "pub struct"].iter().any(is_declared)
    };
    let missing: Vec<&str> = NAMES
        .split_whitespace()
        .filter(|name| !is_there(name))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
