//! Exports of the two formats that redacted on export: each rule is broken once, in one respect, and `verify-export`
//! finds exactly that at that place, packed and as a folder; without that one change it finds nothing.
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod export;

use std::path::Path;

use exhibit::digest::{GitBlob, Sha256};
use serde_json::{Value, json};

use Change::{Manifest, Packing, Policy, Tree};
use Kind::{Historical, HistoricalV1, HistoricalV2};
use export::{Export, Kind, MANIFEST, PRIVATE, REDACTED, Said, exhibit, release, say, verify};

const EARLY: [(Kind, &str); 2] =
    [(HistoricalV1, "tracked-source-export-v1"), (HistoricalV2, "public-source-export-v2")];

/// The one change.
#[derive(Clone, Copy)]
enum Change {
    /// Of the manifest.
    Manifest(fn(&mut Value)),
    /// Of the manifest's entry of the redacted file.
    Redacted(fn(&mut Value)),
    /// Of the manifest's entry of a file that is exported as it is.
    Identical(fn(&mut Value)),
    /// Of the tree, after its manifest was made.
    Tree(fn(&mut export::Tree)),
    /// Of the policy.
    Policy(fn(&mut Value)),
    /// Of the way in which the ZIP is packed.
    Packing(fn(&mut Export)),
}

use Change::{Identical, Redacted};

/// Code and place of a finding: a pointer into the manifest, or a file or folder. `@` stands for the changed file's
/// entry in the manifest.
type Found = (&'static str, &'static str);

const FIELDS: &[(Found, Change)] = &[
    (("manifest-field", "/source_kind"), Manifest(|m| m["source_kind"] = json!("already_public"))),
    (("manifest-field", "/origin_private_commit"), Manifest(|m| m["origin_private_commit"] = Value::Null)),
    (("manifest-field", "/source_commit"), Manifest(|m| m["source_commit"] = json!("c".repeat(39)))),
    (("manifest-field", "/privacy_contract"), Manifest(|m| m["privacy_contract"] = Value::Null)),
    (("manifest-field", "/exported_file_count"), Manifest(|m| m["exported_file_count"] = json!(true))),
    (("manifest-field", "/omitted_file_count"), Manifest(|m| m["omitted_file_count"] = json!(false))),
    (("manifest-field", "/omitted_file_count"), Manifest(|m| m["omitted_file_count"] = json!(0.0))),
    (("manifest-field", "@/status"), Redacted(|f| f["status"] = json!("retained_redacted_derivative"))),
    (("manifest-field", "@/status"), Identical(|f| f["status"] = json!("retained_redacted_derivative"))),
    (("manifest-field", "@/status"), Identical(|f| f["status"] = json!("redacted"))),
    (("manifest-field", "@/private_origin_sha256"), Redacted(|f| f["private_origin_sha256"] = json!("0".repeat(64)))),
    (
        ("manifest-field", "@/private_origin_git_blob_sha1"),
        Identical(|f| f["private_origin_git_blob_sha1"] = json!("0".repeat(40))),
    ),
    (("manifest-field", "@/contract"), Redacted(|f| f["contract"] = Value::Null)),
    (("manifest-field", "@/git_mode"), Identical(|f| f["git_mode"] = json!("120000"))),
    (("manifest-field", "@/transforms/0/occurrences"), Redacted(|f| f["transforms"][0]["occurrences"] = json!(true))),
    (("manifest-field", "@/transforms/0/occurrences"), Redacted(|f| f["transforms"][0]["occurrences"] = json!(1.0))),
    (("manifest-field", "@/transforms/0/occurrences"), Redacted(|f| f["transforms"][0]["occurrences"] = json!(-1))),
    (("manifest-field", "@/transforms/0/more"), Redacted(|f| f["transforms"][0]["more"] = json!(1))),
    (("manifest-field", "@/transforms/0"), Redacted(|f| f["transforms"][0] = json!(["home", 1, "/home/"]))),
    (("manifest-field", "@/transforms"), Redacted(|f| f["transforms"] = f["transforms"][0].clone())),
];

const RULES: &[(Found, Change)] = &[
    (("manifest-count", "/exported_file_count"), Manifest(|m| m["exported_file_count"] = json!(1))),
    (("manifest-count", "/omitted_file_count"), Manifest(|m| m["omitted_file_count"] = json!(1))),
    (("manifest-count", "/tracked_source_file_count"), Manifest(|m| m["tracked_source_file_count"] = json!(1))),
    (
        ("manifest-omission", "/omissions/0"),
        Manifest(|m| {
            let files = m["files"].as_array().unwrap().len();
            m["omissions"] = json!([{"path": MANIFEST, "reason": "superseded_tracked_manifest"}]);
            m["omitted_file_count"] = json!(1);
            m["tracked_source_file_count"] = json!(files + 1);
        }),
    ),
    (("manifest-blob", "@/original_sha256"), Identical(|f| f["original_sha256"] = json!(Sha256::of(b"x")))),
    (
        ("manifest-blob", "@/transforms"),
        Identical(|f| f["transforms"] = json!([{"transform": "home", "occurrences": 1, "matched_prefix": "/home/"}])),
    ),
    (("manifest-blob", "@/original_sha256"), Redacted(|f| f["original_sha256"] = f["exported_sha256"].clone())),
    (("manifest-blob", "@/transforms"), Redacted(|f| f["transforms"] = json!([]))),
    (("manifest-blob", "@/transforms/0/occurrences"), Redacted(|f| f["transforms"][0]["occurrences"] = json!(0))),
    (("manifest-blob", "@/contract"), Redacted(|f| f["contract"] = json!(""))),
    (("manifest-blob", "@/contract"), Redacted(|f| drop(f.as_object_mut().unwrap().remove("contract")))),
    (("derivative-set", "@/status"), Redacted(identical)),
    (("derivative-set", "@/status"), Identical(redacted)),
    (
        ("derivative-set", "/files"),
        Policy(|p| {
            let mut more = p["derivatives"][0].clone();
            more["path"] = json!("gone.txt");
            p["derivatives"].as_array_mut().unwrap().push(more);
        }),
    ),
    (("derivative-record", "@/transforms/0/transform"), Redacted(|f| f["transforms"][0]["transform"] = json!("user"))),
    (
        ("derivative-record", "@/transforms/1/transform"),
        Redacted(|f| {
            let more = json!({"transform": "user", "occurrences": 1, "matched_prefix": "/tmp/"});
            f["transforms"].as_array_mut().unwrap().push(more);
        }),
    ),
];

const TREES: &[(Found, Change)] = &[
    (("file-changed", "README.md"), Tree(|t| t.put("README.md", "made uP\n"))),
    (("file-changed", REDACTED), Tree(|t| t.put(REDACTED, PRIVATE))),
    (("file-missing", "README.md"), Tree(|t| t.remove("README.md"))),
    (("file-extra", "more.txt"), Tree(|t| t.put("more.txt", "more\n"))),
    (("tree-mode", "tools/run.sh"), Tree(|t| t.files.get_mut("tools/run.sh").unwrap().1 = 0o644)),
    (("run-missing", "docs/raw/attempt-2"), Policy(|p| p["retained_runs"][0]["path"] = json!("docs/raw/attempt-2"))),
    (("tree-root", "made-up"), Packing(|e| e.root = Some("made-up".into()))),
    (("zip-not-canonical", "made-up-cccccccc/EXPORT-MANIFEST.json"), Packing(stored)),
];

fn stored(export: &mut Export) {
    export.method = zip::CompressionMethod::Stored;
}

/// Claims that the redacted file was exported as it is.
fn identical(file: &mut Value) {
    file["status"] = json!("byte_identical");
    file["original_sha256"] = file["exported_sha256"].clone();
    file["transforms"] = json!([]);
    file.as_object_mut().unwrap().remove("contract");
}

/// Claims that an identical file was redacted.
fn redacted(file: &mut Value) {
    file["status"] = json!("redacted_derivative");
    file["original_sha256"] = json!(Sha256::of(PRIVATE));
    file["transforms"] = json!([{"transform": "home", "occurrences": 1, "matched_prefix": "/home/"}]);
    file["contract"] = json!("the home folder was replaced");
}

/// Where the manifest lists a file.
fn index(manifest: &Value, path: &str) -> usize {
    manifest["files"].as_array().unwrap().iter().position(|file| file["path"] == path).unwrap()
}

/// The export with the change, and the pointer to the changed file's entry.
fn changed(kind: Kind, change: Option<Change>) -> (Export, String) {
    let mut export = Export::of(kind, release(kind));
    let mut entry = String::new();
    match change {
        Some(Manifest(change)) => change(&mut export.manifest),
        Some(Redacted(change)) => {
            let at = index(&export.manifest, REDACTED);
            entry = format!("/files/{at}");
            change(&mut export.manifest["files"][at]);
        }
        Some(Identical(change)) => {
            let at = index(&export.manifest, "README.md");
            entry = format!("/files/{at}");
            change(&mut export.manifest["files"][at]);
        }
        Some(Tree(change)) => change(&mut export.tree),
        Some(Policy(change)) => change(&mut export.policy),
        Some(Packing(change)) => change(&mut export),
        None => {}
    }
    (export, entry)
}

/// Writes the export and its policy, and verifies it with these options.
fn verified(export: &Export, packed: bool, options: &[&str]) -> Said {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(if packed { "release.zip" } else { "release" });
    if packed {
        export.write_zip(&path);
    } else {
        export.write_folder(&path);
    }
    let policy = folder.path().join("policy.json");
    std::fs::write(&policy, export.policy.to_string()).unwrap();
    let mut options = options.to_vec();
    options.extend(["--policy", policy.to_str().unwrap()]);
    verify(&path, &options)
}

/// Code and place of each finding and warning.
fn places(said: &Said) -> Vec<(String, String)> {
    let report = said.json();
    let all = ["findings", "warnings"].into_iter().flat_map(|list| report[list].as_array().unwrap().clone());
    let text = |finding: &Value, field: &str| finding["place"][field].as_str().map(str::to_owned);
    all.map(|finding| {
        let place = text(&finding, "pointer").or_else(|| text(&finding, "entry")).unwrap_or_default();
        (finding["code"].as_str().unwrap().to_owned(), place)
    })
    .collect()
}

fn check(rows: &[(Found, Change)]) {
    let mut wrong = Vec::new();
    for (kind, format) in EARLY {
        for (row, ((code, place), change)) in rows.iter().enumerate() {
            let (export, entry) = changed(kind, Some(*change));
            for packed in if matches!(change, Packing(_)) { vec![true] } else { vec![false, true] } {
                let said = verified(&export, packed, &[]);
                if (places(&said), said.code) != (vec![((*code).to_owned(), place.replace('@', &entry))], 1) {
                    wrong.push(format!("{format}, row {row}: {code} {place}, packed {packed}: {}", said.out));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn a_valid_export_passes_and_says_what_it_rests_on() {
    for (kind, format) in EARLY {
        for packed in [false, true] {
            let (export, _) = changed(kind, None);
            let said = verified(&export, packed, &["--inventory-only"]);
            assert_eq!((places(&said), said.code), (vec![], 0), "{format} {packed}: {}", said.out);
            let said = verified(&export, packed, &[]);
            assert_eq!((places(&said), said.code), (vec![], 3), "{format} {packed}: {}", said.out);
            let report = said.json();
            assert_eq!(report["tree"]["manifest"], format);
            assert_eq!(report["tree"]["root"], "made-up-cccccccc");
            assert_eq!(report["tree"]["content_id"], Value::Null);
            assert_eq!(report["runs"][0]["path"], export.tree.run.as_str());
            let said = report["assertions"].as_array().unwrap();
            for assertion in [
                format!(
                    "{REDACTED}: the private original's SHA-256 {} is asserted, not rechecked",
                    Sha256::of(PRIVATE)
                ),
                format!(
                    "{REDACTED}: the private original's git blob id {} is asserted, not rechecked",
                    GitBlob::of(PRIVATE)
                ),
                format!("{REDACTED}: that only the rule home changed it is asserted, not rechecked"),
                format!("the git blob ids, in {format} those of the originals, are asserted, not rechecked"),
            ] {
                assert!(said.contains(&json!(assertion)), "{assertion}: {said:?}");
            }
        }
    }
    // Where blob ids are compared, none is said to be left alone.
    let said = verified(&Export::of(Historical, release(Historical)), true, &[]).out;
    assert!(said.contains("asserted, not rechecked") && !said.contains("the git blob ids"), "{said}");
}

#[test]
fn each_fault_of_a_field_is_found_where_it_is() {
    check(FIELDS);
}

#[test]
fn each_fault_of_a_claim_is_found_where_it_is() {
    check(RULES);
}

#[test]
fn each_fault_of_a_tree_is_found_where_it_is() {
    check(TREES);
}

#[test]
fn blob_ids_are_compared_in_version_3_only() {
    for (kind, codes) in [(HistoricalV1, vec![]), (HistoricalV2, vec![]), (Historical, vec!["file-blob".to_owned()])] {
        let (export, _) = changed(kind, Some(Identical(|f| f["git_blob_sha1"] = json!("0".repeat(40)))));
        for packed in [false, true] {
            assert_eq!(verified(&export, packed, &[]).codes(), codes, "{kind:?}");
        }
    }
}

#[test]
fn a_run_s_record_of_a_redacted_file_is_held_against_its_original() {
    for (kind, _) in EARLY {
        let mut tree = release(kind);
        let log = tree.path("case-03/server.transcript.log");
        let private = Sha256::of(PRIVATE).to_string();
        tree.edit_result(2, |result| result["artifact_hashes"][&log] = json!(private));
        let mut export = Export::of(kind, tree);
        let at = index(&export.manifest, &log);
        redacted(&mut export.manifest["files"][at]);
        let mut more = export.policy["derivatives"][0].clone();
        more["path"] = json!(log);
        more["public_sha256"] = export.manifest["files"][at]["exported_sha256"].clone();
        export.policy["derivatives"].as_array_mut().unwrap().push(more);
        export.manifest["files"][at]["git_blob_sha1"] = json!(GitBlob::of(PRIVATE));
        let said = verified(&export, true, &[]);
        assert_eq!((places(&said), said.code), (vec![], 3), "{}", said.out);
        assert_eq!(said.json()["runs"][0]["not_recheckable"], json!([log]));

        // Another original than the run recorded.
        export.manifest["files"][at]["original_sha256"] = json!(Sha256::of(b"x"));
        let said = verified(&export, true, &[]);
        assert_eq!(said.codes(), ["run-artifact-changed", "derivative-digest"], "{}", said.out);
    }
}

#[test]
fn without_a_policy_nothing_is_approved() {
    for (kind, _) in EARLY {
        let folder = tempfile::tempdir().unwrap();
        let (export, _) = changed(kind, None);
        export.write_folder(folder.path().join("release").as_path());
        let said = verify(&folder.path().join("release"), &["--inventory-only"]);
        let place = format!("/files/{}/status", index(&export.manifest, REDACTED));
        assert_eq!((places(&said), said.code), (vec![("derivative-set".to_owned(), place)], 1), "{}", said.out);
    }
}

#[test]
fn a_receipt_of_an_early_export_is_compared() {
    for (kind, _) in EARLY {
        let folder = tempfile::tempdir().unwrap();
        let (path, receipt) = (folder.path().join("release.zip"), folder.path().join("receipt.json"));
        let (export, _) = changed(kind, None);
        export.write_zip(&path);
        let bytes = std::fs::read(&path).unwrap();
        let text = json!({
            "format": "exhibit-receipt/1", "archive": "release.zip", "size": bytes.len(), "sha256": Sha256::of(&bytes),
            "content_id": null, "source_commit": export::COMMIT,
        });
        std::fs::write(folder.path().join("policy.json"), export.policy.to_string()).unwrap();
        let verify = |text: String| {
            std::fs::write(&receipt, text).unwrap();
            let arguments =
                ["verify-export", "--format", "json", "--policy", "policy.json", "--receipt", "receipt.json"];
            say(exhibit(arguments).arg(Path::new("release.zip")).current_dir(folder.path()))
        };
        assert_eq!(verify(text.to_string()).codes(), [""; 0]);
        let other = text.to_string().replace(export::COMMIT, &"d".repeat(40));
        assert_eq!(verify(other).codes(), ["receipt-differs"]);
    }
}
