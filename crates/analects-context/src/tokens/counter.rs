//! Counts whatever goes out: text, calls, results, pictures, tools. Counts are kept by content, so that
//! a longer conversation costs what is new in it.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasherDefault, Hasher};

use analects_core::{Block, Content, Raw, Request, Source, ToolSpec, Turn};

use super::{Calibration, Count, Family, Method, estimate, images};

/// A vocabulary of a model.
pub trait Tokenizer: fmt::Debug + Sync {
    /// Its name.
    fn name(&self) -> &str;

    /// The tokens of a text; `None` if they cannot be counted just now, and an estimate has to do.
    fn count(&self, text: &str) -> Option<u64>;
}

/// Counts for one model.
///
/// It begins with estimates. [`Counter::use_vocabulary`] makes it count with the model's own
/// vocabulary, if there is one: OpenAI's is built in, others are passed in.
#[derive(Debug)]
pub struct Counter<'t> {
    model: String,
    family: Family,
    tokenizer: Option<&'t dyn Tokenizer>,
    /// Whether the tokenizer counts.
    is_exact: bool,
    factor: f64,
    estimates: Cache,
    exact: Cache,
}

impl<'t> Counter<'t> {
    /// Counts for a model, by its name.
    pub fn of_model(model: &str) -> Counter<'t> {
        let family = Family::of(model);
        Counter {
            model: model.to_string(),
            family,
            tokenizer: built_in(family),
            is_exact: false,
            factor: 1.0,
            estimates: Cache::default(),
            exact: Cache::default(),
        }
    }

    /// The same with the model's own vocabulary.
    pub fn with_tokenizer(self, tokenizer: &'t dyn Tokenizer) -> Counter<'t> {
        Counter {
            tokenizer: Some(tokenizer),
            exact: Cache::default(),
            ..self
        }
    }

    /// The same with estimates corrected by what was learnt.
    pub fn with_calibration(self, calibration: &Calibration) -> Counter<'t> {
        Counter {
            factor: calibration.factor(&self.model),
            ..self
        }
    }

    /// Takes over what was learnt meanwhile; counts that were made are kept.
    pub fn calibrate(&mut self, calibration: &Calibration) {
        self.factor = calibration.factor(&self.model);
    }

    /// The model that is counted for.
    pub fn model(&self) -> &str {
        &self.model
    }

    /// Its family.
    pub fn family(&self) -> Family {
        self.family
    }

    /// What estimates are multiplied with.
    pub fn factor(&self) -> f64 {
        self.factor
    }

    /// Whether the model's vocabulary is at hand.
    pub fn has_vocabulary(&self) -> bool {
        self.tokenizer.is_some()
    }

    /// Counts with the vocabulary from now on, or with estimates again; without a vocabulary, always
    /// with estimates.
    pub fn use_vocabulary(&mut self, exact: bool) {
        self.is_exact = exact && self.tokenizer.is_some();
    }

    /// Whether it counts with the vocabulary.
    pub fn is_exact(&self) -> bool {
        self.is_exact
    }

    /// How many contents were counted so far, for those who measure.
    pub fn cached(&self) -> usize {
        self.estimates.len() + self.exact.len()
    }

    /// The tokens of a text.
    pub fn text(&mut self, text: &str) -> Count {
        let mut hash = ContentHash::of_kind(b't');
        hash.add(text.as_bytes());
        let (family, tokenizer) = (self.family, self.tokenizer.filter(|_| self.is_exact));
        let count = || {
            let exact = tokenizer.and_then(|tokenizer| tokenizer.count(text));
            match exact {
                Some(tokens) => Count::exact(tokens, Method::Tokenizer),
                None => estimate(family, text),
            }
        };
        let cache = if self.is_exact {
            &mut self.exact
        } else {
            &mut self.estimates
        };
        cache.get(hash, count).scaled(self.factor)
    }

    /// The tokens of what is said, without the turn around it.
    pub fn content(&mut self, content: &Content) -> Count {
        match content {
            Content::Empty => Count::default(),
            Content::Text(text) => self.text(&text.as_str()),
            Content::Blocks(blocks) => blocks.iter().map(|block| self.block(block)).sum(),
        }
    }

    /// The tokens of a block. Ids, seals and bytes of pictures are none.
    pub fn block(&mut self, block: &Block) -> Count {
        match block {
            Block::Text(block) => self.text(&block.text.as_str()),
            Block::ToolUse(call) => {
                self.text(&call.name) + self.text(call.input.as_str()) + self.frame(8)
            }
            Block::ToolResult(result) => self.content(&result.content) + self.frame(6),
            Block::Thinking(thought) => self.text(&thought.thinking.as_str()),
            // What is sealed is as long as the thought that nobody can read.
            Block::RedactedThinking(sealed) => Count::estimate(sealed.data.len() as u64 / 5, 50),
            Block::Image(image) => self.image(&image.source),
            Block::Document(document) => self.document(&document.source),
            Block::Other(raw) => widened(self.text(raw.as_str()), 50),
        }
    }

    fn image(&mut self, source: &Raw) -> Count {
        let mut hash = ContentHash::of_kind(b'i');
        hash.add_sample(source.as_str().as_bytes());
        let (family, model) = (self.family, &self.model);
        self.estimates
            .get(hash, || images::count(family, model, source))
    }

    /// Text as text; the pages of anything else by its size, which tells little.
    fn document(&mut self, source: &Raw) -> Count {
        const TOKENS_A_PAGE: u64 = 2000;
        const BYTES_A_PAGE: u64 = 60_000;
        if let Some(text) = plain_text(source) {
            return self.text(&text);
        }
        let bytes = match Source::of(source) {
            Some(Source::Base64 { data, .. }) => data.len() as u64 / 4 * 3,
            _ => 10 * BYTES_A_PAGE,
        };
        Count::estimate(
            TOKENS_A_PAGE.saturating_mul(bytes.div_ceil(BYTES_A_PAGE)),
            100,
        )
    }

    /// A turn with all that is around its content.
    pub fn turn(&mut self, turn: &Turn) -> Count {
        self.content(&turn.content) + self.per_turn()
    }

    /// What a turn takes beside its content.
    pub fn per_turn(&self) -> Count {
        self.frame(self.family.per_turn())
    }

    /// What a request takes beside everything that is in it.
    pub fn per_request(&self) -> Count {
        self.frame(self.family.per_request())
    }

    /// Nobody publishes how these things are spelled out for a model.
    fn frame(&self, tokens: u64) -> Count {
        Count {
            tokens,
            method: Method::Estimate,
            error_bound: tokens.div_ceil(2),
        }
    }

    /// The tools that a model may call, by their schemas.
    pub fn tools(&mut self, tools: &[ToolSpec]) -> Count {
        if tools.is_empty() {
            return Count::default();
        }
        let each = |tool: &ToolSpec| {
            let schema = widened(self.text(tool.input_schema.as_str()), 25);
            self.text(&tool.name) + self.text(&tool.description) + schema + self.frame(8)
        };
        let all: Count = tools.iter().map(each).sum();
        all + self.frame(self.family.per_tools())
    }

    /// A request as a whole.
    pub fn request(&mut self, request: &Request) -> Count {
        let system = request
            .system
            .as_ref()
            .map(|text| self.text(&text.as_str()));
        let turns: Count = request.turns.iter().map(|turn| self.turn(turn)).sum();
        system.unwrap_or_default() + turns + self.tools(&request.tools) + self.per_request()
    }
}

/// Text that is sent in other words than it stands here.
fn widened(count: Count, percent: u64) -> Count {
    let widened = Count::estimate(count.tokens, percent);
    Count {
        error_bound: widened.error_bound.max(count.error_bound),
        ..widened
    }
}

/// The text of a document that holds it in plain words.
fn plain_text(source: &Raw) -> Option<String> {
    let map = source.as_object()?;
    let kind = map.get("type").and_then(Raw::as_string)?;
    map.get("data")
        .filter(|_| kind == "text")
        .and_then(Raw::as_string)
}

fn built_in(family: Family) -> Option<&'static dyn Tokenizer> {
    (family == Family::OpenAi).then_some(&super::openai::O200k as &dyn Tokenizer)
}

/// The name of a content: 128 bits made of all of its bytes. Not made to withstand an attack; what an
/// attacker would win is a wrong count.
#[derive(Debug, Clone, Copy)]
struct ContentHash {
    left: u64,
    right: u64,
}

const LEFT: u64 = 0x9e37_79b9_7f4a_7c15;
const RIGHT: u64 = 0xc2b2_ae3d_27d4_eb4f;

impl ContentHash {
    /// The hash of a content of this kind, to which nothing was added yet.
    pub fn of_kind(kind: u8) -> ContentHash {
        ContentHash {
            left: LEFT ^ u64::from(kind),
            right: RIGHT.wrapping_add(u64::from(kind)),
        }
    }

    fn mix(&mut self, word: u64) {
        self.left = (self.left ^ word).wrapping_mul(RIGHT).rotate_left(29);
        self.right = (self.right.rotate_left(23) ^ word).wrapping_mul(LEFT);
    }

    /// Adds a piece; where one ends and the next begins makes a difference.
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

    /// Adds what a large piece begins and ends with, and its length.
    pub fn add_sample(&mut self, bytes: &[u8]) {
        const END: usize = 4096;
        self.add(&bytes[..bytes.len().min(END)]);
        self.add(&bytes[bytes.len().saturating_sub(END)..]);
        self.mix(bytes.len() as u64);
    }

    fn key(mut self) -> Key {
        self.mix(self.right ^ (self.left >> 31));
        self.mix(self.left ^ (self.right >> 29));
        (self.left, self.right)
    }
}

type Key = (u64, u64);

/// The key is a hash already.
#[derive(Debug, Default)]
struct Taken(u64);

impl Hasher for Taken {
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

/// Counts by content.
#[derive(Debug, Default)]
struct Cache {
    counts: HashMap<Key, Count, BuildHasherDefault<Taken>>,
}

impl Cache {
    /// The count of a content, made if it is not there.
    pub fn get(&mut self, hash: ContentHash, count: impl FnOnce() -> Count) -> Count {
        *self.counts.entry(hash.key()).or_insert_with(count)
    }

    /// How many contents were counted.
    pub fn len(&self) -> usize {
        self.counts.len()
    }
}
