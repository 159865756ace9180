//! Feeds bytes to the ZIP reader: `cargo fuzz run zip_list`.
#![no_main]

#[path = "../parsers.rs"]
#[expect(dead_code, reason = "each target feeds one parser")]
mod parsers;

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| parsers::zip_list(bytes));
