//! Owns the matrix as a run needs it: which cases were asked for and what each expects.
//!
//! Refuses a case listed twice, an id that can't name a folder, an empty list. Invariant: a [`Matrix`] has at least
//! one case and each id once, in the document's order.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::document::{self, Object, broken, read, shown, typed};
use super::matrix::{FORMAT, MatrixDocument};
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::Inventory;

/// One case that was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Case {
    pub(super) id: String,
    pub(super) expected: String,
}

/// The cases that were asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Matrix {
    /// Its name, where the format has one.
    pub(super) name: Option<String>,
    cases: Vec<Case>,
    by_id: BTreeMap<String, usize>,
}

impl Matrix {
    pub(super) fn cases(&self) -> &[Case] {
        &self.cases
    }

    pub(super) fn case(&self, id: &str) -> Option<&Case> {
        self.cases.get(*self.by_id.get(id)?)
    }
}

/// The historical document: other fields are other people's, and tolerated.
#[derive(Deserialize)]
struct HistoricalSpec {
    schema_version: u64,
    cases: Vec<Object<HistoricalCase>>,
}

#[derive(Deserialize)]
struct HistoricalCase {
    id: String,
    #[serde(rename = "name")]
    _name: String,
    expected: String,
}

/// The version alone, so that a document from the future is told from a broken one.
#[derive(Deserialize)]
struct HistoricalHead {
    schema_version: u64,
}

#[derive(Deserialize)]
struct Head {
    format: String,
}

/// What to do about a format from the future.
const ADVICE: &str = "use the version of exhibit that wrote it, or a newer one";

/// Reads a historical `matrix-spec.json`.
pub(super) fn historical(
    inventory: &Inventory,
    file: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Option<Matrix>, Error> {
    let Some(Object(head)) = read::<Object<HistoricalHead>>(inventory, file, limits, findings)? else {
        return Ok(None);
    };
    match head.schema_version {
        0 => findings.push(broken(file, None, "/schema_version", "the schema version is 0, and the first one is 1")),
        1 => {}
        newer => {
            return Err(Error::UnknownFormat {
                place: file.to_owned(),
                found: format!("schema_version {newer}"),
                known: "schema_version 1",
                advice: ADVICE,
            });
        }
    }
    let spec = read::<Object<HistoricalSpec>>(inventory, file, limits, findings)?;
    Ok(spec.filter(|Object(spec)| spec.schema_version == 1).and_then(|Object(spec)| {
        let cases = spec.cases.into_iter().map(|Object(case)| Case { id: case.id, expected: case.expected });
        matrix(None, cases, file, findings)
    }))
}

/// Reads a `matrix.json` of exhibit's own format.
pub(super) fn own(
    inventory: &Inventory,
    file: &str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<Option<Matrix>, Error> {
    if !is_known_format(inventory, file, super::MATRIX_FORMAT, limits, findings)? {
        return Ok(None);
    }
    let Some(bytes) = document::bytes(inventory, file, limits, findings)? else { return Ok(None) };
    // All that the schema finds is told; the types would stop at the first.
    let faults = FORMAT.schema_faults(&bytes).map_err(Error::Usage)?;
    if !faults.is_empty() {
        findings.extend(faults.into_iter().map(|(pointer, why)| broken(file, None, &pointer, why)));
        return Ok(None);
    }
    let document = typed::<Object<MatrixDocument>>(&bytes, file, None, limits, findings);
    Ok(document.and_then(|Object(document)| {
        findings.extend(document.faults().into_iter().map(|(pointer, why)| broken(file, None, &pointer, why)));
        let cases = document.cases.into_iter().map(|case| Case { id: case.id, expected: case.expected });
        matrix(Some(document.name), cases, file, findings)
    }))
}

/// Whether a document names the format `known`. One of a newer major version is an error, anything else a finding.
pub(super) fn is_known_format(
    inventory: &Inventory,
    file: &str,
    known: &'static str,
    limits: &Limits,
    findings: &mut Findings,
) -> Result<bool, Error> {
    let Some(Object(head)) = read::<Object<Head>>(inventory, file, limits, findings)? else { return Ok(false) };
    if head.format == known {
        return Ok(true);
    }
    let family = known.rsplit_once('/').map_or(known, |(family, _)| family);
    let version = head.format.strip_prefix(family).and_then(|rest| rest.strip_prefix('/'));
    let is_number = |digits: &str| !digits.starts_with('0') && digits.bytes().all(|byte| byte.is_ascii_digit());
    if version.is_some_and(|version| !version.is_empty() && is_number(version)) {
        let found = shown(&head.format);
        return Err(Error::UnknownFormat { place: file.to_owned(), found, known, advice: ADVICE });
    }
    let message = "the document does not name the format that its place asks for";
    findings.push(broken(file, None, "/format", message).values(shown(&head.format), known));
    Ok(false)
}

/// Why a string can't be a case's id: it names a folder of the run.
pub(super) fn id_fault(id: &str) -> Option<String> {
    match EntryName::new(id) {
        Err(fault) => Some(format!("the case id {:?} {fault}", shown(id))),
        Ok(_) if id.contains('/') => Some(format!("the case id {:?} has a slash", shown(id))),
        Ok(_) => None,
    }
}

fn matrix(
    name: Option<String>,
    cases: impl Iterator<Item = Case>,
    file: &str,
    findings: &mut Findings,
) -> Option<Matrix> {
    let mut matrix = Matrix { name, cases: Vec::new(), by_id: BTreeMap::new() };
    for (index, case) in cases.enumerate() {
        let pointer = format!("/cases/{index}/id");
        if let Some(fault) = id_fault(&case.id) {
            findings.push(broken(file, None, &pointer, fault));
        } else if matrix.by_id.contains_key(&case.id) {
            findings.push(broken(file, None, &pointer, format!("the case {} is listed twice", case.id)));
        } else {
            matrix.by_id.insert(case.id.clone(), matrix.cases.len());
            matrix.cases.push(case);
        }
    }
    if matrix.cases.is_empty() {
        findings.push(broken(file, None, "/cases", "the matrix asks for no case"));
        return None;
    }
    Some(matrix)
}
