//! Owns timelines: a few exchanges, processes side by side, lost replies open-ended.
//!
//! Refuses to show an order that isn't known: where none is over all frames, phases and the order within a connection are
//! all that rows tell. Invariant: no row is wider than [`WIDTH`].

use super::case::asked;
use crate::history::{Call, History};
use crate::name::escape;
use crate::replay::told_in_words;

/// Characters of a row.
const WIDTH: usize = 100;

/// Columns at most; with more processes each row names its own.
const MAX_COLUMNS: usize = 3;

/// Exchanges that are drawn; a contradiction is mostly shown by two or three.
const MAX_CALLS: usize = 40;

/// An event of a call.
struct Mark {
    when: (u32, u64, u32),
    process: u32,
    text: String,
}

/// Draws calls; the one that nothing explains is marked.
pub(super) fn draw(history: &History, calls: &[u32], bad: Option<u32>) -> Vec<String> {
    let mut marks = Vec::new();
    for number in calls.iter().take(MAX_CALLS) {
        let Some(call) = history.calls.get(*number as usize) else { continue };
        marks.extend(events(history, *number, call, bad == Some(*number)));
    }
    marks.sort_by_key(|mark| mark.when);
    let mut processes: Vec<u32> = Vec::new();
    for mark in &marks {
        if !processes.contains(&mark.process) {
            processes.push(mark.process);
        }
    }
    let name = |process: u32| {
        history.processes.get(process as usize).map_or_else(String::new, |process| escape(process.name.as_bytes()))
    };
    let mut rows = Vec::new();
    if processes.len() > MAX_COLUMNS {
        rows.extend(marks.iter().map(|mark| fit(&format!("{}: {}", name(mark.process), mark.text), WIDTH)));
    } else {
        let width = WIDTH / processes.len().max(1) - 1;
        let row = |at: usize, text: &str| {
            let row = format!("{}{}", " ".repeat(at * (width + 1)), fit(text, width));
            row.trim_end().to_owned()
        };
        let heads: Vec<String> =
            processes.iter().map(|process| format!("{:<width$}", fit(&name(*process), width))).collect();
        rows.push(heads.join(" ").trim_end().to_owned());
        for mark in &marks {
            let at = processes.iter().position(|process| *process == mark.process).unwrap_or_default();
            rows.push(row(at, &mark.text));
        }
    }
    if calls.len() > MAX_CALLS {
        rows.push(format!("and {} more exchanges", calls.len() - MAX_CALLS));
    }
    rows
}

fn events(history: &History, number: u32, call: &Call, is_bad: bool) -> Vec<Mark> {
    let phase = history.processes.get(call.process as usize).map_or(0, |process| process.phase);
    let when = |at: u64| if history.is_ordered { (0, at, number) } else { (phase, at, number) };
    let sent = format!("> {} [{}]", asked(&call.ask), call.request.line);
    let mut marks = vec![Mark { when: when(call.sent), process: call.process, text: sent }];
    let told = told_in_words(call.told.as_ref());
    match (call.received, call.reply) {
        (Some(at), Some(reply)) => {
            let mark = if is_bad { "! " } else { "" };
            marks.push(Mark {
                when: when(at),
                process: call.process,
                text: format!("< {mark}{told} [{}]", reply.line),
            });
        }
        (_, _) => marks.push(Mark { when: when(call.sent), process: call.process, text: "... no reply".to_owned() }),
    }
    marks
}

/// The start of a text that is too long.
fn fit(text: &str, width: usize) -> String {
    if text.chars().count() <= width {
        return text.to_owned();
    }
    let kept: String = text.chars().take(width.saturating_sub(3)).collect();
    format!("{kept}...")
}
