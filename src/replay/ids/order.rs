//! Owns effects whose ids are known: the earliest and the latest time of each, and times for all that were placed.
//!
//! Refuses ids that stand twice, and spans that leave no such order. Invariant: times grow with ids.

use super::gaps::Filled;
use super::{Clash, Item, Span, When};

/// The earliest and latest time of each known effect, in the order of ids.
#[derive(Debug)]
pub(super) struct Chain {
    /// After this.
    pub(super) earliest: Vec<u64>,
    /// Before this.
    pub(super) latest: Vec<u64>,
}

/// The cells whose id is known, in the order of ids.
pub(super) fn known(items: &[Item]) -> Result<Vec<usize>, Clash> {
    let mut known: Vec<(u64, usize)> =
        items.iter().enumerate().filter_map(|(index, item)| Some((item.id?, index))).collect();
    known.sort_unstable();
    let twice = known.iter().zip(known.iter().skip(1)).find(|((a, _), (b, _))| a == b);
    match twice {
        Some(((_, a), (_, b))) => Err(Clash::Same(*a, *b)),
        None => Ok(known.into_iter().map(|(_, index)| index).collect()),
    }
}

fn spans(items: &[Item], index: usize) -> &[Span] {
    items.get(index).map_or(&[], |item| &item.spans)
}

/// Goes through the known effects forward and backward.
pub(super) fn chain(items: &[Item], known: &[usize]) -> Result<Chain, Clash> {
    let mut earliest = Vec::with_capacity(known.len());
    // The last time so far, and which effect brought it there.
    let (mut now, mut holder) = (0_u64, None);
    for index in known {
        let fitting = spans(items, *index).iter().filter(|span| now.max(span.from) < span.until);
        let Some(from) = fitting.map(|span| span.from).min() else {
            return Err(Clash::Order(holder.unwrap_or(*index), *index));
        };
        if from >= now {
            (now, holder) = (from, Some(*index));
        }
        earliest.push(now);
    }
    let mut latest = vec![u64::MAX; known.len()];
    let mut now = u64::MAX;
    for (slot, index) in latest.iter_mut().zip(known).rev() {
        let fitting = spans(items, *index).iter().filter(|span| span.from < now.min(span.until));
        let until = fitting.map(|span| span.until).max().unwrap_or_default();
        now = now.min(until);
        *slot = now;
    }
    Ok(Chain { earliest, latest })
}

/// Between which times the neighbours of each known effect leave it.
pub(super) fn rooms(items: &[Item], known: &[usize], chain: &Chain) -> Vec<Option<Span>> {
    let mut rooms = vec![None; items.len()];
    for (place, index) in known.iter().enumerate() {
        let from = place.checked_sub(1).and_then(|before| chain.earliest.get(before)).copied().unwrap_or_default();
        let until = chain.latest.get(place.saturating_add(1)).copied().unwrap_or(u64::MAX);
        if let Some(room) = rooms.get_mut(*index) {
            *room = Some(Span { from, until });
        }
    }
    rooms
}

/// A time for each effect that was placed: one after the other, each as early as can be.
pub(super) fn times(items: &[Item], known: &[usize], filled: &Filled) -> Vec<Option<When>> {
    let mut times = vec![None; items.len()];
    let (mut now, mut rank) = (0_u64, 0_u32);
    let mut put = |index: usize, from: u64| {
        now = now.max(from);
        rank = rank.saturating_add(1);
        if let Some(slot) = times.get_mut(index) {
            *slot = Some((now, rank));
        }
        now
    };
    let mut last = 0;
    for gap in 0..=known.len() {
        for (index, span) in filled.at(gap) {
            last = put(*index, span.from);
        }
        if let Some(index) = known.get(gap) {
            let fitting = spans(items, *index).iter().filter(|span| last.max(span.from) < span.until);
            last = put(*index, fitting.map(|span| span.from).min().unwrap_or_default());
        }
    }
    times
}
