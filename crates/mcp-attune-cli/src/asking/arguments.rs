//! Arguments on a command line: `key=value`, typed by what the server says it takes.
//!
//! 1. The schema says what a value is: for an integer `7` is a number, for a string it is a text.
//! 2. Where the schema allows several types, or says none, a value that is JSON of an allowed type is that, and else text.
//! 3. `key:=JSON` is JSON whatever the schema says. An array takes JSON, or its key several times.
//! 4. `a.b=value` is the member `b` of the object `a`, where `a` is one and nothing is called `a.b`.
//! 5. What the schema does not allow is not sent. Who wants to send it all the same writes `--arguments JSON`, which is
//!    sent as it is.

use std::io::Read;

use anyhow::Context;
use mcp_attune_shape::{CompiledSchema, Subschema};
use serde_json::{Map, Value};

use super::did_you_mean;
use crate::exit::hinted;
use crate::show::plain;
use crate::text::quoted;

/// How many bytes arguments in a file may have.
const MAX_BYTES: u64 = 64 << 20;
/// How many faults are told.
const MAX_REPORTED_BREACHES: usize = 5;

/// Reads `--arguments`: JSON, `@FILE`, or `-` for standard input.
pub(crate) fn read_json_arguments(given: Option<&str>) -> anyhow::Result<Map<String, Value>> {
    let hint =
        "write --arguments '{\"name\": \"value\"}', --arguments @FILE, or --arguments - for standard input";
    let (json, from) = match given {
        None => return Ok(Map::new()),
        Some("-") => (read_bounded(std::io::stdin()).context("--arguments -")?, "--arguments -".to_owned()),
        Some(given) => match given.strip_prefix('@') {
            Some(file) => {
                let from = format!("--arguments @{}", plain::line(file));
                let opened =
                    std::fs::File::open(file).map_err(|why| hinted(format!("{from}: {why}"), hint))?;
                (read_bounded(opened).with_context(|| from.clone())?, from)
            }
            None => (given.to_owned(), "--arguments".to_owned()),
        },
    };
    match serde_json::from_str(json.trim_start_matches('\u{feff}')) {
        Ok(Value::Object(arguments)) => Ok(arguments),
        Ok(_) => Err(hinted(format!("{from} is JSON, but no object"), hint)),
        Err(why) => Err(hinted(format!("{from} is no JSON: {why}"), hint)),
    }
}

/// All of an input, if it is not too long.
fn read_bounded(from: impl Read) -> anyhow::Result<String> {
    let mut text = String::new();
    from.take(MAX_BYTES + 1).read_to_string(&mut text)?;
    let fits = u64::try_from(text.len()).is_ok_and(|length| length <= MAX_BYTES);
    anyhow::ensure!(fits, "there are more than {MAX_BYTES} bytes");
    Ok(text)
}

/// Adds pairs to what `--arguments` gave, and holds the whole against the schema if there is a pair, or nothing else.
pub(crate) fn add_pairs(
    mut arguments: Map<String, Value>,
    pairs: &[String],
    schema: Option<&CompiledSchema>,
) -> anyhow::Result<Map<String, Value>> {
    let given = !arguments.is_empty();
    for pair in pairs {
        let Some((key, value)) = pair.split_once('=') else {
            let hint = "write name=value, or name:=JSON";
            return Err(hinted(format!("{} is no argument", quoted(pair)), hint));
        };
        match key.strip_suffix(':') {
            Some(key) => {
                let value = serde_json::from_str(value).map_err(|why| {
                    hinted(
                        format!("the argument `{}` is no JSON: {why}", quoted(key)),
                        "write name=value for text",
                    )
                })?;
                insert_value(&mut arguments, key, value, schema.map(CompiledSchema::root))?;
            }
            None => {
                let value = typed_value(key, value, schema)?;
                insert_value(&mut arguments, key, value, schema.map(CompiledSchema::root))?;
            }
        }
    }
    if let Some(schema) = schema.filter(|_| !given || !pairs.is_empty()) {
        check(&arguments, schema)?;
    }
    Ok(arguments)
}

/// The schema of an argument; `a.b` is a member of `a` where nothing is called so itself.
fn part_of<'s>(schema: Subschema<'s>, key: &str) -> Option<Subschema<'s>> {
    schema.property(key).or_else(|| {
        let (outer, inner) = key.split_once('.')?;
        part_of(schema.property(outer)?, inner)
    })
}

fn typed_value(key: &str, text: &str, schema: Option<&CompiledSchema>) -> anyhow::Result<Value> {
    let part = schema.and_then(|schema| part_of(schema.root(), key));
    let Some(part) = part else { return Ok(json_or_text(text, |_| true)) };
    let wrong = |what: &str, hint: String| {
        hinted(format!("the argument `{}` takes {what}, and {} is none", quoted(key), quoted(text)), hint)
    };
    match part.keyword("type") {
        Some(Value::String(kind)) => match kind.as_str() {
            "string" => Ok(Value::from(text)),
            "integer" | "number" => {
                let what = if kind == "integer" { "a whole number" } else { "a number" };
                let number = serde_json::from_str(text).ok().filter(|value| has_json_type(value, kind));
                number.ok_or_else(|| wrong(what, format!("write {}=7", quoted(key))))
            }
            "boolean" => match text {
                "true" => Ok(Value::Bool(true)),
                "false" => Ok(Value::Bool(false)),
                _ => Err(wrong("true or false", format!("write {}=true", quoted(key)))),
            },
            "null" => Ok(Value::Null),
            "array" => match serde_json::from_str(text) {
                Ok(Value::Array(items)) => Ok(Value::Array(items)),
                _ => {
                    let item = part.items().and_then(|items| items.keyword_text("type")).unwrap_or("string");
                    let value = json_or_text(text, |value| has_json_type(value, item));
                    Ok(Value::Array(vec![value]))
                }
            },
            "object" => match serde_json::from_str(text) {
                Ok(Value::Object(members)) => Ok(Value::Object(members)),
                _ => {
                    Err(wrong("a JSON object", format!("write {}='{{…}}', or {0}.member=value", quoted(key))))
                }
            },
            _ => Ok(json_or_text(text, |_| true)),
        },
        Some(Value::Array(kinds)) => Ok(json_or_text(text, |value| {
            kinds.iter().filter_map(Value::as_str).any(|kind| has_json_type(value, kind))
        })),
        // Choices of text stay text.
        _ if part.keyword("enum").is_some_and(|choices| has_text(choices, text)) => Ok(Value::from(text)),
        _ => Ok(json_or_text(text, |_| true)),
    }
}

fn has_text(choices: &Value, text: &str) -> bool {
    choices.as_array().is_some_and(|choices| choices.iter().any(|choice| choice == text))
}

/// JSON if that is allowed, else text.
fn json_or_text(text: &str, allowed: impl Fn(&Value) -> bool) -> Value {
    serde_json::from_str(text).ok().filter(allowed).unwrap_or_else(|| Value::from(text))
}

/// Whether a value has a type of JSON Schema.
fn has_json_type(value: &Value, kind: &str) -> bool {
    match (value, kind) {
        (Value::Number(number), "integer") => {
            number.is_i64() || number.is_u64() || number.as_f64().is_some_and(|float| float.fract() == 0.0)
        }
        (Value::Number(_), "number")
        | (Value::String(_), "string")
        | (Value::Bool(_), "boolean")
        | (Value::Null, "null")
        | (Value::Array(_), "array")
        | (Value::Object(_), "object") => true,
        _ => false,
    }
}

/// Puts a value in its place. A key that comes again adds to an array, and is a mistake elsewhere.
fn insert_value(
    arguments: &mut Map<String, Value>,
    key: &str,
    value: Value,
    schema: Option<Subschema<'_>>,
) -> anyhow::Result<()> {
    let whole = schema.is_none_or(|schema| schema.property(key).is_some());
    let inside = schema.zip(key.split_once('.')).filter(|_| !whole);
    if let Some((schema, (outer, inner))) = inside
        && let Some(part) = schema.property(outer).filter(|part| part.keyword_text("type") == Some("object"))
    {
        let outer = arguments.entry(outer).or_insert_with(|| Value::Object(Map::new()));
        return match outer {
            Value::Object(members) => insert_value(members, inner, value, Some(part)),
            _ => Err(hinted(
                format!("`{}` is part of something that is no object", quoted(key)),
                "write it once",
            )),
        };
    }
    match (arguments.get_mut(key), value) {
        (None, value) => drop(arguments.insert(key.to_owned(), value)),
        (Some(Value::Array(items)), Value::Array(more)) => items.extend(more),
        (Some(_), _) => {
            let hint = "write it once; several values are for arrays, as key:='[1, 2]' where the server does not say so";
            return Err(hinted(format!("the argument `{}` is given twice", quoted(key)), hint));
        }
    }
    Ok(())
}

/// What is missing, what is not known, and what else does not fit.
fn check(arguments: &Map<String, Value>, schema: &CompiledSchema) -> anyhow::Result<()> {
    let part = schema.root();
    let names: Vec<String> = part.properties().into_iter().flat_map(Map::keys).cloned().collect();
    if let Some(unknown) = arguments.keys().find(|key| part.names_all() && !names.contains(key)) {
        let what = format!("there is no argument `{}`", quoted(unknown));
        return Err(hinted(what, did_you_mean::hint(unknown, &names)));
    }
    let required = part.keyword("required").and_then(Value::as_array).into_iter().flatten();
    let missing: Vec<_> =
        required.filter_map(Value::as_str).filter(|name| !arguments.contains_key(*name)).collect();
    if let Some(first) = missing.first() {
        let named: Vec<_> = missing.iter().take(MAX_REPORTED_BREACHES).map(|name| quoted(name)).collect();
        let about =
            part.property(first).and_then(Subschema::description).map(|text| format!(" ({})", quoted(text)));
        let hint = format!("write {}=…{}", quoted(first), about.unwrap_or_default());
        return Err(hinted(format!("`{}` is missing", named.join("` and `")), hint));
    }
    let breaches =
        schema.violations(&Value::Object(arguments.clone()), MAX_REPORTED_BREACHES).unwrap_or_default();
    if breaches.is_empty() {
        return Ok(());
    }
    let told: Vec<_> = breaches.iter().map(|breach| describe_breach(breach, part)).collect();
    let hint = "--arguments JSON sends what the schema does not allow";
    Err(hinted(format!("the arguments do not fit: {}", told.join("; ")), hint))
}

/// A breach in words; a choice that is none of them is told with all of them.
fn describe_breach(breach: &mcp_attune_shape::DataViolation, schema: Subschema<'_>) -> String {
    let name = breach.at.trim_start_matches('/');
    let choices = schema.property(name).and_then(|part| part.keyword("enum")).and_then(Value::as_array);
    let why = quoted_whole(&breach.why);
    match choices {
        Some(choices) => {
            let choices: Vec<_> =
                choices.iter().take(20).map(|choice| quoted_whole(&choice.to_string())).collect();
            format!("`{}` is one of {}", quoted(name), choices.join(", "))
        }
        None if name.is_empty() => why,
        None => format!("`{}`: {why}", quoted(name)),
    }
}

fn quoted_whole(text: &str) -> String {
    plain::line(text).chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn schema() -> CompiledSchema {
        let schema = json!({
            "type": "object",
            "properties": {
                "city": { "type": "string", "description": "Where" },
                "days": { "type": "integer", "maximum": 7 },
                "far": { "type": "number" },
                "rain": { "type": "boolean" },
                "tags": { "type": "array", "items": { "type": "string" } },
                "numbers": { "type": "array", "items": { "type": "integer" } },
                "unit": { "type": "string", "enum": ["C", "F"] },
                "any": {},
                "maybe": { "type": ["integer", "null", "string"] },
                "place": { "type": "object", "properties": { "zip": { "type": "string" }, "floor": { "type": "integer" } } },
                "dotted.name": { "type": "string" },
            },
            "required": ["city"],
        });
        CompiledSchema::read(&schema.to_string()).unwrap()
    }

    fn read(pairs: &[&str]) -> Result<Value, String> {
        let mut pairs: Vec<_> = pairs.iter().map(|&pair| pair.to_owned()).collect();
        pairs.insert(0, "city=7".to_owned());
        let arguments = add_pairs(Map::new(), &pairs, Some(&schema()));
        arguments.map(Value::Object).map_err(|error| error.to_string())
    }

    #[test]
    fn values_have_the_types_of_the_schema() {
        let check = |pairs: &[&str], expected: Value| {
            let mut expected = expected;
            expected["city"] = json!("7");
            assert_eq!(read(pairs), Ok(expected), "{pairs:?}");
        };
        check(&["days=3", "far=2.5", "rain=true"], json!({ "days": 3, "far": 2.5, "rain": true }));
        check(&["tags=1", "tags=b=c"], json!({ "tags": ["1", "b=c"] }));
        check(&["tags=[\"a\"]"], json!({ "tags": ["a"] }));
        check(&["numbers=1", "numbers=2"], json!({ "numbers": [1, 2] }));
        check(&["any=7", "maybe=null"], json!({ "any": 7, "maybe": null }));
        check(&["any=seven", "maybe=2.5"], json!({ "any": "seven", "maybe": "2.5" }));
        check(&["any:=\"7\""], json!({ "any": "7" }));
        check(&["place.zip=3000", "place.floor=2"], json!({ "place": { "zip": "3000", "floor": 2 } }));
        check(
            &["place={\"zip\": \"1\"}", "dotted.name=x"],
            json!({ "place": { "zip": "1" }, "dotted.name": "x" }),
        );
    }

    #[test]
    fn says_what_does_not_fit_and_what_was_meant() {
        let check = |pair: &str, expected: &str| assert_eq!(read(&[pair]).unwrap_err(), expected);
        check("days=three", "the argument `days` takes a whole number, and three is none");
        check("days=2.5", "the argument `days` takes a whole number, and 2.5 is none");
        check("rain=yes", "the argument `rain` takes true or false, and yes is none");
        check("place=x", "the argument `place` takes a JSON object, and x is none");
        check("days=9", "the arguments do not fit: `days`: value is greater than the maximum of 7");
        check("unit=K", "the arguments do not fit: `unit` is one of \"C\", \"F\"");
        check("dais=3", "there is no argument `dais`");
        check("city=again", "the argument `city` is given twice");
        check("x:=[", "the argument `x` is no JSON: EOF while parsing a list at line 1 column 1");
        check("\u{1b}[2J", "\\u{1b}[2J is no argument");
        let missing = add_pairs(Map::new(), &[], Some(&schema())).unwrap_err();
        assert_eq!(missing.to_string(), "`city` is missing");
    }

    #[test]
    fn a_whole_object_is_sent_as_it_is() {
        let given = read_json_arguments(Some(r#"{"days": "many"}"#)).unwrap();
        assert_eq!(
            add_pairs(given, &[], Some(&schema())).map(Value::Object).unwrap(),
            json!({ "days": "many" })
        );
        assert!(read_json_arguments(Some("[1]")).is_err() && read_json_arguments(Some("{")).is_err());
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\u{feff}{\"days\": 2}\n").unwrap();
        let named = format!("@{}", file.path().display());
        assert_eq!(read_json_arguments(Some(&named)).map(Value::Object).unwrap(), json!({ "days": 2 }));
        assert!(
            read_json_arguments(Some("@/no/such/file"))
                .unwrap_err()
                .to_string()
                .starts_with("--arguments @/no/such/file: ")
        );
        // Without a schema, what looks like JSON is JSON.
        let pairs = ["a=1".to_owned(), "b=x".to_owned()];
        assert_eq!(
            add_pairs(Map::new(), &pairs, None).map(Value::Object).unwrap(),
            json!({ "a": 1, "b": "x" })
        );
    }
}
