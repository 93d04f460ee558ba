//! The same cases with a program behind: this very test program, started again for the one test below, which plays the
//! server of a case. What it was asked it writes into a file.

use std::io::{BufRead, Write};
use std::path::Path;
use std::time::Duration;

use exchange_cases::{
    Answer, Arrived, Asked, Case, Cases, Fault, Host, Ids, Request, Step, Workplace, check_step, is_listing,
    run,
};
use mcp_attune_wire::json::{ByteSpan, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind, meta};
use tokio::time::timeout;

use super::{ask, start};

const PROGRAM: Host = Host {
    name: "the gateway, a program behind",
    lacks: &[
        ("unsealed", "the gateway makes keys where it is given none"),
        ("upstream", "a program has no status, no headers, no sessions and no streams of its own"),
        ("any-bytes", "a program that says what is no message is not listened to"),
        ("own-stream", "what callers share a program for is told to the one that it names, or to none"),
        ("stateless", "a legacy session with a program begins with `initialize`"),
        ("version", "in front of a program the gateway decides which versions are spoken"),
    ],
    except: &[],
    seals: true,
};

/// Longer than an answer takes, and how long one is waited for that is not expected to come.
const PATIENCE: Duration = Duration::from_secs(20);
const IMPATIENCE: Duration = Duration::from_millis(300);

#[test]
fn every_exchange_with_a_program_behind() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    run(&PROGRAM, |case| runtime.block_on(with_a_program(case)));
}

async fn with_a_program(case: &Case) -> Result<(), Fault> {
    let folder = Workplace::new(&case.setup);
    let log = folder.path().join("asked");
    let program = std::env::current_exe().unwrap();
    let upstream = format!(
        "{{ command = ['{}', '--exact', 'exchange::program::play', '--nocapture'], env = {{ EXCHANGE = '{}', EXCHANGE_LOG = '{}' }} }}",
        program.display(),
        case.name,
        log.display()
    );
    let running = start(case, &folder, &upstream).await?;
    let mut ids = Ids::new(&case.input.sealed, PROGRAM.seals);
    for (number, (step, told)) in case.input.steps.iter().zip(&case.expected.steps).enumerate() {
        let wrong = |why: String| Fault(format!("step {number}: {why}"));
        let _ = std::fs::write(&log, "");
        let patience = if PROGRAM.skips(case).is_some() { IMPATIENCE } else { PATIENCE };
        let got = timeout(patience, ask(running.address, &step.request, &ids)).await;
        let mut got = got.map_err(|_| wrong("no answer".to_owned()))?;
        got.bare = true;
        let mut asked = asked(case, number, &log, got.status == Some(202)).await;
        // The program says nothing of listings that it was asked for otherwise.
        asked.listings = usize::from(told.lists == Some(true));
        let step = Step { server: step.server.clone().map(with_its_status), ..step.clone() };
        check_step(&step, told, &asked, &got, &mut ids).map_err(|Fault(why)| wrong(why))?;
    }
    Ok(())
}

/// What the program was asked in a step, with the caller's own ids. It may be about to read it, where that is to be waited
/// for. The gateway may have asked the same by itself.
async fn asked(case: &Case, step: usize, log: &Path, wait: bool) -> Asked {
    let mut asked = Asked::default();
    let Some(expected) = case.outgoing(step) else { return asked };
    let request = &case.input.steps[step].request;
    // A notification is answered before the program has read it.
    for _ in 0..if wait { 100 } else { 1 } {
        let lines = std::fs::read_to_string(log).unwrap_or_default();
        let mut lines: Vec<String> = lines.lines().map(|line| as_the_caller_wrote(line, request)).collect();
        lines.sort_by_key(|line| *line != expected.0);
        if let Some(body) = lines.into_iter().next() {
            asked.others.push(Arrived { headers: None, body });
            break;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    asked
}

/// A line with the id and the token of the request that it was made from.
fn as_the_caller_wrote(line: &str, request: &Request) -> String {
    let (Ok(got), Ok(sent)) = (Message::parse(line.as_bytes()), Message::parse(request.body.0.as_bytes()))
    else {
        return line.to_owned();
    };
    let pairs = [(got.id(), sent.id()), (got.meta("progressToken"), sent.meta("progressToken"))];
    let pairs = pairs.into_iter().filter_map(|(got, sent)| Some((got?.span(), sent?.raw())));
    got.splice(&pairs.collect::<Vec<_>>()).unwrap_or_else(|_| line.to_owned())
}

/// The status that the gateway chooses for what a program says. Rules: G11.
fn with_its_status(answer: Answer) -> Answer {
    let body: serde_json::Value = serde_json::from_str(&answer.bytes()).unwrap_or_default();
    let status = match body["error"]["code"].as_i64() {
        Some(-32601) => 404,
        Some(-32700 | -32600 | -32602 | -32022..=-32020) => 400,
        _ if answer.bytes().is_empty() => 202,
        _ => 200,
    };
    Answer { status: Some(status), ..answer }
}

/// Not a test, but a door: the gateway starts it as the server of a case.
#[test]
fn play() {
    let Ok(name) = std::env::var("EXCHANGE") else { return };
    let case = Cases::read().cases.into_iter().find(|case| case.name == name).unwrap();
    let mut server = Server { played: vec![false; case.input.steps.len()], case };
    for line in std::io::stdin().lock().lines() {
        server.hear(&line.unwrap());
    }
    std::process::exit(0);
}

struct Server {
    case: Case,
    played: Vec<bool>,
}

impl Server {
    fn hear(&mut self, line: &str) {
        let message = Message::parse(line.as_bytes()).unwrap();
        if is_of_the_gateway(&message) {
            return self.greet(&message);
        }
        let Some(step) = self.step(line) else { return self.refuse(&message) };
        self.played[step] = true;
        let log = std::env::var("EXCHANGE_LOG").unwrap();
        let mut log = std::fs::OpenOptions::new().append(true).create(true).open(log).unwrap();
        log.write_all(format!("{line}\n").as_bytes()).unwrap();
        let Step { request, server } = self.case.input.steps[step].clone();
        let answer = server.unwrap_or_default();
        let all = answer.events.unwrap_or_default().into_iter().filter_map(|event| event.data);
        for text in all.chain(answer.body.filter(|body| !body.0.is_empty())) {
            say(&addressed(&text.0, &request, &message));
        }
    }

    /// The step that a line belongs to: the one whose message it is, but for its ids; else the next that has its method.
    fn step(&self, line: &str) -> Option<usize> {
        let got = without_ids(line);
        let mut steps: Vec<usize> = (0..self.played.len()).collect();
        steps.sort_by_key(|step| self.played[*step]);
        let same = |step: &usize| self.case.outgoing(*step).is_some_and(|text| without_ids(&text.0) == got);
        if let Some(step) = steps.iter().find(|step| same(step)) {
            return Some(*step);
        }
        let like = |step: &&usize| {
            let sent = self.case.outgoing(**step).map(|text| without_ids(&text.0));
            !self.played[**step] && sent.is_some_and(|sent| sent["method"] == got["method"])
        };
        steps.iter().find(like).copied().filter(|_| !is_listing(line.as_bytes()))
    }

    /// Answers what the gateway asks to find out what it has in front of it.
    fn greet(&self, message: &Message<'_>) {
        let body = &self.case.input.steps[0].request.body.0;
        let modern = body.contains("2026-07-28");
        let id = message.id().map_or("null", SpannedValue::raw);
        match message.known_method() {
            Some("server/discover") if modern => say(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"supportedVersions":["2026-07-28"],"capabilities":{{}}}}}}"#
            )),
            Some("initialize") if !modern => say(&format!(
                r#"{{"jsonrpc":"2.0","id":{id},"result":{{"protocolVersion":"2025-11-25","capabilities":{{}},"serverInfo":{{"name":"w","version":"1"}}}}}}"#
            )),
            _ => self.refuse(message),
        }
    }

    /// Answers what no step is about.
    fn refuse(&self, message: &Message<'_>) {
        let Some(id) = message.id().filter(|_| message.kind() == MessageKind::Request) else { return };
        let listing =
            self.case.input.listing.as_ref().filter(|_| message.known_method() == Some("tools/list"));
        let answer = listing.map_or_else(|| Answer::no_listing().bytes(), |listing| listing.0.clone());
        let read = Message::parse(answer.as_bytes()).unwrap();
        say(&read.splice(&[(read.id().unwrap().span(), id.raw())]).unwrap());
    }
}

/// Whether the gateway itself asks, and not a caller.
fn is_of_the_gateway(message: &Message<'_>) -> bool {
    let client = message.meta("io.modelcontextprotocol/clientInfo").or_else(|| message.param("clientInfo"));
    client.and_then(|client| client.member("name")).is_some_and(|name| name.raw() == r#""attune""#)
}

fn without_ids(line: &str) -> serde_json::Value {
    let mut read: serde_json::Value = serde_json::from_str(line).unwrap_or_default();
    if let Some(message) = read.as_object_mut().filter(|message| message.contains_key("method")) {
        message.remove("id");
    }
    if let Some(meta) = read.pointer_mut("/params/_meta").and_then(|meta| meta.as_object_mut()) {
        meta.remove("progressToken");
    }
    read
}

/// A message of the case's server, with the ids that the gateway gave to the request in the place of the caller's.
fn addressed(text: &str, request: &Request, asked: &Message<'_>) -> String {
    let (Ok(said), Ok(sent)) = (Message::parse(text.as_bytes()), Message::parse(request.body.0.as_bytes()))
    else {
        return text.to_owned();
    };
    let (token, answer) = ("progressToken", said.kind() == MessageKind::Answer);
    let places = [
        (said.id().filter(|_| answer), sent.id(), asked.id()),
        (said.meta(meta::SUBSCRIPTION_ID), sent.id(), asked.id()),
        (said.param(token), sent.meta(token), asked.meta(token)),
    ];
    let renamed = places.into_iter().filter_map(|(there, old, new)| {
        let there = there.filter(|there| old.is_some_and(|old| there.raw() == old.raw()))?;
        Some((there.span(), new?.raw()))
    });
    let edits: Vec<(ByteSpan, &str)> = renamed.collect();
    said.splice(&edits).unwrap_or_else(|_| text.to_owned())
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}
