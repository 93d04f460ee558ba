//! Why the body of a request could not be read to its end.

use std::fmt;

use super::FramingError;

/// Why the body of a request could not be read to its end. It is the error of the body that the service gets;
/// `Display` is the sentence for the caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RequestBodyError {
    /// It paused for longer than [`ListenerLimits::body_pause`](super::ListenerLimits::body_pause): 408.
    Stalled,
    /// It came more slowly than [`ListenerLimits::body_rate`](super::ListenerLimits::body_rate) allows: 408.
    TooSlow,
    /// The connection broke, or what came is not HTTP: 400.
    Broken,
    /// The end of a chunked body is not written as HTTP says ([`FramingError::Trailer`]): 400.
    Misframed,
}

impl RequestBodyError {
    /// Returns the HTTP status that the caller gets.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Stalled | Self::TooSlow => 408,
            Self::Broken | Self::Misframed => 400,
        }
    }
}

impl fmt::Display for RequestBodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Stalled => "the request's body did not come in time; send it without pauses",
            Self::TooSlow => "the request's body came too slowly; send it faster, or a smaller one",
            Self::Broken => "the request broke off before it was whole",
            Self::Misframed => return FramingError::Trailer.fmt(f),
        })
    }
}

impl std::error::Error for RequestBodyError {}
