//! Owns the tests of this room: every code by one mutation of a valid release, beside its valid twin.

use serde_json::{Value, json};

use super::historical::Version;
use super::samples::*;
use super::*;
use crate::error::Error;
use crate::finding::Code;
use crate::limits::Limits;
use crate::policy::{Approved, Policy};

fn own_value() -> Value {
    serde_json::to_value(document()).unwrap()
}

/// The findings of the own manifest after one mutation, still in canonical form.
fn own_places(mutate: impl FnOnce(&mut Value)) -> Vec<(Code, String)> {
    let mut value = own_value();
    mutate(&mut value);
    places(&read_with(&crate::json::canonical(&value).unwrap(), None).unwrap().1)
}

#[test]
fn every_format_answers_alike() {
    let own = Manifest::Own(own());
    let id = own.content_id().unwrap();
    assert_eq!(own.root_name(), format!("study-{}", id.short()));
    assert_eq!((own.project(), own.kind(), own.format()), ("study", Kind::Release, "exhibit-manifest/1"));
    assert_eq!(own.created().unwrap().as_str(), "2026-09-22T22:01:29Z");
    assert_eq!((own.declared().count(), own.runs().len()), (3, 2));
    assert!(own.derivatives().keys().eq(&["logs/a.log"]));
    let said = own.assertions();
    assert_eq!(said.len(), 3, "{said:#?}");
    assert_eq!(own.omissions().len(), 2);
    assert!(said[0].starts_with("logs/a.log: the private original's SHA-256 "));

    for (version, format) in [
        (Version::V1, "tracked-source-export-v1"),
        (Version::V2, "public-source-export-v2"),
        (Version::V3, "public-source-export-v3"),
    ] {
        let old = Manifest::Historical(historical(version));
        assert_eq!((old.project(), old.kind(), old.format()), ("study", Kind::Release, format));
        assert_eq!(old.root_name(), format!("study-{}", &COMMIT[..8]));
        assert_eq!((old.content_id(), old.created(), old.runs().len()), (None, None, 0));
        let derivative = old.derivatives()["logs/a.log"];
        assert_eq!((derivative.rule.as_str(), derivative.private_sha256), ("home", Sha256::of(b"at /home/me\n")));
        assert_eq!(derivative.private_git_blob, Some(GitBlob::of(b"at /home/me\n")));
        assert_eq!(old.assertions().len(), 5, "{:#?}", old.assertions());
        let blobs = format!("the git blob ids, in {format} those of the originals, are asserted, not rechecked");
        assert_eq!(old.assertions().contains(&blobs), version != Version::V3);
        assert_eq!(
            old.declared().filter(|file| file.git_blob.is_some()).count(),
            if version == Version::V3 { 3 } else { 0 }
        );
    }
}

#[test]
fn a_written_manifest_is_read_back_and_follows_its_schema() {
    let bytes = own().to_bytes().unwrap();
    let (manifest, findings) = read_with(&bytes, None).unwrap();
    assert_eq!(places(&findings), []);
    assert_eq!(manifest, Some(Manifest::Own(own())));
    assert_eq!(own().content_id(), Sha256::of(&bytes));

    let schema = serde_json::from_str(include_str!("../../schemas/exhibit-manifest-1.json")).unwrap();
    let schema = jsonschema::draft202012::new(&schema).unwrap();
    let valid = |document: Document| schema.is_valid(&serde_json::to_value(document).unwrap());
    assert!(valid(document()));
    let bare = Document { source: None, created: None, files: vec![], omissions: vec![], runs: vec![], ..document() };
    assert!(valid(bare));
    let mut wrong = own_value();
    wrong["files"][0]["mode"] = "0600".into();
    assert!(!schema.is_valid(&wrong));
}

#[test]
fn writing_sorts_and_refuses_what_reading_would_find() {
    let mut shuffled = document();
    shuffled.files.reverse();
    shuffled.omissions.reverse();
    assert_eq!(Own::new(shuffled).unwrap(), own());
    let mut twice = document();
    twice.files.push(file("README.md", "other"));
    assert!(matches!(Own::new(twice), Err(Error::WouldNotVerify(_))));
}

#[test]
fn own_fields_have_one_form() {
    assert_eq!(own_places(|_| {}), []);
    let field = |pointer: &str| vec![(Code::ManifestField, pointer.to_owned())];
    for (pointer, bad) in [
        ("/kind", json!("zip")),
        ("/project", json!("Study")),
        ("/source/commit", json!("c".repeat(39))),
        ("/created", json!("2026-09-22 22:01:29")),
        ("/files/0/path", json!("../x")),
        ("/files/0/size", json!(true)),
        ("/files/0/size", json!(6.5)),
        ("/files/0/size", json!(1_u64 << 53)),
        ("/files/0/mode", json!("100644")),
        ("/files/0/sha256", json!("A".repeat(64))),
        ("/files/0/git_blob", json!("a".repeat(64))),
        ("/files/0/role", json!("readme")),
        ("/files/1/derivative/rule", json!("")),
        ("/files/1/derivative/occurrences", json!("1")),
        ("/omissions/0/reason", json!("")),
        ("/runs/0/matrix", json!("/abs")),
        ("/runs/0/standing", json!("failed_evidence")),
        ("/runs/1/faults/0/code", json!("")),
    ] {
        let found = own_places(|value| *value.pointer_mut(pointer).unwrap() = bad.clone());
        // serde names an enum's variant, or the text of a field beside it, as part of the path.
        assert!(found.len() == 1 && found[0].0 == Code::ManifestField, "{pointer} {bad}: {found:?}");
        assert!(found[0].1.starts_with(pointer), "{pointer}: {found:?}");
    }
    assert_eq!(own_places(|value| value["more"] = json!(1)), field("/more"));
    assert_eq!(own_places(|value| value["files"][0] = json!([])), field("/files/0"));
    for key in ["kind", "source", "created", "files", "omissions", "runs"] {
        assert_eq!(own_places(|value| remove(value, key))[0].0, Code::ManifestField, "{key}");
    }
    assert_eq!(own_places(|value| remove(&mut value["files"][0], "derivative"))[0].0, Code::ManifestField);
    assert_eq!(own_places(|value| remove(&mut value["runs"][0], "dialect"))[0].0, Code::ManifestField);
}

#[test]
fn own_rules_are_each_checked() {
    let one = |code: Code, pointer: &str| vec![(code, pointer.to_owned())];
    let swap = |list: &str| own_places(|value| value[list].as_array_mut().unwrap().swap(0, 1));
    assert_eq!(swap("files"), one(Code::ManifestOrder, "/files/1/path"));
    assert_eq!(swap("omissions"), one(Code::ManifestOrder, "/omissions/1/path"));
    assert_eq!(swap("runs"), one(Code::ManifestOrder, "/runs/1/path"));

    let path = |index: usize, text: &str| own_places(|value| value["files"][index]["path"] = text.into());
    for (index, text) in [
        (0, MANIFEST),
        (0, "a/.git/config"),
        (0, "a/.GIT"),
        (1, "README.md"),
        (1, "ReadMe.md"),
        (1, "README.md/x"),
        (0, "export-manifest.json"),
    ] {
        let found = path(index, text);
        assert!(found.iter().any(|(code, _)| *code == Code::ManifestPath), "{text}: {found:?}");
        assert!(found.iter().all(|(code, _)| matches!(code, Code::ManifestPath | Code::ManifestOrder)), "{found:?}");
    }
    assert_eq!(path(0, "A.md"), []);
    assert_eq!(path(1, "README.md"), one(Code::ManifestPath, "/files/1/path"));
    let found = own_places(|value| value["runs"][1]["path"] = "logs".into());
    assert_eq!(found, one(Code::ManifestPath, "/runs/1/path"));

    let found = own_places(|value| value["omissions"][1]["path"] = "logs/a.log".into());
    assert_eq!(found, one(Code::ManifestOmission, "/omissions/1/path"));
    let found = own_places(|value| value["omissions"][1]["path"] = "keys/a".into());
    assert_eq!(found, one(Code::ManifestOmission, "/omissions/0/path"));

    let derivative = |field: &str, value: Value| own_places(|own| own["files"][1]["derivative"][field] = value);
    let public = Sha256::of(b"at <HOME>\n").to_string();
    for (field, value) in
        [("public_sha256", json!("0".repeat(64))), ("private_sha256", json!(public)), ("occurrences", json!(0))]
    {
        assert_eq!(derivative(field, value), one(Code::ManifestBlob, &format!("/files/1/derivative/{field}")));
    }
    assert_eq!(derivative("occurrences", Value::Null), []);
}

#[test]
fn only_the_canonical_bytes_are_the_manifest() {
    let bytes = own().to_bytes().unwrap();
    let text = String::from_utf8(bytes.clone()).unwrap();
    let spaced = text.replacen(':', ": ", 1);
    let escaped = text.replacen("study", "stud\\u0079", 1);
    let variant = text.replacen("\"release\"", "{\"release\":null}", 1);
    for other in [format!("{text}\n"), spaced, escaped, variant] {
        let (manifest, findings) = read_with(other.as_bytes(), None).unwrap();
        assert_eq!(places(&findings), [(Code::ManifestCanonical, String::new())], "{other}");
        assert_eq!(manifest.unwrap().content_id(), Some(Sha256::of(&bytes)));
    }
}

#[test]
fn a_manifest_with_two_meanings_or_none_is_not_read() {
    let one = |text: &str| {
        let (manifest, findings) = read_with(text.as_bytes(), None).unwrap();
        assert_eq!(manifest, None);
        let finding = findings.iter().next().unwrap().clone();
        assert_eq!((findings.iter().count(), finding.place.entry.as_deref()), (1, Some(MANIFEST)));
        (finding.code, finding.place.line, finding.place.pointer.unwrap())
    };
    let text = String::from_utf8(own().to_bytes().unwrap()).unwrap();
    let twice = text.replacen("{\"commit\"", "{\"tree\":null,\n\"commit\"", 1);
    assert_eq!(one(&twice), (Code::JsonDuplicateKey, Some(2), "/source/tree".into()));
    assert_eq!(one(&text[..text.len() - 1]).0, Code::JsonSyntax);
    assert_eq!(one(&format!("{text}{{}}")).0, Code::JsonSyntax);
    assert_eq!(one("{}").0, Code::ManifestField);
    assert_eq!(one("{\"format\":3}").0, Code::ManifestField);
    assert_eq!(one("[\"exhibit-manifest/1\"]").0, Code::ManifestField);
}

#[test]
fn formats_from_elsewhere_could_not_be_checked() {
    for (format, advised) in [
        ("exhibit-manifest/2", "newer"),
        ("public-source-export-v4", "newer"),
        ("public-source-export-v1", "ask the publisher"),
        ("tracked-source-export-v2", "ask the publisher"),
        ("tracked-source-export-v3", "ask the publisher"),
        ("public-source-export-v02", "ask the publisher"),
        ("exhibit-manifest/0", "ask the publisher"),
        ("spdx", "ask the publisher"),
    ] {
        let text = format!("{{\"format\":\"{format}\",\"whatever\":[{{}}]}}");
        match read_with(text.as_bytes(), None) {
            Err(Error::UnknownFormat { advice, .. }) => assert!(advice.contains(advised), "{format}: {advice}"),
            other => panic!("{format}: {other:?}"),
        }
    }
    let other = Policy { project: "another".parse().unwrap(), ..policy() };
    assert!(matches!(read_with(&own().to_bytes().unwrap(), Some(&other)), Err(Error::Usage(_))));
}

#[test]
fn a_missing_manifest_is_looked_for_one_folder_below() {
    let root = tempfile::tempdir().unwrap();
    let hint = || match read(&open(root.path()), &Limits::default(), None) {
        Err(Error::NoManifest { hint, .. }) => hint,
        other => panic!("{other:?}"),
    };
    assert!(hint().contains("as it was published"));
    write(root.path(), &format!("a/b/{MANIFEST}"), b"{}");
    assert!(hint().contains("as it was published"));
    write(root.path(), &format!("study-1/{MANIFEST}"), b"{}");
    assert_eq!(hint(), "the release seems to lie in its folder study-1: give that path");
    write(root.path(), &format!("study-2/{MANIFEST}"), b"{}");
    assert!(hint().contains("as it was published"));
}

#[test]
fn a_manifest_is_read_up_to_its_bound() {
    let bytes = own().to_bytes().unwrap();
    let root = tree(&bytes);
    let with = |max_manifest| {
        read(&open(root.path()), &Limits { max_manifest, ..Limits::default() }, None)
            .map(|(manifest, _)| manifest.is_some())
    };
    assert!(with(bytes.len() as u64).unwrap());
    assert!(matches!(with(bytes.len() as u64 - 1), Err(Error::Io { .. })));
}

#[test]
fn an_own_release_is_held_against_a_policy_that_is_given() {
    let held = |policy: &Policy| places(&read_with(&own().to_bytes().unwrap(), Some(policy)).unwrap().1);
    assert_eq!(held(&policy()), []);
    let one = |code: Code, pointer: &str| vec![(code, pointer.to_owned())];
    let mut other = policy();
    other.derivatives.clear();
    assert_eq!(held(&other), one(Code::DerivativeSet, "/files/1/derivative"));
    let mut other = policy();
    other.derivatives[0].transform = "user".into();
    assert_eq!(held(&other), one(Code::DerivativeRecord, "/files/1/derivative/rule"));
    let mut other = policy();
    other.derivatives[0].private_origin_sha256 = Sha256::of(b"");
    assert_eq!(held(&other), one(Code::DerivativeRecord, "/files/1/derivative/private_sha256"));
    for (path, pointer) in [("README.md", "/files/0/derivative"), ("absent", "/files")] {
        let mut other = policy();
        let more = Approved { path: EntryName::new(path).unwrap(), ..other.derivatives[0].clone() };
        other.derivatives.push(more);
        assert_eq!(held(&other), one(Code::DerivativeSet, pointer));
    }
}

/// The findings of comparing the release, after a change of its folder, under every format.
fn compared(change: impl Fn(&std::path::Path)) -> Vec<Vec<(Code, String)>> {
    let old = [Version::V1, Version::V2, Version::V3].map(|version| Manifest::Historical(historical(version)));
    std::iter::once(&Manifest::Own(own()))
        .chain(&old)
        .map(|manifest| {
            let root = tree(b"{}");
            change(root.path());
            places(&compare(manifest, &open(root.path()), &Limits::default()))
        })
        .collect()
}

#[test]
fn trees_are_held_against_manifests_both_ways() {
    let all = |want: &[(Code, &str)], change: &dyn Fn(&std::path::Path)| {
        let want: Vec<_> = want.iter().map(|(code, entry)| (*code, (*entry).to_owned())).collect();
        for found in compared(change) {
            assert_eq!(found, want);
        }
    };
    all(&[], &|_| {});
    all(&[(Code::FileMissing, "src/x/main.rs")], &|root| std::fs::remove_file(root.join("src/x/main.rs")).unwrap());
    all(&[(Code::FileExtra, "logs/b.log")], &|root| write(root, "logs/b.log", b"more"));
    all(&[(Code::FileChanged, "README.md")], &|root| write(root, "README.md", b"hallo\n"));
    all(&[(Code::TreeEmptyFolder, "tmp")], &|root| std::fs::create_dir(root.join("tmp")).unwrap());
    all(&[(Code::FileExtra, "tmp/x")], &|root| write(root, "tmp/x", b""));
    all(&[], &|root| write(root, ".git/HEAD", b"ref"));
    all(&[(Code::FileChanged, "README.md")], &|root| write(root, "README.md", b"hello\n\n"));
}

#[test]
fn a_renamed_file_is_called_renamed() {
    let root = tree(b"{}");
    std::fs::rename(root.path().join("README.md"), root.path().join("readme.txt")).unwrap();
    let findings = compare(&Manifest::Own(own()), &open(root.path()), &Limits::default());
    let messages: Vec<_> = findings.iter().map(|finding| (finding.code, finding.message.as_str())).collect();
    assert_eq!(messages[0].0, Code::FileMissing);
    assert!(messages[0].1.contains("renamed to \"readme.txt\""), "{messages:?}");
    assert_eq!(messages[1].0, Code::FileExtra);
    assert_eq!(messages.len(), 2);
}

#[test]
fn recorded_blobs_modes_and_sizes_are_compared() {
    let root = tree(b"{}");
    let found = |mutate: &dyn Fn(&mut File)| {
        let mut document = document();
        mutate(&mut document.files[0]);
        let manifest = Manifest::Own(Own::new(document).unwrap());
        let findings = compare(&manifest, &open(root.path()), &Limits::default());
        findings.iter().cloned().collect::<Vec<_>>()
    };
    let blob = found(&|file| file.git_blob = GitBlob::of(b"x"));
    assert_eq!((blob.len(), blob[0].code), (1, Code::FileBlob));
    let size = found(&|file| file.size = 7);
    assert_eq!((size.len(), size[0].code), (1, Code::FileSize));
    let mode = found(&|file| file.mode = Mode::Executable);
    assert_eq!((mode.len(), mode[0].code), (1, Code::TreeMode));
    assert_eq!((mode[0].recorded.as_deref(), mode[0].computed.as_deref()), (Some("0755"), Some("0644")));
}

#[test]
fn a_finding_shows_no_foreign_text_that_hides_or_never_ends() {
    let more = format!("\u{1b}[2J{}", "y".repeat(5000));
    let mut value = own_value();
    value[&more] = json!(1);
    let (_, findings) = read_with(&crate::json::canonical(&value).unwrap(), None).unwrap();
    let message = &findings.iter().next().unwrap().message;
    assert!(message.len() < 500 && !message.chars().any(char::is_control), "{message}");
}
