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
use crate::serving::{FREE, Served};

const ATTUNE: &str = env!("CARGO_BIN_EXE_attune");

/// A folder of its own, gone with its test.
struct Place(PathBuf);

impl Place {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("attune-bundled-{name}-{}", std::process::id()));
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
fn the_server_of_a_bundle_has_the_title_that_the_bundle_is_shown_under() {
    let place = Place::demo("title");
    place.write("texts/es.json", r#"{"display_name": "Viajes"}"#);
    place.write("texts/de.json", r#"{"display_name": "Reisen", "server": {"title": "Reisedienst"}}"#);
    let mut served = Served::start(
        &[&["serve", "--bundle", place.path(), "--setting", "secret=hush"], &FREE[..]].concat(),
    );
    let address = served.address("Attune serves");
    for (wish, title) in [("es-UY", "Viajes"), ("de", "Reisedienst"), ("fr", "Swiss travel service")] {
        let headers = format!(
            "MCP-Protocol-Version: {MODERN}\r\nMcp-Method: tools/list\r\nAccept-Language: {wish}\r\n"
        );
        let (_, answer) = post(&address, &headers, &listing(wish));
        let info = &answer["result"]["_meta"]["io.modelcontextprotocol/serverInfo"];
        assert_eq!(info["title"], title, "{wish} {info}");
    }
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
    insta::assert_snapshot!(told(&[]), @"
    exit: 2
    --- stdout
    --- stderr
    error: the bundle needs secret (Secret)
    hint: set it with --setting secret=VALUE, or in the environment as ATTUNE_SETTING_SECRET
    ");
    insta::assert_snapshot!(told(&["--setting", "secret"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --setting secret has no `=`
    hint: write --setting KEY=VALUE
    ");
    insta::assert_snapshot!(told(&["--setting", "secret=1", "--setting", "sceret=2"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: sceret cannot be set; the bundle has first, secret
    hint: see `user_config` in the manifest
    ");
    insta::assert_snapshot!(attune(&["stdio", "--bundle", "nowhere.mcpb"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: nowhere.mcpb: is not there
    hint: name the folder of a bundle, or a .mcpb file
    ");
    insta::assert_snapshot!(attune(&["stdio", "--translate", "models", "--", "x"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --translate models is no kind of text
    hint: write display, model or logs, or several of them with commas between
    ");
}

#[test]
fn a_manifest_is_shown_as_a_user_sees_it() {
    let place = Place::demo("resolve");
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es-UY"]), @"
    exit: 0
    --- stdout
    description (manifest): Travel
    author.name (manifest): A
    tools.get_weather.description (es): Dice el tiempo
    --- stderr
    ");
    place.write("texts/es.json", "{\"tools\":");
    place.write("texts/en-US.json", r#"{"display_name": "Tra\u001b[31mvel"}"#);
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es-UY"]), @r#"
    exit: 0
    --- stdout
    display_name (en-US): Tra\u{1b}[31mvel
    description (manifest): Travel
    author.name (manifest): A
    tools.get_weather.description (manifest): Weather
    --- stderr
    "#);
    insta::assert_snapshot!(place.run(&["resolve", "--locale", "es_UY"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: --locale es_UY is not a language tag; write one by BCP 47, such as en, de-CH or zh-Hant-TW
    hint: such as --locale es-UY
    ");
    insta::assert_snapshot!(place.run(&["icon"]), @"
    exit: 1
    --- stdout
    --- stderr
    the bundle has no icon
    hint: add `icons` to the manifest, and `icon` for hosts that do not know them
    ");
    insta::assert_snapshot!(place.run(&["coverage"]), @"
    exit: 0
    --- stdout
    3 texts in en-US
    There is no translation yet.

    4 texts of settings (user_config) cannot be translated: everybody sees the manifest's own.
    --- stderr
    1 locale file cannot be read
    hint: `attune bundle validate` tells why
    ");
}

#[test]
fn coverage_counts_what_the_manifest_has() {
    let place = Place::demo("coverage");
    place.write(
        "texts/es-MX.json",
        r#"{"description": "Viajes", "long_description": "-", "tools": {"gone": {"description": "-"}}}"#,
    );
    insta::assert_snapshot!(place.run(&["coverage", "--list"]), @"
    exit: 0
    --- stdout
    3 texts in en-US

    locale  translated                  missing  stale  surplus
    es      █████████████░░░░░░░  66 %        1      0        0
    es-MX   █████████████░░░░░░░  66 %        1      0        2

    4 texts of settings (user_config) cannot be translated: everybody sees the manifest's own.

    es: missing: author.name
    es-MX: missing: author.name
    es-MX: surplus: long_description
    es-MX: surplus: tools.gone.description
    --- stderr
    ");
    insta::assert_snapshot!(place.run(&["coverage", "--at-least", "50", "--json"]), @r#"
    exit: 0
    --- stdout
    {
      "default_locale": "en-US",
      "total": 3,
      "settings": 4,
      "locales": [
        {
          "locale": "es",
          "translated": 2,
          "percent": 66,
          "inherited": 1,
          "missing": [
            "author.name"
          ],
          "stale": [],
          "surplus": []
        },
        {
          "locale": "es-MX",
          "translated": 2,
          "percent": 66,
          "inherited": 1,
          "missing": [
            "author.name"
          ],
          "stale": [],
          "surplus": [
            "long_description",
            "tools.gone.description"
          ]
        }
      ]
    }
    --- stderr
    "#);
}
