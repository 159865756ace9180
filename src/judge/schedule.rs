//! Owns holding what was sent against what the matrix schedules.
//!
//! Refuses steps that were not sent, requests that no step asked for, requests in another phase, and exit codes that don't
//! fit. Invariant: a call stands for one step at most, in the order of both; what is no matter of the ledger may come
//! anywhere.

use std::collections::BTreeMap;

use super::method_of;
use crate::finding::{Code, Finding, Place};
use crate::history::{Call, History};
use crate::ledger::{Ask, Form, Mode, Told};
use crate::name::escape;
use crate::run::matrix::{MatrixCase, Process, Step};

/// The call of each step that was sent.
pub(super) type Sent<'a> = BTreeMap<&'a str, u32>;

/// Holds a history against its case's schedule; gives the calls of the steps.
pub(super) fn check<'a>(
    case: &'a MatrixCase,
    history: &History,
    place: &impl Fn(u32) -> Place,
    findings: &mut Vec<Finding>,
) -> Sent<'a> {
    let mut sent = Sent::new();
    let (mut unsent, mut unasked) = (Vec::new(), Vec::new());
    for (phase, process) in case.processes() {
        let mut calls = of_process(history, &process.name).peekable();
        let mut steps = process.steps.iter().peekable();
        while let Some(step) = steps.next() {
            match calls.peek() {
                Some((number, call)) if fits(step, call, history, &sent) => {
                    sent.insert(&step.id, *number);
                    calls.next();
                }
                // A step that was left out is passed over just where what follows fits the next one.
                Some((_, call)) if steps.peek().is_none_or(|next| !fits(next, call, history, &sent)) => {
                    let Some((number, call)) = calls.next() else { break };
                    unasked.push((Some(phase), number, call));
                    unsent.push((phase, process, step));
                }
                Some(_) | None => unsent.push((phase, process, step)),
            }
        }
        unasked.extend(calls.map(|(number, call)| (Some(phase), number, call)));
        exit(process, history, findings);
    }
    unasked.extend(strangers(case, history));
    for (phase, number, call) in unasked {
        let elsewhere = unsent.iter().position(|(other, _, step)| Some(*other) != phase && is_like(step, &call.ask));
        let (code, message) = match elsewhere.map(|index| unsent.remove(index)) {
            Some((other, _, step)) => {
                let name = escape(step.id.as_bytes());
                (Code::JudgePhase, format!("step {name} is scheduled in phase {}, and was sent in another", other + 1))
            }
            None => (Code::JudgeRequestUnscheduled, "no step of the matrix asks for this request".to_owned()),
        };
        findings.push(Finding::new(code, place(number), message));
    }
    for (_, process, step) in unsent {
        let (step, process) = (escape(step.id.as_bytes()), escape(process.name.as_bytes()));
        let message = format!("step {step} of process {process} was not sent");
        findings.push(Finding::new(Code::JudgeStepMissing, Place::default(), message));
    }
    across(history, place, findings);
    sent
}

/// The calls of a process that are matters of the ledger, with their numbers.
pub(super) fn of_process<'h>(history: &'h History, name: &str) -> impl Iterator<Item = (u32, &'h Call)> {
    let found = history.processes.iter().position(|process| *process.name == *name);
    let is_of = move |call: &Call| found.is_some_and(|index| u32::try_from(index) == Ok(call.process));
    (0_u32..).zip(&history.calls).filter(move |(_, call)| is_of(call) && method_of(&call.ask).is_some())
}

/// The calls of processes that the matrix doesn't have.
fn strangers<'h>(case: &MatrixCase, history: &'h History) -> Vec<(Option<usize>, u32, &'h Call)> {
    let unknown = history.processes.iter().filter(|process| case.process(&process.name).is_none());
    unknown.flat_map(|process| of_process(history, &process.name)).map(|(number, call)| (None, number, call)).collect()
}

fn exit(process: &Process, history: &History, findings: &mut Vec<Finding>) {
    let found = history.processes.iter().find(|found| *found.name == *process.name);
    let code = found.and_then(|found| found.exit).map(i64::from);
    if let Some(code) = code.filter(|code| !process.exit.0.contains(code)) {
        let message =
            format!("process {} ended with another exit code than scheduled", escape(process.name.as_bytes()));
        let finding = Finding::new(Code::JudgeExit, Place::default(), message);
        findings.push(finding.values(code, format!("{:?}", process.exit.0)));
    }
}

/// Where one order is over all frames, no request is sent before one of an earlier phase.
fn across(history: &History, place: &impl Fn(u32) -> Place, findings: &mut Vec<Finding>) {
    if !history.is_ordered {
        return;
    }
    let phase_of = |call: &Call| {
        let index = usize::try_from(call.process).ok();
        index.and_then(|index| history.processes.get(index)).map_or(0, |process| process.phase)
    };
    let mut calls: Vec<_> = (0_u32..).zip(&history.calls).filter(|(_, call)| method_of(&call.ask).is_some()).collect();
    calls.sort_by_key(|(_, call)| call.sent);
    let mut latest = 0;
    for (number, call) in calls {
        let phase = phase_of(call);
        if phase < latest {
            let message = "the request was sent after one of a later phase";
            findings.push(Finding::new(Code::JudgePhase, place(number), message));
        }
        latest = latest.max(phase);
    }
}

/// Whether a request is of a step's kind: method, operation, mode and form.
fn is_like(step: &Step, ask: &Ask) -> bool {
    if method_of(ask) != Some((step.send, step.operation.as_str())) {
        return false;
    }
    let Ask::Write(write) = ask else { return true };
    let mode = match step.arguments.get("mode").map(String::as_str) {
        Some("partial") => Mode::Partial,
        Some(_) | None => Mode::Atomic,
    };
    let form = match (&step.state, &step.answer) {
        (None, _) => Form::WithoutState,
        (Some(_), None) => Form::WithoutResponses,
        (Some(_), Some(_)) => Form::Sound,
    };
    (write.mode, write.form) == (mode, form)
}

/// Whether a call is the step: of its kind, and with the state that it names, where that reply is there to tell.
fn fits(step: &Step, call: &Call, history: &History, sent: &Sent<'_>) -> bool {
    if !is_like(step, &call.ask) {
        return false;
    }
    let (Some(state), Ask::Write(write)) = (&step.state, &call.ask) else { return true };
    let issued = sent.get(state.from.as_str()).and_then(|number| usize::try_from(*number).ok());
    let told = issued.and_then(|index| history.calls.get(index)).and_then(|call| call.told.as_ref());
    match told {
        Some(Told::InputRequired { token: Some(token) }) => (write.parts.state.token == *token) != state.tampered,
        _ => true,
    }
}
