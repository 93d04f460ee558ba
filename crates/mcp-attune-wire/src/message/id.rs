//! The id of a request, compared by what it says.

use alloc::boxed::Box;
use core::fmt;
use core::hash::{Hash, Hasher};

use crate::document::Document;
use crate::json::{JsonKind, SpannedValue};
use crate::number;

/// The longest id that is kept, in bytes as written, quotes included.
pub const MAX_ID_BYTES: usize = 1024;

/// The id of a request, or a token that is one: a number or a string.
///
/// 1. Two ids are equal when they say the same: `7`, `7.0` and `7e0`; `"é"` and `"\u00e9"`. A server may write the id of
///    its answer in another way than the client did.
/// 2. A number is never equal to a string: `7` and `"7"` are two ids.
/// 3. Numbers are compared exactly, at any size. Equal ids have equal hashes.
/// 4. The id stays as it was written, for whoever has to write it again.
/// 5. An id longer than [`MAX_ID_BYTES`] is none: whoever keeps ids keeps no more than that of each.
///
/// ```
/// use mcp_attune_wire::message::Id;
///
/// let asked = Id::parse("7").unwrap();
/// let answered = Id::parse("7.0").unwrap();
/// assert_eq!(asked, answered);
/// assert_ne!(asked, Id::parse("\"7\"").unwrap());
/// assert_eq!(answered.as_written(), "7.0");
/// ```
#[derive(Clone)]
pub struct Id {
    written: Box<str>,
}

impl Id {
    /// Reads an id where it stands. Returns `None` for what is neither a number nor a string, and for what is too long.
    #[must_use]
    pub fn read(value: SpannedValue<'_>) -> Option<Self> {
        let is_id = matches!(value.kind(), JsonKind::Number | JsonKind::String);
        let written = Some(value.raw()).filter(|raw| is_id && raw.len() <= MAX_ID_BYTES)?;
        Some(Self { written: written.into() })
    }

    /// Reads an id that stands alone, as JSON.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        Self::read(Document::parse(text.as_bytes()).ok()?.root())
    }

    /// The id as it was written, as JSON: a string has its quotes and escapes.
    #[must_use]
    pub fn as_written(&self) -> &str {
        &self.written
    }

    fn value(&self) -> SpannedValue<'_> {
        SpannedValue::from_checked_text(&self.written)
    }
}

impl PartialEq for Id {
    fn eq(&self, other: &Self) -> bool {
        self.value().json_eq(other.value())
    }
}

impl Eq for Id {}

impl Hash for Id {
    fn hash<H: Hasher>(&self, state: &mut H) {
        match self.value().text() {
            Some(text) => text.code_points().for_each(|code| state.write_u32(code)),
            None => number::hash(&self.written, state),
        }
        // So that no id is the beginning of another.
        state.write_u8(0xFF);
    }
}

/// Writes the id as JSON, as it was written.
impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.written)
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Id({})", self.written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::Message;
    use alloc::format;
    use alloc::string::ToString;
    use std::hash::DefaultHasher;

    fn id(text: &str) -> Id {
        Id::parse(text).unwrap()
    }

    fn hash(id: &Id) -> u64 {
        let mut hasher = DefaultHasher::new();
        id.hash(&mut hasher);
        hasher.finish()
    }

    #[test]
    fn ids_that_say_the_same_are_equal_and_have_one_hash() {
        for same in [
            &["7", "7.0", "7e0", "7E0", "70e-1", "0.7e1", "7.000e+0"][..],
            &["0", "-0", "0.0", "0e5", "-0.0e-7", "0e99999999999999999999"],
            &["-12", "-12.0", "-1.2e1"],
            &["123456789012345678901234567890", "12345678901234567890123456789e1"],
            &["0.5", "5e-1", "0.50"],
            &["1e99999999999999999999", "1e99999999999999999999"],
            &["\"é\"", r#""\u00e9""#, r#""\u00E9""#],
            &["\"a/b\"", r#""a\/b""#],
            &["\"😀\"", r#""\ud83d\ude00""#],
            &[r#""\ud83d""#, r#""\uD83D""#],
            &["\"\"", " \"\" "],
        ] {
            for one in same {
                for two in same {
                    assert_eq!(id(one), id(two), "{one} {two}");
                    assert_eq!(hash(&id(one)), hash(&id(two)), "{one} {two}");
                }
            }
        }
    }

    #[test]
    fn ids_that_say_something_else_differ() {
        for (one, two) in [
            ("7", "\"7\""),
            ("7.0", "\"7.0\""),
            ("7", "-7"),
            ("7", "70"),
            ("7", "0.7"),
            ("7", "7.1"),
            ("9007199254740992", "9007199254740993"),
            ("123456789012345678901234567890", "123456789012345678901234567891"),
            ("1e99999999999999999999", "1e99999999999999999998"),
            ("1e-99999999999999999999", "0"),
            ("\"a\"", "\"A\""),
            ("\"a\"", "\"a \""),
            ("\"\\\\u0061\"", "\"a\""),
            (r#""\ud83d""#, r#""\ude00""#),
        ] {
            assert_ne!(id(one), id(two), "{one} {two}");
        }
    }

    #[test]
    fn an_id_stays_as_it_was_written() {
        for written in ["7.0", r#""\u00e9""#, "-0", "1E5"] {
            assert_eq!(id(written).as_written(), written);
            assert_eq!(id(written).to_string(), written);
        }
        let message = Message::parse(br#"{"jsonrpc":"2.0","id" : 7.0 ,"method":"ping"}"#).unwrap();
        assert_eq!(Id::read(message.id().unwrap()).unwrap().as_written(), "7.0");
    }

    #[test]
    fn what_is_no_id_is_none() {
        for text in ["", "null", "true", "{}", "[7]", "{", "\"", "7 8", "07", "x"] {
            assert_eq!(Id::parse(text), None, "{text}");
        }
        let fits = format!("\"{}\"", "x".repeat(MAX_ID_BYTES - 2));
        assert!(Id::parse(&fits).is_some());
        assert_eq!(Id::parse(&fits.replacen('x', "xx", 1)), None);
    }
}
