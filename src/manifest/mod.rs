//! Owns manifests, the inventories of releases and archives: their models, how they are read, how a tree is held
//! against them, and receipts.
//!
//! Refuses formats it doesn't know instead of guessing. Invariant: what stands above this room asks a [`Manifest`] and
//! can't tell which format it came from, except for what only one format has.

mod approval;
mod compare;
mod historical;
mod own;
mod paths;
mod read;
mod receipt;
#[cfg(test)]
mod samples;
#[cfg(test)]
mod tests;

pub use compare::{compare, compare_content};
pub use historical::{Historical, HistoricalFile};
pub use own::{Derivative, Document, File, Kind, Omission, Own, Role, Run, RunFault, Source, Standing, Version1};
pub use read::read;
pub use receipt::{FORMAT as RECEIPT_FORMAT, Receipt};

use std::collections::BTreeMap;

use crate::digest::{GitBlob, Sha256};
use crate::document::shown;
use crate::form::{Mode, ObjectId, Timestamp};
use crate::name::EntryName;

/// The manifest's name at a tree's root.
pub const MANIFEST: &str = "EXPORT-MANIFEST.json";

/// A manifest of any format that is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Manifest {
    /// `exhibit-manifest/1`.
    Own(Own),
    /// `tracked-source-export-v1`, `public-source-export-v2` and `public-source-export-v3`.
    Historical(Historical),
}

/// What a manifest of any format says of one file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Declared<'a> {
    /// Its name.
    pub path: &'a EntryName,
    /// Its size, where the format records it.
    pub size: Option<u64>,
    /// Its permission bits.
    pub mode: Mode,
    /// The digest of its content.
    pub sha256: &'a Sha256,
    /// The git blob id of its content, where the format records it.
    pub git_blob: Option<&'a GitBlob>,
    /// What it is for, where the format records it.
    pub role: Option<Role>,
}

impl Manifest {
    /// The project's name.
    pub fn project(&self) -> &str {
        match self {
            Self::Own(own) => own.document().project.as_str(),
            Self::Historical(historical) => historical.project(),
        }
    }

    /// The format's name and major version, as the document has it.
    pub fn format(&self) -> &'static str {
        match self {
            Self::Own(_) => own::FORMAT,
            Self::Historical(historical) => historical.format(),
        }
    }

    /// What the tree is. The historical formats know releases only.
    pub fn kind(&self) -> Kind {
        match self {
            Self::Own(own) => own.document().kind,
            Self::Historical(_) => Kind::Release,
        }
    }

    /// When the commit or the run was made, if it is recorded.
    pub fn created(&self) -> Option<&Timestamp> {
        match self {
            Self::Own(own) => own.document().created.as_ref(),
            Self::Historical(_) => None,
        }
    }

    /// The commit that the tree was exported from, if it is recorded.
    pub fn source_commit(&self) -> Option<&ObjectId> {
        match self {
            Self::Own(own) => own.document().source.as_ref().map(|source| &source.commit),
            Self::Historical(historical) => Some(historical.source_commit()),
        }
    }

    /// The runs that the manifest lists. The historical formats list none: their policy does.
    pub fn runs(&self) -> &[Run] {
        match self {
            Self::Own(own) => &own.document().runs,
            Self::Historical(_) => &[],
        }
    }

    /// SHA-256 of the canonical bytes. The historical formats have no canonical form.
    pub fn content_id(&self) -> Option<Sha256> {
        match self {
            Self::Own(own) => Some(own.content_id()),
            Self::Historical(_) => None,
        }
    }

    /// The name of the one folder at a ZIP's root, and of the ZIP without `.zip`.
    pub fn root_name(&self) -> String {
        match self {
            Self::Own(own) => own.root_name(),
            Self::Historical(historical) => historical.root_name(),
        }
    }

    /// What the manifest says of the files, in its order.
    pub fn declared(&self) -> impl Iterator<Item = Declared<'_>> {
        let (own, historical) = match self {
            Self::Own(own) => (Some(own), None),
            Self::Historical(historical) => (None, Some(historical)),
        };
        let own = own.into_iter().flat_map(|own| own.document().files.iter().map(File::declared));
        own.chain(historical.into_iter().flat_map(|all| all.files().iter().map(HistoricalFile::declared)))
    }

    /// What is known of the redacted files; in the historical formats, of those that the policy approved.
    pub fn derivatives(&self) -> BTreeMap<&str, &Derivative> {
        match self {
            Self::Own(own) => own.derivatives().map(|(path, derivative)| (path.as_str(), derivative)).collect(),
            Self::Historical(all) => {
                all.derivatives().iter().map(|(path, derivative)| (path.as_str(), derivative)).collect()
            }
        }
    }

    /// What was left out, with the reason. That it was left out for that reason is an assertion.
    pub fn omissions(&self) -> &[Omission] {
        match self {
            Self::Own(own) => &own.document().omissions,
            Self::Historical(_) => &[],
        }
    }

    /// What the manifest asserts and nobody can recheck from the tree, a sentence each.
    pub fn assertions(&self) -> Vec<String> {
        let mut said = Vec::new();
        match self {
            Self::Own(own) => {
                own.derivatives().for_each(|(path, derivative)| private(path.as_str(), derivative, &mut said));
            }
            Self::Historical(all) => {
                all.derivatives().iter().for_each(|(path, derivative)| private(path, derivative, &mut said));
                if !all.has_git_blobs() {
                    let format = all.format();
                    said.push(format!(
                        "the git blob ids, in {format} those of the originals, are asserted, not rechecked"
                    ));
                }
                if let Some(commit) = all.origin_private_commit() {
                    said.push(format!("the private commit of origin {commit} is asserted, not rechecked"));
                }
            }
        }
        if let Some(commit) = self.source_commit() {
            said.push(format!("that the files are those of the commit {commit} is asserted, not rechecked"));
        }
        said
    }
}

fn private(path: &str, derivative: &Derivative, said: &mut Vec<String>) {
    let Derivative { rule, private_sha256, private_git_blob, .. } = derivative;
    said.push(format!("{path}: the private original's SHA-256 {private_sha256} is asserted, not rechecked"));
    if let Some(blob) = private_git_blob {
        said.push(format!("{path}: the private original's git blob id {blob} is asserted, not rechecked"));
    }
    said.push(format!("{path}: that only the rule {} changed it is asserted, not rechecked", shown(rule)));
}
