//! What it costs to hold data against a schema that somebody else wrote.
//!
//! A schema of a few lines can refer to itself twice at every step, and then takes longer than anybody waits; one of as many
//! patterns as fit takes more memory than there is. So the steps are counted before they are taken, and patterns before they are
//! compiled. What costs too much is not done: the schema counts as one that cannot be used.

use serde_json::Value;

/// How many steps may be taken: some for every value of the largest answer.
const STEPS: usize = 8 << 20;
/// How many steps may be taken inside each other. Data is at most 127 deep.
const DEPTH: usize = 1000;
/// How many patterns a schema may have.
const PATTERNS: usize = 100;

/// Whether a schema has no more patterns than it may.
pub(super) fn is_small(schema: &Value) -> bool {
    patterns(schema) <= PATTERNS
}

fn patterns(schema: &Value) -> usize {
    match schema {
        Value::Array(elements) => elements.iter().map(patterns).sum(),
        Value::Object(members) => {
            let named = members.get("patternProperties").and_then(Value::as_object);
            let own = usize::from(members.get("pattern").is_some_and(Value::is_string));
            own + named.map_or(0, serde_json::Map::len) + members.values().map(patterns).sum::<usize>()
        }
        _ => 0,
    }
}

/// Whether data can be held against a schema in a bounded number of steps.
pub(super) fn is_affordable(schema: &Value, data: &Value) -> bool {
    let mut count = Count { root: schema, left: STEPS };
    count.hold(schema, data, DEPTH).is_some()
}

/// Counts as if everything had to be looked at, and nothing were ever settled early.
struct Count<'a> {
    root: &'a Value,
    left: usize,
}

impl<'a> Count<'a> {
    fn take(&mut self, steps: usize) -> Option<()> {
        self.left = self.left.checked_sub(steps)?;
        Some(())
    }

    /// None where there are too many steps.
    fn hold(&mut self, schema: &'a Value, data: &Value, depth: usize) -> Option<()> {
        let depth = depth.checked_sub(1)?;
        self.take(1)?;
        for (keyword, value) in schema.as_object().into_iter().flatten() {
            match (keyword.as_str(), value) {
                ("$ref", Value::String(to)) => {
                    if let Some(there) = to.strip_prefix('#').and_then(|pointer| self.root.pointer(pointer)) {
                        self.hold(there, data, depth)?;
                    }
                }
                ("$dynamicRef" | "$recursiveRef", _) => self.hold(self.root, data, depth)?,
                ("allOf" | "anyOf" | "oneOf", Value::Array(all)) => {
                    all.iter().try_for_each(|one| self.hold(one, data, depth))?;
                }
                ("not" | "if" | "then" | "else", one) => self.hold(one, data, depth)?,
                ("dependentSchemas" | "dependencies", Value::Object(all)) => {
                    all.values().try_for_each(|one| self.hold(one, data, depth))?;
                }
                ("properties", Value::Object(named)) => {
                    for (name, member) in data.as_object().into_iter().flatten() {
                        if let Some(one) = named.get(name) {
                            self.hold(one, member, depth)?;
                        }
                    }
                }
                ("patternProperties", Value::Object(all)) => {
                    all.values().try_for_each(|one| self.hold_all(one, data, depth))?;
                }
                ("items" | "prefixItems", Value::Array(all)) => {
                    let elements = data.as_array().into_iter().flatten();
                    elements.zip(all).try_for_each(|(element, one)| self.hold(one, element, depth))?;
                }
                (
                    "items"
                    | "additionalItems"
                    | "unevaluatedItems"
                    | "contains"
                    | "additionalProperties"
                    | "unevaluatedProperties"
                    | "propertyNames",
                    one,
                ) => self.hold_all(one, data, depth)?,
                ("enum" | "required", Value::Array(all)) => self.take(all.len())?,
                ("dependentRequired", Value::Object(all)) => self.take(all.len())?,
                ("pattern", _) => self.take(data.as_str().map_or(0, str::len) / 16)?,
                _ => {}
            }
        }
        Some(())
    }

    /// Every member or element.
    fn hold_all(&mut self, schema: &'a Value, data: &Value, depth: usize) -> Option<()> {
        match data {
            Value::Object(members) => members.values().try_for_each(|one| self.hold(schema, one, depth)),
            Value::Array(elements) => elements.iter().try_for_each(|one| self.hold(schema, one, depth)),
            _ => Some(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// `a0` is either of two that are both `a1`, and so on.
    fn doubling(times: usize) -> Value {
        let mut definitions = serde_json::Map::new();
        for at in 0..times {
            let next = json!({ "$ref": format!("#/$defs/a{}", at + 1) });
            definitions.insert(format!("a{at}"), json!({ "anyOf": [next, next] }));
        }
        definitions.insert(format!("a{times}"), json!({ "type": "string" }));
        json!({ "$ref": "#/$defs/a0", "$defs": definitions })
    }

    #[test]
    fn what_doubles_at_every_step_is_not_begun() {
        assert!(is_affordable(&doubling(10), &json!({})));
        assert!(!is_affordable(&doubling(40), &json!({})));
        let both = json!({ "properties": { "c": { "$ref": "#" } } });
        let twice = json!({ "allOf": [both, both] });
        let deep = |levels| (0..levels).fold(json!(1), |inner, _| json!({ "c": inner }));
        assert!(is_affordable(&twice, &deep(10)));
        assert!(!is_affordable(&twice, &deep(60)));
    }

    #[test]
    fn what_refers_to_itself_ends() {
        for schema in [
            json!({ "$ref": "#" }),
            json!({ "allOf": [{ "$ref": "#" }] }),
            json!({ "not": { "$dynamicRef": "#a" } }),
        ] {
            assert!(!is_affordable(&schema, &json!({})), "{schema}");
        }
        // A tree refers to itself too, but each time for another part of the data.
        let tree = json!({ "type": "object", "properties": { "children": { "items": { "$ref": "#" } } } });
        let deep = (0..100).fold(json!({}), |inner, _| json!({ "children": [inner, {}] }));
        assert!(is_affordable(&tree, &deep));
    }

    #[test]
    fn much_data_is_affordable_and_long_lists_are_counted() {
        let schema = json!({ "items": { "required": ["a"], "properties": { "a": { "type": "integer" } } } });
        let rows = Value::from(vec![json!({ "a": 1, "b": null }); 500_000]);
        assert!(is_affordable(&schema, &rows));
        let names: Vec<_> = (0..10_000).map(|at| json!(format!("n{at}"))).collect();
        assert!(!is_affordable(
            &json!({ "items": { "enum": names } }),
            &Value::from(vec![json!("x"); 10_000])
        ));
    }

    #[test]
    fn patterns_are_counted_wherever_they_stand() {
        let some = |count: usize| Value::from(vec![json!({ "pattern": "a" }); count]);
        assert!(is_small(&json!({ "allOf": some(100) })));
        assert!(!is_small(&json!({ "allOf": some(100), "patternProperties": { "a": {} } })));
        assert!(!is_small(&json!({ "properties": { "x": { "anyOf": some(101) } } })));
    }
}
