//! What is assumed of a caller where its request does not say it.
//!
//! 1. Each field (language, time zone, locale, place, feature tags) comes from the first source that has a valid value:
//!    the request, keys of vendors in it, what its legacy session began with, claims of a verified token, trusted headers,
//!    the profile of the client, the operator's defaults, the system.
//! 2. A source is asked for every field before the next one is. The locale of a source is its language too, so a locale in
//!    the request comes before a trusted `Accept-Language`.
//! 3. What is malformed counts as absent. So does a lone `*`, a header that comes more than once (but for languages, whose
//!    lines are one list), and a zone that contradicts the offset which the request writes its own time with.
//! 4. All that is not the request's comes in as data: the host hands in claims that it has verified and says whether the
//!    headers can be trusted. Headers of anybody else contribute nothing, and neither does an unverified token.
//! 5. Every value carries its [`CallerSource`]. Sources are told, values are not.
//! 6. Nothing here can refuse a request, and the server behind sees nothing of it but what the operator binds or forwards.
//!
//! Rules: A1–A7, C11, F4.
//!
//! ```
//! use mcp_attune::assume::{CallerAssumptions, CallerEvidence, TrustedHeaders};
//!
//! let headers = TrustedHeaders { timezone: Some("cf-timezone".into()), ..TrustedHeaders::default() };
//! let assumptions = CallerAssumptions { headers, ..CallerAssumptions::default() };
//! let lines = |name: &str| if name == "cf-timezone" { vec![&b"Asia/Kathmandu"[..]] } else { Vec::new() };
//! let trusted = CallerEvidence { trusts_headers: true, ..CallerEvidence::default() };
//! let assumed = assumptions.gather(&trusted, None, &lines);
//! assert_eq!(format!("{assumed:?}"), r#"{"timezone": Header("cf-timezone")}"#);
//! // Whoever is not trusted says nothing.
//! let assumed = assumptions.gather(&CallerEvidence::default(), None, &lines);
//! assert_eq!(format!("{assumed:?}"), "{}");
//! ```

mod source;
mod values;

mod header;
mod profile;

use std::sync::Arc;

pub use header::TrustedHeaders;
pub use profile::{ClientProfile, ClientProfiles};
pub use source::{CallerField, CallerSource, CallerSources};
pub use values::{AssumedValues, CallerValues};

use crate::context::IanaTimeZone;
use crate::language::Tag;
use crate::session::ClientImplementation;

/// What an operator lets Attune assume of callers that say nothing. The default is nothing.
///
/// Rules: A2, A4, A5.
#[derive(Clone, Debug, Default)]
pub struct CallerAssumptions {
    /// The headers that count, where they come from somebody who is trusted.
    pub headers: TrustedHeaders,
    /// What is known of clients; none: nothing is assumed by a client's name.
    pub profiles: Option<Arc<dyn ClientProfiles>>,
    /// What holds where no other source says anything.
    pub default: CallerValues,
    /// Whether the server behind gets assumed values as if the caller had said them.
    pub forward_assumed: bool,
}

/// What a host knows of the caller of one request, beside the request. The default is nothing.
///
/// Rules: A1, A2, A7.
#[derive(Clone, Debug, Default)]
pub struct CallerEvidence {
    /// The claims of a token that the host has verified.
    pub claims: Option<VerifiedClaims>,
    /// Whether the request comes from somebody who is trusted to write the [`TrustedHeaders`].
    pub trusts_headers: bool,
    /// What the system says now, where its user is the caller.
    pub system: Option<CallerValues>,
}

/// The claims of a token whose signature, issuer, audience and times the host has verified. `Debug` shows none.
///
/// Rules: A1, A7.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct VerifiedClaims {
    /// `locale`: a BCP 47 tag, also written with `_`.
    pub locale: Option<String>,
    /// `zoneinfo`: the name of a time zone.
    pub zoneinfo: Option<String>,
}

impl VerifiedClaims {
    fn read(&self) -> CallerValues {
        let tag = |locale: &String| {
            (locale.len() <= Tag::MAX_LEN).then(|| Tag::parse(&locale.replace('_', "-")).ok())
        };
        CallerValues {
            locale: self.locale.as_ref().and_then(tag).flatten(),
            timezone: self.zoneinfo.as_deref().and_then(|zone| IanaTimeZone::parse(zone).ok()),
            ..CallerValues::default()
        }
    }
}

impl core::fmt::Debug for VerifiedClaims {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.write_str("VerifiedClaims(…)")
    }
}

impl CallerAssumptions {
    /// What all sources but the request come to. `client` is who the client says it is, `lines` finds the header lines of a
    /// name, which is in lower case.
    ///
    /// Rules: A1, A2, A5, A7.
    #[must_use]
    pub fn gather<'h>(
        &self,
        evidence: &CallerEvidence,
        client: Option<&ClientImplementation>,
        lines: &dyn Fn(&str) -> Vec<&'h [u8]>,
    ) -> AssumedValues {
        let mut assumed = AssumedValues::default();
        if let Some(claims) = &evidence.claims {
            assumed.ask(claims.read(), |_| CallerSource::Claim);
        }
        if evidence.trusts_headers && !self.headers.is_empty() {
            assumed.ask(self.headers.read(lines), |field| self.headers.source(field));
        }
        if let Some(profile) = self.profile(client) {
            let features = Some(profile.features).filter(|features| !features.is_empty());
            let values = CallerValues { features, ..CallerValues::default() };
            assumed.ask(values, |_| CallerSource::Profile(profile.name.clone()));
        }
        if !self.default.is_empty() {
            assumed.ask(self.default.clone(), |_| CallerSource::Default);
        }
        if let Some(system) = &evidence.system {
            assumed.ask(system.clone(), |_| CallerSource::System);
        }
        assumed
    }

    /// The profile of a client, where profiles are on and there is one.
    pub(crate) fn profile(&self, client: Option<&ClientImplementation>) -> Option<ClientProfile> {
        self.profiles.as_ref()?.find(client?)
    }

    /// Whether anything could be assumed with this evidence: most hosts assume nothing, and most requests pay nothing.
    pub(crate) fn may_assume(&self, evidence: &CallerEvidence) -> bool {
        evidence.claims.is_some()
            || evidence.system.is_some()
            || self.profiles.is_some()
            || !self.default.is_empty()
            || (evidence.trusts_headers && !self.headers.is_empty())
    }
}

#[cfg(test)]
mod tests;
