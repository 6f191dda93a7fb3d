//! What the name of a model tells about it. A name that tells nothing is taken for a model that
//! accepts everything.

/// Whether both names are of the same model, be it by an alias or by a dated snapshot.
pub(super) fn is_same_model(left: &str, right: &str) -> bool {
    !left.is_empty() && without_date(left) == without_date(right)
}

/// Whether this is one of Anthropic's models.
pub(super) fn is_anthropic(model: &str) -> bool {
    model.starts_with("claude")
}

/// The name without `-20250929` or `-latest`.
fn without_date(model: &str) -> &str {
    match model.rsplit_once('-') {
        Some((name, end)) if end == "latest" || is_date(end) => name,
        _ => model,
    }
}

fn is_date(text: &str) -> bool {
    text.len() == 8 && text.bytes().all(|byte| byte.is_ascii_digit())
}

/// The version in a name such as `claude-3-7-sonnet-latest` or `claude-opus-4-20250514`: its first
/// number, and the one directly behind, or 0.
fn version(model: &str) -> Option<(u32, u32)> {
    let mut parts = model.strip_prefix("claude-")?.split('-');
    let major = parts.find_map(version_number)?;
    let minor = parts.next().and_then(version_number);
    Some((major, minor.unwrap_or(0)))
}

/// A number of one or two digits, unlike a date.
fn version_number(part: &str) -> Option<u32> {
    part.parse().ok().filter(|_| part.len() <= 2)
}

/// Whether the model itself determines how long it thinks. Older models require a budget, and the
/// newest refuse one.
pub(super) fn thinks_adaptively(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (4, 6))
}

/// Whether the model accepts a temperature.
pub(super) fn accepts_temperature(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

/// A limit of output tokens that every version of the model accepts. The API requires a limit.
pub(super) fn default_output_limit(model: &str) -> u64 {
    match version(model) {
        Some(version) if version < (3, 5) => 4096,
        Some(version) if version < (3, 7) => 8192,
        Some(_) => 32_000,
        None => 8192,
    }
}
