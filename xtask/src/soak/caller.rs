//! A caller: it keeps its connection or not, sends calls in many ways, ends in the middle of things, and looks at every byte
//! that it gets.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::Duration;

use super::Seen;
use super::random::{Random, number, token, tokens};
use super::upstream::{Fate, is_pause};

const LANGUAGES: [&str; 5] = ["de-CH, fr;q=0.5", "fr", "ja", "pt-BR, en;q=0.1", "*"];
/// How long a caller waits for an answer.
const PATIENCE: Duration = Duration::from_secs(8);

pub(super) struct Caller {
    random: Random,
    seed: u64,
    gateway: SocketAddr,
    kept: Option<TcpStream>,
    seen: Seen,
}

/// An answer as it came, with its head.
struct Answer {
    status: u16,
    bytes: Vec<u8>,
    whole: bool,
}

/// What a caller does with one or more calls.
#[derive(Clone, Copy, PartialEq)]
enum Manner {
    /// Sends one, and reads its answer.
    Whole,
    /// The same, in pieces.
    Split,
    /// Several at once.
    Pipelined,
    /// Ends in the middle of a request.
    LeavesEarly,
    /// Ends when a part of the answer came.
    LeavesLate,
    /// Pauses in the middle of a request.
    Stalls,
    /// Sends what is no request.
    Garbage,
}

const MANNERS: [(u64, Manner); 6] = [
    (80, Manner::Split),
    (80, Manner::Pipelined),
    (25, Manner::LeavesEarly),
    (25, Manner::LeavesLate),
    (10, Manner::Stalls),
    (25, Manner::Garbage),
];

impl Caller {
    pub(super) fn new(number: u64, seed: u64, gateway: SocketAddr) -> Self {
        let random = Random::new(seed.wrapping_mul(0x1000_0001).wrapping_add(number));
        Self { random, seed, gateway, kept: None, seen: Seen::default() }
    }

    /// Makes so many calls, and returns what was seen.
    pub(super) fn call(mut self, count: u64, done: &AtomicU64) -> Seen {
        while self.seen.calls < count {
            let before = self.seen.calls;
            self.some_calls(count - before);
            done.fetch_add(self.seen.calls - before, Ordering::Relaxed);
        }
        self.seen
    }

    /// Makes one call with which nothing goes wrong, and says whether it was answered.
    pub(super) fn plain_call(&mut self) -> bool {
        let own = self.healthy_token();
        let request = self.request(own);
        let answers = self.exchange(&request, &[own], Manner::Whole);
        answers.first().is_some_and(|answer| answer.whole && answer.status == 200)
            && self.seen.violations.is_empty()
    }

    fn healthy_token(&mut self) -> u64 {
        loop {
            let own = self.random.next();
            if Fate::of(self.seed, own) == Fate::Json {
                return own;
            }
        }
    }

    fn some_calls(&mut self, most: u64) {
        let manner = self.manner();
        let count = if manner == Manner::Pipelined { (2 + self.random.below(3)).min(most) } else { 1 };
        let own: Vec<u64> = (0..count).map(|_| self.random.next()).collect();
        let mut request = Vec::new();
        for token in &own {
            request.extend(self.request(*token));
        }
        if manner == Manner::Garbage {
            self.spoil(&mut request);
        }
        if self.random.happens(300) {
            self.kept = None;
        }
        self.seen.calls += count;
        let answers = self.exchange(&request, &own, manner);
        if manner == Manner::Garbage {
            self.judge_garbage(&request, &answers);
        }
        self.judge(&own, manner, &answers);
        if self.random.happens(2) {
            thread::sleep(Duration::from_millis(self.random.below(50)));
        }
    }

    fn manner(&mut self) -> Manner {
        let mut place = self.random.below(1000);
        for (share, manner) in MANNERS {
            if place < share {
                return manner;
            }
            place -= share;
        }
        Manner::Whole
    }

    /// A call in one of the two eras, of a told length or in chunks, with or without a language.
    fn request(&mut self, own: u64) -> Vec<u8> {
        let (id, own) = (self.random.below(1 << 30), token(own));
        let modern = self.random.happens(500);
        let language = self.random.happens(600).then(|| LANGUAGES[self.random.below(5) as usize]);
        let mut head = format!(
            "POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nX-Token: {own}\r\n"
        );
        head += "Accept: application/json, text/event-stream\r\n";
        let mut meta = String::new();
        if modern {
            head += "MCP-Protocol-Version: 2026-07-28\r\nMcp-Method: tools/call\r\nMcp-Name: echo\r\n";
            head += &format!("Mcp-Param-Token: {own}\r\n");
            meta = r#","_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}"#
                .to_owned();
            if let Some(language) = language {
                meta += &format!(r#","io.modelcontextprotocol/acceptLanguage":"{language}""#);
            }
            meta.push('}');
        } else if let Some(language) = language {
            head += &format!("Accept-Language: {language}\r\n");
        }
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/call","params":{{"name":"echo","arguments":{{"token":"{own}"}}{meta}}}}}"#
        );
        if self.random.happens(150) {
            let (one, two) = body.split_at(body.len() / 3);
            head += "Transfer-Encoding: chunked\r\n";
            return format!("{head}\r\n{:x}\r\n{one}\r\n{:x}\r\n{two}\r\n0\r\n\r\n", one.len(), two.len())
                .into_bytes();
        }
        format!("{head}Content-Length: {}\r\n\r\n{body}", body.len()).into_bytes()
    }

    /// Makes it no request, or another one.
    fn spoil(&mut self, request: &mut Vec<u8>) {
        for _ in 0..1 + self.random.below(8) {
            let at = usize::try_from(self.random.below(request.len() as u64)).unwrap_or(0);
            match self.random.below(3) {
                0 => request[at] = self.random.next().to_le_bytes()[0],
                1 => request.truncate(at.max(1)),
                _ => request.insert(at, b'\n'),
            }
        }
    }

    /// Sends bytes and reads the answers that they should get.
    fn exchange(&mut self, request: &[u8], own: &[u64], manner: Manner) -> Vec<Answer> {
        let fresh = || {
            let tcp = TcpStream::connect_timeout(&self.gateway, PATIENCE).ok()?;
            tcp.set_nodelay(true).ok()?;
            Some(tcp)
        };
        let Some(mut tcp) = self.kept.take().or_else(fresh) else { return Vec::new() };
        let _ = tcp.set_read_timeout(Some(if manner == Manner::Garbage {
            Duration::from_millis(100)
        } else {
            PATIENCE
        }));
        let middle = 1 + usize::try_from(self.random.below(request.len() as u64)).unwrap_or(0);
        let (one, two) = request.split_at(middle.min(request.len()));
        let sent = match manner {
            Manner::Whole | Manner::Pipelined | Manner::LeavesLate | Manner::Garbage => {
                tcp.write_all(request)
            }
            Manner::LeavesEarly => {
                let _ = tcp.write_all(one);
                return Vec::new();
            }
            Manner::Split => tcp.write_all(one).and_then(|()| tcp.write_all(two)),
            Manner::Stalls => {
                let _ = tcp.write_all(one);
                thread::sleep(Duration::from_millis(20 + self.random.below(200)));
                tcp.write_all(two)
            }
        };
        let _ = sent;
        let mut came = Vec::new();
        if manner == Manner::LeavesLate {
            let mut room = [0; 64];
            if let Ok(size) = tcp.read(&mut room) {
                came.extend_from_slice(&room[..size]);
            }
            return vec![Answer { status: 0, bytes: came, whole: false }];
        }
        let mut answers = Vec::new();
        while answers.len() < own.len() {
            let (answer, keeps) = read(&mut tcp, &mut came);
            answers.extend(answer);
            if !keeps {
                return answers;
            }
        }
        // What nobody asked for has to be somebody else's.
        if !came.is_empty() && manner != Manner::Garbage {
            let text = came.escape_ascii().to_string();
            self.seen.violations.push(format!("bytes that nobody asked for: {text}"));
        } else if manner != Manner::Garbage {
            self.kept = Some(tcp);
        }
        answers
    }

    fn judge(&mut self, own: &[u64], manner: Manner, answers: &[Answer]) {
        for (place, token) in own.iter().enumerate() {
            let fate = Fate::of(self.seed, *token);
            let Some(answer) = answers.get(place) else {
                self.seen.count(match manner {
                    Manner::LeavesEarly => "left in the middle of a request",
                    Manner::Garbage => "no request, and no answer",
                    _ => "no answer",
                });
                self.count_healthy(manner, own, place, false);
                continue;
            };
            let foreign = tokens(&answer.bytes).find(|found| number(found) != Some(*token));
            if let Some(foreign) = foreign.filter(|_| manner != Manner::Garbage) {
                let foreign = String::from_utf8_lossy(foreign).into_owned();
                self.seen
                    .violations
                    .push(format!("{} got the answer of {foreign}", super::random::token(*token)));
            }
            let has_own = tokens(&answer.bytes).any(|found| number(found) == Some(*token));
            let answered = answer.whole && answer.status == 200 && has_own;
            if manner == Manner::LeavesLate {
                self.seen.count("left in the middle of an answer");
                continue;
            }
            let what = match (answer.status, answer.whole, has_own) {
                (200, true, true) => "200, answered".to_owned(),
                (200, true, false) => "200, without the token".to_owned(),
                (status, true, _) => status.to_string(),
                (status, false, _) => format!("{status}, cut"),
            };
            let kind = if manner == Manner::Garbage { "no request: " } else { "" };
            self.seen.count(&format!("{kind}{what}"));
            if answered && !fate.is_answered() {
                self.seen.violations.push(format!(
                    "{} is answered, and should not be: {fate:?}",
                    super::random::token(*token)
                ));
            }
            self.count_healthy(manner, own, place, answered);
        }
    }

    /// Whoever sends no request gets no token but what was sent: a byte that changed may have made it another.
    fn judge_garbage(&mut self, request: &[u8], answers: &[Answer]) {
        for token in answers.iter().flat_map(|answer| tokens(&answer.bytes)) {
            if !tokens(request).any(|sent| sent == token) {
                let token = String::from_utf8_lossy(token).into_owned();
                self.seen.violations.push(format!("no request got the answer of {token}"));
            }
        }
    }

    /// Counts calls with which nothing went wrong, and whether they were answered. In a pipeline what goes wrong with one
    /// may close the connection for those after it.
    fn count_healthy(&mut self, manner: Manner, own: &[u64], place: usize, answered: bool) {
        let sends = matches!(manner, Manner::Whole | Manner::Split | Manner::Stalls | Manner::Pipelined);
        if sends && own[..=place].iter().all(|token| Fate::of(self.seed, *token).is_answered()) {
            self.seen.healthy += 1;
            self.seen.unanswered += u64::from(!answered);
        }
    }
}

/// Reads one answer, without interim ones, and says whether the connection goes on.
fn read(tcp: &mut TcpStream, came: &mut Vec<u8>) -> (Option<Answer>, bool) {
    let mut room = vec![0; 16 * 1024];
    loop {
        if let Some((status, size, closes)) = answer(came) {
            let bytes: Vec<u8> = came.drain(..size).collect();
            if (100..200).contains(&status) {
                continue;
            }
            return (Some(Answer { status, bytes, whole: true }), !closes);
        }
        match tcp.read(&mut room) {
            Ok(size @ 1..) => came.extend_from_slice(&room[..size]),
            Err(error) if is_pause(&error) && came.is_empty() => return (None, false),
            _ if came.is_empty() => return (None, false),
            _ => {
                let status = status(came).unwrap_or(0);
                return (Some(Answer { status, bytes: std::mem::take(came), whole: false }), false);
            }
        }
    }
}

fn status(came: &[u8]) -> Option<u16> {
    std::str::from_utf8(came.get(9..12)?).ok()?.parse().ok()
}

/// Status and size of the answer at the beginning, and whether it is the last; `None` before all of it came.
fn answer(came: &[u8]) -> Option<(u16, usize, bool)> {
    let head = came.windows(4).position(|four| four == b"\r\n\r\n")? + 4;
    let text = String::from_utf8_lossy(&came[..head]).to_ascii_lowercase();
    let status = status(came)?;
    let closes = text.contains("connection: close");
    if (100..200).contains(&status) || status == 204 {
        return Some((status, head, closes));
    }
    let length = text.lines().find_map(|line| line.strip_prefix("content-length:"));
    let size = match length {
        Some(length) => head + length.trim().parse::<usize>().ok()?,
        None => head + chunks(&came[head..])?,
    };
    (came.len() >= size).then_some((status, size, closes))
}

/// How long a body in chunks is.
fn chunks(came: &[u8]) -> Option<usize> {
    let mut at = 0;
    loop {
        let rest = came.get(at..)?;
        let end = rest.windows(2).position(|two| two == b"\r\n")?;
        let size = usize::from_str_radix(std::str::from_utf8(&rest[..end]).ok()?, 16).ok()?;
        at += end + 2 + size + 2;
        if size == 0 {
            return (came.len() >= at).then_some(at);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_read_to_their_end() {
        for (text, status) in [
            ("HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nab", 200),
            ("HTTP/1.1 502 Bad Gateway\r\ntransfer-encoding: chunked\r\n\r\n2\r\nab\r\n0\r\n\r\n", 502),
        ] {
            assert_eq!(answer(format!("{text}HTTP").as_bytes()), Some((status, text.len(), false)));
            assert_eq!(answer(&text.as_bytes()[..text.len() - 1]), None);
        }
    }

    #[test]
    fn a_foreign_token_is_a_violation() {
        let mut caller = Caller::new(1, 1, "127.0.0.1:1".parse().unwrap());
        let answer = |own: u64| Answer { status: 200, bytes: token(own).into_bytes(), whole: true };
        let own = caller.healthy_token();
        caller.judge(&[own], Manner::Whole, &[answer(own)]);
        assert!(caller.seen.violations.is_empty());
        caller.judge(&[own], Manner::Whole, &[answer(own ^ 1)]);
        assert_eq!((caller.seen.violations.len(), caller.seen.healthy, caller.seen.unanswered), (1, 2, 1));
    }
}
