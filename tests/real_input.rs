//! Real evidence, and what people hand to a verifier by mistake: each gives one sentence that says what to do.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;
mod skip;

use std::fs::Permissions;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::digest::Sha256;
use serde_json::{Value, json};

use export::{Export, Kind, MANIFEST, Said, Tree, exhibit, freeze, listing, release, say, verify, written};

const RUN: &str = "docs/research-completion-2026-09-22/raw/attempt-20260922T220129Z-1790114489061895000";
const SPEC: &str = "docs/research-completion-2026-09-22/matrix-spec.json";

/// The reference study's run as a tree, where it is there.
fn study() -> Option<Tree> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/mcr-python-tree");
    if !root.is_dir() {
        skip::skipped(&format!("the reference study's run: {} is not there", root.display()));
        return None;
    }
    Some(Tree { run: RUN.to_owned(), spec: SPEC.to_owned(), ..Tree::read(&root) })
}

/// A release of the study's run, as folder and as ZIP, with its policy.
struct Release {
    folder: tempfile::TempDir,
}

impl Release {
    fn new(tree: Tree) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let export = Export::of(Kind::Historical, tree);
        std::fs::write(folder.path().join("policy.json"), export.policy.to_string()).unwrap();
        export.write_folder(&folder.path().join("release"));
        export.write_zip(&folder.path().join("release.zip"));
        Self { folder }
    }

    /// What is said of both forms, which is the same.
    fn verify(&self, options: &[&str]) -> Said {
        let policy = self.folder.path().join("policy.json");
        let options = [&["--policy", policy.to_str().unwrap()], options].concat();
        let of_folder = verify(&self.folder.path().join("release"), &options);
        let of_zip = verify(&self.folder.path().join("release.zip"), &options);
        assert_eq!((of_folder.code, of_folder.codes()), (of_zip.code, of_zip.codes()));
        of_zip
    }
}

// ---- the study's run ----

#[test]
fn the_studys_run_freezes_and_verifies_packed_and_extracted() {
    let Some(tree) = study() else { return };
    let folder = tempfile::tempdir().unwrap();
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/mcr-python-tree").join(RUN);
    let said = freeze(&source, folder.path(), &[]);
    assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
    let (archive, receipt) = written(&said);
    let said = verify(&archive, &["--receipt", receipt.to_str().unwrap()]);
    assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
    let report = said.json();
    assert_eq!(report["runs"][0]["cases"].as_array().unwrap().len(), 12);
    assert_eq!(report["tree"]["files"], tree.files.len() + 1);
    assert_eq!(verify(&archive, &["--inventory-only"]).code, 0);

    if !Command::new("unzip").arg("-v").output().is_ok_and(|output| output.status.success()) {
        return skip::skipped("the study's run extracted: unzip is not installed");
    }
    let mut unzip = Command::new("sh");
    unzip.args(["-c", "umask 022; unzip -q \"$1\" -d \"$2\"", "sh"]).arg(&archive).arg(folder.path());
    assert!(unzip.status().unwrap().success());
    let root = folder.path().join(archive.file_stem().unwrap());
    let said = verify(&root, &[]);
    assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
}

#[test]
fn a_release_of_the_studys_run_is_undecided_until_it_is_replayed() {
    let Some(tree) = study() else { return };
    let release = Release::new(tree);
    let said = release.verify(&[]);
    assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
    let report = said.json();
    let cases = report["runs"][0]["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 12);
    assert!(cases.iter().all(|case| case["status"] == "pass"));
    let said = release.verify(&["--inventory-only"]);
    assert_eq!((said.code, said.codes()), (0, vec![]));
    assert_eq!(said.json()["runs"], json!([]));
}

/// A code and the change of the study's run that gives it.
type Row<'a> = (&'a str, &'a dyn Fn(&mut Tree));

#[test]
fn changed_evidence_of_the_study_is_found_however_well_it_is_listed() {
    let Some(tree) = study() else { return };
    let transcript = format!("{RUN}/case-01/server.transcript.log");
    let rows: &[Row<'_>] = &[
        ("run-artifact-changed", &|tree| {
            let (bytes, _) = tree.files.get_mut(&transcript).unwrap();
            bytes[100] ^= 1;
        }),
        ("run-artifact-changed", &|tree| {
            let (bytes, _) = tree.files.get_mut(&format!("{RUN}/case-02/store.sqlite3")).unwrap();
            bytes.pop();
        }),
        ("run-artifact-absent", &|tree| tree.remove(&transcript)),
        ("run-file-unaccounted", &|tree| tree.put_in_run("case-01/store.sqlite3-notes", "x")),
        ("run-sidecar", &|tree| tree.put_in_run("case-01/store.sqlite3-journal", "x")),
        ("run-case-failed", &|tree| tree.edit_result(4, |result| result["status"] = json!("fail"))),
        ("run-spec-differs", &|tree| tree.edit(SPEC, |spec| spec["protocol_date"] = json!("2026-09-23"))),
        ("run-expectation-differs", &|tree| tree.edit_result(3, |result| result["expected"] = json!("x"))),
    ];
    for (code, change) in rows {
        let mut changed = tree.clone();
        change(&mut changed);
        if *code == "run-case-failed" {
            // The case's own record is changed alike.
            let path = changed.path("case-05.test-record.jsonl");
            changed.edit(&path, |record| record["status"] = json!("fail"));
            let sha256 = changed.sha256(&path);
            changed.edit_result(4, |result| result["artifact_hashes"][&path] = json!(sha256));
        }
        let said = Release::new(changed).verify(&[]);
        assert_eq!((said.code, said.codes()), (1, vec![(*code).to_owned()]), "{said:?}");
    }
    // Listed as it was, the change is told by the inventory, once.
    let release = Release::new(tree);
    export::write_file(&release.folder.path().join("release"), &transcript, b"> {}\n", 0o644);
    let said = verify(
        &release.folder.path().join("release"),
        &["--policy", release.folder.path().join("policy.json").to_str().unwrap()],
    );
    assert_eq!((said.code, said.codes()), (1, vec!["file-changed".to_owned()]));
    assert_eq!(said.json()["runs"][0]["verdict"], "fail");
}

// ---- where an archive lies ----

/// A made release, packed.
fn packed(folder: &Path) -> PathBuf {
    let path = folder.join("release.zip");
    Export::of(Kind::Own, release(Kind::Own)).write_zip(&path);
    path
}

#[test]
fn verifying_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (root, zip) = (folder.path().join("release"), packed(folder.path()));
    export.write_folder(&root);
    export::write_file(&root, "more.txt", b"so that there is a finding\n", 0o644);
    let before = listing(folder.path());
    for (path, code) in [(&root, 1), (&zip, 3)] {
        for format in ["text", "json"] {
            let mut command = exhibit(["verify-export", "--format", format]);
            let said = say(command.arg(path).current_dir(folder.path()).env("TMPDIR", folder.path()));
            assert_eq!((said.code, said.err.as_str()), (code, ""), "{said:?}");
            assert_eq!(listing(folder.path()), before, "{} {format}", path.display());
        }
    }
}

#[test]
fn an_archive_may_lie_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    for name in ["mit Leerzeichen", "Grüße 中文", "-dash", "new\nline", "it's \"quoted\""] {
        let inside = folder.path().join(name);
        std::fs::create_dir(&inside).unwrap();
        let zip = packed(&inside);
        std::fs::set_permissions(&inside, Permissions::from_mode(0o555)).unwrap();
        std::fs::set_permissions(&zip, Permissions::from_mode(0o444)).unwrap();
        let said = verify(&zip, &[]);
        assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
        assert_eq!(said.json()["file"], zip.to_str().unwrap());
        let text = say(exhibit(["verify-export"]).arg(&zip));
        let first = text.out.lines().next().unwrap();
        assert!(first.ends_with("release.zip: undecided") || first.ends_with("release.zip\": undecided"), "{first}");
        std::fs::set_permissions(&inside, Permissions::from_mode(0o755)).unwrap();
    }
    let said =
        say(exhibit(["verify-export", "--format", "json", "release.zip"]).current_dir(folder.path().join("-dash")));
    assert_eq!(said.code, 3);
    assert_eq!(say(exhibit(["verify-export", "--", "-dash/release.zip"]).current_dir(folder.path())).code, 3);
}

// ---- what isn't one ----

/// Asserts that there is one finding, and gives its sentence and advice as a person reads them.
fn one_finding(path: &Path, code: &str) -> String {
    let said = verify(path, &[]);
    assert_eq!((said.code, said.codes()), (1, vec![code.to_owned()]), "{said:?}");
    let text = say(exhibit(["verify-export"]).arg(path));
    assert_eq!((text.code, text.out.matches("\nfinding ").count()), (1, 1), "{}", text.out);
    text.out
}

/// Asserts that nothing could be checked and that a person is told so in one sentence, and gives it.
fn one_error(path: &Path) -> String {
    let message = verify(path, &[]).error();
    let text = say(exhibit(["verify-export"]).arg(path));
    let lines: Vec<_> = text.out.lines().collect();
    assert!(lines.len() == 2 && lines[0].ends_with(": could not check"), "{}", text.out);
    assert_eq!((text.code, text.err.as_str(), lines[1].starts_with("error: ")), (2, "", true), "{}", text.out);
    message
}

#[test]
fn a_damaged_download_is_one_finding_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let bytes = std::fs::read(packed(folder.path())).unwrap();
    let file = folder.path().join("download.zip");
    for length in [100, bytes.len() / 2, bytes.len() - 1] {
        std::fs::write(&file, &bytes[..length]).unwrap();
        let said = one_finding(&file, "zip-end-missing");
        assert!(said.contains("etch") && said.contains("again"), "{said}");
    }
    std::fs::write(&file, [&bytes[..], b"\n"].concat()).unwrap();
    one_finding(&file, "zip-trailing-bytes");
}

#[test]
fn what_is_no_zip_is_one_sentence_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("release.zip");
    let advice = "give the release or archive as it was published (.zip), or the folder it was unpacked to";
    let source = folder.path().join("source");
    release(Kind::Own).write(&source);
    let tar = Command::new("tar").arg("-cf").arg(&path).arg("-C").arg(&source).arg(".").status().expect("tar starts");
    assert!(tar.success());
    let said = one_error(&path);
    assert!(said.contains("is not a ZIP but") && said.contains("tar") && said.contains(advice), "{said}");
    for (content, what) in [
        (&b""[..], "empty"),
        (b"<!DOCTYPE html><html><body>Sign in</body></html>\n", "is not a ZIP but"),
        (b"\x1f\x8b\x08\0\0\0\0\0\0\x03", "gzip"),
        (b"{}\n", "JSON text"),
        (b"release.zip: not found\n", "but text"),
        (&[0; 300], "some other file"),
    ] {
        std::fs::write(&path, content).unwrap();
        let said = one_error(&path);
        assert!(said.contains(what) && said.contains(advice), "{said}");
    }
    assert!(one_error(&folder.path().join("nowhere.zip")).contains("nowhere.zip: No such file"));
    let pipe = folder.path().join("pipe.zip");
    assert!(Command::new("mkfifo").arg(&pipe).status().expect("mkfifo starts").success());
    let said = one_error(&pipe);
    assert!(said.contains("pipe.zip"), "{said}");
}

#[test]
fn a_tree_without_a_manifest_is_one_sentence_that_says_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let advice = format!("give the release as it was published (.zip), or the folder that holds {MANIFEST}");
    let source = folder.path().join("source");
    release(Kind::Own).write(&source);
    let said = one_error(&source);
    assert!(said.contains(&format!("holds no {MANIFEST}")) && said.contains(&advice), "{said}");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(one_error(&empty).contains(&advice));

    // One folder too high, where the release was unpacked to.
    let above = folder.path().join("above");
    Export::of(Kind::Own, release(Kind::Own)).write_folder(&above.join("made-up-1"));
    let said = one_error(&above);
    assert!(said.contains("the release seems to lie in its folder made-up-1: give that path"), "{said}");
}

#[test]
fn manifests_from_the_future_and_the_past_are_one_sentence_that_says_what_to_do() {
    for (kind, format, advice) in [
        (Kind::Own, "exhibit-manifest/2", "get a newer version of exhibit"),
        (Kind::Historical, "public-source-export-v4", "get a newer version of exhibit"),
        (Kind::HistoricalV1, "public-source-export-v1", "ask the publisher which tool made it"),
        (Kind::HistoricalV2, "tracked-source-export-v2", "ask the publisher which tool made it"),
        (Kind::Own, "someone-elses/1", "ask the publisher which tool made it"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let mut export = Export::of(kind, release(kind));
        export.manifest["format"] = json!(format);
        export.manifest["new_field"] = json!({"anything": Value::Null});
        let (root, zip) = (folder.path().join("release"), folder.path().join("release.zip"));
        export.write_folder(&root);
        export.write_zip(&zip);
        for path in [root, zip] {
            let said = one_error(&path);
            assert!(said.contains(format) && said.contains(advice), "{said}");
            assert!(said.contains("public-source-export-v2 and public-source-export-v3"), "{said}");
        }
    }
}

/// Bytes that deflate can't make smaller.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 0x9E37_79B9_7F4A_7C15_u64;
    let mut bytes = Vec::with_capacity(length);
    while bytes.len() < length {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend(state.to_le_bytes());
    }
    bytes.truncate(length);
    bytes
}

/// Half a minute unoptimized: `cargo test --release --test real_input -- --ignored`.
#[test]
#[ignore = "200 MB take too long unoptimized"]
fn a_large_archive_is_frozen_and_verified_in_seconds() {
    let mut tree = export::own_run();
    let large = noise(200 << 20);
    tree.put_in_run("cases/03/server.transcript.jsonl", &large);
    let sha256 = Sha256::of(&large).to_string();
    tree.edit_result(2, |result| result["artifacts"]["cases/03/server.transcript.jsonl"] = json!(sha256));
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    tree.write(&root);
    let said = freeze(&root.join(&tree.run), &folder.path().join("out"), &[]);
    assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
    let (archive, receipt) = written(&said);
    assert!(archive.metadata().unwrap().len() > 200 << 20);
    let said = verify(&archive, &["--receipt", receipt.to_str().unwrap()]);
    assert_eq!((said.code, said.codes(), said.err.as_str()), (3, vec![], ""), "{said:?}");
}
