//! JSON that is no message.

use alloc::string::String;

use crate::json::{ByteSpan, JsonKind, SpannedValue, SpliceError, splice};
use crate::scan::{JsonParseError, Scanner};

/// One JSON value, read once from its bytes: a manifest, a locale file, the result of an answer, anything that is no
/// [`Message`](crate::message::Message).
///
/// It is read as strictly as messages are: a text that two readers could take for different values, or that is nested too
/// deeply, is [`JsonParseError`]. Values know where they stand, and changing the document means [splicing](Document::splice).
///
/// ```
/// use mcp_attune_wire::document::Document;
///
/// let document = Document::parse(br#" {"name":"travel", "version":"1.0"} "#)?;
/// assert!(document.member("name").unwrap().text().unwrap().is("travel"));
/// assert_eq!(document.root().members().count(), 2);
/// assert!(Document::parse(br#"{"name":1,"name":2}"#).is_err());
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
///
/// Rules: H13.
#[derive(Clone, Copy, Debug)]
pub struct Document<'a> {
    text: &'a str,
}

impl<'a> Document<'a> {
    /// Reads a text. One pass, no recursion.
    ///
    /// # Errors
    ///
    /// What is not one JSON value, has more than 127 brackets open at once, is not UTF-8, or has a member name twice in
    /// one object is [`JsonParseError`].
    pub fn parse(text: &'a [u8]) -> Result<Self, JsonParseError> {
        let mut scanner = Scanner::new(text)?;
        scanner.peek()?;
        scanner.read_value()?;
        scanner.expect_end()?;
        Ok(Self { text: scanner.text() })
    }

    /// The whole text, with the white space around the value.
    #[must_use]
    pub fn text(&self) -> &'a str {
        self.text
    }

    /// The value.
    #[must_use]
    pub fn root(&self) -> SpannedValue<'a> {
        SpannedValue::from_checked_text(self.text)
    }

    /// The member of the value with this name, where the value is an object.
    #[must_use]
    pub fn member(&self, name: &str) -> Option<SpannedValue<'a>> {
        self.root().member(name)
    }

    /// Whether the value is an object.
    #[must_use]
    pub fn is_object(&self) -> bool {
        self.root().kind() == JsonKind::Object
    }

    /// The text with the values at these spans replaced and every other byte as it was.
    ///
    /// # Errors
    ///
    /// [`SpliceError`] where two edits overlap, or one lies outside the text.
    pub fn splice(&self, edits: &[(ByteSpan, &str)]) -> Result<String, SpliceError> {
        splice(self.text, edits)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use crate::scan::JsonFault;

    #[test]
    fn reads_any_value_with_white_space_around_it() {
        for text in ["{}", "[1, 2]", "\"a\"", "-1.5e3", "true", "null", "{\"a\":{\"b\":[{}]}}"] {
            let padded = alloc::format!(" \n{text}\t\r ");
            let document = Document::parse(padded.as_bytes()).unwrap();
            assert_eq!((document.root().raw(), document.text()), (text, &*padded));
            assert_eq!(document.root().span().start(), 2);
        }
    }

    #[test]
    fn refuses_what_messages_are_refused_for_at_the_same_byte() {
        let deep = "[".repeat(200);
        for text in [
            "",
            " ",
            "{",
            "{}x",
            "1,\"x\":2",
            "{\"a\":1,\"a\":2}",
            "{\"a\":1,\"\\u0061\":2}",
            "{\"x\":[{\"a\":1,\"a\":2}]}",
            "[1,]",
            "07",
            "\"\u{1}\"",
            &deep,
        ] {
            let message = Message::parse(text.as_bytes()).unwrap_err();
            let document = Document::parse(text.as_bytes()).unwrap_err();
            assert_eq!((document.fault, document.at), (message.fault, message.at), "{text}");
        }
        assert_eq!(Document::parse(b"\"\xff\"").unwrap_err().fault, JsonFault::Utf8);
    }

    #[test]
    fn splices_as_messages_do() {
        let document = Document::parse(br#"{"a": 1, "b":2}"#).unwrap();
        let edit = (document.member("a").unwrap().span(), "[]");
        assert_eq!(document.splice(&[edit]).unwrap(), r#"{"a": [], "b":2}"#);
        assert!(document.splice(&[edit, edit]).is_err());
    }
}
