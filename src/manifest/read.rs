//! Owns reading a tree's manifest: which format it is, and what is wrong with it.
//!
//! Refuses to go on with a document that has two meanings. Invariant: the manifest is read as JSON of one meaning
//! before any field of it counts, and a manifest that is returned has the types of its format throughout.

use std::cell::RefCell;
use std::io::{self, BufReader, Read};

use serde::de::DeserializeOwned;

use crate::digest::Sha256;

use super::historical::Version;
use super::{Historical, Kind, MANIFEST, Manifest, Own, approval, own};
use crate::document::{is_newer, major_of, shown};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::json::{self, Fault, Object};
use crate::limits::Limits;
use crate::policy::Policy;
use crate::tree::Inventory;

/// The formats that are read.
const KNOWN: &str = "exhibit-manifest/1, tracked-source-export-v1, public-source-export-v2 and public-source-export-v3";

/// Reads the manifest of a tree. There is none where the findings say that it can't be read.
/// `policy` is the one that the user gave: a release must redact exactly what it approved. Without it a historical release
/// is held against its project's embedded one; one of the own format discloses its redactions itself.
///
/// # Errors
/// No manifest; one that can't be read from disk, or is larger than `limits` allow; a format that isn't known; a policy
/// for another project.
pub fn read(
    inventory: &Inventory,
    limits: &Limits,
    policy: Option<&Policy>,
) -> Result<(Option<Manifest>, Findings), Error> {
    let mut findings = Findings::new(limits.max_findings);
    if inventory.file(MANIFEST).is_none() {
        return Err(missing(inventory));
    }
    let recorded = within_limit(inventory, limits)?;
    let checked = stream(inventory, |reader| json::check_format(reader, limits.max_depth))?;
    let Some(format) = kept(checked, &mut findings) else { return Ok((None, findings)) };
    let Some(format) = format else {
        findings.push(Finding::new(Code::ManifestField, Place::entry(MANIFEST).pointer("/format"), NO_FORMAT));
        return Ok((None, findings));
    };
    let manifest = match format.as_str() {
        own::FORMAT => typed(inventory, &mut findings)?
            .map(|document| Own::read(document, recorded, &mut findings).map(Manifest::Own))
            .transpose()?,
        other => {
            let Some(version) = Version::named(other) else { return Err(unknown(inventory, &format)) };
            match typed(inventory, &mut findings)? {
                Some(wire) => Historical::read(version, wire, policy, &mut findings)?.map(Manifest::Historical),
                None => None,
            }
        }
    };
    if let (Some(manifest), Some(policy)) = (&manifest, policy) {
        same_project(manifest.project(), policy)?;
        if let (Manifest::Own(own), Kind::Release) = (manifest, manifest.kind()) {
            approval::check_own(own, policy, &mut findings);
        }
    }
    Ok((manifest, findings))
}

fn same_project(project: &str, policy: &Policy) -> Result<(), Error> {
    if policy.project.as_str() == project {
        return Ok(());
    }
    let given = &policy.project;
    Err(Error::Usage(format!(
        "the policy is for {given}, the release is of {project}: give the policy of that project"
    )))
}

const NO_FORMAT: &str = "the manifest: it is no object with a field format that is a string";

/// The digest of the manifest's bytes, where there are not too many of them.
fn within_limit(inventory: &Inventory, limits: &Limits) -> Result<Sha256, Error> {
    let Some((file, digests)) = inventory.file(MANIFEST) else { return Err(missing(inventory)) };
    if file.size > limits.max_manifest {
        let why = format!("it is larger than {} bytes", limits.max_manifest);
        return Err(Error::io("read", &inventory.path().join(MANIFEST))(io::Error::other(why)));
    }
    Ok(digests.sha256)
}

/// Reads the manifest once, to its end, without keeping it: a manifest has a few hundred bytes for each file of a tree.
fn stream<T>(
    inventory: &Inventory,
    read: impl FnOnce(BufReader<Noting<'_>>) -> Result<T, Fault>,
) -> Result<Result<T, Fault>, Error> {
    let path = inventory.path().join(MANIFEST);
    let failure = RefCell::new(None);
    let noting = Noting { reader: inventory.open_file(MANIFEST)?, failure: &failure };
    let outcome = read(BufReader::with_capacity(1 << 16, noting));
    match (failure.into_inner(), &outcome) {
        (Some(error), _) => return Err(Error::io("read", &path)(error)),
        // Only at its end does a reader tell whether the content is the one that was hashed.
        (None, Err(_)) => {
            io::copy(&mut inventory.open_file(MANIFEST)?, &mut io::sink()).map_err(Error::io("read", &path))?;
        }
        (None, Ok(_)) => {}
    }
    Ok(outcome)
}

/// Keeps the system's refusal, which a JSON reader turns into a fault of the document.
struct Noting<'a> {
    reader: Box<dyn Read + 'a>,
    failure: &'a RefCell<Option<io::Error>>,
}

impl Read for Noting<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.reader.read(buffer).map_err(|error| {
            let again = io::Error::from(error.kind());
            self.failure.replace(Some(error));
            again
        })
    }
}

fn typed<T: DeserializeOwned>(inventory: &Inventory, findings: &mut Findings) -> Result<Option<T>, Error> {
    let read = stream(inventory, |reader| json::read_checked::<Object<T>>(reader, Code::ManifestField))?;
    Ok(kept(read, findings).map(|document| document.0))
}

fn kept<T>(read: Result<T, Fault>, findings: &mut Findings) -> Option<T> {
    match read {
        Ok(value) => Some(value),
        Err(fault) => {
            findings.push(finding(fault));
            None
        }
    }
}

fn finding(fault: Fault) -> Finding {
    let place = Place { line: fault.line, ..Place::entry(MANIFEST).pointer(fault.pointer) };
    Finding::new(fault.code, place, format!("the manifest: {}", shown(&fault.message)))
}

fn missing(inventory: &Inventory) -> Error {
    let folders = inventory.files().filter_map(|(file, _)| {
        let (folder, name) = file.name.as_str().split_once('/')?;
        (name == MANIFEST).then_some(folder)
    });
    let hint = match folders.collect::<Vec<_>>().as_slice() {
        [folder] => format!("the release seems to lie in its folder {folder}: give that path"),
        _ => format!("give the release as it was published (.zip), or the folder that holds {MANIFEST}"),
    };
    Error::NoManifest { path: inventory.path().to_path_buf(), manifest: MANIFEST, hint }
}

fn unknown(inventory: &Inventory, found: &str) -> Error {
    let export = found.strip_prefix("public-source-export-v").and_then(major_of);
    let advice = if is_newer(found, own::FORMAT) || export.is_some_and(|major| major > 3) {
        "get a newer version of exhibit"
    } else {
        "ask the publisher which tool made it, or get a newer version of exhibit"
    };
    let found = shown(found);
    Error::UnknownFormat { place: inventory.path().join(MANIFEST).display().to_string(), found, known: KNOWN, advice }
}
