//! Two gateways with the same keys behind nginx, which sends each request to the next one, in front of one server: a
//! legacy session goes on whoever serves it, and a stream that is cut goes on where the other one left off.

use std::collections::BTreeSet;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use super::cell::{Cell, Shared};
use super::http::{authority, header};
use super::install;
use super::nginx::{self, Nginx, free_port};
use super::servers::Ours;
use kit::server::Server;

/// A key for tests only.
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=";
const PAGES: u32 = 12;
const PATIENCE: Duration = Duration::from_secs(30);

/// A server, two gateways, nginx in front of them, and a session.
struct ReplicaSetup {
    session: String,
    front: Front,
    _replicas: [Server; 2],
    _server: Server,
}

impl ReplicaSetup {
    fn new() -> Result<Self> {
        nginx::require()?;
        let folder = install::folder().join("seen/replicas");
        fs::create_dir_all(&folder)?;
        let ours = Ours::get()?;
        let mut demo = Command::new(&ours.attune);
        let server = Server::start(demo.args(["demo", "--bare", "--listen", "127.0.0.1:0"]), "demo")?;
        let config = folder.join("attune.toml");
        let upstream = format!("[upstream]\nurl = \"{}\"\n", server.url);
        fs::write(&config, format!("default_language = \"en\"\n[session]\nkeys = [\"{KEY}\"]\n{upstream}"))?;
        let config = config.to_string_lossy();
        let replica = |log| ours.gateway(&["--config", &config], log);
        let replicas = [replica("replica-1")?, replica("replica-2")?];
        let front = Front::start(&folder, &replicas)?;
        Ok(Self { session: begin(&front)?, front, _replicas: replicas, _server: server })
    }
}

pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    let setup = Arc::new(Shared::new(ReplicaSetup::new));
    let cell = |name: &str, test: fn(&Front, &str) -> Result<Vec<String>>| {
        let setup = setup.clone();
        Cell::new(name, move || setup.get().and_then(|setup| test(&setup.front, &setup.session)))
    };
    Ok(vec![cell("a session goes on", goes_on), cell("a stream is resumed", resumes)])
}

/// Every request of a session is served, and not by one replica alone.
fn goes_on(front: &Front, session: &str) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    let mut served = BTreeSet::new();
    for _ in 0..6 {
        let answer =
            front.say("POST", session, &[], r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#)?.whole()?;
        if answer.status != 200 || !answer.body.contains("get_weather") {
            faults.push(format!(
                "replicas: a session is answered with {} on {}",
                answer.status, answer.replica
            ));
        }
        served.insert(answer.replica);
    }
    println!("    a session was served by {} replicas", served.len());
    if served.len() != 2 {
        faults.push(format!("replicas: nginx used {} of 2, so nothing was shown", served.len()));
    }
    Ok(faults)
}

/// A stream that is cut is resumed by the other replica: nothing is lost, and the result is in its language.
fn resumes(front: &Front, session: &str) -> Result<Vec<String>> {
    let meta = json!({ "progressToken": "p", "io.modelcontextprotocol/acceptLanguage": "fr, en;q=0.5" });
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {
        "name": "build_report", "arguments": { "pages": PAGES }, "_meta": meta }});
    let before = front.say("POST", session, &[], &call.to_string())?.until(3)?;
    let last = before.body.lines().rev().find_map(|line| line.strip_prefix("id:"));
    let last = last.context("the stream has no ids to resume after")?.trim().to_owned();
    let after = resume_elsewhere(front, session, &last, &before.replica)?;

    let all = [messages(&before.body), messages(&after.body)].concat();
    let mut pages: Vec<f64> =
        all.iter().filter_map(|message| message["params"]["progress"].as_f64()).collect();
    // The server repeats the event that it is asked to go on after.
    pages.dedup();
    let mut faults = Vec::new();
    if pages != (1..=PAGES).map(f64::from).collect::<Vec<_>>() {
        faults.push(format!("replicas: of {PAGES} pages a resumed stream tells {pages:?}"));
    }
    let language =
        all.last().map(|result| &result["result"]["_meta"]["io.modelcontextprotocol/contentLanguage"]);
    if language.and_then(Value::as_str) != Some("en") {
        faults.push(format!("replicas: the result of a resumed stream says its language is {language:?}"));
    }
    println!("    a stream cut on {} was resumed on {}", before.replica, after.replica);
    Ok(faults)
}

/// nginx says who serves, so it is asked until that is the other one. Hanging up on the wrong one is one more cut.
fn resume_elsewhere(front: &Front, session: &str, last: &str, not: &str) -> Result<Answer> {
    for _ in 0..4 {
        let stream = front.say("GET", session, &[("Last-Event-ID", last)], "")?;
        if stream.answer.replica != not {
            return stream.whole();
        }
    }
    bail!("nginx sent every attempt to resume to the replica that the stream was cut on")
}

fn begin(front: &Front) -> Result<String> {
    let extensions = json!({ "io.modelcontextprotocol/content-negotiation": { "features": ["agent"] } });
    let initialize = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": { "extensions": extensions },
        "clientInfo": { "name": "interop", "version": "1" }}});
    let answer = front.say("POST", "", &[], &initialize.to_string())?.whole()?;
    let session = header(&answer.head, "mcp-session-id").context("no session was begun")?;
    if !session.starts_with("attune1.") {
        bail!("the session's id carries nothing: {session}");
    }
    let ready = r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
    front.say("POST", &session, &[], ready)?.whole()?;
    Ok(session)
}

fn messages(stream: &str) -> Vec<Value> {
    let data = stream.lines().filter_map(|line| line.strip_prefix("data:"));
    data.filter_map(|data| serde_json::from_str(data.trim()).ok()).collect()
}

/// nginx in front of the replicas, until this is dropped.
struct Front {
    _nginx: Nginx,
    port: u16,
}

impl Front {
    fn start(folder: &Path, replicas: &[Server]) -> Result<Self> {
        let port = free_port()?;
        let servers: String =
            replicas.iter().map(|replica| format!("server {};\n", authority(&replica.url))).collect();
        let text = format!(
            "upstream attune {{\n{servers}}}\nserver {{\nlisten 127.0.0.1:{port};\nlocation / {{\n\
             proxy_pass http://attune;\nproxy_http_version 1.1;\nproxy_set_header Host localhost;\n\
             proxy_buffering off;\nadd_header X-Replica $upstream_addr always;\n}}\n}}\n"
        );
        Ok(Self { _nginx: Nginx::start(folder, &text, port)?, port })
    }

    /// Says something in HTTP/1.0, whose answers end with their connection.
    fn say(&self, method: &str, session: &str, more: &[(&str, &str)], body: &str) -> Result<Stream> {
        let mut request = format!(
            "{method} /mcp HTTP/1.0\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n",
            body.len()
        );
        let session = [("Mcp-Session-Id", session), ("MCP-Protocol-Version", "2025-11-25")];
        for (name, value) in session.iter().chain(more).filter(|(_, value)| !value.is_empty()) {
            request += &format!("{name}: {value}\r\n");
        }
        let mut tcp = TcpStream::connect(("127.0.0.1", self.port))?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        tcp.write_all(format!("{request}\r\n{body}").as_bytes())?;
        Stream::begin(tcp)
    }
}

struct Answer {
    status: u16,
    replica: String,
    head: String,
    body: String,
}

/// An answer whose head has come.
struct Stream {
    tcp: TcpStream,
    answer: Answer,
}

impl Stream {
    fn begin(mut tcp: TcpStream) -> Result<Self> {
        let mut head = Vec::new();
        let mut byte = [0];
        while !head.ends_with(b"\r\n\r\n") {
            tcp.read_exact(&mut byte).context("nginx hung up")?;
            head.extend_from_slice(&byte);
        }
        let head = String::from_utf8(head)?;
        let status = head.split(' ').nth(1).context("an answer without a status")?.parse()?;
        let replica = header(&head, "x-replica").context("an answer that no replica gave")?;
        Ok(Self { tcp, answer: Answer { status, replica, head, body: String::new() } })
    }

    fn whole(mut self) -> Result<Answer> {
        self.tcp.read_to_string(&mut self.answer.body)?;
        Ok(self.answer)
    }

    /// Reads until so much progress was told, and hangs up.
    fn until(mut self, progress: usize) -> Result<Answer> {
        let mut body = Vec::new();
        let mut byte = [0];
        loop {
            self.tcp.read_exact(&mut byte).context("the stream ended before it was cut")?;
            body.extend_from_slice(&byte);
            if body.ends_with(b"\n\n") {
                let text = String::from_utf8(body.clone())?;
                if text.matches("notifications/progress").count() >= progress {
                    self.answer.body = text;
                    return Ok(self.answer);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_messages() {
        assert_eq!(
            messages("id: 1\ndata:\n\ndata: {\"a\":1}\n\n: x\n\ndata:{}\n\n"),
            [json!({"a": 1}), json!({})]
        );
    }
}
