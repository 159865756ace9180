//! Owns made runs for the tests of this room: small, complete, and wrong in one respect only where a test says so.
//!
//! Refuses nothing. Invariant: both made runs load without a finding.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::snapshot::write;
use super::{Request, RunReport, load};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Code;
use crate::form::Mode;
use crate::limits::Limits;
use crate::tree::Inventory;

/// The commit of the made attempt.
pub(super) const HEAD: &str = "71e08e7eb0673c3902205456d815c29a749843ec";

/// A tree with one run, and what is known of it from outside.
#[derive(Clone)]
pub(super) struct Made {
    pub(super) files: BTreeMap<String, Vec<u8>>,
    pub(super) run: String,
    pub(super) spec: Option<String>,
    pub(super) derivatives: BTreeMap<String, Sha256>,
    pub(super) disclosed: BTreeMap<String, String>,
    pub(super) limits: Limits,
}

impl Made {
    fn new(run: &str) -> Self {
        let (files, derivatives, disclosed) = (BTreeMap::new(), BTreeMap::new(), BTreeMap::new());
        Self { files, run: run.to_owned(), spec: None, derivatives, disclosed, limits: Limits::default() }
    }

    /// A path of the run from the tree's root.
    pub(super) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.run)
    }

    pub(super) fn put(&mut self, path: &str, bytes: impl AsRef<[u8]>) {
        self.files.insert(path.to_owned(), bytes.as_ref().to_vec());
    }

    pub(super) fn remove(&mut self, name: &str) {
        self.files.remove(&self.path(name)).unwrap();
    }

    /// The digest of a file that is there.
    pub(super) fn sha256(&self, path: &str) -> String {
        Sha256::of(&self.files[path]).to_string()
    }

    /// Changes the JSON document at `path`.
    pub(super) fn edit(&mut self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&self.files[path]).unwrap();
        change(&mut value);
        self.put(path, value.to_string());
    }

    /// The lines of the run's results.
    pub(super) fn results(&self) -> Vec<Value> {
        let text = String::from_utf8(self.files[&self.path("results.jsonl")].clone()).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(super) fn put_results(&mut self, results: &[Value]) {
        let mut text = String::new();
        for record in results {
            text += &record.to_string();
            text.push('\n');
        }
        let path = self.path("results.jsonl");
        self.put(&path, text);
    }

    /// Changes one result, counted from 0.
    pub(super) fn edit_result(&mut self, index: usize, change: impl FnOnce(&mut Value)) {
        let mut results = self.results();
        change(&mut results[index]);
        self.put_results(&results);
    }

    pub(super) fn load(&self) -> Result<RunReport, Error> {
        let folder = tempfile::tempdir().unwrap();
        for (path, bytes) in &self.files {
            let path = folder.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, bytes).unwrap();
        }
        let (inventory, _) = Inventory::open(folder.path(), &Limits::default(), &|_| {}).unwrap();
        let request = Request {
            run: &self.run,
            spec: self.spec.as_deref(),
            derivatives: &self.derivatives,
            disclosed: &self.disclosed,
            told: &BTreeSet::new(),
            is_living: false,
        };
        load(&inventory, &request, &self.limits)
    }

    /// All findings as `code entry:line pointer`.
    pub(super) fn found(&self) -> Vec<String> {
        let report = self.load().unwrap();
        let show = |finding: &crate::finding::Finding| {
            let place = &finding.place;
            let line = place.line.map(|line| format!(":{line}")).unwrap_or_default();
            let entry = place.entry.as_deref().unwrap_or_default();
            let entry = entry.strip_prefix(&format!("{}/", self.run)).unwrap_or(entry);
            let text = format!("{} {entry}{line} {}", finding.code, place.pointer.as_deref().unwrap_or_default());
            text.trim_end().to_owned()
        };
        report.findings.iter().map(show).collect()
    }

    pub(super) fn codes(&self) -> Vec<Code> {
        self.load().unwrap().findings.iter().map(|finding| finding.code).collect()
    }
}

/// An attempt of three cases: one passed with a database and its journal, one unsupported, one passed.
pub(super) fn attempt() -> Made {
    let mut made = Made::new("docs/raw/attempt-20260922T220129Z-1790114489061895000");
    let case = |id: &str, expected: &str| json!({"id": id, "name": format!("n{id}"), "expected": expected});
    let spec = json!({
        "schema_version": 1, "protocol_date": "2026-09-22", "clock": {"normal_epoch": 1},
        "cases": [case("01", "one_effect"), case("02", "unknown"), case("03", "conflict")],
    });
    made.put("docs/matrix-spec.json", spec.to_string());
    made.put("docs/PROTOCOL.md", "what is tested\n");
    let sources = json!({
        "docs/matrix-spec.json": made.sha256("docs/matrix-spec.json"),
        "docs/PROTOCOL.md": made.sha256("docs/PROTOCOL.md"),
        "reference/backend.py": Sha256::of(BACKEND).to_string(),
    });
    let provenance = json!({"python": "3.13", "source_head": HEAD, "source_hashes": sources});
    made.put(&made.path("provenance.json"), provenance.to_string());
    made.put(&made.path("SUMMARY.json"), "{}");
    made.put(&made.path("MATRIX.md"), "| case |\n");

    let mut results = Vec::new();
    for (id, expected, status) in
        [("01", "one_effect", "pass"), ("02", "unknown", "unsupported"), ("03", "conflict", "pass")]
    {
        let test =
            json!({"artifacts": [], "case_id": id, "observed": {}, "process_exit_codes": [-15], "status": status});
        let mut names = vec![format!("case-{id}.test-record.jsonl"), format!("case-{id}/server.transcript.log")];
        made.put(&made.path(&names[0]), format!("{test}\n"));
        made.put(&made.path(&names[1]), "> {}\n< {}\n");
        if id == "01" {
            names.extend(["case-01/store.sqlite3".to_owned(), "case-01/store.sqlite3-journal".to_owned()]);
            names.iter().skip(2).for_each(|name| made.put(&made.path(name), name));
        }
        made.put(&made.path(&format!("case-{id}.pytest.stdout.log")), "1 passed\n");
        let artifacts: BTreeMap<String, String> =
            names.iter().map(|name| (made.path(name), made.sha256(&made.path(name)))).collect();
        results.push(json!({
            "case_id": id, "expected": expected, "status": status, "artifact_hashes": artifacts,
            "process_exit_codes": [-15], "pytest_exit_code": 0, "source_hashes": sources, "source_head": HEAD,
            "missing_api": if status == "unsupported" { json!("server.requestState") } else { Value::Null },
            "independent_db": {"issues": []}, "command": ["python"],
        }));
    }
    made.put_results(&results);
    made
}

/// The content of a source of the made runs that is not in their trees.
pub(super) const BACKEND: &[u8] = b"backend";

impl Made {
    /// Puts the archive of a snapshot of `sources` into the tree.
    pub(super) fn put_snapshot(&mut self, archive: &str, sources: &Value) {
        let recorded: BTreeMap<String, Sha256> = serde_json::from_value(sources.clone()).unwrap();
        let mut bytes = Vec::new();
        let content = |path: &str| self.files.get(path).map_or_else(|| BACKEND.to_vec(), Clone::clone);
        write(&mut bytes, &recorded, |name| Ok((Mode::Plain, content(name.as_str())))).unwrap();
        self.put(archive, bytes);
    }
}

/// The same three cases as a run of exhibit's own format.
pub(super) fn own() -> Made {
    let mut made = Made::new("matrices/small/runs/r1");
    let case = |id: &str, expected: &str| json!({"id": id, "name": format!("n{id}"), "expected": expected});
    let matrix = json!({
        "format": "exhibit-matrix/1", "name": "small",
        "cases": [case("01", "one_effect"), case("02", "unknown"), case("03", "conflict")],
    });
    made.put("matrices/small/matrix.json", matrix.to_string());
    made.put("matrices/small/PROTOCOL.md", "what is tested\n");
    let run = json!({
        "format": "exhibit-run/1", "id": "r1", "project": "made-up",
        "matrix": {"name": "small", "sha256": made.sha256("matrices/small/matrix.json")},
        "started": "2026-09-22T22:01:29Z", "made": "recorded", "provenance": {"source_head": HEAD},
        "databases": [{"path": "cases/01/store.sqlite3", "sidecars": ["cases/01/store.sqlite3-journal"]}],
    });
    made.put(&made.path("run.json"), run.to_string());
    let mut results = Vec::new();
    for (id, expected, status) in
        [("01", "one_effect", "pass"), ("02", "unknown", "unsupported"), ("03", "conflict", "pass")]
    {
        let mut names = vec![format!("cases/{id}/server.transcript.jsonl")];
        if id == "01" {
            names.extend(["cases/01/store.sqlite3".to_owned(), "cases/01/store.sqlite3-journal".to_owned()]);
        }
        for name in &names {
            made.put(&made.path(name), name);
        }
        let artifacts: BTreeMap<&String, String> =
            names.iter().map(|name| (name, made.sha256(&made.path(name)))).collect();
        results.push(json!({
            "case": id, "expected": expected, "status": status, "exit_codes": {"server": -15}, "artifacts": artifacts,
            "missing_api": if status == "unsupported" { json!("server.requestState") } else { Value::Null },
            "error": null,
        }));
    }
    made.put_results(&results);
    made
}
