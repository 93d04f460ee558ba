//! Whether the headers that are checked are those that the server behind gets.
//!
//! 1. `Connection` names headers that end with this hop: an intermediary takes them off (RFC 9110 §7.6.1). One that names a
//!    header which the rules read, or which says who is calling, would have it checked here and missing further on.
//! 2. Servers with a CGI-like interface take `_` for `-` in header names: `Mcp_Name` would stand beside `Mcp-Name`, or in
//!    its place, unchecked. (`Mcp-Param-*` may have an underscore where a tool declares it so; `agree` sees to that.)
//!
//! ```
//! use mcp_attune_wire::hop_headers::{self, HopHeaderError};
//!
//! let lines = [("Connection", &b"keep-alive, Mcp-Name"[..]), ("Mcp-Name", b"search")];
//! assert_eq!(hop_headers::check(lines, |_| false), Err(HopHeaderError::ConnectionNames("mcp-name".into())));
//! assert_eq!(hop_headers::check([("Mcp_Name", &b"search"[..])], |_| false), Err(HopHeaderError::Underscore));
//! assert_eq!(hop_headers::check([("Connection", &b"close"[..])], |_| false), Ok(()));
//! ```
//!
//! Rules: H20.

use alloc::string::String;
use core::fmt;

use crate::notice::Notice;
use crate::protocol::header::{PARAM_PREFIX, lowercase};

/// What the names of MCP's own headers begin with.
const MCP_PREFIX: &[u8] = b"mcp-";

/// Headers that a `Connection` header must not name, beside those that begin with `mcp-`: what rules read, what frames the
/// message, and what says who is calling.
const PROTECTED: [&str; 12] = [
    "accept",
    lowercase::ACCEPT_LANGUAGE,
    "authorization",
    "content-encoding",
    "content-length",
    "content-type",
    "cookie",
    "host",
    lowercase::LAST_EVENT_ID,
    "origin",
    "transfer-encoding",
    "x-request-id",
];

/// Why the headers of a request are not those that arrive.
#[derive(Clone, PartialEq, Eq, Debug)]
#[non_exhaustive]
pub enum HopHeaderError {
    /// `Connection` names this header, in lower case: `Connection: Mcp-Name`.
    ConnectionNames(String),
    /// A header name becomes one of MCP's when `_` is taken for `-`: `Mcp_Name`.
    Underscore,
}

impl HopHeaderError {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(&self) -> Notice {
        match self {
            Self::ConnectionNames(name) => Notice::ConnectionNames { name: name.clone().into() },
            Self::Underscore => Notice::NameWithUnderscore,
        }
    }
}

impl fmt::Display for HopHeaderError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl core::error::Error for HopHeaderError {}

/// Checks all header lines of a request. `is_identity` says of a name in lower case whether its header tells callers apart.
///
/// # Errors
///
/// [`HopHeaderError`] for the first line that is.
pub fn check<'h>(
    lines: impl IntoIterator<Item = (&'h str, &'h [u8])>,
    is_identity: impl Fn(&str) -> bool,
) -> Result<(), HopHeaderError> {
    for (name, value) in lines {
        match name.as_bytes() {
            [b'c' | b'C', ..] if name.eq_ignore_ascii_case("connection") => {
                if let Some(name) = find_protected(value, &is_identity) {
                    return Err(HopHeaderError::ConnectionNames(name));
                }
            }
            [b'm' | b'M', ..] if name.contains('_') && folds_to_mcp(name) => {
                return Err(HopHeaderError::Underscore);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The first header that a `Connection` line must not name.
fn find_protected(value: &[u8], is_identity: impl Fn(&str) -> bool) -> Option<String> {
    let tokens = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    tokens.filter_map(|token| core::str::from_utf8(token).ok()).map(str::to_ascii_lowercase).find(|token| {
        let hyphens = token.bytes().map(|byte| if byte == b'_' { b'-' } else { byte });
        hyphens.take(MCP_PREFIX.len()).eq(MCP_PREFIX.iter().copied())
            || PROTECTED.contains(&token.as_str())
            || is_identity(token)
    })
}

/// Whether a name with underscores is one of MCP's with hyphens. What follows `Mcp-Param-` is left to the tool's declaration.
fn folds_to_mcp(name: &str) -> bool {
    let (prefix, _) = name.split_at_checked(PARAM_PREFIX.len()).unwrap_or((name, ""));
    if prefix.eq_ignore_ascii_case(PARAM_PREFIX) {
        return false;
    }
    let folded = name.bytes().map(|byte| if byte == b'_' { b'-' } else { byte.to_ascii_lowercase() });
    folded.take(MCP_PREFIX.len()).eq(MCP_PREFIX.iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check_one(name: &str, value: &str, expected: &Result<(), HopHeaderError>) {
        let lines = [("Host", &b"a"[..]), (name, value.as_bytes())];
        assert_eq!(check(lines, |name| name == "x-tenant"), *expected, "{name}: {value}");
    }

    #[test]
    fn refuses_a_connection_that_takes_away_what_was_checked() {
        for (value, found) in [
            ("Mcp-Name", "mcp-name"),
            ("close, mcp-method", "mcp-method"),
            ("keep-alive ,\tMCP-PROTOCOL-VERSION", "mcp-protocol-version"),
            (",,Mcp-Param-Region,", "mcp-param-region"),
            ("Mcp_Name", "mcp_name"),
            ("Mcp-Session-Id", "mcp-session-id"),
            ("Authorization", "authorization"),
            ("te, Cookie", "cookie"),
            ("Content-Type", "content-type"),
            ("Accept-Language", "accept-language"),
            ("X-Tenant", "x-tenant"),
            ("Host", "host"),
        ] {
            check_one("conNECTION", value, &Err(HopHeaderError::ConnectionNames(found.into())));
        }
    }

    #[test]
    fn lets_a_connection_name_all_else() {
        for value in [
            "close",
            "keep-alive",
            "TE",
            "upgrade, HTTP2-Settings",
            "X-Hop",
            "mcp",
            "x-mcp-name",
            "",
            "\u{e9}",
        ] {
            check_one("Connection", value, &Ok(()));
        }
        check_one("Connections", "Mcp-Name", &Ok(()));
    }

    #[test]
    fn refuses_names_that_some_servers_take_for_those_of_mcp() {
        for name in [
            "Mcp_Name",
            "MCP_Protocol_Version",
            "mcp-protocol_version",
            "Mcp_Param_Region",
            "mcp_param-x",
            "Mcp-Param_X",
        ] {
            check_one(name, "x", &Err(HopHeaderError::Underscore));
        }
        for name in ["Mcp-Name", "Mcp-Param-user_id", "mcp", "m_cp", "mcpx_name", "X_Mcp_Name", "my_header"] {
            check_one(name, "x", &Ok(()));
        }
    }
}
