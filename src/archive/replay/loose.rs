//! Owns replaying transcripts that stand alone, with or without a database.
//!
//! Refuses to guess a dialect that doesn't know every reply. Invariant: without a matrix nothing is known of clocks,
//! deadlines, phases and the start; the verdict says so.

use std::collections::BTreeSet;
use std::path::Path;

use super::case;
use super::keys::{self, Keys};
use super::{Database, Replayed, ReplayedCase};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::history::{self, Built, Context, Fit, Snapshot, Source};
use crate::judge::{self, Standing};
use crate::limits::Limits;
use crate::name::escape;
use crate::replay::{self, Verdict};
use crate::snapshot;

/// What to replay.
pub struct Loose<'s, 'a> {
    /// The transcripts.
    pub sources: &'s [Source<'a>],
    /// The ledger's database, if there is one.
    pub ledger: Option<snapshot::Source<'s>>,
    /// By the user's word, it was taken after the last writer had ended.
    pub is_final: bool,
    /// The store held nothing at the start, by the user's word.
    pub starts_empty: bool,
    /// The dialect; else the one that fits.
    pub dialect: Option<&'s Dialect>,
    /// Disclosed keys.
    pub keys: &'s Keys,
}

/// Replays loose transcripts. `scratch` is a folder in which a private one is made and removed again.
///
/// # Errors
/// What can't be read, and transcripts that no dialect fits, or several.
pub fn loose(given: Loose<'_, '_>, limits: &Limits, scratch: &Path) -> Result<Replayed, Error> {
    let known = Dialect::embedded()?;
    let dialect = match given.dialect {
        Some(dialect) => dialect,
        None => fitting(given.sources, &known, limits)?,
    };
    let dialect = &given.keys.with(dialect.clone())?;
    let mut out = case::empty("", "");
    let mut context = Context { starts_empty: given.starts_empty, ..Context::default() };
    if let Some(ledger) = given.ledger {
        let name = ledger.name.to_owned();
        let snapshot = snapshot::read(ledger, scratch, limits)?;
        out.database = Some(Database { name, is_final: given.is_final, rolled_back: snapshot.rolled_back() });
        out.findings.extend(snapshot.findings.iter().cloned());
        context.end = snapshot.rows.map(|rows| Snapshot { rows, is_final: given.is_final });
    }
    let built = history::of_transcripts(given.sources, dialect, &context, limits)?;
    let (differing, open) = keys::compare(&built, out.database.as_ref().map(|database| database.name.as_str()))?;
    out.findings.extend(differing);
    let Built { mut history, findings, .. } = built;
    is_same_store(&history)?;
    out.files = given.sources.iter().map(|source| source.name.to_owned()).collect();
    out.assertions = assertions(given.is_final && context.end.is_some(), given.starts_empty);
    if out.database.as_ref().is_some_and(|database| database.rolled_back) {
        out.assertions.push(super::ROLLED_BACK.to_owned());
    }
    out.assertions.extend(open);
    out.assertions.extend(identify(&mut history));
    out.findings.extend(findings.iter().cloned());
    let is_readable = findings.none_broken();
    if !is_readable {
        out.standing = Standing::MachineryError;
    } else if !dialect.has_operations() {
        out.missing.push(
            "operation ids: this server's requests carry none, so that no claim of at most once is possible".to_owned(),
        );
    } else {
        settle(&mut out, &history, dialect);
    }
    let coverage = judge::coverage([&history]);
    out.history = history;
    Ok(Replayed {
        run: String::new(),
        matrix: None,
        dialect: dialect.name().to_owned(),
        has_operations: dialect.has_operations(),
        cases: vec![out],
        coverage,
        findings: Vec::new(),
    })
}

/// Decides the history of loose transcripts that could be read.
fn settle(out: &mut ReplayedCase, history: &history::History, dialect: &Dialect) {
    let decision = replay::decide(history);
    out.standing = match &decision.verdict {
        Verdict::Explained { .. } => Standing::Pass,
        Verdict::Contradicted(_) => Standing::Fail,
        Verdict::Undecided { missing } => {
            out.missing.extend(missing.iter().cloned());
            Standing::Undecided
        }
    };
    out.findings.extend(judge::contradictions(&decision, history, &out.files));
    out.asks = super::asks(&decision, history, dialect);
    out.decision = Some(decision);
    if out.findings.iter().any(super::run::is_error) {
        out.standing = Standing::Fail;
    }
}

/// The dialect that knows every reply.
fn fitting<'d>(sources: &[Source<'_>], known: &'d [Dialect], limits: &Limits) -> Result<&'d Dialect, Error> {
    let names = |numbers: &[usize]| {
        let names: Vec<&str> = numbers.iter().filter_map(|number| known.get(*number)).map(Dialect::name).collect();
        names.join(", ")
    };
    let number = match history::fit(sources, known, limits)? {
        Fit::One(number) => number,
        Fit::Several(numbers) => {
            return Err(Error::Usage(format!(
                "the dialects {} fit these transcripts: say which with --dialect",
                names(&numbers)
            )));
        }
        Fit::None(counts) => {
            // One that knows some replies, where no other knows any, is meant; what it doesn't know counts as lost.
            let some: Vec<usize> =
                counts.iter().enumerate().filter(|(_, count)| count.0 > 0).map(|(number, _)| number).collect();
            match some.as_slice() {
                [one] => *one,
                [] => {
                    return Err(Error::Usage(
                        "no dialect that comes with exhibit knows a reply in these transcripts: give one with --dialect".to_owned(),
                    ));
                }
                several => {
                    let best = several
                        .iter()
                        .map(|number| counts.get(*number).map_or((0, 0), |count| (count.0, u64::MAX - count.1)));
                    let most = best.clone().max().unwrap_or_default();
                    let first: Vec<usize> =
                        several.iter().zip(best).filter(|(_, one)| *one == most).map(|(number, _)| *number).collect();
                    match first.as_slice() {
                        [one] => *one,
                        several => {
                            return Err(Error::Usage(format!(
                                "no dialect knows every reply in these transcripts, and {} know as many: say which with --dialect",
                                names(several)
                            )));
                        }
                    }
                }
            }
        }
    };
    known.get(number).ok_or_else(|| Error::Usage("no dialect comes with this build".to_owned()))
}

fn assertions(is_final: bool, starts_empty: bool) -> Vec<String> {
    let mut all = vec![
        "these transcripts hold every call on the store while they were recorded".to_owned(),
        "calls of different transcripts are in no order that was recorded".to_owned(),
        "clocks and deadlines that no state shows are not known: a write that was accepted is taken to be in time"
            .to_owned(),
    ];
    if is_final {
        all.push("the database was copied after the last writer had ended".to_owned());
    }
    if starts_empty {
        all.push("the store held nothing at the start".to_owned());
    }
    all
}

/// A database of another backend than statuses name says nothing of these calls.
fn is_same_store(history: &history::History) -> Result<(), Error> {
    let Some(held) = history.end.as_ref().and_then(|end| end.rows.backend.as_deref()) else { return Ok(()) };
    let other =
        history.processes.iter().map(|process| &*process.backend).find(|named| !named.is_empty() && *named != held);
    match other {
        None => Ok(()),
        Some(named) => Err(Error::Usage(format!(
            "the database is bound to the backend {}, and a status names {}: give the ledger that these calls went to",
            escape(held.as_bytes()),
            escape(named.as_bytes())
        ))),
    }
}

/// Where all that is known are one principal and one backend, processes of which neither is known have them as well.
fn identify(history: &mut history::History) -> Option<String> {
    let identities: BTreeSet<_> =
        history.processes.iter().map(|process| (process.principal.clone(), process.backend.clone())).collect();
    let known: Vec<_> = identities.iter().filter(|(principal, _)| !principal.is_empty()).collect();
    let [(principal, backend)] = known.as_slice() else { return None };
    if identities.len() < 2 {
        return None;
    }
    for process in history.processes.iter_mut().filter(|process| process.principal.is_empty()) {
        process.principal.clone_from(principal);
        process.backend.clone_from(backend);
    }
    Some("processes that no status names serve the one principal and backend that others name".to_owned())
}
