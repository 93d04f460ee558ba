//! The headers of the onward leg: the mirrored ones are written anew from the body that is sent.
//!
//! Rules: G6, G10, H16.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune_wire::agree::{Agreed, Era};
use mcp_attune_wire::header::{METHOD, NAME, PARAM_PREFIX};
use mcp_attune_wire::mirror;
use mcp_attune_wire::schema::Declared;

/// What changes in the headers on the way on. The default changes nothing.
#[derive(Debug, Default)]
pub(crate) struct Forward {
    /// Routing headers that are left behind: nobody checked them.
    drops: Vec<&'static str>,
    drops_params: bool,
    sends: Vec<(HeaderName, HeaderValue)>,
}

impl Forward {
    /// `declared` is what the called tool's schema declares, where that is known; `came` is what the caller sent.
    pub(crate) fn new(agreed: &Agreed<'_>, declared: Option<&Declared>, came: &HeaderMap) -> Self {
        let modern = agreed.era() == Era::Modern;
        let mut mirrored = mirror::headers(agreed.message(), declared);
        mirrored.retain(|(name, _)| modern || name.eq_ignore_ascii_case(header::ACCEPT_LANGUAGE.as_str()));
        let drops_params = agreed.drops_routing_headers();
        let mut drops = Vec::new();
        if modern || drops_params {
            let sent = |name: &&str| mirrored.iter().any(|(sent, _)| sent == name);
            drops.extend([METHOD, NAME].into_iter().filter(|name| !sent(name)));
        }
        if !drops_params {
            // Most callers wrote what we would write, and parsing and inserting it again has its price.
            mirrored.retain(|(name, value)| !says_only(came, name, value));
        }
        let parsed =
            mirrored.iter().filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
        Self { drops, drops_params, sends: parsed.collect() }
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
