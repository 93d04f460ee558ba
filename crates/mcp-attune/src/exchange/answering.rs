//! The way back: what becomes of a server's answer.
//!
//! 1. A JSON answer that may have to change is held, because its headers depend on it. Events of a stream are adapted one by
//!    one, and never wait for each other.
//! 2. Each message is read once: what a host may learn from it and what changes in it come of one reading.
//! 3. An encoded answer, and what is neither a message nor a stream of them, passes as it came.
//!
//! Rules: A6, G2, G5, G8, G10, L15, L17, L21.

use std::borrow::Cow;
use std::sync::Arc;

use mcp_attune_wire::header::CONTENT_LANGUAGE;
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::protocol::header::lowercase;
use mcp_attune_wire::protocol::method::{INITIALIZE, SERVER_DISCOVER, TOOLS_LIST, TOOLS_LIST_CHANGED};
use mcp_attune_wire::reply::{Reply, private_cache_control, vary_with};
use memchr::memmem;

use super::headers::{HeaderChange, HeaderLines, text_values};
use super::notice::ExchangeNotice;
use super::session_ids::{EventIdRewriter, SessionIdRewriter};
use super::task_ids::TaskIdRewriter;
use crate::language::{AcceptLanguage, read_preference};
use crate::plan::{AdaptedMessage, Offer, Plan};
use crate::shaping::{AdaptEffort, declares_content_negotiation};

const VARY: &str = "vary";
const CACHE_CONTROL: &str = "cache-control";
const CONTENT_TYPE: &str = "content-type";
const CONTENT_ENCODING: &str = "content-encoding";
const CONTENT_LENGTH: &str = "content-length";
/// A notification that says that the tools are others now is not longer than this.
const MAX_NOTIFICATION_BYTES: usize = 4096;

/// What kind of body a message of HTTP has, as far as the rules care. Parameters and case of its type mean nothing.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum BodyMediaType {
    /// One message.
    Json,
    /// A stream of events.
    Events,
    /// Anything else, or nothing.
    Other,
}

impl BodyMediaType {
    /// Reads a `Content-Type`.
    #[must_use]
    pub fn of(content_type: Option<&[u8]>) -> Self {
        let essence = content_type.unwrap_or_default().split(|byte| *byte == b';').next();
        let essence = essence.unwrap_or_default().trim_ascii();
        if essence.eq_ignore_ascii_case(b"application/json") {
            Self::Json
        } else if essence.eq_ignore_ascii_case(b"text/event-stream") {
            Self::Events
        } else {
            Self::Other
        }
    }
}

/// How the body of an answer is carried.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AnswerBodyMode {
    /// As it comes.
    Pass,
    /// Whole, through [`AnswerAdapter::adapt`]; then [`AnswerAdapter::adapt_held_head`] says what changes in its headers.
    Hold,
    /// Event by event: each message through [`AnswerAdapter::adapt`], each id through [`AnswerAdapter::event_id`].
    Events,
}

/// What an answer is of interest for, beside its caller.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum AnswerTopic {
    /// Nothing in particular.
    Nothing,
    /// It is a listing of tools, from its first page on.
    Tools,
    /// It is a later page of one, for a host that keeps what results are like.
    MoreTools,
    /// It is what the server says of itself.
    Server,
}

impl AnswerTopic {
    /// What the answer to a request is of interest for. `shapes`: results may be shaped here.
    pub(super) fn of(request: &Message<'_>, shapes: bool) -> Self {
        match request.known_method() {
            Some(TOOLS_LIST) if request.param("cursor").is_none() => Self::Tools,
            Some(TOOLS_LIST) if shapes => Self::MoreTools,
            Some(INITIALIZE | SERVER_DISCOVER) if shapes => Self::Server,
            _ => Self::Nothing,
        }
    }
}

/// What a host may learn from a message.
#[derive(Clone, Copy, Debug)]
pub enum LearnedFact<'l, 'm> {
    /// A listing of tools: its first page, or all of it.
    Tools(&'l Message<'m>),
    /// A later page of a listing.
    MoreTools(&'l Message<'m>),
    /// The tools are others now.
    ToolsChanged,
    /// Whether the server negotiates content itself.
    Negotiates(bool),
}

/// Whether a server negotiates content itself, as its answer to `initialize` or `server/discover` says; `None` where it
/// does not say.
#[must_use]
pub fn negotiates_content(answer: &[u8]) -> Option<bool> {
    declares_content_negotiation(&Message::parse(answer).ok()?)
}

/// A message as its caller gets it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct MessageRewrite {
    /// The message, where it is another than the one that came.
    pub changed: Option<Vec<u8>>,
    /// What was done to it, without the message.
    pub told: Option<Box<AdaptedMessage<'static>>>,
}

impl MessageRewrite {
    /// The language that the message reports.
    #[must_use]
    pub fn language(&self) -> Option<&str> {
        self.told.as_ref()?.content_language.as_deref()
    }
}

/// What assumptions mean for caches. The default: nothing was assumed.
///
/// Rules: A6.
#[derive(Clone, Debug, Default)]
pub(super) struct AssumedVariance {
    /// Whether something was assumed of the caller.
    pub(super) is_assumed: bool,
    /// The trusted headers that the answer may depend on.
    pub(super) headers: Vec<Arc<str>>,
}

/// What is known of a request when it is answered.
#[derive(Debug)]
pub struct AnswerAdapter {
    pub(super) plan: Plan,
    /// Whether the request waits for an answer.
    pub(super) is_request: bool,
    /// Whether it asks for a listing, or for what the server says of itself.
    pub(super) lists: bool,
    /// The request's id as written; `None` where a stream goes on that a request before began, or that none did.
    pub(super) id: Option<String>,
    pub(super) visit: SessionIdRewriter,
    /// What becomes of the ids of events; `None` where they stay.
    pub(super) events: Option<EventIdRewriter>,
    /// What becomes of the ids of tasks; `None` where they stay.
    pub(super) tasks: Option<Arc<TaskIdRewriter>>,
    /// The tool that a task is of that the request creates, where that is to be known later.
    pub(super) creator: Option<String>,
    /// Whether the caller has a preference that counts.
    pub(super) preferred: bool,
    /// Whether the preference stands in an `Accept-Language` header.
    pub(super) in_header: bool,
    /// Whether the caller's context filled arguments.
    pub(super) bound: bool,
    /// What was assumed of the caller.
    pub(super) variance: AssumedVariance,
    pub(super) learns: AnswerTopic,
    /// Whether handlers of the same process may choose a language after the headers have gone.
    pub(super) speaks: bool,
    /// The preference as the message writes it, for what we say ourselves.
    pub(super) stated: Option<Box<str>>,
}

impl AnswerAdapter {
    /// Nothing is known of the request but what becomes of its answer.
    pub(super) fn new(plan: Plan, offer: &Offer) -> Self {
        Self {
            plan,
            is_request: false,
            lists: false,
            id: None,
            visit: SessionIdRewriter::default(),
            events: None,
            tasks: None,
            creator: None,
            preferred: false,
            in_header: false,
            bound: false,
            variance: AssumedVariance::default(),
            learns: AnswerTopic::Nothing,
            speaks: offer.speaks,
            stated: None,
        }
    }

    /// What was decided.
    #[must_use]
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// Whether the answer has to be read before it goes on.
    pub(super) fn must_read_answer(&self) -> bool {
        let learns = matches!(self.learns, AnswerTopic::Tools | AnswerTopic::Server);
        self.preferred || learns || self.plan.needs_whole_answer() || self.tasks.is_some()
    }

    /// Whether an event of a stream may be changed on its way: its message, or its id. It is decided before the first one
    /// comes, because the headers go before it.
    #[must_use]
    pub fn edits_events(&self) -> bool {
        self.plan.may_edit() || self.events.is_some()
    }

    /// How the body of an answer is carried, and what changes in its headers now.
    pub fn adapt_head<'h>(
        &self,
        success: bool,
        headers: impl HeaderLines<'h>,
    ) -> (AnswerBodyMode, Vec<HeaderChange>, Vec<ExchangeNotice>) {
        let (mut changes, mut notices) = (Vec::new(), Vec::new());
        self.visit.rewrite_answer(success, headers, &mut changes, &mut notices);
        if !self.is_request {
            return (AnswerBodyMode::Pass, changes, notices);
        }
        if headers.named(CONTENT_ENCODING).any(|value| value != b"identity") {
            // Where nothing is adapted, what the caller accepts went on as it came, and gzip is no surprise.
            if self.must_read_answer() {
                notices.push(ExchangeNotice::Encoded);
            }
            return (AnswerBodyMode::Pass, changes, notices);
        }
        let way = match BodyMediaType::of(headers.named(CONTENT_TYPE).next()) {
            BodyMediaType::Events => {
                changes.extend([CONTENT_LANGUAGE, CONTENT_LENGTH].map(HeaderChange::remove));
                if self.edits_events() {
                    changes.push(HeaderChange::ForgetOldBytes);
                }
                // The headers go before a handler of this process says which language it chose.
                self.set_cache_headers(headers, self.speaks, &mut changes);
                AnswerBodyMode::Events
            }
            BodyMediaType::Json if self.must_read_answer() => AnswerBodyMode::Hold,
            BodyMediaType::Json | BodyMediaType::Other => {
                self.set_cache_headers(headers, false, &mut changes);
                AnswerBodyMode::Pass
            }
        };
        (way, changes, notices)
    }

    /// What changes in the headers of an answer that was held, when its message was adapted.
    pub fn adapt_held_head<'h>(
        &self,
        message: &MessageRewrite,
        headers: impl HeaderLines<'h>,
    ) -> (Vec<HeaderChange>, Option<ExchangeNotice>) {
        let (mut changes, mut notice) = (Vec::new(), None);
        if let Some(language) = message.language() {
            if headers.named(CONTENT_LANGUAGE).any(|line| line != language.as_bytes()) {
                notice = Some(ExchangeNotice::OtherContentLanguage(language.to_owned()));
            }
            changes.push(HeaderChange::set(CONTENT_LANGUAGE, language));
        }
        self.set_cache_headers(headers, message.language().is_some(), &mut changes);
        if message.changed.is_some() {
            changes.push(HeaderChange::ForgetOldBytes);
        }
        (changes, notice)
    }

    /// What caches are told about an answer that could be another one for another caller.
    fn set_cache_headers<'h>(
        &self,
        headers: impl HeaderLines<'h>,
        reported: bool,
        changes: &mut Vec<HeaderChange>,
    ) {
        let varies = self.plan.depends_on_language() || reported;
        let own = self.bound || self.plan.shapes_answer() || (varies && self.variance.is_assumed);
        let trusted = self.variance.headers.iter().filter(|_| varies || own).map(|name| &**name);
        let fields = varies.then_some(lowercase::ACCEPT_LANGUAGE).into_iter().chain(trusted);
        let mut vary: Option<String> = None;
        for field in fields {
            let more = match &vary {
                Some(vary) => vary_with([vary.as_str()], field),
                None => vary_with(text_values(headers, VARY), field),
            };
            vary = more.or(vary);
        }
        if let Some(vary) = vary {
            changes.push(HeaderChange::set(VARY, vary));
        }
        // A shared cache sees the header alone, and could not tell this answer from another.
        if own || (varies && self.preferred && !self.in_header) {
            changes.push(HeaderChange::set(
                CACHE_CONTROL,
                private_cache_control(text_values(headers, CACHE_CONTROL)),
            ));
        }
    }

    /// One message of the answer. `learn` is given what a host may learn from it. `None` where more than this effort is
    /// needed, which is never so for [`AdaptEffort::Full`].
    pub fn adapt(
        &self,
        message: &[u8],
        effort: AdaptEffort,
        learn: impl FnOnce(LearnedFact<'_, '_>),
    ) -> Option<MessageRewrite> {
        self.adapt_observed(message, effort, learn, |_, _| {})
    }

    /// The same; `done` is told what became of a message that was read.
    pub(super) fn adapt_observed(
        &self,
        message: &[u8],
        effort: AdaptEffort,
        learn: impl FnOnce(LearnedFact<'_, '_>),
        done: impl FnOnce(&Message<'_>, &MessageRewrite),
    ) -> Option<MessageRewrite> {
        if effort == AdaptEffort::Short && message.len() > Plan::MAX_SHORT_BYTES {
            return None;
        }
        if !self.plan.may_edit() && self.tasks.is_none() && !self.may_be_learned_from(message) {
            return Some(MessageRewrite::default());
        }
        let Ok(read) = Message::parse(message) else { return Some(MessageRewrite::default()) };
        let adapted = self.adapt_message(&read, effort)?;
        if let Some(learned) = self.learned_fact(&read) {
            learn(learned);
        }
        done(&read, &adapted);
        Some(adapted)
    }

    /// The same for a message that was read already.
    pub(super) fn adapt_message(&self, read: &Message<'_>, effort: AdaptEffort) -> Option<MessageRewrite> {
        let ids = self.tasks.as_ref().map(|tasks| tasks.edits_for_caller(read)).unwrap_or_default();
        self.plan.adapt_parsed(read, ids, effort).map(MessageRewrite::of)
    }

    /// The tool that a task is of that the request creates.
    pub(super) fn task_creator(&self) -> Option<&str> {
        self.creator.as_deref()
    }

    /// Whether a host that matches answers with requests has to wait for this one's.
    pub(super) fn is_awaited(&self, offer: &Offer) -> bool {
        self.plan.may_edit()
            || offer.library.is_some()
            || self.learns != AnswerTopic::Nothing
            || self.creator.is_some()
    }

    /// Whether a message that does not change may be of interest.
    fn may_be_learned_from(&self, message: &[u8]) -> bool {
        let says = || {
            message.len() < MAX_NOTIFICATION_BYTES
                && memmem::find(message, TOOLS_LIST_CHANGED.as_bytes()).is_some()
        };
        self.learns != AnswerTopic::Nothing || says()
    }

    pub(super) fn learned_fact<'l, 'm>(&self, message: &'l Message<'m>) -> Option<LearnedFact<'l, 'm>> {
        // A result may well speak of it: only the notification itself says it.
        if message.kind() == MessageKind::Notification {
            return (message.known_method() == Some(TOOLS_LIST_CHANGED)).then_some(LearnedFact::ToolsChanged);
        }
        match self.learns {
            AnswerTopic::Tools => Some(LearnedFact::Tools(message)),
            AnswerTopic::MoreTools => Some(LearnedFact::MoreTools(message)),
            AnswerTopic::Server => declares_content_negotiation(message).map(LearnedFact::Negotiates),
            AnswerTopic::Nothing => None,
        }
    }

    /// The id that the caller gets for the id of an event; `None` where that stays.
    ///
    /// # Errors
    ///
    /// What is to be logged, where it should be another and cannot.
    pub fn event_id(&self, id: &[u8]) -> Result<Option<String>, ExchangeNotice> {
        self.events.as_ref().map_or(Ok(None), |ids| ids.caller_event_id(id))
    }

    /// Whether the ids of events may change.
    #[must_use]
    pub fn rewrites_event_ids(&self) -> bool {
        self.events.is_some()
    }

    /// What is answered where the server's answer fails; `None` where no request waits for it.
    #[must_use]
    pub fn failure_reply(&self, status: u16, what: Notice) -> Option<Reply> {
        let id = self.id.as_deref()?;
        Some(super::localize_reply(Reply::failed(status, Some(id), what), &self.reply_preference()).0)
    }

    /// The request's id as written.
    #[must_use]
    pub fn id(&self) -> Option<&str> {
        self.id.as_deref()
    }

    /// What the caller prefers, for answers of our own.
    #[must_use]
    pub fn reply_preference(&self) -> AcceptLanguage {
        read_preference(self.stated.as_deref()).0
    }
}

impl MessageRewrite {
    fn of(adapted: AdaptedMessage<'_>) -> Self {
        let AdaptedMessage { text, content_language, left_out, faults, unusable } = adapted;
        let changed = match text {
            Cow::Borrowed(_) => None,
            Cow::Owned(changed) => Some(changed),
        };
        let is_told =
            content_language.is_some() || !left_out.is_empty() || !faults.is_empty() || unusable.is_some();
        let text = Cow::Borrowed(&[][..]);
        let told = AdaptedMessage { text, content_language, left_out, faults, unusable };
        Self { changed, told: is_told.then(|| Box::new(told)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::caller::Caller;
    use crate::catalog::EmbeddedLocales;
    use crate::exchange::seal::{IdSeal, SealKeys};
    use crate::language::{Languages, Tag};
    use crate::plan::negotiate;
    use crate::shaping::{AnswerOmissions, UnusableReason, UnusableSchema, UnusableTemplate};

    /// What becomes of the answer of an English server to somebody who prefers this.
    fn adapter(preference: Option<&str>) -> AnswerAdapter {
        let offer = Offer { languages: Languages::new("en", []).ok(), ..Offer::default() };
        AnswerAdapter::new(negotiate(&Caller::resumed(preference), &offer), &offer)
    }

    fn seal() -> IdSeal {
        IdSeal::new(SealKeys::new(&[1; 32], []), "default", |_| Ok(()))
    }

    fn event_ids() -> Option<EventIdRewriter> {
        let none: &[(&str, &[u8])] = &[];
        let visit = SessionIdRewriter::unseal_session(Some(&seal()), none, None, &mut Vec::new()).unwrap();
        visit.event_id_rewriter(Some("de"))
    }

    #[test]
    fn a_type_has_neither_case_nor_parameters() {
        for (content_type, expected) in [
            (Some("application/json"), BodyMediaType::Json),
            (Some(" Application/JSON ; charset=utf-8"), BodyMediaType::Json),
            (Some("text/event-stream;a=b"), BodyMediaType::Events),
            (Some("application/jsonl"), BodyMediaType::Other),
            (Some("a;application/json"), BodyMediaType::Other),
            (None, BodyMediaType::Other),
        ] {
            assert_eq!(BodyMediaType::of(content_type.map(str::as_bytes)), expected, "{content_type:?}");
        }
    }

    #[test]
    fn an_answer_is_of_interest_for_what_was_asked() {
        for (request, shapes, expected) in [
            (r#""tools/list""#, false, AnswerTopic::Tools),
            (r#""tools/list""#, true, AnswerTopic::Tools),
            (r#""tools/list","params":{"cursor":"2"}"#, false, AnswerTopic::Nothing),
            (r#""tools/list","params":{"cursor":"2"}"#, true, AnswerTopic::MoreTools),
            (r#""initialize""#, false, AnswerTopic::Nothing),
            (r#""initialize""#, true, AnswerTopic::Server),
            (r#""server/discover""#, true, AnswerTopic::Server),
            (r#""tools/call""#, true, AnswerTopic::Nothing),
        ] {
            let message = format!(r#"{{"jsonrpc":"2.0","id":1,"method":{request}}}"#);
            let message = Message::parse(message.as_bytes()).unwrap();
            assert_eq!(AnswerTopic::of(&message, shapes), expected, "{request} {shapes}");
        }
    }

    #[test]
    fn a_server_says_whether_it_negotiates_content() {
        let says = |result: &str| {
            negotiates_content(format!(r#"{{"jsonrpc":"2.0","id":1,"result":{result}}}"#).as_bytes())
        };
        let declared = r#"{"capabilities":{"extensions":{"io.modelcontextprotocol/content-negotiation":{"version":"1.0"}}}}"#;
        assert_eq!(says(declared), Some(true));
        assert_eq!(says(r#"{"capabilities":{}}"#), Some(false));
        assert_eq!(negotiates_content(b"no message"), None);
    }

    /// Checks how the body of an answer with these headers is carried, and what is told of it.
    #[track_caller]
    fn check_head(adapter: &AnswerAdapter, headers: &[(&str, &str)], expected: AnswerBodyMode, told: bool) {
        let headers: Vec<_> = headers.iter().map(|(name, value)| (*name, value.as_bytes())).collect();
        let (mode, _, notices) = adapter.adapt_head(true, &headers[..]);
        assert_eq!((mode, notices == [ExchangeNotice::Encoded]), (expected, told), "{headers:?}");
    }

    #[test]
    fn an_answer_is_held_only_where_it_has_to_be_read() {
        let plain = AnswerAdapter { is_request: true, ..adapter(None) };
        let read = AnswerAdapter { is_request: true, preferred: true, ..adapter(Some("de")) };
        let json = (CONTENT_TYPE, "application/json");
        for (encoding, is_encoded) in [("identity", false), ("gzip", true)] {
            let headers = [json, (CONTENT_ENCODING, encoding)];
            let held = if is_encoded { AnswerBodyMode::Pass } else { AnswerBodyMode::Hold };
            check_head(&read, &headers, held, is_encoded);
            check_head(&plain, &headers, AnswerBodyMode::Pass, false);
        }
        check_head(&read, &[(CONTENT_TYPE, "text/event-stream")], AnswerBodyMode::Events, false);
        check_head(&read, &[(CONTENT_TYPE, "text/html")], AnswerBodyMode::Pass, false);
        check_head(&adapter(Some("de")), &[json], AnswerBodyMode::Pass, false);
    }

    #[test]
    fn a_server_that_says_another_language_in_its_header_is_told_of() {
        let mut told = AdaptedMessage::untouched(b"");
        told.content_language = Some("de".to_owned());
        let message = MessageRewrite { changed: None, told: Some(Box::new(told)) };
        for (line, expected) in
            [("de", None), ("en", Some(ExchangeNotice::OtherContentLanguage("de".to_owned())))]
        {
            let headers: &[(&str, &[u8])] = &[(CONTENT_LANGUAGE, line.as_bytes())];
            let (changes, notice) = adapter(None).adapt_held_head(&message, headers);
            assert_eq!(notice, expected, "{line}");
            assert!(changes.contains(&HeaderChange::set(CONTENT_LANGUAGE, "de")), "{changes:?}");
        }
    }

    #[test]
    fn caches_are_told_what_an_answer_depends_on() {
        let variance = |is_assumed| AssumedVariance { is_assumed, headers: vec!["x-zone".into()] };
        // A server of which no language is known.
        let silent = || {
            let offer = Offer::default();
            AnswerAdapter::new(negotiate(&Caller::default(), &offer), &offer)
        };
        let both = "accept-language, x-zone";
        for (adapter, vary, is_private) in [
            (AnswerAdapter { variance: variance(true), ..silent() }, None, false),
            (AnswerAdapter { variance: variance(false), bound: true, ..silent() }, Some("x-zone"), true),
            (AnswerAdapter { variance: variance(false), ..adapter(None) }, Some(both), false),
            (AnswerAdapter { variance: variance(true), ..adapter(None) }, Some(both), true),
            (adapter(Some("de")), Some("accept-language"), false),
            (AnswerAdapter { preferred: true, ..adapter(Some("de")) }, Some("accept-language"), true),
            (
                AnswerAdapter { preferred: true, in_header: true, ..adapter(Some("de")) },
                Some("accept-language"),
                false,
            ),
        ] {
            let none: &[(&str, &[u8])] = &[];
            let (changes, _) = adapter.adapt_held_head(&MessageRewrite::default(), none);
            let value = |name: &str| {
                changes.iter().find_map(|change| match change {
                    HeaderChange::Set(set, value) if set == name => str::from_utf8(value).ok(),
                    _ => None,
                })
            };
            assert_eq!((value(VARY), value(CACHE_CONTROL).is_some()), (vary, is_private), "{changes:?}");
        }
    }

    #[test]
    fn a_long_message_takes_more_than_a_short_effort() {
        let adapt = |length: usize, effort| {
            let message = vec![b' '; length];
            adapter(None).adapt(&message, effort, |_| {}).is_some()
        };
        assert!(adapt(Plan::MAX_SHORT_BYTES, AdaptEffort::Short));
        assert!(!adapt(Plan::MAX_SHORT_BYTES + 1, AdaptEffort::Short));
        assert!(adapt(Plan::MAX_SHORT_BYTES + 1, AdaptEffort::Full));
    }

    #[test]
    fn only_the_notification_itself_says_that_the_tools_changed() {
        let learns = |message: &str| {
            let mut learned = false;
            let learn = |fact: LearnedFact<'_, '_>| learned = matches!(fact, LearnedFact::ToolsChanged);
            adapter(None).adapt(message.as_bytes(), AdaptEffort::Full, learn).unwrap();
            learned
        };
        let changed = |length: usize| {
            let message = format!(r#"{{"jsonrpc":"2.0","method":"{TOOLS_LIST_CHANGED}"}}"#);
            " ".repeat(length - message.len()) + &message
        };
        assert!(learns(&changed(MAX_NOTIFICATION_BYTES - 1)));
        assert!(!learns(&changed(MAX_NOTIFICATION_BYTES)));
        for other in [
            format!(r#"{{"jsonrpc":"2.0","id":1,"result":{{"method":"{TOOLS_LIST_CHANGED}"}}}}"#),
            format!(
                r#"{{"jsonrpc":"2.0","method":"notifications/a","params":{{"a":"{TOOLS_LIST_CHANGED}"}}}}"#
            ),
        ] {
            assert!(!learns(&other), "{other}");
        }
    }

    #[test]
    fn an_answer_is_read_where_it_may_change_or_teach_something() {
        let reads = |adapter: AnswerAdapter| adapter.must_read_answer();
        assert!(!reads(adapter(None)));
        assert!(reads(AnswerAdapter { preferred: true, ..adapter(None) }));
        for (learns, expected) in [
            (AnswerTopic::Nothing, false),
            (AnswerTopic::MoreTools, false),
            (AnswerTopic::Tools, true),
            (AnswerTopic::Server, true),
        ] {
            assert_eq!(reads(AnswerAdapter { learns, ..adapter(None) }), expected, "{learns:?}");
        }
        let tasks = Some(TaskIdRewriter::with_creator(None, &seal(), "t").into());
        assert!(reads(AnswerAdapter { tasks, ..adapter(None) }));
    }

    #[test]
    fn a_request_is_awaited_where_its_answer_may_change_or_teach_something() {
        let plain = Offer::default();
        assert!(!adapter(None).is_awaited(&plain));
        assert!(adapter(Some("de")).is_awaited(&plain));
        assert!(AnswerAdapter { learns: AnswerTopic::MoreTools, ..adapter(None) }.is_awaited(&plain));
        assert!(AnswerAdapter { creator: Some("t".to_owned()), ..adapter(None) }.is_awaited(&plain));
        let files = EmbeddedLocales::new(Tag::parse("en").unwrap(), &[("de", "{}")]).unwrap();
        assert!(adapter(None).is_awaited(&Offer { library: Some(Arc::new(files)), ..plain }));
    }

    #[test]
    fn an_event_may_change_for_its_message_or_for_its_id() {
        let [plain, preferred] = [None, Some("de")].map(adapter);
        let sealed = AnswerAdapter { events: event_ids(), ..adapter(None) };
        for (adapter, edits, renames) in
            [(plain, false, false), (preferred, true, false), (sealed, true, true)]
        {
            assert_eq!((adapter.edits_events(), adapter.rewrites_event_ids()), (edits, renames));
            assert_eq!(adapter.event_id(b"7").unwrap().is_some(), renames);
        }
    }

    #[test]
    fn tells_what_was_done_where_there_is_something_to_tell() {
        let told = |change: fn(&mut AdaptedMessage<'_>)| {
            let mut adapted = AdaptedMessage::untouched(b"{}");
            change(&mut adapted);
            let rewrite = MessageRewrite::of(adapted);
            (rewrite.changed.is_some(), rewrite.told.is_some())
        };
        assert_eq!(told(|_| {}), (false, false));
        assert_eq!(told(|it| it.text = Cow::Owned(Vec::new())), (true, false));
        assert_eq!(told(|it| it.content_language = Some("de".to_owned())), (false, true));
        assert_eq!(
            told(|it| it.left_out = AnswerOmissions { blocks: 1, fields: 0, bytes: 2 }),
            (false, true)
        );
        let fault = |it: &mut AdaptedMessage<'_>| {
            it.faults.push(UnusableTemplate { template: "t".to_owned(), what: String::new() });
        };
        assert_eq!(told(fault), (false, true));
        let unusable = |it: &mut AdaptedMessage<'_>| {
            it.unusable = Some(UnusableSchema { tool: "t".to_owned(), why: UnusableReason::Invalid });
        };
        assert_eq!(told(unusable), (false, true));
    }

    #[test]
    fn a_failure_is_told_to_whoever_waits_in_their_language() {
        assert_eq!(adapter(None).failure_reply(502, Notice::ServerBrokeOff), None);
        let waits = AnswerAdapter { id: Some("7".to_owned()), stated: Some("de".into()), ..adapter(None) };
        let reply = waits.failure_reply(502, Notice::ServerBrokeOff).unwrap();
        let english = Reply::failed(502, Some("7"), Notice::ServerBrokeOff);
        assert_eq!((waits.id(), waits.reply_preference().as_str()), (Some("7"), "de"));
        assert!(reply.body.contains(r#""id":7"#) && reply.body != english.body, "{}", reply.body);
    }
}
