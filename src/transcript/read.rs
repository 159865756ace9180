//! Owns reading a transcript line by line.
//!
//! Refuses a newer version of the program's own form; every other fault is a finding, and reading goes on. Invariant: no
//! more of the transcript is in memory than one line, bounded by [`Limits::max_line`], and the ids of its requests.

use std::collections::BTreeMap;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

use super::frame::{self, What};
use super::message::{self, Sort};
use super::pair::{Pairing, Wrong};
use super::{Connection, Direction, Entry, Event, FORMAT, Form, Kind, Message, Stamp, Transcript};
use crate::document::is_newer;
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::json::{Fault, Tape};
use crate::limits::Limits;

/// Reads a transcript to its end. `name` stands for it in findings; `each` gets every message and event in order.
///
/// # Errors
/// It can't be read, or it is of a newer or another version of the program's own form.
pub fn read(
    mut reader: impl BufRead,
    name: &str,
    limits: &Limits,
    each: &mut dyn FnMut(&Entry<'_>),
) -> Result<Transcript, Error> {
    let mut reading = Reading::new(name, limits);
    let (mut outer, mut inner) = (Tape::default(), Tape::default());
    let mut bytes = Vec::new();
    loop {
        let length = next_line(&mut reader, &mut bytes, limits.max_line).map_err(Error::io("read", Path::new(name)))?;
        let Some(length) = length else { break };
        reading.transcript.lines = reading.transcript.lines.saturating_add(1);
        let is_first = reading.transcript.lines == 1;
        if let Length::Over = length {
            let message = format!("the line is longer than {} bytes", limits.max_line);
            reading.wrong(Code::TranscriptLine, message);
            continue;
        }
        let is_ended = bytes.last() == Some(&b'\n');
        if is_ended {
            bytes.pop();
        }
        let line = Line { bytes: &bytes, is_ended, limits };
        if is_first && line.bytes.first() == Some(&b'{') && reading.head(&line, &mut outer)? {
            continue;
        }
        let outcome = match reading.transcript.form {
            Form::Historical => reading.historical(&line, &mut inner, each),
            Form::Own => reading.own(&line, &mut outer, &mut inner, each),
        };
        if let Err((code, message)) = outcome {
            reading.wrong(code, message);
        }
    }
    Ok(reading.end())
}

enum Length {
    Within,
    Over,
}

/// Reads one line with its end, and passes over what is longer than `max` bytes. None is the end of the transcript.
fn next_line(reader: &mut impl BufRead, bytes: &mut Vec<u8>, max: usize) -> io::Result<Option<Length>> {
    bytes.clear();
    // The line's end doesn't count.
    let bound = (max as u64).saturating_add(1);
    let count = reader.by_ref().take(bound).read_until(b'\n', bytes)?;
    if count == 0 {
        return Ok(None);
    }
    if bytes.last() == Some(&b'\n') || bytes.len() <= max {
        return Ok(Some(Length::Within));
    }
    bytes.clear();
    reader.skip_until(b'\n')?;
    Ok(Some(Length::Over))
}

struct Line<'a> {
    bytes: &'a [u8],
    is_ended: bool,
    limits: &'a Limits,
}

impl<'a> Line<'a> {
    /// A fault of the JSON in it. On a last line that has no end, it is that the line was cut.
    fn fault(&self, fault: &Fault) -> Wrong {
        if fault.code == Code::JsonSyntax && !self.is_ended {
            return (Code::TranscriptTruncated, "the last line has no end and its JSON isn't whole".to_owned());
        }
        (fault.code, crate::document::shown(&fault.message))
    }

    fn text(&self, bytes: &'a [u8]) -> Result<&'a str, Wrong> {
        std::str::from_utf8(bytes).map_err(|_| self.fault(&syntax("it is not UTF-8")))
    }
}

fn syntax(message: &str) -> Fault {
    Fault { code: Code::JsonSyntax, pointer: String::new(), line: None, message: message.to_owned() }
}

/// One message as a line has it.
struct Raw<'a> {
    stamp: Option<Stamp>,
    connection: u32,
    direction: Direction,
    text: &'a str,
}

struct Reading<'a> {
    name: &'a str,
    max_depth: usize,
    transcript: Transcript,
    pairing: Pairing,
    processes: BTreeMap<Box<str>, u32>,
    connections: BTreeMap<Connection, u32>,
    last_seq: Option<u64>,
}

impl<'a> Reading<'a> {
    fn new(name: &'a str, limits: &Limits) -> Self {
        let transcript = Transcript {
            form: Form::Historical,
            lines: 0,
            processes: Vec::new(),
            connections: Vec::new(),
            requests: 0,
            replies: 0,
            notifications: 0,
            events: 0,
            lost: 0,
            findings: Findings::new(limits.max_findings),
        };
        Self {
            name,
            max_depth: limits.max_depth,
            transcript,
            pairing: Pairing::default(),
            processes: BTreeMap::new(),
            connections: BTreeMap::new(),
            last_seq: None,
        }
    }

    fn wrong(&mut self, code: Code, message: String) {
        let place = Place::entry(self.name).line(self.transcript.lines);
        self.transcript.findings.push(Finding::new(code, place, message));
    }

    fn end(mut self) -> Transcript {
        if self.transcript.form == Form::Historical && self.transcript.processes.is_empty() {
            let process = self.process("");
            self.connection(process, 0);
        }
        self.transcript.requests = self.pairing.requests();
        self.transcript.lost = self.pairing.lost();
        self.transcript
    }

    /// Whether the first line is the head of the program's own form.
    fn head(&mut self, line: &Line<'_>, tape: &mut Tape) -> Result<bool, Error> {
        let Ok(text) = std::str::from_utf8(line.bytes) else { return Ok(false) };
        let Ok(view) = tape.read(text, self.max_depth) else { return Ok(false) };
        let Some(format) = frame::format(view) else { return Ok(false) };
        if format != FORMAT {
            let advice = if is_newer(format, FORMAT) {
                "get a newer version of exhibit"
            } else {
                "give a transcript of the form that is known"
            };
            return Err(Error::UnknownFormat {
                place: self.name.to_owned(),
                found: crate::document::shown(format),
                known: FORMAT,
                advice,
            });
        }
        self.transcript.form = Form::Own;
        if view.fields().count() > 1 {
            self.wrong(Code::TranscriptLine, "the first line has more than the field format".to_owned());
        }
        Ok(true)
    }

    fn historical(&mut self, line: &Line<'_>, tape: &mut Tape, each: &mut dyn FnMut(&Entry<'_>)) -> Result<(), Wrong> {
        let (direction, json) = match line.bytes {
            [b'>', b' ', json @ ..] => (Direction::ToServer, json),
            [b'<', b' ', json @ ..] => (Direction::ToClient, json),
            [] | [b'>' | b'<'] if !line.is_ended => return Err(line.fault(&syntax("it is empty"))),
            _ => {
                let message = "the line starts with neither \"> \" nor \"< \"";
                return Err((Code::TranscriptLine, message.to_owned()));
            }
        };
        let process = self.process("");
        let connection = self.connection(process, 0);
        let raw = Raw { stamp: None, connection, direction, text: line.text(json)? };
        self.message(&raw, tape, each, &|fault| line.fault(fault))
    }

    fn own(
        &mut self,
        line: &Line<'_>,
        outer: &mut Tape,
        inner: &mut Tape,
        each: &mut dyn FnMut(&Entry<'_>),
    ) -> Result<(), Wrong> {
        let text = line.text(line.bytes)?;
        let view = outer.read(text, line.limits.max_depth).map_err(|fault| line.fault(&fault))?;
        let told = frame::line(view).map_err(|message| (Code::TranscriptLine, message))?;
        let stamp = told.stamp;
        if let Some(last) = self.last_seq.filter(|last| *last >= stamp.seq) {
            let message = format!("seq {} comes after seq {last}", stamp.seq);
            self.wrong(Code::TranscriptOrder, message);
        }
        self.last_seq = self.last_seq.max(Some(stamp.seq));
        let process = self.process(told.process);
        match told.what {
            What::Frame { connection, direction, raw } => {
                let connection = self.connection(process, connection);
                let text =
                    std::str::from_utf8(&raw).map_err(|_| (Code::JsonSyntax, "the frame is not UTF-8".to_owned()))?;
                let raw = Raw { stamp: Some(stamp), connection, direction, text };
                self.message(&raw, inner, each, &|fault| (fault.code, crate::document::shown(&fault.message)))
            }
            What::Event { connection, kind } => {
                let connection = connection.map(|number| self.connection(process, number));
                self.transcript.events = self.transcript.events.saturating_add(1);
                let line = self.transcript.lines;
                each(&Entry::Event(Event { line, stamp, process, connection, kind }));
                Ok(())
            }
        }
    }

    fn message(
        &mut self,
        raw: &Raw<'_>,
        tape: &mut Tape,
        each: &mut dyn FnMut(&Entry<'_>),
        fault: &dyn Fn(&Fault) -> Wrong,
    ) -> Result<(), Wrong> {
        let body = tape.read(raw.text, self.max_depth).map_err(|found| fault(&found))?;
        let sort = message::sort(body).map_err(|(code, message)| (code, message.to_owned()))?;
        let line = self.transcript.lines;
        let (kind, wrong) = match sort {
            Sort::Request(id) => {
                let (number, wrong) = self.pairing.request((raw.connection, raw.direction, id), line);
                (Kind::Request { number }, wrong)
            }
            Sort::Reply(id) => {
                self.transcript.replies = self.transcript.replies.saturating_add(1);
                match self.pairing.reply(&(raw.connection, raw.direction.back(), id), line) {
                    Ok(to) => (Kind::Reply { to }, None),
                    Err(wrong) => (Kind::Reply { to: None }, Some(wrong)),
                }
            }
            Sort::Notification => {
                self.transcript.notifications = self.transcript.notifications.saturating_add(1);
                (Kind::Notification, None)
            }
        };
        let (stamp, connection, direction) = (raw.stamp, raw.connection, raw.direction);
        each(&Entry::Message(Message { line, stamp, connection, direction, kind, body }));
        wrong.map_or(Ok(()), Err)
    }

    fn process(&mut self, name: &str) -> u32 {
        if let Some(number) = self.processes.get(name) {
            return *number;
        }
        let number = u32::try_from(self.processes.len()).unwrap_or(u32::MAX);
        self.processes.insert(name.into(), number);
        self.transcript.processes.push(name.into());
        number
    }

    fn connection(&mut self, process: u32, number: u64) -> u32 {
        let connection = Connection { process, number };
        if let Some(known) = self.connections.get(&connection) {
            return *known;
        }
        let known = u32::try_from(self.connections.len()).unwrap_or(u32::MAX);
        self.connections.insert(connection.clone(), known);
        self.transcript.connections.push(connection);
        known
    }
}
