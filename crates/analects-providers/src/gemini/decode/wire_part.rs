//! A part of an answer: text, a function call or a file, and the fields beside it.

use analects_core::{Delta, Raw, RawMap, StreamEvent, Text};

use super::super::wire::remaining_fields;
use super::super::{PART_REST, SIGNATURE};
use crate::decoding::{non_empty_string, push_delta, push_extra};

/// A part of an answer.
pub(super) struct GeminiPart {
    /// What the part contains.
    pub content: PartContent,
    /// Everything else.
    pub fields: PartFields,
}

/// What a part contains.
pub(super) enum PartContent {
    Text(Text),
    Call(GeminiFunctionCall),
    Data(GeminiData),
}

/// The fields of a part beside its content.
#[derive(Default)]
pub(super) struct PartFields {
    /// Whether the part is thinking.
    pub is_thought: bool,
    /// The encrypted thinking that led to the part, to be sent back with it.
    signature: Option<Raw>,
    /// All other fields.
    pub rest: RawMap,
}

/// A function call.
pub(super) struct GeminiFunctionCall {
    /// The call's id; `None` if Gemini gives it none.
    pub id: Option<String>,
    /// The name of the function.
    pub name: String,
    /// The arguments.
    pub input: Raw,
    /// All other fields of the call.
    pub rest: RawMap,
}

/// A file, by its data or by its address.
pub(super) struct GeminiData {
    media_type: String,
    /// The source of a block of the core.
    source: RawMap,
}

impl GeminiPart {
    /// Returns `None` for a part of an unknown kind, and for one with several kinds of content. Of a
    /// repeated field, the last value counts.
    pub fn read(raw: &Raw) -> Option<GeminiPart> {
        let mut fields = PartFields::default();
        let mut text = None;
        let mut call = None;
        let mut data = None;
        fields.rest = remaining_fields(&raw.as_object()?, |key, value| {
            match key {
                "text" => text = Text::from_raw(value),
                "functionCall" => call = GeminiFunctionCall::read(value),
                "inlineData" => data = GeminiData::inline(value),
                "fileData" => data = GeminiData::by_address(value),
                SIGNATURE => fields.signature = Some(value.clone()),
                "thought" => {
                    fields.is_thought = value.as_str() == "true";
                    return matches!(value.as_str(), "true" | "false");
                }
                _ => return false,
            }
            true
        });
        let content = match (text, call, data) {
            (Some(text), None, None) => PartContent::Text(text),
            (None, Some(call), None) => PartContent::Call(call),
            (None, None, Some(data)) => PartContent::Data(data),
            _ => return None,
        };
        Some(GeminiPart { content, fields })
    }
}

impl PartFields {
    /// Whether there are fields that a block has to keep. The mark of a thought makes a block of
    /// its own kind.
    pub fn is_empty(&self) -> bool {
        self.signature.is_none() && self.rest.is_empty()
    }

    /// Appends the fields to a block of text or thinking. Thinking has its own field for a
    /// signature.
    pub fn push_to_text(mut self, index: usize, out: &mut Vec<StreamEvent>) {
        let signature = self.signature.as_ref().and_then(Raw::as_string);
        if self.is_thought
            && let Some(signature) = signature
        {
            push_delta(index, Delta::Signature(signature), out);
            self.signature = None;
        }
        self.is_thought = false;
        self.push(index, out);
    }

    /// Appends the fields to a block of any kind, with the mark of a thought.
    pub fn push(mut self, index: usize, out: &mut Vec<StreamEvent>) {
        if self.is_thought {
            self.rest.push("thought", true.into());
        }
        if let Some(signature) = self.signature {
            push_extra(index, SIGNATURE, signature, out);
        }
        if !self.rest.is_empty() {
            push_extra(index, PART_REST, self.rest.to_raw(), out);
        }
    }
}

impl GeminiFunctionCall {
    /// Returns `None` for a call without a name, and for one that later parts continue.
    fn read(value: &Raw) -> Option<GeminiFunctionCall> {
        let mut id = None;
        let mut name = None;
        let mut input = None;
        let rest = remaining_fields(&value.as_object()?, |key, value| {
            match key {
                "id" => id = non_empty_string(value),
                "name" => name = non_empty_string(value),
                "args" => input = Some(value.clone()),
                _ => return false,
            }
            true
        });
        if continues(&rest) {
            return None;
        }
        Some(GeminiFunctionCall {
            id,
            name: name?,
            input: input.unwrap_or_else(Raw::empty_object),
            rest,
        })
    }
}

/// Whether later parts continue a call.
fn continues(call: &RawMap) -> bool {
    let will_continue = call.get("willContinue");
    call.get("partialArgs").is_some() || will_continue.is_some_and(|value| value.as_str() == "true")
}

impl GeminiData {
    /// Reads `inlineData`.
    fn inline(value: &Raw) -> Option<GeminiData> {
        let map = object_with(value, ["mimeType", "data"])?;
        let media_type = map.string("mimeType")?;
        let source = RawMap::from([
            ("type", Raw::string("base64")),
            ("media_type", Raw::string(&media_type)),
            ("data", Raw::string(&map.string("data")?)),
        ]);
        Some(GeminiData { media_type, source })
    }

    /// Reads `fileData`, whose media type may be missing.
    fn by_address(value: &Raw) -> Option<GeminiData> {
        let map = object_with(value, ["mimeType", "fileUri"])?;
        let url = map.string("fileUri")?;
        let mut source = RawMap::from([("type", Raw::string("url")), ("url", Raw::string(&url))]);
        let media_type = map.string("mimeType").unwrap_or_default();
        if !media_type.is_empty() {
            source.push("media_type", Raw::string(&media_type));
        }
        Some(GeminiData { media_type, source })
    }

    /// A block of the core.
    pub fn to_block(&self) -> Raw {
        let kind = if self.media_type.starts_with("image/") {
            "image"
        } else {
            "document"
        };
        let block = RawMap::from([
            ("type", Raw::string(kind)),
            ("source", self.source.to_raw()),
        ]);
        block.to_raw()
    }
}

/// An object with no other members than these two.
fn object_with(value: &Raw, members: [&str; 2]) -> Option<RawMap> {
    let map = value.as_object()?;
    let rest = remaining_fields(&map, |key, _| members.contains(&key));
    rest.is_empty().then_some(map)
}
