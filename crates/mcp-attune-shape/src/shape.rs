//! How the answer to one request is shaped, decided before the answer comes.
//!
//! Rules: F4, F10, F13.

use core::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::features::{FeaturePreferences, Verbosity};
use mcp_attune::format;
use mcp_attune::localize::RequestSubject;
use mcp_attune::session::ViewSupport;
use mcp_attune::shaping::{ListedSchema, ListedTool, ListingShapeKey, ShapeRequest};
use mcp_attune::task::TaskTools;
use mcp_attune_wire::protocol::method::{SERVER_DISCOVER, TOOLS_LIST};

use crate::compiled_schema::CompiledSchema;
use crate::content::OperatorContent;
use crate::cost::StepBudget;

/// What is known about the `outputSchema` of a tool, as the caller was shown it.
///
/// The difference between [`Unknown`](Self::Unknown) and [`None`](Self::None) is a promise: where the caller
/// was shown no schema, any structured content is fine; where that is not known, no new structured content
/// may be made.
#[derive(Clone, Debug, Default)]
pub enum ResultSchema {
    /// It could not be found out, for example because the tool of a task is not known, or the schema cannot
    /// be read.
    #[default]
    Unknown,
    /// The caller was shown no schema for the tool.
    None,
    /// The schema that the caller was shown.
    Known(Arc<CompiledSchema>),
}

impl ResultSchema {
    /// Returns the schema itself, if it is known.
    pub(crate) fn output(&self) -> Option<&CompiledSchema> {
        match self {
            Self::Known(output) => Some(output),
            Self::Unknown | Self::None => None,
        }
    }

    /// Returns whether `data`, a text that is JSON, keeps everything that the caller was promised about
    /// structured content.
    ///
    /// A check that the budget does not suffice for counts as failed: structured content is never changed on
    /// a guess.
    ///
    /// Rules: F13.
    pub(crate) fn allows(&self, data: &str, budget: &StepBudget) -> bool {
        match self {
            Self::Unknown => false,
            Self::None => true,
            Self::Known(output) => output.is_valid_text(data, budget),
        }
    }
}

/// Compiles a listed schema once, for everybody who gets that listing. A schema that cannot be read is
/// unknown.
impl From<ListedSchema> for ResultSchema {
    fn from(listed: ListedSchema) -> Self {
        match listed {
            ListedSchema::Unknown => Self::Unknown,
            ListedSchema::None => Self::None,
            ListedSchema::Known(schema) => {
                let compiled = schema.compiled(|written| CompiledSchema::read(written).map(Arc::new));
                compiled.and_then(Option::clone).map_or(Self::Unknown, Self::Known)
            }
        }
    }
}

/// The decision how the answer to one request is shaped.
///
/// [`ShapePlan::new`] makes one before the request goes to the server, and only if there may be something to
/// do. The exchange then adds what a listing says of the called [`tool`](Self::tool), and each message of the
/// answer is [adapted](Self::adapt) by it. A plan holds data of one request and must not be used for another.
#[derive(Clone)]
pub struct ShapePlan {
    /// The method of the request, and the name or URI that it asks for.
    pub(crate) asked: RequestSubject,
    /// What the caller's feature tags ask for.
    pub(crate) wanted: FeaturePreferences,
    /// Whether the request is one of the modern era, in which structured content may be an array. In the
    /// legacy era it is an object.
    pub(crate) modern: bool,
    /// What the operator wrote for the server.
    pub(crate) content: Arc<OperatorContent>,
    /// The `arguments` of the request as JSON, as they were written. They are kept only if a template for the
    /// tool or prompt may use them.
    pub(crate) arguments: Option<Box<str>>,
    /// The tools of the tasks that the request names, as far as they are known.
    pub(crate) tasks: TaskTools,
    /// What is known about the schema of the [`tool`](Self::tool); unknown until a listing was consulted.
    pub(crate) schema: ResultSchema,
    /// Whether that tool has a view; `None` if that is not known.
    pub(crate) view: Option<bool>,
    /// Whether the caller's host draws views.
    pub(crate) views: ViewSupport,
    /// Writes numbers and dates for the caller's locale and time zone.
    pub(crate) values: format::ValueFormatter,
    /// The time of the request, by the clock of the host.
    pub(crate) now: Timestamp,
}

impl ShapePlan {
    /// Decides how an answer is shaped. Returns `None` if it stays as the server writes it, whatever it will
    /// be.
    ///
    /// `values` makes the formatter for the caller's locale and time zone. It is called only if something is
    /// shaped, so that other requests do not pay for it. The schema of the tool is unknown at first, and the
    /// caller draws no views.
    ///
    /// Rules: F4.
    #[must_use]
    pub fn new(
        request: ShapeRequest,
        wanted: FeaturePreferences,
        content: Arc<OperatorContent>,
        values: impl FnOnce() -> format::ValueFormatter,
        now: Timestamp,
    ) -> Option<Self> {
        if !may_shape(&request, &wanted, &content) {
            return None;
        }
        let (ShapeRequest { asked, arguments, modern, tasks, .. }, values) = (request, values());
        let (schema, view, views) = (ResultSchema::Unknown, None, ViewSupport::None);
        Some(Self { asked, wanted, modern, content, arguments, tasks, schema, view, views, values, now })
    }

    /// Sets whether the caller's host draws views. Without this call it draws none.
    ///
    /// Rules: F6, F7, F13.
    #[must_use]
    pub fn for_views(self, views: ViewSupport) -> Self {
        Self { views, ..self }
    }

    /// Adds what a listing says of the [`tool`](Self::tool): its `outputSchema` and whether it has a view.
    #[must_use]
    pub fn with_tool(self, tool: ListedTool) -> Self {
        Self { schema: ResultSchema::from(tool.output), view: tool.view, ..self }
    }

    /// Adds what is known about the `outputSchema` of the [`tool`](Self::tool), without saying anything about
    /// a view.
    #[must_use]
    pub fn with_schema(self, schema: ResultSchema) -> Self {
        Self { schema, ..self }
    }

    /// Returns the tool whose result is expected, so that its schema should be looked up first: the called
    /// tool, or the tool of the one task that is asked for. `None` for requests that are about no tool, about
    /// several tasks or about a task that is not known.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self.asked.method() {
            "tools/call" => self.asked.subject(),
            "tasks/get" | "tasks/result" => self.tasks.only_tool(),
            _ => None,
        }
    }

    /// Returns what the caller's feature tags ask for.
    #[must_use]
    pub fn wanted(&self) -> &FeaturePreferences {
        &self.wanted
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        self.wanted.verbosity().unwrap_or(Verbosity::Standard)
    }
}

/// Everything that shaping a listing, or a server's description of itself, depends on.
///
/// The clock, the caller's locale and the arguments are left out on purpose: hosts keep listings that were
/// adapted before, by a key that is made from these fields. Code that shapes such answers gets this instead
/// of the [`ShapePlan`], so that it cannot depend on anything that is not in the key. Locale files are passed
/// separately, and have a key of their own.
#[derive(Clone, Copy)]
pub(crate) struct ListingAudience<'a> {
    pub(crate) content: &'a OperatorContent,
    pub(crate) wanted: &'a FeaturePreferences,
    pub(crate) views: ViewSupport,
}

impl ShapePlan {
    pub(crate) fn listing_audience(&self) -> ListingAudience<'_> {
        ListingAudience { content: &self.content, wanted: &self.wanted, views: self.views }
    }

    /// Returns the [`listing_audience`](Self::listing_audience) as a key for adapted answers, for
    /// `tools/list` and `server/discover`; `None` for all other requests.
    pub(crate) fn listing_key(&self) -> Option<ListingShapeKey> {
        let method = match self.asked.method() {
            TOOLS_LIST => TOOLS_LIST,
            SERVER_DISCOVER => SERVER_DISCOVER,
            _ => return None,
        };
        let (shaper, wanted, views) = (self.content.clone(), self.wanted.clone(), self.views);
        Some(ListingShapeKey { shaper, method, wanted, views })
    }
}

/// Returns whether the answer to a request may have to be edited, as far as that is known before it comes.
///
/// `initialize` and `server/discover` always are, because the extension is advertised to everybody. The empty
/// method stands for a stream that is resumed, of which the request is not known any more.
fn may_shape(request: &ShapeRequest, wanted: &FeaturePreferences, content: &OperatorContent) -> bool {
    let subject = request.asked.subject();
    let has_hints = |tool: &str| content.tools.get(tool).is_some_and(|tool| tool.hints.is_some());
    match request.asked.method() {
        // Advertised to everybody.
        "initialize" | "server/discover" => true,
        "tools/list" => hides_schemas(wanted),
        "tools/call" => {
            wanted.format().is_some() || (accepts_hints(wanted) && subject.is_some_and(has_hints))
        }
        _ if request.about_tasks => {
            wanted.format().is_some() || (accepts_hints(wanted) && request.tasks.tools().any(has_hints))
        }
        "resources/read" | "" => wanted.format().is_some(),
        "prompts/get" => {
            !wanted.is_nothing() && subject.is_some_and(|prompt| content.prompts.contains_key(prompt))
        }
        _ => false,
    }
}

/// Returns whether a listing leaves schemas out, because results come without structured content. Rules: F13.
pub(crate) fn hides_schemas(wanted: &FeaturePreferences) -> bool {
    wanted.format().is_some_and(|format| !format.is_structured())
}

/// Returns whether the caller can use hints, which it says with the tag `sampling`. Rules: F10.
pub(crate) fn accepts_hints(wanted: &FeaturePreferences) -> bool {
    wanted.flag("sampling") == Some(true)
}

/// Shows nothing of the arguments, which may be confidential.
impl fmt::Debug for ShapePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapePlan")
            .field("asked", &self.asked)
            .field("wanted", &self.wanted)
            .field("modern", &self.modern)
            .finish_non_exhaustive()
    }
}
