//! What a message has and its cells do not say, known from how its cells are written. Reading the cells back tells the
//! same, but costs more than writing them; it remains for messages that are decided nowhere here, which are rare.
//!
//! A cell gives back its attributes and its content exactly as they were written, whatever they are; what they mean for
//! a message follows from the rules of reading. Each function destructures all fields of its value, so that a new field
//! has to be decided here.

use analects_core::{
    Assistant, Attachment, AttachmentKind, Block, Body, Content, Document, History, Image, Json,
    Message, Notification, Raw, RawMap, Source, StopReason, System, Text, TextBlock, Thinking,
    TokenUsage, ToolResult, ToolUse, User, UserSource,
};

use super::blocks::fenced_json;
use super::cells::{MessageCells, path_data};
use super::details::fingerprint;
use crate::msgfile::NewCell;

/// The longest duration in milliseconds that its attribute says exactly, since that is a number of seconds.
const MAX_DURATION: u64 = 1_000_000_000_000_000;

/// What the cells of a message do not say.
#[derive(Debug, Default)]
pub(super) struct Unsaid<'m> {
    /// Fields of the message.
    fields: RawMap,
    /// The extra fields of the message, which may be large.
    extra: Option<&'m RawMap>,
    /// Fields of its blocks, by the index of the block, as details have them.
    blocks: RawMap,
}

impl<'m> Unsaid<'m> {
    /// Finds what these cells do not say about the message that they were written for, apart from its ids. `None` if
    /// only reading the cells tells.
    pub(super) fn of(message: &'m Message, cells: &MessageCells) -> Option<Unsaid<'m>> {
        let Message {
            id: _,
            parent_id: _,
            session_id: _,
            agent_id: _,
            created_at: _,
            model: _,
            response_id: _,
            is_api_error_message,
            author,
            history,
            usage,
            cost_usd,
            duration_ms,
            body,
            extra,
            unknown,
            spellings,
        } = message;
        let is_usual = *history == History::Include
            && author.as_deref() != Some("")
            && cost_usd.is_none_or(f64::is_finite)
            && duration_ms.is_none_or(|duration| duration < MAX_DURATION)
            && unknown.is_empty()
            && spellings.is_empty();
        if !is_usual {
            return None;
        }
        let mut unsaid = Unsaid::default();
        let usage = usage.as_deref().map_or(Some(None), unsaid_usage)?;
        let mut rest = Message::new("", unsaid.body(body, cells, *is_api_error_message)?);
        rest.usage = usage.map(Box::new);
        unsaid.fields = fields_of(&rest)?;
        unsaid.extra = Some(extra).filter(|extra| !extra.is_empty());
        Some(unsaid)
    }

    /// Whether the cells say everything.
    pub(super) fn is_empty(&self) -> bool {
        self.fields.is_empty() && self.extra.is_none() && self.blocks.is_empty()
    }

    /// Writes a line of details for the message with this head.
    pub(super) fn to_line(&self, cell: &str) -> String {
        let mut line = format!("{{\"cell\":{}", Raw::string(cell));
        if !self.fields.is_empty() || self.extra.is_some() {
            line.push_str(",\"fields\":{");
            push_entries(&mut line, &self.fields);
            if let Some(extra) = self.extra {
                line.push_str(if self.fields.is_empty() { "" } else { "," });
                line.push_str("\"extra\":{");
                push_entries(&mut line, extra);
                line.push('}');
            }
            line.push('}');
        }
        if !self.blocks.is_empty() {
            line.push_str(",\"blocks\":{");
            push_entries(&mut line, &self.blocks);
            line.push('}');
        }
        line.push('}');
        line
    }

    /// Returns the body with nothing but what its cells do not say, and notes what they do not say of its blocks.
    fn body(&mut self, body: &Body, cells: &MessageCells, is_error: bool) -> Option<Body> {
        let head = &cells.cells[cells.head];
        match body {
            Body::User(body) => self.user(body, cells),
            Body::Assistant(body) => self.answer(body, cells, is_error),
            Body::System(System { content }) => {
                is_said_text(content).then(|| Body::System(System::default()))
            }
            Body::Attachment(Attachment {
                kind,
                content,
                data,
            }) => {
                let is_said = AttachmentKind::from(kind.as_str()) == *kind && is_said_text(content);
                let said_data = value(head, "path").map(path_data);
                is_said.then(|| {
                    Body::Attachment(Attachment {
                        kind: kind.clone(),
                        content: Content::Empty,
                        data: data.clone().filter(|data| said_data.as_ref() != Some(data)),
                    })
                })
            }
            Body::Notification(Notification {
                kind,
                content,
                data,
            }) => is_said_text(content).then(|| {
                Body::Notification(Notification {
                    kind: kind.clone(),
                    content: Content::Empty,
                    data: data.clone(),
                })
            }),
            Body::ToolUse(_)
            | Body::ToolResult(_)
            | Body::Progress(_)
            | Body::Summary(_)
            | Body::CompactBoundary(_)
            | Body::Tombstone(_)
            | Body::Revision(_)
            | Body::State(_)
            | Body::Other(_) => None,
        }
    }

    /// What the cells of a person's message do not say: one text, one block, or results of calls.
    fn user(&mut self, body: &User, cells: &MessageCells) -> Option<Body> {
        let User {
            content,
            source,
            is_koding_request,
            koding_context,
            command_name,
            command_args,
        } = body;
        match content {
            Content::Text(Text::Plain(text)) if !text.is_empty() => {}
            Content::Blocks(blocks) if blocks.len() == 1 || blocks.iter().all(is_result) => {
                self.blocks_of(blocks, cells)?;
            }
            Content::Empty | Content::Text(_) | Content::Blocks(_) => return None,
        }
        let is_plain = source.as_ref().is_none_or(|source| {
            *source != UserSource::from("code") && UserSource::from(source.as_str()) == *source
        });
        is_plain.then(|| {
            Body::User(User {
                content: Content::Empty,
                source: None,
                is_koding_request: *is_koding_request,
                koding_context: koding_context.clone(),
                command_name: command_name.clone(),
                command_args: command_args.clone(),
            })
        })
    }

    /// What the cells of an answer do not say.
    fn answer(&mut self, body: &Assistant, cells: &MessageCells, is_error: bool) -> Option<Body> {
        let Assistant {
            content,
            stop_reason,
        } = body;
        match content {
            Content::Text(Text::Plain(text)) if !text.is_empty() => {}
            Content::Blocks(blocks) if !blocks.is_empty() => self.blocks_of(blocks, cells)?,
            Content::Empty | Content::Text(_) | Content::Blocks(_) => return None,
        }
        let reason = stop_reason.as_ref().map(StopReason::as_str);
        let is_said = match reason {
            // An error has no reason that would be the usual one.
            None => true,
            Some("") => false,
            Some(word) => !is_error && StopReason::from(word) == *stop_reason.as_ref()?,
        };
        is_said.then(|| Body::Assistant(Assistant::default()))
    }

    /// Notes what the cells of blocks do not say, one cell for each block.
    fn blocks_of(&mut self, blocks: &[Block], cells: &MessageCells) -> Option<()> {
        if blocks.len() != cells.cells.len() {
            return None;
        }
        for (at, (block, cell)) in blocks.iter().zip(&cells.cells).enumerate() {
            let fields = if cell.type_word == "block" {
                is_said_json(block, cell).then(RawMap::new)?
            } else {
                unsaid_of_block(block, cell)?
            };
            if fields.is_empty() {
                continue;
            }
            let said = said_block(block)?;
            let mut patch = RawMap::new();
            let json = Raw::parse(&said.to_json()).ok()?;
            patch.push("of", Raw::string(&fingerprint(&json)));
            patch.push("fields", fields.to_raw());
            self.blocks.push(&at.to_string(), patch.to_raw());
        }
        Some(())
    }
}

/// Adds the entries of an object to a text.
fn push_entries(out: &mut String, map: &RawMap) {
    for (at, (key, value)) in map.iter().enumerate() {
        if at > 0 {
            out.push(',');
        }
        out.push_str(key.as_str());
        out.push(':');
        out.push_str(value.as_str());
    }
}

/// The fields of a message, without those that every message has.
fn fields_of(rest: &Message) -> Option<RawMap> {
    let mut fields = RawMap::parse(&rest.to_json()).ok()?;
    for name in ["v", "type"] {
        fields.remove(name);
    }
    // Events say it.
    fields.remove("kind");
    Some(fields)
}

/// The value of an attribute of a cell.
fn value<'c>(cell: &'c NewCell, key: &str) -> Option<&'c str> {
    let mut attributes = cell.attributes.iter();
    let found = attributes.find(|(name, _)| name == key)?;
    Some(&found.1)
}

fn is_result(block: &Block) -> bool {
    matches!(block, Block::ToolResult(_))
}

/// Whether the cell of an event says this content exactly.
fn is_said_text(content: &Content) -> bool {
    match content {
        Content::Empty | Content::Text(Text::Plain(_)) => true,
        Content::Text(Text::Broken(_)) | Content::Blocks(_) => false,
    }
}

/// Whether a cell that holds a block as JSON is read as this block.
fn is_said_json(block: &Block, cell: &NewCell) -> bool {
    let json = fenced_json(&cell.content);
    json.is_some_and(|json| Block::from_json(&json).as_ref() == Ok(block))
}

/// The names of all counts.
const COUNTS: [&str; 8] = [
    "input_tokens",
    "output_tokens",
    "total_tokens",
    "cache_creation_input_tokens",
    "cache_creation_5m_tokens",
    "cache_creation_1h_tokens",
    "cache_read_input_tokens",
    "reasoning_tokens",
];

/// The counts that the attributes of a head do not say; `Some(None)` if they say all. `None` if only reading tells.
fn unsaid_usage(usage: &TokenUsage) -> Option<Option<TokenUsage>> {
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
    } = usage;
    let said = [
        input_tokens,
        output_tokens,
        cache_creation_input_tokens,
        cache_read_input_tokens,
        reasoning_tokens,
    ];
    let extra = plain_extra(extra, &COUNTS)?;
    let is_any_said = said.iter().any(|count| count.is_some());
    let rest = TokenUsage {
        total_tokens: *total_tokens,
        cache_creation_5m_tokens: *cache_creation_5m_tokens,
        cache_creation_1h_tokens: *cache_creation_1h_tokens,
        extra,
        ..TokenUsage::default()
    };
    Some(Some(rest).filter(|rest| !is_any_said || !rest.is_empty()))
}

/// Returns extra fields if none of them has the name of a known field or is repeated.
fn plain_extra(extra: &RawMap, known: &[&str]) -> Option<RawMap> {
    let mut names = Vec::with_capacity(extra.len());
    for (key, _) in extra.iter() {
        let name = key.as_string()?;
        if known.contains(&name.as_str()) || names.contains(&name) {
            return None;
        }
        names.push(name);
    }
    Some(extra.clone())
}

/// The fields of a block that its readable cell does not say. `None` if only reading tells.
fn unsaid_of_block(block: &Block, cell: &NewCell) -> Option<RawMap> {
    match block {
        Block::Text(TextBlock { text, extra }) => {
            is_plain_words(text).then(|| plain_extra(extra, &["type", "text"]))?
        }
        Block::Thinking(Thinking {
            thinking,
            signature,
            extra,
        }) => {
            if !is_plain_words(thinking) {
                return None;
            }
            let mut fields = RawMap::new();
            if let Some(signature) = signature {
                fields.push("signature", Raw::string(signature));
            }
            let extra = plain_extra(extra, &["type", "thinking", "signature"])?;
            fields.extend(extra.iter());
            Some(fields)
        }
        Block::ToolUse(ToolUse {
            id: _,
            name: _,
            input: _,
            extra,
        }) => plain_extra(extra, &["type", "id", "name", "input", "malformed_input"]),
        Block::ToolResult(ToolResult {
            tool_use_id: _,
            content,
            is_error: _,
            extra,
        }) => {
            let is_said = match content {
                Content::Empty | Content::Text(_) => true,
                Content::Blocks(blocks) => blocks.iter().all(is_bare_text),
            };
            let known = ["type", "tool_use_id", "content", "is_error"];
            is_said.then(|| plain_extra(extra, &known))?
        }
        Block::Image(Image { source, extra }) | Block::Document(Document { source, extra }) => {
            is_said_source(source, cell).then(|| plain_extra(extra, &["type", "source"]))?
        }
        Block::RedactedThinking(_) | Block::Other(_) => None,
    }
}

/// Whether a text is read back as a block of its own: it has words, and no broken characters.
fn is_plain_words(text: &Text) -> bool {
    matches!(text, Text::Plain(text) if !text.is_empty())
}

/// Whether a block is nothing but a text.
fn is_bare_text(block: &Block) -> bool {
    matches!(block, Block::Text(TextBlock { text: Text::Plain(_), extra }) if extra.is_empty())
}

/// Whether a cell with bytes is read as this source.
fn is_said_source(source: &Raw, cell: &NewCell) -> bool {
    let Some(found @ Source::Base64 { .. }) = Source::of(source) else {
        return false;
    };
    let is_same = found.to_raw() == *source;
    let Source::Base64 { data, .. } = found else {
        return false;
    };
    let written = cell
        .content
        .bytes()
        .filter(|byte| !byte.is_ascii_whitespace());
    is_same && written.eq(data.bytes())
}

/// The block as its readable cell says it.
fn said_block(block: &Block) -> Option<Block> {
    let mut said = block.clone();
    match &mut said {
        Block::Text(block) => block.extra = RawMap::new(),
        Block::Thinking(block) => {
            block.signature = None;
            block.extra = RawMap::new();
        }
        Block::ToolUse(block) => block.extra = RawMap::new(),
        Block::ToolResult(block) => block.extra = RawMap::new(),
        Block::Image(block) => block.extra = RawMap::new(),
        Block::Document(block) => block.extra = RawMap::new(),
        Block::RedactedThinking(_) | Block::Other(_) => return None,
    }
    Some(said)
}
