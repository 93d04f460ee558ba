//! What an error of a connection says about the server behind it.

use std::error::Error;
use std::io;

use super::connect::{ConnectTimeoutError, NoDescriptorsError};
use super::http1_connection::ConnectionError;
use crate::descriptors;
use crate::message_sender::MessageSendError;
use crate::upstream_error::UpstreamError;

impl UpstreamError {
    /// Why there is no connection.
    pub(super) fn from_connect_error(error: &(dyn Error + 'static)) -> Self {
        Self::find_cause(Some(error)).unwrap_or(Self::Connect)
    }

    /// Why a connection gave no answer. The kinds of hyper's errors are private: what caused one tells.
    pub(super) fn from_hyper_error(error: &hyper::Error) -> Self {
        let broken = || if error.is_user() { Self::Caller } else { Self::Broken };
        Self::find_cause(error.source()).unwrap_or_else(broken)
    }

    /// Why a connection that a call drives gave no answer, or not all of it.
    pub(super) fn from_connection_error(error: &ConnectionError) -> Self {
        match error {
            ConnectionError::Io(error) => Self::find_cause(Some(error)).unwrap_or(Self::Broken),
            ConnectionError::Answer(_) | ConnectionError::Send(MessageSendError::Io(_)) => Self::Broken,
            ConnectionError::Send(MessageSendError::Body(_) | MessageSendError::Length(_)) => Self::Caller,
            ConnectionError::Timeout => Self::FirstByteTimeout,
        }
    }

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
