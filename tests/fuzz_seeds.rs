//! Replays the seeds of every fuzz target, and inputs that once broke one.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure is what is looked for")]

#[path = "../fuzz/parsers.rs"]
mod parsers;

use std::path::Path;

#[expect(clippy::print_stdout, reason = "says which seed it was")]
fn replay(target: &str, feed: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.sort();
    assert!(!paths.is_empty(), "no seeds for {target}");
    for path in paths {
        println!("{}", path.display());
        feed(&std::fs::read(path).unwrap());
    }
}

#[test]
fn seeds_of_zip_list() {
    replay("zip_list", parsers::zip_list);
}

#[test]
fn seeds_of_json_check() {
    replay("json_check", parsers::json_check);
}

#[test]
fn seeds_of_entry_name() {
    replay("entry_name", parsers::entry_name);
}

#[test]
fn seeds_of_manifest() {
    replay("manifest", parsers::manifest);
}

#[test]
fn seeds_of_results() {
    replay("results", parsers::results);
}

#[test]
fn seeds_of_document() {
    replay("document", parsers::document);
}

#[test]
fn seeds_of_snapshot_tar() {
    replay("snapshot_tar", parsers::snapshot_tar);
}

#[test]
fn seeds_of_scan() {
    replay("scan", parsers::scan);
}

#[test]
fn seeds_of_transcript() {
    replay("transcript", parsers::transcript);
}
