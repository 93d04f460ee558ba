//! A request that is right in every respect, and what a scenario changes about it.

use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::mirror;
use mcp_attune_wire::protocol::extension::CONTENT_NEGOTIATION;
use mcp_attune_wire::protocol::header;
use mcp_attune_wire::protocol::method;
use mcp_attune_wire::schema::Declared;
use serde_json::{Map, Value, json};

use super::traffic::Sent;

/// One moment, which is another day, month and year in the east than in the west.
const MOMENT: &str = "2026-01-01T10:30:00Z";
pub(super) const EAST: &str = "Pacific/Kiritimati";
pub(super) const WEST: &str = "Pacific/Pago_Pago";

/// A caller's context at that moment.
pub(super) fn at(zone: &str) -> Value {
    json!({ "timezone": zone, "currentTimestamp": MOMENT })
}

/// The two ways of speaking MCP, with what each needs on every request.
#[derive(Clone, Debug)]
pub(super) enum Manner {
    /// Every request stands alone, and says its version.
    Modern(String),
    /// `initialize` came first; over HTTP it may have given a session.
    Legacy { version: String, session: Option<String> },
}

#[derive(Clone, Debug)]
pub(super) struct Ask {
    manner: Manner,
    message: Map<String, Value>,
    params: Map<String, Value>,
    meta: Map<String, Value>,
    declared: Option<Declared>,
    /// Changes of the headers, in order.
    edits: Vec<Edit>,
    small: bool,
    /// The body, where it is none that could be built.
    body: Option<Vec<u8>>,
}

#[derive(Clone, Debug)]
enum Edit {
    Set(String, Vec<u8>),
    Add(String, Vec<u8>),
    Drop(String),
}

impl Ask {
    pub(super) fn new(manner: &Manner, method: &str, params: Value) -> Self {
        let mut params = if let Value::Object(params) = params { params } else { Map::new() };
        let mut meta = match params.remove("_meta") {
            Some(Value::Object(meta)) => meta,
            _ => Map::new(),
        };
        if let Manner::Modern(version) = manner {
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
    pub(super) fn declared(mut self, declared: Option<&Declared>) -> Self {
        self.declared = declared.cloned();
        self
    }

    /// Replaces a header.
    pub(super) fn with(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.edits.push(Edit::Set(name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Adds a line, whether there is one of this name or not.
    pub(super) fn and(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self.edits.push(Edit::Add(name.to_owned(), value.as_ref().to_vec()));
        self
    }

    /// Leaves a header out.
    pub(super) fn without(mut self, name: &str) -> Self {
        self.edits.push(Edit::Drop(name.to_owned()));
        self
    }

    /// Writes the names of headers in small letters.
    pub(super) fn in_small_letters(mut self) -> Self {
        self.small = true;
        self
    }

    pub(super) fn meta(mut self, key: &str, value: Value) -> Self {
        self.meta.insert(key.to_owned(), value);
        self
    }

    pub(super) fn without_meta(mut self, key: &str) -> Self {
        self.meta.remove(key);
        self
    }

    /// A member beside `params`.
    pub(super) fn beside(mut self, key: &str, value: Value) -> Self {
        self.message.insert(key.to_owned(), value);
        self
    }

    /// A preference, in `_meta` and in the header that repeats it.
    pub(super) fn prefers(self, preference: &str) -> Self {
        self.meta(meta::ACCEPT_LANGUAGE, json!(preference))
    }

    /// The settings of the extension for content negotiation.
    pub(super) fn declares(self, settings: &Value) -> Self {
        self.meta(meta::CLIENT_CAPABILITIES, json!({ "extensions": { CONTENT_NEGOTIATION: settings } }))
    }

    /// Feature tags.
    pub(super) fn tags(self, tags: &[&str]) -> Self {
        self.declares(&json!({ "version": "1.0", "features": tags }))
    }

    /// The caller's context, in `_meta`.
    pub(super) fn context(self, context: Value) -> Self {
        self.meta(meta::CLIENT_CONTEXT, context)
    }

    /// Another body, with the headers of this one. `$ID` in it becomes the id.
    pub(super) fn body(mut self, body: impl AsRef<[u8]>) -> Self {
        self.body = Some(body.as_ref().to_vec());
        self
    }

    /// The message as text, to be spoiled; `$ID` stands for the id.
    pub(super) fn text(&self) -> String {
        self.built().replace("\"$ID\"", "$ID")
    }

    fn built(&self) -> String {
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
    pub(super) fn sent(&self, id: u64) -> Sent {
        let number = id.to_string();
        let text = self.text().replace("$ID", &number);
        let mut headers: Vec<(String, Vec<u8>)> = vec![
            ("Content-Type".into(), "application/json".into()),
            ("Accept".into(), "application/json, text/event-stream".into()),
        ];
        let message = Message::parse(text.as_bytes()).ok();
        let mirrored = message.as_ref().map(|it| mirror::headers(it, self.declared.as_ref()));
        let lines = mirrored.into_iter().flatten();
        let lines = lines.map(|(name, value)| (name.to_owned(), value.into_owned().into_bytes()));
        match &self.manner {
            Manner::Modern(_) => headers.extend(lines),
            Manner::Legacy { version, session } => {
                headers.extend(lines.filter(|(name, _)| name.eq_ignore_ascii_case(header::ACCEPT_LANGUAGE)));
                headers.push((header::PROTOCOL_VERSION.into(), version.clone().into()));
                headers.extend(session.clone().map(|session| (header::SESSION_ID.into(), session.into())));
            }
        }
        for edit in &self.edits {
            let (Edit::Set(name, _) | Edit::Add(name, _) | Edit::Drop(name)) = edit;
            if !matches!(edit, Edit::Add(..)) {
                headers.retain(|(found, _)| !found.eq_ignore_ascii_case(name));
            }
            if let Edit::Set(name, value) | Edit::Add(name, value) = edit {
                headers.push((name.clone(), value.clone()));
            }
        }
        let body = match &self.body {
            Some(body) => replaced(body, b"$ID", number.as_bytes()),
            None => text.into_bytes(),
        };
        Sent { headers, body, small: self.small }
    }
}

/// Bytes with each place of a mark replaced: a body may be no text.
fn replaced(bytes: &[u8], mark: &[u8], with: &[u8]) -> Vec<u8> {
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
        let manner = Manner::Modern("2026-07-28".to_owned());
        let ask = Ask::new(&manner, "tools/call", json!({ "name": "a" })).prefers("de");
        let shown = |ask: &Ask| {
            let sent = ask.sent(7);
            let lines = sent.headers.iter().skip(2);
            let lines = lines.map(|(name, value)| format!("{name}: {}", String::from_utf8_lossy(value)));
            lines.collect::<Vec<_>>().join("\n")
        };
        let right =
            "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nMcp-Name: a\nAccept-Language: de";
        assert_eq!(shown(&ask), right);
        let changed = ask.clone().with("mcp-name", "b").and("Mcp-Name", "c").without(header::ACCEPT_LANGUAGE);
        assert_eq!(
            shown(&changed),
            "MCP-Protocol-Version: 2026-07-28\nMcp-Method: tools/call\nmcp-name: b\nMcp-Name: c"
        );
        assert!(String::from_utf8(ask.sent(7).body).unwrap().contains("\"id\":7"));
        assert_eq!(ask.body(b"\xff$ID").sent(7).body, b"\xff7");
    }

    #[test]
    fn a_session_goes_with_every_request_of_the_older_era() {
        let manner = Manner::Legacy { version: "2025-11-25".to_owned(), session: Some("s".to_owned()) };
        let sent = Ask::new(&manner, "tools/list", json!({})).sent(1);
        let names: Vec<_> = sent.headers.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(names, ["Content-Type", "Accept", "MCP-Protocol-Version", "Mcp-Session-Id"]);
        assert!(!String::from_utf8(sent.body).unwrap().contains("_meta"));
    }
}
