//! Owns gaps between known ids, and which effects without a known id fill them.
//!
//! Refuses a gap that nothing can fill, and an effect for which there is no room. Invariant: matchings are of greatest
//! size; whether an effect can be there or not is said for all matchings, by the paths that alternate between them.
//!
//! A cell fits a gap if one of its spans overlaps the time between the neighbours' earliest and latest. That each cell fits
//! its own gap is enough: two cells that would have to change places in time can change their gaps.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use super::order::Chain;
use super::{Clash, Item, PRIOR, Span};

/// What else could become of a cell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) struct Share {
    /// It can have taken effect.
    pub(in super::super) can_be: bool,
    /// It can have taken none.
    pub(in super::super) can_lack: bool,
    /// Exactly one of the cells with this number took effect.
    pub(in super::super) only: Option<usize>,
}

impl Share {
    /// Adds what could be in another way.
    pub(super) fn join(&mut self, other: Self) {
        self.can_be |= other.can_be;
        self.can_lack |= other.can_lack;
        self.only = self.only.filter(|_| self.only == other.only);
    }
}

/// What fills each gap, and what else could.
#[derive(Debug)]
pub(super) struct Filled {
    placed: BTreeMap<usize, Vec<(usize, Span)>>,
    /// Where there is room, in the order of time.
    pub(super) spaces: Vec<Span>,
    pub(super) shares: Vec<Share>,
}

impl Filled {
    /// What is in a gap, in the order in which it came.
    pub(super) fn at(&self, gap: usize) -> &[(usize, Span)] {
        self.placed.get(&gap).map_or(&[], Vec::as_slice)
    }
}

/// A gap with room.
#[derive(Debug)]
struct Gap {
    /// Its number: how many known ids are below.
    number: usize,
    room: usize,
    must_fill: bool,
    held: Vec<usize>,
}

/// A cell without a known id.
#[derive(Debug)]
struct Free {
    item: usize,
    /// Ranges of gaps with room, by their index, both ends in.
    fits: Vec<(usize, usize)>,
    /// It can come after every known effect, or have been there before.
    is_loose: bool,
    is_required: bool,
    gap: Option<usize>,
}

struct Matching<'a> {
    items: &'a [Item],
    chain: &'a Chain,
    gaps: Vec<Gap>,
    free: Vec<Free>,
}

pub(super) fn fill(
    items: &[Item],
    known: &[usize],
    chain: &Chain,
    is_dense: bool,
    starts_empty: bool,
) -> Result<Filled, Clash> {
    let count = items.len().saturating_sub(known.len());
    let gaps = gaps_of(items, known, is_dense, starts_empty, count)?;
    let mut matching = Matching { items, chain, gaps, free: Vec::with_capacity(count) };
    for (item, one) in items.iter().enumerate().filter(|(_, one)| one.id.is_none()) {
        let free = matching.free_of(item, one);
        matching.free.push(free);
    }
    matching.solve(known)?;
    let shares = matching.shares();
    let ends = [known.len()];
    let spaces = matching.gaps.iter().map(|gap| gap.number).chain(ends).map(|gap| matching.between(gap)).collect();
    Ok(Filled { placed: matching.placed(), spaces, shares })
}

fn gaps_of(
    items: &[Item],
    known: &[usize],
    is_dense: bool,
    starts_empty: bool,
    count: usize,
) -> Result<Vec<Gap>, Clash> {
    let mut gaps = Vec::new();
    let mut before = 0_u64;
    let mut after_new = starts_empty;
    let mut wanted = 0_usize;
    for (number, index) in known.iter().enumerate() {
        let Some(item) = items.get(*index) else { continue };
        let id = item.id.unwrap_or_default();
        let missing = usize::try_from(id.saturating_sub(before).saturating_sub(1)).unwrap_or(usize::MAX);
        before = id;
        let must_fill = is_dense && after_new;
        after_new |= !item.spans.contains(&PRIOR);
        if missing == 0 {
            continue;
        }
        if must_fill {
            wanted = wanted.saturating_add(missing);
            if wanted > count {
                return Err(Clash::Gap(*index));
            }
        }
        gaps.push(Gap { number, room: missing, must_fill, held: Vec::new() });
    }
    Ok(gaps)
}

impl Matching<'_> {
    /// The time between the neighbours of a gap.
    fn between(&self, gap: usize) -> Span {
        let from = gap.checked_sub(1).and_then(|below| self.chain.earliest.get(below)).copied().unwrap_or_default();
        Span { from, until: self.chain.latest.get(gap).copied().unwrap_or(u64::MAX) }
    }

    fn free_of(&self, item: usize, one: &Item) -> Free {
        let mut fits: Vec<(usize, usize)> = Vec::new();
        for span in &one.spans {
            let start = self.gaps.partition_point(|gap| self.between(gap.number).until <= span.from);
            let end = self.gaps.partition_point(|gap| self.between(gap.number).from < span.until);
            match (end.checked_sub(1).filter(|last| *last >= start), fits.last_mut()) {
                (Some(last), Some(before)) if start <= before.1.saturating_add(1) => before.1 = before.1.max(last),
                (Some(last), _) => fits.push((start, last)),
                (None, _) => {}
            }
        }
        let end = self.between(self.chain.earliest.len());
        let is_loose = one.spans.iter().any(|span| end.from < span.until || *span == PRIOR);
        Free { item, fits, is_loose, is_required: one.is_required, gap: None }
    }

    fn solve(&mut self, known: &[usize]) -> Result<(), Clash> {
        let is_bound = |free: &Free| free.is_required && !free.is_loose;
        let mut bound: Vec<usize> =
            (0..self.free.len()).filter(|one| self.free.get(*one).is_some_and(is_bound)).collect();
        let mut rest: Vec<usize> = Vec::new();
        if self.gaps.iter().any(|gap| gap.must_fill) {
            rest.extend((0..self.free.len()).filter(|one| self.free.get(*one).is_some_and(|free| !is_bound(free))));
        }
        // By the last gap that fits, so that the first one with room is mostly the right one.
        let last = |one: &usize| self.free.get(*one).and_then(|free| free.fits.last()).map(|fit| fit.1);
        bound.sort_by_key(last);
        rest.sort_by_key(last);
        let mut alive: BTreeSet<usize> = (0..self.gaps.len()).collect();
        let mut open = alive.clone();
        for one in bound {
            if !self.augment(one, &mut open, &mut alive) {
                let item = self.free.get(one).map_or(0, |free| free.item);
                return Err(Clash::NoRoom(item));
            }
        }
        // The others are wanted only where a gap must be filled.
        let must: BTreeSet<usize> =
            (0..).zip(&self.gaps).filter(|(_, gap)| gap.must_fill).map(|(gap, _)| gap).collect();
        open.retain(|gap| must.contains(gap));
        for one in rest {
            if open.is_empty() {
                break;
            }
            self.augment(one, &mut open, &mut alive);
        }
        match self.gaps.iter().find(|gap| gap.must_fill && gap.held.len() < gap.room) {
            Some(gap) => Err(Clash::Gap(known.get(gap.number).copied().unwrap_or_default())),
            None => Ok(()),
        }
    }

    /// Finds a gap for a cell, moving others if need be. `open` are gaps with room; `alive` are those from which one may
    /// be reached.
    fn augment(&mut self, one: usize, open: &mut BTreeSet<usize>, alive: &mut BTreeSet<usize>) -> bool {
        // From which cell each gap was reached.
        let mut from: BTreeMap<usize, usize> = BTreeMap::new();
        let mut queue = VecDeque::from([one]);
        while let Some(cell) = queue.pop_front() {
            let fits = self.free.get(cell).map(|free| free.fits.clone()).unwrap_or_default();
            for (start, end) in &fits {
                if let Some(gap) = open.range(start..=end).next().copied() {
                    from.insert(gap, cell);
                    self.shift(gap, one, &from);
                    if self.gaps.get(gap).is_some_and(|gap| gap.held.len() >= gap.room) {
                        open.remove(&gap);
                    }
                    alive.extend(from.into_keys());
                    return true;
                }
            }
            for (start, end) in fits {
                while let Some(gap) = alive.range(start..=end).next().copied() {
                    alive.remove(&gap);
                    from.insert(gap, cell);
                    queue.extend(self.gaps.get(gap).into_iter().flat_map(|gap| &gap.held));
                }
            }
        }
        // What was reached stays out of the way: no room is reached from there until there is more.
        false
    }

    /// Moves cells along the path that reached a gap with room.
    fn shift(&mut self, gap: usize, one: usize, from: &BTreeMap<usize, usize>) {
        let mut gap = gap;
        while let Some(cell) = from.get(&gap).copied() {
            let before = self.free.get_mut(cell).and_then(|free| free.gap.replace(gap));
            if let Some(gap) = self.gaps.get_mut(gap) {
                gap.held.push(cell);
            }
            if cell == one {
                return;
            }
            let Some(before) = before else { return };
            if let Some(left) = self.gaps.get_mut(before) {
                left.held.retain(|held| *held != cell);
            }
            gap = before;
        }
    }

    fn shares(&self) -> Vec<Share> {
        let pushed = self.pushed();
        let good = self.good();
        let only = self.only();
        let share = |item: &Item| Share { can_be: !item.spans.is_empty(), can_lack: !item.is_required, only: None };
        let mut shares: Vec<Share> = self.items.iter().map(share).collect();
        for (number, free) in self.free.iter().enumerate().filter(|(_, free)| !free.is_required) {
            let Some(share) = shares.get_mut(free.item) else { continue };
            let is_kept = free.gap.and_then(|gap| self.gaps.get(gap)).is_some_and(|gap| gap.must_fill);
            share.can_lack = !is_kept || pushed.contains(&number);
            let fits_good = || free.fits.iter().any(|(start, end)| good.range(start..=end).next().is_some());
            share.can_be = free.gap.is_some() || free.is_loose || fits_good();
            share.only = only.get(&number).copied().filter(|_| share.can_be);
        }
        shares
    }

    /// Cells that another can push out of their gap.
    fn pushed(&self) -> BTreeSet<usize> {
        let must = |gap: usize| self.gaps.get(gap).is_some_and(|gap| gap.must_fill);
        let is_spare = |free: &&Free| free.gap.is_none_or(|gap| !must(gap));
        let mut queue: VecDeque<&Free> = self.free.iter().filter(is_spare).collect();
        let mut left: BTreeSet<usize> = (0..self.gaps.len()).filter(|gap| must(*gap)).collect();
        let mut pushed = BTreeSet::new();
        while let Some(free) = queue.pop_front() {
            for (start, end) in &free.fits {
                while let Some(gap) = left.range(start..=end).next().copied() {
                    left.remove(&gap);
                    for held in self.gaps.get(gap).into_iter().flat_map(|gap| &gap.held) {
                        pushed.insert(*held);
                        queue.extend(self.free.get(*held));
                    }
                }
            }
        }
        pushed
    }

    /// Gaps into which one more cell can go, while others go elsewhere or take no effect.
    fn good(&self) -> BTreeSet<usize> {
        let can_leave = |cell: &usize| self.free.get(*cell).is_some_and(|free| !free.is_required || free.is_loose);
        let is_good = |gap: &Gap| gap.held.len() < gap.room || gap.held.iter().any(can_leave);
        let mut good: BTreeSet<usize> =
            (0..).zip(&self.gaps).filter(|(_, gap)| is_good(gap)).map(|(gap, _)| gap).collect();
        loop {
            let more: Vec<usize> = self
                .free
                .iter()
                .filter_map(|free| Some((free.gap.filter(|gap| !good.contains(gap))?, &free.fits)))
                .filter(|(_, fits)| fits.iter().any(|(start, end)| good.range(start..=end).next().is_some()))
                .map(|(gap, _)| gap)
                .collect();
            if more.is_empty() {
                return good;
            }
            good.extend(more);
        }
    }

    /// Cells of which exactly one took effect: there is one gap, with room for one, and they fit nowhere else.
    fn only(&self) -> BTreeMap<usize, usize> {
        let mut fitting: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        let mut shared: BTreeSet<usize> = BTreeSet::new();
        for (number, free) in self.free.iter().enumerate() {
            match free.fits.as_slice() {
                [(start, end)] if start == end && !free.is_loose && !free.is_required => {
                    fitting.entry(*start).or_default().push(number);
                }
                fits => fits.iter().for_each(|(start, end)| {
                    shared.extend(self.gaps.iter().enumerate().skip(*start).take(end - start + 1).map(|(gap, _)| gap));
                }),
            }
        }
        let is_one = |gap: &usize| self.gaps.get(*gap).is_some_and(|gap| gap.must_fill && gap.room == 1);
        let alone = fitting.into_iter().filter(|(gap, cells)| is_one(gap) && !shared.contains(gap) && cells.len() > 1);
        alone.flat_map(|(gap, cells)| cells.into_iter().map(move |cell| (cell, gap))).collect()
    }

    /// The span by which a cell fits a gap.
    fn span(&self, free: &Free, gap: usize) -> Option<Span> {
        let between = self.between(gap);
        let spans = self.items.get(free.item).map(|item| &item.spans)?;
        spans.iter().copied().find(|span| between.from.max(span.from) < between.until.min(span.until))
    }

    /// What is placed where, in an order in which times can grow: in each gap those first that must come first.
    fn placed(&self) -> BTreeMap<usize, Vec<(usize, Span)>> {
        let end = self.chain.earliest.len();
        // Each placed cell keeps the span by which it fits its gap; among them gaps are given anew, the earliest end first.
        let mut waiting: Vec<(usize, usize, Span)> = Vec::new();
        let mut rooms: BTreeMap<usize, usize> = BTreeMap::new();
        for free in &self.free {
            let gap = match free.gap.and_then(|gap| self.gaps.get(gap)) {
                Some(gap) => gap.number,
                None if free.is_required && self.span(free, end).is_some() => end,
                // It was there before.
                None if free.is_required => 0,
                None => continue,
            };
            let Some(span) = self.span(free, gap) else { continue };
            let first = self.chain.latest.partition_point(|until| *until <= span.from).min(gap);
            waiting.push((first, free.item, span));
            *rooms.entry(gap).or_default() += 1;
        }
        waiting.sort_by_key(|(first, item, _)| (*first, *item));
        let mut waiting = waiting.into_iter().peekable();
        let mut ready: BTreeSet<(u64, usize, Span)> = BTreeSet::new();
        let mut placed = BTreeMap::new();
        for (gap, room) in rooms {
            while let Some((_, item, span)) = waiting.next_if(|(first, _, _)| *first <= gap) {
                ready.insert((span.until, item, span));
            }
            let here: Vec<(usize, Span)> =
                std::iter::from_fn(|| ready.pop_first()).take(room).map(|(_, item, span)| (item, span)).collect();
            placed.insert(gap, here);
        }
        placed
    }
}
