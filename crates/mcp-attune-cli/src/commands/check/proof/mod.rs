//! Each scenario proven: a right server passes it, and a server that is right but for one thing fails it.
//!
//! A mutant has the name of its scenario, so that a scenario without one shows: its mutant is right, and passes.

mod http;
mod right;

use std::sync::Arc;
use std::time::Duration;

use mcp_attune_rmcp::{ConnectionOptions, Era, ServerTarget};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};

use self::right::{Request, Right};
use super::client::{CheckClient, CheckHandshake};
use super::facts::CheckTransport;
use super::outcome::{CalledToolCount, ScenarioOutcome, ScenarioResult};
use super::pipe::CheckPipeConnection;
use super::scenario::{Scenario, ScenarioNeed};
use super::scenarios;
use super::wire::CheckConnection;
use crate::call_plan::{SkippedTool, ToolCallOption};

const PATIENCE: Duration = Duration::from_secs(20);

/// What comes of scenarios at a server with one flaw, or none.
async fn judged(flaw: &str, scenarios: &[&'static Scenario]) -> Vec<ScenarioResult> {
    looked_at(flaw, scenarios, &[], PATIENCE).await.0
}

/// The same, with what the server was asked for: tools that take longer than `slow` are slow.
async fn looked_at(
    flaw: &str,
    scenarios: &[&'static Scenario],
    named: &[ToolCallOption],
    slow: Duration,
) -> (Vec<ScenarioResult>, Vec<CalledToolCount>, Vec<SkippedTool>) {
    let right = Arc::new(Right::new(flaw));
    let over_pipes = scenarios.iter().any(|scenario| scenario.needs.contains(&ScenarioNeed::Pipe));
    let opening = CheckHandshake {
        version: right::VERSION.to_owned(),
        era: Era::Modern,
        introduction: right.introduction(),
    };
    let (mut asker, place) = if over_pipes {
        (
            CheckClient::new(CheckConnection::Pipe(Box::new(piped(right))), &opening, PATIENCE),
            CheckTransport::Pipe,
        )
    } else {
        let url = http::serve(right).await;
        let target = ServerTarget::new(Some(&url), &[]).unwrap();
        let asker =
            CheckClient::open(&target, &ConnectionOptions::default(), &opening, PATIENCE).await.unwrap();
        (asker, CheckTransport::Http { loopback: true })
    };
    let (facts, checks) =
        super::run_scenarios(&mut asker, place, &opening, named, scenarios, slow).await.unwrap();
    let called = asker.called_tools(|name| facts.tools.iter().any(|tool| tool["name"] == name));
    (checks.into_iter().map(|(_, check)| check).collect(), called, facts.left_out)
}

/// The right server at the other end of two pipes.
fn piped(right: Arc<Right>) -> CheckPipeConnection {
    let (ours, theirs) = tokio::io::duplex(1 << 20);
    let (from, mut to) = tokio::io::split(theirs);
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            let request = Request { headers: Vec::new(), body: line.into_bytes(), pipe: true };
            let answer = right.respond(&request);
            to.write_all(format!("{}\n", answer.body).as_bytes()).await.unwrap();
        }
    });
    let (from, to) = tokio::io::split(ours);
    CheckPipeConnection::from_ends(to, from)
}

/// Scenarios for HTTP and for pipes apart.
fn kinds() -> [Vec<&'static Scenario>; 2] {
    let (pipes, http) =
        scenarios::all().partition(|scenario: &&Scenario| scenario.needs.contains(&ScenarioNeed::Pipe));
    [http, pipes]
}

#[tokio::test]
async fn a_right_server_passes_every_scenario() {
    for scenarios in kinds() {
        let checks = judged("nothing", &scenarios).await;
        let wrong: Vec<_> = checks.iter().filter(|check| check.outcome != ScenarioOutcome::Passed).collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }
}

#[tokio::test]
async fn every_scenario_fails_a_server_that_is_right_but_for_it() {
    let mut wrong = Vec::new();
    for scenario in scenarios::all() {
        let checks = judged(&scenario.id(), &[scenario]).await;
        if !checks.iter().all(|check| check.outcome == ScenarioOutcome::Failed) {
            wrong.push(format!("{}: {:?} {:?}", scenario.id(), checks[0].outcome, checks[0].why));
        }
    }
    assert!(wrong.is_empty(), "their mutants do not fail:\n{}", wrong.join("\n"));
}

/// A flaw is a small thing: a mutant that failed everything would prove nothing.
#[tokio::test]
async fn a_mutant_passes_most_of_the_other_scenarios() {
    let [http, _] = kinds();
    for flaw in ["H1/method-differs", "H6/param-differs", "L4/weights-decide", "F5/json", "C1/conflict"] {
        let checks = judged(flaw, &http).await;
        let failed: Vec<_> = checks
            .iter()
            .filter(|check| check.outcome == ScenarioOutcome::Failed)
            .map(|check| check.title)
            .collect();
        assert!((1..=8).contains(&failed.len()), "{flaw}: {failed:#?}");
    }
}

#[tokio::test]
async fn a_server_that_claims_nothing_is_not_judged_by_it() {
    let [http, _] = kinds();
    let checks = judged("claims-nothing", &http).await;
    for (scenario, check) in http.iter().zip(checks) {
        let about_claims = [
            ScenarioNeed::Language,
            ScenarioNeed::Languages,
            ScenarioNeed::Negotiation,
            ScenarioNeed::Zoned,
            ScenarioNeed::Mirrored,
        ];
        if scenario.needs.iter().any(|need| about_claims.contains(need)) {
            assert_eq!(check.outcome, ScenarioOutcome::NotApplicable, "{}", scenario.id());
        }
    }
}

#[tokio::test]
async fn a_server_of_the_older_era_is_judged_by_what_applies_to_it() {
    let right = Arc::new(Right::new("legacy"));
    let opening = CheckHandshake {
        version: "2025-11-25".to_owned(),
        era: Era::Legacy,
        introduction: right.introduction(),
    };
    let url = http::serve(right).await;
    let target = ServerTarget::new(Some(&url), &[]).unwrap();
    let mut asker =
        CheckClient::open(&target, &ConnectionOptions::default(), &opening, PATIENCE).await.unwrap();
    let [http, _] = kinds();
    let place = CheckTransport::Http { loopback: true };
    let (_, checks) = super::run_scenarios(&mut asker, place, &opening, &[], &http, PATIENCE).await.unwrap();
    for (scenario, (_, check)) in http.iter().zip(checks) {
        let modern = scenario.needs.contains(&ScenarioNeed::Modern);
        let expected = if modern { ScenarioOutcome::NotApplicable } else { ScenarioOutcome::Passed };
        assert_eq!(check.outcome, expected, "{}: {check:#?}", scenario.id());
    }
}

#[tokio::test]
async fn a_server_that_is_gone_is_no_verdict() {
    let right = Arc::new(Right::new("dies"));
    let opening = CheckHandshake {
        version: right::VERSION.to_owned(),
        era: Era::Modern,
        introduction: right.introduction(),
    };
    let url = http::serve(right).await;
    let target = ServerTarget::new(Some(&url), &[]).unwrap();
    let mut asker =
        CheckClient::open(&target, &ConnectionOptions::default(), &opening, PATIENCE).await.unwrap();
    let place = CheckTransport::Http { loopback: true };
    let all: Vec<_> = scenarios::all().collect();
    let error = super::run_scenarios(&mut asker, place, &opening, &[], &all, PATIENCE).await.err().unwrap();
    assert!(format!("{error:#}").contains("not answer any more"), "{error:#}");
}

/// The languages of a server may show in the results of its tools alone.
#[tokio::test]
async fn languages_that_only_calls_report_are_judged_too() {
    let rules = ["L", "C7", "C11"];
    let about_languages: Vec<_> = scenarios::all()
        .filter(|scenario| rules.iter().any(|rule| scenario.rule.starts_with(rule)))
        .filter(|scenario| !scenario.needs.contains(&ScenarioNeed::Pipe))
        .collect();
    let checks = judged("speaks-in-calls", &about_languages).await;
    for check in checks {
        let expected =
            if check.id == "L7/listings" { ScenarioOutcome::NotApplicable } else { ScenarioOutcome::Passed };
        assert_eq!(check.outcome, expected, "{check:#?}");
    }
}

#[tokio::test]
async fn one_rule_about_languages_is_enough_to_look_at_tools() {
    let one: Vec<_> = scenarios::all().filter(|scenario| scenario.id() == "L4/case").collect();
    let checks = judged("speaks-in-calls", &one).await;
    assert_eq!(checks[0].outcome, ScenarioOutcome::Passed, "{checks:#?}");
    let (_, called, _) = looked_at("nothing", &one, &[], PATIENCE).await;
    assert_eq!(called, [], "the listing says enough");
}

#[tokio::test]
async fn a_slow_tool_is_called_once_unless_it_is_named() {
    let context: Vec<_> = scenarios::all().filter(|scenario| scenario.rule.starts_with('C')).collect();
    let (_, called, left_out) = looked_at("slow-tool", &context, &[], http::SLOW / 2).await;
    let times = |called: &[CalledToolCount], tool: &str| {
        called.iter().find(|call| call.tool == tool).map(|call| call.times).unwrap_or_default()
    };
    assert_eq!(times(&called, "weather"), 1, "{called:?}");
    assert!(times(&called, "clock") > 4, "{called:?}");
    let why: Vec<_> = left_out.iter().map(|left| (left.tool.as_str(), left.why.as_str())).collect();
    assert_eq!(why, [("weather", "it gave no result within 2 s")]);
    let named = [ToolCallOption::read("weather").unwrap()];
    let one: Vec<_> = context.into_iter().filter(|scenario| scenario.id() == "C1/equal-forms").collect();
    let (_, called, left_out) = looked_at("slow-tool", &one, &named, http::SLOW / 2).await;
    assert!(times(&called, "weather") > 1 && left_out.is_empty(), "{called:?} {left_out:?}");
}

/// What is told is what the server saw.
#[tokio::test]
async fn every_call_is_counted() {
    let right = Arc::new(Right::new("nothing"));
    let opening = CheckHandshake {
        version: right::VERSION.to_owned(),
        era: Era::Modern,
        introduction: right.introduction(),
    };
    let url = http::serve(right.clone()).await;
    let target = ServerTarget::new(Some(&url), &[]).unwrap();
    let mut asker =
        CheckClient::open(&target, &ConnectionOptions::default(), &opening, PATIENCE).await.unwrap();
    let [all, _] = kinds();
    let place = CheckTransport::Http { loopback: true };
    super::run_scenarios(&mut asker, place, &opening, &[], &all, PATIENCE).await.unwrap();
    let told: usize = asker.called_tools(|_| true).iter().map(|call| call.times).sum();
    assert_eq!(told, right.calls());
}

#[tokio::test]
async fn no_tool_is_called_for_what_cannot_apply() {
    let features: Vec<_> = scenarios::all().filter(|scenario| scenario.rule.starts_with('F')).collect();
    let (_, called, _) = looked_at("claims-nothing", &features, &[], PATIENCE).await;
    assert_eq!(called, []);
}
