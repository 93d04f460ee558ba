//! Why an upstream gave no answer, or not all of it.

use std::error::Error;
use std::fmt;

/// Why an upstream gave no answer, or not all of it.
///
/// If it happens before the answer began, the caller gets [`status`](Self::status) and the sentence of
/// `Display`; if it happens in the middle of an answer, the answer breaks off. Each error is counted under
/// its [`name`](Self::name) in `attune_upstream_errors_total`, except those that are clearly the caller's
/// own.
///
/// ```
/// use mcp_attune_gateway::upstream::UpstreamError;
///
/// assert_eq!(UpstreamError::FirstByteTimeout.status(), 504);
/// assert_eq!(UpstreamError::Broken.to_string(), "the server behind broke off");
/// ```
///
/// Rules: G5.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum UpstreamError {
    /// The connection was refused: the server is down, or not up yet.
    Refused,
    /// No connection for another reason: the name cannot be resolved, or there is no route to the host.
    Connect,
    /// No connection in time. The time includes name resolution, TCP and TLS.
    ConnectTimeout,
    /// Not the server's fault: the gateway has no file descriptor left for a connection to it.
    NoDescriptors,
    /// There is a connection, but TLS fails on it: an untrusted certificate, or plain HTTP at the other end.
    Tls,
    /// The request was sent, and no answer began within `upstream_first_byte`.
    FirstByteTimeout,
    /// The answer began, and then nothing more came within `stream_idle`.
    Stalled,
    /// The connection broke, before the answer or in the middle of it, or what came is not HTTP.
    Broken,
    /// Not the server's fault: the caller's own request body broke off on its way.
    Caller,
    /// A program that cannot be started.
    NotStarted,
    /// A program that ended before it answered anything; with its exit code, where that is known.
    Ended(Option<i32>),
    /// All `children` of a mount run and none of them is idle, or a legacy session has as many streams as it
    /// may have.
    Full,
    /// Not the server's fault: this caller has as many legacy sessions as one caller may have.
    CallerFull,
    /// A program's answer is larger than its limit.
    TooLarge,
    /// Not the server's fault: the caller reads its answer more slowly than the program writes it.
    SlowCaller,
    /// Nothing was sent: the path has no counterpart on the upstream. A program has only its endpoint.
    NotServed,
}

impl UpstreamError {
    /// Returns the HTTP status that the caller gets if the answer has not begun.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Caller => 400,
            Self::NotServed => 404,
            Self::CallerFull => 429,
            Self::Connect | Self::Tls | Self::Broken | Self::TooLarge | Self::SlowCaller => 502,
            Self::Refused | Self::NotStarted | Self::Ended(_) | Self::Full | Self::NoDescriptors => 503,
            Self::ConnectTimeout | Self::FirstByteTimeout | Self::Stalled => 504,
        }
    }

    /// Returns whether the error shows that the server does not run or cannot be reached by anybody. Only
    /// these errors change `attune_upstream_up` and `/readyz`; a single request that fails otherwise says
    /// nothing about the next.
    pub(crate) fn is_down(self) -> bool {
        matches!(
            self,
            Self::Refused
                | Self::Connect
                | Self::ConnectTimeout
                | Self::Tls
                | Self::NotStarted
                | Self::Ended(_)
        )
    }

    /// Returns the value of the metrics label `kind`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Refused => "refused",
            Self::Connect => "connect",
            Self::ConnectTimeout => "connect_timeout",
            Self::NoDescriptors => "no_descriptors",
            Self::Tls => "tls",
            Self::FirstByteTimeout => "first_byte_timeout",
            Self::Stalled => "stalled",
            Self::Broken => "broken",
            Self::Caller => "caller",
            Self::NotStarted => "not_started",
            Self::Ended(_) => "ended",
            Self::Full => "full",
            Self::CallerFull => "caller_full",
            Self::TooLarge => "too_large",
            Self::SlowCaller => "slow_caller",
            Self::NotServed => "not_served",
        }
    }
}

impl fmt::Display for UpstreamError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Ended(Some(code)) => {
                return write!(f, "the server behind ended with {code} before it answered");
            }
            Self::Ended(None) => "the server behind ended before it answered",
            Self::Refused => "the server behind is not running",
            Self::Connect => "the server behind cannot be reached",
            Self::ConnectTimeout => "the server behind could not be reached in time",
            Self::NoDescriptors => "as many connections are open as the gateway may have; try again in a moment",
            Self::Tls => "the server behind cannot be trusted: its TLS is not in order",
            Self::FirstByteTimeout => "the server behind did not answer in time",
            Self::Stalled => "the server behind stopped in the middle of its answer",
            Self::Broken => "the server behind broke off",
            Self::Caller => "the request broke off before it was whole",
            Self::NotStarted => "the server behind cannot be started",
            Self::CallerFull => {
                "as many sessions of one caller are open as may be; end those that are over, or try again later"
            }
            Self::Full => "as many sessions are open as this server may have; try again later, and end those that are over",
            Self::TooLarge => "the server behind answered with more than the limit allows",
            Self::SlowCaller => "the answer was not read as fast as it came",
            Self::NotServed => "nothing is served at this path",
        })
    }
}

impl Error for UpstreamError {}
