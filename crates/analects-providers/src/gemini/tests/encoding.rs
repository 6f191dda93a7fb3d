//! Requests as they go out to Gemini.

use analects_core::{
    Block, Content, Document, Image, Raw, RawMap, RedactedThinking, Request, Role, Source,
    TextBlock, Thinking, ToolChoice, ToolResult, ToolSpec, ToolUse, Turn,
};

use super::{blocks as blocks_of, fixture, folded};
use crate::gemini::encode_count;
use crate::{Api, Auth, HttpRequest, Method, encode, without_streaming};

fn raw(json: &str) -> Raw {
    Raw::parse(json).unwrap()
}

fn request(turns: Vec<Turn>) -> Request {
    Request {
        model: "gemini-2.5-flash".into(),
        turns,
        ..Request::default()
    }
}

fn user(content: impl Into<Content>) -> Turn {
    Turn {
        role: Role::User,
        content: content.into(),
        model: None,
    }
}

fn said_by(model: &str, blocks: Vec<Block>) -> Turn {
    Turn {
        role: Role::Assistant,
        content: blocks.into(),
        model: Some(model.into()),
    }
}

fn body(http: &HttpRequest) -> String {
    String::from_utf8(http.body.clone()).unwrap()
}

fn field(request: &Request, name: &str) -> String {
    let body = body(&encode(Api::Gemini, request));
    RawMap::parse(&body)
        .unwrap()
        .get(name)
        .map(|raw| raw.to_string())
        .unwrap_or_default()
}

fn contents(turns: Vec<Turn>) -> String {
    field(&request(turns), "contents")
}

fn left_out(request: &Request) -> Vec<String> {
    encode(Api::Gemini, request)
        .left_out
        .into_iter()
        .map(|problem| problem.message)
        .collect()
}

fn call(id: &str, name: &str, input: &str) -> Block {
    let (id, name) = (id.to_string(), name.to_string());
    Block::ToolUse(ToolUse {
        id,
        name,
        input: raw(input),
        extra: RawMap::new(),
    })
}

fn result(id: &str, content: impl Into<Content>) -> ToolResult {
    ToolResult {
        tool_use_id: id.into(),
        content: content.into(),
        ..ToolResult::default()
    }
}

fn tool(name: &str, schema: &str) -> ToolSpec {
    ToolSpec {
        name: name.into(),
        description: "d".into(),
        input_schema: raw(schema),
    }
}

fn image(source: Source) -> Block {
    Block::Image(Image {
        source: source.to_raw(),
        extra: RawMap::new(),
    })
}

fn document(source: &str) -> Block {
    Block::Document(Document {
        source: raw(source),
        extra: RawMap::new(),
    })
}

#[test]
fn a_request_has_the_apis_shape() {
    let mut metadata = RawMap::new();
    metadata.push("generationConfig", raw(r#"{"topK":3,"temperature":0.25}"#));
    metadata.push("safetySettings", raw("[]"));
    metadata.push("tools", raw(r#"[{"googleSearch":{}}]"#));
    metadata.push("contents", raw("[]"));
    let request = Request {
        system: Some("Be brief.".into()),
        tools: vec![tool(
            "weather",
            r#"{"type":"object","properties":{"n":{"type":"number","maximum":1e400}}}"#,
        )],
        tool_choice: Some(ToolChoice::Tool("weather".into())),
        temperature: Some(0.5),
        max_output_tokens: Some(64),
        stop_sequences: vec!["END".into()],
        reasoning: true,
        metadata,
        ..request(vec![user("Hello")])
    };
    let http = encode(Api::Gemini, &request);
    assert_eq!(
        http.path,
        "/models/gemini-2.5-flash:streamGenerateContent?alt=sse"
    );
    assert_eq!((http.method, http.auth), (Method::Post, Auth::GoogleKey));
    assert_eq!(http.left_out, []);
    assert_eq!(
        body(&http),
        concat!(
            r#"{"contents":[{"role":"user","parts":[{"text":"Hello"}]}],"#,
            r#""systemInstruction":{"parts":[{"text":"Be brief."}]},"#,
            r#""tools":[{"functionDeclarations":[{"name":"weather","description":"d","#,
            r#""parameters":{"type":"object","properties":{"n":{"type":"number","maximum":1e400}}}}]},{"googleSearch":{}}],"#,
            r#""toolConfig":{"functionCallingConfig":{"mode":"ANY","allowedFunctionNames":["weather"]}},"#,
            r#""generationConfig":{"maxOutputTokens":64,"stopSequences":["END"],"#,
            r#""thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1},"topK":3,"temperature":0.25},"#,
            r#""safetySettings":[]}"#,
        )
    );
    let plain = without_streaming(Api::Gemini, http.clone());
    assert_eq!(plain.path, "/models/gemini-2.5-flash:generateContent");
    assert_eq!(plain.body, http.body);
    assert!(
        plain
            .headers
            .contains(&("accept".into(), "application/json".into()))
    );
}

#[test]
fn a_bare_request_holds_nothing_that_was_not_asked_for() {
    assert_eq!(
        body(&encode(Api::Gemini, &request(vec![user("Hi")]))),
        r#"{"contents":[{"role":"user","parts":[{"text":"Hi"}]}]}"#
    );
}

#[test]
fn a_count_holds_the_whole_request() {
    let request = Request {
        system: Some("S".into()),
        ..request(vec![user("Hi")])
    };
    let http = encode_count(&request);
    assert_eq!(http.path, "/models/gemini-2.5-flash:countTokens");
    assert_eq!(
        body(&http),
        concat!(
            r#"{"generateContentRequest":{"model":"models/gemini-2.5-flash","#,
            r#""contents":[{"role":"user","parts":[{"text":"Hi"}]}],"#,
            r#""systemInstruction":{"parts":[{"text":"S"}]}}}"#,
        )
    );
}

#[test]
fn a_name_cannot_leave_its_place_in_the_address() {
    let path = |model: &str| {
        let request = Request {
            model: model.into(),
            ..Request::default()
        };
        encode(Api::Gemini, &request)
            .path
            .replace(":streamGenerateContent?alt=sse", "")
    };
    assert_eq!(path("models/gemini-pro"), "/models/gemini-pro");
    assert_eq!(path("tunedModels/mine"), "/tunedModels/mine");
    assert_eq!(path("../files?x=#"), "/models/..%2Ffiles%3Fx%3D%23");
    assert_eq!(path("models/a/b"), "/models/a%2Fb");
    assert_eq!(path("模"), "/models/%E6%A8%A1");
}

#[test]
fn thinking_is_requested_as_each_generation_expects() {
    let config = |model: &str| {
        let request = Request {
            model: model.into(),
            reasoning: true,
            ..request(vec![user("Hi")])
        };
        (
            field(&request, "generationConfig"),
            left_out(&request).len(),
        )
    };
    let budget = r#"{"thinkingConfig":{"includeThoughts":true,"thinkingBudget":-1}}"#;
    let plain = r#"{"thinkingConfig":{"includeThoughts":true}}"#;
    assert_eq!(config("gemini-2.5-flash-lite"), (budget.into(), 0));
    assert_eq!(config("models/gemini-2.5-pro"), (budget.into(), 0));
    assert_eq!(config("gemini-3-pro-preview"), (plain.into(), 0));
    assert_eq!(config("gemini-flash-latest"), (plain.into(), 0));
    assert_eq!(config("gemini-2.0-flash"), (String::new(), 1));
    assert_eq!(config("gemini-1.5-pro"), (String::new(), 1));
}

#[test]
fn tool_choice_uses_the_names_of_the_api() {
    for (choice, word) in [
        (ToolChoice::Auto, "AUTO"),
        (ToolChoice::Any, "ANY"),
        (ToolChoice::None, "NONE"),
    ] {
        let tools = vec![tool("f", "{}")];
        let request = Request {
            tool_choice: Some(choice),
            tools,
            ..request(vec![])
        };
        let config = field(&request, "toolConfig");
        assert_eq!(
            config,
            format!(r#"{{"functionCallingConfig":{{"mode":"{word}"}}}}"#)
        );
        assert_eq!(
            field(
                &Request {
                    tools: vec![],
                    ..request
                },
                "toolConfig"
            ),
            ""
        );
    }
}

#[test]
fn too_many_stop_sequences_are_reported() {
    let stops = |count: usize| {
        let stop_sequences = (0..count).map(|n| n.to_string()).collect();
        let request = Request {
            stop_sequences,
            ..request(vec![user("Hi")])
        };
        (
            field(&request, "generationConfig"),
            left_out(&request).len(),
        )
    };
    let five = r#"{"stopSequences":["0","1","2","3","4"]}"#;
    assert_eq!(stops(5), (five.into(), 0));
    assert_eq!(stops(6), (five.into(), 1));
}

#[test]
fn parallel_calls_and_their_results_go_out_in_order() {
    let error = ToolResult {
        is_error: Some(true),
        ..result("c2", "no such city")
    };
    let turns = vec![
        user("Weather?"),
        said_by(
            "gpt-5",
            vec![
                Block::from_text("Looking."),
                call("c1", "w", r#"{"n":12345678901234567890123}"#),
                call("c2", "w", "\"Rome\""),
            ],
        ),
        user(vec![
            Block::from_text("And?"),
            Block::ToolResult(result("c1", "20 °C")),
            Block::ToolResult(error),
        ]),
    ];
    assert_eq!(
        contents(turns),
        concat!(
            r#"[{"role":"user","parts":[{"text":"Weather?"}]},{"role":"model","parts":[{"text":"Looking."},"#,
            r#"{"functionCall":{"name":"w","args":{"n":12345678901234567890123}}},"#,
            r#"{"functionCall":{"name":"w","args":{"input":"Rome"}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"w","response":{"output":"20 °C"}}},"#,
            r#"{"functionResponse":{"name":"w","response":{"error":"no such city"}}}]},"#,
            r#"{"role":"user","parts":[{"text":"And?"}]}]"#,
        )
    );
}

#[test]
fn images_and_documents_go_inline_or_by_address() {
    let png = || Source::Base64 {
        media_type: "image/png".into(),
        data: "AAAA".into(),
    };
    let in_result = vec![Block::from_text("seen"), image(png())];
    let turns = vec![
        user("Look."),
        said_by("m", vec![call("c", "look", "{}")]),
        user(vec![
            Block::ToolResult(result("c", in_result)),
            image(Source::Url("https://example.org/a.png".into())),
            image(Source::Url("data:image/gif;base64,R0lG".into())),
            document(r#"{"type":"base64","media_type":"application/pdf","data":"JVBE"}"#),
            document(r#"{"type":"url","url":"files/x","media_type":"text/csv"}"#),
            document(r#"{"type":"text","media_type":"text/plain","data":"plain"}"#),
        ]),
    ];
    assert_eq!(
        contents(turns),
        concat!(
            r#"[{"role":"user","parts":[{"text":"Look."}]},"#,
            r#"{"role":"model","parts":[{"functionCall":{"name":"look","args":{}}}]},"#,
            r#"{"role":"user","parts":[{"functionResponse":{"name":"look","response":{"output":"seen"}}}]},"#,
            r#"{"role":"user","parts":[{"inlineData":{"mimeType":"image/png","data":"AAAA"}},"#,
            r#"{"fileData":{"fileUri":"https://example.org/a.png"}},"#,
            r#"{"inlineData":{"mimeType":"image/gif","data":"R0lG"}},"#,
            r#"{"inlineData":{"mimeType":"application/pdf","data":"JVBE"}},"#,
            r#"{"fileData":{"mimeType":"text/csv","fileUri":"files/x"}},{"text":"plain"}]}]"#,
        )
    );
}

#[test]
fn unsupported_content_is_reported() {
    let other = || Block::Other(raw(r#"{"type":"server_tool_use"}"#));
    let turns = vec![
        user(vec![
            image(Source::File("a.png".into())),
            document(r#"{"type":"file_id","file_id":"f"}"#),
            Block::ToolResult(result("lost", "x")),
            call("c", "f", "{}"),
            other(),
        ]),
        said_by(
            "claude-opus-4-1",
            vec![
                Block::RedactedThinking(RedactedThinking::default()),
                other(),
            ],
        ),
    ];
    let request = request(turns);
    assert_eq!(field(&request, "contents"), "[]");
    assert_eq!(
        left_out(&request),
        [
            "turn 1: an image is not sent: its bytes are not at hand",
            "turn 1: a document is not sent: its bytes are not at hand",
            "turn 1: a tool call is not sent: it is not the model's",
            "turn 1: a block is not sent: it is not of this API",
            "turn 2: a thought is not sent: another model had it",
            "turn 2: a block is not sent: it is not of this API",
            "turn 1: a result is not sent: no call before it waits for one",
            "the request is not sent: there is nothing in it that the API takes",
        ]
    );
}

#[test]
fn turns_alternate_and_nothing_empty_goes_out() {
    let system = Turn {
        role: Role::System,
        ..user("Note.")
    };
    let turns = vec![
        user("a"),
        user(""),
        system,
        said_by("m", vec![Block::from_text("")]),
        user(vec![Block::from_text("b")]),
        said_by("m", vec![Block::from_text("c")]),
        said_by("n", vec![Block::from_text("d")]),
        Turn {
            content: Content::Empty,
            ..user("")
        },
    ];
    assert_eq!(
        contents(turns),
        concat!(
            r#"[{"role":"user","parts":[{"text":"a"},{"text":"Note."},{"text":"b"}]},"#,
            r#"{"role":"model","parts":[{"text":"c"},{"text":"d"}]},"#,
            r#"{"role":"user","parts":[{"text":"(Please go on.)"}]}]"#,
        )
    );
}

/// The parts that what a model said becomes.
fn parts_of(turn: Turn) -> String {
    let contents = raw(&contents(vec![user("Hi"), turn, user("Go on")]))
        .as_array()
        .unwrap();
    contents[1]
        .as_object()
        .unwrap()
        .get("parts")
        .unwrap()
        .to_string()
}

/// The parts that a recorded answer becomes when it goes back.
fn sent_back(name: &str, model: &str) -> String {
    parts_of(said_by(model, blocks_of(&folded(&fixture(name)))))
}

#[test]
fn geminis_own_parts_go_back_unchanged() {
    assert_eq!(
        sent_back("sealed-text.sse", "gemini-2.5-pro"),
        concat!(
            r#"[{"text":"A thought","thought":true,"thoughtSignature":"dGhvdWdodA=="},{"text":"Answer"},"#,
            r#"{"text":"","thoughtSignature":"bGFzdA=="},{"text":" more"}]"#,
        )
    );
    assert_eq!(
        sent_back("order.sse", "gemini-3-pro-preview"),
        concat!(
            r#"[{"text":"Let me see."},{"functionCall":{"name":"weather","args":{"city": "Paris", "n": 12345678901234567890123}},"#,
            r#""thoughtSignature":"CsQBAXLI2nw+/Qk9aGVsbG8tc2lnbmF0dXJl=="},{"text":"The time, too."},"#,
            r#"{"functionCall":{"id":"fc-7","name":"time","args":{}},"thoughtSignature":"EvYC_second-seal/+=="}]"#,
        )
    );
    let parts = sent_back("code-and-files.sse", "models/gemini-2.5-pro");
    for part in [
        r#"{"executableCode":{"language": "PYTHON", "code": "print(1+1)\n"}}"#,
        r#"{"inlineData":{"mimeType":"image/png","data":"iVBORw0KGgo="},"thoughtSignature":"aW1n"}"#,
        r#"{"fileData":{"mimeType":"application/pdf","fileUri":"https://generativelanguage.googleapis.com/v1beta/files/abc"}}"#,
        r#"{"hologram":{"n": 12},"partMetadata":{"k": "v"}}"#,
        r#"{"text":"Two.","partMetadata":{"k": [1]}}"#,
    ] {
        assert!(parts.contains(part), "{part} in {parts}");
    }
}

#[test]
fn ids_go_back_only_where_gemini_gave_them() {
    let ids = |model: &str| {
        let blocks = blocks_of(&folded(&fixture("order.sse")));
        let results = vec![
            Block::ToolResult(result("gemini_r-order_2", "a")),
            Block::ToolResult(result("fc-7", "b")),
        ];
        contents(vec![said_by(model, blocks), user(results)])
            .matches(r#""id":"#)
            .count()
    };
    assert_eq!(ids("gemini-3-pro-preview"), 2, "one call and its result");
    assert_eq!(ids("claude-opus-4-1"), 0);
}

#[test]
fn turns_of_other_models_lose_their_signatures() {
    let thinking = Thinking {
        thinking: "hm".into(),
        signature: Some("ErUB-anthropic".into()),
        ..Thinking::default()
    };
    let mut extra = RawMap::new();
    extra.push("thoughtSignature", raw("\"stale\""));
    let text = TextBlock {
        text: "Hi".into(),
        extra,
    };
    let turn = |model: Option<&str>| {
        let blocks = vec![
            Block::Thinking(thinking.clone()),
            Block::RedactedThinking(RedactedThinking::default()),
            Block::Text(text.clone()),
            call("toolu_01", "f", "{}"),
        ];
        let model = model.map(str::to_string);
        Turn {
            role: Role::Assistant,
            content: blocks.into(),
            model,
        }
    };
    let plain = r#"[{"text":"Hi"},{"functionCall":{"name":"f","args":{}}}]"#;
    assert_eq!(parts_of(turn(Some("claude-opus-4-1"))), plain);
    assert_eq!(parts_of(turn(Some("google/gemini-2.5-pro"))), plain);
    // Of an unknown speaker only what has Gemini's own name goes back.
    assert_eq!(
        parts_of(turn(None)),
        plain.replace(r#""Hi""#, r#""Hi","thoughtSignature":"stale""#)
    );
}

#[test]
fn calls_of_other_models_get_the_documented_signature() {
    let turns = || {
        vec![
            user("First?"),
            said_by("gpt-5", vec![call("a", "f", "{}")]),
            user(vec![Block::ToolResult(result("a", "1"))]),
            said_by("gpt-5", vec![Block::from_text("One.")]),
            user("Second?"),
            said_by("gpt-5", vec![call("b", "f", "{}"), call("c", "f", "{}")]),
            user(vec![
                Block::ToolResult(result("b", "2")),
                Block::ToolResult(result("c", "3")),
            ]),
        ]
    };
    let marks = |model: &str| {
        let request = Request {
            model: model.into(),
            ..request(turns())
        };
        field(&request, "contents")
            .matches("skip_thought_signature_validator")
            .count()
    };
    assert_eq!(
        marks("gemini-3-pro-preview"),
        1,
        "the first call of the open step alone"
    );
    assert_eq!(marks("gemini-2.5-pro"), 0);
}

fn cleaned(schema: &str) -> (String, String) {
    let tools = vec![tool("t", schema)];
    let request = Request {
        tools,
        ..request(vec![user("Hi")])
    };
    let tools = field(&request, "tools");
    let start = r#"[{"functionDeclarations":[{"name":"t","description":"d""#;
    let rest = tools
        .strip_prefix(start)
        .unwrap()
        .strip_suffix("}]}]")
        .unwrap();
    let rest = rest.strip_prefix(r#","parameters":"#).unwrap_or(rest);
    (rest.to_string(), left_out(&request).join("; "))
}

#[test]
fn schema_fields_that_gemini_refuses_are_removed_and_reported() {
    let (schema, told) = cleaned(
        r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
           "properties":{"a":{"type":["string","null"],"format":"uri","minLength":1},
             "b":{"type":"array","items":{"type":"object","additionalProperties":{},"properties":{"$schema":{"type":"string"}}}},
             "c":{"enum":["x",null]},"d":{"const":"k"},"e":{"type":"integer","enum":[1,2],"format":"int32"},
             "f":{"oneOf":[{"type":"string"},{"type":"null"}]},"g":{"type":["string","number"]},"h":true},
           "required":["a","zz"]}"#,
    );
    assert_eq!(
        schema,
        concat!(
            r#"{"type":"object","properties":{"a":{"type":"string","nullable":true,"minLength":1},"#,
            r#""b":{"type":"array","items":{"type":"object","properties":{"$schema":{"type":"string"}}}},"#,
            r#""c":{"nullable":true,"enum":["x"]},"d":{"enum":["k"]},"e":{"type":"integer","format":"int32"},"#,
            r#""f":{"nullable":true,"anyOf":[{"type":"string"}]},"g":{"anyOf":[{"type":"string"},{"type":"number"}]},"h":{}},"#,
            r#""required":["a"]}"#,
        )
    );
    assert_eq!(
        told,
        "the schema of the tool t goes without $schema, a schema that is true or false, \
         additionalProperties, enum, format, oneOf (anyOf instead)"
    );
}

#[test]
fn definitions_are_written_out_but_not_for_ever() {
    let (schema, told) = cleaned(
        r##"{"type":"object","$defs":{"p":{"type":"string","description":"general"}},
            "properties":{"a":{"$ref":"#/$defs/p","description":"own"}}}"##,
    );
    let expected = r#"{"type":"object","properties":{"a":{"type":"string","description":"own"}}}"#;
    assert_eq!((schema.as_str(), told.as_str()), (expected, ""));
    let (_, told) = cleaned(
        r##"{"type":"object","$defs":{"n":{"type":"object","properties":{"n":{"$ref":"#/$defs/n"}}}},
            "properties":{"a":{"$ref":"#/$defs/n"},"b":{"$ref":"https://example.org/s"}}}"##,
    );
    assert_eq!(told, "the schema of the tool t goes without $ref");
    // Each definition names the next one twice.
    let definitions: Vec<_> = (0..60)
        .map(|n| {
            format!(
                r##""d{n}":{{"anyOf":[{{"$ref":"#/$defs/d{m}"}},{{"$ref":"#/$defs/d{m}"}}]}}"##,
                m = n + 1
            )
        })
        .collect();
    let bomb = format!(
        r##"{{"type":"object","$defs":{{{}}},"properties":{{"a":{{"$ref":"#/$defs/d0"}}}}}}"##,
        definitions.join(",")
    );
    let (schema, told) = cleaned(&bomb);
    assert!(schema.len() < 1_000_000, "{}", schema.len());
    assert!(told.contains("nested too deeply"), "{told}");
}

#[test]
fn a_tool_without_arguments_has_no_parameters() {
    for schema in [
        r#"{"type":"object","properties":{}}"#,
        "{}",
        r#"{"type":"object"}"#,
        "true",
    ] {
        assert_eq!(cleaned(schema).0, "", "{schema}");
    }
}
