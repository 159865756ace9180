//! Owns the private strings that redactions found, and the forms in which they could be left somewhere.
//!
//! Refuses to show them. Invariant: a private string leaves this room only as a pattern to search for.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

/// Private strings, each with the position of the first redaction that found it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PrivateStrings(BTreeMap<Box<[u8]>, usize>);

impl PrivateStrings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one that the redaction at a position found.
    pub(super) fn insert(&mut self, string: &[u8], redaction: usize) {
        let first = self.0.entry(string.into()).or_insert(redaction);
        *first = redaction.min(*first);
    }

    pub(super) fn merge(&mut self, other: &Self) {
        other.0.iter().for_each(|(string, redaction)| self.insert(string, *redaction));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.0.iter().map(|(string, redaction)| (string.as_ref(), *redaction))
    }
}

impl fmt::Debug for PrivateStrings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateStrings({} not shown)", self.0.len())
    }
}

/// Bytes of a private string from which its hex and base64 are searched for: shorter ones stand in digests by chance.
const MIN_CODED: usize = 5;

/// Every form in which a private string could be left, each with its name.
pub(super) fn forms(string: &[u8]) -> Vec<(Vec<u8>, &'static str)> {
    let mut seen = BTreeSet::new();
    let mut all = vec![(string.to_vec(), "as it is")];
    all.extend(percent(string).into_iter().map(|form| (form, "percent-encoded")));
    if let Ok(text) = std::str::from_utf8(string) {
        all.extend(json(text).into_iter().map(|form| (form, "escaped as in JSON")));
        all.push((html(text).into_bytes(), "escaped as in HTML"));
        all.push((text.encode_utf16().flat_map(u16::to_le_bytes).collect(), "in UTF-16"));
        all.push((text.encode_utf16().flat_map(u16::to_be_bytes).collect(), "in UTF-16"));
    }
    if string.len() >= MIN_CODED {
        let hex = joined(string.iter().map(|byte| format!("{byte:02x}")));
        all.push((hex.to_uppercase().into_bytes(), "in hex"));
        all.push((hex.into_bytes(), "in hex"));
        all.extend((0..3).flat_map(|before| base64(string, before)).map(|form| (form, "in base64")));
    }
    all.retain(|(form, _)| !form.is_empty() && seen.insert(form.clone()));
    all
}

/// With the delimiters of URLs kept, with those of one part encoded, and with every byte encoded.
fn percent(string: &[u8]) -> Vec<Vec<u8>> {
    let kept: [&[u8]; 4] = [b"-_.~/:@!$&'()*+,;=?#[]", b"-_.~/", b"-_.~!'()*", b"-_.~"];
    let encode = |byte: u8, keep: bool, upper: bool| match (keep, upper) {
        (true, _) => vec![byte],
        (false, true) => format!("%{byte:02X}").into_bytes(),
        (false, false) => format!("%{byte:02x}").into_bytes(),
    };
    let mut forms = Vec::new();
    for upper in [true, false] {
        for kept in kept {
            let plain = |byte: u8| byte.is_ascii_alphanumeric() || kept.contains(&byte);
            forms.push(string.iter().flat_map(|byte| encode(*byte, plain(*byte), upper)).collect());
        }
        forms.push(string.iter().flat_map(|byte| encode(*byte, false, upper)).collect());
    }
    forms
}

/// As JSON writers write it, once and twice, and with every character as an escape.
fn json(text: &str) -> Vec<Vec<u8>> {
    let mut forms = Vec::new();
    for slash in [false, true] {
        for ascii in [Escapes::Needed, Escapes::Ascii, Escapes::AsciiUpper, Escapes::Html] {
            let once = escaped(text, slash, ascii);
            forms.push(escaped(&once, slash, Escapes::Needed).into_bytes());
            forms.push(once.into_bytes());
        }
    }
    let units = || text.encode_utf16();
    forms.push(joined(units().map(|unit| unit_escape(unit, false))).into_bytes());
    forms.push(joined(units().map(|unit| unit_escape(unit, true))).into_bytes());
    forms
}

/// What a JSON writer escapes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Escapes {
    /// What the grammar asks for.
    Needed,
    /// All that isn't ASCII too.
    Ascii,
    /// The same with upper-case digits.
    AsciiUpper,
    /// What HTML would take for its own.
    Html,
}

fn escaped(text: &str, slash: bool, escapes: Escapes) -> String {
    let mut out = String::new();
    for c in text.chars() {
        let coded = match escapes {
            Escapes::Needed => false,
            Escapes::Ascii | Escapes::AsciiUpper => !c.is_ascii(),
            Escapes::Html => matches!(c, '<' | '>' | '&'),
        };
        match c {
            '"' | '\\' => out.extend(['\\', c]),
            '/' if slash => out.push_str("\\/"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            _ if coded || c.is_ascii_control() => {
                let mut units = [0; 2];
                for unit in c.encode_utf16(&mut units) {
                    out.push_str(&unit_escape(*unit, escapes == Escapes::AsciiUpper));
                }
            }
            _ => out.push(c),
        }
    }
    out
}

fn unit_escape(unit: u16, upper: bool) -> String {
    if upper { format!("\\u{unit:04X}") } else { format!("\\u{unit:04x}") }
}

fn joined(parts: impl Iterator<Item = String>) -> String {
    parts.collect()
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;").replace('\'', "&#39;")
}

/// The characters that are the same whatever stands before and after, with so many bytes before it in its group of three.
fn base64(string: &[u8], before: usize) -> [Vec<u8>; 2] {
    let padded: Vec<u8> = std::iter::repeat_n(0, before).chain(string.iter().copied()).collect();
    // A character holds six bits: the first whole one, and the end of the last whole one.
    let first = (before * 8).div_ceil(6);
    let last = padded.len() * 8 / 6;
    let inner = |text: String| text.into_bytes().get(first..last).unwrap_or_default().to_vec();
    [inner(STANDARD_NO_PAD.encode(&padded)), inner(URL_SAFE_NO_PAD.encode(&padded))]
}
