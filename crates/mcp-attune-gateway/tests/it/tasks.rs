//! Tasks through the whole gateway, in front of a server over HTTP and of one that is a program. Rules: F5, F6, G8, L8.
#![cfg(unix)]

use std::fs;
use std::net::SocketAddr;
use std::path::PathBuf;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;

use crate::support::{behind, message};
use crate::whole::{ACCEPT, ask, gateway};

/// A server as a program: it answers line by line, and knows its own ids only.
const SERVER: &str = r#"
while read -r line; do
  id=$(printf '%s' "$line" | sed 's/.*"id":\("[^"]*"\|[^,}]*\).*/\1/')
  body='"error":{"code":-32602,"message":"no such task"}'
  case "$line" in
    *'"server/discover"'*) body='"result":{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}}}';;
    *'"tools/list"'*) body='"result":{"tools":[{"name":"weather","inputSchema":{"type":"object"}}]}';;
    *'"tools/call"'*) body='"result":{"resultType":"task","taskId":"its-own","status":"working","statusMessage":"Working"}';;
    *'"tasks/get"'*'"its-own"'*) body='"result":{"resultType":"complete","taskId":"its-own","status":"completed","statusMessage":"Working","result":{"content":[{"type":"text","text":"{}"}],"structuredContent":{"city":"Bern"}}}';;
    *'"tasks/cancel"'*'"its-own"'*) body='"result":{"resultType":"complete"}';;
  esac
  echo "{\"jsonrpc\":\"2.0\",\"id\":$id,$body}"
done
"#;

/// The same over HTTP; it also wants its own id in the header.
fn answer(request: &str) -> String {
    let (head, body) = request.split_once("\r\n\r\n").unwrap();
    let body: Value = serde_json::from_str(body).unwrap();
    let method = body["method"].as_str().unwrap();
    let named = head.lines().any(|line| line.eq_ignore_ascii_case("mcp-name: its-own"));
    let own = named && body["params"]["taskId"] == "its-own";
    let mut answer = match method {
        "tools/list" => {
            json!({"result": {"tools": [{"name": "weather", "inputSchema": {"type": "object"}}]}})
        }
        "tools/call" => {
            json!({"result": {"resultType": "task", "taskId": "its-own", "status": "working", "statusMessage": "Working"}})
        }
        "tasks/get" if own => {
            json!({"result": {"resultType": "complete", "taskId": "its-own", "status": "completed",
            "statusMessage": "Working",
            "result": {"content": [{"type": "text", "text": "{}"}], "structuredContent": {"city": "Bern"}}}})
        }
        "tasks/cancel" if own => json!({"result": {"resultType": "complete"}}),
        _ => json!({"error": {"code": -32602, "message": "no such task"}}),
    };
    (answer["jsonrpc"], answer["id"]) = (json!("2.0"), body["id"].clone());
    answer.to_string()
}

async fn over_http() -> String {
    let address = behind(|_, mut tcp| async move {
        loop {
            let request = message(&mut tcp).await;
            if request.is_empty() {
                return;
            }
            let body = answer(&request);
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            tcp.write_all((head + &body).as_bytes()).await.unwrap();
        }
    })
    .await;
    format!("url = 'http://{address}/mcp'")
}

/// A folder with what an operator wrote, gone with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attune-tasks-{name}-{}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("server.sh"), SERVER).unwrap();
        fs::write(path.join("weather.md"), "{{ city }} is cold").unwrap();
        let german = r#"{"messages": {"a": {"source": "Working", "text": "In Arbeit"}}}"#;
        fs::write(path.join("de.json"), german).unwrap();
        Self(path)
    }

    fn config(&self, upstream: &str) -> String {
        let path = self.0.display();
        format!(
            "default_language = 'en'\n[upstream]\n{upstream}\n[content]\nenabled = true\n\
             [locales]\npath = '{path}/${{locale}}.json'\n[tools.weather]\ntemplates = '{path}/weather'\n"
        )
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Asks as a person who prefers German.
async fn result(address: SocketAddr, method: &str, mut params: Value) -> Value {
    let name = params.get("name").or(params.get("taskId")).unwrap().as_str().unwrap().to_owned();
    params["_meta"] = json!({"io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/acceptLanguage": "de",
        "io.modelcontextprotocol/clientCapabilities": {"extensions": {"io.modelcontextprotocol/tasks": {},
            "io.modelcontextprotocol/content-negotiation": {"features": ["human"]}}}});
    let body = json!({"jsonrpc": "2.0", "id": "one", "method": method, "params": params}).to_string();
    let routed = [("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", method), ("Mcp-Name", &*name)];
    let (status, _, body) = ask(address, "POST /mcp", &[&ACCEPT[..], &routed].concat(), &body).await;
    // An error of the server may be a status of its own.
    assert!(status == 200 || body.contains("\"error\""), "{status} {method} {name}: {body}");
    let line = body
        .lines()
        .rev()
        .find_map(|line| serde_json::from_str::<Value>(line.strip_prefix("data: ").unwrap_or(line)).ok());
    line.unwrap_or_else(|| panic!("no message: {body}"))
}

#[tokio::test]
async fn a_task_goes_through_the_gateway_in_its_callers_language_and_shape() {
    let place = Place::new("whole");
    let program = format!("command = ['sh', '{}']", place.0.join("server.sh").display());
    for upstream in [over_http().await, program] {
        let gateway = gateway(&place.config(&upstream), None).await;
        let created = result(gateway.callers, "tools/call", json!({"name": "weather", "arguments": {}}))
            .await["result"]
            .take();
        let id = created["taskId"].clone();
        assert!(id.as_str().unwrap().starts_with("attune1."), "{upstream}: {created}");
        assert_eq!(created["statusMessage"], "In Arbeit");

        let got = result(gateway.callers, "tasks/get", json!({"taskId": id})).await["result"].take();
        assert_eq!((&got["taskId"], &got["statusMessage"]), (&id, &json!("In Arbeit")), "{upstream}");
        assert_eq!(
            got["result"],
            json!({"content": [{"type": "text", "text": "Bern is cold"}]}),
            "{upstream}"
        );
        assert_eq!(got["_meta"]["io.modelcontextprotocol/contentLanguage"], "de");

        let cancelled = result(gateway.callers, "tasks/cancel", json!({"taskId": id})).await;
        assert_eq!(cancelled["result"]["resultType"], "complete", "{upstream}: {cancelled}");
        // The server's own id works too, without the template.
        let got = result(gateway.callers, "tasks/get", json!({"taskId": "its-own"})).await["result"].take();
        assert_eq!(got["result"]["content"][0]["text"], "- **City:** Bern", "{upstream}");
        // One that nobody sealed is for the server to know.
        let unknown = result(gateway.callers, "tasks/get", json!({"taskId": "attune1.AAAA"})).await;
        assert_eq!(unknown["error"]["code"], -32602, "{upstream}");
        gateway.stop().await;
    }
}
