//! Owns time where one order is over all frames: from when until when each possible winner can have taken effect.
//!
//! Refuses nothing: an empty window is none. Invariant: a time is a place between two frames.

use super::cell::{Cell, Group, Winner};
use super::ids::{Item, PRIOR, Span, join};
use crate::history::{Call, History};

/// Times begin here, so that there is one before everything.
const FIRST: u64 = 2;

/// When a call was sent.
pub(super) fn sent(history: &History, call: u32) -> u64 {
    history.calls.get(call as usize).map_or(0, |call| call.sent.saturating_add(FIRST))
}

/// When its reply was read; never, where it is lost.
pub(super) fn received(history: &History, call: u32) -> u64 {
    let received = history.calls.get(call as usize).and_then(|call| call.received);
    received.map_or(u64::MAX, |at| at.saturating_add(FIRST))
}

/// A possible winner with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Window {
    /// None: the row was there before.
    pub(super) call: Option<u32>,
    /// Which group of the cell.
    pub(super) group: usize,
    /// When the effect comes.
    pub(super) span: Span,
    /// Before this the end comes, where it must.
    pub(super) end: Option<u64>,
}

/// When each process had ended, at the latest.
pub(super) fn ends(history: &History) -> Vec<u64> {
    let phase_of = |call: &Call| history.processes.get(call.process as usize).map_or(0, |process| process.phase);
    let mut firsts: Vec<(u32, u64)> =
        history.calls.iter().map(|call| (phase_of(call), call.sent.saturating_add(FIRST))).collect();
    firsts.sort_unstable();
    // The first frame of each phase, and of any later one.
    firsts.dedup_by_key(|(phase, _)| *phase);
    let mut earliest = u64::MAX;
    for (_, at) in firsts.iter_mut().rev() {
        earliest = earliest.min(*at);
        *at = earliest;
    }
    let end = |process: &crate::history::Process| {
        let later = firsts.partition_point(|(phase, _)| *phase <= process.phase);
        let later = firsts.get(later).map_or(u64::MAX, |(_, at)| *at);
        process.ended.map_or(u64::MAX, |at| at.saturating_add(FIRST)).min(later)
    };
    history.processes.iter().map(end).collect()
}

/// The windows of a cell's possible winners, those that aren't empty.
pub(super) fn windows(history: &History, ends: &[u64], cell: &Cell) -> Vec<Window> {
    let mut windows = Vec::new();
    for (number, group) in cell.groups.iter().enumerate() {
        let bounds = Bounds::of(history, group);
        match &group.winner {
            Winner::First(first) => {
                let until = received(history, *first);
                windows.extend(bounds.window(Some(*first), number, sent(history, *first), until));
            }
            Winner::Lost(calls) => windows.extend(calls.iter().filter_map(|call| {
                let process = history.calls.get(*call as usize).map(|call| call.process as usize);
                let until = process.and_then(|process| ends.get(process)).copied().unwrap_or(u64::MAX);
                bounds.window(Some(*call), number, sent(history, *call), until)
            })),
            Winner::Prior => windows.extend(bounds.prior(number)),
        }
    }
    windows
}

/// What a group asks of times: the latest of what comes before, the earliest of what comes after.
struct Bounds {
    after_effect: u64,
    before_effect: u64,
    after_end: u64,
    before_end: u64,
    is_atomic: bool,
    must_end: bool,
}

impl Bounds {
    fn of(history: &History, group: &Group) -> Self {
        let latest = |calls: &[u32]| calls.iter().map(|call| sent(history, *call)).max().unwrap_or_default();
        let earliest = |calls: &[u32]| calls.iter().map(|call| received(history, *call)).min().unwrap_or(u64::MAX);
        Self {
            after_effect: latest(&group.after_effect),
            before_effect: earliest(&group.before_effect),
            after_end: latest(&group.after_end),
            before_end: earliest(&group.before_end),
            is_atomic: group.is_atomic,
            must_end: group.must_end,
        }
    }

    fn window(&self, call: Option<u32>, group: usize, from: u64, until: u64) -> Option<Window> {
        let end = self.before_end.min(until);
        let mut span = Span { from: from.max(self.after_effect), until: until.min(self.before_effect) };
        if self.is_atomic {
            span = Span { from: span.from.max(self.after_end), until: span.until.min(end) };
        } else if self.must_end {
            span.until = span.until.min(end);
            if self.after_end >= end {
                return None;
            }
        }
        (span.from < span.until).then_some(Window { call, group, span, end: self.must_end.then_some(end) })
    }

    /// The row was there before; its end may have been as well.
    fn prior(&self, group: usize) -> Option<Window> {
        let is_late = self.after_effect > 0 || (self.must_end && self.after_end >= self.before_end);
        let end = self.must_end.then_some(self.before_end);
        (!is_late).then_some(Window { call: None, group, span: PRIOR, end })
    }
}

/// A cell as an item that gets a time.
pub(super) fn item(cell: &Cell, windows: &[Window]) -> Item {
    let spans = join(windows.iter().map(|window| window.span).collect());
    Item { id: cell.effect, spans, is_required: cell.is_required }
}
