//! The commands that ask servers, as scripts use them: arguments from files, answers to forms, results in files.
#![cfg(unix)]

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::{attune, code, text};

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");
const DEMO: [&str; 5] = ["--", ATTUNE, "demo", "--bare", "--stdio"];
const SEAT: [&str; 3] = ["call", "book_seat", "connection=bern-zurich-2026-02-22-0831"];

fn demo(arguments: &[&str]) -> String {
    attune(&[arguments, &DEMO].concat())
}

fn printed(shown: &str) -> Value {
    let rest = shown.split_once("--- stdout\n").expect("output").1;
    serde_json::from_str(rest.rsplit_once("--- stderr\n").expect("errors").0).expect(shown)
}

#[test]
fn arguments_come_from_a_file_or_from_standard_input() {
    let mut child = Command::new(ATTUNE)
        .args(["call", "build_report", "--arguments", "-"])
        .args(DEMO)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .expect("attune starts");
    child.stdin.take().expect("a pipe").write_all(br#"{"pages": 1}"#).expect("it reads");
    let output = child.wait_with_output().expect("it ends");
    assert_eq!(code(&output), 0, "{}", text(&output.stdout));
    let result: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    assert_eq!(result["structuredContent"]["pages"], 1, "{result}");
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("arguments.json");
    std::fs::write(&file, r#"{"pages": 1}"#).expect("a file");
    let named = format!("@{}", file.display());
    let result = printed(&demo(&["call", "build_report", "--arguments", &named]));
    assert_eq!(result["structuredContent"]["pages"], 1, "{result}");
}

#[test]
fn a_form_is_answered_from_the_command_line() {
    let shown =
        demo(&[&SEAT[..], &["--answer", "position=Aisle", "--answer", "travel_class=first"]].concat());
    assert!(shown.starts_with("exit: 0\n"), "{shown}");
    assert_eq!(printed(&shown)["structuredContent"]["seat"], "42B", "{shown}");
    let shown = demo(&[&SEAT[..], &["--answer", "position=aisle"]].concat());
    assert!(shown.starts_with("exit: 2\n--- stdout\n--- stderr\n"), "{shown}");
    assert!(
        shown.contains("error: the server asks for `travel_class`, and no --answer names it\n"),
        "{shown}"
    );
    assert!(
        shown.contains("hint: add --answer travel_class=…; it is one of First class, Second class\n"),
        "{shown}"
    );
    let shown = demo(&[&SEAT[..], &["--answer", "decline"]].concat());
    assert!(shown.starts_with("exit: 1\n") && shown.ends_with("the tool says that it failed\n"), "{shown}");
    let shown = demo(&["call", "local_time", "--answer", "colour=red"]);
    assert!(
        shown.starts_with("exit: 0\n") && shown.contains("note: nothing was asked that is called `colour`"),
        "{shown}"
    );
}

#[test]
fn a_form_of_an_older_server_is_answered_from_the_command_line() {
    let server = ["--", "sh", "-c", crate::terminal::LEGACY];
    let shown = attune(
        &[&["call", "ask", "--text", "--answer", "zebra=Zoe", "--answer", "ant=7"], &server[..]].concat(),
    );
    assert!(
        shown.starts_with("exit: 0\n") && shown.contains(r#""content":{"ant":7,"zebra":"Zoe"}"#),
        "{shown}"
    );
    let shown = attune(&[&["call", "ask", "--answer", "ant=many"], &server[..]].concat());
    assert!(
        shown.starts_with("exit: 2\n") && shown.contains("error: the server asks for `zebra`"),
        "{shown}"
    );
}

#[test]
fn an_older_version_can_be_asked_for() {
    let version =
        |options: &[&str]| printed(&demo(&[&["discover"], options].concat()))["protocolVersion"].clone();
    assert_eq!(version(&["--protocol", "2025-06-18"]), "2025-06-18");
    assert_eq!(version(&[]), json!(null));
    let shown = demo(&["discover", "--text", "--protocol", "2026-07-28"]);
    assert!(shown.contains("2026-07-28, spoken now"), "{shown}");
    let shown = demo(&["discover", "--protocol", "2025"]);
    assert!(
        shown.starts_with("exit: 2\n")
            && shown.contains("2025 is no version that we speak; there are 2024-11-05"),
        "{shown}"
    );
    let server = ["--", "sh", "-c", crate::terminal::LEGACY];
    let shown = attune(&[&["tools", "--protocol", "2024-11-05"], &server[..]].concat());
    assert!(shown.contains("note: 2024-11-05 was asked for, and the server speaks 2025-11-25\n"), "{shown}");
}

#[test]
fn a_resource_and_a_result_are_saved_in_files() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = folder.path().join("valley.json");
    let path = file.to_str().expect("a path");
    let read = ["read", "map://features/alpine-valley-1", "--out", path];
    let shown = demo(&read);
    assert!(
        shown.starts_with("exit: 0\n--- stdout\n--- stderr\nwrote ") && shown.contains("valley.json"),
        "{shown}"
    );
    let saved: Value = serde_json::from_slice(&std::fs::read(&file).expect("a file")).expect("JSON");
    assert_eq!(saved["properties"]["name"], "Alpine Valley");
    let shown = demo(&read);
    assert!(
        shown.starts_with("exit: 2\n") && shown.contains("is there already, and nothing is written over"),
        "{shown}"
    );
    let shown = demo(&["call", "local_time", "--out", folder.path().to_str().expect("a path")]);
    assert!(shown.starts_with("exit: 0\n") && folder.path().join("text-1.json").is_file(), "{shown}");
}

#[test]
fn one_tool_is_shown_whole() {
    let shown = demo(&["tools", "--text", "get_weather"]).replace(ATTUNE, "attune");
    let (begin, end) = (shown.split("\n  forecast").next().expect("a page"), shown.split("\nCall\n").nth(1));
    insta::assert_snapshot!(begin, @"
    exit: 0
    --- stdout
    get_weather: Current weather

    Gives the current weather in a Swiss city, and a short forecast

    Its server says that it only reads.

    Arguments
      location  text; required
                A Swiss city, for example Bern
      tz        text
                The IANA time zone for the time of observation; UTC if left out

    Result
      conditions                 text
                                 The sky in a few words
      feels_like_c               whole number
                                 Temperature with wind chill in °C
    ");
    assert_eq!(end, Some("  attune call get_weather location=… -- attune demo --bare --stdio\n--- stderr\n"));
    assert_eq!(printed(&demo(&["tools", "get_weather"]))["name"], "get_weather");
    insta::assert_snapshot!(demo(&["tools", "get_wether"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the server has no tool `get_wether`
    hint: did you mean `get_weather`?
    ");
}
