//! When the headers of a request need not be written anew.

use mcp_attune_wire::agree::{
    self, Agreed, HeaderAgreement, HeaderPolicy, LanguageHeaderPolicy, OnMissingParam,
};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::mirror;
use mcp_attune_wire::schema::DeclaredHeaders;

const SCHEMA: &[u8] = br#"{"properties":{"a":{"type":"string","x-mcp-header":"A"},
    "b":{"type":"integer","x-mcp-header":"B"},"c":{"type":"boolean","x-mcp-header":"C"}}}"#;

/// A body with these arguments, and with this beside the two that every `_meta` has.
fn body(method: &str, arguments: &str, meta: &str) -> String {
    format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{"name":"t","arguments":{arguments},"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}{meta}}}}}}}"#
    )
}

fn agreed<'a>(body: &'a str, headers: &[(&'a str, &'a str)], declared: &DeclaredHeaders) -> Agreed<'a> {
    let mut policy = HeaderPolicy::default();
    policy.on_missing_param = OnMissingParam::Pass;
    policy.language_header = LanguageHeaderPolicy::Ignore;
    let headers = MirroredHeaders::new(headers.iter().map(|(name, value)| (*name, value.as_bytes())));
    match agree::begin(&headers, Message::parse(body.as_bytes()).unwrap(), &policy).unwrap() {
        HeaderAgreement::Done(agreed) => agreed,
        HeaderAgreement::NeedsSchema(open) => open.finish_with_schema(Some(declared)).unwrap(),
    }
}

#[track_caller]
fn check(body: &str, headers: &[(&str, &str)], expected: bool) {
    let declared = DeclaredHeaders::read(SCHEMA).unwrap();
    let agreed = agreed(body, headers, &declared);
    assert_eq!(agreed.is_mirrored(), expected, "{body} {headers:?}");
    if expected {
        let written = mirror::headers(agreed.message(), Some(&declared));
        let mut lines: Vec<_> = headers.to_vec();
        let mut written: Vec<_> = written.iter().map(|(name, value)| (*name, &**value)).collect();
        lines.sort_unstable();
        written.sort_unstable();
        assert_eq!(lines, written, "{body}");
    }
}

const VERSION: (&str, &str) = ("MCP-Protocol-Version", "2026-07-28");
const METHOD: (&str, &str) = ("Mcp-Method", "tools/call");
const NAME: (&str, &str) = ("Mcp-Name", "t");

#[test]
fn knows_headers_that_a_client_would_write() {
    let all = |params: &[(&'static str, &'static str)]| [&[VERSION, METHOD, NAME], params].concat();
    let (a, b, c) = (("Mcp-Param-A", "x-1"), ("Mcp-Param-B", "-17"), ("Mcp-Param-C", "false"));
    check(&body("tools/call", r#"{"a":"x-1","b":-17,"c":false,"d":1}"#, ""), &all(&[a, b, c]), true);
    check(&body("tools/call", r#"{"b":-17}"#, ""), &all(&[b]), true);
    check(&body("tools/call", "{}", ""), &all(&[]), true);
    check(&body("prompts/get", r#"{"a":"x-1"}"#, ""), &[VERSION, ("Mcp-Method", "prompts/get"), NAME], true);
}

#[test]
fn knows_headers_that_a_client_would_write_otherwise() {
    let call = |arguments: &str, params: &[(&'static str, &'static str)]| {
        check(&body("tools/call", arguments, ""), &[&[VERSION, METHOD, NAME], params].concat(), false);
    };
    call(r#"{"a":"x"}"#, &[("Mcp-Param-A", "=?base64?eA==?=")]);
    call(r#"{"a":"x"}"#, &[("Mcp-Param-A", " x")]);
    call(r#"{"a":"x"}"#, &[]);
    call(r#"{"a":"\u0078"}"#, &[("Mcp-Param-A", "x")]);
    call(r#"{"b":17.0}"#, &[("Mcp-Param-B", "17.0")]);
    call(r#"{"b":17}"#, &[("Mcp-Param-B", "17.0")]);
    call(r#"{"b":-0}"#, &[("Mcp-Param-B", "-0")]);
    call(r#"{"b":9007199254740993}"#, &[("Mcp-Param-B", "9007199254740993")]);
    check(&body("tools/call", "{}", ""), &[VERSION, METHOD, ("Mcp-Name", "=?base64?dA==?=")], false);
    check(&body("tools/list", "{}", ""), &[VERSION, ("Mcp-Method", "tools/list"), NAME], false);
    let preference = r#","io.modelcontextprotocol/acceptLanguage":"de""#;
    check(&body("tools/call", "{}", preference), &[VERSION, METHOD, NAME], false);
    check(&body("tools/call", "{}", ""), &[VERSION, METHOD, NAME, ("Accept-Language", "de")], false);
}
