//! Owns the report of `exhibit diff`.
//!
//! Invariant: trees are called the same only where nothing differs and nothing is wrong with either; a line of a file
//! never starts a line of the report.

use std::io::{self, Write};

use serde::Serialize;

use super::verification::Packed;
use super::{Failure, Split, line, text};
use crate::archive::{self, Change, Content, Of};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Finding;
use crate::limits::Limits;
use crate::name::escape;

/// What `exhibit diff` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// `exhibit-difference/1`.
    pub format: &'static str,
    /// `same`, `different`, `findings` or `could_not_compare`.
    pub outcome: &'static str,
    /// Why nothing could be said.
    pub error: Option<Failure>,
    /// The first tree.
    pub a: Side,
    /// The second tree.
    pub b: Side,
    /// Whether files were compared.
    pub compared: bool,
    /// Whether two ZIPs are the same bytes; nothing where one is a folder.
    pub same_zip: Option<bool>,
    /// Files that differ, sorted by path bytes.
    pub files: Vec<File>,
    /// What differs between the manifests.
    pub manifest: Vec<Told>,
    /// Whether a bound kept lines from being shown.
    pub truncated: bool,
}

/// One of the trees.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Side {
    /// The tree as it was given.
    pub file: String,
    /// Files in it, without git metadata; nothing where it could not be read.
    pub files: Option<u64>,
    /// Bytes of their contents.
    pub bytes: Option<u64>,
    /// The ZIP itself; nothing for a folder.
    pub packed: Option<Packed>,
    /// Broken rules.
    pub findings: Vec<Finding>,
    /// Worth a look.
    pub warnings: Vec<Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct File {
    /// Its name; of a moved file, in the second tree.
    pub path: String,
    /// `only_a`, `only_b`, `moved` or `changed`.
    pub change: &'static str,
    /// The name that a moved file has in the first tree.
    pub moved_from: Option<String>,
    /// What it is in the first tree.
    pub a: Option<Facts>,
    /// What it is in the second tree.
    pub b: Option<Facts>,
    /// How its content was compared: `one_sided`, `same`, `lines`, `binary`, `large`, `not_shown` or `manifest`.
    pub content: &'static str,
    /// Changed lines with those around them.
    pub hunks: Vec<Hunk>,
    /// Lines that only the first tree has; nothing where lines were not compared.
    pub removed: Option<u64>,
    /// Lines that only the second tree has.
    pub added: Option<u64>,
    /// Changed lines that no hunk shows.
    pub lines_not_shown: u64,
}

/// A file in one tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Facts {
    /// Bytes.
    pub size: u64,
    /// Permission bits in octal, where the tree has any.
    pub mode: Option<String>,
    /// SHA-256 of the content.
    pub sha256: Sha256,
}

/// A unified hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its first line in the first tree, from 1; the line before it where it has none there.
    pub a_start: usize,
    /// Its lines there.
    pub a_lines: usize,
    /// Its first line in the second tree.
    pub b_start: usize,
    /// Its lines there.
    pub b_lines: usize,
    /// The lines.
    pub lines: Vec<Line>,
}

/// One line of a hunk.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// `both`, `a` or `b`.
    pub of: &'static str,
    /// It, without the line feed at its end.
    pub text: String,
    /// Bytes cut off its end.
    pub cut: usize,
    /// Whether a line feed ends it.
    pub newline: bool,
}

/// A field that the manifests tell differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Told {
    /// Its name.
    pub field: &'static str,
    /// Of which file or run.
    pub path: Option<String>,
    /// What the first manifest says.
    pub a: Option<String>,
    /// What the second manifest says.
    pub b: Option<String>,
}

impl Difference {
    /// Trees that were read, with the paths as they were given.
    pub fn read(a: String, b: String, found: &archive::Difference) -> Self {
        let differ = !found.files.is_empty() || !found.manifest.is_empty();
        let outcome = match (differ, found.none_broken()) {
            (true, _) => "different",
            (false, true) => "same",
            (false, false) => "findings",
        };
        let files: Vec<File> = found.files.iter().map(File::from).collect();
        let same_zip = found.a.packed.zip(found.b.packed).map(|(a, b)| a == b);
        Self {
            format: FORMAT,
            outcome,
            error: None,
            a: Side::read(a, &found.a),
            b: Side::read(b, &found.b),
            compared: found.compared,
            same_zip,
            truncated: files.iter().any(File::is_truncated),
            files,
            manifest: found.manifest.iter().map(Told::from).collect(),
        }
    }

    /// Trees of which one could not be read.
    pub fn failed(a: String, b: String, error: &Error) -> Self {
        Self {
            format: FORMAT,
            outcome: "could_not_compare",
            error: Some(error.into()),
            a: Side::unread(a),
            b: Side::unread(b),
            compared: false,
            same_zip: None,
            files: Vec::new(),
            manifest: Vec::new(),
            truncated: false,
        }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The outcome, what is wrong with which tree, then what differs.
    pub fn write_text(&self, limits: &Limits, out: &mut dyn Write) -> io::Result<()> {
        let [a, b] = [&self.a, &self.b].map(|side| escape(side.file.as_bytes()));
        writeln!(out, "{a} and {b}: {}", self.outcome.replace('_', " "))?;
        if let Some(failure) = &self.error {
            return text::failure(out, failure);
        }
        self.a.write_text("A", out)?;
        self.b.write_text("B", out)?;
        if self.same_zip == Some(false) && self.compared {
            writeln!(out, "the ZIP files differ; how trees are packed does not count")?;
        }
        if !self.compared {
            return writeln!(out, "files were not compared, since a ZIP is broken");
        }
        for file in self.files.iter().take(limits.max_shown_files) {
            file.write_text(out)?;
        }
        more(out, self.files.len(), limits, "files")?;
        for field in self.manifest.iter().take(limits.max_shown_files) {
            field.write_text(out)?;
        }
        more(out, self.manifest.len(), limits, "fields of the manifest")?;
        self.write_count(out)
    }

    fn write_count(&self, out: &mut dyn Write) -> io::Result<()> {
        let count = |change: &str| self.files.iter().filter(|file| file.change == change).count();
        let (only_a, only_b) = (count("only_a"), count("only_b"));
        let (moved, changed) = (count("moved"), count("changed"));
        writeln!(out, "files: {only_a} only in A, {only_b} only in B, {moved} moved, {changed} changed")
    }
}

const FORMAT: &str = "exhibit-difference/1";

/// How many there are beyond the bound.
fn more(out: &mut dyn Write, count: usize, limits: &Limits, what: &str) -> io::Result<()> {
    match count.saturating_sub(limits.max_shown_files) {
        0 => Ok(()),
        more => writeln!(out, "and {more} more {what}: `--format json` has them all"),
    }
}

impl Side {
    fn read(file: String, found: &archive::Side) -> Self {
        let split = Split::from(&found.findings);
        Self {
            file,
            files: Some(found.files),
            bytes: Some(found.bytes),
            packed: found.packed.map(|(sha256, size)| Packed { sha256, size }),
            findings: split.findings,
            warnings: split.warnings,
            findings_not_shown: split.findings_not_shown,
        }
    }

    fn unread(file: String) -> Self {
        Self {
            file,
            files: None,
            bytes: None,
            packed: None,
            findings: Vec::new(),
            warnings: Vec::new(),
            findings_not_shown: 0,
        }
    }

    fn write_text(&self, name: &str, out: &mut dyn Write) -> io::Result<()> {
        let (file, files, bytes) = (escape(self.file.as_bytes()), self.files, self.bytes);
        let form = if self.packed.is_some() { "ZIP" } else { "folder" };
        let (files, bytes) = (files.unwrap_or_default(), bytes.unwrap_or_default());
        writeln!(out, "{name} is the {form} {file}: {files} files, {bytes} bytes")?;
        if self.findings.is_empty() && self.warnings.is_empty() {
            return Ok(());
        }
        writeln!(out, "in {name}:")?;
        text::findings(out, &self.findings, &self.warnings, self.findings_not_shown)
    }
}

impl From<&archive::FileDifference> for File {
    fn from(found: &archive::FileDifference) -> Self {
        let (change, moved_from) = match &found.change {
            Change::OnlyA => ("only_a", None),
            Change::OnlyB => ("only_b", None),
            Change::Moved { from } => ("moved", Some(from.to_string())),
            Change::Changed => ("changed", None),
        };
        let (content, lines) = match &found.content {
            Content::OneSided => ("one_sided", None),
            Content::Same => ("same", None),
            Content::Lines(lines) => ("lines", Some(lines)),
            Content::Digests(why) => (*why, None),
            Content::Manifest => ("manifest", None),
        };
        Self {
            path: found.path.to_string(),
            change,
            moved_from,
            a: found.a.as_ref().map(Facts::from),
            b: found.b.as_ref().map(Facts::from),
            content,
            hunks: lines.map(|lines| lines.hunks.iter().map(Hunk::from).collect()).unwrap_or_default(),
            removed: lines.map(|lines| lines.removed),
            added: lines.map(|lines| lines.added),
            lines_not_shown: lines.map_or(0, |lines| lines.not_shown),
        }
    }
}

impl File {
    fn is_truncated(&self) -> bool {
        let is_cut = |hunk: &Hunk| hunk.lines.iter().any(|line| line.cut > 0) || hunk.is_short();
        self.content == "not_shown" || self.lines_not_shown > 0 || self.hunks.iter().any(is_cut)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let path = text::plain(&self.path);
        match (&self.a, &self.b) {
            (Some(a), None) => writeln!(out, "only in A: {path} ({} bytes)", a.size),
            (None, Some(b)) => writeln!(out, "only in B: {path} ({} bytes)", b.size),
            (Some(a), Some(b)) => {
                match &self.moved_from {
                    Some(from) => writeln!(out, "moved: {} to {path}", text::plain(from))?,
                    None => writeln!(out, "changed: {path}")?,
                }
                self.write_changes(a, b, out)
            }
            (None, None) => Ok(()),
        }
    }

    fn write_changes(&self, a: &Facts, b: &Facts, out: &mut dyn Write) -> io::Result<()> {
        if a.mode != b.mode {
            let shown = |mode: &Option<String>| mode.clone().unwrap_or_else(|| "none".to_owned());
            writeln!(out, "    mode {} in A, {} in B", shown(&a.mode), shown(&b.mode))?;
        }
        let why = match self.content {
            "binary" => "not text",
            "large" => "too large to compare by lines",
            "not_shown" => "not compared by lines, since the bound on lines was reached",
            "manifest" => "the manifest, compared by field below",
            _ => {
                self.hunks.iter().try_for_each(|hunk| hunk.write_text(out))?;
                return match self.lines_not_shown {
                    0 => Ok(()),
                    more => writeln!(out, "    and {more} more changed lines"),
                };
            }
        };
        writeln!(out, "    {why}")?;
        writeln!(out, "    A {} bytes, SHA-256 {}", a.size, a.sha256)?;
        writeln!(out, "    B {} bytes, SHA-256 {}", b.size, b.sha256)
    }
}

impl From<&archive::Facts> for Facts {
    fn from(facts: &archive::Facts) -> Self {
        Self { size: facts.size, mode: facts.mode.map(|mode| format!("{mode:04o}")), sha256: facts.sha256 }
    }
}

impl From<&archive::Hunk> for Hunk {
    fn from(hunk: &archive::Hunk) -> Self {
        let archive::Hunk { a_start, a_lines, b_start, b_lines, lines } = hunk;
        let lines = lines.iter().map(|line| Line {
            of: match line.of {
                Of::Both => "both",
                Of::A => "a",
                Of::B => "b",
            },
            text: line.text.clone(),
            cut: line.cut,
            newline: line.newline,
        });
        Self { a_start: *a_start, a_lines: *a_lines, b_start: *b_start, b_lines: *b_lines, lines: lines.collect() }
    }
}

impl Hunk {
    /// Whether a bound kept some of its lines from being shown.
    fn is_short(&self) -> bool {
        let in_a = self.lines.iter().filter(|line| line.of != "b").count();
        let in_b = self.lines.iter().filter(|line| line.of != "a").count();
        (in_a, in_b) != (self.a_lines, self.b_lines)
    }

    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let Self { a_start, a_lines, b_start, b_lines, .. } = self;
        writeln!(out, "@@ -{a_start},{a_lines} +{b_start},{b_lines} @@")?;
        for line in &self.lines {
            let mark = match line.of {
                "a" => '-',
                "b" => '+',
                _ => ' ',
            };
            write!(out, "{mark}{}", text::escape_line(&line.text))?;
            if line.cut > 0 {
                write!(out, " [{} bytes more]", line.cut)?;
            }
            writeln!(out)?;
            if !line.newline {
                writeln!(out, "\\ No newline at end of file")?;
            }
        }
        Ok(())
    }
}

impl From<&archive::FieldDifference> for Told {
    fn from(found: &archive::FieldDifference) -> Self {
        let archive::FieldDifference { field, path, a, b } = found.clone();
        Self { field, path, a, b }
    }
}

impl Told {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        let path = self.path.as_ref().map(|path| format!(" {}", text::plain(path))).unwrap_or_default();
        writeln!(out, "manifest, {}{path}:", self.field)?;
        let shown = |value: &Option<String>| value.as_ref().map_or_else(|| "none".to_owned(), |text| text::plain(text));
        writeln!(out, "    A {}", shown(&self.a))?;
        writeln!(out, "    B {}", shown(&self.b))
    }
}
