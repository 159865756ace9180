//! Owns what a release holds: committed files, redacted ones, source snapshots, and the manifest that lists them.
//!
//! Refuses private strings wherever they are left. Invariant: a content is made in one way only, so that what was
//! scanned and listed is what is packed.

use std::collections::BTreeMap;
use std::io::Read;

use rayon::prelude::*;

use super::redactions::Redacted;
use super::runs::Retained;
use super::select::Selection;
use super::snapshots::Snapshot;
use super::{ExportedRun, RedactedFile};
use crate::digest::ContentDigests;
use crate::error::Error;
use crate::finding::{Findings, Severity};
use crate::form::{Mode, Project};
use crate::git::Commit;
use crate::limits::{Limits, MAX_REDACTED};
use crate::manifest::{self, Derivative, Document, Kind, MANIFEST, Omission, Own, Standing};
use crate::name::EntryName;
use crate::redact::{Rules, Scan, Tally};
use crate::run::role_of;
use crate::tree::{Inventory, Progress, Step};

/// What a release holds.
pub(super) struct Contents<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) selection: &'a Selection,
    pub(super) rules: &'a Rules,
    /// Redactions that were made before.
    pub(super) recorded: BTreeMap<String, Derivative>,
    /// Redactions that are made now.
    pub(super) redacted: BTreeMap<String, Redacted>,
    /// Source snapshots that are made now, by path.
    pub(super) snapshots: BTreeMap<EntryName, Snapshot>,
    /// The runs, sorted by path.
    pub(super) runs: Vec<Retained>,
}

impl Contents<'_> {
    /// Opens a content as it is in the release.
    pub(super) fn open(&self, name: &EntryName) -> Result<Box<dyn Read + '_>, Error> {
        if let Some(snapshot) = self.snapshots.get(name) {
            return Ok(Box::new(snapshot.bytes()));
        }
        if !self.redacted.contains_key(name.as_str()) {
            return self.inventory.open_file(name.as_str());
        }
        let original = self.inventory.read(name.as_str(), MAX_REDACTED)?;
        let public = self.rules.redact(name.as_str(), original, &mut Tally::default());
        let changed = |_| Error::Changed { path: self.inventory.path().join(name.as_str()) };
        Ok(Box::new(std::io::Cursor::new(public.map_err(changed)?.bytes)))
    }

    /// Looks for what is private in every content and name.
    pub(super) fn scan(
        &self,
        scan: &Scan<'_>,
        limits: &Limits,
        progress: Progress<'_>,
    ) -> Result<(Tally, Findings), Error> {
        let names: Vec<&EntryName> = self.selection.files.keys().chain(self.snapshots.keys()).collect();
        progress(Step::Total(self.inventory.files().map(|(file, _)| file.size).sum()));
        let one = |name: &&EntryName| {
            let (path, mut tally) = (name.as_str(), Tally::default());
            let mut findings = scan.content(path, &mut self.open(name)?, &mut tally)?;
            findings.append(scan.name(path, &mut tally));
            progress(Step::Bytes(self.inventory.file(path).map_or(0, |(file, _)| file.size)));
            Ok((tally, findings))
        };
        let scanned: Vec<_> = names.par_iter().map(one).collect::<Result<_, Error>>()?;
        let (mut tally, mut findings) = (Tally::default(), Findings::new(limits.max_findings));
        for (one, found) in scanned {
            tally.merge(one);
            findings.append(found);
        }
        // The manifest names them; their reasons stand in the rules, which are scanned as a file.
        for name in self.selection.omitted.keys() {
            findings.append(scan.name(name.as_str(), &mut tally));
        }
        Ok((tally, findings))
    }

    /// The manifest of all that.
    pub(super) fn manifest(&self, project: &Project, commit: &Commit) -> Result<Own, Error> {
        Own::new(Document {
            format: manifest::Version1,
            kind: Kind::Release,
            project: project.clone(),
            source: Some(manifest::Source { commit: commit.id.clone(), tree: commit.tree.clone() }),
            created: commit.time.clone(),
            files: self.files(),
            omissions: self.omissions()?,
            runs: self.runs.iter().map(Retained::listed).collect::<Result<_, _>>()?,
        })
    }

    fn files(&self) -> Vec<manifest::File> {
        let committed = self.inventory.files().filter(|(file, _)| file.name.as_str() != MANIFEST);
        let committed = committed.map(|(file, digests)| {
            let path = file.name.as_str();
            let executable = self.selection.files.get(&file.name).copied().unwrap_or_default();
            let (derivative, size, digests) = match (self.redacted.get(path), self.recorded.get(path)) {
                (Some(made), _) => (Some(&made.derivative), made.size, made.digests),
                (None, recorded) => (recorded, file.size, *digests),
            };
            self.file(&file.name, executable, size, digests, derivative.cloned())
        });
        let made = self
            .snapshots
            .iter()
            .map(|(name, made)| self.file(name, false, made.bytes().len() as u64, made.digests, None));
        committed.chain(made).collect()
    }

    fn file(
        &self,
        name: &EntryName,
        executable: bool,
        size: u64,
        digests: ContentDigests,
        derivative: Option<Derivative>,
    ) -> manifest::File {
        let path = name.as_str();
        let run = self.runs.iter().map(|run| run.report.path.as_str()).find(|run| name.below(run).is_some());
        manifest::File {
            path: name.clone(),
            size,
            mode: if executable { Mode::Executable } else { Mode::Plain },
            sha256: digests.sha256,
            git_blob: digests.git_blob,
            // Below no run, no name is a run's own document.
            role: role_of(path, run.unwrap_or(path)),
            derivative: derivative.map(Box::new),
        }
    }

    /// What the commit has and the release doesn't, then what the runs name and nobody has.
    fn omissions(&self) -> Result<Vec<Omission>, Error> {
        let mut omissions = BTreeMap::new();
        for (name, reason) in &self.selection.omitted {
            omissions.insert(name.clone(), Omission { path: name.clone(), reason: reason.clone(), sha256: None });
        }
        for run in &self.runs {
            for absent in &run.report.absent {
                let Ok(name) = EntryName::new(&absent.path) else { continue };
                let omission = Omission { path: name.clone(), reason: absent.why.clone(), sha256: Some(absent.sha256) };
                omissions.insert(name, omission);
            }
            let Some(why) = &run.without_snapshot else { continue };
            for path in &run.report.sources_absent {
                let name = EntryName::new(path)
                    .map_err(|fault| Error::WouldNotVerify(format!("the source \"{path}\" of a run {fault}")))?;
                if self.selection.files.contains_key(&name) {
                    continue;
                }
                let reason = format!("a source of the run {}, not carried along: {why}", run.report.path);
                omissions.entry(name.clone()).or_insert(Omission { path: name, reason, sha256: None });
            }
        }
        Ok(omissions.into_values().collect())
    }

    /// The runs for the report.
    pub(super) fn exported_runs(&self) -> Vec<ExportedRun> {
        let shown = |run: &Retained| ExportedRun {
            path: run.report.path.clone(),
            standing: run.standing(),
            made_data: run.report.made_data,
            source_snapshot: run
                .made_snapshot
                .as_ref()
                .map(ToString::to_string)
                .or_else(|| run.report.source_snapshots.first().cloned()),
            snapshot_made: run.made_snapshot.is_some(),
        };
        self.runs.iter().map(shown).collect()
    }

    /// The redacted files for the report.
    pub(super) fn redacted_files(&self) -> Vec<RedactedFile> {
        let now = self.redacted.iter().map(|(path, made)| (path, &made.derivative, false));
        let before = self.recorded.iter().map(|(path, derivative)| (path, derivative, true));
        let all: BTreeMap<&String, RedactedFile> = now
            .chain(before)
            .map(|(path, derivative, recorded)| {
                (path, RedactedFile { path: path.clone(), derivative: derivative.clone(), recorded })
            })
            .collect();
        all.into_values().collect()
    }
}

impl Retained {
    /// What the check of the run said.
    pub(super) fn standing(&self) -> Standing {
        if self.failed_evidence.is_some() { Standing::FailedEvidence } else { Standing::Coherent }
    }

    /// What the manifest says of the run.
    fn listed(&self) -> Result<manifest::Run, Error> {
        let name = |path: Option<&String>| path.and_then(|path| EntryName::new(path).ok());
        let broken = |finding: &&crate::finding::Finding| finding.severity == Severity::Error;
        let fault = |finding: &crate::finding::Finding| manifest::RunFault {
            code: finding.code.to_string(),
            message: finding.message.clone(),
        };
        Ok(manifest::Run {
            path: EntryName::new(&self.report.path).map_err(|fault| Error::WouldNotVerify(fault.to_string()))?,
            matrix: name(self.report.spec.as_ref()),
            dialect: self.dialect.clone(),
            source_snapshot: self.made_snapshot.clone().or_else(|| name(self.report.source_snapshots.first())),
            standing: self.standing(),
            faults: self.report.findings.iter().filter(broken).map(fault).collect(),
        })
    }
}
