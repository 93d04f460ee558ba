//! rmcp as a client: asks a server for everything in the small set, or does the steps of a script.

use std::process::Stdio;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CallToolResult, ClientCapabilities, ClientConfig, ClientRequest,
    CreateMessageRequestParams, CreateMessageResult, ElicitRequestParams, ElicitResult, ElicitationAction,
    GetPromptRequestParams, Implementation, JsonObject, ProgressNotificationParam, ProtocolVersion,
    ReadResourceRequestParams, ResourceContents, ResourceUpdatedNotificationParam, SamplingMessage,
    SubscribeRequestParams, SubscriptionFilter,
};
use rmcp::service::{
    ClientInitializeError, NotificationContext, PeerRequestOptions, RequestContext, RunningService,
};
use rmcp::transport::StreamableHttpClientTransport;
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::{ClientHandler, ClientLifecycleMode, ClientServiceExt, ErrorData, RoleClient, object};
use serde_json::json;
use tokio::process::{ChildStdin, ChildStdout, Command};
use tokio::sync::Notify;
use tokio::time::{sleep, timeout};

use crate::server::NOTE;
use crate::steps;

const PATIENCE: Duration = Duration::from_secs(10);
const BOTH: [&str; 9] = [
    "lists",
    "calls",
    "reads",
    "prompts",
    "progress",
    "elicits",
    "cancels",
    "hears_updates",
    "hears_lists_change",
];

/// Runs the checks of an era, or those named with `--only`, or the steps of a `--script`. `server` is a URL, or a command
/// as a list in JSON.
pub(crate) async fn run(server: &str, era: &str, options: &[&str]) -> Result<()> {
    let option = |name| options.iter().position(|word| *word == name).and_then(|at| options.get(at + 1));
    let connecting = Asker::connect(server, era, option("--token").copied());
    if let Some(file) = option("--script") {
        return steps::run(in_time(async { Ok(connecting.await) }).await?, file).await;
    }
    let asker = match in_time(async { Ok(connecting.await?) }).await {
        Ok(asker) => asker,
        Err(error) => {
            tell("connects", &Err(error));
            return Ok(());
        }
    };
    tell("connects", &Ok(era.to_owned()));
    let of_era: &[&str] = if asker.modern { &["mirrors_headers"] } else { &["elicits_aside", "resumes"] };
    let all: Vec<&str> = match option("--only") {
        Some(names) => names.split(',').collect(),
        None => [&BOTH[..], of_era].concat(),
    };
    for name in all {
        tell(name, &in_time(asker.check(name)).await);
    }
    Ok(())
}

pub(crate) async fn in_time<T>(found: impl Future<Output = Result<T>>) -> Result<T> {
    timeout(PATIENCE, found).await.unwrap_or_else(|_| bail!("nothing within {PATIENCE:?}"))
}

/// One line of JSON.
pub(crate) fn tell(check: &str, found: &Result<String>) {
    let detail = found.as_ref().map_or_else(|error| format!("{error:#}"), String::clone);
    let detail: String = detail.chars().take(300).collect();
    println!("{}", json!({ "check": check, "ok": found.is_ok(), "detail": detail }));
}

/// What the server said unasked.
#[derive(Clone, Default)]
pub(crate) struct Heard {
    updated: Arc<Notify>,
    listed: Arc<Notify>,
    progress: Arc<Mutex<Vec<f64>>>,
}

impl ClientHandler for Heard {
    fn get_info(&self) -> ClientConfig {
        let capabilities = ClientCapabilities::builder().enable_elicitation().enable_sampling().build();
        ClientConfig::new(capabilities, Implementation::new("interop", "1.0.0"))
            .with_protocol_version(ProtocolVersion::V_2025_11_25)
    }

    async fn create_elicitation(
        &self,
        _: ElicitRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<ElicitResult, ErrorData> {
        Ok(ElicitResult::new(ElicitationAction::Accept).with_content(json!({ "name": "Ada" })))
    }

    async fn create_message(
        &self,
        _: CreateMessageRequestParams,
        _: RequestContext<RoleClient>,
    ) -> Result<CreateMessageResult, ErrorData> {
        Ok(CreateMessageResult::new(SamplingMessage::assistant_text("Sampled."), "none".to_owned()))
    }

    async fn on_progress(&self, progress: ProgressNotificationParam, _: NotificationContext<RoleClient>) {
        self.progress.lock().unwrap_or_else(PoisonError::into_inner).push(progress.progress);
    }

    async fn on_resource_updated(
        &self,
        _: ResourceUpdatedNotificationParam,
        _: NotificationContext<RoleClient>,
    ) {
        self.updated.notify_one();
    }

    async fn on_tool_list_changed(&self, _: NotificationContext<RoleClient>) {
        self.listed.notify_one();
    }
}

pub(crate) struct Asker {
    pub(crate) client: RunningService<RoleClient, Heard>,
    pub(crate) heard: Heard,
    modern: bool,
}

impl Asker {
    async fn connect(server: &str, era: &str, token: Option<&str>) -> Result<Self, ClientInitializeError> {
        let preferred_versions = vec![ProtocolVersion::V_2026_07_28];
        let lifecycle = match era {
            "modern" => ClientLifecycleMode::Discover { preferred_versions },
            "auto" => ClientLifecycleMode::Auto { preferred_versions, legacy_version: None },
            _ => ClientLifecycleMode::Initialize,
        };
        let heard = Heard::default();
        let client = match serde_json::from_str::<Vec<String>>(server) {
            Ok(command) => {
                let not_started = || ClientInitializeError::ConnectionClosed("it does not start".to_owned());
                let pipes = start(&command).ok_or_else(not_started)?;
                heard.clone().serve_with_lifecycle(pipes, lifecycle).await?
            }
            Err(_) => {
                let mut config = StreamableHttpClientTransportConfig::with_uri(server);
                if let Some(token) = token {
                    config = config.auth_header(token);
                }
                let transport = StreamableHttpClientTransport::with_client(reqwest::Client::new(), config);
                heard.clone().serve_with_lifecycle(transport, lifecycle).await?
            }
        };
        Ok(Self { client, heard, modern: era == "modern" })
    }

    async fn check(&self, name: &str) -> Result<String> {
        match name {
            "lists" => self.lists().await,
            "calls" => same(self.call("add", object!({ "a": 2, "b": 3 })).await?, "5"),
            "reads" => self.reads().await,
            "prompts" => self.prompts().await,
            "progress" => self.progress().await,
            "elicits" => same(self.call("ask_name", JsonObject::new()).await?, "Hello, Ada"),
            "elicits_aside" => same(self.call("ask_aside", JsonObject::new()).await?, "Hello, Ada"),
            "cancels" => self.cancels().await,
            "hears_updates" => self.hears_updates().await,
            "hears_lists_change" => self.hears_lists_change().await,
            "mirrors_headers" => {
                same(self.call("route", object!({ "region": "são paulo" })).await?, "routed to são paulo")
            }
            "resumes" => same(self.call("break_stream", JsonObject::new()).await?, "resumed"),
            _ => bail!("there is no such check"),
        }
    }

    async fn call(&self, tool: &'static str, arguments: JsonObject) -> Result<String> {
        text(&self.client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments)).await?)
    }

    async fn lists(&self) -> Result<String> {
        let tools = self.client.list_all_tools().await?;
        for name in ["add", "wait"] {
            ensure!(tools.iter().any(|tool| tool.name == name), "the tool `{name}` is not listed");
        }
        let prompts = self.client.list_all_prompts().await?;
        same(prompts.iter().map(|prompt| prompt.name.as_str()).collect::<String>(), "greet")?;
        let resources = self.client.list_all_resources().await?;
        same(resources.iter().map(|resource| resource.uri.as_str()).collect::<String>(), NOTE)?;
        Ok(format!("{} tools", tools.len()))
    }

    async fn reads(&self) -> Result<String> {
        self.call("set_note", object!({ "text": "first" })).await?;
        let read = self.client.read_resource(ReadResourceRequestParams::new(NOTE)).await?;
        match read.contents.first() {
            Some(ResourceContents::TextResourceContents { text, .. }) => same(text.clone(), "first"),
            other => bail!("{other:?} instead of a text"),
        }
    }

    async fn prompts(&self) -> Result<String> {
        let asked = GetPromptRequestParams::new("greet").with_arguments(object!({ "name": "Ada" }));
        let prompt = self.client.get_prompt(asked).await?;
        let message = prompt.messages.first().context("the prompt is empty")?;
        let text = message.content.as_text().context("the prompt is no text")?;
        same(text.text.clone(), "Greet Ada.")
    }

    /// rmcp puts a progress token into every request. It hands each notification to a task of its own, so their order,
    /// and whether they come before the answer, is not for us to see.
    async fn progress(&self) -> Result<String> {
        let seen = || self.heard.progress.lock().unwrap_or_else(PoisonError::into_inner).clone();
        same(self.call("count_to", object!({ "n": 3 })).await?, "counted to 3")?;
        while seen().len() < 3 {
            sleep(Duration::from_millis(50)).await;
        }
        let mut seen = seen();
        seen.sort_by(f64::total_cmp);
        same(format!("{seen:?}"), "[1.0, 2.0, 3.0]")
    }

    async fn cancelled(&self) -> Result<u32> {
        Ok(self.call("cancelled_count", JsonObject::new()).await?.parse()?)
    }

    async fn cancels(&self) -> Result<String> {
        let before = self.cancelled().await?;
        let wait = CallToolRequest::new(CallToolRequestParams::new("wait"));
        let waiting = self
            .client
            .send_cancellable_request(ClientRequest::CallToolRequest(wait), PeerRequestOptions::no_options())
            .await?;
        sleep(Duration::from_millis(500)).await;
        waiting.cancel(Some("enough".to_owned())).await?;
        while self.cancelled().await? == before {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(format!("{before} before, one more after"))
    }

    async fn hears_updates(&self) -> Result<String> {
        let change = || self.call("set_note", object!({ "text": "changed" }));
        if self.modern {
            let filter = SubscriptionFilter::builder().resource_subscription(NOTE).build();
            let mut events = self.client.listen(filter).await?;
            change().await?;
            let heard = events.next().await?.context("the subscription ended")?;
            events.cancel().await?;
            return Ok(format!("{heard:?}"));
        }
        #[expect(deprecated, reason = "how legacy clients subscribe")]
        self.client.subscribe(SubscribeRequestParams::new(NOTE)).await?;
        // Earlier changes of the note may have been heard already.
        let _ = timeout(Duration::from_millis(100), self.heard.updated.notified()).await;
        change().await?;
        self.heard.updated.notified().await;
        Ok("resources/updated".to_owned())
    }

    async fn hears_lists_change(&self) -> Result<String> {
        if self.modern {
            let mut events =
                self.client.listen(SubscriptionFilter::builder().tools_list_changed().build()).await?;
            self.call("announce", JsonObject::new()).await?;
            let heard = events.next().await?.context("the subscription ended")?;
            events.cancel().await?;
            return Ok(format!("{heard:?}"));
        }
        self.call("announce", JsonObject::new()).await?;
        self.heard.listed.notified().await;
        Ok("tools/list_changed".to_owned())
    }
}

/// Starts a server, and returns the ends of its pipes. It ends when they are closed.
fn start(command: &[String]) -> Option<(ChildStdout, ChildStdin)> {
    let (program, arguments) = command.split_first()?;
    let mut command = Command::new(program);
    let mut child = command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
    Some((child.stdout.take()?, child.stdin.take()?))
}

fn text(result: &CallToolResult) -> Result<String> {
    let text = result.content.first().and_then(|block| block.as_text()).context("the answer is no text")?;
    ensure!(result.is_error != Some(true), "the tool failed: {}", text.text);
    Ok(text.text.clone())
}

fn same(found: String, expected: &str) -> Result<String> {
    ensure!(found == expected, "{found:?} instead of {expected:?}");
    Ok(found)
}
