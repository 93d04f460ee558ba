//! Legacy sessions, each with a child of its own.

use serde_json::json;

use super::*;

#[tokio::test]
async fn two_callers_in_elicitation_at_once_each_get_their_own_and_a_modern_one_beside_them() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    let (one, two) = (
        Legacy::begin(at, json!({"elicitation": {}})).await,
        Legacy::begin(at, json!({"elicitation": {}, "sampling": {}})).await,
    );
    assert_ne!(one.id, two.id);
    for (session, expected) in
        [(&one, r#"{"elicitation":{}}"#), (&two, r#"{"elicitation":{},"sampling":{}}"#)]
    {
        let body = session.call("1", "capabilities", json!({})).await.2;
        assert_eq!(read(&body)["result"]["content"][0]["text"], expected);
    }
    // Both ask with the same ids, and both children ask with the same ones.
    let mut asked = Vec::new();
    for (session, who) in [(&one, "one"), (&two, "two")] {
        let mut open = session.open("7", "elicit", json!({ "who": who })).await;
        let question = open.until("elicitation/create").await;
        assert!(question.contains(&format!(r#"{{\"who\":\"{who}\"}}"#)), "{question}");
        assert!(
            question.contains("content-type: text/event-stream")
                && question.contains("x-accel-buffering: no")
        );
        asked.push(open);
    }
    let (status, _, body) = call(at, "7", "echo", json!({"who": "modern"})).await;
    assert_eq!((status, &read(&body)["result"]["arguments"]["who"]), (200, &json!("modern")));
    for (session, who) in [(&two, "two"), (&one, "one")] {
        let answer =
            json!({"jsonrpc": "2.0", "id": 1, "result": {"action": "accept", "content": {"who": who}}});
        let (status, _, body) = session.post(&answer.to_string()).await;
        assert_eq!((status, body.as_str()), (202, ""));
    }
    for (open, who) in asked.iter_mut().zip(["one", "two"]) {
        let all = open.until("\r\n0\r\n\r\n").await;
        assert_eq!(all.matches("\"jsonrpc\"").count(), 2, "{all}");
        assert!(
            all.contains(&format!(r#"\"content\":{{\"who\":\"{who}\"}}"#)) && all.contains("\"id\":7}"),
            "{all}"
        );
    }
}

#[tokio::test]
async fn an_answer_that_comes_first_is_json_and_ids_stay_as_they_are() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    for id in ["1", "\"1\"", "-9007199254740993", "123456789012345678901234567890", r#""\u00e9\\""#] {
        let (status, head, body) = session.call(id, "echo", json!({})).await;
        assert_eq!(status, 200);
        assert!(head.contains("content-type: application/json"), "{head}");
        assert!(body.contains(&format!(r#"{{"id":{id},"token":null"#)), "{body}");
        assert!(body.ends_with(&format!(r#""id":{id}}}"#)), "{body}");
    }
    // Errors are the child's own, and 200.
    let (status, _, body) = session.call("1", "error", json!({"code": -32601})).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (200, &json!(-32601)));
}

#[tokio::test]
async fn a_request_with_the_id_of_one_that_runs_is_refused_and_does_not_touch_it() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut open = session.open("\"a\"", "elicit", json!({})).await;
    open.until("elicitation/create").await;
    let echo = |id: &str| Legacy::text(id, "echo", &json!({}));
    let twice = [echo("8"), echo("8")].join(",");
    for again in [echo(r#""\u0061""#), format!("[{},{}]", echo("8"), echo("\"a\"")), format!("[{twice}]")] {
        let (status, _, body) = session.post(&again).await;
        assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32600)), "{again}: {body}");
    }
    session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    let all = open.until("\r\n0\r\n\r\n").await;
    assert!(all.contains(r#"\"accept\""#), "{all}");
    // What was refused has left nothing behind, and an id that is answered is free.
    for id in ["8", "\"a\""] {
        assert_eq!(session.call(id, "echo", json!({})).await.0, 200, "{id}");
    }
}

#[tokio::test]
async fn a_request_with_the_id_of_one_that_runs_in_another_spelling_is_refused() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut open = session.open("7", "elicit", json!({})).await;
    open.until("elicitation/create").await;
    for again in ["7.0", "7e0", "70e-1"] {
        let (status, _, body) = session.call(again, "echo", json!({})).await;
        assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32600)), "{again}: {body}");
    }
    assert_eq!(session.call("\"7\"", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn a_request_whose_id_is_too_long_is_told_so() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let id = |bytes: usize| format!("\"{}\"", "x".repeat(bytes - 2));
    let batch = format!("[{}]", Legacy::text(&id(1025), "echo", &json!({})));
    for (status, _, body) in [session.call(&id(1025), "echo", json!({})).await, session.post(&batch).await] {
        assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32600)), "{body}");
        let told = read(&body)["error"]["message"].to_string();
        assert!(told.contains("1024 bytes; send a shorter one"), "{told}");
    }
    assert_eq!(session.call(&id(1024), "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn what_a_child_says_before_it_answers_initialize_waits_on_the_get_stream() {
    let gateway = serve("legacy-talks-first", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut get = session.get(&[]).await;
    let heard = get.until("\"ping\"").await;
    assert!(heard.contains("id: 0-1\ndata: {") && heard.contains("I am here"), "{heard}");
    assert!(heard.contains("id: 0-2\ndata: {") && !heard.contains("serverInfo"), "{heard}");
    assert_eq!(session.call("1", "echo", json!({})).await.0, 200);
}

#[tokio::test]
async fn what_is_about_no_call_goes_to_the_get_stream() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    assert_eq!(session.call("1", "changed", json!({})).await.0, 200);
    let mut get = session.get(&[]).await;
    let heard = get.until("tools/list_changed").await;
    assert!(heard.contains("content-type: text/event-stream"), "{heard}");
    assert!(heard.contains("id: 0-1\ndata: {"), "{heard}");
    session.call("1", "changed", json!({})).await;
    get.until("id: 0-2").await;
    // Whoever opens it anew takes it over, and hears nothing twice.
    let mut again = session.get(&[]).await;
    get.until("\r\n0\r\n\r\n").await;
    session.call("1", "changed", json!({})).await;
    let heard = again.until("id: 0-3").await;
    assert!(!heard.contains("id: 0-1"), "{heard}");
}

#[tokio::test]
async fn a_lost_connection_cancels_nothing_and_its_stream_goes_on_where_it_was() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut open = session.open("7", "elicit", json!({})).await;
    let heard = open.until("elicitation/create").await;
    let prime = heard.lines().find_map(|line| line.strip_prefix("id: ")).unwrap().trim().to_owned();
    assert!(heard.contains(&format!("id: {prime}\ndata: \n\n")), "{heard}");
    drop(open);
    session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await;
    assert_eq!(read(&session.call("8", "cancelled", json!({})).await.2)["result"]["cancelled"], json!([]));
    for _ in 0..2 {
        let mut again = session.get(&[("Last-Event-ID", &prime)]).await;
        let all = again.until("\r\n0\r\n\r\n").await;
        assert!(all.contains("elicitation/create") && all.contains(r#"\"accept\""#), "{all}");
    }
    let question = prime.replace("-0", "-1");
    let mut again = session.get(&[("Last-Event-ID", &question)]).await;
    let all = again.until("\r\n0\r\n\r\n").await;
    assert!(!all.contains("elicitation/create") && all.contains(r#"\"accept\""#), "{all}");
    for unknown in ["x", "77-1", "", "1-99"] {
        let (status, _, body) = ask(
            gateway.callers,
            "GET /mcp",
            &[&session.headers()[..], &[("Last-Event-ID", unknown)]].concat(),
            "",
        )
        .await;
        assert_eq!(status, 400, "{unknown}: {body}");
    }
}

#[tokio::test]
async fn a_call_that_its_caller_cancels_ends() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let mut open = session.open("\"slow\"", "never", json!({})).await;
    // It takes its time, so it becomes a stream.
    open.until("text/event-stream").await;
    let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"sl\u006fw"}}"#;
    assert_eq!(session.post(cancel).await.0, 202);
    open.until("\r\n0\r\n\r\n").await;
    let cancelled = read(&session.call("1", "cancelled", json!({})).await.2);
    assert_eq!(cancelled["result"]["cancelled"], json!(["slow"]));
}

#[tokio::test]
async fn a_batch_is_taken_apart_and_answered_on_one_stream() {
    let gateway = serve("legacy", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let batch = format!(
        "[{},\n{},{}]",
        Legacy::text("1", "echo", &json!({})),
        r#"{"jsonrpc":"2.0","method":"notifications/x"}"#,
        Legacy::text("\"1\"", "echo", &json!({})),
    );
    let (status, _, body) = session.post(&batch).await;
    let ids: Vec<_> = messages(&body).iter().map(|message| message["id"].clone()).collect();
    assert_eq!((status, ids), (200, vec![json!(1), json!("1")]));
    assert_eq!(session.post(r#"[{"jsonrpc":"2.0","method":"notifications/x"}]"#).await.0, 202);
    assert_eq!(session.post("[]").await.0, 400);
}

#[tokio::test]
async fn a_session_that_is_over_is_404_and_none_at_all_400() {
    let gateway = serve("legacy", "").await;
    let at = gateway.callers;
    let session = Legacy::begin(at, json!({})).await;
    let pid = session.pid().await;
    let mut get = session.get(&[]).await;
    get.until("\r\n\r\n").await;
    assert_eq!(session.end().await, 204);
    get.until("\r\n0\r\n\r\n").await;
    leaks::is_gone(pid).await;
    assert_eq!(session.call("1", "echo", json!({})).await.0, 404);
    assert_eq!(session.end().await, 404);
    assert_eq!(ask(at, "GET /mcp", &session.headers(), "").await.0, 404);
    let list = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;
    assert_eq!(ask(at, "POST /mcp", &ACCEPT, list).await.0, 400);
    assert_eq!(ask(at, "GET /mcp", &ACCEPT, "").await.0, 400);
    let (status, head, _) = ask(at, "PUT /mcp", &ACCEPT, "").await;
    assert_eq!(status, 405);
    assert!(head.contains("allow: GET, POST, DELETE\r\n"), "{head}");
}

#[tokio::test]
async fn a_child_that_lists_no_legacy_version_but_initializes_has_sessions_too() {
    let gateway = serve("both-but-lists-one", "").await;
    let at = gateway.callers;
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200);
    let lost = Legacy { gateway: at, id: "from-before-a-restart".into() };
    assert_eq!(lost.call("1", "echo", json!({})).await.0, 404, "so that its caller begins anew");
    let session = Legacy::begin(at, json!({})).await;
    assert_eq!(session.end().await, 204);
    assert_eq!(session.call("1", "echo", json!({})).await.0, 404);
    assert_eq!(ask(at, "GET /mcp", &session.headers(), "").await.0, 404);
}

#[tokio::test]
async fn a_child_that_dies_ends_its_session_and_no_other() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    let (dies, lives) = (Legacy::begin(at, json!({})).await, Legacy::begin(at, json!({})).await);
    let mut open = dies.open("\"mine\"", "elicit", json!({})).await;
    open.until("elicitation/create").await;
    let (status, _, body) = dies.call("5", "die", json!({})).await;
    assert_eq!((status, &read(&body)["error"]["code"], &read(&body)["id"]), (502, &json!(-32603), &json!(5)));
    let all = open.until("\r\n0\r\n\r\n").await;
    assert!(all.contains(r#"{"jsonrpc":"2.0","id":"mine","error":{"code":-32603"#), "{all}");
    assert_eq!(dies.call("1", "echo", json!({})).await.0, 404);
    assert_eq!(lives.call("1", "echo", json!({})).await.0, 200);
    Legacy::begin(at, json!({})).await;
}

/// A session with a call under way.
async fn busy(at: SocketAddr) -> (Legacy, Open) {
    let session = Legacy::begin(at, json!({"elicitation": {}})).await;
    let mut open = session.open("7", "elicit", json!({})).await;
    open.until("elicitation/create").await;
    (session, open)
}

#[tokio::test]
async fn no_more_sessions_are_open_than_may_be() {
    let gateway = serve("both", "children = 2\n").await;
    let at = gateway.callers;
    let (one, _call) = busy(at).await;
    let two = Legacy::begin(at, json!({})).await;
    let mut get = two.get(&[]).await;
    get.until("\r\n\r\n").await;
    let (status, head, body) = ask(at, "POST /mcp", &ACCEPT, &hello(&json!({}))).await;
    assert_eq!((status, session_of(&head)), (503, None));
    assert!(head.contains("retry-after: "), "{head}");
    let error = &read(&body)["error"];
    assert_eq!(error["code"], -32603);
    assert!(error["message"].as_str().unwrap().contains("as many sessions"), "{error}");
    assert_eq!(call(at, "1", "echo", json!({})).await.0, 200, "modern callers have a child of their own");
    assert_eq!(one.end().await, 204);
    Legacy::begin(at, json!({})).await;
}

#[tokio::test]
async fn a_call_that_nobody_hears_any_more_keeps_its_session() {
    let gateway = serve("both", "children = 1\n").await;
    let at = gateway.callers;
    let (session, call) = busy(at).await;
    drop(call);
    // The caller lost its connection and may take its stream up again.
    for _ in 0..3 {
        assert_eq!(ask(at, "POST /mcp", &ACCEPT, &hello(&json!({}))).await.0, 503);
    }
    assert_eq!(session.post(r#"{"jsonrpc":"2.0","id":1,"result":{"action":"accept"}}"#).await.0, 202);
    let next = soon(async {
        loop {
            let answer = ask(at, "POST /mcp", &ACCEPT, &hello(&json!({}))).await;
            if answer.0 == 200 {
                return answer;
            }
        }
    });
    assert!(session_of(&next.await.1).is_some(), "its call is answered, so it is idle");
}

#[tokio::test]
async fn the_longest_idle_session_makes_room_for_a_new_one() {
    let gateway = serve("both", "children = 3\n").await;
    let at = gateway.callers;
    let (busy, _call) = busy(at).await;
    let (first, second) = (Legacy::begin(at, json!({})).await, Legacy::begin(at, json!({})).await);
    // It began first, and was used last.
    assert_eq!(first.call("1", "echo", json!({})).await.0, 200);
    let pid = second.pid().await;
    assert_eq!(first.call("2", "echo", json!({})).await.0, 200);
    let third = Legacy::begin(at, json!({})).await;
    leaks::is_gone(pid).await;
    assert_eq!(second.call("1", "echo", json!({})).await.0, 404, "so that its caller begins anew");
    assert_eq!(ask(at, "GET /mcp", &second.headers(), "").await.0, 404);
    for session in [&busy, &first, &third] {
        assert_eq!(session.call("8", "echo", json!({})).await.0, 200);
    }
    // Whoever begins anew makes the next one end.
    let again = Legacy::begin(at, json!({})).await;
    assert_eq!(again.call("1", "echo", json!({})).await.0, 200);
    assert_eq!(busy.call("9", "echo", json!({})).await.0, 200, "a call runs in it");
}

#[tokio::test]
async fn callers_who_begin_at_once_never_run_more_programs_than_allowed() {
    let gateway = serve("both", "children = 2\n").await;
    let at = gateway.callers;
    let begin = |_| tokio::spawn(async move { ask(at, "POST /mcp", &ACCEPT, &hello(&json!({}))).await.0 });
    let mut begun = 0;
    for round in 0..4 {
        for answer in (0..6).map(begin).collect::<Vec<_>>() {
            let status = answer.await.unwrap();
            assert!([200, 503].contains(&status), "{status}");
            begun += usize::from(status == 200);
        }
        assert!(begun > round, "somebody begins in every round");
    }
}

#[tokio::test]
async fn a_session_without_work_ends() {
    let gateway = serve("legacy", "children = 2\nchild_idle = '300 ms'\n").await;
    let at = gateway.callers;
    let (idle, busy) = (Legacy::begin(at, json!({})).await, Legacy::begin(at, json!({})).await);
    let mut get = busy.get(&[]).await;
    get.until("\r\n\r\n").await;
    let pid = idle.pid().await;
    leaks::is_gone(pid).await;
    assert_eq!(idle.call("1", "echo", json!({})).await.0, 404);
    assert_eq!(busy.call("1", "echo", json!({})).await.0, 200, "its stream is open");
}

#[tokio::test]
async fn who_only_listens_does_not_hold_up_the_end_and_a_call_does() {
    let gateway = serve("both", "").await;
    let at = gateway.callers;
    let session = Legacy::begin(at, json!({})).await;
    let mut get = session.get(&[]).await;
    get.until("\r\n\r\n").await;
    let listen = modern_text("1", "subscriptions/listen", json!({ "notifications": {} }), None);
    let mut subscription =
        Open::send(at, "POST /mcp", &modern_headers("subscriptions/listen", ""), &listen).await;
    subscription.until("subscriptions/acknowledged").await;
    let mut call = session.open("7", "elicit", json!({})).await;
    call.until("elicitation/create").await;
    let end = tokio::spawn(gateway.stop());
    for open in [&mut get, &mut subscription] {
        open.until("\r\n0\r\n\r\n").await;
    }
    assert!(!end.is_finished(), "a call runs");
    drop(call);
    assert_eq!(soon(end).await.unwrap().cut, 0);
}

#[tokio::test]
async fn sessions_outlive_a_new_configuration_and_end_with_the_gateway() {
    let folder = std::env::temp_dir().join(format!("attune-child-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("attune.toml");
    let config = script::command("both");
    std::fs::write(&file, &config).unwrap();
    let gateway = gateway(&config, Some(file.clone())).await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let pid = session.pid().await;
    std::fs::write(&file, format!("default_language = 'de'\n{config}")).unwrap();
    let german = ("io.modelcontextprotocol/acceptLanguage", "de");
    soon(async {
        loop {
            let answer = crate::whole::call(gateway.callers, "echo", json!({}), &[german], &[]).await;
            if answer.1.contains("content-language: de") {
                break;
            }
            tokio::time::sleep(std::time::Duration::from_millis(100)).await;
        }
    })
    .await;
    assert_eq!(session.pid().await, pid);
    soon(gateway.stop()).await;
    leaks::is_gone(pid).await;
    std::fs::remove_dir_all(&folder).unwrap();
}

#[tokio::test]
async fn one_caller_gets_its_share_of_sessions_and_its_own_idle_one_makes_room() {
    let gateway = serve("legacy", "children = 8\n[limits]\nshare = 0.25\n").await;
    let at = gateway.callers;
    let begin = async |from: &str| {
        let headers = [&ACCEPT[..], &[("X-Forwarded-For", from)]].concat();
        let (status, head, body) = ask(at, "POST /mcp", &headers, &hello(&json!({}))).await;
        (status, session_of(&head).map(str::to_owned), body)
    };
    let in_session = async |id: &Option<String>| {
        let headers = [&ACCEPT[..], &[("Mcp-Session-Id", id.as_deref().unwrap())]].concat();
        ask(at, "POST /mcp", &headers, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#).await.0
    };
    let (one, two, other) = ("203.0.113.7", "203.0.113.8", "203.0.113.9");
    let theirs = begin(other).await.1;
    let first = begin(one).await.1;
    let second = begin(one).await.1;
    assert_eq!((in_session(&first).await, in_session(&second).await), (200, 200));
    // The caller's own session that was idle for longest goes, and nobody else's.
    let third = begin(one).await;
    assert_eq!(third.0, 200, "{}", third.2);
    assert_eq!((in_session(&first).await, in_session(&second).await), (404, 200));
    assert_eq!(in_session(&theirs).await, 200);
    for _ in 0..2 {
        assert_eq!(begin(two).await.0, 200);
    }
}
