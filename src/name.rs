//! Owns names: the one way a foreign string becomes a file's name, its collision key, and how a name is shown.
//!
//! Refuses every name that two common systems would not create alike: absolute or climbing paths, backslashes,
//! characters that Windows forbids or that show as something else, reserved device names, names not in NFC. Invariant:
//! an [`EntryName`] is portable, whatever it was read from; deserializing goes through the same check.
//!
//! Rules: "Naming Files, Paths, and Namespaces" (<https://learn.microsoft.com/windows/win32/fileio/naming-a-file>),
//! APPNOTE 4.4.17, Unicode 3.13 (canonical caseless matching) and UAX 15.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use unicode_general_category::{GeneralCategory, get_general_category};
use unicode_normalization::{UnicodeNormalization as _, is_nfc};

use crate::finding::{Code, Severity};
use crate::limits::Limits;

/// A portable relative name of a file or folder, parts joined by `/`, without a trailing slash.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryName(Box<str>);

/// Why a string is not a portable name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct NameFault {
    /// The rule that it breaks.
    pub code: Code,
    /// What is wrong, as the end of a sentence that starts with the name.
    pub reason: String,
}

fn fault(code: Code, reason: impl Into<String>) -> NameFault {
    NameFault { code, reason: reason.into() }
}

impl EntryName {
    /// Checks a string. The bounds on lengths come from [`Limits::default`].
    ///
    /// # Errors
    /// The first rule that the string breaks.
    pub fn new(text: &str) -> Result<Self, NameFault> {
        let limits = Limits::default();
        if text.is_empty() {
            return Err(fault(Code::NameUnsafe, "is empty"));
        }
        if text.len() > limits.max_name {
            return Err(fault(Code::NameUnportable, format!("is longer than {} bytes", limits.max_name)));
        }
        check_characters(text)?;
        text.split('/').try_for_each(|part| check_part(part, limits.max_component))?;
        if !is_nfc(text) {
            return Err(fault(Code::NameNotNfc, "is not in normalization form C"));
        }
        Ok(Self(text.into()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The names of the folders above, the nearest first: `a/b`, `a` for `a/b/c`.
    pub fn parents(&self) -> impl Iterator<Item = &str> {
        let mut rest = self.as_str();
        std::iter::from_fn(move || {
            rest = rest.rsplit_once('/')?.0;
            Some(rest)
        })
    }

    /// The name below a folder, if it lies in it.
    pub fn below(&self, folder: &str) -> Option<&str> {
        self.as_str().strip_prefix(folder)?.strip_prefix('/')
    }
}

/// Characters that no part may have, wherever they stand.
fn check_characters(text: &str) -> Result<(), NameFault> {
    for c in text.chars() {
        match c {
            '\0' => return Err(fault(Code::NameUnsafe, "has a NUL, where some readers cut it off")),
            '\\' => return Err(fault(Code::NameUnsafe, "has a backslash, a separator for some readers")),
            ':' => return Err(fault(Code::NameUnsafe, "has a colon, which names a drive or a stream on Windows")),
            '<' | '>' | '"' | '|' | '?' | '*' => {
                return Err(fault(Code::NameUnportable, format!("has {c:?}, which Windows forbids")));
            }
            ' '..='~' => {}
            _ if is_invisible(c) => {
                let reason = format!("has U+{:04X}, which does not show or shows as something else", u32::from(c));
                return Err(fault(Code::NameControl, reason));
            }
            _ => {}
        }
    }
    Ok(())
}

fn check_part(part: &str, max: usize) -> Result<(), NameFault> {
    match part {
        "" => return Err(fault(Code::NameUnsafe, "starts or ends with a slash or has two in a row")),
        "." | ".." => return Err(fault(Code::NameUnsafe, format!("has a part {part:?}"))),
        _ => {}
    }
    if part.len() > max {
        return Err(fault(Code::NameUnportable, format!("has a part longer than {max} bytes")));
    }
    if part.ends_with(['.', ' ']) {
        return Err(fault(Code::NameUnportable, "has a part that ends in a dot or a space, which Windows drops"));
    }
    if is_reserved(part) {
        return Err(fault(Code::NameUnportable, format!("has the part {part:?}, a device on Windows")));
    }
    Ok(())
}

/// Windows opens a device for these, in any case and with any extension. Superscript digits count as digits.
fn is_reserved(part: &str) -> bool {
    let stem = part.split('.').next().unwrap_or_default().trim_end_matches(' ').to_ascii_uppercase();
    match stem.as_str() {
        "CON" | "PRN" | "AUX" | "NUL" | "CONIN$" | "CONOUT$" => true,
        _ => stem.strip_prefix("COM").or_else(|| stem.strip_prefix("LPT")).is_some_and(|digit| {
            let mut chars = digit.chars();
            matches!((chars.next(), chars.next()), (Some('0'..='9' | '\u{b9}' | '\u{b2}' | '\u{b3}'), None))
        }),
    }
}

/// Unicode classes C (control, format, surrogate, private use, unassigned), Zl and Zp.
fn is_invisible(c: char) -> bool {
    use GeneralCategory as G;
    matches!(
        get_general_category(c),
        G::Control
            | G::Format
            | G::Surrogate
            | G::PrivateUse
            | G::Unassigned
            | G::LineSeparator
            | G::ParagraphSeparator
    )
}

/// What two names share when a file system without case or without normalization takes them for one:
/// NFC of the full case fold of the NFD (Unicode 3.13, D145).
pub fn collision_key(name: &str) -> String {
    if name.is_ascii() {
        return name.to_ascii_lowercase();
    }
    caseless::default_case_fold_str(&name.nfd().collect::<String>()).nfc().collect()
}

/// What two names share when they look alike: the collision key of the NFKC.
pub fn lookalike_key(name: &str) -> String {
    if name.is_ascii() { collision_key(name) } else { collision_key(&name.nfkc().collect::<String>()) }
}

/// Two names that can't both exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clash {
    /// Position of the later name in the list given.
    pub index: usize,
    /// The rule broken.
    pub code: Code,
    /// The earlier name, of a file or of a folder above one.
    pub other: String,
}

impl Clash {
    /// One sentence about the name that clashes.
    pub fn message(&self, name: &EntryName) -> String {
        match self.code.rule().severity {
            Severity::Error => format!("\"{name}\" can't stand beside \"{}\"", self.other),
            Severity::Warning => format!("\"{name}\" looks like \"{}\"", self.other),
        }
    }
}

/// Finds names that can't stand side by side: the same name twice, names equal after folding (folders above
/// count), a name that is file and folder. `names` gives each with whether it is a folder. One clash a name at most.
pub fn clashes<'a>(names: impl Iterator<Item = (&'a EntryName, bool)>) -> Vec<Clash> {
    // A tree by parts: whole names of folders as keys would grow with the square of a name's depth.
    let mut seen: BTreeMap<(usize, String), (usize, Seen<'a>)> = BTreeMap::new();
    let names: Vec<_> = names.collect();
    // Only a name beyond ASCII can look like another, so the keys of these are all that is kept.
    let mut looks: BTreeMap<String, Option<&'a str>> = BTreeMap::new();
    looks.extend(names.iter().filter(|(name, _)| !name.0.is_ascii()).map(|(name, _)| (lookalike_key(&name.0), None)));
    let mut found = Vec::new();
    for (index, (name, is_folder)) in names.into_iter().enumerate() {
        let whole = name.as_str();
        let (mut above, mut start, mut clash) = (0, 0, None);
        while start <= whole.len() {
            let end = whole[start..].find('/').map_or(whole.len(), |slash| start + slash);
            let listed = end == whole.len();
            let now = Seen { text: &whole[..end], folder: is_folder || !listed, listed };
            let next = seen.len() + 1;
            let (node, before) = seen.entry((above, collision_key(&whole[start..end]))).or_insert((next, now));
            if *node != next {
                // The clash of the nearest is told, not those of the folders above it.
                clash = before.against(now).or(clash);
            }
            (above, start) = (*node, end + 1);
        }
        if clash.is_none() && !looks.is_empty() {
            let before = looks.get_mut(&lookalike_key(whole)).map(|first| *first.get_or_insert(whole));
            clash = before.filter(|before| *before != whole).map(|before| (Code::NameLookalike, before));
        }
        found.extend(clash.map(|(code, other)| Clash { index, code, other: other.to_owned() }));
    }
    found
}

#[derive(Clone, Copy)]
struct Seen<'a> {
    text: &'a str,
    folder: bool,
    /// Named itself, not only as the folder above another name.
    listed: bool,
}

impl<'a> Seen<'a> {
    fn against(&mut self, now: Seen<'a>) -> Option<(Code, &'a str)> {
        if self.text != now.text {
            return Some((Code::NameCollision, self.text));
        }
        if self.folder != now.folder {
            return Some((Code::NameFileAndFolder, self.text));
        }
        let twice = self.listed && now.listed;
        self.listed |= now.listed;
        twice.then_some((Code::NameDuplicate, self.text))
    }
}

/// Whether a text shows as what it is.
pub fn is_plain(text: &str) -> bool {
    !text.chars().any(is_invisible)
}

/// Shows a foreign name on a terminal or in a sentence: characters that don't show are written as `\u{…}`, bytes
/// that are not UTF-8 as `\x…`. The result never has a control character.
pub fn escape(bytes: &[u8]) -> String {
    let mut shown = String::with_capacity(bytes.len());
    for chunk in bytes.utf8_chunks() {
        for c in chunk.valid().chars() {
            if c == '\\' {
                shown.push_str("\\\\");
            } else if is_invisible(c) {
                shown.extend(c.escape_unicode());
            } else {
                shown.push(c);
            }
        }
        shown.extend(chunk.invalid().iter().map(|byte| format!("\\x{byte:02x}")));
    }
    shown
}

impl fmt::Display for EntryName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Serialize for EntryName {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for EntryName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::new(&text).map_err(|fault| serde::de::Error::custom(format!("the name {fault}")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> Option<Code> {
        EntryName::new(text).err().map(|fault| fault.code)
    }

    #[test]
    fn ordinary_names_are_taken() {
        for good in [
            "a",
            "a/b.txt",
            "a b/c+d=e@f,g;h'i(j)[k]{l}~`!#$%^&-_",
            "Café/日本.md",
            ".env",
            "a..b",
            "COM",
            "COM10",
            "con-1",
        ] {
            assert_eq!(code(good), None, "{good}");
        }
        assert_eq!(code(&"a".repeat(255)), None);
        assert_eq!(code(&"a".repeat(256)), Some(Code::NameUnportable));
        assert_eq!(code(&"a/".repeat(2048)[..4095]), None);
        assert_eq!(code(&format!("{}bb", &"a/".repeat(2048)[..4095])), Some(Code::NameUnportable));
    }

    #[test]
    fn names_that_systems_read_differently_are_refused() {
        let unsafe_names =
            ["", "/a", "a/", "a//b", ".", "a/./b", "../a", "a/..", "a\\b", "C:a", "a:s", "a\0b", "\\\\?\\a"];
        let unportable = [
            "a?",
            "a*",
            "a|b",
            "a<",
            "a>",
            "a\"",
            "a.",
            "a /b",
            "nul",
            "Aux.txt",
            "com1",
            "LPT9.x",
            "com\u{b9}",
            "CONIN$",
            "nul .txt",
            "COM0",
        ];
        let control = ["a\nb", "a\u{7f}", "a\u{202e}b", "\u{feff}a", "a\u{e000}", "a\u{2028}", "a\u{0378}"];
        for (names, want) in [
            (&unsafe_names[..], Code::NameUnsafe),
            (&unportable[..], Code::NameUnportable),
            (&control[..], Code::NameControl),
            (&["Cafe\u{301}"][..], Code::NameNotNfc),
        ] {
            names.iter().for_each(|name| assert_eq!(code(name), Some(want), "{name:?}"));
        }
    }

    #[test]
    fn unchecked_names_do_not_come_in_through_json() {
        assert!(serde_json::from_str::<EntryName>("\"../x\"").is_err());
        assert_eq!(serde_json::from_str::<EntryName>("\"x\"").unwrap().as_str(), "x");
    }

    fn clash_codes(names: &[(&str, bool)]) -> Vec<Code> {
        let owned: Vec<_> = names.iter().map(|(name, folder)| (EntryName::new(name).unwrap(), *folder)).collect();
        clashes(owned.iter().map(|(name, folder)| (name, *folder))).into_iter().map(|clash| clash.code).collect()
    }

    #[test]
    fn names_that_cannot_stand_side_by_side_are_found() {
        assert_eq!(clash_codes(&[("a", true), ("a/b", false), ("a/c", false)]), []);
        assert_eq!(clash_codes(&[("a/b", false), ("a", true)]), []);
        assert_eq!(clash_codes(&[("a", false), ("a", false)]), [Code::NameDuplicate]);
        assert_eq!(clash_codes(&[("a/b", false), ("a", true), ("a", true)]), [Code::NameDuplicate]);
        assert_eq!(clash_codes(&[("a", false), ("A", false)]), [Code::NameCollision]);
        assert_eq!(clash_codes(&[("straße", false), ("STRASSE", false)]), [Code::NameCollision]);
        assert_eq!(clash_codes(&[("x/y/a", false), ("X/y/b", false)]), [Code::NameCollision]);
        assert_eq!(clash_codes(&[("a", false), ("a/b", false)]), [Code::NameFileAndFolder]);
        assert_eq!(clash_codes(&[("a/b", false), ("a", false)]), [Code::NameFileAndFolder]);
        assert_eq!(clash_codes(&[("ﬁ", false), ("fi", false)]), [Code::NameCollision]);
        assert_eq!(clash_codes(&[("x²", false), ("x\u{2072}".trim_end_matches('\u{2072}'), false)]), []);
        assert_eq!(clash_codes(&[("Ａ", false), ("ａ", false)]), [Code::NameCollision]);
        assert_eq!(clash_codes(&[("①é", false), ("1é", false)]), [Code::NameLookalike]);
        assert_eq!(clash_codes(&[("２", false), ("2", false)]), [Code::NameLookalike]);
        assert_eq!(clash_codes(&[("x2", false), ("y", false), ("x²", false)]), [Code::NameLookalike]);
    }

    #[test]
    fn nothing_invisible_reaches_a_terminal() {
        assert_eq!(escape(b"a\x1b[2Jb\xff\\"), "a\\u{1b}[2Jb\\xff\\\\");
        assert_eq!(escape("é\u{202e}".as_bytes()), "é\\u{202e}");
    }
}
