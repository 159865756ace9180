//! Owns `exhibit verify-export`.

use std::io::{self, Write};
use std::path::PathBuf;

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::archive::{Verdict, Verify, verify};
use crate::limits::Limits;
use crate::report::Verification;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The release or archive: a ZIP file, or the folder it was extracted to
    path: PathBuf,
    /// The publisher's receipt of the ZIP
    #[arg(long)]
    receipt: Option<PathBuf>,
    /// The study's policy, where it isn't one that comes with the tool
    #[arg(long)]
    policy: Option<PathBuf>,
    /// Check the inventory only and leave the retained runs alone
    #[arg(long)]
    inventory_only: bool,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let scratch = std::env::temp_dir();
    let request = Verify {
        path: &arguments.path,
        receipt: arguments.receipt.as_deref(),
        policy: arguments.policy.as_deref(),
        inventory_only: arguments.inventory_only,
        scratch: Some(&scratch),
    };
    let progress = Progress::new();
    let verified = verify(&request, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let shown = given(&arguments.path);
    let (report, outcome) = match verified {
        Ok(found) => {
            let outcome = match found.verdict() {
                Verdict::Pass => Outcome::Held,
                Verdict::Fail => Outcome::Findings,
                Verdict::Undecided => Outcome::Undecided,
            };
            (Verification::read(shown, &found, arguments.inventory_only), outcome)
        }
        Err(error) => (Verification::failed(shown, &error), Outcome::CouldNotCheck),
    };
    match arguments.format {
        Format::Text => report.write_text(out)?,
        Format::Json => report.write_json(out)?,
    }
    Ok(outcome)
}
