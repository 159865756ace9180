//! Owns holding redactions against a policy, whatever the manifest's format.
//!
//! Refuses redactions that weren't approved as well as approved ones that are missing. Invariant: without a finding the
//! redacted files are exactly the approved ones, each with the approved digests.

use std::collections::BTreeSet;

use super::paths::at;
use super::{Derivative, Own};
use crate::finding::{Code, Finding, Findings, Place};
use crate::name::EntryName;
use crate::policy::{Approved, Policy};

/// What a release in the own format says of its redactions, against the policy that the user gave.
pub(super) fn check_own(own: &Own, policy: &Policy, findings: &mut Findings) {
    let files = &own.document().files;
    for (index, file) in files.iter().enumerate() {
        let (path, place) = (&file.path, format!("/files/{index}/derivative"));
        let message = match (&file.derivative, policy.approved(path.as_str())) {
            (None, None) => continue,
            (Some(derivative), Some(approved)) => {
                check_record(path, &place, derivative, approved, findings);
                continue;
            }
            (None, Some(_)) => {
                format!("\"{path}\" is not said to be redacted, but the policy knows it as a derivative")
            }
            (Some(_), None) => format!("\"{path}\" is redacted, but the policy did not approve that"),
        };
        findings.push(Finding::new(Code::DerivativeSet, at(place), message));
    }
    check_absent(files.iter().map(|file| &file.path), policy, findings);
}

fn check_record(path: &EntryName, place: &str, derivative: &Derivative, approved: &Approved, findings: &mut Findings) {
    let mut compare = |field: &str, recorded: &str, approved: &str| {
        findings.extend(differs(at(format!("{place}/{field}")), path, recorded, approved));
    };
    compare("rule", &derivative.rule, &approved.transform);
    compare("public_sha256", &derivative.public_sha256.to_string(), &approved.public_sha256.to_string());
    compare("private_sha256", &derivative.private_sha256.to_string(), &approved.private_origin_sha256.to_string());
    if let Some(blob) = derivative.private_git_blob {
        compare("private_git_blob", &blob.to_string(), &approved.private_origin_git_blob.to_string());
    }
}

/// A value of a redaction that isn't the approved one; `computed` of the finding is what was approved.
pub(super) fn differs(place: Place, path: &EntryName, recorded: &str, approved: &str) -> Option<Finding> {
    let message = format!("\"{path}\" is not the derivative that the policy approved");
    let finding = || Finding::new(Code::DerivativeRecord, place, message).values(recorded, approved);
    (recorded != approved).then(finding)
}

/// Every approved derivative is listed.
pub(super) fn check_absent<'a>(paths: impl Iterator<Item = &'a EntryName>, policy: &Policy, findings: &mut Findings) {
    let listed: BTreeSet<&EntryName> = paths.collect();
    for approved in policy.derivatives.iter().filter(|approved| !listed.contains(&approved.path)) {
        let message = format!("\"{}\" is an approved derivative, but the manifest does not list it", approved.path);
        findings.push(Finding::new(Code::DerivativeSet, at("/files"), message));
    }
}
