//! HTTP/1.1 without I/O: bytes in, messages out, and the other way round.
//!
//! Whoever owns the connection reads and writes its bytes; this crate says what they mean. It has no sockets, no clock and no
//! async, and it never panics on input. A message that could be read in two ways is never read in one of them.
//!
//! # Requests
//!
//! 1. [`take_plain_request`] reads the requests that most clients send: complete, HTTP/1.1, a path as target, a body of a
//!    length that is stated once or no body at all, and no header about the connection but `Connection: keep-alive`.
//! 2. It takes a request whole or leaves every byte where it was. What it leaves may be valid, incomplete, HTTP/2 or an attack;
//!    another implementation decides.
//! 3. Every line of a plain request ends with CR LF. A line that ends with LF alone makes the request not plain.
//! 4. [`FramingChecker`] stands in front of that other implementation. A head whose lengths, codings or hosts are repeated or
//!    malformed is replaced by a stand-in that has to be refused ([`FramingError`]), and nothing after it is passed on.
//! 5. Chunks are followed to their end. Trailers are parsed strictly and dropped; malformed trailers make the body fail.
//!
//! # Answers
//!
//! 6. [`read_answer`] reads the head of an answer and skips interim answers (1xx) before it.
//! 7. `Transfer-Encoding` takes precedence over `Content-Length`, which is then removed (RFC 9112 §6.3). Only `chunked`, once, is a
//!    coding. Several lengths must be the same number.
//! 8. [`BodyReader`] finds the end of the body. A chunk line or a trailer that does not end with CR LF is an error.
//! 9. An answer that cannot be read is an [`AnswerError`], never a shorter answer.
//!
//! # Both
//!
//! 10. httparse reads the heads. What it accepts beyond the rules above is refused here: LF as a line end in requests, a fragment
//!     in the target, repeated `Host` or `Content-Length`.
//! 11. Everything is bounded: the bytes of a head ([`MAX_HEAD_BYTES`]), its lines ([`MAX_HEADER_LINES`]), the line before a
//!     chunk, trailers.
//! 12. How the input is split into pieces changes nothing.
//! 13. [`MessageEncoder`] writes a body with the framing that its head announced. A body of another length is an error.
//!
//! # Example
//!
//! ```
//! use bytes::BytesMut;
//! use mcp_attune_http1::{HeadLimits, take_plain_request};
//!
//! let mut read = BytesMut::from("POST /mcp HTTP/1.1\r\nHost: localhost\r\nContent-Length: 2\r\n\r\n{}GET /");
//! let request = take_plain_request(&mut read, HeadLimits::default()).unwrap();
//! assert_eq!((request.uri().path(), &request.body()[..]), ("/mcp", &b"{}"[..]));
//! // What follows is the beginning of the next request.
//! assert_eq!(&read[..], b"GET /");
//! assert!(take_plain_request(&mut read, HeadLimits::default()).is_none());
//! ```
//!
//! Why not hyper alone: it serves connections with tasks of their own, and what it does to pass requests and pieces of bodies
//! between them is a third of what a call costs where caller, call and server share one task.
//!
//! Why httparse: it is reviewed and fuzzed by many. A parser of our own, which was here before, took 560 instructions less for the head
//! of a `tools/call` with 12 header lines and 580 less for the head of its answer, counted by callgrind. That is 2 % of a call.
//!
//! Rules: G1, G4, G5, H20.
#![cfg_attr(
    not(test),
    warn(
        clippy::unwrap_used,
        clippy::expect_used,
        clippy::panic,
        clippy::indexing_slicing,
        clippy::string_slice
    )
)]

mod limits;
mod error;
mod head;

mod body;
mod encoder;

mod answer;
mod request;
mod write;

mod framing;

pub use answer::{AnswerHead, read_answer};
pub use body::{BodyPiece, BodyReader};
pub use encoder::{BodyFraming, BodyLengthError, MessageEncoder};
pub use error::{AnswerError, FramingError};
pub use framing::FramingChecker;
pub use head::list_members;
pub use limits::{HeadLimits, MAX_HEAD_BYTES, MAX_HEADER_LINES};
pub use request::take_plain_request;
pub use write::{AnswerOptions, write_answer, write_request};
