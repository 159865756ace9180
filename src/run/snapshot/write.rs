//! Owns writing a snapshot's archive in one form: ustar headers, files sorted by the bytes of their names, gzip.
//!
//! Refuses a source whose digest isn't the recorded one, and names and sizes that the form can't hold. Invariant: the
//! same sources and modes give the same bytes on any machine.

use std::collections::BTreeMap;
use std::io::{self, Write};

use flate2::{Compression, GzBuilder};

use super::header::BLOCK;
use crate::digest::{Sha256, Sha256Hasher};
use crate::error::Error;
use crate::finding::Severity;
use crate::form::Mode;
use crate::name::{self, EntryName};

/// The level of compression.
const LEVEL: u32 = 9;

/// gzip's number for "unknown system": the bytes don't depend on where they were written.
const SYSTEM: u8 = 255;

/// Eleven octal digits.
const MAX_SIZE: u64 = (1 << 33) - 1;

/// Writes the archive of `sources`, each of which `open` gives with its mode. Gives the archive's digest.
///
/// # Errors
/// What `open` gives; [`Error::WouldNotVerify`] for a source that isn't the recorded one or that can't be a member;
/// [`Error::Io`] where `out` takes no more.
pub fn write<W: Write>(
    out: W,
    sources: &BTreeMap<String, Sha256>,
    mut open: impl FnMut(&EntryName) -> Result<(Mode, Vec<u8>), Error>,
) -> Result<Sha256, Error> {
    let unwritten = |error| Error::io("write", std::path::Path::new("the source snapshot"))(error);
    let names = portable(sources)?;
    let hashed = Hashed { out, hasher: Sha256Hasher::default() };
    let mut gzip = GzBuilder::new().mtime(0).operating_system(SYSTEM).write(hashed, Compression::new(LEVEL));
    for (name, recorded) in names {
        let (mode, content) = open(&name)?;
        if Sha256::of(&content) != recorded {
            return Err(Error::WouldNotVerify(format!("the source \"{name}\" is not the one that the run recorded")));
        }
        let size = content.len() as u64;
        if size > MAX_SIZE {
            return Err(Error::WouldNotVerify(format!("the source \"{name}\" has 8 GiB or more")));
        }
        member(&mut gzip, &name, mode, &content).map_err(unwritten)?;
    }
    let ended = gzip.write_all(&[0; 2 * BLOCK]).and_then(|()| gzip.finish());
    let mut hashed = ended.map_err(unwritten)?;
    hashed.out.flush().map_err(unwritten)?;
    Ok(hashed.hasher.finish())
}

/// The recorded sources under names that can stand side by side, sorted by their bytes.
fn portable(sources: &BTreeMap<String, Sha256>) -> Result<Vec<(EntryName, Sha256)>, Error> {
    let name = |(path, sha256): (&String, &Sha256)| match EntryName::new(path) {
        Ok(name) => Ok((name, *sha256)),
        Err(fault) => Err(Error::WouldNotVerify(format!("the source \"{}\" {fault}", name::escape(path.as_bytes())))),
    };
    let names: Vec<_> = sources.iter().map(name).collect::<Result<_, _>>()?;
    let clashes = name::clashes(names.iter().map(|(name, _)| (name, false)));
    match clashes.iter().find(|clash| clash.code.rule().severity == Severity::Error) {
        Some(clash) => {
            let text = names.get(clash.index).map(|(name, _)| clash.message(name)).unwrap_or_default();
            Err(Error::WouldNotVerify(text))
        }
        None => Ok(names),
    }
}

fn member(out: &mut impl Write, name: &EntryName, mode: Mode, content: &[u8]) -> io::Result<()> {
    let (prefix, short) = if let Some(parts) = parted(name.as_str()) {
        parts
    } else {
        // The header's own names are made from the digest of the path, so that no two are equal by being cut.
        let id = Sha256::of(name.as_str().as_bytes()).to_string();
        let record = record("path", name.as_str());
        out.write_all(&header("PaxHeaders", &id, b'x', Mode::Plain, record.len() as u64))?;
        padded(out, record.as_bytes())?;
        (String::new(), id)
    };
    out.write_all(&header(&prefix, &short, b'0', mode, content.len() as u64))?;
    padded(out, content)
}

/// A name as prefix and name of a ustar header; none where it isn't ASCII, or too long. The name is as long as may be.
fn parted(name: &str) -> Option<(String, String)> {
    if !name.is_ascii() {
        return None;
    }
    if name.len() <= 100 {
        return Some((String::new(), name.to_owned()));
    }
    let mut slashes = name.match_indices('/').map(|(at, _)| name.split_at(at));
    let (prefix, rest) = slashes.find(|(_, rest)| rest.len() <= 101)?;
    (prefix.len() <= 155).then(|| (prefix.to_owned(), rest.trim_start_matches('/').to_owned()))
}

/// A record of an extended header. Its length counts its own digits.
fn record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let with = |digits: usize| format!("{}{rest}", rest.len() + digits);
    let length = |digits: usize| rest.len() + digits;
    let digits = (1..8).find(|digits| length(*digits).to_string().len() == *digits).unwrap_or(1);
    with(digits)
}

fn header(prefix: &str, name: &str, kind: u8, mode: Mode, size: u64) -> Vec<u8> {
    let mut block = Vec::with_capacity(BLOCK);
    let field = |block: &mut Vec<u8>, text: &str, length: usize| {
        block.extend(text.bytes().chain(std::iter::repeat(0)).take(length));
    };
    field(&mut block, name, 100);
    field(&mut block, &format!("{:07o}", mode.bits()), 8);
    field(&mut block, "0000000", 8);
    field(&mut block, "0000000", 8);
    field(&mut block, &format!("{size:011o}"), 12);
    field(&mut block, "00000000000", 12);
    let before = block.len();
    field(&mut block, "        ", 8);
    block.push(kind);
    field(&mut block, "", 100);
    block.extend(b"ustar\x0000");
    field(&mut block, "", 32);
    field(&mut block, "", 32);
    field(&mut block, "0000000", 8);
    field(&mut block, "0000000", 8);
    field(&mut block, prefix, 155);
    field(&mut block, "", 12);
    let sum: u64 = block.iter().map(|byte| u64::from(*byte)).sum();
    let checksum = format!("{sum:06o}\0 ");
    block.splice(before..before + checksum.len(), checksum.bytes());
    block
}

fn padded(out: &mut impl Write, content: &[u8]) -> io::Result<()> {
    out.write_all(content)?;
    let zeros = [0; BLOCK];
    out.write_all(zeros.get(..content.len().next_multiple_of(BLOCK) - content.len()).unwrap_or_default())
}

/// Hashes what goes through it.
struct Hashed<W> {
    out: W,
    hasher: Sha256Hasher,
}

impl<W: Write> Write for Hashed<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let count = self.out.write(bytes)?;
        self.hasher.update(bytes.get(..count).unwrap_or_default());
        Ok(count)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}
