//! Owns the reading of a run's documents: whole ones, and files of one record a line.
//!
//! Refuses lines and documents over their bounds, and arrays where an object is due. Invariant: no more than one line
//! or one document is in memory; every fault becomes a finding with its file, line and JSON pointer, and no finding
//! is as long as a hostile string.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::marker::PhantomData;

use serde::Deserialize;
use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, Deserializer, MapAccess, Visitor};

use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::json::{self, Fault};
use crate::limits::Limits;
use crate::name::escape;
use crate::tree::Inventory;

/// Bytes of a foreign string that a finding repeats: a long path fits, a whole record does not.
const SHOWN: usize = 512;

/// A foreign string as a finding shows it: escaped, and cut where it is long.
pub(super) fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN) {
        None => escape(text.as_bytes()),
        Some((end, _)) => format!("{}…", escape(text.get(..end).unwrap_or_default().as_bytes())),
    }
}

/// Where a value of a document is.
pub(super) fn place(file: &str, line: Option<u64>, pointer: &str) -> Place {
    let place = Place { line, ..Place::entry(shown(file)) };
    if pointer.is_empty() { place } else { place.pointer(shown(pointer)) }
}

/// A key as a part of a JSON pointer (RFC 6901).
pub(super) fn pointer_part(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A finding for a document that breaks its format.
pub(super) fn broken(file: &str, line: Option<u64>, pointer: &str, message: impl Into<String>) -> Finding {
    Finding::new(Code::RunRecord, place(file, line, pointer), message)
}

/// The finding for a fault of strict reading. In a file of records `line` is the record's.
pub(super) fn of_fault(file: &str, line: Option<u64>, fault: &Fault) -> Finding {
    Finding::new(fault.code, place(file, line.or(fault.line), &fault.pointer), shown(&fault.message))
}

/// Reads a whole document that is in the tree. `None` where it is broken, which is then a finding.
pub(super) fn read<T: DeserializeOwned>(
    inventory: &Inventory,
    file: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Option<T>, Error> {
    let bytes = bytes(inventory, file, limits, findings)?;
    Ok(bytes.and_then(|bytes| typed(&bytes, file, None, limits, findings)))
}

/// The text of a document. `None` where it is too long, which is then a finding.
pub(super) fn bytes(
    inventory: &Inventory,
    file: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Option<Vec<u8>>, Error> {
    if inventory.file(file).is_some_and(|(found, _)| found.size > limits.max_document) {
        findings.push(broken(file, None, "", format!("the document is longer than {} bytes", limits.max_document)));
        return Ok(None);
    }
    inventory.read(file, limits.max_document).map(Some)
}

/// Reads one document or line into a typed value.
pub(super) fn typed<T: DeserializeOwned>(
    bytes: &[u8],
    file: &str,
    line: Option<u64>,
    limits: &Limits,
    findings: &mut Findings,
) -> Option<T> {
    json::read(bytes, limits.max_depth, Code::RunRecord)
        .map_err(|fault| findings.push(of_fault(file, line, &fault)))
        .ok()
}

/// The lines of a file, one in memory at a time.
pub(super) struct Lines<'a> {
    reader: BufReader<Box<dyn Read + 'a>>,
    max: usize,
}

/// One line without its end, or the fact that it was too long to keep.
pub(super) enum Line {
    Whole(Vec<u8>),
    TooLong,
}

impl<'a> Lines<'a> {
    pub(super) fn new(reader: Box<dyn Read + 'a>, max: usize) -> Self {
        Self { reader: BufReader::new(reader), max }
    }

    /// The next line; none after the last. What follows the last line end is a line if there is anything.
    pub(super) fn next(&mut self) -> io::Result<Option<Line>> {
        let mut line = Vec::new();
        let bound = u64::try_from(self.max).unwrap_or(u64::MAX).saturating_add(1);
        if self.reader.by_ref().take(bound).read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        if line.last() == Some(&b'\n') {
            line.pop();
        } else if line.len() > self.max {
            self.skip_line()?;
            return Ok(Some(Line::TooLong));
        }
        Ok(Some(Line::Whole(line)))
    }

    fn skip_line(&mut self) -> io::Result<()> {
        loop {
            let buffer = self.reader.fill_buf()?;
            let end = buffer.iter().position(|byte| *byte == b'\n');
            let length = end.map_or(buffer.len(), |end| end + 1);
            self.reader.consume(length);
            if end.is_some() || length == 0 {
                return Ok(());
            }
        }
    }
}

/// Reads a file of one record a line and hands each on with its line number. Says whether all of it could be read:
/// what is absent from a file with a broken line may have stood in that line.
pub(super) fn each_line<T: DeserializeOwned>(
    inventory: &Inventory,
    file: &str,
    limits: &Limits,
    findings: &mut Findings,
    mut each: impl FnMut(u64, T, &mut Findings) -> Result<(), Error>,
) -> Result<bool, Error> {
    let mut is_whole = true;
    let mut lines = Lines::new(inventory.open_file(file)?, limits.max_line);
    for number in 1.. {
        let Some(line) = lines.next().map_err(Error::io("read", &inventory.path().join(file)))? else { break };
        if number > limits.max_entries {
            let message = format!("the file has more than {} records; the rest was not read", limits.max_entries);
            findings.push(broken(file, Some(number), "", message));
            is_whole = false;
            break;
        }
        match line {
            Line::TooLong => {
                let message = format!("the line is longer than {} bytes", limits.max_line);
                findings.push(broken(file, Some(number), "", message));
                is_whole = false;
            }
            Line::Whole(bytes) => match typed(&bytes, file, Some(number), limits, findings) {
                Some(record) => each(number, record, findings)?,
                None => is_whole = false,
            },
        }
    }
    Ok(is_whole)
}

/// A JSON object. serde's derived readers take an array of the fields' values for a struct; no other reader does.
#[derive(Debug, Clone)]
pub(super) struct Object<T>(pub(super) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Fields<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Fields<T> {
            type Value = T;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<T, A::Error> {
                T::deserialize(MapAccessDeserializer::new(fields))
            }
        }
        deserializer.deserialize_map(Fields(PhantomData)).map(Self)
    }
}

/// Reads a field that may be null but must be there: serde takes a missing optional field for null otherwise.
pub(super) fn nullable<'de, T: Deserialize<'de>, D: Deserializer<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &'static str, max: usize) -> Vec<Option<String>> {
        let mut lines = Lines::new(Box::new(text.as_bytes()), max);
        std::iter::from_fn(|| lines.next().unwrap())
            .map(|line| match line {
                Line::Whole(bytes) => Some(String::from_utf8(bytes).unwrap()),
                Line::TooLong => None,
            })
            .collect()
    }

    #[test]
    fn lines_are_bounded_at_the_limit_and_one_over() {
        let whole = |text: &str| Some(text.to_owned());
        assert_eq!(lines("", 3), []);
        assert_eq!(lines("abc\nde\n", 3), [whole("abc"), whole("de")]);
        assert_eq!(lines("abc", 3), [whole("abc")]);
        assert_eq!(lines("abcd\nde", 3), [None, whole("de")]);
        assert_eq!(lines("a\nabcd", 3), [whole("a"), None]);
        assert_eq!(lines("\n\na", 3), [whole(""), whole(""), whole("a")]);
    }

    #[test]
    fn an_array_is_no_object_and_a_fault_names_its_place() {
        #[derive(Debug, Deserialize)]
        struct Pair {
            #[serde(rename = "a")]
            _a: u64,
        }
        let pointer = |text: &str| {
            let fault = json::read::<Object<Vec<u8>>>(b"[]", 8, Code::RunRecord).unwrap_err();
            assert_eq!(fault.code, Code::RunRecord);
            json::read::<Object<Pair>>(text.as_bytes(), 8, Code::RunRecord).map_err(|fault| fault.pointer).err()
        };
        assert_eq!(pointer("{\"a\":1}"), None);
        assert_eq!(pointer("[1]"), Some(String::new()));
        assert_eq!(pointer("{\"a\":true}"), Some("/a".to_owned()));
    }

    #[test]
    fn no_finding_repeats_a_whole_hostile_string() {
        assert_eq!(shown("a\u{1b}b"), "a\\u{1b}b");
        assert!(shown(&"é".repeat(1 << 20)).len() < 2000);
    }
}
