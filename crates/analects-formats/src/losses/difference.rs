//! What a message loses: the parts that differ when it is read back, by name. Messages and blocks are taken apart in full,
//! so that the compiler asks about a new field.

use std::collections::{HashMap, VecDeque};

use analects_core::{
    Assistant, Attachment, Block, Body, CompactBoundary, Content, Document, Image, Json, Message,
    MessageId, Notification, Other, Progress, Raw, RawMap, RedactedThinking, Revision, StateChange,
    StopReason, Summary, System, Text, TextBlock, Thinking, TokenUsage, Tombstone, ToolResult,
    ToolUse, User,
};

use super::facts::{Fact, cell_facts, state_facts};
use super::is_made_up;
use crate::Loss;
use crate::msgfile::messages::provenance;

/// The reason for parts that have no place.
pub(crate) const NO_PLACE: &str = "there is no place for it";
/// The reason for parts that come back changed.
const NOT_EXACT: &str = "it cannot be said as it is";
/// The reason for blocks that have no place.
const NO_BLOCK: &str = "there is no place for such a block; it is left out";
/// The prefix of the names of extra fields.
const EXTRA: &str = "extra.";

/// Lists what a message loses if it is read back as `read`.
pub(crate) fn difference(message: &Message, read: &Message) -> Vec<Loss> {
    if message == read {
        return Vec::new();
    }
    let mut comparison = Comparison::of(message);
    comparison.compare_fields(message, read);
    comparison.compare_bodies(&message.body, &read.body);
    if comparison.losses.is_empty() && !is_same_otherwise(message, read) {
        // A text became a list of one text, or unknown fields are in another order.
        comparison.lose("form", "the same is said in another form");
    }
    comparison.losses
}

/// Lists what a message loses apart from what it says, if nothing but the fields of `read` is kept.
pub(crate) fn field_losses(message: &Message, read: &Message) -> Vec<Loss> {
    let mut comparison = Comparison::of(message);
    comparison.compare_fields(message, read);
    for (name, value) in fields(&message.body) {
        comparison.option(name, &value, &None);
    }
    comparison.losses
}

/// Lists the fields of a block that have no place.
pub(crate) fn extra_losses(message: &MessageId, extra: &RawMap) -> Vec<Loss> {
    let mut comparison = Comparison {
        message,
        losses: Vec::new(),
    };
    comparison.compare_maps("", extra, &RawMap::new());
    comparison.losses
}

/// Returns whether two messages differ in nothing but their ids and in how they spell values.
fn is_same_otherwise(message: &Message, read: &Message) -> bool {
    let renamed = Message {
        id: read.id.clone(),
        spellings: read.spellings.clone(),
        ..message.clone()
    };
    renamed == *read
}

/// Lists what a change of state loses of which nothing but `kept` is written. Names at least one loss.
pub(crate) fn state_losses(message: &Message, kept: Option<&StateChange>) -> Vec<Loss> {
    let read = Message {
        session_id: message.session_id.clone(),
        parent_id: message.parent_id.clone(),
        ..Message::new("", Body::Other(Other::default()))
    };
    let mut comparison = Comparison::of(message);
    comparison.compare_fields(message, &read);
    if let Body::State(wanted) = &message.body {
        comparison.compare_states(wanted, kept);
    }
    comparison.losses
}

/// Returns whether a message is a change of another one that a reader made up. The other message has the change.
pub(crate) fn is_applied(message: &Message) -> bool {
    matches!(message.body, Body::Revision(_)) && is_made_up(&message.id)
}

/// Lists the calls and results that are missing from a message after its revisions.
pub(crate) fn hidden_call_losses(message: &Message, revised: &Message) -> Vec<Loss> {
    let is_call = |block: &Block| matches!(block, Block::ToolUse(_) | Block::ToolResult(_));
    let kept = blocks(&revised.body);
    let mut losses = Vec::new();
    for block in blocks(&message.body) {
        if is_call(&block) && !kept.contains(&block) {
            let why = "the model does not see it, so it is left out";
            losses.push(Loss::of(&message.id, block_name(&block), why));
        }
    }
    if !losses.is_empty() {
        losses.push(Loss::of(&message.id, "history", NO_PLACE));
    }
    losses
}

/// Collects the differences between a message and what is read back.
struct Comparison<'a> {
    message: &'a MessageId,
    losses: Vec<Loss>,
}

impl<'a> Comparison<'a> {
    /// Starts a comparison without differences.
    fn of(message: &'a Message) -> Comparison<'a> {
        Comparison {
            message: &message.id,
            losses: Vec::new(),
        }
    }

    /// Adds a loss of the message.
    fn lose(&mut self, what: impl Into<String>, why: &str) {
        self.losses.push(Loss::of(self.message, what, why));
    }

    /// Compares the fields that messages of all types have.
    fn compare_fields(&mut self, message: &Message, read: &Message) {
        let Message {
            id,
            parent_id,
            session_id,
            created_at,
            agent_id,
            author,
            history,
            model,
            usage,
            cost_usd,
            duration_ms,
            response_id,
            is_api_error_message,
            body: _,
            extra,
            unknown,
            // Formats of other programs have one spelling for each value.
            spellings: _,
        } = message;
        if *id != read.id && !is_made_up(id) {
            self.lose("id", "messages are named by their place");
        }
        if *parent_id != read.parent_id {
            let why = "messages follow one another; branches have no place";
            self.lose("parent_id", why);
        }
        self.value("session_id", session_id, &read.session_id);
        self.option("created_at", created_at, &read.created_at);
        self.option("agent_id", agent_id, &read.agent_id);
        self.option("author", author, &read.author);
        self.value("history", history, &read.history);
        self.option("model", model, &read.model);
        self.compare_usage(usage.as_deref(), read.usage.as_deref());
        self.option("cost_usd", cost_usd, &read.cost_usd);
        self.option("duration_ms", duration_ms, &read.duration_ms);
        self.option("response_id", response_id, &read.response_id);
        let is_error = *is_api_error_message;
        self.value(
            "is_api_error_message",
            &is_error,
            &read.is_api_error_message,
        );
        self.compare_maps(EXTRA, extra, &read.extra);
        self.compare_maps("", unknown, &read.unknown);
    }

    /// Compares values that are always there.
    fn value<T: PartialEq>(&mut self, what: &str, wanted: &T, kept: &T) {
        if wanted != kept {
            self.lose(what, NOT_EXACT);
        }
    }

    /// Compares values that may be missing.
    fn option<T: PartialEq>(&mut self, what: &str, wanted: &Option<T>, kept: &Option<T>) {
        match (wanted, kept) {
            (wanted, kept) if wanted == kept => {}
            (Some(_), Some(_)) => self.lose(what, NOT_EXACT),
            (Some(_), None) => self.lose(what, NO_PLACE),
            // A reader assumes what the source does not say. Nothing of the source is missing.
            (None, _) => {}
        }
    }

    /// Compares token counts, one by one if some are kept.
    fn compare_usage(&mut self, wanted: Option<&TokenUsage>, kept: Option<&TokenUsage>) {
        let (Some(wanted), Some(kept)) = (wanted, kept) else {
            return self.option("usage", &wanted, &kept);
        };
        let TokenUsage {
            input_tokens,
            output_tokens,
            total_tokens,
            cache_creation_input_tokens,
            cache_creation_5m_tokens,
            cache_creation_1h_tokens,
            cache_read_input_tokens,
            reasoning_tokens,
            extra,
        } = wanted;
        let counts = [
            ("input_tokens", input_tokens, &kept.input_tokens),
            ("output_tokens", output_tokens, &kept.output_tokens),
            ("total_tokens", total_tokens, &kept.total_tokens),
            (
                "cache_creation_input_tokens",
                cache_creation_input_tokens,
                &kept.cache_creation_input_tokens,
            ),
            (
                "cache_creation_5m_tokens",
                cache_creation_5m_tokens,
                &kept.cache_creation_5m_tokens,
            ),
            (
                "cache_creation_1h_tokens",
                cache_creation_1h_tokens,
                &kept.cache_creation_1h_tokens,
            ),
            (
                "cache_read_input_tokens",
                cache_read_input_tokens,
                &kept.cache_read_input_tokens,
            ),
            ("reasoning_tokens", reasoning_tokens, &kept.reasoning_tokens),
        ];
        for (name, wanted, kept) in counts {
            self.option(&format!("usage.{name}"), wanted, kept);
        }
        self.compare_maps("usage.", extra, &kept.extra);
    }

    /// Compares unknown fields by their keys. Their order says nothing.
    fn compare_maps(&mut self, prefix: &str, wanted: &RawMap, kept: &RawMap) {
        if wanted == kept {
            return;
        }
        for (key, value) in wanted.iter() {
            let name = key.as_string().unwrap_or_else(|| key.to_string());
            match kept.get(&name) {
                Some(kept) if kept == value => {}
                None if prefix == EXTRA && name == provenance::KEY => {
                    self.lose_facts(&cell_facts(value));
                }
                Some(_) => self.lose(format!("{prefix}{name}"), NOT_EXACT),
                None => self.lose(format!("{prefix}{name}"), NO_PLACE),
            }
        }
    }

    /// Reports facts that have no place.
    fn lose_facts(&mut self, facts: &[Fact]) {
        for fact in facts {
            self.lose(fact.name.clone(), NO_PLACE);
        }
    }

    /// Reports the facts of a change of state that are not there.
    fn compare_states(&mut self, wanted: &StateChange, kept: Option<&StateChange>) {
        let StateChange {
            changes,
            is_snapshot,
        } = wanted;
        let kept_facts = kept.map(|kept| state_facts(&kept.changes));
        let mut lost = state_facts(changes);
        lost.retain(|fact| !kept_facts.iter().flatten().any(|kept| kept == fact));
        self.lose_facts(&lost);
        if *is_snapshot && !kept.is_some_and(|kept| kept.is_snapshot) {
            self.lose("snapshot", NO_PLACE);
        }
    }

    /// Compares what two messages say, block by block, and the other fields of their bodies.
    fn compare_bodies(&mut self, wanted: &Body, kept: &Body) {
        if wanted == kept {
            return;
        }
        let is_same_type = wanted.type_name() == kept.type_name();
        if !is_same_type && !is_other_form(wanted, kept) {
            let why = format!("it becomes a message of type {}", kept.type_name());
            self.lose(format!("type {}", wanted.type_name()), &why);
        }
        if let Body::State(wanted) = wanted {
            let kept = match kept {
                Body::State(kept) => Some(kept),
                _ => None,
            };
            self.compare_states(wanted, kept);
        }
        let kept_fields = fields(kept);
        for (name, value) in fields(wanted) {
            let kept = kept_fields.iter().find(|(other, _)| *other == name);
            let kept = kept.and_then(|(_, value)| value.clone());
            if is_same_type || value.is_some() {
                self.option(name, &value, &kept);
            }
        }
        self.compare_blocks(&blocks(wanted), &blocks(kept));
    }

    /// Reports each block that is missing or different. If none is, their order may differ.
    fn compare_blocks(&mut self, wanted: &[Block], kept: &[Block]) {
        if wanted == kept {
            return;
        }
        let count = self.losses.len();
        let texts = kept.iter().filter_map(Block::text);
        let texts: Vec<String> = texts.map(|text| words(&text)).collect();
        let pairs = pairs(wanted, kept);
        for (block, kept_at) in wanted.iter().zip(&pairs) {
            match kept_at {
                Some(at) if kept[*at] == *block => {}
                Some(at) => self.compare_block(block, &kept[*at], &texts),
                None => self.lose_block(block, &texts),
            }
        }
        let is_in_order = pairs.iter().flatten().is_sorted();
        if !is_in_order || (self.losses.len() == count && wanted.len() != kept.len()) {
            let why = "the blocks come back in another order, or others beside them";
            self.lose("order", why);
        }
    }

    /// Reports a block that is not there. A text may have become a part of another one.
    fn lose_block(&mut self, block: &Block, texts: &[String]) {
        match block {
            Block::Text(TextBlock { text, extra }) => {
                self.compare_text("text", text, None, texts);
                self.compare_maps("", extra, &RawMap::new());
            }
            Block::Image(_)
            | Block::ToolUse(_)
            | Block::ToolResult(_)
            | Block::Thinking(_)
            | Block::RedactedThinking(_)
            | Block::Document(_)
            | Block::Other(_) => self.lose(block_name(block), NO_BLOCK),
        }
    }

    /// Compares two blocks of the same type field by field.
    fn compare_block(&mut self, wanted: &Block, kept: &Block, texts: &[String]) {
        match (wanted, kept) {
            (Block::Text(wanted), Block::Text(kept)) => {
                let TextBlock { text, extra } = wanted;
                self.compare_text("text", text, Some(&kept.text), texts);
                self.compare_maps("", extra, &kept.extra);
            }
            (Block::Thinking(wanted), Block::Thinking(kept)) => {
                let Thinking {
                    thinking,
                    signature,
                    extra,
                } = wanted;
                self.compare_text("thinking", thinking, Some(&kept.thinking), texts);
                self.option("signature", signature, &kept.signature);
                self.compare_maps("", extra, &kept.extra);
            }
            (Block::RedactedThinking(wanted), Block::RedactedThinking(kept)) => {
                let RedactedThinking { data, extra } = wanted;
                self.value("redacted_thinking", data, &kept.data);
                self.compare_maps("", extra, &kept.extra);
            }
            (Block::ToolUse(wanted), Block::ToolUse(kept)) => self.compare_calls(wanted, kept),
            (Block::ToolResult(wanted), Block::ToolResult(kept)) => {
                self.compare_results(wanted, kept);
            }
            (Block::Image(wanted), Block::Image(kept)) => {
                let Image { source, extra } = wanted;
                self.value("image", source, &kept.source);
                self.compare_maps("", extra, &kept.extra);
            }
            (Block::Document(wanted), Block::Document(kept)) => {
                let Document { source, extra } = wanted;
                self.value("document", source, &kept.source);
                self.compare_maps("", extra, &kept.extra);
            }
            (
                Block::Text(_)
                | Block::Thinking(_)
                | Block::RedactedThinking(_)
                | Block::ToolUse(_)
                | Block::ToolResult(_)
                | Block::Image(_)
                | Block::Document(_)
                | Block::Other(_),
                _,
            ) => self.lose(block_name(wanted), NOT_EXACT),
        }
    }

    /// Compares two calls.
    fn compare_calls(&mut self, wanted: &ToolUse, kept: &ToolUse) {
        let ToolUse {
            id,
            name,
            input,
            extra,
        } = wanted;
        let wrapped = RawMap::from([("input", input.clone())]).to_raw();
        let is_wrapped = kept.input == wrapped;
        if *name != kept.name || !(*input == kept.input || is_wrapped) {
            self.lose(format!("tool_use {name}"), NOT_EXACT);
        } else if is_wrapped {
            self.lose(
                "form",
                "arguments that are no object are written inside one",
            );
        }
        self.value("call_id", id, &kept.id);
        let mut extra = extra.clone();
        // Arguments that are no JSON say so themselves.
        extra.remove("malformed_input");
        self.compare_maps("", &extra, &kept.extra);
    }

    /// Compares two results.
    fn compare_results(&mut self, wanted: &ToolResult, kept: &ToolResult) {
        let ToolResult {
            tool_use_id,
            content,
            is_error,
            extra,
        } = wanted;
        self.value("tool_use_id", tool_use_id, &kept.tool_use_id);
        self.option("is_error", is_error, &kept.is_error);
        self.compare_maps("", extra, &kept.extra);
        self.compare_blocks(&blocks_of(content), &blocks_of(&kept.content));
    }

    /// Compares a text with the one in its place. Its words may also be part of another text.
    fn compare_text(&mut self, what: &str, wanted: &Text, kept: Option<&Text>, texts: &[String]) {
        if Some(wanted) == kept {
            return;
        }
        let said = words(&wanted.as_str());
        let kept_words = kept.map(|kept| words(&kept.as_str()));
        let is_in = |text: &String| text.contains(&said);
        if said.is_empty() || kept_words.iter().chain(texts).any(is_in) {
            let is_broken = matches!(wanted, Text::Broken(_));
            let (what, why) = if is_broken {
                ("surrogate", "half of a surrogate pair becomes U+FFFD")
            } else {
                (
                    "spacing",
                    "blanks around it, or where it ends, are not kept",
                )
            };
            self.lose(what, why);
        } else if kept.is_some() {
            self.lose(what, NOT_EXACT);
        } else {
            self.lose(what, NO_BLOCK);
        }
    }
}

/// Returns whether two bodies of different types are two forms of the same: a call or a result may be a message of its
/// own, or a block.
fn is_other_form(wanted: &Body, kept: &Body) -> bool {
    let is_call = |body: &Body| matches!(body, Body::Assistant(_) | Body::ToolUse(_));
    let is_result = |body: &Body| matches!(body, Body::User(_) | Body::ToolResult(_));
    (is_call(wanted) && is_call(kept)) || (is_result(wanted) && is_result(kept))
}

/// For each block, the position of the same one among those that are kept, or else of one of its sort.
fn pairs(wanted: &[Block], kept: &[Block]) -> Vec<Option<usize>> {
    let mut pairs = vec![None; wanted.len()];
    let mut is_taken = vec![false; kept.len()];
    pair_by(wanted, kept, &mut pairs, &mut is_taken, Block::to_json);
    pair_by(wanted, kept, &mut pairs, &mut is_taken, block_name);
    pairs
}

/// Pairs blocks that have no partner yet with free ones of the same key, in order.
fn pair_by(
    wanted: &[Block],
    kept: &[Block],
    pairs: &mut [Option<usize>],
    is_taken: &mut [bool],
    key: impl Fn(&Block) -> String,
) {
    let mut free: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (at, block) in kept.iter().enumerate() {
        if !is_taken[at] {
            free.entry(key(block)).or_default().push_back(at);
        }
    }
    for (block, pair) in wanted.iter().zip(pairs) {
        if pair.is_some() {
            continue;
        }
        if let Some(at) = free.get_mut(&key(block)).and_then(VecDeque::pop_front) {
            is_taken[at] = true;
            *pair = Some(at);
        }
    }
}

/// Returns a text without white space, to find out whether its words are said.
fn words(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

/// Returns the name of a block in a list of losses.
pub(crate) fn block_name(block: &Block) -> String {
    match block {
        Block::Text(_) => "text".to_string(),
        Block::Image(_) => "image".to_string(),
        Block::ToolUse(call) => format!("tool_use {}", call.name),
        Block::ToolResult(_) => "tool_result".to_string(),
        Block::Thinking(_) => "thinking".to_string(),
        Block::RedactedThinking(_) => "redacted_thinking".to_string(),
        Block::Document(_) => "document".to_string(),
        Block::Other(raw) => match raw.kind() {
            Some(kind) => format!("block {kind}"),
            None => "block".to_string(),
        },
    }
}

/// Returns the blocks of a content.
fn blocks_of(content: &Content) -> Vec<Block> {
    match content {
        Content::Empty => Vec::new(),
        Content::Text(text) if text.is_empty() => Vec::new(),
        Content::Text(text) => vec![Block::from_text(text.clone())],
        Content::Blocks(blocks) => blocks.clone(),
    }
}

/// Returns what a body says as blocks.
pub(crate) fn blocks(body: &Body) -> Vec<Block> {
    match body {
        Body::ToolUse(call) => vec![Block::ToolUse(call.clone())],
        Body::ToolResult(result) => vec![Block::ToolResult(result.clone())],
        Body::Summary(summary) => blocks_of(&Content::Text(summary.text.clone())),
        body @ (Body::System(_)
        | Body::User(_)
        | Body::Assistant(_)
        | Body::Progress(_)
        | Body::Attachment(_)
        | Body::Notification(_)
        | Body::CompactBoundary(_)
        | Body::Tombstone(_)
        | Body::Revision(_)
        | Body::State(_)
        | Body::Other(_)) => body.content().map(blocks_of).unwrap_or_default(),
    }
}

/// The name of a field, and its value if it has one.
type Field = (&'static str, Option<Raw>);

/// Returns a field with a text.
fn text_field(name: &'static str, value: Option<impl AsRef<str>>) -> Field {
    (name, value.map(|value| Raw::string(value.as_ref())))
}

/// Returns a field with a number.
fn count_field(name: &'static str, value: Option<u64>) -> Field {
    (name, value.map(Raw::from))
}

/// Returns a field that is there or not.
fn flag_field(name: &'static str, value: bool) -> Field {
    (name, value.then(|| Raw::from(true)))
}

/// Returns the fields of a body apart from what it says.
fn fields(body: &Body) -> Vec<Field> {
    match body {
        Body::System(System { content: _ }) | Body::ToolUse(_) | Body::ToolResult(_) => Vec::new(),
        Body::User(body) => user_fields(body),
        Body::Assistant(Assistant {
            content: _,
            stop_reason,
        }) => {
            let unusual = stop_reason.as_ref().filter(|reason| !is_usual_end(reason));
            vec![text_field("stop_reason", unusual.map(StopReason::as_str))]
        }
        Body::Progress(body) => progress_fields(body),
        Body::Attachment(Attachment {
            kind,
            content: _,
            data,
        }) => vec![
            text_field("kind", Some(kind.as_str())),
            ("data", data.clone()),
        ],
        Body::Notification(Notification {
            kind,
            content: _,
            data,
        }) => vec![text_field("kind", Some(kind)), ("data", data.clone())],
        Body::Summary(Summary {
            text: _,
            from,
            to,
            count,
        }) => vec![
            text_field("from", from.as_deref()),
            text_field("to", to.as_deref()),
            count_field("count", *count),
        ],
        Body::CompactBoundary(body) => boundary_fields(body),
        Body::Tombstone(Tombstone {
            target,
            target_parent,
        }) => vec![
            text_field("target", Some(&**target)),
            text_field("target_parent", target_parent.as_deref()),
        ],
        Body::Revision(body) => revision_fields(body),
        // Its facts are compared one by one.
        Body::State(_) => Vec::new(),
        Body::Other(Other { type_name: _ }) => Vec::new(),
    }
}

/// Returns whether answers usually end for this reason. Readers assume it, so nobody need say it.
fn is_usual_end(reason: &StopReason) -> bool {
    matches!(reason, StopReason::EndTurn | StopReason::ToolUse)
}

/// Returns the fields of a user's message.
fn user_fields(body: &User) -> Vec<Field> {
    let User {
        content: _,
        source,
        is_koding_request,
        koding_context,
        command_name,
        command_args,
    } = body;
    let text = |text: &Option<Text>| text.as_ref().map(|text| text.as_str().into_owned());
    vec![
        text_field("source", source.as_ref().map(|source| source.as_str())),
        flag_field("is_koding_request", *is_koding_request),
        text_field("koding_context", text(koding_context)),
        text_field("command_name", command_name.as_ref()),
        text_field("command_args", text(command_args)),
    ]
}

/// Returns the fields of a report of progress.
fn progress_fields(body: &Progress) -> Vec<Field> {
    let Progress {
        content,
        tool_use_id,
        sibling_tool_use_ids,
        tools,
        normalized_messages,
    } = body;
    let siblings = sibling_tool_use_ids.iter().map(|id| Raw::string(id));
    let siblings: Vec<Raw> = siblings.collect();
    vec![
        ("content", content.clone()),
        text_field("tool_use_id", tool_use_id.as_ref()),
        (
            "sibling_tool_use_ids",
            (!siblings.is_empty()).then(|| Raw::array(&siblings)),
        ),
        ("tools", tools.clone()),
        ("normalized_messages", normalized_messages.clone()),
    ]
}

/// Returns the fields of a boundary.
fn boundary_fields(body: &CompactBoundary) -> Vec<Field> {
    let CompactBoundary {
        trigger,
        tokens_before,
        tokens_after,
        summary_id,
        kept_from,
    } = body;
    vec![
        text_field("trigger", trigger.as_ref().map(|trigger| trigger.as_str())),
        count_field("tokens_before", *tokens_before),
        count_field("tokens_after", *tokens_after),
        text_field("summary_id", summary_id.as_deref()),
        text_field("kept_from", kept_from.as_deref()),
    ]
}

/// Returns the fields of a revision.
fn revision_fields(body: &Revision) -> Vec<Field> {
    let Revision {
        target,
        call,
        content,
        history,
    } = body;
    let content = content.as_ref().map(|content| content.text());
    vec![
        text_field("target", Some(&**target)),
        text_field("target_call", call.as_ref()),
        text_field("content", content),
        text_field("target_history", history.map(|history| history.as_str())),
    ]
}
