//! The headers of the onward leg: the mirrored ones are written anew from the body that is sent.
//!
//! Rules: C9, G6, G10, H16.

use std::borrow::Cow;

use mcp_attune_wire::agree::{Agreed, Era};
use mcp_attune_wire::header::{ACCEPT_LANGUAGE, METHOD, NAME};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::mirror;
use mcp_attune_wire::schema::{DeclaredHeaders, HeaderDeclaration};

use super::headers::{HeaderChange, HeaderLines};

const ACCEPT_ENCODING: &str = "accept-encoding";

/// Adds what changes in the headers on the way on. `message` is what is sent; `declared` is what the called tool's schema
/// declares, where that is known; `came` is what the caller sent. `bound`: there may be arguments that the caller does not
/// know of, and headers for them.
pub(super) fn mirror_headers<'h>(
    agreed: &Agreed<'_>,
    message: &Message<'_>,
    declared: Option<&DeclaredHeaders>,
    came: impl HeaderLines<'h>,
    bound: bool,
    changes: &mut Vec<HeaderChange>,
) {
    if !bound && agreed.is_mirrored() && !agreed.drops_routing_headers() {
        debug_assert!({
            let before = changes.len();
            write_mirrored(agreed, message, declared, came, bound, changes);
            changes.len() == before
        });
        return;
    }
    write_mirrored(agreed, message, declared, came, bound, changes);
}

fn write_mirrored<'h>(
    agreed: &Agreed<'_>,
    message: &Message<'_>,
    declared: Option<&DeclaredHeaders>,
    came: impl HeaderLines<'h>,
    bound: bool,
    changes: &mut Vec<HeaderChange>,
) {
    let modern = agreed.era() == Era::Modern;
    let mut mirrored = mirror::headers(message, declared);
    mirrored.retain(|(name, _)| modern || name.eq_ignore_ascii_case(ACCEPT_LANGUAGE));
    let drops_params = agreed.drops_routing_headers();
    if modern || drops_params {
        let sent = |name: &str| mirrored.iter().any(|(sent, _)| *sent == name);
        let came = |name: &str| came.named(name).next().is_some();
        let unsaid = [METHOD, NAME].into_iter().filter(|name| !sent(name) && came(name));
        changes.extend(unsaid.map(HeaderChange::remove));
    }
    if drops_params {
        changes.push(HeaderChange::RemoveParams);
    }
    // Only a modern call is checked with a schema, or gets one.
    if let Some(declared) = declared.filter(|_| bound) {
        let unsaid = declared.iter().map(HeaderDeclaration::header);
        let unsaid = unsaid.filter(|name| mirrored.iter().all(|(sent, _)| sent != name));
        changes.extend(unsaid.map(|name| HeaderChange::remove(name.to_owned())));
    }
    if !drops_params {
        // Most callers wrote what we would write, and parsing and inserting it again has its price.
        drop_unchanged(&mut mirrored, came);
    }
    let sends = mirrored.into_iter();
    changes.extend(
        sends.map(|(name, value)| HeaderChange::set(name.to_owned(), value.into_owned().into_bytes())),
    );
}

/// Takes out the headers that came in one line, with the same value to the letter. One walk over all that came: to
/// look for each by its name costs more.
fn drop_unchanged<'h>(mirrored: &mut Vec<(&str, Cow<'_, str>)>, came: impl HeaderLines<'h>) {
    let mut said = vec![MirrorMatch::Not; mirrored.len()];
    for (name, value) in came.all() {
        // All that are mirrored begin with one of the two.
        if !name.starts_with(['a', 'A', 'm', 'M']) {
            continue;
        }
        let same = |(sent, _): &(&str, Cow<'_, str>)| sent.eq_ignore_ascii_case(name);
        let Some(place) = mirrored.iter().position(same) else { continue };
        if let (Some(said), Some((_, sent))) = (said.get_mut(place), mirrored.get(place)) {
            let same = *said == MirrorMatch::Not && value == sent.as_bytes();
            *said = if same { MirrorMatch::Same } else { MirrorMatch::Otherwise };
        }
    }
    let mut said = said.into_iter();
    mirrored.retain(|_| said.next() != Some(MirrorMatch::Same));
}

/// What came of a header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum MirrorMatch {
    Not,
    Same,
    Otherwise,
}

/// Asks for an answer that can be read.
pub(super) fn accept_identity() -> HeaderChange {
    HeaderChange::set(ACCEPT_ENCODING, "identity")
}
