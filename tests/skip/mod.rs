//! Says which check was not made, so that a green run never hides one.

use std::fs::OpenOptions;
use std::io::Write;

/// Prints that a check was left out, and appends it to the file that `EXHIBIT_SKIPPED_LOG` names.
#[expect(
    clippy::disallowed_methods,
    clippy::expect_used,
    clippy::print_stdout,
    reason = "tests may print, panic and read the environment"
)]
pub(crate) fn skipped(what: &str) {
    println!("skipped: {what}");
    let Some(log) = std::env::var_os("EXHIBIT_SKIPPED_LOG") else { return };
    let mut file = OpenOptions::new().append(true).create(true).open(log).expect("the log of skipped checks opens");
    file.write_all(format!("skipped: {what}\n").as_bytes()).expect("the log of skipped checks can be written");
}
