//! Owns the reading of runs in exhibit's own format: `run.json` and `results.jsonl`.
//!
//! Refuses unknown and missing fields, files outside their case's folder, and any difference between the journals
//! that a run declares and those that lie there. Invariant: every file of a run that passed is one of its two
//! documents or is named by a result with its digest.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer};

use super::binding::{self, Bound, Recorded};
use super::check::{self, Check, Record};
use super::document::{self, Object, broken, each_line, nullable, place, pointer_part, shown};
use super::role::SIDECAR_ENDINGS;
use super::spec::{self, Matrix};
use super::{Kind, Request, RunReport, Status, time};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings};
use crate::json;
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::Inventory;

/// The format of `run.json`. Version 1 is the first.
pub const RUN_FORMAT: &str = "exhibit-run/1";

/// The documents of a run that no result names.
const DOCUMENTS: [&str; 2] = ["run.json", "results.jsonl"];

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RunHead {
    #[serde(rename = "format")]
    _format: String,
    id: String,
    project: String,
    matrix: Object<MatrixRef>,
    #[serde(deserialize_with = "nullable")]
    started: Option<String>,
    made: Made,
    provenance: BTreeMap<String, String>,
    #[serde(default, deserialize_with = "some_sources")]
    sources: Option<BTreeMap<EntryName, Sha256>>,
    databases: Vec<Object<Database>>,
}

/// The sources of a run that records any: older runs leave the field out, and none writes it without a source.
fn some_sources<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BTreeMap<EntryName, Sha256>>, D::Error> {
    let sources = BTreeMap::deserialize(deserializer)?;
    if sources.is_empty() {
        Err(serde::de::Error::custom("a run that records sources has at least one"))
    } else {
        Ok(Some(sources))
    }
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct MatrixRef {
    name: String,
    sha256: Sha256,
}

/// Where the data comes from.
#[derive(Deserialize, Clone, Copy, PartialEq, Eq)]
#[serde(rename_all = "snake_case")]
enum Made {
    /// From real processes.
    Recorded,
    /// Made up, for tests and examples.
    MadeData,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Database {
    path: EntryName,
    sidecars: Vec<EntryName>,
}

/// One line of `results.jsonl`. Every field is there, null where it doesn't apply.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct ResultLine {
    case: String,
    expected: String,
    status: Status,
    #[serde(rename = "exit_codes")]
    _exit_codes: BTreeMap<String, i64>,
    artifacts: BTreeMap<String, Sha256>,
    #[serde(deserialize_with = "nullable")]
    missing_api: Option<String>,
    #[serde(rename = "error", deserialize_with = "nullable")]
    _error: Option<String>,
}

/// Reads and checks a run.
pub(super) fn load(inventory: &Inventory, request: &Request<'_>, limits: &Limits) -> Result<RunReport, Error> {
    let mut findings = Findings::new(limits.max_findings);
    let file = format!("{}/run.json", request.run);
    let head = if spec::is_known_format(inventory, &file, RUN_FORMAT, limits, &mut findings)? {
        document::read::<Object<RunHead>>(inventory, &file, limits, &mut findings)?
    } else {
        None
    };
    let head = head.map(|Object(head)| head);
    if let Some(head) = &head {
        check_head(head, request, &file, &mut findings);
    }
    let spec = find_matrix(inventory, request, &file, &mut findings);
    let matrix = match &spec {
        Some(spec) => spec::own(inventory, spec, limits, &mut findings)?,
        None => None,
    };
    if let (Some(head), Some(spec)) = (&head, &spec) {
        check_matrix(inventory, request, (head, &file), (spec, matrix.as_ref()), &mut findings);
    }

    let databases = head.as_ref().map_or(&[][..], |head| &head.databases);
    let results = format!("{}/results.jsonl", request.run);
    let mut run = Run::new(Check::new(inventory, request, matrix), databases);
    let is_whole = if inventory.file(&results).is_some() {
        each_line(inventory, &results, limits, &mut findings, |line, Object(record), findings| {
            run.result(line, &record, &results, findings);
            Ok(())
        })?
    } else {
        if !request.told.contains(&results) {
            findings.push(broken(&results, None, "", "the run has no results"));
        }
        false
    };
    // A head that can't be read is one finding, not one for each journal that it may have declared.
    if head.is_some() {
        run.sidecars(databases, &file, &mut findings);
    }
    if is_whole {
        run.databases_named(databases, &file, &mut findings);
        run.check.account(&DOCUMENTS, |rest| run.reported.contains(rest), &mut findings);
    }
    let checked = run.check.finish(&results, is_whole, &mut findings);
    report(inventory, request, limits, Gathered { file, head, spec, checked, findings })
}

/// What reading leaves for the report.
struct Gathered {
    file: String,
    head: Option<RunHead>,
    spec: Option<String>,
    checked: check::Checked,
    findings: Findings,
}

fn report(
    inventory: &Inventory,
    request: &Request<'_>,
    limits: &Limits,
    gathered: Gathered,
) -> Result<RunReport, Error> {
    let Gathered { file, head, spec, mut checked, mut findings } = gathered;
    let made_data = head.as_ref().is_some_and(|head| head.made == Made::MadeData);
    let provenance = head.as_ref().map(|head| &head.provenance);
    let source_head = provenance.and_then(|provenance| provenance.get("source_head")).cloned();
    let listed = head.as_ref().and_then(|head| head.sources.as_ref()).into_iter().flatten();
    let sources = listed.map(|(path, sha256)| (path.to_string(), *sha256)).collect();
    let recorded = Recorded {
        head: source_head.as_deref(),
        sources: &sources,
        at: (&file, None, "/sources"),
        spec: spec.as_deref(),
        made_data,
    };
    let bound = binding::bind(inventory, request, &recorded, limits, &mut findings)?;
    let companions = check::companions(inventory, spec.as_deref(), &bound);
    checked.take(&bound.snapshots);
    let Bound { binding, snapshots, absent, assertions: more } = bound;
    let mut assertions = check::assertions(request, made_data, &checked);
    let stated = provenance.into_iter().flatten();
    assertions.extend(stated.map(|(key, value)| format!("the run says {}: {}", shown(key), shown(value))));
    assertions.extend(more);
    Ok(RunReport {
        path: request.run.to_owned(),
        kind: Kind::Own,
        id: check::id(request),
        made_data,
        source_head,
        project: head.as_ref().map(|head| head.project.clone()),
        created: head.and_then(|head| head.started).filter(|started| time::is_utc_second(started)),
        spec,
        companions,
        source_snapshots: snapshots.into_iter().map(|found| found.document).collect(),
        sources,
        sources_absent: absent,
        binding,
        cases: checked.cases,
        absent: checked.absent,
        undisclosed: checked.undisclosed,
        not_recheckable: checked.not_recheckable,
        assertions,
        findings,
    })
}

fn check_head(head: &RunHead, request: &Request<'_>, file: &str, findings: &mut Findings) {
    let folder = check::id(request);
    if head.id != folder {
        let what = "the run's id is not its folder's name";
        findings.push(check::unequal(file, None, "/id", what, [&head.id, &folder]));
    }
    if !is_project(&head.project) {
        let message =
            "a project's name is made of a-z, 0-9, dot, underscore and hyphen, and starts with a letter or digit";
        findings.push(broken(file, None, "/project", message));
    }
    if head.started.as_ref().is_some_and(|started| !time::is_utc_second(started)) {
        findings.push(broken(file, None, "/started", "the start is not a time of the form YYYY-MM-DDTHH:MM:SSZ"));
    }
    let mut declared = BTreeSet::new();
    for (index, Object(database)) in head.databases.iter().enumerate() {
        let pointer = format!("/databases/{index}");
        if !declared.insert(database.path.as_str()) {
            findings.push(broken(file, None, &format!("{pointer}/path"), "the database is declared twice"));
        }
        let mut sidecars = BTreeSet::new();
        for (index, sidecar) in database.sidecars.iter().enumerate() {
            let ending = sidecar.as_str().strip_prefix(database.path.as_str()).unwrap_or_default();
            if !SIDECAR_ENDINGS.contains(&ending) || !sidecars.insert(ending) {
                let message = "a sidecar is the database's path and -journal, -wal or -shm, listed once";
                findings.push(broken(file, None, &format!("{pointer}/sidecars/{index}"), message));
            }
        }
    }
}

/// `[a-z0-9][a-z0-9._-]*`, short enough for a folder's name.
fn is_project(text: &str) -> bool {
    let is_alphanumeric = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.len() <= 128
        && text.bytes().next().is_some_and(is_alphanumeric)
        && text.bytes().all(|byte| is_alphanumeric(byte) || b"._-".contains(&byte))
}

/// The matrix: the one asked for, or the one two folders above the run.
fn find_matrix(inventory: &Inventory, request: &Request<'_>, file: &str, findings: &mut Findings) -> Option<String> {
    let above = request.run.rsplit_once('/').map(|(runs, _)| super::beside(runs, "matrix.json"));
    let path = request.spec.map(str::to_owned).or(above);
    let found = path.as_ref().filter(|path| inventory.file(path).is_some()).cloned();
    if found.is_none() && path.as_ref().is_none_or(|path| !request.told.contains(path)) {
        let wanted = path.as_deref().map_or_else(|| "../../matrix.json".to_owned(), shown);
        findings.push(check::spec_missing(place(file, None, "/matrix"), format!("the matrix {wanted} is not there")));
    }
    found
}

fn check_matrix(
    inventory: &Inventory,
    request: &Request<'_>,
    (head, file): (&RunHead, &str),
    (spec, matrix): (&str, Option<&Matrix>),
    findings: &mut Findings,
) {
    let Object(recorded) = &head.matrix;
    let listed = head.sources.iter().flatten().find(|(path, _)| path.as_str() == spec);
    if let Some((_, listed)) = listed.filter(|(_, listed)| **listed != recorded.sha256) {
        let what = "the run records two digests of its matrix";
        let pointer = format!("/sources/{}", pointer_part(spec));
        findings.push(check::unequal(file, None, &pointer, what, [&listed.to_string(), &recorded.sha256.to_string()]));
    }
    let at = place(file, None, "/matrix/sha256");
    check::same_spec(inventory, request, spec, recorded.sha256, at, findings);
    let name = matrix.and_then(|matrix| matrix.name.as_deref());
    if let Some(name) = name.filter(|name| *name != recorded.name) {
        let message = format!("{} has another name than the matrix that was run", shown(spec));
        let finding = Finding::new(Code::RunSpecDiffers, place(file, None, "/matrix/name"), message);
        findings.push(finding.values(shown(&recorded.name), shown(name)));
    }
}

/// One run while it is read.
struct Run<'a> {
    check: Check<'a>,
    /// Journals that `run.json` declares, from the run's folder.
    declared: BTreeSet<String>,
    /// Databases: those declared, and those that a result names.
    databases: BTreeSet<String>,
    /// Declared databases that a result names.
    mentioned: BTreeSet<String>,
    /// Journals that have their finding already.
    reported: BTreeSet<String>,
}

impl<'a> Run<'a> {
    fn new(check: Check<'a>, databases: &[Object<Database>]) -> Self {
        let sidecars = databases.iter().flat_map(|Object(database)| &database.sidecars);
        let declared = sidecars.map(|sidecar| sidecar.as_str().to_owned()).collect();
        let databases = databases.iter().map(|Object(database)| database.path.as_str().to_owned()).collect();
        Self { check, declared, databases, mentioned: BTreeSet::new(), reported: BTreeSet::new() }
    }

    fn in_tree(&self, path: &str) -> String {
        format!("{}/{path}", self.check.request.run)
    }

    fn is_there(&self, path: &str) -> bool {
        self.check.inventory.file(&self.in_tree(path)).is_some()
    }

    fn is_told(&self, path: &str) -> bool {
        self.check.request.told.contains(&self.in_tree(path))
    }

    fn result(&mut self, line: u64, record: &ResultLine, results: &str, findings: &mut Findings) {
        let facts = Record {
            case: &record.case,
            expected: &record.expected,
            status: record.status,
            missing_api: record.missing_api.as_deref(),
        };
        self.check.result(&facts, &place(results, Some(line), ""), "/case", findings);
        let folder = format!("cases/{}", record.case);
        for (path, recorded) in &record.artifacts {
            let pointer = format!("/artifacts/{}", pointer_part(path));
            let fault = match EntryName::new(path) {
                Err(fault) => Some(fault.reason),
                Ok(name) if name.below(&folder).is_none() => Some("lies outside its case's folder".to_owned()),
                Ok(_) => None,
            };
            if let Some(fault) = fault {
                let message = format!("the path {:?} {fault}", shown(path));
                findings.push(broken(results, Some(line), &pointer, message));
                continue;
            }
            if self.databases.contains(path) {
                self.mentioned.insert(path.clone());
            } else if path.ends_with(".sqlite3") && self.is_there(path) {
                self.databases.insert(path.clone());
            }
            // A declared journal that is missing is told with its database, whatever was disclosed.
            if self.is_there(path) || !self.declared.contains(path) {
                let at = place(results, Some(line), &pointer);
                self.check.artifact(&self.in_tree(path), *recorded, at, findings);
            }
        }
    }

    /// Checks that each database that was declared is named by a result.
    fn databases_named(&self, declared: &[Object<Database>], file: &str, findings: &mut Findings) {
        for (index, Object(database)) in declared.iter().enumerate() {
            let path = database.path.as_str();
            if !self.mentioned.contains(path) {
                let message = format!("no result names the database {}", shown(path));
                findings.push(broken(file, None, &format!("/databases/{index}/path"), message));
            }
        }
    }

    /// Checks that each database has exactly the journals that were declared.
    fn sidecars(&mut self, declared: &[Object<Database>], file: &str, findings: &mut Findings) {
        for (index, Object(database)) in declared.iter().enumerate() {
            for (number, sidecar) in database.sidecars.iter().enumerate() {
                if !self.is_there(sidecar.as_str()) && !self.is_told(sidecar.as_str()) {
                    let at = place(file, None, &format!("/databases/{index}/sidecars/{number}"));
                    let message = format!("{} is declared and not there", shown(sidecar.as_str()));
                    findings.push(Finding::new(Code::RunSidecar, at, message));
                }
            }
        }
        for database in &self.databases {
            for ending in SIDECAR_ENDINGS {
                let sidecar = format!("{database}{ending}");
                let path = self.in_tree(&sidecar);
                if self.is_there(&sidecar) && !self.declared.contains(&sidecar) && !self.is_told(&sidecar) {
                    let message = format!("{} lies beside a database, and run.json does not declare it", shown(&path));
                    findings.push(Finding::new(Code::RunSidecar, place(&path, None, ""), message));
                    self.reported.insert(sidecar);
                }
            }
        }
    }
}

/// The mark alone, of a head that is JSON of one meaning.
pub(super) fn says_made_data(head: &[u8], limits: &Limits) -> bool {
    #[derive(Deserialize)]
    struct Mark {
        made: Made,
    }
    let checked = json::check(head, limits.max_depth).is_ok();
    checked && json::read_checked::<Mark>(head, Code::RunRecord).is_ok_and(|mark| mark.made == Made::MadeData)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::super::made::{HEAD, Made, own};
    use super::*;

    /// A change of the valid run and all that is found of it.
    type Row = (&'static str, fn(&mut Made), &'static [&'static str]);

    const MATRIX: &str = "matrices/small/matrix.json";
    const RUN: &str = "matrices/small/runs/r1/run.json";
    const JOURNAL: &str = "cases/01/store.sqlite3-journal";

    fn check_rows(rows: &[Row]) {
        for (what, change, want) in rows {
            let mut made = own();
            change(&mut made);
            assert_eq!(made.found(), *want, "{what}");
        }
    }

    #[test]
    fn the_valid_run_has_no_findings_and_all_its_facts() {
        let report = own().load().unwrap();
        assert_eq!(report.findings.iter().collect::<Vec<_>>(), Vec::<&Finding>::new());
        assert_eq!((report.kind, report.made_data, report.id.as_str()), (Kind::Own, false, "r1"));
        assert_eq!(report.project.as_deref(), Some("made-up"));
        assert_eq!(report.created.as_deref(), Some("2026-09-22T22:01:29Z"));
        assert_eq!(report.source_head.as_deref(), Some(HEAD));
        assert_eq!(report.spec.as_deref(), Some(MATRIX));
        assert_eq!(report.companions, ["matrices/small/PROTOCOL.md", MATRIX]);
        assert_eq!(report.cases.iter().filter(|case| case.status == Some(Status::Pass)).count(), 2);

        let mut made = own();
        made.edit(RUN, |run| run["made"] = json!("made_data"));
        let report = made.load().unwrap();
        assert!(report.made_data && report.assertions.iter().any(|said| said.contains("made up")));
    }

    const AGAINST_THE_MATRIX: &[Row] = &[
        (
            "no result",
            |m| {
                let mut r = m.results();
                r.pop();
                m.put_results(&r);
                m.remove("cases/03/server.transcript.jsonl");
            },
            &["run-case-missing results.jsonl"],
        ),
        (
            "twice",
            |m| {
                let mut r = m.results();
                r.push(r[2].clone());
                m.put_results(&r);
            },
            &["run-case-repeated results.jsonl:4 /case"],
        ),
        (
            "unrequested",
            |m| {
                let mut r = m.results();
                let mut more = r[2].clone();
                more["case"] = json!("04");
                more["artifacts"] = json!({});
                r.push(more);
                m.put_results(&r);
            },
            &["run-case-unrequested results.jsonl:4 /case"],
        ),
        (
            "expectation",
            |m| m.edit_result(2, |r| r["expected"] = json!("anything")),
            &["run-expectation-differs results.jsonl:3 /expected"],
        ),
        ("failed", |m| m.edit_result(2, |r| r["status"] = json!("fail")), &["run-case-failed results.jsonl:3 /status"]),
        (
            "machinery",
            |m| {
                m.edit_result(2, |r| {
                    r["status"] = json!("machinery_error");
                    r["error"] = json!("broke");
                });
            },
            &["run-machinery-error results.jsonl:3 /status"],
        ),
        (
            "unnamed",
            |m| m.edit_result(1, |r| r["missing_api"] = json!(null)),
            &["run-unsupported-unnamed results.jsonl:2 /status"],
        ),
        (
            "an error is no name",
            |m| {
                m.edit_result(1, |r| {
                    r["missing_api"] = json!("");
                    r["error"] = json!("x");
                });
            },
            &["run-unsupported-unnamed results.jsonl:2 /status"],
        ),
    ];

    #[test]
    fn results_are_held_against_the_matrix() {
        check_rows(AGAINST_THE_MATRIX);
    }

    const OF_THE_MATRIX: &[Row] = &[
        (
            "changed",
            |m| m.edit(MATRIX, |s| s["cases"][0]["name"] = json!("other")),
            &["run-spec-differs run.json /matrix/sha256"],
        ),
        (
            "renamed",
            |m| m.edit(RUN, |r| r["matrix"]["name"] = json!("other")),
            &["run-spec-differs run.json /matrix/name"],
        ),
        (
            "gone",
            |m| {
                m.files.remove(MATRIX);
            },
            &["run-spec-missing run.json /matrix"],
        ),
        (
            "given",
            |m| {
                let s = m.files.remove(MATRIX).unwrap();
                m.put("else/m.json", s);
                m.spec = Some("else/m.json".into());
            },
            &[],
        ),
    ];

    #[test]
    fn the_matrix_is_the_recorded_one() {
        check_rows(OF_THE_MATRIX);
    }

    const OF_FILES: &[Row] = &[
        (
            "changed",
            |m| {
                let p = m.path("cases/03/server.transcript.jsonl");
                m.put(&p, "x");
            },
            &["run-artifact-changed results.jsonl:3 /artifacts/cases~103~1server.transcript.jsonl"],
        ),
        (
            "absent",
            |m| m.remove("cases/03/server.transcript.jsonl"),
            &["run-artifact-absent results.jsonl:3 /artifacts/cases~103~1server.transcript.jsonl"],
        ),
        (
            "disclosed",
            |m| {
                m.remove("cases/03/server.transcript.jsonl");
                let p = m.path("cases/03/server.transcript.jsonl");
                m.disclosed.insert(p, "too large".into());
            },
            &[],
        ),
        (
            "redacted",
            |m| {
                let p = m.path("cases/03/server.transcript.jsonl");
                let h = m.sha256(&p).parse().unwrap();
                m.put(&p, "redacted");
                m.derivatives.insert(p, h);
            },
            &[],
        ),
        (
            "redacted, another original",
            |m| {
                let p = m.path("cases/03/server.transcript.jsonl");
                m.derivatives.insert(p, Sha256::of(b"other"));
            },
            &["run-artifact-changed results.jsonl:3 /artifacts/cases~103~1server.transcript.jsonl"],
        ),
        (
            "unaccounted",
            |m| {
                let p = m.path("cases/03/notes.txt");
                m.put(&p, "x");
            },
            &["run-file-unaccounted cases/03/notes.txt"],
        ),
        (
            "another case's",
            |m| m.edit_result(2, |r| r["artifacts"]["cases/01/x"] = json!("0".repeat(64))),
            &["run-record results.jsonl:3 /artifacts/cases~101~1x"],
        ),
        ("a journal is missing", |m| m.remove(JOURNAL), &["run-sidecar run.json /databases/0/sidecars/0"]),
        (
            "disclosing it does not help",
            |m| {
                m.remove(JOURNAL);
                let p = m.path(JOURNAL);
                m.disclosed.insert(p, "lost".into());
            },
            &["run-sidecar run.json /databases/0/sidecars/0"],
        ),
        (
            "a journal is undeclared",
            |m| m.edit(RUN, |r| r["databases"][0]["sidecars"] = json!([])),
            &["run-sidecar cases/01/store.sqlite3-journal"],
        ),
        (
            "its database too",
            |m| m.edit(RUN, |r| r["databases"] = json!([])),
            &["run-sidecar cases/01/store.sqlite3-journal"],
        ),
        (
            "a journal more",
            |m| {
                let p = m.path("cases/01/store.sqlite3-wal");
                m.put(&p, "x");
            },
            &["run-sidecar cases/01/store.sqlite3-wal"],
        ),
        (
            "a declared journal is not named",
            |m| {
                m.edit_result(0, |r| {
                    r["artifacts"].as_object_mut().unwrap().remove(JOURNAL);
                });
            },
            &["run-sidecar cases/01/store.sqlite3-journal"],
        ),
    ];

    #[test]
    fn files_and_journals_are_the_recorded_ones() {
        check_rows(OF_FILES);
    }

    const OF_DOCUMENTS: &[Row] = &[
        ("id", |m| m.edit(RUN, |r| r["id"] = json!("r2")), &["run-record run.json /id"]),
        ("project", |m| m.edit(RUN, |r| r["project"] = json!("Made up")), &["run-record run.json /project"]),
        ("started", |m| m.edit(RUN, |r| r["started"] = json!("yesterday")), &["run-record run.json /started"]),
        ("not started", |m| m.edit(RUN, |r| r["started"] = json!(null)), &[]),
        (
            "a journal of another",
            |m| m.edit(RUN, |r| r["databases"][0]["sidecars"][0] = json!("cases/01/other-journal")),
            &[
                "run-record run.json /databases/0/sidecars/0",
                "run-sidecar run.json /databases/0/sidecars/0",
                "run-sidecar cases/01/store.sqlite3-journal",
            ],
        ),
        (
            "a database of nobody",
            |m| {
                m.edit(RUN, |r| {
                    r["databases"].as_array_mut().unwrap().push(json!({"path": "cases/02/x.db", "sidecars": []}));
                });
            },
            &["run-record run.json /databases/1/path"],
        ),
        (
            "a database twice",
            |m| {
                m.edit(RUN, |r| {
                    let d = r["databases"][0].clone();
                    r["databases"].as_array_mut().unwrap().push(d);
                });
            },
            &["run-record run.json /databases/1/path"],
        ),
        ("format", |m| m.edit(RUN, |r| r["format"] = json!("exhibit-run/01")), &["run-record run.json /format"]),
        ("no results", |m| m.remove("results.jsonl"), &["run-record results.jsonl"]),
        (
            "a key twice",
            |m| {
                let p = m.path("results.jsonl");
                let t = String::from_utf8(m.files[&p].clone()).unwrap().replacen(
                    "\"case\":\"01\"",
                    "\"case\":\"01\",\"case\":\"01\"",
                    1,
                );
                m.put(&p, t);
            },
            &["json-duplicate-key results.jsonl:1 /case"],
        ),
    ];

    #[test]
    fn documents_are_strict() {
        check_rows(OF_DOCUMENTS);
    }

    #[test]
    fn documents_from_the_future_are_refused() {
        for (path, format) in [(RUN, "exhibit-run/2"), (MATRIX, "exhibit-matrix/12")] {
            let mut made = own();
            made.edit(path, |document| {
                document["format"] = json!(format);
                document["new"] = json!(1);
            });
            assert!(matches!(made.load(), Err(Error::UnknownFormat { found, .. }) if found == format), "{path}");
        }
    }

    #[test]
    fn a_folder_that_is_no_run_is_an_error() {
        let mut neither = own();
        neither.remove("run.json");
        let mut both = own();
        let provenance = both.path("provenance.json");
        both.put(&provenance, "{}");
        let mut climbing = own();
        climbing.run = "matrices/../x".to_owned();
        for made in [neither, both, climbing] {
            let error = made.load().unwrap_err();
            assert!(matches!(error, Error::Usage(_)), "{error}");
        }
    }

    fn schema(text: &str) -> jsonschema::Validator {
        jsonschema::draft202012::new(&serde_json::from_str(text).unwrap()).unwrap()
    }

    /// Each field removed, each field null, one field more; `nullable` lists the fields that may be null.
    fn broken_twins(good: &Value, may_be_null: &[&str]) -> Vec<Value> {
        let mut twins = Vec::new();
        for key in good.as_object().unwrap().keys() {
            let mut without = good.clone();
            without.as_object_mut().unwrap().remove(key);
            twins.push(without);
            if !may_be_null.contains(&key.as_str()) {
                let mut null = good.clone();
                null[key] = Value::Null;
                twins.push(null);
            }
        }
        let mut more = good.clone();
        more["more"] = json!(1);
        twins.push(more);
        twins
    }

    #[test]
    fn schemas_and_readers_agree() {
        let made = own();
        let document = |path: &str| serde_json::from_slice::<Value>(&made.files[path]).unwrap();
        let run_schema = schema(include_str!("../../schemas/exhibit-run-1.json"));
        let result_schema = schema(include_str!("../../schemas/exhibit-result-1.json"));
        let matrix_schema = schema(include_str!("../../schemas/exhibit-matrix-1.json"));

        let run = document(RUN);
        assert!(run_schema.is_valid(&run));
        for twin in broken_twins(&run, &["started"]) {
            assert!(!run_schema.is_valid(&twin), "{twin}");
            let mut made = own();
            made.put(RUN, twin.to_string());
            assert!(made.codes().contains(&Code::RunRecord), "{twin}");
        }
        for result in made.results() {
            assert!(result_schema.is_valid(&result));
            for twin in broken_twins(&result, &["missing_api", "error"]) {
                assert!(!result_schema.is_valid(&twin), "{twin}");
                let mut made = own();
                made.edit_result(0, |result| *result = twin.clone());
                assert!(made.codes().contains(&Code::RunRecord), "{twin}");
            }
        }
        let matrix = document(MATRIX);
        assert!(matrix_schema.is_valid(&matrix));
        for twin in broken_twins(&matrix, &[]) {
            assert!(!matrix_schema.is_valid(&twin), "{twin}");
            let mut made = own();
            made.put(MATRIX, twin.to_string());
            assert!(made.codes().contains(&Code::RunRecord), "{twin}");
        }
    }

    #[test]
    fn a_document_that_was_cut_is_never_taken_for_whole() {
        for path in [RUN, MATRIX] {
            let whole = own().files[path].clone();
            for length in (0..whole.len()).step_by(7) {
                let mut made = own();
                made.put(path, &whole[..length]);
                assert_ne!(made.codes(), [], "{path} cut to {length}");
            }
        }
        let results = own().path("results.jsonl");
        let whole = own().files[&results].clone();
        // Without its last line end the file still holds every record.
        for length in (0..whole.len() - 1).step_by(13) {
            let mut made = own();
            made.put(&results, &whole[..length]);
            assert_ne!(made.codes(), [], "results cut to {length}");
        }
    }
}
