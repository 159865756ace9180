//! Owns the places where the order of calls, or what a process did, can be forged.
//!
//! Refuses what the case allows. Invariant: a place adds or moves calls of one operation, or changes one exit code.

use super::edit;
use super::honest;
use super::seen::{Places, Seen, Writing, place};
use crate::history::{Call, EffectIds, Process};
use crate::ledger::{Ask, Outcome, Told};
use crate::name::escape;
use crate::run::matrix::{Expectation, Method};

/// Ids against the order in which effects were told. Where there is one effect only, a later operation gets the first id.
/// Ids that say nothing can't be out of order.
pub(super) fn effects(seen: Seen<'_>) -> Places<'_> {
    if seen.history.ids == EffectIds::Opaque {
        return Box::new(std::iter::empty());
    }
    let firsts = move || seen.effects().filter(|(_, outcome)| !outcome.replayed);
    let is_later = move |a: &Call, b: &Call| {
        let is_one_scale = seen.history.is_ordered || a.connection == b.connection;
        let phase = |call| seen.process(call).map(|process| process.phase);
        (is_one_scale && a.received.is_some_and(|read| read < b.sent)) || phase(a) < phase(b)
    };
    let pairs = firsts().flat_map(move |(a, one)| {
        firsts().filter(move |(b, _)| is_later(a.call, b.call)).map(move |(b, other)| (a, one.effect, b, other.effect))
    });
    let mut pairs = pairs.peekable();
    if pairs.peek().is_some() {
        return Box::new(pairs.map(move |(a, one, b, other)| {
            let what = format!("{} has effect {other}, and later {} has {one}", seen.name(a.call), seen.name(b.call));
            place(what, move |history| edit::swap_effects(history, one, other))
        }));
    }
    let next = seen.next_effect();
    let later = firsts().map(|(of, outcome)| (of.number, of.call, &of.write.operation, outcome.effect));
    let read = seen.statuses().filter_map(move |of| {
        let stored = seen.stored(of.operation).filter(|_| firsts().next().is_none())?;
        let is_shown = of.seen.ids.as_deref() == Some(&[edit::signed(stored.effect)]);
        is_shown.then_some((of.number, of.call, &seen.bound(of.operation)?.write.operation, stored.effect))
    });
    Box::new(later.chain(read).map(move |(number, call, operation, effect)| {
        let what =
            format!("after {} another operation has effect {effect}, and the earlier one {next}", seen.name(call));
        place(what, move |history| {
            honest::operation_after(seen, history, number, operation, next);
            edit::swap_effects(history, effect, next);
        })
    }))
}

/// A write after a status, truly answered. Only the case forbids it: a server may be asked at any time.
pub(super) fn continuation(seen: Seen<'_>) -> Places<'_> {
    let is_forbidden = move |process: &Process| {
        seen.case.expectations.iter().any(|expectation| match expectation {
            Expectation::Absent(absent) => absent.method == Method::Continuation && *absent.process == *process.name,
            Expectation::Reply(_) | Expectation::Count(_) | Expectation::Status(_) | Expectation::Exit(_) => false,
        })
    };
    Box::new(seen.statuses().filter_map(move |of| {
        seen.process(of.call).filter(|process| is_forbidden(process))?;
        let stored = seen.stored(of.operation)?;
        let bound: Writing<'_> = seen.bound(of.operation)?;
        let told = if *seen.principal(of.call) == *stored.principal {
            let operation = bound.write.operation.clone();
            let (effect, result, state) = (stored.effect, stored.result, stored.state);
            Told::Effect(Outcome { operation, effect, result, replayed: true, state })
        } else {
            Told::StateRejected
        };
        let what = format!("after {} the write is sent again", seen.name(of.call));
        Some(place(what, move |history| {
            edit::insert_after(history, of.number, bound.call.ask.clone(), Some(told));
        }))
    }))
}

/// A request moves to a process of the next phase, or from the last to one of the phase before. Within one phase it
/// could have been sent by either.
pub(super) fn phase(seen: Seen<'_>) -> Places<'_> {
    let phase_of = move |call: &Call| seen.process(call).map(|process| process.phase);
    let found = seen.calls().filter_map(move |(number, call)| {
        // What no step asks for may be sent at any time.
        if matches!(call.ask, Ask::Other) {
            return None;
        }
        let phase = phase_of(call)?;
        let later = seen.calls().find(|(_, other)| phase_of(other) > Some(phase));
        let earlier = || seen.calls().filter(|(_, other)| phase_of(other) < Some(phase)).last();
        let (_, other) = later.or_else(earlier)?;
        let last = seen.calls().filter(|(_, last)| last.connection == other.connection).last()?.0;
        Some((number, call, other, last))
    });
    Box::new(found.map(move |(number, call, other, last)| {
        let to = seen.process(other).map_or("", |process| &process.name);
        let what = format!("{} was sent to process {}", seen.name(call), escape(to.as_bytes()));
        place(what, move |history| edit::move_after(history, number, last))
    }))
}

/// An exit code that the case doesn't have for the process.
pub(super) fn exit(seen: Seen<'_>) -> Places<'_> {
    let found = (0_usize..).zip(&seen.history.processes).filter_map(move |(index, process)| {
        let allowed = &seen.case.process(&process.name)?.exit.0;
        process.exit?;
        let code = [0, 1, 70, -15, -9].into_iter().find(|code| !allowed.contains(&i64::from(*code)))?;
        Some((index, process, code))
    });
    Box::new(found.map(|(index, process, code)| {
        let what = format!("process {} ended with {code}", escape(process.name.as_bytes()));
        place(what, move |history| {
            history.processes.get_mut(index).into_iter().for_each(|process| process.exit = Some(code));
        })
    }))
}
