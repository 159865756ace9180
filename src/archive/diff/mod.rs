//! Owns comparing two trees: which files only one has, which were moved, what changed in contents, modes and manifests.
//!
//! Refuses to call trees the same where something is wrong with one. Invariant: contents are compared by digest, and only
//! changed ones are opened, one pair at a time; packing, the root folder's name, folders without files and git metadata
//! don't count.

mod lines;
mod manifests;

use std::collections::BTreeMap;
use std::path::Path;

pub use lines::{Hunk, Line, Lines, Of};
pub use manifests::FieldDifference;

use crate::digest::{ContentDigests, Sha256};
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::manifest::MANIFEST;
use crate::name::EntryName;
use crate::tree::{Inventory, Progress, TreeFile};

/// What differs between two trees.
#[derive(Debug)]
pub struct Difference {
    /// The first tree.
    pub a: Side,
    /// The second tree.
    pub b: Side,
    /// Whether files were compared: not where a ZIP is so broken that its files aren't known.
    pub compared: bool,
    /// Files that differ, sorted by path bytes.
    pub files: Vec<FileDifference>,
    /// What differs between the manifests, where both trees have one that can be read.
    pub manifest: Vec<FieldDifference>,
}

impl Difference {
    /// Whether nothing was found wrong with either tree.
    pub fn none_broken(&self) -> bool {
        self.a.findings.none_broken() && self.b.findings.none_broken()
    }
}

/// One of two trees.
#[derive(Debug)]
pub struct Side {
    /// Files in it, without git metadata.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// Digest and size of the ZIP; none for a folder.
    pub packed: Option<(Sha256, u64)>,
    /// What is wrong with it.
    pub findings: Findings,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDifference {
    /// Its name; of a moved file, in the second tree.
    pub path: EntryName,
    /// How it differs.
    pub change: Change,
    /// What it is in the first tree.
    pub a: Option<Facts>,
    /// What it is in the second tree.
    pub b: Option<Facts>,
    /// What differs in its content.
    pub content: Content,
}

/// How a file differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// Only the first tree has it.
    OnlyA,
    /// Only the second tree has it.
    OnlyB,
    /// The same content, which no other file that only one tree has shares, under another name.
    Moved {
        /// The name in the first tree.
        from: EntryName,
    },
    /// Another content or another mode.
    Changed,
}

/// A file in one tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Facts {
    /// Bytes of its content.
    pub size: u64,
    /// Permission bits, where the tree has any.
    pub mode: Option<u32>,
    /// SHA-256 of its content.
    pub sha256: Sha256,
}

/// What differs in a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// There is nothing to compare it with.
    OneSided,
    /// Nothing.
    Same,
    /// These lines.
    Lines(Lines),
    /// It is compared by size and digest only, because it is `binary`, `large`, or so many lines are shown that it is
    /// `not_shown`.
    Digests(&'static str),
    /// These are the manifests, which are compared by field.
    Manifest,
}

type Found<'a> = (&'a TreeFile, &'a ContentDigests);

/// Compares the trees at two paths, each a ZIP or a folder.
///
/// # Errors
/// What can't be read, and what is neither a ZIP nor a folder.
pub fn diff(a: &Path, b: &Path, limits: &Limits, progress: Progress<'_>) -> Result<Difference, Error> {
    // Nobody waits for the first tree to learn that the second isn't there.
    std::fs::metadata(b).map_err(Error::io("open", b))?;
    let (in_a, findings_a) = Inventory::open(a, limits, progress)?;
    let (in_b, findings_b) = Inventory::open(b, limits, progress)?;
    let compared = in_a.is_sound() && in_b.is_sound();
    let (mut files, mut manifest) = (Vec::new(), Vec::new());
    if compared {
        files = changes(&in_a, &in_b);
        manifest = contents(&mut files, &in_a, &in_b, limits)?;
    }
    Ok(Difference { a: side(&in_a, findings_a)?, b: side(&in_b, findings_b)?, compared, files, manifest })
}

fn side(inventory: &Inventory, findings: Findings) -> Result<Side, Error> {
    let files = || files(inventory).map(|(file, _)| file.size);
    Ok(Side { files: files().count() as u64, bytes: files().sum(), packed: inventory.packed_digest()?, findings })
}

/// The files that count.
fn files(inventory: &Inventory) -> impl Iterator<Item = Found<'_>> {
    inventory.files().filter(|(file, _)| !file.is_git_metadata())
}

fn facts((file, digests): Found<'_>) -> Facts {
    Facts { size: file.size, mode: file.mode, sha256: digests.sha256 }
}

/// The files that differ, sorted. What differs in contents is not known yet.
fn changes(a: &Inventory, b: &Inventory) -> Vec<FileDifference> {
    let only = |of: &'_ Found<'_>, other: &Inventory| other.file(of.0.name.as_str()).is_none();
    let only_a: Vec<Found<'_>> = files(a).filter(|file| only(file, b)).collect();
    let only_b: Vec<Found<'_>> = files(b).filter(|file| only(file, a)).collect();
    let (lone_a, lone_b) = (lone(&only_a), lone(&only_b));
    let twin = |file: &Found<'_>, others: &BTreeMap<Sha256, Option<&EntryName>>| {
        let alone = |all: &BTreeMap<Sha256, Option<&EntryName>>| all.get(&file.1.sha256).copied().flatten().cloned();
        alone(&lone_a).and(alone(&lone_b)).and(alone(others))
    };
    let mut found = Vec::new();
    for file in &only_a {
        if twin(file, &lone_b).is_none() {
            let (path, a) = (file.0.name.clone(), Some(facts(*file)));
            found.push(FileDifference { path, change: Change::OnlyA, a, b: None, content: Content::OneSided });
        }
    }
    for file in &only_b {
        let (path, b) = (file.0.name.clone(), Some(facts(*file)));
        let from = twin(file, &lone_a);
        let before = from.as_ref().and_then(|from| a.file(from.as_str())).map(facts);
        let (change, content) = match from {
            Some(from) => (Change::Moved { from }, Content::Same),
            None => (Change::OnlyB, Content::OneSided),
        };
        found.push(FileDifference { path, change, a: before, b, content });
    }
    for file in files(a) {
        let Some(other) = b.file(file.0.name.as_str()) else { continue };
        let (a, b) = (facts(file), facts(other));
        if a != b {
            let path = file.0.name.clone();
            found.push(FileDifference {
                path,
                change: Change::Changed,
                a: Some(a),
                b: Some(b),
                content: Content::Same,
            });
        }
    }
    found.sort_by(|a, b| a.path.cmp(&b.path));
    found
}

/// Which of these files has a content; none where several have it. Empty files are all alike and say nothing.
fn lone<'a>(files: &[Found<'a>]) -> BTreeMap<Sha256, Option<&'a EntryName>> {
    let mut names = BTreeMap::new();
    for (file, digests) in files.iter().filter(|(file, _)| file.size > 0) {
        names.entry(digests.sha256).and_modify(|name| *name = None).or_insert(Some(&file.name));
    }
    names
}

/// Looks into the contents that differ, and compares the manifests.
fn contents(
    files: &mut [FileDifference],
    a: &Inventory,
    b: &Inventory,
    limits: &Limits,
) -> Result<Vec<FieldDifference>, Error> {
    let mut fields = Vec::new();
    let mut left = limits.max_shown_lines_in_all;
    for file in files {
        let (Change::Changed, Some(in_a), Some(in_b)) = (&file.change, &file.a, &file.b) else { continue };
        if in_a.sha256 == in_b.sha256 {
            continue;
        }
        if file.path.as_str() == MANIFEST
            && let (Some(of_a), Some(of_b)) = (manifests::read(a, limits)?, manifests::read(b, limits)?)
        {
            fields = manifests::compare((&of_a, a), (&of_b, b));
            // What no field tells, such as white space or a text for people, the lines do.
            if !fields.is_empty() || !manifests::list_the_same(&of_a, &of_b) {
                file.content = Content::Manifest;
                continue;
            }
        }
        file.content = if in_a.size.max(in_b.size) > limits.max_text {
            Content::Digests("large")
        } else if left == 0 {
            Content::Digests("not_shown")
        } else {
            let name = file.path.as_str();
            let (of_a, of_b) = (a.read(name, limits.max_text)?, b.read(name, limits.max_text)?);
            match (lines::text(&of_a, limits), lines::text(&of_b, limits)) {
                (Ok(of_a), Ok(of_b)) => Content::Lines(lines::compare(of_a, of_b, limits, &mut left)),
                (Err(why), _) | (_, Err(why)) => Content::Digests(why),
            }
        };
    }
    Ok(fields)
}
