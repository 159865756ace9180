//! Owns what differs between two manifests, by field.
//!
//! Refuses to repeat what the trees show: of the lists of files only what doesn't fit a tree, and roles. Invariant: a
//! field is told only where the two say different things of it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;

use crate::digest::{GitBlob, Sha256};
use crate::error::Error;
use crate::form::Mode;
use crate::limits::Limits;
use crate::manifest::{self, Declared, Manifest};
use crate::tree::Inventory;

/// A field that two manifests give another value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldDifference {
    /// The field's name.
    pub field: &'static str,
    /// Of which file or run, where the field is one of many.
    pub path: Option<String>,
    /// What the first says; none where it says nothing.
    pub a: Option<String>,
    /// What the second says.
    pub b: Option<String>,
}

/// Reads a manifest, where it is one of a known format. Verifying it is another command's work.
pub(super) fn read(inventory: &Inventory, limits: &Limits) -> Result<Option<Manifest>, Error> {
    match manifest::read(inventory, limits, None) {
        Ok((manifest, _)) => Ok(manifest),
        Err(Error::UnknownFormat { .. }) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Compares two manifests, each with its tree.
pub(super) fn compare(a: (&Manifest, &Inventory), b: (&Manifest, &Inventory)) -> Vec<FieldDifference> {
    let (mut says_a, mut says_b) = (head(a.0), head(b.0));
    let keys: BTreeSet<Key> = says_a.keys().chain(says_b.keys()).cloned().collect();
    let mut found = Vec::new();
    for key in keys {
        let (a, b) = (says_a.remove(&key), says_b.remove(&key));
        if a != b {
            found.push(FieldDifference { field: key.0.name(), path: key.1, a, b });
        }
    }
    files(a, b, &mut found);
    found
}

/// Whether the lists of files say the same.
pub(super) fn list_the_same(a: &Manifest, b: &Manifest) -> bool {
    let (a, b) = (by_path(a), by_path(b));
    let alike = |(a, b): (&Declared<'_>, &Declared<'_>)| a.path == b.path && said(a) == said(b) && a.role == b.role;
    a.len() == b.len() && a.values().zip(b.values()).all(alike)
}

/// Fields in the order in which they are told.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Field {
    Format,
    Kind,
    Project,
    SourceCommit,
    SourceTree,
    OriginPrivateCommit,
    Created,
    Omission,
    Run,
    Derivative,
}

impl Field {
    fn name(self) -> &'static str {
        match self {
            Self::Format => "format",
            Self::Kind => "kind",
            Self::Project => "project",
            Self::SourceCommit => "source commit",
            Self::SourceTree => "source tree",
            Self::OriginPrivateCommit => "origin private commit",
            Self::Created => "created",
            Self::Omission => "omission",
            Self::Run => "run",
            Self::Derivative => "derivative",
        }
    }
}

type Key = (Field, Option<String>);

/// Everything but the list of files.
fn head(manifest: &Manifest) -> BTreeMap<Key, String> {
    let mut says = BTreeMap::new();
    let mut say = |field, path: Option<&str>, value: Option<String>| {
        says.extend(value.map(|value| ((field, path.map(str::to_owned)), value)));
    };
    say(Field::Format, None, Some(manifest.format().to_owned()));
    say(Field::Kind, None, Some(word(&manifest.kind())));
    say(Field::Project, None, Some(manifest.project().to_owned()));
    say(Field::SourceCommit, None, manifest.source_commit().map(|commit| commit.as_str().to_owned()));
    match manifest {
        Manifest::Own(own) => {
            let tree = own.document().source.as_ref().map(|source| source.tree.as_str().to_owned());
            say(Field::SourceTree, None, tree);
        }
        Manifest::Historical(historical) => {
            let origin = historical.origin_private_commit().map(|commit| commit.as_str().to_owned());
            say(Field::OriginPrivateCommit, None, origin);
        }
    }
    say(Field::Created, None, manifest.created().map(|created| created.as_str().to_owned()));
    for omission in manifest.omissions() {
        say(Field::Omission, Some(omission.path.as_str()), Some(word(omission)));
    }
    for run in manifest.runs() {
        say(Field::Run, Some(run.path.as_str()), Some(word(run)));
    }
    for (path, derivative) in manifest.derivatives() {
        say(Field::Derivative, Some(path), Some(word(derivative)));
    }
    says
}

/// A value as the file has it; a text without its quotes.
fn word(value: &impl Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(text)) => text,
        Ok(value) => value.to_string(),
        // None in practice: every value of a manifest has a JSON form.
        Err(error) => error.to_string(),
    }
}

/// What a list of files says of one path, held against the tree.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Listed {
    /// Exactly what the tree shows, also where that is nothing.
    AsInTree,
    /// Nothing, but the tree has the file.
    Not,
    /// Another file than the tree has.
    Otherwise(String),
}

impl fmt::Display for Listed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::AsInTree => f.write_str("as in the tree"),
            Self::Not => f.write_str("not listed"),
            Self::Otherwise(what) => f.write_str(what),
        }
    }
}

fn files(a: (&Manifest, &Inventory), b: (&Manifest, &Inventory), found: &mut Vec<FieldDifference>) {
    let (of_a, of_b) = (by_path(a.0), by_path(b.0));
    let in_trees = [a.1, b.1].into_iter().flat_map(Inventory::files);
    let in_trees = in_trees.filter(|(file, _)| !file.is_git_metadata()).map(|(file, _)| file.name.as_str());
    let mut paths: BTreeSet<&str> = of_a.keys().chain(of_b.keys()).copied().collect();
    paths.extend(in_trees.filter(|path| *path != manifest::MANIFEST));
    for path in paths {
        let (in_a, in_b) = (of_a.get(path), of_b.get(path));
        let mut tell = |field, a: String, b: String| {
            if a != b {
                found.push(FieldDifference { field, path: Some(path.to_owned()), a: Some(a), b: Some(b) });
            }
        };
        // What both lists say is no difference between them, whatever the trees have.
        if in_a.map(said) != in_b.map(said) {
            tell("file", listed(in_a, a.1, path).to_string(), listed(in_b, b.1, path).to_string());
        }
        if let (Some(a), Some(b)) = (in_a.and_then(|file| file.role), in_b.and_then(|file| file.role)) {
            tell("role", word(&a), word(&b));
        }
    }
}

fn by_path(manifest: &Manifest) -> BTreeMap<&str, Declared<'_>> {
    manifest.declared().map(|declared| (declared.path.as_str(), declared)).collect()
}

/// What a list says of a file's content and mode.
fn said<'a>(declared: &Declared<'a>) -> (&'a Sha256, Option<&'a GitBlob>, Mode, Option<u64>) {
    (declared.sha256, declared.git_blob, declared.mode, declared.size)
}

fn listed(declared: Option<&Declared<'_>>, inventory: &Inventory, path: &str) -> Listed {
    match (declared, inventory.file(path)) {
        (None, None) => Listed::AsInTree,
        (None, Some(_)) => Listed::Not,
        (Some(declared), found) => {
            let fits = found.is_some_and(|(file, digests)| {
                *declared.sha256 == digests.sha256
                    && declared.git_blob.is_none_or(|git_blob| *git_blob == digests.git_blob)
                    && declared.size.is_none_or(|size| size == file.size)
                    && file.mode == Some(declared.mode.bits())
            });
            if fits {
                return Listed::AsInTree;
            }
            let size = declared.size.map(|size| format!("{size} bytes, ")).unwrap_or_default();
            let Declared { mode, sha256, git_blob, .. } = declared;
            let blob = git_blob.map(|git_blob| format!(", git blob {git_blob}")).unwrap_or_default();
            Listed::Otherwise(format!("{size}mode {mode}, SHA-256 {sha256}{blob}"))
        }
    }
}
