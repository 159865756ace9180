//! Owns the forms of single values in documents: project names, git object ids, times, modes, whole numbers, texts.
//!
//! Refuses every second spelling of a value. Invariant: a value of these types has exactly the form its format asks
//! for, and writing it gives the text it was read from.

use std::fmt;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::name::EntryName;

/// Bytes of a project's name: with a dash and 12 digits it names a folder of at most 255.
pub const MAX_PROJECT: usize = 200;

/// The largest whole number that every JSON reader takes exactly (RFC 8259, section 6).
pub const MAX_INTEGER: u64 = (1 << 53) - 1;

/// A text that doesn't have the form wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct NotTheForm(&'static str);

impl NotTheForm {
    /// A form that another room owns; `message` says what it is.
    pub fn new(message: &'static str) -> Self {
        Self(message)
    }
}

/// A project's name: one part of a portable name, lower-case letters, digits, `.`, `_`, `-`, the first a letter or digit.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Project(Box<str>);

/// A git object id, SHA-1 or SHA-256, of a commit or a tree. Nothing here is computed from it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct ObjectId(Box<str>);

/// A moment in UTC, to the second: `2026-09-22T22:01:29Z`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timestamp(Box<str>);

/// A file's permission bits: a release has these two kinds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// `0644`.
    Plain,
    /// `0755`.
    Executable,
}

impl Project {
    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl ObjectId {
    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is a SHA-1 id, the only kind that historical formats know.
    pub fn is_sha1(&self) -> bool {
        self.0.len() == 40
    }
}

impl Timestamp {
    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl Mode {
    /// The permission bits.
    pub fn bits(self) -> u32 {
        match self {
            Self::Plain => 0o644,
            Self::Executable => 0o755,
        }
    }
}

impl FromStr for Project {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, b'.' | b'_' | b'-');
        let starts = text.bytes().next().is_some_and(|c| c.is_ascii_lowercase() || c.is_ascii_digit());
        if starts && text.bytes().all(plain) && text.len() <= MAX_PROJECT && EntryName::new(text).is_ok() {
            return Ok(Self(text.into()));
        }
        Err(NotTheForm(
            "a project's name is one portable part of a path: up to 200 of a-z, 0-9, '.', '_' and '-', starting with a letter or digit",
        ))
    }
}

impl FromStr for ObjectId {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        let hex = text.bytes().all(|c| matches!(c, b'0'..=b'9' | b'a'..=b'f'));
        if hex && matches!(text.len(), 40 | 64) {
            return Ok(Self(text.into()));
        }
        Err(NotTheForm("a git object id is 40 or 64 lower-case hex digits"))
    }
}

impl FromStr for Timestamp {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        if is_moment(text) {
            return Ok(Self(text.into()));
        }
        Err(NotTheForm("a time is written YYYY-MM-DDTHH:MM:SSZ, in UTC"))
    }
}

impl FromStr for Mode {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        match text {
            "0644" => Ok(Self::Plain),
            "0755" => Ok(Self::Executable),
            _ => Err(NotTheForm("a mode is 0644 or 0755")),
        }
    }
}

fn is_moment(text: &str) -> bool {
    let shape = text.len() == 20
        && text.bytes().zip(*b"0000-00-00T00:00:00Z").all(|(c, want)| {
            // A zero in the pattern stands for any digit.
            if want == b'0' { c.is_ascii_digit() } else { c == want }
        });
    if !shape {
        return false;
    }
    let number = |from: usize, to: usize| text.get(from..to).and_then(|digits| digits.parse::<u32>().ok());
    let (Some(year), Some(month), Some(day)) = (number(0, 4), number(5, 7), number(8, 10)) else { return false };
    let leap = year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400));
    let days = match month {
        4 | 6 | 9 | 11 => 30,
        2 if leap => 29,
        2 => 28,
        1..=12 => 31,
        _ => 0,
    };
    let below = |from: usize, to: usize, end: u32| number(from, to).is_some_and(|n| n < end);
    (1..=days).contains(&day) && below(11, 13, 24) && below(14, 16, 60) && below(17, 19, 60)
}

impl fmt::Display for Project {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl fmt::Display for Mode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:04o}", self.bits())
    }
}

impl Serialize for Project {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for ObjectId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for Timestamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl Serialize for Mode {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// Reads a string and takes it only in the form of `T`; for `deserialize_with` and for the types here.
///
/// # Errors
/// Where it is no string, or a string of another form.
pub fn parsed<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
}

impl<'de> Deserialize<'de> for Project {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl<'de> Deserialize<'de> for ObjectId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl<'de> Deserialize<'de> for Timestamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

impl<'de> Deserialize<'de> for Mode {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        parsed(deserializer)
    }
}

/// A whole number that every reader takes exactly; for `deserialize_with`. Booleans and fractions are none.
///
/// # Errors
/// Where it is no whole number from 0 to [`MAX_INTEGER`].
pub fn integer<'de, D: Deserializer<'de>>(deserializer: D) -> Result<u64, D::Error> {
    let number = u64::deserialize(deserializer)?;
    if number > MAX_INTEGER {
        return Err(D::Error::custom(format!("{number} is over 2^53 - 1, where readers differ")));
    }
    Ok(number)
}

/// As [`integer`], or null; the field must be there.
///
/// # Errors
/// Where it is neither.
pub fn integer_or_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    let number = Option::<u64>::deserialize(deserializer)?;
    if let Some(number) = number.filter(|number| *number > MAX_INTEGER) {
        return Err(D::Error::custom(format!("{number} is over 2^53 - 1, where readers differ")));
    }
    Ok(number)
}

/// A text with something in it; for `deserialize_with`.
///
/// # Errors
/// Where it is no string, or empty.
pub fn filled<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
    let text = String::deserialize(deserializer)?;
    if text.is_empty() {
        return Err(D::Error::custom("the text is empty"));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_value_has_one_form() {
        for good in ["a", "0", "mcp-continuation-replay", "a.b_c", &"a".repeat(MAX_PROJECT)] {
            assert!(good.parse::<Project>().is_ok(), "{good}");
        }
        for bad in ["", "A", "-a", ".a", "a.", "a/b", "nul", "aux.x", "é", "a b", &"a".repeat(MAX_PROJECT + 1)] {
            assert!(bad.parse::<Project>().is_err(), "{bad}");
        }
        for (length, good) in [(39, false), (40, true), (41, false), (63, false), (64, true), (65, false)] {
            assert_eq!("a".repeat(length).parse::<ObjectId>().is_ok(), good, "{length}");
        }
        assert!("A".repeat(40).parse::<ObjectId>().is_err());
        for good in ["2026-09-22T22:01:29Z", "2024-02-29T00:00:00Z", "2000-02-29T23:59:59Z"] {
            assert_eq!(good.parse::<Timestamp>().unwrap().as_str(), good);
        }
        for bad in [
            "2026-09-22T22:01:29",
            "2026-09-22 22:01:29Z",
            "2026-09-22T22:01:29z",
            "2026-02-29T00:00:00Z",
            "1900-02-29T00:00:00Z",
            "2026-13-01T00:00:00Z",
            "2026-00-01T00:00:00Z",
            "2026-04-31T00:00:00Z",
            "2026-04-00T00:00:00Z",
            "2026-04-30T24:00:00Z",
            "2026-04-30T00:60:00Z",
            "2026-04-30T00:00:60Z",
            "+026-04-30T00:00:00Z",
            "2026-04-30T00:00:00.0Z",
        ] {
            assert!(bad.parse::<Timestamp>().is_err(), "{bad}");
        }
        assert_eq!(serde_json::from_str::<Mode>("\"0755\"").unwrap().to_string(), "0755");
        for bad in ["\"0600\"", "\"644\"", "\"100644\"", "420", "{\"0644\":null}"] {
            assert!(serde_json::from_str::<Mode>(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn numbers_are_whole_and_exact() {
        #[derive(Deserialize)]
        struct Doc {
            #[serde(rename = "n", deserialize_with = "integer")]
            _n: u64,
        }
        let taken = |text: &str| serde_json::from_str::<Doc>(&format!("{{\"n\":{text}}}")).is_ok();
        assert!(taken("0") && taken("9007199254740991"));
        for bad in ["9007199254740992", "-1", "-0", "1.0", "1e0", "true", "null", "\"1\""] {
            assert!(!taken(bad), "{bad}");
        }
    }
}
