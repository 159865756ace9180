//! Owns challenging: forging an honest history in one place at a time, to see whether deciding and judging catch it.
//!
//! Refuses forgeries that could have been honest, since nothing could catch them. Invariant: in a forgery calls and rows
//! still hang together as if they had been recorded so; only what they mean is wrong.
//!
//! Kinds of the levels [`Level::Transcript`] and [`Level::Run`] have no history: they are forged in bytes.

mod edit;
mod honest;
mod kind;
mod order;
mod replies;
mod seen;
mod status;
mod store;

use crate::finding::Code;
use crate::history::History;
use crate::judge::{self, Evidence};
use crate::limits::MAX_FORGERIES;
use crate::replay::{Class, Decision, Verdict};
use crate::run::matrix::MatrixCase;

pub use honest::{Variation, honest};
pub use kind::{Kind, Level};

use seen::{Places, Seen};

/// A forged history.
#[derive(Debug, Clone)]
pub struct Forgery {
    /// What was forged.
    pub kind: Kind,
    /// Which call or row, and what is changed, in one sentence.
    pub what: String,
    /// The history.
    pub history: History,
}

/// A forgery that was tried.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tried {
    /// What was forged.
    pub kind: Kind,
    /// Which call or row, and what is changed, in one sentence.
    pub what: String,
    /// What deciding contradicts: caught without any matrix.
    pub semantics: Option<Caught>,
    /// What the matrix's schedule and expectations find, as if deciding had explained it.
    pub matrix: Option<Caught>,
}

/// By what a forgery was caught: the first finding.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caught {
    /// Its code.
    pub code: Code,
    /// Its sentence.
    pub message: String,
}

impl Tried {
    /// By what it was caught: the semantics, else the matrix.
    pub fn caught(&self) -> Option<&Caught> {
        self.semantics.as_ref().or(self.matrix.as_ref())
    }
}

/// Forges an honest history of a case, one forgery at a time: every kind of [`Level::History`] in every place where it
/// can't be honest, up to [`MAX_FORGERIES`] places.
pub fn forgeries<'a>(case: &'a MatrixCase, history: &'a History) -> impl Iterator<Item = Forgery> + 'a {
    let seen = Seen { case, history };
    Kind::ALL.into_iter().flat_map(move |kind| {
        places(kind, seen).take(MAX_FORGERIES).map(move |place| {
            let mut history = history.clone();
            (place.edit)(&mut history);
            Forgery { kind, what: place.what, history }
        })
    })
}

/// Tries every forgery of a case's honest history against deciding and against the matrix.
pub fn challenge(case: &MatrixCase, history: &History, decide: &dyn Fn(&History) -> Decision) -> Vec<Tried> {
    let attempt = |forgery: Forgery| Tried {
        kind: forgery.kind,
        what: forgery.what,
        semantics: contradiction(&decide(&forgery.history)),
        matrix: broken(case, &forgery.history),
    };
    forgeries(case, history).map(attempt).collect()
}

fn contradiction(decision: &Decision) -> Option<Caught> {
    match &decision.verdict {
        Verdict::Contradicted(found) => {
            found.first().map(|found| Caught { code: found.code, message: found.message.clone() })
        }
        Verdict::Explained { .. } | Verdict::Undecided { .. } => None,
    }
}

/// What the matrix alone finds. Its judging takes a decision: here one that has nothing against the history.
fn broken(case: &MatrixCase, history: &History) -> Option<Caught> {
    let verdict = Verdict::Explained { order: Vec::new() };
    let decision = Decision { class: Class::Ordered, verdict, lost: Vec::new() };
    let judgement = judge::judge(case, &Evidence::History { history, decision: &decision, files: &[] });
    judgement.findings.into_iter().next().map(|found| Caught { code: found.code, message: found.message })
}

fn places(kind: Kind, seen: Seen<'_>) -> Places<'_> {
    match kind {
        Kind::ReplayedFlag => replies::replayed_flag(seen),
        Kind::SecondEffect => replies::second_effect(seen),
        Kind::EffectInReply => replies::effect_in_reply(seen),
        Kind::EffectInRows => store::effect_in_rows(seen),
        Kind::EffectEverywhere => store::effect_everywhere(seen),
        Kind::StoredResult => {
            Box::new(replies::stored_result(seen).chain(status::stored_result(seen)).chain(store::stored_result(seen)))
        }
        Kind::ResultOfAnotherEffect => {
            Box::new(replies::result_of_another(seen).chain(status::result_of_another(seen)))
        }
        Kind::ChangedAnswerAccepted
        | Kind::ChangedStateAccepted
        | Kind::OtherPrincipalAccepted
        | Kind::ExpiredAccepted
        | Kind::RetentionExtended => replies::accepted(seen, kind),
        Kind::StatelessAccepted => replies::stateless(seen),
        Kind::FalseConflict => replies::false_conflict(seen),
        Kind::AppliedAgain => replies::applied_again(seen),
        Kind::StatusWithoutRow => status::without_row(seen),
        Kind::StatusUnknown => status::unknown(seen),
        Kind::StatusOfAnother => status::of_another(seen),
        Kind::FreshWriteGranted => status::fresh_write(seen),
        Kind::StatusOfTwoEffects => status::two_effects(seen),
        Kind::ShownToAnother => status::shown_to_another(seen),
        Kind::TombstoneGone => store::tombstone_gone(seen),
        Kind::RowWithoutIssue => store::row_without_issue(seen),
        Kind::IssueWithoutRow => store::issue_without_row(seen),
        Kind::ExtraIssue => store::extra_issue(seen),
        Kind::RowOfAnother => store::row_of_another(seen),
        Kind::StepRepeated => store::step_repeated(seen),
        Kind::EventMissing => store::event_missing(seen),
        Kind::EventReordered => store::event_reordered(seen),
        Kind::CompensationMissing => store::compensation_missing(seen),
        Kind::EffectsReordered => order::effects(seen),
        Kind::ContinuationAfterStatus => order::continuation(seen),
        Kind::AnotherPhase => order::phase(seen),
        Kind::ExitCode => order::exit(seen),
        // See `Kind::level`: a history has no place for these.
        Kind::ReplyWithoutRequest | Kind::CaseMissing | Kind::CaseDoubled | Kind::CaseNotRequested => {
            Box::new(std::iter::empty())
        }
    }
}

#[cfg(test)]
mod tests;
