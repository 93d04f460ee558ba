//! One tool, the right answer for agents and for people.
//!
//! 1. Without a tag that asks for something, an answer is what the server wrote, byte for byte.
//! 2. `format=json`: the data once, as structured content, and no text beside it. `format=markdown`, `format=text`: the same
//!    data as text for people, from the operator's template where there is one, else from what the schema says of it.
//! 3. The data is the structured content; where there is none, the one text block that is JSON. Text that is no data stays.
//! 4. What is no text stays, whatever the tags: links, images, audio, embedded resources, `isError`, `_meta`, and every
//!    member that nobody knows. A result that is an error, or that asks the caller for more, is not shaped at all.
//! 5. Structured content is always valid against the schema that the caller was shown. Who gets none is shown no schema.
//!    Where a view is drawn from it, it stays beside the text, and so does its schema.
//! 6. What arrives through a task is shaped as what arrives at once. Where it is not known which tool the task is of,
//!    there is no template and no schema for it.
//! 7. A template that fails costs nobody an answer: the data is written as if there were none, and the failure is told.
//! 8. What is left out is counted, and what was shaped for one caller is no longer for everybody's cache.
//!
//! Rules: F4–F14, G3.

use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

use core::fmt;

use jiff::Timestamp;
use mcp_attune_wire::json::{Span, Text, Value};
use mcp_attune_wire::message::{Kind, Message};

use crate::catalog::{Chain, Field, Slot};
use crate::edits::{Edit, Edits};
use crate::features::{Format, Verbosity, Wanted};
use crate::format;
use crate::localize::Asked;
use crate::session::{Features, ViewSupport};
use crate::task::{TaskTools, listened};

// What is known of the data,
mod cost;

mod output;

// how it is written where the operator wrote nothing,
pub mod render;

// what they wrote, and documents in another form,
pub mod template;

mod content;
mod document;

// and what becomes of each kind of answer.
mod told;
mod view;
mod call;
mod effect;
mod listing;
mod prompt;
mod resource;
mod server;
mod task;

pub(crate) use cost::Budget;
use render::{Labels, OwnWords, Rendering, Word};
use template::{Failed, Hints, Scene, Template};

pub use content::{Content, Page, Supply, Thing, Tool};
pub use cost::Unusable;
pub use effect::effect_on_tool;
pub use output::{Breach, Output, Part};
pub use server::negotiates;
pub use told::{Fault, LeftOut, UnusableSchema};
pub use view::{ListedTool, has_view};

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

/// What is known about the results of a tool that nobody knows.
static UNKNOWN: Schema = Schema::Unknown;

impl Schema {
    fn output(&self) -> Option<&Output> {
        match self {
            Self::Known(output) => Some(output),
            Self::Unknown | Self::None => None,
        }
    }

    /// Whether the caller was promised nothing that this text, which is JSON, does not keep.
    ///
    /// Rules: F13.
    fn allows(&self, data: &str, budget: &Budget) -> bool {
        match self {
            Self::Unknown => false,
            Self::None => true,
            Self::Known(output) => output.is_valid_text(data, budget),
        }
    }
}

/// How the answer to one request is shaped. [`Shape::new`] makes one only where there may be something to do.
#[derive(Clone)]
pub struct Shape {
    asked: Asked,
    wanted: Wanted,
    /// Whether the request is one of the modern era, in which structured content may be a list.
    modern: bool,
    content: Arc<Content>,
    /// The arguments of the request, as written.
    arguments: Option<Box<str>>,
    /// The tools of the tasks that the request names.
    tasks: TaskTools,
    schema: Schema,
    /// Whether the tool has a view; None where that is not known.
    view: Option<bool>,
    /// Whether the caller draws views.
    views: ViewSupport,
    values: format::Format,
    now: Timestamp,
}

/// What a request is, as far as the shape of its answer depends on it.
#[derive(Clone, Debug)]
pub struct Request {
    /// What was asked.
    pub asked: Asked,
    /// The arguments, as they were written.
    pub arguments: Option<Box<str>>,
    /// Whether it is one of the modern era.
    pub modern: bool,
    /// Whether results of tasks may be in its answer.
    pub about_tasks: bool,
    /// The tools of the tasks that it names, as far as they are known.
    pub tasks: TaskTools,
}

impl Request {
    /// What a request asks for; with its arguments where the operator wrote something that may use them.
    #[must_use]
    pub fn of(message: &Message<'_>, modern: bool, content: &Content) -> Self {
        let asked = Asked::of(message);
        let uses = |name| content.tools.contains_key(name) || content.prompts.contains_key(name);
        let arguments = asked.subject().filter(|name| uses(*name)).and_then(|_| message.param("arguments"));
        let about_tasks = match asked.method() {
            "tasks/get" | "tasks/result" => true,
            "subscriptions/listen" => listened(message).next().is_some(),
            _ => false,
        };
        let arguments = arguments.map(|arguments| arguments.raw().into());
        Self { asked, arguments, modern, about_tasks, tasks: TaskTools::default() }
    }

    /// The same, with the tools of the tasks that it names.
    #[must_use]
    pub fn with_tasks(self, tasks: TaskTools) -> Self {
        Self { tasks, ..self }
    }

    /// The tool whose name a task has to carry that this request creates: one that the operator wrote something for, called
    /// by somebody who declared tags.
    ///
    /// Rules: F6, F8, F10.
    #[must_use]
    pub fn names_its_tasks(&self, content: &Content, features: &Features) -> Option<&str> {
        let tool = self.asked.subject().filter(|_| self.asked.method() == "tools/call")?;
        let wrote = content.tools.get(tool)?;
        let any = !wrote.templates.is_empty() || wrote.hints.is_some() || !wrote.low_priority.is_empty();
        (any && !features.is_empty()).then_some(tool)
    }

    /// What is known of a request whose stream goes on after it broke off.
    #[must_use]
    pub fn resumed() -> Self {
        let (asked, tasks) = (Asked::new(""), TaskTools::default());
        Self { asked, arguments: None, modern: false, about_tasks: false, tasks }
    }
}

/// A message that was shaped.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Shaped {
    /// The message.
    pub text: String,
    /// Whether texts from the catalogs are in it.
    pub translated: bool,
    /// What is not in it.
    pub left_out: LeftOut,
    /// Templates that failed.
    pub faults: Vec<Fault>,
    /// The schema of the tool's results, where it turned out not to be usable. It is said once for a schema.
    pub unusable: Option<UnusableSchema>,
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
        Self { schema: tool.output, view: tool.view, ..self }
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

    /// What a message of the answer holds that is shaped, and the tool that it is of.
    fn look<'m>(&self, message: &Message<'m>) -> Option<(Value<'m>, Option<&str>)> {
        match message.kind() {
            Kind::Answer => {
                let result = message.member("result").filter(|_| message.member("error").is_none())?;
                Some((result, self.tool()))
            }
            Kind::Notification if self.asked.method() == "subscriptions/listen" => {
                let tells = message.known_method() == Some("notifications/tasks");
                let task = message.member("params").filter(|_| tells)?;
                let id = task.member("taskId").and_then(Value::text).and_then(Text::decode);
                Some((task, id.and_then(|id| self.tasks.tool_of(&id))))
            }
            _ => None,
        }
    }

    /// What the caller's tags say.
    #[must_use]
    pub fn wanted(&self) -> &Wanted {
        &self.wanted
    }

    /// One message of the answer as the caller gets it; none where it stays as it came.
    #[must_use]
    pub fn adapt(&self, message: &[u8], chain: Option<&Chain>) -> Option<Shaped> {
        self.adapt_within(message, chain, &Budget::full())
    }

    fn adapt_within(&self, message: &[u8], chain: Option<&Chain>, budget: &Budget) -> Option<Shaped> {
        let read = Message::parse(message).ok()?;
        let mut edits = Edits::default();
        let done = self.step(&read, &Translating { all: chain, models: None }, budget, &mut edits);
        if budget.is_exceeded() || (edits.is_empty() && done.is_nothing()) {
            return None;
        }
        let text = edits.apply(&read).unwrap_or_else(|| read.text().to_owned());
        let Done { translated, left_out, faults, unusable } = done;
        Some(Shaped { text, translated, left_out, faults, unusable })
    }

    /// The same as a step beside others, within a budget. Where that is [exceeded](Budget::is_exceeded), neither the edits
    /// nor what is told of them is to be used.
    pub(crate) fn step<'m>(
        &self,
        read: &Message<'m>,
        chains: &Translating<'_>,
        budget: &Budget,
        edits: &mut Edits<'_>,
    ) -> Done {
        let Some((result, tool)) = self.look(read) else { return Done::default() };
        // What is known of a tool is known of the one that was called, or whose task was asked for.
        let known = tool.is_some() && tool == self.tool();
        let (schema, view) = if known { (&self.schema, self.view) } else { (&UNKNOWN, None) };
        let (own, done, Translating { all: chain, models }) = (Vec::new(), Done::default(), *chains);
        let mut work =
            Work { shape: self, tool, schema, view, chain, models, budget, edits: own, varied: true, done };
        work.look_at(result);
        if budget.is_exceeded() {
            return Done::default();
        }
        work.done.unusable = self
            .schema
            .output()
            .and_then(Output::first_unusable)
            .map(|why| UnusableSchema { tool: self.tool().unwrap_or_default().to_owned(), why });
        if !work.edits.is_empty() && work.varied {
            work.keep_from_others(result.member("cacheScope"));
        }
        edits.add_step(work.edits);
        work.done
    }

    fn verbosity(&self) -> Verbosity {
        self.wanted.verbosity().unwrap_or(Verbosity::Standard)
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
fn hides_schemas(wanted: &Wanted) -> bool {
    matches!(wanted.format(), Some(Format::Markdown | Format::Text))
}

/// Whether the caller can use hints. Rules: F10.
fn reasons(wanted: &Wanted) -> bool {
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

/// Where texts are looked for.
#[derive(Clone, Copy, Default)]
pub(crate) struct Translating<'a> {
    /// What is written for people.
    pub(crate) all: Option<&'a Chain>,
    /// What is written where texts for models stand, if those are translated.
    pub(crate) models: Option<&'a Chain>,
}

/// What was done to one message.
#[derive(Debug, Default)]
pub(crate) struct Done {
    /// Whether texts from the catalogs are in it.
    pub(crate) translated: bool,
    pub(crate) left_out: LeftOut,
    pub(crate) faults: Vec<Fault>,
    pub(crate) unusable: Option<UnusableSchema>,
}

impl Done {
    fn is_nothing(&self) -> bool {
        self.faults.is_empty() && self.unusable.is_none()
    }
}

/// The edits of one message.
struct Work<'a> {
    shape: &'a Shape,
    /// The tool that the result is of.
    tool: Option<&'a str>,
    /// What is known about the schema of its results.
    schema: &'a Schema,
    /// Whether it has a view, where that is known.
    view: Option<bool>,
    chain: Option<&'a Chain>,
    /// Where texts for models are looked for, if they are translated.
    models: Option<&'a Chain>,
    /// What checks and templates may cost.
    budget: &'a Budget,
    edits: Vec<Edit<'static>>,
    /// Whether another caller may get another answer.
    varied: bool,
    done: Done,
}

impl Work<'_> {
    /// What becomes of the result, by what was asked.
    fn look_at(&mut self, result: Value<'_>) {
        match self.shape.asked.method() {
            "initialize" | "server/discover" => server::advertise(self, result),
            "tools/list" => listing::hide(self, result),
            "tools/call" | "tasks/result" => call::shape(self, result),
            "tasks/get" | "subscriptions/listen" => task::shape(self, result),
            "resources/read" => resource::shape(self, result),
            "prompts/get" => prompt::shape(self, result),
            // A stream that goes on says no more what it answers.
            _ if result.member("contents").is_some() => resource::shape(self, result),
            _ if result.member("tools").is_some() => listing::hide(self, result),
            _ if result.member("content").is_some() => call::shape(self, result),
            _ => {}
        }
    }

    /// A text that stands where texts for models do: in the caller's language, where those are translated and a catalog has
    /// it by what it says.
    fn live(&mut self, text: String) -> String {
        match self.models.and_then(|chain| chain.live(&text)) {
            Some(translated) => {
                self.done.translated = true;
                translated
            }
            None => text,
        }
    }

    fn put(&mut self, place: Span, text: impl Into<String>) {
        self.edits.push((place, Cow::Owned(text.into())));
    }

    fn cut(&mut self, places: Vec<Span>) {
        self.edits.extend(places.into_iter().map(|place| (place, Cow::Borrowed(""))));
    }

    /// The server's instructions in the caller's language, where those are translated and a catalog has them.
    fn instructions(&mut self) -> Option<String> {
        let text = self.models?.find(Slot::Server(Field::Instructions))?;
        let text = serde_json::from_str(text).ok()?;
        self.done.translated = true;
        Some(text)
    }

    /// Says that what this caller gets is not for others, where the server says that it is.
    ///
    /// Rules: G3.
    fn keep_from_others(&mut self, scope: Option<Value<'_>>) {
        if let Some(scope) = scope
            && scope.text().is_some_and(|scope| scope.is("public"))
        {
            self.put(scope.span(), "\"private\"");
        }
    }

    /// What a template makes of data; none where it fails, which is told.
    fn rendered(&mut self, template: &Template, data: Value<'_>) -> Option<String> {
        let short = self.budget.is_short();
        let rendered = self.with_scene(data, self.shape.tool(), |scene| {
            if short { template.render_if_short(scene) } else { Some(template.render(scene)) }
        });
        let Some(rendered) = rendered else {
            self.budget.exceed();
            return None;
        };
        match rendered {
            // A file ends with a line's end.
            Ok(text) => Some(text.trim_end().to_owned()),
            Err(failed) => {
                self.fault(template, &failed);
                None
            }
        }
    }

    /// The hints for data; none where they fail, which is told.
    fn hinted(&mut self, tool: &str, hints: &Hints, data: Value<'_>) -> Vec<String> {
        let short = self.budget.is_short();
        // Hints are for models, which read the data too.
        let rendered = self.with_scene(data, None, |scene| {
            if short { hints.render_if_short(scene) } else { Some(hints.render(scene)) }
        });
        let Some((lines, failed)) = rendered else {
            self.budget.exceed();
            return Vec::new();
        };
        let fault = |failed| Fault { template: format!("hints of {tool}"), what: format!("{failed}") };
        self.done.faults.extend(failed.into_iter().map(|failed: Failed| fault(failed)));
        lines
    }

    /// `tool` is the one whose values are written in the caller's language, if any are.
    fn with_scene<R>(
        &mut self,
        data: Value<'_>,
        tool: Option<&str>,
        use_it: impl FnOnce(&Scene<'_>) -> R,
    ) -> R {
        let translated = Cell::new(self.done.translated);
        let arguments = self.shape.arguments.as_deref().and_then(|text| Message::parse(text.as_bytes()).ok());
        let done = use_it(&Scene {
            data,
            arguments: arguments.as_ref().map(Message::body),
            wanted: &self.shape.wanted,
            values: &self.shape.values,
            now: self.shape.now,
            chain: self.chain,
            translated: Some(&translated),
            tool,
            output: self.shape.schema.output().map(Output::part),
        });
        self.done.translated = translated.get();
        done
    }

    fn fault(&mut self, template: &Template, what: &dyn fmt::Display) {
        let of = self.tool.or(self.shape.asked.subject()).unwrap_or_default();
        let template = format!("{} of {of}", template.name());
        self.done.faults.push(Fault { template, what: what.to_string() });
    }

    /// Data as text, by what its schema says of it.
    fn written(
        &mut self,
        data: Value<'_>,
        output: Option<&Output>,
        low_priority: &[String],
        format: Format,
    ) -> String {
        let words = OwnWords(self.shape.values.locale());
        let labels = Titles { tool: self.tool, chain: self.chain, words, found: Cell::new(false) };
        let how = Rendering {
            output: output.map(Output::part),
            values: &self.shape.values,
            verbosity: self.shape.verbosity(),
            low_priority,
            labels: &labels,
            room: Rendering::ROOM,
        };
        let rendered = match format {
            Format::Text => render::text(data, &how),
            Format::Json | Format::Markdown => render::markdown(data, &how),
        };
        self.done.translated |= labels.found.get();
        let fields = rendered.left_out + rendered.not_shown;
        self.done.left_out += LeftOut { fields, ..LeftOut::default() };
        rendered.text
    }

    /// Data with what a compact answer can do without taken out; none where that is nothing.
    fn compacted(
        &mut self,
        data: Value<'_>,
        output: Option<&Output>,
        low_priority: &[String],
    ) -> Option<String> {
        if self.shape.verbosity() != Verbosity::Compact {
            return None;
        }
        let compacted = render::compact_within(data, output, low_priority, self.budget);
        if compacted.left_out == 0 {
            return None;
        }
        let bytes = data.raw().len().saturating_sub(compacted.text.len());
        self.done.left_out += LeftOut { blocks: 0, fields: compacted.left_out, bytes };
        Some(compacted.text.into_owned())
    }
}

/// The titles of fields in the caller's language.
struct Titles<'a> {
    tool: Option<&'a str>,
    chain: Option<&'a Chain>,
    words: OwnWords<'a>,
    /// Whether a catalog had any.
    found: Cell<bool>,
}

impl Titles<'_> {
    fn find(&self, path: &str, field: Field) -> Option<Cow<'_, str>> {
        self.said(self.chain?.find(Slot::Output { tool: self.tool?, path, field })?)
    }

    /// A text that is kept as it is written into a message.
    fn said(&self, text: &str) -> Option<Cow<'_, str>> {
        let text = serde_json::from_str::<String>(text).ok()?;
        self.found.set(true);
        Some(Cow::Owned(text))
    }
}

impl Labels for Titles<'_> {
    fn title(&self, path: &str) -> Option<Cow<'_, str>> {
        self.find(path, Field::Title)
    }

    fn description(&self, path: &str) -> Option<Cow<'_, str>> {
        self.find(path, Field::Description)
    }

    fn word(&self, word: Word) -> Cow<'_, str> {
        self.words.word(word)
    }

    fn heading(&self) -> Option<Cow<'_, str>> {
        let text = self.chain?.find(Slot::Tool(self.tool?, Field::Title))?;
        self.said(text)
    }

    fn has_values(&self) -> bool {
        self.tool.zip(self.chain).is_some_and(|(tool, chain)| chain.has_values(tool))
    }

    fn value(&self, path: &str, value: &str) -> Option<String> {
        let text = self.chain?.value(self.tool?, path, value)?;
        self.found.set(true);
        Some(text)
    }
}
