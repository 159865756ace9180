//! Owns runs: one execution of a matrix, its documents, its files and what it records of itself.
//!
//! Refuses what contradicts itself or its matrix, as findings; a folder that is no run is an error. Invariant: a report
//! says only what the tree's bytes say, and lists as assertions whatever a reader can't recompute from them.

mod binding;
mod check;
mod document;
pub mod facts;
mod historical;
pub mod matrix;
mod own;
pub mod record;
mod role;
pub mod snapshot;
mod spec;
mod time;
pub mod wire;

#[cfg(test)]
mod made;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::Inventory;

pub use binding::SourceBinding;
pub use matrix::MATRIX_FORMAT;
pub use own::RUN_FORMAT;
pub use role::role_of;

/// What is said of recorded results that nobody has judged.
pub const STATUS_ASSERTED: &str = "the status of each case is the run's own word until it is replayed";

/// Which of the two layouts a run has.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A folder with a `run.json`.
    Own,
    /// A folder `attempt-<UTC time>-<ns>` with `results.jsonl` and `provenance.json`.
    Historical,
}

/// How a case ended, as the run recorded it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// What was expected was seen.
    Pass,
    /// Something else was seen.
    Fail,
    /// The SDK lacks an API that the case needs.
    Unsupported,
    /// The test machinery broke, so nothing was seen.
    MachineryError,
}

impl Status {
    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pass => "pass",
            Self::Fail => "fail",
            Self::Unsupported => "unsupported",
            Self::MachineryError => "machinery_error",
        }
    }
}

/// One case of the run's matrix and the result it got.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CaseRow {
    /// The matrix's id of the case.
    pub id: String,
    /// The label that the matrix expects, or the result's where there is no matrix.
    pub expected: String,
    /// The first result's status; none where the case has no result.
    pub status: Option<Status>,
}

/// A file that a result names and that is not in the tree, which was disclosed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Absent {
    /// Its path from the tree's root.
    pub path: String,
    /// The digest that the run recorded.
    pub sha256: Sha256,
    /// The reason that was disclosed.
    pub why: String,
}

/// Which run to read, and what is known from outside of its files.
#[derive(Debug, Clone, Copy)]
pub struct Request<'a> {
    /// The run's folder, from the tree's root, which is the project's root.
    pub run: &'a str,
    /// The matrix, from the tree's root, where the run's own word on it isn't to be followed.
    pub spec: Option<&'a str>,
    /// Redacted files: path to the SHA-256 of the private original.
    pub derivatives: &'a BTreeMap<String, Sha256>,
    /// Files whose absence is disclosed: path to the reason.
    pub disclosed: &'a BTreeMap<String, String>,
    /// Files that are not the manifest's: what the run says of them besides is not told again.
    pub told: &'a BTreeSet<String>,
    /// The tree is a project that goes on after the run, not what was published of it: sources that differ today say
    /// nothing against the run.
    pub is_living: bool,
}

/// What a run says of itself, and what is wrong with it.
#[derive(Debug, Clone)]
pub struct RunReport {
    /// The run's folder, from the tree's root.
    pub path: String,
    /// Its layout.
    pub kind: Kind,
    /// The folder's name.
    pub id: String,
    /// The project that the run names.
    pub project: Option<String>,
    /// When it started, `YYYY-MM-DDTHH:MM:SSZ`, as the run says.
    pub created: Option<String>,
    /// The data was made up, not recorded from real processes.
    pub made_data: bool,
    /// The commit that the run says it was made from.
    pub source_head: Option<String>,
    /// The matrix, where it is in the tree.
    pub spec: Option<String>,
    /// Files outside the run's folder that belong with it: matrix, protocol, source snapshot. Sorted.
    pub companions: Vec<String>,
    /// The JSON documents of source snapshots that bind this run to its sources. Sorted.
    pub source_snapshots: Vec<String>,
    /// The sources that the run recorded, from the tree's root, with their digests.
    pub sources: BTreeMap<String, Sha256>,
    /// Sources that the run recorded and that are not in the tree; in a living project also those that are others
    /// there today. Sorted.
    pub sources_absent: Vec<String>,
    /// How the run is bound to its sources.
    pub binding: SourceBinding,
    /// The cases, in the matrix's order.
    pub cases: Vec<CaseRow>,
    /// Files named and not there, as disclosed. Sorted by path.
    pub absent: Vec<Absent>,
    /// Files named and not there that nothing discloses: a finding each. Sorted.
    pub undisclosed: Vec<String>,
    /// Files whose recorded digest is that of a private original. Sorted.
    pub not_recheckable: Vec<String>,
    /// What the report rests on and nobody can recompute from the tree.
    pub assertions: Vec<String>,
    /// What is wrong.
    pub findings: Findings,
}

/// Says which layout the folder `run` of the tree has.
///
/// # Errors
/// A folder that is no run, or could be both kinds.
pub fn detect(inventory: &Inventory, run: &str) -> Result<Kind, Error> {
    let has = |name: &str| inventory.file(&format!("{run}/{name}")).is_some();
    match (has("run.json"), has("results.jsonl") && has("provenance.json")) {
        (true, false) => Ok(Kind::Own),
        (false, true) => Ok(Kind::Historical),
        (true, true) | (false, false) => Err(Error::Usage(format!(
            "{} in {} is not a run folder: one holds either run.json, or results.jsonl and provenance.json",
            document::shown(run),
            inventory.path().display()
        ))),
    }
}

/// Whether the file `path` of the tree is the head of a run of exhibit's own format, of any version.
///
/// # Errors
/// What can't be read from disk.
pub fn is_head(inventory: &Inventory, path: &str, limits: &Limits) -> Result<bool, Error> {
    match inventory.file(path) {
        Some((file, _)) if file.size <= limits.max_document => {
            let bytes = inventory.read(path, limits.max_document)?;
            let format = crate::json::check_format(bytes.as_slice(), limits.max_depth).ok().flatten();
            Ok(format.is_some_and(|format| format.starts_with("exhibit-run/")))
        }
        Some(_) | None => Ok(false),
    }
}

/// Whether a run says that its data was made up, without reading the rest of it. A head that can't be read says nothing.
///
/// # Errors
/// What can't be read from disk.
pub fn says_made_data(inventory: &Inventory, run: &str, limits: &Limits) -> Result<bool, Error> {
    let head = format!("{run}/run.json");
    match inventory.file(&head) {
        Some((file, _)) if file.size <= limits.max_document => {
            Ok(own::says_made_data(&inventory.read(&head, limits.max_document)?, limits))
        }
        Some(_) | None => Ok(false),
    }
}

/// Reads a run and holds its documents against each other, its matrix and its files.
///
/// # Errors
/// A folder that is no run, a format from the future, and what can't be read.
pub fn load(inventory: &Inventory, request: &Request<'_>, limits: &Limits) -> Result<RunReport, Error> {
    for path in [Some(request.run), request.spec].into_iter().flatten() {
        EntryName::new(path).map_err(|fault| {
            Error::Usage(format!("the path {:?} {fault}: give it from the tree's root", document::shown(path)))
        })?;
    }
    match detect(inventory, request.run)? {
        Kind::Own => own::load(inventory, request, limits),
        Kind::Historical => historical::load(inventory, request, limits),
    }
}

/// The last part of a path.
fn last_part(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

/// A name in the folder of `path`.
fn beside(path: &str, name: &str) -> String {
    path.rsplit_once('/').map_or_else(|| name.to_owned(), |(folder, _)| format!("{folder}/{name}"))
}
