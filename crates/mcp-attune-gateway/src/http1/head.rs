//! The lines of a head, and what they say.

use bytes::Bytes;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};

use super::{Bad, MOST_LINES};

/// Room for lines that are added later: growing a map costs as much as making it.
const MORE_LINES: usize = 6;

/// Where in a head something is: its first byte, and how many there are.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    start: u16,
    size: u16,
}

impl Place {
    /// Where a part of a text is in it. What is empty may be nowhere in it.
    pub(super) fn of(part: &[u8], text: &[u8]) -> Self {
        let start = part.as_ptr().addr().wrapping_sub(text.as_ptr().addr());
        match (u16::try_from(start), u16::try_from(part.len())) {
            (Ok(start), Ok(size)) if size > 0 => Self { start, size },
            _ => Self::default(),
        }
    }

    /// What is there, sharing the memory of the text.
    pub(super) fn take(self, text: &Bytes) -> Bytes {
        let start = usize::from(self.start);
        let end = start + usize::from(self.size);
        if end <= text.len() { text.slice(start..end) } else { Bytes::new() }
    }

    pub(super) fn look(self, text: &[u8]) -> &[u8] {
        let start = usize::from(self.start);
        text.get(start..start + usize::from(self.size)).unwrap_or_default()
    }
}

/// Where the lines of a head are.
pub(super) struct Lines {
    count: usize,
    /// Names and values.
    places: [(Place, Place); MOST_LINES],
}

impl Lines {
    pub(super) fn of(lines: &[httparse::Header<'_>], text: &[u8]) -> Self {
        let mut places = [Default::default(); MOST_LINES];
        for (place, line) in places.iter_mut().zip(lines) {
            *place = (Place::of(line.name.as_bytes(), text), Place::of(line.value, text));
        }
        Self { count: lines.len().min(MOST_LINES), places }
    }

    /// The lines as headers, in their order.
    ///
    /// # Errors
    ///
    /// [`Bad::Head`], where a line is none after all.
    pub(super) fn headers(&self, text: &Bytes) -> Result<HeaderMap, Bad> {
        let mut headers = HeaderMap::with_capacity(self.count + MORE_LINES);
        for (name, value) in self.places.iter().take(self.count) {
            let name = HeaderName::from_bytes(name.look(text)).map_err(|_| Bad::Head)?;
            headers.append(name, HeaderValue::from_maybe_shared(value.take(text)).map_err(|_| Bad::Head)?);
        }
        Ok(headers)
    }
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
pub(super) fn digits(text: &[u8]) -> Option<u64> {
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
