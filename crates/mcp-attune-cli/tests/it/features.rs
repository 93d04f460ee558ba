//! `attune features`.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{attune, code, text};

/// Runs `attune features parse` with this on its standard input.
fn parse(options: &[&str], input: &[u8]) -> String {
    let mut attune = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["features", "parse"])
        .args(options)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    // One that has read enough closes its end.
    let _ = attune.stdin.take().expect("a way in").write_all(input);
    let output = attune.wait_with_output().expect("attune ends");
    let (out, err) = (text(&output.stdout), text(&output.stderr));
    format!("exit: {}\n--- stdout\n{out}--- stderr\n{err}", code(&output))
}

fn parsed(tags: &Value) -> Value {
    let shown = parse(&["--json"], tags.to_string().as_bytes());
    let shown =
        shown.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
    serde_json::from_str(shown.expect("only data")).expect("JSON")
}

#[test]
fn shows_what_tags_ask_for() {
    let tags = r#"["agent", "verbosity=compact", "!elicitation", "x-acme", "format=text", "format=json", "a b", "loud"]"#;
    insta::assert_snapshot!(parse(&[], tags.as_bytes()), @"
    exit: 0
    --- stdout
    format       text
    verbosity    compact
    agent        yes
    elicitation  no
    vendor       x-acme
    unknown      loud
    ignored      format=json: another format was asked for before it
    ignored      a b: a name has letters, digits, `_` and `-`
    --- stderr
    ");
    insta::assert_snapshot!(parse(&[], b"[]"), @"
    exit: 0
    --- stdout
    format       as the server writes it
    verbosity    as the server writes it
    --- stderr
    ");
}

#[test]
fn every_tag_is_valid_ignored_or_unknown() {
    let tags = json!([
        "human",
        "format!=markdown",
        "human",
        "Agent",
        "agent",
        "x-a=1",
        "format=xml",
        "!a=b",
        "é",
        7
    ]);
    insta::assert_snapshot!(serde_json::to_string_pretty(&parsed(&tags)).expect("JSON"), @r#"
    {
      "agent": null,
      "custom": [
        "x-a=1"
      ],
      "effective_format": null,
      "elicitation": null,
      "format": null,
      "human": true,
      "ignored": [
        "agent",
        "!a=b",
        "é",
        "7"
      ],
      "interactive": null,
      "mcp_capable": null,
      "roots": null,
      "sampling": null,
      "tasks": null,
      "unknown": [
        "Agent",
        "format=xml"
      ],
      "valid": [
        "human",
        "format!=markdown",
        "human",
        "x-a=1"
      ],
      "verbosity": null,
      "warnings": [
        {
          "tag": "agent",
          "why": "the other of `agent` and `human` was said before it"
        },
        {
          "tag": "!a=b",
          "why": "write `key!=value`"
        },
        {
          "tag": "é",
          "why": "a name has letters, digits, `_` and `-`"
        },
        {
          "tag": "7",
          "why": "a tag is a string"
        }
      ]
    }
    "#);
}

#[test]
fn the_format_is_told_as_it_was_asked_for_and_as_it_is_chosen() {
    let check = |tags: Value, asked: Value, chosen: Value| {
        let parsed = parsed(&tags);
        assert_eq!((&parsed["format"], &parsed["effective_format"]), (&asked, &chosen), "{tags}");
    };
    check(json!([]), Value::Null, Value::Null);
    check(json!(["agent"]), Value::Null, json!("json"));
    check(json!(["human", "format=text"]), json!("text"), json!("text"));
    check(json!(["format=json", "format!=json"]), json!("json"), Value::Null);
}

/// As many tags, and as long ones, as the gateway reads.
#[test]
fn too_many_and_too_long_tags_are_ignored() {
    let mut tags: Vec<String> = (0..65).map(|number| format!("x-{number}")).collect();
    tags[3] = format!("x-{}", "a".repeat(255));
    let parsed = parsed(&json!(tags));
    assert_eq!(parsed["custom"].as_array().map(Vec::len), Some(63));
    assert_eq!(parsed["warnings"][0]["why"], "longer than 256 bytes");
    assert_eq!(parsed["warnings"][1], json!({ "tag": "x-64", "why": "only 64 tags are read" }));
}

#[test]
fn what_is_no_array_exits_with_2() {
    insta::assert_snapshot!(parse(&[], b"format=json"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: what is on standard input is no JSON: expected ident at line 1 column 2
    hint: write a JSON array of strings, such as ["agent", "format=json"]
    "#);
    insta::assert_snapshot!(parse(&["--json"], b"{}"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: what is on standard input is JSON, but no array
    hint: write a JSON array of strings, such as ["agent", "format=json"]
    "#);
    insta::assert_snapshot!(parse(&[], b" \n"), @r#"
    exit: 2
    --- stdout
    --- stderr
    error: there is nothing on standard input
    hint: write a JSON array of strings, such as ["agent", "format=json"]
    "#);
    let long = format!("[\"{}\"]", "a".repeat(1 << 20));
    assert!(
        parse(&[], long.as_bytes())
            .starts_with("exit: 2\n--- stdout\n--- stderr\nerror: there is more than 1 MiB")
    );
    assert!(parse(&[], b"[\"\xff\"]").starts_with("exit: 2\n"));
    assert!(parse(&[], "[".repeat(100_000).as_bytes()).starts_with("exit: 2\n"));
}

#[test]
fn explains_what_a_tag_does_and_which_rule_says_so() {
    insta::assert_snapshot!(attune(&["features", "explain", "verbosity=compact"]), @"
    exit: 0
    --- stdout
    verbosity=compact (F8)
      data comes without nulls, empty lists and objects, and fields in
      `low_priority`, but with all that the outputSchema requires. Prose stays as it
      is without a template. Needs a format
    --- stderr
    ");
    insta::assert_snapshot!(attune(&["features", "explain", "!human", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "tags": [
        {
          "tag": "!human",
          "does": "says that the tag does not hold: nothing of its own; an operator's template can ask for it",
          "rule": "F10"
        }
      ]
    }
    --- stderr
    "#);
    insta::assert_snapshot!(attune(&["features", "explain", "loud"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: loud is no feature tag that means anything
    hint: `attune features explain` lists all tags; one that is not among them is ignored
    ");
}

#[test]
fn explains_all_tags_that_mean_something() {
    let all = shown(&attune(&["features", "explain", "--json"]));
    let tags: Vec<_> = all["tags"].as_array().unwrap().iter().map(|it| it["tag"].as_str().unwrap()).collect();
    for tag in ["agent", "human", "format=text", "verbosity=verbose", "sampling", "tasks", "x-NAME"] {
        assert!(tags.contains(&tag), "{tags:?}");
    }
    // Every rule that is named can be explained.
    for entry in all["tags"].as_array().unwrap() {
        let rule = attune(&["explain", entry["rule"].as_str().unwrap()]);
        assert!(rule.starts_with("exit: 0\n"), "{rule}");
    }
}

fn shown(printed: &str) -> Value {
    let shown =
        printed.strip_prefix("exit: 0\n--- stdout\n").and_then(|rest| rest.strip_suffix("--- stderr\n"));
    serde_json::from_str(shown.unwrap_or_else(|| panic!("{printed}"))).expect("JSON")
}

#[test]
fn describes_what_tags_do_on_a_server_tool_by_tool() {
    let demo = ["--", env!("CARGO_BIN_EXE_attune"), "demo", "--bare", "--stdio"];
    let described = shown(&attune(&[&["features", "describe", "--json"][..], &demo].concat()));
    assert_eq!(described["negotiates"], false, "{described}");
    assert!(!described["server"].as_str().unwrap().is_empty());
    let does = |tag: &str, tool: &str| {
        let tags = described["tags"].as_array().unwrap();
        let tools = &tags.iter().find(|it| it["tag"] == tag).unwrap()["tools"];
        let found = tools.as_array().unwrap().iter().find(|it| it["tool"] == tool);
        found.map(|it| it["does"].as_str().unwrap().to_owned()).unwrap_or_default()
    };
    assert!(does("format=json", "get_weather").starts_with("structured content alone, "));
    assert!(does("human", "get_weather").contains("Markdown"), "{described}");
    assert_eq!(does("roots", "get_weather"), "");
    let told = attune(&[&["features", "describe"][..], &demo].concat());
    assert!(told.contains("does not negotiate content; this is what"), "{told}");
    assert!(
        told.contains("\nverbosity=compact\n  data comes") && told.contains("\n    get_weather "),
        "{told}"
    );
}

#[test]
#[cfg(unix)]
fn a_server_that_negotiates_decides_by_itself() {
    use crate::serving::{FREE, Served};
    let mut demo = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp", demo.address("is at"));
    let described = shown(&attune(&["features", "describe", "--json", &url]));
    assert_eq!((&described["negotiates"], &described["server"]), (&json!(true), &json!("swiss-travel")));
    let told = attune(&["features", "describe", &url]);
    assert!(told.contains("swiss-travel negotiates content itself, so it decides"), "{told}");
}

#[test]
fn a_server_that_cannot_be_asked_is_an_error() {
    insta::assert_snapshot!(attune(&["features", "describe"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: no server is named
    hint: give its URL, or the program to start after `--`
    ");
}
