//! What connections and their requests may use.

use std::time::Duration;

use crate::config::HttpImplementation;

/// What callers may use, and who reads their requests. Rules: G4.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub struct ListenerLimits {
    /// Which implementation of HTTP/1.1 reads requests.
    pub http: HttpImplementation,
    /// Connections at a time.
    pub connections: usize,
    /// Connections above it that are told so, at a time.
    pub turned_away: usize,
    /// Headers of one request.
    pub headers: usize,
    /// Bytes of the head of one request, at least 8 KiB.
    pub header_bytes: usize,
    /// How long a TLS handshake may take, and the head of a request, waiting for it included.
    pub head: Duration,
    /// How long a request's body may pause.
    pub body_pause: Duration,
    /// How long a request's body may take, beside a second for each `body_rate` bytes of it.
    pub body: Duration,
    /// How many bytes of a request's body give it a second more.
    pub body_rate: usize,
    /// How long a caller may leave unread what waits for it.
    pub unread: Duration,
    /// How long running requests have at the end.
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
