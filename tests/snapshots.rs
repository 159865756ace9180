//! Source snapshots through the built program: what binds a run to its sources, what leaves that open, what refutes it;
//! and tarballs of ordinary tools, read here, and the tarball written here, read by them.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;
mod skip;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use exhibit::digest::Sha256;
use exhibit::form::Mode;
use exhibit::limits::Limits;
use exhibit::run::snapshot::{self as source_snapshot, Stop, Tarball};
use serde_json::{Value, json};

use export::{Export, Kind, PRIVATE, REDACTED, Said, Tree, release, snapshot, verify};

const KINDS: [Kind; 2] = [Kind::Own, Kind::Historical];

fn verified(kind: Kind, tree: Tree) -> Said {
    let export = Export::of(kind, tree);
    let folder = tempfile::tempdir().unwrap();
    let (plain, packed) = (folder.path().join("release"), folder.path().join("release.zip"));
    let policy = folder.path().join("policy.json");
    std::fs::write(&policy, export.policy.to_string()).unwrap();
    export.write_folder(&plain);
    export.write_zip(&packed);
    let options = ["--policy", policy.to_str().unwrap()];
    let [said, of_zip] = [&plain, &packed].map(|path| verify(path, &options));
    if said.code != 2 {
        let of_runs = |said: &Said| (said.code, said.codes(), said.json()["runs"].clone());
        assert_eq!(of_runs(&said), of_runs(&of_zip), "a folder and a ZIP of it differ");
    }
    said
}

/// What is said of the binding to sources among what was not judged of the run.
fn open(said: &Said) -> Vec<String> {
    let report = said.json();
    let all = report["runs"][0]["not_judged"].as_array().unwrap().iter().map(|text| text.as_str().unwrap().to_owned());
    all.filter(|text| text.contains("sources the run was made from") || text.contains("recorded sources")).collect()
}

fn held(kind: Kind, change: impl FnOnce(&mut Tree)) -> Vec<String> {
    let mut tree = release(kind);
    change(&mut tree);
    let said = verified(kind, tree);
    assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
    open(&said)
}

fn found(kind: Kind, change: impl FnOnce(&mut Tree)) -> Vec<String> {
    let mut tree = release(kind);
    change(&mut tree);
    verified(kind, tree).codes()
}

fn bind(tree: &mut Tree) -> [String; 2] {
    snapshot::bind(tree, |_| ())
}

#[test]
fn a_snapshot_binds_a_run_whatever_the_tree_holds_today() {
    for kind in KINDS {
        assert_eq!(held(kind, |tree| drop(bind(tree))), [""; 0], "{kind:?}");
        let moved_on = |tree: &mut Tree| {
            bind(tree);
            tree.put("reference/backend.py", "what it is today");
        };
        assert_eq!(held(kind, moved_on), [""; 0], "{kind:?}");
        let mut tree = release(kind);
        moved_on(&mut tree);
        let said = verified(kind, tree).json()["assertions"].to_string();
        assert!(said.contains("1 sources in the tree are not the ones that the run recorded"), "{said}");
        assert!(!said.contains("the members of the snapshot"), "{said}");
    }
}

#[test]
fn without_a_snapshot_the_tree_binds_a_run_or_leaves_it_open() {
    let record = |tree: &mut Tree| drop(snapshot::sources(tree));
    for kind in KINDS {
        let there = |tree: &mut Tree| {
            record(tree);
            tree.put("reference/backend.py", snapshot::BACKEND);
        };
        assert_eq!(held(kind, there), [""; 0], "{kind:?}");
        let absent = held(kind, record);
        assert_eq!(absent.len(), 1, "{kind:?}");
        assert!(absent[0].contains("1 of 2 are not in the tree"), "{absent:?}");
        let changed = |tree: &mut Tree| {
            record(tree);
            tree.put("reference/backend.py", "another");
        };
        assert_eq!(found(kind, changed), ["run-source-changed"], "{kind:?}");
        // The matrix among the sources has a code of its own, and only that one.
        let matrix = |tree: &mut Tree| {
            record(tree);
            let spec = tree.spec.clone();
            tree.edit(&spec, |spec| spec["cases"][0]["name"] = json!("x"));
        };
        assert_eq!(found(kind, matrix), ["run-spec-differs"], "{kind:?}");
    }
}

#[test]
fn a_redacted_source_is_open_and_no_finding() {
    let record = |tree: &mut Tree, content: &[u8]| {
        let matrix = tree.sha256(&tree.spec);
        let run = tree.path("run.json");
        tree.edit(&run, |run| {
            run["sources"] = json!({"matrices/small/matrix.json": matrix, REDACTED: Sha256::of(content)});
        });
    };
    let said = held(Kind::Own, |tree| record(tree, PRIVATE));
    assert!(said.len() == 1 && said[0].contains("private original"), "{said:?}");
    assert_eq!(held(Kind::Own, |tree| record(tree, b"from <HOME>\n")), [""; 0]);
    assert_eq!(found(Kind::Own, |tree| record(tree, b"neither")), ["run-source-changed"]);
}

#[test]
fn a_run_that_names_a_commit_alone_is_open_and_made_data_says_nothing() {
    let recorded = |tree: &mut Tree| {
        let run = tree.path("run.json");
        tree.edit(&run, |run| run["made"] = json!("recorded"));
    };
    let said = held(Kind::Own, recorded);
    assert!(said.len() == 1 && said[0].contains("names a commit and records no source"), "{said:?}");
    let unnamed = |tree: &mut Tree| {
        recorded(tree);
        let run = tree.path("run.json");
        tree.edit(&run, |run| run["provenance"] = json!({}));
    };
    assert_eq!(held(Kind::Own, unnamed), [""; 0]);
    assert_eq!(held(Kind::Own, |_| ()), [""; 0]);
}

#[test]
fn an_absent_archive_is_open_where_it_is_disclosed() {
    for (disclosed, code) in [(true, 3), (false, 1)] {
        let mut tree = release(Kind::Own);
        let [_, archive] = bind(&mut tree);
        tree.remove(&archive);
        let mut export = Export::of(Kind::Own, tree);
        if disclosed {
            export.manifest["omissions"] = json!([{"path": archive, "reason": "too large", "sha256": null}]);
        }
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("release.zip");
        export.write_zip(&path);
        let said = verify(&path, &[]);
        assert_eq!(said.code, code, "{said:?}");
        if disclosed {
            assert!(open(&said)[0].contains("is absent"), "{said:?}");
        } else {
            assert_eq!(said.codes(), ["run-artifact-absent"]);
        }
    }
}

#[test]
fn a_document_is_exact_and_agrees_with_its_run() {
    let edited = |kind: Kind, change: fn(&mut Value)| {
        found(kind, |tree| {
            let [document, _] = bind(tree);
            tree.edit(&document, change);
            let value: Value = serde_json::from_slice(&tree.files[&document].0).unwrap();
            tree.put(&document, exhibit::json::canonical(&value).unwrap());
        })
    };
    for kind in KINDS {
        assert_eq!(edited(kind, |_| ()), [""; 0]);
        for change in [
            (|d| d["source_commit"] = json!("0".repeat(40))) as fn(&mut Value),
            |d| d["source_hashes"]["reference/backend.py"] = json!("0".repeat(64)),
            |d| drop(d["source_hashes"].as_object_mut().unwrap().remove("reference/backend.py")),
            |d| d["format"] = json!("other-people/1"),
            |d| d["archive_sha256"] = json!("x"),
        ] {
            assert_eq!(edited(kind, change), ["run-record"], "{kind:?}");
        }
        assert_eq!(edited(kind, |d| d["archive_sha256"] = json!("0".repeat(64))), ["run-artifact-changed"]);
    }
    for change in [
        (|d| d["more"] = json!(1)) as fn(&mut Value),
        |d| drop(d.as_object_mut().unwrap().remove("module")),
        |d| d["source_commit"] = json!("main"),
    ] {
        assert_eq!(edited(Kind::Own, change), ["run-record"]);
    }
    let spaced = |tree: &mut Tree| {
        let [document, _] = bind(tree);
        let bytes = [&tree.files[&document].0[..], b"\n"].concat();
        tree.put(&document, bytes);
    };
    assert_eq!(found(Kind::Own, spaced), ["run-record"]);
    assert_eq!(found(Kind::Historical, spaced), [""; 0]);
}

#[test]
fn a_run_is_not_bound_by_the_snapshot_of_another() {
    // The historical form's path may start elsewhere, but ends in the attempt's name.
    for (kind, path, is_open) in [
        (Kind::Own, "matrices/small/runs/r1", false),
        (Kind::Own, "matrices/small/runs/r2", true),
        (Kind::Own, "matrices/other/runs/r1", true),
        (Kind::Historical, "raw/attempt-20260922T220129Z-1790114489061895000", false),
        (Kind::Historical, "raw/attempt-20260922T220129Z-1790114489061895001", true),
    ] {
        let open = held(kind, |tree| {
            let [document, _] = bind(tree);
            tree.edit(&document, |document| document["attempt_relative_path"] = json!(path));
            let value: Value = serde_json::from_slice(&tree.files[&document].0).unwrap();
            tree.put(&document, exhibit::json::canonical(&value).unwrap());
        });
        assert_eq!(open.len(), usize::from(is_open), "{path}: {open:?}");
    }
}

#[test]
fn a_newer_document_could_not_be_checked() {
    for kind in KINDS {
        let mut tree = release(kind);
        let [document, _] = bind(&mut tree);
        tree.edit(&document, |document| document["format"] = json!("exhibit-source-snapshot/2"));
        let error = verified(kind, tree).error();
        assert!(error.contains("\"exhibit-source-snapshot/2\"") && error.contains(&document), "{error}");
    }
}

#[test]
fn recorded_sources_are_portable_and_agree_with_the_matrix() {
    let edited = |sources: Value| {
        found(Kind::Own, |tree| {
            let run = tree.path("run.json");
            tree.edit(&run, |run| run["sources"] = sources);
        })
    };
    assert_eq!(edited(json!({"a": "0".repeat(64)})), [""; 0]);
    for sources in [
        json!(null),
        json!({}),
        json!({"../a": "0".repeat(64)}),
        json!({"a": "x"}),
        json!(["a"]),
        json!({"matrices/small/matrix.json": "0".repeat(64)}),
    ] {
        assert_eq!(edited(sources.clone()), ["run-record"], "{sources}");
    }
}

#[test]
fn a_living_project_is_frozen_without_what_changed_since() {
    for kind in KINDS {
        let mut tree = if kind == Kind::Own { export::own_run() } else { export::attempt() };
        let protocol = if kind == Kind::Own { "matrices/small/PROTOCOL.md" } else { "docs/PROTOCOL.md" };
        let mut recorded = snapshot::sources(&mut tree);
        recorded.push((protocol.to_owned(), b'0', b"what was run\n".to_vec()));
        let digests: BTreeMap<&String, Sha256> =
            recorded.iter().map(|(path, _, bytes)| (path, Sha256::of(bytes))).collect();
        let head = tree.path(if kind == Kind::Own { "run.json" } else { "provenance.json" });
        let field = if kind == Kind::Own { "sources" } else { "source_hashes" };
        tree.edit(&head, |head| head[field] = json!(digests));
        if kind == Kind::Historical {
            for index in 0..3 {
                tree.edit_result(index, |result| result["source_hashes"] = json!(digests));
            }
        }
        for bound in [false, true] {
            if bound {
                snapshot::put(&mut tree, &snapshot::gzip(&snapshot::tar(&recorded)));
            }
            let folder = tempfile::tempdir().unwrap();
            let root = folder.path().join("project");
            tree.write(&root);
            let said =
                export::freeze(&root.join(&tree.run), &folder.path().join("out"), &["--root", root.to_str().unwrap()]);
            assert_eq!((said.code, said.codes()), (0, vec![]), "{said:?}");
            assert!(said.json()["omissions"].to_string().contains(protocol), "{said:?}");
            let said = verify(&export::written(&said).0, &[]);
            assert_eq!((said.code, said.codes()), (3, vec![]), "{said:?}");
            assert_eq!(open(&said).len(), usize::from(!bound), "{said:?}");
        }
    }
}

// ---- ordinary tools ----

/// Names with the digests of the contents, or the sentence that refuses.
fn read(bytes: &[u8]) -> Result<BTreeMap<String, Sha256>, String> {
    let mut tarball = Tarball::new(bytes, bytes.len() as u64, &Limits::default());
    let mut members = BTreeMap::new();
    loop {
        match tarball.next_member() {
            Ok(Some(member)) => assert_eq!(members.insert(member.name.to_string(), member.sha256), None),
            Ok(None) => return Ok(members),
            Err(Stop::Fault(fault)) => return Err(format!("{}: {}", fault.code, fault.message)),
            Err(Stop::Io(error)) => panic!("{error}"),
        }
    }
}

/// Names that fit a header, that need a prefix, that need more, and that aren't ASCII.
fn sources() -> BTreeMap<String, Vec<u8>> {
    let deep = |length: usize| format!("{}/{}/s.py", "d".repeat(length), "e".repeat(80));
    let names = ["a.py", "b/empty.py", "b/c/run.sh", "b/é.py"].map(str::to_owned).into_iter();
    let mut all: BTreeMap<String, Vec<u8>> = names
        .chain([deep(60), deep(155), deep(200), format!("{}.py", "n".repeat(150))])
        .map(|name| (name.clone(), name.repeat(100).into_bytes()))
        .collect();
    all.insert("b/empty.py".to_owned(), Vec::new());
    all
}

fn digests(sources: &BTreeMap<String, Vec<u8>>) -> BTreeMap<String, Sha256> {
    sources.iter().map(|(name, bytes)| (name.clone(), Sha256::of(bytes))).collect()
}

fn is_script(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension == "sh")
}

fn lay_out(root: &Path, sources: &BTreeMap<String, Vec<u8>>) {
    for (name, bytes) in sources {
        export::write_file(root, name, bytes, if is_script(name) { 0o755 } else { 0o644 });
    }
    let names: Vec<&str> = sources.keys().map(String::as_str).collect();
    std::fs::write(
        root.join("../list"),
        names.join(
            "
",
        ) + "
",
    )
    .unwrap();
}

fn is_there(tool: &str) -> bool {
    let found = Command::new(tool).arg("--version").output().is_ok_and(|output| output.status.success());
    if !found {
        skip::skipped(&format!("snapshots with {tool}, which is not there"));
    }
    found
}

/// Runs a script in the folder; its standard output.
fn shell(folder: &Path, script: &str) -> Vec<u8> {
    let output =
        Command::new("sh").args(["-ec", script]).current_dir(folder).env("LC_ALL", "C.UTF-8").output().unwrap();
    assert!(output.status.success(), "{script}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

const BY_PYTHON: &str = "
import sys, tarfile, gzip
names = open('../list', encoding='utf-8').read().split('\\n')[:-1]
with gzip.GzipFile(fileobj=sys.stdout.buffer, mode='wb', filename='') as z:
    with tarfile.open(fileobj=z, mode='w', format=getattr(tarfile, sys.argv[1])) as t:
        for n in names: t.add(n, recursive=False)
";

#[test]
fn tarballs_of_ordinary_tools_are_read() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    let all = sources();
    // What has no form for longer names leaves these out.
    let short: BTreeMap<_, _> =
        all.iter().filter(|(name, _)| name.len() < 150).map(|(n, b)| (n.clone(), b.clone())).collect();
    std::fs::write(folder.path().join("by.py"), BY_PYTHON).unwrap();
    for (tool, script, sources) in [
        ("tar", "tar --format=gnu -T ../list -cf - | gzip", &all),
        ("tar", "tar --format=posix -T ../list -czf -", &all),
        ("tar", "tar --format=ustar -T ../list -cf - | gzip -n", &short),
        ("bsdtar", "bsdtar --format=pax -T ../list -czf ../o; cat ../o", &all),
        ("bsdtar", "bsdtar --format=gnutar -T ../list -czf ../o; cat ../o", &all),
        ("bsdtar", "bsdtar --format=ustar -T ../list -czf ../o; cat ../o", &short),
        ("python3", "python3 ../by.py PAX_FORMAT", &all),
        ("python3", "python3 ../by.py GNU_FORMAT", &all),
        ("python3", "python3 ../by.py USTAR_FORMAT", &short),
    ] {
        if !is_there(tool) {
            continue;
        }
        lay_out(&root, sources);
        assert_eq!(read(&shell(&root, script)), Ok(digests(sources)), "{script}");
    }
    if is_there("tar") {
        lay_out(&root, &all);
        assert!(
            read(&shell(&root, "tar -czf - b"))
                .unwrap_err()
                .starts_with("snapshot-member: the member \"b/\" is a folder")
        );
        let linked = read(&shell(&root, "ln -s a.py link.py; tar -czf - link.py"));
        assert!(linked.unwrap_err().contains("is a symbolic link"));
        let hard = read(&shell(&root, "ln a.py hard.py; tar -czf - a.py hard.py"));
        assert!(hard.unwrap_err().contains("is a hard link"));
        assert!(read(&shell(&root, "tar -czf - ./a.py")).unwrap_err().contains("has a part \".\""));
        let sparse = "truncate -s 1M holes.py; tar --format=FORM --sparse -czf - holes.py";
        assert!(read(&shell(&root, &sparse.replace("FORM", "gnu"))).is_err());
        assert!(read(&shell(&root, &sparse.replace("FORM", "posix"))).is_err());
    }
}

#[test]
fn seeds_of_the_fuzzer_are_what_their_names_say() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds/snapshot_tar");
    for entry in std::fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let is_valid = entry.file_name().to_str().unwrap().starts_with("valid_");
        let read = read(&std::fs::read(entry.path()).unwrap());
        assert_eq!(read.is_ok(), is_valid, "{:?}: {read:?}", entry.file_name());
    }
}

#[test]
fn archives_of_git_are_read_where_they_hold_files_only() {
    if !is_there("git") {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("project");
    let flat: BTreeMap<_, _> = sources().into_iter().filter(|(name, _)| !name.contains('/')).collect();
    lay_out(&root, &flat);
    let archive = "export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_SYSTEM=/dev/null; rm -rf .git; git init -q; git add .; \
         git -c user.name=a -c user.email=a@b commit -qm a; git archive --format=tar.gz HEAD";
    assert_eq!(read(&shell(&root, archive)), Ok(digests(&flat)));
    lay_out(&root, &sources());
    assert!(read(&shell(&root, archive)).unwrap_err().contains("is a folder"));
}

#[test]
fn what_is_written_other_tools_read() {
    let folder = tempfile::tempdir().unwrap();
    let all = sources();
    let mode = |name: &str| if is_script(name) { Mode::Executable } else { Mode::Plain };
    let mut bytes = Vec::new();
    let open = |name: &exhibit::name::EntryName| Ok((mode(name.as_str()), all[name.as_str()].clone()));
    let sha256 = source_snapshot::write(&mut bytes, &digests(&all), open).unwrap();
    assert_eq!(sha256, Sha256::of(&bytes));
    assert_eq!(read(&bytes), Ok(digests(&all)));
    std::fs::write(folder.path().join("s.tar.gz"), &bytes).unwrap();
    for (tool, script) in [
        ("tar", "tar -xzf ../s.tar.gz"),
        ("bsdtar", "bsdtar -xf ../s.tar.gz"),
        ("python3", "python3 -c \"import tarfile; tarfile.open('../s.tar.gz', errorlevel=2).extractall('.')\""),
    ] {
        if !is_there(tool) {
            continue;
        }
        let out = folder.path().join(tool);
        std::fs::create_dir(&out).unwrap();
        shell(&out, script);
        let unpacked: BTreeMap<_, _> =
            Tree::read(&out).files.into_iter().map(|(name, (bytes, _))| (name, bytes)).collect();
        assert_eq!(unpacked, all, "{tool}");
        assert_eq!(shell(&out, "test -x b/c/run.sh && test ! -x a.py"), b"", "{tool}");
    }
}

#[test]
fn a_snapshot_that_is_written_binds_its_run() {
    use exhibit::run::{Request, SourceBinding, load};
    use exhibit::tree::Inventory;

    for kind in KINDS {
        let mut tree = release(kind);
        let contents: BTreeMap<String, Vec<u8>> =
            snapshot::sources(&mut tree).into_iter().map(|(name, _, bytes)| (name, bytes)).collect();
        let report = |tree: &Tree| {
            let folder = tempfile::tempdir().unwrap();
            tree.write(folder.path());
            let (inventory, _) = Inventory::open(folder.path(), &Limits::default(), &|_| ()).unwrap();
            let (derivatives, disclosed, told) = Default::default();
            let request = Request {
                run: &tree.run,
                spec: None,
                derivatives: &derivatives,
                disclosed: &disclosed,
                told: &told,
                is_living: false,
            };
            load(&inventory, &request, &Limits::default()).unwrap()
        };
        let before = report(&tree);
        assert!(matches!(before.binding, SourceBinding::Open(_)));
        assert_eq!(before.sources, digests(&contents));
        let mut bytes = Vec::new();
        let open = |name: &exhibit::name::EntryName| Ok((Mode::Plain, contents[name.as_str()].clone()));
        let sha256 = source_snapshot::write(&mut bytes, &before.sources, open).unwrap();
        let document = source_snapshot::Document::of(&before, sha256, None).unwrap();
        let stem = format!("evidence/source-snapshots/r1-{}", export::HEAD);
        tree.put(&format!("{stem}.tar.gz"), bytes);
        tree.put(&format!("{stem}.json"), document.to_bytes().unwrap());
        let after = report(&tree);
        assert!(after.findings.none_broken(), "{:?}", after.findings);
        assert_eq!(after.binding, SourceBinding::Snapshots(vec![format!("{stem}.json")]));
    }
}
