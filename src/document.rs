//! Owns loading the documents that people write: strict JSON, then the schema with all faults at once, then types.
//!
//! Refuses a document of a newer format before it looks at anything else in it. Invariant: a document that was loaded
//! passed the published schema of its format, and no network was asked for that schema.

use std::path::Path;

use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::error::Error;
use crate::finding::Code;
use crate::json::{self, Fault, Object};
use crate::limits::Limits;
use crate::name::escape;

/// Faults listed of one document. A person fixes a few and tries again.
const MAX_FAULTS: usize = 100;

/// Characters shown of one fault: enough for its place, what it wants and the start of what it got.
const MAX_SHOWN: usize = 400;

/// A format of documents that people write.
#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// What it is to a person: `policy`.
    pub kind: &'static str,
    /// Name and major version: `exhibit-policy/1`.
    pub name: &'static str,
    /// Its JSON Schema (2020-12).
    pub schema: &'static str,
}

#[derive(Deserialize)]
struct Probe {
    format: String,
}

impl Format {
    /// Reads a document that came from `path`.
    ///
    /// # Errors
    /// [`Error::UnknownFormat`] for another format or a newer major; [`Error::Document`] with every fault found.
    pub fn load<T: DeserializeOwned>(&self, path: &Path, bytes: &[u8], limits: &Limits) -> Result<T, Error> {
        let invalid = |faults: Vec<String>| Error::Document { path: path.to_path_buf(), kind: self.kind, faults };
        let one = |fault: Fault| invalid(vec![sentence(&fault)]);
        if bytes.len() as u64 > limits.max_document {
            return Err(invalid(vec![format!("it is larger than {} bytes", limits.max_document)]));
        }
        json::check(bytes, limits.max_depth).map_err(one)?;
        let probe = json::read_checked::<Object<Probe>>(bytes, Code::JsonSyntax).map_err(one)?;
        if probe.0.format != self.name {
            return Err(self.unknown(path, &probe.0.format));
        }
        let faults = self.faults(bytes).map_err(|message| invalid(vec![message]))?;
        if !faults.is_empty() {
            return Err(invalid(faults));
        }
        json::read_checked::<Object<T>>(bytes, Code::JsonSyntax).map(|document| document.0).map_err(one)
    }

    fn unknown(&self, path: &Path, found: &str) -> Error {
        let advice = if is_newer(found, self.name) {
            "get a newer version of exhibit"
        } else {
            "give a document of the format that is known"
        };
        let found = shown(found);
        Error::UnknownFormat { place: path.display().to_string(), found, known: self.name, advice }
    }

    /// Every fault that the schema finds, in the document's order, each with its JSON pointer.
    fn faults(&self, bytes: &[u8]) -> Result<Vec<String>, String> {
        let found = self.schema_faults(bytes)?;
        Ok(found.into_iter().map(|(pointer, why)| shown(&format!("{}: {why}", place(&pointer)))).collect())
    }

    /// Every fault that the schema finds, in the document's order: JSON pointer and what is wrong, cut where it is long.
    ///
    /// # Errors
    /// Where the bytes are no JSON at all.
    pub fn schema_faults(&self, bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
        let parse = |bytes: &[u8]| serde_json::from_slice::<serde_json::Value>(bytes).map_err(|e| e.to_string());
        let schema = parse(self.schema.as_bytes())?;
        let validator = jsonschema::draft202012::new(&schema).map_err(|e| format!("the schema is broken: {e}"))?;
        let document = parse(bytes)?;
        let found = validator.iter_errors(&document).take(MAX_FAULTS);
        Ok(found.map(|e| (e.instance_path().to_string(), shown(&e.to_string()))).collect())
    }
}

/// Text with foreign parts as a sentence shows it: what doesn't show is escaped, and what goes on for long is cut.
pub fn shown(text: &str) -> String {
    let cut = text.char_indices().nth(MAX_SHOWN).and_then(|(end, _)| text.get(..end));
    let kept = cut.unwrap_or(text);
    let escaped = escape(kept.as_bytes());
    // A backslash alone is no reason to write the text in another way.
    let plain = escaped == kept.replace('\\', "\\\\");
    let end = if cut.is_some() { "\u{2026}" } else { "" };
    format!("{}{end}", if plain { kept } else { &escaped })
}

/// Whether `found` is a later major of the format `known`: the same name, a larger number after its slash.
pub fn is_newer(found: &str, known: &str) -> bool {
    let parted = |text: &str| text.rsplit_once('/').map(|(name, major)| (name.to_owned(), major_of(major)));
    match (parted(found), parted(known)) {
        (Some((name, Some(major))), Some((own, Some(ours)))) => name == own && major > ours,
        (_, _) => false,
    }
}

/// A major version: digits without a leading zero. One too large to count is newer than all.
pub fn major_of(text: &str) -> Option<u64> {
    let digits = !text.is_empty() && !text.starts_with('0') && text.bytes().all(|c| c.is_ascii_digit());
    digits.then(|| text.parse().unwrap_or(u64::MAX))
}

fn sentence(fault: &Fault) -> String {
    let line = fault.line.map(|line| format!(" (line {line})")).unwrap_or_default();
    shown(&format!("{}{line}: {}", place(&fault.pointer), fault.message))
}

fn place(pointer: &str) -> &str {
    if pointer.is_empty() { "the document" } else { pointer }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TOY: Format = Format {
        kind: "toy",
        name: "toy/1",
        schema: r#"{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","additionalProperties":false,
            "required":["format","n"],"properties":{"format":{"const":"toy/1"},"n":{"type":"integer"},"m":{"type":"string"}}}"#,
    };

    #[derive(Debug, PartialEq, Deserialize)]
    #[serde(deny_unknown_fields)]
    struct Toy {
        format: String,
        n: u64,
        m: Option<String>,
    }

    fn load(text: &str) -> Result<Toy, Error> {
        TOY.load(Path::new("toy.json"), text.as_bytes(), &Limits::default())
    }

    fn faults(text: &str) -> Vec<String> {
        match load(text) {
            Err(Error::Document { faults, .. }) => faults,
            other => panic!("{text}: {other:?}"),
        }
    }

    #[test]
    fn all_faults_are_named_at_once_with_their_places() {
        assert_eq!(load(r#"{"format":"toy/1","n":1}"#).unwrap(), Toy { format: "toy/1".into(), n: 1, m: None });
        let found = faults(r#"{"format":"toy/1","n":"1","m":2,"x":3}"#);
        assert_eq!(found.len(), 3, "{found:?}");
        assert!(found.iter().any(|fault| fault.starts_with("/n: ")));
        assert!(found.iter().any(|fault| fault.starts_with("/m: ")));
        // What the schema language can't tell apart, the types do.
        assert!(faults(r#"{"format":"toy/1","n":1.0}"#)[0].starts_with("/n"));
        assert!(faults("{\"format\":\"toy/1\",\n\"n\":1,\"n\":1}")[0].starts_with("/n (line 2): "));
        assert_eq!(faults("[\"toy/1\", 1]").len(), 1);
        assert_eq!(faults("{").len(), 1);
        assert_eq!(faults("{\"n\":1}").len(), 1);
        assert_eq!(faults(&" ".repeat((16 << 20) + 1)), ["it is larger than 16777216 bytes"]);
    }

    #[test]
    fn foreign_text_is_shown_short_and_plain() {
        assert_eq!(shown("a\\b"), "a\\b");
        assert_eq!(shown("a\u{202e}\\b\n"), "a\\u{202e}\\\\b\\u{a}");
        assert_eq!(shown(&"x".repeat(MAX_SHOWN)).chars().count(), MAX_SHOWN);
        assert_eq!(shown(&"x".repeat(MAX_SHOWN + 1)).chars().count(), MAX_SHOWN + 1);
        let long = format!("{{\"format\":\"toy/1\",\"n\":\"{}\\u001b\"}}", "y".repeat(5000));
        assert!(faults(&long)[0].len() < 500);
        let odd = faults("{\"format\":\"toy/1\",\"n\":1,\"\\u202e\":1}");
        assert!(odd[0].contains("\\u{202e}"), "{odd:?}");
    }

    #[test]
    fn other_formats_are_told_apart_from_newer_ones() {
        for (format, advised) in [
            ("toy/2", "newer"),
            ("toy/99999999999999999999999", "newer"),
            ("toy/0", "known"),
            ("toys/2", "known"),
            ("toy/02", "known"),
        ] {
            let Err(Error::UnknownFormat { advice, .. }) = load(&format!("{{\"format\":\"{format}\",\"later\":[]}}"))
            else {
                panic!("{format} was taken")
            };
            assert!(advice.contains(advised), "{format}: {advice}");
        }
    }
}
