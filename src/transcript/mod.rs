//! Owns transcripts: lines, the frames and events in them, messages, and which reply belongs to which request.
//!
//! Refuses, as findings that name file and line, whatever is no line of its form, no strict JSON, no JSON-RPC message or
//! no reply to one open request; what follows is read all the same. Invariant: one line is in memory at a time; what is
//! handed on was read strictly, and a reply is paired only where just one request can be meant. A request without a reply
//! is no fault: the reply is lost.

mod frame;
mod message;
mod pair;
mod read;

use crate::finding::Findings;
use crate::json::View;

pub use read::read;

/// The format of the program's own transcripts. Version 1 is the first.
pub const FORMAT: &str = "exhibit-transcript/1";

/// How a transcript is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// `> ` or `< ` and a message a line: one connection of one process.
    Historical,
    /// [`FORMAT`]: an object a line, with sequence numbers.
    Own,
}

/// Whether a message goes to the server or to the client.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Direction {
    /// From client to server.
    ToServer,
    /// From server to client.
    ToClient,
}

impl Direction {
    /// The other one.
    #[must_use]
    pub fn back(self) -> Self {
        match self {
            Self::ToServer => Self::ToClient,
            Self::ToClient => Self::ToServer,
        }
    }
}

/// When a recorder saw something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Its place among everything that the recorder saw, over all its files.
    pub seq: u64,
    /// Nanoseconds on the recorder's clock.
    pub t_ns: u64,
}

/// What a line holds.
#[derive(Debug)]
pub enum Entry<'a> {
    /// A message on a connection.
    Message(Message<'a>),
    /// Something that happened to a process or a connection.
    Event(Event),
}

/// A message.
#[derive(Debug, Clone, Copy)]
pub struct Message<'a> {
    /// Its line, from 1.
    pub line: u64,
    /// When it was seen; none in historical transcripts.
    pub stamp: Option<Stamp>,
    /// Which of [`Transcript::connections`].
    pub connection: u32,
    /// Where it goes.
    pub direction: Direction,
    /// What it is.
    pub kind: Kind,
    /// The message.
    pub body: View<'a>,
}

/// What a message is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It asks for a reply.
    Request {
        /// Requests are numbered over the transcript, of both directions, from 0.
        number: u32,
    },
    /// It answers.
    Reply {
        /// The number of the request; none where none or more than one can be meant.
        to: Option<u32>,
    },
    /// It asks for nothing.
    Notification,
}

/// Something that happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event {
    /// Its line, from 1.
    pub line: u64,
    /// When.
    pub stamp: Stamp,
    /// Which of [`Transcript::processes`].
    pub process: u32,
    /// Which of [`Transcript::connections`], where it is of one.
    pub connection: Option<u32>,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EventKind {
    /// The process was started.
    Spawn,
    /// It takes requests.
    Ready,
    /// Requests that wait for each other were let go together.
    Barrier,
    /// The connection ended.
    Eof,
    /// The client waits no longer.
    Deadline,
    /// The process was sent a signal.
    Signal(i32),
    /// The process ended: its exit code, negative for a signal.
    Exit(i32),
}

/// A connection.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Connection {
    /// Which of [`Transcript::processes`].
    pub process: u32,
    /// Its number in the transcript; 0 in historical ones.
    pub number: u64,
}

/// What is known of a transcript once it was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Transcript {
    /// How it is written.
    pub form: Form,
    /// How many lines it has.
    pub lines: u64,
    /// The processes named in it, in the order of their first line. A historical one has one, whose name is empty.
    pub processes: Vec<Box<str>>,
    /// The connections, in the order of their first line.
    pub connections: Vec<Connection>,
    /// How many requests.
    pub requests: u32,
    /// How many replies.
    pub replies: u64,
    /// How many notifications.
    pub notifications: u64,
    /// How many events.
    pub events: u64,
    /// How many requests have no reply that is surely theirs.
    pub lost: u64,
    /// What is wrong.
    pub findings: Findings,
}

#[cfg(test)]
mod tests;
