//! Owns the rules of a release, `exhibit-export/1`: redactions, omissions, allowances, retained runs.
//!
//! Refuses documents that don't follow the format, with all their faults. Invariant: every pattern and every glob of
//! loaded rules compiles within its bound.

use std::collections::BTreeSet;
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};
use serde::{Deserialize, Deserializer};

use crate::digest::{GitBlob, Sha256};
use crate::document::{Format, shown};
use crate::error::Error;
use crate::form::{self, Project};
use crate::json;
use crate::limits::Limits;
use crate::name::EntryName;

/// The format of export rules. Version 1 is the first.
pub const FORMAT: Format = Format {
    kind: "document of export rules",
    name: "exhibit-export/1",
    schema: include_str!("../../schemas/exhibit-export-1.json"),
};

/// Bytes of a compiled pattern. What matches a path, a host or a name takes a few thousand.
const MAX_COMPILED: usize = 1 << 20;

/// The named group of a pattern that is the private part of what it matches.
pub(super) const PRIVATE: &str = "private";

/// The rules of a release.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Rules {
    /// Name and major version of the format.
    pub format: String,
    /// The project that is released.
    pub project: Project,
    /// For people only.
    #[serde(default, deserialize_with = "json::optional")]
    pub notes: Option<String>,
    /// What is replaced, in the order in which it is.
    #[serde(default, deserialize_with = "json::objects")]
    pub redactions: Vec<Redaction>,
    /// What is left out.
    #[serde(default, deserialize_with = "json::objects")]
    pub omissions: Vec<Omission>,
    /// What would be refused and isn't.
    #[serde(default, deserialize_with = "json::objects")]
    pub allowed: Vec<Allowed>,
    /// Redactions that were made before.
    #[serde(default, deserialize_with = "json::objects")]
    pub derivatives: Vec<RecordedDerivative>,
    /// Runs to be retained, besides those in `matrices/<name>/runs`, or with more to say of them.
    #[serde(default, deserialize_with = "json::objects")]
    pub runs: Vec<Run>,
    /// Folders whose runs are no evidence of the release.
    #[serde(default, deserialize_with = "json::objects")]
    pub not_retained: Vec<NotRetained>,
}

/// What is replaced in some files.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redaction {
    /// The name of the rule in the manifest.
    #[serde(deserialize_with = "form::filled")]
    pub label: String,
    /// What is private: a whole match, or its group named `private`.
    #[serde(deserialize_with = "pattern")]
    pub pattern: Regex,
    /// What stands in a match's place.
    pub replacement: String,
    /// The files, one glob at least.
    pub files: Vec<Glob>,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
    /// What a match starts with, where that may be told.
    #[serde(default, deserialize_with = "json::optional")]
    pub matched_prefix: Option<String>,
}

/// What is left out.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// The files.
    pub files: Glob,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
    /// Whether there may be none.
    #[serde(default)]
    pub optional: bool,
}

/// What would be refused and isn't.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// The files.
    pub files: Glob,
    /// The rule that refuses them.
    #[serde(deserialize_with = "form::filled")]
    pub rule: String,
    /// Why they are no danger.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
}

/// A redaction that was made before the file came into the repository.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordedDerivative {
    /// The file.
    pub path: EntryName,
    /// The name of the rule that was applied.
    #[serde(deserialize_with = "form::filled")]
    pub rule: String,
    /// The digest of what was published.
    pub public_sha256: Sha256,
    /// The digest of the private original: an assertion.
    pub private_sha256: Sha256,
    /// The git blob id of the private original: an assertion.
    #[serde(default, deserialize_with = "json::nullable")]
    pub private_git_blob: Option<GitBlob>,
    /// What it matched up to, where that may be told.
    #[serde(default, deserialize_with = "json::nullable")]
    pub matched_prefix: Option<String>,
    /// How often it matched, where that is known.
    #[serde(default, deserialize_with = "form::integer_or_null")]
    pub occurrences: Option<u64>,
}

/// A run to be retained.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its folder.
    pub path: EntryName,
    /// Its matrix, where its own word isn't to be followed.
    #[serde(default, deserialize_with = "json::nullable")]
    pub matrix: Option<EntryName>,
    /// Its dialect.
    #[serde(default, deserialize_with = "json::nullable")]
    pub dialect: Option<EntryName>,
    /// Why it is kept although it isn't coherent.
    #[serde(default, deserialize_with = "json::nullable")]
    pub failed_evidence: Option<String>,
    /// Why it goes without its sources.
    #[serde(default, deserialize_with = "json::nullable")]
    pub without_snapshot: Option<String>,
}

/// A folder whose runs are no evidence of the release.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotRetained {
    /// The folder.
    pub path: EntryName,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
}

/// Names of files: `*` and `?` stay within a part, `**` goes over parts; upper and lower case differ.
#[derive(Debug, Clone)]
pub struct Glob(GlobMatcher);

impl Rules {
    /// Reads the rules that came from the file at `path`.
    ///
    /// # Errors
    /// A newer or foreign format; a document with faults, all of them.
    pub fn load(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let invalid = |faults| Error::Document { path: path.to_path_buf(), kind: FORMAT.kind, faults };
        let draft: Draft = FORMAT.load(path, bytes, limits)?;
        let faults = draft.faults();
        if !faults.is_empty() {
            return Err(invalid(faults));
        }
        let rules: Self = FORMAT.load(path, bytes, limits)?;
        let faults = rules.faults();
        if faults.is_empty() { Ok(rules) } else { Err(invalid(faults)) }
    }

    /// The first omission that a path falls under, with its place.
    pub fn omission(&self, path: &str) -> Option<(usize, &Omission)> {
        self.omissions.iter().enumerate().find(|(_, omission)| omission.files.is_match(path))
    }

    /// The first allowance of what `rule` refuses of a path.
    pub fn allowance(&self, path: &str, rule: &str) -> Option<usize> {
        self.allowed.iter().position(|allowed| allowed.rule == rule && allowed.files.is_match(path))
    }

    /// Whether what `rule` refuses of a path is allowed.
    pub fn allows(&self, path: &str, rule: &str) -> bool {
        self.allowance(path, rule).is_some()
    }

    /// What neither the schema nor the types can say.
    fn faults(&self) -> Vec<String> {
        let labels = self.redactions.iter().map(|redaction| redaction.label.as_str());
        let mut faults = twice("redactions", "label", labels);
        faults.extend(twice("derivatives", "path", self.derivatives.iter().map(|each| each.path.as_str())));
        faults.extend(twice("runs", "path", self.runs.iter().map(|each| each.path.as_str())));
        faults.extend(twice("not_retained", "path", self.not_retained.iter().map(|each| each.path.as_str())));
        for (index, redaction) in self.redactions.iter().enumerate() {
            let at = |field: &str| format!("/redactions/{index}/{field}");
            if redaction.pattern.is_match(b"") {
                faults.push(format!("{}: it matches where nothing stands", at("pattern")));
            }
            if redaction.label.contains(", ") {
                faults.push(format!("{}: a comma and a space part labels in the manifest", at("label")));
            }
            let replacement = redaction.replacement.as_bytes();
            for other in self.redactions.iter().filter(|other| other.pattern.is_match(replacement)) {
                faults.push(format!("{}: the pattern of \"{}\" matches it", at("replacement"), shown(&other.label)));
            }
        }
        for (index, allowed) in self.allowed.iter().enumerate() {
            if !super::refused::is_rule(&allowed.rule) && !super::scan::is_rule(&allowed.rule) {
                faults.push(format!("/allowed/{index}/rule: no rule has the name \"{}\"", shown(&allowed.rule)));
            }
        }
        faults
    }
}

fn twice<'a>(list: &str, field: &str, values: impl Iterator<Item = &'a str>) -> Vec<String> {
    let mut seen = BTreeSet::new();
    let again = values.enumerate().filter(|(_, value)| !seen.insert(*value));
    again.map(|(index, value)| format!("/{list}/{index}/{field}: {} stands there already", shown(value))).collect()
}

/// The rules with patterns and globs as text, so that all that don't compile are told at once.
#[derive(Deserialize)]
struct Draft {
    #[serde(default)]
    redactions: Vec<DraftRedaction>,
    #[serde(default)]
    omissions: Vec<DraftFiles>,
    #[serde(default)]
    allowed: Vec<DraftFiles>,
}

#[derive(Deserialize)]
struct DraftRedaction {
    pattern: String,
    files: Vec<String>,
}

#[derive(Deserialize)]
struct DraftFiles {
    files: String,
}

impl Draft {
    fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for (index, redaction) in self.redactions.iter().enumerate() {
            faults.extend(compiled(&redaction.pattern).err().map(|e| format!("/redactions/{index}/pattern: {e}")));
            for (at, glob) in redaction.files.iter().enumerate() {
                faults.extend(globbed(glob).err().map(|e| format!("/redactions/{index}/files/{at}: {e}")));
            }
        }
        for (list, entries) in [("omissions", &self.omissions), ("allowed", &self.allowed)] {
            for (index, entry) in entries.iter().enumerate() {
                faults.extend(globbed(&entry.files).err().map(|e| format!("/{list}/{index}/files: {e}")));
            }
        }
        faults
    }
}

fn compiled(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(pattern).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED * 8).build();
    built.map_err(|error| {
        // The crate draws the pattern over several lines; its last one says what is wrong.
        let text = error.to_string();
        shown(text.lines().last().unwrap_or_default().trim_start_matches("error: "))
    })
}

fn globbed(glob: &str) -> Result<Glob, String> {
    let built = GlobBuilder::new(glob).literal_separator(true).backslash_escape(true).build();
    built.map(|glob| Glob(glob.compile_matcher())).map_err(|error| shown(&error.kind().to_string()))
}

impl Glob {
    /// Whether a path is one of those names.
    pub fn is_match(&self, path: &str) -> bool {
        self.0.is_match(path)
    }

    /// The glob as it was written.
    pub fn as_str(&self) -> &str {
        self.0.glob().glob()
    }
}

impl<'de> Deserialize<'de> for Glob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        globbed(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
    }
}

fn pattern<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Regex, D::Error> {
    compiled(&String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
}
