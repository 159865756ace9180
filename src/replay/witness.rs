//! Owns witnesses: the calls in an order in which a correct ledger would have answered them as it did.
//!
//! Refuses nothing. Invariant: each call stands between its sending and its reply; lost calls that took no effect are left
//! out.

use super::cell::Seen;
use super::ids::When;
use super::need::Need;
use super::problem::Problem;
use super::solve::{Solution, Win};
use super::window;
use crate::ledger::{Ask, Told};

/// After everything at a time, and late among what comes then.
const LATE: u32 = u32::MAX;
const MIDDLE: u32 = u32::MAX / 2;

/// The order of calls in a solution.
pub(super) fn order(problem: &Problem<'_>, solution: &Solution) -> Vec<u32> {
    let positions = |call: u32| match &solution.positions {
        Some(positions) => positions.get(call as usize).copied().unwrap_or_default(),
        None => (window::sent(problem.history, call), window::received(problem.history, call)),
    };
    let mut points: Vec<(When, u32)> = Vec::new();
    let mut placed = vec![false; problem.history.calls.len()];
    for (entry, win) in problem.entries.iter().zip(&solution.wins) {
        for seen in &entry.seen {
            if let Some(slot) = placed.get_mut(seen.number as usize) {
                *slot = true;
            }
            let point = point(seen, win.as_ref(), positions(seen.number));
            points.extend(point.map(|point| (point, seen.number)));
        }
    }
    // First rounds, and what was answered before the ledger was asked.
    for (number, call) in (0_u32..).zip(&problem.history.calls) {
        let is_answered = call.told.as_ref().is_some_and(is_answer) && call.ask != Ask::Other;
        if is_answered && !placed.get(number as usize).copied().unwrap_or_default() {
            points.push(((positions(number).0, 0), number));
        }
    }
    points.sort_unstable();
    points.into_iter().map(|(_, call)| call).collect()
}

/// A reply that the dialect doesn't know is as good as lost.
fn is_answer(told: &Told) -> bool {
    match told {
        Told::Unrecognized => false,
        Told::InputRequired { .. }
        | Told::Effect(_)
        | Told::Refused(_)
        | Told::StateRejected
        | Told::Status(_)
        | Told::Other => true,
    }
}

/// When a call was answered by the ledger; none where that never was.
fn point(seen: &Seen<'_>, win: Option<&Win>, (sent, received): (u64, u64)) -> Option<When> {
    let early = (sent, 0);
    let late = (received.saturating_sub(1), LATE);
    if win.and_then(|win| win.call) == Some(seen.number) {
        return win.map(|win| win.effect);
    }
    match seen.demand.need {
        Need::Nothing => seen.told.filter(|told| is_answer(told)).map(|_| early),
        Need::First | Need::Stored | Need::Same | Need::Other | Need::Terminal => Some(late),
        Need::Begun => {
            Some((sent, MIDDLE).max(win.map_or((0, 0), |win| (win.effect.0, win.effect.1.saturating_add(1)))))
        }
        // Under the winner's own request both come to the same; under another there must be no row yet.
        Need::AbsentOrSame | Need::Absent | Need::NotTerminal => Some(early),
        Need::Never(_) => None,
    }
}
