//! Owns writing a release or an archive with its receipt, under their final names.
//!
//! Refuses to overwrite anything. Invariant: ZIP and receipt appear complete or not at all, and only after the ZIP was
//! read back without a finding; whatever fails before that leaves nothing behind.

use std::fs::{File, Permissions};
use std::io::{BufReader, BufWriter, Read, Write};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::verify::{Verify, verify};
use crate::digest::{Sha256, Sha256Hasher};
use crate::error::Error;
use crate::finding::{Finding, Severity};
use crate::form::Mode;
use crate::limits::Limits;
use crate::manifest::{MANIFEST, Manifest, Own, Receipt};
use crate::name::EntryName;
use crate::tree::{Progress, Step};
use crate::zip::Writer;

/// A ZIP with its receipt.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The ZIP.
    pub archive: PathBuf,
    /// Its receipt.
    pub receipt: PathBuf,
    /// Bytes of the ZIP.
    pub size: u64,
    /// SHA-256 of the ZIP.
    pub sha256: Sha256,
    /// SHA-256 of the manifest.
    pub content_id: Sha256,
    /// Files in it, without the manifest.
    pub files: u64,
}

/// What to write, and how it is held against itself.
pub(super) struct Publication<'a> {
    /// The folder that ZIP and receipt go to.
    pub(super) out: &'a Path,
    /// The manifest, which lists what the ZIP holds.
    pub(super) manifest: Own,
    /// Whether reading back leaves the runs alone: those kept as failed evidence don't verify.
    pub(super) inventory_only: bool,
}

/// Opens the content of a listed file.
pub(super) type Open<'a> = &'a mut dyn FnMut(&EntryName) -> Result<Box<dyn Read + 'a>, Error>;

/// Writes ZIP and receipt. `last` is asked when all is written and nothing has its name yet.
pub(super) fn publish(
    publication: Publication<'_>,
    open: Open<'_>,
    last: impl FnOnce() -> Result<(), Error>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<Written, Error> {
    let made: Vec<PathBuf> = missing(publication.out).map(Path::to_path_buf).collect();
    let written = write(publication, open, last, limits, progress);
    if written.is_err() {
        // What another program has put there meanwhile keeps a folder.
        made.iter().take_while(|folder| std::fs::remove_dir(folder).is_ok()).for_each(drop);
    }
    written
}

/// The folders of a path that are not there yet, the innermost first.
fn missing(path: &Path) -> impl Iterator<Item = &Path> {
    path.ancestors().take_while(|folder| !folder.as_os_str().is_empty() && folder.symlink_metadata().is_err())
}

fn write(
    publication: Publication<'_>,
    open: Open<'_>,
    last: impl FnOnce() -> Result<(), Error>,
    limits: &Limits,
    progress: Progress<'_>,
) -> Result<Written, Error> {
    let Publication { out, manifest, inventory_only } = publication;
    let root = manifest.root_name();
    let archive = out.join(format!("{root}.zip"));
    let receipt = out.join(format!("{root}.receipt.json"));
    refuse_existing([&archive, &receipt])?;
    std::fs::create_dir_all(out).map_err(Error::io("create", out))?;
    let packed = temporary(out)?;
    let files = pack(&packed, &root, &manifest, open, progress)?;
    read_back(packed.path(), inventory_only, limits, progress)?;
    let (sha256, size) = digest(packed.path())?;
    let content_id = manifest.content_id();
    let said = Receipt::of(&format!("{root}.zip"), size, sha256, &Manifest::Own(manifest)).to_bytes()?;
    let mut beside = temporary(out)?;
    beside.write_all(&said).map_err(Error::io("write", beside.path()))?;
    beside.as_file().sync_all().map_err(Error::io("write", beside.path()))?;
    last()?;
    keep(packed, &archive)?;
    if let Err(error) = keep(beside, &receipt) {
        // Both or none.
        std::fs::remove_file(&archive).map_err(Error::io("remove", &archive))?;
        return Err(error);
    }
    File::open(out).and_then(|folder| folder.sync_all()).map_err(Error::io("write", out))?;
    Ok(Written { archive, receipt, size, sha256, content_id, files })
}

fn refuse_existing(outputs: [&PathBuf; 2]) -> Result<(), Error> {
    match outputs.into_iter().find(|path| path.symlink_metadata().is_ok()) {
        Some(path) => Err(Error::OutputExists { path: path.clone() }),
        None => Ok(()),
    }
}

/// A file in the output's own folder, so that renaming it is one step; gone again unless it is kept.
fn temporary(out: &Path) -> Result<NamedTempFile, Error> {
    tempfile::Builder::new()
        .prefix(".exhibit-")
        .suffix(".tmp")
        .permissions(Permissions::from_mode(0o644))
        .tempfile_in(out)
        .map_err(Error::io("create a file in", out))
}

fn keep(file: NamedTempFile, path: &Path) -> Result<(), Error> {
    file.persist_noclobber(path).map(drop).map_err(|error| {
        if error.error.kind() == std::io::ErrorKind::AlreadyExists {
            return Error::OutputExists { path: path.to_path_buf() };
        }
        Error::io("write", path)(error.error)
    })
}

/// Writes the manifest and the files, sorted by the bytes of their names.
fn pack(
    packed: &NamedTempFile,
    root: &str,
    manifest: &Own,
    open: Open<'_>,
    progress: Progress<'_>,
) -> Result<u64, Error> {
    let files = &manifest.document().files;
    progress(Step::Total(files.iter().map(|file| file.size).sum()));
    let mut writer = Writer::new(BufWriter::with_capacity(1 << 16, packed.as_file()));
    let mut pending = Some(manifest.to_bytes()?);
    let mut add = |name: &str, mode: Mode, size: u64, content: &mut dyn Read| {
        let entry = EntryName::new(&format!("{root}/{name}"))
            .map_err(|fault| Error::WouldNotVerify(format!("the name {root}/{name} {fault}")))?;
        let written = writer.file(&entry, mode.bits(), size, content).map_err(Error::io("write", packed.path()));
        // Where a content is at fault, its name says more than the output's.
        written.map_err(|error| if error.is_changed() { Error::Changed { path: name.into() } } else { error })
    };
    for file in files {
        if file.path.as_str() > MANIFEST
            && let Some(bytes) = pending.take()
        {
            add(MANIFEST, Mode::Plain, bytes.len() as u64, &mut bytes.as_slice())?;
        }
        let content = open(&file.path)?;
        add(file.path.as_str(), file.mode, file.size, &mut BufReader::with_capacity(1 << 16, content))?;
        progress(Step::Bytes(file.size));
    }
    if let Some(bytes) = pending.take() {
        add(MANIFEST, Mode::Plain, bytes.len() as u64, &mut bytes.as_slice())?;
    }
    let mut stream = writer.finish().map_err(Error::io("write", packed.path()))?;
    stream.flush().map_err(Error::io("write", packed.path()))?;
    packed.as_file().sync_all().map_err(Error::io("write", packed.path()))?;
    Ok(files.len() as u64)
}

/// A ZIP that wouldn't verify is never given its name.
fn read_back(path: &Path, inventory_only: bool, limits: &Limits, progress: Progress<'_>) -> Result<(), Error> {
    let request = Verify { path, receipt: None, policy: None, inventory_only, scratch: None };
    let verification = verify(&request, limits, progress)?;
    let broken = |finding: &&Finding| finding.severity == Severity::Error;
    match verification.findings.iter().find(broken) {
        Some(finding) => Err(Error::WouldNotVerify(format!("{} ({})", finding.message, finding.code))),
        None => Ok(()),
    }
}

fn digest(path: &Path) -> Result<(Sha256, u64), Error> {
    let file = File::open(path).map_err(Error::io("open", path))?;
    Sha256Hasher::read(BufReader::with_capacity(1 << 16, file)).map_err(Error::io("read", path))
}
