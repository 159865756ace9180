//! What each dialect asks and tells, and that honest variations don't matter.

use proptest::prelude::*;
use serde_json::{Value, json};

use super::*;
use crate::json::Tape;
use crate::ledger::{Ask, Form, Mode, Observed, Refusal, Told, Write};

fn dialect(name: &str) -> Dialect {
    Dialect::named(name).unwrap().unwrap()
}

fn ask(dialect: &Dialect, request: &str, interner: &mut Interner) -> Ask {
    let mut tape = Tape::default();
    dialect.ask(tape.read(request, 64).unwrap(), interner)
}

fn request(params: Value) -> Value {
    let mut params = params;
    if params.get("name").is_none() {
        params["name"] = json!("create_guarded_issue");
    }
    json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
}

fn continuation() -> Value {
    request(json!({
        "arguments": {"operation_id": "o", "title": "t"},
        "requestState": "v1.token",
        "inputResponses": {"body": {"action": "accept", "content": {"body": "b"}}},
    }))
}

fn write(dialect: &Dialect, request: &Value, interner: &mut Interner) -> Write {
    let asked = ask(dialect, &request.to_string(), interner);
    let Ask::Write(write) = asked else { panic!("{request}: {asked:?}") };
    write
}

fn told(name: &str, reply: &Value) -> Told {
    let (dialect, mut interner) = (dialect(name), Interner::default());
    let asked = ask(&dialect, &continuation().to_string(), &mut interner);
    let mut tape = Tape::default();
    let text = reply.to_string();
    dialect.told(&asked, 0, tape.read(&text, 64).unwrap(), &mut interner)
}

#[test]
fn continuations_are_told_apart_by_what_they_carry() {
    let (dialect, mut interner) = (dialect("mcp-python"), Interner::default());
    let change = |change: &dyn Fn(&mut Value)| {
        let mut request = continuation();
        change(&mut request["params"]);
        request
    };
    let drop = |params: &mut Value, key: &str| {
        params.as_object_mut().unwrap().remove(key);
    };
    for (form, request) in [
        (Form::Sound, continuation()),
        (Form::WithoutState, change(&|p| drop(p, "requestState"))),
        (Form::WithoutState, change(&|p| p["requestState"] = Value::Null)),
        (Form::WithoutResponses, change(&|p| drop(p, "inputResponses"))),
        (Form::WithoutAnswer, change(&|p| p["inputResponses"] = json!({"other": 1}))),
        (Form::NotAccepted, change(&|p| p["inputResponses"]["body"]["action"] = json!("decline"))),
        (Form::NotAccepted, change(&|p| p["inputResponses"]["body"]["content"]["body"] = json!(5))),
        (Form::NotAccepted, change(&|p| p["inputResponses"] = json!([]))),
    ] {
        assert_eq!(write(&dialect, &request, &mut interner).form, form, "{request}");
    }
    let first = change(&|p| {
        drop(p, "requestState");
        drop(p, "inputResponses");
    });
    assert_eq!(ask(&dialect, &first.to_string(), &mut interner), Ask::FirstRound { operation: "o".into() });
    let status = request(json!({"name": "get_operation_status", "arguments": {"operation_id": "o"}}));
    assert_eq!(ask(&dialect, &status.to_string(), &mut interner), Ask::Status { operation: "o".into() });
    for other in [
        change(&|p| p["name"] = json!("other")),
        change(&|p| p["arguments"]["operation_id"] = json!(5)),
        change(&|p| p["arguments"]["mode"] = json!("other")),
        json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}),
    ] {
        assert_eq!(ask(&dialect, &other.to_string(), &mut interner), Ask::Other, "{other}");
    }
}

#[test]
fn parts_agree_exactly_where_the_logical_request_does() {
    let (dialect, mut interner) = (dialect("mcp-python"), Interner::default());
    let base = write(&dialect, &continuation(), &mut interner);
    assert_eq!(base.mode, Mode::Atomic);
    for (pointer, value, is_same) in [
        ("/id", json!("x"), true),
        ("/params/_meta", json!({"a": 1}), true),
        ("/params/arguments/mode", json!("atomic"), true),
        ("/params/arguments/unknown", json!(1), true),
        ("/params/inputResponses/body/_meta", json!(null), true),
        ("/params/inputResponses/body/other", json!(1), true),
        ("/params/arguments/mode", json!("partial"), false),
        ("/params/arguments/title", json!("T"), false),
        ("/params/requestState", json!("v1.Token"), false),
        ("/params/inputResponses/body/content/body", json!("B"), false),
    ] {
        let mut changed = continuation();
        let (parent, key) = pointer.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[key] = value;
        let parts = write(&dialect, &changed, &mut interner).parts;
        assert_eq!(parts == base.parts, is_same, "{pointer}");
    }
}

#[test]
fn replies_tell_what_they_tell_and_nothing_else() {
    let error = |text: &str| json!({"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": text}});
    let tool = |text: &str| json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "isError": true, "content": [{"type": "text", "text": text}]}});
    let bad = "Invalid or expired requestState";
    for (name, reply, wanted) in [
        ("mcp-python", error("operation_conflict"), Told::Refused(Refusal::Conflict)),
        ("mcp-python", tool("operation_conflict"), Told::Unrecognized),
        ("mcp-typescript", tool("operation_conflict"), Told::Refused(Refusal::Conflict)),
        ("mcp-typescript", error("operation_conflict"), Told::Unrecognized),
        ("mcp-python", error(bad), Told::StateRejected),
        ("mcp-typescript", error(bad), Told::StateRejected),
        ("mcp-unguarded", error(bad), Told::Other),
        ("mcp-python", error("Internal error"), Told::Unrecognized),
        ("mcp-typescript", tool("bridge machinery failure: 71; "), Told::Unrecognized),
    ] {
        assert_eq!(told(name, &reply), wanted, "{name} {reply}");
    }
    let whole = json!({"operationId": "o", "effectId": 1, "result": "created 1", "replayed": true, "state": "applied"});
    let reply = |content: &Value| json!({"jsonrpc": "2.0", "id": 1, "result": {"resultType": "complete", "structuredContent": content}});
    let Told::Effect(outcome) = told("mcp-python", &reply(&whole)) else { panic!("no effect") };
    assert_eq!(
        (outcome.effect, &*outcome.result, outcome.replayed, outcome.state),
        (1, "created 1", true, Observed::Applied)
    );
    for (field, value) in [
        ("effectId", json!("1")),
        ("effectId", json!(-1)),
        ("effectId", json!(1.5)),
        ("operationId", json!(null)),
        ("result", json!(1)),
        ("replayed", json!("true")),
        ("state", json!("unknown")),
        ("state", json!("done")),
    ] {
        let mut changed = whole.clone();
        changed[field] = value;
        assert_eq!(told("mcp-python", &reply(&changed)), Told::Unrecognized, "{changed}");
    }
}

#[test]
fn documents_are_refused_with_all_their_faults() {
    let text = include_str!("../../matrices/dialects/mcp-python.json");
    let faults = |text: &str| match Dialect::load(Path::new("d.json"), text.as_bytes(), &Limits::default()) {
        Err(Error::Document { faults, .. }) => faults,
        other => panic!("{other:?}"),
    };
    let found = faults(&text.replacen("\"/params/name\"", "\"params\"", 1).replacen("\"dense\"", "\"close\"", 1));
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(faults(&text.replacen("\"operation_id\", \"title\", \"mode\"", "\"title\"", 1)).len(), 1);
    assert_eq!(faults(&text.replacen("get_operation_status", "create_guarded_issue", 1)).len(), 1);
    let newer = text.replacen("dialect/1", "dialect/2", 1);
    let loaded = Dialect::load(Path::new("d.json"), newer.as_bytes(), &Limits::default());
    assert!(matches!(loaded, Err(Error::UnknownFormat { .. })));
    assert_eq!(Dialect::embedded().unwrap().len(), EMBEDDED.len());
    assert!(dialect("mcp-python").has_operations() && !dialect("mcp-unguarded").has_operations());
}

/// The same value with its keys turned around, more space, and a field more in each object that takes one.
fn varied(value: &Value, extra: bool, space: &str, out: &mut String) {
    let Some(fields) = value.as_object() else {
        out.push_str(&value.to_string());
        return;
    };
    out.push('{');
    for (index, (key, value)) in fields.iter().rev().enumerate() {
        out.push_str(if index > 0 { "," } else { "" });
        for part in [space, &*json!(key).to_string(), space, ":", space] {
            out.push_str(part);
        }
        varied(value, extra && key != "inputResponses", space, out);
    }
    out.push_str(if extra && !fields.is_empty() { ",\"x-unknown\":[1]" } else { "" });
    out.push('}');
}

proptest! {
    #[test]
    fn honest_variations_dont_matter(title in ".{0,8}", body in ".{0,8}", id in any::<i64>(), extra: bool, space in "[ \t\r]{0,3}") {
        let dialect = dialect("mcp-python");
        let mut interner = Interner::default();
        let mut request = continuation();
        request["params"]["arguments"]["title"] = json!(title);
        request["params"]["inputResponses"]["body"]["content"]["body"] = json!(body);
        let base = write(&dialect, &request, &mut interner);
        request["id"] = json!(id);
        let mut text = String::new();
        varied(&request, extra, &space, &mut text);
        prop_assert_eq!(ask(&dialect, &text, &mut interner), Ask::Write(base));
    }
}
