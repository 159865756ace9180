//! Owns the ids of effects: whether each cell's effect can come at a time in its spans such that ids follow times.
//!
//! Refuses to know calls: a cell is an id, or none, and spans of time. Invariant: what is placed is in an order in which
//! ids only grow; a gap that must be filled is.

mod gaps;
mod order;

pub(super) use gaps::Share;

use crate::ledger::EffectIds;

/// From and until when an effect may come: after the first, before the second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Span {
    pub(super) from: u64,
    pub(super) until: u64,
}

/// The time before everything.
pub(super) const PRIOR: Span = Span { from: 0, until: 1 };

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Item {
    pub(super) id: Option<u64>,
    /// Sorted, apart from each other. None of them: it took no effect.
    pub(super) spans: Vec<Span>,
    /// It took effect.
    pub(super) is_required: bool,
}

/// When an effect comes: after that event, and among those after it in this order.
pub(super) type When = (u64, u32);

/// What becomes of the cells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    /// When each took effect; none where it did not.
    pub(super) times: Vec<Option<When>>,
    /// What else could be.
    pub(super) shares: Vec<Share>,
    /// Between which times the neighbours of an effect with a known id leave it; none for others.
    rooms: Vec<Option<Span>>,
    /// Where there is room for others, in the order of time.
    spaces: Vec<Span>,
    /// There are effects with a known id, and others.
    pub(super) is_mixed: bool,
}

impl Placed {
    /// Whether an effect could come within a span, as far as its neighbours by id say.
    pub(super) fn admits(&self, item: usize, span: Span) -> bool {
        let overlaps = |room: &Span| room.from.max(span.from) < room.until.min(span.until);
        match self.rooms.get(item) {
            Some(Some(room)) => overlaps(room),
            Some(None) if span != PRIOR => {
                let first = self.spaces.partition_point(|space| space.until <= span.from);
                self.spaces.get(first).is_some_and(overlaps)
            }
            Some(None) | None => true,
        }
    }
}

/// Why there is no such order. Numbers are of items.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Clash {
    /// Two have one id.
    Same(usize, usize),
    /// The first has the smaller id and comes later.
    Order(usize, usize),
    /// The effect's id is greater than it can be: too few effects before it could have taken the ids that lie below.
    Gap(usize),
    /// The effect comes between others whose ids leave none for it.
    NoRoom(usize),
    /// There are too many ways to try.
    Open(usize),
}

/// Sorts spans and joins those that overlap.
pub(super) fn join(mut spans: Vec<Span>) -> Vec<Span> {
    if spans.len() > 1 {
        spans.sort_unstable();
        spans.dedup_by(|next, kept| {
            let overlaps = next.from < kept.until;
            if overlaps {
                kept.until = kept.until.max(next.until);
            }
            overlaps
        });
    }
    spans
}

/// Ways to choose among spans that are tried, where cells have several.
const MAX_WAYS: usize = 1_024;

/// Places effects in time.
pub(super) fn place(items: &[Item], ids: EffectIds, starts_empty: bool) -> Result<Placed, Clash> {
    let known = order::known(items)?;
    match ids {
        EffectIds::Opaque => Ok(anyhow(items)),
        EffectIds::Dense | EffectIds::Increasing => {
            let is_dense = ids == EffectIds::Dense;
            let several: Vec<usize> =
                known.iter().copied().filter(|item| items.get(*item).is_some_and(|one| one.spans.len() > 1)).collect();
            if several.is_empty() || items.len() == known.len() {
                return in_order(items, &known, is_dense, starts_empty);
            }
            by_choice(items, &known, &several, is_dense, starts_empty)
        }
    }
}

/// Ids say nothing of order.
fn anyhow(items: &[Item]) -> Placed {
    let placed = |(rank, item): (u32, &Item)| {
        let first = item.spans.first().filter(|_| item.is_required);
        first.map(|span| (span.from, rank))
    };
    let share = |item: &Item| Share { can_be: !item.spans.is_empty(), can_lack: !item.is_required, only: None };
    Placed {
        times: (0..).zip(items).map(placed).collect(),
        shares: items.iter().map(share).collect(),
        rooms: Vec::new(),
        spaces: Vec::new(),
        is_mixed: false,
    }
}

fn in_order(items: &[Item], known: &[usize], is_dense: bool, starts_empty: bool) -> Result<Placed, Clash> {
    let chain = order::chain(items, known)?;
    let gaps = gaps::fill(items, known, &chain, is_dense, starts_empty)?;
    let times = order::times(items, known, &gaps);
    let is_mixed = !known.is_empty() && known.len() < items.len();
    Ok(Placed { times, shares: gaps.shares, rooms: order::rooms(items, known, &chain), spaces: gaps.spaces, is_mixed })
}

/// Cells with a known id and several spans, where others have no known id: each way to choose is tried.
fn by_choice(
    items: &[Item],
    known: &[usize],
    several: &[usize],
    is_dense: bool,
    starts_empty: bool,
) -> Result<Placed, Clash> {
    let ways = several.iter().try_fold(1_usize, |ways, item| {
        let spans = items.get(*item).map_or(1, |one| one.spans.len());
        ways.checked_mul(spans).filter(|ways| *ways <= MAX_WAYS)
    });
    let Some(ways) = ways else {
        // Without the gaps it must be possible all the same.
        order::chain(items, known)?;
        return Err(Clash::Open(several.first().copied().unwrap_or_default()));
    };
    let mut found: Option<Placed> = None;
    let mut clash = None;
    for way in 0..ways {
        let mut chosen = items.to_vec();
        let mut rest = way;
        for item in several {
            let Some(one) = chosen.get_mut(*item) else { continue };
            let count = one.spans.len().max(1);
            one.spans = one.spans.get(rest % count).copied().into_iter().collect();
            rest /= count;
        }
        match (in_order(&chosen, known, is_dense, starts_empty), &mut found) {
            (Ok(placed), None) => found = Some(placed),
            (Ok(placed), Some(found)) => {
                found.shares.iter_mut().zip(placed.shares).for_each(|(share, other)| share.join(other));
                // What neighbours leave differs from way to way.
                found.rooms.clear();
            }
            (Err(why), _) => clash = clash.or(Some(why)),
        }
    }
    found.ok_or(clash.unwrap_or(Clash::Open(0)))
}

#[cfg(test)]
mod tests;
