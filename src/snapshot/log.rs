//! Owns what a write-ahead log says before SQLite sees it: <https://www.sqlite.org/fileformat2.html#walformat>.
//!
//! Refuses a log whose head makes no sense, which SQLite would ignore as a whole, and one that commits after a damaged
//! frame, which SQLite would ignore from there: both without a word, and the rows would go back in time. Invariant:
//! what SQLite leaves out of a log that passes was never committed.

use std::fs::File;
use std::io::{BufReader, Read as _};

use super::copy::Copies;
use super::{Sidecar, Stop, fault};
use crate::error::Error;
use crate::finding::Code;
use crate::limits::Limits;

/// Bytes of the log's head and of a frame's.
const HEAD: usize = 32;
const FRAME_HEAD: usize = 24;

/// Starts the head; the last bit says that checksums are over big-endian words.
const MAGIC: u32 = 0x377f_0682;

/// The one version.
const VERSION: u32 = 3_007_000;

/// What a write-ahead log held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Log {
    /// Frames (a page each) that belong to committed transactions.
    pub committed: u64,
    /// Frames of a transaction that was never committed.
    pub uncommitted: u64,
}

/// The running checksum of a log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Sum {
    big_endian: bool,
    words: (u32, u32),
}

impl Sum {
    fn add(&mut self, bytes: &[u8]) {
        let (pairs, _) = bytes.as_chunks::<8>();
        for &[a, b, c, d, e, f, g, h] in pairs {
            let ([first, second], read) = ([[a, b, c, d], [e, f, g, h]], self.big_endian);
            let word = |bytes| if read { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) };
            self.words.0 = self.words.0.wrapping_add(word(first)).wrapping_add(self.words.1);
            self.words.1 = self.words.1.wrapping_add(word(second)).wrapping_add(self.words.0);
        }
    }

    fn is_at(&self, bytes: &[u8], at: usize) -> bool {
        self.words == (word(bytes, at), word(bytes, at.saturating_add(4)))
    }
}

/// Looks at the log, where there is one.
pub(super) fn examine(name: &str, copies: &Copies, limits: &Limits) -> Result<Option<Log>, Stop> {
    let Some((file, size)) = copies.open(Sidecar::Log)? else { return Ok(None) };
    if size == 0 {
        return Ok(Some(Log { committed: 0, uncommitted: 0 }));
    }
    Reader { name, input: BufReader::with_capacity(1 << 16, file), limits }.walk().map(Some)
}

struct Reader<'a> {
    name: &'a str,
    input: BufReader<File>,
    limits: &'a Limits,
}

impl Reader<'_> {
    fn refuse(&self, message: &str) -> Stop {
        fault(Code::DatabaseSidecar, self.name, format!("the write-ahead log {message}"))
    }

    /// The next bytes; false where the file ends before so many.
    fn fill(&mut self, buffer: &mut [u8]) -> Result<bool, Stop> {
        match self.input.read_exact(buffer) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == std::io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::io("read", self.name.as_ref())(error).into()),
        }
    }

    fn walk(mut self) -> Result<Log, Stop> {
        let mut head = [0; HEAD];
        if !self.fill(&mut head)? {
            return Err(self.refuse("has no whole head"));
        }
        let page = word(&head, 8);
        let mut sum = Sum { big_endian: word(&head, 0) & 1 == 1, words: (0, 0) };
        sum.add(head.get(..24).unwrap_or_default());
        let shaped = word(&head, 0) & !1 == MAGIC && word(&head, 4) == VERSION && sum.is_at(&head, 24);
        if !shaped || !page.is_power_of_two() || !(512..=1 << 16).contains(&page) {
            return Err(self.refuse("has no whole head, and SQLite would ignore it"));
        }
        let length = usize::try_from(page).map_err(|_| self.refuse("has pages that are too large"))?;
        let mut frame = vec![0; length.saturating_add(FRAME_HEAD)];
        let (mut log, mut broken) = (Log { committed: 0, uncommitted: 0 }, None);
        let mut number = 0_u64;
        while self.fill(&mut frame)? {
            number = number.saturating_add(1);
            let own = frame.get(8..16) == head.get(16..24);
            sum.add(frame.get(..8).unwrap_or_default());
            sum.add(frame.get(FRAME_HEAD..).unwrap_or_default());
            let sound = own && word(&frame, 0) > 0 && sum.is_at(&frame, 16);
            match broken {
                // What follows belongs to an earlier use of the log, or to a transaction that never ended: its writer
                // corrects the checksums of pages that it wrote twice only when it commits.
                Some(_) if !own || word(&frame, 4) == 0 => {
                    log.uncommitted = log.uncommitted.saturating_add(u64::from(own));
                }
                Some(first) => {
                    let message = format!("commits at frame {number}, after the damaged frame {first}");
                    return Err(self.refuse(&message));
                }
                None if !sound => {
                    broken = Some(number);
                    log.uncommitted = log.uncommitted.saturating_add(u64::from(own));
                }
                None => self.take(&mut log, word(&frame, 4), page)?,
            }
        }
        Ok(log)
    }

    /// A sound frame; `pages` isn't zero where it ends a transaction.
    fn take(&self, log: &mut Log, pages: u32, page: u32) -> Result<(), Stop> {
        log.uncommitted = log.uncommitted.saturating_add(1);
        if u64::from(pages).saturating_mul(page.into()) > self.limits.max_database {
            return Err(self.refuse(&format!("says that the database has {pages} pages of {page} bytes")));
        }
        if pages > 0 {
            log.committed = log.committed.saturating_add(std::mem::take(&mut log.uncommitted));
        }
        Ok(())
    }
}

/// The number there, big-endian.
fn word(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk::<4>).map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
