//! Real SQLite files, made by rusqlite and broken in one respect each: every `database-` code is raised by exactly that,
//! and the sound twin is read row by row, with a journal or a log pending too.
#![expect(clippy::unwrap_used, reason = "a test that can't make its input fails")]

mod skip;

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use exhibit::finding::RULES;
use exhibit::ledger::{Issue, Rows};
use exhibit::limits::Limits;
use exhibit::snapshot::{Journal, Log, Sidecar, Snapshot, Source, read};
use proptest::prelude::*;
use rusqlite::Connection;
use tempfile::TempDir;

const SCHEMA: &str = "
CREATE TABLE store_metadata (key TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE issues (id INTEGER PRIMARY KEY AUTOINCREMENT, title TEXT NOT NULL, body TEXT NOT NULL DEFAULT '');
CREATE TABLE watchers (id INTEGER PRIMARY KEY AUTOINCREMENT, issue_id INTEGER NOT NULL, name TEXT NOT NULL);
CREATE TABLE compensations (id INTEGER PRIMARY KEY, issue_id INTEGER NOT NULL, kind TEXT NOT NULL, outcome TEXT NOT NULL);
CREATE TABLE operations (operation_id TEXT NOT NULL, principal TEXT NOT NULL, backend TEXT NOT NULL,
  request_fingerprint TEXT NOT NULL, state TEXT NOT NULL, effect_id INTEGER, result TEXT, issued_at REAL NOT NULL,
  authority_expires_at REAL NOT NULL, replay_expires_at REAL NOT NULL, created_at TEXT NOT NULL, updated_at TEXT NOT NULL,
  PRIMARY KEY (operation_id, principal, backend));
CREATE TABLE operation_events (id INTEGER PRIMARY KEY AUTOINCREMENT, operation_id TEXT NOT NULL, step TEXT NOT NULL,
  outcome TEXT NOT NULL, error_type TEXT, created_at TEXT NOT NULL);
INSERT INTO store_metadata VALUES ('backend_id', 'sqlite:made');
INSERT INTO issues VALUES (1, 'one', 'alpha');
INSERT INTO operations VALUES ('op', 'alice', 'sqlite:made', printf('%064d', 0), 'applied', 1, 'created 1',
  1790035200.0, 1790035500.0, 1790035560, 'x', 'x');
INSERT INTO operation_events VALUES (7, 'op', 'watcher', 'failed', NULL, 'x'), (3, 'op', 'watcher', 'attempted', NULL, 'x');
";

struct Store {
    folder: TempDir,
}

impl Store {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn with(sql: &str) -> Self {
        let store = Self::new();
        store.open().execute_batch(&format!("{SCHEMA}{sql}")).unwrap();
        store
    }

    fn path(&self, suffix: &str) -> PathBuf {
        self.folder.path().join(format!("store.sqlite3{suffix}"))
    }

    fn open(&self) -> Connection {
        Connection::open(self.path("")).unwrap()
    }

    /// A copy of the files as they lie there, as if the writer had been killed now.
    fn killed(&self) -> Self {
        let copy = Self::new();
        for suffix in ["", "-journal", "-wal", "-shm"] {
            if self.path(suffix).exists() {
                std::fs::copy(self.path(suffix), copy.path(suffix)).unwrap();
            }
        }
        copy
    }

    fn change(&self, suffix: &str, change: impl FnOnce(&mut Vec<u8>)) {
        let mut bytes = std::fs::read(self.path(suffix)).unwrap();
        change(&mut bytes);
        std::fs::write(self.path(suffix), bytes).unwrap();
    }

    fn read_with(&self, limits: &Limits) -> Snapshot {
        let open = |suffix: &str| -> Box<dyn Read> { Box::new(std::fs::File::open(self.path(suffix)).unwrap()) };
        let there = Sidecar::ALL.into_iter().filter(|kind| self.path(kind.suffix()).exists());
        let sidecars = there.map(|kind| (kind, open(kind.suffix()))).collect();
        let scratch = tempfile::tempdir().unwrap();
        let before = self.contents();
        let source = Source { name: "store.sqlite3", database: open(""), sidecars };
        let snapshot = read(source, scratch.path(), limits).unwrap();
        assert_eq!(self.contents(), before, "the evidence was changed");
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 0, "a copy was left behind");
        snapshot
    }

    fn read(&self) -> Snapshot {
        self.read_with(&Limits::default())
    }

    fn contents(&self) -> Vec<Option<Vec<u8>>> {
        ["", "-journal", "-wal", "-shm"].iter().map(|suffix| std::fs::read(self.path(suffix)).ok()).collect()
    }
}

fn codes(snapshot: &Snapshot) -> Vec<&'static str> {
    let codes: BTreeSet<_> = snapshot.findings.iter().map(|finding| finding.code.name()).collect();
    codes.into_iter().collect()
}

/// A killed writer's files: a transaction that filled the cache, so that pages were written, and never ended.
fn hot() -> Store {
    let store = Store::with("");
    let writer = store.open();
    writer.execute_batch("PRAGMA cache_size=1; PRAGMA cache_spill=1; BEGIN IMMEDIATE;").unwrap();
    writer.execute("UPDATE issues SET body = 'changed'", []).unwrap();
    for n in 0..200 {
        writer.execute("INSERT INTO issues (title, body) VALUES (?1, ?2)", (n.to_string(), "b".repeat(900))).unwrap();
    }
    store.killed()
}

/// A killed writer's files with a log: one transaction committed in it, another not.
fn logged() -> Store {
    let store = Store::with("");
    let writer = store.open();
    writer.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=1;").unwrap();
    writer.execute("INSERT INTO issues VALUES (2, 'two', 'beta')", []).unwrap();
    writer.execute("INSERT INTO issues VALUES (3, 'three', 'gamma')", []).unwrap();
    writer.execute_batch("BEGIN").unwrap();
    for n in 0..200 {
        writer.execute("INSERT INTO issues (title, body) VALUES (?1, ?2)", (n.to_string(), "b".repeat(900))).unwrap();
    }
    store.killed()
}

#[test]
fn a_sound_database_is_read_row_by_row() {
    let snapshot = Store::with("").read();
    assert_eq!(codes(&snapshot), [""; 0], "{:?}", snapshot.findings);
    let rows = snapshot.rows.expect("a sound database has rows");
    assert_eq!(rows.backend.as_deref(), Some("sqlite:made"));
    assert_eq!(rows.issues, [Issue { id: 1, title: "one".into(), body: "alpha".into() }]);
    let [operation] = &rows.operations[..] else { panic!("{rows:?}") };
    assert_eq!((operation.issued_at, operation.replay_expires_at), (Some(1_790_035_200), Some(1_790_035_560)));
    assert_eq!(rows.events.iter().map(|event| event.outcome.as_str()).collect::<Vec<_>>(), ["attempted", "failed"]);
}

#[test]
fn a_hot_journal_is_rolled_back_in_the_copy() {
    let store = hot();
    let journal = std::fs::read(store.path("-journal")).expect("the writer left a journal");
    assert_eq!(journal[0], 0xd9, "the journal is not hot");
    let snapshot = store.read();
    assert_eq!(codes(&snapshot), [""; 0], "{:?}", snapshot.findings);
    assert!(matches!(snapshot.journal, Some(Journal::RolledBack { pages }) if pages > 0), "{:?}", snapshot.journal);
    assert_eq!(snapshot.rows.as_ref().unwrap(), &Store::with("").read().rows.unwrap());
    // Without its journal SQLite takes half a transaction for the truth, or for damage.
    std::fs::remove_file(store.path("-journal")).unwrap();
    assert_ne!(store.read().rows, snapshot.rows);
}

#[test]
fn a_stale_journal_changes_nothing() {
    for stale in [Vec::new(), vec![0; 2048]] {
        let store = Store::with("");
        std::fs::write(store.path("-journal"), stale).unwrap();
        let snapshot = store.read();
        assert_eq!(snapshot.journal, Some(Journal::Stale));
        assert!(snapshot.rows.is_some() && !snapshot.rolled_back());
    }
}

#[test]
fn a_log_is_recovered_without_its_index() {
    let store = logged();
    let with_index = store.read();
    std::fs::remove_file(store.path("-shm")).unwrap();
    let snapshot = store.read();
    assert_eq!(with_index, snapshot);
    assert_eq!(codes(&snapshot), [""; 0], "{:?}", snapshot.findings);
    assert!(matches!(snapshot.log, Some(Log { committed: 2.., uncommitted: 1.. })), "{:?}", snapshot.log);
    assert_eq!(snapshot.rows.unwrap().issues.iter().map(|issue| issue.id).collect::<Vec<_>>(), [1, 2, 3]);
}

fn schema(sql: &str) -> Store {
    Store::with(sql)
}

fn changed(store: Store, suffix: &str, change: impl FnOnce(&mut Vec<u8>)) -> Store {
    store.change(suffix, change);
    store
}

/// Raw entries that no statement makes.
fn forged(sql: &str) -> Store {
    let store = Store::with("");
    let writer = store.open();
    writer.execute_batch("PRAGMA writable_schema=ON").unwrap();
    writer.execute_batch(sql).unwrap();
    drop(writer);
    store
}

fn set(bytes: &mut [u8], at: usize, value: &[u8]) {
    bytes[at..at + value.len()].copy_from_slice(value);
}

fn super_journal(bytes: &mut Vec<u8>) {
    let name = b"/tmp/made-mj0123456";
    let sum: u32 = name.iter().map(|byte| u32::from(*byte)).sum();
    bytes.extend([0, 0, 0, 0]);
    bytes.extend(name);
    bytes.extend(u32::try_from(name.len()).unwrap().to_be_bytes());
    bytes.extend(sum.to_be_bytes());
    bytes.extend([0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7]);
}

#[expect(clippy::too_many_lines, reason = "a table")]
fn broken() -> Vec<(&'static str, &'static str, Store)> {
    vec![
        ("database-broken", "no database", changed(schema(""), "", |b| set(b, 0, b"encrypted"))),
        ("database-broken", "a mode of the future", changed(schema(""), "", |b| set(b, 18, &[3, 3]))),
        ("database-broken", "a head alone", changed(schema(""), "", |b| b.truncate(100))),
        ("database-broken", "a page is gone", changed(schema(""), "", |b| b.truncate(b.len() - 4096))),
        ("database-broken", "a page is overwritten", changed(schema(""), "", |b| b[4096..8192].fill(0x55))),
        ("database-sidecar", "a page in the journal", changed(hot(), "-journal", |b| b[512 + 4 + 4096 - 200] ^= 1)),
        ("database-sidecar", "a journal cut short", changed(hot(), "-journal", |b| b.truncate(2000))),
        ("database-sidecar", "a journal's head alone", changed(hot(), "-journal", |b| b.truncate(20))),
        ("database-sidecar", "an absurd sector", changed(hot(), "-journal", |b| set(b, 20, &[0, 1, 0, 1]))),
        ("database-sidecar", "an absurd page", changed(hot(), "-journal", |b| set(b, 24, &[0xff; 4]))),
        ("database-sidecar", "absurdly many pages", changed(hot(), "-journal", |b| set(b, 16, &[0xff; 4]))),
        ("database-sidecar", "other magic", changed(hot(), "-journal", |b| b[1] ^= 1)),
        ("database-sidecar", "a log's head", changed(logged(), "-wal", |b| b[20] ^= 1)),
        ("database-sidecar", "a log cut short", changed(logged(), "-wal", |b| b.truncate(20))),
        ("database-sidecar", "a log's first frame", changed(logged(), "-wal", |b| b[32 + 24 + 9] ^= 1)),
        ("database-sidecar", "a log of another", changed(logged(), "", |b| set(b, 18, &[1, 1]))),
        ("database-super-journal", "its name", changed(hot(), "-journal", super_journal)),
        ("database-schema", "empty", changed(schema(""), "", Vec::clear)),
        ("database-schema", "no table", schema("DROP TABLE operations;")),
        (
            "database-schema",
            "a view",
            schema("DROP TABLE watchers; CREATE VIEW watchers AS SELECT 1 AS issue_id, 'x' AS name;"),
        ),
        ("database-schema", "no column", schema("ALTER TABLE issues DROP COLUMN body;")),
        ("database-schema", "a generated column", schema("ALTER TABLE issues ADD COLUMN more AS (id + 1);")),
        ("database-schema", "an expression", schema("CREATE INDEX i ON issues (lower(title));")),
        ("database-schema", "a condition", schema("CREATE INDEX i ON issues (title) WHERE id > 1;")),
        (
            "database-schema",
            "a virtual table",
            forged("INSERT INTO sqlite_schema VALUES ('table', 'v', 'v', 0, 'CREATE VIRTUAL TABLE v USING fts5(a)')"),
        ),
        (
            "database-broken",
            "a view that says it is a table",
            forged(
                "UPDATE sqlite_schema SET sql = 'CREATE VIEW watchers AS SELECT 1 AS issue_id, 2 AS name' WHERE name = 'watchers'",
            ),
        ),
        ("database-schema", "other texts", {
            let store = Store::new();
            store.open().execute_batch(&format!("PRAGMA encoding='UTF-16';{SCHEMA}")).unwrap();
            store
        }),
        ("database-value", "a number for a text", schema("UPDATE issues SET title = x'00';")),
        ("database-value", "no UTF-8", schema("UPDATE issues SET title = CAST(x'ff' AS TEXT);")),
        ("database-value", "a text for a number", schema("UPDATE operations SET effect_id = 'one';")),
        ("database-value", "a real for a number", schema("UPDATE operations SET effect_id = 1.5;")),
        ("database-value", "a part of a second", schema("UPDATE operations SET issued_at = 1790035200.5;")),
        ("database-value", "endless", schema("UPDATE operations SET issued_at = 9e999;")),
        ("database-value", "no fingerprint", schema("UPDATE operations SET request_fingerprint = 'ab';")),
        ("database-too-large", "a text", schema("UPDATE issues SET body = printf('%.*c', 1048600, 'x');")),
        ("database-unknown", "a table", schema("CREATE TABLE other (x);")),
        ("database-unknown", "a column", schema("ALTER TABLE issues ADD COLUMN more TEXT;")),
        ("database-unknown", "a view", schema("CREATE VIEW v AS SELECT load_extension('x') FROM issues;")),
        (
            "database-unknown",
            "a trigger",
            schema("CREATE TRIGGER t AFTER INSERT ON issues BEGIN DELETE FROM issues; END;"),
        ),
        ("database-unknown", "metadata", schema("INSERT INTO store_metadata VALUES ('more', 'x');")),
        ("database-log-absent", "no log", schema("PRAGMA journal_mode=WAL;")),
    ]
}

#[test]
fn each_code_is_raised_by_one_change() {
    let mut seen = BTreeSet::new();
    for (code, what, store) in broken() {
        let snapshot = store.read();
        assert_eq!(codes(&snapshot), [code], "{what}: {:?}", snapshot.findings);
        assert_eq!(snapshot.rows.is_some(), snapshot.findings.none_broken(), "{what}");
        seen.insert(code);
    }
    for rule in RULES.iter().filter(|rule| rule.name.starts_with("database-")) {
        assert!(seen.contains(rule.name), "nothing raises {}", rule.name);
    }
    for twin in [Store::with(""), hot(), logged()] {
        assert_eq!(codes(&twin.read()), [""; 0]);
    }
}

#[test]
fn an_empty_database_hides_no_super_journal() {
    let store = changed(hot(), "-journal", super_journal);
    store.change("", Vec::clear);
    assert_eq!(codes(&store.read()), ["database-super-journal"]);
}

#[test]
fn each_bound_holds() {
    let store = Store::with("");
    let size = std::fs::metadata(store.path("")).unwrap().len();
    let at = Limits { max_database: size, max_rows: 2, max_schema: 12, ..Limits::default() };
    assert_eq!(codes(&store.read_with(&at)), [""; 0]);
    for (over, code) in [
        (Limits { max_database: size - 1, ..at.clone() }, "database-too-large"),
        (Limits { max_rows: 1, ..at.clone() }, "database-too-large"),
        (Limits { max_schema: 2, ..at.clone() }, "database-broken"),
    ] {
        assert_eq!(codes(&store.read_with(&over)), [code], "{over:?}");
    }
    let store = Store::with(&"INSERT INTO issues (title) VALUES ('more');".repeat(500));
    assert_eq!(codes(&store.read()), [""; 0]);
    let few = Limits { max_database_steps: 2000, ..Limits::default() };
    assert_eq!(codes(&store.read_with(&few)), ["database-too-large"]);
}

#[test]
fn sqlite_can_load_no_code() {
    let options: Vec<String> = {
        let connection = Connection::open_in_memory().unwrap();
        let mut statement = connection.prepare("PRAGMA compile_options").unwrap();
        statement.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
    };
    assert!(
        options.iter().any(|option| option == "OMIT_LOAD_EXTENSION"),
        ".cargo/config.toml was not read: {options:?}"
    );
    assert!(!options.iter().any(|option| option.starts_with("ENABLE_FTS") || option.starts_with("ENABLE_RTREE")));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]
    #[test]
    fn random_rows_come_back_equal(
        rows in prop::collection::btree_map(1_i64..1 << 40, ("\\PC{0,40}", "(?s).{0,300}"), 1..40),
        pending in 0..3_u8,
    ) {
        let store = Store::with("DELETE FROM issues;");
        let mut writer = store.open();
        if pending == 1 {
            writer.execute_batch("PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;").unwrap();
        }
        let transaction = writer.transaction().unwrap();
        for (id, (title, body)) in &rows {
            transaction.execute("INSERT INTO issues VALUES (?1, ?2, ?3)", (id, title, body)).unwrap();
        }
        transaction.commit().unwrap();
        if pending == 2 {
            writer.execute_batch("PRAGMA cache_size=1; BEGIN; DELETE FROM issues;").unwrap();
            for _ in 0..60 {
                writer.execute("INSERT INTO issues (title, body) VALUES ('t', ?1)", ["b".repeat(900)]).unwrap();
            }
        }
        let snapshot = store.killed().read();
        let wanted: Vec<_> = rows.into_iter().map(|(id, (title, body))| Issue { id, title, body }).collect();
        prop_assert_eq!(codes(&snapshot), [""; 0]);
        prop_assert_eq!(snapshot.rolled_back(), pending == 2);
        prop_assert_eq!(snapshot.rows.unwrap().issues, wanted);
    }
}

/// What a historical record says of its database, in the words of the rows.
fn recorded(rows: &Rows) -> serde_json::Value {
    use exhibit::ledger::OperationState::{Applied, InProgress, Partial};
    let state = |state| match state {
        Some(Applied) => "applied",
        Some(Partial) => "partial",
        Some(InProgress) => "in_progress",
        None => "?",
    };
    let real = |time: Option<i64>| time.map(|time| serde_json::from_str::<f64>(&time.to_string()).unwrap());
    let operations = rows.operations.iter().map(|o| {
        serde_json::json!({"operation_id": o.operation, "principal": o.principal, "backend": o.backend,
            "state": state(o.state), "effect_id": o.effect, "result": o.result, "issued_at": real(o.issued_at),
            "authority_expires_at": real(o.authority_expires_at), "replay_expires_at": real(o.replay_expires_at)})
    });
    serde_json::json!({
        "operations": operations.collect::<Vec<_>>(),
        "issues": rows.issues.iter().map(|i| serde_json::json!({"id": i.id, "title": i.title, "body": i.body})).collect::<Vec<_>>(),
        "watchers": rows.watchers.iter().map(|w| serde_json::json!({"issue_id": w.issue, "name": w.name})).collect::<Vec<_>>(),
        "compensations": rows.compensations.iter().map(|c| {
            serde_json::json!({"issue_id": c.issue, "kind": c.kind, "outcome": c.outcome})}).collect::<Vec<_>>(),
        "events": rows.events.iter().map(|e| serde_json::json!({"operation_id": e.operation, "step": e.step,
            "outcome": e.outcome, "error_type": e.error})).collect::<Vec<_>>(),
    })
}

#[test]
fn historical_databases_hold_the_recorded_rows() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus/mcr-python-tree");
    let run = root.join("docs/research-completion-2026-09-22/raw/attempt-20260922T220129Z-1790114489061895000");
    let Ok(results) = std::fs::read_to_string(run.join("results.jsonl")) else {
        return skip::skipped("rows of historical databases: the corpus is not there");
    };
    let scratch = tempfile::tempdir().unwrap();
    for line in results.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let case = record["case_id"].as_str().unwrap();
        let database = std::fs::File::open(run.join(format!("case-{case}/store.sqlite3"))).unwrap();
        let source = Source { name: "store.sqlite3", database: Box::new(database), sidecars: Vec::new() };
        let snapshot = read(source, scratch.path(), &Limits::default()).unwrap();
        assert_eq!(codes(&snapshot), [""; 0], "{case}: {:?}", snapshot.findings);
        assert_eq!(recorded(&snapshot.rows.unwrap()), record["independent_db"], "{case}");
    }
    assert_eq!(results.lines().count(), 12);
}
