//! Bytes that nobody wrote: the corpus with bytes flipped, put in, taken out and doubled, and its requests cut together.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_attune_gateway::config::HttpImplementation;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::data::{self, RequestCase, Settings, shown};
use super::scripted::{Arrival, Lane};

const AT_A_TIME: usize = 24;
const MUTANTS: usize = 20_000;
/// What attackers put in.
const TOKENS: [&str; 20] = [
    "\r\n",
    "\n",
    "\r",
    "\r\n\r\n",
    " ",
    "\t",
    "\0",
    "\x0b",
    ":",
    ",",
    ";",
    "0",
    "chunked",
    "Content-Length: 5\r\n",
    "Transfer-Encoding: chunked\r\n",
    "Connection: ",
    "GET /admin HTTP/1.1\r\nHost: localhost\r\n\r\n",
    "0\r\n\r\n",
    "HTTP/1.1",
    "\u{ff}",
];

/// A generator that gives the same numbers every time.
struct Random(u64);

impl Random {
    /// A number below `bound`.
    fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % bound.max(1)
    }
}

fn mutant(seed: usize, corpus: &[Vec<u8>]) -> Vec<u8> {
    let mut random = Random((seed as u64 + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mut bytes = corpus[random.below(corpus.len())].clone();
    for _ in 0..1 + random.below(4) {
        let at = random.below(bytes.len() + 1);
        let end = (at + 1 + random.below(12)).min(bytes.len());
        match random.below(7) {
            0 if at < bytes.len() => bytes[at] ^= 1 << random.below(8),
            1 => drop(bytes.splice(at..at, TOKENS[random.below(TOKENS.len())].bytes())),
            2 => drop(bytes.drain(at..end)),
            3 => {
                let doubled = bytes[at..end].to_vec();
                bytes.splice(at..at, doubled);
            }
            4 => {
                let other = &corpus[random.below(corpus.len())];
                let from = random.below(other.len());
                bytes.truncate(at);
                bytes.extend_from_slice(&other[from..]);
            }
            5 => bytes.extend_from_slice(&corpus[random.below(corpus.len())]),
            _ => {
                // A line is doubled: two lengths, two hosts.
                let start = bytes[..at].iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
                let line = bytes[start..]
                    .iter()
                    .position(|byte| *byte == b'\n')
                    .map_or(bytes.len(), |at| start + at + 1);
                let doubled = bytes[start..line].to_vec();
                bytes.splice(start..start, doubled);
            }
        }
    }
    bytes
}

/// How many answers begin in what came.
fn answers(came: &[u8]) -> usize {
    let begins = |text: &[u8]| {
        text.starts_with(b"HTTP/1.")
            && text[9..12].iter().all(u8::is_ascii_digit)
            && !text[9..].starts_with(b"100 ")
    };
    came.windows(13).filter(|text| begins(text)).count()
}

/// Sends bytes and counts: answers that came, and requests that reached the server. Ends when nothing came for a while.
async fn count(lane: &Lane, bytes: &[u8], quiet: Duration) -> (usize, Vec<Arrival>) {
    lane.server.take();
    let mut tcp = TcpStream::connect(lane.gateway.callers).await.unwrap();
    let (mut reader, mut writer) = tcp.split();
    let mut came = Vec::new();
    let mut over = false;
    let reading = async {
        for _ in 0..100 {
            match timeout(quiet, reader.read_buf(&mut came)).await {
                Ok(Ok(1..)) => {}
                Ok(_) => {
                    over = true;
                    return;
                }
                Err(_) if lane.server.count() <= answers(&came) => return,
                Err(_) => {}
            }
        }
    };
    let _ = tokio::join!(writer.write_all(bytes), reading);
    if !over {
        let _ = writer.shutdown().await;
        let _ = timeout(Duration::from_secs(20), reader.read_to_end(&mut came)).await;
    }
    (answers(&came), lane.server.take())
}

async fn check(lane: &Lane, bytes: &[u8]) -> Result<(), String> {
    let mut why = String::new();
    // On a busy machine a caller can end before its request was read: it is then asked again, with more patience.
    for quiet in [15, 1000] {
        let (answers, reached) = count(lane, bytes, Duration::from_millis(quiet)).await;
        // What is no message is relayed as it comes, and its caller may end in the middle of it. A message is held until it is
        // whole.
        let is_relayed = |came: &[u8]| !came.starts_with(b"POST /mcp ") && !came.starts_with(b"POST /mcp?");
        let mut broken = reached.iter().filter_map(|arrival| arrival.as_ref().err());
        let wrong = broken.find(|broken| !broken.partial || !is_relayed(&broken.came));
        let reached = reached.iter().filter(|arrival| arrival.is_ok()).count();
        why = match wrong {
            None if reached <= answers => return Ok(()),
            None => format!("{reached} requests reached the server, and {answers} answers came"),
            Some(broken) => broken.to_string(),
        };
    }
    Err(format!("{why}: {}", shown(bytes)))
}

/// Sends mutants, a few at a time.
pub(crate) async fn check_all(http: HttpImplementation) {
    let cases: Vec<RequestCase> = data::read("requests", 700);
    let mut corpus: Vec<Vec<u8>> = cases.iter().map(|case| case.send.bytes()).collect();
    corpus.retain(|bytes| bytes.len() < 2000);
    let corpus = Arc::new(corpus);
    let failures = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|worker| {
            let (corpus, failures) = (Arc::clone(&corpus), Arc::clone(&failures));
            tokio::spawn(async move {
                // Where all paths pass, most reaches the server.
                let unknown_paths = (worker % 2 == 0).then(|| "pass".to_owned());
                let lane = Lane::new(&Settings { unknown_paths, ..Settings::default() }, http).await;
                // The same worker has the same mutants each time.
                for seed in (worker..MUTANTS).step_by(AT_A_TIME) {
                    if let Err(failure) = check(&lane, &mutant(seed, &corpus)).await {
                        failures.lock().unwrap().push(format!("{seed}: {failure}"));
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let failures = std::mem::take(&mut *failures.lock().unwrap());
    data::conclude(MUTANTS, &failures);
}
