//! The values that an `outputSchema` lists: words that a result may hold, which people would like to read in their language.
//!
//! Rules: L22.

use mcp_attune_wire::json::{JsonKind, JsonString, SpannedValue};

/// Visits every string under `enum`, `const` and `examples`, with the way to the field that holds it. The way is written as
/// for titles: `filter.city`, `[]` for what is in a list, `*` for any other property, `$defs.Place` for a definition.
/// What alternatives allow (`anyOf`, `oneOf`) belongs to the field that they are alternatives of.
pub(super) fn visit_listed_strings(schema: SpannedValue<'_>, seen: &mut dyn FnMut(&str, &str)) {
    walk(schema, &mut String::new(), seen);
}

/// As deep as the text is, which the scanner has bounded.
fn walk(schema: SpannedValue<'_>, path: &mut String, seen: &mut dyn FnMut(&str, &str)) {
    for (name, value) in schema.members() {
        let Some(name) = name.decode() else { continue };
        match &*name {
            "enum" | "examples" => value.elements().for_each(|value| visit_string(value, path, seen)),
            "const" => visit_string(value, path, seen),
            "properties" => {
                for (name, schema) in value.members() {
                    if let Some(name) = name.decode() {
                        step(schema, path, &name, seen);
                    }
                }
            }
            "items" | "contains" if value.kind() == JsonKind::Object => step(value, path, "[]", seen),
            "items" | "prefixItems" => value.elements().for_each(|schema| step(schema, path, "[]", seen)),
            "additionalProperties" => step(value, path, "*", seen),
            "allOf" | "anyOf" | "oneOf" => value.elements().for_each(|schema| walk(schema, path, seen)),
            "if" | "then" | "else" => walk(value, path, seen),
            "$defs" | "definitions" => {
                for (name, schema) in value.members() {
                    if let Some(name) = name.decode() {
                        step(schema, &mut "$defs".to_owned(), &name, seen);
                    }
                }
            }
            _ => {}
        }
    }
}

fn visit_string(value: SpannedValue<'_>, path: &str, seen: &mut dyn FnMut(&str, &str)) {
    if let Some(text) = value.text().and_then(JsonString::decode) {
        seen(path, &text);
    }
}

fn step(schema: SpannedValue<'_>, path: &mut String, name: &str, seen: &mut dyn FnMut(&str, &str)) {
    let length = path.len();
    if length > 0 && name != "[]" {
        path.push('.');
    }
    path.push_str(name);
    walk(schema, path, seen);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    #[test]
    fn finds_what_a_schema_lists_with_the_way_to_its_field() {
        let schema = r##"{"properties":{
            "wind":{"type":"string","enum":["north","south",7]},
            "sky":{"examples":["Sunny"],"default":"no","description":"no"},
            "days":{"items":{"properties":{"sky":{"const":"Cloudy"}}}},
            "tags":{"items":{"enum":["new"]}},
            "state":{"anyOf":[{"enum":["open"]},{"type":"null"}]},
            "kind":{"oneOf":[{"const":"a","title":"no"},{"const":"b"}]},
            "way":{"$ref":"#/$defs/Way"},
            "any":{"additionalProperties":{"enum":["x"]}}},
            "$defs":{"Way":{"enum":["left"]}},"required":["no"]}"##;
        let message = Message::parse(schema.as_bytes()).unwrap();
        let mut found = Vec::new();
        visit_listed_strings(message.body(), &mut |path, text| found.push(format!("{path} {text}")));
        assert_eq!(
            found,
            [
                "wind north",
                "wind south",
                "sky Sunny",
                "days[].sky Cloudy",
                "tags[] new",
                "state open",
                "kind a",
                "kind b",
                "any.* x",
                "$defs.Way left",
            ]
        );
    }
}
