//! A caller cannot make a shared program speak to another caller.

use serde_json::json;

use super::*;

const SUBSCRIPTION: &str = "io.modelcontextprotocol/subscriptionId";
const RELATED: &str = "io.modelcontextprotocol/related-task";

/// What somebody who tries them in order would try.
const GUESSES: std::ops::RangeInclusive<u64> = 0..=24;

/// A caller with a stream that only listens, and one in a call.
async fn victims(at: SocketAddr) -> [Open; 2] {
    let listen = modern_text("1", "subscriptions/listen", json!({ "notifications": {} }), None);
    let mut listens = Open::send(at, "POST /mcp", &modern_headers("subscriptions/listen", ""), &listen).await;
    listens.until("acknowledged").await;
    let begin = modern_text("1", "tools/call", json!({ "name": "begin" }), Some("1"));
    let mut calls = Open::send(at, "POST /mcp", &modern_headers("tools/call", "begin"), &begin).await;
    calls.until("\"progress\":1").await;
    [listens, calls]
}

/// What the victims have heard when the program has said everything.
async fn heard(at: SocketAddr, [mut listens, calls]: [Open; 2]) -> String {
    assert_eq!(call(at, "1", "poke", json!({})).await.0, 200);
    let heard = listens.until("resources/updated").await.to_owned();
    let mut more = [0; 4096];
    // Nothing belongs to this one, so there is nothing to wait for.
    let more = match calls.tcp.try_read(&mut more) {
        Ok(bytes) => String::from_utf8_lossy(&more[..bytes]).into_owned(),
        Err(_) => String::new(),
    };
    heard + &calls.all + &more
}

/// The `_meta` of every message that the program has copied: what has reached it.
async fn copied(at: SocketAddr) -> Vec<Value> {
    let (status, _, body) = call(at, "1", "copied", json!({})).await;
    assert_eq!(status, 200, "{body}");
    serde_json::from_str(read(&body)["result"]["content"][0]["text"].as_str().unwrap()).unwrap()
}

async fn post(at: SocketAddr, method: &str, name: &str, body: &str) -> Answer {
    ask(at, "POST /mcp", &modern_headers(method, name), body).await
}

#[tokio::test]
async fn a_subscription_id_in_a_request_does_not_reach_the_program() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let victims = victims(at).await;
    for guess in GUESSES {
        for id in [json!(guess), json!(guess.to_string())] {
            let meta = json!({ SUBSCRIPTION: id, "kept": "as it is" });
            let params = json!({ "name": "copy_meta", "_meta": meta });
            let body = modern_text("1", "tools/call", params, None);
            let (status, _, body) = post(at, "tools/call", "copy_meta", &body).await;
            assert_eq!((status, read(&body)["result"].clone()), (200, json!({})), "{body}");
        }
    }
    // Numbers cannot be guessed either, so that what is heard does not tell what has arrived.
    let copied = copied(at).await;
    assert_eq!(copied.len(), 2 * GUESSES.count());
    for meta in copied {
        assert_eq!((&meta["kept"], meta.get(SUBSCRIPTION)), (&json!("as it is"), None), "{meta}");
    }
    let heard = heard(at, victims).await;
    assert!(!heard.contains("copied"), "{heard}");
}

#[tokio::test]
async fn a_subscription_id_in_a_notification_does_not_reach_the_program() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let victims = victims(at).await;
    for guess in GUESSES {
        for (key, value) in [(SUBSCRIPTION, json!(guess)), ("progressToken", json!(guess))] {
            let body = json!({"jsonrpc": "2.0", "method": "notifications/copied", "params": {"_meta": {
                key: value, "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientCapabilities": {}}}});
            let (status, _, body) = post(at, "notifications/copied", "", &body.to_string()).await;
            assert_eq!((status, body.as_str()), (202, ""));
        }
    }
    let copied = copied(at).await;
    assert_eq!(copied.len(), 2 * GUESSES.count());
    for meta in copied {
        let version = &meta["io.modelcontextprotocol/protocolVersion"];
        assert_eq!(
            (version, meta.get(SUBSCRIPTION), meta.get("progressToken")),
            (&json!("2026-07-28"), None, None),
            "{meta}"
        );
    }
    let heard = heard(at, victims).await;
    assert!(!heard.contains("copied"), "{heard}");
}

#[tokio::test]
async fn progress_and_cancellations_of_a_caller_do_not_reach_the_program() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let victims = victims(at).await;
    for guess in GUESSES {
        for (method, param) in
            [("notifications/progress", "progressToken"), ("notifications/cancelled", "requestId")]
        {
            let body = json!({"jsonrpc": "2.0", "method": method, "params": {param: guess, "progress": 1,
                "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28",
                    "io.modelcontextprotocol/clientCapabilities": {}}}});
            let (status, _, body) = post(at, method, "", &body.to_string()).await;
            assert_eq!((status, body.as_str()), (202, ""));
        }
    }
    let cancelled = read(&call(at, "1", "cancelled", json!({})).await.2);
    assert_eq!(cancelled["result"]["cancelled"], json!([]));
    let heard = heard(at, victims).await;
    assert!(!heard.contains("copied"), "{heard}");
}

#[tokio::test]
async fn the_numbers_of_others_cannot_be_guessed() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let victims = victims(at).await;
    for guess in GUESSES {
        for message in [
            json!({"jsonrpc": "2.0", "method": "notifications/message",
                "params": {"_meta": {SUBSCRIPTION: guess}, "data": "copied"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/progress",
                "params": {"progressToken": guess, "progress": 1, "message": "copied"}}),
            json!({"jsonrpc": "2.0", "method": "notifications/cancelled",
                "params": {"requestId": guess, "reason": "copied"}}),
            json!({"jsonrpc": "2.0", "id": guess, "result": {"text": "copied"}}),
        ] {
            assert_eq!(call(at, "1", "say", json!({ "message": message })).await.0, 200);
        }
    }
    let heard = heard(at, victims).await;
    assert!(!heard.contains("copied"), "{heard}");
}

#[tokio::test]
async fn a_task_is_no_address() {
    let gateway = serve("modern", "").await;
    let at = gateway.callers;
    let victims = victims(at).await;
    for message in [
        json!({"jsonrpc": "2.0", "method": "notifications/tasks",
            "params": {"taskId": "1", "status": "working", "statusMessage": "copied"}}),
        json!({"jsonrpc": "2.0", "method": "notifications/message",
            "params": {"_meta": {RELATED: {"taskId": "1"}}, "data": "copied"}}),
    ] {
        assert_eq!(call(at, "1", "say", json!({ "message": message })).await.0, 200);
    }
    let heard = heard(at, victims).await;
    assert!(!heard.contains("copied"), "{heard}");
}
