//! Owns honest histories of the committed matrices' cases, made in memory for tests: what a server that does as a case
//! expects gives, as if its states could be read.
//!
//! Refuses nothing. Invariant: what it makes is explained by a correct ledger and meets the case's expectations.

use std::collections::BTreeMap;
use std::path::Path;

use crate::history::{At, Call, EffectIds, History, Process, Snapshot};
use crate::ledger::{
    self, Ask, Form, Mode, Observation, Observed, Parts, Refusal, Rows, ScopeBinding, State, Timing, Told, Write,
};
use crate::limits::Limits;
use crate::run::matrix::{self, Expectation, MatrixCase, MatrixDocument, Method, Outcome, StateWord};

/// The matrix of the Python servers.
pub(crate) const PYTHON: &str = include_str!("../../matrices/mcr-python/matrix.json");
/// The matrix of the TypeScript servers.
pub(crate) const TYPESCRIPT: &str = include_str!("../../matrices/mcr-typescript/matrix.json");

/// A case of a matrix.
pub(crate) fn case(matrix: &str, id: &str) -> MatrixCase {
    let matrix = MatrixDocument::load(Path::new("m"), matrix.as_bytes(), &Limits::default()).unwrap();
    matrix.cases.into_iter().find(|case| case.id == id).unwrap()
}

/// What a server that does as the case expects gives.
#[expect(clippy::too_many_lines, reason = "one table, or one story")]
pub(crate) fn honest(case: &MatrixCase) -> History {
    let mut history =
        History { ids: EffectIds::Dense, starts_empty: true, binds_arguments: true, ..History::default() };
    // Of each first round: its token, its call and the deadlines that it set.
    let (mut tokens, mut answers) = (BTreeMap::new(), vec!["alpha"]);
    for (phase, process) in case.processes() {
        let number = u32::try_from(history.processes.len()).unwrap();
        history.processes.push(Process {
            name: process.name.as_str().into(),
            phase: u32::try_from(phase).unwrap(),
            principal: process.principal.as_str().into(),
            backend: process.backend.as_str().into(),
            clock: Some(process.clock),
            exit: process.exit.0.first().map(|code| i32::try_from(*code).unwrap()),
            ended: None,
        });
        let mut line = 1;
        let after = |seconds: Option<i64>| seconds.map(|seconds| process.clock + seconds);
        let timing = Timing {
            issued_at: process.clock,
            authority_expires_at: after(process.lifetimes.authority),
            replay_expires_at: after(process.lifetimes.replay),
            state_expires_at: after(process.lifetimes.state),
        };
        let mut send = |history: &mut History, ask: Ask, told: Option<Told>| {
            let (request, reply) =
                (At { file: number, line }, told.as_ref().map(|_| At { file: number, line: line + 1 }));
            let (sent, received) = (line, reply.map(|at| at.line));
            let id = line.to_string().into();
            history.calls.push(Call {
                process: number,
                connection: number,
                id,
                ask,
                told,
                sent,
                received,
                request,
                reply,
            });
            line += 2;
        };
        send(&mut history, Ask::Other, Some(Told::Other));
        for step in &process.steps {
            // Of those that a race allows, the first for the first that is told so, the next for the others.
            let has_applied = history.calls.iter().any(|call| matches!(call.told, Some(Told::Effect(_))));
            let wanted = case.expectations.iter().find_map(|expectation| match expectation {
                Expectation::Reply(reply) if reply.step == step.id => {
                    if has_applied {
                        reply.outcome.0.last().copied()
                    } else {
                        reply.outcome.0.first().copied()
                    }
                }
                Expectation::Reply(_)
                | Expectation::Count(_)
                | Expectation::Status(_)
                | Expectation::Absent(_)
                | Expectation::Exit(_) => None,
            });
            let operation: Box<str> = step.operation.as_str().into();
            let mode = if step.arguments.get("mode").is_some_and(|mode| mode == "partial") {
                Mode::Partial
            } else {
                Mode::Atomic
            };
            let ask = match step.send {
                Method::FirstRound => {
                    let next = u32::try_from(tokens.len()).unwrap();
                    tokens.insert(step.id.clone(), (next, u32::try_from(history.calls.len()).unwrap(), timing));
                    Ask::FirstRound { operation: operation.clone() }
                }
                Method::Status => Ask::Status { operation: operation.clone() },
                Method::Continuation => {
                    let answer = step.answer.as_deref().unwrap();
                    let responses = answers.iter().position(|known| *known == answer).unwrap_or_else(|| {
                        answers.push("beta");
                        1
                    });
                    let from = step.state.as_ref().map(|state| (tokens[&state.from], state.tampered));
                    let (state, timing) = match from {
                        Some(((token, issued, timing), false)) => {
                            (State { token, issued: Some(issued), inner: None, altered: false }, Some(timing))
                        }
                        Some((_, true)) => (State { token: 98, issued: None, inner: None, altered: true }, None),
                        None => (State { token: 99, issued: None, inner: None, altered: false }, None),
                    };
                    let parts = Parts { tool: 0, arguments: 0, responses: u32::try_from(responses).unwrap(), state };
                    let form = if from.is_some() { Form::Sound } else { Form::WithoutState };
                    Ask::Write(Write { operation: operation.clone(), form, mode, parts, timing })
                }
            };
            let told = told(case, process, step, wanted, &operation, tokens.get(&step.id).map(|of| of.0));
            send(&mut history, ask, told);
        }
    }
    history.end = Some(Snapshot { rows: rows(case), is_final: true });
    history
}

fn told(
    case: &MatrixCase,
    process: &matrix::Process,
    step: &matrix::Step,
    wanted: Option<Outcome>,
    operation: &str,
    token: Option<u32>,
) -> Option<Told> {
    let effect = |state, replayed| {
        let result = if state == Observed::Partial { PARTIAL } else { "created 1" };
        Some(Told::Effect(ledger::Outcome {
            operation: operation.into(),
            effect: 1,
            result: result.into(),
            replayed,
            state,
        }))
    };
    let state = case.expectations.iter().find_map(|expectation| match expectation {
        Expectation::Status(status) if status.process == process.name => status.state.0.first(),
        Expectation::Reply(_)
        | Expectation::Count(_)
        | Expectation::Status(_)
        | Expectation::Absent(_)
        | Expectation::Exit(_) => None,
    });
    match wanted {
        Some(Outcome::Applied) => effect(Observed::Applied, false),
        Some(Outcome::Replayed) => effect(Observed::Applied, true),
        Some(Outcome::Partial) => effect(Observed::Partial, false),
        Some(Outcome::PartialReplayed) => effect(Observed::Partial, true),
        Some(Outcome::Lost) => None,
        Some(Outcome::Conflict) => Some(Told::Refused(Refusal::Conflict)),
        Some(Outcome::AuthorityExpired) => Some(Told::Refused(Refusal::AuthorityExpired)),
        Some(Outcome::RetentionExpired) => Some(Told::Refused(Refusal::RetentionExpired)),
        Some(Outcome::Unsupported) => Some(Told::Refused(Refusal::Unsupported)),
        Some(Outcome::StateRejected) => Some(Told::StateRejected),
        Some(Outcome::InputRequired) => Some(Told::InputRequired { token }),
        Some(Outcome::Status) | None if step.send == Method::Status => {
            Some(status(process, operation, *state.unwrap()))
        }
        other => panic!("{other:?}"),
    }
}

const PARTIAL: &str = "partial 1; watcher failed; rollback failed";

fn status(process: &matrix::Process, operation: &str, state: StateWord) -> Told {
    let (state, ids, result) = match state {
        StateWord::Applied => (Observed::Applied, vec![1], Some("created 1".into())),
        StateWord::Partial => (Observed::Partial, vec![1], Some(PARTIAL.into())),
        StateWord::Unknown => (Observed::Unknown, Vec::new(), None),
        StateWord::NotApplied => (Observed::NotApplied, Vec::new(), None),
    };
    Told::Status(Box::new(Observation {
        operation: Some(operation.into()),
        principal: Some(process.principal.as_str().into()),
        backend: Some(process.backend.as_str().into()),
        state: Some(state),
        authoritative: Some(true),
        fresh_write_authorized: Some(false),
        ids: Some(ids),
        result: Some(result),
        scope: Some("exact operation id, principal and backend".into()),
        binding: Some(ScopeBinding {
            operation: Some(operation.into()),
            principal: Some(process.principal.as_str().into()),
            backend: Some(process.backend.as_str().into()),
        }),
        observed_at: Some("2026-09-22T00:00:00+00:00".into()),
    }))
}

fn rows(case: &MatrixCase) -> Rows {
    let mut rows = Rows::default();
    if ["02", "11"].contains(&case.id.as_str()) {
        return rows;
    }
    let is_partial = case.id == "12";
    let operation = format!("case-{}", case.id);
    rows.issues.push(ledger::Issue { id: 1, title: format!("guarded-{}", case.id), body: "alpha".into() });
    // The process that applied is that of the first continuation.
    let (_, applied) = case
        .processes()
        .find(|(_, process)| process.steps.iter().any(|step| step.send == Method::Continuation))
        .unwrap();
    let issued = case.processes().next().unwrap().1.clock;
    rows.backend = Some(applied.backend.clone());
    rows.operations.push(ledger::Operation {
        operation: operation.clone(),
        principal: "alice".into(),
        backend: "sqlite:guarded-matrix".into(),
        fingerprint: None,
        state: Some(if is_partial { ledger::OperationState::Partial } else { ledger::OperationState::Applied }),
        effect: Some(1),
        result: Some(if is_partial { PARTIAL } else { "created 1" }.into()),
        issued_at: Some(issued),
        authority_expires_at: applied.lifetimes.authority.map(|seconds| issued + seconds),
        replay_expires_at: applied.lifetimes.replay.map(|seconds| issued + seconds),
    });
    if is_partial {
        let (kind, outcome) = ("rollback_issue".into(), "failed:SyntheticCompensationFailure".into());
        rows.compensations.push(ledger::Compensation { issue: 1, kind, outcome });
        for (step, outcome) in [
            ("watcher", "attempted"),
            ("watcher", "failed"),
            ("rollback_issue", "attempted"),
            ("rollback_issue", "failed"),
        ] {
            let (operation, step, outcome) = (operation.clone(), step.into(), outcome.into());
            rows.events.push(ledger::Event { operation, step, outcome, error: None });
        }
    }
    rows
}
