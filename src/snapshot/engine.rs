//! Owns the connection to a private copy: how it is opened, what it may do, and what its errors mean.
//!
//! Refuses every statement but reading tables and a few pragmas: no function, view or trigger of the schema can run, no
//! other database can be attached. Invariant: all work is bounded by steps, all memory by the bounds that are set here
//! and by the size of the copy.

use std::fmt::Write as _;

use rusqlite::config::DbConfig;
use rusqlite::ffi::ErrorCode;
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::types::Value;
use rusqlite::{Connection, OpenFlags, Row};

use super::copy::Copies;
use super::{Stop, fault};
use crate::error::Error;
use crate::finding::Code;
use crate::limits::{Limits, MAX_COLUMNS};
use crate::name::escape;

/// Faults of one database that are told. The first few say what is wrong with it.
const MAX_FAULTS: i64 = 10;

/// Steps of SQLite's machine between two looks at the bound.
const STRIDE: i32 = 1000;

/// A connection to a private copy.
pub(super) struct Engine<'a> {
    /// The database's name.
    pub(super) name: &'a str,
    connection: Connection,
}

impl<'a> Engine<'a> {
    /// Opens the copy, which rolls back a hot journal and recovers a log, and lets nothing be written from then on.
    pub(super) fn open(name: &'a str, copies: &Copies, limits: &Limits) -> Result<Self, Stop> {
        let flags =
            OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_NOFOLLOW;
        let opened = Connection::open_with_flags(copies.database(), flags);
        let mut engine = Self { name, connection: opened.map_err(|error| meaning(name, &error))? };
        engine.harden(limits).map_err(|error| meaning(name, &error))?;
        // The first read recovers and takes in the schema.
        let size = engine.number("page_count")?.saturating_mul(engine.number("page_size")?);
        if u64::try_from(size).is_ok_and(|size| size <= limits.max_database) {
            engine.pragma_set("query_only", true)?;
            return Ok(engine);
        }
        let message = format!("the database has {size} bytes, at most {} are read", limits.max_database);
        Err(fault(Code::DatabaseTooLarge, name, message))
    }

    fn harden(&mut self, limits: &Limits) -> rusqlite::Result<()> {
        let connection = &mut self.connection;
        let cell = i32::try_from(limits.max_cell).unwrap_or(i32::MAX);
        for (limit, value) in [
            (Limit::SQLITE_LIMIT_LENGTH, cell),
            (Limit::SQLITE_LIMIT_SQL_LENGTH, cell),
            (Limit::SQLITE_LIMIT_COLUMN, MAX_COLUMNS),
            (Limit::SQLITE_LIMIT_SCHEMA, i32::try_from(limits.max_schema).unwrap_or(i32::MAX)),
            (Limit::SQLITE_LIMIT_EXPR_DEPTH, 100),
            (Limit::SQLITE_LIMIT_COMPOUND_SELECT, 10),
            (Limit::SQLITE_LIMIT_FUNCTION_ARG, 10),
            (Limit::SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 100),
            (Limit::SQLITE_LIMIT_VARIABLE_NUMBER, 10),
            (Limit::SQLITE_LIMIT_TRIGGER_DEPTH, 1),
            (Limit::SQLITE_LIMIT_ATTACHED, 0),
            (Limit::SQLITE_LIMIT_WORKER_THREADS, 0),
        ] {
            connection.set_limit(limit, value)?;
        }
        for (config, on) in [
            (DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true),
            (DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_WRITABLE_SCHEMA, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_TRIGGER, false),
            (DbConfig::SQLITE_DBCONFIG_ENABLE_VIEW, false),
            (DbConfig::SQLITE_DBCONFIG_DQS_DML, false),
            (DbConfig::SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, true),
        ] {
            connection.set_db_config(config, on)?;
        }
        let mut left = limits.max_database_steps / u64::from(STRIDE.unsigned_abs());
        connection.progress_handler(
            STRIDE,
            Some(move || {
                left = left.saturating_sub(1);
                left == 0
            }),
        )?;
        connection.authorizer(Some(authorize))?;
        // Locked for itself alone, SQLite keeps the index of a log in memory, not in a mapped file.
        for (pragma, value) in [
            ("locking_mode", Value::from("EXCLUSIVE".to_owned())),
            ("mmap_size", Value::from(0)),
            ("temp_store", Value::from("MEMORY".to_owned())),
            ("cell_size_check", Value::from(1)),
            // Constraints are expressions of the schema; the rows are held against the ledger's own rules.
            ("ignore_check_constraints", Value::from(1)),
        ] {
            connection.pragma(None, pragma, value, |_| Ok(()))?;
        }
        Ok(())
    }

    /// Holds all pages against each other.
    pub(super) fn check_integrity(&self) -> Result<(), Stop> {
        let mut faults = Vec::new();
        self.pragma("integrity_check", MAX_FAULTS, |row| {
            faults.push(row.get::<_, String>(0)?);
            Ok(())
        })?;
        if faults == ["ok"] {
            return Ok(());
        }
        let mut message = String::from("SQLite's integrity check fails");
        for fault in &faults {
            // Writing to a text can't fail.
            let _ = write!(message, ": {}", escape(fault.as_bytes()));
        }
        Err(fault(Code::DatabaseBroken, self.name, message))
    }

    /// The number that a pragma says.
    fn number(&self, pragma: &str) -> Result<i64, Stop> {
        self.connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(|error| self.meaning(&error))
    }

    /// The text that a pragma says.
    pub(super) fn text(&self, pragma: &str) -> Result<String, Stop> {
        self.connection.pragma_query_value(None, pragma, |row| row.get(0)).map_err(|error| self.meaning(&error))
    }

    fn pragma_set(&self, pragma: &str, on: bool) -> Result<(), Stop> {
        self.pragma(pragma, on, |_| Ok(()))
    }

    /// Calls `each` with each row of a pragma with an argument.
    pub(super) fn pragma(
        &self,
        pragma: &str,
        argument: impl rusqlite::ToSql,
        each: impl FnMut(&Row<'_>) -> rusqlite::Result<()>,
    ) -> Result<(), Stop> {
        self.connection.pragma(None, pragma, argument, each).map_err(|error| self.meaning(&error))
    }

    /// Calls `each` with each row of a query.
    pub(super) fn query(&self, sql: &str, mut each: impl FnMut(&Row<'_>) -> Result<(), Stop>) -> Result<(), Stop> {
        let mut statement = self.connection.prepare(sql).map_err(|error| self.meaning(&error))?;
        let mut rows = statement.query([]).map_err(|error| self.meaning(&error))?;
        while let Some(row) = rows.next().map_err(|error| self.meaning(&error))? {
            each(row)?;
        }
        Ok(())
    }

    /// What an error of SQLite means.
    pub(super) fn meaning(&self, error: &rusqlite::Error) -> Stop {
        meaning(self.name, error)
    }
}

/// What a statement may do.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let reads = matches!(context.action, AuthAction::Select | AuthAction::Read { .. } | AuthAction::Pragma { .. });
    // What is read on behalf of a view or trigger has a name here.
    if reads && context.accessor.is_none() { Authorization::Allow } else { Authorization::Deny }
}

fn meaning(name: &str, error: &rusqlite::Error) -> Stop {
    let Some(code) = error.sqlite_error_code() else {
        return fault(Code::DatabaseBroken, name, format!("SQLite gives what can't be read: {}", said(error)));
    };
    let extended = error.sqlite_error().map_or(0, |error| error.extended_code);
    let short = extended == rusqlite::ffi::SQLITE_IOERR_SHORT_READ;
    if [ErrorCode::TooBig, ErrorCode::OperationInterrupted, ErrorCode::OutOfMemory].contains(&code) {
        let message = format!("reading the database takes more than it may: {}", said(error));
        return fault(Code::DatabaseTooLarge, name, message);
    }
    let system = [ErrorCode::SystemIoFailure, ErrorCode::DiskFull, ErrorCode::CannotOpen, ErrorCode::PermissionDenied];
    if system.contains(&code) && !short {
        let source = std::io::Error::other(said(error));
        return Stop::Error(Error::io("read the copy of", name.as_ref())(source));
    }
    if code == ErrorCode::AuthorizationForStatementDenied {
        return fault(Code::DatabaseSchema, name, format!("the schema would run code: {}", said(error)));
    }
    fault(Code::DatabaseBroken, name, format!("SQLite can't read it: {}", said(error)))
}

/// An error in SQLite's words, which may quote the file.
fn said(error: &rusqlite::Error) -> String {
    escape(error.to_string().as_bytes())
}
