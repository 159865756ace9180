//! What `exhibit show` writes is the listed content, byte for byte, or nothing.
#![expect(clippy::disallowed_methods, reason = "the tests start the built program")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;

use std::io::Read as _;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use export::{Export, Kind, MANIFEST, Tree, exhibit, release};

fn show(tree: &Path, name: &str) -> Output {
    exhibit(["show"]).arg(tree).arg(name).output().unwrap()
}

/// The exit code, and what was complained of; nothing was written.
fn refused(tree: &Path, name: &str) -> (i32, String) {
    let output = show(tree, name);
    assert!(output.stdout.is_empty(), "{name}");
    (output.status.code().unwrap(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn every_file_comes_out_as_it_is_listed_from_either_form() {
    for kind in [Kind::Own, Kind::Historical] {
        let mut tree = release(kind);
        tree.put("empty", "");
        tree.put("bytes", (0..=255).cycle().take(300_000).collect::<Vec<u8>>());
        tree.put("controls", "\u{1b}[2J\u{202e}\r\n\0");
        let mut export = Export::of(kind, tree);
        if kind == Kind::Historical {
            // Without a policy, no redaction is approved.
            export.tree.remove(export::REDACTED);
            export = Export::of(kind, export.tree);
        }
        let folder = tempfile::tempdir().unwrap();
        let (packed, extracted) = (folder.path().join("a.zip"), folder.path().join("a"));
        export.write_zip(&packed);
        export.write_folder(&extracted);
        for (name, (bytes, _)) in &export.whole().files {
            for form in [&packed, &extracted] {
                let output = show(form, name);
                let complaint = String::from_utf8_lossy(&output.stderr);
                assert_eq!((output.status.code(), &*complaint), (Some(0), ""), "{name}");
                assert!(output.stdout == *bytes, "{name}");
            }
        }
    }
}

#[test]
fn a_file_that_is_not_the_listed_one_is_not_shown() {
    let sound = Export::of(Kind::Own, release(Kind::Own));
    let mut export = sound.clone();
    export.tree.put("README.md", "made uP\n");
    export.tree.put("more", "more");
    export.tree.remove("tools/run.sh");
    let folder = tempfile::tempdir().unwrap();
    let (packed, extracted) = (folder.path().join("a.zip"), folder.path().join("a"));
    export.write_zip(&packed);
    export.write_folder(&extracted);
    for form in [&packed, &extracted] {
        for (name, code) in [("README.md", "file-changed"), ("more", "file-extra"), ("tools/run.sh", "file-missing")] {
            let (exit, said) = refused(form, name);
            assert!(exit == 1 && said.starts_with(&format!("finding {code}: ")), "{name}: {said}");
            assert_eq!(said.matches("finding ").count(), 1, "{said}");
        }
        // What else is wrong with the tree doesn't matter to a file that is the listed one.
        let output = show(form, "matrices/small/PROTOCOL.md");
        assert_eq!((output.status.code(), output.stdout.as_slice()), (Some(0), &b"what is tested\n"[..]));
    }
}

#[test]
fn a_broken_manifest_vouches_for_nothing() {
    let mut export = Export::of(Kind::Own, release(Kind::Own));
    export.manifest_text = Some(export.manifest.to_string() + "{}");
    let folder = tempfile::tempdir().unwrap();
    export.write_folder(folder.path());
    for name in ["README.md", MANIFEST] {
        let (code, said) = refused(folder.path(), name);
        assert!(code == 1 && said.starts_with("finding json-syntax"), "{said}");
    }
    std::fs::write(folder.path().join(MANIFEST), "{\"format\":\"exhibit-manifest/9\"}").unwrap();
    let (code, said) = refused(folder.path(), "README.md");
    assert!(code == 2 && said.contains("exhibit-manifest/9"), "{said}");
}

#[test]
fn a_tree_without_a_manifest_is_shown_if_its_packing_is_sound() {
    let folder = tempfile::tempdir().unwrap();
    let mut tree = Tree::default();
    tree.put("a/b", "x");
    tree.write(&folder.path().join("tree"));
    let output = show(&folder.path().join("tree"), "a/b");
    assert_eq!((output.status.code(), output.stdout.as_slice(), output.stderr.len()), (Some(0), &b"x"[..], 0));

    let export = Export::of(Kind::Own, release(Kind::Own));
    let zip = folder.path().join("a.zip");
    export.write_zip(&zip);
    let mut bytes = std::fs::read(&zip).unwrap();
    bytes.push(0);
    std::fs::write(&zip, bytes).unwrap();
    let (code, said) = refused(&zip, "README.md");
    assert!(code == 1 && said.starts_with("finding zip-trailing-bytes"), "{said}");
}

#[test]
fn nothing_behind_a_link_is_shown() {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("tree");
    let mut tree = Tree::default();
    tree.put("a/b", "x");
    tree.write(&root);
    std::fs::write(folder.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("..", root.join("up")).unwrap();
    std::os::unix::fs::symlink("a/b", root.join("also")).unwrap();
    let made = Command::new("mkfifo").arg(root.join("pipe")).status().unwrap();
    assert!(made.success());
    for (name, code) in [("up/secret", "tree-link"), ("also", "tree-link"), ("pipe", "tree-special-file")] {
        let (exit, said) = refused(&root, name);
        assert!(exit == 1 && said.starts_with(&format!("finding {code}: ")), "{name}: {said}");
    }
    for name in ["../secret", "/etc/passwd", "a/../a/b", "a/b/", "a/b/c", "", ".", "no\nsuch"] {
        let (exit, said) = refused(&root, name);
        assert!(exit == 2 && said.lines().count() == 1, "{name}: {said}");
    }
    let linked = folder.path().join("linked");
    std::os::unix::fs::symlink(&root, &linked).unwrap();
    assert_eq!(show(&linked, "a/b").stdout, b"x", "a link that the user named is followed");
}

#[test]
fn a_closed_pipe_is_no_success() {
    let mut tree = Tree::default();
    tree.put("large", vec![b'a'; 8 << 20]);
    let folder = tempfile::tempdir().unwrap();
    tree.write(folder.path());
    let mut child = exhibit(["show"])
        .arg(folder.path())
        .arg("large")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut first = [0; 4];
    child.stdout.take().unwrap().read_exact(&mut first).unwrap();
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(2), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn only_the_file_and_the_manifest_are_read() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let folder = tempfile::tempdir().unwrap();
    export.write_folder(folder.path());
    // What is not asked for may be anything, unreadable too.
    let made = Command::new("mkfifo").arg(folder.path().join("pipe")).status().unwrap();
    assert!(made.success());
    std::fs::create_dir(folder.path().join("empty")).unwrap();
    assert_eq!(show(folder.path(), "README.md").stdout, b"made up\n");

    // A content that is not asked for may be damaged; one that is asked for may not.
    let zip = folder.path().join("a.zip");
    export.write_zip(&zip);
    let mut bytes = std::fs::read(&zip).unwrap();
    let name = format!("{}/README.md", export.root());
    let at = bytes.windows(name.len()).position(|window| window == name.as_bytes()).unwrap() + name.len();
    bytes[at] ^= 0xFF;
    std::fs::write(&zip, bytes).unwrap();
    assert_eq!(refused(&zip, "README.md").0, 1);
    assert_eq!(show(&zip, "matrices/small/PROTOCOL.md").stdout, b"what is tested\n");
}
