//! Cases: a small file with a single feature, and the marks that tell whether a conversion keeps it. A mark is a word or
//! a value that occurs nowhere else in the file, with the place where a reader of any target must find it.

/// A file with a single feature.
pub struct Case {
    /// The feature, in a few words.
    pub name: &'static str,
    /// The name of the file.
    pub file: &'static str,
    pub source: Vec<u8>,
    /// Everything that the file says.
    pub marks: Vec<Mark>,
}

/// Something that a file says.
#[derive(Debug, Clone)]
pub struct Mark {
    /// Where it belongs, such as `user` or `field`. One of several places is enough.
    pub places: Vec<&'static str>,
    /// For a field: its names in the various formats.
    pub keys: Vec<&'static str>,
    /// How it is spelled in the various formats.
    pub values: Vec<String>,
    /// The words by which a loss may name it.
    pub names: Vec<&'static str>,
    /// The messages and blocks that it is a part of. If they are left out as a whole, that names it, too.
    pub wholes: Vec<&'static str>,
    /// Whether it is a detail for programs, which a page for people leaves out without a word: ids, counts, costs, stop
    /// reasons, signatures, fields of providers.
    pub is_machine: bool,
    /// Whether it is an id. A readable message file numbers its cells instead.
    pub is_id: bool,
    /// Whether a conversion may list it, but need not: how a file spells what it says.
    pub is_spelling: bool,
}

impl Mark {
    /// Adds another spelling.
    pub fn or(mut self, value: &str) -> Mark {
        self.values.push(value.to_string());
        self
    }

    /// Adds another place.
    pub fn or_in(mut self, place: &'static str) -> Mark {
        self.places.push(place);
        self
    }

    /// Adds words by which a loss may name it.
    pub fn listed_as(mut self, names: &[&'static str]) -> Mark {
        self.names.extend(names);
        self
    }

    /// Names the block or message that it is a part of.
    pub fn part_of(mut self, whole: &'static str) -> Mark {
        self.wholes.push(whole);
        self
    }

    /// Says that it is an id.
    pub fn an_id(mut self) -> Mark {
        self.is_id = true;
        self.machine()
    }

    /// Says that pages leave it out on purpose.
    pub fn machine(mut self) -> Mark {
        self.is_machine = true;
        self
    }

    /// Returns whether a loss with this name and this text is about the mark.
    pub fn is_named_by(&self, what: &str, line: &str) -> bool {
        let is_whole = line.contains("left out") || line.contains("does not show");
        self.names.iter().any(|name| has_words(what, name))
            || is_whole && self.wholes.iter().any(|name| has_words(what, name))
    }
}

/// Returns whether a text has these words, as whole words.
fn has_words(text: &str, words: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(words).any(|(start, _)| {
        let before = text[..start].chars().next_back();
        let after = text[start + words.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// A text in a place. The place is also the word by which a loss names it.
pub fn text(place: &'static str, value: &str) -> Mark {
    Mark {
        places: vec![place],
        keys: Vec::new(),
        values: vec![value.to_string()],
        names: vec![place, "message"],
        wholes: Vec::new(),
        is_machine: false,
        is_id: false,
        is_spelling: false,
    }
}

/// What a person says.
pub fn user(value: &str) -> Mark {
    text("user", value)
}

/// What an agent says.
pub fn assistant(value: &str) -> Mark {
    text("assistant", value)
}

/// What an agent thinks.
pub fn thinking(value: &str) -> Mark {
    text("thinking", value).listed_as(&["thoughts", "reasoning"])
}

/// A part of a call of a tool: its name, or a part of its arguments.
pub fn call(value: &str) -> Mark {
    text("call", value).listed_as(&["tool_use", "tool call"])
}

/// The text of the result of a call.
pub fn result(value: &str) -> Mark {
    text("result", value).listed_as(&["tool_result", "tool result"])
}

/// The bytes or the address of a picture.
pub fn picture(value: &str) -> Mark {
    text("picture", value).listed_as(&["image"])
}

/// A field of a message, of the conversation or of an agent, under one of these names.
pub fn field(keys: &[&'static str], value: &str) -> Mark {
    Mark {
        places: vec!["field"],
        keys: keys.to_vec(),
        values: vec![value.to_string()],
        names: keys.to_vec(),
        wholes: vec!["message"],
        is_machine: false,
        is_id: false,
        is_spelling: false,
    }
}

/// Text that must be in the output as it is, such as the digits of a number.
pub fn spelled(keys: &[&'static str], value: &str) -> Mark {
    Mark {
        places: vec!["raw"],
        ..field(keys, value)
    }
}

/// That the message with one text follows the message with another one.
pub fn follows(child: &str, parent: &str) -> Mark {
    Mark {
        places: vec!["link"],
        values: vec![child.to_string(), parent.to_string()],
        names: vec![
            "parent",
            "parent_id",
            "branch",
            "message",
            "links_to_later",
            "session_id",
        ],
        ..field(&[], "")
    }
}

/// That the message with a text follows no message.
pub fn starts(child: &str) -> Mark {
    Mark {
        places: vec!["root"],
        values: vec![child.to_string()],
        ..follows("", "")
    }
}

/// That two texts of a message are texts of their own.
pub fn apart(first: &str, second: &str) -> Mark {
    Mark {
        places: vec!["apart"],
        values: vec![first.to_string(), second.to_string()],
        names: vec!["text", "blocks", "spacing", "grouping", "order"],
        ..field(&[], "").machine()
    }
}

/// How a file spells what it says, such as a field that is null. Losses may name it by these words.
pub fn spelling(names: &[&'static str]) -> Mark {
    Mark {
        places: Vec::new(),
        is_spelling: true,
        ..field(names, "")
    }
}
