//! Owns time where no order is over all frames: the events of all connections, phases and operations, fired forward.
//!
//! Refuses to order what nothing orders. Invariant: an event fires once everything that must come before it has; what can
//! fire never stops being able to, so that one pass decides one choice of winners.

use super::cell::{Cell, Group, Winner};
use super::choice::{Choice, End};
use super::solve::Win;
use crate::history::{Call, History};

/// Events with what must come before what.
pub(super) struct Graph<'a> {
    history: &'a History,
    /// The order of connections and phases.
    fixed: Vec<(u32, u32)>,
    /// Phases in their order; between two of them lies a barrier.
    phases: Vec<u32>,
    /// The calls whose events these are, in their order.
    calls: Vec<u32>,
}

/// What came of a choice.
pub(super) enum Fired {
    /// All events, and when.
    All(Vec<u64>),
    /// Operations on a circle: none of these can come first.
    Circle(Vec<usize>),
}

fn phase_of(history: &History, call: &Call) -> u32 {
    history.processes.get(call.process as usize).map_or(0, |process| process.phase)
}

impl<'a> Graph<'a> {
    /// The events of some calls. Those of others order nothing that these don't.
    pub(super) fn of(history: &'a History, mut calls: Vec<u32>) -> Self {
        calls.sort_unstable();
        let of = |call: &u32| history.calls.get(*call as usize);
        let mut phases: Vec<u32> = calls.iter().filter_map(of).map(|call| phase_of(history, call)).collect();
        phases.sort_unstable();
        phases.dedup();
        let mut events: Vec<(u32, u64, u32)> = Vec::with_capacity(calls.len().saturating_mul(2));
        for (place, call) in (0_u32..).zip(calls.iter().filter_map(of)) {
            events.push((call.connection, call.sent, place.saturating_mul(2)));
            events.extend(call.received.map(|at| (call.connection, at, place.saturating_mul(2).saturating_add(1))));
        }
        events.sort_unstable();
        let mut graph = Self { history, fixed: Vec::new(), phases, calls };
        for (before, after) in events.iter().zip(events.iter().skip(1)) {
            if before.0 == after.0 {
                graph.fixed.push((before.2, after.2));
            }
        }
        graph.phase(&events);
        graph
    }

    /// The event of a call's sending.
    fn sent(&self, call: u32) -> u32 {
        // Where all calls are there, each stands in its own place.
        let own = self.calls.get(call as usize) == Some(&call);
        let place = if own { Ok(call as usize) } else { self.calls.binary_search(&call) };
        place.ok().and_then(|place| u32::try_from(place).ok()).map_or(u32::MAX, |place| place.saturating_mul(2))
    }

    /// The event of a reply.
    fn received(&self, call: u32) -> u32 {
        self.sent(call).saturating_add(1)
    }

    fn count(&self) -> u32 {
        u32::try_from(self.calls.len()).unwrap_or(u32::MAX)
    }

    /// Each connection's events lie between the barriers of its phase.
    fn phase(&mut self, events: &[(u32, u64, u32)]) {
        for (number, _) in (0..).zip(&self.phases).skip(2) {
            self.fixed.push((self.barrier(number - 1), self.barrier(number)));
        }
        for (_, _, node) in events {
            let call = self.calls.get((node / 2) as usize).and_then(|call| self.history.calls.get(*call as usize));
            let Some(call) = call else { continue };
            let phase = self.phases.partition_point(|phase| *phase < phase_of(self.history, call));
            let Ok(phase) = u32::try_from(phase) else { continue };
            if phase > 0 {
                self.fixed.push((self.barrier(phase), *node));
            }
            if phase.saturating_add(1) < self.barriers() {
                self.fixed.push((*node, self.barrier(phase.saturating_add(1))));
            }
        }
    }

    fn barriers(&self) -> u32 {
        u32::try_from(self.phases.len()).unwrap_or(u32::MAX)
    }

    /// The barrier before a phase.
    fn barrier(&self, phase: u32) -> u32 {
        self.count().saturating_mul(2).saturating_add(phase)
    }

    /// The barrier by which a call's process has ended, where there is a later phase.
    pub(super) fn end_of(&self, call: u32) -> Option<End> {
        let call = self.history.calls.get(call as usize)?;
        let later = self.phases.partition_point(|phase| *phase <= phase_of(self.history, call));
        u32::try_from(later).ok().filter(|later| *later < self.barriers()).map(End)
    }

    fn effect(&self, cell: usize) -> u32 {
        let base = self.count().saturating_mul(2).saturating_add(self.barriers());
        u32::try_from(cell).unwrap_or(u32::MAX).saturating_mul(2).saturating_add(base)
    }

    /// Fires all events under a choice of winners, and an order among effects: pairs of operations.
    pub(super) fn fire(&self, cells: &[Cell], choices: &[Option<&Choice>], order: &[(usize, usize)]) -> Fired {
        let nodes = self.effect(cells.len()) as usize;
        let mut edges: Vec<(u32, u32)> = Vec::new();
        // The operation whose effect waits for the first of several sendings, by the event of the sending.
        let mut waits: Vec<(u32, u32)> = Vec::new();
        for (number, (cell, choice)) in cells.iter().zip(choices).enumerate() {
            let Some(choice) = choice else { continue };
            let Some(group) = cell.groups.get(choice.group) else { continue };
            self.win(number, group, choice, &mut edges, &mut waits);
        }
        edges.extend(order.iter().map(|(before, after)| (self.effect(*before), self.effect(*after))));
        waits.sort_unstable();
        let mut firing = Firing::new(nodes, self.fixed.iter().chain(&edges));
        // Each effect that waits for one of several has one more event to wait for.
        let mut waiting: Vec<u32> = waits.iter().map(|(_, effect)| *effect).collect();
        waiting.sort_unstable();
        waiting.dedup();
        waiting.iter().for_each(|effect| firing.wait(*effect));
        firing.run(&waits, &mut waiting);
        if firing.fired == nodes {
            return Fired::All(firing.when);
        }
        let all = || self.fixed.iter().chain(&edges).copied().chain(waits.iter().copied());
        Fired::Circle(self.circle(&firing, all))
    }

    fn win(
        &self,
        number: usize,
        group: &Group,
        choice: &Choice,
        edges: &mut Vec<(u32, u32)>,
        waits: &mut Vec<(u32, u32)>,
    ) {
        let effect = self.effect(number);
        let end = if group.is_atomic { effect } else { effect.saturating_add(1) };
        match (&group.winner, choice.calls.as_slice()) {
            (Winner::First(call), _) => edges.extend([(self.sent(*call), effect), (end, self.received(*call))]),
            (Winner::Lost(_), [call]) => edges.push((self.sent(*call), effect)),
            (Winner::Lost(_), calls) => waits.extend(calls.iter().map(|call| (self.sent(*call), effect))),
            (Winner::Prior, _) => {}
        }
        let is_prior = group.winner == Winner::Prior;
        if !is_prior {
            edges.extend(group.after_effect.iter().map(|call| (self.sent(*call), effect)));
            edges.extend(group.before_effect.iter().map(|call| (effect, self.received(*call))));
        }
        if !group.must_end {
            edges.extend(choice.end.map(|barrier| (effect, self.barrier(barrier.0))));
            return;
        }
        if !group.is_atomic && !is_prior {
            edges.push((effect, end));
        }
        edges.extend(group.after_end.iter().map(|call| (self.sent(*call), end)));
        edges.extend(group.before_end.iter().map(|call| (end, self.received(*call))));
        edges.extend(choice.end.map(|barrier| (end, self.barrier(barrier.0))));
    }

    /// The operations on a circle of events that did not fire.
    fn circle<I: Iterator<Item = (u32, u32)>>(&self, firing: &Firing, edges: impl Fn() -> I) -> Vec<usize> {
        let has_fired = |node: u32| firing.when.get(node as usize).is_none_or(|when| *when > 0);
        // One event that each of them waits for.
        let mut before: Vec<Option<u32>> = vec![None; firing.when.len()];
        for (from, to) in edges() {
            if let Some(slot) = before.get_mut(to as usize).filter(|_| !has_fired(from) && !has_fired(to)) {
                *slot = slot.or(Some(from));
            }
        }
        let Some(mut at) = before.iter().position(Option::is_some) else { return Vec::new() };
        let mut passed = vec![false; before.len()];
        let step = |at: usize| before.get(at).copied().flatten().map(|node| node as usize);
        while let Some(slot) = passed.get_mut(at).filter(|passed| !**passed) {
            *slot = true;
            let Some(next) = step(at) else { return Vec::new() };
            at = next;
        }
        let base = self.effect(0) as usize;
        let (mut cells, start) = (Vec::new(), at);
        loop {
            cells.extend(at.checked_sub(base).map(|cell| cell / 2));
            match step(at) {
                Some(next) if next != start => at = next,
                Some(_) | None => break,
            }
        }
        cells.sort_unstable();
        cells.dedup();
        cells
    }

    /// Who won, and when, once all events have fired.
    pub(super) fn win_of(&self, number: usize, cell: &Cell, choice: &Choice, when: &[u64]) -> Option<Win> {
        let at = |node: u32| when.get(node as usize).copied().unwrap_or_default();
        let group = cell.groups.get(choice.group)?;
        let effect = at(self.effect(number));
        let end = if group.is_atomic { effect } else { at(self.effect(number).saturating_add(1)) };
        let end = group.must_end.then_some((end, u32::from(!group.is_atomic)));
        let winner = match &group.winner {
            Winner::First(first) => Some(*first),
            Winner::Lost(_) => choice.calls.iter().copied().find(|call| at(self.sent(*call)) < effect),
            Winner::Prior => return Some(Win { call: None, effect: (0, 0), end }),
        };
        Some(Win { call: winner, effect: (effect, 0), end })
    }

    /// When each call was sent and answered.
    pub(super) fn positions(&self, when: &[u64]) -> Vec<(u64, u64)> {
        let at = |node: u32| when.get(node as usize).copied().unwrap_or_default();
        let all = 0..u32::try_from(self.history.calls.len()).unwrap_or(u32::MAX);
        all.map(|call| (at(self.sent(call)), at(self.received(call)))).collect()
    }
}

/// Events that fire once nothing is left that they wait for.
struct Firing {
    /// Where the events that wait for each one begin, in `after`.
    starts: Vec<u32>,
    after: Vec<u32>,
    waits_for: Vec<u32>,
    /// From 1; 0 for what hasn't fired.
    when: Vec<u64>,
    fired: usize,
}

impl Firing {
    fn new<'e>(nodes: usize, edges: impl Iterator<Item = &'e (u32, u32)> + Clone) -> Self {
        let mut starts = vec![0_u32; nodes.saturating_add(1)];
        let mut waits_for = vec![0_u32; nodes];
        for (from, to) in edges.clone() {
            if let Some(count) = starts.get_mut((*from as usize).saturating_add(1)) {
                *count = count.saturating_add(1);
            }
            if let Some(count) = waits_for.get_mut(*to as usize) {
                *count = count.saturating_add(1);
            }
        }
        let mut sum = 0_u32;
        for start in &mut starts {
            sum = sum.saturating_add(*start);
            *start = sum;
        }
        let mut next = starts.clone();
        let mut after = vec![0_u32; sum as usize];
        for (from, to) in edges {
            let Some(place) = next.get_mut(*from as usize) else { continue };
            if let Some(slot) = after.get_mut(*place as usize) {
                *slot = *to;
            }
            *place = place.saturating_add(1);
        }
        Self { starts, after, waits_for, when: vec![0; nodes], fired: 0 }
    }

    fn wait(&mut self, node: u32) {
        if let Some(count) = self.waits_for.get_mut(node as usize) {
            *count = count.saturating_add(1);
        }
    }

    /// `waits`: which effect waits for the first of several sendings, by the sending; `waiting`: those for which none has come.
    fn run(&mut self, waits: &[(u32, u32)], waiting: &mut Vec<u32>) {
        let mut ready: Vec<u32> =
            (0_u32..).zip(&self.waits_for).filter(|(_, count)| **count == 0).map(|(node, _)| node).collect();
        let mut done = 0;
        while let Some(node) = ready.get(done).copied() {
            done += 1;
            self.fired += 1;
            if let Some(slot) = self.when.get_mut(node as usize) {
                *slot = (self.fired as u64).saturating_mul(2);
            }
            let range = |node: usize| self.starts.get(node).copied().unwrap_or_default() as usize;
            for index in range(node as usize)..range((node as usize).saturating_add(1)) {
                let Some(to) = self.after.get(index).copied() else { continue };
                ready.extend(self.waits_for.get_mut(to as usize).and_then(one_less).map(|()| to));
            }
            // Whose sending this is, if it is one; effects wait for the first of several.
            let Ok(found) = waits.binary_search_by_key(&node, |(sending, _)| *sending) else { continue };
            let effect = waits.get(found).map_or(0, |(_, effect)| *effect);
            if let Ok(place) = waiting.binary_search(&effect) {
                waiting.remove(place);
                ready.extend(self.waits_for.get_mut(effect as usize).and_then(one_less).map(|()| effect));
            }
        }
    }
}

/// One event less to wait for; says if none is left.
fn one_less(count: &mut u32) -> Option<()> {
    *count = count.saturating_sub(1);
    (*count == 0).then_some(())
}
