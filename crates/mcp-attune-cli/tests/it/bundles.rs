//! Desktop bundles, as their authors and hosts see them.
#![cfg(unix)]

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use serde_json::{Value, json};

use crate::attune;
use crate::callers::{MODERN, post};
use crate::serving::Served;

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");

/// A folder of its own, gone with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attune-bundles-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("texts")).expect("a folder");
        Self(path)
    }

    /// The demo as a bundle: its server is this very program.
    fn demo(name: &str) -> Self {
        let place = Self::new(name);
        let manifest = json!({
            "manifest_version": "0.3", "name": "demo", "version": "1.0.0", "description": "Travel",
            "author": { "name": "A" },
            "localization": { "resources": "texts/${locale}.json", "default_locale": "en-US" },
            "server": { "type": "binary", "entry_point": "run", "mcp_config": {
                "command": "run", "args": ["${user_config.first}", "--bare", "--stdio"], "env": { "SECRET": "${user_config.secret}" } } },
            "tools": [{ "name": "get_weather", "description": "Weather" }],
            "user_config": {
                "first": { "type": "string", "title": "First", "description": "-", "default": "demo" },
                "secret": { "type": "string", "title": "Secret", "description": "-", "required": true, "sensitive": true } },
        });
        place.write("manifest.json", &manifest.to_string());
        place.write(
            "texts/es.json",
            r#"{"tools": {"get_weather": {"title": "El tiempo", "description": "Dice el tiempo"}}}"#,
        );
        place.write("run", &format!("#!/bin/sh\ntest \"$SECRET\" = hush || exit 3\ntest -f manifest.json || exit 4\nexec '{ATTUNE}' \"$@\"\n"));
        fs::set_permissions(place.0.join("run"), fs::Permissions::from_mode(0o755)).expect("a mode");
        place
    }

    fn write(&self, name: &str, text: &str) {
        fs::write(self.0.join(name), text).expect("a file");
    }

    fn path(&self) -> &str {
        self.0.to_str().expect("a path")
    }

    fn run(&self, arguments: &[&str]) -> String {
        attune(&[&["bundle"], arguments, &[self.path()]].concat()).replace(self.path(), "BUNDLE")
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

fn listing(wish: &str) -> Value {
    json!({ "jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": { "_meta": {
        "io.modelcontextprotocol/acceptLanguage": wish,
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": {} } } })
}

fn weather(answer: &Value) -> (String, String) {
    let tools = answer["result"]["tools"].as_array().expect("tools");
    let tool = tools.iter().find(|tool| tool["name"] == "get_weather").expect("a tool");
    let said = |name: &str| tool[name].as_str().expect("text").to_owned();
    (said("title"), said("description"))
}

#[test]
fn the_server_of_a_bundle_speaks_what_the_store_speaks() {
    let place = Place::demo("serve");
    let mut served = Served::start(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--admin",
        "127.0.0.1:0",
        "--bundle",
        place.path(),
        "--setting",
        "secret=hush",
    ]);
    let headers =
        format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\nAccept-Language: es-UY\r\n");
    let (head, answer) = post(&served.address("Attune serves"), &headers, &listing("es-UY"));
    assert_eq!(weather(&answer).0, "El tiempo", "{head}");
    assert!(!weather(&answer).1.starts_with("Dice"), "what models read is left alone");
    assert!(head.contains("content-language: es"), "{head}");
}

#[test]
fn an_archive_runs_over_pipes_and_leaves_nothing_behind() {
    let place = Place::demo("stdio");
    let rooms = Place::new("rooms");
    let archive = place.0.join("demo.mcpb");
    let packed = attune(&["bundle", "pack", place.path(), archive.to_str().expect("a path")]);
    assert!(packed.starts_with("exit: 0"), "{packed}");
    let mut child = Command::new(ATTUNE)
        .args(["stdio", "--translate", "display,model", "--bundle"])
        .arg(&archive)
        .env("ATTUNE_SETTING_SECRET", "hush")
        .env("TMPDIR", &rooms.0)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("attune starts");
    let mut to = child.stdin.take().expect("a pipe");
    let mut lines = BufReader::new(child.stdout.take().expect("a pipe")).lines();
    writeln!(to, "{}", listing("es")).expect("it reads");
    let answer: Value = serde_json::from_str(&lines.next().expect("a line").expect("a line")).expect("JSON");
    assert_eq!(weather(&answer), ("El tiempo".to_owned(), "Dice el tiempo".to_owned()));
    let there = |place: &Place| {
        fs::read_dir(&place.0)
            .expect("a folder")
            .filter(|it| it.as_ref().is_ok_and(|it| it.file_name() != "texts"))
            .count()
    };
    assert_eq!(there(&rooms), 1);
    drop(to);
    assert!(child.wait().expect("it ends").success());
    assert_eq!(there(&rooms), 0);
}

#[test]
fn what_a_bundle_needs_is_said() {
    let place = Place::demo("needs");
    let told = |arguments: &[&str]| attune(&[&["stdio", "--bundle", place.path()], arguments].concat());
    insta::assert_snapshot!(told(&[]), @"");
    insta::assert_snapshot!(told(&["--setting", "secret"]), @"");
    insta::assert_snapshot!(told(&["--setting", "secret=1", "--setting", "sceret=2"]), @"");
    insta::assert_snapshot!(attune(&["stdio", "--bundle", "nowhere.mcpb"]), @"");
    insta::assert_snapshot!(attune(&["stdio", "--translate", "models", "--", "x"]), @"");
}

#[test]
fn a_manifest_is_shown_as_a_user_sees_it() {
    let place = Place::demo("resolve");
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es-UY"]), @"");
    place.write("texts/es.json", "{\"tools\":");
    place.write("texts/en-US.json", r#"{"display_name": "Tra\u001b[31mvel"}"#);
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es-UY"]), @"");
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es_UY"]), @"");
    insta::assert_snapshot!(place.run(&["icon"]), @"");
    insta::assert_snapshot!(place.run(&["coverage"]), @"");
}

#[test]
fn coverage_counts_what_the_manifest_has() {
    let place = Place::demo("coverage");
    place.write(
        "texts/es-MX.json",
        r#"{"description": "Viajes", "long_description": "-", "tools": {"gone": {"description": "-"}}}"#,
    );
    insta::assert_snapshot!(place.run(&["coverage", "--list"]), @"");
    insta::assert_snapshot!(place.run(&["coverage", "--at-least", "50", "--json"]), @"");
}
