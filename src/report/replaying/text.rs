//! Owns the report of a replay as a person reads it.
//!
//! Refuses nothing. Invariant: the verdict comes first, then each problem with what shows it, then what stays open.

use std::collections::BTreeSet;
use std::io::{self, Write};

use super::case::{Case, Contradicted, LostReply};
use super::{Replaying, Run};
use crate::name::escape;
use crate::report::text;

/// Lost replies of one kind that are told one by one.
const MAX_LOST: usize = 20;

pub(super) fn write(report: &Replaying, out: &mut dyn Write) -> io::Result<()> {
    let files: Vec<String> = report.files.iter().map(|file| escape(file.as_bytes())).collect();
    writeln!(out, "{}: {}", files.join(", "), report.verdict.replace('_', " "))?;
    if let Some(failure) = &report.error {
        return text::failure(out, failure);
    }
    for run in &report.runs {
        write_run(run, out)?;
    }
    if report.runs.is_empty() {
        writeln!(out, "no run was found to replay")?;
    }
    text::list(out, "limits", &report.limits)
}

fn write_run(run: &Run, out: &mut dyn Write) -> io::Result<()> {
    let name = match (run.path.as_str(), run.cases.first().is_none_or(|case| case.id.is_empty())) {
        ("", true) => "transcripts".to_owned(),
        ("", false) => "run".to_owned(),
        (path, _) => format!("run {}", escape(path.as_bytes())),
    };
    let by = match (&run.matrix, run.dialect.as_str()) {
        (Some(matrix), "") => format!(" (matrix {})", text::plain(matrix)),
        (Some(matrix), dialect) => format!(" (matrix {}, dialect {})", text::plain(matrix), text::plain(dialect)),
        (None, "") => String::new(),
        (None, dialect) => format!(" (dialect {})", text::plain(dialect)),
    };
    writeln!(out, "{name}: {}{by}", run.verdict)?;
    table(&run.cases, out)?;
    text::findings(out, &run.findings, &[], 0)?;
    for case in &run.cases {
        problems(case, out)?;
    }
    for case in &run.cases {
        lost(case, out)?;
    }
    let missing: Vec<String> = run.cases.iter().flat_map(|case| case.missing.iter().map(|one| of(case, one))).collect();
    text::list(out, "missing", &missing)?;
    if !run.outcomes_seen.is_empty() {
        writeln!(out, "outcomes seen: {}", run.outcomes_seen.join(", "))?;
        if !run.outcomes_not_seen.is_empty() {
            writeln!(out, "outcomes never seen, so not tested: {}", run.outcomes_not_seen.join(", "))?;
        }
    }
    // What holds for every case is said once.
    let is_shared = |one: &String| run.cases.iter().all(|case| case.assertions.contains(one));
    let mut told: BTreeSet<(bool, String)> = BTreeSet::new();
    for case in &run.cases {
        let one = |one: &String| if is_shared(one) { (false, one.clone()) } else { (true, of(case, one)) };
        told.extend(case.assertions.iter().map(one));
    }
    let told: Vec<String> = told.into_iter().map(|(_, one)| one).collect();
    text::list(out, "asserted, not recomputed", &told)
}

fn of(case: &Case, what: &str) -> String {
    if case.id.is_empty() { what.to_owned() } else { format!("case {}: {what}", case.id) }
}

fn table(cases: &[Case], out: &mut dyn Write) -> io::Result<()> {
    let width = cases.iter().map(|case| case.id.chars().count()).max().unwrap_or_default();
    for case in cases {
        let head = if case.id.is_empty() { String::new() } else { format!("case {:<width$} ", text::plain(&case.id)) };
        let how = match (case.history, case.class) {
            (Some(history), Some(class)) => format!("{history} ({class})"),
            (_, _) => "not decided".to_owned(),
        };
        let codes: BTreeSet<String> = case
            .contradictions
            .iter()
            .map(|one| one.code.to_string())
            .chain(case.findings.iter().map(|finding| finding.code.to_string()))
            .collect();
        let codes: Vec<String> = codes.into_iter().collect();
        let line = format!(
            "  {head}{:<15} {how:<22} {:>3} calls, {} without reply  {}",
            case.verdict.replace('_', " "),
            case.calls,
            case.without_reply,
            codes.join(" ")
        );
        writeln!(out, "{}", line.trim_end())?;
    }
    Ok(())
}

fn problems(case: &Case, out: &mut dyn Write) -> io::Result<()> {
    for found in &case.contradictions {
        contradiction(case, found, out)?;
    }
    text::findings(out, &case.findings, &case.warnings, 0)
}

fn contradiction(case: &Case, found: &Contradicted, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "contradiction {}: {}", found.code, text::plain(&of(case, &found.message)))?;
    writeln!(out, "    rule: {}", found.code.rule().rule)?;
    for line in &found.shown_by {
        let is_it = found.call.as_ref() == Some(line);
        let mark = if is_it { "at  " } else { "with" };
        writeln!(out, "    {mark} {}: {}: {}", line.place(), text::plain(&line.asked), text::plain(&line.told))?;
    }
    writeln!(out, "    observed {}", text::plain(&found.observed))?;
    writeln!(out, "    expected {}", text::plain(&found.expected))?;
    if found.shown_by.len() > 1 {
        for row in &found.timeline {
            writeln!(out, "      | {}", text::plain(row))?;
        }
    }
    writeln!(out, "    {}", found.code.rule().advice)
}

fn lost(case: &Case, out: &mut dyn Write) -> io::Result<()> {
    for (effect, words) in [("must_have", "must have"), ("may_have", "may have"), ("cannot_have", "cannot have")] {
        let all: Vec<&LostReply> = case.lost.iter().filter(|lost| lost.effect == effect).collect();
        for lost in all.iter().take(MAX_LOST) {
            one_lost(case, lost, words, out)?;
        }
        if let Some(more) = all.len().checked_sub(MAX_LOST).filter(|more| *more > 0) {
            writeln!(out, "and {more} more lost replies whose writes {words} taken effect")?;
        }
    }
    settle(case, out)
}

fn one_lost(case: &Case, lost: &LostReply, words: &str, out: &mut dyn Write) -> io::Result<()> {
    let about = format!("write {} at {}", escape(lost.operation.as_bytes()), lost.call.place());
    let sure =
        if lost.one_of.is_empty() { words.to_owned() } else { "is one of several of which exactly one has".to_owned() };
    writeln!(out, "lost reply: {}", of(case, &format!("{about} {sure} taken effect: {}", lost.why)))?;
    for line in &lost.one_of {
        writeln!(out, "    one of {}", line.place())?;
    }
    let shown = lost.one_of.len() as u64;
    if lost.one_of_count > shown {
        writeln!(out, "    and {} more", lost.one_of_count.saturating_sub(shown))?;
    }
    for line in lost.proof.iter().take(3) {
        writeln!(out, "    see {}: {}: {}", line.place(), text::plain(&line.asked), text::plain(&line.told))?;
    }
    Ok(())
}

/// What to ask, once for each request.
fn settle(case: &Case, out: &mut dyn Write) -> io::Result<()> {
    let asks: BTreeSet<&str> = case.lost.iter().filter_map(|lost| lost.ask.as_deref()).collect();
    if asks.is_empty() {
        return Ok(());
    }
    writeln!(out, "to settle what stays open, send, with an id of its own and under the principal of the write:")?;
    for ask in asks.iter().take(MAX_LOST) {
        writeln!(out, "    {}", text::plain(ask))?;
    }
    if let Some(more) = asks.len().checked_sub(MAX_LOST).filter(|more| *more > 0) {
        writeln!(out, "    and {more} more, one for each operation")?;
    }
    writeln!(
        out,
        "  applied: the operation took effect, by one of its open writes, and the stored result is the answer"
    )?;
    writeln!(out, "  partial: the same, and a later step failed; a person decides what follows")?;
    writeln!(out, "  unknown: that proves nothing; it stays open, and no fresh write is authorized")?;
    writeln!(out, "  read-back by title or text settles nothing")
}
