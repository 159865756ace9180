//! Owns findings: something was checked and is wrong.
//!
//! Refuses to carry what could not be checked: that is [`crate::error::Error`]. Invariant: a finding names its rule by
//! a stable code, its place as exactly as the checker knows it, and the two values that differ where there are two:
//! `recorded` is what the evidence says of itself, `computed` what this program found.

mod code;
mod named;
mod rules;

use std::fmt::Display;

use serde::Serialize;

pub use code::{Code, Severity};
pub use rules::{RULES, Rule};

/// Where a finding is. Every field is present in reports, null where it doesn't apply.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Serialize)]
pub struct Place {
    /// Name of a file or folder in the tree, or of an entry of the archive, escaped where it isn't plain text.
    pub entry: Option<String>,
    /// Bytes from the start of the archive.
    pub offset: Option<u64>,
    /// Line of the file, from 1.
    pub line: Option<u64>,
    /// JSON pointer (RFC 6901) into the file.
    pub pointer: Option<String>,
}

impl Place {
    /// A byte of the archive.
    pub fn offset(offset: u64) -> Self {
        Self { offset: Some(offset), ..Self::default() }
    }

    /// A file, folder or entry.
    pub fn entry(name: impl Into<String>) -> Self {
        Self { entry: Some(name.into()), ..Self::default() }
    }

    /// The same place, at a byte of the archive.
    #[must_use]
    pub fn at(mut self, offset: u64) -> Self {
        self.offset = Some(offset);
        self
    }

    /// The same place, at a line.
    #[must_use]
    pub fn line(mut self, line: u64) -> Self {
        self.line = Some(line);
        self
    }

    /// The same place, at a JSON pointer.
    #[must_use]
    pub fn pointer(mut self, pointer: impl Into<String>) -> Self {
        self.pointer = Some(pointer.into());
        self
    }
}

/// Something that was checked and is wrong.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The rule that was broken.
    pub code: Code,
    /// How much it weighs.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// What the evidence says.
    pub recorded: Option<String>,
    /// What was found.
    pub computed: Option<String>,
    /// One sentence about this case.
    pub message: String,
}

impl Finding {
    /// A finding of `code` at `place`.
    pub fn new(code: Code, place: Place, message: impl Into<String>) -> Self {
        Self { code, severity: code.rule().severity, place, recorded: None, computed: None, message: message.into() }
    }

    /// The same finding with the two values that differ.
    #[must_use]
    pub fn values(mut self, recorded: impl Display, computed: impl Display) -> Self {
        self.recorded = Some(recorded.to_string());
        self.computed = Some(computed.to_string());
        self
    }
}

/// Findings as they are gathered: all are counted, only so many kept.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Findings {
    kept: Vec<Finding>,
    limit: usize,
    errors: u64,
    dropped: u64,
}

impl Findings {
    /// An empty list that keeps at most `limit` findings ([`crate::limits::Limits::max_findings`]).
    pub fn new(limit: usize) -> Self {
        Self { kept: Vec::new(), limit, errors: 0, dropped: 0 }
    }

    /// Adds one.
    pub fn push(&mut self, finding: Finding) {
        self.errors += u64::from(finding.severity == Severity::Error);
        if self.kept.len() < self.limit {
            self.kept.push(finding);
        } else {
            self.dropped += 1;
        }
    }

    /// Adds all of another list.
    pub fn append(&mut self, other: Findings) {
        // What the other list dropped is gone, but not its weight.
        self.errors += other.errors - count_errors(&other.kept);
        self.dropped += other.dropped;
        other.kept.into_iter().for_each(|finding| self.push(finding));
    }

    /// Whether no rule was broken. Warnings don't count.
    pub fn none_broken(&self) -> bool {
        self.errors == 0
    }

    /// How many findings were not kept.
    pub fn dropped(&self) -> u64 {
        self.dropped
    }

    /// The findings kept, in the order in which they were found.
    pub fn iter(&self) -> impl Iterator<Item = &Finding> {
        self.kept.iter()
    }
}

impl Extend<Finding> for Findings {
    fn extend<I: IntoIterator<Item = Finding>>(&mut self, findings: I) {
        findings.into_iter().for_each(|finding| self.push(finding));
    }
}

fn count_errors(findings: &[Finding]) -> u64 {
    findings.iter().filter(|finding| finding.severity == Severity::Error).count() as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(code: Code) -> Finding {
        Finding::new(code, Place::default(), "made up")
    }

    #[test]
    fn findings_over_the_limit_are_counted_and_weigh() {
        let mut few = Findings::new(1);
        few.push(one(Code::ModeWorldWritable));
        assert!(few.none_broken());
        few.push(one(Code::ZipGap));
        assert!(!few.none_broken());
        assert_eq!((few.iter().count(), few.dropped()), (1, 1));

        let mut all = Findings::new(10);
        all.append(few);
        assert!(!all.none_broken(), "a dropped error was forgotten");
        assert_eq!(all.dropped(), 1);
    }
}
