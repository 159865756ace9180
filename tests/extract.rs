//! What `exhibit extract` writes is exactly what was verified, with exact modes, all or nothing.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;

use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use export::{Export, Kind, Said, exhibit, release, say, verify};
use serde_json::json;

fn extract(zip: &Path, out: &Path, options: &[&str]) -> Said {
    say(exhibit(["extract", "--format", "json", "-o"]).arg(out).args(options).arg(zip))
}

/// A release's ZIP in a folder of its own.
fn packed(export: &Export) -> (tempfile::TempDir, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("study.zip");
    export.write_zip(&zip);
    (folder, zip)
}

fn names(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

#[test]
fn what_is_unpacked_is_what_was_packed() {
    for kind in [Kind::Own, Kind::Historical] {
        let mut tree = release(kind);
        tree.put("empty", "");
        tree.put("docs/日本/Café.md", "x\r\n".repeat(100_000));
        let export = Export::of(kind, tree);
        let (folder, zip) = packed(&export);
        let policy = folder.path().join("policy.json");
        std::fs::write(&policy, export.policy.to_string()).unwrap();
        let out = folder.path().join("new/out");
        let said = extract(&zip, &out, &["--policy", policy.to_str().unwrap()]);
        assert_eq!((said.code, said.err.as_str()), (0, ""), "{said:?}");
        let root = out.join(export.root());
        assert_eq!(said.json()["written"]["path"], root.to_str().unwrap());
        assert_eq!(names(&out), [export.root()], "nothing else is left");
        let whole = export.whole();
        assert_eq!(said.json()["written"]["files"], whole.files.len());
        for (name, (bytes, mode)) in &whole.files {
            let path = root.join(name);
            assert!(std::fs::read(&path).unwrap() == *bytes, "{name}");
            assert_eq!(path.metadata().unwrap().mode() & 0o7777, *mode, "{name}");
        }
        let options = ["--policy", policy.to_str().unwrap()];
        let (of_zip, of_folder) = (verify(&zip, &options), verify(&root, &options));
        assert_eq!((of_folder.code, of_folder.codes()), (of_zip.code, of_zip.codes()));
        assert_eq!((of_zip.code, of_zip.json()["tree"].clone()), (3, of_folder.json()["tree"].clone()));
        let same = say(exhibit(["diff"]).arg(&zip).arg(&root));
        assert!(same.code == 0 && same.out.contains(": same\n"), "{same:?}");
    }
}

#[test]
fn modes_are_exact_whatever_the_umask() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (folder, zip) = packed(&export);
    for umask in ["000", "022", "077", "777"] {
        let out = folder.path().join(umask);
        std::fs::create_dir(&out).unwrap();
        let script = "umask \"$1\"; exec \"$2\" extract \"$3\" -o \"$4\"";
        let binary = env!("CARGO_BIN_EXE_exhibit");
        let mut command = Command::new("sh");
        command.args(["-c", script, "sh", umask, binary]).arg(&zip).arg(&out);
        let said = say(&mut command);
        assert_eq!(said.code, 0, "{said:?}");
        let root = out.join(export.root());
        for entry in walkdir::WalkDir::new(&root) {
            let entry = entry.unwrap();
            let name = entry.path().strip_prefix(&root).unwrap().to_str().unwrap();
            let wanted = if entry.file_type().is_dir() || name == "tools/run.sh" { 0o755 } else { 0o644 };
            assert_eq!(entry.metadata().unwrap().mode() & 0o7777, wanted, "{umask} {name}");
        }
    }
}

#[test]
fn a_zip_that_does_not_hold_leaves_nothing() {
    let sound = Export::of(Kind::Own, release(Kind::Own));
    let mut other_file = sound.clone();
    other_file.tree.put("README.md", "made uP\n");
    let mut more = sound.clone();
    more.tree.put("more.txt", "more");
    let mut other_root = sound.clone();
    other_root.root = Some("made-up-000000000000".into());
    let mut other_mode = sound.clone();
    other_mode.tree.files.get_mut("README.md").unwrap().1 = 0o755;
    let mut stored = sound.clone();
    stored.method = zip::CompressionMethod::Stored;
    for (export, code) in [
        (&other_file, "file-changed"),
        (&more, "file-extra"),
        (&other_root, "tree-root"),
        (&other_mode, "tree-mode"),
        (&stored, "zip-not-canonical"),
    ] {
        let (folder, zip) = packed(export);
        let out = folder.path().join("a/b");
        let said = extract(&zip, &out, &[]);
        assert_eq!((said.code, said.codes()), (1, vec![code.to_owned()]), "{said:?}");
        assert_eq!((said.json()["outcome"].clone(), said.json()["written"].clone()), (json!("refused"), json!(null)));
        assert_eq!(names(folder.path()), ["study.zip"]);
    }
    let (folder, zip) = packed(&sound);
    let mut bytes = std::fs::read(&zip).unwrap();
    bytes.push(0);
    std::fs::write(&zip, bytes).unwrap();
    let said = extract(&zip, &folder.path().join("out"), &[]);
    assert_eq!((said.code, names(folder.path())), (1, vec!["study.zip".to_owned()]), "{said:?}");
}

#[test]
fn nothing_is_overwritten() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (folder, zip) = packed(&export);
    let out = folder.path().join("out");
    let root = out.join(export.root());
    for taken in ["folder", "file", "link", "dangling link"] {
        std::fs::create_dir_all(&out).unwrap();
        match taken {
            "folder" => std::fs::create_dir(&root).unwrap(),
            "file" => std::fs::write(&root, "mine").unwrap(),
            "link" => std::os::unix::fs::symlink(folder.path(), &root).unwrap(),
            _ => std::os::unix::fs::symlink("nowhere", &root).unwrap(),
        }
        let before = export::listing(folder.path());
        let said = extract(&zip, &out, &[]);
        assert!(said.error().contains("exists already"), "{taken}: {said:?}");
        assert_eq!(said.json()["error"]["kind"], "output_exists");
        assert_eq!(export::listing(folder.path()), before, "{taken}");
        std::fs::remove_dir_all(&out).unwrap();
    }
}

#[test]
fn what_cannot_be_unpacked_is_said_and_leaves_nothing() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (folder, zip) = packed(&export);
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("file"), "mine").unwrap();
    export.write_folder(&path("tree"));
    let before = export::listing(folder.path());
    let error = |zip: &Path, out: &str| extract(zip, &path(out), &[]).error();
    assert!(error(&zip, "file").contains("Not a directory"));
    assert!(error(&zip, "file/below").contains("Not a directory"));
    assert!(error(&path("tree"), "new").contains("unpacked already"));
    assert!(error(&path("no-such.zip"), "new").contains("check the path"));
    assert!(error(&path("file"), "new").contains("is not a ZIP but text"));
    // An output whose own name fits into a path, and with the tree's names below it no more.
    let deep = "d/".repeat((4040 - folder.path().as_os_str().len()) / 2) + "o";
    assert!(error(&zip, &deep).contains("cannot create"));
    // The folder itself has another time: something was made in it and removed again.
    assert_eq!(export::listing(folder.path())[1..], before[1..]);
}

#[test]
fn a_disk_that_refuses_leaves_nothing() {
    let mut tree = release(Kind::Own);
    tree.put("large", vec![7; 4 << 20]);
    let export = Export::of(Kind::Own, tree);
    let (folder, zip) = packed(&export);
    let before = names(folder.path());
    // No file may get larger than a megabyte; the signal that comes with it is ignored, so that writing fails.
    let script = "trap '' XFSZ; ulimit -f 1024; exec \"$1\" extract \"$2\" -o \"$3\" --format json";
    let mut command = Command::new("bash");
    command.args(["-c", script, "sh", env!("CARGO_BIN_EXE_exhibit")]).arg(&zip).arg(folder.path().join("new/out"));
    let said = say(&mut command);
    assert!(said.error().contains("cannot write"), "{said:?}");
    assert_eq!(names(folder.path()), before);
}

#[test]
fn several_at_once_leave_one_whole_tree() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (folder, zip) = packed(&export);
    let out = folder.path().join("out");
    let start = || exhibit(["extract", "-o"]).arg(&out).arg(&zip).stdout(Stdio::null()).spawn().unwrap();
    let running: Vec<_> = (0..6).map(|_| start()).collect();
    let codes: Vec<_> = running.into_iter().map(|mut child| child.wait().unwrap().code().unwrap()).collect();
    assert_eq!(codes.iter().filter(|code| **code == 0).count(), 1, "{codes:?}");
    assert_eq!(names(&out), [export.root()]);
    assert_eq!(verify(&out.join(export.root()), &["--inventory-only"]).code, 0);
}

#[test]
fn a_folder_of_others_stays_theirs() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let (folder, zip) = packed(&export);
    let out = folder.path().join("out");
    std::fs::create_dir(&out).unwrap();
    std::fs::write(out.join("mine"), "mine").unwrap();
    std::fs::set_permissions(&out, std::fs::Permissions::from_mode(0o711)).unwrap();
    assert_eq!(extract(&zip, &out, &[]).code, 0);
    assert_eq!(names(&out), [export.root(), "mine".to_owned()]);
    assert_eq!(out.metadata().unwrap().mode() & 0o777, 0o711);
}
