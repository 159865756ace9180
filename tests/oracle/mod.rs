//! A slow oracle of histories: it tries every order in which a ledger could have answered, so that what decides fast can
//! be held against it. Of the package it uses the model's steps and nothing else.
//!
//! Here are its rules: what may come before what, what stands before the ledger, what a reply says, what a snapshot says.

pub(crate) mod compare;
pub(crate) mod generate;
pub(crate) mod made;
pub(crate) mod mutate;
pub(crate) mod search;

use std::collections::BTreeMap;

use exhibit::history::{Call, History, Process, Snapshot};
use exhibit::ledger::{
    Ask, Bound, Caller, EffectIds, Form, Mode, Model, Observation, Observed, Operation, OperationState, Outcome,
    Refusal, Stage, Told, Write,
};

/// What the oracle says of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Found {
    /// Some order explains it.
    pub(crate) explained: bool,
    /// For each write whose reply is lost or not recognized: whether some order explains the history with its effect, and
    /// whether one does without.
    pub(crate) effects: BTreeMap<usize, (bool, bool)>,
}

/// What the oracle says of a history.
pub(crate) fn oracle(history: &History) -> Found {
    search::every_order(history, true)
}

// ---- calls ----

pub(crate) fn process<'a>(history: &'a History, call: &Call) -> &'a Process {
    &history.processes[call.process as usize]
}

/// The reply, where it says anything.
pub(crate) fn told(call: &Call) -> Option<&Told> {
    call.told.as_ref().filter(|told| !matches!(told, Told::Unrecognized))
}

pub(crate) fn caller<'a>(history: &'a History, call: &Call) -> Caller<'a> {
    let process = process(history, call);
    let now = process.clock.expect("the oracle knows every clock");
    Caller { principal: &process.principal, backend: &process.backend, now }
}

/// The backends that the store may be bound to.
pub(crate) fn backends(history: &History) -> Vec<String> {
    if let Some(backend) = history.end.as_ref().and_then(|end| end.rows.backend.clone()) {
        return vec![backend];
    }
    let mut all: Vec<String> = history.processes.iter().map(|process| process.backend.to_string()).collect();
    all.sort();
    all.dedup();
    all
}

// ---- order ----

/// Whether all that `a` does at the ledger comes before all that `b` does there.
pub(crate) fn comes_before(history: &History, a: &Call, b: &Call) -> bool {
    if process(history, a).phase < process(history, b).phase {
        return true;
    }
    // A reply that isn't recognized bounds nothing, as if it were lost.
    let received = told(a).and(a.received);
    let read_before = received.is_some_and(|received| received < b.sent);
    if !history.is_ordered {
        return read_before && a.connection == b.connection;
    }
    let ended_before = process(history, a).ended.is_some_and(|ended| ended < b.sent);
    read_before || ended_before
}

// ---- what stands before the ledger ----

/// The state's check refuses the write.
fn is_barred(history: &History, call: &Call, write: &Write) -> bool {
    let now = caller(history, call).now;
    let expired = write.timing.and_then(|timing| timing.state_expires_at).is_some_and(|at| now >= at);
    write.parts.state.altered || is_foreign(history, call, write).is_some() || expired
}

#[derive(PartialEq, Eq)]
enum Foreign {
    Principal,
    Operation,
}

fn is_foreign(history: &History, call: &Call, write: &Write) -> Option<Foreign> {
    let first = &history.calls[write.parts.state.issued? as usize];
    let Ask::FirstRound { operation } = &first.ask else { panic!("only a first round issues a state here") };
    if process(history, first).principal != process(history, call).principal {
        Some(Foreign::Principal)
    } else if *operation != write.operation {
        Some(Foreign::Operation)
    } else {
        None
    }
}

/// Whether the ledger is asked at all.
pub(crate) fn reaches_ledger(history: &History, call: &Call) -> bool {
    match &call.ask {
        Ask::Status { .. } => true,
        Ask::Write(write) => write.form == Form::Sound && !is_barred(history, call, write),
        Ask::FirstRound { .. } | Ask::Other => false,
    }
}

/// Whether the reply may be given without asking the ledger.
pub(crate) fn is_given_before_ledger(history: &History, call: &Call, told: &Told) -> bool {
    let write = match &call.ask {
        Ask::Other => return true,
        Ask::FirstRound { .. } => return matches!(told, Told::InputRequired { .. }),
        Ask::Status { .. } => return false,
        Ask::Write(write) => write,
    };
    let has_state = write.form != Form::WithoutState;
    if *told == Told::StateRejected {
        return has_state && (history.binds_arguments || is_barred(history, call, write));
    }
    let late =
        write.timing.and_then(|timing| timing.authority_expires_at).is_some_and(|at| caller(history, call).now >= at);
    match write.form {
        Form::Sound => {
            *told == Told::Refused(Refusal::OtherOperation)
                && is_foreign(history, call, write) == Some(Foreign::Operation)
        }
        Form::WithoutState | Form::WithoutResponses => *told == Told::Refused(Refusal::Unsupported),
        Form::NotAccepted => *told == Told::Refused(Refusal::NotAccepted),
        Form::WithoutAnswer if late => *told == Told::Refused(Refusal::AuthorityExpired),
        Form::WithoutAnswer => matches!(told, Told::InputRequired { .. }),
    }
}

// ---- what the ledger tells ----

/// What a complete row is told as.
pub(crate) fn effect(operation: &str, row: &Bound, replayed: bool) -> Told {
    Told::Effect(Outcome {
        operation: operation.into(),
        effect: row.effect,
        result: row.result().expect("a complete row has a result").into(),
        replayed,
        state: row.stage.observed(),
    })
}

/// Whether the observation is the one that a ledger in this state gives.
pub(crate) fn is_observed(caller: Caller<'_>, operation: &str, model: &Model, seen: &Observation) -> bool {
    let is = |value: &Option<Box<str>>, wanted: &str| value.as_deref() == Some(wanted);
    let own = |operation_seen, principal, backend| {
        is(operation_seen, operation) && is(principal, caller.principal) && is(backend, caller.backend)
    };
    let (state, ids, result) = match model.status(caller, operation) {
        Some(row) => (row.stage.observed(), vec![i64::try_from(row.effect).expect("ids are small")], row.result()),
        None => (Observed::Unknown, Vec::new(), None),
    };
    own(&seen.operation, &seen.principal, &seen.backend)
        && seen.binding.as_ref().is_none_or(|bound| own(&bound.operation, &bound.principal, &bound.backend))
        && seen.authoritative == Some(true)
        && seen.fresh_write_authorized == Some(false)
        && seen.scope.as_ref().is_some_and(|scope| !scope.trim().is_empty())
        && seen.state == Some(state)
        && seen.ids == Some(ids)
        && seen.result == Some(result.map(Into::into))
}

// ---- ids ----

/// The ids that a commit may get. Of ids that nothing in the history mentions one is enough, the least: nothing tells
/// them apart but that later ones are greater, and the least leaves all others to later commits.
pub(crate) fn ids(history: &History, mentioned: &[u64], model: &Model) -> Vec<u64> {
    let is_free = |id: u64| match history.ids {
        EffectIds::Dense => id == model.last + 1,
        EffectIds::Increasing => id > model.last,
        EffectIds::Opaque => model.rows.values().all(|row| row.effect != id),
    };
    // Beyond the greatest, as many as are mentioned can be taken, and then one is free.
    let end = model.last + u64::try_from(mentioned.len()).expect("few ids") + 1;
    let unmentioned = (1..=end).find(|id| is_free(*id) && (history.ids == EffectIds::Dense || !mentioned.contains(id)));
    let mut all: Vec<u64> = mentioned.iter().copied().filter(|id| is_free(*id)).chain(unmentioned).collect();
    all.dedup();
    all
}

/// The ids that replies and rows mention.
pub(crate) fn mentioned(history: &History) -> Vec<u64> {
    let mut all = Vec::new();
    for call in &history.calls {
        match told(call) {
            Some(Told::Effect(outcome)) => all.push(outcome.effect),
            Some(Told::Status(seen)) => all.extend(seen.ids.iter().flatten().filter_map(|id| u64::try_from(*id).ok())),
            _ => {}
        }
    }
    if let Some(end) = &history.end {
        let effects = end.rows.operations.iter().filter_map(|row| row.effect);
        all.extend(effects.chain(end.rows.issues.iter().map(|issue| issue.id)).filter_map(|id| u64::try_from(id).ok()));
    }
    all.retain(|id| *id > 0);
    all.sort_unstable();
    all.dedup();
    all
}

// ---- the end ----

/// A row as a database shows it.
pub(crate) fn row(model: &Model, operation: &str, bound: &Bound) -> Operation {
    let state = match bound.stage {
        Stage::Applied => OperationState::Applied,
        Stage::Partial { .. } => OperationState::Partial,
        Stage::Begun | Stage::WatcherAttempted | Stage::WatcherFailed | Stage::RollbackAttempted => {
            OperationState::InProgress
        }
    };
    let timing = bound.timing.expect("the oracle knows all timing");
    Operation {
        operation: operation.into(),
        principal: bound.principal.to_string(),
        backend: model.backend.to_string(),
        fingerprint: None,
        state: Some(state),
        effect: Some(i64::try_from(bound.effect).expect("ids are small")),
        result: bound.result(),
        issued_at: Some(timing.issued_at),
        authority_expires_at: timing.authority_expires_at,
        replay_expires_at: timing.replay_expires_at,
    }
}

/// Whether a ledger that ends so can be seen so. A final snapshot shows it as it is. Another one shows some of its rows,
/// and these as they are or when they were not complete.
pub(crate) fn is_end(model: &Model, end: &Snapshot) -> bool {
    let rows: Vec<Operation> = model.rows.iter().map(|(operation, bound)| row(model, operation, bound)).collect();
    let seen = &end.rows.operations;
    let mut effects: Vec<i64> = seen.iter().filter_map(|row| row.effect).collect();
    effects.sort_unstable();
    if !end.rows.issues.iter().map(|issue| issue.id).eq(effects) {
        return false;
    }
    if end.is_final {
        return *seen == rows;
    }
    let earlier = |row: &Operation| Operation { state: Some(OperationState::InProgress), result: None, ..row.clone() };
    let has_steps = |row: &Operation| model.rows.get(&*row.operation).is_some_and(|bound| bound.mode == Mode::Partial);
    let twice = seen.windows(2).any(|pair| pair[0].operation == pair[1].operation);
    !twice && seen.iter().all(|seen| rows.iter().any(|row| row == seen || (has_steps(row) && earlier(row) == *seen)))
}
