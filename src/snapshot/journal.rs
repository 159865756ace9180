//! Owns what a rollback journal says before SQLite sees it: <https://www.sqlite.org/fileformat2.html#the_rollback_journal>.
//!
//! Refuses a journal that names a super-journal (whether it is rolled back would hang on a file of this machine), one whose
//! head makes no sense, and one that is cut short or damaged: SQLite ends its rollback there without a word. Invariant: a
//! journal that passes is either dropped whole or rolled back whole.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt as _;

use super::copy::Copies;
use super::{Sidecar, Stop, fault};
use crate::error::Error;
use crate::finding::Code;
use crate::limits::Limits;

/// Starts each head, and ends a journal that names a super-journal.
const MAGIC: [u8; 8] = [0xd9, 0xd5, 0x05, 0xf9, 0x20, 0xa1, 0x63, 0xd7];

/// Bytes of a head that say something.
const HEAD: usize = 28;

/// The number of records of a writer that doesn't sync: up to the end of the file.
const UNCOUNTED: u32 = u32::MAX;

/// The largest page and sector, by the file format.
const MAX_PAGE: u32 = 1 << 16;

/// What a rollback journal was.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Journal {
    /// Left behind by a transaction that ended: empty, or its head is zeroed.
    Stale,
    /// Of a transaction that was under way. It was undone in the copy.
    RolledBack {
        /// Pages that were put back.
        pages: u64,
    },
}

/// Looks at the journal, where there is one.
pub(super) fn examine(name: &str, copies: &Copies, limits: &Limits) -> Result<Option<Journal>, Stop> {
    let Some((file, size)) = copies.open(Sidecar::Journal)? else { return Ok(None) };
    let journal = Reader { name, file, size, limits };
    let mut first = [0];
    // SQLite's own rule: a journal is hot where its first byte is there and isn't zero.
    if size == 0 || (journal.fill(&mut first, 0)? && first == [0]) {
        return Ok(Some(Journal::Stale));
    }
    let mut tail = [0; MAGIC.len()];
    if journal.fill(&mut tail, size.saturating_sub(8))? && tail == MAGIC && size > 8 {
        let message = "the journal names a super-journal: whether to roll back would hang on a file outside";
        return Err(fault(Code::DatabaseSuperJournal, name, message));
    }
    Ok(Some(Journal::RolledBack { pages: journal.walk()? }))
}

struct Reader<'a> {
    name: &'a str,
    file: File,
    size: u64,
    limits: &'a Limits,
}

/// What the first head fixes for the others.
struct Shape {
    sector: u64,
    page: usize,
}

impl Reader<'_> {
    /// Fills the buffer from there; false where the file ends before.
    fn fill(&self, buffer: &mut [u8], at: u64) -> Result<bool, Stop> {
        match self.file.read_exact_at(buffer, at) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
            Err(error) => Err(Error::io("read", self.name.as_ref())(error).into()),
        }
    }

    fn refuse(&self, message: &str) -> Stop {
        fault(Code::DatabaseSidecar, self.name, format!("the journal {message}"))
    }

    /// Goes through all records that SQLite would put back, and counts them.
    fn walk(&self) -> Result<u64, Stop> {
        let Some(head) = self.head(0)? else { return Err(self.refuse("has no whole head")) };
        let shape = self.shape(&head)?;
        let (mut at, mut pages, mut head) = (0_u64, 0_u64, head);
        loop {
            let (end, counted) = self.records(at.saturating_add(shape.sector), &head, &shape)?;
            pages = pages.saturating_add(counted);
            // The next head starts a sector.
            at = end.div_ceil(shape.sector).saturating_mul(shape.sector);
            head = match self.head(at)? {
                Some(head) if at.saturating_add(shape.sector) <= self.size => head,
                Some(_) | None => return Ok(pages),
            };
        }
    }

    /// The head there, where there is one.
    fn head(&self, at: u64) -> Result<Option<[u8; HEAD]>, Stop> {
        let mut head = [0; HEAD];
        Ok((self.fill(&mut head, at)? && head.starts_with(&MAGIC)).then_some(head))
    }

    fn shape(&self, head: &[u8; HEAD]) -> Result<Shape, Stop> {
        let (pages, sector, page) = (word(head, 16), word(head, 20), word(head, 24));
        let fits = |value: u32, least: u32| value.is_power_of_two() && (least..=MAX_PAGE).contains(&value);
        if !fits(sector, 32) || !fits(page, 512) || u64::from(sector) > self.size {
            return Err(self.refuse(&format!("has no whole head: sectors of {sector} and pages of {page} bytes")));
        }
        // SQLite makes the database that long before it puts a page back.
        if u64::from(pages).saturating_mul(u64::from(page)) > self.limits.max_database {
            return Err(self.refuse(&format!("says that the database had {pages} pages of {page} bytes")));
        }
        let page = usize::try_from(page).map_err(|_| self.refuse("has pages that are too large"))?;
        Ok(Shape { sector: sector.into(), page })
    }

    /// Where the records of a head end, and how many there are.
    fn records(&self, start: u64, head: &[u8; HEAD], shape: &Shape) -> Result<(u64, u64), Stop> {
        let (declared, nonce) = (word(head, 8), word(head, 12));
        let mut record = vec![0; shape.page.saturating_add(8)];
        let mut at = start;
        for counted in 0..u64::from(declared) {
            let sound = self.fill(&mut record, at)? && is_sound(&record, nonce);
            if !sound && declared == UNCOUNTED {
                return Ok((at, counted));
            }
            if !sound {
                let number = counted.saturating_add(1);
                return Err(self.refuse(&format!("is cut short or damaged at record {number} of {declared}")));
            }
            at = at.saturating_add(record.len() as u64);
        }
        Ok((at, declared.into()))
    }
}

/// Whether a record has a page number and the checksum that SQLite computes: every 200th byte from the end.
fn is_sound(record: &[u8], nonce: u32) -> bool {
    let Some((number, rest)) = record.split_first_chunk::<4>() else { return false };
    let Some((page, sum)) = rest.split_last_chunk::<4>() else { return false };
    // The byte at the page's start is never summed.
    let summed = page.iter().rev().skip(199).step_by(200).take(page.len().saturating_sub(1) / 200);
    let computed = summed.fold(nonce, |sum, byte| sum.wrapping_add(u32::from(*byte)));
    *number != [0; 4] && u32::from_be_bytes(*sum) == computed
}

/// The number there, big-endian.
fn word(head: &[u8; HEAD], at: usize) -> u32 {
    let bytes = head.get(at..).and_then(<[u8]>::first_chunk::<4>);
    bytes.map_or(0, |bytes| u32::from_be_bytes(*bytes))
}
