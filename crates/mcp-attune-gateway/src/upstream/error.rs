//! What an error of a connection says about the server behind it.
//!
//! Errors of hyper, rustls and the system are nested in each other. [`UpstreamError`] names the first known
//! cause among them: it decides the status that a caller gets, and whether the server counts as down.

use std::error::Error;
use std::io;

use super::connect::{ConnectTimeoutError, NoDescriptorsError};
use super::http1_connection::ConnectionError;
use crate::descriptors;
use crate::message_sender::MessageSendError;
use crate::upstream_error::UpstreamError;

impl UpstreamError {
    /// Returns why there is no connection: [`Self::Connect`] where the cause is none of those that have a
    /// name of their own.
    pub(super) fn from_connect_error(error: &(dyn Error + 'static)) -> Self {
        Self::find_cause(Some(error)).unwrap_or(Self::Connect)
    }

    /// Returns why an HTTP/2 connection gave no answer. The kinds of hyper's errors are private, so what
    /// caused one tells; where that does not either, the caller's own body broke off ([`Self::Caller`]) or
    /// the server did.
    pub(super) fn from_hyper_error(error: &hyper::Error) -> Self {
        let broken = || if error.is_user() { Self::Caller } else { Self::Broken };
        Self::find_cause(error.source()).unwrap_or_else(broken)
    }

    /// Returns why an HTTP/1.1 connection gave no answer, or not all of it. That the request could not be
    /// written because its body failed, or had another length than stated, is the caller's doing
    /// ([`Self::Caller`]).
    pub(super) fn from_connection_error(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::Io(error) => Self::find_cause(Some(error)).unwrap_or(Self::Broken),
            ConnectionError::Answer(_) | ConnectionError::Send(MessageSendError::Io(_)) => Self::Broken,
            ConnectionError::Send(MessageSendError::Body(_) | MessageSendError::Length(_)) => Self::Caller,
            ConnectionError::Timeout => Self::FirstByteTimeout,
        }
    }

    /// Looks for a known cause in an error and all that it wraps, from the outside in. Returns `None` where
    /// there is none.
    fn find_cause(mut cause: Option<&(dyn Error + 'static)>) -> Option<Self> {
        while let Some(error) = cause {
            if error.is::<ConnectTimeoutError>() {
                return Some(Self::ConnectTimeout);
            }
            if error.is::<NoDescriptorsError>() {
                return Some(Self::NoDescriptors);
            }
            if error.is::<rustls::Error>() {
                return Some(Self::Tls);
            }
            cause = match error.downcast_ref::<io::Error>() {
                Some(error) if error.kind() == io::ErrorKind::ConnectionRefused => {
                    return Some(Self::Refused);
                }
                Some(error) if error.raw_os_error().is_some_and(descriptors::is_out_of_descriptors) => {
                    return Some(Self::NoDescriptors);
                }
                // What an io::Error wraps is not its source.
                Some(error) => error.get_ref().map(|inner| inner as &(dyn Error + 'static)),
                None => error.source(),
            };
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn no_descriptor_is_no_fault_of_the_server() {
        for code in [23, 24] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(UpstreamError::from_connect_error(&error), UpstreamError::NoDescriptors, "{error}");
            let wrapped = io::Error::other(error);
            assert_eq!(
                UpstreamError::from_connect_error(&wrapped),
                UpstreamError::NoDescriptors,
                "{wrapped}"
            );
        }
        assert_eq!(UpstreamError::from_connect_error(&NoDescriptorsError), UpstreamError::NoDescriptors);
        assert_eq!(
            UpstreamError::from_connect_error(&io::Error::from_raw_os_error(113)),
            UpstreamError::Connect
        );
        assert_eq!(UpstreamError::NoDescriptors.status(), 503);
    }
}
