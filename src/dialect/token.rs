//! Owns tokens of the continuation state: their form, and what is within those that can be read or opened.
//!
//! Refuses to guess: a token that doesn't open says nothing but that. Invariant: states are numbered in the form that
//! fingerprints bind, so that equal numbers are equal states.

use std::fmt::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::document::{BoundAs, Readable, Sealed};
use super::intern::Inside;
use super::open::{Opener, Unopened};
use super::{Dialect, Interner};
use crate::json::{Pointer, Tape, View, quote};
use crate::ledger::Timing;
use crate::ledger::fingerprint::{self, Key};

/// Nested arrays and objects within a token.
const MAX_DEPTH: usize = 64;

/// A dialect that doesn't say how its tokens are sealed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the dialect `{dialect}` doesn't say how tokens are sealed, so no key opens them: leave the state's key out")]
pub struct NotSealed {
    dialect: String,
}

/// A key that opens the tokens of a dialect, as the dialect says.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Unsealing {
    sealed: Sealed,
    opener: Opener,
}

impl Dialect {
    /// The same dialect, opening tokens with the state's key.
    ///
    /// # Errors
    /// It doesn't say how they are sealed.
    pub fn with_state_key(mut self, key: &Key) -> Result<Self, NotSealed> {
        let sealed = self.document.state.sealed.clone();
        let opener = sealed.as_ref().and_then(|sealed| Opener::new(sealed.scheme, key));
        let unsealing = sealed.zip(opener).map(|(sealed, opener)| Unsealing { sealed, opener });
        self.unsealing = Some(unsealing.ok_or_else(|| NotSealed { dialect: self.document.name.clone() })?);
        Ok(self)
    }

    /// The number of a token. What is no string is no token that a server issued, and differs from every one.
    pub(super) fn token(&self, state: View<'_>, interner: &mut Interner) -> u32 {
        match state.text() {
            Some(text) => interner.token(text, |interner| self.inside(text, interner)),
            None => {
                let mut raw = Vec::new();
                state.canonical(&mut raw);
                let number = interner.value(&raw);
                let opened = self.unsealing.is_some().then_some(Err(Unopened::Form));
                interner.token(&format!("\0{number}"), |_| Inside { opened, ..Inside::default() })
            }
        }
    }

    /// Whether a token has the form of the dialect's.
    pub(super) fn is_token(&self, text: &str) -> bool {
        let state = &self.document.state;
        let Some(rest) = text.strip_prefix(state.prefix.as_str()) else { return false };
        rest.split('.').count() == state.parts && (state.readable.is_none() || self.readable(text).is_some())
    }

    /// The JSON in a readable token.
    fn readable(&self, text: &str) -> Option<String> {
        self.document.state.readable.as_ref()?;
        let first = text.strip_prefix(self.document.state.prefix.as_str())?.split('.').next()?;
        String::from_utf8(URL_SAFE_NO_PAD.decode(first).ok()?).ok().filter(|json| json.starts_with('{'))
    }

    /// What a token says inside, where that can be read or its key is there.
    fn inside(&self, text: &str, interner: &mut Interner) -> Inside {
        let opened = self.unsealing.as_ref().map(|unsealing| unsealing.inner(text));
        let (inner, opened) = match opened {
            Some(Ok(inner)) => (Some(inner), Some(Ok(()))),
            // A token that anyone can read says the same without its seal. It counts as altered all the same.
            Some(Err(why)) => (self.read(text), Some(Err(why))),
            None => (self.read(text), None),
        };
        let (bound, timing) = inner.map_or((None, None), |inner| (Some(inner.bound), inner.timing));
        Inside { inner: bound.map(|bound| interner.value(&bound)), timing, opened }
    }

    /// The state within a token that anyone can read; none where there is none.
    fn read(&self, text: &str) -> Option<Inner> {
        let state = &self.document.state;
        let json = self.readable(text).filter(|_| self.is_token(text))?;
        match &state.sealed {
            Some(sealed) => Inner::of(&json, sealed).ok(),
            None => Inner::read(&json, state.readable.as_ref()?),
        }
    }

    /// The operation that a token was issued for, where it can be read or opened.
    pub fn operation_of(&self, token: &str) -> Option<Box<str>> {
        let inner = match &self.unsealing {
            Some(unsealing) => unsealing.inner(token).ok(),
            None => self.read(token),
        };
        inner.and_then(|inner| inner.operation)
    }

    /// Opens a token with the state's key: the state within as JSON text, in the form that a fingerprint binds. None
    /// without a key.
    ///
    /// # Errors
    /// Why it doesn't open.
    pub fn open(&self, token: &str) -> Option<Result<Vec<u8>, Unopened>> {
        Some(self.unsealing.as_ref()?.inner(token).map(|inner| inner.bound))
    }
}

impl Unsealing {
    fn inner(&self, token: &str) -> Result<Inner, Unopened> {
        self.opener.open(token).and_then(|json| Inner::of(&json, &self.sealed))
    }
}

/// The state within an opened token.
struct Inner {
    /// As fingerprints bind it: JSON in canonical form.
    bound: Vec<u8>,
    operation: Option<Box<str>>,
    timing: Option<Timing>,
}

impl Inner {
    fn of(json: &str, sealed: &Sealed) -> Result<Self, Unopened> {
        let mut tape = Tape::default();
        let outer = tape.read(json, MAX_DEPTH).map_err(|_| Unopened::Content)?;
        let inner = outer.find(&sealed.inner).ok_or(Unopened::Content)?;
        match sealed.bound_as {
            BoundAs::Value => {
                let mut bound = Vec::new();
                inner.canonical(&mut bound);
                Ok(Self::from(bound, inner, outer, sealed))
            }
            BoundAs::AsciiText => Ok(Self::from(ascii_text(inner), inner, outer, sealed)),
            BoundAs::Text => {
                let text = inner.text().ok_or(Unopened::Content)?;
                let mut bound = Vec::new();
                quote(text, &mut bound);
                let mut within = Tape::default();
                let inner = within.read(text, MAX_DEPTH).map_err(|_| Unopened::Content)?;
                Ok(Self::from(bound, inner, outer, sealed))
            }
        }
    }

    /// What a token says that anyone can read, where nothing says how it is sealed; none where it has no state within.
    fn read(json: &str, readable: &Readable) -> Option<Self> {
        let mut tape = Tape::default();
        let view = tape.read(json, MAX_DEPTH).ok()?;
        let mut bound = Vec::new();
        view.find(&readable.inner)?.canonical(&mut bound);
        let [issued, authority] = [&readable.issued_at, &readable.authority_expires_at];
        let timing = timing(view, view, [issued, authority, &readable.replay_expires_at, &readable.state_expires_at]);
        let operation = view.find(&readable.operation).and_then(View::text).map(Into::into);
        Some(Self { bound, operation, timing })
    }

    fn from(bound: Vec<u8>, inner: View<'_>, outer: View<'_>, sealed: &Sealed) -> Self {
        let [issued, authority] = [&sealed.issued_at, &sealed.authority_expires_at];
        let timing = timing(inner, outer, [issued, authority, &sealed.replay_expires_at, &sealed.state_expires_at]);
        let operation = inner.find(&sealed.operation).and_then(View::text).map(Into::into);
        Self { bound, operation, timing }
    }
}

/// JSON as a text in ASCII with sorted keys and no space, in quotes. What has no canonical form stays a value, so that no
/// fingerprint is made of it.
fn ascii_text(value: View<'_>) -> Vec<u8> {
    let mut canonical = Vec::new();
    value.canonical(&mut canonical);
    let is_canonical = fingerprint::parse(&canonical).is_ok_and(|value| fingerprint::canonical(&value).is_ok());
    let Some(text) = String::from_utf8(canonical.clone()).ok().filter(|_| is_canonical) else { return canonical };
    let mut ascii = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, ' '..='~') {
            ascii.push(c);
        } else {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string doesn't fail.
                let _ = write!(ascii, "\\u{unit:04x}");
            }
        }
    }
    let mut quoted = Vec::new();
    quote(&ascii, &mut quoted);
    quoted
}

/// The deadlines, where each is a number, absent or null, and the time of issue is whole; the last stands in what is around
/// the state. Clocks show whole seconds, so that a deadline passes as its next whole second does.
fn timing(inner: View<'_>, outer: View<'_>, pointers: [&Pointer; 4]) -> Option<Timing> {
    let [issued, authority, replay, state] = pointers;
    let deadline = |view: View<'_>, pointer| match view.find(pointer).filter(|value| !value.is_null()) {
        Some(value) => value.ceiling().map(Some),
        None => Some(None),
    };
    Some(Timing {
        issued_at: inner.find(issued).and_then(View::whole)?,
        authority_expires_at: deadline(inner, authority)?,
        replay_expires_at: deadline(inner, replay)?,
        state_expires_at: deadline(outer, state)?,
    })
}
