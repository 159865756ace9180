//! Owns dialects: how a server's wire maps to the ledger, as data.
//!
//! Refuses documents that don't follow `exhibit-dialect/1`, with all their faults. Invariant: what the dialect doesn't know
//! is told as unrecognized, never guessed; the order of keys, space, ids, other fields and free text don't matter.

mod document;
mod fingerprint;
mod intern;
mod open;
mod reply;
mod request;
mod token;

use std::collections::BTreeMap;
use std::path::Path;

use crate::document::Format;
use crate::error::Error;
use crate::ledger::EffectIds;
use crate::ledger::fingerprint::Key;
use crate::limits::Limits;

use document::Document;
pub use intern::{Interner, Opened, Origin, Origins};
pub use open::Unopened;
pub use token::NotSealed;
use token::Unsealing;

/// The format of dialects. Version 1 is the first.
pub const FORMAT: Format =
    Format { kind: "dialect", name: "exhibit-dialect/1", schema: include_str!("../../schemas/exhibit-dialect-1.json") };

/// The dialects that come with the tool, each with the name of its file.
const EMBEDDED: &[(&str, &str)] = &[
    ("matrices/dialects/mcp-python.json", include_str!("../../matrices/dialects/mcp-python.json")),
    ("matrices/dialects/mcp-typescript.json", include_str!("../../matrices/dialects/mcp-typescript.json")),
    ("matrices/dialects/mcp-unguarded.json", include_str!("../../matrices/dialects/mcp-unguarded.json")),
];

/// How a server's wire maps to the ledger.
#[derive(Debug, Clone, PartialEq)]
pub struct Dialect {
    document: Document,
    /// Arguments' defaults in canonical form.
    defaults: BTreeMap<String, Vec<u8>>,
    /// With the state's key, where it was given.
    unsealing: Option<Unsealing>,
    /// The fingerprints' key, where it was given.
    fingerprint_key: Option<Key>,
}

impl Dialect {
    /// Reads a dialect that a person gave, from the file at `path`.
    ///
    /// # Errors
    /// A newer or foreign format; a document with faults, all of them.
    pub fn load(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let document: Document = FORMAT.load(path, bytes, limits)?;
        let mut faults = Vec::new();
        let mut defaults = BTreeMap::new();
        for (name, value) in &document.write.defaults {
            match crate::json::canonical(value) {
                Ok(canonical) => drop(defaults.insert(name.clone(), canonical)),
                Err(error) => faults.push(format!("/write/defaults/{name}: {error}")),
            }
            if !document.write.arguments.contains(name) {
                faults.push(format!("/write/defaults/{name}: the tool has no such argument"));
            }
        }
        if document.status.as_ref().is_some_and(|status| status.tool == document.write.tool) {
            faults.push("/status/tool: it is the tool that writes".to_owned());
        }
        if faults.is_empty() {
            return Ok(Self { document, defaults, unsealing: None, fingerprint_key: None });
        }
        Err(Error::Document { path: path.to_path_buf(), kind: FORMAT.kind, faults })
    }

    /// The dialects that come with the tool.
    ///
    /// # Errors
    /// None in a build whose tests passed: the documents are part of it.
    pub fn embedded() -> Result<Vec<Self>, Error> {
        let load = |(path, text): &(&str, &str)| Self::load(Path::new(path), text.as_bytes(), &Limits::default());
        EMBEDDED.iter().map(load).collect()
    }

    /// The dialect of this name that comes with the tool, if there is one.
    ///
    /// # Errors
    /// As [`Dialect::embedded`].
    pub fn named(name: &str) -> Result<Option<Self>, Error> {
        Ok(Self::embedded()?.into_iter().find(|dialect| dialect.name() == name))
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.document.name
    }

    /// Whether requests name an operation. Without one no claim of at most once is possible; operations are then told as
    /// empty texts.
    pub fn has_operations(&self) -> bool {
        self.document.write.operation.is_some()
    }

    /// Whether the SDK refuses a state under other arguments than it was issued for.
    pub fn binds_arguments(&self) -> bool {
        self.document.state.binds_arguments
    }

    /// The request that asks for the status of an operation, as a line to send; the id in it is a placeholder. None where
    /// the server has no such tool.
    pub fn status_request(&self, operation: &str) -> Option<String> {
        let (request, status) = (&self.document.request, self.document.status.as_ref()?);
        let mut message = serde_json::json!({"jsonrpc": "2.0", "id": 1, "method": request.method});
        put(&mut message, request.tool.steps(), status.tool.as_str().into());
        let at: Vec<Box<str>> = request.arguments.steps().iter().chain(status.operation.steps()).cloned().collect();
        put(&mut message, &at, operation.into());
        Some(message.to_string())
    }

    /// What ids effects get.
    pub fn effect_ids(&self) -> EffectIds {
        self.document.effect_ids
    }
}

/// Puts a value where a pointer's steps lead, through objects that are made on the way.
fn put(into: &mut serde_json::Value, steps: &[Box<str>], value: serde_json::Value) {
    match steps {
        [] => *into = value,
        [first, rest @ ..] => {
            if !into.is_object() {
                *into = serde_json::json!({});
            }
            if let Some(fields) = into.as_object_mut() {
                put(fields.entry(&**first).or_insert_with(|| serde_json::json!({})), rest, value);
            }
        }
    }
}

#[cfg(test)]
mod tests;
