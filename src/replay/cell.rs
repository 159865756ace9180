//! Owns operations as cells: what the replies to one operation ask of the call that took effect, and which calls can be
//! that one.
//!
//! Refuses to look at time: it says which event must come before which, and leaves to others whether that is possible.
//! Invariant: a cell goes from no row to a row with its effect to its end, once.

use super::need::{Demand, Need};
use crate::history::{Call, History};
use crate::ledger::{Ask, Mode, Observed, Operation, OperationState, Parts, Sameness, Told, Write};

/// Possible winners of a cell times kinds of replies that are compared. A cell with more is not decided: comparing them
/// would take a time that grows with the square of what a file holds.
pub(super) const MAX_COMPARED: usize = 4_000_000;

/// A call as it is looked at.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'h> {
    pub(super) number: u32,
    pub(super) call: &'h Call,
    /// The reply; none where it is lost or not looked at.
    pub(super) told: Option<&'h Told>,
    pub(super) demand: Demand,
}

/// How what can't be known is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sight {
    /// As it suits the history.
    Lenient,
    /// Against the history.
    Strict,
}

/// What a database at the end says of a cell.
#[derive(Debug, Clone, Copy)]
pub(super) enum End<'h> {
    /// No database, or one in which the row may have come later.
    Open,
    /// No row, for good.
    Absent,
    /// A row.
    Row {
        row: &'h Operation,
        /// It was read after the last writer had ended.
        is_final: bool,
    },
}

/// Who won.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Winner {
    /// The call that was told so.
    First(u32),
    /// One of these calls, whose replies are lost and which nothing in their requests tells apart.
    Lost(Vec<u32>),
    /// None of the history: the row was there before.
    Prior,
}

/// Possible winners of a cell, and the order that each of them asks for. Numbers are of calls.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) winner: Winner,
    /// One step; otherwise the end comes after the effect, or never.
    pub(super) is_atomic: bool,
    /// The end must come.
    pub(super) must_end: bool,
    /// The effect comes after these are sent,
    pub(super) after_effect: Vec<u32>,
    /// and before these are answered;
    pub(super) before_effect: Vec<u32>,
    /// the end after these are sent,
    pub(super) after_end: Vec<u32>,
    /// and before these are answered.
    pub(super) before_end: Vec<u32>,
}

/// An operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Cell {
    /// The effect's id, where it is known.
    pub(super) effect: Option<u64>,
    /// Something shows that it took effect.
    pub(super) is_required: bool,
    /// Possible winners.
    pub(super) groups: Vec<Group>,
}

/// Why a cell can't be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Fault {
    /// No ledger does that.
    Impossible,
    /// There is too much to compare.
    TooLarge,
}

/// A reply that tells of the effect: its id, the result, how far it came.
type Tells<'h> = (u64, &'h str, Observed);

/// What tells requests apart, but for states of which that isn't known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Key<'h> {
    principal: &'h str,
    plain: (u32, u32, u32),
    state: (bool, u32),
}

/// A write with its key.
struct Kind<'h> {
    key: Key<'h>,
    parts: Parts,
    write: &'h Write,
    calls: Vec<u32>,
}

struct Replies<'h> {
    firsts: Vec<(u32, &'h Call, &'h Write)>,
    same: Vec<(Kind<'h>, Need)>,
    others: Vec<Kind<'h>>,
    either: Vec<Kind<'h>>,
    absent: Vec<u32>,
    terminal: Vec<(u32, &'h str)>,
    not_terminal: Vec<(u32, &'h str)>,
    candidates: Vec<Kind<'h>>,
    tells: Option<Tells<'h>>,
}

/// Whether two principals are one; a process of which that isn't known may serve any.
fn same_principal(a: &str, b: &str) -> Sameness {
    match (a, b) {
        (a, b) if a == b => Sameness::Same,
        ("", _) | (_, "") => Sameness::Open,
        (_, _) => Sameness::Different,
    }
}

fn sameness(a: &Kind<'_>, b: &Kind<'_>) -> Sameness {
    match (same_principal(a.key.principal, b.key.principal), a.parts.sameness(b.parts)) {
        (Sameness::Different, _) | (_, Sameness::Different) => Sameness::Different,
        (Sameness::Same, Sameness::Same) => Sameness::Same,
        (_, _) => Sameness::Open,
    }
}

impl Sight {
    fn is_same(self, sameness: Sameness) -> bool {
        match sameness {
            Sameness::Same => true,
            Sameness::Different => false,
            Sameness::Open => self == Self::Lenient,
        }
    }

    fn is_different(self, sameness: Sameness) -> bool {
        match sameness {
            Sameness::Same => false,
            Sameness::Different => true,
            Sameness::Open => self == Self::Lenient,
        }
    }
}

fn told_of(told: Option<&Told>) -> Option<Tells<'_>> {
    match told? {
        Told::Effect(outcome) => Some((outcome.effect, &*outcome.result, outcome.state)),
        Told::Status(seen) => match (seen.state?, seen.ids.as_deref()?, seen.result.as_ref()?) {
            (state @ (Observed::Applied | Observed::Partial), [id], Some(result)) => {
                Some((u64::try_from(*id).ok()?, result, state))
            }
            (_, _, _) => None,
        },
        Told::InputRequired { .. } | Told::Refused(_) | Told::StateRejected | Told::Other | Told::Unrecognized => None,
    }
}

/// Kinds of the same key become one.
fn gather(mut kinds: Vec<Kind<'_>>) -> Vec<Kind<'_>> {
    kinds.sort_by(|a, b| a.key.cmp(&b.key));
    kinds.dedup_by(|next, kept| {
        let is_one = next.key == kept.key;
        if is_one {
            kept.calls.append(&mut next.calls);
        }
        is_one
    });
    kinds
}

impl<'h> Replies<'h> {
    fn of(history: &'h History, seen: &[Seen<'h>], sight: Sight) -> Result<Self, Fault> {
        let mut all = Self {
            firsts: Vec::new(),
            same: Vec::new(),
            others: Vec::new(),
            either: Vec::new(),
            absent: Vec::new(),
            terminal: Vec::new(),
            not_terminal: Vec::new(),
            candidates: Vec::new(),
            tells: None,
        };
        for one in seen {
            all.add(history, one, sight)?;
        }
        all.others = gather(all.others);
        all.either = gather(all.either);
        all.candidates = gather(all.candidates);
        Ok(all)
    }

    fn add(&mut self, history: &'h History, one: &Seen<'h>, sight: Sight) -> Result<(), Fault> {
        let number = one.number;
        if one.demand.open && sight == Sight::Strict {
            return Err(Fault::Impossible);
        }
        let process = history.processes.get(one.call.process as usize);
        let principal = process.map_or("", |process| &*process.principal);
        let kind = match &one.call.ask {
            Ask::Write(write) => {
                let parts = write.parts;
                let state = parts.state.inner.map_or((false, parts.state.token), |inner| (true, inner));
                let plain = (parts.tool, parts.arguments, parts.responses);
                Some(Kind { key: Key { principal, plain, state }, parts, write, calls: vec![number] })
            }
            Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
        };
        match (one.demand.need, kind) {
            (Need::Never(_), _) => return Err(Fault::Impossible),
            (Need::Nothing, Some(kind)) => {
                let can_commit = match one.demand.commits {
                    Some(can) => can,
                    None => sight == Sight::Lenient,
                };
                if can_commit {
                    self.candidates.push(kind);
                }
            }
            (Need::First, Some(kind)) => self.firsts.push((number, one.call, kind.write)),
            (Need::Stored | Need::Same | Need::Begun, Some(kind)) => self.same.push((kind, one.demand.need)),
            (Need::Other, Some(kind)) => self.others.push(kind),
            (Need::AbsentOrSame, Some(kind)) => self.either.push(kind),
            (Need::Absent, _) => self.absent.push(number),
            (Need::Terminal, _) => self.terminal.push((number, spoken_for(principal, one.told))),
            (Need::NotTerminal, _) => self.not_terminal.push((number, spoken_for(principal, one.told))),
            (
                Need::Nothing
                | Need::First
                | Need::Stored
                | Need::Same
                | Need::Begun
                | Need::Other
                | Need::AbsentOrSame,
                None,
            ) => {}
        }
        if let Some(tells) = told_of(one.told) {
            match self.tells {
                Some(known) if known != tells => return Err(Fault::Impossible),
                Some(_) | None => self.tells = Some(tells),
            }
        }
        Ok(())
    }
}

/// Whom a status is for: the process's principal, or the one that it names where that isn't known.
fn spoken_for<'h>(principal: &'h str, told: Option<&'h Told>) -> &'h str {
    match told {
        Some(Told::Status(seen)) if principal.is_empty() => seen.principal.as_deref().unwrap_or_default(),
        Some(_) | None => principal,
    }
}

/// What a cell is, by what was told of it and what is there at the end.
pub(super) fn examine<'h>(history: &'h History, seen: &[Seen<'h>], end: End<'h>, sight: Sight) -> Result<Cell, Fault> {
    let all = Replies::of(history, seen, sight)?;
    let row = match end {
        End::Row { row, is_final } => Some((row, is_final)),
        End::Open | End::Absent => None,
    };
    let effect = effect(&all, row.map(|(row, _)| row))?;
    let evidence = !all.firsts.is_empty() || !all.same.is_empty() || !all.others.is_empty() || !all.terminal.is_empty();
    let is_required = evidence || row.is_some();
    if matches!(end, End::Absent) {
        let cell = Cell { effect, is_required: false, groups: Vec::new() };
        return if is_required { Err(Fault::Impossible) } else { Ok(cell) };
    }
    let compared = all.same.len().saturating_add(all.others.len()).saturating_add(all.either.len()).saturating_add(1);
    if all.candidates.len().saturating_mul(compared) > MAX_COMPARED {
        return Err(Fault::TooLarge);
    }
    let mut groups = match all.firsts.as_slice() {
        [] => lost(&all, row, sight),
        [(number, call, write)] => {
            let principal = history.processes.get(call.process as usize).map_or("", |process| &*process.principal);
            let state = write.parts.state.inner.map_or((false, write.parts.state.token), |inner| (true, inner));
            let plain = (write.parts.tool, write.parts.arguments, write.parts.responses);
            let key = Key { principal, plain, state };
            let kind = Kind { key, parts: write.parts, write, calls: vec![*number] };
            group(&all, &kind, Winner::First(*number), row, sight).into_iter().collect()
        }
        [_, _, ..] => return Err(Fault::Impossible),
    };
    if !history.starts_empty {
        groups.extend(prior(&all, row, sight));
    }
    if is_required && groups.is_empty() {
        return Err(Fault::Impossible);
    }
    Ok(Cell { effect, is_required, groups })
}

/// The effect's id, on which replies and row must agree.
fn effect(all: &Replies<'_>, row: Option<&Operation>) -> Result<Option<u64>, Fault> {
    let told = all.tells.map(|(id, _, _)| id);
    let Some(row) = row else { return Ok(told) };
    let held = row.effect.and_then(|id| u64::try_from(id).ok());
    let agrees = all.tells.is_none_or(|(id, result, state)| {
        let is_state = match row.state {
            Some(OperationState::Applied) => state == Observed::Applied,
            Some(OperationState::Partial) => state == Observed::Partial,
            // It may have gone on since.
            Some(OperationState::InProgress) | None => return held == Some(id),
        };
        is_state && held == Some(id) && row.result.as_deref() == Some(result)
    });
    if agrees { Ok(held.or(told)) } else { Err(Fault::Impossible) }
}

/// The possible winners among calls whose replies are lost.
fn lost(all: &Replies<'_>, row: Option<(&Operation, bool)>, sight: Sight) -> Vec<Group> {
    let winner = |kind: &Kind<'_>| Winner::Lost(kind.calls.clone());
    all.candidates.iter().filter_map(|kind| group(all, kind, winner(kind), row, sight)).collect()
}

/// What it takes that a write of this kind won; none where it can't have.
fn group(
    all: &Replies<'_>,
    kind: &Kind<'_>,
    winner: Winner,
    row: Option<(&Operation, bool)>,
    sight: Sight,
) -> Option<Group> {
    if row.is_some_and(|(row, _)| !is_of(row, kind, sight)) || !fits_mode(all.tells, kind.write.mode) {
        return None;
    }
    let is_atomic = kind.write.mode == Mode::Atomic;
    let mut group = Group {
        must_end: is_atomic || matches!(winner, Winner::First(_)),
        winner,
        is_atomic,
        after_effect: all.absent.clone(),
        before_effect: Vec::new(),
        after_end: Vec::new(),
        before_end: Vec::new(),
    };
    for (other, need) in &all.same {
        if !sight.is_same(sameness(kind, other)) {
            return None;
        }
        group.follow(*need, &other.calls);
    }
    for other in &all.others {
        if !sight.is_different(sameness(kind, other)) {
            return None;
        }
        group.before_effect.extend(&other.calls);
    }
    for other in &all.either {
        if !sight.is_same(sameness(kind, other)) {
            group.after_effect.extend(&other.calls);
        }
    }
    group.answer_statuses(all, kind.key.principal, sight)?;
    group.end(row)
}

impl Group {
    /// A reply that speaks of the row that the winner left.
    fn follow(&mut self, need: Need, calls: &[u32]) {
        match need {
            Need::Begun => {
                self.before_effect.extend(calls);
                self.after_end.extend(calls);
            }
            Need::Same => self.before_effect.extend(calls),
            Need::Stored
            | Need::Nothing
            | Need::First
            | Need::Other
            | Need::AbsentOrSame
            | Need::Absent
            | Need::Terminal
            | Need::NotTerminal
            | Need::Never(_) => self.before_end.extend(calls),
        }
    }

    fn answer_statuses(&mut self, all: &Replies<'_>, principal: &str, sight: Sight) -> Option<()> {
        for (number, of) in &all.terminal {
            if !sight.is_same(same_principal(principal, of)) {
                return None;
            }
            self.before_end.push(*number);
        }
        for (number, of) in &all.not_terminal {
            if !sight.is_different(same_principal(principal, of)) {
                self.after_end.push(*number);
            }
        }
        Some(())
    }

    /// What the row says of the end.
    fn end(mut self, row: Option<(&Operation, bool)>) -> Option<Self> {
        self.must_end |= !self.before_end.is_empty();
        match row.and_then(|(row, is_final)| Some((row.state?, is_final))) {
            Some((OperationState::InProgress, true)) if self.must_end => return None,
            Some((OperationState::Applied | OperationState::Partial, _)) => self.must_end = true,
            Some((OperationState::InProgress, _)) | None => {}
        }
        Some(self)
    }
}

/// Whether a row can be what a write of this kind left.
fn is_of(row: &Operation, kind: &Kind<'_>, sight: Sight) -> bool {
    let is_timed = kind.write.timing.is_none_or(|timing| {
        let held = (row.issued_at, row.authority_expires_at, row.replay_expires_at);
        held == (Some(timing.issued_at), timing.authority_expires_at, timing.replay_expires_at)
    });
    let has_mode = match (row.state, kind.write.mode) {
        (Some(OperationState::Applied), mode) => {
            let with_watcher = row.result.as_deref().is_some_and(|result| result.ends_with(" with watcher"));
            with_watcher == (mode == Mode::Partial)
        }
        (Some(OperationState::InProgress | OperationState::Partial), mode) => mode == Mode::Partial,
        (None, _) => true,
    };
    is_timed && has_mode && sight.is_same(same_principal(&row.principal, kind.key.principal))
}

/// Whether what was told of the effect is of this mode.
fn fits_mode(tells: Option<Tells<'_>>, mode: Mode) -> bool {
    tells.is_none_or(|(_, result, state)| match mode {
        Mode::Atomic => state == Observed::Applied && !result.ends_with(" with watcher"),
        Mode::Partial => state == Observed::Partial || result.ends_with(" with watcher"),
    })
}

/// What it takes that the row was there before; none where that can't be.
fn prior(all: &Replies<'_>, row: Option<(&Operation, bool)>, sight: Sight) -> Option<Group> {
    if !all.firsts.is_empty() || !all.absent.is_empty() {
        return None;
    }
    let known = all.same.first().map(|(kind, _)| kind).or_else(|| all.either.first());
    let same = all.same.iter().map(|(kind, _)| kind).chain(&all.either);
    let fits = known.is_none_or(|known| {
        same.into_iter().all(|kind| sight.is_same(sameness(known, kind)))
            && all.others.iter().all(|kind| sight.is_different(sameness(known, kind)))
            && row.is_none_or(|(row, _)| is_of(row, known, sight))
    });
    if !fits {
        return None;
    }
    let principal = match (known, row, all.terminal.first()) {
        (Some(kind), _, _) => kind.key.principal,
        (None, Some((row, _)), _) => &row.principal,
        (None, None, Some((_, of))) => of,
        // Whose it is nothing says: then it is nobody's who asked.
        (None, None, None) => "\0",
    };
    let mut group = Group {
        winner: Winner::Prior,
        is_atomic: false,
        must_end: false,
        after_effect: Vec::new(),
        before_effect: Vec::new(),
        after_end: Vec::new(),
        before_end: Vec::new(),
    };
    all.same.iter().for_each(|(kind, need)| group.follow(*need, &kind.calls));
    group.answer_statuses(all, principal, sight)?;
    group.end(row)
}
