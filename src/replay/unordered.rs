//! Owns solving where no order is over all frames.
//!
//! Refuses to say that nothing else could be where not all was tried. Invariant: a solution is one choice of winners under
//! which all events fire.

use super::Class;
use super::cell::{Cell, Sight};
use super::choice::{Choice, Choices, Found, Search};
use super::graph::Graph;
use super::lost::Options;
use super::problem::Problem;
use super::solve::{Broken, Solution, Win};

/// Events that are fired to find out what else could be, over all tries.
const MAX_FIRED: usize = 20_000_000;

pub(super) fn solve(problem: &Problem<'_>, cells: &[Cell], is_asked: bool) -> Result<Solution, Broken> {
    let graph = Graph::of(problem.history, problem.calls());
    let choices = Choices::of(&graph, cells);
    let search = Search { graph: &graph, cells, ids: problem.ids, starts_empty: problem.history.starts_empty };
    let (found, tries) = search.run(&choices)?;
    let class = if tries > 1 || choices.is_ambiguous() { Class::Searched } else { Class::Forward };
    let win = |(number, choice): (usize, &Option<Choice>)| -> Option<Win> {
        graph.win_of(number, cells.get(number)?, choice.as_ref()?, &found.when)
    };
    let wins = found.chosen.iter().enumerate().map(win).collect();
    let positions = Some(graph.positions(&found.when));
    let options = if is_asked { Asking { search, choices, found, left: MAX_FIRED }.options() } else { Vec::new() };
    Ok(Solution { class, wins, options, positions })
}

/// How a history is decided: forward, or by a search where an operation that took effect has several possible winners.
pub(super) fn class(problem: &Problem<'_>) -> Class {
    let Ok(cells) = problem.cells(Sight::Lenient) else { return Class::Forward };
    let graph = Graph::of(problem.history, problem.calls());
    if Choices::of(&graph, &cells).is_ambiguous() { Class::Searched } else { Class::Forward }
}

/// Finding out what else could be.
struct Asking<'a> {
    search: Search<'a>,
    choices: Choices,
    found: Found,
    left: usize,
}

impl Asking<'_> {
    fn options(mut self) -> Vec<Options> {
        (0..self.choices.of.len()).map(|number| self.options_of(number)).collect()
    }

    fn options_of(&mut self, number: usize) -> Options {
        let all: Vec<Choice> = self.choices.of.get(number).cloned().unwrap_or_default();
        let required = self.choices.is_required.get(number).copied().unwrap_or_default();
        let chosen = self.found.chosen.get(number).cloned().flatten();
        let can_lack = !required && (chosen.is_none() || self.could(number, Vec::new(), false));
        let count: usize = all.iter().map(|choice| choice.calls.len().max(1)).sum();
        let mut winners = Vec::new();
        for choice in &all {
            if choice.calls.is_empty() {
                let is_sure = required && count == 1;
                if is_sure || self.could(number, vec![choice.clone()], true) {
                    winners.push(None);
                }
            }
            for call in &choice.calls {
                let only = Choice { calls: vec![*call], ..choice.clone() };
                let is_sure = required && count == 1;
                if is_sure || self.could(number, vec![only], true) {
                    winners.push(Some(*call));
                }
            }
        }
        Options { winners, can_lack, only: None }
    }

    /// Whether there is a solution with these choices for an operation. Where not all can be tried, there may be.
    fn could(&mut self, number: usize, of: Vec<Choice>, required: bool) -> bool {
        let size = self.found.when.len();
        if self.left < size {
            return true;
        }
        let mut choices = self.choices.clone();
        if let (Some(slot), Some(is_required)) = (choices.of.get_mut(number), choices.is_required.get_mut(number)) {
            *slot = of;
            *is_required = required;
        }
        match self.search.run(&choices) {
            Ok((_, tries)) => {
                self.left = self.left.saturating_sub(size.saturating_mul(tries.max(1)));
                true
            }
            Err(Broken::TooLarge(_)) => {
                self.left = 0;
                true
            }
            Err(Broken::Operations(_) | Broken::Together(_) | Broken::Ids(_)) => {
                self.left = self.left.saturating_sub(size);
                false
            }
        }
    }
}
