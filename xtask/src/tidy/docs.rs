//! The English and the Chinese docs say the same: both are there, with the same headings and the
//! same commands and code.

use super::{File, Finding};

/// Code that a reader runs, and that therefore is the same in both languages.
const SAME: &[&str] = &["console", "sh", "rust"];

/// Every page that lacks its other half or is out of step with it.
pub fn check(files: &[File]) -> Vec<Finding> {
    let mut found = Vec::new();
    let find = |path: &str| files.iter().find(|file| file.path == path);
    if find("README.md").is_none() && find("README.zh.md").is_none() {
        found.push(Finding::failure(
            "README.md",
            1,
            "there is no README",
            "write it, in both languages",
        ));
    }
    for file in files {
        let Some((other, is_english)) = other_half(&file.path) else {
            continue;
        };
        match find(&other) {
            Some(other) if is_english => found.extend(compare(file, other)),
            Some(_) => {}
            None => {
                let message = format!("has no other half; expected {other}");
                found.push(Finding::failure(&file.path, 1, message, "translate it"));
            }
        }
    }
    found
}

/// The path of the same page in the other language, and whether `path` is the English one.
fn other_half(path: &str) -> Option<(String, bool)> {
    match path {
        "README.md" => return Some(("README.zh.md".to_string(), true)),
        "README.zh.md" => return Some(("README.md".to_string(), false)),
        _ => path.strip_suffix(".md")?,
    };
    if let Some(rest) = path.strip_prefix("docs/guide/") {
        return Some((format!("docs/zh/guide/{rest}"), true));
    }
    path.strip_prefix("docs/zh/guide/")
        .map(|rest| (format!("docs/guide/{rest}"), false))
}

#[derive(Debug, Default)]
struct Page<'a> {
    /// Line and level.
    headings: Vec<(usize, usize)>,
    fences: Vec<Fence<'a>>,
}

#[derive(Debug)]
struct Fence<'a> {
    line: usize,
    language: &'a str,
    mark: &'a str,
    content: Vec<&'a str>,
}

fn page(text: &str) -> Page<'_> {
    let mut page = Page::default();
    let mut open = false;
    for (at, line) in text.lines().enumerate() {
        let trimmed = line.trim_start();
        let rest = trimmed.trim_start_matches(['`', '~']);
        let mark = &trimmed[..trimmed.len() - rest.len()];
        match page.fences.last_mut().filter(|_| open) {
            Some(fence) if mark.starts_with(fence.mark) && rest.trim().is_empty() => open = false,
            Some(fence) => fence.content.push(line),
            None if mark.len() >= 3 => {
                let language = rest.split([' ', ',']).next().unwrap_or("");
                page.fences.push(Fence {
                    line: at + 1,
                    language,
                    mark,
                    content: Vec::new(),
                });
                open = true;
            }
            None => page
                .headings
                .extend(heading(line).map(|level| (at + 1, level))),
        }
    }
    page
}

fn heading(line: &str) -> Option<usize> {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    ((1..=6).contains(&level) && text.starts_with(' ')).then_some(level)
}

fn compare(english: &File, chinese: &File) -> Vec<Finding> {
    let (a, b) = (page(&english.text), page(&chinese.text));
    let mut found = Vec::new();
    found.extend(compare_headings(english, chinese, &a, &b));
    if a.fences.len() != b.fences.len() {
        let message = format!(
            "has {} code blocks; expected {}, as in {}",
            b.fences.len(),
            a.fences.len(),
            english.path
        );
        found.push(Finding::failure(
            &chinese.path,
            1,
            message,
            "bring the two in step",
        ));
        return found;
    }
    for (one, other) in a.fences.iter().zip(&b.fences) {
        let counts = SAME.contains(&one.language) || SAME.contains(&other.language);
        if counts && (one.language, &one.content) != (other.language, &other.content) {
            let message = format!("a code block differs from {}:{}", english.path, one.line);
            let hint = "copy the block, so that both run the same";
            found.push(Finding::failure(&chinese.path, other.line, message, hint));
        }
    }
    found
}

fn compare_headings(english: &File, chinese: &File, a: &Page<'_>, b: &Page<'_>) -> Option<Finding> {
    let level = |page: &Page<'_>, at: usize| page.headings.get(at).map(|(_, level)| *level);
    let last = a.headings.len().max(b.headings.len());
    let at = (0..last).find(|at| level(a, *at) != level(b, *at))?;
    let line = b
        .headings
        .get(at)
        .or(b.headings.last())
        .map_or(1, |(line, _)| *line);
    let name =
        |level: Option<usize>| level.map_or("none".to_string(), |level| format!("level {level}"));
    let message = format!(
        "heading {} is {}; expected {}, as in {}",
        at + 1,
        name(level(b, at)),
        name(level(a, at)),
        english.path
    );
    Some(Finding::failure(
        &chinese.path,
        line,
        message,
        "bring the two in step",
    ))
}
