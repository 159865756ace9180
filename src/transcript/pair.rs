//! Owns pairing replies with requests by their ids, within one connection and direction.
//!
//! Refuses to choose where more than one request can be meant. Invariant: a request has at most one reply, and a reply at
//! most one request.

use indexmap::IndexMap;

use super::Direction;
use super::message::Id;
use crate::finding::Code;

/// A request's id on its connection, with the direction of the request.
type Key = (u32, Direction, Id);

#[derive(Debug)]
enum State {
    Open {
        number: u32,
        line: u64,
    },
    /// Several requests have the id: so many replies are due, and whose each is can't be told.
    Ambiguous {
        line: u64,
        due: u64,
    },
    Answered {
        line: u64,
    },
}

/// What is open, and what was answered. It grows with the number of ids.
#[derive(Debug, Default)]
pub(super) struct Pairing {
    ids: IndexMap<Key, State>,
    requests: u32,
    paired: u64,
}

/// Something wrong: code and sentence.
pub(super) type Wrong = (Code, String);

impl Pairing {
    /// A request; gives its number.
    pub(super) fn request(&mut self, key: Key, line: u64) -> (u32, Option<Wrong>) {
        let number = self.requests;
        self.requests = self.requests.saturating_add(1);
        let open = State::Open { number, line };
        let state = self.ids.get_mut(&key);
        let (first, due) = match state {
            None => {
                self.ids.insert(key, open);
                return (number, None);
            }
            Some(answered @ State::Answered { .. }) => {
                *answered = open;
                return (number, None);
            }
            Some(State::Open { line, .. }) => (*line, 2),
            Some(State::Ambiguous { line, due }) => (*line, due.saturating_add(1)),
        };
        let shown = key.2.shown();
        self.ids.insert(key, State::Ambiguous { line: first, due });
        let message = format!(
            "the id {shown} is that of the request in line {first}, which has no reply yet: a reply could belong to either"
        );
        (number, Some((Code::TranscriptIdReused, message)))
    }

    /// A reply, by the id and direction of its request; gives the request's number.
    pub(super) fn reply(&mut self, key: &Key, line: u64) -> Result<Option<u32>, Wrong> {
        match self.ids.get_mut(key) {
            None => Err((
                Code::TranscriptReplyUnmatched,
                format!("no request on this connection has the id {}", key.2.shown()),
            )),
            Some(State::Answered { line: before }) => Err((
                Code::TranscriptReplyRepeated,
                format!("the request with the id {} was answered in line {before} already", key.2.shown()),
            )),
            Some(state @ State::Open { .. }) => {
                let State::Open { number, .. } = std::mem::replace(state, State::Answered { line }) else {
                    return Ok(None);
                };
                self.paired = self.paired.saturating_add(1);
                Ok(Some(number))
            }
            Some(State::Ambiguous { due, .. }) if *due > 1 => {
                *due = due.saturating_sub(1);
                Ok(None)
            }
            Some(state @ State::Ambiguous { .. }) => {
                *state = State::Answered { line };
                Ok(None)
            }
        }
    }

    /// How many requests there were.
    pub(super) fn requests(&self) -> u32 {
        self.requests
    }

    /// How many of them have no reply that is surely theirs.
    pub(super) fn lost(&self) -> u64 {
        u64::from(self.requests).saturating_sub(self.paired)
    }
}
