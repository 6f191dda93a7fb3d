//! Proxies: a listener on the loopback interface plays one.
#![allow(clippy::unwrap_used)]

use std::net::TcpListener;
use std::sync::Arc;
use std::sync::mpsc::channel;
use std::time::Duration;

use analects_client::{
    Client, ClientError, Options, ProviderSettings, Proxies, RetryNotice, resolve,
};
use analects_core::{ApiErrorKind, Request};
use analects_providers::RetryPolicy;
use analects_testkit::server::{Server, Step};

/// A listener that plays a proxy or a server for one request, and its address.
fn listener() -> (String, Server) {
    let busy = "HTTP/1.1 502 Bad Gateway\r\ncontent-length: 4\r\n\r\nbusy";
    let server = Server::new(vec![vec![Step::Send(busy.to_string())]]);
    (server.address.to_string(), server)
}

/// Options under which nothing is sent twice.
fn once() -> Options {
    Options {
        retries: RetryPolicy {
            retries: 0,
            ..RetryPolicy::default()
        },
        ..Options::default()
    }
}

fn error_of(base_url: &str, proxies: Proxies) -> ClientError {
    error_with(base_url, Options { proxies, ..once() })
}

fn error_with(base_url: &str, options: Options) -> ClientError {
    let mut settings =
        ProviderSettings::read(|name| (name == "OPENAI_BASE_URL").then(|| base_url.to_string()));
    settings.allow_http = true;
    let model = resolve("openai/tiny", &settings).unwrap();
    let client = Client::new(options);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime
        .block_on(client.stream(&model, &Request::default()))
        .unwrap_err()
}

#[test]
fn plain_http_goes_through_its_proxy() {
    for prefix in ["http://anna:password@", ""] {
        let (proxy, lines) = listener();
        let http = Some(format!("{prefix}{proxy}"));
        let error = error_of(
            "http://model.invalid/v1",
            Proxies {
                http,
                ..Proxies::default()
            },
        );
        assert_eq!(
            error.to_string(),
            "http://model.invalid/v1 answered 502: busy"
        );
        let request = lines.received().head;
        let line = "POST http://model.invalid/v1/chat/completions HTTP/1.1\r\n";
        assert!(request.starts_with(line), "{request}");
        let authorized = request.contains("proxy-authorization: Basic YW5uYTpwYXNzd29yZA==");
        assert_eq!(authorized, !prefix.is_empty(), "{request}");
    }
}

#[test]
fn https_goes_through_a_tunnel() {
    let (proxy, lines) = listener();
    let proxies = Proxies {
        https: Some(proxy),
        ..Proxies::default()
    };
    let error = error_of("https://model.invalid/v1", proxies);
    assert_eq!(error.kind(), ApiErrorKind::Network);
    // A machine without certificates has no https at all.
    if !matches!(error, ClientError::Setup(_)) {
        assert!(
            lines
                .received()
                .head
                .starts_with("CONNECT model.invalid:443 HTTP/1.1\r\n")
        );
    }
}

#[test]
fn this_machine_is_reached_without_a_proxy() {
    let (proxy, visits) = listener();
    let (server, lines) = listener();
    let port = server.rsplit(':').next().unwrap();
    let proxies = Proxies {
        http: Some(proxy.clone()),
        ..Proxies::default()
    };
    error_of(&format!("http://127.0.0.1:{port}/v1"), proxies.clone());
    assert!(
        lines
            .received()
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
    for host in ["localhost", "127.1.2.3", "[::1]", "[::ffff:127.0.0.1]"] {
        error_of(&format!("http://{host}:9/v1"), proxies.clone());
    }
    assert!(visits.all_received().is_empty());
}

#[test]
fn hosts_of_the_list_are_reached_without_a_proxy() {
    let (proxy, visits) = listener();
    for list in ["other.example, model.invalid", ".invalid", "*"] {
        let (http, no_proxy) = (Some(proxy.clone()), Some(list.to_string()));
        error_of(
            "http://model.invalid/v1",
            Proxies {
                http,
                no_proxy,
                https: None,
            },
        );
    }
    assert!(visits.all_received().is_empty());
}

#[test]
fn a_proxy_that_cannot_be_used_is_an_error_without_its_password() {
    for proxy in [
        "socks5://anna:password@host:1",
        "http://anna:password@host:no",
    ] {
        let proxies = Proxies {
            http: Some(proxy.into()),
            ..Proxies::default()
        };
        let printed = format!("{proxies:?}");
        let error = error_of("http://model.invalid/v1", proxies);
        assert!(matches!(error, ClientError::Setup(_)), "{error}");
        let printed = format!("{printed} {error} {error:?} {}", error.public_message());
        assert!(
            !printed.contains("password") && !printed.contains("anna"),
            "{printed}"
        );
    }
}

#[test]
fn a_bad_proxy_does_not_block_local_servers() {
    let (server, lines) = listener();
    let http = Some("socks5://127.0.0.1:9".to_string());
    let proxies = Proxies {
        http,
        ..Proxies::default()
    };
    let error = error_of(&format!("http://{server}/v1"), proxies);
    assert!(matches!(error, ClientError::Api { .. }), "{error}");
    assert!(
        lines
            .received()
            .head
            .starts_with("POST /v1/chat/completions HTTP/1.1\r\n")
    );
}

#[test]
fn a_setup_error_is_not_retried() {
    let http = Some("socks5://127.0.0.1:9".to_string());
    let (sender, waits) = channel();
    let options = Options {
        proxies: Proxies {
            http,
            ..Proxies::default()
        },
        on_retry: Some(Arc::new(move |waiting: &RetryNotice| {
            sender.send(waiting.wait).unwrap()
        })),
        ..Options::default()
    };
    let error = error_with("http://model.invalid/v1", options);
    assert!(
        error
            .to_string()
            .ends_with("its scheme is socks5; expected http or https"),
        "{error}"
    );
    assert!(waits.try_recv().is_err(), "nothing changes by waiting");
}

#[test]
fn a_missing_proxy_is_reported() {
    let unused = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let proxies = Proxies {
        http: Some(unused.to_string()),
        ..Proxies::default()
    };
    let error = error_of("http://model.invalid/v1", proxies);
    assert!(error.to_string().ends_with("; a proxy is set"), "{error}");
}

/// The name under which this test runs itself with proxies in the environment.
const INSIDE: &str = "ANALECTS_TEST_INSIDE";

#[test]
fn the_environment_is_not_asked() {
    if std::env::var_os(INSIDE).is_some() {
        for scheme in ["http", "https"] {
            error_of(&format!("{scheme}://model.invalid/v1"), Proxies::default());
        }
        return;
    }
    let (proxy, visits) = listener();
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    for name in [
        "http_proxy",
        "HTTP_PROXY",
        "https_proxy",
        "HTTPS_PROXY",
        "all_proxy",
        "ALL_PROXY",
    ] {
        child.env(name, format!("http://{proxy}"));
    }
    child
        .env_remove("no_proxy")
        .env_remove("NO_PROXY")
        .env(INSIDE, "1");
    let output = child
        .args(["--exact", "the_environment_is_not_asked"])
        .output()
        .unwrap();
    assert!(output.status.success(), "{output:?}");
    assert_eq!(visits.request_within(Duration::from_millis(50)), None);
}
