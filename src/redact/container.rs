//! Owns telling containers by their first bytes, and the fields of a tar that lead to its files.
//!
//! Refuses to guess by a name. Invariant: a content that starts as a container is looked into, or told as one that can't be.

/// What a content is packed as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing that hides its bytes.
    Plain,
    /// gzip (RFC 1952).
    Gzip,
    /// A tar with a ustar header.
    Tar,
    /// A ZIP that starts with a local record.
    Zip,
    /// What can't be looked into.
    Opaque(&'static str),
}

/// Bytes that are needed to tell.
pub(super) const HEAD: usize = 512;

/// Tells a container by its first bytes.
pub(super) fn kind(head: &[u8]) -> Kind {
    let marks: [(usize, &[u8], Kind); 14] = [
        (0, b"\x1f\x8b", Kind::Gzip),
        (257, b"ustar", Kind::Tar),
        (0, b"PK\x03\x04", Kind::Zip),
        (0, b"PK\x07\x08PK", Kind::Opaque("a part of a split ZIP")),
        (0, b"PK00PK", Kind::Opaque("a part of a split ZIP")),
        (0, b"\xfd7zXZ\0", Kind::Opaque("an xz file")),
        (0, b"\x28\xb5\x2f\xfd", Kind::Opaque("a zstd file")),
        (0, b"\x04\x22\x4d\x18", Kind::Opaque("an lz4 file")),
        (0, b"LZIP\x01", Kind::Opaque("an lzip file")),
        (0, b"7z\xbc\xaf\x27\x1c", Kind::Opaque("a 7z archive")),
        (0, b"Rar!\x1a\x07", Kind::Opaque("a RAR archive")),
        (0, b"\x1f\x9d", Kind::Opaque("a file of compress")),
        (0, b"\x89LZO\0\r\n\x1a\n", Kind::Opaque("an lzop file")),
        (0, b"MSCF\0\0\0\0", Kind::Opaque("a cabinet")),
    ];
    let found = marks.iter().find(|(at, mark, _)| head.get(*at..).is_some_and(|bytes| bytes.starts_with(mark)));
    match found {
        Some((_, _, kind)) => *kind,
        None if is_bzip2(head) => Kind::Opaque("a bzip2 file"),
        None => Kind::Plain,
    }
}

/// `BZh`, a level, and the mark of a block or of the end: three letters and a digit alone may start a text.
fn is_bzip2(head: &[u8]) -> bool {
    let marks: [&[u8]; 2] = [b"\x31\x41\x59\x26\x53\x59", b"\x17\x72\x45\x38\x50\x90"];
    head.starts_with(b"BZh")
        && head.get(3).is_some_and(u8::is_ascii_digit)
        && head.get(4..).is_some_and(|rest| marks.iter().any(|mark| rest.starts_with(mark)))
}

/// A member of a tar.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) size: u64,
    pub(super) is_file: bool,
    /// What its content says of the next member.
    pub(super) names: Names,
}

/// How the content of a member may name the next one, whose header then has a part of the name only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Names {
    /// It doesn't.
    Nothing,
    /// GNU's way: the content is the name.
    Whole,
    /// As pax has it: a record `path` among others.
    Record,
}

impl Names {
    /// The name of the next member that a content gives; none where it gives none.
    pub(super) fn next(self, content: &[u8]) -> Option<String> {
        match self {
            Self::Nothing => None,
            Self::Whole => content.split(|byte| *byte == 0).next().map(text),
            Self::Record => record(content, b"path=").map(text),
        }
    }
}

/// The last value of a key in pax records: `<length> <key>=<value>` and a line end each.
fn record<'a>(mut content: &'a [u8], key: &[u8]) -> Option<&'a [u8]> {
    let mut found = None;
    while let Some(space) = content.iter().position(|byte| *byte == b' ') {
        let (length, _) = content.split_at_checked(space)?;
        let length: usize = std::str::from_utf8(length).ok()?.parse().ok()?;
        let (line, rest) = content.split_at_checked(length)?;
        let value = line.get(space + 1..).and_then(|line| line.strip_prefix(key));
        found = value.map(|value| value.strip_suffix(b"\n").unwrap_or(value)).or(found);
        content = rest;
    }
    found
}

/// Reads the header of a tar's member: none where it isn't one.
pub(super) fn member(header: &[u8]) -> Option<Member> {
    let field = |from: usize, to: usize| {
        let bytes = header.get(from..to)?;
        bytes.split(|byte| *byte == 0).next()
    };
    header.get(257..).filter(|rest| rest.starts_with(b"ustar"))?;
    let size = number(header.get(124..136)?)?;
    let prefix = if header.get(263..265)? == b"00" { field(345, 500)? } else { b"" };
    let mut name = text(field(0, 100)?);
    if !prefix.is_empty() {
        name = format!("{}/{name}", text(prefix));
    }
    let kind = *header.get(156)?;
    let names = match kind {
        b'L' => Names::Whole,
        b'x' | b'g' | b'X' => Names::Record,
        _ => Names::Nothing,
    };
    Some(Member { name, size, is_file: matches!(kind, 0 | b'0' | b'7'), names })
}

/// A name as it is, or escaped where it isn't UTF-8.
fn text(bytes: &[u8]) -> String {
    std::str::from_utf8(bytes).map_or_else(|_| crate::name::escape(bytes), str::to_owned)
}

/// Octal digits with spaces or NULs around them, or GNU's binary form.
fn number(field: &[u8]) -> Option<u64> {
    if field.first() == Some(&0x80) {
        let (high, low) = field.split_at_checked(field.len().checked_sub(8)?)?;
        high.iter().skip(1).all(|byte| *byte == 0).then_some(())?;
        return low.try_into().ok().map(u64::from_be_bytes);
    }
    let text = std::str::from_utf8(field).ok()?.trim_matches([' ', '\0']);
    if text.is_empty() { Some(0) } else { u64::from_str_radix(text, 8).ok() }
}

/// Bytes from the end within which a ZIP's end record starts behind something: its fixed part and the longest comment.
pub(super) const TAIL: usize = 1 + 22 + 0xffff;

/// Whether a content that doesn't start as a ZIP ends as one: many readers take such a file for a ZIP. An end record alone
/// is an empty one.
pub(super) fn ends_as_zip(tail: &[u8]) -> bool {
    memchr::memmem::find_iter(tail, b"PK\x05\x06").any(|at| {
        let record = tail.get(at..).unwrap_or_default();
        let comment = record.get(20..22).and_then(|bytes| bytes.try_into().ok()).map(u16::from_le_bytes);
        at > 0 && comment.is_some_and(|comment| record.len() == 22 + usize::from(comment))
    })
}
