//! The limits of a listener: what connections and their requests may use.

use std::time::Duration;

use crate::config::HttpImplementation;

/// The limits of connections and their requests, and who reads them. The gateway fills them from `[limits]`
/// and `[server]`; the admin listener has the defaults. Rules: G4.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListenerLimits {
    /// Which implementation of HTTP/1.1 reads requests.
    pub http: HttpImplementation,
    /// Maximum of connections at a time. Default: 10,000.
    pub connections: usize,
    /// Maximum of connections above that limit that are answered 503 at a time. Further ones are closed
    /// without an answer. Default: 64.
    pub turned_away: usize,
    /// Maximum of header lines of a request; else 431. Default: 128.
    pub headers: usize,
    /// Maximum of bytes of a request's head; else 431. Less than 8 KiB counts as 8 KiB where hyper reads.
    /// Default: 64 KiB.
    pub header_bytes: usize,
    /// How long a TLS handshake may take, and the head of a request, including the wait for it: so also how
    /// long a connection may be idle. Default: 60 s.
    pub head: Duration,
    /// How long a request's body may pause; else 408. Default: 30 s.
    pub body_pause: Duration,
    /// How long a request's body may take altogether, beside a second for each `body_rate` bytes that have
    /// come; else 408. Default: 30 s.
    pub body: Duration,
    /// How many bytes of a request's body give it a second more. Default: 4 KiB.
    pub body_rate: usize,
    /// How long a caller may leave unread what waits for it, before its connection is cut. Default: 30 s.
    pub unread: Duration,
    /// How long running requests may go on at the end. Default: 30 s.
    pub drain: Duration,
}

impl Default for ListenerLimits {
    fn default() -> Self {
        Self {
            http: HttpImplementation::default(),
            connections: 10_000,
            turned_away: 64,
            headers: 128,
            header_bytes: 64 * 1024,
            head: Duration::from_secs(60),
            body_pause: Duration::from_secs(30),
            body: Duration::from_secs(30),
            body_rate: 4 * 1024,
            unread: Duration::from_secs(30),
            drain: Duration::from_secs(30),
        }
    }
}
