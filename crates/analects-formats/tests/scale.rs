//! Large and hostile files take linear time, and no stack.
#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::time::{Duration, Instant};

use analects_core::{Message, SessionId};
use analects_formats::msgfile::item::items;
use analects_formats::msgfile::{
    CellsHash, Document, NewCell, append, decode, messages_with_known, show, tidy,
};

/// Reads a file made of `count` pieces and one made of four times as many: the second may take
/// about four times as long, where a quadratic path would take sixteen times.
#[track_caller]
fn check<T: Into<Vec<u8>>>(
    name: &str,
    count: usize,
    file: impl Fn(usize) -> T,
    work: impl Fn(&Document),
) {
    let time = |count: usize| {
        let file = file(count);
        let start = Instant::now();
        work(&decode(file));
        start.elapsed()
    };
    // Other programs take their share of the machine, too: one round of three must do.
    let mut last = (Duration::ZERO, Duration::ZERO);
    let holds = (0..3).any(|_| {
        last = (time(count).min(time(count)), time(4 * count));
        last.1 < 8 * last.0 + Duration::from_millis(100)
    });
    assert!(holds, "{name}: {:?} became {:?}", last.0, last.1);
}

fn everything(document: &Document) {
    document.problems();
    let nothing: HashMap<CellsHash, Message> = HashMap::new();
    messages_with_known(document, &SessionId::default(), &nothing);
    show(document, "x.msg.md");
    tidy(document);
    append(document, &NewCell::message(document.next_id(), "x"));
}

#[track_caller]
fn check_repeated(before: &str, piece: &str, count: usize, after: &str) {
    let file = |count| format!("{before}{}{after}", piece.repeat(count));
    check(piece, count, file, everything);
}

#[test]
fn fence_openers() {
    let longer = |count: usize| -> String {
        (3..count)
            .map(|run| format!("{}\n# %%\n", "`".repeat(run)))
            .collect()
    };
    // These grow with the square of the count by themselves.
    everything(&decode(longer(600)));
    for piece in [
        "```x\n",
        "```x\n# %%\n",
        "```x\n~~~~ y\n",
        "  ```x\n",
        "- ```x\n",
        "```\n",
    ] {
        check_repeated("", piece, 20_000, "");
    }
}

#[test]
fn a_million_cells() {
    let sealed = |count| -> String {
        (0..count)
            .map(|id| format!("# %% [^{id}]\n[^{id}]: [x]\na\n"))
            .collect()
    };
    let document = decode(sealed(1_000_000));
    assert_eq!(document.cells().len(), 1_000_000);
    assert_eq!(document.next_id(), "1000000");
    assert_eq!(
        decode("# %%\na\n".repeat(1_000_000)).cells().len(),
        1_000_000
    );
    check("sealed cells", 5_000, sealed, everything);
    check_repeated("", "# %%\na\n", 5_000, "");
}

#[test]
fn many_cells_of_every_kind() {
    let dotted = |count| -> String {
        let cell = |id| {
            let code = format!("# %% [^{id}]\n[^{id}]: [code]\nx\n");
            format!("{code}# %%% [^{id}.1]\n[^{id}.1]: [py]\na\n")
        };
        (0..count).map(cell).collect()
    };
    check("dotted ids", 2_000, dotted, everything);
    let parents = |count| -> String {
        let cell = |id: usize| format!("# %% [^{id}]\n[^{id}]: [x] parent={}\na\n", id / 2);
        (0..count).map(cell).collect()
    };
    check("parents", 2_000, parents, everything);
    check_repeated("", "# %% [^1]\n[^1]: [x] history=odd\na\n", 2_000, "");
    check_repeated("# %%% [^1]\n[^1]: [details]\n", "x\n", 2_000, "");
    check_repeated(
        "",
        "# %%% [^1.think]\n[^1.think]: [x]\na\n",
        2_000,
        "# %% [^1]\n",
    );
    check_repeated(
        "",
        "# %%% [^1.think]\n[^1.think]: [x]\na\n",
        2_000,
        "# %%% [^1]\n\n[^1]: [x]\n",
    );
    check_repeated("", "# %%% [^1.a]\n[^1.a]: [tool] name=x\n<\n", 2_000, "");
}

#[test]
fn long_lines() {
    let document = decode(format!("# %%\n{}", "x".repeat(100_000_000)));
    assert_eq!(
        document.cells().next().unwrap().content().len(),
        100_000_000
    );
    check_repeated("# %% ", "[^", 50_000, "\n");
    for piece in [
        "a ",
        "[ ",
        "[a ",
        "a=\"",
        "a=' ",
        "[a=",
        "]",
        "\\\"",
        "a=\"\\u{ ",
    ] {
        check_repeated("# %% [^1]\n[^1]: [x] ", piece, 10_000, "\n");
    }
    check_repeated("# %% [^1]\n[^1]: [x]\n", "a ", 50_000, "\n");
    check_repeated("# %%\n", "\\", 50_000, "# %%\n");
    check_repeated("# %%\n", "![](x", 20_000, ")\n");
}

/// Each bad byte is a problem with a place of its own, in one line.
#[test]
fn long_lines_that_are_not_utf8() {
    let file = |count| [b"# %%\n".to_vec(), b"a\xff".repeat(count)].concat();
    check("bad bytes", 200_000, file, everything);
}

#[test]
fn deep_yaml() {
    for piece in ["[", "{a: ", "- ", "? ", "a:\n  "] {
        check_repeated("---\n", piece, 20_000, "\n---\n# %%\nx\n");
    }
    let bomb: String = (1..40)
        .map(|n| format!("a{n}: &a{n} [*a{0}, *a{0}]\n", n - 1))
        .collect();
    everything(&decode(format!("---\na0: &a0 x\n{bomb}---\n# %%\nx\n")));
}

#[test]
fn items_of_many_cells() {
    let file = |count| -> String {
        let turn = |id| {
            let question = format!("# %% [^{id}]\n[^{id}]: [code]\n```sh\nx\n```\n");
            let reply = format!("# %%% [^r{id}]\n[^r{id}]: [coder]\nhi\n");
            let call =
                format!("# %%% [^r{id}.k]\n[^r{id}.k]: [tool] name=f\n<invoke name=\"f\"/>\n");
            let result = format!("# %%% [^r{id}.k.1]\n[^r{id}.k.1]: [tool]\nyes\n");
            format!("{question}{reply}{call}{result}# %%% [^{id}.1]\n[^{id}.1]: [sh]\nstdout> a\n")
        };
        (0..count).map(turn).collect()
    };
    // Ten thousand cells: a question, its reply, its call with a result, its output, and so on.
    let document = decode(file(2_000));
    assert_eq!(document.cells().len(), 10_000);
    assert_eq!(items(&document).len(), 4_000);
    check("items", 2_000, file, |document| {
        items(document);
    });
    check(
        "loose cells",
        5_000,
        |count| "# %%\na\n".repeat(count),
        |document| {
            items(document);
        },
    );
    let one = |count| {
        format!(
            "# %% [^1]\n[^1]: [x]\na\n{}",
            "# %%% [^2]\n[^2]: [y]\nb\n".repeat(count)
        )
    };
    check("replies to one", 5_000, one, |document| {
        items(document);
    });
}
