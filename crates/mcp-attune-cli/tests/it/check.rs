//! `attune check`, run as a user runs it.
#![cfg(unix)]

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::serving::{FREE, Served};
use crate::{attune, code, text};

const CALLS: [&str; 6] = [
    "--call",
    r#"execute_sql={"query": "SELECT 1", "region": "eu-west1", "shard": 42, "dry_run": true}"#,
    "--call",
    r#"query_sales={"query": "sales this month"}"#,
    "--call",
    r#"get_weather={"location": "Bern"}"#,
];

/// Checks a server, and returns how the command ended and what it printed.
fn check(arguments: &[&str]) -> (i32, Value) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_attune"));
    let output = command.args(["check", "--json"]).args(arguments).output().expect("attune starts");
    let report = serde_json::from_slice(&output.stdout);
    (code(&output), report.unwrap_or_else(|why| panic!("{why}: {}", text(&output.stderr))))
}

/// The scenarios that came out so: `H1: title`.
fn with(report: &Value, outcome: &str) -> Vec<String> {
    let rules = report["rules"].as_array().expect("rules").iter();
    let checks = rules.flat_map(|rule| {
        let checks = rule["checks"].as_array().expect("checks").iter();
        checks
            .filter(|check| check["outcome"] == outcome)
            .map(|check| format!("{}: {}", rule["rule"], check["title"]))
    });
    checks.collect()
}

#[test]
fn the_demo_keeps_every_rule_that_can_be_seen() {
    let mut demo = Served::start(&[&["demo"], &FREE[..]].concat());
    let url = format!("http://{}/mcp", demo.address("is at"));
    let (code, report) = check(&[&[url.as_str()], &CALLS[..]].concat());
    let wrong = [with(&report, "failed"), with(&report, "unclear")].concat();
    assert_eq!((code, wrong), (0, Vec::new()));
    // All that does not apply is what pipes have of their own.
    let aside = with(&report, "not-applicable");
    assert!(aside.iter().all(|title| title.starts_with("\"L20\"")), "{aside:#?}");
    assert!(report["counts"]["passed"].as_u64().expect("a count") > 100, "{}", report["counts"]);
}

#[test]
fn the_same_server_without_attune_falls_short_and_is_told_how() {
    let mut bare = Served::start(&["demo", "--bare", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}/mcp", bare.address("without Attune"));
    let file = std::env::temp_dir().join(format!("attune-check-{}.xml", std::process::id()));
    let path = file.to_string_lossy();
    let printed = attune(&[&["check", &url, "--rule", "H13,L", "--junit", &path], &CALLS[..]].concat());
    assert!(printed.starts_with("exit: 1\n"), "{printed}");
    let told = ["expected: 400 and -32700", "> Mcp-Method: tools/list", "< 4", "hint: ", "not applicable"];
    for part in told {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    let xml = std::fs::read_to_string(&file).expect("the file");
    std::fs::remove_file(&file).expect("the file");
    assert!(
        xml.contains("<testcase classname=\"H13\"") && xml.contains("<failure message=\"expected 400"),
        "{xml}"
    );
    assert!(xml.contains("<skipped message=\"not applicable: "), "{xml}");
}

#[test]
fn a_program_behind_attune_answers_in_languages_over_pipes() {
    let attune = env!("CARGO_BIN_EXE_attune");
    let locales = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-attune-demo/locales");
    let locales = locales.to_string_lossy();
    let stdio = ["--", attune, "stdio", "--default-language", "en", "--locales", &locales];
    let server = ["--", attune, "demo", "--bare", "--stdio"];
    let (code, report) = check(&[&["--rule", "L,C"], &stdio[..], &server].concat());
    assert_eq!((code, with(&report, "failed")), (0, Vec::new()));
    let passed = with(&report, "passed");
    assert!(passed.iter().any(|title| title.starts_with("\"L20\"")), "{passed:#?}");
}

#[test]
fn what_cannot_be_checked_is_exit_2() {
    let gone = attune(&["check", "http://127.0.0.1:9/mcp"]);
    assert!(gone.starts_with("exit: 2\n") && gone.contains("nobody answers"), "{gone}");
    let unknown = attune(&["check", "--rule", "H99", "http://127.0.0.1:9/mcp"]);
    assert!(unknown.starts_with("exit: 2\n") && unknown.contains("there is no rule"), "{unknown}");
    let unseen = attune(&["check", "--rule", "L18", "http://127.0.0.1:9/mcp"]);
    assert!(unseen.starts_with("exit: 2\n") && unseen.contains("from outside"), "{unseen}");
}
