//! Names of models, addresses and keys: no connection is made here.
#![allow(clippy::unwrap_used)]

use analects_client::{BaseUrl, ClientError, Key, Model, ProviderSettings, Transport, resolve};
use analects_core::ApiErrorKind;
use analects_providers::{LOCAL_VENDOR, vendors};

fn settings(base_url: Option<&str>, key: Option<&str>) -> ProviderSettings {
    ProviderSettings::read(|name| match name {
        "OPENAI_BASE_URL" => base_url.map(str::to_string),
        "OPENAI_API_KEY" => key.map(str::to_string),
        _ => None,
    })
}

#[test]
fn openai_is_the_default_address_and_wants_a_key() {
    let error = resolve("openai/gpt", &settings(None, None)).unwrap_err();
    assert_eq!(error.kind(), ApiErrorKind::Auth);
    assert_eq!(
        error.to_string(),
        "no key for this model: OPENAI_API_KEY is not set"
    );
    assert!(
        resolve(
            "openai/gpt",
            &settings(Some("https://api.openai.com/v1"), Some(" \n"))
        )
        .is_err()
    );

    let model = resolve("openai/gpt", &settings(None, Some("secret-key\n"))).unwrap();
    let base_url = BaseUrl::parse("https://api.openai.com/v1").unwrap();
    let transport = Transport::Http {
        base_url,
        key: Key::new("secret-key"),
        as_bearer: false,
    };
    assert_eq!(model.transport, transport);
    assert_eq!(
        (model.provider.as_str(), model.name.as_str()),
        ("openai", "gpt")
    );
}

#[test]
fn another_server_may_do_without_a_key() {
    let model = resolve(
        "openai/org/tiny",
        &settings(Some("http://localhost:1/v1/"), None),
    );
    let Model {
        name, transport, ..
    } = model.unwrap();
    assert_eq!(name, "org/tiny");
    assert!(matches!(transport, Transport::Http { key: None, .. }));
}

#[test]
fn unknown_names_fail_with_suggestions() {
    let check = |name: &str, expected: &[&str]| {
        let error = resolve(name, &settings(None, Some("secret-key"))).unwrap_err();
        assert_eq!(error.to_string(), format!("unknown model \"{name}\""));
        let ClientError::UnknownModel { near, .. } = error else {
            panic!("{error:?}");
        };
        assert_eq!(near, expected, "{name}");
    };
    for name in ["no-such-model", "vllm/", "vllm", "replay:", "nobody/x", ""] {
        check(name, &[]);
    }
    check("opnai/gpt-5", &["openai/gpt-5"]);
    check("gpt5-mini", &["openai/gpt-5-mini"]);
}

#[test]
fn an_address_has_to_be_one() {
    for address in ["ftp://example.org", "/v1", "http://"] {
        let error = resolve("openai/x", &settings(Some(address), None)).unwrap_err();
        assert_eq!(error.kind(), ApiErrorKind::BadRequest, "{address}");
        assert!(error.to_string().ends_with(" (OPENAI_BASE_URL)"), "{error}");
    }
}

/// ProviderSettings in which these variables are set.
fn with(variables: &[(&str, &str)]) -> ProviderSettings {
    ProviderSettings::read(|name| {
        let found = variables.iter().find(|(known, _)| *known == name);
        found.map(|(_, value)| value.to_string())
    })
}

#[test]
fn every_provider_is_reached_by_its_name_with_its_own_key() {
    for vendor in vendors() {
        let name = format!("{}/some-model", vendor.name);
        let keys: Vec<(&str, &str)> = vendor
            .key_variables
            .iter()
            .map(|name| (*name, "its-own-key"))
            .collect();
        let model = resolve(&name, &with(&keys)).unwrap();
        assert_eq!(
            (model.provider.as_str(), &*model.name),
            (vendor.name, "some-model")
        );
        if vendor.name == LOCAL_VENDOR {
            // Nobody knows where it listens before it runs.
            assert_eq!(model.transport, Transport::Local);
            continue;
        }
        let Transport::Http { base_url, key, .. } = &model.transport else {
            unreachable!()
        };
        assert_eq!(base_url.to_string(), vendor.base_url, "{name}");
        assert_eq!(key.is_some(), !vendor.key_variables.is_empty(), "{name}");
        let without = resolve(&name, &with(&[]));
        assert_eq!(without.is_err(), vendor.needs_key, "{name}");
    }
}

#[test]
fn a_token_of_a_gateway_is_shown_as_such() {
    let bearer = |variables: &[(&str, &str)]| {
        let model = resolve("anthropic/claude-sonnet-4-5", &with(variables)).unwrap();
        matches!(
            model.transport,
            Transport::Http {
                as_bearer: true,
                ..
            }
        )
    };
    assert!(!bearer(&[("ANTHROPIC_API_KEY", "its-own-key")]));
    assert!(bearer(&[("ANTHROPIC_AUTH_TOKEN", "a-gateways-token")]));
}

#[test]
fn a_bare_name_is_its_only_providers() {
    let settings = with(&[("ANTHROPIC_API_KEY", "its-own-key")]);
    let model = resolve("claude-sonnet-4-5", &settings).unwrap();
    assert_eq!(
        (model.provider.as_str(), &*model.name),
        ("anthropic", "claude-sonnet-4-5")
    );
    assert!(model.facts.unwrap().context_window.is_some());
}

#[test]
fn nothing_goes_to_other_machines_in_the_clear_unless_allowed() {
    for address in [
        "http://example.org/v1",
        "http://10.0.0.1:8080/v1",
        "http://127.0.0.1.nip.io/v1",
    ] {
        let mut settings = with(&[("OPENAI_BASE_URL", address)]);
        let error = resolve("openai/x", &settings).unwrap_err();
        assert!(
            matches!(error, ClientError::PlainHttp(_)),
            "{address}: {error}"
        );
        settings.allow_http = true;
        assert!(resolve("openai/x", &settings).is_ok(), "{address}");
    }
    for address in [
        "http://127.0.0.1:1/v1",
        "http://[::1]:1/v1",
        "http://localhost:1/v1",
    ] {
        assert!(
            resolve("openai/x", &with(&[("OPENAI_BASE_URL", address)])).is_ok(),
            "{address}"
        );
    }
}

#[test]
fn secrets_are_not_printed() {
    let address = "http://anna:password@localhost:1/v1?key=hidden#part";
    let model = resolve("openai/x", &settings(Some(address), Some("secret-key"))).unwrap();
    let printed = format!(
        "{model:?} {:#?} {}",
        model.transport,
        Key::new("secret-key").unwrap()
    );
    for secret in ["anna", "password", "hidden", "secret-key"] {
        assert!(!printed.contains(secret), "{printed}");
    }
    assert!(printed.contains("http://localhost:1/v1"), "{printed}");
    assert!(printed.contains("[key]"), "{printed}");
}

#[test]
fn the_same_models_by_another_api_are_known() {
    let settings = with(&[("OPENAI_API_KEY", "its-own-key")]);
    let facts = |name| resolve(name, &settings).unwrap().facts;
    assert!(facts("openai/gpt-5").unwrap().prices.is_some());
    assert_eq!(facts("openai-responses/gpt-5"), facts("openai/gpt-5"));
    assert_eq!(resolve("gpt-5", &settings).unwrap().provider, "openai");
}
