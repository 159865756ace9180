//! Owns the use cases: freeze a run into an archive, export a commit as a release, verify either.
//!
//! Refuses to decide what a lower room decides: each use case is a straight line through them. Invariant: what
//! [`freeze()`] writes, [`verify()`] has read back without a finding before it gets its name.

#[cfg(feature = "export")]
mod export;
mod freeze;
mod parts;
mod publish;
mod verify;

#[cfg(feature = "export")]
pub use export::{Export, Exported, ExportedRun, RULES, RedactedFile, export};
pub use freeze::{Freeze, Frozen, freeze};
pub use publish::Written;
pub use verify::{RunVerdict, Verdict, Verification, Verify, verify};
