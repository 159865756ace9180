//! Owns telling whether a working tree is clean: the raw bytes of its files are those of the commit's blobs.
//!
//! Refuses nothing: what differs is told. Invariant: no filter, attribute or line-end setting has a say, and neither has
//! what the index remembers of a file's times; every file is read.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rayon::prelude::*;

use super::{Entry, Kind, Repository};
use crate::digest::{ContentHasher, GitBlob};
use crate::error::Error;
use crate::tree::{hash, open_regular};

/// Where working tree or index differ from the commit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Difference {
    /// The path from the root; any bytes but NUL.
    pub path: Vec<u8>,
    /// How it differs.
    pub how: How,
}

/// How a file differs from the commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum How {
    /// It is not in the working tree.
    Missing,
    /// It is something else: a link, a folder, a pipe.
    OtherKind,
    /// Its content is the committed one but for line ends, as a checkout that converts them leaves it.
    LineEnds,
    /// The commit has a pointer of Git LFS in its place.
    LargeFile,
    /// Its content is another.
    Content,
    /// Whether it may be executed is other than committed.
    Mode,
    /// The index has it otherwise, or has it and the commit doesn't.
    Staged,
}

/// Reads every file. Submodules are told elsewhere.
pub(super) fn work_tree(root: &Path, entries: &[Entry]) -> Result<Vec<Difference>, Error> {
    let checked: Vec<Option<How>> = entries
        .par_iter()
        .map_init(|| vec![0; 1 << 16], |buffer, entry| check(root, entry, buffer))
        .collect::<Result<_, _>>()?;
    let named = entries.iter().zip(checked).filter_map(|(entry, how)| Some((entry, how?)));
    Ok(named.map(|(entry, how)| Difference { path: entry.path.clone(), how }).collect())
}

fn check(root: &Path, entry: &Entry, buffer: &mut [u8]) -> Result<Option<How>, Error> {
    let path = place(root, entry);
    let metadata = match below_no_link(root, &path).and_then(|()| path.symlink_metadata()) {
        Ok(metadata) => metadata,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Some(How::Missing));
        }
        Err(error) => return Err(Error::io("read", &path)(error)),
    };
    match entry.kind {
        Kind::Submodule => Ok(None),
        Kind::Link if !metadata.is_symlink() => Ok(Some(How::OtherKind)),
        Kind::Link => {
            let target = path.read_link().map_err(Error::io("read", &path))?;
            let same = GitBlob::of(target.as_os_str().as_bytes()) == entry.id;
            Ok((!same).then_some(How::Content))
        }
        Kind::File { .. } if !metadata.is_file() => Ok(Some(How::OtherKind)),
        Kind::File { executable } => file(&path, entry, executable, buffer),
    }
}

fn place(root: &Path, entry: &Entry) -> PathBuf {
    root.join(std::ffi::OsStr::from_bytes(&entry.path))
}

/// A file that is reached through a link lies elsewhere.
fn below_no_link(root: &Path, path: &Path) -> io::Result<()> {
    let folders = path.ancestors().skip(1).take_while(|folder| *folder != root);
    for folder in folders {
        if folder.symlink_metadata()?.is_symlink() {
            return Err(io::ErrorKind::NotADirectory.into());
        }
    }
    Ok(())
}

fn file(path: &Path, entry: &Entry, executable: bool, buffer: &mut [u8]) -> Result<Option<How>, Error> {
    let hashed = hash(path, buffer, &|_| {})?;
    if !hashed.unchanged {
        return Err(Error::Changed { path: path.to_path_buf() });
    }
    if hashed.digests.git_blob != entry.id {
        return Ok(Some(How::Content));
    }
    Ok((executable != (hashed.mode & 0o100 != 0)).then_some(How::Mode))
}

fn each_chunk(file: &mut impl Read, mut each: impl FnMut(&[u8])) -> io::Result<()> {
    let mut buffer = vec![0; 1 << 16];
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            return Ok(());
        }
        each(buffer.get(..count).unwrap_or_default());
    }
}

/// What a person may have to know of a content that isn't the committed one.
pub(super) fn closer(repository: &Repository, entry: &Entry) -> Result<How, Error> {
    let pointer = repository.blob(&entry.id, MAX_POINTER).is_ok_and(|blob| blob.starts_with(POINTER));
    if pointer {
        return Ok(How::LargeFile);
    }
    let path = place(&repository.root, entry);
    let without = |hasher: Option<&mut ContentHasher>| -> Result<u64, Error> {
        let mut file = open_regular(&path)?;
        unix_ends(&mut file, hasher).map_err(Error::io("read", &path))
    };
    let mut hasher = ContentHasher::new(without(None)?);
    without(Some(&mut hasher))?;
    Ok(if hasher.finish().git_blob == entry.id { How::LineEnds } else { How::Content })
}

/// How a pointer of Git LFS begins, and how long one is at most.
const POINTER: &[u8] = b"version https://git-lfs.github.com/spec/";
const MAX_POINTER: u64 = 1024;

/// The length of a content with each CR LF as LF; the content itself goes to the hasher.
fn unix_ends(file: &mut impl Read, mut hasher: Option<&mut ContentHasher>) -> io::Result<u64> {
    let mut length = 0_u64;
    let mut held = false;
    let mut put = |bytes: &[u8]| {
        length = length.saturating_add(bytes.len() as u64);
        if let Some(hasher) = &mut hasher {
            hasher.update(bytes);
        }
    };
    each_chunk(file, |chunk| {
        let mut plain = Vec::with_capacity(chunk.len().saturating_add(1));
        for byte in chunk {
            if std::mem::take(&mut held) && *byte != b'\n' {
                plain.push(b'\r');
            }
            match byte {
                b'\r' => held = true,
                other => plain.push(*other),
            }
        }
        put(&plain);
    })?;
    if held {
        put(b"\r");
    }
    Ok(length)
}

/// What is staged otherwise than committed. A repository without an index has nothing staged.
pub(super) fn index(repository: &Repository, entries: &[Entry]) -> Result<Vec<Difference>, Error> {
    let index = repository.inner.try_index().map_err(|error| {
        repository.refuse(format!("its index can't be read ({}): run git status", super::reason(&error)))
    })?;
    let Some(index) = index else { return Ok(Vec::new()) };
    let mut committed: BTreeMap<&[u8], &Entry> = entries.iter().map(|entry| (entry.path.as_slice(), entry)).collect();
    let mut staged = Vec::new();
    for entry in index.entries() {
        let path: &[u8] = entry.path(&index);
        let same = committed.remove(path).is_some_and(|committed| {
            entry.stage_raw() == 0
                && is_mode(entry.mode, committed.kind)
                && entry.id.to_string().parse() == Ok(committed.id)
        });
        if !same {
            staged.push(path.to_vec());
        }
    }
    staged.extend(committed.into_keys().map(<[u8]>::to_vec));
    Ok(staged.into_iter().map(|path| Difference { path, how: How::Staged }).collect())
}

fn is_mode(mode: gix::index::entry::Mode, kind: Kind) -> bool {
    use gix::index::entry::Mode;
    let wanted = match kind {
        Kind::File { executable: false } => Mode::FILE,
        Kind::File { executable: true } => Mode::FILE_EXECUTABLE,
        Kind::Link => Mode::SYMLINK,
        Kind::Submodule => Mode::COMMIT,
    };
    mode == wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_are_taken_for_unix_ones_wherever_a_chunk_ends() {
        let plain = |text: &[u8]| {
            let mut hasher = ContentHasher::new(unix_ends(&mut &*text, None).unwrap());
            unix_ends(&mut &*text, Some(&mut hasher)).unwrap();
            hasher.finish().git_blob
        };
        assert_eq!(plain(b"a\r\nb\r\n"), GitBlob::of(b"a\nb\n"));
        assert_eq!(plain(b"a\rb\r\r\n\r"), GitBlob::of(b"a\rb\r\n\r"));
        let long = [vec![b'x'; (1 << 16) - 1], b"\r\n".to_vec()].concat();
        assert_eq!(plain(&long), GitBlob::of(&[vec![b'x'; (1 << 16) - 1], b"\n".to_vec()].concat()));
    }
}
