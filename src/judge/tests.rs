//! Holds judging: honest histories of the committed matrices pass, and each fault gives exactly its finding.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::history::{Call, EffectIds, Process, Snapshot};
use crate::ledger::{self, Form, Mode, Observation, Parts, Rows, State, Write};
use crate::limits::Limits;
use crate::replay::{Class, Contradiction};
use crate::run::matrix::{Expectation, MatrixDocument, StateWord};

const PYTHON: &str = include_str!("../../matrices/mcr-python/matrix.json");
const TYPESCRIPT: &str = include_str!("../../matrices/mcr-typescript/matrix.json");

fn case(matrix: &str, id: &str) -> MatrixCase {
    let matrix = MatrixDocument::load(Path::new("m"), matrix.as_bytes(), &Limits::default()).unwrap();
    matrix.cases.into_iter().find(|case| case.id == id).unwrap()
}

/// What a server that does as the case expects gives.
#[expect(clippy::too_many_lines, reason = "one table, or one story")]
fn honest(case: &MatrixCase) -> History {
    let mut history = History { ids: EffectIds::Dense, starts_empty: true, ..History::default() };
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
        let mut send = |ask: Ask, told: Option<Told>| {
            let (request, reply) =
                (At { file: number, line }, told.as_ref().map(|_| At { file: number, line: line + 1 }));
            let (sent, received) = (line, reply.map(|at| at.line));
            history.calls.push(Call { process: number, connection: number, ask, told, sent, received, request, reply });
            line += 2;
        };
        send(Ask::Other, Some(Told::Other));
        for step in &process.steps {
            let wanted = case.expectations.iter().find_map(|expectation| match expectation {
                Expectation::Reply(reply) if reply.step == step.id => reply.outcome.0.first().copied(),
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
                    tokens.insert(step.id.clone(), next);
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
                    let (token, altered) = from.unwrap_or((99, false));
                    let token = if altered { 98 } else { token };
                    let state = State { token, issued: Some(token), inner: None, altered };
                    let parts = Parts { tool: 0, arguments: 0, responses: u32::try_from(responses).unwrap(), state };
                    let form = if from.is_some() { Form::Sound } else { Form::WithoutState };
                    Ask::Write(Write { operation: operation.clone(), form, mode, parts, timing: None })
                }
            };
            let told = told(case, process, step, wanted, &operation, tokens.get(&step.id).copied());
            send(ask, told);
        }
    }
    history.end = Some(Snapshot { rows: rows(case), is_final: true });
    history
}

fn told(
    case: &MatrixCase,
    process: &crate::run::matrix::Process,
    step: &crate::run::matrix::Step,
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
        Some(Outcome::Status) | None if step.send == Method::Status => Some(status(state.copied().unwrap())),
        other => panic!("{other:?}"),
    }
}

const PARTIAL: &str = "partial 1; watcher failed; rollback failed";

fn status(state: StateWord) -> Told {
    let (state, ids, result) = match state {
        StateWord::Applied => (Observed::Applied, vec![1], Some("created 1".into())),
        StateWord::Partial => (Observed::Partial, vec![1], Some(PARTIAL.into())),
        StateWord::Unknown => (Observed::Unknown, Vec::new(), None),
        StateWord::NotApplied => (Observed::NotApplied, Vec::new(), None),
    };
    Told::Status(Box::new(Observation {
        operation: None,
        principal: None,
        backend: None,
        state: Some(state),
        authoritative: Some(true),
        fresh_write_authorized: Some(false),
        ids: Some(ids),
        result: Some(result),
        scope: None,
        binding: None,
        observed_at: None,
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
    rows.operations.push(ledger::Operation {
        operation: operation.clone(),
        principal: "alice".into(),
        backend: "sqlite:guarded-matrix".into(),
        fingerprint: None,
        state: Some(if is_partial { ledger::OperationState::Partial } else { ledger::OperationState::Applied }),
        effect: Some(1),
        result: Some(if is_partial { PARTIAL } else { "created 1" }.into()),
        issued_at: None,
        authority_expires_at: None,
        replay_expires_at: None,
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

fn explained() -> Decision {
    Decision { class: Class::Ordered, verdict: Verdict::Explained { order: Vec::new() }, lost: Vec::new() }
}

fn judged(case: &MatrixCase, history: &History, decision: &Decision) -> Judgement {
    let files: Vec<_> = history.processes.iter().map(|process| format!("{}.log", process.name)).collect();
    judge(case, &Evidence::History { history, decision, files: &files })
}

/// The standing, and each finding as `code file:line`.
fn found(case: &MatrixCase, history: &History) -> (Standing, Vec<String>) {
    let judgement = judged(case, history, &explained());
    let show = |finding: &Finding| {
        let place = &finding.place;
        let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
        format!("{} {}{line}", finding.code, place.entry.as_deref().unwrap_or_default()).trim_end().to_owned()
    };
    (judgement.standing, judgement.findings.iter().map(show).collect())
}

#[test]
fn honest_runs_of_both_matrices_pass() {
    for matrix in [PYTHON, TYPESCRIPT] {
        for number in 1..=12 {
            let case = case(matrix, &format!("{number:02}"));
            let judgement = judged(&case, &honest(&case), &explained());
            assert_eq!(
                (judgement.standing, &judgement.findings, &judgement.missing),
                (Standing::Pass, &vec![], &vec![]),
                "{number}"
            );
            assert_eq!(judgement.expectations.len(), case.expectations.len());
            assert!(!judgement.assertions.is_empty());
        }
    }
}

#[test]
fn honest_variations_pass() {
    let case = case(PYTHON, "01");
    let mut history = honest(&case);
    let extra = Call { ask: Ask::Other, told: Some(Told::Other), ..history.calls[0].clone() };
    history.calls.extend([extra.clone(), extra]);
    assert_eq!(found(&case, &history), (Standing::Pass, vec![]));

    // Twenty workers at once: a matrix that asks for them.
    let mut many = self::case(PYTHON, "08");
    let worker = many.phases[1].processes[0].clone();
    many.phases[1].processes = (0..20)
        .map(|number| {
            let mut worker = worker.clone();
            worker.name = format!("worker-{number}");
            worker.steps[0].id = format!("apply-{number}");
            worker
        })
        .collect();
    many.expectations.retain(|expectation| !matches!(expectation, Expectation::Reply(_)));
    for number in 0..20 {
        let reply =
            serde_json::json!({"reply": {"step": format!("apply-{number}"), "outcome": ["applied", "replayed"]}});
        many.expectations.push(serde_json::from_value(reply).unwrap());
    }
    many.expectations.push(
        serde_json::from_value(serde_json::json!({"reply": {"step": "first", "outcome": "input_required"}})).unwrap(),
    );
    assert_eq!(found(&many, &honest(&many)), (Standing::Pass, vec![]));
}

#[test]
#[expect(clippy::too_many_lines, reason = "one table, or one story")]
fn each_fault_gives_its_finding() {
    type Change = fn(&mut History);
    let table: [(&str, &str, Change, &[&str]); 9] = [
        (
            PYTHON,
            "09",
            |h| h.calls.push(Call { process: 1, ..h.calls[2].clone() }),
            &["judge-request-unscheduled crash.log:5", "judge-expectation crash.log:5"],
        ),
        (PYTHON, "01", |h| drop(h.calls.pop()), &["judge-step-missing"]),
        (PYTHON, "09", |h| h.processes[1].exit = Some(0), &["judge-exit"]),
        (PYTHON, "03", |h| h.calls[5].process = 0, &["judge-phase restart.log:6"]),
        (
            PYTHON,
            "04",
            |h| h.calls[3].told = Some(Told::Refused(Refusal::InProgress)),
            &["judge-expectation server.log:8"],
        ),
        (
            PYTHON,
            "01",
            |h| h.end.as_mut().unwrap().rows.issues.push(ledger::Issue { id: 2, title: "t".into(), body: "b".into() }),
            &["judge-expectation"],
        ),
        (
            PYTHON,
            "01",
            |h| {
                if let Some(Told::Effect(effect)) = &mut h.calls[3].told {
                    effect.effect = 2;
                }
            },
            &["judge-expectation server.log:6"],
        ),
        (
            TYPESCRIPT,
            "06",
            |h| {
                if let Some(Told::Status(told)) = &mut h.calls.last_mut().unwrap().told {
                    told.ids = Some(vec![1]);
                }
            },
            &["judge-expectation bob-readback.log:4"],
        ),
        (PYTHON, "01", |h| h.calls.push(Call { process: 1, ..h.calls[1].clone() }), &[]),
    ];
    for (matrix, id, change, wanted) in table {
        let case = case(matrix, id);
        let mut history = honest(&case);
        change(&mut history);
        if wanted.is_empty() {
            let stranger = Process { name: "stranger".into(), ..history.processes[0].clone() };
            history.processes.push(stranger);
            assert_eq!(found(&case, &history).1, ["judge-request-unscheduled server.log:4"]);
            continue;
        }
        assert_eq!(
            found(&case, &history),
            (Standing::Fail, wanted.iter().map(|&code| code.to_owned()).collect()),
            "{id}"
        );
    }
}

#[test]
fn one_order_over_all_frames_shows_a_request_across_phases() {
    let case = case(PYTHON, "03");
    let mut history = honest(&case);
    history.is_ordered = true;
    history.calls.iter_mut().enumerate().for_each(|(index, call)| call.sent = index as u64);
    assert_eq!(found(&case, &history), (Standing::Pass, vec![]));
    history.calls[2].sent = 100;
    assert_eq!(found(&case, &history), (Standing::Fail, vec!["judge-phase crash.log:5".to_owned()]));
}

#[test]
fn what_could_not_be_judged_keeps_its_own_standing() {
    let case = case(PYTHON, "01");
    let standing = |evidence: &Evidence<'_>| judge(&case, evidence).standing;
    assert_eq!(standing(&Evidence::Malformed(&[])), Standing::MachineryError);
    assert_eq!(standing(&Evidence::Unsupported("tasks/cancel")), Standing::Unsupported);
    assert_eq!(standing(&Evidence::Unsupported(" ")), Standing::Undecided);
    let mut history = honest(&case);
    let undecided = Verdict::Undecided { missing: vec!["a clock".to_owned()] };
    let judgement = judged(&case, &history, &Decision { verdict: undecided, ..explained() });
    assert_eq!((judgement.standing, judgement.missing), (Standing::Undecided, vec!["a clock".to_owned()]));
    let contradiction = Contradiction {
        code: Code::RunRecord,
        call: Some(2),
        shown_by: vec![2],
        message: "m".to_owned(),
        expected: "e".to_owned(),
        observed: "o".to_owned(),
    };
    let verdict = Verdict::Contradicted(Box::new(contradiction));
    let judgement = judged(&case, &history, &Decision { verdict, ..explained() });
    assert_eq!((judgement.standing, judgement.findings[0].place.line), (Standing::Fail, Some(6)));
    history.end = None;
    assert_eq!(found(&case, &history), (Standing::Undecided, vec![]));
    let bare = MatrixCase { phases: Vec::new(), expectations: Vec::new(), ..case.clone() };
    assert_eq!(found(&bare, &history), (Standing::Undecided, vec![]));
}

#[test]
fn coverage_says_what_was_ever_seen() {
    let history = honest(&case(PYTHON, "03"));
    let seen = coverage([&history]);
    assert_eq!(seen, BTreeSet::from([Outcome::InputRequired, Outcome::Lost, Outcome::Status, Outcome::Replayed]));
}
