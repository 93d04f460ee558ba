//! How Attune asks a server which versions of MCP it speaks, and what requests and answers say of versions.
//!
//! 1. A modern server answers `server/discover` with the versions that it supports, or refuses it with an error that only
//!    the modern era has. Such an error may name the versions; if not, it is the newest one.
//! 2. A legacy server answers `initialize` with the version of the session.
//! 3. A modern request names its version in `_meta`, `initialize` names it in `params`.
//!
//! ```
//! use mcp_attune_wire::handshake;
//! use mcp_attune_wire::message::Message;
//!
//! let answer = br#"{"jsonrpc":"2.0","id":0,"result":{"supportedVersions":["2026-07-28"]}}"#;
//! assert_eq!(handshake::supported_versions(&Message::parse(answer)?).unwrap(), ["2026-07-28"]);
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```
//!
//! Rules: G9, H14.

use alloc::borrow::{Cow, ToOwned};
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use crate::json::{JsonQuoted, JsonString, SpannedValue};
use crate::message::Message;
use crate::protocol::method::{INITIALIZE, SERVER_DISCOVER};
use crate::protocol::{code, meta, version};

/// Returns the envelope of a modern request of our own, as the members of its `_meta`. `own` is the version of this program,
/// where it says who it is.
#[must_use]
pub fn envelope(own: Option<&str>) -> String {
    let (version, capabilities) = (meta::PROTOCOL_VERSION, meta::CLIENT_CAPABILITIES);
    let client =
        own.map(|own| format!(r#""{}":{},"#, meta::CLIENT_INFO, client_info(own))).unwrap_or_default();
    format!(r#""{version}":"{}",{client}"{capabilities}":{{}}"#, version::MODERN)
}

/// Returns a `server/discover` with the id 0 and this [`envelope`].
#[must_use]
pub fn discover_request(own: Option<&str>) -> String {
    let envelope = envelope(own);
    format!(r#"{{"jsonrpc":"2.0","id":0,"method":"{SERVER_DISCOVER}","params":{{"_meta":{{{envelope}}}}}}}"#)
}

/// Returns an `initialize` with the id 0, which asks for the newest legacy version. `own` is the version of this program.
#[must_use]
pub fn initialize_request(own: &str) -> String {
    let (newest, client) = (version::NEWEST_LEGACY, client_info(own));
    format!(
        r#"{{"jsonrpc":"2.0","id":0,"method":"{INITIALIZE}","params":{{"protocolVersion":"{newest}","capabilities":{{}},"clientInfo":{client}}}}}"#
    )
}

fn client_info(own: &str) -> String {
    format!(r#"{{"name":"attune","version":{}}}"#, JsonQuoted(own))
}

/// Returns the versions that an answer to `server/discover` names; `None` where it is no answer of a modern server.
#[must_use]
pub fn supported_versions(answer: &Message<'_>) -> Option<Vec<String>> {
    let texts = |list: Option<SpannedValue<'_>>| -> Vec<String> {
        list.into_iter()
            .flat_map(SpannedValue::elements)
            .filter_map(decode_value_text)
            .map(Cow::into_owned)
            .collect()
    };
    if let Some(result) = answer.member("result") {
        return Some(texts(result.member("supportedVersions"))).filter(|versions| !versions.is_empty());
    }
    let error = answer.member("error")?;
    let code = error.member("code")?.raw().parse().ok()?;
    let mut versions = texts(error.member("data").and_then(|data| data.member("supported")));
    if versions.is_empty() {
        versions.push(version::MODERN.to_owned());
    }
    code::MODERN_ONLY.contains(&code).then_some(versions)
}

/// Returns the version of the session that an answer to `initialize` begins.
#[must_use]
pub fn session_version<'a>(answer: &Message<'a>) -> Option<Cow<'a, str>> {
    decode_value_text(answer.member("result")?.member("protocolVersion")?)
}

/// Returns the version of a modern request.
#[must_use]
pub fn request_version<'a>(request: &Message<'a>) -> Option<Cow<'a, str>> {
    request.meta(meta::PROTOCOL_VERSION).and_then(decode_value_text)
}

/// Returns the version that an `initialize` asks for.
#[must_use]
pub fn initialize_version<'a>(initialize: &Message<'a>) -> Option<Cow<'a, str>> {
    initialize.param("protocolVersion").and_then(decode_value_text)
}

fn decode_value_text(value: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    value.text().and_then(JsonString::decode)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_modern_answers_from_others() {
        for (answer, expected) in [
            (
                r#""result":{"supportedVersions":["2026-07-28","2025-11-25"]}"#,
                Some(&["2026-07-28", "2025-11-25"][..]),
            ),
            (r#""error":{"code":-32022,"data":{"supported":["2027-01-01"]}}"#, Some(&["2027-01-01"])),
            (r#""error":{"code":-32021}"#, Some(&["2026-07-28"])),
            (r#""error":{"code":-32601}"#, None),
            (r#""error":{"code":-32602}"#, None),
            (r#""error":{"code":-32000}"#, None),
            (r#""error":{}"#, None),
            (r#""result":{"protocolVersion":"2025-11-25"}"#, None),
            (r#""result":{"supportedVersions":[]}"#, None),
        ] {
            let text = format!(r#"{{"jsonrpc":"2.0","id":0,{answer}}}"#);
            let versions = supported_versions(&Message::parse(text.as_bytes()).unwrap());
            assert_eq!(
                versions.as_deref(),
                expected.map(|all| all.iter().map(|one| (*one).to_owned()).collect::<Vec<_>>()).as_deref(),
                "{answer}"
            );
        }
    }

    #[test]
    fn asks_as_a_client_of_each_era_does() {
        let discover = discover_request(Some("1.2"));
        let read = Message::parse(discover.as_bytes()).unwrap();
        assert!(read.method().unwrap().is("server/discover"));
        assert_eq!(request_version(&read).as_deref(), Some("2026-07-28"));
        assert_eq!(initialize_version(&read), None);
        assert!(discover.ends_with(
            r#""io.modelcontextprotocol/clientInfo":{"name":"attune","version":"1.2"},"io.modelcontextprotocol/clientCapabilities":{}}}}"#
        ));
        assert_eq!(
            envelope(None),
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#
        );
        assert_eq!(
            initialize_request("1.2"),
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"attune","version":"1.2"}}}"#
        );
        let initialize = initialize_request("1.2");
        let read = Message::parse(initialize.as_bytes()).unwrap();
        assert_eq!(initialize_version(&read).as_deref(), Some("2025-11-25"));
        assert_eq!(request_version(&read), None);
    }

    #[test]
    fn a_session_has_the_version_that_the_server_answers_with() {
        let version =
            |answer: &str| session_version(&Message::parse(answer.as_bytes()).unwrap()).map(Cow::into_owned);
        let answer = r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18"}}"#;
        assert_eq!(version(answer).as_deref(), Some("2025-06-18"));
        assert_eq!(version(r#"{"jsonrpc":"2.0","id":0,"error":{"protocolVersion":"2025-06-18"}}"#), None);
        assert_eq!(version(r#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":7}}"#), None);
    }
}
