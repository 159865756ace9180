//! Owns finding the end records and with them the central directory's place.
//!
//! Refuses whatever lets two readers choose different directories: more than one end record that reaches the end of
//! the file, bytes after it, record signatures in the comment, ZIP64 records that aren't adjacent or disagree.
//! Invariant: a place returned is `[offset, offset + size)` with the end records right behind it.
//! APPNOTE 4.3.14 to 4.3.16.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use super::record::{self, END, END_LEN, END64_LEN, End, LOCATOR64, LOCATOR64_LEN};
use super::source::{self, Source};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};

/// Where the central directory is and how many records it should have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Directory {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) entries: u64,
}

/// The longest end record: 22 bytes and a comment of 65,535.
const TAIL: u64 = 22 + 0xFFFF;

/// Finds the central directory. None where a finding says why there is none to trust.
pub(super) fn locate(source: &Source, findings: &mut Findings) -> Result<Option<Directory>, Error> {
    let start = source.len().saturating_sub(TAIL);
    let mut tail = vec![0; usize::try_from(source.len().saturating_sub(start)).unwrap_or_default()];
    source.read_at(start, &mut tail)?;
    let candidates = candidates(&tail, start);
    if candidates.is_empty() && !starts_like_zip(source)? {
        let mut head = vec![0; usize::try_from(source.len().min(512)).unwrap_or_default()];
        source.read_at(0, &mut head)?;
        return Err(Error::NotAZip { path: source.path().to_path_buf(), found: source::looks_like(&head) });
    }
    let Some(found) = choose(&candidates, source.len(), findings) else { return Ok(None) };
    check_comment(found, &tail, start, findings);
    let (end, directory_end) = resolve64(source, found, findings)?;
    if !findings.none_broken() {
        return Ok(None);
    }
    check_end(source, end, directory_end, found.at, findings)
}

fn starts_like_zip(source: &Source) -> Result<bool, Error> {
    let mut head = [0; 4];
    if source.len() < 4 {
        return Ok(false);
    }
    source.read_at(0, &mut head)?;
    Ok(record::holds_signature(&head))
}

#[derive(Debug, Clone, Copy)]
struct Candidate {
    at: u64,
    end: End,
    /// Where its comment ends.
    reach: u64,
}

fn candidates(tail: &[u8], start: u64) -> Vec<Candidate> {
    let signatures = tail.windows(END.len()).enumerate().filter(|(_, window)| *window == END);
    let read = |at: usize| {
        let (end, comment) = record::end(tail.get(at..)?)?;
        let at = start.checked_add(at as u64)?;
        Some(Candidate { at, end, reach: at.checked_add(END_LEN)?.checked_add(comment.into())? })
    };
    signatures.filter_map(|(at, _)| read(at)).collect()
}

/// The one end record whose comment ends where the file ends.
fn choose(candidates: &[Candidate], len: u64, findings: &mut Findings) -> Option<Candidate> {
    let mut exact = candidates.iter().filter(|candidate| candidate.reach == len);
    if let Some(found) = exact.next_back() {
        if let Some(other) = exact.next_back() {
            let message = format!("two end records reach the end of the file, at bytes {} and {}", other.at, found.at);
            findings.push(Finding::new(Code::ZipEndAmbiguous, Place::offset(other.at), message));
            return None;
        }
        return Some(*found);
    }
    findings.push(match candidates.last() {
        Some(last) if last.reach < len => {
            let extra = len.saturating_sub(last.reach);
            let message = format!("{extra} bytes follow the end record and its comment");
            Finding::new(Code::ZipTrailingBytes, Place::offset(last.reach), message).values(last.reach, len)
        }
        Some(last) => {
            let message = "the end record's comment would reach beyond the end of the file";
            Finding::new(Code::ZipCommentOverrun, Place::offset(last.at), message).values(last.reach, len)
        }
        None => Finding::new(Code::ZipEndMissing, Place::offset(len), "the file ends without an end record"),
    });
    None
}

fn check_comment(found: Candidate, tail: &[u8], start: u64, findings: &mut Findings) {
    let begin = found.at.saturating_add(END_LEN);
    let comment =
        usize::try_from(begin.saturating_sub(start)).ok().and_then(|from| tail.get(from..)).unwrap_or_default();
    findings.extend(
        comment_fault(comment)
            .map(|(code, what)| Finding::new(code, Place::offset(begin), format!("the archive comment {what}"))),
    );
}

/// What makes a comment one that readers take differently.
pub(super) fn comment_fault(comment: &[u8]) -> Option<(Code, &'static str)> {
    if record::holds_signature(comment) {
        Some((Code::ZipCommentSignature, "holds a record signature"))
    } else if std::str::from_utf8(comment).is_err() {
        Some((Code::ZipCommentText, "is not UTF-8"))
    } else {
        None
    }
}

const ALL_ONES_16: u64 = 0xFFFF;
const ALL_ONES_32: u64 = 0xFFFF_FFFF;

/// A plain end record's fields with the value that says "see ZIP64", and their names.
fn parts(end: &End) -> [(u64, u64, &'static str); 6] {
    [
        (end.disk, ALL_ONES_16, "disk number"),
        (end.directory_disk, ALL_ONES_16, "directory's disk number"),
        (end.entries_here, ALL_ONES_16, "number of entries on this disk"),
        (end.entries, ALL_ONES_16, "number of entries"),
        (end.directory_size, ALL_ONES_32, "directory size"),
        (end.directory_offset, ALL_ONES_32, "directory offset"),
    ]
}

/// The end record's values with ZIP64 where it applies, and where the central directory must end.
fn resolve64(source: &Source, found: Candidate, findings: &mut Findings) -> Result<(End, u64), Error> {
    let asks = |end: End| parts(&end).iter().any(|(value, ones, _)| value == ones);
    let mut locator = [0; LOCATOR64_LEN];
    let locator_at = found.at.checked_sub(LOCATOR64_LEN as u64);
    if let Some(at) = locator_at {
        source.read_at(at, &mut locator)?;
    }
    let Some(locator_at) = locator_at.filter(|_| locator.starts_with(&LOCATOR64)) else {
        // A count of 65,535 may be just that, as Python writes it: the records are counted anyway.
        if asks(End { entries_here: 0, entries: 0, ..found.end }) {
            let message = "a field of the end record is all ones but no ZIP64 locator stands before it";
            findings.push(Finding::new(Code::Zip64Locator, Place::offset(found.at), message));
        }
        return Ok((found.end, found.at));
    };
    if !asks(found.end) {
        // Some readers then pass over the ZIP64 records, some take them, some refuse them.
        let message = "a ZIP64 locator stands before an end record that has no field of all ones";
        findings.push(Finding::new(Code::Zip64Locator, Place::offset(locator_at), message));
        return Ok((found.end, locator_at));
    }
    read_end64(source, found.end, locator_at, &locator, findings)
}

fn read_end64(
    source: &Source,
    end: End,
    locator_at: u64,
    locator: &[u8],
    findings: &mut Findings,
) -> Result<(End, u64), Error> {
    let mut fields = record::Fields(locator);
    let read = (fields.u32(), fields.u32(), fields.u64(), fields.u32());
    let (_, Some(disk), Some(at), Some(disks)) = read else { return Ok((end, locator_at)) };
    if (disk, disks) != (0, 1) {
        let message = format!("the ZIP64 locator says disk {disk} of {disks}");
        findings.push(Finding::new(Code::ZipMultiDisk, Place::offset(locator_at), message));
    }
    if at.checked_add(END64_LEN as u64) != Some(locator_at) {
        let message = "the ZIP64 locator does not point at the 56 bytes right before itself";
        let computed = locator_at.saturating_sub(END64_LEN as u64);
        findings.push(Finding::new(Code::Zip64Locator, Place::offset(locator_at), message).values(at, computed));
        return Ok((end, locator_at));
    }
    let mut bytes = [0; END64_LEN];
    source.read_at(at, &mut bytes)?;
    let Some((end64, size)) = record::end64(&bytes) else {
        let message = "there is no ZIP64 end record where its locator points";
        findings.push(Finding::new(Code::Zip64EndRecord, Place::offset(at), message));
        return Ok((end, locator_at));
    };
    if size != 44 {
        let message = "the ZIP64 end record claims another size than its 44 bytes of fields";
        findings.push(Finding::new(Code::Zip64EndRecord, Place::offset(at), message).values(size, 44));
    }
    for ((plain, ones, name), (wide, _, _)) in parts(&end).iter().zip(parts(&end64)) {
        if plain != ones && *plain != wide {
            let message = format!("the {name} of the end record is not the one of the ZIP64 end record");
            findings.push(Finding::new(Code::Zip64ValueDiffers, Place::offset(at), message).values(plain, wide));
        }
    }
    Ok((end64, at))
}

/// Holds the chosen values against the file.
fn check_end(
    source: &Source,
    end: End,
    directory_end: u64,
    at: u64,
    findings: &mut Findings,
) -> Result<Option<Directory>, Error> {
    if (end.disk, end.directory_disk) != (0, 0) {
        let message = format!("the archive says it is disk {} with its directory on {}", end.disk, end.directory_disk);
        findings.push(Finding::new(Code::ZipMultiDisk, Place::offset(at), message));
    }
    if end.entries_here != end.entries {
        let message = "the two counts of entries in the end record differ";
        let finding = Finding::new(Code::ZipCount, Place::offset(at), message);
        findings.push(finding.values(end.entries_here, end.entries));
    }
    let reach = end.directory_offset.checked_add(end.directory_size);
    if reach != Some(directory_end) {
        let recorded = reach.map_or_else(|| "beyond 2^64".to_owned(), |reach| reach.to_string());
        let finding = match prefix(source, end, directory_end)? {
            Some(length) => {
                let message = format!("{length} bytes stand before the archive that its offsets don't count");
                Finding::new(Code::ZipPrefix, Place::offset(0), message)
            }
            None => {
                let message = "the central directory does not end where the end records begin";
                Finding::new(Code::ZipDirectoryBounds, Place::offset(at), message)
            }
        };
        findings.push(finding.values(recorded, directory_end));
        return Ok(None);
    }
    Ok(Some(Directory { offset: end.directory_offset, size: end.directory_size, entries: end.entries }))
}

/// How many bytes were put before an archive, where that alone explains why its directory isn't at its offset.
fn prefix(source: &Source, end: End, directory_end: u64) -> Result<Option<u64>, Error> {
    let Some(actual) = directory_end.checked_sub(end.directory_size) else { return Ok(None) };
    let Some(length) = actual.checked_sub(end.directory_offset).filter(|length| *length > 0) else { return Ok(None) };
    let is_directory = |offset: u64| -> Result<bool, Error> {
        let mut bytes = [0; 4];
        if offset.checked_add(4).is_none_or(|end| end > source.len()) {
            return Ok(false);
        }
        source.read_at(offset, &mut bytes)?;
        Ok(bytes == record::CENTRAL)
    };
    Ok((is_directory(actual)? && !is_directory(end.directory_offset)?).then_some(length))
}
