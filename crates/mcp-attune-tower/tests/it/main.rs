//! The layer around plain services.

mod answers;
mod bound;
mod exchange;
mod localized;
mod long_answers;
mod memo;
mod readings;
mod requests;
mod schemas;
mod sessions;
mod shaped;
mod tasks;
mod views;

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response, request};
use http_body_util::BodyExt;
use mcp_attune::language::Languages;
use mcp_attune_tower::{AttuneLayer, Body, Settings, full};
use serde_json::Value;
use tower::{Layer, ServiceExt, service_fn};

const META: &str = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#;

/// What the service inside was asked.
type Seen = Arc<Mutex<Vec<(request::Parts, String)>>>;

/// Sends a request through the layer to a service that answers with `answer`.
async fn send(
    settings: Settings,
    request: Request<Body>,
    answer: impl Fn() -> Response<Body> + Clone + Send + 'static,
) -> (Response<Body>, Vec<(request::Parts, String)>) {
    let seen = Seen::default();
    let service = {
        let seen = seen.clone();
        service_fn(move |request: Request<Body>| {
            let (seen, answer) = (seen.clone(), answer.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect().await.unwrap().to_bytes();
                seen.lock().unwrap().push((parts, String::from_utf8(body.to_vec()).unwrap()));
                Ok::<_, Infallible>(answer())
            }
        })
    };
    let response = AttuneLayer::new(settings).layer(service).oneshot(request).await.unwrap();
    let seen = std::mem::take(&mut *seen.lock().unwrap());
    (response, seen)
}

/// A POST with these header lines and this body.
fn post(headers: &[(&str, &str)], body: &str) -> Request<Body> {
    let mut request = Request::post("/mcp").header("content-type", "application/json");
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    request.body(full(body.to_owned())).unwrap()
}

/// A modern `tools/list` with more in its `_meta`, and its headers.
fn listing(meta: &str, headers: &[(&str, &str)]) -> Request<Body> {
    let body =
        format!(r#"{{"jsonrpc":"2.0","id":7,"method":"tools/list","params":{{"_meta":{{{META}{meta}}}}}}}"#);
    let routed = [("mcp-protocol-version", "2026-07-28"), ("mcp-method", "tools/list")];
    post(&[&routed, headers].concat(), &body)
}

fn preference(value: &str) -> String {
    format!(r#","io.modelcontextprotocol/acceptLanguage":"{value}""#)
}

fn json(body: &'static str) -> impl Fn() -> Response<Body> + Clone {
    move || Response::builder().header("content-type", "application/json").body(full(body)).unwrap()
}

/// A mount whose server speaks English.
fn english() -> Settings {
    let mut settings = Settings::default();
    settings.offer.languages = Some(Languages::new("en", []).unwrap());
    settings
}

async fn text(response: Response<Body>) -> String {
    String::from_utf8(response.into_body().collect().await.unwrap().to_bytes().to_vec()).unwrap()
}

async fn error(response: Response<Body>) -> (u16, i64, Value) {
    let status = response.status().as_u16();
    let body: Value = serde_json::from_str(&text(response).await).unwrap();
    (status, body["error"]["code"].as_i64().unwrap(), body["id"].clone())
}
