//! Strings as they were written, escapes and all.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::skip::has_escapes;

/// The inside of a JSON string as written, its escapes not yet decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonString<'a> {
    raw: &'a str,
    /// Whether a backslash is in it, so that it is looked for once.
    has_escapes: bool,
}

impl<'a> JsonString<'a> {
    pub(crate) fn new(raw: &'a str) -> Self {
        Self { raw, has_escapes: has_escapes(raw.as_bytes()) }
    }

    /// The inside of a string whose end was found already, and whether escapes were on the way there.
    pub(crate) fn scanned(raw: &'a str, has_escapes: bool) -> Self {
        Self { raw, has_escapes }
    }

    /// What stands between the quotes, escapes and all.
    #[must_use]
    pub fn as_written(self) -> &'a str {
        self.raw
    }

    /// The text itself, without copying, when it was written without escapes.
    #[must_use]
    #[inline]
    pub fn as_plain_str(self) -> Option<&'a str> {
        (!self.has_escapes).then_some(self.raw)
    }

    /// The text itself, or `None` where an escape names half a surrogate pair, which is no character.
    ///
    /// ```
    /// use mcp_attune_wire::message::Message;
    ///
    /// let body = br#"{"jsonrpc":"2.0","id":1,"method":"tools\/list"}"#;
    /// let message = Message::parse(body).unwrap();
    /// assert_eq!(message.method().unwrap().decode().unwrap(), "tools/list");
    /// ```
    #[must_use]
    #[inline]
    pub fn decode(self) -> Option<Cow<'a, str>> {
        match self.as_plain_str() {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => self.chars().collect::<Option<String>>().map(Cow::Owned),
        }
    }

    /// Whether the decoded text is `other`.
    #[must_use]
    #[inline]
    pub fn is(self, other: &str) -> bool {
        match self.as_plain_str() {
            Some(plain) => plain == other,
            // An escape is longer than what it stands for.
            None => self.raw.len() > other.len() && self.chars().eq(other.chars().map(Some)),
        }
    }

    /// Whether two texts are one when decoded, halves of surrogate pairs included.
    pub(crate) fn decoded_eq(self, other: Self) -> bool {
        self.raw == other.raw || self.code_points().eq(other.code_points())
    }

    /// The decoded characters, `None` for half a surrogate pair.
    pub fn chars(self) -> impl Iterator<Item = Option<char>> + use<'a> {
        self.code_points().map(char::from_u32)
    }

    /// The decoded code points, half a surrogate pair as its own number, so that two texts are equal
    /// exactly when these are.
    pub(crate) fn code_points(self) -> JsonCodePoints<'a> {
        JsonCodePoints { units: JsonStringUnits { rest: self.raw.chars() }, held: None }
    }

    /// Appends the decoded text as UTF-8, half a surrogate pair in the three bytes that WTF-8 gives it.
    pub(crate) fn decode_into(self, out: &mut Vec<u8>) {
        self.code_points().for_each(|code| push_code_point(code, out));
    }
}

/// Appends one code point as UTF-8, half a surrogate pair in the three bytes that WTF-8 gives it.
pub(crate) fn push_code_point(code: u32, out: &mut Vec<u8>) {
    match char::from_u32(code) {
        Some(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
        None => out.extend_from_slice(&[
            0xE0 | low_bits(code >> 12, 0x0F),
            0x80 | low_bits(code >> 6, 0x3F),
            0x80 | low_bits(code, 0x3F),
        ]),
    }
}

fn low_bits(code: u32, mask: u8) -> u8 {
    (code & u32::from(mask)) as u8
}

fn join_surrogates(high: u16, low: u16) -> u32 {
    0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(low) & 0x3FF)
}

/// One escape or one plain character.
enum JsonStringUnit {
    Char(char),
    High(u16),
    Low(u16),
}

struct JsonStringUnits<'a> {
    rest: core::str::Chars<'a>,
}

impl Iterator for JsonStringUnits<'_> {
    type Item = JsonStringUnit;

    fn next(&mut self) -> Option<JsonStringUnit> {
        let first = self.rest.next()?;
        if first != '\\' {
            return Some(JsonStringUnit::Char(first));
        }
        Some(match self.rest.next()? {
            'b' => JsonStringUnit::Char('\u{8}'),
            'f' => JsonStringUnit::Char('\u{c}'),
            'n' => JsonStringUnit::Char('\n'),
            'r' => JsonStringUnit::Char('\r'),
            't' => JsonStringUnit::Char('\t'),
            'u' => {
                let mut code = 0u16;
                for _ in 0..4 {
                    let digit = self.rest.next().and_then(|c| c.to_digit(16)).unwrap_or(0);
                    code = (code << 4) | (digit as u16 & 0xF);
                }
                match code {
                    0xD800..=0xDBFF => JsonStringUnit::High(code),
                    0xDC00..=0xDFFF => JsonStringUnit::Low(code),
                    _ => JsonStringUnit::Char(char::from_u32(u32::from(code)).unwrap_or_default()),
                }
            }
            same => JsonStringUnit::Char(same),
        })
    }
}

/// The decoded code points of a [`JsonString`].
pub(crate) struct JsonCodePoints<'a> {
    units: JsonStringUnits<'a>,
    held: Option<JsonStringUnit>,
}

impl Iterator for JsonCodePoints<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(match self.held.take().or_else(|| self.units.next())? {
            JsonStringUnit::Char(char) => u32::from(char),
            JsonStringUnit::Low(low) => u32::from(low),
            JsonStringUnit::High(high) => match self.units.next() {
                Some(JsonStringUnit::Low(low)) => join_surrogates(high, low),
                next => {
                    self.held = next;
                    u32::from(high)
                }
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decodes_escapes_and_names_half_a_pair() {
        for (written, decoded) in [
            (r"plain", Some("plain")),
            (r#"\"\\\/\b\f\n\r\t"#, Some("\"\\/\u{8}\u{c}\n\r\t")),
            (r"\u00e9\u4E16", Some("é世")),
            (r"\ud83d\ude00!", Some("😀!")),
            (r"\ud83d", None),
            (r"\ude00", None),
            (r"\ud83d\ud83d\ude00", None),
            (r"\ud83dx", None),
        ] {
            let text = JsonString::new(written);
            assert_eq!(text.decode().as_deref(), decoded, "{written}");
            if let Some(decoded) = decoded {
                assert!(text.is(decoded), "{written}");
                let mut bytes = Vec::new();
                text.decode_into(&mut bytes);
                assert_eq!(bytes, decoded.as_bytes(), "{written}");
            }
        }
    }

    #[test]
    fn tells_halves_of_pairs_apart() {
        let bytes = |written| {
            let mut bytes = Vec::new();
            JsonString::new(written).decode_into(&mut bytes);
            bytes
        };
        assert_eq!(bytes(r"\ud83d"), bytes(r"\uD83D"));
        assert_ne!(bytes(r"\ud83d"), bytes(r"\ud83e"));
        assert_ne!(bytes(r"\ud83d"), bytes("\u{fffd}"));
    }
}
