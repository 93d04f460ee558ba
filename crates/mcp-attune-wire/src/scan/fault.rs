//! Why a text cannot be read in one way.

use core::fmt;

use super::MAX_DEPTH;
use crate::notice::Notice;

/// Why bytes are not one JSON value that can be read in one way.
///
/// ```
/// use mcp_attune_wire::message::{JsonFault, Message};
///
/// let twice = Message::parse(br#"{"method":"ping","m\u0065thod":"tools/call"}"#).unwrap_err();
/// assert_eq!(twice.fault, JsonFault::RepeatedName);
/// assert_eq!(twice.at, 17);
/// ```
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
#[non_exhaustive]
pub enum JsonFault {
    /// Nothing but white space: `""`.
    Empty,
    /// Not JSON at this place: `{"a":}`.
    Syntax,
    /// The text ends inside a value: `{"a":1`.
    Cut,
    /// Bytes that are no UTF-8: `"\xff"`.
    Utf8,
    /// More than 127 brackets open at once.
    TooDeep,
    /// A member name twice in one object: `{"a":1,"\u0061":2}`.
    RepeatedName,
    /// A member name that differs only in case from another one of the object, or from one that the rules read:
    /// `{"method":"ping","Method":"tools/call"}`. See [`Message::check_case`](crate::message::Message::check_case).
    NameDiffersInCase,
    /// Something after the value: `{} {}`.
    Trailing,
    /// Over 2 GiB.
    TooLong,
}

impl JsonFault {
    /// The rule that a body with it breaks.
    #[must_use]
    pub fn rule(self) -> &'static str {
        if self == Self::NameDiffersInCase { "H18" } else { "H13" }
    }
}

/// A [`JsonFault`] and the byte where it was met.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct JsonParseError {
    /// What is wrong.
    pub fault: JsonFault,
    /// The offset of the byte where it was met.
    pub at: usize,
}

impl JsonParseError {
    /// What a caller is told of it.
    #[must_use]
    pub fn notice(&self) -> Notice {
        let at = self.at;
        match self.fault {
            JsonFault::Empty => Notice::BodyEmpty,
            JsonFault::Syntax => Notice::BodyNotJson { at },
            JsonFault::Cut => Notice::BodyCut { at },
            JsonFault::Utf8 => Notice::BodyNotUtf8 { at },
            JsonFault::TooDeep => Notice::BodyTooDeep { most: MAX_DEPTH, at },
            JsonFault::RepeatedName => Notice::NameRepeated { at },
            JsonFault::NameDiffersInCase => Notice::NameDiffersInCase { at },
            JsonFault::Trailing => Notice::BodyTrailing { at },
            JsonFault::TooLong => Notice::BodyOver2Gib,
        }
    }
}

impl fmt::Display for JsonParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.notice().fmt(f)
    }
}

impl core::error::Error for JsonParseError {}
