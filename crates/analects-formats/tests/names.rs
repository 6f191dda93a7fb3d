//! Every name of the items and of the chat dialect is in the documentation: as it is, or as an alias to search for.

const SOURCES: [&str; 9] = [
    include_str!("../src/msgfile/item/traits.rs"),
    include_str!("../src/msgfile/item/read.rs"),
    include_str!("../src/msgfile/item/prompts.rs"),
    include_str!("../src/msgfile/item/outputs.rs"),
    include_str!("../src/msgfile/item/builders.rs"),
    include_str!("../src/msgfile/item/draft.rs"),
    include_str!("../src/msgfile/item/draft/add.rs"),
    include_str!("../src/msgfile/item/draft/agents.rs"),
    include_str!("../src/msgfile/item/draft/outputs.rs"),
];

const TYPES: &str = "MessageOutput CodeExecutionOutput MessageItem Message FunctionCall AgentFactoryProtocol \
    MessageOutputBuilder CodeExecutionOutputBuilder MessageBuilder FunctionCallBuilder";

const METHODS: &str = "content mime_type nonce to_dict from_dict stdout_content stderr_content status duration \
    lang name timeout outputs type history heading_level add_output agent_name add_function_call function_calls \
    function_name args get_agent register_agent list_agents with_content with_mime_type with_nonce \
    with_binary_content build with_stdout with_stderr with_status with_duration with_lang with_name with_timeout \
    with_output with_agent_name with_function_call with_history with_heading_level with_function_name with_args \
    get_items get_agents get_item add_agent add_agent_with_definition set_default_agent default_agent add_message \
    add_output_placeholder add_tool_with_definition";

#[test]
fn every_name_is_there() {
    let source = SOURCES.concat();
    let is_there = |name: &str, words: &[&str]| {
        let aliased = source.contains(&format!("#[doc(alias = \"{name}\")]"));
        let ends = |after: &str| !after.starts_with(|c: char| c.is_alphanumeric() || c == '_');
        let is_declared = |word: &&str| source.split(&format!("{word} {name}")).skip(1).any(ends);
        aliased || words.iter().any(is_declared)
    };
    let missing_types = TYPES
        .split_whitespace()
        .filter(|name| !is_there(name, &["pub struct", "pub trait"]));
    let missing_methods = METHODS
        .split_whitespace()
        .filter(|name| !is_there(name, &["fn"]));
    let missing: Vec<&str> = missing_types.chain(missing_methods).collect();
    assert_eq!(missing, Vec::<&str>::new());
}

const CHAT: [&str; 7] = [
    include_str!("../src/chatmd.rs"),
    include_str!("../src/chatmd/content.rs"),
    include_str!("../src/chatmd/decode.rs"),
    include_str!("../src/chatmd/encode.rs"),
    include_str!("../src/chatmd/messages.rs"),
    include_str!("../src/chatmd/session.rs"),
    include_str!("../src/chatmd/session_json.rs"),
];

const CHAT_ALIASES: &str = "IChatSessionHistory IChatSessionMsgItem IMessage chatHistoryToMarkdown item2markdown \
    formatSingleItem adaptIMessageContent parseMarkdownToChatHistory parseItemMarkdown sysPrompt SEPERATOR";

const CHAT_FIELDS: &str = "id title timestamp updated tags preamble";

/// An alias helps only on something that the documentation shows.
#[test]
fn every_name_of_the_chat_dialect_is_there() {
    let source = CHAT.concat();
    let is_there = |name: &&str| {
        let alias = format!("#[doc(alias = \"{name}\")]\n");
        let mut places = source.split(&alias).skip(1);
        let is_public = |rest: &str| {
            let mut lines = rest.lines().map(str::trim);
            let item = lines.find(|line| !line.starts_with("#[") && !line.starts_with("///"));
            item.is_some_and(|line| line.starts_with("pub ") || line == "Separator,")
        };
        places.any(is_public)
    };
    let fields = CHAT_FIELDS.split_whitespace();
    let missing: Vec<&str> = CHAT_ALIASES
        .split_whitespace()
        .filter(|name| !is_there(name))
        .chain(fields.filter(|name| !source.contains(&format!("    pub {name}: "))))
        .collect();
    assert_eq!(missing, Vec::<&str>::new());
}
