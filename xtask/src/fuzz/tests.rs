//! What the arguments mean, and what a run says at its end.

use super::*;

fn known() -> Vec<String> {
    vec!["message_file".to_string(), "sse".to_string()]
}

#[test]
fn arguments_name_a_target_a_time_or_an_input() {
    let names = known();
    let search = |targets: &[&str], seconds| {
        let targets = targets.iter().map(ToString::to_string).collect();
        Ok(Wish::Search { targets, seconds })
    };
    assert_eq!(wish(&[], &names), search(&["message_file", "sse"], SECONDS));
    assert_eq!(wish(&["5"], &names), search(&["message_file", "sse"], "5"));
    assert_eq!(wish(&["sse"], &names), search(&["sse"], SECONDS));
    assert_eq!(wish(&["sse", "5"], &names), search(&["sse"], "5"));
    let input = Path::new("target/fuzz/crashes/sse/crash-1");
    let again = Wish::Again {
        target: "sse",
        input,
    };
    assert_eq!(
        wish(&["sse", "target/fuzz/crashes/sse/crash-1"], &names),
        Ok(again)
    );
    assert_eq!(
        wish(&["keep", "sse"], &names),
        Ok(Wish::Keep {
            targets: vec!["sse".into()]
        })
    );
    let error = wish(&["ssse"], &names).unwrap_err();
    assert_eq!(
        error,
        "there is no fuzz target ssse\nhint: one of message_file, sse"
    );
    assert!(wish(&["sse", "5", "6"], &names).is_err());
}

#[test]
fn every_folder_of_the_corpus_is_a_target() {
    let names = names(&crate::root());
    assert!(names.contains(&"chat_markdown".to_string()), "{names:?}");
}

#[test]
fn a_crash_comes_with_what_to_do() {
    let output = "x\nartifact_prefix='/r/c/'; Test unit written to /r/target/fuzz/crashes/sse/crash-1\nstat::number_of_executed_units: 17\n";
    assert_eq!(executions(output), Some("17"));
    let said = advice("sse", output, Path::new("/r"));
    assert!(
        said.contains("cargo xtask fuzz sse target/fuzz/crashes/sse/crash-1\n"),
        "{said}"
    );
    assert!(
        said.contains("cp target/fuzz/crashes/sse/crash-1 fuzz/corpus/sse/"),
        "{said}"
    );
    assert!(advice("sse", "", Path::new("/r")).contains("without an input"));
}
