//! Our own client: before the official referee, and at servers of other people.
//!
//! The referee starts a client of ours for each of its scenarios that concern us, and every check must pass. Then the
//! client says all that it can of its caller to servers of four SDKs, in each era that they speak: nobody may mind.

use std::fs;
use std::sync::Arc;

use anyhow::Result;

use super::cell::{Cell, Shared};
use super::checks::Checks;
use super::clients;
use super::install;
use super::packages::{LEGACY, MODERN, Packages, Sdk};
use super::referee::Referee;
use kit::server::Server;
use kit::shell;

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

/// Every scenario, one after the other: one of them measures how long the client waits.
pub(crate) fn cells(_quick: bool) -> Result<Vec<Cell>> {
    Ok(SCENARIOS.map(|scenario| Cell::new(scenario, move || before(scenario))).into())
}

fn before(scenario: &str) -> Result<Vec<String>> {
    let referee = Referee::get()?;
    let client = shell::example("mcp-attune-rmcp", "judged")?;
    let out = install::folder().join("seen/client").join(scenario);
    if out.exists() {
        fs::remove_dir_all(&out)?;
    }
    let mut judge = referee.command();
    judge.args(["client", "--command", &client.to_string_lossy(), "--scenario", scenario, "-o"]).arg(&out);
    // It exits with 1 when any check fails.
    judge.output()?;
    let checks = Checks::read(&out)?;
    println!("    our client before the referee, {scenario}: {}", checks.tally());
    let mut faults = unjudged(scenario, &checks);
    faults.extend(checks.wrong().map(|(name, ending)| format!("our client: {name}: {}", ending.why)));
    Ok(faults)
}

/// A scenario in which nothing passed was not judged.
fn unjudged(scenario: &str, checks: &Checks) -> Vec<String> {
    let passed = checks.of(scenario).passed().next().is_some();
    (!passed).then(|| format!("our client: {scenario}: nothing passed")).into_iter().collect()
}

/// All servers at once: each is met by one client in one era after the other.
pub(crate) fn cells_at_others(_quick: bool) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for sdk in SERVERS {
        let name = sdk.name();
        let server = Arc::new(Shared::new(move || {
            Server::start(&mut Packages::get()?.server(sdk), &format!("{name}-server-ours"))
        }));
        for era in [MODERN, LEGACY].into_iter().filter(|era| sdk.speaks(era)) {
            let server = server.clone();
            let meet = move || {
                let title = format!("our client at {name}, {era}");
                let mut client = Packages::get()?.rmcp("ours");
                clients::expect(&title, client.args([server.get()?.url.as_str(), era]))
            };
            cells.push(Cell::new(format!("{name}, {era}"), meet).in_group(name));
        }
    }
    Ok(cells)
}

#[cfg(test)]
mod tests {
    use super::super::checks::written;
    use super::*;

    #[test]
    fn a_scenario_that_was_not_judged_is_a_fault() {
        let [scenario, other, ..] = SCENARIOS;
        assert_eq!(unjudged(scenario, &written(&[[scenario, "a", "SUCCESS"]])), [""; 0]);
        for checks in [&[[other, "a", "SUCCESS"]][..], &[[scenario, "a", "SKIPPED"]], &[]] {
            let faults = unjudged(scenario, &written(checks));
            assert_eq!(faults, ["our client: http-standard-headers: nothing passed"]);
        }
    }
}
