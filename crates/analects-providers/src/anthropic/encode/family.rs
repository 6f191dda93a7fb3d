//! What a model's name tells about it. Names that tell nothing are of models that take everything.

/// Whether both names are of one model: an alias and a dated snapshot are.
pub(super) fn is_same(left: &str, right: &str) -> bool {
    !left.is_empty() && undated(left) == undated(right)
}

/// Whether this is one of Anthropic's models.
pub(super) fn is_anthropic(model: &str) -> bool {
    model.starts_with("claude")
}

/// The name without `-20250929` or `-latest`.
fn undated(model: &str) -> &str {
    let is_date = |end: &str| end.len() == 8 && end.bytes().all(|byte| byte.is_ascii_digit());
    match model.rsplit_once('-') {
        Some((name, end)) if end == "latest" || is_date(end) => name,
        _ => model,
    }
}

/// The version in a name such as `claude-3-7-sonnet-latest` or `claude-opus-4-20250514`.
fn version(model: &str) -> Option<(u32, u32)> {
    let parts = model.strip_prefix("claude-")?.split('-');
    let numbers = parts.map(|part| part.parse().ok().filter(|_| part.len() <= 2));
    let mut numbers = numbers.skip_while(Option::is_none);
    Some((numbers.next()??, numbers.next().flatten().unwrap_or(0)))
}

/// Whether the model decides itself how long it thinks. Older ones want a budget, and the newest
/// refuse one.
pub(super) fn thinks_adaptively(model: &str) -> bool {
    version(model).is_some_and(|version| version >= (4, 6))
}

/// Whether the model takes a temperature.
pub(super) fn takes_temperature(model: &str) -> bool {
    version(model).is_none_or(|version| version < (4, 7))
}

/// A limit for answers that every version of the model accepts: the API wants one.
pub(super) fn max_tokens(model: &str) -> u64 {
    match version(model) {
        Some(version) if version < (3, 5) => 4096,
        Some(version) if version < (3, 7) => 8192,
        Some(_) => 32_000,
        None => 8192,
    }
}
