//! Tasks of a real server, written with rmcp's task manager: over HTTP through the layer, and over pipes.

use std::sync::Arc;
use std::time::Duration;

use axum::body::{Body, to_bytes};
use axum::http::Request;
use mcp_attune::catalog::EmbeddedLocales;
use mcp_attune::language::Tag;
use mcp_attune_rmcp::{AttuneLayer, AttuneTransport, Settings};
use mcp_attune_shape::template::{Template, TemplateSet};
use mcp_attune_shape::{OperatorContent, ToolShaping};
use mcp_attune_tower::{random_keys, seal};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, CreateTaskResult,
    GetTaskParams, GetTaskResult, ServerCapabilities, ServerConfig,
};
use rmcp::service::RequestContext;
use rmcp::task_manager::{TaskManager, TaskOptions};
use rmcp::transport::StreamableHttpService;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tower::{Layer, ServiceExt};

const MODERN: &str = "2026-07-28";

/// A server whose every call is a task.
#[derive(Clone, Default)]
struct Weather(TaskManager);

impl ServerHandler for Weather {
    async fn call_tool(
        &self,
        _: CallToolRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let options = TaskOptions::new().with_poll_interval_ms(1).with_status_message("Working");
        let work = |_| -> std::pin::Pin<Box<dyn Future<Output = _> + Send>> {
            Box::pin(async { Ok(CallToolResult::structured(json!({"city": "Bern"}))) })
        };
        Ok(CallToolResponse::Task(CreateTaskResult::new(self.0.spawn(options, work))))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        Ok(GetTaskResult::new(self.0.get_task(&request.task_id)?))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        self.0.cancel_task(&request.task_id)
    }

    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().enable_tasks().build())
    }
}

fn settings() -> Settings {
    let templates = Arc::new(TemplateSet::new([Template::compile("md", "{{ city }} is cold").unwrap()]));
    let tool = ToolShaping { templates, ..ToolShaping::default() };
    let content =
        OperatorContent { tools: [("weather".to_owned(), tool)].into(), ..OperatorContent::default() };
    let german = r#"{"messages": {"a": {"source": "Working", "text": "In Arbeit"}}}"#;
    let files = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", german)]).unwrap();
    let mut settings = Settings::default();
    settings.offer.content = Some(Arc::new(Arc::new(content)));
    settings.offer.library = Some(Arc::new(files));
    settings.seal = Some(seal(random_keys().unwrap(), "mount"));
    settings
}

/// What a person who prefers German asks.
fn request(method: &str, name: &str) -> Value {
    let member = if method == "tools/call" { "name" } else { "taskId" };
    json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": {member: name, "_meta": {
        "io.modelcontextprotocol/protocolVersion": MODERN, "io.modelcontextprotocol/acceptLanguage": "de",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {},
            "io.modelcontextprotocol/content-negotiation": {"features": ["human"]}}}}}})
}

/// Creates a task, asks for it until it is done, and cancels it.
async fn check(sealed: bool, mut ask: impl AsyncFnMut(&str, &str) -> Value) {
    let created = ask("tools/call", "weather").await;
    assert_eq!(created["result"]["statusMessage"], "In Arbeit", "{created}");
    let id = created["result"]["taskId"].as_str().unwrap().to_owned();
    assert_eq!(id.starts_with("attune1."), sealed, "{id}");
    let mut got = ask("tasks/get", &id).await;
    while got["result"]["status"] == "working" {
        tokio::time::sleep(Duration::from_millis(5)).await;
        got = ask("tasks/get", &id).await;
    }
    assert_eq!(got["result"]["taskId"], *id, "{got}");
    assert_eq!(got["result"]["result"]["content"][0]["text"], "Bern is cold", "{got}");
    assert_eq!(got["result"]["result"].get("structuredContent"), None, "{got}");
    assert_eq!(got["result"]["_meta"]["io.modelcontextprotocol/contentLanguage"], "de", "{got}");
    let cancelled = ask("tasks/cancel", &id).await;
    assert!(cancelled.get("error").is_none(), "{cancelled}");
}

#[tokio::test]
async fn a_real_servers_tasks_are_adapted_over_http() {
    let server = Weather::default();
    let sessions = Arc::new(LocalSessionManager::default());
    let service = StreamableHttpService::new(move || Ok(server.clone()), sessions, Default::default());
    let service = AttuneLayer::new(settings()).layer(service);
    check(true, async |method, name| {
        let asked = Request::post("/mcp")
            .header("host", "localhost")
            .header("content-type", "application/json")
            .header("accept", "application/json, text/event-stream")
            .header("mcp-protocol-version", MODERN)
            .header("mcp-method", method)
            .header("mcp-name", name)
            .body(Body::from(request(method, name).to_string()))
            .unwrap();
        let answer = service.clone().oneshot(asked).await.unwrap().map(Body::new);
        let body = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        let text = String::from_utf8(body.to_vec()).unwrap();
        let mut messages = text.lines().map(|line| line.strip_prefix("data:").unwrap_or(line));
        messages.find_map(|line| serde_json::from_str(line).ok()).unwrap_or_else(|| panic!("{text}"))
    })
    .await;
}

#[tokio::test]
async fn a_real_servers_tasks_are_adapted_over_pipes() {
    let (ours, theirs) = tokio::io::duplex(1 << 16);
    let (read, write) = tokio::io::split(theirs);
    let serving = tokio::spawn(async move {
        let pipe = AttuneTransport::new(read, write, settings());
        rmcp::serve_server(Weather::default(), pipe).await.unwrap().waiting().await.unwrap();
    });
    let (read, mut write) = tokio::io::split(ours);
    let mut lines = BufReader::new(read).lines();
    check(false, async |method, name| {
        write.write_all(format!("{}\n", request(method, name)).as_bytes()).await.unwrap();
        serde_json::from_str(&lines.next_line().await.unwrap().unwrap()).unwrap()
    })
    .await;
    drop((write, lines));
    serving.await.unwrap();
}
