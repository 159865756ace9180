//! Owns solving: for each operation who won and when, such that all replies come out as they were told.
//!
//! Refuses histories for which there is no such solution, and says which operations can't be. Invariant: what is solved
//! holds for the whole history, not for one operation at a time.

use super::cell::{Cell, Fault, Sight};

use super::ids::{self, Clash, Item, Placed, When};
use super::problem::Problem;
use super::window::{self, Window};
use super::{Class, lost, unordered};

/// Who won an operation, and when.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Win {
    /// None: the row was there before.
    pub(super) call: Option<u32>,
    /// The time of the effect.
    pub(super) effect: When,
    /// The time of the end; none where it never came.
    pub(super) end: Option<When>,
}

/// A solution.
#[derive(Debug)]
pub(super) struct Solution {
    pub(super) class: Class,
    /// Who won each operation; none where it took no effect.
    pub(super) wins: Vec<Option<Win>>,
    /// For each operation, what else could be.
    pub(super) options: Vec<lost::Options>,
    /// When each call was sent and answered, where there is no order but the solution's.
    pub(super) positions: Option<Vec<(u64, u64)>>,
}

/// Why there is no solution.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Broken {
    /// Each of these operations can't be.
    Operations(Vec<usize>),
    /// These can't be together.
    Together(Vec<usize>),
    /// Ids of effects and times don't fit; numbers of operations.
    Ids(Clash),
    /// There is too much to try; an operation on which it hangs.
    TooLarge(usize),
}

/// Solves a problem. `is_asked` says whether to find out what else could be.
pub(super) fn solve(problem: &Problem<'_>, sight: Sight, is_asked: bool) -> Result<Solution, Broken> {
    let cells = problem.cells(sight).map_err(|faults| {
        let impossible: Vec<usize> =
            faults.iter().filter(|(_, fault)| *fault == Fault::Impossible).map(|(number, _)| *number).collect();
        match (impossible.is_empty(), faults.first()) {
            (true, Some((number, _))) => Broken::TooLarge(*number),
            (_, _) => Broken::Operations(impossible),
        }
    })?;
    if problem.history.is_ordered {
        ordered(problem, &cells, is_asked)
    } else {
        unordered::solve(problem, &cells, is_asked)
    }
}

/// One order is over all frames: each operation has its windows.
fn ordered(problem: &Problem<'_>, cells: &[Cell], is_asked: bool) -> Result<Solution, Broken> {
    let history = problem.history;
    let windows: Vec<Vec<Window>> = cells.iter().map(|cell| window::windows(history, &problem.ends, cell)).collect();
    let is_empty = |(_, (cell, windows)): &(usize, (&Cell, &Vec<Window>))| cell.is_required && windows.is_empty();
    let broken: Vec<usize> =
        cells.iter().zip(&windows).enumerate().filter(is_empty).map(|(number, _)| number).collect();
    if !broken.is_empty() {
        return Err(Broken::Operations(broken));
    }
    let items: Vec<Item> = cells.iter().zip(&windows).map(|(cell, windows)| window::item(cell, windows)).collect();
    let placed = ids::place(&items, problem.ids, history.starts_empty).map_err(|clash| match clash {
        Clash::Open(number) => Broken::TooLarge(number),
        Clash::Same(_, _) | Clash::Order(_, _) | Clash::Gap(_) | Clash::NoRoom(_) => Broken::Ids(clash),
    })?;
    let wins = windows.iter().zip(&placed.times).map(|(windows, time)| win(windows, (*time)?)).collect();
    let options = if is_asked { shares(problem, &items, &windows, &placed) } else { Vec::new() };
    Ok(Solution { class: Class::Ordered, wins, options, positions: None })
}

/// The earliest call in whose window the time is.
fn win(windows: &[Window], time: When) -> Option<Win> {
    let found = windows.iter().filter(|window| window.span.from <= time.0 && time.0 < window.span.until);
    let window = found.min_by_key(|window| window.call)?;
    // As late as can be: after this everything that waits for the end.
    let end = window.end.map(|end| (end.saturating_sub(1), u32::MAX - 1));
    Some(Win { call: window.call, effect: time, end })
}

/// How many effects are placed anew, at most, to find out which calls could have won.
const MAX_PLACED: usize = 1_000_000;

fn shares(problem: &Problem<'_>, items: &[Item], windows: &[Vec<Window>], placed: &Placed) -> Vec<lost::Options> {
    let mut left = MAX_PLACED;
    let mut options = Vec::with_capacity(items.len());
    for (number, (windows, share)) in windows.iter().zip(&placed.shares).enumerate() {
        let mut winners: Vec<Option<u32>> = windows.iter().map(|window| window.call).collect();
        let is_single = winners.len() < 2;
        let fits = |window: &&Window| is_single || placed.admits(number, window.span);
        winners = windows.iter().filter(fits).map(|window| window.call).collect();
        if !share.can_be {
            winners.clear();
        }
        if !is_single && placed.is_mixed {
            left = left.saturating_sub(items.len().saturating_mul(winners.len()));
            if left > 0 {
                winners.retain(|winner| {
                    let window = windows.iter().find(|window| window.call == *winner);
                    window.is_some_and(|window| could(problem, items, number, window))
                });
            }
        }
        options.push(lost::Options { winners, can_lack: share.can_lack, only: share.only });
    }
    options
}

/// Whether a cell's effect could come in this very window.
fn could(problem: &Problem<'_>, items: &[Item], number: usize, window: &Window) -> bool {
    let mut items = items.to_vec();
    if let Some(item) = items.get_mut(number) {
        item.spans = vec![window.span];
        item.is_required = true;
    }
    ids::place(&items, problem.ids, problem.history.starts_empty).is_ok()
}
