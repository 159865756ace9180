//! Owns finding the source snapshots that bind an attempt to the exact sources it ran.
//!
//! Refuses a snapshot that names this attempt and contradicts it. Invariant: a snapshot that is reported names the
//! attempt; snapshots of other attempts are none of its business. The members of its `.tar.gz` are not looked at here,
//! only the archive's digest.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::check::unequal;
use super::document::{Object, broken, place, read, shown};
use super::{Absent, Request};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::limits::Limits;
use crate::tree::Inventory;

/// The document beside the snapshot's archive. Other fields are other people's, and tolerated.
#[derive(Deserialize)]
struct Snapshot {
    archive_sha256: Sha256,
    attempt_relative_path: String,
    source_commit: String,
    source_hashes: BTreeMap<String, Sha256>,
    summary_sha256: Option<Sha256>,
}

/// The paths of a snapshot's two files; the archive only where it is in the tree.
pub(super) struct Found {
    pub(super) document: String,
    pub(super) archive: Option<String>,
    /// The attempt's summary, where the document names its digest and it isn't in the tree.
    pub(super) summary_absent: Option<String>,
    /// The archive where its absence is disclosed, and where it isn't.
    pub(super) absent: Option<Absent>,
    pub(super) undisclosed: Option<String>,
}

/// Finds the snapshots of the attempt `request.run`, made from the sources `sources` and, where it says so, from the
/// commit `head`.
pub(super) fn find(
    inventory: &Inventory,
    request: &Request<'_>,
    head: Option<&str>,
    sources: &BTreeMap<String, Sha256>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Vec<Found>, Error> {
    let mut found = Vec::new();
    for (file, _) in inventory.files() {
        let path = file.name.as_str();
        let mut folders = file.name.parents().filter_map(|folder| folder.rsplit('/').next());
        let Some(stem) = path.strip_suffix(".json") else { continue };
        if folders.next() != Some("source-snapshots") {
            continue;
        }
        let mut faults = Findings::new(limits.max_findings);
        let Some(Object(snapshot)) = read::<Object<Snapshot>>(inventory, path, limits, &mut faults)? else {
            // A broken document can't say whose it is; its name, `<label>-<commit>`, can.
            if head.is_some_and(|head| stem.ends_with(head)) {
                findings.append(faults);
            }
            continue;
        };
        let is_path = snapshot.attempt_relative_path == request.run
            || super::last_part(&snapshot.attempt_relative_path) == super::last_part(request.run);
        if !is_path {
            continue;
        }
        if let Some(head) = head.filter(|head| *head != snapshot.source_commit) {
            let what = "the snapshot is of another commit than the attempt's";
            findings.push(unequal(path, None, "/source_commit", what, [&snapshot.source_commit, head]));
        }
        if snapshot.source_hashes != *sources {
            let message = "the snapshot's source digests are not those that the attempt recorded";
            findings.push(broken(path, None, "/source_hashes", message));
        }
        let summary_absent = summary(inventory, request, path, &snapshot, findings);
        found.push(Found { summary_absent, ..archive(inventory, request, path, &snapshot, findings) });
    }
    Ok(found)
}

/// Holds the snapshot's archive against the digest in the document at `path`.
fn archive(
    inventory: &Inventory,
    request: &Request<'_>,
    path: &str,
    snapshot: &Snapshot,
    findings: &mut Findings,
) -> Found {
    let twin = format!("{}.tar.gz", path.strip_suffix(".json").unwrap_or(path));
    let at = place(path, None, "/archive_sha256");
    let computed = inventory.sha256(&twin);
    let disclosed = request.disclosed.get(&twin).filter(|_| computed.is_none());
    match computed {
        None if disclosed.is_some() || request.told.contains(&twin) => {}
        None => findings.push(Finding::new(Code::RunArtifactAbsent, at, format!("{} is not there", shown(&twin)))),
        Some(computed) if computed != snapshot.archive_sha256 && !request.told.contains(&twin) => {
            let message = format!("{} is not the archive that was recorded", shown(&twin));
            let finding = Finding::new(Code::RunArtifactChanged, at, message);
            findings.push(finding.values(snapshot.archive_sha256, computed));
        }
        Some(_) => {}
    }
    let absent = disclosed.map(|why| Absent { path: twin.clone(), sha256: snapshot.archive_sha256, why: why.clone() });
    let undisclosed = (computed.is_none() && disclosed.is_none()).then(|| twin.clone());
    let archive = computed.map(|_| twin);
    Found { document: path.to_owned(), archive, summary_absent: None, absent, undisclosed }
}

/// Holds the attempt's summary against the digest in the document at `path`. Gives its name where it is absent: it is
/// derived from the records, so it need not be there.
fn summary(
    inventory: &Inventory,
    request: &Request<'_>,
    path: &str,
    snapshot: &Snapshot,
    findings: &mut Findings,
) -> Option<String> {
    let recorded = snapshot.summary_sha256?;
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
