//! Makes ZIPs field by field: a valid archive, then any field of any record changed.
//!
//! Nothing is checked or repaired. [`Zip::of`] lays records out and fills in what follows from that; whatever is
//! changed later is written as it stands. Layouts: APPNOTE 6.3.10, sections 4.3.7 to 4.3.16.

use std::io::Write as _;

use flate2::Compression;
use flate2::write::DeflateEncoder;

/// Bit 3: a data descriptor follows.
pub(crate) const DESCRIPTOR_FOLLOWS: u16 = 8;
/// Bit 11: name and comment are UTF-8.
pub(crate) const UTF8: u16 = 1 << 11;

/// The fields that a local and a central header share, with name and extra fields.
#[derive(Clone)]
pub(crate) struct Header {
    pub(crate) signature: [u8; 4],
    pub(crate) version: u16,
    pub(crate) flags: u16,
    pub(crate) method: u16,
    pub(crate) modified: u32,
    pub(crate) crc: u32,
    pub(crate) compressed: u32,
    pub(crate) plain: u32,
    pub(crate) name: Vec<u8>,
    pub(crate) extra: Vec<u8>,
}

impl Header {
    fn fixed(&self, bytes: &mut Vec<u8>) {
        put16(bytes, &[self.version, self.flags, self.method]);
        put32(bytes, &[self.modified, self.crc, self.compressed, self.plain]);
        put16(bytes, &[len16(&self.name), len16(&self.extra)]);
    }
}

/// One entry: local header, data and descriptor where the archive's records lie, central header in the directory.
#[derive(Clone)]
pub(crate) struct Record {
    /// Bytes before the local header.
    pub(crate) before: Vec<u8>,
    pub(crate) local: Header,
    pub(crate) data: Vec<u8>,
    /// Bytes behind the data.
    pub(crate) descriptor: Vec<u8>,
    pub(crate) made_by: u16,
    pub(crate) central: Header,
    pub(crate) comment: Vec<u8>,
    pub(crate) disk: u16,
    pub(crate) internal: u16,
    pub(crate) external: u32,
    pub(crate) offset: u32,
}

impl Record {
    fn new(name: impl AsRef<[u8]>, content: &[u8], method: u16) -> Self {
        let name = name.as_ref().to_vec();
        let data = if method == 8 { deflate(content) } else { content.to_vec() };
        let local = Header {
            signature: *b"PK\x03\x04",
            version: 20,
            flags: if name.is_ascii() || std::str::from_utf8(&name).is_err() { 0 } else { UTF8 },
            method,
            modified: 0x0021_0000,
            crc: crc32fast::hash(content),
            compressed: u32::try_from(data.len()).unwrap(),
            plain: u32::try_from(content.len()).unwrap(),
            name,
            extra: Vec::new(),
        };
        let central = Header { signature: *b"PK\x01\x02", ..local.clone() };
        let external = 0o100_644 << 16;
        let (before, descriptor, comment) = Default::default();
        let (made_by, disk, internal, offset) = (0x0314, 0, 0, 0);
        Self { before, local, data, descriptor, made_by, central, comment, disk, internal, external, offset }
    }

    /// A regular file, kept as it is.
    pub(crate) fn stored(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self::new(name, content, 0)
    }

    /// A regular file, deflated.
    pub(crate) fn deflated(name: impl AsRef<[u8]>, content: &[u8]) -> Self {
        Self::new(name, content, 8)
    }

    /// The same change in both headers.
    pub(crate) fn both(&mut self, change: impl Fn(&mut Header)) {
        change(&mut self.local);
        change(&mut self.central);
    }

    /// The same entry with other data; sizes follow, the CRC doesn't.
    pub(crate) fn put_data(&mut self, data: &[u8]) {
        self.data = data.to_vec();
        let compressed = u32::try_from(data.len()).unwrap();
        self.both(|header| header.compressed = compressed);
    }

    /// The same entry with its CRC and sizes in a descriptor behind the data.
    pub(crate) fn with_descriptor(mut self) -> Self {
        self.both(|header| header.flags |= DESCRIPTOR_FOLLOWS);
        self.descriptor = b"PK\x07\x08".to_vec();
        put32(&mut self.descriptor, &[self.central.crc, self.central.compressed, self.central.plain]);
        Self { local: Header { crc: 0, compressed: 0, plain: 0, ..self.local }, ..self }
    }

    /// The same entry with its sizes in ZIP64 fields, whatever they are.
    pub(crate) fn with_zip64(mut self) -> Self {
        let sizes = [self.central.plain, self.central.compressed].map(|size| u64::from(size).to_le_bytes()).concat();
        self.both(|header| {
            header.extra.extend(field(1, &sizes));
            (header.plain, header.compressed) = (u32::MAX, u32::MAX);
        });
        self
    }
}

/// The ZIP64 end record.
#[derive(Clone)]
pub(crate) struct End64 {
    pub(crate) signature: [u8; 4],
    pub(crate) size: u64,
    pub(crate) versions: [u16; 2],
    pub(crate) disks: [u32; 2],
    /// Entries on this disk, entries, directory size, directory offset.
    pub(crate) values: [u64; 4],
    pub(crate) extensible: Vec<u8>,
}

/// The ZIP64 locator.
#[derive(Clone)]
pub(crate) struct Locator64 {
    pub(crate) signature: [u8; 4],
    pub(crate) disk: u32,
    pub(crate) offset: u64,
    pub(crate) disks: u32,
}

/// The end record.
#[derive(Clone)]
pub(crate) struct End {
    pub(crate) signature: [u8; 4],
    pub(crate) disks: [u16; 2],
    /// Entries on this disk, entries.
    pub(crate) counts: [u16; 2],
    pub(crate) directory_size: u32,
    pub(crate) directory_offset: u32,
    pub(crate) comment_len: u16,
    pub(crate) comment: Vec<u8>,
}

/// A whole archive.
#[derive(Clone)]
pub(crate) struct Zip {
    pub(crate) records: Vec<Record>,
    /// Bytes between the last record and the directory.
    pub(crate) before_directory: Vec<u8>,
    pub(crate) end64: Option<(End64, Locator64)>,
    pub(crate) end: End,
    /// Bytes behind everything.
    pub(crate) after: Vec<u8>,
}

impl Zip {
    /// A valid archive of these records.
    pub(crate) fn of(records: impl Into<Vec<Record>>) -> Self {
        let end = End {
            signature: *b"PK\x05\x06",
            disks: [0; 2],
            counts: [0; 2],
            directory_size: 0,
            directory_offset: 0,
            comment_len: 0,
            comment: Vec::new(),
        };
        let (before_directory, after) = Default::default();
        let mut zip = Self { records: records.into(), before_directory, end64: None, end, after };
        zip.lay_out();
        zip
    }

    /// The same archive with ZIP64 end records.
    pub(crate) fn with_end64(mut self) -> Self {
        let locator = Locator64 { signature: *b"PK\x06\x07", disk: 0, offset: 0, disks: 1 };
        let (versions, disks, values) = ([45; 2], [0; 2], [0; 4]);
        let end64 = End64 { signature: *b"PK\x06\x06", size: 44, versions, disks, values, extensible: Vec::new() };
        self.end64 = Some((end64, locator));
        self.lay_out();
        self.end.counts = [u16::MAX; 2];
        self.end.directory_offset = u32::MAX;
        self
    }

    /// Sets every offset, count and size to what the records now take.
    pub(crate) fn lay_out(&mut self) {
        let mut at = 0;
        for record in &mut self.records {
            at += record.before.len();
            record.offset = u32::try_from(at).unwrap();
            at += 30 + record.local.name.len() + record.local.extra.len() + record.data.len() + record.descriptor.len();
        }
        let directory = at + self.before_directory.len();
        let size = self.directory().len();
        self.end.directory_offset = u32::try_from(directory).unwrap();
        self.end.directory_size = u32::try_from(size).unwrap();
        self.end.counts = [u16::try_from(self.records.len()).unwrap(); 2];
        self.end.comment_len = len16(&self.end.comment);
        if let Some((end64, locator)) = &mut self.end64 {
            let count = self.records.len() as u64;
            end64.values = [count, count, size as u64, directory as u64];
            locator.offset = (directory + size) as u64;
        }
    }

    fn directory(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            let header = &record.central;
            bytes.extend(header.signature);
            put16(&mut bytes, &[record.made_by]);
            header.fixed(&mut bytes);
            put16(&mut bytes, &[len16(&record.comment), record.disk, record.internal]);
            put32(&mut bytes, &[record.external, record.offset]);
            bytes.extend([&header.name[..], &header.extra, &record.comment].concat());
        }
        bytes
    }

    /// The file.
    pub(crate) fn bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        for record in &self.records {
            bytes.extend(&record.before);
            bytes.extend(record.local.signature);
            record.local.fixed(&mut bytes);
            bytes.extend([&record.local.name[..], &record.local.extra, &record.data, &record.descriptor].concat());
        }
        bytes.extend(&self.before_directory);
        bytes.extend(self.directory());
        if let Some((end64, locator)) = &self.end64 {
            bytes.extend(end64.signature);
            put64(&mut bytes, &[end64.size]);
            put16(&mut bytes, &end64.versions);
            put32(&mut bytes, &end64.disks);
            put64(&mut bytes, &end64.values);
            bytes.extend(&end64.extensible);
            bytes.extend(locator.signature);
            put32(&mut bytes, &[locator.disk]);
            put64(&mut bytes, &[locator.offset]);
            put32(&mut bytes, &[locator.disks]);
        }
        bytes.extend(self.end.signature);
        put16(&mut bytes, &self.end.disks);
        put16(&mut bytes, &self.end.counts);
        put32(&mut bytes, &[self.end.directory_size, self.end.directory_offset]);
        put16(&mut bytes, &[self.end.comment_len]);
        bytes.extend(&self.end.comment);
        bytes.extend(&self.after);
        bytes
    }
}

/// An extra field.
pub(crate) fn field(id: u16, data: &[u8]) -> Vec<u8> {
    [&id.to_le_bytes()[..], &len16(data).to_le_bytes(), data].concat()
}

/// A raw deflate stream.
pub(crate) fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(content).unwrap();
    encoder.finish().unwrap()
}

fn len16(bytes: &[u8]) -> u16 {
    u16::try_from(bytes.len()).unwrap()
}

fn put16(bytes: &mut Vec<u8>, values: &[u16]) {
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
}

fn put32(bytes: &mut Vec<u8>, values: &[u32]) {
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
}

fn put64(bytes: &mut Vec<u8>, values: &[u64]) {
    values.iter().for_each(|value| bytes.extend(value.to_le_bytes()));
}
