//! Owns verifying a release or an archive, packed or extracted: inventory, receipt, retained runs.
//!
//! Refuses to call anything held that was not judged: that is undecided. Invariant: the verdict follows from the
//! findings and from what was left unjudged, and from nothing else.

use std::collections::BTreeSet;
use std::path::Path;

use super::replay::{self, Replayed};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::judge::Standing;
use crate::limits::Limits;
use crate::manifest::{self, MANIFEST, Manifest, Receipt};
use crate::name::escape;
use crate::policy::Policy;
use crate::run::{self, RunReport, SourceBinding};
use crate::tree::{Form, Inventory, Progress};

/// What to verify, and against what.
#[derive(Debug, Clone, Copy)]
pub struct Verify<'a> {
    /// The release or archive: a ZIP file, or the folder it was extracted to.
    pub path: &'a Path,
    /// The publisher's receipt.
    pub receipt: Option<&'a Path>,
    /// The study's policy, where it isn't the embedded one.
    pub policy: Option<&'a Path>,
    /// Leave the retained runs alone.
    pub inventory_only: bool,
    /// A folder in which private ones are made and removed again, to replay the retained runs; without one that is left
    /// open.
    pub scratch: Option<&'a Path>,
}

/// What verifying says in the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Everything that was checked held.
    Pass,
    /// Something is wrong.
    Fail,
    /// Nothing is wrong, but not all was judged.
    Undecided,
}

/// One retained run.
#[derive(Debug)]
pub struct RunVerdict {
    /// What the run says of itself. Its findings are among those of the whole.
    pub report: RunReport,
    /// Whether a finding was made in it.
    pub sound: bool,
    /// It was frozen as evidence of a failure, and says so.
    pub failed_evidence: bool,
    /// What replaying it gave, where it was replayed.
    pub replayed: Option<Replayed>,
    /// What of it was not judged.
    pub not_judged: Vec<String>,
}

/// Everything that verifying found.
#[derive(Debug)]
pub struct Verification {
    /// The manifest, where it could be read.
    pub manifest: Option<Manifest>,
    /// Files in the tree.
    pub files: u64,
    /// Bytes of their contents.
    pub bytes: u64,
    /// Digest and size of the ZIP; none for a folder.
    pub packed: Option<(Sha256, u64)>,
    /// Whether a receipt was compared.
    pub receipt: bool,
    /// The retained runs.
    pub runs: Vec<RunVerdict>,
    /// Runs that say that their data was made up. Told also where the runs are left alone.
    pub made_data: Vec<String>,
    /// What was not judged, a sentence each.
    pub not_judged: Vec<String>,
    /// What the evidence asserts and nobody can recompute from it.
    pub assertions: Vec<String>,
    /// What is wrong.
    pub findings: Findings,
}

impl Verification {
    /// The verdict.
    pub fn verdict(&self) -> Verdict {
        if !self.findings.none_broken() {
            Verdict::Fail
        } else if self.not_judged.is_empty() && self.runs.iter().all(|run| run.not_judged.is_empty()) {
            Verdict::Pass
        } else {
            Verdict::Undecided
        }
    }
}

/// Verifies a release or an archive.
///
/// # Errors
/// What could not be checked: no such file, no ZIP, no manifest, an unknown format, a broken policy or receipt.
pub fn verify(request: &Verify<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Verification, Error> {
    examine(request, limits, progress).map(|(_, verification)| verification)
}

/// As [`verify()`], and keeps the tree that was read, for who goes on with its contents.
pub(super) fn examine(
    request: &Verify<'_>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<(Inventory, Verification), Error> {
    // Documents that the user gives come first: nobody waits for hours to learn that one has a fault.
    let policy = request.policy.map(|path| Policy::load(path, &document(path, limits)?, limits)).transpose()?;
    let receipt = request.receipt.map(|path| Receipt::read(path, &document(path, limits)?, limits)).transpose()?;
    let (inventory, findings) = Inventory::open(request.path, limits, progress)?;
    let mut verification = Verification {
        manifest: None,
        files: inventory.files().count() as u64,
        bytes: inventory.files().map(|(file, _)| file.size).sum(),
        packed: None,
        receipt: receipt.is_some(),
        runs: Vec::new(),
        made_data: Vec::new(),
        not_judged: Vec::new(),
        assertions: Vec::new(),
        findings,
    };
    if inventory.is_sound() && (inventory.file(MANIFEST).is_some() || verification.findings.none_broken()) {
        check_manifest(&inventory, policy.as_ref(), limits, &mut verification)?;
    }
    if let Some(receipt) = receipt {
        check_receipt(&inventory, &receipt, limits, &mut verification)?;
    }
    let Some(manifest) = &verification.manifest else { return Ok((inventory, verification)) };
    verification.assertions = manifest.assertions();
    for run in manifest.runs() {
        if run::says_made_data(&inventory, run.path.as_str(), limits)? {
            verification.made_data.push(run.path.to_string());
        }
    }
    if !request.inventory_only {
        let retained = retained(manifest, policy)?;
        check_runs(&inventory, &retained, request.scratch, limits, &mut verification)?;
    }
    Ok((inventory, verification))
}

/// Reads a document that a person wrote.
pub(super) fn document(path: &Path, limits: &Limits) -> Result<Vec<u8>, Error> {
    use std::io::Read as _;
    let mut bytes = Vec::new();
    let file = std::fs::File::open(path).map_err(Error::io("open", path))?;
    // One byte more than allowed; the document's own reader refuses it.
    file.take(limits.max_document.saturating_add(1)).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    Ok(bytes)
}

fn check_manifest(
    inventory: &Inventory,
    policy: Option<&Policy>,
    limits: &Limits,
    verification: &mut Verification,
) -> Result<(), Error> {
    let (manifest, findings) = manifest::read(inventory, limits, policy)?;
    verification.findings.append(findings);
    let Some(manifest) = manifest else { return Ok(()) };
    verification.findings.append(manifest::compare(&manifest, inventory, limits));
    let root = manifest.root_name();
    if let Some(found) = inventory.root().filter(|found| *found != root) {
        let message = "the archive's root folder is not named after its content";
        let finding = Finding::new(Code::TreeRoot, Place::entry(found), message);
        verification.findings.push(finding.values(found, root));
    }
    if verification.findings.none_broken() {
        // Where the inventory fails already, the form would fail with it and say nothing new.
        let form = match &manifest {
            Manifest::Own(_) => Form::Canonical,
            Manifest::Historical(_) => Form::Historical,
        };
        verification.findings.extend(inventory.check_form(form).cloned());
    }
    verification.manifest = Some(manifest);
    Ok(())
}

fn check_receipt(
    inventory: &Inventory,
    receipt: &Receipt,
    limits: &Limits,
    verification: &mut Verification,
) -> Result<(), Error> {
    verification.packed = inventory.packed_digest()?;
    match &verification.packed {
        Some((sha256, size)) => {
            let findings = receipt.check(*size, sha256, verification.manifest.as_ref(), limits);
            verification.findings.append(findings);
            Ok(())
        }
        None => Err(Error::Usage(format!(
            "{} is a folder, and a receipt names a ZIP: verify the ZIP with it, or the folder without",
            inventory.path().display()
        ))),
    }
}

/// A run that the release should hold.
struct Retained {
    path: String,
    spec: Option<String>,
    failed_evidence: bool,
}

/// The runs that the manifest names, then those that the policy names besides.
fn retained(manifest: &Manifest, policy: Option<Policy>) -> Result<Vec<Retained>, Error> {
    let policy = match (policy, manifest) {
        (Some(policy), _) => Some(policy),
        (None, Manifest::Historical(_)) => Policy::for_project(manifest.project())?,
        (None, Manifest::Own(_)) => None,
    };
    let make = |path: &str, spec: Option<&str>, failed_evidence| Retained {
        path: path.to_owned(),
        spec: spec.map(str::to_owned),
        failed_evidence,
    };
    let mut retained: Vec<Retained> = manifest
        .runs()
        .iter()
        .map(|run| {
            let failed = run.standing == manifest::Standing::FailedEvidence;
            make(run.path.as_str(), run.matrix.as_ref().map(crate::name::EntryName::as_str), failed)
        })
        .collect();
    let named: BTreeSet<String> = retained.iter().map(|run| run.path.clone()).collect();
    let besides = policy.iter().flat_map(|policy| &policy.retained_runs);
    retained.extend(
        besides
            .filter(|run| !named.contains(run.path.as_str()))
            .map(|run| make(run.path.as_str(), Some(run.spec.as_str()), false)),
    );
    Ok(retained)
}

fn check_runs(
    inventory: &Inventory,
    retained: &[Retained],
    scratch: Option<&Path>,
    limits: &Limits,
    verification: &mut Verification,
) -> Result<(), Error> {
    if retained.is_empty() {
        let message = "the release names no retained run, so nothing was judged but its inventory";
        verification.not_judged.push(message.to_owned());
    }
    let Some(manifest) = &verification.manifest else { return Ok(()) };
    let private = manifest.derivatives().into_iter();
    let derivatives = private.map(|(path, derivative)| (path.to_owned(), derivative.private_sha256)).collect();
    let omissions = manifest.omissions().iter();
    let disclosed = omissions.map(|omission| (omission.path.to_string(), omission.reason.clone())).collect();
    let told = told(&verification.findings);
    for wanted in retained {
        let below = format!("{}/", wanted.path);
        let is_told = told.iter().any(|path| path.starts_with(&below));
        if run::detect(inventory, &wanted.path).is_err() {
            if !is_told {
                verification.findings.push(run_missing(inventory, &wanted.path));
            }
            continue;
        }
        let request = run::Request {
            run: &wanted.path,
            spec: wanted.spec.as_deref(),
            derivatives: &derivatives,
            disclosed: &disclosed,
            told: &told,
            is_living: false,
        };
        let mut report = run::load(inventory, &request, limits)?;
        let found = std::mem::replace(&mut report.findings, Findings::new(limits.max_findings));
        let mut sound = found.none_broken() && !is_told;
        verification.findings.append(found);
        let mut not_judged = not_judged(&report);
        // What is changed or missing is told already; to replay the rest of it would tell the same in other words.
        let replayed = match scratch.filter(|_| sound) {
            Some(scratch) => replay(inventory, &report, scratch, limits, &mut not_judged)?,
            None => {
                not_judged.insert(0, REPLAY.to_owned());
                None
            }
        };
        if replayed.is_some() {
            report.assertions.retain(|said| said != run::STATUS_ASSERTED);
        }
        verification.assertions.append(&mut report.assertions);
        for case in replayed.iter().flat_map(|replayed| &replayed.cases) {
            sound &= !case.findings.iter().any(replay::is_error);
            verification.findings.extend(case.findings.iter().cloned());
        }
        let failed_evidence = wanted.failed_evidence;
        verification.runs.push(RunVerdict { report, sound, failed_evidence, replayed, not_judged });
    }
    Ok(())
}

/// Replays a run, and says what that left open.
fn replay(
    inventory: &Inventory,
    report: &RunReport,
    scratch: &Path,
    limits: &Limits,
    not_judged: &mut Vec<String>,
) -> Result<Option<Replayed>, Error> {
    let request = replay::RunRequest { findings: Vec::new(), ..replay::RunRequest::of(report) };
    let replayed = match replay::run(inventory, &request, limits, scratch) {
        Ok(replayed) => replayed,
        // A matrix or dialect that can't be used leaves the run's records as they are.
        Err(error @ (Error::Usage(_) | Error::Document { .. } | Error::UnknownFormat { .. })) => {
            not_judged.push(format!("{REPLAY}: {error}"));
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    // Without a schedule nothing is decided of any case: that is said once.
    if replayed.cases.iter().all(|case| case.decision.is_none() && case.standing == Standing::Undecided) {
        not_judged.insert(0, REPLAY.to_owned());
        return Ok(None);
    }
    for case in &replayed.cases {
        let about = escape(case.id.as_bytes());
        match case.standing {
            Standing::Unsupported => not_judged.push(format!("case {about}, which the run says its SDK can't do")),
            Standing::Undecided => {
                not_judged.extend(case.missing.iter().map(|missing| format!("case {about}, for want of: {missing}")));
            }
            Standing::Pass | Standing::Fail | Standing::MachineryError => {}
        }
    }
    Ok(Some(replayed))
}

const REPLAY: &str = "whether any correct ledger could have given these transcripts and databases (the replay)";

/// Files that are not the manifest's.
fn told(findings: &Findings) -> BTreeSet<String> {
    let of_files = |finding: &&Finding| matches!(finding.code, Code::FileMissing | Code::FileExtra | Code::FileChanged);
    findings.iter().filter(of_files).filter_map(|finding| finding.place.entry.clone()).collect()
}

fn run_missing(inventory: &Inventory, path: &str) -> Finding {
    let message = if inventory.files_below(path).next().is_some() {
        format!("{path} is no run: one holds either run.json, or results.jsonl and provenance.json")
    } else {
        format!("the retained run {path} is not in the release")
    };
    Finding::new(Code::RunMissing, Place::entry(path), message)
}

/// What stays open of a run whose records agree with each other.
fn not_judged(report: &RunReport) -> Vec<String> {
    let mut open = Vec::new();
    if !report.absent.is_empty() {
        open.push(format!("{} files that the run names and that are absent", report.absent.len()));
    }
    if !report.not_recheckable.is_empty() {
        let count = report.not_recheckable.len();
        open.push(format!("{count} redacted files, whose recorded digests are those of private originals"));
    }
    if let SourceBinding::Open(why) = &report.binding {
        open.push(why.clone());
    }
    open
}
