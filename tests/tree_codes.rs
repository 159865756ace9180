//! Every rule on trees, manifests, receipts and runs is broken once, in one respect, and `verify-export` finds exactly
//! that; without that one change it finds nothing.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;

use std::collections::BTreeSet;
use std::os::unix::fs::{FileExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicBool, Ordering};

use exhibit::digest::Sha256;
use exhibit::finding::{RULES, Severity};
use serde_json::{Value, json};

use Change::{Bytes, Disk, Manifest, Packing, Policy, Receipt, Record};
use Kind::{Historical, HistoricalV1, HistoricalV2, Own};
use export::{Export, Kind, MANIFEST, PRIVATE, REDACTED, Tree, exhibit, release, say, snapshot, verify};

/// The one change that breaks a rule.
#[derive(Debug, Clone, Copy)]
enum Change {
    /// Of the tree before the manifest is made.
    Record(fn(&mut Tree)),
    /// Of the manifest.
    Manifest(fn(&mut Value)),
    /// Of the manifest's text.
    Bytes(fn(&str) -> String),
    /// Of the folder that was written.
    Disk(fn(&Path)),
    /// Of the way in which the ZIP is packed.
    Packing(fn(&mut Export)),
    /// Of the policy.
    Policy(fn(&mut Value)),
    /// Of the ZIP's receipt.
    Receipt(fn(&mut Value)),
}

struct Row {
    code: &'static str,
    what: &'static str,
    kind: Kind,
    change: Change,
}

const fn row(code: &'static str, what: &'static str, kind: Kind, change: Change) -> Row {
    Row { code, what, kind, change }
}

/// Codes of these families that no row below can raise, and where they are raised instead.
const ELSEWHERE: &[(&str, &str)] = &[
    ("tree-changed", "a_file_that_is_written_to_while_it_is_read_is_found: it takes a second writer"),
    ("run-fact-differs", "each_recorded_field_is_compared: it takes the rows of a database"),
];

const FAMILIES: [&str; 8] = ["tree-", "file-", "json-", "manifest-", "derivative-", "receipt-", "run-", "snapshot-"];

const TREES: &[Row] = &[
    row("tree-root", "another name", Own, Packing(|e| e.root = Some("made-up-000000000000".into()))),
    row("tree-root", "another name", Historical, Packing(|e| e.root = Some("made-up".into()))),
    row(
        "tree-link",
        "a link",
        Own,
        Disk(|root| std::os::unix::fs::symlink("README.md", root.join("also.md")).unwrap()),
    ),
    row(
        "tree-link",
        "a link to a folder",
        Own,
        Disk(|root| std::os::unix::fs::symlink("/etc", root.join("etc")).unwrap()),
    ),
    row("tree-special-file", "a pipe", Historical, Disk(|root| pipe(&root.join("pipe")))),
    row("tree-git-metadata", "a repository", Historical, Disk(|root| write(root, ".git/HEAD", b"ref\n"))),
    row("tree-git-metadata", "a submodule's file", Own, Disk(|root| write(root, "tools/.git", b"x\n"))),
    row("tree-empty-folder", "a folder", Own, Disk(|root| export::make_folder(&root.join("tools/empty")))),
    row("tree-empty-folder", "a folder", Historical, Disk(|root| export::make_folder(&root.join("empty")))),
    row("tree-mode", "executable", Own, Disk(|root| chmod(root, "README.md", 0o755))),
    row("tree-mode", "not executable", Historical, Disk(|root| chmod(root, "tools/run.sh", 0o644))),
    row("tree-mode", "masked", Own, Disk(|root| chmod(root, "README.md", 0o600))),
    row("tree-mode", "the manifest's", Own, Disk(|root| chmod(root, MANIFEST, 0o600))),
    row("tree-mode", "recorded", Own, Manifest(|m| *of(m, "README.md", "mode") = json!("0755"))),
    row("file-missing", "removed", Own, Disk(|root| remove(root, "README.md"))),
    row("file-missing", "a transcript", Historical, Disk(|root| remove(root, "@a/case-03/server.transcript.log"))),
    row("file-missing", "a journal", Own, Disk(|root| remove(root, "@r/cases/01/store.sqlite3-journal"))),
    row("file-missing", "the head of a run", Own, Disk(|root| remove(root, "@r/run.json"))),
    row("file-missing", "the results", Historical, Disk(|root| remove(root, "@a/results.jsonl"))),
    row("file-missing", "the results", Own, Disk(|root| remove(root, "@r/results.jsonl"))),
    row("file-missing", "the matrix", Own, Disk(|root| remove(root, "matrices/small/matrix.json"))),
    row("file-missing", "the matrix", Historical, Disk(|root| remove(root, "docs/matrix-spec.json"))),
    row(
        "file-missing",
        "listed only",
        Historical,
        Manifest(|m| {
            let mut more = m["files"][0].clone();
            more["path"] = json!("AAA");
            m["files"].as_array_mut().unwrap().insert(0, more);
            m["exported_file_count"] = json!(m["files"].as_array().unwrap().len());
            m["tracked_source_file_count"] = json!(m["files"].as_array().unwrap().len() + 1);
        }),
    ),
    row("file-extra", "added", Own, Disk(|root| write(root, "more.txt", b"more\n"))),
    row("file-extra", "added in a folder of its own", Own, Disk(|root| write(root, "new/more.txt", b"x"))),
    row("file-extra", "added to a run", Historical, Disk(|root| write(root, "@a/case-03/more", b"x"))),
    row("file-extra", "a journal added", Own, Disk(|root| write(root, "@r/cases/01/store.sqlite3-wal", b"x"))),
    row(
        "file-extra",
        "not listed",
        Own,
        Manifest(|m| {
            m["files"].as_array_mut().unwrap().remove(0);
        }),
    ),
    row("file-size", "recorded", Own, Manifest(|m| *of(m, "README.md", "size") = json!(9))),
    row("file-changed", "one byte", Own, Disk(|root| write(root, "README.md", b"made uP\n"))),
    row("file-changed", "cut", Own, Disk(|root| write(root, "README.md", b"made"))),
    row("file-changed", "cut", Historical, Disk(|root| write(root, "README.md", b"made"))),
    row(
        "file-changed",
        "a transcript",
        Historical,
        Disk(|root| write(root, "@a/case-03/server.transcript.log", b"> {}\n")),
    ),
    row("file-changed", "a transcript", Own, Disk(|root| write(root, "@r/cases/03/server.transcript.jsonl", b"x"))),
    row("file-changed", "recorded", Own, Manifest(|m| *of(m, "README.md", "sha256") = json!(Sha256::of(b"x")))),
    row("file-blob", "recorded", Own, Manifest(|m| *of(m, "README.md", "git_blob") = json!("0".repeat(40)))),
    row(
        "file-blob",
        "recorded",
        Historical,
        Manifest(|m| *of(m, "README.md", "git_blob_sha1") = json!("0".repeat(40))),
    ),
    row("zip-not-canonical", "stored", Own, Packing(|e| e.method = zip::CompressionMethod::Stored)),
    row("zip-not-canonical", "stored", Historical, Packing(|e| e.method = zip::CompressionMethod::Stored)),
];

const MANIFESTS: &[Row] = &[
    row("json-syntax", "cut", Own, Bytes(|text| text[..text.len() / 2].to_owned())),
    row("json-syntax", "something after it", Historical, Bytes(|text| format!("{text}{{}}\n"))),
    row("json-syntax", "empty", Historical, Bytes(|_| String::new())),
    row(
        "json-duplicate-key",
        "twice",
        Own,
        Bytes(|text| text.replacen("\"kind\":", "\"kind\":\"bundle\",\"kind\":", 1)),
    ),
    row(
        "json-duplicate-key",
        "deep",
        Historical,
        Bytes(|text| text.replacen("\"status\":", "\"transforms\": [], \"status\":", 1)),
    ),
    row("manifest-field", "unknown", Own, Manifest(|m| m["more"] = json!(1))),
    row("manifest-field", "missing", Historical, Manifest(|m| drop(m.as_object_mut().unwrap().remove("source_kind")))),
    row("manifest-field", "a boolean for a count", Historical, Manifest(|m| m["omitted_file_count"] = json!(true))),
    row("manifest-field", "a mode", Historical, Manifest(|m| *of(m, "README.md", "git_mode") = json!("120000"))),
    row(
        "manifest-field",
        "a standing without faults",
        Own,
        Manifest(|m| m["runs"][0]["standing"] = json!("failed_evidence")),
    ),
    row("manifest-canonical", "a line's end", Own, Bytes(|text| format!("{text}\n"))),
    row("manifest-canonical", "spaces", Own, Bytes(|text| text.replacen("\"kind\":", "\"kind\": ", 1))),
    row("manifest-order", "files", Own, Manifest(|m| m["files"].as_array_mut().unwrap().swap(0, 1))),
    row(
        "manifest-order",
        "omissions",
        Own,
        Manifest(|m| {
            m["omissions"] = json!(["b", "a"].map(|path| json!({"path": path, "reason": "x", "sha256": null})));
        }),
    ),
    row("manifest-count", "files", Historical, Manifest(|m| m["exported_file_count"] = json!(1))),
    row("manifest-count", "omissions", Historical, Manifest(|m| m["omitted_file_count"] = json!(0))),
    row(
        "manifest-path",
        "twice",
        Own,
        Manifest(|m| {
            let first = m["files"][0].clone();
            m["files"].as_array_mut().unwrap().insert(0, first);
        }),
    ),
    row(
        "manifest-path",
        "a run twice",
        Own,
        Manifest(|m| {
            let first = m["runs"][0].clone();
            m["runs"].as_array_mut().unwrap().push(first);
        }),
    ),
    row(
        "manifest-blob",
        "another original",
        Historical,
        Manifest(|m| *of(m, "README.md", "original_sha256") = json!(Sha256::of(b"x"))),
    ),
    row(
        "manifest-blob",
        "a transform",
        Historical,
        Manifest(|m| {
            let transform = json!({"transform": "home", "occurrences": 1, "matched_prefix": "/home/"});
            *of(m, "README.md", "transforms") = json!([transform]);
        }),
    ),
    row(
        "manifest-blob",
        "a private original of an identical file",
        Historical,
        Manifest(|m| *of(m, "README.md", "private_origin_sha256") = json!(Sha256::of(b"x"))),
    ),
    row(
        "manifest-blob",
        "no private original",
        Historical,
        Manifest(|m| drop(file(m, REDACTED).as_object_mut().unwrap().remove("private_origin_sha256"))),
    ),
    row("manifest-blob", "matched nothing", Own, Manifest(|m| of(m, REDACTED, "derivative")["occurrences"] = json!(0))),
    row(
        "manifest-omission",
        "another reason",
        Historical,
        Manifest(|m| m["omissions"][0]["reason"] = json!("too large")),
    ),
    row(
        "manifest-omission",
        "there all the same",
        Own,
        Manifest(|m| m["omissions"] = json!([{"path": "README.md", "reason": "x", "sha256": null}])),
    ),
    row("derivative-set", "one not approved", Historical, Policy(|p| p["derivatives"] = json!([]))),
    row("derivative-set", "one not approved", Own, Policy(|p| p["derivatives"] = json!([]))),
    row(
        "derivative-set",
        "one more approved",
        Historical,
        Policy(|p| {
            let mut more = p["derivatives"][0].clone();
            more["path"] = json!("README.md");
            p["derivatives"].as_array_mut().unwrap().push(more);
        }),
    ),
    row(
        "derivative-set",
        "one that is not there",
        Own,
        Policy(|p| {
            let mut more = p["derivatives"][0].clone();
            more["path"] = json!("gone.txt");
            p["derivatives"].as_array_mut().unwrap().push(more);
        }),
    ),
    row(
        "derivative-record",
        "another original",
        Historical,
        Policy(|p| p["derivatives"][0]["private_origin_sha256"] = json!(Sha256::of(b"x"))),
    ),
    row(
        "derivative-record",
        "another original",
        Own,
        Policy(|p| p["derivatives"][0]["private_origin_git_blob"] = json!("0".repeat(40))),
    ),
    row("derivative-record", "another rule", Own, Policy(|p| p["derivatives"][0]["transform"] = json!("user"))),
    row(
        "derivative-record",
        "another public file",
        Historical,
        Policy(|p| p["derivatives"][0]["public_sha256"] = json!(Sha256::of(PRIVATE))),
    ),
    row(
        "derivative-digest",
        "another original",
        HistoricalV1,
        Policy(|p| p["derivatives"][0]["private_origin_sha256"] = json!(Sha256::of(b"x"))),
    ),
    row(
        "derivative-digest",
        "another public file",
        HistoricalV2,
        Policy(|p| p["derivatives"][0]["public_sha256"] = json!(Sha256::of(PRIVATE))),
    ),
    row("receipt-differs", "digest", Own, Receipt(|r| r["sha256"] = json!(Sha256::of(b"x")))),
    row("receipt-differs", "size", Historical, Receipt(|r| r["size"] = json!(1))),
    row("receipt-differs", "content id", Own, Receipt(|r| r["content_id"] = json!(Sha256::of(b"x")))),
    row("receipt-differs", "no commit", Historical, Receipt(|r| r["source_commit"] = Value::Null)),
];

const RUNS: &[Row] = &[
    row("json-syntax", "a result", Own, Record(|t| t.put_in_run("run.json", "{"))),
    row(
        "json-duplicate-key",
        "in the spec",
        Historical,
        Record(|t| {
            let text = t.results()[0].to_string();
            let twice = text.replacen("\"case_id\":", "\"case_id\":\"01\",\"case_id\":", 1);
            let rest: Vec<String> = t.results()[1..].iter().map(|record| format!("{record}\n")).collect();
            t.put_in_run("results.jsonl", format!("{twice}\n{}", rest.concat()));
        }),
    ),
    row(
        "run-missing",
        "another was asked for",
        Historical,
        Policy(|p| p["retained_runs"][0]["path"] = json!("docs/raw/attempt-2")),
    ),
    row("run-missing", "no run", Historical, Policy(|p| p["retained_runs"][0]["path"] = json!("docs/raw"))),
    row(
        "run-missing",
        "one more was asked for",
        Own,
        Policy(|p| {
            p["retained_runs"]
                .as_array_mut()
                .unwrap()
                .push(json!({"path": "matrices/small/runs/r2", "spec": "matrices/small/matrix.json"}));
        }),
    ),
    row("run-missing", "its head is gone", Own, Record(|t| t.remove_in_run("run.json"))),
    row("run-record", "id", Own, Record(|t| t.edit("matrices/small/runs/r1/run.json", |run| run["id"] = json!("r2")))),
    row("run-record", "no results", Own, Record(|t| t.remove_in_run("results.jsonl"))),
    row(
        "run-record",
        "a test's own record",
        Historical,
        Record(|t| {
            let name = "case-03.test-record.jsonl";
            let path = t.path(name);
            t.edit(&path, |record| record["status"] = json!("fail"));
            let sha256 = t.sha256(&path);
            t.edit_result(2, |result| result["artifact_hashes"][&path] = json!(sha256));
        }),
    ),
    row("run-spec-missing", "gone", Own, Record(|t| t.remove("matrices/small/matrix.json"))),
    row("run-spec-missing", "gone", Historical, Record(|t| t.remove("docs/matrix-spec.json"))),
    row(
        "run-spec-differs",
        "another",
        Own,
        Record(|t| t.edit("matrices/small/matrix.json", |m| m["cases"][0]["name"] = json!("x"))),
    ),
    row(
        "run-spec-differs",
        "another",
        Historical,
        Record(|t| t.edit("docs/matrix-spec.json", |m| m["cases"][0]["name"] = json!("x"))),
    ),
    row("run-case-missing", "no result", Own, Record(|t| without_last(t, &["cases/03/server.transcript.jsonl"]))),
    row(
        "run-case-missing",
        "no result",
        Historical,
        Record(|t| without_last(t, &["case-03.test-record.jsonl", "case-03/server.transcript.log"])),
    ),
    row("run-case-repeated", "twice", Own, Record(|t| with_more(t, |_| ()))),
    row("run-case-repeated", "twice", Historical, Record(|t| with_more(t, |_| ()))),
    row(
        "run-case-unrequested",
        "unasked",
        Own,
        Record(|t| {
            with_more(t, |r| {
                r["case"] = json!("04");
                r["artifacts"] = json!({});
            });
        }),
    ),
    row(
        "run-case-unrequested",
        "unasked",
        Historical,
        Record(|t| {
            with_more(t, |r| {
                r["case_id"] = json!("04");
                r["artifact_hashes"] = json!({});
            });
        }),
    ),
    row("run-expectation-differs", "expected", Own, Record(|t| t.edit_result(2, |r| r["expected"] = json!("x")))),
    row(
        "run-expectation-differs",
        "expected",
        Historical,
        Record(|t| t.edit_result(2, |r| r["expected"] = json!("x"))),
    ),
    row("run-case-failed", "failed", Own, Record(|t| t.edit_result(2, |r| r["status"] = json!("fail")))),
    row(
        "run-machinery-error",
        "broke",
        Own,
        Record(|t| {
            t.edit_result(2, |r| {
                r["status"] = json!("machinery_error");
                r["error"] = json!("x");
            });
        }),
    ),
    row(
        "run-machinery-error",
        "broke",
        Historical,
        Record(|t| t.edit_result(2, |r| r["status"] = json!("machinery_error"))),
    ),
    row("run-unsupported-unnamed", "unnamed", Own, Record(|t| t.edit_result(1, |r| r["missing_api"] = Value::Null))),
    row(
        "run-unsupported-unnamed",
        "unnamed",
        Historical,
        Record(|t| t.edit_result(1, |r| r["missing_api"] = json!("  "))),
    ),
    row("run-artifact-changed", "a transcript", Own, Record(|t| t.put_in_run("cases/03/server.transcript.jsonl", "x"))),
    row(
        "run-artifact-changed",
        "a transcript",
        Historical,
        Record(|t| t.put_in_run("case-03/server.transcript.log", "x")),
    ),
    row("run-artifact-absent", "a transcript", Own, Record(|t| t.remove_in_run("cases/03/server.transcript.jsonl"))),
    row(
        "run-artifact-absent",
        "a transcript",
        Historical,
        Record(|t| t.remove_in_run("case-03/server.transcript.log")),
    ),
    row("run-file-unaccounted", "a note", Own, Record(|t| t.put_in_run("cases/03/notes.txt", "x"))),
    row(
        "run-file-unaccounted",
        "a log of another case",
        Historical,
        Record(|t| t.put_in_run("case-09.pytest.stdout.log", "x")),
    ),
    row("run-sidecar", "missing", Own, Record(|t| t.remove_in_run("cases/01/store.sqlite3-journal"))),
    row("run-sidecar", "undeclared", Own, Record(|t| t.put_in_run("cases/01/store.sqlite3-wal", "x"))),
    row("run-source-changed", "a program", Historical, Record(|t| t.put("reference/backend.py", "another"))),
    row(
        "run-source-changed",
        "a program",
        Own,
        Record(|t| {
            snapshot::sources(t);
            t.put("reference/backend.py", "another");
        }),
    ),
];

const SNAPSHOTS: &[Row] = &[
    row(
        "snapshot-archive",
        "something behind the gzip",
        Own,
        Record(|t| {
            let members = snapshot::sources(t);
            snapshot::put(t, &[snapshot::gzip(&snapshot::tar(&members)), b"more".to_vec()].concat());
        }),
    ),
    row(
        "snapshot-archive",
        "no end",
        Historical,
        Record(|t| {
            let members = snapshot::sources(t);
            let tar = snapshot::tar(&members);
            snapshot::put(t, &snapshot::gzip(&tar[..tar.len() - 1024]));
        }),
    ),
    row(
        "snapshot-archive",
        "no gzip",
        Own,
        Record(|t| {
            let members = snapshot::sources(t);
            snapshot::put(t, &snapshot::tar(&members));
        }),
    ),
    row("snapshot-member", "a link", Historical, Record(|t| drop(snapshot::bind(t, |m| m[0].1 = b'2')))),
    row(
        "snapshot-member",
        "a folder",
        Own,
        Record(|t| drop(snapshot::bind(t, |m| m.insert(0, ("reference".into(), b'5', vec![]))))),
    ),
    row("snapshot-member", "a climbing name", Own, Record(|t| drop(snapshot::bind(t, |m| m[0].0 = "../a".into())))),
    row("snapshot-member", "twice", Historical, Record(|t| drop(snapshot::bind(t, |m| m.push(m[0].clone()))))),
    row("snapshot-sources", "one less", Own, Record(|t| drop(snapshot::bind(t, |m| drop(m.pop()))))),
    row(
        "snapshot-sources",
        "one more",
        Historical,
        Record(|t| drop(snapshot::bind(t, |m| m.push(("more.py".into(), b'0', vec![]))))),
    ),
    row("snapshot-changed", "one byte", Own, Record(|t| drop(snapshot::bind(t, |m| m[1].2[0] ^= 1)))),
    row("snapshot-changed", "empty", Historical, Record(|t| drop(snapshot::bind(t, |m| m[1].2.clear())))),
];

fn all() -> impl Iterator<Item = &'static Row> {
    TREES.iter().chain(MANIFESTS).chain(RUNS).chain(SNAPSHOTS)
}

fn file<'a>(manifest: &'a mut Value, path: &str) -> &'a mut Value {
    let files = manifest["files"].as_array_mut().unwrap();
    files.iter_mut().find(|file| file["path"] == path).expect("the manifest lists it")
}

fn of<'a>(manifest: &'a mut Value, path: &str, field: &str) -> &'a mut Value {
    &mut file(manifest, path)[field]
}

fn without_last(tree: &mut Tree, files: &[&str]) {
    let mut results = tree.results();
    results.pop();
    tree.put_results(&results);
    files.iter().for_each(|name| tree.remove_in_run(name));
    if tree.spec.starts_with("docs/") {
        tree.remove_in_run("case-03.pytest.stdout.log");
    }
}

fn with_more(tree: &mut Tree, change: fn(&mut Value)) {
    let mut results = tree.results();
    let mut more = results[2].clone();
    change(&mut more);
    results.push(more);
    tree.put_results(&results);
}

/// A path of the made attempt (`@a/`), of the made run (`@r/`), or of the tree.
fn named(path: &str) -> String {
    let attempt =
        path.strip_prefix("@a/").map(|name| format!("docs/raw/attempt-20260922T220129Z-1790114489061895000/{name}"));
    let run = path.strip_prefix("@r/").map(|name| format!("matrices/small/runs/r1/{name}"));
    attempt.or(run).unwrap_or_else(|| path.to_owned())
}

fn remove(root: &Path, path: &str) {
    std::fs::remove_file(root.join(named(path))).unwrap();
}

fn write(root: &Path, path: &str, bytes: &[u8]) {
    export::write_file(root, &named(path), bytes, 0o644);
}

fn chmod(root: &Path, path: &str, mode: u32) {
    std::fs::set_permissions(root.join(path), std::fs::Permissions::from_mode(mode)).unwrap();
}

fn pipe(path: &Path) {
    assert!(Command::new("mkfifo").arg(path).status().expect("mkfifo starts").success());
}

/// An export, its policy and, for a ZIP, its receipt, written out.
struct Written {
    folder: tempfile::TempDir,
    path: PathBuf,
    receipt: Option<PathBuf>,
}

impl Written {
    /// With the change, or without it: the twin.
    fn new(kind: Kind, change: Option<Change>, packed: bool) -> Self {
        let mut tree = release(kind);
        if let Some(Record(change)) = change {
            change(&mut tree);
        }
        let mut export = Export::of(kind, tree);
        match change {
            Some(Manifest(change)) => change(&mut export.manifest),
            Some(Bytes(change)) => {
                export.manifest_text = Some(change(std::str::from_utf8(&export.manifest_bytes()).unwrap()));
            }
            Some(Packing(change)) => change(&mut export),
            Some(Policy(change)) => change(&mut export.policy),
            Some(Record(_) | Disk(_) | Receipt(_)) | None => {}
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(if packed { "release.zip" } else { "release" });
        std::fs::write(folder.path().join("policy.json"), export.policy.to_string()).unwrap();
        if !packed {
            export.write_folder(&path);
            if let Some(Disk(change)) = change {
                change(&path);
            }
            return Self { folder, path, receipt: None };
        }
        export.write_zip(&path);
        let bytes = std::fs::read(&path).unwrap();
        let content_id = (kind == Own).then(|| Sha256::of(&exhibit::json::canonical(&export.manifest).unwrap()));
        let mut receipt = json!({
            "format": "exhibit-receipt/1", "archive": "release.zip", "size": bytes.len(), "sha256": Sha256::of(&bytes),
            "content_id": content_id, "source_commit": export::COMMIT,
        });
        if let Some(Receipt(change)) = change {
            change(&mut receipt);
        }
        let beside = folder.path().join("release.receipt.json");
        std::fs::write(&beside, receipt.to_string()).unwrap();
        Self { folder, path, receipt: Some(beside) }
    }

    fn arguments(&self, format: &str) -> Vec<String> {
        let text = |path: &Path| path.to_str().unwrap().to_owned();
        let mut arguments: Vec<String> = ["verify-export", "--format", format, "--policy"].map(str::to_owned).to_vec();
        arguments.push(text(&self.folder.path().join("policy.json")));
        if let Some(receipt) = &self.receipt {
            arguments.extend(["--receipt".to_owned(), text(receipt)]);
        }
        arguments.push(text(&self.path));
        arguments
    }
}

/// A change of a folder can't be packed, one of a packing has no folder.
fn forms(change: Change) -> &'static [bool] {
    match change {
        Record(_) | Manifest(_) | Bytes(_) | Policy(_) => &[false, true],
        Disk(_) => &[false],
        Packing(_) | Receipt(_) => &[true],
    }
}

fn check(rows: &[Row]) {
    let mut wrong = Vec::new();
    for Row { code, what, kind, change } in rows {
        let severity = RULES.iter().find(|rule| rule.name == *code).unwrap().severity;
        // With a warning alone the verdict stands.
        let exit = if severity == Severity::Warning { 3 } else { 1 };
        for packed in forms(*change) {
            let said = say(&mut exhibit(Written::new(*kind, Some(*change), *packed).arguments("json")));
            if (said.codes(), said.code) != (vec![(*code).to_owned()], exit) {
                wrong.push(format!("{code}, {what}, {kind:?}, packed {packed}: {} {}", said.code, said.out));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_twins_have_no_fault() {
    for kind in [Own, HistoricalV1, HistoricalV2, Historical] {
        for packed in [false, true] {
            let said = say(&mut exhibit(Written::new(kind, None, packed).arguments("json")));
            assert_eq!((said.codes(), said.code), (vec![], 3), "{kind:?} {packed} {}", said.out);
            assert_eq!(said.json()["verdict"], "undecided");
        }
    }
}

#[test]
fn each_fault_of_a_tree_gives_its_code_and_no_other() {
    check(TREES);
}

#[test]
fn each_fault_of_a_manifest_or_receipt_gives_its_code_and_no_other() {
    check(MANIFESTS);
}

#[test]
fn each_fault_of_a_run_gives_its_code_and_no_other() {
    check(RUNS);
}

#[test]
fn each_fault_of_a_snapshot_gives_its_code_and_no_other() {
    check(SNAPSHOTS);
}

#[test]
fn every_code_of_these_families_has_a_row() {
    let in_family =
        |name: &&str| FAMILIES.iter().any(|family| name.starts_with(family)) || *name == "zip-not-canonical";
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).filter(in_family).collect();
    let rows: BTreeSet<&str> = all().map(|row| row.code).collect();
    let excepted: BTreeSet<&str> = ELSEWHERE.iter().map(|(code, _)| *code).collect();
    assert_eq!(known, rows.union(&excepted).copied().collect());
    assert!(rows.is_disjoint(&excepted), "an exception that has a row is none");
}

#[test]
fn a_person_reads_the_same_code_once_with_what_to_do() {
    for code in ["tree-mode", "file-changed", "manifest-canonical", "receipt-differs", "run-artifact-changed"] {
        let row = all().find(|row| row.code == code).unwrap();
        let packed = *forms(row.change).last().unwrap();
        let said = say(&mut exhibit(Written::new(row.kind, Some(row.change), packed).arguments("text")));
        assert_eq!(said.code, 1);
        assert!(said.out.lines().next().unwrap().ends_with(": fail"), "{}", said.out);
        let found: Vec<_> = said.out.lines().filter(|line| line.starts_with("finding ")).collect();
        assert!(found.len() == 1 && found[0].starts_with(&format!("finding {code}: ")), "{}", said.out);
        let advice = RULES.iter().find(|rule| rule.name == code).unwrap().advice;
        assert!(said.out.contains(&format!("    {advice}\n")), "{}", said.out);
        assert_eq!(said.err, "");
    }
}

#[test]
fn a_file_that_is_written_to_while_it_is_read_is_found() {
    let mut tree = release(Own);
    // Large enough that hashing it takes longer than a file system's clock stands still.
    tree.put("large.bin", vec![0; 96 << 20]);
    let export = Export::of(Own, tree);
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("release");
    export.write_folder(&root);
    assert_eq!(verify(&root, &["--inventory-only"]).codes(), [""; 0]);

    let writer = std::fs::OpenOptions::new().write(true).open(root.join("large.bin")).unwrap();
    let done = AtomicBool::new(false);
    let said = std::thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                // The same content, so that nothing but the time tells.
                writer.write_all_at(&[0], 0).unwrap();
            }
        });
        let said = verify(&root, &["--inventory-only"]);
        done.store(true, Ordering::Relaxed);
        said
    });
    assert_eq!((said.codes(), said.code), (vec!["tree-changed".to_owned()], 1));
}
