//! Owns source snapshots: a document and a `.tar.gz` that bind a run to the exact sources it was made from.
//!
//! Refuses a snapshot that names a run and contradicts it. Invariant: a snapshot that is reported names the run, and is
//! sound only where its archive's members were held to be exactly the recorded sources; snapshots of other runs are
//! none of its business.

mod document;
mod extended;
mod header;
mod members;
mod tarball;
mod write;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use super::check::unequal;
use super::document::{broken, place, shown};
use super::{Absent, Request};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::limits::Limits;
use crate::tree::Inventory;
use document::Said;

pub use document::{Document, SNAPSHOT_FORMAT};
pub use tarball::{Fault, Member, Stop, Tarball};
pub use write::write;

/// What became of one snapshot that names the run.
pub(super) struct Found {
    pub(super) document: String,
    /// The archive, where it is in the tree.
    pub(super) archive: Option<String>,
    /// The run's summary, where the document names its digest and it isn't in the tree.
    pub(super) summary_absent: Option<String>,
    /// The archive where its absence is disclosed, and where it isn't.
    pub(super) absent: Option<Absent>,
    pub(super) undisclosed: Option<String>,
    /// Document and archive were read and agree with each other and the run.
    pub(super) is_sound: bool,
}

/// The snapshots that name the run.
pub(super) struct Snapshots {
    pub(super) found: Vec<Found>,
    /// One that can't be read has the run's commit in its name.
    pub(super) one_is_broken: bool,
}

/// Finds the snapshots of the run `request.run`, made from the sources `sources` and, where it says so, from the commit
/// `head`.
pub(super) fn find(
    inventory: &Inventory,
    request: &Request<'_>,
    head: Option<&str>,
    sources: &BTreeMap<String, Sha256>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Snapshots, Error> {
    let (mut found, mut one_is_broken) = (Vec::new(), false);
    for (file, _) in inventory.files() {
        let path = file.name.as_str();
        let mut folders = file.name.parents().filter_map(|folder| folder.rsplit('/').next());
        let Some(stem) = path.strip_suffix(".json") else { continue };
        if folders.next() != Some("source-snapshots") {
            continue;
        }
        let mut faults = Findings::new(limits.max_findings);
        // A document that can't be read can't say whose it is; its name, `<label>-<commit>`, can.
        let is_named = head.is_some_and(|head| stem.ends_with(head));
        let read = match document::read(inventory, path, limits, &mut faults) {
            Err(Error::UnknownFormat { .. }) if !is_named && !lies_above(path, request.run) => continue,
            read => read?,
        };
        let Some(said) = read else {
            if is_named {
                findings.append(faults);
                one_is_broken = true;
            }
            continue;
        };
        let is_path =
            said.run == request.run || (!said.is_exact && super::last_part(&said.run) == super::last_part(request.run));
        if !is_path {
            continue;
        }
        if let Some(head) = head.filter(|head| *head != said.source_commit) {
            let what = "the snapshot is of another commit than the run's";
            faults.push(unequal(path, None, "/source_commit", what, [&said.source_commit, head]));
        }
        if said.source_hashes != *sources {
            let message = "the snapshot's source digests are not those that the run recorded";
            faults.push(broken(path, None, "/source_hashes", message));
        }
        let summary_absent = summary(inventory, request, path, &said, &mut faults);
        let mut one = archive(inventory, request, path, &said, &mut faults);
        if let Some(archive) = one.archive.as_deref().filter(|_| one.is_sound && said.source_hashes == *sources) {
            // Members of other sources than the run's would only tell the same fault again.
            let reader = inventory.open_file(archive)?;
            let stored = inventory.file(archive).map_or(0, |(file, _)| file.size);
            members::compare(reader, (archive, stored), sources, limits, &mut faults)
                .map_err(Error::io("read", &inventory.path().join(archive)))?;
        }
        one.is_sound &= faults.none_broken();
        findings.append(faults);
        found.push(Found { summary_absent, ..one });
    }
    Ok(Snapshots { found, one_is_broken })
}

/// Whether a snapshot lies in a folder `source-snapshots` beside the run or beside a folder above it.
fn lies_above(path: &str, run: &str) -> bool {
    let folder = path.rsplit_once("source-snapshots/").map_or("", |(folder, _)| folder);
    folder.is_empty() || run.starts_with(folder)
}

/// Holds the snapshot's archive against the digest in the document at `path`; it is sound where it has that.
fn archive(inventory: &Inventory, request: &Request<'_>, path: &str, said: &Said, findings: &mut Findings) -> Found {
    let twin = format!("{}.tar.gz", path.strip_suffix(".json").unwrap_or(path));
    let at = place(path, None, "/archive_sha256");
    let there = inventory.file(&twin);
    let is_told = request.told.contains(&twin);
    let disclosed = request.disclosed.get(&twin).filter(|_| there.is_none());
    let mut is_sound = false;
    match there {
        None if disclosed.is_some() || is_told => {}
        None => findings.push(Finding::new(Code::RunArtifactAbsent, at, format!("{} is not there", shown(&twin)))),
        Some(_) if is_told => {}
        Some((_, computed)) if computed.sha256 != said.archive_sha256 => {
            let message = format!("{} is not the archive that was recorded", shown(&twin));
            let finding = Finding::new(Code::RunArtifactChanged, at, message);
            findings.push(finding.values(said.archive_sha256, computed.sha256));
        }
        Some(_) => is_sound = true,
    }
    let absent = disclosed.map(|why| Absent { path: twin.clone(), sha256: said.archive_sha256, why: why.clone() });
    let undisclosed = (there.is_none() && disclosed.is_none()).then(|| twin.clone());
    let archive = there.map(|_| twin);
    Found { document: path.to_owned(), archive, summary_absent: None, absent, undisclosed, is_sound }
}

/// Holds the run's summary against the digest in the document at `path`. Gives its name where it is absent: it is
/// derived from the records, so it need not be there.
fn summary(
    inventory: &Inventory,
    request: &Request<'_>,
    path: &str,
    said: &Said,
    findings: &mut Findings,
) -> Option<String> {
    let recorded = said.summary_sha256?;
    let summary = format!("{}/SUMMARY.json", request.run);
    let Some(computed) = inventory.sha256(&summary) else { return Some(summary) };
    let wanted = request.derivatives.get(&summary).copied().unwrap_or(computed);
    if recorded != wanted && !request.told.contains(&summary) {
        let message = format!("{} is not the summary that was recorded", shown(&summary));
        let finding = Finding::new(Code::RunArtifactChanged, place(path, None, "/summary_sha256"), message);
        findings.push(finding.values(recorded, wanted));
    }
    None
}
