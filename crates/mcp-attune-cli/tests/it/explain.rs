//! `attune explain`.

use std::process::{Command, Stdio};

use crate::attune;

/// The text comes from spec/rules.toml; after a change there, `INSTA_UPDATE=always cargo test -p mcp-attune-cli`.
#[test]
fn explains_a_rule() {
    insta::assert_snapshot!(attune(&["explain", "h12"]));
}

#[test]
fn explains_a_rule_as_json() {
    insta::assert_snapshot!(attune(&["explain", "H12", "--json"]));
}

#[test]
fn lists_all_rules() {
    let shown = attune(&["explain"]);
    assert!(shown.starts_with("exit: 0\n--- stdout\nL1   "), "{shown}");
    assert!(shown.ends_with("--- stderr\n"), "{shown}");
    assert_eq!(shown.lines().count(), 3 + 117, "{shown}");
}

#[test]
fn lists_a_family() {
    let shown = attune(&["explain", "l"]);
    assert!(shown.starts_with("exit: 0\n--- stdout\nL: language\n\nL1   "), "{shown}");
    assert_eq!(shown.lines().count(), 3 + 2 + 23, "{shown}");
    assert!(attune(&["explain", "L", "--json"]).contains("\"id\": \"L23\""));
}

#[test]
fn refuses_a_rule_that_its_family_does_not_have() {
    insta::assert_snapshot!(attune(&["explain", "l99"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: there is no rule l99
    hint: the L rules (language) are L1 to L23; `attune explain` lists all
    ");
}

#[test]
fn refuses_a_number_without_a_family() {
    insta::assert_snapshot!(attune(&["explain", "14"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: there is no rule 14
    hint: did you mean L14, H14, F14, C14, G14? `attune explain` lists all
    ");
}

#[test]
fn refuses_a_family_that_does_not_exist() {
    insta::assert_snapshot!(attune(&["explain", "SEP-2792\n"]), @r"
    exit: 2
    --- stdout
    --- stderr
    error: there is no rule SEP-2792\n
    hint: the rules are L1 to L23 (language), H1 to H20 (headers agree with the body), F1 to F17 (content negotiation), C1 to C17 (the caller's context), B1 to B8 (bundles), G1 to G17 (the gateway), A1 to A7 (assumed callers), X1 to X8 (the bridge between the eras)
    ");
}

#[test]
fn refuses_an_option_that_does_not_exist() {
    insta::assert_snapshot!(attune(&["explain", "--yaml"]), @"
    exit: 2
    --- stdout
    --- stderr
    error: unexpected argument '--yaml' found

      tip: to pass '--yaml' as a value, use '-- --yaml'

    Usage: attune explain [OPTIONS] [RULE]

    For more information, try '--help'.
    ");
}

#[test]
fn a_reader_that_stops_is_no_error() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_attune"))
        .args(["explain", "--json"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("attune starts");
    drop(child.stdout.take());
    let output = child.wait_with_output().expect("attune ends");
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), b"".as_slice()));
}
