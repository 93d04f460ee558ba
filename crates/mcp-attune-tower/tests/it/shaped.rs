//! Answers shaped on their way through the layer: for each caller as they declared it, and for nobody else.

use std::convert::Infallible;
use std::sync::Arc;

use http::{Request, Response, header};
use http_body_util::BodyExt;
use mcp_attune_shape::template::{Template, TemplateSet, ToolHints};
use mcp_attune_shape::{OperatorContent, ToolShaping};
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, Settings, full, random_keys, seal};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{post, text};

const EXTENSION: &str = "io.modelcontextprotocol/content-negotiation";
const MODERN: &str = "2026-07-28";

/// What a server does by its caller's credentials, and what it knows nothing of: tags.
#[derive(Clone, Copy, Default)]
struct Server {
    /// Whether answers are streams, with progress before the result.
    streams: bool,
    /// Whether it gives session ids.
    sessions: bool,
    /// Whether it negotiates content itself.
    negotiates: bool,
}

impl Server {
    fn answer(self, request: &Value, credentials: &str) -> Value {
        let open = json!({"name": "weather", "inputSchema": {"type": "object"}, "outputSchema": {
            "type": "object", "title": "Weather", "required": ["city"],
            "properties": {"city": {"type": "string"}, "temperature_c": {"type": "integer"}}}});
        let secret = json!({"name": "secret", "inputSchema": {"type": "object"}});
        let admin = credentials == "Bearer admin";
        match (request["method"].as_str().unwrap(), request["params"]["name"].as_str()) {
            ("initialize" | "server/discover", _) => {
                let extensions = if self.negotiates { json!({EXTENSION: {}}) } else { json!({}) };
                json!({"result": {"protocolVersion": "2025-11-25", "serverInfo": {"name": "s", "version": "1"},
                    "capabilities": {"tools": {}, "extensions": extensions}}})
            }
            ("tools/list", _) => {
                json!({"result": {"tools": if admin { vec![open, secret] } else { vec![open] }}})
            }
            ("tools/call", Some("weather")) => {
                let data = json!({"city": "Bern", "temperature_c": 8, "note": null});
                json!({"result": {"content": [
                    {"type": "text", "text": data.to_string()},
                    {"type": "resource_link", "uri": "a:b", "name": "b"},
                ], "structuredContent": data}})
            }
            ("tools/call", Some("confirm")) => {
                json!({"result": {"resultType": "input_required", "inputRequests": {
                "sure": {"method": "elicitation/create", "params": {"message": "Sure?", "requestedSchema": {"type": "object"}}}}}})
            }
            ("tools/call", Some("secret")) if admin => {
                json!({"result": {"content": [{"type": "text", "text": "the plan"}], "isError": false}})
            }
            ("tools/call", Some("fails")) => {
                json!({"result": {"isError": true, "content": [{"type": "text", "text": "{\"why\":\"closed\"}"}]}})
            }
            _ => json!({"error": {"code": -32602, "message": "no such tool", "data": {"a": null}}}),
        }
    }

    fn respond(self, request: &Request<()>, body: &[u8]) -> Response<Body> {
        let read: Value = serde_json::from_slice(body).unwrap();
        let credentials = request.headers().get(header::AUTHORIZATION);
        let mut answer = self.answer(&read, credentials.map_or("", |value| value.to_str().unwrap()));
        (answer["jsonrpc"], answer["id"]) = (json!("2.0"), read["id"].clone());
        let mut response = Response::builder();
        if self.sessions && read["method"] == "initialize" {
            response = response.header("mcp-session-id", "its-own");
        }
        if !self.streams {
            return response
                .header("content-type", "application/json")
                .body(full(answer.to_string()))
                .unwrap();
        }
        let progress =
            json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1}});
        let events = format!("data: {progress}\n\nid: 1\ndata: {answer}\n\n");
        response.header("content-type", "text/event-stream").body(full(events)).unwrap()
    }

    /// The server behind the layer, as an operator who turned shaping on runs it.
    fn attuned(
        self,
    ) -> AttuneService<
        impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
        + Clone
        + Send
        + 'static,
    > {
        let hints = ToolHints::compile("{% if temperature_c < 10 %}It is cold{% endif %}").unwrap();
        let template = Template::compile("compact.md", "{{ city }}: {{ temperature_c }} °C").unwrap();
        let tool = ToolShaping {
            templates: Arc::new(TemplateSet::new([template])),
            hints: Some(Arc::new(hints)),
            low_priority: Vec::new(),
        };
        let content =
            OperatorContent { tools: [("weather".to_owned(), tool)].into(), ..OperatorContent::default() };
        let mut settings = Settings::default();
        settings.offer.content = Some(Arc::new(Arc::new(content)));
        settings.seal = Some(seal(random_keys().unwrap(), "mount"));
        AttuneLayer::new(settings).layer(service_fn(move |request: Request<Body>| async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            let own = parts.headers.get("mcp-session-id").is_none_or(|id| id == "its-own");
            assert!(own, "the server sees its own ids only");
            if parts.method == http::Method::GET {
                // A stream that goes on, with the result that was missed.
                let call =
                    json!({"id": 7, "method": "tools/call", "params": {"name": "weather"}}).to_string();
                let going_on = Server { streams: true, ..self };
                return Ok(going_on.respond(&Request::from_parts(parts, ()), call.as_bytes()));
            }
            Ok::<_, Infallible>(self.respond(&Request::from_parts(parts, ()), &body))
        }))
    }
}

/// A request as a modern caller with these tags sends it.
fn request(method: &str, tool: Option<&str>, tags: Option<&[&str]>, credentials: &str) -> Request<Body> {
    let capabilities = match tags {
        Some(tags) => json!({"extensions": {EXTENSION: {"version": "1.0", "features": tags}}}),
        None => json!({}),
    };
    let mut body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/clientCapabilities": capabilities}}});
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    if let Some(tool) = tool {
        body["params"]["name"] = json!(tool);
        headers.push(("mcp-name", tool));
    }
    if !credentials.is_empty() {
        headers.push(("authorization", credentials));
    }
    post(&headers, &body.to_string())
}

fn message(body: &str) -> Value {
    let last = body
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok());
    last.unwrap_or_else(|| panic!("no message: {body}"))
}

/// What a caller gets for a call of `weather`.
fn expected(tags: &[&str]) -> Value {
    let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
    let said = |text: &str| json!({"type": "text", "text": text});
    let data = json!({"city": "Bern", "temperature_c": 8, "note": null});
    match tags {
        ["agent"] => json!({"content": [link], "structuredContent": data}),
        ["agent", "sampling", "verbosity=compact"] => {
            json!({"content": [link], "structuredContent": {"city": "Bern", "temperature_c": 8, "hints": ["It is cold"]}})
        }
        ["human"] => {
            json!({"content": [said("# Weather\n\n- **City:** Bern\n- **Note:** none\n- **Temperature:** 8\u{a0}°C"), link]})
        }
        ["human", "verbosity=compact"] => json!({"content": [said("Bern: 8 °C"), link]}),
        _ => json!({"content": [said(&data.to_string()), link], "structuredContent": data}),
    }
}

const CALLERS: [&[&str]; 5] = [
    &["agent"],
    &["agent", "sampling", "verbosity=compact"],
    &["human"],
    &["human", "verbosity=compact"],
    &[],
];

#[tokio::test]
async fn each_caller_gets_the_answer_that_they_declared() {
    for streams in [false, true] {
        let service = Server { streams, ..Server::default() }.attuned();
        for tags in CALLERS {
            let response = service
                .clone()
                .oneshot(request("tools/call", Some("weather"), Some(tags), ""))
                .await
                .unwrap();
            let private = response.headers().get("cache-control").is_some_and(|value| value == "private");
            assert_eq!(private, !tags.is_empty(), "what one caller gets is for no shared cache: {tags:?}");
            let body = text(response).await;
            assert_eq!(message(&body)["result"], expected(tags), "{streams} {tags:?}");
            assert_eq!(body.contains("notifications/progress"), streams);
        }
    }
}

#[tokio::test]
async fn what_declares_nothing_passes_byte_for_byte() {
    for streams in [false, true] {
        let server = Server { streams, ..Server::default() };
        let service = server.attuned();
        for (method, tool) in
            [("tools/call", Some("weather")), ("tools/call", Some("fails")), ("tools/list", None)]
        {
            for tags in
                [None, Some(&[][..]), Some(&["@#$%", "format==json"][..]), Some(&["format=xml", "x-a"][..])]
            {
                let asked = request(method, tool, tags, "");
                let body = json!({"id": 7, "method": method, "params": {"name": tool}}).to_string();
                let came = text(server.respond(&Request::new(()), body.as_bytes())).await;
                assert_eq!(
                    text(service.clone().oneshot(asked).await.unwrap()).await,
                    came,
                    "{method} {tags:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn a_listing_hides_the_schema_of_what_its_caller_does_not_get() {
    let service = Server::default().attuned();
    for (tags, shown) in [
        (Some(&["human"][..]), false),
        (Some(&["format=text"]), false),
        (Some(&["agent"]), true),
        (None, true),
    ] {
        let response = service.clone().oneshot(request("tools/list", None, tags, "")).await.unwrap();
        let tools = message(&text(response).await)["result"]["tools"].take();
        assert_eq!(tools[0].get("outputSchema").is_some(), shown, "{tags:?}");
        assert!(tools[0].get("inputSchema").is_some());
    }
}

#[tokio::test]
async fn a_server_that_negotiates_itself_is_not_shaped() {
    let service = Server { negotiates: true, ..Server::default() }.attuned();
    let asked = || request("tools/call", Some("weather"), Some(&["human"]), "");
    let before = message(&text(service.clone().oneshot(asked()).await.unwrap()).await);
    assert_eq!(before["result"], expected(&["human"]), "nobody knows yet");
    let discovered =
        text(service.clone().oneshot(request("server/discover", None, None, "")).await.unwrap()).await;
    assert_eq!(discovered.matches(EXTENSION).count(), 1, "{discovered}");
    let after = message(&text(service.clone().oneshot(asked()).await.unwrap()).await);
    assert_eq!(after["result"], expected(&[]));

    let service = Server::default().attuned();
    let discovered =
        text(service.clone().oneshot(request("server/discover", None, None, "")).await.unwrap()).await;
    assert_eq!(message(&discovered)["result"]["capabilities"]["extensions"], json!({EXTENSION: {}}));
}

/// A session that was begun with these tags: the id that the caller got.
async fn begin<S>(service: &AttuneService<S>, tags: &[&str]) -> Option<String>
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let capabilities = json!({"extensions": {EXTENSION: {"version": "1.0", "features": tags}}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}});
    let response = service.clone().oneshot(post(&[], &hello.to_string())).await.unwrap();
    let id = response.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    let said = message(&text(response).await);
    assert_eq!(said["result"]["capabilities"]["extensions"], json!({EXTENSION: {}}));
    id
}

fn legacy(session: Option<&str>, method: &str, tool: Option<&str>) -> Request<Body> {
    let body = json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {"name": tool}});
    let session = session.map(|id| ("mcp-session-id", id));
    let headers: Vec<_> = [("mcp-protocol-version", "2025-11-25")].into_iter().chain(session).collect();
    post(&headers, &body.to_string())
}

#[tokio::test]
async fn what_a_legacy_client_declares_holds_for_its_session() {
    for sessions in [false, true] {
        for streams in [false, true] {
            let service = Server { sessions, streams, ..Server::default() }.attuned();
            for tags in CALLERS {
                let id = begin(&service, tags).await;
                assert_eq!(
                    id.is_some(),
                    sessions || !tags.is_empty(),
                    "one is made where there is something to keep"
                );
                for _ in 0..2 {
                    let asked = legacy(id.as_deref(), "tools/call", Some("weather"));
                    let body = text(service.clone().oneshot(asked).await.unwrap()).await;
                    assert_eq!(message(&body)["result"], expected(tags), "{sessions} {streams} {tags:?}");
                }
                let listed = legacy(id.as_deref(), "tools/list", None);
                let listed = message(&text(service.clone().oneshot(listed).await.unwrap()).await);
                let hidden = listed["result"]["tools"][0].get("outputSchema").is_none();
                assert_eq!(hidden, tags.contains(&"human"));
            }
        }
    }
}

#[tokio::test]
async fn a_stream_that_goes_on_is_shaped_as_it_began() {
    let service = Server { sessions: true, streams: true, ..Server::default() }.attuned();
    for tags in CALLERS {
        let id = begin(&service, tags).await.unwrap();
        let resumed = Request::get("/mcp").header("accept", "text/event-stream").header("mcp-session-id", id);
        let resumed = resumed.header("last-event-id", "1").body(full("")).unwrap();
        let result = message(&text(service.clone().oneshot(resumed).await.unwrap()).await)["result"].take();
        // Nobody knows any more which tool it was, so there is no template, no schema and no title.
        let data = json!({"city": "Bern", "temperature_c": 8, "note": null});
        let link = json!({"type": "resource_link", "uri": "a:b", "name": "b"});
        let page = "- **City:** Bern\n- **Note:** none\n- **Temperature:** 8\u{a0}°C";
        let small = "- **City:** Bern\n- **Temperature:** 8\u{a0}°C";
        let expected = match tags {
            ["agent", ..] => json!({"content": [link], "structuredContent": data}),
            ["human"] => json!({"content": [{"type": "text", "text": page}, link]}),
            ["human", _] => json!({"content": [{"type": "text", "text": small}, link]}),
            _ => expected(&[]),
        };
        assert_eq!(result, expected, "{tags:?}");
    }
}

/// Every tag that there is, and some that there are not.
const TAGS: [&str; 26] = [
    "agent",
    "human",
    "!agent",
    "!human",
    "mcp-capable",
    "!mcp-capable",
    "interactive",
    "!interactive",
    "sampling",
    "!sampling",
    "elicitation",
    "!elicitation",
    "roots",
    "tasks",
    "format=json",
    "format=markdown",
    "format=text",
    "format!=json",
    "verbosity=compact",
    "verbosity=standard",
    "verbosity=verbose",
    "x-admin",
    "x-role=admin",
    "authorization=admin",
    "admin",
    "x-confirmed=true",
];

/// What tags must never change: which tools there are, who may call them, what fails, and what the caller is asked.
async fn may<S>(service: &AttuneService<S>, tags: &[&str], credentials: &str) -> Vec<Value>
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let mut seen = Vec::new();
    let ask = |method: &'static str, tool: Option<&'static str>| {
        let asked = request(method, tool, Some(tags), credentials);
        let service = service.clone();
        async move {
            let response = service.oneshot(asked).await.unwrap();
            (response.status().as_u16(), message(&text(response).await))
        }
    };
    let (status, listed) = ask("tools/list", None).await;
    let names: Vec<_> =
        listed["result"]["tools"].as_array().unwrap().iter().map(|tool| &tool["name"]).collect();
    seen.push(json!([status, names]));
    for tool in ["secret", "confirm", "fails", "nothing"] {
        let (status, answer) = ask("tools/call", Some(tool)).await;
        seen.push(json!([status, tool, answer]));
    }
    let (status, answer) = ask("tools/call", Some("weather")).await;
    let links =
        answer["result"]["content"].as_array().unwrap().iter().filter(|block| block["type"] != "text");
    seen.push(json!([status, links.collect::<Vec<_>>()]));
    seen
}

#[tokio::test]
async fn no_tag_opens_or_closes_anything() {
    let service = Server::default().attuned();
    for credentials in ["", "Bearer user", "Bearer admin"] {
        let plain = may(&service, &[], credentials).await;
        assert_eq!(plain[0][1].as_array().unwrap().len(), if credentials == "Bearer admin" { 2 } else { 1 });
        for (place, one) in TAGS.iter().enumerate() {
            assert_eq!(may(&service, &[one], credentials).await, plain, "{one} {credentials}");
            for other in TAGS.iter().skip(place + 1) {
                assert_eq!(
                    may(&service, &[one, other], credentials).await,
                    plain,
                    "{one} {other} {credentials}"
                );
            }
        }
    }
}

/// An agent, a person, a legacy client with tags, and a client without any, at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_gets_the_shape_of_another() {
    const CALLS: usize = 10_000;
    let service = Server { sessions: true, ..Server::default() }.attuned();
    let session = begin(&service, &["human", "verbosity=compact"]).await.unwrap();
    let modern = |tags: Option<&'static [&'static str]>| {
        let service = service.clone();
        tokio::spawn(async move {
            let expected = expected(tags.unwrap_or_default());
            for _ in 0..CALLS {
                let asked = request("tools/call", Some("weather"), tags, "");
                let body = text(service.clone().oneshot(asked).await.unwrap()).await;
                assert_eq!(message(&body)["result"], expected, "{tags:?}");
                tokio::task::yield_now().await;
            }
        })
    };
    let callers = [modern(Some(&["agent"])), modern(Some(&["human"])), modern(None)];
    let legacy = {
        let service = service.clone();
        tokio::spawn(async move {
            for _ in 0..CALLS {
                let asked = legacy(Some(&session), "tools/call", Some("weather"));
                let body = text(service.clone().oneshot(asked).await.unwrap()).await;
                assert_eq!(message(&body)["result"], expected(&["human", "verbosity=compact"]));
                tokio::task::yield_now().await;
            }
        })
    };
    for caller in callers.into_iter().chain([legacy]) {
        caller.await.unwrap();
    }
}
