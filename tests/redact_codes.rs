//! Every rule on what may be in a release is broken once, in one respect, and just that is found; without that one change
//! nothing is. These are the rules that hold for names, contents and the document of rules; those that take a repository
//! to break have their rows in the tests of exporting.
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

use std::collections::BTreeSet;
use std::path::Path;

use exhibit::error::Error;
use exhibit::finding::{Finding, RULES};
use exhibit::limits::{Limits, MAX_REDACTED};
use exhibit::redact::{Record, Rules, Scan, Tally};
use serde_json::{Value, json};

/// Codes of the family that a repository is needed to raise, each with the test that raises it.
const ELSEWHERE: &[(&str, &str)] = &[
    ("export-dirty", "a_working_tree_that_is_not_the_commit_is_refused"),
    ("export-link", "links_submodules_and_names_are_refused_unless_they_are_omitted"),
    ("export-submodule", "links_submodules_and_names_are_refused_unless_they_are_omitted"),
    ("export-run", "runs_are_retained_or_left_aside_but_never_unsaid"),
    ("export-untracked", "evidence_that_git_ignores_is_exported_where_it_is_committed_and_missed_where_it_is_not"),
    ("export-derivative", "a_manifest_of_an_earlier_release_keeps_its_redactions"),
    ("export-snapshot", "a_commit_that_is_not_there_is_told_or_disclosed"),
];

/// The rules and the files of a made-up release.
#[derive(Clone)]
struct Release {
    rules: Value,
    files: Vec<(String, Vec<u8>)>,
}

struct Row {
    code: &'static str,
    what: &'static str,
    change: fn(&mut Release),
}

const fn row(code: &'static str, what: &'static str, change: fn(&mut Release)) -> Row {
    Row { code, what, change }
}

const ROWS: &[Row] = &[
    row("export-name", "an environment file", |r| r.put("web/.env", "A=1\n")),
    row("export-name", "a key in capitals", |r| r.put("tls/SERVER.PEM", "none\n")),
    row("export-secret", "a token", |r| r.put("a.txt", format!("ghp{}{}\n", '_', "aB3dE6gH9j".repeat(4)))),
    row("export-opaque", "an xz file", |r| r.put("a.xz", b"\xfd7zXZ\0\0".to_vec())),
    row("export-private", "a pattern in a file that no glob names", |r| r.put("src/a.rs", "// /home/zoe/x\n")),
    row("export-private", "a private string in another file", |r| r.put("src/a.rs", "// by annabel\n")),
    row("export-private", "a private string in a name", |r| r.put("src/annabel.rs", "\n")),
    row("export-redaction", "matches nothing", |r| r.put("logs/a.log", "plain\n")),
    row("export-redaction", "a glob that is no file", |r| {
        r.rules["redactions"][0]["files"] = json!(["logs/*.log", "none/*.log"]);
    }),
    row("export-redaction", "a database", |r| r.put("logs/b.log", b"\0/home/annabel\n".to_vec())),
    row("export-redaction", "too large", |r| {
        r.put("logs/b.log", vec![b'\n'; usize::try_from(MAX_REDACTED).unwrap() + 1]);
    }),
    row("export-redaction", "matches again", |r| r.put("logs/b.log", "/ho/home/zoe;me/eve\n")),
    row("export-omission", "omits nothing", |r| r.add("omissions", json!({"files": "none/**", "reason": "r"}))),
    row("export-omission", "allows nothing", |r| {
        r.add("allowed", json!({"files": "README.md", "rule": "cache", "reason": "r"}));
    }),
];

impl Release {
    fn sound() -> Self {
        let rules = json!({
            "format": "exhibit-export/1",
            "project": "made-up",
            "redactions": [{
                "label": "home_path", "pattern": "/home/(?<private>[a-z]+);?", "replacement": "", "reason": "a name",
                "files": ["logs/*.log"], "matched_prefix": "/home/",
            }],
            "omissions": [
                {"files": "drafts/**", "reason": "no part of it"},
                {"files": "more/**", "reason": "no part of it", "optional": true},
            ],
            "allowed": [{"files": "docs/example.env", "rule": "environment-file", "reason": "an example"}],
        });
        let mut release = Self { rules, files: Vec::new() };
        for (path, text) in [
            ("README.md", "made data\n"),
            ("logs/a.log", "in /home/annabel/x\n"),
            ("logs/deep/c.log", "none\n"),
            ("drafts/deep/.env", "A=1\n"),
            ("docs/example.env", "A=\n"),
        ] {
            release.put(path, text);
        }
        release
    }

    fn put(&mut self, path: &str, content: impl Into<Vec<u8>>) {
        self.files.retain(|(file, _)| file != path);
        self.files.push((path.to_owned(), content.into()));
    }

    fn add(&mut self, list: &str, item: Value) {
        self.rules[list].as_array_mut().unwrap().push(item);
    }

    fn load(&self) -> Result<Rules, Error> {
        Rules::load(Path::new("export.json"), self.rules.to_string().as_bytes(), &Limits::default())
    }

    fn findings(&self) -> Vec<Finding> {
        let (rules, limits, folder) = (self.load().unwrap(), Limits::default(), tempfile::tempdir().unwrap());
        let (mut tally, mut findings, mut kept) = (Tally::default(), Vec::new(), Vec::new());
        for (path, content) in &self.files {
            // Each file could be worked on by another thread.
            let mut own = Tally::default();
            if rules.omitted(path, &mut own).is_none() {
                findings.extend(rules.check_name(path, &mut own));
                let applies = rules.applies(path, &mut own);
                match rules.redact(path, content.clone(), &mut own) {
                    Ok(redacted) if applies || redacted.record.is_none() => kept.push((path, redacted.bytes)),
                    Ok(_) => panic!("{path} was redacted without a rule"),
                    Err(finding) => findings.push(*finding),
                }
            }
            tally.merge(own);
        }
        let private = tally.private().clone();
        let scan = Scan::new(&rules, &private, folder.path(), &limits).unwrap();
        for (path, bytes) in kept {
            findings.extend(scan.name(path, &mut tally).iter().cloned());
            findings.extend(scan.content(path, &mut bytes.as_slice(), &mut tally).unwrap().iter().cloned());
        }
        findings.extend(rules.unused(&tally, &rules.document().recorded_labels()));
        findings
    }
}

#[test]
fn each_fault_of_a_release_gives_its_code_and_no_other() {
    assert_eq!(Release::sound().findings(), []);
    let mut wrong = Vec::new();
    for row in ROWS {
        let mut release = Release::sound();
        (row.change)(&mut release);
        let findings = release.findings();
        let codes: Vec<_> = findings.iter().map(|finding| finding.code.name()).collect();
        if codes != [row.code] {
            wrong.push(format!("{}, {}: {findings:?}", row.code, row.what));
        }
        if findings.iter().any(|finding| format!("{finding:?}").contains("annabel")) {
            wrong.push(format!("{}, {}: the private string is told: {findings:?}", row.code, row.what));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_code_of_the_family_has_a_row() {
    let known: BTreeSet<&str> = RULES.iter().map(|rule| rule.name).filter(|name| name.starts_with("export-")).collect();
    let rows: BTreeSet<&str> = ROWS.iter().map(|row| row.code).collect();
    let excepted: BTreeSet<&str> = ELSEWHERE.iter().map(|(code, _)| *code).collect();
    assert_eq!(known, rows.union(&excepted).copied().collect());
    assert!(rows.is_disjoint(&excepted), "an exception that has a row is none");
    let tests = ["exports.rs", "export_snapshots.rs"]
        .map(|name| std::fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").join(name)).unwrap());
    for (code, test) in ELSEWHERE {
        let body = tests.iter().find_map(|text| text.split_once(&format!("fn {test}() {{"))).unwrap().1;
        let body = body.split("\n#[test]").next().unwrap();
        assert!(body.contains(code), "{test} doesn't raise {code}");
    }
}

#[test]
fn a_redaction_that_was_applied_before_may_match_nothing() {
    let mut release = Release::sound();
    release.put("logs/a.log", "plain\n");
    assert_eq!(release.findings().len(), 1);
    release.rules["derivatives"] = json!([{
        "path": "logs/a.log", "rule": "other, home_path", "public_sha256": "0".repeat(64), "private_sha256": "1".repeat(64),
    }]);
    assert_eq!(release.findings(), []);
}

#[test]
fn a_content_is_redacted_in_the_order_of_the_rules_and_the_record_sums_up() {
    let mut release = Release::sound();
    let second = json!({
        "label": "host", "pattern": "host-[0-9]+", "replacement": "<HOST>", "reason": "a machine", "files": ["logs/**"],
        "matched_prefix": "host-",
    });
    release.add("redactions", second);
    let rules = release.load().unwrap();
    let redact = |path: &str, text: &str| {
        let mut tally = Tally::default();
        let redacted = rules.redact(path, text.into(), &mut tally).unwrap();
        (String::from_utf8(redacted.bytes).unwrap(), redacted.record, tally.private().len())
    };
    let record = |rule: &str, prefix: Option<&str>, occurrences| {
        Some(Record { rule: rule.to_owned(), matched_prefix: prefix.map(str::to_owned), occurrences })
    };
    let text = "host-1 /home/zoe/x /home/eve/x /home/zoe\n";
    let all = "<HOST> /x /x \n".to_owned();
    assert_eq!(redact("logs/a.log", text), (all, record("home_path, host", None, 4), 3));
    // `*` stays within a part, `**` does not.
    let one = text.replace("host-1", "<HOST>");
    assert_eq!(redact("logs/deep/a.log", text), (one, record("host", Some("host-"), 1), 1));
    assert_eq!(redact("a.log", text), (text.to_owned(), None, 0));
}

#[test]
fn every_fault_of_the_rules_is_named_with_its_place() {
    let mut release = Release::sound();
    let redaction = |label: &str, pattern: &str, replacement: &str, glob: &str| json!({"label": label, "pattern": pattern, "replacement": replacement, "files": [glob], "reason": "r"});
    release.rules["redactions"] = json!([
        redaction("a", "(", "", "a"),
        redaction("a", "x*", "", "["),
        redaction("b", "\\w{100000}", "", "a"),
        redaction("c", "[0-9]+", "<N1>", "a"),
    ]);
    release.rules["allowed"][0]["rule"] = json!("no-such-rule");
    release.rules["runs"] = json!([{"path": "r"}, {"path": "r"}]);
    release.rules["not_retained"] = json!([{"path": "r", "reason": "r"}]);
    let digest = "0".repeat(64);
    release.rules["derivatives"] = json!([{"path": "d", "rule": "a", "public_sha256": digest, "private_sha256": digest, "private_git_blob": null}]);
    let Err(Error::Document { faults, .. }) = release.load() else { panic!("the rules were taken") };
    let places: BTreeSet<&str> = faults.iter().map(|fault| fault.split(": ").next().unwrap()).collect();
    let expected = [
        "/redactions/0/pattern",
        "/redactions/1/pattern",
        "/redactions/1/files/0",
        "/redactions/1/label",
        "/redactions/2/pattern",
        "/redactions/3/replacement",
        "/allowed/0/rule",
        "/runs/1/path",
        "/not_retained/0/path",
        "/derivatives/0/private_sha256",
    ];
    assert_eq!(places, BTreeSet::from(expected), "{faults:?}");

    for (pointer, bad) in [
        ("/redactions/0/reason", json!("")),
        ("/redactions/0/files", json!([])),
        ("/redactions/0/label", json!("a, b")),
        ("/omissions/0/optional", json!(null)),
        ("/allowed/0/files", json!("[a")),
        ("/project", json!("Made Up")),
        ("/omissions/0/reason", json!("")),
        ("/allowed/0/reason", json!("")),
    ] {
        let mut release = Release::sound();
        *release.rules.pointer_mut(pointer).unwrap_or(&mut Value::Null) = bad.clone();
        if pointer.ends_with("optional") {
            release.rules["omissions"][0]["optional"] = bad;
        }
        let Err(Error::Document { faults, .. }) = release.load() else { panic!("{pointer} was taken") };
        assert!(faults.len() == 1 && faults[0].starts_with(pointer), "{pointer}: {faults:?}");
    }
    let mut newer = Release::sound();
    newer.rules["format"] = json!("exhibit-export/2");
    assert!(matches!(newer.load(), Err(Error::UnknownFormat { .. })));
    let mut least = Release::sound();
    least.rules = json!({"format": "exhibit-export/1", "project": "made-up"});
    assert!(least.load().is_ok());
}
