//! Owns deciding whether a correct ledger could have produced a history, and what each lost reply means.
//!
//! Refuses to guess: what the history leaves open stays open. Invariant: a verdict names the calls and rows that it rests
//! on.

mod cell;
mod choice;
mod decide;
mod graph;
mod ids;
mod lost;
mod missing;
mod need;
mod problem;
mod reason;
mod rows;
mod solve;
mod telling;
mod unordered;
mod window;
mod witness;

use std::sync::Arc;

use crate::finding::Code;

pub use decide::decide;
pub use telling::told as told_in_words;

/// What deciding a history gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// How it was decided.
    pub class: Class,
    /// What came of it.
    pub verdict: Verdict,
    /// Every lost or unrecognized reply of a write, in the order of calls.
    pub lost: Vec<Lost>,
}

/// How a history was decided.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Class {
    /// One order over all frames: windows for each operation id, and matching of effect ids to gaps. Exact.
    Ordered,
    /// No such order, and in each operation one possible winner, or winners that nothing tells apart: the graph of events
    /// fired forward. Exact.
    Forward,
    /// No such order, and several possible winners: a search within a bound.
    Searched,
}

/// Whether a correct ledger could have produced a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// It could: the calls in an order in which it would have answered so. Lost ones that took no effect are left out.
    Explained {
        /// Numbers of calls.
        order: Vec<u32>,
    },
    /// It could not: at least one reason, the earliest first, each of an operation or of several that hang together.
    Contradicted(Vec<Contradiction>),
    /// That hangs on something that is missing.
    Undecided {
        /// What is missing, a sentence each.
        missing: Vec<String>,
    },
}

/// Why no correct ledger could have produced a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Contradiction {
    /// The rule that is broken.
    pub code: Code,
    /// The first reply that nothing explains; none where it is a row.
    pub call: Option<u32>,
    /// The smallest set of calls that shows it, with that one, in their order.
    pub shown_by: Vec<u32>,
    /// One sentence.
    pub message: String,
    /// What could have been there.
    pub expected: String,
    /// What is there.
    pub observed: String,
}

/// A lost reply of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lost {
    /// The call.
    pub call: u32,
    /// Whether it took effect.
    pub effect: Effect,
    /// Where exactly one of several took effect: all of them, this one too. All of them share one list.
    pub one_of: Arc<[u32]>,
    /// The calls that prove it.
    pub proof: Vec<u32>,
    /// One sentence: why.
    pub why: String,
}

/// Whether a lost write took effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Effect {
    /// It must have.
    Must,
    /// It may have.
    May,
    /// It can't have.
    Cannot,
}
