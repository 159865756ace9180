//! Owns what is to be decided: the calls of each operation that matter, with what each reply needs, and its row at the end.
//!
//! Refuses nothing. Invariant: operations stand in the order of their first call, then those of which there are only rows;
//! hiding a reply leaves its call as one whose reply was lost.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

use indexmap::IndexMap;

use super::cell::{Cell, End, Fault, Seen, Sight, examine};
use super::need::{Need, demand};
use super::window;
use crate::history::{Call, History};
use crate::ledger::{Ask, EffectIds, Operation};

/// An operation with what is looked at of it.
#[derive(Debug, Clone)]
pub(super) struct Entry<'h> {
    pub(super) operation: &'h str,
    pub(super) seen: Vec<Seen<'h>>,
    pub(super) end: End<'h>,
}

/// What is to be decided.
#[derive(Debug, Clone)]
pub(super) struct Problem<'h> {
    pub(super) history: &'h History,
    pub(super) store: Option<&'h str>,
    pub(super) ids: EffectIds,
    pub(super) entries: Vec<Entry<'h>>,
    /// When each process had ended, where one order is over all frames.
    pub(super) ends: Rc<[u64]>,
    /// These are all of the history's operations.
    pub(super) is_whole: bool,
}

/// The operation that a call is about.
fn operation_of(ask: &Ask) -> Option<&str> {
    match ask {
        Ask::FirstRound { operation } | Ask::Status { operation } => Some(operation),
        Ask::Write(write) => Some(&write.operation),
        Ask::Other => None,
    }
}

/// The backend that the store is bound to: as the database says, or as all processes have it.
fn store_of(history: &History) -> Option<&str> {
    let held = history.end.as_ref().and_then(|end| end.rows.backend.as_deref());
    held.or_else(|| {
        let backends: BTreeSet<&str> = history.processes.iter().map(|process| &*process.backend).collect();
        let mut known = backends.into_iter().filter(|backend| !backend.is_empty());
        known.next().filter(|_| known.next().is_none())
    })
}

fn rows_of(history: &History) -> BTreeMap<&str, &Operation> {
    let rows = history.end.iter().flat_map(|end| &end.rows.operations);
    rows.map(|row| (row.operation.as_str(), row)).collect()
}

impl<'h> Problem<'h> {
    /// All of a history.
    pub(super) fn of(history: &'h History) -> Self {
        let store = store_of(history);
        let rows = rows_of(history);
        let is_final = history.end.as_ref().is_some_and(|end| end.is_final);
        let end_of = |operation: &str| match (rows.get(operation), &history.end) {
            (Some(row), _) => End::Row { row, is_final },
            (None, Some(_)) if is_final => End::Absent,
            (None, _) => End::Open,
        };
        let mut numbers: IndexMap<&str, usize> = IndexMap::new();
        let mut entries: Vec<Entry<'_>> = Vec::new();
        for (number, call) in (0_u32..).zip(&history.calls) {
            let Some(operation) = operation_of(&call.ask) else { continue };
            let Some(seen) = look(history, store, number, call, true) else { continue };
            let next = entries.len();
            let index = *numbers.entry(operation).or_insert(next);
            if index == next {
                entries.push(Entry { operation, seen: Vec::new(), end: end_of(operation) });
            }
            if let Some(entry) = entries.get_mut(index) {
                entry.seen.push(seen);
            }
        }
        for operation in rows.keys().filter(|operation| !numbers.contains_key(*operation)) {
            entries.push(Entry { operation, seen: Vec::new(), end: end_of(operation) });
        }
        let ends = window::ends(history).into();
        Self { history, store, ids: history.ids, entries, ends, is_whole: true }
    }

    /// Some of the operations, and of their replies those that `shows` says. Other effects may have taken any id.
    pub(super) fn part(&self, entries: &[usize], shows: &dyn Fn(u32) -> bool, with_end: bool) -> Self {
        let ids = match (self.ids, entries) {
            (EffectIds::Opaque, _) | (_, [_]) => EffectIds::Opaque,
            (EffectIds::Dense | EffectIds::Increasing, _) => EffectIds::Increasing,
        };
        let part = |index: &usize| {
            let entry = self.entries.get(*index)?;
            let seen = entry
                .seen
                .iter()
                .filter_map(|seen| look(self.history, self.store, seen.number, seen.call, shows(seen.number)))
                .collect();
            let end = if with_end { entry.end } else { End::Open };
            Some(Entry { operation: entry.operation, seen, end })
        };
        Self { ids, entries: entries.iter().filter_map(part).collect(), ..self.clone_empty() }
    }

    /// The calls whose events are looked at: of a whole history all.
    pub(super) fn calls(&self) -> Vec<u32> {
        if self.is_whole {
            return (0..u32::try_from(self.history.calls.len()).unwrap_or(u32::MAX)).collect();
        }
        self.entries.iter().flat_map(|entry| &entry.seen).map(|seen| seen.number).collect()
    }

    /// The same history, with nothing to decide.
    pub(super) fn clone_empty(&self) -> Self {
        let (entries, ends) = (Vec::new(), Rc::clone(&self.ends));
        Self { history: self.history, store: self.store, ids: self.ids, entries, ends, is_whole: false }
    }

    /// What each operation is, or the numbers of those that can't be.
    pub(super) fn cells(&self, sight: Sight) -> Result<Vec<Cell>, Vec<(usize, Fault)>> {
        let mut cells = Vec::with_capacity(self.entries.len());
        let mut faults = Vec::new();
        for (number, entry) in self.entries.iter().enumerate() {
            match examine(self.history, &entry.seen, entry.end, sight) {
                Ok(cell) => cells.push(cell),
                Err(fault) => faults.push((number, fault)),
            }
        }
        if faults.is_empty() { Ok(cells) } else { Err(faults) }
    }
}

/// A call with what its reply needs; none where it is no matter to its operation.
fn look<'h>(
    history: &'h History,
    store: Option<&str>,
    number: u32,
    call: &'h Call,
    is_shown: bool,
) -> Option<Seen<'h>> {
    let told = call.told.as_ref().filter(|_| is_shown);
    let demand = demand(history, call, told, store);
    let matters = demand.need != Need::Nothing || demand.commits != Some(false) || demand.open;
    matters.then_some(Seen { number, call, told, demand })
}
