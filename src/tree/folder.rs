//! Owns reading a folder into an inventory.
//!
//! Refuses to follow links. Invariant: every regular file is opened once and hashed from that handle.

use std::path::Path;

use super::{Inventory, Progress};
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;

pub(super) fn read(path: &Path, limits: &Limits, _progress: Progress<'_>) -> Result<(Inventory, Findings), Error> {
    let mut inventory =
        Inventory { path: path.to_path_buf(), files: Vec::new(), digests: Vec::new(), folders: Vec::new() };
    for entry in walkdir::WalkDir::new(path).min_depth(1).sort_by_file_name() {
        let entry = entry.map_err(|e| Error::io("read", path)(e.into()))?;
        let rel = entry.path().strip_prefix(path).unwrap_or(path).to_string_lossy().into_owned();
        let Ok(name) = crate::name::EntryName::new(&rel) else { continue };
        if entry.file_type().is_dir() {
            inventory.folders.push(name);
            continue;
        }
        let bytes = std::fs::read(entry.path()).map_err(Error::io("read", entry.path()))?;
        let mut hasher = crate::digest::ContentHasher::new(bytes.len() as u64, true);
        hasher.update(&bytes);
        inventory.files.push(super::TreeFile { name, size: bytes.len() as u64, mode: Some(0o644) });
        inventory.digests.push(hasher.finish());
    }
    let mut both: Vec<_> = inventory.files.into_iter().zip(inventory.digests).collect();
    both.sort_by(|a, b| a.0.name.cmp(&b.0.name));
    (inventory.files, inventory.digests) = both.into_iter().unzip();
    Ok((inventory, Findings::new(limits.max_findings)))
}
