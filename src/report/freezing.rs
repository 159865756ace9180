//! Owns the report of `exhibit freeze`.
//!
//! Invariant: a run that was not written has findings that say why.

use std::io::{self, Write};

use serde::Serialize;

use super::{Failure, Split, Written, line, text};
use crate::archive::Frozen;
use crate::error::Error;
use crate::name::escape;
use crate::run::CaseRow;

/// What `exhibit freeze` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Freezing {
    /// `exhibit-freezing/1`.
    pub format: &'static str,
    /// The run's folder as it was given.
    pub run: String,
    /// `frozen`, `frozen_as_failed_evidence`, `not_coherent` or `could_not_freeze`.
    pub outcome: &'static str,
    /// Why nothing could be done.
    pub error: Option<Failure>,
    /// What was written.
    pub written: Option<Written>,
    /// Whether an archive could hold the run's files at all; only the text's advice depends on it.
    #[serde(skip)]
    pub representable: bool,
    /// The data was made up, not recorded from real processes.
    pub made_data: bool,
    /// The run's cases, with the status that the run recorded.
    pub cases: Vec<CaseRow>,
    /// Broken rules.
    pub findings: Vec<crate::finding::Finding>,
    /// Worth a look.
    pub warnings: Vec<crate::finding::Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
    /// What the run names and the archive doesn't have.
    pub omissions: Vec<Omission>,
    /// Redacted files, whose recorded digests are of private originals.
    pub not_recheckable: Vec<String>,
    /// What the run asserts and nobody can recompute from it.
    pub assertions: Vec<String>,
}

/// A file that isn't in the archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Omission {
    /// Its path from the project's root.
    pub path: String,
    /// Why.
    pub reason: String,
}

impl Freezing {
    /// A run that was read.
    pub fn read(run: String, frozen: &Frozen) -> Self {
        let outcome = match (&frozen.written, frozen.findings.none_broken()) {
            (Some(_), true) => "frozen",
            (Some(_), false) => "frozen_as_failed_evidence",
            (None, _) => "not_coherent",
        };
        let omissions = frozen.omissions.iter();
        Self {
            written: frozen.written.as_ref().map(Written::from),
            representable: frozen.representable,
            made_data: frozen.report.made_data,
            cases: frozen.report.cases.clone(),
            omissions: omissions
                .map(|(path, reason)| Omission { path: path.clone(), reason: reason.clone() })
                .collect(),
            not_recheckable: frozen.report.not_recheckable.clone(),
            assertions: frozen.report.assertions.clone(),
            ..Self::with(run, outcome, Split::from(&frozen.findings), None)
        }
    }

    /// A run that could not be read, or an archive that could not be written.
    pub fn failed(run: String, error: &Error) -> Self {
        Self::with(run, "could_not_freeze", Split::default(), Some(error.into()))
    }

    fn with(run: String, outcome: &'static str, split: Split, error: Option<Failure>) -> Self {
        Self {
            format: "exhibit-freezing/1",
            run,
            outcome,
            error,
            written: None,
            representable: true,
            made_data: false,
            cases: Vec::new(),
            findings: split.findings,
            warnings: split.warnings,
            findings_not_shown: split.findings_not_shown,
            omissions: Vec::new(),
            not_recheckable: Vec::new(),
            assertions: Vec::new(),
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The outcome, what is wrong and what to do, then what was written.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}", escape(self.run.as_bytes()), self.outcome.replace('_', " "))?;
        if let Some(failure) = &self.error {
            return text::failure(out, failure);
        }
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)?;
        match &self.written {
            Some(written) => written.write_text(out, "archive")?,
            None if self.representable => {
                writeln!(out, "nothing was written: mend the run, or keep it with --as-failed-evidence")?;
            }
            None => writeln!(out, "nothing was written: no archive can hold these files, so mend the run")?,
        }
        if self.made_data {
            writeln!(out, "made data: written to show the format, not recorded from real processes")?;
        }
        text::cases(out, &self.cases)?;
        let omitted = |omission: &Omission| format!("{} ({})", omission.path, omission.reason);
        text::list(out, "not in the archive", &self.omissions.iter().map(omitted).collect::<Vec<_>>())?;
        text::list(out, "redacted, recorded digest not recheckable", &self.not_recheckable)?;
        text::list(out, "asserted, not rechecked", &self.assertions)
    }
}
