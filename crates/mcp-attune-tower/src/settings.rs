//! What whoever mounts the layer can choose.

use mcp_attune::plan::Offer;
use mcp_attune_wire::agree::HeaderPolicy;

use crate::guard::Allowlist;
use crate::held::BufferBudget;
use crate::schemas::SchemaCacheSettings;
use mcp_attune::exchange::IdSeal;

/// The settings of one mount. By default the server may choose languages itself, which is for handlers of the same
/// process; what stands in front of another process turns [`Offer::speaks`] off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The hosts and origins that may be named; others are 403, whatever they ask. By default those of this machine, so
    /// that no web page can use a server that somebody runs for themselves. A server with a public name lists it here;
    /// None leaves the check to whatever stands before the layer. Rules: H15.
    pub guard: Option<Allowlist>,
    /// How headers are checked.
    pub policy: HeaderPolicy,
    /// Let every request pass, and only say what would have been refused. Rules: H17.
    pub report_only: bool,
    /// What the server can do for its callers.
    pub offer: Offer,
    /// How large things may be.
    pub limits: BodySizeLimits,
    /// How much may be held back of all requests and answers together. Mounts can share one. Without a bound by default.
    pub held: BufferBudget,
    /// How the schemas behind `Mcp-Param-*` are kept.
    pub schemas: SchemaCacheSettings,
    /// What seals the ids of legacy sessions and events. Without it they pass as they are: features that were
    /// declared are known to the first request of a session only, and a resumed stream is not adapted. Rules: G8.
    pub seal: Option<IdSeal>,
    /// Put the [`Caller`](mcp_attune::caller::Caller) into the extensions of each request, which reach handlers of the same
    /// process only. What stands in front of another process turns it off.
    pub introduce: bool,
    /// Put the message as it was read, a [`ReadMessage`](crate::AttachedMessage), into the extensions of each request that goes on
    /// as it came: for a service that would have to read it again. Off by default.
    pub attach_message: bool,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            guard: Some(Allowlist::default()),
            policy: HeaderPolicy::default(),
            report_only: false,
            offer: Offer { speaks: true, ..Offer::default() },
            limits: BodySizeLimits::default(),
            held: BufferBudget::default(),
            schemas: SchemaCacheSettings::default(),
            seal: None,
            introduce: true,
            attach_message: false,
        }
    }
}

impl Settings {
    /// Lets dates and numbers be written as the readers of each locale write them, where this crate was built with the data
    /// for it and nothing else was set.
    pub(crate) fn with_formatters(mut self) -> Self {
        set_formatters(&mut self.offer);
        self
    }
}

/// The same for an offer alone.
#[cfg(feature = "format")]
pub(crate) fn set_formatters(offer: &mut Offer) {
    let default = offer.available_languages().into_iter().next();
    offer.formatters.get_or_insert_with(|| {
        default.as_ref().map_or_else(mcp_attune_format::english, mcp_attune_format::formatters)
    });
}

/// Without the data of locales, plain forms are used.
#[cfg(not(feature = "format"))]
pub(crate) fn set_formatters(_: &mut Offer) {}

/// How large things may be, in bytes. Rules: G4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BodySizeLimits {
    /// A request's body.
    pub body: usize,
    /// An answer that is held back because its header depends on it.
    pub answer: usize,
    /// One event of a stream.
    pub event: usize,
}

impl Default for BodySizeLimits {
    fn default() -> Self {
        Self { body: 4 << 20, answer: 64 << 20, event: 8 << 20 }
    }
}
