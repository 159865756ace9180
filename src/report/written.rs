//! Owns how a ZIP that was written shows, with its receipt.
//!
//! Refuses nothing. Invariant: freezing and exporting say the same of what they wrote.

use std::io::{self, Write};

use serde::Serialize;

use super::text;
use crate::archive;
use crate::digest::Sha256;

/// A ZIP with its receipt.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Written {
    /// The ZIP's path.
    pub archive: String,
    /// The receipt's path.
    pub receipt: String,
    /// Bytes of the ZIP.
    pub size: u64,
    /// SHA-256 of the ZIP.
    pub sha256: Sha256,
    /// SHA-256 of the manifest.
    pub content_id: Sha256,
    /// Files in it, without the manifest.
    pub files: u64,
}

impl From<&archive::Written> for Written {
    fn from(written: &archive::Written) -> Self {
        Self {
            archive: written.archive.display().to_string(),
            receipt: written.receipt.display().to_string(),
            size: written.size,
            sha256: written.sha256,
            content_id: written.content_id,
            files: written.files,
        }
    }
}

impl Written {
    /// `what` names the ZIP: an archive or a release.
    pub(super) fn write_text(&self, out: &mut dyn Write, what: &str) -> io::Result<()> {
        let (archive, receipt) = (text::plain(&self.archive), text::plain(&self.receipt));
        writeln!(out, "{what} {archive} ({} files, {} bytes)", self.files, self.size)?;
        writeln!(out, "receipt {receipt}")?;
        writeln!(out, "SHA-256 {}", self.sha256)?;
        writeln!(out, "content id {}", self.content_id)
    }
}
