//! The edits that shape one message.

use core::fmt;
use std::borrow::Cow;
use std::cell::Cell;

use mcp_attune::catalog::{Chain, Field, Slot};
use mcp_attune::edits::Edit;
use mcp_attune::features::{Format, Verbosity};
use mcp_attune::shaping::{Fault, LeftOut, Outcome};
use mcp_attune_wire::json::{Span, Value};
use mcp_attune_wire::message::Message;

use crate::cost::Budget;
use crate::output::Output;
use crate::render::{self, Labels, OwnWords, Rendering, Word};
use crate::shape::{Schema, Shape};
use crate::template::{Failed, Hints, Scene, Template};

/// The edits of one message.
pub(crate) struct Work<'a> {
    pub(crate) shape: &'a Shape,
    /// The tool that the result is of.
    pub(crate) tool: Option<&'a str>,
    /// What is known about the schema of its results.
    pub(crate) schema: &'a Schema,
    /// Whether it has a view, where that is known.
    pub(crate) view: Option<bool>,
    pub(crate) chain: Option<&'a Chain>,
    /// Where texts for models are looked for, if they are translated.
    pub(crate) models: Option<&'a Chain>,
    /// What checks and templates may cost.
    pub(crate) budget: &'a Budget,
    pub(crate) edits: Vec<Edit<'static>>,
    /// Whether another caller may get another answer.
    pub(crate) varied: bool,
    pub(crate) done: Outcome,
}

impl Work<'_> {
    /// A text that stands where texts for models do: in the caller's language, where those are translated and a catalog has
    /// it by what it says.
    pub(crate) fn live(&mut self, text: String) -> String {
        match self.models.and_then(|chain| chain.live(&text)) {
            Some(translated) => {
                self.done.translated = true;
                translated
            }
            None => text,
        }
    }

    pub(crate) fn put(&mut self, place: Span, text: impl Into<String>) {
        self.edits.push((place, Cow::Owned(text.into())));
    }

    pub(crate) fn cut(&mut self, places: Vec<Span>) {
        self.edits.extend(places.into_iter().map(|place| (place, Cow::Borrowed(""))));
    }

    /// Says that what this caller gets is not for others, where the server says that it is.
    ///
    /// Rules: G3.
    pub(crate) fn keep_from_others(&mut self, scope: Option<Value<'_>>) {
        if let Some(scope) = scope
            && scope.text().is_some_and(|scope| scope.is("public"))
        {
            self.put(scope.span(), "\"private\"");
        }
    }

    /// What a template makes of data; none where it fails, which is told.
    pub(crate) fn rendered(&mut self, template: &Template, data: Value<'_>) -> Option<String> {
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
    pub(crate) fn hinted(&mut self, tool: &str, hints: &Hints, data: Value<'_>) -> Vec<String> {
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
    pub(crate) fn with_scene<R>(
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

    pub(crate) fn fault(&mut self, template: &Template, what: &dyn fmt::Display) {
        let of = self.tool.or(self.shape.asked.subject()).unwrap_or_default();
        let template = format!("{} of {of}", template.name());
        self.done.faults.push(Fault { template, what: what.to_string() });
    }

    /// Data as text, by what its schema says of it.
    pub(crate) fn written(
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
    pub(crate) fn compacted(
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
