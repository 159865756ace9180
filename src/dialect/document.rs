//! Owns the document `exhibit-dialect/1`: how a server's wire maps to the ledger, as data.
//!
//! Refuses fields that are unknown or of another form. Invariant: no server's tool, field or text stands in code.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::form;
use crate::json::{self, Pointer};
use crate::ledger::{EffectIds, Refusal};

/// The document as it stands.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    #[serde(rename = "format")]
    _format: String,
    #[serde(deserialize_with = "form::filled")]
    pub(super) name: String,
    #[serde(default, rename = "notes", deserialize_with = "json::optional")]
    _notes: Option<String>,
    pub(super) request: Request,
    pub(super) write: Write,
    pub(super) answer: Answer,
    #[serde(deserialize_with = "json::object_or_null")]
    pub(super) status: Option<Status>,
    pub(super) state: State,
    pub(super) reply: Reply,
    #[serde(deserialize_with = "json::objects")]
    pub(super) refusals: Vec<Refused>,
    pub(super) effect_ids: EffectIds,
}

/// Where a request carries what; pointers into the message.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Request {
    pub(super) method: String,
    pub(super) tool: Pointer,
    pub(super) arguments: Pointer,
    pub(super) state: Pointer,
    pub(super) responses: Pointer,
}

/// The tool that writes; pointers into the arguments.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Write {
    pub(super) tool: String,
    pub(super) version: String,
    #[serde(deserialize_with = "json::nullable")]
    pub(super) operation: Option<Pointer>,
    /// The argument that is the mode.
    #[serde(deserialize_with = "json::nullable")]
    pub(super) mode: Option<String>,
    pub(super) arguments: Vec<String>,
    pub(super) defaults: BTreeMap<String, serde_json::Value>,
    pub(super) unknown_arguments: Unknown,
}

/// What becomes of arguments that the tool doesn't know.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Unknown {
    Dropped,
    Refused,
    Bound,
}

/// The answer that is asked for; pointers into the answer.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Answer {
    pub(super) key: String,
    pub(super) action: Pointer,
    pub(super) accept: String,
    pub(super) text: Pointer,
}

/// The tool that reads a status: the operation in its arguments, and pointers into the reply.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Status {
    pub(super) tool: String,
    pub(super) operation: Pointer,
    pub(super) reply: StatusReply,
}

#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct StatusReply {
    /// What must be there for a reply to be a status.
    pub(super) at: Pointer,
    pub(super) operation: Pointer,
    pub(super) principal: Pointer,
    pub(super) backend: Pointer,
    pub(super) state: Pointer,
    pub(super) authoritative: Pointer,
    pub(super) fresh_write_authorized: Pointer,
    pub(super) ids: Pointer,
    pub(super) result: Pointer,
    pub(super) scope: Pointer,
    pub(super) observed_at: Pointer,
    #[serde(deserialize_with = "json::object_or_null")]
    pub(super) binding: Option<Binding>,
}

/// The structured scope.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Binding {
    pub(super) at: Pointer,
    pub(super) operation: Pointer,
    pub(super) principal: Pointer,
    pub(super) backend: Pointer,
}

/// The continuation state.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct State {
    /// What every token starts with.
    pub(super) prefix: String,
    /// How many parts it has behind that, joined by dots.
    pub(super) parts: usize,
    pub(super) binds_arguments: bool,
    #[serde(deserialize_with = "json::object_or_null")]
    pub(super) readable: Option<Readable>,
    /// How the state's key opens it; none where no scheme is known.
    #[serde(default, deserialize_with = "json::object_or_null")]
    pub(super) sealed: Option<Sealed>,
}

/// What a readable token says: its first part is JSON in base64url; pointers into that.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Readable {
    pub(super) inner: Pointer,
    pub(super) operation: Pointer,
    pub(super) issued_at: Pointer,
    pub(super) authority_expires_at: Pointer,
    pub(super) replay_expires_at: Pointer,
    pub(super) state_expires_at: Pointer,
}

/// How tokens are sealed. `inner` and `state_expires_at` are pointers into the JSON within, the others into the inner state.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Sealed {
    pub(super) scheme: Scheme,
    pub(super) inner: Pointer,
    pub(super) bound_as: BoundAs,
    pub(super) operation: Pointer,
    pub(super) issued_at: Pointer,
    pub(super) authority_expires_at: Pointer,
    pub(super) replay_expires_at: Pointer,
    pub(super) state_expires_at: Pointer,
}

/// What seals a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Scheme {
    /// AES-256-GCM under a key that HKDF-SHA256 derives, as the Python SDK does.
    PythonAesGcm,
    /// HMAC-SHA256 over JSON that anyone can read, as the TypeScript SDK does.
    TypescriptHmac,
}

/// What the inner state is, and as what a fingerprint binds it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum BoundAs {
    /// A text that holds JSON; the text is bound as it stands.
    Text,
    /// JSON; its text is bound, with sorted keys, without space and in ASCII.
    AsciiText,
    /// JSON; the value is bound.
    Value,
}

/// Where a reply carries what.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Reply {
    pub(super) kind: Pointer,
    pub(super) asked: String,
    pub(super) complete: String,
    pub(super) state: Pointer,
    pub(super) is_error: Pointer,
    pub(super) error_text: Pointer,
    #[serde(deserialize_with = "json::nullable")]
    pub(super) operation: Option<Pointer>,
    pub(super) effect: Effect,
    pub(super) result: Pointer,
    #[serde(deserialize_with = "json::nullable")]
    pub(super) replayed: Option<Pointer>,
    #[serde(deserialize_with = "json::nullable")]
    pub(super) progress: Option<Pointer>,
}

/// The effect's id: a whole number, or one in a text behind other text.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Effect {
    pub(super) at: Pointer,
    #[serde(deserialize_with = "json::nullable")]
    pub(super) after: Option<String>,
}

/// A refusal on the wire.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Refused {
    /// The code of a JSON-RPC error; null for a tool's error.
    #[serde(deserialize_with = "json::nullable")]
    pub(super) code: Option<i64>,
    pub(super) text: String,
    pub(super) means: Means,
}

/// What a refusal means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Means {
    Conflict,
    AuthorityExpired,
    RetentionExpired,
    InProgress,
    Timing,
    Unsupported,
    NotAccepted,
    OtherOperation,
    StateRejected,
}

impl Means {
    /// The ledger's word; none where the state was rejected before it.
    pub(super) fn refusal(self) -> Option<Refusal> {
        match self {
            Self::Conflict => Some(Refusal::Conflict),
            Self::AuthorityExpired => Some(Refusal::AuthorityExpired),
            Self::RetentionExpired => Some(Refusal::RetentionExpired),
            Self::InProgress => Some(Refusal::InProgress),
            Self::Timing => Some(Refusal::Timing),
            Self::Unsupported => Some(Refusal::Unsupported),
            Self::NotAccepted => Some(Refusal::NotAccepted),
            Self::OtherOperation => Some(Refusal::OtherOperation),
            Self::StateRejected => None,
        }
    }
}
