//! Owns the reading of historical attempts: `results.jsonl`, `provenance.json` and the records beside them.
//!
//! Refuses what contradicts itself; tolerates fields that other people's programs added. What a record says of its
//! rows and its wire is not judged here. Invariant: a required fact that is missing or of another type is a finding
//! with line and JSON pointer, never a default.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::binding::{self, Bound, Recorded};
use super::check::{self, Check, Checked, Record};
use super::document::{self, Line, Lines, Object, broken, each_line, place, pointer_part, shown};
use super::spec;
use super::{Kind, Request, RunReport, Status, time};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Findings, Place};
use crate::limits::Limits;
use crate::name::EntryName;
use crate::tree::Inventory;

/// The documents of an attempt that no record names.
const DOCUMENTS: [&str; 4] = ["results.jsonl", "provenance.json", "SUMMARY.json", "MATRIX.md"];

#[derive(Deserialize, Default)]
struct Provenance {
    source_head: Option<String>,
    source_hashes: Option<BTreeMap<String, Sha256>>,
}

/// What a line of `results.jsonl` says of the sources.
#[derive(Deserialize)]
struct Sourced {
    source_hashes: Option<BTreeMap<String, Sha256>>,
}

/// The sources that the run recorded, and the document that says so.
struct Sources {
    file: String,
    line: Option<u64>,
    hashes: Option<BTreeMap<String, Sha256>>,
}

/// One line of `results.jsonl`. Facts that only one of the study's two programs wrote are optional.
#[derive(Deserialize)]
struct Attempted {
    case_id: String,
    expected: String,
    status: Status,
    artifact_hashes: Option<BTreeMap<String, Sha256>>,
    process_exit_codes: Option<Vec<Option<i64>>>,
    source_head: Option<String>,
    source_hashes: Option<BTreeMap<String, Sha256>>,
    missing_api: Option<String>,
    verification_error: Option<String>,
    observed: Option<Object<Observed>>,
}

#[derive(Deserialize)]
struct Observed {
    missing_api: Option<String>,
}

/// What a case's test wrote of itself.
#[derive(Deserialize)]
struct TestRecord {
    case_id: String,
    status: Status,
    process_exit_codes: Option<Vec<Option<i64>>>,
}

/// One attempt while it is read.
struct Attempt<'a> {
    check: Check<'a>,
    source_head: Option<String>,
    sources: Sources,
    results: String,
    limits: &'a Limits,
}

/// Reads and checks an attempt.
pub(super) fn load(inventory: &Inventory, request: &Request<'_>, limits: &Limits) -> Result<RunReport, Error> {
    let mut findings = Findings::new(limits.max_findings);
    let provenance_file = format!("{}/provenance.json", request.run);
    let read = document::read::<Object<Provenance>>(inventory, &provenance_file, limits, &mut findings)?;
    let is_readable = read.is_some();
    let provenance = read.map(|Object(provenance)| provenance).unwrap_or_default();
    let results = format!("{}/results.jsonl", request.run);
    let sources = if is_readable && provenance.source_hashes.is_none() {
        Sources::of_records(inventory, &results, limits)?
    } else {
        Sources { file: provenance_file, line: None, hashes: provenance.source_hashes }
    };
    // Where the provenance can't be read, that it names no matrix is nothing more that is wrong.
    let spec = if is_readable || request.spec.is_some() {
        find_spec(inventory, request, &sources, &mut findings)
    } else {
        None
    };
    let matrix = match &spec {
        Some(spec) => spec::historical(inventory, spec, limits, &mut findings)?,
        None => None,
    };

    let check = Check::new(inventory, request, matrix);
    let source_head = provenance.source_head;
    let mut attempt = Attempt { check, source_head, sources, results: results.clone(), limits };
    let is_whole = each_line(inventory, &results, limits, &mut findings, |line, Object(record), findings| {
        // A provenance that can't be read is one finding, not one for each record.
        if is_readable {
            attempt.sources(line, &record, findings);
        }
        attempt.record(line, &record, findings)
    })?;
    let Attempt { check, source_head, sources, .. } = attempt;
    if is_whole {
        check.account(&DOCUMENTS, |rest| is_requested_log(&check, rest), &mut findings);
    }
    let checked = check.finish(&results, is_whole, &mut findings);

    report(inventory, request, limits, Gathered { source_head, sources, spec, checked, findings })
}

/// What reading leaves for the report.
struct Gathered {
    source_head: Option<String>,
    sources: Sources,
    spec: Option<String>,
    checked: Checked,
    findings: Findings,
}

fn report(
    inventory: &Inventory,
    request: &Request<'_>,
    limits: &Limits,
    gathered: Gathered,
) -> Result<RunReport, Error> {
    let Gathered { source_head, sources, spec, mut checked, mut findings } = gathered;
    let Sources { file, line, hashes } = sources;
    let sources = hashes.unwrap_or_default();
    let recorded = Recorded {
        head: source_head.as_deref(),
        sources: &sources,
        at: (&file, line, "/source_hashes"),
        spec: spec.as_deref(),
        made_data: false,
    };
    let bound = binding::bind(inventory, request, &recorded, limits, &mut findings)?;
    let companions = check::companions(inventory, spec.as_deref(), &bound);
    checked.take(&bound.snapshots);
    let mut assertions = check::assertions(request, false, &checked);
    if let Some(head) = &source_head {
        assertions.push(format!("the run was made from the sources of commit {}", shown(head)));
    }
    let Bound { binding, snapshots, absent, assertions: more } = bound;
    assertions.extend(more);
    let id = check::id(request);
    Ok(RunReport {
        path: request.run.to_owned(),
        kind: Kind::Historical,
        project: None,
        created: time::of_attempt(&id),
        id,
        made_data: false,
        source_head,
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

/// The matrix in the tree: the one asked for, or the only one whose digest the run recorded.
fn find_spec(
    inventory: &Inventory,
    request: &Request<'_>,
    sources: &Sources,
    findings: &mut Findings,
) -> Option<String> {
    let hashes = sources.hashes.as_ref();
    let mut specs = hashes.into_iter().flatten().filter(|(path, _)| super::last_part(path) == "matrix-spec.json");
    let only = specs.next().filter(|_| specs.next().is_none());
    let Some(path) = request.spec.or(only.map(|(path, _)| path.as_str())) else {
        let message = "the run does not record which matrix it ran".to_owned();
        findings.push(check::spec_missing(sources.at("/source_hashes"), message));
        return None;
    };
    if inventory.file(path).is_none() {
        if !request.told.contains(path) {
            let message = format!("the matrix {} is not there", shown(path));
            findings.push(check::spec_missing(sources.at(""), message));
        }
        return None;
    }
    // A matrix given from outside is held against the only one that the run recorded, wherever it lay.
    let recorded = hashes.and_then(|hashes| hashes.get_key_value(path)).or(only);
    if let Some((key, recorded)) = recorded {
        let at = sources.at(&format!("/source_hashes/{}", pointer_part(key)));
        check::same_spec(inventory, request, path, *recorded, at, findings);
    }
    Some(path.to_owned())
}

impl Sources {
    /// Those of the first record that names any: not every provenance does.
    fn of_records(inventory: &Inventory, results: &str, limits: &Limits) -> Result<Self, Error> {
        let mut lines = Lines::new(inventory.open_file(results)?, limits.max_line);
        let mut found = Self { file: results.to_owned(), line: Some(1), hashes: None };
        // What is wrong with a line is said when the records are read.
        let mut unheard = Findings::new(0);
        for number in 1..=limits.max_entries {
            let line = lines.next().map_err(Error::io("read", &inventory.path().join(results)))?;
            let Some(Line::Whole(bytes)) = line else { break };
            let record = document::typed::<Object<Sourced>>(&bytes, results, None, limits, &mut unheard);
            found.hashes = record.and_then(|Object(record)| record.source_hashes);
            if found.hashes.is_some() {
                found.line = Some(number);
                break;
            }
        }
        Ok(found)
    }

    fn at(&self, pointer: &str) -> Place {
        place(&self.file, self.line, pointer)
    }
}

impl Attempt<'_> {
    /// Checks one record but for its sources.
    fn record(&mut self, line: u64, record: &Attempted, findings: &mut Findings) -> Result<(), Error> {
        let observed = record.observed.as_ref().and_then(|Object(observed)| observed.missing_api.as_deref());
        let texts = [record.missing_api.as_deref(), record.verification_error.as_deref(), observed];
        let facts = Record {
            case: &record.case_id,
            expected: &record.expected,
            status: record.status,
            missing_api: texts.into_iter().flatten().find(|text| !text.trim().is_empty()),
        };
        self.check.result(&facts, &place(&self.results, Some(line), ""), "/case_id", findings);
        match &record.artifact_hashes {
            Some(artifacts) => {
                for (path, recorded) in artifacts {
                    self.artifact(line, path, *recorded, findings);
                }
            }
            None if record.status == Status::MachineryError => {}
            None => findings.push(broken(
                &self.results,
                Some(line),
                "/artifact_hashes",
                "only a case that ended in an error of the machinery may name no files",
            )),
        }
        if spec::id_fault(&record.case_id).is_some() {
            return Ok(());
        }
        self.test_record(record, findings)
    }

    fn artifact(&mut self, line: u64, path: &str, recorded: Sha256, findings: &mut Findings) {
        let pointer = format!("/artifact_hashes/{}", pointer_part(path));
        let fault = match EntryName::new(path) {
            Err(fault) => Some(fault.reason),
            Ok(name) if name.below(self.check.request.run).is_none() => {
                let here = self.check.request.run;
                Some(format!("lies outside the attempt, which is at {here} below this root: was it moved?"))
            }
            Ok(_) => None,
        };
        match fault {
            Some(fault) => {
                let message = format!("the path {:?} {fault}", shown(path));
                findings.push(broken(&self.results, Some(line), &pointer, message));
            }
            None => self.check.artifact(path, recorded, place(&self.results, Some(line), &pointer), findings),
        }
    }

    /// Holds a record's sources against the run's.
    fn sources(&self, line: u64, record: &Attempted, findings: &mut Findings) {
        let (file, line) = (self.results.as_str(), Some(line));
        if record.source_head.is_some() && record.source_head != self.source_head {
            let what = "the record and provenance.json name different source commits";
            let values = [&record.source_head, &self.source_head].map(|head| head.as_deref().unwrap_or("none"));
            findings.push(check::unequal(file, line, "/source_head", what, values));
        }
        let Some(recorded) = &record.source_hashes else { return };
        let none = BTreeMap::new();
        let run = self.sources.hashes.as_ref().unwrap_or(&none);
        let differing = recorded.iter().find(|(path, hash)| run.get(*path) != Some(hash));
        let lacking = || run.iter().find(|(path, _)| !recorded.contains_key(*path));
        if let Some((path, _)) = differing.or_else(lacking) {
            let pointer = format!("/source_hashes/{}", pointer_part(path));
            let text = |hashes: &BTreeMap<String, Sha256>| {
                hashes.get(path).map_or_else(|| "none".to_owned(), Sha256::to_string)
            };
            let origin = self.sources.line.map_or_else(|| "provenance.json".to_owned(), |line| format!("line {line}"));
            let what = format!("the record and {origin} name different digests of {}", shown(path));
            findings.push(check::unequal(file, line, &pointer, &what, [&text(recorded), &text(run)]));
        }
    }

    /// Holds the case's own record against the result.
    fn test_record(&self, record: &Attempted, findings: &mut Findings) -> Result<(), Error> {
        let inventory = self.check.inventory;
        let file = format!("{}/case-{}.test-record.jsonl", self.check.request.run, record.case_id);
        if inventory.file(&file).is_none() {
            return Ok(());
        }
        let read = document::read::<Object<TestRecord>>(inventory, &file, self.limits, findings)?;
        let Some(Object(test)) = read else { return Ok(()) };
        let mut compare = |pointer: &str, recorded: String, computed: String| {
            if recorded != computed {
                let what = format!("the test of case {} and its result say different things", record.case_id);
                findings.push(check::unequal(&file, Some(1), pointer, &what, [&recorded, &computed]));
            }
        };
        compare("/case_id", test.case_id, record.case_id.clone());
        // An error of the machinery says that what the test wrote was not taken.
        if record.status != Status::MachineryError {
            compare("/status", status_text(test.status), status_text(record.status));
            compare(
                "/process_exit_codes",
                codes(test.process_exit_codes.as_ref()),
                codes(record.process_exit_codes.as_ref()),
            );
        }
        Ok(())
    }
}

/// Whether a file is a log of pytest for a case that was asked for: logs may go unnamed.
fn is_requested_log(check: &Check<'_>, rest: &str) -> bool {
    let case = rest
        .strip_prefix("case-")
        .and_then(|name| name.strip_suffix(".pytest.stdout.log").or_else(|| name.strip_suffix(".pytest.stderr.log")));
    case.is_some_and(|case| check.is_requested(case))
}

fn status_text(status: Status) -> String {
    match status {
        Status::Pass => "pass",
        Status::Fail => "fail",
        Status::Unsupported => "unsupported",
        Status::MachineryError => "machinery_error",
    }
    .to_owned()
}

fn codes(codes: Option<&Vec<Option<i64>>>) -> String {
    let text = |code: &Option<i64>| code.map_or_else(|| "null".to_owned(), |code| code.to_string());
    codes.map_or_else(
        || "none".to_owned(),
        |codes| format!("[{}]", codes.iter().map(text).collect::<Vec<_>>().join(",")),
    )
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::path::Path;

    use serde_json::json;

    use super::super::made::{HEAD, Made, attempt};
    use super::*;
    use crate::finding::{Code, Finding};

    /// A change of the valid attempt and all that is found of it.
    type Row = (&'static str, fn(&mut Made), &'static [&'static str]);

    fn artifact(made: &Made, name: &str) -> String {
        made.path(name)
    }

    fn check_rows(rows: &[Row]) {
        for (what, change, want) in rows {
            let mut made = attempt();
            change(&mut made);
            assert_eq!(made.found(), *want, "{what}");
        }
    }

    #[test]
    fn the_valid_attempt_has_no_findings_and_all_its_facts() {
        let report = attempt().load().unwrap();
        assert_eq!(report.findings.iter().collect::<Vec<_>>(), Vec::<&Finding>::new());
        assert_eq!((report.kind, report.made_data), (Kind::Historical, false));
        assert_eq!(report.id, "attempt-20260922T220129Z-1790114489061895000");
        assert_eq!(report.created.as_deref(), Some("2026-09-22T22:01:29Z"));
        assert_eq!(report.source_head.as_deref(), Some(HEAD));
        assert_eq!(report.spec.as_deref(), Some("docs/matrix-spec.json"));
        assert_eq!(report.companions, ["docs/PROTOCOL.md", "docs/matrix-spec.json"]);
        assert_eq!(report.sources_absent, ["reference/backend.py"]);
        let rows: Vec<_> = report.cases.iter().map(|case| (case.id.as_str(), case.status)).collect();
        assert_eq!(rows, [("01", Some(Status::Pass)), ("02", Some(Status::Unsupported)), ("03", Some(Status::Pass))]);
    }

    const AGAINST_THE_MATRIX: &[Row] = &[
        (
            "no result",
            |m| {
                let mut r = m.results();
                r.pop();
                m.put_results(&r);
                for n in ["case-03.test-record.jsonl", "case-03/server.transcript.log"] {
                    m.remove(n);
                }
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
            &["run-case-repeated results.jsonl:4 /case_id"],
        ),
        (
            "unrequested",
            |m| {
                let mut r = m.results();
                let mut more = r[2].clone();
                more["case_id"] = json!("04");
                more["artifact_hashes"] = json!({});
                r.push(more);
                m.put_results(&r);
            },
            &["run-case-unrequested results.jsonl:4 /case_id"],
        ),
        (
            "expectation",
            |m| m.edit_result(2, |r| r["expected"] = json!("anything")),
            &["run-expectation-differs results.jsonl:3 /expected"],
        ),
        (
            "failed",
            |m| {
                m.edit_result(2, |r| {
                    r["status"] = json!("fail");
                    r["artifact_hashes"] = json!({});
                });
                m.remove("case-03.test-record.jsonl");
                m.remove("case-03/server.transcript.log");
            },
            &["run-case-failed results.jsonl:3 /status"],
        ),
        (
            "machinery",
            |m| {
                m.edit_result(2, |r| { *r = json!({"case_id": "03", "expected": "conflict", "status": "machinery_error", "verification_error": "broke", "artifact_hashes": null, "process_exit_codes": null}); });
                m.remove("case-03.test-record.jsonl");
                m.remove("case-03/server.transcript.log");
            },
            &["run-machinery-error results.jsonl:3 /status"],
        ),
        (
            "machinery, after the test had written",
            |m| {
                m.edit_result(2, |r| {
                    r["status"] = json!("machinery_error");
                    r["process_exit_codes"] = json!(null);
                });
            },
            &["run-machinery-error results.jsonl:3 /status"],
        ),
        (
            "unnamed",
            |m| m.edit_result(1, |r| r["missing_api"] = json!(" ")),
            &["run-unsupported-unnamed results.jsonl:2 /status"],
        ),
        (
            "named elsewhere",
            |m| {
                m.edit_result(1, |r| {
                    r["missing_api"] = json!(null);
                    r["observed"] = json!({"missing_api": "x"});
                });
            },
            &[],
        ),
        (
            "named in the error",
            |m| {
                m.edit_result(1, |r| {
                    r["missing_api"] = json!(null);
                    r["verification_error"] = json!("no x");
                });
            },
            &[],
        ),
    ];

    #[test]
    fn results_are_held_against_the_matrix() {
        check_rows(AGAINST_THE_MATRIX);
    }

    const OF_THE_MATRIX: &[Row] = &[
        (
            "changed",
            |m| m.edit("docs/matrix-spec.json", |s| s["protocol_date"] = json!("2026-09-23")),
            &["run-spec-differs provenance.json /source_hashes/docs~1matrix-spec.json"],
        ),
        (
            "gone",
            |m| {
                m.files.remove("docs/matrix-spec.json");
            },
            &["run-spec-missing provenance.json"],
        ),
        (
            "given",
            |m| {
                let s = m.files["docs/matrix-spec.json"].clone();
                m.files.remove("docs/matrix-spec.json");
                m.put("other/spec.json", s);
                m.spec = Some("other/spec.json".into());
            },
            &[],
        ),
        (
            "given, another",
            |m| {
                m.put("other/spec.json", r#"{"schema_version":1,"cases":[{"id":"01","name":"n","expected":"one_effect"},{"id":"02","name":"n","expected":"unknown"},{"id":"03","name":"n","expected":"conflict"}]}"#);
                m.spec = Some("other/spec.json".into());
            },
            &["run-spec-differs provenance.json /source_hashes/docs~1matrix-spec.json"],
        ),
        ("given, not there", |m| m.spec = Some("other/spec.json".into()), &["run-spec-missing provenance.json"]),
    ];

    #[test]
    fn the_matrix_is_the_recorded_one() {
        check_rows(OF_THE_MATRIX);
        for (bad, pointer) in [
            (json!({"schema_version": true, "cases": []}), "/schema_version"),
            (json!({"schema_version": 1.5, "cases": []}), "/schema_version"),
            (json!({"schema_version": 0, "cases": []}), "/schema_version"),
            (json!({"schema_version": 1, "cases": []}), "/cases"),
            (json!({"schema_version": 1, "cases": [["01", "n", "e"]]}), "/cases/0"),
            (json!({"schema_version": 1, "cases": [{"id": "01", "name": "n", "expected": 1}]}), "/cases/0/expected"),
            (
                json!({"schema_version": 1, "cases": [{"id": "01", "name": "n", "expected": "one_effect"}, {"id": "01", "name": "n", "expected": "e"}]}),
                "/cases/1/id",
            ),
            (json!({"schema_version": 1, "cases": [{"id": "..", "name": "n", "expected": "e"}]}), "/cases/0/id"),
        ] {
            let mut made = attempt();
            made.put("docs/matrix-spec.json", bad.to_string());
            let is_wanted = |found: &String| {
                found.starts_with("run-record docs/matrix-spec.json") && found.ends_with(&format!(" {pointer}"))
            };
            assert!(made.found().iter().any(is_wanted), "{pointer}: {:?}", made.found());
        }
        let mut made = attempt();
        made.edit("docs/matrix-spec.json", |spec| spec["schema_version"] = json!(2));
        assert!(matches!(made.load(), Err(Error::UnknownFormat { .. })));
    }

    const OF_FILES: &[Row] = &[
        (
            "changed",
            |m| m.put(&artifact(m, "case-03/server.transcript.log"), "> {}\n"),
            &[
                "run-artifact-changed results.jsonl:3 /artifact_hashes/docs~1raw~1attempt-20260922T220129Z-1790114489061895000~1case-03~1server.transcript.log",
            ],
        ),
        (
            "absent",
            |m| m.remove("case-03/server.transcript.log"),
            &[
                "run-artifact-absent results.jsonl:3 /artifact_hashes/docs~1raw~1attempt-20260922T220129Z-1790114489061895000~1case-03~1server.transcript.log",
            ],
        ),
        (
            "disclosed",
            |m| {
                m.remove("case-03/server.transcript.log");
                m.disclosed.insert(artifact(m, "case-03/server.transcript.log"), "too large".into());
            },
            &[],
        ),
        (
            "outside",
            |m| m.edit_result(2, |r| r["artifact_hashes"]["docs/PROTOCOL.md"] = json!("0".repeat(64))),
            &["run-record results.jsonl:3 /artifact_hashes/docs~1PROTOCOL.md"],
        ),
        (
            "climbing",
            |m| m.edit_result(2, |r| r["artifact_hashes"]["../x"] = json!("0".repeat(64))),
            &["run-record results.jsonl:3 /artifact_hashes/..~1x"],
        ),
        ("unaccounted", |m| m.put(&artifact(m, "case-03/notes.txt"), "x"), &["run-file-unaccounted case-03/notes.txt"]),
        (
            "a log of no case",
            |m| m.put(&artifact(m, "case-09.pytest.stdout.log"), "x"),
            &["run-file-unaccounted case-09.pytest.stdout.log"],
        ),
        (
            "an unnamed record",
            |m| {
                m.edit_result(2, |r| {
                    r["artifact_hashes"]
                        .as_object_mut()
                        .unwrap()
                        .retain(|path, _| !path.ends_with(".test-record.jsonl"));
                });
            },
            &["run-file-unaccounted case-03.test-record.jsonl"],
        ),
        (
            "a journal that is not named",
            |m| m.put(&artifact(m, "case-01/store.sqlite3-wal"), "x"),
            &["run-sidecar case-01/store.sqlite3-wal"],
        ),
        (
            "a journal of nothing",
            |m| m.put(&artifact(m, "case-03/store.sqlite3-wal"), "x"),
            &["run-file-unaccounted case-03/store.sqlite3-wal"],
        ),
    ];

    #[test]
    fn files_are_the_recorded_ones() {
        check_rows(OF_FILES);
        let mut made = attempt();
        let path = made.path("case-03/server.transcript.log");
        let private = made.sha256(&path).parse().unwrap();
        made.derivatives.insert(path.clone(), private);
        made.put(&path, "redacted");
        let report = made.load().unwrap();
        assert_eq!((made.codes(), report.not_recheckable), (vec![], vec![path.clone()]));
        made.derivatives.insert(path, Sha256::of(b"another original"));
        assert_eq!(made.codes(), [Code::RunArtifactChanged]);
    }

    #[test]
    fn absence_that_was_disclosed_is_listed() {
        let mut made = attempt();
        let path = made.path("case-03/server.transcript.log");
        let recorded = made.sha256(&path);
        made.remove("case-03/server.transcript.log");
        made.disclosed.insert(path.clone(), "too large".to_owned());
        let absent = made.load().unwrap().absent;
        assert_eq!(absent.len(), 1);
        assert_eq!(
            (&absent[0].path, absent[0].sha256.to_string(), absent[0].why.as_str()),
            (&path, recorded, "too large")
        );
    }

    const OF_DOCUMENTS: &[Row] = &[
        (
            "twice a key",
            |m| {
                let p = m.path("results.jsonl");
                let t = String::from_utf8(m.files[&p].clone()).unwrap().replacen(
                    "{\"artifact_hashes\"",
                    "{\"status\":\"pass\",\"artifact_hashes\"",
                    1,
                );
                m.put(&p, t);
            },
            &["json-duplicate-key results.jsonl:1 /status"],
        ),
        ("status", |m| m.edit_result(2, |r| r["status"] = json!("skipped")), &["run-record results.jsonl:3 /status"]),
        ("type", |m| m.edit_result(2, |r| r["expected"] = json!(3)), &["run-record results.jsonl:3 /expected"]),
        (
            "no files",
            |m| {
                m.edit_result(2, |r| {
                    r.as_object_mut().unwrap().remove("artifact_hashes");
                });
            },
            &[
                "run-record results.jsonl:3 /artifact_hashes",
                "run-file-unaccounted case-03.test-record.jsonl",
                "run-file-unaccounted case-03/server.transcript.log",
            ],
        ),
        (
            "head",
            |m| m.edit_result(2, |r| r["source_head"] = json!("0".repeat(40))),
            &["run-record results.jsonl:3 /source_head"],
        ),
        (
            "no head",
            |m| {
                m.edit_result(2, |r| {
                    r.as_object_mut().unwrap().remove("source_head");
                });
            },
            &[],
        ),
        (
            "sources",
            |m| m.edit_result(2, |r| r["source_hashes"]["reference/backend.py"] = json!("0".repeat(64))),
            &["run-record results.jsonl:3 /source_hashes/reference~1backend.py"],
        ),
        (
            "fewer sources",
            |m| {
                m.edit_result(2, |r| {
                    r["source_hashes"].as_object_mut().unwrap().remove("reference/backend.py");
                });
            },
            &["run-record results.jsonl:3 /source_hashes/reference~1backend.py"],
        ),
        (
            "id",
            |m| m.edit_result(2, |r| r["case_id"] = json!("../03")),
            &["run-record results.jsonl:3 /case_id", "run-case-missing results.jsonl"],
        ),
        ("more fields", |m| m.edit_result(2, |r| r["jsonrpc_errors"] = json!([{"code": 1}])), &[]),
        (
            "blank line",
            |m| {
                let p = m.path("results.jsonl");
                m.files.get_mut(&p).unwrap().push(b'\n');
            },
            &["json-syntax results.jsonl:4"],
        ),
        (
            "cut",
            |m| {
                let p = m.path("results.jsonl");
                m.files.get_mut(&p).unwrap().truncate(900);
            },
            &["json-syntax results.jsonl:1 /source_hashes"],
        ),
        (
            "an array",
            |m| {
                let p = m.path("results.jsonl");
                m.put(&p, "[\"01\"]\n");
            },
            &["run-record results.jsonl:1"],
        ),
        (
            "no provenance",
            |m| {
                let p = m.path("provenance.json");
                m.put(&p, "[]");
            },
            &["run-record provenance.json:1"],
        ),
        (
            "long",
            |m| {
                let longest = m.results().iter().map(|r| r.to_string().len()).max().unwrap();
                m.limits.max_line = longest - 1;
            },
            &["run-record results.jsonl:1"],
        ),
        (
            "as long as allowed",
            |m| m.limits.max_line = m.results().iter().map(|r| r.to_string().len()).max().unwrap(),
            &[],
        ),
        ("more records than allowed", |m| m.limits.max_entries = 2, &["run-record results.jsonl:3"]),
        (
            "a document as long as allowed",
            |m| m.limits.max_document = m.files[&m.path("provenance.json")].len() as u64,
            &[],
        ),
        (
            "one byte longer",
            |m| m.limits.max_document = m.files[&m.path("provenance.json")].len() as u64 - 1,
            &["run-record provenance.json"],
        ),
    ];

    #[test]
    fn documents_are_strict_and_agree() {
        check_rows(OF_DOCUMENTS);
    }

    #[test]
    fn a_provenance_without_sources_leaves_them_to_the_records() {
        let without = || {
            let mut made = attempt();
            let provenance = made.path("provenance.json");
            made.edit(&provenance, |p| {
                p.as_object_mut().unwrap().retain(|key, _| key != "source_hashes" && key != "source_head");
            });
            let mut results = made.results();
            results.iter_mut().for_each(|r| drop(r.as_object_mut().unwrap().remove("source_head")));
            made.put_results(&results);
            made
        };
        let report = without().load().unwrap();
        assert_eq!(without().found(), Vec::<String>::new());
        assert_eq!(report.spec.as_deref(), Some("docs/matrix-spec.json"));
        assert_eq!(report.sources_absent, ["reference/backend.py"]);
        let mut made = without();
        made.edit_result(0, |r| r["source_hashes"] = json!(null));
        made.edit_result(2, |r| r["source_hashes"]["reference/backend.py"] = json!("0".repeat(64)));
        assert_eq!(made.found(), ["run-record results.jsonl:3 /source_hashes/reference~1backend.py"]);
        assert!(made.load().unwrap().findings.iter().all(|finding| finding.message.contains("line 2")));
    }

    #[test]
    fn a_cases_own_record_agrees_with_its_result() {
        let path = "case-03.test-record.jsonl";
        for (field, value) in [
            ("case_id", json!("02")),
            ("status", json!("fail")),
            ("process_exit_codes", json!([-9])),
            ("process_exit_codes", json!(null)),
        ] {
            let mut made = attempt();
            let record = made.path(path);
            made.edit(&record, |test| test[field] = value);
            let digest = made.sha256(&record);
            made.edit_result(2, |result| result["artifact_hashes"][record] = json!(digest));
            assert_eq!(made.found(), [format!("run-record {path}:1 /{field}")]);
        }
    }

    fn with_snapshot() -> Made {
        let mut made = attempt();
        let archive = "docs/source-snapshots/final.tar.gz";
        let sources = made.results()[0]["source_hashes"].clone();
        made.put_snapshot(archive, &sources);
        let snapshot = json!({
            "archive_sha256": made.sha256(archive), "attempt_relative_path": made.run, "module": "m",
            "source_commit": HEAD, "source_hashes": sources,
            "summary_sha256": made.sha256(&made.path("SUMMARY.json")),
        });
        made.put("docs/source-snapshots/final.json", snapshot.to_string());
        made
    }

    const OF_SNAPSHOTS: &[Row] = &[
        (
            "another commit's",
            |m| m.edit("docs/source-snapshots/final.json", |s| s["source_commit"] = json!("0")),
            &["run-record docs/source-snapshots/final.json /source_commit"],
        ),
        (
            "another attempt's of another commit",
            |m| {
                m.edit("docs/source-snapshots/final.json", |s| {
                    s["source_commit"] = json!("0");
                    s["attempt_relative_path"] = json!("raw/other");
                });
            },
            &[],
        ),
        (
            "another summary",
            |m| m.put(&m.path("SUMMARY.json"), "{\"cases\":3}"),
            &["run-artifact-changed docs/source-snapshots/final.json /summary_sha256"],
        ),
        (
            "another summary, and no record of it",
            |m| {
                m.edit("docs/source-snapshots/final.json", |s| {
                    drop(s.as_object_mut().unwrap().remove("summary_sha256"));
                });
                m.put(&m.path("SUMMARY.json"), "{\"cases\":3}");
            },
            &[],
        ),
        ("no summary", |m| m.remove("SUMMARY.json"), &[]),
        (
            "another attempt's",
            |m| m.edit("docs/source-snapshots/final.json", |s| s["attempt_relative_path"] = json!("raw/other")),
            &[],
        ),
        (
            "other sources",
            |m| m.edit("docs/source-snapshots/final.json", |s| s["source_hashes"] = json!({})),
            &["run-record docs/source-snapshots/final.json /source_hashes"],
        ),
        (
            "another archive",
            |m| m.put("docs/source-snapshots/final.tar.gz", "other"),
            &["run-artifact-changed docs/source-snapshots/final.json /archive_sha256"],
        ),
        (
            "no archive",
            |m| {
                m.files.remove("docs/source-snapshots/final.tar.gz");
            },
            &["run-artifact-absent docs/source-snapshots/final.json /archive_sha256"],
        ),
    ];

    #[test]
    fn a_source_snapshot_belongs_to_its_attempt_alone() {
        let document = "docs/source-snapshots/final.json";
        let made = with_snapshot();
        let report = made.load().unwrap();
        assert_eq!(made.found(), Vec::<String>::new());
        assert_eq!(report.source_snapshots, [document]);
        assert_eq!(report.companions.len(), 4);

        for (what, change, want) in OF_SNAPSHOTS {
            let mut made = with_snapshot();
            change(&mut made);
            assert_eq!(made.found(), *want, "{what}");
        }
    }

    #[test]
    fn a_summary_that_is_not_there_is_told() {
        let mut made = with_snapshot();
        made.remove("SUMMARY.json");
        let said = made.load().unwrap().assertions;
        assert!(said.iter().any(|text| text.contains("SUMMARY.json") && text.ends_with("is not there")), "{said:?}");
    }

    #[test]
    fn an_attempt_without_a_commit_keeps_its_snapshot() {
        let mut made = with_snapshot();
        let provenance = made.path("provenance.json");
        made.edit(&provenance, |p| drop(p.as_object_mut().unwrap().remove("source_head")));
        let mut results = made.results();
        results.iter_mut().for_each(|r| drop(r.as_object_mut().unwrap().remove("source_head")));
        made.put_results(&results);
        assert_eq!(made.found(), Vec::<String>::new());
        assert_eq!(made.load().unwrap().source_snapshots, ["docs/source-snapshots/final.json"]);
    }

    #[test]
    fn the_reference_attempt_loads_without_findings() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/mcr-python-tree");
        if !root.is_dir() {
            println!("skipped: {} is not there", root.display());
            return;
        }
        let limits = Limits::default();
        let (inventory, _) = Inventory::open(&root, &limits, &|_| {}).unwrap();
        let request = Request {
            run: "docs/research-completion-2026-09-22/raw/attempt-20260922T220129Z-1790114489061895000",
            spec: None,
            derivatives: &BTreeMap::new(),
            disclosed: &BTreeMap::new(),
            told: &BTreeSet::new(),
            is_living: false,
        };
        let report = super::super::load(&inventory, &request, &limits).unwrap();
        assert_eq!(report.findings.iter().collect::<Vec<_>>(), Vec::<&Finding>::new());
        assert_eq!(report.spec.as_deref(), Some("docs/research-completion-2026-09-22/matrix-spec.json"));
        assert_eq!(report.cases.len(), 12);
        assert!(report.cases.iter().all(|case| case.status == Some(Status::Pass)));
        assert_eq!(report.sources_absent.len(), 13);
    }
}
