//! Owns freezing: a run's folder becomes an archive and a receipt.
//!
//! Refuses a run that isn't coherent, unless it is to be kept as failed evidence, which the archive then says. Invariant:
//! what the archive says of the run is what reading the run said.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use super::parts::{self, Placed};
use super::publish::{Publication, Written, publish};
use super::verify;
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Findings;
use crate::form::{Mode, Project, Timestamp};
use crate::limits::Limits;
use crate::manifest::{self, Derivative, Document, Omission, Own, Standing};
use crate::name::EntryName;
use crate::policy::{self, Policy};
use crate::run::{self, RunReport, role_of};
use crate::tree::{Inventory, Progress, TreeFile};

/// What to freeze, and where to.
#[derive(Debug, Clone, Copy)]
pub struct Freeze<'a> {
    /// The run's folder.
    pub run: &'a Path,
    /// The project's root, where the run's records don't show it.
    pub root: Option<&'a Path>,
    /// The folder that archive and receipt go to.
    pub out: &'a Path,
    /// The study's policy, where it isn't an embedded one.
    pub policy: Option<&'a Path>,
    /// Keep a run that isn't coherent, labelled so.
    pub as_failed_evidence: bool,
}

/// What came of it.
#[derive(Debug)]
pub struct Frozen {
    /// What was written; none where the run is not coherent.
    pub written: Option<Written>,
    /// What the run says of itself. Its findings are the ones below.
    pub report: RunReport,
    /// What is not in the archive, with the reason.
    pub omissions: Vec<(String, String)>,
    /// Whether an archive could hold the run's files at all: no link, pipe or name keeps it from that.
    pub representable: bool,
    /// What is wrong with the run.
    pub findings: Findings,
}

/// Freezes a run.
///
/// # Errors
/// What can't be read or written; an output that is there already; files that can't be part of any archive.
pub fn freeze(request: &Freeze<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Frozen, Error> {
    let placed = parts::place(request.run, request.root, limits)?;
    refuse_output_in_run(request.out, &placed)?;
    let policy = match request.policy {
        Some(path) => Some(Policy::load(path, &verify::document(path, limits)?, limits)?),
        None => policy::for_run(&placed.run)?.map(|(policy, _)| policy),
    };
    let (inventory, tree_findings) = Inventory::open_parts(&placed.root, &parts::parts(&placed), limits, progress)?;
    let mut report = load(&inventory, &placed, policy.as_ref(), limits)?;
    let representable = tree_findings.none_broken();
    let mut findings = tree_findings;
    findings.append(std::mem::replace(&mut report.findings, Findings::new(limits.max_findings)));
    let coherent = findings.none_broken();
    if coherent && request.as_failed_evidence {
        let message = "the run is coherent: freeze it without --as-failed-evidence";
        return Err(Error::Usage(message.to_owned()));
    }
    let contents = Contents { inventory: &inventory, placed: &placed, policy: policy.as_ref(), report: &report };
    let omissions = contents.omissions()?;
    let shown = omissions.iter().map(|omission| (omission.path.to_string(), omission.reason.clone())).collect();
    let written = if representable && (coherent || request.as_failed_evidence) {
        let manifest = contents.manifest(omissions, &findings)?;
        let publication = Publication { out: request.out, manifest, inventory_only: true };
        let mut open = |name: &EntryName| inventory.open_file(name.as_str());
        Some(publish(publication, &mut open, || Ok(()), limits, progress)?)
    } else {
        None
    };
    Ok(Frozen { written, report, omissions: shown, representable, findings })
}

/// An output inside the run would be part of the run.
fn refuse_output_in_run(out: &Path, placed: &Placed) -> Result<(), Error> {
    let run = placed.root.join(&placed.run);
    // A folder that is yet to be made will lie where the nearest one above it does.
    let above = out.ancestors().map(|above| if above.as_os_str().is_empty() { Path::new(".") } else { above });
    let inside = above.flat_map(Path::canonicalize).next().is_some_and(|out| out.starts_with(&run));
    let message = || format!("{} lies in the run's folder: choose an output folder outside it", out.display());
    if inside { Err(Error::Usage(message())) } else { Ok(()) }
}

/// Reads the run twice: files that it names and that aren't there are no fault when freezing, but they are disclosed.
fn load(inventory: &Inventory, placed: &Placed, policy: Option<&Policy>, limits: &Limits) -> Result<RunReport, Error> {
    let derivatives: BTreeMap<String, Sha256> = policy
        .iter()
        .flat_map(|policy| &policy.derivatives)
        .filter(|approved| inventory.sha256(approved.path.as_str()) == Some(approved.public_sha256))
        .map(|approved| (approved.path.to_string(), approved.private_origin_sha256))
        .collect();
    let none = BTreeMap::new();
    let (run, told) = (placed.run.as_str(), BTreeSet::new());
    let request =
        run::Request { run, spec: None, derivatives: &derivatives, disclosed: &none, told: &told, is_living: true };
    let first = run::load(inventory, &request, limits)?;
    let reason = "named by the run, absent when it was frozen";
    let disclosed: BTreeMap<String, String> =
        first.undisclosed.iter().map(|path| (path.clone(), reason.to_owned())).collect();
    if disclosed.is_empty() {
        return Ok(first);
    }
    run::load(inventory, &run::Request { disclosed: &disclosed, ..request }, limits)
}

/// What goes into an archive.
struct Contents<'a> {
    inventory: &'a Inventory,
    placed: &'a Placed,
    policy: Option<&'a Policy>,
    report: &'a RunReport,
}

impl Contents<'_> {
    /// The run's files and their companions, sorted.
    fn files(&self) -> impl Iterator<Item = (&TreeFile, manifest::File)> {
        let belongs = |file: &TreeFile| {
            let name = file.name.as_str();
            file.name.below(&self.placed.run).is_some() || self.report.companions.iter().any(|other| other == name)
        };
        self.inventory.files().filter(move |(file, _)| belongs(file)).map(|(file, digests)| {
            let path = file.name.as_str();
            let entry = manifest::File {
                path: file.name.clone(),
                size: file.size,
                mode: mode(file),
                sha256: digests.sha256,
                git_blob: digests.git_blob,
                role: role_of(path, &self.placed.run),
                derivative: self.derivative(path, digests.sha256),
            };
            (file, entry)
        })
    }

    /// The redaction that the policy approved for a file, where the file is what it approved.
    fn derivative(&self, path: &str, sha256: Sha256) -> Option<Box<Derivative>> {
        let approved = self.policy?.approved(path).filter(|approved| approved.public_sha256 == sha256)?;
        Some(Box::new(approved.into()))
    }

    /// What the run names and the archive doesn't have.
    fn omissions(&self) -> Result<Vec<Omission>, Error> {
        let absent = self.report.absent.iter();
        let absent = absent.map(|absent| (absent.path.as_str(), absent.why.as_str(), Some(absent.sha256)));
        let carried = |path: &&String| !self.report.companions.contains(path);
        let sources = self.report.sources_absent.iter().filter(carried);
        let sources = sources.map(|path| (path.as_str(), "a source of the run, not carried along", None));
        let mut omissions = BTreeMap::new();
        for (path, reason, sha256) in sources.chain(absent) {
            let name = EntryName::new(path)
                .map_err(|fault| Error::WouldNotVerify(format!("the run names {path:?}, which {fault}")))?;
            omissions.insert(name.clone(), Omission { path: name, reason: reason.to_owned(), sha256 });
        }
        Ok(omissions.into_values().collect())
    }

    fn manifest(&self, omissions: Vec<Omission>, findings: &Findings) -> Result<Own, Error> {
        let faults: Vec<_> = findings
            .iter()
            .filter(|finding| finding.severity == crate::finding::Severity::Error)
            .map(|finding| manifest::RunFault { code: finding.code.to_string(), message: finding.message.clone() })
            .collect();
        let standing = if faults.is_empty() { Standing::Coherent } else { Standing::FailedEvidence };
        let name = |path: Option<&String>| path.and_then(|path| EntryName::new(path).ok());
        let run = manifest::Run {
            path: EntryName::new(&self.placed.run).map_err(|fault| Error::WouldNotVerify(fault.to_string()))?,
            matrix: name(self.report.spec.as_ref()),
            dialect: None,
            source_snapshot: name(self.report.source_snapshots.first()),
            standing,
            faults,
        };
        Own::new(Document {
            format: manifest::Version1,
            kind: manifest::Kind::Archive,
            project: self.project()?,
            source: None,
            created: self.report.created.as_ref().and_then(|created| created.parse::<Timestamp>().ok()),
            files: self.files().map(|(_, file)| file).collect(),
            omissions,
            runs: vec![run],
        })
    }

    /// The project that the run or the policy names; where neither does, the run's own id has to do.
    fn project(&self) -> Result<Project, Error> {
        let id = || self.report.id.to_ascii_lowercase();
        let named = self.report.project.clone().or_else(|| Some(self.policy?.project.as_str().to_owned()));
        named
            .unwrap_or_else(id)
            .parse::<Project>()
            .map_err(|fault| Error::Usage(format!("the run {} can't name an archive: {fault}", self.report.id)))
    }
}

/// As git does: executable by its owner or not.
pub(super) fn mode(file: &TreeFile) -> Mode {
    if file.mode.is_some_and(|mode| mode & 0o100 != 0) { Mode::Executable } else { Mode::Plain }
}
