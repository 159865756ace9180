//! Owns replaying one case: its transcripts and database to a history, that to a decision and a judgement.
//!
//! Refuses to decide what could not be read. Invariant: deadlines come from the state where it can be read, else from the
//! schedule of the process that issued it.

use std::io::BufReader;
use std::path::Path;

use super::{Database, ReplayedCase, keys};
use crate::dialect::Dialect;
use crate::error::Error;
use crate::finding::Finding;
use crate::history::{self, Built, Context, History, Open, Process, Snapshot, Source};
use crate::judge::{self, Evidence, Judgement, Standing};
use crate::ledger::{Ask, Timing};
use crate::limits::Limits;
use crate::name::escape;
use crate::replay;
use crate::run::matrix::MatrixCase;
use crate::run::record::{CaseRecord, Exits, process_of};
use crate::run::{facts, wire::Wire};
use crate::snapshot;
use crate::transcript::{self, Entry};
use crate::tree::Inventory;

/// What one case is replayed from.
pub(super) struct Evidences<'a> {
    pub(super) tree: &'a Inventory,
    pub(super) case: &'a MatrixCase,
    pub(super) record: Option<&'a CaseRecord>,
    pub(super) dialect: &'a Dialect,
    pub(super) limits: &'a Limits,
    pub(super) scratch: &'a Path,
}

/// A case of which nothing was replayed.
pub(super) fn empty(id: &str, name: &str) -> ReplayedCase {
    ReplayedCase {
        id: id.to_owned(),
        name: name.to_owned(),
        files: Vec::new(),
        database: None,
        history: History::default(),
        decision: None,
        schedule: None,
        standing: Standing::Undecided,
        expectations: Vec::new(),
        findings: Vec::new(),
        asks: std::collections::BTreeMap::new(),
        missing: Vec::new(),
        assertions: Vec::new(),
    }
}

pub(super) fn replay(given: &Evidences<'_>) -> Result<ReplayedCase, Error> {
    let case = given.case;
    let mut out = ReplayedCase { schedule: Some(case.clone()), ..empty(&case.id, &case.name) };
    let Some(record) = given.record else {
        out.missing.push(format!("the run has no record of case {}", escape(case.id.as_bytes())));
        return Ok(out);
    };
    if let Some(api) = &record.missing_api {
        return Ok(judged(out, judge::judge(case, &Evidence::Unsupported(api))));
    }
    if record.transcripts.is_empty() {
        out.missing.push(format!("case {} has no transcript", escape(case.id.as_bytes())));
        return Ok(out);
    }
    let mut context = Context {
        processes: processes(case, record),
        // A token that no reply issued may come from a transcript that isn't there.
        is_whole: case
            .processes()
            .all(|(_, process)| process.steps.is_empty() || has_transcript(record, &process.name)),
        one_recorder: true,
        starts_empty: case.starts_empty == Some(true),
        end: None,
    };
    let mut assertions = Vec::new();
    let mut findings = Vec::new();
    end(given, record, &mut context, &mut out, (&mut findings, &mut assertions))?;
    let mut built = build(given, record, &context)?;
    let (differing, open) = keys::compare(&built, out.database.as_ref().map(|database| database.name.as_str()))?;
    findings.extend(differing);
    assertions.extend(open);
    issue(case, &mut built.history);
    out.files.clone_from(&record.transcripts);
    if built.findings.none_broken() {
        findings.extend(recorded_wire(given, record)?);
        let decision = replay::decide(&built.history);
        let files = &record.transcripts;
        let judgement = judge::judge(case, &Evidence::History { history: &built.history, decision: &decision, files });
        out = judged(out, judgement);
        out.asks = super::asks(&decision, &built.history, given.dialect);
        out.decision = Some(decision);
    } else {
        let malformed: Vec<Finding> = built.findings.iter().cloned().collect();
        out = judged(out, judge::judge(case, &Evidence::Malformed(&malformed)));
    }
    out.history = built.history;
    out.assertions.extend(assertions);
    let is_broken = findings.iter().any(super::run::is_error);
    out.findings.extend(findings);
    if is_broken && out.standing != Standing::MachineryError {
        out.standing = Standing::Fail;
    }
    Ok(out)
}

fn judged(mut out: ReplayedCase, judgement: Judgement) -> ReplayedCase {
    out.standing = judgement.standing;
    out.expectations = judgement.expectations;
    out.findings.extend(judgement.findings);
    out.missing.extend(judgement.missing);
    out.assertions.extend(judgement.assertions);
    out
}

fn has_transcript(record: &CaseRecord, process: &str) -> bool {
    record.transcripts.iter().any(|name| process_of(name) == process)
}

/// The processes as the matrix schedules them, with the exit codes that the run recorded.
fn processes(case: &MatrixCase, record: &CaseRecord) -> Vec<Process> {
    let count = case.processes().count();
    let exit = |place: usize, name: &str| {
        let code = match &record.exits {
            Exits::Named(codes) => codes.get(name).copied(),
            // Of more codes or fewer than processes nothing says which are whose.
            Exits::InOrder(codes) if codes.len() == count => codes.get(place).copied().flatten(),
            Exits::InOrder(_) => None,
        };
        code.and_then(|code| i32::try_from(code).ok())
    };
    case.processes()
        .enumerate()
        .map(|(place, (phase, process))| Process {
            name: process.name.as_str().into(),
            phase: u32::try_from(phase).unwrap_or(u32::MAX),
            principal: process.principal.as_str().into(),
            backend: process.backend.as_str().into(),
            clock: Some(process.clock),
            exit: exit(place, &process.name),
            ended: None,
        })
        .collect()
}

/// The database of the case, where there is just one.
fn end(
    given: &Evidences<'_>,
    record: &CaseRecord,
    context: &mut Context,
    out: &mut ReplayedCase,
    (findings, assertions): (&mut Vec<Finding>, &mut Vec<String>),
) -> Result<(), Error> {
    let name = match record.databases.as_slice() {
        [] => return Ok(()),
        [one] => one,
        [_, _, ..] => {
            out.missing.push("which of the case's databases is the ledger's: there are several".to_owned());
            return Ok(());
        }
    };
    let snapshot = snapshot::read(snapshot::Source::of(given.tree, name)?, given.scratch, given.limits)?;
    // A process whose end was not recorded may have written later.
    let is_final = context.processes.iter().all(|process| process.exit.is_some());
    out.database = Some(Database { name: name.clone(), is_final, rolled_back: snapshot.rolled_back() });
    if snapshot.rolled_back() {
        assertions.push(super::ROLLED_BACK.to_owned());
    }
    findings.extend(snapshot.findings.iter().cloned());
    if let Some(rows) = snapshot.rows {
        findings.extend(facts::database(&record.database, &rows, &record.place));
        context.end = Some(Snapshot { rows, is_final });
        if is_final {
            assertions.push("the database was copied after the last process had ended".to_owned());
        }
    }
    Ok(())
}

fn build(given: &Evidences<'_>, record: &CaseRecord, context: &Context) -> Result<Built, Error> {
    let open = |name: &str| -> Open<'_> {
        let name = name.to_owned();
        Box::new(move || Ok(Box::new(BufReader::new(given.tree.open_file(&name)?))))
    };
    let named = record.transcripts.iter();
    let sources: Vec<_> = named.map(|name| Source { name, process: process_of(name), open: open(name) }).collect();
    history::of_transcripts(&sources, given.dialect, context, given.limits)
}

/// Gives each state that can't be read the deadlines that its issuer's schedule gives it.
fn issue(case: &MatrixCase, history: &mut History) {
    let timing = |call: u32| -> Option<Timing> {
        let first = history.calls.get(call as usize)?;
        let process = history.processes.get(first.process as usize)?;
        let scheduled = case.process(&process.name)?;
        let issued_at = process.clock?;
        let after = |seconds: Option<i64>| seconds.map(|seconds| issued_at.saturating_add(seconds));
        Some(Timing {
            issued_at,
            authority_expires_at: after(scheduled.lifetimes.authority),
            replay_expires_at: after(scheduled.lifetimes.replay),
            state_expires_at: after(scheduled.lifetimes.state),
        })
    };
    let timings: Vec<Option<Timing>> = history
        .calls
        .iter()
        .map(|call| match &call.ask {
            Ask::Write(write) if write.timing.is_none() => write.parts.state.issued.and_then(timing),
            Ask::Write(_) | Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other => None,
        })
        .collect();
    for (call, timing) in history.calls.iter_mut().zip(timings) {
        match (&mut call.ask, timing) {
            (Ask::Write(write), Some(timing)) => write.timing = Some(timing),
            (Ask::Write(_) | Ask::FirstRound { .. } | Ask::Status { .. } | Ask::Other, _) => {}
        }
    }
}

/// What the run recorded of its wire, against its transcripts.
fn recorded_wire(given: &Evidences<'_>, record: &CaseRecord) -> Result<Vec<Finding>, Error> {
    if record.wire.is_null() {
        return Ok(Vec::new());
    }
    let mut wire = Wire::default();
    for name in &record.transcripts {
        let source = name.rsplit_once('/').map_or(name.as_str(), |(_, last)| last);
        let reader = BufReader::new(given.tree.open_file(name)?);
        transcript::read(reader, name, given.limits, &mut |entry| match entry {
            Entry::Message(message) => wire.add(source, message),
            Entry::Event(_) => {}
        })?;
    }
    Ok(wire.check(&record.wire, &record.place))
}
