//! What becomes of one line between a client and a server that speak in lines, whichever way it goes.
//!
//! 1. What a client sends is read once, must have its envelope, and goes on as it came but for what the plan takes
//!    out and what the context fills in. What cannot be read in one way is answered here.
//! 2. The plan of a request is kept until its answer comes, or until the client cancels it: for that long, and for
//!    nothing else, its preference counts.
//! 3. What a legacy client declares when it begins holds for all its lines: one pipe is one session.
//! 4. What the results of tools are like is learned from the listings that pass by: whoever was shown none was promised
//!    nothing.
//! 5. Which tool a task is of is remembered, where the operator wrote something for its results: here ids stay as they are.
//! 6. What a server says goes back as it came; the answer to a request is adapted to that request's plan, and so are its
//!    progress, what is told on a subscription that it opened, and a question or a log message while it is the only one that
//!    waits. What is no message stays away from the client, whose reader would stumble over it.
//!
//! Rules: C1, C9, C10, F1, F13, F14, H13, H14, H18, L3, L13, L20.

use std::borrow::Cow;
use std::collections::{HashMap, VecDeque};
use std::fmt;

use jiff::Timestamp;
use mcp_attune::caller::Caller;
use mcp_attune::language::AcceptLanguage;
use mcp_attune::plan::{Adapted, Effort, Offer, Plan, Spoken, negotiate};
use mcp_attune::session::{Features, Task};
use mcp_attune::shape::{self, ListedTool, Schema};
use mcp_attune::task::{self, TaskTools};
use mcp_attune_wire::agree::{self, Era, Policy};
use mcp_attune_wire::json::{Text, Type, Value};
use mcp_attune_wire::message::{Kind, Message, meta};
use mcp_attune_wire::reply::Reply;

use crate::account::Account;
use crate::listing::{Interest, Listing, Page};
use crate::{told, words};

/// How many tasks are remembered.
const MAX_TASKS: usize = 1024;

/// About how many bytes of listings are kept.
const MAX_WEIGHT: usize = 64 << 20;

/// The rules between a client and a server that speak in lines.
#[derive(Debug)]
pub struct Relay {
    offer: Offer,
    policy: Policy,
    /// Whether what would be refused passes all the same.
    report_only: bool,
    /// How many requests may wait for their answer.
    most: usize,
    waiting: HashMap<Id, Waiting>,
    /// What the client declared when it began.
    features: Features,
    /// Whether bindings and templates were held against a listing.
    held: bool,
    /// The listing that the client was shown last, as far as shaping needs it.
    listing: Listing,
    /// Whether the server negotiates content itself.
    negotiates: bool,
    /// The tools of the tasks that were created last, by their ids.
    tasks: VecDeque<(String, String)>,
}

/// A line as the server gets it, and who sent it.
#[derive(Debug)]
pub struct Sent<'l> {
    /// The line, without its end.
    pub line: Cow<'l, [u8]>,
    /// Who sent it.
    pub caller: Caller,
    /// Where a server of this process says the languages of its answer.
    pub spoken: Option<Spoken>,
}

/// What becomes of a server's line.
#[derive(Debug)]
pub enum Back<'l> {
    /// It goes to the client.
    Send(Cow<'l, [u8]>),
    /// It is no message.
    Drop,
}

impl Relay {
    /// The rules for one pipe. `most` requests may wait for their answers.
    #[must_use]
    pub fn new(offer: Offer, policy: Policy, report_only: bool, most: usize) -> Self {
        let (waiting, features) = (HashMap::new(), Features::default());
        let (listing, negotiates, tasks) = (Listing::default(), false, VecDeque::new());
        Self { offer, policy, report_only, most, waiting, features, held: false, listing, negotiates, tasks }
    }

    /// A line of the client, as the server gets it, or what it is answered with instead.
    ///
    /// # Errors
    ///
    /// What cannot be read in one way, has no envelope, or is one request too many.
    pub fn onward<'l>(&mut self, line: &'l [u8]) -> Result<Sent<'l>, Reply> {
        self.decide(line).map_err(|reply| {
            let wish = Message::parse(line).map(|message| words::wish(&message)).unwrap_or_default();
            words::say(reply, &wish).0
        })
    }

    fn decide<'l>(&mut self, line: &'l [u8]) -> Result<Sent<'l>, Reply> {
        let message = match Message::parse(line) {
            Ok(message) => message,
            Err(unreadable) => return self.refused(line, Reply::from(&unreadable)),
        };
        let agreed = match agree::without_headers(message, &self.policy) {
            Ok(agreed) => agreed,
            Err(refusal) => return self.refused(line, Reply::from(&refusal)),
        };
        if agreed.message().method().is_some_and(|method| method.is("initialize")) {
            let content = self.offer.content.as_ref().map(|supply| supply.content());
            let refers = |tag: &str| content.as_ref().is_some_and(|content| content.refers_to(tag));
            self.features = Features::declared_for(agreed.message(), refers).features;
        }
        let caller = Caller::read(&agreed).in_session(self.features.clone()).with_past(self.offer.past);
        told::log(&caller);
        if let Some(library) = self.offer.library.as_ref().filter(|library| library.is_due()) {
            library.look();
        }
        let mut plan = negotiate(&caller, &self.offer);
        let message = agreed.message();
        if message.method().is_some_and(|method| method.is("tools/list")) {
            plan = plan.showing(&self.offer.bindings);
        }
        let filled = match self.offer.bindings.fill(message, &caller, Timestamp::now()) {
            Ok(filled) => filled,
            Err(unfillable) => {
                tracing::debug!(why = ?unfillable.why, "a call ends for what an argument says");
                let (id, modern) = (message.id().map(Value::raw), agreed.era() == Era::Modern);
                return Err(Reply::tool_failed(id, modern, &unfillable));
            }
        };
        if !filled.is_empty() {
            tracing::debug!(?filled, "the context fills arguments");
        }
        if let (Some(library), Some(chosen)) = (&self.offer.library, plan.wants()) {
            // There is one client, and nobody else waits while a disk is slow.
            let locales = library.load(chosen);
            let asked = Plan::asked(message, &self.offer);
            plan = plan.translating(asked, &caller, &self.offer, locales, Timestamp::now());
        }
        told::features(&caller);
        let mut creator = None;
        let content =
            self.offer.content.as_ref().filter(|_| message.kind() == Kind::Request && !self.negotiates);
        if let Some(supply) = content {
            if supply.is_due() {
                supply.look();
            }
            let content = supply.content();
            let asked = shape::Request::of(message, agreed.era() == Era::Modern, &content);
            creator = asked.names_its_tasks(&content, caller.features()).map(str::to_owned);
            let asked = asked.with_tasks(self.tools_of_tasks(message));
            if let Some(shape) = plan.shape(asked, content, &caller, &self.offer, Timestamp::now()) {
                let nothing = || ListedTool { output: Schema::None, view: None };
                let listed = shape.tool().map_or_else(nothing, |tool| self.listing.tool(tool));
                plan = plan.shaping(shape.with_tool(listed));
            }
        }
        let learns = if self.offer.content.is_some() { Learns::from(message) } else { Learns::Nothing };
        let spoken = plan.spoken().cloned();
        let line = match plan.forward_filled(message, &filled) {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(changed) => Cow::Owned(changed.into_bytes()),
        };
        if message.method().is_some_and(|method| method.is("notifications/cancelled")) {
            if let Some(id) = message.param("requestId").and_then(Id::read) {
                self.waiting.remove(&id);
            }
        } else if message.kind() == Kind::Request
            && (plan.changes()
                || self.offer.library.is_some()
                || learns != Learns::Nothing
                || creator.is_some())
        {
            if self.waiting.len() >= self.most {
                let id = message.id().map(Value::raw);
                return Err(Reply::failed(
                    503,
                    id,
                    &"too many calls are waiting for their answers, more than the limit `calls`; try again later",
                ));
            }
            if let Some((language, why)) = plan.chosen() {
                tracing::debug!(%language, %why, preference = %caller.origin(), "language chosen");
            }
            if let Some(id) = message.id().and_then(Id::read) {
                let token = message.param("_meta").and_then(|meta| meta.member("progressToken"));
                let (raw, token) = (message.id().map(Value::raw), token.and_then(Id::read));
                let listens = message.known_method() == Some("subscriptions/listen");
                let (written, wish) = (raw.unwrap_or_default().to_owned(), words::wish(message));
                self.waiting.insert(id, Waiting { id: written, plan, token, learns, creator, listens, wish });
            }
        }
        Ok(Sent { line, caller, spoken })
    }

    fn refused<'l>(&self, line: &'l [u8], reply: Reply) -> Result<Sent<'l>, Reply> {
        tracing::warn!(code = reply.code, rules = ?reply.rules, enforced = !self.report_only, "refused");
        if !self.report_only {
            return Err(reply);
        }
        Ok(Sent { line: Cow::Borrowed(line), caller: Caller::default(), spoken: None })
    }

    /// The tools of the tasks that a request names, as far as they are remembered.
    fn tools_of_tasks(&self, message: &Message<'_>) -> TaskTools {
        let mut tools = TaskTools::default();
        if self.tasks.is_empty() {
            return tools;
        }
        let ids = task::named_by_client(message).into_iter().filter_map(|id| id.text()?.decode());
        for id in ids {
            if let Some((_, tool)) = self.tasks.iter().find(|(known, _)| *known == id) {
                tools.add(&id, tool);
            }
        }
        tools
    }

    /// Remembers which tool a task is of.
    fn remember(&mut self, answer: &Message<'_>, tool: &str) {
        let id = task::created_by(answer).and_then(Value::text).and_then(Text::decode);
        if let Some(kept) = id.and_then(|id| Task::new(&id, tool)) {
            self.tasks.truncate(MAX_TASKS - 1);
            self.tasks.push_front((kept.upstream().to_owned(), kept.tool().to_owned()));
        }
    }

    /// Holds bindings and templates against the first listing that comes.
    fn hold(&mut self, answer: Message<'_>) {
        if std::mem::replace(&mut self.held, true) {
            return;
        }
        let whole = answer.member("result").is_some_and(|result| result.member("nextCursor").is_none());
        let (bindings, content) = (self.offer.bindings.clone(), self.offer.content.clone());
        Interest { bindings, content, ..Interest::default() }.check(&[answer], whole);
    }

    /// Keeps what an answer says that is needed later.
    fn learn(&mut self, learns: Learns, answer: &Message<'_>) {
        match learns {
            Learns::Tools { first } => {
                let interest = Interest { content: self.offer.content.clone(), ..Interest::default() };
                let Some(page) = Page::read(answer, &interest) else { return };
                if first || self.listing.weight() > MAX_WEIGHT {
                    self.listing = Listing::default();
                }
                self.listing.add(&page);
            }
            Learns::Server => self.negotiates = shape::negotiates(answer).unwrap_or(self.negotiates),
            Learns::Nothing => {}
        }
    }

    /// A line of the server.
    pub fn back<'l>(&mut self, line: &'l [u8]) -> Back<'l> {
        let Ok(message) = Message::parse(line) else { return Back::Drop };
        match message.kind() {
            Kind::Other => Back::Drop,
            Kind::Answer => {
                let waiting = message.id().and_then(Id::read).and_then(|id| self.waiting.remove(&id));
                let lists =
                    waiting.as_ref().is_some_and(|waiting| waiting.learns == Learns::Tools { first: true });
                if let Some(waiting) = &waiting {
                    self.learn(waiting.learns, &message);
                    if let Some(tool) = &waiting.creator {
                        self.remember(&message, tool);
                    }
                }
                let plan = waiting.map(|waiting| waiting.plan);
                let adapted = plan.as_ref().and_then(|plan| adapted(plan, &message));
                if plan.as_ref().is_some_and(Plan::shows) || lists {
                    self.hold(message);
                }
                Back::Send(adapted.map_or(Cow::Borrowed(line), |adapted| {
                    told::shaped(&adapted, &Account::default());
                    adapted.text
                }))
            }
            Kind::Request | Kind::Notification => {
                let plan = self.tied(&message).map(|waiting| &waiting.plan);
                let adapted = plan.and_then(|plan| adapted(plan, &message));
                Back::Send(adapted.map_or(Cow::Borrowed(line), |adapted| adapted.text))
            }
            Kind::Batch => Back::Send(Cow::Borrowed(line)),
        }
    }

    /// Forgets a request that was answered in another way; `id` as written.
    pub fn forget(&mut self, id: &str) {
        self.waiting.retain(|_, waiting| waiting.id != id);
    }

    /// The answers to all requests that wait, where the server gives none any more. Nothing waits after that.
    pub fn give_up(&mut self, what: &dyn fmt::Display) -> Vec<Reply> {
        let failed =
            |waiting: Waiting| words::say(Reply::failed(502, Some(&waiting.id), what), &waiting.wish).0;
        self.waiting.drain().map(|(_, waiting)| failed(waiting)).collect()
    }

    /// The request that a message of the server belongs to: the one that has its token or opened its subscription; for
    /// questions and log messages the only one there is.
    ///
    /// Rules: L13.
    fn tied(&self, message: &Message<'_>) -> Option<&Waiting> {
        if message.kind() == Kind::Notification && message.known_method() != Some("notifications/message") {
            if let Some(subscription) = message.meta(meta::SUBSCRIPTION_ID) {
                return self.waiting.get(&Id::read(subscription)?).filter(|waiting| waiting.listens);
            }
            let token = message.param("progressToken").and_then(Id::read)?;
            return self.waiting.values().find(|waiting| waiting.token.as_ref() == Some(&token));
        }
        let mut all = self.waiting.values().filter(|waiting| !waiting.listens);
        all.next().filter(|_| all.next().is_none())
    }
}

/// A message of the server as the client gets it. There is one client, and nobody else waits meanwhile.
fn adapted<'l>(plan: &Plan, message: &Message<'l>) -> Option<Adapted<'l>> {
    plan.adapt_read(message, Vec::new(), Effort::Full)
}

/// A request that waits for its answer.
#[derive(Debug)]
struct Waiting {
    /// Its id, as written.
    id: String,
    plan: Plan,
    /// What its progress is known by.
    token: Option<Id>,
    /// What its answer is of interest for.
    learns: Learns,
    /// The tool that it calls, where a task that it creates is remembered.
    creator: Option<String>,
    /// Whether it opens a subscription, which waits for no answer.
    listens: bool,
    /// The languages that its caller prefers, for answers of our own.
    wish: AcceptLanguage,
}

/// What an answer is of interest for.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Learns {
    Nothing,
    /// It is a page of tools.
    Tools {
        first: bool,
    },
    /// It is what the server says of itself.
    Server,
}

impl Learns {
    fn from(request: &Message<'_>) -> Self {
        match request.known_method() {
            Some("tools/list") => Self::Tools { first: request.param("cursor").is_none() },
            Some("initialize" | "server/discover") => Self::Server,
            _ => Self::Nothing,
        }
    }
}

/// An id by what it means: a server may write `7` where the client wrote `7.0`, and `"é"` for `"\u00e9"`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Id {
    Text(String),
    Integer(i128),
    /// A number that is not one of those, as written.
    Number(String),
}

impl Id {
    fn read(value: Value<'_>) -> Option<Self> {
        let raw = value.raw();
        match value.kind() {
            Type::String => Some(Self::Text(value.text()?.decode()?.into_owned())),
            Type::Number => {
                let whole = raw.split_once('.').filter(|(_, rest)| rest.bytes().all(|digit| digit == b'0'));
                let integer = whole.map_or(raw, |(integer, _)| integer).parse().ok();
                Some(integer.map_or_else(|| Self::Number(raw.to_owned()), Self::Integer))
            }
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use mcp_attune::bind::{Binding, Bindings, Fills, Part, Source, Written};
    use mcp_attune::context::{Field, Forward, Precision};
    use mcp_attune::language::Languages;

    fn relay() -> Relay {
        let offer = Offer { languages: Languages::new("en", []).ok(), ..Offer::default() };
        Relay::new(offer, Policy::default(), false, 3)
    }

    fn request(id: &str, preference: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list","params":{{"_meta":{{"io.modelcontextprotocol/acceptLanguage":"{preference}"}}}}}}"#
        )
    }

    #[track_caller]
    fn check_onward(relay: &mut Relay, line: &str, expected: &str) {
        let Ok(Sent { line: sent, .. }) = relay.onward(line.as_bytes()) else { panic!("refused: {line}") };
        assert_eq!(String::from_utf8_lossy(&sent), expected);
    }

    #[track_caller]
    fn check_back(relay: &mut Relay, line: &str, expected: Option<&str>) {
        let sent = match relay.back(line.as_bytes()) {
            Back::Send(sent) => Some(String::from_utf8(sent.into_owned()).unwrap()),
            Back::Drop => None,
        };
        assert_eq!(sent.as_deref(), expected);
    }

    const TOLD: &str = r#"{"_meta":{"io.modelcontextprotocol/contentLanguage":"en"}}"#;

    fn result(id: &str, result: &str) -> String {
        format!(r#"{{"jsonrpc":"2.0","id":{id},"result":{result}}}"#)
    }

    #[test]
    fn an_answer_says_its_language_and_the_next_one_does_not() {
        let mut relay = relay();
        for (id, answered) in [("1", "1"), ("\"1\"", "\"1\""), ("7.0", "7"), ("\"\\u00e9\"", "\"é\"")] {
            let line = request(id, "de");
            check_onward(&mut relay, &line, &line);
            check_back(&mut relay, &result(answered, "{}"), Some(&result(answered, TOLD)));
            // The preference is gone with the request that had it.
            let bare = format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"tools/list"}}"#);
            check_onward(&mut relay, &bare, &bare);
            check_back(&mut relay, &result(answered, "{}"), Some(&result(answered, "{}")));
        }
        assert!(relay.waiting.is_empty());
    }

    #[test]
    fn requests_in_flight_keep_apart() {
        let mut relay = relay();
        let bare = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        check_onward(&mut relay, &request("1", "de"), &request("1", "de"));
        check_onward(&mut relay, bare, bare);
        // The server asks the client something, under an id that the client uses too.
        let asked = r#"{"jsonrpc":"2.0","id":1,"method":"roots/list"}"#;
        check_back(&mut relay, asked, Some(asked));
        let roots = result("1", r#"{"roots":[]}"#);
        check_onward(&mut relay, &roots, &roots);
        check_back(&mut relay, &result("2", "{}"), Some(&result("2", "{}")));
        check_back(&mut relay, &result("1", "{}"), Some(&result("1", TOLD)));
    }

    #[test]
    fn what_is_cancelled_waits_no_more() {
        let mut relay = relay();
        for id in ["1", "2", "3"] {
            check_onward(&mut relay, &request(id, "de"), &request(id, "de"));
        }
        let Err(reply) = relay.onward(request("4", "de").as_bytes()) else { panic!("too many") };
        // Said in German, as asked.
        assert!(
            reply.body.contains(r#""id":4,"error":{"#) && reply.body.contains("die Grenze `calls`"),
            "{}",
            reply.body
        );
        let cancel = r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":2}}"#;
        check_onward(&mut relay, cancel, cancel);
        check_onward(&mut relay, &request("4", "de"), &request("4", "de"));
    }

    #[test]
    fn answers_what_cannot_be_read_in_one_way_and_what_has_no_envelope() {
        for (line, code) in [
            ("no JSON", -32700),
            (r#"{"jsonrpc":"2.0","id":1,"id":2,"method":"ping"}"#, -32700),
            (r#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#, -32602),
            (
                r#"{"jsonrpc":"2.0","id":1,"method":"ping","clientContext":{},"params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"de"}}}}"#,
                -32602,
            ),
        ] {
            let Err(reply) = relay().onward(line.as_bytes()) else { panic!("passed: {line}") };
            assert_eq!(reply.code, code, "{line}");
        }
        let mut relay = Relay { report_only: true, ..relay() };
        check_onward(&mut relay, "no JSON", "no JSON");
    }

    #[test]
    fn answers_a_name_in_another_case_and_lets_it_pass_where_it_only_reports() {
        for line in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping","Method":"tools/call"}"#,
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"sql","Name":"evil"}}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"RequestId":2}}"#,
        ] {
            let Err(reply) = relay().onward(line.as_bytes()) else { panic!("passed: {line}") };
            assert_eq!((reply.code, reply.rules), (-32700, vec!["H18"]), "{line}");
            let mut reporting = Relay { report_only: true, ..relay() };
            check_onward(&mut reporting, line, line);
        }
        // What a server says is for its client to read.
        let odd = r#"{"jsonrpc":"2.0","id":1,"result":{},"Result":{}}"#;
        check_back(&mut relay(), odd, Some(odd));
    }

    #[test]
    fn the_context_does_not_go_on() {
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let told = bare.replacen('{', r#"{"clientContext":{"locale":"de"},"#, 1);
        check_onward(&mut relay(), &told, bare);
    }

    #[test]
    fn the_context_goes_on_as_far_as_the_operator_lets_it() {
        let forward = Forward { fields: vec![Field::Locale], ..Forward::default() };
        let offer = Offer { forward, ..Offer::default() };
        let mut relay = Relay::new(offer, Policy::default(), false, 3);
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        let told = bare.replacen('{', r#"{"clientContext":{"locale":"de","timezone":"Europe/Zurich"},"#, 1);
        let onward = bare.replacen(
            '{',
            r#"{"params":{"_meta":{"io.modelcontextprotocol/clientContext":{"locale":"de"}}},"#,
            1,
        );
        check_onward(&mut relay, &told, &onward);
    }

    #[test]
    fn the_context_fills_arguments_and_listings_show_what_is_left() {
        let timezone = Fills::Context { from: Source::Timezone, default: None };
        let day = Fills::Interval { named: "when".to_owned(), part: Part::Start, written: Written::Date };
        let arguments = [
            ("tz".to_owned(), Binding { fills: timezone, hide: true }),
            ("day".to_owned(), Binding { fills: day, hide: false }),
        ];
        let bindings = Bindings::new([("t".to_owned(), arguments.into())].into(), Precision::default());
        let offer = Offer { bindings: bindings.into(), ..Offer::default() };
        let mut relay = Relay::new(offer, Policy::default(), false, 3);
        let call = |arguments: &str| {
            format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"t","arguments":{arguments}}}}}"#
            )
        };
        let told = call(r#"{"a":1}"#).replacen('{', r#"{"clientContext":{"timezone":"Europe/Zurich"},"#, 1);
        check_onward(&mut relay, &told, &call(r#"{"tz":"Europe/Zurich","a":1}"#));
        check_onward(
            &mut relay,
            &call(r#"{"when":"2026-11-12"}"#),
            &call(r#"{"day":"2026-11-12","tz":"UTC"}"#),
        );
        let soon = call(r#"{"when":"soon"}"#);
        let Err(reply) = relay.onward(soon.as_bytes()) else { panic!("passed") };
        assert!(
            reply.body.contains(r#""isError":true"#) && reply.body.contains(r#""id":1"#),
            "{}",
            reply.body
        );
        assert!(relay.waiting.is_empty());

        let tools =
            |schema: &str| result("2", &format!(r#"{{"tools":[{{"name":"t","inputSchema":{schema}}}]}}"#));
        let listed = tools(r#"{"properties":{"tz":{},"a":{}},"required":["tz"]}"#);
        // Nobody asked for it.
        check_back(&mut relay, &listed, Some(&listed));
        let list = r#"{"jsonrpc":"2.0","id":2,"method":"tools/list"}"#;
        check_onward(&mut relay, list, list);
        let Back::Send(shown) = relay.back(listed.as_bytes()) else { panic!("dropped") };
        let shown = String::from_utf8_lossy(&shown);
        assert!(
            shown.contains("\"when\":{") && !shown.contains("tz") && !shown.contains("required"),
            "{shown}"
        );
    }

    /// The rules for what an operator wrote for `t`, with German files.
    fn attuned() -> Relay {
        use mcp_attune::shape::template::{Template, Templates};
        use mcp_attune::shape::{Content, Tool};
        let german = r#"{"messages":{"a":{"source":"Working","text":"In Arbeit"}}}"#;
        let templates = Templates::new([Template::compile("md", "{{ city }} is cold").unwrap()]);
        let tool = Tool { templates: templates.into(), ..Tool::default() };
        let content = Content { tools: [("t".to_owned(), tool)].into(), ..Content::default() };
        let english = mcp_attune::language::Tag::parse("en").unwrap();
        let files =
            mcp_attune::catalog::Carried::new(english, Box::leak(Box::new([("de", german)]))).unwrap();
        let translate = mcp_attune::localize::Translate { logs: true, ..Default::default() };
        let (content, library) = (Arc::new(Arc::new(content)), Arc::new(files));
        let offer = Offer { content: Some(content), library: Some(library), translate, ..Offer::default() };
        Relay::new(offer, Policy::default(), false, 9)
    }

    /// A request of a person whose host draws views, and who prefers German.
    fn human(id: u32, method: &str, params: &str) -> String {
        format!(
            r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}","params":{{{params},"_meta":{{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/acceptLanguage":"de","io.modelcontextprotocol/clientCapabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":["human"]}},"io.modelcontextprotocol/ui":{{}}}}}}}}}}}}"#
        )
    }

    fn back(relay: &mut Relay, line: &str) -> String {
        match relay.back(line.as_bytes()) {
            Back::Send(sent) => String::from_utf8(sent.into_owned()).unwrap(),
            Back::Drop => panic!("dropped: {line}"),
        }
    }

    const DONE: &str = r#"{"taskId":"7","statusMessage":"Working","result":{"content":[],"structuredContent":{"city":"Bern"}}}"#;

    #[test]
    fn a_task_is_remembered_with_its_tool() {
        let mut relay = attuned();
        relay.onward(human(1, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        let created =
            back(&mut relay, &result("1", r#"{"resultType":"task","taskId":"7","statusMessage":"Working"}"#));
        assert!(created.contains(r#""taskId":"7""#) && created.contains("In Arbeit"), "{created}");
        relay.onward(human(2, "tasks/get", r#""taskId":"7""#).as_bytes()).unwrap();
        let got = back(&mut relay, &result("2", DONE));
        assert!(got.contains("Bern is cold") && got.contains("In Arbeit"), "{got}");
        // What a view is drawn from stays: nobody says that the tool has none.
        assert!(got.contains("structuredContent"), "{got}");
        relay.onward(human(3, "tasks/get", r#""taskId":"8""#).as_bytes()).unwrap();
        let got = back(&mut relay, &result("3", &DONE.replace('7', "8")));
        assert!(got.contains("**City:** Bern"), "{got}");
    }

    #[test]
    fn no_more_tasks_are_remembered_than_there_is_room_for() {
        let mut relay = attuned();
        for number in 0..MAX_TASKS + 5 {
            relay.onward(human(1, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
            back(&mut relay, &result("1", &format!(r#"{{"resultType":"task","taskId":"{number}"}}"#)));
        }
        assert_eq!(relay.tasks.len(), MAX_TASKS);
        assert_eq!(relay.tasks.front().unwrap().0, (MAX_TASKS + 4).to_string());
    }

    #[test]
    fn what_is_told_on_a_subscription_follows_the_request_that_opened_it() {
        let mut relay = attuned();
        relay
            .onward(human(4, "subscriptions/listen", r#""notifications":{"taskIds":["7"]}"#).as_bytes())
            .unwrap();
        let told = |subscription: &str| {
            let params = DONE.replacen(
                '{',
                &format!(r#"{{"_meta":{{"io.modelcontextprotocol/subscriptionId":{subscription}}},"#),
                1,
            );
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks","params":{params}}}"#)
        };
        let adapted = back(&mut relay, &told("4"));
        assert!(adapted.contains("**City:** Bern") && adapted.contains("In Arbeit"), "{adapted}");
        // Of another subscription, or of none, nobody knows the language.
        for other in [
            told("5"),
            told("\"4\""),
            format!(r#"{{"jsonrpc":"2.0","method":"notifications/tasks/status","params":{DONE}}}"#),
        ] {
            assert_eq!(back(&mut relay, &other), other);
        }
    }

    #[test]
    fn a_log_message_follows_the_only_request_that_waits() {
        let log = r#"{"jsonrpc":"2.0","method":"notifications/message","params":{"level":"info","data":"Working"}}"#;
        let mut relay = attuned();
        assert_eq!(back(&mut relay, log), log);
        relay
            .onward(human(4, "subscriptions/listen", r#""notifications":{"taskIds":["7"]}"#).as_bytes())
            .unwrap();
        assert_eq!(back(&mut relay, log), log);
        relay.onward(human(1, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        assert!(back(&mut relay, log).contains("In Arbeit"));
        relay.onward(human(2, "tools/call", r#""name":"t""#).as_bytes()).unwrap();
        assert_eq!(back(&mut relay, log), log);
    }

    #[test]
    fn a_locale_alone_is_a_preference() {
        let mut relay = relay();
        let bare = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
        check_onward(&mut relay, &bare.replacen('{', r#"{"clientContext":{"locale":"de"},"#, 1), bare);
        check_back(&mut relay, &result("1", "{}"), Some(&result("1", TOLD)));
    }

    #[test]
    fn whoever_waits_when_the_server_ends_is_told_in_their_language() {
        let mut relay = relay();
        for (id, preference) in [("7", "de"), ("\"a\"", "en")] {
            relay.onward(request(id, preference).as_bytes()).unwrap();
        }
        let mut told: Vec<String> =
            relay.give_up(&"the server behind broke off").into_iter().map(|reply| reply.body).collect();
        told.sort();
        assert_eq!(told.len(), 2);
        assert!(
            told[0].contains(r#""id":"a""#) && told[0].contains("the server behind broke off"),
            "{told:?}"
        );
        assert!(told[1].contains(r#""id":7"#) && told[1].contains("Der Zielserver"), "{told:?}");
        assert!(relay.give_up(&"again").is_empty());
    }

    #[test]
    fn what_is_no_message_stays_away_from_the_client() {
        for noise in ["Server started on stdio", "{\"level\":\"info\"}", "\u{1b}[2K", "\"text\"", "{"] {
            check_back(&mut relay(), noise, None);
        }
        for odd in ["[]", r#"{"jsonrpc":"2.0","method":"vendor/odd","z":1e400}"#] {
            check_back(&mut relay(), odd, Some(odd));
        }
    }
}
