//! What is told to whom.

use super::*;

const URL: &str = "http://model.internal:8080/v1";

fn api(status: Option<u16>) -> ClientError {
    let words = "Incorrect API key provided";
    let error = ApiError {
        status,
        ..ApiError::new(ApiErrorKind::Auth, words)
    };
    ClientError::Api {
        url: URL.into(),
        error,
        should_retry: None,
        near: None,
    }
}

fn unreachable(reason: &str) -> ClientError {
    ClientError::Unreachable {
        url: URL.to_string(),
        reason: reason.to_string(),
    }
}

fn replay(kind: io::ErrorKind) -> ClientError {
    ClientError::replay(Path::new("/srv/private/answer.sse"), &io::Error::from(kind))
}

#[track_caller]
fn check(error: ClientError, expected: &str) {
    let message = error.public_message();
    assert_eq!(message, expected);
    for secret in ["internal", "8080", "/", "anna"] {
        assert!(!message.contains(secret), "{message}");
    }
}

#[test]
fn public_messages_name_no_addresses() {
    let url = || URL.to_string();
    check(
        unreachable("connection refused"),
        "cannot reach the provider: connection refused",
    );
    check(
        unreachable("no route to http://10.1.2.3/"),
        "cannot reach the provider",
    );
    let told = "invalid peer certificate: certificate not valid";
    let names = "for name \"model.internal\"; certificate is only valid for \"other.internal\"";
    let expected = format!("cannot reach the provider: {told}");
    check(unreachable(&format!("{told} {names}")), &expected);
    let broken = ClientError::Broken {
        url: url(),
        reason: "connection reset by peer".into(),
    };
    check(
        broken,
        "the connection to the provider broke: connection reset by peer",
    );
    let limit = Duration::from_secs(90);
    let silent = ClientError::TimedOut {
        url: url(),
        wait: TimeoutPhase::Idle,
        limit,
    };
    check(silent, "the provider sent nothing more within 90 s");
    let elsewhere = ClientError::Redirected {
        url: url(),
        to: "http://other.internal".into(),
    };
    check(
        elsewhere,
        "the provider redirects to another address, which is not followed",
    );
}

#[test]
fn public_messages_contain_the_providers_message() {
    check(
        api(Some(401)),
        "the provider answered 401: Incorrect API key provided",
    );
    check(
        api(None),
        "the provider answered: Incorrect API key provided",
    );
    let busy = ClientError::Interrupted(ApiError::new(ApiErrorKind::Server, "busy"));
    check(busy, "the answer broke off: busy");
}

#[test]
fn public_messages_name_no_files() {
    check(
        ClientError::UnknownModel {
            name: "/srv/private/tiny.gguf".into(),
            near: vec![],
        },
        "unknown model",
    );
    check(
        replay(io::ErrorKind::NotFound),
        "cannot read the recording: no such file",
    );
    let refused = replay(io::ErrorKind::PermissionDenied);
    check(refused, "cannot read the recording: permission denied");
}

#[test]
fn a_missing_recording_differs_from_an_unreadable_one() {
    assert!(replay(io::ErrorKind::NotFound).is_not_found());
    assert!(!replay(io::ErrorKind::PermissionDenied).is_not_found());
    assert!(!api(Some(404)).is_not_found());
}
