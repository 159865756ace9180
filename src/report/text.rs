//! Owns how findings look to a person: what is wrong, where, what to do.
//!
//! Refuses nothing. Invariant: foreign text is escaped before it is written.

use std::io::{self, Write};

use super::{Failure, Split};
use crate::error::Error;
use crate::finding::{Code, Finding, Findings, Place};
use crate::name::{escape, is_plain};
use crate::run::{CaseRow, Status};

/// Foreign text inside a sentence: line breaks and other controls can't fake a line of the report.
pub(super) fn plain(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { escape(text.as_bytes()) }
}

/// A line of a foreign text. Tabs stay; what doesn't show or moves a cursor is written as an escape, and then backslashes
/// are doubled, so that an escape can't be taken for text.
pub fn escape_line(line: &str) -> String {
    if line.split('\t').all(is_plain) {
        return line.to_owned();
    }
    line.split('\t').map(|part| escape(part.as_bytes())).collect::<Vec<_>>().join("\t")
}

fn place(place: &Place) -> String {
    let parts = [
        place.entry.as_ref().map(|entry| plain(entry)),
        place.line.map(|line| format!("line {line}")),
        place.pointer.as_ref().filter(|pointer| !pointer.is_empty()).map(|pointer| plain(pointer)),
        place.offset.map(|offset| format!("byte {offset}")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// One finding. What to do stands with the first of those of a rule that follow each other.
fn finding(out: &mut dyn Write, kind: &str, before: Option<Code>, finding: &Finding) -> io::Result<()> {
    writeln!(out, "{kind} {}: {}", finding.code, plain(&finding.message))?;
    let place = place(&finding.place);
    if !place.is_empty() {
        writeln!(out, "    at {place}")?;
    }
    if let (Some(recorded), Some(computed)) = (&finding.recorded, &finding.computed) {
        writeln!(out, "    recorded {}", plain(recorded))?;
        writeln!(out, "    computed {}", plain(computed))?;
    }
    if before == Some(finding.code) {
        return Ok(());
    }
    writeln!(out, "    {}", finding.code.rule().advice)
}

/// Findings first, then warnings, then how many are not shown.
pub(super) fn findings(
    out: &mut dyn Write,
    findings: &[Finding],
    warnings: &[Finding],
    not_shown: u64,
) -> io::Result<()> {
    for (kind, list) in [("finding", findings), ("warning", warnings)] {
        let mut before = None;
        for each in list {
            finding(out, kind, before.replace(each.code), each)?;
        }
    }
    match not_shown {
        0 => Ok(()),
        more => writeln!(out, "and {more} more that are not shown"),
    }
}

/// Findings and warnings for a command without a report of its own.
pub fn write_findings(out: &mut dyn Write, all: &Findings) -> io::Result<()> {
    let split = Split::from(all);
    findings(out, &split.findings, &split.warnings, split.findings_not_shown)
}

/// An error for a command without a report of its own.
pub fn write_complaint(out: &mut dyn Write, error: &Error) -> io::Result<()> {
    failure(out, &error.into())
}

/// Why nothing could be said.
pub(super) fn failure(out: &mut dyn Write, failure: &Failure) -> io::Result<()> {
    writeln!(out, "error: {}", plain(&failure.message))
}

/// A heading and its points; nothing where there are none.
pub(super) fn list<T: AsRef<str>>(out: &mut dyn Write, heading: &str, points: &[T]) -> io::Result<()> {
    if points.is_empty() {
        return Ok(());
    }
    writeln!(out, "{heading}:")?;
    points.iter().try_for_each(|point| writeln!(out, "  - {}", plain(point.as_ref())))
}

/// Named values; those that aren't there are left out.
pub(super) fn fields(out: &mut dyn Write, fields: &[(&str, Option<String>)]) -> io::Result<()> {
    let there = fields.iter().filter_map(|(name, value)| Some((name, value.as_ref()?)));
    there.into_iter().try_for_each(|(name, value)| writeln!(out, "{name} {}", plain(value)))
}

/// A run's cases with what the run recorded of them.
pub(super) fn cases(out: &mut dyn Write, cases: &[CaseRow]) -> io::Result<()> {
    let width = cases.iter().map(|case| case.id.chars().count()).max().unwrap_or_default();
    for case in cases {
        let status = case.status.map_or("no result", Status::as_str);
        writeln!(out, "  case {:<width$} recorded {status:<16} {}", plain(&case.id), plain(&case.expected))?;
    }
    Ok(())
}
