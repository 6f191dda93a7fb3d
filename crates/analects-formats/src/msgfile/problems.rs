//! The problems of a document, with positions and hints for people. Reading a file never needs them. Also here: which
//! paths `output_file` may name, so that they are in the folder of the file or below it on every system.

use std::collections::HashSet;

use analects_core::{LineIndex, Problem, Severity, Span};

use super::agents::{agent, why_not_a_name};
use super::blocking::old_format;
use super::code::code;
use super::fence::lines_outside_fences;
use super::line::{NearHead, near_head};
use super::mistakes::{type_in_title, unknown_type};
use super::role::is_fixed_word;
use super::{Cell, CellKind, CellRole, Document, DocumentKind, MetaKey, frontmatter, seconds};

impl Document {
    /// The problems of the file, in its order.
    pub fn problems(&self) -> Vec<Problem> {
        let lines = self.lines();
        let mut problems = ProblemCollector {
            lines: &lines,
            list: Vec::new(),
        };
        self.encoding_problems(&mut problems);
        self.frontmatter_problems(&mut problems);
        self.head_problems(&mut problems);
        let agents: HashSet<String> = self.agents().into_iter().map(|agent| agent.name).collect();
        self.default_agent_problem(&agents, &mut problems);
        // Mostly ids count up, and then none can be there twice.
        let counts_up = self.ids_count_up();
        let mut ids = HashSet::with_capacity(if counts_up { 0 } else { self.scan.cells.len() });
        for cell in self.cells() {
            if !counts_up && cell.id().is_some_and(|id| !ids.insert(id)) {
                problems.add(duplicate_id(cell), cell.head());
            }
            meta_problems(cell, &mut problems);
            agent_problems(cell, &agents, &mut problems);
            code_problem(cell, &mut problems);
            if let Some(problem) = old_format(cell) {
                problems.add(problem, cell.head());
            }
            misplaced_settings(cell, &mut problems);
        }
        problems.list.extend(self.headings_outside_section());
        self.typing_problems(&mut problems);
        problems
            .list
            .sort_by_key(|problem| (problem.line, problem.column));
        problems.list
    }

    /// What a person typed that is probably not read as they mean it.
    fn typing_problems(&self, problems: &mut ProblemCollector<'_>) {
        let found = [self.unread_metadata(), self.cells_in_comments()];
        let rest = [self.unclosed_fences(), self.tools_nobody_offers()];
        let single = [self.near_frontmatter(), self.section_not_last()];
        let all = found.into_iter().chain(rest).flatten();
        for (problem, span) in all.chain(single.into_iter().flatten()) {
            problems.add(problem, span);
        }
    }

    /// The problem that keeps this file from being written, if there is one.
    pub fn why_not_writable(&self) -> Option<Problem> {
        if self.utf8 {
            return None;
        }
        let lines = self.lines();
        let mut problems = ProblemCollector {
            lines: &lines,
            list: Vec::new(),
        };
        self.encoding_problems(&mut problems);
        problems.list.into_iter().next()
    }

    /// Bytes that are not UTF-8.
    fn encoding_problems(&self, problems: &mut ProblemCollector<'_>) {
        if !self.utf8 {
            problems.list.extend(not_utf8(&self.source, problems.lines));
        }
    }

    /// Problems of the frontmatter, and a section that does not exist yet.
    fn frontmatter_problems(&self, problems: &mut ProblemCollector<'_>) {
        let yaml = self
            .frontmatter
            .and_then(|span| frontmatter::text_span(&self.source, span));
        // In a file without messages, every key belongs to the author.
        let is_plain = self.kind == DocumentKind::Plain;
        let found = self.front.problems.iter();
        for problem in found.filter(|problem| !is_plain || problem.code != "misplaced-key") {
            let start = yaml.map_or(0, |yaml| yaml.start);
            problems
                .list
                .push(problem.clone().in_file(start, problems.lines));
        }
        if let (DocumentKind::Section, Some(name), None) =
            (self.kind, &self.front.message_section, self.scan.section)
        {
            let text = format!("there is no heading {name:?} for the messages yet");
            let problem = Problem::warning("section-missing", text)
                .hint("it is added with the first message");
            problems.add(
                problem.with(Severity::Hint),
                self.frontmatter.unwrap_or_default(),
            );
        }
    }

    /// A default agent that nothing defines.
    fn default_agent_problem(&self, agents: &HashSet<String>, problems: &mut ProblemCollector<'_>) {
        let default = self.front.default_agent.as_ref();
        if let Some(name) = default.filter(|name| !agents.contains(*name)) {
            let text = format!("the default agent {name} is defined nowhere");
            let problem = Problem::error("unknown-agent", text)
                .hint("add it to agents, or name another in default_agent");
            problems.add(problem, self.frontmatter.unwrap_or_default());
        }
    }

    /// Lines that look like heads and are none, and heads inside a code block that is not closed.
    fn head_problems(&self, problems: &mut ProblemCollector<'_>) {
        let start = self
            .scan
            .section
            .map_or(self.body, |section| section.heading.end);
        let first = self
            .scan
            .cells
            .first()
            .map_or(self.source.len(), |cell| cell.start);
        if self.kind == DocumentKind::Whole || self.scan.section.is_some() {
            let text = Span::new(start.min(first), first);
            near_heads(&self.source, text, true, problems);
        }
        for cell in self.cells() {
            let text = Span::new(cell.head().end, cell.span().end);
            near_heads(&self.source, text, !cell.is_sealed(), problems);
        }
        for (fence, head) in &self.scan.in_fence {
            let line = problems.lines.position(*fence).0;
            let text = format!("this cell starts inside the code block that line {line} opens");
            let problem = Problem::warning("head-in-fence", text)
                .hint("to quote a head, type \\# instead of #; else close the code block");
            problems.add(problem.with(Severity::Hint), Span::new(*head, *head));
        }
    }
}

/// One problem for each run of bytes that is not UTF-8.
pub(crate) fn not_utf8(source: &[u8], lines: &LineIndex<'_>) -> Vec<Problem> {
    let mut runs: Vec<Span> = Vec::new();
    let mut at = 0;
    for chunk in source.utf8_chunks() {
        let start = at + chunk.valid().len();
        at = start + chunk.invalid().len();
        match runs.last_mut().filter(|run| run.end == start) {
            Some(run) => run.end = at,
            None if at > start => runs.push(Span::new(start, at)),
            None => {}
        }
    }
    let problem = |run: Span| {
        let text = format!("the bytes at offset {} are not UTF-8", run.start);
        Problem::error("not-utf8", text)
            .hint("convert the file to UTF-8; until then nothing is written to it")
            .at(run, lines)
    };
    runs.into_iter().map(problem).collect()
}

/// The problems found so far.
struct ProblemCollector<'a> {
    lines: &'a LineIndex<'a>,
    list: Vec<Problem>,
}

impl ProblemCollector<'_> {
    /// Adds a problem at a span of the file.
    fn add(&mut self, problem: Problem, span: Span) {
        self.list.push(problem.at(span, self.lines));
    }
}

/// Lines outside of closed code blocks that are nearly heads. Only in typed text, a bare `%%` is one.
fn near_heads(source: &[u8], span: Span, is_typed: bool, problems: &mut ProblemCollector<'_>) {
    let text = span.of(source);
    let has = |percents: &str| memchr::memmem::find(text, percents.as_bytes()).is_some();
    // Nearly every text ends here.
    if !has("%%") && !has("％") {
        return;
    }
    for (start, line) in lines_outside_fences(source, span) {
        let Some(near) = near_head(line).filter(|near| is_typed || *near != NearHead::Bare) else {
            continue;
        };
        let (text, severity) = match near {
            NearHead::Usual => ("this line is nearly a head, and is not one", Severity::Hint),
            NearHead::Bare => ("this line has no #, so it is not a head", Severity::Hint),
            NearHead::FullWidth => (
                "this line has full-width characters, so it is not a head",
                Severity::Warning,
            ),
        };
        let problem = Problem::warning("near-head", text)
            .hint("a head is one to five #, a blank, %% or %%%, a blank and a title");
        let span = Span::new(start, start + line.len());
        problems.add(problem.with(severity), span);
    }
}

/// A cell whose id an earlier one has.
fn duplicate_id(cell: Cell<'_>) -> Problem {
    let text = format!("the id {} is used by an earlier cell", cell.name());
    Problem::error("duplicate-id", text).hint("give this cell another id")
}

/// Problems of the metadata of a cell.
fn meta_problems(cell: Cell<'_>, problems: &mut ProblemCollector<'_>) {
    let Some(span) = cell.meta_span() else { return };
    for junk in cell.junk() {
        let text = format!("cannot read {junk:?} in the metadata; expected key=\"value\"");
        problems.add(Problem::warning("bad-metadata", text), span);
    }
    let found = [
        history_problem(cell),
        timeout_problem(cell),
        output_file_problem(cell),
        stored_problem(cell),
    ];
    for problem in found.into_iter().flatten() {
        problems.add(problem, span);
    }
}

/// A `history` that is not a known value.
fn history_problem(cell: Cell<'_>) -> Option<Problem> {
    let value = cell.get(MetaKey::History)?;
    if cell.history().is_some() {
        return None;
    }
    let text = format!("unknown history value {value:?}; expected include, none or summary");
    Some(Problem::warning("unknown-history", text).hint("it is read as include"))
}

/// A `timeout` that is not a number of seconds.
fn timeout_problem(cell: Cell<'_>) -> Option<Problem> {
    let value = cell.get(MetaKey::Timeout)?;
    if seconds::parse(value).is_some() {
        return None;
    }
    let text = format!("cannot read the timeout {value:?}; expected seconds, such as 30s");
    Some(Problem::warning("bad-timeout", text).hint("it counts as absent"))
}

/// An `output_file` outside of the folder.
fn output_file_problem(cell: Cell<'_>) -> Option<Problem> {
    let path = cell.get(MetaKey::OutputFile)?;
    let why = why_not_a_path(path)?;
    let text = format!("{path:?} cannot be an output file: {why}");
    let hint = "name a file beside this one, or in a folder below it";
    Some(Problem::error("bad-output-file", text).hint(hint))
}

/// A `stored` that does not fit the text, because a person edited it.
fn stored_problem(cell: Cell<'_>) -> Option<Problem> {
    if cell.is_stored_as_it_says() {
        return None;
    }
    let stored = cell.get(MetaKey::Stored).unwrap_or_default();
    let text = format!("stored=\"{stored}\" does not fit this cell's text; it is ignored");
    let hint = "the text was edited: remove the attribute to keep it as it is now";
    Some(Problem::warning("stored-mismatch", text).hint(hint))
}

/// A type word that is none, an agent that nothing defines, and the definition of an agent with an invalid name.
fn agent_problems(cell: Cell<'_>, agents: &HashSet<String>, problems: &mut ProblemCollector<'_>) {
    let word = cell.type_word();
    if let Some(problem) = type_in_title(cell, agents) {
        problems.add(problem, cell.head());
    }
    if let Some(problem) = unknown_type(cell, agents) {
        problems.add(problem, cell.meta_span().unwrap_or(cell.head()));
    } else if cell.kind() == CellKind::Output
        && !agents.is_empty()
        && !agents.contains(word)
        && !is_fixed_word(word)
        && !cell.id().unwrap_or("").contains('.')
    {
        let text = format!("the agent {word} is defined nowhere in this file");
        let problem = Problem::warning("unknown-agent", text);
        problems.add(problem.with(Severity::Hint), cell.head());
    }
    if let Some(name) = cell.get(MetaKey::Agent)
        && cell.kind() == CellKind::Message
        && !agents.contains(name)
    {
        let text = format!("the agent {name} is to answer, and is defined nowhere in this file");
        let problem = Problem::warning("unknown-agent", text);
        problems.add(
            problem.hint("add it to agents, or name another"),
            cell.head(),
        );
    }
    if let Some(agent) = agent(cell)
        && let Some((code, text)) = why_not_a_name(&agent.name)
    {
        problems.add(
            Problem::error(code, text).hint("give the agent another name"),
            cell.head(),
        );
    }
}

/// Settings of an agent in a cell that cannot hold them: such attributes belong to the author, and have no effect.
fn misplaced_settings(cell: Cell<'_>, problems: &mut ProblemCollector<'_>) {
    let Some(span) = cell.meta_span() else { return };
    let defines_agent = cell.role() == CellRole::AgentDefinition;
    if !defines_agent && !cell.is_prompt() {
        return;
    }
    for attribute in cell.attribute_refs() {
        let name = attribute.name();
        let Some(meant) = frontmatter::property_meant(name) else {
            continue;
        };
        let (text, hint) = if !defines_agent {
            let hint = format!("set {meant} for an agent, and name that with agent=\"NAME\"");
            (format!("{name} has no effect on a message"), hint)
        } else if meant == "system_prompt" {
            let hint =
                "define the agent in the frontmatter: agents: { NAME: { system_prompt: TEXT } }";
            let text = format!(
                "the cell of an agent cannot hold a system prompt, so {name} has no effect"
            );
            (text, hint.to_string())
        } else if meant == name {
            continue;
        } else {
            let text = format!("{name} has no effect on an agent");
            (text, format!("did you mean {meant}?"))
        };
        problems.add(Problem::warning("misplaced-key", text).hint(hint), span);
    }
}

/// A code cell that cannot run.
fn code_problem(cell: Cell<'_>, problems: &mut ProblemCollector<'_>) {
    if cell.role() != CellRole::Code {
        return;
    }
    if let Err(error) = code(&cell.content()) {
        let problem = Problem::error("no-code", format!("this code cell cannot run: {error}"))
            .hint("put the code into a fenced code block that names its language");
        problems.add(problem, cell.head());
    }
}

/// Why `output_file` cannot name this path; `None` for a valid path. Links are not resolved here, so code that opens
/// the file must check them.
pub(super) fn why_not_a_path(path: &str) -> Option<&'static str> {
    let mut parts = path.split(['/', '\\']);
    if path.is_empty() {
        return Some("it is empty");
    }
    if path.contains(is_odd) {
        return Some("it has control characters or characters that cannot be seen");
    }
    if path.starts_with(['/', '\\', '~']) {
        return Some("it does not start at the file's folder");
    }
    // Drive letters, streams of a file, addresses.
    if path.contains(':') {
        return Some("it has a colon, so that it may be a drive or an address");
    }
    if path.len() > 1024 {
        return Some("it is longer than 1024 bytes");
    }
    // Windows drops blanks and dots at the end of a part, so that `.. ` would be `..`.
    let leads_out = |part: &str| part.trim_end_matches([' ', '.']).is_empty();
    parts
        .any(leads_out)
        .then_some("it has a part that is empty, . or ..")
}

/// Control characters, and those that change the direction of text or have no width.
fn is_odd(c: char) -> bool {
    let invisible = matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}');
    c.is_control() || invisible
}
