//! What was asked for, what was given, and why, in words.

use std::collections::HashSet;
use std::sync::Mutex;

use mcp_attune_rmcp::{Connection, Era, UnmetPreference};
use mcp_attune_wire::message::meta::CONTENT_LANGUAGE;
use serde_json::Value;

use super::caller::{CallerFieldSource, SourcedCaller};
use crate::exit;
use crate::show::plain;

/// What was told already: the pages of a listing have one fault together.
pub(crate) type ReportedNotes = Mutex<HashSet<String>>;

/// Tells on standard error what was negotiated about a result: all of it, or what was asked for and not given.
pub(crate) fn report_result(
    connection: &Connection,
    said: &SourcedCaller,
    result: &Value,
    all: bool,
    told: &ReportedNotes,
) {
    let unmet = connection.with_profile(&said.profile).unmet_preferences(result);
    if all {
        for line in negotiation_lines(connection, said, result) {
            eprintln!("* {}", plain::line(&line));
        }
    }
    for unmet in unmet {
        // The system's language is a wish, and nobody has to be told that it did not come true.
        let asked = match unmet {
            UnmetPreference::NoLanguage { .. } | UnmetPreference::Language { .. } => {
                matches!(said.language, Some(CallerFieldSource::Option(_)))
            }
            _ => true,
        };
        let note = plain::line(&unmet.to_string());
        if (all || asked) && told.lock().is_ok_and(|mut told| told.insert(note.clone())) {
            exit::print_note(&note);
        }
    }
}

fn negotiation_lines(connection: &Connection, said: &SourcedCaller, result: &Value) -> Vec<String> {
    let mut lines = Vec::new();
    let version = connection.version();
    lines.push(match connection.era() {
        Era::Modern => format!("version {version}: the server has it, by its answer to `server/discover`"),
        _ => format!("version {version}: agreed on with `initialize`, because the server has no newer one"),
    });
    let told = result.get("_meta").and_then(|meta| meta.get(CONTENT_LANGUAGE)).and_then(Value::as_str);
    let told = told.map_or("the answer does not say which it is in".to_owned(), |told| {
        format!("the answer is in {told}")
    });
    lines.push(match (said.profile.preference(), said.language) {
        (Some(asked), Some(source)) => format!("language {asked} ({source}): {told}"),
        (Some(asked), None) => format!("language {asked}: {told}"),
        (None, _) => format!("language: none asked for; {told}"),
    });
    let tags: Vec<_> = said.profile.tags().collect();
    if !tags.is_empty() {
        let has = |name| result.get(name).is_some_and(|value| !value.is_null());
        let came = match (has("content"), has("structuredContent")) {
            (true, true) => "; the answer has content and structuredContent",
            (true, false) => "; the answer has content",
            (false, true) => "; the answer has structuredContent",
            (false, false) => "",
        };
        lines.push(format!("features {} (--feature){came}", tags.join(", ")));
    }
    if let Some((zone, source)) = said.timezone {
        lines.push(format!("timezone {} ({source}), in `_meta`", zone.name()));
    }
    if !said.context.is_empty() {
        let fields: Vec<_> = said.context.iter().map(|(name, source)| format!("{name} ({source})")).collect();
        lines.push(format!("context {}, in `_meta`", fields.join(", ")));
    }
    lines
}
