//! How the answer to one request is shaped, decided before the answer comes.
//!
//! Rules: F4, F10, F13.

use core::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::features::{ContentFormat, FeaturePreferences, Verbosity};
use mcp_attune::format;
use mcp_attune::localize::RequestSubject;
use mcp_attune::session::ViewSupport;
use mcp_attune::shaping::{ListedSchema, ListedTool, ListingShapeKey, ShapeRequest};
use mcp_attune::task::TaskTools;
use mcp_attune_wire::protocol::method::{SERVER_DISCOVER, TOOLS_LIST};

use crate::compiled_schema::CompiledSchema;
use crate::content::OperatorContent;
use crate::cost::StepBudget;

/// What is known about the schema of a tool's results.
#[derive(Clone, Debug, Default)]
pub enum ResultSchema {
    /// It could not be found out.
    #[default]
    Unknown,
    /// The caller was shown none.
    None,
    /// It is this one.
    Known(Arc<CompiledSchema>),
}

impl ResultSchema {
    pub(crate) fn output(&self) -> Option<&CompiledSchema> {
        match self {
            Self::Known(output) => Some(output),
            Self::Unknown | Self::None => None,
        }
    }

    /// Whether the caller was promised nothing that this text, which is JSON, does not keep.
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

/// Compiles a listed schema once, for everybody who gets that listing. Of one that cannot be read nothing is known.
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

/// How the answer to one request is shaped. [`ShapePlan::new`] makes one only where there may be something to do.
#[derive(Clone)]
pub struct ShapePlan {
    pub(crate) asked: RequestSubject,
    pub(crate) wanted: FeaturePreferences,
    /// Whether the request is one of the modern era, in which structured content may be a list.
    pub(crate) modern: bool,
    pub(crate) content: Arc<OperatorContent>,
    /// The arguments of the request, as written.
    pub(crate) arguments: Option<Box<str>>,
    /// The tools of the tasks that the request names.
    pub(crate) tasks: TaskTools,
    pub(crate) schema: ResultSchema,
    /// Whether the tool has a view; None where that is not known.
    pub(crate) view: Option<bool>,
    /// Whether the caller draws views.
    pub(crate) views: ViewSupport,
    pub(crate) values: format::ValueFormatter,
    pub(crate) now: Timestamp,
}

impl ShapePlan {
    /// The shape of an answer, where the caller's tags ask for any. `values` writes numbers and dates for the caller.
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

    /// The same, for a caller that draws views.
    ///
    /// Rules: F6, F7, F13.
    #[must_use]
    pub fn for_views(self, views: ViewSupport) -> Self {
        Self { views, ..self }
    }

    /// The same, with what a listing says of the tool.
    #[must_use]
    pub fn with_tool(self, tool: ListedTool) -> Self {
        Self { schema: ResultSchema::from(tool.output), view: tool.view, ..self }
    }

    /// The same, with what is known about the schema of the tool's results.
    #[must_use]
    pub fn with_schema(self, schema: ResultSchema) -> Self {
        Self { schema, ..self }
    }

    /// The tool whose schema is needed.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self.asked.method() {
            "tools/call" => self.asked.subject(),
            "tasks/get" | "tasks/result" => self.tasks.only_tool(),
            _ => None,
        }
    }

    /// What the caller's tags say.
    #[must_use]
    pub fn wanted(&self) -> &FeaturePreferences {
        &self.wanted
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        self.wanted.verbosity().unwrap_or(Verbosity::Standard)
    }
}

/// All that the form of a listing, and of what a server says of itself, depends on: neither the clock nor how the caller
/// writes dates and numbers. What is kept of such answers is kept by this.
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

    /// The same as a key, for requests whose answers are nothing else.
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

/// Whether there may be something to do.
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

/// Whether a listing leaves schemas out. Rules: F13.
pub(crate) fn hides_schemas(wanted: &FeaturePreferences) -> bool {
    matches!(wanted.format(), Some(ContentFormat::Markdown | ContentFormat::Text))
}

/// Whether the caller can use hints. Rules: F10.
pub(crate) fn accepts_hints(wanted: &FeaturePreferences) -> bool {
    wanted.flag("sampling") == Some(true)
}

/// Shows nothing of the arguments.
impl fmt::Debug for ShapePlan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ShapePlan")
            .field("asked", &self.asked)
            .field("wanted", &self.wanted)
            .field("modern", &self.modern)
            .finish_non_exhaustive()
    }
}
