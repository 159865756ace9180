//! Owns the strict reading of a `.tar.gz` as a stream: one gzip member, one tar, regular files only.
//!
//! Refuses links, folders and special files; bytes other than zeros behind either end; headers, extended headers and names that two
//! readers take differently; and whatever is over a bound. Invariant: one buffer and one header's name are in memory,
//! whatever the headers claim; where the end was reached, every byte belongs to a header, a content or zero padding.
//!
//! Formats: RFC 1952, POSIX.1-2017 (pax, ustar), and the GNU tar manual, "Basic Tar Format".

use std::io::{self, BufRead as _, BufReader, Read};

use flate2::bufread::GzDecoder;

use super::super::document::shown;
use super::extended;
use super::header::{BLOCK, Form, Header, Kind};
use crate::digest::{Sha256, Sha256Hasher};
use crate::finding::Code;
use crate::limits::Limits;
use crate::name::{EntryName, escape};

/// Bytes read at once.
const BUFFER: usize = 1 << 16;

/// One regular file of a tar.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Member {
    /// Its name.
    pub name: EntryName,
    /// Bytes of its content.
    pub size: u64,
    /// The digest of its content.
    pub sha256: Sha256,
    /// Where its first header starts, in bytes of the tar.
    pub offset: u64,
}

/// What is wrong with a tarball.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// [`Code::SnapshotArchive`] or [`Code::SnapshotMember`].
    pub code: Code,
    /// Where, in bytes of the tar.
    pub offset: u64,
    /// One sentence.
    pub message: String,
}

/// Why reading ended before its end.
#[derive(Debug)]
pub enum Stop {
    /// The tarball is no good.
    Fault(Fault),
    /// It can't be read.
    Io(io::Error),
}

/// A `.tar.gz` that is read from its start to its end.
pub struct Tarball<R> {
    stream: GzDecoder<BufReader<Watched<R>>>,
    buffer: Vec<u8>,
    /// Bytes of the tar that were read.
    at: u64,
    /// How many it may have.
    most: u64,
    entries: u64,
    ended: bool,
    limits: Limits,
}

/// The name that a header before the file's own gave it.
enum Given {
    Extended(Option<String>),
    Long(Vec<u8>),
}

impl<R: Read> Tarball<R> {
    /// Starts to read `stored` bytes of a `.tar.gz`.
    pub fn new(reader: R, stored: u64, limits: &Limits) -> Self {
        let reader = BufReader::with_capacity(BUFFER, Watched { reader, failed: false });
        let swollen = stored.saturating_mul(limits.max_ratio).max(limits.ratio_floor);
        Self {
            stream: GzDecoder::new(reader),
            buffer: vec![0; BUFFER],
            at: 0,
            most: limits.max_total.min(swollen),
            entries: 0,
            ended: false,
            limits: limits.clone(),
        }
    }

    /// The next file; none where the tar and its gzip end as they should.
    ///
    /// # Errors
    /// The first fault, and what can't be read. Nothing can be read after either.
    pub fn next_member(&mut self) -> Result<Option<Member>, Stop> {
        let mut given = None;
        let first = self.at;
        loop {
            let offset = self.at;
            let Some(header) = self.header()? else {
                return if given.is_some() { Err(of_archive(offset, NO_FILE)) } else { Ok(None) };
            };
            given = match (header.kind, given) {
                (Kind::Refused(what), given) => return Err(refused(what, &header, given, offset)),
                (Kind::File, given) => return self.member(&header, given, first).map(Some),
                (Kind::Extended | Kind::Global | Kind::LongName, Some(_)) => {
                    return Err(of_archive(offset, "two headers give names to one file, and readers take either"));
                }
                (Kind::Extended, None) => Some(Given::Extended(self.records(&header, offset, false)?)),
                (Kind::LongName, None) => Some(Given::Long(self.long_name(&header, offset)?)),
                (Kind::Global, None) => {
                    self.records(&header, offset, true)?;
                    None
                }
            };
        }
    }

    /// The next header; none at the end, which is then held to be one.
    fn header(&mut self) -> Result<Option<Header>, Stop> {
        if self.ended {
            return Ok(None);
        }
        let (offset, mut block) = (self.at, [0; BLOCK]);
        self.block(&mut block)?;
        if block == [0; BLOCK] {
            self.end(offset)?;
            return Ok(None);
        }
        self.entries = self.entries.saturating_add(1);
        if self.entries > self.limits.max_entries {
            return Err(of_archive(offset, &format!("it has more than {} headers", self.limits.max_entries)));
        }
        let header = Header::read(&block);
        header.map(Some).map_err(|fault| of_archive(offset, &format!("the header {fault}")))
    }

    /// Reads a file's content, and gives what its headers say of it.
    fn member(&mut self, header: &Header, given: Option<Given>, offset: u64) -> Result<Member, Stop> {
        let mixed = "a header of one form gives a name to a file whose header has another form";
        let name = match given {
            Some(Given::Extended(_)) if header.form != Form::Posix => return Err(of_archive(offset, mixed)),
            Some(Given::Long(_)) if header.form != Form::Gnu => return Err(of_archive(offset, mixed)),
            Some(Given::Long(name)) if !name.starts_with(&header.name) => {
                return Err(of_archive(offset, "a file's long name does not start with its short one"));
            }
            Some(Given::Extended(Some(path))) => path.into_bytes(),
            Some(Given::Long(name)) => name,
            Some(Given::Extended(None)) | None => header.name.clone(),
        };
        let text = || shown_bytes(&name);
        let Ok(utf8) = std::str::from_utf8(&name) else {
            return Err(of_member(offset, format!("the name \"{}\" is not UTF-8", text())));
        };
        let name =
            EntryName::new(utf8).map_err(|fault| of_member(offset, format!("the name \"{}\" {fault}", text())))?;
        if header.size > self.limits.max_content {
            let message = format!("the member \"{}\" is larger than {} bytes", text(), self.limits.max_content);
            return Err(of_archive(offset, &message));
        }
        let mut hasher = Sha256Hasher::default();
        self.content(header.size, &mut |bytes| hasher.update(bytes))?;
        Ok(Member { name, size: header.size, sha256: hasher.finish(), offset })
    }

    /// Reads extended records, and gives the path that they name.
    fn records(&mut self, header: &Header, offset: u64, is_global: bool) -> Result<Option<String>, Stop> {
        let bytes = self.small(header, self.limits.max_extended, offset)?;
        let path = extended::path(&bytes, is_global);
        path.map_err(|fault| of_archive(offset, &format!("the extended header {}", shown(&fault))))
    }

    /// Reads a long name and the NUL that ends it.
    fn long_name(&mut self, header: &Header, offset: u64) -> Result<Vec<u8>, Stop> {
        let most = u64::try_from(self.limits.max_name).unwrap_or(u64::MAX).saturating_add(1);
        let mut name = self.small(header, most, offset)?;
        if name.pop() != Some(0) || name.contains(&0) {
            return Err(of_archive(offset, "a long name does not end in exactly one NUL"));
        }
        Ok(name)
    }

    /// A content that is kept, of at most `most` bytes.
    fn small(&mut self, header: &Header, most: u64, offset: u64) -> Result<Vec<u8>, Stop> {
        if header.size > most {
            return Err(of_archive(offset, &format!("a header that gives a name is longer than {most} bytes")));
        }
        let mut bytes = Vec::new();
        self.content(header.size, &mut |part| bytes.extend_from_slice(part))?;
        Ok(bytes)
    }

    /// Hands a content on in parts, and reads the zeros behind it.
    fn content(&mut self, size: u64, each: &mut dyn FnMut(&[u8])) -> Result<(), Stop> {
        let mut buffer = std::mem::take(&mut self.buffer);
        let mut left = size;
        while left > 0 {
            let wanted = usize::try_from(left).unwrap_or(BUFFER).min(BUFFER);
            let part = buffer.get_mut(..wanted).unwrap_or_default();
            let count = self.read(part)?;
            if count == 0 {
                return Err(of_archive(self.at, CUT_SHORT));
            }
            each(part.get(..count).unwrap_or_default());
            left = left.saturating_sub(count as u64);
        }
        self.buffer = buffer;
        let over = usize::try_from(size % BLOCK as u64).unwrap_or_default();
        let mut padding = [0; BLOCK];
        let offset = self.at;
        if over > 0 {
            self.fill(padding.get_mut(over..).unwrap_or_default())?;
        }
        if padding == [0; BLOCK] { Ok(()) } else { Err(of_archive(offset, "bytes other than zero pad a content")) }
    }

    /// Holds what follows the first block of zeros, at `offset`, to be the end.
    fn end(&mut self, offset: u64) -> Result<(), Stop> {
        let mut block = [0; BLOCK];
        self.block(&mut block)?;
        let mut is_zero = block == [0; BLOCK];
        while is_zero {
            let count = self.read(&mut block)?;
            if count == 0 {
                break;
            }
            is_zero = block.iter().take(count).all(|byte| *byte == 0);
        }
        if !is_zero {
            return Err(of_archive(offset, "the tar ends in two blocks of zeros, and other bytes follow here"));
        }
        if !self.at.is_multiple_of(BLOCK as u64) {
            return Err(of_archive(self.at, "the tar is not whole blocks of 512 bytes"));
        }
        // The decoder has held length and checksum; it leaves what follows alone.
        let raw = self.stream.get_mut();
        loop {
            let rest = raw.fill_buf().map_err(Stop::Io)?;
            let count = rest.len();
            if count == 0 {
                break;
            }
            // Zeros fill up a block of a tape: bsdtar writes them to a pipe, and no reader takes them for anything.
            if rest.iter().any(|byte| *byte != 0) {
                return Err(of_archive(self.at, "something follows the end of the gzip"));
            }
            raw.consume(count);
        }
        self.ended = true;
        Ok(())
    }

    fn block(&mut self, block: &mut [u8; BLOCK]) -> Result<(), Stop> {
        self.fill(block)
    }

    /// Fills a buffer.
    fn fill(&mut self, mut buffer: &mut [u8]) -> Result<(), Stop> {
        while !buffer.is_empty() {
            let count = self.read(buffer)?;
            if count == 0 {
                return Err(of_archive(self.at, CUT_SHORT));
            }
            buffer = buffer.get_mut(count..).unwrap_or_default();
        }
        Ok(())
    }

    /// Reads some bytes of the tar; none at its end.
    fn read(&mut self, buffer: &mut [u8]) -> Result<usize, Stop> {
        loop {
            match self.stream.read(buffer) {
                Ok(count) => {
                    self.at = self.at.saturating_add(count as u64);
                    if self.at > self.most {
                        let most = self.most;
                        return Err(of_archive(
                            most,
                            &format!("it unpacks to more than {most} bytes, which is too much"),
                        ));
                    }
                    return Ok(count);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if self.stream.get_ref().get_ref().failed => return Err(Stop::Io(error)),
                Err(_) => return Err(of_archive(self.at, "the gzip is broken: header, stream, length or checksum")),
            }
        }
    }
}

const CUT_SHORT: &str = "the tar is cut short: it has no end of two blocks of zeros";
const NO_FILE: &str = "a header gives a name, and no file follows it";

fn of_archive(offset: u64, message: &str) -> Stop {
    Stop::Fault(Fault { code: Code::SnapshotArchive, offset, message: message.to_owned() })
}

fn of_member(offset: u64, message: String) -> Stop {
    Stop::Fault(Fault { code: Code::SnapshotMember, offset, message })
}

/// The fault of a member that is no regular file.
fn refused(what: &str, header: &Header, given: Option<Given>, offset: u64) -> Stop {
    let name = match given {
        Some(Given::Extended(Some(path))) => path.into_bytes(),
        Some(Given::Long(name)) => name,
        Some(Given::Extended(None)) | None => header.name.clone(),
    };
    of_member(offset, format!("the member \"{}\" is {what}", shown_bytes(&name)))
}

/// A foreign name as a sentence shows it: escaped, and cut where it is long.
fn shown_bytes(name: &[u8]) -> String {
    std::str::from_utf8(name).map_or_else(|_| escape(name.get(..name.len().min(512)).unwrap_or_default()), shown)
}

/// Remembers that reading failed: the decoder's own complaints are about the bytes, these aren't.
struct Watched<R> {
    reader: R,
    failed: bool,
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.reader.read(buffer);
        self.failed |= read.as_ref().is_err_and(|error| error.kind() != io::ErrorKind::Interrupted);
        read
    }
}
