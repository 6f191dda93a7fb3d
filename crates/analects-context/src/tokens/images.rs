//! The tokens of images: their size in pixels, read from the header, and each provider's own rule. The base64 text of
//! an image never counts as text.

mod header;

use analects_core::{Raw, Source};

use super::{Count, ModelFamily};

/// The size of an image in pixels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ImageSize {
    /// Columns.
    pub width: u32,
    /// Rows.
    pub height: u32,
}

/// The size to assume if none can be read, such as for an image on a server.
const TYPICAL: ImageSize = ImageSize {
    width: 1024,
    height: 1024,
};

/// Reads the size of a base64 image from its header. Supports PNG, JPEG, GIF and WebP, and decodes no more than
/// necessary. Returns `None` for another format or a broken header.
pub fn image_size(base64: &str) -> Option<ImageSize> {
    let found = header::size(base64)?;
    (found.width > 0 && found.height > 0).then_some(found)
}

/// Estimates the tokens of an image's `source` for a model.
pub(super) fn count(family: ModelFamily, model: &str, source: &Raw) -> Count {
    let size = match Source::of(source) {
        Some(Source::Base64 { data, .. }) => image_size(&data),
        _ => None,
    };
    let tokens = by_rule(family, model, size.unwrap_or(TYPICAL));
    // The rules are published, but they differ between versions of a model.
    Count::estimate(tokens, if size.is_some() { 15 } else { 100 })
}

fn by_rule(family: ModelFamily, model: &str, size: ImageSize) -> u64 {
    match family {
        ModelFamily::OpenAi | ModelFamily::OpenAiOld => openai_tokens(model, size),
        ModelFamily::Claude => claude_tokens(size),
        ModelFamily::Gemini => gemini_tokens(size),
        ModelFamily::Small | ModelFamily::Other => patches(size, 28, 4096),
    }
}

/// Scales a size by `factor`, but never up.
fn scaled(size: (f64, f64), factor: f64) -> (f64, f64) {
    let factor = factor.min(1.0);
    ((size.0 * factor).max(1.0), (size.1 * factor).max(1.0))
}

/// Returns the width and height as floating-point numbers.
fn sides(size: ImageSize) -> (f64, f64) {
    (f64::from(size.width), f64::from(size.height))
}

/// One token per 750 pixels, after scaling the long side to 1568 pixels and limiting the result to 1600 tokens.
fn claude_tokens(size: ImageSize) -> u64 {
    let (width, height) = sides(size);
    let (width, height) = scaled((width, height), 1568.0 / width.max(height));
    ((width * height / 750.0).ceil() as u64).clamp(1, 1600)
}

/// Tiles of 258 tokens; a small image is one tile.
fn gemini_tokens(size: ImageSize) -> u64 {
    let width = u64::from(size.width);
    let height = u64::from(size.height);
    if width <= 384 && height <= 384 {
        return 258;
    }
    let unit = (width.min(height) * 2 / 3).clamp(256, 768);
    258 * width.div_ceil(unit) * height.div_ceil(unit)
}

/// Tiles or patches, depending on the model.
fn openai_tokens(model: &str, size: ImageSize) -> u64 {
    let name = model.rsplit('/').next().unwrap_or(model);
    match patch_price(name) {
        Some(hundredths) => (patches(size, 32, 1536) * hundredths).div_ceil(100),
        None => openai_tiles(name, size),
    }
}

/// Hundredths of a token per patch; `None` for a model that counts tiles.
fn patch_price(name: &str) -> Option<u64> {
    let is_small = name.contains("-mini") || name.contains("-nano");
    let counts_tiles =
        name.starts_with("gpt-4o") || name.starts_with("o1") || name.starts_with("o3");
    if !is_small || counts_tiles {
        return None;
    }
    Some(match name {
        name if name.contains("-nano") => 246,
        name if name.starts_with("o4") => 172,
        _ => 162,
    })
}

/// A base price plus a price per tile of 512 pixels, after scaling to 2048 pixels and a short side of 768.
fn openai_tiles(name: &str, size: ImageSize) -> u64 {
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

/// The number of squares of `side` pixels that cover the image, at most `most`.
fn patches(size: ImageSize, side: u64, most: u64) -> u64 {
    let across = u64::from(size.width).div_ceil(side);
    let down = u64::from(size.height).div_ceil(side);
    across.saturating_mul(down).min(most)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(model: &str, width: u32, height: u32, expected: u64) {
        let size = ImageSize { width, height };
        assert_eq!(
            by_rule(ModelFamily::of(model), model, size),
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
                let tokens = by_rule(ModelFamily::of(model), model, ImageSize { width, height });
                assert!(tokens > 0, "{model} {width}x{height}");
            }
        }
    }
}
