//! Owns making the redacted files of a release.
//!
//! Refuses a redaction that matches nothing, and one that the content doesn't take. Invariant: a file that came redacted
//! into the repository is left as it is.

use std::collections::{BTreeMap, BTreeSet};

use super::RULES;
use crate::digest::{ContentDigests, ContentHasher};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::manifest::{Derivative, MANIFEST};
use crate::redact::Redactor;
use crate::tree::Inventory;

/// A redacted file: what is said of it, and the size and digests of what is published.
pub(super) type Redacted = BTreeMap<String, (Derivative, u64, ContentDigests)>;

/// Applies the redactions. Gives what they made, and what was private in what they matched.
pub(super) fn apply(
    redactor: &Redactor,
    inventory: &Inventory,
    recorded: &BTreeMap<String, Derivative>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<(Redacted, BTreeSet<Vec<u8>>), Error> {
    let (mut redacted, mut private, mut matched) = (BTreeMap::new(), BTreeSet::new(), BTreeSet::new());
    let files = || inventory.files().filter(|(file, _)| file.name.as_str() != MANIFEST);
    for (file, digests) in files() {
        let path = file.name.as_str();
        if recorded.contains_key(path) || !redactor.is_meant_for(path) {
            continue;
        }
        if file.size > limits.max_redacted {
            let message =
                format!("\"{path}\" is larger than {} bytes, and a larger file is not redacted", limits.max_redacted);
            findings.push(Finding::new(Code::ExportRedaction, Place::entry(path), message));
            continue;
        }
        let applied = match redactor.apply(path, inventory.read(path, limits.max_redacted)?) {
            Ok(applied) => applied,
            Err(finding) => {
                findings.push(*finding);
                continue;
            }
        };
        if applied.occurrences == 0 {
            continue;
        }
        let mut hasher = ContentHasher::new(applied.bytes.len() as u64);
        hasher.update(&applied.bytes);
        let public = hasher.finish();
        let derivative = Derivative {
            rule: applied.rule,
            matched_prefix: applied.matched_prefix,
            occurrences: Some(applied.occurrences),
            private_sha256: digests.sha256,
            private_git_blob: Some(digests.git_blob),
            public_sha256: public.sha256,
        };
        redacted.insert(path.to_owned(), (derivative, applied.bytes.len() as u64, public));
        private.extend(applied.private);
        matched.extend(applied.labels);
    }
    let before: BTreeSet<String> =
        recorded.values().flat_map(|derivative| derivative.rule.split(", ")).map(str::to_owned).collect();
    let paths: Vec<&str> = files().map(|(file, _)| file.name.as_str()).collect();
    for finding in redactor.idle(&matched, &before, &paths) {
        let place = Place { entry: Some(RULES.to_owned()), ..finding.place.clone() };
        findings.push(Finding { place, ..finding });
    }
    Ok((redacted, private))
}
