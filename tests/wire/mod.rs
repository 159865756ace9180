//! Makes runs of one case on the wire of the study's Python server: transcripts, matrix, results and database, by hand.
//!
//! The data is made up; no server gave it.

use std::fmt::Write as _;
use std::path::Path;
use std::process::{Command, Output};

use rusqlite::Connection;
use serde_json::{Value, json};

pub(crate) const CLOCK: i64 = 1_790_035_200;
const BACKEND: &str = "sqlite:made";

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
";

/// A process with its wire.
struct Server {
    name: String,
    phase: usize,
    principal: String,
    clock: i64,
    exit: i64,
    steps: Vec<Value>,
    lines: String,
}

/// A case while it is made.
pub(crate) struct Made {
    servers: Vec<Server>,
    next: u64,
    sql: String,
    has_store: bool,
}

/// A reply, as a result or an error.
pub(crate) enum Reply {
    Lost,
    Result(Value),
    Error(&'static str),
}

pub(crate) fn effect(operation: &str, id: u64, result: &str, replayed: bool, state: &str) -> Reply {
    let told =
        json!({"operationId": operation, "effectId": id, "result": result, "replayed": replayed, "state": state});
    Reply::Result(json!({"resultType": "complete", "structuredContent": told}))
}

/// Applied as effect `id`.
pub(crate) fn applied(operation: &str, id: u64, replayed: bool) -> Reply {
    effect(operation, id, &format!("created {id}"), replayed, "applied")
}

/// A status; `change` may make it wrong.
pub(crate) fn status(operation: &str, id: Option<u64>, change: impl Fn(&mut Value)) -> Reply {
    let state = if id.is_some() { "applied" } else { "unknown" };
    let mut told = json!({
        "operationId": operation, "principal": "alice", "backend": BACKEND, "state": state, "authoritative": true,
        "freshWriteAuthorized": false, "matchingIds": id.into_iter().collect::<Vec<_>>(),
        "storedResult": id.map(|id| format!("created {id}")), "scope": "this store",
        "observedAt": "2026-09-22T00:00:00+00:00",
    });
    change(&mut told);
    Reply::Result(json!({"resultType": "complete", "structuredContent": told}))
}

impl Made {
    pub(crate) fn new() -> Self {
        Self { servers: Vec::new(), next: 0, sql: String::new(), has_store: false }
    }

    /// Another process; what follows is sent to it.
    pub(crate) fn server(mut self, name: &str, phase: usize, principal: &str, clock: i64, exit: i64) -> Self {
        let (name, principal) = (name.to_owned(), principal.to_owned());
        self.servers.push(Server { name, phase, principal, clock, exit, steps: Vec::new(), lines: String::new() });
        self
    }

    fn send(&mut self, step: Value, params: &Value, reply: Reply) {
        self.next += 1;
        let id = self.next;
        let server = self.servers.last_mut().unwrap();
        server.steps.push(step);
        let request = json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params});
        writeln!(server.lines, "> {request}").unwrap();
        let reply = match reply {
            Reply::Lost => return,
            Reply::Result(result) => json!({"jsonrpc": "2.0", "id": id, "result": result}),
            Reply::Error(text) => json!({"jsonrpc": "2.0", "id": id, "error": {"code": -32602, "message": text}}),
        };
        writeln!(server.lines, "< {reply}").unwrap();
    }

    fn params(operation: &str, mode: &str) -> Value {
        let arguments = json!({"operation_id": operation, "title": "made", "mode": mode});
        json!({"name": "create_guarded_issue", "arguments": arguments})
    }

    /// A first round; its state is named after the step.
    pub(crate) fn first(self, step: &str, operation: &str, mode: &str) -> Self {
        let token = format!("v1.{step}{step}{step}{step}{step}{step}{step}{step}");
        let asked = json!({"resultType": "input_required", "requestState": token, "inputRequests": {"body": {}}});
        self.first_told(step, operation, mode, Reply::Result(asked))
    }

    pub(crate) fn first_told(mut self, step: &str, operation: &str, mode: &str, reply: Reply) -> Self {
        let arguments = json!({"title": "made", "mode": mode});
        let scheduled = json!({"id": step, "send": "first_round", "operation": operation, "arguments": arguments});
        self.send(scheduled, &Self::params(operation, mode), reply);
        self
    }

    /// A continuation with the state of a first round.
    pub(crate) fn write(self, step: &str, operation: &str, from: &str, answer: &str, reply: Reply) -> Self {
        self.write_in(step, operation, "atomic", (from, answer), reply)
    }

    pub(crate) fn write_in(
        mut self,
        step: &str,
        operation: &str,
        mode: &str,
        (from, answer): (&str, &str),
        reply: Reply,
    ) -> Self {
        let arguments = json!({"title": "made", "mode": mode});
        let scheduled = json!({
            "id": step, "send": "continuation", "operation": operation, "arguments": arguments,
            "state": {"from": from}, "answer": answer,
        });
        let mut params = Self::params(operation, mode);
        params["requestState"] = json!(format!("v1.{from}{from}{from}{from}{from}{from}{from}{from}"));
        params["inputResponses"] = json!({"body": {"action": "accept", "content": {"body": answer}}});
        self.send(scheduled, &params, reply);
        self
    }

    /// A status read.
    pub(crate) fn ask(mut self, step: &str, operation: &str, reply: Reply) -> Self {
        let scheduled = json!({"id": step, "send": "status", "operation": operation});
        let params = json!({"name": "get_operation_status", "arguments": {"operation_id": operation}});
        self.send(scheduled, &params, reply);
        self
    }

    /// A database at the end, with these rows besides what is there.
    pub(crate) fn store(mut self, sql: &str) -> Self {
        self.has_store = true;
        self.sql.push_str(sql);
        self
    }

    /// An applied row with its issue.
    pub(crate) fn row(self, operation: &str, id: u64) -> Self {
        let sql = format!(
            "INSERT INTO issues VALUES ({id}, 'made', 'alpha');
             INSERT INTO operations VALUES ('{operation}', 'alice', '{BACKEND}', printf('%064d', 0), 'applied', {id},
               'created {id}', {CLOCK}, {}, {}, 'x', 'x');",
            CLOCK + 300,
            CLOCK + 360
        );
        self.store(&sql)
    }

    /// Writes the run with its matrix beside it, and says where the matrix lies.
    pub(crate) fn lay(&self, folder: &Path) -> std::path::PathBuf {
        let case = folder.join("run/case-01");
        std::fs::create_dir_all(&case).unwrap();
        let mut phases: Vec<Vec<Value>> = Vec::new();
        for server in &self.servers {
            std::fs::write(case.join(format!("{}.transcript.log", server.name)), &server.lines).unwrap();
            phases.resize(phases.len().max(server.phase + 1), Vec::new());
            phases[server.phase].push(json!({
                "name": server.name, "principal": server.principal, "backend": BACKEND, "clock": server.clock,
                "lifetimes": {"authority": 300, "replay": 360, "state": 600},
                "keys": {"state": "s", "fingerprint": "f"}, "tool_version": "1", "fault": null,
                "exit": server.exit, "steps": server.steps,
            }));
        }
        let phases: Vec<Value> = phases.into_iter().map(|processes| json!({"processes": processes})).collect();
        let matrix = json!({"format": "exhibit-matrix/1", "name": "made", "dialect": "mcp-python", "cases": [{
            "id": "01", "name": "made", "expected": "made", "starts_empty": true, "phases": phases,
            "expectations": self.servers.iter()
                .map(|server| json!({"exit": {"process": server.name, "code": server.exit}})).collect::<Vec<_>>(),
        }]});
        std::fs::write(folder.join("matrix.json"), matrix.to_string()).unwrap();
        let exits: Vec<i64> = self.servers.iter().map(|server| server.exit).collect();
        let result = json!({"case_id": "01", "expected": "made", "status": "pass", "process_exit_codes": exits});
        std::fs::write(folder.join("run/results.jsonl"), format!("{result}\n")).unwrap();
        if self.has_store {
            let store = Connection::open(case.join("store.sqlite3")).unwrap();
            store.execute_batch(&format!("{SCHEMA}{}", self.sql)).unwrap();
        }
        folder.join("matrix.json")
    }

    /// Replays the run with the built program.
    pub(crate) fn replay(&self, more: &[&str]) -> Output {
        let folder = tempfile::tempdir().unwrap();
        let matrix = self.lay(folder.path());
        run(&[&["replay", "run", "--matrix", matrix.to_str().unwrap()], more].concat(), folder.path())
    }

    /// The exit code, and the report's first case.
    pub(crate) fn report(&self) -> (i32, Value) {
        let output = self.replay(&["--format", "json"]);
        let report: Value = serde_json::from_slice(&output.stdout).unwrap();
        assert!(report["error"].is_null(), "{report}");
        (output.status.code().unwrap(), report["runs"][0]["cases"][0].clone())
    }
}

/// Runs the built program in a folder.
#[expect(clippy::disallowed_methods, reason = "a test may start the program that it tests")]
pub(crate) fn run(arguments: &[&str], folder: &Path) -> Output {
    Command::new(env!("CARGO_BIN_EXE_exhibit")).args(arguments).current_dir(folder).output().unwrap()
}

/// All codes of a case, sorted.
pub(crate) fn codes(case: &Value) -> Vec<String> {
    let of = |list: &str| case[list].as_array().unwrap().iter().map(|one| one["code"].as_str().unwrap().to_owned());
    let mut codes: Vec<String> = of("contradictions").chain(of("findings")).collect();
    codes.sort();
    codes.dedup();
    codes
}
