//! Owns the matrix as people write it: its cases, who runs when, what is sent and what must be seen.
//!
//! Refuses names that stand twice or that nothing has, all at once with their places. Invariant: every step, process and
//! reply that a checked case names is one of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::marker::PhantomData;
use std::path::Path;

use serde::Deserialize;
use serde::de::value::{I64Deserializer, StrDeserializer, U64Deserializer};
use serde::de::{Deserializer, Error as _, SeqAccess, Visitor};
use serde_json::Value;

use crate::document::Format;
use crate::error::Error;
use crate::limits::Limits;

/// The format of `matrix.json`. Version 1 is the first; schedules came to it later and may be left out.
pub const MATRIX_FORMAT: &str = "exhibit-matrix/1";

/// The format with its schema.
pub(super) const FORMAT: Format =
    Format { kind: "matrix", name: MATRIX_FORMAT, schema: include_str!("../../schemas/exhibit-matrix-1.json") };

/// A matrix.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixDocument {
    /// [`MATRIX_FORMAT`].
    pub format: String,
    /// Its name.
    pub name: String,
    /// The name of the dialect that its servers speak.
    #[serde(default)]
    pub dialect: Option<String>,
    /// The cases.
    pub cases: Vec<MatrixCase>,
}

/// A case.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MatrixCase {
    /// Its id.
    pub id: String,
    /// Its name.
    pub name: String,
    /// The label of what is expected.
    pub expected: String,
    /// Whether the store holds nothing at the start; there with the phases.
    #[serde(default)]
    pub starts_empty: Option<bool>,
    /// One after the other; empty for a case that has no schedule.
    #[serde(default)]
    pub phases: Vec<Phase>,
    /// What must be seen; there with the phases.
    #[serde(default)]
    pub expectations: Vec<Expectation>,
}

/// Processes that run side by side; those of one phase have ended before those of the next start.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Phase {
    /// The processes.
    pub processes: Vec<Process>,
}

/// A server process.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Process {
    /// Its name, which its transcript has.
    pub name: String,
    /// Whom it serves.
    pub principal: String,
    /// Its backend.
    pub backend: String,
    /// What its clock says throughout, in seconds since 1970.
    pub clock: i64,
    /// How long what it issues lives.
    pub lifetimes: Lifetimes,
    /// The ids of its keys, never the keys.
    pub keys: Keys,
    /// The version of its tools.
    pub tool_version: String,
    /// The fault that is put into it, by the server's own name.
    pub fault: Option<String>,
    /// The exit codes that it may end with; negative for a signal.
    pub exit: OneOf<i64>,
    /// What it is sent, in this order.
    pub steps: Vec<Step>,
}

/// Seconds from issue; none is unbounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lifetimes {
    /// Of the right to write.
    pub authority: Option<i64>,
    /// Of the time to replay.
    pub replay: Option<i64>,
    /// Of the state, by the SDK.
    pub state: Option<i64>,
}

/// Ids of keys: equal ids, equal keys.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Keys {
    /// The key that protects the state.
    pub state: String,
    /// The key of fingerprints.
    pub fingerprint: String,
}

/// A request to send.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// Its name in the case.
    pub id: String,
    /// What it is.
    pub send: Method,
    /// The operation id.
    pub operation: String,
    /// The other arguments of a write.
    #[serde(default)]
    pub arguments: BTreeMap<String, String>,
    /// The state of a continuation; none where it is stripped.
    #[serde(default)]
    pub state: Option<StateOf>,
    /// The accepted answer to `body`; none where none is sent.
    #[serde(default)]
    pub answer: Option<String>,
}

/// Which state a continuation carries.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StateOf {
    /// The step whose reply issued it.
    pub from: String,
    /// It is changed on the way.
    #[serde(default)]
    pub tampered: bool,
}

/// What a request is to a ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Method {
    /// The first round of a write.
    FirstRound,
    /// Its continuation.
    Continuation,
    /// A read of the status.
    Status,
}

/// What must be seen.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Expectation {
    /// A step got one of these outcomes.
    Reply(Reply),
    /// So many rows are there at the end.
    Count(Count),
    /// An operation's status, on the wire where the process reads it, else derived from the rows for its identity.
    Status(Status),
    /// No such request was sent to the process.
    Absent(Absent),
    /// The process ended with one of these codes.
    Exit(Exit),
}

/// See [`Expectation::Reply`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reply {
    /// The step.
    pub step: String,
    /// What it may get.
    pub outcome: OneOf<Outcome>,
    /// A step whose reply carries the same effect and stored result.
    #[serde(default)]
    pub equals_step: Option<String>,
}

/// See [`Expectation::Count`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Count {
    /// The table.
    pub table: Table,
    /// Columns with the values that are counted.
    #[serde(default, rename = "where")]
    pub columns: BTreeMap<String, Value>,
    /// How many.
    pub n: OneOf<u64>,
}

/// See [`Expectation::Status`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Status {
    /// The process.
    pub process: String,
    /// The operation id.
    pub operation: String,
    /// How far it may have come.
    pub state: OneOf<StateWord>,
}

/// See [`Expectation::Absent`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Absent {
    /// The process.
    pub process: String,
    /// The request.
    pub method: Method,
}

/// See [`Expectation::Exit`].
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Exit {
    /// The process.
    pub process: String,
    /// The codes.
    pub code: OneOf<i64>,
}

/// A table of the ledger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Table {
    /// `issues`.
    Issues,
    /// `operations`.
    Operations,
    /// `watchers`.
    Watchers,
    /// `compensations`.
    Compensations,
    /// `operation_events`.
    Events,
}

/// How far an operation came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StateWord {
    /// It took effect.
    Applied,
    /// A later step failed.
    Partial,
    /// Nothing is known.
    Unknown,
    /// It did not take effect.
    NotApplied,
}

/// What became of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// Input was asked for.
    InputRequired,
    /// Applied now.
    Applied,
    /// Applied before; the stored result.
    Replayed,
    /// Applied now, and a later step failed.
    Partial,
    /// As before, and stored.
    PartialReplayed,
    /// The operation id is bound to something else.
    Conflict,
    /// The right to write has ended.
    AuthorityExpired,
    /// The time to replay has ended.
    RetentionExpired,
    /// Begun and not complete.
    InProgress,
    /// The deadlines make no sense.
    Timing,
    /// A continuation that is none.
    Unsupported,
    /// The answer wasn't accepted.
    NotAccepted,
    /// The state is of another operation.
    OtherOperation,
    /// The SDK refused the state.
    StateRejected,
    /// A status.
    Status,
    /// No reply came.
    Lost,
    /// A reply that the dialect doesn't know.
    Unrecognized,
}

/// One value, or a list of those that a race allows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OneOf<T>(pub Vec<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for OneOf<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Values<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for Values<T> {
            type Value = Vec<T>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a value or a list of values")
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Vec<T>, E> {
                T::deserialize(StrDeserializer::new(text)).map(|value| vec![value])
            }
            fn visit_u64<E: serde::de::Error>(self, number: u64) -> Result<Vec<T>, E> {
                T::deserialize(U64Deserializer::new(number)).map(|value| vec![value])
            }
            fn visit_i64<E: serde::de::Error>(self, number: i64) -> Result<Vec<T>, E> {
                T::deserialize(I64Deserializer::new(number)).map(|value| vec![value])
            }
            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Vec<T>, A::Error> {
                let mut values = Vec::new();
                while let Some(value) = items.next_element()? {
                    values.push(value);
                }
                if values.is_empty() { Err(A::Error::custom("the list is empty")) } else { Ok(values) }
            }
        }
        deserializer.deserialize_any(Values(PhantomData)).map(Self)
    }
}

impl MatrixDocument {
    /// Reads a matrix that came from `path`.
    ///
    /// # Errors
    /// Another format, and all faults of the document at once.
    pub fn load(path: &Path, bytes: &[u8], limits: &Limits) -> Result<Self, Error> {
        let matrix: Self = FORMAT.load(path, bytes, limits)?;
        let faults: Vec<_> = matrix
            .faults()
            .into_iter()
            .map(|(at, why)| format!("{}: {why}", if at.is_empty() { "the document" } else { &at }))
            .collect();
        if faults.is_empty() {
            Ok(matrix)
        } else {
            Err(Error::Document { path: path.to_owned(), kind: "matrix", faults })
        }
    }

    /// What its schema can't tell: JSON pointer and sentence of each fault.
    pub(super) fn faults(&self) -> Vec<(String, String)> {
        let mut faults = Vec::new();
        if self.dialect.is_none() && self.cases.iter().any(|case| !case.phases.is_empty()) {
            faults.push((String::new(), "a matrix with phases names its dialect".to_owned()));
        }
        for (index, case) in self.cases.iter().enumerate() {
            case.faults(&format!("/cases/{index}"), &mut faults);
        }
        faults
    }
}

impl MatrixCase {
    /// The processes with the numbers of their phases.
    pub fn processes(&self) -> impl Iterator<Item = (usize, &Process)> {
        self.phases.iter().enumerate().flat_map(|(index, phase)| phase.processes.iter().map(move |one| (index, one)))
    }

    /// The process of that name.
    pub fn process(&self, name: &str) -> Option<&Process> {
        self.processes().map(|(_, process)| process).find(|process| process.name == name)
    }

    fn faults(&self, at: &str, faults: &mut Vec<(String, String)>) {
        let (mut processes, mut steps, mut issued) = (BTreeSet::new(), BTreeSet::new(), BTreeSet::new());
        for (number, phase) in self.phases.iter().enumerate() {
            for (index, process) in phase.processes.iter().enumerate() {
                let at = format!("{at}/phases/{number}/processes/{index}");
                if !processes.insert(process.name.as_str()) {
                    faults.push((format!("{at}/name"), "the case has this process twice".to_owned()));
                }
                for (index, step) in process.steps.iter().enumerate() {
                    let at = format!("{at}/steps/{index}");
                    if !steps.insert(step.id.as_str()) {
                        faults.push((format!("{at}/id"), "the case has this step twice".to_owned()));
                    }
                    if step.send == Method::FirstRound {
                        issued.insert(step.id.as_str());
                    }
                    if step.state.as_ref().is_some_and(|state| !issued.contains(state.from.as_str())) {
                        let why = "no first round before this step has that name".to_owned();
                        faults.push((format!("{at}/state/from"), why));
                    }
                }
            }
        }
        for (index, expectation) in self.expectations.iter().enumerate() {
            let at = format!("{at}/expectations/{index}");
            let mut known = |kind: &str, field: &str, name: &str, names: &BTreeSet<&str>| {
                if !names.contains(name) {
                    faults.push((format!("{at}/{field}"), format!("the case has no {kind} of that name")));
                }
            };
            match expectation {
                Expectation::Reply(reply) => {
                    known("step", "reply/step", &reply.step, &steps);
                    reply.equals_step.iter().for_each(|name| known("step", "reply/equals_step", name, &steps));
                }
                Expectation::Status(status) => known("process", "status/process", &status.process, &processes),
                Expectation::Absent(absent) => known("process", "absent/process", &absent.process, &processes),
                Expectation::Exit(exit) => known("process", "exit/process", &exit.process, &processes),
                Expectation::Count(_) => {}
            }
        }
    }
}
