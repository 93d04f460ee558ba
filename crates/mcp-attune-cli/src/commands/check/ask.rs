//! A request that is right in every respect, and what a scenario changes about it.

use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::mirror;
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::header;
use mcp_attune_wire::protocol::method;
use mcp_attune_wire::schema::DeclaredHeaders;
use serde_json::{Map, Value, json};

use super::traffic::CheckWireRequest;

/// One moment, which is another day, month and year in the east than in the west.
const MOMENT: &str = "2026-01-01T10:30:00Z";
pub(super) const EAST: &str = "Pacific/Kiritimati";
pub(super) const WEST: &str = "Pacific/Pago_Pago";

/// A caller's context at that moment.
pub(super) fn context_at(zone: &str) -> Value {
    json!({ "timezone": zone, "currentTimestamp": MOMENT })
}

/// The two ways of speaking MCP, with what each needs on every request.
#[derive(Clone, Debug)]
pub(super) enum CheckProtocol {
    /// Every request stands alone, and says its version.
    Modern(String),
    /// `initialize` came first; over HTTP it may have given a session.
    Legacy { version: String, session: Option<String> },
}

#[derive(Clone, Debug)]
pub(super) struct CheckRequest {
    manner: CheckProtocol,
    message: Map<String, Value>,
    params: Map<String, Value>,
    meta: Map<String, Value>,
    declared: Option<DeclaredHeaders>,
    /// Changes of the headers, in order.
    edits: Vec<CheckHeaderEdit>,
    small: bool,
    /// The body, where it is none that could be built.
    body: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum CheckHeaderEdit {
    Set(String, Vec<u8>),
    Add(String, Vec<u8>),
    Drop(String),
}

impl CheckRequest {
    pub(super) fn new(manner: &CheckProtocol, method: &str, params: Value) -> Self {
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        let mut meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        if let CheckProtocol::Modern(version) = manner {
            meta.insert(meta::PROTOCOL_VERSION.to_owned(), json!(version));
            meta.insert(meta::CLIENT_CAPABILITIES.to_owned(), json!({}));
            let us = json!({ "name": "attune-check", "version": env!("CARGO_PKG_VERSION") });
            meta.insert(meta::CLIENT_INFO.to_owned(), us);
        }
        let message = json!({ "jsonrpc": "2.0", "method": method });
        let message = if let Value::Object(message) = message { message } else { Map::new() };
        let (edits, declared) = (Vec::new(), None);
        Self { manner: manner.clone(), message, params, meta, declared, edits, small: false, body: None }
    }

    /// The tool that is called, if one is.
    pub(super) fn tool(&self) -> Option<&str> {
        let calls = self.message.get("method").is_some_and(|method| method == method::TOOLS_CALL);
        self.params.get("name").filter(|_| calls)?.as_str()
    }

    /// Mirrors arguments as the tool's schema declares it.
    pub(super) fn with_declared_headers(mut self, declared: Option<&DeclaredHeaders>) -> Self {
        self.declared = declared.cloned();
        self
    }

    /// Replaces a header.
    pub(super) fn with_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.edits.push(CheckHeaderEdit::Set(name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Adds a line, whether there is one of this name or not.
    pub(super) fn with_added_header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.edits.push(CheckHeaderEdit::Add(name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Leaves a header out.
    pub(super) fn without_header(mut self, name: &str) -> Self {
        self.edits.push(CheckHeaderEdit::Drop(name.to_owned()));
        self
    }

    /// Writes the names of headers in small letters.
    pub(super) fn with_lowercase_headers(mut self) -> Self {
        self.small = true;
        self
    }

    pub(super) fn with_meta(mut self, key: &str, value: Value) -> Self {
        self.meta.insert(key.to_owned(), value);
        self
    }

    pub(super) fn without_meta(mut self, key: &str) -> Self {
        self.meta.remove(key);
        self
    }

    /// A member beside `params`.
    pub(super) fn with_message_member(mut self, key: &str, value: Value) -> Self {
        self.message.insert(key.to_owned(), value);
        self
    }

    /// A preference, in `_meta` and in the header that repeats it.
    pub(super) fn with_preference(self, preference: &str) -> Self {
        self.with_meta(meta::ACCEPT_LANGUAGE, json!(preference))
    }

    /// The settings of the extension for content negotiation.
    pub(super) fn with_negotiation(self, settings: &Value) -> Self {
        self.with_meta(meta::CLIENT_CAPABILITIES, json!({ "extensions": { CONTENT_NEGOTIATION: settings } }))
    }

    /// Feature tags.
    pub(super) fn with_tags(self, tags: &[&str]) -> Self {
        self.with_negotiation(&json!({ "version": "1.0", "features": tags }))
    }

    /// The caller's context, in `_meta`.
    pub(super) fn with_context(self, context: Value) -> Self {
        self.with_meta(meta::CLIENT_CONTEXT, context)
    }

    /// Another body, with the headers of this one. `$ID` in it becomes the id.
    pub(super) fn with_body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// The message as text, to be spoiled; `$ID` stands for the id.
    pub(super) fn body_template(&self) -> String {
        self.message_json().replace("\"$ID\"", "$ID")
    }

    fn message_json(&self) -> String {
        let mut message = self.message.clone();
        let mut params = self.params.clone();
        if !self.meta.is_empty() {
            params.insert("_meta".to_owned(), Value::Object(self.meta.clone()));
        }
        message.insert("params".to_owned(), Value::Object(params));
        message.insert("id".to_owned(), json!("$ID"));
        Value::Object(message).to_string()
    }

    /// As it goes out.
    pub(super) fn to_wire(&self, id: u64) -> CheckWireRequest {
        let number = id.to_string();
        let text = self.body_template().replace("$ID", &number);
        let mut headers: Vec<(String, Vec<u8>)> = vec![
            ("Content-Type".into(), "application/json".into()),
            ("Accept".into(), "application/json, text/event-stream".into()),
        ];
        let message = Message::parse(text.as_bytes()).ok();
        let mirrored = message.as_ref().map(|it| mirror::headers(it, self.declared.as_ref()));
        let lines = mirrored.into_iter().flatten();
        let lines = lines.map(|(name, value)| (name.to_owned(), value.into_owned().into_bytes()));
        match &self.manner {
            CheckProtocol::Modern(_) => headers.extend(lines),
            CheckProtocol::Legacy { version, session } => {
                headers.extend(lines.filter(|(name, _)| name.eq_ignore_ascii_case(header::ACCEPT_LANGUAGE)));
                headers.push((header::PROTOCOL_VERSION.into(), version.clone().into()));
                headers.extend(session.clone().map(|session| (header::SESSION_ID.into(), session.into())));
            }
        }
        for edit in &self.edits {
            let (CheckHeaderEdit::Set(name, _) | CheckHeaderEdit::Add(name, _) | CheckHeaderEdit::Drop(name)) =
                edit;
            if !matches!(edit, CheckHeaderEdit::Add(..)) {
                headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
            }
            if let CheckHeaderEdit::Set(name, value) | CheckHeaderEdit::Add(name, value) = edit {
                headers.push((name.clone(), value.clone()));
            }
        }
        let body = match &self.body {
            Some(body) => replace_bytes(body, b"$ID", number.as_bytes()),
            None => text.into_bytes(),
        };
        CheckWireRequest { headers, body, small: self.small }
    }
}

/// Bytes with each place of a mark replaced: a body may be no text.
fn replace_bytes(bytes: &[u8], mark: &[u8], with: &[u8]) -> Vec<u8> {
    let mut rest = bytes;
    let mut all = Vec::new();
    while let Some((first, after)) = rest.split_first() {
        if let Some(after) = rest.strip_prefix(mark) {
            all.extend_from_slice(with);
            rest = after;
        } else {
            all.push(*first);
            rest = after;
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_say_what_the_body_says_until_they_are_changed() {
        let manner = CheckProtocol::Modern("2026-07-28".to_owned());
        let ask = CheckRequest::new(&manner, "tools/call", json!({ "name": "a" })).with_preference("de");
        let shown = |ask: &CheckRequest| {
            let sent = ask.to_wire(7);
            let lines = sent.headers.iter().skip(2);
            let lines = lines.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let right =
            "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: a\nAccept-Language: de";
        assert_eq!(shown(&ask), right);
        let changed = ask
            .clone()
            .with_header("mcp-name", "b")
            .with_added_header("Mcp-Name", "c")
            .without_header(header::ACCEPT_LANGUAGE);
        assert_eq!(
            shown(&changed),
            "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nmcp-name: b\nMcp-Name: c"
        );
        assert!(String::from_utf8(ask.to_wire(7).body).unwrap().contains("\"id\":7"));
        assert_eq!(ask.with_body(b"\xff$ID").to_wire(7).body, b"\xff7");
    }

    #[test]
    fn a_session_goes_with_every_request_of_the_older_era() {
        let manner =
            CheckProtocol::Legacy { version: "2025-11-25".to_owned(), session: Some("s".to_owned()) };
        let sent = CheckRequest::new(&manner, "tools/list", json!({})).to_wire(1);
        let names: Vec<_> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Session-Id"]);
        assert!(!String::from_utf8(sent.body).unwrap().contains("_meta"));
    }
}
