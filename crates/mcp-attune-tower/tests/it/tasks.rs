//! Tasks through the layer, in both eras: what they bring is adapted, and their ids carry the tool that they are of.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use http::{Request, Response};
use http_body_util::BodyExt;
use mcp_attune::catalog::EmbeddedLocales;
use mcp_attune::language::Tag;
use mcp_attune::localize::TranslationScope;
use mcp_attune_shape::template::{Template, TemplateSet};
use mcp_attune_shape::{OperatorContent, ToolShaping};
use mcp_attune_tower::{AttuneLayer, AttuneService, Body, SealKeys, Settings, full, random_keys, seal};
use serde_json::{Value, json};
use tower::{Layer, Service, ServiceExt, service_fn};

use crate::{post, text};

const MODERN: &str = "2026-07-28";
const LANGUAGE: &str = "io.modelcontextprotocol/contentLanguage";
const RELATED: &str = "io.modelcontextprotocol/related-task";
const GERMAN: &str = r#"{"messages":{"a":{"source":"Working","text":"In Arbeit"},"b":{"source":"No such city","text":"Keine solche Stadt"}}}"#;

/// What the server was asked: its message, and the header that mirrors a name.
type Seen = Arc<Mutex<Vec<(Value, Option<String>)>>>;

/// A task of the server, in what it brings.
fn task(id: &str) -> Value {
    let data = json!({"city": "Bern"});
    let mut task = json!({"taskId": id, "status": "completed", "statusMessage": "Working", "createdAt": "x", "ttlMs": null});
    if id == "its-own failed" {
        task["error"] = json!({"code": -32602, "message": "No such city"});
    } else {
        task["result"] =
            json!({"content": [{"type": "text", "text": data.to_string()}], "structuredContent": data});
    }
    task
}

/// What a server with tasks answers; it knows its own ids only.
fn answer(request: &Value) -> Vec<Value> {
    let params = &request["params"];
    let id = params["taskId"].as_str().unwrap_or_default();
    let modern = params["_meta"]["io.modelcontextprotocol/protocolVersion"] == MODERN;
    let known = |id: &str| id.starts_with("its-own");
    let result = match request["method"].as_str().unwrap() {
        "initialize" => json!({"protocolVersion": "2025-11-25", "capabilities": {}}),
        "tools/list" => {
            json!({"tools": [{"name": "weather", "inputSchema": {}, "outputSchema": {"type": "object"}}]})
        }
        "tools/call" if modern => {
            json!({"resultType": "task", "taskId": "its-own", "status": "working", "statusMessage": "Working"})
        }
        "tools/call" => {
            json!({"task": {"taskId": "its-own", "status": "working", "statusMessage": "Working"}})
        }
        "tasks/get" if known(id) => task(id),
        "tasks/cancel" | "tasks/update" if known(id) => json!({"taskId": id}),
        "tasks/result" if known(id) => {
            let mut result = task(id)["result"].take();
            result["_meta"] = json!({RELATED: {"taskId": id}});
            let progress = json!({"jsonrpc": "2.0", "method": "notifications/progress", "params": {"progress": 1, "_meta": {RELATED: {"taskId": id}}}});
            return vec![progress, json!({"jsonrpc": "2.0", "id": request["id"], "result": result})];
        }
        "tasks/list" => json!({"tasks": [task("its-own")]}),
        "subscriptions/listen" => {
            let ids = &params["notifications"]["taskIds"];
            let said =
                |method: &str, params: Value| json!({"jsonrpc": "2.0", "method": method, "params": params});
            let mut all = vec![said(
                "notifications/subscriptions/acknowledged",
                json!({"notifications": {"taskIds": ids}}),
            )];
            all.extend(
                ids.as_array()
                    .unwrap()
                    .iter()
                    .map(|id| said("notifications/tasks", task(id.as_str().unwrap()))),
            );
            return all;
        }
        _ => {
            return vec![
                json!({"jsonrpc": "2.0", "id": request["id"], "error": {"code": -32602, "message": "no such task"}}),
            ];
        }
    };
    vec![json!({"jsonrpc": "2.0", "id": request["id"], "result": result})]
}

fn attuned(
    seen: &Seen,
    keys: &SealKeys,
    mount: &str,
) -> AttuneService<
    impl Service<Request<Body>, Response = Response<Body>, Error = Infallible, Future: Send>
    + Clone
    + Send
    + 'static,
> {
    let templates = Arc::new(TemplateSet::new([Template::compile("md", "{{ city }} is cold").unwrap()]));
    let tool = ToolShaping { templates, ..ToolShaping::default() };
    let content =
        OperatorContent { tools: [("weather".to_owned(), tool)].into(), ..OperatorContent::default() };
    let mut settings = Settings::default();
    settings.offer.content = Some(Arc::new(Arc::new(content)));
    let files = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", GERMAN)]).unwrap();
    settings.offer.library = Some(Arc::new(files));
    settings.offer.translate = TranslationScope { logs: true, ..TranslationScope::default() };
    settings.seal = Some(seal(keys.clone(), mount));
    let seen = seen.clone();
    AttuneLayer::new(settings).layer(service_fn(move |request: Request<Body>| {
        let seen = seen.clone();
        async move {
            let name = request.headers().get("mcp-name").map(|name| name.to_str().unwrap().to_owned());
            let body = request.into_body().collect().await.unwrap().to_bytes();
            let request: Value = serde_json::from_slice(&body).unwrap();
            seen.lock().unwrap().push((request.clone(), name));
            if request.get("method").is_none() {
                return Ok(Response::builder().status(202).body(full("")).unwrap());
            }
            let answers = answer(&request);
            let response = Response::builder();
            Ok::<_, Infallible>(match answers.as_slice() {
                [one] => {
                    response.header("content-type", "application/json").body(full(one.to_string())).unwrap()
                }
                all => {
                    let events: String = all.iter().map(|one| format!("data: {one}\n\n")).collect();
                    response.header("content-type", "text/event-stream").body(full(events)).unwrap()
                }
            })
        }
    }))
}

/// A modern request of a caller with these tags, who prefers German.
fn modern(method: &str, mut params: Value, tags: &[&str]) -> Request<Body> {
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/acceptLanguage": "de",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {
            "io.modelcontextprotocol/content-negotiation": {"features": tags}, "io.modelcontextprotocol/tasks": {}}}});
    let name = params.get("name").or(params.get("taskId")).map(|name| name.as_str().unwrap().to_owned());
    let body = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string();
    let mut headers = vec![("mcp-protocol-version", MODERN), ("mcp-method", method)];
    headers.extend(name.as_deref().map(|name| ("mcp-name", name)));
    post(&headers, &body)
}

/// All messages of an answer.
async fn ask<S>(service: &AttuneService<S>, request: Request<Body>) -> Vec<Value>
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let body = text(service.clone().oneshot(request).await.unwrap()).await;
    let read = |line: &str| serde_json::from_str(line.strip_prefix("data: ").unwrap_or(line)).ok();
    body.lines().filter_map(read).collect()
}

async fn one<S>(service: &AttuneService<S>, request: Request<Body>) -> Value
where
    AttuneService<S>: Service<Request<Body>, Response = Response<Body>, Error = Infallible> + Clone,
{
    let all = ask(service, request).await;
    assert_eq!(all.len(), 1, "{all:?}");
    all[0].clone()
}

fn said(text: &str) -> Value {
    json!([{"type": "text", "text": text}])
}

const TEMPLATE: &str = "Bern is cold";
const PLAIN: &str = "- **City:** Bern";

#[tokio::test]
async fn what_a_task_brings_is_shaped_and_translated_for_whoever_asks_for_it() {
    let (seen, keys) = (Seen::default(), random_keys().unwrap());
    let service = attuned(&seen, &keys, "mount");
    let created =
        one(&service, modern("tools/call", json!({"name": "weather"}), &["human"])).await["result"].take();
    assert_eq!((&created["statusMessage"], &created["_meta"][LANGUAGE]), (&json!("In Arbeit"), &json!("de")));
    let id = created["taskId"].as_str().unwrap().to_owned();
    assert!(id.starts_with("attune1."), "{id}");

    let got = one(&service, modern("tasks/get", json!({"taskId": id}), &["human"])).await["result"].take();
    assert_eq!((&got["taskId"], &got["statusMessage"]), (&json!(id), &json!("In Arbeit")));
    assert_eq!((&got["result"]["content"], got["result"].get("structuredContent")), (&said(TEMPLATE), None));
    assert_eq!(got["_meta"][LANGUAGE], "de");
    // Each asks for themselves: the same task as data, and as the server wrote it.
    let got = one(&service, modern("tasks/get", json!({"taskId": id}), &["agent"])).await["result"].take();
    assert_eq!(got["result"], json!({"content": [], "structuredContent": {"city": "Bern"}}));
    let got = one(&service, modern("tasks/get", json!({"taskId": id}), &[])).await["result"].take();
    assert_eq!((&got["taskId"], &got["result"]), (&json!(id), &task("its-own")["result"]));

    // The server saw its own id, in the message and in the header.
    let asked: Vec<_> =
        seen.lock().unwrap().iter().filter(|(it, _)| it["method"] == "tasks/get").cloned().collect();
    assert_eq!(asked.len(), 3);
    for (message, name) in asked {
        assert_eq!((&message["params"]["taskId"], name.as_deref()), (&json!("its-own"), Some("its-own")));
    }
}

#[tokio::test]
async fn every_place_where_an_id_travels_has_the_right_one() {
    let (seen, keys) = (Seen::default(), random_keys().unwrap());
    let service = attuned(&seen, &keys, "mount");
    let call = || modern("tools/call", json!({"name": "weather"}), &["human"]);
    let id = one(&service, call()).await["result"]["taskId"].take();
    for method in ["tasks/cancel", "tasks/update"] {
        let answer = one(&service, modern(method, json!({"taskId": id}), &["human"])).await;
        assert_eq!(answer["result"]["taskId"], id, "{method}");
    }
    let filter = json!({"notifications": {"taskIds": [id, "its-own too", "its-own failed"]}});
    let all = ask(&service, modern("subscriptions/listen", filter, &["human"])).await;
    let [acknowledged, first, second, failed] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(
        acknowledged["params"]["notifications"]["taskIds"],
        json!([id, "its-own too", "its-own failed"])
    );
    assert_eq!((&first["params"]["taskId"], &first["params"]["result"]["content"]), (&id, &said(TEMPLATE)));
    assert_eq!(
        (&second["params"]["taskId"], &second["params"]["result"]["content"]),
        (&json!("its-own too"), &said(PLAIN))
    );
    assert_eq!(first["params"]["statusMessage"], "In Arbeit");
    assert_eq!(failed["params"]["error"], json!({"code": -32602, "message": "Keine solche Stadt"}));
    assert_eq!(failed["params"]["_meta"][LANGUAGE], "de");
    for (message, name) in seen.lock().unwrap().iter() {
        assert!(!message.to_string().contains("attune1."), "{message}");
        assert!(!name.as_deref().unwrap_or_default().starts_with("attune1."));
    }
}

#[tokio::test]
async fn an_id_is_sealed_only_where_it_has_something_to_carry() {
    let (seen, keys) = (Seen::default(), random_keys().unwrap());
    let service = attuned(&seen, &keys, "mount");
    for (tool, tags) in [("weather", &[][..]), ("other", &["human"])] {
        let created = one(&service, modern("tools/call", json!({"name": tool}), tags)).await;
        assert_eq!(created["result"]["taskId"], "its-own", "{tool} {tags:?}");
    }
    // It is asked for as it is, without a template; and text does not become data.
    let got = one(&service, modern("tasks/get", json!({"taskId": "its-own"}), &["human"])).await;
    assert_eq!(got["result"]["result"]["content"], said(PLAIN));
}

#[tokio::test]
async fn an_id_of_another_mount_or_key_is_not_opened() {
    let (seen, keys) = (Seen::default(), random_keys().unwrap());
    let service = attuned(&seen, &keys, "mount");
    let call = || modern("tools/call", json!({"name": "weather"}), &["human"]);
    let id = one(&service, call()).await["result"]["taskId"].take();
    // Another replica knows it.
    let replica = attuned(&seen, &keys, "mount");
    let got = one(&replica, modern("tasks/get", json!({"taskId": id}), &["human"])).await;
    assert_eq!(got["result"]["result"]["content"], said(TEMPLATE));
    for other in [attuned(&seen, &keys, "other"), attuned(&seen, &random_keys().unwrap(), "mount")] {
        seen.lock().unwrap().clear();
        let got = one(&other, modern("tasks/get", json!({"taskId": id}), &["human"])).await;
        assert_eq!(got["error"]["code"], -32602);
        // What is inside never gets to the server: it is asked for the id that came.
        let (message, name) = seen.lock().unwrap().last().unwrap().clone();
        assert_eq!((&message["params"]["taskId"], name.as_deref()), (&id, id.as_str()));
    }
}

#[tokio::test]
async fn tasks_of_the_legacy_era_are_adapted_too() {
    let (seen, keys) = (Seen::default(), random_keys().unwrap());
    let service = attuned(&seen, &keys, "mount");
    let capabilities =
        json!({"extensions": {"io.modelcontextprotocol/content-negotiation": {"features": ["human"]}}});
    let hello = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": capabilities, "clientInfo": {"name": "c", "version": "1"}}});
    let response = service.clone().oneshot(post(&[], &hello.to_string())).await.unwrap();
    let session = response.headers()["mcp-session-id"].to_str().unwrap().to_owned();
    let headers = [("mcp-protocol-version", "2025-11-25"), ("mcp-session-id", &*session)];
    let legacy = |method: &str, mut params: Value| {
        params["_meta"]["io.modelcontextprotocol/acceptLanguage"] = "de".into();
        post(&headers, &json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).to_string())
    };
    let created =
        one(&service, legacy("tools/call", json!({"name": "weather", "task": {}}))).await["result"].take();
    assert_eq!(created["task"]["statusMessage"], "In Arbeit");
    let id = created["task"]["taskId"].clone();
    assert!(id.as_str().unwrap().starts_with("attune1."), "{id}");

    let all = ask(&service, legacy("tasks/result", json!({"taskId": id}))).await;
    let [progress, result] = all.as_slice() else { panic!("{all:?}") };
    assert_eq!(progress["params"]["_meta"][RELATED]["taskId"], id);
    assert_eq!(result["result"]["_meta"][RELATED]["taskId"], id);
    assert_eq!(
        (&result["result"]["content"], result["result"].get("structuredContent")),
        (&said(TEMPLATE), None)
    );

    // A listing does not say which tool a task is of, so it has the server's own id, which works as well.
    let listed = one(&service, legacy("tasks/list", json!({}))).await["result"]["tasks"][0].take();
    assert_eq!((&listed["taskId"], &listed["statusMessage"]), (&json!("its-own"), &json!("In Arbeit")));

    // What a client says about a task names the server's own id too.
    let reply = json!({"jsonrpc": "2.0", "id": 5, "result": {"action": "accept", "_meta": {RELATED: {"taskId": id}}}});
    let response = service.clone().oneshot(post(&headers, &reply.to_string())).await.unwrap();
    assert_eq!(response.status(), 202);
    let (last, _) = seen.lock().unwrap().last().unwrap().clone();
    assert_eq!(last["result"]["_meta"][RELATED]["taskId"], "its-own");
    assert!(seen.lock().unwrap().iter().all(|(message, _)| !message.to_string().contains("attune1.")));
}
