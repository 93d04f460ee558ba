//! Values gone over once, however deep one looks into them.
//!
//! [`Value::members`](super::Value::members) finds the end of every value before it hands it out, so looking into
//! nested values goes over their bytes once a level. A [`JsonWalker`] stands at the beginning of a value, and what is
//! looked into is not skipped first.

use super::skip::{skip_string, skip_value};
use super::{ByteSpan, JsonKind, JsonString, SpannedValue, kind_of_first_byte};

/// A place in text that was checked before: the beginning of a value, which is looked into or passed over.
///
/// ```
/// use mcp_attune_wire::message::Message;
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"result":{"tools":[{"name":"a"},{"name":"b"}]}}"#;
/// let message = Message::parse(body)?;
/// let mut names = Vec::new();
/// message.member("result").unwrap().walk().members(|name, walk| {
///     if name.is("tools") {
///         walk.elements(|walk| walk.members(|_, walk| names.push(walk.value().raw())));
///     }
/// });
/// assert_eq!(names, ["\"a\"", "\"b\""]);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
pub struct JsonWalker<'a> {
    text: &'a str,
    at: usize,
    base: usize,
}

impl<'a> JsonWalker<'a> {
    pub(super) fn new(value: SpannedValue<'a>) -> Self {
        Self { text: value.raw, at: 0, base: value.span.start() }
    }

    /// What kind of value begins here.
    #[must_use]
    pub fn kind(&self) -> JsonKind {
        kind_of_first_byte(self.text.as_bytes().get(self.at))
    }

    /// The place right inside the bracket that opens here: see [`Value::opening`](super::SpannedValue::opening).
    #[must_use]
    pub fn opening(&self) -> ByteSpan {
        ByteSpan::new(self.base + self.at + 1, self.base + self.at + 1)
    }

    /// The value that begins here, which is passed over.
    #[inline]
    pub fn value(&mut self) -> SpannedValue<'a> {
        let from = self.at;
        self.at = skip_value(self.text.as_bytes(), from);
        let raw = self.text.get(from..self.at).unwrap_or_default();
        SpannedValue { raw, span: ByteSpan::new(self.base + from, self.base + self.at) }
    }

    /// The string that begins here, which is passed over; `None` for any other value, which is not.
    #[inline]
    pub fn string(&mut self) -> Option<JsonString<'a>> {
        (self.kind() == JsonKind::String).then(|| self.pass_string(self.at + 1))
    }

    /// Passes over the string whose inside begins at `start`.
    #[inline]
    fn pass_string(&mut self, start: usize) -> JsonString<'a> {
        let (end, has_escapes) = skip_string(self.text.as_bytes(), start);
        self.at = end;
        JsonString::scanned(self.text.get(start..end.saturating_sub(1)).unwrap_or_default(), has_escapes)
    }

    /// Goes over the members of an object; any other value is passed over. A value that is left alone is too.
    pub fn members(&mut self, mut each: impl FnMut(JsonString<'a>, &mut Self)) {
        if self.kind() != JsonKind::Object {
            self.value();
            return;
        }
        self.at += 1;
        while let Some(b'"') = self.next_significant_byte() {
            let start = self.at + 1;
            let name = self.pass_string(start);
            self.next_significant_byte();
            self.at += 1;
            self.next_significant_byte();
            self.step(|walk| each(name, walk));
        }
        self.at += 1;
    }

    /// Goes over the values of an array; any other value is passed over. A value that is left alone is too.
    pub fn elements(&mut self, mut each: impl FnMut(&mut Self)) {
        if self.kind() != JsonKind::Array {
            self.value();
            return;
        }
        self.at += 1;
        while self.next_significant_byte().is_some_and(|byte| byte != b']') {
            self.step(&mut each);
        }
        self.at += 1;
    }

    fn step(&mut self, each: impl FnOnce(&mut Self)) {
        let before = self.at;
        each(self);
        if self.at == before {
            self.value();
        }
        // Only text that was not checked has nothing here; going on ends it.
        self.at = self.at.max(before + 1);
    }

    /// The next byte that is neither white space nor a comma.
    fn next_significant_byte(&mut self) -> Option<u8> {
        let rest = self.text.as_bytes().get(self.at..)?;
        let skipped = |byte: &u8| matches!(byte, b',' | b' ' | b'\t' | b'\n' | b'\r');
        let found = rest.iter().position(|byte| !skipped(byte))?;
        self.at += found;
        rest.get(found).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::String;
    use core::fmt::Write as _;

    /// Everything that a walk finds, in one line.
    fn all(walk: &mut JsonWalker<'_>, out: &mut String) {
        match walk.kind() {
            JsonKind::Object => walk.members(|name, walk| {
                let _ = write!(out, "{}:", name.as_written());
                all(walk, out);
            }),
            JsonKind::Array => walk.elements(|walk| all(walk, out)),
            _ => {
                let _ = write!(out, "{};", walk.value().raw());
            }
        }
    }

    fn walked(text: &str) -> String {
        let mut out = String::new();
        all(&mut value(text).walk(), &mut out);
        out
    }

    fn value(text: &str) -> SpannedValue<'_> {
        SpannedValue::new(text, ByteSpan::new(0, text.len()))
    }

    #[test]
    fn goes_over_everything_once_and_in_order() {
        let text = "{ \"a\" : 1 ,\n\"b\\\"\":[1, {\"x\":\"]}\"} ,[]] , \"c\":\"\\\\\",\"d\":{ },\"e\":null}";
        assert!(serde_json::from_str::<serde_json::Value>(text).is_ok());
        assert_eq!(walked(text), "a:1;b\\\":1;x:\"]}\";c:\"\\\\\";d:e:null;");
        assert_eq!(walked("[]") + &walked("{}") + &walked("7"), "7;");
    }

    #[test]
    fn what_is_left_alone_is_passed_over_and_spans_point_at_the_text() {
        let text = "{\"a\":{\"b\":[1,2]},\"c\": [ \"x\" ]}";
        let mut seen = 0;
        value(text).walk().members(|name, walk| {
            if name.is("c") {
                assert_eq!(walk.opening().start(), text.find('[').unwrap() + 13);
                walk.elements(|walk| {
                    seen += 1;
                    assert_eq!(&text[walk.value().span().range()], "\"x\"");
                });
            }
        });
        assert_eq!(seen, 1);
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
            "[",
            "[1",
            "[{",
            "",
            "{1}",
            "[}",
        ] {
            walked(text);
        }
    }
}
