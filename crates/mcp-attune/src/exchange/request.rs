//! The way in: what is decided about a request before it goes on.
//!
//! Rules: C1, C7, C9, C10, F1, G8, H1–H11, H13, H14, H16, H17, L2, L3, L7, L13, L14.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{self, Agree, Agreed, Era, Open, Policy, Refusal};
use mcp_attune_wire::header::Headers;
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Kind, Message, meta};
use mcp_attune_wire::protocol::header::lowercase::ACCEPT_LANGUAGE;
use mcp_attune_wire::protocol::method::{INITIALIZE, TOOLS_CALL, TOOLS_LIST};
use mcp_attune_wire::reply::Reply;

use super::answering::{Answering, Learns};
use super::forward;
use super::headers::{HeaderChange, HeaderLines};
use super::listing::{Envelope, Listing, Tool};
use super::memory::TaskMemory;
use super::notice::Notice;
use super::seal::Seal;
use super::tasks::TaskIds;
use super::visit::Visit;
use crate::bind::Filled;
use crate::caller::{Caller, Origin};
use crate::catalog::Locale;
use crate::features::Format;
use crate::language::{AcceptLanguage, Tag, Why, preference};
use crate::localize::Asked;
use crate::plan::{Offer, Plan, negotiate};
use crate::session::Features;
use crate::shape::{self, Content, Schema, Shape};

/// What holds for all requests to one server, as a host has it when a request comes.
#[derive(Clone, Debug)]
pub struct Rules<'r> {
    /// How headers are checked.
    pub policy: &'r Policy,
    /// Let every request pass, and only say what would have been refused. Rules: H17.
    pub report_only: bool,
    /// Refuse a call whose tool's schema cannot be had, instead of letting it pass unchecked. Rules: H10.
    pub refuse_unknown: bool,
    /// What the server can do for its callers.
    pub offer: &'r Offer,
    /// How answers are shaped; `None` where they are not, or where the server negotiates content itself. Rules: F14.
    pub content: Option<Arc<Content>>,
    /// What seals the ids of legacy sessions, of events and of tasks. Rules: G8.
    pub seal: Option<&'r Seal>,
    /// The tools of tasks, for a host that remembers them because its ids stay as they are.
    pub tasks: Option<&'r TaskMemory>,
}

/// What only a host can get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need<'n> {
    /// What is known of this tool, from a listing in the caller's name: [`Exchange::tool`].
    Tool(Cow<'n, str>, Recency),
    /// The locale files for this language: [`Exchange::locales`].
    Locales(&'n Tag),
}

/// How recent a listing has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Recency {
    /// Whatever is at hand: the server is not asked.
    AtHand,
    /// As listings usually are.
    Usual,
    /// Recent enough for a refusal to rest on it.
    Recent,
}

/// What a host knows of a caller's tools.
#[derive(Clone, Debug)]
pub enum Known {
    /// What a listing says.
    Listed(Arc<Listing>),
    /// The server does not list its tools, or not in a way that ends.
    Never,
    /// The listing failed, or takes too long: it may be there in a moment.
    NotNow {
        /// Whether the tool was ever listed with headers, by anybody.
        declared_before: bool,
    },
}

/// What the server gets.
#[derive(Debug)]
pub struct Outgoing<'a> {
    /// What changes in the headers.
    pub headers: Vec<HeaderChange>,
    /// The message; borrowed where it is the bytes that came.
    pub body: Cow<'a, [u8]>,
    /// The message as it was read and its era, where it is the bytes that came: for a server that would have to read it
    /// again.
    pub message: Option<(Message<'a>, Era)>,
}

/// What is told of a request to whoever counts or logs. Nothing in it is the caller's own words.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// The method, where the message could be read and the method is one of MCP's.
    pub method: Option<&'static str>,
    /// The language that was chosen, and why.
    pub language: Option<(Tag, Why)>,
    /// The server's own language.
    pub default_language: Option<Tag>,
    /// The format that the caller's tags ask for, where answers are shaped.
    pub format: Option<Format>,
    /// Whether a fault kept the headers of arguments from being checked.
    pub unchecked: bool,
    /// What would have been refused, in report mode.
    pub reported: Option<Reply>,
    /// What else a host may want to log.
    pub notices: Vec<Notice>,
}

/// A request on its way in.
#[derive(Debug)]
pub struct Exchange<'a, H> {
    rules: Rules<'a>,
    headers: Option<H>,
    body: &'a [u8],
    now: Timestamp,
    /// The features of the session that a pipe is.
    session: Features,
    facts: Facts,
    /// The tool that is called, as its caller names it.
    called: Option<Cow<'a, str>>,
    /// What the caller prefers, for answers of our own.
    wish: AcceptLanguage,
    /// Whether it is refused for what it breaks.
    breach: bool,
    state: State<'a>,
}

/// A request that the server does not see, and what its caller gets instead.
#[derive(Debug)]
pub struct Rejection {
    /// The answer, in English.
    pub reply: Reply,
    /// What the caller prefers to read it in.
    pub preference: AcceptLanguage,
    /// Whether the request breaks a rule, and would have passed in report mode.
    pub breach: bool,
    /// What is told of it.
    pub facts: Facts,
    /// The tool that it calls, as its caller names it.
    pub called: Option<String>,
}

#[derive(Debug)]
enum State<'a> {
    /// The check waits for the schema of the called tool. With a refusal it waits for a recent one.
    Checking(Box<(Open<'a, 'a>, Option<Refusal>)>),
    Decided(Box<Decided<'a>>),
    /// It passes as it came, because it is only reported; or nothing is decided yet.
    Passing(Era),
}

/// What is decided of a request that agrees with its headers.
#[derive(Debug)]
struct Decided<'a> {
    agreed: Agreed<'a>,
    caller: Caller,
    visit: Visit,
    changes: Vec<HeaderChange>,
    plan: Plan,
    /// Where texts are translated: what was asked, until the locale files are there.
    translates: Option<Asked>,
    filled: Filled,
    /// Whether arguments of the called tool are bound.
    bound: bool,
    tasks: Option<TaskIds>,
    /// The tool that a task is of that the request creates, where that is to be known later.
    creator: Option<String>,
    /// How the answer is shaped, until it is known what the results of its tool are like.
    shape: Option<Shape>,
    /// What the headers of the call were checked against.
    declared: Option<Tool>,
    /// What is known of the caller's tools.
    listing: Option<Arc<Listing>>,
    /// Whether the host was asked for it and has none.
    unlisted: bool,
}

impl<'a, H: HeaderLines<'a>> Exchange<'a, H> {
    /// Reads a request. `headers` are the lines that came with it; over a pipe there are none, and `session` is what its
    /// client declared when it began.
    ///
    /// # Errors
    ///
    /// The answer, where the request is refused.
    pub fn begin(
        rules: Rules<'a>,
        headers: Option<H>,
        body: &'a [u8],
        session: Features,
        now: Timestamp,
    ) -> Result<Self, Box<Rejection>> {
        let (facts, state) = (Facts::default(), State::Passing(Era::Legacy));
        let (called, wish, breach) = (None, AcceptLanguage::default(), false);
        let mut exchange = Self { rules, headers, body, now, session, facts, called, wish, breach, state };
        match exchange.read() {
            Ok(()) => Ok(exchange),
            Err(reply) => Err(exchange.rejection(reply)),
        }
    }

    fn rejection(&mut self, reply: Reply) -> Box<Rejection> {
        let (preference, facts) = (std::mem::take(&mut self.wish), std::mem::take(&mut self.facts));
        let called = self.called.take().map(Cow::into_owned);
        Box::new(Rejection { reply, preference, breach: self.breach, facts, called })
    }

    fn read(&mut self) -> Result<(), Reply> {
        let message = match Message::parse(self.body) {
            Ok(message) => message,
            Err(unreadable) => {
                // Where it cannot be read is in no header; the log says it all the same. No byte of the body is in it.
                let refused = Reply { faults: unreadable.to_string(), ..Reply::from(&unreadable) };
                return self.report_or(refused, Era::Legacy);
            }
        };
        // The message counts, whatever the header says.
        self.wish = stated_preference(&message);
        self.facts.method = message.known_method();
        if self.facts.method == Some(TOOLS_CALL) {
            self.called = message.param("name").and_then(Value::text).and_then(Text::decode);
        }
        let Some(lines) = self.headers else {
            return match agree::without_headers(message, self.rules.policy) {
                Ok(agreed) => self.decide(agreed, None),
                Err(refusal) => self.report_or(Reply::from(&refusal), Era::Legacy),
            };
        };
        let headers = Headers::new(lines.all());
        let era = agree::era(&headers, &message);
        match agree::begin(&headers, message, self.rules.policy) {
            Ok(Agree::Done(agreed)) => self.decide(agreed, None),
            Ok(Agree::NeedsSchema(open)) => {
                self.state = State::Checking(Box::new((open, None)));
                Ok(())
            }
            Err(refusal) => self.report_or(Reply::from(&refusal), era),
        }
    }

    /// What the host is asked for next.
    #[must_use]
    pub fn need(&self) -> Option<Need<'_>> {
        match &self.state {
            State::Checking(checking) => {
                let (open, refusal) = &**checking;
                let recency = match refusal {
                    Some(_) => Recency::Recent,
                    // Refused whatever the schema says: what is known completes the list of faults, and nobody is asked.
                    None if open.is_refused() => Recency::AtHand,
                    None => Recency::Usual,
                };
                Some(Need::Tool(open.tool(), recency))
            }
            State::Decided(decided) => decided.need(),
            State::Passing(_) => None,
        }
    }

    /// What is known of the tool that was asked for.
    ///
    /// # Errors
    ///
    /// The reply, where the headers of the call do not agree with its schema, or that cannot be found out.
    pub fn tool(&mut self, known: Known) -> Result<(), Box<Rejection>> {
        let state = std::mem::replace(&mut self.state, State::Passing(Era::Modern));
        let done = match state {
            State::Checking(checking) => self.check(*checking, known),
            State::Decided(mut decided) => {
                match known {
                    Known::Listed(listing) => decided.listing = Some(listing),
                    Known::Never | Known::NotNow { .. } => decided.unlisted = true,
                }
                self.state = State::Decided(decided);
                Ok(())
            }
            State::Passing(era) => {
                self.state = State::Passing(era);
                Ok(())
            }
        };
        done.map_err(|reply| self.rejection(reply))
    }

    /// Finishes a check that depends on the called tool's schema. A refusal rests on a recent listing only.
    fn check(&mut self, (open, refusal): (Open<'a, 'a>, Option<Refusal>), known: Known) -> Result<(), Reply> {
        let listing = match (known, refusal) {
            (Known::Listed(listing), refusal) => {
                let declared = listing.declared(&open.tool());
                let last = refusal.is_some() || open.is_refused();
                return self.finish(open, Some((listing, declared)), last);
            }
            (_, Some(refusal)) => return self.report_or(Reply::from(&refusal), Era::Modern),
            (_, None) if open.is_refused() => None::<Arc<Listing>>,
            // Its caller may have made the listing slow, so that what is wrong with it is not found.
            (Known::NotNow { declared_before }, None) if open.has_params() || declared_before => {
                return self.report_or(not_now(&open), Era::Modern);
            }
            (Known::Never | Known::NotNow { .. }, None) if self.rules.refuse_unknown => {
                return self.report_or(not_now(&open), Era::Modern);
            }
            (Known::Never | Known::NotNow { .. }, None) => {
                self.facts.unchecked = true;
                None
            }
        };
        debug_assert!(listing.is_none());
        self.finish(open, None, true)
    }

    /// `last`: a refusal stands; else a recent listing is asked for first.
    fn finish(
        &mut self,
        open: Open<'a, 'a>,
        listed: Option<(Arc<Listing>, Option<Tool>)>,
        last: bool,
    ) -> Result<(), Reply> {
        let declared = listed.as_ref().and_then(|(_, tool)| tool.as_ref()).map(|tool| &**tool.shown());
        match open.try_with(declared) {
            Ok(agreed) => self.decide(agreed, listed),
            Err(refused) if last => self.report_or(Reply::from(&refused.0), Era::Modern),
            Err(refused) => {
                let (refusal, open) = *refused;
                self.state = State::Checking(Box::new((open, Some(refusal))));
                Ok(())
            }
        }
    }

    /// Decides about a message that agrees with its headers.
    fn decide(
        &mut self,
        agreed: Agreed<'a>,
        listed: Option<(Arc<Listing>, Option<Tool>)>,
    ) -> Result<(), Reply> {
        let (message, era, rules) = (agreed.message(), agreed.era(), &self.rules);
        let offer = rules.offer;
        let is_request = message.kind() == Kind::Request;
        let content = rules.content.clone().filter(|_| is_request);
        let begins = (era == Era::Legacy)
            .then(|| begins(message, rules.content.as_deref(), &mut self.facts.notices))
            .flatten();
        let mut changes = Vec::new();
        let visit = match self.headers {
            Some(headers) => {
                let seal = rules.seal.filter(|_| era == Era::Legacy);
                Visit::enter(seal, headers, begins.clone(), &mut changes)
                    .map_err(|_| Reply::unknown_session(message.id().map(Value::raw)))?
            }
            None => Visit::default(),
        };
        let session = match (self.headers, begins) {
            (Some(_), _) => visit.features(),
            (None, Some(begins)) => begins,
            (None, None) => self.session.clone(),
        };
        self.session = session.clone();
        let caller = Caller::read(&agreed).with_past(offer.past).in_session(session);
        let mut plan = negotiate(&caller, offer);
        if self.facts.method == Some(TOOLS_LIST) {
            plan = plan.showing(&offer.bindings);
        }
        let translates = plan.wants().filter(|_| is_request).map(|_| Plan::asked(message, offer));
        let bound = offer.bindings.concern(message);
        let filled = if bound { self.fill(&agreed, &caller)? } else { Filled::default() };
        let mut tasks = TaskIds::enter(rules.seal, message);
        let (mut shape, mut creator) = (None, None);
        if let Some(content) = content {
            let request = shape::Request::of(message, era == Era::Modern, &content);
            let mut tools = tasks.as_ref().map(TaskIds::tools).unwrap_or_default();
            if let Some(memory) = rules.tasks {
                memory.tools(message, &mut tools);
            }
            let request = request.with_tasks(tools);
            creator = request.names_its_tasks(&content, caller.features()).map(str::to_owned);
            if let (Some(seal), Some(tool)) = (rules.seal, &creator) {
                tasks = Some(TaskIds::creating(tasks, seal, tool));
            }
            shape = plan.shape(request, content, &caller, offer, self.now);
            self.facts.format = shape.as_ref().and_then(|shape| shape.wanted().format());
        }
        self.facts.language = plan.chosen().map(|(language, why)| (language.clone(), why));
        self.facts.default_language = plan.default_language().cloned();
        let ((listing, declared), unlisted) = (listed.unzip(), false);
        let declared = declared.flatten();
        self.state = State::Decided(Box::new(Decided {
            agreed,
            caller,
            visit,
            changes,
            plan,
            translates,
            filled,
            bound,
            tasks,
            creator,
            shape,
            declared,
            listing,
            unlisted,
        }));
        Ok(())
    }

    /// Fills the arguments that are bound, or says what to answer instead.
    fn fill(&self, agreed: &Agreed<'_>, caller: &Caller) -> Result<Filled, Reply> {
        let message = agreed.message();
        self.rules.offer.bindings.fill(message, caller, self.now).map_err(|unfillable| {
            Reply::tool_failed(message.id().map(Value::raw), agreed.era() == Era::Modern, &unfillable)
        })
    }

    /// The locale files of the language that was asked for.
    pub fn locales(&mut self, locales: Vec<Arc<Locale>>) {
        if let State::Decided(decided) = &mut self.state
            && let Some(asked) = decided.translates.take()
        {
            let plan = decided.plan.clone();
            decided.plan = plan.translating(asked, &decided.caller, self.rules.offer, locales, self.now);
        }
    }

    /// Refuses, or lets pass and tells it.
    fn report_or(&mut self, refused: Reply, era: Era) -> Result<(), Reply> {
        if !self.rules.report_only {
            self.breach = true;
            return Err(refused);
        }
        self.facts.reported = Some(refused);
        self.state = State::Passing(era);
        Ok(())
    }

    /// A `tools/list` in the caller's name, for a host that has to ask for their tools.
    #[must_use]
    pub fn envelope(&self) -> Envelope {
        match &self.state {
            State::Checking(checking) => Envelope::of(checking.0.message()),
            State::Decided(decided) => Envelope::of(decided.agreed.message()),
            State::Passing(_) => Envelope::default(),
        }
    }

    /// The message, where it could be read.
    pub(super) fn message(&self) -> Option<&Message<'a>> {
        match &self.state {
            State::Checking(checking) => Some(checking.0.message()),
            State::Decided(decided) => Some(decided.agreed.message()),
            State::Passing(_) => None,
        }
    }

    /// What is told of the request.
    #[must_use]
    pub fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The tool that is called, as its caller names it.
    #[must_use]
    pub fn called(&self) -> Option<&str> {
        self.called.as_deref()
    }

    /// Who asks, once that is decided.
    #[must_use]
    pub fn caller(&self) -> Option<&Caller> {
        match &self.state {
            State::Decided(decided) => Some(&decided.caller),
            _ => None,
        }
    }

    /// The names of what the context fills, for the log.
    #[must_use]
    pub fn filled(&self) -> Option<&Filled> {
        match &self.state {
            State::Decided(decided) => Some(&decided.filled).filter(|filled| !filled.is_empty()),
            _ => None,
        }
    }

    /// What holds for the session of a pipe after this request.
    #[must_use]
    pub fn session(&self) -> &Features {
        &self.session
    }

    /// What the server gets, who asks, and what becomes of its answer. Whatever is [needed](Self::need) and was not given
    /// is done without.
    ///
    /// # Errors
    ///
    /// An id of a session that does not open.
    pub fn forward(self) -> Result<(Outgoing<'a>, Caller, Answering), Box<Rejection>> {
        match self.state {
            State::Decided(decided) => Ok(decided.forward(self.headers, self.body, &self.rules, self.wish)),
            State::Checking(_) => Ok(passing(self.body, &self.rules, Visit::default(), Vec::new())),
            State::Passing(era) => {
                let mut changes = Vec::new();
                let seal = self.rules.seal.filter(|_| era == Era::Legacy);
                let visit = match self.headers {
                    Some(headers) => {
                        Visit::enter(seal, headers, None, &mut changes).map_err(|_| Rejection {
                            reply: Reply::unknown_session(None),
                            preference: self.wish,
                            breach: false,
                            facts: self.facts,
                            called: None,
                        })?
                    }
                    None => Visit::default(),
                };
                Ok(passing(self.body, &self.rules, visit, changes))
            }
        }
    }
}

/// A request that passes as it came.
fn passing<'a>(
    body: &'a [u8],
    rules: &Rules<'_>,
    visit: Visit,
    headers: Vec<HeaderChange>,
) -> (Outgoing<'a>, Caller, Answering) {
    let caller = Caller::default();
    let plan = negotiate(&caller, rules.offer);
    let outgoing = Outgoing { headers, body: Cow::Borrowed(body), message: None };
    (outgoing, caller, Answering { visit, ..Answering::new(plan, rules.offer) })
}

impl<'a> Decided<'a> {
    fn need(&self) -> Option<Need<'_>> {
        if self.translates.is_some() {
            return self.plan.wants().map(Need::Locales);
        }
        if self.listing.is_some() || self.unlisted {
            return None;
        }
        let name = || self.agreed.message().param("name")?.text()?.decode();
        if self.bound && self.agreed.era() == Era::Modern {
            // A call that has no arguments yet was not checked against a schema; now it may have some.
            return name().map(|name| Need::Tool(name, Recency::Usual));
        }
        let tool = self.shape.as_ref().and_then(Shape::tool)?;
        Some(Need::Tool(Cow::Borrowed(tool), Recency::Usual))
    }

    fn forward<H: HeaderLines<'a>>(
        self,
        headers: Option<H>,
        body: &'a [u8],
        rules: &Rules<'_>,
        wish: AcceptLanguage,
    ) -> (Outgoing<'a>, Caller, Answering) {
        let Self { agreed, caller, visit, mut changes, mut plan, filled, bound, tasks, shape, .. } = self;
        let (declared, listing, creator) = (self.declared, self.listing, self.creator);
        let message = agreed.message();
        if let Some(shape) = shape {
            plan = plan.shaping(with_tool(shape, listing.as_deref()));
        }
        let ids = tasks.as_ref().map(|tasks| tasks.onward(message)).unwrap_or_default();
        let onward = plan.forward_with(message, &filled, &ids);
        let changed = matches!(onward, Cow::Owned(_));
        if let Some(headers) = headers {
            let newly = || listing.as_deref()?.declared(&called(message)?);
            let declared = declared.or_else(|| newly().filter(|_| bound && agreed.era() == Era::Modern));
            let own = declared.as_ref().map(|tool| &*tool.own);
            // What was filled or opened stands in headers too, so what goes on is read once more, as whoever gets it will.
            let rewritten = changed && ((bound && own.is_some()) || !ids.is_empty());
            let again = rewritten.then(|| Message::parse(onward.as_bytes()).ok()).flatten();
            let sent = again.as_ref().unwrap_or(message);
            let anew = bound || tasks.as_ref().is_some_and(TaskIds::opens);
            forward::mirrored(&agreed, sent, own, headers, anew, &mut changes);
        }
        let stated = caller.preference().filter(|_| plan.changes()).map(AcceptLanguage::as_str);
        let in_header = headers.is_some_and(|headers| headers.named(ACCEPT_LANGUAGE).next().is_some());
        let answering = Answering {
            is_request: message.kind() == Kind::Request,
            id: message.id().filter(|_| message.kind() == Kind::Request).map(|id| id.raw().to_owned()),
            events: visit.events(stated),
            visit,
            tasks: tasks.map(Arc::new),
            creator,
            preferred: caller.preference().is_some(),
            // A preference that is the locale of the context stands in no header that a cache sees.
            in_header: in_header && caller.origin() == Origin::Stated,
            bound: !filled.is_empty(),
            learns: Learns::of(message, rules.offer.content.is_some()),
            wish,
            ..Answering::new(plan, rules.offer)
        };
        if answering.reads() && headers.is_some() {
            changes.push(forward::identity());
        }
        if changed && headers.is_some() {
            changes.push(HeaderChange::ForgetOldBytes);
        }
        let body = match onward {
            Cow::Borrowed(_) => Cow::Borrowed(body),
            Cow::Owned(changed) => Cow::Owned(changed.into_bytes()),
        };
        let era = agreed.era();
        let message = (!changed).then(|| (agreed.into_message(), era));
        (Outgoing { headers: changes, body, message }, caller, answering)
    }
}

/// A shape with what a listing says of its tool. Where no tool is called, there is no schema to keep.
fn with_tool(shape: Shape, listing: Option<&Listing>) -> Shape {
    match (shape.tool(), listing) {
        (None, _) => shape.with_schema(Schema::None),
        (Some(tool), Some(listing)) => {
            let listed = listing.tool(tool);
            shape.with_tool(listed)
        }
        (Some(_), None) => shape,
    }
}

/// The tool that a message calls.
fn called<'a>(message: &Message<'a>) -> Option<Cow<'a, str>> {
    message.param("name")?.text()?.decode()
}

/// What a message says that its caller prefers; nothing where it says nothing that can be read.
fn stated_preference(message: &Message<'_>) -> AcceptLanguage {
    let stated = message.meta(meta::ACCEPT_LANGUAGE).and_then(Value::text).and_then(Text::decode);
    preference(stated.as_deref()).0
}

/// What a message declares, where it is the one that begins a session.
fn begins(message: &Message<'_>, content: Option<&Content>, notices: &mut Vec<Notice>) -> Option<Features> {
    if message.kind() != Kind::Request || message.known_method() != Some(INITIALIZE) {
        return None;
    }
    let refers = |tag: &str| content.is_some_and(|content| content.refers_to(tag));
    let declared = Features::declared_for(message, refers);
    if declared.left_out > 0 {
        notices.push(Notice::FeaturesLeftOut(declared.left_out));
    }
    Some(declared.features)
}

#[cold]
fn not_now(open: &Open<'_, '_>) -> Reply {
    let id = open.message().id().map(Value::raw);
    let what =
        "the tools could not be listed, so the headers of this call cannot be checked; try again later";
    Reply { rules: vec!["H10"], ..Reply::failed(503, id, &what) }
}
