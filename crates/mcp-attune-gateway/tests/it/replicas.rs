//! Two gateways in front of one server, and connections that go to each in turn: legacy sessions and streams do not
//! notice. Rules: G8, F1, L13.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use mcp_attune_demo::DemoOptions;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream};

use crate::support::soon;
use crate::whole::{ACCEPT, Running, ask, gateway, in_front_of};

const OLD: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=";
const NEW: &str = "MTIzNDU2Nzg5MDEyMzQ1Njc4OTAxMjM0NTY3ODkwMTI=";
const KEY: &str = "io.modelcontextprotocol/contentLanguage";

/// A server whose reports take their time.
async fn demo() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let options = DemoOptions { step_delay: Duration::from_millis(40), ..DemoOptions::default() };
    tokio::spawn(mcp_attune_demo::serve(listener, options, std::future::pending()));
    address
}

fn with_keys(server: SocketAddr, keys: &[&str]) -> String {
    if keys.is_empty() {
        in_front_of(server)
    } else {
        format!("{}[session]\nkeys = {keys:?}\n", in_front_of(server))
    }
}

/// A front that sends each connection to the next one.
async fn in_turn(replicas: [SocketAddr; 2]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    tokio::spawn(async move {
        for replica in replicas.into_iter().cycle() {
            let (mut caller, _) = listener.accept().await.unwrap();
            tokio::spawn(async move {
                let mut behind = TcpStream::connect(replica).await.unwrap();
                let _ = copy_bidirectional(&mut caller, &mut behind).await;
            });
        }
    });
    address
}

/// Begins a session: the id that the caller gets.
async fn begin(address: SocketAddr, features: &[&str]) -> String {
    let extensions = json!({ "io.modelcontextprotocol/content-negotiation": { "features": features } });
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": { "extensions": extensions },
        "clientInfo": {"name": "test", "version": "1"}}});
    let (status, head, body) = ask(address, "POST /mcp", &ACCEPT, &initialize.to_string()).await;
    assert_eq!(status, 200, "{body}");
    let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).unwrap().to_owned();
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    assert_eq!(say(address, &id, ready).await.0, 202);
    id
}

fn of(session: &str) -> Vec<(&'static str, &str)> {
    [&ACCEPT[..], &[("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")]].concat()
}

async fn say(address: SocketAddr, session: &str, body: &str) -> (u16, String) {
    let (status, _, body) = ask(address, "POST /mcp", &of(session), body).await;
    (status, body)
}

async fn list(address: SocketAddr, session: &str) -> (u16, String) {
    say(address, session, r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#).await
}

#[tokio::test]
async fn a_session_begun_on_one_replica_goes_on_on_the_other() {
    let server = demo().await;
    let toml = with_keys(server, &[OLD]);
    let (one, two) = (gateway(&toml, None).await, gateway(&toml, None).await);
    let front = in_turn([one.callers, two.callers]).await;
    let session = begin(front, &["agent"]).await;
    assert!(session.starts_with("attune1."), "{session}");
    for _ in 0..5 {
        let (status, body) = list(front, &session).await;
        assert!(status == 200 && body.contains("execute_sql"), "{status} {body}");
    }
    assert_eq!(ask(front, "DELETE /mcp", &of(&session), "").await.0, 202);
    // Both replicas let the server say that it is over.
    for _ in 0..2 {
        let (status, body) = list(front, &session).await;
        assert!(status == 404 && !body.contains("jsonrpc"), "{status} {body}");
    }
}

#[tokio::test]
async fn replicas_without_common_keys_know_only_their_own_sealed_sessions() {
    let server = demo().await;
    for keys in [[&[OLD][..], &[NEW]], [&[], &[]]] {
        let (one, two) = (
            gateway(&with_keys(server, keys[0]), None).await,
            gateway(&with_keys(server, keys[1]), None).await,
        );
        let session = begin(one.callers, &["agent"]).await;
        let (status, body) = list(two.callers, &session).await;
        let error: Value = serde_json::from_str(&body).unwrap();
        assert_eq!((status, &error["id"], &error["error"]["code"]), (404, &json!(1), &json!(-32600)));
        assert_eq!(list(one.callers, &session).await.0, 200);
        // What has nothing to carry is the server's own, and everybody's.
        let plain = begin(one.callers, &[]).await;
        assert_eq!(list(two.callers, &plain).await.0, 200);
    }
}

/// Calls a tool and reads until so many events with data came, then hangs up: the last id, and all that came.
async fn cut(address: SocketAddr, session: &str, meta: &Value, events: usize) -> (String, String) {
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "build_report", "arguments": {"pages": 12}, "_meta": meta}})
    .to_string();
    let mut request = format!("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: {}\r\n", call.len());
    for (name, value) in of(session) {
        request += &format!("{name}: {value}\r\n");
    }
    let mut tcp = TcpStream::connect(address).await.unwrap();
    tcp.write_all(format!("{request}\r\n{call}").as_bytes()).await.unwrap();
    let mut all = Vec::new();
    loop {
        assert_ne!(
            soon(tcp.read_buf(&mut all)).await.unwrap(),
            0,
            "it ended: {}",
            String::from_utf8_lossy(&all)
        );
        let text = String::from_utf8(all.clone()).unwrap();
        let whole = text.rfind("\n\n").map_or("", |end| &text[..end]);
        if whole.matches("notifications/progress").count() >= events {
            let last = whole.lines().rev().find_map(|line| line.strip_prefix("id:")).unwrap().trim();
            assert!(!text.contains("\"result\""), "it was over before it was cut");
            return (last.to_owned(), whole.to_owned());
        }
    }
}

/// The messages on a stream, in their order.
fn messages(stream: &str) -> Vec<Value> {
    let lines = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    lines.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

#[tokio::test]
async fn a_stream_that_is_cut_is_resumed_on_the_other_replica_in_its_language() {
    let server = demo().await;
    let toml = with_keys(server, &[OLD]);
    let (one, two) = (gateway(&toml, None).await, gateway(&toml, None).await);
    for (preference, language) in [(Some("fr, en;q=0.5"), Some("en")), (None, None)] {
        let session = begin(one.callers, &["agent"]).await;
        let mut meta = json!({ "progressToken": "p" });
        if let Some(preference) = preference {
            meta["io.modelcontextprotocol/acceptLanguage"] = preference.into();
        }
        let (last, before) = cut(one.callers, &session, &meta, 3).await;
        assert_eq!(last.starts_with("attune1."), preference.is_some(), "{last}");
        let mut headers = of(&session);
        headers.push(("Last-Event-ID", &last));
        let (status, head, rest) = ask(two.callers, "GET /mcp", &headers, "").await;
        assert_eq!(status, 200);
        assert!(head.contains("text/event-stream"), "{head}");

        let all = [messages(&before), messages(&rest)].concat();
        let progress = all.iter().filter_map(|message| message["params"]["progress"].as_f64());
        let mut pages: Vec<f64> = progress.collect();
        // The server repeats the event that it is asked to go on after.
        pages.dedup();
        assert_eq!(pages, (1..=12).map(f64::from).collect::<Vec<_>>(), "all of them, and in order");
        let result = all.last().unwrap();
        assert_eq!(result["id"], 9);
        assert_eq!(result["result"]["structuredContent"]["pages"], 12);
        assert_eq!(result["result"]["_meta"][KEY].as_str(), language);
    }
}

#[tokio::test]
async fn an_event_of_another_mount_resumes_nothing() {
    let server = demo().await;
    let toml = format!(
        "default_language = 'en'\n[session]\nkeys = ['{OLD}']\n[mounts.a]\npath = '/mcp'\nupstream = {{ url = 'http://{server}/mcp' }}\n\
         [mounts.b]\npath = '/b'\nupstream = {{ url = 'http://{server}/mcp' }}\n"
    );
    let gateway = gateway(&toml, None).await;
    let session = begin(gateway.callers, &["agent"]).await;
    let meta = json!({ "progressToken": "p", "io.modelcontextprotocol/acceptLanguage": "fr" });
    let (last, _) = cut(gateway.callers, &session, &meta, 1).await;
    assert_eq!(ask(gateway.callers, "GET /b", &of(&session), "").await.0, 404);
    let (status, _, body) = ask(gateway.callers, "GET /b", &[("Last-Event-ID", &last)], "").await;
    let error: Value = serde_json::from_str(&body).unwrap();
    assert_eq!((status, &error["error"]["code"]), (400, &json!(-32600)));
}

/// A gateway that follows a file of its own.
struct Replica {
    running: Running,
    file: PathBuf,
}

impl Replica {
    async fn start(name: &str, toml: &str) -> Self {
        let file = std::env::temp_dir().join(format!("attune-replica-{name}-{}.toml", std::process::id()));
        std::fs::write(&file, toml).unwrap();
        Self { running: gateway(toml, Some(file.clone())).await, file }
    }

    /// Changes the file, and waits until that is in place.
    async fn follow(&self, toml: &str) {
        let before = self.reloads().await;
        std::fs::write(&self.file, toml).unwrap();
        for _ in 0..100 {
            if self.reloads().await > before {
                return;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        panic!("the new configuration was not followed");
    }

    async fn reloads(&self) -> u64 {
        let (_, _, text) = ask(self.running.admin, "GET /metrics", &[], "").await;
        let line = text
            .lines()
            .find(|line| line.starts_with("attune_reloads_total{") && line.contains("taken=\"true\""));
        line.map_or(0, |line| line.rsplit(' ').next().unwrap().parse().unwrap())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn keys_change_under_load_and_nobody_loses_a_session() {
    let server = demo().await;
    let first = with_keys(server, &[OLD]);
    let (one, two) = (Replica::start("one", &first).await, Replica::start("two", &first).await);
    let front = in_turn([one.running.callers, two.running.callers]).await;
    let over = Arc::new(AtomicBool::new(false));
    let callers: Vec<_> = (0..4)
        .map(|_| {
            let over = Arc::clone(&over);
            tokio::spawn(async move {
                let mut sessions = Vec::new();
                let mut calls = 0_usize;
                while !over.load(Ordering::Relaxed) {
                    if calls.is_multiple_of(4) {
                        sessions.push(begin(front, &["agent"]).await);
                    }
                    let session = &sessions[calls % sessions.len()];
                    let (status, body) = list(front, session).await;
                    assert_eq!(status, 200, "{body}");
                    calls += 1;
                }
                for session in &sessions {
                    assert_eq!(list(front, session).await.0, 200);
                }
                sessions
            })
        })
        .collect();
    // Every replica can open what the new key seals before any seals with it.
    for keys in [[OLD, NEW], [NEW, OLD]] {
        for replica in [&one, &two] {
            replica.follow(&with_keys(server, &keys)).await;
        }
    }
    tokio::time::sleep(Duration::from_millis(300)).await;
    over.store(true, Ordering::Relaxed);
    let mut sessions = Vec::new();
    for caller in callers {
        sessions.push(caller.await.unwrap());
    }
    // Without the old key, what it sealed is gone and what the new one sealed is not.
    let newest = begin(front, &["agent"]).await;
    for replica in [&one, &two] {
        replica.follow(&with_keys(server, &[NEW])).await;
        assert_eq!(list(replica.running.callers, &sessions[0][0]).await.0, 404);
        assert_eq!(list(replica.running.callers, &newest).await.0, 200);
    }
}

#[tokio::test]
async fn keys_made_at_the_start_outlive_every_reload() {
    let server = demo().await;
    let replica = Replica::start("made", &with_keys(server, &[])).await;
    let callers = replica.running.callers;
    let session = begin(callers, &["agent"]).await;
    assert!(session.starts_with("attune1."), "{session}");
    for toml in [
        format!("{}[headers]\nagree = 'report'\n", with_keys(server, &[])),
        with_keys(server, &[OLD]),
        with_keys(server, &[]),
    ] {
        replica.follow(&toml).await;
        assert_eq!(list(callers, &session).await.0, 200);
    }
}
