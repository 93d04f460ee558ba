//! Each finding, seen once; and a ledger without any.

use super::*;
use crate::spec::{cases, ledger};

const TEXTS: &str = "title = 't'\nlevel = 'must'\nsource = 's'\nsays = 'x'\nwhy = 'y'\n";

/// A ledger that has every rule, all planned, except that L1 is as given.
fn ledger(l1: &str) -> Ledger {
    let mut text = format!("[L1]\n{l1}\n");
    for id in ids::all().filter(|id| id != "L1") {
        text += &format!("[{id}]\n{TEXTS}state = 'planned'\n");
    }
    ledger::parse(&text).unwrap()
}

fn tests() -> Tests {
    let mut tests = Tests::default();
    for name in
        ["wire::a::keeps", "wire::a::refuses", "wire::it::cases::agree", "wire::a::twin", "wire::a::twin"]
    {
        tests.add(name.to_owned(), false);
    }
    tests.add("wire::a::sleeps".to_owned(), true);
    tests
}

fn cases(rules: &str) -> Cases {
    let case = |name: &str| format!(r#"{{"name": "{name}", "rule": "L1", "input": 0, "expected": 0}}"#);
    let list = [case("one"), case("two"), case("two")].join(",");
    let text = format!(r#"{{"about": "a", "rules": {rules}, "cases": [{list}]}}"#);
    Cases::from([("agree".to_owned(), cases::parse(&text))])
}

/// What is found when L1 is as given, with everything else in order.
fn found(l1: &str) -> Vec<String> {
    let findings = check(&ledger(l1), &tests(), &cases(r#"["L1"]"#));
    assert!(findings.iter().all(|finding| !finding.hint.is_empty() && !finding.warning));
    findings.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

/// What is found when the two sides of L1 are as given.
fn sides(kept: &str, refused: &str) -> Vec<String> {
    found(&format!("{TEXTS}kept = {kept}\nrefused = {refused}"))
}

const KEPT: &str = "['wire::a::keeps']";
const REFUSED: &str = "['wire::a::refuses']";

#[test]
fn finds_nothing_in_a_good_ledger() {
    assert_eq!(sides(KEPT, REFUSED), [""; 0]);
    assert_eq!(sides("['wire::it::cases::agree#one', 'wire::a::keeps']", "'n/a: it cannot fail'"), [""; 0]);
}

#[test]
fn finds_a_missing_id() {
    let findings = check(&ledger::parse("").unwrap(), &tests(), &Cases::new());
    assert_eq!(findings.len(), 117);
    assert_eq!(findings[0].to_string().split(';').next(), Some("spec/rules.toml: L1: the rule is missing"));
}

#[test]
fn finds_an_unknown_id() {
    let mut ledger = ledger(&format!("{TEXTS}kept = {KEPT}\nrefused = {REFUSED}"));
    ledger.entries.extend(ledger::parse("[L24]\n[Y1]\n").unwrap().entries);
    let findings = check(&ledger, &tests(), &Cases::new());
    assert_eq!(findings.len(), 2);
    assert_eq!(findings[0].place, "spec/rules.toml:1: L24");
    assert_eq!(findings[1].place, "spec/rules.toml:2: Y1");
    assert_eq!(findings[1].what, "there is no such rule");
}

#[test]
fn finds_a_table_that_is_no_rule() {
    let findings = found(&format!("{TEXTS}keept = []"));
    assert_eq!(findings.len(), 1);
    assert!(findings[0].contains("cannot be read as a rule: unknown field `keept`"), "{findings:?}");
}

#[test]
fn finds_each_text_that_is_missing_or_empty() {
    for field in ["title", "level", "source", "says", "why"] {
        let expected = [format!("spec/rules.toml:1: L1: `{field}` is missing or empty")];
        let without: String =
            TEXTS.lines().filter(|line| !line.starts_with(field)).map(|l| format!("{l}\n")).collect();
        let sides = format!("kept = {KEPT}\nrefused = {REFUSED}\n");
        assert_eq!(found(&format!("{without}{sides}")), expected);
        assert_eq!(found(&format!("{without}{field} = '  '\n{sides}")), expected);
    }
}

#[test]
fn finds_an_unknown_level_and_an_unknown_state() {
    let texts = TEXTS.replace("must", "perhaps");
    let findings = found(&format!("{texts}kept = {KEPT}\nrefused = {REFUSED}"));
    assert_eq!(findings, ["spec/rules.toml:1: L1: there is no level `perhaps`"]);
    assert_eq!(found(&format!("{TEXTS}state = 'done'")), ["spec/rules.toml:1: L1: there is no state `done`"]);
}

#[test]
fn finds_a_side_that_is_missing_or_empty() {
    assert_eq!(found(&format!("{TEXTS}refused = {REFUSED}")), ["spec/rules.toml:1: L1: `kept` is missing"]);
    assert_eq!(found(&format!("{TEXTS}kept = {KEPT}")), ["spec/rules.toml:1: L1: `refused` is missing"]);
    assert_eq!(sides("[]", REFUSED), ["spec/rules.toml:1: L1: `kept` is an empty list"]);
    assert_eq!(sides(KEPT, "[]"), ["spec/rules.toml:1: L1: `refused` is an empty list"]);
}

#[test]
fn finds_a_text_where_tests_belong() {
    assert_eq!(sides("'n/a: no'", REFUSED), ["spec/rules.toml:1: L1: `kept` must be a list of tests"]);
    for text in ["'n/a'", "'n/a: '", "'later'"] {
        assert_eq!(
            sides(KEPT, text),
            ["spec/rules.toml:1: L1: `refused` is a text that does not say `n/a: why`"],
            "{text}"
        );
    }
}

#[test]
fn finds_a_planned_rule_that_has_tests() {
    let expected = ["spec/rules.toml:1: L1: is planned and also names tests"];
    // The file of cases must not be about a planned rule, so it is about none here.
    for side in [format!("kept = {KEPT}"), "refused = 'n/a: no'".to_owned()] {
        let findings = check(&ledger(&format!("{TEXTS}state = 'planned'\n{side}")), &tests(), &cases("[]"));
        let found: Vec<String> =
            findings.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect();
        assert_eq!(found, expected);
    }
}

#[test]
fn finds_a_test_that_does_not_exist() {
    let findings = check(
        &ledger(&format!("{TEXTS}kept = ['wire::b::keeps']\nrefused = ['wire::b::never']")),
        &tests(),
        &Cases::new(),
    );
    assert_eq!(findings.len(), 2);
    assert_eq!(findings[0].what, "`kept` names `wire::b::keeps`, and there is no such test");
    assert_eq!(findings[0].hint, "did you mean `wire::a::keeps`?");
    assert_eq!(findings[1].what, "`refused` names `wire::b::never`, and there is no such test");
}

#[test]
fn finds_a_test_that_is_ignored() {
    let findings = sides(KEPT, "['wire::a::sleeps']");
    assert_eq!(findings, ["spec/rules.toml:1: L1: `refused` names `wire::a::sleeps`, which is ignored"]);
}

#[test]
fn finds_a_test_that_is_ambiguous() {
    let findings = sides("['wire::a::twin']", REFUSED);
    assert_eq!(findings, ["spec/rules.toml:1: L1: `kept` names `wire::a::twin`, and 2 tests have that name"]);
}

#[test]
fn finds_a_test_that_is_listed_twice() {
    let findings = sides("['wire::a::keeps', 'wire::a::keeps']", REFUSED);
    assert_eq!(findings, ["spec/rules.toml:1: L1: `kept` lists `wire::a::keeps` twice"]);
    // Once on each side is fine: a data-driven test proves both.
    assert_eq!(sides("['wire::it::cases::agree']", "['wire::it::cases::agree']"), [""; 0]);
}

#[test]
fn finds_a_case_that_does_not_exist_exactly_once() {
    assert_eq!(
        sides("['wire::it::cases::agree#three']", "['wire::it::cases::agree#two']"),
        [
            "spec/rules.toml:1: L1: `kept` names `wire::it::cases::agree#three`, and spec/cases/agree.json has no such case",
            "spec/rules.toml:1: L1: `refused` names `wire::it::cases::agree#two`, and spec/cases/agree.json has 2 cases of that name",
        ]
    );
    assert_eq!(
        sides("['wire::a::keeps#one']", REFUSED),
        ["spec/rules.toml:1: L1: `kept` names `wire::a::keeps#one`, and there is no spec/cases/keeps.json"]
    );
}

#[test]
fn finds_a_case_of_a_test_that_does_not_exist() {
    let findings = sides("['wire::it::agree#one']", REFUSED);
    assert_eq!(
        findings,
        ["spec/rules.toml:1: L1: `kept` names `wire::it::agree`, and there is no such test"]
    );
}

/// What is found in the files of cases when all rules are planned.
fn found_in(cases: &Cases) -> Vec<String> {
    let findings = check(&ledger(&format!("{TEXTS}state = 'planned'")), &tests(), cases);
    findings.iter().map(|finding| format!("{}: {}", finding.place, finding.what)).collect()
}

#[test]
fn finds_a_file_of_cases_that_names_an_unknown_rule() {
    assert_eq!(
        found_in(&cases(r#"["L99"]"#)),
        ["spec/cases/agree.json: names the rule L99, and there is no such rule"]
    );
    let text =
        r#"{"about": "a", "rules": [], "cases": [{"name": "n", "rule": "Z1", "input": 0, "expected": 0}]}"#;
    assert_eq!(
        found_in(&Cases::from([("x".to_owned(), cases::parse(text))])),
        ["spec/cases/x.json: names the rule Z1, and there is no such rule"]
    );
}

#[test]
fn finds_a_file_of_cases_for_a_rule_that_is_planned() {
    assert_eq!(
        found_in(&cases(r#"["L2"]"#)),
        ["spec/cases/agree.json: has cases for L2, which spec/rules.toml calls planned"]
    );
}

#[test]
fn finds_a_file_of_cases_that_cannot_be_read() {
    let findings = found_in(&Cases::from([("x".to_owned(), cases::parse("{"))]));
    assert!(findings[0].starts_with("spec/cases/x.json: cannot be read: EOF"), "{findings:?}");
}

#[test]
fn collects_all_findings() {
    assert_eq!(found("state = 'done'").len(), 6);
}

#[test]
fn finds_cases_in_the_folders_of_raw_requests() {
    let wire = [r#"{"about": "a", "cases": [{"name": "one", "send": ""}]}"#.to_owned()];
    let cases = Cases::from([("agree".to_owned(), cases::parse_wire(&wire))]);
    let found = |case: &str| {
        let ledger = ledger(&format!("{TEXTS}kept = ['wire::it::cases::agree#{case}']\nrefused = {REFUSED}"));
        check(&ledger, &tests(), &cases).iter().map(|finding| finding.what.clone()).collect::<Vec<_>>()
    };
    assert_eq!(found("one"), [""; 0]);
    assert_eq!(
        found("two"),
        ["`kept` names `wire::it::cases::agree#two`, and spec/wire/agree has no such case"]
    );
}
