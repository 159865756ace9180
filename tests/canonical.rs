//! The canonical form: what the writer makes is accepted and always the same, and no bit of it can be changed unseen.
#![expect(clippy::disallowed_methods, reason = "tests run the built binary")]
#![expect(clippy::unwrap_used, reason = "a test's own files and archives are in order, or it fails")]

#[expect(dead_code, reason = "the binary isn't run here")]
mod support;

use std::io::Cursor;

use exhibit::digest::{ContentDigests, ContentHasher};
use exhibit::finding::{Code, Findings};
use exhibit::limits::Limits;
use exhibit::name::{EntryName, clashes};
use exhibit::zip::{Archive, Writer};
use proptest::prelude::*;
use support::rawzip::{Record, Zip, field};
use support::run::Folder;

struct File {
    name: EntryName,
    mode: u32,
    content: Vec<u8>,
}

fn write(files: &[File]) -> Vec<u8> {
    let mut writer = Writer::new(Cursor::new(Vec::new()));
    for file in files {
        writer.file(&file.name, file.mode, file.content.len() as u64, &mut &file.content[..]).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

/// What a full check says of an archive: its digests, or the first thing that is wrong.
fn check(folder: &Folder, bytes: &[u8]) -> Result<Vec<ContentDigests>, String> {
    let path = folder.file("a.zip", bytes);
    let (archive, mut findings): (Archive, Findings) =
        Archive::open(&path, &Limits::default()).map_err(|error| error.to_string())?;
    let digests = archive.digest_all(&|_| (), &mut findings).map_err(|error| error.to_string())?;
    if let Some(finding) = findings.iter().next() {
        return Err(format!("{}: {}", finding.code, finding.message));
    }
    if let Some(finding) = archive.check_canonical().map_err(|error| error.to_string())? {
        return Err(format!("{}: {}", finding.code, finding.message));
    }
    Ok(digests.into_iter().flatten().collect())
}

fn names() -> impl Strategy<Value = String> {
    let part = "[a-zA-Z0-9 _.+@é日ß-]{1,12}";
    prop::collection::vec(part, 1..4).prop_map(|parts| parts.join("/"))
}

fn contents() -> impl Strategy<Value = Vec<u8>> {
    let repeated = (any::<u8>(), 0usize..200_000).prop_map(|(byte, length)| vec![byte; length]);
    prop_oneof![prop::collection::vec(any::<u8>(), 0..3000), repeated]
}

fn files() -> impl Strategy<Value = Vec<File>> {
    let file = (names(), prop::sample::select(vec![0o100_644, 0o100_755, 0o644, 0o755]), contents());
    prop::collection::vec(file, 0..12).prop_map(|files| {
        let mut list: Vec<File> = Vec::new();
        for (name, mode, content) in files {
            // What is only worth a look, as `._a` is, would be a finding all the same.
            let Ok(name) = EntryName::new(&name.replace("._", "x")) else { continue };
            let names = list.iter().map(|file| &file.name).chain([&name]);
            if clashes(names.map(|name| (name, false))).is_empty() {
                list.push(File { name, mode, content });
            }
        }
        list.sort_by(|a, b| a.name.as_str().as_bytes().cmp(b.name.as_str().as_bytes()));
        list
    })
}

impl std::fmt::Debug for File {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {:o} {} bytes", self.name, self.mode, self.content.len())
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(100) })]

    #[test]
    fn what_is_written_is_canonical_and_the_same_each_time(files in files()) {
        let folder = Folder::new();
        let bytes = write(&files);
        let digests = check(&folder, &bytes);
        prop_assert!(digests.is_ok(), "{:?}", digests);
        let plain: Vec<_> = files.iter().map(|file| {
            let mut hasher = ContentHasher::new(file.content.len() as u64);
            hasher.update(&file.content);
            hasher.finish()
        }).collect();
        prop_assert_eq!(digests.unwrap(), plain);
        prop_assert!(bytes == write(&files), "other bytes the second time");
    }
}

#[test]
fn no_bit_can_be_flipped_unseen() {
    let file = |name: &str, mode, content: &[u8]| File {
        name: EntryName::new(name).unwrap(),
        mode,
        content: content.to_vec(),
    };
    let noise = (0..300u32).map(|index| index.wrapping_mul(2_654_435_761).to_le_bytes()[2]).collect::<Vec<u8>>();
    let bytes = write(&[
        file("a.txt", 0o100_644, b"the quick brown fox jumps over the lazy dog, the quick brown fox"),
        file("bin/run", 0o100_755, &noise),
        file("é.txt", 0o100_644, b""),
    ]);
    let folder = Folder::new();
    let whole = check(&folder, &bytes).unwrap();
    let path = folder.file("a.zip", &bytes);
    let (archive, _) = Archive::open(&path, &Limits::default()).unwrap();
    let in_data = |at: usize| {
        archive.entries().iter().any(|entry| {
            let start = usize::try_from(entry.data.unwrap()).unwrap();
            (start..start + usize::try_from(entry.compressed).unwrap()).contains(&at)
        })
    };
    let (mut seen, mut unseen) = (0, Vec::new());
    for bit in 0..bytes.len() * 8 {
        let mut flipped = bytes.clone();
        flipped[bit / 8] ^= 1 << (bit % 8);
        match check(&folder, &flipped) {
            Err(_) => seen += 1,
            Ok(digests) => {
                assert!(in_data(bit / 8), "bit {bit} of a record was flipped unseen");
                assert_eq!(digests, whole, "bit {bit} changed a content unseen");
                unseen.push(bit);
            }
        }
    }
    println!(
        "{} bits: {seen} flips seen, {} unseen with the same contents, at {unseen:?}",
        bytes.len() * 8,
        unseen.len()
    );
    // The bits that fill the last byte of a deflate stream: at most 7 an entry. Nothing else may be free.
    assert!(unseen.len() <= 7 * archive.entries().len());
}

type Change = fn(&mut Zip);

#[test]
fn every_departure_from_the_form_is_found() {
    let zip = || Zip::of([Record::deflated("a.txt", b"some content"), Record::deflated("b/é.txt", b"")]);
    let folder = Folder::new();
    assert!(check(&folder, &zip().bytes()).is_ok());
    let changes: [(&str, Change); 19] = [
        ("order", |zip| zip.records.reverse()),
        ("stored", |zip| zip.records[0] = Record::stored("a.txt", b"some content")),
        ("a folder", |zip| {
            zip.records.insert(1, Record { external: 0o040_755 << 16, ..Record::stored("b/", b"") });
        }),
        ("a descriptor", |zip| zip.records[0] = zip.records[0].clone().with_descriptor()),
        ("sizes in ZIP64 fields", |zip| zip.records[0] = zip.records[0].clone().with_zip64()),
        ("time", |zip| zip.records[0].both(|header| header.modified += 1)),
        ("version needed", |zip| zip.records[0].both(|header| header.version = 10)),
        ("level flags", |zip| zip.records[0].both(|header| header.flags |= 2)),
        ("UTF-8 flag on ASCII", |zip| zip.records[0].both(|header| header.flags |= 1 << 11)),
        ("extra field", |zip| zip.records[0].both(|header| header.extra = field(9, b"x"))),
        ("local extra field", |zip| zip.records[0].local.extra = field(9, b"x")),
        ("central extra field", |zip| zip.records[0].central.extra = field(9, b"x")),
        ("made by", |zip| zip.records[0].made_by = 0x031E),
        ("internal attributes", |zip| zip.records[0].internal = 1),
        ("mode", |zip| zip.records[0].external = 0o100_600 << 16),
        ("no mode", |zip| zip.records[0].external = 0),
        ("DOS attributes", |zip| zip.records[0].external |= 0x20),
        ("comment of an entry", |zip| zip.records[0].comment = b"x".to_vec()),
        ("archive comment", |zip| zip.end.comment = b"x".to_vec()),
    ];
    for (what, change) in changes {
        let mut other = zip();
        change(&mut other);
        other.lay_out();
        let found = check(&folder, &other.bytes()).unwrap_err();
        assert!(found.starts_with(&format!("{}: ", Code::ZipNotCanonical)), "{what}: {found}");
    }
    let found = check(&folder, &zip().with_end64().bytes()).unwrap_err();
    assert!(found.starts_with("zip-not-canonical: "), "ZIP64 end records: {found}");
}
