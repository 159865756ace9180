//! Owns source snapshots of made runs: tars by hand, one fault at a time, and their documents.

use std::collections::BTreeMap;
use std::io::Write as _;

use exhibit::digest::Sha256;
use flate2::{Compression, GzBuilder};
use serde_json::{Value, json};

use super::{HEAD, Tree};

/// The content of a source that is not in the tree.
pub(crate) const BACKEND: &[u8] = b"backend";

/// A member of a tar: its name, type and content.
pub(crate) type Member = (String, u8, Vec<u8>);

/// The sources that the tree's run records, as members. A run of exhibit's own format records none until it is asked.
pub(crate) fn sources(tree: &mut Tree) -> Vec<Member> {
    let own = tree.path("run.json");
    if tree.files.contains_key(&own) {
        let sources = json!({
            "matrices/small/matrix.json": tree.sha256("matrices/small/matrix.json"),
            "reference/backend.py": Sha256::of(BACKEND),
        });
        tree.edit(&own, |run| run["sources"] = sources);
    }
    let content = |path: &str| tree.files.get(path).map_or(BACKEND.to_vec(), |(bytes, _)| bytes.clone());
    recorded(tree).into_keys().map(|path| (path.clone(), b'0', content(&path))).collect()
}

/// What the run records of its sources.
pub(crate) fn recorded(tree: &Tree) -> BTreeMap<String, Sha256> {
    let read = |name: &str| serde_json::from_slice::<Value>(&tree.files.get(&tree.path(name))?.0).ok();
    let own = read("run.json").map(|run| run["sources"].clone());
    let sources = own.or_else(|| Some(read("provenance.json")?["source_hashes"].clone()));
    sources.and_then(|sources| serde_json::from_value(sources).ok()).unwrap_or_default()
}

/// A ustar of the members, with its end.
pub(crate) fn tar(members: &[Member]) -> Vec<u8> {
    let mut out = Vec::new();
    for (name, kind, content) in members {
        let mut block = [0; 512];
        let mut put = |at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
        put(0, name.as_bytes());
        put(100, b"0000644\x000000000\x000000000\0");
        put(124, format!("{:011o}\0{:011o}\0        ", content.len(), 0).as_bytes());
        put(156, &[*kind]);
        put(157, if *kind == b'2' { b"target" } else { b"" });
        put(257, b"ustar\x0000");
        let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
        block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        out.extend(block);
        out.extend(content);
        out.resize(out.len().next_multiple_of(512), 0);
    }
    out.extend([0; 1024]);
    out
}

/// One gzip.
pub(crate) fn gzip(bytes: &[u8]) -> Vec<u8> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::new(6));
    gzip.write_all(bytes).unwrap();
    gzip.finish().unwrap()
}

/// Puts an archive into the tree, with the document that binds it to the tree's run. Gives their paths.
pub(crate) fn put(tree: &mut Tree, archive: &[u8]) -> [String; 2] {
    let is_own = tree.files.contains_key(&tree.path("run.json"));
    let summary = tree.path("SUMMARY.json");
    let summary = tree.files.contains_key(&summary).then(|| tree.sha256(&summary));
    let mut document = json!({
        "archive_sha256": Sha256::of(archive), "attempt_relative_path": tree.run, "module": null,
        "source_commit": HEAD, "source_hashes": recorded(tree), "summary_sha256": summary,
    });
    if is_own {
        document["format"] = json!("exhibit-source-snapshot/1");
    }
    // In a folder above the run, where freezing looks for it.
    let above = tree.spec.rsplit_once('/').unwrap().0;
    let stem = format!("{above}/source-snapshots/final-{HEAD}");
    let paths = [format!("{stem}.json"), format!("{stem}.tar.gz")];
    tree.put(&paths[0], exhibit::json::canonical(&document).unwrap());
    tree.put(&paths[1], archive);
    paths
}

/// Gives the tree's run a snapshot of its sources; `change` comes before the tar is made.
pub(crate) fn bind(tree: &mut Tree, change: impl FnOnce(&mut Vec<Member>)) -> [String; 2] {
    let mut members = sources(tree);
    change(&mut members);
    put(tree, &gzip(&tar(&members)))
}
