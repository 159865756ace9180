//! Owns what a file of a run is for, told from its path alone.
//!
//! Refuses to look inside a file. Invariant: the same path and run give the same role, wherever the tree is.

use super::last_part;
use crate::manifest::Role;

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

/// The role of the file `path` in or beside the run in the folder `run`; both from the tree's root.
pub fn role_of(path: &str, run: &str) -> Role {
    let name = last_part(path);
    let below = if run.is_empty() { Some(path) } else { path.strip_prefix(run).and_then(|p| p.strip_prefix('/')) };
    match (name, below == Some(name)) {
        ("run.json", true) => return Role::Run,
        ("results.jsonl", true) => return Role::Results,
        ("provenance.json", true) => return Role::Provenance,
        ("matrix.json" | "matrix-spec.json", false) => return Role::Matrix,
        ("PROTOCOL.md", false) => return Role::Protocol,
        _ => {}
    }
    let mut folders = path.split('/').rev().skip(1);
    if folders.any(|folder| folder == "source-snapshots") && ends_with_any(name, &[".json", ".tar.gz"]) {
        return Role::SourceSnapshot;
    }
    if database_of(name).is_some_and(|database| role_of(database, run) == Role::Database) {
        return Role::Sidecar;
    }
    ENDINGS.iter().find(|(endings, _)| ends_with_any(name, endings)).map_or(Role::Other, |(_, role)| *role)
}

fn ends_with_any(name: &str, endings: &[&str]) -> bool {
    endings.iter().any(|ending| name.ends_with(ending))
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
            assert_eq!(role_of(path, "m/runs/r1"), role, "{path}");
        }
        assert_eq!(role_of("run.json", ""), Role::Run);
    }
}
