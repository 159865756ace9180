//! Owns the places where a status can be forged.
//!
//! Refuses places where the change could have been true. Invariant: a place changes one status and nothing else.

use super::edit;
use super::seen::{Place, Places, Reading, Seen, has_effect, other_result, place};
use crate::history::History;
use crate::ledger::{Observation, Observed, Told};

fn change<'a>(seen: Seen<'a>, of: Reading<'a>, what: &str, change: impl FnOnce(&mut Observation) + 'a) -> Place<'a> {
    place(format!("the status to {} {what}", seen.name(of.call)), move |history: &mut History| {
        let call = edit::call_mut(history, of.number);
        if let Some(Told::Status(observation)) = call.and_then(|call| call.told.as_mut()) {
            change(observation);
        }
    })
}

fn of_effects(seen: Seen<'_>) -> impl Iterator<Item = Reading<'_>> {
    seen.statuses().filter(|of| of.seen.state.is_some_and(has_effect))
}

fn of_nothing(seen: Seen<'_>) -> impl Iterator<Item = Reading<'_>> {
    seen.statuses().filter(|of| of.seen.state == Some(Observed::Unknown))
}

fn applied(observation: &mut Observation, state: Observed, effect: u64, result: Box<str>) {
    observation.state = Some(state);
    observation.ids = Some(vec![edit::signed(effect)]);
    observation.result = Some(Some(result));
}

/// An effect out of nothing. A lost write could have made it, if the rows at the end didn't lack it.
pub(super) fn without_row(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    let found = of_nothing(seen).filter(move |of| {
        seen.stored(of.operation).is_none() && (seen.is_final() || seen.is_alone(of.operation, of.number))
    });
    Box::new(found.map(move |of| {
        change(seen, of, &format!("tells effect {next}, which no row has"), move |observation| {
            applied(observation, Observed::Applied, next, format!("created {next}").into());
        })
    }))
}

/// What is another's.
pub(super) fn shown_to_another(seen: Seen<'_>) -> Places<'_> {
    Box::new(of_nothing(seen).filter_map(move |of| {
        let stored = seen.stored(of.operation)?;
        (*seen.principal(of.call) != *stored.principal).then(|| {
            change(seen, of, "tells the effect of another principal", move |observation| {
                applied(observation, stored.state, stored.effect, stored.result);
            })
        })
    }))
}

/// An effect that is unknown. If only this status and a row show it, the row may have come later, unless the writers had
/// ended before.
pub(super) fn unknown(seen: Seen<'_>) -> Places<'_> {
    let found = of_effects(seen).filter(move |of| {
        let is_earlier = |number: u32| number < of.number;
        let told = seen.effects().any(|(other, _)| *other.write.operation == *of.operation && is_earlier(other.number));
        let phase = |call| seen.process(call).map(|process| process.phase);
        let writers = || seen.writes().filter(|other| *other.write.operation == *of.operation);
        let ended = writers().all(|other| phase(other.call) < phase(of.call) || !is_earlier(other.number));
        told || (ended && seen.is_witnessed(of.operation, of.number))
    });
    Box::new(found.map(move |of| {
        change(seen, of, "says unknown", |observation| {
            observation.state = Some(Observed::Unknown);
            observation.ids = Some(Vec::new());
            observation.result = Some(None);
        })
    }))
}

/// Another identity, alike in the fields and in the structured scope. A field that isn't there can't be another's.
pub(super) fn of_another(seen: Seen<'_>) -> Places<'_> {
    type Field = fn(&mut Observation) -> [Option<&mut Option<Box<str>>>; 2];
    let fields: [(&str, Field); 3] = [
        ("operation", |one| [Some(&mut one.operation), one.binding.as_mut().map(|bound| &mut bound.operation)]),
        ("principal", |one| [Some(&mut one.principal), one.binding.as_mut().map(|bound| &mut bound.principal)]),
        ("backend", |one| [Some(&mut one.backend), one.binding.as_mut().map(|bound| &mut bound.backend)]),
    ];
    Box::new(seen.statuses().flat_map(move |of| {
        let there = [&of.seen.operation, &of.seen.principal, &of.seen.backend];
        let known = fields.into_iter().zip(there).filter(|(_, value)| value.is_some());
        known.map(move |((name, field), _)| {
            change(seen, of, &format!("is of another {name}"), move |observation| {
                for value in field(observation).into_iter().flatten().filter_map(Option::as_mut) {
                    *value = format!("{value}-other").into();
                }
            })
        })
    }))
}

/// No status grants a write, whatever the rows hold.
pub(super) fn fresh_write(seen: Seen<'_>) -> Places<'_> {
    Box::new(seen.statuses().filter(|of| of.seen.fresh_write_authorized != Some(true)).map(move |of| {
        change(seen, of, "grants a fresh write", |observation| observation.fresh_write_authorized = Some(true))
    }))
}

/// An operation has one effect, whatever the rows hold.
pub(super) fn two_effects(seen: Seen<'_>) -> Places<'_> {
    let next = edit::signed(seen.next_effect());
    Box::new(of_effects(seen).map(move |of| {
        change(seen, of, &format!("tells effect {next} too"), move |observation| {
            observation.ids.iter_mut().for_each(|ids| ids.push(next));
        })
    }))
}

/// A result names its own effect.
pub(super) fn result_of_another(seen: Seen<'_>) -> Places<'_> {
    let next = seen.next_effect();
    Box::new(of_effects(seen).filter_map(move |of| {
        let effect = u64::try_from(*of.seen.ids.as_ref()?.first()?).ok()?;
        let result = edit::renumbered(of.seen.result.as_ref()?.as_ref()?, effect, next);
        Some(change(seen, of, &format!("has a result that names effect {next}"), move |observation| {
            observation.result = Some(Some(result));
        }))
    }))
}

/// Another form of the result is seen by what else tells it.
pub(super) fn stored_result(seen: Seen<'_>) -> Places<'_> {
    let found = of_effects(seen).filter(move |of| seen.is_witnessed(of.operation, of.number));
    Box::new(found.filter_map(move |of| {
        let result = other_result(of.seen.result.as_ref()?.as_ref()?);
        Some(change(seen, of, &format!("has the result {result:?}"), move |observation| {
            observation.result = Some(Some(result));
        }))
    }))
}
