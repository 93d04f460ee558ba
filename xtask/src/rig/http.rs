//! As much of an HTTP client as the checks and the streams need: one connection, blocking.

use std::fmt::Write as _;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use anyhow::{Context, Result, bail};

/// Nothing here takes as long.
const PATIENCE: Duration = Duration::from_secs(30);

/// One request to `/mcp`: the body, and what it says in its headers.
#[derive(Clone)]
pub(crate) struct Call {
    pub(crate) headers: Vec<(&'static str, String)>,
    pub(crate) body: String,
}

impl Call {
    /// A modern request with its envelope; `params` are members without their braces.
    pub(crate) fn modern(method: &'static str, params: &str) -> Self {
        Self::telling(method, params, &Told::default())
    }

    /// The same from a caller who tells something of itself.
    pub(crate) fn telling(method: &'static str, params: &str, told: &Told) -> Self {
        let comma = if params.is_empty() { "" } else { "," };
        let Told { capabilities, meta, beside } = told;
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{{capabilities}}}{meta}}}}}{beside}}}"#
        );
        Self { headers: Vec::new(), body }
            .accepting()
            .with("MCP-Protocol-Version", "2026-07-28")
            .with("Mcp-Method", method)
    }

    /// A request of the era of sessions; `id` is a member with its comma, which a notification lacks.
    pub(crate) fn legacy(id: &str, method: &str, params: &str) -> Self {
        let body = format!(r#"{{"jsonrpc":"2.0",{id}"method":"{method}","params":{{{params}}}}}"#);
        Self { headers: Vec::new(), body }.accepting()
    }

    fn accepting(self) -> Self {
        self.with("Content-Type", "application/json").with("Accept", "application/json, text/event-stream")
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.headers.push((name, value)),
        }
        self
    }

    fn head(&self, host: SocketAddr) -> String {
        let mut text =
            format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n", self.body.len());
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text + "\r\n"
    }
}

/// What a caller tells of itself, as JSON: members of its capabilities without their braces, and what follows in
/// `_meta` and after `params`, each with its comma.
#[derive(Clone, Copy, Default)]
pub(crate) struct Told<'a> {
    pub(crate) capabilities: &'a str,
    pub(crate) meta: &'a str,
    pub(crate) beside: &'a str,
}

/// A connection on which calls follow each other.
pub(crate) struct Connection {
    address: SocketAddr,
    pub(crate) tcp: BufReader<TcpStream>,
    /// Heads and bodies are sent apart.
    parted: bool,
}

impl Connection {
    pub(crate) fn open(address: SocketAddr) -> Result<Self> {
        let tcp = TcpStream::connect(address).with_context(|| format!("nobody listens on {address}"))?;
        tcp.set_nodelay(true)?;
        tcp.set_read_timeout(Some(PATIENCE))?;
        Ok(Self { address, tcp: BufReader::with_capacity(1024, tcp), parted: false })
    }

    pub(crate) fn parted(self, parted: bool) -> Self {
        Self { parted, ..self }
    }

    /// Sends a call and reads the answer's head.
    fn send(&mut self, call: &Call) -> Result<Head> {
        let mut text = call.head(self.address);
        let body = if self.parted {
            call.body.as_str()
        } else {
            text += &call.body;
            ""
        };
        for part in [text.as_str(), body] {
            self.tcp.get_mut().write_all(part.as_bytes())?;
        }
        self.head()
    }

    /// Sends a call and reads the whole answer.
    pub(crate) fn ask(&mut self, call: &Call) -> Result<(Head, Vec<u8>)> {
        let head = self.send(call)?;
        let whole = self.body(&head)?;
        Ok((head, whole))
    }

    fn head(&mut self) -> Result<Head> {
        let mut line = String::new();
        self.tcp.read_line(&mut line)?;
        let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
        let Some(status) = status else { bail!("{} does not speak HTTP: {line}", self.address) };
        let mut head = Head { status, length: None, session: None };
        loop {
            line.clear();
            self.tcp.read_line(&mut line)?;
            let Some((name, value)) = line.trim().split_once(':') else { return Ok(head) };
            if name.eq_ignore_ascii_case("content-length") {
                head.length = value.trim().parse().ok();
            } else if name.eq_ignore_ascii_case("mcp-session-id") {
                head.session = Some(value.trim().to_owned());
            }
        }
    }

    /// The body of an answer that says how long it is, or that ends with its chunks.
    fn body(&mut self, head: &Head) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        if let Some(length) = head.length {
            whole.resize(length, 0);
            self.tcp.read_exact(&mut whole)?;
            return Ok(whole);
        }
        loop {
            let mut size = String::new();
            self.tcp.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16).context("a chunk without its size")?;
            let start = whole.len();
            whole.resize(start + size + 2, 0);
            self.tcp.read_exact(whole.get_mut(start..).unwrap_or_default())?;
            whole.truncate(start + size);
            if size == 0 {
                return Ok(whole);
            }
        }
    }
}

/// What an answer says before its body.
pub(crate) struct Head {
    pub(crate) status: u16,
    pub(crate) length: Option<usize>,
    pub(crate) session: Option<String>,
}

/// An answer's head, and the connection from which its body comes.
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) connection: Connection,
}

impl Answer {
    pub(crate) fn whole(mut self) -> Result<Vec<u8>> {
        self.connection.body(&self.head)
    }
}

/// Sends a call on a connection of its own and reads the answer's head.
pub(crate) fn send(address: SocketAddr, call: &Call) -> Result<Answer> {
    let mut connection = Connection::open(address)?;
    let head = connection.send(call)?;
    Ok(Answer { head, connection })
}
