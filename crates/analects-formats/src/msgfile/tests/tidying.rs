//! A tidy file says what it said, and tidying it again changes nothing.

use proptest::collection::vec;
use proptest::sample::select;

use super::*;

/// What is left of a document when heads and attribute lines are taken off.
fn untouched(document: &Document) -> Vec<u8> {
    let before = Span::new(0, document.preamble().end);
    let spans = std::iter::once(before).chain(document.cells().map(Cell::below_meta));
    spans
        .flat_map(|span| span.of(document.source()))
        .copied()
        .collect()
}

/// How a document reads, apart from where things stand and how attributes are spelled.
fn reading(document: &Document) -> String {
    let cells = document.cells().map(|cell| {
        let attributes: Vec<(&str, &str)> = cell.attributes().collect();
        let meta = (
            cell.written_type(),
            attributes,
            cell.junk().collect::<Vec<_>>(),
        );
        let head = (
            cell.kind(),
            cell.level(),
            cell.title(),
            cell.id(),
            cell.is_sealed(),
        );
        format!("{head:?} {meta:?} {:?}\n", cell.content())
    });
    let read = messages(document, &session_of("x.msg.md"));
    let problems = document.problems().into_iter().chain(read.problems.clone());
    let codes: Vec<_> = problems.map(|problem| problem.code).collect();
    let cells: String = cells.collect();
    format!(
        "{cells} {:?} {codes:?} {:?}",
        document.kind(),
        read.messages
    )
}

#[track_caller]
fn assert_tidied(document: &Document) -> Document {
    let bytes = Splice::apply_all(&tidy(document), document.source());
    let after = document.with_source(bytes);
    assert_eq!(reading(&after), reading(document));
    assert_eq!(untouched(&after), untouched(document));
    assert_eq!(tidy(&after), [], "tidy twice");
    after
}

#[track_caller]
fn check(before: &str, after: &str) {
    let document = assert_tidied(&decode(before));
    assert_eq!(String::from_utf8_lossy(document.source()), after);
}

#[test]
fn heads_and_attributes_get_one_form() {
    check(
        "##\t%%   A  title  [^1]  \n  \n\n[^1]:[code]  a=b   c='d \"e\"'\t[f=1]  \n\n  x  \n",
        "## %% A  title[^1]\n\n[^1]: [code] a=\"b\" c=\"d \\\"e\\\"\" f=1\n\n  x  \n",
    );
    check("# %%%[^2]\n[^2]:\n", "# %%% [^2]\n\n[^2]:\n");
    check(
        "# %% [^1]\r\n[^1]: [x]  a=1\r\nhi",
        "# %% [^1]\r\n\r\n[^1]: [x] a=1\r\nhi",
    );
    check(
        "# %% [^1]\n\n[^1]: [x]\n\ta=1  b=two\n hi\n",
        "# %% [^1]\n\n[^1]: [x]\n  a=1 b=\"two\"\n hi\n",
    );
    check(
        "# %% [^1]\n\n[^1]: a=1 a=2 duration=0.5s v=\n",
        "# %% [^1]\n\n[^1]: a=1 a=2 duration=0.5s v=\"\"\n",
    );
}

#[test]
fn what_the_program_writes_is_tidy() {
    let mut document = decode("---\ntitle: x\n---\n\n");
    for text in [
        "plain",
        "",
        "\n\nblank\n\n",
        "```\nopen",
        "# %% head[^1]\n\n[^1]: [x]",
    ] {
        let cell = NewCell::message(document.next_id(), text).with("note", "a\tb \\ \"q\"\n");
        document = document.with_source(append(&document, &cell).apply(document.source()));
    }
    assert_eq!(tidy(&document), []);
}

#[test]
fn a_loose_head_stays_loose() {
    check(
        "#   %%  typed \t\n\nhi\n\n#\t%%\nho\n",
        "# %% typed\n\nhi\n\n# %%\nho\n",
    );
    check("# %% typed [^3]\n\nhi\n", "# %% typed[^3]\n\nhi\n");
}

#[test]
fn what_cannot_be_read_stays_as_it_is() {
    let odd = "# %% [^1]\n\n[^1]: [x]   a=\"open   b=1\n\nhi\n";
    check(odd, odd);
    let not_utf8 = decode(*b"#  %%  [^1]\n[^1]:[x]\n\n\xff\n");
    assert_eq!(tidy(&not_utf8), []);
}

#[test]
fn code_in_fences_is_not_tidied() {
    let file = "# %% [^1]\n\n[^1]: [code]\n\n```python\n#  %%   cell\nx = 1\n```\n\n\\#  %%  no\n";
    check(file, file);
}

#[test]
fn a_title_that_ends_in_a_carriage_return_stays_one() {
    let file = "## %%  title[^1]\r \nx\n";
    check(file, file);
}

/// Files whose heads and attribute lines somebody typed without care.
fn careless() -> impl Strategy<Value = Vec<u8>> {
    let blank = || select(vec!["", " ", "  ", "\t", " \t "]);
    let end = select(vec!["\n", "\r\n", "\n\n", "\n \n\n", "\r\n\r\n"]);
    let attribute = select(vec![
        "a=1",
        "a=b",
        "b='c d'",
        "c=\"d \\n\"",
        "[d=e]",
        "[f=\"g]\"]",
        "junk",
        "history=none",
        "stored=\"lines=2\"",
        "stored=closed",
        "x=\"C:\\dir\"",
        "y=''",
        "z=",
        "é=1",
        "w=\u{85}",
        "part=1",
        "name=t",
        "uuid='u'",
    ]);
    let word = select(vec![
        "",
        "[markdown]",
        "[coder]",
        "[code]",
        "[tool]",
        "[ x ]",
        "[block]",
        "[details]",
    ]);
    let attributes = vec((blank(), attribute, select(vec!["", "\n  ", "\n\t"])), 0..5);
    let id = select(vec!["1", "2", "2.k3", "1.1"]);
    let head = (
        select(vec!["#", "###"]),
        blank(),
        select(vec!["%%", "%%%"]),
        blank(),
        generate::text(),
    );
    (
        head,
        blank(),
        id,
        (end, blank(), word),
        attributes,
        generate::text(),
    )
        .prop_map(
            |((level, a, marker, b, title), c, id, (end, d, word), attributes, content)| {
                let title: String = title.chars().filter(|c| *c != '\n').take(20).collect();
                let attributes: String = attributes
                    .iter()
                    .map(|(blank, text, more)| format!(" {blank}{text}{more}"))
                    .collect();
                let head = format!("{level} {a}{marker} {b}{title}{c}[^{id}]{end}");
                format!("{head}[^{id}]:{d}{word}{attributes}\n{content}\n").into_bytes()
            },
        )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(ProptestConfig::default().cases.max(512)))]

    #[test]
    fn any_file_reads_the_same_when_it_is_tidy(file in generate::file()) {
        assert_tidied(&decode(file.as_slice()));
        assert_tidied(&decode_named(file.as_slice(), "x.md"));
    }

    #[test]
    fn careless_cells_read_the_same_when_they_are_tidy(cells in vec(careless(), 1..4)) {
        assert_tidied(&decode(cells.concat()));
    }
}
