//! Who a client says it is.

use core::fmt;

use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method;

use super::fields::{IdPayloadError, IdPayloadReader, put_bytes, utf8_text};

/// The name and the version that a client reports of itself (`clientInfo`). `Debug` shows neither.
///
/// ```
/// use mcp_attune::session::ClientImplementation;
///
/// let client = ClientImplementation::new("acme-agent", "2.1.0").unwrap();
/// assert_eq!((client.name(), client.version()), ("acme-agent", "2.1.0"));
/// assert!(ClientImplementation::new("", "1").is_none());
/// ```
///
/// Rules: A5.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientImplementation {
    name: Box<str>,
    version: Box<str>,
}

impl ClientImplementation {
    /// How many bytes a name may have.
    pub const MAX_NAME_BYTES: usize = 128;
    /// How many bytes a version may have.
    pub const MAX_VERSION_BYTES: usize = 64;

    /// A client, unless its name is empty or something is too long.
    #[must_use]
    pub fn new(name: &str, version: &str) -> Option<Self> {
        let fits =
            (1..=Self::MAX_NAME_BYTES).contains(&name.len()) && version.len() <= Self::MAX_VERSION_BYTES;
        fits.then(|| Self { name: name.into(), version: version.into() })
    }

    /// Who sends an `initialize`; none for another message.
    #[must_use]
    pub fn from_initialize(message: &Message<'_>) -> Option<Self> {
        let begins = message.method().is_some_and(|method| method.is(method::INITIALIZE));
        Self::read(message.param("clientInfo").filter(|_| begins)?)
    }

    /// Who sends a request of the modern era.
    #[must_use]
    pub fn from_request(message: &Message<'_>) -> Option<Self> {
        Self::read(message.meta(meta::CLIENT_INFO)?)
    }

    fn read(info: SpannedValue<'_>) -> Option<Self> {
        let text = |name: &str| info.member(name)?.text().and_then(JsonString::decode);
        Self::new(&text("name")?, &text("version").unwrap_or_default())
    }

    /// The name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The version; empty where the client reports none.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    pub(super) fn encode_into(&self, out: &mut Vec<u8>) {
        put_bytes(out, self.name.as_bytes());
        put_bytes(out, self.version.as_bytes());
    }

    pub(super) fn decode_from(reader: &mut IdPayloadReader<'_>) -> Result<Self, IdPayloadError> {
        let name = utf8_text(reader.bytes(Self::MAX_NAME_BYTES)?)?;
        let version = utf8_text(reader.bytes(Self::MAX_VERSION_BYTES)?)?;
        Self::new(name, version).ok_or(IdPayloadError::Short)
    }
}

impl fmt::Debug for ClientImplementation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ClientImplementation(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_names_itself_in_initialize_or_in_each_request() {
        let read = |body: &str| {
            let message = Message::parse(body.as_bytes()).unwrap();
            let begins = ClientImplementation::from_initialize(&message);
            begins.or_else(|| ClientImplementation::from_request(&message))
        };
        let named = ClientImplementation::new("acme", "2");
        let initialize = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"clientInfo":{"name":"acme","version":"2"}}}"#;
        assert_eq!(read(initialize), named);
        assert_eq!(read(&initialize.replace("initialize", "ping")), None);
        let modern = r#"{"jsonrpc":"2.0","id":0,"method":"ping","params":{"_meta":{"io.modelcontextprotocol/clientInfo":{"name":"acme","version":"2"}}}}"#;
        assert_eq!(read(modern), named);
        for info in
            ["7", "{}", r#"{"name":7}"#, r#"{"name":""}"#, &format!(r#"{{"name":"{}"}}"#, "x".repeat(129))]
        {
            assert_eq!(read(&initialize.replace(r#"{"name":"acme","version":"2"}"#, info)), None, "{info}");
        }
    }
}
