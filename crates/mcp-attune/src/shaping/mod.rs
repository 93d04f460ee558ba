//! The seam between an exchange and whatever shapes answers for agents and for people.
//!
//! 1. The exchange knows *when* an answer is shaped and where its edits go; *how* is a [`Shaper`]'s business. The crate
//!    `mcp-attune-shape` has one: renderers, templates, checks against `outputSchema`. A program that shapes nothing
//!    compiles none of it.
//! 2. A [`Shaper`] is what an operator wrote for one server. For a request it makes an [`AnswerShape`], or nothing where
//!    the answer stays as it is.
//! 3. An [`AnswerShape`] contributes edits to a message beside those of other steps; it never writes a message itself.
//! 4. What listings say of a tool's results is kept as text ([`OutputSchema`]) and compiled by the shaper that first
//!    needs it.
//!
//! Rules: F4, F13, F14.

mod key;
mod listed;
mod report;
mod request;

use core::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune_wire::message::Message;

use crate::catalog::LocaleChain;
use crate::edits::MessageEdits;
use crate::features::{self, FeaturePreferences};
use crate::format::ValueFormatter;
use crate::session::ViewSupport;

pub use key::ListingShapeKey;
pub use listed::{ListedSchema, ListedTool, OutputSchema, declares_content_negotiation, has_view};
pub use report::{AnswerOmissions, UnusableReason, UnusableSchema, UnusableTemplate};
pub use request::ShapeRequest;

/// Something that the operator wrote for a tool and that does not fit what the server lists.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ShaperFinding {
    /// The tool that it was written for.
    pub tool: String,
    /// Whether the server lists no such tool.
    pub is_tool_missing: bool,
    /// Where it is written: `get_weather.md:3:8`.
    pub place: String,
    /// What is wrong.
    pub what: String,
    /// What to do about it, where there is something to say.
    pub hint: Option<String>,
}

impl fmt::Display for ShaperFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)?;
        self.hint.as_ref().map_or(Ok(()), |hint| write!(f, "; {hint}"))
    }
}

/// What an operator wrote for the answers of one server.
pub trait Shaper: Send + Sync + fmt::Debug {
    /// Whether anything in it asks for a vendor's feature tag: such tags are kept for a session first.
    ///
    /// Rules: F3.
    fn refers_to(&self, tag: &str) -> bool;

    /// Whether something is written for a tool or prompt of this name that may use the arguments of the request.
    fn uses_arguments_of(&self, name: &str) -> bool;

    /// Whether results of this tool have a form of their own: a template, hints, or fields of low priority.
    ///
    /// Rules: F6, F8, F10.
    fn has_form_for(&self, tool: &str) -> bool;

    /// Whether anything is written for tools that [`check`](Self::check) could hold against a listing.
    fn has_tools(&self) -> bool;

    /// Describes what does not fit the tools on these pages of a listing. `is_whole`: there are no other pages.
    fn check(&self, pages: &[Message<'_>], is_whole: bool) -> Vec<ShaperFinding>;

    /// Decides how the answer to a request is shaped; `None` where nothing is to be done.
    ///
    /// Rules: F4.
    fn shape(
        self: Arc<Self>,
        reader: AnswerReader<'_>,
        request: ShapeRequest,
    ) -> Option<Box<dyn AnswerShape>>;
}

/// Who reads a shaped answer.
pub struct AnswerReader<'a> {
    /// What their feature tags ask for.
    pub wanted: FeaturePreferences,
    /// Whether their host draws views.
    pub views: ViewSupport,
    /// Makes what writes dates and numbers for them. It is called only where something is shaped.
    pub format: &'a dyn Fn() -> ValueFormatter,
    /// The server's clock.
    pub now: Timestamp,
}

/// How the answer to one request is shaped.
pub trait AnswerShape: Send + Sync + fmt::Debug {
    /// The format that the caller's tags ask for.
    fn format(&self) -> Option<features::ContentFormat>;

    /// The tool whose listing has to be known first, if any.
    fn tool(&self) -> Option<&str>;

    /// Takes what a listing says of that tool.
    fn set_tool(&mut self, listed: ListedTool);

    /// All that the form of the answer depends on, where it is a listing or what a server says of itself. `None` for other
    /// answers, and where it cannot be said.
    fn listing_key(&self) -> Option<ListingShapeKey>;

    /// Adds the edits that shape one message of the answer. `None` where that takes more than this effort, which is never
    /// so for [`AdaptEffort::Full`]; then no edit was added.
    ///
    /// Rules: G4.
    fn edit(
        &self,
        message: &Message<'_>,
        texts: &TextChains<'_>,
        effort: AdaptEffort,
        edits: &mut MessageEdits<'_>,
    ) -> Option<ShapeOutcome>;
}

/// Where translated texts are looked for.
#[derive(Clone, Copy, Debug, Default)]
pub struct TextChains<'a> {
    /// Texts that people read.
    pub display: Option<&'a LocaleChain>,
    /// Texts that stand where models read them, if those are translated.
    pub model: Option<&'a LocaleChain>,
}

/// How much work adapting one message may be.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum AdaptEffort {
    /// About a millisecond, but for what large messages take.
    Short,
    /// Whatever the bounds of the rules allow.
    Full,
}

/// What was done to one message.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShapeOutcome {
    /// Whether texts from the catalogs are in it.
    pub translated: bool,
    /// What was left out of it.
    pub left_out: AnswerOmissions,
    /// The templates that failed.
    pub faults: Vec<UnusableTemplate>,
    /// The schema of the tool's results, where it turned out not to be usable. It is reported once for a schema.
    pub unusable: Option<UnusableSchema>,
}

/// Where a [`Shaper`] comes from: a host asks with each request for the one that holds now. Following changes is up to
/// whoever keeps it.
pub trait ShaperSource: Send + Sync + fmt::Debug {
    /// What holds now.
    fn current_shaper(&self) -> Arc<dyn Shaper>;
}

/// What never changes.
impl<S: Shaper + 'static> ShaperSource for Arc<S> {
    fn current_shaper(&self) -> Arc<dyn Shaper> {
        self.clone()
    }
}
