//! Arguments that a caller's context could fill, guessed from their names.
//!
//! 1. `tz`, `timezone` and the like are active where the schema wants any string: what the caller writes still stands, and a
//!    caller who leaves it out gets their own zone. A default of the schema is kept for callers who tell no zone.
//! 2. `locale` and `language` may mean something else, a language to translate into for instance, and servers write them in
//!    more than one way. They are proposed in comments.
//! 3. Two arguments such as `from` and `to` are proposed in comments where the schema says that they are dates or times: only
//!    whoever knows the server knows whether the last day counts.

use mcp_attune::context::IanaTimeZone;
use serde_json::Value;

use super::toml::{basic, key};

/// What could be bound of one tool.
#[derive(Debug)]
pub(super) struct ToolBindingProposal {
    pub(super) tool: String,
    pub(super) bindings: Vec<ProposedBinding>,
}

/// Lines of a configuration.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ProposedBinding {
    /// What is filled, from what.
    pub(super) about: String,
    /// Whether it is meant to be used as it is.
    pub(super) active: bool,
    /// What is to be known about it, for a comment.
    pub(super) note: String,
    pub(super) lines: Vec<String>,
}

const ZONES: [&str; 5] = ["tz", "timezone", "time_zone", "timeZone", "time-zone"];
const LOCALES: [&str; 1] = ["locale"];
const LANGUAGES: [&str; 3] = ["language", "lang", "language_code"];
const ENDS: [(&str, &str); 7] = [
    ("from", "to"),
    ("start", "end"),
    ("since", "until"),
    ("start_date", "end_date"),
    ("startDate", "endDate"),
    ("from_date", "to_date"),
    ("date_from", "date_to"),
];
/// Names of the argument that names an interval; the first that the tool does not have is taken.
const INTERVALS: [&str; 3] = ["period", "when", "time_period"];

/// Proposes bindings for tools as they were listed.
pub(super) fn propose(tools: &[Value]) -> Vec<ToolBindingProposal> {
    let proposed = tools.iter().filter_map(|tool| {
        let name = tool.get("name")?.as_str()?;
        let properties = tool.get("inputSchema")?.get("properties")?.as_object()?;
        let mut bindings: Vec<ProposedBinding> =
            properties.iter().filter_map(|(argument, schema)| propose_field(argument, schema)).collect();
        bindings.extend(propose_interval(properties));
        // What is active stands first, and comments below it.
        bindings.sort_by_key(|binding| !binding.active);
        Some(ToolBindingProposal { tool: name.to_owned(), bindings })
    });
    proposed.filter(|proposal| !proposal.bindings.is_empty()).collect()
}

/// The part of the caller's context that could fill an argument, by its name.
#[cfg(feature = "audit")]
pub(in crate::commands) fn context_source(
    argument: &str,
    schema: &Value,
) -> Option<mcp_attune::bind::BoundContextPart> {
    use mcp_attune::bind::BoundContextPart;
    match context_part(argument).filter(|_| takes_text(schema))? {
        "timezone" => Some(BoundContextPart::Timezone),
        "locale" => Some(BoundContextPart::Locale),
        _ => Some(BoundContextPart::Language),
    }
}

/// The name of the part of the context that an argument of this name takes.
fn context_part(argument: &str) -> Option<&'static str> {
    match argument {
        _ if ZONES.contains(&argument) => Some("timezone"),
        _ if LOCALES.contains(&argument) => Some("locale"),
        _ if LANGUAGES.contains(&argument) => Some("language"),
        _ => None,
    }
}

/// A binding of one argument to a part of the context.
fn propose_field(argument: &str, schema: &Value) -> Option<ProposedBinding> {
    let from = context_part(argument).filter(|_| takes_text(schema))?;
    let who = if from == "timezone" { "time zone" } else { from };
    let default = schema.get("default").and_then(Value::as_str);
    let is_zone = default.is_none_or(|default| IanaTimeZone::parse(default).is_ok());
    let active = from == "timezone" && is_zone && schema.get("enum").is_none();
    // A default that is no zone would be refused, and of the others only the server knows what they mean.
    let default = default.filter(|_| active);
    let kept = default.map(|default| format!(", default = {}", basic(default))).unwrap_or_default();
    let note = match (active, from) {
        (true, _) => {
            let otherwise = default.unwrap_or("UTC");
            format!(
                "The caller's time zone, where a call names none; {} for callers who tell none. With hide = true models do not see the argument.",
                quoted(otherwise)
            )
        }
        (false, "timezone") => "The schema allows only some values: see whether they are IANA names, such as Europe/Zurich.".to_owned(),
        (false, "locale") => "The caller's locale, such as de-CH, if that is what the server means and how it writes it.".to_owned(),
        (false, _) => "The caller's language, such as de, if that is what the server means: it may as well be one to translate into.".to_owned(),
    };
    Some(ProposedBinding {
        about: format!("{argument} from the caller's {who}"),
        active,
        note,
        lines: vec![format!("{} = {{ from = \"{from}\"{kept} }}", key(argument))],
    })
}

/// A binding of two arguments to the ends of a period.
fn propose_interval(properties: &serde_json::Map<String, Value>) -> Option<ProposedBinding> {
    let (start, end, written) = ENDS.into_iter().find_map(|(start, end)| {
        let written = date_format(properties.get(start)?)?;
        (date_format(properties.get(end)?)? == written).then_some((start, end, written))
    })?;
    let named = INTERVALS.into_iter().find(|name| !properties.contains_key(*name))?;
    let note = format!(
        "One new argument `{named}`, such as \"last week\", fills both. If `{end}` is the first moment or day after the period, write \"exclusive\"."
    );
    Some(ProposedBinding {
        about: format!("{start} and {end} from a period in words"),
        active: false,
        note,
        lines: vec![
            format!("{start} = {{ interval = \"{named}\", part = \"start\", as = \"{written}\" }}"),
            format!(
                "{end} = {{ interval = \"{named}\", part = \"end\", as = \"{written}\", end = \"inclusive\" }}"
            ),
        ],
    })
}

/// How an argument for an instant or a day is written, where its schema says so.
fn date_format(schema: &Value) -> Option<&'static str> {
    let format = schema_branches(schema).find_map(|schema| schema.get("format")?.as_str())?;
    ["date", "date-time"].into_iter().find(|form| *form == format && takes_text(schema))
}

/// Whether an argument may be a string, or a string or nothing.
fn takes_text(schema: &Value) -> bool {
    schema_branches(schema).any(|schema| match schema.get("type") {
        Some(Value::String(kind)) => kind == "string",
        Some(Value::Array(kinds)) => kinds.iter().any(|kind| kind == "string"),
        _ => false,
    })
}

/// A schema, and the branches of it: optional arguments are often written as `anyOf`.
fn schema_branches(schema: &Value) -> impl Iterator<Item = &Value> {
    let branches = schema.get("anyOf").and_then(Value::as_array).into_iter().flatten();
    std::iter::once(schema).chain(branches)
}

fn quoted(text: &str) -> String {
    crate::text::quoted(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    /// What is proposed for one tool with these arguments: active lines, and lines in comments.
    fn check(properties: &Value, active: &[&str], in_comments: &[&str]) {
        let tools = [json!({ "name": "t", "inputSchema": { "type": "object", "properties": properties } })];
        let proposals = propose(&tools);
        let bindings = || proposals.iter().flat_map(|proposal| &proposal.bindings);
        let lines = |wanted: bool| {
            bindings().filter(move |binding| binding.active == wanted).flat_map(|binding| &binding.lines)
        };
        assert_eq!(lines(true).collect::<Vec<_>>(), active);
        assert_eq!(lines(false).collect::<Vec<_>>(), in_comments);
    }

    #[test]
    fn a_time_zone_is_bound_and_keeps_the_default_of_the_schema() {
        check(&json!({ "tz": { "type": "string" } }), &["tz = { from = \"timezone\" }"], &[]);
        let optional = json!({ "timezone": { "anyOf": [{ "type": "string" }, { "type": "null" }], "default": "Europe/Bern" } });
        check(&optional, &[], &["timezone = { from = \"timezone\" }"]);
        let optional = json!({ "timezone": { "type": ["string", "null"], "default": "Europe/Zurich" } });
        check(&optional, &["timezone = { from = \"timezone\", default = \"Europe/Zurich\" }"], &[]);
    }

    #[test]
    fn what_could_mean_something_else_is_a_comment() {
        check(
            &json!({ "language": { "type": "string" }, "locale": { "type": "string", "enum": ["de_CH"] } }),
            &[],
            &["language = { from = \"language\" }", "locale = { from = \"locale\" }"],
        );
        check(
            &json!({ "tz": { "type": "string", "enum": ["CET", "EST"] } }),
            &[],
            &["tz = { from = \"timezone\" }"],
        );
        check(&json!({ "tz": { "type": "integer" }, "source_timezone": { "type": "string" } }), &[], &[]);
    }

    #[test]
    fn two_dates_are_a_period_and_two_cities_are_not() {
        let day = json!({ "type": "string", "format": "date" });
        check(
            &json!({ "from": day, "to": day, "period": {} }),
            &[],
            &[
                "from = { interval = \"when\", part = \"start\", as = \"date\" }",
                "to = { interval = \"when\", part = \"end\", as = \"date\", end = \"inclusive\" }",
            ],
        );
        check(&json!({ "from": { "type": "string" }, "to": { "type": "string" } }), &[], &[]);
        check(&json!({ "from": day }), &[], &[]);
    }
}
