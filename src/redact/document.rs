//! Owns the fields of the document that declares how a release is made: `exhibit-export/1`.
//!
//! Refuses to interpret them: patterns and globs are texts here. Invariant: what a release leaves out, changes or lets
//! through has a reason in words.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::digest::{GitBlob, Sha256};
use crate::form::{self, Project};
use crate::json;
use crate::name::EntryName;

/// How a release is made, as a person declared it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// Name and major version of the format.
    pub format: String,
    /// The project that is released.
    pub project: Project,
    /// For people only.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub notes: Option<String>,
    /// What is replaced, in this order.
    #[serde(default, deserialize_with = "json::objects")]
    pub redactions: Vec<Redaction>,
    /// What is left out.
    #[serde(default, deserialize_with = "json::objects")]
    pub omissions: Vec<Omission>,
    /// What is let through although a rule refuses it.
    #[serde(default, deserialize_with = "json::objects")]
    pub allowed: Vec<Allowed>,
    /// Files that were redacted before they came into this repository.
    #[serde(default, deserialize_with = "json::objects")]
    pub derivatives: Vec<Recorded>,
    /// The runs that the release holds.
    #[serde(default, deserialize_with = "json::objects")]
    pub runs: Vec<RetainedRun>,
    /// Runs that the repository has and the release doesn't claim.
    #[serde(default, deserialize_with = "json::objects")]
    pub not_retained: Vec<NotRetained>,
}

/// One text that is replaced by another.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Redaction {
    /// Its name, which the manifest gives as the rule.
    #[serde(deserialize_with = "form::filled")]
    pub label: String,
    /// A regular expression over bytes. What its group `private` matched is the private string, or else the whole match.
    #[serde(deserialize_with = "form::filled")]
    pub pattern: String,
    /// What stands there instead, literally.
    pub replacement: String,
    /// Globs of the files that it applies to.
    pub files: Vec<String>,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
    /// What it matches up to, where that may be told.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub matched_prefix: Option<String>,
}

/// Files that are left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// A glob.
    #[serde(deserialize_with = "form::filled")]
    pub files: String,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
    /// Whether it may match nothing.
    #[serde(default)]
    pub optional: bool,
}

/// A refusal of some files that are let through.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Allowed {
    /// A glob.
    #[serde(deserialize_with = "form::filled")]
    pub files: String,
    /// The name of the rule that refuses it: of [`super::NAME_RULES`], of [`super::SECRET_RULES`] or [`super::OPAQUE`].
    #[serde(deserialize_with = "form::filled")]
    pub rule: String,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
}

/// A file that was redacted before it came into this repository.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The file.
    pub path: EntryName,
    /// The name of the rule that was applied, or several joined by `, `.
    #[serde(deserialize_with = "form::filled")]
    pub rule: String,
    /// SHA-256 of the file as it is.
    pub public_sha256: Sha256,
    /// SHA-256 of the private original: an assertion.
    pub private_sha256: Sha256,
    /// Git blob id of the private original: an assertion.
    #[serde(default, deserialize_with = "json::nullable")]
    pub private_git_blob: Option<GitBlob>,
    /// What the rule matched up to, where that may be told.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub matched_prefix: Option<String>,
    /// How often it matched, where that is known.
    #[serde(default, deserialize_with = "occurrences", skip_serializing_if = "Option::is_none")]
    pub occurrences: Option<u64>,
}

/// A run that the release holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RetainedRun {
    /// The run's folder from the root.
    pub path: EntryName,
    /// Its matrix from the root.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub matrix: Option<EntryName>,
    /// Its dialect from the root.
    #[serde(default, deserialize_with = "json::optional", skip_serializing_if = "Option::is_none")]
    pub dialect: Option<EntryName>,
    /// Why it is kept although it failed; none where it didn't.
    #[serde(default, deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub failed_evidence: Option<String>,
    /// Why its source snapshot isn't there; none where it is.
    #[serde(default, deserialize_with = "filled", skip_serializing_if = "Option::is_none")]
    pub without_snapshot: Option<String>,
}

/// A run that the repository has and the release doesn't claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotRetained {
    /// The run's folder from the root.
    pub path: EntryName,
    /// Why.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
}

impl Document {
    /// The labels of redactions that the recorded derivatives name: these may match nothing, since they did before.
    pub fn recorded_labels(&self) -> BTreeSet<&str> {
        self.derivatives.iter().flat_map(|recorded| recorded.rule.split(", ")).collect()
    }
}

fn filled<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<String>, D::Error> {
    form::filled(deserializer).map(Some)
}

fn occurrences<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    form::integer(deserializer).map(Some)
}
