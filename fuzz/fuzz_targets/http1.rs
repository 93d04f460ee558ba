//! HTTP/1.1 on the wire: a plain request and an answer are what httparse sees in the same bytes, however these come. The first byte
//! of the input says how long the pieces are, and whether HEAD was asked.
#![no_main]

use http::HeaderMap;
use httparse::{EMPTY_HEADER, Header, Status};
use libfuzzer_sys::fuzz_target;
use mcp_attune_gateway::fuzzed::{self, Answer, LINES};

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    request(text);
    let (to_head, length) = (first & 128 == 128, usize::from(first & 127));
    let whole = fuzzed::answer(text, to_head, usize::MAX);
    let pieces = fuzzed::answer(text, to_head, length);
    match (&whole, &pieces) {
        (Ok(Some(whole)), Ok(Some(pieces))) => {
            same(whole, pieces);
            answer(whole, text);
        }
        (Ok(None), Ok(None)) | (Err(_), Err(_)) => {}
        _ => panic!("whole {whole:?}, in pieces {pieces:?}"),
    }
});

/// A request is taken as a whole and as httparse reads it, or not at all.
fn request(text: &[u8]) {
    let (taken, left) = fuzzed::request(text);
    let Some(request) = taken else { return assert_eq!(left, text) };
    let mut room = [EMPTY_HEADER; LINES];
    let mut theirs = httparse::Request::new(&mut room);
    let Ok(Status::Complete(size)) = theirs.parse(text) else { panic!("httparse reads no request") };
    assert_eq!((theirs.method, theirs.version), (Some(request.method().as_str()), Some(1)));
    assert_eq!(theirs.path, request.uri().path_and_query().map(|target| target.as_str()));
    assert_eq!(ours(request.headers()), lines(theirs.headers));
    let length =
        request.headers().get("content-length").map_or(0, |told| told.to_str().unwrap().parse().unwrap());
    assert_eq!(request.body()[..], text[size..size + length]);
    assert_eq!(left[..], text[size + length..]);
    assert!(!request.headers().contains_key("transfer-encoding"));
}

fn same(whole: &Answer, pieces: &Answer) {
    assert_eq!(whole.head.status(), pieces.head.status());
    assert_eq!(whole.head.headers(), pieces.head.headers());
    assert_eq!(whole.trailers, pieces.trailers);
    assert_eq!((&whole.body, &whole.left, whole.is_whole), (&pieces.body, &pieces.left, pieces.is_whole));
}

/// The head is that of the first answer which is no interim one.
fn answer(answer: &Answer, mut text: &[u8]) {
    loop {
        let mut room = [EMPTY_HEADER; 128];
        let mut theirs = httparse::Response::new(&mut room);
        let Ok(Status::Complete(size)) = theirs.parse(text) else {
            panic!("httparse reads no answer: {answer:?}")
        };
        text = &text[size..];
        let status = theirs.code.unwrap();
        if (100..200).contains(&status) && status != 101 {
            continue;
        }
        assert_eq!(status, answer.head.status().as_u16());
        // A length that is told twice, or beside a coding, is settled.
        let settled = |mut lines: Lines| {
            lines.retain(|(name, _)| name != "content-length");
            lines
        };
        return assert_eq!(settled(ours(answer.head.headers())), settled(lines(theirs.headers)));
    }
}

type Lines = Vec<(String, Vec<u8>)>;

fn lines(lines: &[Header<'_>]) -> Lines {
    sorted(lines.iter().map(|line| (line.name.to_ascii_lowercase(), line.value.to_vec())))
}

fn ours(headers: &HeaderMap) -> Lines {
    sorted(headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())))
}

/// A map has the lines of one name together.
fn sorted(lines: impl Iterator<Item = (String, Vec<u8>)>) -> Lines {
    let mut lines: Lines = lines.collect();
    lines.sort();
    lines
}
