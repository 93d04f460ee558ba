//! What goes into an exchange and comes out of it.

use std::borrow::Cow;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::agree::{Era, HeaderPolicy};
use mcp_attune_wire::message::Message;
use mcp_attune_wire::reply::Reply;

use super::headers::HeaderChange;
use super::listing::ToolIndex;
use super::memory::TaskMemory;
use super::notice::ExchangeNotice;
use super::seal::IdSeal;
use crate::assume::{CallerEvidence, CallerField, CallerSource};
use crate::features::ContentFormat;
use crate::language::{AcceptLanguage, Tag, Why};
use crate::plan::Offer;
use crate::session::SessionFacts;
use crate::shaping::Shaper;

/// What holds for all requests to one server, as a host has it when a request comes.
#[derive(Clone, Debug)]
pub struct ExchangeSettings<'r> {
    /// How headers are checked.
    pub policy: &'r HeaderPolicy,
    /// Let every request pass, and only say what would have been refused. Rules: H17.
    pub report_only: bool,
    /// Refuse a call whose tool's schema cannot be had, instead of letting it pass unchecked. Rules: H10.
    pub refuse_unknown: bool,
    /// What the server can do for its callers.
    pub offer: &'r Offer,
    /// How answers are shaped; `None` where they are not, or where the server negotiates content itself. Rules: F14.
    pub content: Option<Arc<dyn Shaper>>,
    /// What seals the ids of legacy sessions, of events and of tasks. Rules: G8.
    pub seal: Option<&'r IdSeal>,
    /// The tools of tasks, for a host that remembers them because its ids stay as they are.
    pub tasks: Option<&'r TaskMemory>,
}

/// A request as it came, and what its host knows beside it.
#[derive(Clone, Debug)]
pub struct IncomingRequest<'a, H> {
    /// The lines that came with it; over a pipe there are none.
    pub headers: Option<H>,
    /// The message.
    pub body: &'a [u8],
    /// What the session of a pipe began with.
    pub session: SessionFacts,
    /// What the host knows of the caller. Rules: A1.
    pub evidence: CallerEvidence,
    /// What the host's clock says.
    pub now: Timestamp,
}

/// What only a host can get.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Need<'n> {
    /// What is known of this tool, from a listing in the caller's name: [`Exchange::provide_tool`](super::Exchange::provide_tool).
    Tool(Cow<'n, str>, ListingRecency),
    /// The locale files for this language: [`Exchange::provide_locales`](super::Exchange::provide_locales).
    Locales(&'n Tag),
}

/// How recent a listing has to be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ListingRecency {
    /// Whatever is at hand: the server is not asked.
    AtHand,
    /// As listings usually are.
    Usual,
    /// Recent enough for a refusal to rest on it.
    Recent,
}

/// What a host knows of a caller's tools.
#[derive(Clone, Debug)]
pub enum ListingAvailability {
    /// What a listing says.
    Listed(Arc<ToolIndex>),
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
pub struct OutgoingRequest<'a> {
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
pub struct RequestFacts {
    /// The method, where the message could be read and the method is one of MCP's.
    pub method: Option<&'static str>,
    /// The language that was chosen, and why.
    pub language: Option<(Tag, Why)>,
    /// The server's own language.
    pub default_language: Option<Tag>,
    /// The format that the caller's tags ask for, where answers are shaped.
    pub format: Option<ContentFormat>,
    /// What of the caller its request did not say itself, and where it comes from. Rules: A3.
    pub sources: Vec<(CallerField, CallerSource)>,
    /// Whether a fault kept the headers of arguments from being checked.
    pub unchecked: bool,
    /// What would have been refused, in report mode.
    pub reported: Option<Reply>,
    /// What else a host may want to log.
    pub notices: Vec<ExchangeNotice>,
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
    pub facts: RequestFacts,
    /// The tool that it calls, as its caller names it.
    pub called: Option<String>,
}
