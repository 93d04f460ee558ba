//! The settings of the layer.

use mcp_attune::plan::Offer;
use mcp_attune_wire::agree::HeaderPolicy;

use crate::guard::Allowlist;
use crate::held::BufferBudget;
use crate::schemas::SchemaCacheSettings;
use mcp_attune::exchange::IdSeal;

/// The settings of one mount.
///
/// By default the server may choose languages itself, which is for handlers of the same process; what stands in
/// front of another process turns [`Offer::speaks`] off.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The hosts and origins that requests may name; all others are refused with 403, whatever they ask.
    ///
    /// By default those of this machine, so that no web page can use a server that somebody runs for
    /// themselves. A server with a public name lists it here. `None` leaves the check to whatever stands in
    /// front of the layer.
    ///
    /// Rules: H15.
    pub guard: Option<Allowlist>,
    /// How headers are compared with the message, such as whether careless requests are refused too.
    pub policy: HeaderPolicy,
    /// Whether requests that break rules about messages are only reported, in the log and in
    /// [`RequestOutcome::broken`](crate::RequestOutcome::broken), and forwarded all the same. `guard` and size
    /// limits are enforced regardless.
    ///
    /// Rules: H17.
    pub report_only: bool,
    /// What the server can do for its callers: languages, translations, bindings, shaping of answers.
    pub offer: Offer,
    /// Maximum sizes of bodies, each by itself.
    pub limits: BodySizeLimits,
    /// Maximum of bytes held in memory by all requests and answers together. Mounts can share one budget.
    /// Unbounded by default.
    pub held: BufferBudget,
    /// How listings of tools are cached, whose schemas declare `Mcp-Param-*` headers.
    pub schemas: SchemaCacheSettings,
    /// What seals the ids of legacy sessions, of events and of tasks. Without it (`None`) ids pass unchanged:
    /// the features that a client declared are known to the first request of its session only, and a resumed
    /// stream is not adapted.
    ///
    /// Rules: G8.
    pub seal: Option<IdSeal>,
    /// Whether the [`Caller`](mcp_attune::caller::Caller) is put into the extensions of each request, where
    /// handlers of the same process find it. On by default; what stands in front of another process turns it
    /// off.
    pub introduce: bool,
    /// Whether the parsed message, an [`AttachedMessage`](crate::AttachedMessage), is put into the extensions
    /// of each request that is forwarded unchanged: for a service that would have to parse it again. Off by
    /// default.
    pub attach_message: bool,
    /// Whether the body as the caller wrote it, a [`CallerBody`](crate::CallerBody), is put into the extensions of each
    /// request whose body the rules change. Off by default.
    pub attach_caller_body: bool,
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
            attach_caller_body: false,
        }
    }
}

impl Settings {
    /// Fills in the formatters of the offer, as [`set_formatters`] does.
    pub(crate) fn with_formatters(mut self) -> Self {
        set_formatters(&mut self.offer);
        self
    }
}

/// Sets formatters with the data of CLDR, unless the offer has some, in the server's first language or else in
/// English.
#[cfg(feature = "format")]
pub(crate) fn set_formatters(offer: &mut Offer) {
    let default = offer.available_languages().into_iter().next();
    offer.formatters.get_or_insert_with(|| {
        default.as_ref().map_or_else(mcp_attune_format::english, mcp_attune_format::formatters)
    });
}

/// Does nothing: without the feature `format` there are no data of locales, and values are written in plain
/// forms.
#[cfg(not(feature = "format"))]
pub(crate) fn set_formatters(_: &mut Offer) {}

/// Maximum sizes in bytes.
///
/// Rules: G4.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct BodySizeLimits {
    /// Body of a request; a larger one is refused with 413. 4 MiB by default.
    pub body: usize,
    /// JSON answer that is held back because its headers depend on its content; a larger one becomes a 502. It
    /// also bounds a listing that the layer itself asks for. 64 MiB by default.
    pub answer: usize,
    /// One event of a stream; a larger one ends the stream with an error. 8 MiB by default.
    pub event: usize,
}

impl Default for BodySizeLimits {
    fn default() -> Self {
        Self { body: 4 << 20, answer: 64 << 20, event: 8 << 20 }
    }
}
