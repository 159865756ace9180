//! Holds judging: honest histories of the committed matrices pass, and each fault gives exactly its finding.

use super::made::{PYTHON, TYPESCRIPT, case, honest};
use super::*;
use crate::history::{Call, Process};
use crate::ledger;
use crate::replay::{Class, Contradiction};
use crate::run::matrix::Expectation;

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
    let verdict = Verdict::Contradicted(vec![contradiction]);
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
