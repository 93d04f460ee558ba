//! JSON as it was written: spans, values and strings that are read in place and never re-serialized.
//!
//! Everything here looks into text that has been read by [`Document::parse`](crate::document::Document::parse) or
//! [`Message::parse`](crate::message::Message::parse), so that looking again costs no second check and changes no byte.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::ops::Range;

mod skip;
mod text;
mod cut;
mod walk;

pub(crate) use cut::cuts;
pub(crate) use skip::{find_special, is_printable, is_simple};
use skip::{skip_string, skip_value};
pub use text::JsonString;
pub(crate) use text::push_code_point;
pub use walk::JsonWalker;

use crate::number;

/// The white space of JSON.
pub(crate) const JSON_WHITESPACE: [char; 4] = [' ', '\t', '\n', '\r'];

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
pub struct ByteSpan {
    start: u32,
    end: u32,
}

impl ByteSpan {
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

    pub(crate) fn slice(self, text: &str) -> &str {
        text.get(self.range()).unwrap_or_default()
    }
}

pub(crate) fn clamp(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}

/// The text with the values at these spans replaced and every other byte as it was.
pub(crate) fn splice(text: &str, edits: &[(ByteSpan, &str)]) -> Result<String, SpliceError> {
    let mut edits = edits.to_vec();
    edits.sort_by_key(|(span, _)| *span);
    let added: usize = edits.iter().map(|(_, text)| text.len()).sum();
    let mut out = String::with_capacity(text.len() + added);
    let mut done = 0;
    for (span, replacement) in edits {
        let kept = text.get(done..span.start()).ok_or(SpliceError { at: span })?;
        text.get(span.range()).ok_or(SpliceError { at: span })?;
        out.push_str(kept);
        out.push_str(replacement);
        done = span.end();
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Ok(out)
}

/// Two edits of one place: see [`Document::splice`](crate::document::Document::splice).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpliceError {
    /// The edit that could not be made.
    pub at: ByteSpan,
}

impl fmt::Display for SpliceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (start, end) = (self.at.start(), self.at.end());
        write!(f, "an edit of bytes {start} to {end} overlaps another or lies outside the body")
    }
}

impl core::error::Error for SpliceError {}

/// What a JSON value is, told from its first byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum JsonKind {
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

fn kind_of_first_byte(first: Option<&u8>) -> JsonKind {
    match first {
        Some(b'{') => JsonKind::Object,
        Some(b'[') => JsonKind::Array,
        Some(b'"') => JsonKind::String,
        Some(b't' | b'f') => JsonKind::Boolean,
        Some(b'n') | None => JsonKind::Null,
        Some(_) => JsonKind::Number,
    }
}

/// One JSON value as it stands in the body.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SpannedValue<'a> {
    raw: &'a str,
    span: ByteSpan,
}

impl<'a> SpannedValue<'a> {
    pub(crate) fn new(text: &'a str, span: ByteSpan) -> Self {
        Self { raw: span.slice(text), span }
    }

    /// The value that a text is, which was read before, without the white space around it.
    pub(crate) fn from_checked_text(text: &'a str) -> Self {
        let start = text.len() - text.trim_start_matches(JSON_WHITESPACE).len();
        Self::new(text, ByteSpan::new(start, text.trim_end_matches(JSON_WHITESPACE).len()))
    }

    /// The value's own text, byte for byte.
    #[must_use]
    pub fn raw(self) -> &'a str {
        self.raw
    }

    /// Where it stands in the body.
    #[must_use]
    pub fn span(self) -> ByteSpan {
        self.span
    }

    /// What kind of value it is.
    #[must_use]
    pub fn kind(self) -> JsonKind {
        kind_of_first_byte(self.raw.as_bytes().first())
    }

    /// The string in it, if it is one.
    #[must_use]
    pub fn text(self) -> Option<JsonString<'a>> {
        let inner = self.raw.strip_prefix('"')?.strip_suffix('"')?;
        Some(JsonString::new(inner))
    }

    /// The integer that a number is, in any spelling (`7`, `7.0`, `7e0`), within ±(2^53 − 1).
    ///
    /// ```
    /// use mcp_attune_wire::message::Message;
    ///
    /// let body = br#"{"jsonrpc":"2.0","id":7.0,"method":"ping"}"#;
    /// assert_eq!(Message::parse(body).unwrap().id().unwrap().integer(), Some(7));
    /// ```
    #[must_use]
    pub fn integer(self) -> Option<i64> {
        match number::classify_integer(self.raw) {
            number::IntegerClass::Safe(integer) if self.kind() == JsonKind::Number => Some(integer),
            _ => None,
        }
    }

    /// The place right inside the opening bracket or quote, no byte wide: where a first member can be put.
    #[must_use]
    pub fn opening(self) -> ByteSpan {
        let inside = self.span.start() + usize::from(!self.raw.is_empty());
        ByteSpan::new(inside, inside)
    }

    /// The place right inside the closing bracket or quote: where a last member can be put.
    #[must_use]
    pub fn closing(self) -> ByteSpan {
        let inside = self.span.end() - usize::from(!self.raw.is_empty());
        ByteSpan::new(inside, inside)
    }

    /// The place right behind it.
    #[must_use]
    pub fn after_end(self) -> ByteSpan {
        ByteSpan::new(self.span.end(), self.span.end())
    }

    /// A walk over the value that goes over every byte once, however deep it looks.
    #[must_use]
    pub fn walk(self) -> JsonWalker<'a> {
        JsonWalker::new(self)
    }

    /// The member of an object with this name.
    #[must_use]
    pub fn member(self, name: &str) -> Option<Self> {
        self.members().find(|(found, _)| found.is(name)).map(|(_, value)| value)
    }

    /// Whether two values are equal as JSON: members in any order, numbers and strings in any spelling.
    ///
    /// Goes as deep as the values do, which the scanner has bounded.
    #[must_use]
    pub fn json_eq(self, other: Self) -> bool {
        if self.raw == other.raw {
            return true;
        }
        match (self.kind(), other.kind()) {
            (JsonKind::Object, JsonKind::Object) => {
                let (ours, theirs) = (self.sorted_members(), other.sorted_members());
                let pairs = || ours.iter().zip(&theirs);
                ours.len() == theirs.len()
                    && pairs().all(|((one, _), (two, _))| one.decoded_eq(*two))
                    && pairs().all(|((_, one), (_, two))| one.json_eq(*two))
            }
            (JsonKind::Array, JsonKind::Array) => {
                let (mut ours, mut theirs) = (self.elements(), other.elements());
                loop {
                    match (ours.next(), theirs.next()) {
                        (None, None) => return true,
                        (Some(one), Some(two)) if one.json_eq(two) => {}
                        _ => return false,
                    }
                }
            }
            (JsonKind::String, JsonKind::String) => {
                self.text().zip(other.text()).is_some_and(|(one, two)| one.decoded_eq(two))
            }
            (JsonKind::Number, JsonKind::Number) => number::numbers_equal(self.raw, other.raw),
            _ => false,
        }
    }

    /// The members of an object by their decoded names.
    fn sorted_members(self) -> Vec<(JsonString<'a>, Self)> {
        let mut members: Vec<_> = self.members().collect();
        members.sort_unstable_by(|(one, _), (two, _)| one.code_points().cmp(two.code_points()));
        members
    }

    /// The values of an array, in the order they stand in; nothing for any other value.
    #[must_use]
    pub fn elements(self) -> SpannedElements<'a> {
        let open = self.kind() == JsonKind::Array;
        SpannedElements { text: self.raw, at: if open { 1 } else { self.raw.len() }, base: self.span.start() }
    }

    /// The members of an object, in the order they stand in; nothing for any other value.
    #[must_use]
    pub fn members(self) -> SpannedMembers<'a> {
        let open = self.kind() == JsonKind::Object;
        SpannedMembers { text: self.raw, at: if open { 1 } else { self.raw.len() }, base: self.span.start() }
    }
}

/// The values of an array that was read before: see [`SpannedValue::elements`].
pub struct SpannedElements<'a> {
    text: &'a str,
    at: usize,
    base: usize,
}

impl<'a> Iterator for SpannedElements<'a> {
    type Item = SpannedValue<'a>;

    fn next(&mut self) -> Option<SpannedValue<'a>> {
        let bytes = self.text.as_bytes();
        let skipped = |byte: &u8| byte.is_ascii_whitespace() || *byte == b',';
        let from = self.at + bytes.get(self.at..)?.iter().position(|byte| !skipped(byte))?;
        if bytes.get(from) == Some(&b']') {
            return None;
        }
        let to = skip_value(bytes, from);
        self.at = to.max(from + 1);
        Some(SpannedValue {
            raw: self.text.get(from..to)?,
            span: ByteSpan::new(self.base + from, self.base + to),
        })
    }
}

/// The members of an object that was read before: see [`SpannedValue::members`].
pub struct SpannedMembers<'a> {
    text: &'a str,
    at: usize,
    base: usize,
}

impl<'a> SpannedMembers<'a> {
    /// The next member, and where its name's opening quote stands.
    pub(crate) fn next_entry(&mut self) -> Option<(usize, JsonString<'a>, SpannedValue<'a>)> {
        let bytes = self.text.as_bytes();
        let start = self.at + bytes.get(self.at..)?.iter().position(|byte| *byte == b'"')? + 1;
        let (end, has_escapes) = skip_string(bytes, start);
        let name = JsonString::scanned(self.text.get(start..end.saturating_sub(1))?, has_escapes);
        let colon = end + bytes.get(end..)?.iter().position(|byte| *byte == b':')? + 1;
        let from = colon + bytes.get(colon..)?.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let to = skip_value(bytes, from);
        self.at = to;
        let value = SpannedValue {
            raw: self.text.get(from..to)?,
            span: ByteSpan::new(self.base + from, self.base + to),
        };
        Some((self.base + start - 1, name, value))
    }
}

impl<'a> Iterator for SpannedMembers<'a> {
    type Item = (JsonString<'a>, SpannedValue<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        self.next_entry().map(|(_, name, value)| (name, value))
    }
}

/// Writes text as a JSON string, quotes included.
///
/// ```
/// use mcp_attune_wire::json::JsonQuoted;
///
/// assert_eq!(JsonQuoted("Genf \"GE\"").to_string(), r#""Genf \"GE\"""#);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct JsonQuoted<'a>(pub &'a str);

impl fmt::Display for JsonQuoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        use fmt::Write;
        f.write_char('"')?;
        let mut at = 0;
        loop {
            // What has to be escaped is ASCII, so the text between is whole characters.
            let next = find_special(self.0.as_bytes(), at);
            f.write_str(self.0.get(at..next).unwrap_or_default())?;
            match self.0.as_bytes().get(next) {
                None => return f.write_char('"'),
                Some(b'"') => f.write_str("\\\"")?,
                Some(b'\\') => f.write_str("\\\\")?,
                Some(b'\n') => f.write_str("\\n")?,
                Some(b'\r') => f.write_str("\\r")?,
                Some(b'\t') => f.write_str("\\t")?,
                Some(byte) => write!(f, "\\u{byte:04x}")?,
            }
            at = next + 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec::Vec;

    fn value(text: &str) -> SpannedValue<'_> {
        SpannedValue::new(text, ByteSpan::new(0, text.len()))
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
    fn walks_elements_of_odd_but_legal_arrays() {
        let text = "[ 1 ,[2,\"]\"],\n{\"a\":[3]} ,\"x,y\", null]";
        let elements: Vec<_> = value(text).elements().map(SpannedValue::raw).collect();
        assert_eq!(elements, ["1", "[2,\"]\"]", "{\"a\":[3]}", "\"x,y\"", "null"]);
        for text in ["[]", "[ ]", "{}", "7", "["] {
            assert_eq!(value(text).elements().count(), 0, "{text}");
        }
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
}
