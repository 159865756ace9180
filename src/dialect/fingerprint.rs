//! Owns recomputing the fingerprint of a continuation from what its frame shows.
//!
//! Refuses to compute from half of it: a state that isn't open, or a value without canonical form, gives none. Invariant:
//! what is bound is what the server binds, in the dialect's form.

use super::document::BoundAs;
use super::{Dialect, Interner};
use crate::digest::Sha256;
use crate::ledger::fingerprint::{Key, Logical, parse};
use crate::ledger::{Form, Write};

impl Dialect {
    /// The same dialect, recomputing fingerprints with their key.
    #[must_use]
    pub fn with_fingerprint_key(mut self, key: &Key) -> Self {
        self.fingerprint_key = Some(key.clone());
        self
    }

    /// Gives fingerprints of the continuations whose parts `interner` numbers; none without their key.
    pub(crate) fn fingerprints<'a>(&'a self, interner: &'a Interner) -> Option<Fingerprints<'a>> {
        let key = self.fingerprint_key.as_ref()?;
        Some(Fingerprints { dialect: self, key, values: interner.values() })
    }
}

/// Gives the fingerprints of continuations.
pub(crate) struct Fingerprints<'a> {
    dialect: &'a Dialect,
    key: &'a Key,
    values: Vec<&'a [u8]>,
}

impl Fingerprints<'_> {
    /// The fingerprint of a continuation on behalf of a principal; none where it can't be computed, or where the
    /// continuation can't reach the ledger.
    pub(crate) fn of(&self, write: &Write, principal: &str) -> Option<Sha256> {
        let document = &self.dialect.document;
        let bound_as = document.state.sealed.as_ref()?.bound_as;
        let parts = write.parts;
        if write.form != Form::Sound || parts.state.altered || principal.is_empty() {
            return None;
        }
        let value = |number: u32| parse(self.values.get(number as usize)?).ok();
        let state = value(parts.state.inner?)?;
        let is_bound = match bound_as {
            BoundAs::Text | BoundAs::AsciiText => state.is_string(),
            BoundAs::Value => true,
        };
        let logical = Logical {
            principal,
            tool: &document.write.tool,
            version: &document.write.version,
            arguments: &value(parts.arguments)?,
            state: &state,
            responses: &value(parts.responses)?,
        };
        logical.fingerprint(self.key).ok().filter(|_| is_bound)
    }
}
