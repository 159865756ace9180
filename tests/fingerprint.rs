//! Holds fingerprints against vectors that a program in another language made, and fingerprints and consumer against
//! the reference study's own vectors, where those are at hand.
#![expect(clippy::print_stdout, reason = "a test that skips says so")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

use std::path::Path;

use exhibit::ledger::consumer::{Action, Consumer, Identity, Scope, Stop};
use exhibit::ledger::fingerprint::{Key, Logical, canonical, parse};
use exhibit::ledger::{Observation, Observed};
use serde_json::Value;

const CORPUS: &str = "../shared/corpus/mcr-vectors";

fn load(path: &Path) -> Value {
    parse(&std::fs::read(path).expect("the vectors can be read")).expect("they are JSON")
}

/// The study's vectors; none where they are not at hand.
fn corpus(name: &str) -> Option<Value> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CORPUS).join(name);
    if !path.is_file() {
        println!("skipped: {} is not there", path.display());
        return None;
    }
    Some(load(&path))
}

fn key(hex: &str) -> Key {
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2).expect("two digits"), 16).expect("hex digits");
    let bytes: Vec<u8> = (0..hex.len()).step_by(2).map(byte).collect();
    Key::new(&bytes).expect("the key is long enough")
}

fn text<'a>(value: &'a Value, field: &str) -> &'a str {
    value[field].as_str().unwrap_or_else(|| panic!("{field} is no text"))
}

fn list(value: &Value) -> &[Value] {
    value.as_array().expect("a list")
}

fn fingerprint(request: &Value, key: &Key) -> String {
    let request = Logical {
        principal: text(request, "principal"),
        tool: text(request, "tool_id"),
        version: text(request, "tool_version"),
        arguments: &request["arguments"],
        state: &request["continuation_state"],
        responses: &request["input_responses"],
    };
    request.fingerprint(key).expect("it has one").to_string()
}

#[test]
fn fingerprints_are_those_of_another_program() {
    let vectors = load(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/fingerprint/vectors.json"));
    let key = key(text(&vectors, "key"));
    let vectors = list(&vectors["vectors"]);
    assert_eq!(vectors.len(), 13);
    for vector in vectors {
        let name = text(vector, "name");
        assert_eq!(canonical(&vector["request"]["arguments"]).expect(name), text(vector, "arguments"), "{name}");
        assert_eq!(fingerprint(&vector["request"], &key), text(vector, "fingerprint"), "{name}");
    }
}

#[test]
fn the_studys_requests_are_the_same_just_where_they_say_the_same() {
    let Some(vectors) = corpus("fingerprint_vectors.json") else { return };
    let key = Key::new(&[1; 32]).expect("the key is long enough");
    let vectors = list(&vectors["vectors"]);
    assert_eq!(vectors.len(), 17);
    for a in vectors {
        for b in vectors {
            let is_same = fingerprint(&a["request"], &key) == fingerprint(&b["request"], &key);
            assert_eq!(is_same, a["request"] == b["request"], "{} {}", text(a, "name"), text(b, "name"));
        }
    }
    let of = |name: &str| vectors.iter().find(|v| v["name"] == name).map(|v| fingerprint(&v["request"], &key));
    assert!(of("01_identical_retry").is_some());
    assert_eq!(of("01_identical_retry"), of("08_concurrent_attempt_a"));
    for other in ["04_changed_input_responses", "06_different_principal", "11_metadata_stripped"] {
        assert_ne!(of("01_identical_retry"), of(other), "{other}");
    }
}

/// What the consumer makes of a status, named as the study names it.
fn after(observed: Option<Observed>) -> &'static str {
    let identity = Identity { operation: "op-1".into(), principal: "alice".into(), backend: "sqlite:a".into() };
    let consumer = Consumer::lost(identity, Scope::Text);
    let action = observed.map_or_else(
        || consumer.action(),
        |state| {
            consumer.observe(&Observation {
                operation: Some("op-1".into()),
                principal: Some("alice".into()),
                backend: Some("sqlite:a".into()),
                state: Some(state),
                authoritative: Some(true),
                fresh_write_authorized: Some(false),
                ids: Some(Vec::new()),
                result: Some(None),
                scope: Some("op-1".into()),
                binding: None,
                observed_at: Some("2026-09-22T00:00:00+00:00".into()),
            })
        },
    );
    match action {
        Action::Reconcile => "status_only",
        Action::Stop(Stop::Unknown) => "stop_unknown",
        Action::ReturnStoredResult { .. } | Action::Stop(Stop::Partial | Stop::NotApplied | Stop::Refused(_)) => {
            "other"
        }
    }
}

#[test]
fn the_studys_seven_recoveries_come_out_as_it_says() {
    let Some(document) = corpus("portable-continuation-v1.json") else { return };
    let key = key(text(&document, "keyHex"));
    let base = fingerprint(&document["base"], &key);
    let vectors = list(&document["vectors"]);
    assert_eq!(vectors.len(), 7);
    for vector in vectors {
        let mut request = document["base"].clone();
        for (name, value) in vector["changes"].as_object().expect("changes") {
            request[name] = value.clone();
        }
        let outcome = match vector["transport"].as_str() {
            Some("lost_reply") => after(None),
            Some("lost_reply_missing_record") => after(Some(Observed::Unknown)),
            // Answers without a state are no continuation at all.
            None if request["continuation_state"].is_null() => "reject",
            None if fingerprint(&request, &key) == base => "replay",
            None => "conflict",
            Some(other) => panic!("{other} is not known"),
        };
        assert_eq!(outcome, text(vector, "expected"), "{}", text(vector, "name"));
    }
}
