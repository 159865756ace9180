//! Owns what the historical formats ask of a document besides its form, each version what it asks.
//!
//! Refuses fields and claims that the version doesn't have. Invariant: without a finding each file's fields fit its
//! status, its status is one of the version's, and the redacted files are exactly those that the policy approved.

use super::Version;
use super::wire::{Status, Wire, WireFile};
use crate::finding::{Code, Finding, Findings};
use crate::manifest::paths::at;
use crate::manifest::{MANIFEST, approval as approvals};
use crate::policy::Approved;

/// The one reason for an omission that version 3 knows.
const SUPERSEDED: &str = "superseded_tracked_manifest";

/// Fields that are not of this version, or are missing in it. Tells whether there are none.
pub(super) fn fields(version: Version, wire: &Wire, findings: &mut Findings) -> bool {
    let name = version.name();
    let mut fits = true;
    let mut push = |pointer: String, what: String| {
        fits = false;
        findings.push(Finding::new(Code::ManifestField, at(pointer), format!("the manifest: {what}")));
    };
    for (field, present) in
        [("source_kind", wire.source_kind.is_some()), ("origin_private_commit", wire.origin_private_commit.is_some())]
    {
        match (version, present) {
            (Version::V1 | Version::V2, false) | (Version::V3, true) => {}
            (Version::V1 | Version::V2, true) => push(format!("/{field}"), format!("{name} has no field {field}")),
            (Version::V3, false) => push(format!("/{field}"), format!("the field {field} is missing")),
        }
    }
    for (index, file) in wire.files.iter().enumerate() {
        match (version, file.status) {
            (Version::V1 | Version::V2 | Version::V3, Status::ByteIdentical)
            | (Version::V1 | Version::V2, Status::RedactedDerivative)
            | (Version::V3, Status::RetainedRedactedDerivative) => {}
            (Version::V1 | Version::V2, Status::RetainedRedactedDerivative)
            | (Version::V3, Status::RedactedDerivative) => {
                push(format!("/files/{index}/status"), format!("{name} has no status {}", file.status.name()));
            }
        }
        for (field, present) in private_origin(file) {
            match (version, present) {
                (Version::V1 | Version::V2, false) | (Version::V3, _) => {}
                (Version::V1 | Version::V2, true) => {
                    push(format!("/files/{index}/{field}"), format!("{name} has no field {field}"));
                }
            }
        }
    }
    fits
}

pub(super) fn counts(wire: &Wire, findings: &mut Findings) {
    let (files, omissions) = (wire.files.len() as u64, wire.omissions.len() as u64);
    for (field, recorded, computed) in [
        ("exported_file_count", wire.exported_file_count, files),
        ("omitted_file_count", wire.omitted_file_count, omissions),
        ("tracked_source_file_count", wire.tracked_source_file_count, files.saturating_add(omissions)),
    ] {
        if recorded != computed {
            let message = format!("{field} is {recorded}, but the manifest lists {computed}");
            let finding = Finding::new(Code::ManifestCount, at(format!("/{field}")), message);
            findings.push(finding.values(recorded, computed));
        }
    }
}

pub(super) fn omissions(version: Version, wire: &Wire, findings: &mut Findings) {
    for (index, omission) in wire.omissions.iter().enumerate() {
        let message = match version {
            Version::V1 | Version::V2 => format!("{} omits nothing", version.name()),
            Version::V3 if index == 0 && omission.path == MANIFEST && omission.reason == SUPERSEDED => continue,
            Version::V3 => format!("the only omission that the format allows is one of {MANIFEST} as {SUPERSEDED}"),
        };
        findings.push(Finding::new(Code::ManifestOmission, at(format!("/omissions/{index}")), message));
    }
}

/// What a file's own fields say must fit its status.
pub(super) fn file(index: usize, file: &WireFile, findings: &mut Findings) {
    let mut push = |field: &str, message: String| {
        findings.push(Finding::new(Code::ManifestBlob, at(format!("/files/{index}/{field}")), message));
    };
    let path = &file.path;
    match file.status {
        Status::ByteIdentical => {
            exported_unchanged(file, &mut push);
            for (field, _) in private_origin(file).into_iter().filter(|(_, present)| *present) {
                push(field, format!("\"{path}\" is no derivative, but {field} is given"));
            }
        }
        Status::RetainedRedactedDerivative => {
            exported_unchanged(file, &mut push);
            for (field, _) in private_origin(file).into_iter().filter(|(_, present)| !present) {
                push(field, format!("\"{path}\" is a derivative, but {field} is missing"));
            }
        }
        Status::RedactedDerivative => redacted_on_export(file, &mut push),
    }
}

fn private_origin(file: &WireFile) -> [(&'static str, bool); 2] {
    [
        ("private_origin_sha256", file.private_origin_sha256.is_some()),
        ("private_origin_git_blob_sha1", file.private_origin_git_blob_sha1.is_some()),
    ]
}

fn exported_unchanged(file: &WireFile, push: &mut impl FnMut(&str, String)) {
    let path = &file.path;
    if file.original_sha256 != file.exported_sha256 {
        push("original_sha256", format!("\"{path}\" was exported unchanged, but its original has another SHA-256"));
    }
    if !file.transforms.is_empty() {
        let count = file.transforms.len();
        push("transforms", format!("\"{path}\" was exported unchanged, but {count} transforms are listed"));
    }
}

fn redacted_on_export(file: &WireFile, push: &mut impl FnMut(&str, String)) {
    let path = &file.path;
    if file.original_sha256 == file.exported_sha256 {
        push("original_sha256", format!("\"{path}\" was redacted, but its original has the same SHA-256"));
    }
    if file.transforms.is_empty() {
        push("transforms", format!("\"{path}\" was redacted, but no transform is listed"));
    }
    for (index, _) in file.transforms.iter().enumerate().filter(|(_, transform)| transform.occurrences == 0) {
        push(&format!("transforms/{index}/occurrences"), format!("the redaction of \"{path}\" matched nothing"));
    }
    if file.contract.as_ref().is_none_or(|contract| contract.trim().is_empty()) {
        push("contract", format!("\"{path}\" was redacted, but no contract says what that promises"));
    }
}

/// What a file claims must be what the policy approved.
pub(super) fn approval(index: usize, file: &WireFile, approved: Option<&Approved>, findings: &mut Findings) {
    let path = &file.path;
    let message = match (file.status, approved) {
        (Status::ByteIdentical, None) => return,
        (Status::ByteIdentical, Some(_)) => {
            format!("\"{path}\" claims to be byte-identical, but the policy knows it as a derivative")
        }
        (Status::RedactedDerivative | Status::RetainedRedactedDerivative, None) => {
            format!("\"{path}\" claims to be a derivative that no policy approved")
        }
        (Status::RetainedRedactedDerivative, Some(approved)) => return retained(index, file, approved, findings),
        (Status::RedactedDerivative, Some(approved)) => return redacted(index, file, approved, findings),
    };
    findings.push(Finding::new(Code::DerivativeSet, at(format!("/files/{index}/status")), message));
}

/// Version 3: the digests are the approved ones.
fn retained(index: usize, file: &WireFile, approved: &Approved, findings: &mut Findings) {
    let mut compare = |field: &str, recorded: &str, approved: &str| {
        findings.extend(approvals::differs(at(format!("/files/{index}/{field}")), &file.path, recorded, approved));
    };
    compare("exported_sha256", &file.exported_sha256.to_string(), &approved.public_sha256.to_string());
    // A private digest that is missing was reported as such.
    if let Some(sha256) = file.private_origin_sha256 {
        compare("private_origin_sha256", &sha256.to_string(), &approved.private_origin_sha256.to_string());
    }
    if let Some(blob) = file.private_origin_git_blob_sha1 {
        compare("private_origin_git_blob_sha1", &blob.to_string(), &approved.private_origin_git_blob.to_string());
    }
}

/// Versions 1 and 2: every transform is the approved one. The formats don't bind the digests, so others are a warning.
fn redacted(index: usize, file: &WireFile, approved: &Approved, findings: &mut Findings) {
    let path = &file.path;
    for (nth, transform) in file.transforms.iter().enumerate() {
        let place = at(format!("/files/{index}/transforms/{nth}/transform"));
        findings.extend(approvals::differs(place, path, &transform.rule, &approved.transform));
    }
    if file.original_sha256 == file.exported_sha256 {
        // Told already, and one of them differs because of it.
        return;
    }
    let (exported, public) = (file.exported_sha256.to_string(), approved.public_sha256.to_string());
    let (original, private) = (file.original_sha256.to_string(), approved.private_origin_sha256.to_string());
    let (blob, private_blob) = (file.git_blob_sha1.to_string(), approved.private_origin_git_blob.to_string());
    let values = [
        ("exported_sha256", exported, public),
        ("original_sha256", original, private),
        ("git_blob_sha1", blob, private_blob),
    ];
    if let Some((field, recorded, approved)) = values.into_iter().find(|(_, recorded, approved)| recorded != approved) {
        let message = format!("the rule that redacted \"{path}\" is approved, but {field} is not the policy's");
        let finding = Finding::new(Code::DerivativeDigest, at(format!("/files/{index}/{field}")), message);
        findings.push(finding.values(recorded, approved));
    }
}
