//! The ids of legacy sessions and events.

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use mcp_attune::caller::Caller;
use mcp_attune_tower::{Body, BoxError, SealKeys, Settings, boxed, full, seal};
use serde_json::{Value, json};

use crate::{english, error, listing, post, send, text};

const KEY: &str = "io.modelcontextprotocol/contentLanguage";
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{}}"#;

/// A mount whose server, in another process, speaks English, with keys made of these bytes.
fn sealing(keys: &[u8], mount: &str) -> Settings {
    let keys: Vec<[u8; 32]> = keys.iter().map(|byte| [*byte; 32]).collect();
    let mut settings = english();
    settings.offer.speaks = false;
    settings.seal = Some(seal(SealKeys::new(&keys[0], &keys[1..]), mount));
    settings
}

fn one() -> Settings {
    sealing(&[1], "a")
}

fn initialize(features: &[&str]) -> Request<Body> {
    let extensions = json!({ "io.modelcontextprotocol/content-negotiation": { "features": features } });
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": { "extensions": extensions }}});
    post(&[], &body.to_string())
}

/// A legacy request of this session, with or without a preference.
fn ping(session: &str, preference: Option<&str>) -> Request<Body> {
    let meta = preference.map(|it| json!({ "io.modelcontextprotocol/acceptLanguage": it }));
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": { "_meta": meta }});
    post(&[("mcp-session-id", session), ("mcp-protocol-version", "2025-11-25")], &body.to_string())
}

fn without_body(method: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let mut request = Request::builder().method(method).uri("/mcp");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(full("")).unwrap()
}

/// An answer with this session id, if any.
fn giving(id: Option<&str>) -> impl Fn() -> Response<Body> + Clone + use<> {
    let id = id.map(str::to_owned);
    move || {
        let mut response = Response::builder().header("content-type", "application/json");
        if let Some(id) = &id {
            response = response.header("mcp-session-id", id);
        }
        response.body(full(RESULT)).unwrap()
    }
}

fn stream(pieces: &'static [&'static str], broken: bool) -> impl Fn() -> Response<Body> + Clone {
    move || {
        let frames = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
        let end = broken.then(|| Err(BoxError::from("cut")));
        let body = boxed(StreamBody::new(tokio_stream::iter(frames.chain(end))));
        Response::builder().header("content-type", "text/event-stream").body(body).unwrap()
    }
}

fn session_of(response: &Response<Body>) -> Option<String> {
    response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned())
}

/// The id that a caller gets who declares these features to a server that gives this one.
async fn begun(settings: Settings, features: &[&str], given: Option<&str>) -> Option<String> {
    let (response, _) = send(settings, initialize(features), giving(given)).await;
    assert_eq!(response.status(), 200);
    session_of(&response)
}

/// The ids in a stream.
fn ids(stream: &str) -> Vec<&str> {
    stream.lines().filter_map(|line| line.strip_prefix("id: ")).collect()
}

/// The id of the one event of a stream that answers a request with this preference.
async fn event_id(settings: Settings, preference: &str, id: &'static [&'static str]) -> String {
    let (response, _) = send(settings, ping("s", Some(preference)), stream(id, false)).await;
    ids(&text(response).await)[0].to_owned()
}

#[tokio::test]
async fn a_session_carries_its_features_to_any_replica_and_the_server_sees_its_own_id() {
    let id = begun(one(), &["agent", "format=json"], Some("s-1")).await.unwrap();
    assert!(id.starts_with("attune1.") && !id.contains("s-1"), "{id}");
    // A replica: nothing is shared but the key.
    let (response, seen) = send(one(), ping(&id, None), giving(Some("s-1"))).await;
    assert_eq!(
        session_of(&response).as_deref(),
        Some(id.as_str()),
        "what the caller knows, and nothing else"
    );
    let (parts, _) = &seen[0];
    assert_eq!(parts.headers.get_all("mcp-session-id").iter().collect::<Vec<_>>(), ["s-1"]);
    let caller = parts.extensions.get::<Caller>().unwrap();
    assert!(caller.features().tags().eq(["agent", "format=json"]));
}

#[tokio::test]
async fn the_first_request_knows_its_features_with_keys_or_without() {
    for settings in [one(), english()] {
        let (_, seen) = send(settings, initialize(&["agent"]), giving(None)).await;
        assert!(seen[0].0.extensions.get::<Caller>().unwrap().features().tags().eq(["agent"]));
    }
}

#[tokio::test]
async fn an_id_that_carries_nothing_stays_the_servers_own() {
    assert_eq!(begun(one(), &[], Some("s-1")).await.as_deref(), Some("s-1"));
    let (response, seen) = send(one(), ping("s-1", None), giving(Some("s-1"))).await;
    assert_eq!(seen[0].0.headers["mcp-session-id"], "s-1");
    assert_eq!(session_of(&response).as_deref(), Some("s-1"));
}

#[tokio::test]
async fn a_session_id_is_made_only_for_features_and_never_sent_on() {
    assert_eq!(begun(one(), &[], None).await, None);
    let id = begun(one(), &["agent"], None).await.unwrap();
    for request in [
        ping(&id, None),
        without_body("GET", &[("mcp-session-id", &id)]),
        without_body("DELETE", &[("mcp-session-id", &id)]),
    ] {
        let (response, seen) = send(one(), request, giving(None)).await;
        assert!(!seen[0].0.headers.contains_key("mcp-session-id"));
        assert_eq!(session_of(&response), None);
        assert!(seen[0].0.extensions.get::<Caller>().unwrap().features().tags().eq(["agent"]));
    }
    // Not for a server that refuses.
    let refusing = || Response::builder().status(400).body(full("no")).unwrap();
    assert_eq!(session_of(&send(one(), initialize(&["agent"]), refusing).await.0), None);
}

#[tokio::test]
async fn a_server_that_changes_its_id_keeps_the_features() {
    let id = begun(one(), &["agent"], Some("s-1")).await.unwrap();
    let (response, _) = send(one(), ping(&id, None), giving(Some("s-2"))).await;
    let changed = session_of(&response).unwrap();
    assert!(changed != id && changed.starts_with("attune1."), "{changed}");
    let (_, seen) = send(one(), ping(&changed, None), giving(None)).await;
    assert_eq!(seen[0].0.headers["mcp-session-id"], "s-2");
    assert!(seen[0].0.extensions.get::<Caller>().unwrap().features().tags().eq(["agent"]));
}

#[tokio::test]
async fn a_session_that_does_not_open_is_404_and_never_reaches_the_server() {
    let id = begun(one(), &["agent"], Some("s-1")).await.unwrap();
    let flipped = if id.ends_with('A') { "B" } else { "A" };
    let wrong = [
        format!("{}{flipped}", &id[..id.len() - 1]),
        id[..id.len() - 1].to_owned(),
        id[..30].to_owned(),
        "attune1.".to_owned(),
        format!("{id}A"),
        format!("attune1.{}", "A".repeat(60_000)),
        begun(sealing(&[2], "a"), &["agent"], Some("s-1")).await.unwrap(),
        begun(sealing(&[1], "b"), &["agent"], Some("s-1")).await.unwrap(),
        event_id(one(), "de", &["id: 1\ndata: x\n\n"]).await,
    ];
    for wrong in &wrong {
        let (response, seen) = send(one(), ping(wrong, None), giving(None)).await;
        assert_eq!(error(response).await, (404, -32600, 7.into()), "{wrong}");
        assert!(seen.is_empty());
        for method in ["GET", "DELETE"] {
            let request = without_body(method, &[("mcp-session-id", wrong)]);
            let (response, seen) = send(one(), request, giving(None)).await;
            assert_eq!(error(response).await, (404, -32600, Value::Null), "{wrong}");
            assert!(seen.is_empty());
        }
    }
    let mut twice = ping(&id, None);
    twice.headers_mut().append("mcp-session-id", "s-1".parse().unwrap());
    assert_eq!(send(one(), twice, giving(None)).await.0.status(), 404);
    // Also where disagreements are only reported: there is no session to serve.
    let mut reporting = one();
    reporting.report_only = true;
    assert_eq!(send(reporting, ping(&wrong[0], None), giving(None)).await.0.status(), 404);
}

#[tokio::test]
async fn a_key_behind_the_first_still_opens() {
    let old = begun(sealing(&[1], "a"), &["agent"], Some("s-1")).await.unwrap();
    let (_, seen) = send(sealing(&[2, 1], "a"), ping(&old, None), giving(None)).await;
    assert_eq!(seen[0].0.headers["mcp-session-id"], "s-1");
    let new = begun(sealing(&[2, 1], "a"), &["agent"], Some("s-2")).await.unwrap();
    let (_, seen) = send(sealing(&[2], "a"), ping(&new, None), giving(None)).await;
    assert_eq!(seen[0].0.headers["mcp-session-id"], "s-2");
}

#[tokio::test]
async fn modern_requests_pass_whatever_session_they_name() {
    for id in ["attune1.nonsense", "s-1"] {
        let (response, seen) = send(one(), listing("", &[("mcp-session-id", id)]), giving(Some("x"))).await;
        assert_eq!(response.status(), 200);
        assert_eq!(seen[0].0.headers["mcp-session-id"], id);
        assert_eq!(session_of(&response).as_deref(), Some("x"));
    }
}

#[tokio::test]
async fn without_keys_everything_passes_as_it_is() {
    assert_eq!(begun(english(), &["agent"], Some("s-1")).await.as_deref(), Some("s-1"));
    assert_eq!(begun(english(), &["agent"], None).await, None);
    let pieces: &[&str] = &["id: 1\ndata: 1\n\n"];
    for request in [
        ping("attune1.x", Some("de")),
        without_body("GET", &[("mcp-session-id", "attune1.x"), ("last-event-id", "attune1.y")]),
    ] {
        let (response, seen) = send(english(), request, stream(pieces, false)).await;
        assert_eq!(seen[0].0.headers["mcp-session-id"], "attune1.x");
        assert_eq!(text(response).await, pieces[0]);
    }
}

#[tokio::test]
async fn behind_another_gateway_each_opens_its_own() {
    let inner = begun(one(), &["agent"], Some("s-1")).await.unwrap();
    // The outer one carries nothing of its own, has the same keys even, and still tells the two apart.
    for outer in [one(), sealing(&[2], "b")] {
        let id = begun(outer.clone(), &[], Some(&inner)).await.unwrap();
        assert!(id.starts_with("attune1.") && id != inner);
        let (response, seen) = send(outer.clone(), ping(&id, None), giving(Some(&inner))).await;
        assert_eq!(seen[0].0.headers["mcp-session-id"], inner.as_str());
        assert_eq!(session_of(&response), Some(id));
    }
    let pieces: &[&str] = &["id: attune1.of-the-inner\ndata: 1\n\n"];
    for request in [ping("s", None), without_body("GET", &[])] {
        let (response, _) = send(one(), request, stream(pieces, false)).await;
        let body = text(response).await;
        let id = ids(&body)[0];
        assert_ne!(id, "attune1.of-the-inner");
        let (_, seen) =
            send(one(), without_body("GET", &[("last-event-id", id)]), stream(pieces, false)).await;
        assert_eq!(seen[0].0.headers["last-event-id"], "attune1.of-the-inner");
    }
}

const PIECES: &[&str] = &[
    ": hello\r\nid: 0/1\r\nretry: 3000\r\ndata:\r\n\r\n",
    "id:1/1\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\nx: y\n\n: ping\n\n",
    "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\nid: 2/1\n\n",
];

#[tokio::test]
async fn event_ids_are_sealed_and_every_other_byte_stays() {
    let (response, _) = send(one(), ping("s", Some("de")), stream(PIECES, false)).await;
    let body = text(response).await;
    let shown: Vec<&str> =
        body.lines().filter_map(|line| line.strip_prefix("id:")).map(str::trim_start).collect();
    assert_eq!(shown.len(), 3);
    let mut back = body.replace(&format!("{{\"_meta\":{{\"{KEY}\":\"en\"}}}}"), "{}");
    for (shown, own) in shown.iter().zip(["0/1", "1/1", "2/1"]) {
        assert!(shown.starts_with("attune1."), "{shown}");
        back = back.replace(shown, own);
    }
    assert_eq!(back, PIECES.concat());
}

#[tokio::test]
async fn event_ids_of_a_stream_that_is_not_adapted_stay() {
    let no_language = {
        let mut settings = one();
        settings.offer.languages = None;
        settings
    };
    for (settings, request) in [
        (one(), ping("s", None)),
        (one(), ping("s", Some("not a language"))),
        (no_language, ping("s", Some("de"))),
        (one(), without_body("GET", &[("accept-language", "de")])),
    ] {
        let (response, _) = send(settings, request, stream(PIECES, false)).await;
        assert_eq!(text(response).await, PIECES.concat());
    }
    // A modern stream cannot be resumed.
    let request = listing(r#","io.modelcontextprotocol/acceptLanguage":"de""#, &[]);
    let (response, _) = send(one(), request, stream(PIECES, false)).await;
    assert_eq!(ids(&text(response).await), ["0/1", "2/1"]);
}

#[tokio::test]
async fn a_stream_that_is_resumed_goes_on_in_its_language() {
    let id = event_id(one(), "de-CH, en;q=0.5", &["id: 1/1\ndata: x\n\n"]).await;
    let request =
        without_body("GET", &[("last-event-id", &id), ("accept-encoding", "gzip"), ("mcp-session-id", "s")]);
    let (response, seen) = send(one(), request, stream(PIECES, false)).await;
    let headers = &seen[0].0.headers;
    assert_eq!(
        (&headers["last-event-id"], &headers["accept-encoding"]),
        (&"1/1".parse().unwrap(), &"identity".parse().unwrap())
    );
    let caller = seen[0].0.extensions.get::<Caller>().unwrap();
    assert_eq!(caller.preference().unwrap().as_str(), "de-CH, en;q=0.5");
    assert_eq!(response.headers()["cache-control"], "private");
    let body = text(response).await;
    assert!(body.contains(&format!("\"{KEY}\":\"en\"")), "{body}");
    // And can be resumed again.
    let last = ids(&body)[1];
    let (_, seen) = send(one(), without_body("GET", &[("last-event-id", last)]), stream(PIECES, false)).await;
    assert_eq!(seen[0].0.headers["last-event-id"], "2/1");
    assert!(seen[0].0.extensions.get::<Caller>().unwrap().preference().is_some());
}

#[tokio::test]
async fn a_preference_does_not_outlive_its_request() {
    let session = begun(one(), &["agent"], Some("s-1")).await.unwrap();
    let (_, seen) = send(one(), ping(&session, Some("de")), giving(None)).await;
    assert!(seen[0].0.extensions.get::<Caller>().unwrap().preference().is_some());
    for request in [ping(&session, None), without_body("GET", &[("mcp-session-id", &session)])] {
        let (response, seen) = send(one(), request, stream(PIECES, false)).await;
        assert!(seen[0].0.extensions.get::<Caller>().unwrap().preference().is_none());
        assert!(!text(response).await.contains(KEY));
    }
}

#[tokio::test]
async fn an_event_that_does_not_open_is_400_and_never_reaches_the_server() {
    let id = event_id(one(), "de", &["id: 1\ndata: x\n\n"]).await;
    let session = begun(one(), &["agent"], Some("s-1")).await.unwrap();
    let elsewhere = event_id(sealing(&[1], "b"), "de", &["id: 1\ndata: x\n\n"]).await;
    let long = format!("attune1.{}", "A".repeat(60_000));
    for wrong in [&id[..id.len() - 1], &session, &elsewhere, &long] {
        let request = without_body("GET", &[("last-event-id", wrong)]);
        let (response, seen) = send(one(), request, giving(None)).await;
        assert_eq!(error(response).await, (400, -32600, Value::Null), "{wrong}");
        assert!(seen.is_empty());
    }
    // One that was never sealed is for the server to judge.
    let (_, seen) = send(one(), without_body("GET", &[("last-event-id", "3/7")]), giving(None)).await;
    assert_eq!(seen[0].0.headers["last-event-id"], "3/7");
}

#[tokio::test]
async fn a_resumed_stream_that_breaks_is_cut_so_that_it_can_be_resumed_again() {
    let id = event_id(one(), "de", &["id: 1\ndata: x\n\n"]).await;
    let pieces: &[&str] = &["id: 2\ndata: 1\n\n", "data: {\"half"];
    for headers in [&[("last-event-id", id.as_str())][..], &[]] {
        let (response, _) = send(one(), without_body("GET", headers), stream(pieces, true)).await;
        let mut body = response.into_body();
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert!(first.ends_with(b"\ndata: 1\n\n"));
        assert!(body.frame().await.unwrap().is_err());
    }
}

#[tokio::test]
async fn ids_that_are_too_long_to_carry_pass_as_they_are() {
    let long: &'static str = "s".repeat(5000).leak();
    assert_eq!(begun(one(), &["agent"], Some(long)).await.as_deref(), Some(long));
    let piece: &'static str = format!("id: {long}\ndata: 1\n\n").leak();
    let (response, _) = send(one(), ping("s", Some("de")), stream(vec![piece].leak(), false)).await;
    assert_eq!(text(response).await, piece);
}
