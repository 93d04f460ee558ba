//! The handler alone, over a pipe, where one sees everything that it sends.

use std::time::Duration;

use mcp_attune_demo::TravelServer;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, DuplexStream, Lines, ReadHalf, WriteHalf};
use tokio::time::timeout;

struct Pipe {
    lines: Lines<BufReader<ReadHalf<DuplexStream>>>,
    writer: WriteHalf<DuplexStream>,
}

impl Pipe {
    async fn send(&mut self, message: Value) {
        self.writer.write_all(format!("{message}\n").as_bytes()).await.unwrap();
    }

    /// The next message, or none if nothing comes for a while.
    async fn next(&mut self) -> Option<Value> {
        let line = timeout(Duration::from_millis(500), self.lines.next_line()).await.ok()?;
        Some(serde_json::from_str(&line.unwrap().unwrap()).unwrap())
    }
}

#[tokio::test]
async fn a_report_that_was_cancelled_is_not_built_to_the_end() {
    let (ours, theirs) = tokio::io::duplex(64 * 1024);
    tokio::spawn(async {
        let travel = TravelServer::new(Duration::from_millis(20));
        rmcp::serve_server(travel, theirs).await.unwrap().waiting().await
    });
    let (reader, writer) = tokio::io::split(ours);
    let mut pipe = Pipe { lines: BufReader::new(reader).lines(), writer };
    let hello = json!({
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": { "name": "it", "version": "1" },
    });
    pipe.send(json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello })).await;
    assert_eq!(pipe.next().await.unwrap()["id"], 0);
    pipe.send(json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })).await;

    let call =
        json!({ "name": "build_report", "arguments": { "pages": 50 }, "_meta": { "progressToken": 1 } });
    pipe.send(json!({ "jsonrpc": "2.0", "id": 7, "method": "tools/call", "params": call })).await;
    assert_eq!(pipe.next().await.unwrap()["params"]["progress"], 1.0);
    let cancel = json!({ "requestId": 7 });
    pipe.send(json!({ "jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancel })).await;

    let mut last = json!(1.0);
    while let Some(message) = pipe.next().await {
        last = message["params"]["progress"].clone();
    }
    assert!(last.as_f64().is_some_and(|page| page < 40.0), "page {last} was fetched after all");
}
