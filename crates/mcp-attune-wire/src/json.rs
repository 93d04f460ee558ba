//! JSON as it was written: spans, values and strings that are read in place and never re-serialized.
//!
//! Everything here looks into text that has been read by [`Message::parse`](crate::message::Message::parse)
//! (or another checked source), so that looking again costs no second check and changes no byte.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::cmp::Ordering;
use core::fmt;
use core::ops::Range;

/// Where a value stands in a body, in bytes.
///
/// ```
/// use mcp_attune_wire::message::Message;
///
/// let body = br#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#;
/// let id = Message::parse(body).unwrap().id().unwrap().span();
/// assert_eq!(&body[id.range()], b"7");
/// ```
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct Span {
    start: u32,
    end: u32,
}

impl Span {
    /// `end` comes from a scanner that refuses texts over 2 GiB, so both fit.
    pub(crate) fn new(start: usize, end: usize) -> Self {
        Self { start: clamp(start), end: clamp(end) }
    }

    /// The offset of the first byte.
    #[must_use]
    pub fn start(self) -> usize {
        self.start as usize
    }

    /// The offset after the last byte.
    #[must_use]
    pub fn end(self) -> usize {
        self.end as usize
    }

    /// The bytes from start to end, for slicing the body.
    #[must_use]
    pub fn range(self) -> Range<usize> {
        self.start()..self.end()
    }

    pub(crate) fn of(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }
}

pub(crate) fn clamp(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// What a JSON value is, told from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Type {
    /// `{…}`
    Object,
    /// `[…]`
    Array,
    /// `"…"`
    String,
    /// `-12.5e3`
    Number,
    /// `true` or `false`
    Boolean,
    /// `null`
    Null,
}

/// One JSON value as it stands in the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Value<'a> {
    raw: &'a str,
    span: Span,
}

impl<'a> Value<'a> {
    pub(crate) fn new(text: &'a str, span: Span) -> Self {
        Self { raw: span.of(text), span }
    }

    /// The value's own text, byte for byte.
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Where it stands in the body.
    #[must_use]
    pub fn span(self) -> Span {
        self.span
    }

    /// What kind of value it is.
    #[must_use]
    pub fn kind(self) -> Type {
        match self.raw.as_bytes().first() {
            Some(b'{') => Type::Object,
            Some(b'[') => Type::Array,
            Some(b'"') => Type::String,
            Some(b't' | b'f') => Type::Boolean,
            Some(b'n') | None => Type::Null,
            Some(_) => Type::Number,
        }
    }

    /// The string in it, if it is one.
    #[must_use]
    pub fn text(self) -> Option<Text<'a>> {
        let inner = self.raw.strip_prefix('"')?.strip_suffix('"')?;
        Some(Text { raw: inner })
    }

    /// The members of an object, in the order they stand in; nothing for any other value.
    #[must_use]
    pub fn members(self) -> Members<'a> {
        let open = self.kind() == Type::Object;
        Members { text: self.raw, at: if open { 1 } else { self.raw.len() }, base: self.span.start() }
    }
}

/// The inside of a JSON string as written, its escapes not yet decoded.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Text<'a> {
    raw: &'a str,
}

impl<'a> Text<'a> {
    pub(crate) fn new(raw: &'a str) -> Self {
        Self { raw }
    }

    /// What stands between the quotes, escapes and all.
    #[must_use]
    pub fn as_written(self) -> &'a str {
        self.raw
    }

    /// The text itself, without copying, when it was written without escapes.
    #[must_use]
    pub fn plain(self) -> Option<&'a str> {
        (!self.raw.as_bytes().contains(&b'\\')).then_some(self.raw)
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
    pub fn decode(self) -> Option<Cow<'a, str>> {
        match self.plain() {
            Some(plain) => Some(Cow::Borrowed(plain)),
            None => self.chars().collect::<Option<String>>().map(Cow::Owned),
        }
    }

    /// Whether the decoded text is `other`.
    #[must_use]
    pub fn is(self, other: &str) -> bool {
        // An escape is longer than what it stands for, so only a longer text can hold one.
        match self.raw.len().cmp(&other.len()) {
            Ordering::Less => false,
            Ordering::Equal => self.raw == other && self.plain().is_some(),
            Ordering::Greater => self.chars().eq(other.chars().map(Some)),
        }
    }

    /// The decoded characters, `None` for half a surrogate pair.
    pub fn chars(self) -> impl Iterator<Item = Option<char>> + use<'a> {
        self.codes().map(char::from_u32)
    }

    /// The decoded code points, half a surrogate pair as its own number, so that two texts are equal
    /// exactly when these are.
    pub(crate) fn codes(self) -> Codes<'a> {
        Codes { units: Units { rest: self.raw.chars() }, held: None }
    }

    /// Appends the decoded text as UTF-8, half a surrogate pair in the three bytes that WTF-8 gives it.
    pub(crate) fn decode_into(self, out: &mut Vec<u8>) {
        for code in self.codes() {
            match char::from_u32(code) {
                Some(char) => out.extend_from_slice(char.encode_utf8(&mut [0; 4]).as_bytes()),
                None => out.extend_from_slice(&[
                    0xE0 | low_bits(code >> 12, 0x0F),
                    0x80 | low_bits(code >> 6, 0x3F),
                    0x80 | low_bits(code, 0x3F),
                ]),
            }
        }
    }
}

fn low_bits(code: u32, mask: u8) -> u8 {
    (code & u32::from(mask)) as u8
}

fn join(high: u16, low: u16) -> u32 {
    0x1_0000 + ((u32::from(high) & 0x3FF) << 10) + (u32::from(low) & 0x3FF)
}

/// One escape or one plain character.
enum Unit {
    Char(char),
    High(u16),
    Low(u16),
}

struct Units<'a> {
    rest: core::str::Chars<'a>,
}

impl Iterator for Units<'_> {
    type Item = Unit;

    fn next(&mut self) -> Option<Unit> {
        let first = self.rest.next()?;
        if first != '\\' {
            return Some(Unit::Char(first));
        }
        Some(match self.rest.next()? {
            'b' => Unit::Char('\u{8}'),
            'f' => Unit::Char('\u{c}'),
            'n' => Unit::Char('\n'),
            'r' => Unit::Char('\r'),
            't' => Unit::Char('\t'),
            'u' => {
                let mut code = 0u16;
                for _ in 0..4 {
                    let digit = self.rest.next().and_then(|c| c.to_digit(16)).unwrap_or(0);
                    code = (code << 4) | (digit as u16 & 0xF);
                }
                match code {
                    0xD800..=0xDBFF => Unit::High(code),
                    0xDC00..=0xDFFF => Unit::Low(code),
                    _ => Unit::Char(char::from_u32(u32::from(code)).unwrap_or_default()),
                }
            }
            same => Unit::Char(same),
        })
    }
}

/// The decoded code points of a [`Text`].
pub(crate) struct Codes<'a> {
    units: Units<'a>,
    held: Option<Unit>,
}

impl Iterator for Codes<'_> {
    type Item = u32;

    fn next(&mut self) -> Option<u32> {
        Some(match self.held.take().or_else(|| self.units.next())? {
            Unit::Char(char) => u32::from(char),
            Unit::Low(low) => u32::from(low),
            Unit::High(high) => match self.units.next() {
                Some(Unit::Low(low)) => join(high, low),
                next => {
                    self.held = next;
                    u32::from(high)
                }
            },
        })
    }
}

/// The members of an object that was read before: see [`Value::members`].
pub struct Members<'a> {
    text: &'a str,
    at: usize,
    base: usize,
}

impl<'a> Iterator for Members<'a> {
    type Item = (Text<'a>, Value<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        let bytes = self.text.as_bytes();
        let start = self.at + bytes.get(self.at..)?.iter().position(|byte| *byte == b'"')? + 1;
        let end = skip_string(bytes, start);
        let name = Text::new(self.text.get(start..end.saturating_sub(1))?);
        let colon = end + bytes.get(end..)?.iter().position(|byte| *byte == b':')? + 1;
        let from = colon + bytes.get(colon..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let to = skip_value(bytes, from);
        self.at = to;
        let raw = self.text.get(from..to)?;
        Some((name, Value { raw, span: Span::new(self.base + from, self.base + to) }))
    }
}

/// The offset after the closing quote of a string whose inside begins at `at`, in checked text.
fn skip_string(bytes: &[u8], mut at: usize) -> usize {
    loop {
        at = plain_until(bytes, at);
        match bytes.get(at) {
            Some(b'\\') => at += 2,
            Some(b'"') => return at + 1,
            Some(_) => at += 1,
            None => return bytes.len(),
        }
    }
}

/// The offset after the value that begins at `at`, in checked text.
fn skip_value(bytes: &[u8], mut at: usize) -> usize {
    let mut open = 0usize;
    while let Some(byte) = bytes.get(at) {
        at = match byte {
            b'"' => skip_string(bytes, at + 1),
            b'{' | b'[' => {
                open += 1;
                at + 1
            }
            b'}' | b']' if open == 0 => return at,
            b'}' | b']' => {
                open -= 1;
                at + 1
            }
            b',' | b' ' | b'\t' | b'\n' | b'\r' if open == 0 => return at,
            _ => {
                at += 1;
                if open == 0 {
                    continue;
                }
                at
            }
        };
        if open == 0 {
            return at;
        }
    }
    bytes.len()
}

const ONES: u64 = 0x0101_0101_0101_0101;
const TOPS: u64 = 0x8080_8080_8080_8080;

/// The first offset from `at` on whose byte is a quote, a backslash or a control character.
///
/// Eight bytes at a time for names and short values, then 32 at a time in a shape that compilers
/// turn into vector instructions.
#[inline]
pub(crate) fn plain_until(bytes: &[u8], at: usize) -> usize {
    match special_in_word(bytes, at) {
        Some(found) if found < 8 => at + found,
        Some(_) => plain_until_far(bytes, at + 8),
        None => by_byte(bytes, at),
    }
}

fn plain_until_far(bytes: &[u8], mut at: usize) -> usize {
    for _ in 0..7 {
        let Some(found) = special_in_word(bytes, at) else { return by_byte(bytes, at) };
        if found < 8 {
            return at + found;
        }
        at += 8;
    }
    while let Some(block) = bytes.get(at..).and_then(<[u8]>::first_chunk::<32>) {
        let mut special = 0u8;
        for &byte in block {
            special |= u8::from(byte == b'"') | u8::from(byte == b'\\') | u8::from(byte < 0x20);
        }
        if special != 0 {
            break;
        }
        at += 32;
    }
    while let Some(found) = special_in_word(bytes, at) {
        if found < 8 {
            return at + found;
        }
        at += 8;
    }
    by_byte(bytes, at)
}

#[inline]
fn special_in_word(bytes: &[u8], at: usize) -> Option<usize> {
    let word = u64::from_le_bytes(*bytes.get(at..)?.first_chunk::<8>()?);
    let zero = |word: u64| word.wrapping_sub(ONES) & !word;
    let control = word.wrapping_sub(ONES * 0x20) & !word;
    let found = (zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5C)) | control) & TOPS;
    Some(found.trailing_zeros() as usize / 8)
}

fn by_byte(bytes: &[u8], mut at: usize) -> usize {
    while let Some(byte) = bytes.get(at) {
        if matches!(byte, b'"' | b'\\' | 0..=0x1F) {
            break;
        }
        at += 1;
    }
    at
}

/// Writes text as a JSON string, quotes included.
pub(crate) struct Quoted<'a>(pub(crate) &'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        for char in self.0.chars() {
            match char {
                '"' => f.write_str("\\\"")?,
                '\\' => f.write_str("\\\\")?,
                '\n' => f.write_str("\\n")?,
                '\r' => f.write_str("\\r")?,
                '\t' => f.write_str("\\t")?,
                '\0'..='\u{1f}' => write!(f, "\\u{:04x}", u32::from(char))?,
                _ => f.write_char(char)?,
            }
        }
        f.write_char('"')
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(text: &str) -> Value<'_> {
        Value::new(text, Span::new(0, text.len()))
    }

    #[test]
    fn walks_members_of_odd_but_legal_objects() {
        let text = "{ \"a\" : 1 ,\n\"b\\\"\":[1,{\"x\":\"]}\"}] , \"c\":\"\\\\\",\"d\":{},\"e\":null}";
        let members: Vec<_> =
            value(text).members().map(|(name, value)| (name.as_written(), value.raw())).collect();
        let expected =
            [("a", "1"), ("b\\\"", "[1,{\"x\":\"]}\"}]"), ("c", "\"\\\\\""), ("d", "{}"), ("e", "null")];
        assert_eq!(members, expected);
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
    }

    #[test]
    fn never_runs_past_text_that_was_not_checked() {
        for text in [
            "{",
            "{\"",
            "{\"a",
            "{\"a\"",
            "{\"a\":",
            "{\"a\":\"",
            "{\"a\":[",
            "{\"a\":1",
            "{\"\\",
            "{}",
            "[]",
            "",
        ] {
            assert!(value(text).members().count() <= 1, "{text}");
        }
    }

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
            let text = Text::new(written);
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
            Text::new(written).decode_into(&mut bytes);
            bytes
        };
        assert_eq!(bytes(r"\ud83d"), bytes(r"\uD83D"));
        assert_ne!(bytes(r"\ud83d"), bytes(r"\ud83e"));
        assert_ne!(bytes(r"\ud83d"), bytes("\u{fffd}"));
    }

    #[test]
    fn finds_the_first_special_byte_at_every_offset() {
        for length in 0..120 {
            for at in 0..length {
                for special in [b'"', b'\\', 0x1f, 0] {
                    let mut bytes = alloc::vec![b'a'; length];
                    bytes[at] = special;
                    assert_eq!(plain_until(&bytes, 0), at);
                    bytes[at] = 0xC3;
                    assert_eq!(plain_until(&bytes, 0), length);
                }
            }
        }
    }
}
