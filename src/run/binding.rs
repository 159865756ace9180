//! Owns how a run is bound to the sources it was made from: by a snapshot of them, by the files in the tree, or not.
//!
//! Refuses a source in the tree that isn't the recorded one, where no snapshot speaks for the run. Invariant: a run is
//! called bound only where every recorded source was held against its digest.

use std::collections::BTreeMap;

use super::Request;
use super::document::{place, pointer_part, shown};
use super::snapshot::{self, Found, Snapshots};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::limits::Limits;
use crate::tree::Inventory;

/// How a run is bound to its sources.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SourceBinding {
    /// By the snapshots with these documents: the members of their archives are exactly the recorded sources.
    Snapshots(Vec<String>),
    /// By the tree: each recorded source is there and has the recorded digest.
    Files,
    /// That can't be judged: why, as a sentence without its dot.
    Open(String),
    /// A finding speaks against it.
    Refuted,
    /// The run says nothing of its sources.
    Unstated,
}

/// What a run says of its sources, and where it says it.
pub(super) struct Recorded<'a> {
    /// The commit.
    pub(super) head: Option<&'a str>,
    pub(super) sources: &'a BTreeMap<String, Sha256>,
    /// The document with the sources, the line, and the pointer to them.
    pub(super) at: (&'a str, Option<u64>, &'a str),
    /// The matrix in the tree: its digest has a rule of its own.
    pub(super) spec: Option<&'a str>,
    /// The data was made up.
    pub(super) made_data: bool,
}

/// What binding a run leaves for its report.
pub(super) struct Bound {
    pub(super) binding: SourceBinding,
    pub(super) snapshots: Vec<Found>,
    /// Recorded sources that are not in the tree, or not as recorded in a project that goes on. Sorted.
    pub(super) absent: Vec<String>,
    pub(super) assertions: Vec<String>,
}

/// How many of the recorded sources are what.
#[derive(Default)]
struct Counted {
    differing: u64,
    redacted: u64,
    told: bool,
    refuted: bool,
}

/// Finds the snapshots of a run; where there are none, holds the files in the tree against the recorded digests.
pub(super) fn bind(
    inventory: &Inventory,
    request: &Request<'_>,
    recorded: &Recorded<'_>,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Bound, Error> {
    let Snapshots { found: snapshots, one_is_broken } =
        snapshot::find(inventory, request, recorded.head, recorded.sources, limits, findings)?;
    let mut counted = Counted { refuted: one_is_broken, ..Counted::default() };
    let mut absent = Vec::new();
    // What lies in the run's folder goes along with the run, however the project goes on.
    let carried = format!("{}/", request.run);
    for (path, wanted) in recorded.sources {
        let Some(computed) = inventory.sha256(path) else {
            absent.push(path.clone());
            continue;
        };
        if recorded.spec == Some(path) || *wanted == computed {
            continue;
        }
        counted.differing += 1;
        let private = request.derivatives.get(path);
        if private == Some(wanted) {
            counted.redacted += 1;
        } else if request.told.contains(path) {
            counted.told = true;
        } else if request.is_living && !path.starts_with(&carried) {
            absent.push(path.clone());
        } else if snapshots.is_empty() && !one_is_broken {
            counted.refuted = true;
            let (file, line, pointer) = recorded.at;
            let at = place(file, line, &format!("{pointer}/{}", pointer_part(path)));
            let message = format!("{} is not the source that the run recorded", shown(path));
            let finding = Finding::new(Code::RunSourceChanged, at, message);
            findings.push(finding.values(wanted, private.copied().unwrap_or(computed)));
        }
    }
    let assertions = assertions(recorded, &snapshots, absent.len(), counted.differing);
    let binding = binding(recorded, &snapshots, absent.len(), &counted);
    Ok(Bound { binding, snapshots, absent, assertions })
}

fn binding(recorded: &Recorded<'_>, snapshots: &[Found], absent: usize, counted: &Counted) -> SourceBinding {
    if let Some(first) = snapshots.first() {
        let sound: Vec<String> = snapshots.iter().filter(|f| f.is_sound).map(|found| found.document.clone()).collect();
        let is_disclosed = |found: &Found| found.is_sound || found.absent.is_some();
        if !snapshots.iter().all(is_disclosed) {
            return SourceBinding::Refuted;
        }
        if sound.is_empty() {
            let document = shown(&first.document);
            return SourceBinding::Open(format!("{SOURCES}: the archive of the snapshot {document} is absent"));
        }
        return SourceBinding::Snapshots(sound);
    }
    let total = recorded.sources.len();
    match (total, recorded.head) {
        (0, Some(_)) if !recorded.made_data => SourceBinding::Open(
            "which sources the run was made from: it names a commit and records no source".to_owned(),
        ),
        (0, _) => SourceBinding::Unstated,
        _ if counted.refuted || counted.told => SourceBinding::Refuted,
        _ if absent > 0 => SourceBinding::Open(format!(
            "{SOURCES}: {absent} of {total} are not in the tree, and no snapshot holds them"
        )),
        _ if counted.redacted > 0 => {
            let count = counted.redacted;
            SourceBinding::Open(format!("{SOURCES}: of {count} redacted ones the digest is that of a private original"))
        }
        _ => SourceBinding::Files,
    }
}

const SOURCES: &str = "whether the run was made from the recorded sources";

/// What a reader must take on trust.
fn assertions(recorded: &Recorded<'_>, snapshots: &[Found], absent: usize, differing: u64) -> Vec<String> {
    let mut said = Vec::new();
    if absent > 0 {
        said.push(format!("{absent} sources that the run recorded are not in the tree"));
    }
    // Where they are findings, they are no assertions.
    if differing > 0 && !snapshots.is_empty() {
        said.push(format!("{differing} sources in the tree are not the ones that the run recorded"));
    }
    for (found, summary) in snapshots.iter().filter_map(|found| Some((found, found.summary_absent.as_ref()?))) {
        let (document, summary) = (shown(&found.document), shown(summary));
        said.push(format!("{summary}, whose digest {document} records, is not there"));
    }
    if !recorded.sources.is_empty() {
        said.push("that exactly the recorded sources were what ran is the run's own word".to_owned());
    }
    said
}
