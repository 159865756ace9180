//! Real transcripts: each is read without a fault, and each call and reply is one that its dialect knows.
#![expect(clippy::unwrap_used, reason = "a test that can't read its input fails")]

mod skip;

use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

use exhibit::dialect::Dialect;
use exhibit::history::{Context, Fit, History, Source, fit, of_transcripts};
use exhibit::ledger::{Ask, Told};
use exhibit::limits::Limits;
use exhibit::transcript;

/// The transcripts below a folder of the corpus, sorted, where it is there.
fn logs(folder: &str) -> Option<Vec<PathBuf>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus").join(folder);
    if !root.is_dir() {
        skip::skipped(&format!("real transcripts: {} is not there", root.display()));
        return None;
    }
    let files = walkdir::WalkDir::new(root).sort_by_file_name().into_iter().map(|entry| entry.unwrap().into_path());
    Some(files.filter(|path| path.extension().is_some_and(|extension| extension == "log")).collect())
}

fn with_sources<T>(paths: &[PathBuf], use_them: impl Fn(&[Source<'_>]) -> T) -> T {
    let names: Vec<String> = paths.iter().map(|path| path.to_str().unwrap().to_owned()).collect();
    let source = |(name, path): (_, &PathBuf)| {
        let path = path.clone();
        let open = move || Ok(Box::new(BufReader::new(std::fs::File::open(&path).unwrap())) as Box<dyn BufRead>);
        (name, open)
    };
    let opens: Vec<_> = names.iter().zip(paths).map(source).collect();
    let sources: Vec<_> =
        opens.into_iter().map(|(name, open)| Source { name, process: "server", open: Box::new(open) }).collect();
    use_them(&sources)
}

/// First rounds, writes, statuses, lost replies, unrecognized ones.
fn counts(history: &History) -> [usize; 5] {
    let count = |is: fn(&Ask) -> bool| history.calls.iter().filter(|call| is(&call.ask)).count();
    [
        count(|ask| matches!(ask, Ask::FirstRound { .. })),
        count(|ask| matches!(ask, Ask::Write(_))),
        count(|ask| matches!(ask, Ask::Status { .. })),
        history.calls.iter().filter(|call| call.told.is_none()).count(),
        history.calls.iter().filter(|call| call.told == Some(Told::Unrecognized)).count(),
    ]
}

fn read(paths: &[PathBuf], dialect: &str) -> [usize; 5] {
    let dialect = Dialect::named(dialect).unwrap().unwrap();
    let context = Context { is_whole: true, ..Context::default() };
    let built = with_sources(paths, |sources| of_transcripts(sources, &dialect, &context, &Limits::default()).unwrap());
    assert!(built.findings.none_broken(), "{:?}", built.findings);
    let altered =
        built.history.calls.iter().filter(|call| matches!(&call.ask, Ask::Write(write) if write.parts.state.altered));
    // A continuation without a state, and one whose state was tampered with.
    assert!(altered.count() <= 2);
    counts(&built.history)
}

fn fits(paths: &[PathBuf]) -> Fit {
    let dialects = Dialect::embedded().unwrap();
    with_sources(paths, |sources| fit(sources, &dialects, &Limits::default()).unwrap())
}

#[test]
fn every_call_of_the_studys_run_is_known() {
    let Some(paths) = logs("mcr-python-tree") else { return };
    assert_eq!(paths.len(), 20);
    assert_eq!(read(&paths, "mcp-python"), [16, 24, 3, 2, 0]);
    assert_eq!(fits(&paths), Fit::One(0));
}

#[test]
fn every_call_of_the_fault_lab_is_known_but_its_failures() {
    let Some(paths) = logs("mcr-fault-lab") else { return };
    let of =
        |part: &str| paths.iter().filter(|path| path.to_str().unwrap().contains(part)).cloned().collect::<Vec<_>>();
    let (python, bridge) = (of("test_precommit"), of("test_bridge"));
    assert_eq!((python.len(), bridge.len()), (2, 2));
    assert_eq!(read(&python, "mcp-python"), [2, 2, 0, 2, 0]);
    assert_eq!(fits(&python), Fit::One(0));
    // A failure of the bridge is no answer of a ledger: it counts as lost.
    assert_eq!(read(&bridge, "mcp-typescript"), [2, 2, 2, 0, 2]);
    assert!(matches!(fits(&bridge), Fit::None(_)));
    let texts = bridge.iter().map(|path| std::fs::read(path).unwrap());
    let mut operations = Vec::new();
    let dialect = Dialect::named("mcp-typescript").unwrap().unwrap();
    for text in texts {
        let read = transcript::read(&*text, "t", &Limits::default(), &mut |entry| {
            if let transcript::Entry::Message(message) = entry
                && let Some(token) = message.body.get("params").and_then(|params| params.get("requestState"))
            {
                operations.extend(token.text().and_then(|token| dialect.operation_of(token)));
            }
        });
        assert!(read.unwrap().findings.none_broken());
    }
    assert_eq!(operations, ["ts-exit-after-ledger-insert".into(), "ts-exit-after-issue-insert".into()]);
}

#[test]
fn the_unguarded_control_has_no_operations() {
    let Some(paths) = logs("mcr-unguarded") else { return };
    assert_eq!(read(&paths, "mcp-unguarded"), [1, 1, 0, 0, 0]);
    assert_eq!(fits(&paths), Fit::One(2));
}
