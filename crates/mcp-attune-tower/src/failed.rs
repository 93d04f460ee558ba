//! Failures of the service behind the layer, or of a body, with the HTTP status that they stand for.

use std::fmt;

use mcp_attune_wire::notice::Notice;

use crate::body::BoxError;

/// An error of a service, or of the body of a request, that says which HTTP status the caller gets for it.
///
/// A service may fail with any error type. If the error is an `HttpFailure`, the caller gets its status and
/// message as a JSON-RPC error; any other error is logged and answered with 502 and a general message, because
/// its words may not be meant for callers.
///
/// Rules: G5.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpFailure {
    /// The HTTP status: as a rule 502, 503 or 504, but also one of 4xx if the caller is at fault or over a
    /// limit.
    pub status: u16,
    /// What failed, as callers may read it. It must not contain secrets.
    pub notice: Notice,
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice.fmt(f)
    }
}

impl std::error::Error for HttpFailure {}

impl HttpFailure {
    /// Makes a failure of a status. Text is passed on to callers in the language that it is in:
    ///
    /// ```
    /// use mcp_attune_tower::HttpFailure;
    ///
    /// let failure = HttpFailure::new(504, "the database did not answer in 60 s");
    /// assert_eq!(failure.to_string(), "the database did not answer in 60 s");
    /// ```
    pub fn new(status: u16, notice: impl Into<Notice>) -> Self {
        Self { status, notice: notice.into() }
    }

    /// Logs the error of a service and returns what its caller is told: the error itself if it is an
    /// `HttpFailure`, else 502.
    #[cold]
    pub(crate) fn from_service_error(error: &BoxError) -> Self {
        tracing::warn!(%error, "the server behind failed");
        error.downcast_ref::<Self>().cloned().unwrap_or_else(|| Self::new(502, Notice::ServerNoAnswer))
    }
}
