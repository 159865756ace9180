//! Owns holding one expectation against a history and its final rows.
//!
//! Refuses to guess rows that no final database shows: then the expectation is open. Invariant: what is said to be met or
//! broken names what shows it.

use std::collections::BTreeMap;
use std::fmt::Debug;

use serde_json::{Value, json};

use super::schedule::{Sent, of_process};
use super::{Basis, Held, Judged, method_of, outcome_of};
use crate::history::{Call, History};
use crate::ledger::{Observation, Observed, OperationState, Rows, Told};
use crate::run::facts;
use crate::run::matrix::{
    Absent, Count, Exit, Expectation, MatrixCase, Method, OneOf, Reply, StateWord, Status, Table,
};

/// What there is to hold an expectation against.
struct Seen<'a> {
    case: &'a MatrixCase,
    history: &'a History,
    sent: &'a Sent<'a>,
}

/// Holds one expectation against a history.
pub(super) fn check(case: &MatrixCase, history: &History, sent: &Sent<'_>, expectation: &Expectation) -> Judged {
    let seen = Seen { case, history, sent };
    match expectation {
        Expectation::Reply(reply) => seen.reply(reply),
        Expectation::Count(count) => seen.count(count),
        Expectation::Status(status) => seen.status(status),
        Expectation::Absent(absent) => seen.absent(absent),
        Expectation::Exit(exit) => seen.exit(exit),
    }
}

fn judged(is_met: bool, by: Vec<Basis>, expected: String, observed: String) -> Judged {
    Judged { held: if is_met { Held::Met } else { Held::Broken }, by, expected, observed }
}

fn open(expected: String, missing: &str) -> Judged {
    Judged { held: Held::Open, by: Vec::new(), expected, observed: missing.to_owned() }
}

fn any<T: Debug>(values: &OneOf<T>) -> String {
    values.0.iter().map(|value| format!("{value:?}")).collect::<Vec<_>>().join(" or ")
}

impl Seen<'_> {
    fn call(&self, number: u32) -> Option<&Call> {
        usize::try_from(number).ok().and_then(|index| self.history.calls.get(index))
    }

    fn rows(&self) -> Option<&Rows> {
        self.history.end.as_ref().filter(|end| end.is_final).map(|end| &end.rows)
    }

    fn reply(&self, wanted: &Reply) -> Judged {
        let mut expected = format!("that step {:?} gets {}", wanted.step, any(&wanted.outcome));
        let found = self.sent.get(wanted.step.as_str()).and_then(|number| Some((*number, self.call(*number)?)));
        let Some((number, call)) = found else { return open(expected, "the step was not sent") };
        let outcome = outcome_of(&call.ask, call.told.as_ref());
        let mut by = vec![Basis::Call(number)];
        let mut is_met = outcome.is_some_and(|outcome| wanted.outcome.0.contains(&outcome));
        let mut observed = outcome.map_or_else(|| "another reply".to_owned(), |outcome| format!("{outcome:?}"));
        if let Some(step) = &wanted.equals_step {
            expected = format!("{expected} with the result of step {step:?}");
            let Some(other) = self.sent.get(step.as_str()) else {
                return open(expected, "the other step was not sent");
            };
            let effects = [Some(call), self.call(*other)].map(|call| match call.and_then(|call| call.told.as_ref()) {
                Some(Told::Effect(effect)) => Some((&effect.operation, effect.effect, &effect.result)),
                Some(_) | None => None,
            });
            by.push(Basis::Call(*other));
            if effects.iter().any(Option::is_none) || effects.first() != effects.last() {
                is_met = false;
                observed = format!("{observed}, with another result");
            }
        }
        judged(is_met, by, expected, observed)
    }

    fn count(&self, wanted: &Count) -> Judged {
        let expected = format!("{} rows in {:?} where {}", any(&wanted.n), wanted.table, json!(wanted.columns));
        let Some(rows) = self.rows() else { return open(expected, "no final database shows the rows") };
        let all = facts::rows_of(rows, wanted.table);
        let is_counted = |row: &BTreeMap<&str, Value>| {
            wanted.columns.iter().all(|(column, value)| row.get(column.as_str()) == Some(value))
        };
        let counted = (0_u32..).zip(&all).filter(|(_, row)| is_counted(row)).map(|(number, _)| number);
        let by: Vec<_> = counted.map(|number| Basis::Row(wanted.table, number)).collect();
        let n = by.len() as u64;
        judged(wanted.n.0.contains(&n), by, expected, format!("{n} rows"))
    }

    fn status(&self, wanted: &Status) -> Judged {
        let expected =
            format!("the status {} of {:?} for process {:?}", any(&wanted.state), wanted.operation, wanted.process);
        let process = self.case.process(&wanted.process);
        let reads = |send: Method, operation: &str| (send, operation) == (Method::Status, wanted.operation.as_str());
        if process.is_some_and(|process| process.steps.iter().any(|step| reads(step.send, &step.operation))) {
            let is_read = |call: &Call| method_of(&call.ask).is_some_and(|(send, operation)| reads(send, operation));
            let last = of_process(self.history, &wanted.process).filter(|(_, call)| is_read(call)).last();
            return match last.map(|(number, call)| (number, call.told.as_ref())) {
                Some((number, Some(Told::Status(told)))) => {
                    let state = told.state.map(word);
                    let learns = state == Some(StateWord::Unknown) && tells_of_effect(told);
                    let is_met = !learns && state.is_some_and(|state| wanted.state.0.contains(&state));
                    let more = if learns { " with an effect or a result" } else { "" };
                    judged(is_met, vec![Basis::Call(number)], expected, format!("{state:?}{more}"))
                }
                Some((number, _)) => judged(false, vec![Basis::Call(number)], expected, "no status".to_owned()),
                None => open(expected, "no status was read"),
            };
        }
        let (Some(rows), Some(process)) = (self.rows(), process) else {
            return open(expected, "no final database shows the rows");
        };
        let (state, by) = derived(rows, [&wanted.operation, &process.principal, &process.backend]);
        judged(wanted.state.0.contains(&state), by, expected, format!("{state:?} by the rows"))
    }

    fn absent(&self, wanted: &Absent) -> Judged {
        let expected = format!("no {:?} to process {:?}", wanted.method, wanted.process);
        let is_wanted = |call: &Call| method_of(&call.ask).is_some_and(|(method, _)| method == wanted.method);
        let found = of_process(self.history, &wanted.process).filter(|(_, call)| is_wanted(call));
        let by: Vec<_> = found.map(|(number, _)| Basis::Call(number)).collect();
        let observed = format!("{} of them", by.len());
        judged(by.is_empty(), by, expected, observed)
    }

    fn exit(&self, wanted: &Exit) -> Judged {
        let expected = format!("that process {:?} ends with {}", wanted.process, any(&wanted.code));
        let mut processes = (0_u32..).zip(&self.history.processes);
        let found = processes.find(|(_, process)| *process.name == *wanted.process);
        match found.and_then(|(number, process)| Some((number, i64::from(process.exit?)))) {
            None => open(expected, "the exit code was not recorded"),
            Some((number, code)) => {
                judged(wanted.code.0.contains(&code), vec![Basis::Process(number)], expected, code.to_string())
            }
        }
    }
}

/// Whether a status of an unknown operation tells of an effect all the same.
fn tells_of_effect(told: &Observation) -> bool {
    told.ids.as_ref().is_some_and(|ids| !ids.is_empty()) || matches!(&told.result, Some(Some(_)))
}

fn word(state: Observed) -> StateWord {
    match state {
        Observed::Applied => StateWord::Applied,
        Observed::Partial => StateWord::Partial,
        Observed::Unknown => StateWord::Unknown,
        Observed::NotApplied => StateWord::NotApplied,
    }
}

/// The status that rows give an identity, and the rows that it rests on.
fn derived(rows: &Rows, [operation, principal, backend]: [&str; 3]) -> (StateWord, Vec<Basis>) {
    let is_it = |row: &&crate::ledger::Operation| {
        (&*row.operation, &*row.principal, &*row.backend) == (operation, principal, backend)
    };
    let Some((number, row)) = (0_u32..).zip(&rows.operations).find(|(_, row)| is_it(row)) else {
        return (StateWord::Unknown, Vec::new());
    };
    let by = vec![Basis::Row(Table::Operations, number)];
    let issue = (0_u32..).zip(&rows.issues).find(|(_, issue)| Some(issue.id) == row.effect);
    let state = match row.state {
        Some(OperationState::Applied) => StateWord::Applied,
        Some(OperationState::Partial) => StateWord::Partial,
        Some(OperationState::InProgress) | None => return (StateWord::Unknown, by),
    };
    match issue {
        Some((issue, _)) => (state, [by, vec![Basis::Row(Table::Issues, issue)]].concat()),
        None => (StateWord::Unknown, by),
    }
}
