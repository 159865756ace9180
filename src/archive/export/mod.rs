//! Owns exporting: a clean commit becomes a release and a receipt.
//!
//! Refuses a commit whose working tree differs from it, what the rules of a release forbid, and runs that aren't
//! coherent. Invariant: each file of the release is a blob of the commit, its disclosed redaction, or a source snapshot
//! of a run; what the commit has besides is listed with the reason why it was left out.

mod contents;
mod recorded;
mod redactions;
mod runs;
mod select;
mod snapshots;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use contents::Contents;
use runs::Committed;
use select::Selection;
use snapshots::Sources;

use super::publish::{Publication, Written, publish};
use super::verify;
use crate::digest::GitBlob;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::git::{Commit, Difference, Entry, How, Kind, Repository};
use crate::limits::Limits;
use crate::manifest::{Derivative, MANIFEST, Own, Standing};
use crate::name::{EntryName, escape};
use crate::policy::Policy;
use crate::redact::{Rules, Scan, Tally};
use crate::tree::{Inventory, Progress};

/// The rules of a release, from the commit's root.
pub const RULES: &str = "release/export.json";

/// What to export, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Export<'a> {
    /// A folder of the working tree.
    pub repository: &'a Path,
    /// The commit: a revision as git takes it.
    pub commit: &'a str,
    /// The folder that release and receipt go to.
    pub out: &'a Path,
    /// The study's policy, where it isn't an embedded one.
    pub policy: Option<&'a Path>,
    /// A folder for what has to be unpacked to be looked into. Nothing is left there.
    pub scratch: &'a Path,
}

/// What came of it.
#[derive(Debug)]
pub struct Exported {
    /// The commit.
    pub commit: Commit,
    /// What was written; none where there are findings.
    pub written: Option<Written>,
    /// The runs that the release retains.
    pub runs: Vec<ExportedRun>,
    /// The redacted files, sorted by path.
    pub redacted: Vec<RedactedFile>,
    /// What the commit has and the release doesn't, with the reason; sorted by path.
    pub omissions: Vec<(String, String)>,
    /// What is wrong.
    pub findings: Findings,
}

/// A run that the release retains.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExportedRun {
    /// Its folder from the root.
    pub path: String,
    /// What its check said.
    pub standing: Standing,
    /// The data was made up, not recorded from real processes.
    pub made_data: bool,
    /// The document of the snapshot of its sources.
    pub source_snapshot: Option<String>,
    /// Whether the snapshot was made by this export.
    pub snapshot_made: bool,
}

/// A redacted file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactedFile {
    /// Its path.
    pub path: String,
    /// What is said of the redaction.
    pub derivative: Derivative,
    /// It came redacted into the repository.
    pub recorded: bool,
}

/// Exports a commit.
///
/// # Errors
/// What can't be read or written; no repository or commit; no rules; something changed while it was being read; an
/// output that is there already.
pub fn export(request: &Export<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Exported, Error> {
    let policy = request.policy.map(|path| Policy::load(path, &verify::document(path, limits)?, limits)).transpose()?;
    let repository = Repository::open(request.repository)?;
    let commit = repository.commit(request.commit)?;
    let entries = repository.entries(&commit, limits)?;
    let rules = rules(&repository, &entries, limits)?;
    let policy = match policy {
        Some(policy) => Some(of_project(policy, &rules)?),
        None => Policy::for_project(rules.document().project.as_str())?,
    };
    let (mut findings, mut tally) = (Findings::new(limits.max_findings), Tally::default());
    let mut selection = select::select(&entries, &rules, &mut tally, &mut findings);
    let differences = repository.differences(&entries)?;
    findings.append(dirty(&differences, limits));
    selection.without(&differences);
    let inventory = inventory(&repository, &selection, &entries, &differences, limits, progress, &mut findings)?;
    let recorded = recorded::recorded(&inventory, &selection, &rules, policy.as_ref(), limits, &mut findings)?;
    let derivatives: BTreeMap<_, _> =
        recorded.iter().map(|(path, found)| (path.clone(), found.private_sha256)).collect();
    let committed = Committed {
        root: repository.root(),
        inventory: &inventory,
        derivatives: &derivatives,
        omitted: &selection.omitted,
    };
    let mut runs = runs::retained(&committed, &rules, policy.as_ref(), limits, &mut findings)?;
    let sources = Sources {
        repository: &repository,
        inventory: &inventory,
        derivatives: &derivatives,
        omitted: &selection.omitted,
    };
    let snapshots = sources.take(&mut runs, limits, &mut findings)?;
    let redacted = redactions::apply(&rules, &inventory, &recorded, &mut tally, &mut findings)?;
    let contents =
        Contents { inventory: &inventory, selection: &selection, rules: &rules, recorded, redacted, snapshots, runs };
    let scratch = tempfile::tempdir_in(request.scratch).map_err(Error::io("create a folder in", request.scratch))?;
    let private = tally.private().clone();
    let scan = Scan::new(&rules, &private, scratch.path(), limits)?;
    let (needed, found) = contents.scan(&scan, limits, progress)?;
    tally.merge(needed);
    findings.append(found);
    redactions::idle(&rules, &contents.recorded, &tally).into_iter().for_each(|finding| findings.push(finding));
    let written = if findings.none_broken() {
        let manifest = contents.manifest(&rules.document().project, &commit)?;
        findings.append(scan.text(MANIFEST, &manifest.to_bytes()?, &mut tally));
        let last = || unchanged(request, &commit, &entries);
        findings.none_broken().then(|| write(request, &contents, manifest, last, limits, progress)).transpose()?
    } else {
        None
    };
    // Nothing that may be private is told of a release that isn't made.
    let told = |path: &EntryName| if written.is_some() { path.to_string() } else { scan.masked(path.as_str()) };
    let omissions = selection.omitted.iter().map(|(path, reason)| (told(path), reason.clone())).collect();
    Ok(Exported {
        runs: contents.exported_runs(),
        redacted: contents.redacted_files(),
        omissions,
        written,
        commit,
        findings,
    })
}

fn write(
    request: &Export<'_>,
    contents: &Contents<'_>,
    manifest: Own,
    last: impl FnOnce() -> Result<(), Error>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<Written, Error> {
    // Runs that are kept as evidence of a failure don't verify.
    let inventory_only = contents.runs.iter().any(|run| run.failed_evidence.is_some());
    let publication = Publication { out: request.out, manifest, inventory_only };
    publish(publication, &mut |name| contents.open(name), last, limits, progress)
}

/// The rules as they are committed.
fn rules(repository: &Repository, entries: &[Entry], limits: &Limits) -> Result<Rules, Error> {
    let path = repository.root().join(RULES);
    let entry = entries.iter().find(|entry| entry.path == RULES.as_bytes() && matches!(entry.kind, Kind::File { .. }));
    let Some(entry) = entry else {
        let problem = format!(
            "the commit has no {RULES}: write one that names at least the project, {{\"format\": \"exhibit-export/1\", \"project\": \"…\"}}, and commit it"
        );
        return Err(Error::Repository { path: repository.root().to_path_buf(), problem });
    };
    Rules::load(&path, &repository.blob(&entry.id, limits.max_document)?, limits)
}

fn of_project(policy: Policy, rules: &Rules) -> Result<Policy, Error> {
    if policy.project == rules.document().project {
        return Ok(policy);
    }
    let (given, wanted) = (&policy.project, &rules.document().project);
    Err(Error::Usage(format!("the policy is for {given}, the rules are of {wanted}: give the policy of that project")))
}

/// What keeps the working tree from being the commit.
fn dirty(differences: &[Difference], limits: &Limits) -> Findings {
    let mut findings = Findings::new(limits.max_findings);
    for Difference { path, how } in differences {
        let what = match how {
            How::Missing => "is in the commit, but not in the working tree",
            How::OtherKind => "is a file in the commit, but something else in the working tree",
            How::LineEnds => {
                "has other line ends in the working tree than in the commit: git converts them on checkout"
            }
            How::LargeFile => "is a pointer of Git LFS in the commit, but something else in the working tree",
            How::Content => "has another content in the working tree than in the commit",
            How::Mode => "may be executed in the working tree or in the commit, but not in both",
            How::Staged => "is staged otherwise than it is committed",
        };
        let shown = escape(path);
        let message = format!("\"{shown}\" {what}");
        findings.push(Finding::new(Code::ExportDirty, Place::entry(shown), message));
    }
    findings
}

/// Reads the selected files. What is read must be what was committed.
fn inventory(
    repository: &Repository,
    selection: &Selection,
    entries: &[Entry],
    differences: &[Difference],
    limits: &Limits,
    progress: Progress<'_>,
    findings: &mut Findings,
) -> Result<Inventory, Error> {
    let (inventory, found) = Inventory::open_parts(repository.root(), &selection.parts(), limits, progress)?;
    findings.append(found);
    let committed: BTreeMap<&[u8], GitBlob> = entries.iter().map(|entry| (entry.path.as_slice(), entry.id)).collect();
    let told: BTreeSet<&[u8]> = differences.iter().map(|difference| difference.path.as_slice()).collect();
    for (file, digests) in inventory.files() {
        let path = file.name.as_str();
        if committed.get(path.as_bytes()) != Some(&digests.git_blob) && !told.contains(path.as_bytes()) {
            return Err(Error::Changed { path: repository.root().join(path) });
        }
    }
    Ok(inventory)
}

/// Commit and working tree are still what they were when the export began.
fn unchanged(request: &Export<'_>, commit: &Commit, entries: &[Entry]) -> Result<(), Error> {
    let repository = Repository::open(request.repository)?;
    let now = repository.commit(request.commit)?;
    if now.id != commit.id {
        let problem = format!(
            "{} was {} and is {} now: try again",
            escape(request.commit.as_bytes()),
            commit.id.as_str(),
            now.id.as_str()
        );
        return Err(Error::Repository { path: repository.root().to_path_buf(), problem });
    }
    match repository.differences(entries)?.first() {
        None => Ok(()),
        Some(changed) => Err(Error::Changed { path: repository.root().join(escape(&changed.path)) }),
    }
}
