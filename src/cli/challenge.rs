//! Owns `exhibit challenge`.
//!
//! Invariant: the evidence is read and never written; forgeries live in memory.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::challenge;
use crate::archive::replay::Given;
use crate::limits::Limits;
use crate::report::Challenging;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A run's folder, or a release or archive (ZIP or folder)
    path: PathBuf,
    /// The matrix that was run, where it isn't the one that the run names
    #[arg(long)]
    matrix: Option<PathBuf>,
    /// The dialect of the servers, where it isn't the matrix's or one that comes with the tool
    #[arg(long)]
    dialect: Option<PathBuf>,
    /// The key that sealed the states, where the study discloses it: hexadecimal digits, or the bytes
    #[arg(long)]
    state_key: Option<PathBuf>,
    /// The key of fingerprints, where it is disclosed: stored fingerprints are recomputed
    #[arg(long)]
    fingerprint_key: Option<PathBuf>,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let scratch = std::env::temp_dir();
    let request = Given {
        paths: &[&arguments.path],
        matrix: arguments.matrix.as_deref(),
        dialect: arguments.dialect.as_deref(),
        ledger: None,
        ledger_is_early: false,
        starts_empty: false,
        state_key: arguments.state_key.as_deref(),
        fingerprint_key: arguments.fingerprint_key.as_deref(),
        scratch: &scratch,
    };
    let progress = Progress::new();
    let challenged = challenge(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let file = given(&arguments.path);
    let (report, outcome) = match challenged {
        Ok(runs) => {
            let report = Challenging::read(file, &runs);
            // What survives is no fault of the evidence: it is what the evidence can't decide.
            let is_whole = report.outcome == "all_caught" && !report.is_partial();
            (report, if is_whole { Outcome::Held } else { Outcome::Undecided })
        }
        Err(error) => (Challenging::failed(file, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
