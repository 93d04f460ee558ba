//! Local servers of other people, asked by clients of other people: over the server's own pipes, with `attune stdio` in
//! between, and over HTTP with `attune serve` in front.
//!
//! What comes of each step has to be the same in all three. The exception is a modern caller of a server that only speaks
//! a legacy version: over HTTP the gateway tells it what the server speaks. What differs is done a second time; if it
//! is the same then, it is named as flaky, and counts for nothing.

pub(super) mod list;
mod site;
pub(super) mod audit;
pub(super) mod savings;
pub(super) mod catalog;
mod ends;
mod outcomes;
pub(super) mod desktop;

use std::fs;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use serde_json::json;

use self::list::Server;
use self::outcomes::Outcomes;
use super::cell::{Cell, Shared};
use super::install;
use super::packages::{AUTO, LEGACY, MODERN, Packages, Sdk};
use super::servers::Ours;
use kit::running::Running;

const PATIENCE: Duration = Duration::from_secs(120);

/// The clients that every server meets, a server of each era that meets all of them, and what CI has time for.
const CLIENTS: [Sdk; 2] = [Sdk::Python, Sdk::TypeScript1];
const MOST_ASKED: [&str; 2] = ["everything", "time"];
const ALL_CLIENTS: [Sdk; 4] = [Sdk::Python, Sdk::TypeScript1, Sdk::TypeScript2, Sdk::Rmcp];
const QUICK: [(&str, Sdk, &str); 2] = [("memory", Sdk::TypeScript1, LEGACY), ("time", Sdk::Python, AUTO)];

/// How a client reaches a server.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Way {
    Directly,
    Stdio,
    Serve,
}

impl Way {
    fn name(self) -> &'static str {
        match self {
            Self::Directly => "directly",
            Self::Stdio => "`attune stdio`",
            Self::Serve => "`attune serve`",
        }
    }
}

/// Each server by itself, and then with every client that is to meet it, in each era.
pub(crate) fn cells(quick: bool) -> Result<Vec<Cell>> {
    let mut cells = Vec::new();
    for entry in list::read()? {
        let name = entry.name.clone();
        if quick && !QUICK.iter().any(|(quick, ..)| *quick == name) {
            continue;
        }
        let clients: &[Sdk] = if MOST_ASKED.contains(&name.as_str()) { &ALL_CLIENTS } else { &CLIENTS };
        let server = shared_server(entry);
        let shared = server.clone();
        let alike = move || ends::alike(Ours::get()?, shared.get()?);
        cells.push(Cell::new(format!("{name}, how it ends"), alike).in_group(&name));
        for client in ALL_CLIENTS {
            for era in [LEGACY, AUTO, MODERN].into_iter().filter(|era| client.speaks(era)) {
                let is_quick = |(server, sdk, time): &(&str, Sdk, &str)| {
                    *server == name && *sdk == client && *time == era
                };
                if if quick { QUICK.iter().any(is_quick) } else { clients.contains(&client) } {
                    let server = server.clone();
                    let meet = move || {
                        Meeting { packages: Packages::get()?, server: server.get()?, client, era }.compare()
                    };
                    let title = format!("{name}, {}, {era}", client.name());
                    cells.push(Cell::new(title, meet).in_group(&name));
                }
            }
        }
    }
    Ok(cells)
}

/// A server of the list, installed when somebody first asks.
fn shared_server(entry: list::Entry) -> Arc<Shared<Server>> {
    static SITE: LazyLock<Shared<String>> = LazyLock::new(|| Shared::new(site::start));
    Arc::new(Shared::new(move || Server::install(entry.clone(), &install::node()?, SITE.get()?)))
}

/// A server, a client, and an era.
struct Meeting<'a> {
    packages: &'a Packages,
    server: &'a Server,
    client: Sdk,
    era: &'static str,
}

impl Meeting<'_> {
    /// Prints how it went, and returns what is wrong twice in a row.
    fn compare(&self) -> Result<Vec<String>> {
        let title = format!("{}, {}, {}", self.server.entry.name, self.client.name(), self.era);
        let (steps, mut faults) = self.faults()?;
        if !faults.is_empty() {
            let (_, again) = self.faults()?;
            let (twice, flaky): (Vec<_>, Vec<_>) =
                faults.into_iter().partition(|fault| again.iter().any(|other| other.what == fault.what));
            for Fault { what, why } in flaky {
                println!("    flaky: {title}, {what}: {why}");
            }
            faults = twice;
        }
        let how = if self.is_refused(Way::Serve) {
            "the same with stdio, and refused over HTTP"
        } else {
            "the same in all ways"
        };
        let wrong = if faults.is_empty() { how.to_owned() } else { format!("{} DIFFER", faults.len()) };
        println!("    {title}: {steps} steps, {wrong}");
        Ok(faults.into_iter().map(|Fault { what, why }| format!("{title}, {what}: {why}")).collect())
    }

    /// A modern caller, and a server that is not. rmcp takes the refusal for a modern server's, whatever versions that
    /// names, and does not begin again with `initialize`, as the other SDKs do.
    fn is_refused(&self, way: Way) -> bool {
        let stays_modern =
            self.era == MODERN || (self.client == Sdk::Rmcp && self.era == AUTO && way == Way::Serve);
        stays_modern && !self.server.entry.modern
    }

    /// How many steps were done, and what is wrong with them.
    fn faults(&self) -> Result<(usize, Vec<Fault>)> {
        let direct = self.ask(Way::Directly)?;
        let mut faults = Vec::new();
        if !self.is_refused(Way::Directly) {
            faults.extend(Fault::all(Way::Directly, direct.unexpected(self.server.expected())));
        }
        for way in [Way::Stdio, Way::Serve] {
            let found = self.ask(way)?;
            let wrong = match way {
                Way::Serve if self.is_refused(way) => found.not_refused(),
                _ => found.other_than(&direct),
            };
            faults.extend(Fault::all(way, wrong));
        }
        Ok((direct.len(), faults))
    }

    /// Lets the client do the steps.
    fn ask(&self, way: Way) -> Result<Outcomes> {
        let script = self.server.prepare()?;
        let (attune, command) = (self.packages.ours.attune.to_string_lossy(), self.server.command());
        let name = format!("{}-{}-{way:?}", self.client.name(), self.era).to_lowercase();
        let gateway;
        let target = match way {
            Way::Directly => json!(command).to_string(),
            Way::Stdio => {
                let ours = [&*attune, "stdio", "--"].map(str::to_owned);
                json!([&ours[..], &command].concat()).to_string()
            }
            Way::Serve => {
                let words: Vec<&str> = ["--"].into_iter().chain(command.iter().map(String::as_str)).collect();
                gateway = self
                    .packages
                    .ours
                    .gateway(&words, &format!("local-{}-{name}", self.server.entry.name))?;
                gateway.url.clone()
            }
        };
        let mut client = self.packages.client(self.client);
        client.args([&target, self.era, "--script"]).arg(script);
        let output = Running::to_its_end(&mut client, PATIENCE)
            .with_context(|| format!("{}, {}", self.server.entry.name, way.name()))?;
        fs::write(self.server.seen(&format!("{name}.jsonl")), &output.stdout)?;
        let outcomes = Outcomes::read(&String::from_utf8_lossy(&output.stdout));
        if outcomes.is_empty() {
            let said = String::from_utf8_lossy(&output.stderr).into_owned();
            bail!("{}, {}: {} did nothing: {said}", self.server.entry.name, way.name(), self.client.name());
        }
        Ok(outcomes)
    }
}

/// Something wrong; the words about it may differ from one time to the next.
struct Fault {
    what: String,
    why: String,
}

impl Fault {
    fn all(way: Way, wrong: Vec<String>) -> impl Iterator<Item = Self> {
        wrong.into_iter().map(move |wrong| {
            let (step, why) = wrong.split_once(": ").unwrap_or((&wrong, ""));
            Self { what: format!("{}, {step}", way.name()), why: why.to_owned() }
        })
    }
}
