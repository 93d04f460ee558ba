//! What a client sends: the headers that mirror a message.
//!
//! 1. `MCP-Protocol-Version` from `_meta`, `Mcp-Method` from the method, `Mcp-Name` from the name, uri or
//!    task id of the methods that have one.
//! 2. `Accept-Language` from `_meta`, to the letter; where it could not stand in a header it is left out.
//! 3. One `Mcp-Param-*` for each declared argument that is there and is a string, a number or a boolean.
//!    Integers are written as plain decimals; those outside ±(2^53−1) are left out.
//!
//! Whatever this sends, [`agree`](crate::agree) accepts. A gateway uses it for its onward leg, so that the
//! headers there are written anew from the body that is sent.
//!
//! ```
//! use mcp_attune_wire::{message::Message, mirror, schema::DeclaredHeaders};
//!
//! let schema = br#"{"properties":{"city":{"type":"string","x-mcp-header":"City"}}}"#;
//! let body = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{
//!     "name":"get_weather","arguments":{"city":"Zürich"},
//!     "_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"}}}"#;
//! let declared = DeclaredHeaders::read(schema)?;
//! let headers = mirror::headers(&Message::parse(body.as_bytes())?, Some(&declared));
//! let lines: Vec<_> = headers.iter().map(|(name, value)| format!("{name}: {value}")).collect();
//! assert_eq!(lines, [
//!     "MCP-Protocol-Version: 2026-07-28",
//!     "Mcp-Method: tools/call",
//!     "Mcp-Name: get_weather",
//!     "Mcp-Param-City: =?base64?WsO8cmljaA==?=",
//! ]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Rules: H12, L16, G6.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use crate::header::{self, encode};
use crate::json::{JsonKind, JsonString, SpannedValue};
use crate::message::{Message, meta};
use crate::number::{IntegerClass, classify_integer};
use crate::protocol::method;
use crate::schema::DeclaredHeaders;

/// The member of `params` that `Mcp-Name` mirrors, for the methods that have one.
///
/// Rules: H1.
#[must_use]
pub fn name_key(method: JsonString<'_>) -> Option<&'static str> {
    match method.decode().as_deref() {
        Some(method::TOOLS_CALL | method::PROMPTS_GET) => Some("name"),
        Some(method::RESOURCES_READ) => Some("uri"),
        Some(method::TASKS_GET | method::TASKS_UPDATE | method::TASKS_CANCEL) => Some("taskId"),
        _ => None,
    }
}

/// The headers that go with a message, in a fixed order: what a client sends beside `Content-JsonKind`.
///
/// `declared` is what the tool's schema declares, for a `tools/call`; without it no argument is mirrored.
#[must_use]
pub fn headers<'a>(
    message: &Message<'a>,
    declared: Option<&'a DeclaredHeaders>,
) -> Vec<(&'a str, Cow<'a, str>)> {
    let mut headers = Vec::with_capacity(8);
    let mut send = |name, text: Option<JsonString<'a>>| {
        if let Some(text) = text.and_then(JsonString::decode) {
            headers.push((name, encode_cow(text)));
        }
    };
    send(header::PROTOCOL_VERSION, message.meta(meta::PROTOCOL_VERSION).and_then(SpannedValue::text));
    send(header::METHOD, message.method());
    let name = message.method().and_then(name_key).and_then(|key| message.param(key));
    send(header::NAME, name.and_then(SpannedValue::text));

    let language =
        message.meta(meta::ACCEPT_LANGUAGE).and_then(SpannedValue::text).and_then(JsonString::decode);
    if let Some(language) = language.filter(|language| header::needs_no_encoding(language)) {
        headers.push((header::ACCEPT_LANGUAGE, language));
    }
    if let Some(declared) =
        declared.filter(|_| message.method().is_some_and(|method| method.is(method::TOOLS_CALL)))
    {
        for (declaration, value) in declared.iter().zip(declared.argument_values(message)) {
            if let Some(text) = value.and_then(header_text) {
                headers.push((declaration.header(), encode_cow(text)));
            }
        }
    }
    headers
}

/// Encodes without a copy where the text can stand as it is.
fn encode_cow(text: Cow<'_, str>) -> Cow<'_, str> {
    match text {
        Cow::Borrowed(text) => encode(text),
        Cow::Owned(text) => match encode(&text) {
            Cow::Owned(encoded) => Cow::Owned(encoded),
            Cow::Borrowed(_) => Cow::Owned(text),
        },
    }
}

/// Whether an integer is written as we would write it: most are, and need no writing.
pub(crate) fn is_decimal(raw: &str) -> bool {
    match raw.as_bytes() {
        [b'0'] | [b'1'..=b'9'] => true,
        [b'1'..=b'9', rest @ ..] | [b'-', b'1'..=b'9', rest @ ..] => rest.iter().all(u8::is_ascii_digit),
        _ => false,
    }
}

/// The text that an argument has in a header, before it is encoded; `None` where it has none.
pub(crate) fn header_text(value: SpannedValue<'_>) -> Option<Cow<'_, str>> {
    match value.kind() {
        JsonKind::String => value.text()?.decode(),
        JsonKind::Boolean => Some(Cow::Borrowed(value.raw())),
        JsonKind::Number => match classify_integer(value.raw()) {
            IntegerClass::Safe(_) if is_decimal(value.raw()) => Some(Cow::Borrowed(value.raw())),
            IntegerClass::Safe(integer) => Some(Cow::Owned(integer.to_string())),
            IntegerClass::Unsafe => None,
            IntegerClass::Not => Some(Cow::Borrowed(value.raw())),
        },
        JsonKind::Null | JsonKind::Object | JsonKind::Array => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;
    use alloc::string::String;

    fn sent(body: &str, schema: &str) -> Vec<String> {
        let declared = DeclaredHeaders::read(schema.as_bytes()).unwrap();
        let message = Message::parse(body.as_bytes()).unwrap();
        headers(&message, Some(&declared))
            .into_iter()
            .map(|(name, value)| format!("{name}: {value}"))
            .collect()
    }

    #[test]
    fn leaves_out_what_has_no_text() {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},"b":{"type":"integer","x-mcp-header":"B"},
            "c":{"properties":{"d":{"type":"boolean","x-mcp-header":"D"}}}}}"#;
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            )
        };
        let params = |arguments| sent(&call(arguments), schema).split_off(2);
        assert_eq!(params(r#"{"a":null,"b":9007199254740993,"c":{"d":[]}}"#), [""; 0]);
        assert_eq!(params(r#"{"b":4.20e1,"c":{"d":false}}"#), ["Mcp-Param-B: 42", "Mcp-Param-D: false"]);
        assert_eq!(params(r#"{"a":"","b":-0.0}"#), ["Mcp-Param-A: ", "Mcp-Param-B: 0"]);
        assert_eq!(params(r#"{"a":"\ud83d"}"#), [""; 0]);
    }

    #[test]
    fn mirrors_arguments_of_tool_calls_only() {
        let schema = r#"{"properties":{"a":{"type":"string","x-mcp-header":"A"}}}"#;
        let body =
            r#"{"jsonrpc":"2.0","id":1,"method":"prompts/get","params":{"name":"p","arguments":{"a":"x"}}}"#;
        assert_eq!(sent(body, schema), ["Mcp-Method: prompts/get", "Mcp-Name: p"]);
    }

    #[test]
    fn sends_the_preference_to_the_letter_or_not_at_all() {
        let body = |value: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"io.modelcontextprotocol/acceptLanguage":{value}}}}}}}"#
            )
        };
        assert_eq!(sent(&body(r#""de-CH,  en;q=0.50""#), "{}")[1..], ["Accept-Language: de-CH,  en;q=0.50"]);
        assert_eq!(sent(&body(r#"" de""#), "{}").len(), 1);
        assert_eq!(sent(&body(r#""日本""#), "{}").len(), 1);
        assert_eq!(sent(&body("7"), "{}").len(), 1);
    }
}
