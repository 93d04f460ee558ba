//! A small server that keeps every rule that can be seen from outside, but for the one that it is told to break.

mod context;
mod headers;
mod language;
mod tools;

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use mcp_attune_wire::message::{Message, meta};
use serde_json::{Value, json};

pub(super) const VERSION: &str = "2026-07-28";
/// The session of everybody who begins one.
const SESSION: &str = "s-1";
const NEGOTIATION: &str = "io.modelcontextprotocol/content-negotiation";

/// How many requests a server answers that is to die: enough to be met.
const BEFORE_DEATH: usize = 60;

pub(super) struct Request {
    pub(super) headers: Vec<(String, Vec<u8>)>,
    pub(super) body: Vec<u8>,
    pub(super) pipe: bool,
}

pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

pub(super) struct Right {
    flaw: String,
    asked: AtomicUsize,
    calls: AtomicUsize,
    /// What nobody should remember.
    memory: Mutex<Memory>,
}

#[derive(Default)]
struct Memory {
    language: Option<String>,
    context: Option<Value>,
    tags: Vec<String>,
}

/// Headers, in their order.
type Lines = Vec<(String, String)>;

/// A refusal: its status, its code and what else it says.
struct No(u16, i64, Value);

impl Right {
    pub(super) fn new(flaw: &str) -> Self {
        Self {
            flaw: flaw.to_owned(),
            asked: AtomicUsize::new(0),
            calls: AtomicUsize::new(0),
            memory: Mutex::default(),
        }
    }

    pub(super) fn has(&self, flaw: &str) -> bool {
        self.flaw == flaw
    }

    /// How many calls of tools came.
    pub(super) fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }

    /// Whether a request calls a tool that takes long.
    pub(super) fn is_slow(&self, request: &Request) -> bool {
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.has("slow-tool") && body["method"] == "tools/call" && body["params"]["name"] == "weather"
    }

    pub(super) fn is_gone(&self) -> bool {
        self.has("dies") && self.asked.load(Ordering::Relaxed) > BEFORE_DEATH
    }

    pub(super) fn introduction(&self) -> Value {
        let mut extensions = json!({});
        if !self.has("claims-nothing") {
            extensions[NEGOTIATION] = if self.has("F14/empty-settings") { json!(true) } else { json!({}) };
        }
        json!({ "supportedVersions": [VERSION], "capabilities": { "tools": {}, "extensions": extensions } })
    }

    pub(super) fn respond(&self, request: &Request) -> Answer {
        self.asked.fetch_add(1, Ordering::Relaxed);
        let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
        self.calls.fetch_add(usize::from(body["method"] == "tools/call"), Ordering::Relaxed);
        if let Some(refused) = self.stranger(request) {
            return refused;
        }
        let text = match self.read(&request.body) {
            Ok(text) => text,
            Err(No(status, code, _)) => return refusal(status, code, &Value::Null, &Value::Null),
        };
        let body: Value = serde_json::from_str(&text).unwrap_or_default();
        let id = if self.has("H9/form") { Value::Null } else { body["id"].clone() };
        if self.has("legacy") && body["id"].is_null() {
            return Answer { status: 202, headers: Vec::new(), body: String::new() };
        }
        match self.answer(request, &body) {
            Ok((result, headers)) => {
                let body = json!({ "jsonrpc": "2.0", "id": body["id"], "result": result }).to_string();
                let json = [("Content-Type".to_owned(), "application/json".to_owned())];
                Answer { status: 200, headers: json.into_iter().chain(headers).collect(), body }
            }
            Err(No(status, code, data)) => refusal(status, code, &id, &data),
        }
    }

    /// Who may not ask at all.
    fn stranger(&self, request: &Request) -> Option<Answer> {
        let is = |name: &str, text: &str| {
            let line = request.headers.iter().find(|(found, _)| found.eq_ignore_ascii_case(name));
            line.is_some_and(|(_, value)| String::from_utf8_lossy(value).contains(text))
        };
        let origin = is("origin", "evil") && !self.has("H15/foreign-origin");
        let host = is("host", "evil") && !self.has("H15/foreign-host");
        (origin || host).then(|| Answer { status: 403, headers: Vec::new(), body: "no".to_owned() })
    }

    /// The body as one request, read strictly.
    fn read(&self, body: &[u8]) -> Result<String, No> {
        let lossy = String::from_utf8_lossy(body).into_owned();
        let read = match Message::parse(body) {
            Ok(_) => lossy,
            Err(_) => match self.flaw.as_str() {
                "H13/no-json" => return Err(No(415, -32700, Value::Null)),
                "H13/bytes-behind" => lossy.trim_end_matches(" {}").to_owned(),
                "H13/name-twice" | "H13/no-text" => lossy,
                "H13/too-deep" => lossy.replace(&"[".repeat(200), "0").replace(&"]".repeat(200), ""),
                _ => return Err(No(400, -32700, Value::Null)),
            },
        };
        let value: Value = serde_json::from_str(&read).map_err(|_| No(400, -32700, Value::Null))?;
        let no_request = |flaw: &str| {
            if self.has(flaw) { Err(No(202, -32700, Value::Null)) } else { Err(No(400, -32600, Value::Null)) }
        };
        if value.is_array() {
            return no_request("H13/batch");
        }
        match (value.get("method").is_some(), value.get("result").is_some()) {
            (true, _) => Ok(read),
            (false, true) => no_request("H13/answer"),
            (false, false) => no_request("H13/neither"),
        }
    }

    fn answer(&self, request: &Request, body: &Value) -> Result<(Value, Vec<(String, String)>), No> {
        if self.has("legacy") {
            if body["method"] == "initialize" {
                let result = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": {} });
                return Ok((result, vec![("Mcp-Session-Id".to_owned(), SESSION.to_owned())]));
            }
            let session =
                request.headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("mcp-session-id"));
            if session.is_none_or(|(_, value)| value != SESSION.as_bytes()) {
                return Err(No(404, -32600, Value::Null));
            }
        } else {
            self.envelope(body)?;
            if !request.pipe {
                self.headers(request, body)?;
            }
        }
        let version = &body["params"]["_meta"][meta::PROTOCOL_VERSION];
        if *version != VERSION && *version != "2025-11-25" && !version.is_number() && !version.is_null() {
            let supported = if self.has("H14/unknown-version") { json!(null) } else { json!([VERSION]) };
            return Err(No(400, -32022, json!({ "requested": version, "supported": supported })));
        }
        let context = self.context(body)?;
        let (language, beside) = self.language(request, body, context.as_ref())?;
        let mut result = self.result(body, language.as_deref(), context.as_ref())?;
        let call = body["method"] == "tools/call";
        let silent = if call { "L7/calls" } else { "L7/listings" };
        if let (Some(language), false) = (&language, self.has(silent)) {
            result["_meta"] = json!({ meta::CONTENT_LANGUAGE: language });
        }
        Ok((result, beside))
    }

    /// What every request says of its client.
    fn envelope(&self, body: &Value) -> Result<(), No> {
        let about = &body["params"]["_meta"];
        let missing = |key: &str, flaw: &str| about.get(key).is_none() && !self.has(flaw);
        let number = about[meta::PROTOCOL_VERSION].is_number() && !self.has("H14/version-no-string");
        let bad = missing(meta::CLIENT_CAPABILITIES, "H14/no-capabilities")
            || missing(meta::PROTOCOL_VERSION, "H14/no-version")
            || number;
        if bad { Err(No(400, -32602, Value::Null)) } else { Ok(()) }
    }
}

fn refusal(status: u16, code: i64, id: &Value, data: &Value) -> Answer {
    let mut error = json!({ "code": code, "message": "no" });
    if !data.is_null() {
        error["data"] = data.clone();
    }
    let body = json!({ "jsonrpc": "2.0", "id": id, "error": error }).to_string();
    Answer { status, headers: vec![("Content-Type".to_owned(), "application/json".to_owned())], body }
}
