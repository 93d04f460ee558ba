//! The media types of bodies that the rules tell apart.

use http::header::{CONTENT_TYPE, HeaderMap, HeaderValue};

pub use mcp_attune::exchange::BodyMediaType;

/// Classifies the `Content-Type` of a message of HTTP as far as the rules care: JSON, server-sent events, or
/// anything else. Parameters and case do not matter. Without the header it is [`BodyMediaType::Other`].
///
/// ```
/// use mcp_attune_tower::{BodyMediaType, media};
///
/// let (head, ()) = http::Response::builder()
///     .header("Content-Type", "Text/Event-Stream; charset=utf-8")
///     .body(())?
///     .into_parts();
/// assert_eq!(media(&head.headers), BodyMediaType::Events);
/// # Ok::<(), http::Error>(())
/// ```
#[must_use]
pub fn media(headers: &HeaderMap) -> BodyMediaType {
    BodyMediaType::of(headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes))
}
