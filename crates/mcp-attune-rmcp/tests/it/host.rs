//! Whoever asks: what they see of the wire, and how they are asked back.

use std::sync::{Arc, Mutex};

use mcp_attune_rmcp::{
    ClientHost, Connection, ConnectionOptions, ElicitationFuture, ServerTarget, WireEvent,
};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::support::{demo, options};

/// Notes what it sees, and answers questions, or not.
#[derive(Debug, Default)]
struct Notes {
    seen: Mutex<Vec<String>>,
    answers: bool,
}

impl Notes {
    fn note(&self, line: String) {
        self.seen.lock().unwrap().push(line);
    }

    fn has(&self, start: &str, part: &str) -> bool {
        self.seen.lock().unwrap().iter().any(|line| line.starts_with(start) && line.contains(part))
    }
}

impl ClientHost for Notes {
    fn on_wire_event(&self, wire: &WireEvent<'_>) {
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        self.note(match *wire {
            WireEvent::Request { method, headers, body, .. } => {
                format!("{method} {headers:?} {}", text(body))
            }
            WireEvent::Response { status, headers } => format!("{status} {headers:?}"),
            WireEvent::Line(line) => format!("> {}", text(line)),
            WireEvent::Came(message) => format!("< {}", text(message)),
            _ => String::new(),
        });
    }

    fn can_answer(&self) -> bool {
        self.answers
    }

    fn answer_elicitation<'a>(&'a self, question: &'a RawValue) -> ElicitationFuture<'a> {
        self.note(format!("? {question}"));
        Box::pin(async { json!({ "action": "accept", "content": { "b": 1 } }) })
    }
}

fn with(host: &Arc<Notes>) -> ConnectionOptions {
    let mut options = options();
    options.host = Some(host.clone());
    options
}

#[tokio::test]
async fn a_host_sees_both_sides_of_the_wire() {
    let host = Arc::new(Notes::default());
    let mut options = with(&host);
    options.headers.push("X-Who: me".parse().unwrap());
    let connection = Connection::open(&demo().await, &options).await.unwrap();
    connection.call("local_time", json!({})).await.unwrap();
    connection.close().await;
    assert!(host.has("POST", "server/discover") && host.has("POST", "\"x-who\": \"me\""));
    assert!(host.has("POST", "\"name\":\"local_time\"") && host.has("200", "application/json"));
    assert!(host.has("< ", "\"local_time\":\"2026-02-22T08:30:00+00:00\""));
}

/// A legacy server of a few lines: it asks in the middle of a call, once as it should and once as nobody does, and gives
/// back what it heard.
#[cfg(unix)]
const SERVER: &str = r#"
while read -r line; do
  id=$(printf %s "$line" | sed -n 's/.*"id":\([0-9]*\).*/\1/p')
  case $line in
    *'"initialize"'*) printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"s","version":"1"}}}\n' "$id" ;;
    *'"notifications/'*) ;;
    *'"tools/call"'*)
      echo '{"jsonrpc":"2.0","id":"q1","method":"elicitation/create","params":{"message":"?","requestedSchema":{"type":"object","properties":{"z":{"type":"string"},"b":{"type":"integer"}}}}}'
      read -r one
      echo '{"jsonrpc":"2.0","id":"q2","method":"elicitation/create","params":{"message":7,"odd":[]}}'
      read -r two
      printf '{"jsonrpc":"2.0","id":%s,"result":{"one":%s,"two":%s}}\n' "$id" "$one" "$two" ;;
    *) printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"no"}}\n' "$id" ;;
  esac
done"#;

#[cfg(unix)]
async fn asked(host: &Arc<Notes>) -> Value {
    let command = ["sh", "-c", SERVER].map(str::to_owned);
    let target = ServerTarget::new(None, &command).unwrap();
    let connection = Connection::open(&target, &with(host)).await.unwrap();
    let result = connection.call("t", json!({})).await.unwrap();
    connection.close().await;
    result
}

#[tokio::test]
#[cfg(unix)]
async fn a_host_is_asked_with_the_question_as_it_was_written() {
    let host = Arc::new(Notes { answers: true, ..Notes::default() });
    let result = asked(&host).await;
    let accepted = json!({ "action": "accept", "content": { "b": 1 } });
    assert_eq!((&result["one"]["result"], &result["two"]["result"]), (&accepted, &accepted));
    // rmcp would have sorted the fields, and does not read the second question at all.
    assert!(host.has("? ", r#""properties":{"z":{"type":"string"},"b":{"type":"integer"}}"#));
    assert!(host.has("? ", r#"{"message":7,"odd":[]}"#));
    assert!(host.has("> ", "tools/call") && host.has("< ", "elicitation/create"));
}

#[tokio::test]
#[cfg(unix)]
async fn a_question_that_nobody_can_answer_is_declined() {
    let host = Arc::new(Notes::default());
    let result = asked(&host).await;
    let declined = json!({ "action": "decline" });
    assert_eq!((&result["one"]["result"], &result["two"]["result"]), (&declined, &declined));
    assert!(!host.has("? ", ""));
}
