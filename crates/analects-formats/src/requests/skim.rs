//! Whose messages stand at the beginning of a file of requests, found by their place in the JSON. The beginning
//! may end anywhere, and what is no JSON is passed over.

use memchr::{memchr, memchr2};

use crate::convert::FileHead;

/// What a message can say itself in. Without any of them, it says nothing that an API would take.
const CONTENTS: [&[u8]; 6] = [
    b"content",
    b"tool_calls",
    b"function_call",
    b"refusal",
    b"audio",
    b"reasoning_content",
];

/// What was found.
#[derive(Debug, Default)]
pub(crate) struct FoundRoles<'a> {
    /// The roles of the messages that say something, or may do so beyond the end.
    roles: Vec<&'a [u8]>,
    /// The same of messages that stand by themselves, one a line.
    alone: Vec<&'a [u8]>,
    /// Whether the end came inside of a content, before the role.
    is_cut: bool,
    /// Whether a request has a field `system` beside its messages.
    pub(crate) has_system: bool,
}

impl FoundRoles<'_> {
    /// Whether there are messages for an API that knows these roles.
    pub(crate) fn is_for(&self, roles: &[&str]) -> bool {
        self.is_cut || self.has_role(roles)
    }

    /// Whether a message is by one of these.
    pub(crate) fn has_role(&self, roles: &[&str]) -> bool {
        let mut all = self.roles.iter().chain(&self.alone);
        all.any(|found| roles.iter().any(|role| role.as_bytes() == *found))
    }

    /// Whether messages stand by themselves, and nowhere else.
    pub(crate) fn is_lines(&self) -> bool {
        !self.alone.is_empty() && self.roles.is_empty()
    }
}

/// An object or a list that is open.
#[derive(Debug, Default)]
struct JsonLevel<'a> {
    is_list: bool,
    /// The last key of an object, and whether its value is next.
    key: &'a [u8],
    keys: usize,
    is_value: bool,
    /// Where messages can be: the role of this one, and whether it says something.
    role: Option<&'a [u8]>,
    has_content: bool,
}

/// Looks for messages: in a list, in a field `messages`, in a list of objects with that field, or an object a line.
pub(crate) fn scan_roles(head: FileHead<'_>) -> FoundRoles<'_> {
    let head = head.bytes();
    let mut skim = RoleScanner {
        levels: Vec::new(),
        found: FoundRoles::default(),
    };
    let mut at = 0;
    while let Some(byte) = head.get(at) {
        at += 1;
        if skim.levels.is_empty() && !b"{[ \t\r\n".contains(byte) {
            // A text that has some JSON in it.
            break;
        }
        match byte {
            b'"' => at = skim.string(head, at),
            b'{' | b'[' => skim.open(*byte == b'['),
            b'}' | b']' => skim.close(true),
            b':' => skim.go_on(true),
            b',' => skim.go_on(false),
            _ => {}
        }
    }
    while !skim.levels.is_empty() {
        skim.close(false);
    }
    skim.found
}

struct RoleScanner<'a> {
    levels: Vec<JsonLevel<'a>>,
    found: FoundRoles<'a>,
}

impl<'a> RoleScanner<'a> {
    fn open(&mut self, is_list: bool) {
        self.levels.push(JsonLevel {
            is_list,
            ..JsonLevel::default()
        });
    }

    fn go_on(&mut self, is_value: bool) {
        if let Some(level) = self.levels.last_mut() {
            level.is_value = is_value;
        }
    }

    fn close(&mut self, is_complete: bool) {
        let is_message = self.is_message();
        let is_alone = self.levels.len() == 1;
        let Some(level) = self.levels.pop().filter(|_| is_message) else {
            return;
        };
        match level.role {
            Some(role) if level.has_content || !is_complete => match is_alone {
                true => self.found.alone.push(role),
                false => self.found.roles.push(role),
            },
            None if !is_complete && !is_alone => {
                self.found.is_cut |= level.keys == 1 && level.key == b"content";
            }
            _ => {}
        }
    }

    /// Takes the string that starts there; the answer is where it ends.
    fn string(&mut self, head: &'a [u8], start: usize) -> usize {
        let Some(end) = string_end(head, start) else {
            return head.len();
        };
        let text = &head[start..end];
        if memchr(b'\n', text).is_some() {
            // JSON has no line ends in strings: a line was cut off, and the next one starts anew.
            self.levels.clear();
            return start + memchr(b'\n', text).unwrap_or_default();
        }
        let is_request = matches!(&*self.levels, [top] if !top.is_list)
            || matches!(&*self.levels, [top, item] if top.is_list && !item.is_list);
        let Some(level) = self.levels.last_mut() else {
            return end + 1;
        };
        if level.is_list {
            return end + 1;
        }
        if !level.is_value {
            level.key = text;
            level.keys += 1;
            level.has_content |= CONTENTS.contains(&text);
            self.found.has_system |= is_request && text == b"system";
        } else if level.key == b"role" {
            level.role = Some(text);
        }
        end + 1
    }

    /// Whether the innermost level is where a message can be.
    fn is_message(&self) -> bool {
        let is_messages = |level: &JsonLevel<'_>| !level.is_list && level.key == b"messages";
        match &*self.levels {
            [one] => !one.is_list,
            [list, one] => list.is_list && !one.is_list,
            [request, list, one] => is_messages(request) && list.is_list && !one.is_list,
            [all, request, list, one] => {
                all.is_list && is_messages(request) && list.is_list && !one.is_list
            }
            _ => false,
        }
    }
}

/// Where a string ends whose text starts there.
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
        let found = scan_roles(FileHead::new(head.as_bytes()));
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
        let is_cut = |head: &str| scan_roles(FileHead::new(head.as_bytes())).is_cut;
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
