//! The protection against DNS rebinding and foreign web pages: which hosts and origins a request may name.
//!
//! A web page can make a browser send requests to a server on the same machine, and a DNS name can be made to point
//! there. Such requests name the page's origin or that DNS name, so naming anything unknown is refused.
//!
//! 1. Every `Host` that a request names, in its target, in `:authority` or in `Host`, is loopback or listed.
//! 2. Every `Origin` that it names is loopback or listed. None is fine: only browsers send it. `null` is an
//!    origin like any other, and loopback it is not.
//!
//! Loopback is `localhost`, 127.0.0.0/8 (also mapped into IPv6) and `[::1]`, with any port. A listed host
//! without a port stands for any port. Case does not matter.
//!
//! The layer checks this before anything else ([`Settings::guard`](crate::Settings::guard)); the gateway does so for
//! all its mounts at once.
//!
//! ```
//! use mcp_attune_tower::Settings;
//! use mcp_attune_tower::guard::Allowlist;
//!
//! let allowed = Allowlist::new(["mcp.example"], ["https://app.example"])?;
//! assert!(allowed.allows_host(b"MCP.example:8443"));
//! assert!(allowed.allows_origin(b"http://localhost:3000"));
//! assert!(!allowed.allows_host(b"mcp.example.evil.example"));
//!
//! let mut settings = Settings::default(); // only callers on this machine
//! settings.guard = Some(allowed);
//! # Ok::<(), mcp_attune_tower::guard::AllowlistError>(())
//! ```
//!
//! Rules: H15.

mod name;
mod allowed;

pub use allowed::{Allowlist, AllowlistError, GuardError};

/// Makes a value of the caller's fit to be shown in a message: at most 80 bytes, and `?` for every byte that is
/// not printable ASCII.
fn printable_ascii(value: &[u8]) -> String {
    const MAX_BYTES: usize = 80;
    let char = |byte: &u8| if matches!(byte, b' '..=b'~') { char::from(*byte) } else { '?' };
    let mut text: String = value.iter().take(MAX_BYTES).map(char).collect();
    if value.len() > MAX_BYTES {
        text.push('…');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::reply::Reply;

    #[test]
    fn a_refusal_is_json_whatever_a_caller_sent() {
        let value: Vec<u8> = (0..=255).chain(*b"\"}\\").collect();
        for value in value.chunks(64).chain([&value[..]]) {
            let text = Reply::not_accepted(403, "H15", printable_ascii(value).into()).body;
            let read: serde_json::Value = serde_json::from_str(&text).unwrap();
            assert_eq!(read["error"]["code"], -32600);
            assert!(read.get("id").is_none());
            assert!(text.len() < 200, "{text}");
        }
    }
}
