//! A `subscriptions/listen` of a modern caller in front of a legacy server: the resources that the session subscribes to,
//! and the notifications that the caller gets.
//!
//! Rules: X5.

use mcp_attune_wire::json::SpannedValue;
use mcp_attune_wire::message::{Message, meta};
use mcp_attune_wire::protocol::method::{
    PROMPTS_LIST_CHANGED, RESOURCES_LIST_CHANGED, RESOURCES_SUBSCRIBE, RESOURCES_UNSUBSCRIBE,
    RESOURCES_UPDATED, SUBSCRIPTIONS_ACKNOWLEDGED, TOOLS_LIST_CHANGED,
};

use super::legacy_server::LegacyServer;
use super::members::{edit_members, joined, member};
use crate::edits::MessageEdits;

/// The most resources that one subscription may name.
const MAX_RESOURCES: usize = 256;

/// The kinds of lists whose changes can be listened for: the member of the filter, the capability, the notification.
const LISTS: [(&str, &str, &str); 3] = [
    ("toolsListChanged", "tools", TOOLS_LIST_CHANGED),
    ("promptsListChanged", "prompts", PROMPTS_LIST_CHANGED),
    ("resourcesListChanged", "resources", RESOURCES_LIST_CHANGED),
];

/// What a caller listens for, as far as the server has it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Subscription {
    /// The id of the request, as written.
    id: String,
    /// The entries of [`LISTS`] that count.
    lists: [bool; 3],
    /// The URIs of resources, as written.
    resources: Vec<String>,
}

impl Subscription {
    /// Reads a `subscriptions/listen`. `None` for what is no request.
    #[must_use]
    pub fn read(message: &Message<'_>, server: &LegacyServer) -> Option<Self> {
        let filter = message.param("notifications");
        let wants = |name: &str| {
            filter.and_then(|filter| filter.member(name)).is_some_and(|value| value.raw() == "true")
        };
        let lists = LISTS.map(|(name, capability, _)| wants(name) && server.can(capability, "listChanged"));
        let uris = filter.and_then(|filter| filter.member("resourceSubscriptions"));
        let uris = uris
            .filter(|_| server.can("resources", "subscribe"))
            .into_iter()
            .flat_map(SpannedValue::elements);
        let uris = uris.filter(|uri| uri.text().is_some()).take(MAX_RESOURCES);
        let resources = uris.map(|uri| uri.raw().to_owned()).collect();
        Some(Self { id: message.id()?.raw().to_owned(), lists, resources })
    }

    /// Returns the URIs of the resources that the session has to subscribe to, as written.
    #[must_use]
    pub fn resources(&self) -> &[String] {
        &self.resources
    }

    /// Returns the request that subscribes to a resource, or ends that.
    #[must_use]
    pub fn resource_request(uri: &str, number: u64, subscribes: bool) -> String {
        let method = if subscribes { RESOURCES_SUBSCRIBE } else { RESOURCES_UNSUBSCRIBE };
        format!(r#"{{"jsonrpc":"2.0","id":{number},"method":"{method}","params":{{"uri":{uri}}}}}"#)
    }

    /// Returns the first message of the stream: what the caller will hear of.
    #[must_use]
    pub fn acknowledgement(&self) -> String {
        let lists = LISTS.iter().zip(self.lists).filter(|(_, counts)| *counts);
        let lists: Vec<_> = lists.map(|((name, ..), _)| member(name, "true")).collect();
        let resources = if self.resources.is_empty() {
            String::new()
        } else {
            member("resourceSubscriptions", &format!("[{}]", self.resources.join(",")))
        };
        let heard = joined(lists.iter().map(String::as_str).chain([resources.as_str()]));
        let id = member(meta::SUBSCRIPTION_ID, &self.id);
        format!(
            r#"{{"jsonrpc":"2.0","method":"{SUBSCRIPTIONS_ACKNOWLEDGED}","params":{{"_meta":{{{id}}},"notifications":{{{heard}}}}}}}"#
        )
    }

    /// Returns a notification of the session as this caller gets it; `None` where it does not listen for it.
    #[must_use]
    pub fn notification(&self, message: &Message<'_>) -> Option<String> {
        let method = message.known_method()?;
        let listed = LISTS.iter().zip(self.lists).any(|((.., name), counts)| counts && *name == method);
        let named = || {
            let uri = message.param("uri")?;
            Some(self.resources.iter().any(|known| known == uri.raw()) || self.names(uri))
        };
        let is_heard = listed || (method == RESOURCES_UPDATED && named().unwrap_or(false));
        if !is_heard {
            return None;
        }
        let id = member(meta::SUBSCRIPTION_ID, &self.id);
        let mut edits = MessageEdits::default();
        edits.add_step(match (message.param("_meta"), message.member("params")) {
            (Some(own), _) => edit_members(own, |name| name.is(meta::SUBSCRIPTION_ID), id),
            (None, Some(params)) => edit_members(params, |_| false, member("_meta", &format!("{{{id}}}"))),
            (None, None) => {
                let params = member("params", &format!("{{{}}}", member("_meta", &format!("{{{id}}}"))));
                edit_members(message.body(), |_| false, params)
            }
        });
        edits.apply(message)
    }

    /// Whether a URI that is written otherwise is one of the resources.
    fn names(&self, uri: SpannedValue<'_>) -> bool {
        let Some(uri) = uri.text().and_then(mcp_attune_wire::json::JsonString::decode) else { return false };
        let known = |raw: &String| {
            let document = mcp_attune_wire::document::Document::parse(raw.as_bytes()).ok()?;
            Some(document.root().text()?.decode()? == uri)
        };
        self.resources.iter().any(|raw| known(raw).unwrap_or(false))
    }

    /// Returns the answer that ends the stream in order.
    #[must_use]
    pub fn closing_answer(&self) -> String {
        let id = member(meta::SUBSCRIPTION_ID, &self.id);
        format!(
            r#"{{"jsonrpc":"2.0","id":{},"result":{{"resultType":"complete","_meta":{{{id}}}}}}}"#,
            self.id
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn server(capabilities: &str) -> LegacyServer {
        let answer = format!(
            r#"{{"jsonrpc":"2.0","id":0,"result":{{"protocolVersion":"2025-11-25","capabilities":{capabilities}}}}}"#
        );
        LegacyServer::read(&Message::parse(answer.as_bytes()).unwrap()).unwrap()
    }

    const LISTEN: &[u8] = br#"{"jsonrpc":"2.0","id":"l","method":"subscriptions/listen","params":{"notifications":{"toolsListChanged":true,"promptsListChanged":false,"resourcesListChanged":true,"resourceSubscriptions":["file:///a","file:///b",7]}}}"#;

    #[test]
    fn what_the_server_has_is_acknowledged() {
        let message = Message::parse(LISTEN).unwrap();
        let all = server(r#"{"tools":{"listChanged":true},"resources":{"subscribe":true}}"#);
        let subscription = Subscription::read(&message, &all).unwrap();
        assert_eq!(subscription.resources(), [r#""file:///a""#, r#""file:///b""#]);
        assert_eq!(
            subscription.acknowledgement(),
            r#"{"jsonrpc":"2.0","method":"notifications/subscriptions/acknowledged","params":{"_meta":{"io.modelcontextprotocol/subscriptionId":"l"},"notifications":{"toolsListChanged":true,"resourceSubscriptions":["file:///a","file:///b"]}}}"#
        );
        let nothing = Subscription::read(&message, &server("{}")).unwrap();
        assert!(nothing.acknowledgement().ends_with(r#""notifications":{}}}"#));
        assert!(nothing.resources().is_empty());
        assert_eq!(
            Subscription::resource_request(r#""file:///a""#, 3, true),
            r#"{"jsonrpc":"2.0","id":3,"method":"resources/subscribe","params":{"uri":"file:///a"}}"#
        );
        assert!(Subscription::resource_request(r#""u""#, 3, false).contains("resources/unsubscribe"));
    }

    #[test]
    fn the_caller_hears_what_it_listens_for_under_its_own_id() {
        let all = server(
            r#"{"tools":{"listChanged":true},"prompts":{"listChanged":true},"resources":{"subscribe":true}}"#,
        );
        let subscription = Subscription::read(&Message::parse(LISTEN).unwrap(), &all).unwrap();
        let heard = |text: &str| subscription.notification(&Message::parse(text.as_bytes()).unwrap());
        let id = r#""_meta":{"io.modelcontextprotocol/subscriptionId":"l"}"#;
        assert_eq!(
            heard(r#"{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}"#).unwrap(),
            format!(r#"{{"params":{{{id}}},"jsonrpc":"2.0","method":"notifications/tools/list_changed"}}"#)
        );
        assert_eq!(
            heard(r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:\/\/\/a"}}"#).unwrap(),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{{{id},"uri":"file:\/\/\/a"}}}}"#)
        );
        for nothing in [
            r#"{"jsonrpc":"2.0","method":"notifications/prompts/list_changed"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated","params":{"uri":"file:///c"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/resources/updated"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"error"}}"#,
        ] {
            assert_eq!(heard(nothing), None, "{nothing}");
        }
        assert_eq!(
            subscription.closing_answer(),
            r#"{"jsonrpc":"2.0","id":"l","result":{"resultType":"complete","_meta":{"io.modelcontextprotocol/subscriptionId":"l"}}}"#
        );
    }
}
