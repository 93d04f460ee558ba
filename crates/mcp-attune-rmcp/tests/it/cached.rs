//! Answers that are kept: for as long as the server says, for whom it says, and one for each kind of caller.

use std::sync::Arc;
use std::time::Duration;

use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{AnswerCache, CallerProfile, Connection, ConnectionOptions, ServerTarget};
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::net::TcpListener;
use tokio::sync::Notify;

use crate::support::{Asked, Heard, answer, modern, options};

fn with(cache: &Arc<AnswerCache>) -> ConnectionOptions {
    let mut options = options();
    options.cache = Some(cache.clone());
    options
}

fn speaking(language: &str) -> CallerProfile {
    CallerProfile::default().language(AcceptLanguage::parse(language).unwrap())
}

/// A server that keeps what it says for a minute, and says who asked.
async fn server(scope: &'static str) -> (ServerTarget, Heard) {
    modern("{}", move |asked| {
        let (language, key) = (asked.meta("acceptLanguage"), asked.lines("x-api-key"));
        let item = json!([{ "name": "x", "title": language, "key": key }]);
        let (tools, hints) =
            (&item, format!(r#""resultType":"complete","ttlMs":60000,"cacheScope":"{scope}""#));
        match asked.method() {
            "changes" => {
                let changed = r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#;
                let result = format!(r#"{{"jsonrpc":"2.0","id":{},"result":{{}}}}"#, asked.body["id"]);
                answer(
                    200,
                    "Content-Type: text/event-stream\r\n",
                    &format!("data: {changed}\n\ndata: {result}\n\n"),
                )
            }
            _ => asked.result(&format!(
                r#"{{{hints},"tools":{tools},"prompts":{tools},"contents":[],"content":[]}}"#
            )),
        }
    })
    .await
}

#[tokio::test]
async fn a_listing_and_a_resource_are_asked_for_once() {
    let (target, heard) = server("private").await;
    let connection = Connection::open(&target, &with(&Arc::default())).await.unwrap();
    heard.take();
    let tools = connection.tools().await.unwrap();
    assert!(Arc::ptr_eq(&tools, &connection.tools().await.unwrap()));
    assert_eq!(heard.methods(), ["tools/list"]);
    for uri in ["a:1", "a:2", "a:1"] {
        connection.read(uri).await.unwrap();
    }
    assert_eq!(heard.methods(), ["resources/read", "resources/read"]);
    let raw = connection.request_raw("prompts/list", Value::Null).await.unwrap();
    assert_eq!(raw.get(), connection.request_raw("prompts/list", json!({})).await.unwrap().get());
    assert_eq!(heard.methods(), ["prompts/list"]);
    connection.call("x", json!({})).await.unwrap();
    connection.call("x", json!({})).await.unwrap();
    assert_eq!(heard.methods(), ["tools/call", "tools/call"], "calls are not kept");
}

#[tokio::test]
async fn without_a_cache_and_without_a_time_nothing_is_kept() {
    let (target, heard) = server("private").await;
    let connection = Connection::open(&target, &options()).await.unwrap();
    let (stale, hears) = modern("{}", |asked| asked.result(r#"{"tools":[],"ttlMs":0}"#)).await;
    let staled = Connection::open(&stale, &with(&Arc::default())).await.unwrap();
    for (connection, heard) in [(connection, heard), (staled, hears)] {
        heard.take();
        connection.tools().await.unwrap();
        connection.tools().await.unwrap();
        assert_eq!(heard.methods(), ["tools/list", "tools/list"]);
    }
}

#[tokio::test]
async fn callers_with_other_preferences_get_other_answers_even_if_they_would_choose_the_same() {
    let (target, heard) = server("public").await;
    let connection = Connection::open(&target, &with(&Arc::default())).await.unwrap();
    heard.take();
    let title = async |profile: CallerProfile| {
        connection.with_profile(&profile).tools().await.unwrap()[0]["title"].clone()
    };
    for language in ["fr, en;q=0.5", "fr,en;q=0.5", "de"] {
        for _ in 0..2 {
            assert_eq!(title(speaking(language)).await, language);
        }
    }
    assert_eq!(heard.methods().len(), 3);
    assert_eq!(title(speaking("de").features(["agent"]).unwrap()).await, "de");
    assert_eq!(title(CallerProfile::default()).await, Value::Null);
    assert_eq!(heard.methods().len(), 2, "features are part of the key, and so is saying nothing");
}

#[tokio::test]
async fn connections_share_a_cache_as_far_as_they_are_one_identity() {
    for (scope, identities) in [("private", 2), ("public", 1)] {
        let (target, heard) = server(scope).await;
        let cache = Arc::default();
        for key in ["a", "a", "b", "b"] {
            let mut options = with(&cache);
            options.headers = vec![format!("X-Api-Key: {key}").parse().unwrap()];
            let connection = Connection::open(&target, &options).await.unwrap();
            let tools = connection.tools().await.unwrap();
            if scope == "private" {
                assert_eq!(tools[0]["key"], json!([key]));
            }
        }
        let listed = heard.methods().iter().filter(|method| *method == "tools/list").count();
        assert_eq!(listed, identities, "{scope}");
    }
}

#[tokio::test]
async fn a_listing_from_the_cache_tells_which_headers_a_call_needs() {
    let (target, heard) = modern("{}", |asked: &Asked| {
        asked.result(
            r#"{"ttlMs":60000,"cacheScope":"private","content":[],"tools":[{"name":"t","inputSchema":{"properties":{"zone":{"type":"string","x-mcp-header":"Zone"}}}}]}"#,
        )
    })
    .await;
    let cache = Arc::default();
    Connection::open(&target, &with(&cache)).await.unwrap().tools().await.unwrap();
    heard.take();
    let second = Connection::open(&target, &with(&cache)).await.unwrap();
    second.call("t", json!({ "zone": "utc" })).await.unwrap();
    let heard = heard.take();
    let [_, call] = &heard[..] else { panic!("{}", heard.len()) };
    assert_eq!((call.method(), &call.lines("mcp-param-zone")[..]), ("tools/call", &["utc"][..]));
}

#[tokio::test]
async fn a_notification_that_the_list_has_changed_undoes_it_for_every_connection() {
    let (target, heard) = server("private").await;
    let cache = Arc::default();
    let one = Connection::open(&target, &with(&cache)).await.unwrap();
    let other = Connection::open(&target, &with(&cache)).await.unwrap();
    one.tools().await.unwrap();
    one.prompts().await.unwrap();
    other.request("changes", json!({})).await.unwrap();
    heard.take();
    one.tools().await.unwrap();
    one.prompts().await.unwrap();
    assert_eq!(heard.methods(), ["tools/list"], "the prompts have not changed");
}

/// A server that tells, to whoever listens, that its tools have changed when it is told so itself.
async fn telling(change: Arc<Notify>) -> (ServerTarget, Heard) {
    let heard = Heard::default();
    let (listener, hears) = (TcpListener::bind("127.0.0.1:0").await.unwrap(), heard.clone());
    let target = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let (change, hears) = (change.clone(), hears.clone());
            tokio::spawn(async move {
                let asked = crate::support::asked(&mut stream).await?;
                let (method, id) = (asked.method().to_owned(), asked.body["id"].clone());
                let answer = asked.result(
                    r#"{"resultType":"complete","supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"ttlMs":60000,"cacheScope":"private","tools":[]}"#,
                );
                hears.push(asked);
                if method != "subscriptions/listen" {
                    return stream.write_all(answer.as_bytes()).await.ok();
                }
                let note = |method: &str, more: &str| {
                    let meta = format!(r#""_meta":{{"io.modelcontextprotocol/subscriptionId":{id}}}"#);
                    format!(
                        "data: {{\"jsonrpc\":\"2.0\",\"method\":\"notifications/{method}\",\"params\":{{{meta}{more}}}}}\n\n"
                    )
                };
                let granted =
                    note("subscriptions/acknowledged", r#","notifications":{"toolsListChanged":true}"#);
                let head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n";
                stream.write_all(format!("{head}{granted}").as_bytes()).await.ok()?;
                change.notified().await;
                stream.write_all(note("tools/list_changed", "").as_bytes()).await.ok()?;
                std::future::pending().await
            });
        }
    });
    (target, heard)
}

#[tokio::test]
async fn a_connection_with_a_cache_listens_for_what_changes_and_one_without_does_not() {
    let change = Arc::new(Notify::new());
    let (target, heard) = telling(change.clone()).await;
    let alone = Connection::open(&target, &options()).await.unwrap();
    alone.tools().await.unwrap();
    assert_eq!(heard.methods(), ["server/discover", "tools/list"]);
    let connection = Connection::open(&target, &with(&Arc::default())).await.unwrap();
    let listed = connection.tools().await.unwrap();
    assert!(Arc::ptr_eq(&listed, &connection.tools().await.unwrap()));
    change.notify_one();
    let again = async {
        while Arc::ptr_eq(&listed, &connection.tools().await.unwrap()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(10), again).await.expect("the change is heard of");
    connection.close().await;
}
