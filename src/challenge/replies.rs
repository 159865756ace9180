//! Owns the places where a reply to a write can be forged.
//!
//! Refuses places where the change could have been honest: each function says when. Invariant: a place changes one reply,
//! with the rows that a server answering so would leave.

use super::edit;
use super::kind::Kind;
use super::seen::{Places, Seen, Stored, Writing, other_result, place};
use crate::history::History;
use crate::ledger::{Form, Observed, Outcome, Refusal, Told};

/// Whether a write's effect is told as a replay or not is seen by who else told it; alone, by the matrix, or by there being
/// no silent call that could have been the first.
pub(super) fn replayed_flag(seen: Seen<'_>) -> Places<'_> {
    Box::new(seen.effects().filter_map(move |(of, outcome)| {
        let told = Told::Effect(Outcome { replayed: !outcome.replayed, ..outcome.clone() });
        let operation = &*of.write.operation;
        let has_first = seen
            .effects()
            .any(|(other, told)| other.number != of.number && *other.write.operation == *operation && !told.replayed);
        let is_seen = if outcome.replayed { has_first } else { seen.is_alone(operation, of.number) };
        (is_seen || seen.is_unexpected(of.number, &told)).then(|| {
            let what = format!(
                "the reply to {} says replayed {} instead of {}",
                seen.name(of.call),
                !outcome.replayed,
                outcome.replayed
            );
            place(what, move |history| edit::tell(history, of.number, told))
        })
    }))
}

/// A replay that took effect again leaves a second issue. Where nothing else tells the first effect, it would be the first.
pub(super) fn second_effect(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    Box::new(seen.effects().filter(|(_, outcome)| outcome.replayed).filter_map(move |(of, outcome)| {
        let told = Told::Effect(first(outcome, next));
        let is_seen = seen.is_witnessed(&of.write.operation, of.number) || seen.is_unexpected(of.number, &told);
        is_seen.then(|| {
            let what = format!("the reply to {} tells a second effect, {next}, which is an issue", seen.name(of.call));
            place(what, move |history| {
                edit::tell(history, of.number, told);
                add_issue(seen, history, next);
            })
        })
    }))
}

/// One reply alone is seen by what else tells the effect, or by ids that leave no gap.
pub(super) fn effect_in_reply(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let is_seen = move |of: &Writing<'_>| seen.is_witnessed(&of.write.operation, of.number) || seen.ids_tell();
    Box::new(seen.effects().filter(move |(of, _)| is_seen(of)).map(move |(of, outcome)| {
        let what = format!("the reply to {} tells effect {next} with its result", seen.name(of.call));
        let result = edit::renumbered(&outcome.result, outcome.effect, next);
        place(what, move |history| {
            edit::change_effect(history, of.number, |told| (told.effect, told.result) = (next, result));
        })
    }))
}

/// Another form of the result is seen by what else tells it. A write of one step has one form only.
pub(super) fn stored_result(seen: Seen<'_>) -> Places<'_> {
    Box::new(seen.effects().filter(move |(of, _)| seen.is_witnessed(&of.write.operation, of.number)).map(
        move |(of, outcome)| {
            let result = other_result(&outcome.result);
            let what = format!("the reply to {} has the result {result:?}", seen.name(of.call));
            place(what, move |history| edit::change_effect(history, of.number, |told| told.result = result))
        },
    ))
}

/// A result names its own effect whatever else is known.
pub(super) fn result_of_another(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    Box::new(seen.effects().map(move |(of, outcome)| {
        let result = edit::renumbered(&outcome.result, outcome.effect, next);
        let what = format!("the result in the reply to {} names effect {next}", seen.name(of.call));
        place(what, move |history| edit::change_effect(history, of.number, |told| told.result = result))
    }))
}

/// What a refusal stands for, as far as the calls show it.
fn refused(seen: Seen<'_>, of: Writing<'_>) -> Option<(Kind, Stored)> {
    let stored = seen.stored(&of.write.operation)?;
    if of.write.form != Form::Sound {
        return None;
    }
    let bound = seen.bound(&of.write.operation)?.write.parts;
    let (parts, is_own) = (of.write.parts, *seen.principal(of.call) == *stored.principal);
    let is_changed = (parts.tool, parts.arguments, parts.responses) != (bound.tool, bound.arguments, bound.responses);
    let kind = match of.call.told {
        Some(Told::Refused(Refusal::Conflict) | Told::StateRejected) if !is_own => Kind::OtherPrincipalAccepted,
        Some(Told::Refused(Refusal::Conflict)) if is_changed => Kind::ChangedAnswerAccepted,
        Some(Told::StateRejected) if parts.state.token == bound.state.token => Kind::ExpiredAccepted,
        Some(Told::Refused(Refusal::Conflict) | Told::StateRejected) => Kind::ChangedStateAccepted,
        Some(Told::Refused(Refusal::AuthorityExpired)) => Kind::ExpiredAccepted,
        Some(Told::Refused(Refusal::RetentionExpired)) => Kind::RetentionExtended,
        Some(
            Told::Refused(
                Refusal::InProgress
                | Refusal::Timing
                | Refusal::Unsupported
                | Refusal::NotAccepted
                | Refusal::OtherOperation,
            )
            | Told::InputRequired { .. }
            | Told::Effect(_)
            | Told::Status(_)
            | Told::Other
            | Told::Unrecognized,
        )
        | None => return None,
    };
    Some((kind, stored))
}

/// A refusal that becomes the stored result. What differs from the bound request is seen by its parts; a deadline by its
/// clock, or, where the deadline isn't known, by the matrix.
pub(super) fn accepted(seen: Seen<'_>, kind: Kind) -> Places<'_> {
    Box::new(seen.writes().filter_map(move |of| {
        let (_, stored) = refused(seen, of).filter(|(found, _)| *found == kind)?;
        let told = replay(of, &stored);
        let is_of_time = matches!(kind, Kind::ExpiredAccepted | Kind::RetentionExtended);
        let has_times = of.write.timing.is_some() && seen.process(of.call).is_some_and(|one| one.clock.is_some());
        (!is_of_time || has_times || seen.is_unexpected(of.number, &told)).then(|| {
            let what = format!("the reply to {} tells the stored result instead of a refusal", seen.name(of.call));
            place(what, move |history| edit::tell(history, of.number, told))
        })
    }))
}

/// A continuation without its state, or without an accepted answer, never takes effect.
pub(super) fn stateless(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let is_refused = |told: Option<&Told>| {
        matches!(told, Some(Told::Refused(Refusal::Unsupported | Refusal::NotAccepted) | Told::StateRejected))
    };
    let found = seen.writes().filter(move |of| of.write.form != Form::Sound && is_refused(of.call.told.as_ref()));
    Box::new(found.map(move |of| {
        let what = format!("the reply to {} tells effect {next}, with its row and issue", seen.name(of.call));
        place(what, move |history| take_effect(seen, history, of, next))
    }))
}

/// A request that a row is bound to gets no conflict. Where another one could have bound the row unseen, it might.
pub(super) fn false_conflict(seen: Seen<'_>) -> Places<'_> {
    Box::new(seen.effects().filter_map(move |(of, _)| {
        let (operation, told) = (&*of.write.operation, Told::Refused(Refusal::Conflict));
        let is_seen = seen.all_same(operation) || seen.is_alone(operation, of.number);
        (is_seen || seen.is_unexpected(of.number, &told)).then(|| {
            let what = format!("the reply to {} says conflict", seen.name(of.call));
            place(what, move |history| edit::tell(history, of.number, told))
        })
    }))
}

/// Once a deadline has refused an operation that took effect, it never takes effect again: neither for the late request
/// nor for a fresh one.
pub(super) fn applied_again(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let is_late = |told: Option<&Told>| {
        matches!(told, Some(Told::Refused(Refusal::AuthorityExpired | Refusal::RetentionExpired)))
    };
    let found = seen.writes().filter(move |of| {
        let operation = &of.write.operation;
        let was_late = || {
            seen.writes().any(|other| {
                other.number < of.number && other.write.operation == *operation && is_late(other.call.told.as_ref())
            })
        };
        let is_conflict = matches!(of.call.told, Some(Told::Refused(Refusal::Conflict)));
        seen.is_told(operation, None) && (is_late(of.call.told.as_ref()) || (is_conflict && was_late()))
    });
    Box::new(found.map(move |of| {
        let what =
            format!("the reply to {} tells a new effect, {next}, and the row is bound to it", seen.name(of.call));
        place(what, move |history| take_effect(seen, history, of, next))
    }))
}

/// The stored result, as a replay tells it.
fn replay(of: Writing<'_>, stored: &Stored) -> Told {
    Told::Effect(Outcome {
        operation: of.write.operation.clone(),
        effect: stored.effect,
        result: stored.result.clone(),
        replayed: true,
        state: stored.state,
    })
}

/// The same outcome as a first one, with another effect.
fn first(outcome: &Outcome, effect: u64) -> Outcome {
    let result = edit::renumbered(&outcome.result, outcome.effect, effect);
    Outcome { effect, result, replayed: false, ..outcome.clone() }
}

fn add_issue(seen: Seen<'_>, history: &mut History, id: u64) {
    if let Some(rows) = edit::rows_mut(history) {
        rows.issues.push(seen.issue(id));
        rows.issues.sort();
    }
}

/// A first effect: the reply, the issue and the row, which takes the place of one that is there.
pub(super) fn take_effect(seen: Seen<'_>, history: &mut History, of: Writing<'_>, effect: u64) {
    let result = format!("created {effect}");
    let (operation, state) = (of.write.operation.clone(), Observed::Applied);
    let told = Outcome { operation, effect, result: result.as_str().into(), replayed: false, state };
    edit::tell(history, of.number, Told::Effect(told));
    add_issue(seen, history, effect);
    let Some(process) = seen.process(of.call) else { return };
    let Some(rows) = edit::rows_mut(history) else { return };
    rows.operations.retain(|row| *row.operation != *of.write.operation);
    edit::add_row(rows, process, (of.write.operation.clone().into(), effect, result), of.write.timing);
}
