//! Owns a small valid release in every format, for the tests of this room.

use std::path::Path;

use serde_json::{Value, json};

use super::historical::Version;
use super::*;
use crate::error::Error;
use crate::finding::{Code, Findings};
use crate::limits::Limits;
use crate::policy::{Approved, Policy};
use crate::tree::Inventory;

pub(super) const FILES: [(&str, &str); 3] =
    [("README.md", "hello\n"), ("logs/a.log", "at <HOME>\n"), ("src/x/main.rs", "fn main() {}\n")];
pub(super) const COMMIT: &str = "cccccccccccccccccccccccccccccccccccccccc";

pub(super) fn file(path: &str, content: &str) -> File {
    let derivative = (path == "logs/a.log").then(|| Derivative {
        rule: "home".into(),
        matched_prefix: Some("/home/".into()),
        occurrences: Some(1),
        private_sha256: Sha256::of(b"at /home/me\n"),
        private_git_blob: None,
        public_sha256: Sha256::of(content.as_bytes()),
    });
    File {
        path: EntryName::new(path).unwrap(),
        size: content.len() as u64,
        mode: Mode::Plain,
        sha256: Sha256::of(content.as_bytes()),
        git_blob: GitBlob::of(content.as_bytes()),
        role: Role::Other,
        derivative: derivative.map(Box::new),
    }
}

pub(super) fn document() -> Document {
    let name = |text: &str| EntryName::new(text).unwrap();
    let omission = |path: &str| Omission { path: name(path), reason: "private".into(), sha256: None };
    let run = |path: &str, standing, faults| Run {
        path: name(path),
        matrix: Some(name("README.md")),
        dialect: None,
        source_snapshot: None,
        standing,
        faults,
    };
    let fault = RunFault { code: "run-case-failed".into(), message: "case 3 failed".into() };
    Document {
        format: Version1,
        kind: Kind::Release,
        project: "study".parse().unwrap(),
        source: Some(Source { commit: COMMIT.parse().unwrap(), tree: "d".repeat(64).parse().unwrap() }),
        created: Some("2026-09-22T22:01:29Z".parse().unwrap()),
        files: FILES.iter().map(|(path, content)| file(path, content)).collect(),
        omissions: vec![omission("keys/a"), omission("keys/b")],
        runs: vec![run("logs", Standing::Coherent, vec![]), run("src", Standing::FailedEvidence, vec![fault])],
    }
}

pub(super) fn own() -> Own {
    Own::new(document()).unwrap()
}

pub(super) fn receipt_bytes() -> Vec<u8> {
    Receipt::of("a.zip", 3, Sha256::of(b"zip"), &Manifest::Own(own())).to_bytes().unwrap()
}

/// What the made-up study approved.
pub(super) fn policy() -> Policy {
    Policy {
        format: "exhibit-policy/1".into(),
        project: "study".parse().unwrap(),
        derivatives: vec![Approved {
            path: EntryName::new("logs/a.log").unwrap(),
            public_sha256: Sha256::of(b"at <HOME>\n"),
            private_origin_sha256: Sha256::of(b"at /home/me\n"),
            private_origin_git_blob: GitBlob::of(b"at /home/me\n"),
            transform: "home".into(),
        }],
        retained_runs: vec![],
        notes: None,
    }
}

pub(super) fn historical_json() -> Value {
    let files = FILES.map(|(path, content)| {
        let mut file = json!({
            "path": path,
            "git_mode": "100644",
            "git_blob_sha1": GitBlob::of(content.as_bytes()),
            "original_sha256": Sha256::of(content.as_bytes()),
            "exported_sha256": Sha256::of(content.as_bytes()),
            "status": "byte_identical",
            "transforms": [],
        });
        if path == "logs/a.log" {
            file["status"] = "retained_redacted_derivative".into();
            file["contract"] = "the home folder was replaced".into();
            file["private_origin_sha256"] = Sha256::of(b"at /home/me\n").to_string().into();
            file["private_origin_git_blob_sha1"] = GitBlob::of(b"at /home/me\n").to_string().into();
        }
        file
    });
    json!({
        "format": "public-source-export-v3",
        "project": "study",
        "source_commit": COMMIT,
        "source_kind": "already_public",
        "origin_private_commit": "e".repeat(40),
        "privacy_contract": "no private byte",
        "tracked_source_file_count": 4,
        "exported_file_count": 3,
        "omitted_file_count": 1,
        "omissions": [{"path": MANIFEST, "reason": "superseded_tracked_manifest"}],
        "files": files,
    })
}

/// The same release in a version that redacts on export.
pub(super) fn early_json(version: Version) -> Value {
    let mut value = historical_json();
    value["format"] = version.name().into();
    value["tracked_source_file_count"] = 3.into();
    value["omitted_file_count"] = 0.into();
    value["omissions"] = json!([]);
    let all = value.as_object_mut().unwrap();
    all.retain(|key, _| key != "source_kind" && key != "origin_private_commit");
    let file = &mut value["files"][1];
    file["status"] = "redacted_derivative".into();
    file["git_blob_sha1"] = GitBlob::of(b"at /home/me\n").to_string().into();
    file["original_sha256"] = Sha256::of(b"at /home/me\n").to_string().into();
    file["transforms"] = json!([{"transform": "home", "occurrences": 1, "matched_prefix": "/home/"}]);
    file.as_object_mut().unwrap().retain(|key, _| !key.starts_with("private_origin_"));
    value
}

pub(super) fn historical(version: Version) -> Historical {
    let value = match version {
        Version::V1 | Version::V2 => early_json(version),
        Version::V3 => historical_json(),
    };
    let wire = serde_json::from_value(value).unwrap();
    let mut findings = Findings::new(10);
    let historical = Historical::read(version, wire, Some(&policy()), &mut findings).unwrap();
    assert_eq!(findings.iter().count(), 0);
    historical.unwrap()
}

pub(super) fn write(root: &Path, path: &str, content: &[u8]) {
    let path = root.join(path);
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(&path, content).unwrap();
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
}

/// The release in a folder, with these bytes as its manifest.
pub(super) fn tree(manifest: &[u8]) -> tempfile::TempDir {
    let root = tempfile::tempdir().unwrap();
    for (path, content) in FILES {
        write(root.path(), path, content.as_bytes());
    }
    write(root.path(), MANIFEST, manifest);
    root
}

pub(super) fn open(root: &Path) -> Inventory {
    Inventory::open(root, &Limits::default(), &|_| {}).unwrap().0
}

/// Code and JSON pointer or entry of each finding.
pub(super) fn places(findings: &Findings) -> Vec<(Code, String)> {
    let place =
        |place: &crate::finding::Place| place.pointer.clone().or_else(|| place.entry.clone()).unwrap_or_default();
    findings.iter().map(|finding| (finding.code, place(&finding.place))).collect()
}

/// Reads the release in a folder with these bytes as its manifest.
pub(super) fn read_with(manifest: &[u8], policy: Option<&Policy>) -> Result<(Option<Manifest>, Findings), Error> {
    let root = tree(manifest);
    read(&open(root.path()), &Limits::default(), policy)
}

pub(super) fn remove(value: &mut Value, key: &str) {
    value.as_object_mut().unwrap().remove(key).unwrap();
}
