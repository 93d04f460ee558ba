//! What is decided of a request that agrees with its headers, until it goes on.
//!
//! Rules: C7, C9, C10, F1, G8, H16, L3, L7, L13.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{Agreed, Era};
use mcp_attune_wire::json::{Span, Value};
use mcp_attune_wire::message::{Kind, Message};
use mcp_attune_wire::protocol::header::lowercase::ACCEPT_LANGUAGE;
use mcp_attune_wire::protocol::method::{INITIALIZE, TOOLS_LIST};
use mcp_attune_wire::reply::Reply;

use super::answering::{Answering, Learns};
use super::facts::{Facts, Need, Outgoing, Recency, Rules};
use super::forward;
use super::headers::{HeaderChange, HeaderLines};
use super::listing::{Listing, Tool};
use super::memo::is_listing;
use super::notice::Notice;
use super::tasks::TaskIds;
use super::visit::Visit;
use crate::bind::Filled;
use crate::caller::{Caller, Origin};
use crate::catalog::Locale;
use crate::language::AcceptLanguage;
use crate::localize::Asked;
use crate::plan::{Offer, Plan, negotiate};
use crate::session::Features;
use crate::shaping::{self, AnswerShape, ListedSchema, ListedTool, Shaper};

/// A request as it came, with what holds for it.
pub(super) struct Arrived<'r, 'a, H> {
    pub(super) rules: &'r Rules<'a>,
    /// Over a pipe there are none.
    pub(super) headers: Option<H>,
    pub(super) now: Timestamp,
}

/// What is decided.
#[derive(Debug)]
pub(super) struct Decided<'a> {
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
    work: Work,
    /// What the headers of the call were checked against.
    declared: Option<Tool>,
    /// What is known of the caller's tools.
    listing: Option<Arc<Listing>>,
    /// Whether the host was asked for it and has none.
    unlisted: bool,
}

/// What becomes of results and of tasks.
#[derive(Debug, Default)]
struct Work {
    tasks: Option<TaskIds>,
    /// The tool that a task is of that the request creates, where that is to be known later.
    creator: Option<String>,
    /// How the answer is shaped, until it is known what the results of its tool are like.
    shape: Option<Box<dyn AnswerShape>>,
}

impl<'a> Decided<'a> {
    /// Decides. `session` is what holds for the session of a pipe, and is what holds then.
    pub(super) fn new<H: HeaderLines<'a>>(
        agreed: Agreed<'a>,
        listed: Option<(Arc<Listing>, Option<Tool>)>,
        arrived: &Arrived<'_, 'a, H>,
        session: &mut Features,
        facts: &mut Facts,
    ) -> Result<Self, Reply> {
        let (message, offer) = (agreed.message(), arrived.rules.offer);
        let mut changes = Vec::new();
        let visit = arrived.enter(&agreed, session, &mut changes, &mut facts.notices)?;
        let caller = Caller::read(&agreed).with_past(offer.past).in_session(session.clone());
        let mut plan = negotiate(&caller, offer);
        if facts.method == Some(TOOLS_LIST) {
            plan = plan.showing(&offer.bindings);
        }
        let is_request = message.kind() == Kind::Request;
        let translates = plan.wants().filter(|_| is_request).map(|_| Plan::asked(message, offer));
        let bound = offer.bindings.concern(message);
        let filled = if bound { arrived.fill(&agreed, &caller)? } else { Filled::default() };
        let work = arrived.work(&agreed, &caller, &plan);
        facts.format = work.shape.as_ref().and_then(|shape| shape.format());
        facts.language = plan.chosen().map(|(language, why)| (language.clone(), why));
        facts.default_language = plan.default_language().cloned();
        let ((listing, declared), unlisted) = (listed.unzip(), false);
        let declared = declared.flatten();
        Ok(Self {
            agreed,
            caller,
            visit,
            changes,
            plan,
            translates,
            filled,
            bound,
            work,
            declared,
            listing,
            unlisted,
        })
    }

    pub(super) fn message(&self) -> &Message<'a> {
        self.agreed.message()
    }

    /// What changes in the headers so that they name the session that the server knows.
    pub(super) fn session_changes(&self) -> &[HeaderChange] {
        &self.changes
    }

    pub(super) fn caller(&self) -> &Caller {
        &self.caller
    }

    /// What the context fills, if anything.
    pub(super) fn filled(&self) -> Option<&Filled> {
        Some(&self.filled).filter(|filled| !filled.is_empty())
    }

    /// What only the host can get.
    pub(super) fn need(&self) -> Option<Need<'_>> {
        if self.translates.is_some() {
            return self.plan.wants().map(Need::Locales);
        }
        if self.listing.is_some() || self.unlisted {
            return None;
        }
        if self.bound && self.agreed.era() == Era::Modern {
            // A call that has no arguments yet was not checked against a schema; now it may have some.
            return called(self.message()).map(|name| Need::Tool(name, Recency::Usual));
        }
        let tool = self.work.shape.as_ref().and_then(|shape| shape.tool())?;
        Some(Need::Tool(Cow::Borrowed(tool), Recency::Usual))
    }

    /// What is known of the caller's tools, if anything.
    pub(super) fn listed(&mut self, listing: Option<Arc<Listing>>) {
        self.unlisted = listing.is_none();
        self.listing = listing;
    }

    /// The locale files of the chosen language.
    pub(super) fn translate(&mut self, locales: Vec<Arc<Locale>>, offer: &Offer, now: Timestamp) {
        if let Some(asked) = self.translates.take() {
            self.plan = self.plan.clone().translating(asked, &self.caller, offer, locales, now);
        }
    }

    /// What the server gets, who asks, and what becomes of its answer.
    pub(super) fn forward<H: HeaderLines<'a>>(
        mut self,
        headers: Option<H>,
        body: &'a [u8],
        offer: &Offer,
        stated: Option<Cow<'_, str>>,
    ) -> (Outgoing<'a>, Caller, Answering) {
        if let Some(shape) = self.work.shape.take() {
            self.plan = self.plan.shaping(with_tool(shape, self.listing.as_deref()));
        }
        let tasks = self.work.tasks.as_ref();
        let ids = tasks.map(|tasks| tasks.onward(self.message())).unwrap_or_default();
        let onward = self.plan.forward_with(self.message(), &self.filled, &ids);
        let body = match onward {
            Cow::Borrowed(_) => Cow::Borrowed(body),
            Cow::Owned(changed) => Cow::Owned(changed.into_bytes()),
        };
        let is_changed = matches!(body, Cow::Owned(_));
        let mut changes = std::mem::take(&mut self.changes);
        if let Some(headers) = headers {
            let changed = if is_changed { Some(&*body) } else { None };
            self.mirror(changed, headers, &ids, &mut changes);
        }
        let in_header = headers.is_some_and(|headers| headers.named(ACCEPT_LANGUAGE).next().is_some());
        let (agreed, caller, answering) = self.answering(in_header, offer, stated);
        if headers.is_some() {
            changes.extend(answering.reads().then(forward::identity));
            changes.extend(is_changed.then_some(HeaderChange::ForgetOldBytes));
        }
        let era = agreed.era();
        let message = (!is_changed).then(|| (agreed.into_message(), era));
        (Outgoing { headers: changes, body, message }, caller, answering)
    }

    /// Writes the headers that mirror what goes on: `changed`, or the message as it came.
    fn mirror<H: HeaderLines<'a>>(
        &self,
        changed: Option<&[u8]>,
        headers: H,
        ids: &[(Span, String)],
        changes: &mut Vec<HeaderChange>,
    ) {
        let newly = || self.listing.as_deref()?.declared(&called(self.message())?);
        let newly = || newly().filter(|_| self.bound && self.agreed.era() == Era::Modern);
        let declared = self.declared.clone().or_else(newly);
        let own = declared.as_ref().map(|tool| &*tool.own);
        // What was filled or opened stands in headers too, so what goes on is read once more, as whoever gets it will.
        let again = changed.filter(|_| (self.bound && own.is_some()) || !ids.is_empty());
        let again = again.and_then(|changed| Message::parse(changed).ok());
        let sent = again.as_ref().unwrap_or(self.message());
        let anew = self.bound || self.work.tasks.as_ref().is_some_and(TaskIds::opens);
        forward::mirrored(&self.agreed, sent, own, headers, anew, changes);
    }

    fn answering(
        self,
        in_header: bool,
        offer: &Offer,
        stated: Option<Cow<'_, str>>,
    ) -> (Agreed<'a>, Caller, Answering) {
        let Self { agreed, caller, visit, plan, filled, work, .. } = self;
        let message = agreed.message();
        let is_request = message.kind() == Kind::Request;
        let adapted_to = caller.preference().filter(|_| plan.changes()).map(AcceptLanguage::as_str);
        let answering = Answering {
            is_request,
            lists: is_request && message.known_method().is_some_and(is_listing),
            id: message.id().filter(|_| is_request).map(|id| id.raw().to_owned()),
            events: visit.events(adapted_to),
            visit,
            tasks: work.tasks.map(Arc::new),
            creator: work.creator,
            preferred: caller.preference().is_some(),
            // A preference that is the locale of the context stands in no header that a cache sees.
            in_header: in_header && caller.origin() == Origin::Stated,
            bound: !filled.is_empty(),
            learns: Learns::of(message, offer.content.is_some()),
            stated: stated.map(|stated| stated.into_owned().into()),
            ..Answering::new(plan, offer)
        };
        (agreed, caller, answering)
    }
}

impl<'a, H: HeaderLines<'a>> Arrived<'_, 'a, H> {
    /// Opens the session that a request names or begins. Over a pipe, what began it holds for all that follows.
    fn enter(
        &self,
        agreed: &Agreed<'a>,
        session: &mut Features,
        changes: &mut Vec<HeaderChange>,
        notices: &mut Vec<Notice>,
    ) -> Result<Visit, Reply> {
        let message = agreed.message();
        let is_legacy = agreed.era() == Era::Legacy;
        let begins = is_legacy.then(|| begins(message, self.rules.content.as_deref(), notices)).flatten();
        let Some(headers) = self.headers else {
            if let Some(begins) = begins {
                *session = begins;
            }
            return Ok(Visit::default());
        };
        let seal = self.rules.seal.filter(|_| is_legacy);
        let visit = Visit::enter(seal, headers, begins, changes)
            .map_err(|_| Reply::unknown_session(message.id().map(Value::raw)))?;
        *session = visit.features();
        Ok(visit)
    }

    /// Fills the arguments that are bound, or says what to answer instead.
    fn fill(&self, agreed: &Agreed<'_>, caller: &Caller) -> Result<Filled, Reply> {
        let message = agreed.message();
        self.rules.offer.bindings.fill(message, caller, self.now).map_err(|unfillable| {
            Reply::tool_failed(message.id().map(Value::raw), agreed.era() == Era::Modern, &unfillable)
        })
    }

    /// What becomes of the results and the tasks of a request.
    fn work(&self, agreed: &Agreed<'_>, caller: &Caller, plan: &Plan) -> Work {
        let (message, rules) = (agreed.message(), self.rules);
        let tasks = TaskIds::enter(rules.seal, message);
        let content = rules.content.clone().filter(|_| message.kind() == Kind::Request);
        let Some(content) = content else { return Work { tasks, ..Work::default() } };
        let mut tools = tasks.as_ref().map(TaskIds::tools).unwrap_or_default();
        if let Some(memory) = rules.tasks {
            memory.tools(message, &mut tools);
        }
        let request = shaping::Request::of(message, agreed.era() == Era::Modern, &*content).with_tasks(tools);
        let creator = request.names_its_tasks(&*content, caller.features()).map(str::to_owned);
        let tasks = match (rules.seal, &creator) {
            (Some(seal), Some(tool)) => Some(TaskIds::creating(tasks, seal, tool)),
            _ => tasks,
        };
        let shape = plan.shape(request, content, caller, rules.offer, self.now);
        Work { tasks, creator, shape }
    }
}

/// A shape with what a listing says of its tool. Where no tool is called, there is no schema to keep.
fn with_tool(mut shape: Box<dyn AnswerShape>, listing: Option<&Listing>) -> Box<dyn AnswerShape> {
    let listed = match (shape.tool(), listing) {
        (None, _) => Some(ListedTool { output: ListedSchema::None, view: None }),
        (Some(tool), Some(listing)) => Some(listing.tool(tool)),
        (Some(_), None) => None,
    };
    if let Some(listed) = listed {
        shape.set_tool(listed);
    }
    shape
}

/// The tool that a message calls.
fn called<'a>(message: &Message<'a>) -> Option<Cow<'a, str>> {
    message.param("name")?.text()?.decode()
}

/// What a message declares, where it is the one that begins a session.
fn begins(
    message: &Message<'_>,
    content: Option<&dyn Shaper>,
    notices: &mut Vec<Notice>,
) -> Option<Features> {
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
