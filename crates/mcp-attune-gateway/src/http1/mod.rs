//! HTTP/1.1 as it stands on the wire: all of it for the leg to a server behind, and for callers what is plain.
//!
//! 1. An answer that can be read in two ways is broken: two lengths, a coding that nobody asked for, a line that is folded.
//! 2. `Transfer-Encoding` decides before `Content-Length`, which then goes (RFC 9112 §6.3).
//! 3. Everything is bounded: a head, its lines, the line of a chunk, trailers.
//! 4. Of requests only those are read that leave no question ([`take_plain`]); hyper is asked about all others.
//!
//! Why not hyper for everything: it is made for connections with tasks of their own, and what it does to pass requests and
//! pieces between them is a third of what a call costs where caller, call and server share one task.
//!
//! Rules: G1, G4, G5.

use std::fmt;

mod head;

mod body;
mod outgoing;
mod request;

mod answer;

pub(crate) use answer::{Answer, read_answer, write_answer};
pub(crate) use body::{Piece, Pieces};
pub(crate) use head::{Extent, digits, first_line, tokens};
pub(crate) use outgoing::{Outgoing, Unsent};
pub(crate) use request::{Bounds, take_plain, write_request};

/// How a message says where its body ends.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Frame {
    /// By a length.
    Length(u64),
    /// By the last chunk.
    Chunked,
}

/// How long a head may be.
const MOST_HEAD: usize = 64 * 1024;
/// How many lines it may have, and trailers too.
const MOST_LINES: usize = 128;

/// Why an answer cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Bad {
    /// It does not begin like an answer, or a line of its head is none.
    Head,
    /// Its head has more lines or bytes than are read.
    TooLong,
    /// Its lengths are none, or differ.
    Length,
    /// It is encoded in a way that was not asked for.
    Coding,
    /// What should be a chunk is none.
    Chunk,
}

impl fmt::Display for Bad {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "the answer does not begin as HTTP/1.1 does",
            Self::TooLong => "the head of the answer is too long",
            Self::Length => "the answer's Content-Length is no number, or there are several",
            Self::Coding => "the answer's Transfer-Encoding is not `chunked`",
            Self::Chunk => "a chunk of the answer is none",
        })
    }
}

impl std::error::Error for Bad {}
