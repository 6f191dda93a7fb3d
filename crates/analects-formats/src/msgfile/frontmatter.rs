//! stub
use analects_core::Agent;
#[derive(Debug, Clone, Default)]
/// x
pub struct Frontmatter {
    /// x
    pub id: Option<String>,
    /// x
    pub title: Option<String>,
    /// x
    pub message_section: Option<String>,
    /// x
    pub default_agent: Option<String>,
    /// x
    pub agents: Vec<Agent>,
}
/// x
pub fn read(yaml: &str) -> Frontmatter {
    let message_section = yaml
        .lines()
        .find_map(|l| l.strip_prefix("message_section:"))
        .map(|n| if n.trim().is_empty() { "Discussion".into() } else { n.trim().to_string() });
    let id = yaml.lines().find_map(|l| l.strip_prefix("id: ")).map(|n| n.trim().to_string());
    Frontmatter { id, message_section, ..Frontmatter::default() }
}
/// x
pub struct Refusal {}
use super::Splice;
use analects_core::Span;
/// x
pub fn set_string(
    _source: &[u8],
    _f: Option<Span>,
    key: &str,
    value: &str,
) -> Result<Splice, Refusal> {
    Ok(Splice { at: Span::new(0, 0), bytes: format!("---\n{key}: {value}\n---\n\n").into_bytes() })
}
