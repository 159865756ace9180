//! Owns the file under a ZIP: opened once, read by position from any thread.
//!
//! Refuses anything but a regular file, and an end that comes before the length it had when opened. Invariant: every
//! byte of one verification comes from the same open handle.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::{FileExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};

use crate::error::Error;

/// An open file that is read by position.
#[derive(Debug)]
pub struct Source {
    path: PathBuf,
    file: File,
    len: u64,
    stamp: Stamp,
}

/// What changes when a file is written to.
type Stamp = (u64, i64, i64, i64, i64);

fn stamp(metadata: &Metadata) -> Stamp {
    (metadata.len(), metadata.mtime(), metadata.mtime_nsec(), metadata.ctime(), metadata.ctime_nsec())
}

impl Source {
    /// Opens a regular file. A link to one is followed: the user named it.
    ///
    /// # Errors
    /// It can't be opened, or is a folder, pipe, device or socket.
    pub fn open(path: &Path) -> Result<Self, Error> {
        let file_type = std::fs::metadata(path).map_err(Error::io("open", path))?.file_type();
        if file_type.is_dir() {
            return Err(Error::NotAZip { path: path.to_path_buf(), found: "a folder" });
        }
        if !file_type.is_file() {
            // Opening a pipe would wait for a writer for ever.
            return Err(Error::NotAZip { path: path.to_path_buf(), found: "a pipe, device or socket" });
        }
        let file = File::open(path).map_err(Error::io("open", path))?;
        let metadata = file.metadata().map_err(Error::io("read", path))?;
        Ok(Self { path: path.to_path_buf(), file, len: metadata.len(), stamp: stamp(&metadata) })
    }

    /// Where the file is.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its length when it was opened.
    #[expect(clippy::len_without_is_empty, reason = "an empty file is no ZIP; nobody asks")]
    pub fn len(&self) -> u64 {
        self.len
    }

    /// Fills `buffer` from `offset`.
    ///
    /// # Errors
    /// The system's; [`Error::Changed`] where the file has become shorter.
    pub fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<(), Error> {
        self.file.read_exact_at(buffer, offset).map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                return Error::Changed { path: self.path.clone() };
            }
            Error::io("read", &self.path)(error)
        })
    }

    /// Reads the bytes in `[start, end)` one after the other.
    pub fn window(&self, start: u64, end: u64) -> Window<'_> {
        Window { source: self, at: start, end }
    }

    /// Whether the file is still as it was when opened, by length and times.
    ///
    /// # Errors
    /// The system's, and [`Error::Changed`] where it isn't.
    pub fn unchanged(&self) -> Result<(), Error> {
        let metadata = self.file.metadata().map_err(Error::io("read", &self.path))?;
        if stamp(&metadata) == self.stamp { Ok(()) } else { Err(Error::Changed { path: self.path.clone() }) }
    }
}

/// A range of a [`Source`] as a stream.
#[derive(Debug)]
pub struct Window<'a> {
    source: &'a Source,
    at: u64,
    end: u64,
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = usize::try_from(self.end.saturating_sub(self.at)).unwrap_or(usize::MAX);
        let wanted = left.min(buffer.len());
        let Some(buffer) = buffer.get_mut(..wanted).filter(|buffer| !buffer.is_empty()) else { return Ok(0) };
        let count = self.source.file.read_at(buffer, self.at)?;
        if count == 0 {
            return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the file became shorter while it was read"));
        }
        self.at = self.at.saturating_add(count as u64);
        Ok(count)
    }
}

/// Names what a file that isn't a ZIP looks like, by its first bytes.
pub(super) fn looks_like(head: &[u8]) -> &'static str {
    let marks: [(usize, &[u8], &str); 9] = [
        (257, b"ustar", "a tar archive"),
        (0, b"\x1f\x8b", "a gzip file"),
        (0, b"\xfd7zXZ\0", "an xz file"),
        (0, b"\x28\xb5\x2f\xfd", "a zstd file"),
        (0, b"BZh", "a bzip2 file"),
        (0, b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
        (0, b"Rar!", "a RAR archive"),
        (0, b"%PDF", "a PDF"),
        (0, b"SQLite format 3\0", "a SQLite database"),
    ];
    if head.is_empty() {
        return "an empty file";
    }
    let found = marks.iter().find(|(at, mark, _)| head.get(*at..).is_some_and(|bytes| bytes.starts_with(mark)));
    match (found, head.iter().find(|byte| !byte.is_ascii_whitespace())) {
        (Some((_, _, what)), _) => what,
        (None, Some(b'{' | b'[')) => "JSON text",
        (None, Some(b'<')) => "a web page or XML",
        _ if head.iter().all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace()) => "text",
        _ => "some other file",
    }
}
