//! Data that counts how often the validator looks at it: what is counted before a check must not be less than what is done.

use core::cell::Cell;
use std::borrow::Cow;

use jsonschema::JsonType;
use jsonschema::json::{Array, Json, Node, NodeIdentity, Object};
use proptest::collection::vec;
use proptest::prelude::*;
use serde_json::{Map, Number, Value, json};

use super::{MAX_STEPS, SchemaCostModel, pattern_options, steps, weight};

/// How often the validator may look at data for one step that was counted.
const LOOKS_PER_STEP: u64 = 3;

thread_local! {
    static LOOKS: Cell<u64> = const { Cell::new(0) };
}

fn look(times: u64) {
    LOOKS.set(LOOKS.get() + times);
}

struct Metered;

#[derive(Clone, Copy)]
struct Part<'a>(&'a Value);

struct Members<'a>(serde_json::map::Iter<'a>);

struct Elements<'a>(core::slice::Iter<'a, Value>);

impl Json for Metered {
    type Node<'a> = Part<'a>;
    type PreparedKey = String;
    type StringBuffer = Value;

    fn prepare_key(key: &str) -> String {
        key.to_owned()
    }

    fn with_string_node<T>(buffer: &mut Value, string: &str, f: impl FnOnce(Part<'_>) -> T) -> T {
        look(1);
        *buffer = Value::String(string.to_owned());
        f(Part(buffer))
    }
}

impl<'a> Node<'a, Metered> for Part<'a> {
    type Object = &'a Map<String, Value>;
    type Array = &'a [Value];
    type Number = &'a Number;

    fn as_object(&self) -> Option<&'a Map<String, Value>> {
        look(1);
        self.0.as_object()
    }

    fn as_array(&self) -> Option<&'a [Value]> {
        look(1);
        self.0.as_array().map(Vec::as_slice)
    }

    fn as_string(&self) -> Option<Cow<'a, str>> {
        look(1);
        self.0.as_str().map(Cow::Borrowed)
    }

    fn as_number(&self) -> Option<&'a Number> {
        look(1);
        self.0.as_number()
    }

    fn as_boolean(&self) -> Option<bool> {
        look(1);
        self.0.as_bool()
    }

    fn is_null(&self) -> bool {
        look(1);
        self.0.is_null()
    }

    fn json_type(&self) -> JsonType {
        look(1);
        JsonType::from(self.0)
    }

    fn equals_value(&self, expected: &Value) -> bool {
        look(weight(expected).min(weight(self.0)));
        jsonschema::json::cmp::equal(self.0, expected)
    }

    fn to_value(&self) -> Cow<'a, Value> {
        look(1);
        Cow::Borrowed(self.0)
    }

    fn identity(&self) -> Option<NodeIdentity> {
        look(1);
        Some(NodeIdentity::new(core::ptr::from_ref(self.0) as usize))
    }
}

impl<'a> Object<'a, Metered> for &'a Map<String, Value> {
    type Node = Part<'a>;
    type MemberName = &'a str;
    type MembersIter = Members<'a>;

    fn len(&self) -> usize {
        Map::len(self)
    }

    fn get(&self, key: &String) -> Option<Part<'a>> {
        look(1);
        Map::get(self, key).map(Part)
    }

    fn members(&self) -> Members<'a> {
        look(1);
        Members(self.iter())
    }
}

impl<'a> Iterator for Members<'a> {
    type Item = (&'a str, Part<'a>);

    fn next(&mut self) -> Option<Self::Item> {
        look(1);
        self.0.next().map(|(name, value)| (name.as_str(), Part(value)))
    }
}

impl<'a> Array<'a, Metered> for &'a [Value] {
    type Node = Part<'a>;
    type ElementsIter = Elements<'a>;

    fn len(&self) -> usize {
        <[Value]>::len(self)
    }

    fn elements(&self) -> Elements<'a> {
        look(1);
        Elements(self.iter())
    }

    fn is_unique(&self) -> bool {
        // What comparing takes at worst: every pair of lists and objects has the same hash.
        let lists = self.iter().filter(|value| value.is_array() || value.is_object());
        let sizes: Vec<_> = lists.map(weight).collect();
        look(sizes.iter().sum::<u64>() * steps(sizes.len()) / 4);
        jsonschema::json::unique::is_unique(self)
    }
}

impl<'a> Iterator for Elements<'a> {
    type Item = Part<'a>;

    fn next(&mut self) -> Option<Part<'a>> {
        look(1);
        self.0.next().map(Part)
    }
}

/// How often a check looks at data, and how many steps were counted for it; `None` where the schema cannot be used or the
/// check is not begun.
fn looks_and_steps(schema: &Value, data: &Value) -> Option<(u64, u64)> {
    let counted = SchemaCostModel::read(schema).ok()?.count(data, MAX_STEPS)?;
    let options = jsonschema::options_for::<Metered>().with_pattern_options(pattern_options());
    let validator = options.build(schema).ok()?;
    // What is compiled late is compiled now.
    let _ = validator.is_valid(Part(data));
    LOOKS.set(0);
    let _ = validator.is_valid(Part(data));
    Some((LOOKS.get(), counted))
}

#[track_caller]
fn check(schema: &Value, data: &Value) {
    let (looks, counted) = looks_and_steps(schema, data).expect("a schema that can be used");
    assert!(looks <= counted * LOOKS_PER_STEP, "{looks} looks in {counted} steps: {schema} {data}");
}

fn data() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        (0..5).prop_map(Value::from),
        Just(json!(0.5)),
        "[a-c]{0,4}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 40, 6, |inner| {
        let member = ("[a-c]{1,2}", inner.clone());
        prop_oneof![
            vec(inner, 0..6).prop_map(Value::from),
            vec(member, 0..6).prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

fn schema() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        prop::sample::select(vec!["object", "array", "string", "integer"])
            .prop_map(|kind| json!({ "type": kind })),
        vec(data(), 1..4).prop_map(|values| json!({ "enum": values })),
        data().prop_map(|value| json!({ "const": value })),
        Just(json!({ "required": ["a", "b"] })),
        Just(json!({ "uniqueItems": true })),
        Just(json!({ "multipleOf": 0.5, "minimum": 1 })),
        Just(json!({ "minLength": 1, "pattern": "^a+b*$" })),
        Just(json!({ "minItems": 1, "minProperties": 1, "dependentRequired": { "a": ["b", "c"] } })),
        prop::sample::select(vec!["#/$defs/x", "#/$defs/y"]).prop_map(|to| json!({ "$ref": to })),
    ];
    leaf.prop_recursive(5, 40, 4, |inner| {
        let many = vec(inner.clone(), 1..4);
        let keyword = prop_oneof![
            (prop::sample::select(vec!["allOf", "anyOf", "oneOf", "prefixItems"]), many)
                .prop_map(|(keyword, all)| json!({ keyword: all })),
            (
                prop::sample::select(vec![
                    "not",
                    "if",
                    "additionalProperties",
                    "propertyNames",
                    "items",
                    "contains",
                    "unevaluatedProperties",
                    "unevaluatedItems",
                ]),
                inner.clone()
            )
                .prop_map(|(keyword, one)| json!({ keyword: one })),
            (inner.clone(), inner.clone()).prop_map(|(one, two)| json!({ "then": one, "else": two })),
            (inner.clone(), inner.clone())
                .prop_map(|(one, two)| json!({ "properties": { "a": one, "bb": two } })),
            (inner.clone(), inner.clone())
                .prop_map(|(one, two)| json!({ "patternProperties": { "a": one, "^b": two } })),
            inner.prop_map(|one| json!({ "dependentSchemas": { "a": one } })),
        ];
        vec(keyword, 1..5).prop_map(|keywords| {
            let all = keywords.into_iter().filter_map(|keyword| keyword.as_object().cloned()).flatten();
            Value::Object(all.collect())
        })
    })
}

proptest! {
    #[test]
    fn a_check_never_does_more_than_was_counted(schema in schema(), x in schema(), y in schema(), data in data()) {
        let mut schema = if schema.is_object() { schema } else { json!({ "not": schema }) };
        schema["$defs"] = json!({ "x": x, "y": y });
        if let Some((looks, counted)) = looks_and_steps(&schema, &data) {
            prop_assert!(looks <= counted * LOOKS_PER_STEP, "{} looks in {} steps: {} {}", looks, counted, schema, data);
        }
    }
}

#[test]
fn what_grows_faster_than_data_is_counted_as_fast() {
    let nested = |levels: usize, keyword: &str| {
        let leaf = json!({ "type": ["object", "array"] });
        (0..levels).fold(leaf, |inner, _| json!({ "allOf": [inner], keyword: { "type": "integer" } }))
    };
    for levels in 0..8 {
        check(&nested(levels, "unevaluatedProperties"), &json!({ "a": 1, "b": 2 }));
        check(&nested(levels, "unevaluatedItems"), &json!([1, 2, 3]));
    }
    let names: Map<_, _> = (0..200).map(|at| (format!("name{at}"), json!(at))).collect();
    let names = Value::Object(names);
    for keyword in ["additionalProperties", "unevaluatedProperties"] {
        let patterns: Map<_, _> = (0..20).map(|at| (format!("[a-f]+{at}x"), json!({}))).collect();
        check(&json!({ "patternProperties": patterns, keyword: { "type": "integer" } }), &names);
    }
    check(&json!({ "propertyNames": { "anyOf": [{ "pattern": "^x" }, { "minLength": 3 }] } }), &names);
    // Every list of nothing but lists has the same hash.
    let lists: Vec<_> = (0..40).map(|at| vec![json!([]); at]).collect();
    check(&json!({ "uniqueItems": true }), &json!(lists));
}
