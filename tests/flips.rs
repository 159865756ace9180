//! An archive without its receipt: whichever bit of it is flipped, verifying it fails, but for those bits of deflate streams
//! that leave every content the same. How many these are is written down in `docs/decisions.md`.
#![expect(clippy::unwrap_used, reason = "a test's own files and archives are in order, or it fails")]

use std::fs::{self, File, OpenOptions};
use std::io::{Cursor, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::PathBuf;

use exhibit::archive::{Freeze, Verdict, Verify, freeze, verify};
use exhibit::digest::Sha256;
use exhibit::limits::Limits;
use exhibit::zip::Archive;
use rayon::prelude::*;
use zip::ZipArchive;

/// Flips of bits that fill the last byte of a deflate stream, and of bits within a stream.
const UNSEEN: (usize, usize) = (17, 0);

/// A run of made data with one case, frozen.
fn frozen() -> Vec<u8> {
    let folder = tempfile::tempdir().unwrap();
    let at = |path: &str| folder.path().join(path);
    let matrix = r#"{"format":"exhibit-matrix/1","name":"m","cases":[{"id":"1","name":"made","expected":"none"}]}"#;
    let run = format!(
        r#"{{"format":"exhibit-run/1","id":"r","project":"p","matrix":{{"name":"m","sha256":"{}"}},"started":null,"made":"made_data","provenance":{{}},"databases":[]}}"#,
        Sha256::of(matrix.as_bytes())
    );
    let result = r#"{"case":"1","expected":"none","status":"unsupported","exit_codes":{},"artifacts":{},"missing_api":"x","error":null}"#;
    fs::create_dir_all(at("runs/r")).unwrap();
    fs::write(at("matrix.json"), matrix).unwrap();
    fs::write(at("runs/r/run.json"), run).unwrap();
    fs::write(at("runs/r/results.jsonl"), format!("{result}\n")).unwrap();
    let request = Freeze {
        run: &at("runs/r"),
        root: Some(folder.path()),
        out: &at("out"),
        policy: None,
        as_failed_evidence: false,
    };
    let frozen = freeze(&request, &Limits::default(), &|_| ()).unwrap();
    fs::read(frozen.written.unwrap().archive).unwrap()
}

/// One copy of an archive in a folder of its own.
struct Copy {
    _folder: tempfile::TempDir,
    path: PathBuf,
    file: File,
}

impl Copy {
    fn of(bytes: &[u8]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.zip");
        fs::write(&path, bytes).unwrap();
        let file = OpenOptions::new().write(true).open(&path).unwrap();
        Self { _folder: folder, path, file }
    }

    /// Whether nothing is wrong with it, by its inventory alone.
    fn passes(&self) -> bool {
        let request = Verify { path: &self.path, receipt: None, policy: None, inventory_only: true, scratch: None };
        verify(&request, &Limits::default(), &|_| ()).is_ok_and(|found| found.verdict() != Verdict::Fail)
    }

    fn passes_with(&self, at: usize, byte: u8, original: u8) -> bool {
        self.file.write_all_at(&[byte], at as u64).unwrap();
        let passes = self.passes();
        self.file.write_all_at(&[original], at as u64).unwrap();
        passes
    }
}

/// Names and contents as another reader sees them.
fn contents(bytes: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut archive = ZipArchive::new(Cursor::new(bytes)).unwrap();
    let read = |index| {
        let mut entry = archive.by_index(index).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        (entry.name().unwrap().into_owned(), content)
    };
    (0..ZipArchive::new(Cursor::new(bytes)).unwrap().len()).map(read).collect()
}

/// Where deflate streams lie.
fn streams(bytes: &[u8]) -> Vec<std::ops::Range<usize>> {
    let copy = Copy::of(bytes);
    let (archive, _) = Archive::open(&copy.path, &Limits::default()).unwrap();
    let range = |start: u64, length: u64| usize::try_from(start).unwrap()..usize::try_from(start + length).unwrap();
    archive.entries().iter().map(|entry| range(entry.data.unwrap(), entry.compressed)).collect()
}

#[test]
fn no_flipped_bit_passes_but_where_every_content_stays_the_same() {
    let bytes = frozen();
    assert!(Copy::of(&bytes).passes(), "the archive as it is");
    let unseen: Vec<usize> = (0..bytes.len() * 8)
        .into_par_iter()
        .map_init(
            || Copy::of(&bytes),
            |copy, bit| {
                let original = bytes[bit / 8];
                copy.passes_with(bit / 8, original ^ 1 << (bit % 8), original).then_some(bit)
            },
        )
        .flatten()
        .collect();
    let (streams, whole) = (streams(&bytes), contents(&bytes));
    let (mut filling, mut within) = (0, 0);
    for bit in unseen {
        let stream = streams.iter().find(|stream| stream.contains(&(bit / 8)));
        let stream = stream.unwrap_or_else(|| panic!("bit {bit} of a record was flipped unseen"));
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        assert!(contents(&flipped) == whole, "bit {bit} changed a content unseen");
        *if bit / 8 + 1 == stream.end { &mut filling } else { &mut within } += 1;
    }
    assert_eq!((filling, within), UNSEEN, "of {} bits", bytes.len() * 8);
}
