//! `attune demo` and `attune serve`, started as a user starts them.
#![cfg(unix)]

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use crate::attune;
use crate::demo::NOW;

/// Long enough for any machine; a test that passes does not wait for it.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server that is stopped when its test is over.
pub(crate) struct Served {
    child: Child,
    lines: Receiver<String>,
}

impl Drop for Served {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The log of a gateway that was just started, as it grows, and the addresses that its first two lines name: its own and that of
/// its admin listener.
pub(crate) fn listen_to(child: &mut Child) -> (Arc<Mutex<String>>, [String; 2]) {
    let log = Arc::<Mutex<String>>::default();
    let (lines, kept) = (BufReader::new(child.stderr.take().expect("a pipe")), Arc::clone(&log));
    thread::spawn(move || {
        for line in lines.lines().map_while(Result::ok) {
            *kept.lock().expect("a log") += &format!("{line}\n");
        }
    });
    let mut out = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    let mut next = || {
        let line =
            out.next().and_then(Result::ok).unwrap_or_else(|| panic!("{}", log.lock().expect("a log")));
        let start = line.find("://").expect("an address") + "://".len();
        line[start..].split(['/', ',']).next().unwrap_or_default().to_owned()
    };
    let addresses = [next(), next()];
    thread::spawn(move || out.map_while(Result::ok).for_each(drop));
    (log, addresses)
}

impl Served {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let child = Command::new(env!("CARGO_BIN_EXE_attune"))
            .args(arguments)
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("attune starts");
        Self::of(child)
    }

    fn of(mut child: Child) -> Self {
        let out = BufReader::new(child.stdout.take().expect("a pipe"));
        let (to, lines) = channel();
        thread::spawn(move || out.lines().map_while(Result::ok).try_for_each(|line| to.send(line)));
        Self { child, lines }
    }

    /// The next line, where this is waited for; None where there is none any more.
    #[track_caller]
    fn next_line(&self, wanted: &str) -> Option<String> {
        match self.lines.recv_timeout(PATIENCE) {
            Ok(line) => Some(line),
            Err(RecvTimeoutError::Disconnected) => None,
            Err(RecvTimeoutError::Timeout) => panic!("{wanted} was not said"),
        }
    }

    /// The next line with this text in it, and the address in the line.
    #[track_caller]
    pub(crate) fn address(&mut self, text: &str) -> String {
        let mut line = String::new();
        while !line.contains(text) {
            line = self.next_line(text).unwrap_or_else(|| panic!("{text} was not said"));
        }
        let start = line.find("http://").expect("an address") + "http://".len();
        line[start..].split(['/', '\n']).next().unwrap_or_default().to_owned()
    }

    /// The number that the system knows it by.
    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// What it prints up to a line that begins so.
    #[track_caller]
    pub(crate) fn until(&mut self, start: &str) -> String {
        let mut all = String::new();
        while let Some(line) = self.next_line(start) {
            if line.starts_with(start) {
                break;
            }
            all += &format!("{line}\n");
        }
        all
    }

    /// Asks it to stop, and waits until it has.
    fn stop(mut self) -> Option<i32> {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-TERM", &pid]).status().expect("kill").success());
        self.child.wait().expect("it ends").code()
    }
}

pub(crate) fn get(address: &str, path: &str) -> String {
    let mut tcp = TcpStream::connect(address).expect("it listens");
    tcp.set_read_timeout(Some(PATIENCE)).expect("a time-out");
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
    tcp.write_all(request.as_bytes()).expect("it reads");
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).expect("it answers");
    answer
}

pub(crate) const FREE: [&str; 4] = ["--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"];

#[test]
fn the_demo_starts_says_what_to_try_and_stops_when_asked() {
    let mut demo = Served::start(&[&["demo", "--curl", "--now", NOW], &FREE[..]].concat());
    let address = demo.address("is at");
    let admin = demo.address("Health");
    assert!(get(&admin, "/healthz").contains("\r\n\r\nok"), "health");
    let tries = demo.until("# Why");
    let curls: Vec<_> = tries.split("curl ").skip(1).collect();
    assert_eq!(curls.len(), 5, "{tries}");
    // curl itself may not be here, so its request is made by hand from what was printed.
    let expected = [
        ("400 Bad Request", "Mcp-Param-Region is not what"),
        ("200 OK", "content-language: de-CH"),
        ("200 OK", "Vom 1. Februar 2026 bis"),
        ("200 OK", "## Aktuelles Wetter in Bern"),
        ("200 OK", "\"content\":[],\"structuredContent\":{"),
    ];
    for (curl, (status, says)) in curls.iter().zip(expected) {
        let answer = paste(&address, curl);
        assert!(
            answer.starts_with(&format!("HTTP/1.1 {status}")) && answer.contains(says),
            "{curl}\n{answer}"
        );
    }
    assert_eq!(demo.stop(), Some(0));
}

#[test]
fn a_line_of_the_log_names_the_request_that_it_is_about() {
    let mut demo = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args([&["demo"], &FREE[..]].concat())
        .env("NO_COLOR", "1")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    let log = BufReader::new(demo.stderr.take().expect("a pipe"));
    let mut demo = Served::of(demo);
    let address = demo.address("is at");
    let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
    for (name, more) in
        [("mine", String::new()), ("hers", format!("-H 'traceparent: 00-{trace}-00f067aa0ba902b7-01'"))]
    {
        paste(&address, &format!("-H 'X-Request-Id: {name}' {more} -d '{{'"));
    }
    let refused: Vec<_> = log
        .lines()
        .map(|line| line.expect("a line"))
        .filter(|line| line.contains("refused"))
        .take(2)
        .collect();
    assert!(refused[0].ends_with(" enforced=true request=\"mine\""), "{refused:?}");
    assert!(
        refused[1].ends_with(&format!(" enforced=true request=\"hers\" trace=\"{trace}\"")),
        "{refused:?}"
    );
}

/// Does what the printed curl command would do.
fn paste(address: &str, curl: &str) -> String {
    let quoted: Vec<&str> = curl.split('\'').skip(1).step_by(2).collect();
    let (body, headers) = quoted.split_last().expect("a body");
    let mut request = format!(
        "POST /mcp HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Length: {}\r\n",
        body.len()
    );
    for header in headers {
        request += &format!("{header}\r\n");
    }
    let mut tcp = TcpStream::connect(address).expect("it listens");
    tcp.write_all(format!("{request}\r\n{body}").as_bytes()).expect("it reads");
    let mut answer = String::new();
    tcp.read_to_string(&mut answer).expect("it answers");
    answer
}

#[test]
fn serve_puts_the_rules_in_front_of_a_server() {
    let mut bare = Served::start(&["demo", "--bare", "--listen", "127.0.0.1:0"]);
    let behind = bare.address("without Attune");
    let url = format!("http://{behind}/mcp");
    let mut gateway =
        Served::start(&[&["serve", "--upstream", &url, "--default-language", "en"], &FREE[..]].concat());
    let address = gateway.address("serves");
    assert!(get(&address, "/mcp").contains("x-request-id: "), "the gateway answers");
    assert!(!get(&behind, "/mcp").contains("x-request-id: "), "the bare server does not");
    assert_eq!(gateway.stop(), Some(0));
    assert_eq!(bare.stop(), Some(0));
}

/// The program is the demo, which speaks both eras.
#[test]
fn serve_starts_a_program_and_serves_it_in_both_eras() {
    let binary = env!("CARGO_BIN_EXE_attune");
    let command = ["--", binary, "demo", "--bare", "--stdio"];
    let mut gateway = Served::start(&[&["serve", "--default-language", "en"], &FREE[..], &command].concat());
    let address = gateway.address("serves");
    let meta = r#""io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/acceptLanguage":"de""#;
    let modern = paste(
        &address,
        &format!(
            r#"'MCP-Protocol-Version: 2026-07-28' 'Mcp-Method: tools/list' 'Content-Type: application/json' 'Accept: application/json, text/event-stream' '{{"jsonrpc":"2.0","id":"a","method":"tools/list","params":{{"_meta":{{{meta}}}}}}}'"#
        ),
    );
    assert!(modern.starts_with("HTTP/1.1 200 OK"), "{modern}");
    assert!(modern.contains("content-language: en") && modern.contains("get_weather"), "{modern}");
    let legacy = paste(
        &address,
        r#"'Content-Type: application/json' 'Accept: application/json, text/event-stream' '{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"it","version":"1"}}}'"#,
    );
    assert!(legacy.starts_with("HTTP/1.1 200 OK"), "{legacy}");
    assert!(legacy.contains("mcp-session-id: ") && legacy.contains("2025-11-25"), "{legacy}");
    assert_eq!(gateway.stop(), Some(0));
}

#[test]
fn serve_says_what_it_needs() {
    insta::assert_snapshot!(attune(&["serve", "--config", "/nowhere/attune.toml"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: /nowhere/attune.toml: No such file or directory (os error 2)
    hint: is it the right file?
    ");
    insta::assert_snapshot!(attune(&["serve", "--listen", "127.0.0.1:0"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: no server is named
    hint: name the server with --upstream URL, after --, or in the file under [upstream]
    ");
    insta::assert_snapshot!(attune(&["serve", "--listen", "127.0.0.1:0", "--", "no-such-server", "-y"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: the program no-such-server was not found; is it installed, and is its folder in PATH?
    hint: try it by itself first; a program that is not in PATH is named by its path
    ");
    insta::assert_snapshot!(attune(&["serve", "npx", "some-server"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `npx` stands where nothing belongs
    hint: a program stands after `--`: attune serve -- npx some-server
    ");
    let options = attune(&["serve", "npx", "-y", "some-server"]);
    assert!(options.starts_with("exit: 2\n"), "{options}");
    assert!(options.contains("hint: a program stands after `--`, with its options"), "{options}");
    insta::assert_snapshot!(attune(&["serve", "http://127.0.0.1:9000/mcp"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: `http://127.0.0.1:9000/mcp` stands where nothing belongs
    hint: a server that runs is named with --upstream http://127.0.0.1:9000/mcp
    ");
    insta::assert_snapshot!(attune(&["serve", "--env", "A=b", "--upstream", "http://127.0.0.1:9/mcp"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: --env is for a program, and there is none
    hint: name the program after `--`, or leave --env out: a server at a URL has its own environment
    ");
    insta::assert_snapshot!(attune(&["serve", "--env", "NOT_SET_ANYWHERE", "--", "sh"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: --env NOT_SET_ANYWHERE: it is not set here
    hint: write --env NAME=VALUE
    ");
    let unknown = attune(&["serve", "--upstrem", "http://127.0.0.1:9000/mcp"]);
    assert!(unknown.contains("unexpected argument '--upstrem'"), "{unknown}");
    let listen = attune(&["serve", "--listen", "*:80", "--upstream", "http://127.0.0.1:9/mcp"]);
    assert!(listen.contains("write 0.0.0.0:80 to listen for everyone"), "{listen}");
    insta::assert_snapshot!(attune(&["serve", "--upstream", "ftp://x"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: ftp://x is neither http nor https
    hint: such as --upstream http://127.0.0.1:9000/mcp
    ");
}
