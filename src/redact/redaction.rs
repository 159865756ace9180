//! Owns applying redactions to one content.
//!
//! Refuses a content that it can't redact whole, with a finding. Invariant: after it none of the redactions that apply
//! matches any more.

use super::rules::Rules;
use super::tally::Tally;
use crate::document::shown;
use crate::finding::{Code, Finding, Place};
use crate::limits::{MAX_PRIVATE, MAX_REDACTED};

/// The group of a pattern whose text is the private string.
const PRIVATE_GROUP: &str = "private";

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
        for (n, redaction) in self.compiled().iter().enumerate() {
            let globs = redaction.files.iter().enumerate().filter(|(_, glob)| glob.is_match(path));
            tally.globs.extend(globs.map(|(glob, _)| (n, glob)));
        }
        self.naming(path).next().is_some()
    }

    /// Applies every redaction that names `path`, in the order of the rules.
    ///
    /// # Errors
    /// A finding: the content is too large or no text, or a redaction would match again.
    pub fn redact(&self, path: &str, content: Vec<u8>, tally: &mut Tally) -> Result<Redacted, Box<Finding>> {
        let fault = |what: String| {
            let place = Place::entry(crate::name::escape(path.as_bytes()));
            Box::new(Finding::new(Code::ExportRedaction, place, what))
        };
        let of_path: Vec<_> = self.naming(path).collect();
        if !self.applies(path, tally) {
            return Ok(Redacted { bytes: content, record: None });
        }
        if content.len() as u64 > MAX_REDACTED {
            return Err(fault(format!("the content is over {MAX_REDACTED} bytes, too much to be redacted")));
        }
        let mut bytes = content;
        let (mut applied, mut occurrences) = (Vec::new(), 0u64);
        for n in of_path.iter().copied() {
            let once = self.apply(n, &bytes, tally).map_err(fault)?;
            let Some((redacted, count)) = once else { continue };
            // A database or a program has lengths and checksums that a replacement would break.
            if bytes.contains(&0) {
                let label = shown(self.label(n));
                return Err(fault(format!("the redaction \"{label}\" matches, but the content is no text")));
            }
            bytes = redacted;
            occurrences = occurrences.saturating_add(count);
            applied.push(n);
        }
        let again = of_path.iter().find(|n| self.compiled().get(**n).is_some_and(|r| r.pattern.is_match(&bytes)));
        if let Some(n) = again {
            let label = shown(self.label(*n));
            return Err(fault(format!("the redaction \"{label}\" matches again after all were applied")));
        }
        Ok(Redacted { bytes, record: self.record(&applied, occurrences) })
    }

    /// The positions of the redactions that name `path`.
    fn naming<'a>(&'a self, path: &'a str) -> impl Iterator<Item = usize> + 'a {
        let list = self.compiled().iter().enumerate();
        list.filter(move |(_, redaction)| redaction.files.iter().any(|glob| glob.is_match(path))).map(|(n, _)| n)
    }

    /// The content with one redaction applied, and how often it matched; none where it didn't.
    fn apply(&self, n: usize, bytes: &[u8], tally: &mut Tally) -> Result<Option<(Vec<u8>, u64)>, String> {
        let (Some(compiled), Some(declared)) = (self.compiled().get(n), self.document().redactions.get(n)) else {
            return Ok(None);
        };
        let label = shown(&declared.label);
        let (mut out, mut end, mut count) = (Vec::new(), 0, 0u64);
        for captures in compiled.pattern.captures_iter(bytes) {
            let Some(whole) = captures.get(0) else { continue };
            let group = captures.name(PRIVATE_GROUP).filter(|group| !group.is_empty());
            let private = group.map_or(whole.as_bytes(), |group| group.as_bytes());
            if private.is_empty() || private.len() > MAX_PRIVATE {
                return Err(format!("the redaction \"{label}\" matches an empty text or one over {MAX_PRIVATE} bytes"));
            }
            tally.private.insert(private, n);
            out.extend_from_slice(bytes.get(end..whole.start()).unwrap_or_default());
            out.extend_from_slice(declared.replacement.as_bytes());
            (end, count) = (whole.end(), count.saturating_add(1));
            if out.len() as u64 > MAX_REDACTED {
                return Err(format!("the redaction \"{label}\" makes the content larger than {MAX_REDACTED} bytes"));
            }
        }
        if count == 0 {
            return Ok(None);
        }
        tally.redactions.insert(n);
        out.extend_from_slice(bytes.get(end..).unwrap_or_default());
        Ok(Some((out, count)))
    }

    fn record(&self, applied: &[usize], occurrences: u64) -> Option<Record> {
        let labels: Vec<_> = applied.iter().map(|n| self.label(*n)).collect();
        let matched_prefix = match applied {
            [] => return None,
            [only] => self.document().redactions.get(*only).and_then(|redaction| redaction.matched_prefix.clone()),
            [..] => None,
        };
        Some(Record { rule: labels.join(", "), matched_prefix, occurrences })
    }
}
