//! Holds old formats readable and newer ones refused: one fixture of every version that was ever written, and one of a
//! version that wasn't yet. A fixture is never changed; a new version gets a new one.
#![expect(clippy::disallowed_methods, reason = "a test may start the program that it tests")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::dialect::Dialect;
use exhibit::limits::Limits;
use exhibit::manifest::{self, Receipt};
use exhibit::policy::Policy;
use exhibit::redact::Rules;
use exhibit::tree::Inventory;
use serde_json::Value;

const RUN: &str = "matrices/small/runs/r1";

fn fixture(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/formats").join(name)
}

fn bytes(name: &str) -> Vec<u8> {
    std::fs::read(fixture(name)).expect("the fixture can be read")
}

fn inventory(name: &str) -> Inventory {
    let (inventory, findings) = Inventory::open(&fixture(name), &Limits::default(), &|_| ()).expect("it is a tree");
    assert!(findings.none_broken(), "{findings:?}");
    inventory
}

fn follows(schema: &str, document: &[u8]) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("schemas").join(schema);
    let schema = serde_json::from_slice(&std::fs::read(path).expect("the schema can be read")).expect("it is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema can be used");
    let document = serde_json::from_slice(document).expect("the fixture is JSON");
    let faults: Vec<_> = validator.iter_errors(&document).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}");
}

#[test]
fn manifest_1_is_read() {
    let inventory = inventory("exhibit-manifest-1");
    let (manifest, findings) = manifest::read(&inventory, &Limits::default(), None).expect("the format is known");
    let manifest = manifest.expect("the manifest is one");
    assert!(findings.none_broken(), "{findings:?}");
    let compared = manifest::compare(&manifest, &inventory, &Limits::default());
    // Modes are those of the clone; contents must agree.
    assert!(compared.iter().all(|finding| finding.code.name() == "tree-mode"), "{compared:?}");
    assert_eq!(manifest.root_name(), "made-up-68d6fb5b5011");
    assert_eq!((manifest.omissions().len(), manifest.runs().len()), (1, 1));
    assert!(manifest.assertions().iter().any(|said| said.contains("home_path_to_<REDACTED_HOME>")));
    follows("exhibit-manifest-1.json", &bytes("exhibit-manifest-1/EXPORT-MANIFEST.json"));
}

#[test]
fn each_version_of_the_historical_manifest_is_read() {
    let limits = Limits::default();
    let name = "exhibit-policy-1.json";
    let policy = Policy::load(&fixture(name), &bytes(name), &limits).expect("the policy is one");
    for (format, known) in [
        ("tracked-source-export-v1", (Some("/home/"), Some(2))),
        ("public-source-export-v2", (Some("/home/"), Some(2))),
        ("public-source-export-v3", (None, None)),
    ] {
        let inventory = inventory(format);
        let (manifest, findings) = manifest::read(&inventory, &limits, Some(&policy)).expect("the format is known");
        let manifest = manifest.expect("the manifest is one");
        assert_eq!(findings.iter().count(), 0, "{findings:?}");
        let compared = manifest::compare(&manifest, &inventory, &limits);
        assert!(compared.iter().all(|finding| finding.code.name() == "tree-mode"), "{compared:?}");
        assert_eq!((manifest.format(), manifest.root_name().as_str()), (format, "made-up-01234567"));
        let derivatives = manifest.derivatives();
        let derivative = derivatives.get("made.txt").expect("it is a derivative");
        assert_eq!((derivative.matched_prefix.as_deref(), derivative.occurrences), known);
        assert_eq!(derivative.private_sha256, policy.derivatives.first().expect("one").private_origin_sha256);
        assert_eq!(manifest.assertions().len(), 5, "{:?}", manifest.assertions());
    }
}

#[test]
fn receipt_1_is_read() {
    let (path, bytes) = (fixture("exhibit-receipt-1.json"), bytes("exhibit-receipt-1.json"));
    let receipt = Receipt::read(&path, &bytes, &Limits::default()).expect("the receipt is one");
    assert_eq!(receipt.size, 1234);
    assert_eq!(receipt.to_bytes().expect("it can be written"), bytes);
    follows("exhibit-receipt-1.json", &bytes);
}

#[test]
fn policy_1_is_read() {
    let (path, bytes) = (fixture("exhibit-policy-1.json"), bytes("exhibit-policy-1.json"));
    let policy = Policy::load(&path, &bytes, &Limits::default()).expect("the policy is one");
    assert_eq!((policy.derivatives.len(), policy.retained_runs.len()), (1, 1));
    follows("exhibit-policy-1.json", &bytes);
}

#[test]
fn export_1_is_read() {
    let (path, bytes) = (fixture("exhibit-export-1.json"), bytes("exhibit-export-1.json"));
    let rules = Rules::load(&path, &bytes, &Limits::default()).expect("the rules are some");
    let document = rules.document();
    assert_eq!((document.redactions.len(), document.derivatives.len(), document.runs.len()), (1, 1, 1));
    let written = serde_json::to_vec(document).expect("it can be written");
    assert_eq!(Rules::load(&path, &written, &Limits::default()).expect("it is read again").document(), document);
    follows("exhibit-export-1.json", &bytes);
}

/// What the program says of a fixture, as JSON, with its exit code.
fn report(arguments: &[&str]) -> (Value, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_exhibit"))
        .args(arguments)
        .args(["--format", "json"])
        .current_dir(fixture(""))
        .output()
        .expect("the program starts");
    (serde_json::from_slice(&output.stdout).expect("a report is JSON"), output.status.code())
}

#[test]
fn run_1_result_1_and_matrix_1_are_read() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let out = folder.path().to_str().expect("the folder's name is UTF-8");
    let (report, code) = report(&["freeze", &format!("exhibit-run-1/{RUN}"), "-o", out]);
    assert_eq!((&report["outcome"], code), (&"frozen".into(), Some(0)), "{report}");
    let statuses: Vec<_> = report["cases"].as_array().into_iter().flatten().map(|case| &case["status"]).collect();
    assert_eq!(statuses, ["pass", "unsupported"]);
    follows("exhibit-run-1.json", &bytes(&format!("exhibit-run-1/{RUN}/run.json")));
    follows("exhibit-matrix-1.json", &bytes("exhibit-run-1/matrices/small/matrix.json"));
    for line in bytes(&format!("exhibit-run-1/{RUN}/results.jsonl")).split(|byte| *byte == b'\n') {
        if !line.is_empty() {
            follows("exhibit-result-1.json", line);
        }
    }
}

#[test]
fn source_snapshot_1_is_read() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let out = folder.path().to_str().expect("the folder's name is UTF-8");
    let (frozen, code) = report(&["freeze", &format!("exhibit-source-snapshot-1/{RUN}"), "-o", out]);
    assert_eq!((&frozen["outcome"], code), (&"frozen".into(), Some(0)), "{frozen}");
    let archive = frozen["written"]["archive"].as_str().expect("an archive was written");
    let (verified, code) = report(&["verify-export", archive]);
    let open = verified["runs"][0]["not_judged"].as_array().map(Vec::len);
    assert_eq!((open, code), (Some(1), Some(3)), "the replay alone is open: {verified}");
    follows("exhibit-run-1.json", &bytes(&format!("exhibit-source-snapshot-1/{RUN}/run.json")));
    let document = "matrices/small/source-snapshots/r1-71e08e7eb0673c3902205456d815c29a749843ec.json";
    follows("exhibit-source-snapshot-1.json", &bytes(&format!("exhibit-source-snapshot-1/{document}")));
}

#[test]
fn newer_formats_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let out = folder.path().to_str().expect("the folder's name is UTF-8");
    let run = |name: &str| format!("{name}/{RUN}");
    let manifest = "exhibit-manifest-1";
    for (format, arguments) in [
        ("exhibit-manifest/2", vec!["verify-export", "exhibit-manifest-2"]),
        ("exhibit-policy/2", vec!["verify-export", manifest, "--policy", "exhibit-policy-2.json"]),
        ("exhibit-receipt/2", vec!["verify-export", manifest, "--receipt", "exhibit-receipt-2.json"]),
        ("exhibit-run/2", vec!["freeze", &run("exhibit-run-2"), "-o", out]),
        ("exhibit-source-snapshot/2", vec!["freeze", &run("exhibit-source-snapshot-2"), "-o", out]),
        ("exhibit-matrix/2", vec!["freeze", &run("exhibit-matrix-2"), "-o", out]),
    ] {
        let (report, code) = report(&arguments);
        assert_eq!(code, Some(2), "{arguments:?}");
        assert_eq!(report["error"]["kind"], "unknown_format", "{report}");
        let message = report["error"]["message"].as_str().expect("an error has a message");
        assert!(message.contains(&format!("{format:?}")), "{message}");
    }
}

#[test]
fn transcript_1_is_read() {
    let text = bytes("exhibit-transcript-1.jsonl");
    let read = exhibit::transcript::read(&*text, "t", &Limits::default(), &mut |_| ()).expect("the format is known");
    assert!(read.findings.none_broken(), "{:?}", read.findings);
    assert_eq!((read.lines, read.events, read.requests, read.lost), (7, 4, 1, 0));
    for line in text.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        follows("exhibit-transcript-1.json", line);
    }
}

#[test]
fn dialect_1_is_read() {
    let name = "exhibit-dialect-1.json";
    let dialect = Dialect::load(&fixture(name), &bytes(name), &Limits::default()).expect("the dialect is one");
    assert!(dialect.has_operations() && dialect.name() == "mcp-python");
    follows(name, &bytes(name));
}
