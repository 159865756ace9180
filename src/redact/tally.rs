//! Owns the account of what the rules were good for: what applied to which file, and which private strings were found.
//!
//! Refuses to judge it: that is [`Rules::unused`](super::Rules::unused). Invariant: merging is the same in any order, so
//! that files can be worked on in parallel.

use std::collections::BTreeSet;

use super::private::PrivateStrings;

/// What the rules were good for, for one file or for many.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// Positions of the redactions that matched.
    pub(super) redactions: BTreeSet<usize>,
    /// Positions of redactions and of their globs that matched a path.
    pub(super) globs: BTreeSet<(usize, usize)>,
    /// Positions of the omissions that matched a path.
    pub(super) omissions: BTreeSet<usize>,
    /// Positions of the allowances that let something through.
    pub(super) allowed: BTreeSet<usize>,
    pub(super) private: PrivateStrings,
}

impl Tally {
    /// Adds what another tally has.
    pub fn merge(&mut self, other: Self) {
        self.redactions.extend(other.redactions);
        self.globs.extend(other.globs);
        self.omissions.extend(other.omissions);
        self.allowed.extend(other.allowed);
        self.private.merge(&other.private);
    }

    /// The private strings that redactions found.
    pub fn private(&self) -> &PrivateStrings {
        &self.private
    }
}
