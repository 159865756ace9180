//! Owns how rows of the database become rows of the ledger.
//!
//! Refuses to convert: a value of another type than the ledger keeps there is told, and so is a time that isn't a whole
//! second. Invariant: rows that are given are those of the database, all of them, each value exactly as it stands there.

use rusqlite::Row;
use rusqlite::types::ValueRef;

use super::engine::Engine;
use super::schema::{COMPENSATIONS, EVENTS, Found, ISSUES, METADATA, OPERATIONS, Table, WATCHERS};
use super::{Stop, fault};
use crate::finding::{Code, Finding, Findings, Place};
use crate::ledger::{Compensation, Event, Issue, Operation, OperationState, Rows, Seconds, Watcher};
use crate::limits::Limits;
use crate::name::escape;

/// Beyond it a real number is no exact count of seconds.
const MAX_EXACT: f64 = 9_007_199_254_740_992.0;

/// Characters of a wrong value that a finding shows.
const SHOWN: usize = 80;

/// Reads all tables.
pub(super) fn read(engine: &Engine<'_>, found: &Found, limits: &Limits, findings: &mut Findings) -> Result<Rows, Stop> {
    let mut reader = Reader { engine, limits, findings };
    let mut rows = Rows {
        backend: if found.has(&METADATA) { reader.backend()? } else { None },
        operations: reader.table(&OPERATIONS, operation)?,
        issues: reader.table(&ISSUES, |cells| {
            Ok(Issue { id: cells.integer("id")?, title: cells.text("title")?, body: cells.text("body")? })
        })?,
        watchers: reader
            .table(&WATCHERS, |cells| Ok(Watcher { issue: cells.integer("issue_id")?, name: cells.text("name")? }))?,
        compensations: reader.ordered(&COMPENSATIONS, |cells| {
            Ok(Compensation {
                issue: cells.integer("issue_id")?,
                kind: cells.text("kind")?,
                outcome: cells.text("outcome")?,
            })
        })?,
        events: reader.ordered(&EVENTS, |cells| {
            Ok(Event {
                operation: cells.text("operation_id")?,
                step: cells.text("step")?,
                outcome: cells.text("outcome")?,
                error: cells.text_or_null("error_type")?,
            })
        })?,
    };
    rows.operations.sort();
    rows.issues.sort();
    rows.watchers.sort();
    Ok(rows)
}

fn operation(cells: &Cells<'_>) -> Result<Operation, Stop> {
    let fingerprint = cells.text_or_null("request_fingerprint")?;
    let hex = |text: &String| text.len() == 64 && text.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f'));
    if fingerprint.as_ref().is_some_and(|text| !hex(text)) {
        return Err(cells.wrong("request_fingerprint", "64 lower-case hex digits")?);
    }
    Ok(Operation {
        operation: cells.text("operation_id")?,
        principal: cells.text("principal")?,
        backend: cells.text("backend")?,
        fingerprint,
        state: match cells.text("state")?.as_str() {
            "in_progress" => Some(OperationState::InProgress),
            "applied" => Some(OperationState::Applied),
            "partial" => Some(OperationState::Partial),
            _ => None,
        },
        effect: cells.integer_or_null("effect_id")?,
        result: cells.text_or_null("result")?,
        issued_at: cells.time("issued_at")?,
        authority_expires_at: cells.time("authority_expires_at")?,
        replay_expires_at: cells.time("replay_expires_at")?,
    })
}

struct Reader<'a> {
    engine: &'a Engine<'a>,
    limits: &'a Limits,
    findings: &'a mut Findings,
}

impl Reader<'_> {
    /// All rows of a table. A row with a wrong value is told, and left out.
    fn table<T>(&mut self, table: &Table, build: impl Fn(&Cells<'_>) -> Result<T, Stop>) -> Result<Vec<T>, Stop> {
        let (mut rows, mut number) = (Vec::new(), 0_u64);
        let sql = format!("SELECT \"{}\" FROM main.\"{}\"", table.columns.join("\", \""), table.name);
        let (engine, findings, max) = (self.engine, &mut *self.findings, self.limits.max_rows);
        engine.query(&sql, |row| {
            number = number.saturating_add(1);
            if number > max {
                let message = format!("the table \"{}\" has more than {max} rows", table.name);
                return Err(fault(Code::DatabaseTooLarge, engine.name, message));
            }
            match build(&Cells { engine, table, row, number }) {
                Ok(made) => rows.push(made),
                Err(Stop::Fault(finding)) => findings.push(*finding),
                Err(Stop::Error(error)) => return Err(Stop::Error(error)),
            }
            Ok(())
        })?;
        Ok(rows)
    }

    /// The same, in the order of the ids, which grow as rows are written.
    fn ordered<T>(&mut self, table: &Table, build: impl Fn(&Cells<'_>) -> Result<T, Stop>) -> Result<Vec<T>, Stop> {
        let mut rows = self.table(table, |cells| Ok((cells.integer("id")?, build(cells)?)))?;
        rows.sort_by_key(|(id, _)| *id);
        if let Some((id, _)) = rows.windows(2).find_map(|pair| match pair {
            [a, b] if a.0 == b.0 => Some(a),
            _ => None,
        }) {
            return Err(fault(
                Code::DatabaseValue,
                self.engine.name,
                format!("two rows of \"{}\" have the id {id}", table.name),
            ));
        }
        Ok(rows.into_iter().map(|(_, row)| row).collect())
    }

    /// The backend that the database is bound to.
    fn backend(&mut self) -> Result<Option<String>, Stop> {
        let pairs = self.table(&METADATA, |cells| Ok((cells.text("key")?, cells.text("value")?)))?;
        let mut bound = None;
        for (key, value) in pairs {
            match (key.as_str(), &bound) {
                ("backend_id", None) => bound = Some(value),
                ("backend_id", Some(_)) => {
                    let message = "the database is bound to a backend twice";
                    self.findings.push(Finding::new(Code::DatabaseValue, Place::entry(self.engine.name), message));
                }
                (other, _) => {
                    let message = format!("the metadata \"{}\" was not read", escape(other.as_bytes()));
                    self.findings.push(Finding::new(Code::DatabaseUnknown, Place::entry(self.engine.name), message));
                }
            }
        }
        Ok(bound)
    }
}

/// The values of one row.
struct Cells<'a> {
    engine: &'a Engine<'a>,
    table: &'a Table,
    row: &'a Row<'a>,
    number: u64,
}

impl Cells<'_> {
    fn value(&self, column: &str) -> Result<ValueRef<'_>, Stop> {
        let index = self.table.columns.iter().position(|name| *name == column).unwrap_or(usize::MAX);
        self.row.get_ref(index).map_err(|error| self.engine.meaning(&error))
    }

    /// That the value is something else than it should be.
    fn wrong(&self, column: &str, wanted: &str) -> Result<Stop, Stop> {
        let shown = match self.value(column)? {
            ValueRef::Null => "null".to_owned(),
            ValueRef::Integer(number) => format!("the integer {number}"),
            ValueRef::Real(number) => format!("the real number {number:?}"),
            ValueRef::Text(text) => {
                format!("the text {}", escape(text).chars().take(SHOWN).collect::<String>())
            }
            ValueRef::Blob(bytes) => format!("{} bytes", bytes.len()),
        };
        let message = format!("\"{column}\" in row {} of \"{}\" is not {wanted}", self.number, self.table.name);
        let mut finding = Finding::new(Code::DatabaseValue, Place::entry(self.engine.name), message);
        finding.recorded = Some(shown);
        Ok(Stop::Fault(Box::new(finding)))
    }

    fn text_or_null(&self, column: &str) -> Result<Option<String>, Stop> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Text(bytes) => match std::str::from_utf8(bytes) {
                Ok(text) => Ok(Some(text.to_owned())),
                Err(_) => Err(self.wrong(column, "UTF-8")?),
            },
            ValueRef::Integer(_) | ValueRef::Real(_) | ValueRef::Blob(_) => Err(self.wrong(column, "a text")?),
        }
    }

    fn text(&self, column: &str) -> Result<String, Stop> {
        match self.text_or_null(column)? {
            Some(text) => Ok(text),
            None => Err(self.wrong(column, "a text")?),
        }
    }

    fn integer_or_null(&self, column: &str) -> Result<Option<i64>, Stop> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(number) => Ok(Some(number)),
            ValueRef::Real(_) | ValueRef::Text(_) | ValueRef::Blob(_) => Err(self.wrong(column, "an integer")?),
        }
    }

    fn integer(&self, column: &str) -> Result<i64, Stop> {
        match self.integer_or_null(column)? {
            Some(number) => Ok(number),
            None => Err(self.wrong(column, "an integer")?),
        }
    }

    fn time(&self, column: &str) -> Result<Option<Seconds>, Stop> {
        match self.value(column)? {
            ValueRef::Null => Ok(None),
            ValueRef::Integer(seconds) => Ok(Some(seconds)),
            ValueRef::Real(seconds) => match whole(seconds) {
                Some(seconds) => Ok(Some(seconds)),
                None => Err(self.wrong(column, "a whole number of seconds")?),
            },
            ValueRef::Text(_) | ValueRef::Blob(_) => Err(self.wrong(column, "a number of seconds")?),
        }
    }
}

/// A real number as seconds, where it is a whole number that it can hold exactly.
fn whole(seconds: f64) -> Option<Seconds> {
    let exact = seconds.abs() <= MAX_EXACT && seconds.fract() == 0.0;
    // A whole number in this range has the same digits as an integer's text.
    exact.then(|| format!("{seconds:.0}").parse().ok()).flatten()
}
