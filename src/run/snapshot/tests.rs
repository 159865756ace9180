//! Tests of this room: tars made by hand, wrong in one respect each, beside a valid twin; and the writer's own.

use std::collections::BTreeMap;
use std::io::{self, Read, Write as _};

use flate2::{Compression, GzBuilder};

use super::tarball::{Fault, Stop, Tarball};
use crate::digest::Sha256;
use crate::error::Error;
use crate::finding::{Code, Findings};
use crate::form::Mode;
use crate::limits::Limits;
use crate::name::EntryName;

const END: [u8; 1024] = [0; 1024];

/// A header block with its checksum; `change` comes before the checksum is made.
fn block(name: &str, kind: u8, size: usize, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let mut block = vec![0; 512];
    let put = |block: &mut [u8], at: usize, text: &[u8]| block[at..at + text.len()].copy_from_slice(text);
    put(&mut block, 0, name.as_bytes());
    put(&mut block, 100, b"0000644\0");
    put(&mut block, 108, b"0000000\x000000000\0");
    put(&mut block, 124, format!("{size:011o}\0").as_bytes());
    put(&mut block, 136, b"00000000000\0");
    block[156] = kind;
    put(&mut block, 257, b"ustar\x0000");
    change(&mut block);
    sealed(block)
}

fn sealed(mut block: Vec<u8>) -> Vec<u8> {
    block[148..156].copy_from_slice(b"        ");
    let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
    block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    block
}

fn set(at: usize, text: &[u8]) -> impl FnOnce(&mut [u8]) + '_ {
    move |block| block[at..at + text.len()].copy_from_slice(text)
}

fn with(mut header: Vec<u8>, content: &[u8]) -> Vec<u8> {
    header.extend(content);
    header.resize(header.len().next_multiple_of(512), 0);
    header
}

/// A member `name` with the content `x`, and a change of its header.
fn one(name: &str, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    with(block(name, b'0', 1, change), b"x")
}

fn file(name: &str) -> Vec<u8> {
    one(name, |_| ())
}

fn kind(kind: u8) -> Vec<u8> {
    block("a", kind, 0, |_| ())
}

fn gnu(block: &mut [u8]) {
    block[257..265].copy_from_slice(b"ustar  \0");
}

fn old(block: &mut [u8]) {
    block[257..265].fill(0);
}

fn extended(kind: u8, records: &str) -> Vec<u8> {
    with(block("pax", kind, records.len(), |_| ()), records.as_bytes())
}

fn long(name: &[u8]) -> Vec<u8> {
    with(block("././@LongLink", b'L', name.len(), gnu), name)
}

fn tar(parts: &[Vec<u8>]) -> Vec<u8> {
    [parts.concat(), END.to_vec()].concat()
}

fn gzip(tar: &[u8]) -> Vec<u8> {
    let mut gzip = GzBuilder::new().write(Vec::new(), Compression::new(1));
    gzip.write_all(tar).unwrap();
    gzip.finish().unwrap()
}

fn names_of(stored: &[u8], limits: &Limits) -> Result<Vec<String>, Fault> {
    let mut tarball = Tarball::new(stored, stored.len() as u64, limits);
    let mut names = Vec::new();
    loop {
        match tarball.next_member() {
            Ok(Some(member)) => names.push(member.name.to_string()),
            Ok(None) => return Ok(names),
            Err(Stop::Fault(fault)) => return Err(fault),
            Err(Stop::Io(error)) => panic!("{error}"),
        }
    }
}

fn check(tar: &[u8]) -> Result<Vec<String>, (Code, u64)> {
    names_of(&gzip(tar), &Limits::default()).map_err(|fault| (fault.code, fault.offset))
}

#[test]
fn ordinary_tars_are_read() {
    let deep = format!("{}/b", "a".repeat(100));
    let records = format!("{} path={deep}\n", deep.len() + 10);
    let spoken: Vec<(&str, Vec<u8>, Vec<&str>)> = vec![
        ("nothing", tar(&[]), vec![]),
        ("two files", tar(&[file("a"), file("b/c")]), vec!["a", "b/c"]),
        ("an empty one", tar(&[block("a", b'0', 0, |_| ())]), vec!["a"]),
        ("a whole block", tar(&[with(block("a", b'0', 512, |_| ()), &[7; 512])]), vec!["a"]),
        ("an old type", tar(&[with(block("a", 0, 1, |_| ()), b"x")]), vec!["a"]),
        ("the oldest form", tar(&[one("a", old)]), vec!["a"]),
        (
            "the oldest form as GNU tar writes it",
            tar(&[one("a", |block| {
                old(block);
                block[329..345].copy_from_slice(b"0000000\x000000000\0");
            })]),
            vec!["a"],
        ),
        ("GNU's form", tar(&[one("a", gnu)]), vec!["a"]),
        ("a prefix", tar(&[one("b", set(345, b"a"))]), vec!["a/b"]),
        ("a name of 100 bytes", tar(&[one(&"a".repeat(100), |_| ())]), vec![&deep[..100]]),
        ("bsdtar's numbers", tar(&[one("a", set(100, b"000644 \x00000000 \x00000000 \0"))]), vec!["a"]),
        ("a large owner", tar(&[one("a", set(108, b"\x80\0\0\0\x7f\0\0\0"))]), vec!["a"]),
        ("an owner's name", tar(&[one("a", set(265, b"somebody"))]), vec!["a"]),
        ("a comment", tar(&[extended(b'g', "13 comment=a\n"), file("a")]), vec!["a"]),
        ("a path", tar(&[extended(b'x', &records), file("short")]), vec![&deep]),
        ("times only", tar(&[extended(b'x', "11 mtime=1\n"), file("a")]), vec!["a"]),
        ("a long name", tar(&[long(format!("{deep}\0").as_bytes()), one(&deep[..100], gnu)]), vec![&deep]),
        ("more zeros", [tar(&[file("a")]), vec![0; 10240]].concat(), vec!["a"]),
    ];
    for (what, tar, want) in spoken {
        assert_eq!(check(&tar), Ok(want.into_iter().map(str::to_owned).collect()), "{what}");
    }
}

/// What is wrong, the tar, and the offset of the fault.
type Row = (&'static str, Vec<u8>, u64);

fn refuse(rows: Vec<Row>) {
    for (what, tar, offset) in rows {
        assert_eq!(check(&tar), Err((Code::SnapshotArchive, offset)), "{what}");
    }
}

#[test]
fn ends_and_padding_are_exact() {
    let ending = |count: usize| [file("a"), vec![0; count]].concat();
    let mut odd = tar(&[file("a")]);
    odd.push(0);
    let mut late = tar(&[file("a")]);
    late.extend(file("b"));
    let mut padded = tar(&[file("a")]);
    padded[600] = b'y';
    let mut summed = tar(&[file("a")]);
    summed[0] = b'b';
    refuse(vec![
        ("no bytes", Vec::new(), 0),
        ("no end", ending(0), 1024),
        ("half an end", ending(512), 1536),
        ("a block that is cut", ending(700), 1724),
        ("a content that is cut", file("a")[..512].to_vec(), 512),
        ("no whole block", odd, 2049),
        ("a file behind the end", late, 1024),
        ("one block of zeros between files", [file("a"), vec![0; 512], file("b"), END.to_vec()].concat(), 1024),
        (
            "one block of zeros, then an empty file",
            [file("a"), vec![0; 512], block("b", b'0', 0, |_| ()), END.to_vec()].concat(),
            1024,
        ),
        ("bytes behind a content", padded, 513),
        ("another checksum", summed, 0),
        (
            "a checksum in another base",
            tar(&[{
                let mut b = file("a");
                b[148] = b'9';
                b
            }]),
            0,
        ),
    ]);
}

#[test]
fn fields_that_readers_take_differently_are_refused() {
    refuse(vec![
        ("bytes behind the name", tar(&[one("a\0b", |_| ())]), 0),
        ("bytes behind the prefix", tar(&[one("a", set(345, b"a\0b"))]), 0),
        ("bytes behind an owner's name", tar(&[one("a", set(265, b"a\0b"))]), 0),
        ("bytes behind all fields", tar(&[one("a", set(508, b"tar"))]), 0),
        (
            "no mark and a prefix",
            tar(&[one("a", |block| {
                old(block);
                block[345] = b'a';
            })]),
            0,
        ),
        ("another mark", tar(&[one("a", set(257, b"ustar\x0001"))]), 0),
        ("a mark of both forms", tar(&[one("a", set(257, b"ustar \x000"))]), 0),
        (
            "GNU's form with a prefix",
            tar(&[one("a", |block| {
                gnu(block);
                block[345] = b'b';
            })]),
            0,
        ),
        ("a size to the base 256", tar(&[one("a", set(124, b"\x80\0\0\0\0\0\0\0\0\0\0\x01"))]), 0),
        ("a size of twelve digits", tar(&[one("a", set(124, b"000000000001"))]), 0),
        ("a size with a sign", tar(&[one("a", set(124, b"-0000000001\0"))]), 0),
        ("a size after a space", tar(&[one("a", set(124, b" 0000000001\0"))]), 0),
        ("a size in another base", tar(&[one("a", set(124, b"00000000001x"))]), 0),
        ("no size", tar(&[one("a", set(124, &[0; 12]))]), 0),
        ("bytes behind a size", tar(&[one("a", set(124, b"1\x002\0\0\0\0\0\0\0\0\0"))]), 0),
        ("no mode", tar(&[one("a", set(100, b"rw-r--r-"))]), 0),
        ("a time that is none", tar(&[one("a", set(136, b"yesterday\0\0\0"))]), 0),
        ("a device's number", tar(&[one("a", set(329, b"0000001\0"))]), 0),
        ("a link's target", tar(&[one("a", set(157, b"b"))]), 0),
    ]);
}

#[test]
fn headers_that_name_a_file_are_followed_by_it() {
    let path = "10 path=b\n";
    refuse(vec![
        ("records that no file follows", tar(&[extended(b'x', path)]), 512 + 512),
        ("a long name that no file follows", tar(&[long(b"b\0")]), 1024),
        ("two paths", tar(&[extended(b'x', path), extended(b'x', path), file("a")]), 1024),
        ("a path and a long name", tar(&[extended(b'x', path), long(b"a\0"), one("a", gnu)]), 1024),
        ("a path, then a comment for all", tar(&[extended(b'x', path), extended(b'g', path), file("a")]), 1024),
        ("a path for GNU's form", tar(&[extended(b'x', path), one("a", gnu)]), 0),
        ("a long name for POSIX's", tar(&[long(b"a\0"), file("a")]), 0),
        ("a long name that starts otherwise", tar(&[long(b"b\0"), one("a", gnu)]), 0),
        ("a long name without an end", tar(&[long(b"a"), one("a", gnu)]), 0),
        ("a long name with two", tar(&[long(b"a\0\0"), one("a", gnu)]), 0),
        ("an empty long name", tar(&[long(b""), one("a", gnu)]), 0),
        ("a size in records", tar(&[extended(b'x', "10 size=9\n"), file("a")]), 0),
        ("a path for all", tar(&[extended(b'g', path), file("a")]), 0),
    ]);
}

#[test]
fn members_are_regular_files_under_portable_names() {
    for (what, flag) in [
        ("hard link", b'1'),
        ("symbolic link", b'2'),
        ("device", b'3'),
        ("device", b'4'),
        ("folder", b'5'),
        ("pipe", b'6'),
        ("contiguous file", b'7'),
        ("long target", b'K'),
        ("sparse file", b'S'),
        ("another tape", b'M'),
        ("not known", b'L'),
        ("not known", b'Z'),
        ("not known", 0xFF),
    ] {
        let fault = names_of(&gzip(&tar(&[file("b"), kind(flag)])), &Limits::default()).unwrap_err();
        assert_eq!((fault.code, fault.offset), (Code::SnapshotMember, 1024), "{what}");
        assert!(fault.message.starts_with("the member \"a\" is") && fault.message.contains(what), "{}", fault.message);
    }
    for name in ["", "/a", "../a", "a/../b", "./a", "a/", "a//b", "a\\b", "C:a", "a.", "nul", "a\u{1}", "Cafe\u{301}"] {
        assert_eq!(check(&tar(&[file(name)])), Err((Code::SnapshotMember, 0)), "{name:?}");
        let records = format!("{} path={name}\n", name.len() + if name.len() > 1 { 9 } else { 8 });
        let records = if name.len() == 1 { records } else { record("path", name) };
        assert_eq!(check(&tar(&[extended(b'x', &records), file("a")])), Err((Code::SnapshotMember, 0)), "{name:?}");
    }
    assert_eq!(check(&tar(&[one("a", set(0, b"\xff"))])), Err((Code::SnapshotMember, 0)));
    assert_eq!(check(&tar(&[one("b", set(345, b"a/"))])), Err((Code::SnapshotMember, 0)));
}

fn record(key: &str, value: &str) -> String {
    let rest = format!(" {key}={value}\n");
    let digits = if rest.len() + 1 < 10 {
        1
    } else if rest.len() + 2 < 100 {
        2
    } else {
        3
    };
    format!("{}{rest}", rest.len() + digits)
}

#[test]
fn the_gzip_is_one_member_and_nothing_more() {
    let (whole, other) = (gzip(&tar(&[file("a")])), gzip(&tar(&[file("b")])));
    let limits = Limits::default();
    assert_eq!(names_of(&whole, &limits).unwrap(), ["a"]);
    let refused = |bytes: &[u8], what: &str| {
        let fault = names_of(bytes, &limits).expect_err(what);
        assert_eq!(fault.code, Code::SnapshotArchive, "{what}");
    };
    refused(&[whole.clone(), other].concat(), "two members");
    for more in [&b"x"[..], b"\0x", &[vec![0; 200_000], b"x".to_vec()].concat(), &[&[0; 512][..], &whole].concat()] {
        refused(&[&whole, more].concat(), "something follows");
    }
    // As bsdtar pads what it writes to a pipe; gzip, tar and Python read over it.
    for zeros in [1, 512, 200_000] {
        assert_eq!(names_of(&[whole.clone(), vec![0; zeros]].concat(), &limits).unwrap(), ["a"], "{zeros} zeros");
    }
    for cut in 0..whole.len() {
        refused(&whole[..cut], "cut short");
    }
    let length = whole.len();
    for (at, what) in
        [(0, "mark"), (2, "method"), (3, "reserved flags"), (length - 8, "checksum"), (length - 1, "length")]
    {
        let mut changed = whole.clone();
        changed[at] ^= 0x80;
        refused(&changed, what);
    }
    refused(b"", "nothing");
    refused(b"PK\x03\x04", "a ZIP");
    refused(&tar(&[file("a")]), "no gzip at all");
}

#[test]
fn bounds_hold_at_the_limit_and_one_over() {
    let two = gzip(&tar(&[file("a"), extended(b'x', "10 path=b\n"), file("c")]));
    let plain = tar(&[file("a"), extended(b'x', "10 path=b\n"), file("c")]).len() as u64;
    let small = Limits { ratio_floor: plain, max_ratio: 1, max_total: plain, ..Limits::default() };
    let rows: Vec<(&str, Limits, Limits)> = vec![
        ("headers", Limits { max_entries: 3, ..Limits::default() }, Limits { max_entries: 2, ..Limits::default() }),
        ("content", Limits { max_content: 1, ..Limits::default() }, Limits { max_content: 0, ..Limits::default() }),
        ("extended", Limits { max_extended: 10, ..Limits::default() }, Limits { max_extended: 9, ..Limits::default() }),
        ("all", small.clone(), Limits { max_total: plain - 1, ..small.clone() }),
        ("ratio", small.clone(), Limits { ratio_floor: plain - 1, ..small }),
    ];
    for (what, at, over) in rows {
        assert_eq!(names_of(&two, &at).unwrap(), ["a", "b"], "{what}");
        assert_eq!(names_of(&two, &over).expect_err(what).code, Code::SnapshotArchive, "{what}");
    }
    // A name of 4,096 bytes and the NUL behind it is the longest that is read; what claims more is not kept.
    for (length, code) in [(4096, None), (4097, Some(Code::SnapshotArchive))] {
        let mut name = "a/".repeat(length / 2 + 1);
        name.truncate(length - 1);
        name.push('b');
        let found = check(&tar(&[long(format!("{name}\0").as_bytes()), one(&name[..100], gnu)]));
        assert_eq!(found.err().map(|(code, _)| code), code, "{length}");
    }
    let claims = with(block("././@LongLink", b'L', 0o77_777_777_777, gnu), b"a\0");
    assert_eq!(check(&tar(&[claims])), Err((Code::SnapshotArchive, 0)));
}

#[test]
fn what_cannot_be_read_is_no_fault_of_the_archive() {
    struct Failing<'a>(&'a [u8]);
    impl Read for Failing<'_> {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            match self.0.read(buffer)? {
                0 => Err(io::Error::other("gone")),
                count => Ok(count),
            }
        }
    }
    let whole = gzip(&tar(&[file("a")]));
    for cut in [0, 5, 30, whole.len()] {
        let mut tarball = Tarball::new(Failing(&whole[..cut]), whole.len() as u64, &Limits::default());
        let stopped = std::iter::from_fn(|| tarball.next_member().transpose()).find_map(Result::err);
        assert!(matches!(stopped, Some(Stop::Io(_))), "{cut}: {stopped:?}");
    }
}

// ---- members against sources ----

fn compared(parts: &[Vec<u8>], sources: &[&str]) -> Vec<Code> {
    let stored = gzip(&tar(parts));
    let sources = sources.iter().map(|name| ((*name).to_owned(), Sha256::of(b"x"))).collect();
    let (mut findings, limits) = (Findings::new(100), Limits::default());
    super::members::compare(&*stored, ("s.tar.gz", stored.len() as u64), &sources, &limits, &mut findings).unwrap();
    assert!(findings.iter().all(|finding| finding.place.entry.as_deref() == Some("s.tar.gz")));
    findings.iter().map(|finding| finding.code).collect()
}

#[test]
fn members_are_exactly_the_recorded_sources() {
    let other = |name: &str| with(block(name, b'0', 1, |_| ()), b"y");
    let none: &[Code] = &[];
    assert_eq!(compared(&[file("b"), file("a")], &["a", "b"]), none);
    assert_eq!(compared(&[], &[]), none);
    assert_eq!(compared(&[file("a"), file("b")], &["a"]), [Code::SnapshotSources]);
    assert_eq!(compared(&[file("a")], &["a", "b"]), [Code::SnapshotSources]);
    assert_eq!(compared(&[file("a")], &["a", "../b"]), [Code::SnapshotSources]);
    assert_eq!(compared(&[other("a")], &["a"]), [Code::SnapshotChanged]);
    assert_eq!(
        compared(&[other("a"), file("c")], &["a", "b"]),
        [Code::SnapshotChanged, Code::SnapshotSources, Code::SnapshotSources]
    );
    assert_eq!(compared(&[file("a"), file("a")], &["a"]), [Code::SnapshotMember]);
    assert_eq!(compared(&[file("a"), other("a")], &["a"]), [Code::SnapshotMember]);
    assert_eq!(compared(&[file("a"), file("A")], &["a", "A"]), [Code::SnapshotMember]);
    assert_eq!(compared(&[file("a"), file("a/b")], &["a", "a/b"]), [Code::SnapshotMember]);
    // What keeps the rest from being read is told alone.
    assert_eq!(compared(&[kind(b'2'), file("c")], &["a"]), [Code::SnapshotMember]);
}

// ---- writing ----

type Sources = BTreeMap<String, (Mode, Vec<u8>)>;

fn written(sources: &Sources) -> Result<(Vec<u8>, Sha256), Error> {
    let recorded = sources.iter().map(|(path, (_, content))| (path.clone(), Sha256::of(content))).collect();
    let mut out = Vec::new();
    let sha256 = super::write(&mut out, &recorded, |name| Ok(sources[name.as_str()].clone()))?;
    Ok((out, sha256))
}

fn named(names: &[&str]) -> Sources {
    names.iter().map(|name| ((*name).to_owned(), (Mode::Plain, name.as_bytes().to_vec()))).collect()
}

#[test]
fn what_is_written_is_read_again() {
    let name = |parts: &[usize]| parts.iter().map(|length| "n".repeat(*length)).collect::<Vec<_>>().join("/");
    let mut sources = named(&["a.py", "b/é.py", "b/c/d.sh"]);
    for parts in
        [&[100][..], &[101], &[155, 100], &[156, 100], &[155, 101], &[50, 49], &[50, 50], &[50, 50, 50], &[200, 9]]
    {
        sources.insert(
            format!("{}.x", name(parts)),
            (Mode::Plain, parts.iter().map(usize::to_string).collect::<String>().into()),
        );
    }
    let longest = format!("{}x", "ab/".repeat(1365));
    assert_eq!(longest.len(), 4096);
    sources.insert(longest, (Mode::Plain, Vec::new()));
    sources.insert("z".to_owned(), (Mode::Executable, vec![b'z'; 1 << 17]));
    let (bytes, sha256) = written(&sources).unwrap();
    assert_eq!(sha256, Sha256::of(&bytes));
    let mut tarball = Tarball::new(&*bytes, bytes.len() as u64, &Limits::default());
    let read: Vec<_> = std::iter::from_fn(|| tarball.next_member().unwrap()).collect();
    let want: Vec<_> = sources.iter().map(|(name, (_, content))| (name.clone(), Sha256::of(content))).collect();
    assert_eq!(read.iter().map(|member| (member.name.to_string(), member.sha256)).collect::<Vec<_>>(), want);
    assert_eq!(written(&sources).unwrap().0, bytes);
}

#[test]
fn the_form_that_is_written_is_fixed() {
    let (bytes, sha256) = written(&named(&["a", "b/c"])).unwrap();
    assert_eq!(bytes[..10], [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 2, 255]);
    let mut plain = Vec::new();
    flate2::read::GzDecoder::new(&*bytes).read_to_end(&mut plain).unwrap();
    let by_hand = tar(&[
        with(block("a", b'0', 1, |b| b[329..345].copy_from_slice(b"0000000\x000000000\0")), b"a"),
        with(block("b/c", b'0', 3, |b| b[329..345].copy_from_slice(b"0000000\x000000000\0")), b"b/c"),
    ]);
    assert_eq!(plain, by_hand);
    assert_eq!(sha256, Sha256::of(&bytes));
}

#[test]
fn what_would_not_be_accepted_is_not_written() {
    let refused = |sources: &Sources| match written(sources) {
        Err(Error::WouldNotVerify(text)) => text,
        other => panic!("{other:?}"),
    };
    assert!(written(&named(&["a", "b"])).is_ok());
    for names in [&["../a"][..], &["a", "A"], &["a", "a/b"], &["a\\b"]] {
        refused(&named(names));
    }
    let recorded = BTreeMap::from([("a".to_owned(), Sha256::of(b"x"))]);
    let write = |content: &'static [u8]| {
        super::write(Vec::new(), &recorded, |_: &EntryName| Ok((Mode::Plain, content.to_vec())))
    };
    assert!(write(b"x").is_ok());
    assert!(write(b"y").is_err_and(|error| error.to_string().contains("not the one that the run recorded")));
}
