//! Owns the numbers that stand for canonical values and tokens, and which first round issued a token.
//!
//! Refuses nothing. Invariant: equal numbers, equal values; a token is followed to the first round that issued it, also
//! through replies that asked again.

use std::collections::BTreeMap;

use indexmap::IndexMap;

use super::Unopened;
use crate::ledger::{State, Timing};

/// How many neighbours of a token, by its start and by its end, are looked at for one that it is a near copy of.
const NEIGHBOURS: usize = 4;

/// Bytes in one place by which a near copy differs from a token as it was issued.
const ALTERED: usize = 16;

/// Values and tokens of one history.
#[derive(Debug, Default)]
pub struct Interner {
    values: IndexMap<Box<[u8]>, u32>,
    tokens: IndexMap<Box<str>, u32>,
    known: Vec<Token>,
}

/// What is known of a token.
#[derive(Debug, Clone, Copy, Default)]
struct Token {
    inside: Inside,
    origin: Option<Origin>,
}

/// What a token says inside.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Inside {
    pub(super) inner: Option<u32>,
    pub(super) timing: Option<Timing>,
    /// Whether the state's key opens it; none without a key.
    pub(super) opened: Option<Result<(), Unopened>>,
}

/// What became of the tokens of a history under the state's key.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Opened {
    /// How many opened.
    pub opened: u64,
    /// How many that replies issued did not, for each reason.
    pub issued: BTreeMap<Unopened, u64>,
    /// How many that no reply issued did not, for each reason.
    pub others: BTreeMap<Unopened, u64>,
}

/// What a reply issued a token for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Origin {
    /// A first round: the number of its call.
    FirstRound(u32),
    /// A continuation that was asked again: the token that it had.
    Again(u32),
}

/// Which first round issued each token, and which tokens are near copies of such.
#[derive(Debug)]
pub struct Origins {
    /// Of each token: the first round, and whether it is a near copy.
    tokens: Vec<(Option<u32>, bool)>,
    /// Of each token, whether the key opens it; empty where no token opened.
    seals: Vec<Option<bool>>,
}

impl Interner {
    pub(super) fn value(&mut self, bytes: &[u8]) -> u32 {
        if let Some(number) = self.values.get(bytes) {
            return *number;
        }
        let number = count(self.values.len());
        self.values.insert(bytes.into(), number);
        number
    }

    /// A token's number; `read` says what is inside one that wasn't seen before.
    pub(super) fn token(&mut self, text: &str, read: impl FnOnce(&mut Self) -> Inside) -> u32 {
        if let Some(number) = self.tokens.get(text) {
            return *number;
        }
        let inside = read(self);
        let number = count(self.tokens.len());
        self.tokens.insert(text.into(), number);
        self.known.push(Token { inside, origin: None });
        number
    }

    /// The state that a token is; who issued it is told at the end, by [`Interner::origins`].
    pub(super) fn state(&self, token: u32) -> State {
        State { token, issued: None, inner: self.of(token).inside.inner, altered: false }
    }

    pub(super) fn timing(&self, token: u32) -> Option<Timing> {
        self.of(token).inside.timing
    }

    /// A reply issued a token. The first that did counts.
    pub(super) fn issue(&mut self, token: u32, origin: Origin) {
        if let Some(known) = self.known.get_mut(token as usize) {
            // A server that asks again with the very same token issues nothing.
            let is_new = origin != Origin::Again(token);
            known.origin = known.origin.or(is_new.then_some(origin));
        }
    }

    fn of(&self, token: u32) -> Token {
        self.known.get(token as usize).copied().unwrap_or_default()
    }

    /// Once every reply was read: where each token comes from.
    pub fn origins(&self) -> Origins {
        let mut rounds: Vec<Option<Option<u32>>> = vec![None; self.known.len()];
        for start in 0..self.known.len() {
            let (mut path, mut at) = (Vec::new(), start);
            let found = loop {
                if let Some(Some(found)) = rounds.get(at) {
                    break *found;
                }
                // A chain that comes back to itself was issued by no first round.
                if let Some(slot) = rounds.get_mut(at) {
                    *slot = Some(None);
                }
                path.push(at);
                match self.known.get(at).and_then(|token| token.origin) {
                    Some(Origin::FirstRound(call)) => break Some(call),
                    Some(Origin::Again(token)) => at = token as usize,
                    None => break None,
                }
            };
            for step in path {
                if let Some(slot) = rounds.get_mut(step) {
                    *slot = Some(found);
                }
            }
        }
        let copies = self.near_copies();
        let rounds = rounds.into_iter().map(Option::flatten);
        // A key that opens nothing is another's, and says nothing of what was altered.
        let fits = self.known.iter().any(|token| token.inside.opened == Some(Ok(())));
        let seals = self.known.iter().filter(|_| fits).map(|token| token.inside.opened.map(|opened| opened.is_ok()));
        Origins { tokens: rounds.zip(copies).collect(), seals: seals.collect() }
    }

    /// What became of the tokens under the state's key. Told once every reply was read.
    pub fn opened(&self) -> Opened {
        let mut told = Opened::default();
        for token in &self.known {
            let counts = if token.origin.is_some() { &mut told.issued } else { &mut told.others };
            match token.inside.opened {
                None => {}
                Some(Ok(())) => told.opened = told.opened.saturating_add(1),
                Some(Err(why)) => {
                    let count = counts.entry(why).or_default();
                    *count = count.saturating_add(1);
                }
            }
        }
        told
    }

    /// Canonical values by their numbers.
    pub(crate) fn values(&self) -> Vec<&[u8]> {
        let mut values: Vec<&[u8]> = vec![&[]; self.values.len()];
        for (bytes, number) in &self.values {
            if let Some(slot) = values.get_mut(*number as usize) {
                *slot = bytes;
            }
        }
        values
    }

    /// Whether each token is a near copy of one that was issued: the same but for [`ALTERED`] bytes in one place, and for
    /// no more than half.
    fn near_copies(&self) -> Vec<bool> {
        let issued = |number: &u32| self.of(*number).origin.is_some();
        let mut copies = vec![false; self.known.len()];
        if self.tokens.values().all(issued) {
            return copies;
        }
        let turned = |text: &str| text.bytes().rev().collect::<Vec<u8>>();
        let known = || self.tokens.iter().filter(|(_, number)| issued(number)).map(|(text, _)| text);
        let mut forward: Vec<Vec<u8>> = known().map(|text| text.as_bytes().to_vec()).collect();
        forward.sort_unstable();
        let mut backward: Vec<Vec<u8>> = known().map(|text| turned(text)).collect();
        backward.sort_unstable();
        for (text, number) in self.tokens.iter().filter(|(_, number)| !issued(number)) {
            let near = beside(&forward, text.as_bytes()) || beside(&backward, &turned(text));
            if let Some(slot) = copies.get_mut(*number as usize) {
                *slot = near;
            }
        }
        copies
    }
}

impl Opened {
    /// The key opened none of the tokens that there were: it is another's.
    pub fn is_foreign(&self) -> bool {
        self.opened == 0 && !(self.issued.is_empty() && self.others.is_empty())
    }
}

impl Origins {
    /// A state with where it comes from. `whole` says that every transcript of the store was read: then a token that no
    /// reply issued was made up or altered. If not, only a near copy is known to be altered. With the state's key the seal
    /// says it: one that fits was not altered, whoever has seen it issued.
    pub fn settle(&self, state: State, whole: bool) -> State {
        let (issued, near) = self.tokens.get(state.token as usize).copied().unwrap_or_default();
        let altered = match self.seals.get(state.token as usize).copied().flatten() {
            Some(fits) => !fits && issued.is_none(),
            None => issued.is_none() && (whole || near),
        };
        State { issued, altered, ..state }
    }
}

fn beside(sorted: &[Vec<u8>], text: &[u8]) -> bool {
    let at = sorted.partition_point(|other| other.as_slice() < text);
    let near = sorted.iter().skip(at.saturating_sub(NEIGHBOURS)).take(2 * NEIGHBOURS);
    near.into_iter().any(|other| is_near(text, other))
}

fn is_near(a: &[u8], b: &[u8]) -> bool {
    let (short, long) = (a.len().min(b.len()), a.len().max(b.len()));
    let start = a.iter().zip(b).take_while(|(x, y)| x == y).count();
    let end = a.iter().rev().zip(b.iter().rev()).take(short - start).take_while(|(x, y)| x == y).count();
    let differs = long - start - end;
    differs <= ALTERED && differs <= long / 2
}

fn count(length: usize) -> u32 {
    u32::try_from(length).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_followed_to_their_first_round() {
        let mut interner = Interner::default();
        let base = "v1.0123456789abcdefghijklmnopqrstuvwxyz";
        let texts = [base, "v1.another", &base.replace('k', "K"), "v1.stranger", "v1.again", "v1.loop", "v1.pool"];
        let tokens = texts.map(|text| interner.token(text, |_| Inside::default()));
        assert_eq!(interner.token(base, |_| Inside::default()), tokens[0]);
        // The order in which they are told doesn't matter.
        interner.issue(tokens[4], Origin::Again(tokens[1]));
        interner.issue(tokens[0], Origin::FirstRound(7));
        interner.issue(tokens[1], Origin::FirstRound(9));
        interner.issue(tokens[5], Origin::Again(tokens[6]));
        interner.issue(tokens[6], Origin::Again(tokens[5]));
        interner.issue(tokens[0], Origin::Again(tokens[0]));
        let origins = interner.origins();
        let told = |whole| {
            tokens.map(|token| {
                let state = origins.settle(interner.state(token), whole);
                (state.issued, state.altered)
            })
        };
        let loose = [(Some(7), false), (Some(9), false), (None, true), (None, false), (Some(9), false)];
        assert_eq!(told(false)[..5], loose);
        assert_eq!(told(true)[3], (None, true));
        assert_eq!(told(false)[5..].iter().filter(|(issued, _)| issued.is_some()).count(), 0);
    }
}
