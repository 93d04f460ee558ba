//! A web site on this machine, for a server that fetches pages.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::thread;

use anyhow::Result;

const PAGE: &str = "<!doctype html><html lang=\"en\"><head><title>A page</title></head><body><article>\
    <h1>A page on this machine</h1><p>It is here to be fetched, and says so in a sentence that is long enough to be \
    taken for content by whoever looks for some.</p></article></body></html>";

/// Serves the site for as long as this program runs, and returns its URL.
pub(super) fn start() -> Result<String> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let url = format!("http://{}", listener.local_addr()?);
    thread::spawn(move || {
        for caller in listener.incoming().flatten() {
            thread::spawn(move || answer(&caller));
        }
    });
    Ok(url)
}

/// One request, one answer, and the end of the connection.
fn answer(mut caller: &TcpStream) -> Option<()> {
    let mut lines = BufReader::new(caller).lines();
    let first = lines.next()?.ok()?;
    while !lines.next()?.ok()?.is_empty() {}
    let (status, kind, body) = page(first.split(' ').nth(1)?);
    let length = body.len();
    write!(
        caller,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
    .ok()
}

fn page(path: &str) -> (&'static str, &'static str, &'static str) {
    match path {
        "/robots.txt" => ("200 OK", "text/plain", "User-agent: *\nDisallow: /private.html\n"),
        "/page.html" | "/private.html" => ("200 OK", "text/html; charset=utf-8", PAGE),
        _ => ("404 Not Found", "text/plain", "There is no such page.\n"),
    }
}
