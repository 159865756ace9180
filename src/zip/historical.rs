//! Owns the packing of the historical exports: what their ZIPs look like besides being sound.
//!
//! Refuses folders, another order, method, date, host or attributes, comments and extra fields. Source: the reference
//! study's export format, in all its versions.

use super::entry::{Entry, Method};
use crate::finding::{Code, Finding, Place};

/// 2026-09-22 00:00:00, the date of every entry.
const MODIFIED: u32 = (2026 - 1980) << 25 | 9 << 21 | 22 << 16;
const HOST_UNIX: u16 = 3;

/// The first entry that an exporter of that format would not have written.
pub(super) fn check(entries: &[Entry]) -> Option<Finding> {
    let mut before: Option<Vec<u8>> = None;
    for entry in entries {
        let name = entry.raw_name();
        let fault = if entry.is_folder {
            Some("is a folder; such an export has files only")
        } else if before.is_some_and(|before| before >= name) {
            Some("does not follow in the order of names")
        } else if entry.method != Method::Deflated {
            Some("is not deflated")
        } else if entry.modified != MODIFIED {
            Some("does not have the date 2026-09-22 00:00:00")
        } else if entry.made_by >> 8 != HOST_UNIX || entry.external & 0xF000_FFFF != 0x8000_0000 {
            // Which mode it has is the manifest's matter.
            Some("does not have the attributes of a regular Unix file")
        } else if entry.has_comment || entry.extra.1 > 0 {
            Some("has a comment or extra fields")
        } else {
            None
        };
        if let Some(fault) = fault {
            let shown = entry.shown_name();
            let message = format!("the entry \"{shown}\" {fault}");
            return Some(Finding::new(Code::ZipNotCanonical, Place::entry(&shown).at(entry.offset), message));
        }
        before = Some(name);
    }
    None
}
