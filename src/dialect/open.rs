//! Owns opening a token of the continuation state with its key, by the schemes of the two SDKs.
//!
//! Refuses what the SDK's own check would refuse: another form, another key, one altered bit. Invariant: text that comes
//! out was sealed under the key; deadlines and bindings within it are for others to judge.

use aes_gcm::Aes256Gcm;
use aes_gcm::aead::{self, Aead, Nonce, Payload};
use base64::Engine as _;
use base64::alphabet::URL_SAFE;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest as _, Sha256};

use super::document::Scheme;
use crate::ledger::fingerprint::Key;

/// What tokens of both schemes start with.
const PREFIX: &str = "v1.";
/// What the Python SDK derives its cipher's key for.
const DERIVED_FOR: &[u8] = b"mcp/request-state/v1/aes-256-gcm";
/// What stands before the derived key where it is hashed to its mark.
const MARKED_FOR: &[u8] = b"mcp/request-state/v1/kid:";
/// Bytes of a key's mark.
const MARK: usize = 4;
/// Bytes of a nonce.
const NONCE: usize = 12;
/// Bytes of AES-GCM's tag.
const TAG: usize = 16;

/// As `atob` reads: what a last digit has too much doesn't count.
const LOOSE: GeneralPurpose = GeneralPurpose::new(
    &URL_SAFE,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Why a token doesn't open.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, thiserror::Error)]
pub enum Unopened {
    /// It hasn't the form of a token.
    #[error("it is no token: it is cut off or of another form")]
    Form,
    /// It bears the mark of another key.
    #[error("it bears the mark of another key")]
    OtherKey,
    /// Its seal doesn't fit.
    #[error("its seal doesn't fit: it was altered, or sealed under another key")]
    Seal,
    /// It opens, and what is within is no state of the dialect.
    #[error("it opens, and what is within is no state of this dialect")]
    Content,
}

/// A key with what it opens.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Opener {
    PythonAesGcm { derived: Key, mark: [u8; MARK] },
    TypescriptHmac { key: Key },
}

impl Opener {
    /// None where the key can't be used, which no key of this length is.
    pub(super) fn new(scheme: Scheme, key: &Key) -> Option<Self> {
        match scheme {
            Scheme::TypescriptHmac => Some(Self::TypescriptHmac { key: key.clone() }),
            Scheme::PythonAesGcm => {
                // HKDF (RFC 5869) with no salt, to one block of output.
                let extracted = mac(&[0; 32], &[key.bytes()])?.finalize().into_bytes();
                let derived = mac(&extracted, &[DERIVED_FOR, &[1]])?.finalize().into_bytes();
                let mark = Sha256::new().chain_update(MARKED_FOR).chain_update(derived).finalize();
                let mark = *mark.first_chunk()?;
                Some(Self::PythonAesGcm { derived: Key::new(&derived).ok()?, mark })
            }
        }
    }

    /// The JSON text within a token.
    ///
    /// # Errors
    /// Why it doesn't open.
    pub(super) fn open(&self, token: &str) -> Result<String, Unopened> {
        let rest = token.strip_prefix(PREFIX).ok_or(Unopened::Form)?;
        let text = match self {
            Self::PythonAesGcm { derived, mark } => {
                let raw = URL_SAFE_NO_PAD.decode(rest).map_err(|_| Unopened::Form)?;
                decrypted(&raw, derived, *mark)?
            }
            Self::TypescriptHmac { key } => {
                let (body, seal) = rest.rsplit_once('.').ok_or(Unopened::Form)?;
                let signed = token.get(..PREFIX.len().saturating_add(body.len())).ok_or(Unopened::Form)?;
                let seal = loose(seal).ok_or(Unopened::Form)?;
                let mac = mac(key.bytes(), &[signed.as_bytes()]).ok_or(Unopened::Seal)?;
                mac.verify_slice(&seal).map_err(|_| Unopened::Seal)?;
                loose(body).ok_or(Unopened::Content)?
            }
        };
        String::from_utf8(text).map_err(|_| Unopened::Content)
    }
}

fn decrypted(raw: &[u8], derived: &Key, mark: [u8; MARK]) -> Result<Vec<u8>, Unopened> {
    let (given, rest) = raw.split_first_chunk::<MARK>().ok_or(Unopened::Form)?;
    let (nonce, sealed) = rest.split_first_chunk::<NONCE>().ok_or(Unopened::Form)?;
    if sealed.len() < TAG {
        return Err(Unopened::Form);
    }
    if *given != mark {
        return Err(Unopened::OtherKey);
    }
    let cipher = Aes256Gcm::new_from_slice(derived.bytes()).map_err(|_| Unopened::OtherKey)?;
    let aad = [PREFIX.as_bytes(), &mark].concat();
    let nonce: Nonce<Aes256Gcm> = (*nonce).into();
    cipher.decrypt(&nonce, Payload { msg: sealed, aad: &aad }).map_err(|_: aead::Error| Unopened::Seal)
}

fn mac(key: &[u8], parts: &[&[u8]]) -> Option<Hmac<Sha256>> {
    let mut mac = <Hmac<Sha256> as KeyInit>::new_from_slice(key).ok()?;
    parts.iter().for_each(|part| mac.update(part));
    Some(mac)
}

/// Base64 as the TypeScript SDK reads it: of either alphabet, with or without padding, among white space.
fn loose(text: &str) -> Option<Vec<u8>> {
    let turned = text.chars().filter(|c| !matches!(c, ' ' | '\t' | '\n' | '\u{c}' | '\r')).map(|c| match c {
        '+' => '-',
        '/' => '_',
        other => other,
    });
    LOOSE.decode(turned.collect::<String>()).ok()
}
