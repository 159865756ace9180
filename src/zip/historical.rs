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
    let mut order = Order::default();
    for entry in entries {
        let name = entry.raw_name();
        let fault = if entry.is_folder {
            Some("is a folder; such an export has files only")
        } else if !order.follows(name) {
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
    }
    None
}

/// The order of paths: that of their bytes, or part by part, as Python sorts its path objects. They differ where a part goes
/// on with a character before the slash, as `case-01.log` beside `case-01/`; one of the two has to hold throughout.
#[derive(Default)]
struct Order {
    before: Option<Vec<u8>>,
    not_by_bytes: bool,
    not_by_parts: bool,
}

impl Order {
    /// Whether an order still holds with this name.
    fn follows(&mut self, name: Vec<u8>) -> bool {
        if let Some(before) = &self.before {
            self.not_by_bytes |= *before >= name;
            self.not_by_parts |= !parts(before).lt(parts(&name));
        }
        self.before = Some(name);
        !(self.not_by_bytes && self.not_by_parts)
    }
}

fn parts(name: &[u8]) -> impl Iterator<Item = &[u8]> {
    name.split(|byte| *byte == b'/')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_order_of_paths_holds_throughout() {
        let follow = |names: &[&str]| {
            let mut order = Order::default();
            names.iter().all(|name| order.follows(name.as_bytes().to_vec()))
        };
        for sound in [
            &["r/a-b", "r/a.log", "r/a/x", "r/b", "r/b-", "r/b/c"][..],
            &["r/a/x", "r/a-b", "r/a.log", "r/b", "r/b/c", "r/b-"],
            &["r/B", "r/a", "r/a0"],
        ] {
            assert!(follow(sound), "{sound:?}");
        }
        for bad in [
            &["r/b", "r/a"][..],
            &["r/a", "r/a"],
            &["r/a/x", "r/a-b", "r/a"],
            // The one order first, then the other.
            &["r/a-b", "r/a/x", "r/b/x", "r/b-b"],
            &["r/a/x", "r/a-b", "r/b-b", "r/b/x"],
        ] {
            assert!(!follow(bad), "{bad:?}");
        }
    }
}
