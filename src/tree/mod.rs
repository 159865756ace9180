//! Owns the one view of named files with sizes, modes and contents, from a folder or from a ZIP.
//!
//! Refuses links, special files and names that aren't portable, as findings. Invariant: what stands above this room
//! can't tell a folder from a ZIP: the same files give the same findings.

mod folder;

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::digest::{ContentDigests, Sha256};
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::name::EntryName;

/// One regular file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its name from the tree's root.
    pub name: EntryName,
    /// Bytes of its content.
    pub size: u64,
    /// Permission bits, where the tree has any (a ZIP made on DOS has none).
    pub mode: Option<u32>,
}

/// Called with the number of bytes just read; from several threads.
pub type Progress<'a> = &'a (dyn Fn(u64) + Sync);

/// A tree whose every file has been read once and hashed.
#[derive(Debug)]
pub struct Inventory {
    path: PathBuf,
    files: Vec<TreeFile>,
    digests: Vec<ContentDigests>,
    folders: Vec<EntryName>,
}

impl Inventory {
    /// Reads the tree at `path`: a folder, or a ZIP file with one root folder. Findings are what makes it no tree that
    /// a release could be; what could be read is in the inventory all the same.
    ///
    /// # Errors
    /// What can't be read, and what is neither a folder nor a ZIP.
    pub fn open(path: &Path, limits: &Limits, progress: Progress<'_>) -> Result<(Self, Findings), Error> {
        folder::read(path, limits, progress)
    }

    /// Where the tree is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Files with their digests, sorted by the bytes of their names.
    pub fn files(&self) -> impl Iterator<Item = (&TreeFile, &ContentDigests)> {
        self.files.iter().zip(&self.digests)
    }

    /// Folders that stand in the tree, sorted by the bytes of their names.
    pub fn folders(&self) -> &[EntryName] {
        &self.folders
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<(&TreeFile, &ContentDigests)> {
        let index = self.files.binary_search_by(|file| file.name.as_str().cmp(name)).ok()?;
        Some((self.files.get(index)?, self.digests.get(index)?))
    }

    /// The SHA-256 of the file of that name.
    pub fn sha256(&self, name: &str) -> Option<Sha256> {
        self.file(name).map(|(_, digests)| digests.sha256)
    }

    /// Opens a file's content again. The reader fails at its end where the content isn't the one that was hashed.
    ///
    /// # Errors
    /// No such file, or it can't be opened.
    pub fn open_file(&self, name: &str) -> Result<Box<dyn Read + '_>, Error> {
        let path = self.path.join(name);
        let file = std::fs::File::open(&path).map_err(Error::io("open", &path))?;
        Ok(Box::new(BufReader::new(file)))
    }

    /// Reads a whole content of at most `max` bytes.
    ///
    /// # Errors
    /// As [`Inventory::open_file`]; longer than `max`; changed since it was hashed.
    pub fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        self.open_file(name)?
            .take(max.saturating_add(1))
            .read_to_end(&mut bytes)
            .map_err(Error::io("read", &self.path.join(name)))?;
        if bytes.len() as u64 > max {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max} bytes"));
            return Err(Error::io("read", &self.path.join(name))(source));
        }
        Ok(bytes)
    }
}
