//! Owns `exhibit freeze`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::{Freeze, freeze};
use crate::limits::Limits;
use crate::report::Freezing;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The run's folder: one with a run.json, or a historical attempt
    run: PathBuf,
    /// The project's root, which the run's recorded paths start at; found from the records where they show it
    #[arg(long)]
    root: Option<PathBuf>,
    /// The folder that the archive and its receipt go to
    #[arg(short, long = "output")]
    output: PathBuf,
    /// The study's policy, where it isn't one that comes with the tool
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Keep a run that isn't coherent, or that failed; the archive says so inside
    #[arg(long)]
    as_failed_evidence: bool,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let request = Freeze {
        run: &arguments.run,
        root: arguments.root.as_deref(),
        out: &arguments.output,
        policy: arguments.policy.as_deref(),
        as_failed_evidence: arguments.as_failed_evidence,
    };
    let progress = Progress::new();
    let frozen = freeze(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let shown = given(&arguments.run);
    let (report, outcome) = match frozen {
        Ok(frozen) => {
            let outcome = if frozen.written.is_some() { Outcome::Held } else { Outcome::Findings };
            (Freezing::read(shown, &frozen), outcome)
        }
        Err(error) => (Freezing::failed(shown, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
