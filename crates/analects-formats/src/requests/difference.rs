//! What of a message is lost: what it says and what is read back do not say alike, by name.

use analects_core::{Json, Message, Raw, RawMap};

use crate::Loss;

/// The type of what stands for several messages.
pub(super) const SEVERAL: &str = "several";

const NO_PLACE: &str = "there is no place for it";

/// What `read` does not say of `wanted`. Both have the same name and place.
pub(super) fn difference(wanted: &Message, read: &Message) -> Vec<Loss> {
    let mut losses = Vec::new();
    if wanted == read {
        return losses;
    }
    let mut lose = |what: String, why: &str| losses.push(Loss::of(&wanted.id, what, why));
    let fields = |message: &Message| RawMap::parse(&message.to_json()).unwrap_or_default();
    let (said, kept) = (fields(wanted), fields(read));
    for (key, value) in said.iter() {
        let name = key.as_string().unwrap_or_else(|| key.as_str().to_string());
        match kept.get(&name) {
            Some(same) if same == value => {}
            _ if name == "type" && read.body.type_name() == SEVERAL => {
                lose(wanted.body.type_name().to_string(), "it becomes several messages");
            }
            _ if name == "type" => {
                let why = format!("it becomes a message of type {}", read.body.type_name());
                lose(wanted.body.type_name().to_string(), &why);
            }
            _ if name == "id" => lose(name, "messages are named by their place"),
            _ if name == "parent_id" => {
                lose(name, "messages follow one another; branches have no place");
            }
            Some(other) if name == "content" => content(value, other, &mut lose),
            other if name == "extra" => extra(value, other, &mut lose),
            Some(_) => lose(name, "it cannot be said as it is"),
            None => lose(name, NO_PLACE),
        }
    }
    for (key, _) in kept.iter() {
        let name = key.as_string().unwrap_or_default();
        if said.get(&name).is_none() {
            let why = match name.as_str() {
                "parent_id" => "messages follow one another; branches have no place",
                "id" => "messages are named by their place",
                _ => "it cannot be said that there is none",
            };
            lose(name, why);
        }
    }
    if losses.is_empty() {
        // Fields that nobody knows may stand twice, or in another order.
        losses.push(Loss::of(&wanted.id, "message", "it cannot be said as it is"));
    }
    losses
}

fn extra(said: &Raw, kept: Option<&Raw>, lose: &mut impl FnMut(String, &str)) {
    let kept = kept.and_then(Raw::as_object).unwrap_or_default();
    for (key, value) in said.as_object().unwrap_or_default().iter() {
        let name = key.as_string().unwrap_or_else(|| key.as_str().to_string());
        if kept.get(&name) != Some(value) {
            lose(format!("extra.{name}"), NO_PLACE);
        }
    }
}

fn content(said: &Raw, kept: &Raw, lose: &mut impl FnMut(String, &str)) {
    let (Some(said), Some(kept)) = (said.as_array(), kept.as_array()) else {
        return lose("content".to_string(), "it cannot be said as it is");
    };
    let mut rest = kept.clone();
    let mut found = false;
    for block in &said {
        match rest.iter().position(|kept| kept == block) {
            Some(at) => {
                rest.remove(at);
            }
            None => {
                found = true;
                let name = block_name(block);
                match rest.iter().position(|kept| block_name(kept) == name) {
                    Some(_) => lose(name, "it cannot be said as it is"),
                    None => lose(name, "there is no place for such a block; it is left out"),
                }
            }
        }
    }
    if !found {
        lose("order".to_string(), "the blocks come back in another order, or others beside them");
    }
}

fn block_name(block: &Raw) -> String {
    let kind = block.as_object().and_then(|fields| fields.get("type")?.as_string());
    kind.unwrap_or_else(|| "block".to_string())
}
