//! The public keys of an issuer, as its JWKS document has them.
//!
//! 1. Each key is read by itself: one that cannot be used (a shared secret, an unknown curve, a key for encryption) is left
//!    out, and the others count.
//! 2. At most [`MAX_KEYS`] keys count, so that a token without a key id is not tried against thousands.
//!
//! Rules: A7.

use jsonwebtoken::jwk::{Jwk, KeyAlgorithm, PublicKeyUse};
use jsonwebtoken::{Algorithm, AlgorithmFamily, DecodingKey};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How many keys of one issuer count.
const MAX_KEYS: usize = 32;

/// A public key that verifies signatures.
pub(super) struct SigningKey {
    id: Option<String>,
    /// The only algorithm that the key is for, where its issuer says so.
    algorithm: Option<Algorithm>,
    public: DecodingKey,
}

impl SigningKey {
    /// Returns whether the key may have signed a token that says this in its header.
    pub(super) fn fits(&self, id: Option<&str>, algorithm: Algorithm) -> bool {
        (id.is_none() || self.id.as_deref() == id)
            && self.algorithm.is_none_or(|own| own == algorithm)
            && self.public.family() == algorithm.family()
    }

    pub(super) fn public(&self) -> &DecodingKey {
        &self.public
    }

    fn read(text: &str) -> Option<Self> {
        let jwk: Jwk = serde_json::from_str(text).ok()?;
        if jwk.common.public_key_use.as_ref().is_some_and(|is_for| *is_for != PublicKeyUse::Signature) {
            return None;
        }
        let algorithm = match jwk.common.key_algorithm {
            None => None,
            Some(KeyAlgorithm::UNKNOWN_ALGORITHM) => return None,
            Some(named) => Some(named.to_string().parse().ok()?),
        };
        let public = DecodingKey::from_jwk(&jwk).ok()?;
        let is_public = public.family() != AlgorithmFamily::Hmac;
        is_public.then_some(Self { id: jwk.common.key_id, algorithm, public })
    }
}

/// The document that lists the keys.
#[derive(Deserialize)]
struct JwksDocument<'a> {
    #[serde(borrow)]
    keys: Vec<&'a RawValue>,
}

/// Reads a JWKS document. `None` if it is none; keys that cannot be used are left out.
pub(super) fn read_keys(document: &[u8]) -> Option<Vec<SigningKey>> {
    let document: JwksDocument<'_> = serde_json::from_slice(document).ok()?;
    Some(document.keys.iter().filter_map(|key| SigningKey::read(key.get())).take(MAX_KEYS).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_that_cannot_be_used_are_left_out_and_the_others_count() {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        let okp = |more: &str| format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{x}"{more}}}"#);
        let keys = [
            okp(r#","kid":"a""#),
            r#"{"kty":"oct","kid":"secret","k":"c2VjcmV0"}"#.to_owned(),
            r#"{"kty":"EC","crv":"secp256k1","kid":"b","x":"AA","y":"AA"}"#.to_owned(),
            okp(r#","kid":"c","use":"enc""#),
            okp(r#","kid":"d","alg":"EdDSA","use":"sig""#),
            okp(r#","kid":"e","alg":"ML-DSA-44""#),
            r#"{"kty":"AKP","kid":"f","pub":"AA"}"#.to_owned(),
            "7".to_owned(),
        ];
        let read = read_keys(format!(r#"{{"keys":[{}],"other":1}}"#, keys.join(",")).as_bytes()).unwrap();
        let ids: Vec<_> = read.iter().filter_map(|key| key.id.as_deref()).filter(|id| *id != "b").collect();
        assert_eq!(ids, ["a", "d"]);
        let [a, ..] = read.as_slice() else { panic!("a key") };
        assert!(a.fits(Some("a"), Algorithm::EdDSA) && a.fits(None, Algorithm::EdDSA));
        assert!(!a.fits(Some("b"), Algorithm::EdDSA) && !a.fits(Some("a"), Algorithm::RS256));
        for wrong in ["", "[]", r#"{"keys":{}}"#, r#"{"jwks":[]}"#, "{\"keys\":[", "<html>"] {
            assert!(read_keys(wrong.as_bytes()).is_none(), "{wrong}");
        }
        assert!(read_keys(br#"{"keys":[]}"#).is_some_and(|keys| keys.is_empty()));
        let many = vec![okp(""); 100].join(",");
        assert_eq!(read_keys(format!(r#"{{"keys":[{many}]}}"#).as_bytes()).unwrap().len(), MAX_KEYS);
    }
}
