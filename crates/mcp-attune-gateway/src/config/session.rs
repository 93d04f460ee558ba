//! `[session]`: the keys that seal the ids of legacy sessions and of their streams and tasks.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::findings::ConfigProblem;
use super::reader::ConfigTableReader;

/// `[session]`: the keys that seal ids. An id carries what the gateway has to know of a session, so that no
/// replica has to remember it; sealing encrypts and signs that, so that a caller can neither read nor forge
/// it.
///
/// To change a key without ending sessions, add the new one at the end on every replica, then move it to the
/// front on every replica, and remove the old one when its sessions are over.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SessionConfig {
    /// The first key seals, all of them open. Replicas that serve the same callers need the same keys. If it
    /// is empty, one key is made at the start, and what it sealed ends with the process.
    pub keys: Vec<SessionSealKey>,
}

/// A key of 32 bytes, which is never printed: `Debug` does not show it, and no finding quotes it.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSealKey([u8; 32]);

impl SessionSealKey {
    /// Returns the key itself.
    #[must_use]
    pub fn expose(&self) -> &[u8; 32] {
        &self.0
    }
}

impl fmt::Debug for SessionSealKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

impl SessionConfig {
    /// Reads the table. A list of keys that is there and empty is a finding.
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, _base: &Self) -> Self {
        let keys = reader.optional_list("keys", key);
        if reader.is_empty("keys") {
            let hint = "add a key, or leave `keys` out: then one is made at the start";
            reader.report("keys", ConfigProblem::new("is empty", hint));
        }
        Self { keys: keys.unwrap_or_default() }
    }
}

/// Parses 32 bytes in base64, in the standard or the URL-safe alphabet, with padding or without.
fn key(text: &str) -> Result<SessionSealKey, ConfigProblem> {
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent);
    let mut bytes = [0; 48];
    let decoded = [alphabet::STANDARD, alphabet::URL_SAFE]
        .iter()
        .find_map(|alphabet| GeneralPurpose::new(alphabet, config).decode_slice(text, &mut bytes).ok());
    let key = decoded
        .and_then(|length| bytes.get(..length))
        .and_then(|bytes| bytes.try_into().ok())
        .map(SessionSealKey);
    key.ok_or_else(|| {
        ConfigProblem::new("is not base64 of 32 bytes", "make one with `openssl rand -base64 32`")
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=";

    #[test]
    fn reads_keys_in_either_alphabet_with_padding_or_without() {
        let expected = key(KEY).unwrap();
        assert_eq!(expected.expose()[..3], [0, 1, 2]);
        assert_eq!(expected.expose()[31], 0xff);
        assert_eq!(key(KEY.trim_end_matches('=')).unwrap(), expected);
        assert_eq!(key(&KEY.replace('/', "_")).unwrap(), expected);
    }

    #[test]
    fn refuses_what_is_no_key() {
        for text in
            ["", "base64…", &KEY[1..], &KEY[4..], &format!("AAAA{KEY}"), &"A".repeat(9999), "A A=", "\n"]
        {
            assert_eq!(key(text).unwrap_err().what, "is not base64 of 32 bytes", "{text}");
        }
    }

    #[test]
    fn a_key_is_never_printed() {
        let session = SessionConfig { keys: vec![key(KEY).unwrap()] };
        assert_eq!(format!("{session:?}"), "SessionConfig { keys: [Key(…)] }");
    }
}
