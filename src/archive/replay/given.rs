//! Owns telling what was given to replay: runs in a tree, a run's folder, or loose transcripts.
//!
//! Refuses a mixture. Invariant: a tree with findings of its own is not replayed: its bytes may not be what was published.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{BufRead, BufReader, Read};
use std::path::Path;

use super::super::parts;
use super::super::verify::{Verify, document, examine};
use super::Replayed;
use super::keys::Keys;
use super::loose::{Loose, loose};
use super::run::{RunRequest, run};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::finding::Finding;
use crate::history::Source;
use crate::limits::Limits;
use crate::name::escape;
use crate::run::matrix::MatrixDocument;
use crate::run::record::process_of;
use crate::run::{self, Kind, Request, RunReport};
use crate::snapshot::{self, Sidecar};
use crate::tree::{self, Inventory, Progress};

/// What to replay.
#[derive(Debug, Clone, Copy)]
pub struct Given<'a> {
    /// A run, a release or archive, or transcripts.
    pub paths: &'a [&'a Path],
    /// A matrix document.
    pub matrix: Option<&'a Path>,
    /// A dialect document.
    pub dialect: Option<&'a Path>,
    /// A database, for loose transcripts.
    pub ledger: Option<&'a Path>,
    /// It was copied while something could still write.
    pub ledger_is_early: bool,
    /// The store held nothing at the start of loose transcripts.
    pub starts_empty: bool,
    /// The key that sealed states, where it is disclosed.
    pub state_key: Option<&'a Path>,
    /// The key of fingerprints, where it is disclosed.
    pub fingerprint_key: Option<&'a Path>,
    /// A folder in which private ones are made and removed again.
    pub scratch: &'a Path,
}

/// Replays what is given.
///
/// # Errors
/// What can't be read, documents with faults, and a mixture of runs and transcripts.
pub fn replay(given: &Given<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Vec<Replayed>, Error> {
    let matrix = given.matrix.map(|path| MatrixDocument::load(path, &document(path, limits)?, limits)).transpose()?;
    let dialect = given.dialect.map(|path| Dialect::load(path, &document(path, limits)?, limits)).transpose()?;
    let keys = Keys::read(given.state_key, given.fingerprint_key, limits)?;
    let documents = Documents { matrix: matrix.as_ref(), dialect: dialect.as_ref(), keys: &keys };
    match given.paths {
        [one] if one.is_dir() || is_zip(one)? => {
            if given.ledger.is_some() || given.starts_empty {
                let message = "a run has databases of its own: --ledger and --starts-empty are for loose transcripts";
                return Err(Error::Usage(message.to_owned()));
            }
            of_tree(given, one, documents, limits, progress)
        }
        paths => {
            if let Some(folder) = paths.iter().find(|path| path.is_dir()) {
                return Err(Error::Usage(format!(
                    "{} is a folder: give one run, release or archive, or transcripts as files",
                    folder.display()
                )));
            }
            if matrix.is_some() {
                return Err(Error::Usage(
                    "a matrix tells of a whole run: give the run's folder with it, or transcripts without it"
                        .to_owned(),
                ));
            }
            of_files(given, &documents, limits).map(|replayed| vec![replayed])
        }
    }
}

/// Whether a file starts as a ZIP does.
fn is_zip(path: &Path) -> Result<bool, Error> {
    let mut head = Vec::new();
    let file = tree::open_regular(path)?;
    file.take(4).read_to_end(&mut head).map_err(Error::io("read", path))?;
    Ok(head.starts_with(b"PK") || path.extension().is_some_and(|extension| extension.eq_ignore_ascii_case("zip")))
}

/// Documents that the user gave.
#[derive(Clone, Copy)]
struct Documents<'d> {
    matrix: Option<&'d MatrixDocument>,
    dialect: Option<&'d Dialect>,
    keys: &'d Keys,
}

fn of_tree(
    given: &Given<'_>,
    path: &Path,
    documents: Documents<'_>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<Vec<Replayed>, Error> {
    if path.is_dir() && !path.join(crate::manifest::MANIFEST).exists() {
        return of_folder(given, path, documents, limits, progress);
    }
    let request = Verify { path, receipt: None, policy: None, inventory_only: false, scratch: None };
    let (inventory, verification) = examine(&request, limits, progress)?;
    // What is wrong with a run itself is no matter of the tree: a run that failed can be replayed all the same.
    let is_of_run = |finding: &&Finding| {
        let name = finding.code.to_string();
        name.starts_with("run-") || name.starts_with("snapshot-")
    };
    let mut broken = verification.findings.iter().filter(|finding| super::run::is_error(finding));
    if let Some(finding) = broken.find(|finding| !is_of_run(finding)) {
        return Err(unsound(path, finding));
    }
    let Documents { matrix, dialect, keys } = documents;
    verification
        .runs
        .iter()
        .map(|found| {
            let request = RunRequest { matrix, dialect, keys: Some(keys), ..RunRequest::of(&found.report) };
            run(&inventory, &request, limits, given.scratch)
        })
        .collect()
}

/// A run's own folder, or one in which runs lie.
fn of_folder(
    given: &Given<'_>,
    path: &Path,
    documents: Documents<'_>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<Vec<Replayed>, Error> {
    let Documents { matrix, dialect, keys } = documents;
    let is_run = ["run.json", "results.jsonl"].iter().any(|name| path.join(name).exists());
    let placed = if is_run { parts::place(path, None, limits).ok() } else { None };
    let (inventory, findings) = match &placed {
        Some(placed) => Inventory::open_parts(&placed.root, &parts::parts(placed), limits, progress)?,
        None => Inventory::open(path, limits, progress)?,
    };
    if let Some(finding) = findings.iter().find(|finding| super::run::is_error(finding)) {
        return Err(unsound(path, finding));
    }
    let runs = match &placed {
        Some(placed) => vec![placed.run.clone()],
        None => runs_in(&inventory, is_run),
    };
    if runs.is_empty() {
        return Err(Error::Usage(format!(
            "{} holds no run: give a folder with run.json or results.jsonl, a release, an archive, or transcripts",
            path.display()
        )));
    }
    let mut all = Vec::new();
    for folder in runs {
        let loaded = load(&inventory, &folder, limits)?;
        let request = match &loaded {
            Some(report) => RunRequest::of(report),
            None => RunRequest { run: &folder, kind: Kind::Historical, spec: None, findings: Vec::new(), ..NOTHING },
        };
        all.push(run(&inventory, &RunRequest { matrix, dialect, keys: Some(keys), ..request }, limits, given.scratch)?);
    }
    Ok(all)
}

const NOTHING: RunRequest<'_> =
    RunRequest { run: "", kind: Kind::Own, spec: None, findings: Vec::new(), matrix: None, dialect: None, keys: None };

/// What the run says of itself; none where it lacks the documents of a whole run, and has but results.
fn load(inventory: &Inventory, folder: &str, limits: &Limits) -> Result<Option<RunReport>, Error> {
    if run::detect(inventory, folder).is_err() {
        return Ok(None);
    }
    let none = (BTreeMap::new(), BTreeMap::new(), BTreeSet::new());
    let (derivatives, disclosed, told) = (&none.0, &none.1, &none.2);
    let request = Request { run: folder, spec: None, derivatives, disclosed, told, is_living: true };
    run::load(inventory, &request, limits).map(Some)
}

/// The folders of runs in a tree: those with results.
fn runs_in(inventory: &Inventory, is_run: bool) -> Vec<String> {
    if is_run {
        return vec![String::new()];
    }
    let folder = |name: &str| name.strip_suffix("/results.jsonl").map(str::to_owned);
    inventory.files().filter_map(|(file, _)| folder(file.name.as_str())).collect()
}

fn unsound(path: &Path, finding: &Finding) -> Error {
    Error::Usage(format!(
        "{} is not sound ({}: {}): see `exhibit verify-export` or `exhibit list`",
        path.display(),
        finding.code,
        finding.message
    ))
}

fn of_files(given: &Given<'_>, documents: &Documents<'_>, limits: &Limits) -> Result<Replayed, Error> {
    let names: Vec<String> = given.paths.iter().map(|path| shown(path)).collect();
    let mut known = BTreeSet::new();
    for path in given.paths {
        if !known.insert(path.canonicalize().map_err(Error::io("open", path))?) {
            return Err(Error::Usage(format!("{} is given twice: its calls would count twice", shown(path))));
        }
    }
    let mut sources = Vec::new();
    for (path, name) in given.paths.iter().zip(&names) {
        // What can't be opened is told before anything is read.
        drop(tree::open_regular(path)?);
        let open =
            move || -> Result<Box<dyn BufRead>, Error> { Ok(Box::new(BufReader::new(tree::open_regular(path)?))) };
        sources.push(Source { name, process: process_of(name), open: Box::new(open) });
    }
    let ledger_name = given.ledger.map(shown);
    let ledger = match (given.ledger, &ledger_name) {
        (Some(path), Some(name)) => Some(database(path, name)?),
        (_, _) => None,
    };
    let loose_given = Loose {
        sources: &sources,
        ledger,
        is_final: !given.ledger_is_early,
        starts_empty: given.starts_empty,
        dialect: documents.dialect,
        keys: documents.keys,
    };
    loose(loose_given, limits, given.scratch)
}

fn shown(path: &Path) -> String {
    path.to_str().map_or_else(|| escape(path.as_os_str().as_encoded_bytes()), str::to_owned)
}

/// A database with every sidecar that lies beside it.
fn database<'a>(path: &Path, name: &'a str) -> Result<snapshot::Source<'a>, Error> {
    let mut sidecars: Vec<(Sidecar, Box<dyn Read>)> = Vec::new();
    for kind in Sidecar::ALL {
        let mut beside = path.as_os_str().to_owned();
        beside.push(kind.suffix());
        let beside = Path::new(&beside);
        if beside.symlink_metadata().is_ok() {
            sidecars.push((kind, Box::new(tree::open_regular(beside)?)));
        }
    }
    Ok(snapshot::Source { name, database: Box::new(tree::open_regular(path)?), sidecars })
}
