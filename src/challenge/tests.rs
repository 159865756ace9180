//! Holds challenging on the honest histories of the committed matrices: every kind is forged, each in its place only, and
//! the matrix alone catches what it can.

use std::collections::{BTreeMap, BTreeSet};

use super::*;
use crate::history::Call;
use crate::judge::made::{self, PYTHON, TYPESCRIPT};
use crate::judge::{Judgement, Standing};
use crate::ledger::{Ask, Rows, Told};

fn explained() -> Decision {
    Decision { class: Class::Ordered, verdict: Verdict::Explained { order: Vec::new() }, lost: Vec::new() }
}

fn judged(case: &MatrixCase, history: &History) -> Judgement {
    judge::judge(case, &Evidence::History { history, decision: &explained(), files: &[] })
}

/// Name, case and honest history of all cases of both matrices.
fn cases() -> impl Iterator<Item = (String, MatrixCase, History)> {
    [("python", PYTHON), ("typescript", TYPESCRIPT)].into_iter().flat_map(|(name, matrix)| {
        (1..=12).map(move |number| {
            let case = made::case(matrix, &format!("{number:02}"));
            let history = made::honest(&case);
            (format!("{name} {number:02}"), case, history)
        })
    })
}

fn rows(history: &History) -> &Rows {
    &history.end.as_ref().unwrap().rows
}

/// Which tables differ.
fn tables(a: &History, b: &History) -> Vec<&'static str> {
    let (a, b) = (rows(a), rows(b));
    let all = [
        ("operations", a.operations != b.operations),
        ("issues", a.issues != b.issues),
        ("watchers", a.watchers != b.watchers),
        ("compensations", a.compensations != b.compensations),
        ("events", a.events != b.events),
    ];
    all.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

/// How many replies differ, where no call came, went or asks something else.
fn replies(a: &History, b: &History) -> Option<usize> {
    let bare = |call: &Call| Call { told: None, ..call.clone() };
    let same = a.calls.len() == b.calls.len() && a.calls.iter().zip(&b.calls).all(|(a, b)| bare(a) == bare(b));
    same.then(|| a.calls.iter().zip(&b.calls).filter(|(a, b)| a.told != b.told).count())
}

/// What a forgery may change: replies, exit codes, tables. None of replies means that calls come, or move.
fn intended(kind: Kind) -> (Option<usize>, usize, &'static [&'static [&'static str]]) {
    let rows: &[&[&str]] = &[&["operations", "issues"], &["operations", "issues", "compensations"]];
    match kind {
        Kind::ReplayedFlag
        | Kind::EffectInReply
        | Kind::ResultOfAnotherEffect
        | Kind::ChangedAnswerAccepted
        | Kind::ChangedStateAccepted
        | Kind::OtherPrincipalAccepted
        | Kind::FalseConflict
        | Kind::ExpiredAccepted
        | Kind::RetentionExtended
        | Kind::StatusWithoutRow
        | Kind::StatusUnknown
        | Kind::StatusOfAnother
        | Kind::FreshWriteGranted
        | Kind::StatusOfTwoEffects
        | Kind::ShownToAnother => (Some(1), 0, &[&[]]),
        Kind::SecondEffect => (Some(1), 0, &[&["issues"]]),
        Kind::StatelessAccepted | Kind::AppliedAgain => (Some(1), 0, rows),
        Kind::EffectInRows => (Some(0), 0, rows),
        Kind::TombstoneGone => {
            (Some(0), 0, &[&["operations", "issues"], &["operations", "issues", "compensations", "events"]])
        }
        Kind::RowWithoutIssue | Kind::ExtraIssue => (Some(0), 0, &[&["issues"]]),
        Kind::IssueWithoutRow | Kind::RowOfAnother => (Some(0), 0, &[&["operations"]]),
        Kind::StepRepeated => (Some(0), 0, &[&["events"], &["compensations"]]),
        Kind::EventMissing | Kind::EventReordered => (Some(0), 0, &[&["events"]]),
        Kind::CompensationMissing => (Some(0), 0, &[&["compensations"]]),
        Kind::ContinuationAfterStatus | Kind::AnotherPhase => (None, 0, &[&[]]),
        Kind::EffectsReordered => (None, 0, rows),
        Kind::ExitCode => (Some(0), 1, &[&[]]),
        // Of the first two one reply or one row, or all at once: held where they are met.
        Kind::StoredResult
        | Kind::EffectEverywhere
        | Kind::ReplyWithoutRequest
        | Kind::CaseMissing
        | Kind::CaseDoubled
        | Kind::CaseNotRequested => {
            panic!("{kind:?} has no single place")
        }
    }
}

#[test]
fn each_forgery_changes_its_place_only() {
    for (name, case, history) in cases() {
        for forgery in forgeries(&case, &history) {
            let forged = &forgery.history;
            let at = format!("{name}: {:?}: {}", forgery.kind, forgery.what);
            assert_ne!(*forged, history, "{at}");
            let exits = history.processes.iter().zip(&forged.processes).filter(|(a, b)| a != b).count();
            let seen = (replies(&history, forged), exits, tables(&history, forged));
            if forgery.kind == Kind::EffectEverywhere {
                assert!(seen.2.contains(&"operations") && seen.0.is_some(), "{at}");
            } else if forgery.kind == Kind::StoredResult {
                assert_eq!(seen.0.unwrap() + seen.2.len(), 1, "{at}");
            } else {
                let (calls, exits, tables) = intended(forgery.kind);
                assert_eq!((seen.0, seen.1), (calls, exits), "{at}");
                assert!(tables.contains(&&*seen.2), "{at}: {:?}", seen.2);
            }
            hangs_together(&history, forged, &at);
        }
    }
}

/// Calls are in order, times and lines rise, and each state is of the first round that issued its token.
fn hangs_together(before: &History, after: &History, at: &str) {
    assert!(after.calls.is_sorted_by_key(|call| call.connection), "{at}");
    let mut times: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    let mut lines: BTreeMap<u32, Vec<u64>> = BTreeMap::new();
    for call in &after.calls {
        times.entry(call.connection).or_default().extend([Some(call.sent), call.received].into_iter().flatten());
        let places = [Some(call.request), call.reply];
        places.into_iter().flatten().for_each(|at| lines.entry(at.file).or_default().push(at.line));
        assert_eq!(call.told.is_some(), call.received.is_some(), "{at}");
    }
    for numbers in times.values().chain(lines.values()) {
        assert!(numbers.is_sorted_by(|a, b| a < b), "{at}: {numbers:?}");
    }
    let mut issuers = BTreeSet::new();
    for call in &after.calls {
        let Ask::Write(write) = &call.ask else { continue };
        let Some(issued) = write.parts.state.issued else { continue };
        let first = &after.calls[issued as usize];
        assert!(matches!(first.ask, Ask::FirstRound { .. }), "{at}");
        assert_eq!(first.told, Some(Told::InputRequired { token: Some(write.parts.state.token) }), "{at}");
        issuers.insert(issued);
    }
    assert_eq!(
        issuers.is_empty(),
        !before.calls.iter().any(|call| matches!(&call.ask, Ask::Write(write) if write.parts.state.issued.is_some())),
        "{at}"
    );
    assert!(rows(after).operations.is_sorted() && rows(after).issues.is_sorted(), "{at}");
}

#[test]
fn every_kind_is_forged_in_some_case() {
    let mut made: BTreeMap<Kind, BTreeSet<String>> = BTreeMap::new();
    for (name, case, history) in cases() {
        for forgery in forgeries(&case, &history) {
            made.entry(forgery.kind).or_default().insert(name.clone());
        }
    }
    for kind in Kind::ALL {
        let is_made = made.contains_key(&kind);
        assert_eq!(is_made, kind.level() == Level::History, "{kind:?}");
        if is_made {
            println!("{}: {:?}", kind.name(), made[&kind]);
        }
    }
    // Two are seen on the wire of the one matrix only: it alone reads the status of an absent and of another's operation.
    for (kind, id) in [(Kind::StatusWithoutRow, "typescript 02"), (Kind::ShownToAnother, "typescript 06")] {
        assert_eq!(made[&kind], BTreeSet::from([id.to_owned()]));
    }
}

#[test]
fn the_matrix_alone_catches_what_it_expects() {
    let mut counts: BTreeMap<Kind, (usize, usize)> = BTreeMap::new();
    for (name, case, history) in cases() {
        assert_eq!(judged(&case, &history).standing, Standing::Pass, "{name}");
        for tried in challenge(&case, &history, &|_| explained()) {
            assert_eq!(tried.semantics, None);
            assert_eq!(tried.caught(), tried.matrix.as_ref());
            let (caught, all) = counts.entry(tried.kind).or_default();
            *caught += usize::from(tried.matrix.is_some());
            *all += 1;
            if tried.matrix.is_none() {
                println!("{name}: {}: {}", tried.kind.name(), tried.what);
            }
        }
    }
    for (kind, (caught, all)) in &counts {
        println!("{}: {caught} of {all}", kind.name());
    }
    // What only a matrix can catch must be caught by it: a correct ledger explains these.
    for kind in [Kind::ContinuationAfterStatus, Kind::ExitCode, Kind::AnotherPhase] {
        let (caught, all) = counts[&kind];
        assert_eq!(caught, all, "{kind:?}");
    }
}

#[test]
fn what_deciding_catches_is_told_apart() {
    let case = made::case(PYTHON, "01");
    let history = made::honest(&case);
    let contradicted = |_: &History| {
        let contradiction = crate::replay::Contradiction {
            code: Code::ReplayEffect,
            call: None,
            shown_by: Vec::new(),
            message: "m".to_owned(),
            expected: "e".to_owned(),
            observed: "o".to_owned(),
        };
        Decision { verdict: Verdict::Contradicted(vec![contradiction]), ..explained() }
    };
    let undecided =
        |_: &History| Decision { verdict: Verdict::Undecided { missing: vec!["a clock".to_owned()] }, ..explained() };
    let both = challenge(&case, &history, &contradicted);
    let caught = Caught { code: Code::ReplayEffect, message: "m".to_owned() };
    assert!(!both.is_empty() && both.iter().all(|tried| tried.semantics.as_ref() == Some(&caught)));
    assert!(both.iter().any(|tried| tried.matrix.is_some()));
    let open = challenge(&case, &history, &undecided);
    assert!(open.iter().all(|tried| tried.semantics.is_none()));
    assert_eq!(
        open.iter().map(|tried| &tried.matrix).collect::<Vec<_>>(),
        both.iter().map(|tried| &tried.matrix).collect::<Vec<_>>()
    );
}

#[test]
fn names_of_kinds_are_words_of_their_own() {
    let names: BTreeSet<_> = Kind::ALL.iter().map(|kind| kind.name()).collect();
    assert_eq!(names.len(), Kind::ALL.len());
    assert!(Kind::ALL.is_sorted() && Kind::ALL.iter().all(|kind| kind.sentence().ends_with('.')));
    let is_word = |c: char| c.is_ascii_lowercase() || c == '-';
    assert!(names.iter().all(|name| name.chars().all(is_word)));
}

#[test]
fn places_are_bounded() {
    let case = made::case(PYTHON, "12");
    let mut history = made::honest(&case);
    let events = &mut history.end.as_mut().unwrap().rows.events;
    let event = events[0].clone();
    events.resize(2 * MAX_FORGERIES, event);
    let made = forgeries(&case, &history).filter(|forgery| forgery.kind == Kind::EventMissing).count();
    assert_eq!(made, MAX_FORGERIES);
}

#[test]
fn places_that_could_be_honest_are_left_out() {
    let made = |case: &MatrixCase, history: &History, kind: Kind| {
        forgeries(case, history).filter(|forgery| forgery.kind == kind).count()
    };
    let case = made::case(PYTHON, "01");
    let bare = MatrixCase { phases: Vec::new(), expectations: Vec::new(), ..case.clone() };
    let history = made::honest(&case);
    // A store that held something may have held this operation, and a lost call may have been the first.
    let mut older = history.clone();
    older.starts_empty = false;
    let mut lost = made::honest(&case);
    let (told, received, reply) = (None, None, None);
    lost.calls.push(Call { told, received, reply, sent: 90, ..lost.calls[2].clone() });
    assert_eq!(made(&bare, &history, Kind::ReplayedFlag), 2);
    assert_eq!(made(&bare, &older, Kind::ReplayedFlag), 1);
    assert_eq!(made(&bare, &lost, Kind::ReplayedFlag), 1);
    assert_eq!(made(&case, &older, Kind::ReplayedFlag), 2);
    // Other ids everywhere are as good, where nothing says what ids there are.
    let mut opaque = history.clone();
    opaque.ids = crate::history::EffectIds::Opaque;
    assert_eq!(made(&bare, &history, Kind::EffectEverywhere), 1);
    assert_eq!(made(&bare, &opaque, Kind::EffectEverywhere), 0);
    assert_eq!(made(&bare, &opaque, Kind::EffectsReordered), 0);
    // What was read too early may lack a row.
    let mut early = history.clone();
    early.end.as_mut().unwrap().is_final = false;
    assert_eq!((made(&bare, &history, Kind::TombstoneGone), made(&bare, &early, Kind::TombstoneGone)), (1, 0));
    // Deadlines that nobody knows can't have passed, but for the matrix.
    let case = made::case(PYTHON, "10");
    let bare = MatrixCase { phases: Vec::new(), expectations: Vec::new(), ..case.clone() };
    let mut timeless = made::honest(&case);
    for call in &mut timeless.calls {
        if let Ask::Write(write) = &mut call.ask {
            write.timing = None;
        }
    }
    let kind = Kind::RetentionExtended;
    assert_eq!(
        [made(&bare, &made::honest(&case), kind), made(&bare, &timeless, kind), made(&case, &timeless, kind)],
        [1, 0, 1]
    );
}

#[test]
fn honest_variations_hang_together() {
    let mut seen: BTreeMap<String, usize> = BTreeMap::new();
    for (name, _, history) in cases() {
        for variation in honest(&history) {
            assert_ne!(variation.history, history, "{name}: {}", variation.what);
            hangs_together(&history, &variation.history, &format!("{name}: {}", variation.what));
            let what = if variation.what.contains("status") { "status".to_owned() } else { variation.what };
            *seen.entry(what).or_default() += 1;
        }
    }
    println!("{seen:?}");
    assert_eq!(seen.len(), 6, "{seen:?}");
    // Other texts are of no matter to a schedule: the first round and all that follows pass but for the counts.
    let many = made::honest(&made::case(PYTHON, "08"));
    let workers = honest(&many).find(|variation| variation.what.contains("twenty")).unwrap().history;
    let replayed = |call: &&Call| matches!(&call.told, Some(Told::Effect(outcome)) if outcome.replayed);
    let applied = |call: &&Call| matches!(&call.told, Some(Told::Effect(outcome)) if !outcome.replayed);
    let counts = (workers.calls.iter().filter(replayed).count(), workers.calls.iter().filter(applied).count());
    assert_eq!(counts, (19, 1));
    assert_eq!(workers.processes.len(), many.processes.len() + 18);
}

#[test]
fn one_order_over_all_frames_is_kept() {
    let case = made::case(TYPESCRIPT, "03");
    let mut history = made::honest(&case);
    history.is_ordered = true;
    let mut time = 0;
    for call in &mut history.calls {
        time += 2;
        call.sent = time;
        call.received = call.told.is_some().then_some(time + 1);
    }
    history.processes[0].ended = Some(8);
    history.calls.iter_mut().filter(|call| call.process == 1).for_each(|call| {
        call.sent += 1;
        call.received = call.received.map(|at| at + 1);
    });
    let forged = forgeries(&case, &history).map(|forgery| forgery.history);
    for after in forged.chain(honest(&history).map(|variation| variation.history)) {
        let calls = after.calls.iter().flat_map(|call| [Some(call.sent), call.received]);
        let mut numbers: Vec<_> = calls.chain(after.processes.iter().map(|process| process.ended)).flatten().collect();
        numbers.sort_unstable();
        assert!(numbers.is_sorted_by(|a, b| a < b), "{numbers:?}");
    }
}

#[test]
fn no_forgery_survives() {
    let (mut semantics, mut all) = (BTreeMap::<Kind, (u32, u32)>::new(), 0);
    for (name, case, history) in cases() {
        let honest = crate::replay::decide(&history);
        assert!(matches!(honest.verdict, Verdict::Explained { .. }), "{name}: {:#?}", honest.verdict);
        for tried in challenge(&case, &history, &crate::replay::decide) {
            let at = format!("{name}: {:?}: {}", tried.kind, tried.what);
            assert!(tried.caught().is_some(), "{at}: survived");
            let count = semantics.entry(tried.kind).or_default();
            count.0 += u32::from(tried.semantics.is_some());
            count.1 += 1;
            all += 1;
        }
    }
    println!("{all} forgeries; caught by semantics alone, of how many: {semantics:#?}");
}

#[test]
fn honest_variations_stay_explained() {
    for (name, _, history) in cases() {
        for variation in honest(&history) {
            let decision = crate::replay::decide(&variation.history);
            assert!(
                matches!(decision.verdict, Verdict::Explained { .. }),
                "{name}: {}: {:#?}",
                variation.what,
                decision.verdict
            );
        }
    }
}
