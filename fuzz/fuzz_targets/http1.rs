//! HTTP/1.1 without I/O: a plain request is what a reader sees that only splits lines, an answer is the same however its bytes
//! come, and what was read can be written and read again. The first byte of the input says how long the pieces are, and
//! whether HEAD was asked.
#![no_main]

use bytes::BytesMut;
use http::{HeaderMap, Response};
use libfuzzer_sys::fuzz_target;
use mcp_attune_http1::{
    AnswerError, AnswerHead, AnswerOptions, BodyFraming, BodyPiece, HeadLimits, MAX_HEAD_BYTES,
    MAX_HEADER_LINES, read_answer, take_plain_request, write_answer, write_request,
};

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    request(text);
    let (is_to_head, length) = (first & 128 == 128, usize::from(first & 127));
    let whole = Answer::read(text, is_to_head, usize::MAX);
    let pieces = Answer::read(text, is_to_head, length);
    match (&whole, &pieces) {
        (Ok(Some(whole)), Ok(Some(pieces))) => {
            same(whole, pieces);
            again(whole);
        }
        (Ok(None), Ok(None)) | (Err(_), Err(_)) => {}
        _ => panic!("whole {whole:?}, in pieces {pieces:?}"),
    }
});

/// A request is taken as a whole and as a reader sees it that only splits lines, or not at all.
fn request(text: &[u8]) {
    let mut left = BytesMut::from(text);
    let Some(request) = take_plain_request(&mut left, HeadLimits::default()) else {
        return assert_eq!(left, text);
    };
    let end = text.windows(4).position(|four| four == b"\r\n\r\n").unwrap();
    let head = &text[..end];
    // No byte of a line end stands alone.
    let count = |byte| head.iter().filter(|other| **other == byte).count();
    let lines: Vec<&[u8]> = split(head);
    assert!(count(b'\r') == lines.len() - 1 && count(b'\n') == lines.len() - 1);
    let target = request.uri().path_and_query().unwrap().as_str();
    assert_eq!(lines[0], format!("{} {target} HTTP/1.1", request.method()).as_bytes());
    let theirs = lines[1..].iter().map(|line| {
        let colon = line.iter().position(|byte| *byte == b':').unwrap();
        let name = String::from_utf8(line[..colon].to_ascii_lowercase()).unwrap();
        (name, trimmed(&line[colon + 1..]).to_vec())
    });
    assert_eq!(ours(request.headers()), sorted(theirs));
    let length =
        request.headers().get("content-length").map_or(0, |stated| stated.to_str().unwrap().parse().unwrap());
    let body = end + 4;
    assert_eq!(request.body()[..], text[body..body + length]);
    assert_eq!(left[..], text[body + length..]);
    for name in ["transfer-encoding", "upgrade", "expect", "te", "trailer"] {
        assert!(!request.headers().contains_key(name), "{name}");
    }
    // What is written may have a line more.
    if request.headers().len() == MAX_HEADER_LINES {
        return;
    }
    let mut written = Vec::new();
    write_request(&request, BodyFraming::Length(length as u64), &mut written);
    written.extend_from_slice(request.body());
    let read = take_plain_request(&mut BytesMut::from(&written[..]), HeadLimits::default()).unwrap();
    assert_eq!((read.method(), read.uri(), read.body()), (request.method(), request.uri(), request.body()));
}

fn split(head: &[u8]) -> Vec<&[u8]> {
    let mut lines = Vec::new();
    let mut rest = head;
    while let Some(end) = rest.windows(2).position(|two| two == b"\r\n") {
        lines.push(&rest[..end]);
        rest = &rest[end + 2..];
    }
    lines.push(rest);
    lines
}

fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// An answer that was read to its end, or to the end of the text.
#[derive(Debug)]
struct Answer {
    head: Response<()>,
    reason: Option<Vec<u8>>,
    body: Vec<u8>,
    trailers: HeaderMap,
    is_complete: bool,
    left: Vec<u8>,
}

impl Answer {
    /// Reads the answer at the beginning of a text that comes in pieces of a length. Returns `None` where its head is not complete.
    fn read(text: &[u8], is_to_head: bool, length: usize) -> Result<Option<Self>, AnswerError> {
        let (mut read, mut coming) = (BytesMut::new(), text.chunks(length.max(1)));
        let AnswerHead { head, reason, body: mut reader, .. } = loop {
            if let Some(answer) = read_answer(&mut read, is_to_head)? {
                break answer;
            }
            let Some(more) = coming.next() else { return Ok(None) };
            read.extend_from_slice(more);
        };
        let (mut body, mut trailers) = (Vec::new(), HeaderMap::new());
        let is_complete = loop {
            match reader.next_piece(&mut read)? {
                BodyPiece::Data(data) => body.extend_from_slice(&data),
                BodyPiece::Trailers(lines) => trailers = lines,
                BodyPiece::End => break true,
                BodyPiece::NeedsMore => {
                    let Some(more) = coming.next() else { break reader.ends_with_connection() };
                    read.extend_from_slice(more);
                }
            }
        };
        let left = [&read[..], &coming.collect::<Vec<_>>().concat()].concat();
        let reason = reason.map(|reason| reason.to_vec());
        Ok(Some(Self { head, reason, body, trailers, is_complete, left }))
    }
}

fn same(whole: &Answer, pieces: &Answer) {
    assert_eq!(whole.head.status(), pieces.head.status());
    assert_eq!(whole.head.headers(), pieces.head.headers());
    assert_eq!(whole.trailers, pieces.trailers);
    assert_eq!((&whole.reason, &whole.body), (&pieces.reason, &pieces.body));
    assert_eq!((&whole.left, whole.is_complete), (&pieces.left, pieces.is_complete));
}

/// What is written of an answer is read as the same answer.
fn again(answer: &Answer) {
    let mut head = Response::new(());
    *head.status_mut() = answer.head.status();
    *head.headers_mut() = answer.head.headers().clone();
    let options = AnswerOptions {
        reason: answer.reason.as_deref(),
        body_size: Some(answer.body.len() as u64),
        closes: false,
    };
    let mut written = Vec::new();
    let framing = write_answer(&mut head, options, |out| out.push(b'x'), &mut written);
    // An interim answer would be skipped, and is never sent on. What is written may have lines more than what was read.
    let is_longer = head.headers().len() + 1 > MAX_HEADER_LINES || written.len() > MAX_HEAD_BYTES;
    if answer.head.status().is_informational() || is_longer {
        return;
    }
    if framing != BodyFraming::Length(0) {
        written.extend_from_slice(&answer.body);
    }
    let read = Answer::read(&written, false, usize::MAX).unwrap().unwrap();
    assert_eq!((read.head.status(), read.reason), (answer.head.status(), answer.reason.clone()));
    assert!(read.is_complete && read.left.is_empty());
    // The length and the date may be ours.
    let others = |headers: &HeaderMap| {
        let mut lines = ours(headers);
        lines.retain(|(name, _)| !["content-length", "transfer-encoding", "date"].contains(&name.as_str()));
        lines
    };
    assert_eq!(others(read.head.headers()), others(answer.head.headers()));
}

type Lines = Vec<(String, Vec<u8>)>;

fn ours(headers: &HeaderMap) -> Lines {
    sorted(headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())))
}

/// A map has the lines of one name together.
fn sorted(lines: impl Iterator<Item = (String, Vec<u8>)>) -> Lines {
    let mut lines: Lines = lines.collect();
    lines.sort();
    lines
}
