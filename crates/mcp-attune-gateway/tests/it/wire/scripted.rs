//! A server behind that records what reaches it, a gateway in front of it, and a caller that sends raw bytes.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_attune_gateway::config::HttpImplementation;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout};

use super::data::Settings;
use super::strict::{self, Answer, Request};
use crate::support::behind;
use crate::whole::{Running, gateway_here};

/// What the server answers where nothing else was agreed.
pub(crate) const RESULT: &str = r#"{"jsonrpc":"2.0","id":1,"result":{}}"#;
const TOOLS: &str = r#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"sql","inputSchema":{"type":"object","properties":{"region":{"type":"string","x-mcp-header":"Region"}}}}]}}"#;
/// A header of every answer that the server gave, so that its answers are told from the gateway's own.
pub(crate) const REACHED: &str = "x-reached";

/// What reached the server: a request, or what is wrong with the bytes that came.
pub(crate) type Arrival = Result<Request, Broken>;

/// Bytes that are no request.
#[derive(Clone, Debug)]
pub(crate) struct Broken {
    /// Whether the rest may have been on its way: what is there so far is in order.
    pub(crate) partial: bool,
    pub(crate) why: String,
    pub(crate) came: Vec<u8>,
}

impl Broken {
    fn new(partial: bool, why: &str, came: &[u8]) -> Self {
        Self { partial, why: why.to_owned(), came: came.to_vec() }
    }
}

impl std::fmt::Display for Broken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}: {}", self.why, super::data::shown(&self.came))
    }
}

/// The bytes of the next answer, and whether the connection is closed after it.
type Script = Option<(Vec<u8>, bool)>;

/// The server behind.
#[derive(Clone, Default)]
pub(crate) struct Server {
    log: Arc<Mutex<Vec<Arrival>>>,
    next: Arc<Mutex<Script>>,
}

impl Server {
    async fn start(&self) -> SocketAddr {
        let server = self.clone();
        behind(move |_, tcp| server.clone().serve(tcp)).await
    }

    async fn serve(self, mut tcp: TcpStream) {
        let mut came = Vec::new();
        loop {
            match strict::request(&came) {
                Ok(Some((request, size))) => {
                    came.drain(..size);
                    let (answer, closes) = self.answer(request);
                    if tcp.write_all(&answer).await.is_err() || closes {
                        return;
                    }
                }
                Ok(None) => {
                    if !matches!(tcp.read_buf(&mut came).await, Ok(1..)) {
                        if !came.is_empty() {
                            self.record(Err(Broken::new(true, "a part of a request", &came)));
                        }
                        return;
                    }
                }
                Err(wrong) => {
                    self.record(Err(Broken::new(false, &wrong, &came)));
                    return;
                }
            }
        }
    }

    fn answer(&self, request: Request) -> (Vec<u8>, bool) {
        // The gateway lists by itself, to know what a tool declares.
        if contains(&request.body, b"\"method\":\"tools/list\"") {
            return (answer(TOOLS), false);
        }
        let body = if request.method == "HEAD" { "" } else { RESULT };
        self.record(Ok(request));
        self.next.lock().unwrap().take().unwrap_or_else(|| (answer(body), false))
    }

    fn record(&self, what: Arrival) {
        self.log.lock().unwrap().push(what);
    }

    /// Answers the next request, and no other, with these bytes.
    pub(crate) fn answer_next(&self, bytes: Vec<u8>, closes: bool) {
        *self.next.lock().unwrap() = Some((bytes, closes));
    }

    /// How many requests reached it since they were last taken.
    pub(crate) fn count(&self) -> usize {
        self.log.lock().unwrap().iter().filter(|arrival| arrival.is_ok()).count()
    }

    /// Takes what reached it.
    pub(crate) fn take(&self) -> Vec<Arrival> {
        std::mem::take(&mut self.log.lock().unwrap())
    }
}

fn answer(body: &str) -> Vec<u8> {
    let length = body.len();
    format!("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n{REACHED}: yes\r\n\r\n{body}")
        .into_bytes()
}

pub(crate) fn contains(text: &[u8], part: &[u8]) -> bool {
    part.is_empty() || text.windows(part.len()).any(|window| window == part)
}

/// A gateway with a server behind it, for one exchange at a time.
pub(crate) struct Lane {
    pub(crate) server: Server,
    pub(crate) gateway: Running,
}

impl Lane {
    pub(crate) async fn new(settings: &Settings, http: HttpImplementation) -> Self {
        let server = Server::default();
        let url = format!("http://{}/mcp", server.start().await);
        let mount = settings.mount.as_deref().unwrap_or("/mcp");
        let unknown = settings.unknown_paths.as_ref().map(|value| format!(", unknown_paths = '{value}'"));
        let unknown = unknown.unwrap_or_default();
        let server_settings = format!("server.http = '{}'\n", http.as_str());
        let mount_settings =
            format!("path = '{mount}'\nupstream = {{ url = '{url}', era = 'modern'{unknown} }}\n");
        let toml = format!("log = 'off'\n{server_settings}[mounts.a]\n{mount_settings}");
        Self { server, gateway: gateway_here(&toml).await }
    }
}

/// Gateways by their settings, all with the same implementation of HTTP.
pub(crate) struct Lanes {
    http: HttpImplementation,
    lanes: BTreeMap<Settings, Lane>,
}

impl Lanes {
    pub(crate) fn new(http: HttpImplementation) -> Self {
        Self { http, lanes: BTreeMap::new() }
    }

    pub(crate) async fn with(&mut self, settings: &Settings) -> &Lane {
        if !self.lanes.contains_key(settings) {
            self.lanes.insert(settings.clone(), Lane::new(settings, self.http).await);
        }
        &self.lanes[settings]
    }
}

/// How bytes are sent.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Pace {
    Whole,
    Bytes,
    SplitAt(usize),
}

/// What an exchange waits for.
#[derive(Clone, Copy)]
pub(crate) struct Wait {
    /// So many answers.
    pub(crate) answers: usize,
    /// Whether the last of them may stay away when the caller ends.
    pub(crate) may_close: bool,
    /// How long to look for what should not come.
    pub(crate) after: Duration,
}

/// Longer than any answer takes on a busy machine.
const LONG: Duration = Duration::from_secs(10);
/// How long a caller waits before it ends in the middle of a request.
const PATIENCE: Duration = Duration::from_millis(60);

/// Sends bytes on a connection of its own, and reads what comes of it.
pub(crate) async fn exchange(
    address: SocketAddr,
    bytes: &[u8],
    pace: Pace,
    wait: Wait,
) -> Result<Vec<Answer>, String> {
    let tcp = TcpStream::connect(address).await.map_err(|error| error.to_string())?;
    tcp.set_nodelay(true).map_err(|error| error.to_string())?;
    let (mut reader, mut writer) = tcp.into_split();
    let bytes = bytes.to_vec();
    let to_head = bytes.starts_with(b"HEAD ");
    let sending = tokio::spawn(async move {
        // The gateway may close before all is sent, and then nobody reads the rest.
        let sent = match pace {
            Pace::Whole => writer.write_all(&bytes).await,
            Pace::Bytes => {
                for byte in &bytes {
                    let _ = writer.write_all(&[*byte]).await;
                    tokio::task::yield_now().await;
                }
                Ok(())
            }
            Pace::SplitAt(at) => {
                let _ = writer.write_all(&bytes[..at]).await;
                sleep(Duration::from_millis(2)).await;
                writer.write_all(&bytes[at..]).await
            }
        };
        (writer, sent)
    });
    let (mut came, mut over) = (Vec::new(), false);
    let deadline = Instant::now() + LONG;
    let patience = if wait.may_close { PATIENCE } else { LONG };
    while !over && strict::answers(&came, to_head, false)?.len() < wait.answers {
        match timeout(patience, reader.read_buf(&mut came)).await {
            Ok(Ok(1..)) => {}
            Ok(_) => over = true,
            Err(_) if wait.may_close => break,
            Err(_) => return Err(format!("nothing more comes; so far {}", super::data::shown(&came))),
        }
        if Instant::now() > deadline {
            return Err(format!("no end; so far {}", super::data::shown(&came)));
        }
    }
    if !over {
        // What should not come is given a moment to come.
        while let Ok(read) = timeout(wait.after, reader.read_buf(&mut came)).await {
            if !matches!(read, Ok(1..)) {
                over = true;
                break;
            }
        }
    }
    if let Ok((mut writer, _)) = sending.await {
        let _ = writer.shutdown().await;
        if !over && timeout(LONG, read_all(&mut reader, &mut came)).await.is_err() {
            return Err("the connection is not closed after the caller ended".to_owned());
        }
    }
    strict::answers(&came, to_head, true)
}

async fn read_all(reader: &mut tokio::net::tcp::OwnedReadHalf, came: &mut Vec<u8>) {
    while matches!(reader.read_buf(came).await, Ok(1..)) {}
}
