//! The small part of XML that a tool call needs: tags, attributes, text. It is not a general parser: everything else is
//! an error with its position.

use super::InvokeError;

const BLANKS: [char; 4] = [' ', '\t', '\r', '\n'];
/// Characters that end the name of an attribute or an element.
const ENDS_NAME: [char; 11] = [' ', '\t', '\r', '\n', '=', '/', '<', '>', '"', '\'', '&'];

/// Whether XML 1.0 allows this character, at least as an entity.
fn is_carried(c: char) -> bool {
    !matches!(c, '\0'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}')
}

/// Whether XML 1.0 allows every character of a text.
pub(super) fn carries(text: &str) -> bool {
    text.chars().all(is_carried)
}

/// Adds text between tags; `None` if XML does not allow a character. `\r` becomes an entity, since readers take a plain
/// one for a line end.
pub(super) fn push_text(out: &mut String, text: &str) -> Option<()> {
    push_escaped(out, text, |c| matches!(c, '\r'))
}

/// Adds the value of an attribute. Tabs and line ends become entities, since readers take plain ones for spaces.
pub(super) fn push_attribute(out: &mut String, text: &str) -> Option<()> {
    push_escaped(out, text, |c| matches!(c, '\t' | '\n' | '\r' | '"'))
}

/// Adds a text with its special characters escaped, those that `by_number` selects as numbers.
fn push_escaped(out: &mut String, text: &str, by_number: impl Fn(char) -> bool) -> Option<()> {
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' if by_number(c) => out.push_str("&quot;"),
            _ if by_number(c) => out.push_str(&format!("&#{};", u32::from(c))),
            _ if is_carried(c) => out.push(c),
            _ => return None,
        }
    }
    Some(())
}

/// A start tag.
pub(super) struct StartTag<'a> {
    pub(super) name: &'a str,
    /// Whether it is its own end tag: `<a/>`.
    pub(super) is_empty: bool,
    offset: usize,
    attributes: Vec<XmlAttribute<'a>>,
}

struct XmlAttribute<'a> {
    offset: usize,
    name: &'a str,
    value: String,
}

impl StartTag<'_> {
    /// An error at this tag.
    pub(super) fn error(&self, message: impl Into<String>) -> InvokeError {
        InvokeError {
            offset: self.offset,
            message: message.into(),
        }
    }

    /// Removes and returns the value of an attribute.
    pub(super) fn take(&mut self, name: &str) -> Option<String> {
        let at = self
            .attributes
            .iter()
            .position(|attribute| attribute.name == name)?;
        Some(self.attributes.swap_remove(at).value)
    }

    /// Fails if an attribute is left that was not taken: an unknown or a repeated one.
    pub(super) fn no_more_attributes(&self) -> Result<(), InvokeError> {
        match self
            .attributes
            .iter()
            .min_by_key(|attribute| attribute.offset)
        {
            None => Ok(()),
            Some(XmlAttribute { offset, name, .. }) => {
                let message = format!("unknown or repeated attribute {name:?} of <{}>", self.name);
                Err(InvokeError {
                    offset: *offset,
                    message,
                })
            }
        }
    }
}

/// Reads XML from a text, and holds the current position in it.
pub(super) struct XmlReader<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> XmlReader<'a> {
    pub(super) fn new(text: &'a str) -> XmlReader<'a> {
        XmlReader { text, at: 0 }
    }

    /// The current position, in bytes.
    pub(super) fn offset(&self) -> usize {
        self.at
    }

    /// An error at the current position.
    pub(super) fn error(&self, message: impl Into<String>) -> InvokeError {
        InvokeError {
            offset: self.at,
            message: message.into(),
        }
    }

    /// Skips an XML declaration and the blanks around it.
    pub(super) fn declaration(&mut self) -> Result<(), InvokeError> {
        self.skip_blanks();
        if self.rest().starts_with("<?xml") {
            self.through("?>", "the XML declaration")?;
        }
        Ok(())
    }

    /// Skips to the next tag and reads it if it is a start tag. `None`, without reading, for an end tag.
    pub(super) fn start_tag(
        &mut self,
        expected: &str,
    ) -> Result<Option<StartTag<'a>>, InvokeError> {
        self.skip_comments()?;
        if self.rest().starts_with("</") {
            return Ok(None);
        }
        let offset = self.at;
        if !self.eat("<") {
            return Err(self.error(format!("expected {expected}, found {}", self.found())));
        }
        let name = self.name("the name of an element")?;
        let mut attributes = Vec::new();
        let is_empty = loop {
            self.skip_blanks();
            if self.eat(">") {
                break false;
            }
            if self.eat("/>") {
                break true;
            }
            attributes.push(self.attribute()?);
        };
        Ok(Some(StartTag {
            name,
            is_empty,
            offset,
            attributes,
        }))
    }

    /// Reads text up to and including the end tag of this element.
    pub(super) fn text(&mut self, element: &str) -> Result<String, InvokeError> {
        let mut text = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with("</") {
                self.end_tag(element)?;
                return Ok(text);
            } else if rest.starts_with("<!--") {
                self.through("-->", "the comment")?;
            } else if let Some(section) = rest.strip_prefix("<![CDATA[") {
                let end = section
                    .find("]]>")
                    .ok_or_else(|| self.error("CDATA has no end"))?;
                self.at += "<![CDATA[".len();
                self.plain(&mut text, end)?;
                self.at += "]]>".len();
            } else if rest.starts_with("<!") || rest.starts_with("<?") {
                return Err(self.declared());
            } else if rest.starts_with('<') {
                let message = format!("an element inside <{element}>; write < as &lt;");
                return Err(self.error(message));
            } else if rest.starts_with('&') {
                text.push(self.entity()?);
            } else if rest.is_empty() {
                return Err(self.error(format!("<{element}> has no end; expected </{element}>")));
            } else {
                let end = rest.find(['<', '&']).unwrap_or(rest.len());
                self.plain(&mut text, end)?;
            }
        }
    }

    /// Reads the end tag of this element.
    pub(super) fn end_tag(&mut self, element: &str) -> Result<(), InvokeError> {
        let offset = self.at;
        let matches = self.eat("</") && self.eat(element);
        self.skip_blanks();
        if matches && self.eat(">") {
            return Ok(());
        }
        Err(InvokeError {
            offset,
            message: format!("expected </{element}>"),
        })
    }

    /// Fails if anything but blanks and comments follows.
    pub(super) fn end(&mut self) -> Result<(), InvokeError> {
        self.skip_comments()?;
        if self.rest().is_empty() {
            return Ok(());
        }
        Err(self.error(format!(
            "expected nothing after </invoke>, found {}",
            self.found()
        )))
    }

    /// The text after the current position.
    fn rest(&self) -> &'a str {
        &self.text[self.at..]
    }

    /// What is at the current position, for a message.
    fn found(&self) -> String {
        match self.rest().chars().next() {
            None => "the end".to_string(),
            Some('<') => "a tag".to_string(),
            Some(c) => format!("{c:?}"),
        }
    }

    /// Reads a token if it is next.
    fn eat(&mut self, token: &str) -> bool {
        let eaten = self.rest().starts_with(token);
        if eaten {
            self.at += token.len();
        }
        eaten
    }

    fn skip_blanks(&mut self) {
        self.at = self.text.len() - self.rest().trim_start_matches(BLANKS).len();
    }

    /// Skips blanks and comments; fails for any other declaration.
    fn skip_comments(&mut self) -> Result<(), InvokeError> {
        self.skip_blanks();
        while self.rest().starts_with("<!--") {
            self.through("-->", "the comment")?;
            self.skip_blanks();
        }
        if self.rest().starts_with("<!") || self.rest().starts_with("<?") {
            return Err(self.declared());
        }
        Ok(())
    }

    /// The error for `<!` or `<?` at the current position.
    fn declared(&self) -> InvokeError {
        self.error(match self.rest().as_bytes().get(2) {
            Some(b'[') => "CDATA is allowed only inside <parameter> and <arguments>",
            _ if self.rest().starts_with("<?") => "a processing instruction is not allowed here",
            _ => "a document type or other declaration is not allowed",
        })
    }

    /// Skips to the end of the next token of this kind.
    fn through(&mut self, token: &str, what: &str) -> Result<(), InvokeError> {
        // `<!-->` is no comment: the two ends must not overlap.
        let from = if token == "-->" { "<!--".len() } else { 0 };
        let found = self.rest()[from..].find(token);
        let end =
            found.ok_or_else(|| self.error(format!("{what} has no end; expected {token}")))?;
        self.at += from + end + token.len();
        Ok(())
    }

    /// Reads the name of an element or an attribute.
    fn name(&mut self, what: &str) -> Result<&'a str, InvokeError> {
        let rest = self.rest();
        let name = &rest[..rest.find(ENDS_NAME).unwrap_or(rest.len())];
        if name.is_empty() {
            return Err(self.error(format!("expected {what}, found {}", self.found())));
        }
        self.at += name.len();
        Ok(name)
    }

    /// Reads `name="value"`, with either kind of quote.
    fn attribute(&mut self) -> Result<XmlAttribute<'a>, InvokeError> {
        let offset = self.at;
        let name = self.name("an attribute or >")?;
        self.skip_blanks();
        if !self.eat("=") {
            return Err(self.error(format!("expected = after {name:?}, found {}", self.found())));
        }
        self.skip_blanks();
        let quote = match self.rest().chars().next() {
            Some(quote @ ('"' | '\'')) => quote,
            _ => return Err(self.error(format!("expected a quote, found {}", self.found()))),
        };
        self.at += 1;
        Ok(XmlAttribute {
            offset,
            name,
            value: self.quoted(quote)?,
        })
    }

    /// Reads the value of an attribute, and the quote that ends it.
    fn quoted(&mut self, quote: char) -> Result<String, InvokeError> {
        let mut value = String::new();
        loop {
            let rest = self.rest();
            if rest.starts_with(quote) {
                self.at += 1;
                return Ok(value);
            } else if rest.starts_with('&') {
                value.push(self.entity()?);
            } else if rest.is_empty() || rest.starts_with('<') {
                return Err(self.error(format!("expected {quote} after the attribute's value")));
            } else {
                let mut part = String::new();
                self.plain(
                    &mut part,
                    rest.find([quote, '&', '<']).unwrap_or(rest.len()),
                )?;
                value.push_str(&part.replace(['\t', '\n'], " "));
            }
        }
    }

    /// Adds the next `len` bytes, with every line end as `\n`, as XML requires.
    fn plain(&mut self, text: &mut String, len: usize) -> Result<(), InvokeError> {
        let part = &self.rest()[..len];
        if let Some(at) = part.find(|c| !is_carried(c)) {
            self.at += at;
            return Err(self.error(format!("{} is not allowed in XML", self.found())));
        }
        self.at += len;
        if part.contains('\r') {
            text.push_str(&part.replace("\r\n", "\n").replace('\r', "\n"));
        } else {
            text.push_str(part);
        }
        Ok(())
    }

    /// Reads `&lt;`, `&#13;`, `&#xd;` and the like.
    fn entity(&mut self) -> Result<char, InvokeError> {
        let rest = &self.rest()[1..];
        // The longest valid entity is `#x10FFFF`; a few leading zeros are allowed.
        let end = rest.bytes().take(16).position(|byte| byte == b';');
        let c = end.and_then(|end| match &rest[..end] {
            "amp" => Some('&'),
            "lt" => Some('<'),
            "gt" => Some('>'),
            "quot" => Some('"'),
            "apos" => Some('\''),
            other => by_number(other.strip_prefix('#')?),
        });
        match (c, end) {
            (Some(c), Some(end)) => {
                self.at += end + "&;".len();
                Ok(c)
            }
            _ => Err(self.error("unknown entity; write & as &amp;")),
        }
    }
}

/// The character with this decimal or, after `x`, hexadecimal number.
fn by_number(digits: &str) -> Option<char> {
    let (digits, radix) = match digits.strip_prefix('x') {
        Some(digits) => (digits, 16),
        None => (digits, 10),
    };
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let number = u32::from_str_radix(digits, radix)
        .ok()
        .filter(|_| is_number)?;
    char::from_u32(number).filter(|c| is_carried(*c))
}
