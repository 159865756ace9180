//! Owns the manifest of exhibit's own format, `exhibit-manifest/1`: model, checks, writing.
//!
//! Refuses, when writing, whatever it would find fault with when reading. Invariant: the content id is the SHA-256 of
//! the canonical bytes (RFC 8785) of exactly this document.

use std::collections::BTreeMap;
use std::fmt;
use std::io::Write;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::Declared;
use super::paths::{self, at};
use crate::digest::{GitBlob, Sha256, Sha256Hasher};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::form::{self, Mode, NotTheForm, ObjectId, Project, Timestamp};
use crate::json;
use crate::name::EntryName;

/// The format's name and major version. Version 1 is the first.
pub(super) const FORMAT: &str = "exhibit-manifest/1";

/// The document, field by field. Every field stands in the file, null where there is nothing.
///
/// Here and in what it holds fields are declared in the order of their names: that is the canonical order (RFC 8785), so
/// that what `serde_json` writes is canonical as it streams. A test holds it against an implementation of the RFC.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The time of the commit or the run; never of the writing.
    #[serde(deserialize_with = "json::nullable")]
    pub created: Option<Timestamp>,
    /// Every file of the tree but the manifest, sorted by path bytes.
    #[serde(deserialize_with = "json::objects")]
    pub files: Vec<File>,
    /// Name and major version.
    pub format: Version1,
    /// What the tree is.
    pub kind: Kind,
    /// What was left out, sorted by path bytes.
    #[serde(deserialize_with = "json::objects")]
    pub omissions: Vec<Omission>,
    /// The project's name.
    pub project: Project,
    /// The runs that the tree holds, sorted by path bytes.
    #[serde(deserialize_with = "json::objects")]
    pub runs: Vec<Run>,
    /// Where the files come from, if from a commit.
    #[serde(deserialize_with = "json::object_or_null")]
    pub source: Option<Source>,
}

/// `exhibit-manifest/1`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Version1;

/// What a tree is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Kind {
    /// A source tree with evidence, exported from a commit.
    Release,
    /// One frozen run.
    Archive,
    /// A citation with what it cites.
    Bundle,
}

/// The commit that a release was exported from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The commit's id.
    pub commit: ObjectId,
    /// The id of the commit's tree.
    pub tree: ObjectId,
}

/// One file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    /// How it was redacted, if it was.
    #[serde(deserialize_with = "json::object_or_null")]
    pub derivative: Option<Box<Derivative>>,
    /// The git blob id of its content.
    pub git_blob: GitBlob,
    /// Its permission bits.
    pub mode: Mode,
    /// Its name from the tree's root.
    pub path: EntryName,
    /// What it is for.
    pub role: Role,
    /// The digest of its content.
    pub sha256: Sha256,
    /// Bytes of its content.
    #[serde(deserialize_with = "form::integer")]
    pub size: u64,
}

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The head of a run.
    Run,
    /// A run's results.
    Results,
    /// The cases that were asked for.
    Matrix,
    /// How the run was to be done.
    Protocol,
    /// What went over a connection.
    Transcript,
    /// A database after a case.
    Database,
    /// A journal or log beside a database.
    Sidecar,
    /// What a test recorded of a case.
    Record,
    /// What a program printed.
    Log,
    /// What a run was made with.
    Provenance,
    /// The sources that a run was made from.
    SourceSnapshot,
    /// Source code.
    Source,
    /// Text for people.
    Document,
    /// Anything else.
    Other,
}

/// A disclosed redaction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Derivative {
    /// What it matched up to, where that may be told.
    #[serde(deserialize_with = "json::nullable")]
    pub matched_prefix: Option<String>,
    /// How often it matched, where that is known.
    #[serde(deserialize_with = "form::integer_or_null")]
    pub occurrences: Option<u64>,
    /// The git blob id of the private original: an assertion.
    #[serde(deserialize_with = "json::nullable")]
    pub private_git_blob: Option<GitBlob>,
    /// The digest of the private original: an assertion.
    pub private_sha256: Sha256,
    /// The digest of what was published.
    pub public_sha256: Sha256,
    /// The name of the rule that was applied.
    #[serde(deserialize_with = "form::filled")]
    pub rule: String,
}

/// A file that was left out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Omission {
    /// Where it was.
    pub path: EntryName,
    /// Why it was left out.
    #[serde(deserialize_with = "form::filled")]
    pub reason: String,
    /// The digest of its content, if it is told: an assertion.
    #[serde(deserialize_with = "json::nullable")]
    pub sha256: Option<Sha256>,
}

/// A run that the tree holds.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Run {
    /// Its dialect, if the tree holds it.
    #[serde(deserialize_with = "json::nullable")]
    pub dialect: Option<EntryName>,
    /// What was wrong with it: nothing exactly where it is coherent.
    #[serde(deserialize_with = "json::objects")]
    pub faults: Vec<RunFault>,
    /// Its matrix, if the tree holds it.
    #[serde(deserialize_with = "json::nullable")]
    pub matrix: Option<EntryName>,
    /// Its folder from the tree's root.
    pub path: EntryName,
    /// The sources that it was made from, if the tree holds them.
    #[serde(deserialize_with = "json::nullable")]
    pub source_snapshot: Option<EntryName>,
    /// What its check said when it was frozen.
    pub standing: Standing,
}

/// What the check of a run said when it was frozen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    /// Its documents agree with each other and with its files.
    Coherent,
    /// They don't; it was frozen as evidence of a failure.
    FailedEvidence,
}

/// What was wrong with a run when it was frozen.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RunFault {
    /// The code of the finding; a later version may know more of them.
    #[serde(deserialize_with = "form::filled")]
    pub code: String,
    /// One sentence.
    pub message: String,
}

/// A manifest of this format with its content id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Own {
    document: Document,
    content_id: Sha256,
}

impl Own {
    /// A manifest to write. The lists are sorted here.
    ///
    /// # Errors
    /// What reading it back would find, the first of it.
    pub fn new(mut document: Document) -> Result<Self, Error> {
        document.files.sort_by(|a, b| a.path.cmp(&b.path));
        document.omissions.sort_by(|a, b| a.path.cmp(&b.path));
        document.runs.sort_by(|a, b| a.path.cmp(&b.path));
        let mut findings = Findings::new(1);
        check(&document, &mut findings);
        if let Some(finding) = findings.iter().next() {
            return Err(Error::WouldNotVerify(finding.message.clone()));
        }
        let content_id = content_id(&document)?;
        Ok(Self { document, content_id })
    }

    /// The manifest whose document was read from a file with the digest `recorded`.
    pub(super) fn read(document: Document, recorded: Sha256, findings: &mut Findings) -> Result<Self, Error> {
        let content_id = content_id(&document)?;
        if content_id != recorded {
            let message = "the manifest is not in canonical form: its bytes are others than its content's";
            findings.push(Finding::new(Code::ManifestCanonical, at(""), message).values(recorded, content_id));
        }
        check(&document, findings);
        Ok(Self { document, content_id })
    }

    /// The document.
    pub fn document(&self) -> &Document {
        &self.document
    }

    /// SHA-256 of the canonical bytes.
    pub fn content_id(&self) -> Sha256 {
        self.content_id
    }

    /// The name of the one folder at the ZIP's root: the project and the first 12 digits of the content id.
    pub fn root_name(&self) -> String {
        format!("{}-{}", self.document.project, self.content_id.short())
    }

    /// The bytes to write as [`super::MANIFEST`].
    ///
    /// # Errors
    /// None in practice: every value has a JSON form.
    pub fn to_bytes(&self) -> Result<Vec<u8>, Error> {
        let mut bytes = Vec::new();
        write_canonical(&self.document, &mut bytes)?;
        Ok(bytes)
    }

    /// The redacted files.
    pub fn derivatives(&self) -> impl Iterator<Item = (&EntryName, &Derivative)> {
        self.document.files.iter().filter_map(|file| Some((&file.path, file.derivative.as_deref()?)))
    }
}

impl File {
    pub(super) fn declared(&self) -> Declared<'_> {
        let Self { path, size, mode, sha256, git_blob, role, .. } = self;
        Declared { path, size: Some(*size), mode: *mode, sha256, git_blob: Some(git_blob), role: Some(*role) }
    }
}

/// Hashes the canonical bytes as they are written, without keeping them.
fn content_id(document: &Document) -> Result<Sha256, Error> {
    let mut hasher = Sha256Hasher::default();
    write_canonical(document, &mut hasher)?;
    Ok(hasher.finish())
}

fn write_canonical(document: &Document, out: impl Write) -> Result<(), Error> {
    serde_json::to_writer(out, document).map_err(|e| Error::WouldNotVerify(format!("the manifest: {e}")))
}

/// What the types can't hold.
fn check(document: &Document, findings: &mut Findings) {
    paths::check(document.files.iter().map(|file| &file.path), findings);
    paths::order("files", document.files.iter().map(|file| &file.path), findings);
    paths::order("omissions", document.omissions.iter().map(|omission| &omission.path), findings);
    paths::order("runs", document.runs.iter().map(|run| &run.path), findings);
    for (index, file) in document.files.iter().enumerate() {
        if let Some(derivative) = &file.derivative {
            check_derivative(index, file, derivative, findings);
        }
    }
    check_omissions(document, findings);
    check_runs(document, findings);
}

fn check_derivative(index: usize, file: &File, derivative: &Derivative, findings: &mut Findings) {
    let path = &file.path;
    let pointer = |field: &str| at(format!("/files/{index}/derivative/{field}"));
    if derivative.public_sha256 != file.sha256 {
        let message = format!("the redaction of \"{path}\" gives another content than the file's");
        let finding = Finding::new(Code::ManifestBlob, pointer("public_sha256"), message);
        findings.push(finding.values(derivative.public_sha256, file.sha256));
    } else if derivative.private_sha256 == file.sha256 {
        let message = format!("the redaction of \"{path}\" changed nothing: its private original is the same content");
        findings.push(Finding::new(Code::ManifestBlob, pointer("private_sha256"), message));
    }
    if derivative.occurrences == Some(0) {
        let message = format!("the redaction of \"{path}\" matched nothing");
        findings.push(Finding::new(Code::ManifestBlob, pointer("occurrences"), message));
    }
}

fn check_omissions(document: &Document, findings: &mut Findings) {
    // The list of files may be unsorted here, so no search in it by halves.
    let omitted: BTreeMap<&EntryName, usize> =
        document.omissions.iter().enumerate().map(|(index, omission)| (&omission.path, index)).collect();
    for file in &document.files {
        if let Some(index) = omitted.get(&file.path) {
            let message = format!("\"{}\" is listed as a file and as left out", file.path);
            findings.push(Finding::new(Code::ManifestOmission, at(format!("/omissions/{index}/path")), message));
        }
    }
    for (index, omission) in document.omissions.iter().enumerate() {
        if omitted.get(&omission.path) != Some(&index) {
            let message = format!("\"{}\" is listed as left out more than once", omission.path);
            findings.push(Finding::new(Code::ManifestOmission, at(format!("/omissions/{index}/path")), message));
        }
    }
}

fn check_runs(document: &Document, findings: &mut Findings) {
    let mut seen = BTreeMap::new();
    for (index, run) in document.runs.iter().enumerate() {
        if seen.insert(&run.path, index).is_some() {
            let message = format!("the run \"{}\" is listed more than once", run.path);
            findings.push(Finding::new(Code::ManifestPath, at(format!("/runs/{index}/path")), message));
        }
        let fits = match run.standing {
            Standing::Coherent => run.faults.is_empty(),
            Standing::FailedEvidence => !run.faults.is_empty(),
        };
        if !fits {
            let message =
                format!("the standing of the run \"{}\" does not fit its {} faults", run.path, run.faults.len());
            findings.push(Finding::new(Code::ManifestField, at(format!("/runs/{index}/standing")), message));
        }
    }
}

impl FromStr for Version1 {
    type Err = NotTheForm;
    fn from_str(text: &str) -> Result<Self, NotTheForm> {
        if text == FORMAT { Ok(Self) } else { Err(NotTheForm::new("the format is exhibit-manifest/1")) }
    }
}

impl fmt::Display for Version1 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(FORMAT)
    }
}

impl Serialize for Version1 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Version1 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        form::parsed(deserializer)
    }
}
