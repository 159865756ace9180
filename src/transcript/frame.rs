//! Owns the lines of `exhibit-transcript/1`: frames and events.
//!
//! Refuses fields that are unknown, missing or of the wrong type, and a frame in base64 that is text. Invariant: a frame
//! is given as it went over the wire.

use std::borrow::Cow;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::{Direction, EventKind, Stamp};
use crate::form::MAX_INTEGER;
use crate::json::View;

/// A line of the program's own form.
#[derive(Debug)]
pub(super) struct Line<'a> {
    pub(super) stamp: Stamp,
    pub(super) process: &'a str,
    pub(super) what: What<'a>,
}

/// What it holds.
#[derive(Debug)]
pub(super) enum What<'a> {
    Frame { connection: u64, direction: Direction, raw: Cow<'a, [u8]> },
    Event { connection: Option<u64>, kind: EventKind },
}

#[derive(Default)]
struct Fields<'a> {
    seq: Option<View<'a>>,
    t_ns: Option<View<'a>>,
    process: Option<View<'a>>,
    connection: Option<View<'a>>,
    dir: Option<View<'a>>,
    raw: Option<View<'a>>,
    raw_base64: Option<View<'a>>,
    event: Option<View<'a>>,
    code: Option<View<'a>>,
    signal: Option<View<'a>>,
}

/// Whether the first line says that the transcript is of the program's own form: the format that it names.
pub(super) fn format(head: View<'_>) -> Option<&str> {
    head.get("format").and_then(View::text)
}

/// Takes a line apart, or says what is wrong with it.
pub(super) fn line(view: View<'_>) -> Result<Line<'_>, String> {
    if !view.is_object() {
        return Err("it is no object".to_owned());
    }
    let mut fields = Fields::default();
    for (key, value) in view.fields() {
        let slot = match key {
            "seq" => &mut fields.seq,
            "t_ns" => &mut fields.t_ns,
            "process" => &mut fields.process,
            "connection" => &mut fields.connection,
            "dir" => &mut fields.dir,
            "raw" => &mut fields.raw,
            "raw_base64" => &mut fields.raw_base64,
            "event" => &mut fields.event,
            "code" => &mut fields.code,
            "signal" => &mut fields.signal,
            other => return Err(crate::document::shown(&format!("the field {other:?} is unknown"))),
        };
        *slot = Some(value);
    }
    let stamp = Stamp { seq: count(fields.seq, "seq")?, t_ns: count(fields.t_ns, "t_ns")? };
    let process = fields.process.and_then(View::text).filter(|name| !name.is_empty());
    let process = process.ok_or("process is no text, or empty")?;
    let what = match fields.event {
        Some(_) => event(&fields)?,
        None => frame(&fields)?,
    };
    Ok(Line { stamp, process, what })
}

fn frame<'a>(fields: &Fields<'a>) -> Result<What<'a>, String> {
    if fields.code.is_some() || fields.signal.is_some() {
        return Err("a frame has no code and no signal".to_owned());
    }
    let connection = count(fields.connection, "connection")?;
    let direction = match fields.dir.and_then(View::text) {
        Some("to_server") => Direction::ToServer,
        Some("to_client") => Direction::ToClient,
        _ => return Err("it is neither event nor frame: dir is not to_server or to_client".to_owned()),
    };
    let raw = match (fields.raw, fields.raw_base64) {
        (Some(raw), None) => Cow::Borrowed(raw.text().ok_or("raw is no text")?.as_bytes()),
        (None, Some(encoded)) => {
            let encoded = encoded.text().ok_or("raw_base64 is no text")?;
            let bytes = STANDARD.decode(encoded).map_err(|_| "raw_base64 is not base64 with padding")?;
            if std::str::from_utf8(&bytes).is_ok() {
                return Err("raw_base64 is UTF-8 text, which stands in raw".to_owned());
            }
            Cow::Owned(bytes)
        }
        (_, _) => return Err("a frame has either raw or raw_base64".to_owned()),
    };
    Ok(What::Frame { connection, direction, raw })
}

fn event<'a>(fields: &Fields<'a>) -> Result<What<'a>, String> {
    if fields.dir.is_some() || fields.raw.is_some() || fields.raw_base64.is_some() {
        return Err("an event has no dir and no raw".to_owned());
    }
    let name = fields.event.and_then(View::text).unwrap_or_default();
    let number = |field: Option<View<'a>>| {
        field
            .and_then(View::integer)
            .and_then(|number| i32::try_from(number).ok())
            .ok_or("its code or signal is missing, or no whole number")
    };
    let kind = match name {
        "spawn" => EventKind::Spawn,
        "ready" => EventKind::Ready,
        "barrier" => EventKind::Barrier,
        "eof" => EventKind::Eof,
        "deadline" => EventKind::Deadline,
        "signal" => EventKind::Signal(number(fields.signal)?),
        "exit" => EventKind::Exit(number(fields.code)?),
        _ => return Err(crate::document::shown(&format!("the event {name:?} is unknown"))),
    };
    let (code, signal) = (matches!(kind, EventKind::Exit(_)), matches!(kind, EventKind::Signal(_)));
    if fields.code.is_some() != code || fields.signal.is_some() != signal {
        return Err("only an exit has a code, only a signal a signal".to_owned());
    }
    let connection = fields.connection.map(|given| count(Some(given), "connection")).transpose()?;
    if connection.is_none() && matches!(kind, EventKind::Eof | EventKind::Deadline) {
        return Err("the end of a connection names the connection".to_owned());
    }
    Ok(What::Event { connection, kind })
}

fn count(field: Option<View<'_>>, name: &str) -> Result<u64, String> {
    let number = field.and_then(View::integer).and_then(|number| u64::try_from(number).ok());
    number
        .filter(|number| *number <= MAX_INTEGER)
        .ok_or_else(|| format!("{name} is no whole number from 0 to 2^53 - 1"))
}
