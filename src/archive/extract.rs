//! Owns unpacking a release's ZIP into a folder.
//!
//! Refuses a ZIP whose inventory doesn't hold, and a folder that is there already. Invariant: the folder appears under
//! its name complete, with exact contents and modes whatever the umask, or nothing is left of it, not even an output
//! folder that was made for it.

use std::fs::{DirBuilder, File, OpenOptions, Permissions};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use rustix::fs::{CWD, RenameFlags, renameat_with};
use rustix::io::Errno;

use super::freeze::mode;
use super::verify::{Verification, Verify, examine};
use crate::error::Error;
use crate::limits::Limits;
use crate::tree::{Inventory, Progress, Step, TreeFile};

/// What to unpack, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Extract<'a> {
    /// The release or archive, a ZIP file.
    pub path: &'a Path,
    /// The folder that the ZIP's root folder goes to.
    pub out: &'a Path,
    /// The publisher's receipt.
    pub receipt: Option<&'a Path>,
    /// The study's policy, where it isn't an embedded one.
    pub policy: Option<&'a Path>,
}

/// What came of it.
#[derive(Debug)]
pub struct Extraction {
    /// What verifying the inventory found. The retained runs were left alone.
    pub verification: Verification,
    /// What was written; none where something was found.
    pub written: Option<Unpacked>,
}

/// A tree that was unpacked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unpacked {
    /// Its root folder.
    pub path: PathBuf,
    /// Files in it.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
}

const CHUNK: usize = 1 << 16;

/// Verifies a ZIP's inventory and unpacks it.
///
/// # Errors
/// What could not be checked, read or written; a folder that is there already; a folder given instead of a ZIP.
pub fn extract(request: &Extract<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Extraction, Error> {
    if request.path.is_dir() {
        let message = "is a folder, so it is unpacked already: give the ZIP, or verify the folder with verify-export";
        return Err(Error::Usage(format!("{} {message}", request.path.display())));
    }
    let verify = Verify {
        path: request.path,
        receipt: request.receipt,
        policy: request.policy,
        inventory_only: true,
        scratch: None,
    };
    let (inventory, verification) = examine(&verify, limits, progress)?;
    let root = inventory.root().filter(|_| verification.manifest.is_some() && verification.findings.none_broken());
    let written = match root {
        Some(root) => Some(write(&inventory, &request.out.join(root), request.out, progress)?),
        None => None,
    };
    Ok(Extraction { verification, written })
}

fn write(inventory: &Inventory, to: &Path, out: &Path, progress: Progress<'_>) -> Result<Unpacked, Error> {
    if to.symlink_metadata().is_ok() {
        return Err(Error::OutputExists { path: to.to_path_buf() });
    }
    let mut made = MadeFolders::make(out)?;
    let private = Permissions::from_mode(0o700);
    // Nobody else may look into the folder, or put anything there, until it is complete.
    let temporary = tempfile::Builder::new()
        .prefix(".exhibit-")
        .suffix(".tmp")
        .permissions(private.clone())
        .tempdir_in(out)
        .map_err(Error::io("create a folder in", out))?;
    let root = temporary.path().join("tree");
    // Once more, since a umask may have masked them.
    let unpacked = std::fs::set_permissions(temporary.path(), private)
        .map_err(Error::io("set the mode of", temporary.path()))
        .and_then(|()| unpack(inventory, &root, progress))
        .and_then(|()| place(&root, to));
    // Gone before the output folder that was made for it.
    drop(temporary);
    unpacked?;
    made.keep();
    let bytes = inventory.files().map(|(file, _)| file.size).sum();
    Ok(Unpacked { path: to.to_path_buf(), files: inventory.files().count() as u64, bytes })
}

/// Folders that were made for the output; removed again, the deepest first, unless they are kept.
struct MadeFolders(Vec<PathBuf>);

impl MadeFolders {
    /// Makes a folder with those above it, as far as they aren't there.
    fn make(path: &Path) -> Result<Self, Error> {
        let missing = |above: &&Path| !above.as_os_str().is_empty() && above.symlink_metadata().is_err();
        // Without a dot at the end, which no folder can be made by.
        let path: PathBuf = path.components().collect();
        let mut folders: Vec<&Path> = path.ancestors().take_while(missing).collect();
        folders.reverse();
        let mut made = Self(Vec::new());
        for folder in folders {
            match std::fs::create_dir(folder) {
                Ok(()) => made.0.push(folder.to_path_buf()),
                // Another process was faster.
                Err(_) if folder.is_dir() => {}
                Err(error) => return Err(Error::io("create", folder)(error)),
            }
        }
        Ok(made)
    }

    fn keep(&mut self) {
        self.0.clear();
    }
}

impl Drop for MadeFolders {
    fn drop(&mut self) {
        for folder in self.0.iter().rev() {
            // One that another process uses by now stays.
            let _ = std::fs::remove_dir(folder);
        }
    }
}

/// Writes the whole tree to `root`, which isn't there yet.
fn unpack(inventory: &Inventory, root: &Path, progress: Progress<'_>) -> Result<(), Error> {
    make_folder(root)?;
    // Sorted, so that a folder comes after the one that it lies in.
    for folder in inventory.folders() {
        make_folder(&root.join(folder.as_str()))?;
    }
    let files: Vec<&TreeFile> = inventory.files().map(|(file, _)| file).collect();
    progress(Step::Total(files.iter().map(|file| file.size).sum()));
    files
        .par_iter()
        .map_init(|| vec![0; CHUNK], |buffer, file| write_file(inventory, file, root, buffer, progress))
        .collect::<Result<(), _>>()
}

fn make_folder(path: &Path) -> Result<(), Error> {
    DirBuilder::new().mode(0o700).create(path).map_err(Error::io("create", path))?;
    // A second step, which no umask masks.
    std::fs::set_permissions(path, Permissions::from_mode(0o755)).map_err(Error::io("set the mode of", path))
}

/// Writes one file while it is hashed again: the content's reader fails at its end where it isn't the one that was
/// verified.
fn write_file(
    inventory: &Inventory,
    file: &TreeFile,
    root: &Path,
    buffer: &mut [u8],
    progress: Progress<'_>,
) -> Result<(), Error> {
    let name = file.name.as_str();
    let to = root.join(name);
    let mut content = inventory.open_file(name)?;
    let mut written = create(&to)?;
    loop {
        let count = content.read(buffer).map_err(Error::io("read", &inventory.path().join(name)))?;
        if count == 0 {
            break;
        }
        written.write_all(buffer.get(..count).unwrap_or_default()).map_err(Error::io("write", &to))?;
        progress(Step::Bytes(count as u64));
    }
    let permissions = Permissions::from_mode(mode(file).bits());
    written.set_permissions(permissions).map_err(Error::io("set the mode of", &to))
}

fn create(path: &Path) -> Result<File, Error> {
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path).map_err(Error::io("create", path))
}

/// Gives the finished tree its name, where nothing has that name.
fn place(from: &Path, to: &Path) -> Result<(), Error> {
    match renameat_with(CWD, from, CWD, to, RenameFlags::NOREPLACE) {
        Ok(()) => Ok(()),
        // Some file systems can't do it in one step.
        Err(Errno::INVAL | Errno::NOSYS | Errno::NOTSUP) => claim(from, to),
        Err(error) => Err(not_placed(to, error.into())),
    }
}

/// As [`place`], in two steps: an empty folder claims the name, and only an empty folder can be replaced by a rename.
fn claim(from: &Path, to: &Path) -> Result<(), Error> {
    std::fs::create_dir(to).map_err(|error| not_placed(to, error))?;
    std::fs::rename(from, to).map_err(|error| {
        let _ = std::fs::remove_dir(to);
        not_placed(to, error)
    })
}

fn not_placed(to: &Path, error: io::Error) -> Error {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return Error::OutputExists { path: to.to_path_buf() };
    }
    Error::io("create", to)(error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_way_of_placing_replaces_anything() {
        for way in [place, claim] {
            let folder = tempfile::tempdir().unwrap();
            let path = |name: &str| folder.path().join(name);
            for (name, taken) in [("empty", true), ("full", true), ("file", true), ("free", false)] {
                let from = path("from");
                std::fs::create_dir(&from).unwrap();
                std::fs::write(from.join("a"), "a").unwrap();
                match name {
                    "file" => std::fs::write(path(name), "").unwrap(),
                    "free" => {}
                    _ => std::fs::create_dir(path(name)).unwrap(),
                }
                if name == "full" {
                    std::fs::write(path("full/b"), "b").unwrap();
                }
                let placed = way(&from, &path(name));
                assert_eq!(placed.is_err(), taken, "{name}");
                assert_eq!(path(name).join("a").exists(), !taken, "{name}");
                if taken {
                    assert!(matches!(placed, Err(Error::OutputExists { .. })), "{name}");
                    assert!(from.join("a").exists(), "{name}");
                    std::fs::remove_dir_all(&from).unwrap();
                }
            }
        }
    }

    #[test]
    fn folders_that_were_made_are_removed_unless_they_are_kept() {
        let folder = tempfile::tempdir().unwrap();
        let deep = folder.path().join("a/b/../b/c/.");
        drop(MadeFolders::make(&deep).unwrap());
        assert!(!folder.path().join("a").exists());
        MadeFolders::make(&deep).unwrap().keep();
        assert!(deep.is_dir());
        drop(MadeFolders::make(&deep).unwrap());
        assert!(deep.is_dir(), "a folder that was there is not ours to remove");
    }
}
