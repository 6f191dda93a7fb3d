//! Tests that are too slow for every change: tool calls of a real model, and a proxy in front of it that speaks
//! Gemini and gives a second opinion on all other APIs. They run with `cargo xtask torture`.

use std::process::{Child, Command, Stdio};

use analects_client::ModelAdapter;
use analects_core::{
    Block, Body, Content, Message, Raw, RawMap, Request, Role, ToolResult, ToolSpec,
};
use analects_core::{ToolUse, Turn};
use analects_local::LocalServer;
use analects_providers::Api;
use analects_testkit::is_torture;

use crate::machine::{Machine, cache, llama_server, print_note, skip, wait_for};
use crate::provider_adapters::{adapter_at, request, streamed_message};

/// How models of the Hermes 2 Pro family are told about tools, and call them.
const TEMPLATE: &str = include_str!("hermes.jinja");

const APIS: [Api; 4] = [
    Api::AnthropicMessages,
    Api::OpenAiChat,
    Api::OpenAiResponses,
    Api::Gemini,
];

/// The key that the proxy expects.
const KEY: &str = "sk-of-the-proxy-in-the-tests";

/// A server that supports tools.
fn start_tool_server(machine: &Machine) -> LocalServer {
    let bin = llama_server(machine, Some(TEMPLATE));
    let mut local = machine.local();
    let path = format!("{}:{}", bin.display(), local.search_path.to_string_lossy());
    local.search_path = path.into();
    local.serve("smollm2", &mut |_| {}).unwrap()
}

fn turn(role: Role, content: impl Into<Content>) -> Turn {
    Turn {
        role,
        content: content.into(),
        model: None,
    }
}

fn weather_call(id: &str, city: &str) -> Block {
    let input = Raw::parse(&format!("{{\"city\":\"{city}\"}}")).unwrap();
    let (id, name) = (id.to_string(), "get_weather".to_string());
    Block::ToolUse(ToolUse {
        id,
        name,
        input,
        extra: RawMap::new(),
    })
}

fn weather_result(id: &str, weather: &str) -> Turn {
    let result = ToolResult {
        tool_use_id: id.to_string(),
        content: weather.into(),
        is_error: None,
        extra: RawMap::new(),
    };
    turn(Role::User, Content::Blocks(vec![Block::ToolResult(result)]))
}

/// A question about the weather after three examples, which this model needs.
fn weather_question() -> Request {
    let mut question = request("", 60);
    question.turns.clear();
    for (number, (city, weather)) in [("Rome", "sunny"), ("Oslo", "snowy"), ("Cairo", "hot")]
        .into_iter()
        .enumerate()
    {
        let id = format!("call_{number}");
        question.turns.extend([
            turn(Role::User, &*format!("What is the weather in {city}?")),
            turn(
                Role::Assistant,
                Content::Blocks(vec![weather_call(&id, city)]),
            ),
            weather_result(&id, weather),
            turn(Role::Assistant, &*format!("It is {weather} in {city}.")),
        ]);
    }
    question
        .turns
        .push(turn(Role::User, "What is the weather in Paris?"));
    let schema = r#"{"type":"object","properties":{"city":{"type":"string"}},"required":["city"]}"#;
    question.tools = vec![ToolSpec {
        name: "get_weather".to_string(),
        description: "Tells the weather of a city".to_string(),
        input_schema: Raw::parse(schema).unwrap(),
    }];
    question
}

fn tool_calls(message: &Message) -> Vec<ToolUse> {
    let Body::Assistant(_) = &message.body else {
        panic!("{message:?}")
    };
    let Some(Content::Blocks(blocks)) = message.body.content() else {
        return Vec::new();
    };
    let call = |block: &Block| match block {
        Block::ToolUse(call) => Some(call.clone()),
        _ => None,
    };
    blocks.iter().filter_map(call).collect()
}

/// Checks that the model calls the tool, gets the result, and mentions it.
async fn ask_the_weather(adapter: &ModelAdapter, what: &str) {
    let mut question = weather_question();
    let message = streamed_message(adapter, &question).await;
    let found = tool_calls(&message);
    assert_eq!(found.len(), 1, "{what}: {message:?}");
    assert_eq!(found[0].name, "get_weather", "{what}");
    let input: serde_json::Value = serde_json::from_str(found[0].input.as_str()).unwrap();
    assert_eq!(input, serde_json::json!({ "city": "Paris" }), "{what}");
    let answer = message.body.content().cloned().unwrap();
    question.turns.extend([
        turn(Role::Assistant, answer),
        weather_result(&found[0].id, "rainy"),
    ]);
    let message = streamed_message(adapter, &question).await;
    assert!(message.text().contains("rainy"), "{what}: {message:?}");
    print_note(&format!("{what}: called, answered {:?}", message.text()));
}

#[test]
fn a_real_model_calls_a_tool_and_reads_its_result() {
    if !is_torture() {
        return;
    }
    let Some(machine) = Machine::with_model("a_real_model_calls_a_tool_and_reads_its_result")
    else {
        return;
    };
    let serving = start_tool_server(&machine);
    let url = format!("http://127.0.0.1:{}/v1", serving.port);
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for api in &APIS[..3] {
        let adapter = adapter_at(*api, &url, &serving.key);
        runtime.block_on(ask_the_weather(&adapter, &format!("{api:?}")));
    }
}

/// The proxy, killed when dropped.
struct Proxy(Child);

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Installs the proxy once and starts it in front of a server; `None` if that is impossible.
fn start_proxy(machine: &Machine, serving: &LocalServer) -> Option<(Proxy, String)> {
    let folder = cache().join("litellm");
    let run = |program: &std::path::Path, args: &[&str]| {
        Command::new(program)
            .args(args)
            .output()
            .is_ok_and(|output| output.status.success())
    };
    let python = folder.join("bin/python");
    if !folder.join("installed").exists() {
        let made = run("python3".as_ref(), &["-m", "venv", folder.to_str()?])
            && run(
                &python,
                &["-m", "pip", "install", "--quiet", "litellm[proxy]"],
            );
        if !made {
            return None;
        }
        std::fs::write(folder.join("installed"), "").unwrap();
    }
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let config = format!(
        "model_list:\n- model_name: smollm2\n  litellm_params:\n    model: openai/smollm2\n    \
         api_base: http://127.0.0.1:{}/v1\n    api_key: {}\ngeneral_settings:\n  master_key: {KEY}\n",
        serving.port, serving.key
    );
    std::fs::write(machine.path("proxy.yaml"), config).unwrap();
    let log = std::fs::File::create(machine.path("proxy.log")).unwrap();
    let mut command = Command::new(folder.join("bin/litellm"));
    command.args([
        "--config",
        "proxy.yaml",
        "--host",
        "127.0.0.1",
        "--port",
        &free.to_string(),
    ]);
    command
        .env("LITELLM_LOCAL_MODEL_COST_MAP", "True")
        .current_dir(machine.path(""));
    command
        .stdin(Stdio::null())
        .stdout(log.try_clone().unwrap())
        .stderr(log);
    let proxy = Proxy(command.spawn().ok()?);
    wait_for("the proxy", || {
        std::net::TcpStream::connect(("127.0.0.1", free)).ok()
    });
    Some((proxy, format!("http://127.0.0.1:{free}")))
}

#[test]
fn every_adapter_works_through_a_real_proxy() {
    if !is_torture() {
        return;
    }
    let Some(machine) = Machine::with_model("every_adapter_works_through_a_real_proxy") else {
        return;
    };
    let serving = start_tool_server(&machine);
    let Some((_proxy, url)) = start_proxy(&machine, &serving) else {
        return skip(
            "every_adapter_works_through_a_real_proxy",
            "LiteLLM cannot be installed here",
        );
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    for api in APIS {
        let base = if api == Api::Gemini {
            format!("{url}/v1beta")
        } else {
            format!("{url}/v1")
        };
        let adapter = adapter_at(api, &base, KEY);
        runtime.block_on(async {
            let question = request("What is Markdown?", 16);
            let message = streamed_message(&adapter, &question).await;
            assert!(!message.text().trim().is_empty(), "{api:?}: {message:?}");
            let at_once = adapter.send_message(&question).await.unwrap();
            assert_eq!(at_once.message.text(), message.text(), "{api:?}");
            ask_the_weather(&adapter, &format!("{api:?} through the proxy")).await;
        });
    }
}
