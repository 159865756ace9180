//! What tests with peers share: running a script with a tool in it, and what exhibit says of an archive.
#![expect(dead_code, reason = "each test file takes what it needs")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use exhibit::digest::Sha256;
use exhibit::finding::Severity;
use exhibit::limits::Limits;
use exhibit::zip::Archive;

/// Names as recorded, each with size and SHA-256 of its content. Folders have a trailing slash.
pub(crate) type Tree = BTreeMap<String, (u64, Sha256)>;

/// The entries of an archive, or the codes that refuse it, each once. One that can't be checked fails the test.
pub(crate) fn read(path: &Path) -> Result<Tree, Vec<&'static str>> {
    let opened = Archive::open(path, &Limits::default());
    let (archive, mut findings) = opened.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    let digests = archive.digest_all(&|_| (), &mut findings).expect("the archive can be read");
    if !findings.none_broken() {
        let broken = findings.iter().filter(|finding| finding.severity == Severity::Error);
        let mut codes: Vec<_> = broken.map(|finding| finding.code.name()).collect();
        codes.sort_unstable();
        codes.dedup();
        return Err(codes);
    }
    let mut tree = Tree::new();
    for (entry, digests) in archive.entries().iter().zip(digests) {
        let name = String::from_utf8(entry.raw_name()).expect("an accepted name is UTF-8");
        let digests = digests.expect("an accepted content was hashed");
        assert_eq!(tree.insert(name, (entry.size, digests.sha256)), None, "an accepted name occurs once");
    }
    Ok(tree)
}

/// `accept`, or the codes that refuse an archive, each once.
pub(crate) fn verdict(path: &Path) -> String {
    read(path).map_or_else(|codes| codes.join(" "), |_| "accept".to_owned())
}

/// Runs a script in a folder, with the archive to write as `$OUT` and an empty folder of its own as `$WORK`. None
/// where the tool that it needs isn't there.
pub(crate) fn run(tool: &str, script: &str, folder: &Path, out: &Path, work: &Path) -> Option<Output> {
    // A shim of a version manager is found, and ends with 127.
    let probe = format!("command -v {tool} && {{ {tool} --version; [ $? -ne 127 ]; }}");
    let is_there = Command::new("sh").args(["-c", &probe]).output().expect("sh runs").status.success();
    is_there.then(|| {
        Command::new("bash")
            .args(["-c", &format!("set -eo pipefail; . \"$PEERS/functions.sh\"; {script}")])
            .current_dir(folder)
            .env("LC_ALL", "C.UTF-8")
            .env("OUT", out)
            .env("WORK", work)
            .env("PEERS", Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/peers"))
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env_remove("GIT_DIR")
            .output()
            .expect("bash runs")
    })
}

/// A folder of the corpus beside the repository, where that is there.
pub(crate) fn corpus(name: &str) -> Option<PathBuf> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(name);
    path.is_dir().then_some(path)
}
