//! The lines of a head, and what they say.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use memchr::memchr;

use super::Bad;

/// Room for lines that are added later: growing a map costs as much as making it.
const MORE_LINES: usize = 6;

/// How far a head goes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Extent {
    /// In bytes, with the empty line at its end.
    pub(crate) size: usize,
    /// In lines, without that one.
    pub(crate) lines: usize,
}

impl Extent {
    /// None where the empty line has not come.
    ///
    /// # Errors
    ///
    /// [`Bad::TooLong`], as soon as there are more than `most` lines: what never ends would be read again and again.
    pub(crate) fn of(text: &[u8], most: usize) -> Result<Option<Self>, Bad> {
        let (mut size, mut lines) = (0, 0);
        while let Some(rest) = text.get(size..)
            && let Some(end) = memchr(b'\n', rest)
        {
            size += end + 1;
            if end == 0 || (end == 1 && rest.starts_with(b"\r")) {
                return Ok(Some(Self { size, lines }));
            }
            lines += 1;
            if lines > most {
                return Err(Bad::TooLong);
            }
        }
        Ok(None)
    }
}

/// The first line of a text without its end, and what follows it; none where it does not end.
pub(crate) fn first_line(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr(b'\n', text)?;
    let (line, rest) = (text.get(..end)?, text.get(end + 1..)?);
    Some((line.strip_suffix(b"\r").unwrap_or(line), rest))
}

/// The lines as headers, in their order; none where one is none, or `takes` does not take it. `text` is a part of `head`,
/// whose memory they share.
pub(super) fn headers(
    head: &Bytes,
    mut text: &[u8],
    lines: usize,
    mut takes: impl FnMut(&[u8], &[u8]) -> bool,
) -> Option<HeaderMap> {
    let mut headers = HeaderMap::with_capacity(lines + MORE_LINES);
    loop {
        let (line, rest) = first_line(text)?;
        text = rest;
        if line.is_empty() {
            return Some(headers);
        }
        let colon = memchr(b':', line)?;
        let (name, value) = (line.get(..colon)?, trimmed(line.get(colon + 1..)?));
        if !takes(name, value) {
            return None;
        }
        // Both are looked at to the letter here: a line that is folded, or has a space before its colon, has no name.
        let name = HeaderName::from_bytes(name).ok()?;
        headers.append(name, HeaderValue::from_maybe_shared(head.slice_ref(value)).ok()?);
    }
}

/// A value without the spaces around it.
fn trimmed(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Writes the lines of a head.
pub(super) fn write_lines(headers: &HeaderMap, out: &mut Vec<u8>) {
    for (name, value) in headers {
        out.extend_from_slice(name.as_str().as_bytes());
        out.extend_from_slice(b": ");
        out.extend_from_slice(value.as_bytes());
        out.extend_from_slice(b"\r\n");
    }
}

/// A number in digits and nothing else.
pub(crate) fn digits(text: &[u8]) -> Option<u64> {
    let digit = |so_far: u64, byte: &u8| {
        let digit = byte.is_ascii_digit().then(|| u64::from(byte - b'0'))?;
        so_far.checked_mul(10)?.checked_add(digit)
    };
    text.iter().try_fold(0, digit).filter(|_| !text.is_empty())
}

/// The members of a list that may stand in several lines.
pub(crate) fn tokens<'h>(
    headers: &'h HeaderMap,
    name: &HeaderName,
) -> impl Iterator<Item = &'h [u8]> + use<'h> {
    let lines = headers.get_all(name).into_iter();
    lines
        .flat_map(|line| line.as_bytes().split(|byte| *byte == b','))
        .map(<[u8]>::trim_ascii)
        .filter(|token| !token.is_empty())
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Names and values.
    type Lines = Vec<(String, Vec<u8>)>;

    /// All lines that httparse finds, names in small letters.
    pub(crate) fn as_httparse(lines: &[httparse::Header<'_>]) -> Lines {
        lines.iter().map(|line| (line.name.to_ascii_lowercase(), line.value.to_vec())).collect()
    }

    /// All lines of a map, in which lines of one name stand together.
    pub(crate) fn as_map(headers: &HeaderMap) -> Lines {
        headers.iter().map(|(name, value)| (name.to_string(), value.as_bytes().to_vec())).collect()
    }

    fn ours(text: &[u8]) -> Option<(usize, Lines)> {
        let Extent { size, lines } = Extent::of(text, 8).unwrap()?;
        let head = Bytes::copy_from_slice(&text[..size]);
        let headers = headers(&head, &head, lines, |_, _| true)?;
        assert_eq!(headers.len(), lines);
        Some((size, as_map(&headers)))
    }

    #[test]
    fn reads_lines() {
        for (text, expected) in [
            ("\r\n", Some((2, vec![]))),
            ("\nrest", Some((1, vec![]))),
            ("A:1\r\nb: \t2 3 \r\n\r\nrest", Some((17, vec![("a", "1"), ("b", "2 3")]))),
            ("a:\n\n", Some((4, vec![("a", "")]))),
            ("a::\r\n\r\n", Some((7, vec![("a", ":")]))),
            ("a: caf\u{e9}\r\n\r\n", Some((12, vec![("a", "caf\u{e9}")]))),
            ("", None),
            ("a: 1\r\n", None),
            ("a: 1\r\n\r", None),
            ("a\r\n\r\n", None),
            (": 1\r\n\r\n", None),
            ("a : 1\r\n\r\n", None),
            (" a: 1\r\n\r\n", None),
            ("a: 1\r\n b\r\n\r\n", None),
            ("a: 1\r\r\n\r\n", None),
            ("a: \u{c}1\r\n\r\n", None),
            ("a: 1\0\r\n\r\n", None),
            ("caf\u{e9}: 1\r\n\r\n", None),
        ] {
            let expected = expected.map(|(size, lines): (usize, Vec<(&str, &str)>)| {
                (
                    size,
                    lines
                        .iter()
                        .map(|(name, value)| ((*name).to_owned(), value.as_bytes().to_vec()))
                        .collect(),
                )
            });
            assert_eq!(ours(text.as_bytes()), expected, "{text:?}");
        }
    }

    proptest! {
        #[test]
        fn reads_as_httparse_does(text in "(([a-cA-C-]{1,3}|[a-c!\"(:\t \u{7f}\0\u{e9}]{0,2}): ?[a-c:\t \r\u{c}\u{e9}]{0,4}\r?\n){0,4}\r?\n[a-c]{0,3}") {
            let mut room = [httparse::EMPTY_HEADER; 8];
            let theirs = match httparse::parse_headers(text.as_bytes(), &mut room) {
                Ok(httparse::Status::Complete((size, lines))) => Some((size, as_httparse(lines))),
                _ => None,
            };
            let sorted = |found: Option<(usize, Lines)>| {
                found.map(|(size, mut lines)| { lines.sort(); (size, lines) })
            };
            prop_assert_eq!(sorted(ours(text.as_bytes())), sorted(theirs));
        }
    }
}
