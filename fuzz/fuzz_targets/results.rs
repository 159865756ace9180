//! Feeds bytes as a run's results: `cargo fuzz run results`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::results(bytes));
