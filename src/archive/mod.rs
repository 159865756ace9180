//! Owns the use cases: freeze a run into an archive, verify a release or an archive.
//!
//! Refuses to decide what a lower room decides: each use case is a straight line through them. Invariant: what
//! [`freeze()`] writes, [`verify()`] has read back without a finding before it gets its name.

mod freeze;
mod parts;
mod publish;
mod verify;

pub use freeze::{Freeze, Frozen, freeze};
pub use publish::Written;
pub use verify::{RunVerdict, Verdict, Verification, Verify, verify};
