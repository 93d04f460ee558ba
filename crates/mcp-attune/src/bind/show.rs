//! A listing as callers are shown it: what is hidden is gone from schemas, and what names an interval is in them.
//!
//! A hidden argument is taken out wherever a schema speaks of the arguments themselves: `properties`, `required`, what
//! depends on it, and the branches of `allOf`, `anyOf` and `oneOf`. What is left must let pass whatever the server would
//! take, so a condition on a hidden argument (`if`, `not`) is taken out as a whole, and of several that exclude each
//! other (`oneOf`) more than one may hold. Whatever else the server refuses is for the server to say. `$ref` is not
//! followed.

use std::sync::LazyLock;

use mcp_attune_wire::json::{ByteSpan, JsonKind, JsonQuoted, JsonString, SpannedValue};
use mcp_attune_wire::message::{Message, MessageKind};

use super::{ArgumentFill, Binding, Bindings, BoundTool};
use crate::when::{ExpressionLanguage, When};

type SchemaEdits = Vec<(ByteSpan, String)>;

impl Bindings {
    /// What changes in the answer to a `tools/list`; nothing in any other message.
    ///
    /// Rules: C9.
    #[must_use]
    pub fn edits_for_listing(&self, answer: &Message<'_>) -> Vec<(ByteSpan, String)> {
        self.edits_with_descriptions(answer, |_, _| None)
    }

    /// The same, with descriptions of intervals that are not ours: `describe` has the tool and the argument, and gives the
    /// text as it is written into a message.
    pub(crate) fn edits_with_descriptions(
        &self,
        answer: &Message<'_>,
        describe: impl Fn(&str, &str) -> Option<String>,
    ) -> Vec<(ByteSpan, String)> {
        let mut edits = Vec::new();
        if self.is_empty() || answer.kind() != MessageKind::Answer {
            return edits;
        }
        for tool in listed_tools(answer) {
            let name = tool.member("name").and_then(SpannedValue::text).and_then(JsonString::decode);
            let Some(name) = name else { continue };
            if let (Some(bound), Some(schema)) = (self.tool(&name), tool.member("inputSchema")) {
                bound.edit_schema(schema, &|interval| describe(&name, interval), &mut edits);
            }
        }
        edits
    }
}

/// The tools in an answer, if it lists any.
pub(super) fn listed_tools<'a>(answer: &Message<'a>) -> impl Iterator<Item = SpannedValue<'a>> + use<'a> {
    answer
        .member("result")
        .and_then(|result| result.member("tools"))
        .into_iter()
        .flat_map(SpannedValue::elements)
}

impl BoundTool {
    /// Whether callers do not see an argument of the server's. One with the name of an interval gives way to it.
    fn hides(&self, name: JsonString<'_>) -> bool {
        self.arguments.iter().any(|(argument, binding)| binding.hide && name.is(argument))
            || self.intervals.iter().any(|interval| name.is(interval))
    }

    /// Whether callers need not write an argument that the server wants.
    fn is_optional_for_callers(&self, name: JsonString<'_>) -> bool {
        let filled = |(argument, binding): &(String, Binding)| {
            name.is(argument)
                && (binding.always_has_value() || matches!(binding.fills, ArgumentFill::Interval { .. }))
        };
        self.hides(name) || self.arguments.iter().any(filled)
    }

    fn has_optional_arguments(&self) -> bool {
        let spared = |(_, binding): &(String, Binding)| {
            binding.hide
                || binding.always_has_value()
                || matches!(binding.fills, ArgumentFill::Interval { .. })
        };
        self.arguments.iter().any(spared)
    }

    fn edit_schema(
        &self,
        schema: SpannedValue<'_>,
        describe: &dyn Fn(&str) -> Option<String>,
        edits: &mut SchemaEdits,
    ) {
        if schema.kind() != JsonKind::Object {
            return;
        }
        let properties = self
            .intervals
            .iter()
            .map(|name| self.interval_property(name, describe(name)))
            .collect::<Vec<_>>()
            .join(",");
        let required: Vec<_> =
            self.intervals.iter().filter(|name| self.must_name_interval(name, schema)).collect();
        let required =
            required.into_iter().map(|name| JsonQuoted(name).to_string()).collect::<Vec<_>>().join(",");
        let stays =
            self.narrow(schema, &SchemaAdditions { properties: &properties, required: &required }, edits);
        if !properties.is_empty() && schema.member("properties").is_none() {
            let comma = if stays { "," } else { "" };
            edits.push((schema.opening(), format!("\"properties\":{{{properties}}}{comma}")));
        }
    }

    /// Whether an interval has to be named, because the server wants what it fills and callers do not see that.
    fn must_name_interval(&self, interval: &str, schema: SpannedValue<'_>) -> bool {
        let wanted = |argument: &str| {
            let required = schema.member("required").into_iter().flat_map(SpannedValue::elements);
            required.filter_map(SpannedValue::text).any(|name| name.is(argument))
        };
        self.filled_by(interval).any(|(argument, binding)| binding.hide && wanted(argument))
    }

    /// The schema of an argument that names an interval.
    fn interval_property(&self, interval: &str, description: Option<String>) -> String {
        let names = |seen: bool| {
            let names = self.filled_by(interval).filter(|(_, binding)| !seen || !binding.hide);
            names.map(|(argument, _)| format!("`{argument}`")).collect::<Vec<_>>().join(" and ")
        };
        let mut text = format!("{} Sets {}.", *INTERVAL_DESCRIPTION, names(false));
        let seen = names(true);
        if !seen.is_empty() {
            text += &format!(" Leave it out to write {seen} instead.");
        }
        let text = description.unwrap_or_else(|| JsonQuoted(&text).to_string());
        let (most, name) = (When::MAX_LEN, JsonQuoted(interval));
        format!("{name}:{{\"type\":\"string\",\"maxLength\":{most},\"description\":{text}}}")
    }

    /// Takes what is hidden or spared out of a schema of the arguments, and adds to it. Whether a keyword stays.
    ///
    /// Schemas nest at most as deep as the scanner reads, so this recursion is bounded.
    fn narrow(&self, schema: SpannedValue<'_>, added: &SchemaAdditions<'_>, edits: &mut SchemaEdits) -> bool {
        let goes = self.removed_keywords(schema, added);
        edits.extend(removal_edits(schema.cut_members(|name| goes.iter().any(|keyword| name.is(keyword)))));
        let mut stays = false;
        for (name, value) in schema.members() {
            let Some(name) = name.decode().filter(|name| !goes.contains(&&**name)) else { continue };
            stays = true;
            match (&*name, value.kind()) {
                ("properties", JsonKind::Object) => {
                    edits.extend(removal_edits(value.cut_members(|name| self.hides(name))));
                    let more = value.members().any(|(name, _)| !self.hides(name));
                    edits.extend(insert_first(value, added.properties, more));
                }
                ("required", JsonKind::Array) => {
                    let spared = |value: SpannedValue<'_>| {
                        value.text().is_some_and(|name| self.is_optional_for_callers(name))
                    };
                    edits.extend(removal_edits(value.cut_elements(spared)));
                    let more = value.elements().any(|value| !spared(value));
                    edits.extend(insert_first(value, added.required, more));
                }
                ("dependentRequired" | "dependentSchemas" | "dependencies", JsonKind::Object) => {
                    edits.extend(removal_edits(value.cut_members(|name| self.hides(name))));
                    for (_, value) in value.members().filter(|(name, _)| !self.hides(*name)) {
                        let spared = |value: SpannedValue<'_>| {
                            value.text().is_some_and(|name| self.is_optional_for_callers(name))
                        };
                        edits.extend(removal_edits(value.cut_elements(spared)));
                        self.narrow(value, &SchemaAdditions::NOTHING, edits);
                    }
                }
                ("allOf" | "anyOf" | "oneOf", JsonKind::Array) => {
                    let before = edits.len();
                    for branch in value.elements() {
                        self.narrow(branch, &SchemaAdditions::NOTHING, edits);
                    }
                    // Branches that exclude each other by what is hidden can no longer be told apart.
                    if name == "oneOf" && edits.len() > before {
                        edits.extend(schema.name_span("oneOf").map(|place| (place, "anyOf".to_owned())));
                    }
                }
                ("then" | "else", _) => {
                    self.narrow(value, &SchemaAdditions::NOTHING, edits);
                }
                _ => {}
            }
        }
        stays
    }

    /// The keywords of a schema that are taken out as a whole.
    fn removed_keywords(&self, schema: SpannedValue<'_>, added: &SchemaAdditions<'_>) -> Vec<&'static str> {
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
        if self.has_optional_arguments() {
            goes.push("minProperties");
        }
        if added.required.is_empty()
            && let Some(required) = schema.member("required").filter(|value| value.kind() == JsonKind::Array)
            && required.elements().next().is_some()
            && required
                .elements()
                .all(|value| value.text().is_some_and(|name| self.is_optional_for_callers(name)))
        {
            // An empty list is no list in older drafts.
            goes.push("required");
        }
        goes
    }

    /// Whether a schema of the arguments, or a list of them, names one that is hidden or spared.
    fn is_named_in(&self, schema: SpannedValue<'_>) -> bool {
        let in_schema = |(name, value): (JsonString<'_>, SpannedValue<'_>)| match (
            name.decode().as_deref(),
            value.kind(),
        ) {
            (Some("properties"), JsonKind::Object) => value.members().any(|(name, _)| self.hides(name)),
            (Some("required"), JsonKind::Array) => {
                value.elements().filter_map(SpannedValue::text).any(|name| self.is_optional_for_callers(name))
            }
            (Some("minProperties"), _) => self.has_optional_arguments(),
            (Some("dependentRequired" | "dependentSchemas" | "dependencies"), JsonKind::Object) => {
                value.members().any(|(name, value)| self.hides(name) || self.is_named_in(value))
            }
            (Some("allOf" | "anyOf" | "oneOf" | "not" | "if" | "then" | "else"), _) => {
                self.is_named_in(value)
            }
            _ => false,
        };
        schema.members().any(in_schema)
            || schema.elements().any(|value| match value.text() {
                Some(name) => self.is_optional_for_callers(name),
                None => self.is_named_in(value),
            })
    }
}

/// What can be written for an interval, in the words of a description.
static INTERVAL_DESCRIPTION: LazyLock<String> = LazyLock::new(|| {
    format!(
        "A span of time in words, by the calendar and the time zone of whoever asks: today, yesterday, \
    this week, last month, next quarter, last 3 days, 2 weeks ago, last monday, year to date, 2026-11-12, 2026-11, 2026, \
    2026-Q4, 2026-W46, or two of them with `to` between. English, or {} where that is their language.",
        ExpressionLanguage::enumerated("or")
    )
});

/// What is added to a schema, as JSON without its brackets.
struct SchemaAdditions<'a> {
    properties: &'a str,
    required: &'a str,
}

impl SchemaAdditions<'static> {
    const NOTHING: Self = Self { properties: "", required: "" };
}

fn removal_edits(places: Vec<ByteSpan>) -> impl Iterator<Item = (ByteSpan, String)> {
    places.into_iter().map(|place| (place, String::new()))
}

/// Puts something first into an object or a list, with a comma where there is more.
fn insert_first(holder: SpannedValue<'_>, text: &str, more: bool) -> Option<(ByteSpan, String)> {
    let comma = if more { "," } else { "" };
    (!text.is_empty()).then(|| (holder.opening(), format!("{text}{comma}")))
}
