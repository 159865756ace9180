//! Owns rows by themselves: whether a database's tables can be what a correct ledger leaves, whoever called it.
//!
//! Refuses rows without their effect, effects without their row, and steps that were repeated, left out or out of order.
//! Invariant: what is said here holds for every history.

use std::collections::{BTreeMap, BTreeSet};

use super::Contradiction;
use crate::finding::Code;
use crate::ledger::consumer::{is_applied_result, is_partial_result};
use crate::ledger::{Event, Operation, OperationState, Rows};
use crate::name::escape;

/// Faults that are told, at most.
const MAX_SHOWN: usize = 100;

/// What of the rows can't be.
pub(super) fn faults(rows: &Rows) -> Vec<Contradiction> {
    let mut found = Vec::new();
    operations(rows, &mut found);
    issues(rows, &mut found);
    steps(rows, &mut found);
    found.truncate(MAX_SHOWN);
    found
}

fn fault(code: Code, message: String, expected: impl Into<String>, observed: impl Into<String>) -> Contradiction {
    Contradiction {
        code,
        call: None,
        shown_by: Vec::new(),
        message,
        expected: expected.into(),
        observed: observed.into(),
    }
}

fn name(row: &Operation) -> String {
    format!("the row of operation {}", escape(row.operation.as_bytes()))
}

fn id_of(row: &Operation) -> Option<u64> {
    row.effect.and_then(|id| u64::try_from(id).ok()).filter(|id| *id > 0)
}

fn operations(rows: &Rows, found: &mut Vec<Contradiction>) {
    let mut names: BTreeSet<&str> = BTreeSet::new();
    let mut ids: BTreeMap<i64, &Operation> = BTreeMap::new();
    for row in &rows.operations {
        let about = name(row);
        if !names.insert(&row.operation) {
            let message = format!("{about} stands there twice, for two principals or backends");
            found.push(fault(Code::ReplayRow, message, "one row", "several"));
        }
        if rows.backend.as_deref().is_some_and(|backend| backend != row.backend) {
            let message = format!("{about} is of another backend than the store");
            let backend = rows.backend.as_deref().unwrap_or_default();
            found.push(fault(Code::ReplayRow, message, escape(backend.as_bytes()), escape(row.backend.as_bytes())));
        }
        let Some(id) = id_of(row) else {
            let message = format!("{about} has no effect, and row and effect are committed together");
            found.push(fault(Code::ReplayRow, message, "an effect id", format!("{:?}", row.effect)));
            continue;
        };
        if let Some(other) = ids.insert(row.effect.unwrap_or_default(), row) {
            let message = format!("{about} has the effect of operation {}", escape(other.operation.as_bytes()));
            found.push(fault(Code::ReplayEffect, message, "an effect of its own", format!("effect {id}")));
        }
        result(row, id, found);
    }
}

fn result(row: &Operation, id: u64, found: &mut Vec<Contradiction>) {
    let text = row.result.as_deref();
    let (fits, expected) = match row.state {
        Some(OperationState::Applied) => (
            text.is_some_and(|text| is_applied_result(text, id)),
            format!("created {id}, or created {id} with watcher"),
        ),
        Some(OperationState::Partial) => {
            (text.is_some_and(|text| is_partial_result(text, id)), format!("partial {id}; watcher failed; rollback …"))
        }
        Some(OperationState::InProgress) => (text.is_none(), "no result yet".to_owned()),
        None => (false, "one of in_progress, applied, partial".to_owned()),
    };
    if !fits {
        let message = format!("{} has a result that doesn't fit its state and effect", name(row));
        let observed = text.map_or_else(|| "none".to_owned(), |text| escape(text.as_bytes()));
        found.push(fault(Code::ReplayRow, message, expected, observed));
    }
}

fn issues(rows: &Rows, found: &mut Vec<Contradiction>) {
    let effects: BTreeSet<i64> = rows.operations.iter().filter_map(|row| row.effect).collect();
    let issues: BTreeSet<i64> = rows.issues.iter().map(|issue| issue.id).collect();
    for row in &rows.operations {
        if let Some(id) = row.effect.filter(|id| !issues.contains(id)) {
            let message = format!("{} has an effect of which there is no issue", name(row));
            found.push(fault(Code::ReplayIssue, message, format!("issue {id}"), "none"));
        }
    }
    for id in issues.difference(&effects) {
        let message = format!("issue {id} is the effect of no row");
        found.push(fault(Code::ReplayIssue, message, "a row with this effect", "none"));
    }
}

/// The step that may fail, and the one that undoes.
const WATCHER: &str = "watcher";
const ROLLBACK: &str = "rollback_issue";

/// What the steps of one operation left.
struct Left<'r> {
    events: Vec<&'r Event>,
    watchers: usize,
    /// Kind and outcome.
    compensations: Vec<(&'r str, &'r str)>,
}

fn steps(rows: &Rows, found: &mut Vec<Contradiction>) {
    let mut by_name: BTreeMap<&str, Left<'_>> = BTreeMap::new();
    let mut by_effect: BTreeMap<i64, &str> = BTreeMap::new();
    for row in &rows.operations {
        by_name.insert(&row.operation, Left { events: Vec::new(), watchers: 0, compensations: Vec::new() });
        by_effect.extend(row.effect.map(|id| (id, row.operation.as_str())));
    }
    for event in &rows.events {
        match by_name.get_mut(event.operation.as_str()) {
            Some(left) => left.events.push(event),
            None => {
                let message =
                    format!("a step of operation {} is recorded, which has no row", escape(event.operation.as_bytes()));
                found.push(fault(Code::ReplayEvent, message, "a row", "none"));
            }
        }
    }
    let of_effect = |id: i64| by_effect.get(&id).copied();
    for watcher in &rows.watchers {
        match of_effect(watcher.issue).and_then(|name| by_name.get_mut(name)) {
            Some(left) => left.watchers = left.watchers.saturating_add(1),
            None => found.push(stray("watcher", watcher.issue)),
        }
    }
    for compensation in &rows.compensations {
        match of_effect(compensation.issue).and_then(|name| by_name.get_mut(name)) {
            Some(left) => left.compensations.push((&compensation.kind, &compensation.outcome)),
            None => found.push(stray("compensation", compensation.issue)),
        }
    }
    for row in &rows.operations {
        if let Some(left) = by_name.get(row.operation.as_str()) {
            found.extend(disorder(row, left));
        }
    }
}

fn stray(what: &str, issue: i64) -> Contradiction {
    let message = format!("a {what} is of issue {issue}, which is no operation's effect");
    fault(Code::ReplayEvent, message, "an operation with that effect", "none")
}

/// What of an operation's steps doesn't fit its row.
fn disorder(row: &Operation, left: &Left<'_>) -> Option<Contradiction> {
    let has_watcher = row.result.as_deref().is_some_and(|result| result.ends_with(" with watcher"));
    let rolled_back = row.result.as_deref().is_some_and(|result| result.ends_with("rollback succeeded"));
    let end = if rolled_back { "succeeded" } else { "failed" };
    let all: [(&str, &str); 4] =
        [(WATCHER, "attempted"), (WATCHER, "failed"), (ROLLBACK, "attempted"), (ROLLBACK, end)];
    let done: Vec<(&str, &str)> =
        left.events.iter().map(|event| (event.step.as_str(), event.outcome.as_str())).collect();
    let fits = match row.state {
        Some(OperationState::Applied) if has_watcher => done == [(WATCHER, "attempted"), (WATCHER, "succeeded")],
        Some(OperationState::Applied) | None => done.is_empty(),
        Some(OperationState::Partial) => done == all,
        // The end of the steps and of the row come in one commit.
        Some(OperationState::InProgress) => done.len() < all.len() && all.starts_with(&done),
    };
    if !fits {
        let message =
            format!("the steps of operation {} are not those that its row tells of", escape(row.operation.as_bytes()));
        let words = |steps: &[(&str, &str)]| {
            let words: Vec<String> =
                steps.iter().map(|(step, outcome)| escape(format!("{step} {outcome}").as_bytes())).collect();
            if words.is_empty() { "none".to_owned() } else { words.join(", ") }
        };
        let expected = match row.state {
            Some(OperationState::Applied) if has_watcher => words(&[(WATCHER, "attempted"), (WATCHER, "succeeded")]),
            Some(OperationState::Applied) | None => words(&[]),
            Some(OperationState::Partial) => words(&all),
            Some(OperationState::InProgress) => format!("a beginning of: {}", words(&all)),
        };
        return Some(fault(Code::ReplayEvent, message, expected, words(&done)));
    }
    let watchers = usize::from(has_watcher);
    if left.watchers != watchers {
        let message = format!("{} tells of {watchers} watchers", name(row));
        return Some(fault(Code::ReplayEvent, message, watchers.to_string(), left.watchers.to_string()));
    }
    compensated(row, left)
}

/// The compensation is there exactly if it was tried to its end, and its outcome is the result's.
fn compensated(row: &Operation, left: &Left<'_>) -> Option<Contradiction> {
    let is_partial = row.state == Some(OperationState::Partial);
    let failed = row.result.as_deref().is_some_and(|result| result.ends_with("rollback failed"));
    let fits = match left.compensations.as_slice() {
        [] => !is_partial,
        [(kind, outcome)] => {
            let is_outcome = if failed {
                outcome.strip_prefix("failed:").is_some_and(|kind| !kind.is_empty())
            } else {
                *outcome == "succeeded"
            };
            is_partial && *kind == ROLLBACK && is_outcome
        }
        [_, _, ..] => false,
    };
    if fits {
        return None;
    }
    let expected = match (is_partial, failed) {
        (false, _) => "none",
        (true, true) => "rollback_issue failed:<kind of error>",
        (true, false) => "rollback_issue succeeded",
    };
    let observed: Vec<String> =
        left.compensations.iter().map(|(kind, outcome)| escape(format!("{kind} {outcome}").as_bytes())).collect();
    let observed = if observed.is_empty() { "none".to_owned() } else { observed.join(", ") };
    let message = format!(
        "the compensation of operation {} is not the one that its row tells of",
        escape(row.operation.as_bytes())
    );
    Some(fault(Code::ReplayEvent, message, expected, observed))
}
