//! A JSON value together with its place in the body. Values stay text until somebody looks, so that
//! neither deep nesting nor a number of 30 digits is in the way.

use analects_core::{Raw, RawMap};

/// A value and where it stands.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub path: String,
    raw: Raw,
    /// Its members, if it is an object.
    members: Option<RawMap>,
}

impl Node {
    /// The object that a body spells.
    pub fn parse(body: &[u8]) -> Option<Node> {
        let raw = Raw::parse(std::str::from_utf8(body).ok()?).ok()?;
        Some(Node::new(String::new(), raw)).filter(Node::is_object)
    }

    fn new(path: String, raw: Raw) -> Node {
        let members = raw.as_object();
        Node { path, raw, members }
    }

    pub fn is_object(&self) -> bool {
        self.members.is_some()
    }

    /// A member; `None` where it is absent or null.
    pub fn get(&self, key: &str) -> Option<Node> {
        let raw = self
            .members
            .as_ref()?
            .get(key)
            .filter(|raw| raw.as_str() != "null")?;
        let path = if self.path.is_empty() {
            key.into()
        } else {
            format!("{}.{key}", self.path)
        };
        Some(Node::new(path, raw.clone()))
    }

    /// The first of several spellings of a member.
    pub fn either(&self, keys: [&str; 2]) -> Option<Node> {
        keys.into_iter().find_map(|key| self.get(key))
    }

    /// A member that is a string.
    pub fn word(&self, key: &str) -> Option<String> {
        self.get(key)?.string()
    }

    /// The decoded string; `None` for another value, and for one with half a surrogate pair.
    pub fn string(&self) -> Option<String> {
        self.raw.as_string()
    }

    /// The number, rounded to what a float holds.
    pub fn number(&self) -> Option<f64> {
        self.raw.to()
    }

    pub fn is_true(&self) -> bool {
        self.raw.as_str() == "true"
    }

    /// The elements of a list; `None` for another value.
    pub fn items(&self) -> Option<Vec<Node>> {
        let items = self.raw.as_array()?.into_iter().enumerate();
        Some(
            items
                .map(|(at, raw)| Node::new(format!("{}.{at}", self.path), raw))
                .collect(),
        )
    }

    /// The elements of the list that a member is; none where it is no list.
    pub fn list(&self, key: &str) -> Vec<Node> {
        self.get(key)
            .and_then(|node| node.items())
            .unwrap_or_default()
    }
}
