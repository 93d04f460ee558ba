//! The cases in `spec/cases/`, one test a file.

use std::collections::BTreeMap;

use mcp_attune_wire::agree::{
    self, Agreed, HeaderAgreement, HeaderPolicy, LanguageHeaderPolicy, MessageRefusal, OnMissingParam,
};
use mcp_attune_wire::header::{self, HeaderDecodeError, MirroredHeaders};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::mirror;
use mcp_attune_wire::reply::Reply;
use mcp_attune_wire::schema::{DeclaredHeaders, DeclaredType, HeaderDeclarationFault};
use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};

#[derive(Deserialize)]
struct File<'a> {
    #[serde(borrow)]
    cases: Vec<Case<'a>>,
}

#[derive(Deserialize)]
struct Case<'a> {
    name: String,
    #[serde(borrow)]
    input: BTreeMap<String, &'a RawValue>,
    expected: Value,
}

impl Case<'_> {
    fn text(&self, key: &str) -> Option<String> {
        self.input.get(key).map(|raw| serde_json::from_str(raw.get()).unwrap())
    }

    /// Text as it stands, or bytes that no JSON string can hold.
    fn bytes(&self, key: &str) -> Option<Vec<u8>> {
        use base64::Engine;
        let decode = |text: String| base64::engine::general_purpose::STANDARD.decode(text).unwrap();
        self.text(key).map(String::into_bytes).or_else(|| self.text(&format!("{key}_base64")).map(decode))
    }

    fn raw(&self, key: &str) -> Option<&str> {
        self.input.get(key).map(|raw| raw.get())
    }

    fn declared(&self) -> Option<DeclaredHeaders> {
        self.raw("schema").map(|schema| DeclaredHeaders::read(schema.as_bytes()).unwrap())
    }

    fn policy(&self) -> HeaderPolicy {
        let mut policy = HeaderPolicy::default();
        let settings: BTreeMap<String, Value> =
            self.raw("policy").map(|raw| serde_json::from_str(raw).unwrap()).unwrap_or_default();
        for (key, value) in settings {
            match (key.as_str(), value.as_str().unwrap_or_default()) {
                ("strict", _) => policy.strict = value == true,
                ("on_missing_param", "pass") => policy.on_missing_param = OnMissingParam::Pass,
                ("language_header", "ignore-wildcard") => {
                    policy.language_header = LanguageHeaderPolicy::IgnoreWildcard;
                }
                ("language_header", "ignore") => policy.language_header = LanguageHeaderPolicy::Ignore,
                ("language_header", "promote") => policy.language_header = LanguageHeaderPolicy::Promote,
                ("supported_versions", _) => {
                    policy.supported_versions = Some(serde_json::from_value(value).unwrap());
                }
                other => panic!("unknown policy {other:?}"),
            }
        }
        policy
    }
}

/// Runs every case of a file and tells all that fail.
fn check(file: &str, at_least: usize, actual: impl Fn(&Case<'_>) -> Value) {
    let file: File<'_> = serde_json::from_str(file).unwrap();
    assert!(file.cases.len() >= at_least, "only {} cases", file.cases.len());
    let mut failures = String::new();
    for case in &file.cases {
        let actual = actual(case);
        if actual != case.expected {
            failures += &format!("\n{}\n  expected {}\n  actual   {actual}", case.name, case.expected);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn message() {
    check(include_str!("../../../../spec/cases/message.json"), 55, |case| {
        let body = case.bytes("body").unwrap();
        match Message::parse(&body).and_then(|message| message.check_case().map(|()| message)) {
            Ok(message) => json!({"kind": match message.kind() {
                MessageKind::Request => "request",
                MessageKind::Notification => "notification",
                MessageKind::Answer => "answer",
                MessageKind::Batch => "batch",
                MessageKind::Other => "other",
            }}),
            Err(unreadable) => {
                let reply = Reply::from(&unreadable);
                assert_eq!(reply.status, 400);
                assert!(serde_json::from_str::<Value>(&reply.body).unwrap().get("id").is_none());
                json!({"code": reply.code, "fault": kebab(unreadable.fault), "at": unreadable.at})
            }
        }
    });
}

#[test]
fn header_value() {
    let undecodable = |why| match why {
        HeaderDecodeError::Byte => "byte",
        HeaderDecodeError::Base64 => "base64",
        HeaderDecodeError::Utf8 => "utf8",
        _ => "other",
    };
    check(include_str!("../../../../spec/cases/header_value.json"), 35, |case| match case.text("text") {
        Some(text) => {
            let value = header::encode(&text);
            assert_eq!(header::decode(value.as_bytes()).unwrap(), text);
            json!({"header": value})
        }
        None => match header::decode(&case.bytes("header").unwrap()) {
            Ok(text) => json!({"text": text}),
            Err(why) => json!({"undecodable": undecodable(why)}),
        },
    });
}

#[test]
fn schema() {
    check(include_str!("../../../../spec/cases/schema.json"), 50, |case| {
        match DeclaredHeaders::read(case.raw("schema").unwrap().as_bytes()) {
            Ok(declared) => {
                let headers: Vec<_> = declared
                    .iter()
                    .map(|one| {
                        let kind = match one.kind() {
                            DeclaredType::String => "string",
                            DeclaredType::Integer => "integer",
                            DeclaredType::Boolean => "boolean",
                        };
                        json!({"header": one.header(), "path": one.path().collect::<Vec<_>>(), "type": kind})
                    })
                    .collect();
                json!({"headers": headers})
            }
            Err(invalid) => {
                let why = match invalid.why {
                    HeaderDeclarationFault::Unreadable(_) => "unreadable",
                    why => return json!({"invalid": kebab(why), "at": invalid.at}),
                };
                json!({"invalid": why})
            }
        }
    });
}

#[test]
fn param() {
    check(include_str!("../../../../spec/cases/param.json"), 60, |case| {
        let kind = case.text("type").unwrap();
        let schema = format!(r#"{{"properties":{{"p":{{"type":"{kind}","x-mcp-header":"P"}}}}}}"#);
        let declared = DeclaredHeaders::read(schema.as_bytes()).unwrap();
        let arguments = match case.text("argument_text") {
            Some(argument) => format!(r#"{{"p":{argument}}}"#),
            None => String::from(r#"{"q":1}"#),
        };
        let body = call(&arguments);
        let header = case.text("header");
        let param = header.iter().map(|value| ("Mcp-Param-P", value.as_bytes()));
        let headers = MirroredHeaders::new(STANDARD.into_iter().chain(param));
        let policy = case.policy();
        match judge(&headers, &body, Some(&declared), &policy) {
            Ok(_) => json!({"wrong": null}),
            Err(refusal) => json!({"wrong": wrong(&refusal)}),
        }
    });
}

const STANDARD: [(&str, &[u8]); 3] =
    [("MCP-Protocol-Version", b"2026-07-28"), ("Mcp-Method", b"tools/call"), ("Mcp-Name", b"t")];

fn call(arguments: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    )
}

fn wrong(refusal: &MessageRefusal) -> String {
    let agree::MessageRefusalReason::Mismatch(mismatches) = &refusal.refused else { panic!("{refusal:?}") };
    assert_eq!(mismatches.len(), 1, "{refusal:?}");
    match mismatches[0].wrong {
        agree::HeaderFault::Undecodable(_) => "undecodable".into(),
        wrong => kebab(wrong),
    }
}

/// `RepeatedName` → `repeated-name`.
fn kebab(value: impl std::fmt::Debug) -> String {
    let mut out = String::new();
    for char in format!("{value:?}").chars() {
        if char.is_uppercase() && !out.is_empty() {
            out.push('-');
        }
        out.extend(char.to_lowercase());
    }
    out
}

fn judge<'a>(
    headers: &MirroredHeaders<'a>,
    body: &'a str,
    declared: Option<&DeclaredHeaders>,
    policy: &HeaderPolicy,
) -> Result<Agreed<'a>, MessageRefusal> {
    match agree::begin(headers, Message::parse(body.as_bytes()).unwrap(), policy)? {
        HeaderAgreement::Done(agreed) => Ok(agreed),
        HeaderAgreement::NeedsSchema(open) => open.finish_with_schema(declared),
    }
}

#[test]
fn agree() {
    check(include_str!("../../../../spec/cases/agree.json"), 100, |case| {
        let lines: Vec<(String, String)> = serde_json::from_str(case.raw("headers").unwrap()).unwrap();
        let headers =
            MirroredHeaders::new(lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())));
        let policy = case.policy();
        match judge(&headers, case.raw("body").unwrap(), case.declared().as_ref(), &policy) {
            Ok(agreed) => json!({
                "era": kebab(agreed.era()),
                "drops_routing_headers": agreed.drops_routing_headers(),
                "accept_language": agreed.accept_language(),
            }),
            Err(refusal) => refused(&refusal, &case.expected),
        }
    });
}

/// The refusal as it goes on the wire, with as much of its data as the case asks for.
fn refused(refusal: &MessageRefusal, expected: &Value) -> Value {
    let reply = Reply::from(refusal);
    assert_eq!(reply.content_type, "application/json");
    let body: Value = serde_json::from_str(&reply.body).unwrap();
    let error = &body["error"];
    assert_eq!(error["code"], reply.code);
    assert!(!error["message"].as_str().unwrap().is_empty());
    let mut actual = json!({"status": reply.status, "code": reply.code, "id": body["id"]});
    if expected.get("mismatches").is_some() {
        let entries = error["data"]["mismatches"].as_array().cloned().unwrap_or_default();
        let short = |entry: Value| json!({"header": entry["header"], "argument": entry["argument"], "rule": entry["rule"]});
        actual["mismatches"] = entries.into_iter().map(short).collect();
    }
    if expected.get("data").is_some() {
        actual["data"] = error["data"].clone();
    }
    actual
}

#[test]
fn mirror() {
    check(include_str!("../../../../spec/cases/mirror.json"), 12, |case| {
        let body = case.raw("body").unwrap();
        let declared = case.declared();
        let headers = mirror::headers(&Message::parse(body.as_bytes()).unwrap(), declared.as_ref());
        let lines = headers.iter().map(|(name, value)| (*name, value.as_bytes()));
        judge(&MirroredHeaders::new(lines), body, declared.as_ref(), &HeaderPolicy::default()).unwrap();
        json!({"headers": headers})
    });
}
