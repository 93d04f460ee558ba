//! What is not allocated.

use allocation_counter::measure;
use mcp_attune_wire::agree::{self, HeaderAgreement, HeaderPolicy};
use mcp_attune_wire::header::MirroredHeaders;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::schema::DeclaredHeaders;

/// How often memory is asked for while `count` declared arguments are checked against their headers.
fn allocations(count: usize, argument: &str, header: &str) -> u64 {
    let each = |text: &dyn Fn(usize) -> String| (0..count).map(text).collect::<Vec<_>>().join(",");
    let properties = each(&|index| format!(r#""p{index}":{{"type":"string","x-mcp-header":"P{index}"}}"#));
    let declared = DeclaredHeaders::read(format!(r#"{{"properties":{{{properties}}}}}"#).as_bytes()).unwrap();
    let arguments = each(&|index| format!(r#""p{index}":{argument}"#));
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{{{arguments}}},"_meta":{{
        "io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
    );
    let names: Vec<_> = (0..count).map(|index| format!("Mcp-Param-P{index}")).collect();
    let standard =
        [("MCP-Protocol-Version", &b"2026-07-28"[..]), ("Mcp-Method", b"tools/call"), ("Mcp-Name", b"t")];
    let params = names.iter().map(|name| (name.as_str(), header.as_bytes()));
    let headers = MirroredHeaders::new(standard.into_iter().chain(params));
    let message = Message::parse(body.as_bytes()).unwrap();
    let policy = HeaderPolicy::default();
    let mut agreed = false;
    let counted = measure(|| {
        let Ok(HeaderAgreement::NeedsSchema(open)) = agree::begin(&headers, message, &policy) else { return };
        agreed = open.finish_with_schema(Some(&declared)).is_ok();
    });
    assert!(agreed);
    counted.count_total
}

#[test]
fn checking_a_header_allocates_nothing() {
    for (argument, header) in [
        (r#""us-west1""#, "us-west1"),
        (r#""Zürich""#, "=?base64?WsO8cmljaA==?="),
        (r#""Z\u00fcrich""#, "=?base64?WsO8cmljaA==?="),
        ("true", "true"),
        ("4.2e1", "42"),
    ] {
        let one = allocations(1, argument, header);
        assert!(one <= 4, "{one} allocations for one header");
        assert_eq!(allocations(500, argument, header), one, "{argument}");
    }
}

#[test]
fn comparing_names_without_case_allocates_nothing() {
    let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","vendor":1,"params":{"name":"t","arguments":{"a":1},"Vendor":2,
        "_meta":{"progressToken":1,"vendor/Key":2,"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;
    let message = Message::parse(body).unwrap();
    let counted = measure(|| assert!(message.check_case().is_ok()));
    assert_eq!(counted.count_total, 0);
}
