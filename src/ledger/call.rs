//! Owns the calls on a ledger: what a request asks and what a reply tells, apart from any wire.
//!
//! Refuses nothing. Invariant: a value here says only what its frame shows; what can't be read from a frame is `None` or
//! open, never guessed.

use std::cmp::Ordering;

/// Seconds since 1970, as the injected clocks and the ledger have them.
pub type Seconds = i64;

/// What a request asks.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ask {
    /// The first round of a write: it asks for input and has no effect.
    FirstRound {
        /// The operation id in the arguments.
        operation: Box<str>,
    },
    /// The continuation of a write.
    Write(Write),
    /// What is known of an operation.
    Status {
        /// The operation id.
        operation: Box<str>,
    },
    /// Anything that is no matter of the ledger.
    Other,
}

/// The continuation of a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Write {
    /// The operation id in the arguments.
    pub operation: Box<str>,
    /// Whether it can reach the ledger at all.
    pub form: Form,
    /// One step, or an effect with a step behind it.
    pub mode: Mode,
    /// What its fingerprint binds.
    pub parts: Parts,
    /// The deadlines that its state carries, where they are known.
    pub timing: Option<Timing>,
}

/// Whether a continuation can reach the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Form {
    /// State and an accepted answer are there.
    Sound,
    /// Answers without a state.
    WithoutState,
    /// A state without answers.
    WithoutResponses,
    /// The answers lack the key that was asked for: it is asked again.
    WithoutAnswer,
    /// The answer was declined or cancelled, or is no text.
    NotAccepted,
}

/// How an operation takes effect.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Mode {
    /// Row, effect and result commit together.
    Atomic,
    /// The effect commits first, then a step that may fail and be compensated.
    Partial,
}

/// What a fingerprint binds, as far as frames show it. Numbers stand for canonical values: equal numbers, equal values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Parts {
    /// Tool with its version.
    pub tool: u32,
    /// Canonical arguments, defaults applied.
    pub arguments: u32,
    /// The accepted answer in its one fixed form.
    pub responses: u32,
    /// The continuation state.
    pub state: State,
}

/// A continuation state.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct State {
    /// The token as it stands.
    pub token: u32,
    /// The first round that issued it; none for a token that no reply in the history issued.
    pub issued: Option<u32>,
    /// What it says inside, where that is readable.
    pub inner: Option<u32>,
    /// It is not a token as it was issued: tampered with.
    pub altered: bool,
}

/// Whether two things are the same, as far as can be known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sameness {
    /// They are.
    Same,
    /// They are not.
    Different,
    /// That can't be known offline.
    Open,
}

/// The deadlines of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Timing {
    /// When the first round was answered.
    pub issued_at: Seconds,
    /// Until when it may be applied; none is unbounded.
    pub authority_expires_at: Option<Seconds>,
    /// Until when it may be replayed; none is unbounded.
    pub replay_expires_at: Option<Seconds>,
    /// Until when the SDK takes the state; none is unbounded.
    pub state_expires_at: Option<Seconds>,
}

/// What a reply tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Told {
    /// Input is asked for; the state's token.
    InputRequired {
        /// The token's number, as in [`State::token`].
        token: Option<u32>,
    },
    /// The effect, now or before.
    Effect(Outcome),
    /// The ledger refused.
    Refused(Refusal),
    /// The SDK's check of the state refused, before the ledger was asked.
    StateRejected,
    /// What is known of an operation.
    Status(Box<Observation>),
    /// A reply to what is no matter of the ledger.
    Other,
    /// A reply that the dialect doesn't know: as open as a lost one.
    Unrecognized,
}

/// An effect as a reply tells it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The operation id that it names.
    pub operation: Box<str>,
    /// The effect's id.
    pub effect: u64,
    /// The stored result.
    pub result: Box<str>,
    /// It was applied before.
    pub replayed: bool,
    /// How far it came.
    pub state: Observed,
}

/// Why a ledger, or what stands before it, refuses a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Refusal {
    /// The operation id is bound to something else.
    Conflict,
    /// The right to write has ended.
    AuthorityExpired,
    /// The time to replay has ended.
    RetentionExpired,
    /// It was begun and is not complete.
    InProgress,
    /// The deadlines make no sense.
    Timing,
    /// A continuation that is none: state or answers are missing.
    Unsupported,
    /// The answer wasn't accepted.
    NotAccepted,
    /// The state is of another operation.
    OtherOperation,
}

/// How far an operation is said to have come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Observed {
    /// It took effect.
    Applied,
    /// It took effect, and a later step failed.
    Partial,
    /// Nothing is known, which proves nothing.
    Unknown,
    /// It did not take effect.
    NotApplied,
}

/// A status as a reply tells it; what isn't there or has another type is `None`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Observation {
    /// The operation id that it names.
    pub operation: Option<Box<str>>,
    /// The principal.
    pub principal: Option<Box<str>>,
    /// The backend.
    pub backend: Option<Box<str>>,
    /// How far it came; none for a word that is no state.
    pub state: Option<Observed>,
    /// Whether it calls itself authoritative.
    pub authoritative: Option<bool>,
    /// Whether it grants a fresh write.
    pub fresh_write_authorized: Option<bool>,
    /// The effect's ids, in order; none where they aren't a list of integers.
    pub ids: Option<Vec<i64>>,
    /// The stored result: the outer is none where the field is missing or no text, the inner for null.
    pub result: Option<Option<Box<str>>>,
    /// The free text that says of what it speaks.
    pub scope: Option<Box<str>>,
    /// The structured scope, where there is one.
    pub binding: Option<ScopeBinding>,
    /// When it was observed, as it stands.
    pub observed_at: Option<Box<str>>,
}

/// A structured scope.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ScopeBinding {
    /// Operation id.
    pub operation: Option<Box<str>>,
    /// Principal.
    pub principal: Option<Box<str>>,
    /// Backend.
    pub backend: Option<Box<str>>,
}

impl State {
    /// Whether two states are the same, as far as frames show it. Tokens of separate first rounds differ, since each has
    /// a nonce of its own; a token that was issued again when the server asked again may carry the same state.
    pub fn sameness(self, other: Self) -> Sameness {
        if self.token == other.token {
            return Sameness::Same;
        }
        match (self.inner, other.inner, self.issued, other.issued) {
            (Some(a), Some(b), _, _) => {
                if a == b {
                    Sameness::Same
                } else {
                    Sameness::Different
                }
            }
            (_, _, Some(a), Some(b)) if a != b => Sameness::Different,
            (_, _, _, _) => Sameness::Open,
        }
    }
}

impl Parts {
    /// Whether two requests of one principal have the same fingerprint.
    pub fn sameness(self, other: Self) -> Sameness {
        let plain = |parts: Self| (parts.tool, parts.arguments, parts.responses);
        match plain(self).cmp(&plain(other)) {
            Ordering::Equal => self.state.sameness(other.state),
            Ordering::Less | Ordering::Greater => Sameness::Different,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_are_compared_as_far_as_frames_show_them() {
        let state = |token, issued, inner| State { token, issued, inner, altered: false };
        for (a, b, wanted) in [
            (state(1, Some(1), None), state(1, Some(1), None), Sameness::Same),
            (state(1, Some(1), None), state(2, Some(2), None), Sameness::Different),
            (state(1, Some(1), None), state(2, Some(1), None), Sameness::Open),
            (state(1, Some(1), None), state(2, None, None), Sameness::Open),
            (state(1, Some(1), Some(7)), state(2, Some(1), Some(7)), Sameness::Same),
            (state(1, Some(1), Some(7)), state(2, Some(1), Some(8)), Sameness::Different),
        ] {
            assert_eq!((a.sameness(b), b.sameness(a)), (wanted, wanted), "{a:?} {b:?}");
            let parts = |state| Parts { tool: 1, arguments: 1, responses: 1, state };
            assert_eq!(parts(a).sameness(parts(b)), wanted);
            assert_eq!(parts(a).sameness(Parts { responses: 2, ..parts(b) }), Sameness::Different);
        }
    }
}
