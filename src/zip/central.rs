//! Owns walking the central directory: one entry for each record, each checked on its own.
//!
//! Refuses records that don't fill the directory exactly, counts that don't fit, and every flag, method, extra field
//! or attribute that readers take differently. Invariant: at most one record is in memory besides the entries made.
//! APPNOTE 4.3.12 and 4.4.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use std::io::{BufReader, Read};

use super::attributes;
use super::entry::{Entry, Method, Name};
use super::extra::{Extras, Fault};
use super::locate::{Directory, comment_fault};
use super::record::{self, CENTRAL_LEN, Central};
use super::source::{Source, Window};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::EntryName;

/// Bit 11: name and comment are UTF-8.
pub(super) const FLAG_UTF8: u16 = 1 << 11;
/// Bit 3: CRC and sizes follow the data.
pub(super) const FLAG_DESCRIPTOR: u16 = 1 << 3;
/// Bits 1 and 2 say how hard a compressor tried; nobody reads them otherwise.
const FLAGS_LEVEL: u16 = 0b110;
/// Version 6.3, the last that changed what a reader needs.
const MAX_VERSION: u16 = 63;

/// What was read of the central directory.
pub(super) struct Records {
    pub(super) entries: Vec<Entry>,
    /// Whether it was read to its end. Where it wasn't, nobody can tell which local records belong to it.
    pub(super) whole: bool,
}

/// Reads every record. Stops early only where the next record can't be found, or at the limit.
pub(super) fn read(
    source: &Source,
    directory: Directory,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Records, Error> {
    let end = directory.offset.saturating_add(directory.size);
    let mut walk = Walk {
        stream: BufReader::with_capacity(1 << 16, source.window(directory.offset, end)),
        source,
        at: directory.offset,
        end,
        variable: Vec::new(),
    };
    let mut entries = Vec::new();
    while walk.at < walk.end {
        if entries.len() as u64 >= limits.max_entries {
            let message = format!("the archive has more than {} entries", limits.max_entries);
            findings.push(Finding::new(Code::ZipTooLarge, Place::offset(walk.at), message));
            return Ok(Records { entries, whole: false });
        }
        let at = walk.at;
        let Some(fixed) = walk.next()? else {
            let message = "the central directory is not a row of whole records";
            findings.push(Finding::new(Code::ZipDirectoryRecord, Place::offset(at), message));
            return Ok(Records { entries, whole: false });
        };
        entries.push(entry(&fixed, &walk.variable, at, limits, findings));
    }
    if entries.len() as u64 != directory.entries {
        let message = "the end record counts other entries than the central directory has";
        let finding = Finding::new(Code::ZipCount, Place::offset(directory.offset), message);
        findings.push(finding.values(directory.entries, entries.len()));
    }
    Ok(Records { entries, whole: true })
}

struct Walk<'a> {
    stream: BufReader<Window<'a>>,
    source: &'a Source,
    at: u64,
    end: u64,
    /// Name, extra fields and comment of the record just read.
    variable: Vec<u8>,
}

impl Walk<'_> {
    fn next(&mut self) -> Result<Option<Central>, Error> {
        let mut fixed = [0; CENTRAL_LEN];
        if self.end.saturating_sub(self.at) < CENTRAL_LEN as u64 {
            return Ok(None);
        }
        self.stream.read_exact(&mut fixed).map_err(Error::io("read", self.source.path()))?;
        self.at = self.at.saturating_add(CENTRAL_LEN as u64);
        let Some(central) = record::central(&fixed) else { return Ok(None) };
        let lengths = [central.shared.name_len, central.shared.extra_len, central.comment_len];
        let length = lengths.iter().fold(0usize, |sum, length| sum.saturating_add(usize::from(*length)));
        if self.end.saturating_sub(self.at) < length as u64 {
            return Ok(None);
        }
        // At most three times 65,535: the lengths are 16 bits wide.
        self.variable.resize(length, 0);
        self.stream.read_exact(&mut self.variable).map_err(Error::io("read", self.source.path()))?;
        self.at = self.at.saturating_add(length as u64);
        Ok(Some(central))
    }
}

fn entry(central: &Central, variable: &[u8], at: u64, limits: &Limits, findings: &mut Findings) -> Entry {
    let mut fields = record::Fields(variable);
    let name = fields.bytes(central.shared.name_len.into()).unwrap_or_default();
    let extra = fields.bytes(central.shared.extra_len.into()).unwrap_or_default();
    let comment = fields.0;
    let (entry_name, is_folder, name_fault) = read_name(name, central.shared.flags);
    let mut entry = Entry {
        name: entry_name,
        is_folder,
        method: Method::from_number(central.shared.method),
        flags: central.shared.flags,
        modified: central.shared.modified,
        crc: central.shared.crc,
        compressed: central.shared.compressed.into(),
        size: central.shared.plain.into(),
        offset: central.offset.into(),
        data: None,
        made_by: central.made_by,
        version_needed: central.shared.version_needed,
        internal: central.internal,
        external: central.external,
        extra: (at.saturating_add(CENTRAL_LEN as u64).saturating_add(name.len() as u64), central.shared.extra_len),
        has_comment: !comment.is_empty(),
        resolved: false,
    };
    let mut faults: Vec<Fault> = name_fault.into_iter().collect();
    match Extras::parse(extra) {
        Ok(extras) => {
            faults.extend(extras.check_unicode(name, comment).err());
            faults.extend(resolve_zip64(&mut entry, central, &extras).err());
            faults.extend(attributes::check_extras(&entry, &extras));
        }
        Err(fault) => faults.push(fault),
    }
    faults.extend(comment_fault(comment).map(|(code, what)| (code, format!("has a comment that {what}"))));
    faults.extend(check_fields(&entry));
    faults.extend(attributes::check(&entry));
    if entry.resolved {
        faults.extend(check_sizes(&entry, limits));
    }
    let shown = entry.shown_name();
    findings.extend(
        faults.into_iter().map(|(code, what)| {
            Finding::new(code, Place::entry(&shown).at(at), format!("the entry \"{shown}\" {what}"))
        }),
    );
    entry
}

/// The name, whether it is a folder's, and what is wrong with it.
fn read_name(bytes: &[u8], flags: u16) -> (Name, bool, Option<Fault>) {
    let is_folder = bytes.ends_with(b"/");
    let refused = |code, what: String| (Name::Refused(bytes.into()), is_folder, Some((code, what)));
    let Ok(text) = std::str::from_utf8(bytes) else {
        return refused(Code::NameEncoding, "has a name that is not UTF-8".to_owned());
    };
    if !text.is_ascii() && flags & FLAG_UTF8 == 0 {
        let what = "has a name beyond ASCII without the flag that says it is UTF-8";
        return refused(Code::NameEncoding, what.to_owned());
    }
    match EntryName::new(text.strip_suffix('/').unwrap_or(text)) {
        Ok(name) => (Name::Portable(name), is_folder, None),
        Err(fault) => refused(fault.code, format!("has a name that {}", fault.reason)),
    }
}

fn resolve_zip64(entry: &mut Entry, central: &Central, extras: &Extras<'_>) -> Result<(), Fault> {
    let shared = &central.shared;
    if central.disk != 0 {
        return Err((Code::ZipMultiDisk, format!("starts on disk {}", central.disk)));
    }
    [entry.size, entry.compressed, entry.offset] = extras.zip64([shared.plain, shared.compressed, central.offset])?;
    entry.resolved = true;
    Ok(())
}

fn check_fields(entry: &Entry) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |code, what: String| faults.push((code, what));
    if let Method::Other(number) = entry.method {
        add(Code::ZipMethodUnsupported, format!("is compressed by method {number}"));
    }
    if entry.is_encrypted() {
        add(Code::ZipEncrypted, format!("is encrypted (flags {:#06x})", entry.flags));
    } else if entry.flags & !(FLAGS_LEVEL | FLAG_DESCRIPTOR | FLAG_UTF8) != 0 {
        add(Code::ZipFlagsReserved, format!("has flags {:#06x}", entry.flags));
    }
    // Some readers compare the low byte only, some all of it.
    if entry.version_needed > MAX_VERSION {
        add(Code::ZipVersionNeeded, format!("needs version {} to extract", entry.version_needed));
    }
    faults
}

/// What the sizes say, once they are known.
fn check_sizes(entry: &Entry, limits: &Limits) -> Vec<Fault> {
    let mut faults = Vec::new();
    let mut add = |code, what: String| faults.push((code, what));
    if has_stored_fault(entry) {
        let what = format!("is stored in {} bytes but has {}", entry.compressed, entry.size);
        add(Code::ZipStoredSize, what);
    }
    // Info-ZIP streams an empty file so. A descriptor right behind the header is the first that anyone can find.
    let is_empty = (entry.size, entry.compressed) == (0, 0);
    if entry.method == Method::Stored && entry.flags & FLAG_DESCRIPTOR != 0 && !is_empty {
        add(Code::ZipDescriptorStored, "is stored and has a data descriptor".to_owned());
    }
    // A folder's data may be an empty deflate stream, as old Java tools write it.
    if entry.is_folder && (entry.size > 0 || entry.compressed > 2) {
        add(Code::ZipFolderData, "is a folder by its name and has data".to_owned());
    }
    if entry.size > limits.max_content {
        add(Code::ZipTooLarge, format!("has {} bytes", entry.size));
    } else if over_ratio(entry.size, entry.compressed, limits) {
        add(Code::ZipRatio, format!("inflates {} bytes to {}", entry.compressed, entry.size));
    }
    faults
}

/// Encryption puts a header of its own before stored data.
fn has_stored_fault(entry: &Entry) -> bool {
    entry.method == Method::Stored && entry.compressed != entry.size && !entry.is_encrypted()
}

/// Whether an entry alone is more than may be inflated.
pub(super) fn is_oversized(entry: &Entry, limits: &Limits) -> bool {
    entry.size > limits.max_content || over_ratio(entry.size, entry.compressed, limits)
}

/// Whether a finding on the central record already says that the content can't be had. It isn't read then: that
/// would cost time, or make a second finding of the same fault.
pub(super) fn is_unreadable(entry: &Entry, limits: &Limits) -> bool {
    entry.is_encrypted() || has_stored_fault(entry) || is_oversized(entry, limits)
}

/// Whether so many stored bytes can't honestly stand for so many plain ones.
pub(super) fn over_ratio(plain: u64, stored: u64, limits: &Limits) -> bool {
    plain > limits.ratio_floor && plain > stored.saturating_mul(limits.max_ratio)
}
