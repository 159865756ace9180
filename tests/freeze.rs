//! `freeze` through the built program: nothing is overwritten or left behind, the same run gives the same bytes
//! anywhere, a failed run stays labelled, and what is no run is refused in one sentence.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't make its input fails")]
#![expect(clippy::case_sensitive_file_extension_comparisons, reason = "the program's own names are lower-case")]

mod export;
mod skip;

use std::fs::Permissions;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::digest::{GitBlob, Sha256};
use serde_json::{Value, json};

use export::{MANIFEST, Said, Tree, attempt, exhibit, freeze, listing, own_run, say, verify, written};

/// A project on disk, and an output folder beside it.
struct Project {
    folder: tempfile::TempDir,
    tree: Tree,
}

impl Project {
    fn new(tree: Tree) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap(), tree };
        project.tree.write(&project.root());
        project
    }

    fn changed(mut tree: Tree, change: impl FnOnce(&mut Tree)) -> Self {
        change(&mut tree);
        Self::new(tree)
    }

    fn root(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn run(&self) -> PathBuf {
        self.root().join(&self.tree.run)
    }

    fn out(&self) -> PathBuf {
        self.folder.path().join("out")
    }

    fn freeze(&self, options: &[&str]) -> Said {
        freeze(&self.run(), &self.out(), options)
    }

    /// The archive, once it is frozen without a fault.
    fn frozen(&self) -> PathBuf {
        let said = self.freeze(&[]);
        assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
        written(&said).0
    }
}

fn names(folder: &Path) -> Vec<String> {
    if !folder.exists() {
        return Vec::new();
    }
    let names = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names.collect();
    names.sort();
    names
}

/// The manifest in an archive.
fn manifest(archive: &Path) -> (Vec<u8>, Value) {
    let mut zip = zip::ZipArchive::new(std::fs::File::open(archive).unwrap()).unwrap();
    let name = format!("{}/{MANIFEST}", archive.file_stem().unwrap().to_str().unwrap());
    let mut bytes = Vec::new();
    std::io::copy(&mut zip.by_name(&name).unwrap(), &mut bytes).unwrap();
    let value = serde_json::from_slice(&bytes).unwrap();
    (bytes, value)
}

fn is_root() -> bool {
    let output = Command::new("id").arg("-u").output().expect("id starts");
    output.stdout == b"0\n"
}

// ---- outputs ----

#[test]
fn nothing_is_overwritten() {
    for tree in [own_run(), attempt()] {
        let project = Project::new(tree);
        project.frozen();
        let before = listing(&project.out());
        assert_eq!(before.len(), 3, "{before:?}");
        let said = project.freeze(&[]);
        assert!(said.error().contains("exists already: choose another output folder"), "{said:?}");
        assert_eq!(listing(&project.out()), before);

        // The receipt alone is reason enough.
        let archive = project.out().join(names(&project.out()).iter().find(|name| name.ends_with(".zip")).unwrap());
        std::fs::remove_file(&archive).unwrap();
        assert!(project.freeze(&[]).error().contains(".receipt.json exists already"));
        assert_eq!(names(&project.out()).len(), 1);
    }
}

#[test]
fn of_two_at_once_one_writes_and_the_other_is_refused() {
    let project = Project::new(own_run());
    for round in 0..8 {
        let out = project.folder.path().join(format!("out{round}"));
        let said = std::thread::scope(|scope| {
            let both = [(); 2].map(|()| scope.spawn(|| freeze(&project.run(), &out, &[])));
            both.map(|one| one.join().unwrap())
        });
        let mut codes = said.each_ref().map(|one| one.code);
        codes.sort_unstable();
        assert_eq!(codes, [0, 2], "{said:?}");
        let refused = said.iter().find(|one| one.code == 2).unwrap();
        assert!(refused.error().contains("exists already"), "{refused:?}");
        let left = names(&out);
        assert!(left.len() == 2 && left[0].ends_with(".receipt.json") && left[1].ends_with(".zip"), "{left:?}");
    }
}

#[test]
fn a_failure_leaves_the_output_folder_as_it_was() {
    let incoherent = Project::changed(own_run(), |tree| tree.put_in_run("cases/03/server.transcript.jsonl", "x"));
    std::fs::create_dir(incoherent.out()).unwrap();
    std::fs::write(incoherent.out().join("other.txt"), "mine\n").unwrap();
    let before = listing(&incoherent.out());
    let said = incoherent.freeze(&[]);
    assert_eq!((said.code, said.codes()), (1, vec!["run-artifact-changed".to_owned()]));
    assert_eq!((said.json()["outcome"].as_str(), &said.json()["written"]), (Some("not_coherent"), &Value::Null));
    assert_eq!(listing(&incoherent.out()), before);

    // No output folder is made for nothing.
    let incoherent = Project::changed(attempt(), |tree| tree.put_in_run("more.txt", "x"));
    assert_eq!(incoherent.freeze(&[]).code, 1);
    assert!(!incoherent.out().exists());

    // A file stands where the output folder should be.
    let blocked = Project::new(own_run());
    std::fs::write(blocked.out(), "a file\n").unwrap();
    let said = blocked.freeze(&[]);
    assert!(said.error().contains("out"), "{said:?}");
    assert_eq!(std::fs::read(blocked.out()).unwrap(), b"a file\n");
}

#[test]
fn what_cannot_be_read_or_written_is_named() {
    if is_root() {
        return skip::skipped("unreadable files and read-only folders: root reads and writes them all");
    }
    let project = Project::new(own_run());
    let secret = project.run().join("cases/03/server.transcript.jsonl");
    std::fs::set_permissions(&secret, Permissions::from_mode(0o000)).unwrap();
    std::fs::create_dir(project.out()).unwrap();
    let said = project.freeze(&[]);
    assert!(said.error().contains("server.transcript.jsonl: "), "{said:?}");
    assert_eq!(names(&project.out()), [""; 0]);
    std::fs::set_permissions(&secret, Permissions::from_mode(0o644)).unwrap();

    std::fs::set_permissions(project.out(), Permissions::from_mode(0o555)).unwrap();
    let said = project.freeze(&[]);
    assert!(said.error().contains("out"), "{said:?}");
    assert_eq!(names(&project.out()), [""; 0]);
    std::fs::set_permissions(project.out(), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn the_receipt_says_what_other_tools_compute() {
    let project = Project::new(own_run());
    let said = project.freeze(&[]);
    let (archive, receipt) = written(&said);
    let receipt: Value = serde_json::from_slice(&std::fs::read(receipt).unwrap()).unwrap();
    let report = said.json();
    let sum = |path: &Path| {
        let output = Command::new("sha256sum").arg(path).output().expect("sha256sum starts");
        String::from_utf8(output.stdout).unwrap().split(' ').next().unwrap().to_owned()
    };
    let file = archive.file_name().unwrap().to_str().unwrap();
    assert_eq!(receipt["archive"], file);
    assert_eq!((&receipt["sha256"], &report["written"]["sha256"]), (&json!(sum(&archive)), &json!(sum(&archive))));
    assert_eq!(receipt["size"], archive.metadata().unwrap().len());
    let (bytes, _) = manifest(&archive);
    let beside = project.folder.path().join(MANIFEST);
    std::fs::write(&beside, bytes).unwrap();
    let id = sum(&beside);
    assert_eq!((&receipt["content_id"], &report["written"]["content_id"]), (&json!(id), &json!(id)));
    assert_eq!(file, format!("made-up-{}.zip", &id[..12]));
}

// ---- the same bytes ----

#[test]
fn the_same_run_gives_the_same_bytes_anywhere() {
    for tree in [own_run(), attempt()] {
        let first = std::fs::read(Project::new(tree.clone()).frozen()).unwrap();
        let frozen = |project: &Project, change: &dyn Fn(&mut Command)| {
            let mut command = exhibit(["freeze", "--format", "json", "-o"]);
            command.arg(project.out()).arg(project.run());
            change(&mut command);
            let said = say(&mut command);
            assert_eq!(said.code, 0, "{said:?}");
            std::fs::read(written(&said).0).unwrap()
        };
        for (name, value) in [
            ("TZ", "Pacific/Kiritimati"),
            ("TZ", "America/St_Johns"),
            ("LANG", "tr_TR.UTF-8"),
            ("LC_ALL", "C"),
            ("SOURCE_DATE_EPOCH", "1"),
        ] {
            let project = Project::new(tree.clone());
            assert!(
                frozen(&project, &|command| {
                    command.env(name, value);
                }) == first,
                "{name}={value}"
            );
        }
        for umask in ["077", "022", "000"] {
            let project = Project::new(tree.clone());
            let script = format!("umask {umask}; exec \"$@\"");
            let mut command = Command::new("sh");
            command.args(["-c", &script, "sh", env!("CARGO_BIN_EXE_exhibit"), "freeze", "--format", "json", "-o"]);
            let said = say(command.arg(project.out()).arg(project.run()));
            assert!(std::fs::read(written(&said).0).unwrap() == first, "umask {umask}");
        }

        let elsewhere = tempfile::tempdir().unwrap();
        let root = elsewhere.path().join("a folder with spaces/und Umläuten ß/中文");
        tree.write(&root);
        let said = freeze(&root.join(&tree.run), &elsewhere.path().join("aus gabe é"), &[]);
        assert!(std::fs::read(written(&said).0).unwrap() == first, "another parent folder");

        let backwards = tempfile::tempdir().unwrap();
        for (path, (bytes, _)) in tree.files.iter().rev() {
            // Read-only files, made in another order.
            export::write_file(backwards.path(), path, bytes, 0o444);
        }
        let root = backwards.path().to_str().unwrap();
        let out = tempfile::tempdir().unwrap();
        let said = freeze(&backwards.path().join(&tree.run), out.path(), &["--root", root]);
        assert!(std::fs::read(written(&said).0).unwrap() == first, "order and modes");
    }
}

#[test]
fn a_report_shows_no_control_characters_of_its_paths() {
    let project = Project::new(own_run());
    let out = project.folder.path().join("a\u{1b}[31mb\nc");
    let said = say(exhibit(["freeze", "-o"]).arg(&out).arg(project.run()));
    assert_eq!(said.code, 0, "{said:?}");
    assert!(said.out.contains("a\\u{1b}[31mb\\u{a}c") && !said.out.contains('\u{1b}'), "{said:?}");
}

#[test]
fn a_run_is_the_same_however_its_path_is_given() {
    for tree in [own_run(), attempt()] {
        let project = Project::new(tree);
        let first = std::fs::read(project.frozen()).unwrap();
        let run = project.run();
        let link = project.folder.path().join("link");
        symlink(&run, &link).unwrap();
        let slashed = PathBuf::from(format!("{}/", run.display()));
        let name = PathBuf::from(run.file_name().unwrap());
        let folder = run.parent().unwrap().to_path_buf();
        for (index, (given, current)) in [
            (slashed, project.root()),
            (PathBuf::from(&project.tree.run), project.root()),
            (Path::new(".").join(&name), folder.clone()),
            (Path::new("..").join(folder.file_name().unwrap()).join(&name), folder),
            (PathBuf::from("."), run.clone()),
            (link, project.root()),
        ]
        .iter()
        .enumerate()
        {
            let out = project.folder.path().join(format!("out{index}"));
            let mut command = exhibit(["freeze", "--format", "json", "-o"]);
            let said = say(command.arg(&out).arg(given).current_dir(current));
            assert_eq!(said.code, 0, "{} {said:?}", given.display());
            assert!(std::fs::read(written(&said).0).unwrap() == first, "{}", given.display());
        }
    }
}

// ---- what a run says of itself ----

/// A change that makes a run one that failed.
fn fail(tree: &mut Tree) {
    tree.edit_result(2, |result| result["status"] = json!("fail"));
}

#[test]
fn a_failed_run_is_kept_only_when_asked_for_and_stays_labelled() {
    for (tree, is_own) in [(own_run(), true), (attempt(), false)] {
        let project = Project::changed(tree, |tree| {
            fail(tree);
            if !is_own {
                let path = tree.path("case-03.test-record.jsonl");
                tree.edit(&path, |record| record["status"] = json!("fail"));
                let sha256 = tree.sha256(&path);
                tree.edit_result(2, |result| result["artifact_hashes"][&path] = json!(sha256));
            }
        });
        let said = project.freeze(&[]);
        assert_eq!((said.code, said.codes()), (1, vec!["run-case-failed".to_owned()]), "{said:?}");
        assert!(!project.out().exists());
        let text = say(exhibit(["freeze", "-o"]).arg(project.out()).arg(project.run()));
        assert!(text.out.contains("keep it with --as-failed-evidence"), "{text:?}");

        let said = project.freeze(&["--as-failed-evidence"]);
        assert_eq!((said.code, said.codes()), (0, vec!["run-case-failed".to_owned()]), "{said:?}");
        assert_eq!(said.json()["outcome"], "frozen_as_failed_evidence");
        let (archive, receipt) = written(&said);
        let (_, inside) = manifest(&archive);
        assert_eq!(inside["runs"][0]["standing"], "failed_evidence");
        let faults = json!([{"code": "run-case-failed", "message": "case 03 failed"}]);
        assert_eq!(inside["runs"][0]["faults"], faults);

        let verified = verify(&archive, &["--receipt", receipt.to_str().unwrap()]);
        assert_eq!((verified.code, verified.codes()), (1, vec!["run-case-failed".to_owned()]), "{verified:?}");
        assert_eq!(verified.json()["runs"][0]["failed_evidence"], true);
        let text = say(exhibit(["verify-export"]).arg(&archive));
        assert!(text.out.contains("    frozen as failed evidence\n"), "{text:?}");
        assert_eq!(verify(&archive, &["--inventory-only"]).code, 0);
    }
}

#[test]
fn a_coherent_run_is_no_failed_evidence() {
    for tree in [own_run(), attempt()] {
        let project = Project::new(tree);
        let said = project.freeze(&["--as-failed-evidence"]);
        assert_eq!(said.error(), "the run is coherent: freeze it without --as-failed-evidence");
        assert!(!project.out().exists());
    }
}

#[test]
fn absent_files_are_disclosed_and_leave_the_run_undecided() {
    for (tree, name) in [(own_run(), "cases/03/server.transcript.jsonl"), (attempt(), "case-03/server.transcript.log")]
    {
        let project = Project::changed(tree, |tree| tree.remove_in_run(name));
        let said = project.freeze(&[]);
        assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
        let path = project.tree.path(name);
        let is_told =
            |omission: &Value| omission["path"] == path.as_str() && !omission["reason"].as_str().unwrap().is_empty();
        assert!(said.json()["omissions"].as_array().unwrap().iter().any(is_told), "{said:?}");
        let archive = written(&said).0;
        let inside = manifest(&archive).1;
        let omitted: Vec<_> =
            inside["omissions"].as_array().unwrap().iter().filter(|omission| is_told(omission)).collect();
        assert_eq!((omitted.len(), omitted[0]["sha256"].as_str().map(str::len)), (1, Some(64)));
        let verified = verify(&archive, &[]);
        assert_eq!((verified.code, verified.codes()), (3, vec![]), "{verified:?}");
        let run = &verified.json()["runs"][0];
        assert_eq!(run["absent"][0]["path"], path.as_str());
        let is_said = |said: &Value| said.as_str().unwrap().contains("files that the run names and that are absent");
        assert!(run["not_judged"].as_array().unwrap().iter().any(is_said), "{run}");
    }
}

/// An attempt with a snapshot of the sources that it was made from.
fn with_snapshot() -> (Tree, String) {
    let mut tree = attempt();
    let [_, archive] = export::snapshot::bind(&mut tree, |_| ());
    (tree, archive)
}

#[test]
fn the_snapshot_of_an_attempts_sources_goes_along_or_is_disclosed() {
    let (tree, archive) = with_snapshot();
    let is_listed = |inside: &Value, list: &str| {
        inside[list].as_array().unwrap().iter().any(|file| file["path"] == archive.as_str())
    };
    for there in [true, false] {
        let project = Project::changed(tree.clone(), |tree| {
            if !there {
                tree.remove(&archive);
            }
        });
        let frozen = project.frozen();
        let inside = manifest(&frozen).1;
        assert_eq!((is_listed(&inside, "files"), is_listed(&inside, "omissions")), (there, !there));
        assert!(inside["runs"][0]["source_snapshot"].as_str().unwrap().ends_with(".json"));
        let verified = verify(&frozen, &[]);
        assert_eq!((verified.code, verified.codes()), (3, vec![]), "{verified:?}");
        assert_eq!(verified.json()["runs"][0]["absent"].as_array().unwrap().len(), usize::from(!there));
    }
    let project = Project::changed(tree, |tree| tree.put(&archive, "other sources\n"));
    assert_eq!(project.freeze(&[]).codes(), ["run-artifact-changed"]);
}

#[test]
fn a_redacted_file_is_held_against_the_digest_of_its_private_original() {
    for (tree, name) in [(own_run(), "cases/03/server.transcript.jsonl"), (attempt(), "case-03/server.transcript.log")]
    {
        let path = tree.path(name);
        let (private, public) = (tree.files[&path].0.clone(), b"redacted\n".to_vec());
        let project = Project::changed(tree, |tree| tree.put_in_run(name, &public));
        assert_eq!(project.freeze(&[]).codes(), ["run-artifact-changed"]);
        let write = |private: &[u8]| {
            let policy = json!({
                "format": "exhibit-policy/1", "project": "made-up", "retained_runs": [],
                "derivatives": [{
                    "path": path, "public_sha256": Sha256::of(&public), "private_origin_sha256": Sha256::of(private),
                    "private_origin_git_blob": GitBlob::of(private), "transform": "home",
                }],
            });
            let file = project.folder.path().join("policy.json");
            std::fs::write(&file, policy.to_string()).unwrap();
            file.to_str().unwrap().to_owned()
        };
        let said = project.freeze(&["--policy", &write(b"another original")]);
        assert_eq!((said.code, said.codes()), (1, vec!["run-artifact-changed".to_owned()]));

        let said = project.freeze(&["--policy", &write(&private)]);
        assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
        assert_eq!(said.json()["not_recheckable"], json!([path]));
        let archive = written(&said).0;
        let inside = manifest(&archive).1;
        let file = inside["files"].as_array().unwrap().iter().find(|file| file["path"] == path.as_str()).unwrap();
        assert_eq!(file["derivative"]["private_sha256"], json!(Sha256::of(&private)));
        assert_eq!(file["derivative"]["public_sha256"], file["sha256"]);
        let verified = verify(&archive, &[]);
        assert_eq!((verified.code, verified.codes()), (3, vec![]), "{verified:?}");
        assert_eq!(verified.json()["runs"][0]["not_recheckable"], json!([path]));
    }
}

// ---- what is refused ----

#[test]
fn an_output_inside_the_run_is_refused() {
    let project = Project::new(own_run());
    let before = listing(&project.run());
    let inside = project.run().join("cases");
    for out in [
        project.run(),
        inside.clone(),
        project.run().join("new"),
        project.run().join("new/deep"),
        inside.join("../new"),
    ] {
        let said = freeze(&project.run(), &out, &[]);
        assert!(said.error().contains("lies in the run's folder: choose an output folder outside it"), "{said:?}");
        assert_eq!(listing(&project.run()), before, "{}", out.display());
    }
    let link = project.folder.path().join("link");
    symlink(&inside, &link).unwrap();
    assert_eq!(freeze(&project.run(), &link, &[]).code, 2);
    assert_eq!(freeze(&project.run(), &link.join("new"), &[]).code, 2);
    assert_eq!(listing(&project.run()), before);
}

#[test]
fn what_is_no_run_is_refused_in_one_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let empty = folder.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    let file = folder.path().join("file.txt");
    std::fs::write(&file, "x").unwrap();
    let both = Project::changed(own_run(), |tree| tree.put_in_run("provenance.json", "{}"));
    let headless = Project::changed(attempt(), |tree| tree.remove_in_run("provenance.json"));
    let root = empty.parent().unwrap().to_str().unwrap();
    for (run, options, said) in [
        (empty.clone(), vec![], "is not a run folder"),
        (empty.clone(), vec!["--root", root], "is not a run folder"),
        (file, vec![], "is not a folder: give the run's folder"),
        (folder.path().join("nowhere"), vec![], "nowhere: No such file or directory"),
        (both.run(), vec![], "is not a run folder"),
        (headless.run(), vec![], "is not a run folder"),
    ] {
        let error = freeze(&run, &out, &options).error();
        assert!(error.contains(said), "{}: {error}", run.display());
        assert!(!out.exists());
    }
}

#[test]
fn links_and_pipes_in_a_run_are_findings() {
    for (code, make) in [
        ("tree-link", (|path: &Path| symlink("/etc/passwd", path).unwrap()) as fn(&Path)),
        ("tree-special-file", |path: &Path| assert!(Command::new("mkfifo").arg(path).status().unwrap().success())),
    ] {
        for options in [&[][..], &["--as-failed-evidence"]] {
            let project = Project::new(own_run());
            make(&project.run().join("cases/03/odd"));
            let said = project.freeze(options);
            assert_eq!((said.code, said.codes()), (1, vec![code.to_owned()]), "{said:?}");
            assert!(!project.out().exists());
            // Keeping it as failed evidence wouldn't help, so it isn't advised.
            let text = say(exhibit(["freeze"]).arg(project.run()).arg("-o").arg(project.out()).args(options));
            assert!(text.out.contains("no archive can hold these files"), "{text:?}");
            assert!(!text.out.contains("as-failed-evidence"), "{text:?}");
        }
    }
}

#[test]
fn an_attempt_tells_its_root_and_a_wrong_one_is_refused() {
    let project = Project::new(attempt());
    let first = std::fs::read(project.frozen()).unwrap();
    let out = |name: &str| project.folder.path().join(name);
    let root = project.root();
    let said = freeze(&project.run(), &out("given"), &["--root", root.to_str().unwrap()]);
    assert!(std::fs::read(written(&said).0).unwrap() == first);

    // Beside it, below it, and not there.
    for (wrong, told) in [
        (out("given"), "does not lie below"),
        (project.run(), "does not lie below"),
        (out("nowhere"), "nowhere: No such file or directory"),
    ] {
        let error = freeze(&project.run(), &out("wrong"), &["--root", wrong.to_str().unwrap()]).error();
        assert!(error.contains(told), "{error}");
    }
    // Above and below it the recorded paths lie outside the attempt.
    for wrong in [project.folder.path().to_path_buf(), root.join("docs")] {
        let said = freeze(&project.run(), &out("wrong"), &["--root", wrong.to_str().unwrap()]);
        assert_ne!(said.code, 0, "{said:?}");
        assert!(!out("wrong").exists());
    }

    // A run that was moved has no root that its records confirm.
    let moved = out("elsewhere").join(project.run().file_name().unwrap());
    std::fs::create_dir(out("elsewhere")).unwrap();
    std::fs::rename(project.run(), &moved).unwrap();
    let error = freeze(&moved, &out("moved"), &[]).error();
    assert!(error.contains("cannot tell the project's root") && error.contains("--root"), "{error}");
}
