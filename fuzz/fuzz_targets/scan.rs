//! Scans bytes as a content of a release: `cargo fuzz run scan`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::scan(bytes));
