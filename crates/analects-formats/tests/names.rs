//! Every name of the interface of items can be found: as it is, or by a search for its alias.

const SOURCES: [&str; 11] = [
    include_str!("../src/msgfile/item/traits.rs"),
    include_str!("../src/msgfile/item/registry.rs"),
    include_str!("../src/msgfile/item/read.rs"),
    include_str!("../src/msgfile/item/prompts.rs"),
    include_str!("../src/msgfile/item/outputs.rs"),
    include_str!("../src/msgfile/item/builders/outputs.rs"),
    include_str!("../src/msgfile/item/builders/prompts.rs"),
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
    let missing_types =
        TYPES.split_whitespace().filter(|name| !is_there(name, &["pub struct", "pub trait"]));
    let missing_methods = METHODS.split_whitespace().filter(|name| !is_there(name, &["fn"]));
    let missing: Vec<&str> = missing_types.chain(missing_methods).collect();
    assert_eq!(missing, Vec::<&str>::new());
}
