//! Where a message carries its caller's time, place and locale, and whether the two places say the same.
//!
//! 1. It is the member `clientContext` beside `params`, or the same object in `_meta`.
//! 2. A form that is no object counts as absent, and so does one of more than [`MAX_CONTEXT_BYTES`] bytes.
//! 3. Two forms are one where they are equal as JSON values: the order of members and the spelling of numbers and
//!    strings mean nothing.
//!
//! What stands in it is read elsewhere.
//!
//! Rules: C1.

use crate::json::{JsonKind, SpannedValue};
use crate::message::{Message, meta};

/// The member beside `params`.
pub const CONTEXT_MEMBER: &str = "clientContext";

/// The most bytes that a context can have. The usual one has less than three hundred.
pub const MAX_CONTEXT_BYTES: usize = 64 * 1024;

/// What stands in one of the two places.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RawClientContext<'a> {
    /// Nothing.
    Absent,
    /// A value that is no object, which counts as nothing.
    NotAnObject,
    /// An object over [`MAX_CONTEXT_BYTES`], which counts as nothing.
    TooLarge,
    /// A context.
    Object(SpannedValue<'a>),
}

impl<'a> RawClientContext<'a> {
    /// The form beside `params`.
    #[must_use]
    pub fn beside_params(message: &Message<'a>) -> Self {
        Self::classify(message.member(CONTEXT_MEMBER))
    }

    /// The form in `_meta`.
    #[must_use]
    pub fn in_meta(message: &Message<'a>) -> Self {
        Self::classify(message.meta(meta::CLIENT_CONTEXT))
    }

    /// What a value is as a context.
    #[must_use]
    pub fn classify(value: Option<SpannedValue<'a>>) -> Self {
        match value {
            None => Self::Absent,
            Some(value) if value.kind() != JsonKind::Object => Self::NotAnObject,
            Some(value) if value.raw().len() > MAX_CONTEXT_BYTES => Self::TooLarge,
            Some(value) => Self::Object(value),
        }
    }
}

/// Whether a message carries two contexts, so that two readers could take two different ones.
///
/// ```
/// use mcp_attune_wire::{context, message::Message};
///
/// let body = br#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{"locale":"de"},
///     "params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"fr"}}}}"#;
/// assert!(context::has_conflicting_contexts(&Message::parse(body)?));
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
#[must_use]
pub fn has_conflicting_contexts(message: &Message<'_>) -> bool {
    match (RawClientContext::beside_params(message), RawClientContext::in_meta(message)) {
        (RawClientContext::Object(one), RawClientContext::Object(other)) => !one.json_eq(other),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::format;

    #[track_caller]
    fn check(beside: &str, in_meta: &str, different: bool) {
        let body = format!(
            r#"{{"jsonrpc":"2.0","id":1,"method":"ping","params":{{"_meta":{{"{}":{in_meta}}}}},"{CONTEXT_MEMBER}":{beside}}}"#,
            meta::CLIENT_CONTEXT,
        );
        assert_eq!(
            has_conflicting_contexts(&Message::parse(body.as_bytes()).unwrap()),
            different,
            "{beside} and {in_meta}"
        );
    }

    #[test]
    fn two_spellings_of_one_value_are_one_context() {
        check(r#"{"a":1,"b":[{"c":"\u00e9"}]}"#, r#"{ "b" : [ {"c":"é"} ], "\u0061" : 1.0e0 }"#, false);
        check("{}", "{ }", false);
        check(r#"{"a":1e400}"#, r#"{"a":10e399}"#, false);
    }

    #[test]
    fn what_is_no_object_counts_as_absent() {
        for other in ["null", "[]", "\"{}\"", "7", "true"] {
            check(r#"{"locale":"de"}"#, other, false);
            check(other, r#"{"locale":"de"}"#, false);
        }
    }

    #[test]
    fn two_values_are_two_contexts() {
        check(r#"{"locale":"de"}"#, r#"{"locale":"fr"}"#, true);
        check(r#"{"locale":"de"}"#, "{}", true);
        check(r#"{"a":[1,2]}"#, r#"{"a":[2,1]}"#, true);
        check(r#"{"a":[1]}"#, r#"{"a":[1,1]}"#, true);
        check(r#"{"a":1}"#, r#"{"a":"1"}"#, true);
        check(r#"{"a":null}"#, r#"{"b":null}"#, true);
        check(r#"{"a":true}"#, r#"{"a":false}"#, true);
        check(r#"{"a":1e400}"#, r#"{"a":1e401}"#, true);
        check(r#"{"a":"\ud83d"}"#, r#"{"a":"\ud83e"}"#, true);
    }

    #[test]
    fn what_is_too_large_counts_as_absent() {
        let large = format!(r#"{{"a":"{}"}}"#, "x".repeat(MAX_CONTEXT_BYTES));
        check(&large, r#"{"locale":"de"}"#, false);
    }
}
