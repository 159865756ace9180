//! Owns `exhibit replay`.
//!
//! Refuses a mixture of runs and loose transcripts. Invariant: nothing is started, and private copies of databases are gone
//! at the end.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::replay::{Given, replay};
use crate::limits::Limits;
use crate::report::Replaying;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// A run's folder, a release or archive (ZIP or folder), or transcripts
    #[arg(required = true)]
    paths: Vec<PathBuf>,
    /// The matrix that was run, where it isn't the one that the run names
    #[arg(long)]
    matrix: Option<PathBuf>,
    /// The dialect of the servers, where it isn't the matrix's or one that comes with the tool
    #[arg(long)]
    dialect: Option<PathBuf>,
    /// The ledger's database, for loose transcripts; copied after the last writer had ended
    #[arg(long)]
    ledger: Option<PathBuf>,
    /// The database was copied while something could still write: what it lacks may have come later
    #[arg(long, requires = "ledger")]
    ledger_is_early: bool,
    /// The store held nothing when loose transcripts begin
    #[arg(long)]
    starts_empty: bool,
    /// Exit with 3 where the effect of a lost write stays open
    #[arg(long)]
    require_settled: bool,
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
    let paths: Vec<&std::path::Path> = arguments.paths.iter().map(PathBuf::as_path).collect();
    let request = Given {
        paths: &paths,
        matrix: arguments.matrix.as_deref(),
        dialect: arguments.dialect.as_deref(),
        ledger: arguments.ledger.as_deref(),
        ledger_is_early: arguments.ledger_is_early,
        starts_empty: arguments.starts_empty,
        state_key: arguments.state_key.as_deref(),
        fingerprint_key: arguments.fingerprint_key.as_deref(),
        scratch: &scratch,
    };
    let progress = Progress::new();
    let replayed = replay(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let files = arguments.paths.iter().map(|path| given(path)).collect();
    let (report, outcome) = match replayed {
        Ok(runs) => {
            let report = Replaying::read(files, &runs, arguments.require_settled);
            let outcome = match report.verdict {
                "pass" => Outcome::Held,
                "fail" => Outcome::Findings,
                _ => Outcome::Undecided,
            };
            (report, outcome)
        }
        Err(error) => (Replaying::failed(files, arguments.require_settled, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
