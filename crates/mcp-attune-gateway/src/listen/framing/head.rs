//! What the head of a request says of its framing.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};

use super::Misframed;
use crate::http1::{Bad, Extent, digits, first_line};

/// How the body of a request is framed.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Framing {
    /// By a length, which may be none.
    Length(u64),
    Chunked,
    /// It is the preface of HTTP/2.
    Http2,
}

/// A head that is whole.
pub(super) struct Head {
    /// How many bytes it has.
    pub(super) size: usize,
    pub(super) framing: Result<Framing, Misframed>,
}

/// Finds the head at the beginning of what was read. Returns `None` where it is not whole yet.
///
/// # Errors
///
/// [`Bad`], where it has more than `max_lines` header lines.
pub(super) fn find(read: &[u8], max_lines: usize) -> Result<Option<Head>, Bad> {
    // The request line is one more.
    let Some(Extent { size, .. }) = Extent::of(read, max_lines + 1)? else { return Ok(None) };
    Ok(Some(Head { size, framing: judge(read.get(..size).unwrap_or_default()) }))
}

fn judge(head: &[u8]) -> Result<Framing, Misframed> {
    let (request_line, mut rest) = first_line(head).ok_or(Misframed::Line)?;
    if request_line == b"PRI * HTTP/2.0" {
        return Ok(Framing::Http2);
    }
    let (mut length, mut coded, mut hosts) = (None, false, 0);
    while let Some((line, after)) = first_line(rest).filter(|(line, _)| !line.is_empty()) {
        rest = after;
        let (name, value) = header_line(line).ok_or(Misframed::Line)?;
        match name.as_str() {
            "content-length" if length.is_some() => return Err(Misframed::Length),
            "content-length" => length = Some(digits(value).ok_or(Misframed::Length)?),
            "transfer-encoding" if coded || !value.eq_ignore_ascii_case(b"chunked") => {
                return Err(Misframed::Coding);
            }
            "transfer-encoding" => coded = true,
            "host" => hosts += 1,
            _ => {}
        }
    }
    match (length, coded) {
        _ if hosts > 1 => Err(Misframed::Host),
        (Some(_), true) => Err(Misframed::LengthAndCoding),
        (None, true) if !request_line.ends_with(b" HTTP/1.1") => Err(Misframed::Coding),
        (None, true) => Ok(Framing::Chunked),
        (length, false) => Ok(Framing::Length(length.unwrap_or(0))),
    }
}

/// The name and the value of a header line without its end; None where it is none.
pub(super) fn header_line(line: &[u8]) -> Option<(HeaderName, &[u8])> {
    let colon = line.iter().position(|byte| *byte == b':')?;
    let name = HeaderName::from_bytes(line.get(..colon)?).ok()?;
    let value = line.get(colon + 1..)?.trim_ascii();
    HeaderValue::from_maybe_shared(Bytes::copy_from_slice(value)).ok()?;
    Some((name, value))
}
