//! Owns comparing the fingerprints that a store holds with those recomputed from the wire.
//!
//! Refuses to call a fingerprint wrong while a request that may have made it can't be recomputed. Invariant: a difference
//! names the row, and the call where one reply ties the two.

use std::collections::BTreeMap;
use std::str::FromStr as _;

use super::{Built, Call, History};
use crate::digest::Sha256;
use crate::finding::{Code, Finding, Place};
use crate::ledger::{Ask, Form, Operation, Told, Write};

/// What a row holds where its fingerprint isn't known.
const UNKNOWN: &str = "0000000000000000000000000000000000000000000000000000000000000000";

/// The stored fingerprints of a history, compared.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Stored {
    /// Rows whose fingerprint is that of a request on the wire, and of every reply that tells the row's effect.
    pub agreeing: u64,
    /// Rows that hold no fingerprint.
    pub absent: u64,
    /// Operations whose rows can't be checked: a request that may have made them can't be recomputed.
    pub open: Vec<String>,
    /// What differs, in the order of rows.
    pub differences: Vec<Difference>,
}

/// A stored fingerprint that is no recomputed one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The row's operation.
    pub operation: String,
    /// The call whose reply tells the row's effect; none where no call has the fingerprint.
    pub call: Option<u32>,
    /// What the row holds.
    pub stored: String,
    /// What was computed: of that call, else of each request that may have made the row, in their order.
    pub computed: Vec<Sha256>,
}

impl Difference {
    /// As a finding.
    pub fn finding(&self, place: Place) -> Finding {
        let computed: Vec<String> = self.computed.iter().map(Sha256::to_string).collect();
        let what = match (self.call, self.computed.is_empty()) {
            (Some(_), _) => "is not that of the request that its effect is told to",
            (None, false) => "is that of no request on the wire",
            (None, true) => "has no request on the wire",
        };
        let message = format!("the stored fingerprint of `{}` {what}", self.operation);
        Finding::new(Code::ReplayFingerprint, place, message).values(&self.stored, computed.join(", "))
    }
}

impl Built {
    /// The stored fingerprints against those recomputed from the wire; none where the dialect has no key of fingerprints,
    /// or no store is there.
    pub fn stored(&self) -> Option<Stored> {
        let end = self.history.end.as_ref()?;
        (!self.fingerprints.is_empty() || self.history.calls.is_empty())
            .then(|| compare(&self.history, &self.fingerprints, &end.rows.operations))
    }
}

/// A continuation on the ledger: its call, its fingerprint, whether its reply tells the effect.
struct Candidate<'a> {
    number: u32,
    call: &'a Call,
    write: &'a Write,
    fingerprint: Option<Sha256>,
}

/// `fingerprints` are numbered like calls.
fn compare(history: &History, fingerprints: &[Option<Sha256>], rows: &[Operation]) -> Stored {
    let mut candidates: BTreeMap<&str, Vec<Candidate<'_>>> = BTreeMap::new();
    for ((number, call), fingerprint) in (0..).zip(&history.calls).zip(fingerprints) {
        let Ask::Write(write) = &call.ask else { continue };
        if write.form == Form::Sound && !write.parts.state.altered {
            let one = Candidate { number, call, write, fingerprint: *fingerprint };
            candidates.entry(&write.operation).or_default().push(one);
        }
    }
    let mut stored = Stored::default();
    for row in rows {
        let Some(text) = row.fingerprint.as_deref().filter(|text| *text != UNKNOWN) else {
            stored.absent = stored.absent.saturating_add(1);
            continue;
        };
        let of_row = candidates.get(row.operation.as_str()).map(Vec::as_slice).unwrap_or_default();
        let of_row: Vec<_> = of_row.iter().filter(|one| may_have_made(history, one, row)).collect();
        stored.take(row, text, &of_row);
    }
    stored
}

impl Stored {
    fn take(&mut self, row: &Operation, text: &str, candidates: &[&Candidate<'_>]) {
        // Text that is no digest equals none.
        let held = Sha256::from_str(text).ok();
        let told = |one: &&&Candidate<'_>| tells(one.call, one.write, row);
        let wrong = candidates.iter().filter(told).find(|one| one.fingerprint.is_some() && one.fingerprint != held);
        let difference =
            |call, computed| Difference { operation: row.operation.clone(), call, stored: text.to_owned(), computed };
        if let Some(wrong) = wrong {
            let computed = wrong.fingerprint.into_iter().collect();
            self.differences.push(difference(Some(wrong.number), computed));
        } else if held.is_some() && candidates.iter().any(|one| one.fingerprint == held) {
            self.agreeing = self.agreeing.saturating_add(1);
        } else if candidates.iter().any(|one| one.fingerprint.is_none()) {
            self.open.push(row.operation.clone());
        } else {
            let computed = candidates.iter().filter_map(|one| one.fingerprint).collect();
            self.differences.push(difference(None, computed));
        }
    }
}

/// Whether a continuation may have made a row: it was sent on behalf of its principal, as far as that is known, to its
/// backend.
fn may_have_made(history: &History, one: &Candidate<'_>, row: &Operation) -> bool {
    let Some(process) = history.processes.get(one.call.process as usize) else { return true };
    let same = |known: &str, of_row: &str| known.is_empty() || known == of_row;
    same(&process.principal, &row.principal) && same(&process.backend, &row.backend)
}

/// Whether the reply tells the row's effect: then request and row have one fingerprint.
fn tells(call: &Call, write: &Write, row: &Operation) -> bool {
    match &call.told {
        Some(Told::Effect(outcome)) => *outcome.operation == *write.operation && *outcome.operation == row.operation,
        Some(
            Told::InputRequired { .. }
            | Told::Refused(_)
            | Told::StateRejected
            | Told::Status(_)
            | Told::Other
            | Told::Unrecognized,
        )
        | None => false,
    }
}
