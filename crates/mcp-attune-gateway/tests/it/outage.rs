//! Servers behind that fail, as callers of the whole gateway see it: a clear error with the request's id, or a cut
//! that cannot be taken for an answer; and the next call works. Rules: G5, G10.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::sync::mpsc;

use crate::support::{behind, message, rest, soon};
use crate::whole::{ACCEPT, gateway, gateway_here, in_front_of, unchunked};

/// How the server behind fails, after it said something.
#[derive(Clone, Copy, Debug)]
enum End {
    /// It hangs up.
    Close,
    /// Its machine forgets the connection.
    Reset,
    /// It says no more.
    Silence,
}

/// A server that says this to its first caller and then ends; every other call gets an answer.
async fn fails_once(says: &'static [u8], end: End) -> SocketAddr {
    behind(move |number, mut tcp| async move {
        let asked = message(&mut tcp).await;
        if number > 0 {
            tcp.write_all(answer(&asked).as_bytes()).await.unwrap();
            return;
        }
        tcp.write_all(says).await.unwrap();
        match end {
            End::Close => {}
            End::Reset => {
                tokio::time::sleep(Duration::from_millis(50)).await;
                tcp.set_zero_linger().unwrap();
            }
            End::Silence => {
                rest(&mut tcp).await;
            }
        }
    })
    .await
}

const GOOD: &str = r#"{"jsonrpc":"2.0","id":42,"result":{}}"#;

/// A good answer.
fn answer(asked: &str) -> String {
    assert!(asked.starts_with("POST /mcp "), "{asked}");
    format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{GOOD}",
        GOOD.len()
    )
}

/// What a caller got, up to wherever it ended.
#[derive(Debug)]
struct Got {
    status: u16,
    head: String,
    body: Vec<u8>,
}

impl Got {
    fn text(&self) -> String {
        String::from_utf8(self.body.clone()).unwrap()
    }

    /// Whether HTTP says that this is all of it.
    fn whole(&self) -> bool {
        let length = self.head.lines().find_map(|line| line.strip_prefix("content-length: "));
        match length {
            Some(length) => self.body.len() == length.parse::<usize>().unwrap(),
            None => self.head.contains("transfer-encoding: chunked") && self.body.ends_with(b"0\r\n\r\n"),
        }
    }

    #[track_caller]
    fn check_error(&self, status: u16) {
        assert!(self.whole(), "{self:?}");
        check_error(&self.text());
        assert_eq!(self.status, status, "{self:?}");
    }
}

#[track_caller]
fn check_error(text: &str) {
    let error: Value = serde_json::from_str(text).unwrap_or_else(|_| panic!("{text}"));
    assert_eq!((&error["id"], &error["error"]["code"]), (&json!(42), &json!(-32603)), "{text}");
    assert!(error["error"]["message"].as_str().unwrap().len() > 10, "{text}");
}

/// A request with a language preference, so that a JSON answer is held back, or without.
fn request(preference: bool) -> String {
    let meta = if preference {
        r#","params":{"_meta":{"io.modelcontextprotocol/acceptLanguage":"de"}}"#
    } else {
        ""
    };
    format!(r#"{{"jsonrpc":"2.0","id":42,"method":"ping"{meta}}}"#)
}

/// Asks, with these headers besides, and takes what comes.
async fn ask(address: SocketAddr, more: &str, body: &str) -> Got {
    let mut tcp = TcpStream::connect(address).await.unwrap();
    let mut head = format!(
        "POST /mcp HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\nContent-Length: {}\r\n{more}",
        body.len()
    );
    for (name, value) in ACCEPT {
        head += &format!("{name}: {value}\r\n");
    }
    tcp.write_all(format!("{head}\r\n{body}").as_bytes()).await.unwrap();
    let mut all = Vec::new();
    // A cut may come as a reset: what was read until then counts.
    let _ = soon(tcp.read_to_end(&mut all)).await;
    let end = all.windows(4).position(|window| window == b"\r\n\r\n").expect("a head") + 4;
    let head = String::from_utf8(all[..end].to_vec()).unwrap();
    let status = head.split(' ').nth(1).unwrap().parse().unwrap();
    Got { status, head, body: all[end..].to_vec() }
}

/// The whole gateway before a server that fails once so: what its caller got. The next call works.
async fn failing(says: &'static [u8], end: End, preference: bool) -> Got {
    let hasty = "[limits]\nupstream_first_byte = '1 s'\nstream_idle = '1 s'\n";
    let gateway = gateway(&(in_front_of(fails_once(says, end).await) + hasty), None).await;
    let got = ask(gateway.callers, "", &request(preference)).await;
    for preference in [true, false] {
        let next = ask(gateway.callers, "", &request(preference)).await;
        assert_eq!(next.status, 200, "{next:?}");
        assert!(next.whole() && next.text().contains("\"id\":42,\"result\":{"), "{next:?}");
    }
    got
}

const EVENTS: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n9\r\ndata: 1\n\n\r\n7\r\ndata: {\r\n";
const JSON: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 900\r\n\r\n{\"jsonrpc\":";
const CHUNKED: &[u8] =
    b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n4\r\n{\"js\r\n";

#[tokio::test]
async fn a_stream_whose_server_is_killed_ends_with_an_error_event() {
    for end in [End::Close, End::Reset, End::Silence] {
        for preference in [true, false] {
            let got = failing(EVENTS, end, preference).await;
            assert!(got.status == 200 && got.whole(), "{end:?} {got:?}");
            let body = unchunked(&got.text());
            check_error(body.strip_prefix("data: 1\n\ndata: ").unwrap().trim_end());
        }
    }
}

#[tokio::test]
async fn half_an_answer_that_was_held_back_is_an_error_with_the_id() {
    for says in [JSON, CHUNKED] {
        failing(says, End::Close, true).await.check_error(502);
        failing(says, End::Reset, true).await.check_error(502);
        failing(says, End::Silence, true).await.check_error(504);
    }
}

#[tokio::test]
async fn half_an_answer_that_was_not_held_back_is_cut() {
    for says in [JSON, CHUNKED] {
        for end in [End::Close, End::Reset, End::Silence] {
            let got = failing(says, end, false).await;
            // The head may have gone on already, but nobody can take what came for all of it.
            assert!(got.status == 200 && !got.whole(), "{end:?} {got:?}");
            assert!(got.text().contains("{\"js"), "{end:?} {got:?}");
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_answer_is_an_error_with_the_id() {
    for preference in [true, false] {
        for says in [&b""[..], b"HTTP/1.1 200", b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"] {
            failing(says, End::Silence, preference).await.check_error(504);
            failing(says, End::Close, preference).await.check_error(502);
            failing(says, End::Reset, preference).await.check_error(502);
        }
        for says in
            [&b"220 mail.example ESMTP\r\n"[..], b"\x16\x03\x01\x02\x00\x01", b"HTTP/1.1 99999 x\r\n\r\n"]
        {
            failing(says, End::Silence, preference).await.check_error(502);
        }
    }
}

#[tokio::test]
async fn a_server_that_does_not_even_read_is_an_error_with_the_id() {
    let server = behind(|_, tcp| async move {
        tokio::time::sleep(Duration::from_secs(60)).await;
        drop(tcp);
    })
    .await;
    let toml = in_front_of(server) + "[limits]\nupstream_first_byte = '400 ms'\nbody = '32 MiB'\n";
    let gateway = gateway(&toml, None).await;
    let much = " ".repeat(16 << 20);
    for preference in [true, false] {
        ask(gateway.callers, "", &(request(preference) + &much)).await.check_error(504);
    }
}

/// Lines that were logged on this thread.
#[derive(Clone, Default)]
pub(crate) struct Log(Arc<Mutex<Vec<u8>>>);

impl Log {
    pub(crate) fn listen(&self) -> tracing::subscriber::DefaultGuard {
        self.listen_from(tracing::Level::INFO)
    }

    /// The same from a level on.
    pub(crate) fn listen_from(&self, level: tracing::Level) -> tracing::subscriber::DefaultGuard {
        let log = self.clone();
        let subscriber = tracing_subscriber::fmt().with_ansi(false).with_max_level(level);
        tracing::subscriber::set_default(subscriber.with_writer(move || log.clone()).finish())
    }

    /// How often this was logged since the last time.
    pub(crate) fn count(&self, what: &str) -> usize {
        let all = std::mem::take(&mut *self.0.lock().unwrap());
        String::from_utf8(all).unwrap().matches(what).count()
    }

    /// Waits until this was logged: all that was since the last time.
    pub(crate) async fn until(&self, what: &str) -> String {
        let logged = async {
            while !String::from_utf8_lossy(&self.0.lock().unwrap()).contains(what) {
                tokio::time::sleep(Duration::from_millis(5)).await;
            }
        };
        soon(logged).await;
        String::from_utf8(std::mem::take(&mut *self.0.lock().unwrap())).unwrap()
    }
}

impl std::io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// `GOOD`, compressed.
const GZIP: &[u8] = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xabV\xca*\xce\xcf+*HV\xb2R2\xd23P\xd2Q\xcaLQ\xb221\xd2Q*J-.\xcd)Q\xb2\xaa\xae\xad\x05\x00\x9e\xc2\x81\xa4%\x00\x00\x00";

/// 100,000 zeros, compressed: a thousand of these are a hundred megabytes.
fn zeros() -> Vec<u8> {
    let start = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03\xed\xc1\x31\x01\x00\x00\x00\xc2\xa0\xf5\x4f\x6d\x0d\x0f\xa0";
    let end = b"\x80\x57\x03\x7d\x95\x11\xd4\xa0\x86\x01\x00";
    [&start[..], &[0; 94], end].concat()
}

/// A server that answers every request with the same bytes.
async fn answers(head: &'static str, body: Vec<u8>) -> (SocketAddr, mpsc::UnboundedReceiver<String>) {
    let (seen, asked) = mpsc::unbounded_channel();
    let body = Arc::new(body);
    let server = behind(move |_, mut tcp| {
        let (seen, body) = (seen.clone(), body.clone());
        async move {
            seen.send(message(&mut tcp).await).unwrap();
            let head = format!(
                "HTTP/1.1 200 OK\r\n{head}connection: close\r\ncontent-length: {}\r\n\r\n",
                body.len()
            );
            tcp.write_all(head.as_bytes()).await.unwrap();
            tcp.write_all(&body).await.unwrap();
        }
    })
    .await;
    (server, asked)
}

const NOT_ASKED_FOR: &str = "encoded although that was not asked for";

#[tokio::test]
async fn gzip_that_was_not_asked_for_passes_untouched_and_is_logged() {
    let log = Log::default();
    let _listening = log.listen();
    for kind in [
        "content-type: application/json\r\ncontent-encoding: gzip\r\n",
        "content-type: text/event-stream\r\ncontent-encoding: gzip\r\n",
        "content-type: application/json\r\ncontent-encoding: identity, gzip\r\n",
    ] {
        for body in [GZIP.to_vec(), zeros().repeat(1000), b"garbage".to_vec(), Vec::new()] {
            let (server, mut asked) = answers(kind, body.clone()).await;
            let gateway = gateway_here(&in_front_of(server)).await;
            let got = ask(gateway.callers, "Accept-Encoding: gzip\r\n", &request(true)).await;
            assert!(soon(asked.recv()).await.unwrap().contains("\r\naccept-encoding: identity\r\n"));
            assert!(got.status == 200 && got.head.contains(kind.split_once("content-enc").unwrap().1));
            assert!(got.body == body, "{} bytes came for {}", got.body.len(), body.len());
            assert_eq!(log.count(NOT_ASKED_FOR), 1);
        }
    }
}

#[tokio::test]
async fn gzip_that_a_caller_asked_for_is_nothing_to_log() {
    let log = Log::default();
    let _listening = log.listen();
    let kind = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
    let (server, mut asked) = answers(kind, GZIP.to_vec()).await;
    let gateway = gateway_here(&in_front_of(server)).await;
    let got = ask(gateway.callers, "Accept-Encoding: gzip\r\n", &request(false)).await;
    assert!(soon(asked.recv()).await.unwrap().contains("\r\naccept-encoding: gzip\r\n"));
    assert_eq!((got.status, &got.body[..]), (200, GZIP));
    assert_eq!(log.count("WARN"), 0);
}

const ROUTED: &str = "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: slow\r\nMcp-Param-Region: eu\r\n";
const CALL: &str = r#"{"jsonrpc":"2.0","id":42,"method":"tools/call","params":{"name":"slow","arguments":{"region":"eu"},"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}}}"#;

#[tokio::test]
async fn tools_that_are_listed_in_gzip_are_not_known_and_the_call_goes_on() {
    let log = Log::default();
    let _listening = log.listen();
    for body in [GZIP.to_vec(), zeros().repeat(1000)] {
        let kind = "content-type: application/json\r\ncontent-encoding: gzip\r\n";
        let (server, mut asked) = answers(kind, body.clone()).await;
        let gateway = gateway_here(&in_front_of(server)).await;
        let got = ask(gateway.callers, ROUTED, CALL).await;
        for expected in ["\"method\":\"tools/list\"", "\"method\":\"tools/call\""] {
            assert!(soon(asked.recv()).await.unwrap().contains(expected), "{expected}");
        }
        assert!(got.status == 200 && got.body == body);
        assert_eq!(log.count("the tools could not be listed"), 1);
    }
}
