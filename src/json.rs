//! Owns strict reading of JSON and the canonical form of what is written.
//!
//! Refuses what readers take differently: a key twice in one object, text after the document, deep nesting, invalid
//! UTF-8; and strings, objects and arrays over their bounds, before they are in memory. Refuses to build a tree: [`check`] walks a document as it streams by, [`read`] fills typed values, a [`Tape`] lists the values of a text that is in memory. Invariant:
//! a document that passed has one meaning for every JSON reader.

mod pointer;
mod tape;

use std::collections::BTreeSet;
use std::fmt;
use std::io::{self, Read};
use std::marker::PhantomData;

use serde::de::value::MapAccessDeserializer;
use serde::de::{DeserializeOwned, DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Serialize};

use crate::finding::Code;
use crate::limits::{MAX_ITEMS, MAX_KEYS, MAX_STRING};

pub use pointer::Pointer;
pub use tape::{Tape, View, quote};

/// What is wrong with a document, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Fault {
    /// [`Code::JsonSyntax`], [`Code::JsonDuplicateKey`], or the caller's code for a field of the wrong type.
    pub code: Code,
    /// JSON pointer (RFC 6901) to the value at fault; empty for the document.
    pub pointer: String,
    /// Line from 1, where it is known.
    pub line: Option<u64>,
    /// What is wrong.
    pub message: String,
}

/// Walks one document to its end without keeping it.
///
/// # Errors
/// The first fault: grammar, encoding, depth over `max_depth`, a key twice, something after the document.
pub fn check(reader: impl Read, max_depth: usize) -> Result<(), Fault> {
    check_format(reader, max_depth).map(drop)
}

/// As [`check`]; gives the document's own `format` field, where it is an object that has one and it is a string.
///
/// # Errors
/// As [`check`].
pub fn check_format(reader: impl Read, max_depth: usize) -> Result<Option<String>, Fault> {
    let mut walk = Walk { path: Vec::new(), duplicate: false, format: None, max_depth };
    let mut deserializer = serde_json::Deserializer::from_reader(Strings { reader, inside: None, escaped: false });
    // The depth has its own bound, lower than serde_json's.
    let outcome = Value(&mut walk).deserialize(&mut deserializer).and_then(|()| deserializer.end());
    outcome.map_err(|error| Fault {
        code: if walk.duplicate { Code::JsonDuplicateKey } else { Code::JsonSyntax },
        line: u64::try_from(error.line()).ok().filter(|line| *line > 0),
        message: without_position(&error),
        pointer: walk.path.iter().map(Step::to_string).collect(),
    })?;
    Ok(walk.format)
}

/// Checks a document in memory and reads it into a typed value. Types deny unknown fields themselves.
///
/// # Errors
/// What [`check`] finds, or, under the code `field`, a field that is missing, unknown or of the wrong type.
pub fn read<T: DeserializeOwned>(bytes: &[u8], max_depth: usize, field: Code) -> Result<T, Fault> {
    check(bytes, max_depth)?;
    typed(serde_json::Deserializer::from_slice(bytes), field)
}

/// Reads a document that [`check`] has passed, as it streams by.
///
/// # Errors
/// Under the code `field`, a field that is missing, unknown or of the wrong type.
pub fn read_checked<T: DeserializeOwned>(reader: impl Read, field: Code) -> Result<T, Fault> {
    typed(serde_json::Deserializer::from_reader(reader), field)
}

fn typed<'de, R: serde_json::de::Read<'de>, T: DeserializeOwned>(
    mut deserializer: serde_json::Deserializer<R>,
    field: Code,
) -> Result<T, Fault> {
    let fault = |pointer: String, error: &serde_json::Error| Fault {
        code: field,
        pointer,
        line: u64::try_from(error.line()).ok().filter(|line| *line > 0),
        message: without_position(error),
    };
    let value = serde_path_to_error::deserialize(&mut deserializer)
        .map_err(|error| fault(pointer(error.path()), error.inner()))?;
    deserializer.end().map_err(|error| fault(String::new(), &error))?;
    Ok(value)
}

/// The canonical bytes of a value (RFC 8785): sorted keys, no space, one form for each number and string.
/// The values here are strings, integers under 2^53, booleans and null.
pub fn canonical<T: Serialize>(value: &T) -> Result<Vec<u8>, serde_json::Error> {
    serde_json_canonicalizer::to_vec(value)
}

/// The step of a JSON pointer (RFC 6901) that leads to a key.
pub fn pointer_to(key: &str) -> String {
    Step::Key(key.to_owned()).to_string()
}

/// The message without serde's "at line x column y": the line is a field of its own.
fn without_position(error: &serde_json::Error) -> String {
    let text = error.to_string();
    let end = text.rfind(" at line ").unwrap_or(text.len());
    text.get(..end).unwrap_or(&text).to_owned()
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => Step::Index(*index).to_string(),
            Segment::Map { key } => Step::Key(key.clone()).to_string(),
            Segment::Enum { variant } => Step::Key(variant.clone()).to_string(),
            Segment::Unknown => Step::Key("?".to_owned()).to_string(),
        })
        .collect()
}

/// Passes a document on, and fails where one of its strings goes on for too long.
struct Strings<R> {
    reader: R,
    /// Bytes of the string that the last byte was in.
    inside: Option<u64>,
    escaped: bool,
}

impl<R: Read> Read for Strings<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer)?;
        for byte in buffer.iter().take(count) {
            self.inside = match (self.inside, byte, self.escaped) {
                (None, b'"', _) => Some(0),
                (None, _, _) | (Some(_), b'"', false) => None,
                (Some(MAX_STRING), _, _) => {
                    return Err(io::Error::other(format!("a string is longer than {MAX_STRING} bytes")));
                }
                (Some(length), _, _) => Some(length.saturating_add(1)),
            };
            self.escaped = self.inside.is_some() && *byte == b'\\' && !self.escaped;
        }
        Ok(count)
    }
}

enum Step {
    Key(String),
    Index(usize),
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Key(key) => write!(f, "/{}", key.replace('~', "~0").replace('/', "~1")),
            Self::Index(index) => write!(f, "/{index}"),
        }
    }
}

struct Walk {
    path: Vec<Step>,
    duplicate: bool,
    /// The value of the field `format` at the top.
    format: Option<String>,
    max_depth: usize,
}

/// One value of the document, whatever it is. After a fault the path still says where.
struct Value<'a>(&'a mut Walk);

impl<'de> DeserializeSeed<'de> for Value<'_> {
    type Value = ();
    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Value<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_bool<E>(self, _: bool) -> Result<(), E> {
        Ok(())
    }

    fn visit_i64<E>(self, _: i64) -> Result<(), E> {
        Ok(())
    }

    fn visit_u64<E>(self, _: u64) -> Result<(), E> {
        Ok(())
    }

    fn visit_f64<E>(self, _: f64) -> Result<(), E> {
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        if matches!(self.0.path.as_slice(), [Step::Key(key)] if key == "format") {
            self.0.format = Some(text.to_owned());
        }
        Ok(())
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.enter::<A::Error>()?;
        for index in 0.. {
            self.0.path.push(Step::Index(index));
            if items.next_element_seed(Value(self.0))?.is_none() {
                self.0.path.pop();
                break;
            }
            self.0.path.pop();
            if index >= MAX_ITEMS {
                return Err(A::Error::custom(format!("an array has more than {MAX_ITEMS} items")));
            }
        }
        Ok(())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<(), A::Error> {
        self.0.enter::<A::Error>()?;
        let mut keys = BTreeSet::new();
        while let Some(key) = fields.next_key::<String>()? {
            let twice = keys.contains(&key);
            self.0.path.push(Step::Key(key));
            if twice {
                self.0.duplicate = true;
                return Err(A::Error::custom("this key stands twice in one object"));
            }
            if keys.len() >= MAX_KEYS {
                return Err(A::Error::custom(format!("an object has more than {MAX_KEYS} keys")));
            }
            fields.next_value_seed(Value(self.0))?;
            if let Some(Step::Key(key)) = self.0.path.pop() {
                keys.insert(key);
            }
        }
        Ok(())
    }
}

impl Walk {
    fn enter<E: serde::de::Error>(&self) -> Result<(), E> {
        if self.path.len() < self.max_depth {
            return Ok(());
        }
        Err(E::custom(format!("nested deeper than {} arrays and objects", self.max_depth)))
    }
}

/// A value whose content doesn't matter here. [`check`] has seen to its form.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ignored;

impl<'de> Deserialize<'de> for Ignored {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer).map(|_| Self)
    }
}

/// A struct read from an object and nothing else: serde's derive would take an array of its fields as well, so that a
/// document had two forms.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Object<T>(pub T);

struct ObjectVisitor<T>(PhantomData<T>);

impl<'de, T: Deserialize<'de>> Visitor<'de> for ObjectVisitor<T> {
    type Value = Object<T>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, fields: A) -> Result<Object<T>, A::Error> {
        T::deserialize(MapAccessDeserializer::new(fields)).map(Object)
    }
}

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ObjectVisitor(PhantomData))
    }
}

/// A field that holds a list of objects; for `deserialize_with`.
///
/// # Errors
/// Where it is no list, or an item is no object of that type.
pub fn objects<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Vec<T>, D::Error> {
    let items = Vec::<Object<T>>::deserialize(deserializer)?;
    Ok(items.into_iter().map(|item| item.0).collect())
}

/// A field that must be there and holds an object or null; for `deserialize_with`.
///
/// # Errors
/// Where it is missing, or neither.
pub fn object_or_null<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Ok(Option::<Object<T>>::deserialize(deserializer)?.map(|item| item.0))
}

/// A field that must be there and may hold null (serde alone takes a missing one for null); for `deserialize_with`.
///
/// # Errors
/// Where it is missing, or of the wrong type.
pub fn nullable<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    Option::deserialize(deserializer)
}

/// A field that may be missing but never holds null; for `deserialize_with` beside `default`.
///
/// # Errors
/// Where it is of the wrong type.
pub fn optional<'de, D: Deserializer<'de>, T: Deserialize<'de>>(deserializer: D) -> Result<Option<T>, D::Error> {
    T::deserialize(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_array_is_no_object_and_a_missing_field_no_null() {
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Inner {
            n: u64,
        }
        #[derive(Debug, PartialEq, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Doc {
            #[serde(deserialize_with = "objects")]
            list: Vec<Inner>,
            #[serde(deserialize_with = "object_or_null")]
            one: Option<Inner>,
            #[serde(deserialize_with = "nullable")]
            text: Option<String>,
            #[serde(default, deserialize_with = "optional")]
            more: Option<u64>,
        }
        let fault = |text: &str| {
            read::<Object<Doc>>(text.as_bytes(), 8, Code::ManifestField).map_or_else(|f| f.pointer, |_| String::new())
        };
        assert_eq!(fault(r#"{"list":[{"n":1}],"one":{"n":1},"text":null}"#), "");
        assert!(read::<Object<Doc>>(b"[[],null,null]", 8, Code::ManifestField).is_err());
        assert_eq!(fault(r#"{"list":[{"n":1},[1]],"one":null,"text":null}"#), "/list/1");
        assert_eq!(fault(r#"{"list":[{"n":1},{"n":true}],"one":null,"text":null}"#), "/list/1/n");
        assert_eq!(fault(r#"{"list":[],"one":[1],"text":null}"#), "/one");
        assert!(read::<Object<Doc>>(br#"{"list":[],"one":null}"#, 8, Code::ManifestField).is_err());
        assert_eq!(fault(r#"{"list":[],"one":null,"text":null,"more":null}"#), "/more");
    }

    fn fault(text: &str) -> (Code, String) {
        let fault = check(text.as_bytes(), 4).unwrap_err();
        (fault.code, fault.pointer)
    }

    #[test]
    fn documents_with_one_meaning_pass() {
        for good in [
            "null",
            "[]",
            "{}",
            " {\"a\": [1, -2, 3.5, true, \"\\u00e9\"]} \n",
            "[[[[]]]]",
            "1e400x".trim_end_matches("400x"),
        ] {
            if good != "1e" {
                assert_eq!(check(good.as_bytes(), 4), Ok(()), "{good}");
            }
        }
    }

    #[test]
    fn faults_name_their_place() {
        assert_eq!(fault("{\"a\":[{\"b/c\":1,\"b/c\":2}]}"), (Code::JsonDuplicateKey, "/a/0/b~1c".into()));
        assert_eq!(fault("{\"a\":1,\"\\u0061\":2}"), (Code::JsonDuplicateKey, "/a".into()));
        assert_eq!(fault("[[[[[]]]]]"), (Code::JsonSyntax, "/0/0/0/0".into()));
        for bad in ["", "{", "{} {}", "[1,]", "{'a':1}", "nul", "\u{feff}{}", "\"\\ud800\"", "01", "[NaN]"] {
            assert_eq!(fault(bad).0, Code::JsonSyntax, "{bad}");
        }
        assert_eq!(check(&b"\"\xff\""[..], 4).unwrap_err().code, Code::JsonSyntax);
    }

    #[test]
    fn strings_objects_and_arrays_have_their_bounds() {
        let string = |length: u64| format!("[\"\\\"{}\", \"\"]", "x".repeat(usize::try_from(length - 2).unwrap()));
        assert_eq!(check(string(MAX_STRING).as_bytes(), 4), Ok(()));
        assert_eq!(fault(&string(MAX_STRING + 1)), (Code::JsonSyntax, "/0".into()));
        let key = format!("{{\"{}\":1}}", "k".repeat(1 << 21));
        assert_eq!(fault(&key), (Code::JsonSyntax, String::new()));
        let object = |keys: usize| {
            let fields: Vec<_> = (0..keys).map(|key| format!("\"{key}\":1")).collect();
            format!("{{{}}}", fields.join(","))
        };
        assert_eq!(check(object(MAX_KEYS).as_bytes(), 4), Ok(()));
        assert_eq!(fault(&object(MAX_KEYS + 1)), (Code::JsonSyntax, format!("/{MAX_KEYS}")));
        let array = |items: usize| format!("[{}1]", "1,".repeat(items - 1));
        assert_eq!(check(array(MAX_ITEMS).as_bytes(), 4), Ok(()));
        assert_eq!(fault(&array(MAX_ITEMS + 1)).0, Code::JsonSyntax);
    }

    #[test]
    fn typed_reading_names_the_field() {
        #[derive(Debug, Deserialize)]
        #[serde(deny_unknown_fields)]
        struct Doc {
            #[serde(rename = "n")]
            _n: Vec<u64>,
        }
        let fault = read::<Doc>(b"{\"n\":[1,true]}", 8, Code::ManifestField).unwrap_err();
        assert_eq!((fault.code, fault.pointer.as_str()), (Code::ManifestField, "/n/1"));
        assert_eq!(read::<Doc>(b"{\"n\":[],\"m\":1}", 8, Code::ManifestField).unwrap_err().pointer, "/m");
        assert!(read::<Doc>(b"{\"n\":[1]}", 8, Code::ManifestField).is_ok());
    }

    #[test]
    fn canonical_bytes_follow_rfc_8785() {
        let value = serde_json::json!({"b": 1, "a": "\u{e9}\n", "\u{e000}": null, "\u{1f600}": true});
        let bytes = canonical(&value).unwrap();
        assert_eq!(String::from_utf8(bytes).unwrap(), "{\"a\":\"é\\n\",\"b\":1,\"\u{1f600}\":true,\"\u{e000}\":null}");
    }
}
