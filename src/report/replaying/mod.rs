//! Owns the report of `exhibit replay`.
//!
//! Invariant: what is missing, what a verdict rests on and what it can't say stand in the report of every verdict; each
//! claim names the lines that show it.

mod case;
mod text;
mod timeline;

use std::io::{self, Write};

use serde::Serialize;

use super::{Failure, line};
use crate::archive::replay::Replayed;
use crate::error::Error;
use crate::judge::Standing;
use crate::run::matrix::Outcome;

use case::Case;
pub(super) use case::standing;

/// What `exhibit replay` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Replaying {
    /// `exhibit-replay/1`.
    pub format: &'static str,
    /// The files as they were given.
    pub files: Vec<String>,
    /// `pass`, `fail`, `undecided` or `could_not_replay`.
    pub verdict: &'static str,
    /// Why nothing could be said.
    pub error: Option<Failure>,
    /// An effect that stays open counts as undecided, as asked.
    pub require_settled: bool,
    /// The runs, or the loose transcripts as one.
    pub runs: Vec<Run>,
    /// What no verdict of this kind can say.
    pub limits: Vec<&'static str>,
}

/// A run that was replayed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its folder; empty for loose transcripts.
    pub path: String,
    /// `pass`, `fail` or `undecided`.
    pub verdict: &'static str,
    /// The matrix, where there is one.
    pub matrix: Option<String>,
    /// The dialect by which the wire was read.
    pub dialect: String,
    /// Its cases.
    pub cases: Vec<Case>,
    /// What is wrong with the run as a whole.
    pub findings: Vec<crate::finding::Finding>,
    /// Outcomes that the transcripts showed.
    pub outcomes_seen: Vec<&'static str>,
    /// Outcomes that they never showed: of these the evidence says nothing.
    pub outcomes_not_seen: Vec<&'static str>,
}

const FORMAT: &str = "exhibit-replay/1";
const CONSISTENT: &str = "consistent is not authentic: a pass shows that a correct ledger could have given these replies \
     and rows, not that one did";
const LOCAL: &str = "one run on one machine is not an independent replication";
const SHOWN: &str = "a pass shows what was checked: outcomes that were never seen were not tested";

impl Replaying {
    /// What was replayed.
    pub fn read(files: Vec<String>, runs: &[Replayed], require_settled: bool) -> Self {
        let runs: Vec<Run> = runs.iter().map(|run| Run::read(run, require_settled)).collect();
        let has = |verdict: &str| runs.iter().any(|run| run.verdict == verdict);
        let verdict = match (has("fail"), has("undecided") || runs.is_empty()) {
            (true, _) => "fail",
            (false, true) => "undecided",
            (false, false) => "pass",
        };
        Self {
            format: FORMAT,
            files,
            verdict,
            error: None,
            require_settled,
            runs,
            limits: vec![CONSISTENT, LOCAL, SHOWN],
        }
    }

    /// What could not be replayed.
    pub fn failed(files: Vec<String>, require_settled: bool, error: &Error) -> Self {
        let (runs, limits) = (Vec::new(), Vec::new());
        let verdict = "could_not_replay";
        Self { format: FORMAT, files, verdict, error: Some(error.into()), require_settled, runs, limits }
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The verdict, the cases, each problem with what shows it, then what stays open and what it all rests on.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        text::write(self, out)
    }
}

impl Run {
    fn read(run: &Replayed, require_settled: bool) -> Self {
        let cases: Vec<Case> = run.cases.iter().map(Case::read).collect();
        let is_broken = run.findings.iter().any(|finding| finding.severity == crate::finding::Severity::Error);
        let has = |wanted: &[Standing]| run.cases.iter().any(|case| wanted.contains(&case.standing));
        let is_open = require_settled && cases.iter().any(Case::is_open);
        let verdict = if is_broken || has(&[Standing::Fail, Standing::MachineryError]) {
            "fail"
        } else if cases.is_empty() || is_open || has(&[Standing::Undecided, Standing::Unsupported]) {
            "undecided"
        } else {
            "pass"
        };
        let seen = |is_seen: bool| {
            OUTCOMES
                .iter()
                .filter(|(outcome, _)| run.coverage.contains(outcome) == is_seen)
                .map(|(_, name)| *name)
                .collect()
        };
        Self {
            path: run.run.clone(),
            verdict,
            matrix: run.matrix.clone(),
            dialect: run.dialect.clone(),
            cases,
            findings: run.findings.clone(),
            outcomes_seen: seen(true),
            outcomes_not_seen: seen(false),
        }
    }
}

/// The outcomes that are counted, by the names that matrices use.
const OUTCOMES: [(Outcome, &str); 17] = [
    (Outcome::InputRequired, "input_required"),
    (Outcome::Applied, "applied"),
    (Outcome::Replayed, "replayed"),
    (Outcome::Partial, "partial"),
    (Outcome::PartialReplayed, "partial_replayed"),
    (Outcome::Conflict, "conflict"),
    (Outcome::AuthorityExpired, "authority_expired"),
    (Outcome::RetentionExpired, "retention_expired"),
    (Outcome::InProgress, "in_progress"),
    (Outcome::Timing, "timing"),
    (Outcome::Unsupported, "unsupported"),
    (Outcome::NotAccepted, "not_accepted"),
    (Outcome::OtherOperation, "other_operation"),
    (Outcome::StateRejected, "state_rejected"),
    (Outcome::Status, "status"),
    (Outcome::Lost, "lost"),
    (Outcome::Unrecognized, "unrecognized"),
];
