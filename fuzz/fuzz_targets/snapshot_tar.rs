//! Feeds bytes to the reader of source snapshots: `cargo fuzz run snapshot_tar`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::snapshot_tar(bytes));
