//! A legacy server in front of which a modern caller stands: which session a request belongs to, how it begins, and what
//! the server says of itself in both eras' words.
//!
//! Rules: X2, X6.

use std::sync::Arc;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::handshake;
use mcp_attune_wire::json::{JsonKind, JsonQuoted, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method::{
    ELICITATION_CREATE, INITIALIZE, INITIALIZED, LOGGING_SET_LEVEL, ROOTS_LIST, SAMPLING_CREATE_MESSAGE,
};
use mcp_attune_wire::protocol::version;

use super::members::{joined, member};

/// What the envelope of a modern request says of its client: who it is, and what it can do. Requests of one profile can
/// share a session.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct CallerProfile {
    /// `clientInfo` as written.
    client: Arc<str>,
    /// `clientCapabilities` as written.
    capabilities: Arc<str>,
}

/// The client that the server is told where a request does not say who it is.
const UNKNOWN_CLIENT: &str = r#"{"name":"unknown","version":"0"}"#;

impl CallerProfile {
    /// Reads the envelope of a modern request.
    #[must_use]
    pub fn of_request(message: &Message<'_>) -> Self {
        let object = |key| message.meta(key).filter(|value| value.kind() == JsonKind::Object);
        let client = object(meta::CLIENT_INFO).map_or(UNKNOWN_CLIENT, SpannedValue::raw);
        let capabilities = object(meta::CLIENT_CAPABILITIES).map_or("{}", SpannedValue::raw);
        Self { client: client.into(), capabilities: capabilities.into() }
    }

    /// Whether the client can answer any question, so that a call of it may wait for input.
    #[must_use]
    pub fn can_be_asked(&self) -> bool {
        [ELICITATION_CREATE, SAMPLING_CREATE_MESSAGE, ROOTS_LIST].iter().any(|method| self.answers(method))
    }

    /// Whether the client declared that it answers requests of this method.
    pub(super) fn answers(&self, method: &str) -> bool {
        let capability = match method {
            ELICITATION_CREATE => "elicitation",
            SAMPLING_CREATE_MESSAGE => "sampling",
            ROOTS_LIST => "roots",
            _ => return false,
        };
        self.capability(|capabilities| Some(capabilities.member(capability)?.kind() == JsonKind::Object))
    }

    /// Whether the client declared that it can send its user to a URL.
    pub(super) fn opens_urls(&self) -> bool {
        self.capability(|capabilities| Some(capabilities.member("elicitation")?.member("url").is_some()))
    }

    fn capability(&self, read: impl FnOnce(SpannedValue<'_>) -> Option<bool>) -> bool {
        let document = Document::parse(self.capabilities.as_bytes());
        document.ok().and_then(|document| read(document.root())).unwrap_or(false)
    }

    /// Returns the `initialize` that begins a session for this client, with the id 0.
    #[must_use]
    pub fn initialize_request(&self) -> String {
        let (newest, client, capabilities) = (version::NEWEST_LEGACY, &self.client, &self.capabilities);
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"{INITIALIZE}","params":{{"protocolVersion":"{newest}","capabilities":{capabilities},"clientInfo":{client}}}}}"#
        )
    }
}

/// Returns the notification that ends the handshake.
#[must_use]
pub fn initialized_notification() -> String {
    format!(r#"{{"jsonrpc":"2.0","method":"{INITIALIZED}"}}"#)
}

/// Returns the request that says which log messages a session wants.
#[must_use]
pub fn set_level_request(level: &str, number: u64) -> String {
    let level = JsonQuoted(level);
    format!(
        r#"{{"jsonrpc":"2.0","id":{number},"method":"{LOGGING_SET_LEVEL}","params":{{"level":{level}}}}}"#
    )
}

/// What a legacy server said when a session began.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct LegacyServer {
    version: String,
    /// `serverInfo` as written.
    info: Arc<str>,
    /// `capabilities` as written.
    capabilities: String,
    /// `instructions` as written.
    instructions: Option<String>,
}

impl LegacyServer {
    /// Reads the answer to `initialize`; `None` where it begins no session.
    #[must_use]
    pub fn read(answer: &Message<'_>) -> Option<Self> {
        let version = handshake::session_version(answer)?.into_owned();
        let result = answer.member("result")?;
        let object = |name: &str| result.member(name).filter(|value| value.kind() == JsonKind::Object);
        let instructions = result.member("instructions").filter(|text| text.kind() == JsonKind::String);
        Some(Self {
            version,
            info: object("serverInfo")
                .map_or(r#"{"name":"unknown","version":"0"}"#, SpannedValue::raw)
                .into(),
            capabilities: object("capabilities").map_or("{}", SpannedValue::raw).to_owned(),
            instructions: instructions.map(|text| text.raw().to_owned()),
        })
    }

    /// Returns the version of the session.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Whether the server sends log messages.
    #[must_use]
    pub fn logs(&self) -> bool {
        let document = Document::parse(self.capabilities.as_bytes());
        document.is_ok_and(|document| document.member("logging").is_some())
    }

    /// Returns who the server is, as written.
    pub(super) fn info(&self) -> &Arc<str> {
        &self.info
    }

    /// Whether the server says that it can do this: a capability, and what it says inside of it is `true`.
    pub(super) fn can(&self, capability: &str, what: &str) -> bool {
        let document = Document::parse(self.capabilities.as_bytes());
        let said =
            |document: &Document<'_>| Some(document.root().member(capability)?.member(what)?.raw() == "true");
        document.ok().and_then(|document| said(&document)).unwrap_or(false)
    }

    /// Returns the answer to the caller's `server/discover`, whose id is written so.
    ///
    /// What a caller can have through the bridge is advertised, and nothing else: the tasks of the legacy era are not those
    /// of the modern one.
    #[must_use]
    pub fn discover_answer(&self, id: &str) -> String {
        let versions =
            [version::MODERN, self.version.as_str()].map(|version| JsonQuoted(version).to_string());
        let capabilities = self.modern_capabilities();
        let instructions =
            self.instructions.as_ref().map(|text| member("instructions", text)).unwrap_or_default();
        let rest = joined([
            instructions.as_str(),
            &member("_meta", &format!("{{{}}}", member(meta::SERVER_INFO, &self.info))),
        ]);
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"result":{{"resultType":"complete","supportedVersions":[{}],"capabilities":{capabilities},{rest},"ttlMs":0,"cacheScope":"private"}}}}"#,
            versions.join(",")
        )
    }

    fn modern_capabilities(&self) -> String {
        let Ok(document) = Document::parse(self.capabilities.as_bytes()) else {
            return "{}".to_owned();
        };
        let cuts = document.root().cut_members(|name| name.is("tasks"));
        let edits: Vec<_> = cuts.into_iter().map(|span| (span, "")).collect();
        document.splice(&edits).unwrap_or_else(|_| "{}".to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn profile(meta: &str) -> CallerProfile {
        let body =
            format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/list","params":{{"_meta":{{{meta}}}}}}}"#);
        CallerProfile::of_request(&Message::parse(body.as_bytes()).unwrap())
    }

    #[test]
    fn a_session_begins_with_what_the_envelope_says() {
        let meta = r#""io.modelcontextprotocol/clientInfo":{"name":"acme","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}"#;
        assert_eq!(
            profile(meta).initialize_request(),
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{"elicitation":{}},"clientInfo":{"name":"acme","version":"2"}}}"#
        );
        assert_eq!(
            profile("").initialize_request(),
            r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"unknown","version":"0"}}}"#
        );
    }

    #[test]
    fn a_client_is_asked_what_it_declared_and_nothing_else() {
        let of = |capabilities: &str| {
            profile(&format!(r#""io.modelcontextprotocol/clientCapabilities":{capabilities}"#))
        };
        for (capabilities, asked) in [
            ("{}", &[][..]),
            (r#"{"elicitation":{}}"#, &["elicitation/create"]),
            (r#"{"sampling":{},"roots":{}}"#, &["sampling/createMessage", "roots/list"]),
            (r#"{"elicitation":true}"#, &[]),
            (r#"{"tools":{}}"#, &[]),
        ] {
            let profile = of(capabilities);
            for method in ["elicitation/create", "sampling/createMessage", "roots/list", "tools/list"] {
                assert_eq!(profile.answers(method), asked.contains(&method), "{capabilities} {method}");
            }
            assert_eq!(profile.can_be_asked(), !asked.is_empty(), "{capabilities}");
        }
        assert!(of(r#"{"elicitation":{"url":{}}}"#).opens_urls());
        assert!(!of(r#"{"elicitation":{"form":{}}}"#).opens_urls());
    }

    #[test]
    fn discovery_is_answered_from_the_handshake() {
        let answer = br#"{"jsonrpc":"2.0","id":0,"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true},"tasks":{"list":{}}},"serverInfo":{"name":"s","version":"1"},"instructions":"Be \"kind\"."}}"#;
        let server = LegacyServer::read(&Message::parse(answer).unwrap()).unwrap();
        assert_eq!(server.version(), "2025-06-18");
        assert!(
            server.can("tools", "listChanged")
                && !server.can("tools", "x")
                && !server.can("prompts", "listChanged")
        );
        assert_eq!(
            server.discover_answer("\"d\""),
            r#"{"jsonrpc":"2.0","id":"d","result":{"resultType":"complete","supportedVersions":["2026-07-28","2025-06-18"],"capabilities":{"tools":{"listChanged":true}},"instructions":"Be \"kind\".","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"1"}},"ttlMs":0,"cacheScope":"private"}}"#
        );
        for none in [
            r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":""}}"#,
            r#"{"jsonrpc":"2.0","id":0,"result":{}}"#,
        ] {
            assert_eq!(LegacyServer::read(&Message::parse(none.as_bytes()).unwrap()), None);
        }
    }
}
