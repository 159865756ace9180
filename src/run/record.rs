//! Owns what a run recorded of each case, as far as a replay uses it: exit codes, what it saw of its databases and its
//! wire, and which files are the case's.
//!
//! Refuses nothing twice: what is wrong with a run's documents is told where the run is loaded, and a record that can't be
//! read is none here. Invariant: nothing here is taken for true that transcripts and databases show.

use std::collections::BTreeMap;

use serde_json::Value;

use super::document::each_line;
use super::{Kind, Status, last_part, role_of};
use crate::error::Error;
use crate::finding::{Findings, Place};
use crate::limits::Limits;
use crate::manifest::Role;
use crate::tree::Inventory;

/// What a run recorded of a case.
#[derive(Debug, Clone, PartialEq)]
pub struct CaseRecord {
    /// The case's id.
    pub case: String,
    /// The file and line.
    pub place: Place,
    /// The label of what was expected.
    pub expected: String,
    /// How it ended, by the run's own word.
    pub status: Option<Status>,
    /// Exit codes; none for a process of which none was recorded.
    pub exits: Exits,
    /// The API that was missing.
    pub missing_api: Option<String>,
    /// What the run saw of its databases; null where it recorded nothing.
    pub database: Value,
    /// What the run saw of its wire; null where it recorded nothing.
    pub wire: Value,
    /// Transcripts, from the tree's root, sorted.
    pub transcripts: Vec<String>,
    /// Databases, from the tree's root, sorted.
    pub databases: Vec<String>,
}

/// Exit codes as recorded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Exits {
    /// By the process's name.
    Named(BTreeMap<String, i64>),
    /// In the order in which processes were started.
    InOrder(Vec<Option<i64>>),
}

/// The records of a run, in their order. What can't be read is left out.
///
/// # Errors
/// What can't be read from disk.
pub fn records(inventory: &Inventory, run: &str, kind: Kind, limits: &Limits) -> Result<Vec<CaseRecord>, Error> {
    let file = below(run, "results.jsonl");
    let mut all = Vec::new();
    if inventory.file(&file).is_none() {
        return Ok(all);
    }
    let mut findings = Findings::new(limits.max_findings);
    each_line(inventory, &file, limits, &mut findings, |line, record: Value, _| {
        let place = Place::entry(crate::name::escape(file.as_bytes())).line(line);
        all.extend(read(inventory, run, kind, place, &record));
        Ok(())
    })?;
    Ok(all)
}

fn read(inventory: &Inventory, run: &str, kind: Kind, place: Place, record: &Value) -> Option<CaseRecord> {
    let text = |key: &str| record.get(key).and_then(Value::as_str).map(str::to_owned);
    let case = match kind {
        Kind::Own => text("case"),
        Kind::Historical => text("case_id"),
    }?;
    let exits = match kind {
        Kind::Own => {
            let codes = record.get("exit_codes").and_then(Value::as_object);
            let code = |(name, code): (&String, &Value)| Some((name.clone(), code.as_i64()?));
            Exits::Named(codes.into_iter().flatten().filter_map(code).collect())
        }
        Kind::Historical => {
            let codes = record.get("process_exit_codes").and_then(Value::as_array);
            Exits::InOrder(codes.into_iter().flatten().map(Value::as_i64).collect())
        }
    };
    let folder = folder_of(run, kind, &case);
    let of_role = |role: Role| {
        let files = inventory.files_below(&folder).map(|(file, _)| file.name.as_str());
        files.filter(|name| role_of(name, run) == role).map(str::to_owned).collect()
    };
    let observed = record.get("observed").and_then(|observed| observed.get("missing_api")).and_then(Value::as_str);
    Some(CaseRecord {
        expected: text("expected").unwrap_or_default(),
        status: record.get("status").and_then(|status| serde_json::from_value(status.clone()).ok()),
        exits,
        missing_api: text("missing_api").or_else(|| observed.map(str::to_owned)),
        database: record.get("independent_db").cloned().unwrap_or_default(),
        wire: record.get("independent_wire").cloned().unwrap_or_default(),
        transcripts: of_role(Role::Transcript),
        databases: of_role(Role::Database),
        case,
        place,
    })
}

/// Where a case's files lie.
fn folder_of(run: &str, kind: Kind, case: &str) -> String {
    match kind {
        Kind::Own => below(run, &format!("cases/{case}")),
        Kind::Historical => below(run, &format!("case-{case}")),
    }
}

/// A name below a run's folder, which may be the tree's root.
fn below(run: &str, name: &str) -> String {
    if run.is_empty() { name.to_owned() } else { format!("{run}/{name}") }
}

/// The process that a transcript is named after.
pub fn process_of(transcript: &str) -> &str {
    let name = last_part(transcript);
    let stem = [".transcript.log", ".transcript.jsonl"].iter().find_map(|ending| name.strip_suffix(ending));
    stem.unwrap_or_else(|| name.split_once('.').map_or(name, |(stem, _)| stem))
}
