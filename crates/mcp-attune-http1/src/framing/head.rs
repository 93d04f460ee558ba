//! What the head of a request says of its framing.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};

use crate::error::FramingError;
use crate::head::{HeadExtent, TooManyLines, parse_decimal, split_line};

/// How the body of a request is framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum RequestFraming {
    /// By a length, which is 0 where there is no body.
    Length(u64),
    /// By the last chunk.
    Chunked,
    /// Not at all: this is the preface of HTTP/2.
    Http2,
}

/// A head that has come whole.
pub(super) struct JudgedHead {
    /// Its size.
    pub(super) bytes: usize,
    pub(super) framing: Result<RequestFraming, FramingError>,
}

/// Judges the head at the beginning of what was read. Returns `None` where it has not come whole.
///
/// # Errors
///
/// [`TooManyLines`], where it has more than `max_lines` header lines.
pub(super) fn judge_head(read: &[u8], max_lines: usize) -> Result<Option<JudgedHead>, TooManyLines> {
    // The request line is one more.
    let Some(HeadExtent { bytes, .. }) = HeadExtent::find(read, max_lines + 1)? else { return Ok(None) };
    Ok(Some(JudgedHead { bytes, framing: judge_framing(read.get(..bytes).unwrap_or_default()) }))
}

fn judge_framing(head: &[u8]) -> Result<RequestFraming, FramingError> {
    let (request_line, mut rest) = split_line(head).ok_or(FramingError::Line)?;
    if request_line == b"PRI * HTTP/2.0" {
        return Ok(RequestFraming::Http2);
    }
    let (mut length, mut is_coded, mut hosts) = (None, false, 0);
    while let Some((line, after)) = split_line(rest).filter(|(line, _)| !line.is_empty()) {
        rest = after;
        let (name, value) = parse_header_line(line).ok_or(FramingError::Line)?;
        match name.as_str() {
            "content-length" if length.is_some() => return Err(FramingError::Length),
            "content-length" => length = Some(parse_decimal(value).ok_or(FramingError::Length)?),
            "transfer-encoding" if is_coded || !value.eq_ignore_ascii_case(b"chunked") => {
                return Err(FramingError::Coding);
            }
            "transfer-encoding" => is_coded = true,
            "host" => hosts += 1,
            _ => {}
        }
    }
    match (length, is_coded) {
        _ if hosts > 1 => Err(FramingError::Host),
        (Some(_), true) => Err(FramingError::LengthAndCoding),
        (None, true) if !request_line.ends_with(b" HTTP/1.1") => Err(FramingError::Coding),
        (None, true) => Ok(RequestFraming::Chunked),
        (length, false) => Ok(RequestFraming::Length(length.unwrap_or(0))),
    }
}

/// Parses a header line without its line end. Returns `None` if it is malformed.
pub(super) fn parse_header_line(line: &[u8]) -> Option<(HeaderName, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
    let value = line.get(colon + 1..)?.trim_ascii();
    HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value)).ok()?;
    Some((name, value))
}
