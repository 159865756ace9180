//! Owns applying redactions to whole contents, and what they matched.
//!
//! Refuses contents that aren't text: replacing bytes in a database breaks it. Invariant: the same content and rules give
//! the same public bytes, and no pattern of a file's redactions matches what is left of it.

use std::borrow::Cow;
use std::collections::BTreeSet;

use regex::bytes::Captures;

use super::rules::{PRIVATE, Redaction, Rules};
use crate::finding::{Code, Finding, Place};

/// Applies a release's redactions.
#[derive(Debug, Clone)]
pub struct Redactor {
    redactions: Vec<Redaction>,
}

/// What redacting left of a content.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// The public content.
    pub bytes: Vec<u8>,
    /// The labels of the redactions that matched, joined by a comma and a space.
    pub rule: String,
    /// How often they matched, in all.
    pub occurrences: u64,
    /// What the matches started with, where just one redaction matched and it may be told.
    pub matched_prefix: Option<String>,
    /// The labels of the redactions that matched.
    pub labels: BTreeSet<String>,
    /// What was private in the matches.
    pub private: BTreeSet<Vec<u8>>,
}

impl Redactor {
    /// The redactions of these rules.
    pub fn new(rules: &Rules) -> Self {
        Self { redactions: rules.redactions.clone() }
    }

    /// Whether a redaction is meant for a file.
    pub fn is_meant_for(&self, path: &str) -> bool {
        self.meant_for(path).next().is_some()
    }

    fn meant_for<'a>(&'a self, path: &'a str) -> impl Iterator<Item = &'a Redaction> {
        self.redactions.iter().filter(move |redaction| redaction.files.iter().any(|files| files.is_match(path)))
    }

    /// Applies the redactions that are meant for a file, in their order. None of them need match.
    ///
    /// # Errors
    /// A finding where the content is no text, or where a pattern matches what is left.
    pub fn apply(&self, path: &str, content: Vec<u8>) -> Result<Applied, Box<Finding>> {
        let refused = |message: String| Box::new(Finding::new(Code::ExportRedaction, Place::entry(path), message));
        if content.contains(&0) {
            let message = format!("\"{path}\" is no text (it holds a NUL byte), and only text is redacted");
            return Err(refused(message));
        }
        let mut applied = Applied {
            bytes: content,
            rule: String::new(),
            occurrences: 0,
            matched_prefix: None,
            labels: BTreeSet::new(),
            private: BTreeSet::new(),
        };
        let mut matched: Vec<&Redaction> = Vec::new();
        for redaction in self.meant_for(path) {
            if applied.replace(redaction) {
                matched.push(redaction);
            }
        }
        if let Some(redaction) = self.meant_for(path).find(|redaction| redaction.pattern.is_match(&applied.bytes)) {
            let message =
                format!("\"{path}\" still matches the pattern of \"{}\" once it is redacted", redaction.label);
            return Err(refused(message));
        }
        applied.rule = matched.iter().map(|redaction| redaction.label.as_str()).collect::<Vec<_>>().join(", ");
        if let [only] = matched.as_slice() {
            applied.matched_prefix.clone_from(&only.matched_prefix);
        }
        applied.labels = matched.into_iter().map(|redaction| redaction.label.clone()).collect();
        Ok(applied)
    }

    /// The redactions and globs that did nothing. `matched` are the labels of those that matched somewhere, `recorded`
    /// of those that were applied before the files came into the repository, `paths` the files of the release.
    pub fn idle(&self, matched: &BTreeSet<String>, recorded: &BTreeSet<String>, paths: &[&str]) -> Vec<Finding> {
        let mut idle = Vec::new();
        for (index, redaction) in self.redactions.iter().enumerate() {
            let mut tell = |field: String, message: String| {
                let place = Place::default().pointer(format!("/redactions/{index}/{field}"));
                idle.push(Finding::new(Code::ExportRedaction, place, message));
            };
            let label = &redaction.label;
            let was_applied = recorded.contains(label);
            if !matched.contains(label) && !was_applied {
                tell("pattern".to_owned(), format!("the redaction \"{label}\" matches nothing"));
            }
            for (at, files) in redaction.files.iter().enumerate() {
                if !paths.iter().any(|path| files.is_match(path)) {
                    let message =
                        format!("the redaction \"{label}\" is meant for \"{}\", which no file is", files.as_str());
                    tell(format!("files/{at}"), message);
                }
            }
        }
        idle
    }
}

impl Applied {
    fn replace(&mut self, redaction: &Redaction) -> bool {
        let mut count = 0_u64;
        let private = &mut self.private;
        let replaced = redaction.pattern.replace_all(&self.bytes, |found: &Captures<'_>| {
            count = count.saturating_add(1);
            let whole = found.get(0).map(|whole| whole.as_bytes());
            if let Some(secret) = found.name(PRIVATE).map(|group| group.as_bytes()).or(whole).filter(|s| !s.is_empty())
            {
                private.insert(secret.to_vec());
            }
            redaction.replacement.as_bytes().to_vec()
        });
        if let Cow::Owned(bytes) = replaced {
            self.bytes = bytes;
        }
        self.occurrences = self.occurrences.saturating_add(count);
        count > 0
    }
}
