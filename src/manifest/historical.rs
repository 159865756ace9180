//! Owns the historical manifest `public-source-export-v3`: the rules under which the reference study published.
//!
//! Refuses every deviation from those rules, and redactions that the project's policy didn't approve. Invariant: which
//! files a study redacted is the policy's to say; this file knows no path and no digest.

use std::collections::BTreeMap;
use std::str::FromStr;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};

use super::paths::{self, at};
use super::{Declared, Derivative, MANIFEST, approval};
use crate::digest::{GitBlob, Sha256};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::form::{self, Mode, NotTheForm, ObjectId};
use crate::json::{self, Ignored};
use crate::name::EntryName;
use crate::policy::{Approved, Policy};

/// The format's name. Its version 3 is the last that was written.
pub(super) const FORMAT: &str = "public-source-export-v3";

/// The one reason for an omission that the format knows.
const SUPERSEDED: &str = "superseded_tracked_manifest";

/// The document as it stands in the file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Wire {
    /// Read before to tell the format.
    #[serde(rename = "format")]
    _format: String,
    #[serde(deserialize_with = "form::parsed")]
    project: Part,
    source_commit: Commit,
    #[serde(rename = "source_kind", deserialize_with = "form::parsed")]
    _source_kind: AlreadyPublic,
    #[serde(deserialize_with = "json::nullable")]
    origin_private_commit: Option<Commit>,
    #[serde(rename = "privacy_contract", deserialize_with = "anything_but_null")]
    _privacy_contract: Ignored,
    #[serde(deserialize_with = "form::integer")]
    tracked_source_file_count: u64,
    #[serde(deserialize_with = "form::integer")]
    exported_file_count: u64,
    #[serde(deserialize_with = "form::integer")]
    omitted_file_count: u64,
    #[serde(deserialize_with = "json::objects")]
    omissions: Vec<WireOmission>,
    #[serde(deserialize_with = "json::objects")]
    files: Vec<WireFile>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireOmission {
    path: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WireFile {
    path: EntryName,
    #[serde(deserialize_with = "form::parsed")]
    git_mode: GitMode,
    git_blob_sha1: GitBlob,
    original_sha256: Sha256,
    exported_sha256: Sha256,
    #[serde(deserialize_with = "form::parsed")]
    status: Status,
    transforms: Vec<Ignored>,
    /// What the redaction promised; for people.
    #[serde(rename = "contract", default, deserialize_with = "json::optional")]
    _contract: Option<String>,
    #[serde(default, deserialize_with = "json::optional")]
    private_origin_sha256: Option<Sha256>,
    #[serde(default, deserialize_with = "json::optional")]
    private_origin_git_blob_sha1: Option<GitBlob>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Status {
    ByteIdentical,
    RetainedRedactedDerivative,
}

#[derive(Debug)]
struct AlreadyPublic;

#[derive(Debug)]
struct GitMode(Mode);

#[derive(Debug)]
struct Commit(ObjectId);

/// One part of a portable name.
#[derive(Debug)]
struct Part(EntryName);

/// A manifest of this format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Historical {
    project: EntryName,
    source_commit: ObjectId,
    origin_private_commit: Option<ObjectId>,
    files: Vec<HistoricalFile>,
    derivatives: BTreeMap<String, Derivative>,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HistoricalFile {
    path: EntryName,
    mode: Mode,
    sha256: Sha256,
    git_blob: GitBlob,
}

impl Historical {
    /// Checks what stands in the file; without a `policy` against the embedded one of its project.
    pub(super) fn read(wire: Wire, policy: Option<&Policy>, findings: &mut Findings) -> Result<Self, Error> {
        let embedded = if policy.is_none() { Policy::for_project(wire.project.0.as_str())? } else { None };
        let policy = policy.or(embedded.as_ref());
        check_counts(&wire, findings);
        check_omissions(&wire, findings);
        paths::check(wire.files.iter().map(|file| &file.path), findings);
        let mut derivatives = BTreeMap::new();
        for (index, file) in wire.files.iter().enumerate() {
            let approved = policy.and_then(|policy| policy.approved(file.path.as_str()));
            check_file(index, file, findings);
            check_approval(index, file, approved, findings);
            if let Some(approved) = approved.filter(|_| file.status == Status::RetainedRedactedDerivative) {
                derivatives.insert(file.path.to_string(), Derivative::from(approved));
            }
        }
        if let Some(policy) = policy {
            approval::check_absent(wire.files.iter().map(|file| &file.path), policy, findings);
        }
        let files = wire.files.into_iter().map(|file| HistoricalFile {
            path: file.path,
            mode: file.git_mode.0,
            sha256: file.exported_sha256,
            git_blob: file.git_blob_sha1,
        });
        Ok(Self {
            project: wire.project.0,
            source_commit: wire.source_commit.0,
            origin_private_commit: wire.origin_private_commit.map(|commit| commit.0),
            files: files.collect(),
            derivatives,
        })
    }

    /// The project's name.
    pub fn project(&self) -> &str {
        self.project.as_str()
    }

    /// The public commit that was exported.
    pub fn source_commit(&self) -> &ObjectId {
        &self.source_commit
    }

    /// The private commit that the public one came from: an assertion.
    pub fn origin_private_commit(&self) -> Option<&ObjectId> {
        self.origin_private_commit.as_ref()
    }

    /// The files, in the manifest's order.
    pub fn files(&self) -> &[HistoricalFile] {
        &self.files
    }

    /// The redacted files that the policy approved and the manifest declares, as the policy has them.
    pub fn derivatives(&self) -> &BTreeMap<String, Derivative> {
        &self.derivatives
    }

    /// The name of the one folder at the ZIP's root: the project and the first 8 digits of the commit.
    pub fn root_name(&self) -> String {
        let commit: String = self.source_commit.as_str().chars().take(8).collect();
        format!("{}-{commit}", self.project)
    }
}

impl HistoricalFile {
    pub(super) fn declared(&self) -> Declared<'_> {
        let Self { path, mode, sha256, git_blob } = self;
        Declared { path, size: None, mode: *mode, sha256, git_blob, role: None }
    }
}

/// What a policy knows of a redaction.
impl From<&Approved> for Derivative {
    fn from(approved: &Approved) -> Self {
        Self {
            rule: approved.transform.clone(),
            matched_prefix: None,
            occurrences: None,
            private_sha256: approved.private_origin_sha256,
            private_git_blob: Some(approved.private_origin_git_blob),
            public_sha256: approved.public_sha256,
        }
    }
}

fn check_counts(wire: &Wire, findings: &mut Findings) {
    let (files, omissions) = (wire.files.len() as u64, wire.omissions.len() as u64);
    for (field, recorded, computed) in [
        ("exported_file_count", wire.exported_file_count, files),
        ("omitted_file_count", wire.omitted_file_count, omissions),
        ("tracked_source_file_count", wire.tracked_source_file_count, files.saturating_add(omissions)),
    ] {
        if recorded != computed {
            let message = format!("{field} is {recorded}, but the manifest lists {computed}");
            let finding = Finding::new(Code::ManifestCount, at(format!("/{field}")), message);
            findings.push(finding.values(recorded, computed));
        }
    }
}

fn check_omissions(wire: &Wire, findings: &mut Findings) {
    for (index, omission) in wire.omissions.iter().enumerate() {
        if index > 0 || omission.path != MANIFEST || omission.reason != SUPERSEDED {
            let message = format!("the only omission that the format allows is one of {MANIFEST} as {SUPERSEDED}");
            findings.push(Finding::new(Code::ManifestOmission, at(format!("/omissions/{index}")), message));
        }
    }
}

/// What a file's own fields say must fit its status.
fn check_file(index: usize, file: &WireFile, findings: &mut Findings) {
    let path = &file.path;
    let mut push = |field: &str, message: String| {
        findings.push(Finding::new(Code::ManifestBlob, at(format!("/files/{index}/{field}")), message));
    };
    if file.original_sha256 != file.exported_sha256 {
        push("original_sha256", format!("\"{path}\" was exported unchanged, but its original has another SHA-256"));
    }
    if !file.transforms.is_empty() {
        push(
            "transforms",
            format!("\"{path}\" was exported unchanged, but {} transforms are listed", file.transforms.len()),
        );
    }
    for (field, present) in [
        ("private_origin_sha256", file.private_origin_sha256.is_some()),
        ("private_origin_git_blob_sha1", file.private_origin_git_blob_sha1.is_some()),
    ] {
        match (file.status, present) {
            (Status::ByteIdentical, false) | (Status::RetainedRedactedDerivative, true) => {}
            (Status::ByteIdentical, true) => push(field, format!("\"{path}\" is no derivative, but {field} is given")),
            (Status::RetainedRedactedDerivative, false) => {
                push(field, format!("\"{path}\" is a derivative, but {field} is missing"));
            }
        }
    }
}

/// What a file claims must be what the policy approved.
fn check_approval(index: usize, file: &WireFile, approved: Option<&Approved>, findings: &mut Findings) {
    let path = &file.path;
    let place = |field: &str| at(format!("/files/{index}/{field}"));
    let approved = match (file.status, approved) {
        (Status::ByteIdentical, None) => return,
        (Status::ByteIdentical, Some(_)) => {
            let message = format!("\"{path}\" claims to be byte-identical, but the policy knows it as a derivative");
            return findings.push(Finding::new(Code::DerivativeSet, place("status"), message));
        }
        (Status::RetainedRedactedDerivative, None) => {
            let message = format!("\"{path}\" claims to be a derivative that no policy approved");
            return findings.push(Finding::new(Code::DerivativeSet, place("status"), message));
        }
        (Status::RetainedRedactedDerivative, Some(approved)) => approved,
    };
    let mut compare = |field: &str, recorded: &str, approved: &str| {
        findings.extend(approval::differs(place(field), path, recorded, approved));
    };
    compare("exported_sha256", &file.exported_sha256.to_string(), &approved.public_sha256.to_string());
    // A private digest that is missing was reported as such.
    if let Some(sha256) = file.private_origin_sha256 {
        compare("private_origin_sha256", &sha256.to_string(), &approved.private_origin_sha256.to_string());
    }
    if let Some(blob) = file.private_origin_git_blob_sha1 {
        compare("private_origin_git_blob_sha1", &blob.to_string(), &approved.private_origin_git_blob.to_string());
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
        match text {
            "byte_identical" => Ok(Self::ByteIdentical),
            "retained_redacted_derivative" => Ok(Self::RetainedRedactedDerivative),
            _ => Err(NotTheForm::new("a status is byte_identical or retained_redacted_derivative")),
        }
    }
}
