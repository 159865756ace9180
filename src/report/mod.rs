//! Owns reports: one value, shown as text to a person or as JSON to a program.
//!
//! Refuses to decide anything and to print: it writes to the stream it is given. Invariant: JSON is one line an object,
//! complete on failure as on success, with the same bytes for the same input; text shows no foreign control character.

mod challenging;
mod difference;
#[cfg(feature = "export")]
mod exporting;
mod extraction;
mod freezing;
mod line;
mod listing;
mod replaying;
mod text;
mod verification;
mod written;

use serde::Serialize;

use crate::error::Error;
use crate::finding::{Finding, Findings, Severity};

pub use challenging::Challenging;
pub use difference::Difference;
#[cfg(feature = "export")]
pub use exporting::Exporting;
pub use extraction::Extraction;
pub use freezing::Freezing;
pub use listing::{Listing, ListingEntry};
pub use replaying::Replaying;
pub use text::{escape_line, write_complaint, write_findings};
pub use verification::Verification;
pub use written::Written;

/// Why nothing could be said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Failure {
    /// The stable name of the kind of error.
    pub kind: &'static str,
    /// One sentence: what, where, what to do.
    pub message: String,
}

impl From<&Error> for Failure {
    fn from(error: &Error) -> Self {
        Self { kind: error.kind(), message: error.to_string() }
    }
}

/// Findings as reports show them: what breaks a rule, and apart from it what is only worth a look.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Split {
    /// Broken rules.
    pub findings: Vec<Finding>,
    /// Worth a look; the verdict stands.
    pub warnings: Vec<Finding>,
    /// How many more there were than are shown.
    pub findings_not_shown: u64,
}

impl From<&Findings> for Split {
    fn from(findings: &Findings) -> Self {
        let of = |severity| findings.iter().filter(|finding| finding.severity == severity).cloned().collect();
        Self { findings: of(Severity::Error), warnings: of(Severity::Warning), findings_not_shown: findings.dropped() }
    }
}
