//! Finds the roles of the messages at the beginning of a file of requests, by their position in the JSON. The beginning
//! may be cut off anywhere, and invalid JSON is skipped.

use memchr::{memchr, memchr2};

use crate::convert::FileHead;

/// The fields that hold content. A message without any of them is useless to an API.
const CONTENT_FIELDS: [&[u8]; 6] = [
    b"content",
    b"tool_calls",
    b"function_call",
    b"refusal",
    b"audio",
    b"reasoning_content",
];

/// The messages at the beginning of a file.
#[derive(Debug, Default)]
pub(crate) struct FoundRoles<'a> {
    /// The roles of messages with content. A message that is cut off counts.
    roles: Vec<&'a [u8]>,
    /// The roles of messages that stand alone, one per line.
    alone: Vec<&'a [u8]>,
    /// Whether the file is cut off inside of a content, before the role.
    is_cut: bool,
    /// Whether a request has a field `system`.
    pub(crate) has_system: bool,
}

impl FoundRoles<'_> {
    /// Returns whether there are messages for an API that knows these roles.
    pub(crate) fn is_for(&self, roles: &[&str]) -> bool {
        self.is_cut || self.has_role(roles)
    }

    /// Returns whether a message has one of these roles.
    pub(crate) fn has_role(&self, roles: &[&str]) -> bool {
        let mut all = self.roles.iter().chain(&self.alone);
        all.any(|found| roles.iter().any(|role| role.as_bytes() == *found))
    }

    /// Returns whether all messages stand alone, one per line.
    pub(crate) fn is_lines(&self) -> bool {
        !self.alone.is_empty() && self.roles.is_empty()
    }
}

/// Finds the messages of a list, of a field `messages`, of a list of objects with that field, and objects on lines.
pub(crate) fn find_roles(head: FileHead<'_>) -> FoundRoles<'_> {
    let head = head.bytes();
    let mut scanner = RoleScanner {
        levels: Vec::new(),
        found: FoundRoles::default(),
    };
    let mut at = 0;
    while let Some(byte) = head.get(at) {
        at += 1;
        if scanner.levels.is_empty() && !b"{[ \t\r\n".contains(byte) {
            // This is text with some JSON in it.
            break;
        }
        match byte {
            b'"' => at = scanner.read_string(head, at),
            b'{' | b'[' => scanner.open(*byte == b'['),
            b'}' | b']' => scanner.close(true),
            b':' => scanner.expect_value(true),
            b',' => scanner.expect_value(false),
            _ => {}
        }
    }
    while !scanner.levels.is_empty() {
        scanner.close(false);
    }
    scanner.found
}

/// An open object or list.
#[derive(Debug, Default)]
struct JsonLevel<'a> {
    /// Whether it is a list.
    is_list: bool,
    /// The last key of an object.
    key: &'a [u8],
    /// The number of keys so far.
    keys: usize,
    /// Whether the value of the last key comes next.
    is_value: bool,
    /// The role, if the object may be a message.
    role: Option<&'a [u8]>,
    /// Whether it has one of [`CONTENT_FIELDS`].
    has_content: bool,
}

impl JsonLevel<'_> {
    /// Returns whether it is an object whose last key is `messages`.
    fn is_request(&self) -> bool {
        !self.is_list && self.key == b"messages"
    }
}

/// Scans JSON without parsing it, and tracks where in the file it is.
struct RoleScanner<'a> {
    /// The open levels, the innermost last.
    levels: Vec<JsonLevel<'a>>,
    /// What was found so far.
    found: FoundRoles<'a>,
}

impl<'a> RoleScanner<'a> {
    /// Opens an object or a list.
    fn open(&mut self, is_list: bool) {
        self.levels.push(JsonLevel {
            is_list,
            ..JsonLevel::default()
        });
    }

    /// Notes whether a string that comes next is a key or a value.
    fn expect_value(&mut self, is_value: bool) {
        if let Some(level) = self.levels.last_mut() {
            level.is_value = is_value;
        }
    }

    /// Closes the innermost level. `is_complete` is false at the end of the head.
    fn close(&mut self, is_complete: bool) {
        let is_message = self.is_message();
        let is_alone = self.levels.len() == 1;
        let Some(level) = self.levels.pop().filter(|_| is_message) else {
            return;
        };
        match level.role {
            Some(role) if level.has_content || !is_complete => self.add_role(role, is_alone),
            None if !is_complete && !is_alone => {
                self.found.is_cut |= level.keys == 1 && level.key == b"content";
            }
            _ => {}
        }
    }

    /// Adds the role of a message.
    fn add_role(&mut self, role: &'a [u8], is_alone: bool) {
        if is_alone {
            self.found.alone.push(role);
        } else {
            self.found.roles.push(role);
        }
    }

    /// Reads the string whose text starts at `start`. Returns where to go on.
    fn read_string(&mut self, head: &'a [u8], start: usize) -> usize {
        let Some(end) = string_end(head, start) else {
            return head.len();
        };
        let text = &head[start..end];
        if let Some(line_end) = memchr(b'\n', text) {
            // JSON strings have no line ends: a line was cut off, and the next one starts anew.
            self.levels.clear();
            return start + line_end;
        }
        let is_in_request = self.is_in_request();
        if let Some(level) = self.levels.last_mut().filter(|level| !level.is_list) {
            if !level.is_value {
                level.key = text;
                level.keys += 1;
                level.has_content |= CONTENT_FIELDS.contains(&text);
                self.found.has_system |= is_in_request && text == b"system";
            } else if level.key == b"role" {
                level.role = Some(text);
            }
        }
        end + 1
    }

    /// Returns whether the innermost level is where a request can be.
    fn is_in_request(&self) -> bool {
        match &*self.levels {
            [request] => !request.is_list,
            [list, request] => list.is_list && !request.is_list,
            _ => false,
        }
    }

    /// Returns whether the innermost level is where a message can be.
    fn is_message(&self) -> bool {
        match &*self.levels {
            [message] => !message.is_list,
            [list, message] => list.is_list && !message.is_list,
            [request, list, message] => request.is_request() && list.is_list && !message.is_list,
            [requests, request, list, message] => {
                requests.is_list && request.is_request() && list.is_list && !message.is_list
            }
            _ => false,
        }
    }
}

/// Returns the offset of the closing quote of a string whose text starts at `start`.
fn string_end(head: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at += memchr2(b'"', b'\\', head.get(at..)?)?;
        if head[at] == b'"' {
            return Some(at);
        }
        at += 2;
    }
}

#[cfg(test)]
mod tests {
    //! What is a message, and what only looks like one.

    use super::*;

    fn check(head: &str, roles: &[&str]) {
        let expected: Vec<&[u8]> = roles.iter().map(|role| role.as_bytes()).collect();
        let found = find_roles(FileHead::new(head.as_bytes()));
        let all: Vec<&[u8]> = found.roles.iter().chain(&found.alone).copied().collect();
        assert_eq!(all, expected, "{head}");
    }

    #[test]
    fn messages_are_found_where_they_can_be() {
        for message in [
            r#"{"role":"user","content":""}"#,
            r#"{ "content" : [{}] , "role" : "user" }"#,
        ] {
            check(message, &["user"]);
            check(&format!("[{message},{message}]"), &["user", "user"]);
            check(
                &format!(r#"{{"a":[{{}}],"messages":[{message}]}}"#),
                &["user"],
            );
            check(&format!(r#"[{{"messages":[{message}],"a":1}}]"#), &["user"]);
            check(&format!("{message}\n{message}\n"), &["user", "user"]);
            check(&format!(r#"{{"messages":[[{message}]]}}"#), &[]);
            check(&format!(r#"{{"chat":[{message}]}}"#), &[]);
            check(&format!(r#"{{"messages":{message}}}"#), &[]);
            check(&format!(r#"{{"messages":[{{"author":{message}}}]}}"#), &[]);
            check(
                &format!(r#"{{"messages":["{}"]}}"#, message.replace('"', "\\\"")),
                &[],
            );
        }
        check(r#"{"messages":[{"role":"user","parts":["Hi"]}]}"#, &[]);
        check(
            r#"{"messages":[{"role":{"role":"user"},"content":""}]}"#,
            &[],
        );
    }

    #[test]
    fn the_end_can_be_anywhere() {
        let whole = r#"{"messages":[{"role":"user","content":"a\"b"}]}"#;
        let known = whole.find(",\"content").unwrap();
        for end in 0..whole.len() {
            let expected: &[&str] = if end < known { &[] } else { &["user"] };
            check(&whole[..end], expected);
        }
        check(
            "{\"messages\":[{\"role\":\"us\n{\"messages\":[{\"role\":\"tool\",\"content\":\"\"",
            &["tool"],
        );
    }

    #[test]
    fn a_content_may_be_longer_than_what_is_looked_at() {
        let is_cut = |head: &str| find_roles(FileHead::new(head.as_bytes())).is_cut;
        assert!(is_cut(r#"{"model":"m","messages":[{"content":"And so "#));
        assert!(is_cut(
            r#"{"model":"m","messages":[{"content":[{"type":"text","text":"And so "#
        ));
        assert!(!is_cut(r#"{"messages":[{"type":"user","content":"And so "#));
        assert!(!is_cut(r#"{"messages":[{"content":"And so"}]}"#));
        assert!(!is_cut(r#"{"content":"And so "#));
    }

    #[test]
    fn text_with_json_in_it_is_no_json() {
        check("[Note]: as in [{\"role\":\"user\",\"content\":\"\"}]", &[]);
        check(
            "{x} is\n\n```\n[{\"role\":\"user\",\"content\":\"\"}]\n```\n",
            &[],
        );
    }

    #[test]
    fn garbage_does_no_harm() {
        for garbage in [
            "]",
            "}}}",
            "\"",
            "\"\\",
            "[[[[",
            "{\"a\"",
            "\\\"",
            ":,:,",
            "\u{feff}{",
        ] {
            check(garbage, &[]);
            check(&garbage.repeat(20_000), &[]);
        }
        check(
            &format!("{}{{\"role\":\"user\",\"content\":1}}", "[".repeat(60_000)),
            &[],
        );
    }
}
