//! Owns receipts: what a publisher says of one archive, read and held against it.
//!
//! Refuses documents that don't follow `exhibit-receipt/1`, with all their faults. Invariant: a receipt is compared,
//! never completed: what it names must be what was found. The archive's file name is for people; a renamed download is
//! still the archive.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::Manifest;
use crate::digest::Sha256;
use crate::document::Format;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::form::{self, ObjectId};
use crate::json;
use crate::limits::Limits;

/// The format of receipts. Version 1 is the first.
pub const FORMAT: Format =
    Format { kind: "receipt", name: "exhibit-receipt/1", schema: include_str!("../../schemas/exhibit-receipt-1.json") };

/// What a publisher says of one archive.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Receipt {
    /// Name and major version of the format.
    pub format: String,
    /// The ZIP's file name as it was published.
    pub archive: String,
    /// Bytes of the ZIP.
    #[serde(deserialize_with = "form::integer")]
    pub size: u64,
    /// SHA-256 of the ZIP.
    pub sha256: Sha256,
    /// SHA-256 of the manifest's canonical bytes; none where the manifest's format has none.
    #[serde(deserialize_with = "json::nullable")]
    pub content_id: Option<Sha256>,
    /// The commit that the manifest names; none where it names none.
    #[serde(deserialize_with = "json::nullable")]
    pub source_commit: Option<ObjectId>,
}

impl Receipt {
    /// What to say of the archive that was written as `archive` with this size and digest.
    pub fn of(archive: &str, size: u64, sha256: Sha256, manifest: &Manifest) -> Self {
        Self {
            format: FORMAT.name.to_owned(),
            archive: archive.to_owned(),
            size,
            sha256,
            content_id: manifest.content_id(),
            source_commit: manifest.source_commit().cloned(),
        }
    }

    /// Reads the receipt at `path`.
    ///
    /// # Errors
    /// A newer or foreign format; a document with faults, all of them.
    pub fn read(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        FORMAT.load(path, bytes, limits)
    }

    /// The bytes to write: canonical JSON and a line's end.
    ///
    /// # Errors
    /// None in practice: every value has a JSON form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = json::canonical(self).map_err(|e| Error::WouldNotVerify(format!("the receipt: {e}")))?;
        bytes.push(b'\n');
        Ok(bytes)
    }

    /// Holds the receipt against a ZIP of `size` bytes with the digest `sha256`, and against its manifest where that
    /// could be read. A manifest of a historical format has no content id: there the digest of the ZIP speaks for it.
    pub fn check(&self, size: u64, sha256: &Sha256, manifest: Option<&Manifest>, limits: &Limits) -> Findings {
        let mut findings = Findings::new(limits.max_findings);
        let mut compare = |field: &str, what: &str, recorded: &str, computed: &str| {
            if recorded != computed {
                let message = format!("the receipt of {} is for another {what}", self.archive);
                let place = Place::default().pointer(format!("/{field}"));
                findings.push(Finding::new(Code::ReceiptDiffers, place, message).values(recorded, computed));
            }
        };
        compare("sha256", "SHA-256 of the ZIP", &self.sha256.to_string(), &sha256.to_string());
        compare("size", "size of the ZIP", &self.size.to_string(), &size.to_string());
        if let Some(manifest) = manifest {
            if let Some(id) = manifest.content_id() {
                compare("content_id", "content id", &or_none(self.content_id.as_ref()), &id.to_string());
            }
            let commit = or_none(manifest.source_commit());
            compare("source_commit", "source commit", &or_none(self.source_commit.as_ref()), &commit);
        }
        findings
    }
}

fn or_none(value: Option<&impl ToString>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::manifest::samples;

    fn read(text: &[u8]) -> Result<Receipt, Error> {
        Receipt::read(Path::new("a.receipt.json"), text, &Limits::default())
    }

    fn pointers(receipt: &Receipt, size: u64, zip: &[u8], manifest: Option<&Manifest>) -> Vec<String> {
        let findings = receipt.check(size, &Sha256::of(zip), manifest, &Limits::default());
        assert!(findings.iter().all(|finding| finding.code == Code::ReceiptDiffers));
        findings.iter().filter_map(|finding| finding.place.pointer.clone()).collect()
    }

    #[test]
    fn a_receipt_says_the_same_after_writing_and_reading() {
        let receipt = Receipt::of("a.zip", 3, Sha256::of(b"zip"), &Manifest::Own(samples::own()));
        assert_eq!(read(&receipt.to_bytes().unwrap()).unwrap(), receipt);
    }

    #[test]
    fn each_claim_of_a_receipt_is_compared() {
        let manifest = Manifest::Own(samples::own());
        let receipt = Receipt::of("a.zip", 3, Sha256::of(b"zip"), &manifest);
        assert!(pointers(&receipt, 3, b"zip", Some(&manifest)).is_empty());
        assert_eq!(pointers(&receipt, 3, b"zap", Some(&manifest)), ["/sha256"]);
        assert_eq!(pointers(&receipt, 4, b"zip", None), ["/size"]);
        let other = Receipt { content_id: None, ..receipt.clone() };
        assert_eq!(pointers(&other, 3, b"zip", Some(&manifest)), ["/content_id"]);
        let other = Receipt { source_commit: None, ..receipt };
        assert_eq!(pointers(&other, 3, b"zip", Some(&manifest)), ["/source_commit"]);
        assert!(pointers(&other, 3, b"zip", None).is_empty());
    }

    #[test]
    fn faults_of_a_receipt_are_all_named() {
        let text = String::from_utf8(samples::receipt_bytes()).unwrap();
        let bad = text.replace("\"size\":3", "\"size\":true").replace("\"a.zip\"", "\"\"");
        let Err(Error::Document { faults, .. }) = read(bad.as_bytes()) else { panic!("taken: {bad}") };
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(matches!(read(text.replace("receipt/1", "receipt/2").as_bytes()), Err(Error::UnknownFormat { .. })));
    }
}
