//! What a real model receives: normalised, counted as the server counts, compacted when it is too long, with its
//! context, its reminders, and files that change.

use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Stdio;
use std::sync::Arc;

use analects_client::{BaseUrl, Key, Model, ProviderSettings, Transport, resolve};
use analects_context::{Precision, ProjectDocument, Tokenizer, count_tokens_from_usage};
use analects_core::verbs::Change;
use analects_core::{Agent, Block, Body, Content, Message, Raw, chain};
use analects_local::LocalServer;
use analects_providers::Api;
use analects_runtime::{
    AskOptions, Conversation, FileConversation, ResolvedAgent, TurnConfig, TurnEnd, prepare,
};
use analects_store::StoreFolders;
use jiff::Timestamp;
use serde_json::{Value, json};

use crate::machine::{CommandOutput, Machine, print_note};

fn model(serving: &LocalServer) -> Model {
    let base_url = BaseUrl::parse(&format!("http://127.0.0.1:{}/v1", serving.port)).unwrap();
    let transport = Transport::Http {
        base_url,
        key: Key::new(&serving.key),
        as_bearer: false,
    };
    let model = resolve("local/smollm2", &ProviderSettings::default()).unwrap();
    Model {
        transport,
        api: Api::OpenAiChat,
        ..model
    }
}

fn post(serving: &LocalServer, path: &str, body: &Value) -> Value {
    let (port, key, body) = (serving.port, &serving.key, body.to_string());
    let mut stream = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let head = format!(
        "POST {path} HTTP/1.0\r\nhost: x\r\nauthorization: Bearer {key}\r\ncontent-length: {}\r\n\r\n",
        body.len()
    );
    stream.write_all((head + &body).as_bytes()).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    serde_json::from_str(text.split_once("\r\n\r\n").unwrap().1).unwrap()
}

/// The tokens that the server counts in a request, template included.
fn tokens_on_server(serving: &LocalServer, model: &Model, request: &analects_core::Request) -> u64 {
    let body: Value = serde_json::from_slice(&model.encode(request).body).unwrap();
    let prompt = post(
        serving,
        "/apply-template",
        &json!({ "messages": body["messages"] }),
    );
    let content = prompt["prompt"].as_str().unwrap();
    let wanted = json!({ "content": content, "add_special": true, "parse_special": true });
    post(serving, "/tokenize", &wanted)["tokens"]
        .as_array()
        .unwrap()
        .len() as u64
}

fn read_tokens(answer: &Message) -> u64 {
    let usage = answer.usage.clone().unwrap_or_default();
    usage.input_tokens.unwrap_or(0) + usage.cache_read_input_tokens.unwrap_or(0)
}

#[derive(Debug)]
struct ServerVocabulary(Arc<LocalServer>);

impl Tokenizer for ServerVocabulary {
    fn name(&self) -> &str {
        "smollm2"
    }

    fn count(&self, text: &str) -> Option<u64> {
        self.0.count_tokens(text)
    }
}

fn agent(window: u64, answer: u64) -> Agent {
    Agent {
        context_window: Some(window),
        max_output_tokens: answer,
        temperature: 0.0,
        system_prompt: Some("You are brief.".into()),
        ..Agent::of_model("small", "local/smollm2")
    }
}

fn open(machine: &Machine, name: &str, agent: &Agent) -> FileConversation {
    let places = StoreFolders {
        data: machine.path("d"),
        state: machine.path("s"),
        ..StoreFolders::in_folder("")
    };
    let mut conversation = FileConversation::open(&machine.path(name), &places).unwrap();
    let resolved = ResolvedAgent::new(agent.clone(), "local/smollm2", &ProviderSettings::default());
    conversation.set_responder(&resolved.unwrap()).unwrap();
    conversation
}

/// A history as tools leave it: progress, an empty answer, an error, two questions in a row, a separate result.
fn dirty_history() -> Vec<Message> {
    let call = Block::ToolUse(analects_core::ToolUse {
        id: "call_1".into(),
        name: "look".into(),
        input: Raw::parse("{}").unwrap(),
        extra: analects_core::RawMap::new(),
    });
    let result = Block::ToolResult(analects_core::ToolResult {
        tool_use_id: "call_1".into(),
        content: "It rains.".into(),
        is_error: None,
        extra: analects_core::RawMap::new(),
    });
    let calls = Content::Blocks(vec![Block::from_text("I look."), call]);
    let assistant = |content| analects_core::Assistant {
        content,
        stop_reason: None,
    };
    let user = |content| analects_core::User {
        content,
        ..Default::default()
    };
    let failed = Message {
        is_api_error_message: true,
        ..Message::assistant("", "overloaded")
    };
    vec![
        Message::user("", "How is the weather?"),
        Message::new("", Body::Assistant(assistant(calls))),
        Message::new("", Body::Progress(Default::default())),
        Message::new("", Body::User(user(Content::Blocks(vec![result])))),
        failed,
        Message::assistant("", "  \n"),
        Message::user("", "So?"),
        Message::user("", "Do I need an umbrella?"),
    ]
}

#[test]
fn the_plan_counts_tokens_as_the_server_does() {
    let Some(machine) = Machine::with_model("the_plan_counts_tokens_as_the_server_does") else {
        return;
    };
    let serving = machine.local().serve("smollm2", &mut |_| {}).unwrap();
    let serving = Arc::new(serving);
    let (model, agent) = (model(&serving), agent(4000, 8));
    let mut conversation = open(&machine, "dirty.msg.md", &agent);
    let changes = dirty_history()
        .into_iter()
        .map(|message| Change::Append(Box::new(message)));
    conversation
        .apply(changes.collect(), &[], Timestamp::now())
        .unwrap();
    let environment = ProviderSettings::default();
    let config = TurnConfig {
        tokenizer: Some(Arc::new(ServerVocabulary(serving.clone()))),
        context: vec![("city".to_string(), "Paris & <London>".to_string())],
        documents: vec![ProjectDocument {
            name: "AGENTS.md".into(),
            text: "Speak plainly.".into(),
        }],
        ..TurnConfig::default()
    };
    let options = AskOptions {
        config,
        ..AskOptions::new(&environment)
    };
    let mut prepared = prepare(&mut conversation, &options).unwrap();
    *prepared.model_mut() = model.clone();
    let plan = prepared.plan(Precision::Exact).unwrap().plan;
    let request = plan.ready().unwrap().clone();
    let body = model.encode(&request).body;
    assert_eq!(
        analects_testkit::validate(analects_testkit::Rules::OpenAiChat, &body),
        []
    );
    let roles: Vec<&str> = request
        .turns
        .iter()
        .map(|turn| turn.role.as_str())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"], "{request:?}");
    let system = request.system.as_ref().unwrap().as_str().into_owned();
    assert_eq!(
        system,
        "You are brief.\n\n<document name=\"AGENTS.md\">\nSpeak plainly.\n</document>\n\n\
         <context name=\"city\">Paris &amp; &lt;London&gt;</context>"
    );
    let expected = tokens_on_server(&serving, &model, &request);
    let outcome = prepared
        .ask_blocking(&mut |_| {}, std::future::pending())
        .unwrap();
    assert!(matches!(outcome.end, TurnEnd::Done), "{:?}", outcome.end);
    // The plan matches what the model read, to the token.
    let answer = outcome.answer.unwrap();
    assert_eq!(read_tokens(&answer), expected);
    let (counted, bound) = (plan.count.tokens, plan.count.error_bound);
    print_note(&format!(
        "the plan counts {counted} ± {bound}, the server {expected}"
    ));
    assert!(
        counted.abs_diff(expected) <= expected / 10,
        "{counted} against {expected}"
    );
    // The record has the same number.
    let messages = conversation.snapshot().messages;
    let chain = chain(&messages);
    let used = count_tokens_from_usage(&chain.messages).unwrap();
    let written = answer.usage.unwrap().output_tokens.unwrap();
    assert_eq!(used.count.tokens, expected + written);
    check_estimates(&serving);
}

/// Compares the estimates for each kind of text with the model's vocabulary.
fn check_estimates(serving: &LocalServer) {
    let english =
        "The committee met on Tuesday to discuss whether the old bridge should be repaired. "
            .repeat(40);
    let code = "pub fn next(&mut self) -> Option<Token> {\n    let start = self.at;\n    self.skip();\n}\n".repeat(40);
    for (class, text) in [("English", &english), ("code", &code)] {
        let real = serving.count_tokens(text).unwrap();
        let estimated = analects_context::Counter::of_model("smollm2")
            .text(text)
            .tokens;
        let off = estimated.abs_diff(real) as f64 * 100.0 / real as f64;
        print_note(&format!(
            "{class}: {estimated} estimated, {real} real, {off:.1} % off"
        ));
    }
}

/// The same over the command: exact where it says so.
#[test]
fn tokens_counts_as_the_server_does() {
    let Some(machine) = Machine::with_model("tokens_counts_as_the_server_does") else {
        return;
    };
    let text = "Wie heißt das? 论语 is 3 words, no?\n\tfn main() {}\n".repeat(30);
    fs::write(machine.path("text"), &text).unwrap();
    let run = machine.run(&["tokens", "text", "-m", "local/smollm2", "--json"]);
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let shown: Value = serde_json::from_str(&run.stdout).unwrap();
    let serving = machine.local().serve("smollm2", &mut |_| {}).unwrap();
    let body = json!({ "content": text, "add_special": false });
    let real = post(&serving, "/tokenize", &body)["tokens"]
        .as_array()
        .unwrap()
        .len();
    assert_eq!(
        (&shown["tokens"], &shown["method"]),
        (&real.into(), &"tokenizer".into())
    );
}

/// The number that stands before `/` in the last `tokens=` of the file: what the model read.
fn tokens_read(machine: &Machine) -> u64 {
    let file = fs::read_to_string(machine.path("talk.msg.md")).unwrap();
    let (_, after) = file.rsplit_once(" tokens=").unwrap();
    after.split_once('/').unwrap().0.parse().unwrap()
}

/// `context` counts what its chat template adds to a question too: the model's own instructions where there are none,
/// and the words around each message.
#[test]
fn context_counts_the_words_of_the_chat_template() {
    let Some(machine) = Machine::with_model("context_counts_the_words_of_the_chat_template") else {
        return;
    };
    let agent = "---\ndefault_agent: small\nagents:\n  small:\n    models: [local/smollm2]\n    max_output_tokens: 8\n    temperature: 0\n";
    let instructed = format!("{agent}    system_prompt: You are brief.\n");
    let question = "# %%\n\nWhat is the capital of France, and how many people live there?\n";
    let rivers: String = (0..5).map(river_exchange).collect();
    let code = "# %%\n\n```rust\nfn main() {\n    println!(\"论语\");\n}\n```\n\n1. one\n2. two\n";
    for (case, head, cells) in [
        ("a question", agent, question.to_string()),
        ("instructions", &instructed, question.to_string()),
        ("a conversation", agent, format!("{rivers}{question}")),
        ("all of it", &instructed, format!("{rivers}{code}")),
    ] {
        fs::write(machine.path("talk.msg.md"), format!("{head}---\n\n{cells}")).unwrap();
        let run = machine.run(&["context", "talk.msg.md", "--json"]);
        let shown: Value = serde_json::from_str(&run.stdout).unwrap();
        let counted = shown["count"]["tokens"].as_u64().unwrap();
        chat(&machine, &[]);
        let read = tokens_read(&machine);
        print_note(&format!("{case}: {counted} counted, {read} read"));
        assert!(counted.abs_diff(read) <= 5, "{case}: {counted}, {read}");
        assert_eq!(shown["count"]["error_bound"], 5, "{case}");
    }
}

fn chat(machine: &Machine, args: &[&str]) -> CommandOutput {
    let mut all = vec!["chat", "talk.msg.md"];
    all.extend(args);
    let run: CommandOutput = machine
        .command(&all)
        .stdin(Stdio::null())
        .output()
        .unwrap()
        .into();
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    run
}

const SMALL: &str = "---\ndefault_agent: small\nagents:\n  small:\n    models: [local/smollm2]\n    context_window: 700\n    max_output_tokens: 40\n    temperature: 0\n---\n";

#[test]
fn the_real_model_compacts_a_long_conversation() {
    let Some(machine) = Machine::with_model("the_real_model_compacts_a_long_conversation") else {
        return;
    };
    // Most exchanges are prepared, so that the model need not write them.
    let written: String = (0..EXCHANGES).map(river_exchange).collect();
    fs::write(machine.path("talk.msg.md"), format!("{SMALL}\n{written}")).unwrap();
    let mut compacted = None;
    for round in EXCHANGES..20 {
        let question =
            format!("Question {round}: tell me one fact about the river number {round}.");
        let run = chat(&machine, &[&question]);
        if run.stderr.contains("a summary replaces") {
            compacted = Some(round);
            break;
        }
        assert!(
            !run.stderr.contains("not sent"),
            "nothing is left out before: {}",
            run.stderr
        );
    }
    let round = compacted.unwrap();
    let file = fs::read_to_string(machine.path("talk.msg.md")).unwrap();
    assert!(file.contains(": [summary] through="), "{file}");
    assert!(file.contains("Question 0: tell me"), "nothing is deleted");
    let shown = machine.run(&["context", "talk.msg.md", "--json"]);
    let shown: Value = serde_json::from_str(&shown.stdout).unwrap();
    let rows = shown["messages"].as_array().unwrap();
    assert!(rows.len() < 2 * round, "{shown}");
    print_note(&format!(
        "compacted before question {round}; {} messages are seen",
        rows.len()
    ));
    let request = machine.run(&["context", "talk.msg.md", "--request"]).stdout;
    assert!(
        request.contains("This is a summary of the conversation so far"),
        "{request}"
    );
    assert!(!request.contains("Question 0: tell me"), "{request}");
    // The conversation continues from there.
    chat(&machine, &["And one more?"]);
    assert_eq!(machine.run(&["check", "talk.msg.md"]).code, Some(0));
}

/// The number of exchanges that nearly fill the window.
const EXCHANGES: usize = 9;

/// A question and an answer about a river.
fn river_exchange(number: usize) -> String {
    let question = format!("Question {number}: tell me one fact about the river number {number}.");
    let answer = "It is long and wide, and it flows to the sea through green hills. ".repeat(3);
    format!("# %%\n\n{question}\n\n# %%% [^r{number}]\n\n[^r{number}]: [small]\n\n{answer}\n\n")
}

#[test]
fn the_real_model_hears_about_changed_files() {
    let Some(machine) = Machine::with_model("the_real_model_hears_about_changed_files") else {
        return;
    };
    fs::write(
        machine.path("talk.msg.md"),
        SMALL.replace("40", "8").replace("700", "4000"),
    )
    .unwrap();
    let notes = machine.path("notes.txt");
    fs::write(&notes, "The tea is green.").unwrap();
    chat(&machine, &["-f", "notes.txt", "What colour is the tea?"]);
    let told = |what: &str| chat(&machine, &["And now?"]).stderr.contains(what);
    assert!(!told("notes.txt"), "it is fresh");
    // In the same second, of the same length.
    fs::write(&notes, "The tea is black.").unwrap();
    fs::write(&notes, "The tea is brown.").unwrap();
    assert!(told("notes.txt was changed"));
    assert!(!told("notes.txt"), "once");
    fs::write(machine.path("new"), "The tea is white.").unwrap();
    fs::rename(machine.path("new"), &notes).unwrap();
    assert!(told("notes.txt was changed"), "by rename");
    fs::remove_file(&notes).unwrap();
    fs::write(&notes, "The tea is white.").unwrap();
    assert!(!told("notes.txt"), "replaced by the same content");
    fs::remove_file(&notes).unwrap();
    assert!(told("notes.txt, which you have seen, is no longer there"));
    // The model reads what the file says, reminders included.
    let request = machine.run(&["context", "talk.msg.md", "--request"]).stdout;
    assert_eq!(request.matches("<system-reminder>").count(), 3, "{request}");
    assert_eq!(machine.run(&["check", "talk.msg.md"]).code, Some(0));
}

/// The model that answers is elsewhere, and nobody asks it: the one of this machine writes the summary.
#[test]
fn the_configured_local_model_writes_summaries() {
    let Some(machine) = Machine::with_model("the_configured_local_model_writes_summaries") else {
        return;
    };
    let head = "---\nagents:\n  t: {models: [openai/elsewhere], context_window: 800, max_output_tokens: 100}\n---\n\n";
    let round = |n: usize| {
        let answer = "The river flows to the sea. ".repeat(8);
        format!(
            "# %%\n\nWhere does river {n} flow?\n\n# %%% [^r{n}]\n\n[^r{n}]: [t]\n\n{answer}\n\n"
        )
    };
    let talk: String = (0..6).map(round).collect();
    fs::write(machine.path("talk.msg.md"), format!("{head}{talk}")).unwrap();
    fs::write(
        machine.path(".analects.toml"),
        "[models]\ncompact = \"local/smollm2\"\n",
    )
    .unwrap();
    let mut command = machine.command(&["compact", "talk.msg.md", "--json"]);
    // Nothing listens there.
    command
        .env("OPENAI_API_KEY", "x")
        .env("OPENAI_BASE_URL", "http://127.0.0.1:9/v1");
    let run = CommandOutput::from(command.output().unwrap());
    assert_eq!(run.code, Some(0), "{}", run.stderr);
    let done: Value = serde_json::from_str(&run.stdout).unwrap();
    assert!(done["summary"].as_str().unwrap().len() > 80, "{done}");
    assert!(
        done["without_model"] == false && done["messages"].as_u64() > Some(4),
        "{done}"
    );
}
