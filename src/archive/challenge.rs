//! Owns challenging runs: each honest case is forged in memory in every known way.
//!
//! Refuses to challenge what doesn't hold by itself. Invariant: nothing is written, and what is not tried is named.

use super::replay::{Given, replay};
use crate::challenge::{Kind, Level, Tried, challenge as try_all};
use crate::error::Error;
use crate::judge::Standing;
use crate::limits::Limits;
use crate::replay::decide;
use crate::tree::Progress;

/// A run that was challenged.
#[derive(Debug, Clone)]
pub struct Challenged {
    /// The run's folder from the tree's root.
    pub run: String,
    /// The cases that held, with every forgery that was tried.
    pub cases: Vec<(String, Vec<Tried>)>,
    /// The cases that were not challenged, with the reason.
    pub skipped: Vec<(String, String)>,
}

/// Forges runs in memory, and says by what each forgery is caught.
///
/// # Errors
/// As replaying them; loose transcripts, which have no schedule to hold a forgery against.
pub fn challenge(given: &Given<'_>, limits: &Limits, progress: Progress<'_>) -> Result<Vec<Challenged>, Error> {
    let replayed = replay(given, limits, progress)?;
    if replayed.iter().any(|run| run.cases.iter().any(|case| case.id.is_empty())) {
        let message = "loose transcripts have no schedule to hold a forgery against: give a run's folder, a release or an archive";
        return Err(Error::Usage(message.to_owned()));
    }
    let one = |run: crate::archive::replay::Replayed| {
        let mut out = Challenged { run: run.run, cases: Vec::new(), skipped: Vec::new() };
        for case in run.cases {
            match (&case.schedule, case.standing) {
                (Some(schedule), Standing::Pass) => {
                    out.cases.push((case.id, try_all(schedule, &case.history, &decide)));
                }
                (_, standing) => out.skipped.push((case.id, reason(standing).to_owned())),
            }
        }
        out
    };
    Ok(replayed.into_iter().map(one).collect())
}

fn reason(standing: Standing) -> &'static str {
    match standing {
        Standing::Pass => "the matrix has no schedule of it",
        Standing::Fail => "it does not hold as it is",
        Standing::Undecided => "it is undecided as it is",
        Standing::Unsupported => "its SDK lacks an API, so that nothing was sent",
        Standing::MachineryError => "its transcripts could not be read",
    }
}

/// The kinds that have no place in a history: fixed rules of transcripts and runs hold them.
pub fn not_tried() -> impl Iterator<Item = Kind> {
    Kind::ALL.into_iter().filter(|kind| kind.level() != Level::History)
}
