//! How the answer to one request is shaped, decided before the answer comes.
//!
//! Rules: F4, F10, F13.

use core::fmt;
use std::sync::Arc;

use jiff::Timestamp;
use mcp_attune::features::{Format, Verbosity, Wanted};
use mcp_attune::format;
use mcp_attune::localize::Asked;
use mcp_attune::session::ViewSupport;
use mcp_attune::shaping::{ListedSchema, ListedTool, ListingShapeKey, Request};
use mcp_attune::task::TaskTools;
use mcp_attune_wire::protocol::method::{SERVER_DISCOVER, TOOLS_LIST};

use crate::content::Content;
use crate::cost::Budget;
use crate::output::Output;

/// What is known about the schema of a tool's results.
#[derive(Clone, Debug, Default)]
pub enum Schema {
    /// It could not be found out.
    #[default]
    Unknown,
    /// The caller was shown none.
    None,
    /// It is this one.
    Known(Arc<Output>),
}

impl Schema {
    pub(crate) fn output(&self) -> Option<&Output> {
        match self {
            Self::Known(output) => Some(output),
            Self::Unknown | Self::None => None,
        }
    }

    /// Whether the caller was promised nothing that this text, which is JSON, does not keep.
    ///
    /// Rules: F13.
    pub(crate) fn allows(&self, data: &str, budget: &Budget) -> bool {
        match self {
            Self::Unknown => false,
            Self::None => true,
            Self::Known(output) => output.is_valid_text(data, budget),
        }
    }
}

/// Compiles a listed schema once, for everybody who gets that listing. Of one that cannot be read nothing is known.
impl From<ListedSchema> for Schema {
    fn from(listed: ListedSchema) -> Self {
        match listed {
            ListedSchema::Unknown => Self::Unknown,
            ListedSchema::None => Self::None,
            ListedSchema::Known(schema) => {
                let compiled = schema.compiled(|written| Output::read(written).map(Arc::new));
                compiled.and_then(Option::clone).map_or(Self::Unknown, Self::Known)
            }
        }
    }
}

/// How the answer to one request is shaped. [`Shape::new`] makes one only where there may be something to do.
#[derive(Clone)]
pub struct Shape {
    pub(crate) asked: Asked,
    pub(crate) wanted: Wanted,
    /// Whether the request is one of the modern era, in which structured content may be a list.
    pub(crate) modern: bool,
    pub(crate) content: Arc<Content>,
    /// The arguments of the request, as written.
    pub(crate) arguments: Option<Box<str>>,
    /// The tools of the tasks that the request names.
    pub(crate) tasks: TaskTools,
    pub(crate) schema: Schema,
    /// Whether the tool has a view; None where that is not known.
    pub(crate) view: Option<bool>,
    /// Whether the caller draws views.
    pub(crate) views: ViewSupport,
    pub(crate) values: format::Format,
    pub(crate) now: Timestamp,
}

impl Shape {
    /// The shape of an answer, where the caller's tags ask for any. `values` writes numbers and dates for the caller.
    ///
    /// Rules: F4.
    #[must_use]
    pub fn new(
        request: Request,
        wanted: Wanted,
        content: Arc<Content>,
        values: impl FnOnce() -> format::Format,
        now: Timestamp,
    ) -> Option<Self> {
        if !concerns(&request, &wanted, &content) {
            return None;
        }
        let (Request { asked, arguments, modern, tasks, .. }, values) = (request, values());
        let (schema, view, views) = (Schema::Unknown, None, ViewSupport::None);
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
        Self { schema: Schema::from(tool.output), view: tool.view, ..self }
    }

    /// The same, with what is known about the schema of the tool's results.
    #[must_use]
    pub fn with_schema(self, schema: Schema) -> Self {
        Self { schema, ..self }
    }

    /// The tool whose schema is needed.
    #[must_use]
    pub fn tool(&self) -> Option<&str> {
        match self.asked.method() {
            "tools/call" => self.asked.subject(),
            "tasks/get" | "tasks/result" => self.tasks.only(),
            _ => None,
        }
    }

    /// What the caller's tags say.
    #[must_use]
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    pub(crate) fn verbosity(&self) -> Verbosity {
        self.wanted.verbosity().unwrap_or(Verbosity::Standard)
    }
}

/// All that the form of a listing, and of what a server says of itself, depends on: neither the clock nor how the caller
/// writes dates and numbers. What is kept of such answers is kept by this.
#[derive(Clone, Copy)]
pub(crate) struct ListingReader<'a> {
    pub(crate) content: &'a Content,
    pub(crate) wanted: &'a Wanted,
    pub(crate) views: ViewSupport,
}

impl Shape {
    pub(crate) fn listing_reader(&self) -> ListingReader<'_> {
        ListingReader { content: &self.content, wanted: &self.wanted, views: self.views }
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
fn concerns(request: &Request, wanted: &Wanted, content: &Content) -> bool {
    let subject = request.asked.subject();
    let has_hints = |tool: &str| content.tools.get(tool).is_some_and(|tool| tool.hints.is_some());
    match request.asked.method() {
        // Advertised to everybody.
        "initialize" | "server/discover" => true,
        "tools/list" => hides_schemas(wanted),
        "tools/call" => wanted.format().is_some() || (reasons(wanted) && subject.is_some_and(has_hints)),
        _ if request.about_tasks => {
            wanted.format().is_some() || (reasons(wanted) && request.tasks.tools().any(has_hints))
        }
        "resources/read" | "" => wanted.format().is_some(),
        "prompts/get" => {
            !wanted.is_nothing() && subject.is_some_and(|prompt| content.prompts.contains_key(prompt))
        }
        _ => false,
    }
}

/// Whether a listing leaves schemas out. Rules: F13.
pub(crate) fn hides_schemas(wanted: &Wanted) -> bool {
    matches!(wanted.format(), Some(Format::Markdown | Format::Text))
}

/// Whether the caller can use hints. Rules: F10.
pub(crate) fn reasons(wanted: &Wanted) -> bool {
    wanted.flag("sampling") == Some(true)
}

/// Shows nothing of the arguments.
impl fmt::Debug for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Shape")
            .field("asked", &self.asked)
            .field("wanted", &self.wanted)
            .field("modern", &self.modern)
            .finish_non_exhaustive()
    }
}
