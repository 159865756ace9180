//! Owns the model: what a correct ledger does with a write, a step or a question, one commit at a time.
//!
//! Refuses to know files, wires and clocks: the time is given with each call. Invariant: a row is bound once and never
//! taken back, and every durable state is a value of [`Stage`].

use std::collections::BTreeMap;

use super::call::{Mode, Observed, Parts, Refusal, Seconds, Timing, Write};

/// A ledger with its effects.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Model {
    /// The backend that the store is bound to.
    pub backend: Box<str>,
    /// The rows by operation id.
    pub rows: BTreeMap<Box<str>, Bound>,
    /// The greatest effect id; 0 before the first.
    pub last: u64,
}

/// Who calls, through which process, at what time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Caller<'a> {
    /// The principal.
    pub principal: &'a str,
    /// The backend that the process is configured for.
    pub backend: &'a str,
    /// What its clock says.
    pub now: Seconds,
}

/// A row: what an operation id is bound to, and how far it came.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Bound {
    /// The principal.
    pub principal: Box<str>,
    /// What the fingerprint binds, besides.
    pub parts: Parts,
    /// Atomic or partial.
    pub mode: Mode,
    /// The deadlines.
    pub timing: Option<Timing>,
    /// The effect's id.
    pub effect: u64,
    /// How far it came.
    pub stage: Stage,
}

/// The durable states of a row. A crash may leave it in any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Row and effect are there.
    Begun,
    /// The watcher step was recorded as attempted.
    WatcherAttempted,
    /// It failed.
    WatcherFailed,
    /// The rollback was recorded as attempted.
    RollbackAttempted,
    /// The operation took effect as a whole.
    Applied,
    /// The watcher failed, and so did the rollback, or it didn't.
    Partial {
        /// Whether the rollback succeeded.
        rolled_back: bool,
    },
}

/// What the ledger answers to a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Answer {
    /// It refused, and wrote nothing.
    Refused(Refusal),
    /// The operation is bound to this very request and complete: the row is told again.
    Stored,
    /// Row and effect are committed now; in partial mode the steps follow before the reply.
    Committed,
}

impl Stage {
    /// The durable states that may follow: the next commit of the operation's own process.
    pub fn next(self) -> &'static [Self] {
        match self {
            Self::Begun => &[Self::WatcherAttempted],
            Self::WatcherAttempted => &[Self::Applied, Self::WatcherFailed],
            Self::WatcherFailed => &[Self::RollbackAttempted],
            Self::RollbackAttempted => &[Self::Partial { rolled_back: false }, Self::Partial { rolled_back: true }],
            Self::Applied | Self::Partial { .. } => &[],
        }
    }

    /// Whether nothing follows.
    pub fn is_terminal(self) -> bool {
        self.next().is_empty()
    }

    /// The state as a status tells it.
    pub fn observed(self) -> Observed {
        match self {
            Self::Begun | Self::WatcherAttempted | Self::WatcherFailed | Self::RollbackAttempted => Observed::Unknown,
            Self::Applied => Observed::Applied,
            Self::Partial { .. } => Observed::Partial,
        }
    }
}

impl Bound {
    /// The stored result, where there is one.
    pub fn result(&self) -> Option<String> {
        let id = self.effect;
        match (self.stage, self.mode) {
            (Stage::Applied, Mode::Atomic) => Some(format!("created {id}")),
            (Stage::Applied, Mode::Partial) => Some(format!("created {id} with watcher")),
            (Stage::Partial { rolled_back }, _) => {
                let rollback = if rolled_back { "succeeded" } else { "failed" };
                Some(format!("partial {id}; watcher failed; rollback {rollback}"))
            }
            (Stage::Begun | Stage::WatcherAttempted | Stage::WatcherFailed | Stage::RollbackAttempted, _) => None,
        }
    }
}

/// Which deadline has passed: authority is asked before retention.
fn late(timing: Option<Timing>, now: Seconds) -> Option<Refusal> {
    let timing = timing?;
    let passed = |deadline: Option<Seconds>| deadline.is_some_and(|at| now >= at);
    if passed(timing.authority_expires_at) {
        Some(Refusal::AuthorityExpired)
    } else if passed(timing.replay_expires_at) {
        Some(Refusal::RetentionExpired)
    } else {
        None
    }
}

/// Whether the deadlines make no sense at this time.
fn senseless(timing: Option<Timing>, now: Seconds) -> Option<Refusal> {
    let timing = timing?;
    let early = |deadline: Option<Seconds>| deadline.is_some_and(|at| at <= timing.issued_at);
    let wrong = timing.issued_at > now || early(timing.authority_expires_at) || early(timing.replay_expires_at);
    wrong.then_some(Refusal::Timing)
}

/// What a write without a row is refused for.
fn fresh(write: &Write, now: Seconds) -> Option<Refusal> {
    match write.mode {
        Mode::Atomic => senseless(write.timing, now).or(late(write.timing, now)),
        Mode::Partial => late(write.timing, now).or(senseless(write.timing, now)),
    }
}

impl Model {
    /// An empty store.
    pub fn new(backend: &str) -> Self {
        Self { backend: backend.into(), rows: BTreeMap::new(), last: 0 }
    }

    /// What the ledger answers to a sound write. If it commits, the effect gets the id `id`, which the caller chooses by
    /// what is known of ids.
    pub fn write(&mut self, caller: Caller<'_>, write: &Write, id: u64) -> Answer {
        if caller.backend != &*self.backend {
            return Answer::Refused(Refusal::Conflict);
        }
        if let Some(row) = self.rows.get(&write.operation) {
            return if *row.principal != *caller.principal || row.parts != write.parts {
                Answer::Refused(Refusal::Conflict)
            } else if let Some(refusal) = late(row.timing, caller.now) {
                Answer::Refused(refusal)
            } else if row.stage.is_terminal() {
                Answer::Stored
            } else {
                Answer::Refused(Refusal::InProgress)
            };
        }
        if let Some(refusal) = fresh(write, caller.now) {
            return Answer::Refused(refusal);
        }
        let stage = match write.mode {
            Mode::Atomic => Stage::Applied,
            Mode::Partial => Stage::Begun,
        };
        let principal = caller.principal.into();
        let row = Bound { principal, parts: write.parts, mode: write.mode, timing: write.timing, effect: id, stage };
        self.rows.insert(write.operation.clone(), row);
        self.last = self.last.max(id);
        Answer::Committed
    }

    /// The next commit of a multi-step operation. Says whether `to` can follow; if not, nothing is changed.
    pub fn advance(&mut self, operation: &str, to: Stage) -> bool {
        match self.rows.get_mut(operation) {
            Some(row) if row.stage.next().contains(&to) => {
                row.stage = to;
                true
            }
            Some(_) | None => false,
        }
    }

    /// The row that a status read may speak of: a complete one of that very principal and backend. Otherwise the answer
    /// is `unknown`.
    pub fn status(&self, caller: Caller<'_>, operation: &str) -> Option<&Bound> {
        let row = self.rows.get(operation)?;
        let own = *row.principal == *caller.principal && *self.backend == *caller.backend;
        (own && row.stage.is_terminal()).then_some(row)
    }
}

#[cfg(test)]
mod tests {
    use super::super::call::{Form, State};
    use super::*;

    fn write(mode: Mode, answer: u32, timing: Option<Timing>) -> Write {
        let state = State { token: 1, issued: None, inner: None, altered: false };
        let parts = Parts { tool: 1, arguments: 1, responses: answer, state };
        Write { operation: "x".into(), form: Form::Sound, mode, parts, timing }
    }

    fn alice(now: Seconds) -> Caller<'static> {
        Caller { principal: "alice", backend: "b", now }
    }

    #[test]
    fn checks_come_in_their_order() {
        let timing = |issued_at, authority, replay| {
            Some(Timing {
                issued_at,
                authority_expires_at: authority,
                replay_expires_at: replay,
                state_expires_at: None,
            })
        };
        let both = timing(100, Some(200), Some(300));
        let mut model = Model::new("b");
        let refused = Answer::Refused;
        assert_eq!(model.write(alice(50), &write(Mode::Atomic, 1, both), 1), refused(Refusal::Timing));
        assert_eq!(model.write(alice(250), &write(Mode::Atomic, 1, both), 1), refused(Refusal::AuthorityExpired));
        let senseless = timing(100, Some(90), None);
        assert_eq!(model.write(alice(95), &write(Mode::Atomic, 1, senseless), 1), refused(Refusal::Timing));
        assert_eq!(model.write(alice(95), &write(Mode::Partial, 1, senseless), 1), refused(Refusal::AuthorityExpired));
        assert!(model.rows.is_empty(), "a refusal wrote");
        assert_eq!(model.write(alice(150), &write(Mode::Atomic, 1, both), 1), Answer::Committed);
        assert_eq!(model.write(alice(150), &write(Mode::Atomic, 1, both), 2), Answer::Stored);
        assert_eq!(model.write(alice(250), &write(Mode::Atomic, 2, both), 2), refused(Refusal::Conflict));
        assert_eq!(model.write(alice(350), &write(Mode::Atomic, 1, both), 2), refused(Refusal::AuthorityExpired));
        let other = Caller { backend: "c", ..alice(150) };
        assert_eq!(model.write(other, &write(Mode::Atomic, 1, both), 2), refused(Refusal::Conflict));
        assert!(model.status(alice(0), "x").is_some_and(|row| row.result().as_deref() == Some("created 1")));
        assert!(model.status(other, "x").is_none());
        assert!(model.status(Caller { principal: "bob", ..alice(0) }, "x").is_none());
    }

    #[test]
    fn retention_is_a_deadline_of_its_own() {
        let timing =
            Timing { issued_at: 100, authority_expires_at: None, replay_expires_at: Some(200), state_expires_at: None };
        let mut model = Model::new("b");
        let sent = write(Mode::Atomic, 1, Some(timing));
        assert_eq!(model.write(alice(199), &sent, 1), Answer::Committed);
        assert_eq!(model.write(alice(200), &sent, 2), Answer::Refused(Refusal::RetentionExpired));
    }

    #[test]
    fn a_partial_write_passes_its_states_in_order() {
        let mut model = Model::new("b");
        let sent = write(Mode::Partial, 1, None);
        assert_eq!(model.write(alice(1), &sent, 7), Answer::Committed);
        assert!(!model.advance("x", Stage::Applied));
        for stage in [Stage::WatcherAttempted, Stage::WatcherFailed, Stage::RollbackAttempted] {
            assert_eq!(model.write(alice(1), &sent, 8), Answer::Refused(Refusal::InProgress));
            assert!(model.advance("x", stage));
            assert!(model.status(alice(1), "x").is_none());
        }
        assert!(model.advance("x", Stage::Partial { rolled_back: false }));
        assert_eq!(model.write(alice(1), &sent, 8), Answer::Stored);
        let row = model.status(alice(1), "x").expect("it is complete");
        assert_eq!(row.result().as_deref(), Some("partial 7; watcher failed; rollback failed"));
    }
}
