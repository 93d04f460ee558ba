//! The values in a result that people would like to read in their language.
//!
//! Rules: L22.

use std::borrow::Cow;

use jiff::tz::TimeZone;
use mcp_attune::format::Formatters;
use mcp_attune_wire::json::{Type, Value};

use super::clean;
use super::field::{Field, Place};
use super::sense::Sense;
use super::tree::{Node, Tree};
use super::value::Values;
use super::words::OwnWords;
use crate::output::Part;

/// Visits the strings of a result that may be words for people, each with the way to its field. Left out are names such
/// as ids and codes, addresses, and what is written for each reader anyway: dates, times and durations.
///
/// ```
/// use mcp_attune_shape::render::candidates;
/// use mcp_attune_wire::message::Message;
///
/// let data = Message::parse(br#"{"id":"a-1","day":"2026-11-15","sky":"Sunny","days":[{"sky":"Cloudy"}],"tags":["new"]}"#)?;
/// let mut found = Vec::new();
/// candidates(data.body(), None, &mut |field, value| found.push(format!("{field} {value}")));
/// assert_eq!(found, ["sky Sunny", "days[].sky Cloudy", "tags[] new"]);
/// # Ok::<(), mcp_attune_wire::message::Unreadable>(())
/// ```
pub fn candidates(data: Value<'_>, output: Option<Part<'_>>, seen: &mut dyn FnMut(&str, &str)) {
    let format = Formatters::default().format([], TimeZone::UTC);
    let values = Values::new(&format, &OwnWords("en"));
    let tree = Tree::of(data);
    Visit { values, seen }.value(tree.root(), &Place::root(output), (Sense::Plain, None));
}

struct Visit<'v> {
    values: Values<'v>,
    seen: &'v mut dyn FnMut(&str, &str),
}

impl Visit<'_> {
    /// As deep as the data are, which the scanner has bounded.
    fn value<'a>(&mut self, value: Node<'a>, place: &Place<'a>, kind: (Sense, Option<&'a str>)) {
        match value.kind() {
            Type::Object => {
                for (name, value) in value.members() {
                    let field = Field::new(clean::read(name), place, &OwnWords("en"), false);
                    self.value(value, &field.place, (field.sense, field.format));
                }
            }
            Type::Array => {
                let items = place.items();
                for element in value.elements() {
                    self.value(element, &items, kind);
                }
            }
            Type::String => {
                let (sense, format) = kind;
                // A format is promised to programs.
                let names = format.is_some() || matches!(sense, Sense::Name | Sense::Written | Sense::Code);
                let text = value.text().map_or(Cow::Borrowed(""), clean::read);
                if !names && !self.values.is_written_anew(&text, sense) {
                    (self.seen)(place.path(), &text);
                }
            }
            _ => {}
        }
    }
}
