//! Tests of code cells: what is a fence, what is a language, and where the body is.

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;

use super::*;

#[track_caller]
fn check(content: &str, language: Option<&str>, body: &str, reasoning: &str) {
    let found = code(content).unwrap();
    assert_eq!(
        (found.language, found.body, &*found.reasoning),
        (language, body, reasoning)
    );
    assert_eq!(&content[found.body_span], body);
}

#[test]
fn languages() {
    let table = [
        ("", None),
        (" \t", None),
        ("python", Some("python")),
        (" python  title=\"a b\"", Some("python")),
        ("{python}", Some("python")),
        ("{python, echo=FALSE}", Some("python")),
        ("{.python .numberLines}", Some("python")),
        ("{ .python }", Some("python")),
        (".python", Some("python")),
        ("python{cmd=true}", Some("python")),
        ("rust,ignore", Some("rust")),
        ("c++", Some("c++")),
        ("asp.net", Some("asp.net")),
        ("论语", Some("论语")),
        ("{}", None),
        ("{.}", None),
    ];
    for (info, language) in table {
        check(&format!("```{info}\nx\n```"), language, "x", "");
        check(&format!("~~~ {info}\r\nx\r\n~~~\r\n"), language, "x", "");
    }
}

#[test]
fn bodies() {
    check("```\n```", None, "", "");
    check("```\n\n```", None, "", "");
    check("```\n\n\n```", None, "\n", "");
    check("```\na\n\n```", None, "a\n", "");
    check("```\r\na\r\nb\r\n```\r\n", None, "a\r\nb", "");
    check("```\na\r\r\n```", None, "a\r", "");
    check("```\n# %% part\n```", None, "# %% part", "");
    check("   ```py\n   x\n ```  \t", Some("py"), "   x", "");
    check("````md\n```\nx\n```\n````", Some("md"), "```\nx\n```", "");
    check("```\nx\n`````", None, "x", "");
    check("~~~\n```\n~~~", None, "```", "");
    check("~~~ a`b\nx\n~~~", Some("a`b"), "x", "");
    check(
        "```\n    ```\n```` x\n\t```\n``` ",
        None,
        "    ```\n```` x\n\t```",
        "",
    );
}

#[test]
fn reasonings() {
    check("a\n```\nx\n```\nb", None, "x", "a\n\nb");
    check(
        "\n \n  a\nb  \n\n```\nx\n```\n\nc\n \n",
        None,
        "x",
        "  a\nb  \n\nc",
    );
    check("a\r\n\r\n```\r\nx\r\n```\r\n\r\nb\r\n", None, "x", "a\n\nb");
    check("\n\n```\nx\n```\n\n", None, "x", "");
    check("```\nx\n```\n```\ny\n```", None, "x", "```\ny\n```");
    check(
        "``` a`b ```\n    ```\n\t```\n- ```\n> ```\n``\n```\nx\n```",
        None,
        "x",
        "``` a`b ```\n    ```\n\t```\n- ```\n> ```\n``",
    );
}

#[test]
fn without_code() {
    let table = [
        ("", CodeError::NoFence),
        ("print(1)\n", CodeError::NoFence),
        ("    ```\nx\n```x`", CodeError::NoFence),
        ("```", CodeError::Unclosed { offset: 0 }),
        ("a\n\n  ```py\nx\n", CodeError::Unclosed { offset: 3 }),
        ("```\nx\n~~~", CodeError::Unclosed { offset: 0 }),
        ("````\nx\n```\n", CodeError::Unclosed { offset: 0 }),
        ("```\nx\n``` y", CodeError::Unclosed { offset: 0 }),
        ("```\nx\n    ```", CodeError::Unclosed { offset: 0 }),
    ];
    for (content, error) in table {
        assert_eq!(code(content), Err(error), "{content:?}");
        assert!(!error.to_string().ends_with('.'));
    }
}

#[test]
fn hostile_content_takes_no_noticeable_time() {
    let many = format!("````\n{}", "```\n".repeat(1_000_000));
    assert_eq!(code(&many), Err(CodeError::Unclosed { offset: 0 }));
    assert_eq!(
        code(&"`".repeat(5_000_000)),
        Err(CodeError::Unclosed { offset: 0 })
    );
    assert_eq!(code(&"\n \r".repeat(1_000_000)), Err(CodeError::NoFence));
    let blanks = " \n".repeat(1_000_000);
    check(
        &format!("{blanks}a\n{blanks}```\nx\n```\n{blanks}"),
        None,
        "x",
        "a",
    );
}

fn content() -> impl Strategy<Value = String> {
    let parts = [
        "```", "~~~", "`", "~", "\n", "\n", "\r\n", " ", "\t", "py", "{.py}", "论", "    ",
    ];
    vec(select(parts.to_vec()), 0..16).prop_map(|parts| parts.concat())
}

/// How many cases to try; `PROPTEST_CASES` asks for more.
fn cases(usual: u32) -> u32 {
    ProptestConfig::default().cases.max(usual)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(cases(512)))]

    #[test]
    fn a_body_is_where_it_is_said_to_be(content in content()) {
        match code(&content) {
            Ok(code) => {
                prop_assert_eq!(&content[code.body_span], code.body);
                prop_assert!(code.language.is_none_or(|word| !word.contains(char::is_whitespace)));
            }
            Err(CodeError::Unclosed { offset }) => prop_assert!(content.is_char_boundary(offset)),
            Err(CodeError::NoFence) => {}
        }
    }

    #[test]
    fn any_code_comes_back(body in content(), before in "[a-z\n ]{0,12}", info in "[a-z]{0,6}") {
        let fence = "`".repeat(body.len() + 3);
        // A `\r` at the end would belong to the line end before the closing fence.
        prop_assume!(!body.ends_with('\r'));
        let content = format!("{before}\n{fence}{info}\n{body}\n{fence}\n");
        let found = code(&content).unwrap();
        prop_assert_eq!(found.body, body);
        prop_assert_eq!(found.language.unwrap_or(""), info);
    }
}
