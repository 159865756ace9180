//! Each rule of the replay is broken by exactly one made run, whose twin holds.
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod wire;

use std::collections::BTreeSet;

use exhibit::finding::RULES;
use serde_json::json;
use wire::{CLOCK, Made, Reply, applied, codes, effect, status};

/// A code, and a run that breaks its rule if it is to.
type Row = (&'static str, fn(bool) -> Made);

fn alice() -> Made {
    Made::new().server("server", 0, "alice", CLOCK, -15)
}

fn done(made: Made) -> Made {
    made.first("one", "x", "atomic").write("apply", "x", "one", "alpha", applied("x", 1, false))
}

const PARTIAL: &str = "partial 1; watcher failed; rollback failed";

fn partial(reply: Reply) -> Made {
    let first = effect("x", 1, PARTIAL, false, "partial");
    alice().first("one", "x", "partial").write_in("apply", "x", "partial", ("one", "alpha"), first).write_in(
        "again",
        "x",
        "partial",
        ("one", "alpha"),
        reply,
    )
}

fn events(all: &[(&str, &str)]) -> String {
    let row = |(step, outcome): &(&str, &str)| {
        format!(
            "INSERT INTO operation_events (operation_id, step, outcome, created_at) VALUES ('x', '{step}', '{outcome}', 'x');"
        )
    };
    format!(
        "INSERT INTO issues VALUES (1, 'made', 'alpha');
         INSERT INTO operations VALUES ('x', 'alice', 'sqlite:made', printf('%064d', 0), 'partial', 1, '{PARTIAL}',
           {CLOCK}, {}, {}, 'x', 'x');
         INSERT INTO compensations VALUES (1, 1, 'rollback_issue', 'failed:Made'); {}",
        CLOCK + 300,
        CLOCK + 360,
        all.iter().map(row).collect::<String>()
    )
}

const ROWS: &[Row] = &[
    ("replay-reply", |bad| {
        if bad {
            alice().first_told("one", "x", "atomic", applied("x", 1, false))
        } else {
            alice().first("one", "x", "atomic")
        }
    }),
    ("replay-state", |bad| {
        let told =
            if bad { Reply::Error("operation_conflict") } else { Reply::Error("Invalid or expired requestState") };
        done(alice()).server("bob", 1, "bob", CLOCK, -15).write("foreign", "x", "one", "alpha", told)
    }),
    ("replay-result", |bad| {
        let result = if bad { "created 2" } else { "created 1" };
        alice().first("one", "x", "atomic").write(
            "apply",
            "x",
            "one",
            "alpha",
            effect("x", 1, result, false, "applied"),
        )
    }),
    ("replay-deadline", |bad| {
        let told = if bad { applied("x", 1, true) } else { Reply::Error("operation_authority_expired") };
        done(alice()).server("late", 1, "alice", CLOCK + 300, -15).write("again", "x", "one", "alpha", told)
    }),
    ("replay-fresh-write", |bad| {
        done(alice()).ask("read", "x", status("x", Some(1), |told| told["freshWriteAuthorized"] = json!(bad)))
    }),
    ("replay-status-identity", |bad| {
        let whom = if bad { "bob" } else { "alice" };
        done(alice()).ask("read", "x", status("x", Some(1), |told| told["principal"] = json!(whom)))
    }),
    ("replay-status-form", |bad| {
        let ids = if bad { json!([1, 2]) } else { json!([1]) };
        done(alice()).ask("read", "x", status("x", Some(1), |told| told["matchingIds"] = ids.clone()))
    }),
    ("replay-second", |bad| done(alice()).write("again", "x", "one", "alpha", applied("x", 1, !bad))),
    ("replay-stored", |bad| {
        done(alice()).write("again", "x", "one", "alpha", applied("x", if bad { 2 } else { 1 }, true))
    }),
    ("replay-conflict", |bad| {
        let answer = if bad { "alpha" } else { "beta" };
        done(alice()).write("again", "x", "one", answer, Reply::Error("operation_conflict"))
    }),
    ("replay-progress", |bad| {
        partial(if bad { Reply::Error("operation_in_progress") } else { effect("x", 1, PARTIAL, true, "partial") })
    }),
    ("replay-status-effect", |bad| {
        alice().first("one", "x", "atomic").ask("read", "x", status("x", bad.then_some(1), |_| {}))
    }),
    ("replay-status-unknown", |bad| done(alice()).ask("read", "x", status("x", (!bad).then_some(1), |_| {}))),
    ("replay-absent", |bad| {
        let told = if bad { Reply::Error("operation_authority_expired") } else { Reply::Error("operation_conflict") };
        done(alice()).server("late", 1, "alice", CLOCK + 300, -15).write("again", "x", "one", "beta", told)
    }),
    ("replay-effect", |bad| {
        let ids = if bad { [2, 1] } else { [1, 2] };
        alice()
            .first("one", "x", "atomic")
            .write("apply", "x", "one", "alpha", applied("x", ids[0], false))
            .first("two", "y", "atomic")
            .write("other", "y", "two", "alpha", applied("y", ids[1], false))
    }),
    ("replay-row", |bad| if bad { done(alice()).store("") } else { done(alice()).row("x", 1) }),
    ("replay-issue", |bad| {
        let more = if bad { "INSERT INTO issues VALUES (2, 'made', 'alpha');" } else { "" };
        done(alice()).row("x", 1).store(more)
    }),
    ("replay-event", |bad| {
        let all = [
            ("watcher", "attempted"),
            ("watcher", "failed"),
            ("rollback_issue", "attempted"),
            ("rollback_issue", "failed"),
        ];
        let told = effect("x", 1, PARTIAL, true, "partial");
        partial(told).store(&events(if bad { &all[..3] } else { &all }))
    }),
];

#[test]
fn each_rule_is_broken_by_its_run_alone_and_held_by_its_twin() {
    for (code, make) in ROWS {
        let (exit, case) = make(true).report();
        assert_eq!((exit, codes(&case)), (1, vec![(*code).to_owned()]), "{code}: {case}");
        assert_eq!((&case["verdict"], &case["history"]), (&json!("fail"), &json!("contradicted")), "{code}");
        let (exit, case) = make(false).report();
        assert_eq!((exit, codes(&case)), (0, Vec::new()), "the twin of {code}: {case}");
        assert_eq!((&case["verdict"], &case["history"]), (&json!("pass"), &json!("explained")), "{code}");
    }
}

#[test]
fn every_code_of_the_replay_has_a_row() {
    // Fingerprints need keys: see `tests/keys.rs`.
    let is_here = |name: &&str| name.starts_with("replay-") && *name != "replay-fingerprint";
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).filter(is_here).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|(code, _)| *code).collect();
    assert_eq!(known, rows);
}

#[test]
fn a_contradiction_names_both_lines_and_what_could_have_been() {
    let (_, case) = done(alice()).write("again", "x", "one", "alpha", applied("x", 1, false)).report();
    let found = &case["contradictions"][0];
    assert_eq!(found["code"], "replay-second");
    let line = |request: u64| {
        json!({
            "file": "case-01/server.transcript.log", "request": request, "reply": request + 1, "process": "server", "connection": 0,
            "id": (request / 2 + 1).to_string(), "asked": "write x",
            "told": "applied for the first time, effect 1, result \"created 1\"",
        })
    };
    assert_eq!((&found["call"], &found["shown_by"]), (&line(5), &json!([line(3), line(5)])));
    assert_eq!(found["expected"], "the stored result again");
}

/// The first round and a write whose reply is lost, then the rest of the case.
fn lost(rest: impl Fn(Made) -> Made) -> Vec<(String, usize)> {
    let first = Made::new().server("crash", 0, "alice", CLOCK, 70).first("one", "x", "atomic");
    let made = rest(first.write("apply", "x", "one", "alpha", Reply::Lost));
    let (_, case) = made.report();
    assert_eq!(case["history"], "explained", "{case}");
    let one = |lost: &serde_json::Value| {
        (lost["effect"].as_str().unwrap().to_owned(), lost["one_of"].as_array().unwrap().len())
    };
    case["lost"].as_array().unwrap().iter().map(one).collect()
}

fn again(made: Made) -> Made {
    made.server("restart", 1, "alice", CLOCK, -15)
}

#[test]
fn a_lost_reply_means_what_the_rest_shows() {
    let one = |effect: &str| vec![(effect.to_owned(), 0)];
    assert_eq!(lost(|made| made), one("may_have"));
    assert_eq!(lost(|made| made.store("")), one("cannot_have"), "a database without the row, read at the end");
    assert_eq!(lost(|made| made.row("x", 1)), one("must_have"));
    assert_eq!(lost(|made| again(made).ask("read", "x", status("x", Some(1), |_| {}))), one("must_have"));
    assert_eq!(
        lost(|made| again(made).ask("read", "x", status("x", None, |_| {}))),
        one("cannot_have"),
        "it had ended"
    );
    let first = |made: Made| again(made).write("again", "x", "one", "alpha", applied("x", 1, false));
    assert_eq!(lost(first), one("cannot_have"), "another was the first");
    // Of two lost ones under one request, a replay that follows says that one took effect, and not which.
    let both = |made: Made| {
        made.server("second", 0, "alice", CLOCK, 70)
            .write("also", "x", "one", "alpha", Reply::Lost)
            .server("restart", 1, "alice", CLOCK, -15)
            .write("again", "x", "one", "alpha", applied("x", 1, true))
    };
    assert_eq!(lost(both), vec![("may_have".to_owned(), 2); 2]);
}

#[test]
fn what_stays_open_can_be_asked_for_and_can_be_required() {
    let first = Made::new().server("crash", 0, "alice", CLOCK, 70).first("one", "x", "atomic");
    let made = first.write("apply", "x", "one", "alpha", Reply::Lost);
    assert_eq!((made.replay(&[]).status.code(), made.replay(&["--require-settled"]).status.code()), (Some(0), Some(3)));
    let (_, case) = made.report();
    let ask: serde_json::Value = serde_json::from_str(case["lost"][0]["ask"].as_str().unwrap()).unwrap();
    assert_eq!(ask["params"], json!({"name": "get_operation_status", "arguments": {"operation_id": "x"}}));
    let settled = made.store("");
    assert_eq!(settled.replay(&["--require-settled"]).status.code(), Some(0));
}

/// Codes of the run and of its cases after its files were changed.
fn changed(change: impl Fn(&std::path::Path)) -> (i32, Vec<String>) {
    let folder = tempfile::tempdir().unwrap();
    let matrix = done(alice()).lay(folder.path());
    change(&folder.path().join("run"));
    let arguments = ["replay", "run", "--matrix", matrix.to_str().unwrap(), "--format", "json"];
    let output = wire::run(&arguments, folder.path());
    let report: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    let run = &report["runs"][0];
    let of_run = run["findings"].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
    let of_cases = run["cases"].as_array().unwrap().iter().flat_map(codes);
    (output.status.code().unwrap(), of_run.chain(of_cases).collect())
}

#[test]
fn forgeries_that_no_history_can_hold_are_caught_in_bytes() {
    let found = |code: &str| (1, vec![code.to_owned()]);
    assert_eq!(changed(|_| {}), (0, Vec::new()));
    let append = |path: &std::path::Path, text: &str| {
        let before = std::fs::read_to_string(path).unwrap();
        std::fs::write(path, before + text).unwrap();
    };
    let transcript = "case-01/server.transcript.log";
    let reply = "< {\"jsonrpc\":\"2.0\",\"id\":99,\"result\":{}}\n";
    assert_eq!(changed(|run| append(&run.join(transcript), reply)), found("transcript-reply-unmatched"));
    let results = |run: &std::path::Path| run.join("results.jsonl");
    assert_eq!(changed(|run| std::fs::write(results(run), "").unwrap()), found("run-case-missing"));
    let twice = |run: &std::path::Path| append(&results(run), &std::fs::read_to_string(results(run)).unwrap());
    assert_eq!(changed(twice), found("run-case-repeated"));
    let more = "{\"case_id\":\"02\",\"expected\":\"made\",\"status\":\"pass\",\"process_exit_codes\":[0]}\n";
    assert_eq!(changed(|run| append(&results(run), more)), found("run-case-unrequested"));
}

#[test]
fn a_tree_that_is_not_the_manifests_is_not_replayed() {
    let folder = tempfile::tempdir().unwrap();
    let archive = concat!(env!("CARGO_MANIFEST_DIR"), "/release/made-example-a234b0d490aa.zip");
    assert_eq!(wire::run(&["extract", archive, "-o", "out"], folder.path()).status.code(), Some(0));
    let tree = "out/made-example-a234b0d490aa";
    assert_eq!(wire::run(&["replay", tree], folder.path()).status.code(), Some(3), "no schedule, so undecided");
    let transcript = "matrices/made-example/runs/made-1/cases/01/server.transcript.jsonl";
    let path = folder.path().join(tree).join(transcript);
    let text = std::fs::read_to_string(&path).unwrap();
    std::fs::write(&path, text.replacen("made data", "made date", 1)).unwrap();
    let output = wire::run(&["replay", tree], folder.path());
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.code() == Some(2) && said.contains("file-changed"), "{said}");
}
