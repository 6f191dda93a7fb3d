//! What of a text decides how many tokens it becomes: words by their length, scripts, digits, signs and
//! blanks. One pass, no tables. What each of these costs is a family's own: see `family`.

/// What is counted in a text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(usize)]
pub enum Feature {
    /// Words of Latin letters; `camelCase` is two.
    Words,
    /// Those of them that do not follow a blank.
    Unspaced,
    /// Letters of a word beyond the fourth.
    Beyond4,
    /// Letters of a word beyond the seventh.
    Beyond7,
    /// Letters of a word beyond the eleventh.
    Beyond11,
    /// Letters in words of capitals alone.
    Capitals,
    /// Latin letters with accents.
    Accented,
    /// Greek, Cyrillic and other letters of two bytes.
    TwoByteLetters,
    /// Words of these.
    TwoByteWords,
    /// Han characters.
    Han,
    /// Han characters that few texts use.
    RareHan,
    /// Japanese syllables.
    Kana,
    /// Korean syllables.
    Hangul,
    /// Other letters of three bytes, such as Thai and Devanagari.
    ThreeByteLetters,
    /// Marks of Chinese and Japanese, and wide forms.
    WideSigns,
    /// Groups of up to three digits.
    DigitGroups,
    /// Digits.
    Digits,
    /// Runs of ASCII signs.
    SignRuns,
    /// Signs in such a run that differ from the one before.
    OtherSigns,
    /// Signs in such a run that repeat the one before.
    SameSigns,
    /// Line ends after a letter or digit, and empty lines.
    LineEnds,
    /// Line ends after a sign.
    LineEndsAfterSign,
    /// Runs of two or more blanks.
    Indents,
    /// Blanks in these, beyond the fourth.
    IndentBlanks,
    /// Blanks before a digit, and between Han characters.
    LoneBlanks,
    /// Dashes, quotation marks and other signs of three bytes.
    ThreeByteSigns,
    /// Characters of four bytes, such as emoji.
    FourBytes,
    /// Control characters, and whatever else there is.
    Odd,
}

/// How many features there are.
pub const FEATURES: usize = Feature::Odd as usize + 1;

/// How often each feature occurs.
pub type Features = [u64; FEATURES];

/// What a character is, as far as tokens go.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Class {
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

fn class(c: char) -> Class {
    match c {
        'a'..='z' => Class::Lower,
        'A'..='Z' => Class::Upper,
        '0'..='9' => Class::Digit,
        ' ' | '\t' => Class::Blank,
        '\n' | '\r' => Class::LineEnd,
        '!'..='~' => Class::Sign,
        '\u{0}'..='\u{bf}' => Class::Odd,
        '×' | '÷' => Class::Dash,
        '\u{c0}'..='\u{24f}' => Class::Accented,
        '\u{250}'..='\u{7ff}' => Class::TwoByte,
        '\u{2000}'..='\u{2bff}' => Class::Dash,
        '\u{3000}'..='\u{303f}' | '\u{ff00}'..='\u{ff65}' | '\u{ffe0}'..='\u{ffef}' => {
            Class::WideSign
        }
        '\u{3040}'..='\u{30ff}' | '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}' => Class::Kana,
        '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' => Class::Han,
        '\u{1100}'..='\u{11ff}' | '\u{3130}'..='\u{318f}' | '\u{ac00}'..='\u{d7af}' => {
            Class::Hangul
        }
        '\u{800}'..='\u{ffff}' => Class::ThreeByte,
        _ => Class::FourByte,
    }
}

/// The state of a pass over a text.
struct Pass {
    found: Features,
    before: Class,
    /// The character before.
    last: char,
    /// Letters of the word so far, or blanks, digits of the run.
    run: u64,
    /// Capitals at the start of the word so far.
    capitals: u64,
    /// Whether the word follows a blank.
    spaced: bool,
}

/// Counts the features of a text.
pub fn features(text: &str) -> Features {
    let mut pass = Pass {
        found: [0; FEATURES],
        before: Class::Start,
        last: '\0',
        run: 0,
        capitals: 0,
        spaced: false,
    };
    for c in text.chars() {
        pass.take(c);
    }
    pass.end_run();
    pass.found
}

impl Pass {
    fn add(&mut self, feature: Feature, count: u64) {
        self.found[feature as usize] += count;
    }

    fn take(&mut self, c: char) {
        let class = class(c);
        if !self.continues(class) {
            self.end_run();
            self.begin_run(class);
        }
        self.run += 1;
        match class {
            Class::Upper => self.capitals += 1,
            Class::Accented => self.add(Feature::Accented, 1),
            Class::TwoByte => self.add(Feature::TwoByteLetters, 1),
            Class::Han => {
                let rare = !('\u{4e00}'..='\u{9fff}').contains(&c);
                self.add(if rare { Feature::RareHan } else { Feature::Han }, 1);
            }
            Class::Kana => self.add(Feature::Kana, 1),
            Class::Hangul => self.add(Feature::Hangul, 1),
            Class::ThreeByte => self.add(Feature::ThreeByteLetters, 1),
            Class::WideSign => self.add(Feature::WideSigns, 1),
            Class::Digit => self.add(Feature::Digits, 1),
            Class::Sign if self.run > 1 => {
                let same = c == self.last;
                self.add(
                    if same {
                        Feature::SameSigns
                    } else {
                        Feature::OtherSigns
                    },
                    1,
                );
            }
            Class::Dash => self.add(Feature::ThreeByteSigns, 1),
            Class::FourByte => self.add(Feature::FourBytes, 1),
            Class::Odd => self.add(Feature::Odd, 1),
            _ => {}
        }
        (self.before, self.last) = (class, c);
    }

    /// Whether a character goes on with the run before it: a word, digits, signs, blanks.
    fn continues(&self, class: Class) -> bool {
        use Class::{Accented, Lower, Upper};
        match (self.before, class) {
            // `camelCase` is two words, `CAMELCase` too.
            (Lower | Accented, Upper) => false,
            (Upper, Lower) => self.run == 1 || self.capitals < 2,
            (Upper, Upper) => self.capitals == self.run,
            (Lower | Upper | Accented, Lower | Accented) => true,
            (before, class) => before == class,
        }
    }

    fn begin_run(&mut self, class: Class) {
        let is_word = matches!(class, Class::Lower | Class::Upper | Class::Accented);
        self.spaced = self.before == Class::Blank;
        match class {
            Class::LineEnd => {
                let after_sign = matches!(self.before, Class::Sign | Class::WideSign);
                let feature = if after_sign {
                    Feature::LineEndsAfterSign
                } else {
                    Feature::LineEnds
                };
                self.add(feature, 1);
            }
            Class::Sign => self.add(Feature::SignRuns, 1),
            Class::TwoByte => self.add(Feature::TwoByteWords, 1),
            Class::Digit | Class::Han if self.spaced && self.last == ' ' => {
                self.add(Feature::LoneBlanks, 1);
            }
            _ if is_word => {
                self.add(Feature::Words, 1);
                self.add(Feature::Unspaced, u64::from(!self.spaced));
            }
            _ => {}
        }
        (self.run, self.capitals) = (0, 0);
    }

    fn end_run(&mut self) {
        let run = self.run;
        match self.before {
            Class::Lower | Class::Upper | Class::Accented => {
                self.add(Feature::Beyond4, run.saturating_sub(4));
                self.add(Feature::Beyond7, run.saturating_sub(7));
                self.add(Feature::Beyond11, run.saturating_sub(11));
                if self.capitals == run && run > 1 {
                    self.add(Feature::Capitals, run);
                }
            }
            Class::Digit => self.add(Feature::DigitGroups, run.div_ceil(3)),
            Class::Blank if run > 1 => {
                self.add(Feature::Indents, 1);
                self.add(Feature::IndentBlanks, run.saturating_sub(4));
            }
            _ => {}
        }
    }
}
