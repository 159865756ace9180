//! Owns the local records: each central record's twin, and together a tiling of everything before the directory.
//!
//! Refuses any fact that the two records tell differently, and any byte that belongs to no record or to two.
//! Invariant: where no finding is made, local records with their data and descriptors fill `[0, directory)` exactly.
//! APPNOTE 4.3.7 to 4.3.9.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use super::attributes;
use super::central::{FLAG_DESCRIPTOR, Records};
use super::entry::Entry;
use super::extra::{Extras, Fault};
use super::record::{self, DESCRIPTOR, Fields, LOCAL, LOCAL_LEN, Shared};
use super::source::Source;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::name;

/// Walks the local records in the order in which they lie and gives each good entry the place of its data. Bytes
/// between them are a finding only where every record is known and in its place: else they are what that one misses.
pub(super) fn check(
    source: &Source,
    records: &mut Records,
    directory: u64,
    findings: &mut Findings,
) -> Result<(), Error> {
    let entries = &mut records.entries;
    let mut tiled = records.whole && entries.iter().all(|entry| entry.resolved);
    let mut gaps = Vec::new();
    let mut order: Vec<usize> = (0..entries.len()).collect();
    order.sort_by_key(|index| entries.get(*index).map(|entry| entry.offset));
    // Up to where bytes surely belong to the records before, and whether those are known to end there.
    let (mut reached, mut exact) = (0, true);
    for index in order {
        let Some(entry) = entries.get_mut(index).filter(|entry| entry.resolved) else { continue };
        if entry.offset < reached {
            let fault = (Code::ZipOverlap, "starts inside the record before it".to_owned());
            findings.push(told(entry, fault).values(entry.offset, reached));
            tiled = false;
            continue;
        }
        if exact {
            gaps.extend(gap(source, reached, entry.offset)?);
        }
        let mut faults = Vec::new();
        match Local::read(source, entry, directory)? {
            Ok(local) => {
                let end = check_record(source, entry, &local, directory, &mut |fault| faults.push(fault))?;
                (reached, exact) = (end.unwrap_or(local.data), end.is_some());
            }
            Err(fault) => {
                faults.push(fault);
                tiled = false;
            }
        }
        findings.extend(faults.into_iter().map(|fault| told(entry, fault)));
    }
    if exact {
        gaps.extend(gap(source, reached, directory)?);
    }
    if tiled {
        findings.extend(gaps);
    }
    Ok(())
}

fn told(entry: &Entry, (code, what): Fault) -> Finding {
    let shown = entry.shown_name();
    let message = format!("the entry \"{shown}\" {what}");
    Finding::new(code, Place::entry(shown).at(entry.offset), message)
}

/// Bytes between two records belong to nobody.
fn gap(source: &Source, from: u64, to: u64) -> Result<Option<Finding>, Error> {
    if from >= to {
        return Ok(None);
    }
    let mut head = [0; 4];
    if to.saturating_sub(from) >= 4 {
        source.read_at(from, &mut head)?;
    }
    let count = to.saturating_sub(from);
    let (code, message) = if head == LOCAL {
        (Code::ZipHiddenEntry, format!("a local record that no central record names hides in {count} bytes"))
    } else if from == 0 {
        (Code::ZipPrefix, format!("{count} bytes stand before the first local record"))
    } else {
        (Code::ZipGap, format!("{count} bytes belong to no record"))
    };
    Ok(Some(Finding::new(code, Place::offset(from), message).values(from, to)))
}

/// A local record's header.
struct Local {
    fixed: Shared,
    /// Name and extra fields.
    variable: Vec<u8>,
    /// Where the data starts.
    data: u64,
}

impl Local {
    fn read(source: &Source, entry: &Entry, directory: u64) -> Result<Result<Self, Fault>, Error> {
        let missing = || Ok(Err((Code::ZipLocalMissing, "has no local record where it should be".to_owned())));
        let Some(body) = entry.offset.checked_add(LOCAL_LEN as u64).filter(|body| *body <= directory) else {
            return missing();
        };
        let mut fixed = [0; LOCAL_LEN];
        source.read_at(entry.offset, &mut fixed)?;
        let Some(fixed) = record::local(&fixed) else { return missing() };
        let length = usize::from(fixed.name_len).saturating_add(fixed.extra_len.into());
        let data = body.saturating_add(length as u64);
        if data > directory {
            return Ok(Err((
                Code::ZipOverlap,
                "has a local record that reaches into the central directory".to_owned(),
            )));
        }
        // At most twice 65,535: the lengths are 16 bits wide.
        let mut variable = vec![0; length];
        source.read_at(body, &mut variable)?;
        Ok(Ok(Self { fixed, variable, data }))
    }

    fn name(&self) -> &[u8] {
        self.variable.get(..self.fixed.name_len.into()).unwrap_or_default()
    }

    fn extra(&self) -> &[u8] {
        self.variable.get(self.fixed.name_len.into()..).unwrap_or_default()
    }
}

/// Compares one pair of records; returns where the local one ends, where that can be told.
fn check_record(
    source: &Source,
    entry: &mut Entry,
    local: &Local,
    directory: u64,
    add: &mut dyn FnMut(Fault),
) -> Result<Option<u64>, Error> {
    let raw_name = entry.raw_name();
    if local.name() != raw_name {
        let shown = name::escape(local.name());
        add((Code::ZipNameDiffers, format!("has the name \"{shown}\" in its local record")));
    }
    compare_fields(entry, &local.fixed, add);
    let wide = match Extras::parse(local.extra()) {
        Ok(extras) => {
            check_extras(entry, &extras, &raw_name).into_iter().for_each(&mut *add);
            check_twins(source, entry, local, &extras)?.into_iter().for_each(&mut *add);
            let sizes = [local.fixed.plain, local.fixed.compressed];
            match extras.zip64(sizes) {
                // A local ZIP64 field has both sizes (APPNOTE 4.5.3), so neither field may be spelt out.
                Ok(_) if extras.has_zip64() && sizes != [u32::MAX; 2] => {
                    add((Code::Zip64Extra, "has a local ZIP64 extra field with one size only".to_owned()));
                }
                Ok([plain, compressed]) => check_sizes(entry, &local.fixed, plain, compressed, add),
                Err((code, what)) => add((code, format!("{what} in its local record"))),
            }
            extras.has_zip64()
        }
        Err((code, what)) => {
            add((code, format!("{what} in its local record")));
            false
        }
    };
    let Some(data_end) = local.data.checked_add(entry.compressed).filter(|end| *end <= directory) else {
        add((Code::ZipOverlap, "has data that reaches into the central directory".to_owned()));
        return Ok(None);
    };
    entry.data = Some(local.data);
    if entry.flags & FLAG_DESCRIPTOR == 0 {
        // Without the flag in one header and with it in the other, nobody can tell whether a descriptor follows.
        return Ok((local.fixed.flags & FLAG_DESCRIPTOR == 0).then_some(data_end));
    }
    check_descriptor(source, entry, data_end, directory, wide, add)
}

fn compare_fields(entry: &Entry, local: &Shared, add: &mut dyn FnMut(Fault)) {
    if local.method != entry.method.number() {
        let what = format!("has method {} in its local record, {} centrally", local.method, entry.method.number());
        add((Code::ZipMethodDiffers, what));
    }
    if local.flags != entry.flags {
        let what = format!("has flags {:#06x} in its local record, {:#06x} centrally", local.flags, entry.flags);
        add((Code::ZipFlagsDiffer, what));
    }
    if local.modified != entry.modified {
        add((Code::ZipTimeDiffers, "has another time in its local record".to_owned()));
    }
    if local.version_needed != entry.version_needed {
        let what =
            format!("needs version {} by its local record, {} centrally", local.version_needed, entry.version_needed);
        add((Code::ZipVersionDiffers, what));
    }
}

fn check_extras(entry: &Entry, local: &Extras<'_>, raw_name: &[u8]) -> Vec<Fault> {
    let in_local = |(code, what)| (code, format!("{what} in its local record"));
    let faults = [
        local.check_unicode(raw_name, b"").err().map(in_local),
        local.check_libarchive(entry.made_by, entry.internal, entry.external).err(),
    ];
    let of_nature = attributes::check_extras(entry, local).into_iter().map(in_local);
    faults.into_iter().flatten().chain(of_nature).collect()
}

/// Holds the local extra fields against the central ones, which are read again only where they can differ.
fn check_twins(source: &Source, entry: &Entry, local: &Local, extras: &Extras<'_>) -> Result<Option<Fault>, Error> {
    let (at, length) = entry.extra;
    if length == 0 || local.extra().is_empty() {
        return Ok(None);
    }
    // At most 65,535.
    let mut central = vec![0; length.into()];
    source.read_at(at, &mut central)?;
    if central == local.extra() {
        return Ok(None);
    }
    Ok(extras.check_twins(&Extras::parse(&central).unwrap_or_default()).err())
}

/// Sizes and CRC are the central ones; where a descriptor follows they may all be zero instead, or all but the plain
/// size.
fn check_sizes(entry: &Entry, local: &Shared, plain: u64, compressed: u64, add: &mut dyn FnMut(Fault)) {
    // Where the two headers disagree on the flag, that is the finding; zeros are then what the other one expects.
    let follows = (entry.flags | local.flags) & FLAG_DESCRIPTOR != 0;
    let same = (plain, compressed) == (entry.size, entry.compressed);
    // Info-ZIP, libarchive and git stream files whose plain size alone they know. Whoever takes the compressed size of
    // zero at its word gets an empty content, and only a CRC that isn't zero tells him that it is the wrong one.
    let half_open = local.crc == 0 && entry.crc != 0 && (plain, compressed) == (entry.size, 0);
    let left_open = follows && ((plain, compressed) == (0, 0) || half_open);
    if !same && !left_open {
        let what = format!(
            "has sizes {compressed} and {plain} in its local record, {} and {} centrally",
            entry.compressed, entry.size
        );
        add((Code::ZipSizeDiffers, what));
    }
    if local.crc != entry.crc && !(follows && local.crc == 0) {
        let what = format!("has CRC {:08x} in its local record, {:08x} centrally", local.crc, entry.crc);
        add((Code::ZipCrcDiffers, what));
    }
}

/// The descriptor repeats CRC and sizes; returns where it ends, where that can be told.
fn check_descriptor(
    source: &Source,
    entry: &Entry,
    at: u64,
    directory: u64,
    wide: bool,
    add: &mut dyn FnMut(Fault),
) -> Result<Option<u64>, Error> {
    let length: u64 = if wide { 24 } else { 16 };
    let Some(end) = at.checked_add(length).filter(|end| *end <= directory) else {
        add((Code::ZipDescriptor, "has no room for its data descriptor".to_owned()));
        return Ok(None);
    };
    let mut bytes = vec![0; if wide { 24 } else { 16 }];
    source.read_at(at, &mut bytes)?;
    let mut fields = Fields(&bytes);
    if fields.bytes(4) != Some(&DESCRIPTOR) {
        // APPNOTE 4.3.9.3 allows it, but then nothing tells a descriptor from data to a reader that streams.
        add((Code::ZipDescriptor, "has a data descriptor without its signature".to_owned()));
        return Ok(None);
    }
    if fields.u32() != Some(entry.crc) {
        add((Code::ZipCrcDiffers, "has another CRC in its data descriptor".to_owned()));
    }
    let mut size = || if wide { fields.u64() } else { fields.u32().map(u64::from) };
    let sizes = (size(), size());
    if sizes != (Some(entry.compressed), Some(entry.size)) {
        add((Code::ZipSizeDiffers, "has other sizes in its data descriptor".to_owned()));
    }
    Ok(Some(end))
}
