//! Feeds bytes as a policy or a receipt: `cargo fuzz run document`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::document(bytes));
