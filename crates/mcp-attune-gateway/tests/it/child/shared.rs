//! The child that modern callers share.

use serde_json::json;

use super::*;

const ODD: [&str; 7] =
    ["1", "\"1\"", "2", "-9007199254740993", "123456789012345678901234567890", r#""a\"\u00e9\\""#, "\"\""];

#[tokio::test]
async fn callers_share_a_child_and_get_their_own_ids_back() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let calls: Vec<_> = ODD
        .iter()
        .chain(&ODD)
        .enumerate()
        .map(|(number, id)| {
            tokio::spawn(
                async move { call_with(at, id, "echo", json!({ "number": number }), Some(id)).await },
            )
        })
        .collect();
    let mut seen = Vec::new();
    for (number, (answer, id)) in calls.into_iter().zip(ODD.iter().chain(&ODD)).enumerate() {
        let (status, head, body) = answer.await.unwrap();
        assert_eq!(status, 200, "{body}");
        assert!(head.contains("content-type: application/json"), "{head}");
        let result = &read(&body)["result"];
        assert_eq!(result["arguments"]["number"], number);
        assert!(body.ends_with(&format!(r#","jsonrpc":"2.0","id":{id}}}"#)), "{body} {id}");
        assert_eq!(result["id"], result["token"], "the child saw one number for both");
        seen.push(result["id"].as_u64().unwrap());
    }
    seen.sort_unstable();
    seen.dedup();
    assert_eq!(seen.len(), ODD.len() * 2, "every call has a number of its own");
    let pids = [call(at, "1", "pid", json!({})).await.2, call(at, "1", "pid", json!({})).await.2];
    assert_eq!(pids[0], pids[1]);
}

#[tokio::test]
async fn progress_comes_back_with_the_callers_own_token() {
    let gateway = serve("modern", "").await;
    for token in ODD {
        let (status, head, body) =
            call_with(gateway.callers, "\"x\"", "progress", json!({}), Some(token)).await;
        assert_eq!(status, 200);
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        assert!(head.contains("x-accel-buffering: no"), "{head}");
        let said = messages(&body);
        assert_eq!(said.len(), 3, "{body}");
        for step in [1, 2] {
            assert_eq!(said[step - 1]["params"]["progress"], step);
        }
        assert_eq!(body.matches(&format!(r#""progressToken":{token},"#)).count(), 2, "{body}");
        assert_eq!(said[2]["id"], "x");
    }
}

/// What the child knows of calls that were cancelled or are not answered.
async fn tell(at: SocketAddr) -> Value {
    read(&call(at, "1", "cancelled", json!({})).await.2)["result"].clone()
}

#[tokio::test]
async fn a_caller_that_goes_away_is_cancelled_at_the_child() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let headers = modern_headers("tools/call", "begin");
    // The one has heard something, the other nothing.
    let body = modern_text("1", "tools/call", json!({"name": "begin", "arguments": {}}), Some("1"));
    let mut heard = Open::send(at, "POST /mcp", &headers, &body).await;
    heard.until("\"progress\":1").await;
    let body = modern_text("1", "tools/call", json!({"name": "never", "arguments": {}}), None);
    let unheard = Open::send(at, "POST /mcp", &modern_headers("tools/call", "never"), &body).await;
    // A third one that stays.
    let mut stays = Open::send(
        at,
        "POST /mcp",
        &headers,
        &modern_text("1", "tools/call", json!({"name": "begin"}), Some("1")),
    )
    .await;
    stays.until("\"progress\":1").await;
    // One that goes before it has reached the child is nothing to the child.
    soon(async { while tell(at).await["never"] != 1 {} }).await;
    drop((heard, unheard));
    soon(async { while tell(at).await["cancelled"].as_array().unwrap().len() < 2 {} }).await;
}

#[tokio::test]
async fn subscriptions_hear_their_own_id_to_the_end() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let headers = modern_headers("subscriptions/listen", "");
    let mut streams = Vec::new();
    for id in ["1", "\"1\"", "1"] {
        let body = modern_text(id, "subscriptions/listen", json!({"notifications": {}}), None);
        let mut open = Open::send(at, "POST /mcp", &headers, &body).await;
        open.until("acknowledged").await;
        streams.push((id, open));
    }
    assert_eq!(call(at, "1", "poke", json!({})).await.0, 200);
    for (_, open) in &mut streams {
        open.until("resources/updated").await;
    }
    assert_eq!(call(at, "1", "close", json!({})).await.0, 200);
    for (id, open) in &mut streams {
        let all = open.until("\r\n0\r\n\r\n").await;
        assert_eq!(all.matches(&format!("subscriptionId\":{id}}}")).count(), 3, "{all}");
        assert_eq!(all.matches("data: ").count(), 3, "{all}");
    }
}

#[tokio::test]
async fn what_names_no_request_reaches_nobody() {
    let gateway = serve("modern", "").await;
    let (status, head, body) = call(gateway.callers, "1", "log", json!({})).await;
    assert_eq!((status, body.as_str()), (200, r#"{"result":{},"jsonrpc":"2.0","id":1}"#));
    assert!(head.contains("content-type: application/json"));
}

#[tokio::test]
async fn statuses_are_those_of_the_modern_transport() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    for (code, expected) in
        [("-32601", 404), ("-32602", 400), ("-32021", 400), ("-32000", 200), ("-32603", 200)]
    {
        let code: Value = code.parse().unwrap();
        let (status, _, body) = call(at, "\"mine\"", "error", json!({ "code": code })).await;
        assert_eq!(status, expected, "{body}");
        assert_eq!((&read(&body)["id"], &read(&body)["error"]["code"]), (&json!("mine"), &code));
    }
    let unknown = modern_text("1", "x/unknown", json!({}), None);
    assert_eq!(ask(at, "POST /mcp", &modern_headers("x/unknown", ""), &unknown).await.0, 404);

    // A session id and an event id mean nothing, and none is made.
    let mut headers = modern_headers("tools/list", "");
    headers.extend([("Mcp-Session-Id", "made-up"), ("Last-Event-ID", "1-1")]);
    let (status, head, _) =
        ask(at, "POST /mcp", &headers, &modern_text("1", "tools/list", json!({}), None)).await;
    assert_eq!((status, session_of(&head)), (200, None));
}

#[tokio::test]
async fn a_notification_is_202_and_what_is_no_json_415() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    for method in ["notifications/x", "notifications/cancelled"] {
        let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"requestId":1}}}}"#);
        let (status, _, body) = ask(at, "POST /mcp", &modern_headers(method, ""), &body).await;
        assert_eq!((status, body.as_str()), (202, ""), "{method}");
    }
    for kind in [&[][..], &[("Content-Type", "text/plain")], &[("Content-Type", "application/jsonx")]] {
        for body in ["{}", "no json at all"] {
            let (status, head, _) = ask(at, "POST /mcp", kind, body).await;
            assert_eq!(status, 415, "{head}");
        }
    }
    assert_eq!(ask(at, "GET /.well-known/oauth-protected-resource", &[], "").await.0, 404);
}

#[tokio::test]
async fn a_legacy_child_serves_modern_callers_in_a_session() {
    for script in ["legacy", "legacy-exits", "legacy-hangs", "legacy-is-silent"] {
        let gateway = serve(script, "[limits]\nupstream_first_byte = '6 s'\n").await;
        for _ in 0..2 {
            let (status, _, body) = call(gateway.callers, "\"mine\"", "pid", json!({})).await;
            let answer = read(&body);
            assert_eq!((status, &answer["id"]), (200, &json!("mine")), "{script} {body}");
            assert_eq!(answer["result"]["resultType"], "complete", "{script} {body}");
        }
        Legacy::begin(gateway.callers, json!({})).await;
    }
}

#[tokio::test]
async fn a_version_that_the_child_does_not_speak_is_400() {
    let gateway = serve("modern", "").await;
    let mut headers = modern_headers("tools/list", "");
    headers[2].1 = "2099-01-01";
    let body = modern_text("1", "tools/list", json!({}), None).replace("2026-07-28", "2099-01-01");
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &headers, &body).await;
    assert_eq!(status, 400);
    assert_eq!(read(&body)["error"]["data"], json!({"requested": "2099-01-01", "supported": ["2026-07-28"]}));
}

#[tokio::test]
async fn a_modern_child_tells_legacy_callers_without_a_session_what_it_speaks() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    for (body, requested) in [(r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#.to_owned(), "2025-03-26")]
    {
        let (status, head, body) = ask(at, "POST /mcp", &ACCEPT, &body).await;
        assert_eq!((status, session_of(&head)), (400, None), "{body}");
        let error = &read(&body)["error"];
        assert_eq!(error["code"], -32022);
        assert_eq!(error["data"], json!({"requested": requested, "supported": ["2026-07-28"]}));
        assert_eq!(read(&body)["id"], 0);
    }
    for method in ["GET", "DELETE", "PUT"] {
        for headers in [&[][..], &[("Mcp-Session-Id", "x")]] {
            let (status, head, _) = ask(at, &format!("{method} /mcp"), headers, "").await;
            assert_eq!(status, 405);
            assert!(head.contains("allow: POST\r\n"), "{head}");
        }
    }
}

#[tokio::test]
async fn a_child_without_work_ends_and_the_next_call_starts_another() {
    let gateway = serve("modern", "child_idle = '200 ms'\n").await;
    let pid = || async { read(&call(gateway.callers, "1", "pid", json!({})).await.2)["result"].clone() };
    let first = pid().await;
    soon(async {
        loop {
            tokio::time::sleep(std::time::Duration::from_millis(600)).await;
            if pid().await != first {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_child_gets_our_environment_or_what_it_needs_and_what_was_chosen() {
    for (more, inherits) in [("", true), ("inherit_env = true\n", true), ("inherit_env = false\n", false)] {
        let gateway = serve("modern", more).await;
        let body = call(gateway.callers, "1", "environment", json!({})).await.2;
        let names = read(&body)["result"]["content"][0]["text"].as_str().unwrap().to_owned();
        let names: Vec<_> = names.split(' ').collect();
        assert!(names.contains(&"PATH") && names.contains(&"SCRIPT"), "{names:?}");
        assert_eq!(names.iter().any(|name| name.starts_with("CARGO")), inherits, "{names:?}");
    }
}

#[tokio::test]
async fn what_is_refused_for_the_child_is_counted() {
    let gateway = serve("legacy", "").await;
    let mut headers = modern_headers("tools/list", "");
    headers[2].1 = "2099-01-01";
    let body = modern_text("1", "tools/list", json!({}), None).replace("2026-07-28", "2099-01-01");
    assert_eq!(ask(gateway.callers, "POST /mcp", &headers, &body).await.0, 400);
    let list = r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#;
    assert_eq!(ask(gateway.callers, "POST /mcp", &ACCEPT, list).await.0, 400);
    crate::counted::check(
        &gateway,
        &[
            r#"attune_refusals_total{mount="default",rule="H14",enforced="true"} 1"#,
            r#"attune_refusals_total{mount="default",rule="G9",enforced="true"} 1"#,
            r#"attune_requests_total{mount="default",method="tools/list",outcome="refused",language=""} 2"#,
        ],
    )
    .await;
}
