//! Why a message is not read.

use std::fmt;

/// Why an answer cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum AnswerError {
    /// The status line or a header line is malformed: `220 mail.example ESMTP`, `Name : value`.
    Head,
    /// The head has more lines or bytes than are read.
    TooLong,
    /// `Content-Length` is not a number, or states two different ones.
    Length,
    /// `Transfer-Encoding` is not `chunked`, once.
    Coding,
    /// A chunk or a trailer is malformed.
    Chunk,
}

impl fmt::Display for AnswerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Head => "the answer does not begin as HTTP/1.1 does",
            Self::TooLong => "the head of the answer is too long",
            Self::Length => "the answer's Content-Length is no number, or there are several",
            Self::Coding => "the answer's Transfer-Encoding is not `chunked`",
            Self::Chunk => "a chunk of the answer is malformed",
        })
    }
}

impl std::error::Error for AnswerError {}

/// Why the framing of a request is refused.
///
/// ```
/// use mcp_attune_http1::FramingError;
///
/// assert_eq!((FramingError::Length.status(), FramingError::Length.rule()), (400, "H20"));
/// ```
///
/// It is exhaustive, so that whoever has words of their own for each is told by the compiler when one is added.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum FramingError {
    /// A line of the head is not a header line: `Name : value`, a folded line, a control character.
    Line,
    /// `Content-Length` comes twice, or is not a number.
    Length,
    /// `Content-Length` stands beside `Transfer-Encoding`.
    LengthAndCoding,
    /// `Transfer-Encoding` is not exactly `chunked`.
    Coding,
    /// `Host` comes twice.
    Host,
    /// A trailer is not a header line, or there are too many.
    Trailer,
    /// The head has more lines than it may have.
    TooManyLines,
    /// The head has more bytes than it may have.
    TooLong,
}

impl FramingError {
    /// The rule that is broken.
    #[must_use]
    pub fn rule(self) -> &'static str {
        match self {
            Self::TooManyLines | Self::TooLong => "G4",
            _ => "H20",
        }
    }

    /// The HTTP status that the caller gets.
    #[must_use]
    pub fn status(self) -> u16 {
        match self {
            Self::Coding => 501,
            Self::TooManyLines | Self::TooLong => 431,
            _ => 400,
        }
    }
}

impl fmt::Display for FramingError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Line => "a line of the request's head is no header line; write `Name: value`, each on a line of its own",
            Self::Length => "Content-Length comes more than once or is no number; send it once, in digits",
            Self::LengthAndCoding => "Content-Length stands beside Transfer-Encoding; send one of the two",
            Self::Coding => "Transfer-Encoding is not `chunked`; send the body with Content-Length, or in chunks alone",
            Self::Host => "Host comes more than once; send it once",
            Self::TooManyLines => "the request has too many headers; send fewer",
            Self::TooLong => "the request's head is too long; send fewer or shorter headers",
            Self::Trailer => "what follows the last chunk is no trailer; end the body with an empty line",
        })
    }
}

impl std::error::Error for FramingError {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_refusal_has_its_rule_and_its_status() {
        for (why, rule, status) in [
            (FramingError::Line, "H20", 400),
            (FramingError::Length, "H20", 400),
            (FramingError::LengthAndCoding, "H20", 400),
            (FramingError::Coding, "H20", 501),
            (FramingError::Host, "H20", 400),
            (FramingError::Trailer, "H20", 400),
            (FramingError::TooManyLines, "G4", 431),
            (FramingError::TooLong, "G4", 431),
        ] {
            assert_eq!((why.rule(), why.status()), (rule, status), "{why:?}");
        }
    }

    #[test]
    fn messages_say_what_is_wrong() {
        let refusals = [
            (FramingError::Line, "header line"),
            (FramingError::Length, "Content-Length"),
            (FramingError::LengthAndCoding, "beside Transfer-Encoding"),
            (FramingError::Coding, "chunked"),
            (FramingError::Host, "Host"),
            (FramingError::Trailer, "trailer"),
            (FramingError::TooManyLines, "too many headers"),
            (FramingError::TooLong, "too long"),
        ];
        for (why, part) in refusals {
            assert!(why.to_string().contains(part), "{why}");
        }
        let errors = [
            (AnswerError::Head, "HTTP/1.1"),
            (AnswerError::TooLong, "too long"),
            (AnswerError::Length, "Content-Length"),
            (AnswerError::Coding, "Transfer-Encoding"),
            (AnswerError::Chunk, "chunk"),
        ];
        for (why, part) in errors {
            assert!(why.to_string().contains(part), "{why}");
        }
    }
}
