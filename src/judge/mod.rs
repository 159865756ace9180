//! Owns judging: whether a case of a matrix held, given its history, what deciding that gave, and the final rows.
//!
//! Refuses to take what is missing for met: a case without rows or schedule is undecided. Invariant: every expectation
//! names the calls or rows that it was met or broken by, and no rule of a case lives here but in its matrix.

mod expectation;
#[cfg(test)]
pub(crate) mod made;
mod schedule;

use std::collections::BTreeSet;

use crate::finding::{Code, Finding, Place};
use crate::history::{At, History};
use crate::ledger::{Ask, Observed, Refusal, Told};
use crate::name::escape;
use crate::replay::{Contradiction, Decision, Verdict};
use crate::run::matrix::{MatrixCase, Method, Outcome, Table};

/// What there is to judge a case by.
#[derive(Debug, Clone, Copy)]
pub enum Evidence<'a> {
    /// Transcripts that could be read, and what deciding them gave.
    History {
        /// The history, its processes named as in the matrix, the final rows as its end.
        history: &'a History,
        /// What deciding it gave.
        decision: &'a Decision,
        /// The names of its files, as [`At::file`] counts them.
        files: &'a [String],
    },
    /// Transcripts that could not be read: why.
    Malformed(&'a [Finding]),
    /// The run recorded that the SDK lacks this API.
    Unsupported(&'a str),
}

/// How a case ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Standing {
    /// Explained, and every expectation met.
    Pass,
    /// Contradicted, or an expectation or the schedule broken.
    Fail,
    /// Something is missing.
    Undecided,
    /// An API is missing.
    Unsupported,
    /// The transcripts could not be read.
    MachineryError,
}

/// What judging a case gives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judgement {
    /// The case.
    pub case: String,
    /// How it ended.
    pub standing: Standing,
    /// One for each expectation, in the matrix's order; none where there was nothing to hold them against.
    pub expectations: Vec<Judged>,
    /// What is wrong.
    pub findings: Vec<Finding>,
    /// What is missing, a sentence each; of an unsupported case the API.
    pub missing: Vec<String>,
    /// What the judgement rests on and can't recompute.
    pub assertions: Vec<String>,
}

/// An expectation, judged.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// Whether it was met.
    pub held: Held,
    /// What it was met or broken by.
    pub by: Vec<Basis>,
    /// What the matrix expects.
    pub expected: String,
    /// What is there.
    pub observed: String,
}

/// Whether an expectation was met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Held {
    /// It was.
    Met,
    /// It was not.
    Broken,
    /// That can't be told.
    Open,
}

/// What an expectation was met or broken by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Basis {
    /// A call of the history.
    Call(u32),
    /// A row of the final store: its table and number there, from 0.
    Row(Table, u32),
    /// A process of the history.
    Process(u32),
}

/// Judges a case.
pub fn judge(case: &MatrixCase, evidence: &Evidence<'_>) -> Judgement {
    let mut judgement = Judgement {
        case: case.id.clone(),
        standing: Standing::Undecided,
        expectations: Vec::new(),
        findings: Vec::new(),
        missing: Vec::new(),
        assertions: Vec::new(),
    };
    match evidence {
        Evidence::Malformed(findings) => {
            judgement.standing = Standing::MachineryError;
            judgement.findings = findings.to_vec();
        }
        Evidence::Unsupported(api) if !api.trim().is_empty() => {
            judgement.standing = Standing::Unsupported;
            judgement.missing.push((*api).to_owned());
        }
        Evidence::Unsupported(_) => judgement.missing.push("the name of the API that is missing".to_owned()),
        Evidence::History { .. } if case.phases.is_empty() => {
            judgement.missing.push(format!("the matrix has no schedule of case {}", case.id));
        }
        Evidence::History { history, decision, files } => decided(case, (history, files), decision, &mut judgement),
    }
    judgement
}

fn decided(case: &MatrixCase, (history, files): (&History, &[String]), decision: &Decision, out: &mut Judgement) {
    let place = |call: u32| place_of(history, files, call);
    match &decision.verdict {
        Verdict::Explained { .. } => {}
        Verdict::Undecided { missing } => out.missing.extend(missing.iter().cloned()),
        Verdict::Contradicted(_) => out.findings.extend(contradictions(decision, history, files)),
    }
    let sent = schedule::check(case, history, &place, &mut out.findings);
    for (index, wanted) in case.expectations.iter().enumerate() {
        let judged = expectation::check(case, history, &sent, wanted);
        let message = || format!("case {} expects {}", case.id, judged.expected);
        match judged.held {
            Held::Met => {}
            Held::Open => out.missing.push(format!("{}: {}", message(), judged.observed)),
            Held::Broken => {
                let call = judged.by.iter().rev().find_map(|basis| match basis {
                    Basis::Call(call) => Some(*call),
                    Basis::Row(_, _) | Basis::Process(_) => None,
                });
                let at = call.map_or_else(|| Place::default().pointer(format!("/expectations/{index}")), place);
                let finding = Finding::new(Code::JudgeExpectation, at, message());
                out.findings.push(finding.values(&judged.observed, &judged.expected));
            }
        }
        out.expectations.push(judged);
    }
    out.assertions = assertions(case);
    out.standing = match (out.findings.is_empty(), out.missing.is_empty()) {
        (false, _) => Standing::Fail,
        (true, false) => Standing::Undecided,
        (true, true) => Standing::Pass,
    };
}

/// What nothing explains, as findings at their lines. `files` are the names of the transcripts.
pub fn contradictions(decision: &Decision, history: &History, files: &[String]) -> Vec<Finding> {
    let Verdict::Contradicted(found) = &decision.verdict else { return Vec::new() };
    let finding = |found: &Contradiction| {
        let at = found.call.or_else(|| found.shown_by.last().copied());
        let at = at.map(|call| place_of(history, files, call)).unwrap_or_default();
        Finding::new(found.code, at, found.message.clone()).values(&found.observed, &found.expected)
    };
    found.iter().map(finding).collect()
}

/// What no transcript and no database shows.
fn assertions(case: &MatrixCase) -> Vec<String> {
    case.processes()
        .map(|(phase, process)| {
            let (name, principal) = (escape(process.name.as_bytes()), escape(process.principal.as_bytes()));
            format!("process {name} ran in phase {} for {principal} with the clock {}", phase + 1, process.clock)
        })
        .chain(["exit codes are as the run recorded them".to_owned()])
        .collect()
}

/// The line of a call: the reply's, or the request's where there is none.
fn place_of(history: &History, files: &[String], call: u32) -> Place {
    let found = usize::try_from(call).ok().and_then(|index| history.calls.get(index));
    let Some(At { file, line }) = found.map(|call| call.reply.unwrap_or(call.request)) else { return Place::default() };
    let name = usize::try_from(file).ok().and_then(|index| files.get(index));
    Place { entry: name.map(|name| escape(name.as_bytes())), line: Some(line), ..Place::default() }
}

/// The word for what a call got; none for one that is no matter of the ledger.
pub fn outcome_of(ask: &Ask, told: Option<&Told>) -> Option<Outcome> {
    let is_write = matches!(ask, Ask::FirstRound { .. } | Ask::Write(_) | Ask::Status { .. });
    Some(match told {
        None => return is_write.then_some(Outcome::Lost),
        Some(Told::Other) => return None,
        Some(Told::InputRequired { .. }) => Outcome::InputRequired,
        Some(Told::StateRejected) => Outcome::StateRejected,
        Some(Told::Status(_)) => Outcome::Status,
        Some(Told::Unrecognized) => Outcome::Unrecognized,
        Some(Told::Refused(refusal)) => match refusal {
            Refusal::Conflict => Outcome::Conflict,
            Refusal::AuthorityExpired => Outcome::AuthorityExpired,
            Refusal::RetentionExpired => Outcome::RetentionExpired,
            Refusal::InProgress => Outcome::InProgress,
            Refusal::Timing => Outcome::Timing,
            Refusal::Unsupported => Outcome::Unsupported,
            Refusal::NotAccepted => Outcome::NotAccepted,
            Refusal::OtherOperation => Outcome::OtherOperation,
        },
        Some(Told::Effect(effect)) => match (effect.state, effect.replayed) {
            (Observed::Applied, false) => Outcome::Applied,
            (Observed::Applied, true) => Outcome::Replayed,
            (Observed::Partial, false) => Outcome::Partial,
            (Observed::Partial, true) => Outcome::PartialReplayed,
            (Observed::Unknown | Observed::NotApplied, _) => Outcome::Unrecognized,
        },
    })
}

/// Which outcomes a run ever showed; gather the histories of all its cases.
pub fn coverage<'a>(histories: impl IntoIterator<Item = &'a History>) -> BTreeSet<Outcome> {
    let calls = histories.into_iter().flat_map(|history| &history.calls);
    calls.filter_map(|call| outcome_of(&call.ask, call.told.as_ref())).collect()
}

/// What a request is to a ledger, and its operation; none where it is no matter of it.
fn method_of(ask: &Ask) -> Option<(Method, &str)> {
    match ask {
        Ask::FirstRound { operation } => Some((Method::FirstRound, operation)),
        Ask::Write(write) => Some((Method::Continuation, &write.operation)),
        Ask::Status { operation } => Some((Method::Status, operation)),
        Ask::Other => None,
    }
}

#[cfg(test)]
mod tests;
