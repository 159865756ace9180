//! Owns the use cases: freeze a run into an archive, export a commit as a release; verify, unpack, show and compare
//! releases and archives.
//!
//! Refuses to decide what a lower room decides: each use case is a straight line through them. Invariant: what
//! [`freeze()`] writes, [`verify()`] has read back without a finding before it gets its name; what [`extract()`] writes
//! comes from a tree without a finding.

mod challenge;
mod diff;
#[cfg(feature = "export")]
mod export;
mod extract;
mod freeze;
mod parts;
mod publish;
pub mod replay;
mod show;
mod verify;

pub use challenge::{Challenged, challenge, not_tried};
pub use diff::{
    Change, Content, Difference, Facts, FieldDifference, FileDifference, Hunk, Line, Lines, Of, Side, diff,
};
#[cfg(feature = "export")]
pub use export::{Export, Exported, ExportedRun, RULES, RedactedFile, export};
pub use extract::{Extract, Extraction, Unpacked, extract};
pub use freeze::{Freeze, Frozen, freeze};
pub use publish::Written;
pub use show::{Shown, show};
pub use verify::{RunVerdict, Verdict, Verification, Verify, verify};
