//! Owns the search for what must not be in a release: secrets, what a redaction's pattern matches, private strings.
//!
//! Refuses to change anything. Invariant: a finding names a rule and a place and never repeats what it found; one file and
//! one rule give one finding.

use std::collections::BTreeMap;
use std::io::Read;
use std::ops::Range;
use std::path::{Path, PathBuf};

use aho_corasick::{AhoCorasick, Input, MatchKind};

use super::private::{PrivateStrings, forms};
use super::rules::Rules;
use super::secret::{SecretRule, Secrets};
use super::tally::Tally;
use super::visit::Visit;
use super::window::Window;
use crate::error::Error;
use crate::finding::Findings;
use crate::limits::{Limits, MAX_PRIVATE_STRINGS};
use crate::name;

/// What is searched for, ready for use by many threads.
#[derive(Debug)]
pub struct Scan<'a> {
    pub(super) rules: &'a Rules,
    pub(super) limits: &'a Limits,
    pub(super) scratch: PathBuf,
    secrets: Secrets,
    private: AhoCorasick,
    /// For each pattern of `private` the redaction that found the string, and in which form it is.
    forms: Vec<(usize, &'static str)>,
}

/// One thing that a window holds and a release must not.
#[derive(Debug, Clone, Copy)]
pub(super) enum Hit {
    /// Something that looks like a secret.
    Secret(&'static SecretRule),
    /// What the redaction at a position matches.
    Pattern(usize),
    /// A private string of the redaction at a position, in a form.
    Private(usize, &'static str),
}

impl<'a> Scan<'a> {
    /// Prepares a scan for secrets, for the patterns of all redactions and for the private strings that they found.
    /// ZIPs are copied one at a time into temporary files in the folder `scratch`: a private one, on a disk with room.
    ///
    /// # Errors
    /// Too many private strings to search for.
    pub fn new(rules: &'a Rules, private: &PrivateStrings, scratch: &Path, limits: &'a Limits) -> Result<Self, Error> {
        if private.len() > MAX_PRIVATE_STRINGS {
            let text = format!(
                "the redactions found {} private strings, and {MAX_PRIVATE_STRINGS} at most can be searched for: narrow \
                 what the group 'private' matches",
                private.len()
            );
            return Err(Error::Usage(text));
        }
        let (mut patterns, mut told) = (Vec::new(), Vec::new());
        for (string, redaction) in private.iter() {
            for (bytes, form) in forms(string) {
                patterns.push(bytes);
                told.push((redaction, form));
            }
        }
        let built = AhoCorasick::builder().match_kind(MatchKind::Standard).build(patterns);
        let private = built.map_err(|error| Error::Usage(format!("cannot search for private strings: {error}")))?;
        let secrets = Secrets::new().map_err(Error::Usage)?;
        Ok(Self { rules, limits, scratch: scratch.to_path_buf(), secrets, private, forms: told })
    }

    /// Scans a content as it streams by, and what is packed in it. `path` is the file's name in the release. Allowances
    /// that were needed are counted.
    ///
    /// # Errors
    /// What can't be read, or copied to the scratch folder.
    pub fn content(&self, path: &str, content: &mut dyn Read, tally: &mut Tally) -> Result<Findings, Error> {
        let visit = Visit::new(self);
        visit.content(content, "", 0).map_err(|failure| failure.into_error(Path::new(path)))?;
        Ok(visit.findings(path, &self.masked(path), tally))
    }

    /// Scans a file's name.
    pub fn name(&self, path: &str, tally: &mut Tally) -> Findings {
        let visit = Visit::new(self);
        visit.name(path, "");
        visit.findings(path, &self.masked(path), tally)
    }

    /// Scans another text that goes into the release, such as its manifest. `what` names it in findings.
    pub fn text(&self, what: &str, bytes: &[u8], tally: &mut Tally) -> Findings {
        let visit = Visit::new(self);
        visit.see(&Window::whole(bytes), "", 0);
        visit.findings(what, &self.masked(what), tally)
    }

    /// A name as findings show it: escaped, and with what is private in it masked.
    pub fn masked(&self, path: &str) -> String {
        let mut hidden: Vec<Range<usize>> = Vec::new();
        self.search(&Window::whole(path.as_bytes()), &mut |_, place| hidden.push(place));
        hidden.sort_by_key(|place| (place.start, place.end));
        let (mut out, mut end) = (String::new(), 0);
        for place in hidden {
            if place.end > end {
                let before = path.as_bytes().get(end..place.start).unwrap_or_default();
                out.push_str(&name::escape(before));
                out.push('\u{2026}');
                end = place.end;
            }
        }
        out + &name::escape(path.as_bytes().get(end..).unwrap_or_default())
    }

    /// Calls `found` for everything that starts in a window's part for it.
    pub(super) fn search(&self, window: &Window<'_>, found: &mut dyn FnMut(Hit, Range<usize>)) {
        let (bytes, to) = (window.bytes, window.to);
        self.secrets.search(bytes, window.from, to, &mut |secret| {
            found(Hit::Secret(secret.rule), secret.start..secret.end);
        });
        let mut by_patterns = BTreeMap::new();
        for (n, redaction) in self.rules.compiled().iter().enumerate() {
            let mut at = window.from;
            while let Some(matched) = redaction.pattern.find_at(bytes, at).filter(|matched| matched.start() < to) {
                found(Hit::Pattern(n), matched.range());
                by_patterns.insert(matched.start(), matched.end());
                at = matched.end().max(matched.start().saturating_add(1));
                if at > bytes.len() {
                    break;
                }
            }
        }
        for matched in self.private.find_overlapping_iter(Input::new(bytes).range(window.from..)) {
            if let Some((redaction, form)) = self.forms.get(matched.pattern().as_usize())
                && matched.start() < to
                // What a pattern matches holds its private string.
                && by_patterns.range(..=matched.start()).next_back().is_none_or(|(_, end)| *end < matched.end())
            {
                found(Hit::Private(*redaction, form), matched.range());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use base64::Engine as _;
    use serde_json::{Value, json};

    use super::super::PrivateStrings;
    use super::*;
    use crate::finding::Finding;
    use crate::limits::{SCAN_OVERLAP, SCAN_WINDOW};

    const PRIVATE: &str = "/Users/al\u{e9}x doe";

    fn rules(more: &Value) -> Rules {
        let mut document = json!({
            "format": "exhibit-export/1", "project": "made-up",
            "redactions": [{"label": "home", "pattern": "/home/(?<private>[a-z]+)", "replacement": "<HOME>",
                "files": ["**"], "reason": "a person's name"}],
        });
        document.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        Rules::load(Path::new("export.json"), document.to_string().as_bytes(), &Limits::default()).unwrap()
    }

    fn private() -> PrivateStrings {
        let mut private = PrivateStrings::default();
        private.insert(PRIVATE.as_bytes(), 0);
        private
    }

    fn scanned_as(path: &str, more: &Value, content: &[u8]) -> (Vec<Finding>, Tally) {
        let (rules, limits, folder) = (rules(more), Limits::default(), tempfile::tempdir().unwrap());
        let scan = Scan::new(&rules, &private(), folder.path(), &limits).unwrap();
        let mut tally = Tally::default();
        let mut reader = content;
        let findings = scan.content(path, &mut reader, &mut tally).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0, "something was left in the scratch folder");
        for finding in findings.iter() {
            let told = format!("{finding:?}");
            assert!(!told.contains("doe") && !told.contains("annabel") && !told.contains(&secret()), "{told}");
        }
        (findings.iter().cloned().collect(), tally)
    }

    fn scanned(content: &[u8]) -> Vec<(&'static str, Option<u64>)> {
        let (findings, _) = scanned_as("a/b.txt", &json!({}), content);
        findings.iter().map(|finding| (finding.code.name(), finding.place.line)).collect()
    }

    fn secret() -> String {
        format!("ghp{}{}", '_', "a8Kq3ZtR7mWx2VbN9cYd5LfPa8Kq3ZtR7mWx")
    }

    fn gzip(bytes: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::default());
        encoder.write_all(bytes).unwrap();
        encoder.finish().unwrap()
    }

    fn zip(files: &[(&str, &[u8])]) -> Vec<u8> {
        let mut writer = ::zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
        for (name, bytes) in files {
            writer.start_file(*name, ::zip::write::SimpleFileOptions::default()).unwrap();
            writer.write_all(bytes).unwrap();
        }
        writer.finish().unwrap().into_inner()
    }

    fn tar(name: &str, bytes: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len()].copy_from_slice(name.as_bytes());
        header[124..135].copy_from_slice(format!("{:011o}", bytes.len()).as_bytes());
        header[156] = b'0';
        header[257..265].copy_from_slice(b"ustar\x0000");
        let mut tar = [&header, bytes].concat();
        tar.resize(tar.len().next_multiple_of(512) + 1024, 0);
        tar
    }

    #[test]
    fn a_private_string_is_found_in_each_form() {
        let utf16 = |big: bool| -> Vec<u8> {
            PRIVATE.encode_utf16().flat_map(|unit| if big { unit.to_be_bytes() } else { unit.to_le_bytes() }).collect()
        };
        let hex = PRIVATE.bytes().map(|byte| format!("{byte:02x}")).collect::<Vec<_>>().concat();
        let encode = |text: String| base64::engine::general_purpose::STANDARD.encode(text).into_bytes();
        let url = |text: String| base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(text).into_bytes();
        let forms: Vec<Vec<u8>> = vec![
            PRIVATE.into(),
            PRIVATE.replace('/', "\\/").into(),
            PRIVATE.replace('\u{e9}', "\\u00e9").into(),
            PRIVATE.replace('\u{e9}', "\\u00E9").replace('/', "\\/").into(),
            PRIVATE.encode_utf16().map(|unit| format!("\\u{unit:04x}")).collect::<Vec<_>>().concat().into(),
            "%2FUsers%2Fal%C3%A9x%20doe".into(),
            "/Users/al%c3%a9x%20doe".into(),
            utf16(false),
            utf16(true),
            hex.to_uppercase().into(),
            hex.into(),
        ];
        let aligned = ["", "x", "xy"].into_iter().flat_map(|before| {
            let text = format!("{before}{PRIVATE}?>?>and more");
            [encode(text.clone()), url(text)]
        });
        for form in forms.into_iter().chain(aligned) {
            let text = [b"\n\nthen ", form.as_slice(), b" and"].concat();
            assert_eq!(scanned(&text), [("export-private", Some(3))], "{}", name::escape(&text));
        }
        assert_eq!(scanned("/Users/alex doe, /Users/al\u{e9}x".as_bytes()), []);
    }

    #[test]
    fn patterns_and_secrets_are_found_anywhere() {
        assert_eq!(scanned(b"x\n/home/annabel/x"), [("export-private", Some(2))]);
        assert_eq!(scanned(secret().as_bytes()), [("export-secret", Some(1))]);
        assert_eq!(scanned(b"/home/<HOME>, plain text"), []);
        let (found, _) = scanned_as("a", &json!({}), b"/home/annabel\n/home/annabel\n/home/zoe");
        assert_eq!((found.len(), found[0].message.ends_with(", and 2 more")), (1, true), "{found:?}");
    }

    #[test]
    fn nothing_is_lost_or_told_twice_at_the_edges_of_windows() {
        let secret = secret();
        let needles = [secret.as_bytes(), b"/home/annabel ", PRIVATE.as_bytes()];
        for needle in needles {
            for shift in (0..=needle.len() + 2).step_by(7).chain([1, needle.len(), 64, 90]) {
                for edge in [SCAN_WINDOW, SCAN_WINDOW + 64, SCAN_WINDOW + SCAN_OVERLAP + 64, 2 * SCAN_WINDOW + 64] {
                    let mut text = vec![b' '; 2 * SCAN_WINDOW + 2 * SCAN_OVERLAP];
                    let at = edge - shift;
                    text[at..at + needle.len()].copy_from_slice(needle);
                    let (found, _) = scanned_as("a", &json!({}), &text);
                    assert_eq!(found.len(), 1, "{shift} before {edge}");
                    assert!(
                        found[0].message.ends_with(&format!("at byte {at}")) || needle == secret.as_bytes(),
                        "{found:?}"
                    );
                }
            }
        }
    }

    #[test]
    fn containers_are_looked_into() {
        let text = b"one\n/home/annabel\n".as_slice();
        let plain = b"nothing here".as_slice();
        let whole = zip(&[("b.txt", text)]);
        for content in [
            gzip(text),
            whole.clone(),
            gzip(&tar("x.txt", text)),
            tar("x.zip", &whole),
            gzip(&tar("x.txt.gz", &gzip(text))),
            zip(&[("a.txt", plain), ("inner.zip", &whole)]),
            [gzip(plain), gzip(text)].concat(),
        ] {
            let (found, _) = scanned_as("a.bin", &json!({}), &content);
            assert_eq!(found.len(), 1, "{found:?}");
            assert_eq!(found[0].code.name(), "export-private");
        }
        for content in [gzip(plain), zip(&[("a.txt", plain)]), gzip(&tar("a.txt", plain)), zip(&[("i.zip", &zip(&[]))])]
        {
            assert_eq!(scanned(&content), []);
        }
        let named = zip(&[("home/x", plain), ("d/.env", plain)]);
        assert_eq!(scanned(&named), [("export-name", None)]);
        assert_eq!(scanned(&tar("d/id_rsa", plain)), [("export-name", None)]);
    }

    #[test]
    fn a_name_in_a_tar_is_seen_whole_however_it_is_written() {
        let file = tar("x", b"y");
        let headed = |kind: u8, content: &[u8]| {
            let mut header = tar("long", content);
            header[156] = kind;
            header.truncate(header.len() - 1024);
            [header, file.clone()].concat()
        };
        let long = format!("{}/.env", "a".repeat(120));
        let record = format!("130 path={long}\n");
        assert_eq!(record.len(), 135);
        let record = record.replace("130", "135");
        let mut split = tar("annabel/x", b"y");
        split[345..352].copy_from_slice(b"is/home");
        for (tar, code) in [
            (headed(b'L', format!("{long}\0").as_bytes()), "export-name"),
            (headed(b'x', format!("12 mtime=11\n{record}").as_bytes()), "export-name"),
            (split, "export-private"),
        ] {
            assert_eq!(scanned(&tar), [(code, None)]);
            assert_eq!(scanned(&gzip(&tar)), [(code, None)]);
        }
        assert_eq!(scanned(&headed(b'L', b"a/b.txt\0")), []);
        assert_eq!(scanned(&headed(b'x', b"16 path=a/b.txt\n")), []);
    }

    #[test]
    fn a_zip_behind_other_bytes_is_refused() {
        let program = |archive: &[u8]| [b"#!/usr/bin/env python3\n", archive].concat();
        let mut commented = program(&zip(&[("a.txt", b"plain")]));
        let end = commented.len();
        commented[end - 2] = 3;
        commented.extend_from_slice(b"abc");
        for content in [program(&zip(&[("a.txt", b"plain")])), commented, [vec![b' '; 300_000], zip(&[])].concat()] {
            assert_eq!(scanned(&content), [("export-opaque", None)]);
        }
        // An empty archive, and a text that only speaks of the record.
        assert_eq!(scanned(&zip(&[])), []);
        assert_eq!(scanned(b"an end record starts with PK\x05\x06, and has a fixed part and a comment"), []);
    }

    #[test]
    fn what_cannot_be_looked_into_is_refused_unless_it_is_allowed() {
        let plain = b"nothing here".as_slice();
        let cut = |bytes: Vec<u8>| bytes[..bytes.len() - 3].to_vec();
        let mut deep = plain.to_vec();
        for _ in 0..=crate::limits::MAX_NESTING {
            deep = gzip(&deep);
        }
        for content in [
            b"\xfd7zXZ\0\0".to_vec(),
            b"\x28\xb5\x2f\xfdx".to_vec(),
            b"BZh91AY&SY".to_vec(),
            b"7z\xbc\xaf\x27\x1c".to_vec(),
            b"Rar!\x1a\x07\x01\0".to_vec(),
            cut(gzip(plain)),
            [gzip(plain), b"rest".to_vec()].concat(),
            cut(zip(&[("a.txt", plain)])),
            tar("a.txt", plain)[..520].to_vec(),
            gzip(&cut(gzip(plain))),
            zip(&[("a.xz", b"\xfd7zXZ\0\0")]),
            deep.clone(),
        ] {
            assert_eq!(scanned(&content), [("export-opaque", None)]);
            let allowed = json!({"allowed": [{"files": "a/b.txt", "rule": "opaque-archive", "reason": "made up"}]});
            let (found, tally) = scanned_as("a/b.txt", &allowed, &content);
            assert_eq!((found, tally.allowed.len()), (Vec::new(), 1));
        }
        let zeros = gzip(&vec![0; 80 << 20]);
        assert_eq!(scanned(&zeros), [("export-opaque", None)], "it inflates a thousand times");
        assert_eq!(scanned(b"BZhello, Rar! 7z"), []);
    }

    #[test]
    fn names_and_other_texts_are_scanned_and_shown_without_what_is_private() {
        let (rules, limits) = (rules(&json!({})), Limits::default());
        let scan = Scan::new(&rules, &private(), Path::new("."), &limits).unwrap();
        let mut tally = Tally::default();
        let named = format!("logs/{PRIVATE}.txt").replace("//", "/");
        let found: Vec<_> = scan.name(&format!("logs{PRIVATE}.txt"), &mut tally).iter().cloned().collect();
        assert_eq!(found.len(), 1, "{named}");
        assert_eq!(found[0].place.entry.as_deref(), Some("logs\u{2026}.txt"));
        assert_eq!(scan.masked("a/home/annabel/b"), "a\u{2026}/b");
        assert_eq!(scan.text("EXPORT-MANIFEST.json", b"{\"path\":\"/home/annabel\"}", &mut tally).iter().count(), 1);
        assert!(scan.text("EXPORT-MANIFEST.json", b"{}", &mut tally).none_broken());
    }

    #[test]
    fn an_allowance_lets_one_rule_of_one_file_through() {
        let allowed = json!({"allowed": [{"files": "a/b.txt", "rule": "github-token", "reason": "made up"}]});
        let text = format!("{} and /home/annabel", secret());
        let (found, tally) = scanned_as("a/b.txt", &allowed, text.as_bytes());
        assert_eq!(found.iter().map(|finding| finding.code.name()).collect::<Vec<_>>(), ["export-private"]);
        assert_eq!(tally.allowed.len(), 1);
        let (found, tally) = scanned_as("a/c.txt", &allowed, text.as_bytes());
        assert_eq!((found.len(), tally.allowed.len()), (2, 0));
    }

    /// By the project's own rules its files hold no secret and no refused name.
    #[test]
    fn this_project_itself_passes() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let (limits, folder) = (Limits::default(), tempfile::tempdir().unwrap());
        let document = std::fs::read(root.join("release/export.json")).unwrap();
        let rules = Rules::load(Path::new("release/export.json"), &document, &limits).unwrap();
        let scan = Scan::new(&rules, &PrivateStrings::default(), folder.path(), &limits).unwrap();
        let mut wrong = Vec::new();
        for top in ["src", "docs", "tests", "schemas", "matrices", "release", "fuzz", "README.md", "Cargo.lock"] {
            let is_built = |entry: &walkdir::DirEntry| entry.path() == root.join("fuzz/target");
            let entries = walkdir::WalkDir::new(root.join(top)).into_iter().filter_entry(|entry| !is_built(entry));
            for entry in entries.map(Result::unwrap).filter(|entry| entry.file_type().is_file()) {
                let path = entry.path().strip_prefix(root).unwrap().to_str().unwrap().to_owned();
                let mut tally = Tally::default();
                if rules.omitted(&path, &mut tally).is_some() {
                    continue;
                }
                wrong.extend(rules.check_name(&path, &mut tally));
                let found = scan.content(&path, &mut std::fs::File::open(entry.path()).unwrap(), &mut tally).unwrap();
                wrong.extend(found.iter().cloned());
                wrong.extend(scan.name(&path, &mut tally).iter().cloned());
            }
        }
        assert_eq!(wrong, []);
    }
}
