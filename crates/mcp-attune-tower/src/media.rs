//! What kind of body a message of HTTP has.

use http::header::{CONTENT_TYPE, HeaderMap};

/// What `Content-Type` says, as far as the rules care. Parameters and case mean nothing.
///
/// ```
/// use mcp_attune_tower::Media;
///
/// let (head, ()) = http::Response::builder()
///     .header("Content-Type", "Text/Event-Stream; charset=utf-8")
///     .body(())?
///     .into_parts();
/// assert_eq!(Media::of(&head.headers), Media::Events);
/// # Ok::<(), http::Error>(())
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Media {
    /// One message.
    Json,
    /// A stream of events.
    Events,
    /// Anything else, or nothing.
    Other,
}

impl Media {
    /// Reads it.
    #[must_use]
    pub fn of(headers: &HeaderMap) -> Self {
        let value = headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok()).unwrap_or_default();
        let essence = value.split(';').next().unwrap_or_default().trim();
        if essence.eq_ignore_ascii_case("application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case("text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}
