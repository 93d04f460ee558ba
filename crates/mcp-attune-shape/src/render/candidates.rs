//! Finds the values in a result that people would like to read in their language.
//!
//! Rules: L22.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use mcp_attune::format::Formatters;
use mcp_attune_wire::json::{JsonKind, SpannedValue};

use super::clean;
use super::field::{LabeledField, ResultLocation};
use super::meaning::FieldMeaning;
use super::tree::{ValueNode, ValueTree};
use super::value::PageValueFormatter;
use super::words::DefaultLabels;
use crate::compiled_schema::Subschema;

/// Calls `seen` with the path and the text of every string in a result that may be words for people, in
/// the order of the data and as often as it occurs.
///
/// The path is the one that locale files use (`days[].sky`). Skipped are strings whose schema has a
/// `format`, fields whose name says that they hold an identifier, code or coordinates, addresses that
/// would become links, and what is formatted for each reader anyway: dates, times and durations.
/// `attune catalog extract --call` proposes these values for translation.
///
/// ```
/// use mcp_attune_shape::render::visit_translatable;
/// use mcp_attune_wire::message::Message;
///
/// let data = Message::parse(br#"{"id":"a-1","day":"2026-11-15","sky":"Sunny","days":[{"sky":"Cloudy"}],"tags":["new"]}"#)?;
/// let mut found = Vec::new();
/// visit_translatable(data.body(), None, &mut |field, value| found.push(format!("{field} {value}")));
/// assert_eq!(found, ["sky Sunny", "days[].sky Cloudy", "tags[] new"]);
/// # Ok::<(), mcp_attune_wire::message::JsonParseError>(())
/// ```
pub fn visit_translatable(
    data: SpannedValue<'_>,
    output: Option<Subschema<'_>>,
    seen: &mut dyn FnMut(&str, &str),
) {
    let format = Formatters::default().for_locales([], TimeZone::UTC);
    let labels = DefaultLabels::new("en");
    let values = PageValueFormatter::new(&format, &labels);
    let tree = ValueTree::of(data);
    CandidateVisitor { values, labels, seen }.value(
        tree.root(),
        &ResultLocation::root(output),
        (FieldMeaning::Plain, None),
    );
}

/// The walk of [`visit_translatable`].
struct CandidateVisitor<'v> {
    /// Tells which strings would be formatted for each reader. The locale makes no difference to that.
    values: PageValueFormatter<'v>,
    /// What fields are called, which makes no difference either.
    labels: DefaultLabels,
    /// What the caller of the walk wants done with each path and text.
    seen: &'v mut dyn FnMut(&str, &str),
}

impl CandidateVisitor<'_> {
    /// Visits a value and everything inside of it. `kind` is the meaning and the `format` of the field
    /// that the value belongs to, which the elements of a list share.
    ///
    /// Recurses as deep as the data are nested, which the JSON scanner limited before.
    fn value<'a>(
        &mut self,
        value: ValueNode<'a>,
        place: &ResultLocation<'a>,
        kind: (FieldMeaning, Option<&'a str>),
    ) {
        match value.kind() {
            JsonKind::Object => {
                for (name, value) in value.members() {
                    let field = LabeledField::new(clean::read(name), place, &self.labels, false);
                    self.value(value, &field.place, (field.sense, field.format));
                }
            }
            JsonKind::Array => {
                let items = place.items();
                for element in value.elements() {
                    self.value(element, &items, kind);
                }
            }
            JsonKind::String => {
                let (sense, format) = kind;
                // A format is promised to programs.
                let names = format.is_some()
                    || matches!(sense, FieldMeaning::Name | FieldMeaning::Written | FieldMeaning::Code);
                let text = value.text().map_or(Cow::Borrowed(""), clean::read);
                if !names && !self.values.is_localized(&text, sense) {
                    (self.seen)(place.path(), &text);
                }
            }
            _ => {}
        }
    }
}
