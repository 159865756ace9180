//! Owns what holds for the paths of every manifest, whatever its format.
//!
//! Refuses the manifest itself, git metadata, and paths that can't stand side by side. Invariant: a list without a
//! finding can be unpacked beside its manifest on every common system, each path to a file of its own.

use super::MANIFEST;
use crate::finding::{Code, Finding, Findings, Place};
use crate::name::{EntryName, clashes};

/// A place in the manifest.
pub(super) fn at(pointer: impl Into<String>) -> Place {
    Place::entry(MANIFEST).pointer(pointer)
}

/// Whether a part of the name is git's own folder, in any case: some file systems have no case.
pub(super) fn is_git_metadata(name: &EntryName) -> bool {
    name.as_str().split('/').any(|part| part.eq_ignore_ascii_case(".git"))
}

/// Checks the paths of `files`.
pub(super) fn check<'a>(paths: impl Iterator<Item = &'a EntryName>, findings: &mut Findings) {
    let Ok(manifest) = EntryName::new(MANIFEST) else { return };
    // The manifest comes first, so that a listed path that clashes with it is the later one.
    let mut names = vec![&manifest];
    paths.for_each(|path| names.push(path));
    let mut push = |position: usize, message: String| {
        let place = at(format!("/files/{}/path", position.saturating_sub(1)));
        findings.push(Finding::new(Code::ManifestPath, place, message));
    };
    for (position, path) in names.iter().enumerate().filter(|(_, path)| is_git_metadata(path)) {
        push(position, format!("\"{path}\" is listed, but a release holds no git metadata"));
    }
    for clash in clashes(names.iter().map(|path| (*path, false))) {
        let Some(path) = names.get(clash.index) else { continue };
        let other = &clash.other;
        let message = if clash.code == Code::NameLookalike {
            // Names that only look alike can stand side by side; the tree's own check warns of them.
            continue;
        } else if clash.code == Code::NameDuplicate && other == MANIFEST {
            format!("\"{path}\" is listed, but the manifest does not list itself")
        } else if clash.code == Code::NameDuplicate {
            format!("\"{path}\" is listed more than once")
        } else if clash.code == Code::NameFileAndFolder {
            format!("\"{path}\" is listed, so that \"{other}\" is both a file and a folder")
        } else {
            format!("\"{path}\" is listed, which systems without case or normalization take for \"{other}\"")
        };
        push(clash.index, message);
    }
}

/// Checks that a list is sorted by path bytes. A path that stands twice is no matter of order.
pub(super) fn order<'a>(list: &str, paths: impl Iterator<Item = &'a EntryName>, findings: &mut Findings) {
    let mut before: Option<&EntryName> = None;
    for (index, path) in paths.enumerate() {
        if let Some(before) = before.filter(|before| *before > path) {
            let message = format!("\"{path}\" stands after \"{before}\"");
            findings.push(Finding::new(Code::ManifestOrder, at(format!("/{list}/{index}/path")), message));
        }
        before = Some(path);
    }
}
