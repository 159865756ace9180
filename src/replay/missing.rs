//! Owns what is missing where a verdict hangs on it: clocks, deadlines, states that can't be compared.
//!
//! Refuses nothing. Invariant: a sentence names the operation, and what would settle it.

use std::collections::BTreeSet;

use super::cell::{Seen, Sight, examine};
use super::problem::{Entry, Problem};
use crate::ledger::{Ask, Sameness};
use crate::name::escape;

/// Sentences that are told, at most.
const MAX_SHOWN: usize = 20;

/// Whether nothing is open that a verdict could hang on.
pub(super) fn is_settled(problem: &Problem<'_>) -> bool {
    problem.entries.iter().all(|entry| !has_open_clock(entry) && !has_open_state(problem, entry))
}

fn has_open_clock(entry: &Entry<'_>) -> bool {
    entry.seen.iter().any(|seen| seen.demand.open || seen.demand.commits.is_none())
}

/// Whether there are states, or principals, of which it isn't known whether they are the same.
fn has_open_state(problem: &Problem<'_>, entry: &Entry<'_>) -> bool {
    let state = |seen: &Seen<'_>| match &seen.call.ask {
        Ask::Write(write) => Some(write.parts.state),
        Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
    };
    let mut states: Vec<_> = entry.seen.iter().filter_map(state).collect();
    states.sort_unstable();
    states.dedup();
    let principal = |seen: &Seen<'_>| {
        problem.history.processes.get(seen.call.process as usize).map_or("", |process| &*process.principal)
    };
    let principals: BTreeSet<&str> = entry.seen.iter().map(principal).collect();
    if principals.len() > 1 && principals.contains("") {
        return true;
    }
    // Neighbours are enough: states that may be the same differ in their tokens, and one open pair is all that is asked.
    states.iter().enumerate().any(|(index, a)| {
        states.iter().skip(index.saturating_add(1)).take(MAX_COMPARED).any(|b| a.sameness(*b) == Sameness::Open)
    }) || states.len() > MAX_COMPARED
}

/// States of one operation that are compared with each other; with more, they count as open.
const MAX_COMPARED: usize = 1_000;

/// What is missing.
pub(super) fn sentences(problem: &Problem<'_>) -> Vec<String> {
    let mut sentences = BTreeSet::new();
    for entry in &problem.entries {
        if examine(problem.history, &entry.seen, entry.end, Sight::Strict).is_ok() && !has_open_clock(entry) {
            continue;
        }
        let about = escape(entry.operation.as_bytes());
        if has_open_clock(entry) {
            sentences.insert(format!(
                "the clocks of the processes, and the deadlines that the states of operation {about} carry: a matrix gives them"
            ));
        }
        if has_open_state(problem, entry) {
            sentences.insert(format!(
                "whether the states and principals of operation {about} are the same: the key of the states tells (--state-key)"
            ));
        }
        if sentences.len() >= MAX_SHOWN {
            break;
        }
    }
    if sentences.is_empty() {
        sentences.insert(
            "whether states and principals that can't be read are the same: the key of the states tells (--state-key)"
                .to_owned(),
        );
    }
    sentences.into_iter().collect()
}

/// There was too much to try.
pub(super) fn too_large(problem: &Problem<'_>, number: usize) -> String {
    let operation = problem.entries.get(number).map_or("", |entry| entry.operation);
    let about = escape(operation.as_bytes());
    let calls: Vec<String> = problem
        .entries
        .get(number)
        .into_iter()
        .flat_map(|entry| &entry.seen)
        .filter(|seen| super::lost::is_lost(seen.call))
        .map(|seen| format!("line {}", seen.call.request.line))
        .take(8)
        .collect();
    format!(
        "which attempt on operation {about} took effect ({}): a database of the end, or one order over all frames, tells",
        calls.join(", ")
    )
}
