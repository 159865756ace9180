//! A table of faults, each with a twin that has none, and what is paired.

use super::*;
use crate::error::Error;
use crate::finding::Code;
use crate::limits::Limits;

fn limits() -> Limits {
    Limits { max_line: 400, max_depth: 8, ..Limits::default() }
}

/// The messages that were handed on: line and kind.
fn all(text: &[u8]) -> (Transcript, Vec<(u64, Option<Kind>)>) {
    let mut seen = Vec::new();
    let transcript = read(text, "t.log", &limits(), &mut |entry| {
        seen.push(match entry {
            Entry::Message(message) => (message.line, Some(message.kind)),
            Entry::Event(event) => (event.line, None),
        });
    })
    .unwrap();
    (transcript, seen)
}

fn found(text: &[u8]) -> Vec<(Code, Option<u64>)> {
    all(text).0.findings.iter().map(|finding| (finding.code, finding.place.line)).collect()
}

const ASK: &str = "> {\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}\n";
const ANSWER: &str = "< {\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}\n";
const HEAD: &str = "{\"format\":\"exhibit-transcript/1\"}\n";
const FRAME: &str = r#"{"seq":2,"t_ns":0,"process":"p","connection":1,"dir":"to_server","raw":"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}"}"#;
const EXIT: &str = r#"{"seq":3,"t_ns":0,"process":"p","event":"exit","code":-15}"#;

/// Code, text, line of the fault, and a text without it.
const ROWS: &[(Code, &str, u64, &str)] = &[
    (Code::TranscriptLine, "stray\n", 1, TWIN),
    (Code::TranscriptLine, "\n", 1, TWIN),
    (Code::TranscriptLine, ">{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n", 1, TWIN),
    (Code::TranscriptLine, "{\"jsonrpc\":\"2.0\",\"method\":\"m\"}\n", 1, TWIN),
    (Code::JsonSyntax, "> stray\n", 1, TWIN),
    (Code::JsonSyntax, "> \n", 1, TWIN),
    (Code::TranscriptMessage, "> [{\"jsonrpc\":\"2.0\",\"method\":\"m\"}]\n", 1, TWIN),
    (Code::TranscriptMessage, "> 5\n", 1, TWIN),
    (Code::TranscriptMessage, "> {\"method\":\"m\"}\n", 1, TWIN),
    (Code::TranscriptMessage, "> {\"jsonrpc\":\"2.0\",\"id\":7}\n", 1, TWIN),
    (Code::TranscriptMessage, "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":5}\n", 1, TWIN),
    (Code::TranscriptMessage, "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\",\"result\":1}\n", 1, TWIN),
    (
        Code::TranscriptMessage,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":1,\"error\":{\"code\":1,\"message\":\"\"}}\n",
        1,
        TWIN,
    ),
    (Code::TranscriptMessage, "< {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":\"e\"}\n", 1, TWIN),
    (
        Code::TranscriptId,
        "> {\"jsonrpc\":\"2.0\",\"id\":null,\"method\":\"m\"}\n",
        1,
        "> {\"jsonrpc\":\"2.0\",\"id\":\"null\",\"method\":\"m\"}\n",
    ),
    (
        Code::TranscriptId,
        "> {\"jsonrpc\":\"2.0\",\"id\":1.5,\"method\":\"m\"}\n",
        1,
        "> {\"jsonrpc\":\"2.0\",\"id\":\"1.5\",\"method\":\"m\"}\n",
    ),
    (
        Code::TranscriptId,
        "> {\"jsonrpc\":\"2.0\",\"id\":2.0,\"method\":\"m\"}\n",
        1,
        "> {\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"m\"}\n",
    ),
    (Code::TranscriptId, "< {\"jsonrpc\":\"2.0\",\"error\":{\"code\":-32700,\"message\":\"\"}}\n", 1, TWIN),
    (
        Code::TranscriptReplyUnmatched,
        "< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
        1,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
    ),
    (
        Code::TranscriptReplyUnmatched,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n",
        2,
        "> {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":\"7\",\"result\":{}}\n",
    ),
    (
        Code::TranscriptReplyUnmatched,
        "< {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
        2,
        "< {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n> {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
    ),
    (
        Code::TranscriptReplyRepeated,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
        3,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
    ),
    (
        Code::TranscriptIdReused,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n",
        2,
        "> {\"jsonrpc\":\"2.0\",\"id\":7,\"method\":\"m\"}\n> {\"jsonrpc\":\"2.0\",\"id\":8,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n< {\"jsonrpc\":\"2.0\",\"id\":8,\"result\":{}}\n",
    ),
];

#[test]
fn each_fault_gives_its_code_and_line_and_its_twin_none() {
    let after = format!("{ASK}{ANSWER}");
    let deep = format!("> {{\"jsonrpc\":\"2.0\",\"method\":\"m\",\"params\":{}{}}}\n", "[".repeat(8), "]".repeat(8));
    let long = format!("> {{\"jsonrpc\":\"2.0\",\"method\":\"{}\"}}\n", "m".repeat(400));
    let shallow = deep.replacen("[[", "[", 1).replacen("]]", "]", 1);
    let made: [(Code, &str, u64, &str); 2] =
        [(Code::TranscriptLine, &long, 1, TWIN), (Code::JsonSyntax, &deep, 1, &shallow)];
    for (code, text, line, twin) in ROWS.iter().chain(&made) {
        let (transcript, seen) = all(format!("{text}{after}").as_bytes());
        let codes: Vec<_> = transcript.findings.iter().map(|finding| (finding.code, finding.place.line)).collect();
        assert_eq!(codes, [(*code, Some(*line))], "{text}");
        // What follows was read.
        assert!(matches!(seen.last(), Some((_, Some(Kind::Reply { to: Some(_) })))), "{text}");
        assert_eq!(found(format!("{twin}{after}").as_bytes()), [], "{twin}");
    }
    assert_eq!(found(b"> {\"jsonrpc\":\"2.0\",\"method\":\"\xff\"}\n"), [(Code::JsonSyntax, Some(1))]);
}

/// A twin where the fault is one of the line itself.
const TWIN: &str = "> {\"jsonrpc\":\"2.0\",\"method\":\"m\"} \r\n";

#[test]
fn a_last_line_that_was_cut_is_told_from_one_that_is_wrong() {
    let whole = ASK.trim_end();
    assert_eq!(found(whole.as_bytes()), []);
    for cut in 1..whole.len() {
        let text = format!("{ANSWERED}{}", &whole[..cut]);
        assert_eq!(found(text.as_bytes()), [(Code::TranscriptTruncated, Some(3))], "{cut}");
    }
    assert_eq!(found(format!("{ANSWERED}stray").as_bytes()), [(Code::TranscriptLine, Some(3))]);
    assert_eq!(found(format!("{}\n", &whole[..20]).as_bytes()), [(Code::JsonSyntax, Some(1))]);
    for cut in 1..FRAME.len() {
        let text = format!("{HEAD}{}", &FRAME[..cut]);
        assert_eq!(found(text.as_bytes()), [(Code::TranscriptTruncated, Some(2))], "{cut}");
    }
    assert_eq!(found(b""), []);
}

const ANSWERED: &str =
    "> {\"jsonrpc\":\"2.0\",\"id\":5,\"method\":\"m\"}\n< {\"jsonrpc\":\"2.0\",\"id\":5,\"result\":{}}\n";

#[test]
fn the_own_form_has_exactly_its_fields() {
    assert_eq!(found(format!("{HEAD}{FRAME}\n{EXIT}\n").as_bytes()), []);
    for (from, to) in [
        ("\"seq\":2,", ""),
        ("\"seq\":2", "\"seq\":-2"),
        ("\"seq\":2", "\"seq\":9007199254740992"),
        ("\"t_ns\":0", "\"t_ns\":0.5"),
        ("\"process\":\"p\"", "\"process\":\"\""),
        ("\"process\":\"p\",", ""),
        ("\"connection\":1,", ""),
        ("to_server", "there"),
        ("\"raw\"", "\"text\""),
        ("\"raw\"", "\"raw_base64\""),
        ("\"dir\"", "\"code\":1,\"dir\""),
        ("\"dir\"", "\"event\":\"eof\",\"dir\""),
        (FRAME, "5"),
    ] {
        let text = format!("{HEAD}{}\n{EXIT}\n", FRAME.replacen(from, to, 1));
        assert_eq!(found(text.as_bytes()), [(Code::TranscriptLine, Some(2))], "{to}");
    }
    for (from, to) in [
        ("\"exit\"", "\"end\""),
        (",\"code\":-15", ""),
        ("-15", "\"x\""),
        ("\"exit\"", "\"ready\""),
        ("\"exit\",\"code\":-15", "\"eof\""),
        ("\"code\"", "\"signal\":9,\"code\""),
        ("\"event\"", "\"raw\":\"\",\"event\""),
    ] {
        let text = format!("{HEAD}{FRAME}\n{}\n", EXIT.replacen(from, to, 1));
        assert_eq!(found(text.as_bytes()), [(Code::TranscriptLine, Some(3))], "{to}");
    }
    // Text in base64 has a second spelling; what isn't UTF-8 is kept, and is no JSON.
    let encoded = |text: &str| {
        FRAME.split_once("\"raw\"").map(|(head, _)| format!("{HEAD}{head}\"raw_base64\":\"{text}\"}}\n")).unwrap()
    };
    assert_eq!(found(encoded("e30=").as_bytes()), [(Code::TranscriptLine, Some(2))]);
    assert_eq!(found(encoded("/w==").as_bytes()), [(Code::JsonSyntax, Some(2))]);
    assert_eq!(found(format!("{HEAD}stray\n{FRAME}\n").as_bytes()), [(Code::JsonSyntax, Some(2))]);
    assert_eq!(found(format!("{HEAD}{EXIT}\n{FRAME}\n").as_bytes()), [(Code::TranscriptOrder, Some(3))]);
    assert_eq!(found(format!("{HEAD}{EXIT}\n{EXIT}\n").as_bytes()), [(Code::TranscriptOrder, Some(3))]);
    let more = HEAD.replace('}', ",\"x\":1}");
    assert_eq!(found(more.as_bytes()), [(Code::TranscriptLine, Some(1))]);
    for (format, advised) in [("exhibit-transcript/2", "newer"), ("other/1", "known")] {
        let head = HEAD.replace("exhibit-transcript/1", format);
        let Err(Error::UnknownFormat { advice, .. }) = read(head.as_bytes(), "t", &limits(), &mut |_| ()) else {
            panic!("{format} was taken")
        };
        assert!(advice.contains(advised), "{advice}");
    }
}

#[test]
fn ids_pair_within_one_connection_only() {
    let line = |seq: u32, connection: u32, dir: &str, message: &str| {
        format!(
            "{{\"seq\":{seq},\"t_ns\":{seq},\"process\":\"p\",\"connection\":{connection},\"dir\":\"{dir}\",\"raw\":{message:?}}}\n"
        )
    };
    let (ask, answer) =
        ("{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"m\"}", "{\"jsonrpc\":\"2.0\",\"id\":1,\"result\":{}}");
    let text = [
        HEAD.to_owned(),
        line(1, 1, "to_server", ask),
        line(2, 2, "to_server", ask),
        line(3, 1, "to_client", ask),
        line(4, 2, "to_client", answer),
        line(5, 1, "to_client", answer),
        line(6, 1, "to_server", answer),
        line(7, 3, "to_client", answer),
    ]
    .concat();
    let (transcript, seen) = all(text.as_bytes());
    let kinds: Vec<_> = seen.into_iter().filter_map(|(_, kind)| kind).collect();
    let reply = |to| Kind::Reply { to };
    let asked = |number| Kind::Request { number };
    assert_eq!(kinds, [asked(0), asked(1), asked(2), reply(Some(1)), reply(Some(0)), reply(Some(2)), reply(None)]);
    assert_eq!(transcript.connections.len(), 3);
    assert_eq!((transcript.requests, transcript.replies, transcript.lost), (3, 4, 0));
    assert_eq!(found(text.as_bytes()), [(Code::TranscriptReplyUnmatched, Some(8))]);
}

#[test]
fn lines_are_bounded_exactly() {
    let fill = |length: usize| {
        let line = "> {\"jsonrpc\":\"2.0\",\"method\":\"\"}";
        line.replace("\"\"", &format!("\"{}\"", "m".repeat(length - line.len())))
    };
    assert_eq!(found(format!("{}\n", fill(400)).as_bytes()), []);
    assert_eq!(found(fill(400).as_bytes()), []);
    assert_eq!(found(format!("{}\n{ASK}", fill(401)).as_bytes()), [(Code::TranscriptLine, Some(1))]);
    assert_eq!(found(fill(401).as_bytes()), [(Code::TranscriptLine, Some(1))]);
}
