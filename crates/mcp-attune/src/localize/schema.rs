//! The titles and descriptions in a JSON Schema, each with the way to it.

use mcp_attune_wire::json::{JsonKind, JsonWalker, SpannedValue};

use crate::catalog::LocaleField;

/// Visits the title and description of every property. Only schema positions are looked into, so that nothing under
/// `enum`, `const`, `default` or `examples` is taken for text, and no property for a keyword that it is named like.
///
/// The way to a property is made of names: `filter.city`; `[]` for what is in a list, `*` for any other property, and
/// `$defs.Place` for a definition. What alternatives say of themselves (`oneOf`, `if`) has no name, and is left alone; the
/// properties in them have theirs.
pub(super) fn visit_titles_and_descriptions<'a>(
    schema: SpannedValue<'a>,
    mut seen: impl FnMut(&str, LocaleField, SpannedValue<'a>),
) {
    walk(&mut schema.walk(), &mut String::new(), false, &mut seen);
}

/// As deep as the text is, which the scanner has bounded.
fn walk<'a>(
    place: &mut JsonWalker<'a>,
    path: &mut String,
    named: bool,
    seen: &mut dyn FnMut(&str, LocaleField, SpannedValue<'a>),
) {
    place.members(|name, place| {
        let Some(name) = name.decode() else { return };
        match &*name {
            "title" | "description" if named && place.kind() == JsonKind::String => {
                let field = if name == "title" { LocaleField::Title } else { LocaleField::Description };
                seen(path, field, place.value());
            }
            "properties" => place.members(|name, place| {
                if let Some(name) = name.decode() {
                    step(place, path, &name, seen);
                }
            }),
            "items" | "contains" if place.kind() == JsonKind::Object => step(place, path, "[]", seen),
            "items" | "prefixItems" => place.elements(|place| step(place, path, "[]", seen)),
            "additionalProperties" => step(place, path, "*", seen),
            "allOf" | "anyOf" | "oneOf" => place.elements(|place| walk(place, path, false, seen)),
            "if" | "then" | "else" | "not" => walk(place, path, false, seen),
            "$defs" | "definitions" => place.members(|name, place| {
                if let Some(name) = name.decode() {
                    step(place, &mut "$defs".to_owned(), &name, seen);
                }
            }),
            _ => {}
        }
    });
}

fn step<'a>(
    place: &mut JsonWalker<'a>,
    path: &mut String,
    name: &str,
    seen: &mut dyn FnMut(&str, LocaleField, SpannedValue<'a>),
) {
    let length = path.len();
    if length > 0 && name != "[]" {
        path.push('.');
    }
    path.push_str(name);
    walk(place, path, true, seen);
    path.truncate(length);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mcp_attune_wire::message::Message;

    #[test]
    fn finds_the_way_to_every_title_and_description() {
        let schema = r#"{"title":"Root","description":"root","type":"object","properties":{
            "city":{"type":"string","title":"A","description":"B","enum":["title"],"default":{"title":{"title":"no"}}},
            "title":{"description":"C"},
            "filter":{"properties":{"near":{"description":"D","const":{"near":{"description":"no"}}}}},
            "stops":{"items":{"title":"E","properties":{"name":{"title":"F"}}}},
            "pair":{"prefixItems":[{"title":"G"}],"examples":[{"x":{"title":"no"}}]},
            "kind":{"oneOf":[{"const":"x","title":"no"},{"properties":{"deep":{"title":"H"}}}]},
            "odd":{"title":7,"description":{"title":"no"}},
            "any":{"additionalProperties":{"title":"I"}}},
            "$defs":{"Place":{"description":"J","properties":{"lat":{"title":"K"}}}},"required":["title"]}"#;
        let message = Message::parse(schema.as_bytes()).unwrap();
        let mut found = Vec::new();
        visit_titles_and_descriptions(message.body(), |path, field, value| {
            found.push(format!("{path} {} {}", field.as_str(), value.raw()));
        });
        assert_eq!(
            found,
            [
                "city title \"A\"",
                "city description \"B\"",
                "title description \"C\"",
                "filter.near description \"D\"",
                "stops[] title \"E\"",
                "stops[].name title \"F\"",
                "pair[] title \"G\"",
                "kind.deep title \"H\"",
                "any.* title \"I\"",
                "$defs.Place description \"J\"",
                "$defs.Place.lat title \"K\"",
            ]
        );
    }
}
