//! Holds the release of this repository that lies in it: it verifies, and its commit still gives the same bytes.
#![expect(clippy::disallowed_methods, reason = "the tests start git and the built program")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

mod skip;

use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

const ROOT: &str = env!("CARGO_MANIFEST_DIR");

/// The release's ZIP and its receipt.
fn release() -> Option<(PathBuf, PathBuf)> {
    let entries = std::fs::read_dir(Path::new(ROOT).join("release")).expect("the folder can be listed");
    let names = entries.map(|entry| entry.expect("the folder can be listed").path());
    let is_ours = |path: &PathBuf| {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        name.starts_with("exhibit-") && path.extension().is_some_and(|ending| ending == "zip")
    };
    let found: Vec<PathBuf> = names.filter(is_ours).collect();
    assert!(found.len() < 2, "{found:?}");
    let zip = found.into_iter().next()?;
    let receipt = zip.with_extension("receipt.json");
    Some((zip, receipt))
}

fn receipt_of(path: &Path) -> Value {
    serde_json::from_slice(&std::fs::read(path).expect("there is a receipt")).expect("it is JSON")
}

#[test]
fn the_release_in_this_repository_verifies() {
    let Some((zip, receipt)) = release() else {
        // A release doesn't hold itself.
        return skip::skipped("this repository's own release: it isn't here, as in a release");
    };
    let output = Command::new(env!("CARGO_BIN_EXE_exhibit"))
        .args(["verify-export", "--format", "json", "--receipt"])
        .args([&receipt, &zip])
        .output()
        .expect("the program starts");
    let report: Value = serde_json::from_slice(&output.stdout).expect("a report is JSON");
    // Nothing is wrong; the replay of its run is not judged.
    assert_eq!(output.status.code(), Some(3), "{report}");
    assert_eq!(report["verdict"], "undecided");
    assert_eq!(zip.file_name().and_then(|name| name.to_str()), receipt_of(&receipt)["archive"].as_str());
}

/// Runs git and gives what it prints, where it ends well.
#[cfg(feature = "export")]
fn git(folder: &Path, arguments: &[&str]) -> Option<String> {
    let output =
        Command::new("git").args(["-c", "core.autocrlf=false"]).args(arguments).current_dir(folder).output().ok()?;
    output.status.success().then(|| String::from_utf8(output.stdout).expect("git prints UTF-8"))
}

#[cfg(feature = "export")]
#[test]
fn the_commit_of_the_release_gives_the_same_bytes() {
    let Some((zip, receipt)) = release() else {
        return skip::skipped("the export of this repository's own release: it isn't here, as in a release");
    };
    let commit = receipt_of(&receipt)["source_commit"].as_str().expect("it names a commit").to_owned();
    let object = format!("{commit}^{{commit}}");
    if git(Path::new(ROOT), &["cat-file", "-e", &object]).is_none() {
        return skip::skipped("the export of this repository's own release: its commit is not in this clone");
    }
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let clone = folder.path().join("clone");
    git(folder.path(), &["clone", "--quiet", "--no-checkout", ROOT, "clone"]).expect("it can be cloned");
    git(&clone, &["checkout", "--quiet", "--detach", &commit]).expect("it can be checked out");
    let out = folder.path().join("out");
    let output = Command::new("sh")
        .args(["-c", "umask 077; exec \"$@\"", "sh", env!("CARGO_BIN_EXE_exhibit"), "export"])
        .arg(&out)
        .args(["--format", "json"])
        .current_dir(&clone)
        .env("TZ", "Pacific/Kiritimati")
        .env("LC_ALL", "tr_TR.UTF-8")
        .output()
        .expect("sh starts");
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stdout));
    let made = out.join(zip.file_name().expect("it has a name"));
    assert!(std::fs::read(made).expect("it has the same name") == std::fs::read(&zip).expect("it can be read"));
}
