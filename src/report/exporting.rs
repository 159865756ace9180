//! Owns the report of `exhibit export`.
//!
//! Invariant: a commit that was not exported has findings or an error that say why.

use std::io::{self, Write};

use serde::Serialize;

use super::{Failure, Split, Written, line, text};
use crate::archive::Exported;
use crate::error::Error;
use crate::finding::Finding;
use crate::name::escape;

/// What `exhibit export` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Exporting {
    /// `exhibit-exporting/1`.
    pub format: &'static str,
    /// The repository as it was given.
    pub repository: String,
    /// `exported`, `refused` or `could_not_export`.
    pub outcome: &'static str,
    /// Why nothing could be done.
    pub error: Option<Failure>,
    /// The commit's id.
    pub commit: Option<String>,
    /// The id of the commit's tree.
    pub tree: Option<String>,
    /// What was written.
    pub written: Option<Written>,
    /// The runs that the release retains.
    pub runs: Vec<Run>,
    /// Redacted files with the rule that was applied, now or before.
    pub redacted: Vec<Redacted>,
    /// What the commit has and the release doesn't, with the reason.
    pub omissions: Vec<Omission>,
    /// Broken rules.
    pub findings: Vec<Finding>,
    /// Worth a look.
    pub warnings: Vec<Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
}

/// A run that the release retains.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its folder.
    pub path: String,
    /// `coherent` or `failed_evidence`.
    pub standing: crate::manifest::Standing,
    /// The data was made up, not recorded from real processes.
    pub made_data: bool,
    /// The snapshot of the sources that it was made from.
    pub source_snapshot: Option<String>,
    /// Whether the snapshot was made by this export.
    pub snapshot_made: bool,
}

/// A redacted file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Redacted {
    /// Its path.
    pub path: String,
    /// The rule.
    pub rule: String,
    /// How often the rule matched, where that is known.
    pub occurrences: Option<u64>,
    /// It came redacted into the repository; what is said of the original is what was recorded then.
    pub recorded: bool,
}

/// What the commit has and the release doesn't.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Omission {
    /// Its path.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Exporting {
    /// A commit that was read.
    pub fn read(repository: String, exported: &Exported) -> Self {
        let outcome = if exported.written.is_some() { "exported" } else { "refused" };
        let omission = |(path, reason): &(String, String)| Omission { path: path.clone(), reason: reason.clone() };
        Self {
            commit: Some(exported.commit.id.as_str().to_owned()),
            tree: Some(exported.commit.tree.as_str().to_owned()),
            written: exported.written.as_ref().map(Written::from),
            runs: exported.runs.iter().map(Run::from).collect(),
            redacted: exported.redacted.iter().map(Redacted::from).collect(),
            omissions: exported.omissions.iter().map(omission).collect(),
            ..Self::with(repository, outcome, Split::from(&exported.findings), None)
        }
    }

    /// A commit that could not be read, or a release that could not be written.
    pub fn failed(repository: String, error: &Error) -> Self {
        Self::with(repository, "could_not_export", Split::default(), Some(error.into()))
    }

    fn with(repository: String, outcome: &'static str, split: Split, error: Option<Failure>) -> Self {
        Self {
            format: "exhibit-exporting/1",
            repository,
            outcome,
            error,
            commit: None,
            tree: None,
            written: None,
            runs: Vec::new(),
            redacted: Vec::new(),
            omissions: Vec::new(),
            findings: split.findings,
            warnings: split.warnings,
            findings_not_shown: split.findings_not_shown,
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The outcome, what is wrong and what to do, then what was written.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}", escape(self.repository.as_bytes()), self.outcome.replace('_', " "))?;
        if let Some(failure) = &self.error {
            text::failure(out, failure)?;
            return writeln!(out, "nothing was written");
        }
        text::fields(out, &[("commit", self.commit.clone())])?;
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)?;
        match &self.written {
            Some(written) => written.write_text(out, "release")?,
            None => writeln!(out, "nothing was written")?,
        }
        text::list(out, "retained runs", &self.runs.iter().map(Run::line).collect::<Vec<_>>())?;
        text::list(out, "redacted", &self.redacted.iter().map(Redacted::line).collect::<Vec<_>>())?;
        let omitted = |omission: &Omission| format!("{} ({})", omission.path, omission.reason);
        text::list(out, "not in the release", &self.omissions.iter().map(omitted).collect::<Vec<_>>())
    }
}

impl Run {
    fn line(&self) -> String {
        let standing = match self.standing {
            crate::manifest::Standing::Coherent => "coherent",
            crate::manifest::Standing::FailedEvidence => "kept as evidence of a failure",
        };
        let made = if self.made_data { ", made data" } else { "" };
        let sources = match (&self.source_snapshot, self.snapshot_made) {
            (Some(path), true) => format!("; its sources, taken from its commit, are in {path}"),
            (Some(path), false) => format!("; its sources are in {path}"),
            (None, _) => "; without its sources".to_owned(),
        };
        format!("{}: {standing}{made}{sources}", self.path)
    }
}

impl Redacted {
    fn line(&self) -> String {
        let times = match self.occurrences {
            None => String::new(),
            Some(1) => ", once".to_owned(),
            Some(count) => format!(", {count} times"),
        };
        let before = if self.recorded { ", before it came into the repository" } else { "" };
        format!("{} ({}{times}{before})", self.path, self.rule)
    }
}

impl From<&crate::archive::ExportedRun> for Run {
    fn from(run: &crate::archive::ExportedRun) -> Self {
        Self {
            path: run.path.clone(),
            standing: run.standing,
            made_data: run.made_data,
            source_snapshot: run.source_snapshot.clone(),
            snapshot_made: run.snapshot_made,
        }
    }
}

impl From<&crate::archive::RedactedFile> for Redacted {
    fn from(file: &crate::archive::RedactedFile) -> Self {
        Self {
            path: file.path.clone(),
            rule: file.derivative.rule.clone(),
            occurrences: file.derivative.occurrences,
            recorded: file.recorded,
        }
    }
}
