//! Servers over HTTP that do as they should, in both eras.

use std::sync::{Arc, Mutex};

use mcp_attune_rmcp::{ClientError, Connection, ConnectionOptions, Era, ServerTarget};
use serde_json::{Value, json};

use crate::support::{Asked, answer, demo, json as answer_json, options, server};

fn names(items: &[Value]) -> Vec<&str> {
    items.iter().map(|item| item["name"].as_str().unwrap()).collect()
}

/// Everything that a connection can ask, of the demo.
pub(crate) async fn ask_everything(connection: &Connection) {
    assert!(names(&connection.tools().await.unwrap()).contains(&"get_weather"));
    assert_eq!(names(&connection.prompts().await.unwrap()), ["plan_trip"]);
    let resources = connection.resources().await.unwrap();
    assert_eq!(resources[0]["uri"], "map://features/alpine-valley-1");
    let templates = connection.templates().await.unwrap();
    assert_eq!(templates[0]["uriTemplate"], "map://features/{id}");
    let weather = connection.call("get_weather", json!({ "location": "Bern" })).await.unwrap();
    assert_eq!(weather["structuredContent"]["location"], "Bern");
    let map = connection.read("map://features/alpine-valley-1").await.unwrap();
    assert_eq!(map["contents"][0]["uri"], "map://features/alpine-valley-1");
    let prompts = connection.prompt("plan_trip", json!({ "city": "Bern" })).await;
    assert!(prompts.unwrap()["messages"].is_array());
    let error = connection.read("map://nowhere").await.unwrap_err();
    assert!(error.is_refusal(), "{error}");
    assert!(error.to_string().starts_with("the server refuses `resources/read`: "), "{error}");
}

#[tokio::test]
async fn speaks_the_modern_era_with_whoever_knows_it() {
    let connection = Connection::open(&demo().await, &options()).await.unwrap();
    assert_eq!((connection.version(), connection.era()), ("2026-07-28", Era::Modern));
    assert_eq!(connection.info().server_info.as_ref().unwrap().name, "swiss-travel");
    assert!(connection.info().capabilities.tools.is_some());
    let introduction: Value = serde_json::from_str(connection.introduction().unwrap().get()).unwrap();
    assert_eq!(introduction["supportedVersions"].as_array().unwrap().last().unwrap(), "2026-07-28");
    ask_everything(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn reads_answers_that_are_streams() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target: ServerTarget = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    let demo = mcp_attune_demo::DemoOptions { json_answers: false, ..Default::default() };
    tokio::spawn(mcp_attune_demo::serve(listener, demo, std::future::pending()));
    let connection = Connection::open(&target, &options()).await.unwrap();
    ask_everything(&connection).await;
}

/// A server of 2025-11-25 that answers as it likes to what comes after `initialize`.
async fn legacy(
    refusal: &'static str,
    rest: impl Fn(&Asked) -> String + Clone + Send + 'static,
) -> ServerTarget {
    server(move |asked| match asked.method() {
        "server/discover" => answer_json(400, refusal),
        "initialize" => {
            asked.result(
            r#"{"protocolVersion":"2025-06-18","capabilities":{},"serverInfo":{"name":"old","version":"1"},"more":1}"#,
        )
        }
        "notifications/initialized" => answer(202, "", ""),
        _ => rest(&asked),
    })
    .await
}

#[tokio::test]
async fn begins_with_initialize_where_nobody_knows_better() {
    for refusal in [
        r#"{"jsonrpc":"2.0","id":"server-error","error":{"code":-32600,"message":"Missing session ID"}}"#,
        "Bad Request",
        r#"{"jsonrpc":"2.0","id":0,"error":{"code":-32022,"message":"no","data":{"supported":["2025-06-18"]}}}"#,
    ] {
        let target = legacy(refusal, |asked| asked.result(r#"{"tools":[{"name":"one"}]}"#)).await;
        let connection = Connection::open(&target, &options()).await.unwrap();
        assert_eq!((connection.version(), connection.era()), ("2025-06-18", Era::Legacy), "{refusal}");
        let introduction = connection.introduction().unwrap();
        assert!(introduction.get().contains(r#""more":1"#), "{introduction}");
        assert_eq!(names(&connection.tools().await.unwrap()), ["one"]);
    }
}

#[tokio::test]
async fn speaks_the_era_that_is_asked_for_or_none() {
    let both = demo().await;
    for era in [Era::Modern, Era::Legacy] {
        let mut options = options();
        options.era = Some(era);
        let connection = Connection::open(&both, &options).await.unwrap();
        assert_eq!(connection.era(), era);
        ask_everything(&connection).await;
    }
    let old = legacy("", |asked| asked.result("{}")).await;
    let mut options = options();
    options.era = Some(Era::Modern);
    assert!(Connection::open(&old, &options).await.is_err());
}

#[tokio::test]
async fn keeps_what_rmcp_does_not_know() {
    let result = r#"{ "z":1, "content":[], "isError":false, "new":{"b":1,"a":12345678901234567890123} }"#;
    let target = legacy("", move |asked| asked.result(result)).await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let raw = connection.request_raw("tools/call", json!({ "name": "x" })).await.unwrap();
    assert_eq!(raw.get(), result);
    assert_eq!(connection.call("x", json!({})).await.unwrap()["new"]["b"], 1);
}

#[tokio::test]
async fn reads_all_pages_up_to_a_bound() {
    let page = |asked: &Asked| match asked.body["params"]["cursor"].as_str() {
        None => asked.result(r#"{"prompts":[{"name":"a"}],"nextCursor":"2"}"#),
        Some("2") => asked.result(r#"{"prompts":[{"name":"b"},{"name":"c"}],"nextCursor":"3"}"#),
        Some(_) => asked.result(r#"{"prompts":[{"name":"d"}]}"#),
    };
    let target = legacy("", page).await;
    let bounded = |pages, items| {
        let mut options = options();
        (options.pages, options.items) = (pages, items);
        options
    };
    let connection = Connection::open(&target, &bounded(3, 4)).await.unwrap();
    assert_eq!(names(&connection.prompts().await.unwrap()), ["a", "b", "c", "d"]);
    for (pages, items, expected) in [(2, 4, "more than 2 pages"), (3, 3, "more than 3 items")] {
        let connection = Connection::open(&target, &bounded(pages, items)).await.unwrap();
        let error = connection.prompts().await.unwrap_err();
        assert!(
            matches!(error, ClientError::EndlessListing { .. }) && error.to_string().contains(expected),
            "{error}"
        );
    }
}

#[tokio::test]
async fn a_listing_that_leads_back_is_given_up_at_the_cursor_that_repeats() {
    let asked_for = Arc::new(Mutex::new(Vec::new()));
    let cursors = asked_for.clone();
    let page = move |asked: &Asked| {
        let cursor = asked.body["params"]["cursor"].as_str().unwrap_or("none").to_owned();
        let next = if cursor == "a" { "b" } else { "a" };
        cursors.lock().unwrap().push(cursor);
        asked.result(&format!(r#"{{"tools":[],"nextCursor":"{next}"}}"#))
    };
    let target = legacy("", page).await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let error = connection.tools().await.unwrap_err();
    assert!(error.to_string().contains("answers `tools/list` with a page that leads back"), "{error}");
    assert_eq!(*asked_for.lock().unwrap(), ["none", "a", "b"]);
}

#[tokio::test]
async fn all_pages_of_a_listing_together_have_a_bound() {
    // Three pages of a hundred bytes each, and a little around them.
    let page = |asked: &Asked| {
        let next = match asked.body["params"]["cursor"].as_str() {
            None => r#","nextCursor":"2""#,
            Some("2") => r#","nextCursor":"3""#,
            Some(_) => "",
        };
        asked.result(&format!(r#"{{"tools":[{{"name":"{}"}}]{next}}}"#, "x".repeat(100)))
    };
    let target = legacy("", page).await;
    for (limit, fits) in [(500, true), (300, false)] {
        let mut options = options();
        options.listing_bytes = limit;
        let connection = Connection::open(&target, &options).await.unwrap();
        match connection.tools().await {
            Ok(tools) => assert!(fits && tools.len() == 3),
            Err(error) => {
                assert!(!fits && matches!(error, ClientError::ListingTooLarge { limit: 300, .. }), "{error}");
                assert!(error.to_string().contains("more than 300 bytes of `tools/list`"), "{error}");
            }
        }
    }
}

#[tokio::test]
async fn a_call_whose_headers_need_a_listing_that_is_too_large_is_not_sent() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let target = modern(heads.clone()).await;
    let mut options: ConnectionOptions = options();
    options.listing_bytes = 100;
    let connection = Connection::open(&target, &options).await.unwrap();
    let error = connection.call("sql", json!({ "region": "eu" })).await.unwrap_err();
    assert!(matches!(error, ClientError::ListingTooLarge { .. }), "{error}");
    let heads = heads.lock().unwrap();
    assert!(heads.iter().all(|head| !head.contains("mcp-method: tools/call")), "{heads:?}");
}

/// A modern server that remembers the heads of what it was asked.
async fn modern(heads: Arc<Mutex<Vec<String>>>) -> ServerTarget {
    server(move |asked| {
        heads.lock().unwrap().push(asked.head.clone());
        match asked.method() {
            "server/discover" => asked.result(
                r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},"ttlMs":0,"cacheScope":"private"}"#,
            ),
            "tools/list" => asked.result(
                r#"{"resultType":"complete","ttlMs":0,"cacheScope":"private","tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}"#,
            ),
            _ => asked.result(r#"{"resultType":"complete","content":[]}"#),
        }
    })
    .await
}

#[tokio::test]
async fn sends_what_was_chosen_and_what_the_modern_era_mirrors() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let target = modern(heads.clone()).await;
    let mut options: ConnectionOptions = options();
    options.headers =
        ["Accept-Language: de-CH", "X-Two: 1", "X-Two: 2"].map(|line| line.parse().unwrap()).to_vec();
    let connection = Connection::open(&target, &options).await.unwrap();
    connection.call("sql", json!({ "region": "eu" })).await.unwrap();
    let heads = heads.lock().unwrap();
    assert_eq!(heads.len(), 3, "discover, list, call: {heads:?}");
    for head in heads.iter() {
        assert!(head.contains("accept-language: de-ch\r\n"), "{head}");
        assert!(head.contains("x-two: 1\r\n") && head.contains("x-two: 2\r\n"), "{head}");
    }
    let call = heads.last().unwrap();
    for line in ["mcp-method: tools/call", "mcp-name: sql", "mcp-param-region: eu"] {
        assert!(call.contains(&format!("{line}\r\n")), "{call}");
    }
}

#[tokio::test]
async fn keeps_a_session_and_gives_it_back() {
    let heads = Arc::new(Mutex::new(Vec::new()));
    let seen = heads.clone();
    let target = server(move |asked| {
        seen.lock().unwrap().push(asked.head.clone());
        let id = &asked.body["id"];
        match asked.method() {
            "server/discover" => answer(405, "", ""),
            "initialize" => {
                let result = r#"{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"old","version":"1"}}"#;
                let event = format!("id: 1\ndata:\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\"result\":{result}}}\n\n");
                answer(200, "Content-Type: text/event-stream\r\nMcp-Session-Id: s1\r\n", &event)
            }
            "" if asked.head.starts_with("get ") => answer(405, "", ""),
            "" if asked.head.starts_with("delete ") => answer(204, "", ""),
            "notifications/initialized" => answer(202, "", ""),
            _ => {
                let note = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"x"}}"#;
                let event = format!("data: {note}\n\ndata: {{\"jsonrpc\":\"2.0\",\"id\":{id},\ndata: \"result\":{{\"new\":1}}}}\n\n");
                answer(200, "Content-Type: text/event-stream; charset=utf-8\r\n", &event)
            }
        }
    })
    .await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    assert_eq!(connection.era(), Era::Legacy);
    assert_eq!(connection.request("anything", Value::Null).await.unwrap(), json!({ "new": 1 }));
    connection.close().await;
    let heads = heads.lock().unwrap();
    let in_session = heads.iter().filter(|head| head.contains("mcp-session-id: s1\r\n")).count();
    assert_eq!(in_session, heads.len() - 2, "all but `server/discover` and `initialize`: {heads:?}");
    assert!(heads.last().unwrap().starts_with("delete "), "{heads:?}");
}
