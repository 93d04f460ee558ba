//! What an operator of `attune serve` sees: the log, health, and what becomes of files that change.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use crate::serving::{FREE, Served, get, listen_to};

/// Long enough for any machine; a test that passes does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A gateway in a folder of its own, and what it writes.
struct Gateway {
    child: Child,
    folder: PathBuf,
    address: String,
    admin: String,
    log: Arc<Mutex<String>>,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}

fn folder() -> PathBuf {
    static NUMBER: AtomicUsize = AtomicUsize::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let folder = std::env::temp_dir().join(format!("attune-operating-{}-{number}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    folder
}

impl Gateway {
    /// Starts it with a configuration; `files` are written beside it first.
    fn start(text: &str, files: &[(&str, &str)]) -> Self {
        Self::start_with(text, files, &[])
    }

    fn start_with(text: &str, files: &[(&str, &str)], variables: &[(&str, &str)]) -> Self {
        let folder = folder();
        for (name, text) in files {
            std::fs::write(folder.join(name), text).expect("a file");
        }
        std::fs::write(folder.join("attune.toml"), text).expect("a file");
        let config = folder.join("attune.toml");
        Self::run(folder, &["--config", config.to_str().expect("UTF-8")], variables)
    }

    /// Starts it in front of a shell script.
    fn script(script: &str) -> Self {
        Self::run(folder(), &[&FREE[..], &["--", "sh", "-c", script]].concat(), &[])
    }

    fn run(folder: PathBuf, arguments: &[&str], variables: &[(&str, &str)]) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_attune"))
            .arg("serve")
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("attune starts");
        let (log, [address, admin]) = listen_to(&mut child);
        Self { child, folder, address, admin, log }
    }

    fn log(&self) -> String {
        self.log.lock().expect("a log").clone()
    }

    /// Waits until its log says this, and returns the line.
    #[track_caller]
    fn said(&self, text: &str) -> String {
        let since = Instant::now();
        loop {
            if let Some(line) = self.log().lines().find(|line| line.contains(text)) {
                return line.to_owned();
            }
            assert!(since.elapsed() < PATIENCE, "{text} is not in\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    /// Waits until `/readyz` says this.
    #[track_caller]
    fn readiness(&self, text: &str) {
        let since = Instant::now();
        loop {
            let said = get(&self.admin, "/readyz");
            if said.contains(text) {
                return;
            }
            assert!(since.elapsed() < PATIENCE, "{text} is not in\n{said}\n{}", self.log());
            thread::sleep(Duration::from_millis(20));
        }
    }

    fn rewrite(&self, name: &str, text: &str) {
        std::fs::write(self.folder.join(name), text).expect("a file");
    }

    fn post(&self, headers: &str, body: &str) -> String {
        let mut tcp = TcpStream::connect(&self.address).expect("it listens");
        tcp.set_read_timeout(Some(PATIENCE)).expect("a time-out");
        let request = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
             Accept: application/json, text/event-stream\r\n{headers}Content-Length: {}\r\n\r\n{body}",
            body.len()
        );
        tcp.write_all(request.as_bytes()).expect("it reads");
        let mut answer = String::new();
        tcp.read_to_string(&mut answer).expect("it answers");
        answer
    }

    /// Calls a tool as a modern caller who reads German.
    fn call(&self, tool: &str, id: &str) -> String {
        let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/acceptLanguage":"de""#;
        let headers = format!(
            "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: {tool}\r\nX-Request-Id: {id}\r\n"
        );
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{tool}","arguments":{{"secret":"hush"}},"_meta":{{{meta}}}}}}}"#
        );
        self.post(&headers, &body)
    }
}

const FREE_PORTS: &str = "server.listen = '127.0.0.1:0'\nserver.admin = '127.0.0.1:0'\n";

fn demo() -> (Served, String) {
    let mut bare = Served::start(&[&["demo", "--bare"], &FREE[..2]].concat());
    let address = bare.address("http://");
    (bare, format!("default_language = 'en'\n{FREE_PORTS}upstream.url = 'http://{address}/mcp'\n"))
}

#[test]
fn every_call_is_a_line_with_its_tool_and_nothing_that_the_caller_said() {
    let (_bare, toml) = demo();
    let gateway = Gateway::start(&toml, &[]);
    assert!(gateway.call("local_time", "mine").starts_with("HTTP/1.1 200 "), "{}", gateway.log());
    let line = gateway.said("request=\"mine\"");
    for part in [
        " INFO attune::access: tools/call tool=\"local_time\" language=\"en\" ",
        "outcome=\"answered\" status=200 time=",
    ] {
        assert!(line.contains(part), "{line}");
    }
    gateway.call("made_up_by_me", "other");
    assert!(gateway.said("request=\"other\"").contains(" tool=\"other\" "), "{}", gateway.log());
    assert!(!gateway.log().contains("hush") && !gateway.log().contains("made_up_by_me"), "{}", gateway.log());
    let metrics = get(&gateway.admin, "/metrics");
    for series in [
        "attune_tool_calls_total{mount=\"default\",tool=\"local_time\",outcome=\"answered\"} 1\n",
        "attune_tool_calls_total{mount=\"default\",tool=\"other\",",
        "attune_upstream_up{mount=\"default\"} 1\n",
        "attune_log_lines_dropped_total 0\n",
    ] {
        assert!(metrics.contains(series), "{series} is not in\n{metrics}");
    }
}

#[test]
fn lines_are_json_where_the_configuration_says_so_and_calls_can_be_left_out() {
    let (_bare, toml) = demo();
    let gateway = Gateway::start(&format!("{toml}server.log_format = 'json'\n"), &[]);
    gateway.call("local_time", "mine");
    gateway.post("X-Request-Id: bad\r\n", "{");
    let read = |text: &str| -> serde_json::Value {
        let line = gateway.said(text);
        serde_json::from_str(&line).unwrap_or_else(|why| panic!("{why}: {line}"))
    };
    let call = read("\"mine\"");
    assert_eq!((&call["tool"], &call["status"]), (&"local_time".into(), &200.into()));
    let refused = read("\"message\":\"refused\"");
    assert_eq!((&refused["level"], &refused["request"]), (&"WARN".into(), &"bad".into()));
    assert_eq!(refused["faults"], "the body ends inside a value, at byte 1");
    for line in gateway.log().lines() {
        assert!(serde_json::from_str::<serde_json::Value>(line).is_ok(), "{line}");
    }
    let quiet = Gateway::start(&format!("{toml}server.access_log = false\n"), &[]);
    quiet.call("local_time", "mine");
    thread::sleep(Duration::from_millis(300));
    assert!(!quiet.log().contains("attune::access"), "{}", quiet.log());
}

#[test]
fn strangers_are_in_the_log_with_what_they_said_they_were() {
    let (_bare, toml) = demo();
    let gateway = Gateway::start(&toml, &[]);
    assert!(gateway.post("Origin: https://evil.example\r\n", "{}").starts_with("HTTP/1.1 403 "));
    let line = gateway.said("a request is refused");
    assert!(line.contains(" WARN ") && line.contains("Origin https://evil.example is not allowed"), "{line}");
}

#[test]
fn the_log_follows_the_file_and_libraries_stay_out_of_it_until_they_are_asked_for() {
    let (_bare, toml) = demo();
    let gateway = Gateway::start(&toml, &[]);
    gateway.call("local_time", "one");
    gateway.said("request=\"one\"");
    assert!(!gateway.log().contains(" DEBUG "), "{}", gateway.log());
    let more = "limits.connections = 77\nserver.shutdown_delay = '9 s'\n";
    gateway.rewrite("attune.toml", &format!("log = 'debug'\n{toml}{more}"));
    gateway.said("the new configuration is in place");
    let waiting = gateway.said("take effect after a restart");
    assert!(waiting.ends_with(": server.shutdown_delay, limits.connections"), "{waiting}");
    gateway.call("local_time", "two");
    gateway.said("DEBUG mcp_attune_");
    assert!(!gateway.log().contains("hyper"), "{}", gateway.log());
    std::fs::remove_file(gateway.folder.join("attune.toml")).expect("a file");
    gateway.said("attune.toml: No such file or directory");
}

#[test]
fn a_certificate_that_was_renewed_is_shown_without_a_signal() {
    let made = || rcgen::generate_simple_self_signed(["localhost".to_owned()]).expect("a certificate");
    let (one, two) = (made(), made());
    let (_bare, toml) = demo();
    let toml = format!("{toml}server.tls = {{ cert = 'cert.pem', key = 'key.pem' }}\n");
    let (cert, key) = (one.cert.pem(), one.signing_key.serialize_pem());
    let gateway = Gateway::start(&toml, &[("cert.pem", &cert), ("key.pem", &key)]);
    let url = format!("https://localhost:{}/mcp", gateway.address.rsplit(':').next().expect("a port"));
    // Somebody who trusts one certificate, and no other.
    let shows = |made: &rcgen::CertifiedKey<rcgen::KeyPair>| {
        gateway.rewrite("trusted.pem", &made.cert.pem());
        let trusted = gateway.folder.join("trusted.pem");
        crate::attune(&["tools", &url, "--cacert", trusted.to_str().expect("UTF-8")]).starts_with("exit: 0\n")
    };
    assert!(shows(&one) && !shows(&two), "{}", gateway.log());
    gateway.rewrite("cert.pem", &two.cert.pem());
    gateway.rewrite("key.pem", &two.signing_key.serialize_pem());
    gateway.said("the certificate was read again");
    assert!(shows(&two) && !shows(&one), "{}", gateway.log());
    std::fs::remove_file(gateway.folder.join("key.pem")).expect("a file");
    let line = gateway.said("the old certificate stays");
    assert!(line.contains("key.pem: No such file"), "{}", gateway.log());
    assert!(shows(&two), "{}", gateway.log());
}

#[test]
fn a_server_that_is_not_there_is_told_at_once_and_found_when_it_is() {
    let free = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = free.local_addr().expect("an address");
    drop(free);
    let gateway = Gateway::start(&format!("{FREE_PORTS}upstream.url = 'http://{address}/mcp'\n"), &[]);
    let line = gateway.said("callers are told so");
    let told = format!("the server behind /mcp, http://{address}/mcp: the server behind is not running");
    assert!(line.contains(&told), "{line}");
    gateway.readiness("/mcp: the server behind is not running");
    assert!(get(&gateway.admin, "/metrics").contains("attune_upstream_up{mount=\"default\"} 0\n"));
    let _there = TcpListener::bind(address).expect("the same port");
    gateway.readiness("ready\n");
    gateway.said("can be reached");
}

#[test]
fn a_program_is_started_at_once_and_readiness_waits_for_it() {
    let started = folder().join("started");
    let binary = env!("CARGO_BIN_EXE_attune");
    let script = format!("echo x >> {}; sleep 2; exec {binary} demo --bare --stdio", started.display());
    let gateway = Gateway::script(&script);
    gateway.said("starting `sh`");
    gateway.readiness("/mcp: the server behind is starting");
    gateway.readiness("ready\n");
    assert!(gateway.call("local_time", "mine").starts_with("HTTP/1.1 200 "), "{}", gateway.log());
    assert_eq!(std::fs::read_to_string(&started).expect("a file"), "x\n");
}

#[test]
fn a_program_that_dies_is_started_once_and_its_end_is_told() {
    let started = folder().join("started");
    let gateway = Gateway::script(&format!("echo x >> {}; exit 7", started.display()));
    let line = gateway.said("callers are told so");
    assert!(line.contains("`sh`: the server behind ended with 7 before it answered"), "{line}");
    gateway.readiness("/mcp: the server behind ended with 7 before it answered");
    assert_eq!(std::fs::read_to_string(&started).expect("a file"), "x\n");
    let answer = gateway.call("local_time", "mine");
    assert!(answer.starts_with("HTTP/1.1 503 "), "{answer}");
    assert!(answer.contains("Der Zielserver endete mit 7, bevor er antwortete"), "{answer}");
    // Once at the start, and once more where that was a while ago.
    let starts = std::fs::read_to_string(&started).expect("a file").lines().count();
    assert!(starts <= 2, "{starts} starts");
}

#[test]
fn a_late_answer_to_a_question_that_was_given_up_reaches_nobody() {
    // It answers what it does not know when it is asked to initialize, which is before it answers that.
    let started = folder().join("started");
    let script = format!(
        "echo x >> {}\n{}",
        started.display(),
        r#"
        id() { printf '%s' "$line" | sed 's/.*"id":\([0-9]*\).*/\1/'; }
        while read -r line; do
          case "$line" in
            *'"server/discover"'*) unanswered=$(id) ;;
            *'"initialize"'*)
              [ -n "$unanswered" ] && printf '{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"late"}}\n' "$unanswered"
              printf '{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{},"serverInfo":{"name":"s","version":"1"}}}\n' "$(id)" ;;
          esac
        done"#
    );
    let gateway = Gateway::script(&script);
    gateway.readiness("ready\n");
    assert_eq!(std::fs::read_to_string(&started).expect("a file"), "x\n", "{}", gateway.log());
    let hello = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"it","version":"1"}}}"#;
    let answer = gateway.post("", hello);
    assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""id":0,"result":{"#), "{answer}");
    assert!(!answer.contains("late"), "{answer}");
}

#[test]
fn a_program_gets_the_environment_and_what_is_given_to_it_but_nothing_of_ours() {
    let seen = folder().join("seen");
    let script =
        format!("env > {}; exec {} demo --bare --stdio", seen.display(), env!("CARGO_BIN_EXE_attune"));
    let variables = [
        ("API_KEY", "from-outside"),
        ("ATTUNE_TOKEN", "hush"),
        ("ATTUNE_SETTING_KEY", "setting"),
        ("OTHER", "kept"),
    ];
    let arguments =
        [&FREE[..], &["--env", "MINE=given", "--env", "OTHER", "--", "sh", "-c", &script]].concat();
    let gateway = Gateway::run(folder(), &arguments, &variables);
    gateway.readiness("ready\n");
    let env = std::fs::read_to_string(&seen).expect("a file");
    for line in ["API_KEY=from-outside", "MINE=given", "OTHER=kept", "ATTUNE_SETTING_KEY=setting"] {
        assert!(env.lines().any(|there| there == line), "{line} is not in\n{env}");
    }
    assert!(!env.contains("hush"), "{env}");
    drop(gateway);
    let toml = format!("{FREE_PORTS}[upstream]\ncommand = ['sh', '-c', '{script}']\ninherit_env = false\n");
    let gateway = Gateway::start_with(&toml, &[], &variables);
    gateway.readiness("ready\n");
    let env = std::fs::read_to_string(&seen).expect("a file");
    assert!(env.contains("PATH=") && !env.contains("API_KEY"), "{env}");
}

#[test]
fn what_the_configuration_names_and_is_not_there_is_told_at_the_start() {
    let (_bare, toml) = demo();
    let more = "locales.path = 'nowhere/${locale}.json'\ncontent.enabled = true\ntools.a.templates = 'templates/a'\n";
    let toml = format!("{toml}{more}");
    let gateway = Gateway::start(&toml, &[]);
    let line = gateway.said("`locales.path`: the folder ");
    assert!(line.contains("nowhere is not there; ") && line.contains(" WARN "), "{line}");
    gateway.said("`tools.a.templates`: no template is there: ");
    gateway.rewrite("attune.toml", &toml.replace("nowhere", "nobody"));
    gateway.said("nobody is not there; ");
}

#[test]
fn names_in_a_template_that_changes_are_told_as_at_the_start() {
    let (_bare, toml) = demo();
    let toml = format!("{toml}content.enabled = true\ntools.get_weather.templates = 'get_weather'\n");
    let gateway = Gateway::start(&toml, &[("get_weather.md", "{{ locaton }}\n")]);
    gateway.said("get_weather.md:1:4: `locaton` is not in the output schema; did you mean `location`?");
    // Nobody has to ask for it.
    gateway.rewrite("get_weather.md", "{{ location }}\n{{ conditons }}\n");
    gateway.said("get_weather.md:2:4: `conditons` is not in the output schema");
}

#[test]
fn whoever_opens_the_gateway_in_a_browser_reads_where_the_server_is() {
    let (_bare, toml) = demo();
    let gateway = Gateway::start(&toml, &[]);
    let answer = get(&gateway.address, "/");
    assert!(answer.starts_with("HTTP/1.1 404 "), "{answer}");
    assert!(answer.ends_with("\r\n\r\nMCP is served at /mcp, not here\n"), "{answer}");
}

#[test]
fn a_log_that_nobody_reads_holds_up_nobody() {
    let (_bare, toml) = demo();
    let folder = folder();
    std::fs::write(folder.join("attune.toml"), toml).expect("a file");
    let mut child = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["serve", "--config"])
        .arg(folder.join("attune.toml"))
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().expect("a pipe"));
    out.read_line(&mut line).expect("a line");
    let address =
        line.split("://").nth(1).and_then(|rest| rest.split('/').next()).expect("an address").to_owned();
    let log = Arc::default();
    let gateway = Gateway { child, folder, address, admin: String::new(), log };
    // A pipe holds 64 KiB, which is some 400 lines; and a warning is written where the call is answered.
    for number in 0..1000 {
        let answer = if number % 2 == 0 { gateway.post("", "{") } else { gateway.call("local_time", "mine") };
        assert!(answer.starts_with("HTTP/1.1 "), "{number}: {answer}");
    }
}
