//! A mutator for machines without a coverage-guided fuzzer: changes seeds at random and feeds them to the parsers.
//!
//! Ignored by default. `MUTATE_SECONDS` says how long (60), `MUTATE_SEEDS` names further folders of seeds, parted by
//! colons: `cargo test --release --test mutate -- --ignored --nocapture`. A failing input is kept in `fuzz/artifacts`.
#![expect(clippy::disallowed_methods, reason = "it reads its settings and the clock; it decides nothing")]
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a failure is what is looked for")]

#[path = "../fuzz/parsers.rs"]
#[expect(dead_code, reason = "the file is written here")]
mod parsers;
#[expect(dead_code, reason = "the binary isn't run here")]
mod support;

use std::collections::BTreeMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use support::rawzip::{Record, UTF8, Zip, field};

/// Xorshift: the same seed makes the same inputs.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        usize::try_from(self.next() % bound.max(1) as u64).unwrap()
    }

    fn byte(&mut self) -> u8 {
        self.next().to_le_bytes()[3]
    }

    fn pick<'a, T>(&mut self, list: &'a [T]) -> &'a T {
        &list[self.below(list.len())]
    }
}

fn seeds(target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/seeds").join(target);
    let further = std::env::var_os("MUTATE_SEEDS").filter(|_| target == "zip_list");
    let folders: Vec<PathBuf> = std::iter::once(root).chain(further.iter().flat_map(std::env::split_paths)).collect();
    let files = folders.iter().flat_map(walkdir::WalkDir::new).map(Result::unwrap);
    files.filter(|file| file.file_type().is_file()).map(|file| std::fs::read(file.path()).unwrap()).collect()
}

/// Extra fields that some reader takes to heart: ZIP64, times, ids, encryption, Unicode names, alignment, attributes.
const EXTRAS: [u16; 19] = [
    0x0001, 0x0009, 0x000A, 0x000D, 0x0017, 0x2605, 0x334D, 0x5356, 0x5455, 0x554E, 0x5855, 0x6375, 0x6C78, 0x7075,
    0x756E, 0x7855, 0x7875, 0x9901, 0xA11E,
];

/// An archive with everything at random that both headers may say, so that much of it is accepted.
fn generated(random: &mut Random) -> Vec<u8> {
    let names = ["a", "b.txt", "d/e", "f/", "é", "日本/x", "A b"];
    let first = random.below(names.len());
    let records: Vec<Record> = (0..=random.below(3)).map(|index| one(random, names[(first + index) % 7])).collect();
    let mut zip = Zip::of(records);
    if random.below(4) == 0 {
        zip.end.comment = (0..random.below(30)).map(|_| random.byte() & 0x7F).collect();
        zip.lay_out();
    }
    if random.below(4) == 0 { zip.with_end64().bytes() } else { zip.bytes() }
}

fn one(random: &mut Random, name: &str) -> Record {
    let length = if name.ends_with('/') { 0 } else { random.below(40) };
    let content: Vec<u8> = (0..length).map(|_| *random.pick(b"ab\0PK\x01\x02\x03\x04")).collect();
    let stored = random.below(2) == 0;
    let mut record = if stored { Record::stored(name, &content) } else { Record::deflated(name, &content) };
    let (version, modified) = (*random.pick(&[0, 10, 20, 45, 46, 51, 63]), u32::try_from(random.next() >> 32).unwrap());
    let flags = *random.pick(&[0, 0, 0, 2, 4, 6]) | if random.below(4) == 0 { UTF8 } else { 0 };
    record.both(|header| {
        (header.version, header.modified) = (version, modified);
        header.flags |= flags;
    });
    match random.below(6) {
        0 if !stored => record = record.with_descriptor(),
        1 => record = record.with_zip64(),
        _ => {}
    }
    for _ in 0..random.below(3) {
        let id = if random.below(8) == 0 { u16::from(random.byte()) } else { *random.pick(&EXTRAS) };
        let known = [1, 0, 0, 2, 0, b'A', b'E', 3, 0, 0, 8, 0];
        let length = random.below(13);
        let data: Vec<u8> =
            (0..length).map(|at| if random.below(3) == 0 { random.byte() } else { known[at] }).collect();
        let places = random.below(4);
        if places != 0 {
            record.local.extra.extend(field(id, &data));
        }
        if places != 1 {
            record.central.extra.extend(field(id, &data));
        }
    }
    record.made_by = u16::try_from(random.below(20) << 8 | 0x14).unwrap();
    record.internal = u16::from(random.byte());
    record.external = *random.pick(&[0, 0o100_644, 0o100_600, 0o644, 0o111, 1]) << 16 | u32::from(random.byte() & 0x27);
    record.comment = (0..random.below(5)).map(|_| random.byte() & 0x7F).collect();
    record
}

/// Where records start.
fn records(bytes: &[u8]) -> Vec<usize> {
    let starts = bytes.windows(4).enumerate();
    starts.filter(|(_, window)| window.starts_with(b"PK") && window[2] < 9).map(|(at, _)| at).collect()
}

fn mutate(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut bytes = random.pick(seeds).clone();
    for _ in 0..=random.below(3) {
        let at = random.below(bytes.len());
        match random.below(9) {
            0 if !bytes.is_empty() => bytes[at] ^= 1 << random.below(8),
            1 if !bytes.is_empty() => bytes[at] = *random.pick(&[0, 1, 0x7F, 0x80, 0xFF, b'/', b'P', 8, 9]),
            2 => bytes.truncate(at),
            3 => {
                let inserted: Vec<u8> = (0..=random.below(8)).map(|_| random.byte()).collect();
                bytes.splice(at..at, inserted);
            }
            4 => {
                let end = (at + random.below(64)).min(bytes.len());
                let part = bytes[at..end].to_vec();
                let to = random.below(bytes.len() + 1);
                bytes.splice(to..to, part);
            }
            5 => {
                let other = random.pick(seeds);
                let from = random.below(other.len());
                bytes.truncate(at);
                bytes.extend(&other[from..]);
            }
            6 => same_field_everywhere(random, &mut bytes),
            7 => one_field(random, &mut bytes),
            _ => move_directory(random, &mut bytes),
        }
    }
    bytes
}

fn one_field(random: &mut Random, bytes: &mut [u8]) {
    let records = records(bytes);
    if records.is_empty() {
        return;
    }
    let at = random.pick(&records) + 4 + random.below(46);
    let value = *random.pick(&[0u64, 1, 2, 8, 0xFFFF, 0xFFFF_FFFF, u64::MAX, 1 << 31, 44, 56, 0x7075, 0x9901]);
    let width = *random.pick(&[1, 2, 4, 8]);
    if let Some(field) = bytes.get_mut(at..at + width) {
        field.copy_from_slice(&value.to_le_bytes()[..width]);
    }
}

/// The same change in a local and a central header: past the comparison of the two.
fn same_field_everywhere(random: &mut Random, bytes: &mut [u8]) {
    let (field, value) = (random.below(26 + 40), random.byte());
    for at in records(bytes) {
        let shift = match bytes[at + 2] {
            1 if field < 26 => 6,
            // Name and extra fields lie right behind the fixed part.
            1 => 20,
            3 => 4,
            _ => continue,
        };
        if let Some(byte) = bytes.get_mut(at + shift + field) {
            *byte = value;
        }
    }
}

/// Bytes put before the directory, with the end record set right.
fn move_directory(random: &mut Random, bytes: &mut Vec<u8>) {
    let records = records(bytes);
    let Some(end) = records.iter().rfind(|at| bytes[**at + 2] == 5).copied() else { return };
    let Some(field) = bytes.get(end + 16..end + 20) else { return };
    let directory = u32::from_le_bytes(field.try_into().unwrap());
    let at = usize::try_from(directory).unwrap();
    if at > end {
        return;
    }
    let part = random.pick(&records);
    let inserted = bytes[*part..(*part + random.below(80)).min(bytes.len())].to_vec();
    let moved = directory.wrapping_add(u32::try_from(inserted.len()).unwrap());
    bytes[end + 16..end + 20].copy_from_slice(&moved.to_le_bytes());
    bytes.splice(at..at, inserted);
}

#[expect(clippy::print_stdout, reason = "says how much was tried")]
fn run(target: &str, generate: impl Fn(&mut Random) -> Option<Vec<u8>>, mut feed: impl FnMut(&[u8])) {
    let seconds = std::env::var("MUTATE_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(60);
    let (seeds, started) = (seeds(target), Instant::now());
    let mut random = Random(0x9E37_79B9_7F4A_7C15 ^ u64::from(std::process::id()));
    let (mut count, mut slowest) = (0u64, Duration::ZERO);
    while started.elapsed() < Duration::from_secs(seconds) {
        let bytes = match generate(&mut random) {
            Some(bytes) if random.below(2) == 0 => bytes,
            Some(bytes) => mutate(&mut random, &[bytes]),
            None => mutate(&mut random, &seeds),
        };
        let before = Instant::now();
        if catch_unwind(AssertUnwindSafe(|| feed(&bytes))).is_err() {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/artifacts").join(target);
            std::fs::create_dir_all(&folder).unwrap();
            let path = folder.join(format!("mutant-{}-{count}", std::process::id()));
            std::fs::write(&path, &bytes).unwrap();
            panic!("{} does not hold", path.display());
        }
        slowest = slowest.max(before.elapsed());
        count += 1;
    }
    println!("{target}: {count} inputs from {} seeds, the slowest took {slowest:?}", seeds.len());
    assert!(slowest < Duration::from_secs(5), "an input took {slowest:?}");
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_zips() {
    let memory = Path::new("/dev/shm");
    let folder = tempfile::tempdir_in(if memory.is_dir() { memory } else { Path::new("/tmp") }).unwrap();
    let path = folder.path().join("a.zip");
    let (mut accepted, mut refusals) = (0u64, BTreeMap::<String, u64>::new());
    let generate = |random: &mut Random| (random.below(2) == 0).then(|| generated(random));
    run("zip_list", generate, |bytes| {
        std::fs::write(&path, bytes).unwrap();
        if let Some(refused) = parsers::zip_list_file(&path, bytes) {
            accepted += 1;
            refused.into_iter().for_each(|refusal| *refusals.entry(refusal).or_default() += 1);
        }
    });
    println!("accepted {accepted}; of these other readers refused {refusals:#?}");
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_json() {
    run("json_check", |_| None, parsers::json_check);
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_names() {
    run("entry_name", |_| None, parsers::entry_name);
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_manifest() {
    run("manifest", |_| None, parsers::manifest);
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_results() {
    run("results", |_| None, parsers::results);
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_document() {
    run("document", |_| None, parsers::document);
}

/// A tar of a seed with some bytes changed, most of them in its headers, whose checksums hold all the same.
fn changed_tar(random: &mut Random, seeds: &[Vec<u8>]) -> Vec<u8> {
    let mut tar = random.pick(seeds).clone();
    for _ in 0..=random.below(3) {
        let blocks = tar.len() / 512;
        let at = 512 * random.below(blocks) + random.below(512);
        let any = random.byte();
        tar[at] = *random.pick(&[0, b'0', b'7', b'x', b'g', b'L', b'/', b'.', b' ', 0x80, 0xFF, any]);
    }
    for block in tar.chunks_exact_mut(512).filter(|block| block[257..].starts_with(b"ustar") || random.below(8) == 0) {
        block[148..156].fill(b' ');
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    }
    tar
}

#[test]
#[ignore = "runs for as long as it is told"]
fn mutants_of_snapshot_tar() {
    let plain = |stored: &Vec<u8>| {
        let mut tar = Vec::new();
        std::io::Read::read_to_end(&mut flate2::read::GzDecoder::new(&stored[..]), &mut tar).unwrap();
        tar
    };
    let tars: Vec<Vec<u8>> = seeds("snapshot_tar").iter().map(plain).collect();
    let generate = |random: &mut Random| (random.below(8) > 0).then(|| changed_tar(random, &tars));
    run("snapshot_tar", generate, parsers::snapshot_tar);
}
