//! Owns keys that a study discloses: opening states with one, recomputing stored fingerprints with the other.
//!
//! Refuses a key that opens nothing: it is another's. Invariant: a key is read from its file, used, and never shown.

use std::path::Path;

use super::super::verify::document;
use crate::dialect::Dialect;
use crate::error::Error;
use crate::finding::{Finding, Place};
use crate::history::Built;
use crate::ledger::fingerprint::Key;
use crate::limits::Limits;
use crate::name::escape;

/// The keys that were given.
#[derive(Debug, Clone, Default)]
pub struct Keys {
    /// The key of states.
    pub state: Option<Key>,
    /// The key of fingerprints.
    pub fingerprint: Option<Key>,
}

impl Keys {
    /// Reads keys: files of hexadecimal digits, or of the very bytes.
    ///
    /// # Errors
    /// What can't be read, and keys that are too short.
    pub fn read(state: Option<&Path>, fingerprint: Option<&Path>, limits: &Limits) -> Result<Self, Error> {
        let one = |path: Option<&Path>| path.map(|path| read(path, limits)).transpose();
        Ok(Self { state: one(state)?, fingerprint: one(fingerprint)? })
    }

    /// A dialect that uses them.
    pub(super) fn with(&self, dialect: Dialect) -> Result<Dialect, Error> {
        let dialect = match &self.state {
            Some(key) => dialect.with_state_key(key).map_err(|why| Error::Usage(format!("--state-key: {why}")))?,
            None => dialect,
        };
        Ok(match &self.fingerprint {
            Some(key) => dialect.with_fingerprint_key(key),
            None => dialect,
        })
    }
}

fn read(path: &Path, limits: &Limits) -> Result<Key, Error> {
    let bytes = document(path, limits)?;
    let text = std::str::from_utf8(&bytes).map(str::trim_end).unwrap_or_default();
    let pairs = text.as_bytes().chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok());
    let is_hex = text.len() >= 64 && text.len().is_multiple_of(2) && text.bytes().all(|byte| byte.is_ascii_hexdigit());
    let hex: Option<Vec<u8>> = pairs.collect();
    let key = match hex.filter(|_| is_hex) {
        Some(decoded) => Key::new(&decoded),
        None => Key::new(&bytes),
    };
    key.map_err(|why| Error::Usage(format!("{}: {why}", escape(path.as_os_str().as_encoded_bytes()))))
}

/// What the keys show of a history: findings, and what stays open.
pub(super) fn compare(built: &Built, database: Option<&str>) -> Result<(Vec<Finding>, Vec<String>), Error> {
    if built.opened.is_foreign() {
        let message =
            "the key of --state-key opens none of the states in these transcripts: give the one that sealed them";
        return Err(Error::Usage(message.to_owned()));
    }
    let Some(stored) = built.stored() else { return Ok((Vec::new(), Vec::new())) };
    let place = || Place::entry(escape(database.unwrap_or_default().as_bytes()));
    let findings = stored.differences.iter().map(|difference| difference.finding(place())).collect();
    let mut open = Vec::new();
    if stored.absent > 0 {
        open.push(format!("{} rows hold no fingerprint, so that none was compared", stored.absent));
    }
    open.extend(stored.open.iter().map(|operation| {
        format!(
            "the fingerprint of operation {} can't be recomputed: its state or request is not there",
            escape(operation.as_bytes())
        )
    }));
    Ok((findings, open))
}
