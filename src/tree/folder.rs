//! Owns reading a folder into an inventory.
//!
//! Refuses to follow links and to open what isn't a regular file. Invariant: every file is opened once and hashed from
//! that handle, and its length and times are the same before and after.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::Path;

use rayon::prelude::*;
use rustix::fs::OFlags;
use walkdir::{DirEntry, WalkDir};

use super::{Inventory, Origin, Progress, Step, TreeFile};
use crate::digest::{ContentDigests, ContentHasher};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::{self, EntryName};

const CHUNK: usize = 1 << 16;

/// Walks parts of the folder, then hashes their files in parallel. The part with the empty name is the whole.
pub(super) fn read(
    path: &Path,
    parts: &[String],
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<(Inventory, Findings), Error> {
    let mut findings = Findings::new(limits.max_findings);
    let mut found = Found::default();
    for part in parts {
        found.walk(path, part, limits, &mut findings)?;
    }
    found.check_names(&mut findings);
    progress(Step::Total(found.files.iter().map(|(_, size)| size).sum()));
    let digested: Vec<_> = found
        .files
        .par_iter()
        .map_init(|| vec![0; CHUNK], |buffer, (name, _)| digest(&path.join(name.as_str()), name, buffer, progress))
        .collect::<Result<_, _>>()?;
    let mut files = Vec::with_capacity(digested.len());
    for (file, digests, unchanged) in digested {
        if !unchanged {
            let message = format!("\"{}\" changed while it was being read", file.name);
            findings.push(Finding::new(Code::TreeChanged, Place::entry(file.name.as_str()), message));
        }
        files.push((file, digests));
    }
    Ok((Inventory { path: path.to_path_buf(), files, folders: found.folders, origin: Origin::Folder }, findings))
}

/// The names of all files; contents are not read.
pub(super) fn names(path: &Path, limits: &Limits) -> Result<Vec<EntryName>, Error> {
    let mut found = Found::default();
    found.walk(path, "", limits, &mut Findings::new(limits.max_findings))?;
    Ok(found.files.into_iter().map(|(name, _)| name).collect())
}

/// Whether something other than a folder has that name. A folder above it that is a link is a finding: what lies behind
/// it is not in the tree.
pub(super) fn is_there(root: &Path, name: &EntryName, findings: &mut Findings) -> Result<bool, Error> {
    let mut above: Vec<&str> = name.parents().collect();
    above.reverse();
    for part in above.into_iter().chain([name.as_str()]) {
        let path = root.join(part);
        let file_type = match path.symlink_metadata() {
            Ok(metadata) => metadata.file_type(),
            Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
                return Ok(false);
            }
            Err(error) => return Err(Error::io("read", &path)(error)),
        };
        let is_last = part == name.as_str();
        if file_type.is_symlink() && !is_last {
            let message = format!("\"{part}\" is a symbolic link");
            findings.push(Finding::new(Code::TreeLink, Place::entry(part), message));
            return Ok(false);
        }
        if is_last {
            return Ok(!file_type.is_dir());
        }
    }
    Ok(false)
}

/// What a walk has met.
#[derive(Default)]
struct Found {
    files: Vec<(EntryName, u64)>,
    folders: Vec<EntryName>,
    others: u64,
}

impl Found {
    fn count(&self) -> u64 {
        (self.files.len() as u64).saturating_add(self.folders.len() as u64).saturating_add(self.others)
    }

    fn walk(&mut self, root: &Path, part: &str, limits: &Limits, findings: &mut Findings) -> Result<(), Error> {
        let (start, depth) = if part.is_empty() { (root.to_path_buf(), 1) } else { (root.join(part), 0) };
        let walk = WalkDir::new(&start).min_depth(depth).sort_by(|a, b| a.file_name().cmp(b.file_name()));
        for entry in walk {
            let entry = entry.map_err(|error| {
                let at = error.path().unwrap_or(&start).to_path_buf();
                Error::io("read", &at)(cause(error))
            })?;
            self.take(root, &entry, findings)?;
            if self.count() > limits.max_entries {
                let message = format!("the folder has more than {} files and folders", limits.max_entries);
                findings.push(Finding::new(Code::ZipTooLarge, Place::default(), message));
                break;
            }
        }
        Ok(())
    }

    fn take(&mut self, root: &Path, entry: &DirEntry, findings: &mut Findings) -> Result<(), Error> {
        let relative = entry.path().strip_prefix(root).unwrap_or(entry.path());
        let bytes = relative.as_os_str().as_bytes();
        let shown = name::escape(bytes);
        let checked = match std::str::from_utf8(bytes) {
            Ok(text) => EntryName::new(text).map_err(|fault| (fault.code, fault.reason)),
            Err(_) => Err((Code::NameEncoding, "is not UTF-8".to_owned())),
        };
        let file_type = entry.file_type();
        let (code, what) = match checked {
            Ok(name) if file_type.is_dir() => {
                self.folders.push(name);
                return Ok(());
            }
            Ok(name) if file_type.is_file() => {
                let metadata = entry.metadata().map_err(|error| Error::io("read", entry.path())(cause(error)))?;
                self.files.push((name, metadata.len()));
                return Ok(());
            }
            Ok(_) if file_type.is_symlink() => (Code::TreeLink, "is a symbolic link".to_owned()),
            Ok(_) => (Code::TreeSpecialFile, "is a pipe, device or socket".to_owned()),
            Err((code, reason)) => (code, format!("has a name that {reason}")),
        };
        self.others += 1;
        findings.push(Finding::new(code, Place::entry(&shown), format!("\"{shown}\" {what}")));
        Ok(())
    }

    fn check_names(&self, findings: &mut Findings) {
        let folders = self.folders.iter().map(|name| (name, true));
        let all: Vec<_> = folders.chain(self.files.iter().map(|(name, _)| (name, false))).collect();
        super::report_clashes(&all, findings);
    }
}

/// What the system said; the walk's own text names the path once more.
fn cause(error: walkdir::Error) -> io::Error {
    error.into_io_error().unwrap_or_else(|| io::Error::other("the folder holds itself"))
}

/// Opens a regular file, never through a link, never waiting for a pipe's other end.
///
/// # Errors
/// It can't be opened, or is a link.
pub fn open_regular(path: &Path) -> Result<File, Error> {
    #[expect(clippy::cast_possible_wrap, reason = "the flags are bits; the platform's type for them is signed")]
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits() as i32;
    OpenOptions::new().read(true).custom_flags(flags).open(path).map_err(Error::io("open", path))
}

type Digested = (TreeFile, ContentDigests, bool);

fn digest(path: &Path, name: &EntryName, buffer: &mut [u8], progress: Progress<'_>) -> Result<Digested, Error> {
    let Hashed { size, mode, digests, unchanged } = hash(path, buffer, &|count| progress(Step::Bytes(count)))?;
    let file = TreeFile { name: name.clone(), size, mode: Some(mode), index: 0 };
    Ok((file, digests, unchanged))
}

/// A file that was read once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Hashed {
    /// Bytes that were read.
    pub size: u64,
    /// Permission bits.
    pub mode: u32,
    /// Of what was read.
    pub digests: ContentDigests,
    /// Whether it is a regular file whose length and times were the same before and after.
    pub unchanged: bool,
}

/// Hashes a file; `step` is told how many bytes were read.
///
/// # Errors
/// It can't be opened or read.
pub fn hash(path: &Path, buffer: &mut [u8], step: &dyn Fn(u64)) -> Result<Hashed, Error> {
    let mut file = open_regular(path)?;
    let before = file.metadata().map_err(Error::io("read", path))?;
    let mut hasher = ContentHasher::new(before.len());
    let mut size: u64 = 0;
    loop {
        let count = file.read(buffer).map_err(Error::io("read", path))?;
        if count == 0 {
            break;
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        size = size.saturating_add(count as u64);
        step(count as u64);
    }
    let after = file.metadata().map_err(Error::io("read", path))?;
    let unchanged = before.is_file() && size == before.len() && stamp(&before) == stamp(&after);
    Ok(Hashed { size, mode: before.mode() & 0o7777, digests: hasher.finish(), unchanged })
}

/// What changes when a file is written to. Access times don't count.
fn stamp(metadata: &Metadata) -> [i64; 4] {
    [metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec()]
}
