//! Tools with views, through the layer: the listing says which they are, and the caller that it draws them.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune_shape::OperatorContent;
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, Settings, full, random_keys, seal};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{post, text};

fn answer(request: &Value) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let tool = |name: &str, meta: Value| json!({"name": name, "inputSchema": {}, "outputSchema": schema, "_meta": meta});
    match request["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        "tools/list" => json!({"tools": [
            tool("map", json!({"ui": {"resourceUri": "ui://map"}})),
            tool("card", json!({"openai/outputTemplate": "ui://card"})),
            tool("plain", json!({})),
        ]}),
        _ => json!({"content": [{"type": "text", "text": "{}"}], "structuredContent": {"city": "Bern"}}),
    }
}

fn attuned() -> AttuneService<
    impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static,
> {
    let mut settings = Settings::default();
    settings.offer.content = Some(Arc::new(Arc::new(OperatorContent::default())));
    settings.seal = Some(seal(random_keys().unwrap(), "mount"));
    AttuneLayer::new(settings).layer(service_fn(|request: Request<Body>| async {
        let body = request.into_body().collect().await.unwrap().to_bytes();
        let request: Value = serde_json::from_slice(&body).unwrap();
        let answer = json!({"jsonrpc": "2.0", "id": request["id"], "result": answer(&request)});
        let response = Response::builder().header("content-type", "application/json");
        Ok::<_, Infallible>(response.body(full(answer.to_string())).unwrap())
    }))
}

async fn ask<S>(service: &AttuneService<S>, headers: &[(&str, &str)], body: &Value) -> Value
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let response = service.clone().oneshot(post(headers, &body.to_string())).await.unwrap();
    serde_json::from_str::<Value>(&text(response).await).unwrap()["result"].take()
}

/// The capabilities of a person's client, with a host that draws views or without.
fn capabilities(draws: bool) -> Value {
    let mut extensions = json!({"io.modelcontextprotocol/content-negotiation": {"features": ["human"]}});
    if draws {
        extensions["io.modelcontextprotocol/ui"] = json!({"mimeTypes": ["text/html;profile=mcp-app"]});
    }
    json!({"extensions": extensions})
}

#[tokio::test]
async fn the_listing_says_which_results_keep_their_data() {
    for (draws, key, kept) in [
        (true, None, true),
        (false, Some("openai/locale"), true),
        (false, Some("x/openai/a"), false),
        (false, None, false),
    ] {
        let service = attuned();
        let mut meta = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
            "io.modelcontextprotocol/clientCapabilities": capabilities(draws)});
        if let Some(key) = key {
            meta[key] = json!("de");
        }
        for (tool, has) in [("map", true), ("card", true), ("plain", false)] {
            let headers =
                [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/call"), ("mcp-name", tool)];
            let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": tool, "_meta": meta}});
            let result = ask(&service, &headers, &call).await;
            assert_eq!(result["content"][0]["text"], "- **City:** Bern", "{tool}");
            assert_eq!(result.get("structuredContent").is_some(), kept && has, "{draws} {key:?} {tool}");
        }
        let headers = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
        let list = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {"_meta": meta}});
        let listed = ask(&service, &headers, &list).await;
        let shown = listed["tools"].as_array().unwrap().iter().map(|tool| tool.get("outputSchema").is_some());
        assert_eq!(shown.collect::<Vec<_>>(), [kept, kept, false], "{draws} {key:?}");
    }
}

#[tokio::test]
async fn what_a_legacy_client_declares_of_views_holds_for_its_session() {
    let service = attuned();
    for draws in [true, false] {
        let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
            "protocolVersion": "2025-11-25", "capabilities": capabilities(draws), "clientInfo": {"name": "c", "version": "1"}}});
        let response = service.clone().oneshot(post(&[], &hello.to_string())).await.unwrap();
        let id = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
        let headers = [("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &*id)];
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "map"}});
        let result = ask(&service, &headers, &call).await;
        assert_eq!(result["content"][0]["text"], "- **City:** Bern");
        assert_eq!(result.get("structuredContent").is_some(), draws);
    }
}
