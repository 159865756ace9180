//! Owns the table of what each reply needs of the ledger at the point where it was answered.
//!
//! Refuses to look at other calls, but for the first round that issued a state. Invariant: what hangs on an unknown clock is
//! marked open, never guessed.

use crate::finding::Code;
use crate::history::{Call, History, Process};
use crate::ledger::consumer::{self, Action, Consumer, Identity, Rejected, Scope, Stop};
use crate::ledger::{Ask, Form, Mode, Observation, Observed, Outcome, Refusal, Seconds, Told, Write};

/// What a reply needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Need {
    /// Nothing: it was lost, or answered before the ledger was asked.
    Nothing,
    /// This very call commits.
    First,
    /// A complete row under the same fingerprint.
    Stored,
    /// A row under the same fingerprint.
    Same,
    /// A row under another fingerprint.
    Other,
    /// No row, or one under the same fingerprint.
    AbsentOrSame,
    /// No row.
    Absent,
    /// A row under the same fingerprint that is not complete.
    Begun,
    /// A complete row of the same principal.
    Terminal,
    /// No complete row of the same principal.
    NotTerminal,
    /// No ledger answers so, whatever it holds.
    Never(Code),
}

/// A call against the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Demand {
    /// What its reply needs.
    pub(super) need: Need,
    /// Whether that hangs on a clock or a deadline that isn't known.
    pub(super) open: bool,
    /// Whether it can be the call that commits; none where that hangs on a clock that isn't known.
    pub(super) commits: Option<bool>,
}

const NOTHING: Demand = Demand { need: Need::Nothing, open: false, commits: Some(false) };

fn never(code: Code) -> Demand {
    Demand { need: Need::Never(code), ..NOTHING }
}

/// True if all are, false if one isn't, else unknown.
fn all(parts: &[Option<bool>]) -> Option<bool> {
    if parts.contains(&Some(false)) { Some(false) } else { parts.iter().try_fold(true, |_, part| *part) }
}

fn passed(deadline: Option<Seconds>, clock: Option<Seconds>) -> Option<bool> {
    deadline.map_or(Some(false), |at| clock.map(|now| now >= at))
}

/// Which deadlines have passed by the clock of the call's own process.
struct Late {
    authority: Option<bool>,
    replay: Option<bool>,
    senseless: Option<bool>,
}

impl Late {
    fn of(write: &Write, clock: Option<Seconds>) -> Self {
        let Some(timing) = write.timing else {
            return Self { authority: None, replay: None, senseless: None };
        };
        let early = |deadline: Option<Seconds>| deadline.is_some_and(|at| at <= timing.issued_at);
        let senseless = if early(timing.authority_expires_at) || early(timing.replay_expires_at) {
            Some(true)
        } else {
            clock.map(|now| timing.issued_at > now)
        };
        let authority = passed(timing.authority_expires_at, clock);
        Self { authority, replay: passed(timing.replay_expires_at, clock), senseless }
    }
}

fn not(value: Option<bool>) -> Option<bool> {
    value.map(|value| !value)
}

/// What a call's reply needs; `told` is none where it is lost or not looked at.
pub(super) fn demand(history: &History, call: &Call, told: Option<&Told>, store: Option<&str>) -> Demand {
    let Some(process) = history.processes.get(call.process as usize) else { return NOTHING };
    let told = told.filter(|told| !matches!(told, Told::Unrecognized));
    match &call.ask {
        Ask::Other => NOTHING,
        Ask::FirstRound { .. } => match told {
            None | Some(Told::InputRequired { .. }) => NOTHING,
            Some(_) => never(Code::ReplayReply),
        },
        Ask::Status { operation } => match told {
            None => NOTHING,
            Some(Told::Status(observation)) => {
                let demand = status(process, operation, observation);
                // A process of another backend knows nothing of what this store holds.
                let is_away = !is_here(process, store);
                if is_away && demand.need == Need::NotTerminal {
                    NOTHING
                } else if is_away && demand.need == Need::Terminal {
                    never(Code::ReplayStatusEffect)
                } else {
                    demand
                }
            }
            Some(_) => never(Code::ReplayReply),
        },
        Ask::Write(write) if write.form != Form::Sound => unsound(history, process, write, told),
        Ask::Write(write) => sound(history, process, write, told, store),
    }
}

/// Whether a process has the backend that the store is bound to, as far as that is known.
fn is_here(process: &Process, store: Option<&str>) -> bool {
    store.is_none_or(|store| process.backend.is_empty() || *store == *process.backend)
}

fn unsound(history: &History, process: &Process, write: &Write, told: Option<&Told>) -> Demand {
    let clock = process.clock;
    if write.form != Form::WithoutState && told == Some(&Told::StateRejected) && is_sound_state(history, process, write)
    {
        return never(Code::ReplayState);
    }
    let fits = match (write.form, told) {
        (_, None)
        | (Form::WithoutState | Form::WithoutResponses, Some(Told::Refused(Refusal::Unsupported)))
        | (Form::NotAccepted, Some(Told::Refused(Refusal::NotAccepted)))
        | (Form::WithoutResponses | Form::NotAccepted | Form::WithoutAnswer, Some(Told::StateRejected)) => Some(true),
        (Form::WithoutAnswer, Some(Told::InputRequired { .. })) => {
            if write.timing.is_none() {
                Some(true)
            } else {
                not(Late::of(write, clock).authority)
            }
        }
        (Form::WithoutAnswer, Some(Told::Refused(Refusal::AuthorityExpired))) => Late::of(write, clock).authority,
        (Form::Sound | Form::WithoutState | Form::WithoutResponses | Form::WithoutAnswer | Form::NotAccepted, _) => {
            return never(Code::ReplayReply);
        }
    };
    match fits {
        Some(false) => never(Code::ReplayDeadline),
        Some(true) | None => Demand { open: fits.is_none(), ..NOTHING },
    }
}

/// Whether the SDK or the tool refuses the state before the ledger is asked.
fn barred(history: &History, process: &Process, write: &Write) -> Option<bool> {
    let state = write.parts.state;
    let origin = state.issued.and_then(|issued| history.calls.get(issued as usize));
    let foreign = origin.is_some_and(|first| match &first.ask {
        Ask::FirstRound { operation } => {
            let issuer = history.processes.get(first.process as usize);
            *operation != write.operation
                || issuer.is_some_and(|issuer| {
                    let known = !issuer.principal.is_empty() && !process.principal.is_empty();
                    known && issuer.principal != process.principal
                })
        }
        Ask::Write(_) | Ask::Status { .. } | Ask::Other => false,
    });
    if state.altered || foreign {
        return Some(true);
    }
    write.timing.map_or(Some(false), |timing| passed(timing.state_expires_at, process.clock))
}

/// Whether an SDK had no reason to reject the state: this history issued it, for this operation and principal, and it is
/// in time. Whether the arguments are those that it was issued for isn't known, and matters to some SDKs.
fn is_sound_state(history: &History, process: &Process, write: &Write) -> bool {
    let is_known = write.timing.is_some() && write.parts.state.issued.is_some();
    is_known && !history.binds_arguments && barred(history, process, write) == Some(false)
}

fn sound(history: &History, process: &Process, write: &Write, told: Option<&Told>, store: Option<&str>) -> Demand {
    let state = write.parts.state;
    let barred = barred(history, process, write);
    let late = Late::of(write, process.clock);
    let here = is_here(process, store);
    let known = write.timing.is_some();
    let fresh = if known {
        all(&[not(barred), Some(here), not(late.authority), not(late.replay), not(late.senseless)])
    } else {
        all(&[not(barred), Some(here)])
    };
    let Some(told) = told else {
        return Demand { need: Need::Nothing, open: false, commits: fresh };
    };
    match told {
        Told::StateRejected if is_sound_state(history, process, write) => return never(Code::ReplayState),
        Told::Refused(Refusal::OtherOperation) if barred == Some(false) && known && state.issued.is_some() => {
            return never(Code::ReplayState);
        }
        Told::StateRejected | Told::Refused(Refusal::OtherOperation) => return NOTHING,
        Told::InputRequired { .. }
        | Told::Effect(_)
        | Told::Refused(_)
        | Told::Status(_)
        | Told::Other
        | Told::Unrecognized => {}
    }
    if barred == Some(true) {
        return never(Code::ReplayState);
    }
    let live = if known { all(&[not(late.authority), not(late.replay)]) } else { Some(true) };
    let (need, fits) = match told {
        Told::Effect(outcome) if !names_itself(write, outcome) => return never(Code::ReplayResult),
        Told::Refused(Refusal::Conflict) if !here => return NOTHING,
        Told::Effect(_) | Told::Refused(_) if !here => return never(Code::ReplayConflict),
        Told::Effect(outcome) if outcome.replayed => (Need::Stored, live),
        Told::Effect(_) => (Need::First, fresh),
        Told::Refused(Refusal::InProgress) if write.mode == Mode::Atomic => return never(Code::ReplayProgress),
        Told::Refused(Refusal::Conflict) => (Need::Other, Some(true)),
        Told::Refused(Refusal::InProgress) => (Need::Begun, live),
        Told::Refused(Refusal::AuthorityExpired) => (expired(write, &late), late.authority),
        Told::Refused(Refusal::RetentionExpired) => (expired(write, &late), all(&[not(late.authority), late.replay])),
        Told::Refused(Refusal::Timing) => (
            Need::Absent,
            match write.mode {
                Mode::Atomic => late.senseless,
                Mode::Partial => all(&[not(late.authority), not(late.replay), late.senseless]),
            },
        ),
        Told::Refused(Refusal::Unsupported | Refusal::NotAccepted | Refusal::OtherOperation)
        | Told::InputRequired { .. }
        | Told::StateRejected
        | Told::Status(_)
        | Told::Other
        | Told::Unrecognized => return never(Code::ReplayReply),
    };
    if fits == Some(false) {
        return never(Code::ReplayDeadline);
    }
    let open = fits.is_none() || barred.is_none();
    Demand { need, open, commits: Some(need == Need::First) }
}

/// Atomic mode asks whether the deadlines make sense before it asks whether they have passed, so where they make none, a
/// deadline's refusal speaks of a row.
fn expired(write: &Write, late: &Late) -> Need {
    if write.mode == Mode::Atomic && late.senseless == Some(true) { Need::Same } else { Need::AbsentOrSame }
}

fn names_itself(write: &Write, outcome: &Outcome) -> bool {
    outcome.operation == write.operation
        && is_result(outcome.state, outcome.effect, &outcome.result)
        && match write.mode {
            Mode::Atomic => outcome.state == Observed::Applied && !outcome.result.ends_with(" with watcher"),
            Mode::Partial => outcome.state == Observed::Partial || outcome.result.ends_with(" with watcher"),
        }
}

/// Whether a stored result is the text, or one of the two, for that state and effect.
fn is_result(state: Observed, effect: u64, result: &str) -> bool {
    match state {
        Observed::Applied => effect > 0 && consumer::is_applied_result(result, effect),
        Observed::Partial => effect > 0 && consumer::is_partial_result(result, effect),
        Observed::Unknown | Observed::NotApplied => false,
    }
}

/// A status is held against the rules of the consumer; where a process's identity isn't known, the status's own is taken.
fn status(process: &Process, operation: &str, seen: &Observation) -> Demand {
    let own = |known: &str, told: &Option<Box<str>>| match (known, told) {
        ("", Some(told)) => told.clone(),
        (known, _) => known.into(),
    };
    let attempt = Identity {
        operation: operation.into(),
        principal: own(&process.principal, &seen.principal),
        backend: own(&process.backend, &seen.backend),
    };
    match Consumer::lost(attempt, Scope::Text).observe(seen) {
        Action::ReturnStoredResult { .. } | Action::Stop(Stop::Partial) => Demand { need: Need::Terminal, ..NOTHING },
        Action::Stop(Stop::Unknown) => Demand { need: Need::NotTerminal, ..NOTHING },
        // A ledger knows what it holds, and says unknown of the rest: that an action did not happen is nothing it can say.
        Action::Stop(Stop::NotApplied) | Action::Reconcile => never(Code::ReplayStatusForm),
        Action::Stop(Stop::Refused(rejected)) => never(match rejected {
            Rejected::Identity | Rejected::Binding => Code::ReplayStatusIdentity,
            Rejected::FreshWrite => Code::ReplayFreshWrite,
            Rejected::NotAuthoritative
            | Rejected::Scope
            | Rejected::State
            | Rejected::Time
            | Rejected::Ids
            | Rejected::Result => Code::ReplayStatusForm,
        }),
    }
}
