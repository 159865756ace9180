//! Owns what a request asks of the ledger.
//!
//! Refuses nothing: a request that no server of the dialect would take to its ledger is no matter of it. Invariant: two
//! requests that a server takes for the same have the same parts.

use super::document::Unknown;
use super::intern::Inside;
use super::{Dialect, Interner};
use crate::json::{View, quote};
use crate::ledger::{Ask, Form, Mode, Parts, Write};

impl Dialect {
    /// What a request asks.
    pub fn ask(&self, request: View<'_>, interner: &mut Interner) -> Ask {
        let dialect = &self.document;
        if request.get("method").and_then(View::text) != Some(&dialect.request.method) {
            return Ask::Other;
        }
        let tool = request.find(&dialect.request.tool).and_then(View::text);
        let arguments = request.find(&dialect.request.arguments);
        if let Some(status) = dialect.status.as_ref().filter(|status| tool == Some(&status.tool)) {
            let operation = arguments.and_then(|all| all.find(&status.operation)).and_then(View::text);
            return operation.map_or(Ask::Other, |operation| Ask::Status { operation: operation.into() });
        }
        if tool != Some(&dialect.write.tool) {
            return Ask::Other;
        }
        let operation = match &dialect.write.operation {
            Some(pointer) => arguments.and_then(|all| all.find(pointer)).and_then(View::text),
            None => Some(""),
        };
        // A write that names no operation, or a mode that there isn't, doesn't get past the server's own check.
        let (Some(operation), Some(mode)) = (operation, self.mode(arguments)) else { return Ask::Other };
        let given = |pointer| request.find(pointer).filter(|value| !value.is_null());
        let (state, responses) = (given(&dialect.request.state), given(&dialect.request.responses));
        if state.is_none() && responses.is_none() {
            return Ask::FirstRound { operation: operation.into() };
        }
        let (form, answer) = self.answer(state.is_some(), responses);
        let state = state.map(|state| self.token(state, interner));
        // A state that isn't there is no token: a text that no token can be stands for it.
        let token = state.unwrap_or_else(|| interner.token("", |_| Inside::default()));
        let parts = Parts {
            tool: interner.value(&[dialect.write.tool.as_bytes(), b"\0", dialect.write.version.as_bytes()].concat()),
            arguments: interner.value(&self.arguments(arguments)),
            responses: interner.value(&answer),
            state: interner.state(token),
        };
        let timing = interner.timing(token);
        Ask::Write(Write { operation: operation.into(), form, mode, parts, timing })
    }

    fn mode(&self, arguments: Option<View<'_>>) -> Option<Mode> {
        let Some(name) = &self.document.write.mode else { return Some(Mode::Atomic) };
        let given = arguments.and_then(|all| all.get(name)).map(View::text);
        let word = match given {
            Some(word) => word?,
            None => self.document.write.defaults.get(name)?.as_str()?,
        };
        match word {
            "atomic" => Some(Mode::Atomic),
            "partial" => Some(Mode::Partial),
            _ => None,
        }
    }

    /// Whether the continuation can reach the ledger, and its answers: the accepted one in its one fixed form.
    fn answer(&self, has_state: bool, responses: Option<View<'_>>) -> (Form, Vec<u8>) {
        let rules = &self.document.answer;
        let Some(responses) = responses else { return (Form::WithoutResponses, b"null".to_vec()) };
        let answer = responses.get(&rules.key);
        let is_accepted =
            answer.and_then(|answer| answer.find(&rules.action)).and_then(View::text) == Some(&rules.accept);
        let text = answer.and_then(|answer| answer.find(&rules.text)).and_then(View::text).filter(|_| is_accepted);
        let fixed = match text {
            Some(text) => fixed(&rules.key, text),
            None => {
                // No accepted answer is an array of another's answers.
                let mut raw = b"[".to_vec();
                responses.canonical(&mut raw);
                raw.push(b']');
                raw
            }
        };
        let form = match (has_state, responses.is_object(), answer, text) {
            (false, _, _, _) => Form::WithoutState,
            (true, true, None, _) => Form::WithoutAnswer,
            (true, _, _, None) => Form::NotAccepted,
            (true, _, _, Some(_)) => Form::Sound,
        };
        (form, fixed)
    }

    /// Canonical arguments, with defaults.
    fn arguments(&self, given: Option<View<'_>>) -> Vec<u8> {
        let write = &self.document.write;
        let mut fields: Vec<(&str, Vec<u8>)> = Vec::new();
        for (key, value) in given.into_iter().flat_map(View::fields) {
            let is_known = write.arguments.iter().any(|known| known == key);
            let is_kept = match write.unknown_arguments {
                Unknown::Dropped => is_known,
                // A server that refuses them has answered so; until then they are another request.
                Unknown::Refused | Unknown::Bound => true,
            };
            if is_kept {
                let mut canonical = Vec::new();
                value.canonical(&mut canonical);
                fields.push((key, canonical));
            }
        }
        for (name, value) in &self.defaults {
            if fields.iter().all(|(key, _)| key != name) {
                fields.push((name, value.clone()));
            }
        }
        fields.sort_unstable_by_key(|(key, _)| *key);
        let mut out = Vec::new();
        for (key, value) in fields {
            out.push(if out.is_empty() { b'{' } else { b',' });
            quote(key, &mut out);
            out.push(b':');
            out.extend(value);
        }
        out.push(b'}');
        out
    }
}

/// The accepted answer in its one fixed form.
fn fixed(key: &str, text: &str) -> Vec<u8> {
    let mut out = b"{".to_vec();
    quote(key, &mut out);
    out.extend_from_slice(b":{\"_meta\":null,\"action\":\"accept\",\"content\":{\"body\":");
    quote(text, &mut out);
    out.extend_from_slice(b"}}}");
    out
}
