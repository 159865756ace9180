//! Owns making the source snapshots of runs that the repository carries none for, from the commits that they name.
//!
//! Refuses a source that isn't the recorded one, and a run whose commit the repository doesn't have, unless the rules
//! say why it goes without. Invariant: a snapshot holds exactly the sources that the run recorded.

use std::collections::BTreeMap;

use super::runs::Retained;
use crate::digest::{ContentDigests, ContentHasher, Sha256};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::form::{Mode, ObjectId};
use crate::git::{Commit, Entry, Kind, Repository};
use crate::limits::Limits;
use crate::name::{EntryName, escape};
use crate::run::{RunReport, snapshot};
use crate::tree::Inventory;

/// A file that this export makes.
#[derive(Debug)]
pub(super) struct Snapshot {
    bytes: Vec<u8>,
    /// Of the bytes.
    pub(super) digests: ContentDigests,
}

impl Snapshot {
    fn of(bytes: Vec<u8>) -> Self {
        let mut hasher = ContentHasher::new(bytes.len() as u64);
        hasher.update(&bytes);
        Self { digests: hasher.finish(), bytes }
    }

    /// Its content.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// The two files of a snapshot.
struct Made {
    archive: Vec<u8>,
    document: Vec<u8>,
}

/// What snapshots are made from.
pub(super) struct Sources<'a> {
    pub(super) repository: &'a Repository,
    pub(super) inventory: &'a Inventory,
    pub(super) derivatives: &'a BTreeMap<String, Sha256>,
    /// Files that are left out, with the reason.
    pub(super) omitted: &'a BTreeMap<EntryName, String>,
}

impl Sources<'_> {
    /// Makes the snapshots that are missing, and notes each with its run.
    pub(super) fn take(
        &self,
        runs: &mut [Retained],
        limits: &Limits,
        findings: &mut Findings,
    ) -> Result<BTreeMap<EntryName, Snapshot>, Error> {
        let mut made = BTreeMap::new();
        for run in runs {
            let report = &run.report;
            let lacks = report.source_snapshots.is_empty() && !report.sources.is_empty();
            let (Some(head), true, None) = (&report.source_head, lacks, &run.without_snapshot) else { continue };
            let mut faults = Findings::new(limits.max_findings);
            let taken = self.of_run(report, head, limits, &mut faults)?;
            findings.append(faults);
            let Some(Made { archive, document }) = taken else { continue };
            let stem = stem(&report.path, &report.id, head);
            let name = |ending: &str| {
                let path = format!("{stem}.{ending}");
                EntryName::new(&path)
                    .map_err(|fault| Error::WouldNotVerify(format!("the snapshot's name {path} {fault}")))
            };
            let (beside, packed) = (name("json")?, name("tar.gz")?);
            let of = |what: &str, name: &EntryName| {
                let message = format!("\"{name}\" {what}, so no snapshot of the run \"{}\" can lie there", report.path);
                Finding::new(Code::ExportSnapshot, Place::entry(name.as_str()), message)
            };
            let names = [&beside, &packed];
            if let Some(name) = names.into_iter().find(|name| self.inventory.file(name.as_str()).is_some()) {
                findings.push(of("is in the commit and isn't one", name));
                continue;
            }
            if let Some(name) = names.into_iter().find(|name| self.omitted.contains_key(*name)) {
                findings.push(of("is omitted by the rules", name));
                continue;
            }
            if made.contains_key(&beside) {
                findings.push(of("is the snapshot of another run with the same id and commit", &beside));
                continue;
            }
            run.made_snapshot = Some(beside.clone());
            made.insert(packed, Snapshot::of(archive));
            made.insert(beside, Snapshot::of(document));
        }
        Ok(made)
    }

    /// Archive and document of one run; none where the findings say why.
    fn of_run(
        &self,
        report: &RunReport,
        head: &str,
        limits: &Limits,
        findings: &mut Findings,
    ) -> Result<Option<Made>, Error> {
        let Some(commit) = self.commit(report, head, findings)? else { return Ok(None) };
        let entries = self.repository.entries(&commit, limits)?;
        let entries: BTreeMap<&[u8], &Entry> = entries.iter().map(|entry| (entry.path.as_slice(), entry)).collect();
        let mut contents = BTreeMap::new();
        for (path, recorded) in &report.sources {
            if let Some(content) = self.source(report, path, recorded, &entries, limits, findings)? {
                contents.insert(path.as_str(), content);
            }
        }
        if !findings.none_broken() {
            return Ok(None);
        }
        let mut archive = Vec::new();
        let sha256 = snapshot::write(&mut archive, &report.sources, |name| {
            contents
                .remove(name.as_str())
                .ok_or_else(|| Error::WouldNotVerify(format!("the source {name} is named twice")))
        })?;
        let summary = format!("{}/SUMMARY.json", report.path);
        let summary = self.derivatives.get(&summary).copied().or_else(|| self.inventory.sha256(&summary));
        let document = snapshot::Document::of(report, sha256, summary)?.to_bytes()?;
        Ok(Some(Made { archive, document }))
    }

    fn commit(&self, report: &RunReport, head: &str, findings: &mut Findings) -> Result<Option<Commit>, Error> {
        let id = head.parse::<ObjectId>().ok();
        let commit = id.map(|id| self.repository.commit_of(&id)).transpose()?.flatten();
        if commit.is_none() {
            let run = &report.path;
            let message = format!(
                "the run \"{run}\" was made from the commit {}, which the repository doesn't have",
                escape(head.as_bytes())
            );
            findings.push(Finding::new(Code::ExportSnapshot, Place::entry(run), message));
        }
        Ok(commit)
    }

    /// One source as the commit has it.
    fn source(
        &self,
        report: &RunReport,
        path: &str,
        recorded: &Sha256,
        entries: &BTreeMap<&[u8], &Entry>,
        limits: &Limits,
        findings: &mut Findings,
    ) -> Result<Option<(Mode, Vec<u8>)>, Error> {
        let shown = escape(path.as_bytes());
        let mut tell = |message: String| {
            findings.push(Finding::new(Code::ExportSnapshot, Place::entry(&report.path), message));
        };
        let Some(Entry { kind: Kind::File { executable }, id, .. }) = entries.get(path.as_bytes()) else {
            tell(format!("the source \"{shown}\" that the run recorded is no file of its commit"));
            return Ok(None);
        };
        let most = limits.max_snapshot_source;
        if self.repository.blob_size(id)? > most {
            tell(format!("the source \"{shown}\" of the run's commit is larger than {most} bytes"));
            return Ok(None);
        }
        let content = self.repository.blob(id, most)?;
        let computed = Sha256::of(&content);
        if computed != *recorded {
            let message = format!("the source \"{shown}\" of the run's commit is not the one that the run recorded");
            let finding = Finding::new(Code::ExportSnapshot, Place::entry(&report.path), message);
            findings.push(finding.values(recorded, computed));
            return Ok(None);
        }
        Ok(Some((if *executable { Mode::Executable } else { Mode::Plain }, content)))
    }
}

/// Where a run's snapshot goes, without the ending: beside the folder that its run lies in.
fn stem(run: &str, id: &str, commit: &str) -> String {
    let above = run
        .rsplit('/')
        .skip(2)
        .fold(String::new(), |above, part| if above.is_empty() { part.to_owned() } else { format!("{part}/{above}") });
    let folder = if above.is_empty() { String::new() } else { format!("{above}/") };
    format!("{folder}source-snapshots/{id}-{commit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_snapshot_lies_beside_the_folder_of_runs() {
        assert_eq!(stem("matrices/small/runs/r1", "r1", "c"), "matrices/small/source-snapshots/r1-c");
        assert_eq!(stem("docs/a/raw/x", "x", "c"), "docs/a/source-snapshots/x-c");
        assert_eq!(stem("raw/x", "x", "c"), "source-snapshots/x-c");
        assert_eq!(stem("x", "x", "c"), "source-snapshots/x-c");
    }
}
