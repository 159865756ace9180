//! Owns what must hold in any run, whatever its layout: results against the matrix, recorded digests against files,
//! files against records.
//!
//! Refuses to read documents. Invariant: each result and each file is looked at once, in the order of the documents,
//! and what is kept is bounded by the matrix and the tree, not by what a results file claims.

use std::collections::{BTreeMap, BTreeSet};

use super::binding::Bound;
use super::document::{broken, place, shown};
use super::role::database_of;
use super::snapshot::Found;
use super::spec::{Matrix, id_fault};
use super::{Absent, CaseRow, Request, Status, beside, last_part};
use crate::digest::Sha256;
use crate::finding::{Code, Finding, Findings, Place};
use crate::tree::Inventory;

/// What both layouts record of one case.
pub(super) struct Record<'a> {
    pub(super) case: &'a str,
    pub(super) expected: &'a str,
    pub(super) status: Status,
    /// The text that names the API that is missing.
    pub(super) missing_api: Option<&'a str>,
}

/// The state of checking one run.
pub(super) struct Check<'a> {
    pub(super) inventory: &'a Inventory,
    pub(super) request: &'a Request<'a>,
    matrix: Option<Matrix>,
    seen: BTreeMap<String, (String, Status)>,
    named: BTreeSet<String>,
    absent: BTreeMap<String, Absent>,
    undisclosed: BTreeSet<String>,
    not_recheckable: BTreeSet<String>,
}

/// What checking a run leaves for its report.
pub(super) struct Checked {
    pub(super) cases: Vec<CaseRow>,
    pub(super) absent: Vec<Absent>,
    pub(super) undisclosed: Vec<String>,
    pub(super) not_recheckable: Vec<String>,
}

impl Checked {
    /// Takes in the archives of snapshots that are not there.
    pub(super) fn take(&mut self, snapshots: &[Found]) {
        self.absent.extend(snapshots.iter().filter_map(|found| found.absent.clone()));
        self.undisclosed.extend(snapshots.iter().filter_map(|found| found.undisclosed.clone()));
    }
}

impl<'a> Check<'a> {
    pub(super) fn new(inventory: &'a Inventory, request: &'a Request<'a>, matrix: Option<Matrix>) -> Self {
        let (seen, named, absent) = (BTreeMap::new(), BTreeSet::new(), BTreeMap::new());
        let (undisclosed, not_recheckable) = (BTreeSet::new(), BTreeSet::new());
        Self { inventory, request, matrix, seen, named, absent, undisclosed, not_recheckable }
    }

    /// Whether a result names the file.
    pub(super) fn is_named(&self, path: &str) -> bool {
        self.named.contains(path)
    }

    /// Whether the case was asked for; without a matrix, whether it has a result.
    pub(super) fn is_requested(&self, case: &str) -> bool {
        self.matrix.as_ref().map_or_else(|| self.seen.contains_key(case), |matrix| matrix.case(case).is_some())
    }

    /// Checks one result against the matrix and those before it. `pointer` leads to its case.
    pub(super) fn result(&mut self, record: &Record<'_>, at: &Place, pointer: &str, findings: &mut Findings) {
        let case = record.case;
        let mut add = |code, pointer: &str, message: String| {
            findings.push(Finding::new(code, at.clone().pointer(pointer), message));
        };
        if let Some(fault) = id_fault(case) {
            add(Code::RunRecord, pointer, fault);
            return;
        }
        match (record.status, record.missing_api.is_some_and(|text| !text.trim().is_empty())) {
            (Status::Pass, _) | (Status::Unsupported, true) => {}
            (Status::Fail, _) => add(Code::RunCaseFailed, "/status", format!("case {case} failed")),
            (Status::MachineryError, _) => {
                add(Code::RunMachineryError, "/status", format!("case {case} ended in an error of the test machinery"));
            }
            (Status::Unsupported, false) => {
                let message = format!("case {case} is unsupported and does not name the API that is missing");
                add(Code::RunUnsupportedUnnamed, "/status", message);
            }
        }
        let requested = self.matrix.as_ref().map(|matrix| matrix.case(case));
        match requested {
            Some(None) => {
                add(Code::RunCaseUnrequested, pointer, format!("the matrix does not ask for case {case}"));
                return;
            }
            Some(Some(asked)) if asked.expected != record.expected => {
                let message = format!("case {case} was held against another expectation than the matrix's");
                let finding = Finding::new(Code::RunExpectationDiffers, at.clone().pointer("/expected"), message);
                findings.push(finding.values(shown(record.expected), shown(&asked.expected)));
            }
            Some(Some(_)) | None => {}
        }
        if self.seen.contains_key(case) {
            let message = format!("case {case} has a result before this one");
            findings.push(Finding::new(Code::RunCaseRepeated, at.clone().pointer(pointer), message));
        } else {
            // The text is for a report that has no matrix to show; a hostile one is cut.
            self.seen.insert(case.to_owned(), (shown(record.expected), record.status));
        }
    }

    /// Checks one file that a result names, `path` from the tree's root.
    pub(super) fn artifact(&mut self, path: &str, recorded: Sha256, at: Place, findings: &mut Findings) {
        if self.request.told.contains(path) {
            return;
        }
        let Some(computed) = self.inventory.sha256(path) else {
            if let Some(why) = self.request.disclosed.get(path) {
                let absent = Absent { path: path.to_owned(), sha256: recorded, why: why.clone() };
                self.absent.insert(path.to_owned(), absent);
            } else {
                let message = format!("{} is recorded but not there, and nothing discloses that", shown(path));
                findings.push(Finding::new(Code::RunArtifactAbsent, at, message));
                self.undisclosed.insert(path.to_owned());
            }
            return;
        };
        self.named.insert(path.to_owned());
        let (wanted, message) = match self.request.derivatives.get(path) {
            Some(private) => {
                self.not_recheckable.insert(path.to_owned());
                (*private, "is redacted, and the recorded digest is not that of the approved private original")
            }
            None => (computed, "is not the file that was recorded"),
        };
        if recorded != wanted {
            let finding = Finding::new(Code::RunArtifactChanged, at, format!("{} {message}", shown(path)));
            findings.push(finding.values(recorded, wanted));
        }
    }

    /// Checks that every file of the run is one of its own `documents`, named by a result, or `accepted` all the same.
    /// Journals next to a database get a code of their own.
    pub(super) fn account(&self, documents: &[&str], accepted: impl Fn(&str) -> bool, findings: &mut Findings) {
        for (file, _) in self.inventory.files_below(self.request.run) {
            let Some(rest) = file.name.below(self.request.run) else { continue };
            let path = file.name.as_str();
            if documents.contains(&rest) || self.is_named(path) || self.request.told.contains(path) || accepted(rest) {
                continue;
            }
            let beside_database = database_of(path).is_some_and(|database| self.inventory.file(database).is_some());
            let (code, message) = if beside_database {
                (Code::RunSidecar, "lies beside a database, and the run does not name it")
            } else {
                (Code::RunFileUnaccounted, "is named by no result and is none of the run's own documents")
            };
            findings.push(Finding::new(code, Place::entry(shown(path)), format!("{} {message}", shown(path))));
        }
    }

    /// Checks that every case asked for has a result, where all results could be read, and ends the check.
    pub(super) fn finish(self, results: &str, is_whole: bool, findings: &mut Findings) -> Checked {
        let cases = match &self.matrix {
            None => self.seen.into_iter().map(|(id, (expected, status))| (id, expected, Some(status))).collect(),
            Some(matrix) => {
                let row = |case: &super::spec::Case| {
                    let status = self.seen.get(&case.id).map(|(_, status)| *status);
                    (case.id.clone(), case.expected.clone(), status)
                };
                matrix.cases().iter().map(row).collect::<Vec<_>>()
            }
        };
        for (id, _, _) in cases.iter().filter(|(_, _, status)| is_whole && status.is_none()) {
            let message = format!("the matrix asks for case {id}, and no result is there");
            findings.push(Finding::new(Code::RunCaseMissing, place(results, None, ""), message));
        }
        Checked {
            cases: cases.into_iter().map(|(id, expected, status)| CaseRow { id, expected, status }).collect(),
            absent: self.absent.into_values().collect(),
            undisclosed: self.undisclosed.into_iter().collect(),
            not_recheckable: self.not_recheckable.into_iter().collect(),
        }
    }
}

/// Checks that the matrix in the tree is the one whose digest the run recorded.
pub(super) fn same_spec(
    inventory: &Inventory,
    request: &Request<'_>,
    spec: &str,
    recorded: Sha256,
    at: Place,
    findings: &mut Findings,
) {
    let computed = request.derivatives.get(spec).copied().or_else(|| inventory.sha256(spec));
    let differs = |computed: &Sha256| *computed != recorded && !request.told.contains(spec);
    if let Some(computed) = computed.filter(differs) {
        let message = format!("{} is not the matrix that was run", shown(spec));
        findings.push(Finding::new(Code::RunSpecDiffers, at, message).values(recorded, computed));
    }
}

/// The finding for a matrix that is not in the tree.
pub(super) fn spec_missing(at: Place, message: String) -> Finding {
    Finding::new(Code::RunSpecMissing, at, message)
}

/// Files outside the run's folder that belong with it: the matrix, the protocol that was published beside it, and the
/// snapshots. A protocol that isn't the one that was run belongs to a later one. Sorted.
pub(super) fn companions(inventory: &Inventory, spec: Option<&str>, bound: &Bound) -> Vec<String> {
    let mut companions: BTreeSet<String> = spec.map(str::to_owned).into_iter().collect();
    let protocol = spec.map(|spec| beside(spec, "PROTOCOL.md"));
    companions.extend(protocol.filter(|path| inventory.file(path).is_some() && !bound.absent.contains(path)));
    companions.extend(bound.snapshots.iter().map(|found| found.document.clone()));
    companions.extend(bound.snapshots.iter().filter_map(|found| found.archive.clone()));
    companions.into_iter().collect()
}

/// The sentences on what a reader must take on trust, for any run.
pub(super) fn assertions(request: &Request<'_>, made_data: bool, checked: &Checked) -> Vec<String> {
    let mut said = vec![super::STATUS_ASSERTED.to_owned()];
    if made_data {
        said.push("the data was made up: it was not recorded from real processes".to_owned());
    }
    let folder = format!("{}/", request.run);
    for path in request.derivatives.keys().filter(|path| path.starts_with(&folder)) {
        let why = if checked.not_recheckable.contains(path) {
            "its recorded digest is that of a private original"
        } else {
            "nobody can check what the original said"
        };
        said.push(format!("{} is redacted: {why}", shown(path)));
    }
    let absent = checked.absent.iter().map(|absent| {
        format!("{} is not there ({}): its digest can't be recomputed", shown(&absent.path), shown(&absent.why))
    });
    said.extend(absent);
    said
}

/// The finding for two values of one document that must be equal.
pub(super) fn unequal(file: &str, line: Option<u64>, pointer: &str, what: &str, values: [&str; 2]) -> Finding {
    let [recorded, computed] = values;
    broken(file, line, pointer, what).values(shown(recorded), shown(computed))
}

/// The run's own name, which its folder has.
pub(super) fn id(request: &Request<'_>) -> String {
    last_part(request.run).to_owned()
}
