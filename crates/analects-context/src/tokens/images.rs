//! Tokens of pictures: their size in pixels, read from the first bytes, and each provider's own rule. The
//! base64 text of a picture is never counted as text.

mod sniff;

use analects_core::{Raw, Source};

use super::{Count, Family};

/// The size of a picture.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Pixels {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// A size to assume where none can be read, such as for a picture on another server.
const TYPICAL: Pixels = Pixels {
    width: 1024,
    height: 1024,
};

/// The size of a picture in base64, from its header; `None` for an unknown format or a broken header. Reads
/// PNG, JPEG, GIF and WebP, and no more of them than it needs.
pub fn pixels(base64: &str) -> Option<Pixels> {
    let found = sniff::size(base64)?;
    (found.width > 0 && found.height > 0).then_some(found)
}

/// The tokens of an image's `source` for a model.
pub(super) fn count(family: Family, model: &str, source: &Raw) -> Count {
    let size = match Source::of(source) {
        Some(Source::Base64 { data, .. }) => pixels(&data),
        _ => None,
    };
    let tokens = by_rule(family, model, size.unwrap_or(TYPICAL));
    // The rules are published, yet differ between versions of a model.
    Count::estimate(tokens, if size.is_some() { 15 } else { 100 })
}

fn by_rule(family: Family, model: &str, size: Pixels) -> u64 {
    match family {
        Family::OpenAi | Family::OpenAiOld => openai(model, size),
        Family::Claude => claude(size),
        Family::Gemini => gemini(size),
        Family::Small | Family::Other => patches(size, 28, 4096),
    }
}

/// Scales a picture down, never up, so that `factor` of its size is what remains.
fn scaled(size: (f64, f64), factor: f64) -> (f64, f64) {
    let factor = factor.min(1.0);
    ((size.0 * factor).max(1.0), (size.1 * factor).max(1.0))
}

fn sides(size: Pixels) -> (f64, f64) {
    (f64::from(size.width), f64::from(size.height))
}

/// A token for 750 pixels, after the long side was scaled to 1568 and the whole to 1600 tokens.
fn claude(size: Pixels) -> u64 {
    let (width, height) = sides(size);
    let (width, height) = scaled((width, height), 1568.0 / width.max(height));
    ((width * height / 750.0).ceil() as u64).clamp(1, 1600)
}

/// Tiles of 258 tokens; small pictures are one.
fn gemini(size: Pixels) -> u64 {
    let (width, height) = (u64::from(size.width), u64::from(size.height));
    if width <= 384 && height <= 384 {
        return 258;
    }
    let unit = (width.min(height) * 2 / 3).clamp(256, 768);
    258 * width.div_ceil(unit) * height.div_ceil(unit)
}

/// Tiles or patches, by the model.
fn openai(model: &str, size: Pixels) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model);
    let small = name.contains("-mini") || name.contains("-nano");
    if small && !name.starts_with("gpt-4o") && !name.starts_with("o1") && !name.starts_with("o3") {
        let hundredths = match name {
            name if name.contains("-nano") => 246,
            name if name.starts_with("o4") => 172,
            _ => 162,
        };
        return (patches(size, 32, 1536) * hundredths).div_ceil(100);
    }
    let (base, tile) = match name {
        name if name.starts_with("gpt-4o-mini") => (2833, 5667),
        name if name.starts_with("gpt-5") => (70, 140),
        name if name.starts_with('o') => (75, 150),
        _ => (85, 170),
    };
    let (width, height) = sides(size);
    let fitted = scaled((width, height), 2048.0 / width.max(height));
    let (width, height) = scaled(fitted, 768.0 / fitted.0.min(fitted.1));
    let tiles = (width / 512.0).ceil() as u64 * (height / 512.0).ceil() as u64;
    base + tile * tiles
}

/// Squares of `side` pixels that cover the picture, at most so many.
fn patches(size: Pixels, side: u64, most: u64) -> u64 {
    let across = u64::from(size.width).div_ceil(side);
    let down = u64::from(size.height).div_ceil(side);
    across.saturating_mul(down).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, width: u32, height: u32, expected: u64) {
        let size = Pixels { width, height };
        assert_eq!(
            by_rule(Family::of(model), model, size),
            expected,
            "{model} {width}x{height}"
        );
    }

    #[test]
    fn the_rules_give_the_providers_own_examples() {
        check("claude-opus-4-1", 200, 200, 54);
        check("claude-opus-4-1", 1000, 1000, 1334);
        check("claude-opus-4-1", 1092, 1092, 1590);
        check("claude-opus-4-1", 8000, 8000, 1600);
        check("gpt-4o", 1024, 1024, 765);
        check("gpt-4o", 2048, 4096, 1105);
        check("gpt-4o", 512, 512, 255);
        check("gpt-5", 1024, 1024, 70 + 4 * 140);
        check("gpt-4.1-mini", 1024, 1024, (1024 * 162_u64).div_ceil(100));
        check("gemini-2.5-pro", 384, 384, 258);
        check("gemini-2.5-pro", 960, 540, 6 * 258);
        check("smollm2", 280, 280, 100);
    }

    #[test]
    fn absurd_sizes_do_no_harm() {
        for model in ["claude-x", "gpt-4o", "gpt-5-mini", "gemini-x", "local"] {
            for (width, height) in [(1, 1), (u32::MAX, 1), (u32::MAX, u32::MAX)] {
                let tokens = by_rule(Family::of(model), model, Pixels { width, height });
                assert!(tokens > 0, "{model} {width}x{height}");
            }
        }
    }
}
