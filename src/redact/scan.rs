//! Owns looking through every content and name of a release for what may not be in it.
//!
//! Refuses containers that can't be looked into. Invariant: contents stream through a window; two windows overlap, so
//! what is no longer than the overlap is found wherever it stands.

use std::collections::BTreeSet;
use std::io::{self, BufReader, Read};
use std::path::Path;
use std::sync::Mutex;

use flate2::bufread::MultiGzDecoder;

use super::private::Private;
use super::rules::{Redaction, Rules};
use super::secret::{Forms, SECRETS};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::limits::Limits;
use crate::name::escape;
use crate::zip::{Archive, Entry, Name};

/// The rule on containers that can't be looked into.
pub const OPAQUE: &str = "opaque-archive";

/// Bytes that are searched at once.
const WINDOW: usize = 4 << 20;

/// Bytes that two windows share. Secrets and the shapes of private strings are shorter.
const OVERLAP: usize = 128 << 10;

/// Containers within containers.
const MAX_NESTED: usize = 3;

/// How containers begin that this program can't unpack.
const CONTAINERS: [(&[u8], &str); 8] = [
    (b"\xFD7zXZ\0", "xz"),
    (b"\x28\xB5\x2F\xFD", "zstd"),
    (b"BZh", "bzip2"),
    (b"7z\xBC\xAF\x27\x1C", "7z"),
    (b"Rar!\x1A\x07", "rar"),
    (b"\x04\x22\x4D\x18", "lz4"),
    (b"LZIP", "lzip"),
    (b"\x1F\x9D", "compress"),
];

/// Bytes that tell a container.
const HEAD: usize = 8;

/// Whether a rule on contents has this name.
pub(super) fn is_rule(name: &str) -> bool {
    name == OPAQUE || SECRETS.iter().any(|secret| secret.rule == name)
}

/// A content that can be read from its start any number of times.
pub struct Source<'a> {
    /// Its name in the release.
    pub path: &'a str,
    /// Where it is as a file, unchanged. Only there a ZIP can be looked into.
    pub on_disk: Option<&'a Path>,
    /// Opens it.
    pub open: &'a dyn Fn() -> Result<Box<dyn Read + 'a>, Error>,
}

/// A search by the rules of a release.
pub struct Scan<'a> {
    rules: &'a Rules,
    limits: &'a Limits,
    forms: Forms,
    private: Private,
    /// Allowances that were needed.
    needed: Mutex<BTreeSet<usize>>,
}

impl<'a> Scan<'a> {
    /// A search for secrets, for what the rules' patterns match, and for `private` strings.
    ///
    /// # Errors
    /// More private strings than can be searched for at once.
    pub fn new(rules: &'a Rules, private: &BTreeSet<Vec<u8>>, limits: &'a Limits) -> Result<Self, Error> {
        let too_many = |what: String| Error::Usage(format!("the redactions match too much to be searched for: {what}"));
        Ok(Self {
            rules,
            limits,
            forms: Forms::new().map_err(|error| too_many(error.to_string()))?,
            private: Private::new(private).map_err(|error| too_many(error.to_string()))?,
            needed: Mutex::new(BTreeSet::new()),
        })
    }

    /// Looks through a content, and through what it holds if it is a container.
    ///
    /// # Errors
    /// It can't be read.
    pub fn content(&self, source: &Source<'_>) -> Result<Findings, Error> {
        let mut found = Found::new(self, source.path);
        let read = |error| Error::io("read", Path::new(source.path))(error);
        let head = found.stream(&mut (source.open)()?, "").map_err(read)?;
        if head.starts_with(b"\x1F\x8B") {
            let reopened = BufReader::with_capacity(1 << 16, (source.open)()?);
            found.gzip(Box::new(reopened), "inflated", 1);
        } else if is_zip(&head) {
            found.zip(source.on_disk)?;
        } else {
            found.container(&head, "");
        }
        Ok(found.findings)
    }

    /// Looks at a name.
    pub fn name(&self, path: &str) -> Findings {
        let mut found = Found::new(self, path);
        found.window(path.as_bytes(), &Position::default(), "its name");
        found.findings
    }

    /// Looks through a text that goes into the release and is no file of it.
    pub fn text(&self, what: &str, text: &[u8]) -> Findings {
        let mut found = Found::new(self, what);
        found.window(text, &Position::default(), "");
        found.findings
    }

    /// The allowances on contents that nothing needed.
    pub fn unneeded(&self) -> Vec<usize> {
        let needed = self.needed.lock().map(|needed| needed.clone()).unwrap_or_default();
        let on_contents = |index: &usize| self.rules.allowed.get(*index).is_some_and(|allowed| is_rule(&allowed.rule));
        (0..self.rules.allowed.len()).filter(|index| on_contents(index) && !needed.contains(index)).collect()
    }

    fn allows(&self, path: &str, rule: &str) -> bool {
        let allowance = self.rules.allowance(path, rule);
        if let (Some(index), Ok(mut needed)) = (allowance, self.needed.lock()) {
            needed.insert(index);
        }
        allowance.is_some()
    }
}

fn is_zip(head: &[u8]) -> bool {
    head.starts_with(b"PK\x03\x04") || head.starts_with(b"PK\x05\x06")
}

/// Where a window starts.
#[derive(Default)]
struct Position {
    offset: u64,
    lines: u64,
}

/// What was found in one content.
struct Found<'a> {
    scan: &'a Scan<'a>,
    path: &'a str,
    /// Rules that were told of this content, one finding each.
    told: BTreeSet<String>,
    findings: Findings,
}

impl<'a> Found<'a> {
    fn new(scan: &'a Scan<'a>, path: &'a str) -> Self {
        Self { scan, path, told: BTreeSet::new(), findings: Findings::new(scan.limits.max_findings) }
    }

    /// Searches a stream to its end and gives how it begins.
    fn stream(&mut self, reader: &mut dyn Read, within: &str) -> io::Result<Vec<u8>> {
        let mut buffer: Vec<u8> = Vec::new();
        let mut position = Position::default();
        let mut head = Vec::new();
        let mut total = 0_u64;
        loop {
            let wanted = (WINDOW.saturating_sub(buffer.len())) as u64;
            let count = reader.take(wanted).read_to_end(&mut buffer)?;
            total = total.saturating_add(count as u64);
            if head.is_empty() {
                head = buffer.iter().take(HEAD).copied().collect();
            }
            if total > self.scan.limits.max_content {
                return Err(io::Error::other(format!("it is larger than {} bytes", self.scan.limits.max_content)));
            }
            self.window(&buffer, &position, within);
            if buffer.len() < WINDOW {
                return Ok(head);
            }
            let passed = buffer.len().saturating_sub(OVERLAP);
            position.offset = position.offset.saturating_add(passed as u64);
            position.lines = position.lines.saturating_add(lines(buffer.get(..passed).unwrap_or_default()));
            buffer.drain(..passed);
        }
    }

    fn window(&mut self, text: &[u8], position: &Position, within: &str) {
        for (secret, at) in self.scan.forms.find(text) {
            if !self.scan.allows(self.path, secret.rule) {
                let message = format!("looks like {} ({})", secret.what, secret.rule);
                self.tell(Code::ExportSecret, secret.rule, &message, (text, at), position, within);
            }
        }
        let rules: &'a Rules = self.scan.rules;
        for Redaction { label, pattern, .. } in &rules.redactions {
            if let Some(found) = pattern.find(text) {
                let message = format!("matches the pattern of the redaction \"{label}\"");
                self.tell(
                    Code::ExportPrivate,
                    &format!("pattern {label}"),
                    &message,
                    (text, found.start()),
                    position,
                    within,
                );
            }
        }
        // What a pattern matches is told by that, not by the strings in it.
        let is_told = self.told.iter().any(|told| told.starts_with(&format!("{within} pattern ")));
        if let Some(at) = self.scan.private.find(text).filter(|_| !is_told) {
            let message = "is a private string that was redacted elsewhere, as it is or encoded";
            self.tell(Code::ExportPrivate, "private", message, (text, at), position, within);
        }
    }

    fn tell(&mut self, code: Code, rule: &str, what: &str, at: (&[u8], usize), position: &Position, within: &str) {
        if !self.told.insert(format!("{within} {rule}")) {
            return;
        }
        let (text, start) = at;
        let before = text.get(..start).unwrap_or_default();
        let line = position.lines.saturating_add(lines(before)).saturating_add(1);
        let inside = if within.is_empty() { String::new() } else { format!(" ({within})") };
        let message = format!("what stands in line {line} of \"{}\"{inside} {what}", self.path);
        let offset = position.offset.saturating_add(start as u64);
        let place = Place { line: Some(line), ..Place::entry(self.path).at(offset) };
        self.findings.push(Finding::new(code, place, message));
    }

    fn opaque(&mut self, why: &str) {
        if !self.scan.allows(self.path, OPAQUE) && self.told.insert(OPAQUE.to_owned()) {
            let message = format!("\"{}\" can't be looked into: {why} ({OPAQUE})", self.path);
            self.findings.push(Finding::new(Code::ExportOpaque, Place::entry(self.path), message));
        }
    }

    /// What begins like a container of a kind that isn't unpacked.
    fn container(&mut self, head: &[u8], within: &str) {
        if let Some((_, kind)) = CONTAINERS.iter().find(|(magic, _)| head.starts_with(magic)) {
            let inside = if within.is_empty() { String::new() } else { format!(" {within}") };
            self.opaque(&format!("it holds{inside} data compressed with {kind}"));
        }
    }

    fn gzip(&mut self, packed: Box<dyn io::BufRead + '_>, within: &str, depth: usize) {
        // Only the start tells whether there is another container in it, and the stream is read once.
        let mut inflated = BufReader::with_capacity(1 << 16, MultiGzDecoder::new(packed));
        let head: Vec<u8> = match io::BufRead::fill_buf(&mut inflated) {
            Ok(start) => start.iter().take(HEAD).copied().collect(),
            Err(_) => return self.opaque("it is broken gzip"),
        };
        if head.starts_with(b"\x1F\x8B") {
            if depth >= MAX_NESTED {
                return self.opaque("containers lie within each other too deep");
            }
            return self.gzip(Box::new(inflated), &format!("{within} again"), depth + 1);
        }
        if self.stream(&mut inflated, within).is_err() {
            return self.opaque("it is broken gzip, or inflates to too much");
        }
        if is_zip(&head) {
            self.opaque("it holds a ZIP within another container");
        }
        self.container(&head, within);
    }

    fn zip(&mut self, on_disk: Option<&Path>) -> Result<(), Error> {
        let Some(path) = on_disk else {
            self.opaque("it is a ZIP within another container");
            return Ok(());
        };
        let (archive, findings) = Archive::open(path, self.scan.limits)?;
        if !findings.none_broken() {
            self.opaque("it is a ZIP that readers could take differently, see exhibit list");
            return Ok(());
        }
        let shown = |entry: &Entry| match &entry.name {
            Name::Portable(name) => name.to_string(),
            Name::Refused(bytes) => escape(bytes),
        };
        let entries: Vec<_> = archive.entries().iter().map(|entry| (shown(entry), entry.is_folder)).collect();
        let contents = archive.into_contents();
        for (index, (name, is_folder)) in entries.into_iter().enumerate() {
            self.window(name.as_bytes(), &Position::default(), "names within");
            if is_folder {
                continue;
            }
            let within = format!("within, {name}");
            let opened = || contents.open(index).ok_or_else(|| io::Error::other("no such entry"));
            let head = opened().and_then(|mut content| self.stream(&mut content, &within));
            match head {
                Err(_) => self.opaque("it is a broken ZIP"),
                Ok(head) if head.starts_with(b"\x1F\x8B") => match opened() {
                    Ok(content) => self.gzip(Box::new(BufReader::new(content)), &within, 2),
                    Err(_) => self.opaque("it is a broken ZIP"),
                },
                Ok(head) if is_zip(&head) => self.opaque("it holds a ZIP within another container"),
                Ok(head) => self.container(&head, &within),
            }
        }
        Ok(())
    }
}

fn lines(text: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', text).count() as u64
}
