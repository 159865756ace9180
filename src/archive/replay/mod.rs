//! Owns replaying: from the files of a run, or from loose transcripts, to what each case decides.
//!
//! Refuses to start anything, and to take what a run says of itself for what its transcripts and databases show.
//! Invariant: everything that a verdict rests on and that no file shows is listed as an assertion.

mod case;
mod given;
mod keys;
mod loose;
mod run;

use std::collections::{BTreeMap, BTreeSet};

use crate::dialect::Dialect;
use crate::finding::Finding;
use crate::history::History;
use crate::judge::{Judged, Standing};
use crate::ledger::Ask;
use crate::replay::{Decision, Effect};
use crate::run::matrix::{MatrixCase, Outcome};

pub use given::{Given, replay};
pub use keys::Keys;
pub use loose::{Loose, loose};
pub(super) use run::is_error;
pub use run::{RunRequest, run};

/// A run that was replayed, or the transcripts that were given loose.
#[derive(Debug, Clone)]
pub struct Replayed {
    /// The run's folder from the tree's root; empty for loose transcripts.
    pub run: String,
    /// The matrix by whose schedule it was judged; none for loose transcripts.
    pub matrix: Option<String>,
    /// The dialect by which the wire was read.
    pub dialect: String,
    /// Requests name an operation. If not, no claim of at most once is possible.
    pub has_operations: bool,
    /// In the matrix's order; one for loose transcripts.
    pub cases: Vec<ReplayedCase>,
    /// Which outcomes the transcripts ever showed.
    pub coverage: BTreeSet<Outcome>,
    /// What is wrong with the run as a whole.
    pub findings: Vec<Finding>,
}

/// A case, or all loose transcripts.
#[derive(Debug, Clone)]
pub struct ReplayedCase {
    /// Its id in the matrix; empty for loose transcripts.
    pub id: String,
    /// Its name in the matrix; empty for loose transcripts.
    pub name: String,
    /// The transcripts, as [`crate::history::At::file`] counts them.
    pub files: Vec<String>,
    /// The database that shows the store at the end.
    pub database: Option<Database>,
    /// What was sent and read.
    pub history: History,
    /// What deciding it gave; none where the transcripts could not be read, or the case was not run.
    pub decision: Option<Decision>,
    /// What the matrix schedules and expects; none for loose transcripts.
    pub schedule: Option<MatrixCase>,
    /// How it ended. Without a matrix: pass is explained, fail is contradicted.
    pub standing: Standing,
    /// The matrix's expectations, in its order.
    pub expectations: Vec<Judged>,
    /// What is wrong: with the transcripts, the database, the semantics, the expectations, the recorded facts.
    pub findings: Vec<Finding>,
    /// For each lost write whose effect stays open: the request that asks for its status, as a line to send. By the
    /// number of the call.
    pub asks: BTreeMap<u32, String>,
    /// What is missing, a sentence each.
    pub missing: Vec<String>,
    /// What the verdict rests on and can't recompute, a sentence each.
    pub assertions: Vec<String>,
}

/// The database of a case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Database {
    /// Its name.
    pub name: String,
    /// It was taken after the last writer had ended.
    pub is_final: bool,
    /// A transaction that was under way was undone in a private copy.
    pub rolled_back: bool,
}

/// What is said of a database that a transaction was undone in.
const ROLLED_BACK: &str = "a transaction was under way when the database was copied: it was undone in a private copy, as SQLite \
     would, and the rows are those before it";

/// The status requests that could settle what a decision leaves open.
fn asks(decision: &Decision, history: &History, dialect: &Dialect) -> BTreeMap<u32, String> {
    let open = decision.lost.iter().filter(|lost| lost.effect == Effect::May);
    open.filter_map(|lost| {
        let call = history.calls.get(lost.call as usize)?;
        match &call.ask {
            Ask::Write(write) => Some((lost.call, dialect.status_request(&write.operation)?)),
            Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
        }
    })
    .collect()
}
