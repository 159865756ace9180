//! Owns reading ZIP files strictly, and writing them in one canonical form.
//!
//! Refuses every file that two readers could take differently. Invariant: in an archive without findings every byte
//! belongs to exactly one record, every copy of a fact agrees, and every content ends exactly where it should.
//!
//! What attacks and accidents do, and the codes that refuse it (the tests are in `tests/zip_codes.rs`):
//!
//! | class | codes |
//! |---|---|
//! | method, size, CRC, name, flag, time or version told twice and differently | `zip-method-differs`, `zip-size-differs`, `zip-crc-differs`, `zip-name-differs`, `zip-flags-differ`, `zip-time-differs`, `zip-version-differs`, `zip-extra-differs` |
//! | ZIP64 fields repeated, unasked for, of wrong length, one size only | `zip64-extra`, `zip-extra-repeated` |
//! | Unicode path fields that change a name | `zip-unicode-path` |
//! | file or folder, by name or by attribute | `zip-folder-data`, `zip-folder-attribute`, `name-file-and-folder` |
//! | encryption | `zip-encrypted` |
//! | duplicate, unsafe, unportable, colliding names | `name-…` |
//! | links, devices, set-id bits | `zip-link`, `zip-special-file`, `zip-mode-bits` |
//! | hidden, missing, overlapping, gapped records | `zip-hidden-entry`, `zip-local-missing`, `zip-overlap`, `zip-gap` |
//! | bytes before and after | `zip-prefix`, `zip-trailing-bytes`, `zip-comment-overrun` |
//! | which end record, counts, offsets, ZIP64 end records, disks | `zip-end-ambiguous`, `zip-comment-signature`, `zip-count`, `zip-directory-bounds`, `zip64-…`, `zip-multi-disk` |
//! | deflate that doesn't end exactly | `zip-deflate-broken`, `zip-deflate-end`, `zip-content-size` |
//! | stored data whose end nobody can see | `zip-descriptor-stored` |
//! | bombs | `zip-ratio`, `zip-too-large`, `zip-overlap` |
//!
//! The classes follow You, Chen, Wang, Duan: "My ZIP isn't your ZIP" (USENIX Security 2025).

mod attributes;
mod canonical;
mod central;
mod content;
mod entry;
mod extra;
mod historical;
mod local;
mod locate;
mod record;
mod source;
mod write;

use std::io::{Read, Write};
use std::path::Path;

use content::{Content, Located};
use rayon::prelude::*;

use crate::digest::{ContentDigests, ContentHasher, Sha256, Sha256Hasher};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::{self, EntryName};

pub use entry::{Entry, Method, Name};
pub use source::{Source, Window};
pub use write::Writer;

/// A ZIP file whose records have been read.
#[derive(Debug)]
pub struct Archive {
    source: Source,
    entries: Vec<Entry>,
    directory: u64,
}

impl Archive {
    /// Opens a file and checks its records; contents are not read yet. After a finding that leaves no directory to
    /// trust there are no entries.
    ///
    /// # Errors
    /// What can't be read, and what is no ZIP at all.
    pub fn open(path: &Path, limits: &Limits) -> Result<(Self, Findings), Error> {
        let source = Source::open(path)?;
        let mut findings = Findings::new(limits.max_findings);
        let mut archive = Self { source, entries: Vec::new(), directory: 0 };
        if let Some(directory) = locate::locate(&archive.source, &mut findings)? {
            archive.directory = directory.offset;
            let mut records = central::read(&archive.source, directory, limits, &mut findings)?;
            local::check(&archive.source, &mut records, directory.offset, &mut findings)?;
            archive.entries = records.entries;
            archive.check_names(&mut findings);
            archive.check_total(limits, &mut findings);
        }
        Ok((archive, findings))
    }

    /// The entries, in the order of the central directory.
    pub fn entries(&self) -> &[Entry] {
        &self.entries
    }

    /// The file itself.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Reads every content once, in parallel, and hashes it both ways that a manifest records. None for an entry whose
    /// content can't be had; a finding says why.
    ///
    /// # Errors
    /// What the system says, and a file that changed since it was opened.
    pub fn digest_all(
        &self,
        progress: &(dyn Fn(u64) + Sync),
        findings: &mut Findings,
    ) -> Result<Vec<Option<ContentDigests>>, Error> {
        self.digest(&|_| true, progress, findings)
    }

    /// As [`Archive::digest_all`], but of the wanted entries only: none for all others.
    ///
    /// # Errors
    /// As there.
    pub fn digest(
        &self,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        progress: &(dyn Fn(u64) + Sync),
        findings: &mut Findings,
    ) -> Result<Vec<Option<ContentDigests>>, Error> {
        self.hash_all(wanted, |entry| ContentHasher::new(entry.size), ContentHasher::finish, progress, findings)
    }

    /// As [`Archive::digest_all`], but SHA-256 only: git blob ids cost as much again.
    ///
    /// # Errors
    /// As there.
    pub fn sha256_all(
        &self,
        progress: &(dyn Fn(u64) + Sync),
        findings: &mut Findings,
    ) -> Result<Vec<Option<Sha256>>, Error> {
        self.hash_all(&|_| true, |_| Sha256Hasher::default(), Sha256Hasher::finish, progress, findings)
    }

    fn hash_all<H: Write, T: Send>(
        &self,
        wanted: &(dyn Fn(&Entry) -> bool + Sync),
        start: impl Fn(&Entry) -> H + Sync,
        finish: impl Fn(H) -> T + Sync,
        progress: &(dyn Fn(u64) + Sync),
        findings: &mut Findings,
    ) -> Result<Vec<Option<T>>, Error> {
        let hash = |spare: &mut content::Spare, entry: &Entry| {
            if !wanted(entry) {
                return Ok(None);
            }
            let hashed = content::hash(&self.source, entry, start(entry), progress, spare)?;
            Ok(hashed.map(|hashed| hashed.map(&finish)))
        };
        let outcomes: Vec<_> =
            self.entries.par_iter().map_init(content::Spare::default, hash).collect::<Result<_, Error>>()?;
        self.source.unchanged()?;
        let keep = |(entry, outcome): (&Entry, Option<Result<T, content::Fault>>)| match outcome? {
            Ok(digests) => Some(digests),
            Err((code, what)) => {
                let shown = entry.shown_name();
                let message = format!("the entry \"{shown}\" {what}");
                findings.push(Finding::new(code, Place::entry(&shown).at(entry.offset), message));
                None
            }
        };
        Ok(self.entries.iter().zip(outcomes).map(keep).collect())
    }

    /// Holds every structural byte against the canonical form, for an archive without findings that claims it.
    ///
    /// # Errors
    /// What can't be read.
    pub fn check_canonical(&self) -> Result<Option<Finding>, Error> {
        canonical::check(&self.source, &self.entries, self.directory)
    }

    /// Holds the packing of an archive without findings against the historical exports'.
    pub fn check_historical(&self) -> Option<Finding> {
        historical::check(&self.entries)
    }

    /// Lets go of the records and keeps what reading contents needs.
    pub fn into_contents(self) -> Contents {
        Contents { located: self.entries.iter().map(Located::of).collect(), source: self.source }
    }

    fn check_names(&self, findings: &mut Findings) {
        let named: Vec<(&Entry, &EntryName)> = self
            .entries
            .iter()
            .filter_map(|entry| match &entry.name {
                Name::Portable(name) => Some((entry, name)),
                Name::Refused(_) => None,
            })
            .collect();
        for clash in name::clashes(named.iter().map(|(entry, name)| (*name, entry.is_folder))) {
            let Some((entry, name)) = named.get(clash.index) else { continue };
            let place = Place::entry(name.as_str()).at(entry.offset);
            findings.push(Finding::new(clash.code, place, clash.message(name)));
        }
        for (entry, name) in named {
            if name.as_str().split('/').any(is_foreign) {
                let message = format!("the entry \"{name}\" is metadata of another system");
                findings.push(Finding::new(Code::NameForeign, Place::entry(name.as_str()).at(entry.offset), message));
            }
        }
    }

    /// Adds up the contents that may be read. Where they are too much together, none is.
    fn check_total(&mut self, limits: &Limits, findings: &mut Findings) {
        let (mut total, mut too_much) = (0u64, None);
        for entry in &mut self.entries {
            if central::is_unreadable(entry, limits) {
                entry.data = None;
            }
            if entry.resolved && !central::is_oversized(entry, limits) {
                total = total.saturating_add(entry.size);
            }
        }
        if total > limits.max_total {
            let message = format!("the contents have {total} bytes in all");
            too_much = Some(Finding::new(Code::ZipTooLarge, Place::default(), message).values(total, limits.max_total));
        } else if central::over_ratio(total, self.source.len(), limits) {
            let message = format!("{} bytes inflate to {total}", self.source.len());
            too_much = Some(Finding::new(Code::ZipRatio, Place::default(), message).values(total, self.source.len()));
        }
        if too_much.is_some() {
            self.entries.iter_mut().for_each(|entry| entry.data = None);
        }
        findings.extend(too_much);
    }
}

/// The contents of an archive, by the positions of their entries.
#[derive(Debug)]
pub struct Contents {
    source: Source,
    located: Vec<Located>,
}

impl Contents {
    /// The file itself.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// A content as a stream, unchecked: for contents that [`Archive::digest_all`] has passed.
    pub fn open(&self, index: usize) -> Option<impl Read + '_> {
        Content::open(&self.source, *self.located.get(index)?, content::Buffers::default())
    }
}

/// Resource forks and git's own folder: meant for nobody who extracts an archive.
fn is_foreign(part: &str) -> bool {
    part.starts_with("._") || part == "__MACOSX" || part.eq_ignore_ascii_case(".git")
}
