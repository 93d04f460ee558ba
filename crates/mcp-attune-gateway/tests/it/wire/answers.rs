//! The cases of `spec/wire/answers/`.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use mcp_attune_gateway::config::HttpImplementation;

use super::data::{self, AnswerCase, CLOSED, Named, Settings, Status, shown};
use super::scripted::{Lane, Pace, REACHED, RESULT, Wait, contains, exchange};
use super::strict::Answer;

const AT_A_TIME: usize = 16;
const PING: &str = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
const WAIT: Wait = Wait { answers: 1, may_close: false, after: Duration::from_millis(30) };

fn request(method: &str) -> String {
    let head = format!(
        "{method} /mcp HTTP/1.1\r\nHost: localhost\r\nAccept: application/json, text/event-stream\r\n"
    );
    match method {
        "POST" => {
            format!("{head}Content-Type: application/json\r\nContent-Length: {}\r\n\r\n{PING}", PING.len())
        }
        _ => format!("{head}\r\n"),
    }
}

/// One answer of the server, and the call after it.
async fn check(case: &AnswerCase, lane: &Lane) -> Result<(), String> {
    let ask = request(case.request.as_deref().unwrap_or("POST"));
    lane.server.answer_next(case.answer.bytes(), case.closes);
    let answers = exchange(lane.gateway.callers, ask.as_bytes(), Pace::Whole, WAIT).await?;
    let judged = judge(case, &answers);
    judged.map_err(|why| {
        let came: Vec<_> = answers
            .iter()
            .map(|answer| format!("{} (whole: {}) {}", answer.status, answer.whole, shown(&answer.body)))
            .collect();
        let reason = if case.why().is_empty() { String::new() } else { format!("\n    why: {}", case.why()) };
        format!(
            "{why}\n    the server sent {}\n    the caller got {came:?}{reason}",
            shown(&case.answer.bytes())
        )
    })?;
    if lane.server.take().len() != 1 {
        return Err("the server was not asked exactly once".to_owned());
    }
    let next = exchange(lane.gateway.callers, request("POST").as_bytes(), Pace::Whole, WAIT).await?;
    match next.as_slice() {
        [one] if one.status == 200 && one.headers.has(REACHED) && one.body == RESULT.as_bytes() => {}
        other => return Err(format!("the next call got {other:?}")),
    }
    lane.server.take();
    Ok(())
}

fn judge(case: &AnswerCase, answers: &[Answer]) -> Result<(), String> {
    let any = case.status.all();
    let [answer] = answers else {
        return if answers.is_empty() && any.contains(&CLOSED) {
            Ok(())
        } else {
            Err(format!("expected one answer, {any:?}, and {} came", answers.len()))
        };
    };
    if !any.contains(&Status::Code(answer.status)) {
        return Err(format!("expected {any:?}"));
    }
    if [502, 504].contains(&answer.status) && !answer.headers.has(REACHED) {
        // The gateway's own: it is whole, and nothing of the server's is in it.
        return if answer.whole { Ok(()) } else { Err("our own answer breaks off".to_owned()) };
    }
    if answer.whole == case.cut {
        return Err(if case.cut { "the answer looks whole" } else { "the answer breaks off" }.to_owned());
    }
    if case.body.as_ref().is_some_and(|body| body.bytes() != answer.body) {
        return Err("expected another body".to_owned());
    }
    if let Some(part) = case.contains.iter().find(|part| !contains(&answer.body, &part.bytes())) {
        return Err(format!("the body does not contain {}", shown(&part.bytes())));
    }
    for (name, lines) in &case.headers {
        if answer.headers.all(name) != lines.values() {
            return Err(format!("the caller gets another {name}"));
        }
    }
    match case.without.iter().find(|name| answer.headers.has(name)) {
        Some(name) => Err(format!("the caller gets {name}")),
        None => Ok(()),
    }
}

/// Runs the cases, a few at a time.
pub(crate) async fn check_all(http: HttpImplementation) {
    let cases: Vec<AnswerCase> = data::read("answers", 100);
    let count = cases.len();
    let queue = Arc::new(Mutex::new(cases.into_iter()));
    let failures = Arc::new(Mutex::new(Vec::new()));
    let workers: Vec<_> = (0..AT_A_TIME)
        .map(|_| {
            let (queue, failures) = (Arc::clone(&queue), Arc::clone(&failures));
            tokio::spawn(async move {
                let lane = Lane::new(&Settings::default(), http).await;
                loop {
                    let next = queue.lock().unwrap().next();
                    let Some(case) = next else { return };
                    if let Err(failure) = check(&case, &lane).await {
                        failures.lock().unwrap().push(format!("{}: {failure}", case.name()));
                    }
                    lane.server.take();
                }
            })
        })
        .collect();
    for worker in workers {
        worker.await.unwrap();
    }
    let mut failures = std::mem::take(&mut *failures.lock().unwrap());
    failures.sort();
    data::conclude(count, &failures);
}
