//! Owns opening a repository, and telling which ones can't be read as git would read them.
//!
//! Refuses bare repositories, SHA-256 ones, references that lie in tables, extensions that nobody here knows, and a
//! working tree that lies elsewhere. Invariant: of the configuration only the repository's own is read, and of the
//! environment nothing.

use std::path::Path;

use super::{Repository, reason};
use crate::error::Error;
use crate::name::escape;

/// What git adds to a repository and what makes no difference here, in lower case.
const EXTENSIONS: &[&str] = &[
    "noop",
    "noop-v1",
    "objectformat",
    "partialclone",
    "preciousobjects",
    "refstorage",
    "relativeworktrees",
    "submodulepathconfig",
    "worktreeconfig",
];

const ADVICE: &str = "give a clone of the project with its files checked out";

pub(super) fn open(path: &Path) -> Result<Repository, Error> {
    let refuse = |problem: String| Error::Repository { path: path.to_path_buf(), problem };
    let folder = path.canonicalize().map_err(Error::io("open", path))?;
    let options = || gix::open::Options::isolated().strict_config(true);
    let trust = gix::sec::trust::Mapping { full: options(), reduced: options() };
    let upwards = gix::discover::upwards::Options::default();
    let shared = gix::ThreadSafeRepository::discover_opts(&folder, upwards, trust).map_err(|error| {
        let cause = reason(&error);
        // The library is built without that format and takes it for a fault of the configuration.
        if cause.contains("objectFormat") {
            return refuse(format!("its object ids are SHA-256, and only SHA-1 ones are read: {ADVICE}"));
        }
        refuse(format!("no git repository was opened there ({cause}): {ADVICE}"))
    })?;
    let mut inner = shared.to_thread_local();
    if let Some(problem) = unreadable(&inner) {
        return Err(refuse(problem));
    }
    let root = inner.workdir().map(Path::to_path_buf).ok_or_else(|| {
        refuse("the repository is bare: a release is made where its files are checked out".to_owned())
    })?;
    // What a replacement shows in a commit's place is not the commit that its id names.
    inner.objects.ignore_replacements = true;
    let root = root.canonicalize().map_err(Error::io("open", &root))?;
    // A setting alone must not lead to files that nobody named.
    if !folder.starts_with(&root) {
        let elsewhere = escape(root.as_os_str().as_encoded_bytes());
        return Err(refuse(format!("its working tree lies elsewhere (core.worktree): name {elsewhere} instead")));
    }
    Ok(Repository { inner, root })
}

/// Why git itself would read the repository otherwise, or not at all.
fn unreadable(inner: &gix::Repository) -> Option<String> {
    let config = inner.config_snapshot();
    if inner.object_hash() != gix::hash::Kind::Sha1 {
        return Some(format!("its object ids are SHA-256, and only SHA-1 ones are read: {ADVICE}"));
    }
    if config.string("extensions.refStorage").is_some_and(|storage| storage.as_slice() != b"files") {
        let advice = "convert it with git refs migrate --ref-format=files";
        return Some(format!("its references lie in tables, and only files are read: {advice}"));
    }
    if config.integer("core.repositoryFormatVersion").is_none_or(|version| version < 1) {
        return None;
    }
    let sections = config.plumbing().sections_by_name("extensions").into_iter().flatten();
    let names = sections.flat_map(|section| section.value_names().collect::<Vec<_>>());
    let unknown = names.into_iter().find(|name| !EXTENSIONS.contains(&name.to_ascii_lowercase().as_str()))?;
    let unknown = escape(unknown.as_bytes());
    Some(format!("its extension \"{unknown}\" is not known, so it may not be read as it is meant: {ADVICE}"))
}
