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
    pub(crate) fn modern(method: &str, params: &str) -> Self {
        let comma = if params.is_empty() { "" } else { "," };
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"{method}","params":{{{params}{comma}"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{{}}}}}}}}"#
        );
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("MCP-Protocol-Version", "2026-07-28"),
            ("Mcp-Method", method),
        ];
        Self { headers: headers.map(|(name, value)| (name, value.to_owned())).to_vec(), body }
    }

    pub(crate) fn with(mut self, name: &'static str, value: impl Into<String>) -> Self {
        let value = value.into();
        match self.headers.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = value,
            None => self.headers.push((name, value)),
        }
        self
    }

    fn text(&self, host: SocketAddr) -> String {
        let mut text =
            format!("POST /mcp HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n", self.body.len());
        for (name, value) in &self.headers {
            let _ = write!(text, "{name}: {value}\r\n");
        }
        text + "\r\n" + &self.body
    }
}

/// An answer's head, and the connection from which its body comes.
pub(crate) struct Answer {
    pub(crate) status: u16,
    length: Option<usize>,
    pub(crate) body: BufReader<TcpStream>,
}

impl Answer {
    /// The body of an answer that says how long it is, or that ends with its chunks.
    pub(crate) fn whole(mut self) -> Result<Vec<u8>> {
        let mut whole = Vec::new();
        if let Some(length) = self.length {
            whole.resize(length, 0);
            self.body.read_exact(&mut whole)?;
            return Ok(whole);
        }
        loop {
            let mut size = String::new();
            self.body.read_line(&mut size)?;
            let size = usize::from_str_radix(size.trim(), 16).context("a chunk without its size")?;
            let start = whole.len();
            whole.resize(start + size + 2, 0);
            self.body.read_exact(whole.get_mut(start..).unwrap_or_default())?;
            whole.truncate(start + size);
            if size == 0 {
                return Ok(whole);
            }
        }
    }
}

/// Sends a call on a connection of its own and reads the answer's head.
pub(crate) fn send(address: SocketAddr, call: &Call) -> Result<Answer> {
    let mut tcp = TcpStream::connect(address).with_context(|| format!("nobody listens on {address}"))?;
    tcp.set_nodelay(true)?;
    tcp.set_read_timeout(Some(PATIENCE))?;
    tcp.write_all(call.text(address).as_bytes())?;
    let mut body = BufReader::with_capacity(1024, tcp);
    let mut line = String::new();
    body.read_line(&mut line)?;
    let status = line.split(' ').nth(1).and_then(|status| status.parse().ok());
    let Some(status) = status else { bail!("{address} does not speak HTTP: {line}") };
    let mut length = None;
    loop {
        line.clear();
        body.read_line(&mut line)?;
        match line.trim().split_once(':') {
            Some((name, value)) if name.eq_ignore_ascii_case("content-length") => {
                length = value.trim().parse().ok();
            }
            Some(_) => {}
            None => return Ok(Answer { status, length, body }),
        }
    }
}
