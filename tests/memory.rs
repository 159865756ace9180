//! Holds the bound on memory: 64 MiB, 1 MiB a core, 512 bytes an entry, whatever is verified.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test measures the built program")]

mod skip;

use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

use exhibit::digest::{GitBlob, Sha256};
use exhibit::form::Mode;
use exhibit::manifest::{Document, File, Kind, MANIFEST, Own, Role, Version1};
use exhibit::name::EntryName;
use exhibit::zip::Writer;

/// A program that tells the peak memory of another (Debian: `time`).
const TIME: &str = "/usr/bin/time";

/// An archive of `count` files with the content.
fn archive(path: &Path, count: usize, content: &[u8]) {
    let name = |index: usize| EntryName::new(&format!("evidence/part-{:03}/file-{index:06}.log", index / 500)).unwrap();
    let (sha256, git_blob) = (Sha256::of(content), GitBlob::of(content));
    let file = |index| File {
        path: name(index),
        size: content.len() as u64,
        mode: Mode::Plain,
        sha256,
        git_blob,
        role: Role::Log,
        derivative: None,
    };
    let manifest = Own::new(Document {
        format: Version1,
        kind: Kind::Release,
        project: "measured".parse().unwrap(),
        source: None,
        created: None,
        files: (0..count).map(file).collect(),
        omissions: Vec::new(),
        runs: Vec::new(),
    })
    .unwrap();
    let (root, bytes) = (manifest.root_name(), manifest.to_bytes().unwrap());
    let mut writer = Writer::new(BufWriter::new(std::fs::File::create(path).unwrap()));
    let mut add = |name: &str, content: &[u8]| {
        let name = EntryName::new(&format!("{root}/{name}")).unwrap();
        writer.file(&name, 0o644, content.len() as u64, &mut &*content).unwrap();
    };
    add(MANIFEST, &bytes);
    (0..count).for_each(|index| add(name(index).as_str(), content));
    writer.finish().unwrap();
}

/// Peak memory in KiB of verifying an archive, which must hold.
fn peak(path: &Path) -> u64 {
    let output = Command::new(TIME)
        .args(["-f", "%M", env!("CARGO_BIN_EXE_exhibit"), "verify-export", "--inventory-only"])
        .arg(path)
        .output()
        .unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(0), "{stderr}");
    stderr.trim().parse().unwrap()
}

#[test]
fn memory_stays_within_its_bound() {
    if !Path::new(TIME).exists() {
        return skip::skipped("peak memory: /usr/bin/time is not there");
    }
    let folder = tempfile::tempdir().unwrap();
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    // Incompressible, so that no ratio is suspicious: a counter through a mixer.
    let large: Vec<u8> =
        (0..10_000_000u64).flat_map(|n| n.wrapping_mul(0x9E37_79B9_7F4A_7C15).rotate_left(29).to_le_bytes()).collect();
    for (what, count, content) in [("large", 1, large.as_slice()), ("many", 40_000, b"a line\n")] {
        let path = folder.path().join(what);
        archive(&path, count, content);
        let bound = 64 * 1024 + cores * 1024 + count / 2;
        let found = peak(&path);
        assert!(found < bound as u64, "{what}: {found} KiB, the bound is {bound}");
    }
}
