//! Owns the flat list of what a commit's tree holds.
//!
//! Refuses names that would leave their folder, and more entries than the limit. Invariant: each tree object was held
//! against its id, so the list is what the commit's id stands for.

use super::{Commit, Repository};
use crate::digest::GitBlob;
use crate::error::Error;
use crate::limits::Limits;
use crate::name::escape;

/// What an entry is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// A regular file.
    File {
        /// Whether it may be executed.
        executable: bool,
    },
    /// A symbolic link.
    Link,
    /// Another repository's commit.
    Submodule,
}

/// One entry of a commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Entry {
    /// Its path from the tree's root, parts joined by `/`; any bytes but NUL.
    pub path: Vec<u8>,
    /// What it is.
    pub kind: Kind,
    /// The id of its content; of the commit, for a submodule.
    pub id: GitBlob,
}

impl Entry {
    /// The path as a person may see it.
    pub fn shown(&self) -> String {
        escape(&self.path)
    }
}

pub(super) fn entries(repository: &Repository, commit: &Commit, limits: &Limits) -> Result<Vec<Entry>, Error> {
    let root = gix::ObjectId::from_hex(commit.tree.as_str().as_bytes());
    let root = root.map_err(|_| repository.refuse(format!("{} is no object id", commit.tree.as_str())))?;
    let mut pending = vec![(Vec::new(), root)];
    let (mut entries, mut seen) = (Vec::new(), 0);
    while let Some((folder, id)) = pending.pop() {
        let data = repository.object(id, gix::object::Kind::Tree)?;
        for entry in gix::objs::TreeRefIter::from_bytes(&data, gix::hash::Kind::Sha1) {
            let broken = || repository.refuse(format!("the tree {id} is broken: run git fsck"));
            let entry = entry.map_err(|_| broken())?;
            let name: &[u8] = entry.filename;
            if name.is_empty() || name == b"." || name == b".." || name.contains(&b'/') || name.contains(&0) {
                return Err(broken());
            }
            seen += 1;
            let path = joined(&folder, name);
            if seen > limits.max_entries || path.len() > limits.max_name {
                let most =
                    format!("{} files, each with a name of at most {} bytes", limits.max_entries, limits.max_name);
                return Err(repository.refuse(format!("the commit holds more than {most}")));
            }
            let kind = match entry.mode.kind() {
                gix::objs::tree::EntryKind::Tree => {
                    pending.push((path, entry.oid.to_owned()));
                    continue;
                }
                gix::objs::tree::EntryKind::Blob => Kind::File { executable: false },
                gix::objs::tree::EntryKind::BlobExecutable => Kind::File { executable: true },
                gix::objs::tree::EntryKind::Link => Kind::Link,
                gix::objs::tree::EntryKind::Commit => Kind::Submodule,
            };
            let id = entry.oid.to_string().parse::<GitBlob>().map_err(|_| broken())?;
            entries.push(Entry { path, kind, id });
        }
    }
    entries.sort();
    Ok(entries)
}

fn joined(folder: &[u8], name: &[u8]) -> Vec<u8> {
    if folder.is_empty() { name.to_vec() } else { [folder, b"/", name].concat() }
}
