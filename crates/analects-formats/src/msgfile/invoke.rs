//! A tool call as a cell holds it: XML that people can read, and that gives back the exact JSON.
//!
//! An object of arguments is one `<parameter>` an entry: strings as they are, everything else as
//! JSON. An object that would not come back byte for byte, and every other value, is written whole.
//!
//! ```
//! use analects_core::Raw;
//! use analects_formats::msgfile::invoke::{Arguments, Invoke, InvokeError, decode, encode};
//!
//! let text = r#"<invoke name="weather">
//! <parameter name="city">Paris</parameter>
//! <parameter name="days" type="json">3</parameter>
//! </invoke>"#;
//! let call = decode(text)?;
//! let Arguments::Json(arguments) = &call.arguments else { unreachable!() };
//! assert_eq!(arguments.as_str(), r#"{"city":"Paris","days":3}"#);
//! assert_eq!(encode(&call).as_deref(), Some(text));
//! # Ok::<(), InvokeError>(())
//! ```
//!
//! # Limitations
//!
//! Reads elements, attributes, comments, CDATA and entities, as hands write them; no document type,
//! no entities of one's own, no processing instructions other than the XML declaration.

use std::collections::BTreeSet;
use std::fmt;

use analects_core::{Raw, RawMap};

use xml::{StartTag, XmlReader};

mod xml;

/// A call of a tool.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Invoke {
    /// The tool's name.
    pub name: String,
    /// What it is called with.
    pub arguments: Arguments,
}

/// What a tool is called with, exactly as the model wrote it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Arguments {
    /// JSON; an object, unless the model erred.
    Json(Raw),
    /// Text that is not JSON at all.
    Text(String),
}

/// Why a text is not a tool call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InvokeError {
    /// Where it went wrong, in bytes.
    pub offset: usize,
    /// What is wrong, and what was expected.
    pub message: String,
}

impl fmt::Display for InvokeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for InvokeError {}

/// Writes a call, without a line end after the last line. `None` where XML cannot carry it, which
/// has no place for control characters, U+FFFE and U+FFFF: in a name, in text that is not JSON, or
/// (the last two) unescaped in JSON.
pub fn encode(invoke: &Invoke) -> Option<String> {
    let mut out = String::from("<invoke name=\"");
    xml::push_attribute(&mut out, &invoke.name)?;
    out.push_str("\">\n");
    match &invoke.arguments {
        Arguments::Json(raw) => match parameters(raw) {
            Some(parameters) => push_parameters(&mut out, &parameters)?,
            None => push_element(
                &mut out,
                "<arguments type=\"json\">",
                raw.as_str(),
                "arguments",
            )?,
        },
        Arguments::Text(text) => {
            push_element(&mut out, "<arguments type=\"text\">", text, "arguments")?;
        }
    }
    out.push_str("</invoke>");
    Some(out)
}

/// Names and values of an object, if reading them back puts together the same bytes.
fn parameters(raw: &Raw) -> Option<Vec<(String, Raw)>> {
    let object = raw.as_object()?;
    let mut names = BTreeSet::new();
    let mut parameters = Vec::with_capacity(object.len());
    for (key, value) in object.iter() {
        let name = key.as_string().filter(|name| xml::carries(name))?;
        let same = Raw::string(&name) == *key && names.insert(name.clone());
        parameters.push(same.then(|| (name, value.clone()))?);
    }
    (object.to_raw() == *raw).then_some(parameters)
}

/// Adds one `<parameter>` for each argument; `None` if XML cannot hold one.
fn push_parameters(out: &mut String, parameters: &[(String, Raw)]) -> Option<()> {
    for (name, value) in parameters {
        out.push_str("<parameter name=\"");
        xml::push_attribute(out, name)?;
        match bare(value) {
            Some(text) => push_element(out, "\">", &text, "parameter")?,
            None => push_element(out, "\" type=\"json\">", value.as_str(), "parameter")?,
        }
    }
    Some(())
}

/// The text of a JSON string, if XML can carry it and it stands for these very bytes.
fn bare(value: &Raw) -> Option<String> {
    value
        .as_string()
        .filter(|text| xml::carries(text) && Raw::string(text) == *value)
}

/// Adds an element with this start tag, and a line end.
fn push_element(out: &mut String, start: &str, text: &str, name: &str) -> Option<()> {
    out.push_str(start);
    xml::push_text(out, text)?;
    out.push_str("</");
    out.push_str(name);
    out.push_str(">\n");
    Some(())
}

/// Reads a call, also one that was written by hand: with blanks, line ends and comments between its
/// elements, either kind of quote, CDATA. The first thing that is wrong ends the reading.
pub fn decode(text: &str) -> Result<Invoke, InvokeError> {
    let mut reader = XmlReader::new(text);
    reader.declaration()?;
    let expected = "expected <invoke name=\"…\">";
    let Some(mut tag) = reader.start_tag("<invoke>")? else {
        return Err(reader.error(expected));
    };
    if tag.name != "invoke" {
        return Err(tag.error(expected));
    }
    let name = required_name(&mut tag)?;
    tag.no_more_attributes()?;
    let arguments = if tag.is_empty {
        None
    } else {
        Some(children(&mut reader)?)
    };
    reader.end()?;
    let arguments = arguments.unwrap_or_else(|| Arguments::Json(Raw::empty_object()));
    Ok(Invoke { name, arguments })
}

/// Reads up to and including `</invoke>`.
fn children(reader: &mut XmlReader<'_>) -> Result<Arguments, InvokeError> {
    let mut names = BTreeSet::new();
    let mut object = RawMap::new();
    let mut whole = None;
    while let Some(mut tag) = reader.start_tag("<parameter> or </invoke>")? {
        if whole.is_some() || (tag.name == "arguments" && !object.is_empty()) {
            return Err(tag.error("<arguments> stands for all arguments; expected nothing else"));
        }
        match tag.name {
            "parameter" => {
                let name = required_name(&mut tag)?;
                let value = match value(reader, &mut tag)? {
                    Arguments::Json(raw) => raw,
                    Arguments::Text(text) => Raw::string(&text),
                };
                if !names.insert(name.clone()) {
                    return Err(tag.error(format!("parameter {name:?} is there twice")));
                }
                object.push(&name, value);
            }
            "arguments" => whole = Some(value(reader, &mut tag)?),
            name => {
                return Err(tag.error(format!("unknown element <{name}>; expected <parameter>")));
            }
        }
    }
    reader.end_tag("invoke")?;
    Ok(whole.unwrap_or_else(|| Arguments::Json(object.to_raw())))
}

/// The `name` of an element, which it must have.
fn required_name(tag: &mut StartTag<'_>) -> Result<String, InvokeError> {
    let name = tag.take("name");
    name.ok_or_else(|| tag.error(format!("<{}> has no name=\"…\"", tag.name)))
}

/// Reads the text of a `<parameter>` or `<arguments>` element, and its end tag.
fn value(reader: &mut XmlReader<'_>, tag: &mut StartTag<'_>) -> Result<Arguments, InvokeError> {
    let kind = tag.take("type");
    tag.no_more_attributes()?;
    let offset = reader.offset();
    let text = if tag.is_empty {
        String::new()
    } else {
        reader.text(tag.name)?
    };
    match (tag.name, kind.as_deref()) {
        ("parameter", None) | (_, Some("text")) => Ok(Arguments::Text(text)),
        (_, Some("json")) => match Raw::parse(&text) {
            Ok(raw) => Ok(Arguments::Json(raw)),
            Err(error) => Err(InvokeError {
                offset,
                message: error.to_string(),
            }),
        },
        (name, None) => {
            Err(tag.error(format!("<{name}> has no type=\"…\"; expected json or text")))
        }
        (name, Some(kind)) => {
            let message = format!("unknown type {kind:?} of <{name}>; expected json or text");
            Err(tag.error(message))
        }
    }
}

#[cfg(test)]
mod tests;
