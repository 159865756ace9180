//! A temporary folder in which the built program runs on copies of the inputs, so that what it shows has no path of this
//! machine and what it writes is gone afterwards.
//!
//! Invariant: modes are 0644 and 0755 whatever the umask of the clone.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::{Command, Output};

use tempfile::TempDir;

/// A folder with the inputs of the sessions, the made example and its archive.
pub(crate) struct Desk(TempDir);

impl Desk {
    #[expect(clippy::expect_used, reason = "a test that can't lay out its inputs fails")]
    pub(crate) fn new() -> Self {
        let desk = Self(tempfile::tempdir().expect("a temporary folder can be made"));
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        copy(&root.join("tests/sessions/inputs"), desk.0.path());
        for folder in ["matrices/made-example", "release"] {
            copy(&root.join(folder), &desk.0.path().join(folder));
        }
        desk
    }

    /// Runs the program in the folder.
    #[expect(clippy::disallowed_methods, clippy::expect_used, reason = "a test may start the program that it tests")]
    pub(crate) fn run(&self, arguments: &[impl AsRef<OsStr>]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_exhibit"))
            .args(arguments)
            .current_dir(self.0.path())
            .env_remove("COLUMNS")
            .output()
            .expect("the program starts")
    }
}

#[expect(clippy::expect_used, reason = "a test that can't lay out its inputs fails")]
fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).expect("the folder can be made");
    for entry in std::fs::read_dir(from).expect("the folder can be read") {
        let entry = entry.expect("the folder can be read");
        let (from, to) = (entry.path(), to.join(entry.file_name()));
        if from.is_dir() {
            copy(&from, &to);
            continue;
        }
        std::fs::copy(&from, &to).expect("the file can be copied");
        let mode = to.metadata().expect("the copy is there").permissions().mode();
        let mode = if mode & 0o100 == 0 { 0o644 } else { 0o755 };
        std::fs::set_permissions(&to, std::fs::Permissions::from_mode(mode)).expect("the mode can be set");
    }
}
