//! Owns digests as types and the only hashers of the project.
//!
//! Refuses shortened, upper-case or foreign digests: a digest is exactly as many lower-case hex digits as its
//! algorithm gives. Invariant: nothing outside this file names a hash algorithm's implementation, and a digest
//! that exists was either computed from bytes or read from text of the exact form.

use std::fmt;
use std::io;
use std::str::FromStr;

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha1::Sha1;
use sha2::Digest as _;

/// A SHA-256 digest (FIPS 180-4), the identity of every file and archive here.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sha256([u8; 32]);

/// A git blob id: SHA-1 over `blob <size>\0` and the content
/// (<https://git-scm.com/book/en/v2/Git-Internals-Git-Objects>). It ties a file to a commit; it proves nothing alone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct GitBlob([u8; 20]);

/// A text that is not a digest of the wanted algorithm.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("a {algorithm} digest is {digits} lower-case hex digits")]
pub struct NotADigest {
    algorithm: &'static str,
    digits: usize,
}

impl Sha256 {
    /// The digest of bytes that are in memory.
    pub fn of(bytes: &[u8]) -> Self {
        Self(sha2::Sha256::digest(bytes).into())
    }

    /// The first 12 hex digits: a name for people, never a proof.
    pub fn short(&self) -> String {
        self.to_string().chars().take(12).collect()
    }
}

impl GitBlob {
    /// The blob id of bytes that are in memory.
    pub fn of(bytes: &[u8]) -> Self {
        let mut hasher = ContentHasher::new(bytes.len() as u64);
        hasher.update(bytes);
        hasher.finish().git_blob
    }
}

/// Hashes what is written to it, without keeping it.
#[derive(Default)]
pub struct Sha256Hasher(sha2::Sha256);

impl Sha256Hasher {
    /// Reads a stream to its end and gives its digest and its length.
    ///
    /// # Errors
    /// The stream's.
    pub fn read(mut stream: impl io::Read) -> io::Result<(Sha256, u64)> {
        let mut hasher = Self::default();
        let length = io::copy(&mut stream, &mut hasher)?;
        Ok((hasher.finish(), length))
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// The digest of all bytes taken.
    pub fn finish(self) -> Sha256 {
        Sha256(self.0.finalize().into())
    }
}

impl io::Write for Sha256Hasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl io::Write for ContentHasher {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What reading one content to its end gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ContentDigests {
    /// SHA-256 of the bytes.
    pub sha256: Sha256,
    /// Git blob id.
    pub git_blob: GitBlob,
}

/// Hashes one content as it streams by, both ways that a manifest records it.
pub struct ContentHasher {
    sha256: Sha256Hasher,
    git_blob: Sha1,
}

impl ContentHasher {
    /// A hasher for a content of `size` bytes: a git blob id starts with that size, so it must be known first.
    pub fn new(size: u64) -> Self {
        let mut git_blob = Sha1::new();
        git_blob.update(format!("blob {size}\0"));
        Self { sha256: Sha256Hasher::default(), git_blob }
    }

    /// Takes the next bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.sha256.update(bytes);
        self.git_blob.update(bytes);
    }

    /// The digests of all bytes taken.
    pub fn finish(self) -> ContentDigests {
        ContentDigests { sha256: self.sha256.finish(), git_blob: GitBlob(self.git_blob.finalize().into()) }
    }
}

fn parse_hex<const N: usize>(text: &str, algorithm: &'static str) -> Result<[u8; N], NotADigest> {
    let fault = NotADigest { algorithm, digits: N * 2 };
    if text.len() != N * 2 {
        return Err(fault);
    }
    let mut bytes = [0; N];
    for (byte, pair) in bytes.iter_mut().zip(text.as_bytes().chunks_exact(2)) {
        let digits = pair.iter().map(|c| match c {
            b'0'..=b'9' => Some(c - b'0'),
            b'a'..=b'f' => Some(c - b'a' + 10),
            _ => None,
        });
        for digit in digits {
            *byte = (*byte << 4) | digit.ok_or_else(|| fault.clone())?;
        }
    }
    Ok(bytes)
}

fn write_hex(bytes: &[u8], f: &mut fmt::Formatter<'_>) -> fmt::Result {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap_or_default();
    let text: String = bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 0xF)]).collect();
    f.write_str(&text)
}

impl FromStr for Sha256 {
    type Err = NotADigest;
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        parse_hex(text, "SHA-256").map(Self)
    }
}

impl FromStr for GitBlob {
    type Err = NotADigest;
    fn from_str(text: &str) -> Result<Self, NotADigest> {
        parse_hex(text, "git blob (SHA-1)").map(Self)
    }
}

impl fmt::Display for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Display for GitBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write_hex(&self.0, f)
    }
}

impl fmt::Debug for Sha256 {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Sha256({self})")
    }
}

impl fmt::Debug for GitBlob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "GitBlob({self})")
    }
}

impl Serialize for Sha256 {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl Serialize for GitBlob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Sha256 {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

impl<'de> Deserialize<'de> for GitBlob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn published_vectors_hold() {
        // FIPS 180-4 example "abc"; the git blob id of the empty file, which git itself prints.
        assert_eq!(Sha256::of(b"abc").to_string(), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
        assert_eq!(GitBlob::of(b"").to_string(), "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        assert_eq!(GitBlob::of(b"hello\n").to_string(), "ce013625030ba8dba906f756967f9e9ca394464a");
    }

    #[test]
    fn only_the_exact_form_is_a_digest() {
        let good = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(good.parse::<Sha256>().unwrap().to_string(), good);
        let upper = good.to_uppercase();
        let long = format!("{good}0");
        let spaced = format!(" {}", &good[1..]);
        for bad in ["", &good[1..], &long, &upper, &spaced, &good.replace('b', "g")] {
            assert!(bad.parse::<Sha256>().is_err(), "{bad:?} was taken for a SHA-256");
        }
        assert!(good.parse::<GitBlob>().is_err());
    }
}
