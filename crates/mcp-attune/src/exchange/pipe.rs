//! What becomes of one line between a client and a server that speak in lines, whichever way it goes.
//!
//! 1. What a client sends is an [`Exchange`] without headers. What cannot be read in one way is answered here.
//! 2. What was decided of a request is kept until its answer comes, or until the client cancels it: for that long, and for
//!    nothing else, its preference counts.
//! 3. What a legacy client declares when it begins holds for all its lines: one pipe is one session.
//! 4. What the results of tools are like is learned from the listings that pass by: whoever was shown none was promised
//!    nothing.
//! 5. Which tool a task is of is remembered, where the operator wrote something for its results: here ids stay as they are.
//! 6. What a server says goes back as it came; the answer to a request is adapted to what was decided of that request, and so
//!    are its progress, what is told on a subscription that it opened, and a question or a log message while it is the only
//!    one that waits. What is no message stays away from the client, whose reader would stumble over it.
//!
//! Rules: C1, C9, C10, F1, F13, F14, H13, H14, H18, L3, L13, L20.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::HeaderPolicy;
use mcp_attune_wire::message::{Id, Message, MessageKind, meta};
use mcp_attune_wire::notice::Notice;
use mcp_attune_wire::protocol::method::{CANCELLED, LOG_MESSAGE, SUBSCRIPTIONS_LISTEN};
use mcp_attune_wire::reply::Reply;

use super::answering::{AnswerAdapter, LearnedFact, MessageRewrite};
use super::interface::{
    ExchangeSettings, IncomingRequest, ListingAvailability, Need, OutgoingRequest, Rejection, RequestFacts,
};
use super::listing::{ListingReadOptions, ToolIndex, ToolListingPage};
use super::memory::TaskMemory;
use super::request::Exchange;
use crate::assume::CallerEvidence;
use crate::bind::FilledArguments;
use crate::caller::Caller;
use crate::plan::{Offer, ReportedLanguages};
use crate::session::SessionFacts;
use crate::shaping::AdaptEffort;

/// About how many bytes of listings are kept.
const MAX_LISTING_BYTES: usize = 64 << 20;

/// The headers of a line: a pipe has none.
type NoHeaders<'l> = &'l [(&'l str, &'l [u8])];

/// The rules between a client and a server that speak in lines.
#[derive(Debug)]
pub struct PipeExchange {
    offer: Offer,
    policy: HeaderPolicy,
    /// Whether what would be refused passes all the same.
    report_only: bool,
    /// How many requests may wait for their answer.
    most: usize,
    waiting: HashMap<Id, UnansweredRequest>,
    /// What the client said when it began.
    session: SessionFacts,
    /// The listing that the client was shown last, as far as shaping needs it.
    listing: Arc<ToolIndex>,
    /// Whether the server negotiates content itself.
    negotiates: bool,
    tasks: TaskMemory,
}

/// A line as the server gets it, and who sent it.
#[derive(Debug)]
pub struct ForwardedLine<'l> {
    /// The line, without its end.
    pub line: Cow<'l, [u8]>,
    /// Who sent it.
    pub caller: Caller,
    /// Where a server of this process says the languages of its answer.
    pub spoken: Option<ReportedLanguages>,
    /// What is told of it.
    pub facts: RequestFacts,
    /// What the context filled.
    pub filled: Option<FilledArguments>,
}

/// What becomes of a server's line.
#[derive(Debug)]
pub enum ReturnedLine<'l> {
    /// It goes to the client.
    Send(Cow<'l, [u8]>),
    /// It is no message.
    Drop,
}

/// A request that waits for its answer.
#[derive(Debug)]
struct UnansweredRequest {
    answering: AnswerAdapter,
    /// What its progress is known by.
    token: Option<Id>,
    /// Whether it opens a subscription, which waits for no answer.
    listens: bool,
}

impl PipeExchange {
    /// The rules for one pipe. `most` requests may wait for their answers.
    #[must_use]
    pub fn new(offer: Offer, policy: HeaderPolicy, report_only: bool, most: usize) -> Self {
        let (waiting, session, listing) = (HashMap::new(), SessionFacts::default(), Arc::default());
        let (negotiates, tasks) = (false, TaskMemory::default());
        Self { offer, policy, report_only, most, waiting, session, listing, negotiates, tasks }
    }

    /// What the server can do for its client.
    #[must_use]
    pub fn offer(&self) -> &Offer {
        &self.offer
    }

    /// Whether no request waits for its answer.
    #[must_use]
    pub fn is_idle(&self) -> bool {
        self.waiting.is_empty()
    }

    /// A line of the client, as the server gets it, or what it is answered with instead. `evidence` is what the host knows of
    /// the caller beside it.
    ///
    /// # Errors
    ///
    /// What cannot be read in one way, has no envelope, or is one request too many.
    pub fn forward_line<'l>(
        &mut self,
        line: &'l [u8],
        evidence: CallerEvidence,
        now: Timestamp,
    ) -> Result<ForwardedLine<'l>, Box<Rejection>> {
        let rules = self.rules();
        let (headers, session) = (None::<NoHeaders<'_>>, self.session.clone());
        let incoming = IncomingRequest { headers, body: line, session, evidence, now };
        let mut exchange = Exchange::begin(rules, incoming)?;
        while let Some(need) = exchange.need() {
            match need {
                Need::Tool(..) => {
                    exchange =
                        exchange.provide_tool(ListingAvailability::Listed(Arc::clone(&self.listing)))?;
                }
                Need::Locales(language) => {
                    // There is one client, and nobody else waits while a disk is slow.
                    let library = self.offer.library.as_ref();
                    let locales = library.map(|library| library.load(language)).unwrap_or_default();
                    exchange.provide_locales(locales);
                }
            }
        }
        let (facts, filled) = (exchange.facts().clone(), exchange.filled_arguments().cloned());
        let session = exchange.session_facts().clone();
        let line_facts = exchange.message().map(LineFacts::of);
        let (OutgoingRequest { body, .. }, caller, answering) = exchange.forward()?;
        let body = match body {
            Cow::Borrowed(_) => Cow::Borrowed(line),
            Cow::Owned(changed) => Cow::Owned(changed),
        };
        self.session = session;
        let spoken = answering.plan().reported_languages().cloned();
        match line_facts {
            Some(LineFacts { cancels: Some(id), .. }) => drop(self.waiting.remove(&id)),
            Some(LineFacts { id: Some(id), token, listens, .. }) if answering.is_awaited(&self.offer) => {
                if self.waiting.len() >= self.most {
                    return Err(too_many_waiting(&answering));
                }
                self.waiting.insert(id, UnansweredRequest { answering, token, listens });
            }
            _ => {}
        }
        Ok(ForwardedLine { line: body, caller, spoken, facts, filled })
    }

    /// What holds for a line that comes now.
    fn rules(&self) -> ExchangeSettings<'_> {
        let content = self.offer.content.as_ref().filter(|_| !self.negotiates);
        ExchangeSettings {
            policy: &self.policy,
            report_only: self.report_only,
            refuse_unknown: false,
            offer: &self.offer,
            content: content.map(|supply| supply.current_shaper()),
            seal: None,
            tasks: Some(&self.tasks),
        }
    }

    /// A line of the server. `learn` is given the first page of each listing of tools, `tell` what was done to an answer.
    pub fn return_line<'l>(
        &mut self,
        line: &'l [u8],
        learn: impl FnOnce(&Message<'_>),
        tell: impl FnOnce(&MessageRewrite),
    ) -> ReturnedLine<'l> {
        let Ok(message) = Message::parse(line) else { return ReturnedLine::Drop };
        match message.kind() {
            MessageKind::Other => ReturnedLine::Drop,
            MessageKind::Batch => ReturnedLine::Send(Cow::Borrowed(line)),
            MessageKind::Answer => {
                let waiting = message.id().and_then(Id::read).and_then(|id| self.waiting.remove(&id));
                let Some(UnansweredRequest { answering, .. }) = waiting else {
                    return ReturnedLine::Send(Cow::Borrowed(line));
                };
                match answering.learned_fact(&message) {
                    Some(LearnedFact::Tools(page)) => {
                        learn(page);
                        self.learn_tools(page, true);
                    }
                    Some(LearnedFact::MoreTools(page)) => self.learn_tools(page, false),
                    Some(LearnedFact::Negotiates(said)) => self.negotiates = said,
                    Some(LearnedFact::ToolsChanged) | None => {}
                }
                if let Some(tool) = answering.task_creator() {
                    self.tasks.remember(&message, tool);
                }
                let adapted = answering.adapt_message(&message, AdaptEffort::Full).unwrap_or_default();
                tell(&adapted);
                ReturnedLine::Send(adapted.changed.map_or(Cow::Borrowed(line), Cow::Owned))
            }
            MessageKind::Request | MessageKind::Notification => {
                let adapted = self
                    .related_request(&message)
                    .and_then(|it| it.answering.adapt_message(&message, AdaptEffort::Full));
                ReturnedLine::Send(adapted.and_then(|it| it.changed).map_or(Cow::Borrowed(line), Cow::Owned))
            }
        }
    }

    /// Keeps what a page says that shaping needs.
    fn learn_tools(&mut self, page: &Message<'_>, first: bool) {
        if self.offer.content.is_none() {
            return;
        }
        let interest = ListingReadOptions { bindings: &self.offer.bindings, outputs: true };
        let Some(page) = ToolListingPage::read(page, interest, |_| {}) else { return };
        if first {
            self.listing = Arc::default();
        }
        Arc::make_mut(&mut self.listing).add_within(&page, MAX_LISTING_BYTES);
    }

    /// The answer to a line that the server could not read after all, as it was [sent](ForwardedLine::line): `None` where the line
    /// waits for none. What was decided of it is forgotten.
    pub fn refuse(&mut self, line: &[u8], why: Notice) -> Option<Reply> {
        let message = Message::parse(line).ok()?;
        let id = message.id()?;
        if let Some(id) = Id::read(id) {
            self.waiting.remove(&id);
        }
        Some(Reply::invalid_request(id.raw(), why))
    }

    /// Forgets a request that was answered in another way; `id` as written.
    pub fn forget(&mut self, id: &str) {
        self.waiting.retain(|_, waiting| waiting.answering.id() != Some(id));
    }

    /// The answers to all requests that wait, where the server gives none any more. Nothing waits after that.
    pub fn fail_all(&mut self, what: &Notice) -> Vec<Reply> {
        self.waiting
            .drain()
            .filter_map(|(_, waiting)| waiting.answering.failure_reply(502, what.clone()))
            .collect()
    }

    /// The request that a message of the server belongs to: the one that has its token or opened its subscription; for
    /// questions and log messages the only one there is.
    ///
    /// Rules: L13.
    fn related_request(&self, message: &Message<'_>) -> Option<&UnansweredRequest> {
        if message.kind() == MessageKind::Notification && message.known_method() != Some(LOG_MESSAGE) {
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

#[cold]
fn too_many_waiting(answering: &AnswerAdapter) -> Box<Rejection> {
    let reply = Reply::failed(503, answering.id(), Notice::CallsWaiting);
    let preference = answering.reply_preference();
    Box::new(Rejection { reply, preference, breach: false, facts: RequestFacts::default(), called: None })
}

/// What a pipe has to know of a line of the client.
struct LineFacts {
    id: Option<Id>,
    /// The request that it cancels.
    cancels: Option<Id>,
    token: Option<Id>,
    listens: bool,
}

impl LineFacts {
    fn of(message: &Message<'_>) -> Self {
        let is_request = message.kind() == MessageKind::Request;
        let method = message.known_method();
        let cancelled = message.param("requestId").filter(|_| method == Some(CANCELLED));
        let token = message.param("_meta").and_then(|meta| meta.member("progressToken"));
        Self {
            id: message.id().filter(|_| is_request).and_then(Id::read),
            cancels: cancelled.and_then(Id::read),
            token: token.and_then(Id::read),
            listens: method == Some(SUBSCRIPTIONS_LISTEN),
        }
    }
}
