//! A release of made files, written through the library: for what measures.

use std::io::{Seek, Write};

use exhibit::digest::{GitBlob, Sha256};
use exhibit::form::Mode;
use exhibit::manifest::{Document, File, Kind, MANIFEST, Own, Role, Version1};
use exhibit::name::EntryName;
use exhibit::zip::Writer;

/// Writes `count` files and their manifest as a ZIP, sorted by the names that `name` gives, and hands each to `also`.
pub(crate) fn release<'a>(
    stream: impl Write + Seek,
    count: usize,
    name: impl Fn(usize) -> String,
    content: impl Fn(usize) -> &'a [u8],
    mut also: impl FnMut(&str, &[u8]),
) {
    let files = (0..count).map(|index| File {
        path: EntryName::new(&name(index)).unwrap(),
        size: content(index).len() as u64,
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
    let root = manifest.root_name();
    let mut writer = Writer::new(stream);
    let mut add = |path: &str, bytes: &[u8]| {
        let name = EntryName::new(&format!("{root}/{path}")).unwrap();
        writer.file(&name, 0o644, bytes.len() as u64, &mut &*bytes).unwrap();
        also(path, bytes);
    };
    add(MANIFEST, &manifest.to_bytes().unwrap());
    (0..count).for_each(|index| add(&name(index), content(index)));
    writer.finish().unwrap().flush().unwrap();
}
