//! Owns a case in the report of a replay: numbers of calls become lines of files.
//!
//! Refuses nothing. Invariant: every call that is named stands with its file, line, process and request id.

use serde::Serialize;

use super::timeline;
use crate::archive::replay::{Database, ReplayedCase};
use crate::finding::{Code, Finding, Severity};
use crate::history::History;
use crate::judge::{Basis, Held, Judged, Standing};
use crate::ledger::Ask;
use crate::name::escape;
use crate::replay::{Class, Contradiction, Effect, Lost, Verdict, told_in_words};
use crate::run::matrix::Table;

/// Calls of a witness that are shown.
const MAX_ORDER: usize = 10_000;

/// Calls that are named beside one lost reply: with thousands of attempts on one operation, each names all the others.
const MAX_LINES: usize = 32;

/// A call, by where it stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Line {
    /// The transcript.
    pub file: String,
    /// The request's line.
    pub request: u64,
    /// The reply's line; null where it is lost.
    pub reply: Option<u64>,
    /// The process.
    pub process: String,
    /// The connection; connections are numbered over the case.
    pub connection: u32,
    /// The request's id on its connection, as JSON.
    pub id: String,
    /// What was asked.
    pub asked: String,
    /// What was told.
    pub told: String,
}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Case {
    /// Its id in the matrix; empty for loose transcripts.
    pub id: String,
    /// Its name there.
    pub name: String,
    /// `pass`, `fail`, `undecided`, `unsupported` or `machinery_error`.
    pub verdict: &'static str,
    /// `explained`, `contradicted` or `undecided`; null where nothing was decided.
    pub history: Option<&'static str>,
    /// `ordered`, `forward` or `searched`: how it was decided.
    pub class: Option<&'static str>,
    /// The transcripts.
    pub transcripts: Vec<String>,
    /// The database that shows the end.
    pub database: Option<EndDatabase>,
    /// Requests that are matters of the ledger.
    pub calls: u64,
    /// Of these, how many have no reply.
    pub without_reply: u64,
    /// What nothing explains, the earliest first.
    pub contradictions: Vec<Contradicted>,
    /// What else is wrong.
    pub findings: Vec<Finding>,
    /// Worth a look; the verdict stands.
    pub warnings: Vec<Finding>,
    /// Lost replies of writes.
    pub lost: Vec<LostReply>,
    /// The matrix's expectations.
    pub expectations: Vec<Expectation>,
    /// What is missing.
    pub missing: Vec<String>,
    /// What the verdict rests on and can't recompute.
    pub assertions: Vec<String>,
    /// An order of calls in which a correct ledger would have answered so.
    pub order: Vec<Line>,
    /// Calls of that order that are not shown.
    pub order_not_shown: u64,
}

/// A database.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct EndDatabase {
    /// Its name.
    pub name: String,
    /// It was taken after the last writer had ended.
    pub is_final: bool,
    /// A transaction that was under way was undone in a private copy.
    pub rolled_back: bool,
}

/// A contradiction with the lines that show it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Contradicted {
    /// The rule.
    pub code: Code,
    /// The reply that nothing explains; null where it is a row.
    pub call: Option<Line>,
    /// The fewest calls that show it.
    pub shown_by: Vec<Line>,
    /// One sentence.
    pub message: String,
    /// What could have been.
    pub expected: String,
    /// What is there.
    pub observed: String,
    /// The same side by side, for a person.
    #[serde(skip)]
    pub(super) timeline: Vec<String>,
}

/// A lost reply.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LostReply {
    /// The write.
    pub call: Line,
    /// The operation.
    pub operation: String,
    /// `must_have`, `may_have` or `cannot_have` taken effect.
    pub effect: &'static str,
    /// Exactly one of these took effect, where that is so: the first of them.
    pub one_of: Vec<Line>,
    /// How many there are of these.
    pub one_of_count: u64,
    /// The calls that prove it.
    pub proof: Vec<Line>,
    /// One sentence.
    pub why: String,
    /// The request that asks for its status, where its effect stays open.
    pub ask: Option<String>,
}

/// An expectation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Expectation {
    /// `met`, `broken` or `open`.
    pub held: &'static str,
    /// What the matrix expects.
    pub expected: String,
    /// What is there.
    pub observed: String,
    /// The lines and rows that it was met or broken by.
    pub by: Vec<String>,
}

impl Case {
    pub(super) fn read(case: &ReplayedCase) -> Self {
        let history = &case.history;
        let of = |severity| case.findings.iter().filter(move |finding| finding.severity == severity).cloned();
        let decision = case.decision.as_ref();
        let (contradictions, order) = match decision.map(|decision| &decision.verdict) {
            Some(Verdict::Contradicted(found)) => (found.as_slice(), &[][..]),
            Some(Verdict::Explained { order }) => (&[][..], order.as_slice()),
            Some(Verdict::Undecided { .. }) | None => (&[][..], &[][..]),
        };
        let is_told = |finding: &Finding| {
            contradictions.iter().any(|one| (one.code, &one.message) == (finding.code, &finding.message))
        };
        let matters = history.calls.iter().filter(|call| call.ask != Ask::Other);
        Self {
            id: case.id.clone(),
            name: case.name.clone(),
            verdict: standing(case.standing),
            history: decision.map(|decision| match &decision.verdict {
                Verdict::Explained { .. } => "explained",
                Verdict::Contradicted(_) => "contradicted",
                Verdict::Undecided { .. } => "undecided",
            }),
            class: decision.map(|decision| match decision.class {
                Class::Ordered => "ordered",
                Class::Forward => "forward",
                Class::Searched => "searched",
            }),
            transcripts: case.files.clone(),
            database: case.database.as_ref().map(EndDatabase::from),
            calls: matters.clone().count() as u64,
            without_reply: matters.filter(|call| call.told.is_none()).count() as u64,
            contradictions: contradictions.iter().map(|one| Contradicted::read(one, case)).collect(),
            findings: of(Severity::Error).filter(|finding| !is_told(finding)).collect(),
            warnings: of(Severity::Warning).collect(),
            lost: decision
                .into_iter()
                .flat_map(|decision| &decision.lost)
                .map(|lost| LostReply::read(lost, case))
                .collect(),
            expectations: case.expectations.iter().map(|judged| Expectation::read(judged, case)).collect(),
            missing: case.missing.clone(),
            assertions: case.assertions.clone(),
            order: lines(order.get(..MAX_ORDER.min(order.len())).unwrap_or_default(), case),
            order_not_shown: order.len().saturating_sub(MAX_ORDER) as u64,
        }
    }

    /// Whether an effect stays open.
    pub(super) fn is_open(&self) -> bool {
        self.lost.iter().any(|lost| lost.effect == "may_have")
    }
}

pub(in super::super) fn standing(standing: Standing) -> &'static str {
    match standing {
        Standing::Pass => "pass",
        Standing::Fail => "fail",
        Standing::Undecided => "undecided",
        Standing::Unsupported => "unsupported",
        Standing::MachineryError => "machinery_error",
    }
}

impl From<&Database> for EndDatabase {
    fn from(database: &Database) -> Self {
        Self { name: database.name.clone(), is_final: database.is_final, rolled_back: database.rolled_back }
    }
}

/// What a request asks, in a few words.
pub(super) fn asked(ask: &Ask) -> String {
    match ask {
        Ask::FirstRound { operation } => format!("first round {}", escape(operation.as_bytes())),
        Ask::Write(write) => format!("write {}", escape(write.operation.as_bytes())),
        Ask::Status { operation } => format!("status {}", escape(operation.as_bytes())),
        Ask::Other => "other".to_owned(),
    }
}

fn process_name(history: &History, process: u32) -> String {
    history.processes.get(process as usize).map_or_else(String::new, |process| escape(process.name.as_bytes()))
}

fn line(call: u32, case: &ReplayedCase) -> Option<Line> {
    let found = case.history.calls.get(call as usize)?;
    Some(Line {
        file: case.files.get(found.request.file as usize).cloned().unwrap_or_default(),
        request: found.request.line,
        reply: found.reply.map(|at| at.line),
        process: process_name(&case.history, found.process),
        connection: found.connection,
        id: found.id.to_string(),
        asked: asked(&found.ask),
        told: told_in_words(found.told.as_ref()),
    })
}

fn lines(calls: &[u32], case: &ReplayedCase) -> Vec<Line> {
    calls.iter().filter_map(|call| line(*call, case)).collect()
}

impl Line {
    /// Where it stands, for a person.
    pub(super) fn place(&self) -> String {
        let at = self.reply.map_or_else(|| format!("{}", self.request), |reply| format!("{}-{reply}", self.request));
        format!("{}:{at} ({}, id {})", escape(self.file.as_bytes()), self.process, escape(self.id.as_bytes()))
    }
}

impl Contradicted {
    fn read(found: &Contradiction, case: &ReplayedCase) -> Self {
        Self {
            code: found.code,
            call: found.call.and_then(|call| line(call, case)),
            shown_by: lines(&found.shown_by, case),
            message: found.message.clone(),
            expected: found.expected.clone(),
            observed: found.observed.clone(),
            timeline: timeline::draw(&case.history, &found.shown_by, found.call),
        }
    }
}

impl LostReply {
    fn read(lost: &Lost, case: &ReplayedCase) -> Self {
        let operation = match case.history.calls.get(lost.call as usize).map(|call| &call.ask) {
            Some(Ask::Write(write)) => write.operation.to_string(),
            Some(Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other) | None => String::new(),
        };
        Self {
            call: line(lost.call, case).unwrap_or_else(|| Line {
                file: String::new(),
                request: 0,
                reply: None,
                process: String::new(),
                connection: 0,
                id: String::new(),
                asked: String::new(),
                told: String::new(),
            }),
            operation,
            effect: match lost.effect {
                Effect::Must => "must_have",
                Effect::May => "may_have",
                Effect::Cannot => "cannot_have",
            },
            one_of: lines(lost.one_of.get(..MAX_LINES.min(lost.one_of.len())).unwrap_or_default(), case),
            one_of_count: lost.one_of.len() as u64,
            proof: lines(lost.proof.get(..MAX_LINES.min(lost.proof.len())).unwrap_or_default(), case),
            why: lost.why.clone(),
            ask: case.asks.get(&lost.call).cloned(),
        }
    }
}

impl Expectation {
    fn read(judged: &Judged, case: &ReplayedCase) -> Self {
        let by = |basis: &Basis| match basis {
            Basis::Call(call) => line(*call, case).map_or_else(String::new, |line| line.place()),
            Basis::Row(table, row) => format!("row {row} of {}", table_name(*table)),
            Basis::Process(process) => format!("process {}", process_name(&case.history, *process)),
        };
        Self {
            held: match judged.held {
                Held::Met => "met",
                Held::Broken => "broken",
                Held::Open => "open",
            },
            expected: judged.expected.clone(),
            observed: judged.observed.clone(),
            by: judged.by.iter().map(by).collect(),
        }
    }
}

fn table_name(table: Table) -> &'static str {
    match table {
        Table::Issues => "issues",
        Table::Operations => "operations",
        Table::Watchers => "watchers",
        Table::Compensations => "compensations",
        Table::Events => "events",
    }
}
