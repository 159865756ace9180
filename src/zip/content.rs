//! Owns reading an entry's content: bounded, to the exact end, with its CRC.
//!
//! Refuses a deflate stream that is invalid or ends before or after its recorded size, a content of another size, and
//! a CRC that doesn't fit. Invariant: at most one byte more than the recorded size is ever inflated, and a CRC alone
//! proves nothing here, since it can be forged.

use std::cell::RefCell;
use std::io::{self, Read};

use flate2::{Decompress, FlushDecompress, Status};

use super::entry::{Entry, Method};
use super::source::{Source, Window};
use crate::digest::{ContentDigests, ContentHasher};
use crate::error::Error;
use crate::finding::Code;

const CHUNK: usize = 1 << 16;

thread_local! {
    /// A worker's buffers: an inflate state is too large to make anew for each small file.
    static SPARE: RefCell<Option<Buffers>> = const { RefCell::new(None) };
}

struct Buffers {
    inflate: Decompress,
    input: Vec<u8>,
}

impl Buffers {
    fn take() -> Self {
        let spare = SPARE.with(|spare| spare.borrow_mut().take());
        let mut buffers = spare.unwrap_or_else(|| Self { inflate: Decompress::new(false), input: vec![0; CHUNK] });
        buffers.inflate.reset(false);
        buffers
    }
}

/// Why a content is not the recorded one.
pub(super) type Fault = (Code, String);

/// An entry's content as a stream. Ends early on a fault, which [`Content::finish`] then tells.
pub(super) struct Content<'a> {
    window: Window<'a>,
    method: Method,
    buffers: Option<Buffers>,
    /// Input bytes in the buffer: `[start, end)`.
    pending: (usize, usize),
    size: u64,
    given: u64,
    crc: crc32fast::Hasher,
    recorded_crc: u32,
    ended: bool,
    fault: Option<Fault>,
}

impl<'a> Content<'a> {
    /// The content of an entry whose local record is in order; none otherwise.
    pub(super) fn open(source: &'a Source, entry: &Entry) -> Option<Self> {
        let data = entry.data?;
        let buffers = match entry.method {
            Method::Stored => None,
            Method::Deflated => Some(Buffers::take()),
            Method::Other(_) => return None,
        };
        Some(Self {
            window: source.window(data, data.saturating_add(entry.compressed)),
            method: entry.method,
            buffers,
            pending: (0, 0),
            size: entry.size,
            given: 0,
            crc: crc32fast::Hasher::new(),
            recorded_crc: entry.crc,
            ended: false,
            fault: None,
        })
    }

    fn broken(&mut self, code: Code, what: String) -> usize {
        self.fault = Some((code, what));
        self.ended = true;
        0
    }

    fn read_stored(&mut self, out: &mut [u8]) -> io::Result<usize> {
        let count = self.window.read(out)?;
        self.ended = count == 0;
        Ok(count)
    }

    fn read_deflated(&mut self, out: &mut [u8]) -> io::Result<usize> {
        // One byte over the recorded size shows that there is more; no reader needs to see the rest.
        let wanted = usize::try_from(self.size.saturating_sub(self.given).saturating_add(1)).unwrap_or(usize::MAX);
        let wanted = wanted.min(out.len());
        let Some(out) = out.get_mut(..wanted) else { return Ok(0) };
        loop {
            let Some(buffers) = &mut self.buffers else { return Ok(0) };
            if self.pending.0 == self.pending.1 {
                self.pending = (0, self.window.read(&mut buffers.input)?);
            }
            let input = buffers.input.get(self.pending.0..self.pending.1).unwrap_or_default();
            let (before_in, before_out) = (buffers.inflate.total_in(), buffers.inflate.total_out());
            let status = buffers.inflate.decompress(input, out, FlushDecompress::None);
            let used = usize::try_from(buffers.inflate.total_in() - before_in).unwrap_or_default();
            let made = usize::try_from(buffers.inflate.total_out() - before_out).unwrap_or_default();
            self.pending.0 += used;
            match status {
                Ok(Status::StreamEnd) => {
                    self.end_of_stream()?;
                    return Ok(made);
                }
                Ok(_) if made > 0 => return Ok(made),
                Ok(_) if used > 0 => {}
                Ok(_) => {
                    return Ok(self.broken(Code::ZipDeflateBroken, "has a deflate stream that is cut short".to_owned()));
                }
                Err(_) => return Ok(self.broken(Code::ZipDeflateBroken, "has an invalid deflate stream".to_owned())),
            }
        }
    }

    fn end_of_stream(&mut self) -> io::Result<()> {
        self.ended = true;
        let mut one = [0];
        if self.pending.0 < self.pending.1 || self.window.read(&mut one)? > 0 {
            let what = "has bytes behind the end of its deflate stream".to_owned();
            self.fault = Some((Code::ZipDeflateEnd, what));
        }
        Ok(())
    }

    /// What is wrong with the content, once it was read to its end.
    pub(super) fn finish(mut self) -> Option<Fault> {
        if let Some(buffers) = self.buffers.take() {
            SPARE.with(|spare| *spare.borrow_mut() = Some(buffers));
        }
        if self.fault.is_some() {
            return self.fault;
        }
        if self.given != self.size {
            let more = if self.given > self.size { "more than " } else { "" };
            let what = format!("has {more}{} bytes, recorded are {}", self.given.min(self.size), self.size);
            return Some((Code::ZipContentSize, what));
        }
        let crc = self.crc.finalize();
        (crc != self.recorded_crc).then(|| {
            let what = format!("has a content with CRC {crc:08x}, recorded is {:08x}", self.recorded_crc);
            (Code::ZipContentCrc, what)
        })
    }
}

impl Read for Content<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        let count = match self.method {
            Method::Stored => self.read_stored(out)?,
            Method::Deflated => self.read_deflated(out)?,
            Method::Other(_) => 0,
        };
        self.crc.update(out.get(..count).unwrap_or_default());
        self.given += count as u64;
        if self.given > self.size {
            self.ended = true;
        }
        Ok(count)
    }
}

/// Reads an entry's content to its end and hashes it.
///
/// # Errors
/// What the system says of reading the file.
pub(super) fn digest(
    source: &Source,
    entry: &Entry,
    git_blob: bool,
    progress: &(dyn Fn(u64) + Sync),
) -> Result<Option<Result<ContentDigests, Fault>>, Error> {
    let Some(mut content) = Content::open(source, entry) else { return Ok(None) };
    let mut hasher = ContentHasher::new(entry.size, git_blob);
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = content.read(&mut buffer).map_err(Error::io("read", source.path()))?;
        if count == 0 {
            break;
        }
        hasher.update(buffer.get(..count).unwrap_or_default());
        progress(count as u64);
    }
    Ok(Some(match content.finish() {
        Some(fault) => Err(fault),
        None => Ok(hasher.finish()),
    }))
}
