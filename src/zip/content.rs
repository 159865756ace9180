//! Owns reading an entry's content: bounded, to the exact end, with its CRC.
//!
//! Refuses a deflate stream that is invalid or ends before or after its recorded size, a content of another size, and
//! a CRC that doesn't fit. Invariant: at most one byte more than the recorded size is ever inflated, and a CRC alone
//! proves nothing here, since it can be forged.

use std::io::{self, Read, Write};

use flate2::{Decompress, FlushDecompress, Status};

use super::entry::{Entry, Method};
use super::source::{Source, Window};
use crate::error::Error;
use crate::finding::Code;

/// Input bytes at a time.
const CHUNK: usize = 1 << 16;
/// Output bytes at a time: matches that reach back beyond the buffer are copied by a slower path, so it is a few windows long.
const OUTPUT: usize = 1 << 18;

/// A worker's inflate state and input buffer, too large to make anew for each small file.
pub(super) struct Buffers {
    inflate: Decompress,
    input: Vec<u8>,
}

impl Default for Buffers {
    fn default() -> Self {
        Self { inflate: Decompress::new(false), input: vec![0; CHUNK] }
    }
}

/// Where an entry's content is and what it should be.
#[derive(Debug, Clone, Copy)]
pub(super) struct Located {
    data: Option<u64>,
    method: Method,
    compressed: u64,
    size: u64,
    crc: u32,
}

impl Located {
    pub(super) fn of(entry: &Entry) -> Self {
        let Entry { data, method, compressed, size, crc, .. } = *entry;
        Self { data, method, compressed, size, crc }
    }
}

/// Why a content is not the recorded one.
pub(super) type Fault = (Code, String);

/// An entry's content as a stream. Ends early on a fault, which [`Content::finish`] then tells.
pub(super) struct Content<'a> {
    window: Window<'a>,
    located: Located,
    buffers: Buffers,
    /// Input bytes in the buffer: `[start, end)`.
    pending: (usize, usize),
    given: u64,
    crc: crc32fast::Hasher,
    ended: bool,
    fault: Option<Fault>,
}

impl<'a> Content<'a> {
    /// The content of an entry whose local record is in order; none otherwise.
    pub(super) fn open(source: &'a Source, located: Located, mut buffers: Buffers) -> Option<Self> {
        let data = located.data?;
        if matches!(located.method, Method::Other(_)) {
            return None;
        }
        buffers.inflate.reset(false);
        Some(Self {
            window: source.window(data, data.saturating_add(located.compressed)),
            located,
            buffers,
            pending: (0, 0),
            given: 0,
            crc: crc32fast::Hasher::new(),
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
        let wanted =
            usize::try_from(self.located.size.saturating_sub(self.given).saturating_add(1)).unwrap_or(usize::MAX);
        let wanted = wanted.min(out.len());
        let Some(out) = out.get_mut(..wanted) else { return Ok(0) };
        loop {
            let buffers = &mut self.buffers;
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

    /// What is wrong with the content, once it was read to its end; and the buffers, for the next one.
    pub(super) fn finish(mut self) -> (Option<Fault>, Buffers) {
        (self.fault.take().or_else(|| self.fault_of_whole()), self.buffers)
    }

    fn fault_of_whole(&self) -> Option<Fault> {
        if self.given != self.located.size {
            let more = if self.given > self.located.size { "more than " } else { "" };
            let what =
                format!("has {more}{} bytes, recorded are {}", self.given.min(self.located.size), self.located.size);
            return Some((Code::ZipContentSize, what));
        }
        let crc = self.crc.clone().finalize();
        (crc != self.located.crc).then(|| {
            let what = format!("has a content with CRC {crc:08x}, recorded is {:08x}", self.located.crc);
            (Code::ZipContentCrc, what)
        })
    }
}

impl Read for Content<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.ended || out.is_empty() {
            return Ok(0);
        }
        let count = match self.located.method {
            Method::Stored => self.read_stored(out)?,
            Method::Deflated => self.read_deflated(out)?,
            Method::Other(_) => 0,
        };
        self.crc.update(out.get(..count).unwrap_or_default());
        self.given += count as u64;
        if self.given > self.located.size {
            self.ended = true;
        }
        Ok(count)
    }
}

/// Reads an entry's content to its end into `hasher`; none for one that can't be had. `spare` holds a worker's buffers
/// between two entries.
///
/// # Errors
/// What the system says of reading the file.
pub(super) fn hash<H: Write>(
    source: &Source,
    entry: &Entry,
    mut hasher: H,
    progress: &(dyn Fn(u64) + Sync),
    spare: &mut Spare,
) -> Result<Option<Result<H, Fault>>, Error> {
    let buffers = spare.buffers.take().unwrap_or_default();
    let Some(mut content) = Content::open(source, Located::of(entry), buffers) else { return Ok(None) };
    loop {
        let count = content.read(&mut spare.output).map_err(Error::io("read", source.path()))?;
        if count == 0 {
            break;
        }
        hasher.write_all(spare.output.get(..count).unwrap_or_default()).map_err(Error::io("read", source.path()))?;
        progress(count as u64);
    }
    let (fault, buffers) = content.finish();
    spare.buffers = Some(buffers);
    Ok(Some(match fault {
        Some(fault) => Err(fault),
        None => Ok(hasher),
    }))
}

/// What one worker keeps from entry to entry.
pub(super) struct Spare {
    buffers: Option<Buffers>,
    output: Vec<u8>,
}

impl Default for Spare {
    fn default() -> Self {
        Self { buffers: None, output: vec![0; OUTPUT] }
    }
}
