//! The edits that shape one message.

use core::fmt;
use std::borrow::Cow;
use std::cell::Cell;

use mcp_attune::catalog::{LocaleChain, LocaleField, TextSlot};
use mcp_attune::edits::MessageEdit;
use mcp_attune::features::{ContentFormat, Verbosity};
use mcp_attune::shaping::{AnswerOmissions, ShapeOutcome, UnusableTemplate};
use mcp_attune_wire::json::{ByteSpan, SpannedValue};
use mcp_attune_wire::message::Message;

use crate::compiled_schema::CompiledSchema;
use crate::cost::StepBudget;
use crate::render::{self, DefaultLabels, PageLabels, PageWord, RenderOptions};
use crate::shape::{ResultSchema, ShapePlan};
use crate::template::{Template, TemplateContext, TemplateRenderError, ToolHints};

/// The edits of one message.
pub(crate) struct MessageEditor<'a> {
    pub(crate) shape: &'a ShapePlan,
    /// The tool that the result is of.
    pub(crate) tool: Option<&'a str>,
    /// What is known about the schema of its results.
    pub(crate) schema: &'a ResultSchema,
    /// Whether it has a view, where that is known.
    pub(crate) view: Option<bool>,
    pub(crate) chain: Option<&'a LocaleChain>,
    /// Where texts for models are looked for, if they are translated.
    pub(crate) models: Option<&'a LocaleChain>,
    /// What checks and templates may cost.
    pub(crate) budget: &'a StepBudget,
    pub(crate) edits: Vec<MessageEdit<'static>>,
    /// Whether another caller may get another answer.
    pub(crate) varied: bool,
    pub(crate) done: ShapeOutcome,
}

impl MessageEditor<'_> {
    /// A text that stands where texts for models do: in the caller's language, where those are translated and a catalog has
    /// it by what it says.
    pub(crate) fn translate_model_text(&mut self, text: String) -> String {
        match self.models.and_then(|chain| chain.translate_text(&text)) {
            Some(translated) => {
                self.done.translated = true;
                translated
            }
            None => text,
        }
    }

    pub(crate) fn put(&mut self, place: ByteSpan, text: impl Into<String>) {
        self.edits.push((place, Cow::Owned(text.into())));
    }

    pub(crate) fn cut(&mut self, places: Vec<ByteSpan>) {
        self.edits.extend(places.into_iter().map(|place| (place, Cow::Borrowed(""))));
    }

    /// Says that what this caller gets is not for others, where the server says that it is.
    ///
    /// Rules: G3.
    pub(crate) fn mark_private(&mut self, scope: Option<SpannedValue<'_>>) {
        if let Some(scope) = scope
            && scope.text().is_some_and(|scope| scope.is("public"))
        {
            self.put(scope.span(), "\"private\"");
        }
    }

    /// What a template makes of data; none where it fails, which is told.
    pub(crate) fn render_template(&mut self, template: &Template, data: SpannedValue<'_>) -> Option<String> {
        let short = self.budget.is_short();
        let rendered = self.with_template_context(data, self.shape.tool(), |scene| {
            if short { template.render_if_short(scene) } else { Some(template.render(scene)) }
        });
        let Some(rendered) = rendered else {
            self.budget.mark_exceeded();
            return None;
        };
        match rendered {
            // A file ends with a line's end.
            Ok(text) => Some(text.trim_end().to_owned()),
            Err(failed) => {
                self.report_fault(template, &failed);
                None
            }
        }
    }

    /// The hints for data; none where they fail, which is told.
    pub(crate) fn render_hints(
        &mut self,
        tool: &str,
        hints: &ToolHints,
        data: SpannedValue<'_>,
    ) -> Vec<String> {
        let short = self.budget.is_short();
        // Hints are for models, which read the data too.
        let rendered = self.with_template_context(data, None, |scene| {
            if short { hints.render_if_short(scene) } else { Some(hints.render(scene)) }
        });
        let Some((lines, failed)) = rendered else {
            self.budget.mark_exceeded();
            return Vec::new();
        };
        let fault =
            |failed| UnusableTemplate { template: format!("hints of {tool}"), what: format!("{failed}") };
        self.done.faults.extend(failed.into_iter().map(|failed: TemplateRenderError| fault(failed)));
        lines
    }

    /// `tool` is the one whose values are written in the caller's language, if any are.
    pub(crate) fn with_template_context<R>(
        &mut self,
        data: SpannedValue<'_>,
        tool: Option<&str>,
        use_it: impl FnOnce(&TemplateContext<'_>) -> R,
    ) -> R {
        let translated = Cell::new(self.done.translated);
        let arguments = self.shape.arguments.as_deref().and_then(|text| Message::parse(text.as_bytes()).ok());
        let done = use_it(&TemplateContext {
            data,
            arguments: arguments.as_ref().map(Message::body),
            wanted: &self.shape.wanted,
            values: &self.shape.values,
            now: self.shape.now,
            chain: self.chain,
            translated: Some(&translated),
            tool,
            output: self.shape.schema.output().map(CompiledSchema::root),
        });
        self.done.translated = translated.get();
        done
    }

    pub(crate) fn report_fault(&mut self, template: &Template, what: &dyn fmt::Display) {
        let of = self.tool.or(self.shape.asked.subject()).unwrap_or_default();
        let template = format!("{} of {of}", template.name());
        self.done.faults.push(UnusableTemplate { template, what: what.to_string() });
    }

    /// Data as text, by what its schema says of it.
    pub(crate) fn render_data(
        &mut self,
        data: SpannedValue<'_>,
        output: Option<&CompiledSchema>,
        low_priority: &[String],
        format: ContentFormat,
    ) -> String {
        let words = DefaultLabels(self.shape.values.locale());
        let labels = CatalogLabels { tool: self.tool, chain: self.chain, words, found: Cell::new(false) };
        let how = RenderOptions {
            output: output.map(CompiledSchema::root),
            values: &self.shape.values,
            verbosity: self.shape.verbosity(),
            low_priority,
            labels: &labels,
            room: RenderOptions::MAX_PAGE_BYTES,
        };
        let rendered = match format {
            ContentFormat::Text => render::text(data, &how),
            ContentFormat::Json | ContentFormat::Markdown => render::markdown(data, &how),
        };
        self.done.translated |= labels.found.get();
        let fields = rendered.left_out + rendered.not_shown;
        self.done.left_out += AnswerOmissions { fields, ..AnswerOmissions::default() };
        rendered.text
    }

    /// Data with what a compact answer can do without taken out; none where that is nothing.
    pub(crate) fn compact_data(
        &mut self,
        data: SpannedValue<'_>,
        output: Option<&CompiledSchema>,
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
        self.done.left_out += AnswerOmissions { blocks: 0, fields: compacted.left_out, bytes };
        Some(compacted.text.into_owned())
    }
}

/// The titles of fields in the caller's language.
struct CatalogLabels<'a> {
    tool: Option<&'a str>,
    chain: Option<&'a LocaleChain>,
    words: DefaultLabels<'a>,
    /// Whether a catalog had any.
    found: Cell<bool>,
}

impl CatalogLabels<'_> {
    fn find(&self, path: &str, field: LocaleField) -> Option<Cow<'_, str>> {
        self.decode_text(self.chain?.find(TextSlot::Output { tool: self.tool?, path, field })?)
    }

    /// A text that is kept as it is written into a message.
    fn decode_text(&self, text: &str) -> Option<Cow<'_, str>> {
        let text = serde_json::from_str::<String>(text).ok()?;
        self.found.set(true);
        Some(Cow::Owned(text))
    }
}

impl PageLabels for CatalogLabels<'_> {
    fn title(&self, path: &str) -> Option<Cow<'_, str>> {
        self.find(path, LocaleField::Title)
    }

    fn description(&self, path: &str) -> Option<Cow<'_, str>> {
        self.find(path, LocaleField::Description)
    }

    fn word(&self, word: PageWord) -> Cow<'_, str> {
        self.words.word(word)
    }

    fn heading(&self) -> Option<Cow<'_, str>> {
        let text = self.chain?.find(TextSlot::Tool(self.tool?, LocaleField::Title))?;
        self.decode_text(text)
    }

    fn has_values(&self) -> bool {
        self.tool.zip(self.chain).is_some_and(|(tool, chain)| chain.has_values(tool))
    }

    fn value(&self, path: &str, value: &str) -> Option<String> {
        let text = self.chain?.translate_value(self.tool?, path, value)?;
        self.found.set(true);
        Some(text)
    }
}
