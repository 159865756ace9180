//! Owns the redactions that were made before a file came into the repository.
//!
//! Refuses a file that isn't the recorded derivative any more. Invariant: what was recorded of a redaction goes into the
//! new manifest as it was; nobody here can recompute it.

use std::collections::BTreeMap;

use super::select::{Selection, rule};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::manifest::{self, Derivative};
use crate::policy::Policy;
use crate::redact::{Recorded as OfRules, Rules};
use crate::tree::Inventory;

/// The recorded derivatives by path: of the manifest that the repository tracks, of the policy, of the rules. A later
/// source that contradicts an earlier one is told.
pub(super) fn recorded(
    inventory: &Inventory,
    selection: &Selection,
    rules: &Rules,
    policy: Option<&Policy>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<BTreeMap<String, Derivative>, Error> {
    let mut recorded = Recorded { derivatives: BTreeMap::new(), findings };
    let mut gone = Vec::new();
    if selection.tracked_manifest {
        let (manifest, found) = manifest::read(inventory, limits, None)?;
        // What is left out and is no manifest of a release tells of no redaction.
        if manifest.is_some() || !selection.manifest_omitted {
            recorded.findings.append(found);
        }
        for (path, derivative) in manifest.iter().flat_map(manifest::Manifest::derivatives) {
            if inventory.file(path).is_some() {
                recorded.take(path, derivative.clone(), Place::entry(manifest::MANIFEST));
            } else {
                gone.push((path.to_owned(), derivative.clone()));
            }
        }
    }
    for (index, approved) in policy.iter().flat_map(|policy| policy.derivatives.iter().enumerate()) {
        let place = Place::default().pointer(format!("/derivatives/{index}"));
        recorded.take(approved.path.as_str(), approved.into(), place);
    }
    for (index, derivative) in rules.document().derivatives.iter().enumerate() {
        recorded.take(derivative.path.as_str(), of_rules(derivative), rule(format!("/derivatives/{index}")));
    }
    let Recorded { derivatives, findings } = recorded;
    for (path, derivative) in &derivatives {
        held(inventory, path, derivative, findings);
    }
    for (path, derivative) in &gone {
        moved(inventory, path, derivative, &derivatives, findings);
    }
    Ok(derivatives)
}

/// What the rules say of a redaction.
fn of_rules(recorded: &OfRules) -> Derivative {
    Derivative {
        rule: recorded.rule.clone(),
        matched_prefix: recorded.matched_prefix.clone(),
        occurrences: recorded.occurrences,
        private_sha256: recorded.private_sha256,
        private_git_blob: recorded.private_git_blob,
        public_sha256: recorded.public_sha256,
    }
}

struct Recorded<'a> {
    derivatives: BTreeMap<String, Derivative>,
    findings: &'a mut Findings,
}

impl Recorded<'_> {
    fn take(&mut self, path: &str, derivative: Derivative, place: Place) {
        let Some(before) = self.derivatives.get_mut(path) else {
            self.derivatives.insert(path.to_owned(), derivative);
            return;
        };
        // What one of them doesn't know contradicts nothing.
        let agree = before.public_sha256 == derivative.public_sha256
            && before.private_sha256 == derivative.private_sha256
            && before.rule == derivative.rule
            && both(before.occurrences, derivative.occurrences)
            && both(before.private_git_blob, derivative.private_git_blob)
            && both(before.matched_prefix.as_ref(), derivative.matched_prefix.as_ref());
        if !agree {
            let message = format!("the redaction of \"{path}\" is recorded twice, and not as the same");
            self.findings.push(Finding::new(Code::ExportDerivative, place, message));
        }
        // The fuller record of the two: not every source knows how often the rule matched.
        before.occurrences = before.occurrences.or(derivative.occurrences);
        before.private_git_blob = before.private_git_blob.or(derivative.private_git_blob);
        if before.matched_prefix.is_none() {
            before.matched_prefix = derivative.matched_prefix;
        }
    }
}

fn both<T: PartialEq>(before: Option<T>, later: Option<T>) -> bool {
    before.zip(later).is_none_or(|(before, later)| before == later)
}

/// A derivative is still the file that was published.
fn held(inventory: &Inventory, path: &str, derivative: &Derivative, findings: &mut Findings) {
    let recorded = derivative.public_sha256;
    let computed = inventory.sha256(path);
    if computed == Some(recorded) {
        return;
    }
    let what = if computed.is_some() { "is not the file that was published" } else { "is not in the commit" };
    let message = format!("\"{path}\" {what}, but its redaction ({}) is recorded", derivative.rule);
    let computed = computed.map_or_else(|| "none".to_owned(), |computed| computed.to_string());
    findings.push(Finding::new(Code::ExportDerivative, Place::entry(path), message).values(recorded, computed));
}

/// A derivative that is gone since has nothing left to tell, unless its content lies elsewhere without its record.
fn moved(
    inventory: &Inventory,
    before: &str,
    derivative: &Derivative,
    recorded: &BTreeMap<String, Derivative>,
    findings: &mut Findings,
) {
    let same = |path: &str, sha256| sha256 == derivative.public_sha256 && !recorded.contains_key(path);
    for (file, _) in inventory.files().filter(|(file, digests)| same(file.name.as_str(), digests.sha256)) {
        let path = &file.name;
        let message = format!(
            "\"{path}\" is what was published redacted ({}) as \"{before}\": record it under derivatives in the export rules",
            derivative.rule
        );
        findings.push(Finding::new(Code::ExportDerivative, Place::entry(path.as_str()), message));
    }
}
