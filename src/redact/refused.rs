//! Owns the names that no file of a release may have.
//!
//! Refuses nothing by content. Invariant: a rule's name is stable, since allowances name it.

/// A rule that refuses names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NameRule {
    /// Its stable name.
    pub name: &'static str,
    /// What such a file is, as part of a sentence.
    pub what: &'static str,
}

/// Every rule on names.
pub static NAME_RULES: &[NameRule] = &[];

/// The first rule that refuses `path`.
pub fn refused(_path: &str) -> Option<&'static NameRule> {
    NAME_RULES.first()
}
