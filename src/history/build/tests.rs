//! Histories of transcripts in memory: what is ordered, whose each call is, and where tokens come from.

use super::*;
use crate::ledger::Write;

fn built(files: &[(&str, &str, &str)], context: &Context) -> Built {
    let source = |(name, process, text)| -> Source<'_> {
        let text: &str = text;
        Source { name, process, open: Box::new(move || Ok(Box::new(text.as_bytes()))) }
    };
    let sources: Vec<_> = files.iter().copied().map(source).collect();
    let dialect = Dialect::named("mcp-python").unwrap().unwrap();
    of_transcripts(&sources, &dialect, context, &Limits::default()).unwrap()
}

fn call(id: u32, more: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"create_guarded_issue","arguments":{{"operation_id":"o","title":"t"}}{more}}}}}"#
    )
}

fn with(token: &str) -> String {
    format!(r#","requestState":"{token}","inputResponses":{{"body":{{"action":"accept","content":{{"body":"b"}}}}}}"#)
}

fn issued(id: u32, token: &str) -> String {
    format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"input_required","requestState":"{token}"}}}}"#)
}

fn frame(seq: u32, process: &str, dir: &str, raw: &str) -> String {
    format!(
        "{{\"seq\":{seq},\"t_ns\":0,\"process\":\"{process}\",\"connection\":1,\"dir\":\"{dir}\",\"raw\":{raw:?}}}\n"
    )
}

fn writes(built: &Built) -> Vec<&Write> {
    let write = |call: &Call| matches!(call.ask, Ask::Write(_));
    let asks = built.history.calls.iter().filter(|call| write(call)).map(|call| &call.ask);
    asks.filter_map(|ask| if let Ask::Write(write) = ask { Some(write) } else { None }).collect()
}

const TOKEN: &str = "v1.0123456789abcdefghijklmnopqrstuvwxyz";

#[test]
fn tokens_are_told_by_first_rounds_whatever_the_order_of_files() {
    let later = format!("> {}\n> {}\n", call(1, &with(TOKEN)), call(2, &with(&TOKEN.replace('k', "K"))));
    let earlier = format!("> {}\n< {}\n", call(1, ""), issued(1, TOKEN));
    for files in [[("b", "b", &*later), ("a", "a", &*earlier)], [("a", "a", &*earlier), ("b", "b", &*later)]] {
        let built = built(&files, &Context::default());
        let first = built.history.calls.iter().position(|call| matches!(call.ask, Ask::FirstRound { .. })).unwrap();
        let states: Vec<_> = writes(&built).iter().map(|write| write.parts.state).collect();
        assert_eq!(states[0].issued, Some(u32::try_from(first).unwrap()));
        assert_eq!((states[0].altered, states[1].issued, states[1].altered), (false, None, true));
        assert!(!built.history.is_ordered && built.findings.none_broken());
        assert_eq!(built.history.processes.len(), 2);
        assert_eq!((built.recognized, built.unrecognized), (1, 0));
    }
    let alone = |is_whole| {
        let built = built(&[("b", "b", &later)], &Context { is_whole, ..Context::default() });
        writes(&built)[0].parts.state.altered
    };
    assert!(!alone(false) && alone(true));
}

#[test]
fn one_recorders_numbers_order_everything_and_events_end_processes() {
    let head = "{\"format\":\"exhibit-transcript/1\"}\n";
    let a = [
        head.to_owned(),
        frame(1, "p", "to_server", &call(1, "")),
        frame(3, "p", "to_client", &issued(1, TOKEN)),
        "{\"seq\":6,\"t_ns\":0,\"process\":\"p\",\"event\":\"exit\",\"code\":70}\n".to_owned(),
    ]
    .concat();
    let b =
        [head.to_owned(), frame(2, "q", "to_server", &call(1, "")), frame(5, "p", "to_server", &call(1, ""))].concat();
    let ordered =
        |one_recorder| built(&[("a", "", &a), ("b", "", &b)], &Context { one_recorder, ..Context::default() });
    let built = ordered(true);
    assert!(built.history.is_ordered && !ordered(false).history.is_ordered);
    let names: Vec<_> = built.history.processes.iter().map(|process| &*process.name).collect();
    assert_eq!(names, ["p", "q"]);
    assert_eq!((built.history.processes[0].exit, built.history.processes[0].ended), (Some(70), Some(6)));
    let calls: Vec<_> =
        built.history.calls.iter().map(|call| (call.process, call.connection, call.sent, call.received)).collect();
    assert_eq!(calls, [(0, 0, 1, Some(3)), (1, 1, 2, None), (0, 2, 5, None)]);
    let twice = b.replace("\"seq\":2", "\"seq\":3");
    let context = Context { one_recorder: true, ..Context::default() };
    assert!(!super::tests::built(&[("a", "", &a), ("b", "", &twice)], &context).history.is_ordered);
}
