//! The public keys of an issuer, as its JWKS document has them.
//!
//! 1. Each key is read by itself: one that cannot be used (a shared secret, an unknown curve, a key for encryption) is left
//!    out, and the others count. The curve of a key decides its algorithm.
//! 2. At most [`MAX_KEYS`] keys count, so that a token without a key id is not tried against thousands.
//!
//! Rules: A7.

use jsonwebtoken::jwk::{AlgorithmParameters, EllipticCurve, Jwk, KeyAlgorithm, KeyOperations, PublicKeyUse};
use jsonwebtoken::{Algorithm, DecodingKey};
use serde::Deserialize;
use serde_json::value::RawValue;

/// How many keys of one issuer count.
const MAX_KEYS: usize = 32;

/// A public key that verifies signatures.
pub(super) struct SigningKey {
    id: Option<String>,
    /// The only algorithm that the key is for, where its curve or its issuer says so.
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
        if !is_for_signatures(&jwk) {
            return None;
        }
        let named = match jwk.common.key_algorithm {
            None => None,
            Some(KeyAlgorithm::UNKNOWN_ALGORITHM) => return None,
            Some(named) => Some(named.to_string().parse().ok()?),
        };
        let algorithm = match &jwk.algorithm {
            AlgorithmParameters::RSA(_) => named,
            AlgorithmParameters::EllipticCurve(params) => Some(algorithm_of(&params.curve)?),
            AlgorithmParameters::OctetKeyPair(params) => Some(algorithm_of(&params.curve)?),
            // A shared secret, or something newer.
            _ => return None,
        };
        if named.is_some() && named != algorithm {
            return None;
        }
        let public = DecodingKey::from_jwk(&jwk).ok()?;
        let is_of_its_kind = algorithm.is_none_or(|named| named.family() == public.family());
        is_of_its_kind.then_some(Self { id: jwk.common.key_id, algorithm, public })
    }
}

/// Returns whether the issuer lets a key verify signatures (RFC 7517, 4.2 and 4.3).
fn is_for_signatures(jwk: &Jwk) -> bool {
    let common = &jwk.common;
    common.public_key_use.as_ref().is_none_or(|is_for| *is_for == PublicKeyUse::Signature)
        && common.key_operations.as_ref().is_none_or(|all| all.contains(&KeyOperations::Verify))
}

/// Returns the one algorithm that signs with a curve; `None` for a curve that cannot be verified here.
fn algorithm_of(curve: &EllipticCurve) -> Option<Algorithm> {
    match curve {
        EllipticCurve::P256 => Some(Algorithm::ES256),
        EllipticCurve::P384 => Some(Algorithm::ES384),
        EllipticCurve::Ed25519 => Some(Algorithm::EdDSA),
        _ => None,
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
            okp(r#","kid":"g","alg":"ES256""#),
            okp(r#","kid":"h","key_ops":["encrypt"]"#),
            okp(r#","kid":"i","key_ops":["verify"]"#),
            r#"{"kty":"EC","crv":"P-521","kid":"j","x":"AA","y":"AA"}"#.to_owned(),
            r#"{"kty":"EC","crv":"P-384","kid":"k","x":"AA","y":"AA"}"#.to_owned(),
            r#"{"kty":"RSA","kid":"l","n":"AA","e":"AQAB"}"#.to_owned(),
            r#"{"kty":"RSA","kid":"m","alg":"PS256","n":"AA","e":"AQAB"}"#.to_owned(),
            r#"{"kty":"RSA","kid":"n","alg":"HS256","n":"AA","e":"AQAB"}"#.to_owned(),
            r#"{"kty":"RSA","kid":"o","alg":"RSA-OAEP","n":"AA","e":"AQAB"}"#.to_owned(),
            r#"{"kty":"AKP","kid":"f","pub":"AA"}"#.to_owned(),
            "7".to_owned(),
        ];
        let read = read_keys(format!(r#"{{"keys":[{}],"other":1}}"#, keys.join(",")).as_bytes()).unwrap();
        let algorithms = |key: &SigningKey| {
            let all = [Algorithm::HS256, Algorithm::RS256, Algorithm::PS256, Algorithm::ES256];
            let all = all.into_iter().chain([Algorithm::ES384, Algorithm::EdDSA]);
            let fit: Vec<_> = all.filter(|named| key.fits(key.id.as_deref(), *named)).collect();
            format!("{}: {fit:?}", key.id.as_deref().unwrap_or_default())
        };
        let fit: Vec<_> = read.iter().map(algorithms).collect();
        let expected =
            ["a: [EdDSA]", "d: [EdDSA]", "i: [EdDSA]", "k: [ES384]", "l: [RS256, PS256]", "m: [PS256]"];
        assert_eq!(fit, expected);
        let [a, ..] = read.as_slice() else { panic!("a key") };
        assert!(a.fits(None, Algorithm::EdDSA) && !a.fits(Some("b"), Algorithm::EdDSA));
        for wrong in ["", "[]", r#"{"keys":{}}"#, r#"{"jwks":[]}"#, "{\"keys\":[", "<html>"] {
            assert!(read_keys(wrong.as_bytes()).is_none(), "{wrong}");
        }
        assert!(read_keys(br#"{"keys":[]}"#).is_some_and(|keys| keys.is_empty()));
        let many = vec![okp(""); 100].join(",");
        assert_eq!(read_keys(format!(r#"{{"keys":[{many}]}}"#).as_bytes()).unwrap().len(), MAX_KEYS);
    }
}
