//! Why a text cannot be read in one way.

use core::fmt;

use super::MAX_DEPTH;

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

impl fmt::Display for JsonParseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let at = self.at;
        match self.fault {
            JsonFault::Empty => f.write_str("the body is empty; send one JSON-RPC message"),
            JsonFault::Syntax => write!(f, "the body is not JSON at byte {at}"),
            JsonFault::Cut => write!(f, "the body ends inside a value, at byte {at}"),
            JsonFault::Utf8 => write!(f, "the body is not UTF-8 at byte {at}"),
            JsonFault::TooDeep => write!(f, "more than {MAX_DEPTH} brackets are open at byte {at}"),
            JsonFault::RepeatedName => write!(
                f,
                "a member name stands twice in one object, the second time at byte {at}; each name may stand once"
            ),
            JsonFault::NameDiffersInCase => write!(
                f,
                "the member name at byte {at} differs only in case from another one, or from one that has a meaning here; \
                 readers that ignore case would read another message, so write each name once and exactly as MCP and the \
                 tool's schema spell it"
            ),
            JsonFault::Trailing => {
                write!(f, "something follows the message at byte {at}; send one message and nothing after it")
            }
            JsonFault::TooLong => f.write_str("the body is over 2 GiB"),
        }
    }
}

impl core::error::Error for JsonParseError {}
