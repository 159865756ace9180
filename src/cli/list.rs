//! Owns `exhibit list`.
//!
//! Invariant: one report a file, in the order given, whatever the others were.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::progress::Progress;
use super::{Format, Outcome, given};
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::report::{Listing, ListingEntry};
use crate::tree::Step;
use crate::zip::Archive;

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// ZIP files
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// How to show the report
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write) -> io::Result<Outcome> {
    let limits = Limits::default();
    let mut worst = Outcome::Held;
    for file in &arguments.files {
        let shown = given(file);
        let (listing, outcome) = match list(file, &limits) {
            Ok((entries, findings)) => {
                let outcome = if findings.none_broken() { Outcome::Held } else { Outcome::Findings };
                (Listing::read(shown, entries, &findings), outcome)
            }
            Err(error) => (Listing::failed(shown, &error), Outcome::CouldNotCheck),
        };
        worst = worst.worst(outcome);
        match arguments.format {
            Format::Text => listing.write_text(out)?,
            Format::Json => listing.write_json(out)?,
        }
    }
    Ok(worst)
}

fn list(file: &Path, limits: &Limits) -> Result<(Vec<ListingEntry>, Findings), Error> {
    let (archive, mut findings) = Archive::open(file, limits)?;
    let progress = Progress::new();
    progress.step(Step::Total(archive.entries().iter().fold(0, |sum, entry| sum.saturating_add(entry.size))));
    let digests = archive.sha256_all(&|count| progress.step(Step::Bytes(count)), &mut findings)?;
    let entries =
        archive.entries().iter().zip(digests).map(|(entry, sha256)| ListingEntry::new(entry, sha256)).collect();
    Ok((entries, findings))
}
