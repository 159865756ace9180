//! Exports made repositories with the built program: what a release is, what is refused, and that nothing is left
//! behind. Needs the feature `export`.
#![cfg(feature = "export")]
#![expect(clippy::disallowed_methods, reason = "the tests start the built program")]
#![expect(clippy::expect_used, reason = "a test that can't make its input fails")]

mod commit;
mod export;
mod skip;

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use commit::{RULES, Repository, export_from, git, has_git, project, rules};
use export::write_file;
use serde_json::{Value, json};

fn with(change: impl FnOnce(&mut Value)) -> Value {
    let mut rules = rules();
    change(&mut rules);
    rules
}

/// The exit code and the report of `verify-export`.
fn verify(path: &Path, options: &[&str]) -> (i32, Value) {
    let output = Command::new(env!("CARGO_BIN_EXE_exhibit"))
        .arg("verify-export")
        .arg(path)
        .args(["--format", "json"])
        .args(options)
        .output()
        .expect("the program starts");
    let report = serde_json::from_slice(&output.stdout).expect("a report is JSON");
    (output.status.code().expect("it ends by itself"), report)
}

/// The files of a release below its root folder, with their modes.
fn unpacked(release: &Path) -> BTreeMap<String, (Vec<u8>, u32)> {
    let file = std::fs::File::open(release).expect("it can be opened");
    let mut archive = zip::ZipArchive::new(file).expect("it is a ZIP");
    let mut files = BTreeMap::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("it is there");
        let name = entry.name().expect("it is UTF-8").into_owned();
        let mode = entry.unix_mode().expect("it has a mode") & 0o777;
        let mut bytes = Vec::new();
        std::io::copy(&mut entry, &mut bytes).expect("it can be read");
        files.insert(name.split_once('/').expect("it has a root").1.to_owned(), (bytes, mode));
    }
    files
}

fn content(release: &Path, path: &str) -> Vec<u8> {
    unpacked(release).remove(path).expect("it is in the release").0
}

/// The manifest in a release.
fn manifest(release: &Path) -> Value {
    serde_json::from_slice(&content(release, "EXPORT-MANIFEST.json")).expect("it is JSON")
}

#[test]
fn a_clean_commit_becomes_a_release_that_verifies() {
    if !has_git() {
        return;
    }
    let repository = Repository::of(&project(&rules()));
    repository.put("notes-not-tracked.txt", "x");
    let exported = repository.export();
    let release = exported.release();
    let receipt = release.with_extension("receipt.json");
    let receipt = receipt.to_str().expect("it is UTF-8");
    let (code, report) = verify(&release, &["--inventory-only", "--receipt", receipt]);
    assert_eq!(code, 0, "{report}");
    assert_eq!(verify(&release, &[]).0, 3);
    let manifest = manifest(&release);
    assert_eq!(manifest["kind"], "release");
    assert_eq!(manifest["created"], "2026-09-21T14:13:20Z");
    assert_eq!(manifest["source"]["commit"].as_str(), Some(repository.git(&["rev-parse", "HEAD"]).trim()));
    assert_eq!(manifest["source"]["tree"].as_str(), Some(repository.git(&["rev-parse", "HEAD^{tree}"]).trim()));
    assert_eq!(manifest["runs"][0]["path"], "matrices/small/runs/r1");
    let listed = manifest["files"].as_array().expect("it lists files").len();
    assert_eq!(listed, repository.git(&["ls-files"]).lines().count());
    let again = repository.export();
    assert!((again.code, again.report["error"]["kind"].as_str()) == (2, Some("output_exists")), "{}", again.report);
    assert_eq!(again.left.len(), 2);
}

#[test]
fn the_same_commit_gives_the_same_bytes_elsewhere() {
    if !has_git() {
        return;
    }
    let repository = Repository::of(&project(&rules()));
    let here = std::fs::read(repository.export().release()).expect("it can be read");
    let elsewhere = repository.beside("another place/with a longer path");
    std::fs::create_dir_all(&elsewhere).expect("it can be made");
    let clone = elsewhere.join("clone");
    git(&elsewhere, &["clone", "--quiet", repository.root().to_str().expect("it is UTF-8"), "clone"]);
    git(&clone, &["repack", "--quiet", "-a", "-d"]);
    git(&clone, &["checkout", "--quiet", "--detach"]);
    let out = elsewhere.join("out");
    let script = "umask \"$1\"; shift; exec \"$@\"";
    for (n, (umask, zone, locale)) in
        [("000", "Pacific/Kiritimati", "C"), ("077", "America/St_Johns", "tr_TR.UTF-8")].into_iter().enumerate()
    {
        let out = out.join(n.to_string());
        let output = Command::new("sh")
            .args(["-c", script, "sh", umask, env!("CARGO_BIN_EXE_exhibit"), "export"])
            .arg(&out)
            .args(["--format", "json"])
            .current_dir(&clone)
            .env("TZ", zone)
            .env("LC_ALL", locale)
            .env("LANG", locale)
            .env("SOURCE_DATE_EPOCH", "1")
            .env("GIT_DIR", "/nowhere")
            .env("GIT_INDEX_FILE", "/nowhere")
            .output()
            .expect("sh starts");
        let there = commit::read(&output, &out).release();
        assert!(here == std::fs::read(&there).expect("it can be read"), "{umask} {zone} {locale}");
        let mode = there.metadata().expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o644 & !u32::from_str_radix(umask, 8).expect("it is octal"));
    }
}

#[test]
fn a_working_tree_that_is_not_the_commit_is_refused() {
    if !has_git() {
        return;
    }
    let changed = |change: fn(&Repository)| {
        let repository = Repository::of(&project(&rules()));
        change(&repository);
        repository.export().refused()
    };
    let readme = ["export-dirty README.md"];
    assert_eq!(changed(|r| r.put("README.md", "made uq\n")), readme);
    assert_eq!(changed(|r| r.put("README.md", "made up\r\n")), readme);
    assert_eq!(changed(|r| std::fs::remove_file(r.root().join("README.md")).expect("it is there")), readme);
    assert_eq!(
        changed(|r| {
            std::fs::set_permissions(r.root().join("README.md"), std::fs::Permissions::from_mode(0o755))
                .expect("it is there");
        }),
        readme
    );
    assert_eq!(
        changed(|r| {
            r.put("README.md", "made uq\n");
            r.git(&["add", "README.md"]);
            r.put("README.md", "made up\n");
        }),
        readme
    );
    assert_eq!(changed(|r| drop(r.git(&["rm", "--quiet", "--cached", "README.md"]))), readme);
    assert_eq!(
        changed(|r| {
            r.put("new.txt", "new\n");
            r.git(&["add", "new.txt"]);
        }),
        ["export-dirty new.txt"]
    );
    assert_eq!(
        changed(|r| {
            let path = r.root().join("README.md");
            std::fs::rename(&path, r.beside("moved")).expect("it can be moved");
            std::os::unix::fs::symlink(r.beside("moved"), path).expect("it can be linked");
        }),
        readme
    );
    // What git is told to pass over is read all the same.
    assert_eq!(
        changed(|r| {
            r.git(&["update-index", "--assume-unchanged", "README.md"]);
            r.put("README.md", "made uq\n");
        }),
        readme
    );
    // A folder that is a link now.
    assert_eq!(
        changed(|r| {
            std::fs::rename(r.root().join("tools"), r.beside("tools")).expect("it can be moved");
            std::os::unix::fs::symlink(r.beside("tools"), r.root().join("tools")).expect("it can be linked");
        }),
        ["export-dirty tools/run.sh"]
    );
}

#[test]
fn line_ends_and_pointers_are_called_by_their_names() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    tree.put(".gitattributes", "*.txt text eol=crlf\n");
    tree.put("a.txt", "one\ntwo\n");
    let repository = Repository::of(&tree);
    std::fs::remove_file(repository.root().join("a.txt")).expect("it is there");
    repository.git(&["checkout", "--", "a.txt"]);
    assert_eq!(std::fs::read(repository.root().join("a.txt")).expect("it is there"), b"one\r\ntwo\r\n");
    let exported = repository.export();
    assert_eq!(exported.refused(), ["export-dirty a.txt"]);
    let message = exported.report["findings"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("line ends"), "{message}");

    let mut tree = project(&rules());
    tree.put("big.bin", "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 3\n");
    let repository = Repository::of(&tree);
    repository.put("big.bin", "big");
    let exported = repository.export();
    assert_eq!(exported.refused(), ["export-dirty big.bin"]);
    let message = exported.report["findings"][0]["message"].as_str().unwrap_or_default().to_owned();
    assert!(message.contains("Git LFS"), "{message}");
}

#[test]
fn a_filter_is_not_run() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    tree.put(".gitattributes", "*.txt filter=touch\n");
    tree.put("a.txt", "one\n");
    let repository = Repository::of(&tree);
    let ran = repository.beside("ran");
    let command = format!("touch {}; cat", ran.to_str().expect("it is UTF-8"));
    for name in ["filter.touch.clean", "filter.touch.smudge", "core.fsmonitor", "core.sshCommand"] {
        repository.git(&["config", name, &command]);
    }
    for hook in ["pre-commit", "post-checkout", "post-index-change", "reference-transaction"] {
        let path = repository.root().join(".git/hooks").join(hook);
        std::fs::create_dir_all(path.parent().expect("it has one")).expect("it can be made");
        std::fs::write(&path, format!("#!/bin/sh\n{command}\n")).expect("it can be written");
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).expect("it can be set");
    }
    repository.export().release();
    assert!(!ran.exists(), "a command of the repository's configuration was run");
}

#[test]
fn links_submodules_and_names_are_refused_unless_they_are_omitted() {
    if !has_git() {
        return;
    }
    let omitted = |rules: Value| {
        let repository = Repository::of(&project(&rules));
        std::os::unix::fs::symlink("README.md", repository.root().join("link")).expect("it can be linked");
        let inner = repository.root().join("inner");
        std::fs::create_dir(&inner).expect("it can be made");
        git(&inner, &["init", "--quiet", "."]);
        git(&inner, &["commit", "--quiet", "--allow-empty", "--message", "inner"]);
        for name in ["sub/.env", "server.pem", "node_modules/a/index.js", "src/__pycache__/a.pyc"] {
            repository.put(name, "x");
        }
        repository.commit("more");
        repository.export()
    };
    assert_eq!(
        omitted(rules()).refused(),
        [
            "export-submodule inner",
            "export-link link",
            "export-name node_modules/a/index.js",
            "export-name server.pem",
            "export-name src/__pycache__/a.pyc",
            "export-name sub/.env",
        ]
    );
    let reason = "not for readers";
    let files = ["link", "inner", "sub/*", "*.pem", "**/node_modules/**", "**/*.pyc"];
    let omissions: Vec<Value> = files.iter().map(|files| json!({"files": files, "reason": reason})).collect();
    let exported = omitted(with(|rules| rules["omissions"] = json!(omissions)));
    let release = manifest(&exported.release());
    let left_out: Vec<_> =
        release["omissions"].as_array().expect("it is a list").iter().map(|o| o["path"].clone()).collect();
    assert_eq!(
        left_out,
        ["inner", "link", "node_modules/a/index.js", "server.pem", "src/__pycache__/a.pyc", "sub/.env"]
    );
    assert!(release["omissions"].as_array().expect("it is a list").iter().all(|o| o["reason"] == reason));
}

#[test]
fn an_allowed_name_is_exported_and_an_idle_rule_is_told() {
    if !has_git() {
        return;
    }
    let allowed = json!([{"files": "tests/cert.pem", "rule": "key-file", "reason": "a certificate, made for tests"}]);
    let mut tree = project(&with(|rules| rules["allowed"] = allowed.clone()));
    tree.put("tests/cert.pem", "-----BEGIN CERTIFICATE-----\n");
    Repository::of(&tree).export().release();
    let idle = with(|rules| {
        rules["allowed"] = allowed.clone();
        rules["omissions"] = json!([
            {"files": "nothing/**", "reason": "r"},
            {"files": "release/*.zip", "reason": "the release itself", "optional": true},
        ]);
        rules["redactions"] = json!([
            {"label": "home", "pattern": "/home/[a-z]+", "replacement": "<HOME>", "files": ["*.log"], "reason": "r"},
        ]);
    });
    let exported = Repository::of(&project(&idle)).export();
    let mut found = exported.refused();
    found.dedup();
    assert_eq!(found, ["export-redaction release/export.json", "export-omission release/export.json"]);
    assert_eq!(exported.report["findings"].as_array().expect("it is a list").len(), 3);
}

fn home() -> Value {
    json!([{
        "label": "home", "pattern": "/home/(?P<private>[a-z]+)", "replacement": "<HOME>", "files": ["notes/*.log"],
        "reason": "names a person", "matched_prefix": "/home/",
    }])
}

#[test]
fn a_redaction_is_applied_and_disclosed() {
    if !has_git() {
        return;
    }
    let mut tree = project(&with(|rules| rules["redactions"] = home()));
    let (private, public) = ("in /home/somebody/a\nand /home/somebody/b\n", "in <HOME>/a\nand <HOME>/b\n");
    tree.put("notes/run.log", private);
    tree.put("notes/other.log", "nothing\n");
    let exported = Repository::of(&tree).export();
    let release = exported.release();
    assert_eq!(content(&release, "notes/run.log"), public.as_bytes());
    let manifest = manifest(&release);
    let files = manifest["files"].as_array().expect("it is a list");
    let derivative =
        |path: &str| files.iter().find(|file| file["path"] == path).expect("it is listed")["derivative"].clone();
    assert_eq!(
        derivative("notes/run.log"),
        json!({
            "rule": "home", "matched_prefix": "/home/", "occurrences": 2,
            "private_sha256": exhibit::digest::Sha256::of(private.as_bytes()),
            "private_git_blob": exhibit::digest::GitBlob::of(private.as_bytes()),
            "public_sha256": exhibit::digest::Sha256::of(public.as_bytes()),
        })
    );
    assert_eq!(derivative("notes/other.log"), Value::Null);
    assert_eq!(verify(&release, &["--inventory-only"]).0, 0);
}

#[test]
fn a_private_string_that_is_left_anywhere_is_refused() {
    if !has_git() {
        return;
    }
    let left = |path: &str, bytes: &[u8]| {
        let mut tree = project(&with(|rules| rules["redactions"] = home()));
        tree.put("notes/run.log", "in /home/somebody/a\n");
        tree.put(path, bytes);
        let exported = Repository::of(&tree).export();
        let text = exported.report.to_string();
        assert!(!text.contains("somebody"), "a finding repeats what is private: {text}");
        exported.refused()
    };
    assert_eq!(left("a.txt", b"by somebody\n"), ["export-private a.txt"]);
    assert_eq!(left("a.txt", b"/home/another\n"), ["export-private a.txt"]);
    assert_eq!(left("somebody.txt", b"x"), ["export-private \u{2026}.txt"]);
    assert_eq!(left("a.bin", b"\0\0s\0o\0m\0e\0b\0o\0d\0y\0\0"), ["export-private a.bin"]);
    // "by somebody" in base64.
    assert_eq!(left("a.json", b"{\"raw\":\"Ynkgc29tZWJvZHk=\"}"), ["export-private a.json"]);
    let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    std::io::Write::write_all(&mut packed, b"by somebody\n").expect("it can be packed");
    assert_eq!(left("a.gz", &packed.finish().expect("it can be packed")), ["export-private a.gz"]);
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("in/side", zip::write::SimpleFileOptions::default()).expect("it can be packed");
    std::io::Write::write_all(&mut zip, b"by somebody\n").expect("it can be packed");
    assert_eq!(left("a.zip", zip.finish().expect("it can be packed").get_ref()), ["export-private a.zip"]);
    // A window's end is no place to hide.
    let long = [vec![b'x'; (4 << 20) - 4], b"somebody".to_vec(), vec![b'x'; 100]].concat();
    assert_eq!(left("long.txt", &long), ["export-private long.txt"]);
    assert_eq!(left("a.xz", b"\xFD7zXZ\0..."), ["export-opaque a.xz"]);
    assert_eq!(left("b.gz", b"\x1F\x8B\x08\0...."), ["export-opaque b.gz"]);
    assert_eq!(left("b.zip", b"PK\x03\x04...."), ["export-opaque b.zip"]);
}

#[test]
fn what_cannot_be_redacted_is_refused() {
    if !has_git() {
        return;
    }
    let mut tree = project(&with(|rules| rules["redactions"] = home()));
    tree.put("notes/run.log", "in /home/somebody/a\n");
    tree.put("notes/binary.log", b"/home/somebody\0");
    let found = Repository::of(&tree).export().refused();
    assert_eq!(found, ["export-redaction notes/binary.log", "export-private notes/binary.log"]);
}

#[test]
fn what_looks_like_a_secret_is_refused_unless_it_is_allowed() {
    if !has_git() {
        return;
    }
    let key = ["-----BEGIN OPENSSH ", "PRIVATE KEY-----\n"].concat();
    let mut tree = project(&rules());
    tree.put("tests/key", &key);
    assert_eq!(Repository::of(&tree).export().refused(), ["export-secret tests/key"]);
    let allowed = json!([{"files": "tests/key", "rule": "private-key", "reason": "made for tests"}]);
    tree.put(RULES, with(|rules| rules["allowed"] = allowed).to_string());
    Repository::of(&tree).export().release();
}

#[test]
fn rules_with_faults_are_all_told() {
    if !has_git() {
        return;
    }
    let said = |rules: &str| {
        let mut tree = project(&commit::rules());
        tree.put(RULES, rules);
        Repository::of(&tree).export().could_not()
    };
    let home = |pattern: &str, replacement: &str, files: &str| json!({"label": "l", "pattern": pattern, "replacement": replacement, "files": [files], "reason": "r"});
    let broken = with(|rules| rules["redactions"] = json!([home("(", "x", "a"), home("a", "x", "[")]));
    let text = said(&broken.to_string());
    assert!(text.contains("/redactions/0/pattern") && text.contains("/redactions/1/files/0"), "{text}");
    let odd = with(|rules| {
        rules["redactions"] = json!([home("x*", "x", "a"), home("b", "c", "a")]);
        rules["allowed"] = json!([{"files": "a", "rule": "no-such", "reason": "r"}]);
    });
    let text = said(&odd.to_string());
    for part in ["/redactions/0/pattern", "/redactions/1/label", "/allowed/0/rule"] {
        assert!(text.contains(part), "{part}: {text}");
    }
    assert!(said("{\"format\":\"exhibit-export/2\"}").contains("newer version"));
    assert!(said("{\"format\":\"exhibit-export/1\",\"project\":\"a\",\"projects\":1}").contains("projects"));
    let mut tree = project(&commit::rules());
    tree.remove(RULES);
    assert!(Repository::of(&tree).export().could_not().contains("release/export.json"));
}

#[test]
fn what_is_no_clean_commit_is_told_in_a_sentence() {
    if !has_git() {
        return;
    }
    let repository = Repository::empty();
    assert!(repository.export().could_not().contains("no commit yet"));
    let repository = Repository::of(&project(&rules()));
    assert!(repository.export_with(&["--commit", "nowhere"]).could_not().contains("\"nowhere\" names no commit"));
    assert!(repository.export_with(&["--commit", "HEAD:README.md"]).could_not().contains("not a commit"));
    git(&repository.beside(""), &["clone", "--quiet", "--bare", "project", "bare"]);
    assert!(export_from(&repository.beside("bare"), &repository.beside("out"), &[]).could_not().contains("bare"));
    std::fs::create_dir(repository.beside("plain")).expect("it can be made");
    let plain = export_from(&repository.beside("plain"), &repository.beside("out"), &[]);
    assert!(plain.could_not().contains("no git repository"), "{}", plain.report);
    let none = export_from(&repository.beside("none"), &repository.beside("out"), &[]);
    assert!(none.could_not().contains("check the path"), "{}", none.report);
    // Another commit than the one that is checked out.
    let first = repository.git(&["rev-parse", "HEAD"]);
    repository.put("README.md", "newer\n");
    repository.commit("newer");
    assert_eq!(repository.export_with(&["--commit", first.trim()]).refused(), ["export-dirty README.md"]);
    repository.git(&["checkout", "--quiet", "--detach", first.trim()]);
    repository.export_with(&["--commit", first.trim()]).release();
}

#[test]
fn shallow_clones_linked_working_trees_and_folders_below_the_root_export_too() {
    if !has_git() {
        return;
    }
    let repository = Repository::of(&project(&rules()));
    repository.put("README.md", "newer\n");
    repository.commit("newer");
    repository.git(&["tag", "--annotate", "--message", "m", "v1"]);
    let whole = std::fs::read(repository.export_with(&["--commit", "v1"]).release()).expect("it can be read");
    let url = format!("file://{}", repository.root().display());
    git(&repository.beside(""), &["clone", "--quiet", "--depth", "1", &url, "shallow"]);
    let shallow = export_from(&repository.beside("shallow"), &repository.beside("o1"), &[]).release();
    repository.git(&["worktree", "add", "--quiet", "--detach", "../linked"]);
    let linked = export_from(&repository.beside("linked"), &repository.beside("o2"), &[]).release();
    let below = export_from(&repository.root().join("tools"), &repository.beside("o3"), &[]).release();
    for other in [shallow, linked, below] {
        assert!(whole == std::fs::read(&other).expect("it can be read"), "{}", other.display());
    }
    // A replacement is no part of the commit.
    repository.git(&["replace", "HEAD", "HEAD~1"]);
    let replaced = export_from(&repository.root(), &repository.beside("o4"), &[]).release();
    assert!(whole == std::fs::read(&replaced).expect("it can be read"));
}

#[test]
fn names_that_clash_are_refused() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    tree.put("docs/Readme.md", "a");
    tree.put("docs/README.md", "b");
    tree.put("export-manifest.json", "c");
    assert_eq!(
        Repository::of(&tree).export().refused(),
        ["name-collision export-manifest.json", "name-collision docs/Readme.md"]
    );
    let mut tree = project(&rules());
    tree.put("con.txt", "a");
    assert_eq!(Repository::of(&tree).export().refused(), ["name-unportable con.txt"]);
}

#[test]
fn a_manifest_of_an_earlier_release_keeps_its_redactions() {
    if !has_git() {
        return;
    }
    let mut tree = project(&with(|rules| rules["redactions"] = home()));
    tree.put("notes/run.log", "in /home/somebody/a\n");
    let private = Repository::of(&tree);
    let first = private.export().release();
    // The public repository is the unpacked release.
    let public = Repository::empty();
    for (name, (bytes, mode)) in unpacked(&first) {
        write_file(&public.root(), &name, &bytes, mode);
    }
    public.commit("published");
    let exported = public.export();
    assert_eq!(exported.report["redacted"][0]["recorded"], true);
    let second = exported.release();
    let derivatives = |release: &Path| -> Vec<Value> {
        let manifest = manifest(release);
        let files = manifest["files"].as_array().expect("it is a list");
        files.iter().map(|file| file["derivative"].clone()).filter(|derivative| !derivative.is_null()).collect()
    };
    assert_eq!(derivatives(&first).len(), 1);
    assert_eq!(derivatives(&first), derivatives(&second));
    let omissions = manifest(&second)["omissions"].clone();
    assert_eq!(omissions[0]["path"], "EXPORT-MANIFEST.json");
    assert_eq!(verify(&second, &["--inventory-only"]).0, 0);
    // A derivative that was changed since isn't the one that was disclosed.
    public.put("notes/run.log", "in <HOME>/b\n");
    public.commit("changed");
    std::fs::remove_dir_all(public.beside("out")).expect("it is there");
    assert_eq!(public.export().refused(), ["export-derivative notes/run.log"]);
}

#[test]
fn derivatives_of_the_rules_are_recorded_too() {
    if !has_git() {
        return;
    }
    let public = exhibit::digest::Sha256::of(b"in <HOME>\n");
    let recorded = |public: &str| {
        let mut tree = project(&with(|rules| {
            rules["derivatives"] = json!([{
                "path": "old.log", "rule": "home", "public_sha256": public, "private_sha256": "0".repeat(64),
            }]);
        }));
        tree.put("old.log", "in <HOME>\n");
        Repository::of(&tree).export()
    };
    let exported = recorded(&public.to_string());
    let release = manifest(&exported.release());
    let file =
        release["files"].as_array().expect("it is a list").iter().find(|file| file["path"] == "old.log").cloned();
    assert_eq!(file.expect("it is listed")["derivative"]["rule"], "home");
    assert_eq!(recorded(&"1".repeat(64)).refused(), ["export-derivative old.log"]);
}

#[test]
fn a_file_named_like_the_manifest_is_no_manifest() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    tree.put("docs/EXPORT-MANIFEST.json", "just a file of that name\n");
    Repository::of(&tree).export().release();
    tree.put("EXPORT-MANIFEST.json", "not even JSON\n");
    assert_eq!(Repository::of(&tree).export().refused(), ["json-syntax EXPORT-MANIFEST.json"]);
    let omissions = json!([{"files": "EXPORT-MANIFEST.json", "reason": "of another tool"}]);
    tree.put(RULES, with(|rules| rules["omissions"] = omissions).to_string());
    Repository::of(&tree).export().release();
}

#[test]
fn evidence_that_git_ignores_is_exported_where_it_is_committed_and_missed_where_it_is_not() {
    if !has_git() {
        return;
    }
    let mut tree = project(&rules());
    tree.put(".gitignore", "*.jsonl\n*.sqlite3*\n");
    let repository = Repository::of(&tree);
    let release = repository.export().release();
    assert_eq!(
        content(&release, "matrices/small/runs/r1/cases/02/server.transcript.jsonl"),
        b"content of cases/02/server.transcript.jsonl\n"
    );
    repository.git(&["rm", "--quiet", "--cached", "matrices/small/runs/r1/cases/02/server.transcript.jsonl"]);
    repository.git(&["commit", "--quiet", "--message", "lost"]);
    std::fs::remove_dir_all(repository.beside("out")).expect("it is there");
    let missed = ["export-untracked matrices/small/runs/r1/cases/02/server.transcript.jsonl"];
    assert_eq!(repository.export().refused(), missed);
}

#[test]
fn runs_are_retained_or_left_aside_but_never_unsaid() {
    if !has_git() {
        return;
    }
    let elsewhere = |rules: &Value| {
        let mut tree = project(rules);
        let run: Vec<_> = tree
            .files
            .iter()
            .filter(|(path, _)| path.starts_with("matrices/"))
            .map(|(path, file)| (path.clone(), file.clone()))
            .collect();
        for (path, (bytes, _)) in run {
            tree.put(&format!("examples/{path}"), bytes);
        }
        Repository::of(&tree).export()
    };
    assert_eq!(elsewhere(&rules()).refused(), ["export-run examples/matrices/small/runs/r1"]);
    let aside =
        with(|rules| rules["not_retained"] = json!([{"path": "examples", "reason": "made to show the format"}]));
    assert_eq!(elsewhere(&aside).report["runs"].as_array().expect("it is a list").len(), 1);
    let both = with(|rules| rules["runs"] = json!([{"path": "examples/matrices/small/runs/r1"}]));
    assert_eq!(elsewhere(&both).report["runs"].as_array().expect("it is a list").len(), 2);
    // A snapshot of a later format is no matter of a run that it doesn't lie beside.
    let mut tree = project(&rules());
    tree.put("tests/source-snapshots/other.json", "{\"format\":\"exhibit-source-snapshot/2\"}");
    Repository::of(&tree).export().release();
    let none = with(|rules| {
        rules["runs"] = json!([{"path": "nowhere"}]);
        rules["not_retained"] = json!([{"path": "nothing", "reason": "r"}]);
    });
    let found = Repository::of(&project(&none)).export().refused();
    assert_eq!(found, ["export-run release/export.json", "export-run nowhere"]);
}

#[test]
fn a_failed_run_is_kept_only_as_what_it_is() {
    if !has_git() {
        return;
    }
    let failed = |rules: &Value| {
        let mut tree = project(rules);
        tree.edit_result(0, |result| result["status"] = json!("fail"));
        Repository::of(&tree).export()
    };
    let refused = failed(&rules());
    assert_eq!(refused.refused().len(), 1);
    assert_eq!(refused.report["runs"], json!([]), "a run that is refused is not retained");
    let kept =
        with(|rules| rules["runs"] = json!([{"path": "matrices/small/runs/r1", "failed_evidence": "it did fail"}]));
    let exported = failed(&kept);
    let release = exported.release();
    assert_eq!(manifest(&release)["runs"][0]["standing"], "failed_evidence");
    assert_eq!(verify(&release, &["--inventory-only"]).0, 0);
    assert_eq!(verify(&release, &[]).0, 1);
    assert_eq!(Repository::of(&project(&kept)).export().refused(), ["export-run matrices/small/runs/r1"]);
}

#[test]
fn a_person_is_told_the_same() {
    if !has_git() {
        return;
    }
    let mut tree = project(&with(|rules| {
        rules["redactions"] = home();
        rules["omissions"] = json!([{"files": "left.txt", "reason": "not for readers"}]);
    }));
    tree.put("notes/run.log", "in /home/somebody/a\n");
    tree.put("left.txt", "x");
    let repository = Repository::of(&tree);
    let said = |out: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_exhibit"))
            .args(["export", out])
            .current_dir(repository.root())
            .output()
            .expect("the program starts");
        String::from_utf8(output.stdout).expect("it is UTF-8")
    };
    let text = said("../out");
    for part in [
        ".: exported\n",
        "release ../out/made-up-",
        "matrices/small/runs/r1: coherent, made data; without its sources",
        "notes/run.log (home, once)",
        "left.txt (not for readers)",
    ] {
        assert!(text.contains(part), "{part}: {text}");
    }
    repository.put("README.md", "made uq\n");
    let text = said("../other");
    assert!(
        text.contains(".: refused\n") && text.contains("finding export-dirty") && text.contains("nothing was written")
    );
}
