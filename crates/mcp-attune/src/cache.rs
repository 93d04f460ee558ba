//! Which answers may be kept, how long, and for whom.
//!
//! 1. Kept are results of `server/discover`, of what lists, and of `resources/read`. An `input_required` result is not,
//!    nor the answer to a request with `inputResponses` or `requestState`.
//! 2. `ttlMs` counts from when the answer came, and for a day at most. Where it is missing, zero, negative or no whole
//!    number, nothing is kept.
//! 3. With `cacheScope: "public"` an answer is for everybody; with anything else, and without it, for the identity that
//!    asked. Whatever the scope: for one preference to the letter, one set of features and one context.
//! 4. A notification that something changed undoes the answers that it is about, however fresh.
//!
//! Nothing is kept here, and no clock is asked: whoever keeps answers does both.
//!
//! Rules: G3, L18.
//!
//! ```
//! use mcp_attune::cache::{self, ChangeNotification, CacheScope};
//! use std::time::Duration;
//!
//! let hint = cache::hint("tools/list", "{}", r#"{"tools":[],"ttlMs":5000,"cacheScope":"public"}"#).unwrap();
//! assert_eq!((hint.ttl, hint.scope), (Duration::from_secs(5), CacheScope::Public));
//! assert_eq!(cache::hint("tools/call", "{}", r#"{"content":[],"ttlMs":5000}"#), None);
//! assert!(ChangeNotification::Tools.invalidates("tools/list", "{}"));
//! ```

use core::time::Duration;

use mcp_attune_wire::document::Document;
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::protocol::method;

/// How long an answer is kept at most.
pub const MAX_TTL: Duration = Duration::from_secs(24 * 60 * 60);

/// Whom a kept answer is for.
///
/// Rules: G3.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum CacheScope {
    /// Everybody who asks the same in the same way.
    Public,
    /// The identity that asked.
    Private,
}

/// How long an answer may be kept, and for whom.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct CacheHint {
    /// How long, from when it came.
    pub ttl: Duration,
    /// For whom.
    pub scope: CacheScope,
}

impl CacheHint {
    /// The hint for what is made of two answers: the shorter time, and public only where both are.
    #[must_use]
    pub fn combine(self, other: Self) -> Self {
        let scope = if self.scope == other.scope { self.scope } else { CacheScope::Private };
        Self { ttl: self.ttl.min(other.ttl), scope }
    }
}

/// Whether answers to a method can be kept at all.
#[must_use]
pub fn is_cacheable(method: &str) -> bool {
    matches!(
        method,
        method::SERVER_DISCOVER
            | method::TOOLS_LIST
            | method::PROMPTS_LIST
            | method::RESOURCES_LIST
            | method::RESOURCES_TEMPLATES_LIST
            | method::RESOURCES_READ
    )
}

/// What a server says about keeping a result; none where it is not to be kept.
///
/// `params` and `result` are JSON; what cannot be read in one way is not kept.
///
/// Rules: G3.
#[must_use]
pub fn hint(method: &str, params: &str, result: &str) -> Option<CacheHint> {
    if !is_cacheable(method)
        || may_have_member(params, "inputResponses")
        || may_have_member(params, "requestState")
    {
        return None;
    }
    let result = Document::parse(result.as_bytes()).ok()?;
    let text = |name| result.member(name).and_then(SpannedValue::text).and_then(JsonString::decode);
    if text("resultType").is_some_and(|kind| kind != "complete") {
        return None;
    }
    let millis: u64 = result.member("ttlMs")?.raw().parse().ok()?;
    let scope = if text("cacheScope").as_deref() == Some("public") {
        CacheScope::Public
    } else {
        CacheScope::Private
    };
    let ttl = Duration::from_millis(millis).min(MAX_TTL);
    (!ttl.is_zero()).then_some(CacheHint { ttl, scope })
}

/// Whether a text is an object that has a member, or is no object that can be read.
fn may_have_member(params: &str, member: &str) -> bool {
    Document::parse(params.as_bytes()).map_or(true, |params| params.member(member).is_some())
}

/// What a notification says has changed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum ChangeNotification {
    /// The list of tools.
    Tools,
    /// The list of prompts.
    Prompts,
    /// The list of resources, and of their templates.
    Resources,
    /// One resource, by its URI.
    Resource(Box<str>),
}

impl ChangeNotification {
    /// Reads a notification; none where it is about no change.
    #[must_use]
    pub fn read(message: &Message<'_>) -> Option<Self> {
        match message.known_method()? {
            method::TOOLS_LIST_CHANGED => Some(Self::Tools),
            method::PROMPTS_LIST_CHANGED => Some(Self::Prompts),
            method::RESOURCES_LIST_CHANGED => Some(Self::Resources),
            method::RESOURCES_UPDATED => {
                let uri = message.param("uri")?.text()?.decode()?;
                Some(Self::Resource(uri.as_ref().into()))
            }
            _ => None,
        }
    }

    /// Whether a kept answer to this request no longer holds.
    #[must_use]
    pub fn invalidates(&self, method: &str, params: &str) -> bool {
        match self {
            Self::Tools => method == method::TOOLS_LIST,
            Self::Prompts => method == method::PROMPTS_LIST,
            Self::Resources => matches!(method, method::RESOURCES_LIST | method::RESOURCES_TEMPLATES_LIST),
            Self::Resource(uri) => {
                let of = |params: &Document<'_>| params.member("uri")?.text().map(|text| text.is(uri));
                let same = || Document::parse(params.as_bytes()).ok().as_ref().and_then(of);
                method == method::RESOURCES_READ && same() != Some(false)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(method: &str, params: &str, result: &str, expected: Option<(u64, CacheScope)>) {
        let expected =
            expected.map(|(millis, scope)| CacheHint { ttl: Duration::from_millis(millis), scope });
        assert_eq!(hint(method, params, result), expected, "{method} {params} {result}");
    }

    #[test]
    fn keeps_what_the_server_says_for_as_long_as_it_says() {
        let public = r#"{"resultType":"complete","ttlMs":60000,"cacheScope":"public"}"#;
        for method in ["server/discover", "tools/list", "prompts/list", "resources/list", "resources/read"] {
            check(method, "{}", public, Some((60_000, CacheScope::Public)));
        }
        check("tools/list", "{}", r#"{"ttlMs":1}"#, Some((1, CacheScope::Private)));
        check("tools/list", "{}", r#"{"ttlMs":1,"cacheScope":"private"}"#, Some((1, CacheScope::Private)));
        check("tools/list", "{}", r#"{"ttlMs":1,"cacheScope":"Public"}"#, Some((1, CacheScope::Private)));
        check("tools/list", "{}", r#"{"ttlMs":9999999999}"#, Some((86_400_000, CacheScope::Private)));
    }

    #[test]
    fn keeps_nothing_that_is_stale_at_once_or_half_done() {
        for result in [
            "{}",
            r#"{"ttlMs":0}"#,
            r#"{"ttlMs":-1}"#,
            r#"{"ttlMs":1.5}"#,
            r#"{"ttlMs":"60"}"#,
            r#"{"ttlMs":60000,"resultType":"input_required"}"#,
            r#"{"ttlMs":60000,"ttlMs":60000}"#,
            "7",
        ] {
            check("tools/list", "{}", result, None);
        }
        let result = r#"{"ttlMs":60000}"#;
        check("tools/call", "{}", result, None);
        check("prompts/get", "{}", result, None);
        check("resources/read", r#"{"uri":"x","requestState":"s"}"#, result, None);
        check("resources/read", r#"{"uri":"x","inputResponses":{}}"#, result, None);
        check("resources/read", r#"{"uri":"x","#, result, None);
    }

    #[test]
    fn pages_are_kept_together_as_long_as_the_shortest_and_for_the_fewest() {
        let of = |millis, scope| CacheHint { ttl: Duration::from_millis(millis), scope };
        let (public, private) = (of(5, CacheScope::Public), of(3, CacheScope::Private));
        assert_eq!(public.combine(of(9, CacheScope::Public)), of(5, CacheScope::Public));
        assert_eq!(public.combine(private), of(3, CacheScope::Private));
    }

    #[test]
    fn a_change_undoes_what_it_is_about_and_nothing_else() {
        let read = |method: &str| {
            let body = format!(r#"{{"jsonrpc":"2.0","method":"{method}","params":{{"uri":"a:b"}}}}"#);
            ChangeNotification::read(&Message::parse(body.as_bytes()).unwrap())
        };
        let tools = read("notifications/tools/list_changed").unwrap();
        assert!(tools.invalidates("tools/list", "{}") && !tools.invalidates("prompts/list", "{}"));
        let prompts = read("notifications/prompts/list_changed").unwrap();
        assert!(prompts.invalidates("prompts/list", "{}") && !prompts.invalidates("tools/list", "{}"));
        let resources = read("notifications/resources/list_changed").unwrap();
        assert!(
            resources.invalidates("resources/templates/list", "{}")
                && resources.invalidates("resources/list", "{}")
        );
        assert!(!resources.invalidates("resources/read", r#"{"uri":"a:b"}"#));
        let resource = read("notifications/resources/updated").unwrap();
        assert!(resource.invalidates("resources/read", r#"{"uri":"a:\u0062"}"#));
        assert!(!resource.invalidates("resources/read", r#"{"uri":"a:c"}"#));
        assert!(!resource.invalidates("resources/list", "{}"));
        assert_eq!(read("notifications/progress"), None);
    }
}
