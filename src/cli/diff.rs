//! Owns `exhibit diff`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::diff;
use crate::limits::Limits;
use crate::report::Difference;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A release, archive or any tree: a ZIP file or a folder
    a: PathBuf,
    /// What to compare it with, in either form
    b: PathBuf,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let limits = Limits::default();
    let progress = Progress::new();
    let found = diff(&arguments.a, &arguments.b, &limits, &|step| progress.step(step));
    drop(progress);
    let (a, b) = (given(&arguments.a), given(&arguments.b));
    let (report, outcome) = match found {
        Ok(found) => {
            let report = Difference::read(a, b, &found);
            let outcome = if report.outcome == "same" { Outcome::Held } else { Outcome::Findings };
            (report, outcome)
        }
        Err(error) => (Difference::failed(a, b, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(&limits, out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
