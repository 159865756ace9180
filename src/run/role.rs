//! Owns what a file of a run is for, told from its path alone.
//!
//! Refuses to look inside a file. Invariant: the same path and run give the same role, wherever the tree is.

use std::fmt;

use serde::Serialize;

use super::last_part;

/// What a file is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// The head of a run, `run.json`.
    Run,
    /// The results of a run, `results.jsonl`.
    Results,
    /// The list of cases that was run.
    Matrix,
    /// The study's protocol, `PROTOCOL.md`.
    Protocol,
    /// What went over a connection.
    Transcript,
    /// A database after a case.
    Database,
    /// A journal or write-ahead log of a database.
    Sidecar,
    /// What a case's test wrote of itself.
    Record,
    /// Output of a program, for people.
    Log,
    /// Where an attempt comes from, `provenance.json`.
    Provenance,
    /// A snapshot of the sources, or the document that binds it to a run.
    SourceSnapshot,
    /// Source code.
    Source,
    /// Text for people.
    Document,
    /// None of these.
    Other,
}

/// Endings of names, the more exact first.
const ENDINGS: [(&[&str], Role); 6] = [
    (&[".transcript.log", ".transcript.jsonl"], Role::Transcript),
    (&[".test-record.jsonl"], Role::Record),
    (&[".sqlite3", ".sqlite", ".db"], Role::Database),
    (&[".log"], Role::Log),
    (&[".md", ".txt", ".html", ".pdf", ".cff", "SUMMARY.json"], Role::Document),
    (&[".py", ".rs", ".ts", ".js", ".cjs", ".mjs", ".go", ".java", ".c", ".h", ".sh", ".sql"], Role::Source),
];

/// What `SQLite` appends to a database's name for a file that belongs to it.
pub(super) const SIDECAR_ENDINGS: [&str; 3] = ["-journal", "-wal", "-shm"];

/// The database that a sidecar's name belongs to.
pub(super) fn database_of(path: &str) -> Option<&str> {
    SIDECAR_ENDINGS.iter().find_map(|ending| path.strip_suffix(ending))
}

impl Role {
    /// The role of the file `path` in or beside the run in the folder `run`; both from the tree's root.
    pub fn of(path: &str, run: &str) -> Self {
        let name = last_part(path);
        let below = if run.is_empty() { Some(path) } else { path.strip_prefix(run).and_then(|p| p.strip_prefix('/')) };
        match (name, below == Some(name)) {
            ("run.json", true) => return Self::Run,
            ("results.jsonl", true) => return Self::Results,
            ("provenance.json", true) => return Self::Provenance,
            ("matrix.json" | "matrix-spec.json", false) => return Self::Matrix,
            ("PROTOCOL.md", false) => return Self::Protocol,
            _ => {}
        }
        let mut folders = path.split('/').rev().skip(1);
        if folders.any(|folder| folder == "source-snapshots") && ends_with_any(name, &[".json", ".tar.gz"]) {
            return Self::SourceSnapshot;
        }
        if database_of(name).is_some_and(|database| Self::of(database, run) == Self::Database) {
            return Self::Sidecar;
        }
        ENDINGS.iter().find(|(endings, _)| ends_with_any(name, endings)).map_or(Self::Other, |(_, role)| *role)
    }

    /// Its stable name.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Results => "results",
            Self::Matrix => "matrix",
            Self::Protocol => "protocol",
            Self::Transcript => "transcript",
            Self::Database => "database",
            Self::Sidecar => "sidecar",
            Self::Record => "record",
            Self::Log => "log",
            Self::Provenance => "provenance",
            Self::SourceSnapshot => "source_snapshot",
            Self::Source => "source",
            Self::Document => "document",
            Self::Other => "other",
        }
    }
}

fn ends_with_any(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_tells_the_role() {
        for (path, role) in [
            ("m/runs/r1/run.json", Role::Run),
            ("m/runs/r1/results.jsonl", Role::Results),
            ("m/runs/r1/provenance.json", Role::Provenance),
            ("m/matrix.json", Role::Matrix),
            ("docs/matrix-spec.json", Role::Matrix),
            ("m/PROTOCOL.md", Role::Protocol),
            ("m/runs/r1/cases/01/server.transcript.jsonl", Role::Transcript),
            ("m/runs/r1/case-01/server.transcript.log", Role::Transcript),
            ("m/runs/r1/case-01/store.sqlite3", Role::Database),
            ("m/runs/r1/case-01/store.sqlite3-journal", Role::Sidecar),
            ("m/runs/r1/case-01/store.sqlite3-wal", Role::Sidecar),
            ("m/runs/r1/case-01/notes-wal", Role::Other),
            ("m/runs/r1/case-01.test-record.jsonl", Role::Record),
            ("m/runs/r1/case-01.pytest.stdout.log", Role::Log),
            ("docs/source-snapshots/final-71e0.json", Role::SourceSnapshot),
            ("docs/source-snapshots/final-71e0.tar.gz", Role::SourceSnapshot),
            ("reference/backend.py", Role::Source),
            ("m/runs/r1/MATRIX.md", Role::Document),
            ("m/runs/r1/SUMMARY.json", Role::Document),
            // A case may keep files of these names; they are not the run's.
            ("m/runs/r1/cases/01/run.json", Role::Other),
            ("m/runs/r1/cases/01/results.jsonl", Role::Other),
        ] {
            assert_eq!(Role::of(path, "m/runs/r1"), role, "{path}");
            assert_eq!(serde_json::to_value(role).unwrap(), role.as_str());
        }
        assert_eq!(Role::of("run.json", ""), Role::Run);
    }
}
