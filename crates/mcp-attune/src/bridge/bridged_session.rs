//! A legacy caller in front of a modern server: its `initialize` is answered from `server/discover`, and what every later
//! request has to say travels in the session id.
//!
//! Rules: X4, X6.

use mcp_attune_wire::document::Document;
use mcp_attune_wire::handshake;
use mcp_attune_wire::json::{JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::version;

use super::members::{joined, member};
use super::sealed::SealedCallError;
use crate::exchange::{BRIDGE_PREFIX, IdSeal};

/// What a legacy client said when it began its session.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BridgedSession {
    /// The version of the session.
    version: String,
    /// `clientInfo` as written.
    client: String,
    /// `capabilities` as written.
    capabilities: String,
}

/// The most bytes that what a client says of itself may have in a session id.
const MAX_SESSION_BYTES: usize = 2048;
/// The longest name or version of a client that is kept where what it says of itself is too long.
const MAX_NAME_CHARACTERS: usize = 64;

impl BridgedSession {
    /// Reads the `initialize` of a legacy client. What is too long for a session id is shortened: of `clientInfo` the name
    /// and the version stay, of the capabilities those that a server can make use of.
    #[must_use]
    pub fn read(initialize: &Message<'_>) -> Self {
        let asked = handshake::initialize_version(initialize);
        let known = asked.as_deref().and_then(|asked| version::LEGACY.iter().find(|known| **known == asked));
        let object = |name| initialize.param(name).filter(|value| value.kind() == JsonKind::Object);
        let (client, capabilities) = (object("clientInfo"), object("capabilities"));
        let whole = Self {
            version: (*known.unwrap_or(&version::NEWEST_LEGACY)).to_owned(),
            client: client.map_or("{}", SpannedValue::raw).to_owned(),
            capabilities: capabilities.map_or("{}", SpannedValue::raw).to_owned(),
        };
        if whole.encode().len() <= MAX_SESSION_BYTES {
            return whole;
        }
        let text = |name| {
            let text = client.and_then(|client| client.member(name)?.text()?.decode()).unwrap_or_default();
            JsonQuoted(&text.chars().take(MAX_NAME_CHARACTERS).collect::<String>()).to_string()
        };
        let client = joined([member("name", &text("name")).as_str(), &member("version", &text("version"))]);
        let declared = |name: &&str| {
            capabilities.is_some_and(|all| all.member(name).is_some_and(|it| it.kind() == JsonKind::Object))
        };
        let kept: Vec<_> = ["elicitation", "sampling", "roots"]
            .iter()
            .filter(|name| declared(name))
            .map(|name| member(name, "{}"))
            .collect();
        Self { client: format!("{{{client}}}"), capabilities: format!("{{{}}}", kept.join(",")), ..whole }
    }

    /// Returns the answer to `initialize`, from the server's answer to `server/discover`; `None` where that is none. The
    /// id is the caller's, as written.
    ///
    /// What is named for the modern era alone is not advertised.
    #[must_use]
    pub fn initialize_answer(&self, id: &str, discovered: &Message<'_>) -> Option<String> {
        let result = discovered.member("result")?;
        result.member("supportedVersions")?;
        let capabilities = result.member("capabilities").filter(|value| value.kind() == JsonKind::Object);
        let info = result.member("_meta").and_then(|own| own.member(meta::SERVER_INFO));
        let info =
            info.or_else(|| result.member("serverInfo")).filter(|info| info.kind() == JsonKind::Object);
        let info = info.map_or(r#"{"name":"unknown","version":"0"}"#, SpannedValue::raw);
        let instructions = result.member("instructions").map(|text| member("instructions", text.raw()));
        let members = joined([
            member("protocolVersion", &JsonQuoted(&self.version).to_string()).as_str(),
            &member("capabilities", capabilities.map_or("{}", SpannedValue::raw)),
            &member("serverInfo", info),
            instructions.as_deref().unwrap_or_default(),
        ]);
        Some(format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{{members}}}}}"#))
    }

    /// Returns the members of `_meta` that a modern request of this client has.
    pub(super) fn envelope(&self, log_level: Option<&str>) -> String {
        let level = log_level.map(|level| member(meta::LOG_LEVEL, &JsonQuoted(level).to_string()));
        joined([
            member(meta::PROTOCOL_VERSION, &JsonQuoted(version::MODERN).to_string()).as_str(),
            &member(meta::CLIENT_INFO, &self.client),
            &member(meta::CLIENT_CAPABILITIES, &self.capabilities),
            level.as_deref().unwrap_or_default(),
        ])
    }

    fn encode(&self) -> String {
        let version = JsonQuoted(&self.version);
        format!("[{version},{},{}]", self.client, self.capabilities)
    }

    /// Returns the session id that carries all of it. `None` where the host has no randomness.
    #[must_use]
    pub fn seal(&self, seal: &IdSeal) -> Option<String> {
        seal.seal_bridged_session(self.encode().as_bytes())
    }

    /// Whether a session id is one of a bridged session, or looks like one.
    #[must_use]
    pub fn is_sealed(id: &[u8]) -> bool {
        id.starts_with(BRIDGE_PREFIX)
    }

    /// Opens a session id; `None` where it is none of a bridged session.
    ///
    /// # Errors
    ///
    /// [`SealedCallError`] for one that looks like ours and does not open.
    pub fn open(seal: &IdSeal, id: &[u8]) -> Result<Option<Self>, SealedCallError> {
        let opened = seal.open_bridged_session(id, MAX_SESSION_BYTES).map_err(|_| SealedCallError)?;
        let Some(bytes) = opened else { return Ok(None) };
        Self::decode(&bytes).map(Some).ok_or(SealedCallError)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let document = Document::parse(bytes).ok()?;
        let mut parts = document.root().elements();
        let version = parts.next()?.text().and_then(JsonString::decode)?.into_owned();
        let (client, capabilities) = (parts.next()?.raw().to_owned(), parts.next()?.raw().to_owned());
        Some(Self { version, client, capabilities })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::exchange::SealKeys;

    fn session(params: &str) -> BridgedSession {
        let body = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{{params}}}}}"#);
        BridgedSession::read(&Message::parse(body.as_bytes()).unwrap())
    }

    fn seal(key: u8) -> IdSeal {
        IdSeal::new(SealKeys::new(&[key; 32], []), "default", |bytes| {
            bytes.fill(7);
            Ok(())
        })
    }

    #[test]
    fn initialize_is_answered_in_the_version_that_was_asked_for() {
        let discovered = br#"{"jsonrpc":"2.0","id":0,"result":{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"instructions":"Hi","_meta":{"io.modelcontextprotocol/serverInfo":{"name":"s","version":"3"}}}}"#;
        let discovered = Message::parse(discovered).unwrap();
        for (asked, answered) in [
            ("2025-06-18", "2025-06-18"),
            ("2024-11-05", "2024-11-05"),
            ("2099-01-01", "2025-11-25"),
            ("2026-07-28", "2025-11-25"),
        ] {
            let answer =
                session(&format!(r#""protocolVersion":"{asked}""#)).initialize_answer("\"i\"", &discovered);
            assert_eq!(
                answer.unwrap(),
                format!(
                    r#"{{"jsonrpc":"2.0","id":"i","result":{{"protocolVersion":"{answered}","capabilities":{{"tools":{{}}}},"serverInfo":{{"name":"s","version":"3"}},"instructions":"Hi"}}}}"#
                )
            );
        }
        let error =
            Message::parse(br#"{"jsonrpc":"2.0","id":0,"error":{"code":-32601,"message":""}}"#).unwrap();
        assert_eq!(session("").initialize_answer("1", &error), None);
    }

    #[test]
    fn a_session_id_carries_what_the_client_said() {
        let said = session(
            r#""protocolVersion":"2025-06-18","clientInfo":{"name":"acme","version":"2"},"capabilities":{"roots":{}}"#,
        );
        let id = said.seal(&seal(1)).unwrap();
        assert!(id.bytes().all(|byte| byte.is_ascii_graphic()));
        assert_eq!(BridgedSession::open(&seal(1), id.as_bytes()), Ok(Some(said.clone())));
        assert_eq!(BridgedSession::open(&seal(2), id.as_bytes()), Err(SealedCallError));
        assert_eq!(BridgedSession::open(&seal(1), b"1868a90c"), Ok(None));
        assert_eq!(
            said.envelope(Some("info")),
            r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientInfo":{"name":"acme","version":"2"},"io.modelcontextprotocol/clientCapabilities":{"roots":{}},"io.modelcontextprotocol/logLevel":"info""#
        );
    }

    #[test]
    fn what_is_too_long_for_an_id_is_shortened() {
        let long = "x".repeat(3000);
        let said = session(&format!(
            r#""clientInfo":{{"name":"{long}","version":"2","icons":"{long}"}},"capabilities":{{"roots":{{}},"experimental":{{"a":"{long}"}}}}"#
        ));
        assert_eq!(said.client, format!(r#"{{"name":"{}","version":"2"}}"#, "x".repeat(64)));
        assert_eq!(said.capabilities, r#"{"roots":{}}"#);
        let id = said.seal(&seal(1)).unwrap();
        assert_eq!(BridgedSession::open(&seal(1), id.as_bytes()), Ok(Some(said)));
    }
}
