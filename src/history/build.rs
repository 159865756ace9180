//! Owns making a history of transcripts.
//!
//! Refuses to order what nothing orders: connections of different transcripts compare only where one recorder's sequence
//! numbers say so. Invariant: what a history takes from its context and not from a line is as the caller asserted it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::BufRead;

use super::{At, Call, History, Process, Snapshot};
use crate::dialect::{Dialect, Interner, Opened, Origins};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::Findings;
use crate::ledger::{Ask, Told};
use crate::limits::Limits;
use crate::transcript::{self, Direction, Entry, EventKind, Form, Kind, Message, Transcript};

/// Opens a transcript at its start.
pub type Open<'a> = Box<dyn Fn() -> Result<Box<dyn BufRead + 'a>, Error> + 'a>;

/// A transcript that can be opened, more than once.
pub struct Source<'a> {
    /// How findings name it.
    pub name: &'a str,
    /// The process that a historical transcript is of. Where [`Context::processes`] has none of that name, it is one of
    /// which nothing else is known.
    pub process: &'a str,
    /// Opens it at its start.
    pub open: Open<'a>,
}

/// What is known of transcripts besides what stands in them. The default is nothing.
#[derive(Debug, Clone, Default)]
pub struct Context {
    /// The processes that served the store, by the names that transcripts give. Others are of phase 0.
    pub processes: Vec<Process>,
    /// Every transcript of the store is there. Then a token that no reply issued is no issued token.
    pub is_whole: bool,
    /// One recorder wrote them all, so that their sequence numbers compare.
    pub one_recorder: bool,
    /// The store held nothing at the start.
    pub starts_empty: bool,
    /// The store at the end.
    pub end: Option<Snapshot>,
}

/// A history with what was found on the way.
#[derive(Debug)]
pub struct Built {
    /// The history. Where there are findings it is not all that happened.
    pub history: History,
    /// What is known of each transcript.
    pub transcripts: Vec<Transcript>,
    /// What is wrong with the transcripts.
    pub findings: Findings,
    /// Replies that the dialect knows, to what is a matter of the ledger.
    pub recognized: u64,
    /// Replies that it doesn't know.
    pub unrecognized: u64,
    /// What became of tokens under the state's key; all nothing where the dialect has none.
    pub opened: Opened,
    /// The fingerprint of each call, numbered like [`History::calls`]: none where it isn't that of a continuation on the
    /// ledger or can't be recomputed. Empty where the dialect has no key of fingerprints.
    pub fingerprints: Vec<Option<Sha256>>,
}

/// Which dialects fit transcripts; numbers of those given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fit {
    /// Just this one knows every reply.
    One(usize),
    /// These do, and nothing tells them apart.
    Several(Vec<usize>),
    /// None does. For each: how many replies it knows and doesn't know.
    None(Vec<(u64, u64)>),
}

/// Makes a history of transcripts.
///
/// # Errors
/// A transcript can't be read, or is of a version that isn't known.
pub fn of_transcripts(
    sources: &[Source<'_>],
    dialect: &Dialect,
    context: &Context,
    limits: &Limits,
) -> Result<Built, Error> {
    let mut building = Building {
        dialect,
        interner: Interner::default(),
        calls: Vec::new(),
        processes: context.processes.clone(),
        known: context.processes.len(),
        names: (0..).zip(&context.processes).map(|(number, process)| (process.name.clone(), number)).collect(),
        connections: 0,
    };
    let mut transcripts = Vec::new();
    let mut findings = Findings::new(limits.max_findings);
    for (file, source) in (0..).zip(sources) {
        let transcript = building.read(file, source, limits)?;
        findings.append(transcript.findings.clone());
        transcripts.push(transcript);
    }
    Ok(building.end(context, transcripts, findings))
}

/// Which of `dialects` fit the transcripts: it knows every reply to a write, its first round or a status, and there are such.
///
/// # Errors
/// As [`of_transcripts`].
pub fn fit(sources: &[Source<'_>], dialects: &[Dialect], limits: &Limits) -> Result<Fit, Error> {
    let mut counts = Vec::new();
    for dialect in dialects {
        let built = of_transcripts(sources, dialect, &Context::default(), limits)?;
        counts.push((built.recognized, built.unrecognized));
    }
    let fits = |(_, count): &(usize, &(u64, u64))| count.0 > 0 && count.1 == 0;
    let fitting: Vec<usize> = counts.iter().enumerate().filter(fits).map(|(index, _)| index).collect();
    Ok(match fitting.as_slice() {
        [] => Fit::None(counts),
        [one] => Fit::One(*one),
        [_, _, ..] => Fit::Several(fitting),
    })
}

struct Building<'a> {
    dialect: &'a Dialect,
    interner: Interner,
    calls: Vec<Call>,
    processes: Vec<Process>,
    /// How many of the processes the caller named.
    known: usize,
    /// Those that are known by name.
    names: BTreeMap<Box<str>, u32>,
    connections: u32,
}

impl Building<'_> {
    fn read(&mut self, file: u32, source: &Source<'_>, limits: &Limits) -> Result<Transcript, Error> {
        let mut of_file = File { number: file, first: self.connections, calls: Vec::new(), ends: Vec::new() };
        let start = self.calls.len();
        let reader = (source.open)()?;
        let transcript = transcript::read(reader, source.name, limits, &mut |entry| match entry {
            Entry::Message(message) => self.message(&mut of_file, message),
            Entry::Event(event) => {
                if let EventKind::Exit(code) = event.kind {
                    of_file.ends.push((event.process, code, event.stamp.seq));
                }
            }
        })?;
        let names: Vec<&str> = match transcript.form {
            Form::Historical => vec![source.process],
            Form::Own => transcript.processes.iter().map(|name| &**name).collect(),
        };
        let processes: Vec<u32> = names.iter().map(|name| self.process(name, transcript.form)).collect();
        for call in self.calls.iter_mut().skip(start) {
            let local = call.connection.saturating_sub(of_file.first) as usize;
            let connection = transcript.connections.get(local);
            let process = connection.and_then(|connection| processes.get(connection.process as usize));
            call.process = process.copied().unwrap_or_default();
        }
        for (process, code, seq) in of_file.ends {
            let number = processes.get(process as usize).copied().unwrap_or_default();
            if let Some(process) = self.processes.get_mut(number as usize) {
                process.exit = process.exit.or(Some(code));
                process.ended = process.ended.or(Some(seq));
            }
        }
        let count = u32::try_from(transcript.connections.len()).unwrap_or(u32::MAX);
        self.connections = self.connections.saturating_add(count);
        Ok(transcript)
    }

    fn message(&mut self, file: &mut File, message: &Message<'_>) {
        let at = At { file: file.number, line: message.line };
        let when = message.stamp.map_or(message.line, |stamp| stamp.seq);
        match (message.kind, message.direction) {
            (Kind::Request { number }, Direction::ToServer) => {
                let ask = self.dialect.ask(message.body, &mut self.interner);
                file.calls.resize((number as usize).saturating_add(1), None);
                if let Some(slot) = file.calls.last_mut() {
                    *slot = Some(self.calls.len());
                }
                self.calls.push(Call {
                    process: 0,
                    connection: file.first.saturating_add(message.connection),
                    id: id_of(message),
                    ask,
                    told: None,
                    sent: when,
                    received: None,
                    request: at,
                    reply: None,
                });
            }
            (Kind::Reply { to: Some(number) }, Direction::ToClient) => {
                let index = file.calls.get(number as usize).copied().flatten();
                let Some(index) = index else { return };
                let Some(call) = self.calls.get_mut(index) else { return };
                let number = u32::try_from(index).unwrap_or(u32::MAX);
                call.told = Some(self.dialect.told(&call.ask, number, message.body, &mut self.interner));
                call.received = Some(when);
                call.reply = Some(at);
            }
            (Kind::Request { .. } | Kind::Reply { .. } | Kind::Notification, _) => {}
        }
    }

    /// The process of this name. One that the caller didn't name is another in each historical transcript.
    fn process(&mut self, name: &str, form: Form) -> u32 {
        if let Some(number) = self.names.get(name) {
            return *number;
        }
        let number = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        self.processes.push(Process {
            name: name.into(),
            phase: 0,
            principal: "".into(),
            backend: "".into(),
            clock: None,
            exit: None,
            ended: None,
        });
        if form == Form::Own {
            self.names.insert(name.into(), number);
        }
        number
    }

    fn end(mut self, context: &Context, transcripts: Vec<Transcript>, findings: Findings) -> Built {
        // Where each call stands once calls are sorted by connection.
        let mut order: Vec<usize> = (0..self.calls.len()).collect();
        order.sort_by_key(|index| self.calls.get(*index).map(|call| call.connection));
        let mut places = vec![0_u32; order.len()];
        for (place, index) in (0_u32..).zip(&order) {
            if let Some(slot) = places.get_mut(*index) {
                *slot = place;
            }
        }
        self.calls.sort_by_key(|call| call.connection);
        let origins = self.interner.origins();
        let (mut recognized, mut unrecognized) = (0_u64, 0_u64);
        for call in &mut self.calls {
            settle(&mut call.ask, &origins, context.is_whole, &places);
            match (&call.ask, &call.told) {
                (Ask::Other, _) | (_, None) => {}
                (_, Some(Told::Unrecognized)) => unrecognized = unrecognized.saturating_add(1),
                (_, Some(_)) => recognized = recognized.saturating_add(1),
            }
        }
        self.say_identities();
        let fingerprints = self.fingerprints();
        let opened = self.interner.opened();
        let is_ordered = is_ordered(&self.calls, &transcripts, context);
        let history = History {
            processes: self.processes,
            calls: self.calls,
            end: context.end.clone(),
            ids: self.dialect.effect_ids(),
            starts_empty: context.starts_empty,
            binds_arguments: self.dialect.binds_arguments(),
            is_ordered,
        };
        Built { history, transcripts, findings, recognized, unrecognized, opened, fingerprints }
    }

    /// The fingerprints of calls, where their key is there.
    fn fingerprints(&self) -> Vec<Option<Sha256>> {
        let Some(fingerprints) = self.dialect.fingerprints(&self.interner) else { return Vec::new() };
        let principal = |call: &Call| self.processes.get(call.process as usize).map(|process| &*process.principal);
        let of = |call: &Call| match &call.ask {
            Ask::Write(write) => fingerprints.of(write, principal(call)?),
            Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
        };
        self.calls.iter().map(of).collect()
    }

    /// Whom a process serves, and which backend it has, where the caller didn't say and every status that it gave agrees.
    fn say_identities(&mut self) {
        let mut told: BTreeMap<u32, BTreeSet<_>> = BTreeMap::new();
        for call in &self.calls {
            if let Some(Told::Status(status)) = &call.told {
                told.entry(call.process).or_default().insert((status.principal.clone(), status.backend.clone()));
            }
        }
        for (number, process) in (0_u32..).zip(&mut self.processes).skip(self.known) {
            let Some(seen) = told.get(&number) else { continue };
            if let (Some((Some(principal), Some(backend))), 1) = (seen.first(), seen.len()) {
                process.principal.clone_from(principal);
                process.backend.clone_from(backend);
            }
        }
    }
}

/// A request's id, as JSON.
fn id_of(message: &Message<'_>) -> Box<str> {
    let mut bytes = Vec::new();
    if let Some(id) = message.body.get("id") {
        id.canonical(&mut bytes);
    }
    String::from_utf8(bytes).unwrap_or_default().into()
}

/// What is gathered of one file.
struct File {
    number: u32,
    /// The number of its first connection.
    first: u32,
    /// The call that each of its requests is.
    calls: Vec<Option<usize>>,
    /// Exits: process, code, seq.
    ends: Vec<(u32, i32, u64)>,
}

fn settle(ask: &mut Ask, origins: &Origins, whole: bool, places: &[u32]) {
    match ask {
        Ask::Write(write) => {
            let state = origins.settle(write.parts.state, whole);
            let issued = state.issued.and_then(|call| places.get(call as usize)).copied();
            write.parts.state = crate::ledger::State { issued, ..state };
        }
        Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => {}
    }
}

/// Whether one order is known over all frames: each has a number of one recorder, and no number stands twice.
fn is_ordered(calls: &[Call], transcripts: &[Transcript], context: &Context) -> bool {
    let all_own = transcripts.iter().all(|transcript| transcript.form == Form::Own);
    if transcripts.is_empty() || !all_own || (transcripts.len() > 1 && !context.one_recorder) {
        return false;
    }
    let mut numbers: Vec<u64> = calls.iter().flat_map(|call| [Some(call.sent), call.received]).flatten().collect();
    numbers.sort_unstable();
    numbers.is_sorted_by(|a, b| a < b)
}

#[cfg(test)]
mod tests;
