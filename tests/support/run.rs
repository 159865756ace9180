//! Runs the built binary and reads what it reports.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use serde_json::Value;

/// `exhibit` with these arguments.
pub(crate) fn exhibit<S: AsRef<OsStr>>(arguments: &[S]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_exhibit"));
    command.args(arguments).stdin(Stdio::null());
    command
}

/// What `exhibit list` wrote about some files.
pub(crate) struct Listed {
    /// The exit code.
    pub(crate) code: i32,
    /// One report a file.
    pub(crate) reports: Vec<Value>,
}

/// `exhibit list --format json` of some files.
pub(crate) fn list<S: AsRef<OsStr>>(files: &[S]) -> Listed {
    let output = exhibit(&["list", "--format", "json", "--"]).args(files).output().unwrap();
    let reports: Vec<Value> =
        String::from_utf8(output.stdout).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(reports.len(), files.len(), "one report a file; stderr: {}", String::from_utf8_lossy(&output.stderr));
    Listed { code: output.status.code().unwrap(), reports }
}

/// `exhibit list` of one file, as text.
pub(crate) fn list_text(file: &Path) -> Output {
    exhibit(&["list".as_ref(), "--".as_ref(), file.as_os_str()]).output().unwrap()
}

/// The codes in a report's list, in the order in which they stand.
pub(crate) fn codes(report: &Value, list: &str) -> Vec<String> {
    report[list].as_array().unwrap().iter().map(|finding| finding["code"].as_str().unwrap().to_owned()).collect()
}

/// A folder of its own for one test's files.
pub(crate) struct Folder(tempfile::TempDir);

impl Folder {
    /// An empty one.
    pub(crate) fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    /// Where a name in it is.
    pub(crate) fn at(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    /// Writes a file into it.
    pub(crate) fn file(&self, name: &str, bytes: &[u8]) -> PathBuf {
        let path = self.at(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}
