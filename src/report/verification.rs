//! Owns the report of `exhibit verify-export`.
//!
//! Invariant: what was not judged and what can't be recomputed stands in the report of every verdict, besides what a
//! verdict can't say at all.

use std::io::{self, Write};

use serde::Serialize;

use super::replaying::standing;
use super::{Failure, Split, line, text};
use crate::archive::{RunVerdict, Verdict};
use crate::digest::Sha256;
use crate::error::Error;
use crate::manifest::{Kind, Manifest, Omission, Standing};
use crate::name::escape;
use crate::run::{Absent, CaseRow};

/// What `exhibit verify-export` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Verification {
    /// `exhibit-verification/1`.
    pub format: &'static str,
    /// The release as it was given.
    pub file: String,
    /// `pass`, `fail`, `undecided` or `could_not_check`.
    pub verdict: &'static str,
    /// Why nothing could be said.
    pub error: Option<Failure>,
    /// What the tree is, where its manifest could be read.
    pub tree: Option<Tree>,
    /// The ZIP itself, where a receipt was compared.
    pub packed: Option<Packed>,
    /// Broken rules.
    pub findings: Vec<crate::finding::Finding>,
    /// Worth a look; the verdict stands.
    pub warnings: Vec<crate::finding::Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
    /// The retained runs.
    pub runs: Vec<Run>,
    /// Runs that say that their data was made up, not recorded from real processes.
    pub made_data: Vec<String>,
    /// What was checked.
    pub checked: Vec<String>,
    /// What was not judged.
    pub not_judged: Vec<String>,
    /// What is not in the tree, as its manifest discloses.
    pub omissions: Vec<Omission>,
    /// What the evidence asserts and nobody can recompute from it.
    pub assertions: Vec<String>,
    /// What no verdict of this kind can say.
    pub limits: Vec<&'static str>,
}

/// A tree that names itself.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Tree {
    /// The manifest's format.
    pub manifest: &'static str,
    /// What it is.
    pub kind: Kind,
    /// The project's name.
    pub project: String,
    /// The name of the folder at a ZIP's root.
    pub root: String,
    /// SHA-256 of the manifest's canonical bytes; none in the historical formats.
    pub content_id: Option<Sha256>,
    /// The commit that it says it comes from.
    pub source_commit: Option<String>,
    /// When commit or run were made, as the manifest says.
    pub created: Option<String>,
    /// Files in the tree.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

/// A ZIP.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Packed {
    /// Its digest.
    pub sha256: Sha256,
    /// Its bytes.
    pub size: u64,
}

/// A retained run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its folder.
    pub path: String,
    /// `pass`, `fail` or `undecided`.
    pub verdict: &'static str,
    /// The data was made up, not recorded from real processes.
    pub made_data: bool,
    /// It was frozen as evidence of a failure.
    pub failed_evidence: bool,
    /// Its cases, with the status that the run recorded.
    pub cases: Vec<CaseRow>,
    /// What replaying each case gave; empty where the run was not replayed. `exhibit replay` tells why.
    pub replayed: Vec<ReplayedCase>,
    /// Files that it names and that are absent.
    pub absent: Vec<Absent>,
    /// Redacted files, whose recorded digests are of private originals.
    pub not_recheckable: Vec<String>,
    /// What of it was not judged.
    pub not_judged: Vec<String>,
}

/// What replaying a case gave.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ReplayedCase {
    /// The case's id.
    pub id: String,
    /// `pass`, `fail`, `undecided`, `unsupported` or `machinery_error`.
    pub verdict: &'static str,
}

const CONSISTENT: &str = "consistent is not authentic: a pass shows that the evidence agrees with itself, not that \
     the events happened as it says";
const LOCAL: &str = "one run on one machine is not an independent replication";
const NO_RECEIPT: &str = "no receipt was compared: this is internal consistency only, not who published it";
const RECEIPT: &str = "the receipt was compared; that it is the publisher's own you must know from elsewhere";

impl Verification {
    /// A release that was read.
    pub fn read(file: String, found: &crate::archive::Verification, inventory_only: bool) -> Self {
        let verdict = match found.verdict() {
            Verdict::Pass => "pass",
            Verdict::Fail => "fail",
            Verdict::Undecided => "undecided",
        };
        let tree = found.manifest.as_ref().map(|manifest| Tree {
            manifest: manifest.format(),
            kind: manifest.kind(),
            project: manifest.project().to_owned(),
            root: manifest.root_name(),
            content_id: manifest.content_id(),
            source_commit: manifest.source_commit().map(ToString::to_string),
            created: manifest.created().map(ToString::to_string),
            files: found.files,
            bytes: found.bytes,
        });
        let mut not_judged = found.not_judged.clone();
        if inventory_only {
            not_judged.push("retained runs, as asked by --inventory-only".to_owned());
            not_judged.extend(failed_runs(found.manifest.as_ref()));
        }
        Self {
            tree,
            packed: found.packed.map(|(sha256, size)| Packed { sha256, size }),
            runs: found.runs.iter().map(Run::from).collect(),
            made_data: found.made_data.clone(),
            checked: checked(found, inventory_only),
            not_judged,
            omissions: found.manifest.iter().flat_map(Manifest::omissions).cloned().collect(),
            assertions: found.assertions.clone(),
            limits: vec![CONSISTENT, LOCAL, if found.receipt { RECEIPT } else { NO_RECEIPT }],
            ..Self::with(file, verdict, Split::from(&found.findings), None)
        }
    }

    /// A release that could not be read.
    pub fn failed(file: String, error: &Error) -> Self {
        Self::with(file, "could_not_check", Split::default(), Some(error.into()))
    }

    fn with(file: String, verdict: &'static str, split: Split, error: Option<Failure>) -> Self {
        Self {
            format: "exhibit-verification/1",
            file,
            verdict,
            error,
            tree: None,
            packed: None,
            findings: split.findings,
            warnings: split.warnings,
            findings_not_shown: split.findings_not_shown,
            runs: Vec::new(),
            made_data: Vec::new(),
            checked: Vec::new(),
            not_judged: Vec::new(),
            omissions: Vec::new(),
            assertions: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The verdict, what is wrong and what to do, then what it rests on.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}", escape(self.file.as_bytes()), self.verdict.replace('_', " "))?;
        if let Some(failure) = &self.error {
            return text::failure(out, failure);
        }
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)?;
        if let Some(tree) = &self.tree {
            tree.write_text(out)?;
        }
        if let Some(packed) = &self.packed {
            packed.write_text(out)?;
        }
        self.runs.iter().try_for_each(|run| run.write_text(out))?;
        text::list(out, "made data, not recorded from real processes", &self.made_data)?;
        text::list(out, "checked", &self.checked)?;
        text::list(out, "not judged", &self.not_judged)?;
        let omitted = |omission: &Omission| format!("{} ({})", omission.path, omission.reason);
        text::list(out, "left out, as disclosed", &self.omissions.iter().map(omitted).collect::<Vec<_>>())?;
        text::list(out, "asserted, not rechecked", &self.assertions)?;
        text::list(out, "limits", &self.limits)
    }
}

impl Tree {
    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{} ({}): {} files, {} bytes", self.root, self.manifest, self.files, self.bytes)?;
        text::fields(out, &[("content id", self.content_id.map(|id| id.to_string()))])?;
        text::fields(out, &[("source commit", self.source_commit.clone()), ("created", self.created.clone())])
    }
}

impl Packed {
    pub(super) fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "ZIP of {} bytes, SHA-256 {}", self.size, self.sha256)
    }
}

/// The runs that were frozen as failed evidence: where runs are left alone, that must not hide what the manifest itself
/// says of them.
pub(super) fn failed_runs(manifest: Option<&Manifest>) -> Vec<String> {
    let runs = manifest.into_iter().flat_map(Manifest::runs);
    let failed = runs.filter(|run| run.standing == Standing::FailedEvidence);
    failed.map(|run| format!("the run {}, which was frozen as failed evidence", run.path)).collect()
}

/// What a pass would stand on.
fn checked(found: &crate::archive::Verification, inventory_only: bool) -> Vec<String> {
    let mut checked = Vec::new();
    if found.manifest.is_some() {
        checked
            .push("every file against the manifest and every listed file against the tree, names and modes too".into());
    }
    if found.receipt {
        checked.push("the ZIP against its receipt".into());
    }
    if !inventory_only && !found.runs.is_empty() {
        checked.push("each run's results against its matrix, and its recorded file digests against the files".into());
    }
    if found.runs.iter().any(|run| run.replayed.as_ref().is_some_and(|replayed| !replayed.cases.is_empty())) {
        checked.push("each run's transcripts and databases against what a correct ledger could have given".into());
    }
    checked
}

impl From<&RunVerdict> for Run {
    fn from(run: &RunVerdict) -> Self {
        let report = &run.report;
        Self {
            path: report.path.clone(),
            verdict: match (run.sound, run.not_judged.is_empty()) {
                (false, _) => "fail",
                (true, true) => "pass",
                (true, false) => "undecided",
            },
            made_data: report.made_data,
            failed_evidence: run.failed_evidence,
            cases: report.cases.clone(),
            replayed: run.replayed.iter().flat_map(|replayed| &replayed.cases).map(ReplayedCase::from).collect(),
            absent: report.absent.clone(),
            not_recheckable: report.not_recheckable.clone(),
            not_judged: run.not_judged.clone(),
        }
    }
}

impl From<&crate::archive::replay::ReplayedCase> for ReplayedCase {
    fn from(case: &crate::archive::replay::ReplayedCase) -> Self {
        Self { id: case.id.clone(), verdict: standing(case.standing) }
    }
}

impl Run {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "run {}: {}", escape(self.path.as_bytes()), self.verdict)?;
        if self.failed_evidence {
            writeln!(out, "    frozen as failed evidence")?;
        }
        text::cases(out, &self.cases)?;
        let told: Vec<String> = self.replayed.iter().map(|case| format!("{} {}", case.id, case.verdict)).collect();
        if !told.is_empty() {
            writeln!(out, "    replayed: {}", text::plain(&told.join(", ")))?;
        }
        let absent: Vec<_> = self.absent.iter().map(|absent| format!("{} ({})", absent.path, absent.why)).collect();
        text::list(out, "absent", &absent)?;
        text::list(out, "redacted, recorded digest not recheckable", &self.not_recheckable)?;
        text::list(out, "not judged in this run", &self.not_judged)
    }
}
