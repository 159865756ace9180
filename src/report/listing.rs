//! Owns the report of `exhibit list`: a ZIP's entries and what is wrong with them.
//!
//! Invariant: `findings` is empty just where the verdict is `accept`.

use std::io::{self, Write};

use base64::Engine as _;
use serde::Serialize;

use super::{Failure, Split, line, text};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Findings;
use crate::name::escape;
use crate::zip::{Entry, Method};

/// One entry as it is shown.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ListingEntry {
    /// The name as recorded, with a folder's trailing slash; null where it isn't UTF-8.
    pub name: Option<String>,
    /// The name's bytes in base64, where they aren't UTF-8.
    pub name_base64: Option<String>,
    /// Bytes of content.
    pub size: u64,
    /// Bytes in the file.
    pub compressed: u64,
    /// Unix permissions in octal, where the archive has any.
    pub mode: Option<String>,
    /// `stored`, `deflated`, or the number of a method that isn't read here.
    pub method: String,
    /// SHA-256 of the content, where it could be read.
    pub sha256: Option<Sha256>,
}

impl ListingEntry {
    /// An entry with the digest of its content.
    pub fn new(entry: &Entry, sha256: Option<Sha256>) -> Self {
        let raw = entry.raw_name();
        let name = String::from_utf8(raw.clone()).ok();
        Self {
            name_base64: name.is_none().then(|| base64::engine::general_purpose::STANDARD.encode(&raw)),
            name,
            size: entry.size,
            compressed: entry.compressed,
            mode: entry.mode().map(|mode| format!("{mode:04o}")),
            method: match entry.method {
                Method::Stored => "stored".to_owned(),
                Method::Deflated => "deflated".to_owned(),
                Method::Other(number) => number.to_string(),
            },
            sha256,
        }
    }
}

/// What `exhibit list` says of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Listing {
    /// `exhibit-listing/1`.
    pub format: &'static str,
    /// The file as it was given.
    pub file: String,
    /// `accept`, `reject` or `could_not_check`.
    pub verdict: &'static str,
    /// The entries, in the archive's order.
    pub entries: Vec<ListingEntry>,
    /// Broken rules.
    pub findings: Vec<crate::finding::Finding>,
    /// Worth a look; the verdict stands.
    pub warnings: Vec<crate::finding::Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
    /// Why nothing could be said.
    pub error: Option<Failure>,
}

impl Listing {
    /// A file that was read.
    pub fn read(file: String, entries: Vec<ListingEntry>, findings: &Findings) -> Self {
        let verdict = if findings.none_broken() { "accept" } else { "reject" };
        let split = Split::from(findings);
        Self { entries, ..Self::with(file, verdict, split, None) }
    }

    /// A file that could not be read.
    pub fn failed(file: String, error: &Error) -> Self {
        Self::with(file, "could_not_check", Split::default(), Some(error.into()))
    }

    fn with(file: String, verdict: &'static str, split: Split, error: Option<Failure>) -> Self {
        Self {
            format: "exhibit-listing/1",
            file,
            verdict,
            entries: Vec::new(),
            findings: split.findings,
            warnings: split.warnings,
            findings_not_shown: split.findings_not_shown,
            error,
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The verdict, what is wrong, then a table.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let total: u64 = self.entries.iter().fold(0, |sum, entry| sum.saturating_add(entry.size));
        let file = escape(self.file.as_bytes());
        if let Some(failure) = &self.error {
            writeln!(out, "{file}: could not check")?;
            return text::failure(out, failure);
        }
        let entries =
            if self.entries.len() == 1 { "1 entry".to_owned() } else { format!("{} entries", self.entries.len()) };
        writeln!(out, "{file}: {} ({entries}, {total} bytes)", self.verdict)?;
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)?;
        for entry in &self.entries {
            let mode = entry.mode.as_deref().unwrap_or("-");
            let sha256 = entry.sha256.map_or_else(|| "-".repeat(64), |digest| digest.to_string());
            let name = match (&entry.name, &entry.name_base64) {
                (Some(name), _) => escape(name.as_bytes()),
                (None, Some(bytes)) => format!("base64:{bytes}"),
                (None, None) => String::new(),
            };
            writeln!(out, "{mode:>5} {:>12} {:<8} {sha256} {name}", entry.size, entry.method)?;
        }
        Ok(())
    }
}
