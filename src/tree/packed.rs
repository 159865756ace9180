//! Owns reading a ZIP into an inventory.
//!
//! Refuses what the strict ZIP reader refuses, and an archive without exactly one folder at its root. Invariant: names
//! in the inventory start below that folder.

use std::path::Path;

use super::{Forms, Inventory, Origin, Packed, Progress, Step, TreeFile};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::EntryName;
use crate::zip::{Archive, Entry, Name};

/// Reads records, then the wanted contents in parallel. `wanted` is asked with names below the root folder.
pub(super) fn read(
    path: &Path,
    wanted: &(dyn Fn(&str) -> bool + Sync),
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<(Inventory, Findings), Error> {
    let (archive, mut findings) = Archive::open(path, limits)?;
    let wanted = |entry: &Entry| match &entry.name {
        Name::Portable(name) => name.as_str().split_once('/').is_none_or(|(_, below)| wanted(below)),
        Name::Refused(_) => true,
    };
    let sizes = archive.entries().iter().filter(|entry| wanted(entry)).map(|entry| entry.size);
    progress(Step::Total(sizes.fold(0, u64::saturating_add)));
    let digests = archive.digest(&wanted, &|count| progress(Step::Bytes(count)), &mut findings)?;
    let root = root(&archive, &mut findings);
    let (mut files, mut folders) = (Vec::with_capacity(archive.entries().len()), Vec::new());
    for (index, (entry, digests)) in archive.entries().iter().zip(digests).enumerate() {
        let Some(name) = below(entry, &root) else { continue };
        if entry.is_folder {
            folders.push(name);
        } else if let Some(digests) = digests {
            files.push((TreeFile { name, size: entry.size, mode: entry.mode(), index }, digests));
        }
    }
    let sound = findings.none_broken();
    // Only an archive without findings has a form; afterwards its records are not needed any more.
    let forms = if sound { Forms::of(&archive)? } else { Forms::default() };
    let origin = Origin::Packed(Box::new(Packed { contents: archive.into_contents(), root, sound, forms }));
    Ok((Inventory { path: path.to_path_buf(), files, folders, origin }, findings))
}

/// The names of all files below the root folder; contents are not read.
pub(super) fn names(path: &Path, limits: &Limits) -> Result<Vec<EntryName>, Error> {
    let (archive, mut findings) = Archive::open(path, limits)?;
    let root = root(&archive, &mut findings);
    let files = archive.entries().iter().filter(|entry| !entry.is_folder);
    Ok(files.filter_map(|entry| below(entry, &root)).collect())
}

fn below(entry: &Entry, root: &str) -> Option<EntryName> {
    match &entry.name {
        Name::Portable(name) => EntryName::new(name.below(root)?).ok(),
        Name::Refused(_) => None,
    }
}

/// The one folder that everything lies in.
fn root(archive: &Archive, findings: &mut Findings) -> String {
    let mut root: Option<&str> = None;
    for entry in archive.entries() {
        let Name::Portable(name) = &entry.name else { continue };
        let (first, inside) = match name.as_str().split_once('/') {
            Some((first, _)) => (first, true),
            None => (name.as_str(), entry.is_folder),
        };
        let same = root.is_none_or(|root| root == first);
        if !inside || !same {
            let message = format!("the entry \"{name}\" does not lie in the archive's one root folder");
            findings.push(Finding::new(Code::TreeRoot, Place::entry(name.as_str()).at(entry.offset), message));
            break;
        }
        root = Some(first);
    }
    if root.is_none() && findings.none_broken() {
        findings.push(Finding::new(Code::TreeRoot, Place::default(), "the archive has no root folder: it is empty"));
    }
    root.unwrap_or_default().to_owned()
}
