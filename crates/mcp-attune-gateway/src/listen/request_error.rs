//! Why the body of a request is not whole.

use std::fmt;

use super::FramingError;

/// Why the body of a request is not whole.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum RequestBodyError {
    /// It paused for too long.
    Stalled,
    /// It came too slowly.
    TooSlow,
    /// The caller went away, or sent what is no HTTP.
    Broken,
    /// What ends it is not written as HTTP says.
    Misframed,
}

impl RequestBodyError {
    /// The HTTP status that the caller gets.
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
