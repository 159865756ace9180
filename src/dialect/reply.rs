//! Owns what a reply tells.
//!
//! Refuses to guess: a reply of a form or text that the dialect doesn't name is unrecognized, and counts as lost.
//! Invariant: what a reply tells hangs on it and on what was asked, on nothing else.

use super::document::{Refused, StatusReply};
use super::{Dialect, Interner, Origin};
use crate::json::{Pointer, View};
use crate::ledger::{Ask, Observation, Observed, Outcome, ScopeBinding, Told};

impl Dialect {
    /// What the reply to `ask`, which is the call of number `call`, tells.
    pub fn told(&self, ask: &Ask, call: u32, reply: View<'_>, interner: &mut Interner) -> Told {
        let again = match ask {
            Ask::Other => return Told::Other,
            Ask::Status { .. } => return self.status(reply),
            Ask::FirstRound { .. } => Origin::FirstRound(call),
            Ask::Write(write) => Origin::Again(write.parts.state.token),
        };
        if let Some(refused) = self.refused(reply) {
            return refused;
        }
        let rules = &self.document.reply;
        let kind = reply.find(&rules.kind).map(View::text);
        if kind == Some(Some(&rules.asked)) {
            let state = reply.find(&rules.state).filter(|state| !state.is_null());
            return match state.map(View::text) {
                None => Told::InputRequired { token: None },
                Some(Some(text)) if self.is_token(text) => {
                    let token = state.map(|state| self.token(state, interner));
                    token.into_iter().for_each(|token| interner.issue(token, again));
                    Told::InputRequired { token }
                }
                Some(_) => Told::Unrecognized,
            };
        }
        // Older revisions don't say that a result is complete.
        if kind.is_some_and(|kind| kind != Some(&rules.complete)) {
            return Told::Unrecognized;
        }
        let operation = match ask {
            Ask::FirstRound { operation } => operation,
            Ask::Write(write) => &write.operation,
            Ask::Status { .. } | Ask::Other => "",
        };
        self.outcome(operation, reply).map_or(Told::Unrecognized, Told::Effect)
    }

    /// What an error means; none where the reply is none.
    fn refused(&self, reply: View<'_>) -> Option<Told> {
        let rules = &self.document.reply;
        let (code, text) = if let Some(error) = reply.get("error") {
            (error.get("code").and_then(View::integer), error.get("message"))
        } else if reply.find(&rules.is_error).and_then(View::boolean) == Some(true) {
            (None, reply.find(&rules.error_text))
        } else {
            return None;
        };
        let text = text.and_then(View::text);
        let named = |refused: &&Refused| refused.code == code && text == Some(&refused.text);
        let means = self.document.refusals.iter().find(named).map(|refused| refused.means);
        Some(means.map_or(Told::Unrecognized, |means| means.refusal().map_or(Told::StateRejected, Told::Refused)))
    }

    fn outcome(&self, asked: &str, reply: View<'_>) -> Option<Outcome> {
        let rules = &self.document.reply;
        let find = |pointer: &Pointer| reply.find(pointer);
        let id = find(&rules.effect.at)?;
        let effect = match &rules.effect.after {
            None => u64::try_from(id.integer()?).ok()?,
            Some(before) => number(id.text()?.strip_prefix(before.as_str())?)?,
        };
        let operation = match &rules.operation {
            Some(pointer) => find(pointer)?.text()?,
            None => asked,
        };
        let replayed = match &rules.replayed {
            Some(pointer) => find(pointer)?.boolean()?,
            None => false,
        };
        let state = match &rules.progress {
            Some(pointer) => observed(find(pointer)?.text()?)?,
            None => Observed::Applied,
        };
        if matches!(state, Observed::Unknown | Observed::NotApplied) {
            return None;
        }
        let result = find(&rules.result)?.text()?.into();
        Some(Outcome { operation: operation.into(), effect, result, replayed, state })
    }

    fn status(&self, reply: View<'_>) -> Told {
        let rules = self.document.status.as_ref().map(|status| &status.reply);
        match (rules, self.refused(reply)) {
            (Some(rules), None) if reply.find(&rules.at).is_some_and(View::is_object) => {
                Told::Status(Box::new(observation(rules, reply)))
            }
            (_, _) => Told::Unrecognized,
        }
    }
}

fn observation(rules: &StatusReply, reply: View<'_>) -> Observation {
    let text = |pointer: &Pointer| reply.find(pointer).and_then(View::text).map(Box::<str>::from);
    let flag = |pointer: &Pointer| reply.find(pointer).and_then(View::boolean);
    let ids = reply.find(&rules.ids).filter(|ids| ids.is_array());
    let result = reply.find(&rules.result);
    let binding = rules.binding.as_ref().filter(|binding| reply.find(&binding.at).is_some_and(View::is_object));
    Observation {
        operation: text(&rules.operation),
        principal: text(&rules.principal),
        backend: text(&rules.backend),
        state: text(&rules.state).and_then(|word| observed(&word)),
        authoritative: flag(&rules.authoritative),
        fresh_write_authorized: flag(&rules.fresh_write_authorized),
        ids: ids.and_then(|ids| ids.items().map(View::integer).collect()),
        result: result
            .and_then(|result| if result.is_null() { Some(None) } else { result.text().map(|text| Some(text.into())) }),
        scope: text(&rules.scope),
        binding: binding.map(|binding| ScopeBinding {
            operation: text(&binding.operation),
            principal: text(&binding.principal),
            backend: text(&binding.backend),
        }),
        observed_at: text(&rules.observed_at),
    }
}

fn observed(word: &str) -> Option<Observed> {
    match word {
        "applied" => Some(Observed::Applied),
        "partial" => Some(Observed::Partial),
        "unknown" => Some(Observed::Unknown),
        "not_applied" => Some(Observed::NotApplied),
        _ => None,
    }
}

/// Digits without a leading zero.
fn number(text: &str) -> Option<u64> {
    let digits = text.bytes().all(|c| c.is_ascii_digit()) && !text.starts_with('0');
    digits.then(|| text.parse().ok()).flatten()
}
