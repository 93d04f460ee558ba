//! What reaches the service, and what does not.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::Request;
use http_body_util::BodyExt;
use mcp_attune::caller::Caller;
use mcp_attune_tower::guard::Allowlist;
use mcp_attune_tower::{AttachedMessage, AttuneLayer, Body, Settings, full};
use mcp_attune_wire::agree::Era;
use tower::{Layer, ServiceExt, service_fn};

use crate::{META, error, json, listing, post, preference, send, text};

const OK: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

#[tokio::test]
async fn forwards_the_body_as_it_came() {
    let body = format!(
        "{{ \"jsonrpc\":\"2.0\",\t\"id\":1.0e0,\"method\":\"x\\/y\",\"params\":{{\"n\":1234567890123456789012, \"_meta\":{{{META}}}}},\"zz\":[ ]}}\n"
    );
    let headers =
        [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "x/y"), ("x-odd", "a"), ("x-odd", "b")];
    let (response, seen) = send(Settings::default(), post(&headers, &body), json(OK)).await;
    assert_eq!(text(response).await, OK);
    let [(parts, sent)] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(*sent, body);
    assert_eq!(parts.headers.get_all("x-odd").iter().collect::<Vec<_>>(), ["a", "b"]);
    assert_eq!(parts.headers["mcp-method"], "x/y");
}

#[tokio::test]
async fn a_refusal_never_reaches_the_service() {
    let meta = preference("de");
    for (request, expected) in [
        (listing("", &[("mcp-name", "x"), ("mcp-name", "y")]), (400, -32020)),
        (listing(&meta, &[("accept-language", "fr")]), (400, -32020)),
        (post(&[], "{"), (400, -32700)),
        (post(&[], r#"{"a":1,"a":2}"#), (400, -32700)),
        (post(&[("mcp-protocol-version", "2026-07-28")], "[]"), (400, -32600)),
        (post(&[("content-encoding", "gzip")], "{}"), (415, -32600)),
    ] {
        let (response, seen) = send(Settings::default(), request, json(OK)).await;
        let (status, code, _) = error(response).await;
        assert_eq!((status, code), expected);
        assert!(seen.is_empty());
    }
}

/// Bodies that a parser which ignores case reads otherwise.
const IN_ANOTHER_CASE: [&str; 6] = [
    r#"{"jsonrpc":"2.0","id":7,"method":"ping","Method":"tools/call"}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"ping","Params":{"name":"evil"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sql","Name":"evil"}}"#,
    r#"{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{"name":"sql","argument\u017f":{}}}"#,
    r#"{"jsonrpc":"2.0","id":7,"result":{},"Result":{}}"#,
    r#"{"jsonrpc":"2.0","id":7,"Method":"tools/call"}"#,
];

#[tokio::test]
async fn a_name_in_another_case_never_reaches_the_service() {
    for body in IN_ANOTHER_CASE {
        let (response, seen) = send(Settings::default(), post(&[], body), json(OK)).await;
        let (status, code, _) = error(response).await;
        assert_eq!((status, code), (400, -32700), "{body}");
        assert!(seen.is_empty());
    }
}

#[tokio::test]
async fn report_lets_a_name_in_another_case_pass_as_it_came() {
    let mut settings = Settings::default();
    settings.report_only = true;
    for body in IN_ANOTHER_CASE {
        let (response, seen) = send(settings.clone(), post(&[], body), json(OK)).await;
        assert_eq!(text(response).await, OK);
        assert_eq!(seen[0].1, body);
    }
}

#[tokio::test]
async fn a_body_over_its_bound_is_413() {
    let mut settings = Settings::default();
    settings.limits.body = 10;
    let (response, seen) = send(settings, post(&[], "12345678901"), json(OK)).await;
    assert_eq!(error(response).await.0, 413);
    assert!(seen.is_empty());
}

#[tokio::test]
async fn report_lets_everything_pass_as_it_came() {
    let mut settings = Settings::default();
    settings.report_only = true;
    for body in ["{", r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#] {
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "wrong")];
        let (response, seen) = send(settings.clone(), post(&headers, body), json(OK)).await;
        assert_eq!(text(response).await, OK);
        assert_eq!(seen[0].1, body);
        assert_eq!(seen[0].0.headers["mcp-method"], "wrong");
    }
}

#[tokio::test]
async fn mirrored_headers_are_written_anew() {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"prompts/get","params":{{"name":"plan","_meta":{{{META}{}}}}}}}"#,
        preference("de, en")
    );
    let headers = [
        ("mcp-protocol-version", "2026-07-28"),
        ("mcp-method", "prompts/get"),
        ("mcp-name", "=?base64?cGxhbg==?="),
        ("mcp-param-unknown", "stays"),
    ];
    let (_, seen) = send(Settings::default(), post(&headers, &body), json(OK)).await;
    let sent = &seen[0].0.headers;
    assert_eq!(sent["mcp-name"], "plan");
    assert_eq!(sent["accept-language"], "de, en");
    assert_eq!(sent["accept-encoding"], "identity");
    assert_eq!(sent["mcp-param-unknown"], "stays");
}

#[tokio::test]
async fn routing_headers_of_legacy_requests_are_left_behind() {
    let headers = [
        ("mcp-protocol-version", "2025-11-25"),
        ("mcp-method", "a"),
        ("mcp-name", "b"),
        ("mcp-param-c", "d"),
    ];
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"tools/list"}"#;
    let (_, seen) = send(Settings::default(), post(&headers, body), json(OK)).await;
    let sent = &seen[0].0.headers;
    assert_eq!(sent["mcp-protocol-version"], "2025-11-25");
    for name in ["mcp-method", "mcp-name", "mcp-param-c"] {
        assert!(!sent.contains_key(name), "{name}");
    }
}

#[tokio::test]
async fn the_caller_is_in_the_extensions() {
    let (_, seen) = send(Settings::default(), listing(&preference("gsw, de;q=0.5"), &[]), json(OK)).await;
    let caller = seen[0].0.extensions.get::<Caller>().unwrap();
    assert_eq!(caller.preference().unwrap().as_str(), "gsw, de;q=0.5");
}

#[tokio::test]
async fn the_caller_is_not_told_to_who_cannot_see_it() {
    let mut settings = Settings::default();
    settings.introduce = false;
    let (_, seen) = send(settings, listing(&preference("gsw, de;q=0.5"), &[]), json(OK)).await;
    assert!(seen[0].0.extensions.get::<Caller>().is_none());
    assert_eq!(seen[0].0.headers["accept-language"], "gsw, de;q=0.5");
}

/// The id and the era that a service inside finds in the message that was read for it.
async fn attached(attach: bool, body: &str) -> Option<(String, Era)> {
    let found = Arc::<Mutex<Option<(String, Era)>>>::default();
    let service = {
        let found = found.clone();
        service_fn(move |request: Request<Body>| {
            let found = found.clone();
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                let read = parts.extensions.get::<AttachedMessage>();
                *found.lock().unwrap() = read.map(|read| {
                    let message = read.message_of_body(&body).expect("the message is the one that goes on");
                    (message.id().unwrap().raw().to_owned(), read.era())
                });
                Ok::<_, Infallible>(json(OK)())
            }
        })
    };
    let mut settings = Settings::default();
    settings.attach_message = attach;
    AttuneLayer::new(settings).layer(service).oneshot(post(&[], body)).await.unwrap();
    found.lock().unwrap().take()
}

#[tokio::test]
async fn the_message_is_in_the_extensions_where_somebody_asks_for_it() {
    let ping = r#"{"jsonrpc":"2.0","id":7.0,"method":"ping"}"#;
    assert_eq!(attached(true, ping).await, Some(("7.0".to_owned(), Era::Legacy)));
    assert_eq!(attached(false, ping).await, None);
    let changed = ping.replacen('{', r#"{"clientContext":{"timezone":"Europe/Zurich"},"#, 1);
    assert_eq!(attached(true, &changed).await, None, "what goes on is another text");
}

#[tokio::test]
async fn what_is_no_post_is_relayed() {
    for method in ["GET", "DELETE", "OPTIONS", "PUT"] {
        let mut request = Request::new(full("odd body"));
        *request.method_mut() = method.parse().unwrap();
        request.headers_mut().insert("last-event-id", "7".parse().unwrap());
        let (response, seen) = send(Settings::default(), request, json("untouched")).await;
        assert_eq!(text(response).await, "untouched");
        assert_eq!((seen[0].0.method.as_str(), seen[0].1.as_str()), (method, "odd body"));
        assert_eq!(seen[0].0.headers["last-event-id"], "7");
    }
}

#[tokio::test]
async fn two_contexts_that_differ_are_400() {
    let body = r#"{"jsonrpc":"2.0","id":7,"method":"ping","clientContext":{"locale":"de"},"params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"fr"}}}}"#;
    let (answer, seen) = send(Settings::default(), post(&[], body), json(OK)).await;
    assert_eq!((answer.status().as_u16(), seen.len()), (400, 0));
}

#[tokio::test]
async fn the_context_beside_params_does_not_go_on() {
    let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
    let told = bare.replacen('{', r#"{"clientContext":{"timezone":"Europe/Zurich"},"#, 1);
    let length = told.len().to_string();
    let request = post(&[("content-length", &length)], &told);
    let (_, seen) = send(Settings::default(), request, json(OK)).await;
    let [(parts, sent)] = seen.as_slice() else { panic!("{seen:?}") };
    assert_eq!(sent, bare);
    assert_eq!(parts.headers["content-length"], bare.len().to_string());
}

#[tokio::test]
async fn what_would_be_taken_away_or_read_otherwise_further_on_is_refused_for_every_method() {
    for (name, value) in [
        ("connection", "Mcp-Method"),
        ("connection", "close, authorization"),
        ("connection", "x-api-key"),
        ("mcp_name", "x"),
        ("mcp_session_id", "x"),
    ] {
        for method in ["POST", "GET", "DELETE"] {
            let mut request = listing("", &[(name, value)]);
            *request.method_mut() = method.parse().unwrap();
            let (response, seen) = send(Settings::default(), request, json(OK)).await;
            let (status, code, _) = error(response).await;
            assert_eq!((status, code, seen.len()), (400, -32600, 0), "{method} {name}: {value}");
        }
        let mut settings = Settings::default();
        settings.report_only = true;
        let (response, seen) = send(settings, listing("", &[(name, value)]), json(OK)).await;
        assert_eq!((text(response).await.as_str(), seen.len()), (OK, 1), "{name}: {value}");
    }
    let (response, _) =
        send(Settings::default(), listing("", &[("connection", "keep-alive, x-hop")]), json(OK)).await;
    assert_eq!(text(response).await, OK);
}

#[tokio::test]
async fn a_foreign_origin_or_host_is_refused_unless_it_is_listed() {
    let listed = Allowlist::new(["mcp.example"], ["https://app.example"]).unwrap();
    let with = |guard: Option<Allowlist>| {
        let mut settings = Settings::default();
        settings.guard = guard;
        settings
    };
    for (name, value, by_default, where_listed) in [
        ("origin", "https://evil.example", 403, 403),
        ("origin", "https://app.example", 403, 200),
        ("origin", "http://localhost:3000", 200, 200),
        ("host", "evil.example", 403, 403),
        ("host", "mcp.example", 403, 200),
        ("host", "127.0.0.1:8000", 200, 200),
    ] {
        for (settings, expected) in
            [(Settings::default(), by_default), (with(Some(listed.clone())), where_listed), (with(None), 200)]
        {
            let (response, seen) = send(settings, listing("", &[(name, value)]), json(OK)).await;
            assert_eq!(response.status(), expected, "{name}: {value}");
            assert_eq!(seen.is_empty(), expected == 403, "{name}: {value}");
        }
    }
}

#[tokio::test]
async fn a_foreign_origin_is_refused_for_every_method() {
    for method in ["GET", "DELETE", "OPTIONS"] {
        let request = Request::builder().method(method).uri("/mcp").header("origin", "https://evil.example");
        let (response, seen) = send(Settings::default(), request.body(full("")).unwrap(), json(OK)).await;
        assert_eq!((response.status().as_u16(), seen.len()), (403, 0), "{method}");
        let body = text(response).await;
        assert!(body.contains("Origin https://evil.example is not allowed here"), "{body}");
    }
}
