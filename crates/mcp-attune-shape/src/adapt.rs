//! One message of an answer, shaped.

use std::sync::Arc;

use mcp_attune::catalog::Chain;
use mcp_attune::edits::Edits;
use mcp_attune::features::Format;
use mcp_attune::shaping::{
    AnswerShape, Effort, Fault, LeftOut, ListedTool, ListingShapeKey, Outcome, Reader, Request, Shaper,
    Texts, UnusableSchema,
};
use mcp_attune_wire::json::{Text, Value};
use mcp_attune_wire::message::{Kind, Message};

use crate::content::Content;
use crate::cost::Budget;
use crate::output::Output;
use crate::shape::{Schema, Shape};
use crate::work::Work;
use crate::{call, listing, prompt, resource, server, task};

/// What is known about the results of a tool that nobody knows.
static UNKNOWN: Schema = Schema::Unknown;

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

    /// One message of the answer as the caller gets it; none where it stays as it came.
    #[must_use]
    pub fn adapt(&self, message: &[u8], chain: Option<&Chain>) -> Option<Shaped> {
        self.adapt_within(message, chain, &Budget::full())
    }

    fn adapt_within(&self, message: &[u8], chain: Option<&Chain>, budget: &Budget) -> Option<Shaped> {
        let read = Message::parse(message).ok()?;
        let mut edits = Edits::default();
        let done = self.step(&read, &Texts { display: chain, model: None }, budget, &mut edits);
        if budget.is_exceeded() || (edits.is_empty() && done.faults.is_empty() && done.unusable.is_none()) {
            return None;
        }
        let text = edits.apply(&read).unwrap_or_else(|| read.text().to_owned());
        let Outcome { translated, left_out, faults, unusable } = done;
        Some(Shaped { text, translated, left_out, faults, unusable })
    }

    /// Adds the edits of one message, within a budget. Where that is [exceeded](Budget::is_exceeded), none is added.
    fn step(&self, read: &Message<'_>, texts: &Texts<'_>, budget: &Budget, edits: &mut Edits<'_>) -> Outcome {
        let Some((result, tool)) = self.look(read) else { return Outcome::default() };
        // What is known of a tool is known of the one that was called, or whose task was asked for.
        let known = tool.is_some() && tool == self.tool();
        let (schema, view) = if known { (&self.schema, self.view) } else { (&UNKNOWN, None) };
        let (own, done, Texts { display: chain, model: models }) = (Vec::new(), Outcome::default(), *texts);
        let mut work =
            Work { shape: self, tool, schema, view, chain, models, budget, edits: own, varied: true, done };
        edit_result(&mut work, read, result);
        if budget.is_exceeded() {
            return Outcome::default();
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
}

/// Edits a result by what was asked.
fn edit_result(work: &mut Work<'_>, message: &Message<'_>, result: Value<'_>) {
    match work.shape.asked.method() {
        "initialize" | "server/discover" => {
            let said = server::advertise(work.shape.listing_reader(), work.models, result);
            said.edits.into_iter().for_each(|(place, text)| work.put(place, text));
            work.varied = said.varied;
            work.done.translated |= said.translated;
        }
        "tools/list" => work.cut(listing::hidden(work.shape.listing_reader(), result)),
        "tools/call" | "tasks/result" => call_result(work, message),
        "tasks/get" | "subscriptions/listen" => task::shape(work, result),
        "resources/read" => resource::shape(work, result),
        "prompts/get" => prompt::shape(work, result),
        // A stream that goes on says no more what it answers.
        _ if result.member("contents").is_some() => resource::shape(work, result),
        _ if result.member("tools").is_some() => {
            work.cut(listing::hidden(work.shape.listing_reader(), result));
        }
        _ if result.member("content").is_some() => call_result(work, message),
        _ => {}
    }
}

fn call_result(work: &mut Work<'_>, message: &Message<'_>) {
    if let Some(parts) = message.result_parts() {
        call::shape(work, &parts);
    }
}

impl AnswerShape for Shape {
    fn format(&self) -> Option<Format> {
        self.wanted.format()
    }

    fn tool(&self) -> Option<&str> {
        Self::tool(self)
    }

    fn set_tool(&mut self, listed: ListedTool) {
        self.schema = listed.output.into();
        self.view = listed.view;
    }

    fn listing_key(&self) -> Option<ListingShapeKey> {
        Self::listing_key(self)
    }

    fn edit(
        &self,
        message: &Message<'_>,
        texts: &Texts<'_>,
        effort: Effort,
        edits: &mut Edits<'_>,
    ) -> Option<Outcome> {
        let budget = match effort {
            Effort::Short => Budget::short(),
            Effort::Full => Budget::full(),
        };
        let outcome = self.step(message, texts, &budget, edits);
        (!budget.is_exceeded()).then_some(outcome)
    }
}

impl Shaper for Content {
    fn refers_to(&self, tag: &str) -> bool {
        Self::refers_to(self, tag)
    }

    fn uses_arguments_of(&self, name: &str) -> bool {
        self.tools.contains_key(name) || self.prompts.contains_key(name)
    }

    fn has_form_for(&self, tool: &str) -> bool {
        self.tools.get(tool).is_some_and(|tool| {
            !tool.templates.is_empty() || tool.hints.is_some() || !tool.low_priority.is_empty()
        })
    }

    fn has_tools(&self) -> bool {
        !self.tools.is_empty()
    }

    fn check(&self, pages: &[Message<'_>], is_whole: bool) -> Vec<String> {
        Self::check(self, pages, is_whole)
    }

    fn shape(self: Arc<Self>, reader: Reader<'_>, request: Request) -> Option<Box<dyn AnswerShape>> {
        let Reader { wanted, views, format, now } = reader;
        let shape = Shape::new(request, wanted, self, format, now)?;
        Some(Box::new(shape.for_views(views)))
    }
}
