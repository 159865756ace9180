//! Feeds bytes as a tree's manifest: `cargo fuzz run manifest`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::manifest(bytes));
