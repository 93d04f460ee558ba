//! The small set, served by rmcp in both eras.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::Result;
use axum::Router;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequest,
    ElicitRequestParams, ElicitResult, ElicitationSchema, GetPromptRequestParams, GetPromptResponse,
    GetPromptResult, InputRequest, InputRequiredResult, JsonObject, ListPromptsResult, ListResourcesResult,
    ListToolsResult, PaginatedRequestParams, ProgressNotificationParam, Prompt, PromptArgument,
    PromptMessage, ReadResourceRequestParams, ReadResourceResponse, ReadResourceResult, Resource,
    ResourceContents, ResourceUpdatedNotification, ResourceUpdatedNotificationParam, Role,
    ServerCapabilities, ServerConfig, ServerNotification, SubscribeRequestParams, SubscriptionFilter, Tool,
    ToolListChangedNotification,
};
use rmcp::service::{RequestContext, SubscriptionContext};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::streamable_http_server::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler, object};
use serde_json::Value;
use tokio::sync::broadcast;

pub(crate) const NOTE: &str = "note://current";
const QUESTION: &str = "name";

/// Serves at a free port of loopback, and says where.
pub(crate) async fn run() -> Result<()> {
    let small_set = SmallSet { state: Arc::new(State::default()) };
    let config = StreamableHttpServerConfig::default()
        .with_json_response(true)
        .with_sse_retry(Some(Duration::from_millis(100)));
    let service = StreamableHttpService::new(
        move || Ok(small_set.clone()),
        Arc::<LocalSessionManager>::default(),
        config,
    );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
    println!("listening on http://{}/mcp", listener.local_addr()?);
    Ok(axum::serve(listener, Router::new().route_service("/mcp", service)).await?)
}

#[derive(Clone)]
struct SmallSet {
    state: Arc<State>,
}

/// What outlives one request.
struct State {
    note: Mutex<String>,
    cancelled: AtomicU32,
    changes: broadcast::Sender<ServerNotification>,
}

impl Default for State {
    fn default() -> Self {
        Self {
            note: Mutex::new("empty".to_owned()),
            cancelled: AtomicU32::new(0),
            changes: broadcast::channel(16).0,
        }
    }
}

impl ServerHandler for SmallSet {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder()
            .enable_tools()
            .enable_tool_list_changed()
            .enable_resources()
            .enable_resources_subscribe()
            .enable_prompts()
            .build();
        ServerConfig::new(capabilities)
    }

    async fn list_tools(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult { tools: tools(), ..Default::default() })
    }

    /// With it rmcp compares the `Mcp-Param-*` headers.
    fn get_tool(&self, name: &str) -> Option<Tool> {
        tools().into_iter().find(|tool| tool.name == name)
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let given = request.arguments.clone().unwrap_or_default();
        let text = match &*request.name {
            "add" => (number(&given, "a")? + number(&given, "b")?).to_string(),
            "count_to" => count_to(number(&given, "n")?, &context).await,
            "ask_name" => return ask_name(request, &context).await,
            "ask_aside" => ask_aside(&context).await?,
            "wait" => self.wait(&context).await?,
            "cancelled_count" => self.state.cancelled.load(Ordering::SeqCst).to_string(),
            "set_note" => self.set_note(string(&given, "text")?, &context).await,
            "announce" => self.announce(&context).await,
            "break_stream" => {
                let why = "a handler of rmcp cannot close the stream of its answer";
                return Err(ErrorData::internal_error(why, None));
            }
            "route" => format!("routed to {}", string(&given, "region")?),
            _ => return Err(ErrorData::invalid_params("there is no such tool", None)),
        };
        Ok(said(text))
    }

    async fn list_resources(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListResourcesResult, ErrorData> {
        Ok(ListResourcesResult { resources: vec![Resource::new(NOTE, "note")], ..Default::default() })
    }

    async fn read_resource(
        &self,
        request: ReadResourceRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<ReadResourceResponse, ErrorData> {
        let note = self.state.note.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Ok(ReadResourceResult::new(vec![ResourceContents::text(note, request.uri)]).into())
    }

    async fn list_prompts(
        &self,
        _: Option<PaginatedRequestParams>,
        _: RequestContext<RoleServer>,
    ) -> Result<ListPromptsResult, ErrorData> {
        let name = PromptArgument::new("name").with_required(true);
        let prompts = vec![Prompt::new("greet", Some("A greeting."), Some(vec![name]))];
        Ok(ListPromptsResult { prompts, ..Default::default() })
    }

    async fn get_prompt(
        &self,
        request: GetPromptRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<GetPromptResponse, ErrorData> {
        let name = string(&request.arguments.unwrap_or_default(), "name")?;
        Ok(GetPromptResult::new(vec![PromptMessage::new_text(Role::User, format!("Greet {name}."))]).into())
    }

    async fn subscribe(
        &self,
        _: SubscribeRequestParams,
        _: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        Ok(())
    }

    fn accepted_subscription_filter(&self, requested: &SubscriptionFilter) -> Option<SubscriptionFilter> {
        Some(requested.clone())
    }

    async fn listen(&self, context: SubscriptionContext) -> Result<(), ErrorData> {
        let mut changes = self.state.changes.subscribe();
        loop {
            tokio::select! {
                () = context.cancelled() => return Ok(()),
                // What was not asked for is refused by the sink, and that is all that can go wrong here.
                Ok(change) = changes.recv() => drop(context.sink().send(change).await),
            }
        }
    }
}

impl SmallSet {
    async fn wait(&self, context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
        progress(0, 1, context).await;
        tokio::select! {
            () = context.ct.cancelled() => {
                self.state.cancelled.fetch_add(1, Ordering::SeqCst);
                Err(ErrorData::internal_error("cancelled", None))
            }
            () = tokio::time::sleep(Duration::from_secs(30)) => Ok("nobody cancelled".to_owned()),
        }
    }

    async fn set_note(&self, text: String, context: &RequestContext<RoleServer>) -> String {
        self.state.note.lock().unwrap_or_else(PoisonError::into_inner).clone_from(&text);
        let what = ResourceUpdatedNotificationParam::new(NOTE);
        if is_modern(context) {
            let change =
                ServerNotification::ResourceUpdatedNotification(ResourceUpdatedNotification::new(what));
            let _ = self.state.changes.send(change);
        } else {
            let _ = context.peer.notify_resource_updated(what).await;
        }
        text
    }

    async fn announce(&self, context: &RequestContext<RoleServer>) -> String {
        if is_modern(context) {
            let change = ToolListChangedNotification::default();
            let _ = self.state.changes.send(ServerNotification::ToolListChangedNotification(change));
        } else {
            let _ = context.peer.notify_tool_list_changed().await;
        }
        "announced".to_owned()
    }
}

fn tools() -> Vec<Tool> {
    let none = || object!({ "type": "object", "properties": {} });
    vec![
        Tool::new(
            "add",
            "Adds two numbers.",
            object!({ "type": "object", "properties": { "a": { "type": "integer" }, "b": { "type": "integer" } } }),
        ),
        Tool::new(
            "count_to",
            "Counts, and tells its progress.",
            object!({ "type": "object", "properties": { "n": { "type": "integer" } } }),
        ),
        Tool::new("ask_name", "Asks for a name, and greets.", none()),
        Tool::new("ask_aside", "Asks on the stream that belongs to no request: legacy only.", none()),
        Tool::new("wait", "Waits for half a minute unless it is cancelled.", none()),
        Tool::new("cancelled_count", "How many waits were cancelled.", none()),
        Tool::new(
            "set_note",
            "Changes the note, and tells whoever subscribed.",
            object!({ "type": "object", "properties": { "text": { "type": "string" } } }),
        ),
        Tool::new("announce", "Says that the list of tools changed.", none()),
        Tool::new("break_stream", "Should drop the stream of its own answer, and cannot.", none()),
        Tool::new(
            "route",
            "Names the region, which clients mirror into a header.",
            object!({
                "type": "object",
                "properties": { "region": { "type": "string", "x-mcp-header": "Region" } },
                "required": ["region"]
            }),
        ),
    ]
}

async fn count_to(n: i64, context: &RequestContext<RoleServer>) -> String {
    for i in 1..=n {
        progress(i, n, context).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    format!("counted to {n}")
}

/// Tells a caller who gave a token.
async fn progress(done: i64, of: i64, context: &RequestContext<RoleServer>) {
    if let Some(token) = context.meta.get_progress_token() {
        let progress = ProgressNotificationParam::new(token, done as f64).with_total(of as f64);
        let _ = context.peer.notify_progress(progress).await;
    }
}

async fn ask_name(
    request: CallToolRequestParams,
    context: &RequestContext<RoleServer>,
) -> Result<CallToolResponse, ErrorData> {
    if !is_modern(context) {
        let answer = context.peer.create_elicitation(question()?).await.map_err(internal)?;
        return Ok(said(greeting(answer)));
    }
    match request.input_responses.and_then(|mut answers| answers.remove(QUESTION)) {
        Some(answer) => Ok(said(greeting(serde_json::from_value(answer).map_err(internal)?))),
        None => {
            let question = InputRequest::Elicitation(ElicitRequest::new(question()?));
            let questions = BTreeMap::from([(QUESTION.to_owned(), question)]);
            Ok(InputRequiredResult::new(Some(questions), Some("asked".to_owned())).into())
        }
    }
}

/// In a task of its own, rmcp does not know which request the question belongs to.
async fn ask_aside(context: &RequestContext<RoleServer>) -> Result<String, ErrorData> {
    let (peer, question) = (context.peer.clone(), question()?);
    let asked = tokio::spawn(async move { peer.create_elicitation(question).await });
    Ok(greeting(asked.await.map_err(internal)?.map_err(internal)?))
}

fn question() -> Result<ElicitRequestParams, ErrorData> {
    let form =
        object!({ "type": "object", "properties": { "name": { "type": "string" } }, "required": ["name"] });
    Ok(ElicitRequestParams::FormElicitationParams {
        meta: None,
        message: "What is your name?".to_owned(),
        requested_schema: ElicitationSchema::from_json_schema(form).map_err(internal)?,
    })
}

fn greeting(answer: ElicitResult) -> String {
    let content = answer.content.unwrap_or_default();
    format!("Hello, {}", content.get("name").and_then(Value::as_str).unwrap_or("nobody"))
}

fn said(text: String) -> CallToolResponse {
    CallToolResult::success(vec![ContentBlock::text(text)]).into()
}

fn is_modern(context: &RequestContext<RoleServer>) -> bool {
    context.protocol_version().is_some_and(|version| version.as_str() >= "2026")
}

fn number(given: &JsonObject, name: &str) -> Result<i64, ErrorData> {
    given
        .get(name)
        .and_then(Value::as_i64)
        .ok_or_else(|| ErrorData::invalid_params("a number is missing", None))
}

fn string(given: &JsonObject, name: &str) -> Result<String, ErrorData> {
    let text = given.get(name).and_then(Value::as_str);
    text.map(str::to_owned).ok_or_else(|| ErrorData::invalid_params("a text is missing", None))
}

fn internal(error: impl std::fmt::Display) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
