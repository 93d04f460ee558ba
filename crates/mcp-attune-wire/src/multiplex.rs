//! Requests of many callers on one connection: each gets a number of its own there, and its caller's names come back.
//!
//! 1. A request gets a number that no other has; its `progressToken` gets the same one.
//! 2. In what comes back, the number stands for the caller's id in `id`, in `notifications/cancelled` and in the
//!    subscription id, and for the caller's token in `notifications/progress`. Each is put back as it was written.
//! 3. A caller's own subscription id is taken out, and so is a token in a notification: a server that repeats what it
//!    was sent could otherwise be made to speak to another caller.
//! 4. No other byte changes.
//!
//! ```
//! use mcp_attune_wire::message::Message;
//! use mcp_attune_wire::multiplex;
//!
//! let request = Message::parse(br#"{"jsonrpc":"2.0","id":"mine","method":"ping"}"#)?;
//! let (sent, names) = multiplex::number_request(&request, 7).unwrap();
//! assert_eq!(sent, r#"{"jsonrpc":"2.0","id":7,"method":"ping"}"#);
//! let answer = Message::parse(br#"{"jsonrpc":"2.0","id":7,"result":{}}"#)?;
//! assert_eq!(multiplex::request_number(&answer), Some(7));
//! let restored = multiplex::restore_ids(&answer, 7, &names).unwrap();
//! assert_eq!(restored, r#"{"jsonrpc":"2.0","id":"mine","result":{}}"#);
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```
//!
//! Rules: G9.

use alloc::borrow::ToOwned;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use crate::correlate::{
    NotificationSubject, PROGRESS_TOKEN, notification_subject, progress_token, subscription_id,
};
use crate::document::Document;
use crate::json::{ByteSpan, JsonString, SpannedValue};
use crate::message::{Message, MessageKind};
use crate::protocol::meta::SUBSCRIPTION_ID;

/// A caller's own names for a request, as written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CallerRequestIds {
    id: String,
    token: Option<String>,
}

impl CallerRequestIds {
    /// Returns the names of a request; `None` for what is no request.
    #[must_use]
    pub fn of(message: &Message<'_>) -> Option<Self> {
        let id = message.id().filter(|_| message.kind() == MessageKind::Request)?;
        let token = progress_token(message).map(|token| token.raw().to_owned());
        Some(Self { id: id.raw().to_owned(), token })
    }

    /// Returns the caller's id, as written.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.id
    }
}

/// Writes a request with this number in the place of its id and its progress token. Returns it with the names that were
/// taken out; `None` for what is no request.
#[must_use]
pub fn number_request(message: &Message<'_>, number: u64) -> Option<(String, CallerRequestIds)> {
    let id = message.id().filter(|_| message.kind() == MessageKind::Request)?;
    let token = progress_token(message);
    let number = number.to_string();
    let mut edits: Vec<(ByteSpan, &str)> = vec![(id.span(), &number)];
    edits.extend(token.map(|token| (token.span(), number.as_str())));
    edits.extend(message.meta_removal_span(SUBSCRIPTION_ID).map(|span| (span, "")));
    Some((message.splice(&edits).ok()?, CallerRequestIds::of(message)?))
}

/// Writes a caller's notification without anything in `_meta` that could be taken for the number of a request.
#[must_use]
pub fn strip_correlation_ids(notification: &Message<'_>) -> Option<String> {
    let is_address = |name: JsonString<'_>| name.is(SUBSCRIPTION_ID) || name.is(PROGRESS_TOKEN);
    let cuts = notification.param("_meta").map(|meta| meta.cut_members(is_address)).unwrap_or_default();
    let edits: Vec<(ByteSpan, &str)> = cuts.into_iter().map(|cut| (cut, "")).collect();
    notification.splice(&edits).ok()
}

/// Whether a notification names a request by its method, so that it makes no sense where requests have other numbers.
#[must_use]
pub fn refers_to_request(notification: &Message<'_>) -> bool {
    matches!(
        notification_subject(notification),
        NotificationSubject::Progress(_) | NotificationSubject::Cancelled(_)
    )
}

/// Whether a message ends a request before its answer.
#[must_use]
pub fn is_cancellation(message: &Message<'_>) -> bool {
    matches!(notification_subject(message), NotificationSubject::Cancelled(_))
}

/// Returns the number of the request that a message of the server belongs to; `None` where it does not say.
#[must_use]
pub fn request_number(message: &Message<'_>) -> Option<u64> {
    match message.kind() {
        MessageKind::Answer => message.id().and_then(parse_request_number),
        MessageKind::Notification => {
            subscription_id(message).or_else(|| referenced_request(message)).and_then(parse_request_number)
        }
        MessageKind::Request | MessageKind::Batch | MessageKind::Other => None,
    }
}

/// Writes a message of the server as the caller gets it. Returns `None` where it speaks of a token that the caller never
/// gave.
#[must_use]
pub fn restore_ids(message: &Message<'_>, asked: u64, names: &CallerRequestIds) -> Option<String> {
    let is_ours = |value: &SpannedValue<'_>| parse_request_number(*value) == Some(asked);
    let mut edits: Vec<(ByteSpan, &str)> = Vec::new();
    if message.kind() == MessageKind::Answer {
        let subscription =
            message.member("result").and_then(|result| result.member("_meta")?.member(SUBSCRIPTION_ID));
        let ids = message.id().into_iter().chain(subscription).filter(is_ours);
        edits.extend(ids.map(|id| (id.span(), names.id.as_str())));
    } else {
        let subscription = subscription_id(message).filter(is_ours);
        edits.extend(subscription.map(|id| (id.span(), names.id.as_str())));
        if let Some(named) = referenced_request(message).filter(is_ours) {
            let is_progress = matches!(notification_subject(message), NotificationSubject::Progress(_));
            let name = if is_progress { names.token.as_deref()? } else { &names.id };
            edits.push((named.span(), name));
        }
    }
    message.splice(&edits).ok()
}

/// What a notification names a request by.
fn referenced_request<'a>(message: &Message<'a>) -> Option<SpannedValue<'a>> {
    match notification_subject(message) {
        NotificationSubject::Progress(named) | NotificationSubject::Cancelled(named) => named,
        NotificationSubject::Server | NotificationSubject::Other => None,
    }
}

/// Returns the number of the request that an id stands for, which stands alone as JSON: that of an answer of which nothing
/// else was kept.
///
/// ```
/// use mcp_attune_wire::multiplex::parse_number;
///
/// assert_eq!(["7", "7.0", "\"7\"", "\"seven\""].map(parse_number), [Some(7), Some(7), Some(7), None]);
/// ```
#[must_use]
pub fn parse_number(id: &str) -> Option<u64> {
    parse_request_number(Document::parse(id.as_bytes()).ok()?.root())
}

/// A number of ours. Some servers give a number back as a string.
fn parse_request_number(value: SpannedValue<'_>) -> Option<u64> {
    match value.text() {
        Some(text) => text.as_plain_str()?.parse().ok(),
        None => value.integer().and_then(|number| number.try_into().ok()),
    }
}

#[cfg(test)]
mod tests {
    use alloc::format;

    use super::*;

    #[test]
    fn a_number_of_ours_is_known_in_every_spelling() {
        for id in ["3", "3.0", "3e0", "30e-1", "\"3\""] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(request_number(&Message::parse(answer.as_bytes()).unwrap()), Some(3), "{id}");
        }
        for id in ["3.5", "-3", "\"three\"", "\"3.0\"", "null", "1e99"] {
            let answer = format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{{}}}}"#);
            assert_eq!(request_number(&Message::parse(answer.as_bytes()).unwrap()), None, "{id}");
        }
    }

    fn message(text: &str) -> Message<'_> {
        Message::parse(text.as_bytes()).unwrap()
    }

    const ODD: [&str; 9] = [
        "1",
        "\"1\"",
        "17",
        "\"17\"",
        "1.0",
        "-9007199254740993",
        "123456789012345678901234567890",
        r#""a\"\u00e9\\""#,
        "\"\"",
    ];

    #[test]
    fn every_id_comes_back_as_it_was_written() {
        for id in ODD {
            let request = format!(r#"{{"id": {id} ,"jsonrpc":"2.0","x":1.0,"method":"m"}}"#);
            let (sent, names) = number_request(&message(&request), 17).unwrap();
            assert_eq!(sent, request.replacen(&format!(" {id} "), " 17 ", 1));
            let answer = r#"{"result":{"id":17,"big":1e400},"id": 17,"jsonrpc":"2.0"}"#;
            assert_eq!(request_number(&message(answer)), Some(17));
            let restored = restore_ids(&message(answer), 17, &names).unwrap();
            assert_eq!(
                restored,
                format!(r#"{{"result":{{"id":17,"big":1e400}},"id": {id},"jsonrpc":"2.0"}}"#)
            );
        }
    }

    #[test]
    fn every_token_comes_back_as_it_was_written() {
        for token in ODD {
            let request = format!(
                r#"{{"jsonrpc":"2.0","id":"i","method":"m","params":{{"progressToken":5,"_meta":{{"progressToken":{token}}}}}}}"#
            );
            let (sent, names) = number_request(&message(&request), 9).unwrap();
            assert!(sent.ends_with(r#""params":{"progressToken":5,"_meta":{"progressToken":9}}}"#), "{sent}");
            let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progress":9,"progressToken":9}}"#;
            assert_eq!(request_number(&message(progress)), Some(9));
            let restored = restore_ids(&message(progress), 9, &names).unwrap();
            assert_eq!(
                restored,
                progress.replace(r#""progressToken":9"#, &format!(r#""progressToken":{token}"#))
            );
        }
    }

    #[test]
    fn progress_for_a_caller_who_gave_no_token_is_none() {
        let (_, names) = number_request(&message(r#"{"jsonrpc":"2.0","id":1,"method":"m"}"#), 9).unwrap();
        let progress = r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":9}}"#;
        assert_eq!(restore_ids(&message(progress), 9, &names), None);
    }

    #[test]
    fn subscription_ids_and_cancellations_are_restored() {
        let request = r#"{"jsonrpc":"2.0","id":"mine","method":"subscriptions/listen"}"#;
        let (_, names) = number_request(&message(request), 3).unwrap();
        for said in [
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":3},"x":3}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"3","_meta":{"io.modelcontextprotocol/subscriptionId":"3"}}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3,"reason":"3"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"result":{"_meta":{"io.modelcontextprotocol/subscriptionId":3}}}"#,
        ] {
            assert_eq!(request_number(&message(said)), Some(3), "{said}");
            let restored = restore_ids(&message(said), 3, &names).unwrap();
            let expected = said
                .replace(r#"subscriptionId":3"#, r#"subscriptionId":"mine""#)
                .replace(r#"subscriptionId":"3""#, r#"subscriptionId":"mine""#)
                .replace(r#""requestId":3"#, r#""requestId":"mine""#)
                .replace(r#""id":3"#, r#""id":"mine""#);
            assert_eq!(restored, expected);
        }
    }

    #[test]
    fn a_callers_own_subscription_id_is_taken_out_of_requests() {
        for (meta, expected) in [
            (r#"{"io.modelcontextprotocol/subscriptionId":3}"#, "{}"),
            (r#"{"a":1,"io.modelcontextprotocol/subscriptionId":"3"}"#, r#"{"a":1}"#),
            (
                r#"{"progressToken":"t", "io.modelcontextprotocol/subscription\u0049d":[3],"b":2}"#,
                r#"{"progressToken":9, "b":2}"#,
            ),
            (
                r#"{"io.modelcontextprotocol/subscriptionId":{"x":3},"progressToken":7}"#,
                r#"{"progressToken":9}"#,
            ),
        ] {
            let request = format!(r#"{{"jsonrpc":"2.0","id":1,"method":"m","params":{{"_meta":{meta}}}}}"#);
            let (sent, _) = number_request(&message(&request), 9).unwrap();
            let expected =
                format!(r#"{{"jsonrpc":"2.0","id":9,"method":"m","params":{{"_meta":{expected}}}}}"#);
            assert_eq!(sent, expected);
        }
    }

    #[test]
    fn nothing_in_a_callers_notification_is_an_address() {
        for (params, expected) in [
            (
                r#"{"_meta":{"io.modelcontextprotocol/subscriptionId":3,"progressToken":3}}"#,
                r#"{"_meta":{}}"#,
            ),
            (
                r#"{"_meta":{"a":1,"progressToken":3, "b":2,"io.modelcontextprotocol/subscriptionId":3},"x":3}"#,
                r#"{"_meta":{"a":1, "b":2},"x":3}"#,
            ),
            (r#"{"x":3}"#, r#"{"x":3}"#),
        ] {
            let said = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{params}}}"#);
            let expected = format!(r#"{{"jsonrpc":"2.0","method":"notifications/x","params":{expected}}}"#);
            assert_eq!(strip_correlation_ids(&message(&said)), Some(expected));
        }
    }

    #[test]
    fn what_names_no_request_belongs_to_none() {
        for said in [
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"data":"x"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"theirs"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/tasks","params":{"taskId":"3","status":"working"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"_meta":{"io.modelcontextprotocol/related-task":{"taskId":"3"},"progressToken":3},"data":"x"}}"#,
            r#"{"jsonrpc":"2.0","id":3,"method":"elicitation/create"}"#,
            r#"{"jsonrpc":"2.0","id":"x","result":{}}"#,
            r#"[{"jsonrpc":"2.0","id":3,"result":{}}]"#,
        ] {
            assert_eq!(request_number(&message(said)), None, "{said}");
        }
    }
}
