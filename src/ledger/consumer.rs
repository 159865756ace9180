//! Owns the reference consumer: what a caller whose reply was lost may do.
//!
//! Refuses an observation that breaks any of the rules, and read-back by title or body, which it has no way to be told.
//! Invariant: it can say reconcile, return the stored result, or stop; there is no value with which it could say write.

use super::call::{Observation, Observed};
use crate::form::Timestamp;

/// What names an action: who did what where.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Identity {
    /// Operation id.
    pub operation: Box<str>,
    /// Principal.
    pub principal: Box<str>,
    /// Backend.
    pub backend: Box<str>,
}

/// Whether a dialect's statuses carry a structured scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Scope {
    /// The free text alone. A structured scope that is there all the same must fit.
    Text,
    /// A structured scope as well.
    Structured,
}

/// A caller that sent a write and got no reply. Its submission and its effect are unknown to it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Consumer {
    attempt: Identity,
    scope: Scope,
}

/// What the caller does next. None of these is a write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Action {
    /// Ask for the status under the attempt's own identity.
    Reconcile,
    /// The effect is known: hand on what is stored.
    ReturnStoredResult {
        /// The effect.
        effect: u64,
        /// The stored result.
        result: Box<str>,
    },
    /// A person has to settle it.
    Stop(Stop),
}

/// Why the caller stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stop {
    /// The effect took place and a later step failed.
    Partial,
    /// Nothing is known, which proves nothing.
    Unknown,
    /// It did not take effect; a fresh write is not authorized by that.
    NotApplied,
    /// The observation can't be accepted.
    Refused(Rejected),
}

/// The rule that an observation breaks; the first, where there are several.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Rejected {
    /// It speaks of another action.
    #[error("its identity is not the attempt's")]
    Identity,
    /// It doesn't call itself authoritative.
    #[error("it is not authoritative")]
    NotAuthoritative,
    /// It doesn't say that no fresh write is authorized.
    #[error("it does not say that no fresh write is authorized")]
    FreshWrite,
    /// Its scope has no text.
    #[error("it has no scope")]
    Scope,
    /// Its structured scope is another identity, or is missing.
    #[error("its structured scope is not the attempt's identity")]
    Binding,
    /// Its state is none.
    #[error("its state is not one of not_applied, applied, partial, unknown")]
    State,
    /// Its time is none, or has no offset.
    #[error("its time is no time with an offset")]
    Time,
    /// Its effect ids don't fit its state.
    #[error("its effect ids do not fit its state")]
    Ids,
    /// Its stored result doesn't fit its state and its effect.
    #[error("its stored result does not fit its state and effect")]
    Result,
}

/// What an observation settles, once it was accepted.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Accepted {
    state: Observed,
    effect: Option<(u64, Box<str>)>,
}

impl Consumer {
    /// A caller whose reply to `attempt` was lost.
    pub fn lost(attempt: Identity, scope: Scope) -> Self {
        Self { attempt, scope }
    }

    /// What to do before anything was observed.
    pub fn action(&self) -> Action {
        Action::Reconcile
    }

    /// What to do on an observation. There is no cutoff for its age: a terminal row doesn't change.
    pub fn observe(&self, observation: &Observation) -> Action {
        match self.accept(observation) {
            Err(rejected) => Action::Stop(Stop::Refused(rejected)),
            Ok(Accepted { state: Observed::Applied, effect: Some((effect, result)) }) => {
                Action::ReturnStoredResult { effect, result }
            }
            Ok(Accepted { state: Observed::Partial, .. }) => Action::Stop(Stop::Partial),
            Ok(Accepted { state: Observed::NotApplied, .. }) => Action::Stop(Stop::NotApplied),
            Ok(Accepted { state: Observed::Unknown | Observed::Applied, .. }) => Action::Stop(Stop::Unknown),
        }
    }

    /// Holds an observation against the rules, in their order.
    fn accept(&self, seen: &Observation) -> Result<Accepted, Rejected> {
        let is_attempt = |parts: [&Option<Box<str>>; 3]| {
            let attempt = [&self.attempt.operation, &self.attempt.principal, &self.attempt.backend];
            parts.into_iter().zip(attempt).all(|(part, wanted)| part.as_ref() == Some(wanted))
        };
        if !is_attempt([&seen.operation, &seen.principal, &seen.backend]) {
            return Err(Rejected::Identity);
        }
        if seen.authoritative != Some(true) {
            return Err(Rejected::NotAuthoritative);
        }
        if seen.fresh_write_authorized != Some(false) {
            return Err(Rejected::FreshWrite);
        }
        if seen.scope.as_ref().is_none_or(|scope| scope.trim().is_empty()) {
            return Err(Rejected::Scope);
        }
        let is_bound = match &seen.binding {
            Some(bound) => is_attempt([&bound.operation, &bound.principal, &bound.backend]),
            None => self.scope == Scope::Text,
        };
        if !is_bound {
            return Err(Rejected::Binding);
        }
        let state = seen.state.ok_or(Rejected::State)?;
        if !seen.observed_at.as_deref().is_some_and(is_time_with_offset) {
            return Err(Rejected::Time);
        }
        let effect = effect_of(state, seen)?;
        Ok(Accepted { state, effect })
    }
}

/// The effect and the stored result, which must fit the state and each other.
fn effect_of(state: Observed, seen: &Observation) -> Result<Option<(u64, Box<str>)>, Rejected> {
    let ids = seen.ids.as_deref().ok_or(Rejected::Ids)?;
    let result = seen.result.as_ref().ok_or(Rejected::Result)?;
    let is_stored = match state {
        Observed::Applied => is_applied_result,
        Observed::Partial => is_partial_result,
        Observed::Unknown | Observed::NotApplied => {
            return match (ids, result) {
                ([], None) => Ok(None),
                ([], Some(_)) => Err(Rejected::Result),
                (_, _) => Err(Rejected::Ids),
            };
        }
    };
    let [id] = ids else { return Err(Rejected::Ids) };
    let effect = u64::try_from(*id).ok().filter(|id| *id > 0).ok_or(Rejected::Ids)?;
    let text = result.as_ref().filter(|text| is_stored(text, effect)).ok_or(Rejected::Result)?;
    Ok(Some((effect, text.clone())))
}

/// Whether a text is what an applied operation stores for its effect.
pub fn is_applied_result(text: &str, effect: u64) -> bool {
    text == format!("created {effect}") || text == format!("created {effect} with watcher")
}

/// Whether a text is what an operation stores whose later step failed.
pub fn is_partial_result(text: &str, effect: u64) -> bool {
    ["failed", "succeeded"].iter().any(|end| text == format!("partial {effect}; watcher failed; rollback {end}"))
}

/// Whether a text is a time of the calendar that says how far it is from UTC: `2026-09-22T00:00:00.123+00:00`.
fn is_time_with_offset(text: &str) -> bool {
    let Some((second, rest)) = text.split_at_checked("2026-09-22T00:00:00".len()) else { return false };
    if format!("{second}Z").parse::<Timestamp>().is_err() {
        return false;
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let offset = match rest.strip_prefix('.') {
        None => rest,
        Some(fraction) => match fraction.find(|c: char| !c.is_ascii_digit()) {
            Some(end) if end > 0 => fraction.get(end..).unwrap_or_default(),
            Some(_) | None => return false,
        },
    };
    let below = |text: &str, end: u32| text.len() == 2 && digits(text) && text.parse::<u32>().is_ok_and(|n| n < end);
    match offset.strip_prefix(['+', '-']).map(|offset| offset.split_once(':')) {
        None => offset == "Z",
        Some(Some((hours, minutes))) => below(hours, 24) && below(minutes, 60),
        Some(None) => false,
    }
}

#[cfg(test)]
mod tests {
    use proptest::option;
    use proptest::prelude::*;

    use super::super::call::ScopeBinding;
    use super::*;

    fn identity() -> Identity {
        Identity { operation: "op-1".into(), principal: "alice".into(), backend: "sqlite:a".into() }
    }

    fn applied() -> Observation {
        Observation {
            operation: Some("op-1".into()),
            principal: Some("alice".into()),
            backend: Some("sqlite:a".into()),
            state: Some(Observed::Applied),
            authoritative: Some(true),
            fresh_write_authorized: Some(false),
            ids: Some(vec![7]),
            result: Some(Some("created 7".into())),
            scope: Some("operation_id='op-1'".into()),
            binding: None,
            observed_at: Some("2026-09-22T00:00:00+00:00".into()),
        }
    }

    fn none(state: Observed) -> Observation {
        Observation { state: Some(state), ids: Some(Vec::new()), result: Some(None), ..applied() }
    }

    fn seen(observation: &Observation) -> Action {
        Consumer::lost(identity(), Scope::Text).observe(observation)
    }

    fn refused(rejected: Rejected) -> Action {
        Action::Stop(Stop::Refused(rejected))
    }

    #[test]
    fn a_lost_reply_asks_for_the_status_and_nothing_else() {
        assert_eq!(Consumer::lost(identity(), Scope::Text).action(), Action::Reconcile);
        let stored = |result: &str| Action::ReturnStoredResult { effect: 7, result: result.into() };
        assert_eq!(seen(&applied()), stored("created 7"));
        let watched = Observation { result: Some(Some("created 7 with watcher".into())), ..applied() };
        assert_eq!(seen(&watched), stored("created 7 with watcher"));
        for end in ["failed", "succeeded"] {
            let result = Some(Some(format!("partial 7; watcher failed; rollback {end}").into()));
            assert_eq!(
                seen(&Observation { state: Some(Observed::Partial), result, ..applied() }),
                Action::Stop(Stop::Partial)
            );
        }
        assert_eq!(seen(&none(Observed::Unknown)), Action::Stop(Stop::Unknown));
        assert_eq!(seen(&none(Observed::NotApplied)), Action::Stop(Stop::NotApplied));
    }

    #[test]
    fn each_rule_refuses_alone() {
        let base = applied;
        let text = |text: &str| Some(Some(text.into()));
        for (observation, rejected) in [
            (Observation { operation: Some("op-2".into()), ..base() }, Rejected::Identity),
            (Observation { principal: Some("bob".into()), ..base() }, Rejected::Identity),
            (Observation { backend: None, ..base() }, Rejected::Identity),
            (Observation { authoritative: Some(false), ..base() }, Rejected::NotAuthoritative),
            (Observation { authoritative: None, ..base() }, Rejected::NotAuthoritative),
            (Observation { fresh_write_authorized: Some(true), ..base() }, Rejected::FreshWrite),
            (Observation { fresh_write_authorized: None, ..base() }, Rejected::FreshWrite),
            (Observation { scope: Some(" ".into()), ..base() }, Rejected::Scope),
            (Observation { scope: None, ..base() }, Rejected::Scope),
            (Observation { state: None, ..base() }, Rejected::State),
            (Observation { observed_at: None, ..base() }, Rejected::Time),
            (Observation { observed_at: Some("2026-09-22T00:00:00".into()), ..base() }, Rejected::Time),
            (Observation { ids: None, ..base() }, Rejected::Ids),
            (Observation { ids: Some(vec![]), ..base() }, Rejected::Ids),
            (Observation { ids: Some(vec![7, 8]), ..base() }, Rejected::Ids),
            (Observation { ids: Some(vec![7, 7]), ..base() }, Rejected::Ids),
            (Observation { ids: Some(vec![0]), result: text("created 0"), ..base() }, Rejected::Ids),
            (Observation { ids: Some(vec![-7]), result: text("created -7"), ..base() }, Rejected::Ids),
            (Observation { result: None, ..base() }, Rejected::Result),
            (Observation { result: Some(None), ..base() }, Rejected::Result),
            (Observation { result: text("created 8"), ..base() }, Rejected::Result),
            (Observation { result: text("created 07"), ..base() }, Rejected::Result),
            (Observation { result: text("created 7 "), ..base() }, Rejected::Result),
            (Observation { result: text("partial 7; watcher failed; rollback failed"), ..base() }, Rejected::Result),
            (Observation { state: Some(Observed::Partial), ..base() }, Rejected::Result),
            (Observation { ids: Some(vec![7]), ..none(Observed::Unknown) }, Rejected::Ids),
            (Observation { result: text("created 7"), ..none(Observed::Unknown) }, Rejected::Result),
            (Observation { result: None, ..none(Observed::NotApplied) }, Rejected::Result),
        ] {
            assert_eq!(seen(&observation), refused(rejected), "{observation:?}");
        }
    }

    #[test]
    fn a_structured_scope_is_the_identity_where_there_is_one() {
        let bound = |principal: &str| {
            let binding = ScopeBinding {
                operation: Some("op-1".into()),
                principal: Some(principal.into()),
                backend: Some("sqlite:a".into()),
            };
            Observation { binding: Some(binding), ..applied() }
        };
        let structured = Consumer::lost(identity(), Scope::Structured);
        assert_eq!(structured.observe(&bound("alice")), seen(&applied()));
        assert_eq!(structured.observe(&bound("bob")), refused(Rejected::Binding));
        assert_eq!(structured.observe(&applied()), refused(Rejected::Binding));
        assert_eq!(seen(&bound("bob")), refused(Rejected::Binding));
    }

    #[test]
    fn a_time_has_an_offset() {
        for good in ["2026-09-22T00:00:00Z", "2026-09-22T00:00:00.5-11:30", "2024-02-29T23:59:59.123456+00:00"] {
            assert!(is_time_with_offset(good), "{good}");
        }
        for bad in [
            "",
            "2026-09-22",
            "2026-09-22T00:00:00",
            "2026-09-22T00:00:00.Z",
            "2026-09-22T00:00:00.5",
            "2026-09-22T00:00:00+24:00",
            "2026-09-22T00:00:00+00:60",
            "2026-09-22T00:00:00+0000",
            "2026-09-22T00:00:00z",
            "2026-02-29T00:00:00Z",
            "2026-09-22T00:00:00Z ",
            "2026-09-22T00:00:0é+00:00",
        ] {
            assert!(!is_time_with_offset(bad), "{bad}");
        }
    }

    fn word(right: &'static str) -> impl Strategy<Value = Option<Box<str>>> {
        option::weighted(0.9, prop_oneof![9 => Just(right.to_owned()), 1 => ".{0,12}"])
            .prop_map(|text| text.map(String::into_boxed_str))
    }

    prop_compose! {
        /// Mostly right, so that each rule is what a case hangs on.
        fn any_observation()(
            names in (word("op-1"), word("alice"), word("sqlite:a"), word("a scope")),
            state in option::weighted(0.95, prop_oneof![
                Just(Observed::Applied), Just(Observed::Partial), Just(Observed::Unknown), Just(Observed::NotApplied)
            ]),
            authoritative in option::weighted(0.95, proptest::bool::weighted(0.9)),
            fresh in option::weighted(0.95, proptest::bool::weighted(0.1)),
            ids in option::weighted(0.95, proptest::collection::vec(-1_i64..3, 0..3)),
            result in option::weighted(0.95, option::weighted(0.7, prop_oneof![
                Just("created 1"), Just("created 2 with watcher"), Just("partial 1; watcher failed; rollback failed"),
                Just("write again"),
            ])),
            binding in option::weighted(0.3, (word("op-1"), word("alice"), word("sqlite:a"))),
            observed_at in word("2026-09-22T00:00:00Z"),
        ) -> Observation {
            let (operation, principal, backend, scope) = names;
            let binding = binding.map(|(operation, principal, backend)| ScopeBinding { operation, principal, backend });
            let result = result.map(|text| text.map(Box::from));
            Observation {
                operation, principal, backend, state, authoritative, fresh_write_authorized: fresh, ids, result, scope,
                binding, observed_at,
            }
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(4096))]

        /// Whatever is observed, what comes out is no write, and a result only where every rule holds.
        #[test]
        fn no_observation_authorizes_a_write(observation in any_observation(), structured: bool) {
            let scope = if structured { Scope::Structured } else { Scope::Text };
            // Exhaustive: another action would not compile here, and none of these is a write.
            let returned = match Consumer::lost(identity(), scope).observe(&observation) {
                Action::Reconcile => return Err(TestCaseError::fail("an observation was not looked at")),
                Action::Stop(Stop::Partial | Stop::Unknown | Stop::NotApplied | Stop::Refused(_)) => None,
                Action::ReturnStoredResult { effect, result } => Some((effect, result)),
            };
            if let Some((effect, result)) = returned {
                let binding = observation.binding.clone().map(|b| (b.operation, b.principal, b.backend));
                let names = (observation.operation, observation.principal, observation.backend);
                prop_assert_eq!(&names, &(Some("op-1".into()), Some("alice".into()), Some("sqlite:a".into())));
                prop_assert!(binding.as_ref() == Some(&names) || (binding.is_none() && !structured));
                prop_assert_eq!(observation.state, Some(Observed::Applied));
                prop_assert_eq!(observation.authoritative, Some(true));
                prop_assert_eq!(observation.fresh_write_authorized, Some(false));
                prop_assert_eq!(observation.ids, Some(vec![i64::try_from(effect).unwrap()]));
                prop_assert_eq!(observation.result, Some(Some(result.clone())));
                let start = format!("created {effect}");
                prop_assert!(result.starts_with(&start));
            }
        }
    }
}
