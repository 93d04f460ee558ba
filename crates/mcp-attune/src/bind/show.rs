//! A listing as callers are shown it: what is hidden is gone from schemas, and what names an interval is in them.
//!
//! A hidden argument is taken out wherever a schema speaks of the arguments themselves: `properties`, `required`, what
//! depends on it, and the branches of `allOf`, `anyOf` and `oneOf`. What is left must let pass whatever the server would
//! take, so a condition on a hidden argument (`if`, `not`) is taken out as a whole, and of several that exclude each
//! other (`oneOf`) more than one may hold. Whatever else the server refuses is for the server to say. `$ref` is not
//! followed.

use mcp_attune_wire::json::{Quoted, Span, Text, Type, Value};
use mcp_attune_wire::message::{Kind, Message};

use super::{Binding, Bindings, Fills, Tool};
use crate::when::When;

type Edits = Vec<(Span, String)>;

impl Bindings {
    /// What changes in the answer to a `tools/list`; nothing in any other message.
    ///
    /// Rules: C9.
    #[must_use]
    pub fn show(&self, answer: &Message<'_>) -> Vec<(Span, String)> {
        self.show_described(answer, |_, _| None)
    }

    /// The same, with descriptions of intervals that are not ours: `describe` has the tool and the argument, and gives the
    /// text as it is written into a message.
    pub(crate) fn show_described(
        &self,
        answer: &Message<'_>,
        describe: impl Fn(&str, &str) -> Option<String>,
    ) -> Vec<(Span, String)> {
        let mut edits = Vec::new();
        if self.is_empty() || answer.kind() != Kind::Answer {
            return edits;
        }
        for tool in listed(answer) {
            let name = tool.member("name").and_then(Value::text).and_then(Text::decode);
            let Some(name) = name else { continue };
            if let (Some(bound), Some(schema)) = (self.tool(&name), tool.member("inputSchema")) {
                bound.show(schema, &|interval| describe(&name, interval), &mut edits);
            }
        }
        edits
    }
}

/// The tools in an answer, if it lists any.
pub(super) fn listed<'a>(answer: &Message<'a>) -> impl Iterator<Item = Value<'a>> + use<'a> {
    answer.member("result").and_then(|result| result.member("tools")).into_iter().flat_map(Value::elements)
}

impl Tool {
    /// Whether callers do not see an argument of the server's. One with the name of an interval gives way to it.
    fn hides(&self, name: Text<'_>) -> bool {
        self.arguments.iter().any(|(argument, binding)| binding.hide && name.is(argument))
            || self.intervals.iter().any(|interval| name.is(interval))
    }

    /// Whether callers need not write an argument that the server wants.
    fn spares(&self, name: Text<'_>) -> bool {
        let filled = |(argument, binding): &(String, Binding)| {
            name.is(argument) && (binding.is_sure() || matches!(binding.fills, Fills::Interval { .. }))
        };
        self.hides(name) || self.arguments.iter().any(filled)
    }

    fn spares_some(&self) -> bool {
        let spared = |(_, binding): &(String, Binding)| {
            binding.hide || binding.is_sure() || matches!(binding.fills, Fills::Interval { .. })
        };
        self.arguments.iter().any(spared)
    }

    fn show(&self, schema: Value<'_>, describe: &dyn Fn(&str) -> Option<String>, edits: &mut Edits) {
        if schema.kind() != Type::Object {
            return;
        }
        let properties = self
            .intervals
            .iter()
            .map(|name| self.property(name, describe(name)))
            .collect::<Vec<_>>()
            .join(",");
        let required: Vec<_> = self.intervals.iter().filter(|name| self.must_name(name, schema)).collect();
        let required =
            required.into_iter().map(|name| Quoted(name).to_string()).collect::<Vec<_>>().join(",");
        let stays = self.narrow(schema, &Added { properties: &properties, required: &required }, edits);
        if !properties.is_empty() && schema.member("properties").is_none() {
            let comma = if stays { "," } else { "" };
            edits.push((schema.opening(), format!("\"properties\":{{{properties}}}{comma}")));
        }
    }

    /// Whether an interval has to be named, because the server wants what it fills and callers do not see that.
    fn must_name(&self, interval: &str, schema: Value<'_>) -> bool {
        let wanted = |argument: &str| {
            let required = schema.member("required").into_iter().flat_map(Value::elements);
            required.filter_map(Value::text).any(|name| name.is(argument))
        };
        self.filled_by(interval).any(|(argument, binding)| binding.hide && wanted(argument))
    }

    /// The schema of an argument that names an interval.
    fn property(&self, interval: &str, description: Option<String>) -> String {
        let names = |seen: bool| {
            let names = self.filled_by(interval).filter(|(_, binding)| !seen || !binding.hide);
            names.map(|(argument, _)| format!("`{argument}`")).collect::<Vec<_>>().join(" and ")
        };
        let mut text = format!("{WRITABLE} Sets {}.", names(false));
        let seen = names(true);
        if !seen.is_empty() {
            text += &format!(" Leave it out to write {seen} instead.");
        }
        let text = description.unwrap_or_else(|| Quoted(&text).to_string());
        let (most, name) = (When::MAX_LEN, Quoted(interval));
        format!("{name}:{{\"type\":\"string\",\"maxLength\":{most},\"description\":{text}}}")
    }

    /// Takes what is hidden or spared out of a schema of the arguments, and adds to it. Whether a keyword stays.
    ///
    /// Schemas nest at most as deep as the scanner reads, so this recursion is bounded.
    fn narrow(&self, schema: Value<'_>, added: &Added<'_>, edits: &mut Edits) -> bool {
        let goes = self.keywords_that_go(schema, added);
        edits.extend(cut(schema.cut_members(|name| goes.iter().any(|keyword| name.is(keyword)))));
        let mut stays = false;
        for (name, value) in schema.members() {
            let Some(name) = name.decode().filter(|name| !goes.contains(&&**name)) else { continue };
            stays = true;
            match (&*name, value.kind()) {
                ("properties", Type::Object) => {
                    edits.extend(cut(value.cut_members(|name| self.hides(name))));
                    let more = value.members().any(|(name, _)| !self.hides(name));
                    edits.extend(first(value, added.properties, more));
                }
                ("required", Type::Array) => {
                    let spared = |value: Value<'_>| value.text().is_some_and(|name| self.spares(name));
                    edits.extend(cut(value.cut_elements(spared)));
                    let more = value.elements().any(|value| !spared(value));
                    edits.extend(first(value, added.required, more));
                }
                ("dependentRequired" | "dependentSchemas" | "dependencies", Type::Object) => {
                    edits.extend(cut(value.cut_members(|name| self.hides(name))));
                    for (_, value) in value.members().filter(|(name, _)| !self.hides(*name)) {
                        let spared = |value: Value<'_>| value.text().is_some_and(|name| self.spares(name));
                        edits.extend(cut(value.cut_elements(spared)));
                        self.narrow(value, &Added::NOTHING, edits);
                    }
                }
                ("allOf" | "anyOf" | "oneOf", Type::Array) => {
                    let before = edits.len();
                    for branch in value.elements() {
                        self.narrow(branch, &Added::NOTHING, edits);
                    }
                    // Branches that exclude each other by what is hidden can no longer be told apart.
                    if name == "oneOf" && edits.len() > before {
                        edits.extend(schema.name_span("oneOf").map(|place| (place, "anyOf".to_owned())));
                    }
                }
                ("then" | "else", _) => {
                    self.narrow(value, &Added::NOTHING, edits);
                }
                _ => {}
            }
        }
        stays
    }

    /// The keywords of a schema that are taken out as a whole.
    fn keywords_that_go(&self, schema: Value<'_>, added: &Added<'_>) -> Vec<&'static str> {
        let mut goes = Vec::new();
        let names = |keyword: &str| schema.member(keyword).is_some_and(|value| self.is_named_in(value));
        if names("if") {
            goes.extend(["if", "then", "else"]);
        }
        if names("not") {
            goes.push("not");
        }
        if names("oneOf") && schema.member("anyOf").is_some() {
            goes.push("oneOf");
        }
        // How many arguments the server wants says nothing of how many its callers write.
        if self.spares_some() {
            goes.push("minProperties");
        }
        if added.required.is_empty()
            && let Some(required) = schema.member("required").filter(|value| value.kind() == Type::Array)
            && required.elements().next().is_some()
            && required.elements().all(|value| value.text().is_some_and(|name| self.spares(name)))
        {
            // An empty list is no list in older drafts.
            goes.push("required");
        }
        goes
    }

    /// Whether a schema of the arguments, or a list of them, names one that is hidden or spared.
    fn is_named_in(&self, schema: Value<'_>) -> bool {
        let in_schema = |(name, value): (Text<'_>, Value<'_>)| match (name.decode().as_deref(), value.kind())
        {
            (Some("properties"), Type::Object) => value.members().any(|(name, _)| self.hides(name)),
            (Some("required"), Type::Array) => {
                value.elements().filter_map(Value::text).any(|name| self.spares(name))
            }
            (Some("minProperties"), _) => self.spares_some(),
            (Some("dependentRequired" | "dependentSchemas" | "dependencies"), Type::Object) => {
                value.members().any(|(name, value)| self.hides(name) || self.is_named_in(value))
            }
            (Some("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else"), _) => {
                self.is_named_in(value)
            }
            _ => false,
        };
        schema.members().any(in_schema)
            || schema.elements().any(|value| match value.text() {
                Some(name) => self.spares(name),
                None => self.is_named_in(value),
            })
    }
}

/// What can be written for an interval, in the words of a description.
const WRITABLE: &str = "A span of time in words, by the calendar and the time zone of whoever asks: today, yesterday, \
    this week, last month, next quarter, last 3 days, 2 weeks ago, last monday, year to date, 2026-11-12, 2026-11, 2026, \
    2026-Q4, 2026-W46, or two of them with `to` between. English, or German, French, Italian, Spanish, Portuguese or \
    Japanese where that is their language.";

/// What is added to a schema, as JSON without its brackets.
struct Added<'a> {
    properties: &'a str,
    required: &'a str,
}

impl Added<'static> {
    const NOTHING: Self = Self { properties: "", required: "" };
}

fn cut(places: Vec<Span>) -> impl Iterator<Item = (Span, String)> {
    places.into_iter().map(|place| (place, String::new()))
}

/// Puts something first into an object or a list, with a comma where there is more.
fn first(holder: Value<'_>, text: &str, more: bool) -> Option<(Span, String)> {
    let comma = if more { "," } else { "" };
    (!text.is_empty()).then(|| (holder.opening(), format!("{text}{comma}")))
}
