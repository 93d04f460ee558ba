//! The example and the JSON Schema say what the parser does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use mcp_attune_gateway::config::{Config, schema};
use serde_json::Value;

/// A line that sets what has no default.
const EXAMPLE: &str = "# example";

#[test]
fn the_example_is_fine() {
    let config =
        Config::parse(Config::example(), "attune.toml").unwrap_or_else(|findings| panic!("{findings}"));
    assert!(config.default_language.is_some());
    assert!(config.mounts[0].upstream.is_some());
    let mount = &config.mounts[0];
    assert_eq!((mount.tools.len(), mount.resources.len(), mount.prompts.len()), (2, 1, 1));
}

#[test]
fn the_example_says_what_the_defaults_are() {
    let lines = Config::example().lines().filter(|line| !line.trim_end().ends_with(EXAMPLE));
    let mut text: String = lines.map(|line| format!("{line}\n")).collect();
    // With neither a URL nor a command there is no server behind.
    let (before, after) = text.split_once("[upstream]\n").unwrap();
    let (upstream, after) = after.split_once("\n\n").unwrap();
    let said: Vec<_> = upstream.lines().filter(|line| !line.starts_with('#')).collect();
    assert!(
        said.iter().all(|line| ["unknown_paths = \"well-known\"", "era = \"auto\""]
            .iter()
            .any(|key| line.starts_with(key))),
        "{said:?}"
    );
    assert_eq!(said.len(), 2);
    text = format!("{before}{after}");
    assert_eq!(Config::parse(&text, "attune.toml").unwrap(), Config::default());
}

#[test]
fn the_example_in_the_tree_is_the_one_that_is_printed() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/attune.toml");
    assert_eq!(std::fs::read_to_string(path).unwrap(), Config::example());
}

/// Lines such as `#tls = …` work when the `#` is taken away.
#[test]
fn what_is_commented_out_in_the_example_works() {
    let example = Config::example();
    let is_setting = |line: &&str| {
        line.strip_prefix('#').is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_lowercase()))
    };
    let all: Vec<&str> = example.lines().filter(is_setting).collect();
    assert!(all.len() >= 8, "{all:?}");
    let with = |text: &str, starts: &[&str]| {
        let lines = text.lines().map(|line| {
            let is_wanted = starts.iter().any(|start| line.starts_with(&format!("#{start}")));
            format!("{}\n", if is_wanted { &line[1..] } else { line })
        });
        lines.collect::<String>()
    };
    let check =
        |text: &str| assert!(Config::parse(text, "x").is_ok(), "{}", Config::parse(text, "x").unwrap_err());
    check(&with(example, &["tls"]));
    check(&with(example, &["clients"]));
    check(
        &with(example, &["keys"])
            .replace("keys = [\"…\"]", "keys = [\"AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHv8=\"]"),
    );
    let command = with(example, &["command", "env", "inherit_env", "children", "child_idle"]);
    let command: String =
        command.lines().filter(|line| !line.starts_with("url ")).map(|line| format!("{line}\n")).collect();
    let says = Config::parse(&command, "x").unwrap();
    check(&command);
    let same = Config::parse("[upstream]\ncommand = ['npx', '-y', 'some-server']\nenv.API_TOKEN = '…'", "x")
        .unwrap();
    assert_eq!(
        says.mounts[0].upstream, same.mounts[0].upstream,
        "inherit_env, children and child_idle are the defaults"
    );
    let (top, rest) = example.split_once("[upstream]").unwrap();
    let (_, settings) = rest.split_once("[headers]").unwrap();
    let (settings, mounts) = settings.split_once("[tools.get_weather]").unwrap();
    let (_, mounts) = mounts.split_once("#[mounts").unwrap();
    check(&with(
        &format!("{top}[headers]{settings}#[mounts{mounts}"),
        &["[mounts", "path", "upstream", "headers"],
    ));
    let known = [
        "tls",
        "keys",
        "command",
        "env",
        "inherit_env",
        "children",
        "child_idle",
        "path",
        "upstream",
        "headers",
        "clients",
    ];
    for line in all {
        assert!(known.iter().any(|key| line.starts_with(&format!("#{key} ="))), "{line} is not tried");
    }
}

fn properties(schema: &Value) -> BTreeMap<&str, &Value> {
    let properties = schema["properties"].as_object().into_iter().flatten();
    properties.map(|(key, schema)| (key.as_str(), schema)).collect()
}

/// Every table of the schema by the header that opens it, with what a file needs to say before it.
fn tables(schema: &Value) -> Vec<(String, &Value)> {
    fn walk<'s>(header: &str, schema: &'s Value, tables: &mut Vec<(String, &'s Value)>) {
        if schema["properties"].is_object() {
            tables.push((header.to_owned(), schema));
        }
        let below = |key: &str| if header.is_empty() { key.to_owned() } else { format!("{header}.{key}") };
        for (key, schema) in properties(schema) {
            walk(&below(key), schema, tables);
        }
        if schema["additionalProperties"].is_object() {
            walk(&below("some"), &schema["additionalProperties"], tables);
        }
    }
    let mut tables = Vec::new();
    walk("", schema, &mut tables);
    tables
}

#[test]
fn schema_and_parser_know_the_same_keys() {
    let schema = schema();
    let tables = tables(&schema);
    assert!(tables.len() >= 20, "{}", tables.len());
    for (header, table) in tables {
        let opened = if header.is_empty() { String::new() } else { format!("[{header}]\n") };
        let text = format!("{opened}qqqqqqqqqqqqqqqq = 1\n");
        let findings = Config::parse(&text, "attune.toml").unwrap_err();
        let listed = findings.iter().find_map(|found| found.hint.strip_prefix("the keys here are "));
        let listed = listed.unwrap_or_else(|| panic!("[{header}]: {findings}"));
        let listed: BTreeSet<&str> = listed.split(", ").map(|key| key.trim_matches('`')).collect();
        assert_eq!(listed, properties(table).into_keys().collect(), "[{header}]");
    }
}

#[test]
fn the_example_has_every_key_of_the_schema() {
    let schema = schema();
    for (header, table) in tables(&schema).into_iter().filter(|(header, _)| !header.starts_with("mounts")) {
        for key in properties(table).into_keys() {
            let is_set = |line: &str| {
                let line = line.trim_start_matches('#');
                line.starts_with(&format!("{key} = "))
                    || line.starts_with(&format!("[{key}"))
                    || line.contains(&format!(" {key} = "))
                    || line.contains(&format!(".{key}]"))
            };
            assert!(Config::example().lines().any(is_set), "{header}.{key}");
        }
    }
}

/// The defaults of the schema, written into a file, are the defaults.
#[test]
fn the_defaults_of_the_schema_are_those_of_the_parser() {
    let schema = schema();
    let mut count = 0;
    for table in ["server", "limits", "headers", "locales", "content", "context"] {
        for (key, schema) in properties(&schema["properties"][table]) {
            if let Some(default) = schema.get("default") {
                count += 1;
                let text = format!("[{table}]\n{key} = {default}\n");
                assert_eq!(Config::parse(&text, "attune.toml").unwrap(), Config::default(), "{text}");
            }
        }
    }
    assert_eq!(count, 9 + 18 + 10 + 2 + 2 + 4);
    assert_eq!(schema["properties"]["log"]["default"], "info");
}

/// What of JSON Schema our schema uses, patterns aside.
fn violations(schema: &Value, value: &Value, at: &str, all: &mut Vec<String>) {
    let is_type = |name: &str| match name {
        "object" => value.is_object(),
        "array" => value.is_array(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64(),
        "number" => value.is_number(),
        other => panic!("{other}"),
    };
    let types: Vec<&str> = match &schema["type"] {
        Value::String(one) => vec![one],
        Value::Array(several) => several.iter().filter_map(Value::as_str).collect(),
        _ => vec![],
    };
    if !types.is_empty() && !types.iter().any(|name| is_type(name)) {
        all.push(format!("{at}: not {types:?}"));
    }
    if let Some(words) = schema["enum"].as_array().filter(|words| !words.contains(value)) {
        all.push(format!("{at}: none of {words:?}"));
    }
    let fits = |schema: &Value| {
        let mut none = Vec::new();
        violations(schema, value, at, &mut none);
        none.is_empty()
    };
    if schema["anyOf"].as_array().is_some_and(|any| !any.iter().any(fits))
        || schema["oneOf"].as_array().is_some_and(|one| one.iter().filter(|schema| fits(schema)).count() != 1)
        || schema.get("not").is_some_and(fits)
    {
        all.push(format!("{at}: the wrong keys together"));
    }
    if value.as_i64().is_some_and(|number| schema["minimum"].as_i64() > Some(number)) {
        all.push(format!("{at}: too small"));
    }
    for required in schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        if value.get(required).is_none() {
            all.push(format!("{at}: no {required}"));
        }
    }
    for (key, others) in schema["dependentRequired"].as_object().into_iter().flatten() {
        for other in others.as_array().unwrap().iter().filter_map(Value::as_str) {
            if value.get(key).is_some() && value.get(other).is_none() {
                all.push(format!("{at}: {key} without {other}"));
            }
        }
    }
    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
        violations(&schema["items"], item, &format!("{at}[{index}]"), all);
    }
    for (key, below) in value.as_object().into_iter().flatten() {
        let at = format!("{at}.{key}");
        match (schema["properties"].get(key), schema.get("additionalProperties")) {
            (Some(schema), _) | (None, Some(schema @ Value::Object(_))) => {
                violations(schema, below, &at, all);
            }
            (None, Some(Value::Bool(false))) => all.push(format!("{at}: unknown")),
            _ => {}
        }
    }
}

fn judged(text: &str) -> Vec<String> {
    let value: toml::Value = toml::from_str::<toml::Table>(text).unwrap().into();
    let mut all = Vec::new();
    violations(&schema(), &serde_json::to_value(value).unwrap(), "", &mut all);
    all
}

#[test]
fn the_example_fits_the_schema() {
    assert_eq!(judged(Config::example()), [""; 0]);
}

#[test]
fn what_the_parser_refuses_by_its_shape_does_not_fit_the_schema_either() {
    for text in [
        "lisen = 1",
        "log = 'loud'",
        "[server]\nlisen = 'a'",
        "[server]\nlisten = 1",
        "[server]\ntls = { cert = 'a' }",
        "[limits]\nbody = 0",
        "[limits]\nheaders = 0",
        "[upstream]\nurl = 'http://a/'\ncommand = ['a']",
        "[upstream]\nunknown_paths = 'pass'",
        "[upstream]\nurl = 'http://a/'\nchildren = 3",
        "[headers]\nstrict = 'yes'",
        "[context]\nforward = ['zone']",
        "[callers.clients.x]",
        "[callers.clients.x]\nreads = 'text'",
        "[callers.clients.x]\nreads = 'both'\nfeatures = []",
        "[callers.clients.x]\ntags = []",
        "[tools.x.context]\na = {}",
        "[tools.x.context]\na = { from = 'now', part = 'end' }",
        "[tools.x.context]\na = { interval = 'now' }",
        "[mounts.a]\npath = '/a'",
        "upstream.url = 'http://a/'\n[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'",
        "[prompts.x]",
        "[resources.x]\ntemplate = 'a'",
        "[prompts.x]\ntemplates = 'a'\n[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'",
        "[tools.x]\n[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'",
    ] {
        assert!(!judged(text).is_empty(), "{text}");
        assert!(Config::parse(text, "attune.toml").is_err(), "{text}");
    }
    let text = "[mounts.a]\npath = '/a'\nupstream.url = 'http://a/'";
    assert_eq!(judged(text), [""; 0]);
    assert!(Config::parse(text, "attune.toml").is_ok());
}
