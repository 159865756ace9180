//! Files that are no ZIP, are half a ZIP, or can't be read: never a pass, never a hang, always a sentence that helps.
#![expect(clippy::disallowed_methods, reason = "tests run the built binary")]
#![expect(clippy::unwrap_used, reason = "a test's own files and archives are in order, or it fails")]

#[expect(dead_code, reason = "not every kind of record is made here")]
mod support;

use std::fs::Permissions;
use std::io::{self, Write as _};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use exhibit::limits::Limits;
use exhibit::name::EntryName;
use exhibit::zip::{Archive, Writer};
use support::rawzip::{DESCRIPTOR_FOLLOWS, Record, Zip, field};
use support::run::{Folder, codes, exhibit, list, list_text};

fn good() -> Zip {
    Zip::of([Record::deflated("a.txt", b"some content"), Record::stored("b/c.txt", b"more")])
}

fn gzip() -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(b"content").unwrap();
    encoder.finish().unwrap()
}

fn tar() -> Vec<u8> {
    let mut bytes = vec![0; 10_240];
    bytes[..5].copy_from_slice(b"a.txt");
    bytes[257..262].copy_from_slice(b"ustar");
    bytes
}

/// Exit code 2, and a sentence that says what, where and what to do.
fn could_not_check(path: &Path, kind: &str, says: &str) {
    let listed = list(&[path]);
    let report = &listed.reports[0];
    assert_eq!((listed.code, report["verdict"].as_str()), (2, Some("could_not_check")), "{}", path.display());
    assert_eq!(report["error"]["kind"], kind, "{}", path.display());
    let message = report["error"]["message"].as_str().unwrap();
    assert!(message.contains(says) && message.contains(path.to_str().unwrap()), "{message}");
    let parts = message.split(": ").count();
    assert!(parts > usize::from(kind == "io") + 1 && !message.contains('\n'), "no advice: {message}");
    let output = list_text(path);
    let text = String::from_utf8(output.stdout).unwrap();
    assert_eq!((output.status.code(), text.lines().count()), (Some(2), 2), "{text}");
    assert!(text.contains(": could not check\nerror: "), "{text}");
}

#[test]
fn what_is_no_zip_is_named() {
    let folder = Folder::new();
    for (name, bytes, says) in [
        ("empty.zip", &b""[..], "an empty file"),
        ("tar.zip", &tar(), "a tar archive"),
        ("gzip.zip", &gzip(), "a gzip file"),
        ("text.zip", b"hello\n", "text"),
        ("short.zip", b"PK", "text"),
        ("page.zip", b"<!DOCTYPE html><title>404</title>", "a web page or XML"),
        ("error.zip", b"{\"message\": \"Not Found\"}", "JSON text"),
        ("paper.zip", b"%PDF-1.7\n%\xe2\xe3", "a PDF"),
        ("noise.zip", b"\x00\xff\x00\xff", "some other file"),
        ("zeros.zip", &vec![0; 100_000], "some other file"),
    ] {
        could_not_check(&folder.file(name, bytes), "not_a_zip", says);
    }
    std::fs::create_dir(folder.at("folder.zip")).unwrap();
    could_not_check(&folder.at("folder.zip"), "not_a_zip", "a folder");
    could_not_check(Path::new("/dev/null"), "not_a_zip", "a pipe, device or socket");
    let pipe = folder.at("pipe.zip");
    assert!(Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    could_not_check(&pipe, "not_a_zip", "a pipe, device or socket");
    could_not_check(&folder.at("missing.zip"), "io", "cannot open");
    symlink("gone", folder.at("dangling.zip")).unwrap();
    could_not_check(&folder.at("dangling.zip"), "io", "cannot open");
    symlink("loop.zip", folder.at("loop.zip")).unwrap();
    could_not_check(&folder.at("loop.zip"), "io", "cannot open");
}

#[test]
fn a_file_that_may_not_be_read_is_not_judged() {
    let folder = Folder::new();
    let path = folder.file("secret.zip", &good().bytes());
    std::fs::set_permissions(&path, Permissions::from_mode(0o000)).unwrap();
    if std::fs::File::open(&path).is_ok() {
        println!("skipped: this user reads every file");
        return;
    }
    could_not_check(&path, "io", "cannot open");
}

#[test]
fn no_truncation_passes() {
    let folder = Folder::new();
    for whole in [good().bytes(), good().with_end64().bytes()] {
        let paths: Vec<_> = (0..whole.len()).map(|length| folder.file(&length.to_string(), &whole[..length])).collect();
        let listed = list(&paths);
        assert_eq!(listed.code, 2, "the shortest are no ZIP");
        for (length, report) in listed.reports.iter().enumerate() {
            let verdict = report["verdict"].as_str();
            let want = if length < 4 { "could_not_check" } else { "reject" };
            assert_eq!(verdict, Some(want), "{length} bytes");
            assert_eq!(codes(report, "findings").len(), usize::from(length >= 4), "{length} bytes: {report}");
        }
        assert_eq!(list(&[folder.file("whole", &whole)]).code, 0);
    }
}

#[test]
fn paths_are_taken_as_they_are() {
    let folder = Folder::new();
    let bytes = good().bytes();
    let named: Vec<_> =
        ["two words.zip", "café 日本.zip", "-", "--format"].iter().map(|name| folder.file(name, &bytes)).collect();
    let listed = list(&named);
    assert_eq!(listed.code, 0);
    for (path, report) in named.iter().zip(&listed.reports) {
        assert_eq!(report["file"].as_str(), path.to_str());
    }
    symlink(&named[0], folder.at("link.zip")).unwrap();
    assert_eq!(list(&[folder.at("link.zip")]).code, 0, "a link that the user named");
    let hostile = folder.file("a\x1b[2J\nb.zip", &bytes);
    let text = String::from_utf8(list_text(&hostile).stdout).unwrap();
    assert!(text.contains("a\\u{1b}[2J\\u{a}b.zip: accept") && !text.contains('\x1b'), "{text:?}");
}

#[test]
fn a_folder_that_cannot_be_written_to_is_no_hindrance() {
    let folder = Folder::new();
    std::fs::create_dir(folder.at("frozen")).unwrap();
    let path = folder.file("frozen/a.zip", &good().bytes());
    std::fs::set_permissions(folder.at("frozen"), Permissions::from_mode(0o555)).unwrap();
    assert_eq!(list(&[&path]).code, 0);
    let names: Vec<_> =
        std::fs::read_dir(folder.at("frozen")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(names, ["a.zip"]);
    std::fs::set_permissions(folder.at("frozen"), Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn reports_come_in_order_and_the_worst_decides() {
    let folder = Folder::new();
    let accepted = folder.file("accepted.zip", &good().bytes());
    let rejected = folder.file("rejected.zip", &[&good().bytes()[..], b"x"].concat());
    let missing = folder.at("missing.zip");
    for (files, code, verdicts) in [
        (vec![&accepted, &accepted], 0, vec!["accept", "accept"]),
        (vec![&accepted, &rejected, &accepted], 1, vec!["accept", "reject", "accept"]),
        (vec![&missing, &rejected, &accepted], 2, vec!["could_not_check", "reject", "accept"]),
        (vec![&rejected, &accepted, &missing], 2, vec!["reject", "accept", "could_not_check"]),
    ] {
        let listed = list(&files);
        let found: Vec<_> = listed.reports.iter().map(|report| report["verdict"].as_str().unwrap()).collect();
        assert_eq!((listed.code, found), (code, verdicts));
        let named: Vec<_> = listed.reports.iter().map(|report| report["file"].as_str()).collect();
        assert_eq!(named, files.iter().map(|path| path.to_str()).collect::<Vec<_>>());
    }
}

#[test]
fn a_report_that_nobody_reads_is_no_pass() {
    let folder = Folder::new();
    let path = folder.file("a.zip", &good().bytes());
    let many = folder.file("many.zip", &numbered(3000));
    for file in [&path, &many] {
        for format in ["text", "json"] {
            let (reader, writer) = io::pipe().unwrap();
            drop(reader);
            let mut command = exhibit(&["list", "--format", format]);
            let output = command.arg(file).stdout(writer).stderr(Stdio::piped()).output().unwrap();
            assert_eq!(output.status.code(), Some(2), "{format}");
            let complaint = String::from_utf8(output.stderr).unwrap();
            assert!(complaint.starts_with("error: cannot write the report: "), "{complaint}");
        }
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    assert_eq!(exhibit(&["list"]).arg(&path).stdout(full).stderr(Stdio::null()).status().unwrap().code(), Some(2));
}

#[test]
fn arguments_that_make_no_sense_are_no_pass() {
    for arguments in [&["list"][..], &["list", "--format", "xml", "a"], &["lst"], &[], &["explain", "zip-gap?"]] {
        assert_eq!(exhibit(arguments).output().unwrap().status.code(), Some(2), "{arguments:?}");
    }
}

/// An archive by exhibit's own writer.
fn numbered(count: usize) -> Vec<u8> {
    let mut writer = Writer::new(io::Cursor::new(Vec::new()));
    for index in 0..count {
        let name = EntryName::new(&format!("{index:06}")).unwrap();
        writer.file(&name, 0o100_644, 0, &mut io::empty()).unwrap();
    }
    writer.finish().unwrap().into_inner()
}

#[test]
fn archives_around_the_16_bit_count_are_taken() {
    let folder = Folder::new();
    for count in [65_534, 65_535, 65_536] {
        let path = folder.file("many.zip", &numbered(count));
        let (archive, findings) = Archive::open(&path, &Limits::default()).unwrap();
        assert_eq!(findings.iter().collect::<Vec<_>>(), Vec::<&exhibit::finding::Finding>::new(), "{count} entries");
        assert_eq!(archive.check_canonical().unwrap(), None, "{count} entries");
        assert_eq!(archive.entries().len(), count);
        assert_eq!(list(&[path]).code, 0, "{count} entries");
    }
}

#[test]
fn sizes_over_32_bits_are_read_from_their_fields() {
    let mut record = Record::deflated("big", b"not so big").with_zip64();
    let sizes = [5u64 << 30, record.data.len() as u64].map(u64::to_le_bytes).concat();
    record.both(|header| header.extra = field(1, &sizes));
    let folder = Folder::new();
    let listed = list(&[folder.file("big.zip", &Zip::of([record]).bytes())]);
    let report = &listed.reports[0];
    assert_eq!((listed.code, codes(report, "findings")), (1, vec!["zip-ratio".to_owned()]));
    assert_eq!(report["entries"][0]["size"], 5u64 << 30);
    assert!(report["entries"][0]["sha256"].is_null(), "what is refused by its size is not inflated");
}

/// How long `exhibit list` takes over an archive that it refuses.
fn time_to_refuse(zip: &Zip) -> Duration {
    let folder = Folder::new();
    let path = folder.file("a.zip", &zip.bytes());
    let started = Instant::now();
    assert_eq!(list(&[path]).code, 1);
    started.elapsed()
}

#[test]
fn no_work_grows_with_the_square_of_what_is_in_a_record() {
    let crowded: Vec<u8> = (0x1000u16..0x1000 + 16_000).flat_map(|id| field(id, b"")).collect();
    let mut record = Record::stored("a", b"");
    record.both(|header| header.extra.clone_from(&crowded));
    assert!(time_to_refuse(&Zip::of(vec![record.clone(); 40])) < Duration::from_secs(30), "many extra fields");

    // Every record points at the first, whose end nobody can tell.
    record.local.flags = DESCRIPTOR_FOLLOWS;
    let mut shared = Zip::of([vec![record], vec![Record::stored("b", b""); 20_000]].concat());
    shared.records.iter_mut().for_each(|record| record.offset = 0);
    assert!(time_to_refuse(&shared) < Duration::from_secs(30), "many entries at one record");

    let deep = |index: usize| Record::stored(format!("{:05}/{}b", index % 100, "a/".repeat(2040)), b"");
    let names = Zip::of((0..=100).map(deep).collect::<Vec<_>>());
    assert!(time_to_refuse(&names) < Duration::from_secs(30), "deep names");
}

#[test]
fn overlapping_bombs_are_refused_at_once() {
    // A kernel of 4 MiB of zeros under a thousand names: 4 GiB from 60 kB.
    let kernel = Record::deflated("kernel", &vec![0; 4 << 20]);
    let mut zip = Zip::of((0..1000).map(|index| Record::stored(format!("{index:04}"), b"")).collect::<Vec<_>>());
    for record in &mut zip.records {
        let name = record.central.name.clone();
        record.central = support::rawzip::Header { name, ..kernel.central.clone() };
        record.local = record.central.clone();
        record.local.signature = *b"PK\x03\x04";
    }
    zip.records.last_mut().unwrap().data = kernel.data;
    zip.lay_out();
    let folder = Folder::new();
    let listed = list(&[folder.file("bomb.zip", &zip.bytes())]);
    let found = codes(&listed.reports[0], "findings");
    assert_eq!((listed.code, found.last().map(String::as_str)), (1, Some("zip-ratio")));
    let overlaps = found.iter().filter(|code| *code == "zip-overlap").count();
    assert!(overlaps > 900 && overlaps == found.len() - 1, "{overlaps} of {}", found.len());
}
