//! Owns made repositories for tests of exporting: projects that are committed with git, and the exporting itself.
//!
//! Refuses nothing. Invariant: a repository made here has the same commits everywhere: authors, times and settings are
//! fixed, and no configuration of the machine has a say.
#![expect(clippy::disallowed_methods, reason = "the tests start git and the built program")]
#![expect(clippy::expect_used, reason = "a test that can't make its input fails")]

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::export::{Tree, own_run, write_file};

/// The rules of a release, from its root.
pub(crate) const RULES: &str = "release/export.json";

/// A repository with a working tree, in a folder of its own.
pub(crate) struct Repository {
    folder: Arc<TempDir>,
}

/// What an export said and left.
pub(crate) struct Exported {
    pub(crate) code: i32,
    pub(crate) report: Value,
    /// Names in the output folder; none where it isn't there.
    pub(crate) left: Vec<String>,
    pub(crate) out: PathBuf,
    /// Keeps what was written until this is gone.
    _folder: Option<Arc<TempDir>>,
}

/// Rules that ask for nothing.
pub(crate) fn rules() -> Value {
    json!({"format": "exhibit-export/1", "project": "made-up"})
}

/// A project with a run, whose head names no commit, and rules.
pub(crate) fn project(rules: &Value) -> Tree {
    let mut tree = own_run();
    let head = tree.path("run.json");
    tree.edit(&head, |run| run["provenance"] = json!({}));
    tree.put("README.md", "made up\n");
    tree.put("tools/run.sh", "#!/bin/sh\n");
    tree.files.get_mut("tools/run.sh").expect("it was put there").1 = 0o755;
    tree.put(RULES, rules.to_string());
    tree
}

/// Whether git is there; says what is skipped where it isn't.
pub(crate) fn has_git() -> bool {
    let has = Command::new("git").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has {
        crate::skip::skipped("exports of made repositories: git is not installed");
    }
    has
}

impl Repository {
    /// A repository without a commit.
    pub(crate) fn empty() -> Self {
        let repository = Self { folder: Arc::new(tempfile::tempdir().expect("a temporary folder can be made")) };
        std::fs::create_dir(repository.root()).expect("the folder can be made");
        repository.git(&["init", "--quiet", "--initial-branch=main", "."]);
        repository
    }

    /// A repository with the tree as its one commit.
    pub(crate) fn of(tree: &Tree) -> Self {
        let repository = Self::empty();
        tree.write(&repository.root());
        repository.commit("made");
        repository
    }

    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    /// A folder beside the working tree.
    pub(crate) fn beside(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub(crate) fn put(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write_file(&self.root(), path, bytes.as_ref(), 0o644);
    }

    /// Commits all that is in the working tree, ignored or not.
    pub(crate) fn commit(&self, message: &str) -> String {
        self.git(&["add", "--all", "--force", "."]);
        self.git(&["commit", "--quiet", "--allow-empty", "--message", message]);
        self.git(&["rev-parse", "HEAD"]).trim().to_owned()
    }

    pub(crate) fn git<S: AsRef<OsStr>>(&self, arguments: &[S]) -> String {
        git(&self.root(), arguments)
    }

    pub(crate) fn export(&self) -> Exported {
        self.export_with(&[])
    }

    pub(crate) fn export_with(&self, options: &[&str]) -> Exported {
        Exported { _folder: Some(self.folder.clone()), ..export_from(&self.root(), &self.beside("out"), options) }
    }
}

/// Runs git in a folder and gives what it prints.
pub(crate) fn git<S: AsRef<OsStr>>(folder: &Path, arguments: &[S]) -> String {
    let settings =
        ["core.autocrlf=false", "protocol.file.allow=always", "advice.addEmbeddedRepo=false", "commit.gpgSign=false"];
    let mut command = Command::new("git");
    for setting in settings {
        command.args(["-c", setting]);
    }
    let output = command
        .args(arguments)
        .current_dir(folder)
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("HOME", folder)
        .envs([
            ("GIT_AUTHOR_NAME", "A"),
            ("GIT_AUTHOR_EMAIL", "a@example.org"),
            ("GIT_AUTHOR_DATE", "1790000000 +0200"),
        ])
        .envs([("GIT_COMMITTER_NAME", "A"), ("GIT_COMMITTER_EMAIL", "a@example.org")])
        .env("GIT_COMMITTER_DATE", "1790000000 +0200")
        .stdin(Stdio::null())
        .output()
        .expect("git starts");
    let said = String::from_utf8(output.stderr).expect("git prints UTF-8");
    assert!(output.status.success(), "{said}");
    String::from_utf8(output.stdout).expect("git prints UTF-8")
}

/// The program with `export`, and what it says as JSON.
pub(crate) fn export_from(root: &Path, out: &Path, options: &[&str]) -> Exported {
    let output = command(root, out, options).output().expect("the program starts");
    read(&output, out)
}

pub(crate) fn command(root: &Path, out: &Path, options: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exhibit"));
    command.arg("export").arg(out).arg("--repository").arg(root).args(["--format", "json"]).args(options);
    command.stdin(Stdio::null());
    command
}

pub(crate) fn read(output: &Output, out: &Path) -> Exported {
    let report = serde_json::from_slice(&output.stdout);
    let said = || String::from_utf8(output.stderr.clone());
    let report = report.unwrap_or_else(|error| panic!("no report ({error}): {:?}", said()));
    held(&report);
    let listed = std::fs::read_dir(out).into_iter().flatten();
    let mut left: Vec<String> =
        listed.map(|entry| entry.expect("it can be listed").file_name().into_string().expect("it is UTF-8")).collect();
    left.sort();
    let out = out.to_path_buf();
    Exported { code: output.status.code().expect("it ends by itself"), report, left, out, _folder: None }
}

/// Every report follows its schema.
fn held(report: &Value) {
    let schema = include_str!("../../schemas/exhibit-exporting-1.json");
    let schema = serde_json::from_str(schema).expect("the schema is JSON");
    let validator = jsonschema::draft202012::new(&schema).expect("the schema can be used");
    let faults: Vec<String> = validator.iter_errors(report).map(|fault| fault.to_string()).collect();
    assert!(faults.is_empty(), "{faults:?}: {report}");
}

impl Exported {
    /// Each finding as `code place`.
    pub(crate) fn findings(&self) -> Vec<String> {
        let findings = self.report["findings"].as_array().expect("a report has findings");
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let one = |finding: &Value| format!("{} {}", text(&finding["code"]), text(&finding["place"]["entry"]));
        findings.iter().map(one).collect()
    }

    /// Holds that nothing was written, and gives the findings.
    pub(crate) fn refused(&self) -> Vec<String> {
        assert_eq!((self.code, self.report["outcome"].as_str()), (1, Some("refused")), "{}", self.report);
        assert!(self.left.is_empty() && self.report["written"].is_null(), "{:?}", self.left);
        self.findings()
    }

    /// Holds that nothing could be done, and gives the error's text.
    pub(crate) fn could_not(&self) -> String {
        assert_eq!((self.code, self.report["outcome"].as_str()), (2, Some("could_not_export")), "{}", self.report);
        assert!(self.left.is_empty() && self.report["written"].is_null(), "{:?}", self.left);
        self.report["error"]["message"].as_str().expect("an error has a message").to_owned()
    }

    /// Holds that a release and its receipt were written, and nothing else; gives the release.
    pub(crate) fn release(&self) -> PathBuf {
        assert_eq!(self.code, 0, "{}", self.report);
        assert_eq!(self.left.len(), 2, "{:?}", self.left);
        let is_zip = |name: &&String| Path::new(name).extension() == Some(OsStr::new("zip"));
        let zip = self.left.iter().find(is_zip).expect("there is a ZIP");
        assert!(self.left.contains(&zip.replace(".zip", ".receipt.json")), "{:?}", self.left);
        self.out.join(zip)
    }
}
