//! Owns an archive's entry: what its records say once they agree.
//!
//! Refuses nothing; the checkers fill it. Invariant: sizes and offset are the ZIP64-resolved ones of the central
//! directory.

use crate::name::{self, EntryName};

/// How an entry's data is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// As it is (0).
    Stored,
    /// As a deflate stream (8).
    Deflated,
    /// In a way that is not read here.
    Other(u16),
}

impl Method {
    pub(super) fn from_number(number: u16) -> Self {
        match number {
            0 => Self::Stored,
            8 => Self::Deflated,
            other => Self::Other(other),
        }
    }

    /// The number in the records.
    pub fn number(self) -> u16 {
        match self {
            Self::Stored => 0,
            Self::Deflated => 8,
            Self::Other(number) => number,
        }
    }
}

/// A name as the central directory has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Name {
    /// Portable; a folder's trailing slash is not part of it.
    Portable(EntryName),
    /// Refused; the bytes as they stand.
    Refused(Box<[u8]>),
}

/// One entry of a ZIP.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its name.
    pub name: Name,
    /// Whether its name ends in a slash.
    pub is_folder: bool,
    /// How its data is kept.
    pub method: Method,
    /// General purpose flags.
    pub flags: u16,
    /// DOS time in the low half, DOS date in the high half.
    pub modified: u32,
    /// CRC-32 of the content.
    pub crc: u32,
    /// Bytes of data in the file.
    pub compressed: u64,
    /// Bytes of content.
    pub size: u64,
    /// Where its local record starts.
    pub offset: u64,
    /// Where its data starts; none where the local record is not there or not this entry's.
    pub data: Option<u64>,
    /// Version made by, with the host system in the high half.
    pub made_by: u16,
    /// Version needed to extract.
    pub version_needed: u16,
    /// Internal attributes.
    pub internal: u16,
    /// External attributes: Unix mode in the high half, DOS attributes in the low half.
    pub external: u32,
    /// Where the central record's extra fields are and how many bytes they have; they can be too much to keep.
    pub extra: (u64, u16),
    /// Whether the central record has a comment.
    pub has_comment: bool,
    /// Whether sizes and offset are known: false where ZIP64 fields are out of order.
    pub resolved: bool,
}

/// Bits 0, 6, 13: encryption, strong encryption, masked headers.
const FLAGS_ENCRYPTED: u16 = 1 | 1 << 6 | 1 << 13;

impl Entry {
    /// Whether a flag says that data or headers are encrypted.
    pub fn is_encrypted(&self) -> bool {
        self.flags & FLAGS_ENCRYPTED != 0
    }

    /// Permission bits, where the archive has any.
    pub fn mode(&self) -> Option<u32> {
        let mode = self.external >> 16;
        (mode != 0).then_some(mode & 0o7777)
    }

    /// The name as it stands in the records.
    pub fn raw_name(&self) -> Vec<u8> {
        match &self.name {
            Name::Portable(name) => {
                let slash = if self.is_folder { "/" } else { "" };
                format!("{name}{slash}").into_bytes()
            }
            Name::Refused(bytes) => bytes.to_vec(),
        }
    }

    /// The name for a person: nothing in it moves a cursor.
    pub fn shown_name(&self) -> String {
        name::escape(&self.raw_name())
    }
}
