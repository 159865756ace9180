//! Owns finding one file in a release, archive or folder, and verifying it before it is shown.
//!
//! Refuses a file that isn't the listed one, and a packing that isn't sound. Invariant: only the file and the manifest
//! are read, besides a ZIP's records; a content is handed out only where nothing was found.

use std::collections::BTreeSet;
use std::io::Read;
use std::path::{Path, PathBuf};

use crate::error::Error;
use crate::finding::Findings;
use crate::limits::Limits;
use crate::manifest::{self, MANIFEST};
use crate::name::{EntryName, collision_key, escape, lookalike_key};
use crate::tree::{self, Inventory, Progress};

/// Names that a hint lists. More would hide the one that was meant.
const HINTS: usize = 5;

/// A file that was looked for.
#[derive(Debug)]
pub struct Shown {
    inventory: Inventory,
    name: EntryName,
    /// What is wrong with it, with the manifest or with the packing.
    pub findings: Findings,
}

impl Shown {
    /// Where it is.
    pub fn path(&self) -> PathBuf {
        self.inventory.path().join(self.name.as_str())
    }

    /// Opens the content. The reader fails at its end where the content isn't the one that was verified.
    ///
    /// # Errors
    /// It can't be opened.
    pub fn open(&self) -> Result<Box<dyn Read + '_>, Error> {
        self.inventory.open_file(self.name.as_str())
    }
}

/// Finds the file `name` in the tree at `path`, a ZIP or a folder, and verifies it.
///
/// # Errors
/// What can't be read; a manifest of an unknown format; no such file, with near names.
pub fn show(path: &Path, name: &str, limits: &Limits, progress: Progress<'_>) -> Result<Shown, Error> {
    let Ok(wanted) = EntryName::new(name) else { return Err(missing(path, name, limits)) };
    let manifest = EntryName::new(MANIFEST).map_err(|fault| Error::Usage(fault.to_string()))?;
    let names = BTreeSet::from([wanted.clone(), manifest]);
    let (inventory, mut findings) = Inventory::open_named(path, &names, limits, progress)?;
    if findings.none_broken() && inventory.file(MANIFEST).is_some() {
        let (read, found) = manifest::read(&inventory, limits, None)?;
        findings.append(found);
        if let Some(read) = read {
            findings.append(manifest::compare_content(&read, &inventory, &wanted, limits));
        }
    }
    if findings.none_broken() && inventory.file(name).is_none() {
        return Err(missing(path, name, limits));
    }
    Ok(Shown { inventory, name: wanted, findings })
}

/// Says that there is no such file, and which one may have been meant.
fn missing(path: &Path, name: &str, limits: &Limits) -> Error {
    let names = match tree::names(path, limits) {
        Ok(names) => names,
        Err(error) => return error,
    };
    let (shown, hint) = (escape(name.as_bytes()), hint(&names, name));
    Error::Usage(format!("{} has no file \"{shown}\": {hint}", path.display()))
}

fn hint(names: &[EntryName], wanted: &str) -> String {
    let listed = |near: &[&EntryName]| {
        let shown: Vec<&str> = near.iter().take(HINTS).map(|name| name.as_str()).collect();
        let more = near.len().saturating_sub(HINTS);
        let more = if more == 0 { String::new() } else { format!(" and {more} more") };
        format!("{}{more}", shown.join(", "))
    };
    let wanted = wanted.trim_start_matches("./").trim_end_matches('/');
    let inside: Vec<&EntryName> = names.iter().filter(|name| name.below(wanted).is_some()).collect();
    if !inside.is_empty() {
        return format!("it is a folder; name a file in it: {}", listed(&inside));
    }
    if let Some((_, below)) = wanted.split_once('/')
        && names.iter().any(|name| name.as_str() == below)
    {
        return format!("names start below the root folder: give {below}");
    }
    let key = lookalike_key(wanted);
    let alike: Vec<&EntryName> = names.iter().filter(|name| lookalike_key(name.as_str()) == key).collect();
    if !alike.is_empty() {
        return format!("names are told apart by every letter's case and form: is it {}?", listed(&alike));
    }
    let last = |name: &str| name.rsplit('/').next().map(collision_key);
    let elsewhere: Vec<&EntryName> = names.iter().filter(|name| last(name.as_str()) == last(wanted)).collect();
    if elsewhere.is_empty() {
        return "names start at the tree's root, parts joined by /; the files are listed by `exhibit list` or `ls`"
            .to_owned();
    }
    format!("is it {}?", listed(&elsewhere))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hint_names_what_was_meant() {
        let names: Vec<EntryName> =
            ["a/1", "a/2", "a/3", "a/4", "a/5", "a/6", "Caf\u{e9}.md", "docs/LICENSE", "README.md"]
                .iter()
                .map(|name| EntryName::new(name).unwrap())
                .collect();
        for (wanted, says) in [
            ("a", "a/1, a/2, a/3, a/4, a/5 and 1 more"),
            ("a/", "a/1, a/2"),
            ("study-1/README.md", "below the root folder: give README.md"),
            ("readme.md", "is it README.md?"),
            ("./README.md", "is it README.md?"),
            ("Cafe\u{301}.md", "is it Caf\u{e9}.md?"),
            ("LICENSE", "is it docs/LICENSE?"),
            ("license", "is it docs/LICENSE?"),
            ("x/y", "names start at the tree's root"),
        ] {
            let hint = hint(&names, wanted);
            assert!(hint.contains(says), "{wanted}: {hint}");
        }
    }
}
