//! Holds a decider against the oracle: verdict, and what became of each lost write. A disagreement is shrunk and shown.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use exhibit::history::{Call, History};
use exhibit::ledger::{Ask, Told, Write};
use exhibit::replay::{Class, Decision, Effect, Verdict};

use super::{Found, oracle};

/// How often what came out.
pub(crate) type Counts = BTreeMap<String, u64>;

/// Compares on the histories of these seeds; shows the first disagreement.
pub(crate) fn compare(
    seeds: impl Iterator<Item = u64>,
    history: impl Fn(u64) -> History,
    decide: impl Fn(&History) -> Decision,
) -> Result<Counts, String> {
    let mut counts = Counts::new();
    for seed in seeds {
        let history = history(seed);
        let found = oracle(&history);
        let decision = decide(&history);
        if disagreement(&found, &decision).is_some() {
            let small = shrink(history, &|history| disagreement(&oracle(history), &decide(history)).is_some());
            let (found, decision) = (oracle(&small), decide(&small));
            let what = disagreement(&found, &decision).unwrap_or_default();
            return Err(format!("seed {seed}: {what}\n{}oracle: {found:?}\n{decision:#?}", show(&small)));
        }
        count(&mut counts, &decision);
    }
    Ok(counts)
}

fn count(counts: &mut Counts, decision: &Decision) {
    let verdict = match decision.verdict {
        Verdict::Explained { .. } => "explained",
        Verdict::Contradicted(_) => "contradicted",
        Verdict::Undecided { .. } => "undecided",
    };
    *counts.entry(format!("{:?} {verdict}", decision.class)).or_default() += 1;
    if verdict == "explained" {
        for lost in &decision.lost {
            *counts.entry(format!("{:?} {:?}", decision.class, lost.effect)).or_default() += 1;
        }
    }
}

/// What a decider says otherwise than the oracle.
pub(crate) fn disagreement(found: &Found, decision: &Decision) -> Option<String> {
    let is_explained = match &decision.verdict {
        Verdict::Explained { .. } => true,
        Verdict::Contradicted(reasons) if reasons.is_empty() => return Some("contradicted for no reason".to_owned()),
        Verdict::Contradicted(_) => false,
        Verdict::Undecided { .. } if decision.class == Class::Searched => return None,
        Verdict::Undecided { missing } => return Some(format!("undecided, though nothing is missing: {missing:?}")),
    };
    if is_explained != found.explained {
        return Some(format!("explained: oracle {}, decider {is_explained}", found.explained));
    }
    if !is_explained {
        return None;
    }
    let wanted: Vec<(usize, Effect)> = found.effects.iter().map(|(at, can)| (*at, effect(*can))).collect();
    let given: Vec<(usize, Effect)> = decision.lost.iter().map(|lost| (lost.call as usize, lost.effect)).collect();
    (wanted != given).then(|| format!("lost: oracle {wanted:?}, decider {given:?}"))
}

fn effect(can: (bool, bool)) -> Effect {
    match can {
        (true, true) => Effect::May,
        (true, false) => Effect::Must,
        (false, _) => Effect::Cannot,
    }
}

// ---- shrinking ----

/// Leaves out whatever can be left out while it still fails.
pub(crate) fn shrink(mut history: History, fails: &dyn Fn(&History) -> bool) -> History {
    loop {
        let smaller = (0..history.calls.len()).filter_map(|at| without(&history, at));
        let bare = History { end: None, ..history.clone() };
        let unended = |at: usize| {
            let mut next = history.clone();
            next.processes[at].ended = None;
            next
        };
        let ended = (0..history.processes.len()).filter(|at| history.processes[*at].ended.is_some()).map(unended);
        let fewer: Vec<History> = smaller
            .chain(history.end.is_some().then_some(bare))
            .chain(ended)
            .filter(|next| fails(next))
            .take(1)
            .collect();
        match fewer.into_iter().next() {
            Some(next) => history = next,
            None => return history,
        }
    }
}

/// Without a call, unless another one needs its token.
fn without(history: &History, at: usize) -> Option<History> {
    let mut history = history.clone();
    history.calls.remove(at);
    for call in &mut history.calls {
        let Ask::Write(write) = &mut call.ask else { continue };
        if let Some(issued) = &mut write.parts.state.issued {
            if *issued as usize == at {
                return None;
            }
            if *issued as usize > at {
                *issued -= 1;
            }
        }
    }
    Some(history)
}

// ---- showing ----

/// A history, a line for each thing.
pub(crate) fn show(history: &History) -> String {
    let mut out = String::new();
    let order = if history.is_ordered { "ordered" } else { "unordered" };
    let binds = if history.binds_arguments { ", binds arguments" } else { "" };
    let _ = writeln!(out, "{order}, {:?}{binds}", history.ids);
    for (at, process) in history.processes.iter().enumerate() {
        let _ = write!(out, "process {at}: phase {} {} {}", process.phase, process.principal, process.backend);
        let _ = writeln!(out, " clock {:?} ended {:?}", process.clock, process.ended);
    }
    for (at, call) in history.calls.iter().enumerate() {
        let received = call.received.map_or("-".to_owned(), |at| at.to_string());
        let _ = write!(out, "call {at}: process {} connection {}", call.process, call.connection);
        let _ = writeln!(out, " [{}, {received}] {} -> {}", call.sent, asked(call), told(call));
    }
    if let Some(end) = &history.end {
        let _ = writeln!(
            out,
            "end, final: {}, issues {:?}",
            end.is_final,
            end.rows.issues.iter().map(|i| i.id).collect::<Vec<_>>()
        );
        end.rows.operations.iter().for_each(|row| {
            let _ = writeln!(out, "  {row:?}");
        });
    }
    out
}

fn asked(call: &Call) -> String {
    match &call.ask {
        Ask::FirstRound { operation } => format!("first {operation}"),
        Ask::Status { operation } => format!("status {operation}"),
        Ask::Other => "other".to_owned(),
        Ask::Write(Write { operation, form, mode, parts, timing }) => {
            let state = parts.state;
            let issued = state.issued.map_or("nobody".to_owned(), |at| format!("call {at}"));
            let altered = if state.altered { " altered" } else { "" };
            let times = timing.map_or("none".to_owned(), |timing| {
                let until = |at: Option<i64>| at.map_or("-".to_owned(), |at| at.to_string());
                let (authority, replay) = (until(timing.authority_expires_at), until(timing.replay_expires_at));
                format!("{} a{authority} r{replay} s{}", timing.issued_at, until(timing.state_expires_at))
            });
            let (arguments, responses) = (parts.arguments, parts.responses);
            format!(
                "write {operation} {form:?} {mode:?} arguments {arguments} answer {responses} token {} of {issued}{altered} ({times})",
                state.token
            )
        }
    }
}

fn told(call: &Call) -> String {
    match &call.told {
        None => "lost".to_owned(),
        Some(Told::Effect(outcome)) => {
            let replayed = if outcome.replayed { " replayed" } else { "" };
            format!("{} {} {:?} {:?}{replayed}", outcome.operation, outcome.effect, outcome.result, outcome.state)
        }
        Some(Told::Status(seen)) => {
            let identity = (&seen.operation, &seen.principal, &seen.backend);
            let flags = (seen.authoritative, seen.fresh_write_authorized, seen.binding.is_some());
            format!("{:?} {:?} {:?} {identity:?} {flags:?}", seen.state, seen.ids, seen.result)
        }
        Some(told) => format!("{told:?}"),
    }
}
