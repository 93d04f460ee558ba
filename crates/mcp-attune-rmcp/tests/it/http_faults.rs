//! Whatever else may be at a URL.

use mcp_attune_rmcp::{ClientError, Connection};
use serde_json::json;

use crate::support::{answer, fault, impatient, json as answer_json, options, says, server};

#[tokio::test]
async fn says_that_nobody_listens() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    drop(listener);
    let error = fault(&target, &options()).await;
    assert!(!error.is_refusal());
    let said = says(&error, &target);
    assert!(said.starts_with("nobody answers at TARGET: Connection refused"), "{said}");
    assert!(said.ends_with("; is the server running, and the address right?"), "{said}");
}

#[tokio::test]
async fn says_what_a_status_means() {
    for (status, headers, body, expected) in [
        (
            401,
            "WWW-Authenticate: Bearer realm=\"x\"\r\n",
            "",
            "TARGET answers 401: Bearer realm=\"x\"; send who you are in a header `Authorization`",
        ),
        (401, "", "", "TARGET answers 401; send who you are in a header `Authorization`"),
        (
            403,
            "",
            "no\x1b[2J",
            "TARGET answers 403: no [2J; who you are, or where you come from, is not allowed there",
        ),
        (
            404,
            "Content-Type: text/html\r\n",
            "<h1>Not\nfound</h1>",
            "TARGET answers 404: <h1>Not found</h1>; is its path right? Many servers are at `/mcp`",
        ),
        (
            301,
            "Location: https://example.com/\r\n",
            "",
            "TARGET answers 301: https://example.com/; redirects are not followed, so give the URL that it leads to",
        ),
        (
            502,
            "",
            "Bad Gateway",
            "TARGET answers 502: Bad Gateway; the server, or something in front of it, has a fault; its own log may \
             tell",
        ),
    ] {
        let target = server(move |_| answer(status, headers, body)).await;
        let error = fault(&target, &options()).await;
        assert!(!error.is_refusal());
        assert_eq!(says(&error, &target), expected);
    }
}

#[tokio::test]
async fn says_that_something_is_not_mcp() {
    for (headers, body, expected) in [
        ("Content-Type: text/html\r\n", "<html>", "it answers with `text/html`"),
        ("Content-Type: application/json\r\n", r#"{"hello":"world"}"#, r#"it answers `{"hello":"world"}`"#),
        ("Content-Type: application/json\r\n", "", "it answers ``"),
        ("", "x", "it answers with nothing that says what it is"),
    ] {
        let target = server(move |_| answer(200, headers, body)).await;
        let error = fault(&target, &options()).await;
        let expected = format!("TARGET does not speak MCP: {expected}; is it the right server?");
        assert_eq!(says(&error, &target), expected);
    }
}

#[tokio::test]
async fn does_not_wait_for_ever_for_a_server_that_never_answers() {
    let target = server(|_| String::new()).await;
    let error = fault(&target, &impatient()).await;
    assert_eq!(
        says(&error, &target),
        "TARGET did not answer `initialize` within 1.5s; allow it more time, or see what it waits for"
    );
}

const MODERN: &str = r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#;

#[tokio::test]
async fn tells_a_refusal_from_silence_and_from_a_flood() {
    let target = server(|asked| match asked.method() {
        "server/discover" => asked.result(MODERN),
        "refuse" => answer_json(
            404,
            &format!(
                r#"{{"jsonrpc":"2.0","id":{},"error":{{"code":-32601,"message":"unknown","data":[1]}}}}"#,
                asked.body["id"]
            ),
        ),
        "flood" => asked.result(&format!(r#"{{"text":"{}"}}"#, "x".repeat(20_000))),
        "stream" => answer(
            200,
            "Content-Type: text/event-stream\r\n",
            &format!("data: {{\"text\":\"{}\"}}\n\n", "x".repeat(20_000)),
        ),
        "page" => asked.result(r#"{"tools":7}"#),
        "tools/list" => asked.result(r#"{"tools":7}"#),
        "fails" => answer(500, "", ""),
        _ => String::new(),
    })
    .await;
    let hasty = Connection::open(&target, &impatient()).await.unwrap();
    let mut options = options();
    options.bytes = 10_000;
    let connection = Connection::open(&target, &options).await.unwrap();
    let ask = async |method| connection.request(method, json!({})).await.unwrap_err();
    let error = ask("refuse").await;
    assert!(error.is_refusal());
    assert_eq!(error.to_string(), "the server refuses `refuse`: unknown (-32601)");
    assert!(matches!(error, ClientError::Refused { data: Some(data), .. } if data == json!([1])));
    let silence = hasty.request("silence", json!({})).await.unwrap_err();
    assert_eq!(
        says(&silence, &target),
        "TARGET did not answer `silence` within 300ms; allow it more time, or see what it waits for"
    );
    let error = connection.tools().await.unwrap_err();
    assert_eq!(
        says(&error, &target),
        "TARGET does not speak MCP: to `tools/list` it gives an answer without `tools`; is it the right server?"
    );
    for method in ["flood", "stream"] {
        assert_eq!(
            says(&ask(method).await, &target),
            "TARGET sends an answer of more than 10000 bytes; raise the bound if that is right"
        );
    }
    assert!(says(&ask("fails").await, &target).starts_with("TARGET answers 500; "));
}

#[tokio::test]
async fn says_that_no_version_is_shared() {
    let target = server(|asked| {
        asked.result(
            r#"{"resultType":"complete","supportedVersions":["2031-01-01"],"capabilities":{},"ttlMs":0,"cacheScope":"private"}"#,
        )
    })
    .await;
    let error = fault(&target, &options()).await;
    assert!(says(&error, &target).starts_with("TARGET speaks 2031-01-01 only, and we do not; "), "{error}");
}

#[tokio::test]
async fn says_that_an_introduction_is_none() {
    let target = server(|asked| asked.result(r#"{"hello":"world"}"#)).await;
    assert_eq!(
        says(&fault(&target, &options()).await, &target),
        "TARGET does not speak MCP: it answers `initialize` with `{\"hello\":\"world\"}`; is it the right server?"
    );
}
