//! One archive for each code that a ZIP can raise: with one thing wrong it has just that finding, without it none.
#![expect(clippy::disallowed_methods, reason = "tests run the built binary")]
#![expect(clippy::unwrap_used, reason = "a test's own files and archives are in order, or it fails")]

mod support;

use std::collections::BTreeSet;

use exhibit::finding::{Code, RULES, Severity};
use exhibit::limits::Limits;
use exhibit::zip::Archive;
use support::rawzip::{DESCRIPTOR_FOLLOWS, Record, UTF8, Zip, deflate, field};
use support::run::{Folder, codes, exhibit, list, list_text};

const TEXT: &[u8] = b"some text that some readers read, and some text that some don't";

/// A valid archive and what it is with one thing wrong.
struct Row {
    code: Code,
    what: &'static str,
    twin: Vec<u8>,
    fault: Vec<u8>,
}

fn row(code: Code, what: &'static str, twin: &Zip, fault: impl FnOnce(&mut Zip)) -> Row {
    let mut changed = twin.clone();
    fault(&mut changed);
    Row { code, what, twin: twin.bytes(), fault: changed.bytes() }
}

fn bytes_row(code: Code, what: &'static str, twin: &Zip, fault: impl FnOnce(&mut Vec<u8>)) -> Row {
    let mut changed = twin.bytes();
    fault(&mut changed);
    Row { code, what, twin: twin.bytes(), fault: changed }
}

/// For changes of length: everything that follows from them is set anew.
fn laid_out(code: Code, what: &'static str, twin: &Zip, fault: impl FnOnce(&mut Zip)) -> Row {
    row(code, what, twin, |zip| {
        fault(zip);
        zip.lay_out();
    })
}

/// For changes of the only entry.
fn entry(code: Code, what: &'static str, record: Record, fault: impl FnOnce(&mut Record)) -> Row {
    laid_out(code, what, &Zip::of([record]), |zip| fault(&mut zip.records[0]))
}

fn file() -> Record {
    Record::deflated("a.txt", TEXT)
}

fn one() -> Zip {
    Zip::of([file()])
}

fn two() -> Zip {
    Zip::of([file(), Record::deflated("b.txt", b"another content")])
}

fn with_comment(comment: &[u8]) -> Zip {
    let mut zip = one();
    zip.end.comment = comment.to_vec();
    zip.lay_out();
    zip
}

fn end_rows() -> Vec<Row> {
    let ambiguous = with_comment(&[b'x'; 22]);
    let entry_comment = {
        let mut zip = one();
        zip.records[0].comment = b"PK\x01\x00".to_vec();
        zip.lay_out();
        zip
    };
    vec![
        bytes_row(Code::ZipEndMissing, "no end record", &one(), |bytes| bytes.truncate(bytes.len() - 22)),
        row(Code::ZipEndMissing, "another signature", &one(), |zip| zip.end.signature = *b"PK\x05\x00"),
        row(Code::ZipEndAmbiguous, "an end record in the comment", &ambiguous, |zip| {
            let inner = Zip::of([]).bytes();
            zip.end.comment = inner;
        }),
        row(Code::ZipTrailingBytes, "a byte behind the end", &one(), |zip| zip.after = b"x".to_vec()),
        row(Code::ZipTrailingBytes, "comment length 1 short", &with_comment(b"hi"), |zip| zip.end.comment_len = 1),
        row(Code::ZipCommentOverrun, "comment length 1 over", &with_comment(b"hi"), |zip| zip.end.comment_len = 3),
        row(Code::ZipCommentSignature, "in the archive comment", &with_comment(b"PK\x01\x00"), |zip| {
            zip.end.comment = b"PK\x01\x02".to_vec();
        }),
        row(Code::ZipCommentSignature, "in an entry's comment", &entry_comment, |zip| {
            zip.records[0].comment = b"PK\x03\x04".to_vec();
        }),
        row(Code::ZipCommentText, "not UTF-8", &with_comment(b"\xc3\xa9"), |zip| {
            zip.end.comment = b"\xc3\xc3".to_vec();
        }),
        row(Code::ZipMultiDisk, "the archive's disk", &one(), |zip| zip.end.disks[0] = 1),
        row(Code::ZipMultiDisk, "the directory's disk", &one(), |zip| zip.end.disks[1] = 1),
        row(Code::ZipMultiDisk, "an entry's disk", &one(), |zip| zip.records[0].disk = 1),
        row(Code::ZipCount, "count on this disk short", &two(), |zip| zip.end.counts[0] = 1),
        row(Code::ZipCount, "both counts short", &two(), |zip| zip.end.counts = [1; 2]),
        row(Code::ZipCount, "both counts over", &two(), |zip| zip.end.counts = [3; 2]),
        row(Code::ZipDirectoryBounds, "offset 1 over", &one(), |zip| zip.end.directory_offset += 1),
        row(Code::ZipDirectoryBounds, "size 1 short", &one(), |zip| zip.end.directory_size -= 1),
        row(Code::ZipDirectoryBounds, "size 1 over", &one(), |zip| zip.end.directory_size += 1),
        row(Code::ZipDirectoryBounds, "offset all over", &one(), |zip| zip.end.directory_offset = u32::MAX - 1),
        row(Code::ZipDirectoryRecord, "another signature", &two(), |zip| zip.records[1].central.signature[3] = 3),
        bytes_row(Code::ZipDirectoryRecord, "a byte behind the records", &one(), |bytes| {
            let end = bytes.len() - 22;
            bytes[end + 12] += 1;
            bytes.insert(end, b'x');
        }),
    ]
}

fn zip64_rows() -> Vec<Row> {
    let wide = two().with_end64();
    let sizes = |record: Record| Zip::of([record.with_zip64()]);
    vec![
        row(Code::Zip64Locator, "none, with a field of all ones", &two(), |zip| zip.end.directory_offset = u32::MAX),
        row(Code::Zip64Locator, "one, without a field of all ones", &wide, |zip| {
            zip.end.counts = [2; 2];
            zip.end.directory_offset = u32::try_from(zip.end64.as_ref().unwrap().0.values[3]).unwrap();
        }),
        row(Code::Zip64Locator, "points elsewhere", &wide, |zip| zip.end64.as_mut().unwrap().1.offset -= 1),
        row(Code::Zip64Locator, "another signature", &wide, |zip| zip.end64.as_mut().unwrap().1.signature[3] = 8),
        row(Code::Zip64Locator, "extensible data", &wide, |zip| {
            let end64 = &mut zip.end64.as_mut().unwrap().0;
            end64.extensible = b"hidden".to_vec();
            end64.size += 6;
        }),
        row(Code::Zip64EndRecord, "another signature", &wide, |zip| zip.end64.as_mut().unwrap().0.signature[3] = 7),
        row(Code::Zip64EndRecord, "another size", &wide, |zip| zip.end64.as_mut().unwrap().0.size = 45),
        row(Code::Zip64ValueDiffers, "directory size", &wide, |zip| zip.end.directory_size -= 1),
        row(Code::Zip64ValueDiffers, "a count", &wide, |zip| zip.end.counts[0] = 1),
        row(Code::ZipMultiDisk, "ZIP64 disks", &wide, |zip| zip.end64.as_mut().unwrap().1.disks = 2),
        row(Code::ZipMultiDisk, "ZIP64 disk", &wide, |zip| {
            zip.end.disks = [u16::MAX; 2];
            zip.end64.as_mut().unwrap().0.disks = [1, 1];
        }),
        row(Code::ZipCount, "ZIP64 counts", &wide, |zip| {
            let values = &mut zip.end64.as_mut().unwrap().0.values;
            (values[0], values[1]) = (3, 3);
        }),
        row(Code::ZipDirectoryBounds, "ZIP64 offset", &wide, |zip| zip.end64.as_mut().unwrap().0.values[3] = u64::MAX),
        laid_out(Code::Zip64Extra, "not there", &sizes(file()), |zip| zip.records[0].central.extra.clear()),
        laid_out(Code::Zip64Extra, "not asked for", &one(), |zip| zip.records[0].central.extra = field(1, &[0; 8])),
        laid_out(Code::Zip64Extra, "too long", &sizes(file()), |zip| {
            zip.records[0].central.extra[2] += 8;
            zip.records[0].central.extra.extend([0; 8]);
        }),
        laid_out(Code::Zip64Extra, "one size only in the local record", &sizes(file()), |zip| {
            let local = &mut zip.records[0].local;
            local.extra = field(1, &u64::try_from(TEXT.len()).unwrap().to_le_bytes());
            local.compressed = u32::try_from(deflate(TEXT).len()).unwrap();
        }),
    ]
}

fn layout_rows() -> Vec<Row> {
    let nested = {
        let inner = Zip::of([Record::stored("inner", b"inner")]);
        let length = usize::try_from(inner.end.directory_offset).unwrap();
        Zip::of([Record::stored("outer", &inner.bytes()[..length]), Record::stored("inner", b"inner")])
    };
    let stray = Record::stored("stray", b"stray");
    let stray_local = {
        let zip = Zip::of([stray]);
        zip.bytes()[..usize::try_from(zip.end.directory_offset).unwrap()].to_vec()
    };
    vec![
        laid_out(Code::ZipPrefix, "bytes that the offsets count", &one(), |zip| {
            zip.records[0].before = b"#!/bin/sh\n".to_vec();
        }),
        bytes_row(Code::ZipPrefix, "bytes that the offsets don't count", &one(), |bytes| {
            bytes.splice(0..0, *b"#!/bin/sh\n");
        }),
        laid_out(Code::ZipGap, "between records", &two(), |zip| zip.records[1].before = b"x".to_vec()),
        laid_out(Code::ZipGap, "before the directory", &one(), |zip| zip.before_directory = b"x".to_vec()),
        laid_out(Code::ZipGap, "behind the data of a stored entry", &Zip::of([Record::stored("a", b"a")]), |zip| {
            zip.records[0].descriptor = b"PK\x07\x08".to_vec();
        }),
        laid_out(Code::ZipHiddenEntry, "first", &one(), |zip| zip.records[0].before.clone_from(&stray_local)),
        laid_out(Code::ZipHiddenEntry, "between", &two(), |zip| zip.records[1].before.clone_from(&stray_local)),
        laid_out(Code::ZipHiddenEntry, "last", &one(), |zip| zip.before_directory.clone_from(&stray_local)),
        row(Code::ZipOverlap, "two entries share a record", &two(), |zip| zip.records[1].offset = 0),
        row(Code::ZipOverlap, "an entry in another's data", &nested, |zip| zip.records[1].offset = 35),
        row(Code::ZipOverlap, "data over the directory", &Zip::of([Record::stored("a", b"a")]), |zip| {
            zip.records[0].both(|header| (header.compressed, header.plain) = (50, 50));
        }),
        bytes_row(Code::ZipOverlap, "local extra fields over the directory", &one(), |bytes| bytes[29] = 1),
        row(Code::ZipLocalMissing, "another signature", &one(), |zip| zip.records[0].local.signature[3] = 5),
        row(Code::ZipLocalMissing, "first offset 1 over", &two(), |zip| zip.records[0].offset += 1),
        row(Code::ZipLocalMissing, "offset 1 over", &two(), |zip| zip.records[1].offset += 1),
        row(Code::ZipLocalMissing, "offset far beyond", &two(), |zip| zip.records[0].offset = u32::MAX - 1),
    ]
}

fn twice_told_rows() -> Vec<Row> {
    let with_descriptor = file().with_descriptor();
    let wide_descriptor = {
        let mut record = file().with_zip64();
        let sizes = [record.data.len(), TEXT.len()].map(|size| (size as u64).to_le_bytes()).concat();
        record.descriptor = [b"PK\x07\x08", &record.local.crc.to_le_bytes()[..], &sizes].concat();
        record.both(|header| header.flags |= DESCRIPTOR_FOLLOWS);
        record
    };
    vec![
        entry(Code::ZipNameDiffers, "in the local record", file(), |record| record.local.name = b"b.txt".to_vec()),
        entry(Code::ZipMethodDiffers, "stored locally", file(), |record| record.local.method = 0),
        entry(Code::ZipFlagsDiffer, "level", file(), |record| record.local.flags = 2),
        entry(Code::ZipFlagsDiffer, "UTF-8", file(), |record| record.local.flags = UTF8),
        entry(Code::ZipFlagsDiffer, "descriptor in the central record only", file(), |record| {
            record.central.flags = DESCRIPTOR_FOLLOWS;
            record.descriptor = file().with_descriptor().descriptor;
        }),
        entry(Code::ZipFlagsDiffer, "encrypted locally", file(), |record| record.local.flags = 1),
        entry(Code::ZipSizeDiffers, "plain", file(), |record| record.local.plain += 1),
        entry(Code::ZipSizeDiffers, "compressed", file(), |record| record.local.compressed -= 1),
        entry(Code::ZipSizeDiffers, "zero without descriptor", file(), |record| record.local.compressed = 0),
        entry(Code::ZipSizeDiffers, "one zero before a descriptor", with_descriptor.clone(), |record| {
            record.local.compressed = record.central.compressed;
        }),
        entry(Code::ZipSizeDiffers, "in the descriptor", with_descriptor.clone(), |record| record.descriptor[8] += 1),
        entry(Code::ZipSizeDiffers, "ZIP64", file().with_zip64(), |record| record.local.extra[4] += 1),
        entry(Code::ZipCrcDiffers, "in the local record", file(), |record| record.local.crc ^= 1),
        entry(Code::ZipCrcDiffers, "zero without descriptor", file(), |record| record.local.crc = 0),
        entry(Code::ZipCrcDiffers, "in the descriptor", with_descriptor.clone(), |record| record.descriptor[4] ^= 1),
        entry(Code::ZipTimeDiffers, "DOS time", file(), |record| record.local.modified += 1),
        entry(Code::ZipTimeDiffers, "Unix time", times(), |record| {
            record.local.extra = field(0x5455, &[1, 1, 0, 0, 9]);
        }),
        entry(Code::ZipTimeDiffers, "Unix time of access taken for the other", times(), |record| {
            record.local.extra = field(0x5455, &[2, 0, 0, 0, 9]);
        }),
        entry(Code::ZipVersionDiffers, "10 and 20", file(), |record| record.local.version = 10),
        entry(Code::ZipDescriptor, "without signature", with_descriptor.clone(), |record| {
            record.descriptor.drain(..4);
        }),
        entry(Code::ZipDescriptor, "not there", with_descriptor.clone(), |record| record.descriptor.clear()),
        entry(Code::ZipDescriptor, "short where ZIP64 makes it long", wide_descriptor, |record| {
            record.descriptor.clone_from(&with_descriptor.descriptor);
        }),
        entry(Code::ZipDescriptorStored, "stored", with_descriptor.clone(), |record| {
            *record = Record::stored("a.txt", TEXT).with_descriptor();
        }),
    ]
}

fn extra_rows() -> Vec<Row> {
    vec![
        entry(Code::ZipExtraMalformed, "central", file(), |record| record.central.extra = vec![9, 0, 1]),
        entry(Code::ZipExtraMalformed, "local", file(), |record| record.local.extra = vec![9, 0, 1, 0]),
        entry(Code::ZipExtraMalformed, "both", file(), |record| record.both(|header| header.extra = vec![9])),
        entry(Code::ZipExtraRepeated, "both", with_extra(&field(9, b"a")), |record| {
            record.both(|header| header.extra.extend(field(9, b"a")));
        }),
        entry(Code::ZipExtraRepeated, "sizes in the local record", file().with_zip64(), |record| {
            record.local.extra.extend(field(1, &[0; 16]));
        }),
        entry(Code::ZipExtraDiffers, "in the local record", with_extra(&field(9, b"a")), |record| {
            record.local.extra = field(9, b"b");
        }),
        entry(Code::ZipExtraDiffers, "libarchive's attributes", libarchive(0o100_644), |record| {
            record.local.extra = libarchive(0o120_777).local.extra;
        }),
        entry(
            Code::ZipExtraDiffers,
            "old Unix times",
            with_extra(&field(0x5855, &[1, 0, 0, 0, 2, 0, 0, 0])),
            |record| {
                record.local.extra = field(0x5855, &[1, 0, 0, 0, 3, 0, 0, 0, 0, 0, 0, 0]);
            },
        ),
        entry(Code::ZipExtraDiffers, "a link by ASi Unix", asi_unix(0o100_644, b""), |record| {
            *record = asi_unix(0o100_644, b"/etc/passwd");
            record.local.extra.clear();
        }),
        entry(
            Code::ZipExtraDiffers,
            "a folder by ASi Unix alone",
            Record { external: 0, ..asi_unix(0o100_644, b"") },
            |record| {
                record.central.extra = asi_unix(0o040_755, b"").central.extra;
                record.local.extra.clear();
            },
        ),
        entry(Code::ZipExtraDiffers, "another mode by ASi Unix", asi_unix(0o100_644, b""), |record| {
            record.central.extra = asi_unix(0o104_755, b"").central.extra;
            record.local.extra.clear();
        }),
        entry(Code::ZipUnicodePath, "another name", unicode_path(b"a.txt", b"a.txt"), |record| {
            record.central.extra = unicode_path(b"a.txt", b"b.txt").central.extra;
        }),
        entry(Code::ZipUnicodePath, "made for another name", unicode_path(b"a.txt", b"a.txt"), |record| {
            record.central.extra = unicode_path(b"b.txt", b"a.txt").central.extra;
        }),
        entry(Code::ZipUnicodePath, "version 2", unicode_path(b"a.txt", b"a.txt"), |record| {
            record.central.extra[4] = 2;
        }),
        entry(Code::ZipUnicodePath, "local only", unicode_path(b"a.txt", b"a.txt"), |record| {
            record.local.extra = unicode_path(b"a.txt", b"b.txt").local.extra;
            record.central.extra.clear();
        }),
    ]
}

fn times() -> Record {
    with_extra(&field(0x5455, &[1, 0, 0, 0, 9]))
}

fn with_extra(extra: &[u8]) -> Record {
    let mut record = file();
    record.both(|header| header.extra = extra.to_vec());
    record
}

fn asi_unix(mode: u16, target: &[u8]) -> Record {
    let length = u32::try_from(target.len()).unwrap().to_le_bytes();
    let mut record = with_extra(&field(0x756E, &[&[0; 4], &mode.to_le_bytes()[..], &length, &[0; 4], target].concat()));
    record.external = 0o100_644 << 16;
    record
}

fn unicode_path(made_for: &[u8], says: &[u8]) -> Record {
    with_extra(&field(0x7075, &[&[1], &crc32fast::hash(made_for).to_le_bytes()[..], says].concat()))
}

/// libarchive's local copy of the external attributes.
fn libarchive(mode: u32) -> Record {
    let mut record = file();
    record.local.extra = field(0x6C78, &[&[4], &(mode << 16).to_le_bytes()[..]].concat());
    record
}

fn entry_rows() -> Vec<Row> {
    vec![
        entry(Code::ZipMethodUnsupported, "bzip2", file(), |record| record.both(|header| header.method = 12)),
        entry(Code::ZipVersionNeeded, "in the high byte", file(), |record| {
            record.both(|header| header.version |= 0x100);
        }),
        entry(Code::ZipVersionNeeded, "6.4", file(), |record| record.both(|header| header.version = 64)),
        entry(Code::ZipEncrypted, "by its extra field", file(), |record| {
            record.central.extra = field(0x9901, b"\x02\0AE\x03\0\0");
        }),
        entry(Code::ZipEncrypted, "deflated", file(), |record| {
            record.both(|header| header.flags = 1);
            record.put_data(b"twelve bytes of header and then noise");
        }),
        entry(Code::ZipEncrypted, "stored", Record::stored("a", b"content"), |record| {
            record.both(|header| header.flags = 1);
            record.put_data(b"twelve bytes+noise!");
        }),
        entry(Code::ZipEncrypted, "strong", file(), |record| record.both(|header| header.flags = 1 << 6)),
        entry(Code::ZipEncrypted, "masked", file(), |record| record.both(|header| header.flags = 1 << 13)),
        entry(Code::ZipFlagsReserved, "bit 4", file(), |record| record.both(|header| header.flags = 1 << 4)),
        entry(Code::ZipFlagsReserved, "patch data", file(), |record| record.both(|header| header.flags = 1 << 5)),
        entry(Code::ZipFlagsReserved, "bit 15", file(), |record| record.both(|header| header.flags = 1 << 15)),
        entry(Code::ZipStoredSize, "plain 1 short", Record::stored("a", b"content"), |record| {
            record.both(|header| header.plain -= 1);
        }),
        entry(Code::ZipStoredSize, "plain 0", Record::stored("a", b"content"), |record| {
            record.both(|header| header.plain = 0);
        }),
        entry(Code::ZipDeflateBroken, "block of no type", file(), |record| record.data[0] = 0xFF),
        entry(Code::ZipDeflateBroken, "cut short", file(), |record| {
            let length = record.data.len() - 1;
            record.put_data(&deflate(TEXT)[..length]);
        }),
        entry(Code::ZipDeflateBroken, "no data at all", Record::deflated("a", b""), |record| record.put_data(b"")),
        entry(Code::ZipDeflateEnd, "a byte behind", file(), |record| {
            record.put_data(&[&deflate(TEXT)[..], b"x"].concat());
        }),
        entry(Code::ZipDeflateEnd, "a second stream", file(), |record| record.put_data(&deflate(TEXT).repeat(2))),
        entry(Code::ZipContentSize, "1 short", file(), |record| record.both(|header| header.plain -= 1)),
        entry(Code::ZipContentSize, "1 over", file(), |record| record.both(|header| header.plain += 1)),
        entry(Code::ZipContentSize, "0", file(), |record| record.both(|header| header.plain = 0)),
        entry(Code::ZipContentCrc, "deflated", file(), |record| record.both(|header| header.crc ^= 1)),
        entry(Code::ZipContentCrc, "stored", Record::stored("a", b"content"), |record| record.data[0] ^= 1),
    ]
}

fn attribute_rows() -> Vec<Row> {
    let folder = |name: &str| {
        let mut record = Record::stored(name, b"");
        record.external = 0o040_755 << 16 | 0x10;
        record
    };
    let mode = |record: &mut Record, mode: u32| record.external = mode << 16;
    vec![
        entry(Code::ZipFolderData, "stored", folder("d/"), |record| {
            *record = Record { external: record.external, ..Record::stored("d/", b"data") };
        }),
        entry(Code::ZipFolderData, "deflated", folder("d/"), |record| {
            *record = Record { external: record.external, ..Record::deflated("d/", b"data") };
        }),
        entry(Code::ZipFolderAttribute, "DOS folder", file(), |record| record.external |= 0x10),
        entry(Code::ZipFolderAttribute, "Unix folder", file(), |record| mode(record, 0o040_755)),
        entry(Code::ZipFolderAttribute, "Unix file", folder("d/"), |record| mode(record, 0o100_755)),
        entry(Code::ZipFolderAttribute, "Unix folder made by another host", file(), |record| {
            record.made_by = 20;
            mode(record, 0o040_755);
        }),
        entry(Code::ZipLink, "by its extra field", file(), |record| {
            record.central.extra = field(0x000D, b"\0\0\0\0\0\0\0\0\0\0\0\0/etc/passwd");
        }),
        entry(Code::ZipLink, "link", Record::stored("a", b"/etc/passwd"), |record| mode(record, 0o120_777)),
        entry(Code::ZipSpecialFile, "pipe", Record::stored("a", b""), |record| mode(record, 0o010_644)),
        entry(Code::ZipSpecialFile, "device", Record::stored("a", b""), |record| mode(record, 0o060_644)),
        entry(Code::ZipLink, "by its DOS attributes", Record::stored("a", b""), |record| record.external |= 0x400),
        entry(Code::ZipSpecialFile, "device by its DOS attributes", Record::stored("a", b""), |record| {
            record.external |= 0x40;
        }),
        entry(Code::ZipSpecialFile, "volume label", Record::stored("a", b""), |record| record.external |= 8),
        entry(Code::ZipModeBits, "setuid", file(), |record| mode(record, 0o104_755)),
        entry(Code::ZipModeBits, "setgid", file(), |record| mode(record, 0o102_755)),
        entry(Code::ZipModeBits, "sticky", file(), |record| mode(record, 0o101_755)),
        entry(Code::ModeWorldWritable, "0666", file(), |record| mode(record, 0o100_666)),
    ]
}

fn size_rows() -> Vec<Row> {
    // Zeros deflate to a thousandth. Too much for one entry, and too much in all.
    let zeros = |name: &str, size: usize| Record::deflated(name, &vec![0; size]);
    let half = |name: &str| zeros(name, 33 << 20);
    vec![
        entry(Code::ZipRatio, "one entry", zeros("zeros", 64 << 20), |record| {
            *record = zeros("zeros", (64 << 20) + 1);
        }),
        laid_out(Code::ZipRatio, "all entries", &Zip::of([half("a")]), |zip| zip.records.push(half("b"))),
        entry(Code::ZipTooLarge, "one entry, by its own account", file().with_zip64(), |record| {
            let sizes = [(64u64 << 30) + 1, record.data.len() as u64].map(u64::to_le_bytes).concat();
            record.both(|header| header.extra = field(1, &sizes));
        }),
    ]
}

fn name_rows() -> Vec<Row> {
    let name = |code, what, name: &[u8]| entry(code, what, file(), |record| *record = Record::deflated(name, TEXT));
    let pair = |code, what, first: &str, second: &str| {
        let record = |name: &str| {
            let mut record = Record::deflated(name, b"");
            if name.ends_with('/') {
                record = Record { external: 0o040_755 << 16, ..Record::stored(name, b"") };
            }
            record
        };
        laid_out(code, what, &Zip::of([record(first)]), |zip| zip.records.push(record(second)))
    };
    vec![
        name(Code::NameEncoding, "not UTF-8", b"caf\xe9"),
        entry(Code::NameEncoding, "UTF-8 not flagged", Record::deflated("café", TEXT), |record| {
            record.both(|header| header.flags = 0);
        }),
        entry(Code::NameEncoding, "flagged and not UTF-8", Record::deflated("café", TEXT), |record| {
            record.both(|header| header.name = b"caf\xe9".to_vec());
        }),
        name(Code::NameUnsafe, "empty", b""),
        name(Code::NameUnsafe, "climbs", b"../a"),
        name(Code::NameUnsafe, "absolute", b"/a"),
        name(Code::NameUnsafe, "drive", b"C:a"),
        name(Code::NameUnsafe, "backslash", b"a\\b"),
        name(Code::NameUnsafe, "NUL", b"a\0b"),
        name(Code::NameUnsafe, "two slashes", b"a//b"),
        name(Code::NameUnportable, "question mark", b"a?"),
        name(Code::NameUnportable, "device", b"aux.txt"),
        name(Code::NameUnportable, "dot at the end", b"a."),
        name(Code::NameUnportable, "a part of 256 bytes", &[b'a'; 256]),
        name(Code::NameControl, "escape", b"a\x1b[2J"),
        name(Code::NameControl, "right-to-left", "a\u{202e}txt".as_bytes()),
        name(Code::NameNotNfc, "NFD", "cafe\u{301}".as_bytes()),
        pair(Code::NameDuplicate, "file", "a", "a"),
        pair(Code::NameDuplicate, "folder", "d/", "d/"),
        pair(Code::NameCollision, "case", "a", "A"),
        pair(Code::NameCollision, "case of a folder", "d/a", "D/b"),
        pair(Code::NameCollision, "full case folding", "straße", "STRASSE"),
        pair(Code::NameFileAndFolder, "file above a file", "a", "a/b"),
        pair(Code::NameFileAndFolder, "file and folder", "a", "a/"),
        pair(Code::NameLookalike, "circled digit", "①é", "1é"),
        name(Code::NameForeign, "resource fork", b"d/._a"),
        name(Code::NameForeign, "macOS", b"__MACOSX/a"),
        name(Code::NameForeign, "git", b".git/config"),
    ]
}

fn rows() -> Vec<Row> {
    let groups = [
        end_rows(),
        zip64_rows(),
        layout_rows(),
        twice_told_rows(),
        extra_rows(),
        entry_rows(),
        attribute_rows(),
        size_rows(),
        name_rows(),
    ];
    groups.into_iter().flatten().collect()
}

#[test]
fn each_fault_has_its_code_alone_and_its_twin_none() {
    let folder = Folder::new();
    let mut wrong = Vec::new();
    for Row { code, what, twin, fault } in rows() {
        let listed = list(&[folder.file("twin.zip", &twin)]);
        let report = &listed.reports[0];
        if (listed.code, codes(report, "findings"), codes(report, "warnings")) != (0, vec![], vec![]) {
            wrong.push(format!("{code}, {what}, twin: exit {}, {}", listed.code, report["findings"]));
        }
        let listed = list(&[folder.file("fault.zip", &fault)]);
        let report = &listed.reports[0];
        let (exit, verdict, findings, warnings) = match code.rule().severity {
            Severity::Error => (1, "reject", vec![code.name().to_owned()], vec![]),
            Severity::Warning => (0, "accept", vec![], vec![code.name().to_owned()]),
        };
        let found = (codes(report, "findings"), codes(report, "warnings"));
        if (listed.code, report["verdict"].as_str(), &found) != (exit, Some(verdict), &(findings, warnings)) {
            wrong.push(format!("{code}, {what}: exit {}, {found:?}\n    {}", listed.code, report["findings"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Codes that have their own test below, and why.
const ELSEWHERE: [(Code, &str); 1] =
    [(Code::ZipNotCanonical, "raised where an archive claims the form, which `list` doesn't ask: tests/canonical.rs")];

#[test]
fn each_code_of_zips_has_a_fixture() {
    let have: BTreeSet<Code> = rows().iter().map(|row| row.code).chain(ELSEWHERE.map(|(code, _)| code)).collect();
    let of_zips = |name: &str| ["zip-", "zip64-", "name-", "mode-"].iter().any(|start| name.starts_with(start));
    let without: Vec<_> =
        RULES.iter().filter(|rule| of_zips(rule.name) && !have.contains(&rule.code)).map(|rule| rule.name).collect();
    assert!(without.is_empty(), "no fixture for {without:?}");
}

/// Codes of findings under lowered limits.
fn under(limits: &Limits, zip: &Zip) -> (Vec<Code>, u64) {
    let folder = Folder::new();
    let (archive, mut findings) = Archive::open(&folder.file("a.zip", &zip.bytes()), limits).unwrap();
    archive.digest_all(&|_| (), &mut findings).unwrap();
    (findings.iter().map(|finding| finding.code).collect(), findings.dropped())
}

#[test]
fn each_limit_takes_what_is_at_it_and_refuses_one_over() {
    let limits = Limits::default();
    let too_large = (vec![Code::ZipTooLarge], 0);
    let ratio = (vec![Code::ZipRatio], 0);
    let none = (vec![], 0);
    let entries = |max_entries| under(&Limits { max_entries, ..limits.clone() }, &two());
    assert_eq!((entries(2), entries(1), entries(0)), (none.clone(), too_large.clone(), too_large.clone()));

    let length = TEXT.len() as u64;
    let content = |max_content| under(&Limits { max_content, ..limits.clone() }, &one());
    assert_eq!((content(length), content(length - 1)), (none.clone(), too_large.clone()));

    let both = length + "another content".len() as u64;
    let total = |max_total| under(&Limits { max_total, ..limits.clone() }, &two());
    assert_eq!((total(both), total(both - 1)), (none.clone(), too_large.clone()));
    // What is too large alone is not counted again.
    let lower = Limits { max_content: length - 1, max_total: 15, ..limits.clone() };
    assert_eq!(under(&lower, &two()), too_large);

    let zeros = Zip::of([Record::deflated("zeros", &[0; 5000])]);
    let stored = u64::from(zeros.records[0].central.compressed);
    let factor = |max_ratio, ratio_floor| under(&Limits { max_ratio, ratio_floor, ..limits.clone() }, &zeros);
    assert_eq!((factor(1, 5000), factor(1, 4999)), (none.clone(), ratio.clone()));
    assert_eq!((factor(5000u64.div_ceil(stored), 0), factor(5000 / stored, 0)), (none.clone(), ratio));
    let exact = Zip::of([Record::stored("a", &[0; 5000])]);
    assert_eq!(under(&Limits { max_ratio: 1, ratio_floor: 0, ..limits.clone() }, &exact), none);

    let bad: Vec<Record> = (0..5).map(|index| Record::stored(format!("{index}?"), b"")).collect();
    let kept = |max_findings| {
        let (codes, dropped) = under(&Limits { max_findings, ..limits.clone() }, &Zip::of(bad.clone()));
        (codes.len(), dropped)
    };
    assert_eq!([kept(6), kept(5), kept(4), kept(1), kept(0)], [(5, 0), (5, 0), (4, 1), (1, 4), (0, 5)]);
}

#[test]
fn a_dropped_finding_still_refuses() {
    let folder = Folder::new();
    let path = folder.file("a.zip", &with_comment(b"PK\x01\x02").bytes());
    let limits = Limits { max_findings: 0, ..Limits::default() };
    let (archive, findings) = Archive::open(&path, &limits).unwrap();
    assert!(!findings.none_broken() && archive.entries().is_empty());
}

#[test]
fn more_findings_than_are_shown_are_counted() {
    let records: Vec<Record> = (0..1001).map(|index| Record::stored(format!("{index}?"), b"")).collect();
    let folder = Folder::new();
    let path = folder.file("a.zip", &Zip::of(records).bytes());
    let listed = list(&[&path]);
    let report = &listed.reports[0];
    assert_eq!((listed.code, codes(report, "findings").len(), &report["findings_not_shown"]), (1, 1000, &1.into()));
    let text = String::from_utf8(list_text(&path).stdout).unwrap();
    assert!(text.contains("and 1 more that are not shown\n"));
}

#[test]
fn names_at_their_limit_are_taken() {
    let name = |length: usize| {
        let mut name = format!("{}/", "n".repeat(99)).repeat(length / 100 + 1);
        name.truncate(length);
        name
    };
    for (name, want) in [
        ("p".repeat(255), None),
        ("p".repeat(256), Some(Code::NameUnportable)),
        (name(4096), None),
        (name(4097), Some(Code::NameUnportable)),
        (name(60_001), Some(Code::NameUnportable)),
    ] {
        let found = under(&Limits::default(), &Zip::of([Record::deflated(&name, TEXT)]));
        assert_eq!(found.0, want.into_iter().collect::<Vec<_>>(), "{} bytes", name.len());
    }
}

#[test]
fn a_hostile_name_shows_escaped_and_stays_whole_in_json() {
    let folder = Folder::new();
    let hostile = "a\x1b[2J\u{202e}\r\nfake.zip: accept";
    let zip = Zip::of([Record::deflated(hostile, TEXT), Record::deflated(b"\xff\x1b]0;x\x07", TEXT)]);
    let path = folder.file("a.zip", &zip.bytes());
    let output = list_text(&path);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), output.stderr.len()), (Some(1), 0));
    assert!(!text.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "{text:?}");
    assert!(!text.lines().any(|line| line.starts_with("fake.zip")), "{text}");
    assert!(text.contains("a\\u{1b}[2J\\u{202e}\\u{d}\\u{a}fake.zip: accept"), "{text}");

    let raw = exhibit(&["list".as_ref(), "--format".as_ref(), "json".as_ref(), path.as_os_str()]).output().unwrap();
    let json = String::from_utf8(raw.stdout).unwrap();
    assert!(!json.chars().any(|c| (c.is_control() && c != '\n') || c == '\u{202e}'), "raw control characters in JSON");
    let entries = list(&[path]).reports[0]["entries"].clone();
    assert_eq!((&entries[0]["name"], &entries[0]["name_base64"]), (&hostile.into(), &serde_json::Value::Null));
    assert_eq!((&entries[1]["name"], &entries[1]["name_base64"]), (&serde_json::Value::Null, &"/xtdMDt4Bw==".into()));
}

#[test]
fn text_says_verdict_code_place_and_advice_in_this_order() {
    let folder = Folder::new();
    let mut differs = one();
    differs.records[0].local.crc ^= 1;
    let mut gap = two();
    gap.records[1].before = b"x".to_vec();
    gap.lay_out();
    let foreign = Zip::of([Record::deflated("__MACOSX/a", TEXT)]);
    for (zip, verdict, exit, kind, code, place) in [
        (differs, "reject", 1, "finding", Code::ZipCrcDiffers, "a.txt, byte 0"),
        (gap.clone(), "reject", 1, "finding", Code::ZipGap, &*format!("byte {}", gap.records[1].offset - 1)),
        (foreign, "accept", 0, "warning", Code::NameForeign, "__MACOSX/a, byte 0"),
    ] {
        let path = folder.file("a b.zip", &zip.bytes());
        let output = list_text(&path);
        let text = String::from_utf8(output.stdout).unwrap();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(output.status.code(), Some(exit));
        assert!(lines[0].starts_with(&format!("{}: {verdict} (", path.display())), "{text}");
        assert!(lines[1].starts_with(&format!("{kind} {code}: ")), "{text}");
        assert_eq!(lines[2].trim(), format!("at {place}"), "{text}");
        let advice = lines.iter().position(|line| line.trim() == code.rule().advice).unwrap();
        let first_entry = lines.iter().position(|line| line.contains(" deflated ")).unwrap();
        assert!(advice > 2 && first_entry > advice, "{text}");
    }
}
