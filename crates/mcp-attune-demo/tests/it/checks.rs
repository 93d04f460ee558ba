//! What the server checks by itself, and what it leaves to a gateway: the list in the crate's documentation.

use hyper::StatusCode;
use mcp_attune_demo::DemoOptions;
use serde_json::{Value, json};

use crate::http::{Answer, Demo, Headers, MODERN, modern};

/// A good call of `execute_sql`, with these headers added or changed.
async fn sql(demo: &Demo, headers: Headers<'_>) -> Answer {
    let arguments = json!({ "query": "SELECT 1", "region": "us-west1" });
    let body = modern("tools/call", json!({ "name": "execute_sql", "arguments": arguments }));
    let usual = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/call"), ("mcp-name", "execute_sql")];
    demo.post(&[&usual, headers].concat(), &body).await
}

#[tokio::test]
async fn parameter_headers_are_not_compared() {
    let demo = Demo::start().await;
    for headers in [&[][..], &[("mcp-param-region", "us-west1")], &[("mcp-param-region", "elsewhere")]] {
        assert_eq!(sql(&demo, headers).await.json()["result"]["isError"], false);
    }
}

#[tokio::test]
async fn method_and_name_headers_are_compared() {
    let demo = Demo::start().await;
    for headers in
        [("mcp-method", "tools/list"), ("mcp-name", "get_weather"), ("mcp-protocol-version", "2025-11-25")]
    {
        let answer = sql(&demo, &[headers]).await;
        assert_eq!(answer.status, StatusCode::BAD_REQUEST, "{headers:?}");
        assert_eq!(answer.json()["error"]["code"], -32020, "{headers:?}");
    }
}

#[tokio::test]
async fn an_envelope_without_capabilities_is_refused() {
    let mut body = modern("tools/list", json!({}));
    body["params"]["_meta"] = json!({ "io.modelcontextprotocol/protocolVersion": MODERN });
    let headers = [("mcp-protocol-version", MODERN), ("mcp-method", "tools/list")];
    let answer = Demo::start().await.post(&headers, &body).await;
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (StatusCode::BAD_REQUEST, &json!(-32602)));
}

#[tokio::test]
async fn only_loopback_hosts_are_answered_and_any_origin() {
    let demo = Demo::start().await;
    for (header, status) in [
        (("host", "127.0.0.1:1234"), StatusCode::OK),
        (("host", "[::1]"), StatusCode::OK),
        (("host", "evil.example"), StatusCode::FORBIDDEN),
        (("origin", "https://app.example"), StatusCode::OK),
    ] {
        assert_eq!(sql(&demo, &[header]).await.status, status, "{header:?}");
    }
}

#[tokio::test]
async fn other_hosts_are_answered_where_they_are_allowed() {
    let options = DemoOptions { allowed_hosts: vec!["demo.example".to_owned()], ..DemoOptions::default() };
    let demo = Demo::with(options).await;
    assert_eq!(sql(&demo, &[("host", "demo.example")]).await.status, StatusCode::OK);
    assert_eq!(sql(&demo, &[("host", "localhost")]).await.status, StatusCode::FORBIDDEN);
}

#[tokio::test]
async fn a_client_must_accept_both_forms_and_send_json() {
    let demo = Demo::start().await;
    let refused = sql(&demo, &[("accept", "application/json")]).await;
    assert_eq!(refused.status, StatusCode::NOT_ACCEPTABLE);
    let refused = sql(&demo, &[("content-type", "text/plain")]).await;
    assert_eq!(refused.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
}

#[tokio::test]
async fn an_unknown_version_is_told_which_ones_there_are() {
    let version = "2099-01-01";
    let meta = json!({ "io.modelcontextprotocol/protocolVersion": version });
    let body = modern("tools/list", json!({ "_meta": meta }));
    let headers = [("mcp-protocol-version", version), ("mcp-method", "tools/list")];
    let answer = Demo::start().await.post(&headers, &body).await;
    let error = answer.json()["error"].clone();
    assert_eq!((answer.status, &error["code"]), (StatusCode::BAD_REQUEST, &json!(-32022)));
    assert!(error["data"]["supported"].as_array().unwrap().contains(&Value::from(MODERN)));
}
