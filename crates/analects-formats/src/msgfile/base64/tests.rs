//! Tests of base64: the published vectors, what is refused, and the laws.

use proptest::collection::vec;
use proptest::prelude::*;

use super::*;

#[test]
fn published_vectors() {
    let vectors = [
        ("", ""),
        ("f", "Zg=="),
        ("fo", "Zm8="),
        ("foo", "Zm9v"),
        ("foob", "Zm9vYg=="),
        ("fooba", "Zm9vYmE="),
        ("foobar", "Zm9vYmFy"),
    ];
    for (plain, coded) in vectors {
        assert_eq!(encode(plain.as_bytes()), coded);
        assert_eq!(decode(coded).as_deref(), Some(plain.as_bytes()));
    }
    assert_eq!(encode(&[0xfb, 0xff]), "+/8=");
}

#[test]
fn lines_have_76_columns_and_the_last_has_no_line_end() {
    assert_eq!(encode(&[0; 57]), "A".repeat(76));
    assert_eq!(encode(&[0; 58]), format!("{}\nAA==", "A".repeat(76)));
    assert_eq!(encode(&[0; 114]), format!("{0}\n{0}", "A".repeat(76)));
    assert_eq!(encode_line(&[0; 114]), "A".repeat(152));
}

#[test]
fn blanks_mean_nothing() {
    assert_eq!(decode(" Z\tg\r\n=\n= \n").as_deref(), Some(&b"f"[..]));
    assert_eq!(decode(" \r\n").as_deref(), Some(&b""[..]));
}

#[test]
fn anything_else_is_refused() {
    let refused = [
        "Z",
        "Zg",
        "Zg=",
        "Zg===",
        "Zg====",
        "Z===",
        "====",
        "=",
        "Zh==", // spare bits that are not zero
        "Zm9=",
        "Zg==Zg==",
        "Zm9v=",
        "Zm9v====",
        "Zm9-",
        "Zm9_",
        "Zm9v.",
        "Zm9\u{e9}",
        "Zm9\u{a0}",
        "Zm\0v",
    ];
    for text in refused {
        assert_eq!(decode(text), None, "{text:?}");
    }
}

#[test]
fn megabytes_take_no_noticeable_time() {
    let bytes: Vec<u8> = (0..2_000_000_u32)
        .map(|n| (n.wrapping_mul(0x9e37_79b9) >> 24) as u8)
        .collect();
    assert_eq!(decode(&encode(&bytes)), Some(bytes));
}

proptest! {
    #[test]
    fn any_bytes_come_back(bytes in vec(any::<u8>(), 0..400)) {
        prop_assert_eq!(decode(&encode(&bytes)), Some(bytes.clone()));
        prop_assert_eq!(decode(&encode_line(&bytes)), Some(bytes));
    }

    #[test]
    fn what_is_read_is_written_the_same(text in "[A-Da-d+/= \n]{0,12}") {
        if let Some(bytes) = decode(&text) {
            prop_assert_eq!(encode(&bytes), text.replace([' ', '\n'], ""));
        }
    }

    #[test]
    fn any_text_is_read_or_refused(text in any::<String>()) {
        let _ = decode(&text);
    }
}
