//! Small random histories, the same for the same seed. Each is what a real ledger gave: calls are sent, answered and
//! lost at random while the model runs.

use exhibit::history::{At, Call, History, Process, Snapshot};
use exhibit::ledger::{
    Answer, Ask, Compensation, EffectIds, Event, Form, Issue, Mode, Model, OperationState, Parts, Refusal, Rows, State,
    Timing, Told, Watcher, Write,
};

use super::made::{BACKEND, NOW, observation};
use super::{caller, effect, process, reaches_ledger, row};

/// Frames are this far apart, so that there is room between them.
pub(crate) const APART: u64 = 8;

const MOST_FIRST_ROUNDS: usize = 4;

/// Numbers at random, the same for the same seed (`SplitMix64`).
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        let end = u64::try_from(end).expect("it fits");
        usize::try_from(self.next() % end).expect("it fits")
    }

    /// True once in so many times.
    pub(crate) fn one_in(&mut self, times: usize) -> bool {
        self.below(times) == 0
    }

    pub(crate) fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }
}

/// A call that was sent.
struct Flight {
    call: usize,
    is_lost: bool,
    at: Progress,
}

enum Progress {
    Sent,
    /// It took effect, and its steps follow.
    Running,
    Answered(Told),
}

struct World<'a> {
    random: &'a mut Random,
    history: History,
    model: Model,
    /// The process of each connection.
    connections: Vec<u32>,
    flights: Vec<Flight>,
    /// The first rounds that were answered.
    tokens: Vec<usize>,
    /// The processes that crashed.
    crashed: Vec<u32>,
    /// A write's reply is lost once in so many times.
    loss: usize,
    /// Nothing odd is sent: no other principal, no tampering, no other operation under a token, no part missing.
    is_plain: bool,
    /// Whether deadlines pass.
    is_timed: bool,
    modes: Vec<Mode>,
    now: u64,
}

const OPERATIONS: [&str; 3] = ["x", "y", "z"];

/// A history that a ledger really gave.
pub(crate) fn honest(random: &mut Random) -> History {
    let mut world = World::new(random);
    let ending = world.random.below(3);
    world.processes(ending != 0);
    let phases = world.history.processes.iter().map(|process| process.phase).max().unwrap_or(0);
    let mut budget = 1 + world.random.below(7);
    let mut earlier = world.model.clone();
    for phase in 0..=phases {
        let spent = if phase == phases { budget } else { world.random.below(budget + 1) };
        budget -= spent;
        world.run(phase, spent, &mut earlier);
    }
    let World { mut history, model, .. } = world;
    history.end = match ending {
        0 => None,
        1 => Some(Snapshot { rows: rows(&model), is_final: true }),
        _ => Some(Snapshot { rows: rows(&earlier), is_final: false }),
    };
    if !history.is_ordered {
        forget_order(&mut history);
    }
    in_order(history)
}

impl<'a> World<'a> {
    fn new(random: &'a mut Random) -> Self {
        let history = History {
            is_ordered: random.one_in(2),
            starts_empty: true,
            ids: random.pick(&[EffectIds::Dense, EffectIds::Increasing, EffectIds::Opaque]),
            binds_arguments: random.one_in(12),
            ..History::default()
        };
        let is_partial = random.one_in(3);
        let operations = 1 + random.below(3);
        let modes = OPERATIONS
            .iter()
            .map(|_| if is_partial && random.one_in(2) { Mode::Partial } else { Mode::Atomic })
            .take(operations)
            .collect();
        Self {
            loss: random.pick(&[2, 2, 3, 6]),
            is_plain: random.one_in(2),
            is_timed: random.one_in(3),
            random,
            history,
            model: Model::new(BACKEND),
            connections: Vec::new(),
            flights: Vec::new(),
            tokens: Vec::new(),
            crashed: Vec::new(),
            modes,
            now: 0,
        }
    }

    fn processes(&mut self, others: bool) {
        let count = 1 + self.random.below(4);
        let phases = 1 + self.random.below(2);
        for at in 0..count {
            let phase = if at == 0 { 0 } else { self.random.below(phases) };
            let is_bob = self.is_odd(4);
            let is_other = others && self.is_odd(8);
            self.history.processes.push(Process {
                name: format!("p{at}").into(),
                phase: u32::try_from(phase).expect("few phases"),
                principal: if is_bob { "bob".into() } else { "alice".into() },
                backend: if is_other { "sqlite:other".into() } else { BACKEND.into() },
                clock: Some(if self.is_timed { self.random.pick(&[NOW, NOW, 110, 120, 130]) } else { NOW }),
                exit: None,
                ended: None,
            });
            self.connections.push(u32::try_from(at).expect("few processes"));
        }
        if count < 3 && self.random.one_in(2) {
            self.connections.push(u32::try_from(self.random.below(count)).expect("few processes"));
        }
    }

    /// True once in so many times, if odd things are sent at all.
    fn is_odd(&mut self, times: usize) -> bool {
        !self.is_plain && self.random.one_in(times)
    }

    fn tick(&mut self) -> u64 {
        self.now += APART;
        self.now
    }

    /// Runs the processes of a phase until as many calls are sent, and all are answered or lost.
    fn run(&mut self, phase: u32, mut budget: usize, earlier: &mut Model) {
        let of_phase = |world: &Self, at: u32| world.history.processes[at as usize].phase == phase;
        loop {
            let live: Vec<usize> = (0..self.connections.len())
                .filter(|at| of_phase(self, self.connections[*at]) && !self.crashed.contains(&self.connections[*at]))
                .collect();
            if live.is_empty() {
                break;
            }
            let waits = self.flights.iter().any(|flight| !flight.is_lost);
            if budget == 0 && !waits && (self.flights.is_empty() || self.random.one_in(3)) {
                break;
            }
            match self.random.below(12) {
                0..=3 if budget > 0 => {
                    let connection = self.random.pick(&live);
                    if self.send(connection) {
                        budget -= 1;
                    }
                }
                0..=10 if !self.flights.is_empty() => {
                    let at = self.random.below(self.flights.len());
                    self.go_on(at);
                }
                11 if self.random.one_in(6) => {
                    let at = self.connections[self.random.pick(&live)];
                    self.stop(at);
                }
                _ => {}
            }
            if self.random.one_in(6) {
                *earlier = self.model.clone();
            }
        }
        for at in 0..u32::try_from(self.history.processes.len()).expect("few processes") {
            if of_phase(self, at) && !self.crashed.contains(&at) {
                self.stop(at);
            }
        }
    }

    /// The process ends; what it was about to answer is lost.
    fn stop(&mut self, at: u32) {
        self.crashed.push(at);
        let ended = self.tick();
        if !self.random.one_in(3) {
            self.history.processes[at as usize].ended = Some(ended);
        }
        let calls = &self.history.calls;
        self.flights.retain(|flight| calls[flight.call].process != at);
    }

    /// Sends a call. Says whether it is more than a first round.
    fn send(&mut self, connection: usize) -> bool {
        let process = self.connections[connection];
        let firsts = self.history.calls.iter().filter(|call| matches!(call.ask, Ask::FirstRound { .. })).count();
        let operation = OPERATIONS[self.random.below(self.modes.len())];
        let ask = match self.random.below(20) {
            0..=5 => Ask::Status { operation: operation.into() },
            6..=8 if firsts < MOST_FIRST_ROUNDS => Ask::FirstRound { operation: operation.into() },
            _ if !self.tokens.is_empty() => self.write(),
            _ if firsts < MOST_FIRST_ROUNDS => Ask::FirstRound { operation: operation.into() },
            _ => Ask::Status { operation: operation.into() },
        };
        let is_first = matches!(ask, Ask::FirstRound { .. });
        let is_lost = match &ask {
            Ask::Write(_) => self.random.one_in(self.loss),
            Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => self.random.one_in(20),
        };
        let sent = self.tick();
        let line = u64::try_from(self.history.calls.len()).expect("few calls");
        self.flights.push(Flight { call: self.history.calls.len(), is_lost, at: Progress::Sent });
        self.history.calls.push(Call {
            process,
            connection: u32::try_from(connection).expect("few connections"),
            ask,
            told: None,
            sent,
            received: None,
            id: line.to_string().into(),
            request: At { file: 0, line },
            reply: None,
        });
        !is_first
    }

    /// A continuation of some first round, mostly as it should be.
    fn write(&mut self) -> Ask {
        let token = self.random.pick(&self.tokens);
        let first = &self.history.calls[token];
        let Ask::FirstRound { operation: own } = first.ask.clone() else { panic!("a first round gives a token") };
        let issued_at = process(&self.history, first).clock.expect("clocks are known");
        let operation = if self.is_odd(12) { self.random.pick(&OPERATIONS).into() } else { own };
        let usual = OPERATIONS.iter().position(|name| **name == *operation).and_then(|at| self.modes.get(at)).copied();
        let mode = match (usual, self.is_odd(12)) {
            (Some(mode), false) => mode,
            (Some(Mode::Atomic), true) => Mode::Partial,
            (Some(Mode::Partial), true) | (None, _) => Mode::Atomic,
        };
        let arguments = u32::from(mode == Mode::Partial) + if self.is_odd(12) { 2 } else { 0 };
        let altered = self.is_odd(16);
        let issued = u32::try_from(token).expect("few calls");
        let state = if altered {
            State { token: 1000 + issued, issued: None, inner: None, altered }
        } else {
            State { token: issued, issued: Some(issued), inner: None, altered }
        };
        let form = match self.random.below(32) {
            _ if self.is_plain => Form::Sound,
            0 => Form::WithoutState,
            1 => Form::WithoutResponses,
            2 => Form::WithoutAnswer,
            3 => Form::NotAccepted,
            _ => Form::Sound,
        };
        let timing = self.timing(token, issued_at);
        let parts = Parts { tool: 1, arguments, responses: 1 + u32::from(self.random.one_in(4)), state };
        Ask::Write(Write { operation, form, mode, parts, timing: (form != Form::WithoutState).then_some(timing) })
    }

    /// The deadlines of a token: the same each time.
    fn timing(&mut self, token: usize, issued_at: i64) -> Timing {
        let mut own = Random::new(u64::try_from(token).expect("few calls") + (self.loss as u64) * 64);
        let is_timed = self.is_timed;
        let mut deadline = |choices: &[i64]| {
            let chosen = own.pick(choices);
            (is_timed && chosen != 0).then_some(issued_at + chosen)
        };
        Timing {
            issued_at,
            authority_expires_at: deadline(&[0, 5, 15, 25, 5, 15, 25, 90, -1]),
            replay_expires_at: deadline(&[0, 5, 15, 25, 5, 15, 25, 90, -1]),
            state_expires_at: deadline(&[0, 0, 15, 25, 90]),
        }
    }

    /// One thing happens to a call that was sent.
    fn go_on(&mut self, at: usize) {
        let Flight { call, is_lost, .. } = self.flights[at];
        let told = match &self.flights[at].at {
            Progress::Sent if is_lost && self.random.one_in(4) => return self.lose(at),
            Progress::Sent => self.answer(call),
            Progress::Running => self.step(call),
            Progress::Answered(_) if is_lost => return self.lose(at),
            Progress::Answered(told) => {
                let told = told.clone();
                return self.deliver(at, told);
            }
        };
        self.flights[at].at = told.map_or(Progress::Running, Progress::Answered);
    }

    fn deliver(&mut self, at: usize, told: Told) {
        let call = self.flights.remove(at).call;
        let received = self.tick();
        let call_at = &mut self.history.calls[call];
        call_at.reply = Some(call_at.request);
        call_at.received = Some(received);
        if matches!(call_at.ask, Ask::FirstRound { .. }) && told != Told::Unrecognized {
            self.tokens.push(call);
        }
        call_at.told = Some(told);
    }

    fn lose(&mut self, at: usize) {
        if self.random.one_in(4) {
            self.deliver(at, Told::Unrecognized);
        } else {
            self.flights.remove(at);
        }
    }

    /// What is answered; nothing where steps follow first.
    fn answer(&mut self, at: usize) -> Option<Told> {
        let call = self.history.calls[at].clone();
        let caller = caller(&self.history, &call);
        match &call.ask {
            Ask::FirstRound { .. } => Some(Told::InputRequired { token: u32::try_from(at).ok() }),
            Ask::Status { operation } => {
                let shown = self
                    .model
                    .status(caller, operation)
                    .map(|row| (row.stage.observed(), i64::try_from(row.effect).expect("ids are small"), row.result()));
                let shown = shown.as_ref().map(|(state, id, result)| (*state, *id, result.as_deref().unwrap_or("")));
                Some(Told::Status(Box::new(observation(operation, caller.principal, caller.backend, shown))))
            }
            Ask::Write(write) if !reaches_ledger(&self.history, &call) => Some(refused_before(write, caller.now)),
            Ask::Write(_) if self.history.binds_arguments && self.random.one_in(4) => Some(Told::StateRejected),
            Ask::Write(write) => {
                let id = self.id();
                let answer = self.model.write(super::caller(&self.history, &call), write, id);
                let row = self.model.rows.get(&write.operation);
                match answer {
                    Answer::Refused(refusal) => Some(Told::Refused(refusal)),
                    Answer::Stored => row.map(|row| effect(&write.operation, row, true)),
                    Answer::Committed => {
                        row.filter(|row| row.stage.is_terminal()).map(|row| effect(&write.operation, row, false))
                    }
                }
            }
            Ask::Other => Some(Told::Other),
        }
    }

    fn step(&mut self, at: usize) -> Option<Told> {
        let Ask::Write(write) = self.history.calls[at].ask.clone() else { panic!("a write has steps") };
        let stage = self.random.pick(self.model.rows[&write.operation].stage.next());
        assert!(self.model.advance(&write.operation, stage), "a next stage follows");
        stage.is_terminal().then(|| effect(&write.operation, &self.model.rows[&write.operation], false))
    }

    fn id(&mut self) -> u64 {
        match self.history.ids {
            EffectIds::Dense => self.model.last + 1,
            EffectIds::Increasing => self.model.last + self.random.pick(&[1, 1, 1, 2, 3]),
            EffectIds::Opaque => {
                let is_free = |id: &u64| self.model.rows.values().all(|row| row.effect != *id);
                let free: Vec<u64> = (1..=6).filter(is_free).collect();
                self.random.pick(&free)
            }
        }
    }
}

/// What a write is told that doesn't reach the ledger.
fn refused_before(write: &Write, now: i64) -> Told {
    let late = write.timing.and_then(|timing| timing.authority_expires_at).is_some_and(|at| now >= at);
    match write.form {
        Form::Sound => Told::StateRejected,
        Form::WithoutState | Form::WithoutResponses => Told::Refused(Refusal::Unsupported),
        Form::NotAccepted => Told::Refused(Refusal::NotAccepted),
        Form::WithoutAnswer if late => Told::Refused(Refusal::AuthorityExpired),
        Form::WithoutAnswer => Told::InputRequired { token: None },
    }
}

/// Each connection counts its frames for itself.
fn forget_order(history: &mut History) {
    history.processes.iter_mut().for_each(|process| process.ended = None);
    let frames: Vec<(u32, u64)> = history
        .calls
        .iter()
        .flat_map(|call| std::iter::once(call.sent).chain(call.received).map(|at| (call.connection, at)))
        .collect();
    let rank = |connection: u32, at: u64| {
        let earlier = frames.iter().filter(|frame| frame.0 == connection && frame.1 <= at).count();
        u64::try_from(earlier).expect("few frames") * APART
    };
    for call in &mut history.calls {
        call.sent = rank(call.connection, call.sent);
        call.received = call.received.map(|at| rank(call.connection, at));
    }
}

/// The calls in the order of connections and of their sending.
pub(crate) fn in_order(mut history: History) -> History {
    let mut order: Vec<usize> = (0..history.calls.len()).collect();
    order.sort_by_key(|at| (history.calls[*at].connection, history.calls[*at].sent));
    let place = |old: u32| order.iter().position(|at| *at == old as usize).and_then(|at| u32::try_from(at).ok());
    let mut calls: Vec<Call> = order.iter().map(|at| history.calls[*at].clone()).collect();
    for call in &mut calls {
        if let Ask::Write(write) = &mut call.ask {
            write.parts.state.issued = write.parts.state.issued.and_then(place);
        }
    }
    history.calls = calls;
    history
}

// ---- rows ----

fn rows(model: &Model) -> Rows {
    let operations = model.rows.iter().map(|(operation, bound)| row(model, operation, bound)).collect();
    let mut ids: Vec<i64> = model.rows.values().filter_map(|bound| i64::try_from(bound.effect).ok()).collect();
    ids.sort_unstable();
    let issues = ids.into_iter().map(|id| Issue { id, title: String::new(), body: String::new() }).collect();
    with_steps(Rows { backend: Some(BACKEND.into()), operations, issues, ..Rows::default() })
}

/// With what the rows leave in the other tables.
pub(crate) fn with_steps(mut rows: Rows) -> Rows {
    rows.watchers.clear();
    rows.compensations.clear();
    rows.events.clear();
    for row in &rows.operations {
        let Some(issue) = row.effect else { continue };
        let result = row.result.as_deref().unwrap_or("");
        let mut event = |step: &str, outcome: &str| {
            let error = (outcome == "failed").then(|| "RuntimeError".to_owned());
            rows.events.push(Event {
                operation: row.operation.clone(),
                step: step.into(),
                outcome: outcome.into(),
                error,
            });
        };
        if row.state == Some(OperationState::Partial) {
            let rollback = if result.ends_with("failed") { "failed" } else { "succeeded" };
            event("watcher", "attempted");
            event("watcher", "failed");
            event("rollback_issue", "attempted");
            event("rollback_issue", rollback);
            let outcome = if rollback == "failed" { "failed:RuntimeError" } else { rollback };
            rows.compensations.push(Compensation { issue, kind: "rollback_issue".into(), outcome: outcome.into() });
        } else if result.ends_with(" with watcher") {
            event("watcher", "attempted");
            event("watcher", "succeeded");
            rows.watchers.push(Watcher { issue, name: "watcher".into() });
        }
    }
    rows.watchers.sort();
    rows
}
