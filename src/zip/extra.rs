//! Owns extra fields: their framing, ZIP64 sizes, Unicode names, and which facts they repeat.
//!
//! Refuses fields that don't fill their space, an id twice, ZIP64 values without a field of all ones, and Unicode
//! names that say another name than the header. Invariant: a size taken from here was asked for by its field.
//! APPNOTE 4.5; the Info-ZIP fields: proginfo/extrafld.txt of zip 3.0.
#![deny(clippy::indexing_slicing, clippy::arithmetic_side_effects, clippy::cast_possible_truncation)]

use super::record::Fields;
use crate::finding::Code;

const ZIP64: u16 = 0x0001;
const UNICODE_PATH: u16 = 0x7075;
const UNICODE_COMMENT: u16 = 0x6375;
/// Info-ZIP's times: flags, then modification, access and creation time; the central copy has the first only.
const TIMES: u16 = 0x5455;
/// Older Info-ZIP fields whose central copy is the beginning of the local one by design.
const SHORTER_IN_CENTRAL: [u16; 2] = [0x5855, 0x7855];
/// Fields whose copies are each held against their own record.
const HELD_ELSEWHERE: [u16; 3] = [ZIP64, UNICODE_PATH, UNICODE_COMMENT];
/// libarchive's copy of central fields in a local header ("experimental zip extra").
const LIBARCHIVE: u16 = 0x6C78;

/// A rule that an extra field breaks, with what is wrong.
pub(super) type Fault = (Code, String);

fn fault<T>(code: Code, what: impl Into<String>) -> Result<T, Fault> {
    Err((code, what.into()))
}

/// The modification time of a field of times. Flag bit 0 says that it is there; each copy has flags for all three times.
fn modified(data: &[u8]) -> Option<&[u8]> {
    data.first().filter(|flags| **flags & 1 != 0)?;
    data.get(1..5)
}

/// The fields of one header, sorted by their ids. There can be 16,383, so looking one up is not a walk over all.
#[derive(Debug, Clone, Default)]
pub(super) struct Extras<'a>(Vec<(u16, &'a [u8])>);

impl<'a> Extras<'a> {
    /// Splits an extra area into its fields.
    pub(super) fn parse(area: &'a [u8]) -> Result<Self, Fault> {
        let mut fields = Fields(area);
        let mut list = Vec::new();
        while !fields.0.is_empty() {
            let at = area.len().saturating_sub(fields.0.len());
            let field = fields.u16().zip(fields.u16()).and_then(|(id, len)| Some((id, fields.bytes(len.into())?)));
            let Some((id, data)) = field else {
                return fault(
                    Code::ZipExtraMalformed,
                    format!("has an extra field that overruns its space at byte {at}"),
                );
            };
            list.push((id, data));
        }
        list.sort_unstable_by_key(|(id, _)| *id);
        if let Some((id, _)) =
            list.iter().zip(list.iter().skip(1)).find(|(one, next)| one.0 == next.0).map(|(one, _)| one)
        {
            return fault(Code::ZipExtraRepeated, format!("has the extra field {id:#06x} twice"));
        }
        Ok(Self(list))
    }

    /// The data of a field.
    pub(super) fn get(&self, id: u16) -> Option<&'a [u8]> {
        let at = self.0.binary_search_by_key(&id, |(id, _)| *id).ok()?;
        self.0.get(at).map(|(_, data)| *data)
    }

    /// Whether there is a ZIP64 field, which makes a data descriptor's sizes 8 bytes wide.
    pub(super) fn has_zip64(&self) -> bool {
        self.get(ZIP64).is_some()
    }

    /// Takes the wide value of each field that is all ones, in the order given. The field must hold just those.
    pub(super) fn zip64<const N: usize>(&self, values: [u32; N]) -> Result<[u64; N], Fault> {
        let wanted = values.iter().filter(|value| **value == u32::MAX).count();
        let mut wide = values.map(u64::from);
        let Some(data) = self.get(ZIP64) else {
            return match wanted {
                0 => Ok(wide),
                _ => fault(Code::Zip64Extra, "has a field of all ones but no ZIP64 extra field"),
            };
        };
        if wanted.checked_mul(8) != Some(data.len()) {
            let what = format!("has a ZIP64 extra field of {} bytes for {wanted} fields of all ones", data.len());
            return fault(Code::Zip64Extra, what);
        }
        let mut fields = Fields(data);
        for value in wide.iter_mut().filter(|value| **value == u64::from(u32::MAX)) {
            *value = fields.u64().unwrap_or(*value);
        }
        Ok(wide)
    }

    /// Holds the Unicode name and comment against the header's own.
    pub(super) fn check_unicode(&self, name: &[u8], comment: &[u8]) -> Result<(), Fault> {
        for (id, own, what) in [(UNICODE_PATH, name, "name"), (UNICODE_COMMENT, comment, "comment")] {
            let Some(data) = self.get(id) else { continue };
            let mut fields = Fields(data);
            let version = fields.bytes(1).and_then(|bytes| bytes.first().copied());
            let crc = fields.u32();
            if version != Some(1) || crc.is_none() {
                return fault(Code::ZipUnicodePath, format!("has a Unicode {what} field that is not version 1"));
            }
            if crc != Some(crc32fast::hash(own)) {
                return fault(Code::ZipUnicodePath, format!("has a Unicode {what} field made for another {what}"));
            }
            if fields.0 != own {
                let shown = crate::name::escape(fields.0);
                return fault(Code::ZipUnicodePath, format!("has a Unicode {what} field that says \"{shown}\""));
            }
        }
        Ok(())
    }

    /// Holds the fields of a local header against those of its central header: where both have one, they say the same.
    pub(super) fn check_twins(&self, central: &Self) -> Result<(), Fault> {
        for (id, here) in &self.0 {
            let Some(there) = central.get(*id).filter(|_| !HELD_ELSEWHERE.contains(id)) else { continue };
            let same = match *id {
                TIMES if modified(here) != modified(there) => {
                    return fault(Code::ZipTimeDiffers, "has another Unix time in its local header");
                }
                TIMES => true,
                id if SHORTER_IN_CENTRAL.contains(&id) => here.starts_with(there),
                _ => *here == there,
            };
            if !same {
                let what = format!("has another extra field {id:#06x} in its local header");
                return fault(Code::ZipExtraDiffers, what);
            }
        }
        Ok(())
    }

    /// Holds libarchive's local copy of central fields against the central header.
    pub(super) fn check_libarchive(&self, made_by: u16, internal: u16, external: u32) -> Result<(), Fault> {
        let Some(data) = self.get(LIBARCHIVE) else { return Ok(()) };
        let mut fields = Fields(data);
        let bits = fields.bytes(1).and_then(|bytes| bytes.first().copied()).unwrap_or(0xFF);
        let same_made_by = bits & 1 == 0 || fields.u16() == Some(made_by);
        let same_internal = bits & 2 == 0 || fields.u16() == Some(internal);
        let same_external = bits & 4 == 0 || fields.u32() == Some(external);
        // Bit 3 would add a comment, bit 7 more bits: nobody writes them, and each could change what the entry is.
        if bits & 0xF8 == 0 && same_made_by && same_internal && same_external && fields.0.is_empty() {
            return Ok(());
        }
        fault(Code::ZipExtraDiffers, "has attributes in its local header (extra field 0x6c78) unlike its central ones")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(id: u16, data: &[u8]) -> Vec<u8> {
        [&id.to_le_bytes()[..], &u16::try_from(data.len()).unwrap().to_le_bytes(), data].concat()
    }

    #[test]
    fn zip64_values_are_taken_only_where_asked_for() {
        let both = field(1, &[7, 0, 0, 0, 0, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0]);
        let extras = Extras::parse(&both).unwrap();
        assert_eq!(extras.zip64([u32::MAX, u32::MAX]), Ok([7, 8]));
        for values in [[1, u32::MAX], [1, 2]] {
            assert_eq!(extras.zip64(values).unwrap_err().0, Code::Zip64Extra);
        }
        assert_eq!(Extras::default().zip64([u32::MAX]).unwrap_err().0, Code::Zip64Extra);
        assert_eq!(Extras::default().zip64([5]), Ok([5]));
        // A wide value of all ones is a value, not a wish for another.
        let ones = field(1, &[0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(Extras::parse(&ones).unwrap().zip64([u32::MAX, u32::MAX]), Ok([u64::from(u32::MAX), 9]));
    }

    #[test]
    fn fields_fill_their_space_once_each() {
        assert_eq!(Extras::parse(&[1, 0, 0]).unwrap_err().0, Code::ZipExtraMalformed);
        assert_eq!(Extras::parse(&[1, 0, 1, 0]).unwrap_err().0, Code::ZipExtraMalformed);
        let twice = [field(9, b"a"), field(9, b"a")].concat();
        assert_eq!(Extras::parse(&twice).unwrap_err().0, Code::ZipExtraRepeated);
    }
}
