//! Owns the canonical form: which structural bytes an archive has, given its names, modes and contents.
//!
//! Refuses an archive that claims the form and has any other byte outside its deflate streams. Invariant: nothing
//! but the deflate streams is free: records are recomputed from their meaning and compared byte by byte.
//!
//! The form: files only, sorted by the bytes of their names; deflate; version needed 2.0 (4.5 with ZIP64) and made by
//! the same on Unix; no flag but bit 11 where the name isn't ASCII; 1980-01-01 00:00:00; `0o100644` or `0o100755` in the high
//! half of the external attributes; no comment; an extra field only where ZIP64 needs it; one local header and data
//! after the other from byte 0, then the central directory, then the end records.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use std::io::{BufReader, Read};

use super::central::FLAG_UTF8;
use super::entry::Entry;
use super::record::{CENTRAL, END, END64, LOCAL, LOCATOR64};
use super::source::Source;
use crate::error::Error;
use crate::finding::{Code, Finding, Place};

/// Deflate's effort. Readers can't see it; the same effort by the same encoder gives the same bytes.
pub(super) const LEVEL: i64 = 9;

/// A content of at least this many bytes has ZIP64 fields: 16 MiB below 2^32, more than deflate can add to a content
/// that doesn't compress.
pub(super) const ZIP64_FROM: u64 = (1 << 32) - (1 << 24);

const ONES: u64 = u32::MAX as u64;
/// 1 January 1980, 00:00:00: the earliest that the fields can say.
const MODIFIED: u32 = 0x0021_0000;
/// The high half of "version made by".
const HOST_UNIX: u16 = 3 << 8;

/// Holds every structural byte of an archive without other findings against the form. One finding at most: the first
/// record that differs.
pub(super) fn check(source: &Source, entries: &[Entry], directory: u64) -> Result<Option<Finding>, Error> {
    let finding = |place: Place, what: &str| {
        let message = format!("{what} not what the archive's form implies");
        Ok(Some(Finding::new(Code::ZipNotCanonical, place, message)))
    };
    let place = |entry: &Entry| Place::entry(entry.shown_name()).at(entry.offset);
    let mut central = BufReader::with_capacity(1 << 16, source.window(directory, source.len()));
    let mut expected = Vec::new();
    let (mut at, mut size) = (0, 0);
    let mut before: Option<Vec<u8>> = None;
    for entry in entries {
        let name = entry.raw_name();
        if entry.offset != at || before.is_some_and(|before| before >= name) {
            return finding(place(entry), "the entry's place is");
        }
        if !matches!(entry.external >> 16, 0o100_644 | 0o100_755) || entry.external & 0xFFFF != 0 {
            return finding(place(entry), "the entry's attributes are");
        }
        expected.clear();
        let header_len = append_local_header(entry, &name, &mut expected);
        if !same(source.window(at, source.len()), source, &expected)? {
            return finding(place(entry), "the entry's local record is");
        }
        at = at.saturating_add(header_len).saturating_add(entry.compressed);
        expected.clear();
        size = append_central_header(entry, &name, &mut expected).saturating_add(size);
        if !same(&mut central, source, &expected)? {
            return finding(place(entry), "the entry's central record is");
        }
        before = Some(name);
    }
    expected.clear();
    append_end_records(entries, directory, size, &mut expected);
    let length = directory.saturating_add(size).saturating_add(expected.len() as u64);
    if at != directory || source.len() != length || !same(&mut central, source, &expected)? {
        return finding(Place::offset(directory), "the end record is");
    }
    Ok(None)
}

/// Whether the next bytes of a stream are the expected ones.
fn same(stream: impl Read, source: &Source, expected: &[u8]) -> Result<bool, Error> {
    let mut bytes = Vec::with_capacity(expected.len());
    stream.take(expected.len() as u64).read_to_end(&mut bytes).map_err(Error::io("read", source.path()))?;
    Ok(bytes == expected)
}

fn put(bytes: &mut Vec<u8>, parts: &[&[u8]]) {
    parts.iter().for_each(|part| bytes.extend_from_slice(part));
}

fn is_wide(entry: &Entry) -> bool {
    entry.size >= ZIP64_FROM
}

fn version_needed(entry: &Entry) -> u16 {
    if is_wide(entry) { 45 } else { 20 }
}

/// A 32-bit field that says "see ZIP64" where it must.
fn narrow(value: u64, wide: bool) -> [u8; 4] {
    let value = if wide { u32::MAX } else { u32::try_from(value).unwrap_or(u32::MAX) };
    value.to_le_bytes()
}

/// The fields that local and central header share, from the version needed to the two lengths.
fn append_shared(entry: &Entry, name: &[u8], extra_len: usize, bytes: &mut Vec<u8>) {
    let flags = if name.is_ascii() { 0 } else { FLAG_UTF8 };
    let wide = is_wide(entry);
    let length = |length: usize| u16::try_from(length).unwrap_or(u16::MAX).to_le_bytes();
    put(
        bytes,
        &[
            &version_needed(entry).to_le_bytes(),
            &flags.to_le_bytes(),
            &8u16.to_le_bytes(),
            &MODIFIED.to_le_bytes(),
            &entry.crc.to_le_bytes(),
            &narrow(entry.compressed, wide),
            &narrow(entry.size, wide),
            &length(name.len()),
            &length(extra_len),
        ],
    );
}

/// A ZIP64 extra field of the values that are there; nothing where there are none.
fn zip64_extra(values: &[Option<u64>]) -> Vec<u8> {
    let data: Vec<u8> = values.iter().flatten().flat_map(|value| value.to_le_bytes()).collect();
    let length = u16::try_from(data.len()).unwrap_or(u16::MAX);
    if data.is_empty() { data } else { [&1u16.to_le_bytes()[..], &length.to_le_bytes(), &data].concat() }
}

fn append_local_header(entry: &Entry, name: &[u8], bytes: &mut Vec<u8>) -> u64 {
    let wide = is_wide(entry);
    let extra = zip64_extra(&[wide.then_some(entry.size), wide.then_some(entry.compressed)]);
    put(bytes, &[&LOCAL]);
    append_shared(entry, name, extra.len(), bytes);
    put(bytes, &[name, &extra]);
    bytes.len() as u64
}

fn append_central_header(entry: &Entry, name: &[u8], bytes: &mut Vec<u8>) -> u64 {
    let wide = is_wide(entry);
    let far = entry.offset >= ONES;
    let extra =
        zip64_extra(&[wide.then_some(entry.size), wide.then_some(entry.compressed), far.then_some(entry.offset)]);
    put(bytes, &[&CENTRAL, &(HOST_UNIX | version_needed(entry)).to_le_bytes()]);
    append_shared(entry, name, extra.len(), bytes);
    // No comment, disk 0, no internal attributes.
    put(bytes, &[&[0; 6], &entry.external.to_le_bytes(), &narrow(entry.offset, far), name, &extra]);
    bytes.len() as u64
}

fn append_end_records(entries: &[Entry], directory: u64, size: u64, bytes: &mut Vec<u8>) {
    let count = entries.len() as u64;
    let wide = count >= 0xFFFF || size > ONES || directory > ONES;
    if wide {
        let version = entries.iter().map(version_needed).max().unwrap_or(10).to_le_bytes();
        put(bytes, &[&END64, &44u64.to_le_bytes(), &version, &version, &[0; 8]]);
        [count, count, size, directory].iter().for_each(|value| put(bytes, &[&value.to_le_bytes()]));
        let end64 = directory.saturating_add(size);
        put(bytes, &[&LOCATOR64, &[0; 4], &end64.to_le_bytes(), &1u32.to_le_bytes()]);
    }
    let count = u16::try_from(count).unwrap_or(u16::MAX).to_le_bytes();
    put(bytes, &[&END, &[0; 4], &count, &count, &narrow(size, wide), &narrow(directory, false), &[0; 2]]);
}
