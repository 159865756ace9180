//! Owns reading a ledger's database with its sidecars: hostile SQLite files become plain rows.
//!
//! Refuses what SQLite would take without a word: a rollback journal whose truth lies on another disk, a journal or log of
//! which a part would be ignored, a schema that computes, a value of another type than its column should have. Invariant:
//! the files are never opened where they lie. They are copied under sibling names into a private folder that is removed
//! afterwards, recovered there as the next process of the ledger would recover them, checked whole, and only then read.

mod copy;
mod engine;
mod journal;
mod log;
mod rows;
mod schema;

use std::io::Read;
use std::path::Path;

use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::ledger::Rows;
use crate::limits::Limits;
use crate::tree::Inventory;

use copy::Copies;
use engine::Engine;
pub use journal::Journal;
pub use log::Log;

/// A file that SQLite keeps beside a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sidecar {
    /// A rollback journal.
    Journal,
    /// A write-ahead log.
    Log,
    /// The index of a write-ahead log. It is never read: SQLite makes it again.
    Index,
}

impl Sidecar {
    /// Every kind.
    pub const ALL: [Self; 3] = [Self::Journal, Self::Log, Self::Index];

    /// What follows the database's name.
    pub fn suffix(self) -> &'static str {
        match self {
            Self::Journal => "-journal",
            Self::Log => "-wal",
            Self::Index => "-shm",
        }
    }
}

/// A database and its sidecars, not read yet.
pub struct Source<'a> {
    /// The database's name, for findings.
    pub name: &'a str,
    /// Its bytes.
    pub database: Box<dyn Read + 'a>,
    /// The sidecars that are there, each kind at most once. That a declared one is missing, the caller says.
    pub sidecars: Vec<(Sidecar, Box<dyn Read + 'a>)>,
}

impl<'a> Source<'a> {
    /// The database of that name in a tree, with every sidecar that lies beside it.
    ///
    /// # Errors
    /// There is no such file, or it can't be opened.
    pub fn of(tree: &'a Inventory, name: &'a str) -> Result<Self, Error> {
        let mut sidecars = Vec::new();
        for kind in Sidecar::ALL {
            let beside = format!("{name}{}", kind.suffix());
            if tree.file(&beside).is_some() {
                sidecars.push((kind, tree.open_file(&beside)?));
            }
        }
        Ok(Self { name, database: tree.open_file(name)?, sidecars })
    }
}

/// What was read of a database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its rows; none where a rule is broken.
    pub rows: Option<Rows>,
    /// What the rollback journal was, where there is one.
    pub journal: Option<Journal>,
    /// What the write-ahead log held, where there is one.
    pub log: Option<Log>,
    /// What is wrong with it.
    pub findings: Findings,
}

impl Snapshot {
    /// Whether a transaction that was under way was undone, so that the rows are those before it.
    pub fn rolled_back(&self) -> bool {
        matches!(self.journal, Some(Journal::RolledBack { .. }))
    }
}

/// Why reading ended early.
enum Stop {
    /// A rule is broken.
    Fault(Box<Finding>),
    /// It could not be checked.
    Error(Error),
}

impl From<Error> for Stop {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A broken rule about the database of that name.
fn fault(code: Code, name: &str, message: impl Into<String>) -> Stop {
    Stop::Fault(Box::new(Finding::new(code, Place::entry(name), message)))
}

/// Reads a database. `scratch` is a folder in which a private one is made and removed again.
///
/// # Errors
/// What can't be read or copied. What is wrong with the database is a finding.
pub fn read(source: Source<'_>, scratch: &Path, limits: &Limits) -> Result<Snapshot, Error> {
    let findings = Findings::new(limits.max_findings);
    let mut snapshot = Snapshot { rows: None, journal: None, log: None, findings };
    match read_rows(source, scratch, limits, &mut snapshot) {
        Ok(rows) => snapshot.rows = snapshot.findings.none_broken().then_some(rows),
        Err(Stop::Fault(finding)) => snapshot.findings.push(*finding),
        Err(Stop::Error(error)) => return Err(error),
    }
    Ok(snapshot)
}

fn read_rows(source: Source<'_>, scratch: &Path, limits: &Limits, snapshot: &mut Snapshot) -> Result<Rows, Stop> {
    let name = source.name;
    let copies = Copies::make(source, scratch, limits)?;
    let head = copies.head()?;
    // A journal comes first: until it is rolled back, what the database's own head says may be half a transaction's.
    snapshot.journal = journal::examine(name, &copies, limits)?;
    if head.is_empty() {
        return Err(fault(Code::DatabaseSchema, name, "the database is empty, and SQLite drops any journal of it"));
    }
    let settled = !snapshot.rolled_back();
    let mode = head.mode();
    if settled && mode.is_none() {
        let message = "this is no SQLite database, or an encrypted one";
        return Err(fault(Code::DatabaseBroken, name, message));
    }
    snapshot.log = log::examine(name, &copies, limits)?;
    match (mode, snapshot.log) {
        (Some(copy::Mode::Rollback), Some(log)) if settled && log.committed > 0 => {
            let message = "a write-ahead log lies beside a database whose head says that it has none";
            return Err(fault(Code::DatabaseSidecar, name, message));
        }
        (Some(copy::Mode::WriteAhead), None) => {
            let message =
                "the database is kept with a write-ahead log, and none is there: what only the log held is unknown";
            snapshot.findings.push(Finding::new(Code::DatabaseLogAbsent, Place::entry(name), message));
        }
        (Some(copy::Mode::Rollback | copy::Mode::WriteAhead) | None, _) => {}
    }
    let engine = Engine::open(name, &copies, limits)?;
    let found = schema::examine(&engine, &mut snapshot.findings)?;
    engine.check_integrity()?;
    rows::read(&engine, &found, limits, &mut snapshot.findings)
}
