//! Holds every JSON report against its schema, and every schema against the language it is written in. Reports are the
//! same bytes each time.
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

mod desk;

use std::collections::BTreeSet;
use std::path::PathBuf;

use desk::Desk;
use serde_json::Value;

/// What is run, the exit code, and what the reports say: one verdict or outcome a report.
type Row = (&'static [&'static str], i32, &'static [&'static str]);

const RUN: &str = "matrices/made-example/runs/made-1";
const BROKEN: &str = "broken/matrices/small/runs/r1";
const ARCHIVE: &str = "release/made-example-a234b0d490aa.zip";
const RECEIPT: &str = "release/made-example-a234b0d490aa.receipt.json";
const OTHER: &str = "other.receipt.json";

const LISTINGS: &[Row] = &[
    (&["list", "sound.zip"], 0, &["accept"]),
    (&["list", "loose.zip"], 0, &["accept"]),
    (&["list", "refused.zip"], 1, &["reject"]),
    (&["list", "appended.zip"], 1, &["reject"]),
    (&["list", "notes.txt"], 2, &["could_not_check"]),
    (&["list", "no-such.zip"], 2, &["could_not_check"]),
    (&["list", "sound.zip", "refused.zip", "notes.txt"], 2, &["accept", "reject", "could_not_check"]),
];

const VERIFICATIONS: &[Row] = &[
    (&["verify-export", ARCHIVE, "--inventory-only"], 0, &["pass"]),
    (&["verify-export", ARCHIVE, "--inventory-only", "--receipt", RECEIPT], 0, &["pass"]),
    (&["verify-export", ARCHIVE], 3, &["undecided"]),
    (&["verify-export", "no-runs"], 3, &["undecided"]),
    (&["verify-export", "redacted"], 1, &["fail"]),
    (&["verify-export", "redacted", "--inventory-only"], 0, &["pass"]),
    (&["verify-export", "changed"], 1, &["fail"]),
    (&["verify-export", "refused.zip"], 1, &["fail"]),
    (&["verify-export", ARCHIVE, "--receipt", OTHER], 1, &["fail"]),
    (&["verify-export", "loose.zip"], 2, &["could_not_check"]),
    (&["verify-export", "notes.txt"], 2, &["could_not_check"]),
    (&["verify-export", "changed", "--receipt", RECEIPT], 2, &["could_not_check"]),
];

const FREEZINGS: &[Row] = &[
    (&["freeze", RUN], 0, &["frozen"]),
    (&["freeze", BROKEN, "--as-failed-evidence"], 0, &["frozen_as_failed_evidence"]),
    (&["freeze", "absent/matrices/small/runs/r1"], 0, &["frozen"]),
    (&["freeze", BROKEN], 1, &["not_coherent"]),
    (&["freeze", RUN, "--as-failed-evidence"], 2, &["could_not_freeze"]),
    (&["freeze", "no-such-run"], 2, &["could_not_freeze"]),
];

const EXTRACTIONS: &[Row] = &[
    (&["extract", ARCHIVE], 0, &["extracted"]),
    (&["extract", ARCHIVE, "--receipt", RECEIPT], 0, &["extracted"]),
    (&["extract", ARCHIVE, "--receipt", OTHER], 1, &["refused"]),
    (&["extract", "refused.zip"], 1, &["refused"]),
    (&["extract", "loose.zip"], 2, &["could_not_extract"]),
    (&["extract", "changed"], 2, &["could_not_extract"]),
    (&["extract", "notes.txt"], 2, &["could_not_extract"]),
];

const DIFFERENCES: &[Row] = &[
    (&["diff", ARCHIVE, ARCHIVE], 0, &["same"]),
    (&["diff", "sound.zip", ARCHIVE], 1, &["different"]),
    (&["diff", "no-runs", "changed"], 1, &["different"]),
    (&["diff", "no-runs", "redacted"], 1, &["different"]),
    (&["diff", "sound.zip", "appended.zip"], 1, &["findings"]),
    (&["diff", "appended.zip", "refused.zip"], 1, &["findings"]),
    (&["diff", "sound.zip", "notes.txt"], 2, &["could_not_compare"]),
    (&["diff", "no-such", "sound.zip"], 2, &["could_not_compare"]),
];

const REPLAYS: &[Row] = &[
    (&["replay", "replay/run", "--matrix", "replay/matrix.json"], 0, &["pass"]),
    (&["replay", "replay/crash.transcript.log", "replay/restart.transcript.log"], 0, &["pass"]),
    (&["replay", "replay/crash.transcript.log"], 0, &["pass"]),
    (&["replay", "replay/crash.transcript.log", "--require-settled"], 3, &["undecided"]),
    (&["replay", "replay/twice.transcript.log"], 1, &["fail"]),
    (&["replay", ARCHIVE], 3, &["undecided"]),
    (&["replay", "notes.txt"], 2, &["could_not_replay"]),
    (&["replay", "no-such"], 2, &["could_not_replay"]),
    (&["replay", "replay/run", "replay/twice.transcript.log"], 2, &["could_not_replay"]),
];

const CHALLENGES: &[Row] = &[
    (&["challenge", "replay/run", "--matrix", "replay/matrix.json"], 0, &["all_caught"]),
    (&["challenge", ARCHIVE], 3, &["nothing_tried"]),
    (&["challenge", "replay/twice.transcript.log"], 2, &["could_not_challenge"]),
];

/// The reports of which each command's rows must have one of: a field, and what is asked of it.
type Kind = (&'static str, fn(&Value) -> bool);

fn is_filled(value: &Value) -> bool {
    value.as_array().is_some_and(|list| !list.is_empty())
}

fn schemas() -> Vec<(String, Value)> {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/schemas");
    let entries = std::fs::read_dir(folder).expect("the schemas can be listed");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("the schemas can be listed").path()).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8").to_owned();
        let text = std::fs::read(&path).expect("the schema can be read");
        (name, serde_json::from_slice(&text).expect("the schema is JSON"))
    };
    paths.into_iter().map(read).collect()
}

fn schema(name: &str) -> jsonschema::Validator {
    let (_, schema) = schemas().into_iter().find(|(file, _)| file == name).expect("the schema is there");
    jsonschema::draft202012::new(&schema).expect("the schema can be used")
}

/// Runs a row twice, each time among fresh copies of the inputs, and gives its reports.
fn reports((arguments, code, _): &Row) -> Vec<Value> {
    let mut all = arguments.to_vec();
    all.extend(["--format", "json"]);
    if matches!(arguments.first(), Some(&("freeze" | "extract"))) {
        all.extend(["--output", "out"]);
    }
    let [first, second] = [Desk::new().run(&all), Desk::new().run(&all)];
    assert_eq!(first.status.code(), Some(*code), "{arguments:?}");
    assert!(first.stderr.is_empty(), "{arguments:?}");
    assert!(first.stdout == second.stdout, "{arguments:?} says something else the second time");
    let text = String::from_utf8(first.stdout).expect("reports are UTF-8");
    assert!(text.ends_with('\n'), "{arguments:?}");
    text.lines().map(|line| serde_json::from_str(line).expect("a report is JSON")).collect()
}

fn check(rows: &[Row], name: &str, verdict: &str, kinds: &[Kind]) {
    let validator = schema(name);
    let mut all = Vec::new();
    for row in rows {
        let found = reports(row);
        let verdicts: Vec<_> = found.iter().filter_map(|report| report.get(verdict)?.as_str()).collect();
        assert_eq!(verdicts, row.2, "{:?}", row.0);
        for report in &found {
            let faults: Vec<_> = validator.iter_errors(report).map(|fault| fault.to_string()).collect();
            assert!(faults.is_empty(), "{:?}: {faults:?}\n{report}", row.0);
            refuses_twins(&validator, report);
        }
        all.extend(found);
    }
    for (field, is_kind) in kinds {
        assert!(all.iter().any(|report| report.get(field).is_some_and(is_kind)), "no report has this kind of {field}");
    }
}

/// The schema is exact: each field is needed, and none may be added.
fn refuses_twins(validator: &jsonschema::Validator, report: &Value) {
    let fields = report.as_object().expect("a report is an object");
    for field in fields.keys() {
        let mut without = fields.clone();
        without.remove(field);
        assert!(!validator.is_valid(&Value::Object(without)), "{field} may be left out");
    }
    let mut more = fields.clone();
    more.insert("more".to_owned(), Value::Null);
    assert!(!validator.is_valid(&Value::Object(more)), "a field may be added");
}

#[test]
fn listings_follow_their_schema() {
    let kinds: &[Kind] = &[("findings", is_filled), ("warnings", is_filled), ("error", Value::is_object)];
    check(LISTINGS, "exhibit-listing-1.json", "verdict", kinds);
}

#[test]
fn verifications_follow_their_schema() {
    let kinds: &[Kind] = &[
        ("findings", is_filled),
        ("error", Value::is_object),
        ("tree", Value::is_null),
        ("packed", Value::is_object),
        ("runs", is_filled),
        ("omissions", is_filled),
        ("not_judged", is_filled),
    ];
    check(VERIFICATIONS, "exhibit-verification-1.json", "verdict", kinds);
}

#[test]
fn freezings_follow_their_schema() {
    let kinds: &[Kind] = &[("findings", is_filled), ("written", Value::is_object), ("omissions", is_filled)];
    check(FREEZINGS, "exhibit-freezing-1.json", "outcome", kinds);
}

#[test]
fn extractions_follow_their_schema() {
    let kinds: &[Kind] = &[
        ("findings", is_filled),
        ("written", Value::is_object),
        ("tree", Value::is_object),
        ("packed", Value::is_object),
    ];
    check(EXTRACTIONS, "exhibit-extraction-1.json", "outcome", kinds);
}

#[test]
fn differences_follow_their_schema() {
    let kinds: &[Kind] = &[
        ("files", is_filled),
        ("manifest", is_filled),
        ("same_zip", Value::is_boolean),
        ("same_zip", Value::is_null),
        ("error", Value::is_object),
    ];
    check(DIFFERENCES, "exhibit-difference-1.json", "outcome", kinds);
}

#[test]
fn replays_follow_their_schema() {
    let kinds: &[Kind] = &[("runs", is_filled), ("error", Value::is_object)];
    check(REPLAYS, "exhibit-replay-1.json", "verdict", kinds);
}

#[test]
fn challenges_follow_their_schema() {
    let kinds: &[Kind] = &[("runs", is_filled), ("error", Value::is_object)];
    check(CHALLENGES, "exhibit-challenge-1.json", "outcome", kinds);
}

#[test]
fn schemas_are_schemas_and_name_themselves() {
    for (file, schema) in schemas() {
        jsonschema::draft202012::meta::validate(&schema).unwrap_or_else(|fault| panic!("{file}: {fault}"));
        let name = file.strip_prefix("exhibit-").and_then(|rest| rest.strip_suffix(".json"));
        let (name, version) = name.and_then(|name| name.rsplit_once('-')).expect("exhibit-NAME-VERSION.json");
        assert_eq!(schema["$id"], format!("urn:exhibit:schema:{name}:{version}"), "{file}");
        assert_eq!(schema["$schema"], "https://json-schema.org/draft/2020-12/schema", "{file}");
        // A line of a transcript is one of several objects, each of them closed.
        let objects = schema["oneOf"].as_array().cloned().unwrap_or_else(|| vec![schema.clone()]);
        assert!(objects.iter().all(|object| object["additionalProperties"] == false), "{file}");
    }
}

#[test]
fn every_schema_has_a_fixture_or_a_report() {
    let reports =
        ["challenge", "difference", "exporting", "extraction", "freezing", "listing", "replay", "verification"];
    let reports = reports.map(|name| format!("exhibit-{name}-1.json"));
    // `tests/formats.rs` reads a fixture of each.
    let fixtures = [
        "dialect",
        "export",
        "manifest",
        "matrix",
        "policy",
        "receipt",
        "result",
        "run",
        "source-snapshot",
        "transcript",
    ];
    let fixtures = fixtures.map(|name| format!("exhibit-{name}-1.json"));
    let known: BTreeSet<String> = reports.into_iter().chain(fixtures).collect();
    assert_eq!(schemas().into_iter().map(|(file, _)| file).collect::<BTreeSet<_>>(), known);
}
