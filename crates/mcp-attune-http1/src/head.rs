//! The lines of a head.

use bytes::Bytes;
use http::header::{HeaderName, HeaderValue};
use http::{HeaderMap, StatusCode};
use memchr::memchr;

/// Capacity for headers that are added later: growing a map costs as much as making it.
const SPARE_HEADERS: usize = 6;

/// The extent of a head that has come whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct HeadExtent {
    /// Its bytes, with the empty line at its end.
    pub(crate) bytes: usize,
    /// Whether every line, the empty one included, ends with CR LF and not with LF alone.
    pub(crate) has_crlf_only: bool,
}

/// A head has more lines than it may have.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct TooManyLines;

impl HeadExtent {
    /// Finds the empty line that ends a head. Returns `None` where it has not come.
    ///
    /// # Errors
    ///
    /// [`TooManyLines`], as soon as there are more than `max_lines`: a head that never ends would be read again and again.
    pub(crate) fn find(text: &[u8], max_lines: usize) -> Result<Option<Self>, TooManyLines> {
        let (mut bytes, mut lines, mut has_crlf_only) = (0, 0, true);
        while let Some(rest) = text.get(bytes..)
            && let Some(end) = memchr(b'\n', rest)
        {
            bytes += end + 1;
            let has_cr = end.checked_sub(1).and_then(|before| rest.get(before)) == Some(&b'\r');
            has_crlf_only &= has_cr;
            if end == usize::from(has_cr) {
                return Ok(Some(Self { bytes, has_crlf_only }));
            }
            lines += 1;
            if lines > max_lines {
                return Err(TooManyLines);
            }
        }
        Ok(None)
    }
}

/// Splits off the first line, without its line end. Returns `None` where the line does not end.
pub(crate) fn split_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b'\n', text)?;
    let (line, rest) = (text.get(..end)?, text.get(end + 1..)?);
    Some((line.strip_suffix(b"\r").unwrap_or(line), rest))
}

/// Collects parsed header lines. Returns `None` if `accept` rejects one. The values share the memory of `head`, which the
/// lines were parsed from.
pub(crate) fn header_map(
    head: &Bytes,
    parsed: &[httparse::Header<'_>],
    mut accept: impl FnMut(&str, &[u8]) -> bool,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(parsed.len() + SPARE_HEADERS);
    for line in parsed {
        if !accept(line.name, line.value) {
            return None;
        }
        let name = HeaderName::from_bytes(line.name.as_bytes()).ok()?;
        headers.append(name, HeaderValue::from_maybe_shared(head.slice_ref(line.value)).ok()?);
    }
    Some(headers)
}

/// Parses a decimal number: digits and nothing else.
pub(crate) fn parse_decimal(text: &[u8]) -> Option<u64> {
    let digit = |so_far: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        so_far.checked_mul(10)?.checked_add(digit)
    };
    text.iter().try_fold(0, digit).filter(|_| !text.is_empty())
}

/// The members of a comma-separated list, which may be spread over several header lines.
///
/// ```
/// use http::header::{CONNECTION, HeaderMap};
///
/// let mut headers = HeaderMap::new();
/// headers.append(CONNECTION, "keep-alive, , upgrade".parse().unwrap());
/// headers.append(CONNECTION, "close".parse().unwrap());
/// let members: Vec<&[u8]> = mcp_attune_http1::list_members(&headers, &CONNECTION).collect();
/// assert_eq!(members, [&b"keep-alive"[..], b"upgrade", b"close"]);
/// ```
pub fn list_members<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'h [u8]> + use<'h> {
    let lines = headers.get_all(name).into_iter();
    lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|member| !member.is_empty())
}

/// Whether an answer has no body, whatever its headers say.
pub(crate) fn has_no_body(status: StatusCode) -> bool {
    status.is_informational() || [StatusCode::NO_CONTENT, StatusCode::NOT_MODIFIED].contains(&status)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(text: &str, expected: Option<(usize, bool)>) {
        let expected = expected.map(|(bytes, has_crlf_only)| HeadExtent { bytes, has_crlf_only });
        assert_eq!(HeadExtent::find(text.as_bytes(), 2), Ok(expected), "{text:?}");
    }

    #[test]
    fn finds_the_end_of_a_head() {
        check("", None);
        check("\r", None);
        check("a\r\n", None);
        check("a\r\n\r", None);
        check("\r\n", Some((2, true)));
        check("\n", Some((1, false)));
        check("a\r\nb\r\n\r\nrest", Some((8, true)));
        check("a\nb\r\n\r\n", Some((7, false)));
        check("a\r\nb\r\n\n", Some((7, false)));
        check("a\r\r\n\r\n", Some((6, true)));
    }

    #[test]
    fn gives_up_as_soon_as_there_are_too_many_lines() {
        for text in ["a\r\nb\r\nc\r\n", "a\r\nb\r\nc\r\n\r\n"] {
            assert_eq!(HeadExtent::find(text.as_bytes(), 2), Err(TooManyLines), "{text:?}");
        }
    }

    #[test]
    fn splits_lines() {
        assert_eq!(split_line(b"a\r\nb"), Some((&b"a"[..], &b"b"[..])));
        assert_eq!(split_line(b"\nb\n"), Some((&b""[..], &b"b\n"[..])));
        assert_eq!(split_line(b"a\r"), None);
    }

    #[test]
    fn parses_decimal_numbers() {
        for (text, number) in [
            ("0", Some(0)),
            ("0042", Some(42)),
            ("18446744073709551615", Some(u64::MAX)),
            ("18446744073709551616", None),
            ("99999999999999999999", None),
            ("", None),
            ("+1", None),
            ("-1", None),
            ("1 ", None),
            ("0x1", None),
        ] {
            assert_eq!(parse_decimal(text.as_bytes()), number, "{text:?}");
        }
    }
}
