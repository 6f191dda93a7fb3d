//! Features of a text that determine its tokens: words by length, scripts, digits, punctuation and white space. One
//! pass, no tables. The cost of each feature depends on the model's family: see `family`.

/// A countable feature of a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Feature {
    /// Words of Latin letters; `camelCase` counts as two.
    Words,
    /// Of these, the words that do not follow a space.
    Unspaced,
    /// Letters of a word beyond the fourth.
    Beyond4,
    /// Letters of a word beyond the seventh.
    Beyond7,
    /// Letters of a word beyond the eleventh.
    Beyond11,
    /// Letters in words of capitals only.
    Capitals,
    /// Latin letters with accents.
    Accented,
    /// Greek, Cyrillic and other letters of two bytes.
    TwoByteLetters,
    /// Words of two-byte letters.
    TwoByteWords,
    /// Han characters.
    Han,
    /// Rare Han characters.
    RareHan,
    /// Japanese syllables.
    Kana,
    /// Korean syllables.
    Hangul,
    /// Other letters of three bytes, such as Thai and Devanagari.
    ThreeByteLetters,
    /// Chinese and Japanese punctuation, and full-width forms.
    WideSigns,
    /// Groups of up to three digits.
    DigitGroups,
    /// Digits.
    Digits,
    /// Runs of ASCII punctuation.
    SignRuns,
    /// Characters of such a run that differ from the previous one.
    OtherSigns,
    /// Characters of such a run that repeat the previous one.
    SameSigns,
    /// Line ends after a letter or digit, and empty lines.
    LineEnds,
    /// Line ends after punctuation.
    LineEndsAfterSign,
    /// Runs of two or more spaces.
    Indents,
    /// Spaces of such a run beyond the fourth.
    IndentBlanks,
    /// Single spaces before a digit, and between Han characters.
    LoneBlanks,
    /// Dashes, quotation marks and other three-byte punctuation.
    ThreeByteSigns,
    /// Four-byte characters, such as emoji.
    FourBytes,
    /// Control characters and everything else.
    Odd,
}

/// The number of features.
pub const FEATURES: usize = Feature::Odd as usize + 1;

/// How often each feature occurs.
pub type Features = [u64; FEATURES];

/// The class of a character, as far as tokens depend on it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum CharClass {
    Start,
    Lower,
    Upper,
    Accented,
    TwoByte,
    Han,
    Kana,
    Hangul,
    ThreeByte,
    WideSign,
    Digit,
    Sign,
    Blank,
    LineEnd,
    Dash,
    FourByte,
    Odd,
}

impl CharClass {
    fn of(c: char) -> CharClass {
        match c {
            'a'..='z' => CharClass::Lower,
            'A'..='Z' => CharClass::Upper,
            '0'..='9' => CharClass::Digit,
            ' ' | '\t' => CharClass::Blank,
            '\n' | '\r' => CharClass::LineEnd,
            '!'..='~' => CharClass::Sign,
            '\u{0}'..='\u{bf}' => CharClass::Odd,
            '×' | '÷' => CharClass::Dash,
            '\u{c0}'..='\u{24f}' => CharClass::Accented,
            '\u{250}'..='\u{7ff}' => CharClass::TwoByte,
            '\u{2000}'..='\u{2bff}' => CharClass::Dash,
            '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' | '\u{ffe0}'..='\u{ffef}' => {
                CharClass::WideSign
            }
            '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => {
                CharClass::Kana
            }
            '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => {
                CharClass::Han
            }
            '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => {
                CharClass::Hangul
            }
            '\u{800}'..='\u{ffff}' => CharClass::ThreeByte,
            _ => CharClass::FourByte,
        }
    }
}

/// The state of a scan over a text.
struct FeatureScan {
    counts: Features,
    /// The class of the previous character.
    before: CharClass,
    /// The previous character.
    last: char,
    /// The length of the current run: a word, digits, punctuation or spaces.
    run: u64,
    /// The number of capitals at the start of the current word.
    capitals: u64,
    /// Whether the current run follows a space.
    spaced: bool,
}

/// Counts the features of a text.
pub fn features(text: &str) -> Features {
    let mut scan = FeatureScan {
        counts: [0; FEATURES],
        before: CharClass::Start,
        last: '\0',
        run: 0,
        capitals: 0,
        spaced: false,
    };
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let letters = scan.take_lower(rest.as_bytes());
        if letters == 0 {
            scan.take(c);
            rest = &rest[c.len_utf8()..];
        } else {
            rest = &rest[letters..];
        }
    }
    scan.end_run();
    scan.counts
}

impl FeatureScan {
    fn add(&mut self, feature: Feature, count: u64) {
        self.counts[feature as usize] += count;
    }

    /// Adds the lower-case letters that continue a word, at once, since most of a text is that. Returns how many.
    fn take_lower(&mut self, text: &[u8]) -> usize {
        if self.before != CharClass::Lower {
            return 0;
        }
        let is_lower = |byte: &&u8| byte.is_ascii_lowercase();
        let letters = text.iter().take_while(is_lower).count();
        if letters > 0 {
            self.run += letters as u64;
            self.last = char::from(text[letters - 1]);
        }
        letters
    }

    /// Adds the next character.
    fn take(&mut self, c: char) {
        let class = CharClass::of(c);
        if !self.continues(class) {
            self.end_run();
            self.begin_run(class);
        }
        self.run += 1;
        if class == CharClass::Upper {
            self.capitals += 1;
        }
        if let Some(feature) = self.feature_of(c, class) {
            self.add(feature, 1);
        }
        self.before = class;
        self.last = c;
    }

    /// The feature that a character counts for by itself.
    fn feature_of(&self, c: char, class: CharClass) -> Option<Feature> {
        Some(match class {
            CharClass::Accented => Feature::Accented,
            CharClass::TwoByte => Feature::TwoByteLetters,
            CharClass::Han if ('\u{4e00}'..='\u{9fff}').contains(&c) => Feature::Han,
            CharClass::Han => Feature::RareHan,
            CharClass::Kana => Feature::Kana,
            CharClass::Hangul => Feature::Hangul,
            CharClass::ThreeByte => Feature::ThreeByteLetters,
            CharClass::WideSign => Feature::WideSigns,
            CharClass::Digit => Feature::Digits,
            CharClass::Sign if self.run > 1 && c == self.last => Feature::SameSigns,
            CharClass::Sign if self.run > 1 => Feature::OtherSigns,
            CharClass::Dash => Feature::ThreeByteSigns,
            CharClass::FourByte => Feature::FourBytes,
            CharClass::Odd => Feature::Odd,
            CharClass::Start
            | CharClass::Lower
            | CharClass::Upper
            | CharClass::Sign
            | CharClass::Blank
            | CharClass::LineEnd => return None,
        })
    }

    /// Returns whether a character continues the current run: a word, digits, punctuation or spaces.
    fn continues(&self, class: CharClass) -> bool {
        use CharClass::{Accented, Lower, Upper};
        match (self.before, class) {
            // `camelCase` is two words, `CAMELCase` too.
            (Lower | Accented, Upper) => false,
            (Upper, Lower) => self.run == 1 || self.capitals < 2,
            (Upper, Upper) => self.capitals == self.run,
            (Lower | Upper | Accented, Lower | Accented) => true,
            (before, class) => before == class,
        }
    }

    /// Counts what the start of a run determines, such as a word or a line end.
    fn begin_run(&mut self, class: CharClass) {
        self.spaced = self.before == CharClass::Blank;
        match class {
            CharClass::LineEnd => {
                let after_sign = matches!(self.before, CharClass::Sign | CharClass::WideSign);
                let feature = if after_sign {
                    Feature::LineEndsAfterSign
                } else {
                    Feature::LineEnds
                };
                self.add(feature, 1);
            }
            CharClass::Sign => self.add(Feature::SignRuns, 1),
            CharClass::TwoByte => self.add(Feature::TwoByteWords, 1),
            CharClass::Digit | CharClass::Han if self.spaced && self.last == ' ' => {
                self.add(Feature::LoneBlanks, 1);
            }
            CharClass::Lower | CharClass::Upper | CharClass::Accented => {
                self.add(Feature::Words, 1);
                self.add(Feature::Unspaced, u64::from(!self.spaced));
            }
            _ => {}
        }
        self.run = 0;
        self.capitals = 0;
    }

    /// Counts what the length of a run determines, such as the letters of a long word.
    fn end_run(&mut self) {
        let run = self.run;
        match self.before {
            CharClass::Lower | CharClass::Upper | CharClass::Accented => {
                self.add(Feature::Beyond4, run.saturating_sub(4));
                self.add(Feature::Beyond7, run.saturating_sub(7));
                self.add(Feature::Beyond11, run.saturating_sub(11));
                if self.capitals == run && run > 1 {
                    self.add(Feature::Capitals, run);
                }
            }
            CharClass::Digit => self.add(Feature::DigitGroups, run.div_ceil(3)),
            CharClass::Blank if run > 1 => {
                self.add(Feature::Indents, 1);
                self.add(Feature::IndentBlanks, run.saturating_sub(4));
            }
            _ => {}
        }
    }
}
