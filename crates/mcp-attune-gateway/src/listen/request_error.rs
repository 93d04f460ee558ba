//! Why the body of a request could not be read to its end.

use std::fmt;

use mcp_attune_wire::notice::Notice;

use super::FramingError;

/// Why the body of a request could not be read to its end. It is the error of the body that the service gets;
/// [`notice`](Self::notice) is what the caller is told.
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

    /// Returns what the caller is told.
    #[must_use]
    pub fn notice(self) -> Notice {
        match self {
            Self::Stalled => Notice::BodyStalled,
            Self::TooSlow => Notice::BodyTooSlow,
            Self::Broken => Notice::RequestBrokeOff,
            Self::Misframed => framing_notice(FramingError::Trailer),
        }
    }
}

impl fmt::Display for RequestBodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl std::error::Error for RequestBodyError {}

/// Returns what the caller of a request is told whose framing is refused.
pub(super) fn framing_notice(misframed: FramingError) -> Notice {
    match misframed {
        FramingError::Line => Notice::FramingLine,
        FramingError::Length => Notice::FramingLength,
        FramingError::LengthAndCoding => Notice::FramingLengthAndCoding,
        FramingError::Coding => Notice::FramingCoding,
        FramingError::Host => Notice::FramingHost,
        FramingError::TooManyLines => Notice::HeadersTooMany,
        FramingError::TooLong => Notice::FramingTooLong,
        FramingError::Trailer => Notice::FramingTrailer,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn callers_are_told_of_framing_what_the_log_says() {
        for misframed in [
            FramingError::Line,
            FramingError::Length,
            FramingError::LengthAndCoding,
            FramingError::Coding,
            FramingError::Host,
            FramingError::TooManyLines,
            FramingError::TooLong,
            FramingError::Trailer,
        ] {
            assert_eq!(framing_notice(misframed).to_string(), misframed.to_string());
        }
    }
}
