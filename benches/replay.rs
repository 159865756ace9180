//! Measures replaying one large recorded history: `cargo bench --bench replay -- [FOLDER] [EXCHANGES...]`.
//!
//! A ledger is played with 16 connections in flight and a tenth of the replies lost; what goes over the wire is written as
//! one transcript of one recorder. Then the transcript is read, and the history decided, as `exhibit replay` does it.
#![expect(clippy::unwrap_used, clippy::print_stdout, clippy::disallowed_methods, reason = "a measuring program")]

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Instant;

use exhibit::dialect::Dialect;
use exhibit::history::{Context, Source, of_transcripts};
use exhibit::limits::Limits;
use exhibit::replay::{Effect, Verdict, decide};

const CONNECTIONS: usize = 16;

/// splitmix64.
struct Dice(u64);

impl Dice {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % end
    }
}

#[derive(Clone, Copy)]
enum Step {
    First,
    Write,
    Status,
}

/// A call in flight: its id, operation, and what it is.
type Flight = (u64, u64, Step);

struct Play<W: std::io::Write> {
    out: W,
    seq: u64,
    last: u64,
    effects: BTreeMap<u64, u64>,
}

impl<W: std::io::Write> Play<W> {
    fn line(&mut self, connection: usize, dir: &str, raw: &str) {
        self.seq += 1;
        let raw = raw.replace('"', "\\\"");
        let seq = self.seq;
        writeln!(
            self.out,
            r#"{{"seq":{seq},"t_ns":{seq}000,"process":"p","connection":{connection},"dir":"{dir}","raw":"{raw}"}}"#
        )
        .unwrap();
    }

    fn send(&mut self, connection: usize, (id, operation, step): Flight) {
        let arguments = format!(r#"{{"operation_id":"o{operation}","title":"t"}}"#);
        let (tool, more) = match step {
            Step::First => ("create_guarded_issue", String::new()),
            Step::Write => (
                "create_guarded_issue",
                format!(
                    r#","requestState":"v1.{operation:012}","inputResponses":{{"body":{{"action":"accept","content":{{"body":"b"}}}}}}"#
                ),
            ),
            Step::Status => ("get_operation_status", String::new()),
        };
        let arguments =
            if matches!(step, Step::Status) { format!(r#"{{"operation_id":"o{operation}"}}"#) } else { arguments };
        let raw = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"{tool}","arguments":{arguments}{more}}}}}"#
        );
        self.line(connection, "to_server", &raw);
    }

    fn reply(&mut self, connection: usize, (id, operation, step): Flight, is_lost: bool, commits: bool) {
        let known = self.effects.get(&operation).copied();
        let told = match step {
            Step::First => {
                format!(r#""resultType":"input_required","requestState":"v1.{operation:012}","inputRequests":{{}}"#)
            }
            Step::Write => {
                if known.is_none() && commits {
                    self.last += 1;
                    self.effects.insert(operation, self.last);
                }
                let effect = self.effects.get(&operation).copied().unwrap_or(0);
                let replayed = known.is_some();
                format!(
                    r#""resultType":"complete","structuredContent":{{"operationId":"o{operation}","effectId":{effect},"result":"created {effect}","replayed":{replayed},"state":"applied"}}"#
                )
            }
            Step::Status => {
                let (state, ids, result) = match known {
                    Some(id) => ("applied", format!("[{id}]"), format!("\"created {id}\"")),
                    None => ("unknown", "[]".to_owned(), "null".to_owned()),
                };
                format!(
                    r#""resultType":"complete","structuredContent":{{"operationId":"o{operation}","principal":"a","backend":"b","state":"{state}","authoritative":true,"freshWriteAuthorized":false,"matchingIds":{ids},"storedResult":{result},"scope":"s","observedAt":"2026-09-22T00:00:00Z"}}"#
                )
            }
        };
        if !is_lost {
            self.line(connection, "to_client", &format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{told}}}}}"#));
        }
    }
}

fn generate(path: &Path, exchanges: u64) {
    let mut out = BufWriter::new(std::fs::File::create(path).unwrap());
    writeln!(out, r#"{{"format":"exhibit-transcript/1"}}"#).unwrap();
    let mut play = Play { out, seq: 0, last: 0, effects: BTreeMap::new() };
    let mut dice = Dice(1);
    let mut flights: [Option<Flight>; CONNECTIONS] = [None; CONNECTIONS];
    let (mut sent, mut operations) = (0, 0);
    // Operations under way: how many calls of each were sent, and whether a call is in flight.
    let mut open: Vec<(u64, u64, bool)> = Vec::new();
    while sent < exchanges || flights.iter().any(Option::is_some) {
        let connection = usize::try_from(dice.below(CONNECTIONS as u64)).unwrap();
        match flights[connection].take() {
            Some(flight) => {
                let is_lost = dice.below(10) == 0 && !matches!(flight.2, Step::First);
                let commits = !is_lost || dice.below(2) == 0;
                play.reply(connection, flight, is_lost, commits);
                if let Some(one) = open.iter_mut().find(|one| one.0 == flight.1) {
                    one.2 = false;
                }
                open.retain(|one| one.1 < 4 || one.2);
            }
            None if sent < exchanges => {
                let free = open.iter().position(|one| !one.2 && (one.1 < 3 || one.0 % 3 == 0));
                let index = match free {
                    Some(index) if dice.below(3) > 0 || open.len() > 40 => index,
                    _ => {
                        operations += 1;
                        open.push((operations, 0, false));
                        open.len() - 1
                    }
                };
                let (operation, count, _) = open[index];
                let step = match count {
                    0 => Step::First,
                    1 => Step::Write,
                    _ if dice.below(2) == 0 => Step::Write,
                    _ => Step::Status,
                };
                open[index] = (operation, if count == 2 && operation % 3 != 0 { 4 } else { count + 1 }, true);
                sent += 1;
                let flight = (sent, operation, step);
                play.send(connection, flight);
                flights[connection] = Some(flight);
            }
            None => {}
        }
    }
    play.out.flush().unwrap();
    println!("{exchanges} exchanges over {operations} operations, {} effects", play.last);
}

/// The most memory that the process has had, in MB.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    line.and_then(|rest| rest.trim().split(' ').next()?.parse::<u64>().ok()).unwrap_or(0) / 1_000
}

fn measure(path: &Path, exchanges: u64) {
    let size = path.metadata().unwrap().len();
    let dialect = Dialect::named("mcp-python").unwrap().unwrap();
    let mut times = Vec::new();
    let mut said = String::new();
    for _ in 0..5 {
        let start = Instant::now();
        let at = path.to_path_buf();
        let open = move || {
            Ok(Box::new(BufReader::with_capacity(1 << 20, std::fs::File::open(&at).unwrap())) as Box<dyn BufRead>)
        };
        let sources = [Source { name: "t", process: "p", open: Box::new(open) }];
        let context = Context { is_whole: true, one_recorder: true, starts_empty: true, ..Context::default() };
        let built = of_transcripts(&sources, &dialect, &context, &Limits::default()).unwrap();
        assert!(built.findings.none_broken(), "{:?}", built.findings.iter().next());
        let read = start.elapsed();
        let decision = decide(&built.history);
        let all = start.elapsed();
        assert!(matches!(decision.verdict, Verdict::Explained { .. }), "{:?}", decision.verdict);
        let count = |effect| decision.lost.iter().filter(|lost| lost.effect == effect).count();
        said = format!(
            "{:?}; lost writes: {} must, {} may, {} can't",
            decision.class,
            count(Effect::Must),
            count(Effect::May),
            count(Effect::Cannot)
        );
        times.push((all, read));
    }
    times.sort();
    let (all, read) = times[times.len() / 2];
    let micros = u64::try_from(all.as_micros()).unwrap().max(1);
    let rate = exchanges * 1_000_000 / micros;
    println!(
        "{exchanges:>9} exchanges, {} bytes each: {:.3} s in all, {:.3} s of it reading; {rate} exchanges/s, {} MB/s; peak {} MB; {said}",
        size / exchanges,
        all.as_secs_f64(),
        read.as_secs_f64(),
        size / micros,
        peak()
    );
}

fn main() {
    let given: Vec<String> = std::env::args().skip(1).filter(|one| !one.starts_with("--")).collect();
    let folder = given.iter().find(|one| one.parse::<u64>().is_err()).map_or_else(std::env::temp_dir, PathBuf::from);
    let counts: Vec<u64> = given.iter().filter_map(|one| one.parse().ok()).collect();
    let counts = if counts.is_empty() { vec![10_000, 100_000, 1_000_000] } else { counts };
    for count in counts {
        let path = folder.join(format!("history-{count}.transcript.jsonl"));
        generate(&path, count);
        measure(&path, count);
        std::fs::remove_file(&path).unwrap();
    }
}
