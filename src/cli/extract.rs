//! Owns `exhibit extract`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::{Extract, extract};
use crate::limits::Limits;
use crate::report::Extraction;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The release or archive, a ZIP file
    zip: PathBuf,
    /// The folder that the ZIP's root folder goes to; made if it isn't there
    #[arg(short, long = "output", value_name = "DIR")]
    output: PathBuf,
    /// The publisher's receipt of the ZIP
    #[arg(long)]
    receipt: Option<PathBuf>,
    /// The study's policy, where it isn't one that comes with the tool
    #[arg(long)]
    policy: Option<PathBuf>,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let request = Extract {
        path: &arguments.zip,
        out: &arguments.output,
        receipt: arguments.receipt.as_deref(),
        policy: arguments.policy.as_deref(),
    };
    let progress = Progress::new();
    let extracted = extract(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let shown = given(&arguments.zip);
    let (report, outcome) = match extracted {
        Ok(found) => {
            let outcome = if found.written.is_some() { Outcome::Held } else { Outcome::Findings };
            (Extraction::read(shown, &found), outcome)
        }
        Err(error) => (Extraction::failed(shown, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
