//! Owns made projects and exports for tests of the built program: runs of both layouts, releases of every manifest
//! format, folder or ZIP, and the running of the program itself.
//!
//! Refuses nothing. Invariant: every project and export made here is without fault until a test changes it.
#![expect(clippy::disallowed_methods, reason = "the tests start the built program")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't make its input fails")]

pub(crate) mod snapshot;

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::io::Write as _;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::digest::{GitBlob, Sha256};
use exhibit::name::EntryName;
use exhibit::zip::Writer;
use serde_json::{Value, json};

pub(crate) const MANIFEST: &str = "EXPORT-MANIFEST.json";
/// The commit that made releases come from.
pub(crate) const COMMIT: &str = "cccccccccccccccccccccccccccccccccccccccc";
/// The commit that made attempts come from.
pub(crate) const HEAD: &str = "71e08e7eb0673c3902205456d815c29a749843ec";
/// The redacted file of made releases, and what was in it.
pub(crate) const REDACTED: &str = "notes/redacted.txt";
pub(crate) const PRIVATE: &[u8] = b"from /home/somebody\n";

// ---- trees ----

/// Files with their contents and modes, and the run among them.
#[derive(Debug, Clone, Default)]
pub(crate) struct Tree {
    pub(crate) files: BTreeMap<String, (Vec<u8>, u32)>,
    pub(crate) run: String,
    pub(crate) spec: String,
}

impl Tree {
    pub(crate) fn put(&mut self, path: &str, bytes: impl AsRef<[u8]>) {
        self.files.insert(path.to_owned(), (bytes.as_ref().to_vec(), 0o644));
    }

    /// A path of the run from the tree's root.
    pub(crate) fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.run)
    }

    pub(crate) fn put_in_run(&mut self, name: &str, bytes: impl AsRef<[u8]>) {
        self.put(&self.path(name), bytes);
    }

    pub(crate) fn remove(&mut self, path: &str) {
        self.files.remove(path).expect("the file is there");
    }

    pub(crate) fn remove_in_run(&mut self, name: &str) {
        self.remove(&self.path(name));
    }

    pub(crate) fn sha256(&self, path: &str) -> String {
        Sha256::of(&self.files[path].0).to_string()
    }

    pub(crate) fn edit(&mut self, path: &str, change: impl FnOnce(&mut Value)) {
        let mut value = serde_json::from_slice(&self.files[path].0).unwrap();
        change(&mut value);
        self.put(path, value.to_string());
    }

    pub(crate) fn results(&self) -> Vec<Value> {
        let bytes = &self.files[&self.path("results.jsonl")].0;
        std::str::from_utf8(bytes).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }

    pub(crate) fn put_results(&mut self, results: &[Value]) {
        let lines: Vec<String> = results.iter().map(|record| format!("{record}\n")).collect();
        self.put_in_run("results.jsonl", lines.concat());
    }

    /// Changes one result, counted from 0.
    pub(crate) fn edit_result(&mut self, index: usize, change: impl FnOnce(&mut Value)) {
        let mut results = self.results();
        change(&mut results[index]);
        self.put_results(&results);
    }

    /// Writes the tree below `root`, whatever the umask.
    pub(crate) fn write(&self, root: &Path) {
        make_folder(root);
        for (path, (bytes, mode)) in &self.files {
            write_file(root, path, bytes, *mode);
        }
    }

    /// Reads a folder.
    pub(crate) fn read(root: &Path) -> Self {
        let mut tree = Self::default();
        for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
            let entry = entry.unwrap();
            if entry.file_type().is_file() {
                let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                tree.files.insert(path, (std::fs::read(entry.path()).unwrap(), 0o644));
            }
        }
        tree
    }
}

pub(crate) fn make_folder(path: &Path) {
    if path.is_dir() {
        return;
    }
    if let Some(parent) = path.parent() {
        make_folder(parent);
    }
    std::fs::create_dir(path).unwrap();
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).unwrap();
}

pub(crate) fn write_file(root: &Path, path: &str, bytes: &[u8], mode: u32) {
    let path = root.join(path);
    make_folder(path.parent().unwrap());
    std::fs::write(&path, bytes).unwrap();
    std::fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
}

fn case(id: &str, expected: &str) -> Value {
    json!({"id": id, "name": format!("n{id}"), "expected": expected})
}

const CASES: [(&str, &str, &str); 3] =
    [("01", "one_effect", "pass"), ("02", "unknown", "unsupported"), ("03", "conflict", "pass")];

fn missing_api(status: &str) -> Value {
    if status == "unsupported" { json!("server.requestState") } else { Value::Null }
}

/// A project with a run of exhibit's own format: one case passed with a database and its journal, one is unsupported,
/// one passed.
pub(crate) fn own_run() -> Tree {
    let mut tree =
        Tree { run: "matrices/small/runs/r1".into(), spec: "matrices/small/matrix.json".into(), ..Tree::default() };
    let cases: Vec<Value> = CASES.iter().map(|(id, expected, _)| case(id, expected)).collect();
    let matrix = json!({"format": "exhibit-matrix/1", "name": "small", "cases": cases});
    tree.put("matrices/small/matrix.json", matrix.to_string());
    tree.put("matrices/small/PROTOCOL.md", "what is tested\n");
    let run = json!({
        "format": "exhibit-run/1", "id": "r1", "project": "made-up",
        "matrix": {"name": "small", "sha256": tree.sha256("matrices/small/matrix.json")},
        "started": "2026-09-22T22:01:29Z", "made": "made_data", "provenance": {"source_head": HEAD},
        "databases": [{"path": "cases/01/store.sqlite3", "sidecars": ["cases/01/store.sqlite3-journal"]}],
    });
    tree.put_in_run("run.json", run.to_string());
    let mut results = Vec::new();
    for (id, expected, status) in CASES {
        let mut names = vec![format!("cases/{id}/server.transcript.jsonl")];
        if id == "01" {
            names.extend(["cases/01/store.sqlite3".to_owned(), "cases/01/store.sqlite3-journal".to_owned()]);
        }
        names.iter().for_each(|name| tree.put_in_run(name, format!("content of {name}\n")));
        let artifacts: BTreeMap<&String, String> =
            names.iter().map(|name| (name, tree.sha256(&tree.path(name)))).collect();
        results.push(json!({
            "case": id, "expected": expected, "status": status, "exit_codes": {"server": -15},
            "artifacts": artifacts, "missing_api": missing_api(status), "error": null,
        }));
    }
    tree.put_results(&results);
    tree
}

/// A project with the same run as a historical attempt.
pub(crate) fn attempt() -> Tree {
    let run = "docs/raw/attempt-20260922T220129Z-1790114489061895000";
    let mut tree = Tree { run: run.into(), spec: "docs/matrix-spec.json".into(), ..Tree::default() };
    let cases: Vec<Value> = CASES.iter().map(|(id, expected, _)| case(id, expected)).collect();
    let spec = json!({"schema_version": 1, "protocol_date": "2026-09-22", "cases": cases});
    tree.put("docs/matrix-spec.json", spec.to_string());
    tree.put("docs/PROTOCOL.md", "what is tested\n");
    let sources = json!({
        "docs/matrix-spec.json": tree.sha256("docs/matrix-spec.json"),
        "reference/backend.py": Sha256::of(snapshot::BACKEND).to_string(),
    });
    let provenance = json!({"python": "3.13", "source_head": HEAD, "source_hashes": sources});
    tree.put_in_run("provenance.json", provenance.to_string());
    tree.put_in_run("SUMMARY.json", "{}");
    let mut results = Vec::new();
    for (id, expected, status) in CASES {
        let test = json!({"case_id": id, "observed": {}, "process_exit_codes": [-15], "status": status});
        let names = [format!("case-{id}.test-record.jsonl"), format!("case-{id}/server.transcript.log")];
        tree.put_in_run(&names[0], format!("{test}\n"));
        tree.put_in_run(&names[1], "> {}\n< {}\n");
        tree.put_in_run(&format!("case-{id}.pytest.stdout.log"), "1 passed\n");
        let artifacts: BTreeMap<String, String> =
            names.iter().map(|name| (tree.path(name), tree.sha256(&tree.path(name)))).collect();
        results.push(json!({
            "case_id": id, "expected": expected, "status": status, "artifact_hashes": artifacts,
            "process_exit_codes": [-15], "pytest_exit_code": 0, "source_hashes": sources, "source_head": HEAD,
            "missing_api": missing_api(status),
        }));
    }
    tree.put_results(&results);
    tree
}

// ---- exports ----

/// The manifest formats.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Own,
    HistoricalV1,
    HistoricalV2,
    /// Version 3.
    Historical,
}

/// A release before it is written: each part can be changed apart from the others.
#[derive(Debug, Clone)]
pub(crate) struct Export {
    pub(crate) kind: Kind,
    pub(crate) tree: Tree,
    pub(crate) manifest: Value,
    /// What stands in the file, where that isn't the manifest's usual text.
    pub(crate) manifest_text: Option<String>,
    pub(crate) policy: Value,
    /// The ZIP's root folder, where it isn't the one that the manifest implies.
    pub(crate) root: Option<String>,
    pub(crate) method: zip::CompressionMethod,
}

/// A release of a made project: its run, a document, a program and a redacted file.
pub(crate) fn release(kind: Kind) -> Tree {
    let mut tree = match kind {
        Kind::Own => own_run(),
        Kind::HistoricalV1 | Kind::HistoricalV2 | Kind::Historical => attempt(),
    };
    tree.put("README.md", "made up\n");
    tree.put("tools/run.sh", "#!/bin/sh\n");
    tree.files.get_mut("tools/run.sh").unwrap().1 = 0o755;
    tree.put(REDACTED, "from <HOME>\n");
    tree
}

impl Export {
    /// The export of a tree as it is.
    pub(crate) fn of(kind: Kind, tree: Tree) -> Self {
        let manifest = match kind {
            Kind::Own => own_manifest(&tree),
            Kind::HistoricalV1 => early_manifest(&tree, "tracked-source-export-v1"),
            Kind::HistoricalV2 => early_manifest(&tree, "public-source-export-v2"),
            Kind::Historical => historical_manifest(&tree),
        };
        let policy = policy(&tree, "made-up");
        Self { kind, tree, manifest, manifest_text: None, policy, root: None, method: zip::CompressionMethod::Deflated }
    }

    pub(crate) fn manifest_bytes(&self) -> Vec<u8> {
        match (&self.manifest_text, self.kind) {
            (Some(text), _) => text.clone().into_bytes(),
            (None, Kind::Own) => exhibit::json::canonical(&self.manifest).unwrap(),
            (None, Kind::HistoricalV1 | Kind::HistoricalV2 | Kind::Historical) => {
                format!("{}\n", serde_json::to_string_pretty(&self.manifest).unwrap()).into_bytes()
            }
        }
    }

    /// The name of the ZIP's root folder.
    pub(crate) fn root(&self) -> String {
        let implied = || match self.kind {
            Kind::Own => {
                let id = Sha256::of(&exhibit::json::canonical(&self.manifest).unwrap()).to_string();
                format!("{}-{}", self.manifest["project"].as_str().unwrap(), &id[..12])
            }
            Kind::HistoricalV1 | Kind::HistoricalV2 | Kind::Historical => {
                format!("{}-{}", self.manifest["project"].as_str().unwrap(), &COMMIT[..8])
            }
        };
        self.root.clone().unwrap_or_else(implied)
    }

    /// Everything that is in the export.
    pub(crate) fn whole(&self) -> Tree {
        let mut tree = self.tree.clone();
        tree.put(MANIFEST, self.manifest_bytes());
        tree
    }

    /// Writes the export as a folder.
    pub(crate) fn write_folder(&self, root: &Path) {
        self.whole().write(root);
    }

    /// Writes the export as a ZIP of its format's form.
    pub(crate) fn write_zip(&self, path: &Path) {
        let (root, whole) = (self.root(), self.whole());
        let file = File::create(path).unwrap();
        if self.kind == Kind::Own && self.method == zip::CompressionMethod::Deflated {
            let mut writer = Writer::new(file);
            for (name, (bytes, mode)) in &whole.files {
                let name = EntryName::new(&format!("{root}/{name}")).unwrap();
                writer.file(&name, *mode, bytes.len() as u64, &mut bytes.as_slice()).unwrap();
            }
            writer.finish().unwrap();
            return;
        }
        let mut writer = zip::ZipWriter::new(file);
        for (name, (bytes, mode)) in &whole.files {
            let deflated = self.method == zip::CompressionMethod::Deflated;
            let options = zip::write::SimpleFileOptions::default()
                .compression_method(self.method)
                .compression_level(deflated.then_some(9))
                .last_modified_time(zip::DateTime::from_date_and_time(2026, 9, 22, 0, 0, 0).unwrap())
                .system(zip::System::Unix)
                .unix_permissions(*mode);
            writer.start_file(format!("{root}/{name}"), options).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap();
    }
}

fn own_manifest(tree: &Tree) -> Value {
    let file = |(path, (bytes, mode)): (&String, &(Vec<u8>, u32))| {
        let derivative = (path == REDACTED).then(|| {
            json!({
                "rule": "home", "matched_prefix": "/home/", "occurrences": 1,
                "private_sha256": Sha256::of(PRIVATE), "private_git_blob": GitBlob::of(PRIVATE),
                "public_sha256": Sha256::of(bytes),
            })
        });
        json!({
            "path": path, "size": bytes.len(), "mode": format!("{mode:04o}"), "sha256": Sha256::of(bytes),
            "git_blob": GitBlob::of(bytes), "role": "other", "derivative": derivative,
        })
    };
    let matrix = tree.files.contains_key(&tree.spec).then_some(&tree.spec);
    let run = json!({
        "path": tree.run, "matrix": matrix, "dialect": null, "source_snapshot": null, "standing": "coherent", "faults": [],
    });
    json!({
        "format": "exhibit-manifest/1", "kind": "release", "project": "made-up",
        "source": {"commit": COMMIT, "tree": "d".repeat(40)}, "created": "2026-09-22T22:01:29Z",
        "files": tree.files.iter().map(file).collect::<Vec<_>>(), "omissions": [],
        "runs": if tree.run.is_empty() { vec![] } else { vec![run] },
    })
}

/// A manifest of the format `public-source-export-v3`.
fn historical_manifest(tree: &Tree) -> Value {
    let file = |(path, (bytes, mode)): (&String, &(Vec<u8>, u32))| {
        let mut file = json!({
            "path": path, "git_mode": format!("100{mode:o}"), "git_blob_sha1": GitBlob::of(bytes),
            "original_sha256": Sha256::of(bytes), "exported_sha256": Sha256::of(bytes),
            "status": "byte_identical", "transforms": [],
        });
        if path == REDACTED {
            file["status"] = json!("retained_redacted_derivative");
            file["contract"] = json!("the home folder was replaced");
            file["private_origin_sha256"] = json!(Sha256::of(PRIVATE));
            file["private_origin_git_blob_sha1"] = json!(GitBlob::of(PRIVATE));
        }
        file
    };
    let files: Vec<Value> = tree.files.iter().map(file).collect();
    json!({
        "format": "public-source-export-v3", "project": "made-up", "source_commit": COMMIT,
        "source_kind": "already_public", "origin_private_commit": null, "privacy_contract": "no private byte",
        "tracked_source_file_count": files.len() + 1, "exported_file_count": files.len(), "omitted_file_count": 1,
        "omissions": [{"path": MANIFEST, "reason": "superseded_tracked_manifest"}], "files": files,
    })
}

/// A manifest of the formats before it, which redacted on export.
fn early_manifest(tree: &Tree, format: &str) -> Value {
    let mut manifest = historical_manifest(tree);
    let fields = manifest.as_object_mut().unwrap();
    fields.retain(|field, _| !["source_kind", "origin_private_commit"].contains(&field.as_str()));
    let files = fields["files"].as_array_mut().unwrap();
    for file in files.iter_mut().filter(|file| file["path"] == REDACTED) {
        file.as_object_mut().unwrap().retain(|field, _| !field.starts_with("private_origin_"));
        file["status"] = json!("redacted_derivative");
        file["git_blob_sha1"] = json!(GitBlob::of(PRIVATE));
        file["original_sha256"] = json!(Sha256::of(PRIVATE));
        file["transforms"] = json!([{"transform": "home", "occurrences": 1, "matched_prefix": "/home/"}]);
    }
    let count = json!(files.len());
    manifest["format"] = json!(format);
    manifest["tracked_source_file_count"] = count;
    manifest["omitted_file_count"] = json!(0);
    manifest["omissions"] = json!([]);
    manifest
}

/// The policy that approves what a made release redacts, and asks for its run.
pub(crate) fn policy(tree: &Tree, project: &str) -> Value {
    let derivatives: Vec<Value> = tree
        .files
        .get(REDACTED)
        .map(|(bytes, _)| {
            json!({
                "path": REDACTED, "public_sha256": Sha256::of(bytes), "private_origin_sha256": Sha256::of(PRIVATE),
                "private_origin_git_blob": GitBlob::of(PRIVATE), "transform": "home",
            })
        })
        .into_iter()
        .collect();
    let runs = if tree.run.is_empty() { vec![] } else { vec![json!({"path": tree.run, "spec": tree.spec})] };
    json!({"format": "exhibit-policy/1", "project": project, "derivatives": derivatives, "retained_runs": runs})
}

// ---- the program ----

/// What the program said.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Said {
    pub(crate) code: i32,
    pub(crate) out: String,
    pub(crate) err: String,
}

impl Said {
    /// The report, of one line.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.out.lines().count(), 1, "{self:?}");
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// The codes of the findings, warnings after them.
    pub(crate) fn codes(&self) -> Vec<String> {
        let report = self.json();
        let of = |list: &str| report[list].as_array().unwrap().clone();
        let all = of("findings").into_iter().chain(of("warnings"));
        all.map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
    }

    /// The one sentence that says why nothing could be said; its exit code is 2.
    pub(crate) fn error(&self) -> String {
        assert_eq!(self.code, 2, "{self:?}");
        let message = self.json()["error"]["message"].as_str().unwrap_or_else(|| panic!("{self:?}")).to_owned();
        assert!(!message.contains('\n') && !message.is_empty(), "{message}");
        message
    }
}

/// The program with these arguments.
pub(crate) fn exhibit<S: AsRef<std::ffi::OsStr>>(arguments: impl IntoIterator<Item = S>) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exhibit"));
    command.args(arguments);
    command
}

/// Runs a command to its end.
pub(crate) fn say(command: &mut Command) -> Said {
    let output = command.output().expect("the program starts");
    Said {
        code: output.status.code().expect("the program was not killed"),
        out: String::from_utf8(output.stdout).expect("reports are UTF-8"),
        err: String::from_utf8(output.stderr).expect("complaints are UTF-8"),
    }
}

/// `verify-export --format json` with options before the path.
pub(crate) fn verify(path: &Path, options: &[&str]) -> Said {
    say(exhibit(["verify-export", "--format", "json"]).args(options).arg(path))
}

/// `freeze --format json` with options after the output.
pub(crate) fn freeze(run: &Path, out: &Path, options: &[&str]) -> Said {
    say(exhibit(["freeze", "--format", "json", "-o"]).arg(out).args(options).arg(run))
}

/// The archive and the receipt that a report names.
pub(crate) fn written(said: &Said) -> (PathBuf, PathBuf) {
    let report = said.json();
    let path = |field: &str| PathBuf::from(report["written"][field].as_str().unwrap_or_else(|| panic!("{said:?}")));
    (path("archive"), path("receipt"))
}

/// Every file and folder below a folder with what can change of it: kind, mode, times, digest.
pub(crate) fn listing(root: &Path) -> Vec<String> {
    let mut lines = Vec::new();
    for entry in walkdir::WalkDir::new(root).sort_by_file_name() {
        let entry = entry.unwrap();
        let metadata = entry.path().symlink_metadata().unwrap();
        let digest = if metadata.is_file() {
            Sha256::of(&std::fs::read(entry.path()).unwrap()).to_string()
        } else {
            String::new()
        };
        lines.push(format!(
            "{} {:o} {}.{} {digest}",
            entry.path().strip_prefix(root).unwrap().display(),
            metadata.mode(),
            metadata.mtime(),
            metadata.mtime_nsec()
        ));
    }
    lines
}

#[test]
fn what_is_made_here_is_without_fault() {
    let folder = tempfile::tempdir().unwrap();
    for (name, mut tree) in [("own", own_run()), ("historical", attempt())] {
        let [document, archive] = snapshot::bind(&mut tree, |members| assert_eq!(members.len(), 2));
        assert!(tree.files.contains_key(&document) && tree.files.contains_key(&archive));
        let root = folder.path().join(name);
        tree.write(&root);
        assert_eq!(Tree::read(&root).files, tree.files);
        let before = listing(&root);
        let said = freeze(&root.join(&tree.run), &folder.path().join("out"), &["--root", root.to_str().unwrap()]);
        let (archive, receipt) = written(&said);
        assert_eq!((said.code, said.codes()), (0, vec![]));
        assert_eq!(listing(&root), before);
        assert_eq!(verify(&archive, &["--receipt", receipt.to_str().unwrap()]).codes(), [""; 0]);
    }
    let (mut tree, redacted) = (release(Kind::Own), release(Kind::Historical));
    tree.edit_result(0, |result| result["status"] = json!("fail"));
    tree.edit("matrices/small/matrix.json", |matrix| matrix["name"] = json!("other"));
    tree.remove_in_run("run.json");
    assert_eq!(policy(&redacted, "made-up"), Export::of(Kind::Own, redacted.clone()).policy);
    let path = folder.path().join("release.zip");
    for kind in [Kind::HistoricalV1, Kind::HistoricalV2, Kind::Historical] {
        let export = Export { method: zip::CompressionMethod::Deflated, ..Export::of(kind, redacted.clone()) };
        export.write_zip(&path);
        export.write_folder(&folder.path().join("release"));
        assert_eq!(say(exhibit(["list"]).arg(&path)).code, 0);
    }
    assert!(verify(&folder.path().join("release.txt"), &[]).error().contains("release.txt"));
}
