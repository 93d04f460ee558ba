//! `attune check`: a server, judged rule by rule from what it can be seen to do.
//!
//! A survey finds out what the server has and claims ([`survey`]). A [`scenario`] says for one part of a rule what it needs,
//! what is sent ([`ask`]), and who judges ([`judge()`]); judges see exchanges and reach nothing. Each is proven in `proof/`: a
//! right server passes it, and a server that is right but for one thing fails it.

mod wire;

mod pipe;

mod ask;
mod facts;
mod judge;

mod scenario;
mod scenarios;

mod asker;
mod survey;

mod report;

mod junit;

#[cfg(test)]
mod proof;

use std::io::Write;
use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use mcp_attune_rmcp::{Options, Target};

use self::asker::{Asker, Opening};
use self::facts::{Facts, Place};
use self::report::{Check as Checked, Report};
use self::scenario::Scenario;
use crate::arguments::Named;
use crate::exit::{Exit, hinted};
use crate::output::writable;
use crate::progress;
use crate::rules::Rules;
use crate::running::one_thread;
use crate::server::Server;
use crate::text::{json, quoted};

/// The families of rules that a server can be judged by.
const FAMILIES: [(char, &str); 4] = [
    ('L', "language"),
    ('H', "headers agree with the body"),
    ('F', "content negotiation"),
    ('C', "the caller's context"),
];

/// Judge a server rule by rule
///
/// Sends requests, right and wrong ones, and holds what comes back against the rules of language, headers, content
/// negotiation and context (`attune explain` lists them). What a server does not claim to support is not applicable, and
/// no failure.
///
/// Listings are read, and tools are called that are marked as read-only, with what their schemas give, many times; others
/// only when they are named with --call, and never those that say that they may destroy something.
///
/// Exit 1: a rule is broken.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  $ attune check --rule L -- attune demo --bare --stdio\n  $ attune check --rule C10 --json -- attune demo --bare --stdio\n  $ attune check --rule G1 -- attune demo --bare --stdio # exit 2\n\nA server that runs, and one that is started:\n  attune check http://127.0.0.1:9000/mcp --call 'route={\"region\": \"eu\"}' --junit check.xml\n  attune check --rule H1,H6 -- npx -y some-server"
)]
pub(crate) struct Check {
    #[command(flatten)]
    server: Server,
    /// Judge by these rules, or families of rules, only: H6, L
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    rule: Vec<String>,
    /// Call this tool too; its arguments follow as JSON, else they come from its schema
    #[arg(long, value_name = "TOOL[={…}]")]
    call: Vec<String>,
    /// How long an answer may take
    #[arg(long, value_name = "SECONDS", default_value_t = 10, value_parser = clap::value_parser!(u16).range(1..))]
    timeout: u16,
    /// Print JSON: `server`, `version`, `called`, `counts`, `rules` and `not_judged`
    #[arg(long, conflicts_with = "junit")]
    json: bool,
    /// Write JUnit XML, too
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

impl Check {
    pub(crate) fn run(self, out: &mut impl Write) -> anyhow::Result<Exit> {
        // What is wrong with the command line is told before anything is started.
        let (target, options) = self.server.read()?;
        let named: Vec<_> = self.call.iter().map(|text| Named::read(text)).collect::<Result<_, _>>()?;
        let rules = Rules::built_in()?;
        let scenarios = chosen(&rules, &self.rule)?;
        if let Some(file) = &self.junit {
            writable(file, "name a file for the XML, such as --junit check.xml")?;
        }
        let patience = Duration::from_secs(self.timeout.into());
        let report =
            one_thread()?.block_on(check(&rules, &target, &options, patience, &named, &scenarios))?;
        if let Some(file) = &self.junit {
            let written = mcp_attune_files::write(file, &junit::junit(&report));
            written.with_context(|| format!("could not write {}", file.display()))?;
        }
        if self.json {
            json(out, &report)?;
        } else {
            report::write(out, &report)?;
        }
        Ok(if report.is_bad() { Exit::Findings } else { Exit::Fine })
    }
}

/// The scenarios of these rules; of all where none is named.
fn chosen(rules: &Rules, wanted: &[String]) -> anyhow::Result<Vec<&'static Scenario>> {
    let mut ids = Vec::new();
    for wanted in wanted {
        let is_family = FAMILIES.iter().any(|(letter, _)| wanted.eq_ignore_ascii_case(&letter.to_string()));
        let id = if is_family { wanted.to_uppercase() } else { rules.find(wanted)?.id.clone() };
        let belongs =
            |scenario: &&Scenario| scenario.rule == id || is_family && scenario.rule.starts_with(&id);
        if !scenario::all().any(|scenario| belongs(&scenario)) {
            let judged: Vec<_> = judged(rules).collect();
            let what = format!("no server can be judged by {} from outside", quoted(&id));
            return Err(hinted(what, format!("the rules that can be seen are {}", judged.join(", "))));
        }
        ids.push((id, is_family));
    }
    let wanted = |scenario: &&Scenario| {
        let is =
            |(id, family): &(String, bool)| scenario.rule == id || *family && scenario.rule.starts_with(id);
        ids.is_empty() || ids.iter().any(is)
    };
    Ok(scenario::all().filter(wanted).collect())
}

/// The rules that there are scenarios for.
fn judged(rules: &Rules) -> impl Iterator<Item = &str> {
    let ids = rules.0.iter().map(|rule| rule.id.as_str());
    ids.filter(|id| scenario::all().any(|scenario| scenario.rule == *id))
}

async fn check(
    rules: &Rules,
    target: &Target,
    options: &Options,
    patience: Duration,
    named: &[Named],
    scenarios: &[&'static Scenario],
) -> anyhow::Result<Report> {
    let mut options = options.clone();
    options.answer = patience;
    let opening = Opening::find(target, &options).await?;
    let mut asker = Asker::open(target, &options, &opening, patience).await?;
    let found = judge(&mut asker, place(target), &opening, named, scenarios).await;
    asker.close().await;
    progress::clear();
    let (facts, checks) = found?;
    let seen_from_outside: Vec<_> = judged(rules).collect();
    let servers = rules.0.iter().filter(|rule| rule.id.starts_with(FAMILIES.map(|(letter, _)| letter)));
    let others = servers.map(|rule| rule.id.clone()).filter(|id| !seen_from_outside.contains(&id.as_str()));
    let others = if scenarios.len() == scenario::all().count() { others.collect() } else { Vec::new() };
    let slots = [&facts.call, &facts.mirrored, &facts.structured, &facts.zoned];
    let mut called: Vec<_> = slots.into_iter().flatten().map(|call| call.name.clone()).collect();
    called.sort();
    called.dedup();
    Ok(Report::new(rules, target.to_string(), opening.version, called, checks, others))
}

fn place(target: &Target) -> Place {
    match target {
        Target::Url(url) => {
            let host = url.host().unwrap_or_default();
            let address = host.trim_matches(['[', ']']).parse::<std::net::IpAddr>();
            let loopback = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
            Place::Http { loopback }
        }
        _ => Place::Pipe,
    }
}

/// Looks at a server, and then goes through the scenarios.
async fn judge(
    asker: &mut Asker,
    place: Place,
    opening: &Opening,
    named: &[Named],
    scenarios: &[&'static Scenario],
) -> anyhow::Result<(Facts, Vec<(&'static str, Checked)>)> {
    let may_call = scenarios.iter().any(|scenario| scenario.needs.iter().any(|need| need.takes_calls()));
    let mut facts = survey::survey(asker, place, &opening.introduction, named, may_call).await?;
    let mut checks = Vec::new();
    for (number, scenario) in scenarios.iter().enumerate() {
        progress::show(&format!("{} of {}: {}", number + 1, scenarios.len(), scenario.id()));
        checks.push((scenario.rule, one(asker, &mut facts, scenario).await?));
    }
    Ok((facts, checks))
}

async fn one(asker: &mut Asker, facts: &mut Facts, scenario: &Scenario) -> anyhow::Result<Checked> {
    if let Some(why) = scenario.needs.iter().find_map(|need| need.missing(facts)) {
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
        asker.revive(&facts.list()).await.with_context(|| format!("after {}", scenario.id()))?;
        facts.manner = asker.manner.clone();
    }
    let verdict = (scenario.judge)(facts, &seen);
    Ok(Checked::judged(scenario, &seen, verdict))
}
