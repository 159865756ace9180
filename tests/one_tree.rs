//! A tree is the same tree packed and extracted: both give the same report, whatever was done to it, and what other
//! tools unpack verifies like the ZIP.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;
mod skip;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::digest::{GitBlob, Sha256};
use exhibit::form::Mode;
use exhibit::manifest::{Document, File, Kind, Own, Role, Source, Version1};
use exhibit::name::EntryName;
use exhibit::zip::Writer;
use proptest::prelude::*;
use proptest::sample::Index;
use serde_json::Value;

use export::{MANIFEST, Tree, attempt, freeze, own_run, verify, written};

type Files = BTreeMap<String, (Vec<u8>, u32)>;

/// What is done to a tree after its manifest was made.
#[derive(Debug, Clone)]
enum Change {
    None,
    Add(String),
    AddBesideManifest,
    Remove(Index),
    Rename(Index, String),
    Alter(Index, Index),
    Grow(Index),
    Mode(Index),
    MaskManifest,
    CutManifest(Index),
    AlterManifest(Index),
    RemoveManifest,
    EmptyFolder(String),
}

fn part() -> impl Strategy<Value = String> {
    prop_oneof!["[a-d]{1,2}", "[a-b][0-9]\\.(txt|log)", Just("é".to_owned()), Just("x y".to_owned())]
}

fn path() -> impl Strategy<Value = String> {
    prop::collection::vec(part(), 1..4).prop_map(|parts| parts.join("/"))
}

/// Files of which none is another's folder.
fn files() -> impl Strategy<Value = Files> {
    let content = prop::collection::vec(any::<u8>(), 0..200);
    let mode = prop_oneof![4 => Just(0o644_u32), 1 => Just(0o755)];
    prop::collection::btree_map(path(), (content, mode), 1..8).prop_map(|mut files| {
        let names: Vec<String> = files.keys().cloned().collect();
        files.retain(|name, _| !names.iter().any(|other| other.starts_with(&format!("{name}/"))));
        files
    })
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        Just(Change::None),
        path().prop_map(Change::Add),
        Just(Change::AddBesideManifest),
        any::<Index>().prop_map(Change::Remove),
        (any::<Index>(), path()).prop_map(|(at, path)| Change::Rename(at, path)),
        any::<(Index, Index)>().prop_map(|(at, byte)| Change::Alter(at, byte)),
        any::<Index>().prop_map(Change::Grow),
        any::<Index>().prop_map(Change::Mode),
        Just(Change::MaskManifest),
        any::<Index>().prop_map(Change::CutManifest),
        any::<Index>().prop_map(Change::AlterManifest),
        Just(Change::RemoveManifest),
        path().prop_map(Change::EmptyFolder),
    ]
}

/// A manifest that the library makes of the files.
fn manifest(files: &Files) -> Own {
    let files = files.iter().map(|(path, (bytes, mode))| File {
        path: EntryName::new(path).unwrap(),
        size: bytes.len() as u64,
        mode: if *mode == 0o755 { Mode::Executable } else { Mode::Plain },
        sha256: Sha256::of(bytes),
        git_blob: GitBlob::of(bytes),
        role: Role::Other,
        derivative: None,
    });
    Own::new(Document {
        format: Version1,
        kind: Kind::Release,
        project: "made-up".parse().unwrap(),
        source: Some(Source { commit: export::COMMIT.parse().unwrap(), tree: "d".repeat(40).parse().unwrap() }),
        created: None,
        files: files.collect(),
        omissions: Vec::new(),
        runs: Vec::new(),
    })
    .unwrap()
}

/// Whether a file or folder may be made at the path.
fn is_free(files: &Files, path: &str) -> bool {
    let beside =
        |name: &String| name == path || name.starts_with(&format!("{path}/")) || path.starts_with(&format!("{name}/"));
    !files.keys().any(beside)
}

/// Does the change to the files; gives the empty folder that it asks for, if any.
fn apply(files: &mut Files, change: &Change) -> Option<String> {
    let nth = |files: &Files, at: &Index| {
        let names: Vec<&String> = files.keys().filter(|name| *name != MANIFEST).collect();
        (*at.get(&names)).clone()
    };
    match change {
        Change::Add(path) if is_free(files, path) => drop(files.insert(path.clone(), (b"more".to_vec(), 0o644))),
        Change::AddBesideManifest => drop(files.insert("EXPORT-MANIFEST.json.bak".into(), (b"{}".to_vec(), 0o644))),
        Change::Remove(at) => drop(files.remove(&nth(files, at))),
        Change::Rename(at, path) if is_free(files, path) => {
            let file = files.remove(&nth(files, at)).unwrap();
            files.insert(path.clone(), file);
        }
        Change::Alter(at, byte) => {
            let (bytes, _) = files.get_mut(&nth(files, at)).unwrap();
            if !bytes.is_empty() {
                let at = byte.index(bytes.len());
                bytes[at] ^= 1;
            }
        }
        Change::Grow(at) => files.get_mut(&nth(files, at)).unwrap().0.push(0),
        Change::Mode(at) => files.get_mut(&nth(files, at)).unwrap().1 ^= 0o111,
        Change::MaskManifest => files.get_mut(MANIFEST).unwrap().1 = 0o600,
        Change::CutManifest(at) => {
            let (bytes, _) = files.get_mut(MANIFEST).unwrap();
            bytes.truncate(at.index(bytes.len()));
        }
        Change::AlterManifest(at) => {
            let (bytes, _) = files.get_mut(MANIFEST).unwrap();
            let at = at.index(bytes.len());
            bytes[at] ^= 1;
        }
        Change::RemoveManifest => drop(files.remove(MANIFEST)),
        Change::EmptyFolder(path) if is_free(files, path) => return Some(path.clone()),
        Change::None | Change::Add(_) | Change::Rename(..) | Change::EmptyFolder(_) => {}
    }
    None
}

fn pack(files: &Files, root: &str, path: &Path) {
    let mut writer = Writer::new(std::fs::File::create(path).unwrap());
    for (name, (bytes, mode)) in files {
        let name = EntryName::new(&format!("{root}/{name}")).unwrap();
        writer.file(&name, *mode, bytes.len() as u64, &mut bytes.as_slice()).unwrap();
    }
    writer.finish().unwrap();
}

/// A report without what must differ, for a tree at `path`.
fn comparable(mut report: Value, path: &Path) -> Value {
    let report = report.as_object_mut().unwrap();
    report.remove("file");
    report.remove("packed");
    // An altered manifest that still is one has another id, which only a ZIP's root folder can contradict.
    let text = serde_json::to_string(report).unwrap().replace(path.to_str().unwrap(), "PATH");
    serde_json::from_str(&text).unwrap()
}

/// The report without findings of these codes.
fn without(mut report: Value, codes: &[&str]) -> Value {
    let findings = report["findings"].as_array_mut().unwrap();
    findings.retain(|finding| !codes.contains(&finding["code"].as_str().unwrap()));
    if findings.is_empty() && report["verdict"] == "fail" {
        report["verdict"] = "undecided".into();
    }
    report
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn packed_and_extracted_trees_give_the_same_report(files in files(), change in change()) {
        let mut files = files;
        let own = manifest(&files);
        let root = own.root_name();
        files.insert(MANIFEST.to_owned(), (own.to_bytes().unwrap(), 0o644));
        let empty = apply(&mut files, &change);

        let folder = tempfile::tempdir().unwrap();
        let (extracted, packed) = (folder.path().join("tree"), folder.path().join("tree.zip"));
        Tree { files: files.clone(), ..Tree::default() }.write(&extracted);
        if let Some(empty) = &empty {
            export::make_folder(&extracted.join(empty));
        }
        pack(&files, &root, &packed);
        let (of_folder, of_zip) = (verify(&extracted, &[]), verify(&packed, &[]));

        if let Some(empty) = &empty {
            // What packing can't represent.
            let found = of_folder.json()["findings"].as_array().unwrap().clone();
            prop_assert!(!found.is_empty() && found.iter().all(|finding| finding["code"] == "tree-empty-folder"));
            prop_assert!(found.iter().any(|finding| finding["place"]["entry"] == empty.as_str()));
            prop_assert_eq!((of_folder.code, of_zip.code), (1, 3));
        } else if matches!(change, Change::AlterManifest(_)) {
            prop_assert!(of_folder.code != 0 && of_zip.code != 0);
        } else {
            prop_assert_eq!(of_folder.code, of_zip.code);
        }
        prop_assert_eq!(
            without(comparable(of_folder.json(), &extracted), &["tree-empty-folder", "tree-root"]),
            without(comparable(of_zip.json(), &packed), &["tree-empty-folder", "tree-root"])
        );
        let is_sound = matches!(change, Change::None);
        prop_assert!(!is_sound || of_zip.code == 3, "{}", of_zip.out);
    }
}

/// An archive of each kind of run.
fn archives() -> Vec<(tempfile::TempDir, PathBuf)> {
    let freeze = |tree: Tree| {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("project");
        tree.write(&root);
        let said = freeze(&root.join(&tree.run), &folder.path().join("out"), &[]);
        let archive = written(&said).0;
        (folder, archive)
    };
    let mut with_program = own_run();
    let path = with_program.path("cases/03/server.transcript.jsonl");
    with_program.files.get_mut(&path).unwrap().1 = 0o755;
    vec![freeze(with_program), freeze(attempt())]
}

/// Unpacks with a shell command that gets the archive as `$1` and the destination as `$2`; none where the tool isn't there.
fn unpack(archive: &Path, tool: &str, script: &str) -> Option<(tempfile::TempDir, PathBuf)> {
    let known = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap().status.success();
    if !known {
        skip::skipped(&format!("unpacking with {tool}: it is not installed"));
        return None;
    }
    let folder = tempfile::tempdir().unwrap();
    let mut command = Command::new("sh");
    command.args(["-c", script, "sh"]).arg(archive).arg(folder.path());
    let output = command.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let root = folder.path().join(archive.file_stem().unwrap());
    Some((folder, root))
}

#[test]
fn an_archive_verifies_packed_and_as_other_tools_unpack_it() {
    for (_folder, archive) in archives() {
        let packed = verify(&archive, &[]);
        assert_eq!((packed.code, packed.codes()), (3, vec![]), "{packed:?}");
        for (tool, script) in
            [("unzip", "umask 022; unzip -q \"$1\" -d \"$2\""), ("bsdtar", "umask 022; bsdtar -x -f \"$1\" -C \"$2\"")]
        {
            let Some((_unpacked, root)) = unpack(&archive, tool, script) else { continue };
            let said = verify(&root, &[]);
            assert_eq!((said.code, said.codes()), (3, vec![]), "{tool}: {said:?}");
            assert_eq!(comparable(said.json(), &root), comparable(packed.json(), &archive), "{tool}");
        }
    }
}

#[test]
fn a_tool_that_drops_modes_is_told_from_a_changed_release() {
    for (index, (_folder, archive)) in archives().into_iter().enumerate() {
        let script = "umask 077; python3 -m zipfile -e \"$1\" \"$2\"";
        let Some((_unpacked, root)) = unpack(&archive, "python3", script) else { continue };
        let said = verify(&root, &[]);
        assert_eq!(said.code, 1, "{said:?}");
        assert!(said.codes().iter().all(|code| code == "tree-mode"), "{said:?}");
        let text = export::say(export::exhibit(["verify-export"]).arg(&root));
        let advice = "Where an unpacking tool dropped or masked the modes, verify the ZIP itself, or unpack it again with `exhibit extract`, which sets them exactly.";
        assert_eq!(text.out.matches(advice).count(), 1, "many files, one thing to do: {text:?}");

        // Without a mask only the executable file differs.
        let script = "umask 022; python3 -m zipfile -e \"$1\" \"$2\"";
        let Some((_unpacked, root)) = unpack(&archive, "python3", script) else { continue };
        let said = verify(&root, &[]);
        let executables = if index == 0 { vec!["tree-mode".to_owned()] } else { vec![] };
        assert_eq!(said.codes(), executables, "{said:?}");
    }
}
