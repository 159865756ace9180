//! Owns `exhibit export`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::{Export, export};
use crate::limits::Limits;
use crate::report::Exporting;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The folder that the release and its receipt go to
    destination: PathBuf,
    /// The commit to export; the files that are checked out must be its files
    #[arg(long, default_value = "HEAD", value_name = "REV")]
    commit: String,
    /// A folder of the repository's working tree
    #[arg(long, default_value = ".", value_name = "DIR")]
    repository: PathBuf,
    /// The study's policy, where it isn't one that comes with the tool
    #[arg(long)]
    policy: Option<PathBuf>,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let scratch = std::env::temp_dir();
    let request = Export {
        repository: &arguments.repository,
        commit: &arguments.commit,
        out: &arguments.destination,
        policy: arguments.policy.as_deref(),
        scratch: &scratch,
    };
    let progress = Progress::new();
    let exported = export(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let shown = given(&arguments.repository);
    let (report, outcome) = match exported {
        Ok(exported) => {
            let outcome = if exported.written.is_some() { Outcome::Held } else { Outcome::Findings };
            (Exporting::read(shown, &exported), outcome)
        }
        Err(error) => (Exporting::failed(shown, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
