//! Owns what an entry's attributes make of it: a regular file or a folder.
//!
//! Refuses links, devices and the like, set-id bits, and attributes that say folder where the name doesn't, or the
//! reverse. The host byte is not trusted: readers differ in which attributes they believe (APPNOTE 4.4.15).

use super::entry::Entry;
use super::extra::Fault;
use crate::finding::Code;

const DOS_FOLDER: u32 = 0x10;
const DOS_VOLUME_LABEL: u32 = 0x08;

/// Holds Unix type, Unix bits and DOS attributes against the name.
pub(super) fn check(entry: &Entry) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |code, what: String| faults.push((code, what));
    let mode = entry.external >> 16;
    let unix_type = mode & 0o170_000;
    match unix_type {
        0o040_000 | 0o100_000 if (unix_type == 0o040_000) != entry.is_folder => {
            add(Code::ZipFolderAttribute, format!("has Unix mode {mode:o}, which its name contradicts"));
        }
        // No type: archives made on DOS have none.
        0 | 0o040_000 | 0o100_000 => {}
        0o120_000 => add(Code::ZipLink, "is a symbolic link".to_owned()),
        _ => add(Code::ZipSpecialFile, format!("is a device, pipe or socket (Unix mode {mode:o})")),
    }
    if mode & 0o7000 != 0 {
        add(Code::ZipModeBits, format!("has set-id or sticky bits (Unix mode {mode:o})"));
    }
    if entry.external & DOS_VOLUME_LABEL != 0 {
        add(Code::ZipSpecialFile, "is a volume label".to_owned());
    }
    if entry.external & DOS_FOLDER != 0 && !entry.is_folder {
        add(Code::ZipFolderAttribute, "is a folder by its DOS attributes and a file by its name".to_owned());
    }
    if mode & 0o002 != 0 && unix_type != 0o120_000 {
        add(Code::ModeWorldWritable, format!("is writable by everyone (Unix mode {mode:o})"));
    }
    faults
}
