//! Our own client: before the official referee, and at servers of other people.
//!
//! The referee starts a client of ours for each of its scenarios that concern us, and every check must pass. Then the
//! client says all that it can of its caller to servers of four SDKs, in each era that they speak: nobody may mind.

use std::fs;
use std::thread;

use anyhow::{Result, bail};

use super::checks::Checks;
use super::clients;
use super::install;
use super::packages::{LEGACY, MODERN, Packages, Sdk};
use super::referee::Referee;
use super::servers::Server;
use crate::shell;

/// What concerns us, by the referee's names.
const SCENARIOS: [&str; 10] = [
    "http-standard-headers",
    "http-custom-headers",
    "http-invalid-tool-headers",
    "request-metadata",
    "tools_call",
    "json-schema-ref-no-deref",
    "json-schema-2020-12-preservation",
    "sep-2322-client-request-state",
    "initialize",
    "sse-retry",
];

const SERVERS: [Sdk; 4] = [Sdk::Python, Sdk::TypeScript1, Sdk::TypeScript2, Sdk::Rmcp];

pub(crate) fn run(_quick: bool) -> Result<Vec<String>> {
    let referee = Referee::install()?;
    let packages = Packages::install()?.build()?;
    let client = shell::example("mcp-attune-rmcp", "judged")?;
    let mut faults = before(&referee, &client.to_string_lossy())?;
    faults.extend(at_others(&packages)?);
    Ok(faults)
}

/// Every scenario, one after the other: one of them measures how long the client waits.
fn before(referee: &Referee, client: &str) -> Result<Vec<String>> {
    let out = install::folder().join("seen/judged");
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    for scenario in SCENARIOS {
        let mut judge = referee.command();
        judge.args(["client", "--command", client, "--scenario", scenario, "-o"]).arg(&out);
        // It exits with 1 when any check fails.
        judge.output()?;
    }
    let checks = Checks::read(&out)?;
    println!("    our client before the referee: {}", checks.tally());
    let mut faults = unjudged(&checks);
    faults.extend(checks.wrong().map(|(name, ending)| format!("our client: {name}: {}", ending.why)));
    Ok(faults)
}

/// The scenarios in which nothing passed.
fn unjudged(checks: &Checks) -> Vec<String> {
    let passed = |scenario: &&str| checks.of(scenario).passed().next().is_some();
    let nothing = SCENARIOS.iter().filter(|scenario| !passed(scenario));
    nothing.map(|scenario| format!("our client: {scenario}: nothing passed")).collect()
}

/// All servers at once: each is met by one client in one era after the other.
fn at_others(packages: &Packages) -> Result<Vec<String>> {
    let meet = |sdk: Sdk| -> Result<Vec<String>> {
        let name = sdk.name();
        let server = Server::start(&mut packages.server(sdk), &format!("{name}-server-ours"))?;
        let mut faults = Vec::new();
        for era in [MODERN, LEGACY].into_iter().filter(|era| sdk.speaks(era)) {
            let title = format!("our client at {name}, {era}");
            faults.extend(clients::expect(&title, packages.rmcp("ours").args([&server.url, era]))?);
        }
        Ok(faults)
    };
    thread::scope(|scope| {
        let meetings: Vec<_> = SERVERS.map(|sdk| scope.spawn(move || meet(sdk))).into_iter().collect();
        let mut faults = Vec::new();
        for meeting in meetings {
            faults
                .extend(meeting.join().unwrap_or_else(|_| bail!("a thread that runs clients ended early"))?);
        }
        Ok(faults)
    })
}

#[cfg(test)]
mod tests {
    use super::super::checks::written;
    use super::*;

    #[test]
    fn a_scenario_that_was_not_judged_is_a_fault() {
        let all: Vec<_> = SCENARIOS.iter().map(|scenario| [*scenario, "a", "SUCCESS"]).collect();
        assert_eq!(unjudged(&written(&all)), [""; 0]);
        assert_eq!(unjudged(&written(&all[1..])), ["our client: http-standard-headers: nothing passed"]);
        let mut skipped = all.clone();
        skipped[0][2] = "SKIPPED";
        assert_eq!(unjudged(&written(&skipped)).len(), 1);
    }
}
