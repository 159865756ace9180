//! Owns the private strings that redactions found, and the forms in which they could be left somewhere.
//!
//! Refuses to show them. Invariant: a private string leaves this room only as a pattern to search for.

use std::collections::BTreeMap;
use std::fmt;

/// Private strings, each with the position of the first redaction that found it.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct PrivateStrings(BTreeMap<Box<[u8]>, usize>);

impl PrivateStrings {
    /// How many there are.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Adds one that the redaction at a position found.
    pub(super) fn insert(&mut self, string: &[u8], redaction: usize) {
        let first = self.0.entry(string.into()).or_insert(redaction);
        *first = redaction.min(*first);
    }

    pub(super) fn merge(&mut self, other: Self) {
        other.0.iter().for_each(|(string, redaction)| self.insert(string, *redaction));
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&[u8], usize)> {
        self.0.iter().map(|(string, redaction)| (string.as_ref(), *redaction))
    }
}

impl fmt::Debug for PrivateStrings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PrivateStrings({} not shown)", self.0.len())
    }
}
