//! What a pipe keeps of requests, and for how long.

use jiff::Timestamp;
use mcp_attune::assume::CallerEvidence;
use mcp_attune::exchange::pipe::{PipeExchange, ReturnedLine};
use mcp_attune::language::Languages;
use mcp_attune::plan::Offer;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::reply::Reply;

/// A pipe of a server that speaks English, with room for so many requests.
fn english(most: usize) -> PipeExchange {
    let languages = Languages::new("en", []).ok();
    PipeExchange::new(Offer { languages, ..Offer::default() }, HeaderPolicy::default(), false, most)
}

/// Sends a request with a preference, whose answer will say its language. Returns the status of what is answered instead.
fn ask(pipe: &mut PipeExchange, id: &str) -> Result<(), u16> {
    let line = format!(
        r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/acceptLanguage":"de"}}}}}}"#
    );
    let sent = pipe.forward_line(line.as_bytes(), CallerEvidence::default(), Timestamp::UNIX_EPOCH);
    sent.map(drop).map_err(|rejected| rejected.reply.status)
}

fn send(pipe: &mut PipeExchange, line: &str) {
    assert!(
        pipe.forward_line(line.as_bytes(), CallerEvidence::default(), Timestamp::UNIX_EPOCH).is_ok(),
        "{line}"
    );
}

/// Whether the answer to a request says its language: whether what was decided of the request is still known.
fn is_known(pipe: &mut PipeExchange, id: &str) -> bool {
    let line = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
    match pipe.return_line(line.as_bytes(), |_| {}, |_| {}) {
        ReturnedLine::Send(sent) => *sent != *line.as_bytes(),
        ReturnedLine::Drop => panic!("dropped"),
    }
}

#[test]
fn a_request_is_kept_until_it_is_answered() {
    let mut pipe = english(3);
    assert!(pipe.is_idle());
    assert!(pipe.offer().languages.is_some());
    ask(&mut pipe, "1").unwrap();
    assert!(!pipe.is_idle());
    assert!(is_known(&mut pipe, "1"));
    assert!(pipe.is_idle() && !is_known(&mut pipe, "1"));
}

#[test]
fn a_request_whose_answer_stays_as_it_is_is_not_kept() {
    let mut pipe = PipeExchange::new(Offer::default(), HeaderPolicy::default(), false, 0);
    send(&mut pipe, r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#);
    assert!(pipe.is_idle());
}

#[test]
fn what_the_client_cancels_is_forgotten() {
    let mut pipe = english(3);
    ask(&mut pipe, "1").unwrap();
    ask(&mut pipe, "2").unwrap();
    send(&mut pipe, r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#);
    send(&mut pipe, r#"{"jsonrpc":"2.0","method":"notifications/other","params":{"requestId":2}}"#);
    assert!(!is_known(&mut pipe, "1") && is_known(&mut pipe, "2"));
}

#[test]
fn no_more_requests_wait_than_there_is_room_for() {
    let mut pipe = english(2);
    assert_eq!([ask(&mut pipe, "1"), ask(&mut pipe, "2"), ask(&mut pipe, "3")], [Ok(()), Ok(()), Err(503)]);
    assert!(is_known(&mut pipe, "1"));
    assert_eq!(ask(&mut pipe, "3"), Ok(()));
}

#[test]
fn what_was_answered_in_another_way_is_forgotten() {
    let mut pipe = english(3);
    ask(&mut pipe, "1").unwrap();
    ask(&mut pipe, "\"2\"").unwrap();
    ask(&mut pipe, "3").unwrap();
    pipe.forget("1");
    let unread = r#"{"jsonrpc":"2.0","id":"2","method":"tools/list"}"#;
    let reply = pipe.refuse(unread.as_bytes(), Notice::RequestUnreadable).unwrap();
    assert_eq!((reply.status, reply.code), (400, -32600));
    assert!(reply.body.contains(r#""id":"2""#) && reply.body.contains("check its params"), "{}", reply.body);
    assert!(
        pipe.refuse(br#"{"jsonrpc":"2.0","method":"notifications/x"}"#, Notice::RequestUnreadable).is_none()
    );
    assert!(!is_known(&mut pipe, "1") && !is_known(&mut pipe, "\"2\""));
    let told: Vec<_> =
        pipe.fail_all(&Notice::ServerBrokeOff).into_iter().map(|reply| (reply.status, reply.body)).collect();
    assert_eq!(told.len(), 1);
    assert!(told[0].0 == 502 && told[0].1.contains(r#""id":3"#), "{told:?}");
    // Whoever waits prefers German.
    let english = Reply::failed(502, Some("3"), Notice::ServerBrokeOff).body;
    assert_ne!(told[0].1, english);
    assert!(pipe.is_idle());
}
