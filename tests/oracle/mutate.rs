//! Lies in honest histories: one thing of a history is changed, so that a ledger may or may not have given it.

use exhibit::history::{Call, History};
use exhibit::ledger::{Ask, EffectIds, Form, Observed, OperationState, Outcome, Refusal, Told};

use super::generate::{Random, honest, in_order, with_steps};
use super::made::observation;
use super::process;

/// The history of a seed: a quarter of them honest, the others with up to four lies.
pub(crate) fn history(seed: u64) -> History {
    let random = &mut Random::new(seed);
    let mut history = honest(random);
    if random.one_in(4) {
        return history;
    }
    for _ in 0..=random.below(4) {
        mutate(random, &mut history);
    }
    if let Some(end) = &mut history.end {
        end.rows = with_steps(end.rows.clone());
    }
    in_order(history)
}

fn mutate(random: &mut Random, history: &mut History) {
    if history.calls.is_empty() {
        return;
    }
    match random.below(12) {
        0..=3 => reply(random, history),
        4 => exchange(random, history),
        5 => narrow(random, history),
        6 => (0..6).for_each(|_| narrow(random, history)),
        7 => lose(random, history),
        8 => reveal(random, history),
        9 => end_earlier(random, history),
        10 => history.ids = random.pick(&[EffectIds::Dense, EffectIds::Increasing, EffectIds::Opaque]),
        _ => row(random, history),
    }
}

fn any_call(random: &mut Random, history: &History, is: impl Fn(&Call) -> bool) -> Option<usize> {
    let all: Vec<usize> = (0..history.calls.len()).filter(|at| is(&history.calls[*at])).collect();
    if all.is_empty() { None } else { Some(random.pick(&all)) }
}

fn is_matter(call: &Call) -> bool {
    matches!(call.ask, Ask::Write(_) | Ask::Status { .. })
}

/// A reply says something else.
fn reply(random: &mut Random, history: &mut History) {
    let Some(at) = any_call(random, history, |call| is_matter(call) && super::told(call).is_some()) else { return };
    let told = history.calls[at].told.clone();
    let told = match told {
        Some(Told::Effect(outcome)) if !random.one_in(3) => Told::Effect(other_effect(random, outcome)),
        Some(Told::Status(seen)) if random.one_in(6) => {
            let mut seen = seen.clone();
            match random.below(6) {
                0 => seen.authoritative = random.pick(&[Some(false), None]),
                1 => seen.fresh_write_authorized = random.pick(&[Some(true), None]),
                2 => seen.principal = Some("bob".into()),
                3 => seen.operation = random.pick(&[Some("x".into()), None]),
                4 => seen.binding = None,
                _ => seen.state = Some(Observed::NotApplied),
            }
            Told::Status(seen)
        }
        _ => some_reply(random, history, at),
    };
    history.calls[at].told = Some(told);
}

fn other_effect(random: &mut Random, mut outcome: Outcome) -> Outcome {
    let id = 1 + u64::try_from(random.below(4)).expect("it fits");
    let old = outcome.effect;
    match random.below(6) {
        0 | 1 => outcome.replayed = !outcome.replayed,
        2 => outcome.effect = id,
        3 | 4 => {
            outcome.effect = id;
            outcome.result = outcome.result.replace(&old.to_string(), &id.to_string()).into();
        }
        _ => {
            let texts = [
                format!("created {old}"),
                format!("created {old} with watcher"),
                format!("partial {old}; watcher failed; rollback failed"),
                format!("partial {old}; watcher failed; rollback succeeded"),
            ];
            let at = random.below(4);
            outcome.state = if at < 2 { Observed::Applied } else { Observed::Partial };
            outcome.result = texts[at].as_str().into();
        }
    }
    outcome
}

/// Some reply that would fit the request.
fn some_reply(random: &mut Random, history: &History, at: usize) -> Told {
    let call = &history.calls[at];
    let effect = 1 + u64::try_from(random.below(3)).expect("it fits");
    let created = format!("created {effect}");
    match &call.ask {
        Ask::Status { operation } => {
            let id = i64::try_from(effect).expect("ids are small");
            let shown = random.one_in(2).then_some((Observed::Applied, id, created.as_str()));
            let process = process(history, call);
            Told::Status(Box::new(observation(operation, &process.principal, &process.backend, shown)))
        }
        Ask::Write(write) => match random.below(9) {
            0 => Told::Refused(Refusal::AuthorityExpired),
            1 => Told::Refused(Refusal::RetentionExpired),
            2 => Told::Refused(Refusal::InProgress),
            3 if random.one_in(3) => Told::Refused(Refusal::Timing),
            4 if write.form == Form::Sound && random.one_in(2) => Told::StateRejected,
            5..=7 => {
                let (operation, result) = (write.operation.clone(), created.into());
                let replayed = random.one_in(2);
                Told::Effect(Outcome { operation, effect, result, replayed, state: Observed::Applied })
            }
            _ => Told::Refused(Refusal::Conflict),
        },
        Ask::FirstRound { .. } => Told::InputRequired { token: None },
        Ask::Other => Told::Other,
    }
}

/// Two replies change places: of statuses, or of writes with all their parts. What exactly is told of a write without them
/// is the server's own.
fn exchange(random: &mut Random, history: &mut History) {
    let is_status = random.one_in(2);
    let is = |call: &Call| {
        let fits = match &call.ask {
            Ask::Status { .. } => is_status,
            Ask::Write(write) => !is_status && write.form == Form::Sound,
            Ask::FirstRound { .. } | Ask::Other => false,
        };
        super::told(call).is_some() && fits
    };
    let (Some(a), Some(b)) = (any_call(random, history, is), any_call(random, history, is)) else { return };
    let (first, second) = (history.calls[a].told.clone(), history.calls[b].told.clone());
    history.calls[a].told = second;
    history.calls[b].told = first;
}

/// A request is sent later, and its reply is read earlier.
fn narrow(random: &mut Random, history: &mut History) {
    let Some(at) = any_call(random, history, |call| super::told(call).is_some()) else { return };
    let call = &history.calls[at];
    let Some(received) = call.received else { return };
    let is_used = |at: u64| {
        history.calls.iter().any(|call| call.sent == at || call.received == Some(at))
            || history.processes.iter().any(|process| process.ended == Some(at))
    };
    let between: Vec<u64> = (call.sent..=received).filter(|at| !is_used(*at)).collect();
    if between.is_empty() {
        return;
    }
    let (a, b) = (random.pick(&between), random.pick(&between));
    if a != b {
        history.calls[at].sent = a.min(b);
        history.calls[at].received = Some(a.max(b));
    }
}

fn lose(random: &mut Random, history: &mut History) {
    let Some(at) = any_call(random, history, |call| is_matter(call) && super::told(call).is_some()) else { return };
    let call = &mut history.calls[at];
    call.told = None;
    call.received = None;
    call.reply = None;
}

/// A reply that isn't recognized says something.
fn reveal(random: &mut Random, history: &mut History) {
    let unrecognized = |call: &Call| is_matter(call) && call.told == Some(Told::Unrecognized);
    let Some(at) = any_call(random, history, unrecognized) else { return };
    let told = some_reply(random, history, at);
    history.calls[at].told = Some(told);
}

/// A process is seen to end right after its last frame.
fn end_earlier(random: &mut Random, history: &mut History) {
    let at = random.below(history.processes.len());
    let own = history.calls.iter().filter(|call| call.process as usize == at);
    let last = own.flat_map(|call| std::iter::once(call.sent).chain(call.received)).max();
    if let (true, Some(last)) = (history.is_ordered, last) {
        let free = (last + 1..).take(64).find(|at| {
            history.calls.iter().all(|call| call.sent != *at && call.received != Some(*at))
                && history.processes.iter().all(|process| process.ended != Some(*at))
        });
        history.processes[at].ended = free;
    }
}

/// The snapshot shows something else.
fn row(random: &mut Random, history: &mut History) {
    let Some(end) = &mut history.end else { return };
    let rows = &mut end.rows;
    if rows.operations.is_empty() {
        return;
    }
    let at = random.below(rows.operations.len());
    let id = 1 + i64::try_from(random.below(4)).expect("it fits");
    match random.below(8) {
        0..=2 => {
            let row = rows.operations.remove(at);
            rows.issues.retain(|issue| Some(issue.id) != row.effect);
        }
        3 if end.is_final => {
            rows.issues.pop();
        }
        4 => rows.operations[at].principal = "bob".into(),
        5 => {
            let row = &mut rows.operations[at];
            row.state = Some(OperationState::InProgress);
            row.result = None;
        }
        6 => rows.operations[at].issued_at = Some(99),
        _ if rows.operations.iter().all(|row| row.effect != Some(id)) => {
            let row = &mut rows.operations[at];
            let old = row.effect.unwrap_or(0);
            row.effect = Some(id);
            row.result = row.result.as_ref().map(|result| result.replace(&old.to_string(), &id.to_string()));
            rows.issues.iter_mut().filter(|issue| issue.id == old).for_each(|issue| issue.id = id);
            rows.issues.sort();
        }
        _ => end.is_final = !end.is_final,
    }
}
