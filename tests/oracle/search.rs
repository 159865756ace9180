//! The search: from the empty store, whatever can happen next at the ledger, until nothing new is reached.

use std::collections::BTreeSet;

use exhibit::history::{Call, History};
use exhibit::ledger::{Answer, Ask, Model, Told, Write};

use super::{Found, caller, comes_before, effect, ids, is_end, is_given_before_ledger, is_observed, mentioned};
use super::{backends, reaches_ledger, told};

/// A point between two events at the ledger.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Point {
    /// The calls that did something: a bit each.
    begun: u32,
    /// Those of them that wait for nothing more. One that takes effect in steps and has a reply does, until the last step.
    done: u32,
    model: Model,
}

struct Search<'a> {
    history: &'a History,
    mentioned: Vec<u64>,
    /// For each call: the calls with replies that come before it.
    earlier: Vec<u32>,
    /// For each call: the lost writes that come before it, if they do anything.
    lost_earlier: Vec<u32>,
    /// For each call: those that come after it.
    later: Vec<u32>,
}

fn bit(at: usize) -> u32 {
    1 << at
}

/// Tries every order. With `eager`, a reply that can be given now and changes nothing is given now, and nothing else is
/// tried at that point: an order with that reply later stays one if the reply is moved here, since it takes nothing from
/// the others and nothing that must come before it is left to come.
pub(crate) fn every_order(history: &History, eager: bool) -> Found {
    assert!(history.starts_empty && history.calls.len() <= 32, "the oracle is for small histories from an empty store");
    let calls = &history.calls;
    let mask = |is: &dyn Fn(&Call) -> bool| {
        calls.iter().enumerate().filter(|(_, call)| is(call)).map(|(at, _)| bit(at)).sum::<u32>()
    };
    let is_lost = |call: &Call| matches!(call.ask, Ask::Write(_)) && told(call).is_none();
    let search = Search {
        history,
        mentioned: mentioned(history),
        earlier: calls
            .iter()
            .map(|call| mask(&|other: &Call| told(other).is_some() && comes_before(history, other, call)))
            .collect(),
        lost_earlier: calls
            .iter()
            .map(|call| {
                mask(&|other: &Call| {
                    is_lost(other) && reaches_ledger(history, other) && comes_before(history, other, call)
                })
            })
            .collect(),
        later: calls.iter().map(|call| mask(&|other: &Call| comes_before(history, call, other))).collect(),
    };
    let answered = mask(&|call: &Call| told(call).is_some());
    let lost: Vec<usize> = (0..calls.len()).filter(|at| is_lost(&calls[*at])).collect();
    let mut found = Found { explained: false, effects: lost.iter().map(|at| (*at, (false, false))).collect() };
    for backend in backends(history) {
        let mut seen: BTreeSet<Point> = BTreeSet::new();
        let mut open = vec![Point { begun: 0, done: 0, model: Model::new(&backend) }];
        while let Some(point) = open.pop() {
            if !seen.insert(point.clone()) {
                continue;
            }
            if point.done & answered == answered && history.end.as_ref().is_none_or(|end| is_end(&point.model, end)) {
                found.note(&point, &lost);
            }
            match search.free_reply(&point).filter(|_| eager) {
                Some(next) => open.push(next),
                None => open.extend(search.next(&point)),
            }
        }
    }
    found
}

impl Found {
    fn note(&mut self, point: &Point, lost: &[usize]) {
        self.explained = true;
        for at in lost {
            let (can, can_not) = self.effects.entry(*at).or_default();
            *if point.begun & bit(*at) == 0 { can_not } else { can } = true;
        }
    }
}

impl Search<'_> {
    /// Whether the call may do something now: all that comes before it is done, and nothing that comes after it began.
    fn is_in_time(&self, point: &Point, at: usize) -> bool {
        self.earlier[at] & !point.done == 0 && self.later[at] & point.begun == 0
    }

    /// Whatever can happen next.
    fn next(&self, point: &Point) -> Vec<Point> {
        let mut all = Vec::new();
        for (at, call) in self.history.calls.iter().enumerate() {
            if !self.is_in_time(point, at) {
                continue;
            }
            if point.begun & bit(at) == 0 {
                self.answer(point, at, call, &mut all);
            } else {
                Self::step(point, at, call, &mut all);
            }
        }
        all
    }

    /// Whether one of these lost writes may still do something.
    fn is_lost_left(&self, point: &Point, lost: u32) -> bool {
        self.history.calls.iter().enumerate().any(|(at, call)| {
            let Ask::Write(write) = &call.ask else { return false };
            let is_complete = || point.model.rows[&write.operation].stage.is_terminal();
            let is_too_late = self.later[at] & point.begun != 0;
            lost & bit(at) != 0 && !is_too_late && (point.begun & bit(at) == 0 || !is_complete())
        })
    }

    /// One reply that can be given now and changes nothing.
    fn free_reply(&self, point: &Point) -> Option<Point> {
        let mut all = Vec::new();
        for (at, call) in self.history.calls.iter().enumerate() {
            let is_free = told(call).is_some() && !self.is_lost_left(point, self.lost_earlier[at]);
            if is_free && point.begun & bit(at) == 0 && self.is_in_time(point, at) {
                self.answer(point, at, call, &mut all);
            }
        }
        all.into_iter().find(|next| next.model == point.model)
    }

    /// The call is answered, if its reply can be given now. Without a reply it may take effect.
    fn answer(&self, point: &Point, at: usize, call: &Call, all: &mut Vec<Point>) {
        let after = |model, is_done| Point {
            begun: point.begun | bit(at),
            done: if is_done { point.done | bit(at) } else { point.done },
            model,
        };
        let told = told(call);
        if told.is_some_and(|told| is_given_before_ledger(self.history, call, told)) {
            all.push(after(point.model.clone(), true));
            return;
        }
        if !reaches_ledger(self.history, call) {
            return;
        }
        match (&call.ask, told) {
            (Ask::Status { operation }, Some(Told::Status(seen))) => {
                if is_observed(caller(self.history, call), operation, &point.model, seen) {
                    all.push(after(point.model.clone(), true));
                }
            }
            (Ask::Write(write), told) => {
                for id in ids(self.history, &self.mentioned, &point.model) {
                    let mut model = point.model.clone();
                    let answer = model.write(caller(self.history, call), write, id);
                    if let Some(is_done) = fits(&model, write, answer, told) {
                        all.push(after(model, is_done));
                    }
                }
            }
            (Ask::Status { .. } | Ask::FirstRound { .. } | Ask::Other, _) => {}
        }
    }

    /// The next commit of a write that takes effect in steps. It goes on without a reply, or stops for good.
    fn step(point: &Point, at: usize, call: &Call, all: &mut Vec<Point>) {
        let Ask::Write(write) = &call.ask else { return };
        let told = told(call);
        if told.is_some() && point.done & bit(at) != 0 {
            return;
        }
        for stage in point.model.rows[&write.operation].stage.next() {
            let mut model = point.model.clone();
            assert!(model.advance(&write.operation, *stage), "a next stage follows");
            let mut next = Point { model, ..point.clone() };
            let row = &next.model.rows[&write.operation];
            if let (Some(told), true) = (told, row.stage.is_terminal()) {
                if *told != effect(&write.operation, row, false) {
                    continue;
                }
                next.done |= bit(at);
            }
            all.push(next);
        }
    }
}

/// Whether the ledger's answer is what was told, and if so, whether the reply could be sent at once. A lost write counts
/// only if it takes effect.
fn fits(model: &Model, write: &Write, answer: Answer, told: Option<&Told>) -> Option<bool> {
    let row = model.rows.get(&write.operation);
    let Some(told) = told else {
        return (answer == Answer::Committed).then_some(true);
    };
    match (answer, row) {
        (Answer::Refused(refusal), _) => (*told == Told::Refused(refusal)).then_some(true),
        (Answer::Stored, Some(row)) => (*told == effect(&write.operation, row, true)).then_some(true),
        (Answer::Committed, Some(row)) if row.stage.is_terminal() => {
            (*told == effect(&write.operation, row, false)).then_some(true)
        }
        (Answer::Committed, Some(row)) => {
            matches!(told, Told::Effect(outcome) if outcome.effect == row.effect).then_some(false)
        }
        (Answer::Stored | Answer::Committed, None) => panic!("the row is there"),
    }
}
