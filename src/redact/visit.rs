//! Owns going through one file and all that is packed in it.
//!
//! Refuses to pass over a container: what can't be looked into is told. Invariant: every byte of a file is searched as it
//! stands, and every content of its containers unpacked too.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};
use std::path::Path;

use super::container::{self, HEAD, Kind, Names, TAIL};
use super::scan::{Hit, Scan};
use super::tally::Tally;
use super::window::{Window, Windows};
use super::{OPAQUE, refused};
use crate::document::shown;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::{MAX_NESTING, MAX_TAR_NAMES};
use crate::zip::{Archive, Contents, Name};

/// What is between the names of a container and of what is in it.
const INSIDE: &str = "!/";

/// Bytes read at a time.
const CHUNK: usize = 64 << 10;

/// Why a visit could not go on.
#[derive(Debug)]
pub(super) enum Failure {
    /// The file could not be read.
    Read(io::Error),
    /// Something else.
    Other(Error),
}

impl Failure {
    pub(super) fn into_error(self, path: &Path) -> Error {
        match self {
            Self::Read(source) => Error::io("read", path)(source),
            Self::Other(error) => error,
        }
    }
}

/// What one rule found in one file.
#[derive(Debug)]
struct Found {
    what: String,
    /// The name within the file's containers; empty for the file itself.
    inside: String,
    depth: usize,
    /// Byte and line, where it has them.
    at: Option<(u64, u64)>,
    count: u64,
}

/// One file as it is gone through.
#[derive(Debug)]
pub(super) struct Visit<'a> {
    scan: &'a Scan<'a>,
    found: RefCell<BTreeMap<(Code, String), Found>>,
}

impl<'a> Visit<'a> {
    pub(super) fn new(scan: &'a Scan<'a>) -> Self {
        Self { scan, found: RefCell::default() }
    }

    /// What was found and isn't allowed. `shown` is the file's name as it may be told.
    pub(super) fn findings(self, path: &str, shown: &str, tally: &mut Tally) -> Findings {
        let mut findings = Findings::new(self.scan.limits.max_findings);
        for ((code, rule), found) in self.found.into_inner() {
            if self.scan.rules.allows(path, &rule, tally) {
                continue;
            }
            let inside = if found.inside.is_empty() { String::new() } else { format!(", in {}", found.inside) };
            let at = found.at.map(|(byte, _)| format!(" at byte {byte}")).unwrap_or_default();
            let more = if found.count > 1 { format!(", and {} more", found.count - 1) } else { String::new() };
            let place = Place { line: found.at.map(|(_, line)| line), ..Place::entry(shown) };
            findings.push(Finding::new(code, place, format!("{}{at}{inside}{more}", found.what)));
        }
        findings
    }

    /// Keeps the place that is deepest within containers: it says most.
    fn add(&self, code: Code, rule: &str, found: Found) {
        let mut all = self.found.borrow_mut();
        match all.get_mut(&(code, rule.to_owned())) {
            Some(before) if before.depth == found.depth && before.inside == found.inside => before.count += 1,
            Some(before) if before.depth >= found.depth => {}
            _ => {
                all.insert((code, rule.to_owned()), found);
            }
        }
    }

    fn opaque(&self, what: &str, inside: &str, depth: usize) {
        let what = format!("{what} can't be looked into ({OPAQUE})");
        self.add(Code::ExportOpaque, OPAQUE, Found { what, inside: inside.to_owned(), depth, at: None, count: 1 });
    }

    /// Searches a name.
    pub(super) fn name(&self, path: &str, inside: &str) {
        self.search(&Window::whole(path.as_bytes()), inside, 0, "the name holds ", false);
    }

    /// Searches a window of a content.
    pub(super) fn see(&self, window: &Window<'_>, inside: &str, depth: usize) {
        self.search(window, inside, depth, "", true);
    }

    fn search(&self, window: &Window<'_>, inside: &str, depth: usize, start: &str, placed: bool) {
        let label = |n: usize| shown(self.scan.rules.label(n));
        self.scan.search(window, &mut |hit, place| {
            let (code, rule, what) = match hit {
                Hit::Secret(rule) => {
                    (Code::ExportSecret, rule.name.to_owned(), format!("{} ({})", rule.what, rule.name))
                }
                Hit::Pattern(n) => {
                    let rule = format!("pattern of {n}");
                    (Code::ExportPrivate, rule, format!("what the redaction \"{}\" matches", label(n)))
                }
                Hit::Private(n, form) => {
                    let rule = format!("string of {n}");
                    (Code::ExportPrivate, rule, format!("a private string of the redaction \"{}\", {form},", label(n)))
                }
            };
            let at = placed.then(|| window.place(place.start));
            let what = if start.is_empty() { what } else { format!("{start}{what}").trim_end_matches(',').to_owned() };
            self.add(code, &rule, Found { what, inside: inside.to_owned(), depth, at, count: 1 });
        });
    }

    /// Goes through a content: as it stands, and unpacked where it is a container.
    pub(super) fn content(&self, content: &mut dyn Read, inside: &str, depth: usize) -> Result<(), Failure> {
        let mut head = Vec::new();
        content.take(HEAD as u64).read_to_end(&mut head).map_err(Failure::Read)?;
        let kind = container::kind(&head);
        let mut whole = head.as_slice().chain(content);
        let tap =
            Tap { reader: &mut whole, visit: self, windows: Windows::default(), inside, depth, count: 0, failed: None };
        match kind {
            Kind::Plain => self.plain(tap),
            Kind::Opaque(what) => {
                self.opaque(what, inside, depth);
                tap.drain()
            }
            Kind::Gzip | Kind::Tar | Kind::Zip if depth >= MAX_NESTING => {
                self.opaque("a container within so many others", inside, depth);
                tap.drain()
            }
            Kind::Gzip => self.gzip(tap),
            Kind::Tar => self.tar(tap),
            Kind::Zip => self.zip(tap),
        }
    }

    fn plain(&self, mut tap: Tap<'_>) -> Result<(), Failure> {
        let (inside, depth) = (tap.inside, tap.depth);
        let (mut chunk, mut tail) = (vec![0; CHUNK], Vec::new());
        loop {
            let count = tap.read(&mut chunk).map_err(Failure::Read)?;
            if count == 0 {
                break;
            }
            tail.extend_from_slice(chunk.get(..count).unwrap_or_default());
            let gone = tail.len().saturating_sub(TAIL);
            tail.drain(..gone);
        }
        if container::ends_as_zip(&tail) {
            self.opaque("a ZIP behind other bytes", inside, depth);
        }
        tap.drain()
    }

    fn gzip<'t>(&'t self, tap: Tap<'t>) -> Result<(), Failure> {
        let (inside, depth) = (tap.inside, tap.depth);
        let mut inflate = Inflate { decoder: flate2::read::MultiGzDecoder::new(tap), count: 0, scan: self.scan };
        let outcome = self.content(&mut inflate, inside, depth + 1);
        let tap = inflate.decoder.into_inner();
        self.end(outcome, tap, "a gzip file that is broken or inflates too far")
    }

    fn tar(&self, mut tap: Tap<'_>) -> Result<(), Failure> {
        let outcome = self.members(&mut tap);
        self.end(outcome, tap, "a tar that is broken")
    }

    /// Ends a container: what its own reader failed at makes it opaque, unless the file couldn't be read.
    fn end(&self, outcome: Result<(), Failure>, mut tap: Tap<'_>, what: &str) -> Result<(), Failure> {
        match (outcome, tap.failed.take()) {
            (Err(Failure::Read(_)), Some(failed)) => return Err(Failure::Read(failed)),
            (Err(Failure::Read(_)), None) => self.opaque(what, tap.inside, tap.depth),
            (Err(Failure::Other(error)), _) => return Err(Failure::Other(error)),
            (Ok(()), _) => {}
        }
        tap.drain()
    }

    /// The files of a tar. Their plain bytes are searched as the tar's; only containers are gone through.
    fn members(&self, tap: &mut Tap<'_>) -> Result<(), Failure> {
        let (inside, depth) = (tap.inside, tap.depth);
        let broken = || Failure::Read(io::ErrorKind::InvalidData.into());
        let mut long = None;
        loop {
            let mut header = Vec::new();
            tap.by_ref().take(HEAD as u64).read_to_end(&mut header).map_err(Failure::Read)?;
            if header.iter().all(|byte| *byte == 0) {
                return Ok(());
            }
            let member = container::member(&header).ok_or_else(broken)?;
            let mut content = tap.by_ref().take(member.size);
            let mut head = Vec::new();
            if member.names == Names::Nothing {
                let within = long.take().unwrap_or(member.name);
                let name = format!("{inside}{INSIDE}{}", self.scan.masked(&within));
                self.refused(&within, &name, depth + 1);
                // A name may be split between two fields, so that it doesn't stand in the tar as it is.
                self.search(&Window::whole(within.as_bytes()), &name, depth + 1, "the name holds ", false);
                content.by_ref().take(HEAD as u64).read_to_end(&mut head).map_err(Failure::Read)?;
                if member.is_file && container::kind(&head) != Kind::Plain {
                    self.content(&mut head.as_slice().chain(&mut content), &name, depth + 1)?;
                }
            } else {
                content.by_ref().take(MAX_TAR_NAMES).read_to_end(&mut head).map_err(Failure::Read)?;
                if content.limit() > 0 {
                    return Err(broken());
                }
                long = member.names.next(&head).or(long);
            }
            io::copy(&mut content, &mut io::sink()).map_err(Failure::Read)?;
            if content.limit() > 0 {
                return Err(broken());
            }
            let padding = member.size.next_multiple_of(HEAD as u64) - member.size;
            io::copy(&mut tap.by_ref().take(padding), &mut io::sink()).map_err(Failure::Read)?;
        }
    }

    fn zip(&self, mut tap: Tap<'_>) -> Result<(), Failure> {
        let (inside, depth) = (tap.inside, tap.depth);
        let scratch = &self.scan.scratch;
        let system = |error: io::Error| Failure::Other(Error::io("write", scratch)(error));
        let mut copy = tempfile::NamedTempFile::new_in(scratch).map_err(system)?;
        let mut chunk = vec![0; CHUNK];
        loop {
            let count = tap.read(&mut chunk).map_err(Failure::Read)?;
            if count == 0 {
                break;
            }
            copy.write_all(chunk.get(..count).unwrap_or_default()).map_err(system)?;
        }
        tap.drain()?;
        let Some((names, contents)) = self.open_zip(copy.path()).map_err(Failure::Other)? else {
            self.opaque("a ZIP that is broken, encrypted or ambiguous", inside, depth);
            return Ok(());
        };
        for (index, within) in names.iter().enumerate() {
            let shown = self.scan.masked(within);
            let name = format!("{inside}{INSIDE}{shown}");
            self.refused(within, &name, depth + 1);
            self.search(&Window::whole(within.as_bytes()), &name, depth + 1, "the name holds ", false);
            if let Some(mut content) = contents.open(index) {
                self.content(&mut content, &name, depth + 1)?;
            }
        }
        Ok(())
    }

    /// The names and contents of a ZIP; none where the strict reader refuses it.
    fn open_zip(&self, path: &Path) -> Result<Option<(Vec<String>, Contents)>, Error> {
        let opened = match Archive::open(path, self.scan.limits) {
            Ok(opened) => opened,
            Err(Error::NotAZip { .. }) => return Ok(None),
            Err(error) => return Err(error),
        };
        let (archive, mut findings) = opened;
        archive.sha256_all(&|_| (), &mut findings)?;
        if !findings.none_broken() {
            return Ok(None);
        }
        let name = |entry: &crate::zip::Entry| match &entry.name {
            Name::Portable(name) => name.as_str().to_owned(),
            Name::Refused(_) => entry.shown_name(),
        };
        Ok(Some((archive.entries().iter().map(name).collect(), archive.into_contents())))
    }

    /// A name within a container that a release must not have either.
    fn refused(&self, within: &str, name: &str, depth: usize) {
        if let Some(rule) = refused::refused(within) {
            let what = format!("the name is refused: {} ({})", rule.what, rule.name);
            let inside = self.scan.masked(name);
            self.add(Code::ExportName, rule.name, Found { what, inside, depth, at: None, count: 1 });
        }
    }
}

/// A stream whose bytes are searched as they pass.
struct Tap<'a> {
    reader: &'a mut dyn Read,
    visit: &'a Visit<'a>,
    windows: Windows,
    inside: &'a str,
    depth: usize,
    /// Bytes that passed.
    count: u64,
    /// Why the reader failed, where it did.
    failed: Option<io::Error>,
}

impl Tap<'_> {
    /// Lets the rest pass, and ends the search.
    fn drain(mut self) -> Result<(), Failure> {
        let mut chunk = vec![0; CHUNK];
        while self.read(&mut chunk).map_err(Failure::Read)? > 0 {}
        let (visit, inside, depth) = (self.visit, self.inside, self.depth);
        self.windows.finish(&mut |window| visit.see(&window, inside, depth));
        Ok(())
    }
}

impl Read for Tap<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.reader.read(buffer).inspect_err(|error| self.failed = Some(error.kind().into()))?;
        let (visit, inside, depth) = (self.visit, self.inside, self.depth);
        let bytes = buffer.get(..count).unwrap_or_default();
        self.windows.push(bytes, &mut |window| visit.see(&window, inside, depth));
        self.count = self.count.saturating_add(count as u64);
        Ok(count)
    }
}

/// What a gzip stream inflates to, within the bounds that hold for ZIPs.
struct Inflate<'a> {
    decoder: flate2::read::MultiGzDecoder<Tap<'a>>,
    count: u64,
    scan: &'a Scan<'a>,
}

impl Read for Inflate<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.decoder.read(buffer)?;
        self.count = self.count.saturating_add(count as u64);
        let limits = self.scan.limits;
        let too_far = self.count > self.decoder.get_ref().count.saturating_mul(limits.max_ratio);
        if self.count > limits.max_content || (self.count > limits.ratio_floor && too_far) {
            return Err(io::Error::other("it inflates too far"));
        }
        Ok(count)
    }
}
