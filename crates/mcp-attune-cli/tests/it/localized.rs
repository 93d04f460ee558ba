//! The demo in the language of whoever asks: over HTTP and pipes, in both eras, one request at a time.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use serde_json::{Value, json};

use crate::serving::{FREE, Served};

const MODERN: &str = "2026-07-28";
const LEGACY: &str = "2025-11-25";
const LANGUAGE: &str = "io.modelcontextprotocol/contentLanguage";

/// What a caller prefers, what they get, and the title of `get_weather` in it.
const CALLERS: [(Option<&str>, Option<&str>, &str); 4] = [
    (Some("de-AT, en;q=0.5"), Some("de-CH"), "Aktuelles Wetter"),
    (Some("ja"), Some("ja"), "現在の天気"),
    (Some("fr"), Some("fr-CH"), "Météo actuelle"),
    (None, None, "Current weather"),
];

/// A request as an era sends it.
fn request(era: &str, id: usize, method: &str, params: &Value, wish: Option<&str>) -> Value {
    let mut request = json!({ "jsonrpc": "2.0", "id": id, "method": method, "params": params });
    if let Some(wish) = wish {
        request["params"]["_meta"]["io.modelcontextprotocol/acceptLanguage"] = wish.into();
    }
    if era == MODERN {
        let meta = &mut request["params"]["_meta"];
        meta["io.modelcontextprotocol/protocolVersion"] = era.into();
        meta["io.modelcontextprotocol/clientCapabilities"] = json!({ "elicitation": {} });
    }
    request
}

fn initialize() -> Value {
    json!({ "jsonrpc": "2.0", "id": "i", "method": "initialize", "params": { "protocolVersion": LEGACY,
        "capabilities": { "elicitation": {} }, "clientInfo": { "name": "it", "version": "1" } } })
}

fn initialized() -> Value {
    json!({ "jsonrpc": "2.0", "method": "notifications/initialized" })
}

/// One connection over HTTP, kept open.
struct Http {
    tcp: BufReader<TcpStream>,
    era: &'static str,
    session: String,
}

impl Http {
    fn open(address: &str, era: &'static str) -> Self {
        let tcp = BufReader::new(TcpStream::connect(address).expect("it listens"));
        let mut http = Self { tcp, era, session: String::new() };
        if era == LEGACY {
            let (head, _) = http.send(&initialize());
            let id = head.lines().find_map(|line| line.strip_prefix("mcp-session-id: ")).expect("a session");
            http.session = format!("Mcp-Session-Id: {id}\r\nMCP-Protocol-Version: {LEGACY}\r\n");
            http.send(&initialized());
        }
        http
    }

    /// Sends a message on this connection; the head of the answer, and the messages in it.
    fn send(&mut self, message: &Value) -> (String, Vec<Value>) {
        let body = message.to_string();
        let mut headers = self.session.clone();
        if self.era == MODERN {
            let method = message["method"].as_str().expect("a method");
            headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n");
            if let Some(name) = message["params"]["name"].as_str() {
                headers += &format!("Mcp-Name: {name}\r\n");
            }
        }
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
            body.len()
        );
        self.tcp.get_mut().write_all(request.as_bytes()).expect("it reads");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(self.tcp.read_line(&mut head).expect("it answers"), 0, "{head}");
        }
        let mut text = Vec::new();
        if let Some(length) = head.lines().find_map(|line| line.strip_prefix("content-length: ")) {
            text.resize(length.parse().expect("a length"), 0);
            self.tcp.read_exact(&mut text).expect("it answers");
        } else if head.contains("transfer-encoding: chunked") {
            loop {
                let mut size = String::new();
                self.tcp.read_line(&mut size).expect("a chunk");
                let mut chunk = vec![0; usize::from_str_radix(size.trim(), 16).expect("a size") + 2];
                self.tcp.read_exact(&mut chunk).expect("it answers");
                chunk.truncate(chunk.len() - 2);
                if chunk.is_empty() {
                    break;
                }
                text.extend(chunk);
            }
        }
        let text = String::from_utf8(text).expect("UTF-8");
        let lines = text.lines().map(|line| line.strip_prefix("data: ").unwrap_or(line));
        (head, lines.filter_map(|line| serde_json::from_str(line).ok()).collect())
    }
}

/// `attune stdio` in front of the bare demo, with the demo's locale files.
struct Pipes {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
}

const LOCALES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../mcp-attune-demo/locales");

impl Pipes {
    fn open(era: &str) -> Self {
        let binary = env!("CARGO_BIN_EXE_attune");
        let mut child = Command::new(binary)
            .args(["stdio", "--default-language", "en", "--locales", LOCALES])
            .args(["--", binary, "demo", "--bare", "--stdio"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("attune starts");
        let (to, from) = (child.stdin.take().expect("a pipe"), child.stdout.take().expect("a pipe"));
        let mut pipes = Self { child, to, from: BufReader::new(from) };
        if era == LEGACY {
            pipes.say(&initialize());
            pipes.hear();
            pipes.say(&initialized());
        }
        pipes
    }

    fn say(&mut self, message: &Value) {
        writeln!(self.to, "{message}").expect("it reads");
    }

    fn hear(&mut self) -> Value {
        let mut line = String::new();
        self.from.read_line(&mut line).expect("it speaks");
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    }

    /// The messages up to the answer.
    fn ask(&mut self, message: &Value) -> Vec<Value> {
        self.say(message);
        let mut heard = vec![self.hear()];
        while heard.last().is_some_and(|last| last["id"] != message["id"]) {
            heard.push(self.hear());
        }
        heard
    }
}

impl Drop for Pipes {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[track_caller]
fn check(answer: &Value, language: Option<&str>, title: &str) {
    let tool = &answer["result"]["tools"][0];
    assert_eq!((&tool["name"], &tool["title"]), (&json!("get_weather"), &json!(title)), "{language:?}");
    assert_eq!(tool["annotations"]["title"], title);
    assert_eq!(answer["result"]["_meta"][LANGUAGE].as_str(), language, "{title}");
    // What models read stays: nobody opted in.
    assert_eq!(tool["description"], "Gives the current weather in a Swiss city, and a short forecast");
}

#[test]
fn three_requests_on_one_connection_get_three_languages_and_none_is_remembered() {
    let mut demo = Served::start(&[&["demo"], &FREE[..]].concat());
    let address = demo.address("is at");
    for era in [MODERN, LEGACY] {
        let (mut http, mut pipes) = (Http::open(&address, era), Pipes::open(era));
        for (id, (wish, language, title)) in CALLERS.into_iter().enumerate() {
            let list = request(era, id, "tools/list", &json!({}), wish);
            let (head, messages) = http.send(&list);
            check(messages.last().expect("an answer"), language, title);
            if era == MODERN {
                let header = head.lines().find_map(|line| line.strip_prefix("content-language: "));
                assert_eq!(header, language, "{head}");
            }
            check(pipes.ask(&list).last().expect("an answer"), language, title);
        }
    }
}

#[test]
fn progress_and_questions_are_in_the_language_of_their_request() {
    let mut demo = Served::start(&[&["demo"], &FREE[..]].concat());
    let address = demo.address("is at");
    for era in [MODERN, LEGACY] {
        let (mut http, mut pipes) = (Http::open(&address, era), Pipes::open(era));
        let params =
            json!({ "name": "build_report", "arguments": { "pages": 2 }, "_meta": { "progressToken": 5 } });
        let report = request(era, 1, "tools/call", &params, Some("de"));
        for messages in [http.send(&report).1, pipes.ask(&report)] {
            let progress: Vec<_> =
                messages.iter().filter(|message| message["method"] == "notifications/progress").collect();
            assert!(!progress.is_empty(), "{era} {messages:?}");
            for message in progress {
                let text = message["params"]["message"].as_str().expect("a message");
                assert!(text.contains("Seiten geladen"), "{era} {text}");
                assert_eq!(message["params"]["_meta"][LANGUAGE], "de-CH", "{era}");
            }
        }
    }
    let connections = json!({ "name": "find_connections", "arguments": { "from": "Zurich", "to": "Bern" } });
    let found = Http::open(&address, MODERN).send(&request(MODERN, 1, "tools/call", &connections, None)).1;
    let train = &found[0]["result"]["structuredContent"]["connections"][0];
    let params = json!({ "name": "book_seat", "arguments": { "connection": train["id"] } });
    let german = |answer: &Value| {
        let form = &answer["result"]["inputRequests"]["seat"]["params"];
        let said = form["message"].as_str().unwrap_or_else(|| panic!("{answer}"));
        assert!(said.starts_with("Welchen Sitzplatz möchten Sie im ") && said.ends_with('?'), "{said}");
        form.clone()
    };
    let book = request(MODERN, 2, "tools/call", &params, Some("de"));
    let form = german(Http::open(&address, MODERN).send(&book).1.last().expect("an answer"));
    assert_eq!(form, german(Pipes::open(MODERN).ask(&book).last().expect("an answer")));
    // A legacy server asks while the call is open.
    let mut pipes = Pipes::open(LEGACY);
    pipes.say(&request(LEGACY, 3, "tools/call", &params, Some("de")));
    let question = pipes.hear();
    assert_eq!(question["method"], "elicitation/create");
    assert_eq!(question["params"]["message"], form["message"]);
    let class = &question["params"]["requestedSchema"]["properties"]["travel_class"];
    assert_eq!((&class["title"], &class["oneOf"][0]["title"]), (&json!("Klasse"), &json!("Erste Klasse")));
    assert_eq!(class["oneOf"][0]["const"], "first", "what machines read stays");
}
