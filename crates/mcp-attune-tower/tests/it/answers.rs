//! What comes back.

use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody};
use mcp_attune_tower::{AttuneLayer, Body, BoxError, HttpFailure, Settings, boxed, full};
use serde_json::Value;
use tower::{Layer, ServiceExt, service_fn};

use crate::{english, error, json, listing, preference, send, text};

const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[]}}"#;
const KEY: &str = "io.modelcontextprotocol/contentLanguage";

#[tokio::test]
async fn a_result_to_a_preference_reports_its_language() {
    let (response, _) =
        send(english(), listing(&preference("de"), &[("accept-language", "de")]), json(RESULT)).await;
    assert_eq!(response.headers()["content-language"], "en");
    assert_eq!(response.headers()["vary"], "accept-language");
    assert!(!response.headers().contains_key("cache-control"));
    let body: Value = serde_json::from_str(&text(response).await).unwrap();
    assert_eq!(body["result"]["_meta"][KEY], "en");
}

#[tokio::test]
async fn a_preference_that_caches_cannot_see_keeps_them_away() {
    let answer = || {
        let response = Response::builder().header("content-type", "application/json; charset=utf-8");
        response
            .header("cache-control", "public, max-age=60")
            .header("vary", "Origin")
            .body(full(RESULT))
            .unwrap()
    };
    let (response, _) = send(english(), listing(&preference("de"), &[]), answer).await;
    assert_eq!(response.headers()["cache-control"], "max-age=60, private");
    assert_eq!(response.headers()["vary"], "Origin, accept-language");
}

#[tokio::test]
async fn without_a_preference_the_answer_is_as_it_came_but_varies() {
    let (response, _) = send(english(), listing("", &[]), json(RESULT)).await;
    assert_eq!(response.headers()["vary"], "accept-language");
    assert!(!response.headers().contains_key("content-language"));
    assert_eq!(text(response).await, RESULT);
}

#[tokio::test]
async fn where_no_language_is_claimed_nothing_is_added() {
    let (response, _) = send(Settings::default(), listing(&preference("de"), &[]), json(RESULT)).await;
    let names: Vec<_> = response.headers().keys().map(http::HeaderName::as_str).collect();
    assert_eq!(names, ["content-type"]);
    assert_eq!(text(response).await, RESULT);
}

/// What describes the bytes of a body, and is wrong for any other.
const DESCRIBE: [&str; 7] =
    ["content-digest", "repr-digest", "digest", "content-md5", "etag", "last-modified", "accept-ranges"];

/// An answer whose headers and trailers describe its body.
fn described(kind: &'static str, body: &'static str) -> impl Fn() -> Response<Body> + Clone {
    move || {
        let mut trailers = HeaderMap::new();
        let mut response = Response::builder().header("content-type", kind).header("x-own", "1");
        for name in DESCRIBE {
            response = response.header(name, "of what came");
            trailers.insert(name, "of what came".parse().unwrap());
        }
        trailers.insert("server-timing", "total;dur=1".parse().unwrap());
        let frames = [Frame::data(Bytes::from_static(body.as_bytes())), Frame::trailers(trailers)];
        let body = StreamBody::new(tokio_stream::iter(frames.map(Ok::<_, BoxError>)));
        response.header("trailer", "ETag, Server-Timing").body(boxed(body)).unwrap()
    }
}

/// Which of [`DESCRIBE`] are in the headers and in the trailers of an answer, what `Trailer` announces, and the body.
async fn descriptions(response: Response<Body>) -> (usize, usize, String, String) {
    let count = |headers: &HeaderMap| DESCRIBE.iter().filter(|name| headers.contains_key(**name)).count();
    assert_eq!(response.headers()["x-own"], "1");
    let announced = response.headers()["trailer"].to_str().unwrap().to_owned();
    let in_headers = count(response.headers());
    let collected = response.into_body().collect().await.unwrap();
    let trailers = collected.trailers().cloned().unwrap_or_default();
    assert_eq!(trailers["server-timing"], "total;dur=1");
    let body = String::from_utf8(collected.to_bytes().to_vec()).unwrap();
    (in_headers, count(&trailers), announced, body)
}

#[tokio::test]
async fn a_changed_body_loses_what_described_the_old_one() {
    let event = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[]}}\n\n";
    for (kind, body) in [("application/json", RESULT), ("text/event-stream", event)] {
        let request = listing(&preference("de"), &[]);
        let (response, _) = send(english(), request, described(kind, body)).await;
        let (in_headers, in_trailers, announced, sent) = descriptions(response).await;
        assert!(sent.contains(KEY), "{sent}");
        assert_eq!((in_headers, in_trailers, announced.as_str()), (0, 0, "Server-Timing"), "{kind}");
    }
}

#[tokio::test]
async fn a_body_that_is_not_changed_keeps_what_describes_it() {
    let own =
        r#"{"jsonrpc":"2.0","id":7,"result":{"_meta":{"io.modelcontextprotocol/contentLanguage":"de-CH"}}}"#;
    let event = "data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{\"tools\":[]}}\n\n";
    for (settings, meta, kind, body) in [
        // Read, and right as it is.
        (english(), preference("de"), "application/json", own),
        // Nobody asked for anything.
        (english(), String::new(), "application/json", RESULT),
        (Settings::default(), String::new(), "text/event-stream", event),
    ] {
        let (response, _) = send(settings, listing(&meta, &[]), described(kind, body)).await;
        let (in_headers, in_trailers, announced, sent) = descriptions(response).await;
        assert_eq!(sent, body);
        assert_eq!((in_headers, in_trailers, announced.as_str()), (7, 7, "ETag, Server-Timing"), "{body}");
    }
}

#[tokio::test]
async fn a_server_that_localizes_by_itself_is_mirrored() {
    let own =
        r#"{"jsonrpc":"2.0","id":7,"result":{"_meta":{"io.modelcontextprotocol/contentLanguage":"de-CH"}}}"#;
    let answer = move || {
        let response = Response::builder().header("content-type", "application/json");
        response.header("content-language", "fr").header("content-language", "it").body(full(own)).unwrap()
    };
    let (response, _) = send(english(), listing(&preference("de"), &[]), answer).await;
    assert_eq!(response.headers().get_all("content-language").iter().collect::<Vec<_>>(), ["de-CH"]);
    assert_eq!(text(response).await, own);
}

#[tokio::test]
async fn an_encoded_answer_passes_untouched() {
    let answer = || {
        let response = Response::builder().header("content-type", "application/json");
        response.header("content-encoding", "gzip").body(full("not really gzip")).unwrap()
    };
    let (response, _) = send(english(), listing(&preference("de"), &[]), answer).await;
    assert_eq!(response.headers()["content-encoding"], "gzip");
    assert_eq!(text(response).await, "not really gzip");
}

#[tokio::test]
async fn an_answer_over_its_bound_is_502_with_the_id() {
    let mut settings = english();
    settings.limits.answer = 20;
    let (response, _) = send(settings, listing(&preference("de"), &[]), json(RESULT)).await;
    assert_eq!(error(response).await, (502, -32603, 7.into()));
}

/// A stream of these pieces, and then an error.
fn stream(pieces: &'static [&'static str], broken: bool) -> Response<Body> {
    let frames = pieces.iter().map(|piece| Ok(Frame::data(Bytes::from_static(piece.as_bytes()))));
    let end = broken.then(|| Err(BoxError::from("cut")));
    let body = boxed(StreamBody::new(tokio_stream::iter(frames.chain(end))));
    let response = Response::builder().header("content-type", "text/event-stream");
    response.header("content-language", "fr").body(body).unwrap()
}

#[tokio::test]
async fn events_are_adapted_one_by_one_and_all_else_stays() {
    let pieces: &[&str] = &[
        ": hello\r\n",
        "id: 1\r\nevent: message\r\ndata: {\"jsonrpc\":\"2.0\",\"method\":\"notifications/progress\"}\r\n\r\n",
        "data: {\"jsonrpc\":\"2.0\",",
        "\"id\":7,\ndata: \"result\":{}}\nretry: 5\n\n",
    ];
    let (response, _) = send(english(), listing(&preference("de"), &[]), move || stream(pieces, false)).await;
    assert!(!response.headers().contains_key("content-language"));
    let expected = format!(
        "{}{}data: {{\"jsonrpc\":\"2.0\",\"id\":7,\ndata: \"result\":{{\"_meta\":{{\"{KEY}\":\"en\"}}}}}}\nretry: 5\n\n",
        pieces[0], pieces[1]
    );
    assert_eq!(text(response).await, expected);
}

#[tokio::test]
async fn a_stream_that_breaks_ends_with_an_error_event() {
    let pieces: &[&str] = &["data: 1\n\n", "data: {\"half"];
    for request in [listing("", &[]), listing(&preference("de"), &[])] {
        let (response, _) = send(english(), request, move || stream(pieces, true)).await;
        let body = text(response).await;
        let last = body.strip_prefix("data: 1\n\ndata: ").unwrap().trim();
        let event: Value = serde_json::from_str(last).unwrap();
        assert_eq!((&event["id"], &event["error"]["code"]), (&7.into(), &(-32603).into()));
    }
}

#[tokio::test]
async fn an_event_over_its_bound_ends_the_stream_with_an_error() {
    let mut settings = english();
    settings.limits.event = 30;
    let pieces: &[&str] = &["data: ok\n\n", "data: 0123456789", "0123456789", "0123456789"];
    let (response, _) = send(settings, listing("", &[]), move || stream(pieces, false)).await;
    let body = text(response).await;
    assert!(
        body.starts_with("data: ok\n\ndata: {\"jsonrpc\":\"2.0\",\"id\":7,\"error\":{\"code\":-32603"),
        "{body}"
    );
}

#[tokio::test]
async fn an_event_does_not_wait_for_the_next() {
    let (sender, receiver) = tokio::sync::mpsc::unbounded_channel::<Result<Frame<Bytes>, BoxError>>();
    let receiver = std::sync::Arc::new(std::sync::Mutex::new(Some(receiver)));
    let answer = move || {
        let mut receiver = receiver.lock().unwrap().take().unwrap();
        let frames = async_stream(move |cx| receiver.poll_recv(cx));
        Response::builder()
            .header("content-type", "text/event-stream")
            .body(boxed(StreamBody::new(frames)))
            .unwrap()
    };
    let (response, _) = send(english(), listing(&preference("de"), &[]), answer).await;
    let mut body = response.into_body();
    for number in 0..3 {
        sender.send(Ok(Frame::data(format!("data: {number}\n\n").into()))).unwrap();
        let frame =
            tokio::time::timeout(Duration::from_secs(5), body.frame()).await.unwrap().unwrap().unwrap();
        assert_eq!(frame.into_data().unwrap(), format!("data: {number}\n\n"));
    }
}

fn async_stream<T>(
    poll: impl FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<T>>,
) -> impl tokio_stream::Stream<Item = T> {
    struct Polled<F>(F);
    impl<T, F: FnMut(&mut std::task::Context<'_>) -> std::task::Poll<Option<T>> + Unpin> tokio_stream::Stream
        for Polled<F>
    {
        type Item = T;
        fn poll_next(
            mut self: std::pin::Pin<&mut Self>,
            cx: &mut std::task::Context<'_>,
        ) -> std::task::Poll<Option<T>> {
            (self.0)(cx)
        }
    }
    Polled(Box::new(poll))
}

#[tokio::test]
async fn a_service_that_fails_is_an_answer() {
    for (failure, expected) in
        [(BoxError::from("secret detail"), 502), (HttpFailure::new(504, "no answer in 60 s").into(), 504)]
    {
        let failure = std::sync::Arc::new(std::sync::Mutex::new(Some(failure)));
        let service = service_fn(move |_: http::Request<Body>| {
            let failure = failure.lock().unwrap().take();
            async move { Err::<Response<Body>, _>(failure.unwrap()) }
        });
        let response = AttuneLayer::default().layer(service).oneshot(listing("", &[])).await.unwrap();
        let headers: HeaderMap = response.headers().clone();
        assert_eq!(headers["content-type"], "application/json");
        let status = response.status().as_u16();
        let body = text(response).await;
        assert!(!body.contains("secret"), "{body}");
        assert_eq!(status, expected);
        assert!(body.contains("\"id\":7") && body.contains("-32603"), "{body}");
    }
}

/// The language is known when the first event comes, and by then the headers are gone.
#[tokio::test]
async fn caches_are_told_of_a_stream_whose_handler_may_choose_its_language() {
    let answer = || stream(&["data: {\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\n\n"], false);
    for (meta, private) in [(String::new(), false), (preference("de"), true)] {
        for (speaks, varies) in [(true, true), (false, false)] {
            let mut settings = Settings::default();
            settings.offer.speaks = speaks;
            let (response, _) = send(settings, listing(&meta, &[]), answer).await;
            let has = |name: &str, text: &str| {
                let value = response.headers().get(name).and_then(|value| value.to_str().ok());
                value.is_some_and(|value| value.to_ascii_lowercase().contains(text))
            };
            assert_eq!(has("vary", "accept-language"), varies, "{meta}");
            assert_eq!(has("cache-control", "private"), varies && private, "{meta}");
        }
    }
}
