//! Why an upstream gave no answer, or not all of it.

use std::error::Error;
use std::fmt;

use mcp_attune_wire::notice::Notice;

/// Why an upstream gave no answer, or not all of it.
///
/// If it happens before the answer began, the caller gets [`status`](Self::status) and
/// [`notice`](Self::notice); if it happens in the middle of an answer, the answer breaks off. Each error is counted under
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

    /// Returns what the caller is told if the answer has not begun.
    #[must_use]
    pub fn notice(self) -> Notice {
        match self {
            Self::Ended(Some(code)) => Notice::ServerEnded { code },
            Self::Ended(None) => Notice::ServerEndedUnknown,
            Self::Refused => Notice::ServerNotRunning,
            Self::Connect => Notice::ServerUnreachable,
            Self::ConnectTimeout => Notice::ServerUnreachableInTime,
            Self::NoDescriptors => Notice::GatewayWithoutConnections,
            Self::Tls => Notice::ServerNotTrusted,
            Self::FirstByteTimeout => Notice::ServerTooSlow,
            Self::Stalled => Notice::ServerStalled,
            Self::Broken => Notice::ServerBrokeOff,
            Self::Caller => Notice::RequestBrokeOff,
            Self::NotStarted => Notice::ServerNotStarted,
            Self::CallerFull => Notice::CallerSessions,
            Self::Full => Notice::SessionsFull,
            Self::TooLarge => Notice::ServerAnswerTooLarge,
            Self::SlowCaller => Notice::CallerTooSlow,
            Self::NotServed => Notice::NothingServed,
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
        self.notice().fmt(f)
    }
}

impl Error for UpstreamError {}
