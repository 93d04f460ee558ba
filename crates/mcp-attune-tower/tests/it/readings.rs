//! Each message is read once: the request when it comes, and every message of its answer.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use mcp_attune::bind::{ArgumentFill, Binding, Bindings, BoundContextPart};
use mcp_attune::catalog::EmbeddedLocales;
use mcp_attune::context::CoordinatePrecision;
use mcp_attune::language::Tag;
use mcp_attune::localize::TranslationScope;
use mcp_attune_shape::OperatorContent;
use mcp_attune_tower::{AttuneLayer, Body, Settings, full};
use mcp_attune_wire::readings::on_this_thread;
use tower::{Layer, ServiceExt, service_fn};

use crate::{META, listing, post, preference, text};

const GERMAN: &str = r#"{"tools":{"t":{"title":"Wetter","description":"Das Wetter."}},"messages":{"a":{"source":"cold","text":"kalt"}}}"#;
const RESULT: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{"city":"Bern"}}}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":7,"result":{"tools":[{"name":"t","title":"Weather","inputSchema":{"type":"object","properties":{"tz":{"type":"string"},"a":{"type":"string","x-mcp-header":"A"}}},"outputSchema":{"type":"object"}}]}}"#;

/// A mount that does all there is to do: languages with files, bindings, and shaping.
fn everything() -> Settings {
    let mut settings = Settings::default();
    let files = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", GERMAN)]).unwrap();
    let timezone = Binding {
        fills: ArgumentFill::Context { from: BoundContextPart::Timezone, default: None },
        hide: true,
    };
    let bindings = [("t".to_owned(), [("tz".to_owned(), timezone)].into())].into();
    let offer = &mut settings.offer;
    offer.speaks = false;
    offer.library = Some(Arc::new(files));
    offer.translate = TranslationScope { model: true, ..TranslationScope::default() };
    offer.bindings = Bindings::new(bindings, CoordinatePrecision::default()).into();
    offer.content = Some(Arc::new(Arc::new(OperatorContent::default())));
    settings
}

/// How many messages are read when this request is answered so, the second time that it comes.
async fn readings(settings: Settings, request: impl Fn() -> Request<Body>, events: bool) -> usize {
    let [_, second] = both_readings(settings, request, events).await;
    second
}

/// The same for the first time and the second.
async fn both_readings(settings: Settings, request: impl Fn() -> Request<Body>, events: bool) -> [usize; 2] {
    let service = AttuneLayer::new(settings).layer(service_fn(move |request: Request<Body>| async move {
        let lists = request.headers()["mcp-method"] == "tools/list";
        let answer = if lists { TOOLS } else { RESULT };
        Ok::<_, Infallible>(if events && !lists {
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1,"message":"cold"}}"#;
            let events = format!("data: {progress}\n\ndata: {answer}\n\n");
            Response::builder().header("content-type", "text/event-stream").body(full(events)).unwrap()
        } else {
            Response::builder().header("content-type", "application/json").body(full(answer)).unwrap()
        })
    }));
    let mut counted = [0; 2];
    for counted in &mut counted {
        let before = on_this_thread();
        let answer = service.clone().oneshot(request()).await.unwrap();
        assert_eq!(answer.status(), 200);
        let answer = text(answer).await;
        assert!(answer.contains("\"result\""), "{answer}");
        *counted = on_this_thread() - before;
    }
    counted
}

fn call(meta: &str, headers: &[(&str, &str)], arguments: &str) -> Request<Body> {
    let body = format!(
        r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{arguments},"_meta":{{{META}{meta}}}}}}}"#
    );
    let routed = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", "t")];
    post(&[&routed, headers].concat(), &body)
}

fn tags(tags: &str) -> String {
    META.replace(
        "Capabilities\":{}",
        &format!(r#"Capabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":["{tags}"]}}}}}}"#),
    )
}

#[tokio::test]
async fn a_call_that_asks_for_nothing_is_read_and_its_answer_is_not() {
    assert_eq!(readings(Settings::default(), || call("", &[], "{}"), false).await, 1);
}

#[tokio::test]
async fn a_call_and_its_answer_are_read_once_each_however_much_is_done() {
    let german = preference("de");
    for tag in ["human", "agent"] {
        let request = || {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":7,"method":"tools/call","params":{{"name":"t","arguments":{{"a":"x"}},"_meta":{{{}{german}}}}}}}"#,
                tags(tag)
            );
            let headers = [
                ("mcp-protocol-version", "2026-07-28"),
                ("mcp-method", "tools/call"),
                ("mcp-name", "t"),
                ("mcp-param-a", "x"),
                ("accept-language", "de"),
            ];
            post(&headers, &body)
        };
        let mut settings = everything();
        settings.offer.bindings = Arc::default();
        assert_eq!(readings(settings, request, false).await, 2, "{tag}");
        // What the context filled may stand in a header, so what goes on is read as its server will.
        assert_eq!(readings(everything(), request, false).await, 3, "{tag}");
    }
}

#[tokio::test]
async fn every_event_of_a_stream_is_read_once() {
    let german = preference("de");
    let mut settings = everything();
    settings.offer.bindings = Arc::default();
    let request = || call(&german, &[("accept-language", "de")], "{}");
    assert_eq!(readings(settings, request, true).await, 3);
}

#[tokio::test]
async fn a_listing_is_learned_from_and_translated_by_one_reading_and_the_same_one_by_none() {
    let german = preference("de");
    let mut settings = everything();
    settings.offer.bindings = Arc::default();
    let request = || listing(&german, &[("accept-language", "de")]);
    assert_eq!(both_readings(settings, request, false).await, [2, 1]);
    // What a bound tool declares to callers stands in the listing that they are shown, which is made for that; and the first
    // listing is held against the bindings.
    assert_eq!(both_readings(everything(), request, false).await, [4, 1]);
    // Whoever asks for nothing gets it as it came, and it is learned from all the same.
    assert_eq!(both_readings(Settings::default(), || listing("", &[]), false).await, [2, 1]);
}
