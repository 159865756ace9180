//! Owns the historical manifests, the formats in which the reference study published: one model for all three versions.
//!
//! Refuses what the version of the format doesn't allow, and redactions that the project's policy didn't approve.
//! Invariant: which files a study redacted is the policy's to say; this room knows no path and no digest.

mod check;
#[cfg(test)]
mod tests;
mod wire;

use std::collections::BTreeMap;

use super::{Declared, Derivative, approval, paths};
use crate::digest::{GitBlob, Sha256};
use crate::error::Error;
use crate::finding::Findings;
use crate::form::{Mode, ObjectId};
use crate::name::EntryName;
use crate::policy::{Approved, Policy};
pub(super) use wire::Wire;
use wire::{Status, WireFile};

/// The versions of the format. No later one was written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Version {
    /// The first, under another name. It redacts files on export, as the second does.
    V1,
    V2,
    /// Exports what is public already, with files that were redacted before.
    V3,
}

impl Version {
    const ALL: [Self; 3] = [Self::V1, Self::V2, Self::V3];

    /// The version whose name stands in a document.
    pub(super) fn named(format: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|version| version.name() == format)
    }

    /// The format's name, as the document has it.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::V1 => "tracked-source-export-v1",
            Self::V2 => "public-source-export-v2",
            Self::V3 => "public-source-export-v3",
        }
    }

    /// Whether git blob ids are those of the exported contents, and not those of the originals.
    fn blobs_are_of_exports(self) -> bool {
        match self {
            Self::V1 | Self::V2 => false,
            Self::V3 => true,
        }
    }
}

/// A manifest of one of these formats.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Historical {
    version: Version,
    project: EntryName,
    source_commit: ObjectId,
    origin_private_commit: Option<ObjectId>,
    files: Vec<HistoricalFile>,
    derivatives: BTreeMap<String, Derivative>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoricalFile {
    path: EntryName,
    mode: Mode,
    sha256: Sha256,
    /// None where the format has the original's.
    git_blob: Option<GitBlob>,
}

impl Historical {
    /// Checks what stands in the file; without a `policy` against the embedded one of its project.
    /// There is no manifest where a field isn't one of the version's.
    pub(super) fn read(
        version: Version,
        wire: Wire,
        policy: Option<&Policy>,
        findings: &mut Findings,
    ) -> Result<Option<Self>, Error> {
        if !check::fields(version, &wire, findings) {
            return Ok(None);
        }
        let embedded = if policy.is_none() { Policy::for_project(wire.project.0.as_str())? } else { None };
        let policy = policy.or(embedded.as_ref());
        check::counts(&wire, findings);
        check::omissions(version, &wire, findings);
        paths::check(wire.files.iter().map(|file| &file.path), findings);
        let mut derivatives = BTreeMap::new();
        for (index, file) in wire.files.iter().enumerate() {
            let approved = policy.and_then(|policy| policy.approved(file.path.as_str()));
            check::file(index, file, findings);
            check::approval(index, file, approved, findings);
            if let Some(derivative) = approved.and_then(|approved| derivative(file, approved)) {
                derivatives.insert(file.path.to_string(), derivative);
            }
        }
        if let Some(policy) = policy {
            approval::check_absent(wire.files.iter().map(|file| &file.path), policy, findings);
        }
        let files = wire.files.into_iter().map(|file| HistoricalFile {
            path: file.path,
            mode: file.git_mode.0,
            sha256: file.exported_sha256,
            git_blob: version.blobs_are_of_exports().then_some(file.git_blob_sha1),
        });
        Ok(Some(Self {
            version,
            project: wire.project.0,
            source_commit: wire.source_commit.0,
            origin_private_commit: wire.origin_private_commit.and_then(|origin| origin.0).map(|commit| commit.0),
            files: files.collect(),
            derivatives,
        }))
    }

    /// The format's name and version, as the document has it.
    pub fn format(&self) -> &'static str {
        self.version.name()
    }

    /// The project's name.
    pub fn project(&self) -> &str {
        self.project.as_str()
    }

    /// The commit that was exported.
    pub fn source_commit(&self) -> &ObjectId {
        &self.source_commit
    }

    /// The private commit that the public one came from, where the version records it: an assertion.
    pub fn origin_private_commit(&self) -> Option<&ObjectId> {
        self.origin_private_commit.as_ref()
    }

    /// The files, in the manifest's order.
    pub fn files(&self) -> &[HistoricalFile] {
        &self.files
    }

    /// The redacted files that the policy approved and the manifest declares. What version 3 says of them, it says in
    /// the policy's words; the earlier versions record it themselves.
    pub fn derivatives(&self) -> &BTreeMap<String, Derivative> {
        &self.derivatives
    }

    /// Whether the git blob ids can be rechecked: those of the earlier versions are the originals'.
    pub fn has_git_blobs(&self) -> bool {
        self.version.blobs_are_of_exports()
    }

    /// The name of the one folder at the ZIP's root: the project and the first 8 digits of the commit.
    pub fn root_name(&self) -> String {
        let commit: String = self.source_commit.as_str().chars().take(8).collect();
        format!("{}-{commit}", self.project)
    }
}

impl HistoricalFile {
    pub(super) fn declared(&self) -> Declared<'_> {
        let Self { path, mode, sha256, git_blob } = self;
        Declared { path, size: None, mode: *mode, sha256, git_blob: git_blob.as_ref(), role: None }
    }
}

/// What a policy knows of a redaction.
impl From<&Approved> for Derivative {
    fn from(approved: &Approved) -> Self {
        Self {
            rule: approved.transform.clone(),
            matched_prefix: None,
            occurrences: None,
            private_sha256: approved.private_origin_sha256,
            private_git_blob: Some(approved.private_origin_git_blob),
            public_sha256: approved.public_sha256,
        }
    }
}

/// What is known of an approved redaction, where the file claims one.
fn derivative(file: &WireFile, approved: &Approved) -> Option<Derivative> {
    match file.status {
        Status::ByteIdentical => None,
        Status::RetainedRedactedDerivative => Some(Derivative::from(approved)),
        Status::RedactedDerivative => {
            let matched_prefix = match file.transforms.as_slice() {
                [transform] => Some(transform.matched_prefix.clone()),
                // Several prefixes have no common text.
                [] | [_, _, ..] => None,
            };
            let all = file.transforms.iter().try_fold(0_u64, |sum, transform| sum.checked_add(transform.occurrences));
            Some(Derivative {
                rule: approved.transform.clone(),
                matched_prefix,
                occurrences: all,
                private_sha256: file.original_sha256,
                private_git_blob: Some(file.git_blob_sha1),
                public_sha256: file.exported_sha256,
            })
        }
    }
}
