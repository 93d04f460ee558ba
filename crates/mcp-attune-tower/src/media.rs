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
        let value = headers.get(CONTENT_TYPE).map_or(&b""[..], |value| value.as_bytes());
        let essence = value.split(|byte| *byte == b';').next().unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}
