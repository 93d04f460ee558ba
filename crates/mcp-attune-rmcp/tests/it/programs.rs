//! Programs that do as they should, in both eras. They are this very test program, started again for the one test
//! below; what the test harness prints first is no message, and is read over.

use std::io::{BufRead, Write};

use mcp_attune_rmcp::{ClientError, Connection, Era, ServerTarget};
use serde_json::{Value, json};

use crate::http::ask_everything;
use crate::support::options;

/// A program that follows a script.
pub(crate) fn program(script: &str) -> ServerTarget {
    let this = std::env::current_exe().unwrap().to_str().unwrap().to_owned();
    let script = format!("SCRIPT={script}");
    let words = ["env", &script, &this, "--exact", "programs::speak", "--nocapture"];
    ServerTarget::new(None, &words.map(str::to_owned)).unwrap()
}

/// Not a test, but a door: other tests start it as a child, with a script.
#[test]
fn speak() {
    let Ok(script) = std::env::var("SCRIPT") else { return };
    if script == "demo" {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let _ = runtime.block_on(mcp_attune_demo::serve_stdio(&Default::default()));
        // Input that tokio still waits for holds nobody up.
        std::process::exit(0);
    }
    for line in std::io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        let result = match message["method"].as_str().unwrap_or_default() {
            "server/discover" if script == "exits" => std::process::exit(1),
            "initialize" => {
                json!({ "protocolVersion": "2025-11-25", "capabilities": {}, "serverInfo": { "name": "old", "version": "1" } })
            }
            "id" => json!({ "process": std::process::id() }),
            "echo" => message["params"].clone(),
            _ => Value::Null,
        };
        let Some(id) = message.get("id") else { continue };
        let answer = match result {
            Value::Null => {
                json!({ "jsonrpc": "2.0", "id": id, "error": { "code": -32601, "message": "no" } })
            }
            result => json!({ "jsonrpc": "2.0", "id": id, "result": result }),
        };
        let mut out = std::io::stdout().lock();
        writeln!(out, "{answer}").unwrap();
        out.flush().unwrap();
    }
    std::process::exit(0);
}

#[tokio::test]
async fn speaks_the_modern_era_with_a_program_that_knows_it() {
    let connection = Connection::open(&program("demo"), &options()).await.unwrap();
    assert_eq!((connection.version(), connection.era()), ("2026-07-28", Era::Modern));
    ask_everything(&connection).await;
    connection.close().await;
}

#[tokio::test]
async fn begins_with_initialize_where_a_program_refuses_or_exits() {
    for script in ["refuses", "exits"] {
        let connection = Connection::open(&program(script), &options()).await.unwrap();
        assert_eq!((connection.version(), connection.era()), ("2025-11-25", Era::Legacy), "{script}");
        assert_eq!(connection.info().server_info.as_ref().unwrap().name, "old");
        let echo =
            connection.request("echo", json!({ "new": [1.0], "_meta": { "mine": true } })).await.unwrap();
        assert_eq!((&echo["new"], &echo["_meta"]["mine"]), (&json!([1.0]), &json!(true)));
        let error = connection.request("nonsense", Value::Null).await.unwrap_err();
        assert!(matches!(error, ClientError::Refused { code: -32601, .. }));
        connection.close().await;
    }
}

#[cfg(target_os = "linux")]
#[tokio::test]
async fn a_program_ends_with_its_connection() {
    for closed in [true, false] {
        let connection = Connection::open(&program("refuses"), &options()).await.unwrap();
        let id = connection.request("id", Value::Null).await.unwrap()["process"].as_u64().unwrap();
        let is_over = || {
            let stat = std::fs::read_to_string(format!("/proc/{id}/stat"));
            stat.map_or(true, |stat| stat.contains(") Z "))
        };
        assert!(!is_over());
        if closed {
            connection.close().await;
            assert!(is_over());
        } else {
            drop(connection);
            for _ in 0..1000 {
                if is_over() {
                    break;
                }
                tokio::time::sleep(std::time::Duration::from_millis(10)).await;
            }
            assert!(is_over());
        }
    }
}
