//! Owns finding a run's place in its project: the root that its recorded paths start at, and what belongs with it.
//!
//! Refuses to guess a root that the run's own records don't confirm. Invariant: only the run's folder and a few names in
//! the folders above it are read, never the whole project.

use std::fs::File;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::limits::Limits;
use crate::name::{self, EntryName};

/// A run's folder, seen from its project's root.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Placed {
    pub(super) root: PathBuf,
    pub(super) run: String,
}

/// Files above a run that belong with it, where they are there.
const COMPANIONS: [&str; 4] = ["matrix.json", "matrix-spec.json", "PROTOCOL.md", "source-snapshots"];

/// Finds the root: the one that was given, or what is left of the run's path once its recorded path is taken off.
pub(super) fn place(run: &Path, root: Option<&Path>, limits: &Limits) -> Result<Placed, Error> {
    let run = run.canonicalize().map_err(Error::io("open", run))?;
    if !run.is_dir() {
        return Err(Error::Usage(format!("{} is not a folder: give the run's folder", run.display())));
    }
    let root = match root {
        Some(root) => root.canonicalize().map_err(Error::io("open", root))?,
        None => recorded_root(&run, limits)?,
    };
    let outside = || {
        let (run, root) = (run.display(), root.display());
        Error::Usage(format!("{run} does not lie below {root}: give the project's root with --root"))
    };
    let relative = run.strip_prefix(&root).ok().filter(|relative| !relative.as_os_str().is_empty());
    let relative = relative.ok_or_else(outside)?;
    let shown = name::escape(relative.as_os_str().as_encoded_bytes());
    let text = relative.to_str().ok_or(()).and_then(|text| EntryName::new(text).map_err(|_| ()));
    let name = text.map_err(|()| {
        Error::Usage(format!("the run's path {shown} is not a portable name: rename the folder and try again"))
    })?;
    Ok(Placed { root, run: name.to_string() })
}

/// The root of a run whose records say where it lies in its project.
fn recorded_root(run: &Path, limits: &Limits) -> Result<PathBuf, Error> {
    let unknown =
        || Error::Usage(format!("cannot tell the project's root from {}: give it with --root", run.display()));
    if run.join("run.json").exists() {
        // matrices/<name>/runs/<id>
        let root = run.ancestors().nth(4).ok_or_else(unknown)?;
        let layout = [(1, "runs"), (3, "matrices")];
        let fits = |(up, name): &(usize, &str)| {
            run.ancestors().nth(*up).and_then(Path::file_name).is_some_and(|found| found == *name)
        };
        return if layout.iter().all(fits) { Ok(root.to_path_buf()) } else { Err(unknown()) };
    }
    let results = run.join("results.jsonl");
    if !results.is_file() {
        let run = run.display();
        let message =
            format!("{run} is not a run folder: one holds either run.json, or results.jsonl and provenance.json");
        return Err(Error::Usage(message));
    }
    let id = run.file_name().and_then(|id| id.to_str()).ok_or_else(unknown)?;
    // The first record names an artifact; a record is at most a line long.
    let mut head = Vec::new();
    let file = File::open(&results).map_err(Error::io("open", &results))?;
    file.take(limits.max_line as u64).read_to_end(&mut head).map_err(Error::io("read", &results))?;
    let text = head.utf8_chunks().next().map(|chunk| chunk.valid()).unwrap_or_default();
    let recorded = recorded_path(text, id).ok_or_else(unknown)?;
    // What the records call `docs/raw/attempt-x` ends the run's path: the root is what stands before.
    let depth = recorded.split('/').count();
    let root = run.ancestors().nth(depth).ok_or_else(unknown)?;
    if root.join(&recorded) == run { Ok(root.to_path_buf()) } else { Err(unknown()) }
}

/// The path of the attempt `id` in the first artifact that a record names: the text between a quote and the id.
fn recorded_path(results: &str, id: &str) -> Option<String> {
    let marked = format!("{id}/");
    let at = results.find(&marked)?;
    let start = results.get(..at)?.rfind('"')?.checked_add(1)?;
    let end = at.checked_add(id.len())?;
    EntryName::new(results.get(start..end)?).ok().map(|name| name.to_string())
}

/// The parts of the project that a run's archive is made from: the run, and what lies above it that belongs with it.
pub(super) fn parts(placed: &Placed) -> Vec<String> {
    let mut parts = vec![placed.run.clone()];
    let above = placed.run.match_indices('/').filter_map(|(at, _)| placed.run.get(..at));
    for folder in std::iter::once("").chain(above) {
        for name in COMPANIONS {
            let part = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
            if placed.root.join(&part).exists() {
                parts.push(part);
            }
        }
    }
    parts
}
