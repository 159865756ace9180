//! Owns holding a tree against its manifest, both ways.
//!
//! Refuses nothing that the tree's own checks have seen: git metadata, links and names are theirs. Invariant: without a
//! finding the tree is exactly the declared files and the manifest, each with the declared content and mode, and
//! exactly the folders above them.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::is_git_metadata;
use super::{Declared, MANIFEST, Manifest};
use crate::digest::{ContentDigests, Sha256};
use crate::finding::{Code, Finding, Findings, Place};
use crate::form::Mode;
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::{Inventory, TreeFile};

/// Where each content of a file that isn't listed lies.
type Unlisted<'a> = BTreeMap<Sha256, &'a EntryName>;

/// Holds a tree against its manifest.
pub fn compare(manifest: &Manifest, inventory: &Inventory, limits: &Limits) -> Findings {
    let mut findings = Findings::new(limits.max_findings);
    // Sorted, so that a path is found by halves; a map would take as much memory again.
    let mut declared: Vec<Declared<'_>> = manifest.declared().collect();
    declared.sort_by(|a, b| a.path.cmp(b.path));
    declared.dedup_by(|a, b| a.path == b.path);
    let unlisted: Vec<_> = inventory.files().filter(|(file, _)| is_unlisted(file, &declared)).collect();
    let contents: Unlisted<'_> = unlisted.iter().map(|(file, digests)| (digests.sha256, &file.name)).collect();
    let mut missing = BTreeMap::new();
    for declared in &declared {
        let path = declared.path.as_str();
        if let Some((file, digests)) = inventory.file(path) {
            check_file(declared, file, digests, &mut findings);
        } else {
            missing.insert(declared.sha256, path);
            findings.push(absent(declared, &contents));
        }
    }
    for (file, digests) in unlisted {
        findings.push(extra(file, digests, missing.get(&digests.sha256).copied()));
    }
    if let Some((file, _)) = inventory.file(MANIFEST) {
        findings.extend(mode_differs(MANIFEST, Mode::Plain, file.mode));
    }
    check_folders(&declared, inventory, &mut findings);
    findings
}

/// Holds one file's content against the manifest: listed, with the listed size and digests. Its mode doesn't count, and
/// the manifest itself is not listed.
pub fn compare_content(manifest: &Manifest, inventory: &Inventory, name: &EntryName, limits: &Limits) -> Findings {
    let mut findings = Findings::new(limits.max_findings);
    let declared = manifest.declared().find(|declared| declared.path == name);
    match (declared, inventory.file(name.as_str())) {
        (Some(declared), Some((file, digests))) => check_content(&declared, file, digests, &mut findings),
        (Some(declared), None) => findings.push(absent(&declared, &BTreeMap::new())),
        (None, Some((file, digests))) if name.as_str() != MANIFEST => findings.push(extra(file, digests, None)),
        (None, Some(_) | None) => {}
    }
    findings
}

fn is_unlisted(file: &TreeFile, declared: &[Declared<'_>]) -> bool {
    file.name.as_str() != MANIFEST && !is_listed(&file.name, declared) && !is_git_metadata(&file.name)
}

fn is_listed(name: &EntryName, declared: &[Declared<'_>]) -> bool {
    declared.binary_search_by(|declared| declared.path.cmp(name)).is_ok()
}

fn absent(declared: &Declared<'_>, unlisted: &Unlisted<'_>) -> Finding {
    let Declared { path, sha256, .. } = declared;
    let message = match unlisted.get(sha256) {
        Some(other) => format!("\"{path}\" is missing: renamed to \"{other}\", which has its content"),
        None => format!("\"{path}\" is listed, but it is not there"),
    };
    Finding::new(Code::FileMissing, Place::entry(path.as_str()), message).values(sha256, "none")
}

fn extra(file: &TreeFile, digests: &ContentDigests, missing: Option<&str>) -> Finding {
    let name = &file.name;
    let message = match missing {
        Some(missing) => format!("\"{name}\" is not listed: it has the content of \"{missing}\", which is missing"),
        None => format!("\"{name}\" is there, but it is not listed"),
    };
    Finding::new(Code::FileExtra, Place::entry(name.as_str()), message).values("none", digests.sha256)
}

fn check_file(declared: &Declared<'_>, file: &TreeFile, digests: &ContentDigests, findings: &mut Findings) {
    check_content(declared, file, digests, findings);
    findings.extend(mode_differs(declared.path.as_str(), declared.mode, file.mode));
}

fn check_content(declared: &Declared<'_>, file: &TreeFile, digests: &ContentDigests, findings: &mut Findings) {
    let path = declared.path.as_str();
    if *declared.sha256 != digests.sha256 {
        let message = match declared.size.filter(|size| *size != file.size) {
            Some(size) => {
                format!("\"{path}\" has another content than the one recorded: {} bytes, not {size}", file.size)
            }
            None => format!("\"{path}\" has another content than the one recorded"),
        };
        let finding = Finding::new(Code::FileChanged, Place::entry(path), message);
        findings.push(finding.values(declared.sha256, digests.sha256));
        // Another content has another size and blob id: only where the content is the recorded one do they say something new.
    } else if let Some(size) = declared.size.filter(|size| *size != file.size) {
        let message = format!("\"{path}\" has the recorded content, but {} bytes, not the {size} recorded", file.size);
        findings.push(Finding::new(Code::FileSize, Place::entry(path), message).values(size, file.size));
    } else if let Some(git_blob) = declared.git_blob.filter(|git_blob| **git_blob != digests.git_blob) {
        let message = format!("\"{path}\" has the recorded content, but not the recorded git blob id");
        let finding = Finding::new(Code::FileBlob, Place::entry(path), message);
        findings.push(finding.values(git_blob, digests.git_blob));
    }
}

fn mode_differs(path: &str, recorded: Mode, computed: Option<u32>) -> Option<Finding> {
    let (message, shown) = match computed {
        Some(bits) if bits == recorded.bits() => return None,
        Some(bits) => (format!("\"{path}\" has the mode {bits:04o}, not {recorded}"), format!("{bits:04o}")),
        None => (
            format!("\"{path}\" should have the mode {recorded}, but the tree carries no Unix mode"),
            "none".to_owned(),
        ),
    };
    Some(Finding::new(Code::TreeMode, Place::entry(path), message).values(recorded, shown))
}

fn check_folders(declared: &[Declared<'_>], inventory: &Inventory, findings: &mut Findings) {
    let needed: BTreeSet<&str> = declared.iter().flat_map(|declared| declared.path.parents()).collect();
    let filled: BTreeSet<&str> = inventory.files().flat_map(|(file, _)| file.name.parents()).collect();
    for folder in inventory.folders() {
        let name = folder.as_str();
        // A folder of files that are not listed is told with them.
        let is_told = filled.contains(name) || is_listed(folder, declared) || is_git_metadata(folder);
        if needed.contains(name) || is_told {
            continue;
        }
        let message = format!("the folder \"{name}\" is empty, and no listed file needs it");
        findings.push(Finding::new(Code::TreeEmptyFolder, Place::entry(name), message));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_the_recorded_one_to_the_bit() {
        assert_eq!(mode_differs("a", Mode::Plain, Some(0o644)), None);
        assert_eq!(mode_differs("a", Mode::Executable, Some(0o755)), None);
        for (bits, shown) in [(Some(0o600), "0600"), (Some(0o755), "0755"), (Some(0o4644), "4644"), (None, "none")] {
            let finding = mode_differs("a", Mode::Plain, bits).unwrap();
            assert_eq!((finding.code, finding.computed.as_deref()), (Code::TreeMode, Some(shown)));
        }
        assert!(mode_differs("a", Mode::Plain, None).unwrap().message.contains("no Unix mode"));
    }
}
