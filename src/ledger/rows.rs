//! Owns the rows of a ledger and its effects, as a database holds them or the model leaves them.
//!
//! Refuses nothing: rows that contradict each other are told by whoever compares them. Invariant: plain values, each list
//! in the order of its keys.

use serde::Deserialize;

use super::call::Seconds;

/// A ledger's tables.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rows {
    /// The backend that the database is bound to, where it says so.
    pub backend: Option<String>,
    /// Sorted by operation id, principal, backend.
    pub operations: Vec<Operation>,
    /// Sorted by id.
    pub issues: Vec<Issue>,
    /// Sorted by issue and name.
    pub watchers: Vec<Watcher>,
    /// In the order in which they were written, where the table keeps it; else sorted.
    pub compensations: Vec<Compensation>,
    /// In the order in which they were written.
    pub events: Vec<Event>,
}

/// An operation's row.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Operation {
    /// Operation id.
    pub operation: String,
    /// Principal.
    pub principal: String,
    /// Backend.
    pub backend: String,
    /// 64 hex digits; 64 zeros, or nothing, where it isn't known.
    pub fingerprint: Option<String>,
    /// How far it came; none for a word that is no state.
    pub state: Option<OperationState>,
    /// The effect's id.
    pub effect: Option<i64>,
    /// The stored result.
    pub result: Option<String>,
    /// Times; none where the column is null.
    pub issued_at: Option<Seconds>,
    /// See [`super::Timing`].
    pub authority_expires_at: Option<Seconds>,
    /// See [`super::Timing`].
    pub replay_expires_at: Option<Seconds>,
}

/// A row's state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum OperationState {
    /// Begun.
    InProgress,
    /// Applied.
    Applied,
    /// Applied, and a later step failed.
    Partial,
}

/// An effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Issue {
    /// Its id.
    pub id: i64,
    /// Its title.
    pub title: String,
    /// Its body.
    pub body: String,
}

/// A watcher of an effect.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Watcher {
    /// The effect.
    pub issue: i64,
    /// Its name.
    pub name: String,
}

/// A compensation that was tried.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Compensation {
    /// The effect.
    pub issue: i64,
    /// What was tried.
    pub kind: String,
    /// What came of it.
    pub outcome: String,
}

/// A step of an operation.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Event {
    /// Operation id.
    pub operation: String,
    /// The step.
    pub step: String,
    /// What came of it.
    pub outcome: String,
    /// The kind of error, where there was one.
    pub error: Option<String>,
}

/// What ids effects get.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EffectIds {
    /// 1, 2, 3 and so on without a gap, from an empty store.
    Dense,
    /// Later ones are greater.
    Increasing,
    /// They say nothing.
    #[default]
    Opaque,
}
