//! Owns recomputing what a run recorded of its wire: recorded calls and replies against those in the transcripts.
//!
//! Refuses to take a recorded reply for granted. Invariant: every recorded field that a transcript shows is compared, in
//! the order of files and lines.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::finding::{Code, Finding, Place};
use crate::json::View;
use crate::name::escape;
use crate::transcript::{Direction, Kind, Message};

/// What transcripts show of the wire, in the form in which the historical runs recorded it.
#[derive(Debug, Default)]
pub struct Wire {
    calls: Vec<Value>,
    replies: Vec<Value>,
    errors: Vec<Value>,
    shapes: Vec<Value>,
    versions: BTreeSet<String>,
    initializes: bool,
}

fn value(view: Option<View<'_>>) -> Value {
    let Some(view) = view else { return Value::Null };
    let mut bytes = Vec::new();
    view.canonical(&mut bytes);
    serde_json::from_slice(&bytes).unwrap_or_default()
}

impl Wire {
    /// A message of the transcript in the file `source`; files come in the order of their names.
    pub fn add(&mut self, source: &str, message: &Message<'_>) {
        let body = message.body;
        match (message.kind, message.direction) {
            (Kind::Request { .. }, Direction::ToServer) => self.call(source, body),
            (Kind::Reply { .. }, Direction::ToClient) => self.reply(source, body),
            (Kind::Request { .. } | Kind::Reply { .. } | Kind::Notification, _) => {}
        }
    }

    fn call(&mut self, source: &str, body: View<'_>) {
        let method = body.get("method").and_then(View::text);
        let params = body.get("params");
        let of = |key: &str| params.and_then(|params| params.get(key));
        let version = of("_meta").and_then(|meta| meta.get("io.modelcontextprotocol/protocolVersion"));
        self.versions.extend(version.and_then(View::text).map(str::to_owned));
        self.initializes |= method == Some("initialize");
        if method == Some("tools/call") {
            self.calls.push(json!({
                "continuation": of("inputResponses").is_some(),
                "id": value(body.get("id")),
                "source": source,
                "state_present": of("requestState").is_some(),
                "tool": value(of("name")),
            }));
        }
    }

    fn reply(&mut self, source: &str, body: View<'_>) {
        let id = value(body.get("id"));
        let result = body.get("result");
        let of = |key: &str| value(result.and_then(|result| result.get(key)));
        let error = body.get("error").map(|error| (value(error.get("code")), value(error.get("message"))));
        let is_error = of("isError") == Value::Bool(true);
        let text = of("content").pointer("/0/text").cloned().unwrap_or_default();
        let message = match &error {
            Some((_, message)) => message.clone(),
            None if is_error => text.clone(),
            None => Value::Null,
        };
        if let Some((code, message)) = error {
            self.errors.push(json!({"code": code, "id": id, "message": message, "source": source}));
        }
        if is_error {
            let shape = "tool_result_isError";
            self.shapes.push(json!({"id": id, "message": text, "shape": shape, "source": source}));
        }
        self.replies.push(json!({
            "error": message,
            "id": id,
            "result_type": of("resultType"),
            "source": source,
            "structured": of("structuredContent"),
        }));
    }

    /// Holds a recorded `independent_wire` against the transcripts, field by field. `at` is the record's file and line. A
    /// record without facts, null, has nothing to hold.
    pub fn check(&self, recorded: &Value, at: &Place) -> Vec<Finding> {
        let mut findings = Vec::new();
        if recorded.is_null() {
            return findings;
        }
        let lists = [
            ("calls", &self.calls, true),
            ("replies", &self.replies, true),
            ("jsonrpc_errors", &self.errors, false),
            ("typescript_error_shapes", &self.shapes, false),
        ];
        for (name, computed, is_needed) in lists {
            let pointer = format!("/independent_wire/{name}");
            match recorded.get(name).map(|list| list.as_array()) {
                Some(Some(list)) => compare(list, computed, at, &pointer, &mut findings),
                None if !is_needed => {}
                Some(None) | None => findings.push(differs(at, &pointer, "no list", "a list")),
            }
        }
        let versions = json!(self.versions);
        if let Some(told) = recorded.get("request_protocol_versions").filter(|told| **told != versions) {
            findings.push(differs(
                at,
                "/independent_wire/request_protocol_versions",
                &told.to_string(),
                &versions.to_string(),
            ));
        }
        let says_none =
            recorded.get("handshake").and_then(Value::as_str).is_some_and(|text| text.contains("no initialize"));
        if says_none && self.initializes {
            findings.push(differs(at, "/independent_wire/handshake", "no initialize", "initialize was sent"));
        }
        findings
    }
}

fn compare(recorded: &[Value], computed: &[Value], at: &Place, pointer: &str, findings: &mut Vec<Finding>) {
    for index in 0..recorded.len().max(computed.len()) {
        let pointer = format!("{pointer}/{index}");
        match (recorded.get(index), computed.get(index)) {
            (Some(told), Some(seen)) => {
                for (key, seen) in seen.as_object().into_iter().flatten() {
                    let told = told.get(key);
                    if told != Some(seen) {
                        let told = told.map_or_else(|| "no such field".to_owned(), Value::to_string);
                        findings.push(differs(at, &format!("{pointer}/{key}"), &told, &seen.to_string()));
                    }
                }
            }
            (Some(told), None) => findings.push(differs(at, &pointer, &told.to_string(), "no such message")),
            (None, Some(seen)) => findings.push(differs(at, &pointer, "no such message", &seen.to_string())),
            (None, None) => {}
        }
    }
}

fn differs(at: &Place, pointer: &str, recorded: &str, computed: &str) -> Finding {
    let shown = |text: &str| super::document::shown(&escape(text.as_bytes()));
    let message = "the run recorded another wire than its transcripts show";
    let finding = Finding::new(Code::RunFactDiffers, at.clone().pointer(pointer), message);
    finding.values(shown(recorded), shown(computed))
}
