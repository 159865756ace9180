//! Owns the shapes in which a private string can be left: as it is, and as common encodings write it.
//!
//! Refuses nothing. Invariant: every shape is of the string alone, whatever stands around it.

use std::collections::BTreeSet;

use aho_corasick::{AhoCorasick, BuildError};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Bytes that a string must have for shapes that anything short would often have by chance.
const MIN_ENCODED: usize = 6;

/// The longest string that is looked for. With its shapes it stays below the overlap of two windows.
pub(super) const MAX_PRIVATE: usize = 4096;

/// A search for private strings in all their shapes.
#[derive(Debug)]
pub(super) struct Private {
    search: AhoCorasick,
}

impl Private {
    pub(super) fn new(strings: &BTreeSet<Vec<u8>>) -> Result<Self, BuildError> {
        let shapes: BTreeSet<Vec<u8>> = strings.iter().flat_map(|string| shapes(string)).collect();
        AhoCorasick::new(shapes).map(|search| Self { search })
    }

    /// Where a shape first is.
    pub(super) fn find(&self, text: &[u8]) -> Option<usize> {
        self.search.find(text).map(|found| found.start())
    }
}

/// A string's shapes; of one longer than [`MAX_PRIVATE`] those of its start.
fn shapes(string: &[u8]) -> Vec<Vec<u8>> {
    let string = string.get(..MAX_PRIVATE).unwrap_or(string);
    let mut shapes = vec![string.to_vec()];
    if let Ok(text) = std::str::from_utf8(string) {
        shapes.extend(in_json(text));
        shapes.push(text.encode_utf16().flat_map(u16::to_le_bytes).collect());
        shapes.push(text.encode_utf16().flat_map(u16::to_be_bytes).collect());
    }
    for keep in [&b"-._~"[..], b"-._~/", b"-._~/:@"] {
        let escaped = percent(string, keep);
        shapes.push(escaped.to_ascii_lowercase());
        shapes.push(escaped);
    }
    if string.len() >= MIN_ENCODED {
        let hex: Vec<u8> = string.iter().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
        shapes.push(hex.to_ascii_uppercase());
        shapes.push(hex);
        shapes.extend((0..3).flat_map(|before| in_base64(string, before)));
    }
    shapes.retain(|shape| !shape.is_empty());
    shapes
}

/// As JSON may write it: slashes escaped, and what isn't ASCII by its code, or both.
fn in_json(text: &str) -> Vec<Vec<u8>> {
    let quoted = |slash: &str, ascii: bool| {
        let mut out = String::new();
        for c in text.chars() {
            match c {
                '/' => out.push_str(slash),
                '"' | '\\' => out.extend(['\\', c]),
                c if c.is_ascii() || !ascii => out.push(c),
                c => {
                    let mut units = [0; 2];
                    let codes = c.encode_utf16(&mut units).iter().map(|unit| format!("\\u{unit:04x}"));
                    out.extend(codes);
                }
            }
        }
        out.into_bytes()
    };
    let lower = [quoted("/", false), quoted("\\/", false), quoted("/", true), quoted("\\/", true)];
    // A path in a string in a string.
    let twice = quoted("\\\\/", false);
    lower.into_iter().chain([twice]).collect()
}

fn percent(bytes: &[u8], keep: &[u8]) -> Vec<u8> {
    let each = |byte: &u8| {
        if byte.is_ascii_alphanumeric() || keep.contains(byte) {
            vec![*byte]
        } else {
            format!("%{byte:02X}").into_bytes()
        }
    };
    bytes.iter().flat_map(each).collect()
}

/// The digits that only the string decides, where `before` bytes stand before it in its group of three.
fn in_base64(string: &[u8], before: usize) -> [Vec<u8>; 2] {
    let padded = [vec![0; before], string.to_vec()].concat();
    let (first, last) = ((before * 8).div_ceil(6), padded.len() * 8 / 6);
    [STANDARD_NO_PAD.encode(&padded), URL_SAFE_NO_PAD.encode(&padded)]
        .map(|text| text.get(first..last).unwrap_or_default().as_bytes().to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE};

    fn finds(string: &str, text: &[u8]) -> bool {
        Private::new(&BTreeSet::from([string.as_bytes().to_vec()])).unwrap().find(text).is_some()
    }

    #[test]
    fn a_private_string_is_found_in_each_shape() {
        let private = "/home/somebody?ü";
        for around in ["", "a", "ab", "abc", "abcd"] {
            let text = format!("{around}{private}{around}");
            assert!(finds(private, text.as_bytes()));
            assert!(finds(private, STANDARD.encode(&text).as_bytes()), "{around}");
            assert!(finds(private, URL_SAFE.encode(&text).as_bytes()), "{around}");
            let hex: Vec<u8> = text.bytes().flat_map(|byte| format!("{byte:02x}").into_bytes()).collect();
            assert!(finds(private, &hex) && finds(private, &hex.to_ascii_uppercase()));
            let units: Vec<u16> = text.encode_utf16().collect();
            assert!(finds(private, &units.iter().flat_map(|unit| unit.to_le_bytes()).collect::<Vec<_>>()));
            assert!(finds(private, &units.iter().flat_map(|unit| unit.to_be_bytes()).collect::<Vec<_>>()));
        }
        for text in [
            "\"\\/home\\/somebody?\\u00fc\"",
            "\"/home/somebody?\\u00fc\"",
            "\\\\/home\\\\/somebody?ü",
            "%2Fhome%2Fsomebody%3F%C3%BC",
            "%2fhome%2fsomebody%3f%c3%bc",
            "/home/somebody%3F%C3%BC",
        ] {
            assert!(finds(private, text.as_bytes()), "{text}");
        }
        for text in ["/home/somebod", "/home/somebody", "home", ""] {
            assert!(!finds(private, text.as_bytes()), "{text}");
        }
    }

    #[test]
    fn a_short_string_is_looked_for_as_it_is() {
        assert!(finds("ab", b"xaby"));
        assert!(!finds("ab", b"6162"));
        assert!(!finds("", b"anything"));
    }
}
