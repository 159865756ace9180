//! Owns making the redacted files of a release.
//!
//! Refuses a redaction that matches nothing, and one that the content doesn't take. Invariant: a file that came redacted
//! into the repository is left as it is.

use std::collections::{BTreeMap, BTreeSet};

use super::RULES;
use crate::digest::{ContentDigests, ContentHasher};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::MAX_REDACTED;
use crate::manifest::{Derivative, MANIFEST};
use crate::redact::{Rules, Tally};
use crate::tree::Inventory;

/// A file that is redacted now.
#[derive(Debug)]
pub(super) struct Redacted {
    /// What is said of it.
    pub(super) derivative: Derivative,
    /// Bytes of what is published.
    pub(super) size: u64,
    /// Of what is published.
    pub(super) digests: ContentDigests,
}

/// Applies the redactions.
pub(super) fn apply(
    rules: &Rules,
    inventory: &Inventory,
    recorded: &BTreeMap<String, Derivative>,
    tally: &mut Tally,
    findings: &mut Findings,
) -> Result<BTreeMap<String, Redacted>, Error> {
    let mut redacted = BTreeMap::new();
    for (file, digests) in inventory.files().filter(|(file, _)| file.name.as_str() != MANIFEST) {
        let path = file.name.as_str();
        if !rules.applies(path, tally) || recorded.contains_key(path) {
            continue;
        }
        if file.size > MAX_REDACTED {
            let message = format!("\"{path}\" is larger than {MAX_REDACTED} bytes, and a larger file is not redacted");
            findings.push(Finding::new(Code::ExportRedaction, Place::entry(path), message));
            continue;
        }
        let applied = match rules.redact(path, inventory.read(path, MAX_REDACTED)?, tally) {
            Ok(applied) => applied,
            Err(finding) => {
                findings.push(*finding);
                continue;
            }
        };
        let Some(record) = applied.record else { continue };
        let size = applied.bytes.len() as u64;
        let mut hasher = ContentHasher::new(size);
        hasher.update(&applied.bytes);
        let public = hasher.finish();
        let derivative = Derivative {
            rule: record.rule,
            matched_prefix: record.matched_prefix,
            occurrences: Some(record.occurrences),
            private_sha256: digests.sha256,
            private_git_blob: Some(digests.git_blob),
            public_sha256: public.sha256,
        };
        redacted.insert(path.to_owned(), Redacted { derivative, size, digests: public });
    }
    Ok(redacted)
}

/// Rules that did nothing. Redactions that were made before the files came into the repository need not match again.
pub(super) fn idle(rules: &Rules, recorded: &BTreeMap<String, Derivative>, tally: &Tally) -> Vec<Finding> {
    let made: BTreeSet<&str> = recorded.values().flat_map(|derivative| derivative.rule.split(", ")).collect();
    let unused = rules.unused(tally, &made).into_iter();
    unused.map(|finding| Finding { place: Place::entry(RULES), ..finding }).collect()
}
