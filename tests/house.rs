//! Holds the habits of the source tree by reading it. Each rule is a function from a path and a text to faults, shown
//! to fail on a text made to break it.
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

use std::collections::BTreeSet;
use std::path::Path;

/// Rooms from the ground up, one level a row. A room uses rooms of lower rows; rooms of one row may use each other one
/// way. A new room gets its place here.
const LEVELS: &[&[&str]] = &[
    &["finding"],
    &["error"],
    &["digest", "name", "limits"],
    &["form"],
    &["json"],
    &["document"],
    &["zip"],
    &["tree"],
    &["manifest", "policy", "bag", "redact"],
    &["ledger", "transcript", "snapshot"],
    &["dialect"],
    &["run", "git"],
    &["history"],
    &["replay"],
    &["judge", "challenge"],
    &["archive"],
    &["report"],
    &["cli"],
];

const MAX_LINES: usize = 500;

/// Files that may be longer, with the reason.
const LONGER: &[(&str, &str)] = &[("src/finding/rules.rs", "one table, with a row for each code")];

/// What no source file says, and where it is allowed all the same.
const FORBIDDEN: &[(&str, &str)] = &[
    ("#[allow(", ""),
    ("#![allow(", ""),
    (".unwrap()", ""),
    ("todo!", ""),
    ("unimplemented!", ""),
    ("dbg!(", ""),
    ("macro_rules!", ""),
    ("async fn", ""),
    ("static mut", ""),
    ("thread_local!", ""),
    ("println!", "src/cli/"),
    ("print!", "src/cli/"),
    ("eprintln!", "src/cli/"),
    ("eprint!", "src/cli/"),
    ("env::", "src/cli/"),
    ("SystemTime::now", "src/cli/"),
    ("Instant::now", "src/cli/"),
    ("process::Command", ""),
    ("std::net", ""),
    ("from_utf8_lossy", "src/cli/"),
    ("to_string_lossy", "src/cli/"),
];

/// Words of switches that turn a check off: not even in a string, where an argument's name would stand.
const FORBIDDEN_WORDS: &[&str] = &["insecure", "skip_validation", "skip-validation"];

/// Marks of unfinished work: not even in a comment.
const LEFTOVERS: &[&str] = &["FIXME", "XXX"];

// ---- reading a source text ----

/// The text up to its unit tests.
fn without_tests(text: &str) -> &str {
    text.find("#[cfg(test)]\nmod tests {").and_then(|end| text.get(..end)).unwrap_or(text)
}

/// The text without comments, and without what stands in strings if `strings` is false. Lines stay where they are.
fn code(text: &str, strings: bool) -> String {
    let mut out = String::new();
    let mut rest = without_tests(text);
    while let Some(first) = rest.chars().next() {
        let (length, kind) = token(rest);
        let (taken, after) = rest.split_at(length);
        match kind {
            Kind::Comment => out.extend(taken.chars().filter(|c| *c == '\n')),
            Kind::Text if !strings => {
                out.push(first);
                out.extend(taken.chars().filter(|c| *c == '\n'));
                out.push('"');
            }
            Kind::Text | Kind::Code => out.push_str(taken),
        }
        rest = after;
    }
    out
}

#[derive(Debug, PartialEq, Eq)]
enum Kind {
    Comment,
    Text,
    Code,
}

/// Length and kind of what the text starts with: a comment, a string or character, a word, or one character of code.
fn token(text: &str) -> (usize, Kind) {
    let until =
        |mark: &str, from: usize| text.get(from..).and_then(|t| t.find(mark)).map_or(text.len(), |at| from + at);
    if text.starts_with("//") {
        return (until("\n", 2), Kind::Comment);
    }
    if text.starts_with("/*") {
        return ((until("*/", 2) + 2).min(text.len()), Kind::Comment);
    }
    let word = text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len());
    let after = text.get(word..).unwrap_or("");
    let hashes = after.len() - after.trim_start_matches('#').len();
    if matches!(text.get(..word), Some("r" | "br" | "cr")) && after.trim_start_matches('#').starts_with('"') {
        let close = format!("\"{}", "#".repeat(hashes));
        return ((until(&close, word + hashes + 1) + close.len()).min(text.len()), Kind::Text);
    }
    if word > 0 {
        return (word, Kind::Code);
    }
    if text.starts_with('"') {
        return (quoted(text, '"'), Kind::Text);
    }
    // A quote opens a character if one closes it after one character or an escape; otherwise it is a lifetime.
    let mut chars = text.chars();
    if chars.next() == Some('\'') && (chars.next() == Some('\\') || chars.next() == Some('\'')) {
        return (quoted(text, '\''), Kind::Text);
    }
    (text.chars().next().map_or(0, char::len_utf8), Kind::Code)
}

/// Length of a quoted text with backslash escapes.
fn quoted(text: &str, quote: char) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            c if c == quote => return at + 1,
            _ => {}
        }
    }
    text.len()
}

// ---- the rules ----

fn opening(path: &str, text: &str) -> Vec<String> {
    if text.starts_with("//! ") {
        return Vec::new();
    }
    vec![format!("{path}: doesn't open with //! and what it owns")]
}

fn size(path: &str, text: &str) -> Vec<String> {
    let lines = without_tests(text).lines().count();
    let longer = LONGER.iter().any(|(file, _)| *file == path);
    match path {
        "src/main.rs" if lines > 15 => vec![format!("{path}: {lines} lines, 15 at most")],
        _ if lines > MAX_LINES && !longer => vec![format!("{path}: {lines} lines without tests, {MAX_LINES} at most")],
        _ if lines <= MAX_LINES && longer => vec![format!("{path}: no longer needs its exception in LONGER")],
        _ => Vec::new(),
    }
}

fn module_name(path: &str, _text: &str) -> Vec<String> {
    path.split(['/', '.'])
        .filter(|part| ["util", "utils", "helper", "helpers", "common", "misc", "manager"].contains(part))
        .map(|part| format!("{path}: {part} says nothing of what it owns"))
        .collect()
}

fn forbidden(path: &str, text: &str) -> Vec<String> {
    let bare = code(text, false);
    let with_strings = code(text, true);
    let mut faults = Vec::new();
    for (mark, home) in FORBIDDEN {
        if (home.is_empty() || !path.starts_with(home)) && occurs(&bare, mark) {
            faults.push(format!("{path}: {mark}"));
        }
    }
    faults.extend(FORBIDDEN_WORDS.iter().filter(|word| with_strings.contains(*word)).map(|w| format!("{path}: {w}")));
    faults.extend(LEFTOVERS.iter().filter(|mark| text.contains(*mark)).map(|m| format!("{path}: {m}")));
    faults
}

/// Whether the mark stands in the text, not as the end of a longer word.
fn occurs(text: &str, mark: &str) -> bool {
    text.match_indices(mark).any(|(at, _)| {
        let before = text.get(..at).and_then(|t| t.chars().next_back()).unwrap_or(' ');
        !mark.starts_with(char::is_alphanumeric) || !(before.is_alphanumeric() || before == '_')
    })
}

fn serde_shape(path: &str, text: &str) -> Vec<String> {
    code(text, false)
        .split("#[serde(")
        .skip(1)
        .filter_map(|attribute| attribute.split(']').next())
        .flat_map(|attribute| ["flatten", "untagged"].into_iter().filter(|word| attribute.contains(word)))
        .map(|word| format!("{path}: serde {word} lets unknown fields through"))
        .collect()
}

fn public_traits(texts: &[(String, String)]) -> Vec<String> {
    let traits: Vec<_> = texts
        .iter()
        .flat_map(|(path, text)| vec![path.clone(); code(text, false).matches("pub trait ").count()])
        .collect();
    if traits.len() > 3 {
        vec![format!("{} public traits, three at most: {traits:?}", traits.len())]
    } else {
        Vec::new()
    }
}

/// The room that a file belongs to; none for the library's and the binary's root.
fn room(path: &str) -> Option<&str> {
    let inside = path.strip_prefix("src/")?;
    let room = inside.split('/').next()?.trim_end_matches(".rs");
    (!["lib", "main"].contains(&room)).then_some(room)
}

fn level(room: &str) -> Option<usize> {
    LEVELS.iter().position(|rooms| rooms.contains(&room))
}

/// The rooms that a file names in paths from the crate's root.
fn used_rooms(path: &str, text: &str) -> BTreeSet<String> {
    let depth = path.trim_start_matches("src/").trim_end_matches("/mod.rs").split('/').count();
    let to_root = "super::".repeat(depth);
    let code: String = code(text, false).split_whitespace().collect::<Vec<_>>().join(" ").replace(":: ", "::");
    ["crate::", &to_root]
        .into_iter()
        .flat_map(|root| code.match_indices(root).map(move |(at, _)| at + root.len()))
        .filter_map(|at| code.get(at..))
        .filter(|after| !after.starts_with("super::"))
        .flat_map(first_names)
        .collect()
}

/// The first name of a path, or of each path of a braced list.
fn first_names(path: &str) -> Vec<String> {
    let name = |text: &str| text.trim().chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect::<String>();
    let Some(list) = path.strip_prefix('{') else { return vec![name(path)] };
    let mut depth = 0;
    let mut names = vec![name(list)];
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => break,
            '}' => depth -= 1,
            ',' if depth == 0 => names.push(name(list.get(at + 1..).unwrap_or(""))),
            _ => {}
        }
    }
    names.retain(|name| !name.is_empty());
    names
}

fn imports(texts: &[(String, String)]) -> Vec<String> {
    let mut faults = Vec::new();
    let mut edges = BTreeSet::new();
    for (path, text) in texts {
        let Some(from) = room(path) else { continue };
        if level(from).is_none() {
            faults.push(format!("{path}: the room {from} has no place in LEVELS"));
        }
        for to in used_rooms(path, text).into_iter().filter(|to| to != from) {
            match (level(from), level(&to)) {
                (Some(low), Some(high)) if low < high => {
                    faults.push(format!("{path}: {from} uses {to}, which is above"));
                }
                (Some(_), None) => faults.push(format!("{path}: {to} is no room")),
                _ => {}
            }
            edges.insert((from.to_owned(), to));
        }
    }
    let mutual = |(from, to): &&(String, String)| from < to && edges.contains(&(to.clone(), from.clone()));
    faults.extend(edges.iter().filter(mutual).map(|(from, to)| format!("{from} and {to} use each other")));
    faults
}

fn versions(cargo: &str, citation: &str, changelog: &str) -> Vec<String> {
    let after = |text: &str, mark: &str, end: &[char]| {
        text.lines().find_map(|line| line.strip_prefix(mark)?.split(end).next().map(|v| v.trim().to_owned()))
    };
    let all = [
        after(cargo, "version = \"", &['"']),
        after(citation, "version: ", &[' ']).map(|v| v.trim_matches(['"', '\'']).to_owned()),
        after(changelog, "## [", &[']']),
    ];
    if all.iter().all(|version| version.is_some() && *version == all[0]) {
        return Vec::new();
    }
    vec![format!("versions of Cargo.toml, CITATION.cff and CHANGELOG.md differ: {all:?}")]
}

fn exit_codes(readme: &str) -> Vec<String> {
    ["0", "1", "2", "3", "101"]
        .iter()
        .filter(|code| !readme.lines().any(|line| line.starts_with(&format!("| {code} |"))))
        .map(|code| format!("README.md: the exit code {code} has no row"))
        .collect()
}

// ---- the tree ----

fn file(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn every_source() -> Vec<(String, String)> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let texts: Vec<_> = walkdir::WalkDir::new(root.join("src"))
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.expect("the source tree can be read").into_path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rs"))
        .map(|path| path.strip_prefix(root).expect("it is below the root").to_str().expect("it is UTF-8").to_owned())
        .map(|name| (name.clone(), file(&name)))
        .collect();
    assert!(texts.iter().any(|(path, _)| path == "src/main.rs"), "the source tree was not found");
    texts
}

/// The source files that are in the program, not only in its tests.
fn sources() -> Vec<(String, String)> {
    let all = every_source();
    let for_tests: Vec<_> = all.iter().flat_map(|(path, text)| test_modules(path, text)).collect();
    all.into_iter().filter(|(path, _)| !for_tests.contains(path)).collect()
}

/// The files of modules that a file declares for tests only.
fn test_modules(path: &str, text: &str) -> Vec<String> {
    let folder = path.rsplit_once('/').map_or("", |(folder, _)| folder);
    let folder = match path.rsplit('/').next() {
        Some("mod.rs" | "lib.rs" | "main.rs") => folder.to_owned(),
        _ => path.trim_end_matches(".rs").to_owned(),
    };
    let declared = text.split("#[cfg(test)]\n").skip(1).filter_map(|after| after.lines().next()?.strip_suffix(';'));
    let names = declared.filter_map(|line| line.split_once("mod ").map(|(_, name)| name));
    names.flat_map(|name| [format!("{folder}/{name}.rs"), format!("{folder}/{name}/mod.rs")]).collect()
}

fn in_every_source(rule: fn(&str, &str) -> Vec<String>) -> Vec<String> {
    sources().iter().flat_map(|(path, text)| rule(path, text)).collect()
}

const NONE: &[String] = &[];

#[test]
fn every_file_opens_with_what_it_owns() {
    let faults: Vec<_> = every_source().iter().flat_map(|(path, text)| opening(path, text)).collect();
    assert_eq!(faults, NONE);
    assert_eq!(opening("src/a.rs", "use std::fs;\n//! late\n").len(), 1);
}

#[test]
fn files_stay_short() {
    assert_eq!(in_every_source(size), NONE);
    let long = "//! x\n".repeat(MAX_LINES + 1);
    assert_eq!(size("src/zip/read.rs", &long).len(), 1);
    assert_eq!(size("src/main.rs", &"\n".repeat(16)).len(), 1);
    let tested = format!("{}#[cfg(test)]\nmod tests {{\n{}}}\n", "\n".repeat(MAX_LINES), "\n".repeat(MAX_LINES));
    assert_eq!(size("src/zip/read.rs", &tested), NONE);
    for (path, _) in LONGER {
        assert_eq!(size(path, &long), NONE);
        assert_eq!(size(path, "//! x\n").len(), 1, "an exception that nothing needs must be found");
        assert!(sources().iter().any(|(source, _)| source == path), "{path} is gone");
    }
}

#[test]
fn modules_are_named_after_what_they_own() {
    assert_eq!(in_every_source(module_name), NONE);
    for bad in ["src/util.rs", "src/zip/helpers.rs", "src/common/mod.rs", "src/manager.rs"] {
        assert_eq!(module_name(bad, "").len(), 1, "{bad}");
    }
}

#[test]
fn nothing_forbidden_is_said() {
    assert_eq!(in_every_source(forbidden), NONE);
    for (mark, home) in FORBIDDEN {
        let bad = format!("//! x\nfn f() {{ {mark} }}\n");
        assert!(!forbidden("src/zip/read.rs", &bad).is_empty(), "{mark}");
        if !home.is_empty() {
            assert_eq!(forbidden(&format!("{home}list.rs"), &bad), NONE, "{mark}");
        }
        let told =
            format!("//! not {mark}\nconst A: &str = \"{mark}\"; // {mark}\n#[cfg(test)]\nmod tests {{ {mark} }}\n");
        assert_eq!(forbidden("src/zip/read.rs", &told), NONE, "{mark}");
    }
    for word in FORBIDDEN_WORDS {
        assert!(!forbidden("src/cli/list.rs", &format!("#[arg(long = \"{word}\")]")).is_empty(), "{word}");
    }
    for mark in LEFTOVERS {
        assert!(!forbidden("src/cli/list.rs", &format!("// {mark}: later")).is_empty(), "{mark}");
    }
}

#[test]
fn input_types_let_no_unknown_field_through() {
    assert_eq!(in_every_source(serde_shape), NONE);
    assert_eq!(serde_shape("src/a.rs", "#[serde(default, flatten)]\nx: X,").len(), 1);
    assert_eq!(serde_shape("src/a.rs", "#[serde(untagged)]\nenum E {}").len(), 1);
    assert_eq!(serde_shape("src/a.rs", "iter.flatten(); // #[serde(flatten)]\n"), NONE);
}

#[test]
fn public_traits_are_few() {
    assert_eq!(public_traits(&sources()), NONE);
    let bad: Vec<_> = (0..4).map(|n| (format!("src/{n}.rs"), "pub trait T {}\n".to_owned())).collect();
    assert_eq!(public_traits(&bad).len(), 1);
}

#[test]
fn imports_point_down_only() {
    assert_eq!(imports(&sources()), NONE);
    let one = |path: &str, text: &str| imports(&[(path.to_owned(), text.to_owned())]);
    for (path, bad) in [
        ("src/zip/read.rs", "use crate::tree::Inventory;"),
        ("src/zip/read.rs", "fn f() { crate::cli::run(); }"),
        ("src/zip/read.rs", "use crate::{\n    digest::{Sha256, Sha1},\n    tree::Inventory,\n};"),
        ("src/zip/read.rs", "use super::super::tree::Inventory;"),
        ("src/zip/mod.rs", "use super::tree::Inventory;"),
        ("src/limits.rs", "use super::{cli};"),
        ("src/finding/code.rs", "use crate::error::Error;"),
        ("src/attic.rs", ""),
        ("src/zip/read.rs", "use crate::attic::Old;"),
    ] {
        assert_eq!(one(path, bad).len(), 1, "{path}: {bad}");
    }
    for (path, good) in [
        ("src/zip/read.rs", "//! [`crate::cli`]\nuse crate::name::EntryName;\nuse super::tree;\nuse crate::zip::X;\n"),
        (
            "src/tree/mod.rs",
            "use crate::{error::Error, zip::{self, Zip}};\n#[cfg(test)]\nmod tests { use crate::cli; }",
        ),
        ("src/lib.rs", "pub use crate::cli::run;"),
    ] {
        assert_eq!(one(path, good), NONE, "{path}: {good}");
    }
    let mutual = [("src/bag.rs", "use crate::policy::P;"), ("src/policy.rs", "use crate::bag::B;")];
    assert_eq!(imports(&mutual.map(|(path, text)| (path.to_owned(), text.to_owned()))).len(), 1);
}

#[test]
fn one_version_everywhere() {
    assert_eq!(versions(&file("Cargo.toml"), &file("CITATION.cff"), &file("CHANGELOG.md")), NONE);
    let [cargo, citation, changelog] =
        ["version = \"0.1.0\"\n", "version: 0.1.0\n", "# Changes\n## [0.1.0] - Unreleased\n"];
    assert_eq!(versions(cargo, citation, changelog), NONE);
    assert_eq!(versions("version = \"0.2.0\"\n", citation, changelog).len(), 1);
    assert_eq!(versions(cargo, "version: 0.0.9\n", changelog).len(), 1);
    assert_eq!(versions(cargo, citation, "## [0.2.0]\n## [0.1.0]\n").len(), 1);
    assert_eq!(versions("", "", "").len(), 1);
}

#[test]
fn the_readme_names_every_exit_code() {
    assert_eq!(exit_codes(&file("README.md")), NONE);
    assert_eq!(exit_codes("| 0 | a |\n| 1 | b |\n| 2 | c |\n| 101 | e |\n").len(), 1);
}

#[test]
fn modules_for_tests_are_told_from_the_program() {
    let text = "mod a;\n#[cfg(test)]\npub(crate) mod samples;\n#[cfg(test)]\nmod tests {\n}\n";
    assert_eq!(test_modules("src/zip/mod.rs", text), ["src/zip/samples.rs", "src/zip/samples/mod.rs"]);
    assert_eq!(test_modules("src/zip.rs", text).first().map(String::as_str), Some("src/zip/samples.rs"));
    assert_eq!(test_modules("src/lib.rs", text).first().map(String::as_str), Some("src/samples.rs"));
}

#[test]
fn comments_and_strings_are_told_from_code() {
    let text = "a /* b */ \"c // d\" e // f\n'\"' g 'static h r#\"i \" j\"# k b'\\'' l \"m\\\" n\" o";
    let bare = code(text, false);
    for word in ["a", "e", "g", "static", "h", "k", "l", "o"] {
        assert!(occurs(&bare, word), "{word} was lost: {bare}");
    }
    for word in ["b ", "c ", "d\"", "f", "i ", "j", "m", "n"] {
        assert!(!occurs(&bare, word), "{word} was kept: {bare}");
    }
    let both = code(text, true);
    assert!(both.contains("c // d") && !both.contains('f') && both.lines().count() == 2, "{both}");
}
