//! Streams: how long an event takes, and what open ones cost.

use std::io::BufRead;
use std::net::SocketAddr;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result, bail};

use super::http::{Answer, Call, send};
use super::spread::Spread;

/// Events of one slice, and microseconds between them.
const EVENTS: usize = 500;
const EVERY: u32 = 2000;

fn listen() -> Call {
    Call::modern("subscriptions/listen", "")
}

/// Microseconds that events took from the server to here.
pub(crate) fn times(address: SocketAddr) -> Result<Spread> {
    let mut answer = open(address, &listen().with("X-Bench-Every", EVERY.to_string()))?;
    let (mut times, mut line) = (Vec::new(), String::new());
    while times.len() < EVENTS {
        line.clear();
        if answer.connection.tcp.read_line(&mut line)? == 0 {
            bail!("the stream of {address} ended");
        }
        let Some(sent) = sent(&line) else { continue };
        let now = SystemTime::now().duration_since(UNIX_EPOCH)?.as_nanos();
        times.push(now.saturating_sub(sent) as f64 / 1e3);
    }
    Ok(Spread::of(times))
}

/// When an event left, in nanoseconds.
fn sent(line: &str) -> Option<u128> {
    let (_, rest) = line.split_once("\"sent\":")?;
    rest.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// Opens streams on which nothing happens; they stay open until they are dropped.
pub(crate) fn idle(address: SocketAddr, count: usize) -> Result<Vec<Answer>> {
    let call = listen();
    (0..count)
        .map(|number| {
            let mut answer =
                open(address, &call).with_context(|| format!("after {number} streams of {count}"))?;
            // The first event, so that the stream is open through and through.
            let mut line = String::new();
            while !line.starts_with("data:") {
                line.clear();
                answer.connection.tcp.read_line(&mut line)?;
            }
            Ok(answer)
        })
        .collect()
}

fn open(address: SocketAddr, call: &Call) -> Result<Answer> {
    let answer = send(address, call)?;
    if answer.head.status != 200 {
        bail!("{address} opens no stream: {}", answer.head.status);
    }
    Ok(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_when_an_event_left() {
        assert_eq!(sent("data: {\"params\":{\"data\":{\"sent\":1234}}}"), Some(1234));
        assert_eq!(sent("\r\n"), None);
    }
}
