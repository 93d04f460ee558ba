//! Who is asking: what a request says about its caller, read once and kept for that request only.
//!
//! 1. The language preference is the string in `_meta`, or a bare header that the operator promotes.
//! 2. What cannot be read counts as absent, and is told beside what could.
//! 3. The features of a legacy session come from its id, because only its first message declares them.
//!
//! Rules: F1, L2, L3.

use mcp_attune_wire::agree::Agreed;

use crate::language::{AcceptLanguage, Malformed, preference};
use crate::session::Features;

/// What a request says about its caller.
///
/// ```
/// use mcp_attune::caller::Caller;
/// use mcp_attune_wire::agree::{self, Agree, Policy};
/// use mcp_attune_wire::{header::Headers, message::Message};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{"_meta":{
///     "io.modelcontextprotocol/acceptLanguage":"de-CH, en;q=0.5"}}}"#;
/// let policy = Policy::default();
/// let Agree::Done(agreed) = agree::begin(&Headers::default(), Message::parse(body)?, &policy)? else {
///     unreachable!("a listing needs no schema")
/// };
/// let caller = Caller::read(&agreed);
/// assert_eq!(caller.preference().unwrap().as_str(), "de-CH, en;q=0.5");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct Caller {
    preference: AcceptLanguage,
    malformed: Option<Malformed>,
    features: Features,
}

impl Caller {
    /// Reads what an agreed message says.
    #[must_use]
    pub fn read(agreed: &Agreed<'_>) -> Self {
        let (preference, malformed) = preference(agreed.accept_language().as_deref());
        Self { preference, malformed, features: Features::default() }
    }

    /// The caller of a request that is served on: all that is known is the preference it had. Rules: L13.
    #[must_use]
    pub fn resumed(text: Option<&str>) -> Self {
        let (preference, malformed) = preference(text);
        Self { preference, malformed, features: Features::default() }
    }

    /// The caller as one of a session that declared these features.
    #[must_use]
    pub fn in_session(self, features: Features) -> Self {
        Self { features, ..self }
    }

    /// The language preference, where there is one and it is well formed.
    #[must_use]
    pub fn preference(&self) -> Option<&AcceptLanguage> {
        (!self.preference.is_empty()).then_some(&self.preference)
    }

    /// What was wrong with a preference that counts as absent.
    #[must_use]
    pub fn malformed(&self) -> Option<Malformed> {
        self.malformed
    }

    /// The tags that the legacy session declared, not yet parsed. Rules: F1.
    #[must_use]
    pub fn features(&self) -> &Features {
        &self.features
    }
}
