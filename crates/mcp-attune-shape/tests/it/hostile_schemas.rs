//! Schemas and data that would take longer than anybody waits if they were checked as they stand.

use mcp_attune::shaping::UnusableReason;
use mcp_attune_shape::CompiledSchema;
use serde_json::{Map, Value, json};

fn output(schema: &Value) -> CompiledSchema {
    CompiledSchema::read(&schema.to_string()).unwrap()
}

/// Checks data against a schema that can be used, but not for as much data.
#[track_caller]
fn check_not_begun(schema: &Value, data: &Value) {
    let output = output(schema);
    assert_eq!(output.unusable_reason(), None);
    assert!(!output.is_valid(data));
}

#[track_caller]
fn check_unusable(schema: &Value, why: UnusableReason) {
    let output = output(schema);
    assert_eq!(output.unusable_reason(), Some(why));
    assert!(!output.is_valid(&json!({})) && output.violations(&json!({}), 1).is_none());
}

/// Names and strings that a backtracking engine goes through in every way there is.
fn many(count: usize) -> impl Iterator<Item = String> {
    (0..count).map(|at| format!("{}{at}", "a".repeat(32)))
}

fn object(names: impl Iterator<Item = String>) -> Value {
    Value::Object(names.map(|name| (name, json!(1))).collect())
}

fn patterns(count: usize, pattern: impl Fn(usize) -> String) -> Value {
    Value::Object((0..count).map(|at| (pattern(at), json!({}))).collect::<Map<_, _>>())
}

#[test]
fn a_pattern_that_only_backtracking_can_match_makes_a_schema_unusable() {
    let slow = "^((?=a)a+)+x$";
    check_unusable(&json!({"items": {"not": {"pattern": slow}}}), UnusableReason::Pattern);
    check_unusable(&json!({"patternProperties": {slow: {}}}), UnusableReason::Pattern);
    let some = |count| json!({"patternProperties": patterns(count, |at| format!("^((?=a)a+)+x{at}$"))});
    check_unusable(&some(20), UnusableReason::Pattern);
    check_unusable(&some(90), UnusableReason::Pattern);
    check_unusable(&json!({"properties": {"a": {"pattern": r"^(a+)\1$"}}}), UnusableReason::Pattern);
    // Draft 7 checks formats, and this one reads patterns without matching any.
    let regex = output(&json!({"$schema": "http://json-schema.org/draft-07/schema#", "format": "regex"}));
    assert!(regex.is_valid(&json!("^(?=a)")) && !regex.is_valid(&json!("^(")));
}

#[test]
fn a_pattern_that_takes_linear_time_is_matched() {
    let output = output(&json!({"items": {"pattern": "^(a+)+x$"}}));
    assert!(output.is_valid(&json!(["aax", "ax"])) && !output.is_valid(&json!(["aay"])));
    assert!(!output.is_valid(&Value::from(many(1000).collect::<Vec<_>>())));
}

#[test]
fn strings_are_counted_with_the_size_of_the_pattern() {
    let data = |bytes: usize| json!(["ab".repeat(bytes / 2)]);
    let pattern = json!({"items": {"not": {"pattern": "(a|b)*a(a|b){200}c"}}});
    assert!(output(&pattern).is_valid(&data(1 << 10)));
    check_not_begun(&pattern, &data(1 << 20));
    assert!(output(&json!({"items": {"not": {"pattern": "^c"}}})).is_valid(&data(1 << 15)));
}

#[test]
fn names_are_counted_with_every_pattern() {
    let schema = |count| json!({"patternProperties": patterns(count, |at| format!("^(a+)+x{at}$"))});
    assert!(output(&schema(1)).is_valid(&object(many(1000))));
    check_not_begun(&schema(90), &object(many(3000)));
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        let mut closed = schema(20);
        closed[keyword] = json!({"type": "integer"});
        assert!(output(&closed).is_valid(&object(many(20))));
        check_not_begun(&closed, &object(many(3000)));
    }
    let names =
        json!({"propertyNames": {"anyOf": vec![json!({"pattern": "^(a+)+x$"}), json!({"minLength": 1})]}});
    assert!(output(&names).is_valid(&object(many(100))));
    check_not_begun(&names, &object(many(30_000)));
}

#[test]
fn lists_that_have_the_same_hash_are_not_compared_in_pairs() {
    // Of a list of nothing but lists, nothing is hashed.
    let mut all = vec![json!([])];
    for at in 0..100 {
        for other in 0..=at {
            all.push(json!([all[at], all[other]]));
        }
    }
    let unique = json!({"uniqueItems": true});
    assert!(output(&unique).is_valid(&Value::from(all[..10].to_vec())));
    check_not_begun(&unique, &Value::from(all));
    let large = |count: u64| Value::from((0..count).map(|at| (1 << 63) + at).collect::<Vec<_>>());
    assert!(output(&unique).is_valid(&large(100)));
    check_not_begun(&unique, &large(20_000));
    let names: Vec<_> = many(10_000).collect();
    assert!(output(&unique).is_valid(&json!(names)));
}

#[test]
fn what_was_evaluated_is_counted_at_every_level() {
    let nested = |levels: usize| {
        (0..levels).fold(
            json!({"type": "object"}),
            |inner, _| json!({"allOf": [inner], "unevaluatedProperties": {"type": "integer"}}),
        )
    };
    assert!(output(&nested(5)).is_valid(&json!({"a": 1})));
    check_unusable(&nested(40), UnusableReason::TooLarge);
    let mut definitions = Map::new();
    for at in 0..30 {
        let next = json!({"$ref": format!("#/$defs/a{}", at + 1)});
        definitions.insert(format!("a{at}"), json!({"allOf": [next, next]}));
    }
    definitions.insert("a30".to_owned(), json!({"type": "object"}));
    let doubling = json!({"$ref": "#/$defs/a0", "$defs": definitions, "unevaluatedProperties": false});
    check_unusable(&doubling, UnusableReason::TooLarge);
}

#[test]
fn exact_division_and_long_lists_of_values_are_counted() {
    let prices = |count| Value::from(vec![json!(1e300); count]);
    let schema = json!({"items": {"multipleOf": 1e-300}});
    assert!(output(&schema).is_valid(&prices(1000)));
    check_not_begun(&schema, &prices(100_000));
    let values: Vec<_> = (0..1000).map(|at| json!([at])).collect();
    check_not_begun(&json!({"items": {"not": {"enum": values}}}), &json!(vec![[-1]; 10_000]));
}

#[test]
fn references_lead_to_where_they_are_counted() {
    let def = json!({"$anchor": "name", "type": "string"});
    for (reference, data) in [("#/$defs/a%20b", json!("x")), ("#name", json!("x")), ("", json!(1))] {
        let schema = json!({"$ref": reference, "$defs": {"a b": def}});
        assert!(output(&schema).is_valid(&data), "{reference}");
        assert_eq!(output(&schema).is_valid(&json!(2)), reference.is_empty(), "{reference}");
    }
    let own = json!({"$id": "https://example.com/s", "$ref": "https://example.com/s#/$defs/a", "$defs": {"a": def}});
    assert!(output(&own).is_valid(&json!("x")) && !output(&own).is_valid(&json!(2)));
    check_unusable(
        &json!({"$ref": "https://json-schema.org/draft/2020-12/schema"}),
        UnusableReason::Reference,
    );
    check_unusable(&json!({"$ref": "#/$defs/none"}), UnusableReason::Reference);
    check_unusable(&json!({"$ref": "#/$defs/a", "$defs": {"a": {"$id": "x"}}}), UnusableReason::Reference);
    assert_eq!(output(&json!({"properties": {"a": {"$id": "x", "type": "string"}}})).unusable_reason(), None);
    // The validator takes the anchor in `$defs`, and a count by the other one would be too low.
    let twice = json!({"$ref": "#a", "$defs": {"x": {"$anchor": "a", "type": "string"}}, "examples": [{"$anchor": "a"}]});
    check_unusable(&twice, UnusableReason::Reference);
    check_unusable(&json!({"properties": []}), UnusableReason::Invalid);
}

#[test]
fn what_takes_long_to_compile_is_not_compiled() {
    // The validator keeps the whole path of every keyword.
    let branches = vec![json!({"minLength": 1}); 5000];
    let long_name = "x".repeat(100_000);
    check_unusable(&json!({"properties": {long_name: {"allOf": branches}}}), UnusableReason::TooLarge);
    // Each of these compiles to nearly as much as one may.
    let unicode: Vec<_> = (0..50).map(|at| json!({"pattern": format!(r"^\p{{L}}{{2}}{at}$")})).collect();
    check_unusable(&json!({"anyOf": unicode}), UnusableReason::Pattern);
    let distinct: Vec<_> = (0..101).map(|at| json!({"pattern": format!("^a+{at}")})).collect();
    check_unusable(&json!({"anyOf": distinct}), UnusableReason::Pattern);
    let same = vec![json!({"pattern": "^a+"}); 101];
    assert!(output(&json!({"anyOf": same})).is_valid(&json!("a")));
}

#[test]
fn a_long_list_of_required_members_counts_as_one_of_all() {
    let required = |count: usize| output(&json!({"required": many(count).collect::<Vec<_>>()}));
    assert!(!required(10).root().requires("other"));
    assert!(required(1000).root().requires("other"));
}
