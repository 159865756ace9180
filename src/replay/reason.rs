//! Owns reasons: of a history that no ledger explains, the first reply or row that nothing explains, and the fewest replies
//! that show it.
//!
//! Refuses to guess a cause: a reply is hidden, and what is left is solved again. Invariant: what is shown can't be
//! explained by itself, and could be if any one reply of it were lost.

use std::collections::BTreeSet;

use super::Contradiction;
use super::cell::{Seen, Sight};
use super::ids::Clash;
use super::need::Need;
use super::problem::Problem;
use super::solve::{Broken, solve};
use super::telling::{self, Shown};
use crate::finding::Code;
use crate::history::History;
use crate::ledger::EffectIds;

/// Contradictions that are worked out; more of the kind say no more.
const MAX_SHOWN: usize = 100;

/// Times that a part of a history is solved to find its smallest part.
const MAX_SOLVED: usize = 400;

/// The reasons, the earliest first; none where there is too much to try.
pub(super) fn reasons(problem: &Problem<'_>, broken: &Broken) -> Vec<Contradiction> {
    let mut found: Vec<Contradiction> = match broken {
        Broken::Operations(all) => all.iter().take(MAX_SHOWN).map(|number| reason(problem, &[*number])).collect(),
        Broken::Together(all) => vec![reason(problem, all)],
        Broken::Ids(clash) => vec![by_ids(problem, *clash)],
        Broken::TooLarge(_) => Vec::new(),
    };
    found.sort_by_key(|one| one.call.map_or((1, (0, 0, 0)), |call| (0, when(problem.history, call))));
    found
}

/// When a reply was read, in an order that agrees with all that is known.
fn when(history: &History, call: u32) -> (u32, u64, u32) {
    let Some(of) = history.calls.get(call as usize) else { return (0, 0, call) };
    let phase = history.processes.get(of.process as usize).map_or(0, |process| process.phase);
    let at = of.received.unwrap_or(of.sent);
    if history.is_ordered { (0, at, call) } else { (phase, 0, call) }
}

/// Solves parts of some operations.
struct Trial<'p, 'h> {
    problem: &'p Problem<'h>,
    entries: &'p [usize],
    left: usize,
}

impl Trial<'_, '_> {
    /// Whether these replies, with or without the rows, can't be explained.
    fn fails(&mut self, shown: &BTreeSet<u32>, with_end: bool) -> bool {
        self.left = self.left.saturating_sub(1);
        let part = self.problem.part(self.entries, &|call| shown.contains(&call), with_end);
        matches!(solve(&part, Sight::Lenient, false), Err(Broken::Operations(_) | Broken::Together(_) | Broken::Ids(_)))
    }

    /// The shortest beginning that can't be explained: as many replies as it has.
    fn beginning(&mut self, replies: &[u32], with_end: bool) -> usize {
        let (mut low, mut high) = (0, replies.len());
        while low < high {
            let middle = low.midpoint(high);
            let shown = replies.iter().take(middle).copied().collect();
            if self.fails(&shown, with_end) {
                high = middle;
            } else {
                low = middle.saturating_add(1);
            }
        }
        low
    }

    /// Hides what isn't needed, in pieces that get smaller.
    fn smallest(&mut self, replies: &[u32], with_end: bool) -> Vec<u32> {
        let mut kept = replies.to_vec();
        let mut size = kept.len().div_ceil(2).max(1);
        loop {
            let mut start = 0;
            while start < kept.len() && self.left > 0 {
                let end = start.saturating_add(size).min(kept.len());
                let without: BTreeSet<u32> = kept.iter().take(start).chain(kept.iter().skip(end)).copied().collect();
                if self.fails(&without, with_end) {
                    kept.drain(start..end);
                } else {
                    start = end;
                }
            }
            if size == 1 || self.left == 0 {
                return kept;
            }
            size = size.div_ceil(2);
        }
    }
}

/// The reason why these operations can't be.
fn reason(problem: &Problem<'_>, entries: &[usize]) -> Contradiction {
    let mut trial = Trial { problem, entries, left: MAX_SOLVED };
    let mut replies: Vec<u32> = Vec::new();
    for entry in entries.iter().filter_map(|number| problem.entries.get(*number)) {
        replies.extend(entry.seen.iter().filter(|seen| seen.demand.need != Need::Nothing).map(|seen| seen.number));
    }
    replies.sort_by_key(|call| when(problem.history, *call));
    let all: BTreeSet<u32> = replies.iter().copied().collect();
    // The end comes last: only if the replies by themselves can be explained is it a row that can't be.
    let with_end = !trial.fails(&all, false);
    if with_end && !trial.fails(&all, true) {
        return telling::unexplained(problem, entries, &replies);
    }
    let count = trial.beginning(&replies, with_end);
    let beginning: Vec<u32> = replies.iter().take(count).copied().collect();
    let kept = trial.smallest(&beginning, with_end);
    let seen: Vec<Seen<'_>> = kept.iter().filter_map(|call| seen(problem, entries, *call)).collect();
    let shown = Shown { problem, entries, seen: &seen };
    if with_end {
        telling::row(&shown)
    } else {
        telling::reply(&shown, &|code| alternatives(problem, entries, &kept, code))
    }
}

fn seen<'h>(problem: &Problem<'h>, entries: &[usize], call: u32) -> Option<Seen<'h>> {
    let all = entries.iter().filter_map(|number| problem.entries.get(*number)).flat_map(|entry| &entry.seen);
    all.copied().find(|seen| seen.number == call)
}

/// Whether the last reply could have been of this kind.
fn alternatives(problem: &Problem<'_>, entries: &[usize], kept: &[u32], need: Need) -> bool {
    let Some(last) = kept.last() else { return false };
    let mut part = problem.part(entries, &|call| kept.contains(&call), false);
    for seen in part.entries.iter_mut().flat_map(|entry| &mut entry.seen) {
        if seen.number == *last {
            // What it would tell isn't known, so only its kind is tried.
            seen.told = None;
            seen.demand.need = need;
            seen.demand.open = false;
        }
    }
    solve(&part, Sight::Lenient, false).is_ok()
}

fn by_ids(problem: &Problem<'_>, clash: Clash) -> Contradiction {
    match clash {
        Clash::Same(a, b) | Clash::Order(a, b) => {
            let mut entries = vec![a, b];
            entries.sort_unstable();
            entries.dedup();
            let part = problem.part(&entries, &|_| true, true);
            let fails = part.ids != EffectIds::Opaque && solve(&part, Sight::Lenient, false).is_err();
            let found = fails.then(|| reason(problem, &entries));
            found.filter(|found| found.code == Code::ReplayEffect).unwrap_or_else(|| telling::ids(problem, clash))
        }
        Clash::Gap(_) | Clash::NoRoom(_) | Clash::Open(_) => telling::ids(problem, clash),
    }
}
