//! Holds the bound on memory: 64 MiB, 1 MiB a core, 512 bytes an entry, whatever is verified,
//! unpacked or shown; twice that for two trees that are compared.
#![expect(clippy::disallowed_methods, clippy::unwrap_used, reason = "the test measures the built program")]

#[path = "../benches/made/mod.rs"]
mod made;
mod skip;

use std::io::BufWriter;
use std::path::Path;
use std::process::Command;

/// A program that tells the peak memory of another (Debian: `time`).
const TIME: &str = "/usr/bin/time";

/// Peak memory in KiB of a command on archives, which must hold.
fn peak(arguments: &[&str]) -> u64 {
    let output = Command::new(TIME).args(["-f", "%M", env!("CARGO_BIN_EXE_exhibit")]).args(arguments).output().unwrap();
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
        let name = |index: usize| format!("evidence/part-{:03}/file-{index:06}.log", index / 500);
        let stream = BufWriter::new(std::fs::File::create(&path).unwrap());
        made::release(stream, count, name, |_| content, |_, _| ());
        let bound = 64 * 1024 + cores * 1024 + count / 2;
        let (path, out) = (path.to_str().unwrap(), folder.path().join("out"));
        let first = name(0);
        for (trees, command) in [
            (1, &["verify-export", "--inventory-only", path][..]),
            (1, &["extract", "-o", out.to_str().unwrap(), path]),
            (1, &["show", path, &first]),
            (2, &["diff", path, path]),
        ] {
            let found = peak(command);
            assert!(
                found < trees * bound as u64,
                "{what}, {command:?}: {found} KiB, the bound is {trees} times {bound}"
            );
        }
    }
}
