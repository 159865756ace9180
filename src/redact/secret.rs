//! Owns what private keys and tokens look like.
//!
//! Refuses to show one. Invariant: a rule's name is stable, since allowances name it.

/// A rule that refuses contents.
#[derive(Debug, Clone, Copy)]
pub struct SecretRule {
    /// Its stable name.
    pub name: &'static str,
    /// What it is, as part of a sentence.
    pub what: &'static str,
}

/// Every rule on contents.
pub static SECRET_RULES: &[SecretRule] = &[];
