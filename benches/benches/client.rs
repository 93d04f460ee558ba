//! What Attune's client adds to a request, and what a listing costs that is kept.
//!
//! The additions are what the profile writes into `_meta`, the reading of the body that is sent, and the headers that
//! mirror it, with three declared arguments. A kept listing is asked for on a real connection, whose server is asked once.
#![allow(missing_docs, reason = "criterion's macros write undocumented items")]

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use axum::Json;
use axum::routing::post;
use criterion::{BatchSize, Criterion, criterion_group, criterion_main};
use mcp_attune_rmcp::context::{ClientContext, IanaTimeZone};
use mcp_attune_rmcp::language::AcceptLanguage;
use mcp_attune_rmcp::{CallerProfile, Connection, ConnectionOptions, ServerTarget};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::mirror;
use rmcp::model::{
    ClientCapabilities, ClientJsonRpcMessage, ClientRequest, CustomRequest, GetMeta, RequestId,
};
use serde_json::{Value, json};

fn caller() -> CallerProfile {
    CallerProfile::default()
        .language(AcceptLanguage::parse("de-CH, de;q=0.9, en;q=0.5").unwrap())
        .context(ClientContext::from_parts(IanaTimeZone::parse("Europe/Zurich").ok(), None, None))
        .features(["agent", "format=json"])
        .unwrap()
}

/// A call with the arguments that `benches::declared` declares, as rmcp has it ready to send in the modern era.
fn request() -> ClientRequest {
    let arguments =
        json!({ "region": "eu-central-1", "shard": 25, "dry_run": false, "query": "from A to B" });
    let params = json!({ "name": "search_trains", "arguments": arguments });
    let mut request = ClientRequest::CustomRequest(CustomRequest::new("tools/call", Some(params)));
    let meta = request.get_meta_mut();
    meta.insert("io.modelcontextprotocol/protocolVersion".to_owned(), "2026-07-28".into());
    meta.set_client_capabilities(ClientCapabilities::default());
    request
}

fn additions(c: &mut Criterion) {
    let (profile, declared) = (caller(), benches::declared());
    let mut group = c.benchmark_group("client");
    let written = |mut request: ClientRequest| {
        profile.write(&mut request);
        serde_json::to_vec(&ClientJsonRpcMessage::request(request, RequestId::Number(1))).unwrap()
    };
    let body = written(request());
    group.bench_function("additions: what the caller says", |b| {
        b.iter_batched_ref(request, |request| black_box(&profile).write(request), BatchSize::SmallInput);
    });
    group.bench_function("additions: the headers", |b| {
        b.iter(|| {
            let message = Message::parse(black_box(&body)).unwrap();
            mirror::headers(&message, Some(&declared)).len()
        });
    });
    group.bench_function("a whole request, to compare", |b| {
        b.iter_batched(request, written, BatchSize::SmallInput);
    });
    group.finish();
}

async fn answer(Json(asked): Json<Value>) -> Json<Value> {
    let tool =
        |number: usize| json!({ "name": format!("tool-{number}"), "inputSchema": { "type": "object" } });
    let tools: Vec<_> = (0..50).map(tool).collect();
    let result = json!({
        "resultType": "complete", "supportedVersions": ["2026-07-28"], "capabilities": {},
        "ttlMs": 3_600_000, "cacheScope": "private", "tools": tools,
    });
    Json(json!({ "jsonrpc": "2.0", "id": asked["id"], "result": result }))
}

fn kept(c: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let connection = runtime.block_on(async {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let target: ServerTarget = format!("http://{}/", listener.local_addr().unwrap()).parse().unwrap();
        let app = axum::Router::new().route("/", post(answer));
        tokio::spawn(async move { axum::serve(listener, app).await });
        let mut options = ConnectionOptions::default();
        options.cache = Some(Arc::default());
        Connection::open(&target, &options).await.unwrap()
    });
    let asking = connection.with_profile(&caller());
    assert_eq!(runtime.block_on(asking.tools()).unwrap().len(), 50);
    c.bench_function("client/a kept listing of fifty tools", |b| {
        b.iter(|| runtime.block_on(black_box(&asking).tools()).unwrap().len());
    });
}

criterion_group! {
    name = benches;
    config = Criterion::default().warm_up_time(Duration::from_millis(300)).measurement_time(Duration::from_secs(1));
    targets = additions, kept
}
criterion_main!(benches);
