//! HTTP/1.1 for the right server, by hand: what it sees of headers is what was sent.

use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

use super::right::{Request, Right};

/// How long a slow tool takes.
pub(super) const SLOW: Duration = Duration::from_secs(4);

/// Serves at a free port, and says where.
pub(super) async fn serve(right: Arc<Right>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    tokio::spawn(async move {
        while let Ok((tcp, _)) = listener.accept().await {
            tokio::spawn(connection(tcp, right.clone()));
        }
    });
    url
}

async fn connection(tcp: TcpStream, right: Arc<Right>) {
    let mut tcp = BufReader::new(tcp);
    while let Some(request) = request(&mut tcp, right.has("H4/blanks-around")).await {
        if right.is_gone() {
            return;
        }
        if right.is_slow(&request) {
            tokio::time::sleep(SLOW).await;
        }
        let answer = right.respond(&request);
        let mut head = format!("HTTP/1.1 {} X\r\nContent-Length: {}\r\n", answer.status, answer.body.len());
        for (name, value) in &answer.headers {
            head += &format!("{name}: {value}\r\n");
        }
        if tcp.get_mut().write_all(format!("{head}\r\n{}", answer.body).as_bytes()).await.is_err() {
            return;
        }
    }
}

async fn request(tcp: &mut BufReader<TcpStream>, keeps_blanks: bool) -> Option<Request> {
    let mut headers: Vec<(String, Vec<u8>)> = Vec::new();
    loop {
        let mut line = Vec::new();
        if tcp.read_until(b'\n', &mut line).await.ok()? == 0 {
            return None;
        }
        let line = line.trim_ascii_end();
        let line = if keeps_blanks { line } else { line.trim_ascii() };
        if line.is_empty() {
            break;
        }
        // The request line has a colon in no name.
        if let Some(colon) = line.iter().position(|byte| *byte == b':') {
            let name = String::from_utf8_lossy(&line[..colon]).into_owned();
            let value = line[colon + 1..].strip_prefix(b" ").unwrap_or(&line[colon + 1..]);
            let value = if keeps_blanks { value } else { value.trim_ascii() };
            headers.push((name, value.to_vec()));
        }
    }
    let length = headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-length"));
    let length = length.and_then(|(_, value)| std::str::from_utf8(value).ok()?.parse().ok()).unwrap_or(0);
    let mut body = vec![0; length];
    tcp.read_exact(&mut body).await.ok()?;
    Some(Request { headers, body, pipe: false })
}
