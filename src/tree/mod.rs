//! Owns the one view of named files with sizes, modes and contents, from a folder or from a ZIP.
//!
//! Refuses links, special files and names that aren't portable, as findings. Invariant: what stands above this room
//! can't tell a folder from a ZIP: the same files give the same findings. Every file is opened once and hashed from that
//! handle; a document that is read again must still have that hash.

mod folder;
mod packed;

pub use folder::{Hashed, hash, open_regular};

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use crate::digest::{ContentDigests, Sha256, Sha256Hasher};
use crate::error::{self, Error};
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::{self, EntryName};
use crate::zip::{Archive, Contents};

/// One regular file of a tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeFile {
    /// Its name from the tree's root.
    pub name: EntryName,
    /// Bytes of its content.
    pub size: u64,
    /// Permission bits, where the tree has any (a ZIP made on DOS has none).
    pub mode: Option<u32>,
    /// Which entry of the archive it is; nothing in a folder.
    index: usize,
}

impl TreeFile {
    /// Whether it belongs to a repository's own records (`.git`), not to the tree.
    pub fn is_git_metadata(&self) -> bool {
        git_metadata(self.name.as_str()).is_some()
    }
}

/// How far reading a tree has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// So many bytes are to be read in all.
    Total(u64),
    /// So many bytes more have been read.
    Bytes(u64),
}

/// How a tree of a format is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// exhibit's own: nothing is free but the deflate streams.
    Canonical,
    /// The historical exports': sorted, deflated, one fixed date, Unix modes, files only.
    Historical,
}

/// Called with each step; from several threads.
pub type Progress<'a> = &'a (dyn Fn(Step) + Sync);

/// A tree whose every file has been read once and hashed.
#[derive(Debug)]
pub struct Inventory {
    path: PathBuf,
    files: Vec<(TreeFile, ContentDigests)>,
    folders: Vec<EntryName>,
    origin: Origin,
}

#[derive(Debug)]
enum Origin {
    Folder,
    Packed(Box<Packed>),
}

#[derive(Debug)]
struct Packed {
    contents: Contents,
    /// The one folder at the archive's root.
    root: String,
    /// No finding was made in it.
    sound: bool,
    forms: Forms,
}

/// What keeps a packing from having each form.
#[derive(Debug, Default)]
struct Forms {
    canonical: Option<Finding>,
    historical: Option<Finding>,
}

impl Forms {
    fn of(archive: &Archive) -> Result<Self, Error> {
        Ok(Self { canonical: archive.check_canonical()?, historical: archive.check_historical() })
    }
}

impl Inventory {
    /// Reads the tree at `path`: a folder, or a ZIP file with one root folder. Findings are what makes it no tree that
    /// a release could be; what could be read is in the inventory all the same.
    ///
    /// # Errors
    /// What can't be read, and what is neither a folder nor a ZIP.
    pub fn open(path: &Path, limits: &Limits, progress: Progress<'_>) -> Result<(Self, Findings), Error> {
        let is_folder = std::fs::metadata(path).map_err(Error::io("open", path))?.is_dir();
        let whole = [String::new()];
        let read = if is_folder {
            folder::read(path, &whole, limits, progress)?
        } else {
            packed::read(path, &|_| true, limits, progress)?
        };
        Ok(Self::complete(read))
    }

    /// Reads only the files of these names, as far as they are there: of a ZIP all records and these contents, of a
    /// folder nothing else. Findings are those of what was read.
    ///
    /// # Errors
    /// As [`Inventory::open`].
    pub fn open_named(
        path: &Path,
        names: &BTreeSet<EntryName>,
        limits: &Limits,
        progress: Progress<'_>,
    ) -> Result<(Self, Findings), Error> {
        if !std::fs::metadata(path).map_err(Error::io("open", path))?.is_dir() {
            let wanted = |name: &str| names.iter().any(|wanted| wanted.as_str() == name);
            return packed::read(path, &wanted, limits, progress).map(Self::complete);
        }
        let mut findings = Findings::new(limits.max_findings);
        let mut parts = Vec::new();
        for name in names {
            if folder::is_there(path, name, &mut findings)? {
                parts.push(name.to_string());
            }
        }
        let (inventory, found) = Self::open_parts(path, &parts, limits, progress)?;
        findings.append(found);
        Ok((inventory, findings))
    }

    /// Reads parts of a folder only: files and folders below `root`, by name from it. Names in the inventory start at
    /// `root` all the same.
    ///
    /// # Errors
    /// What can't be read.
    pub fn open_parts(
        root: &Path,
        parts: &[String],
        limits: &Limits,
        progress: Progress<'_>,
    ) -> Result<(Self, Findings), Error> {
        folder::read(root, parts, limits, progress).map(Self::complete)
    }

    fn complete((mut inventory, mut findings): (Self, Findings)) -> (Self, Findings) {
        inventory.files.sort_by(|(a, _), (b, _)| a.name.cmp(&b.name));
        inventory.complete_folders();
        inventory.check_git_metadata(&mut findings);
        (inventory, findings)
    }

    /// Whether the packing is in order. Where it isn't, files that can't be read are missing here, and comparing the
    /// tree with a manifest would only repeat what the findings say. A folder always is.
    pub fn is_sound(&self) -> bool {
        match &self.origin {
            Origin::Folder => true,
            Origin::Packed(packed) => packed.sound,
        }
    }

    /// Where the tree is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The one folder at the root of a packed tree.
    pub fn root(&self) -> Option<&str> {
        match &self.origin {
            Origin::Folder => None,
            Origin::Packed(packed) => Some(&packed.root),
        }
    }

    /// Files with their digests, sorted by the bytes of their names.
    pub fn files(&self) -> impl Iterator<Item = (&TreeFile, &ContentDigests)> {
        self.files.iter().map(|(file, digests)| (file, digests))
    }

    /// The files below a folder, found by halves: a release may name many runs.
    pub fn files_below(&self, folder: &str) -> impl Iterator<Item = (&TreeFile, &ContentDigests)> {
        let prefix = format!("{folder}/");
        let start = self.files.partition_point(|(file, _)| file.name.as_str() < prefix.as_str());
        let from_there = self.files.get(start..).unwrap_or_default().iter();
        let inside = from_there.take_while(move |(file, _)| file.name.as_str().starts_with(&prefix));
        inside.map(|(file, digests)| (file, digests))
    }

    /// Folders that stand in the tree, sorted by the bytes of their names.
    pub fn folders(&self) -> &[EntryName] {
        &self.folders
    }

    /// The file of that name.
    pub fn file(&self, name: &str) -> Option<(&TreeFile, &ContentDigests)> {
        let index = self.files.binary_search_by(|(file, _)| file.name.as_str().cmp(name)).ok()?;
        self.files.get(index).map(|(file, digests)| (file, digests))
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
        let missing = || Error::io("open", &path)(io::ErrorKind::NotFound.into());
        let (file, digests) = self.file(name).ok_or_else(missing)?;
        let inner: Box<dyn Read + '_> = match &self.origin {
            Origin::Folder => Box::new(open_regular(&path)?),
            Origin::Packed(packed) => Box::new(packed.contents.open(file.index).ok_or_else(missing)?),
        };
        let hasher = Some(Sha256Hasher::default());
        Ok(Box::new(Again { inner, hasher, hashed: digests.sha256 }))
    }

    /// Reads a whole content of at most `max` bytes.
    ///
    /// # Errors
    /// As [`Inventory::open_file`]; longer than `max`; changed since it was hashed.
    pub fn read(&self, name: &str, max: u64) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        let path = self.path.join(name);
        let reader = self.open_file(name)?;
        reader.take(max.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io("read", &path))?;
        if bytes.len() as u64 > max {
            let source = io::Error::new(io::ErrorKind::FileTooLarge, format!("it is larger than {max} bytes"));
            return Err(Error::io("read", &path)(source));
        }
        Ok(bytes)
    }

    /// The digest and size of a packed tree's own file, for a receipt. None for a folder.
    ///
    /// # Errors
    /// What can't be read, and a file that changed since it was opened.
    pub fn packed_digest(&self) -> Result<Option<(Sha256, u64)>, Error> {
        let Origin::Packed(packed) = &self.origin else { return Ok(None) };
        let source = packed.contents.source();
        let window = BufReader::with_capacity(1 << 16, source.window(0, source.len()));
        let (sha256, size) = Sha256Hasher::read(window).map_err(Error::io("read", &self.path))?;
        source.unchanged()?;
        Ok(Some((sha256, size)))
    }

    /// Holds the packing against the form that its manifest's format implies. A folder has none.
    pub fn check_form(&self, form: Form) -> Option<&Finding> {
        match (&self.origin, form) {
            (Origin::Folder, _) => None,
            (Origin::Packed(packed), Form::Canonical) => packed.forms.canonical.as_ref(),
            (Origin::Packed(packed), Form::Historical) => packed.forms.historical.as_ref(),
        }
    }

    /// A packed tree has the folders that its files imply, whether they have entries or not.
    fn complete_folders(&mut self) {
        let implied = self.files.iter().flat_map(|(file, _)| file.name.parents());
        let implied: BTreeSet<EntryName> = implied.filter_map(|parent| EntryName::new(parent).ok()).collect();
        let mut all: BTreeSet<EntryName> = std::mem::take(&mut self.folders).into_iter().collect();
        all.extend(implied);
        self.folders = all.into_iter().collect();
    }

    fn check_git_metadata(&self, findings: &mut Findings) {
        let names = self.files.iter().map(|(file, _)| &file.name).chain(&self.folders);
        // The outermost folder says it for everything below.
        let all: BTreeSet<&str> = names.filter_map(|name| git_metadata(name.as_str())).collect();
        for found in all {
            let message = format!("\"{found}\" is git metadata");
            findings.push(Finding::new(Code::TreeGitMetadata, Place::entry(found), message));
        }
    }
}

/// The names of a tree's files, sorted by their bytes; contents are not read. For finding out what a user meant: what is
/// wrong with the tree is not told.
///
/// # Errors
/// As [`Inventory::open`].
pub fn names(path: &Path, limits: &Limits) -> Result<Vec<EntryName>, Error> {
    let is_folder = std::fs::metadata(path).map_err(Error::io("open", path))?.is_dir();
    let mut names = if is_folder { folder::names(path, limits)? } else { packed::names(path, limits)? };
    names.sort();
    Ok(names)
}

/// Names that can't stand side by side, given with whether each is a folder.
fn report_clashes(names: &[(&EntryName, bool)], findings: &mut Findings) {
    for clash in name::clashes(names.iter().copied()) {
        let Some((name, _)) = names.get(clash.index) else { continue };
        findings.push(Finding::new(clash.code, Place::entry(name.as_str()), clash.message(name)));
    }
}

/// The part of a name up to its first `.git`, in any case: Windows and macOS take them for one.
fn git_metadata(name: &str) -> Option<&str> {
    let mut end = 0;
    for part in name.split('/') {
        end += part.len();
        if part.eq_ignore_ascii_case(".git") {
            return name.get(..end);
        }
        end += 1;
    }
    None
}

/// A content that is read a second time.
struct Again<R> {
    inner: R,
    /// Gone once the end was seen.
    hasher: Option<Sha256Hasher>,
    hashed: Sha256,
}

impl<R: Read> Read for Again<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.inner.read(buffer)?;
        if count > 0 || buffer.is_empty() {
            if let Some(hasher) = &mut self.hasher {
                hasher.update(buffer.get(..count).unwrap_or_default());
            }
            return Ok(count);
        }
        match self.hasher.take().map(Sha256Hasher::finish) {
            Some(now) if now != self.hashed => Err(error::changed()),
            Some(_) | None => Ok(0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_below_a_folder_are_its_own_alone() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["a", "b-c", "b.d", "b/1", "b/c/2", "b0", "bb/3"] {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, name).unwrap();
        }
        let (inventory, _) = Inventory::open(folder.path(), &Limits::default(), &|_| {}).unwrap();
        let below = |name| inventory.files_below(name).map(|(file, _)| file.name.as_str()).collect::<Vec<_>>();
        assert_eq!(below("b"), ["b/1", "b/c/2"]);
        assert_eq!(below("b/c"), ["b/c/2"]);
        assert_eq!(below("bb"), ["bb/3"]);
        assert_eq!((below("a").len(), below("c").len()), (0, 0));
    }
}
