//! Owns the fixed fields of ZIP records, read little-endian and never beyond their bytes.
//!
//! Refuses nothing by meaning: it only reads. Invariant: no index, no arithmetic that can overflow.
//! Layouts: APPNOTE.TXT 6.3.10, sections 4.3.7 to 4.3.16.

/// `PK\3\4`, a local file header.
pub(super) const LOCAL: [u8; 4] = *b"PK\x03\x04";
/// `PK\1\2`, a central directory header.
pub(super) const CENTRAL: [u8; 4] = *b"PK\x01\x02";
/// `PK\5\6`, the end of central directory record.
pub(super) const END: [u8; 4] = *b"PK\x05\x06";
/// `PK\6\6`, the ZIP64 end of central directory record.
pub(super) const END64: [u8; 4] = *b"PK\x06\x06";
/// `PK\6\7`, the ZIP64 end of central directory locator.
pub(super) const LOCATOR64: [u8; 4] = *b"PK\x06\x07";
/// `PK\7\8`, a data descriptor; also the mark of a split archive at its start.
pub(super) const DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";

/// Whether bytes hold the signature of any record.
pub(super) fn holds_signature(bytes: &[u8]) -> bool {
    let signatures = [LOCAL, CENTRAL, END, END64, LOCATOR64, DESCRIPTOR];
    bytes.windows(4).any(|window| signatures.iter().any(|signature| window == signature))
}

/// Reads fields one after the other.
#[derive(Clone, Copy)]
pub(super) struct Fields<'a>(pub(super) &'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn bytes(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.bytes(N)?.try_into().ok()
    }

    pub(super) fn u16(&mut self) -> Option<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Option<u64> {
        self.array().map(u64::from_le_bytes)
    }
}

/// Fields that a local and a central header both have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Shared {
    pub(super) version_needed: u16,
    pub(super) flags: u16,
    pub(super) method: u16,
    /// DOS time in the low half, DOS date in the high half, as they stand in the file.
    pub(super) modified: u32,
    pub(super) crc: u32,
    pub(super) compressed: u32,
    pub(super) plain: u32,
    pub(super) name_len: u16,
    pub(super) extra_len: u16,
}

fn shared(fields: &mut Fields<'_>) -> Option<Shared> {
    Some(Shared {
        version_needed: fields.u16()?,
        flags: fields.u16()?,
        method: fields.u16()?,
        modified: fields.u32()?,
        crc: fields.u32()?,
        compressed: fields.u32()?,
        plain: fields.u32()?,
        name_len: fields.u16()?,
        extra_len: fields.u16()?,
    })
}

/// Bytes of a local header before name and extra.
pub(super) const LOCAL_LEN: usize = 30;
/// Bytes of a central header before name, extra and comment.
pub(super) const CENTRAL_LEN: usize = 46;
/// Bytes of an end record before its comment.
pub(super) const END_LEN: u64 = 22;
/// Bytes of a ZIP64 end record without extensible data.
pub(super) const END64_LEN: usize = 56;
/// Bytes of a ZIP64 locator.
pub(super) const LOCATOR64_LEN: usize = 20;

/// A local header's fixed part, or none where its signature isn't there.
pub(super) fn local(bytes: &[u8]) -> Option<Shared> {
    let mut fields = Fields(bytes);
    (fields.bytes(4)? == LOCAL).then_some(())?;
    shared(&mut fields)
}

/// A central header's fixed part.
#[derive(Debug, Clone, Copy)]
pub(super) struct Central {
    pub(super) made_by: u16,
    pub(super) shared: Shared,
    pub(super) comment_len: u16,
    pub(super) disk: u16,
    pub(super) internal: u16,
    pub(super) external: u32,
    pub(super) offset: u32,
}

/// A central header's fixed part, or none where its signature isn't there.
pub(super) fn central(bytes: &[u8]) -> Option<Central> {
    let mut fields = Fields(bytes);
    (fields.bytes(4)? == CENTRAL).then_some(())?;
    Some(Central {
        made_by: fields.u16()?,
        shared: shared(&mut fields)?,
        comment_len: fields.u16()?,
        disk: fields.u16()?,
        internal: fields.u16()?,
        external: fields.u32()?,
        offset: fields.u32()?,
    })
}

/// What an end record says, plain or ZIP64.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct End {
    pub(super) disk: u64,
    pub(super) directory_disk: u64,
    pub(super) entries_here: u64,
    pub(super) entries: u64,
    pub(super) directory_size: u64,
    pub(super) directory_offset: u64,
}

/// A plain end record with the length of its comment.
pub(super) fn end(bytes: &[u8]) -> Option<(End, u16)> {
    let mut fields = Fields(bytes);
    (fields.bytes(4)? == END).then_some(())?;
    let end = End {
        disk: fields.u16()?.into(),
        directory_disk: fields.u16()?.into(),
        entries_here: fields.u16()?.into(),
        entries: fields.u16()?.into(),
        directory_size: fields.u32()?.into(),
        directory_offset: fields.u32()?.into(),
    };
    Some((end, fields.u16()?))
}

/// A ZIP64 end record with its own size field, or none where its signature isn't there.
pub(super) fn end64(bytes: &[u8]) -> Option<(End, u64)> {
    let mut fields = Fields(bytes);
    (fields.bytes(4)? == END64).then_some(())?;
    let size = fields.u64()?;
    let _made_by_and_needed = fields.u32()?;
    let end = End {
        disk: fields.u32()?.into(),
        directory_disk: fields.u32()?.into(),
        entries_here: fields.u64()?,
        entries: fields.u64()?,
        directory_size: fields.u64()?,
        directory_offset: fields.u64()?,
    };
    Some((end, size))
}
