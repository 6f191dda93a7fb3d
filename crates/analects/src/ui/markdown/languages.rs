//! What a highlighter must know of a programming language: its comments, strings and words.
//!
//! Languages that look alike share an entry, with the words of all of them: a word too many in colour does no harm. To
//! add a language, add its name to an entry, or an entry to `LANGUAGES`.

/// A programming language, as far as colours go.
#[derive(Debug)]
pub struct Language {
    /// The names that stand after a fence.
    pub names: &'static [&'static str],
    /// What starts a comment up to the line's end.
    /// A mark of one character needs a blank before it.
    pub line_comments: &'static [&'static str],
    /// What starts and ends any other comment.
    pub block_comment: Option<(&'static str, &'static str)>,
    /// What starts and ends a string on one line.
    /// Each character by itself is such a mark.
    pub quotes: &'static str,
    /// What starts and ends a string that may have several lines.
    pub long_quotes: &'static [&'static str],
    /// Whether `'` also starts other things, such as Rust's lifetimes.
    pub has_ticks: bool,
    /// Whether words mean the same in capitals.
    pub ignores_case: bool,
    /// The words of the language itself, in their order.
    /// Separated by blanks.
    pub words: &'static str,
}

/// The base of all entries: no comments, and strings in double quotes.
const NONE: Language = Language {
    names: &[],
    line_comments: &[],
    block_comment: None,
    quotes: "\"",
    long_quotes: &[],
    has_ticks: false,
    ignores_case: false,
    words: "",
};

/// The usual shape of languages with braces.
/// C, Java, JavaScript, Rust and many others.
const BRACES: Language = Language {
    line_comments: &["//"],
    block_comment: Some(("/*", "*/")),
    quotes: "\"'",
    ..NONE
};

/// In no particular order; each name occurs once.
const LANGUAGES: &[Language] = &[
    Language {
        names: &["rust", "rs"],
        quotes: "",
        long_quotes: &["\""],
        has_ticks: true,
        words: "as async await box break const continue crate dyn else enum extern false fn for if impl in let loop match mod \
                move mut pub ref return self Self static struct super trait true type unsafe use where while",
        ..BRACES
    },
    Language {
        names: &["python", "py", "python3", "ipython"],
        line_comments: &["#"],
        quotes: "\"'",
        long_quotes: &["\"\"\"", "'''"],
        words: "False None True and as assert async await break case class continue def del elif else except finally for from \
                global if import in is lambda match nonlocal not or pass raise return self try while with yield",
        ..NONE
    },
    Language {
        names: &["javascript", "js", "jsx", "typescript", "ts", "tsx", "mjs"],
        long_quotes: &["`"],
        words: "abstract any as async await boolean break case catch class const constructor continue declare default delete do \
                else enum export extends false finally for from function get if implements import in instanceof interface let \
                new null number of private protected public readonly return set static string super switch this throw true \
                try type typeof undefined var void while yield",
        ..BRACES
    },
    Language {
        names: &["go", "golang"],
        long_quotes: &["`"],
        words: "any bool break byte case chan const continue default defer else error fallthrough false for func go goto if import \
                int interface iota map nil package range return select string struct switch true type var",
        ..BRACES
    },
    Language {
        names: &[
            "c", "h", "cpp", "c++", "cc", "cxx", "hpp", "arduino", "cuda",
        ],
        words: "auto bool break case catch char class const constexpr continue default define delete do double else endif enum \
                explicit extern false float for friend if ifdef ifndef include inline int long namespace new noexcept nullptr \
                operator override pragma private protected public return short signed sizeof static struct switch template this \
                throw true try typedef typename union unsigned using virtual void volatile while",
        ..BRACES
    },
    Language {
        names: &[
            "java", "kotlin", "kt", "csharp", "cs", "c#", "scala", "swift", "dart", "groovy",
        ],
        long_quotes: &["\"\"\""],
        words: "abstract as async await base boolean break byte case catch char class companion const continue def default defer do \
                double else enum extends extension false final finally float for foreach fun func get guard if implements import \
                in init instanceof int interface internal is lambda let long match mutable namespace new nil null object open \
                operator out override package private protected protocol public record ref return sealed self set static string \
                struct super switch this throw throws trait true try type typealias using val var virtual void when where while yield",
        ..BRACES
    },
    Language {
        names: &[
            "bash",
            "sh",
            "shell",
            "zsh",
            "console",
            "fish",
            "dockerfile",
            "docker",
        ],
        line_comments: &["#"],
        quotes: "",
        long_quotes: &["\"", "'"],
        words: "alias ARG break case cd CMD continue COPY do done echo elif else end ENTRYPOINT ENV esac eval exec exit export \
                EXPOSE fi for FROM function if in local read return RUN set shift source sudo then trap unset until USER while WORKDIR",
        ..NONE
    },
    Language {
        names: &["json", "jsonc", "json5", "jsonl"],
        line_comments: &["//"],
        words: "false null true",
        ..NONE
    },
    Language {
        names: &[
            "yaml",
            "yml",
            "toml",
            "ini",
            "conf",
            "properties",
            "makefile",
            "make",
            "cmake",
            "nginx",
        ],
        line_comments: &["#", ";"],
        quotes: "\"'",
        long_quotes: &["\"\"\"", "'''"],
        words: "false no null off on true yes",
        ..NONE
    },
    Language {
        names: &["sql", "postgresql", "postgres", "mysql", "sqlite", "plsql"],
        line_comments: &["--"],
        block_comment: Some(("/*", "*/")),
        quotes: "'\"",
        ignores_case: true,
        words: "add all alter and as asc begin between by case check column commit constraint create cross default delete desc \
                distinct drop else end exists false foreign from full group having if in index inner insert into is join key left \
                like limit not null offset on or order outer primary references returning right rollback select set table then \
                true union unique update using values view when where with",
        ..NONE
    },
    Language {
        names: &["html", "xml", "svg", "vue", "svelte", "xhtml"],
        block_comment: Some(("<!--", "-->")),
        quotes: "\"",
        words: "a article body br button canvas class div footer form h1 h2 h3 h4 head header href html id img input label li link \
                main meta nav ol option p pre script section select span src style table tbody td template textarea th thead title tr ul",
        ..NONE
    },
    Language {
        names: &["css", "scss", "less", "sass"],
        block_comment: Some(("/*", "*/")),
        quotes: "\"'",
        words: "auto absolute block both center fixed flex grid hidden important inherit initial inline none relative solid sticky unset",
        ..NONE
    },
    Language {
        names: &[
            "ruby", "rb", "perl", "pl", "elixir", "ex", "r", "julia", "jl",
        ],
        line_comments: &["#"],
        quotes: "\"'",
        words: "and begin break case class def defmodule defp do else elsif end ensure false fn for foreach function if import in \
                let local module my new next nil not NULL or our package print puts require rescue return self struct sub super \
                then true TRUE FALSE undef unless until use using when where while yield",
        ..NONE
    },
    Language {
        names: &["php"],
        line_comments: &["//", "#"],
        words: "abstract array as break case catch class const continue default do echo else elseif extends false final finally fn \
                for foreach function global if implements include interface isset match namespace new null private protected \
                public readonly require return static string switch this throw trait true try use var void while yield",
        ..BRACES
    },
    Language {
        names: &["lua", "haskell", "hs", "ada", "vhdl"],
        line_comments: &["--"],
        quotes: "\"",
        words: "and begin break case class data deriving do else elseif end false for function goto if import in instance is let \
                local module newtype nil not of or procedure repeat return then true type until where while",
        ..NONE
    },
];

/// The language of that name.
/// Accepts `rust`, `Rust`, `{.rust}` and `.rust`. `None` for an unknown one, which is shown without colours.
pub fn language(name: &str) -> Option<&'static Language> {
    let name = name
        .trim_start_matches(['{', '.'])
        .trim_end_matches('}')
        .to_ascii_lowercase();
    LANGUAGES
        .iter()
        .find(|language| language.names.contains(&&*name))
}

impl Language {
    /// Whether a word belongs to the language itself.
    /// Compares the whole word.
    pub fn knows(&self, word: &str) -> bool {
        let same = |known: &str| {
            if self.ignores_case {
                known.eq_ignore_ascii_case(word)
            } else {
                known == word
            }
        };
        self.words.split_ascii_whitespace().any(same)
    }
}
