//! Holds deciding a history against an oracle that tries every order, on many small histories. The oracle itself is held
//! against histories whose answer is known, and against honest ones, which are always explained.
#![expect(clippy::expect_used, reason = "a test's own histories are in order, or it fails")]
#![expect(clippy::unnecessary_wraps, reason = "a reply may be lost, so what is told is optional wherever it is made")]

mod oracle;

use exhibit::finding::Code;
use exhibit::history::{History, Snapshot};
use exhibit::ledger::{
    Ask, EffectIds, Form, Issue, Mode, Observation, Observed, Operation, OperationState, Refusal, Rows, Timing, Told,
};
use exhibit::replay::{Class, Contradiction, Decision, Effect, Lost, Verdict};

use oracle::compare::{self, Counts, compare};
use oracle::generate::{self, Random};
use oracle::made::{BACKEND, Made, NOW, With, forever, refused, with};
use oracle::{mutate, search};

fn is_explained(made: &Made) -> bool {
    oracle::oracle(&made.history).explained
}

/// Whether a lost write can, and whether it can't have taken effect.
fn lost(made: &Made, call: usize) -> (bool, bool) {
    let found = oracle::oracle(&made.history);
    assert!(found.explained);
    found.effects[&call]
}

const MUST: (bool, bool) = (true, false);
const MAY: (bool, bool) = (true, true);
const CANNOT: (bool, bool) = (false, true);

fn applied_row(operation: &str, principal: &str, effect: i64) -> Operation {
    Operation {
        operation: operation.into(),
        principal: principal.into(),
        backend: BACKEND.into(),
        fingerprint: None,
        state: Some(OperationState::Applied),
        effect: Some(effect),
        result: Some(format!("created {effect}")),
        issued_at: Some(NOW),
        authority_expires_at: None,
        replay_expires_at: None,
    }
}

fn snapshot(operations: Vec<Operation>, is_final: bool) -> Snapshot {
    let mut ids: Vec<i64> = operations.iter().filter_map(|row| row.effect).collect();
    ids.sort_unstable();
    let issues = ids.into_iter().map(|id| Issue { id, title: String::new(), body: String::new() }).collect();
    Snapshot { rows: Rows { backend: Some(BACKEND.into()), operations, issues, ..Rows::default() }, is_final }
}

// ---- what hangs together over operations and connections ----

#[test]
fn two_statuses_that_cross_are_impossible() {
    for (second, wanted) in [("y", false), ("z", true)] {
        let mut made = Made::new();
        made.history.is_ordered = false;
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", 0, NOW));
        let (x, y) = (made.first(a, "x"), made.first(b, "y"));
        made.write(a, with(x), Made::told("x", 1, false));
        made.status(a, second, None);
        made.write(b, with(y), Made::told("y", 2, false));
        made.status(b, "x", None);
        assert!(!is_explained(&made), "the first effect has the first id");
        made.history.ids = EffectIds::Opaque;
        assert_eq!(is_explained(&made), wanted);
    }
}

/// X took effect, one write of Y is lost, and where `conflict` says so another write of Y conflicts; then Z has an id.
fn between(conflict: bool, id: u64) -> (Made, usize) {
    let mut made = Made::new();
    let a = made.process("alice", 0, NOW);
    let (x, y, z) = (made.first(a, "x"), made.first(a, "y"), made.first(a, "z"));
    made.write(a, with(x), Made::told("x", 1, false));
    let lost = made.write(a, with(y), None);
    if conflict {
        made.write(a, With { answer: 2, ..with(y) }, refused(Refusal::Conflict));
    }
    made.write(a, with(z), Made::told("z", id, false));
    (made, lost)
}

#[test]
fn an_effect_needs_an_id() {
    assert!(!is_explained(&between(true, 2).0));
    let (made, call) = between(true, 3);
    assert_eq!(lost(&made, call), MUST);
    let (made, call) = between(false, 3);
    assert_eq!(lost(&made, call), MUST);
    let (made, call) = between(false, 2);
    assert_eq!(lost(&made, call), MAY, "it may have come after z");
    assert!(!is_explained(&between(false, 4).0));
    for (ids, wanted) in [(EffectIds::Increasing, false), (EffectIds::Opaque, true)] {
        let (mut made, _) = between(true, 2);
        made.history.ids = ids;
        assert_eq!(is_explained(&made), wanted, "{ids:?}");
    }
}

#[test]
fn two_lost_writes_and_one_gap_are_exactly_one() {
    let mut made = Made::new();
    let a = made.process("alice", 0, NOW);
    let later = made.process("alice", 1, NOW);
    let (x, y, z) = (made.first(a, "x"), made.first(a, "y"), made.first(a, "z"));
    let (one, two) = (made.write(a, with(x), None), made.write(a, with(y), None));
    made.end(a);
    made.write(later, with(z), Made::told("z", 2, false));
    assert_eq!((lost(&made, one), lost(&made, two)), (MAY, MAY));
    let settled = made.status(later, "x", None);
    assert_eq!((lost(&made, one), lost(&made, two)), (CANNOT, MUST), "{settled}");
    made.status(later, "y", None);
    assert!(!is_explained(&made));
}

#[test]
fn what_crashed_before_a_status_says_unknown_took_no_effect() {
    for (phase, ended, is_ordered, wanted) in [
        (1, false, true, CANNOT),
        (1, false, false, CANNOT),
        (0, true, true, CANNOT),
        (0, true, false, MAY),
        (0, false, true, MAY),
    ] {
        let mut made = Made::new();
        made.history.is_ordered = is_ordered;
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", phase, NOW));
        let x = made.first(a, "x");
        let call = made.write(a, with(x), None);
        if ended {
            made.end(a);
        }
        made.status(b, "x", None);
        assert_eq!(lost(&made, call), wanted, "{phase} {ended} {is_ordered}");
    }
}

#[test]
fn an_unrecognized_reply_is_as_open_as_a_lost_one() {
    let mut made = Made::new();
    let a = made.process("alice", 0, NOW);
    let x = made.first(a, "x");
    let call = made.write(a, with(x), Some(Told::Unrecognized));
    assert_eq!(lost(&made, call), MAY);
    made.status(a, "x", None);
    assert_eq!(lost(&made, call), MAY, "it may come later still");
    made.applied(a, "x", 1);
    assert_eq!(lost(&made, call), MUST);
    made.status(a, "x", None);
    assert!(!is_explained(&made));
}

#[test]
fn requests_in_flight_together_are_not_ordered() {
    for (is_late, wanted) in [(false, true), (true, false)] {
        let mut made = Made::new();
        let a = made.process("alice", 0, NOW);
        let x = made.first(a, "x");
        let write = made.write(a, with(x), Made::told("x", 1, false));
        let status = made.status(a, "x", None);
        if !is_late {
            made.history.calls[status].sent = made.history.calls[write].sent;
        }
        assert_eq!(is_explained(&made), wanted);
    }
}

#[test]
fn connections_are_ordered_only_where_frames_are() {
    for is_ordered in [true, false] {
        let mut made = Made::new();
        made.history.is_ordered = is_ordered;
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", 0, NOW));
        let x = made.first(a, "x");
        made.write(a, with(x), Made::told("x", 1, false));
        made.status(b, "x", None);
        assert_eq!(is_explained(&made), !is_ordered);
    }
}

// ---- partial mode ----

fn partial(token: usize) -> With {
    With { mode: Mode::Partial, ..with(token) }
}

#[test]
fn a_partial_write_is_seen_only_when_it_is_complete() {
    let text = "partial 1; watcher failed; rollback failed";
    for (between, wanted) in [(None, true), (Some(Observed::Partial), true), (Some(Observed::Applied), false)] {
        let mut made = Made::new();
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", 0, NOW));
        let x = made.first(a, "x");
        let write = made.write(a, partial(x), Made::told_partial("x", 1, false));
        made.write(b, partial(x), refused(Refusal::InProgress));
        made.status(b, "x", between.map(|state| (state, 1, text)));
        made.history.calls[write].received = Some(50);
        assert_eq!(is_explained(&made), wanted, "{between:?}");
        made.status(b, "x", None);
        assert_eq!(is_explained(&made), between.is_none(), "a complete row stays so");
    }
}

#[test]
fn a_crash_may_leave_a_partial_write_in_any_state() {
    for (then, wanted) in [
        (refused(Refusal::InProgress), MUST),
        (Made::told_partial("x", 1, true), MUST),
        (Made::told_partial("x", 1, false), CANNOT),
        (refused(Refusal::Conflict), (false, false)),
    ] {
        let mut made = Made::new();
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", 1, NOW));
        let x = made.first(a, "x");
        let call = made.write(a, partial(x), None);
        made.write(b, partial(x), then.clone());
        assert_eq!(oracle::oracle(&made.history).effects[&call], wanted, "{then:?}");
        made.write(b, partial(x), refused(Refusal::InProgress));
        assert_eq!(is_explained(&made), then == refused(Refusal::InProgress), "nobody goes on with it");
    }
}

// ---- snapshots ----

#[test]
fn a_final_snapshot_settles_and_another_shows_some() {
    for (rows, is_final, wanted) in [
        (vec![], true, CANNOT),
        (vec![], false, MAY),
        (vec![applied_row("x", "alice", 1)], true, MUST),
        (vec![applied_row("x", "alice", 1)], false, MUST),
        (vec![applied_row("x", "alice", 2)], true, (false, false)),
        (vec![applied_row("x", "bob", 1)], false, (false, false)),
        (vec![applied_row("y", "alice", 1)], false, (false, false)),
        (vec![applied_row("x", "alice", 1), applied_row("x", "alice", 1)], false, (false, false)),
    ] {
        let mut made = Made::new();
        let a = made.process("alice", 0, NOW);
        let x = made.first(a, "x");
        let call = made.write(a, with(x), None);
        made.end_with(snapshot(rows.clone(), is_final));
        assert_eq!(oracle::oracle(&made.history).effects[&call], wanted, "{rows:?} {is_final}");
    }
}

#[test]
fn issues_are_those_of_the_rows() {
    for is_final in [true, false] {
        let mut made = Made::new();
        let a = made.process("alice", 0, NOW);
        let x = made.first(a, "x");
        made.write(a, with(x), Made::told("x", 1, false));
        let mut end = snapshot(vec![applied_row("x", "alice", 1)], is_final);
        made.end_with(end.clone());
        assert!(is_explained(&made));
        end.rows.issues.clear();
        made.end_with(end);
        assert!(!is_explained(&made));
    }
}

#[test]
fn a_row_in_progress_was_left_by_a_partial_write() {
    for (mode, is_final, is_lost, wanted) in [
        (Mode::Atomic, true, true, false),
        (Mode::Atomic, false, true, false),
        (Mode::Partial, true, true, true),
        (Mode::Partial, true, false, false),
        (Mode::Partial, false, false, true),
    ] {
        let mut made = Made::new();
        let a = made.process("alice", 0, NOW);
        let x = made.first(a, "x");
        let told = if is_lost { None } else { Made::told_partial("x", 1, false) };
        made.write(a, With { mode, ..with(x) }, told);
        let row = Operation { state: Some(OperationState::InProgress), result: None, ..applied_row("x", "alice", 1) };
        made.end_with(snapshot(vec![row], is_final));
        assert_eq!(is_explained(&made), wanted, "{mode:?} {is_final} {is_lost}");
    }
}

#[test]
fn a_process_of_another_backend_meets_a_conflict_and_knows_nothing() {
    for (told, shown, wanted) in [
        (refused(Refusal::Conflict), None, true),
        (Made::told("x", 1, true), None, false),
        (refused(Refusal::Conflict), Some((Observed::Applied, 1, "created 1")), false),
    ] {
        let mut made = Made::new();
        let (a, b) = (made.process("alice", 0, NOW), made.process("alice", 0, NOW));
        made.history.processes[b as usize].backend = "sqlite:other".into();
        let x = made.first(a, "x");
        made.write(a, with(x), Made::told("x", 1, false));
        made.write(b, with(x), told);
        made.status(b, "x", shown);
        made.end_with(snapshot(vec![applied_row("x", "alice", 1)], true));
        assert_eq!(is_explained(&made), wanted);
    }
}

// ---- what one reply says ----

#[test]
fn a_status_says_all_that_it_must() {
    let broken: [fn(&mut Observation); 12] = [
        |seen| seen.authoritative = None,
        |seen| seen.fresh_write_authorized = Some(true),
        |seen| seen.scope = Some(" ".into()),
        |seen| seen.operation = Some("y".into()),
        |seen| seen.principal = None,
        |seen| seen.backend = Some("sqlite:other".into()),
        |seen| seen.binding.iter_mut().for_each(|bound| bound.principal = Some("bob".into())),
        |seen| seen.state = Some(Observed::Partial),
        |seen| seen.state = Some(Observed::NotApplied),
        |seen| seen.ids = Some(vec![1, 1]),
        |seen| seen.result = Some(None),
        |seen| seen.result = Some(Some("created 1 with watcher".into())),
    ];
    let with_status = |change: fn(&mut Observation)| {
        let mut made = case(1);
        let at = made.applied(0, "x", 1);
        if let Some(Told::Status(seen)) = &mut made.history.calls[at].told {
            change(seen);
        }
        is_explained(&made)
    };
    assert!(with_status(|seen| seen.binding = None), "older servers have no structured scope");
    for (number, change) in broken.into_iter().enumerate() {
        assert!(!with_status(change), "{number}");
    }
}

#[test]
fn what_lacks_a_part_never_reaches_the_ledger() {
    let asked_again = Some(Told::InputRequired { token: None });
    for (form, clock, told, wanted) in [
        (Form::WithoutState, NOW, refused(Refusal::Unsupported), true),
        (Form::WithoutState, NOW, refused(Refusal::NotAccepted), false),
        (Form::WithoutResponses, NOW, refused(Refusal::Unsupported), true),
        (Form::WithoutResponses, NOW, Made::told("x", 1, false), false),
        (Form::NotAccepted, NOW, refused(Refusal::NotAccepted), true),
        (Form::NotAccepted, NOW, refused(Refusal::Conflict), false),
        (Form::WithoutAnswer, NOW, asked_again.clone(), true),
        (Form::WithoutAnswer, NOW, refused(Refusal::AuthorityExpired), false),
        (Form::WithoutAnswer, 160, asked_again, false),
        (Form::WithoutAnswer, 160, refused(Refusal::AuthorityExpired), true),
        (Form::Sound, NOW, refused(Refusal::Unsupported), false),
    ] {
        let mut made = Made::new();
        let a = made.process("alice", 0, clock);
        let x = made.first(a, "x");
        let unsound = With { form, ..with(x) };
        made.write_for(a, unsound, DEADLINES, told.clone());
        assert_eq!(is_explained(&made), wanted, "{form:?} {clock} {told:?}");
        if form != Form::Sound {
            let call = made.history.calls.len() - 1;
            made.history.calls[call].told = None;
            assert_eq!(lost(&made, call), CANNOT, "{form:?}");
        }
    }
}

#[test]
fn a_state_is_refused_before_the_ledger_only_for_a_reason() {
    for (operation, binds_arguments, told, wanted) in [
        ("x", false, Some(Told::StateRejected), false),
        ("x", true, Some(Told::StateRejected), true),
        ("x", true, Made::told("x", 1, false), true),
        ("y", false, Some(Told::StateRejected), true),
        ("y", false, refused(Refusal::OtherOperation), true),
        ("x", false, refused(Refusal::OtherOperation), false),
        ("y", false, Made::told("y", 1, false), false),
    ] {
        let mut made = Made::new();
        made.history.binds_arguments = binds_arguments;
        let a = made.process("alice", 0, NOW);
        let x = made.first(a, "x");
        let call = made.write(a, with(x), told.clone());
        if let Ask::Write(write) = &mut made.history.calls[call].ask {
            write.operation = operation.into();
        }
        assert_eq!(is_explained(&made), wanted, "{operation} {binds_arguments} {told:?}");
    }
}

// ---- the twelve frozen cases ----

/// Each case as it must be observed. The deadlines of all are those of the seventh.
#[expect(clippy::too_many_lines, reason = "it is a table")]
fn case(number: u32) -> Made {
    let mut made = Made::new();
    let a = made.process("alice", 0, NOW);
    let x = made.first(a, "x");
    let once = |made: &mut Made| made.write_for(a, with(x), DEADLINES, Made::told("x", 1, false));
    match number {
        1 => {
            once(&mut made);
            made.write_for(a, with(x), DEADLINES, Made::told("x", 1, true));
        }
        2 => {
            made.status(a, "x", None);
        }
        3 | 9 => {
            made.status(a, "x", None);
            made.write_for(a, with(x), DEADLINES, None);
            let b = made.process("alice", 1, NOW);
            made.applied(b, "x", 1);
            if number == 3 {
                made.write_for(b, with(x), DEADLINES, Made::told("x", 1, true));
            }
        }
        4 => {
            once(&mut made);
            made.write_for(a, With { answer: 2, ..with(x) }, DEADLINES, refused(Refusal::Conflict));
        }
        5 => {
            let other = made.first(a, "x");
            once(&mut made);
            made.write_for(a, with(other), DEADLINES, refused(Refusal::Conflict));
            made.write_for(a, With { altered: true, ..with(x) }, DEADLINES, Some(Told::StateRejected));
        }
        6 => {
            let bob = made.process("bob", 0, NOW);
            once(&mut made);
            made.write_for(bob, with(x), DEADLINES, Some(Told::StateRejected));
            let own = made.first(bob, "x");
            made.write_for(bob, with(own), DEADLINES, refused(Refusal::Conflict));
            made.status(bob, "x", None);
        }
        7 => {
            once(&mut made);
            let b = made.process("alice", 1, 160);
            made.write_for(b, with(x), DEADLINES, refused(Refusal::AuthorityExpired));
            made.applied(b, "x", 1);
        }
        8 => {
            let b = made.process("alice", 0, NOW);
            let first = made.write_for(a, with(x), DEADLINES, Made::told("x", 1, true));
            let second = made.write_for(b, with(x), DEADLINES, Made::told("x", 1, false));
            made.history.calls[second].sent = made.history.calls[first].sent;
        }
        10 => {
            once(&mut made);
            let b = made.process("alice", 1, RETENTION_OVER);
            let timing = Timing { authority_expires_at: Some(500), replay_expires_at: Some(160), ..DEADLINES };
            made.history.calls.pop();
            made.write_for(a, with(x), timing, Made::told("x", 1, false));
            made.write_for(b, with(x), timing, refused(Refusal::RetentionExpired));
            let fresh = made.first(b, "x");
            made.write_for(b, with(fresh), forever(RETENTION_OVER), refused(Refusal::Conflict));
            let c = made.process("alice", 2, STATE_OVER);
            made.write_for(c, with(x), timing, Some(Told::StateRejected));
        }
        11 => {
            let stripped = With { form: Form::WithoutState, ..with(x) };
            made.write_for(a, stripped, DEADLINES, refused(Refusal::Unsupported));
            made.status(a, "x", None);
            let new = made.first(a, "new");
            made.write_for(a, with(new), DEADLINES, Made::told("new", 1, false));
        }
        _ => {
            made.write_for(a, partial(x), DEADLINES, Made::told_partial("x", 1, false));
            made.write_for(a, partial(x), DEADLINES, Made::told_partial("x", 1, true));
        }
    }
    made
}

const RETENTION_OVER: i64 = 170;
const STATE_OVER: i64 = 400;

const DEADLINES: Timing = Timing {
    issued_at: NOW,
    authority_expires_at: Some(160),
    replay_expires_at: Some(260),
    state_expires_at: Some(STATE_OVER),
};

/// Whether the case is explained after its call of that number, or its last one, is told something else.
fn is_explained_told(number: u32, call: Option<usize>, told: Option<Told>) -> bool {
    let mut made = case(number);
    let at = call.unwrap_or(made.history.calls.len() - 1);
    made.history.calls[at].told = told;
    is_explained(&made)
}

#[test]
fn the_twelve_cases_are_explained_as_they_must_be_observed() {
    for number in 1..=12 {
        assert!(is_explained(&case(number)), "{number}");
    }
    assert_eq!(lost(&case(3), 2), MUST);
    assert_eq!(lost(&case(9), 2), MUST);
}

#[test]
fn the_twelve_cases_are_not_explained_otherwise() {
    let shown = |made: &mut Made| made.applied(1, "x", 1);
    for (number, call, told) in [
        (1, None, Made::told("x", 1, false)),
        (1, None, Made::told("x", 2, false)),
        (1, None, Made::told("x", 2, true)),
        (1, Some(1), Made::told("x", 1, true)),
        (3, None, Made::told("x", 1, false)),
        (3, Some(2), refused(Refusal::Conflict)),
        (4, None, Made::told("x", 1, true)),
        (4, None, Made::told("x", 2, false)),
        (5, None, refused(Refusal::Conflict)),
        (5, Some(3), Some(Told::StateRejected)),
        (6, Some(2), refused(Refusal::Conflict)),
        (6, Some(4), Made::told("x", 1, true)),
        (7, Some(2), Made::told("x", 1, true)),
        (7, Some(2), refused(Refusal::RetentionExpired)),
        (8, None, Made::told("x", 1, true)),
        (9, Some(2), refused(Refusal::AuthorityExpired)),
        (10, Some(2), refused(Refusal::AuthorityExpired)),
        (10, Some(4), Made::told("x", 2, false)),
        (10, None, refused(Refusal::RetentionExpired)),
        (11, Some(1), Made::told("x", 1, false)),
        (11, None, Made::told("new", 2, false)),
        (12, None, Made::told_partial("x", 1, false)),
        (12, None, Made::told("x", 1, true)),
        (12, None, refused(Refusal::InProgress)),
    ] {
        assert!(!is_explained_told(number, call, told.clone()), "{number} {call:?} {told:?}");
    }
    let mut made = case(2);
    made.applied(0, "x", 1);
    assert!(!is_explained(&made), "nothing was written");
    let mut made = case(6);
    shown(&mut made);
    assert!(!is_explained(&made), "bob learns nothing");
}

// ---- random histories ----

#[test]
fn honest_histories_are_explained() {
    for seed in 0..30_000 {
        let history = generate::honest(&mut Random::new(seed));
        assert!(oracle::oracle(&history).explained, "seed {seed}\n{}", compare::show(&history));
    }
}

/// The oracle as a decider, without the one thing that makes it faster.
fn decided(history: &History) -> Decision {
    let found = search::every_order(history, false);
    let verdict = if found.explained {
        Verdict::Explained { order: Vec::new() }
    } else {
        Verdict::Contradicted(vec![Contradiction {
            code: Code::ReplayReply,
            call: None,
            shown_by: Vec::new(),
            message: String::new(),
            expected: String::new(),
            observed: String::new(),
        }])
    };
    let lost = |(call, can): (usize, (bool, bool))| Lost {
        call: u32::try_from(call).expect("few calls"),
        effect: match can {
            MAY => Effect::May,
            MUST => Effect::Must,
            _ => Effect::Cannot,
        },
        one_of: [].into(),
        proof: Vec::new(),
        why: String::new(),
    };
    let class = if history.is_ordered { Class::Ordered } else { Class::Searched };
    Decision { class, verdict, lost: found.effects.into_iter().map(lost).collect() }
}

type Forget = fn(&mut History);

/// As the oracle decides, but what needs a rule of its own is forgotten.
fn decided_without(history: &History, forget: Forget) -> Decision {
    let mut history = history.clone();
    forget(&mut history);
    decided(&history)
}

#[test]
fn whatever_a_decider_forgets_is_found() {
    let forgets: [(&str, Forget); 9] = [
        ("order", |history| history.is_ordered = false),
        ("phases", |history| history.processes.iter_mut().for_each(|process| process.phase = 0)),
        ("ends", |history| history.processes.iter_mut().for_each(|process| process.ended = None)),
        ("ids", |history| history.ids = EffectIds::Opaque),
        ("gaps", |history| {
            if history.ids == EffectIds::Dense {
                history.ids = EffectIds::Increasing;
            }
        }),
        ("the snapshot", |history| history.end = None),
        ("that it isn't final", |history| history.end.iter_mut().for_each(|end| end.is_final = true)),
        ("clocks", |history| history.processes.iter_mut().for_each(|process| process.clock = Some(NOW))),
        ("bound arguments", |history| history.binds_arguments = false),
    ];
    for (what, forget) in forgets {
        let shown = compare(0..20_000, mutate::history, |history| decided_without(history, forget));
        let shown = shown.expect_err(what);
        assert!(shown.starts_with("seed ") && shown.contains("\nprocess 0"), "{shown}");
    }
}

// ---- the comparison ----

/// Who is held against the oracle, and on how many histories.
const DECIDER: (Decider, u64) = (exhibit::replay::decide, 100_000);

type Decider = fn(&History) -> Decision;

/// Compares on the histories of so many seeds, in two threads.
fn compared(seeds: u64) -> Counts {
    let half = |first: u64| move || compare((first..seeds).step_by(2), mutate::history, DECIDER.0);
    let (even, odd) = std::thread::scope(|scope| {
        let threads = (scope.spawn(half(0)), scope.spawn(half(1)));
        (threads.0.join().expect("it ran"), threads.1.join().expect("it ran"))
    });
    let mut counts = even.unwrap_or_else(|shown| panic!("{shown}"));
    for (key, count) in odd.unwrap_or_else(|shown| panic!("{shown}")) {
        *counts.entry(key).or_default() += count;
    }
    counts
}

#[test]
fn deciding_agrees_with_the_oracle() {
    let counts = compared(DECIDER.1);
    println!("{counts:#?}");
    let sum = |word: &str| counts.iter().filter(|(key, _)| key.contains(word)).map(|(_, count)| count).sum::<u64>();
    let (explained, contradicted) = (sum(" explained"), sum(" contradicted"));
    assert_eq!(explained + contradicted + sum(" undecided"), DECIDER.1);
    assert!(explained > DECIDER.1 / 4 && contradicted > DECIDER.1 / 4, "{counts:?}");
    for effect in [" Must", " May", " Cannot"] {
        assert!(sum(effect) > DECIDER.1 / 30, "{effect} {counts:?}");
    }
}

#[test]
#[ignore = "it takes long: run it in a release build after a change of the decider"]
fn deciding_agrees_with_the_oracle_on_many_histories() {
    println!("{:#?}", compared(5_000_000));
}

#[test]
fn deciding_agrees_with_the_oracle_on_the_twelve_cases() {
    let cases = |number| generate::in_order(case(u32::try_from(number).expect("twelve cases")).history);
    compare(1..=12, cases, DECIDER.0).unwrap_or_else(|shown| panic!("{shown}"));
}
