//! Histories made by hand: calls one after the other, each answered before the next is sent, but for what a test says
//! otherwise. A call is named by its number in the order of making, which is its request's line.

use exhibit::history::{At, Call, History, Process, Snapshot};
use exhibit::ledger::{
    Ask, EffectIds, Form, Mode, Observation, Observed, Outcome, Parts, Refusal, ScopeBinding, State, Timing, Told,
    Write,
};

pub(crate) const BACKEND: &str = "sqlite:store";

/// What the clocks say, where a history isn't about deadlines.
pub(crate) const NOW: i64 = 100;

/// A history in the making.
pub(crate) struct Made {
    pub(crate) history: History,
    now: u64,
}

/// A continuation to be sent: a token, and what may differ from its first round.
#[derive(Debug, Clone, Copy)]
pub(crate) struct With {
    pub(crate) token: usize,
    pub(crate) answer: u32,
    pub(crate) mode: Mode,
    pub(crate) form: Form,
    pub(crate) altered: bool,
}

pub(crate) fn with(token: usize) -> With {
    With { token, answer: 1, mode: Mode::Atomic, form: Form::Sound, altered: false }
}

pub(crate) fn refused(refusal: Refusal) -> Option<Told> {
    Some(Told::Refused(refusal))
}

pub(crate) fn forever(issued_at: i64) -> Timing {
    Timing { issued_at, authority_expires_at: None, replay_expires_at: None, state_expires_at: None }
}

impl Made {
    /// Nothing yet; one order over all frames, an empty store, dense ids.
    pub(crate) fn new() -> Self {
        let history = History { is_ordered: true, starts_empty: true, ids: EffectIds::Dense, ..History::default() };
        Self { history, now: 0 }
    }

    pub(crate) fn process(&mut self, principal: &str, phase: u32, clock: i64) -> u32 {
        let at = u32::try_from(self.history.processes.len()).expect("few processes");
        self.history.processes.push(Process {
            name: format!("p{at}").into(),
            phase,
            principal: principal.into(),
            backend: BACKEND.into(),
            clock: Some(clock),
            exit: None,
            ended: None,
        });
        at
    }

    /// The process ends now.
    pub(crate) fn end(&mut self, process: u32) {
        self.now += 1;
        self.history.processes[process as usize].ended = Some(self.now);
    }

    /// A call of a process on the connection of the same number. It is answered at once, or its reply is lost.
    pub(crate) fn call(&mut self, process: u32, ask: Ask, told: Option<Told>) -> usize {
        let at = self.history.calls.len();
        let line = u64::try_from(at).expect("few calls");
        let is_answered = told.is_some();
        self.history.calls.push(Call {
            process,
            connection: process,
            ask,
            told,
            sent: self.now + 1,
            received: is_answered.then_some(self.now + 2),
            id: line.to_string().into(),
            request: At { file: process, line },
            reply: is_answered.then_some(At { file: process, line }),
        });
        self.now += 2;
        at
    }

    /// A first round; the token has its number.
    pub(crate) fn first(&mut self, process: u32, operation: &str) -> usize {
        let token = u32::try_from(self.history.calls.len()).expect("few calls");
        let told = Told::InputRequired { token: Some(token) };
        self.call(process, Ask::FirstRound { operation: operation.into() }, Some(told))
    }

    pub(crate) fn write_for(&mut self, process: u32, with: With, timing: Timing, told: Option<Told>) -> usize {
        let first = &self.history.calls[with.token];
        let Ask::FirstRound { operation } = first.ask.clone() else { panic!("a first round gives a token") };
        let token = u32::try_from(with.token).expect("few calls");
        let state = State { token, issued: Some(token), inner: None, altered: with.altered };
        let arguments = u32::from(with.mode == Mode::Partial);
        let parts = Parts { tool: 1, arguments, responses: with.answer, state };
        let timing = (with.form != Form::WithoutState).then_some(timing);
        self.call(process, Ask::Write(Write { operation, form: with.form, mode: with.mode, parts, timing }), told)
    }

    pub(crate) fn write(&mut self, process: u32, with: With, told: Option<Told>) -> usize {
        self.write_for(process, with, forever(NOW), told)
    }

    /// The effect of an operation as a write's reply tells it.
    pub(crate) fn told(operation: &str, effect: u64, replayed: bool) -> Option<Told> {
        let result = format!("created {effect}").into();
        Some(Told::Effect(Outcome { operation: operation.into(), effect, result, replayed, state: Observed::Applied }))
    }

    pub(crate) fn told_partial(operation: &str, effect: u64, replayed: bool) -> Option<Told> {
        let result = format!("partial {effect}; watcher failed; rollback failed").into();
        Some(Told::Effect(Outcome { operation: operation.into(), effect, result, replayed, state: Observed::Partial }))
    }

    /// A status that shows nothing, or the state, id and result.
    pub(crate) fn status(&mut self, process: u32, operation: &str, shown: Option<(Observed, i64, &str)>) -> usize {
        let of = &self.history.processes[process as usize];
        let seen = observation(operation, &of.principal, &of.backend, shown);
        let ask = Ask::Status { operation: operation.into() };
        self.call(process, ask, Some(Told::Status(Box::new(seen))))
    }

    pub(crate) fn applied(&mut self, process: u32, operation: &str, effect: i64) -> usize {
        self.status(process, operation, Some((Observed::Applied, effect, &format!("created {effect}"))))
    }

    /// The store's rows at the end.
    pub(crate) fn end_with(&mut self, end: Snapshot) {
        self.history.end = Some(end);
    }
}

/// A status as a correct server words it.
pub(crate) fn observation(
    operation: &str,
    principal: &str,
    backend: &str,
    shown: Option<(Observed, i64, &str)>,
) -> Observation {
    let some = |text: &str| Some(Box::<str>::from(text));
    Observation {
        operation: some(operation),
        principal: some(principal),
        backend: some(backend),
        state: Some(shown.map_or(Observed::Unknown, |(state, _, _)| state)),
        authoritative: Some(true),
        fresh_write_authorized: Some(false),
        ids: Some(shown.iter().map(|(_, id, _)| *id).collect()),
        result: Some(shown.map(|(_, _, result)| result.into())),
        scope: some("the ledger of this backend"),
        binding: Some(ScopeBinding { operation: some(operation), principal: some(principal), backend: some(backend) }),
        observed_at: some("2026-09-22T00:00:00+00:00"),
    }
}
