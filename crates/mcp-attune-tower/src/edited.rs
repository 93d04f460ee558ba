//! The headers and trailers of a body that was changed.
//!
//! Rules: L17.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune_wire::reply::{is_stale_after_edit, trailer_after_edit};

/// Takes out what described the bytes that came: digests and validators, and their announcements.
pub(crate) fn forget_old_bytes(headers: &mut HeaderMap) {
    let is_stale = |name: &&HeaderName| is_stale_after_edit(name.as_str());
    let stale: Vec<HeaderName> = headers.keys().filter(is_stale).cloned().collect();
    for name in stale {
        headers.remove(name);
    }
    if !headers.contains_key(header::TRAILER) {
        return;
    }
    let lines = headers.get_all(header::TRAILER).iter().filter_map(|value| value.to_str().ok());
    match trailer_after_edit(lines).and_then(|value| HeaderValue::try_from(value).ok()) {
        Some(value) => drop(headers.insert(header::TRAILER, value)),
        None => drop(headers.remove(header::TRAILER)),
    }
}
