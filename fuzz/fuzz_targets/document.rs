//! Feeds bytes as a policy, a receipt or export rules: `cargo fuzz run document`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::document(bytes));
