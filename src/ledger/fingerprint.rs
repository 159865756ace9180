//! Owns the fingerprint of a logical request, and the canonical JSON that it is made of.
//!
//! Refuses what two writers of JSON could write differently: numbers that are not whole or over 2^53 - 1, and nesting
//! without end. Text in JSON that has an unpaired surrogate is refused when it is read. Invariant: equal requests have
//! equal fingerprints on any machine; state and answers enter as keyed digests only.

use std::fmt::{self, Write as _};

use hmac::{Hmac, KeyInit, Mac};
use serde_json::Value;
use sha2::Sha256 as Hasher;

use crate::digest::Sha256;
use crate::finding::Code;
use crate::json::{self, Fault};

/// Bytes that a key has at least: as many as the digest that it keys.
pub const MIN_KEY: usize = 32;

/// The largest whole number that every reader of JSON takes exactly: 2^53 - 1.
const MAX_INTEGER: u64 = (1 << 53) - 1;

/// Nested arrays and objects of a request. As deep as [`crate::limits::Limits::max_depth`] lets documents be.
const MAX_DEPTH: usize = 64;

/// Bytes that a path of a refusal shows.
const MAX_SHOWN_PATH: usize = 512;

/// A key of fingerprints or of states. It has no default and is never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(Box<[u8]>);

/// A key that is too short.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the key has {0} bytes: give one of at least {MIN_KEY}")]
pub struct ShortKey(usize);

/// A value that has no canonical form.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}: {why}", if path.is_empty() { "the value" } else { path })]
pub struct Refused {
    /// JSON pointer (RFC 6901) to the value at fault; empty for the whole.
    pub path: String,
    /// What is wrong with it.
    pub why: &'static str,
}

/// What makes two requests the same.
#[derive(Debug, Clone, Copy)]
pub struct Logical<'a> {
    /// On whose behalf.
    pub principal: &'a str,
    /// The tool.
    pub tool: &'a str,
    /// Its version.
    pub version: &'a str,
    /// Its arguments, with defaults applied.
    pub arguments: &'a Value,
    /// What the verified state says inside; null where there is none.
    pub state: &'a Value,
    /// The accepted answers, in their one fixed form; null where there are none.
    pub responses: &'a Value,
}

impl Key {
    /// A key of at least [`MIN_KEY`] bytes.
    ///
    /// # Errors
    /// Where it is shorter.
    pub fn new(bytes: &[u8]) -> Result<Self, ShortKey> {
        if bytes.len() < MIN_KEY {
            return Err(ShortKey(bytes.len()));
        }
        Ok(Self(bytes.into()))
    }

    /// Its bytes, for who opens what it seals.
    pub(crate) fn bytes(&self) -> &[u8] {
        &self.0
    }

    /// HMAC-SHA256 of a field's name, a zero byte and its canonical bytes; lower-case hex. It reveals equality.
    fn digest(&self, field: &str, value: &Value) -> Result<String, Refused> {
        let at = json::pointer_to(field);
        let canonical = canonical_at(value, &at)?;
        let mut mac =
            Hmac::<Hasher>::new_from_slice(&self.0).map_err(|_| Refused { path: at, why: "the key can't be used" })?;
        [field.as_bytes(), &[0], canonical.as_bytes()].into_iter().for_each(|part| mac.update(part));
        Ok(mac.finalize().into_bytes().iter().fold(String::new(), |mut text, byte| {
            // Writing to a string doesn't fail.
            let _ = write!(text, "{byte:02x}");
            text
        }))
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(hidden)")
    }
}

impl Logical<'_> {
    /// The fingerprint: SHA-256 of the canonical object, state and answers replaced by their digests.
    ///
    /// # Errors
    /// A value without canonical form, with its path.
    pub fn fingerprint(&self, key: &Key) -> Result<Sha256, Refused> {
        let digests = [key.digest("continuation_state", self.state)?, key.digest("input_responses", self.responses)?];
        let [state, responses] = digests;
        let arguments = canonical_at(self.arguments, "/arguments")?;
        let mut text = format!("{{\"arguments\":{arguments}");
        for (name, value) in [
            ("continuation_state", state.as_str()),
            ("input_responses", &responses),
            ("principal", self.principal),
            ("tool_id", self.tool),
            ("tool_version", self.version),
        ] {
            text.push(',');
            quote(name, &mut text);
            text.push(':');
            quote(value, &mut text);
        }
        text.push('}');
        Ok(Sha256::of(text.as_bytes()))
    }
}

/// Reads JSON text whose value is to be written canonically.
///
/// # Errors
/// What strict reading refuses, unpaired surrogates, keys that are no strings and keys that stand twice among it, with
/// the path at fault.
pub fn parse(text: &[u8]) -> Result<Value, Fault> {
    json::read(text, MAX_DEPTH, Code::JsonSyntax)
}

/// The canonical form of a value: keys in the order of Unicode scalar values, no space, UTF-8, whole numbers.
///
/// # Errors
/// A value without canonical form, with its path.
pub fn canonical(value: &Value) -> Result<String, Refused> {
    canonical_at(value, "")
}

fn canonical_at(value: &Value, path: &str) -> Result<String, Refused> {
    let mut writer = Writer { text: String::new(), path: path.to_owned(), depth: 0 };
    writer.value(value)?;
    Ok(writer.text)
}

/// Text as it is written, with where in the value the writer is.
struct Writer {
    text: String,
    path: String,
    depth: usize,
}

impl Writer {
    fn value(&mut self, value: &Value) -> Result<(), Refused> {
        match value {
            Value::Null => self.text.push_str("null"),
            Value::Bool(is_true) => self.text.push_str(if *is_true { "true" } else { "false" }),
            Value::String(text) => quote(text, &mut self.text),
            Value::Number(number) => {
                let whole = integer(number).map_err(|why| self.refused(why))?;
                self.text.push_str(&whole.to_string());
            }
            Value::Array(items) => {
                self.open('[')?;
                for (index, item) in items.iter().enumerate() {
                    self.comma(index);
                    self.below(&index.to_string(), item)?;
                }
                self.close(']');
            }
            Value::Object(fields) => {
                self.open('{')?;
                // UTF-8 sorts as Unicode scalar values do; UTF-16 does not.
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by(|a, b| a.0.as_bytes().cmp(b.0.as_bytes()));
                for (index, (name, field)) in sorted.into_iter().enumerate() {
                    self.comma(index);
                    quote(name, &mut self.text);
                    self.text.push(':');
                    self.below(name, field)?;
                }
                self.close('}');
            }
        }
        Ok(())
    }

    fn below(&mut self, name: &str, value: &Value) -> Result<(), Refused> {
        let length = self.path.len();
        self.path.push_str(&json::pointer_to(name));
        self.value(value)?;
        self.path.truncate(length);
        Ok(())
    }

    fn open(&mut self, bracket: char) -> Result<(), Refused> {
        self.depth += 1;
        self.text.push(bracket);
        if self.depth > MAX_DEPTH { Err(self.refused("it is nested too deep")) } else { Ok(()) }
    }

    fn close(&mut self, bracket: char) {
        self.depth -= 1;
        self.text.push(bracket);
    }

    fn comma(&mut self, index: usize) {
        if index > 0 {
            self.text.push(',');
        }
    }

    fn refused(&self, why: &'static str) -> Refused {
        let cut = self.path.char_indices().nth(MAX_SHOWN_PATH).and_then(|(end, _)| self.path.get(..end));
        Refused { path: cut.unwrap_or(&self.path).to_owned(), why }
    }
}

/// A whole number whose size every reader takes exactly. `1.0` is 1, and `-0.0` is 0.
fn integer(number: &serde_json::Number) -> Result<i64, &'static str> {
    const NOT_WHOLE: &str = "the number is not whole";
    const TOO_LARGE: &str = "the number is over 2^53 - 1, where readers differ";
    if let Some(whole) = number.as_i64() {
        return if whole.unsigned_abs() <= MAX_INTEGER { Ok(whole) } else { Err(TOO_LARGE) };
    }
    match number.as_f64() {
        Some(float) if float.is_finite() && float.fract() != 0.0 => Err(NOT_WHOLE),
        // The text of a whole float under 2^53 has neither point nor exponent.
        Some(float) if float.abs() < 9_007_199_254_740_992.0 => {
            format!("{:.0}", float + 0.0).parse().map_err(|_| NOT_WHOLE)
        }
        Some(_) | None => Err(TOO_LARGE),
    }
}

/// A string in quotes; what isn't a quote, a backslash or a control character stands as it is.
fn quote(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            '\0'..='\u{1f}' => {
                // Writing to a string doesn't fail.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            _ => out.push(c),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(text: &str) -> Result<String, String> {
        let value = parse(text.as_bytes()).map_err(|fault| format!("{}: {fault}", fault.pointer))?;
        canonical(&value).map_err(|refused| refused.to_string())
    }

    #[test]
    fn values_have_one_form() {
        for (text, wanted) in [
            ("null", "null"),
            (" [ true , false ] ", "[true,false]"),
            ("1.0", "1"),
            ("1e2", "100"),
            ("-0", "0"),
            ("-0.0", "0"),
            ("-3.0", "-3"),
            ("9007199254740991", "9007199254740991"),
            ("-9007199254740991.0", "-9007199254740991"),
            (r#""\u0041\/\u00e9\u007f""#, "\"A/é\u{7f}\""),
            (r#""\u0001\b\f\n\r\t\"\\""#, r#""\u0001\b\f\n\r\t\"\\""#),
            (r#"{"b":1,"a":{"10":1,"2":2},"":0}"#, r#"{"":0,"a":{"10":1,"2":2},"b":1}"#),
            // U+E000 comes before U+10000 as a scalar value, and after it in UTF-16.
            ("{\"\u{10000}\":1,\"\u{e000}\":2}", "{\"\u{e000}\":2,\"\u{10000}\":1}"),
        ] {
            assert_eq!(written(text).as_deref(), Ok(wanted), "{text}");
        }
    }

    #[test]
    fn what_has_no_form_is_refused_with_its_path() {
        for (text, wanted) in [
            ("1.5", "the value: the number is not whole"),
            (r#"{"a":[0,0.1]}"#, "/a/1: the number is not whole"),
            (r#"{"a/b":{"~":9007199254740992}}"#, "/a~1b/~0: the number is over 2^53 - 1, where readers differ"),
            ("[-9007199254740992.0]", "/0: the number is over 2^53 - 1, where readers differ"),
            ("[18446744073709551615]", "/0: the number is over 2^53 - 1, where readers differ"),
        ] {
            assert_eq!(written(text), Err(wanted.to_owned()), "{text}");
        }
        for (text, place) in [
            (r#"{"a":["\ud800"]}"#, "/a/0: "),
            (r#"{"a":{"\udc00":1}}"#, "/a"),
            (r#"{"a":{"b":1,"b":1}}"#, "/a/b"),
            ("{1:1}", ""),
            ("[NaN]", "/0: "),
        ] {
            let refused = written(text).unwrap_err();
            assert!(refused.starts_with(place), "{text}: {refused}");
        }
        let deep = |depth| "[".repeat(depth) + &"]".repeat(depth);
        assert!(written(&deep(MAX_DEPTH)).is_ok());
        assert!(written(&deep(MAX_DEPTH + 1)).is_err());
        let nested = (0..=MAX_DEPTH).fold(Value::Null, |inner, _| json!([inner]));
        assert_eq!(canonical(&nested).unwrap_err().why, "it is nested too deep");
    }

    #[test]
    fn a_key_is_long_enough_and_never_shown() {
        assert_eq!(Key::new(&[1; MIN_KEY - 1]).unwrap_err(), ShortKey(MIN_KEY - 1));
        assert_eq!(format!("{:?}", Key::new(&[7; MIN_KEY]).unwrap()), "Key(hidden)");
    }

    #[test]
    fn a_refusal_names_the_part_of_the_request() {
        let (good, bad) = (json!({}), json!({"n": 0.5}));
        let base =
            Logical { principal: "p", tool: "t", version: "1", arguments: &good, state: &good, responses: &good };
        let key = Key::new(&[1; MIN_KEY]).unwrap();
        for (request, path) in [
            (Logical { arguments: &bad, ..base }, "/arguments/n"),
            (Logical { state: &bad, ..base }, "/continuation_state/n"),
            (Logical { responses: &bad, ..base }, "/input_responses/n"),
        ] {
            assert_eq!(request.fingerprint(&key).unwrap_err().path, path);
        }
    }

    #[test]
    fn each_part_of_a_request_and_the_key_change_the_fingerprint() {
        let (one, two) = (json!({"a": 1}), json!({"a": 2}));
        let base = Logical { principal: "p", tool: "t", version: "1", arguments: &one, state: &one, responses: &one };
        let (key, other) = (Key::new(&[1; MIN_KEY]).unwrap(), Key::new(&[2; MIN_KEY]).unwrap());
        let of = |request: Logical<'_>, key: &Key| request.fingerprint(key).unwrap().to_string();
        let all = std::collections::BTreeSet::from([
            of(base, &key),
            of(base, &other),
            of(Logical { principal: "q", ..base }, &key),
            of(Logical { tool: "u", ..base }, &key),
            of(Logical { version: "2", ..base }, &key),
            of(Logical { arguments: &two, ..base }, &key),
            of(Logical { state: &two, ..base }, &key),
            of(Logical { responses: &two, ..base }, &key),
        ]);
        assert_eq!(all.len(), 8);
        let same = json!({"a": 1.0});
        assert_eq!(of(Logical { arguments: &same, state: &same, responses: &same, ..base }, &key), of(base, &key));
    }
}
