//! Holds the committed matrices against their format, and the format's faults: all at once, each with its place.
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

use std::path::{Path, PathBuf};

use exhibit::error::Error;
use exhibit::limits::Limits;
use exhibit::run::matrix::{MatrixDocument, Method};
use serde_json::{Value, json};

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn text(name: &str) -> Vec<u8> {
    std::fs::read(at(&format!("matrices/{name}/matrix.json"))).expect("the matrix can be read")
}

fn load(bytes: &[u8]) -> Result<MatrixDocument, Error> {
    MatrixDocument::load(Path::new("matrix.json"), bytes, &Limits::default())
}

fn faults(document: &Value) -> Vec<String> {
    match load(document.to_string().as_bytes()) {
        Err(Error::Document { faults, .. }) => faults,
        other => panic!("{other:?}"),
    }
}

/// The places of the faults.
fn places(document: &Value) -> Vec<String> {
    let place = |fault: String| fault.split_once(": ").map_or_else(String::new, |(place, _)| place.to_owned());
    faults(document).into_iter().map(place).collect()
}

#[test]
fn the_committed_matrices_are_read() {
    let made = load(&text("made-example")).expect("it is a matrix");
    assert!(made.dialect.is_none() && made.cases.iter().all(|case| case.phases.is_empty()));
    for name in ["mcr-python", "mcr-typescript"] {
        let matrix = load(&text(name)).expect("it is a matrix");
        // The study's name for its matrices, and the wire's for its dialects.
        let dialect = name.replace("mcr", "mcp");
        assert_eq!((matrix.name.as_str(), matrix.cases.len()), (name, 12));
        assert_eq!(matrix.dialect.as_deref(), Some(dialect.as_str()));
        assert!(matrix.cases.iter().all(|case| !case.expectations.is_empty()));
        assert!(at(&format!("matrices/{name}/PROTOCOL.md")).is_file());
        let reads_only = |name: &str| name.ends_with("readback");
        let readers: Vec<_> =
            matrix.cases.iter().flat_map(|case| case.processes().map(move |(_, p)| (case, p))).collect();
        let readers: Vec<_> = readers.into_iter().filter(|(_, process)| reads_only(&process.name)).collect();
        assert_eq!(readers.len(), if name == "mcr-python" { 0 } else { 3 });
        assert!(readers.iter().all(|(_, process)| process.steps.iter().all(|step| step.send == Method::Status)));
    }
}

#[test]
fn the_python_matrix_asks_for_what_the_study_asked_for() {
    let path = at("../shared/corpus/mcr-python-tree/docs/research-completion-2026-09-22/matrix-spec.json");
    let Ok(spec) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let spec: Value = serde_json::from_slice(&spec).expect("it is JSON");
    let ours: Value = serde_json::from_slice(&text("mcr-python")).expect("it is JSON");
    let rows = |document: &Value| {
        let cases = document["cases"].as_array().cloned().unwrap_or_default();
        cases.iter().map(|case| json!([case["id"], case["name"], case["expected"]])).collect::<Vec<_>>()
    };
    assert_eq!(rows(&ours), rows(&spec));
}

#[test]
fn all_faults_of_the_schema_are_told_at_once() {
    let mut matrix: Value = serde_json::from_slice(&text("mcr-python")).expect("it is JSON");
    let process = &mut matrix["cases"][0]["phases"][0]["processes"][0];
    process["clock"] = json!("noon");
    process["exit"] = json!([]);
    process["steps"][0]["answer"] = json!("alpha");
    matrix["cases"][0]["expectations"][0]["reply"]["outcome"] = json!("fine");
    matrix["cases"][0]["expectations"][3] =
        json!({"count": {"table": "issues", "where": {"state": "applied"}, "n": 1}});
    matrix["cases"][1].as_object_mut().expect("a case").remove("expectations");
    matrix["cases"][2]["expectations"][0] = json!({"predicate": "x"});
    let process = "/cases/0/phases/0/processes/0";
    let mut found = places(&matrix);
    found.sort();
    // Two fields of the case want the third.
    found.dedup();
    let mut wanted = [
        format!("{process}/clock"),
        format!("{process}/exit"),
        format!("{process}/steps/0/answer"),
        "/cases/0/expectations/0/reply/outcome".to_owned(),
        "/cases/0/expectations/3/count/where".to_owned(),
        "/cases/1".to_owned(),
        "/cases/2/expectations/0".to_owned(),
    ];
    wanted.sort();
    assert_eq!(found, wanted);
}

#[test]
fn all_names_that_nothing_has_are_told_at_once() {
    let mut matrix: Value = serde_json::from_slice(&text("mcr-python")).expect("it is JSON");
    matrix.as_object_mut().expect("a matrix").remove("dialect");
    let case = &mut matrix["cases"][2];
    case["phases"][1]["processes"][0]["name"] = json!("crash");
    case["phases"][0]["processes"][0]["steps"][0]["id"] = json!("apply");
    case["expectations"] = json!([
        {"reply": {"step": "x", "outcome": "applied", "equals_step": "y"}},
        {"status": {"process": "x", "operation": "case-03", "state": "applied"}},
        {"absent": {"process": "crash", "method": "status"}},
        {"exit": {"process": "x", "code": [70, 71]}},
    ]);
    let wanted = [
        "the document",
        "/cases/2/phases/0/processes/0/steps/1/id",
        "/cases/2/phases/0/processes/0/steps/1/state/from",
        "/cases/2/phases/1/processes/0/name",
        "/cases/2/phases/1/processes/0/steps/1/state/from",
        "/cases/2/expectations/0/reply/step",
        "/cases/2/expectations/0/reply/equals_step",
        "/cases/2/expectations/1/status/process",
        "/cases/2/expectations/3/exit/process",
    ];
    assert_eq!(places(&matrix), wanted);
}
