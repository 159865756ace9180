//! Exports made repositories that are odd or that somebody tampered with: what git itself would read otherwise, runs that
//! aren't whole, redactions whose record is lost. Needs the feature `export`.
#![cfg(feature = "export")]
#![expect(clippy::expect_used, reason = "a test that can't make its input fails")]

#[expect(dead_code, reason = "only some of what a repository can do is needed")]
mod commit;
mod export;
mod skip;

use commit::{Exported, RULES, Repository, export_from, git, has_git, project, rules};
use exhibit::digest::Sha256;
use export::Tree;
use serde_json::{Value, json};

const RUN: &str = "matrices/small/runs/r1";

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut rules = rules();
    change(&mut rules);
    rules
}

fn message(exported: &Exported, finding: usize) -> String {
    exported.report["findings"][finding]["message"].as_str().unwrap_or_default().to_owned()
}

fn settled(settings: &[(&str, &str)]) -> Exported {
    let repository = Repository::of(&project(&rules()));
    for (name, value) in settings {
        repository.git(&["config", name, value]);
    }
    repository.export()
}

#[test]
fn what_git_would_read_otherwise_is_told() {
    if !has_git() {
        return;
    }
    let text = settled(&[("core.repositoryFormatVersion", "1"), ("extensions.madeUp", "true")]).could_not();
    assert!(text.contains("its extension \"madeUp\" is not known"), "{text}");
    let known = [("extensions.worktreeConfig", "true"), ("extensions.preciousObjects", "true")];
    settled(&[&[("core.repositoryFormatVersion", "1")], known.as_slice()].concat()).release();
    let text = settled(&[("core.repositoryFormatVersion", "99")]).could_not();
    assert!(text.contains("only versions 0 and 1 are supported"), "{text}");
    for elsewhere in ["../release", "/proc"] {
        let text = settled(&[("core.worktree", elsewhere)]).could_not();
        assert!(text.contains("its working tree lies elsewhere (core.worktree)"), "{text}");
    }
    let odd = |option: &str| {
        let repository = Repository::empty();
        let made = repository.beside("odd");
        git(&repository.beside(""), &["init", "--quiet", option, "odd"]);
        project(&rules()).write(&made);
        git(&made, &["add", "."]);
        git(&made, &["commit", "--quiet", "--message", "made"]);
        export_from(&made, &repository.beside("out"), &[]).could_not()
    };
    let text = odd("--object-format=sha256");
    assert!(text.contains("its object ids are SHA-256") && !text.contains("no git repository"), "{text}");
    // Older versions of git know of no other way to keep references.
    if git(&Repository::empty().root(), &["version", "--build-options"]).contains("default-ref-format") {
        let text = odd("--ref-format=reftable");
        assert!(text.contains("its references lie in tables"), "{text}");
    }
}

#[test]
fn what_is_not_there_is_told_without_the_words_of_a_library() {
    if !has_git() {
        return;
    }
    let without = |revision: &str| {
        let repository = Repository::of(&project(&rules()));
        let id = repository.git(&["rev-parse", revision]).trim().to_owned();
        let (folder, file) = id.split_at(2);
        std::fs::remove_file(repository.root().join(".git/objects").join(folder).join(file)).expect("it is loose");
        (repository.export().could_not(), id)
    };
    let (text, id) = without("HEAD:tools");
    assert!(
        text.ends_with(&format!("the object {id} is not in the repository: make a full clone, or run git fsck")),
        "{text}"
    );
    let (text, _) = without("HEAD");
    assert!(text.ends_with("\"HEAD\" names no commit that is here: run git status and git fsck"), "{text}");
    let repository = Repository::of(&project(&rules()));
    for revision in ["", "HEAD..HEAD", "1234567890123456789012345678901234567890", "HEAD~5"] {
        let text = repository.export_with(&["--commit", revision]).could_not();
        assert!(text.ends_with("give HEAD, a branch, a tag or the whole id of a commit"), "{text}");
    }
}

#[test]
fn a_folder_where_runs_lie_is_never_passed_over() {
    if !has_git() {
        return;
    }
    let changed = |rules: &Value, change: fn(&mut Tree)| {
        let mut tree = project(rules);
        change(&mut tree);
        Repository::of(&tree).export()
    };
    let head = format!("{RUN}/run.json");
    let broken = changed(&rules(), |tree| tree.put_in_run("run.json", "{"));
    assert_eq!(broken.refused(), [format!("json-syntax {head}")]);
    let gone: fn(&mut Tree) = |tree| tree.remove_in_run("run.json");
    assert_eq!(changed(&rules(), gone).refused(), [format!("export-run {RUN}")]);
    let left = with(|rules| rules["not_retained"] = json!([{"path": RUN, "reason": "it was never finished"}]));
    changed(&left, gone).release();
    // Evidence alone, and deeper than its run.
    let lone = changed(&rules(), |tree| tree.put("matrices/small/runs/r2/cases/01/a.log", "x"));
    assert_eq!(lone.refused(), ["export-run matrices/small/runs/r2"]);
    // A document beside the runs is no run.
    changed(&rules(), |tree| tree.put("matrices/small/runs/README.md", "x")).release();
    let root = changed(&rules(), |tree| {
        tree.put("results.jsonl", "{}\n");
        tree.put("provenance.json", "{}");
    });
    assert_eq!(root.refused(), ["export-run results.jsonl"]);
}

/// A repository that is a release of ours, with a redacted file, and other rules.
fn released(rules: impl FnOnce(&mut Value)) -> (Tree, Value) {
    let mut tree = project(&with(|rules| {
        rules["redactions"] = json!([{"label": "home", "pattern": "/home/(?P<private>[a-z]+)", "replacement": "<HOME>",
            "files": ["notes/*.log"], "reason": "names a person"}]);
    }));
    tree.put("notes/run.log", "in /home/somebody/a\n");
    let repository = Repository::of(&tree);
    let release = repository.export().release();
    let unpacked = repository.beside("unpacked");
    let request = exhibit::archive::Extract { path: &release, out: &unpacked, receipt: None, policy: None };
    let extracted = exhibit::archive::extract(&request, &exhibit::limits::Limits::default(), &|_| {});
    let root = extracted.expect("it can be unpacked").written.expect("it was written").path;
    let mut tree = Tree::read(&root);
    tree.put(RULES, with(rules).to_string());
    let manifest = serde_json::from_slice(&tree.files[export::MANIFEST].0).expect("it is JSON");
    (tree, manifest)
}

/// What the manifest says of the redaction of a file.
fn derivative(manifest: &Value, path: &str) -> Value {
    let files = manifest["files"].as_array().expect("it lists files");
    files.iter().find(|file| file["path"] == path).expect("it is listed")["derivative"].clone()
}

#[test]
fn the_record_of_a_redaction_is_not_lost() {
    if !has_git() {
        return;
    }
    // Whatever the rules leave out.
    let (tree, before) = released(|rules| {
        rules["omissions"] = json!([{"files": "*.json", "reason": "not for readers"}]);
    });
    let exported = Repository::of(&tree).export();
    exported.release();
    assert_eq!(exported.report["redacted"][0]["path"], "notes/run.log");
    // Whatever the file is called now.
    let (mut tree, _) = released(|_| {});
    let moved = tree.files.remove("notes/run.log").expect("it is there");
    tree.files.insert("notes/later.log".to_owned(), moved);
    assert_eq!(Repository::of(&tree).export().refused(), ["export-derivative notes/later.log"]);
    let mut record = derivative(&before, "notes/run.log");
    record["path"] = json!("notes/later.log");
    record.as_object_mut().expect("it is an object").retain(|_, value| !value.is_null());
    tree.put(RULES, with(|rules| rules["derivatives"] = json!([record])).to_string());
    Repository::of(&tree).export().release();
    // A file that is gone has nothing to tell.
    tree.remove("notes/later.log");
    tree.put(RULES, rules().to_string());
    Repository::of(&tree).export().release();
}

#[test]
fn two_records_of_one_redaction_agree_in_all_that_both_know() {
    if !has_git() {
        return;
    }
    let twice = |change: &dyn Fn(&mut Value)| {
        let (mut tree, manifest) = released(|_| {});
        let mut record = derivative(&manifest, "notes/run.log");
        record["path"] = json!("notes/run.log");
        record.as_object_mut().expect("it is an object").retain(|_, value| !value.is_null());
        change(&mut record);
        tree.put(RULES, with(|rules| rules["derivatives"] = json!([record])).to_string());
        Repository::of(&tree).export()
    };
    twice(&|_| {}).release();
    twice(&|record| drop(record.as_object_mut().expect("it is an object").remove("occurrences"))).release();
    for (field, value) in [("occurrences", json!(7)), ("private_git_blob", json!("0".repeat(40))), ("rule", json!("x"))]
    {
        assert_eq!(twice(&|record| record[field] = value.clone()).refused(), [format!("export-derivative {RULES}")]);
    }
}

#[test]
fn a_private_string_in_the_name_of_what_is_left_out_is_told_at_that_name() {
    if !has_git() {
        return;
    }
    let mut tree = project(&with(|rules| {
        rules["redactions"] = json!([{"label": "home", "pattern": "/home/(?P<private>[a-z]+)", "replacement": "<HOME>",
            "files": ["notes/*.log"], "reason": "names a person"}]);
        rules["omissions"] = json!([{"files": "left/**", "reason": "not for readers"}]);
    }));
    tree.put("notes/run.log", "in /home/somebody/a\n");
    tree.put("left/somebody.txt", "x");
    let exported = Repository::of(&tree).export();
    assert_eq!(exported.refused(), ["export-private left/\u{2026}.txt"]);
    assert!(message(&exported, 0).starts_with("the name holds"), "{}", exported.report);
}

/// A run that names a commit, or what else is said to be one, and its source.
fn run_of(tree: &mut Tree, path: &str, head: &str) {
    tree.edit(path, |run| {
        run["provenance"] = json!({"source_head": head});
        run["sources"] = json!({"README.md": Sha256::of(b"made up\n")});
    });
}

#[test]
fn an_id_that_is_no_commits_is_told_as_a_finding() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    let repository = Repository::of(&tree);
    repository.git(&["tag", "--annotate", "--message", "made", "made"]);
    for revision in ["HEAD^{tree}", "HEAD:README.md", "made"] {
        let id = repository.git(&["rev-parse", revision]).trim().to_owned();
        run_of(&mut tree, &format!("{RUN}/run.json"), &id);
        tree.write(&repository.root());
        repository.commit("the run");
        assert_eq!(repository.export().refused(), [format!("export-snapshot {RUN}")], "{revision}");
    }
    let short = repository.git(&["rev-parse", "--short", "HEAD"]).trim().to_owned();
    for id in [short.as_str(), "HEAD", "main", "", "--all"] {
        run_of(&mut tree, &format!("{RUN}/run.json"), id);
        tree.write(&repository.root());
        repository.commit("the run");
        assert_eq!(repository.export().refused(), [format!("export-snapshot {RUN}")], "{id}");
    }
}

#[test]
fn a_snapshot_has_a_place_of_its_own() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    let repository = Repository::of(&tree);
    let head = repository.git(&["rev-parse", "HEAD"]).trim().to_owned();
    run_of(&mut tree, &format!("{RUN}/run.json"), &head);
    let document = format!("matrices/small/source-snapshots/r1-{head}.json");
    // Runs of the same id beside each other.
    let copies: Vec<_> = tree
        .files
        .iter()
        .filter_map(|(path, file)| {
            let rest = path.strip_prefix(RUN)?;
            Some((format!("matrices/small/older/r1{rest}"), file.clone()))
        })
        .collect();
    let mut both = tree.clone();
    both.files.extend(copies);
    let run = json!({"path": "matrices/small/older/r1", "matrix": "matrices/small/matrix.json"});
    both.put(RULES, with(|rules| rules["runs"] = json!([run])).to_string());
    both.write(&repository.root());
    repository.commit("two runs");
    let found = repository.export().refused();
    assert!(found.contains(&format!("export-snapshot {document}")), "{found:?}");

    let repository = Repository::of(&project(&rules()));
    tree.put(&document, "{}");
    let omission = json!([{"files": "**/source-snapshots/*", "reason": "not for readers"}]);
    tree.put(RULES, with(|rules| rules["omissions"] = omission).to_string());
    tree.write(&repository.root());
    repository.commit("an omitted snapshot");
    assert_eq!(repository.export().refused(), [format!("export-snapshot {document}")]);
}

#[test]
fn a_private_name_of_an_omitted_file_is_not_told() {
    if !has_git() {
        return;
    }
    let mut told = rules();
    told["redactions"] = json!([{
        "label": "home", "pattern": "/home/(?<private>[a-z]+)", "replacement": "<HOME>", "files": ["a.log"], "reason": "r",
    }]);
    told["omissions"] = json!([{"files": "notes/*", "reason": "not for readers"}]);
    let mut tree = project(&told);
    tree.put("a.log", "in /home/somebody\n");
    tree.put("notes/of-somebody.txt", "x");
    let exported = Repository::of(&tree).export();
    assert_eq!(exported.refused().len(), 1);
    assert!(!exported.report.to_string().contains("somebody"), "{}", exported.report);
}
