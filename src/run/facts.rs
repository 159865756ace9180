//! Owns recomputing what a run recorded of its databases: recorded rows against the rows that are there.
//!
//! Refuses to take a recorded row for granted. Invariant: every recorded field that the ledger has is compared, and every
//! row on either side is looked at.

use std::collections::BTreeMap;
use std::fmt::Display;

use serde_json::{Value, json};

use super::matrix::Table;
use crate::finding::{Code, Finding, Place};
use crate::ledger::{OperationState, Rows};
use crate::name::escape;

/// The tables by their recorded names.
const TABLES: [(&str, Table); 5] = [
    ("compensations", Table::Compensations),
    ("events", Table::Events),
    ("issues", Table::Issues),
    ("operations", Table::Operations),
    ("watchers", Table::Watchers),
];

/// A table's rows as columns with values, in the order of [`Rows`].
pub fn rows_of(rows: &Rows, table: Table) -> Vec<BTreeMap<&'static str, Value>> {
    match table {
        Table::Issues => {
            let row =
                |r: &crate::ledger::Issue| [("id", json!(r.id)), ("title", json!(r.title)), ("body", json!(r.body))];
            rows.issues.iter().map(|r| row(r).into()).collect()
        }
        Table::Watchers => {
            rows.watchers.iter().map(|r| [("issue_id", json!(r.issue)), ("name", json!(r.name))].into()).collect()
        }
        Table::Compensations => rows
            .compensations
            .iter()
            .map(|r| [("issue_id", json!(r.issue)), ("kind", json!(r.kind)), ("outcome", json!(r.outcome))].into())
            .collect(),
        Table::Events => rows
            .events
            .iter()
            .map(|r| {
                let step = [("operation_id", json!(r.operation)), ("step", json!(r.step))];
                step.into_iter().chain([("outcome", json!(r.outcome)), ("error_type", json!(r.error))]).collect()
            })
            .collect(),
        Table::Operations => rows.operations.iter().map(operation).collect(),
    }
}

fn operation(row: &crate::ledger::Operation) -> BTreeMap<&'static str, Value> {
    let state = row.state.map(|state| match state {
        OperationState::InProgress => "in_progress",
        OperationState::Applied => "applied",
        OperationState::Partial => "partial",
    });
    BTreeMap::from([
        ("operation_id", json!(row.operation)),
        ("principal", json!(row.principal)),
        ("backend", json!(row.backend)),
        ("request_fingerprint", json!(row.fingerprint)),
        ("state", json!(state)),
        ("effect_id", json!(row.effect)),
        ("result", json!(row.result)),
        ("issued_at", json!(row.issued_at)),
        ("authority_expires_at", json!(row.authority_expires_at)),
        ("replay_expires_at", json!(row.replay_expires_at)),
    ])
}

/// Holds a recorded `independent_db` against the rows of its database, field by field. `at` is the record's file and
/// line. A record without facts, null, has nothing to hold.
pub fn database(recorded: &Value, rows: &Rows, at: &Place) -> Vec<Finding> {
    let mut findings = Vec::new();
    if recorded.is_null() {
        return findings;
    }
    for (name, table) in TABLES {
        let pointer = format!("/independent_db/{name}");
        let Some(list) = recorded.get(name).and_then(Value::as_array) else {
            findings.push(differs(at, &pointer, &"no rows", &"a list of rows"));
            continue;
        };
        compare(list, &rows_of(rows, table), (at, &pointer, keys(table)), &mut findings);
    }
    findings
}

/// The columns that tell a table's rows apart; none where their order does.
fn keys(table: Table) -> &'static [&'static str] {
    match table {
        Table::Issues => &["id"],
        Table::Operations => &["operation_id", "principal", "backend"],
        Table::Watchers => &["issue_id", "name"],
        Table::Compensations => &["issue_id", "kind", "outcome"],
        Table::Events => &[],
    }
}

fn compare(
    recorded: &[Value],
    computed: &[BTreeMap<&'static str, Value>],
    (at, pointer, keys): (&Place, &str, &[&str]),
    findings: &mut Vec<Finding>,
) {
    let mut left: Vec<_> = computed.iter().collect();
    for (index, row) in recorded.iter().enumerate() {
        let pointer = format!("{pointer}/{index}");
        let is_same = |other: &&BTreeMap<&str, Value>| {
            keys.iter().all(|key| row.get(key).is_some_and(|v| same(v, other.get(key))))
        };
        let Some(found) = left.iter().position(is_same).map(|index| left.remove(index)) else {
            findings.push(differs(at, &pointer, row, &"no such row"));
            continue;
        };
        for (column, value) in found {
            // Fingerprints were not recorded by all, and a rebuilt database has none.
            let is_open = *column == "request_fingerprint" && (row.get(column).is_none() || value.is_null());
            let recorded = row.get(column);
            if !is_open && !recorded.is_some_and(|recorded| same(recorded, Some(value))) {
                let shown = recorded.map_or_else(|| "no such column".to_owned(), Value::to_string);
                findings.push(differs(at, &format!("{pointer}/{column}"), &shown, value));
            }
        }
    }
    for row in left {
        findings.push(differs(at, pointer, &"no such row", &json!(row)));
    }
}

/// Times were recorded as fractions: 1790035500.0 is 1790035500.
fn same(recorded: &Value, computed: Option<&Value>) -> bool {
    let whole = |value: &Value| value.as_f64().filter(|_| value.is_f64()).is_some_and(|float| float.fract() == 0.0);
    match (recorded, computed) {
        (Value::Number(a), Some(Value::Number(b))) if whole(recorded) => a.as_f64() == b.as_f64(),
        (_, Some(computed)) => recorded == computed,
        (_, None) => false,
    }
}

fn differs(at: &Place, pointer: &str, recorded: &dyn Display, computed: &dyn Display) -> Finding {
    let shown = |text: &str| super::document::shown(&escape(text.as_bytes()));
    let message = "the run recorded other rows than its database has";
    let finding = Finding::new(Code::RunFactDiffers, at.clone().pointer(pointer), message);
    finding.values(shown(&recorded.to_string()), shown(&computed.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ledger::{Compensation, Event, Issue, Operation, Watcher};

    fn rows() -> Rows {
        let operation = Operation {
            operation: "case-12".into(),
            principal: "alice".into(),
            backend: "b".into(),
            fingerprint: None,
            state: Some(OperationState::Partial),
            effect: Some(1),
            result: Some("partial 1; watcher failed; rollback failed".into()),
            issued_at: Some(100),
            authority_expires_at: Some(400),
            replay_expires_at: None,
        };
        let event = |outcome: &str| Event {
            operation: "case-12".into(),
            step: "watcher".into(),
            outcome: outcome.into(),
            error: None,
        };
        Rows {
            backend: None,
            operations: vec![operation],
            issues: vec![Issue { id: 1, title: "t".into(), body: "b".into() }],
            watchers: vec![Watcher { issue: 1, name: "w".into() }],
            compensations: vec![Compensation { issue: 1, kind: "k".into(), outcome: "o".into() }],
            events: vec![event("attempted"), event("failed")],
        }
    }

    fn recorded() -> Value {
        json!({
            "compensations": [{"issue_id": 1, "kind": "k", "outcome": "o"}],
            "events": [
                {"error_type": null, "operation_id": "case-12", "outcome": "attempted", "step": "watcher"},
                {"error_type": null, "operation_id": "case-12", "outcome": "failed", "step": "watcher"},
            ],
            "issues": [{"body": "b", "id": 1, "title": "t"}],
            "operations": [{
                "authority_expires_at": 400.0, "backend": "b", "effect_id": 1, "issued_at": 100.0, "operation_id": "case-12",
                "principal": "alice", "replay_expires_at": null, "result": "partial 1; watcher failed; rollback failed",
                "state": "partial",
            }],
            "watchers": [{"issue_id": 1, "name": "w"}],
        })
    }

    #[test]
    fn each_recorded_field_is_compared() {
        let found = |change: fn(&mut Value)| {
            let mut value = recorded();
            change(&mut value);
            let show = |finding: Finding| {
                assert_eq!((finding.code, finding.place.line), (Code::RunFactDiffers, Some(3)));
                let values = [finding.recorded, finding.computed].map(Option::unwrap_or_default);
                format!("{} {} / {}", finding.place.pointer.unwrap_or_default(), values[0], values[1])
            };
            database(&value, &rows(), &Place::entry("results.jsonl").line(3)).into_iter().map(show).collect::<Vec<_>>()
        };
        assert_eq!(found(|_| ()), Vec::<String>::new());
        assert_eq!(found(|v| *v = Value::Null), Vec::<String>::new());
        assert_eq!(found(|v| v["issues"][0]["body"] = json!("c")), ["/independent_db/issues/0/body \"c\" / \"b\""]);
        assert_eq!(
            found(|v| v["operations"][0]["authority_expires_at"] = json!(400.5)),
            ["/independent_db/operations/0/authority_expires_at 400.5 / 400"]
        );
        assert_eq!(found(|v| v["events"][1]["outcome"] = json!("attempted")).len(), 1);
        assert_eq!(found(|v| v["events"].as_array_mut().unwrap().reverse()).len(), 2, "the order of events counts");
        assert_eq!(
            found(|v| v["watchers"] = json!([])),
            ["/independent_db/watchers no such row / {\"issue_id\":1,\"name\":\"w\"}"]
        );
        assert_eq!(
            found(|v| v["watchers"][0]["name"] = json!("x")).first().map(String::as_str),
            Some("/independent_db/watchers/0 {\"issue_id\":1,\"name\":\"x\"} / no such row")
        );
        assert_eq!(
            found(|v| drop(v.as_object_mut().unwrap().remove("events"))),
            ["/independent_db/events no rows / a list of rows"]
        );
        let without = found(|v| drop(v["operations"][0].as_object_mut().unwrap().remove("state")));
        assert_eq!(without, ["/independent_db/operations/0/state no such column / \"partial\""]);
    }
}
