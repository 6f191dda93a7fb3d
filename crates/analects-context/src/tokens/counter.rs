//! Counts everything that is sent: text, calls, results, images, tools. Counts are cached by content, so that counting
//! a longer conversation again costs only what is new.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use analects_core::{Block, Content, Raw, Request, Source, ToolSpec, Turn};

use super::{Calibration, Count, Method, ModelFamily, estimate, images};

/// A model's vocabulary.
pub trait Tokenizer: fmt::Debug + Sync {
    /// The name of the vocabulary.
    fn name(&self) -> &str;

    /// Returns the tokens of a text; `None` if it cannot count at the moment, and an estimate has to do.
    fn count(&self, text: &str) -> Option<u64>;

    /// Returns what the model's chat template adds to a request; `None` if that is not known.
    fn template(&self) -> Option<TemplateTokens> {
        None
    }
}

/// The tokens that a model's chat template adds to what is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TemplateTokens {
    /// Around the content of each turn.
    pub per_turn: u64,
    /// To a request with instructions, besides its turns: what surrounds them, and the start of the answer.
    pub with_system: u64,
    /// To a request without instructions. Some templates add instructions of their own.
    pub without_system: u64,
}

impl TemplateTokens {
    /// How far the whole of what a template adds may be off for ordinary text: a few tokens, where the template's
    /// words and a text grow into one token.
    pub const ERROR_BOUND: u64 = 5;
}

/// Counts tokens for one model.
///
/// It starts with estimates. [`Counter::use_vocabulary`] switches to the model's own vocabulary, if there is one:
/// OpenAI's is built in, others are passed in with [`Counter::with_tokenizer`].
#[derive(Debug)]
pub struct Counter<'t> {
    model: String,
    family: ModelFamily,
    tokenizer: Option<&'t dyn Tokenizer>,
    /// What the model's chat template adds, if the tokenizer knows it.
    template: Option<TemplateTokens>,
    /// Whether the tokenizer is in use.
    is_exact: bool,
    factor: f64,
    estimates: CountCache,
    exact: CountCache,
}

impl<'t> Counter<'t> {
    /// Creates a counter for a model.
    pub fn of_model(model: &str) -> Counter<'t> {
        let family = ModelFamily::of(model);
        Counter {
            model: model.to_string(),
            family,
            tokenizer: built_in(family),
            template: None,
            is_exact: false,
            factor: 1.0,
            estimates: CountCache::default(),
            exact: CountCache::default(),
        }
    }

    /// Sets the model's vocabulary and chat template.
    pub fn with_tokenizer(self, tokenizer: &'t dyn Tokenizer) -> Counter<'t> {
        Counter {
            tokenizer: Some(tokenizer),
            template: tokenizer.template(),
            exact: CountCache::default(),
            ..self
        }
    }

    /// Applies a calibration to estimates.
    pub fn with_calibration(self, calibration: &Calibration) -> Counter<'t> {
        Counter {
            factor: calibration.factor(&self.model),
            ..self
        }
    }

    /// Applies a new calibration and keeps all cached counts.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        self.factor = calibration.factor(&self.model);
    }

    /// The name of the model.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// The family of the model.
    pub fn family(&self) -> ModelFamily {
        self.family
    }

    /// The factor for estimates.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Returns whether the model's vocabulary is available.
    pub fn has_vocabulary(&self) -> bool {
        self.tokenizer.is_some()
    }

    /// Switches between the vocabulary and estimates. Without a vocabulary, it always estimates.
    pub fn use_vocabulary(&mut self, exact: bool) {
        self.is_exact = exact && self.tokenizer.is_some();
    }

    /// Returns whether the vocabulary is in use.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// The number of cached counts, for benchmarks.
    pub fn cached(&self) -> usize {
        self.estimates.len() + self.exact.len()
    }

    /// Counts the tokens of a text.
    pub fn text(&mut self, text: &str) -> Count {
        let mut hash = ContentHash::of_kind(b't');
        hash.add(text.as_bytes());
        let tokenizer = self.tokenizer.filter(|_| self.is_exact);
        let family = self.family;
        let cache = if self.is_exact {
            &mut self.exact
        } else {
            &mut self.estimates
        };
        let count = cache.get(hash, || count_text(text, tokenizer, family));
        count.scaled(self.factor)
    }

    /// Counts the tokens of content, without the turn around it.
    pub fn content(&mut self, content: &Content) -> Count {
        match content {
            Content::Empty => Count::default(),
            Content::Text(text) => self.text(&text.as_str()),
            Content::Blocks(blocks) => blocks.iter().map(|block| self.block(block)).sum(),
        }
    }

    /// Counts the tokens of a block. Ids, signatures and image data count as none.
    pub fn block(&mut self, block: &Block) -> Count {
        match block {
            Block::Text(block) => self.text(&block.text.as_str()),
            Block::ToolUse(call) => {
                self.text(&call.name) + self.text(call.input.as_str()) + self.overhead(8)
            }
            Block::ToolResult(result) => self.content(&result.content) + self.overhead(6),
            Block::Thinking(thought) => self.text(&thought.thinking.as_str()),
            // Encrypted thinking is as long as the text that nobody can read.
            Block::RedactedThinking(sealed) => Count::estimate(sealed.data.len() as u64 / 5, 50),
            Block::Image(image) => self.image(&image.source),
            Block::Document(document) => self.document(&document.source),
            Block::Other(raw) => widened(self.text(raw.as_str()), 50),
        }
    }

    /// Estimates an image. The cache key is a sample of its data, since images are large.
    fn image(&mut self, source: &Raw) -> Count {
        let mut hash = ContentHash::of_kind(b'i');
        hash.add_sample(source.as_str().as_bytes());
        let family = self.family;
        let model = &self.model;
        self.estimates
            .get(hash, || images::count(family, model, source))
    }

    /// Counts a plain text document exactly, and any other document by a guess of its pages from its size.
    fn document(&mut self, source: &Raw) -> Count {
        const TOKENS_PER_PAGE: u64 = 2000;
        const BYTES_PER_PAGE: u64 = 60_000;
        if let Some(text) = plain_text(source) {
            return self.text(&text);
        }
        let bytes = match Source::of(source) {
            Some(Source::Base64 { data, .. }) => data.len() as u64 / 4 * 3,
            _ => 10 * BYTES_PER_PAGE,
        };
        Count::estimate(
            TOKENS_PER_PAGE.saturating_mul(bytes.div_ceil(BYTES_PER_PAGE)),
            100,
        )
    }

    /// Counts the tokens of a turn, with everything around its content.
    pub fn turn(&mut self, turn: &Turn) -> Count {
        self.content(&turn.content) + self.per_turn()
    }

    /// The tokens of a turn besides its content.
    pub fn per_turn(&self) -> Count {
        match self.template {
            // The bound is that of the whole request.
            Some(template) => Count::estimate(template.per_turn, 0),
            None => self.overhead(self.family.per_turn()),
        }
    }

    /// The tokens of a request besides its parts. `has_system` says whether it has instructions.
    pub fn per_request(&self, has_system: bool) -> Count {
        let Some(template) = self.template else {
            return self.overhead(self.family.per_request());
        };
        let tokens = if has_system {
            template.with_system
        } else {
            template.without_system
        };
        Count {
            tokens,
            method: Method::Estimate,
            error_bound: TemplateTokens::ERROR_BOUND,
        }
    }

    /// An estimate for what a provider adds around content, which is not public.
    fn overhead(&self, tokens: u64) -> Count {
        Count {
            tokens,
            method: Method::Estimate,
            error_bound: tokens.div_ceil(2),
        }
    }

    /// Counts the tokens of tool definitions.
    pub fn tools(&mut self, tools: &[ToolSpec]) -> Count {
        if tools.is_empty() {
            return Count::default();
        }
        let all: Count = tools.iter().map(|tool| self.tool(tool)).sum();
        all + self.overhead(self.family.per_tools())
    }

    /// Counts one definition: name, description and schema.
    fn tool(&mut self, tool: &ToolSpec) -> Count {
        let schema = widened(self.text(tool.input_schema.as_str()), 25);
        self.text(&tool.name) + self.text(&tool.description) + schema + self.overhead(8)
    }

    /// Counts the tokens of a whole request.
    pub fn request(&mut self, request: &Request) -> Count {
        let system = request
            .system
            .as_ref()
            .map(|text| self.text(&text.as_str()));
        let turns: Count = request.turns.iter().map(|turn| self.turn(turn)).sum();
        let around = self.per_request(system.is_some());
        system.unwrap_or_default() + turns + self.tools(&request.tools) + around
    }
}

/// Counts a text with the vocabulary, or else estimates it.
fn count_text(text: &str, tokenizer: Option<&dyn Tokenizer>, family: ModelFamily) -> Count {
    match tokenizer.and_then(|tokenizer| tokenizer.count(text)) {
        Some(tokens) => Count::exact(tokens, Method::Tokenizer),
        None => estimate(family, text),
    }
}

/// Widens the error bound of a text that the provider sends in another form.
fn widened(count: Count, percent: u64) -> Count {
    let widened = Count::estimate(count.tokens, percent);
    Count {
        error_bound: widened.error_bound.max(count.error_bound),
        ..widened
    }
}

/// Returns the text of a document in plain text.
fn plain_text(source: &Raw) -> Option<String> {
    let map = source.as_object()?;
    let kind = map.get("type").and_then(Raw::as_string)?;
    map.get("data")
        .filter(|_| kind == "text")
        .and_then(Raw::as_string)
}

/// Returns the built-in vocabulary of a family, if any.
fn built_in(family: ModelFamily) -> Option<&'static dyn Tokenizer> {
    (family == ModelFamily::OpenAi).then_some(&super::openai::O200k as &dyn Tokenizer)
}

/// A 128-bit hash of all bytes of a content. It need not resist attacks: a collision yields a wrong count and nothing
/// worse.
#[derive(Debug, Clone, Copy)]
struct ContentHash {
    left: u64,
    right: u64,
}

/// Odd multipliers that spread the bits of a word.
const LEFT: u64 = 0x9e37_79b9_7f4a_7c15;
const RIGHT: u64 = 0xc2b2_ae3d_27d4_eb4f;

impl ContentHash {
    /// Starts the hash of a content of this kind.
    pub fn of_kind(kind: u8) -> ContentHash {
        ContentHash {
            left: LEFT ^ u64::from(kind),
            right: RIGHT.wrapping_add(u64::from(kind)),
        }
    }

    /// Mixes eight bytes into the hash.
    fn mix(&mut self, word: u64) {
        self.left = (self.left ^ word).wrapping_mul(RIGHT).rotate_left(29);
        self.right = (self.right.rotate_left(23) ^ word).wrapping_mul(LEFT);
    }

    /// Adds bytes. The boundaries between additions make a difference.
    pub fn add(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks::<8>();
        for word in words {
            self.mix(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        last[..rest.len()].copy_from_slice(rest);
        self.mix(u64::from_le_bytes(last));
        self.mix(bytes.len() as u64);
    }

    /// Adds the beginning, the end and the length of a large piece.
    pub fn add_sample(&mut self, bytes: &[u8]) {
        const END: usize = 4096;
        self.add(&bytes[..bytes.len().min(END)]);
        self.add(&bytes[bytes.len().saturating_sub(END)..]);
        self.mix(bytes.len() as u64);
    }

    /// Finishes the hash.
    fn key(mut self) -> CacheKey {
        self.mix(self.right ^ (self.left >> 31));
        self.mix(self.left ^ (self.right >> 29));
        (self.left, self.right)
    }
}

/// A finished [`ContentHash`].
type CacheKey = (u64, u64);

/// A hasher that passes the key on, since a key is a hash already.
#[derive(Debug, Default)]
struct IdentityHasher(u64);

impl Hasher for IdentityHasher {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0.rotate_left(8) ^ u64::from(*byte);
        }
    }

    fn write_u64(&mut self, word: u64) {
        self.0 ^= word;
    }
}

/// A cache of counts by content.
#[derive(Debug, Default)]
struct CountCache {
    counts: HashMap<CacheKey, Count, BuildHasherDefault<IdentityHasher>>,
}

impl CountCache {
    /// Returns the count of a content, computing it if necessary.
    pub fn get(&mut self, hash: ContentHash, count: impl FnOnce() -> Count) -> Count {
        *self.counts.entry(hash.key()).or_insert_with(count)
    }

    /// The number of cached counts.
    pub fn len(&self) -> usize {
        self.counts.len()
    }
}
