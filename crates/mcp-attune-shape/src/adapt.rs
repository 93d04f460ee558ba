//! Shapes one message of an answer: finds the result in it, and passes that to the module for its kind.
//!
//! It also implements the two traits of the seam [`mcp_attune::shaping`]: `Shaper` for what an operator
//! wrote, and `AnswerShape` for the plan of one request.

use std::sync::Arc;

use mcp_attune::catalog::LocaleChain;
use mcp_attune::edits::MessageEdits;
use mcp_attune::features::ContentFormat;
use mcp_attune::shaping::{
    AdaptEffort, AnswerOmissions, AnswerReader, AnswerShape, ListedTool, ListingShapeKey, ShapeOutcome,
    ShapeRequest, Shaper, ShaperFinding, TextChains, UnusableSchema, UnusableTemplate,
};
use mcp_attune_wire::json::{JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};

use crate::compiled_schema::CompiledSchema;
use crate::content::OperatorContent;
use crate::cost::StepBudget;
use crate::editor::MessageEditor;
use crate::shape::{ResultSchema, ShapePlan};
use crate::{call, listing, prompt, resource, server, task};

/// The schema of a tool that is not the one the plan is about.
static UNKNOWN: ResultSchema = ResultSchema::Unknown;

/// A message after it was shaped, as [`ShapePlan::adapt`] returns it.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct ShapedMessage {
    /// The message as the caller gets it. It is the message as it came if nothing was edited and there is
    /// only something to report.
    pub text: String,
    /// Whether texts from the locale files are in it.
    pub translated: bool,
    /// How much the server wrote that is not in it: text blocks, fields of the data, and their bytes.
    pub left_out: AnswerOmissions,
    /// Templates and hints that failed. The answer was shaped without them.
    pub faults: Vec<UnusableTemplate>,
    /// The `outputSchema` of the tool, if it turned out now that nothing can be checked against it. It is
    /// reported once for each schema, with the first answer that it matters for.
    pub unusable: Option<UnusableSchema>,
}

impl ShapePlan {
    /// Finds the value in a message that may be shaped, and the tool that it is a result of.
    ///
    /// That is the `result` of an answer; on a stream of `subscriptions/listen` it is the task in the
    /// `params` of `notifications/tasks`. Returns `None` for errors, requests and all other notifications,
    /// which pass unchanged. The tool is `None` if it is not known.
    fn find_result<'m>(&self, message: &Message<'m>) -> Option<(SpannedValue<'m>, Option<&str>)> {
        match message.kind() {
            MessageKind::Answer => {
                let result = message.member("result").filter(|_| message.member("error").is_none())?;
                Some((result, self.tool()))
            }
            MessageKind::Notification if self.asked.method() == "subscriptions/listen" => {
                let tells = message.known_method() == Some("notifications/tasks");
                let task = message.member("params").filter(|_| tells)?;
                let id = task.member("taskId").and_then(SpannedValue::text).and_then(JsonString::decode);
                Some((task, id.and_then(|id| self.tasks.tool_of(&id))))
            }
            _ => None,
        }
    }

    /// Shapes one message of the answer. Returns `None` if the message stays as it came and there is nothing
    /// to report.
    ///
    /// `chain` has the caller's locale files, for titles of fields and translated values. Shaping takes as
    /// long as a full budget of steps allows, up to tens of milliseconds, or as long as a large message
    /// takes. A host whose threads serve many callers uses `AnswerShape::edit` with a short effort first.
    /// Bytes that are no message are left alone.
    #[must_use]
    pub fn adapt(&self, message: &[u8], chain: Option<&LocaleChain>) -> Option<ShapedMessage> {
        self.adapt_within(message, chain, &StepBudget::full())
    }

    fn adapt_within(
        &self,
        message: &[u8],
        chain: Option<&LocaleChain>,
        budget: &StepBudget,
    ) -> Option<ShapedMessage> {
        let read = Message::parse(message).ok()?;
        let mut edits = MessageEdits::default();
        let done = self.edit_message(&read, &TextChains { display: chain, model: None }, budget, &mut edits);
        if budget.is_exceeded() || (edits.is_empty() && done.faults.is_empty() && done.unusable.is_none()) {
            return None;
        }
        let text = edits.apply(&read).unwrap_or_else(|| read.text().to_owned());
        let ShapeOutcome { translated, left_out, faults, unusable } = done;
        Some(ShapedMessage { text, translated, left_out, faults, unusable })
    }

    /// Adds the edits of one message, within a budget. If that is [exceeded](StepBudget::is_exceeded), no
    /// edit is added and the outcome is empty; the message has to be edited again with a full budget.
    fn edit_message(
        &self,
        read: &Message<'_>,
        texts: &TextChains<'_>,
        budget: &StepBudget,
        edits: &mut MessageEdits<'_>,
    ) -> ShapeOutcome {
        let Some((result, tool)) = self.find_result(read) else { return ShapeOutcome::default() };
        // What is known of a tool is known of the one that was called, or whose task was asked for.
        let known = tool.is_some() && tool == self.tool();
        let (schema, view) = if known { (&self.schema, self.view) } else { (&UNKNOWN, None) };
        let (own, done, TextChains { display: chain, model: models }) =
            (Vec::new(), ShapeOutcome::default(), *texts);
        let mut work = MessageEditor {
            shape: self,
            tool,
            schema,
            view,
            chain,
            models,
            budget,
            edits: own,
            varied: true,
            done,
        };
        edit_result(&mut work, read, result);
        if budget.is_exceeded() {
            return ShapeOutcome::default();
        }
        work.done.unusable = self
            .schema
            .output()
            .and_then(CompiledSchema::take_unusable_reason)
            .map(|why| UnusableSchema { tool: self.tool().unwrap_or_default().to_owned(), why });
        if !work.edits.is_empty() && work.varied {
            work.mark_private(result.member("cacheScope"));
        }
        edits.add_step(work.edits);
        work.done
    }
}

/// Edits a result according to the method of the request.
///
/// A stream that was resumed does not say any more what it answers; the kind of its result is then told by
/// its members.
fn edit_result(work: &mut MessageEditor<'_>, message: &Message<'_>, result: SpannedValue<'_>) {
    match work.shape.asked.method() {
        "initialize" | "server/discover" => {
            let said = server::advertise(work.shape.listing_audience(), work.models, result);
            said.edits.into_iter().for_each(|(place, text)| work.put(place, text));
            work.varied = said.varied;
            work.done.translated |= said.translated;
        }
        "tools/list" => work.cut(listing::hidden_schemas(work.shape.listing_audience(), result)),
        "tools/call" | "tasks/result" => call_result(work, message),
        "tasks/get" | "subscriptions/listen" => task::shape(work, result),
        "resources/read" => resource::shape(work, result),
        "prompts/get" => prompt::shape(work, result),
        // A stream that goes on says no more what it answers.
        _ if result.member("contents").is_some() => resource::shape(work, result),
        _ if result.member("tools").is_some() => {
            work.cut(listing::hidden_schemas(work.shape.listing_audience(), result));
        }
        _ if result.member("content").is_some() => call_result(work, message),
        _ => {}
    }
}

fn call_result(work: &mut MessageEditor<'_>, message: &Message<'_>) {
    if let Some(parts) = message.result_parts() {
        call::shape(work, &parts);
    }
}

impl AnswerShape for ShapePlan {
    fn format(&self) -> Option<ContentFormat> {
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
        texts: &TextChains<'_>,
        effort: AdaptEffort,
        edits: &mut MessageEdits<'_>,
    ) -> Option<ShapeOutcome> {
        let budget = match effort {
            AdaptEffort::Short => StepBudget::short(),
            AdaptEffort::Full => StepBudget::full(),
        };
        let outcome = self.edit_message(message, texts, &budget, edits);
        (!budget.is_exceeded()).then_some(outcome)
    }
}

impl Shaper for OperatorContent {
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

    fn check(&self, pages: &[Message<'_>], is_whole: bool) -> Vec<ShaperFinding> {
        Self::check(self, pages, is_whole)
    }

    fn shape(
        self: Arc<Self>,
        reader: AnswerReader<'_>,
        request: ShapeRequest,
    ) -> Option<Box<dyn AnswerShape>> {
        let AnswerReader { wanted, views, format, now } = reader;
        let shape = ShapePlan::new(request, wanted, self, format, now)?;
        Some(Box::new(shape.for_views(views)))
    }
}
