//! The binary between servers that send too much and callers that take too little: how much memory it takes then, as
//! the system counts it, and that the next call works. Rules: G4.
#![cfg(unix)]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::thread;
use std::time::Duration;

use crate::serving::{FREE, Served};

const GIB: u64 = 1 << 30;
const MIB: u64 = 1 << 20;

/// Never more memory than this where an answer is held back: up to 64 MiB, and room to adapt it.
const HELD: u64 = 256 * MIB;
/// Never more than this where it flows: far less than what flows, and enough for a machine with many threads.
const FLOWING: u64 = 128 * MIB;

/// A gateway before this server, with this in its configuration besides.
struct Gateway {
    served: Served,
    address: String,
    file: PathBuf,
}

impl Drop for Gateway {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.file);
    }
}

impl Gateway {
    fn before(server: SocketAddr, more: &str) -> Self {
        let file =
            std::env::temp_dir().join(format!("attune-flood-{}-{}", std::process::id(), server.port()));
        let text =
            format!("log = 'off'\ndefault_language = 'en'\n[upstream]\nurl = 'http://{server}/mcp'\n{more}");
        std::fs::write(&file, text).expect("a file");
        let name = file.to_str().expect("a path in UTF-8");
        let mut served = Served::start(&[&["serve", "--config", name], &FREE[..]].concat());
        let address = served.address("serves");
        Self { served, address, file }
    }

    fn connect(&self) -> TcpStream {
        let tcp = TcpStream::connect(&self.address).expect("it listens");
        tcp.set_read_timeout(Some(Duration::from_secs(60))).expect("a limit");
        tcp
    }

    /// Asks, and counts the bytes of the answer; the first and the last few are kept.
    fn ask(&self, headers: &str, body: &str) -> Got {
        let mut tcp = self.connect();
        tcp.write_all(request(headers, body).as_bytes()).expect("it reads");
        let mut got = Got::default();
        let mut buffer = vec![0; 1 << 20];
        loop {
            match tcp.read(&mut buffer) {
                Ok(0) | Err(_) => return got,
                Ok(length) => got.add(&buffer[..length]),
            }
        }
    }

    /// The most memory that it ever had, where the system says so.
    fn memory(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.served.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
        Some(line.trim().strip_suffix(" kB")?.parse::<u64>().expect("a number") << 10)
    }

    /// It is still there, and it took no more memory than it may.
    #[track_caller]
    fn check(&self, what: &str, most: u64) {
        let next = self.ask("", SMALL);
        assert!(next.start.starts_with("HTTP/1.1 200 ") && next.end.ends_with(ANSWER), "{what}: {next:?}");
        if let Some(memory) = self.memory() {
            println!("{what}: {} MiB at most", memory / MIB);
            assert!(memory < most, "{what}: {} MiB", memory / MIB);
        }
    }
}

#[derive(Debug, Default)]
struct Got {
    bytes: u64,
    start: String,
    end: String,
}

impl Got {
    fn add(&mut self, bytes: &[u8]) {
        if self.bytes == 0 {
            self.start = text(&bytes[..bytes.len().min(400)]);
        }
        self.bytes += bytes.len() as u64;
        let last = self.end.clone() + &text(&bytes[bytes.len().saturating_sub(400)..]);
        self.end = last[last.len().saturating_sub(400)..].to_owned();
    }
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("ASCII")
}

fn request(headers: &str, body: &str) -> String {
    format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Type: application/json\r\n\
         Accept: application/json, text/event-stream\r\nContent-Length: {}\r\n{headers}\r\n{body}",
        body.len()
    )
}

const SMALL: &str = r#"{"jsonrpc":"2.0","id":42,"method":"ping"}"#;
const ANSWER: &str = r#"{"jsonrpc":"2.0","id":42,"result":{}}"#;
const LARGE: &str = r#"{"jsonrpc":"2.0","id":42,"method":"large"}"#;
const LARGE_WISHING: &str = r#"{"jsonrpc":"2.0","id":42,"method":"large","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}}}"#;
const MODERN_CALL: &str = r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"t","arguments":{},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;
const ROUTED: &str =
    "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: t\r\nMcp-Param-A: a\r\n";

/// What a large answer is made of, as it flows.
#[derive(Clone, Copy)]
struct Flood {
    /// The head's lines.
    head: &'static str,
    start: &'static str,
    again: &'static str,
    bytes: u64,
}

/// A server that answers `large` and `tools/list` with a flood, and all else with little. The number is how many bytes
/// of floods it could send.
fn server(flood: Flood) -> (SocketAddr, Arc<AtomicU64>) {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let sent = Arc::new(AtomicU64::new(0));
    let counts = Arc::clone(&sent);
    thread::spawn(move || {
        for tcp in listener.incoming() {
            let (mut tcp, sent) = (tcp.expect("a connection"), Arc::clone(&counts));
            thread::spawn(move || {
                let request = read(&mut tcp);
                if request.contains("\"large\"") || request.contains("\"tools/list\"") {
                    pour(&mut tcp, flood, &sent);
                } else {
                    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
                    let _ = write!(tcp, "{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
                }
            });
        }
    });
    (address, sent)
}

/// Sends a flood until it is over or nobody takes more of it.
fn pour(tcp: &mut TcpStream, flood: Flood, sent: &AtomicU64) {
    let again = flood.again.repeat((1 << 20) / flood.again.len());
    let head = format!("HTTP/1.1 200 OK\r\n{}connection: close\r\n\r\n{}", flood.head, flood.start);
    let mut left = flood.bytes;
    if tcp.write_all(head.as_bytes()).is_err() {
        return;
    }
    while left > 0 {
        let length = again.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        let Ok(length) = tcp.write(&again.as_bytes()[..length]) else { return };
        left -= length as u64;
        sent.fetch_add(length as u64, Relaxed);
    }
}

/// A request with the body that its `content-length` tells of.
fn read(tcp: &mut TcpStream) -> String {
    let mut all = Vec::new();
    let mut byte = [0];
    while !all.ends_with(b"\r\n\r\n") {
        match tcp.read(&mut byte) {
            Ok(1) => all.push(byte[0]),
            _ => return String::new(),
        }
    }
    let head = text(&all);
    let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("a number"))];
    tcp.read_exact(&mut body).expect("a body");
    head + &text(&body)
}

const JSON: Flood = Flood {
    head: "content-type: application/json\r\n",
    start: r#"{"jsonrpc":"2.0","id":42,"result":{"text":""#,
    again: "0123456789abcdef",
    bytes: GIB,
};

#[test]
fn a_gigabyte_that_would_be_held_back_is_refused_at_the_limit() {
    let (address, sent) = server(JSON);
    let gateway = Gateway::before(address, "");
    let got = gateway.ask("", LARGE_WISHING);
    assert!(got.start.starts_with("HTTP/1.1 502 ") && got.end.contains("\"id\":42,\"error\":{"), "{got:?}");
    // They asked in German, and are told in German.
    assert!(got.end.contains("\"code\":-32603") && got.end.contains("die Grenze `answer`"), "{got:?}");
    // What was on its way when it was refused is lost, but no more than that is taken.
    assert!(sent.load(Relaxed) < 128 * MIB, "{} MiB were taken", sent.load(Relaxed) / MIB);
    gateway.check("1 GiB of JSON to a preference", HELD);
}

#[test]
fn a_gigabyte_that_is_not_held_back_streams_through() {
    let (address, sent) = server(JSON);
    let gateway = Gateway::before(address, "");
    let got = gateway.ask("", LARGE);
    assert!(got.start.starts_with("HTTP/1.1 200 ") && got.bytes > GIB, "{got:?}");
    assert_eq!(sent.load(Relaxed), GIB);
    gateway.check("1 GiB of JSON without a preference", FLOWING);
}

#[test]
fn an_event_of_a_gigabyte_is_refused_at_the_limit() {
    for (body, start) in [(LARGE, "data: "), (LARGE_WISHING, "data: \n\n: x\ndata: "), (LARGE, ": ")] {
        let flood = Flood { head: "content-type: text/event-stream\r\n", start, ..JSON };
        let (address, sent) = server(flood);
        let gateway = Gateway::before(address, "");
        let got = gateway.ask("", body);
        assert!(got.start.starts_with("HTTP/1.1 200 "), "{got:?}");
        assert!(
            got.end.contains("\"id\":42,\"error\":{")
                && got.end.contains("\"code\":-32603")
                && got.end.contains("`event`"),
            "{got:?}"
        );
        assert!(sent.load(Relaxed) < 64 * MIB, "{} MiB were taken", sent.load(Relaxed) / MIB);
        gateway.check("an event of 1 GiB", FLOWING);
    }
}

#[test]
fn events_without_end_stream_through() {
    let progress =
        r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}"#;
    let small = format!("data: {progress}\n\n");
    let larger = format!("data: {progress}{}\n\n", " ".repeat(4000));
    let comment = ": still here\n\n".to_owned();
    let many = many();
    for (body, again, bytes) in [
        (LARGE, &larger, many),
        (LARGE_WISHING, &larger, many),
        (LARGE_WISHING, &small, many / 16),
        (LARGE, &comment, many / 16),
    ] {
        let flood = Flood {
            head: "content-type: text/event-stream\r\n",
            start: "",
            again: again.clone().leak(),
            bytes,
        };
        let (address, sent) = server(flood);
        let gateway = Gateway::before(address, "");
        let got = gateway.ask("", body);
        assert!(got.start.starts_with("HTTP/1.1 200 ") && got.bytes > bytes, "{got:?}");
        assert_eq!(sent.load(Relaxed), bytes);
        gateway.check("events without end", FLOWING);
    }
}

/// How many bytes of events: a debug build takes its time with them. `ATTUNE_FLOOD=1024` is a whole GiB.
fn many() -> u64 {
    std::env::var("ATTUNE_FLOOD").map_or(128, |mib| mib.parse().expect("a number of MiB")) * MIB
}

#[test]
fn a_listing_of_a_gigabyte_is_given_up_and_the_call_goes_on() {
    let floods = [
        JSON,
        Flood { head: "content-type: text/event-stream\r\n", start: "data: ", ..JSON },
        Flood { head: "content-type: text/event-stream\r\n", start: "", again: "data: 1\n\n", ..JSON },
        Flood {
            start: r#"{"jsonrpc":"2.0","id":"attune-schemas","result":{"tools":["#,
            again: "{},",
            ..JSON
        },
    ];
    for flood in floods {
        let (address, sent) = server(flood);
        let gateway = Gateway::before(address, "");
        let got = gateway.ask(ROUTED, MODERN_CALL);
        assert!(got.start.starts_with("HTTP/1.1 200 ") && got.end.ends_with(ANSWER), "{got:?}");
        assert!((1..128 * MIB).contains(&sent.load(Relaxed)), "{} MiB were taken", sent.load(Relaxed) / MIB);
        gateway.check("a listing of 1 GiB", HELD);
    }
}

/// What is kept for a caller that does not read: what was read ahead for it, and what waits to be written.
const FOR_EACH: u64 = 256 << 10;
/// How many callers, where so many files can be open.
const CALLERS: usize = 2000;

#[tokio::test(flavor = "multi_thread")]
async fn callers_that_stop_reading_are_cut_off() {
    // Each takes two files here, and two in the gateway, which inherits the limit.
    let files = rlimit::increase_nofile_limit(u64::MAX).expect("a limit");
    let callers = usize::try_from(files.saturating_sub(200) / 2).unwrap_or(CALLERS).min(CALLERS);
    println!("{callers} callers");
    let calls = Arc::new(Calls::default());
    let gateway = Gateway::before(endless(&calls), "[limits]\nunread = '1 s'\n");
    let address: SocketAddr = gateway.address.parse().expect("an address");
    let silent: Vec<_> = (0..callers).map(|_| far_away(address)).collect();
    let given_up = || calls.given_up.load(Relaxed) == callers as u64;
    eventually(given_up, || format!("{callers} callers, {calls:?}, who got {:?}", starts(&silent)));
    assert_eq!(calls.begun.load(Relaxed), callers as u64);
    let most = FLOWING + callers as u64 * FOR_EACH;
    tokio::task::block_in_place(|| gateway.check(&format!("{callers} callers that do not read"), most));
}

/// What the server behind saw of its calls.
#[derive(Debug, Default)]
struct Calls {
    begun: AtomicU64,
    given_up: AtomicU64,
}

/// A server whose answer to `large` has no end.
fn endless(calls: &Arc<Calls>) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    let (calls, runtime) = (Arc::clone(calls), tokio::runtime::Handle::current());
    // Connections are taken on a thread of their own, however busy the others are.
    thread::spawn(move || {
        for tcp in listener.incoming() {
            let tcp = tcp.expect("a connection");
            tcp.set_nonblocking(true).expect("a choice");
            let _inside = runtime.enter();
            let tcp = tokio::net::TcpStream::from_std(tcp).expect("a connection");
            runtime.spawn(pour_for_ever(tcp, Arc::clone(&calls)));
        }
    });
    address
}

async fn pour_for_ever(mut tcp: tokio::net::TcpStream, calls: Arc<Calls>) {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};

    let mut asked = Vec::new();
    while !asked.ends_with(b"}") {
        assert_ne!(tcp.read_buf(&mut asked).await.expect("a request"), 0);
    }
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\n";
    if !text(&asked).contains("\"large\"") {
        let answer = format!("{head}content-length: {}\r\n\r\n{ANSWER}", ANSWER.len());
        return tcp.write_all(answer.as_bytes()).await.expect("it reads");
    }
    calls.begun.fetch_add(1, Relaxed);
    let _ = tcp.write_all(format!("{head}\r\n").as_bytes()).await;
    while tcp.write_all(&[b' '; 16 << 10]).await.is_ok() {}
    calls.given_up.fetch_add(1, Relaxed);
}

/// How often each beginning of an answer came.
fn starts(callers: &[socket2::Socket]) -> BTreeMap<String, usize> {
    let mut starts = BTreeMap::new();
    for mut caller in callers {
        let mut start = [0; 12];
        caller.set_nonblocking(true).expect("a choice");
        let read = caller.read(&mut start);
        let read = read.map_or_else(|error| error.to_string(), |length| text(&start[..length]));
        *starts.entry(read).or_default() += 1;
    }
    starts
}

/// A caller who asks for much and reads nothing. Its segments are as small as those of a real network: those of
/// loopback would let the system keep megabytes for each.
fn far_away(gateway: SocketAddr) -> socket2::Socket {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).expect("a socket");
    socket.set_tcp_mss(1400).expect("small segments");
    socket.set_recv_buffer_size(4096).expect("a small buffer");
    socket.connect(&gateway.into()).expect("it listens");
    (&socket).write_all(request("", LARGE).as_bytes()).expect("it reads");
    socket
}

fn eventually(is_so: impl Fn() -> bool, or: impl Fn() -> String) {
    for _ in 0..600 {
        if is_so() {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
    panic!("{}", or());
}

/// The first limit that the system tells of open files, of a gateway that was started with these, and its log up to the line with
/// `last` in it.
#[cfg(target_os = "linux")]
fn files(soft: u32, hard: u32, more: &str, last: &str) -> (String, String) {
    use std::io::{BufRead, BufReader};
    use std::process::{Command, Stdio};

    let folder = std::env::temp_dir().join(format!("attune-files-{}-{soft}-{hard}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    std::fs::write(folder.join("attune.toml"), more).expect("a file");
    let serve = format!("ulimit -S -n {soft} && ulimit -H -n {hard} && exec \"$0\" \"$@\"");
    let mut child = Command::new("sh")
        .args(["-c", &serve, env!("CARGO_BIN_EXE_attune"), "serve", "--upstream", "http://127.0.0.1:9/mcp"])
        .args(FREE)
        .current_dir(&folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("a shell");
    let mut first = [0; 16];
    child.stdout.as_mut().expect("a pipe").read_exact(&mut first).expect("it starts");
    let limits = std::fs::read_to_string(format!("/proc/{}/limits", child.id())).expect("limits");
    let line = limits.lines().find(|line| line.starts_with("Max open files")).expect("a limit").to_owned();
    let mut log = String::new();
    for said in BufReader::new(child.stderr.take().expect("a pipe")).lines().map_while(Result::ok) {
        log += &format!("{said}\n");
        if said.contains(last) {
            break;
        }
    }
    child.kill().expect("it runs");
    child.wait().expect("it ends");
    std::fs::remove_dir_all(&folder).expect("a folder");
    (line.split_whitespace().nth(3).expect("a number").to_owned(), log)
}

#[test]
#[cfg(target_os = "linux")]
fn serve_makes_room_for_its_connections_or_says_that_there_is_none() {
    let few = "[limits]\nconnections = 200\ncalls = 60\nstreams = 40\n";
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let needed = 364 + 4 * cores.saturating_sub(8);
    let (soft, log) = files(100, 2000, few, "the server behind is not running");
    assert_eq!(soft, needed.to_string());
    // That there is no server behind may be found out before the gateway is ended.
    let is_other = |line: &&str| line.contains("WARN") && !line.contains("the server behind is not running");
    assert_eq!(log.lines().find(is_other), None, "{log}");
    let (soft, log) = files(100, 300, few, "fewer connections are taken");
    assert_eq!(soft, "300");
    let warned =
        log.contains("not as many files can be open") && log.contains(&format!("open=300 needed={needed}"));
    assert!(warned, "{log}");
    assert!(
        log.contains("fewer connections are taken") && log.contains("connections=200 possible=1"),
        "{log}"
    );
}
