//! Owns the historical documents as they stand in the file, and the forms of their values.
//!
//! Refuses fields that no version has, and values of another form. Invariant: what only some versions have is optional
//! here, and never null where it is there; which version has it is for the checks to say.

use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use crate::digest::{GitBlob, Sha256};
use crate::form::{self, Mode, NotTheForm, ObjectId};
use crate::json::{self, Ignored};
use crate::name::EntryName;

/// The document as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(in crate::manifest) struct Wire {
    /// Read before to tell the version.
    #[serde(rename = "format")]
    _format: String,
    #[serde(deserialize_with = "form::parsed")]
    pub(super) project: Part,
    pub(super) source_commit: Commit,
    /// Version 3.
    #[serde(default, deserialize_with = "json::optional")]
    pub(super) source_kind: Option<AlreadyPublic>,
    /// Version 3.
    #[serde(default, deserialize_with = "json::optional")]
    pub(super) origin_private_commit: Option<Origin>,
    #[serde(rename = "privacy_contract", deserialize_with = "anything_but_null")]
    _privacy_contract: Ignored,
    #[serde(deserialize_with = "form::integer")]
    pub(super) tracked_source_file_count: u64,
    #[serde(deserialize_with = "form::integer")]
    pub(super) exported_file_count: u64,
    #[serde(deserialize_with = "form::integer")]
    pub(super) omitted_file_count: u64,
    #[serde(deserialize_with = "json::objects")]
    pub(super) omissions: Vec<WireOmission>,
    #[serde(deserialize_with = "json::objects")]
    pub(super) files: Vec<WireFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireOmission {
    pub(super) path: String,
    pub(super) reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct WireFile {
    pub(super) path: EntryName,
    #[serde(deserialize_with = "form::parsed")]
    pub(super) git_mode: GitMode,
    /// Of the exported content in version 3, of the original before.
    pub(super) git_blob_sha1: GitBlob,
    pub(super) original_sha256: Sha256,
    pub(super) exported_sha256: Sha256,
    #[serde(deserialize_with = "form::parsed")]
    pub(super) status: Status,
    #[serde(deserialize_with = "json::objects")]
    pub(super) transforms: Vec<Transform>,
    /// What the redaction promised; for people.
    #[serde(default, deserialize_with = "json::optional")]
    pub(super) contract: Option<String>,
    /// Version 3.
    #[serde(default, deserialize_with = "json::optional")]
    pub(super) private_origin_sha256: Option<Sha256>,
    /// Version 3.
    #[serde(default, deserialize_with = "json::optional")]
    pub(super) private_origin_git_blob_sha1: Option<GitBlob>,
}

/// What was done to a file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Transform {
    #[serde(rename = "transform")]
    pub(super) rule: String,
    #[serde(deserialize_with = "form::integer")]
    pub(super) occurrences: u64,
    pub(super) matched_prefix: String,
}

/// What is claimed of a file, in any version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Status {
    ByteIdentical,
    RedactedDerivative,
    RetainedRedactedDerivative,
}

#[derive(Debug)]
pub(super) struct AlreadyPublic;

#[derive(Debug)]
pub(super) struct GitMode(pub(super) Mode);

#[derive(Debug)]
pub(super) struct Commit(pub(super) ObjectId);

/// The private commit of origin, or null.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub(super) struct Origin(pub(super) Option<Commit>);

/// One part of a portable name.
#[derive(Debug)]
pub(super) struct Part(pub(super) EntryName);

impl Status {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::ByteIdentical => "byte_identical",
            Self::RedactedDerivative => "redacted_derivative",
            Self::RetainedRedactedDerivative => "retained_redacted_derivative",
        }
    }
}

fn anything_but_null<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Ignored, D::Error> {
    Option::<Ignored>::deserialize(deserializer)?.ok_or_else(|| D::Error::custom("the privacy contract is null"))
}

impl<'de> Deserialize<'de> for Commit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        form::parsed(deserializer)
    }
}

impl<'de> Deserialize<'de> for AlreadyPublic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        form::parsed(deserializer)
    }
}

impl FromStr for Commit {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        let fault = NotTheForm::new("a commit is 40 lower-case hex digits");
        text.parse().ok().filter(ObjectId::is_sha1).map(Self).ok_or(fault)
    }
}

impl FromStr for Part {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        let fault = NotTheForm::new("a project's name is one part of a portable name");
        EntryName::new(text).ok().filter(|name| !name.as_str().contains('/')).map(Self).ok_or(fault)
    }
}

impl FromStr for AlreadyPublic {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        if text == "already_public" { Ok(Self) } else { Err(NotTheForm::new("the source kind is already_public")) }
    }
}

impl FromStr for GitMode {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        match text {
            "100644" => Ok(Self(Mode::Plain)),
            "100755" => Ok(Self(Mode::Executable)),
            _ => Err(NotTheForm::new("a git mode is 100644 or 100755")),
        }
    }
}

impl FromStr for Status {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        let all = [Self::ByteIdentical, Self::RedactedDerivative, Self::RetainedRedactedDerivative];
        let fault = NotTheForm::new("a status is byte_identical, redacted_derivative or retained_redacted_derivative");
        all.into_iter().find(|status| status.name() == text).ok_or(fault)
    }
}
