//! The schema walk against a slow one over serde_json's tree.
#![no_main]

use std::collections::BTreeMap;

use libfuzzer_sys::fuzz_target;
use mcp_attune_wire::message::Message;
use mcp_attune_wire::schema::{DeclaredHeaders, HeaderDeclarationFault};
use serde_json::Value;

fuzz_target!(|schema: &[u8]| {
    let ours = DeclaredHeaders::read(schema);
    // One reader decides what is readable: duplicate names and depth are its own fuzz target's work.
    if Message::parse(schema).is_err() {
        assert!(matches!(ours.unwrap_err().why, HeaderDeclarationFault::Unreadable(_)));
        return;
    }
    let Ok(tree) = serde_json::from_slice::<Value>(schema) else { return };
    let mut found = Vec::new();
    let valid = walk(&tree, Some(Vec::new()), &mut found);
    match ours {
        Ok(declared) => {
            assert!(valid, "the slow walk finds a fault");
            let ours: BTreeMap<_, _> = declared
                .iter()
                .map(|one| (one.token().to_lowercase(), one.path().map(String::from).collect()))
                .collect();
            let theirs: BTreeMap<String, Vec<String>> = found.into_iter().collect();
            assert_eq!(ours, theirs);
        }
        Err(invalid) if matches!(invalid.why, HeaderDeclarationFault::Repeated) => {
            let mut names: Vec<_> = found.into_iter().map(|(name, _)| name).collect();
            names.sort();
            assert!(names.windows(2).any(|pair| pair[0] == pair[1]));
        }
        Err(invalid) => assert!(!valid, "the slow walk finds no fault: {invalid}"),
    }
});

fn walk(schema: &Value, path: Option<Vec<String>>, found: &mut Vec<(String, Vec<String>)>) -> bool {
    let Some(map) = schema.as_object() else { return true };
    let mut valid = true;
    if let Some(annotation) = map.get("x-mcp-header") {
        let token = annotation.as_str().filter(|token| {
            !token.is_empty()
                && token.bytes().all(|b| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b))
        });
        let kind = matches!(map.get("type").and_then(Value::as_str), Some("string" | "integer" | "boolean"));
        match (&path, token) {
            (Some(path), Some(token)) if !path.is_empty() && kind => {
                found.push((token.to_lowercase(), path.clone()))
            }
            _ => valid = false,
        }
    }
    for (key, value) in map {
        match (key.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                for (name, schema) in properties {
                    let longer = path.clone().map(|mut path| {
                        path.push(name.clone());
                        path
                    });
                    valid &= walk(schema, longer, found);
                }
            }
            (
                "items"
                | "contains"
                | "unevaluatedItems"
                | "additionalProperties"
                | "propertyNames"
                | "unevaluatedProperties"
                | "not"
                | "if"
                | "then"
                | "else"
                | "contentSchema",
                schema,
            ) => valid &= walk(schema, None, found),
            ("allOf" | "anyOf" | "oneOf" | "prefixItems", Value::Array(schemas)) => {
                for schema in schemas {
                    valid &= walk(schema, None, found);
                }
            }
            ("patternProperties" | "dependentSchemas" | "$defs" | "definitions", Value::Object(schemas)) => {
                for schema in schemas.values() {
                    valid &= walk(schema, None, found);
                }
            }
            _ => {}
        }
    }
    valid
}
