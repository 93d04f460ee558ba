//! Many calls through the gateway, and how often the tools were listed behind it for their sake.
//!
//! The server says that its listings are stale at once (`ttlMs: 0`, the Python SDK's default). The gateway keeps them for
//! half a minute all the same, and looks again before it refuses, once a second at most.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use reqwest::{Client, Response};
use serde_json::{Value, json};
use tokio::task::JoinSet;
use tokio::time::{MissedTickBehavior, interval};

use crate::client::tell;

const AT_ONCE: u32 = 8;
/// How long the gateway keeps a listing.
const KEPT: Duration = Duration::from_secs(30);

/// Makes so many good calls, then so many bad ones in so many seconds.
pub(crate) async fn run(direct: &str, through: &str, good: u32, bad: u32, seconds: u32) -> Result<()> {
    tell("good_calls", &good_calls(direct, through, good).await);
    tell("bad_calls", &bad_calls(direct, through, bad, seconds).await);
    Ok(())
}

/// At most two listings in the first minute, and one more for each half minute after it.
async fn good_calls(direct: &str, through: &str, number: u32) -> Result<String> {
    let before = listings(direct).await?;
    let begun = Instant::now();
    let (client, made) = (Client::new(), Arc::new(AtomicU32::new(0)));
    let mut callers = JoinSet::new();
    for _ in 0..AT_ONCE {
        let (client, made, url) = (client.clone(), Arc::clone(&made), through.to_owned());
        callers.spawn(async move {
            loop {
                let id = made.fetch_add(1, Ordering::Relaxed);
                if id >= number {
                    return Ok(());
                }
                let answer = call(&client, &url, id, "north").await?;
                ensure!(answer.status() == 200, "a good call was answered with {}", answer.status());
                let answer: Value = serde_json::from_slice(&answer.bytes().await?).context("no JSON")?;
                let text = &answer["result"]["content"][0]["text"];
                ensure!(text == "routed to north", "a good call was answered with {answer}");
            }
        });
    }
    for caller in callers.join_all().await {
        caller?;
    }
    let (took, listed) = (begun.elapsed(), listings(direct).await? - before);
    let minutes = took.as_secs() / KEPT.as_secs();
    let found = format!("{number} calls in {} s, {listed} tools/list behind", took.as_secs());
    ensure!((1..=minutes.max(1) + 1).contains(&listed), "{found}");
    Ok(found)
}

/// At most one listing a second, and two more for where the seconds begin and end.
async fn bad_calls(direct: &str, through: &str, number: u32, seconds: u32) -> Result<String> {
    let before = listings(direct).await?;
    let begun = Instant::now();
    let client = Client::new();
    let mut ticks = interval(Duration::from_secs(seconds.into()) / number.max(1));
    ticks.set_missed_tick_behavior(MissedTickBehavior::Burst);
    for id in 0..number {
        ticks.tick().await;
        let answer = call(&client, through, id, "south").await?;
        ensure!(answer.status() == 400, "a bad call was answered with {}", answer.status());
        let answer: Value = serde_json::from_slice(&answer.bytes().await?).context("no JSON")?;
        ensure!(answer["error"]["code"] == -32020, "a bad call was answered with {answer}");
    }
    let (took, listed) = (begun.elapsed(), listings(direct).await? - before);
    let found = format!("{number} calls in {} s, {listed} tools/list behind", took.as_secs());
    ensure!((1..=took.as_secs().max(seconds.into()) + 2).contains(&listed), "{found}");
    Ok(found)
}

/// The server's own count.
async fn listings(direct: &str) -> Result<u64> {
    let url = direct.replace("/mcp", "/counts");
    let counts: Value = serde_json::from_slice(&reqwest::get(url).await?.bytes().await?)?;
    counts["tools/list"].as_u64().context("the server does not count")
}

/// Calls `route` for the north, with this in the header that mirrors it.
async fn call(client: &Client, url: &str, id: u32, header: &str) -> Result<Response> {
    let body = json!({
        "jsonrpc": "2.0",
        "id": id,
        "method": "tools/call",
        "params": {
            "name": "route",
            "arguments": { "region": "north" },
            "_meta": {
                "io.modelcontextprotocol/protocolVersion": "2026-07-28",
                "io.modelcontextprotocol/clientInfo": { "name": "interop", "version": "1.0.0" },
                "io.modelcontextprotocol/clientCapabilities": {}
            }
        }
    });
    let request = client
        .post(url)
        .header("Accept", "application/json, text/event-stream")
        .header("Content-Type", "application/json")
        .header("MCP-Protocol-Version", "2026-07-28")
        .header("Mcp-Method", "tools/call")
        .header("Mcp-Name", "route")
        .header("Mcp-Param-Region", header);
    Ok(request.body(body.to_string()).send().await?)
}
