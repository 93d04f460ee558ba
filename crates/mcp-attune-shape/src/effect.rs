//! Describes in words what a feature tag does to the results of one tool, as far as the tool's listing tells.

use mcp_attune::features::FeaturePreferences;

use super::compiled_schema::Subschema;
use crate::shape::ResultSchema;

/// Describes what a tag does to the results of a tool for which the operator wrote no templates.
///
/// The text is a phrase for operators, which `attune features describe` prints for each tool. Returns `None`
/// for a tag that does nothing to results (`roots`, vendors' tags, tags with `!`) and for unknown or
/// malformed ones. The description of a verbosity assumes that a format is asked for as well: without one,
/// results are not shaped.
///
/// ```
/// use mcp_attune_shape::{ResultSchema, effect_on_tool};
///
/// let does = effect_on_tool("format=json", &ResultSchema::None).unwrap();
/// assert!(does.contains("a single text block that is JSON"), "{does}");
/// assert_eq!(effect_on_tool("roots", &ResultSchema::None), None);
/// ```
///
/// Rules: F5–F9.
#[must_use]
pub fn effect_on_tool(tag: &str, schema: &ResultSchema) -> Option<String> {
    let root = schema.output().map(crate::compiled_schema::CompiledSchema::root);
    let unsure = || match schema {
        ResultSchema::Unknown => "its outputSchema cannot be used: ".to_owned(),
        _ => "no outputSchema: ".to_owned(),
    };
    if let Some(format) = FeaturePreferences::read([tag]).format() {
        return Some(match root {
            Some(root) if format.is_structured() => {
                format!("structured content alone{}; its text blocks go", fields(root))
            }
            Some(root) => {
                format!("{} made from its data{}; no structured content", format.noun(), fields(root))
            }
            None if format.is_structured() => {
                unsure() + "a single text block that is JSON becomes structured content; prose stays as it is"
            }
            None => format!(
                "{}data, also in a single text block that is JSON, becomes {}; prose stays as it is",
                unsure(),
                format.noun()
            ),
        });
    }
    Some(match (tag, root) {
        ("verbosity=compact", Some(root)) => compact(root),
        ("verbosity=compact", None) => {
            unsure() + "data comes without nulls and empty values; prose stays as it is"
        }
        ("verbosity=standard", _) => "nothing: results stay as they are".to_owned(),
        ("verbosity=verbose", Some(root)) => verbose(root),
        ("verbosity=verbose", None) => unsure() + "there are no descriptions to add",
        _ => return None,
    })
}

/// Returns `, 3 fields` for the number of properties that the schema names, and nothing if it names none.
fn fields(root: Subschema<'_>) -> String {
    match root.properties().map_or(0, serde_json::Map::len) {
        0 => String::new(),
        1 => ", 1 field".to_owned(),
        count => format!(", {count} fields"),
    }
}

fn compact(root: Subschema<'_>) -> String {
    let names = root.properties().into_iter().flat_map(serde_json::Map::keys);
    let required: Vec<_> = names.filter(|name| root.requires(name)).map(|name| format!("`{name}`")).collect();
    let all = root.properties().map_or(0, serde_json::Map::len);
    match required.len() {
        0 => "leaves out nulls and empty values".to_owned(),
        count if count == all => {
            "leaves nothing out of the top level: the schema requires all of it".to_owned()
        }
        _ => format!("leaves out nulls and empty values, but for the required {}", first_few(&required)),
    }
}

fn verbose(root: Subschema<'_>) -> String {
    let names = root.properties().into_iter().flat_map(serde_json::Map::keys);
    let described = names.filter(|name| root.property(name).is_some_and(|it| it.description().is_some()));
    match described.count() {
        0 => "no field has a description to add".to_owned(),
        1 => "adds the description of 1 field to Markdown and plain text".to_owned(),
        count => format!("adds the descriptions of {count} fields to Markdown and plain text"),
    }
}

/// Joins up to five names, and says how many more there are.
fn first_few(names: &[String]) -> String {
    const MAX_SHOWN_NAMES: usize = 5;
    let shown = names.iter().take(MAX_SHOWN_NAMES).cloned().collect::<Vec<_>>().join(", ");
    if names.len() > MAX_SHOWN_NAMES {
        format!("{shown} and {} more", names.len() - MAX_SHOWN_NAMES)
    } else {
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::compiled_schema::CompiledSchema;

    #[track_caller]
    fn check(tag: &str, schema: Option<&str>, expected: &str) {
        let known = |schema| ResultSchema::Known(CompiledSchema::read(schema).unwrap().into());
        let does = effect_on_tool(tag, &schema.map_or(ResultSchema::None, known)).unwrap();
        assert!(does.contains(expected), "{tag}: {does}");
    }

    #[test]
    fn what_a_tag_does_depends_on_what_the_tool_promises() {
        let weather = r#"{"type":"object","properties":{"city":{"type":"string","description":"Where"},"note":{"type":"string"}},"required":["city"]}"#;
        check("format=json", Some(weather), "structured content alone, 2 fields");
        check("human", Some(weather), "Markdown made from its data, 2 fields");
        check("format=text", None, "prose stays as it is");
        check("verbosity=compact", Some(weather), "but for the required `city`");
        check("verbosity=compact", Some(r#"{"properties":{"a":{}},"required":["a"]}"#), "requires all of it");
        check("verbosity=verbose", Some(weather), "the description of 1 field");
        check("verbosity=verbose", Some("{}"), "no field has a description");
        for tag in ["sampling", "tasks", "x-acme", "!human", "format=xml"] {
            assert_eq!(effect_on_tool(tag, &ResultSchema::None), None, "{tag}");
        }
    }
}
