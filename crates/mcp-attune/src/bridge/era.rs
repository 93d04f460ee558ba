//! Which era a server speaks, from its answer to `server/discover`.
//!
//! Rules: X1.

use mcp_attune_wire::handshake;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::version;

/// What an answer to `server/discover` says about the era of a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ProbedEra {
    /// It speaks the modern era.
    Modern,
    /// It does not, so `initialize` decides.
    NotModern,
    /// It says nothing about that: the answer is about credentials or load.
    Undecided,
}

impl ProbedEra {
    /// Reads an answer: its HTTP status, and its message where it has one.
    ///
    /// A server that names the versions it speaks, and no modern one among them, is not modern: a gateway in front of a
    /// legacy server answers so.
    ///
    /// ```
    /// use mcp_attune::bridge::ProbedEra;
    ///
    /// let answer = br#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2026-07-28"]}}"#;
    /// assert_eq!(ProbedEra::read(200, answer), ProbedEra::Modern);
    /// assert_eq!(ProbedEra::read(400, b"Bad Request"), ProbedEra::NotModern);
    /// assert_eq!(ProbedEra::read(401, b""), ProbedEra::Undecided);
    /// ```
    #[must_use]
    pub fn read(status: u16, body: &[u8]) -> Self {
        if matches!(status, 401 | 403 | 429 | 502..=504) {
            return Self::Undecided;
        }
        let versions = Message::parse(body).ok().and_then(|answer| handshake::supported_versions(&answer));
        match versions {
            Some(versions) if versions.iter().any(|named| named.as_str() >= version::MODERN) => Self::Modern,
            Some(_) | None => Self::NotModern,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_say_which_era_it_is() {
        for (status, body, expected) in [
            (
                200,
                r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2025-11-25","2026-07-28"]}}"#,
                ProbedEra::Modern,
            ),
            (400, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32020,"message":""}}"#, ProbedEra::Modern),
            (400, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32021,"message":""}}"#, ProbedEra::Modern),
            (400, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":""}}"#, ProbedEra::Modern),
            (
                400,
                r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"","data":{"supported":["2027-01-01"]}}}"#,
                ProbedEra::Modern,
            ),
            (
                400,
                r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"","data":{"supported":["2025-11-25"]}}}"#,
                ProbedEra::NotModern,
            ),
            (200, r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":""}}"#, ProbedEra::NotModern),
            (404, "", ProbedEra::NotModern),
            (500, "", ProbedEra::NotModern),
            (
                401,
                r#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2026-07-28"]}}"#,
                ProbedEra::Undecided,
            ),
            (403, "", ProbedEra::Undecided),
            (429, "", ProbedEra::Undecided),
            (502, "", ProbedEra::Undecided),
            (503, "", ProbedEra::Undecided),
            (504, "", ProbedEra::Undecided),
        ] {
            assert_eq!(ProbedEra::read(status, body.as_bytes()), expected, "{status} {body}");
        }
    }
}
