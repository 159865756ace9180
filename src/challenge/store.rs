//! Owns the places where the rows at the end can be forged.
//!
//! Refuses places where the change could have been honest. Invariant: a place changes rows only, but where it says that
//! the replies follow.

use super::edit;
use super::seen::{Place, Places, Seen, other_result, place};
use crate::ledger::{Event, Issue, OperationState, Rows};
use crate::name::escape;
use crate::run::matrix::Expectation;

fn change<'a>(what: String, change: impl FnOnce(&mut Rows) + 'a) -> Place<'a> {
    place(what, move |history| {
        if let Some(rows) = edit::rows_mut(history) {
            change(rows);
        }
    })
}

fn row_name(operation: &str) -> String {
    format!("the row of operation {}", escape(operation.as_bytes()))
}

/// Whether the matrix counts rows by their effect.
fn counts_effects(seen: Seen<'_>) -> bool {
    seen.case.expectations.iter().any(|expectation| match expectation {
        Expectation::Count(count) => ["effect_id", "id"].iter().any(|column| count.columns.contains_key(*column)),
        Expectation::Reply(_) | Expectation::Status(_) | Expectation::Absent(_) | Expectation::Exit(_) => false,
    })
}

/// Another effect in the rows alone is seen by a reply that told it, or by ids that leave no gap.
pub(super) fn effect_in_rows(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let found = seen
        .bound_rows()
        .filter(move |(_, row, _)| seen.is_told(&row.operation, None) || seen.ids_tell() || counts_effects(seen));
    Box::new(found.map(move |(_, row, effect)| {
        let what = format!("{} and its effect have id {next}", row_name(&row.operation));
        place(what, move |history| edit::renumber_rows(history, effect, next))
    }))
}

/// Another effect in all that tells it is honest, unless ids leave no gap or the matrix counts by them.
pub(super) fn effect_everywhere(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let found = seen.bound_rows().filter(move |_| seen.ids_tell() || counts_effects(seen));
    Box::new(found.map(move |(_, row, effect)| {
        let what = format!("{}, its effect and all replies have id {next}", row_name(&row.operation));
        place(what, move |history| {
            edit::renumber_replies(history, effect, next);
            edit::renumber_rows(history, effect, next);
        })
    }))
}

/// Another result in a row is seen by a reply that told it.
pub(super) fn stored_result(seen: Seen<'_>) -> Places<'_> {
    let found = seen.bound_rows().filter(move |(_, row, _)| seen.is_told(&row.operation, None));
    Box::new(found.filter_map(move |(index, row, _)| {
        let result = other_result(row.result.as_deref()?);
        Some(change(format!("{} has the result {result:?}", row_name(&row.operation)), move |rows| {
            rows.operations.get_mut(index).into_iter().for_each(|row| row.result = Some(result.clone().into()));
        }))
    }))
}

/// All that an operation left. A lost write that left nothing may never have come, and what is told may be missing from
/// rows that were read too early.
pub(super) fn tombstone_gone(seen: Seen<'_>) -> Places<'_> {
    let found = seen.bound_rows().filter(move |(_, row, _)| seen.is_final() && seen.is_told(&row.operation, None));
    Box::new(found.map(move |(_, row, effect)| {
        let id = edit::signed(effect);
        change(format!("{} is gone with all that it left", row_name(&row.operation)), move |rows| {
            rows.operations.retain(|one| one != row);
            rows.issues.retain(|issue| issue.id != id);
            rows.watchers.retain(|watcher| watcher.issue != id);
            rows.compensations.retain(|one| one.issue != id);
            rows.events.retain(|event| event.operation != row.operation);
        })
    }))
}

/// Row and issue commit together, so that no moment shows one alone.
pub(super) fn row_without_issue(seen: Seen<'_>) -> Places<'_> {
    let has_issue = move |id| seen.rows().is_some_and(|rows| rows.issues.iter().any(|issue| issue.id == id));
    let found = seen.bound_rows().filter(move |(_, _, effect)| has_issue(edit::signed(*effect)));
    Box::new(found.map(move |(_, row, effect)| {
        let id = edit::signed(effect);
        change(format!("{} has lost its issue {id}", row_name(&row.operation)), move |rows| {
            rows.issues.retain(|issue| issue.id != id);
        })
    }))
}

/// As [`row_without_issue`].
pub(super) fn issue_without_row(seen: Seen<'_>) -> Places<'_> {
    Box::new(seen.bound_rows().map(move |(index, row, effect)| {
        change(format!("issue {effect} has lost {}", row_name(&row.operation)), move |rows| {
            if index < rows.operations.len() {
                rows.operations.remove(index);
            }
        })
    }))
}

/// No effect is without an operation.
pub(super) fn extra_issue(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    Box::new(seen.rows().into_iter().map(move |_| {
        let issue: Issue = seen.issue(next);
        change(format!("there is one more issue, {next}"), move |rows| {
            rows.issues.push(issue);
            rows.issues.sort();
        })
    }))
}

/// Another principal's row is seen by the reply that told the effect to its own.
pub(super) fn row_of_another(seen: Seen<'_>) -> Places<'_> {
    let found = seen.bound_rows().filter(move |(_, row, _)| seen.is_told(&row.operation, None));
    Box::new(found.map(move |(index, row, _)| {
        let others = seen.history.processes.iter().map(|process| &*process.principal);
        let other = others.filter(|name| **name != *row.principal).min().unwrap_or("another");
        let what = format!("{} is of principal {}", row_name(&row.operation), escape(other.as_bytes()));
        change(what, move |rows| {
            rows.operations.get_mut(index).into_iter().for_each(|row| other.clone_into(&mut row.principal));
            rows.operations.sort();
        })
    }))
}

/// The events of operations that are complete, with their places. What is begun may have stopped at any step, so that a
/// missing last event would be honest.
fn complete(seen: Seen<'_>) -> impl Iterator<Item = (usize, &Event)> {
    let is_complete = move |event: &Event| {
        seen.bound_rows().any(|(_, row, _)| {
            row.operation == event.operation
                && matches!(row.state, Some(OperationState::Applied | OperationState::Partial))
        })
    };
    let events = seen.rows().into_iter().flat_map(|rows| rows.events.iter().enumerate());
    events.filter(move |(_, event)| is_complete(event))
}

fn event_name(event: &Event) -> String {
    let [operation, step, outcome] =
        [&event.operation, &event.step, &event.outcome].map(|text| escape(text.as_bytes()));
    format!("the event {step} {outcome} of operation {operation}")
}

/// Each step is done once: an event or a compensation more is one too many.
pub(super) fn step_repeated(seen: Seen<'_>) -> Places<'_> {
    let events = complete(seen).map(|(_, event)| {
        change(format!("{} stands again at the end", event_name(event)), move |rows| rows.events.push(event.clone()))
    });
    let compensations = seen.rows().into_iter().flat_map(|rows| &rows.compensations).map(|one| {
        let what = format!("the compensation {} of issue {} stands again", escape(one.kind.as_bytes()), one.issue);
        change(what, move |rows| rows.compensations.push(one.clone()))
    });
    Box::new(events.chain(compensations))
}

/// See [`complete`].
pub(super) fn event_missing(seen: Seen<'_>) -> Places<'_> {
    Box::new(complete(seen).map(|(index, event)| {
        change(format!("{} is missing", event_name(event)), move |rows| drop(rows.events.remove(index)))
    }))
}

/// Events of two operations may come in either order; those of one may not, unless they are alike.
pub(super) fn event_reordered(seen: Seen<'_>) -> Places<'_> {
    let next = move |index: usize| seen.rows().and_then(|rows| rows.events.get(index.saturating_add(1)));
    let found = complete(seen).filter(move |(index, event)| {
        next(*index).is_some_and(|next| next != *event && next.operation == event.operation)
    });
    Box::new(found.map(|(index, event)| {
        change(format!("{} comes after the next one", event_name(event)), move |rows| {
            rows.events.swap(index, index.saturating_add(1));
        })
    }))
}

/// A compensation that events record has its row: both commit together.
pub(super) fn compensation_missing(seen: Seen<'_>) -> Places<'_> {
    let all = seen.rows().into_iter().flat_map(|rows| rows.compensations.iter().enumerate());
    Box::new(all.map(|(index, one)| {
        let what = format!("the compensation {} of issue {} is missing", escape(one.kind.as_bytes()), one.issue);
        change(what, move |rows| drop(rows.compensations.remove(index)))
    }))
}
