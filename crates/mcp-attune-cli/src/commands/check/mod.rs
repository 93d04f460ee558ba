//! `attune check`: a server, judged rule by rule from what it can be seen to do.
//!
//! A survey finds out what the server has and claims ([`survey`]). A [`scenario`] says for one part of a rule what it needs,
//! what is sent ([`ask`]), and who judges ([`run_scenarios()`]); judges see exchanges and reach nothing. Each is proven in `proof/`: a
//! right server passes it, and a server that is right but for one thing fails it.

// The way to a server,
mod traffic;

mod pipe;

mod wire;

// what is sent, and who judges what comes back,
mod ask;
mod facts;
mod judge;

mod scenario;
mod scenarios;

// what came of it, and what is known and allowed,
mod outcome;

mod selector;

mod baseline;

mod standard;

// and the whole: a server that is asked, and the report.
mod client;

mod survey;

mod report;

mod junit;
mod show;

#[cfg(test)]
mod proof;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use mcp_attune_rmcp::{ConnectionOptions, ServerTarget};

use self::baseline::Baseline;
use self::client::{CheckClient, CheckHandshake};
use self::facts::{CheckTransport, SurveyFacts};
use self::outcome::ScenarioResult as Checked;
use self::report::{CheckedServer, ServerCheckReport};
use self::scenario::{Scenario, ScenarioNeed};
use self::selector::RuleSelector;
use self::standard::{CheckPolicy, RuleAuthority};
use self::survey::SurveyCalls;
use crate::call_plan::ToolCallOption;
use crate::exit::Exit;
use crate::output::check_writable;
use crate::progress;
use crate::rules::RuleLedger;
use crate::running::single_thread_runtime;
use crate::server::ServerArgs;
use crate::text::print_json;

/// The families of rules that a server can be judged by.
const FAMILIES: [(char, &str); 4] = [
    ('L', "language"),
    ('H', "headers agree with the body"),
    ('F', "content negotiation"),
    ('C', "the caller's context"),
];

/// How long a tool may take that nobody named, to be called again.
const SLOW_CALL: Duration = Duration::from_secs(1);

/// Judge a server rule by rule
///
/// Sends requests, right and wrong ones, and holds what comes back against the rules of language, headers, content
/// negotiation and context (`attune explain` lists them). What a server does not claim to support is not applicable, and
/// no failure.
///
/// By default a server is judged by published documents: what only Attune asks is a warning. --by attune judges by all
/// rules alike. Known failures are allowed with --allow, or with a --baseline file that is committed beside the server.
///
/// Listings are read, and tools are called that are marked as read-only, with what their schemas give, many times; others
/// only when they are named with --call, and never those that say that they may destroy something. A tool that takes more
/// than a second is called once, unless it is named. The report tells every tool that was called, and how often.
///
/// Exit 1: a rule is broken that is neither allowed nor in the baseline.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune check -- attune demo --bare --stdio\n  $ attune check --rule C10 --by attune --json -- attune demo --bare --stdio\n\nA server that runs, and one that is started:\n  attune check http://127.0.0.1:9000/mcp --call 'route={\"region\": \"eu\"}' --junit check.xml\n  attune check --rule H1,H6 -- npx -y some-server\n\nIn CI, where only new failures count:\n  attune check http://127.0.0.1:9000/mcp --baseline attune-check.txt --update   # once, and commit the file\n  attune check http://127.0.0.1:9000/mcp --baseline attune-check.txt"
)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    server: ServerArgs,
    /// Whose word counts
    #[arg(long, value_enum, default_value_t)]
    by: RuleAuthority,
    /// Judge by these rules, families of rules or scenarios only: H6, L, H9/form
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    rule: Vec<String>,
    /// Failures of these rules, families of rules or scenarios do not fail the check
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    allow: Vec<String>,
    /// Failures that stand in this file do not fail the check
    #[arg(long, value_name = "FILE")]
    baseline: Option<PathBuf>,
    /// Write the failures of now into the baseline
    #[arg(long, requires = "baseline")]
    update: bool,
    /// Call this tool too; its arguments follow as JSON, else they come from its schema
    #[arg(long, value_name = "TOOL[={…}]")]
    call: Vec<String>,
    /// How long an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Show every rule, and the exchanges of warnings and allowed failures
    #[arg(long, short)]
    verbose: bool,
    /// Print JSON: `server`, `version`, `by`, `called`, `left_out`, `counts`, `allowed`, `stale`, `rules` and `not_judged`
    #[arg(long, conflicts_with = "junit")]
    json: bool,
    /// Write JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl CheckArgs {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        // What is wrong with the command line is told before anything is started.
        let (target, options) = self.server.read()?;
        let named: Vec<_> =
            self.call.iter().map(|text| ToolCallOption::read(text)).collect::<Result<_, _>>()?;
        let rules = RuleLedger::built_in()?;
        let read = |all: &[String]| -> anyhow::Result<Vec<RuleSelector>> {
            all.iter().map(|text| RuleSelector::read(&rules, text)).collect()
        };
        let chosen = read(&self.rule)?;
        let is_chosen = |scenario: &&Scenario| {
            chosen.is_empty() || chosen.iter().any(|selector| selector.selects(scenario))
        };
        let scenarios: Vec<_> = scenarios::all().filter(is_chosen).collect();
        let baseline = self.baseline.as_deref().map(|file| Baseline::load(file, self.update));
        let standard = CheckPolicy {
            by: self.by,
            allowed: read(&self.allow)?,
            baseline: baseline.transpose()?.unwrap_or_default(),
        };
        if let Some(file) = &self.junit {
            check_writable(file, "name a file for the XML, such as --junit check.xml")?;
        }
        if let Some(file) = self.baseline.as_ref().filter(|_| self.update) {
            check_writable(file, "name a file for the known failures, such as --baseline attune-check.txt")?;
        }
        let patience = Duration::from_secs(self.timeout.into());
        let mut report = single_thread_runtime()?
            .block_on(check(&rules, &target, &options, patience, &named, &scenarios, &standard))?;
        if let Some(file) = self.baseline.as_ref().filter(|_| self.update) {
            let text = standard.baseline.updated(&report.checks().collect::<Vec<_>>());
            let written = mcp_attune_files::write_atomically(file, &text);
            written.with_context(|| format!("could not write {}", file.display()))?;
            let standard = CheckPolicy { baseline: Baseline::parse(&text)?, ..standard };
            report = report.rejudge(&rules, &standard);
        }
        if let Some(file) = &self.junit {
            let written = mcp_attune_files::write_atomically(file, &junit::render_junit(&report));
            written.with_context(|| format!("could not write {}", file.display()))?;
        }
        if self.json {
            print_json(out, &report)?;
        } else {
            show::write(out, &report, self.verbose)?;
        }
        Ok(if report.has_failures() { Exit::Findings } else { Exit::Fine })
    }
}

/// The rules that there are scenarios for.
fn judged_rules(rules: &RuleLedger) -> impl Iterator<Item = &str> {
    let ids = rules.0.iter().map(|rule| rule.id.as_str());
    ids.filter(|id| scenarios::all().any(|scenario| scenario.rule == *id))
}

async fn check(
    rules: &RuleLedger,
    target: &ServerTarget,
    options: &ConnectionOptions,
    patience: Duration,
    named: &[ToolCallOption],
    scenarios: &[&'static Scenario],
    standard: &CheckPolicy,
) -> anyhow::Result<ServerCheckReport> {
    let mut options = options.clone();
    options.answer = patience;
    let opening = CheckHandshake::probe(target, &options).await?;
    let mut asker = CheckClient::open(target, &options, &opening, patience).await?;
    let found = run_scenarios(&mut asker, transport_of(target), &opening, named, scenarios, SLOW_CALL).await;
    let is_tool = |facts: &SurveyFacts, name: &str| facts.tools.iter().any(|tool| tool["name"] == name);
    let found =
        found.map(|(facts, checks)| (asker.called_tools(|name| is_tool(&facts, name)), facts, checks));
    asker.close().await;
    progress::clear();
    let (called, facts, checks) = found?;
    let seen_from_outside: Vec<_> = judged_rules(rules).collect();
    let servers = rules.0.iter().filter(|rule| rule.id.starts_with(FAMILIES.map(|(letter, _)| letter)));
    let others = servers.map(|rule| rule.id.clone()).filter(|id| !seen_from_outside.contains(&id.as_str()));
    let others = if scenarios.len() == scenarios::all().count() { others.collect() } else { Vec::new() };
    let SurveyFacts { left_out, .. } = facts;
    let subject = CheckedServer { server: target.to_string(), version: opening.version, called, left_out };
    Ok(ServerCheckReport::new(rules, standard, subject, checks, others))
}

fn transport_of(target: &ServerTarget) -> CheckTransport {
    match target {
        ServerTarget::Url(url) => {
            let host = url.host().unwrap_or_default();
            let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            let loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
            CheckTransport::Http { loopback }
        }
        _ => CheckTransport::Pipe,
    }
}

/// Looks at a server, and then goes through the scenarios.
async fn run_scenarios(
    asker: &mut CheckClient,
    place: CheckTransport,
    opening: &CheckHandshake,
    named: &[ToolCallOption],
    scenarios: &[&'static Scenario],
    slow: Duration,
) -> anyhow::Result<(SurveyFacts, Vec<(&'static str, Checked)>)> {
    // Nothing is called for what is known not to apply.
    let applies = |scenario: &&&Scenario| {
        let lacks = |need: &ScenarioNeed| match need {
            ScenarioNeed::Negotiation => survey::negotiation(&opening.introduction).is_none(),
            ScenarioNeed::Http => place == CheckTransport::Pipe,
            ScenarioNeed::Pipe => place != CheckTransport::Pipe,
            _ => false,
        };
        !scenario.needs.iter().any(lacks)
    };
    let mut needs = scenarios.iter().filter(applies).flat_map(|scenario| scenario.needs);
    let calls = if needs.clone().any(|need| need.needs_calls()) {
        SurveyCalls::Always
    } else if needs.any(|need| need.may_need_calls()) {
        SurveyCalls::ForLanguages
    } else {
        SurveyCalls::None
    };
    let mut facts = survey::survey(asker, place, &opening.introduction, named, calls, slow).await?;
    let mut checks = Vec::new();
    for (number, scenario) in scenarios.iter().enumerate() {
        progress::show(&format!("{} of {}: {}", number + 1, scenarios.len(), scenario.id()));
        let check = run_scenario(asker, &mut facts, scenario).await?;
        checks.push((scenario.rule, Checked { claimed: facts.claims(scenario.rule), ..check }));
    }
    Ok((facts, checks))
}

async fn run_scenario(
    asker: &mut CheckClient,
    facts: &mut SurveyFacts,
    scenario: &Scenario,
) -> anyhow::Result<Checked> {
    if let Some(why) = scenario.needs.iter().find_map(|need| need.unmet_reason(facts)) {
        return Ok(Checked::not_applicable(scenario, why));
    }
    let Some(asks) = (scenario.send)(facts) else {
        return Ok(Checked::not_applicable(scenario, "the server has nothing to show it on"));
    };
    let mut seen = Vec::new();
    for ask in asks {
        seen.push(asker.ask(&ask).await);
    }
    if seen.iter().any(|seen| seen.came.trouble.is_some()) {
        asker
            .reconnect(&facts.listing_request())
            .await
            .with_context(|| format!("after {}", scenario.id()))?;
        facts.manner = asker.manner.clone();
    }
    let verdict = (scenario.judge)(facts, &seen);
    let took = seen.iter().map(|seen| seen.took).sum();
    Ok(Checked { took, ..Checked::judged(scenario, &seen, verdict) })
}
