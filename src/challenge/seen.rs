//! Owns what an honest history shows of each operation: how it is stored, and who else would tell.
//!
//! Refuses to decide anything. Invariant: what is said to be witnessed is in a reply or a row of the history.

use crate::history::{Call, EffectIds, History, Process};
use crate::judge;
use crate::ledger::{
    Ask, Form, Issue, Observation, Observed, Operation, OperationState, Outcome, Rows, Sameness, Told, Write,
};
use crate::name::escape;
use crate::run::matrix::{Expectation, MatrixCase};

/// A case with its honest history.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    pub(super) case: &'a MatrixCase,
    pub(super) history: &'a History,
}

/// A place where a forgery can be made.
pub(super) struct Place<'a> {
    /// Which call or row, and what is changed, in one sentence.
    pub(super) what: String,
    /// The change.
    pub(super) edit: Box<dyn FnOnce(&mut History) + 'a>,
}

/// Places, found one by one.
pub(super) type Places<'a> = Box<dyn Iterator<Item = Place<'a>> + 'a>;

pub(super) fn place<'a>(what: String, edit: impl FnOnce(&mut History) + 'a) -> Place<'a> {
    Place { what, edit: Box::new(edit) }
}

/// How an operation is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) principal: Box<str>,
    pub(super) effect: u64,
    pub(super) result: Box<str>,
    pub(super) state: Observed,
}

/// What a call asks to write, with what its reply tells.
#[derive(Debug, Clone, Copy)]
pub(super) struct Writing<'a> {
    pub(super) number: u32,
    pub(super) call: &'a Call,
    pub(super) write: &'a Write,
}

/// A status that was read.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reading<'a> {
    pub(super) number: u32,
    pub(super) call: &'a Call,
    pub(super) operation: &'a str,
    pub(super) seen: &'a Observation,
}

impl<'a> Seen<'a> {
    pub(super) fn calls(self) -> impl Iterator<Item = (u32, &'a Call)> {
        (0_u32..).zip(&self.history.calls)
    }

    pub(super) fn writes(self) -> impl Iterator<Item = Writing<'a>> {
        self.calls().filter_map(|(number, call)| match &call.ask {
            Ask::Write(write) => Some(Writing { number, call, write }),
            Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
        })
    }

    /// The writes to an operation that can reach the ledger.
    fn sound(self, operation: &'a str) -> impl Iterator<Item = Writing<'a>> {
        self.writes().filter(move |of| of.write.form == Form::Sound && *of.write.operation == *operation)
    }

    /// The writes whose reply tells an effect.
    pub(super) fn effects(self) -> impl Iterator<Item = (Writing<'a>, &'a Outcome)> {
        self.writes().filter_map(|of| match &of.call.told {
            Some(Told::Effect(outcome)) => Some((of, outcome)),
            Some(_) | None => None,
        })
    }

    pub(super) fn statuses(self) -> impl Iterator<Item = Reading<'a>> {
        self.calls().filter_map(|(number, call)| match (&call.ask, &call.told) {
            (Ask::Status { operation }, Some(Told::Status(seen))) => Some(Reading { number, call, operation, seen }),
            (_, _) => None,
        })
    }

    pub(super) fn process(self, call: &Call) -> Option<&'a Process> {
        usize::try_from(call.process).ok().and_then(|index| self.history.processes.get(index))
    }

    pub(super) fn principal(self, call: &Call) -> &'a str {
        self.process(call).map_or("", |process| &process.principal)
    }

    pub(super) fn rows(self) -> Option<&'a Rows> {
        self.history.end.as_ref().map(|end| &end.rows)
    }

    /// Whether what the rows lack never came.
    pub(super) fn is_final(self) -> bool {
        self.history.end.as_ref().is_some_and(|end| end.is_final)
    }

    /// The rows of operations that have an effect, with their places in the table.
    pub(super) fn bound_rows(self) -> impl Iterator<Item = (usize, &'a Operation, u64)> {
        let rows = self.rows().into_iter().flat_map(|rows| rows.operations.iter().enumerate());
        rows.filter_map(|(index, row)| Some((index, row, u64::try_from(row.effect?).ok()?)))
    }

    /// How an operation is stored, by a reply, a status or its row.
    pub(super) fn stored(self, operation: &str) -> Option<Stored> {
        let told = self.effects().find(|(of, _)| *of.write.operation == *operation).map(|(of, outcome)| Stored {
            principal: self.principal(of.call).into(),
            effect: outcome.effect,
            result: outcome.result.clone(),
            state: outcome.state,
        });
        told.or_else(|| {
            self.statuses().filter(|of| *of.operation == *operation).find_map(|of| {
                let state = of.seen.state.filter(|state| has_effect(*state))?;
                let effect = of.seen.ids.as_ref()?.first().and_then(|id| u64::try_from(*id).ok())?;
                let principal = self.principal(of.call).into();
                Some(Stored { principal, effect, result: of.seen.result.clone()??, state })
            })
        })
        .or_else(|| {
            let (_, row, effect) = self.bound_rows().find(|(_, row, _)| *row.operation == *operation)?;
            let state = match row.state? {
                OperationState::Applied => Observed::Applied,
                OperationState::Partial => Observed::Partial,
                OperationState::InProgress => return None,
            };
            let result = row.result.as_deref()?.into();
            Some(Stored { principal: row.principal.as_str().into(), effect, result, state })
        })
    }

    /// The write that the operation is bound to: what committed, else what was told it again, else the only lost one.
    pub(super) fn bound(self, operation: &'a str) -> Option<Writing<'a>> {
        let of_it = || self.effects().filter(|(of, _)| *of.write.operation == *operation);
        let told = of_it().find(|(_, outcome)| !outcome.replayed).or_else(|| of_it().next()).map(|(of, _)| of);
        told.or_else(|| {
            let mut lost = self.sound(operation).filter(|of| of.call.told.is_none());
            lost.next().filter(|_| lost.next().is_none())
        })
    }

    /// Whether a reply other than this one tells the operation's effect.
    pub(super) fn is_told(self, operation: &str, but: Option<u32>) -> bool {
        let is_other = |number: u32| Some(number) != but;
        self.effects().any(|(of, _)| *of.write.operation == *operation && is_other(of.number))
            || self
                .statuses()
                .any(|of| *of.operation == *operation && is_other(of.number) && of.seen.state.is_some_and(has_effect))
    }

    /// Whether another reply or a row tells the operation's effect.
    pub(super) fn is_witnessed(self, operation: &str, but: u32) -> bool {
        self.is_told(operation, Some(but)) || self.bound_rows().any(|(_, row, _)| *row.operation == *operation)
    }

    /// Whether the ids themselves tell a wrong one.
    pub(super) fn ids_tell(self) -> bool {
        self.history.starts_empty && self.history.ids == EffectIds::Dense
    }

    /// Whether nothing could have bound the operation without being seen: no reply is lost, and no row is older.
    pub(super) fn is_alone(self, operation: &'a str, but: u32) -> bool {
        let is_silent = |of: &Writing<'_>| matches!(of.call.told, None | Some(Told::Unrecognized));
        self.history.starts_empty && !self.sound(operation).any(|of| of.number != but && is_silent(&of))
    }

    /// Whether the requests that reached the ledger for the operation are all the same.
    pub(super) fn all_same(self, operation: &'a str) -> bool {
        let Some(bound) = self.bound(operation) else { return false };
        let is_same = |of: &Writing<'_>| of.write.parts.sameness(bound.write.parts) == Sameness::Same;
        self.sound(operation).all(|of| is_same(&of) && self.principal(of.call) == self.principal(bound.call))
    }

    /// Whether the matrix doesn't allow this reply to the call. The history is honest, so the calls on the ledger of a
    /// process are its steps, one by one.
    pub(super) fn is_unexpected(self, number: u32, told: &Told) -> bool {
        let Some((_, call)) = self.calls().find(|(other, _)| *other == number) else { return false };
        let Some(process) = self.process(call) else { return false };
        let is_matter = |other: &Call| other.process == call.process && !matches!(other.ask, Ask::Other);
        let before = self.calls().take_while(|(other, _)| *other < number).filter(|(_, other)| is_matter(other));
        let steps = self.case.process(&process.name).map(|process| &process.steps);
        let Some(step) = steps.and_then(|steps| steps.get(before.count())) else { return false };
        self.case.expectations.iter().any(|expectation| match expectation {
            Expectation::Reply(reply) if reply.step == step.id => {
                judge::outcome_of(&call.ask, Some(told)).is_some_and(|outcome| !reply.outcome.0.contains(&outcome))
            }
            Expectation::Reply(_)
            | Expectation::Count(_)
            | Expectation::Status(_)
            | Expectation::Absent(_)
            | Expectation::Exit(_) => false,
        })
    }

    /// An effect id that nothing has.
    pub(super) fn next_effect(self) -> u64 {
        let told = self.effects().map(|(_, outcome)| outcome.effect);
        let read = self.statuses().flat_map(|of| of.seen.ids.iter().flatten()).filter_map(|id| u64::try_from(*id).ok());
        let rows = self.rows().into_iter().flat_map(|rows| &rows.issues);
        let issues = rows.filter_map(|issue| u64::try_from(issue.id).ok());
        let bound = self.bound_rows().map(|(_, _, effect)| effect);
        told.chain(read).chain(issues).chain(bound).max().unwrap_or(0).saturating_add(1)
    }

    /// A token number that nothing has.
    pub(super) fn next_token(self) -> u32 {
        let carried = self.writes().map(|of| of.write.parts.state.token);
        let issued = self.calls().filter_map(|(_, call)| match &call.told {
            Some(Told::InputRequired { token }) => *token,
            Some(_) | None => None,
        });
        carried.chain(issued).max().map_or(0, |last| last.saturating_add(1))
    }

    /// An issue like those that are there.
    pub(super) fn issue(self, id: u64) -> Issue {
        let known = self.rows().and_then(|rows| rows.issues.first());
        let (title, body) = known.map_or(("again", "again"), |issue| (&issue.title, &issue.body));
        Issue { id: super::edit::signed(id), title: title.to_owned(), body: body.to_owned() }
    }

    /// Which call, in words.
    pub(super) fn name(self, call: &Call) -> String {
        let process = self.process(call).map_or("", |process| &process.name);
        format!("the request at line {} of process {}", call.request.line, escape(process.as_bytes()))
    }
}

/// Whether a state speaks of an effect.
pub(super) fn has_effect(state: Observed) -> bool {
    match state {
        Observed::Applied | Observed::Partial => true,
        Observed::Unknown | Observed::NotApplied => false,
    }
}

/// Another result of the same effect, as another operation could have it.
pub(super) fn other_result(result: &str) -> Box<str> {
    if let Some(plain) = result.strip_suffix(" with watcher") {
        plain.into()
    } else if let Some(before) = result.strip_suffix("failed") {
        format!("{before}succeeded").into()
    } else if let Some(before) = result.strip_suffix("succeeded") {
        format!("{before}failed").into()
    } else {
        format!("{result} with watcher").into()
    }
}
