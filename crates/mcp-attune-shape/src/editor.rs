//! The editor of one message: collects the edits that shape it, and what is reported about them.
//!
//! The module `adapt` makes one editor for each message of an answer. The modules for the kinds of answers
//! (`call`, `prompt`, `resource` and so on) decide what changes, and use the editor to render templates and
//! data and to record edits.

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
use crate::format_writer::FormatWriter;
use crate::render::{self, DefaultLabels, PageLabels, PageWord, RenderOptions};
use crate::shape::{ResultSchema, ShapePlan};
use crate::template::{Template, TemplateContext, TemplateRenderError, ToolHints};

/// The state of shaping one message: what is known about the request and its caller, and the edits so far.
///
/// Edits refer to spans of the message as it came from the server, and may be added in any order. No two of
/// them may overlap.
pub(crate) struct MessageEditor<'a> {
    /// What was decided for the answer before it came.
    pub(crate) shape: &'a ShapePlan,
    /// The tool whose result the message carries; `None` if it carries none, or if the tool of a task is not
    /// known.
    pub(crate) tool: Option<&'a str>,
    /// What is known about the `outputSchema` of that tool. It is unknown if the tool is not the one that the
    /// plan is about.
    pub(crate) schema: &'a ResultSchema,
    /// Whether that tool has a view; `None` if that is not known.
    pub(crate) view: Option<bool>,
    /// The locale files for texts that people read; `None` if nothing is translated for this caller.
    pub(crate) chain: Option<&'a LocaleChain>,
    /// The locale files for texts that models read; `None` if such texts are not translated.
    pub(crate) models: Option<&'a LocaleChain>,
    /// The steps that the schema checks of this message may still take. With a short budget it also records
    /// that templates or checks need more time than may be spent here; all edits of the message are then
    /// discarded.
    pub(crate) budget: &'a StepBudget,
    /// The edits so far: the span that is replaced, and its new text. An empty span is an insertion, an empty
    /// text a removal.
    pub(crate) edits: Vec<MessageEdit<'static>>,
    /// Whether the `cacheScope` of the whole result has to become private once anything was edited, because
    /// another caller may get another answer. It is set to false where that was taken care of, or where every
    /// caller gets the same.
    pub(crate) varied: bool,
    /// What is reported about the message: omissions, failed templates, whether translations are in it.
    pub(crate) done: ShapeOutcome,
}

impl MessageEditor<'_> {
    /// Translates a text that stands where models read, if such texts are translated and a locale file has a
    /// message that matches it. Returns the text unchanged otherwise.
    pub(crate) fn translate_model_text(&mut self, text: String) -> String {
        match self.models.and_then(|chain| chain.translate_text(&text)) {
            Some(translated) => {
                self.done.translated = true;
                translated
            }
            None => text,
        }
    }

    /// Replaces a span of the message. `text` has to be JSON exactly as it is to stand there.
    pub(crate) fn put(&mut self, place: ByteSpan, text: impl Into<String>) {
        self.edits.push((place, Cow::Owned(text.into())));
    }

    /// Removes spans of the message, as `cut_members` and `cut_elements` return them, commas included.
    pub(crate) fn cut(&mut self, places: Vec<ByteSpan>) {
        self.edits.extend(places.into_iter().map(|place| (place, Cow::Borrowed(""))));
    }

    /// Changes a `cacheScope` of `"public"` to `"private"`, because what this caller gets must not be served
    /// to others.
    ///
    /// `scope` is the value of the member. A result without it counts as private already and stays as it is.
    ///
    /// Rules: G3.
    pub(crate) fn mark_private(&mut self, scope: Option<SpannedValue<'_>>) {
        if let Some(scope) = scope
            && scope.text().is_some_and(|scope| scope.is("public"))
        {
            self.put(scope.span(), "\"private\"");
        }
    }

    /// Renders a template with `data` for the caller, without white space at its end.
    ///
    /// Returns `None` if the template fails; that is added to the reported faults, and the data is written as
    /// if there were no template. Also returns `None` if the budget is short and the rendering is, or may be,
    /// more than short work; the budget is then marked as exceeded, so that the whole message is shaped again
    /// with a full one.
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

    /// Renders the hints of a tool for `data`. A hint that fails is left out and reported; the others are
    /// returned.
    ///
    /// Returns nothing, and marks the budget as exceeded, if the budget is short and one of the hints may
    /// take long.
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

    /// Builds what a template sees, and passes it to `use_it`.
    ///
    /// `tool` is the tool whose values are printed in the caller's language, and is `None` if they are
    /// printed as the server wrote them. The arguments of the request are kept as text, and parsed again for
    /// each rendering.
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

    /// Reports that a template could not be used, as `FILE of SUBJECT`, for example
    /// `compact.md of get_weather`.
    pub(crate) fn report_fault(&mut self, template: &Template, what: &dyn fmt::Display) {
        let of = self.tool.or(self.shape.asked.subject()).unwrap_or_default();
        let template = format!("{} of {of}", template.name());
        self.done.faults.push(UnusableTemplate { template, what: what.to_string() });
    }

    /// Renders data as Markdown or plain text without a template: from the data itself, its schema and the
    /// caller's locale files.
    ///
    /// `low_priority` are the fields that `verbosity=compact` leaves out. What is left out, or has no room on
    /// the page, is added to the reported omissions. A structured format is never passed here.
    pub(crate) fn render_data(
        &mut self,
        data: SpannedValue<'_>,
        output: Option<&CompiledSchema>,
        low_priority: &[String],
        format: ContentFormat,
    ) -> String {
        // The page is in the language that was chosen, however its reader writes numbers and dates.
        let language = self.chain.map_or(self.shape.values.locale(), |chain| chain.chosen().as_str());
        let words = DefaultLabels::new(language);
        let labels = CatalogLabels { tool: self.tool, chain: self.chain, words, found: Cell::new(false) };
        let how = RenderOptions {
            output: output.map(CompiledSchema::root),
            values: &self.shape.values,
            verbosity: self.shape.verbosity(),
            low_priority,
            labels: &labels,
            room: RenderOptions::MAX_PAGE_BYTES,
        };
        let rendered = (FormatWriter::of(format).page)(data, &how);
        self.done.translated |= labels.found.get();
        let fields = rendered.left_out + rendered.not_shown;
        self.done.left_out += AnswerOmissions { fields, ..AnswerOmissions::default() };
        rendered.text
    }

    /// Returns data as JSON without what a compact answer can do without, valid against the schema if there
    /// is one.
    ///
    /// Returns `None`, for data that stays as it is, unless the caller asked for `verbosity=compact` and
    /// there is something to leave out. What is left out is added to the reported omissions.
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

/// The labels of a rendered page, from the caller's locale files: titles, descriptions and translated values
/// of a tool's fields.
struct CatalogLabels<'a> {
    /// The tool whose entries are looked up. Without it, as for resources, no label is found.
    tool: Option<&'a str>,
    chain: Option<&'a LocaleChain>,
    words: DefaultLabels,
    /// Whether a locale file had any of the labels, which makes the page a translated one.
    found: Cell<bool>,
}

impl CatalogLabels<'_> {
    fn find(&self, path: &str, field: LocaleField) -> Option<Cow<'_, str>> {
        self.decode_text(self.chain?.find(TextSlot::Output { tool: self.tool?, path, field })?)
    }

    /// Decodes a text of a locale file, which is kept as a JSON string ready to be put into a message.
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
