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
    let (code, report) = check(&[&[url.as_str(), "--by", "attune"], &CALLS[..]].concat());
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
    let printed = attune(&[&["check", &url, "--rule", "H13,F,C4", "--junit", &path], &CALLS[..]].concat());
    assert!(printed.starts_with("exit: 1\n"), "{printed}");
    let told = [
        "expected: 400 and -32700",
        "> Mcp-Method: tools/list",
        "< 4",
        "hint: ",
        "\nWarnings, which do not fail the check\n  H13 ",
        "no document asks for it: it is Attune's own reading",
        "\nF: not applicable, the server does not declare content negotiation\n",
        "Tools that were called: ",
    ];
    for part in told {
        assert!(printed.contains(part), "{part}: {printed}");
    }
    // What is broken stands first, and what does not apply takes a line.
    assert!(printed.find("\nFailed\n") < printed.find("\nWarnings"), "{printed}");
    assert_eq!(printed.matches("not applicable, ").count(), 1, "{printed}");
    let xml = std::fs::read_to_string(&file).expect("the file");
    std::fs::remove_file(&file).expect("the file");
    assert!(
        xml.contains("<testcase classname=\"H13\"") && xml.contains("<failure message=\"expected 400"),
        "{xml}"
    );
    assert!(xml.contains("<skipped message=\"not applicable: "), "{xml}");
    assert!(xml.contains("<skipped message=\"warning: no document asks for it"), "{xml}");
    assert!(xml.contains("<property name=\"by\" value=\"spec\"/>"), "{xml}");
    // Every suite and every case says how long it took, and not all took nothing.
    let timed = |tag: &str| xml.matches(tag).count();
    assert_eq!(timed(" time=\""), timed("<testcase ") + timed("<testsuite ") + 1, "{xml}");
    assert!(xml.lines().any(|line| line.contains("<testcase ") && !line.contains("time=\"0.000\"")), "{xml}");
}

/// The bare demo breaks rules of both kinds.
#[test]
fn known_failures_are_allowed_and_told_and_new_ones_fail() {
    let mut bare = Served::start(&["demo", "--bare", "--listen", "127.0.0.1:0"]);
    let url = format!("http://{}/mcp", bare.address("without Attune"));
    let file = std::env::temp_dir().join(format!("attune-baseline-{}.txt", std::process::id()));
    let path = file.to_string_lossy();
    let check = |more: &[&str]| check(&[&[url.as_str(), "--rule", "H13,H15"], more].concat());
    let (code, strict) = check(&["--by", "attune"]);
    assert_eq!((code, &strict["by"]), (1, &"attune".into()));
    let (code, report) = check(&[]);
    assert_eq!((code, &report["by"]), (1, &"spec".into()));
    // What only Attune asks is a warning by default, and nothing is lost.
    let warnings = report["counts"]["warnings"].as_u64().expect("a count");
    let failed = |report: &Value| report["counts"]["failed"].as_u64().expect("a count");
    assert!(
        warnings > 0 && failed(&strict) == failed(&report) + warnings,
        "{} {}",
        strict["counts"],
        report["counts"]
    );
    let (code, report) = check(&["--allow", "h13,H15/foreign-origin"]);
    assert_eq!((code, with(&report, "failed")), (0, Vec::new()));
    let allowed = report["allowed"].as_array().expect("a list");
    assert!(allowed.contains(&"H15/foreign-origin".into()), "{allowed:?}");

    let missing = attune(&["check", &url, "--baseline", &path]);
    assert!(missing.starts_with("exit: 2\n") && missing.contains("add --update"), "{missing}");
    let (code, report) = check(&["--baseline", &path, "--update"]);
    assert_eq!((code, failed(&report)), (0, 0), "{}", report["counts"]);
    let (code, _) = check(&["--baseline", &path]);
    assert_eq!(code, 0);
    // Without one of its lines that failure is new; with another one that line is stale.
    let text = std::fs::read_to_string(&file).expect("the file");
    let kept: String = text
        .lines()
        .filter(|line| !line.starts_with("H15/"))
        .fold(String::new(), |all, line| all + line + "\n");
    std::fs::write(&file, kept + "H15/foreign-host # mended\n").expect("the file");
    let (code, report) = check(&["--baseline", &path]);
    std::fs::remove_file(&file).expect("the file");
    assert_eq!((code, with(&report, "failed").len()), (1, 1));
    assert_eq!(report["stale"], serde_json::json!(["H15/foreign-host"]));
}

#[test]
fn over_pipes_no_headers_are_shown() {
    let attune = env!("CARGO_BIN_EXE_attune");
    let stdio = ["check", "--by", "attune", "--verbose", "--", attune, "demo", "--bare", "--stdio"];
    // A tool that reads the context makes the server break a rule about it.
    let printed = crate::attune(&[&stdio[..4], &CALLS[2..4], &stdio[4..]].concat());
    assert!(printed.contains("        > {"), "an exchange is shown: {printed}");
    assert!(!printed.contains("> Content-Type") && !printed.contains("> MCP-Protocol-Version"), "{printed}");
    // Verbose: every rule has its line.
    assert!(printed.contains("\n  H6  not applicable "), "{printed}");
}

#[test]
fn a_program_behind_attune_answers_in_languages_over_pipes() {
    let attune = env!("CARGO_BIN_EXE_attune");
    let locales = Path::new(env!("CARGO_MANIFEST_DIR")).join("../mcp-attune-demo/locales");
    let locales = locales.to_string_lossy();
    let stdio = ["--", attune, "stdio", "--default-language", "en", "--locales", &locales];
    let server = ["--", attune, "demo", "--bare", "--stdio"];
    let (code, report) = check(&[&["--rule", "L,C", "--by", "attune"], &stdio[..], &server].concat());
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
