//! Owns reading a git repository: its commits, their trees and blobs, its index, through gix.
//!
//! Refuses replaced objects, every object whose content doesn't have its id, and repositories that can't be read as git
//! reads them.
//! Invariant: nothing is written, no process is started, and no filter or hook runs; of the configuration only the
//! repository's own is read, and of the environment nothing.

mod clean;
mod listing;
mod opening;

use std::path::{Path, PathBuf};

use crate::digest::GitBlob;
use crate::error::Error;
use crate::form::{ObjectId, Timestamp};
use crate::limits::Limits;
use crate::name::escape;

pub use clean::{Difference, How};
pub use listing::{Entry, Kind};

/// A repository with a working tree.
pub struct Repository {
    inner: gix::Repository,
    root: PathBuf,
}

/// A commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: ObjectId,
    /// The id of its tree.
    pub tree: ObjectId,
    /// When it was committed, in UTC; none where no calendar of four-digit years has that time.
    pub time: Option<Timestamp>,
}

impl Repository {
    /// Opens the repository whose working tree the folder `path` lies in.
    ///
    /// # Errors
    /// No repository there, or none that can be exported from.
    pub fn open(path: &Path) -> Result<Self, Error> {
        opening::open(path)
    }

    /// The folder of the working tree.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// The commit that a revision names: `HEAD`, a branch, a tag, an id.
    ///
    /// # Errors
    /// No commit yet, no such revision, an ambiguous one, one that isn't a commit's.
    pub fn commit(&self, revision: &str) -> Result<Commit, Error> {
        let unborn = || self.inner.head().is_ok_and(|head| head.is_unborn());
        if revision == "HEAD" && unborn() {
            return Err(self.refuse("the repository has no commit yet: commit what is to be released".to_owned()));
        }
        let shown = escape(revision.as_bytes());
        let commit = self.inner.rev_parse_single(revision).and_then(|id| id.object()).map_err(|_| {
            let advice = match (revision, self.shallow_advice()) {
                ("HEAD", "") => ": run git status and git fsck",
                (_, "") => ", or more than one: give HEAD, a branch, a tag or the whole id of a commit",
                (_, advice) => advice,
            };
            self.refuse(format!("\"{shown}\" names no commit that is here{advice}"))
        })?;
        let commit = commit.peel_to_commit().map_err(|_| {
            self.refuse(format!("\"{shown}\" is not a commit: give HEAD, a branch, a tag or the id of a commit"))
        })?;
        self.read_commit(commit.id)
    }

    fn read_commit(&self, id: gix::ObjectId) -> Result<Commit, Error> {
        let data = self.object(id, gix::object::Kind::Commit)?;
        let broken = || self.refuse(format!("the commit {id} is broken: run git fsck"));
        let commit = gix::objs::CommitRef::from_bytes(&data, gix::hash::Kind::Sha1).map_err(|_| broken())?;
        let time = commit.committer().ok().and_then(|committer| committer.time().ok());
        let parsed = |id: String| id.parse::<ObjectId>().map_err(|_| broken());
        Ok(Commit {
            id: parsed(id.to_string())?,
            tree: parsed(commit.tree().to_string())?,
            time: time.and_then(|time| utc(time.seconds)),
        })
    }

    /// Every entry of a commit that isn't a folder, sorted by the bytes of its path.
    ///
    /// # Errors
    /// Objects that are missing or broken; more entries than `limits` allow.
    pub fn entries(&self, commit: &Commit, limits: &Limits) -> Result<Vec<Entry>, Error> {
        listing::entries(self, commit, limits)
    }

    /// What the working tree has otherwise than `entries`, byte by byte, and what the index has, in the order of paths.
    ///
    /// # Errors
    /// What can't be read.
    pub fn differences(&self, entries: &[Entry]) -> Result<Vec<Difference>, Error> {
        let mut found = clean::work_tree(&self.root, entries)?;
        for difference in found.iter_mut().filter(|difference| difference.how == How::Content) {
            let place = entries.binary_search_by(|entry| entry.path.cmp(&difference.path));
            match place.ok().and_then(|index| entries.get(index)) {
                Some(entry) if matches!(entry.kind, Kind::File { .. }) => difference.how = clean::closer(self, entry)?,
                Some(_) | None => {}
            }
        }
        found.extend(clean::index(self, entries)?);
        found.sort();
        found.dedup_by(|later, first| later.path == first.path);
        Ok(found)
    }

    /// The content of a blob of at most `max` bytes.
    ///
    /// # Errors
    /// It is missing, broken or longer.
    pub fn blob(&self, id: &GitBlob, max: u64) -> Result<Vec<u8>, Error> {
        if self.blob_size(id)? > max {
            return Err(self.refuse(format!("the blob {id} is larger than {max} bytes")));
        }
        self.object(self.id(id)?, gix::object::Kind::Blob)
    }

    /// The commit of this id; none where the repository has none, and where the id is another object's.
    ///
    /// # Errors
    /// It is broken.
    pub fn commit_of(&self, id: &ObjectId) -> Result<Option<Commit>, Error> {
        let Ok(id) = gix::ObjectId::from_hex(id.as_str().as_bytes()) else { return Ok(None) };
        let header = self.inner.try_find_header(id).map_err(|error| self.missing(&id.to_string(), &error))?;
        let is_commit = header.is_some_and(|header| header.kind() == gix::object::Kind::Commit);
        is_commit.then(|| self.read_commit(id)).transpose()
    }

    /// The bytes of a blob.
    ///
    /// # Errors
    /// It is missing or broken.
    pub fn blob_size(&self, id: &GitBlob) -> Result<u64, Error> {
        let id = self.id(id)?;
        let header = self.inner.find_header(id).map_err(|error| self.missing(&id.to_string(), &error))?;
        Ok(header.size())
    }

    fn id(&self, id: &GitBlob) -> Result<gix::ObjectId, Error> {
        let text = id.to_string();
        gix::ObjectId::from_hex(text.as_bytes()).map_err(|_| self.refuse(format!("{text} is no object id")))
    }

    /// An object's content, held against its id: loose objects can say anything.
    fn object(&self, id: gix::ObjectId, kind: gix::object::Kind) -> Result<Vec<u8>, Error> {
        let mut object = self.inner.find_object(id).map_err(|error| self.missing(&id.to_string(), &error))?;
        let computed = gix::objs::compute_hash(gix::hash::Kind::Sha1, object.kind, &object.data);
        if object.kind != kind || computed.ok() != Some(id) {
            return Err(self.refuse(format!("the object {id} is not what its id says: run git fsck")));
        }
        Ok(std::mem::take(&mut object.data))
    }

    fn missing(&self, id: &str, error: &gix::Error) -> Error {
        let what = if error.is_not_found() { "is not in the repository" } else { "can't be read" };
        let advice = match (self.shallow_advice(), error.is_not_found()) {
            ("", true) => ": make a full clone, or run git fsck",
            ("", false) => ": run git fsck",
            (advice, _) => advice,
        };
        self.refuse(format!("the object {id} {what}{advice}"))
    }

    fn shallow_advice(&self) -> &'static str {
        match self.inner.is_shallow() {
            Ok(true) => ": the repository is a shallow clone: fetch the rest with git fetch --unshallow",
            Ok(false) | Err(_) => "",
        }
    }

    fn refuse(&self, problem: String) -> Error {
        Error::Repository { path: self.root.clone(), problem }
    }
}

/// What gix gives as the cause, on one line.
fn reason(error: &gix::Error) -> String {
    let text = error.probable_cause().to_string();
    let line = text.lines().next().unwrap_or_default();
    escape(line.as_bytes())
}

fn utc(seconds: i64) -> Option<Timestamp> {
    let text = gix::date::Time::new(seconds, 0).format(gix::date::time::format::ISO8601_STRICT).ok()?;
    format!("{}Z", text.strip_suffix("+00:00").or_else(|| text.strip_suffix('Z'))?).parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commit_times_are_utc_seconds() {
        let text = |seconds| utc(seconds).map(|time| time.as_str().to_owned());
        assert_eq!(text(0).as_deref(), Some("1970-01-01T00:00:00Z"));
        assert_eq!(text(1_790_115_729).as_deref(), Some("2026-09-22T22:22:09Z"));
        assert_eq!(text(-1).as_deref(), Some("1969-12-31T23:59:59Z"));
        assert_eq!(text(i64::MAX), None);
    }
}
