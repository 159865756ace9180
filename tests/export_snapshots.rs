//! Exports runs with the sources that they were made from, and holds that nothing may change meanwhile. Needs the feature
//! `export`.
#![cfg(feature = "export")]
#![expect(clippy::expect_used, reason = "a test that can't make its input fails")]

#[expect(dead_code, reason = "only some of what a repository can do is needed")]
mod commit;
mod export;
mod skip;

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use commit::{Repository, has_git, project, rules};
use exhibit::archive::{Export, Verdict, Verification, Verify};
use exhibit::digest::Sha256;
use exhibit::error::Error;
use exhibit::limits::Limits;
use exhibit::tree::Step;
use export::attempt;
use serde_json::{Value, json};

/// A repository whose run was made from its first commit, and that commit.
fn with_sources(rules: &Value, source: &str, recorded: &str) -> (Repository, String) {
    let mut tree = project(rules);
    tree.put("src/server.py", source);
    tree.put("src/run.sh", "#!/bin/sh\n");
    tree.files.get_mut("src/run.sh").expect("it was put there").1 = 0o755;
    let repository = Repository::of(&tree);
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    tree.edit("matrices/small/runs/r1/run.json", |run| {
        run["provenance"] = json!({"source_head": head});
        run["sources"] = json!({
            "src/server.py": Sha256::of(recorded.as_bytes()), "src/run.sh": Sha256::of(b"#!/bin/sh\n"),
        });
    });
    // The project goes on after the run.
    tree.put("src/server.py", "def later(): pass\n");
    tree.remove("src/run.sh");
    std::fs::remove_file(repository.root().join("src/run.sh")).expect("it is there");
    tree.write(&repository.root());
    repository.commit("the run");
    (repository, head)
}

fn verify(release: &Path) -> Verification {
    let request = Verify { path: release, receipt: None, policy: None, inventory_only: false, scratch: None };
    exhibit::archive::verify(&request, &Limits::default(), &|_| {}).expect("it can be verified")
}

/// What isn't judged of the first run, but the replay.
fn open(release: &Path) -> Vec<String> {
    let verification = verify(release);
    assert_eq!(verification.verdict(), Verdict::Undecided, "{:?}", verification.findings);
    let mut open = verification.runs.first().expect("it has a run").not_judged.clone();
    open.retain(|open| !open.contains("replay"));
    open
}

#[test]
fn a_run_carries_the_sources_of_the_commit_that_it_names() {
    if !has_git() {
        return;
    }
    let source = "def server(): pass\n";
    let (repository, head) = with_sources(&rules(), source, source);
    let exported = repository.export();
    let release = exported.release();
    let document = format!("matrices/small/source-snapshots/r1-{head}.json");
    assert_eq!(exported.report["runs"][0]["source_snapshot"], document);
    assert_eq!(exported.report["runs"][0]["snapshot_made"], true);
    assert_eq!(open(&release), [""; 0]);
    // Once the snapshot is committed it is taken as it is, and gives the same snapshot files.
    let unpacked = repository.beside("unpacked");
    let request = exhibit::archive::Extract { path: &release, out: &unpacked, receipt: None, policy: None };
    let extraction = exhibit::archive::extract(&request, &Limits::default(), &|_| {}).expect("it can be unpacked");
    let root = extraction.written.expect("it was written").path;
    for ending in ["json", "tar.gz"] {
        let path = format!("matrices/small/source-snapshots/r1-{head}.{ending}");
        repository.put(&path, std::fs::read(root.join(&path)).expect("it is in the release"));
    }
    repository.commit("with the snapshot");
    std::fs::remove_dir_all(repository.beside("out")).expect("it is there");
    let again = repository.export();
    assert_eq!(again.report["runs"][0]["snapshot_made"], false);
    assert_eq!(again.report["runs"][0]["source_snapshot"], document);
    assert_eq!(open(&again.release()), [""; 0]);
}

#[test]
fn a_source_that_is_not_the_recorded_one_is_refused() {
    if !has_git() {
        return;
    }
    let (repository, _) = with_sources(&rules(), "def server(): pass\n", "def other(): pass\n");
    assert_eq!(repository.export().refused(), ["export-snapshot matrices/small/runs/r1"]);
}

#[test]
fn a_private_string_or_a_secret_in_a_source_is_refused() {
    if !has_git() {
        return;
    }
    let key = ["-----BEGIN ", "PRIVATE KEY-----\n"].concat();
    let (repository, head) = with_sources(&rules(), &key, &key);
    let packed = format!("export-secret matrices/small/source-snapshots/r1-{head}.tar.gz");
    assert_eq!(repository.export().refused(), [packed]);
}

#[test]
fn a_commit_that_is_not_there_is_told_or_disclosed() {
    if !has_git() {
        return;
    }
    let made = |rules: &Value| {
        let mut tree = project(rules);
        tree.edit("matrices/small/runs/r1/run.json", |run| {
            run["provenance"] = json!({"source_head": "71e08e7eb0673c3902205456d815c29a749843ec"});
            run["sources"] = json!({"src/server.py": Sha256::of(b"gone")});
        });
        Repository::of(&tree).export()
    };
    assert_eq!(made(&rules()).refused(), ["export-snapshot matrices/small/runs/r1"]);
    let mut told = rules();
    told["runs"] = json!([{"path": "matrices/small/runs/r1", "without_snapshot": "its commit is private"}]);
    let exported = made(&told);
    assert_eq!(open(&exported.release()).len(), 1);
}

#[test]
fn a_historical_attempt_carries_its_sources_too() {
    if !has_git() {
        return;
    }
    let mut told = rules();
    let mut tree = attempt();
    told["runs"] = json!([{"path": tree.run, "matrix": tree.spec}]);
    tree.put(commit::RULES, told.to_string());
    tree.put("reference/backend.py", "backend");
    let repository = Repository::of(&tree);
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    let mut results = tree.results();
    results.iter_mut().for_each(|result| result["source_head"] = json!(head));
    tree.put_results(&results);
    tree.edit(&tree.path("provenance.json"), |provenance| provenance["source_head"] = json!(head));
    tree.write(&repository.root());
    repository.commit("the attempt");
    let exported = repository.export();
    let id = tree.run.rsplit('/').next().expect("it has a last part").to_owned();
    assert_eq!(exported.report["runs"][0]["source_snapshot"], format!("docs/source-snapshots/{id}-{head}.json"));
    assert_eq!(open(&exported.release()), [""; 0]);
}

/// Exports while something changes, once the contents are being read or once all is packed.
fn meanwhile(repository: &Repository, totals: usize, change: impl Fn() + Sync) -> Error {
    let out = repository.beside("out");
    let root = repository.root();
    let request = Export { repository: &root, commit: "HEAD", out: &out, policy: None, scratch: &root };
    let (seen, done) = (std::sync::atomic::AtomicUsize::new(0), AtomicBool::new(false));
    let progress = |step: Step| {
        let is_start = matches!(step, Step::Total(_));
        if is_start && seen.fetch_add(1, Ordering::SeqCst) + 1 == totals && !done.swap(true, Ordering::SeqCst) {
            change();
        }
    };
    let error = exhibit::archive::export(&request, &Limits::default(), &progress).expect_err("it must not be exported");
    assert!(done.load(Ordering::SeqCst), "nothing was changed");
    assert!(!out.exists(), "something was left behind");
    error
}

#[test]
fn what_changes_meanwhile_fails_the_export_and_leaves_nothing_behind() {
    if !has_git() {
        return;
    }
    for totals in 1..=4 {
        let repository = Repository::of(&project(&rules()));
        let error = meanwhile(&repository, totals, || repository.put("README.md", "made uq\n"));
        assert!(error.to_string().contains("changed while it was being read"), "{totals}: {error}");
        let repository = Repository::of(&project(&rules()));
        let error = meanwhile(&repository, totals, || {
            repository.git(&["commit", "--quiet", "--allow-empty", "--message", "later"]);
        });
        assert!(error.to_string().contains("HEAD was"), "{totals}: {error}");
        let repository = Repository::of(&project(&rules()));
        let error = meanwhile(&repository, totals, || {
            repository.put("new.txt", "new\n");
            repository.git(&["add", "new.txt"]);
        });
        assert!(error.to_string().contains("changed"), "{totals}: {error}");
    }
}
