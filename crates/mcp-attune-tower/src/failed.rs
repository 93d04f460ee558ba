//! Failures that are not the caller's.

use std::fmt;

use crate::body::BoxError;

/// A service's failure that says which HTTP status it stands for. A service may fail with anything; what is not this
/// is a 502.
///
/// Rules: G5.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct HttpFailure {
    /// 502, 503 or 504.
    pub status: u16,
    /// What failed, in words that a caller may read.
    pub what: String,
}

impl fmt::Display for HttpFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}

impl std::error::Error for HttpFailure {}

impl HttpFailure {
    /// What a service failed with, if it is one of these; the words of other errors stay in the log.
    #[cold]
    pub(crate) fn from_service_error(error: &BoxError) -> Self {
        tracing::warn!(%error, "the server behind failed");
        error.downcast_ref::<Self>().cloned().unwrap_or_else(|| Self {
            status: 502,
            what: "the server behind did not answer as a server does; try again later".into(),
        })
    }
}
