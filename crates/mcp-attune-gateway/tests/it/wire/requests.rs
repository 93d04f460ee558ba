//! The cases of `spec/wire/requests/`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_attune_gateway::config::HttpImplementation;

use super::data::{self, CLOSED, Named, Reached, RequestCase, Settings, Status, shown};
use super::scripted::{Arrival, Lanes, Pace, REACHED, Wait, exchange};
use super::strict::{Answer, Request};

/// How many run at a time.
const AT_A_TIME: usize = 24;
/// At how many places a request is split.
const SPLITS: usize = 10;

/// Where a request is split: at every byte of the corpus as a whole, at a few of each case.
fn splits(length: usize, case: usize) -> impl Iterator<Item = usize> {
    let count = if length > 4096 { 2 } else { SPLITS.min(length.saturating_sub(1)) };
    (0..count).map(move |part| 1 + (part * (length - 1) / count + case) % (length - 1))
}

/// In one piece.
pub(crate) fn whole(_: usize, _: usize) -> Vec<Pace> {
    vec![Pace::Whole]
}

/// Byte by byte where it is short, and in two pieces.
pub(crate) fn split(length: usize, case: usize) -> Vec<Pace> {
    let bytes = (length < 400).then_some(Pace::Bytes);
    bytes.into_iter().chain(splits(length, case).map(Pace::SplitAt)).collect()
}

/// Runs the cases, a few at a time; `paces` says how one is sent, by its length and its number.
pub(crate) async fn check_all(http: HttpImplementation, paces: fn(usize, usize) -> Vec<Pace>) {
    let cases: Vec<RequestCase> = data::read("requests", 700);
    let count = cases.len();
    data::conclude(count, &run(http, cases, paces).await);
}

async fn run(
    http: HttpImplementation,
    cases: Vec<RequestCase>,
    paces: fn(usize, usize) -> Vec<Pace>,
) -> Vec<String> {
    let queue = Arc::new(Mutex::new(cases.into_iter().enumerate()));
    let failures = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|_| {
            let (queue, failures) = (Arc::clone(&queue), Arc::clone(&failures));
            tokio::spawn(async move {
                let mut lanes = Lanes::new(http);
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some((index, case)) = next else { return };
                    let paces = paces(case.send.bytes().len(), index);
                    if let Err(failure) = check(&case, &paces, &mut lanes).await {
                        failures.lock().unwrap().push((index, format!("{}: {failure}", case.name())));
                    }
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let mut failures = std::mem::take(&mut *failures.lock().unwrap());
    failures.sort();
    failures.into_iter().map(|(_, failure)| failure).collect()
}

/// One case in all its settings, sent in these ways.
async fn check(case: &RequestCase, paces: &[Pace], lanes: &mut Lanes) -> Result<(), String> {
    let bytes = case.send.bytes();
    let expected = case.answers();
    for settings in settings(&case.gateway) {
        let lane = lanes.with(&settings).await;
        for pace in paces {
            let wait = Wait {
                answers: expected.len(),
                may_close: expected
                    .iter()
                    .any(|any| any.contains(&CLOSED) && !any.contains(&Status::Code(200))),
                after: Duration::from_millis(if matches!(pace, Pace::Whole) { 30 } else { 1 }),
            };
            let answers = exchange(lane.gateway.callers, &bytes, *pace, wait).await;
            let reached = lane.server.take();
            let judged = answers.clone().and_then(|answers| judge(case, &expected, &answers, &reached));
            judged.map_err(|why| {
                let came = answers.map_or_else(|why| why, |answers| told(&answers));
                let behind: Vec<_> = reached.iter().map(seen).collect();
                let setting = settings.unknown_paths.as_deref().unwrap_or("default");
                let reason = if case.why().is_empty() { String::new() } else { format!("\n    why: {}", case.why()) };
                format!(
                    "{why}\n    sent {pace:?}, unknown_paths {setting}: {}\n    the caller got {came}\n    the server got {behind:?}{reason}",
                    shown(&bytes)
                )
            })?;
        }
    }
    Ok(())
}

fn settings(named: &Settings) -> Vec<Settings> {
    if named.unknown_paths.as_deref() != Some("any") {
        return vec![named.clone()];
    }
    let with = |unknown_paths: Option<&str>| Settings {
        unknown_paths: unknown_paths.map(str::to_owned),
        ..named.clone()
    };
    vec![with(None), with(Some("pass")), with(Some("refuse"))]
}

fn judge(
    case: &RequestCase,
    expected: &[Vec<Status>],
    answers: &[Answer],
    reached: &[Arrival],
) -> Result<(), String> {
    let mut awaited = case.upstream.iter();
    let mut due = Vec::new();
    for (place, any) in expected.iter().enumerate() {
        let may_reach = any.contains(&Status::Code(200));
        let next =
            if may_reach { Some(awaited.next().ok_or("the case has too few in `upstream`")?) } else { None };
        let Some(answer) = answers.get(place) else {
            if any.contains(&CLOSED) && place + 1 == expected.len() {
                break;
            }
            return Err(format!("expected {any:?}, and nothing came"));
        };
        if !any.contains(&Status::Code(answer.status)) {
            return Err(format!("expected {any:?}"));
        }
        if !answer.whole {
            return Err("the answer breaks off".to_owned());
        }
        if (answer.status == 200) != answer.headers.has(REACHED) {
            return Err("an answer is not of whom it seems to be".to_owned());
        }
        due.extend(next.filter(|_| answer.status == 200));
    }
    if awaited.next().is_some() {
        return Err("the case has too many in `upstream`".to_owned());
    }
    if answers.len() > expected.len() {
        return Err(format!("expected {} answers, and {} came", expected.len(), answers.len()));
    }
    if reached.len() != due.len() {
        return Err(format!(
            "expected {} requests to reach the server, and {} did",
            due.len(),
            reached.len()
        ));
    }
    for (due, request) in due.into_iter().zip(reached) {
        arrived(due, request.as_ref().map_err(ToString::to_string)?)?;
    }
    let Some(last) = answers.last() else { return Ok(()) };
    if let Some(missing) = case.answer_headers.iter().find(|name| !last.headers.has(name)) {
        return Err(format!("the answer has no header {missing}"));
    }
    let Some(code) = case.code else { return Ok(()) };
    let body: serde_json::Value = serde_json::from_slice(&last.body).map_err(|error| error.to_string())?;
    let found = &body["error"]["code"];
    if *found == code { Ok(()) } else { Err(format!("expected the code {code}, found {found}")) }
}

/// Whether a request arrived as it should.
fn arrived(due: &Reached, request: &Request) -> Result<(), String> {
    let line = [request.method.as_bytes(), b" ", &request.target].concat();
    if line != due.request.bytes() {
        return Err(format!("expected the server to get {}", shown(&due.request.bytes())));
    }
    for (name, lines) in &due.headers {
        if request.headers.all(name) != lines.values() {
            return Err(format!("the server gets another {name}"));
        }
    }
    if let Some(name) = due.without.iter().find(|name| request.headers.has(name)) {
        return Err(format!("the server gets {name}"));
    }
    match &due.body {
        Some(body) if body.bytes() != request.body => Err("the server gets another body".to_owned()),
        _ => Ok(()),
    }
}

fn told(answers: &[Answer]) -> String {
    let told: Vec<_> =
        answers.iter().map(|answer| format!("{} {}", answer.status, shown(&answer.body))).collect();
    if told.is_empty() { "nothing".to_owned() } else { told.join(", then ") }
}

fn seen(request: &Arrival) -> String {
    match request {
        Ok(request) => format!("{} {} {}", request.method, shown(&request.target), shown(&request.body)),
        Err(broken) => broken.to_string(),
    }
}
