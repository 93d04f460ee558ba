//! What somebody sees who tries `attune demo`: lines that work, their own time, and their own language throughout.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use jiff::Timestamp;
use serde_json::{Value, json};

use crate::callers::{LEGACY, MODERN, post};
use crate::serving::{FREE, Served};
use crate::{code, text};

/// Half past nine on a Sunday in Switzerland.
pub(crate) const NOW: &str = "2026-02-22T08:30:00Z";

const LANGUAGES: [&str; 8] = ["ar", "de-CH", "es-MX", "fr-CH", "it-CH", "ja", "rm", "zh-TW"];
const CITIES: [&str; 6] = ["Bern", "Zurich", "Geneva", "Lugano", "Zermatt", "Basel"];

/// Runs a line in a shell, as it is pasted into one, and returns what it prints.
fn paste(line: &str) -> String {
    let folder = Path::new(env!("CARGO_BIN_EXE_attune")).parent().expect("a folder");
    let path = format!("{}:{}", folder.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh").args(["-c", line]).env("PATH", path).output().expect("sh starts");
    assert_eq!(code(&output), 0, "{line}\n{}", text(&output.stderr));
    assert_eq!(text(&output.stderr), "", "{line}");
    text(&output.stdout).to_owned()
}

/// The result of a request in a language, with these feature tags.
fn ask(address: &str, language: &str, tags: &[&str], method: &str, mut params: Value) -> Value {
    let features =
        json!({ "io.modelcontextprotocol/content-negotiation": { "version": "1.0", "features": tags } });
    params["_meta"] = json!({
        "io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientCapabilities": { "extensions": features },
        "io.modelcontextprotocol/acceptLanguage": language,
    });
    let name = params["name"].as_str().or(params["uri"].as_str());
    let name = name.map(|name| format!("Mcp-Name: {name}\r\n")).unwrap_or_default();
    let headers = format!("MCP-Protocol-Version: {MODERN}\r\nMcp-Method: {method}\r\n{name}");
    let (_, answer) =
        post(address, &headers, &json!({ "jsonrpc": "2.0", "id": 1, "method": method, "params": params }));
    answer["result"].clone()
}

fn call(address: &str, language: &str, tags: &[&str], tool: &str, arguments: &Value) -> Value {
    ask(address, language, tags, "tools/call", json!({ "name": tool, "arguments": arguments }))
}

fn shown(result: &Value) -> &str {
    result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("no text in {result}"))
}

#[test]
fn every_line_that_the_demo_prints_works_when_it_is_pasted() {
    let mut demo = Served::start(&[&["demo"], &FREE[..]].concat());
    let tries = demo.until("With --curl");
    let lines: Vec<_> = tries.lines().filter(|line| line.contains(" call http://")).collect();
    assert_eq!(lines.len(), 3, "{tries}");
    assert!(!tries.contains("curl "), "{tries}");
    // The words of a shell that are no attune are no command.
    let begins = |line: &&str| line.starts_with(env!("CARGO_BIN_EXE_attune"));
    assert!(lines.iter().all(begins), "{tries}");
    let expected: [&[&str]; 3] = [
        &[
            "## Aktuelles Wetter in Bern",
            "Meist bewölkt, leichter Niederschlag möglich",
            "15 km/h aus Nordwest",
        ],
        &["\"timezone\": \"Asia/Kathmandu\"", "+05:45"],
        &["Billette für", "\"timezone\": \"Europe/Vienna\""],
    ];
    for (line, expected) in lines.iter().zip(expected) {
        let printed = paste(line);
        assert!(expected.iter().all(|text| printed.contains(text)), "{line}\n{printed}");
    }
}

#[test]
fn the_bare_server_tells_the_time_where_its_caller_is() {
    let printed = paste(&format!(
        "attune call local_time --timezone Asia/Kathmandu -- attune demo --bare --stdio --now {NOW}"
    ));
    assert!(printed.contains("2026-02-22T14:15:00+05:45"), "{printed}");
    let named = paste(&format!(
        "attune call local_time tz=Asia/Tokyo --timezone Asia/Kathmandu -- attune demo --bare --stdio --now {NOW}"
    ));
    assert!(named.contains("2026-02-22T17:30:00+09:00"), "{named}");
}

#[test]
fn the_clock_of_the_demo_runs_unless_it_is_stopped() {
    let before = Timestamp::now().as_second();
    let printed = paste("attune call local_time --json -- attune demo --bare --stdio");
    let result: Value = serde_json::from_str(&printed).expect("JSON");
    let told: Timestamp =
        result["structuredContent"]["local_time"].as_str().expect("a time").parse().expect("a time");
    assert!((before..=Timestamp::now().as_second()).contains(&told.as_second()), "{printed}");
    let mut demo = Served::start(&[&["demo", "--now", NOW], &FREE[..]].concat());
    let address = demo.address("is at");
    let result = call(&address, "en", &[], "get_weather", &json!({ "location": "Bern" }));
    let days: Vec<_> = result["structuredContent"]["forecast"].as_array().expect("days").iter().collect();
    assert_eq!(days[0]["date"], "2026-02-22", "{result}");
    assert_eq!(days[2]["date"], "2026-02-26", "{result}");
    // Were it taken, this would serve nobody, and end.
    let wrong = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["demo", "--bare", "--stdio", "--now", "noon"])
        .output()
        .expect("it runs");
    assert_eq!(code(&wrong), 2);
    assert!(text(&wrong.stderr).contains("write one such as 2026-11-12T14:23:00+01:00"), "{wrong:?}");
}

/// The words of a text, whatever stands between them.
fn words(text: &str) -> Vec<&str> {
    text.split(|char: char| !char.is_alphanumeric()).filter(|word| !word.is_empty()).collect()
}

#[test]
fn no_word_of_the_weather_is_english_for_readers_of_another_language() {
    let mut demo = Served::start(&[&["demo", "--now", NOW], &FREE[..]].concat());
    let address = demo.address("is at");
    for city in CITIES {
        let arguments = json!({ "location": city });
        let data = call(&address, "en", &["agent"], "get_weather", &arguments)["structuredContent"].clone();
        for language in LANGUAGES {
            for tags in [&["human"][..], &["format=text"]] {
                let result = call(&address, language, tags, "get_weather", &arguments);
                let (text, reported) =
                    (shown(&result), &result["_meta"]["io.modelcontextprotocol/contentLanguage"]);
                assert_eq!(reported, language, "{text}");
                let days = data["forecast"].as_array().expect("days").iter();
                let said = days.map(|day| &day["conditions"]).chain([&data["conditions"], &data["source"]]);
                for english in said.map(|said| said.as_str().expect("text")) {
                    assert!(!text.contains(english), "{language}: `{english}` in\n{text}");
                }
                let direction = data["wind_direction"].as_str().expect("text");
                for english in [direction, "Location", "Humidity", "Forecast", "Wind direction", "Current"] {
                    assert!(!words(text).contains(&english), "{language}: `{english}` in\n{text}");
                }
            }
            // Programs get what they always got.
            let same = call(&address, language, &["agent"], "get_weather", &arguments);
            assert_eq!(same["structuredContent"], data, "{language}");
        }
    }
    let german = call(
        &address,
        "de-CH",
        &["format=text"],
        "find_connections",
        &json!({ "from": "Zurich", "to": "Geneva" }),
    );
    assert!(shown(&german).contains("Genf") && !shown(&german).contains("Geneva"), "{german}");
    let german = call(&address, "de-CH", &["format=text"], "local_time", &json!({}));
    assert!(shown(&german).contains("Wochentag") && shown(&german).contains("Sonntag"), "{german}");
}

#[test]
fn the_service_is_called_by_its_name_in_the_language_of_every_answer() {
    let mut demo = Served::start(&[&["demo", "--now", NOW], &FREE[..]].concat());
    let address = demo.address("is at");
    let query = |text: &str| json!({ "query": text });
    let calls = [
        ("get_weather", json!({ "location": "Bern" })),
        ("query_sales", query("sales this month")),
        ("query_tickets", query("as of now")),
        ("local_time", json!({})),
    ];
    let calls =
        calls.map(|(tool, arguments)| ("tools/call", json!({ "name": tool, "arguments": arguments })));
    let lists =
        ["server/discover", "tools/list", "prompts/list", "resources/list"].map(|method| (method, json!({})));
    for (method, params) in lists.into_iter().chain(calls) {
        let result = ask(&address, "de-CH", &[], method, params.clone());
        let title = &result["_meta"]["io.modelcontextprotocol/serverInfo"]["title"];
        assert_eq!(title, "Schweizer Reisedienst", "{method} {params}: {result}");
        assert_eq!(result["_meta"]["io.modelcontextprotocol/contentLanguage"], "de-CH", "{method} {params}");
    }
    let hello = json!({ "jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
        "protocolVersion": LEGACY, "capabilities": {}, "clientInfo": { "name": "it", "version": "1" },
        "_meta": { "io.modelcontextprotocol/acceptLanguage": "de-CH" } } });
    let (_, answer) = post(&address, "", &hello);
    assert_eq!(answer["result"]["serverInfo"]["title"], "Schweizer Reisedienst", "{answer}");
}
