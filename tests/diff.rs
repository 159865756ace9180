//! What `exhibit diff` says of two trees in any form: the same only where nothing differs, and otherwise exactly what does.
#![expect(clippy::disallowed_methods, reason = "the tests start programs")]
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;
mod skip;

use std::collections::BTreeMap;
use std::fs::{File, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use exhibit::name::EntryName;
use exhibit::zip::Writer;
use export::{Export, Kind, Said, Tree, exhibit, release, say};
use proptest::prelude::*;
use serde_json::{Value, json};

type Files = BTreeMap<String, (Vec<u8>, u32)>;

fn diff(a: &Path, b: &Path) -> Said {
    say(exhibit(["diff", "--format", "json"]).arg(a).arg(b))
}

fn diff_text(a: &Path, b: &Path) -> Said {
    say(exhibit(["diff"]).arg(a).arg(b))
}

fn outcome(said: &Said) -> (i32, String) {
    (said.code, said.json()["outcome"].as_str().unwrap().to_owned())
}

fn is(said: &Said, code: i32, outcome: &str) {
    assert_eq!(self::outcome(said), (code, outcome.to_owned()), "{said:?}");
}

/// How each file differs, in the report's order.
fn changes(said: &Said) -> Vec<String> {
    let report = said.json();
    let told = |file: &Value| format!("{} {}", file["change"].as_str().unwrap(), file["path"].as_str().unwrap());
    report["files"].as_array().unwrap().iter().map(told).collect()
}

/// Two folders beside each other, with these files.
fn two(a: &[(&str, &[u8])], b: &[(&str, &[u8])]) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, files: &[(&str, &[u8])]| {
        let mut tree = Tree::default();
        files.iter().for_each(|(name, bytes)| tree.put(name, bytes));
        tree.write(&folder.path().join(name));
        folder.path().join(name)
    };
    let (a, b) = (write("a", a), write("b", b));
    (folder, a, b)
}

fn pack(files: &Files, root: &str, path: &Path) {
    let mut writer = Writer::new(File::create(path).unwrap());
    for (name, (bytes, mode)) in files {
        let name = EntryName::new(&format!("{root}/{name}")).unwrap();
        writer.file(&name, *mode, bytes.len() as u64, &mut bytes.as_slice()).unwrap();
    }
    writer.finish().unwrap();
}

/// The text that hunks make of another: what `patch` would do.
fn patched(before: &str, hunks: &[Value]) -> String {
    let lines: Vec<&str> = before.split_inclusive('\n').collect();
    let mut after = String::new();
    let mut at = 0;
    for hunk in hunks {
        let number = |field: &str| usize::try_from(hunk[field].as_u64().unwrap()).unwrap();
        let start = if number("a_lines") == 0 { number("a_start") } else { number("a_start") - 1 };
        after.extend(lines[at..start].iter().copied());
        at = start;
        let mut counts = (0, 0);
        assert_eq!(after.split_inclusive('\n').count() + usize::from(number("b_lines") > 0), number("b_start"));
        for line in hunk["lines"].as_array().unwrap() {
            assert_eq!(line["cut"], 0);
            let end = if line["newline"].as_bool().unwrap() { "\n" } else { "" };
            let text = format!("{}{end}", line["text"].as_str().unwrap());
            let of = line["of"].as_str().unwrap();
            if of != "b" {
                assert_eq!(lines[at], text, "a line of the first text that it doesn't have");
                (at, counts.0) = (at + 1, counts.0 + 1);
            }
            if of != "a" {
                after.push_str(&text);
                counts.1 += 1;
            }
        }
        assert_eq!(counts, (number("a_lines"), number("b_lines")));
    }
    after.extend(lines[at..].iter().copied());
    after
}

fn file() -> impl Strategy<Value = (Vec<u8>, u32)> {
    let line = prop_oneof![Just("a"), Just("b"), Just("\u{1b}[2J\u{202e}"), Just("c\r"), Just(""), Just("long line")];
    let text = prop::collection::vec(line, 0..30).prop_map(|lines| lines.join("\n").into_bytes());
    let content = prop_oneof![4 => text, 1 => prop::collection::vec(any::<u8>(), 0..8)];
    (content, prop_oneof![3 => Just(0o644), 1 => Just(0o755)])
}

fn files() -> impl Strategy<Value = Files> {
    let names = prop_oneof!["[ab]", "[ab]x/[ab]", "y/[ab]/[ab]", Just("A\u{e9}".to_owned())];
    prop::collection::btree_map(names, file(), 1..5)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn trees_are_the_same_just_where_files_and_modes_are(a in files(), b in files(), kept in any::<prop::sample::Index>()) {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        // One file is in both, so that something is the same now and then.
        let mut b = b;
        if let Some((name, file)) = a.iter().nth(kept.index(a.len())) {
            b.insert(name.clone(), file.clone());
        }
        for (name, files) in [("a", &a), ("b", &b)] {
            Tree { files: files.clone(), ..Tree::default() }.write(&path(name));
            pack(files, &format!("{name}-root"), &path(&format!("{name}.zip")));
        }
        for (one, other) in [("a", "a"), ("a", "a.zip"), ("a.zip", "a"), ("b.zip", "b.zip")] {
            is(&diff(&path(one), &path(other)), 0, "same");
        }
        let said = diff(&path("a"), &path("b.zip"));
        prop_assert_eq!(said.code == 0, a == b, "{:?}", said);
        let other_way = diff(&path("a.zip"), &path("b"));
        prop_assert_eq!(&said.json()["files"], &other_way.json()["files"], "the form made a difference");

        // What is told, done to the first tree, gives the second.
        let mut made = a.clone();
        for file in said.json()["files"].as_array().unwrap() {
            let name = file["path"].as_str().unwrap();
            let mode = |side: &str| u32::from_str_radix(file[side]["mode"].as_str().unwrap(), 8).unwrap();
            match file["change"].as_str().unwrap() {
                "only_a" => prop_assert!(made.remove(name).is_some() && !b.contains_key(name)),
                "only_b" => drop(made.insert(name.to_owned(), b[name].clone())),
                "moved" => {
                    let (bytes, _) = made.remove(file["moved_from"].as_str().unwrap()).unwrap();
                    made.insert(name.to_owned(), (bytes, mode("b")));
                }
                _ => {
                    prop_assert_eq!(mode("a"), a[name].1);
                    let before = a[name].0.clone();
                    let bytes = match file["content"].as_str().unwrap() {
                        "same" => before,
                        "lines" => {
                            let before = String::from_utf8(before).unwrap();
                            patched(&before, file["hunks"].as_array().unwrap()).into_bytes()
                        }
                        content => {
                            prop_assert_eq!(content, "binary");
                            let is_text = |bytes: &[u8]| std::str::from_utf8(bytes).is_ok() && !bytes.contains(&0);
                            prop_assert!(!is_text(&before) || !is_text(&b[name].0));
                            b[name].0.clone()
                        }
                    };
                    made.insert(name.to_owned(), (bytes, mode("b")));
                }
            }
        }
        prop_assert_eq!(made, b);
    }
}

#[test]
fn packing_and_the_name_of_the_root_do_not_count() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let folder = tempfile::tempdir().unwrap();
    let (one, other) = (folder.path().join("one.zip"), folder.path().join("other.zip"));
    export.write_zip(&one);
    let stored = Export { method: zip::CompressionMethod::Stored, root: Some("elsewhere".into()), ..export };
    stored.write_zip(&other);
    let said = diff(&one, &other);
    is(&said, 0, "same");
    assert_eq!(said.json()["same_zip"], json!(false));
    let text = diff_text(&one, &other);
    assert!(text.code == 0 && text.out.contains("the ZIP files differ"), "{text:?}");
    assert_eq!(diff(&one, &one).json()["same_zip"], json!(true));
}

#[test]
fn names_and_places_are_told_apart() {
    let (_folder, a, b) = two(
        &[
            ("Same.txt", b"x"),
            ("moved/here", b"content"),
            ("twice-1", b"t"),
            ("empty-a", b""),
            ("file", b"f"),
            ("z", b""),
        ],
        &[
            ("same.txt", b"x"),
            ("there", b"content"),
            ("twice-2", b"t"),
            ("twice-3", b"t"),
            ("empty-b", b""),
            ("file/in", b"g"),
            ("z", b""),
        ],
    );
    let said = diff(&a, &b);
    let wanted = [
        "only_a empty-a",
        "only_b empty-b",
        "only_a file",
        "only_b file/in",
        "moved same.txt",
        "moved there",
        "only_a twice-1",
        "only_b twice-2",
        "only_b twice-3",
    ];
    assert_eq!((said.code, changes(&said)), (1, wanted.map(str::to_owned).to_vec()));
    let moved = &said.json()["files"][5];
    assert_eq!((moved["moved_from"].as_str(), moved["content"].as_str()), (Some("moved/here"), Some("same")));
}

#[test]
fn one_tree_in_another_and_the_same_twice() {
    let (folder, a, _b) = two(&[("b/x", b"x"), ("x", b"x")], &[]);
    is(&diff(&a, &a), 0, "same");
    let said = diff(&a, &a.join("b"));
    assert_eq!(changes(&said), ["only_a b/x"]);
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(&a, &link).unwrap();
    is(&diff(&link, &a), 0, "same");
    let (_folder, empty, also) = two(&[], &[]);
    is(&diff(&empty, &also), 0, "same");
}

#[test]
fn a_tree_with_findings_is_never_the_same() {
    let (folder, a, b) = two(&[("x", b"x")], &[("x", b"x")]);
    assert!(Command::new("mkfifo").arg(a.join("pipe")).status().unwrap().success());
    let said = diff(&a, &b);
    is(&said, 1, "findings");
    assert_eq!(said.json()["a"]["findings"][0]["code"], "tree-special-file");
    assert_eq!((said.json()["b"]["findings"].clone(), said.json()["compared"].clone()), (json!([]), json!(true)));
    std::os::unix::fs::symlink("x", b.join("link")).unwrap();
    std::fs::write(b.join("X"), "").unwrap();
    let said = diff(&a, &b);
    is(&said, 1, "different");
    let text = diff_text(&a, &b).out;
    let at = |part: &str| text.find(part).unwrap_or_else(|| panic!("{part}: {text}"));
    assert!(at("in A:\n") < at("tree-special-file") && at("tree-special-file") < at("in B:\n"));
    assert!(at("in B:\n") < at("tree-link") && at("tree-link") < at("only in B: X"), "{text}");

    // Both broken.
    let broken = folder.path().join("broken.zip");
    std::fs::write(&broken, b"PK\x03\x04 and no more").unwrap();
    let said = diff(&broken, &broken);
    is(&said, 1, "findings");
    assert_eq!((said.json()["compared"].clone(), said.json()["files"].clone()), (json!(false), json!([])));
    assert!(diff_text(&broken, &broken).out.contains("files were not compared"));
    let said = diff(&broken, &folder.path().join("a/x"));
    is(&said, 2, "could_not_compare");
    assert!(said.error().contains("is not a ZIP"));
}

#[test]
fn a_checkout_is_compared_without_its_git_metadata() {
    let mut export = Export::of(Kind::Own, release(Kind::Own));
    let folder = tempfile::tempdir().unwrap();
    let (zip, checkout) = (folder.path().join("a.zip"), folder.path().join("checkout"));
    export.write_zip(&zip);
    export.tree.put(".git/HEAD", "ref: refs/heads/main\n");
    export.tree.put(".git/objects/aa/bb", "x");
    export.tree.put("tools/.git/HEAD", "ref: refs/heads/main\n");
    export.tree.put("README.md", "made up\nand more\n");
    export.tree.write(&checkout);
    let said = diff(&zip, &checkout);
    is(&said, 1, "different");
    assert_eq!(changes(&said), ["only_a EXPORT-MANIFEST.json", "changed README.md"]);
    let found = said.json()["b"]["findings"].clone();
    let told = |index: usize| (&found[index]["code"], &found[index]["place"]["entry"]);
    assert_eq!(found.as_array().unwrap().len(), 2, "each once: {found}");
    assert_eq!(told(0), (&json!("tree-git-metadata"), &json!(".git")));
    assert_eq!(told(1), (&json!("tree-git-metadata"), &json!("tools/.git")));
    let files = |side: &str| said.json()[side]["files"].as_u64().unwrap();
    assert_eq!(files("a"), files("b") + 1);
}

#[test]
fn manifests_are_compared_by_field() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let folder = tempfile::tempdir().unwrap();
    let a = folder.path().join("a");
    export.write_folder(&a);
    let fields = |name: &str, change: &dyn Fn(&mut Export)| {
        let mut changed = export.clone();
        change(&mut changed);
        let b = folder.path().join(name);
        changed.write_folder(&b);
        let said = diff(&a, &b);
        is(&said, 1, "different");
        let told = said.json()["manifest"].as_array().unwrap().clone();
        let label = |field: &Value| {
            let path = field["path"].as_str().map(|path| format!(" {path}")).unwrap_or_default();
            format!("{}{path}", field["field"].as_str().unwrap())
        };
        (told.iter().map(label).collect::<Vec<_>>(), said)
    };
    let set = |pointer: &'static str, value: Value| {
        move |export: &mut Export| *export.manifest.pointer_mut(pointer).unwrap() = value.clone()
    };
    for (name, pointer, value, told) in [
        ("kind", "/kind", json!("archive"), "kind"),
        ("project", "/project", json!("other"), "project"),
        ("commit", "/source/commit", json!("a".repeat(40)), "source commit"),
        ("tree", "/source/tree", json!("a".repeat(40)), "source tree"),
        ("created", "/created", json!(null), "created"),
        ("omissions", "/omissions", json!([{"path": "gone", "reason": "large", "sha256": null}]), "omission gone"),
        ("run", "/runs/0/matrix", json!(null), "run matrices/small/runs/r1"),
        ("role", "/files/0/role", json!("source"), "role README.md"),
        ("sha256", "/files/0/sha256", json!("0".repeat(64)), "file README.md"),
        ("mode", "/files/0/mode", json!("0755"), "file README.md"),
    ] {
        let (fields, said) = fields(name, &set(pointer, value));
        assert_eq!(fields, [told], "{name}");
        assert_eq!(changes(&said), ["changed EXPORT-MANIFEST.json"], "{name}");
        assert_eq!(said.json()["files"][0]["content"], "manifest");
    }
    // What the trees show is not told again.
    let (told, said) = fields("content", &|export| {
        export.tree.put("README.md", "other\n");
        export.tree.put("more", "more");
        export.tree.remove("tools/run.sh");
        *export = Export::of(Kind::Own, export.tree.clone());
    });
    assert_eq!((told, changes(&said).len()), (vec![], 4));
    // One that isn't known, or isn't JSON, is a text like any other.
    for text in ["{\"format\":\"exhibit-manifest/9\"}", "no JSON\n"] {
        let (told, said) = fields("other", &|export| export.manifest_text = Some(text.to_owned()));
        assert_eq!((told, said.json()["files"][0]["content"].as_str().unwrap()), (vec![], "lines"));
    }
    let mut historical = Export::of(Kind::Historical, release(Kind::Historical));
    historical.write_folder(&folder.path().join("historical"));
    // What no field of the comparison tells is told by lines.
    historical.manifest["privacy_contract"] = json!("another promise");
    historical.write_folder(&folder.path().join("promise"));
    let said = diff(&folder.path().join("historical"), &folder.path().join("promise"));
    is(&said, 1, "different");
    assert_eq!((&said.json()["files"][0]["content"], &said.json()["manifest"]), (&json!("lines"), &json!([])));
    assert!(said.json()["files"][0]["added"].as_u64().unwrap() > 0);
    let said = diff(&a, &folder.path().join("historical"));
    assert_eq!(said.json()["manifest"][0]["field"], "format");
}

#[test]
fn foreign_text_never_makes_a_line_of_the_report() {
    let (_folder, a, b) = two(
        &[("x", b"same\n"), ("crlf", b"1\n2\n"), ("end", b"e"), ("bin", b"\0")],
        &[
            ("x", "same\n\u{1b}[2J\u{202e}evil\rfiles: 0\u{2028}\\\n".as_bytes()),
            ("crlf", b"1\r\n2\n"),
            ("end", b"e\n"),
            ("bin", b"\xff"),
        ],
    );
    let said = diff_text(&a, &b);
    assert_eq!(said.code, 1);
    assert!(said.out.chars().all(|c| c == '\n' || !c.is_control()), "{said:?}");
    for part in [
        "+\\u{1b}[2J\\u{202e}evil\\u{d}files: 0\\u{2028}\\\\\n",
        "-1\n+1\\u{d}\n",
        "-e\n\\ No newline at end of file\n+e\n",
        "changed: bin\n    not text\n    A 1 bytes, SHA-256 ",
    ] {
        assert!(said.out.contains(part), "{part}: {}", said.out);
    }
    let shown = |line: &str| {
        ["-", "+", " ", "@@ ", "\\ No", "changed: ", "files: 0 only", "A is", "B is"]
            .iter()
            .any(|start| line.starts_with(start))
    };
    assert!(said.out.lines().skip(1).all(shown), "{}", said.out);
    let json = diff(&a, &b);
    assert!(json.out.is_ascii(), "{json:?}");
}

#[test]
fn what_is_shown_is_bounded() {
    let numbers = |n: u32, end: &str| (0..n).flat_map(|n| [n.to_string(), end.to_owned()]).collect::<String>();
    let line = "x".repeat(16 << 20);
    let over = "x".repeat((16 << 20) + 1);
    let (ours, theirs) = (numbers(100_000, "\n"), numbers(100_000, ".\n"));
    let (_folder, a, b) = two(
        &[("long", line.as_bytes()), ("many", ours.as_bytes()), ("over", b"x")],
        &[("long", &line.as_bytes()[1..]), ("many", theirs.as_bytes()), ("over", over.as_bytes())],
    );
    let started = Instant::now();
    let said = diff(&a, &b);
    assert!(said.out.len() < 300_000 && started.elapsed() < Duration::from_secs(60), "{}", said.out.len());
    let report = said.json();
    let [long, many, over] = [0, 1, 2].map(|index| report["files"][index].clone());
    assert_eq!((report["truncated"].clone(), over["content"].clone()), (json!(true), json!("large")));
    assert_eq!((&many["removed"], &many["added"]), (&json!(100_000), &json!(100_000)));
    assert_eq!((&many["lines_not_shown"], &many["hunks"][0]["a_lines"]), (&json!(199_000), &json!(100_000)));
    assert_eq!(long["hunks"][0]["lines"][0]["cut"], (16 << 20) - 400);
    let text = diff_text(&a, &b).out;
    assert!(text.contains("[16776816 bytes more]") && text.contains("and 199000 more changed lines"));
    assert!(text.lines().all(|line| line.len() < 500) && text.lines().count() < 1100);
}

#[test]
fn many_changed_files_share_one_bound() {
    let text = |n: u32, end: &str| (0..1000).map(|line| format!("{n} {line}{end}\n")).collect::<Vec<_>>().concat();
    let folder = tempfile::tempdir().unwrap();
    for (name, end) in [("a", ""), ("b", ".")] {
        let mut tree = Tree::default();
        (0..30).for_each(|n| tree.put(&format!("{n:02}"), text(n, end)));
        tree.write(&folder.path().join(name));
    }
    let said = diff(&folder.path().join("a"), &folder.path().join("b"));
    let report = said.json();
    let of = |content: &str| {
        let files = report["files"].as_array().unwrap();
        files.iter().filter(|file| file["content"] == content).count()
    };
    assert_eq!((of("lines"), of("not_shown"), report["truncated"].clone()), (10, 20, json!(true)));
}

#[test]
fn trees_of_many_files_are_compared_by_digest() {
    let mut files: Files = (0..20_000).map(|n| (format!("d{}/{n}", n % 100), (n.to_string().into(), 0o644))).collect();
    let folder = tempfile::tempdir().unwrap();
    let (a, b) = (folder.path().join("a.zip"), folder.path().join("b.zip"));
    pack(&files, "root", &a);
    for (n, (_, mode)) in files.values_mut().enumerate() {
        *mode = if n % 10 == 0 { 0o755 } else { 0o644 };
    }
    pack(&files, "root", &b);
    let started = Instant::now();
    let said = diff(&a, &b);
    assert_eq!(changes(&said).len(), 2000);
    assert!(started.elapsed() < Duration::from_secs(60), "{:?}", started.elapsed());
    let text = diff_text(&a, &b).out;
    assert!(text.contains("and 1000 more files: `--format json` has them all\n"), "{text}");
    assert!(text.ends_with("files: 0 only in A, 0 only in B, 0 moved, 2000 changed\n"));
}

#[test]
fn other_unpackers_modes_are_seen() {
    let export = Export::of(Kind::Own, release(Kind::Own));
    let folder = tempfile::tempdir().unwrap();
    let zip = folder.path().join("a.zip");
    export.write_zip(&zip);
    for (tool, script) in [
        ("bsdtar", "umask 077; bsdtar -x --no-same-permissions -f \"$1\" -C \"$2\""),
        ("python3", "umask 022; python3 -m zipfile -e \"$1\" \"$2\""),
    ] {
        let known = Command::new("sh").args(["-c", &format!("command -v {tool}")]).output().unwrap().status.success();
        if !known {
            skip::skipped(&format!("unpacking with {tool}: it is not installed"));
            continue;
        }
        let out = folder.path().join(tool);
        std::fs::create_dir(&out).unwrap();
        std::fs::set_permissions(&out, Permissions::from_mode(0o755)).unwrap();
        let status = Command::new("sh").args(["-c", script, "sh"]).arg(&zip).arg(&out).status().unwrap();
        assert!(status.success(), "{tool}");
        let said = diff(&zip, &out.join(export.root()));
        is(&said, 1, "different");
        let report = said.json();
        let files = report["files"].as_array().unwrap();
        assert!(files.iter().all(|file| file["content"] == "same" && file["a"]["mode"] != file["b"]["mode"]), "{tool}");
        let count = if tool == "bsdtar" { export.whole().files.len() } else { 1 };
        assert_eq!(files.len(), count, "{tool}");
    }
}

#[test]
fn an_archive_without_modes_differs_from_one_with_them() {
    let folder = tempfile::tempdir().unwrap();
    let (unix, dos) = (folder.path().join("unix.zip"), folder.path().join("dos.zip"));
    pack(&Files::from([("x".to_owned(), (b"x".to_vec(), 0o644))]), "root", &unix);
    let mut bytes = std::fs::read(&unix).unwrap();
    let central = bytes.windows(4).position(|window| window == b"PK\x01\x02").unwrap();
    // The external attributes, as programs without modes leave them.
    bytes[central + 38..central + 42].fill(0);
    std::fs::write(&dos, bytes).unwrap();
    let said = diff(&unix, &dos);
    is(&said, 1, "different");
    let file = &said.json()["files"][0];
    assert_eq!((&file["a"]["mode"], &file["b"]["mode"]), (&json!("0644"), &json!(null)));
    assert!(diff_text(&unix, &dos).out.contains("    mode 0644 in A, none in B\n"));
    is(&diff(&dos, &dos), 0, "same");
}
