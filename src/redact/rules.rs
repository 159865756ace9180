//! Owns the rules of one release, ready for use: the document with its patterns and globs compiled.
//!
//! Refuses a document whose patterns, globs, labels or paths don't fit together, with all faults at once. Invariant: rules
//! that were loaded can be applied to any path and content without failing.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use globset::{GlobBuilder, GlobMatcher};
use regex::bytes::{Regex, RegexBuilder};

use super::document::{Document, Omission};
use super::tally::Tally;
use super::{OPAQUE, refused, secret};
use crate::document::{Format, shown};
use crate::error::Error;
use crate::finding::{Code, Finding, Place};
use crate::limits::{Limits, MAX_MATCHER, MAX_PATTERN, MAX_REDACTIONS};

/// The format of the rules. Version 1 is the first.
pub const FORMAT: Format = Format {
    kind: "document of export rules",
    name: "exhibit-export/1",
    schema: include_str!("../../schemas/exhibit-export-1.json"),
};

/// The rules of one release.
#[derive(Debug, Clone)]
pub struct Rules {
    document: Document,
    redactions: Vec<Compiled>,
    omissions: Vec<GlobMatcher>,
    allowed: Vec<GlobMatcher>,
}

/// A redaction, ready for use; it stands where its declaration stands.
#[derive(Debug, Clone)]
pub(super) struct Compiled {
    pub(super) pattern: Regex,
    pub(super) files: Vec<GlobMatcher>,
}

impl Rules {
    /// Reads the rules that a person gave, from the file at `path`.
    ///
    /// # Errors
    /// A newer or foreign format; a document with faults, all of them.
    pub fn load(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let document: Document = FORMAT.load(path, bytes, limits)?;
        let mut faults = Vec::new();
        let redactions = redactions(&document, &mut faults);
        let globs = document.omissions.iter().enumerate();
        let omissions =
            globs.filter_map(|(n, o)| glob(&format!("/omissions/{n}/files"), &o.files, &mut faults)).collect();
        let globs = document.allowed.iter().enumerate();
        let allowed = globs.filter_map(|(n, a)| glob(&format!("/allowed/{n}/files"), &a.files, &mut faults)).collect();
        faults.extend(replacements(&document, &redactions));
        faults.extend(repeated(&document));
        faults.extend(others(&document));
        if faults.is_empty() {
            return Ok(Self { document, redactions, omissions, allowed });
        }
        Err(Error::Document { path: path.to_path_buf(), kind: FORMAT.kind, faults })
    }

    /// The document as it was declared.
    pub fn document(&self) -> &Document {
        &self.document
    }

    pub(super) fn compiled(&self) -> &[Compiled] {
        &self.redactions
    }

    /// The label of the redaction at a position.
    pub(super) fn label(&self, redaction: usize) -> &str {
        self.document.redactions.get(redaction).map_or("", |redaction| &redaction.label)
    }

    /// The first omission that leaves `path` out. All that match it are counted as used.
    pub fn omitted(&self, path: &str, tally: &mut Tally) -> Option<&Omission> {
        let matching = || self.omissions.iter().enumerate().filter(|(_, glob)| glob.is_match(path)).map(|(n, _)| n);
        tally.omissions.extend(matching());
        self.document.omissions.get(matching().next()?)
    }

    /// Holds the name of a file that is kept against the refused names. The finding shows the name as it is; what is
    /// private in it is for [`super::Scan::name`] to find.
    pub fn check_name(&self, path: &str, tally: &mut Tally) -> Option<Finding> {
        let rule = refused::refused(path)?;
        if self.allows(path, rule.name, tally) {
            return None;
        }
        let message = format!("the name is refused: {} ({})", rule.what, rule.name);
        Some(Finding::new(Code::ExportName, Place::entry(crate::name::escape(path.as_bytes())), message))
    }

    /// Whether the rules let `path` through where `rule` refuses it.
    pub(super) fn allows(&self, path: &str, rule: &str, tally: &mut Tally) -> bool {
        let mut allowed = self.document.allowed.iter().zip(&self.allowed);
        let found = allowed.position(|(allowed, files)| allowed.rule == rule && files.is_match(path));
        tally.allowed.extend(found);
        found.is_some()
    }

    /// What was declared and applied to nothing. `excused` are the labels of redactions that may match nothing, such as
    /// [`Document::recorded_labels`] of a repository whose files were redacted before.
    pub fn unused(&self, tally: &Tally, excused: &BTreeSet<&str>) -> Vec<Finding> {
        let mut findings = Vec::new();
        let mut push = |code, what: String| findings.push(Finding::new(code, Place::default(), what));
        for (n, redaction) in self.document.redactions.iter().enumerate() {
            let label = shown(&redaction.label);
            if excused.contains(redaction.label.as_str()) {
                continue;
            }
            let empty = |(glob, _): &(usize, &String)| !tally.globs.contains(&(n, *glob));
            let mut globs = redaction.files.iter().enumerate().filter(empty).peekable();
            if globs.peek().is_none() && !tally.redactions.contains(&n) {
                push(Code::ExportRedaction, format!("the redaction \"{label}\" matches nothing in any file"));
            }
            for (_, glob) in globs {
                let glob = shown(glob);
                push(Code::ExportRedaction, format!("no file is \"{glob}\", which the redaction \"{label}\" names"));
            }
        }
        for (n, omission) in self.document.omissions.iter().enumerate() {
            if !omission.optional && !tally.omissions.contains(&n) {
                push(
                    Code::ExportOmission,
                    format!("no file is \"{}\", which is to be omitted", shown(&omission.files)),
                );
            }
        }
        for (n, allowed) in self.document.allowed.iter().enumerate() {
            if !tally.allowed.contains(&n) {
                let rule = shown(&allowed.rule);
                let what =
                    format!("\"{}\" is allowed for the rule {rule}, which doesn't refuse it", shown(&allowed.files));
                push(Code::ExportOmission, what);
            }
        }
        findings
    }
}

/// The redactions ready for use; fewer than declared where there are faults.
fn redactions(document: &Document, faults: &mut Vec<String>) -> Vec<Compiled> {
    if document.redactions.len() > MAX_REDACTIONS {
        faults.push(format!("/redactions: there are more than {MAX_REDACTIONS}"));
        return Vec::new();
    }
    let mut compiled = Vec::new();
    for (n, redaction) in document.redactions.iter().enumerate() {
        let place = format!("/redactions/{n}");
        let pattern = pattern(&place, &redaction.pattern, faults);
        let globs = redaction.files.iter().enumerate();
        let files = globs.filter_map(|(g, text)| glob(&format!("{place}/files/{g}"), text, faults)).collect();
        compiled.extend(pattern.map(|pattern| Compiled { pattern, files }));
    }
    compiled
}

fn pattern(place: &str, text: &str, faults: &mut Vec<String>) -> Option<Regex> {
    let mut fault = |what: String| {
        faults.push(format!("{place}/pattern: {what}"));
        None
    };
    if text.len() > MAX_PATTERN {
        return fault(format!("it is longer than {MAX_PATTERN} bytes"));
    }
    let built = RegexBuilder::new(text).size_limit(MAX_MATCHER).dfa_size_limit(MAX_MATCHER).build();
    match built {
        Err(regex::Error::CompiledTooBig(_)) => fault("it is too large: use smaller repetitions".to_owned()),
        // The last line says what is wrong, those above it draw an arrow.
        Err(error) => fault(shown(error.to_string().lines().last().unwrap_or_default())),
        Ok(pattern) if pattern.is_match(b"") => fault("it matches an empty text".to_owned()),
        Ok(pattern) => Some(pattern),
    }
}

fn glob(place: &str, text: &str, faults: &mut Vec<String>) -> Option<GlobMatcher> {
    match GlobBuilder::new(text).literal_separator(true).backslash_escape(true).build() {
        Ok(glob) => Some(glob.compile_matcher()),
        Err(error) => {
            faults.push(format!("{place}: {}", shown(&error.kind().to_string())));
            None
        }
    }
}

/// A replacement that a pattern matches would be redacted again.
fn replacements(document: &Document, compiled: &[Compiled]) -> Vec<String> {
    let matched =
        |replacement: &str| compiled.iter().any(|redaction| redaction.pattern.is_match(replacement.as_bytes()));
    let list = document.redactions.iter().enumerate();
    list.filter(|(_, redaction)| matched(&redaction.replacement))
        .map(|(n, _)| format!("/redactions/{n}/replacement: the pattern of a redaction matches it"))
        .collect()
}

/// What stands twice in a list where it may stand once.
fn repeated(document: &Document) -> Vec<String> {
    let mut faults = Vec::new();
    let mut list = |name: &str, field: &str, values: Vec<&str>| {
        let mut first = BTreeMap::new();
        for (n, value) in values.into_iter().enumerate() {
            if let Some(before) = first.get(value) {
                faults.push(format!("/{name}/{n}/{field}: {} stands at /{name}/{before} already", shown(value)));
            } else {
                first.insert(value, n);
            }
        }
    };
    list("redactions", "label", document.redactions.iter().map(|r| r.label.as_str()).collect());
    list("omissions", "files", document.omissions.iter().map(|o| o.files.as_str()).collect());
    list("derivatives", "path", document.derivatives.iter().map(|d| d.path.as_str()).collect());
    list("runs", "path", document.runs.iter().map(|r| r.path.as_str()).collect());
    list("not_retained", "path", document.not_retained.iter().map(|r| r.path.as_str()).collect());
    let allowed: Vec<_> = document.allowed.iter().map(|a| format!("{} for {}", a.files, a.rule)).collect();
    list("allowed", "files", allowed.iter().map(String::as_str).collect());
    faults
}

/// What else doesn't fit together.
fn others(document: &Document) -> Vec<String> {
    let mut faults = Vec::new();
    for (n, redaction) in document.redactions.iter().enumerate() {
        if redaction.files.is_empty() {
            faults.push(format!("/redactions/{n}/files: the list is empty"));
        }
    }
    for (n, allowed) in document.allowed.iter().enumerate() {
        let names = refused::NAME_RULES.iter().map(|rule| rule.name);
        let mut known = names.chain(secret::SECRET_RULES.iter().map(|rule| rule.name)).chain([OPAQUE]);
        if !known.any(|name| name == allowed.rule) {
            faults.push(format!("/allowed/{n}/rule: {} is the name of no rule", shown(&allowed.rule)));
        }
    }
    for (n, recorded) in document.derivatives.iter().enumerate() {
        if recorded.public_sha256 == recorded.private_sha256 {
            faults.push(format!("/derivatives/{n}/private_sha256: it is the public one, so nothing was redacted"));
        }
    }
    for (n, run) in document.not_retained.iter().enumerate() {
        if document.runs.iter().any(|retained| retained.path == run.path) {
            faults.push(format!("/not_retained/{n}/path: {} stands in /runs too", run.path));
        }
    }
    faults
}
