//! What the clients of SDKs do not do on purpose: hang up.
//!
//! In the modern era a caller that goes away cancels its call. In the legacy era it does not: the call goes on, its stream
//! can be taken up again, and only `notifications/cancelled` ends it.

use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use reqwest::{Client, RequestBuilder, Response};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::client::{in_time, tell};

/// As long as it takes for a server to begin, or for news of a cancellation to arrive where it should not.
const WHILE: Duration = Duration::from_millis(700);

/// Hangs up in the ways of an era.
pub(crate) async fn run(url: &str, era: &str) -> Result<()> {
    let modern = era == "modern";
    let mut caller = Caller { http: Client::new(), url: url.to_owned(), modern, session: None };
    if modern {
        tell("hanging_up_cancels", &in_time(caller.hanging_up_cancels(false)).await);
        tell("hanging_up_on_a_stream_cancels", &in_time(caller.hanging_up_cancels(true)).await);
        return Ok(());
    }
    let begun = in_time(caller.begin()).await;
    tell("begins_a_session", &begun);
    if begun.is_ok() {
        tell("hanging_up_does_not_cancel", &in_time(caller.hanging_up_does_not_cancel()).await);
        tell("resumes_after_hanging_up", &in_time(caller.resumes()).await);
    }
    Ok(())
}

struct Caller {
    http: Client,
    url: String,
    modern: bool,
    session: Option<String>,
}

impl Caller {
    async fn begin(&mut self) -> Result<String> {
        let client = json!({ "name": "interop", "version": "1.0.0" });
        let params = json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": client });
        let body = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": params });
        let answer = self.post(&body).send().await?;
        let session = answer.headers().get("mcp-session-id").context("there is no session")?;
        self.session = Some(session.to_str()?.to_owned());
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/initialized" });
        let answer = self.post(&body).send().await?;
        ensure!(answer.status() == 202, "a notification was answered with {}", answer.status());
        Ok("a session".to_owned())
    }

    async fn hanging_up_cancels(&self, streaming: bool) -> Result<String> {
        let before = self.cancelled().await?;
        let token = streaming.then_some("p");
        let wait = self.call(1, "wait", &json!({}), token);
        if streaming {
            let mut answer = wait.send().await?;
            answer.chunk().await?.context("the stream ended")?;
        } else {
            let answered = timeout(WHILE, wait.send()).await;
            ensure!(answered.is_err(), "it was answered: {answered:?}");
        }
        while self.cancelled().await? == before {
            sleep(Duration::from_millis(100)).await;
        }
        Ok(format!("{before} before, one more after"))
    }

    async fn hanging_up_does_not_cancel(&self) -> Result<String> {
        let before = self.cancelled().await?;
        let _ = timeout(WHILE, async {
            let mut answer = self.call(1, "wait", &json!({}), Some("p")).send().await?;
            while answer.chunk().await?.is_some() {}
            anyhow::Ok(())
        })
        .await;
        sleep(WHILE).await;
        ensure!(self.cancelled().await? == before, "the call was cancelled");
        let params = json!({ "requestId": 1 });
        let body = json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": params });
        self.post(&body).send().await?;
        while self.cancelled().await? == before {
            sleep(Duration::from_millis(100)).await;
        }
        Ok("only the notification cancelled".to_owned())
    }

    async fn resumes(&self) -> Result<String> {
        let mut answer = self.call(2, "count_to", &json!({ "n": 20 }), Some("p")).send().await?;
        let mut text = String::new();
        let id = loop {
            let chunk = answer.chunk().await?.context("the stream ended early")?;
            text += &String::from_utf8_lossy(&chunk).replace('\r', "");
            // The last event that came whole, once there was some progress.
            let whole = text.rfind("\n\n").map_or("", |end| text.get(..end).unwrap_or_default());
            if whole.contains("notifications/progress") {
                let mut ids = whole.lines().filter_map(|line| line.strip_prefix("id:"));
                break ids.next_back().context("the events have no ids")?.trim().to_owned();
            }
        };
        drop(answer);
        sleep(Duration::from_millis(200)).await;
        let mut answer = self.headers(self.http.get(&self.url)).header("Last-Event-ID", &id).send().await?;
        ensure!(answer.status() == 200, "taking up the stream was answered with {}", answer.status());
        let mut text = String::new();
        while !text.contains("counted to 20") {
            text += &String::from_utf8_lossy(&answer.chunk().await?.context("the stream ended again")?);
        }
        Ok(format!("the answer came after event {id}"))
    }

    async fn cancelled(&self) -> Result<u32> {
        let answer = self.call(3, "cancelled_count", &json!({}), None).send().await?;
        let text = result(answer).await?["content"][0]["text"].clone();
        Ok(text.as_str().context("no count")?.parse()?)
    }

    fn call(&self, id: u32, tool: &str, arguments: &Value, token: Option<&str>) -> RequestBuilder {
        let mut meta = json!({});
        if self.modern {
            meta = json!({
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "interop", "version": "1.0.0" },
                "io.modelcontextprotocol/clientCapabilities": {}
            });
        }
        if let Some(token) = token {
            meta["progressToken"] = json!(token);
        }
        let params = json!({ "name": tool, "arguments": arguments, "_meta": meta });
        let request =
            self.post(&json!({ "jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params }));
        if self.modern {
            request.header("Mcp-Method", "tools/call").header("Mcp-Name", tool)
        } else {
            request
        }
    }

    fn post(&self, body: &Value) -> RequestBuilder {
        let request = self.http.post(&self.url).header("Content-Type", "application/json");
        self.headers(request).body(body.to_string())
    }

    fn headers(&self, request: RequestBuilder) -> RequestBuilder {
        let version = if self.modern { "2026-07-28" } else { "2025-11-25" };
        let request = request
            .header("Accept", "application/json, text/event-stream")
            .header("MCP-Protocol-Version", version);
        match &self.session {
            Some(session) => request.header("Mcp-Session-Id", session),
            None => request,
        }
    }
}

/// The result, whether it came as JSON or as an event.
async fn result(answer: Response) -> Result<Value> {
    let text = answer.text().await?;
    let data = text.lines().filter_map(|line| line.strip_prefix("data:"));
    for candidate in data.chain([text.as_str()]) {
        let message = serde_json::from_str::<Value>(candidate).unwrap_or_default();
        if let Some(result) = message.get("result") {
            return Ok(result.clone());
        }
    }
    bail!("no result in {text:?}")
}
