//! Owns honest variations of an honest history: a correct ledger could have produced each of them too.
//!
//! Refuses nothing. Invariant: a deciding that explains the history explains its variations; a matrix may forbid them.

use super::edit;
use super::seen::{Seen, Stored, has_effect};
use crate::history::{Call, History, Process};
use crate::ledger::{Ask, Observation, Observed, Outcome, ScopeBinding, State, Timing, Told, Write};
use crate::run::matrix::MatrixCase;

/// How many processes replay at once in the variation that adds some.
const WORKERS: u32 = 20;

/// An honest history that differs from another.
#[derive(Debug, Clone)]
pub struct Variation {
    /// What is other, in one sentence.
    pub what: String,
    /// The history.
    pub history: History,
}

/// Honest variations of an honest history, one at a time.
pub fn honest(history: &History) -> impl Iterator<Item = Variation> + '_ {
    type Change = fn(&History) -> Option<History>;
    let whole: [(&str, Change); 5] = [
        ("all operation ids are others", other_ids),
        ("titles and bodies are others", other_texts),
        ("each first round is sent twice", more_first_rounds),
        ("an operation is applied besides", another_operation),
        ("twenty processes replay at once", many_workers),
    ];
    let whole = whole
        .into_iter()
        .filter_map(move |(what, change)| change(history).map(|history| Variation { what: what.to_owned(), history }));
    whole.chain(more_statuses(history))
}

fn renamed(name: &str) -> String {
    format!("{name}-renamed")
}

fn other_ids(history: &History) -> Option<History> {
    let mut other = history.clone();
    let rename = |name: &mut Box<str>| *name = renamed(name).into();
    for call in &mut other.calls {
        match &mut call.ask {
            Ask::FirstRound { operation } | Ask::Status { operation } => rename(operation),
            Ask::Write(write) => rename(&mut write.operation),
            Ask::Other => {}
        }
        match &mut call.told {
            Some(Told::Effect(outcome)) => rename(&mut outcome.operation),
            Some(Told::Status(seen)) => {
                seen.operation.iter_mut().for_each(rename);
                seen.binding.iter_mut().filter_map(|bound| bound.operation.as_mut()).for_each(rename);
            }
            Some(
                Told::InputRequired { .. } | Told::Refused(_) | Told::StateRejected | Told::Other | Told::Unrecognized,
            )
            | None => {}
        }
    }
    if let Some(rows) = edit::rows_mut(&mut other) {
        // An operation's fingerprint binds its id through the arguments.
        rows.operations.iter_mut().for_each(|row| (row.operation, row.fingerprint) = (renamed(&row.operation), None));
        rows.events.iter_mut().for_each(|event| event.operation = renamed(&event.operation));
        rows.operations.sort();
    }
    (other != *history).then_some(other)
}

/// Texts are numbers in requests: other numbers, equal where they were equal.
fn other_texts(history: &History) -> Option<History> {
    let mut other = history.clone();
    for call in &mut other.calls {
        if let Ask::Write(write) = &mut call.ask {
            write.parts.arguments = write.parts.arguments.saturating_add(1000);
            write.parts.responses = write.parts.responses.saturating_add(1000);
        }
    }
    if let Some(rows) = edit::rows_mut(&mut other) {
        rows.issues.iter_mut().for_each(|issue| {
            (issue.title, issue.body) = (renamed(&issue.title), renamed(&issue.body));
        });
        rows.operations.iter_mut().for_each(|row| row.fingerprint = None);
    }
    (other != *history).then_some(other)
}

fn more_first_rounds(history: &History) -> Option<History> {
    let mut other = history.clone();
    let mut token = seen(history).next_token();
    // From the last on, so that the numbers of those before stay.
    for (number, call) in seen(history).calls().collect::<Vec<_>>().into_iter().rev() {
        if let (Ask::FirstRound { .. }, Some(Told::InputRequired { .. })) = (&call.ask, &call.told) {
            let told = Told::InputRequired { token: Some(token) };
            edit::insert_after(&mut other, number, call.ask.clone(), Some(told))?;
            token = token.saturating_add(1);
        }
    }
    (other != *history).then_some(other)
}

fn another_operation(history: &History) -> Option<History> {
    let seen = seen(history);
    let (of, _) = seen.effects().find(|(_, outcome)| !outcome.replayed)?;
    // Where ids leave no gap, the next one is the last: nothing may commit afterwards.
    let is_last = seen.effects().filter(|(_, outcome)| !outcome.replayed).count() == 1;
    let is_silent = |call: &Call| matches!((&call.ask, &call.told), (Ask::Write(_), None | Some(Told::Unrecognized)));
    if !is_last || history.calls.iter().any(is_silent) {
        return None;
    }
    let mut other = history.clone();
    operation_after(seen, &mut other, of.number, &of.write.operation, seen.next_effect());
    Some(other)
}

/// Two processes of one phase that sent the same, one of which was told it again: that one gets more beside it.
fn many_workers(history: &History) -> Option<History> {
    let seen = seen(history);
    let (of, _) = seen.effects().filter(|(_, outcome)| outcome.replayed).find(|(of, _)| {
        seen.effects().any(|(other, outcome)| {
            let phase = |call| seen.process(call).map(|process| process.phase);
            let is_beside = other.call.process != of.call.process && phase(other.call) == phase(of.call);
            is_beside && !outcome.replayed && other.write == of.write
        })
    })?;
    let process = seen.process(of.call)?.clone();
    let mut other = history.clone();
    let connections = history.calls.iter().map(|call| call.connection).max()?;
    // One after the other, right after the reply that was told again: the effect was there.
    let mut last = of.number;
    for more in 1..=WORKERS.saturating_sub(2) {
        last = edit::insert_after(&mut other, last, of.call.ask.clone(), of.call.told.clone())?;
        let number = u32::try_from(other.processes.len()).ok()?;
        let name = format!("{}-{more}", process.name).into();
        other.processes.push(Process { name, ..process.clone() });
        let call = edit::call_mut(&mut other, last)?;
        (call.process, call.connection) = (number, connections.saturating_add(more));
    }
    // Calls are in the order of connections.
    sort(&mut other);
    Some(other)
}

/// Brings calls back into the order of connections, and states with them.
fn sort(history: &mut History) {
    let mut order: Vec<(u32, u32)> = (0_u32..).zip(&history.calls).map(|(at, call)| (call.connection, at)).collect();
    order.sort_unstable();
    let places: std::collections::BTreeMap<u32, u32> = (0_u32..).zip(&order).map(|(to, (_, at))| (*at, to)).collect();
    history.calls.sort_by_key(|call| call.connection);
    for call in &mut history.calls {
        if let Ask::Write(write) = &mut call.ask {
            let State { issued, .. } = write.parts.state;
            write.parts.state.issued = issued.map(|at| places.get(&at).copied().unwrap_or(at));
        }
    }
}

/// A status read more, truly answered, after each reply that settles what it must say.
fn more_statuses(history: &History) -> impl Iterator<Item = Variation> + '_ {
    let seen = seen(history);
    seen.calls().filter_map(move |(number, call)| {
        let operation = match (&call.ask, &call.told) {
            (Ask::Write(write), Some(Told::Effect(_) | Told::Refused(_))) => &write.operation,
            (Ask::Status { operation }, Some(Told::Status(_))) => operation,
            (_, _) => return None,
        };
        let stored = seen.stored(operation);
        let process = seen.process(call)?;
        let is_own = stored.as_ref().is_some_and(|stored| *stored.principal == *process.principal);
        let is_shown = match &call.told {
            Some(Told::Effect(_)) => true,
            Some(Told::Status(status)) => status.state.is_some_and(has_effect),
            Some(_) | None => false,
        };
        // A principal's own operation may come between two reads, if it wasn't there at the first.
        if is_own && !is_shown {
            return None;
        }
        // An operation that is nowhere at the end may still be under way, if a reply is lost.
        if stored.is_none() && !(seen.is_final() && seen.is_alone(operation, number)) {
            return None;
        }
        let told = observation(seen, process, operation, stored.filter(|_| is_own));
        let mut history = history.clone();
        let ask = Ask::Status { operation: operation.clone() };
        edit::insert_after(&mut history, number, ask, Some(Told::Status(Box::new(told))))?;
        Some(Variation { what: format!("after {} a status is read", seen.name(call)), history })
    })
}

/// A status as a correct server gives it, in the words of one that is there.
fn observation(seen: Seen<'_>, process: &Process, operation: &str, stored: Option<Stored>) -> Observation {
    let [operation, principal, backend] =
        [operation, &process.principal, &process.backend].map(|name| Some(name.into()));
    let known = seen.statuses().next().map(|of| of.seen);
    let (state, ids, result) = match stored {
        Some(stored) => (stored.state, vec![edit::signed(stored.effect)], Some(stored.result)),
        None => (Observed::Unknown, Vec::new(), None),
    };
    let bound = ScopeBinding { operation: operation.clone(), principal: principal.clone(), backend: backend.clone() };
    Observation {
        operation,
        principal,
        backend,
        state: Some(state),
        authoritative: Some(true),
        fresh_write_authorized: Some(false),
        ids: Some(ids),
        result: Some(result),
        scope: known.and_then(|known| known.scope.clone()).or_else(|| Some("exact identity".into())),
        binding: known.is_none_or(|known| known.binding.is_some()).then_some(bound),
        observed_at: known
            .and_then(|known| known.observed_at.clone())
            .or_else(|| Some("2026-01-01T00:00:00+00:00".into())),
    }
}

/// Adds an operation like a known one, with another id and arguments: a first round and its continuation after a call,
/// its row and its issue.
pub(super) fn operation_after(seen: Seen<'_>, history: &mut History, after: u32, like: &str, effect: u64) {
    let found = seen.writes().find(|of| *of.write.operation == *like);
    let Some((known, (_, call))) = found.zip(seen.calls().find(|(number, _)| *number == after)) else { return };
    let Some(process) = seen.process(call) else { return };
    let operation: Box<str> = format!("{like}-besides").into();
    let token = seen.next_token();
    let ask = Ask::FirstRound { operation: operation.clone() };
    let Some(first) = edit::insert_after(history, after, ask, Some(Told::InputRequired { token: Some(token) })) else {
        return;
    };
    let timing = known.write.timing.and_then(|timing| moved(timing, process.clock?));
    let state = State { token, issued: Some(first), inner: None, altered: false };
    let mut parts = known.write.parts;
    parts.state = state;
    parts.arguments = seen.writes().map(|of| of.write.parts.arguments).max().unwrap_or(0).saturating_add(1);
    // A second step would leave events: one step is enough here.
    let mode = crate::ledger::Mode::Atomic;
    let write = Write { operation: operation.clone(), form: crate::ledger::Form::Sound, mode, parts, timing };
    let result = format!("created {effect}");
    let told = Outcome {
        operation: operation.clone(),
        effect,
        result: result.as_str().into(),
        replayed: false,
        state: Observed::Applied,
    };
    edit::insert_after(history, first, Ask::Write(write), Some(Told::Effect(told)));
    if let Some(rows) = edit::rows_mut(history) {
        edit::add_row(rows, process, (operation.into(), effect, result), timing);
        rows.issues.push(seen.issue(effect));
        rows.issues.sort();
    }
}

/// The same lifetimes from another moment.
fn moved(timing: Timing, now: i64) -> Option<Timing> {
    let by = now.checked_sub(timing.issued_at)?;
    let later = |at: Option<i64>| at.map(|at| at.saturating_add(by));
    Some(Timing {
        issued_at: now,
        authority_expires_at: later(timing.authority_expires_at),
        replay_expires_at: later(timing.replay_expires_at),
        state_expires_at: later(timing.state_expires_at),
    })
}

/// No case is needed where nothing is expected.
fn seen(history: &History) -> Seen<'_> {
    static NOTHING: MatrixCase = MatrixCase {
        id: String::new(),
        name: String::new(),
        expected: String::new(),
        starts_empty: None,
        phases: Vec::new(),
        expectations: Vec::new(),
    };
    Seen { case: &NOTHING, history }
}
