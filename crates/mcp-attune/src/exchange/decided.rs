//! What is decided of a request that agrees with its headers, until it goes on.
//!
//! Rules: A1, A2, A4, A6, C7, C9, C10, F1, G8, H16, L3, L7, L13.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{Agreed, Era};
use mcp_attune_wire::json::{ByteSpan, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};
use mcp_attune_wire::protocol::header::lowercase::ACCEPT_LANGUAGE;
use mcp_attune_wire::protocol::method::{INITIALIZE, TOOLS_LIST};
use mcp_attune_wire::reply::Reply;

use super::answering::{AnswerAdapter, AnswerTopic, AssumedVariance};
use super::forward;
use super::headers::{HeaderChange, HeaderLines};
use super::interface::{ExchangeSettings, ListingRecency, Need, OutgoingRequest, RequestFacts};
use super::listing::{ListedToolHeaders, ToolIndex};
use super::memo::is_listing;
use super::notice::ExchangeNotice;
use super::session_ids::SessionIdRewriter;
use super::task_ids::TaskIdRewriter;
use crate::assume::{CallerEvidence, CallerSource, CallerSources, TrustedHeaders};
use crate::bind::FilledArguments;
use crate::caller::{Caller, PreferenceOrigin};
use crate::catalog::CompiledLocale;
use crate::context::ClientContext;
use crate::language::AcceptLanguage;
use crate::localize::RequestSubject;
use crate::plan::{Offer, Plan, negotiate};
use crate::session::{ClientFeatures, ClientImplementation, SessionFacts};
use crate::shaping::{self, AnswerShape, ListedSchema, ListedTool, Shaper};

/// A request as it came, with what holds for it.
pub(super) struct ArrivedRequest<'r, 'a, H> {
    pub(super) rules: &'r ExchangeSettings<'a>,
    /// Over a pipe there are none.
    pub(super) headers: Option<H>,
    pub(super) evidence: &'r CallerEvidence,
    pub(super) now: Timestamp,
}

/// What is decided.
#[derive(Debug)]
pub(super) struct DecidedRequest<'a> {
    agreed: Agreed<'a>,
    caller: Caller,
    visit: SessionIdRewriter,
    changes: Vec<HeaderChange>,
    plan: Plan,
    /// Where texts are translated: what was asked, until the locale files are there.
    translates: Option<RequestSubject>,
    filled: FilledArguments,
    /// Whether arguments of the called tool are bound.
    bound: bool,
    work: ResultHandling,
    /// What the headers of the call were checked against.
    declared: Option<ListedToolHeaders>,
    /// What is known of the caller's tools.
    listing: Option<Arc<ToolIndex>>,
    /// Whether the host was asked for it and has none.
    unlisted: bool,
    /// What an assumption means for caches.
    variance: AssumedVariance,
}

/// What becomes of results and of tasks.
#[derive(Debug, Default)]
struct ResultHandling {
    tasks: Option<TaskIdRewriter>,
    /// The tool that a task is of that the request creates, where that is to be known later.
    creator: Option<String>,
    /// How the answer is shaped, until it is known what the results of its tool are like.
    shape: Option<Box<dyn AnswerShape>>,
}

impl<'a> DecidedRequest<'a> {
    /// Decides. `session` is what holds for the session of a pipe, and is what holds then.
    pub(super) fn new<H: HeaderLines<'a>>(
        agreed: Agreed<'a>,
        listed: Option<(Arc<ToolIndex>, Option<ListedToolHeaders>)>,
        arrived: &ArrivedRequest<'_, 'a, H>,
        session: &mut SessionFacts,
        facts: &mut RequestFacts,
    ) -> Result<Self, Reply> {
        let (message, offer) = (agreed.message(), arrived.rules.offer);
        let mut changes = Vec::new();
        let visit = arrived.enter_session(&agreed, session, &mut changes, &mut facts.notices)?;
        let caller = arrived.caller(&agreed, session);
        let variance = arrived.variance(caller.sources());
        if let Some(header) = arrived.untrusted_header() {
            facts.notices.push(ExchangeNotice::UntrustedHeader(header));
        }
        let unsaid = caller.sources().iter().filter(|(_, source)| **source != CallerSource::Request);
        facts.sources = unsaid.map(|(field, source)| (field, source.clone())).collect();
        let mut plan = negotiate(&caller, offer);
        if facts.method == Some(TOOLS_LIST) {
            plan = plan.with_bindings(&offer.bindings);
        }
        let is_request = message.kind() == MessageKind::Request;
        let translates =
            plan.needed_locale().filter(|_| is_request).map(|_| Plan::subject_of(message, offer));
        let bound = offer.bindings.is_bound_call(message);
        let filled =
            if bound { arrived.fill(&agreed, &caller, session)? } else { FilledArguments::default() };
        let work = arrived.plan_results(&agreed, &caller, &plan);
        facts.format = work.shape.as_ref().and_then(|shape| shape.format());
        facts.language = plan.chosen_language().map(|(language, why)| (language.clone(), why));
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
            variance,
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
    pub(super) fn filled(&self) -> Option<&FilledArguments> {
        Some(&self.filled).filter(|filled| !filled.is_empty())
    }

    /// What only the host can get.
    pub(super) fn need(&self) -> Option<Need<'_>> {
        if self.translates.is_some() {
            return self.plan.needed_locale().map(Need::Locales);
        }
        if self.listing.is_some() || self.unlisted {
            return None;
        }
        if self.bound && self.agreed.era() == Era::Modern {
            // A call that has no arguments yet was not checked against a schema; now it may have some.
            return called_tool_name(self.message()).map(|name| Need::Tool(name, ListingRecency::Usual));
        }
        let tool = self.work.shape.as_ref().and_then(|shape| shape.tool())?;
        Some(Need::Tool(Cow::Borrowed(tool), ListingRecency::Usual))
    }

    /// What is known of the caller's tools, if anything.
    pub(super) fn set_listing(&mut self, listing: Option<Arc<ToolIndex>>) {
        self.unlisted = listing.is_none();
        self.listing = listing;
    }

    /// The locale files of the chosen language.
    pub(super) fn set_locales(&mut self, locales: Vec<Arc<CompiledLocale>>, offer: &Offer, now: Timestamp) {
        if let Some(asked) = self.translates.take() {
            self.plan = self.plan.clone().with_translation(asked, &self.caller, offer, locales, now);
        }
    }

    /// What the server gets, who asks, and what becomes of its answer.
    pub(super) fn forward<H: HeaderLines<'a>>(
        mut self,
        headers: Option<H>,
        body: &'a [u8],
        offer: &Offer,
        stated: Option<Cow<'_, str>>,
    ) -> (OutgoingRequest<'a>, Caller, AnswerAdapter) {
        if let Some(shape) = self.work.shape.take() {
            self.plan = self.plan.with_shape(with_listed_tool(shape, self.listing.as_deref()));
        }
        let tasks = self.work.tasks.as_ref();
        let ids = tasks.map(|tasks| tasks.edits_for_server(self.message())).unwrap_or_default();
        let onward = self.plan.forward_with_edits(self.message(), &self.filled, &ids);
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
        let (agreed, caller, answering) = self.into_answer_adapter(in_header, offer, stated);
        if headers.is_some() {
            changes.extend(answering.must_read_answer().then(forward::accept_identity));
            changes.extend(is_changed.then_some(HeaderChange::ForgetOldBytes));
        }
        let era = agreed.era();
        let message = (!is_changed).then(|| (agreed.into_message(), era));
        (OutgoingRequest { headers: changes, body, message }, caller, answering)
    }

    /// Writes the headers that mirror what goes on: `changed`, or the message as it came.
    fn mirror<H: HeaderLines<'a>>(
        &self,
        changed: Option<&[u8]>,
        headers: H,
        ids: &[(ByteSpan, String)],
        changes: &mut Vec<HeaderChange>,
    ) {
        let newly = || self.listing.as_deref()?.headers_of(&called_tool_name(self.message())?);
        let newly = || newly().filter(|_| self.bound && self.agreed.era() == Era::Modern);
        let declared = self.declared.clone().or_else(newly);
        let own = declared.as_ref().map(|tool| &*tool.own);
        // What was filled or opened stands in headers too, so what goes on is read once more, as whoever gets it will.
        let language = self.plan.adds_language(self.message());
        let opened = !ids.is_empty();
        let again = changed.filter(|_| (self.bound && own.is_some()) || opened || language);
        let again = again.and_then(|changed| Message::parse(changed).ok());
        let sent = again.as_ref().unwrap_or(self.message());
        let anew = self.bound || language || opened;
        forward::mirror_headers(&self.agreed, sent, own, headers, anew, changes);
    }

    fn into_answer_adapter(
        self,
        in_header: bool,
        offer: &Offer,
        stated: Option<Cow<'_, str>>,
    ) -> (Agreed<'a>, Caller, AnswerAdapter) {
        let Self { agreed, caller, visit, plan, filled, work, variance, .. } = self;
        let message = agreed.message();
        let is_request = message.kind() == MessageKind::Request;
        let adapted_to = caller.preference().filter(|_| plan.may_edit()).map(AcceptLanguage::as_str);
        let answering = AnswerAdapter {
            is_request,
            lists: is_request && message.known_method().is_some_and(is_listing),
            id: message.id().filter(|_| is_request).map(|id| id.raw().to_owned()),
            events: visit.event_id_rewriter(adapted_to),
            visit,
            tasks: work.tasks.map(Arc::new),
            creator: work.creator,
            preferred: caller.preference().is_some(),
            // A preference that is the locale of the context stands in no header that a cache sees.
            in_header: in_header && caller.origin() == PreferenceOrigin::Stated,
            bound: !filled.is_empty(),
            variance,
            learns: AnswerTopic::of(message, offer.content.is_some()),
            stated: stated.map(|stated| stated.into_owned().into()),
            ..AnswerAdapter::new(plan, offer)
        };
        (agreed, caller, answering)
    }
}

impl<'a, H: HeaderLines<'a>> ArrivedRequest<'_, 'a, H> {
    /// Opens the session that a request names or begins. Over a pipe, what began it holds for all that follows.
    fn enter_session(
        &self,
        agreed: &Agreed<'a>,
        session: &mut SessionFacts,
        changes: &mut Vec<HeaderChange>,
        notices: &mut Vec<ExchangeNotice>,
    ) -> Result<SessionIdRewriter, Reply> {
        let message = agreed.message();
        let is_legacy = agreed.era() == Era::Legacy;
        let begins = is_legacy
            .then(|| features_on_initialize(message, self.rules.content.as_deref(), notices))
            .flatten()
            .map(|features| self.session_beginning(message, features));
        let Some(headers) = self.headers else {
            if let Some(begins) = begins {
                *session = begins;
            }
            return Ok(SessionIdRewriter::default());
        };
        let seal = self.rules.seal.filter(|_| is_legacy);
        let visit = SessionIdRewriter::unseal_session(seal, headers, begins, changes)
            .map_err(|_| Reply::unknown_session(message.id().map(SpannedValue::raw)))?;
        *session = visit.facts();
        Ok(visit)
    }

    /// What later requests of a session have to know of the message that begins it.
    ///
    /// Rules: A6, C11, F1.
    fn session_beginning(&self, message: &Message<'_>, features: ClientFeatures) -> SessionFacts {
        let offer = self.rules.offer;
        let locale = if offer.uses_locale() { ClientContext::vendor_locale(message) } else { None };
        let client = ClientImplementation::from_initialize(message);
        let client = client.filter(|client| offer.callers.profile(Some(client)).is_some());
        SessionFacts { features, locale, client }
    }

    /// Who asks: what the request says, what its session began with, and what is assumed beside it.
    ///
    /// Rules: A1.
    fn caller(&self, agreed: &Agreed<'_>, session: &SessionFacts) -> Caller {
        let caller = self.told_caller(agreed, session);
        let callers = &self.rules.offer.callers;
        if !callers.may_assume(self.evidence) {
            return caller;
        }
        let named = ClientImplementation::from_request(agreed.message());
        let client = named.as_ref().or(session.client.as_ref());
        let lines = |name: &str| self.headers.into_iter().flat_map(|headers| headers.named(name)).collect();
        caller.assuming(callers.gather(self.evidence, client, &lines))
    }

    /// The same, without what is assumed.
    fn told_caller(&self, agreed: &Agreed<'_>, session: &SessionFacts) -> Caller {
        Caller::read(agreed).with_past(self.rules.offer.past).in_session(session.clone())
    }

    /// What assumptions mean for caches.
    ///
    /// Rules: A6.
    fn variance(&self, sources: &CallerSources) -> AssumedVariance {
        let trusted = &self.rules.offer.callers.headers;
        let took_part = |field| matches!(sources.get(field), Some(CallerSource::Header(_)));
        AssumedVariance {
            is_assumed: sources.assumed().next().is_some(),
            headers: if self.evidence.trusts_headers { trusted.vary_names(took_part) } else { Vec::new() },
        }
    }

    /// A header that would count if it came from somebody who is trusted.
    ///
    /// Rules: A2.
    fn untrusted_header(&self) -> Option<Arc<str>> {
        let trusted: &TrustedHeaders = &self.rules.offer.callers.headers;
        let headers = self.headers.filter(|_| !self.evidence.trusts_headers)?;
        trusted.names().find(|name| headers.named(name).next().is_some()).cloned()
    }

    /// Fills the arguments that are bound, or says what to answer instead. What could be filled without assumptions is
    /// filled without them where they are in its way.
    ///
    /// Rules: A4, C9.
    fn fill(
        &self,
        agreed: &Agreed<'_>,
        caller: &Caller,
        session: &SessionFacts,
    ) -> Result<FilledArguments, Reply> {
        let (message, bindings) = (agreed.message(), &self.rules.offer.bindings);
        let mut filled = bindings.fill(message, caller, self.now);
        if filled.is_err() && caller.sources().assumed().next().is_some() {
            filled = bindings.fill(message, &self.told_caller(agreed, session), self.now);
        }
        filled.map_err(|unfillable| {
            let id = message.id().map(SpannedValue::raw);
            Reply::tool_failed(id, agreed.era() == Era::Modern, unfillable.notice())
        })
    }

    /// What becomes of the results and the tasks of a request.
    fn plan_results(&self, agreed: &Agreed<'_>, caller: &Caller, plan: &Plan) -> ResultHandling {
        let (message, rules) = (agreed.message(), self.rules);
        let tasks = TaskIdRewriter::unseal_tasks(rules.seal, message);
        let content = rules.content.clone().filter(|_| message.kind() == MessageKind::Request);
        let Some(content) = content else { return ResultHandling { tasks, ..ResultHandling::default() } };
        let mut tools = tasks.as_ref().map(TaskIdRewriter::tools).unwrap_or_default();
        if let Some(memory) = rules.tasks {
            memory.add_tools_named_in(message, &mut tools);
        }
        let request =
            shaping::ShapeRequest::of(message, agreed.era() == Era::Modern, &*content).with_tasks(tools);
        let creator = request.tool_for_created_tasks(&*content, caller.features()).map(str::to_owned);
        let tasks = match (rules.seal, &creator) {
            (Some(seal), Some(tool)) => Some(TaskIdRewriter::with_creator(tasks, seal, tool)),
            _ => tasks,
        };
        let shape = plan.decide_shape(request, content, caller, rules.offer, self.now);
        ResultHandling { tasks, creator, shape }
    }
}

/// A shape with what a listing says of its tool. Where no tool is called, there is no schema to keep.
fn with_listed_tool(mut shape: Box<dyn AnswerShape>, listing: Option<&ToolIndex>) -> Box<dyn AnswerShape> {
    let listed = match (shape.tool(), listing) {
        (None, _) => Some(ListedTool { output: ListedSchema::None, view: None }),
        (Some(tool), Some(listing)) => Some(listing.listed_tool(tool)),
        (Some(_), None) => None,
    };
    if let Some(listed) = listed {
        shape.set_tool(listed);
    }
    shape
}

/// The tool that a message calls.
fn called_tool_name<'a>(message: &Message<'a>) -> Option<Cow<'a, str>> {
    message.param("name")?.text()?.decode()
}

/// What a message declares, where it is the one that begins a session.
fn features_on_initialize(
    message: &Message<'_>,
    content: Option<&dyn Shaper>,
    notices: &mut Vec<ExchangeNotice>,
) -> Option<ClientFeatures> {
    if message.kind() != MessageKind::Request || message.known_method() != Some(INITIALIZE) {
        return None;
    }
    let refers = |tag: &str| content.is_some_and(|content| content.refers_to(tag));
    let declared = ClientFeatures::from_initialize_keeping(message, refers);
    if declared.left_out > 0 {
        notices.push(ExchangeNotice::FeaturesLeftOut(declared.left_out));
    }
    Some(declared.features)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_how_many_declared_features_are_left_out() {
        for (features, expected) in
            [(r#""human""#, vec![]), (r#""human",7,null"#, vec![ExchangeNotice::FeaturesLeftOut(2)])]
        {
            let body = format!(
                r#"{{"jsonrpc":"2.0","id":1,"method":"initialize","params":{{"capabilities":{{"extensions":{{"io.modelcontextprotocol/content-negotiation":{{"features":[{features}]}}}}}}}}}}"#
            );
            let mut notices = Vec::new();
            let message = Message::parse(body.as_bytes()).unwrap();
            let declared = features_on_initialize(&message, None, &mut notices).unwrap();
            assert_eq!((declared.tags().collect::<Vec<_>>(), notices), (vec!["human"], expected));
        }
    }
}
