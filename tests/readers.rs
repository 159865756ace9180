//! What is accepted, other readers see alike; and three collections of odd archives are answered as they should be.
//!
//! The collections: malo (<https://github.com/fastzip/malo>) and the samples of `ZipDiff`
//! (<https://github.com/ouuan/ZipDiff>), both beside the repository or left out.
#![expect(clippy::disallowed_methods, reason = "tests run peers")]
#![expect(clippy::expect_used, clippy::unwrap_used, reason = "a test that can't read what it checks fails")]

mod peers;
mod skip;

use std::collections::BTreeMap;
use std::fs;
use std::io::{Cursor, Read, Write as _};
use std::path::{Path, PathBuf};
use std::process::Command;

use exhibit::digest::Sha256;
use flate2::{Compression, Decompress, FlushDecompress, Status};
use peers::Tree;
use rayon::prelude::*;
use skip::skipped;
use zip::write::{SimpleFileOptions, ZipWriter};
use zip::{CompressionMethod, ZipArchive};

/// What the `zip` crate reads.
fn by_zip(bytes: &[u8]) -> Tree {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).expect("zip opens it");
    let mut tree = Tree::new();
    for index in 0..archive.len() {
        let mut entry = archive.by_index(index).expect("zip finds the entry");
        let name = String::from_utf8(entry.name_raw().to_vec()).expect("the name is UTF-8");
        let mut content = Vec::new();
        entry.read_to_end(&mut content).expect("zip reads the content");
        assert_eq!(entry.size(), content.len() as u64);
        assert_eq!(tree.insert(name, (entry.size(), Sha256::of(&content))), None);
    }
    tree
}

/// What the `rawzip` crate reads, with its own check of sizes and CRC.
fn by_rawzip(bytes: &[u8]) -> Tree {
    let archive = rawzip::ZipArchive::from_slice(bytes).expect("rawzip opens it");
    let mut entries = archive.entries();
    let mut tree = Tree::new();
    let mut count = 0;
    loop {
        let header = match entries.next_entry() {
            Ok(Some(header)) => header,
            // It walks to the end record and stumbles over ZIP64 records that no field of all ones asks for; what an
            // error means is to be told from the count, as its documentation has it.
            Err(_) if count == archive.entries_hint() => break,
            Err(error) => panic!("rawzip walks the directory: {error}"),
            Ok(None) => break,
        };
        count += 1;
        let entry = archive.get_entry(header.wayfinder()).expect("rawzip finds the entry");
        let name = String::from_utf8(header.file_path().as_bytes().to_vec()).expect("the name is UTF-8");
        let mut content = Vec::new();
        if header.compression_method() == rawzip::CompressionMethod::STORE {
            entry.verifying_reader(entry.data()).read_to_end(&mut content)
        } else {
            let inflate = flate2::bufread::DeflateDecoder::new(entry.data());
            entry.verifying_reader(inflate).read_to_end(&mut content)
        }
        .expect("rawzip reads the content");
        let size = header.uncompressed_size_hint();
        assert_eq!(size, content.len() as u64);
        assert_eq!(tree.insert(name, (size, Sha256::of(&content))), None);
    }
    assert_eq!(count, archive.entries_hint());
    tree
}

/// Holds an accepted archive against both other readers.
fn all_readers_agree(path: &Path) {
    let shown = path.display();
    let own = peers::read(path).unwrap_or_else(|codes| panic!("{shown} is refused for {codes:?}"));
    let bytes = fs::read(path).unwrap();
    assert_eq!(own, by_zip(&bytes), "zip sees {shown} differently");
    assert_eq!(own, by_rawzip(&bytes), "rawzip sees {shown} differently");
}

fn le16(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| u16::try_from(*value).unwrap().to_le_bytes()).collect()
}

fn le32(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| u32::try_from(*value).unwrap().to_le_bytes()).collect()
}

fn le64(values: &[usize]) -> Vec<u8> {
    values.iter().flat_map(|value| u64::try_from(*value).unwrap().to_le_bytes()).collect()
}

const ONES: usize = 0xFFFF_FFFF;

/// One header's CRC, compressed and plain size, and its extra fields.
#[derive(Clone)]
struct Facts {
    crc: usize,
    sizes: [usize; 2],
    extra: Vec<u8>,
}

/// An entry, to be changed before it is written.
#[derive(Clone)]
struct Piece {
    name: &'static str,
    flags: usize,
    method: usize,
    data: Vec<u8>,
    descriptor: Vec<u8>,
    local: Facts,
    central: Facts,
}

impl Piece {
    fn new(name: &'static str, method: usize, data: Vec<u8>, content: &[u8]) -> Self {
        let crc = crc32fast::hash(content) as usize;
        let facts = Facts { crc, sizes: [data.len(), content.len()], extra: Vec::new() };
        let flags = if name.is_ascii() { 0 } else { 1 << 11 };
        Self { name, flags, method, data, descriptor: Vec::new(), local: facts.clone(), central: facts }
    }

    fn stored(name: &'static str, content: &[u8]) -> Self {
        Self::new(name, 0, content.to_vec(), content)
    }

    fn deflated(name: &'static str, content: &[u8]) -> Self {
        let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(content).unwrap();
        Self::new(name, 8, encoder.finish().unwrap(), content)
    }

    /// With CRC and sizes behind the data; the local ones are then zero.
    fn streamed(mut self) -> Self {
        let [compressed, plain] = self.central.sizes;
        self.flags |= 1 << 3;
        self.descriptor = [b"PK\x07\x08".to_vec(), le32(&[self.central.crc, compressed, plain])].concat();
        self.local = Facts { crc: 0, sizes: [0, 0], extra: Vec::new() };
        self
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    fn shared(&self, facts: &Facts) -> Vec<u8> {
        let head = le16(&[20, self.flags, self.method, 0, 0x21]);
        let middle = le32(&[facts.crc, facts.sizes[0], facts.sizes[1]]);
        [head, middle, le16(&[self.name.len(), facts.extra.len()])].concat()
    }
}

/// A ZIP64 extra field.
fn wide(values: &[usize]) -> Vec<u8> {
    [le16(&[1, values.len() * 8]), le64(values)].concat()
}

/// Which end records an archive has.
#[derive(Clone, Copy, PartialEq)]
enum End {
    Plain,
    /// ZIP64 records, with everything in the plain record all ones.
    Wide,
}

fn archive(pieces: &[Piece], end: End, comment: &str) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for piece in pieces {
        let (name, offset) = (piece.name.as_bytes(), bytes.len());
        let local = [&b"PK\x03\x04"[..], &piece.shared(&piece.local), name, &piece.local.extra].concat();
        bytes.extend([local, piece.data.clone(), piece.descriptor.clone()].concat());
        let central = [&b"PK\x01\x02"[..], &le16(&[20]), &piece.shared(&piece.central), &le16(&[0, 0, 0])].concat();
        directory.extend([central, le32(&[0, offset]), name.to_vec(), piece.central.extra.clone()].concat());
    }
    let (count, size, offset) = (pieces.len(), directory.len(), bytes.len());
    bytes.extend(directory);
    if end != End::Plain {
        let at = bytes.len();
        bytes.extend([&b"PK\x06\x06"[..], &le64(&[44]), &le16(&[45, 45]), &le32(&[0, 0])].concat());
        bytes.extend(le64(&[count, count, size, offset]));
        bytes.extend([&b"PK\x06\x07"[..], &le32(&[0]), &le64(&[at]), &le32(&[1])].concat());
    }
    let (counts, place) = if end == End::Wide { ([0xFFFF; 2], [ONES; 2]) } else { ([count; 2], [size, offset]) };
    bytes.extend([&b"PK\x05\x06"[..], &le16(&[0, 0]), &le16(&counts), &le32(&place)].concat());
    bytes.extend([le16(&[comment.len()]), comment.as_bytes().to_vec()].concat());
    bytes
}

const TEXT: &[u8] = b"a text that says the same again: a text that says the same again";

fn made_by_hand() -> Vec<(&'static str, Vec<u8>)> {
    let file = || Piece::deflated("sub/a.txt", TEXT);
    let one =
        |piece: Piece| archive(&[Piece::stored("first", b"1"), piece, Piece::stored("last", b"2")], End::Plain, "");
    let zip64 = |piece: &mut Piece| {
        let [compressed, plain] = piece.central.sizes;
        let facts = Facts { crc: piece.central.crc, sizes: [ONES; 2], extra: wide(&[plain, compressed]) };
        (piece.local, piece.central) = (facts.clone(), facts);
    };
    vec![
        ("nothing", archive(&[], End::Plain, "")),
        ("nothing, with ZIP64 records", archive(&[], End::Wide, "")),
        ("stored", one(Piece::stored("a", TEXT))),
        ("deflated", one(file())),
        ("folders", archive(&[Piece::stored("sub/", b""), file(), Piece::deflated("none/", b"")], End::Plain, "")),
        ("a name beyond ASCII", one(Piece::stored("gr\u{fc}n/\u{65e5}\u{672c}", TEXT))),
        ("a comment", archive(&[file()], End::Plain, "sch\u{f6}n")),
        ("a descriptor", one(file().streamed())),
        (
            "a descriptor, the plain size known",
            one(file().streamed().with(|piece| {
                piece.local.sizes = [0, TEXT.len()];
            })),
        ),
        ("a descriptor, all known", one(file().streamed().with(|piece| piece.local = piece.central.clone()))),
        ("a descriptor for nothing", one(Piece::stored("empty", b"").streamed())),
        ("ZIP64 sizes", one(file().with(zip64))),
        (
            "ZIP64 sizes and a descriptor",
            one(file().streamed().with(|piece| {
                zip64(piece);
                (piece.local.crc, piece.local.extra) = (0, wide(&[0, 0]));
                let [compressed, plain] = [piece.data.len(), TEXT.len()];
                piece.descriptor =
                    [b"PK\x07\x08".to_vec(), le32(&[piece.central.crc]), le64(&[compressed, plain])].concat();
            })),
        ),
        ("ZIP64 records", archive(&[file()], End::Wide, "")),
    ]
}

#[test]
fn readers_agree_on_archives_made_by_hand() {
    let folder = tempfile::tempdir().unwrap();
    for (what, bytes) in made_by_hand() {
        let path = folder.path().join(format!("{what}.zip"));
        fs::write(&path, bytes).unwrap();
        all_readers_agree(&path);
    }
}

#[test]
fn readers_agree_on_a_count_of_all_ones() {
    let folder = tempfile::tempdir().unwrap();
    let names: Vec<&'static str> = (0..65_535).map(|number| &*number.to_string().leak()).collect();
    let pieces: Vec<Piece> = names.iter().map(|name| Piece::stored(name, b"")).collect();
    let path = folder.path().join("many.zip");
    fs::write(&path, archive(&pieces, End::Plain, "")).unwrap();
    all_readers_agree(&path);
}

#[test]
fn readers_agree_on_archives_of_the_zip_crate() {
    let folder = tempfile::tempdir().unwrap();
    for method in [CompressionMethod::Stored, CompressionMethod::Deflated] {
        for large in [false, true] {
            let options = SimpleFileOptions::default().compression_method(method).large_file(large);
            let mut writer = ZipWriter::new(Cursor::new(Vec::new()));
            writer.add_directory("sub", options).unwrap();
            for (name, content) in [("sub/a.txt", TEXT), ("\u{65e5}\u{672c}", TEXT), ("empty", b"")] {
                writer.start_file(name, options).unwrap();
                writer.write_all(content).unwrap();
            }
            let path = folder.path().join("made.zip");
            fs::write(&path, writer.finish().unwrap().into_inner()).unwrap();
            all_readers_agree(&path);
        }
    }
}

/// What the generator of the samples expects to be accepted and is refused here.
const EXCEPTIONS: &[(&str, &str, &str)] = &[(
    "c1/c1-6.zip",
    "zip-end-ambiguous",
    "stored with a data descriptor: one reader sees file a where another sees b, and both end records reach the end",
)];

#[test]
fn every_ambiguous_sample_is_answered_as_expected() {
    let Some(corpus) = peers::corpus("zip-ambiguity") else {
        return skipped("zip-ambiguity: the corpus is not there");
    };
    let folder = tempfile::tempdir().unwrap();
    let mut tar = Command::new("tar");
    tar.arg("-xf").arg(corpus.join("samples.tar.xz")).arg("-C").arg(folder.path());
    if !tar.status().is_ok_and(|status| status.success()) {
        return skipped("zip-ambiguity: tar can't unpack the samples");
    }
    let table = fs::read_to_string(corpus.join("EXPECTED.tsv")).unwrap();
    let rows: Vec<(&str, &str)> = table
        .lines()
        .map(|line| {
            let mut fields = line.split('\t');
            (fields.next().unwrap(), fields.next().unwrap())
        })
        .collect();
    assert_eq!(rows.len(), 3551);
    let answer = |(name, expected): &(&str, &str)| {
        let path = folder.path().join(name);
        let verdict = peers::verdict(&path);
        let exception = EXCEPTIONS.iter().find(|(exception, _, _)| exception == name);
        let is_right = match exception {
            Some((_, codes, _)) => verdict == *codes,
            None => (verdict == "accept") == (*expected == "accept"),
        };
        if verdict == "accept" {
            all_readers_agree(&path);
        }
        (!is_right).then(|| format!("{name}: {expected} expected, {verdict} found"))
    };
    let wrong: Vec<String> = rows.par_iter().filter_map(answer).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// What malo would have accepted and is refused here.
#[rustfmt::skip]
const MALO_REFUSED: &[(&str, &str, &str)] = &[
    ("data_descriptor.zip", "zip-flags-differ",
        "bit 3 only in the local record: by the central one no descriptor follows and 16 bytes belong to nothing"),
    ("data_descriptor_zip64.zip", "zip-flags-differ zip64-extra",
        "the same, and a ZIP64 field that no size asks for"),
    ("normal_deflate_zip64_extra.zip", "zip64-extra",
        "one size only in the local ZIP64 field, which must have both"),
];

const LEFT_OPEN: &str = "zip-crc-differs zip-gap zip-size-differs";
const NO_SIZE: &str = "zip-deflate-broken zip-flags-differ";

/// What malo leaves to policy: what is decided, and why.
#[rustfmt::skip]
const MALO_IFFY: &[(&[&str], &str, &str)] = &[
    (&["8bitcomment.zip"], "zip-comment-signature",
        "a signature in a comment: who looks for records by signature finds one there"),
    (&["comment_cdsize_0.zip", "comment_cdsize_3.zip", "data_descriptor_flag_off.zip", "store_cdsize_0.zip",
       "store_cdsize_1.zip", "store_cdsize_2.zip", "store_cdsize_3.zip", "store_cdsize_4.zip", "store_cdsize_5.zip",
       "store_cdsize_6.zip", "store_cdsize_7.zip"], LEFT_OPEN,
        "local and central sizes differ: a reader that streams gets another content than one that seeks"),
    (&["crc_collision_empty_nonempty.zip", "crc_collision_two_nonempty.zip", "crc_zero_nonempty.zip"], "accept",
        "every copy of every fact agrees; contents are told apart by SHA-256, which no CRC stands in for"),
    (&["data_descriptor_cd_zero.zip", "data_descriptor_zero.zip", "data_descriptor_zero_cmt_0.zip",
       "data_descriptor_zero_cmt_a.zip", "data_descriptor_zero_cmt_abc123.zip", "data_descriptor_zero_cmt_comment.zip",
       "data_descriptor_zero_cmt_foo.zip", "data_descriptor_zero_cmt_hello.zip", "data_descriptor_zero_cmt_meta.zip",
       "data_descriptor_zero_cmt_packets.zip", "data_descriptor_zero_cmt_warehouse.zip",
       "data_descriptor_zero_cmt_zz.zip"], NO_SIZE,
        "no size in the central record: a reader that believes it gets nothing, one that streams gets the content"),
    (&["data_descriptor_flag_off_cd_zero.zip"], "zip-deflate-broken zip-gap",
        "no size anywhere but in a descriptor that no flag announces"),
    (&["data_descriptor_no_sig.zip"], "zip-flags-differ",
        "bit 3 only in the local record; a descriptor without its signature can't be told from data either"),
    (&["extra3byte.zip"], "zip-extra-malformed",
        "three bytes are no extra field: readers skip them, stop, or read beyond them"),
    (&["non_ascii_original_name.zip"], "name-encoding zip-unicode-path",
        "two names, one by the header and one by the Unicode field; readers choose either"),
    (&["nosubdir.zip"], "accept",
        "a file in a folder that has no entry of its own: every reader makes the folder"),
    (&["prefix.zip", "prefix_comment.zip", "prefix_crc_collision_two_nonempty.zip", "prefix_data_descriptor.zip",
       "prefix_data_descriptor_zip64.zip", "prefix_deflate.zip", "prefix_non_ascii_original_name.zip",
       "prefix_normal_deflate.zip", "prefix_normal_deflate_zip64_extra.zip", "prefix_store.zip", "prefix_subdir.zip"],
        "zip-prefix",
        "bytes before the archive that its offsets don't count: some readers shift offsets, some don't"),
    (&["prefix_zip64_eocd.zip"], "zip64-locator",
        "the same, seen first at the ZIP64 locator, which points beside its record"),
    (&["suffix_not_comment.zip"], "zip-trailing-bytes",
        "bytes behind the archive: readers that look for the end record stop in different places"),
    (&["trailing_slash_attr_mismatch.zip"], "zip-folder-attribute zip-folder-data",
        "a folder by its name, a file by its attributes and its data"),
    (&["zip64_eocd_extensible_data.zip"], "zip64-locator",
        "data between the ZIP64 record and its locator, where another record can hide"),
    (&["zip64_extra_too_long.zip", "zip64_extra_too_short.zip"], "zip64-extra",
        "a ZIP64 field of another length than the sizes that ask for it: readers take sizes from elsewhere"),
];

fn malo(kind: &str) -> Option<BTreeMap<String, PathBuf>> {
    let folder = peers::corpus("malo")?.join(kind);
    let items = fs::read_dir(folder).unwrap().map(Result::unwrap);
    Some(items.map(|item| (item.file_name().into_string().unwrap(), item.path())).collect())
}

#[test]
fn malo_archives_are_answered_as_decided() {
    let Some(accept) = malo("zip/accept") else { return skipped("malo: the corpus is not there") };
    let mut decided = BTreeMap::new();
    for name in accept.keys() {
        let exception = MALO_REFUSED.iter().find(|(refused, _, _)| refused == name);
        decided.insert(("zip/accept", name.clone()), exception.map_or("accept", |(_, codes, _)| codes));
    }
    for (names, verdict, _) in MALO_IFFY {
        decided.extend(names.iter().map(|name| (("zip/iffy", (*name).to_owned()), *verdict)));
    }
    let mut wrong = Vec::new();
    for kind in ["zip/accept", "zip/iffy", "zip/reject", "zip/malicious"] {
        for (name, path) in malo(kind).unwrap() {
            let verdict = peers::verdict(&path);
            let is_right = match decided.remove(&(kind, name.clone())) {
                Some(decision) => verdict == decision,
                None => kind != "zip/iffy" && verdict != "accept",
            };
            if !is_right {
                wrong.push(format!("{kind}/{name}: {verdict}"));
            }
            if verdict == "accept" {
                all_readers_agree(&path);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    assert!(decided.is_empty(), "{decided:#?}");
}

/// What an inflater gives that takes whatever it can: all before the first fault.
fn lenient(stream: &[u8]) -> Vec<u8> {
    let mut inflate = Decompress::new(false);
    let mut content = Vec::new();
    let mut buffer = [0; 1 << 12];
    loop {
        let (input, output) = (inflate.total_in(), inflate.total_out());
        let rest = &stream[usize::try_from(input).unwrap()..];
        let status = inflate.decompress(rest, &mut buffer, FlushDecompress::None);
        let made = usize::try_from(inflate.total_out() - output).unwrap();
        content.extend(&buffer[..made]);
        let goes_on = matches!(status, Ok(Status::Ok)) && (made > 0 || inflate.total_in() > input);
        if !goes_on {
            return content;
        }
    }
}

/// What malo leaves to policy among deflate streams: what is decided, and why.
const DEFLATE_IFFY: &[(&str, &str, &str)] = &[(
    "nonzero_padding.deflate",
    "accept",
    "bits that pad a stored block to a byte are not zero: no inflater looks at them, so all give the same content",
)];

#[test]
fn malo_deflate_streams_are_answered_as_decided() {
    let folder = tempfile::tempdir().unwrap();
    for kind in ["deflate/accept", "deflate/iffy", "deflate/reject", "deflate/malicious"] {
        let Some(streams) = malo(kind) else { return skipped("malo: the corpus is not there") };
        assert!(!streams.is_empty());
        for (name, path) in streams {
            let stream = fs::read(path).unwrap();
            let content = lenient(&stream);
            let out = folder.path().join("wrapped.zip");
            fs::write(&out, archive(&[Piece::new("a", 8, stream, &content)], End::Plain, "")).unwrap();
            let verdict = peers::verdict(&out);
            let decision = DEFLATE_IFFY.iter().find(|(iffy, _, _)| *iffy == name);
            match (kind, decision) {
                ("deflate/accept", _) => assert_eq!(verdict, "accept", "{name}"),
                ("deflate/iffy", Some((_, decision, _))) => assert_eq!(verdict, *decision, "{name}"),
                ("deflate/iffy", None) => panic!("nothing is decided on {name}"),
                _ => assert!(["zip-deflate-broken", "zip-deflate-end"].contains(&&*verdict), "{name}: {verdict}"),
            }
            if verdict == "accept" {
                all_readers_agree(&out);
            }
        }
    }
}
