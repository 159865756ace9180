//! Writes trees and archives to measure with: `cargo bench --bench generate -- FOLDER`.
//!
//! The contents are made by a small generator with a fixed seed, so that every machine measures the same bytes.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring program")]

mod made;

use std::io::BufWriter;
use std::path::{Path, PathBuf};

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
    let content = |index: usize| contents[index % contents.len()].as_slice();
    let archive = out.join(format!("{name}.zip"));
    let folder = out.join(name);
    let stream = BufWriter::new(std::fs::File::create(&archive).unwrap());
    made::release(stream, count, path, content, |path, bytes| {
        let target = folder.join(path);
        std::fs::create_dir_all(target.parent().unwrap()).unwrap();
        std::fs::write(target, bytes).unwrap();
    });
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
