//! Owns choices: where no order is over all frames, which calls may be meant as winner, and where effects without a known
//! id go.
//!
//! Refuses to try more than a bound. Invariant: where there is but one way, one try is exact; where there are more, what is
//! found holds, and what isn't found is said only if all were tried.

use super::cell::{Cell, Winner};
use super::graph::{Fired, Graph};
use super::ids::Clash;
use super::solve::Broken;
use crate::ledger::EffectIds;

/// Ways that are tried.
pub(super) const MAX_TRIES: usize = 4_096;

/// Effects without a known id that may fill gaps, for which places are tried.
const MAX_FREE: usize = 512;

/// The barrier by which a process has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct End(pub(super) u32);

/// Possible winners that nothing tells apart: of one group, with one end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Choice {
    pub(super) group: usize,
    /// Any of these; none for a row that was there before.
    pub(super) calls: Vec<u32>,
    pub(super) end: Option<End>,
}

/// The choices of each operation.
#[derive(Debug, Clone)]
pub(super) struct Choices {
    pub(super) of: Vec<Vec<Choice>>,
    /// Whether it took effect for sure.
    pub(super) is_required: Vec<bool>,
}

/// A way that works.
pub(super) struct Found {
    pub(super) chosen: Vec<Option<Choice>>,
    pub(super) when: Vec<u64>,
}

impl Choices {
    pub(super) fn of(graph: &Graph<'_>, cells: &[Cell]) -> Self {
        let choices = |cell: &Cell| {
            let mut all = Vec::new();
            for (group, one) in cell.groups.iter().enumerate() {
                match &one.winner {
                    Winner::Prior => all.push(Choice { group, calls: Vec::new(), end: None }),
                    Winner::First(call) => all.push(Choice { group, calls: vec![*call], end: None }),
                    Winner::Lost(lost) => {
                        let mut ended: Vec<(Option<End>, u32)> =
                            lost.iter().map(|call| (graph.end_of(*call), *call)).collect();
                        // None, which is no end at all, is the latest.
                        ended.sort_by_key(|(end, call)| (end.is_none(), *end, *call));
                        for part in ended.chunk_by(|a, b| a.0 == b.0) {
                            let end = part.first().and_then(|(end, _)| *end);
                            all.push(Choice { group, calls: part.iter().map(|(_, call)| *call).collect(), end });
                        }
                    }
                }
            }
            all
        };
        Self {
            of: cells.iter().map(choices).collect(),
            is_required: cells.iter().map(|cell| cell.is_required).collect(),
        }
    }

    /// Whether there are several ways for an operation that took effect.
    pub(super) fn is_ambiguous(&self) -> bool {
        self.of.iter().zip(&self.is_required).any(|(choices, required)| *required && choices.len() > 1)
    }
}

/// Where an effect without a known id goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// It took none.
    Nowhere,
    /// Below the known id of this rank.
    Gap(usize),
    /// After every known id, or in no order at all.
    Last,
}

/// A search through ways.
pub(super) struct Search<'a> {
    pub(super) graph: &'a Graph<'a>,
    pub(super) cells: &'a [Cell],
    pub(super) ids: EffectIds,
    pub(super) starts_empty: bool,
}

/// How far a search came.
struct State<'c> {
    chosen: Vec<Option<&'c Choice>>,
    tries: usize,
    circle: Option<Vec<usize>>,
    clash: Option<Clash>,
}

impl Search<'_> {
    /// The first way that works. Also says how many were tried.
    pub(super) fn run(&self, choices: &Choices) -> Result<(Found, usize), Broken> {
        let first = |(of, required): (&'_ Vec<Choice>, &bool)| if *required { of.first().cloned() } else { None };
        let start: Vec<Option<Choice>> = choices.of.iter().zip(&choices.is_required).map(first).collect();
        let chosen = start.iter().map(Option::as_ref).collect();
        let mut state = State { chosen, tries: 0, circle: None, clash: None };
        let several: Vec<usize> = choices
            .of
            .iter()
            .zip(&choices.is_required)
            .enumerate()
            .filter(|(_, (of, required))| **required && of.len() > 1)
            .map(|(number, _)| number)
            .collect();
        let open = several.first().copied().unwrap_or_default();
        match self.winners(choices, &several, &mut state) {
            Some(when) => {
                let chosen = state.chosen.iter().map(|choice| choice.cloned()).collect();
                Ok((Found { chosen, when }, state.tries))
            }
            None if state.tries >= MAX_TRIES => Err(Broken::TooLarge(open)),
            None => Err(match (state.circle, state.clash) {
                (Some(circle), _) if !circle.is_empty() => {
                    let also = several.iter().copied();
                    let mut cells: Vec<usize> = circle.into_iter().chain(also).collect();
                    cells.sort_unstable();
                    cells.dedup();
                    Broken::Together(cells)
                }
                (_, Some(clash)) => Broken::Ids(clash),
                (_, None) => Broken::Together(several),
            }),
        }
    }

    /// Goes through the ways to choose, the first of which is chosen already.
    fn winners<'c>(&self, choices: &'c Choices, several: &[usize], state: &mut State<'c>) -> Option<Vec<u64>> {
        let mut digits = vec![0_usize; several.len()];
        loop {
            if let Some(when) = self.places(choices, state) {
                return Some(when);
            }
            // Counts one further: the first digit that has a next choice gets it, those before it their first.
            let mut is_done = true;
            for (digit, number) in digits.iter_mut().zip(several) {
                let of = choices.of.get(*number)?;
                *digit = digit.saturating_add(1);
                is_done = *digit >= of.len();
                if is_done {
                    *digit = 0;
                }
                if let Some(slot) = state.chosen.get_mut(*number) {
                    *slot = of.get(*digit);
                }
                if !is_done {
                    break;
                }
            }
            if is_done || state.tries >= MAX_TRIES {
                return None;
            }
        }
    }

    /// Tries the places of effects without a known id.
    fn places<'c>(&self, choices: &'c Choices, state: &mut State<'c>) -> Option<Vec<u64>> {
        let is_prior = |number: usize, state: &State<'c>| {
            let choice = state.chosen.get(number).copied().flatten();
            choice.is_some_and(|choice| choice.calls.is_empty())
        };
        let mut known: Vec<(u64, usize)> = Vec::new();
        let mut free = Vec::new();
        let mut prior = 0;
        for (number, cell) in self.cells.iter().enumerate() {
            match cell.effect {
                Some(id) if is_prior(number, state) => prior = prior.max(id),
                Some(id) => known.push((id, number)),
                None if self.ids == EffectIds::Opaque || is_prior(number, state) => {}
                None => free.push(number),
            }
        }
        known.sort_unstable();
        if let Some((a, b)) = twice(self.cells) {
            state.clash = Some(Clash::Same(a, b));
            state.tries = state.tries.saturating_add(1);
            return None;
        }
        if self.ids == EffectIds::Opaque {
            return self.fire(state, &[]);
        }
        if let Some((_, number)) = known.first().filter(|(id, _)| *id <= prior) {
            state.clash = Some(Clash::Order(*number, *number));
            state.tries = state.tries.saturating_add(1);
            return None;
        }
        let mut rooms = Vec::with_capacity(known.len());
        let mut before = prior;
        for (rank, (id, number)) in known.iter().enumerate() {
            let missing = id.saturating_sub(before).saturating_sub(1);
            let must = self.ids == EffectIds::Dense && (rank > 0 || self.starts_empty);
            if must && missing > free.len() as u64 {
                state.clash = Some(Clash::Gap(*number));
                state.tries = state.tries.saturating_add(1);
                return None;
            }
            rooms.push(Room { left: missing, must });
            before = *id;
        }
        let mut order: Vec<(usize, usize)> = Vec::new();
        order.extend(known.iter().zip(known.iter().skip(1)).map(|((_, a), (_, b))| (*a, *b)));
        let mut puzzle = Puzzle { known: &known, rooms, order };
        let free = puzzle.settle(free, choices);
        if free.len() > MAX_FREE {
            state.tries = MAX_TRIES;
            return None;
        }
        self.put(choices, &free, &mut puzzle, state)
    }

    fn put<'c>(
        &self,
        choices: &'c Choices,
        free: &[usize],
        puzzle: &mut Puzzle<'_>,
        state: &mut State<'c>,
    ) -> Option<Vec<u64>> {
        let wanted: u64 = puzzle.rooms.iter().filter(|room| room.must).map(|room| room.left).sum();
        if wanted > free.len() as u64 {
            let gap = puzzle.rooms.iter().position(|room| room.must && room.left > 0);
            let number = gap.and_then(|gap| puzzle.known.get(gap)).map_or(0, |(_, number)| *number);
            state.clash = state.clash.or(Some(Clash::Gap(number)));
            return None;
        }
        let Some((number, rest)) = free.split_first() else { return self.fire(state, &puzzle.order) };
        let required = choices.is_required.get(*number).copied().unwrap_or_default();
        let mut places = vec![if required { Place::Last } else { Place::Nowhere }];
        let has_room = |(_, room): &(usize, &Room)| room.left > 0 && (room.must || required);
        places.extend(puzzle.rooms.iter().enumerate().filter(has_room).map(|(gap, _)| Place::Gap(gap)));
        for place in places {
            // An operation that took effect for sure has its choice; one that fills a gap tries each of its own.
            let of = choices.of.get(*number).map(Vec::as_slice).unwrap_or_default();
            let tried: Vec<Option<&Choice>> = match (place, required) {
                (Place::Nowhere, _) => vec![None],
                (_, true) => vec![state.chosen.get(*number).copied().flatten()],
                (_, false) => of.iter().filter(|choice| !choice.calls.is_empty()).map(Some).collect(),
            };
            for choice in tried {
                if state.tries >= MAX_TRIES {
                    return None;
                }
                let length = puzzle.order.len();
                puzzle.enter(place, *number);
                if let Some(slot) = state.chosen.get_mut(*number) {
                    *slot = choice;
                }
                if let Some(when) = self.put(choices, rest, puzzle, state) {
                    return Some(when);
                }
                puzzle.leave(place, length);
            }
        }
        None
    }

    fn fire(&self, state: &mut State<'_>, order: &[(usize, usize)]) -> Option<Vec<u64>> {
        state.tries = state.tries.saturating_add(1);
        match self.graph.fire(self.cells, &state.chosen, order) {
            Fired::All(when) => Some(when),
            Fired::Circle(cells) => {
                state.circle.get_or_insert(cells);
                None
            }
        }
    }
}

/// Two operations with one id.
fn twice(cells: &[Cell]) -> Option<(usize, usize)> {
    let mut ids: Vec<(u64, usize)> =
        cells.iter().enumerate().filter_map(|(number, cell)| Some((cell.effect?, number))).collect();
    ids.sort_unstable();
    let found = ids.iter().zip(ids.iter().skip(1)).find(|((a, _), (b, _))| a == b);
    found.map(|((_, a), (_, b))| (*a, *b))
}

/// Ids that are missing below a known one.
#[derive(Debug, Clone, Copy)]
struct Room {
    left: u64,
    /// They must have been given to someone.
    must: bool,
}

/// Known ids in their order, with what was put between them.
struct Puzzle<'k> {
    known: &'k [(u64, usize)],
    rooms: Vec<Room>,
    /// Which effect comes before which.
    order: Vec<(usize, usize)>,
}

impl Puzzle<'_> {
    /// Places the operations for which there is but one place; gives the others.
    fn settle(&mut self, free: Vec<usize>, choices: &Choices) -> Vec<usize> {
        let has_room = self.rooms.iter().any(|room| room.left > 0);
        let must_fill = self.rooms.iter().any(|room| room.left > 0 && room.must);
        let mut open = Vec::new();
        for number in free {
            let required = choices.is_required.get(number).copied().unwrap_or_default();
            match (required, has_room, must_fill) {
                (true, false, _) => self.enter(Place::Last, number),
                (true, true, _) | (false, _, true) => open.push(number),
                (false, _, false) => {}
            }
        }
        open
    }

    fn enter(&mut self, place: Place, number: usize) {
        let (below, above) = match place {
            Place::Nowhere => return,
            Place::Last => (self.known.last(), None),
            Place::Gap(gap) => {
                if let Some(room) = self.rooms.get_mut(gap) {
                    room.left = room.left.saturating_sub(1);
                }
                (gap.checked_sub(1).and_then(|below| self.known.get(below)), self.known.get(gap))
            }
        };
        self.order.extend(below.map(|(_, known)| (*known, number)));
        self.order.extend(above.map(|(_, known)| (number, *known)));
    }

    fn leave(&mut self, place: Place, length: usize) {
        match place {
            Place::Nowhere | Place::Last => {}
            Place::Gap(gap) => {
                if let Some(room) = self.rooms.get_mut(gap) {
                    room.left = room.left.saturating_add(1);
                }
            }
        }
        self.order.truncate(length);
    }
}
