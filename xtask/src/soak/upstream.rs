//! A server that answers with the token that it was asked with, and does what servers should not.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::Result;

use super::random::{Random, number, token, tokens};

/// What becomes of a call at the server.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(super) enum Fate {
    /// A JSON answer of a told length.
    Json,
    /// The same in chunks.
    Chunked,
    /// An event of a stream.
    Events,
    /// An answer after which the connection is closed.
    Closing,
    /// An interim answer first.
    Interim,
    /// An answer that takes a while to begin.
    Slow,
    /// An answer, and together with it another that nobody asked for.
    Twice,
    /// A large answer.
    Huge,
    /// A failure of the server's own, with the token in it.
    Failure,
    /// Less than the length that was told.
    Cut,
    /// More than the length that was told.
    Short,
    BrokenChunk,
    BrokenStream,
    BadHead,
    /// A connection that is reset.
    Reset,
    /// Nothing, until the gateway gives up.
    Silence,
}

/// How many of a thousand calls meet what. The others are answered with JSON.
const FATES: [(u64, Fate); 15] = [
    (150, Fate::Chunked),
    (150, Fate::Events),
    (50, Fate::Closing),
    (30, Fate::Interim),
    (20, Fate::Slow),
    (30, Fate::Twice),
    (3, Fate::Huge),
    (20, Fate::Failure),
    (20, Fate::Cut),
    (15, Fate::Short),
    (20, Fate::BrokenChunk),
    (20, Fate::BrokenStream),
    (15, Fate::BadHead),
    (20, Fate::Reset),
    (2, Fate::Silence),
];

impl Fate {
    /// The fate of a call with this token.
    pub(super) fn of(seed: u64, token: u64) -> Self {
        let mut place = Random::new(seed ^ token).below(1000);
        for (share, fate) in FATES {
            if place < share {
                return fate;
            }
            place -= share;
        }
        Self::Json
    }

    /// Whether its caller gets the token with status 200.
    pub(super) fn is_answered(self) -> bool {
        matches!(
            self,
            Self::Json
                | Self::Chunked
                | Self::Events
                | Self::Closing
                | Self::Interim
                | Self::Slow
                | Self::Twice
                | Self::Huge
        )
    }
}

/// A running server.
pub(super) struct Upstream {
    pub(super) address: SocketAddr,
    over: Arc<AtomicBool>,
}

const TOOLS: &str = r#"{"tools":[{"name":"echo","inputSchema":{"type":"object","properties":{"token":{"type":"string","x-mcp-header":"Token"}}}}]}"#;
/// A token of no caller.
const STRAY: u64 = u64::MAX;
/// How often a connection without requests looks whether all is over.
const LOOK: Duration = Duration::from_millis(200);

impl Upstream {
    pub(super) fn start(seed: u64) -> Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0")?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let told = Arc::clone(&over);
        thread::spawn(move || {
            for tcp in listener.incoming() {
                if told.load(Ordering::Relaxed) {
                    return;
                }
                let told = Arc::clone(&told);
                if let Ok(tcp) = tcp {
                    thread::spawn(move || serve(tcp, seed, &told));
                }
            }
        });
        Ok(Self { address, over })
    }

    /// Closes all connections, and takes no more.
    pub(super) fn stop(&self) {
        self.over.store(true, Ordering::Relaxed);
        let _ = TcpStream::connect(self.address);
    }
}

/// Answers the requests of one connection.
fn serve(mut tcp: TcpStream, seed: u64, over: &AtomicBool) {
    let _ = tcp.set_nodelay(true);
    let _ = tcp.set_read_timeout(Some(LOOK));
    let mut came = Vec::new();
    let mut room = vec![0; 16 * 1024];
    loop {
        if let Some(size) = request(&came) {
            let keeps = answer(&mut tcp, &came[..size], seed);
            came.drain(..size);
            if !keeps {
                return;
            }
            continue;
        }
        match tcp.read(&mut room) {
            Ok(0) => return,
            Ok(size) => came.extend_from_slice(&room[..size]),
            Err(error) if is_pause(&error) && !over.load(Ordering::Relaxed) => {}
            Err(_) => return,
        }
    }
}

pub(super) fn is_pause(error: &std::io::Error) -> bool {
    matches!(error.kind(), std::io::ErrorKind::WouldBlock | std::io::ErrorKind::TimedOut)
}

/// How long the request at the beginning is, where all of it came. The gateway sends requests of a told length, or in chunks
/// without trailers.
fn request(came: &[u8]) -> Option<usize> {
    let head = came.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&came[..head]).to_ascii_lowercase();
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let size = match length {
        Some(length) => head + length.trim().parse::<usize>().ok()?,
        None if text.contains("transfer-encoding:") => {
            head + came[head..].windows(5).position(|five| five == b"0\r\n\r\n")? + 5
        }
        None => head,
    };
    (came.len() >= size).then_some(size)
}

/// Answers a request, and says whether the connection goes on.
fn answer(tcp: &mut TcpStream, request: &[u8], seed: u64) -> bool {
    let text = String::from_utf8_lossy(request);
    let id =
        text.split("\"id\":").nth(1).map_or("null", |rest| rest.split([',', '}']).next().unwrap_or("null"));
    if text.contains("\"tools/list\"") {
        return tcp
            .write_all(json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{TOOLS}}}"#)).as_bytes())
            .is_ok();
    }
    let own = text.find("\"token\":").and_then(|at| tokens(&request[at..]).next().and_then(number));
    let Some(own) = own else {
        return tcp
            .write_all(json(&format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#)).as_bytes())
            .is_ok();
    };
    let body = result(id, own, "");
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let head = |kind: &str, more: &str| format!("HTTP/1.1 200 OK\r\nContent-Type: {kind}\r\n{more}\r\n");
    let chunked = |kind: &str| head(kind, "Transfer-Encoding: chunked\r\n");
    let (kind, events) = ("application/json", "text/event-stream");
    let event = format!("data: {body}\n\n");
    let fate = Fate::of(seed, own);
    let (text, keeps) = match fate {
        Fate::Json => (json(&body), true),
        Fate::Slow => {
            thread::sleep(Duration::from_millis(20 + own % 60));
            (json(&body), true)
        }
        Fate::Chunked => {
            let (one, two) = body.split_at(body.len() / 2);
            (format!("{}{}{}0\r\n\r\n", chunked(kind), chunk(one), chunk(two)), true)
        }
        Fate::Events => (format!("{}{}0\r\n\r\n", chunked(events), chunk(&event)), true),
        Fate::Closing => (json(&body).replacen("\r\n", "\r\nConnection: close\r\n", 1), false),
        Fate::Interim => (format!("HTTP/1.1 100 Continue\r\n\r\n{}", json(&body)), true),
        Fate::Twice => (format!("{}{}", json(&body), json(&result(id, STRAY, ""))), true),
        Fate::Huge => (json(&result(id, own, &"x".repeat(1 << 20))), true),
        Fate::Failure => (json(&body).replacen("200 OK", "500 Internal Server Error", 1), true),
        Fate::Cut => (json(&body)[..json(&body).len() - 20].to_owned(), false),
        Fate::Short => (format!("{}{body}", head(kind, "Content-Length: 10\r\n")), true),
        Fate::BrokenChunk => (format!("{}{}zz\r\n{body}", chunked(kind), chunk(&body[..20])), false),
        Fate::BrokenStream => (format!("{}{}", chunked(events), chunk(&event[..event.len() / 2])), false),
        Fate::BadHead => {
            (format!("HTTP/1.1 200 OK\r\nX A: 1\r\nContent-Length: {}\r\n\r\n{body}", body.len()), false)
        }
        Fate::Reset => {
            reset(tcp);
            return false;
        }
        Fate::Silence => {
            thread::sleep(Duration::from_millis(900));
            return false;
        }
    };
    tcp.write_all(text.as_bytes()).is_ok() && keeps
}

fn result(id: &str, own: u64, more: &str) -> String {
    let token = token(own);
    format!(
        r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{more}"}}],"structuredContent":{{"token":"{token}"}}}}}}"#
    )
}

fn json(body: &str) -> String {
    format!(
        "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// The connection ends with a reset.
fn reset(tcp: &TcpStream) {
    #[cfg(unix)]
    let _ = rustix::net::sockopt::set_socket_linger(tcp, Some(Duration::ZERO));
    #[cfg(not(unix))]
    let _ = tcp;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_fate_is_met_and_most_are_answered() {
        let fates: Vec<Fate> = (0..20_000).map(|token| Fate::of(1, token)).collect();
        for (_, fate) in FATES {
            assert!(fates.contains(&fate), "{fate:?}");
        }
        let answered = fates.iter().filter(|fate| fate.is_answered()).count();
        assert!((16_000..18_500).contains(&answered), "{answered}");
    }

    #[test]
    fn a_request_is_taken_when_all_of_it_came() {
        for whole in [
            "POST / HTTP/1.1\r\nContent-Length: 2\r\n\r\nab",
            "POST / HTTP/1.1\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(request(format!("{whole}GET").as_bytes()), Some(whole.len()));
            assert_eq!(request(&whole.as_bytes()[..whole.len() - 1]), None);
        }
    }
}
