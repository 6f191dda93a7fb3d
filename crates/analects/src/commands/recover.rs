//! `recover`: lists, brings back or erases what the journal holds for a file.
//!
//! Records are found by the file's path and by the questions that it holds, so they are found after a rename as well. A
//! record of another file with the same question is listed with that file's name, and `--forget` without names leaves
//! it alone.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use analects_core::History;
use analects_formats::msgfile::{self, AnswerDetail, Document, Splice};
use analects_store::vfs::Disk;
use analects_store::{
    Journal, JournalRecord, LockedFile, OsIds, RecordKind, read_message_file, real_path,
};
use jiff::{SignedDuration, Timestamp};
use serde::Serialize;

use crate::environment::Environment;
use crate::failure::Failure;
use crate::{local_time, message_file, shell, ui};

/// How many characters of a record the list shows.
const FIRST_WORDS: usize = 60;

/// Bring back an answer or a text that is no longer in a message file
///
/// A journal on this machine keeps every answer, even if an editor saved over it, the answer broke off, or
/// its question changed in the meantime. Without a CELL, recover lists what is in the journal but not in the
/// file, each entry with its name, time, kind, and the start of its text. With CELL names, recover puts them
/// back. An answer goes below its question if that is still unanswered, or else to the end of the file,
/// hidden from the model.
///
/// Text that you delete from a file stays in the journal until you erase it: --forget erases what the
/// journal holds for the file, or only for the cells that you name. With --older, it erases older text of
/// all files.
#[derive(Debug, clap::Args)]
#[command(after_long_help = "Examples:
  analects recover talk.msg.md
  analects recover talk.msg.md 3
  analects recover talk.msg.md --forget
  analects recover --forget --older 90d")]
pub struct RecoverArgs {
    /// The message file
    #[arg(value_name = "FILE", required_unless_present = "older")]
    file: Option<PathBuf>,

    /// The cells to bring back or to erase, by their names in the list
    #[arg(value_name = "CELL")]
    cells: Vec<String>,

    /// Erase the text from the journal
    #[arg(long)]
    forget: bool,

    /// With --forget: erase everything that is older than this, such as 90d or 12h, for all files
    #[arg(long, value_name = "AGE", value_parser = age, requires = "forget", conflicts_with = "file")]
    older: Option<SignedDuration>,

    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

/// Parses an age in days or hours, such as `90d` or `12h`.
/// Up to a million hours; anything else would be a typing error.
fn age(text: &str) -> Result<SignedDuration, String> {
    let expected = || "expected an age, such as 90d or 12h".to_string();
    let number = text.trim_end_matches(['d', 'h']);
    let count: i64 = number.parse().map_err(|_| expected())?;
    let hours = match &text[number.len()..] {
        "d" => count.checked_mul(24),
        "h" => Some(count),
        _ => None,
    };
    let hours = hours
        .filter(|hours| (0..=1_000_000).contains(hours))
        .ok_or_else(expected)?;
    Ok(SignedDuration::from_hours(hours))
}

/// A record as `--json` prints it.
/// JSON lists every record, even those whose text the file still has.
#[derive(Debug, Serialize)]
struct RecoverRow<'r> {
    /// The name to use on the command line.
    name: String,
    cell: Option<&'r str>,
    kind: &'static str,
    time: Option<String>,
    /// The cell of the file that holds this text, if there is one.
    stands_in: Option<&'r str>,
    path: &'r str,
    /// In full, unlike in the list.
    text: &'r str,
}

/// Listing changes nothing, not even the order of records.
pub fn run(args: &RecoverArgs) -> Result<(), Failure> {
    let environment = Environment::read()?;
    let journal = Journal::new(&environment.places);
    if let Some(age) = args.older {
        let count = journal.forget_before(Timestamp::now() - age)?;
        return report_forgotten(args, count);
    }
    let Some(path) = &args.file else {
        return Ok(());
    };
    journal.check_writable()?;
    let document = match read_message_file(path) {
        // The records of a deleted file can still be listed and erased.
        Err(error) if error.is_not_found() => msgfile::decode_named(*b"", &path.to_string_lossy()),
        read => read?,
    };
    let real = real_path(&Disk, path)?;
    let records = name_records(journal.records(&document, &real), &real);
    if args.forget {
        if journal.is_being_answered(&document, &real) {
            ui::remark(
                "an answer is still arriving and will be kept: forget it when it is complete",
            );
        }
        return forget(args, &journal, &records);
    }
    if args.cells.is_empty() {
        return list(args, path, &records);
    }
    put_back(args, path, &records, &environment)
}

/// A record with the name of its cell. If several records belong to a cell, the newest has the
/// plain name, and the others a number after `@`.
/// The name is what you type, so it stays the same between two calls as long as the journal does.
struct NamedRecord {
    name: String,
    record: JournalRecord,
    /// Further copies of the same answer, kept for other cells.
    /// They are erased together with the record.
    twins: Vec<JournalRecord>,
    /// Whether it belongs to this file, and not to another file with the same question.
    is_own: bool,
}

impl NamedRecord {
    /// Such copies arise when several questions get one answer.
    fn is_same(&self, other: &JournalRecord) -> bool {
        let own = &self.record;
        own.kind == other.kind && own.at == other.at && own.text == other.text
    }
}

/// Merges copies of the same record and gives each record a name.
/// Records of this file come first and so get the plain names.
fn name_records(mut records: Vec<JournalRecord>, path: &Path) -> Vec<NamedRecord> {
    let is_own = |record: &JournalRecord| {
        record.path == path.to_string_lossy() || !Path::new(&record.path).exists()
    };
    records.sort_by_key(|record| !is_own(record));
    let mut all: Vec<NamedRecord> = Vec::new();
    for record in records {
        if let Some(same) = all.iter_mut().find(|named| named.is_same(&record)) {
            same.twins.push(record);
            continue;
        }
        let cell = record.cell.clone().unwrap_or_default();
        let before = all
            .iter()
            .filter(|other| other.record.cell.as_deref().unwrap_or_default() == cell)
            .filter(|other| other.record.stands_in.is_none())
            .count();
        let name = match &record.stands_in {
            Some(own) => own.clone(),
            None if before == 0 && !cell.is_empty() => cell,
            None => format!("{cell}@{}", before + 1),
        };
        all.push(NamedRecord {
            name,
            is_own: is_own(&record),
            record,
            twins: Vec::new(),
        });
    }
    all
}

/// Lists the records that are missing from the file.
/// Says so if nothing is missing, with how much the journal holds.
fn list(args: &RecoverArgs, path: &Path, records: &[NamedRecord]) -> Result<(), Failure> {
    if args.json {
        let rows: Vec<RecoverRow<'_>> = records.iter().map(row).collect();
        return ui::print_json(&rows);
    }
    let missing: Vec<&NamedRecord> = records
        .iter()
        .filter(|named| is_listed(&named.record))
        .collect();
    if missing.is_empty() {
        let known = records.len();
        ui::remark(&format!(
            "{}: nothing to recover; the journal holds {known} {} that {} in the file",
            path.display(),
            if known == 1 { "record" } else { "records" },
            if known == 1 { "is" } else { "are" },
        ));
        return Ok(());
    }
    let rows: Vec<[String; 4]> = missing.into_iter().map(columns).collect();
    ui::print_rows(rows)
}

/// Whether the list shows a record: it is missing from the file and is not only details.
fn is_listed(record: &JournalRecord) -> bool {
    record.stands_in.is_none() && record.kind != RecordKind::Other
}

fn row(named: &NamedRecord) -> RecoverRow<'_> {
    let record = &named.record;
    RecoverRow {
        name: named.name.clone(),
        cell: record.cell.as_deref(),
        kind: kind_in_words(record.kind),
        time: record.at.map(|at| at.to_string()),
        stands_in: record.stands_in.as_deref(),
        path: &record.path,
        text: &record.text,
    }
}

/// A row of the list: name, time, kind, start of the text.
/// Times are in UTC, to the second.
fn columns(named: &NamedRecord) -> [String; 4] {
    let record = &named.record;
    let first: String = record.text.split_whitespace().collect::<Vec<_>>().join(" ");
    let mut first: String = first.chars().take(FIRST_WORDS).collect();
    if !named.is_own {
        first.push_str(&format!("  (of {})", record.path));
    }
    [
        named.name.clone(),
        record.at.map(local_time::seconds).unwrap_or_default(),
        kind_in_words(record.kind).to_string(),
        first,
    ]
}

/// The kind of a record, as the list shows it.
fn kind_in_words(kind: RecordKind) -> &'static str {
    match kind {
        RecordKind::Answer => "answer",
        RecordKind::Interrupted => "interrupted",
        RecordKind::Text => "text",
        RecordKind::Other => "details",
    }
}

/// The records that you named.
/// Fails at the first name that does not exist, before anything is changed.
fn chosen<'r>(
    args: &RecoverArgs,
    records: &'r [NamedRecord],
) -> Result<Vec<&'r NamedRecord>, Failure> {
    let mut chosen = Vec::new();
    for name in &args.cells {
        let found = records.iter().find(|named| named.name == *name);
        chosen.push(found.ok_or_else(|| {
            let file = args.file.as_deref().map(shell::path).unwrap_or_default();
            Failure::not_found(format!("the journal holds nothing named {name}"))
                .or_hint(format!("analects recover {file} lists what there is"))
        })?);
    }
    Ok(chosen)
}

/// Puts the named records back into the file, and prints their cells.
/// Prints the name of each cell that the file has got.
fn put_back(
    args: &RecoverArgs,
    path: &Path,
    records: &[NamedRecord],
    environment: &Environment,
) -> Result<(), Failure> {
    let chosen = chosen(args, records)?;
    let mut file = message_file::open(path, &environment.places)?;
    // Opening the file to write already recovers a partial answer.
    let recovered = file.recovered().iter();
    let mut recovered: VecDeque<String> = recovered.map(|answer| answer.cell.clone()).collect();
    let journal = file.journal().clone();
    let records_now = name_records(journal.records(file.document(), file.path()), file.path());

    let mut cells = Vec::new();
    for before in chosen {
        if journal.holds(&before.record) {
            cells.push(put_record_back(&mut file, before)?);
        } else if let Some(cell) = recovered.pop_front() {
            cells.push(cell);
        } else {
            // A partial answer without a place in the file has a new name now.
            let mut now = records_now.iter();
            let same = now.find(|named| named.is_same(&before.record));
            cells.push(put_record_back(&mut file, same.unwrap_or(before))?);
        }
    }
    if args.json {
        return ui::print_json(&cells);
    }
    cells.iter().try_for_each(|cell| ui::print_line(cell))
}

/// Puts one record back into the file, and returns its cell.
/// Fails if the file has the text already.
fn put_record_back(file: &mut LockedFile, named: &NamedRecord) -> Result<String, Failure> {
    let NamedRecord { name, record, .. } = named;
    if let Some(cell) = &record.stands_in {
        let message = format!("{name} is in the file already, as cell {cell}");
        return Err(Failure::input(message));
    }
    match record.kind {
        RecordKind::Text => put_text_back(file, record),
        RecordKind::Answer | RecordKind::Interrupted => put_answer_back(file, record),
        RecordKind::Other => {
            let message = format!("{name} is not an answer, and cannot be brought back");
            Err(Failure::input(message))
        }
    }
}

/// Puts an answer below its question if that is unanswered, or else at the end, hidden from the
/// model.
/// A partial answer leaves the journal once the file has it.
fn put_answer_back(file: &mut LockedFile, record: &JournalRecord) -> Result<String, Failure> {
    let Some(message) = &record.message else {
        return Err(Failure::internal("a record without an answer"));
    };
    let journal = file.journal().clone();
    let zone = local_time::zone();
    let mut cell = String::new();
    file.try_edit(|document: &Document| {
        let asked = record.positions(document);
        let mut message = message.clone();
        if asked.is_none() {
            message.history = History::Exclude;
        }
        let asked = asked.unwrap_or_default();
        let detail = AnswerDetail::Usual;
        let placed = msgfile::put_answer(document, &asked, &message, detail, &zone, &mut OsIds);
        // A copy at the end is recognised by its text.
        if !asked.is_empty() {
            journal.save_restored_answer(record, placed.hash)?;
        }
        cell = placed.cell;
        Ok::<Splice, analects_store::StoreError>(placed.splice)
    })?;
    // A complete answer stays in the journal, in case an editor saves over it again.
    if record.kind == RecordKind::Interrupted {
        journal.forget(record)?;
    }
    Ok(cell)
}

/// Replaces the current text of a cell with an old one. The journal keeps the current text.
/// Fails if the cell is gone, since its text has no place then.
fn put_text_back(file: &mut LockedFile, record: &JournalRecord) -> Result<String, Failure> {
    let Some(cell) = record.cell.clone() else {
        let hint = "recover --json prints the text";
        return Err(Failure::input("the cell of this text is not in the file").or_hint(hint));
    };
    let journal = file.journal().clone();
    let path = file.path().to_path_buf();
    file.try_edit(|document: &Document| {
        let old = document
            .cell(&cell)
            .map(|cell| cell.content().into_owned())
            .unwrap_or_default();
        journal.save_removed_text(&path, &cell, &old, &record.text, Timestamp::now())?;
        let splice = msgfile::replace_text(document, &cell, &record.text);
        splice.map_err(|error| Failure::input(error.to_string()))
    })?;
    journal.forget(record)?;
    Ok(cell)
}

/// Erases the records that you named, or all records of the file.
/// Without names it erases only records of this very file.
fn forget(args: &RecoverArgs, journal: &Journal, records: &[NamedRecord]) -> Result<(), Failure> {
    let forgotten = if args.cells.is_empty() {
        records.iter().filter(|named| named.is_own).collect()
    } else {
        chosen(args, records)?
    };
    for named in &forgotten {
        for record in named.twins.iter().chain([&named.record]) {
            journal.forget(record)?;
        }
    }
    report_forgotten(args, forgotten.len())
}

/// Without any, a hint says where else the text may be kept: records belong to the name that the file had.
fn report_forgotten(args: &RecoverArgs, count: usize) -> Result<(), Failure> {
    if args.json {
        return ui::print_json(&serde_json::json!({ "forgotten": count }));
    }
    ui::remark(&format!("{count} {} forgotten", records_are(count)));
    if count == 0 && args.file.is_some() {
        ui::remark(
            "if the file had another name, use that name; --forget --older 0h forgets everything",
        );
    }
    Ok(())
}

fn records_are(count: usize) -> &'static str {
    if count == 1 {
        "record is"
    } else {
        "records are"
    }
}
