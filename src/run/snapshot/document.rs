//! Owns the document beside a snapshot's archive: exhibit's own form, and the historical one without a format.
//!
//! Refuses in its own form unknown and missing fields and text that isn't canonical. Invariant: whichever form a
//! document has, what is known of it afterwards is the same.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::super::RunReport;
use super::super::document::{Object, broken, bytes, nullable, of_fault, shown, typed};
use crate::digest::Sha256;
use crate::document::is_newer;
use crate::error::Error;
use crate::finding::Findings;
use crate::form::ObjectId;
use crate::json;
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::Inventory;

/// The format of a snapshot's document. Version 1 is the first.
pub const SNAPSHOT_FORMAT: &str = "exhibit-source-snapshot/1";

/// What binds the archive beside it to a run. Written as canonical JSON.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    format: String,
    /// SHA-256 of the `.tar.gz`.
    pub archive_sha256: Sha256,
    /// The run's folder, from the tree's root.
    pub attempt_relative_path: EntryName,
    /// What was run of the sources, where that has a name.
    #[serde(deserialize_with = "nullable")]
    pub module: Option<String>,
    /// The commit that the sources are of.
    pub source_commit: ObjectId,
    /// Each source and its digest.
    pub source_hashes: BTreeMap<EntryName, Sha256>,
    /// SHA-256 of the run's `SUMMARY.json`, where it has one.
    #[serde(deserialize_with = "nullable")]
    pub summary_sha256: Option<Sha256>,
}

impl Document {
    /// The document for the run of a report, whose sources are in an archive with this digest. `summary` is the digest
    /// of the run's `SUMMARY.json`.
    ///
    /// # Errors
    /// [`Error::WouldNotVerify`] for a run that names no commit or no sources, or names them in no proper form.
    pub fn of(report: &RunReport, archive_sha256: Sha256, summary: Option<Sha256>) -> Result<Self, Error> {
        let unfit = |what: &str| Error::WouldNotVerify(format!("the run {} {what}", shown(&report.path)));
        let commit = report.source_head.as_deref().ok_or_else(|| unfit("names no commit"))?;
        if report.sources.is_empty() {
            return Err(unfit("records no sources"));
        }
        let sources = report.sources.iter().map(|(path, sha256)| Ok((EntryName::new(path)?, *sha256)));
        Ok(Self {
            format: SNAPSHOT_FORMAT.to_owned(),
            archive_sha256,
            attempt_relative_path: EntryName::new(&report.path)
                .map_err(|_| unfit("lies in a folder without a portable name"))?,
            module: None,
            source_commit: commit.parse().map_err(|_| unfit("names a commit that is none"))?,
            source_hashes: sources
                .collect::<Result<_, crate::name::NameFault>>()
                .map_err(|_| unfit("records a source without a portable name"))?,
            summary_sha256: summary,
        })
    }

    /// Its canonical bytes.
    ///
    /// # Errors
    /// None that a document made by [`Document::of`] gives.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        json::canonical(self).map_err(|error| Error::WouldNotVerify(error.to_string()))
    }
}

/// The historical document. Other fields are other people's, and tolerated.
#[derive(Deserialize)]
struct Historical {
    archive_sha256: Sha256,
    attempt_relative_path: String,
    source_commit: String,
    source_hashes: BTreeMap<String, Sha256>,
    summary_sha256: Option<Sha256>,
}

/// What a document of either form says.
pub(super) struct Said {
    pub(super) archive_sha256: Sha256,
    pub(super) run: String,
    /// The path starts at the tree's root; in the historical form it may start elsewhere.
    pub(super) is_exact: bool,
    pub(super) source_commit: String,
    pub(super) source_hashes: BTreeMap<String, Sha256>,
    pub(super) summary_sha256: Option<Sha256>,
}

/// Reads a document that is in the tree. `None` where it is broken, which is then a finding.
///
/// # Errors
/// [`Error::UnknownFormat`] for a newer version, and what can't be read.
pub(super) fn read(
    inventory: &Inventory,
    path: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Option<Said>, Error> {
    let Some(text) = bytes(inventory, path, limits, findings)? else { return Ok(None) };
    let format = match json::check_format(&*text, limits.max_depth) {
        Ok(format) => format,
        Err(fault) => {
            findings.push(of_fault(path, None, &fault));
            return Ok(None);
        }
    };
    match format {
        None => {
            let read = typed::<Object<Historical>>(&text, path, None, limits, findings);
            Ok(read.map(|Object(read)| Said {
                archive_sha256: read.archive_sha256,
                run: read.attempt_relative_path,
                is_exact: false,
                source_commit: read.source_commit,
                source_hashes: read.source_hashes,
                summary_sha256: read.summary_sha256,
            }))
        }
        Some(format) if format == SNAPSHOT_FORMAT => {
            let read = typed::<Object<Document>>(&text, path, None, limits, findings);
            Ok(read.and_then(|Object(read)| own(read, &text, path, findings)))
        }
        Some(format) if is_newer(&format, SNAPSHOT_FORMAT) => Err(Error::UnknownFormat {
            place: path.to_owned(),
            found: shown(&format),
            known: SNAPSHOT_FORMAT,
            advice: "use the version of exhibit that wrote it, or a newer one",
        }),
        Some(format) => {
            let message = "the document does not name the format that its place asks for";
            findings.push(broken(path, None, "/format", message).values(shown(&format), SNAPSHOT_FORMAT));
            Ok(None)
        }
    }
}

fn own(read: Document, text: &[u8], path: &str, findings: &mut Findings) -> Option<Said> {
    if json::canonical(&read).ok().as_deref() != Some(text) {
        findings.push(broken(path, None, "", "the document is not canonical JSON (RFC 8785)"));
        return None;
    }
    let sources = read.source_hashes.into_iter().map(|(path, sha256)| (path.to_string(), sha256));
    Some(Said {
        archive_sha256: read.archive_sha256,
        run: read.attempt_relative_path.to_string(),
        is_exact: true,
        source_commit: read.source_commit.to_string(),
        source_hashes: sources.collect(),
        summary_sha256: read.summary_sha256,
    })
}
