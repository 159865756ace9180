//! Owns what each lost reply means: whether its write must have, may have or can't have taken effect.
//!
//! Refuses to choose where several could have: they are named together. Invariant: "must" and "can't" hold in every
//! solution.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::cell::{End, Sight};
use super::need::Need;
use super::problem::{Entry, Problem};
use super::solve::{Solution, solve};
use super::{Effect, Lost};
use crate::history::Call;
use crate::ledger::{Ask, Form, Told};

/// What could have become of an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Options {
    /// Calls that could have won; none stands for a row that was there before.
    pub(super) winners: Vec<Option<u32>>,
    /// It can have taken no effect.
    pub(super) can_lack: bool,
    /// Exactly one of the operations with this number took effect.
    pub(super) only: Option<usize>,
}

/// Whether a call is a write whose reply says nothing of its effect.
pub(super) fn is_lost(call: &Call) -> bool {
    matches!((&call.ask, &call.told), (Ask::Write(_), None | Some(Told::Unrecognized)))
}

/// Every lost write, in the order of calls.
pub(super) fn losses(problem: &Problem<'_>, solution: &Solution) -> Vec<Lost> {
    let mut gathered: BTreeMap<usize, Vec<u32>> = BTreeMap::new();
    for options in &solution.options {
        if let Some(number) = options.only {
            gathered.entry(number).or_default().extend(options.winners.iter().flatten());
        }
    }
    let none: Arc<[u32]> = Arc::from([]);
    let together: BTreeMap<usize, Arc<[u32]>> =
        gathered.into_iter().map(|(number, calls)| (number, calls.into())).collect();
    let mut losses = Vec::new();
    for (entry, options) in problem.entries.iter().zip(&solution.options) {
        let group = options.only.and_then(|number| together.get(&number)).unwrap_or(&none);
        let mut candidates: Vec<u32> = options.winners.iter().flatten().copied().collect();
        candidates.sort_unstable();
        let candidates: Arc<[u32]> = candidates.into();
        for seen in entry.seen.iter().filter(|seen| is_lost(seen.call)) {
            losses.push(loss(problem, entry, options, [&candidates, group], seen.number));
        }
    }
    // Those that could not reach the ledger at all are of no operation.
    let unable = (0_u32..).zip(&problem.history.calls).filter(|(_, call)| is_lost(call));
    let mut known: Vec<u32> = losses.iter().map(|lost| lost.call).collect();
    known.sort_unstable();
    for (number, call) in unable.filter(|(number, _)| known.binary_search(number).is_err()) {
        losses.push(cannot(number, Vec::new(), unable_because(call)));
    }
    losses.sort_by_key(|lost| lost.call);
    losses
}

fn cannot(call: u32, proof: Vec<u32>, why: impl Into<String>) -> Lost {
    Lost { call, effect: Effect::Cannot, one_of: Arc::from([]), proof, why: why.into() }
}

fn unable_because(call: &Call) -> &'static str {
    match &call.ask {
        Ask::Write(write) => match write.form {
            Form::WithoutState => "it carries no state, so the ledger is never asked",
            Form::WithoutResponses => "it carries no answers, so the ledger is never asked",
            Form::WithoutAnswer => "it lacks the answer that was asked for, so the ledger is never asked",
            Form::NotAccepted => "its answer was not accepted, so the ledger is never asked",
            Form::Sound => "its state or a deadline had it refused, whatever the ledger held",
        },
        Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => "it is no write",
    }
}

fn loss(
    problem: &Problem<'_>,
    entry: &Entry<'_>,
    options: &Options,
    [candidates, together]: [&Arc<[u32]>; 2],
    call: u32,
) -> Lost {
    let has_prior = options.winners.contains(&None);
    if candidates.binary_search(&call).is_err() {
        let (proof, why) = excluded(problem, entry, options, call);
        return cannot(call, proof, why);
    }
    let evidence = evidence(entry);
    match (options.can_lack, &**candidates, has_prior) {
        (false, [_], false) => {
            let why = match (evidence.is_empty(), entry.end) {
                (false, _) => "the operation took effect, and no other call can have done it",
                (true, End::Row { .. }) => "the database holds its row, and no other call can have left it",
                (true, End::Open | End::Absent) => {
                    "an effect id is missing between others, and no other call can have taken it"
                }
            };
            Lost { call, effect: Effect::Must, one_of: Arc::from([]), proof: evidence, why: why.to_owned() }
        }
        (false, _, false) => {
            let why = "exactly one of these calls took effect, and nothing tells which";
            Lost { call, effect: Effect::May, one_of: Arc::clone(candidates), proof: evidence, why: why.to_owned() }
        }
        (false, _, true) => {
            let why = "the operation took effect, by this call or before the history begins";
            Lost { call, effect: Effect::May, one_of: Arc::from([]), proof: evidence, why: why.to_owned() }
        }
        (true, _, _) if together.len() > 1 => {
            let why = "exactly one of these calls took the effect id that is missing between others";
            Lost { call, effect: Effect::May, one_of: Arc::clone(together), proof: Vec::new(), why: why.to_owned() }
        }
        (true, _, _) => {
            let why = match entry.end {
                End::Open if problem.history.end.is_some() => {
                    "no reply tells of its effect; it is not in the database, which may have been read too early"
                }
                End::Open | End::Absent | End::Row { .. } => {
                    "no reply tells of its effect, and no database shows the end"
                }
            };
            Lost { call, effect: Effect::May, one_of: Arc::from([]), proof: Vec::new(), why: why.to_owned() }
        }
    }
}

/// The first reply that shows that the operation took effect.
fn evidence(entry: &Entry<'_>) -> Vec<u32> {
    let shows = |need: Need| match need {
        Need::First | Need::Stored | Need::Same | Need::Other | Need::Begun | Need::Terminal => true,
        Need::Nothing | Need::AbsentOrSame | Need::Absent | Need::NotTerminal | Need::Never(_) => false,
    };
    entry.seen.iter().filter(|seen| shows(seen.demand.need)).map(|seen| seen.number).take(1).collect()
}

/// Why a call can't have won: the database, the call that did, or one reply that alone excludes it.
fn excluded(problem: &Problem<'_>, entry: &Entry<'_>, options: &Options, call: u32) -> (Vec<u32>, &'static str) {
    let seen = entry.seen.iter().find(|seen| seen.number == call);
    if let (End::Absent, Some(_)) = (entry.end, seen) {
        return (
            Vec::new(),
            "the database was read after the last writer had ended, and holds no row of the operation",
        );
    }
    if let Some(first) = entry.seen.iter().find(|seen| seen.demand.need == Need::First) {
        return (vec![first.number], "another call was told that it took effect first");
    }
    let replies: Vec<u32> =
        entry.seen.iter().filter(|seen| seen.demand.need != Need::Nothing).map(|seen| seen.number).collect();
    if replies.len() <= MAX_PROOFS {
        for reply in &replies {
            if excludes(problem, entry, *reply, call) {
                return (vec![*reply], "this reply excludes it: the request differs, or it was told before or after");
            }
        }
    }
    match (options.winners.as_slice(), entry.end) {
        ([Some(other)], _) => (vec![*other], "only another call can have taken effect"),
        (_, End::Row { .. }) => (replies, "the row in the database is not what it would have left"),
        (_, _) => (replies, "no order of these replies leaves room for it"),
    }
}

/// Replies that are tried, one by one, as the proof that a call took no effect.
const MAX_PROOFS: usize = 64;

/// Whether with only this reply, and this call as the winner, there is no solution.
fn excludes(problem: &Problem<'_>, entry: &Entry<'_>, reply: u32, call: u32) -> bool {
    let part: Vec<_> = entry.seen.iter().filter(|seen| seen.number == reply || seen.number == call).copied().collect();
    let one = Entry { operation: entry.operation, seen: part, end: End::Open };
    let alone = Problem { entries: vec![one], ids: crate::ledger::EffectIds::Opaque, ..problem.clone_empty() };
    match solve(&alone, Sight::Lenient, true) {
        Err(_) => true,
        Ok(solution) => solution.options.first().is_some_and(|options| !options.winners.contains(&Some(call))),
    }
}
