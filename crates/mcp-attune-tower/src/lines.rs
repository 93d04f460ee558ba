//! The bridge between header maps of the `http` crate and the rules, which see headers as lines and return
//! changes to them.

use http::header::{self, HeaderMap, HeaderName, HeaderValue};
use mcp_attune::exchange::{HeaderChange, HeaderLines};
use mcp_attune_wire::header::PARAM_PREFIX;
use mcp_attune_wire::reply::{is_stale_after_edit, trailer_after_edit};

/// A header map as the rules look at it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HeaderMapLines<'h>(pub(crate) &'h HeaderMap);

impl<'h> HeaderLines<'h> for HeaderMapLines<'h> {
    fn all(self) -> impl Iterator<Item = (&'h str, &'h [u8])> {
        self.0.iter().map(|(name, value)| (name.as_str(), value.as_bytes()))
    }

    fn named(self, name: &str) -> impl Iterator<Item = &'h [u8]> {
        self.0.get_all(name).iter().map(HeaderValue::as_bytes)
    }
}

/// Applies changes that the rules decided on, in their order. A change whose name or value no HTTP header can
/// hold is skipped.
pub(crate) fn apply_header_changes(headers: &mut HeaderMap, changes: Vec<HeaderChange>) {
    for change in changes {
        match change {
            HeaderChange::Remove(name) => drop(headers.remove(&*name)),
            HeaderChange::RemoveParams => remove_params(headers),
            HeaderChange::Set(name, value) => {
                if let Some((name, value)) = parse_header(&name, &value) {
                    headers.insert(name, value);
                }
            }
            HeaderChange::Append(name, value) => {
                if let Some((name, value)) = parse_header(&name, &value) {
                    headers.append(name, value);
                }
            }
            HeaderChange::ForgetOldBytes => remove_stale_headers(headers),
        }
    }
}

fn parse_header(name: &str, value: &[u8]) -> Option<(HeaderName, HeaderValue)> {
    Some((name.parse().ok()?, HeaderValue::from_bytes(value).ok()?))
}

fn remove_params(headers: &mut HeaderMap) {
    let is_param = |name: &&HeaderName| {
        name.as_str().get(..PARAM_PREFIX.len()).is_some_and(|start| start.eq_ignore_ascii_case(PARAM_PREFIX))
    };
    let params: Vec<_> = headers.keys().filter(is_param).cloned().collect();
    for name in params {
        headers.remove(name);
    }
}

/// Removes the headers that described the bytes of a body that was changed: digests and validators such as
/// `ETag`, and their announcements in `Trailer`. It is used for headers and for trailers.
///
/// Rules: L17.
pub(crate) fn remove_stale_headers(headers: &mut HeaderMap) {
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
