//! Archives as ordinary tools write them: accepted, with the names, sizes and contents of the files that went in. Those
//! few that readers take differently are in [`REFUSED`], each with the rule that refuses it and the reason.
#![expect(clippy::disallowed_methods, reason = "tests run peers")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't read what it checks fails")]

mod peers;
mod skip;

use std::fmt::Write as _;
use std::fs;
use std::io::{Cursor, Write as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use exhibit::digest::Sha256;
use peers::Tree;
use skip::skipped;
use zip::write::{SimpleFileOptions, ZipWriter};

/// A tool, what it is made to do, what the archive must hold, and the script.
type Row = (&'static str, &'static str, Holds, &'static str);

/// What an archive must hold.
#[derive(Clone, Copy)]
enum Holds {
    /// Every file of the folder.
    All,
    /// Every file of the folder, below another.
    Below(&'static str),
    /// Entries with the files that they were made from.
    Just(&'static [(&'static str, &'static str)]),
    /// So many empty files, named by number.
    Numbers(usize),
}

const TWO: Holds = Holds::Just(&[("a.txt", "a.txt"), ("sub/numbers.txt", "sub/numbers.txt")]);
const THREE: Holds =
    Holds::Just(&[("a.txt", "a.txt"), ("sub/empty.txt", "sub/empty.txt"), ("sub/numbers.txt", "sub/numbers.txt")]);

#[rustfmt::skip]
const INFO_ZIP: &[Row] = &[
    ("zip", "plain", TWO, r#"zip -q "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "stored", TWO, r#"zip -q -0 "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "hardest", TWO, r#"zip -q -9 "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "folders", Holds::All, r#"utf8_locale; zip -qr "$OUT" ."#),
    ("zip", "no extra fields", Holds::All, r#"utf8_locale; zip -qrX "$OUT" ."#),
    ("zip", "no folders", Holds::All, r#"utf8_locale; zip -qrD "$OUT" ."#),
    ("zip", "a comment", TWO, r#"echo 'a comment' | zip -qz "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "ZIP64", TWO, r#"zip -q -fz "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "descriptors", THREE, r#"zip -q -fd "$OUT" a.txt sub/numbers.txt sub/empty.txt"#),
    ("zip", "to a pipe", THREE, r#"zip -q - a.txt sub/numbers.txt sub/empty.txt | cat > "$OUT""#),
    ("zip", "folders to a pipe", Holds::All, r#"utf8_locale; zip -qr - . | cat > "$OUT""#),
    ("zip", "to a pipe, no ZIP64", TWO, r#"zip -q -fz- - a.txt sub/numbers.txt | cat > "$OUT""#),
    ("zip", "updated", TWO, r#"zip -q "$OUT" a.txt; zip -q -u "$OUT" sub/numbers.txt a.txt"#),
    ("zip", "grown", TWO, r#"zip -q "$OUT" a.txt; zip -q -g "$OUT" sub/numbers.txt"#),
    ("zip", "deleted from", TWO, r#"zip -q "$OUT" a.txt run.sh sub/numbers.txt; zip -qd "$OUT" run.sh"#),
    ("zip", "streamed, deleted from", TWO, r#"zip -q - a.txt run.sh sub/numbers.txt | cat > "$OUT"; zip -qd "$OUT" run.sh"#),
    ("zip", "synchronised", Holds::All, r#"utf8_locale; zip -q "$OUT" a.txt; zip -qr -FS "$OUT" ."#),
];

#[rustfmt::skip]
const SEVEN_ZIP: &[Row] = &[
    ("7z", "plain", Holds::All, r#"7z a -tzip -bso0 "$OUT" ."#),
    ("7z", "stored", Holds::All, r#"7z a -tzip -mx=0 -bso0 "$OUT" ."#),
    ("7z", "hardest", Holds::All, r#"7z a -tzip -mx=9 -bso0 "$OUT" ."#),
    ("7z", "UTF-8 always", Holds::All, r#"7z a -tzip -mcu=on -bso0 "$OUT" ."#),
    ("7z", "all times", Holds::All, r#"7z a -tzip -mtc=on -mta=on -bso0 "$OUT" ."#),
    ("7z", "to a pipe", Holds::All, r#"7z a -tzip -so x . 2> /dev/null | cat > "$OUT""#),
    ("7z", "updated", Holds::All, r#"7z a -tzip -bso0 "$OUT" a.txt; 7z u -tzip -bso0 "$OUT" ."#),
    ("7zz", "plain", Holds::All, r#"7zz a -tzip -bso0 "$OUT" ."#),
];

#[rustfmt::skip]
const PYTHON: &[Row] = &[
    ("python3", "stored", Holds::All, r#"python3 "$PEERS/archive.py" stored "$OUT""#),
    ("python3", "deflated", Holds::All, r#"python3 "$PEERS/archive.py" deflated "$OUT""#),
    ("python3", "strings", TWO, r#"python3 "$PEERS/archive.py" strings "$OUT""#),
    ("python3", "unseekable", Holds::All, r#"python3 "$PEERS/archive.py" unseekable "$OUT""#),
    ("python3", "ZIP64", TWO, r#"python3 "$PEERS/archive.py" zip64 "$OUT""#),
    ("python3", "unseekable ZIP64", TWO, r#"python3 "$PEERS/archive.py" "unseekable zip64" "$OUT""#),
    ("python3", "a comment", TWO, r#"python3 "$PEERS/archive.py" comment "$OUT""#),
    ("python3", "appended", TWO, r#"python3 "$PEERS/archive.py" appended "$OUT""#),
    ("python3", "empty", Holds::Just(&[]), r#"python3 "$PEERS/archive.py" empty "$OUT""#),
    ("python3", "make_archive", Holds::All, r#"python3 "$PEERS/archive.py" make_archive "$OUT""#),
];

#[rustfmt::skip]
const MANY: &[Row] = &[
    ("python3", "65,535 entries", Holds::Numbers(65_535), r#"python3 "$PEERS/archive.py" 65535 "$OUT""#),
    ("python3", "65,537 entries", Holds::Numbers(65_537), r#"python3 "$PEERS/archive.py" 65537 "$OUT""#),
];

#[rustfmt::skip]
const OTHERS: &[Row] = &[
    ("jar", "with a manifest", Holds::All, r#"jar cf "$OUT" ."#),
    ("jar", "without a manifest", Holds::All, r#"jar cfM "$OUT" ."#),
    ("jar", "stored", Holds::All, r#"jar cf0 "$OUT" ."#),
    ("jar", "to a pipe", Holds::All, r#"jar c . | cat > "$OUT""#),
    ("jar", "updated", Holds::All, r#"jar cf "$OUT" .; jar uf "$OUT" a.txt"#),
    ("java", "ZipOutputStream", TWO, r#"java "$PEERS/Stream.java" > "$OUT""#),
    ("bsdtar", "by extension", Holds::All, r#"bsdtar -a -cf "$OUT" *"#),
    ("bsdtar", "from a tar", TWO, r#"tar -cf - a.txt sub/numbers.txt | bsdtar -a -cf "$OUT" @-"#),
    ("bsdtar", "its own field", TWO, r#"bsdtar --format zip --options zip:experimental -cf "$OUT" a.txt sub/numbers.txt"#),
    ("git", "plain", Holds::All, r#"repository; git archive --format=zip -o "$OUT" HEAD"#),
    ("git", "stored", Holds::All, r#"repository; git archive --format=zip -0 -o "$OUT" HEAD"#),
    ("git", "hardest", Holds::All, r#"repository; git archive --format=zip -9 HEAD > "$OUT""#),
    ("git", "below a prefix", Holds::Below("p-1/"), r#"repository; git archive --format=zip --prefix=p-1/ HEAD > "$OUT""#),
    ("git", "large files", Holds::All, r#"repository; git -c core.bigFileThreshold=1k archive --format=zip HEAD > "$OUT""#),
    ("git", "nothing", Holds::Just(&[]), r#"repository; git archive --format=zip $(git hash-object -t tree -w /dev/null) > "$OUT""#),
];

/// A tool, what it is made to do, the rule that refuses the archive, and why the rule stays.
type Refused = (&'static str, &'static str, &'static str, &'static str, &'static str);

#[rustfmt::skip]
const REFUSED: &[Refused] = &[
    ("zip", "stored to a pipe", "zip-descriptor-stored",
        "nothing tells stored data from a descriptor in it",
        r#"zip -q -0 - a.txt | cat > "$OUT""#),
    ("python3", "stored, unseekable", "zip-descriptor-stored",
        "nothing tells stored data from a descriptor in it",
        r#"python3 "$PEERS/archive.py" "unseekable stored" "$OUT""#),
    ("bsdtar", "stored", "zip-descriptor-stored",
        "nothing tells stored data from a descriptor in it",
        r#"bsdtar --format zip --options zip:compression=store -cf "$OUT" a.txt"#),
    ("zip", "symbolic links", "zip-link",
        "some readers make a link, some a file that holds its target",
        r#"ln -s a.txt "$WORK/link"; cd "$WORK"; zip -qy "$OUT" link"#),
    ("zip", "from a pipe", "zip64-locator",
        "ZIP64 end records that no field of the end record asks for; besides, the mode says pipe",
        r#"echo x | zip -q "$OUT" -"#),
    ("7z", "from a pipe", "zip-special-file zip-version-differs",
        "the mode says pipe: some readers would make one, most make a file",
        r#"7z a -tzip -bso0 -siname "$OUT" < <(echo x)"#),
    ("zip", "UTF-8 names without the locale that it asks for", "name-encoding",
        "the names are UTF-8 for some readers, CP437 for others",
        r#"mkdir "$WORK/none"; LOCPATH="$WORK/none" zip -q "$OUT" *.txt"#),
    ("zip", "from a file as input", "zip64-locator",
        "ZIP64 end records that no field of the end record asks for: some readers take them, some don't, some refuse",
        r#"zip -q "$OUT" - < a.txt"#),
    ("bsdtar", "ZIP64", "zip64-locator",
        "ZIP64 end records that no field of the end record asks for: some readers take them, some don't, some refuse",
        r#"bsdtar --format zip --options zip:zip64 -cf "$OUT" a.txt sub/numbers.txt"#),
    ("zip", "ZIP64 to a pipe", "zip64-locator",
        "the directory's offset is all ones and its ZIP64 record was forgotten: some readers look elsewhere for it",
        r#"zip -q -fz - a.txt | cat > "$OUT""#),
    ("zip", "ZIP64, then updated", "zip64-extra",
        "ZIP64 sizes that no field asks for: some readers believe them, some pass over them",
        r#"zip -q -fz "$OUT" a.txt; zip -q "$OUT" run.sh"#),
    ("bsdtar", "to a pipe", "zip-trailing-bytes",
        "zeros fill up the last block: bytes that belong to nothing",
        r#"bsdtar -c --format zip a.txt | cat > "$OUT""#),
    ("bsdtar", "the folder itself", "name-unsafe",
        "some readers keep a name of ./a.txt apart from a.txt",
        r#"bsdtar --format zip -cf "$OUT" ./a.txt"#),
    ("python3", "bzip2", "zip-method-unsupported",
        "not every reader knows the method",
        r#"python3 "$PEERS/archive.py" bzip2 "$OUT""#),
];

/// The files that go into archives.
fn sources(root: &Path) -> PathBuf {
    let folder = root.join("sources");
    fs::create_dir_all(folder.join("sub/deep")).unwrap();
    fs::create_dir(folder.join("none")).unwrap();
    let mut numbers = String::new();
    (0..5000).for_each(|number| writeln!(numbers, "{number}").unwrap());
    let mut state = 1u32;
    let noise = (0..5000).map(|_| {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    });
    let files: [(&str, Vec<u8>); 7] = [
        ("a.txt", b"hello\n".to_vec()),
        ("run.sh", b"#!/bin/sh\n".to_vec()),
        ("gr\u{fc}n.txt", b"x".to_vec()),
        ("\u{65e5}\u{672c}\u{8a9e}.txt", b"ja".to_vec()),
        ("sub/empty.txt", Vec::new()),
        ("sub/numbers.txt", numbers.into_bytes()),
        ("sub/deep/noise.bin", noise.collect()),
    ];
    for (name, content) in files {
        fs::write(folder.join(name), content).unwrap();
    }
    fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755)).unwrap();
    folder
}

fn file(path: &Path) -> (u64, Sha256) {
    let content = fs::read(path).unwrap();
    (content.len() as u64, Sha256::of(&content))
}

fn files(folder: &Path, prefix: &str) -> Tree {
    let mut tree = Tree::new();
    for item in fs::read_dir(folder).unwrap().map(Result::unwrap) {
        let name = format!("{prefix}{}", item.file_name().to_str().unwrap());
        if item.file_type().unwrap().is_dir() {
            tree.append(&mut files(&item.path(), &format!("{name}/")));
        } else {
            tree.insert(name, file(&item.path()));
        }
    }
    tree
}

fn expected(holds: Holds, sources: &Path) -> Tree {
    match holds {
        Holds::All => files(sources, ""),
        Holds::Below(prefix) => files(sources, prefix),
        Holds::Just(pairs) => pairs.iter().map(|(name, of)| ((*name).to_owned(), file(&sources.join(of)))).collect(),
        Holds::Numbers(count) => (0..count).map(|number| (number.to_string(), (0, Sha256::of(b"")))).collect(),
    }
}

/// Runs one script; the archive that it wrote, or none without its tool.
fn written(tool: &str, what: &str, script: &str, sources: &Path) -> Option<(tempfile::TempDir, PathBuf)> {
    let work = tempfile::tempdir().unwrap();
    fs::create_dir(work.path().join("work")).unwrap();
    let out = work.path().join("out.zip");
    let Some(output) = peers::run(tool, script, sources, &out, &work.path().join("work")) else {
        skipped(&format!("{tool}, {what}: the tool is not there"));
        return None;
    };
    assert!(output.status.success(), "{tool}, {what}: {}", String::from_utf8_lossy(&output.stderr));
    Some((work, out))
}

fn all_are_accepted(rows: &[Row]) {
    let root = tempfile::tempdir().unwrap();
    let sources = sources(root.path());
    let mut wrong = Vec::new();
    for (tool, what, holds, script) in rows {
        let Some((_work, out)) = written(tool, what, script, &sources) else { continue };
        match peers::read(&out) {
            Err(codes) => wrong.push(format!("{tool}, {what}: refused for {}", codes.join(", "))),
            Ok(mut tree) => {
                // Folders hold nothing; a jar has a manifest besides.
                tree.retain(|name, _| !name.ends_with('/') && !name.starts_with("META-INF/"));
                if tree != expected(*holds, &sources) {
                    wrong.push(format!("{tool}, {what}: holds {:?}", tree.keys().take(20).collect::<Vec<_>>()));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn info_zip() {
    all_are_accepted(INFO_ZIP);
}

#[test]
fn seven_zip() {
    all_are_accepted(SEVEN_ZIP);
}

#[test]
fn python() {
    all_are_accepted(PYTHON);
}

#[test]
fn more_entries_than_a_count_has_bits_for() {
    all_are_accepted(MANY);
}

#[test]
fn jar_bsdtar_and_git() {
    all_are_accepted(OTHERS);
}

#[test]
fn what_readers_take_differently_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let sources = sources(root.path());
    let mut wrong = Vec::new();
    for (tool, what, codes, reason, script) in REFUSED {
        let Some((_work, out)) = written(tool, what, script, &sources) else { continue };
        let verdict = peers::verdict(&out);
        if verdict != *codes {
            wrong.push(format!("{tool}, {what}: {verdict}, not {codes} because {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn rust() {
    let root = tempfile::tempdir().unwrap();
    let sources = sources(root.path());
    for large in [false, true] {
        let options = SimpleFileOptions::default().large_file(large);
        let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
        writer.add_directory("none", options).unwrap();
        for name in files(&sources, "").keys() {
            writer.start_file(name.as_str(), options).unwrap();
            writer.write_all(&fs::read(sources.join(name)).unwrap()).unwrap();
        }
        let path = root.path().join("rust.zip");
        fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
        let mut tree = peers::read(&path).unwrap();
        tree.remove("none/").unwrap();
        assert_eq!(tree, files(&sources, ""));
    }
}

/// Folders where a system keeps jars, which many tools wrote.
const JARS: &[&str] = &["/usr/share/java", "/usr/share/maven/lib", "/usr/lib/jvm"];

/// What jars are refused for: the same file twice for a file system without case, bits that readers set or drop, and
/// two times for one file.
const JAR_CODES: &[&str] = &["name-collision", "name-duplicate", "zip-mode-bits", "zip-time-differs"];

#[test]
fn jars_of_the_system() {
    let roots = JARS.iter().map(Path::new).filter(|root| root.is_dir());
    let jars: Vec<PathBuf> = roots
        .flat_map(|root| walkdir::WalkDir::new(root).max_depth(4).sort_by_file_name())
        .filter_map(Result::ok)
        .filter(|item| item.file_type().is_file() && item.path().extension().is_some_and(|end| end == "jar"))
        .map(walkdir::DirEntry::into_path)
        .take(60)
        .collect();
    if jars.is_empty() {
        skipped("jars of the system: there are none");
    }
    for jar in jars {
        if let Err(codes) = peers::read(&jar) {
            assert!(codes.iter().all(|code| JAR_CODES.contains(code)), "{}: {codes:?}", jar.display());
        }
    }
}
