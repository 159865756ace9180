//! Owns the private copies that SQLite may open and change, and the head of a database file.
//!
//! Refuses to copy more than the bound, and the index of a write-ahead log. Invariant: the copies lie in a folder that only
//! this user can enter, and that is gone when this value is.

use std::fs::{File, Permissions};
use std::io::Read;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use super::{Sidecar, Source, Stop, fault};
use crate::error::Error;
use crate::finding::Code;
use crate::limits::Limits;

/// A database and its sidecars in a private folder.
#[derive(Debug)]
pub(super) struct Copies {
    /// Removes the folder at the end.
    folder: tempfile::TempDir,
    database: PathBuf,
}

impl Copies {
    /// Copies all that SQLite is to see.
    pub(super) fn make(source: Source<'_>, scratch: &Path, limits: &Limits) -> Result<Self, Stop> {
        let folder = tempfile::Builder::new()
            .prefix(".exhibit-")
            .suffix(".tmp")
            .permissions(Permissions::from_mode(0o700))
            .tempdir_in(scratch)
            .map_err(Error::io("make a private folder in", scratch))?;
        let copies = Self { database: folder.path().join("database"), folder };
        copy(source.name, source.name, source.database, &copies.database, limits)?;
        for (kind, content) in source.sidecars {
            if let Some(path) = copies.sidecar(kind) {
                copy(source.name, &format!("{}{}", source.name, kind.suffix()), content, &path, limits)?;
            }
        }
        Ok(copies)
    }

    /// Where the database lies.
    pub(super) fn database(&self) -> &Path {
        &self.database
    }

    /// Where a sidecar's copy lies if there is one; none for what is never copied.
    fn sidecar(&self, kind: Sidecar) -> Option<PathBuf> {
        match kind {
            Sidecar::Journal | Sidecar::Log => Some(self.folder.path().join(format!("database{}", kind.suffix()))),
            Sidecar::Index => None,
        }
    }

    /// Opens a sidecar's copy, where there is one.
    pub(super) fn open(&self, kind: Sidecar) -> Result<Option<(File, u64)>, Error> {
        let Some(path) = self.sidecar(kind).filter(|path| path.exists()) else { return Ok(None) };
        let file = File::open(&path).map_err(Error::io("open", &path))?;
        let size = file.metadata().map_err(Error::io("read", &path))?.len();
        Ok(Some((file, size)))
    }

    /// The first bytes of the database.
    pub(super) fn head(&self) -> Result<Head, Error> {
        let file = File::open(&self.database).map_err(Error::io("open", &self.database))?;
        let mut bytes = Vec::new();
        file.take(HEAD).read_to_end(&mut bytes).map_err(Error::io("read", &self.database))?;
        Ok(Head(bytes))
    }
}

fn copy(name: &str, file: &str, content: Box<dyn Read + '_>, to: &Path, limits: &Limits) -> Result<(), Stop> {
    let max = limits.max_database;
    let mut out = File::create_new(to).map_err(Error::io("write", to))?;
    // The system's word on which of the two failed is lost: reading is what usually does.
    let copied = std::io::copy(&mut content.take(max.saturating_add(1)), &mut out);
    if copied.map_err(Error::io("copy", Path::new(file)))? > max {
        let message = format!("\"{file}\" is larger than {max} bytes");
        return Err(fault(Code::DatabaseTooLarge, name, message));
    }
    Ok(())
}

/// Bytes of a database's head.
const HEAD: u64 = 100;

/// A database's head.
#[derive(Debug)]
pub(super) struct Head(Vec<u8>);

/// How a database's transactions are kept apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    /// By a rollback journal.
    Rollback,
    /// By a write-ahead log.
    WriteAhead,
}

impl Head {
    /// Whether the file has no bytes at all.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How it is kept; none where this is no database.
    pub(super) fn mode(&self) -> Option<Mode> {
        if !self.0.starts_with(b"SQLite format 3\0") || self.0.len() as u64 != HEAD {
            return None;
        }
        match self.0.get(18..20)? {
            [1, 1] => Some(Mode::Rollback),
            [2, 2] => Some(Mode::WriteAhead),
            _ => None,
        }
    }
}
