//! Callers of one era in front of programs of the other.

use serde_json::{Value, json};

use super::{
    Answer, Legacy, Open, call, call_with, hello, messages, modern_headers, modern_text, read, serve,
    session_of,
};
use crate::support::soon;
use crate::whole::{ACCEPT, Running, ask};

/// A modern call of a client that can be asked, of this caller.
async fn call_as(gateway: &Running, caller: &str, tool: &str, more: Value) -> Answer {
    let mut params = json!({ "name": tool, "arguments": {"a": 1} });
    params.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    let body = modern_text("7", "tools/call", params, None)
        .replace(r#"clientCapabilities":{}"#, r#"clientCapabilities":{"elicitation":{}}"#);
    let mut headers = modern_headers("tools/call", tool);
    headers.push(("Authorization", caller));
    ask(gateway.callers, "POST /mcp", &headers, &body).await
}

/// A sealed text with another letter in its middle.
fn altered(sealed: &str) -> String {
    let (before, after) = sealed.split_at(sealed.len() / 2);
    let (letter, rest) = after.split_at(1);
    format!("{before}{}{rest}", if letter == "A" { "B" } else { "A" })
}

fn result(answer: &Answer) -> Value {
    assert_eq!(answer.0, 200, "{}", answer.2);
    read(&answer.2)["result"].clone()
}

fn text(answer: &Answer) -> String {
    result(answer)["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{}", answer.2)).to_owned()
}

#[tokio::test]
async fn discovery_is_answered_from_the_handshake_and_results_are_modern() {
    let gateway = serve("legacy", "").await;
    let modern = |method: &'static str| {
        let at = gateway.callers;
        async move {
            ask(at, "POST /mcp", &modern_headers(method, ""), &modern_text("\"d\"", method, json!({}), None))
                .await
        }
    };
    let (status, head, body) = modern("server/discover").await;
    assert_eq!((status, session_of(&head)), (200, None));
    let found = read(&body)["result"].clone();
    assert_eq!(found["supportedVersions"], json!(["2026-07-28", "2025-11-25"]));
    assert_eq!(found["capabilities"], json!({"tools": {}}));
    assert_eq!(found["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "script");
    let listed = result(&modern("tools/list").await);
    assert_eq!(
        (&listed["ttlMs"], &listed["cacheScope"], &listed["resultType"]),
        (&json!(0), &json!("private"), &json!("complete"))
    );
    let answer = call_with(gateway.callers, "\"x\"", "progress", json!({}), Some("\"mine\"")).await;
    let said = messages(&answer.2);
    let steps: Vec<_> = said.iter().filter(|message| message["method"] == "notifications/progress").collect();
    assert_eq!(steps.len(), 2, "{}", answer.2);
    assert!(steps.iter().all(|step| step["params"]["progressToken"] == "mine"), "{}", answer.2);
    assert_eq!(said.last().unwrap()["id"], "x");
    let (status, _, body) = call(gateway.callers, "1", "error", json!({"code": -32002})).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32602)));
    crate::counted::check(
        &gateway,
        &[r#"attune_bridged_total{mount="default",caller="modern",server="legacy"} 4"#],
    )
    .await;
}

#[tokio::test]
async fn a_version_that_nobody_speaks_is_told_what_can_be_had() {
    let gateway = serve("legacy", "").await;
    let mut headers = modern_headers("tools/list", "");
    headers[2].1 = "2099-01-01";
    let body = modern_text("1", "tools/list", json!({}), None).replace("2026-07-28", "2099-01-01");
    let (status, _, body) = ask(gateway.callers, "POST /mcp", &headers, &body).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32022)));
    let expected = json!({"requested": "2099-01-01", "supported": ["2026-07-28", "2025-11-25"]});
    assert_eq!(read(&body)["error"]["data"], expected);
}

#[tokio::test]
async fn two_identities_never_share_a_session_and_one_does() {
    let gateway = serve("legacy", "").await;
    let pid = |caller| {
        let gateway = &gateway;
        async move { text(&call_as(gateway, caller, "pid", json!({})).await) }
    };
    let (a, b, none) = (
        pid("Bearer a").await,
        pid("Bearer b").await,
        text(&call(gateway.callers, "1", "pid", json!({})).await),
    );
    assert!(a != b && b != none && a != none, "{a} {b} {none}");
    assert_eq!((pid("Bearer a").await, pid("Bearer b").await), (a, b));
    assert_eq!(text(&call(gateway.callers, "1", "pid", json!({})).await), none);
}

#[tokio::test]
async fn callers_without_credentials_can_be_kept_apart() {
    let gateway = serve("legacy", "[bridge]\nanonymous = 'apart'\n").await;
    let pid = || async { text(&call(gateway.callers, "1", "pid", json!({})).await) };
    assert_ne!(pid().await, pid().await);
}

#[tokio::test]
async fn what_a_server_asks_goes_to_the_caller_and_its_answer_back() {
    let gateway = serve("legacy", "").await;
    let asked = result(&call_as(&gateway, "Bearer a", "elicit", json!({})).await);
    assert_eq!(asked["resultType"], "input_required");
    let question = json!({"method": "elicitation/create", "params": {"message": "{\"a\":1}"}});
    assert_eq!(asked["inputRequests"], json!({"input-1": question}));
    let state = asked["requestState"].as_str().unwrap().to_owned();
    let retry = |caller: &'static str, state: String, responses: Value, name: &'static str| {
        let gateway = &gateway;
        async move {
            call_as(gateway, caller, name, json!({"requestState": state, "inputResponses": responses})).await
        }
    };
    let good = json!({"input-1": {"action": "accept", "content": {"x": 1}}});
    // Somebody else, another request, another state.
    let changed = altered(&state);
    for (caller, state, name) in [
        ("Bearer b", state.clone(), "elicit"),
        ("Bearer a", state.clone(), "pid"),
        ("Bearer a", changed, "elicit"),
        ("Bearer a", "made up".to_owned(), "elicit"),
    ] {
        let (status, _, body) = retry(caller, state, good.clone(), name).await;
        assert_eq!((status, &read(&body)["error"]["code"]), (400, &json!(-32602)), "{caller} {name} {body}");
    }
    // Nothing was answered, so it is asked again.
    let again = result(&retry("Bearer a", state.clone(), json!({}), "elicit").await);
    assert_eq!(again["inputRequests"], json!({"input-1": question}));
    let second = again["requestState"].as_str().unwrap().to_owned();
    assert_eq!(
        text(&retry("Bearer a", second.clone(), good.clone(), "elicit").await),
        r#"{"action":"accept","content":{"x":1}}"#
    );
    // Each state is good for once.
    for used in [state, second] {
        assert_eq!(retry("Bearer a", used, good.clone(), "elicit").await.0, 400);
    }
}

#[tokio::test]
async fn a_call_that_gets_no_input_is_cancelled() {
    let gateway = serve("legacy", "[bridge]\ninput_wait = '300 ms'\n").await;
    let asked = result(&call_as(&gateway, "Bearer a", "elicit", json!({})).await);
    let state = asked["requestState"].as_str().unwrap().to_owned();
    soon(async {
        loop {
            let cancelled = result(&call_as(&gateway, "Bearer a", "cancelled", json!({})).await);
            if cancelled["cancelled"].as_array().is_some_and(|numbers| numbers.len() == 1) {
                break;
            }
        }
    })
    .await;
    let late = json!({"requestState": state, "inputResponses": {"input-1": {"action": "accept"}}});
    assert_eq!(call_as(&gateway, "Bearer a", "elicit", late).await.0, 400);
}

#[tokio::test]
async fn calls_that_can_be_asked_have_a_session_each_while_they_run() {
    let gateway = serve("legacy", "").await;
    let (one, two) = tokio::join!(
        call_as(&gateway, "Bearer a", "elicit", json!({})),
        call_as(&gateway, "Bearer a", "elicit", json!({}))
    );
    for asked in [&one, &two] {
        let state = result(asked)["requestState"].clone();
        let answer = json!({"requestState": state, "inputResponses": {"input-1": {"action": "decline"}}});
        assert_eq!(text(&call_as(&gateway, "Bearer a", "elicit", answer).await), r#"{"action":"decline"}"#);
    }
}

#[tokio::test]
async fn sessions_are_bounded_and_one_that_is_idle_makes_room() {
    let gateway = serve("legacy", "[bridge]\nsessions = 2\n[limits]\nshare = 1.0\n").await;
    // Two that wait for input are not idle.
    for _ in 0..2 {
        assert_eq!(call_as(&gateway, "Bearer a", "elicit", json!({})).await.0, 200);
    }
    assert_eq!(call_as(&gateway, "Bearer b", "pid", json!({})).await.0, 503);
    let gateway = serve("legacy", "[bridge]\nsessions = 2\n[limits]\nshare = 1.0\n").await;
    for caller in ["Bearer a", "Bearer b", "Bearer c", "Bearer d"] {
        assert_eq!(call_as(&gateway, caller, "pid", json!({})).await.0, 200, "{caller}");
    }
}

#[tokio::test]
async fn a_caller_that_goes_away_cancels_its_call() {
    let gateway = serve("legacy", "").await;
    let body = modern_text("1", "tools/call", json!({"name": "begin", "arguments": {}}), Some("\"p\""));
    let mut open =
        Open::send(gateway.callers, "POST /mcp", &modern_headers("tools/call", "begin"), &body).await;
    open.until("notifications/progress").await;
    drop(open);
    soon(async {
        while result(&call(gateway.callers, "1", "cancelled", json!({})).await)["cancelled"] == json!([]) {}
    })
    .await;
}

#[tokio::test]
async fn a_modern_program_serves_legacy_callers() {
    let gateway = serve("modern", "").await;
    let (status, head, body) =
        ask(gateway.callers, "POST /mcp", &ACCEPT, &hello(&json!({"elicitation": {}}))).await;
    assert_eq!(status, 200, "{body}");
    assert_eq!(read(&body)["result"]["protocolVersion"], "2025-11-25");
    assert!(session_of(&head).is_some());
    let session = Legacy::begin(gateway.callers, json!({"elicitation": {}})).await;
    let (_, _, body) = session.post(r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#).await;
    assert_eq!(read(&body), json!({"jsonrpc": "2.0", "id": 3, "result": {"tools": []}}));
    let (_, _, body) = session.post(r#"{"jsonrpc":"2.0","id":"p","method":"ping"}"#).await;
    assert_eq!(read(&body), json!({"jsonrpc": "2.0", "id": "p", "result": {}}));
    let (_, _, body) = session
        .post(r#"{"jsonrpc":"2.0","id":4,"method":"logging/setLevel","params":{"level":"warning"}}"#)
        .await;
    assert_eq!(read(&body)["result"], json!({}));
    let (_, _, body) =
        session.post(r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"meta"}}"#).await;
    let meta: Value =
        serde_json::from_str(read(&body)["result"]["content"][0]["text"].as_str().unwrap()).unwrap();
    assert_eq!(meta["io.modelcontextprotocol/clientInfo"]["name"], "it");
    assert_eq!(meta["io.modelcontextprotocol/logLevel"], "warning");
    assert_eq!(meta["io.modelcontextprotocol/clientCapabilities"], json!({"elicitation": {}}));
    let (status, _, body) = session.post(r#"{"jsonrpc":"2.0","id":6,"method":"tasks/list"}"#).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (404, &json!(-32601)));
    // An error is an answer like others for a legacy client, which would take 404 for the end of its session.
    let (status, _, body) = session.post(r#"{"jsonrpc":"2.0","id":7,"method":"unknown/method"}"#).await;
    assert_eq!((status, &read(&body)["error"]["code"]), (200, &json!(-32601)));
}

#[tokio::test]
async fn what_a_modern_program_asks_becomes_requests_to_a_legacy_caller() {
    let gateway = serve("modern", "").await;
    let session = Legacy::begin(gateway.callers, json!({"elicitation": {}})).await;
    let headers =
        [&ACCEPT[..], &[("Mcp-Session-Id", session.id.as_str()), ("MCP-Protocol-Version", "2025-11-25")]]
            .concat();
    let body = r#"{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":"ask"}}"#;
    let mut open = Open::send(gateway.callers, "POST /mcp", &headers, body).await;
    let said = open.until("Age?").await.to_owned();
    let asked: Vec<_> =
        messages(&said).into_iter().filter(|message| message["method"] == "elicitation/create").collect();
    assert_eq!(
        asked.iter().map(|question| question["params"]["message"].as_str().unwrap()).collect::<Vec<_>>(),
        ["Name?", "Age?"]
    );
    for (question, value) in asked.iter().zip(["Ada", "36"]) {
        let answer = json!({"jsonrpc": "2.0", "id": question["id"], "result": {"action": "accept", "content": {"x": value}}});
        assert_eq!(session.post(&answer.to_string()).await.0, 202);
        // Nobody waits for it a second time.
        assert_eq!(session.post(&answer.to_string()).await.0, 400);
    }
    let said = open.until("\"result\"").await.to_owned();
    let answer = messages(&said).into_iter().find(|message| message["id"] == 5).unwrap();
    assert_eq!(
        answer["result"]["content"][0]["text"],
        r#""s1" {"name":{"action":"accept","content":{"x":"Ada"}},"age":{"action":"accept","content":{"x":"36"}}}"#
    );
    assert_eq!(answer["result"].get("resultType"), None);
}

#[tokio::test]
async fn a_bridged_session_is_its_clients_alone_and_ends() {
    let gateway = serve("modern", "").await;
    let session = Legacy::begin(gateway.callers, json!({})).await;
    let other = Legacy { gateway: gateway.callers, id: altered(&session.id) };
    let list = r#"{"jsonrpc":"2.0","id":3,"method":"tools/list"}"#;
    assert_eq!(other.post(list).await.0, 404);
    assert_eq!(session.post(list).await.0, 200);
    let own = [("Mcp-Session-Id", session.id.as_str())];
    assert_eq!(ask(gateway.callers, "DELETE /mcp", &own, "").await.0, 204);
    assert_eq!(session.post(list).await.0, 404);
    assert_eq!(ask(gateway.callers, "DELETE /mcp", &own, "").await.0, 404);
}
