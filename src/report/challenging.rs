//! Owns the report of `exhibit challenge`.
//!
//! Invariant: every forgery is counted, those that nothing caught are named, and what was not tried stands beside.

use std::collections::BTreeMap;
use std::io::{self, Write};

use serde::Serialize;

use super::{Failure, line, text};
use crate::archive::{Challenged, not_tried};
use crate::challenge::{Kind, Tried};
use crate::error::Error;
use crate::finding::Code;
use crate::name::escape;

/// What `exhibit challenge` says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Challenging {
    /// `exhibit-challenge/1`.
    pub format: &'static str,
    /// The file or folder as it was given.
    pub file: String,
    /// `all_caught`, `some_survived`, `nothing_tried` or `could_not_challenge`.
    pub outcome: &'static str,
    /// Why nothing could be done.
    pub error: Option<Failure>,
    /// The runs.
    pub runs: Vec<Run>,
    /// Kinds that are forged in bytes, not in a history: fixed rules hold them, and they are not tried here.
    pub not_tried: Vec<&'static str>,
    /// What no outcome of this kind can say.
    pub limits: Vec<&'static str>,
}

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Run {
    /// Its folder.
    pub path: String,
    /// Forgeries that were tried.
    pub tried: u64,
    /// Of these, how many are caught by the ledger's rules alone, without any matrix.
    pub by_semantics: u64,
    /// How many only the matrix's schedule and expectations catch.
    pub by_matrix: u64,
    /// How many nothing catches.
    pub survived: u64,
    /// The same, by kind.
    pub kinds: Vec<OfKind>,
    /// Each forgery that nothing catches.
    pub survivors: Vec<Survivor>,
    /// Cases that were not challenged, with the reason.
    pub skipped: Vec<Skipped>,
}

/// Forgeries of a kind.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct OfKind {
    /// Its name.
    pub kind: &'static str,
    /// What it forges.
    pub what: &'static str,
    /// How many were tried.
    pub tried: u64,
    /// How many the rules alone catch.
    pub by_semantics: u64,
    /// How many only the matrix catches.
    pub by_matrix: u64,
    /// How many nothing catches.
    pub survived: u64,
    /// The codes that caught them.
    pub codes: Vec<Code>,
}

/// A forgery that nothing catches.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Survivor {
    /// The case.
    pub case: String,
    /// The kind.
    pub kind: &'static str,
    /// Which call or row.
    pub what: String,
}

/// A case that was not challenged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Skipped {
    /// The case.
    pub case: String,
    /// Why.
    pub why: String,
}

const FORMAT: &str = "exhibit-challenge/1";
const KNOWN: &str =
    "what was tried are the known ways to forge, one change at a time: a forger may know others, and make several";

impl Challenging {
    /// What was challenged.
    pub fn read(file: String, runs: &[Challenged]) -> Self {
        let runs: Vec<Run> = runs.iter().map(Run::from).collect();
        let outcome = match (runs.iter().any(|run| run.survived > 0), runs.iter().all(|run| run.tried == 0)) {
            (true, _) => "some_survived",
            (false, true) => "nothing_tried",
            (false, false) => "all_caught",
        };
        let not_tried = not_tried().map(Kind::name).collect();
        Self { format: FORMAT, file, outcome, error: None, runs, not_tried, limits: vec![KNOWN] }
    }

    /// What could not be challenged.
    pub fn failed(file: String, error: &Error) -> Self {
        let (runs, not_tried, limits) = (Vec::new(), Vec::new(), Vec::new());
        Self {
            format: FORMAT,
            file,
            outcome: "could_not_challenge",
            error: Some(error.into()),
            runs,
            not_tried,
            limits,
        }
    }

    /// Whether some case was left out.
    pub fn is_partial(&self) -> bool {
        self.runs.iter().any(|run| !run.skipped.is_empty())
    }

    /// One line of JSON.
    pub fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        line::write(out, self)
    }

    /// The outcome, the counts, then what survived.
    pub fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(out, "{}: {}", escape(self.file.as_bytes()), self.outcome.replace('_', " "))?;
        if let Some(failure) = &self.error {
            return text::failure(out, failure);
        }
        for run in &self.runs {
            run.write_text(out)?;
        }
        text::list(out, "not tried here, since fixed rules of transcripts and runs hold them", &self.not_tried)?;
        text::list(out, "limits", &self.limits)
    }
}

impl From<&Challenged> for Run {
    fn from(run: &Challenged) -> Self {
        let mut kinds: BTreeMap<Kind, OfKind> = BTreeMap::new();
        let mut survivors = Vec::new();
        for (case, tried) in &run.cases {
            for one in tried {
                kinds.entry(one.kind).or_insert_with(|| OfKind::of(one.kind)).add(one);
                if one.caught().is_none() {
                    let (case, kind, what) = (case.clone(), one.kind.name(), one.what.clone());
                    survivors.push(Survivor { case, kind, what });
                }
            }
        }
        let kinds: Vec<OfKind> = kinds.into_values().collect();
        let sum = |count: fn(&OfKind) -> u64| kinds.iter().map(count).sum();
        Self {
            path: run.run.clone(),
            tried: sum(|kind| kind.tried),
            by_semantics: sum(|kind| kind.by_semantics),
            by_matrix: sum(|kind| kind.by_matrix),
            survived: sum(|kind| kind.survived),
            survivors,
            skipped: run.skipped.iter().map(|(case, why)| Skipped { case: case.clone(), why: why.clone() }).collect(),
            kinds,
        }
    }
}

impl OfKind {
    fn of(kind: Kind) -> Self {
        let (kind, what) = (kind.name(), kind.sentence());
        Self { kind, what, tried: 0, by_semantics: 0, by_matrix: 0, survived: 0, codes: Vec::new() }
    }

    fn add(&mut self, one: &Tried) {
        self.tried = self.tried.saturating_add(1);
        let count = match (&one.semantics, &one.matrix) {
            (Some(_), _) => &mut self.by_semantics,
            (None, Some(_)) => &mut self.by_matrix,
            (None, None) => &mut self.survived,
        };
        *count = count.saturating_add(1);
        if let Some(caught) = one.caught() {
            self.codes.push(caught.code);
            self.codes.sort_unstable();
            self.codes.dedup();
        }
    }
}

impl Run {
    fn write_text(&self, out: &mut dyn Write) -> io::Result<()> {
        writeln!(
            out,
            "run{}{}: {} forgeries, {} caught by the ledger's rules alone, {} by the matrix only, {} by nothing",
            if self.path.is_empty() { "" } else { " " },
            escape(self.path.as_bytes()),
            self.tried,
            self.by_semantics,
            self.by_matrix,
            self.survived
        )?;
        let width = self.kinds.iter().map(|kind| kind.kind.len()).max().unwrap_or_default();
        for kind in &self.kinds {
            let codes: Vec<String> = kind.codes.iter().map(ToString::to_string).collect();
            writeln!(
                out,
                "  {:<width$} {:>4} tried {:>4} rules {:>4} matrix {:>4} survived  {}",
                kind.kind,
                kind.tried,
                kind.by_semantics,
                kind.by_matrix,
                kind.survived,
                codes.join(" ")
            )?;
        }
        for survivor in &self.survivors {
            writeln!(
                out,
                "survived: case {}: {}: {}",
                text::plain(&survivor.case),
                survivor.kind,
                text::plain(&survivor.what)
            )?;
        }
        let skipped: Vec<String> = self.skipped.iter().map(|one| format!("case {}: {}", one.case, one.why)).collect();
        text::list(out, "not challenged", &skipped)
    }
}
