//! Holds opening states and recomputing fingerprints against tokens that the SDKs' own codecs sealed, and against the
//! reference study's transcripts under the keys that its published tests disclose, where those are at hand.
#![expect(clippy::unwrap_used, reason = "a test that can't read its input fails")]

mod skip;

use std::collections::BTreeMap;
use std::io::BufRead;
use std::path::Path;

use exhibit::dialect::{Dialect, Unopened};
use exhibit::digest::Sha256;
use exhibit::finding::{Code, Place};
use exhibit::history::{Built, Context, Process, Snapshot, Source, of_transcripts};
use exhibit::ledger::fingerprint::Key;
use exhibit::ledger::{Ask, Operation, Rows, Timing, Write};
use exhibit::limits::Limits;
use serde_json::{Value, json};

const SEALED: [&str; 2] = ["mcp-python", "mcp-typescript"];

fn tokens() -> Value {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/state/tokens.json");
    serde_json::from_slice(&std::fs::read(path).unwrap()).unwrap()
}

fn key(hex: &str) -> Key {
    let bytes: Vec<u8> =
        (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
    Key::new(&bytes).unwrap()
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap()
}

/// The dialect with the keys of the tokens.
fn keyed(name: &str) -> Dialect {
    let tokens = tokens();
    let dialect = Dialect::named(name).unwrap().unwrap().with_state_key(&key(text(&tokens["state_key"]))).unwrap();
    dialect.with_fingerprint_key(&key(text(&tokens["fingerprint_key"])))
}

fn open(dialect: &Dialect, token: &str) -> Result<Vec<u8>, Unopened> {
    dialect.open(token).unwrap()
}

fn asking(id: u32, operation: &str, more: &Value) -> String {
    let mut params = json!({"name": "create_guarded_issue", "arguments": {"operation_id": operation, "title": "t"}});
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    format!("> {}\n", json!({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}))
}

fn continuation(id: u32, operation: &str, token: &str, body: &str) -> String {
    let answers = json!({"body": {"action": "accept", "content": {"body": body}}});
    asking(id, operation, &json!({"requestState": token, "inputResponses": answers}))
}

fn reply(id: u32, result: &Value) -> String {
    format!("< {}\n", json!({"jsonrpc": "2.0", "id": id, "result": result}))
}

fn issued(id: u32, token: &str) -> String {
    reply(id, &json!({"resultType": "input_required", "requestState": token}))
}

fn applied(id: u32, operation: &str) -> String {
    let told =
        json!({"operationId": operation, "effectId": 1, "result": "created 1", "replayed": false, "state": "applied"});
    reply(id, &json!({"content": [], "structuredContent": told}))
}

fn row(operation: &str, fingerprint: Option<&str>) -> Operation {
    Operation {
        operation: operation.to_owned(),
        principal: "alice".to_owned(),
        backend: "b".to_owned(),
        fingerprint: fingerprint.map(str::to_owned),
        state: None,
        effect: Some(1),
        result: None,
        issued_at: None,
        authority_expires_at: None,
        replay_expires_at: None,
    }
}

fn alice() -> Process {
    Process {
        name: "server".into(),
        phase: 0,
        principal: "alice".into(),
        backend: "b".into(),
        clock: None,
        exit: None,
        ended: None,
    }
}

fn history(dialect: &Dialect, transcript: &str, rows: Vec<Operation>) -> Built {
    let open = || Ok(Box::new(transcript.as_bytes()) as Box<dyn BufRead>);
    let open = Box::new(open);
    let source = Source { name: "a.log", process: "server", open };
    let rows = Rows { operations: rows, ..Rows::default() };
    let context = Context {
        processes: vec![alice()],
        is_whole: true,
        end: Some(Snapshot { rows, is_final: true }),
        ..Context::default()
    };
    let built = of_transcripts(&[source], dialect, &context, &Limits::default()).unwrap();
    assert!(built.findings.none_broken(), "{:?}", built.findings);
    built
}

fn writes(built: &Built) -> Vec<Write> {
    let of = |ask: &Ask| if let Ask::Write(write) = ask { Some(write.clone()) } else { None };
    built.history.calls.iter().filter_map(|call| of(&call.ask)).collect()
}

#[test]
fn tokens_of_the_sdks_open_to_what_was_sealed() {
    let tokens = tokens();
    for name in SEALED {
        let dialect = keyed(name);
        for case in ["plain", "unicode"].map(|case| &tokens[name][case]) {
            let token = text(&case["token"]);
            let state = serde_json::to_vec(&case["state"]).unwrap();
            assert_eq!(open(&dialect, token), Ok(state), "{name}: {case}");
            assert_eq!(dialect.operation_of(token).as_deref(), case["operation"].as_str(), "{name}");
        }
        assert_eq!(Dialect::named(name).unwrap().unwrap().open("v1.x"), None);
    }
}

#[test]
fn a_dialect_says_as_what_the_state_is_bound() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("matrices/dialects/mcp-typescript.json");
    let document = std::fs::read_to_string(&path).unwrap().replace("\"ascii_text\"", "\"value\"");
    let tokens = tokens();
    let dialect = Dialect::load(&path, document.as_bytes(), &Limits::default()).unwrap();
    let dialect = dialect.with_state_key(&key(text(&tokens["state_key"]))).unwrap();
    let case = &tokens["mcp-typescript"]["plain"];
    assert_eq!(open(&dialect, text(&case["token"])), Ok(text(&case["state"]).as_bytes().to_vec()));
    let unknown = document.replace("typescript_hmac", "rot13");
    assert!(Dialect::load(&path, unknown.as_bytes(), &Limits::default()).is_err());
}

#[test]
fn what_the_key_did_not_seal_is_refused_with_the_reason() {
    let tokens = tokens();
    let (python, typescript) = (keyed("mcp-python"), keyed("mcp-typescript"));
    for (dialect, token, why) in [
        (&python, text(&tokens["mcp-python"]["other"]), Unopened::OtherKey),
        (&python, text(&tokens["mcp-python"]["foreign"]), Unopened::Content),
        (&python, text(&tokens["mcp-typescript"]["plain"]["token"]), Unopened::Form),
        (&python, "", Unopened::Form),
        (&python, "v1.", Unopened::Form),
        (&python, "v1.AAAA", Unopened::Form),
        (&python, "v2.AAAA", Unopened::Form),
        (&typescript, text(&tokens["mcp-typescript"]["other"]), Unopened::Seal),
        (&typescript, text(&tokens["mcp-python"]["plain"]["token"]), Unopened::Form),
        (&typescript, "v1.e30.AAAA", Unopened::Seal),
        (&typescript, "v1.e30.\u{e9}", Unopened::Form),
    ] {
        assert_eq!(open(dialect, token), Err(why), "{token}");
    }
    for name in SEALED {
        let (dialect, token) = (keyed(name), text(&tokens[name]["plain"]["token"]).to_owned());
        for end in 0..token.len() {
            assert!(open(&dialect, &token[..end]).is_err(), "{name}: cut at {end}");
        }
        assert!(open(&dialect, &format!("{token}A")).is_err() && open(&dialect, &format!("{token}=A")).is_err());
        for at in 0..token.len() {
            let digit = if &token[at..=at] == "A" { "Q" } else { "A" };
            let altered = format!("{}{digit}{}", &token[..at], &token[at + 1..]);
            assert!(open(&dialect, &altered).is_err(), "{name}: altered at {at}");
        }
    }
    // As `atob` has it: the two bits that the last digit has too much don't count, and padding may stand.
    let token = text(&tokens["mcp-typescript"]["plain"]["token"]);
    assert!(token.ends_with('Y'));
    let loose = [format!("{}Z", &token[..token.len() - 1]), format!("{token}=")];
    loose.iter().for_each(|token| assert!(open(&typescript, token).is_ok(), "{token}"));
    let strict = text(&tokens["mcp-python"]["plain"]["token"]);
    assert_eq!(open(&python, &format!("{strict}=")), Err(Unopened::Form));
}

#[test]
fn a_dialect_without_a_seal_takes_no_key() {
    let unguarded = Dialect::named("mcp-unguarded").unwrap().unwrap();
    let refused = unguarded.with_state_key(&key(&"ab".repeat(32))).unwrap_err().to_string();
    assert!(refused.starts_with("the dialect `mcp-unguarded` doesn't say how tokens are sealed"), "{refused}");
}

#[test]
fn opened_states_tell_deadlines_equality_and_what_was_altered() {
    let tokens = tokens();
    for name in SEALED {
        let plain = text(&tokens[name]["plain"]["token"]);
        let other = text(&tokens[name]["other"]);
        let transcript = [
            asking(1, "o", &json!({})),
            issued(1, plain),
            continuation(2, "o", plain, "b"),
            continuation(3, "o", text(&tokens[name]["unicode"]["token"]), "b"),
            continuation(4, "o", other, "b"),
        ];
        let built = history(&keyed(name), &transcript.concat(), Vec::new());
        let writes = writes(&built);
        let timing = Timing {
            issued_at: 1_790_035_200,
            authority_expires_at: Some(1_790_035_500),
            replay_expires_at: Some(1_790_035_560),
            state_expires_at: Some(1_790_035_800),
        };
        assert_eq!(writes[0].timing, Some(timing), "{name}");
        let states: Vec<_> = writes.iter().map(|write| write.parts.state).collect();
        // No reply issued the second, and the key sealed it all the same.
        assert_eq!(states.iter().map(|state| state.altered).collect::<Vec<_>>(), [false, false, true], "{name}");
        assert!(states[0].inner.is_some() && states[1].inner.is_some() && states[0].inner != states[1].inner);
        assert_eq!((built.opened.opened, built.opened.others.len(), built.opened.is_foreign()), (2, 1, false));

        // Under another key nothing opens, and that says nothing of any token.
        let foreign = Dialect::named(name).unwrap().unwrap().with_state_key(&key(&"ab".repeat(32))).unwrap();
        let built = history(&foreign, &transcript.concat(), Vec::new());
        assert!(built.opened.is_foreign(), "{name}");
        let altered: Vec<_> = self::writes(&built).iter().map(|write| write.parts.state.altered).collect();
        assert_eq!(altered, [false, true, true], "{name}");
        let altered = |dialect: &Dialect| -> Vec<bool> {
            let built = of_lines(dialect, &transcript.concat());
            self::writes(&built).iter().map(|write| write.parts.state.altered).collect()
        };
        assert_eq!((altered(&keyed(name)), altered(&foreign)), (vec![false, false, true], vec![false; 3]), "{name}");
    }
    let fraction = text(&tokens["mcp-python"]["fraction"]);
    let built = history(&keyed("mcp-python"), &continuation(1, "o", fraction, "b"), Vec::new());
    assert_eq!(writes(&built)[0].timing.unwrap().state_expires_at, Some(1_790_035_801));
}

#[test]
fn stored_fingerprints_are_recomputed_from_the_wire() {
    let tokens = tokens();
    for name in SEALED {
        for case in ["plain", "unicode"].map(|case| &tokens[name][case]) {
            let (operation, token) = (text(&case["operation"]), text(&case["token"]));
            let fingerprint = text(&case["fingerprint"]);
            let head = [asking(1, operation, &json!({})), issued(1, token)].concat();
            let lost = head.clone() + &continuation(2, operation, token, "b");
            let told = lost.clone() + &applied(2, operation);
            let rows = |fingerprint: &str| vec![row(operation, Some(fingerprint)), row("gone", None)];
            for transcript in [&lost, &told] {
                let built = history(&keyed(name), transcript, rows(fingerprint));
                let stored = built.stored().unwrap();
                assert_eq!((stored.agreeing, stored.absent), (1, 1), "{name}: {stored:?}");
                assert!(stored.differences.is_empty() && stored.open.is_empty());
            }
            let wrong = "0".repeat(63) + "1";
            for (transcript, call) in [(&lost, None), (&told, Some(1))] {
                let stored = history(&keyed(name), transcript, rows(&wrong)).stored().unwrap();
                let difference = &stored.differences[0];
                assert_eq!((stored.agreeing, stored.differences.len(), difference.call), (0, 1, call), "{name}");
                assert_eq!(difference.computed.iter().map(Sha256::to_string).collect::<Vec<_>>(), [fingerprint]);
                let finding = difference.finding(Place::entry("store.sqlite3"));
                assert_eq!(finding.code, Code::ReplayFingerprint);
                assert_eq!(
                    (finding.recorded.as_deref(), finding.computed.as_deref()),
                    (Some(&*wrong), Some(fingerprint))
                );
            }
            // The row holds what another request made, and its effect is told to this one.
            let both = told + &continuation(3, operation, token, "other") + &applied(3, operation);
            let stored = history(&keyed(name), &both, rows(fingerprint)).stored().unwrap();
            assert_eq!(stored.differences[0].call, Some(2), "{name}: {stored:?}");
        }
    }
}

#[test]
fn what_cannot_be_recomputed_is_open_and_never_wrong() {
    let tokens = tokens();
    let case = &tokens["mcp-python"]["plain"];
    let (token, fingerprint) = (text(&case["token"]), text(&case["fingerprint"]));
    let transcript = [asking(1, "o", &json!({})), issued(1, token), continuation(2, "o", token, "b")].concat();
    let bare = Dialect::named("mcp-python").unwrap().unwrap();
    assert_eq!(history(&bare, &transcript, vec![row("o", Some(fingerprint))]).stored(), None);
    let closed = bare.with_fingerprint_key(&key(text(&tokens["fingerprint_key"])));
    let stored = history(&closed, &transcript, vec![row("o", Some(fingerprint))]).stored().unwrap();
    assert_eq!((stored.agreeing, stored.open.as_slice(), stored.differences.len()), (0, &["o".to_owned()][..], 0));
    // Nothing on the wire made the row.
    let stored = history(&closed, &transcript, vec![row("p", Some(fingerprint))]).stored().unwrap();
    assert_eq!((stored.differences.len(), stored.differences[0].computed.len()), (1, 0));
}

/// A history of which nothing more is known than lines of alice's server.
fn of_lines(dialect: &Dialect, transcript: &str) -> Built {
    let open = || Ok(Box::new(transcript.as_bytes()) as Box<dyn BufRead>);
    let open = Box::new(open);
    let source = Source { name: "a.log", process: "server", open };
    let context = Context { processes: vec![alice()], ..Context::default() };
    of_transcripts(&[source], dialect, &context, &Limits::default()).unwrap()
}

/// A key as the study's tests make theirs: the digest of what it is for.
fn of_the_study(name: &str) -> Key {
    key(&Sha256::of(name.as_bytes()).to_string())
}

#[test]
fn tokens_of_the_study_open_under_the_key_that_it_discloses() {
    let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/corpus");
    if !corpus.join("mcr-python-tree").is_dir() {
        return skip::skipped(&format!("real tokens: {} is not there", corpus.display()));
    }
    let dialect = Dialect::named("mcp-python").unwrap().unwrap();
    let dialect = dialect.with_state_key(&of_the_study("synthetic guarded matrix state key")).unwrap();
    let dialect = dialect.with_fingerprint_key(&of_the_study("synthetic guarded matrix fingerprint key"));
    let mut transcripts = BTreeMap::new();
    for entry in walkdir::WalkDir::new(corpus.join("mcr-python-tree")).sort_by_file_name() {
        let path = entry.unwrap().into_path();
        if path.extension().is_some_and(|extension| extension == "log") {
            let case = path.parent().unwrap().file_name().unwrap().to_str().unwrap().to_owned();
            let all: &mut String = transcripts.entry(case).or_default();
            all.push_str(&std::fs::read_to_string(&path).unwrap());
        }
    }
    assert_eq!(transcripts.len(), 12);
    let (mut opened, mut altered, mut told) = (0, 0, 0);
    for (case, transcript) in &transcripts {
        // Lines of several processes in one file: ids of requests stand twice, which is no matter here.
        let built = of_lines(&dialect, transcript);
        assert!(built.opened.issued.is_empty(), "{case}: {:?}", built.opened);
        opened += built.opened.opened;
        altered += built.opened.others.values().sum::<u64>();
        for (call, fingerprint) in built.history.calls.iter().zip(&built.fingerprints) {
            if let Ask::Write(write) = &call.ask {
                let is_sound = write.form == exhibit::ledger::Form::Sound && !write.parts.state.altered;
                assert_eq!(fingerprint.is_some(), is_sound, "{case}");
                assert_eq!(write.timing.is_some(), is_sound, "{case}");
                told += u32::from(is_sound);
            }
        }
    }
    // The second state of case 05 was tampered with.
    assert_eq!((opened, altered, told), (16, 1, 22));
}
