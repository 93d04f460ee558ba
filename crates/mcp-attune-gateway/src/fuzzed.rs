//! What is private here, for the fuzzer: HTTP/1.1 as it stands on the wire, and what is checked of it before hyper reads it.

use bytes::{Bytes, BytesMut};
use http::{HeaderMap, Request, Response};

use crate::http1::{self, Bad, Bounds, Piece, Pieces};
use crate::listen::{self, Limits, Read};

/// Lines that a plain request may have.
pub const LINES: usize = 64;

/// The plain request at the beginning of a text, and what is left of the text.
pub fn request(text: &[u8]) -> (Option<Request<Bytes>>, BytesMut) {
    let mut read = BytesMut::from(text);
    let taken = http1::take_plain(&mut read, Bounds { lines: LINES, head: 16 * 1024 });
    (taken, read)
}

/// An answer that was read to its end, or to the end of the text.
#[derive(Debug)]
pub struct Answer {
    /// As it is sent on.
    pub head: Response<()>,
    /// Out of its chunks.
    pub body: Vec<u8>,
    /// After the last of them.
    pub trailers: HeaderMap,
    /// Whether the text has all of it.
    pub is_whole: bool,
    /// What follows it.
    pub left: Vec<u8>,
}

/// The answer at the beginning of a text that comes in pieces of a length; none where not even its head is whole.
///
/// # Errors
///
/// What is said of an answer that is none.
pub fn answer(text: &[u8], to_head: bool, length: usize) -> Result<Option<Answer>, String> {
    let told = |bad: Bad| bad.to_string();
    let (mut read, mut coming) = (BytesMut::new(), text.chunks(length.max(1)));
    let http1::Answer { head, body: mut pieces, .. } = loop {
        if let Some(answer) = http1::read_answer(&mut read, to_head).map_err(told)? {
            break answer;
        }
        let Some(more) = coming.next() else { return Ok(None) };
        read.extend_from_slice(more);
    };
    let (mut body, mut trailers) = (Vec::new(), HeaderMap::new());
    let is_whole = loop {
        match pieces.next(&mut read).map_err(told)? {
            Piece::Data(data) => body.extend_from_slice(&data),
            Piece::Trailers(lines) => trailers = lines,
            Piece::Over => break true,
            Piece::More => {
                let Some(more) = coming.next() else { break pieces == Pieces::ToTheEnd };
                read.extend_from_slice(more);
            }
        }
    };
    let left = [&read[..], &coming.collect::<Vec<_>>().concat()].concat();
    Ok(Some(Answer { head, body, trailers, is_whole, left }))
}

/// What hyper reads of a connection that sends a text in pieces of a length, and what is refused.
///
/// # Errors
///
/// Where the connection is cut.
pub fn framed(text: &[u8], length: usize, limits: &Limits) -> std::io::Result<Read> {
    listen::framed(text, length, limits)
}
