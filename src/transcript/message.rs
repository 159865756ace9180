//! Owns telling what a JSON-RPC 2.0 message is: request, reply or notification.
//!
//! Refuses batches, messages of another version, and ids that are neither string nor whole number. Invariant: ids keep
//! their type: 1 is not "1".

use crate::finding::Code;
use crate::json::View;

/// A request's id.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) enum Id {
    Number(i64),
    Text(Box<str>),
}

/// What a message is, with its id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Sort {
    Request(Id),
    Reply(Id),
    Notification,
}

impl Id {
    /// As a sentence shows it.
    pub(super) fn shown(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Text(text) => crate::document::shown(&format!("{text:?}")),
        }
    }
}

/// What the message is, or the code and sentence of what is wrong with it.
pub(super) fn sort(body: View<'_>) -> Result<Sort, (Code, &'static str)> {
    if body.is_array() {
        return Err((Code::TranscriptMessage, "it is a batch of messages, which MCP doesn't have"));
    }
    let (mut version, mut id, mut method, mut result, mut error) = (None, None, None, None, None);
    for (key, value) in body.fields() {
        match key {
            "jsonrpc" => version = Some(value),
            "id" => id = Some(value),
            "method" => method = Some(value),
            "result" => result = Some(value),
            "error" => error = Some(value),
            _ => {}
        }
    }
    let wrong = |message| Err((Code::TranscriptMessage, message));
    if version.and_then(View::text) != Some("2.0") {
        return wrong("it is no JSON-RPC 2.0 message: \"jsonrpc\" is not \"2.0\"");
    }
    match (method, result, error) {
        (Some(method), None, None) => {
            if method.text().is_none() {
                return wrong("its method is no string");
            }
            id.map_or(Ok(Sort::Notification), |id| of(Some(id)).map(Sort::Request))
        }
        (None, Some(_), None) => of(id).map(Sort::Reply),
        (None, None, Some(error)) => {
            let has_both = error.get("code").and_then(View::integer).is_some()
                && error.get("message").and_then(View::text).is_some();
            if !has_both {
                return wrong("its error lacks a whole number as code or a text as message");
            }
            of(id).map(Sort::Reply)
        }
        (None, None, None) => wrong("it is neither request nor reply: it has no method, no result and no error"),
        (_, _, _) => wrong("it has more than one of method, result and error"),
    }
}

fn of(id: Option<View<'_>>) -> Result<Id, (Code, &'static str)> {
    let Some(id) = id else { return Err((Code::TranscriptId, "the reply has no id")) };
    if let Some(number) = id.integer() {
        return Ok(Id::Number(number));
    }
    if let Some(text) = id.text() {
        return Ok(Id::Text(text.into()));
    }
    let message =
        if id.is_null() { "its id is null" } else { "its id is neither a string nor a whole number of 64 bits" };
    Err((Code::TranscriptId, message))
}
