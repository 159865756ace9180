//! One plain function for each parser that reads foreign bytes, with what must hold whatever the bytes are.
//!
//! The fuzz targets, the test that replays the seeds and the mutator all call these. They panic where something does
//! not hold.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{Cursor, Read as _, Write as _};
use std::path::Path;

use exhibit::archive::{Verify, verify};
use exhibit::dialect::Dialect;
use exhibit::digest::{ContentDigests, ContentHasher, Sha256};
use exhibit::finding::Finding;
use exhibit::history::{self, Context, Source};
use exhibit::json;
use exhibit::limits::Limits;
use exhibit::manifest::Receipt;
use exhibit::name::{EntryName, collision_key, escape, lookalike_key};
use exhibit::policy::Policy;
use exhibit::redact::{Rules, Scan, Tally};
use exhibit::run;
use exhibit::run::snapshot::{Stop, Tarball};
use exhibit::tree::Inventory;
use exhibit::zip::{Archive, Method};

/// What a reader says of an entry: its name and its content's digests.
type Seen = (Vec<u8>, ContentDigests);

/// Small bounds, so that an input takes no longer than reading it should.
fn limits() -> Limits {
    Limits { max_content: 8 << 20, max_total: 16 << 20, ratio_floor: 1 << 20, ..Limits::default() }
}

/// Reads bytes as a ZIP. What is accepted, two independent readers read alike or refuse.
pub(crate) fn zip_list(bytes: &[u8]) {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { memory.to_path_buf() } else { std::env::temp_dir() };
    let mut file = tempfile::NamedTempFile::new_in(folder).unwrap();
    file.write_all(bytes).unwrap();
    zip_list_file(file.path(), bytes);
}

/// The same for a file that is there already. Returns whether it was accepted, and which of the others refused it.
pub(crate) fn zip_list_file(path: &Path, bytes: &[u8]) -> Option<Vec<String>> {
    let Ok((archive, mut findings)) = Archive::open(path, &limits()) else { return None };
    let digests = archive.digest_all(&|_| (), &mut findings).unwrap();
    let canonical = archive.check_canonical().unwrap();
    if !findings.none_broken() {
        return None;
    }
    let seen: Vec<Seen> = archive
        .entries()
        .iter()
        .zip(digests)
        .map(|(entry, digests)| (entry.raw_name(), digests.expect("a content without finding has digests")))
        .collect();
    let methods_known = archive.entries().iter().all(|entry| matches!(entry.method, Method::Stored | Method::Deflated));
    assert!(methods_known, "an unknown method was accepted");
    let sorted = archive.entries().is_sorted_by(|a, b| a.raw_name() < b.raw_name());
    assert!(canonical.is_some() || sorted, "a canonical archive is not sorted");
    let mut refused = Vec::new();
    for (reader, other) in [("zip", by_zip(bytes)), ("rawzip", by_rawzip(bytes))] {
        match other {
            Ok(other) => assert!(other == seen, "{reader} reads {other:?}\nexhibit reads {seen:?}"),
            Err(error) => refused.push(format!("{reader}: {error}")),
        }
    }
    Some(refused)
}

fn seen(name: &[u8], content: &[u8]) -> Seen {
    let mut hasher = ContentHasher::new(content.len() as u64);
    hasher.update(content);
    (name.to_vec(), hasher.finish())
}

fn by_zip(bytes: &[u8]) -> Result<Vec<Seen>, Box<dyn std::error::Error>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(bytes))?;
    let mut list = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index)?;
        assert!(!file.is_symlink() && !file.encrypted(), "zip reads a link or something encrypted");
        let mut content = Vec::new();
        file.read_to_end(&mut content)?;
        list.push(seen(file.name()?.as_bytes(), &content));
    }
    Ok(list)
}

fn by_rawzip(bytes: &[u8]) -> Result<Vec<Seen>, Box<dyn std::error::Error>> {
    let archive = rawzip::ZipArchive::from_slice(bytes)?;
    let mut entries = archive.entries();
    let mut list = Vec::new();
    while let Some(header) = entries.next_entry()? {
        assert!(!header.mode().is_symlink(), "rawzip reads a link");
        let entry = archive.get_entry(header.wayfinder())?;
        let mut content = Vec::new();
        if header.compression_method() == rawzip::CompressionMethod::STORE {
            entry.verifying_reader(entry.data()).read_to_end(&mut content)?;
        } else {
            let inflate = flate2::bufread::DeflateDecoder::new(entry.data());
            entry.verifying_reader(inflate).read_to_end(&mut content)?;
        }
        list.push(seen(header.file_path().as_ref(), &content));
    }
    Ok(list)
}

/// Checks bytes as a JSON document. What is accepted, an ordinary reader accepts too, and nothing is lost on the way.
pub(crate) fn json_check(bytes: &[u8]) {
    let limits = limits();
    let ordinary = serde_json::from_slice::<serde_json::Value>(bytes);
    match json::check(bytes, limits.max_depth) {
        Ok(()) => {
            let value = ordinary.expect("what the strict check accepts is JSON");
            let again = serde_json::to_vec(&value).unwrap();
            assert!(json::check(&again[..], limits.max_depth).is_ok(), "written again it is refused");
        }
        Err(fault) => {
            assert!(!fault.message.is_empty(), "a fault without words");
            assert!(fault.pointer.is_empty() || fault.pointer.starts_with('/'), "no pointer: {}", fault.pointer);
        }
    }
}

/// Takes bytes as a name. What is accepted is safe everywhere; what is shown never moves a cursor.
pub(crate) fn entry_name(bytes: &[u8]) {
    let shown = escape(bytes);
    assert!(!shown.chars().any(char::is_control), "a control character is shown");
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let keys = (collision_key(text), lookalike_key(text));
    assert_eq!(collision_key(&keys.0), keys.0, "the key of a key is another");
    let Ok(name) = EntryName::new(text) else { return };
    assert_eq!(name.as_str(), text, "a name was repaired");
    assert_eq!(shown, text, "a portable name needs escapes");
    assert!(!text.starts_with('/') && !text.contains(['\\', ':', '\0']));
    assert!(text.split('/').all(|part| !matches!(part, "" | "." | "..")));
    assert!(name.parents().all(|parent| EntryName::new(parent).is_ok()), "a folder above is not portable");
    let json = serde_json::to_string(&name).unwrap();
    assert_eq!(serde_json::from_str::<EntryName>(&json).unwrap(), name);
}

/// A tree in memory with these files.
fn tree(files: &[(&str, &[u8])]) -> tempfile::TempDir {
    let memory = Path::new("/dev/shm");
    let folder = if memory.is_dir() { tempfile::tempdir_in(memory) } else { tempfile::tempdir() }.unwrap();
    for (name, bytes) in files {
        let path = folder.path().join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, bytes).unwrap();
    }
    folder
}

/// Verifies a tree with the bytes as its manifest. A manifest without a finding of its own is the one that was written.
pub(crate) fn manifest(bytes: &[u8]) {
    let folder = tree(&[("EXPORT-MANIFEST.json", bytes), ("made.txt", b"made data\n")]);
    let request = Verify { path: folder.path(), receipt: None, policy: None, inventory_only: false, scratch: None };
    let Ok(verified) = verify(&request, &limits(), &|_| ()) else { return };
    let about = |finding: &Finding| finding.place.entry.as_deref() == Some("EXPORT-MANIFEST.json");
    if let Some(id) = verified.manifest.as_ref().and_then(exhibit::manifest::Manifest::content_id)
        && !verified.findings.iter().any(about)
    {
        assert_eq!(id, Sha256::of(bytes), "another text has the same content id");
    }
}

/// Reads the bytes as the results of a run, of both kinds.
pub(crate) fn results(bytes: &[u8]) {
    let matrix = br#"{"format":"exhibit-matrix/1","name":"m","cases":[{"id":"01","name":"one","expected":"x"}]}"#;
    let digest = Sha256::of(matrix);
    let head = format!(
        r#"{{"format":"exhibit-run/1","id":"r1","project":"p","matrix":{{"name":"m","sha256":"{digest}"}},"started":null,"made":"made_data","provenance":{{}},"databases":[]}}"#
    );
    let spec = br#"{"schema_version":1,"cases":[{"id":"01","name":"one","expected":"x"}]}"#;
    let attempt = "docs/attempt-20260922T220129Z-1";
    let provenance =
        format!(r#"{{"source_hashes":{{"docs/matrix-spec.json":"{}"}},"source_head":"a"}}"#, Sha256::of(spec));
    let (own_results, old_results) = ("matrices/m/runs/r1/results.jsonl", format!("{attempt}/results.jsonl"));
    let folder = tree(&[
        ("matrices/m/matrix.json", matrix),
        ("matrices/m/runs/r1/run.json", head.as_bytes()),
        (own_results, bytes),
        ("docs/matrix-spec.json", spec),
        (&format!("{attempt}/provenance.json"), provenance.as_bytes()),
        (&old_results, bytes),
    ]);
    let (inventory, _) = Inventory::open(folder.path(), &limits(), &|_| ()).unwrap();
    for run in ["matrices/m/runs/r1", attempt] {
        let (none, disclosed) = (BTreeMap::new(), BTreeMap::new());
        let told = BTreeSet::new();
        let request =
            run::Request { run, spec: None, derivatives: &none, disclosed: &disclosed, told: &told, is_living: false };
        let report = run::load(&inventory, &request, &limits()).unwrap();
        let cases = report.cases.iter().filter(|case| case.status.is_some()).count();
        assert!(cases > 0 || !report.findings.none_broken(), "a run without results passes");
    }
}

/// Reads the bytes as each document that people write. What is taken, a typed reader writes again.
pub(crate) fn document(bytes: &[u8]) {
    let path = Path::new("document.json");
    let _ = Policy::load(path, bytes, &limits());
    if let Ok(rules) = Rules::load(path, bytes, &limits()) {
        let redacted = rules.redact("a.log", b"/home/annabel".to_vec(), &mut Tally::default());
        assert!(redacted.map_or(true, |redacted| redacted.record.is_some() || redacted.bytes == b"/home/annabel"));
    }
    if let Ok(receipt) = Receipt::read(path, bytes, &limits()) {
        let again = receipt.to_bytes().unwrap();
        assert_eq!(Receipt::read(path, &again, &limits()).unwrap(), receipt);
    }
}

/// Reads the bytes as a source snapshot's archive, and once more as the tar in one. What is accepted, an independent
/// reader reads alike.
pub(crate) fn snapshot_tar(bytes: &[u8]) {
    snapshot_gzip(bytes);
    let mut gzip = flate2::GzBuilder::new().write(Vec::new(), flate2::Compression::fast());
    gzip.write_all(bytes).unwrap();
    snapshot_gzip(&gzip.finish().unwrap());
}

fn snapshot_gzip(bytes: &[u8]) {
    let mut tarball = Tarball::new(bytes, bytes.len() as u64, &limits());
    let mut seen: Vec<(String, u64, Sha256)> = Vec::new();
    loop {
        match tarball.next_member() {
            Ok(Some(member)) => seen.push((member.name.to_string(), member.size, member.sha256)),
            Ok(None) => break,
            Err(Stop::Fault(fault)) => return assert!(!fault.message.is_empty(), "a fault without words"),
            Err(Stop::Io(error)) => panic!("bytes in memory can't be read: {error}"),
        }
    }
    let mut other = tar::Archive::new(flate2::read::GzDecoder::new(bytes));
    let mut read = Vec::new();
    for entry in other.entries().unwrap() {
        let mut entry = entry.expect("what is accepted, tar reads");
        if entry.header().entry_type().is_pax_global_extensions() {
            continue;
        }
        assert!(entry.header().entry_type().is_file(), "tar reads something that is no file");
        let name = String::from_utf8(entry.path_bytes().into_owned()).unwrap();
        let mut content = Vec::new();
        entry.read_to_end(&mut content).unwrap();
        read.push((name, content.len() as u64, Sha256::of(&content)));
    }
    assert_eq!(read, seen, "tar reads something else");
}

/// Scans the bytes as a content. What stands there as it is, is found, and never told.
pub(crate) fn scan(bytes: &[u8]) {
    let rules = br#"{"format":"exhibit-export/1","project":"p","redactions":[{"label":"home","pattern":"/home/(?<private>[a-z]+)",
        "replacement":"","files":["a.log"],"reason":"a name"}]}"#;
    let (rules, limits) = (Rules::load(Path::new("export.json"), rules, &limits()).unwrap(), limits());
    let mut tally = Tally::default();
    rules.redact("a.log", b"/home/annabel".to_vec(), &mut tally).unwrap();
    let private = tally.private().clone();
    let folder = tree(&[]);
    let scan = Scan::new(&rules, &private, folder.path(), &limits).unwrap();
    let mut content = bytes;
    let findings = scan.content("b.log", &mut content, &mut tally).unwrap();
    assert!(content.is_empty(), "the content was not read to its end");
    let there = bytes.windows(7).any(|window| window == b"annabel");
    assert!(!there || !findings.none_broken(), "a private string is left");
    assert!(!findings.iter().any(|finding| format!("{finding:?}").contains("annabel")), "a private string is told");
}

/// Reads the bytes as a transcript, in each dialect.
pub(crate) fn transcript(bytes: &[u8]) {
    let open = move || Ok(Box::new(bytes) as Box<dyn std::io::BufRead>);
    let source = Source { name: "t", process: "p", open: Box::new(open) };
    for dialect in Dialect::embedded().unwrap() {
        let sources = std::slice::from_ref(&source);
        let Ok(built) = history::of_transcripts(sources, &dialect, &Context::default(), &limits()) else { return };
        let lines = built.transcripts.iter().map(|transcript| transcript.lines).sum::<u64>();
        let within = |line: u64| (1..=lines).contains(&line);
        assert!(built.findings.iter().all(|finding| finding.place.line.is_some_and(within)), "a fault is nowhere");
        let mut replies = BTreeSet::new();
        for call in &built.history.calls {
            assert!(within(call.request.line) && call.told.is_some() == call.reply.is_some());
            assert!((call.process as usize) < built.history.processes.len());
            if let Some(reply) = call.reply {
                assert!(reply.line > call.request.line, "a reply comes before its request");
                assert!(replies.insert(reply), "a reply belongs to two requests");
            }
        }
    }
}
