//! Owns which runs a release retains, and what is wrong with them.
//!
//! Refuses to leave a run unsaid: what looks like one is retained or named by the rules as not retained. Invariant: a
//! run is read from the committed files alone, so that evidence which only lies in the working tree is missed here.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::select::rule;
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::EntryName;
use crate::policy::Policy;
use crate::redact::Rules;
use crate::run::{self, RunReport};
use crate::tree::Inventory;

/// A run that the release retains.
#[derive(Debug)]
pub(super) struct Retained {
    /// What it says of itself.
    pub(super) report: RunReport,
    /// Its dialect, where the rules name one.
    pub(super) dialect: Option<EntryName>,
    /// Why it is kept although it isn't coherent.
    pub(super) failed_evidence: Option<String>,
    /// Why it goes without its sources.
    pub(super) without_snapshot: Option<String>,
    /// The document of the snapshot that this export makes.
    pub(super) made_snapshot: Option<EntryName>,
}

/// A run to be read.
#[derive(Debug, Default, Clone)]
struct Wanted {
    matrix: Option<EntryName>,
    dialect: Option<EntryName>,
    failed_evidence: Option<String>,
    without_snapshot: Option<String>,
}

/// What the runs are read with.
pub(super) struct Committed<'a> {
    /// The working tree.
    pub(super) root: &'a Path,
    /// The committed files.
    pub(super) inventory: &'a Inventory,
    /// Redacted files: path to the SHA-256 of the private original.
    pub(super) derivatives: &'a BTreeMap<String, Sha256>,
    /// Files that are left out, with the reason.
    pub(super) omitted: &'a BTreeMap<EntryName, String>,
}

/// Finds and reads the runs.
pub(super) fn retained(
    committed: &Committed<'_>,
    rules: &Rules,
    policy: Option<&Policy>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Vec<Retained>, Error> {
    let found = found(committed.inventory, limits, findings)?;
    let wanted = wanted(&found, rules, policy, findings);
    let mut retained = Vec::new();
    for (path, wanted) in wanted {
        if run::detect(committed.inventory, &path).is_err() {
            let message = format!(
                "\"{path}\" is to be retained, but is no run: the commit has neither a run.json there nor results.jsonl and \
                 provenance.json, or has both"
            );
            findings.push(Finding::new(Code::ExportRun, Place::entry(path), message));
            continue;
        }
        let mut report = load(committed, &path, wanted.matrix.as_ref(), limits, findings)?;
        let faults = std::mem::replace(&mut report.findings, Findings::new(limits.max_findings));
        match (&wanted.failed_evidence, faults.none_broken()) {
            (Some(_), true) => {
                let message = format!("\"{path}\" is coherent, but the rules keep it as failed evidence");
                findings.push(Finding::new(Code::ExportRun, Place::entry(&path), message));
            }
            // Its faults are what it is kept for; the manifest lists them.
            (Some(_), false) => report.findings = faults,
            (None, is_coherent) => {
                findings.append(faults);
                if !is_coherent {
                    continue;
                }
            }
        }
        let Wanted { dialect, failed_evidence, without_snapshot, .. } = wanted;
        retained.push(Retained { report, dialect, failed_evidence, without_snapshot, made_snapshot: None });
    }
    Ok(retained)
}

/// Folders that hold a run: by what lies in them, and where the layout has runs all of them.
fn found(inventory: &Inventory, limits: &Limits, findings: &mut Findings) -> Result<BTreeSet<String>, Error> {
    let mut found = BTreeSet::new();
    for (file, _) in inventory.files() {
        let path = file.name.as_str();
        found.extend(in_layout(path).map(str::to_owned));
        let (folder, name) = path.rsplit_once('/').map_or((None, path), |(folder, name)| (Some(folder), name));
        let beside = |name: &str| folder.map_or_else(|| name.to_owned(), |folder| format!("{folder}/{name}"));
        let is_run = match name {
            "results.jsonl" => inventory.file(&beside("provenance.json")).is_some(),
            "run.json" => run::is_head(inventory, path, limits)?,
            _ => false,
        };
        match folder {
            Some(folder) if is_run => drop(found.insert(folder.to_owned())),
            None if is_run => {
                let message =
                    format!("\"{path}\" is of a run at the root, which no release can name: move it to a folder");
                findings.push(Finding::new(Code::ExportRun, Place::entry(path), message));
            }
            Some(_) | None => {}
        }
    }
    Ok(found)
}

/// Runs where the layout has them, then what policy and rules say.
fn wanted(
    found: &BTreeSet<String>,
    rules: &Rules,
    policy: Option<&Policy>,
    findings: &mut Findings,
) -> BTreeMap<String, Wanted> {
    let mut wanted: BTreeMap<String, Wanted> = BTreeMap::new();
    for run in policy.iter().flat_map(|policy| &policy.retained_runs) {
        wanted.insert(run.path.to_string(), Wanted { matrix: Some(run.spec.clone()), ..Wanted::default() });
    }
    for run in &rules.document().runs {
        let said = wanted.entry(run.path.to_string()).or_default();
        said.matrix = run.matrix.clone().or(said.matrix.take());
        said.dialect.clone_from(&run.dialect);
        said.failed_evidence.clone_from(&run.failed_evidence);
        said.without_snapshot.clone_from(&run.without_snapshot);
    }
    let mut unneeded: BTreeSet<usize> = (0..rules.document().not_retained.len()).collect();
    for path in found {
        let within = |above: &EntryName| {
            path.strip_prefix(above.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if let Some(index) = rules.document().not_retained.iter().position(|not| within(&not.path)) {
            unneeded.remove(&index);
        } else if in_layout(&format!("{path}/")).is_some_and(|run| run == path) {
            wanted.entry(path.clone()).or_default();
        } else if !wanted.contains_key(path) {
            let message = format!("\"{path}\" holds a run that the rules neither retain nor leave aside");
            findings.push(Finding::new(Code::ExportRun, Place::entry(path), message));
        }
    }
    for index in unneeded {
        let message = "no run of the commit is there".to_owned();
        findings.push(Finding::new(Code::ExportRun, rule(format!("/not_retained/{index}/path")), message));
    }
    wanted
}

/// The folder `matrices/<name>/runs/<id>` that a path lies in.
fn in_layout(path: &str) -> Option<&str> {
    let mut slashes = path.match_indices('/').map(|(at, _)| at);
    let folder = path.get(..slashes.nth(3)?)?;
    let parts: Vec<&str> = folder.split('/').collect();
    matches!(parts.as_slice(), ["matrices", _, "runs", _]).then_some(folder)
}

/// Reads a run twice: evidence that lies in the working tree and isn't committed is told as that.
fn load(
    committed: &Committed<'_>,
    path: &str,
    matrix: Option<&EntryName>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<RunReport, Error> {
    let disclosed = committed.omitted.iter().map(|(path, reason)| (path.to_string(), reason.clone())).collect();
    let none = BTreeSet::new();
    let request = run::Request {
        run: path,
        spec: matrix.map(EntryName::as_str),
        derivatives: committed.derivatives,
        disclosed: &disclosed,
        told: &none,
        // The release carries the sources of the run's commit; those of today may be others.
        is_living: true,
    };
    let first = run::load(committed.inventory, &request, limits)?;
    let on_disk = |path: &&String| committed.root.join(path).symlink_metadata().is_ok();
    let told: BTreeSet<String> = first.undisclosed.iter().filter(on_disk).cloned().collect();
    if told.is_empty() {
        return Ok(first);
    }
    for path in &told {
        let message =
            format!("\"{path}\" is evidence of a run and lies in the working tree, but the commit doesn't have it");
        findings.push(Finding::new(Code::ExportUntracked, Place::entry(path), message));
    }
    run::load(committed.inventory, &run::Request { told: &told, ..request }, limits)
}
