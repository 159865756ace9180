//! Owns how findings look to a person: what is wrong, where, what to do.
//!
//! Refuses nothing. Invariant: foreign text is escaped before it is written.

use std::io::{self, Write};

use super::Failure;
use crate::finding::{Finding, Place};
use crate::name::{escape, is_plain};
use crate::run::{CaseRow, Status};

/// Foreign text inside a sentence: line breaks and other controls can't fake a line of the report.
pub(super) fn plain(text: &str) -> String {
    if is_plain(text) { text.to_owned() } else { escape(text.as_bytes()) }
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

fn finding(out: &mut dyn Write, kind: &str, finding: &Finding) -> io::Result<()> {
    writeln!(out, "{kind} {}: {}", finding.code, plain(&finding.message))?;
    let place = place(&finding.place);
    if !place.is_empty() {
        writeln!(out, "    at {place}")?;
    }
    if let (Some(recorded), Some(computed)) = (&finding.recorded, &finding.computed) {
        writeln!(out, "    recorded {}", plain(recorded))?;
        writeln!(out, "    computed {}", plain(computed))?;
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
    findings.iter().try_for_each(|each| finding(out, "finding", each))?;
    warnings.iter().try_for_each(|each| finding(out, "warning", each))?;
    match not_shown {
        0 => Ok(()),
        more => writeln!(out, "and {more} more that are not shown"),
    }
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
