//! Owns a report's line of JSON.
//!
//! Refuses nothing. Invariant: one line whoever splits it: what would break a line, move a cursor or not show is written
//! as an escape by its code, which readers of JSON take for the same string.

use std::io::{self, Write};

use serde::Serialize;
use serde_json::Serializer;
use serde_json::ser::Formatter;

use crate::name;

struct Plain;

impl Formatter for Plain {
    fn write_string_fragment<W: Write + ?Sized>(&mut self, out: &mut W, fragment: &str) -> io::Result<()> {
        if name::is_plain(fragment) {
            return out.write_all(fragment.as_bytes());
        }
        for c in fragment.chars() {
            let mut buffer = [0; 4];
            let text: &str = c.encode_utf8(&mut buffer);
            if name::is_plain(text) {
                out.write_all(text.as_bytes())?;
            } else {
                text.encode_utf16().try_for_each(|unit| write!(out, "\\u{unit:04x}"))?;
            }
        }
        Ok(())
    }
}

/// Writes a value as one line of JSON.
pub(super) fn write(out: &mut dyn Write, value: &impl Serialize) -> io::Result<()> {
    value.serialize(&mut Serializer::with_formatter(&mut *out, Plain))?;
    writeln!(out)
}
