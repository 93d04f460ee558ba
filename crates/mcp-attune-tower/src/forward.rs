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
    /// Whether routing headers are left behind: nobody checked them, or they are sent anew.
    drops_routing: bool,
    drops_params: bool,
    sends: Vec<(HeaderName, HeaderValue)>,
}

impl Forward {
    /// `declared` is what the called tool's schema declares, where that is known.
    pub(crate) fn new(agreed: &Agreed<'_>, declared: Option<&Declared>) -> Self {
        let modern = agreed.era() == Era::Modern;
        let mirrored = mirror::headers(agreed.message(), declared);
        let lines = mirrored
            .iter()
            .filter(|(name, _)| modern || name.eq_ignore_ascii_case(header::ACCEPT_LANGUAGE.as_str()));
        let parsed = lines.filter_map(|(name, value)| Some((name.parse().ok()?, value.parse().ok()?)));
        Self {
            drops_routing: modern || agreed.drops_routing_headers(),
            drops_params: agreed.drops_routing_headers(),
            sends: parsed.collect(),
        }
    }

    /// `adapts`: the answer may have to be read, so it must come unencoded.
    pub(crate) fn apply(self, headers: &mut HeaderMap, adapts: bool) {
        if self.drops_routing {
            for name in [METHOD, NAME] {
                headers.remove(name);
            }
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
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
    }
}
