//! `Host`, `Origin` and CORS on the wire. Rules: H15, G7.

use mcp_attune_gateway::guard::Allowlist;

use crate::support::{Front, always, front, lines, options};

const ANSWER: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nVary: Accept\r\n\r\nok";

async fn guarded(hosts: &[&'static str], origins: &[&'static str]) -> Front {
    let allowed = Allowlist::new(hosts.iter().copied(), origins.iter().copied()).unwrap();
    front(&options(always(ANSWER).await), allowed).await
}

fn request(method: &str, lines: &[&str]) -> String {
    let lines: String = lines.iter().map(|line| format!("{line}\r\n")).collect();
    format!("{method} /mcp HTTP/1.1\r\n{lines}Content-Length: 0\r\nConnection: close\r\n\r\n")
}

#[track_caller]
fn check_status(got: &str, status: u16) {
    assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{got}");
}

#[tokio::test]
async fn refuses_foreign_hosts_and_origins_for_every_method() {
    let front = guarded(&["mcp.example"], &[]).await;
    for method in ["POST", "GET", "DELETE", "OPTIONS"] {
        for (lines, status) in [
            (&["Host: localhost:8808"][..], 200),
            (&["Host: MCP.example:443"], 200),
            (&["Host: evil.example"], 403),
            (&["Host: localhost", "Host: evil.example"], 400),
            (&["Host: localhost", "Origin: http://localhost:3000"], 200),
            (&["Host: localhost", "Origin: http://evil.example"], 403),
            (&["Host: localhost", "Origin: null"], 403),
            (&[], 400),
        ] {
            let got = front.says(&request(method, lines)).await;
            assert!(got.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {lines:?}: {got}");
        }
    }
}

#[tokio::test]
async fn a_refusal_says_what_and_what_to_do() {
    let front = guarded(&[], &[]).await;
    let got = front.says(&request("POST", &["Host: localhost", "Origin: http://e\"vil.example"])).await;
    check_status(&got, 403);
    let (head, body) = got.split_once("\r\n\r\n").unwrap();
    assert!(head.contains("content-type: application/json"), "{head}");
    let body: serde_json::Value = serde_json::from_str(body).unwrap();
    assert_eq!(
        body,
        serde_json::json!({"jsonrpc": "2.0", "error": {
            "code": -32600,
            "message": "Origin http://e\"vil.example is not allowed here; the operator can add it to allowed_origins",
        }})
    );
}

#[tokio::test]
async fn cors_is_off_unless_origins_are_named() {
    let front = guarded(&[], &[]).await;
    for method in ["POST", "OPTIONS"] {
        let asks = ["Host: localhost", "Origin: http://localhost", "Access-Control-Request-Method: POST"];
        let got = front.says(&request(method, &asks)).await;
        check_status(&got, 200);
        assert_eq!(lines(&got), ["connection: close", "content-length: 2", "vary: Accept"], "{got}");
    }
}

#[tokio::test]
async fn answers_a_preflight_of_a_named_origin() {
    let front = guarded(&[], &["https://app.example"]).await;
    let asks = [
        "Host: localhost",
        "Origin: https://app.example",
        "Access-Control-Request-Method: POST",
        "Access-Control-Request-Headers: content-type,mcp-param-region,x-other",
    ];
    let got = front.says(&request("OPTIONS", &asks)).await;
    check_status(&got, 204);
    assert_eq!(
        lines(&got),
        [
            "access-control-allow-headers: content-type, mcp-param-region",
            "access-control-allow-methods: POST, GET, DELETE",
            "access-control-allow-origin: https://app.example",
            "access-control-max-age: 7200",
            "connection: close",
            "vary: Origin, Access-Control-Request-Method, Access-Control-Request-Headers",
        ]
    );
    let foreign = ["Host: localhost", "Origin: https://evil.example", "Access-Control-Request-Method: POST"];
    check_status(&front.says(&request("OPTIONS", &foreign)).await, 403);
}

#[tokio::test]
async fn lets_pages_of_a_named_origin_read_the_answer() {
    let front = guarded(&[], &["https://app.example"]).await;
    let got = front.says(&request("POST", &["Host: localhost", "Origin: https://app.example"])).await;
    assert_eq!(
        lines(&got),
        [
            "access-control-allow-origin: https://app.example",
            "access-control-expose-headers: Content-Language, Mcp-Session-Id, MCP-Protocol-Version, Retry-After, WWW-Authenticate",
            "connection: close",
            "content-length: 2",
            "vary: Accept",
            "vary: Origin",
        ]
    );
    let got = front.says(&request("POST", &["Host: localhost"])).await;
    assert_eq!(lines(&got), ["connection: close", "content-length: 2", "vary: Accept", "vary: Origin"]);
}
