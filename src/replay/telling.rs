//! Owns the words for contradictions: the rule, what was told, and what could have been.
//!
//! Refuses nothing. Invariant: one sentence, with the ids that it is about; names are shown escaped.

use super::Contradiction;
use super::cell::{End, Seen};
use super::ids::Clash;
use super::need::Need;
use super::problem::{Entry, Problem};
use crate::finding::Code;
use crate::ledger::{Ask, Observed, Operation, OperationState, Refusal, Told};
use crate::name::escape;

/// The smallest set of replies that can't be explained, in their order, and the operations that they are about.
pub(super) struct Shown<'p, 'h> {
    pub(super) problem: &'p Problem<'h>,
    pub(super) entries: &'p [usize],
    pub(super) seen: &'p [Seen<'h>],
}

fn name(operation: &str) -> String {
    format!("operation {}", escape(operation.as_bytes()))
}

fn operation_of<'h>(seen: &Seen<'h>) -> &'h str {
    match &seen.call.ask {
        Ask::FirstRound { operation } | Ask::Status { operation } => operation,
        Ask::Write(write) => &write.operation,
        Ask::Other => "",
    }
}

/// What a reply tells, in a few words.
pub fn told(told: Option<&Told>) -> String {
    match told {
        None => "no reply".to_owned(),
        Some(Told::InputRequired { .. }) => "input required".to_owned(),
        Some(Told::Effect(outcome)) => {
            let state = match outcome.state {
                Observed::Applied => "applied",
                Observed::Partial => "partial",
                Observed::Unknown => "unknown",
                Observed::NotApplied => "not applied",
            };
            let when = if outcome.replayed { "again (replayed)" } else { "for the first time" };
            format!("{state} {when}, effect {}, result \"{}\"", outcome.effect, escape(outcome.result.as_bytes()))
        }
        Some(Told::Refused(refusal)) => refused(*refusal).to_owned(),
        Some(Told::StateRejected) => "state rejected".to_owned(),
        Some(Told::Status(seen)) => {
            let state = match seen.state {
                Some(Observed::Applied) => "applied",
                Some(Observed::Partial) => "partial",
                Some(Observed::Unknown) => "unknown",
                Some(Observed::NotApplied) => "not applied",
                None => "none that is known",
            };
            let ids = seen.ids.as_deref().unwrap_or_default();
            let ids = if ids.is_empty() { String::new() } else { format!(", effect ids {ids:?}") };
            let fresh = if seen.fresh_write_authorized == Some(true) { ", a fresh write authorized" } else { "" };
            format!("status {state}{ids}{fresh}")
        }
        Some(Told::Other) => "a reply that is no matter of the ledger".to_owned(),
        Some(Told::Unrecognized) => "a reply that the dialect does not know".to_owned(),
    }
}

fn refused(refusal: Refusal) -> &'static str {
    match refusal {
        Refusal::Conflict => "conflict",
        Refusal::AuthorityExpired => "authority expired",
        Refusal::RetentionExpired => "retention expired",
        Refusal::InProgress => "in progress",
        Refusal::Timing => "deadlines that make no sense",
        Refusal::Unsupported => "unsupported continuation",
        Refusal::NotAccepted => "answer not accepted",
        Refusal::OtherOperation => "state of another operation",
    }
}

/// The rule that a reply breaks that nothing explains.
fn code_of(shown: &Shown<'_, '_>, last: &Seen<'_>) -> Code {
    let spans_several = shown.seen.iter().any(|seen| operation_of(seen) != operation_of(last));
    match last.demand.need {
        Need::Never(code) => code,
        // Whichever of the two came first: the operation was known and unknown.
        _ if tells_unknown(shown) => Code::ReplayStatusUnknown,
        _ if spans_several => Code::ReplayEffect,
        Need::Terminal => Code::ReplayStatusEffect,
        Need::First => Code::ReplaySecond,
        Need::Stored => Code::ReplayStored,
        Need::Other => Code::ReplayConflict,
        Need::Begun => Code::ReplayProgress,
        Need::Absent | Need::AbsentOrSame | Need::Same | Need::Nothing | Need::NotTerminal => Code::ReplayAbsent,
    }
}

/// Whether a status that knows nothing is among what shows a contradiction.
fn tells_unknown(shown: &Shown<'_, '_>) -> bool {
    shown.seen.iter().any(|seen| seen.demand.need == Need::NotTerminal)
}

/// What was told before, of the replies that show a contradiction.
fn others(shown: &Shown<'_, '_>, last: &Seen<'_>) -> String {
    let one = |seen: &&Seen<'_>| {
        let of = operation_of(seen);
        let name = if of == operation_of(last) { String::new() } else { format!(" of {}", name(of)) };
        format!("a reply before it{name} told: {}", told(seen.told))
    };
    let before: Vec<String> =
        shown.seen.iter().filter(|seen| seen.number != last.number).map(|seen| one(&seen)).collect();
    match before.as_slice() {
        [] => String::new(),
        [one] => format!("; {one}"),
        [first, rest @ ..] => format!("; {first}, and {} more", rest.len()),
    }
}

/// What is said of a reply, before and after the operation's name.
const TOLD: &[(Code, &str, &str)] = &[
    (Code::ReplaySecond, "", "was told applied for the first time, which nothing explains"),
    (Code::ReplayStored, "", "was told its stored result again, which nothing explains for this request"),
    (Code::ReplayConflict, "", "was told to be in conflict, and nothing explains a difference"),
    (Code::ReplayProgress, "", "was told to be in progress when it can't have been"),
    (Code::ReplayStatusEffect, "the status of ", "tells an effect that nothing explains"),
    (Code::ReplayStatusUnknown, "the status of ", "is unknown when it must be known"),
    (Code::ReplayAbsent, "", "was refused as if it were not bound, when it was"),
    (Code::ReplayEffect, "", "was told an effect id that fits no order of commits"),
    (Code::ReplayReply, "", "got a reply of a kind that its request can't get"),
    (Code::ReplayState, "the state sent for ", "had to be judged otherwise before the ledger was asked"),
    (Code::ReplayResult, "", "was told a result that doesn't name its own effect in the form of its mode"),
    (Code::ReplayDeadline, "", "was answered against its deadlines by the clock of the process"),
    (Code::ReplayFreshWrite, "the status of ", "authorizes a fresh write"),
    (Code::ReplayStatusIdentity, "the status of ", "is of another operation, principal or backend"),
    (Code::ReplayStatusForm, "the status of ", "is none that a correct consumer accepts"),
];

/// A reply that nothing explains. `could` says whether one of another kind could be.
pub(super) fn reply(shown: &Shown<'_, '_>, could: &dyn Fn(Need) -> bool) -> Contradiction {
    let Some(last) = shown.seen.last() else { return row(shown) };
    let code = code_of(shown, last);
    let about = name(operation_of(last));
    let told_of_it = told(last.told);
    let message = match TOLD.iter().find(|(known, _, _)| *known == code) {
        Some((_, before, after)) => format!("{before}{about} {after}{}", others(shown, last)),
        None => format!("{about} was told {told_of_it}, which nothing explains"),
    };
    Contradiction {
        code,
        call: Some(last.number),
        shown_by: shown.seen.iter().map(|seen| seen.number).collect(),
        message,
        expected: expected(last, could),
        observed: told_of_it,
    }
}

/// What a reply could have been.
fn expected(last: &Seen<'_>, could: &dyn Fn(Need) -> bool) -> String {
    let kinds: &[(Need, &str)] = match &last.call.ask {
        Ask::Write(_) => &[
            (Need::First, "applied for the first time"),
            (Need::Stored, "the stored result again"),
            (Need::Other, "conflict"),
            (Need::Begun, "in progress"),
        ],
        Ask::Status { .. } => &[(Need::Terminal, "status of its effect"), (Need::NotTerminal, "status unknown")],
        Ask::FirstRound { .. } => return "input required".to_owned(),
        Ask::Other => return String::new(),
    };
    if let Need::Never(Code::ReplayState) = last.demand.need {
        let rejected = matches!(last.told, Some(Told::StateRejected | Told::Refused(Refusal::OtherOperation)));
        return if rejected { "an answer of the ledger" } else { "state rejected" }.to_owned();
    }
    let fitting: Vec<&str> = kinds.iter().filter(|(need, _)| could(*need)).map(|(_, words)| *words).collect();
    if fitting.is_empty() { "none of the kinds of replies".to_owned() } else { fitting.join(", or ") }
}

/// A row that no order of the replies leaves, or one that is missing.
pub(super) fn row(shown: &Shown<'_, '_>) -> Contradiction {
    let entry = shown.entries.iter().find_map(|number| shown.problem.entries.get(*number));
    let about = name(entry.map_or("", |entry| entry.operation));
    let (message, observed) = match entry.map(|entry| entry.end) {
        Some(End::Row { row, .. }) => {
            (format!("the row of {about} is not what these calls leave{}", before(shown)), row_words(row))
        }
        Some(End::Absent | End::Open) | None => (
            format!("{about} took effect, and the database at the end has no row of it{}", before(shown)),
            "no row".to_owned(),
        ),
    };
    let expected = match shown.seen.last() {
        Some(last) => format!("a row that fits: {}", told(last.told)),
        None => "no row, as no call can have left it".to_owned(),
    };
    let shown_by = shown.seen.iter().map(|seen| seen.number).collect();
    let code = if tells_unknown(shown) { Code::ReplayStatusUnknown } else { Code::ReplayRow };
    Contradiction { code, call: None, shown_by, message, expected, observed }
}

fn before(shown: &Shown<'_, '_>) -> String {
    shown.seen.first().map_or_else(String::new, |seen| format!("; a reply told: {}", told(seen.told)))
}

fn row_words(row: &Operation) -> String {
    let state = match row.state {
        Some(OperationState::InProgress) => "in progress",
        Some(OperationState::Applied) => "applied",
        Some(OperationState::Partial) => "partial",
        None => "of no known state",
    };
    let effect = row.effect.map_or_else(|| "no effect".to_owned(), |id| format!("effect {id}"));
    let result = row
        .result
        .as_deref()
        .map_or_else(|| "no result".to_owned(), |text| format!("result \"{}\"", escape(text.as_bytes())));
    format!("{state}, {effect}, {result}, of principal {}", escape(row.principal.as_bytes()))
}

/// Operations that can't be, though no part of them shows why.
pub(super) fn unexplained(problem: &Problem<'_>, entries: &[usize], replies: &[u32]) -> Contradiction {
    let names: Vec<String> = entries
        .iter()
        .filter_map(|number| problem.entries.get(*number))
        .map(|entry| name(entry.operation))
        .take(4)
        .collect();
    Contradiction {
        code: Code::ReplayEffect,
        call: replies.last().copied(),
        shown_by: replies.to_vec(),
        message: format!("no order of commits explains {} together", names.join(" and ")),
        expected: "an order in which each reply is true".to_owned(),
        observed: "none".to_owned(),
    }
}

/// Effect ids that don't follow the calls.
pub(super) fn ids(problem: &Problem<'_>, clash: Clash) -> Contradiction {
    let entry = |number: usize| problem.entries.get(number);
    let about = |number: usize| name(entry(number).map_or("", |entry| entry.operation));
    let call = |number: usize| entry(number).and_then(teller);
    let id = |number: usize| entry(number).and_then(id_of).map_or_else(String::new, |id| format!(" {id}"));
    let (message, last, expected) = match clash {
        Clash::Same(a, b) => (
            format!("{} and {} have one effect id{}", about(a), about(b), id(b)),
            b,
            "an id of its own for each effect",
        ),
        Clash::Order(a, b) if a == b => {
            (format!("{} has an effect id{} that doesn't follow those before it", about(b), id(b)), b, "a greater id")
        }
        Clash::Order(a, b) => (
            format!(
                "{} has effect{} and was committed before {}, which has effect{}",
                about(b),
                id(b),
                about(a),
                id(a)
            ),
            b,
            "ids in the order of commits",
        ),
        Clash::Gap(number) => (
            format!(
                "{} has effect{}, and too few other calls can have taken the ids below it",
                about(number),
                id(number)
            ),
            number,
            "ids without a gap",
        ),
        Clash::NoRoom(number) | Clash::Open(number) => (
            format!("{} took effect between others whose ids leave none for it", about(number)),
            number,
            "an id between those of its neighbours",
        ),
    };
    let pair = match clash {
        Clash::Same(a, b) | Clash::Order(a, b) => vec![a, b],
        Clash::Gap(number) | Clash::NoRoom(number) | Clash::Open(number) => vec![number],
    };
    let mut shown_by: Vec<u32> = pair.into_iter().filter_map(call).collect();
    shown_by.sort_unstable();
    shown_by.dedup();
    let observed = entry(last).and_then(id_of).map_or_else(|| "no id".to_owned(), |id| format!("effect {id}"));
    Contradiction {
        code: Code::ReplayEffect,
        call: call(last),
        shown_by,
        message,
        expected: expected.to_owned(),
        observed,
    }
}

/// The first call of an operation that was told of its effect, or that shows that there was one.
fn teller(entry: &Entry<'_>) -> Option<u32> {
    let tells = |seen: &&Seen<'_>| {
        matches!(seen.demand.need, Need::First | Need::Stored | Need::Terminal | Need::Other | Need::Begun)
    };
    entry.seen.iter().find(tells).map(|seen| seen.number)
}

fn id_of(entry: &Entry<'_>) -> Option<u64> {
    let told = entry.seen.iter().find_map(|seen| match seen.told? {
        Told::Effect(outcome) => Some(outcome.effect),
        Told::Status(seen) => seen.ids.as_deref()?.first().and_then(|id| u64::try_from(*id).ok()),
        Told::InputRequired { .. } | Told::Refused(_) | Told::StateRejected | Told::Other | Told::Unrecognized => None,
    });
    told.or(match entry.end {
        End::Row { row, .. } => row.effect.and_then(|id| u64::try_from(id).ok()),
        End::Open | End::Absent => None,
    })
}
