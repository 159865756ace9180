//! Owns `exhibit show`.
//!
//! Refuses to write to a terminal what could move its cursor. Invariant: standard output gets the file's bytes and
//! nothing else, and not one of them where something was found.

use std::io::{self, BufRead as _, BufReader, IsTerminal as _, Read, Write};
use std::path::PathBuf;

use super::Outcome;
use super::progress::Progress;
use crate::archive::{Shown, show};
use crate::error::Error;
use crate::limits::Limits;
use crate::report::{escape_line, write_complaint, write_findings};

#[derive(Debug, clap::Args)]
pub(super) struct Arguments {
    /// The release or archive, or any tree: a ZIP file or a folder
    file: PathBuf,
    /// The file's name from the tree's root, without a ZIP's root folder
    path: String,
}

/// Bytes read at a time. A line that is longer is shown in pieces, and never held whole.
const CHUNK: usize = 1 << 16;

pub(super) fn run(arguments: &Arguments, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Outcome> {
    run_on(arguments, io::stdout().is_terminal(), out, err)
}

fn run_on(arguments: &Arguments, terminal: bool, out: &mut dyn Write, err: &mut dyn Write) -> io::Result<Outcome> {
    let progress = Progress::new();
    let shown = show(&arguments.file, &arguments.path, &Limits::default(), &|step| progress.step(step));
    drop(progress);
    let shown = match shown {
        Ok(shown) => shown,
        Err(error) => return write_complaint(err, &error).map(|()| Outcome::CouldNotCheck),
    };
    if !shown.findings.none_broken() {
        return write_findings(err, &shown.findings).map(|()| Outcome::Findings);
    }
    let written = if terminal { write_escaped(&shown, &arguments.path, out) } else { write_exact(&shown, out) };
    match written {
        Ok(()) => Ok(Outcome::Held),
        Err(Stopped::Closed(error)) => Err(error),
        Err(Stopped::Unreadable(error)) => write_complaint(err, &error).map(|()| Outcome::CouldNotCheck),
    }
}

/// Why a content did not come out whole.
enum Stopped {
    /// Its reader has gone.
    Closed(io::Error),
    /// It could not be read, or is not for a terminal.
    Unreadable(Error),
}

fn write_exact(shown: &Shown, out: &mut dyn Write) -> Result<(), Stopped> {
    each_chunk(shown, |bytes| out.write_all(bytes).map_err(Stopped::Closed))
}

/// Hands out the content in pieces.
fn each_chunk(shown: &Shown, mut take: impl FnMut(&[u8]) -> Result<(), Stopped>) -> Result<(), Stopped> {
    let mut content = shown.open().map_err(Stopped::Unreadable)?;
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = content.read(&mut buffer).map_err(|error| unreadable(shown, error))?;
        if count == 0 {
            return Ok(());
        }
        take(buffer.get(..count).unwrap_or_default())?;
    }
}

fn unreadable(shown: &Shown, error: io::Error) -> Stopped {
    Stopped::Unreadable(Error::io("read", &shown.path())(error))
}

/// Text for a person: line by line, with what doesn't show written as escapes.
fn write_escaped(shown: &Shown, name: &str, out: &mut dyn Write) -> Result<(), Stopped> {
    if !is_text(shown)? {
        let message =
            format!("{name} is not text, so it isn't written to a terminal: send it to a file, with `> FILE`");
        return Err(Stopped::Unreadable(Error::Usage(message)));
    }
    let mut lines = BufReader::with_capacity(CHUNK, shown.open().map_err(Stopped::Unreadable)?);
    let mut piece = Vec::new();
    loop {
        let taken = (&mut lines).take(CHUNK as u64).read_until(b'\n', &mut piece);
        let taken = taken.map_err(|error| unreadable(shown, error))?;
        // A character that the piece's end cuts is shown with the next one.
        let whole = std::str::from_utf8(&piece).map_or_else(|fault| fault.valid_up_to(), str::len);
        let rest = piece.split_off(if taken == 0 { piece.len() } else { whole });
        let text = String::from_utf8(std::mem::replace(&mut piece, rest)).unwrap_or_default();
        let (line, end) = text.strip_suffix('\n').map_or((text.as_str(), ""), |line| (line, "\n"));
        write!(out, "{}{end}", escape_line(line)).map_err(Stopped::Closed)?;
        if taken == 0 {
            return Ok(());
        }
    }
}

/// Whether the whole content is UTF-8 without NUL.
fn is_text(shown: &Shown) -> Result<bool, Stopped> {
    let (mut text, mut rest) = (true, Vec::new());
    each_chunk(shown, |bytes| {
        rest.extend_from_slice(bytes);
        let whole = match std::str::from_utf8(&rest) {
            Ok(whole) => whole.len(),
            Err(fault) => {
                text &= fault.error_len().is_none();
                fault.valid_up_to()
            }
        };
        text &= !rest.contains(&0);
        if text {
            rest.drain(..whole);
        } else {
            rest.clear();
        }
        Ok(())
    })?;
    Ok(text && rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn on_terminal(content: &[u8]) -> (Outcome, String, String) {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("a"), content).unwrap();
        let arguments = Arguments { file: folder.path().to_path_buf(), path: "a".to_owned() };
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let outcome = run_on(&arguments, true, &mut out, &mut err).unwrap();
        (outcome, String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[test]
    fn a_terminal_gets_text_without_controls() {
        let (outcome, out, err) = on_terminal("a\tb\n\u{1b}[2Jc\r\n\u{202e}d\\\ne".as_bytes());
        assert_eq!((outcome, err.as_str()), (Outcome::Held, ""));
        assert_eq!(out, "a\tb\n\\u{1b}[2Jc\\u{d}\n\\u{202e}d\\\\\ne");
        assert_eq!(on_terminal(b"").1, "");
    }

    #[test]
    fn text_longer_than_a_piece_stays_whole() {
        // Characters of three bytes, so that each piece's end cuts one.
        let text = format!("{}\nend", "\u{20ac}".repeat(CHUNK));
        let (outcome, out, _) = on_terminal(text.as_bytes());
        assert_eq!((outcome, out == text), (Outcome::Held, true));
    }

    #[test]
    fn a_terminal_gets_nothing_of_what_is_not_text() {
        for content in [&b"a\0b"[..], b"a\xffb", b"a\xe2\x82"] {
            let (outcome, out, err) = on_terminal(content);
            assert_eq!((outcome, out.as_str()), (Outcome::CouldNotCheck, ""));
            assert!(err.contains("> FILE") && err.lines().count() == 1, "{err}");
        }
    }
}
