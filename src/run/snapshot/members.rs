//! Owns holding the members of a snapshot's archive against the sources that its document records.
//!
//! Refuses a member more, a member less and a changed one. Invariant: no more names are kept than were recorded,
//! whatever the archive holds.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Read};

use super::super::document::shown;
use super::tarball::{Member, Stop, Tarball};
use crate::digest::Sha256;
use crate::finding::{Code, Finding, Findings, Place, Severity};
use crate::limits::Limits;
use crate::name::{self, EntryName};

/// Reads the archive `file` of `stored` bytes to its end, or to the first fault that leaves the rest unsaid.
///
/// # Errors
/// What can't be read.
pub(super) fn compare(
    reader: impl Read,
    (file, stored): (&str, u64),
    sources: &BTreeMap<String, Sha256>,
    limits: &Limits,
    findings: &mut Findings,
) -> io::Result<()> {
    let mut tarball = Tarball::new(reader, stored, limits);
    let mut seen = BTreeSet::new();
    loop {
        match tarball.next_member() {
            Ok(Some(member)) => one(member, file, sources, &mut seen, findings),
            Ok(None) => break,
            Err(Stop::Io(error)) => return Err(error),
            Err(Stop::Fault(fault)) => {
                let at = Place::entry(shown(file)).at(fault.offset);
                findings.push(Finding::new(fault.code, at, fault.message));
                return Ok(());
            }
        }
    }
    let names: Vec<&EntryName> = seen.iter().collect();
    for clash in name::clashes(names.iter().map(|name| (*name, false))) {
        if clash.code.rule().severity == Severity::Error
            && let Some(name) = names.get(clash.index)
        {
            findings.push(Finding::new(Code::SnapshotMember, Place::entry(shown(file)), clash.message(name)));
        }
    }
    for source in sources.keys().filter(|source| EntryName::new(source).map_or(true, |name| !seen.contains(&name))) {
        let message = format!("the source \"{}\" is recorded, and the snapshot does not hold it", shown(source));
        findings.push(Finding::new(Code::SnapshotSources, Place::entry(shown(file)), message));
    }
    Ok(())
}

fn one(
    member: Member,
    file: &str,
    sources: &BTreeMap<String, Sha256>,
    seen: &mut BTreeSet<EntryName>,
    findings: &mut Findings,
) {
    let (at, shown) = (Place::entry(shown(file)).at(member.offset), shown(member.name.as_str()));
    let Some(recorded) = sources.get(member.name.as_str()) else {
        let message = format!("the member \"{shown}\" is no recorded source");
        findings.push(Finding::new(Code::SnapshotSources, at, message));
        return;
    };
    if seen.contains(&member.name) {
        let message = format!("the member \"{shown}\" is there twice");
        findings.push(Finding::new(Code::SnapshotMember, at, message));
        return;
    }
    if *recorded != member.sha256 {
        let message = format!("the member \"{shown}\" is not the source that was recorded");
        findings.push(Finding::new(Code::SnapshotChanged, at, message).values(recorded, member.sha256));
    }
    seen.insert(member.name);
}
