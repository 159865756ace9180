//! Owns one header block of a tar: POSIX.1-2017 ustar, GNU's older form of it, and the oldest one without a mark.
//!
//! Refuses fields that two readers take differently: numbers that aren't plain octal digits, bytes behind the end of a
//! text, forms that aren't known, and fields that only some readers look at. Invariant: an accepted header says one
//! name, one size and one kind to every reader.

/// Bytes of a header, and what contents are padded to.
pub(super) const BLOCK: usize = 512;

/// Where a field lies: its first byte and its length.
type Field = (usize, usize);

const NAME: Field = (0, 100);
const MODE: Field = (100, 8);
const UID: Field = (108, 8);
const GID: Field = (116, 8);
const SIZE: Field = (124, 12);
const MTIME: Field = (136, 12);
const CHECKSUM: Field = (148, 8);
const TYPE: usize = 156;
const LINK: Field = (157, 100);
const MAGIC: Field = (257, 8);
const OWNER: Field = (265, 32);
const GROUP: Field = (297, 32);
const MAJOR: Field = (329, 8);
const MINOR: Field = (337, 8);
const PREFIX: Field = (345, 155);
const PADDING: Field = (500, 12);
/// Where POSIX has the prefix, GNU more times and parts of sparse files, and the oldest form nothing.
const BEHIND_DEVICES: Field = (345, 167);
/// What the oldest form doesn't have before the device numbers, which GNU tar writes there too.
const AFTER_OLD: Field = (257, 72);

/// Which form a header has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// Without a mark.
    Old,
    /// `ustar`, with a prefix of the name.
    Posix,
    /// `ustar  `, without one.
    Gnu,
}

/// What follows a header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A file's content.
    File,
    /// Extended records for the next file.
    Extended,
    /// Extended records for all files.
    Global,
    /// The next file's long name, in GNU's way.
    LongName,
    /// Something that no snapshot holds.
    Refused(&'static str),
}

/// What one header says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) kind: Kind,
    pub(super) form: Form,
    pub(super) size: u64,
    /// Prefix and name.
    pub(super) name: Vec<u8>,
}

impl Header {
    /// Reads a block that isn't all zeros. The fault is the end of a sentence that starts with "the header".
    pub(super) fn read(block: &[u8; BLOCK]) -> Result<Self, String> {
        let summed = sum(block);
        match octal(get(block, CHECKSUM)) {
            Some(recorded) if recorded == summed => {}
            Some(recorded) => return Err(format!("has the checksum {recorded}, and its bytes give {summed}")),
            None => return Err("has a checksum that is not octal digits".to_owned()),
        }
        let form = form(block)?;
        let name = name(block, form)?;
        let size = octal(get(block, SIZE)).ok_or("has a size that is not octal digits and an end")?;
        octal(get(block, MODE)).ok_or("has a mode that is not octal digits and an end")?;
        if ![UID, GID, MTIME].into_iter().all(|field| is_number(get(block, field))) {
            return Err("has an owner or a time that is no number".to_owned());
        }
        let kind = kind(block.get(TYPE).copied().unwrap_or_default(), form);
        if let Kind::Refused(_) = kind {
            return Ok(Self { kind, form, size, name });
        }
        if !is_zero(get(block, LINK)) {
            return Err("names a link's target and is no link".to_owned());
        }
        let texts = [OWNER, GROUP].into_iter().all(|field| text(get(block, field)).is_some());
        let devices = [MAJOR, MINOR].into_iter().all(|field| is_no_device(get(block, field)));
        if !texts || !devices {
            return Err("has an owner's name or a device number with more bytes than it may have".to_owned());
        }
        Ok(Self { kind, form, size, name })
    }
}

fn get(block: &[u8; BLOCK], (start, length): Field) -> &[u8] {
    block.get(start..start.saturating_add(length)).unwrap_or_default()
}

/// All bytes, with spaces for the checksum itself.
fn sum(block: &[u8; BLOCK]) -> u64 {
    let (start, length) = CHECKSUM;
    let outside = |at: usize| at < start || at >= start.saturating_add(length);
    block.iter().enumerate().map(|(at, byte)| u64::from(if outside(at) { *byte } else { b' ' })).sum()
}

fn form(block: &[u8; BLOCK]) -> Result<Form, String> {
    match get(block, MAGIC) {
        b"ustar\x0000" if is_zero(get(block, PADDING)) => Ok(Form::Posix),
        b"ustar\x0000" => Err("has bytes behind the prefix, which only some readers take for fields".to_owned()),
        b"ustar  \0" if is_zero(get(block, BEHIND_DEVICES)) => Ok(Form::Gnu),
        b"ustar  \0" => Err("has GNU's further fields, which other readers take for a prefix of the name".to_owned()),
        _ if is_zero(get(block, AFTER_OLD)) && is_zero(get(block, BEHIND_DEVICES)) => Ok(Form::Old),
        _ => Err("has no form that is known (POSIX ustar, GNU)".to_owned()),
    }
}

fn name(block: &[u8; BLOCK], form: Form) -> Result<Vec<u8>, String> {
    let name = text(get(block, NAME)).ok_or("has bytes behind the end of its name")?;
    let prefix = match form {
        Form::Posix => text(get(block, PREFIX)).ok_or("has bytes behind the end of its name's prefix")?,
        Form::Old | Form::Gnu => &[],
    };
    Ok(if prefix.is_empty() { name.to_vec() } else { [prefix, b"/", name].concat() })
}

fn kind(flag: u8, form: Form) -> Kind {
    match (flag, form) {
        (b'0' | 0, _) => Kind::File,
        (b'x', Form::Posix) => Kind::Extended,
        (b'g', Form::Posix) => Kind::Global,
        (b'L', Form::Gnu) => Kind::LongName,
        (b'1', _) => Kind::Refused("a hard link"),
        (b'2', _) => Kind::Refused("a symbolic link"),
        (b'K', _) => Kind::Refused("the long target of a link"),
        (b'3' | b'4', _) => Kind::Refused("a device"),
        (b'5' | b'D', _) => Kind::Refused("a folder"),
        (b'6', _) => Kind::Refused("a pipe"),
        (b'7', _) => Kind::Refused("a contiguous file"),
        (b'S', _) => Kind::Refused("a sparse file"),
        (b'M', _) => Kind::Refused("a part of a file that starts on another tape"),
        (_, _) => Kind::Refused("of a type that is not known"),
    }
}

fn is_zero(bytes: &[u8]) -> bool {
    bytes.iter().all(|byte| *byte == 0)
}

/// The bytes up to the first NUL, where nothing but NULs follows.
fn text(field: &[u8]) -> Option<&[u8]> {
    let end = field.iter().position(|byte| *byte == 0).unwrap_or(field.len());
    let (text, rest) = field.split_at(end);
    is_zero(rest).then_some(text)
}

/// Octal digits and at least one NUL or space behind them, to the field's end. Twelve digits without an end, and GNU's
/// numbers to the base 256, are for files of 8 GiB and more.
fn octal(field: &[u8]) -> Option<u64> {
    let end = field.iter().position(|byte| !(b'0'..=b'7').contains(byte))?;
    let (digits, rest) = field.split_at(end);
    let is_end = rest.iter().all(|byte| matches!(byte, 0 | b' '));
    let value = || digits.iter().fold(0_u64, |value, digit| (value << 3) | u64::from(digit & 7));
    (!digits.is_empty() && is_end).then(value)
}

/// An owner's number or a time: says nothing of the content, so GNU's form for large and negative ones is taken too.
fn is_number(field: &[u8]) -> bool {
    let is_base_256 = field.first().is_some_and(|first| matches!(first, 0x80 | 0xFF));
    is_base_256 || is_blank(field) || octal(field).is_some()
}

fn is_no_device(field: &[u8]) -> bool {
    is_blank(field) || octal(field) == Some(0)
}

fn is_blank(field: &[u8]) -> bool {
    field.iter().all(|byte| matches!(byte, 0 | b' '))
}
