//! Which request a message is about, beside the answer that has its id: the request whose progress it reports, that it
//! cancels, or that opened a subscription.
//!
//! 1. A request names the token of its progress in `_meta`, and `notifications/progress` names that token in `params`.
//! 2. `notifications/cancelled` names the id of a request of whoever sends it.
//! 3. What is told on a subscription names the id of the request that opened it.
//! 4. That something of the server has changed is about no request.
//!
//! ```
//! use mcp_attune_wire::correlate::{NotificationSubject, notification_subject};
//! use mcp_attune_wire::message::Message;
//!
//! let progress = br#"{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":7,"progress":1}}"#;
//! let progress = Message::parse(progress)?;
//! assert!(matches!(notification_subject(&progress), NotificationSubject::Progress(Some(token)) if token.raw() == "7"));
//! # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
//! ```
//!
//! Rules: G9, L13.

use crate::json::{JsonString, SpannedValue};
use crate::message::{Message, MessageKind};
use crate::protocol::meta::SUBSCRIPTION_ID;
use crate::protocol::method::{CANCELLED, INITIALIZE, PROGRESS, RESOURCES_UPDATED, SUBSCRIPTIONS_LISTEN};

/// The name of the token that progress is reported under.
pub(crate) const PROGRESS_TOKEN: &str = "progressToken";

/// What a notification is about.
#[derive(Clone, Copy, Debug)]
pub enum NotificationSubject<'a> {
    /// The progress of the request that gave this token; `None` where the notification names none.
    Progress(Option<SpannedValue<'a>>),
    /// The end of the request with this id, which its sender does not wait for any more; `None` where none is named.
    Cancelled(Option<SpannedValue<'a>>),
    /// The server as a whole: a resource or a list has changed.
    Server,
    /// Anything else.
    Other,
}

/// Returns what a notification is about. What is no notification is judged by its method alike.
#[must_use]
pub fn notification_subject<'a>(message: &Message<'a>) -> NotificationSubject<'a> {
    let method = message.method().and_then(JsonString::decode).unwrap_or_default();
    match &*method {
        PROGRESS => NotificationSubject::Progress(message.param(PROGRESS_TOKEN)),
        CANCELLED => NotificationSubject::Cancelled(message.param("requestId")),
        RESOURCES_UPDATED => NotificationSubject::Server,
        changed if changed.ends_with("/list_changed") => NotificationSubject::Server,
        _ => NotificationSubject::Other,
    }
}

/// Returns the token that the progress of a request is to be reported under.
#[must_use]
pub fn progress_token<'a>(request: &Message<'a>) -> Option<SpannedValue<'a>> {
    request.meta(PROGRESS_TOKEN)
}

/// Returns the subscription that a notification is told on: the id of the request that opened it.
#[must_use]
pub fn subscription_id<'a>(notification: &Message<'a>) -> Option<SpannedValue<'a>> {
    notification.meta(SUBSCRIPTION_ID)
}

/// Whether a message is a request that opens a subscription.
#[must_use]
pub fn opens_subscription(message: &Message<'_>) -> bool {
    is_request(message, SUBSCRIPTIONS_LISTEN)
}

/// Whether a message is a request that begins a legacy session.
#[must_use]
pub fn begins_session(message: &Message<'_>) -> bool {
    is_request(message, INITIALIZE)
}

fn is_request(message: &Message<'_>, method: &str) -> bool {
    message.kind() == MessageKind::Request && message.method().is_some_and(|named| named.is(method))
}

#[cfg(test)]
mod tests {
    use alloc::format;
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_notification_is_about_the_request_that_it_names() {
        for (method, expected) in [
            ("notifications/progress", "progress 1"),
            ("notifications/cancelled", "cancelled \"r\""),
            ("notifications/resources/updated", "server"),
            ("notifications/tools/list_changed", "server"),
            ("notifications/of/others/list_changed", "server"),
            ("notifications/message", "other"),
            ("notifications/progress/more", "other"),
            ("tools/call", "other"),
        ] {
            let text = format!(
                r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"progressToken":1,"requestId":"r"}}}}"#
            );
            let raw = |value: Option<SpannedValue<'_>>| {
                value.map_or("nothing".to_string(), |it| it.raw().to_string())
            };
            let about = match notification_subject(&Message::parse(text.as_bytes()).unwrap()) {
                NotificationSubject::Progress(token) => format!("progress {}", raw(token)),
                NotificationSubject::Cancelled(id) => format!("cancelled {}", raw(id)),
                NotificationSubject::Server => "server".to_string(),
                NotificationSubject::Other => "other".to_string(),
            };
            assert_eq!(about, expected, "{method}");
        }
    }

    #[test]
    fn tokens_and_subscriptions_stand_in_meta() {
        let text = br#"{"jsonrpc":"2.0","id":1,"method":"m","params":{"progressToken":1,"_meta":{
            "progressToken":2,"io.modelcontextprotocol/subscriptionId":3}}}"#;
        let message = Message::parse(text).unwrap();
        assert_eq!(progress_token(&message).unwrap().raw(), "2");
        assert_eq!(subscription_id(&message).unwrap().raw(), "3");
    }

    #[test]
    fn only_requests_begin_sessions_and_open_subscriptions() {
        let read = |text: &str| {
            let message = Message::parse(text.as_bytes()).unwrap();
            (begins_session(&message), opens_subscription(&message))
        };
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"initialize"}"#), (true, false));
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"initialize"}"#), (false, false));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"subscriptions/listen"}"#), (false, true));
        assert_eq!(read(r#"{"jsonrpc":"2.0","method":"subscriptions/listen"}"#), (false, false));
        assert_eq!(read(r#"{"jsonrpc":"2.0","id":1,"method":"tools/list"}"#), (false, false));
    }
}
