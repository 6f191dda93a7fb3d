//! An entry of the help: a name, and beside it what it does, in lines that fit the terminal.

/// Where the explanations stand, and how wide they are at least.
const MARGIN: usize = 17;
const NARROWEST: usize = 30;

/// The lines of one entry: its name, and beside it, or below where it is narrow, what it does.
pub fn entry(name: &str, about: &str, width: usize) -> Vec<String> {
    let is_wide = width >= MARGIN + NARROWEST;
    let margin = match name.is_empty() {
        true => 2,
        false if is_wide => MARGIN,
        false => 6,
    };
    let mut lines = wrap(about, width.saturating_sub(margin + 1));
    for line in &mut lines {
        line.insert_str(0, &" ".repeat(margin));
    }
    let first = lines.first_mut().filter(|_| is_wide && !name.is_empty());
    match first {
        Some(first) => first.replace_range(..MARGIN, &format!("  {name:<15}")),
        None if !name.is_empty() => lines.insert(0, format!("  {name}")),
        None => {}
    }
    lines
}

/// Words in lines that are no wider than this, where no word is.
fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        match line.is_empty() || line.len() + 1 + word.len() <= width {
            true if line.is_empty() => line.push_str(word),
            true => line.push_str(&format!(" {word}")),
            false => lines.push(word.to_string()),
        }
    }
    lines
}
