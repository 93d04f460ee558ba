//! The headers of the onward leg: the mirrored ones are written anew from the body that is sent.
//!
//! Rules: C9, G6, G10, H16.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune_wire::agree::{Agreed, Era};
use mcp_attune_wire::header::{METHOD, NAME, PARAM_PREFIX};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::mirror;
use mcp_attune_wire::schema::{Declaration, Declared};

/// What changes in the headers on the way on. The default changes nothing.
#[derive(Debug, Default)]
pub(crate) struct Forward {
    /// Routing headers that are left behind: nobody checked them.
    drops: Vec<&'static str>,
    drops_params: bool,
    /// Headers of arguments that callers do not know of, where the body does not say them.
    drops_hidden: Vec<HeaderName>,
    sends: Vec<(HeaderName, HeaderValue)>,
}

impl Forward {
    /// `message` is what is sent; `declared` is what the called tool's schema declares, where that is known; `came` is
    /// what the caller sent. `bound`: there may be arguments that the caller does not know of, and headers for them.
    pub(crate) fn new(
        agreed: &Agreed<'_>,
        message: &Message<'_>,
        declared: Option<&Declared>,
        came: &HeaderMap,
        bound: bool,
    ) -> Self {
        let modern = agreed.era() == Era::Modern;
        let mut mirrored = mirror::headers(message, declared);
        mirrored.retain(|(name, _)| modern || name.eq_ignore_ascii_case(header::ACCEPT_LANGUAGE.as_str()));
        let drops_params = agreed.drops_routing_headers();
        let mut drops = Vec::new();
        if modern || drops_params {
            let sent = |name: &&str| mirrored.iter().any(|(sent, _)| sent == name);
            drops.extend([METHOD, NAME].into_iter().filter(|name| !sent(name)));
        }
        let mut drops_hidden = Vec::new();
        if let Some(declared) = declared.filter(|_| bound && modern) {
            let unsaid = declared.iter().map(Declaration::header);
            let unsaid = unsaid.filter(|name| mirrored.iter().all(|(sent, _)| sent != name));
            drops_hidden.extend(unsaid.filter_map(|name| name.parse().ok()));
        }
        if !drops_params {
            // Most callers wrote what we would write, and parsing and inserting it again has its price.
            mirrored.retain(|(name, value)| !says_only(came, name, value));
        }
        let parsed =
            mirrored.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
        Self { drops, drops_params, drops_hidden, sends: parsed.collect() }
    }

    /// `adapts`: the answer may have to be read, so it must come unencoded.
    pub(crate) fn apply(self, headers: &mut HeaderMap, adapts: bool) {
        for name in self.drops {
            headers.remove(name);
        }
        if self.drops_params {
            let is_param = |name: &&HeaderName| {
                name.as_str()
                    .get(..PARAM_PREFIX.len())
                    .is_some_and(|start| start.eq_ignore_ascii_case(PARAM_PREFIX))
            };
            let params: Vec<_> = headers.keys().filter(is_param).cloned().collect();
            for name in params {
                headers.remove(name);
            }
        }
        for name in self.drops_hidden {
            headers.remove(name);
        }
        for (name, value) in self.sends {
            headers.insert(name, value);
        }
        if adapts {
            ask_identity(headers);
        }
    }
}

/// Whether a header stands in one line, with this value to the letter.
fn says_only(headers: &HeaderMap, name: &str, value: &str) -> bool {
    let mut lines = headers.get_all(name).iter();
    lines.next().is_some_and(|line| line == value) && lines.next().is_none()
}

/// Asks for an answer that can be read.
pub(crate) fn ask_identity(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}
