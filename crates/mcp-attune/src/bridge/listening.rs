//! The GET stream of a legacy caller in front of a modern server: a `subscriptions/listen` of the bridge.
//!
//! Rules: X5.

use mcp_attune_wire::json::JsonQuoted;
use mcp_attune_wire::message::{Message, MessageKind, meta};
use mcp_attune_wire::protocol::method::{SUBSCRIPTIONS_ACKNOWLEDGED, SUBSCRIPTIONS_LISTEN};

use super::bridged_session::BridgedSession;
use super::members::{edit_members, joined, member};
use crate::edits::MessageEdits;

/// What a legacy session listens for: all lists, and the resources that it subscribed to.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ListeningFilter {
    /// The URIs of resources.
    resources: Vec<String>,
}

/// The most resources that a session may subscribe to.
const MAX_RESOURCES: usize = 256;

impl ListeningFilter {
    /// Adds a resource. Returns whether the filter is another one now.
    pub fn subscribe(&mut self, uri: &str) -> bool {
        let is_new = self.resources.len() < MAX_RESOURCES && !self.resources.iter().any(|known| known == uri);
        if is_new {
            self.resources.push(uri.to_owned());
        }
        is_new
    }

    /// Takes a resource out. Returns whether the filter is another one now.
    pub fn unsubscribe(&mut self, uri: &str) -> bool {
        let before = self.resources.len();
        self.resources.retain(|known| known != uri);
        self.resources.len() != before
    }
}

/// What becomes of a message on the stream.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum ListenEvent {
    /// The caller gets this notification.
    Notify(String),
    /// The server ended the stream, or refused it.
    End,
    /// Nobody gets it.
    Drop,
}

/// One stream of notifications of a modern server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ListenStream;

impl ListenStream {
    /// Returns the request that opens a stream for a session.
    #[must_use]
    pub fn request(session: &BridgedSession, filter: &ListeningFilter) -> String {
        let uris: Vec<_> = filter.resources.iter().map(|uri| JsonQuoted(uri).to_string()).collect();
        let resources = if uris.is_empty() {
            String::new()
        } else {
            member("resourceSubscriptions", &format!("[{}]", uris.join(",")))
        };
        let wanted = joined([
            r#""toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true"#,
            &resources,
        ]);
        let envelope = session.envelope(None);
        format!(
            r#"{{"jsonrpc":"2.0","id":"listen","method":"{SUBSCRIPTIONS_LISTEN}","params":{{"_meta":{{{envelope}}},"notifications":{{{wanted}}}}}}}"#
        )
    }

    /// Reads a message of the stream.
    #[must_use]
    pub fn receive(message: &Message<'_>) -> ListenEvent {
        match message.kind() {
            MessageKind::Answer => ListenEvent::End,
            MessageKind::Notification if message.known_method() == Some(SUBSCRIPTIONS_ACKNOWLEDGED) => {
                ListenEvent::Drop
            }
            MessageKind::Notification => {
                let mut edits = MessageEdits::default();
                if let Some(own) = message.param("_meta") {
                    edits.add_step(edit_members(own, |name| name.is(meta::SUBSCRIPTION_ID), ""));
                }
                ListenEvent::Notify(edits.apply(message).unwrap_or_else(|| message.text().to_owned()))
            }
            MessageKind::Request | MessageKind::Batch | MessageKind::Other => ListenEvent::Drop,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_session_listens_for_lists_and_for_its_resources() {
        let body = br#"{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"clientInfo":{"name":"c"}}}"#;
        let session = BridgedSession::read(&Message::parse(body).unwrap());
        let mut filter = ListeningFilter::default();
        assert!(filter.subscribe("file:///a") && !filter.subscribe("file:///a") && filter.subscribe("b"));
        assert!(filter.unsubscribe("b") && !filter.unsubscribe("b"));
        let request = ListenStream::request(&session, &filter);
        assert!(request.ends_with(r#""notifications":{"toolsListChanged":true,"promptsListChanged":true,"resourcesListChanged":true,"resourceSubscriptions":["file:///a"]}}}"#), "{request}");
        let read = Message::parse(request.as_bytes()).unwrap();
        assert!(read.meta("io.modelcontextprotocol/protocolVersion").is_some());
        for at in 0..300 {
            filter.subscribe(&at.to_string());
        }
        assert_eq!(filter.resources.len(), 256);
    }

    #[test]
    fn notifications_lose_the_id_of_the_stream() {
        let got = |text: &str| ListenStream::receive(&Message::parse(text.as_bytes()).unwrap());
        assert_eq!(
            got(
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"listen"}}}"#
            ),
            ListenEvent::Notify(
                r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed","params":{"_meta":{}}}"#
                    .to_owned()
            )
        );
        assert_eq!(
            got(r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged"}"#),
            ListenEvent::Drop
        );
        assert_eq!(got(r#"{"jsonrpc":"2.0","id":"listen","result":{}}"#), ListenEvent::End);
    }
}
