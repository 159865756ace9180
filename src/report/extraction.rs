//! Owns the report of `exhibit extract`.
//!
//! Invariant: a ZIP that was not unpacked has findings or an error that says why, and what was not judged stands in the
//! report of every ZIP that was.

use std::io::{self, Write};

use serde::Serialize;

use super::verification::{Packed, Tree, Verification, failed_runs};
use super::{Failure, line, text};
use crate::error::Error;
use crate::name::escape;

/// What `exhibit extract` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Extraction {
    /// `exhibit-extraction/1`.
    pub format: &'static str,
    /// The ZIP as it was given.
    pub file: String,
    /// `extracted`, `refused` or `could_not_extract`.
    pub outcome: &'static str,
    /// Why nothing could be done.
    pub error: Option<Failure>,
    /// What was written.
    pub written: Option<Written>,
    /// What the tree is, where its manifest could be read.
    pub tree: Option<Tree>,
    /// The ZIP itself, where a receipt was compared.
    pub packed: Option<Packed>,
    /// Broken rules.
    pub findings: Vec<crate::finding::Finding>,
    /// Worth a look.
    pub warnings: Vec<crate::finding::Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
    /// Runs that say that their data was made up, not recorded from real processes.
    pub made_data: Vec<String>,
    /// What was checked.
    pub checked: Vec<String>,
    /// What was not judged.
    pub not_judged: Vec<String>,
    /// What no verdict of this kind can say.
    pub limits: Vec<&'static str>,
}

/// A tree that was unpacked.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// Its root folder.
    pub path: String,
    /// Files in it.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

const RUNS: &str = "retained runs: `exhibit verify-export` checks them, in the ZIP or in the folder";

impl Extraction {
    /// A ZIP that was read.
    pub fn read(file: String, found: &crate::archive::Extraction) -> Self {
        let said = Verification::read(file, &found.verification, true);
        let written = found.written.as_ref().map(|written| Written {
            path: written.path.display().to_string(),
            files: written.files,
            bytes: written.bytes,
        });
        let mut not_judged = vec![RUNS.to_owned()];
        not_judged.extend(failed_runs(found.verification.manifest.as_ref()));
        Self {
            format: FORMAT,
            file: said.file,
            outcome: if written.is_some() { "extracted" } else { "refused" },
            error: None,
            written,
            tree: said.tree,
            packed: said.packed,
            findings: said.findings,
            warnings: said.warnings,
            findings_not_shown: said.findings_not_shown,
            made_data: said.made_data,
            checked: said.checked,
            not_judged,
            limits: said.limits,
        }
    }

    /// A ZIP that could not be read, or a folder that could not be written.
    pub fn failed(file: String, error: &Error) -> Self {
        Self {
            format: FORMAT,
            file,
            outcome: "could_not_extract",
            error: Some(error.into()),
            written: None,
            tree: None,
            packed: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            findings_not_shown: 0,
            made_data: Vec::new(),
            checked: Vec::new(),
            not_judged: Vec::new(),
            limits: Vec::new(),
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The outcome, what is wrong and what to do, then what was written.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}", escape(self.file.as_bytes()), self.outcome.replace('_', " "))?;
        if let Some(failure) = &self.error {
            return text::failure(out, failure);
        }
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)?;
        match &self.written {
            Some(written) => writeln!(out, "unpacked to {}", text::plain(&written.path))?,
            None => writeln!(out, "nothing was written")?,
        }
        if let Some(tree) = &self.tree {
            tree.write_text(out)?;
        }
        if let Some(packed) = &self.packed {
            packed.write_text(out)?;
        }
        text::list(out, "made data, not recorded from real processes", &self.made_data)?;
        text::list(out, "checked", &self.checked)?;
        text::list(out, "not judged", &self.not_judged)?;
        text::list(out, "limits", &self.limits)
    }
}

const FORMAT: &str = "exhibit-extraction/1";
