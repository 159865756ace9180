//! Makes the example that shows the formats: a matrix, one run of made data, and its archive. With `EXHIBIT_UPDATE` set
//! it writes them; otherwise they must be what it would write. A database is compared by its rows, since another version
//! of `SQLite` may lay the same rows out in other bytes; everything else is compared byte for byte.
#![expect(clippy::disallowed_methods, reason = "a test may read the environment")]
#![expect(clippy::expect_used, reason = "a test that can't read what it checks fails")]

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use exhibit::archive::{Freeze, freeze};
use exhibit::digest::Sha256;
use exhibit::limits::Limits;
use rusqlite::Connection;

const EXAMPLE: &str = "matrices/made-example";
const RUN: &str = "matrices/made-example/runs/made-1";
const DATABASE: &str = "matrices/made-example/runs/made-1/cases/01/store.sqlite3";

const PROTOCOL: &str = "\
# made-example

**Made data.** This matrix and its run show the formats. No process ran, nothing was recorded, and nothing follows from
the results. `tests/made_example.rs` writes the whole folder; the times and ids in it are invented.

The story that is told: a client asks a server to create an issue. In case 01 the reply arrives. In case 02 the server
ends after the commit and before the reply, and the client doesn't ask again. Case 03 needs an API that the imagined SDK
lacks.
";

const MATRIX: &str = r#"{
  "format": "exhibit-matrix/1",
  "name": "made-example",
  "cases": [
    { "id": "01", "name": "The reply arrives (made data)", "expected": "stored_result_one_effect" },
    { "id": "02", "name": "The reply is lost (made data)", "expected": "unknown_no_retry" },
    { "id": "03", "name": "The SDK can't cancel a task (made data)", "expected": "cancelled_no_effect" }
  ]
}
"#;

const REPLY_ARRIVES: &str = r#"{"format":"exhibit-transcript/1"}
{"seq":1,"t_ns":0,"process":"server","event":"spawn"}
{"seq":2,"t_ns":1000000,"process":"server","event":"ready"}
{"seq":3,"t_ns":2000000,"process":"server","connection":1,"dir":"to_server","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"create_issue\",\"arguments\":{\"operation_key\":\"made-key-1\",\"title\":\"made data\"}}}"}
{"seq":4,"t_ns":3000000,"process":"server","connection":1,"dir":"to_client","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{\"content\":[{\"type\":\"text\",\"text\":\"{\\\"issue_id\\\":1}\"}],\"isError\":false}}"}
{"seq":5,"t_ns":4000000,"process":"server","connection":1,"event":"eof"}
{"seq":6,"t_ns":5000000,"process":"server","event":"exit","code":0}
"#;

const REPLY_IS_LOST: &str = r#"{"format":"exhibit-transcript/1"}
{"seq":1,"t_ns":0,"process":"server","event":"spawn"}
{"seq":2,"t_ns":1000000,"process":"server","event":"ready"}
{"seq":3,"t_ns":2000000,"process":"server","connection":1,"dir":"to_server","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"tools/call\",\"params\":{\"name\":\"create_issue\",\"arguments\":{\"operation_key\":\"made-key-2\",\"title\":\"made data\"}}}"}
{"seq":4,"t_ns":3000000,"process":"server","event":"exit","code":86}
{"seq":5,"t_ns":4000000,"process":"server","connection":1,"event":"eof"}
"#;

const TABLES: &str = "\
CREATE TABLE issues (id INTEGER PRIMARY KEY, title TEXT NOT NULL);
CREATE TABLE operations (operation_key TEXT PRIMARY KEY, state TEXT NOT NULL, issue_id INTEGER);
INSERT INTO issues VALUES (1, 'made data');
INSERT INTO operations VALUES ('made-key-1', 'applied', 1);
";

fn at(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn is_update() -> bool {
    std::env::var_os("EXHIBIT_UPDATE").is_some()
}

/// Every row of the database as text, or nothing where there is no such database.
fn rows(path: &Path) -> Option<Vec<String>> {
    let database = Connection::open_with_flags(path, rusqlite::OpenFlags::SQLITE_OPEN_READ_ONLY).ok()?;
    let all = "SELECT 'table ' || name FROM sqlite_schema WHERE type = 'table' \
               UNION ALL SELECT 'issue ' || id || ' ' || title FROM issues \
               UNION ALL SELECT 'operation ' || operation_key || ' ' || state || ' ' || issue_id FROM operations";
    let mut statement = database.prepare(all).ok()?;
    statement.query_map([], |row| row.get(0)).ok()?.collect::<Result<_, _>>().ok()
}

fn are_the_rows(path: &Path) -> bool {
    rows(path).is_some_and(|rows| {
        rows == ["table issues", "table operations", "issue 1 made data", "operation made-key-1 applied 1"]
    })
}

fn make_database(path: &Path) {
    if !are_the_rows(path) {
        drop(std::fs::remove_file(path));
        let database = Connection::open(path).expect("the database can be made");
        database.execute_batch(TABLES).expect("the rows can be written");
    }
}

/// Every text of the example with its path. The run records the digest of the database that is there.
fn texts() -> Vec<(String, String)> {
    let database = Sha256::of(&std::fs::read(at(DATABASE)).expect("the database is there"));
    let run = format!(
        r#"{{
  "format": "exhibit-run/1",
  "id": "made-1",
  "project": "made-example",
  "matrix": {{ "name": "made-example", "sha256": "{}" }},
  "started": null,
  "made": "made_data",
  "provenance": {{
    "note": "made by tests/made_example.rs to show the formats; not recorded from any process"
  }},
  "databases": [{{ "path": "cases/01/store.sqlite3", "sidecars": [] }}]
}}
"#,
        Sha256::of(MATRIX.as_bytes())
    );
    let results = format!(
        r#"{{"case":"01","expected":"stored_result_one_effect","status":"pass","exit_codes":{{"server":0}},"artifacts":{{"cases/01/server.transcript.jsonl":"{}","cases/01/store.sqlite3":"{database}"}},"missing_api":null,"error":null}}
{{"case":"02","expected":"unknown_no_retry","status":"pass","exit_codes":{{"server":86}},"artifacts":{{"cases/02/server.transcript.jsonl":"{}"}},"missing_api":null,"error":null}}
{{"case":"03","expected":"cancelled_no_effect","status":"unsupported","exit_codes":{{}},"artifacts":{{}},"missing_api":"tasks/cancel (made data)","error":null}}
"#,
        Sha256::of(REPLY_ARRIVES.as_bytes()),
        Sha256::of(REPLY_IS_LOST.as_bytes()),
    );
    vec![
        (format!("{EXAMPLE}/PROTOCOL.md"), PROTOCOL.to_owned()),
        (format!("{EXAMPLE}/matrix.json"), MATRIX.to_owned()),
        (format!("{RUN}/run.json"), run),
        (format!("{RUN}/results.jsonl"), results),
        (format!("{RUN}/cases/01/server.transcript.jsonl"), REPLY_ARRIVES.to_owned()),
        (format!("{RUN}/cases/02/server.transcript.jsonl"), REPLY_IS_LOST.to_owned()),
    ]
}

/// The paths of all files below a folder, from the project's root.
fn files_below(folder: &str, found: &mut BTreeSet<String>) {
    for entry in std::fs::read_dir(at(folder)).expect("the folder can be read") {
        let entry = entry.expect("the folder can be read");
        let path = format!("{folder}/{}", entry.file_name().to_str().expect("names are UTF-8"));
        if entry.file_type().expect("the file's type can be read").is_dir() {
            files_below(&path, found);
        } else {
            found.insert(path);
        }
    }
}

/// The archive and its receipt.
fn freeze_to(out: &Path) -> [PathBuf; 2] {
    let request = Freeze { run: &at(RUN), root: None, out, policy: None, as_failed_evidence: false };
    let frozen = freeze(&request, &Limits::default(), &|_| ()).expect("the run can be frozen");
    assert!(frozen.report.made_data, "the run doesn't say that it is made data");
    let written = frozen.written.expect("the run is coherent");
    [written.archive, written.receipt]
}

/// The committed archives of the example.
fn archives() -> Vec<String> {
    let mut found = BTreeSet::new();
    files_below("release", &mut found);
    found.retain(|path| path.starts_with("release/made-example-"));
    found.into_iter().collect()
}

#[test]
fn the_example_is_what_is_made_here_and_its_archive_what_freezing_it_gives() {
    if is_update() {
        std::fs::create_dir_all(at(&format!("{RUN}/cases/01"))).expect("the folder can be made");
        std::fs::create_dir_all(at(&format!("{RUN}/cases/02"))).expect("the folder can be made");
        make_database(&at(DATABASE));
        texts().iter().for_each(|(path, text)| std::fs::write(at(path), text).expect("the file can be written"));
        archives().iter().for_each(|path| std::fs::remove_file(at(path)).expect("the old archive can be removed"));
        freeze_to(&at("release"));
    }
    assert!(are_the_rows(&at(DATABASE)), "{:?}", rows(&at(DATABASE)));
    let texts = texts();
    for (path, text) in &texts {
        assert_eq!(std::fs::read(at(path)).ok().as_deref(), Some(text.as_bytes()), "{path}");
    }
    let mut found = BTreeSet::new();
    files_below(EXAMPLE, &mut found);
    let made = texts.into_iter().map(|(path, _)| path).chain([DATABASE.to_owned()]).collect();
    assert_eq!(found, made);

    let out = tempfile::tempdir().expect("a temporary folder can be made");
    let mut names = Vec::new();
    for path in freeze_to(out.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).expect("names are UTF-8");
        let committed = format!("release/{name}");
        assert!(std::fs::read(&path).ok() == std::fs::read(at(&committed)).ok(), "{committed} has other bytes");
        names.push(committed);
    }
    let [archive, _] = names.as_slice() else { panic!("{names:?}") };
    let readme = std::fs::read_to_string(at("README.md")).expect("the README can be read");
    let command = format!("$ exhibit verify-export {archive} --inventory-only");
    assert!(readme.contains(&command), "the README names another archive");
    names.sort();
    assert_eq!(archives(), names, "an archive of an older example is left");
}
