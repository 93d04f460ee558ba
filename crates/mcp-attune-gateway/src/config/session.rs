//! `[session]`: the keys that seal session ids.

use std::fmt;

use base64::Engine as _;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::findings::ConfigProblem;
use super::reader::ConfigTableReader;

/// The keys that seal session ids.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
#[non_exhaustive]
pub struct SessionConfig {
    /// The first seals, all open. Empty: one is made at the start, and sessions end with the process.
    pub keys: Vec<SessionSealKey>,
}

/// A key of 32 bytes, which is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct SessionSealKey([u8; 32]);

impl SessionSealKey {
    /// The key itself.
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
    pub(super) fn read(reader: &mut ConfigTableReader<'_, '_, '_>, _base: &Self) -> Self {
        let keys = reader.optional_list("keys", key);
        if reader.is_empty("keys") {
            let hint = "add a key, or leave `keys` out: then one is made at the start";
            reader.report("keys", ConfigProblem::new("is empty", hint));
        }
        Self { keys: keys.unwrap_or_default() }
    }
}

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
        assert_eq!(format!("{session:?}"), "Session { keys: [Key(…)] }");
    }
}
