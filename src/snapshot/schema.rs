//! Owns what a ledger's database must have: its tables and columns by name, and what else may stand beside them.
//!
//! Refuses a schema that computes when it is read: virtual tables, generated columns, indexes on expressions or with a
//! condition, since checking the file would run them. Views, triggers and other tables are told and not touched. Invariant:
//! what passes has plain tables with the columns that are read from them.

use std::collections::{BTreeMap, BTreeSet};

use super::engine::Engine;
use super::{Stop, fault};
use crate::finding::{Code, Finding, Findings, Place};
use crate::name::escape;

/// A table of the ledger.
#[derive(Debug)]
pub(super) struct Table {
    /// Its name.
    pub(super) name: &'static str,
    /// Whether a ledger can't be without it.
    required: bool,
    /// Columns that are read.
    pub(super) columns: &'static [&'static str],
    /// Columns that the ledger has and that say nothing to the rows.
    ignored: &'static [&'static str],
}

pub(super) const OPERATIONS: Table = Table {
    name: "operations",
    required: true,
    columns: &[
        "operation_id",
        "principal",
        "backend",
        "request_fingerprint",
        "state",
        "effect_id",
        "result",
        "issued_at",
        "authority_expires_at",
        "replay_expires_at",
    ],
    ignored: &["created_at", "updated_at"],
};
pub(super) const ISSUES: Table =
    Table { name: "issues", required: true, columns: &["id", "title", "body"], ignored: &[] };
pub(super) const WATCHERS: Table =
    Table { name: "watchers", required: true, columns: &["issue_id", "name"], ignored: &["id"] };
pub(super) const COMPENSATIONS: Table =
    Table { name: "compensations", required: true, columns: &["id", "issue_id", "kind", "outcome"], ignored: &[] };
pub(super) const EVENTS: Table = Table {
    name: "operation_events",
    required: true,
    columns: &["id", "operation_id", "step", "outcome", "error_type"],
    ignored: &["created_at"],
};
pub(super) const METADATA: Table =
    Table { name: "store_metadata", required: false, columns: &["key", "value"], ignored: &[] };

const TABLES: [&Table; 6] = [&OPERATIONS, &ISSUES, &WATCHERS, &COMPENSATIONS, &EVENTS, &METADATA];

/// The ledger's tables that are there.
pub(super) struct Found(BTreeSet<&'static str>);

impl Found {
    /// Whether the table is there.
    pub(super) fn has(&self, table: &Table) -> bool {
        self.0.contains(table.name)
    }
}

/// A row of `sqlite_schema`.
struct Object {
    kind: String,
    name: String,
    sql: Option<String>,
}

/// How the text of each kind starts, as SQLite itself writes it.
const STARTS: [(&str, &[&str]); 4] = [
    ("table", &["CREATE TABLE "]),
    ("index", &["CREATE INDEX ", "CREATE UNIQUE INDEX "]),
    ("view", &["CREATE VIEW "]),
    ("trigger", &["CREATE TRIGGER "]),
];

/// Looks at the whole schema. Where it could run something, nothing more is read.
pub(super) fn examine(engine: &Engine<'_>, findings: &mut Findings) -> Result<Found, Stop> {
    let encoding = engine.text("encoding")?;
    if encoding != "UTF-8" {
        // Other encodings are converted on the way, and what is no text there becomes other text without a word.
        return Err(fault(
            Code::DatabaseSchema,
            engine.name,
            format!("its texts are in {}", escape(encoding.as_bytes())),
        ));
    }
    let objects = objects(engine)?;
    for object in &objects {
        let starts = STARTS.iter().find(|(kind, _)| *kind == object.kind).map_or(&[][..], |(_, starts)| starts);
        let plain = object.sql.as_ref().map_or(object.kind == "index", |sql| starts.iter().any(|s| sql.starts_with(s)));
        if !plain {
            let what = if object.sql.as_ref().is_some_and(|sql| sql.starts_with("CREATE VIRTUAL TABLE ")) {
                "is a virtual table"
            } else {
                "is not what its entry in the schema says"
            };
            return Err(fault(Code::DatabaseSchema, engine.name, format!("{} {what}", shown(object))));
        }
    }
    let mut tables = BTreeMap::new();
    for object in objects.iter().filter(|object| object.kind == "table") {
        tables.insert(object.name.as_str(), columns(engine, &object.name)?);
        refuse_computed_indexes(engine, &object.name)?;
    }
    report_unknown(engine, &objects, &tables, findings);
    let there: Vec<&Table> =
        TABLES.into_iter().filter(|table| is_there(engine, table, &tables, &objects, findings)).collect();
    if there.iter().any(|table| lacks_columns(engine, table, &tables, findings)) || !findings.none_broken() {
        return Err(fault(Code::DatabaseSchema, engine.name, "this is not the database of a ledger"));
    }
    Ok(Found(there.into_iter().map(|table| table.name).collect()))
}

fn objects(engine: &Engine<'_>) -> Result<Vec<Object>, Stop> {
    let mut objects = Vec::new();
    engine.query("SELECT type, name, sql FROM main.sqlite_schema", |row| {
        let entry = || Ok(Object { kind: row.get(0)?, name: row.get(1)?, sql: row.get(2)? });
        objects.push(entry().map_err(|error| engine.meaning(&error))?);
        Ok(())
    })?;
    Ok(objects)
}

/// A table's columns.
fn columns(engine: &Engine<'_>, table: &str) -> Result<Vec<String>, Stop> {
    let (mut names, mut generated) = (Vec::new(), None);
    engine.pragma("table_xinfo", table, |row| {
        let name: String = row.get("name")?;
        if row.get::<_, i64>("hidden")? != 0 {
            generated.get_or_insert_with(|| name.clone());
        }
        names.push(name);
        Ok(())
    })?;
    match generated {
        Some(column) => {
            let (table, column) = (escape(table.as_bytes()), escape(column.as_bytes()));
            Err(fault(Code::DatabaseSchema, engine.name, format!("the column \"{table}\".\"{column}\" is computed")))
        }
        None => Ok(names),
    }
}

fn refuse_computed_indexes(engine: &Engine<'_>, table: &str) -> Result<(), Stop> {
    let (mut indexes, mut computed) = (Vec::new(), None);
    engine.pragma("index_list", table, |row| {
        let name: String = row.get("name")?;
        if row.get::<_, i64>("partial")? != 0 {
            computed.get_or_insert_with(|| name.clone());
        }
        indexes.push(name);
        Ok(())
    })?;
    for index in indexes {
        engine.pragma("index_xinfo", &index, |row| {
            // -1 is the row's own number, -2 an expression.
            if row.get::<_, i64>("cid")? == -2 {
                computed.get_or_insert_with(|| index.clone());
            }
            Ok(())
        })?;
    }
    match computed {
        Some(index) => {
            let index = escape(index.as_bytes());
            Err(fault(
                Code::DatabaseSchema,
                engine.name,
                format!("the index \"{index}\" has an expression or a condition"),
            ))
        }
        None => Ok(()),
    }
}

fn shown(object: &Object) -> String {
    format!("the {} \"{}\"", escape(object.kind.as_bytes()), escape(object.name.as_bytes()))
}

fn warn(engine: &Engine<'_>, findings: &mut Findings, message: String) {
    findings.push(Finding::new(Code::DatabaseUnknown, Place::entry(engine.name), message));
}

/// Tells what stands in the database and isn't the ledger's.
fn report_unknown(
    engine: &Engine<'_>,
    objects: &[Object],
    tables: &BTreeMap<&str, Vec<String>>,
    findings: &mut Findings,
) {
    for object in objects {
        let known = TABLES.iter().find(|table| table.name == object.name);
        match (object.kind.as_str(), known) {
            // Autoincrement, ANALYZE and unique columns make objects of SQLite's own.
            _ if object.name.starts_with("sqlite_") || object.kind == "index" => {}
            ("table", Some(table)) => {
                let columns = tables.get(table.name).map_or(&[][..], Vec::as_slice);
                let known = |name: &str| table.columns.contains(&name) || table.ignored.contains(&name);
                for column in columns.iter().filter(|column| !known(column)) {
                    let column = escape(column.as_bytes());
                    warn(engine, findings, format!("the column \"{}\".\"{column}\" was not read", table.name));
                }
            }
            // A view in a table's place is told as such.
            (kind, known) if kind != "view" || known.is_none() => {
                warn(engine, findings, format!("{} was not read", shown(object)));
            }
            (_, _) => {}
        }
    }
}

fn is_there(
    engine: &Engine<'_>,
    table: &Table,
    tables: &BTreeMap<&str, Vec<String>>,
    objects: &[Object],
    findings: &mut Findings,
) -> bool {
    // A table whose entry has another name than its text has no columns here.
    if tables.get(table.name).is_some_and(|columns| !columns.is_empty()) {
        return true;
    }
    let view = objects.iter().any(|object| object.kind == "view" && object.name == table.name);
    if view || table.required {
        let what = if view { "is a view" } else { "is missing" };
        let message = format!("the table \"{}\" {what}", table.name);
        findings.push(Finding::new(Code::DatabaseSchema, Place::entry(engine.name), message));
    }
    false
}

fn lacks_columns(
    engine: &Engine<'_>,
    table: &Table,
    tables: &BTreeMap<&str, Vec<String>>,
    findings: &mut Findings,
) -> bool {
    let columns = tables.get(table.name).map_or(&[][..], Vec::as_slice);
    let missing: Vec<_> =
        table.columns.iter().filter(|wanted| !columns.iter().any(|column| column == *wanted)).collect();
    for column in &missing {
        let message = format!("the table \"{}\" has no column \"{column}\"", table.name);
        findings.push(Finding::new(Code::DatabaseSchema, Place::entry(engine.name), message));
    }
    !missing.is_empty()
}
