//! The headers of the onward leg: the mirrored ones are written anew from the body that is sent.
//!
//! Rules: C9, G6, G10, H16.

use std::borrow::Cow;

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
        if !bound && agreed.is_mirrored() && !agreed.drops_routing_headers() {
            debug_assert!(Self::written(agreed, message, declared, came, bound).is_nothing());
            return Self::default();
        }
        Self::written(agreed, message, declared, came, bound)
    }

    fn is_nothing(&self) -> bool {
        self.drops.is_empty() && !self.drops_params && self.drops_hidden.is_empty() && self.sends.is_empty()
    }

    fn written(
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
            forget_said(&mut mirrored, came);
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

/// Takes out the headers that came in one line, with the same value to the letter. One walk over all that came: to
/// look for each by its name costs more.
fn forget_said(mirrored: &mut Vec<(&str, Cow<'_, str>)>, came: &HeaderMap) {
    let mut said = vec![Said::Not; mirrored.len()];
    for (name, value) in came {
        let name = name.as_str();
        // All that are mirrored begin with one of the two.
        if !name.starts_with(['a', 'm']) {
            continue;
        }
        let same = |(sent, _): &(&str, Cow<'_, str>)| sent.eq_ignore_ascii_case(name);
        let Some(place) = mirrored.iter().position(same) else { continue };
        if let (Some(said), Some((_, sent))) = (said.get_mut(place), mirrored.get(place)) {
            let same = *said == Said::Not && value.as_bytes() == sent.as_bytes();
            *said = if same { Said::Same } else { Said::Otherwise };
        }
    }
    let mut said = said.into_iter();
    mirrored.retain(|_| said.next() != Some(Said::Same));
}

/// What came of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Not,
    Same,
    Otherwise,
}

/// Asks for an answer that can be read.
pub(crate) fn ask_identity(headers: &mut HeaderMap) {
    headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}
