//! Owns histories: the calls of a run with all that is known of their order and context.
//!
//! Refuses to order what nothing orders. Invariant: a history says what was sent and read, by whom and when; whether a
//! ledger could have done that is not decided here.

mod build;
mod stored;

use crate::ledger::{Ask, Rows, Told};

pub use crate::ledger::EffectIds;
pub use build::{Built, Context, Fit, Open, Source, fit, of_transcripts};
pub use stored::{Difference, Stored};

/// The calls on one store, from its start to the last that is known of it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct History {
    /// The processes that served the store.
    pub processes: Vec<Process>,
    /// The calls, in the order of connections and, within one, of their sending.
    pub calls: Vec<Call>,
    /// The store at the end, where a database shows it, or only parts of it.
    pub end: Option<Snapshot>,
    /// What ids effects get.
    pub ids: EffectIds,
    /// Whether the store held nothing at the start.
    pub starts_empty: bool,
    /// The SDK refuses a state under other arguments than it was issued for.
    pub binds_arguments: bool,
    /// One order over all frames: [`Call::sent`] and [`Call::received`] compare across connections.
    pub is_ordered: bool,
}

/// A server process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its name in the schedule.
    pub name: Box<str>,
    /// Processes of an earlier phase have ended before those of a later one start.
    pub phase: u32,
    /// Whom it serves.
    pub principal: Box<str>,
    /// The backend that it is configured for.
    pub backend: Box<str>,
    /// What its clock says throughout; none where that isn't known.
    pub clock: Option<i64>,
    /// Its exit code, negative for a signal; none where it isn't known.
    pub exit: Option<i32>,
    /// When its end was seen, in the order of frames, where it is known.
    pub ended: Option<u64>,
}

/// A request with what became of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Which of [`History::processes`].
    pub process: u32,
    /// The connection; connections are numbered over the whole history.
    pub connection: u32,
    /// The request's id, as JSON.
    pub id: Box<str>,
    /// What it asks.
    pub ask: Ask,
    /// What was answered; none where the reply is lost.
    pub told: Option<Told>,
    /// When it was sent: comparable within a connection, and over all where [`History::is_ordered`].
    pub sent: u64,
    /// When the reply was read, on the same scale; none where it is lost.
    pub received: Option<u64>,
    /// The request's line.
    pub request: At,
    /// The reply's line.
    pub reply: Option<At>,
}

/// A line of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct At {
    /// Which of the transcripts.
    pub file: u32,
    /// From 1.
    pub line: u64,
}

/// A store as a database shows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Snapshot {
    /// Its tables.
    pub rows: Rows,
    /// Whether it was taken after the last writer had ended. If not, what it lacks may have come later.
    pub is_final: bool,
}
