//! Owns what an entry's attributes make of it: a regular file or a folder.
//!
//! Refuses links, devices and the like, set-id bits, and attributes that say folder where the name doesn't, or the
//! reverse. The host byte is not trusted: readers differ in which attributes they believe (APPNOTE 4.4.15). Neither are
//! the extra fields that can say a mode, a link's target or an encryption again (APPNOTE 4.5.5, 4.5.7, 4.5.12; the
//! fields 0x756e and 0x9901 by Info-ZIP's proginfo/extrafld.txt and the AE-x specification).

use super::entry::Entry;
use super::extra::{Extras, Fault};
use super::record::Fields;
use crate::finding::Code;

const DOS_FOLDER: u32 = 0x10;
const DOS_VOLUME_LABEL: u32 = 0x08;
const DOS_DEVICE: u32 = 0x40;
/// A reparse point: Windows' symbolic links and mount points.
const DOS_REPARSE: u32 = 0x400;

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
    if entry.external & DOS_DEVICE != 0 {
        add(Code::ZipSpecialFile, "is a device by its DOS attributes".to_owned());
    }
    if entry.external & DOS_REPARSE != 0 {
        add(Code::ZipLink, "is a link by its DOS attributes".to_owned());
    }
    if entry.external & DOS_FOLDER != 0 && !entry.is_folder {
        add(Code::ZipFolderAttribute, "is a folder by its DOS attributes and a file by its name".to_owned());
    }
    if mode & 0o002 != 0 && unix_type != 0o120_000 {
        add(Code::ModeWorldWritable, format!("is writable by everyone (Unix mode {mode:o})"));
    }
    faults
}

/// PKWARE's Unix field: times and ids, then a link's target or a device's numbers.
const PKWARE_UNIX: u16 = 0x000D;
const PKWARE_UNIX_LEN: usize = 12;
/// Info-ZIP's oldest Unix field: CRC, mode, length of a link's target or a device's number, ids, target.
const ASI_UNIX: u16 = 0x756E;
/// Fields of encrypted entries: strong encryption, AES.
const ENCRYPTION: [u16; 2] = [0x0017, 0x9901];

/// Holds what extra fields say of an entry's nature against its attributes and flags.
pub(super) fn check_extras(entry: &Entry, extras: &Extras<'_>) -> Vec<Fault> {
    let mut faults = Vec::new();
    if extras.get(PKWARE_UNIX).is_some_and(|data| data.len() > PKWARE_UNIX_LEN) {
        faults.push((Code::ZipLink, "is a link or a device by its extra field 0x000d".to_owned()));
    }
    if let Some(data) = extras.get(ASI_UNIX) {
        let mut fields = Fields(data);
        let (_crc, mode, target) = (fields.u32(), fields.u16().map(u32::from), fields.u32());
        let own = entry.external >> 16;
        // Without a mode of its own an entry is what its name says.
        let plain = if entry.is_folder { 0o040_000 } else { 0o100_000 };
        let fits = |mode: u32| mode == own || (own == 0 && mode & 0o177_000 == plain);
        if !mode.is_some_and(fits) || target != Some(0) {
            faults.push((Code::ZipExtraDiffers, "has a mode in its extra field 0x756e unlike its own".to_owned()));
        }
    }
    if let Some(id) = ENCRYPTION.iter().find(|id| extras.get(**id).is_some() && !entry.is_encrypted()) {
        faults.push((Code::ZipEncrypted, format!("has an extra field of encrypted entries ({id:#06x})")));
    }
    faults
}
