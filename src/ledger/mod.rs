//! Owns the operation ledger: what identifies an action, what can be asked of the ledger, and what it answers.
//!
//! Refuses to know any file and any wire. Invariant: an operation id stands for one logical action, bound at its first use
//! to one principal, backend and request; what was applied is never taken back.

mod call;
pub mod consumer;
pub mod fingerprint;
mod model;
mod rows;

pub use call::{
    Ask, Form, Mode, Observation, Observed, Outcome, Parts, Refusal, Sameness, ScopeBinding, Seconds, State, Timing,
    Told, Write,
};
pub use model::{Answer, Bound, Caller, Model, Stage};
pub use rows::{Compensation, EffectIds, Event, Issue, Operation, OperationState, Rows, Watcher};
