//! Owns cutting a stream into windows that overlap, so that what lies across an edge is seen whole once.
//!
//! Refuses to keep more than a window and its overlap. Invariant: every byte of the stream is a place where a match may
//! start in exactly one window.

use crate::limits::{SCAN_OVERLAP, SCAN_WINDOW};

/// Bytes before the first place of a match that stay in sight: for a boundary, and for a secret that starts before its
/// word.
const CONTEXT: usize = 64;

/// A part of a stream. Matches are looked for that start in `from..to`; what is before and after is for them to be whole.
#[derive(Debug, Clone, Copy)]
pub(super) struct Window<'a> {
    pub(super) bytes: &'a [u8],
    pub(super) from: usize,
    pub(super) to: usize,
    /// Where the first of the bytes is in the stream.
    base: u64,
    /// Line ends before that.
    lines: u64,
}

impl<'a> Window<'a> {
    /// All of a text.
    pub(super) fn whole(bytes: &'a [u8]) -> Self {
        Self { bytes, from: 0, to: bytes.len(), base: 0, lines: 0 }
    }

    /// The byte of the stream, from 0, and its line, from 1.
    pub(super) fn place(&self, at: usize) -> (u64, u64) {
        let before = self.bytes.get(..at).unwrap_or(self.bytes);
        (self.base.saturating_add(at as u64), self.lines + count_lines(before) + 1)
    }
}

fn count_lines(bytes: &[u8]) -> u64 {
    memchr::memchr_iter(b'\n', bytes).count() as u64
}

/// A stream as it comes in.
#[derive(Debug, Default)]
pub(super) struct Windows {
    buffer: Vec<u8>,
    from: usize,
    base: u64,
    lines: u64,
}

impl Windows {
    /// Takes the next bytes, and gives the windows that they fill.
    pub(super) fn push(&mut self, mut bytes: &[u8], see: &mut dyn FnMut(Window<'_>)) {
        while !bytes.is_empty() {
            let room = (CONTEXT + SCAN_WINDOW + SCAN_OVERLAP).saturating_sub(self.buffer.len());
            let (taken, rest) = bytes.split_at(room.min(bytes.len()));
            self.buffer.extend_from_slice(taken);
            bytes = rest;
            if taken.len() == room {
                let to = self.buffer.len() - SCAN_OVERLAP;
                see(self.window(to));
                let gone = to - CONTEXT;
                self.lines += count_lines(self.buffer.get(..gone).unwrap_or_default());
                self.base += gone as u64;
                self.buffer.drain(..gone);
                self.from = CONTEXT;
            }
        }
    }

    /// Gives the last window.
    pub(super) fn finish(&mut self, see: &mut dyn FnMut(Window<'_>)) {
        see(self.window(self.buffer.len()));
        *self = Self::default();
    }

    fn window(&self, to: usize) -> Window<'_> {
        Window { bytes: &self.buffer, from: self.from, to, base: self.base, lines: self.lines }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_is_in_one_window_with_what_follows_it() {
        let all: Vec<u8> = (0..3 * SCAN_WINDOW + 77).map(|n| if n % 97 == 0 { b'\n' } else { b'a' }).collect();
        for chunk in [1000, SCAN_WINDOW, all.len()] {
            let (mut next, mut windows) = (0u64, Windows::default());
            let mut see = |window: Window<'_>| {
                let (start, line) = window.place(window.from);
                assert_eq!(start, next);
                assert_eq!(line, count_lines(&all[..usize::try_from(start).unwrap()]) + 1);
                next = start + (window.to - window.from) as u64;
                let seen = start + (window.bytes.len() - window.from) as u64;
                assert!(seen == all.len() as u64 || window.bytes.len() - window.to == SCAN_OVERLAP);
            };
            all.chunks(chunk).for_each(|bytes| windows.push(bytes, &mut see));
            windows.finish(&mut see);
            assert_eq!(next, all.len() as u64);
        }
    }
}
