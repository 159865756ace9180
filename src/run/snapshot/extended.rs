//! Owns the records of a pax extended header: `<length> <key>=<value>` and a line end each (POSIX.1-2017, pax).
//!
//! Refuses every key that could change what a file's content is, or that some readers don't know. Invariant: what is
//! taken from the records is a name, and nothing else.

/// Keys that say nothing of a content.
const TOLERATED: [&str; 9] =
    ["atime", "comment", "ctime", "gid", "gname", "LIBARCHIVE.creationtime", "mtime", "uid", "uname"];

/// How keys start that say what a file system keeps beside a content. bsdtar and `tar --xattrs` write them where there is
/// any, the values as they are, and macOS gives nearly every file one.
const BESIDE: [&str; 4] = ["LIBARCHIVE.xattr.", "RHT.security.", "SCHILY.acl.", "SCHILY.xattr."];

/// Reads all records and gives the path, where one names it. The fault is the end of a sentence that starts with "the
/// extended header". Records for all files, `is_global`, name none.
pub(super) fn path(mut records: &[u8], is_global: bool) -> Result<Option<String>, String> {
    let mut seen: Vec<&str> = Vec::new();
    let mut path = None;
    while !records.is_empty() {
        let (key, value, rest) = record(records).ok_or(NO_RECORD)?;
        if seen.contains(&key) {
            return Err(format!("has the key {key:?} twice"));
        }
        // A value that nobody looks at may be any bytes.
        if !BESIDE.iter().any(|start| key.starts_with(start)) {
            let value = std::str::from_utf8(value).ok().filter(|value| !value.contains('\0')).ok_or(NO_RECORD)?;
            match key {
                "path" if !is_global => path = Some(value.to_owned()),
                _ if TOLERATED.contains(&key) => {}
                _ => {
                    return Err(format!(
                        "has the key {key:?}, and names, owners, times and comments are all it may have"
                    ));
                }
            }
        }
        seen.push(key);
        records = rest;
    }
    Ok(path)
}

const NO_RECORD: &str = "has a record that is not its length, a key and a value";

/// The first record's key and value, and what follows it.
fn record(records: &[u8]) -> Option<(&str, &[u8], &[u8])> {
    let space = records.iter().position(|byte| *byte == b' ')?;
    let digits = std::str::from_utf8(records.get(..space)?).ok()?;
    let is_plain = !digits.starts_with('0') && digits.bytes().all(|digit| digit.is_ascii_digit());
    let length: usize = digits.parse().ok().filter(|_| is_plain)?;
    let (record, rest) = records.split_at_checked(length)?;
    let text = record.get(space.checked_add(1)?..)?.strip_suffix(b"\n")?;
    let equals = text.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (text.get(..equals)?, text.get(equals.checked_add(1)?..)?);
    let key = std::str::from_utf8(key).ok().filter(|key| !key.is_empty() && !key.contains('\0'))?;
    Some((key, value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn said(records: &str) -> Result<Option<String>, ()> {
        path(records.as_bytes(), false).map_err(drop)
    }

    #[test]
    fn records_name_a_file_and_nothing_more() {
        assert_eq!(said(""), Ok(None));
        assert_eq!(said("10 path=a\n"), Ok(Some("a".to_owned())));
        assert_eq!(said("12 path=a=b\n"), Ok(Some("a=b".to_owned())));
        assert_eq!(said("20 mtime=1758577289\n11 path=é\n"), Ok(Some("é".to_owned())));
        assert_eq!(said("16 comment=a\nb\n\n".get(..15).unwrap_or_default()), Err(()));
        for bad in [
            "10 path=a",
            "11 path=a\n",
            "8 path=a\n",
            "010 path=a\n",
            "+10 path=a\n",
            "10 path=a\n\0",
            "10 path=a\n10 path=b\n",
            "8 path\n",
            "5 =a\n",
            "10 path=\0\n",
            "99999999999999999999 path=a\n",
            "14 linkpath=a\n",
            "10 size=1\n",
            "22 GNU.sparse.major=1\n",
            "22 hdrcharset=BINARY\n",
            "24 SCHILY.realsize=1024\n",
            "12 unknown=1\n",
            " path=a\n",
        ] {
            assert_eq!(said(bad), Err(()), "{bad:?}");
        }
        assert_eq!(path(b"11 path=\xff\xfe\n", false).map_err(drop), Err(()));
    }

    /// A record with its length.
    fn made(key: &str, value: &[u8]) -> Vec<u8> {
        let rest = [b" ", key.as_bytes(), b"=", value, b"\n"].concat();
        let digits = if rest.len() + 2 < 100 { 2 } else { 3 };
        [(rest.len() + digits).to_string().as_bytes(), &rest].concat()
    }

    #[test]
    fn what_is_kept_beside_a_content_may_be_any_bytes() {
        let bytes = b"\x01\x02\0\xff\n10 path=b\n";
        let read = |key: &str| path(&[made(key, bytes), made("path", b"a")].concat(), false);
        for key in [
            "LIBARCHIVE.xattr.user.made",
            "RHT.security.selinux",
            "SCHILY.acl.access",
            "SCHILY.xattr.com.apple.provenance",
        ] {
            assert_eq!(read(key), Ok(Some("a".to_owned())), "{key}");
            assert!(path(&made(key, b"1").repeat(2), false).is_err(), "{key} twice");
            assert_eq!(path(&made(key, bytes), true), Ok(None), "{key} for all files");
        }
        for key in ["comment", "path", "SCHILY.xattr", "SCHILY.realsize", "LIBARCHIVE.creationtime"] {
            assert!(read(key).is_err(), "{key}");
        }
    }

    #[test]
    fn records_for_all_files_name_none() {
        let comment = format!("52 comment={}\n", "7".repeat(40));
        assert_eq!(path(comment.as_bytes(), true), Ok(None));
        assert_eq!(path(b"10 path=a\n", true).map_err(drop), Err(()));
    }
}
