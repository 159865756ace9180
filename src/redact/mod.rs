//! Owns what may be in a release, and how a release's files are made from a commit's: refused names, contents that look
//! like secrets, omissions, redactions, and the scan that nothing private is left.
//!
//! Refuses to read a repository or to write a file of a release: it takes names and contents and returns findings.
//! Invariant: no finding and no record repeats what was redacted or what looks like a secret.
//!
//! The order of use: [`Rules::load`]; for each path [`Rules::omitted`] and [`Rules::check_name`]; for each file kept
//! [`Rules::redact`] where [`Rules::applies`] says so; then one [`Scan`] with the private strings of all files
//! ([`Tally::private`]) over every content, every name and every other text of the release; at the end
//! [`Rules::unused`]. Work on files can be done in parallel, each with a [`Tally`] of its own.

mod container;
mod document;
mod private;
mod redaction;
mod refused;
mod rules;
mod scan;
mod secret;
mod tally;
mod visit;
mod window;

pub use document::{Allowed, Document, NotRetained, Omission, Recorded, Redaction, RetainedRun};
pub use private::PrivateStrings;
pub use redaction::{Record, Redacted};
pub use refused::{NAME_RULES, NameRule, refused};
pub use rules::{FORMAT, Rules};
pub use scan::Scan;
pub use secret::{SECRET_RULES, SecretRule};
pub use tally::Tally;

/// The rule that an allowance names for a container that can't be looked into.
pub const OPAQUE: &str = "opaque-archive";
