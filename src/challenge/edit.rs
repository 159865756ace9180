//! Owns changing a history so that it still hangs together: calls come and go, effects get other ids, and what refers to
//! them follows.
//!
//! Refuses to ask what a change means. Invariant: after an edit each state names the call that issued it, times rise
//! within a connection, and rows are sorted.

use crate::history::{Call, History, Process};
use crate::ledger::{Ask, Operation, OperationState, Outcome, Rows, Timing, Told};

/// Times and lines that a request with its reply takes.
const STEP: u64 = 2;

/// The call with this number.
pub(super) fn call_mut(history: &mut History, number: u32) -> Option<&mut Call> {
    usize::try_from(number).ok().and_then(|index| history.calls.get_mut(index))
}

/// Puts another reply in the place of a call's.
pub(super) fn tell(history: &mut History, number: u32, told: Told) {
    if let Some(call) = call_mut(history, number) {
        call.told = Some(told);
    }
}

/// Changes what a reply tells of an effect.
pub(super) fn change_effect(history: &mut History, number: u32, change: impl FnOnce(&mut Outcome)) {
    if let Some(Told::Effect(outcome)) = call_mut(history, number).and_then(|call| call.told.as_mut()) {
        change(outcome);
    }
}

/// The rows at the end, where they are known.
pub(super) fn rows_mut(history: &mut History) -> Option<&mut Rows> {
    history.end.as_mut().map(|end| &mut end.rows)
}

/// Puts a call with its reply right after another, on that one's connection, and gives its number. All that came later
/// comes later still.
pub(super) fn insert_after(history: &mut History, number: u32, ask: Ask, told: Option<Told>) -> Option<u32> {
    let index = usize::try_from(number).ok()?;
    let before = history.calls.get(index)?.clone();
    let (time, line) = (before.received.unwrap_or(before.sent), before.reply.unwrap_or(before.request).line);
    let is_ordered = history.is_ordered;
    let later = |at: u64, than: u64| if at > than { at.saturating_add(STEP) } else { at };
    for call in &mut history.calls {
        if is_ordered || call.connection == before.connection {
            call.sent = later(call.sent, time);
            call.received = call.received.map(|at| later(at, time));
        }
        for at in [Some(&mut call.request), call.reply.as_mut()].into_iter().flatten() {
            if at.file == before.request.file {
                at.line = later(at.line, line);
            }
        }
    }
    for (place, process) in (0_u32..).zip(&mut history.processes) {
        if is_ordered || place == before.process {
            process.ended = process.ended.map(|at| later(at, time));
        }
    }
    let place = number.saturating_add(1);
    refer(history, |issued| if issued >= place { issued.saturating_add(1) } else { issued });
    let mut request = before.request;
    request.line = line.saturating_add(1);
    let mut reply = request;
    reply.line = line.saturating_add(STEP);
    let is_told = told.is_some();
    let call = Call {
        ask,
        told,
        sent: time.saturating_add(1),
        received: is_told.then_some(time.saturating_add(STEP)),
        request,
        reply: is_told.then_some(reply),
        ..before
    };
    history.calls.insert(index.saturating_add(1), call);
    Some(place)
}

/// Moves a call with its reply to right after another, onto that one's connection.
pub(super) fn move_after(history: &mut History, number: u32, after: u32) {
    let Some(index) = usize::try_from(number).ok().filter(|index| *index < history.calls.len()) else { return };
    let call = history.calls.remove(index);
    // A state that this call issued is of nobody for the moment.
    refer(history, |issued| match issued.cmp(&number) {
        std::cmp::Ordering::Less => issued,
        std::cmp::Ordering::Equal => u32::MAX,
        std::cmp::Ordering::Greater => issued.saturating_sub(1),
    });
    let after = if after > number { after.saturating_sub(1) } else { after };
    if let Some(place) = insert_after(history, after, call.ask, call.told) {
        refer(history, |issued| if issued == u32::MAX { place } else { issued });
        // The number in the state that the call itself carries was already of the order without it.
        if let Some(Ask::Write(write)) = call_mut(history, place).map(|call| &mut call.ask) {
            let shift = |issued: u32| match issued.cmp(&number) {
                std::cmp::Ordering::Less | std::cmp::Ordering::Equal => issued,
                std::cmp::Ordering::Greater => issued.saturating_sub(1),
            };
            let move_on = |issued: u32| if issued >= place { issued.saturating_add(1) } else { issued };
            write.parts.state.issued = write.parts.state.issued.map(shift).map(move_on);
        }
    }
}

/// Changes which call each state says that it was issued by.
fn refer(history: &mut History, to: impl Fn(u32) -> u32) {
    for call in &mut history.calls {
        if let Ask::Write(write) = &mut call.ask {
            write.parts.state.issued = write.parts.state.issued.map(&to);
        }
    }
}

/// A result that names another effect.
pub(super) fn renumbered(result: &str, from: u64, to: u64) -> Box<str> {
    result.replacen(&from.to_string(), &to.to_string(), 1).into()
}

/// Gives an effect another id in every reply.
pub(super) fn renumber_replies(history: &mut History, from: u64, to: u64) {
    let (old, new) = (signed(from), signed(to));
    for call in &mut history.calls {
        match &mut call.told {
            Some(Told::Effect(outcome)) if outcome.effect == from => {
                outcome.effect = to;
                outcome.result = renumbered(&outcome.result, from, to);
            }
            Some(Told::Status(seen)) => {
                let ids = seen.ids.iter_mut().flatten().filter(|id| **id == old);
                let mut is_of = false;
                for id in ids {
                    (*id, is_of) = (new, true);
                }
                if let (true, Some(Some(result))) = (is_of, &mut seen.result) {
                    *result = renumbered(result, from, to);
                }
            }
            Some(
                Told::Effect(_)
                | Told::InputRequired { .. }
                | Told::Refused(_)
                | Told::StateRejected
                | Told::Other
                | Told::Unrecognized,
            )
            | None => {}
        }
    }
}

/// Gives an effect another id in the rows.
pub(super) fn renumber_rows(history: &mut History, from: u64, to: u64) {
    let (old, new) = (signed(from), signed(to));
    let Some(rows) = rows_mut(history) else { return };
    for row in rows.operations.iter_mut().filter(|row| row.effect == Some(old)) {
        row.effect = Some(new);
        row.result = row.result.as_deref().map(|result| renumbered(result, from, to).into());
    }
    rows.issues.iter_mut().filter(|issue| issue.id == old).for_each(|issue| issue.id = new);
    rows.watchers.iter_mut().filter(|watcher| watcher.issue == old).for_each(|watcher| watcher.issue = new);
    rows.compensations.iter_mut().filter(|one| one.issue == old).for_each(|one| one.issue = new);
    rows.operations.sort();
    rows.issues.sort();
    rows.watchers.sort();
}

/// Gives two effects each other's ids, in replies and rows.
pub(super) fn swap_effects(history: &mut History, one: u64, other: u64) {
    // An id that no database has: greater than any that fits.
    let between = u64::try_from(i64::MAX).unwrap_or(u64::MAX);
    for (from, to) in [(one, between), (other, one), (between, other)] {
        renumber_replies(history, from, to);
        renumber_rows(history, from, to);
    }
}

/// An effect id as a database has it.
pub(super) fn signed(id: u64) -> i64 {
    i64::try_from(id).unwrap_or(i64::MAX)
}

/// An applied row of a process's principal and backend.
pub(super) fn add_row(
    rows: &mut Rows,
    process: &Process,
    (operation, effect, result): (String, u64, String),
    timing: Option<Timing>,
) {
    rows.operations.push(Operation {
        operation,
        principal: process.principal.clone().into(),
        backend: process.backend.clone().into(),
        fingerprint: None,
        state: Some(OperationState::Applied),
        effect: Some(signed(effect)),
        result: Some(result),
        issued_at: timing.map(|timing| timing.issued_at),
        authority_expires_at: timing.and_then(|timing| timing.authority_expires_at),
        replay_expires_at: timing.and_then(|timing| timing.replay_expires_at),
    });
    rows.operations.sort();
}
