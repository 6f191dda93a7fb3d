//! Every case of `conformance/message-file` that can be written to says the same when it is tidy.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::fs;
use std::path::Path;

use analects_formats::msgfile::{self, Document, ShowProblem, Splice};
use serde_json::Value;

/// What is shown of a file, without places.
fn shown(document: &Document, name: &str) -> Value {
    let problems = document.problems();
    let problems = problems
        .iter()
        .map(|problem| ShowProblem::new(problem, None))
        .collect();
    let shown = msgfile::show(document, name).with_problems(problems);
    let mut shown = serde_json::to_value(shown).unwrap();
    for cell in shown["cells"].as_array_mut().unwrap() {
        cell.as_object_mut()
            .unwrap()
            .retain(|key, _| key != "line" && key != "end_line");
    }
    for problem in shown["problems"].as_array_mut().unwrap() {
        // Some messages name lines or offsets.
        problem
            .as_object_mut()
            .unwrap()
            .retain(|key, _| key == "code" || key == "severity");
    }
    shown
}

#[test]
fn every_case_reads_the_same_when_it_is_tidy() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../conformance/message-file");
    let (mut seen, mut changed) = (0, 0);
    for case in fs::read_dir(root).unwrap() {
        for entry in fs::read_dir(case.unwrap().path()).unwrap() {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_str().unwrap().to_string();
            if !name.starts_with("input.") {
                continue;
            }
            let before = msgfile::decode_named(fs::read(&path).unwrap(), &name);
            let splices = msgfile::tidy(&before);
            let bytes = Splice::apply_all(&splices, before.source());
            let after = msgfile::decode_named(bytes, &name);
            assert_eq!(
                shown(&after, &name),
                shown(&before, &name),
                "{}",
                path.display()
            );
            assert_eq!(msgfile::tidy(&after), [], "{}", path.display());
            let session = msgfile::session_of(&name);
            // As text, since a cost may be NaN.
            let read = |document| format!("{:?}", msgfile::messages(document, &session).messages);
            assert_eq!(read(&after), read(&before), "{}", path.display());
            (seen, changed) = (seen + 1, changed + usize::from(!splices.is_empty()));
        }
    }
    assert!(
        seen >= 80 && changed >= 20,
        "{changed} of {seen} cases were untidy"
    );
}
