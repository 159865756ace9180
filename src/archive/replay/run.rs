//! Owns replaying a run: its matrix, its dialect, and each of its cases.
//!
//! Refuses a run whose matrix has no schedule: then nothing is decided. Invariant: every case of the matrix stands in the
//! result, run or not.

use std::collections::BTreeSet;
use std::path::Path;

use super::case::{self, Evidences};
use super::keys::Keys;
use super::{Replayed, ReplayedCase};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::finding::{Code, Finding, Place, Severity};
use crate::judge;
use crate::limits::Limits;
use crate::name::escape;
use crate::run::matrix::MatrixDocument;
use crate::run::record::{CaseRecord, records};
use crate::run::{Kind, RunReport};
use crate::tree::Inventory;

/// The matrices of the reference study, whose runs carry a list of cases without a schedule.
const HISTORICAL: [(&str, &str); 2] = [
    ("matrices/mcr-python/matrix.json", include_str!("../../../matrices/mcr-python/matrix.json")),
    ("matrices/mcr-typescript/matrix.json", include_str!("../../../matrices/mcr-typescript/matrix.json")),
];

/// Which run to replay.
#[derive(Debug, Clone)]
pub struct RunRequest<'a> {
    /// The run's folder, from the tree's root.
    pub run: &'a str,
    /// Its layout.
    pub kind: Kind,
    /// The matrix document that it names, from the tree's root.
    pub spec: Option<&'a str>,
    /// What is wrong with its cases as a whole.
    pub findings: Vec<Finding>,
    /// The matrix, where it isn't the one that the run names.
    pub matrix: Option<&'a MatrixDocument>,
    /// The dialect, where it isn't the one that the matrix names.
    pub dialect: Option<&'a Dialect>,
    /// Disclosed keys.
    pub keys: Option<&'a Keys>,
}

impl<'a> RunRequest<'a> {
    /// A run that was loaded.
    pub fn of(report: &'a RunReport) -> Self {
        Self {
            run: &report.path,
            kind: report.kind,
            spec: report.spec.as_deref(),
            findings: report.findings.iter().filter(|finding| is_of_cases(finding.code)).cloned().collect(),
            matrix: None,
            dialect: None,
            keys: None,
        }
    }
}

/// Replays a run in a tree. `scratch` is a folder in which private ones are made and removed again.
///
/// # Errors
/// What can't be read, a matrix with faults, a dialect that isn't known.
pub fn run(tree: &Inventory, request: &RunRequest<'_>, limits: &Limits, scratch: &Path) -> Result<Replayed, Error> {
    let records = records(tree, request.run, request.kind, limits)?;
    let matrix = match request.matrix {
        Some(matrix) => Some(matrix.clone()),
        None => matrix_of(tree, request, &records, limits)?,
    };
    let mut out = Replayed {
        run: request.run.to_owned(),
        matrix: matrix.as_ref().map(|matrix| matrix.name.clone()),
        dialect: String::new(),
        has_operations: true,
        cases: Vec::new(),
        coverage: BTreeSet::new(),
        findings: request.findings.clone(),
    };
    let Some(matrix) = matrix else {
        out.cases =
            records.iter().map(|record| unscheduled(&record.case, "the matrix of the run, with a schedule")).collect();
        return Ok(out);
    };
    out.findings.extend(account(&matrix, &records, request.run));
    let dialect = match (request.dialect, &matrix.dialect) {
        (Some(dialect), _) => dialect.clone(),
        (None, Some(name)) => named(tree, name, limits)?,
        (None, None) => {
            let missing = "the dialect that the servers speak: the matrix names none, and has no schedule";
            out.cases = matrix.cases.iter().map(|one| unscheduled(&one.id, missing)).collect();
            return Ok(out);
        }
    };
    let dialect = match request.keys {
        Some(keys) => keys.with(dialect)?,
        None => dialect,
    };
    dialect.name().clone_into(&mut out.dialect);
    out.has_operations = dialect.has_operations();
    for one in &matrix.cases {
        let record = records.iter().find(|record| record.case == one.id);
        let given = Evidences { tree, case: one, record, dialect: &dialect, limits, scratch };
        out.cases.push(case::replay(&given)?);
    }
    out.coverage = judge::coverage(out.cases.iter().map(|one| &one.history));
    Ok(out)
}

fn unscheduled(id: &str, missing: &str) -> ReplayedCase {
    let mut out = case::empty(id, "");
    out.missing.push(missing.to_owned());
    out
}

/// Whether a finding of the run is of its cases, and none that is made here.
fn is_of_cases(code: Code) -> bool {
    code == Code::RunExpectationDiffers
}

/// Each case of the matrix has one record, and each record its case.
fn account(matrix: &MatrixDocument, records: &[CaseRecord], run: &str) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut seen: BTreeSet<&str> = BTreeSet::new();
    for record in records {
        let about = escape(record.case.as_bytes());
        if !matrix.cases.iter().any(|case| case.id == record.case) {
            let message = format!("case {about} has a result, and the matrix has no such case");
            findings.push(Finding::new(Code::RunCaseUnrequested, record.place.clone(), message));
        } else if !seen.insert(&record.case) {
            let message = format!("case {about} has a result before this one");
            findings.push(Finding::new(Code::RunCaseRepeated, record.place.clone(), message));
        }
    }
    for case in matrix.cases.iter().filter(|case| !seen.contains(case.id.as_str())) {
        let message = format!("the matrix asks for case {}, and no result is there", escape(case.id.as_bytes()));
        let results = if run.is_empty() { "results.jsonl".to_owned() } else { format!("{run}/results.jsonl") };
        findings.push(Finding::new(Code::RunCaseMissing, Place::entry(escape(results.as_bytes())), message));
    }
    findings
}

/// The matrix that a run names, or the historical one whose labels its records carry.
fn matrix_of(
    tree: &Inventory,
    request: &RunRequest<'_>,
    records: &[CaseRecord],
    limits: &Limits,
) -> Result<Option<MatrixDocument>, Error> {
    match request.kind {
        Kind::Own => {
            let Some(path) = request.spec else { return Ok(None) };
            let bytes = tree.read(path, limits.max_document)?;
            Ok(Some(MatrixDocument::load(Path::new(path), &bytes, limits)?))
        }
        Kind::Historical => {
            for (path, text) in HISTORICAL {
                let matrix = MatrixDocument::load(Path::new(path), text.as_bytes(), limits)?;
                let is_of_it = |record: &CaseRecord| {
                    matrix.cases.iter().any(|case| (&case.id, &case.expected) == (&record.case, &record.expected))
                };
                if !records.is_empty() && records.iter().all(is_of_it) {
                    return Ok(Some(matrix));
                }
            }
            Ok(None)
        }
    }
}

/// A dialect by its name: one that comes with the tool, or the tree's own.
fn named(tree: &Inventory, name: &str, limits: &Limits) -> Result<Dialect, Error> {
    if let Some(dialect) = Dialect::named(name)? {
        return Ok(dialect);
    }
    let path = format!("matrices/dialects/{name}.json");
    if tree.file(&path).is_some() {
        return Dialect::load(Path::new(&path), &tree.read(&path, limits.max_document)?, limits);
    }
    let name = escape(name.as_bytes());
    Err(Error::Usage(format!(
        "the matrix names the dialect {name}, which neither comes with exhibit nor lies at {path}: give it with --dialect"
    )))
}

/// What a finding of another room is worth here.
pub(in super::super) fn is_error(finding: &Finding) -> bool {
    finding.severity == Severity::Error
}
