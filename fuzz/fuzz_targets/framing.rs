//! The framing of requests, checked before another implementation reads them: the pieces that they come in make no difference,
//! every head that is passed on and that httparse reads has one length at most, and nothing follows what is refused. The first
//! byte of the input says how long the pieces are.
#![no_main]

use bytes::{Bytes, BytesMut};
use httparse::{EMPTY_HEADER, Request, Status};
use libfuzzer_sys::fuzz_target;
use mcp_attune_http1::{FramingChecker, FramingError, HeadLimits};

fuzz_target!(|input: &[u8]| {
    let Some((first, text)) = input.split_first() else { return };
    let whole = check(text, usize::MAX);
    let pieces = check(text, usize::from(*first).max(1));
    assert_eq!(whole.0, pieces.0);
    assert_eq!(whole.1.map(|(number, _)| number), pieces.1.map(|(number, _)| number));
    head(&whole.0);
});

/// What is passed on of a connection, and which request is refused.
fn check(text: &[u8], length: usize) -> (BytesMut, Option<(usize, FramingError)>) {
    let (mut checker, mut passed) = (FramingChecker::new(HeadLimits::default()), BytesMut::new());
    for piece in text.chunks(length) {
        let frames = checker.check(Bytes::copy_from_slice(piece), &mut passed);
        assert!(frames.is_empty() || checker.is_http2());
        passed.extend_from_slice(&frames);
    }
    checker.end(&mut passed);
    (passed, checker.refused())
}

/// The first head of what is passed on, where it is complete.
fn head(text: &[u8]) {
    let mut room = [EMPTY_HEADER; 128];
    let mut request = Request::new(&mut room);
    let Ok(Status::Complete(_)) = request.parse(text) else { return };
    let count =
        |name: &str| request.headers.iter().filter(|line| line.name.eq_ignore_ascii_case(name)).count();
    let (lengths, codings) = (count("content-length"), count("transfer-encoding"));
    assert!(lengths + codings <= 1 && count("host") <= 1, "{}", String::from_utf8_lossy(text));
}
