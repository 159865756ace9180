//! Writes trees and archives to measure with: `cargo bench --bench generate -- FOLDER`.
//!
//! The contents are made by a small generator with a fixed seed, so that every machine measures the same bytes.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring program")]

use std::io::BufWriter;
use std::path::{Path, PathBuf};

use exhibit::digest::{GitBlob, Sha256};
use exhibit::form::Mode;
use exhibit::manifest::{Document, File, Kind, MANIFEST, Own, Role, Version1};
use exhibit::name::EntryName;
use exhibit::zip::Writer;

/// Lines like a transcript's: words that repeat and tokens that don't.
struct Lines(u64);

impl Lines {
    fn next(&mut self) -> u64 {
        // xorshift64*: https://doi.org/10.18637/jss.v008.i14 and later notes; any generator would do.
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_F491_4F6C_DD1D)
    }

    fn text(&mut self, length: usize) -> Vec<u8> {
        let mut text = Vec::with_capacity(length + 200);
        while text.len() < length {
            let (id, token) = (self.next() % 100_000, self.next());
            let line = format!(
                "> {{\"jsonrpc\":\"2.0\",\"id\":{id},\"method\":\"tools/call\",\"params\":{{\"name\":\"create_issue\",\"requestState\":\"v1.{token:016x}{:016x}\"}}}}\n",
                self.next()
            );
            text.extend_from_slice(line.as_bytes());
        }
        text.truncate(length);
        text
    }
}

/// A release of `count` files of `size` bytes, as a folder and as a ZIP.
fn release(out: &Path, name: &str, count: usize, size: usize) -> PathBuf {
    let mut lines = Lines(0x9E37_79B9_7F4A_7C15);
    let path = |index: usize| format!("evidence/{:03}/case-{index:06}.transcript.log", index / 1000);
    let contents: Vec<Vec<u8>> = (0..count.min(64)).map(|_| lines.text(size)).collect();
    // Few contents, many files: what is measured reads every file all the same.
    let content = |index: usize| &contents[index % contents.len()];
    let files = (0..count).map(|index| File {
        path: EntryName::new(&path(index)).unwrap(),
        size: size as u64,
        mode: Mode::Plain,
        sha256: Sha256::of(content(index)),
        git_blob: GitBlob::of(content(index)),
        role: Role::Transcript,
        derivative: None,
    });
    let manifest = Own::new(Document {
        format: Version1,
        kind: Kind::Release,
        project: "measured".parse().unwrap(),
        source: None,
        created: None,
        files: files.collect(),
        omissions: Vec::new(),
        runs: Vec::new(),
    })
    .unwrap();
    let (root, bytes) = (manifest.root_name(), manifest.to_bytes().unwrap());
    let archive = out.join(format!("{name}.zip"));
    let mut writer = Writer::new(BufWriter::new(std::fs::File::create(&archive).unwrap()));
    let folder = out.join(name);
    let mut add = |path: &str, bytes: &[u8]| {
        let name = EntryName::new(&format!("{root}/{path}")).unwrap();
        writer.file(&name, 0o644, bytes.len() as u64, &mut &*bytes).unwrap();
        let target = folder.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, bytes).unwrap();
    };
    add(MANIFEST, &bytes);
    (0..count).for_each(|index| add(&path(index), content(index)));
    writer.finish().unwrap();
    archive
}

fn main() {
    let out = std::env::args_os().skip(1).find(|argument| argument != "--bench").unwrap_or_else(|| "measured".into());
    let out = Path::new(&out);
    std::fs::create_dir_all(out).unwrap();
    for (name, count, size) in [("many", 20_000, 16 << 10), ("few", 4, 64 << 20), ("entries", 100_000, 16)] {
        println!("{}", release(out, name, count, size).display());
    }
}
