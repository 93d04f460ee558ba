//! The caller's context on its way to the server behind, over HTTP, in both eras.

use std::net::SocketAddr;

use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc;

use crate::support::{behind, message, soon};
use crate::whole::{ACCEPT, Running, ask, gateway};

const KEY: &str = "io.modelcontextprotocol/clientContext";

/// A gateway in front of a server that tells us what it was asked, and answers with an empty result.
async fn listening(more: &str) -> (Running, mpsc::UnboundedReceiver<String>) {
    let (heard, hears) = mpsc::unbounded_channel();
    let server = behind(move |_, mut tcp| {
        let heard = heard.clone();
        async move {
            let request = message(&mut tcp).await;
            let _ = heard.send(request);
            let body = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
            let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nConnection: close";
            let answer = format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len());
            tcp.write_all(answer.as_bytes()).await.unwrap();
        }
    })
    .await;
    let toml =
        format!("default_language = 'en'\n[upstream]\nurl = 'http://{server}/mcp'\nera = 'modern'\n{more}");
    (gateway(&toml, None).await, hears)
}

/// A prompt listing, which needs no schema, in one of the two eras.
async fn send(
    to: SocketAddr,
    modern: bool,
    context: &Value,
    in_meta: Option<&Value>,
) -> (u16, String, String) {
    let mut body =
        json!({"jsonrpc": "2.0", "id": 1, "method": "prompts/list", "params": {"_meta": {"a": 1}}});
    let mut headers = ACCEPT.to_vec();
    if modern {
        body["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2026-07-28".into();
        body["params"]["_meta"]["io.modelcontextprotocol/clientCapabilities"] = json!({});
        headers.extend([("MCP-Protocol-Version", "2026-07-28"), ("Mcp-Method", "prompts/list")]);
    }
    body["clientContext"] = context.clone();
    if let Some(in_meta) = in_meta {
        body["params"]["_meta"][KEY] = in_meta.clone();
    }
    soon(ask(to, "POST /mcp", &headers, &body.to_string())).await
}

fn full() -> Value {
    json!({"timezone": "Europe/Vienna", "locale": "de-AT", "currentTimestamp": "2026-11-12T14:23:00+01:00",
        "userLocation": {"city": "Wien", "coordinates": {"latitude": 48.2082, "longitude": 16.3738}}})
}

fn body(request: &str) -> Value {
    serde_json::from_str(request.split_once("\r\n\r\n").unwrap().1).unwrap()
}

#[tokio::test]
async fn nothing_of_it_goes_on_unless_the_operator_says_so() {
    let (gateway, mut heard) = listening("").await;
    for modern in [true, false] {
        let (status, head, answer) = send(gateway.callers, modern, &full(), Some(&full())).await;
        let request = heard.recv().await.unwrap();
        assert_eq!(status, 200, "{answer}");
        assert!(!request.contains("clientContext") && !request.contains("Wien"), "{request}");
        // The locale is a preference for want of one, and no header says so onward.
        assert!(!request.to_lowercase().contains("accept-language"), "{request}");
        assert!(head.to_lowercase().contains("content-language: en"), "{head}");
        assert!(head.to_lowercase().contains("cache-control: private"), "{head}");
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_the_operator_names_goes_on_in_meta() {
    let more = "[context]\nforward = ['timezone', 'userLocation']\ncoordinates = 'coarse'\n";
    let (gateway, mut heard) = listening(more).await;
    for modern in [true, false] {
        send(gateway.callers, modern, &full(), None).await;
        let sent = body(&heard.recv().await.unwrap());
        let place = json!({"city": "Wien", "coordinates": {"latitude": 48.2, "longitude": 16.4}});
        assert_eq!(sent["params"]["_meta"][KEY], json!({"timezone": "Europe/Vienna", "userLocation": place}));
        assert_eq!((sent.get("clientContext"), &sent["params"]["_meta"]["a"]), (None, &json!(1)));
    }
    gateway.stop().await;
}

#[tokio::test]
async fn what_the_operator_names_goes_on_beside_params() {
    let (gateway, mut heard) = listening("[context]\nforward = ['locale']\nforward_as = 'sibling'\n").await;
    for modern in [true, false] {
        send(gateway.callers, modern, &full(), Some(&full())).await;
        let sent = body(&heard.recv().await.unwrap());
        assert_eq!(sent["clientContext"], json!({"locale": "de-AT"}));
        assert_eq!(sent["params"]["_meta"].get(KEY), None);
    }
    gateway.stop().await;
}

#[tokio::test]
async fn two_contexts_are_400_and_a_bad_one_is_not() {
    let (gateway, mut heard) = listening("").await;
    for modern in [true, false] {
        let (status, _, answer) = send(gateway.callers, modern, &full(), Some(&json!({}))).await;
        let answer: Value = serde_json::from_str(&answer).unwrap();
        assert_eq!((status, &answer["error"]["code"], &answer["id"]), (400, &json!(-32602), &json!(1)));
        assert!(heard.try_recv().is_err());
        let large = json!({"x": "y".repeat(1 << 20)});
        for bad in [json!(7), json!({"timezone": "+01:00", "locale": []}), large] {
            assert_eq!(send(gateway.callers, modern, &bad, None).await.0, 200);
            heard.recv().await.unwrap();
        }
    }
    gateway.stop().await;
}
