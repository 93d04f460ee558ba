//! The cases of `spec/wire/answers/`.

use std::fmt::Write;

use bytes::BytesMut;
use http::{HeaderMap, HeaderValue};
use mcp_attune_http1::{AnswerError, AnswerHead, BodyPiece, BodyReader, read_answer};

use super::corpus::{self, AnswerCase, Status, latin1};

/// What was read of an answer; without a head, why it cannot be read, or `None` where it did not come whole.
type Reading = Result<Answer, Option<AnswerError>>;

#[derive(PartialEq, Debug)]
struct Answer {
    status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
    /// The trailers, where the body came whole; otherwise why it did not, or `None` where it is only incomplete.
    end: Result<HeaderMap, Option<AnswerError>>,
}

fn read(case: &AnswerCase, pieces: &[&[u8]]) -> Reading {
    let is_to_head = case.request.as_deref() == Some("HEAD");
    let (mut read, mut pieces) = (BytesMut::new(), pieces.iter());
    let answer = loop {
        match read_answer(&mut read, is_to_head) {
            Ok(Some(answer)) => break answer,
            Ok(None) => match pieces.next() {
                Some(piece) => read.extend_from_slice(piece),
                None => return Err(None),
            },
            Err(error) => return Err(Some(error)),
        }
    };
    let AnswerHead { head, body: mut reader, .. } = answer;
    let mut body = Vec::new();
    let end = read_body(&mut reader, &mut read, &mut pieces, &mut body);
    let end = match end {
        Err(None) if reader.ends_with_connection() && case.closes => Ok(HeaderMap::new()),
        end => end,
    };
    Ok(Answer { status: head.status().as_u16(), headers: head.headers().clone(), body, end })
}

fn read_body<'a>(
    reader: &mut BodyReader,
    read: &mut BytesMut,
    pieces: &mut impl Iterator<Item = &'a &'a [u8]>,
    body: &mut Vec<u8>,
) -> Result<HeaderMap, Option<AnswerError>> {
    let mut trailers = HeaderMap::new();
    loop {
        match reader.next_piece(read).map_err(Some)? {
            BodyPiece::Data(data) => body.extend_from_slice(&data),
            BodyPiece::Trailers(found) => trailers = found,
            BodyPiece::End => return Ok(trailers),
            BodyPiece::NeedsMore => read.extend_from_slice(pieces.next().ok_or(None)?),
        }
    }
}

/// Holds a reading against the data.
fn judge(case: &AnswerCase, reading: &Reading) -> Result<(), String> {
    let allowed = case.status.all();
    // Statuses of the gateway's own, where the answer cannot be passed on.
    let may_fail = [502, 504].iter().any(|code| allowed.contains(&Status::Code(*code)));
    let Ok(Answer { status, headers, body, end }) = reading else {
        return if may_fail { Ok(()) } else { Err(format!("not read: {reading:?}")) };
    };
    // Nobody asked for another protocol, so that the gateway does not pass it on.
    let is_refused_later = *status == 101 && may_fail;
    if !allowed.contains(&Status::Code(*status)) && !is_refused_later {
        return Err(format!("read as {status}, and expected was {allowed:?}"));
    }
    if is_refused_later {
        return Ok(());
    }
    // The caller of a stream that breaks off is told so in an event, so that what it gets is complete.
    let breaks = case.cut || case.contains.iter().any(|part| part.bytes() == b"-32603");
    if end.is_ok() == breaks {
        return Err(format!("the body ends with {end:?}"));
    }
    if case.body.as_ref().is_some_and(|expected| expected.bytes() != *body) {
        return Err(format!("the body is {}", body.escape_ascii()));
    }
    for (name, lines) in &case.headers {
        let found: Vec<&[u8]> = headers.get_all(name).iter().map(HeaderValue::as_bytes).collect();
        let expected: Vec<Vec<u8>> = lines.all().iter().map(|line| latin1(line)).collect();
        if found != expected {
            return Err(format!("{name} is {found:?}"));
        }
    }
    Ok(())
}

/// What became of a case, in a few words.
fn describe(reading: &Reading) -> String {
    let Answer { status, end, .. } = match reading {
        Ok(answer) => answer,
        Err(Some(error)) => return format!("refused: {error:?}"),
        Err(None) => return "the head is incomplete".to_owned(),
    };
    match end {
        Ok(trailers) if trailers.is_empty() => format!("{status}"),
        Ok(trailers) => format!("{status}, trailers: {}", trailers.len()),
        Err(None) => format!("{status}, the body is incomplete"),
        Err(Some(error)) => format!("{status}, then {error:?}"),
    }
}

#[test]
fn answers_are_read_as_the_corpus_says_however_they_are_split() {
    let cases: Vec<AnswerCase> = corpus::read("answers", 100);
    let (mut failures, mut table) = (Vec::new(), String::new());
    for case in &cases {
        let bytes = case.answer.bytes();
        let whole = read(case, &[&bytes]);
        writeln!(table, "{}: {}", case.name, describe(&whole)).unwrap();
        let mut result = judge(case, &whole);
        for pieces in corpus::splits(&bytes) {
            let split = read(case, &pieces);
            if result.is_ok() && split != whole {
                let lengths: Vec<_> = pieces.iter().take(2).map(|piece| piece.len()).collect();
                result = Err(format!("in pieces of {lengths:?}: {split:?}\n  whole: {whole:?}"));
            }
        }
        failures.extend(result.err().map(|why| format!("{}: {why}", case.name)));
    }
    corpus::conclude(cases.len(), &failures);
    insta::assert_snapshot!("answers", table);
}
