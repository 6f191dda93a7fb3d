//! Names of models, addresses and keys: no connection is made here.
#![allow(clippy::unwrap_used)]

use analects_client::{BaseUrl, ClientError, Key, Model, Surroundings, Transport, resolve};
use analects_core::ApiErrorKind;

fn surroundings(base_url: Option<&str>, key: Option<&str>) -> Surroundings {
    Surroundings {
        openai_base_url: base_url.map(str::to_string),
        openai_key: key.and_then(Key::new),
    }
}

fn shown(error: &ClientError) -> String {
    format!("{error}; hint: {}", error.hint().unwrap_or_default())
}

#[test]
fn openai_is_the_default_address_and_wants_a_key() {
    let error = resolve("openai/gpt", &surroundings(None, None)).unwrap_err();
    assert_eq!(error.kind(), ApiErrorKind::Auth);
    let text = "no key for this model: OPENAI_API_KEY is not set; hint: set OPENAI_API_KEY";
    assert_eq!(shown(&error), text);
    assert!(
        resolve("openai/gpt", &surroundings(Some("https://api.openai.com/v1"), Some(" \n")))
            .is_err()
    );

    let model = resolve("openai/gpt", &surroundings(None, Some("secret-key\n"))).unwrap();
    let base_url = BaseUrl::parse("https://api.openai.com/v1").unwrap();
    let transport = Transport::Http { base_url, key: Key::new("secret-key") };
    assert_eq!(model.transport, transport);
    assert_eq!((model.provider.as_str(), model.name.as_str()), ("openai", "gpt"));
}

#[test]
fn another_server_may_do_without_a_key() {
    let model = resolve("openai/org/tiny", &surroundings(Some("http://localhost:1/v1/"), None));
    let Model { name, transport, .. } = model.unwrap();
    assert_eq!(name, "org/tiny");
    assert!(matches!(transport, Transport::Http { key: None, .. }));
}

#[test]
fn other_names_are_answered_with_what_is_possible() {
    for name in ["gpt", "openai/", "openai", "replay:", "anthropic/x", ""] {
        let error = resolve(name, &surroundings(None, Some("secret-key"))).unwrap_err();
        let hint = "name a model as openai/NAME, or replay:FILE";
        assert_eq!(shown(&error), format!("unknown model \"{name}\"; hint: {hint}"));
    }
}

#[test]
fn an_address_has_to_be_one() {
    for address in ["localhost:8080/v1", "ftp://example.org", "/v1", "http://"] {
        let error = resolve("openai/x", &surroundings(Some(address), None)).unwrap_err();
        assert_eq!(error.kind(), ApiErrorKind::BadRequest, "{address}");
        assert!(error.hint().is_some());
    }
}

#[test]
fn secrets_are_not_printed() {
    let address = "http://anna:password@localhost:1/v1?key=hidden#part";
    let model = resolve("openai/x", &surroundings(Some(address), Some("secret-key"))).unwrap();
    let printed = format!("{model:?} {:#?} {}", model.transport, Key::new("secret-key").unwrap());
    for secret in ["anna", "password", "hidden", "secret-key"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains("http://localhost:1/v1"), "{printed}");
    assert!(printed.contains("[key]"), "{printed}");
}
