//! The cases of `spec/wire/requests/`.

use std::fmt::Write;

use bytes::{Bytes, BytesMut};
use mcp_attune_http1::{FramingChecker, FramingError, HeadLimits, take_plain_request};

use super::corpus::{self, RequestCase, Status};
use super::judge::{self, Seen};

/// What was read of a connection.
#[derive(PartialEq, Debug)]
struct Reading {
    /// The requests that go on, in their order.
    requests: Vec<Seen>,
    /// The request that is refused, by its number, and why.
    refused: Option<(usize, FramingError)>,
}

/// Reads a connection as the gateway does: plain requests first, and with the first that is not plain, everything goes through
/// the checker. Returns also how many were plain.
fn read(pieces: &[&[u8]]) -> (usize, Reading) {
    let mut requests = Vec::new();
    let mut pieces = pieces.iter();
    let mut read = BytesMut::new();
    let not_plain = loop {
        if read.is_empty() {
            let Some(piece) = pieces.next() else { break false };
            read.extend_from_slice(piece);
        }
        let before = read.clone();
        let Some(request) = take_plain_request(&mut read, HeadLimits::default()) else {
            assert_eq!(read, before, "nothing was taken, and yet something changed");
            break true;
        };
        let headers = request.headers().iter();
        requests.push(Seen::new(
            request.method().as_str(),
            request.uri().path_and_query().unwrap().as_str().as_bytes(),
            headers.map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())),
            request.body(),
        ));
    };
    let plain = requests.len();
    if !not_plain {
        return (plain, Reading { requests, refused: None });
    }
    let (mut checker, mut passed) = (FramingChecker::new(HeadLimits::default()), BytesMut::new());
    for piece in std::iter::once(read.freeze()).chain(pieces.map(|piece| Bytes::copy_from_slice(piece))) {
        let frames = checker.check(piece, &mut passed);
        passed.extend_from_slice(&frames);
    }
    checker.end(&mut passed);
    let mut rest = judge::requests(&passed);
    let refused = checker.refused();
    if let Some((number, _)) = refused {
        assert_eq!(rest.len(), number + 1, "the request that is refused is the last that is passed on");
        rest.pop();
    }
    requests.extend(rest);
    (plain, Reading { requests, refused: refused.map(|(number, why)| (plain + number, why)) })
}

/// Holds a reading against the data.
fn judge(case: &RequestCase, reading: &Reading) -> Result<(), String> {
    let answers = case.answers();
    let count = reading.requests.len() + usize::from(reading.refused.is_some());
    if count > answers.len() {
        return Err(format!("{count} requests were read, and {} answers are expected", answers.len()));
    }
    let mut due = case.upstream.iter();
    for (number, statuses) in answers.iter().enumerate() {
        let reached = if statuses.contains(&Status::Code(200)) { due.next() } else { None };
        if let Some((refused, why)) = reading.refused
            && refused == number
        {
            return if statuses.contains(&Status::Code(why.status())) {
                Ok(())
            } else {
                Err(format!("refused as {why:?}, which is {}, and expected was {statuses:?}", why.status()))
            };
        }
        let Some(request) = reading.requests.get(number) else {
            return if *statuses == [Status::Code(200)] {
                Err(format!("request {number} was not read"))
            } else {
                Ok(())
            };
        };
        let Some(reached) = reached else { continue };
        // A target in absolute form is made a path by the implementation behind the checker, and it drops a fragment. Another
        // mount has another path on its server.
        let target = request.target.split(|byte| *byte == b'#').next().unwrap();
        let line = [request.method.as_bytes(), b" ", target].concat();
        let is_same_path = target.starts_with(b"/") && case.gateway.mount.is_none();
        if is_same_path && line != reached.request.bytes() {
            return Err(format!("request {number} was read as {}", line.escape_ascii()));
        }
        if reached.body.as_ref().is_some_and(|body| body.bytes() != request.body) {
            return Err(format!("request {number} was read with the body {}", request.body.escape_ascii()));
        }
    }
    Ok(())
}

/// What became of a case, in a few words.
fn describe(plain: usize, reading: &Reading) -> String {
    let mut words = format!("{plain} plain");
    match reading.requests.len() - plain {
        0 => {}
        more => write!(words, ", {more} passed on").unwrap(),
    }
    if let Some((_, why)) = reading.refused {
        write!(words, ", refused: {why:?}").unwrap();
    }
    words
}

#[test]
fn requests_are_read_as_the_corpus_says_however_they_are_split() {
    let cases: Vec<RequestCase> = corpus::read("requests", 700);
    let (mut failures, mut table) = (Vec::new(), String::new());
    for case in &cases {
        let bytes = case.send.bytes();
        let (plain, whole) = read(&[&bytes]);
        writeln!(table, "{}: {}", case.name, describe(plain, &whole)).unwrap();
        let mut result = judge(case, &whole);
        for pieces in corpus::splits(&bytes) {
            let (_, split) = read(&pieces);
            if result.is_ok() && split != whole {
                let lengths: Vec<_> = pieces.iter().take(2).map(|piece| piece.len()).collect();
                result = Err(format!("in pieces of {lengths:?}: {split:?}\n  whole: {whole:?}"));
            }
        }
        failures.extend(result.err().map(|why| format!("{}: {why}", case.name)));
    }
    corpus::conclude(cases.len(), &failures);
    insta::assert_snapshot!("requests", table);
}
