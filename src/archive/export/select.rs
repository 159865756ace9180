//! Owns choosing what of a commit goes into a release.
//!
//! Refuses links, submodules, names that aren't portable, and names that may hold credentials or what a machine leaves
//! behind. Invariant: every entry of the commit is a file of the release, is left out with a reason, or is told as a
//! finding.

use std::collections::BTreeMap;

use crate::finding::{Code, Finding, Findings, Place};
use crate::git::{Difference, Entry, How, Kind};
use crate::manifest::MANIFEST;
use crate::name::{self, EntryName};
use crate::redact::{Rules, Tally};

/// Why a manifest that is tracked isn't in the release.
const SUPERSEDED: &str = "superseded by the manifest of this release";

/// What of a commit goes into a release.
#[derive(Debug, Default)]
pub(super) struct Selection {
    /// The files, with whether they may be executed.
    pub(super) files: BTreeMap<EntryName, bool>,
    /// What is left out, with the reason.
    pub(super) omitted: BTreeMap<EntryName, String>,
    /// The commit has a manifest of an earlier release, which may tell of redactions.
    pub(super) tracked_manifest: bool,
    /// The rules leave that out by name, as they must where it is another tool's.
    pub(super) manifest_omitted: bool,
}

/// Chooses.
pub(super) fn select(entries: &[Entry], rules: &Rules, tally: &mut Tally, findings: &mut Findings) -> Selection {
    let mut selection = Selection::default();
    for entry in entries {
        let shown = entry.shown();
        let Ok(path) = std::str::from_utf8(&entry.path) else {
            findings.push(unportable(Code::NameEncoding, &shown, "is not UTF-8"));
            continue;
        };
        let omission = rules.omitted(path, tally).map(|omission| omission.reason.clone());
        match (EntryName::new(path), omission) {
            (Err(fault), _) => findings.push(unportable(fault.code, &shown, &fault.reason)),
            // Its record of redactions counts, whatever the rules leave out.
            (Ok(name), reason) if path == MANIFEST && matches!(entry.kind, Kind::File { .. }) => {
                selection.tracked_manifest = true;
                selection.manifest_omitted = reason.is_some();
                selection.omitted.insert(name, reason.unwrap_or_else(|| SUPERSEDED.to_owned()));
            }
            (Ok(name), Some(reason)) => drop(selection.omitted.insert(name, reason)),
            (Ok(name), None) => match rules.check_name(path, tally) {
                Some(finding) => findings.push(finding),
                None => selection.take(name, entry.kind, findings),
            },
        }
    }
    clashes(&selection, findings);
    selection
}

/// A place in the rules.
pub(super) fn rule(pointer: String) -> Place {
    Place::entry(super::RULES).pointer(pointer)
}

fn unportable(code: Code, shown: &str, reason: &str) -> Finding {
    Finding::new(code, Place::entry(shown), format!("\"{shown}\" has a name that {reason}"))
}

impl Selection {
    /// The paths to be read: the files, and a manifest that is there.
    pub(super) fn parts(&self) -> Vec<String> {
        let manifest = self.tracked_manifest.then(|| MANIFEST.to_owned());
        self.files.keys().map(ToString::to_string).chain(manifest).collect()
    }

    /// Leaves out what isn't there to be read. Each was told.
    pub(super) fn without(&mut self, differences: &[Difference]) {
        for Difference { path, how } in differences {
            let Ok(path) = std::str::from_utf8(path) else { continue };
            let is_there = match how {
                How::Missing | How::OtherKind => false,
                How::LineEnds | How::LargeFile | How::Content | How::Mode | How::Staged => true,
            };
            if !is_there {
                self.files.retain(|name, _| name.as_str() != path);
                self.tracked_manifest &= path != MANIFEST;
            }
        }
    }

    fn take(&mut self, name: EntryName, kind: Kind, findings: &mut Findings) {
        let path = name.as_str();
        match kind {
            Kind::File { executable } => {
                self.files.insert(name, executable);
            }
            Kind::Link => {
                let message = format!("\"{path}\" is a symbolic link, which a release can't hold");
                findings.push(Finding::new(Code::ExportLink, Place::entry(path), message));
            }
            Kind::Submodule => {
                let message = format!("\"{path}\" is a submodule, whose files are not in the commit");
                findings.push(Finding::new(Code::ExportSubmodule, Place::entry(path), message));
            }
        }
    }
}

/// Names that can't stand beside the manifest. Those that can't stand beside each other the tree tells.
fn clashes(selection: &Selection, findings: &mut Findings) {
    let Ok(manifest) = EntryName::new(MANIFEST) else { return };
    let names: Vec<&EntryName> = std::iter::once(&manifest).chain(selection.files.keys()).collect();
    let found = name::clashes(names.iter().map(|name| (*name, false)));
    for clash in found.iter().filter(|clash| clash.other == MANIFEST) {
        let Some(name) = names.get(clash.index) else { continue };
        findings.push(Finding::new(clash.code, Place::entry(name.as_str()), clash.message(name)));
    }
}
