//! Tokens of callers, verified, for what they say of their caller's language and time zone.
//!
//! 1. A token is looked at only where `[auth]` is configured and the request has one `Authorization` line with
//!    `Bearer` and a JWT of at most [`MAX_TOKEN_BYTES`]. Opaque and encrypted tokens say nothing.
//! 2. The signature must be made by a key of the issuer's JWKS, with an algorithm of public keys (RSA, ECDSA, Ed25519)
//!    that fits the key. `none` and shared secrets are refused whatever the JWKS holds, so that nobody can sign with a
//!    public key. Keys and addresses of keys in the token itself (`jwk`, `jku`, `x5c`, `x5u`) are not looked at, and a token
//!    with `crit` is refused, because nothing that could be named there is understood (RFC 7515, 4.1.11).
//! 3. `iss` and `aud` must be there and match, `exp` must be there, and neither it nor `nbf` may be off by more than
//!    [`CLOCK_LEEWAY_SECONDS`].
//! 4. Of a token that passes, `locale` and `zoneinfo` are handed to the rules as data. A claim of the wrong type counts as
//!    absent. Of any other token nothing is used, and the request goes on as if it had none: whether it may is decided by
//!    the upstream, which gets the token as it came.
//! 5. Keys are fetched and kept by [`Jwks`]; its module has the rules.
//!
//! Why a token counts for nothing is in the debug log and in `attune_tokens_total`. Neither has anything of the token.
//!
//! Rules: A1, A7.

mod algorithm;
mod keys;

mod jwks;

use std::collections::HashSet;
use std::fmt;

use http::HeaderMap;
use http::header::AUTHORIZATION;
use jsonwebtoken::{Validation, decode, decode_header};
use mcp_attune::assume::VerifiedClaims;
use serde::{Deserialize, Deserializer};

use crate::config::AuthConfig;
use crate::upstream::UpstreamSetupError;
use jwks::Jwks;
use keys::SigningKey;

/// The longest token that is looked at, in bytes.
const MAX_TOKEN_BYTES: usize = 16 * 1024;
/// By how many seconds the clock of the issuer may differ from ours.
const CLOCK_LEEWAY_SECONDS: u64 = 60;

/// Verifies the tokens of one issuer for one mount.
pub(crate) struct TokenVerifier {
    /// What a token must say, without the algorithms, which depend on its key.
    expected: Validation,
    jwks: Jwks,
}

impl TokenVerifier {
    /// Makes a verifier. Its keys are fetched when the first token comes.
    ///
    /// # Errors
    ///
    /// [`UpstreamSetupError`], where the URL of the keys cannot be used.
    pub(crate) fn new(config: &AuthConfig) -> Result<Self, UpstreamSetupError> {
        algorithm::install();
        let mut expected = Validation {
            algorithms: Vec::new(),
            leeway: CLOCK_LEEWAY_SECONDS,
            validate_nbf: true,
            required_spec_claims: HashSet::from(["exp", "iss", "aud"].map(str::to_owned)),
            ..Validation::default()
        };
        expected.set_issuer(&[&config.issuer]);
        expected.set_audience(&config.audience);
        Ok(Self { expected, jwks: Jwks::new(&config.jwks)? })
    }

    /// Verifies the token of a request and returns what it says of its caller, or why it says nothing.
    ///
    /// Waits only where no key is known for the token and the issuer may be asked: see [`Jwks::find`].
    pub(crate) async fn verify(&self, headers: &HeaderMap) -> TokenOutcome {
        let Some(token) = bearer_token(headers) else { return TokenOutcome::NoToken };
        match self.read(token).await {
            Ok(claims) => TokenOutcome::Verified(claims),
            Err(why) => {
                tracing::debug!(%why, "the token of a request says nothing of its caller");
                TokenOutcome::Refused(why)
            }
        }
    }

    async fn read(&self, token: &str) -> Result<VerifiedClaims, TokenRefusal> {
        let header = decode_header(token).map_err(|_| TokenRefusal::Malformed)?;
        if !algorithm::is_asymmetric(header.alg) {
            return Err(TokenRefusal::Algorithm);
        }
        if header.crit.is_some() {
            return Err(TokenRefusal::Critical);
        }
        let found = self.jwks.find(|key| key.fits(header.kid.as_deref(), header.alg)).await;
        let keys = found.ok_or(TokenRefusal::NoKeys)?;
        // Where a token names no key, each that fits is tried; there are few.
        let mut refusal = TokenRefusal::UnknownKey;
        for key in keys.iter().filter(|key| key.fits(header.kid.as_deref(), header.alg)) {
            match self.verify_with(token, header.alg, key) {
                Err(why @ (TokenRefusal::Signature | TokenRefusal::Algorithm)) => refusal = why,
                decided => return decided,
            }
        }
        Err(refusal)
    }

    fn verify_with(
        &self,
        token: &str,
        algorithm: jsonwebtoken::Algorithm,
        key: &SigningKey,
    ) -> Result<VerifiedClaims, TokenRefusal> {
        let validation = Validation { algorithms: vec![algorithm], ..self.expected.clone() };
        let token = decode::<CallerClaims>(token, key.public(), &validation);
        let CallerClaims { locale, zoneinfo } = token.map_err(|error| TokenRefusal::of(error.kind()))?.claims;
        Ok(VerifiedClaims { locale, zoneinfo })
    }
}

impl fmt::Debug for TokenVerifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TokenVerifier").field("jwks", &self.jwks).finish_non_exhaustive()
    }
}

/// What became of the token of a request.
#[derive(PartialEq, Eq, Debug)]
pub(crate) enum TokenOutcome {
    /// The request has no JWT.
    NoToken,
    /// The token is the issuer's, for us, and holds now.
    Verified(VerifiedClaims),
    /// The token counts for nothing.
    Refused(TokenRefusal),
}

impl TokenOutcome {
    /// Returns its name in metrics; `None` where there was no token to count.
    pub(crate) fn label(&self) -> Option<&'static str> {
        match self {
            Self::NoToken => None,
            Self::Verified(_) => Some("verified"),
            Self::Refused(why) => Some(why.label()),
        }
    }
}

/// Why a token counts for nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum TokenRefusal {
    /// Its header or its claims cannot be read, or one that is needed is missing.
    Malformed,
    /// It is signed with a shared secret, with nothing, or in a way that its key is not for.
    Algorithm,
    /// Its header demands something that is not understood here (`crit`).
    Critical,
    /// The keys of the issuer could not be had.
    NoKeys,
    /// The issuer has no such key.
    UnknownKey,
    /// The signature is wrong.
    Signature,
    /// It was issued by somebody else.
    Issuer,
    /// It is for somebody else.
    Audience,
    /// It is not valid any more, or not yet.
    Time,
}

impl TokenRefusal {
    fn of(kind: &jsonwebtoken::errors::ErrorKind) -> Self {
        use jsonwebtoken::errors::ErrorKind;
        match kind {
            ErrorKind::InvalidSignature => Self::Signature,
            ErrorKind::InvalidIssuer => Self::Issuer,
            ErrorKind::InvalidAudience => Self::Audience,
            ErrorKind::ExpiredSignature | ErrorKind::ImmatureSignature => Self::Time,
            ErrorKind::InvalidAlgorithm | ErrorKind::UnsupportedAlgorithm => Self::Algorithm,
            _ => Self::Malformed,
        }
    }

    /// Its name in metrics.
    fn label(self) -> &'static str {
        match self {
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::Critical => "critical",
            Self::NoKeys => "no-keys",
            Self::UnknownKey => "unknown-key",
            Self::Signature => "signature",
            Self::Issuer => "issuer",
            Self::Audience => "audience",
            Self::Time => "time",
        }
    }
}

impl fmt::Display for TokenRefusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Malformed => "it is no JWT with exp, iss and aud",
            Self::Algorithm => "it is not signed with a public-key algorithm that fits its key",
            Self::Critical => {
                "its header has `crit`, which demands something that Attune does not understand"
            }
            Self::NoKeys => "the keys of its issuer cannot be had",
            Self::UnknownKey => "its issuer has no such key",
            Self::Signature => "its signature is wrong",
            Self::Issuer => "it is of another issuer than [auth] issuer",
            Self::Audience => "it is for another audience than [auth] audience",
            Self::Time => "it is expired, or not valid yet",
        })
    }
}

/// The claims that say something of a caller. Whatever is no string counts as absent.
#[derive(Deserialize)]
struct CallerClaims {
    #[serde(default, deserialize_with = "string_or_nothing")]
    locale: Option<String>,
    #[serde(default, deserialize_with = "string_or_nothing")]
    zoneinfo: Option<String>,
}

fn string_or_nothing<'de, D: Deserializer<'de>>(value: D) -> Result<Option<String>, D::Error> {
    let value = serde_json::Value::deserialize(value)?;
    Ok(value.as_str().map(str::to_owned))
}

/// Returns the JWT of a request: the one `Authorization` line with the scheme `Bearer`. `None` for a token that is too
/// long or has not the three parts of a signed JWT.
fn bearer_token(headers: &HeaderMap) -> Option<&str> {
    let mut lines = headers.get_all(AUTHORIZATION).into_iter();
    let (Some(line), None) = (lines.next(), lines.next()) else { return None };
    let (scheme, token) = line.to_str().ok()?.split_once(' ')?;
    let token = token.trim();
    let is_jwt = token.len() <= MAX_TOKEN_BYTES && token.bytes().filter(|byte| *byte == b'.').count() == 2;
    (scheme.eq_ignore_ascii_case("Bearer") && is_jwt).then_some(token)
}
